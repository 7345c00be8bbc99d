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
from reproduction.scenarios import making, sentences, summary
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
    """Return a DataFrame of synthetic published counts and the variances of the noise in these counts. The true counts
    have a negative binomial distribution.
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
    """Return the limits of central intervals, beyond each of which the probability is at most (1 - level)/2."""
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
    assert "default: fitted if there are at least 30 measured counts" in told
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
        "no value is available",
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
    assert (
        "weight 1/(1 + n) for a count n >= 0 (default: fitted if there are at least 30 measured counts, "
        "otherwise 1/(1+n))" in told
    )
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
    assert "CONFLICT: the total is improbable under" in told
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
    """Check that a batch with one table of 60 counts and a single file with the same counts give the same comparison
    with a flat prior. The fitted prior is also the same.
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


@pytest.mark.parametrize("more", [{}, {"confidence": 0.95, "prior": {"law": "geometric", "mean": 2}}])
@pytest.mark.parametrize("last", ["7.5", "<3"])
def test_each_table_of_a_batch_has_the_noise_that_it_has_alone(tmp_path, monkeypatch, more, last):
    """Without a stated distribution, noise is discrete in a table of integers, whatever the other tables contain."""
    monkeypatch.chdir(tmp_path)
    tables = {"s": {"a": "7", "b": "30"}, "t": {"a": last, "b": "30"}}
    settings = {"kind": "noisy_counts", "epsilon": 0.4, "prior": "flat", **more}
    lines = [f"{table},{name},{value}" for table, cells in tables.items() for name, value in cells.items()]
    (tmp_path / "two.csv").write_text("\n".join(["table,name,value", *lines]) + "\n")

    def rows(name, **stated):
        files = making.files(name, tmp_path)
        making.part(scenario_settings.single(name, {**settings, **stated}, KINDS), files, root_seed=1)
        return pd.read_csv(files.csv, keep_default_na=False)

    batch = rows("batch", file="two.csv")
    for table, cells in tables.items():
        part, alone = batch[batch["table"] == table], rows(table, counts=cells)
        for name in set(alone) - {"quantity", "type", "status", "ci_method"}:
            found, wanted = (pd.to_numeric(frame[name]).to_numpy() for frame in (part, alone))
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    if more:  # P(|noise| > 15) = 0.0449 if the noise is discrete, and P(|noise| > 14.98) = 0.05 if it is continuous
        assert batch["ci_upper"].to_list()[1] == 45


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
    """Check that the validation of the settings includes a malformed row in the number of rows and does not reject this
    row. The table of the row is checked later, during the run.
    """
    lines = "".join(f"t{i},c0,{i}\n" for i in range(rows - bool(odd))) + odd
    (tmp_path / "batch.csv").write_text("table,name,value\n" + lines)
    settings = {"file": str(tmp_path / "batch.csv"), "prior": "fitted"} | more
    assert [place for place, _ in rules._of_batch(settings, {})] == [".prior"] * wrong


SETTINGS = {"counts": [3, 4], "noise": {"law": "laplace", "scale": 2.0}}


def told(settings, columns=None, batch=False, **more):
    """Return the mistakes in the settings of a test as a mapping from keys to messages."""
    return dict(rules.mistakes({**SETTINGS, **settings, **more}, columns, batch))


@pytest.mark.parametrize(
    ("settings", "columns", "names", "values"),
    [
        ({"counts": {"a": 3, 5: None}}, None, ["a", "5"], [3, None]),
        ({"counts": [3, 4.5]}, None, ["1", "2"], [3, 4.5]),
        ({"counts": [3, 4], "names": ["x", "y"]}, None, ["x", "y"], [3, 4]),
        ({"rehearsal": {"counts": {"a": 3}}}, None, ["a"], [3]),
        ({"rehearsal": {"counts": [7]}}, None, ["1"], [7]),
        ({"release": "r"}, None, [], []),
        ({}, {"name": ["p", "q"], "value": ["3", ""]}, ["p", "q"], [3.0, None]),
    ],
)
def test_counts_have_names_or_numbers(settings, columns, names, values):
    assert rules.names(settings, columns) == names
    assert rules.values(settings, columns) == values


