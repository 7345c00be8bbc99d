"""Scenarios: released models and histograms against enumeration, rehearsals, and what is refused."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import dirichlet as dirichlet_law

from dpmultinomial._files.published import open_release
from dpmultinomial._seeding import stream
from reproduction.jobs import adapters
from reproduction.papers.ponnoprat2022 import (
    figures,
    rehearsal,
    released_histogram,
    released_model,
    scenario,
    validation,
)
from reproduction.papers.ponnoprat2022.released_histogram import Mechanism

PEOPLE = "block,tenure,age\n" + "".join(f"{i % 4},{'own' if i % 3 else 'rent'},{20 + i % 7}\n" for i in range(240))
MODEL = {
    "data": "confidential/people.csv",
    "levels": {"tenure": ["own", "rent"], "block": ["0", "1", "2", "3"]},
    "numeric": "age",
    "bounds": {"age": [18, 30]},
    "bins": 4,
}
BAYES = MODEL | {"mechanism": "naive_bayes", "target": "tenure", "noise": "dirichlet", "epsilon": 3.0, "order": 5.0}
NETWORK = MODEL | {"mechanism": "bayesian_network", "noise": "discrete_laplace", "epsilon": 6.0}
NETWORK |= {"network": {"age": ["tenure", "block"], "tenure": [], "block": ["tenure"]}}


def test_the_posterior_of_a_released_histogram_is_the_enumerated_one():
    """P(f | y) over all f with three cells and 12 records, from scipy's Dirichlet density; the prior is flat."""
    r, alpha, total = 0.8, 2.5, 12
    y = np.array([0.2, 0.5, 0.3])
    every = np.array([(a, b, total - a - b) for a, b in itertools.product(range(13), repeat=2) if a + b <= total])
    weights = np.array([dirichlet_law(r * f + alpha).pdf(y) for f in every])  # a flat prior makes every f as likely
    weights /= weights.sum()
    means = (every + 1) / (total + 3)
    expected = weights @ means
    variance = weights @ (means * (1 - means) / (total + 4) + means**2) - expected**2
    law = released_histogram.posterior(y, total=total, mechanism=Mechanism(law="dirichlet", words="", r=r, alpha=alpha))
    assert np.asarray(law.mean()) == pytest.approx(expected, rel=1e-11)
    assert np.asarray(law.variance()) == pytest.approx(variance, rel=1e-10)


@pytest.mark.parametrize("law", ["discrete_laplace", "discrete_gaussian"])
def test_weights_of_discrete_noise_take_a_lifted_count_as_one_below_the_floor(law):
    how = Mechanism(law=law, words="", scale=1.5, floor=1.5)
    logs = how.log_weights(np.array([0.9, 0.1]), 10)  # 9 as it is; 1 is below the floor: noise at most 1 - s
    k = np.arange(-200, 201)
    pmf = np.exp(-np.abs(k) / 1.5) if law == "discrete_laplace" else np.exp(-(k**2) / (2 * 1.5**2))
    pmf /= pmf.sum()
    s = np.arange(11)
    first, second = np.log(pmf[200 + 9 - s]), np.log([pmf[k <= 1 - x].sum() for x in s])
    assert logs[0] - logs[0][0] == pytest.approx(first - first[0], rel=1e-9, abs=1e-9)
    assert logs[1] - logs[1][0] == pytest.approx(second - second[0], rel=1e-6, abs=1e-6)


def test_moments_of_a_large_conditional_histogram_are_those_of_the_exact_law():
    """5,000 records: the normal law about the moments beside the exact posterior, whose prior weighs 4 in 5,000."""
    how = Mechanism(law="dirichlet", words="", r=0.9, alpha=8.0)
    y = np.array([0.1, 0.2, 0.3, 0.4])
    settings = {"total": 5000, "mechanism": how, "prior": 1.0, "level": 0.95}
    exact = released_histogram.summary(list("abcd"), y, public=True, **settings)
    normal = released_histogram.summary(list("abcd"), y, public=False, **settings)
    assert set(exact["status"]) == {"exact"}
    assert set(normal["status"]) == {"approximate"}
    for column in ("mean", "sd", "lower", "upper"):
        assert normal[column].to_numpy() == pytest.approx(exact[column].to_numpy(), rel=0.02)


@pytest.fixture
def root(tmp_path):
    pytest.importorskip("opendp", reason="releases draw their noise with opendp")
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential" / "people.csv").write_text(PEOPLE)
    return tmp_path


def made(root, settings):
    releases = pytest.importorskip("dpmultinomial._releases.room")
    return open_release(releases.make("m", settings, root=root))


