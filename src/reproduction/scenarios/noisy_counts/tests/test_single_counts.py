"""Test counts without a total, from the YAML configuration to the result files. The tests use 3,143 counties, shards
and invalid rows, and check the text on screen.
"""

import numpy as np
import pandas as pd
import pytest
import yaml

from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published import counts
from dpmultinomial._seeding import stream
from reproduction import kind
from reproduction.config import config, scenario_settings
from reproduction.scenarios import making, sentences
from reproduction.scenarios.noisy_counts import rules

COUNTIES = """
scenarios:
  counties:
    kind: noisy_counts
    file: counties.csv
    noise: discrete_gaussian
    questions:
      largest: {rank: {of: all, top: 5}}
      more: {probability: "'county 7' > 'county 9'"}
"""
N = np.arange(1500)
KINDS = kind.discover()
GAUSS = {"law": "gaussian", "sd": 2.0}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that computes a scenario in a separate folder and returns the result files. The scenario is
    given as YAML text.
    """
    monkeypatch.chdir(tmp_path)

    def make(text, name="counties", shards=1):
        written = yaml.safe_load(text)["scenarios"][name]
        scenario = scenario_settings.single(name, written, kind.discover())
        parts = [making.files(f"{name}_{i}_of_{shards}", tmp_path) for i in range(shards)]
        for i, part in enumerate(parts):
            making.part(scenario, part, root_seed=1, shard=i + 1, of=shards)
        whole = making.files(name, tmp_path)
        making.together(parts, whole)
        return whole

    return make


def counties(size, seed, **more):
    """Return synthetic published counts with the variances of their noise, as a DataFrame. The true counts have a
    negative binomial distribution.
    """
    rng = stream(seed, "counties")
    variance = np.round(np.exp(rng.uniform(0, np.log(100), size)), 3)
    law = law_of({"law": "discrete_gaussian", "variance": variance})
    value = law.sample(rng.negative_binomial(0.5, 0.5 / 40.5, size), rng=rng)
    frame = pd.DataFrame({"name": [f"county {i}" for i in range(size)], "value": value, "variance": variance})
    return frame.assign(**more)


def by_sums(frame, prior):
    """Return the posterior distribution of every count on 0..1499, computed from the definition, as an array of shape
    (rows, 1500). The rows are normalised, so that constant factors of the prior and the noise cancel.
    """
    y, v = frame["value"].to_numpy(float)[:, None], frame["variance"].to_numpy()[:, None]
    p = prior * np.exp(-((y - N) ** 2) / (2 * v) + np.maximum(0, -y) ** 2 / (2 * v))
    return p / p.sum(axis=1, keepdims=True)


def ends(p, level=0.95):
    """Return the limits of central intervals, with a probability of at most (1 - level)/2 beyond each limit."""
    below = np.cumsum(p, axis=1)
    tail = (1 - level) / 2
    return np.argmax(below >= tail * (1 - 1e-9), axis=1), np.argmax(below >= 1 - tail * (1 + 1e-9), axis=1)


@pytest.mark.thorough
def test_eight_lines_say_all_of_3143_counties_and_each_number_is_confirmed(made, tmp_path):
    assert len([line for line in COUNTIES.strip().splitlines() if line.strip()]) <= 8
    frame = counties(3143, 1)
    frame.to_csv(tmp_path / "counties.csv", index=False)
    rows, beside, facts = making.read(made(COUNTIES))
    (point,) = facts["points"]
    assert point["prior"]["law"] == "fitted"
    (fitted,) = counts.priors_of(
        frame["value"], noise={"law": "discrete_gaussian", "variance": frame["variance"]}
    ).values()
    prior = np.repeat(fitted.masses / np.diff(fitted.edges), np.diff(fitted.edges))
    # the exact distribution of the histogram, computed by adding the counts one by one
    prior = np.append(prior, np.zeros(len(N)))[: len(N)]
    p = by_sums(frame, prior)
    own = rows.iloc[:3143]
    mean = p @ N
    assert own["mean"].to_numpy() == pytest.approx(mean, rel=1e-10, abs=1e-12)
    assert own["sd"].to_numpy() == pytest.approx(np.sqrt((p * (N - mean[:, None]) ** 2).sum(axis=1)), rel=1e-8)
    lower, upper = ends(p)
    assert own["lower"].to_numpy().tolist() == lower.tolist()
    assert own["upper"].to_numpy().tolist() == upper.tolist()
    assert (own["status"] == "exact").all()
    more = rows.set_index("quantity").loc["more", "mean"]
    above = np.cumsum(p[7][::-1])[::-1] - p[7]  # P(county 7 > n)
    assert more == pytest.approx(above @ p[9], rel=1e-10)
    ranked = rows[rows["quantity"].str.startswith("largest: county")]
    exceeds = 1 - np.cumsum(p, axis=1)  # P(county > n)
    every = 1 + np.array([(exceeds @ p[i]).sum() - exceeds[i] @ p[i] for i in np.argsort(mean)[-12:]])
    assert ranked["mean"].to_numpy() == pytest.approx(np.sort(every)[:5], rel=1e-9)
    first = int(ranked["quantity"].iloc[0].rpartition(" ")[2])
    others = np.delete(exceeds, first, axis=0)
    # distribution of the number of counties with a count above n (up to 5), computed by adding the counties one by one
    law = np.zeros((6, len(N)))
    law[0] = 1
    for q in others[others.max(axis=1) > 0]:
        law[1:] = law[1:] * (1 - q) + law[:-1] * q
        law[0] *= 1 - q
    inside = rows.set_index("quantity").loc[f"largest: P(county {first} in top 5)", "mean"]
    assert inside == pytest.approx(law[:5].sum(axis=0) @ p[first], rel=1e-8)
    flat = by_sums(frame, 1.0)
    sd = np.maximum(
        np.sqrt((p * (N - mean[:, None]) ** 2).sum(axis=1)),
        np.sqrt((flat * (N - (flat @ N)[:, None]) ** 2).sum(axis=1)),
    )
    four = [np.argmax(np.cumsum(each, axis=1) >= tail, axis=1) for each in (p, flat) for tail in (0.025, 0.975)]
    far = np.maximum(np.abs(four[0] - four[2]), np.abs(four[1] - four[3]))
    apart = (np.abs(flat @ N - mean) > 0.5 * sd) | (far > sd)
    assert beside["quantity"].tolist() == frame["name"][apart].tolist()
    assert beside["mean"].to_numpy() == pytest.approx((flat @ N)[apart], rel=1e-10)
    assert (beside["status"] == "for comparison").all()
    told = " ".join([*sentences.assumptions(facts, point), *sentences.accuracy(point)])
    assert "Prior: distribution fitted to 3,143 of the counts" in told
    assert "default: fitted if there are at least 30 counts" in told
    least, most = np.sqrt(frame["variance"].min()), np.sqrt(frame["variance"].max())
    assert f"sigma between {least:g} and {most:g}" in told
    assert f"The prior matters for {apart.sum():,} of 3,143 counts" in told
    assert "CONFLICT" not in told


BATCH = """
scenarios:
  counties: {kind: noisy_counts, file: many.csv, noise: discrete_gaussian}