@pytest.mark.parametrize(
    ("settings", "columns", "whole", "noise"),
    [
        ({"epsilon": 0.5}, None, True, {"law": "discrete_laplace", "epsilon": 0.5, "sensitivity": 2.0}),
        ({"epsilon": 0.5, "sensitivity": 1}, None, False, {"law": "laplace", "epsilon": 0.5, "sensitivity": 1}),
        ({}, {"scale": ["2"]}, True, {"law": "discrete_laplace"}),
        ({"epsilon": 0.5}, {"sigma": ["2"]}, False, {"law": "laplace"}),
        ({"noise": "exact"}, None, True, {"law": "exact"}),
        ({"noise": {"law": "gaussian", "sd": 2}}, None, True, {"law": "gaussian", "sd": 2}),
    ],
)
def test_the_noise_follows_from_the_settings_and_the_columns(settings, columns, whole, noise):
    assert rules.noise(settings, columns, whole) == noise
    assert rules.stated_scales(columns) == [c for c in ("scale", "sigma") if c in (columns or {})]


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({}, None, ""),
        ({"release": "r", "noise": "nothing"}, None, ""),
        ({"epsilon": 1.0}, ".noise", "noise and epsilon must not both be given"),
        ({"sensitivity": 1.0}, ".sensitivity", "is allowed only with epsilon"),
        ({"noise": "laplac"}, ".noise", "'laplac' is not a noise distribution"),
        ({"noise": "laplace"}, ".noise", "'laplace' requires the scale of the noise"),
        ({"noise": "random_rounding"}, ".noise", "write noise: {law: random_rounding, ..} with the base"),
        ({"noise": "table"}, ".noise", "'table' requires the file of the table"),
        ({"noise": "exact", "prior": "flat"}, None, ""),
        ({"noise": {"law": "table"}}, ".noise", "a noise table requires the key 'file'"),
        ({"noise": {"law": "table", "file": "no.csv"}}, ".noise.file", "'no.csv' is not a file"),
        ({"noise": {"law": "discrete_laplace", "scale": 2}, "counts": [1, 2.5]}, ".counts", "got 2.5 in row 2. The co"),
        ({"noise": {"law": "discrete_gaussian", "sigma": 2}, "counts": [1.5]}, ".counts", "distribution is gaussian"),
        ({"about": "rates"}, ".about", "rates require a public total"),
        ({"about": "rates", "total": 9}, None, ""),
        ({"names": ["a"]}, ".names", "must contain one name per count (2 counts), got 1 names"),
        ({"names": ["a", "a"]}, ".names", "the name 'a' occurs in rows 1 and 2"),
        ({"among": ["1"]}, ".among", "shares among some of the counts require the public total"),
        ({"among": ["1", "7"], "total": 9}, ".among", "'7': unknown count. The counts are 1, 2"),
        ({"among": ["1"], "total": 0}, None, ""),
        ({"bounds": {"lower": 3, "upper": 2}}, ".bounds", "lower must be <= upper, got lower = 3 and upper = 2"),
        ({"bounds": {"lower": 2, "upper": 2}}, None, ""),
        ({"bounds": {"upper": -1}}, ".bounds", "got lower = 0 and upper = -1"),
        ({"prior": "beta"}, ".prior", "must be one of flat, jeffreys, 1/(1+n), fitted, a number, or"),
        ({"prior": "jeffreys"}, ".prior", "jeffreys is a concentration of rates, which requires a total"),
        ({"prior": 0.5}, ".prior", "0.5 is a concentration of rates"),
        ({"prior": {"law": "multinomial"}}, ".prior", "is a concentration of rates"),
        ({"prior": [1, 2], "total": 9}, None, ""),
        ({"prior": [1], "total": 9}, ".prior", "one number per count (2 counts), got 1 numbers"),
        ({"prior": {"law": "geometric"}}, ".prior", "mean"),
        ({"prior": {"law": "fitted"}}, None, ""),
        ({"prior": {"law": "multinomial", "alpha": 0}, "total": 9}, ".prior", "alpha: 0 must be a concentration > 0"),
        ({"prior": {"law": "multinomial", "alpha": [1, 2]}, "total": 9}, None, ""),
        ({"prior": {"law": "multinomial", "alpha": [1]}, "total": 9}, ".prior", "alpha: [1] must be"),
        ({"prior": {"law": "multinomial", "alpha": [1, True]}, "total": 9}, ".prior", "must be a concentration > 0"),
        ({"counts": ["x"]}, ".counts", "1: "),
        ({"counts": {"a": None}, "prior": "flat"}, ".counts", "'a' has no value: fill the empty cell"),
        ({"counts": {"a": None}, "total": 9}, None, ""),
        ({"groups": {"g": ["1"]}}, ".groups", "the count '2' must be in one of the groups"),
        ({"groups": {"g": ["1", "2"]}}, None, ""),
        ({"total": {"released": 3, "noise": "laplace"}}, ".total.noise", "scale"),
        ({"total": {"released": 3, "noise": {"law": "laplace", "scale": 1}}}, None, ""),
    ],
)
def test_a_mistake_is_told_under_its_key(settings, key, words):
    found = told(settings)
    assert list(found) == ([] if key is None else [key])
    assert key is None or words in found[key]