@pytest.mark.parametrize("settings", [BAYES, NETWORK], ids=["naive Bayes", "network"])
def test_a_made_release_becomes_one_row_a_probability(root, settings):
    table = scenario.table(release=made(root, settings), prior=1.0, level=0.9, rng=stream(1, "unused"))
    assert list(table.columns[:8]) == ["quantity", "mean", "sd", "lower", "upper", "level", "status", "note"]
    assert (table["level"] == 0.9).all()
    assert np.isfinite(table[["mean", "sd", "lower", "upper"]]).all(axis=None)
    assert ((table["lower"] <= table["mean"]) & (table["mean"] <= table["upper"])).all()
    sums = table.groupby(["node", "given"])["mean"].sum()
    assert sums.to_numpy() == pytest.approx(1.0, abs=1e-9)
    own = table[table["quantity"] == "P(tenure = own)"].iloc[0]
    assert abs(own["mean"] - 2 / 3) < 6 * own["sd"]  # 160 of 240; the noise is fresh in every run: 1e-8 false alarms
    exact = settings["noise"] == "dirichlet"
    assert own["status"] == ("exact" if exact else "approximate")
    assert "240 records (public)" in own["note"]
    assert set(table.loc[table["given"] != "", "status"]) == {"approximate"}
    assert table["note"].str.contains("estimated from the release").any()
    below = table.loc[table["given"] == "tenure = own", "note"].str.extract(r"about ([\d.]+) records")[0].astype(float)
    assert below.to_numpy() == pytest.approx(240 * own["mean"], rel=1e-3)  # printed with four digits
    assert figures.scenario(table).axes


def test_below_a_parent_the_records_are_an_estimate_and_at_the_root_public(root, monkeypatch):
    """240 records, and below each tenure 240 times its estimated probability."""
    right, totals = released_histogram.summary, {True: set(), False: set()}

    def watched(*given, public, total, **settings):
        totals[public].add(total)
        return right(*given, public=public, total=total, **settings)

    monkeypatch.setattr(released_histogram, "summary", watched)
    table = scenario.table(release=made(root, BAYES), prior=1.0, level=0.9, rng=stream(1, "unused"))
    tenure = table.loc[(table["node"] == "tenure") & (table["given"] == ""), "mean"]
    assert totals[True] == {240}
    assert sorted(totals[False]) == pytest.approx(sorted(240 * tenure))


def test_intervals_of_a_released_model_cover(root):
    """The exact 90 % interval of a flat share covers it; 60 models of 200 records; 4e-4 false alarms at 5 sd."""
    rng, covered = stream(5, "coverage"), 0
    how = Mechanism(law="dirichlet", words="", r=0.5, alpha=9.0)
    for _ in range(60):
        p = rng.dirichlet(np.ones(3))
        f = rng.multinomial(200, p)
        y = rng.dirichlet(how.r * f + how.alpha)
        found = released_histogram.summary(list("abc"), y, total=200, public=True, mechanism=how, prior=1.0, level=0.9)
        covered += int(found["lower"][0] <= p[0] <= found["upper"][0])
    assert abs(covered - 54) <= 5 * np.sqrt(60 * 0.9 * 0.1)


def test_below_two_parents_the_records_are_those_of_the_chain():
    """300 records; P(a) = (.25, .75), P(b | a) as given: 300 P(a = 1) P(b = 0 | a = 1) = 300 x .75 x .2 = 45."""
    estimates = {
        "a": [({}, {"0": 0.25, "1": 0.75}, 300.0)],
        "b": [({"a": "0"}, {"0": 0.6, "1": 0.4}, 75.0), ({"a": "1"}, {"0": 0.2, "1": 0.8}, 225.0)],
    }
    parents = {"a": [], "b": ["a"], "c": ["a", "b"]}
    found = released_model._probability({"a": "1", "b": "0"}, estimates, parents)
    assert 300 * found == pytest.approx(45.0, rel=1e-12)
    alone = released_model._probability({"b": "0"}, estimates, parents)  # .25 x .6 + .75 x .2 = .3
    assert alone == pytest.approx(0.3, rel=1e-12)


def test_another_kind_of_release_is_refused():
    other = SimpleNamespace(record={"mechanism": "discrete_laplace"})
    with pytest.raises(ValueError, match="no model; this paper reads releases of naive_bayes and bayesian_network"):
        released_model.mechanism(other)