"""


def many(tmp_path, *bad):
    """Write a file of 400 counts in forty tables and two groups, with the given invalid values, and return the content
    of the file as a DataFrame.
    """
    frame = counties(400, 2).assign(table=[f"state {i // 10}" for i in range(400)])
    frame["group"] = np.where(np.arange(400) % 2 == 0, "even", "odd")
    frame = frame.astype({"value": object, "variance": object})
    for row, column, value in bad:
        frame.loc[row, column] = value
    frame.to_csv(tmp_path / "many.csv", index=False)
    return frame


@pytest.mark.thorough
def test_any_number_of_shards_gives_the_same_bytes_and_a_bad_row_is_named_and_skipped(made, tmp_path):
    wrong = ((13, "value", 2.5), (77, "variance", -1.0), (120, "value", ""), (250, "value", "about 7"))
    frame = many(tmp_path, *wrong)
    one = made(BATCH)
    whole = one.csv.read_bytes()
    facts = one.facts.read_bytes()
    for shards in (3, 7, 40):
        again = made(BATCH, shards=shards)
        assert again.csv.read_bytes() == whole
        assert again.facts.read_bytes() == facts
    rows = pd.read_csv(one.csv)
    assert rows["quantity"].tolist() == frame["name"].tolist()
    assert rows["table"].tolist() == frame["table"].tolist()
    bad = rows[rows["status"] != "exact"]
    assert bad.index.tolist() == [13, 77, 120, 250]
    reasons = [
        "this value is impossible under the noise distribution",
        "the scale of the noise must be",
        "value is empty",
        "value is not a number",
    ]
    for status, reason in zip(bad["status"], reasons, strict=True):
        assert status.startswith("refused: ")
        assert reason in status
    assert bad[["mean", "sd", "lower", "upper"]].isna().all().all()
    good = frame.drop(bad.index).astype({"value": float, "variance": float})
    for group, own in good.groupby("group"):
        noise = {"law": "discrete_gaussian", "variance": own["variance"]}
        (fitted,) = counts.priors_of(own["value"], noise=noise).values()
        density = np.repeat(fitted.masses / np.diff(fitted.edges), np.diff(fitted.edges))
        p = by_sums(own, np.append(density, np.zeros(len(N)))[: len(N)])
        assert rows.loc[own.index, "mean"].to_numpy() == pytest.approx(p @ N, rel=1e-9), group
        assert rows.loc[own.index, "lower"].to_numpy().tolist() == ends(p)[0].tolist()


def test_a_batch_withheld_below_a_threshold_takes_empty_values(made, tmp_path):
    frame = counties(60, 3).assign(table="one").drop(columns="variance").astype({"value": object})
    frame.loc[frame["value"].astype(float) < 6, "value"] = ""
    frame.loc[58:, "value"] = ["<6", "six"]
    frame.to_csv(tmp_path / "many.csv", index=False)
    text = BATCH.replace("discrete_gaussian", "{law: discrete_gaussian, sigma: 4.0, threshold: 6}").replace(
        "counties: {", 'counties: {prior: "1/(1+n)", '
    )
    rows = pd.read_csv(made(text).csv)
    assert rows["status"].iloc[-1] == "refused: value is not a number"  # an unreadable value is not treated as withheld
    rows = rows.iloc[:-1]  # "<6" has the same meaning as an empty value
    assert (rows["status"] == "exact").all()
    below = np.array([np.exp(-((np.arange(-200, 6) - n) ** 2) / 32).sum() for n in N]) / (1 + N)
    withheld = rows[rows["released"].isna()]
    assert len(withheld) > 5
    assert withheld["mean"].to_numpy() == pytest.approx(below @ N / below.sum(), rel=1e-10)


LAWS = {
    "clipped": ("{law: discrete_gaussian, sigma: 3.0, clipped: {at: 0}}", "then clipping at 0 from below"),
    "rounded": ("{law: laplace, scale: 2.0, rounded: 5}", "then rounding to multiples of 5"),
    "rho": ("{law: discrete_gaussian, rho: 0.125, sensitivity: 1.0}", "with parameter sigma 2"),
    "sd": ("{law: gaussian, sd: 2.5}", "with standard deviation 2.5"),
    "exact": ("exact", "No noise was added to the counts."),
}


@pytest.mark.parametrize("name", LAWS)
def test_every_law_is_a_key_and_is_said(made, name):
    law, said = LAWS[name]
    text = f"scenarios: {{mine: {{kind: noisy_counts, counts: {{a: 0, b: 15}}, noise: {law}}}}}"
    rows, _, facts = making.read(made(text, "mine"))
    assert rows["quantity"].tolist() == ["a", "b"]
    (point,) = facts["points"]
    told = " ".join(sentences.assumptions(facts, point))
    assert said in told
    assert "weight 1/(1 + n) for a count n (default: fitted if there are at least 30 counts, otherwise 1/(1+n))" in told
    if name == "clipped":  # P(a = n), by the tail sum, is 1/(1 + n)
        tail = np.array([np.exp(-((np.arange(-200, 1) - n) ** 2) / 18).sum() for n in N]) / (1 + N)
        assert rows["mean"].iloc[0] == pytest.approx(tail @ N / tail.sum(), rel=1e-10)


def test_a_noisy_total_its_conflict_and_its_questions(made):
    text = """
    scenarios:
      mine:
        kind: noisy_counts
        counts: {a: 12, b: 7}
        noise: {law: discrete_gaussian, sigma: 2.0}
        total: {released: 60, noise: {law: discrete_gaussian, sigma: 1.0}}
        about: counts
        prior: "1/(1+n)"
        questions: {both: {sum: [a, b]}}
    """
    rows, _, facts = making.read(made(text, "mine"))
    a, b = np.meshgrid(np.arange(120), np.arange(120), indexing="ij")
    logs = -((12 - a) ** 2) / 8 - (7 - b) ** 2 / 8 - (60 - a - b) ** 2 / 2 - np.log((1 + a) * (1 + b))
    p = np.exp(logs - logs.max())
    p /= p.sum()
    assert rows.set_index("quantity").loc["both", "mean"] == pytest.approx((p * (a + b)).sum(), rel=1e-10)
    assert rows[rows["type"] == "count"]["mean"].to_numpy() == pytest.approx([(p * a).sum(), (p * b).sum()], rel=1e-10)
    told = " ".join(sentences.accuracy(facts["points"][0]))
    assert "CONFLICT: total is improbable under" in told
    assert "check the noise, bounds, total and prior" in told


@pytest.mark.parametrize("place", ["noise", "total"])
def test_a_wrong_law_is_told_what_is_right_within_its_family(place):
    def told(noise):
        own = {"noise": noise} if place == "noise" else {"noise": "exact", "total": {"released": 7, "noise": noise}}
        with pytest.raises(config.ConfigError) as error:
            scenario_settings.single(
                "mine", {"kind": "noisy_counts", "counts": {"a": 3, "b": 4}, **own}, kind.discover()
            )
        assert f"mine.{'noise' if place == 'noise' else 'total.noise'}" in str(error.value)
        return str(error.value)

    hints = {"discrete_gausian": "discrete_gaussian", "discrete_normal": "discrete_gaussian", "normal": "gaussian",
             "two_sided_geometric": "discrete_laplace", "discrete": "", "poisson": ""}  # fmt: skip
    for wrong, right in hints.items():
        assert told({"law": wrong, "sigma": 1.0}).partition("did you mean ")[2].rstrip("?") == right
    assert "set sigma" in told({"law": "discrete_gaussian", "sd": 1.0})
    assert "exactly one of the keys sigma, variance, rho" in told(
        {"law": "discrete_gaussian", "sigma": 1.0, "rho": 1.0}
    )
    assert "exactly one of the keys scale, epsilon" in told({"law": "laplace"})


TOTAL = {"released": 50.0, "noise": {"law": "gaussian", "sd": 2.0}}


@pytest.mark.parametrize(
    ("prior", "total", "words"),
    [
        (
            {"law": "multinomial", "alpha": "fitted"},
            TOTAL,
            "This concentration is not fitted (prior: fitted fits a distribution",
        ),
        ({"law": "multinomial", "alpha": [1, 2]}, 50, "one number per count"),
        ({"law": "multinomial", "alpha": True}, 50, "must be a concentration"),
        ({"law": "multinomial", "alpha": 1.0}, None, "concentration of rates, which requires a total"),
        (0.5, None, "which requires a total; without a total, the prior must be flat"),
        ("jeffreys", None, "which requires a total"),
        ("fited", TOTAL, "must be one of flat, jeffreys, "),
        ([1.0, 2.0], TOTAL, "(3 counts), got 2 numbers"),
    ],
)
def test_priors_that_do_not_fit_are_refused_with_the_way_out(prior, total, words):
    written = {"kind": "noisy_counts", "counts": [12.0, 3.0, 44.0], "noise": GAUSS, "prior": prior}
    written |= {} if total is None else {"total": total}
    ((place, text),) = scenario_settings.mistakes({"scenarios": {"x": written}, "releases": {}}, KINDS)
    assert place == "x.prior"
    assert words in text


@pytest.mark.parametrize("prior", ["fitted", "flat", "jeffreys", 0.5, {"law": "multinomial", "alpha": 2.0}, "1/(1+n)"])
def test_every_prior_is_answered_beside_a_noisy_total(prior, tmp_path):
    written = {
        "counts": [float(9 + i % 5) for i in range(40)],
        "noise": GAUSS,
        "prior": prior,
        "total": TOTAL | {"released": 431.0},
    }
    scenario = scenario_settings.single("x", {"kind": "noisy_counts", **written}, KINDS)
    (found,) = making.part(scenario, making.files("x", tmp_path), root_seed=1)
    counts = found.rows[found.rows["type"] == "count"]
    assert (found.rows["status"] == "exact").all()
    # the noise of the total has the standard deviation 2, compared with 40 for the sum of the counts
    assert counts["mean"].sum() == pytest.approx(431, abs=8)
    assert ("rate" in set(found.rows["type"])) == (prior in ("jeffreys", 0.5, {"law": "multinomial", "alpha": 2.0}))
    assert (found.facts["prior"]["law"] == "fitted") == (prior == "fitted")


def test_a_batch_without_a_total_shows_what_a_flat_prior_says_where_a_single_file_does(made, tmp_path):
    """Check that the comparison with a flat prior is the same for a batch with one table of 60 counts and for a single
    file with these counts. The fitted prior is also the same.
    """
    rng = stream(8, "beside")
    values = rng.poisson(20, 60) + rng.normal(0, 3, 60).round(3)
    for name, head, start in (("one", "", ""), ("many", "table,", "x,")):
        lines = [f"{start}c{i},{v}" for i, v in enumerate(values)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"{head}name,value", *lines]) + "\n")
    text = "scenarios:\n  {0}: {{kind: noisy_counts, file: {0}.csv, noise: {{law: gaussian, sd: 3.0}}}}\n"
    single, many = (pd.read_csv(made(text.format(name), name).listed[2]) for name in ("one", "many"))
    assert 10 < len(single) < 60
    assert many.columns.tolist() == ["table", *single.columns]
    pd.testing.assert_frame_equal(many.drop(columns="table"), single, rtol=1e-12, check_dtype=False)
    again = made(text.format("many"), "many", shards=3)
    assert pd.read_csv(again.listed[2]).equals(many)


@pytest.mark.parametrize("batch", [False, True])
def test_rates_without_a_total_are_refused_in_words(batch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "many.csv").write_text("table,name,value\nx,a,3\nx,b,9\n")
    source = {"file": "many.csv"} if batch else {"counts": [3.0, 9.0]}
    written = {"kind": "noisy_counts", **source, "noise": GAUSS, "about": "rates"}
    ((place, text),) = scenario_settings.mistakes({"scenarios": {"x": written}, "releases": {}}, KINDS)
    assert place == "x.about"
    assert "set total, or omit the key 'about'" in text
    assert not list(scenario_settings.mistakes({"scenarios": {"x": written | {"total": 12}}, "releases": {}}, KINDS))


@pytest.mark.parametrize(
    ("rows", "more", "wrong"),
    [
        (29, {}, True),
        (30, {}, False),
        (15, {"absent": {"cells": "cells.csv", "are": "zero"}}, False),  # the list of cells adds counts
    ],
)
@pytest.mark.parametrize("odd", ["", "t99,c0,5,extra\n", 't99,5" pipe,5\n'])
def test_a_fitted_prior_of_a_batch_needs_rows_that_the_check_counts(rows, more, wrong, odd, tmp_path):
    """Check that a row with too many fields or with a quotation mark is counted but not rejected by the check of the
    settings, because the table of this row is checked during the run.
    """
    lines = "".join(f"t{i},c0,{i}\n" for i in range(rows - bool(odd))) + odd
    (tmp_path / "batch.csv").write_text("table,name,value\n" + lines)
    settings = {"file": str(tmp_path / "batch.csv"), "prior": "fitted"} | more
    assert [place for place, _ in rules._prior_of_batch(settings, {})] == [".prior"] * wrong