@pytest.mark.parametrize(
    ("columns", "settings", "key", "words"),
    [
        ({"scale": ["1", "2"]}, {"noise": "laplace"}, None, ""),
        ({"scale": ["1", "0"]}, {"noise": "laplace"}, ".file", "column scale: must be > 0, got 0 (row 2)"),
        ({"scale": ["1", ""]}, {"noise": "laplace"}, None, ""),
        ({"scale": ["1", "1"], "sigma": ["1", "1"]}, {"noise": "laplace"}, ".file", "got scale and sigma"),
        ({"scale": ["1", "1"]}, {}, ".noise", "the key scale must be omitted, because the file has a column scale"),
        (
            {"scale": ["1", "1"]},
            {"noise": None, "epsilon": 1.0},
            ".epsilon",
            "the column scale of the file also states",
        ),
        ({"group": ["g", ""]}, {}, ".file", "column 'group': the cell in row 2 is empty"),
        ({"epsilon": ["1", "1"]}, {}, ".noise", "must be omitted, because the file has a column epsilon"),
        (
            {"epsilon": ["1", "1"], "sd": ["1", "1"]},
            {"noise": "laplace"},
            ".file",
            "the columns epsilon and sd both state the noise: remove one of the columns",
        ),
        ({"level": ["x", "y"]}, {}, ".file", "but no column 'parent': add the column 'parent'"),
        ({"total": ["9", "9"]}, {"about": "rates"}, None, ""),
        ({"name": ["a", "a"]}, {}, ".file", "the name 'a' occurs in rows 1 and 2"),
    ],
)
def test_a_mistake_of_a_file_is_told_by_its_row(columns, settings, key, words):
    given = {"name": ["a", "b"], "value": ["3", "4"], **columns}
    made = {k: v for k, v in {**SETTINGS, **settings}.items() if v is not None and k != "counts"}
    found = dict(rules.mistakes(made, given, False))
    assert list(found) == ([] if key is None else [key])
    assert key is None or words in found[key]


def test_no_noise_at_all_is_a_mistake():
    (text,) = dict(rules.mistakes({"counts": [1]}, None, False)).values()
    assert text.startswith("state the noise of the counts")


@pytest.mark.parametrize(
    ("size", "total", "wrong"),
    [(2, 1_000_000, False), (2, 1_000_001, True), (15, 1_000_001, True), (16, 1_000_001, False), (1, 1_000_001, False)],
)
def test_the_exact_total_of_fewer_than_sixteen_counts_is_at_most_a_million(size, total, wrong):
    found = told({"counts": [3] * size, "total": total})
    assert list(found) == [".total"] * wrong
    assert not wrong or found[".total"].endswith(f"fewer than 16 counts must be <= 1000000, got {total}")


@pytest.mark.parametrize(
    ("counts", "wrong"), [([1_000_000], False), ([1_000_000, 1], True), ([70_000] * 15, True), ([70_000] * 16, False)]
)
def test_the_sum_of_a_rehearsal_of_few_counts_is_at_most_a_million(counts, wrong):
    settings = {"rehearsal": {"counts": counts}, "epsilon": 1.0}
    found = dict(rules.mistakes(settings, None, False))
    assert list(found) == [".rehearsal.counts"] * wrong
    assert dict(rules.mistakes({**settings, "total": 3}, None, False))[".total"].startswith("3: the total of a rehears")