def test_a_released_distribution_and_a_rehearsal_with_counts():
    given = {"released": [0.2, 0.3, 0.5], "total": 400, "epsilon": 1.0, "order": 5.0, "names": ["a", "b", "c"]}
    table = scenario.table(**given, prior=1.0, level=0.95, rng=stream(1, "unused"))
    assert list(table["quantity"]) == ["P(a)", "P(b)", "P(c)"]
    assert "Algorithm 1: Rényi cost 1 at order 5" in table["note"][0]
    assert rehearsal.NOTE not in table["note"][0]
    again = scenario.table(
        **(given | {"epsilon": None, "order": None, "r": 2.44119266151864, "alpha": 40.0590825842982}),
        prior=1.0,
        level=0.95,
        rng=stream(1, "unused"),
    )  # r and alpha of epsilon 1, order 5
    assert again["mean"].to_numpy() == pytest.approx(table["mean"].to_numpy(), rel=1e-10)
    toy = {"rehearsal": {"counts": [50, 30, 20]}, "epsilon": 10.0, "order": 2.0, "prior": 1.0, "level": 0.95}
    tables = [scenario.table(**toy, rng=stream(seed, "toy")) for seed in (1, 1, 2)]
    assert tables[0]["mean"].equals(tables[1]["mean"])
    assert not tables[0]["mean"].equals(tables[2]["mean"])
    assert tables[0]["note"].str.startswith(rehearsal.NOTE).all()
    words = "".join(text.get_text() for text in [figures.scenario(tables[0])._supxlabel])
    assert rehearsal.NOTE in words.replace("\n", " ")


@pytest.fixture
def csv_file(tmp_path):
    rng = stream(2, "csv")
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {"age": rng.normal(40 + 10 * y, 5).round(1), "town": rng.integers(0, 3, 200), "sick": y, "one": 1}
    )
    frame.to_csv(tmp_path / "mine.csv", index=False)
    return tmp_path / "mine.csv"


RECORDS = {"target": "sick", "numeric": ["age"], "order": 5.0, "epsilons": [0.1, 10.0], "repeats": 3, "bins": 10}
RECORDS |= {"floor": "sigma", "mechanisms": ["dirichlet", "laplace"], "network": {"sick": ["age"], "age": []}}


def test_a_rehearsal_with_records_scores_every_mechanism(csv_file):
    settings = {"rehearsal": {"csv": str(csv_file), **RECORDS}, "prior": 1.0, "level": 0.95}
    table = scenario.table(**settings, rng=stream(3, "own"))
    found = table.set_index("quantity")
    assert found.loc["test accuracy, dirichlet, epsilon = 10", "mean"] > 0.6
    assert np.isfinite(found.loc["test log-likelihood, network, dirichlet, epsilon = 10", "mean"])
    row = found.loc["test cross-entropy, laplace, epsilon = 0.1"]
    # three releases: t quantile 4.302653 with 2 degrees of freedom
    assert row["upper"] - row["mean"] == pytest.approx(4.302652729911275 * row["sd"] / np.sqrt(3), rel=1e-9)
    assert table["note"].str.startswith(rehearsal.NOTE).all()
    drawn = figures.scenario(table)
    assert len(drawn.axes) == 3


def test_one_release_has_no_interval():
    row = rehearsal._row("dirichlet", "accuracy", 1.0, np.array([0.7]), 0.95)
    assert [row[key] for key in ("mean", "sd", "lower", "upper", "status")] == [0.7, 0.0, 0.7, 0.7, "exact"]


def test_a_rehearsal_survives_unusual_records_and_says_what_they_are(csv_file):
    """Expected scores are none: what must hold is that every row is a number and every oddity is named."""
    frame = pd.read_csv(csv_file, dtype=str)
    frame = frame.assign(person=[f"p{i}" for i in range(len(frame))], country="same")
    frame.loc[0, "age"], frame.loc[1, "sick"] = "", "unknown"
    frame.to_csv(csv_file, index=False)
    given = {"rehearsal": {"csv": str(csv_file), **RECORDS}}
    assert not [place for place in refusals(given) if place.startswith("scenarios.mine")]
    table = scenario.table(**given, prior=1.0, level=0.95, rng=stream(4, "unusual"))
    assert np.isfinite(table[["mean", "lower", "upper"]].to_numpy()).all()
    for words in (
        "'person' has",
        "like an identifier: drop it",
        "'country' has one value, 'same'",
        "'age' has 1 missing cell(s)",
        "class 'unknown' has 1 record(s)",
    ):
        assert table["note"].str.contains(words, regex=False).all()