@pytest.mark.parametrize(("size", "words"), [(20, "x19"), (21, "x19, ..")])
def test_an_unknown_count_lists_twenty_known_ones(size, words):
    found = told({"counts": {f"x{i:02}": 1 for i in range(size)}, "among": ["no"], "total": 9})
    assert found[".among"].endswith(words)


@pytest.mark.parametrize("size", [1999, 2000])
def test_a_name_that_occurs_twice_is_found_in_long_and_short_lists(size):
    names = [f"n{i}" for i in range(size)]
    assert rules._twice(names) == set()
    assert rules._twice([*names, "n7", "n9", "n7"]) == {"n7", "n9"}
    found = told({"counts": [1] * size, "names": [*names[:-1], "n5"]})
    assert found[".names"].startswith(f"the name 'n5' occurs in rows 6 and {size}: rename")


@pytest.mark.parametrize(("rows", "wrong"), [(29, True), (30, False)])
@pytest.mark.parametrize("prior", ["fitted", {"law": "fitted"}])
def test_a_prior_is_fitted_to_at_least_thirty_rows_of_a_batch(tmp_path, rows, wrong, prior):
    """Check that a fitted prior requires at least 30 rows in a batch, and that empty lines do not count as rows."""
    path = tmp_path / "many.csv"
    path.write_text("table,name,value\n\n" + "".join(f"t,a{i},3\n" for i in range(rows)) + "\n")
    settings = {"file": str(path), "noise": {"law": "laplace", "scale": 2.0}, "prior": prior}
    found = dict(rules.mistakes(settings, {"table": (), "name": (), "value": ()}, True))
    assert list(found) == [".prior"] * wrong
    assert not wrong or found[".prior"] == "fitting a prior requires at least 30 measured counts, got 29 rows"
    assert not dict(rules.mistakes({**settings, "absent": {"are": "zero"}}, {"name": ()}, True))


@pytest.mark.parametrize(("prior", "columns"), [("fitted", True), ({"law": "fitted"}, True), (None, False)])
def test_the_warning_about_an_uncertain_prior_is_in_the_rows_of_a_batch(tmp_path, monkeypatch, prior, columns):
    """Without a total, the prior is fitted to the counts of all tables; with a column epsilon, to those of a table."""
    monkeypatch.chdir(tmp_path)
    values, noise = [40, -35, 22, -60, 5] * 6, {"law": "discrete_gaussian", "sigma": 60.0}
    settings = {"kind": "noisy_counts", **({} if prior is None else {"prior": prior})}

    def made(name, **stated):
        files = making.files(name, tmp_path)
        making.part(scenario_settings.single(name, {**settings, **stated}, KINDS), files, root_seed=1)
        return files

    counts = {f"k{i}": value for i, value in enumerate(values)}
    laplace = {"noise": {"law": "discrete_laplace", "scale": 50}}  # sensitivity/epsilon = 2/0.04
    for more, alone in (({"noise": noise}, {"noise": noise}), ({}, laplace)):
        lines = [f"{'tu'[i % 2 if more else 0]},{name},{value},0.04" for i, (name, value) in enumerate(counts.items())]
        head = "table,name,value," + ("unused" if more else "epsilon")
        (tmp_path / "few.csv").write_text("\n".join([head, *lines]) + "\n")
        rows = pd.read_csv(made("batch", file="few.csv", **more).csv, keep_default_na=False)
        told = [text for text in summary.summarise(made("alone", counts=counts, **alone)).warnings if prior]
        found = set(rows["warnings"]) if columns else set()
        assert {f"WARNING: {text}" for text in found} == set(told)
        assert ("warnings" in rows) is columns


def test_the_total_of_a_batch_is_public():
    total = {"released": 30, "noise": {"law": "laplace", "scale": 2}}
    (found,) = rules._of_batch({"file": "f.csv", "total": total}, {"name": ["a"], "value": ["1"]})
    assert found[0] == ".total"
    assert found[1].startswith("must be an integer in a batch: ")
    assert not list(rules._of_batch({"file": "f.csv", "total": 30}, {"name": ["a"], "value": ["1"]}))


def test_a_prior_by_group_needs_a_column_of_groups():
    settings = {"file": "x.csv", "noise": {"law": "laplace", "scale": 2.0}, "prior": {"g": "fitted", "h": "fitted"}}
    found = dict(rules.mistakes(settings, {"name": (), "value": ()}, True))
    assert found == {".prior": "groups is required if the keys (g, h) are names of groups: add a column 'group'"}
    assert not dict(rules.mistakes(settings, {"name": (), "value": (), "group": ()}, True))
    wrong = {**settings, "prior": {"g": "fitted", "h": {"law": "geometric"}}}
    assert dict(rules.mistakes(wrong, {"name": (), "group": ()}, True))[".prior"].startswith("group h: ")


@pytest.mark.parametrize(
    ("settings", "seconds", "memory"),
    [
        ({"counts": [1] * 16}, 0.5 + 0.048, 150 + 0.56),
        ({"counts": [1] * 15, "total": 100}, 0.2 + 0.6 + 4e-6 * 1500, 7e-5 * 1500 + 1.5),
        ({"counts": [1, 2], "total": 100, "among": ["1", "2"]}, 0.2 + 0.16 + 4e-6 * 200, 7e-5 * 200 + 0.4),
        ({"rehearsal": {"counts": [30, None, 20]}}, 0.2 + 0.12 + 4e-6 * 150, 7e-5 * 150 + 0.3),
        ({"counts": [5]}, 0.2 + 0.04 + 4e-3, 0.07 + 0.1),
        ({"file": "x.csv"}, 0.2 + 4e-3, 0.07),
    ],
)
def test_time_and_memory_are_estimated_from_the_counts_and_the_total(settings, seconds, memory):
    """Check the estimates of CPU time and memory. For few counts, the time is 40 ms per name plus 4 us for each pair of
    a count and a possible value. Without a total, 1,000 values are assumed.
    """
    assert rules.work(settings) == pytest.approx((seconds, memory))


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({}, ""),
        ({"lower": 0}, ""),
        ({"lower": 2}, "Every true count is at least 2, by the stated bounds."),
        ({"lower": -np.inf}, "The stated bounds allow negative counts."),
        ({"upper": 1234567}, "Every true count is between 0 and 1,234,567, by the stated bounds."),
        ({"lower": -np.inf, "upper": 9}, "Every true count is at most 9, by the stated bounds."),
    ],
)
def test_bounds_are_stated_unless_counts_are_only_not_negative(bounds, text):
    assert rules.limits_text(bounds) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"law": "laplace", "scale": 1.0}, "3"),  # log(20) = 2.996
        ({"law": "laplace", "scale": 33.0}, "98.9"),  # 98.86
        ({"law": "laplace", "scale": 34.0}, "102"),  # 101.85
        ({"law": "discrete_laplace", "scale": 0.001}, "0"),  # exp(-1000) is 0 in floating point
        ({"law": "discrete_laplace", "scale": 0.2}, "0"),  # P(noise is not 0) = 2 a/(1 + a) = 0.0134
        ({"law": "discrete_laplace", "scale": 0.5}, "1"),  # P(|noise| > 1) = 2 a^2/(1 + a) = 0.0323 and > 0: 0.238
        ({"law": "discrete_laplace", "scale": 1000.0}, "2,996"),
        ({"law": "gaussian", "sd": 1.0}, ""),
        ({"law": "laplace", "scale": 1.0, "rounded": 5}, ""),
        ({"law": "laplace", "scale": {"smallest": 1}}, ""),
    ],
)
def test_noise_is_within_a_bound_with_95_percent(words, text):
    found = rules.within(words)
    assert found == text
    if words["law"] == "discrete_laplace":
        a, k = np.exp(-1 / words["scale"]), int(found.replace(",", ""))
        tails = [2 * a ** (n + 1) / (1 + a) for n in (k - 1, k)]
        assert tails[1] <= 0.05 < (tails[0] if k else 1)