def refusals(scenario_):
    section = {"scenarios": {"mine": scenario_}}
    section |= {k: {"least": 1, "most": 2} for k in ("figure_1", "figure_2", "figure_3_top", "figure_3_bottom")}
    section |= {k: {"least": 1, "most": 2} for k in ("figure_8", "exact_calibration")}
    return dict(validation.mistakes(section))


@pytest.mark.parametrize("key", ["counts", "csv", "data"])
def test_true_data_are_refused_with_the_way_out(key):
    found = refusals({key: "x", "rehearsal": {"counts": [1, 2]}, "epsilon": 1.0, "order": 2.0})
    assert "make a release" in found[f"scenarios.mine.{key}"]


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"csv": "none.csv"}, ".csv", "no file"),
        ({"target": "one"}, ".target", "one class"),
        ({"target": "tall"}, ".target", "no column 'tall'"),
        ({"numeric": ["gone"]}, ".numeric", "no column 'gone'"),
        ({"numeric": ["sick"]}, ".numeric", "is the target"),
        ({"network": {"sick": ["age"], "age": ["sick"]}}, ".network", "cycle among sick, age"),
        ({"network": {"tall": []}}, ".network.tall", "unknown node"),
        ({"network": {"sick": ["age"]}}, ".network.sick", "parent 'age' is no node"),
        ({"counts": [1, 2]}, "", "exactly one of counts and csv"),
    ],
)
def test_wrong_rehearsals_stop_before_any_job(csv_file, change, place, message):
    found = refusals({"rehearsal": {"csv": str(csv_file), "target": "sick", "numeric": ["age"]} | change})
    assert message in found[f"scenarios.mine.rehearsal{place}"]


@pytest.mark.parametrize(
    ("given", "place", "message"),
    [
        ({}, "", "exactly one of release, released and rehearsal"),
        ({"release": "a", "released": [0.5, 0.5]}, "", "exactly one of"),
        ({"release": "a", "total": 3}, ".total", "says nothing about release"),
        ({"released": [0.5, 0.5], "r": 1.0, "alpha": 2.0}, ".total", "is missing"),
        ({"released": [0.5, 0.6], "r": 1.0, "alpha": 2.0, "total": 9}, ".released", "must add up to 1, got 1.1"),
        ({"released": [0.5, 0.5], "r": 1.0, "order": 2.0, "total": 9}, "", "got order, r"),
        ({"released": [0.5, 0.5], "r": 1.0, "alpha": 2.0, "total": 9, "names": ["a"]}, ".names", "1 names for 2"),
        ({"rehearsal": {"counts": [0, 0]}, "r": 1.0, "alpha": 2.0}, ".rehearsal.counts", "at least one record"),
        ({"rehearsal": {"csv": "a.csv"}}, ".rehearsal.target", "is missing"),
    ],
)
def test_wrong_scenarios_are_refused(given, place, message):
    assert message in refusals(given)[f"scenarios.mine{place}"]


@pytest.mark.parametrize(("cells", "message"), [("", "all missing"), ("x", "holds 'x' in line 2")])
def test_a_numeric_column_without_numbers_stops_before_any_job(csv_file, cells, message):
    frame = pd.read_csv(csv_file).assign(age=cells)
    frame.to_csv(csv_file, index=False)
    found = refusals({"rehearsal": {"csv": str(csv_file), "target": "sick", "numeric": ["age"]}})
    assert message in found["scenarios.mine.rehearsal.numeric"]


def test_the_adapter_hands_the_release_over_its_name(root):
    release = made(root, BAYES)
    settings = {"release": "m", "prior": 1.0, "level": 0.95}
    shared = {"read": {}, "programs": {}, "files": {}, "names": ("ponnoprat2022", "scenario", "m"), "root_seed": 1}
    table = adapters.made(
        "ponnoprat2022.scenario.table", by="compute", settings=settings, further={"release": release}, **shared
    )
    assert len(table) == 2 + 2 * 4 + 2 * 4


def test_the_normaliser_is_constant_given_the_total():
    """Two counts with the same total: the difference of log densities is that of the weights."""
    r, alpha, y = 1.3, 3.0, np.array([0.25, 0.35, 0.4])
    logs = Mechanism(law="dirichlet", words="", r=r, alpha=alpha).log_weights(y, 9)
    pairs = [(np.array(f), logs[range(3), f].sum()) for f in ((2, 3, 4), (9, 0, 0))]
    found = [dirichlet_law(r * f + alpha).logpdf(y) for f, _ in pairs]
    assert pairs[0][1] - pairs[1][1] == pytest.approx(found[0] - found[1], rel=1e-11)
    assert logs[0, 0] == -gammaln(alpha)