MULTINOMIAL = "flat on the total, Dirichlet on the rates with concentration"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"law": "flat"}, "flat on the counts"),
        ({"law": "1/(1+n)", "chosen": "by default"}, "weight 1/(1 + n) for a count n >= 0 (by default)"),
        (
            {"law": "fitted", "fitted_on": 1234, "mean": 5.67891},
            "distribution fitted to 1,234 of the counts, with mean 5.679",
        ),
        (
            {"law": "fitted", "fitted_on": 31, "mean": 28273.4},
            "distribution fitted to 31 of the counts, with mean 28,273",
        ),
        ({"law": "multinomial"}, f"{MULTINOMIAL} 1 for each"),
        ({"law": "multinomial", "alpha": [2, 2]}, f"{MULTINOMIAL} 2 for each"),
        ({"law": "multinomial", "alpha": [1, 2]}, f"{MULTINOMIAL} 1 and 2"),
        ({"law": "multinomial", "alpha": [*range(1, 13)]}, f"{MULTINOMIAL} 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 12"),
        (
            {"law": "multinomial", "alpha": [*range(1, 15)]},
            f"{MULTINOMIAL} 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, .. (14 values)",
        ),
        ({"law": "table", "counts": 2000}, "table of 2,000 counts with their probabilities"),
        ({"law": "geometric", "mean": 3, "rows": 9}, "geometric (mean 3)"),
        (
            {"groups": {"g": {"law": "flat"}, "h": {"law": "geometric", "mean": 3}}, "chosen": "as stated"},
            "g: flat on the counts; h: geometric (mean 3) (as stated)",
        ),
        (
            {"law": "splits", "concentrations": {"level 1": 0.5, "county": 1.23456}},
            "flat on the count of the root; each count is split among its children by a Dirichlet-multinomial "
            "distribution with concentration 0.5 at level 1 and 1.235 at level county",
        ),
    ],
)  # fmt: skip
def test_priors_of_counts_are_described_with_their_numbers(words, text):
    assert rules.prior_text(words) == text


@pytest.mark.parametrize(("total", "start"), [(8, "Dirichlet on"), ({"released": 8, "noise": {}}, "flat on the total")])
def test_a_known_total_has_no_prior(total, start):
    point = {"total": total, "prior": {"law": "multinomial", "alpha": 0.5}, "noise": {"law": "exact"}}
    text = sentences.assumptions({"kind": "noisy_counts", "settings": {}}, point)
    assert [one for one in text if one.startswith(f"Prior: {start}")]


@pytest.mark.parametrize("noise", [{"law": "laplace", "scale": 1.0, "threshold": 6}, {"law": "laplace", "scale": 1.0}])
def test_a_batch_with_a_threshold_has_no_missing_counts(noise):
    """A single table is rejected if a count is not available, because a count without a value was withheld."""
    wrong = [key for key, _ in rules.mistakes({"noise": noise, "missing": ["-"], "bounds": {}}, None, True)]
    assert wrong == [".missing"] * ("threshold" in noise)


@pytest.mark.parametrize(
    ("value", "width", "text"), [(0.7107, 7000.0, "0.71"), (1.42, 510.0, "1.4"), (0.0, 0.76, "0.00")]
)
def test_the_lower_limit_of_a_ratio_has_two_digits(value, width, text):
    assert sentences.low_ratio(value, width) == text


def test_the_assumptions_of_counts_are_in_order():
    point = {"noise": {"law": "laplace", "scale": 2.0}, "bounds": {"lower": 1}, "total": 1234, "groups": ["rates"]}
    assert rules.assumptions(point) == [
        "Each count has Laplace noise of scale 2, independently of the other counts.",
        "With probability 95 %, a published count is within 5.99 of the true count.",
        "Every true count is at least 1, by the stated bounds.",
        "The total of 1,234 records is public and exact.",
        "The rates (but not the counts) also assume that the records are an independent random sample.",
    ]
    noisy = {"released": 1500.0, "noise": {"law": "gaussian", "sd": 3}}
    assert rules.assumptions({"noise": {"law": "exact"}, "total": noisy}) == [
        "No noise was added to the counts.",
        "The total was published as 1,500, with Gaussian noise with standard deviation 3.",
    ]
    levels = [{"level": "level 0", "nodes": 1}, {"level": "county", "nodes": 1200}]
    tree = {"levels": levels, "measured_more_than_once": 2, "not_measured": 1}
    assert rules.assumptions({"noise": {"law": "exact"}, "tree": tree})[1:3] == [
        "The counts form a tree in which each count is the sum of its children: 1 at level 0 and 1,200 at level "
        "county.",
        "2 counts were measured more than once, and 1 count was not measured.",
    ]
    assert len(rules._tree({**tree, "measured_more_than_once": 0, "not_measured": 0})) == 1
