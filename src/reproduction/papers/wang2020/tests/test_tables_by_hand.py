"""Check tables and margins that are small enough for calculation by hand, and valid configurations."""

from math import sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstwo, norm

from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._seeding import stream
from reproduction.papers.wang2020 import agreement, beyond, claims, draws, examples, literal, releases, speed


def test_representatives_are_order_statistics():
    """Check that the representatives are the order statistics 1, 12, 25, 38 and 50 of fifty counts, with equal counts
    in their original order.
    """
    counts = np.arange(50)[::-1] * 10
    assert counts[examples.representatives(counts)].tolist() == [0, 110, 240, 370, 490]
    assert examples.representatives(np.zeros(50, dtype=int)).tolist() == [0, 11, 24, 37, 49]
    for vector in (1, 2, 3):
        one = np.sort(examples.example_1(vector))
        assert one[[0, 11, 24, 37, 49]].tolist() == [0, 60, 382, 736, 977]
        assert (one.sum(), len(one), (one == 0).sum()) == (21249, 50, 3)
        assert one[3:6].tolist() == [1, 2, 3]
        assert one[6:11].min() >= 15
    table = examples.figure_1(vector=1)
    named = table[table["representative"] != ""]
    assert named["rank"].tolist() == [1, 12, 25, 38, 50]
    assert tuple(named["representative"]) == examples.REPRESENTATIVES


def test_seats_by_count():
    """Check that the printed note is at the count seven, that instances add up to fifty, and that counts times
    instances add up to 863.
    """
    table = examples.table_2()
    assert table["instances"].sum() == 50
    assert (table["count"] * table["instances"]).sum() == 863
    noted = table[table["note"] != ""]
    assert noted[["count", "instances", "components"]].to_numpy().tolist() == [[7, 2, "Colorado, South Carolina"]]


def test_correlations_of_small_errors():
    """Check the correlation of the errors 0, 0, 0, 1: m2 = 3/16, m3 = 3/32 and m4 - m2^2 = 3/64 give a correlation of
    1. Errors that are all 0: none, 0.
    """
    about = {"example": "e", "algorithm": "a", "ties": "", "representative": "r", "true": 10}
    sums = pd.DataFrame([about | {"n": 4, "s1": 1, "s2": 1, "s3": 1, "s4": 1}])
    found = releases.moments(sums, vector=1, epsilon=1.0, support=50).iloc[0]
    assert found["correlation"] == pytest.approx(1)
    assert (found["mean"], found["variance"]) == (10.25, 0.25)
    assert found["mean_se"] == pytest.approx(sqrt(3 / 16 / 4))
    assert found["variance_se"] == pytest.approx(sqrt(3 / 64 / 4))
    none = releases.moments(sums.assign(s1=0, s2=0, s3=0, s4=0), vector=1, epsilon=1.0, support=50).iloc[0]
    assert none["correlation"] == 0


def test_notes_on_windows():
    table = beyond.table_4(released=[6, 5], epsilon=1.0, window=4, other_window=2, rows=10)
    notes = pd.DataFrame(agreement._pairs("table_4", table)).groupby("variant")["note"].agg(set)
    assert notes["as_written"] == {"windows of +-4"}
    assert notes["published"] == {"windows of +-2 in place of the stated +-30"}
    assert notes["corrected"] == {"no window at all"}
    table = beyond.table_5(released=[6, 5], epsilon=1.0, window=4, other_window=2, rows=3)
    rows = pd.DataFrame(agreement._pairs("table_5", table))
    assert set(rows.loc[rows["variant"] == "corrected", "note"]) == {
        "no window at all; random ties",
        "this run has fewer rows; no window at all; random ties",
    }
    missing = rows[rows["ours"].isna()]
    assert set(missing["quantity"].str.extract(r"row (\d+):")[0].astype(int)) == set(range(4, 11))
    assert set(rows.loc[rows["variant"] == "as_written", "note"].str.endswith("; ties by rounding")) == {True}


def test_laws_of_a_release_by_loops():
    """Check the distribution of N1 under algorithm 2 against the four-fold loop, and the mean and sd of every
    distribution against its values.
    """
    table = beyond.precision(released=[12, 11], epsilon=3.0)
    loop, near = literal.pair_table([12, 11], epsilon=3.0, window=5), np.arange(-5, 6)
    first = loop.sum(axis=1)
    rows = table[(table["release"] == "Algorithm 2") & (table["quantity"] == "N1")].set_index("value")
    # the window is two sd of the share wide: what it holds, up to its own normaliser
    inside = rows.loc[12 + near, "probability"]
    assert first[3:8] == pytest.approx((inside / inside.sum()).to_numpy()[3:8], rel=0.05)
    assert set(table["release"]) == {*beyond.RELEASES, "noisy counts"}
    assert set(table["quantity"]) == {"N1", "N"}
    for (_, _), law in table.groupby(["release", "quantity"]):
        value, p = law["value"].to_numpy(), law["probability"].to_numpy()
        assert law["mean"].iloc[0] == pytest.approx(value @ p)
        assert law["sd"].iloc[0] == pytest.approx(sqrt((value - value @ p) ** 2 @ p))


def test_windows_of_the_loop():
    """Check that a window w has (2 w + 1)^2 cells, and that the released pair in the middle is the most probable."""
    table = literal.pair_table([8, 9], epsilon=2.0, window=2)
    assert table.shape == (5, 5)
    assert np.unravel_index(table.argmax(), table.shape) == (2, 2)


def test_ratios_of_variances():
    cells = claims.Cells({}, {("a", "p"): (4.0, 0.4), ("b", "p"): (0.0, 0.0), ("c", "p"): (5.0, 0.3)}, {})
    assert cells.ratio(("a", "p"), ("b", "p")) == (np.inf, np.inf)
    assert cells.ratio(("b", "p"), ("a", "p")) == (0.0, np.inf)
    ratio, error = cells.ratio(("c", "p"), ("a", "p"))
    assert (ratio, error) == pytest.approx((1.25, 1.25 * np.hypot(0.06, 0.1)))


def moments_table(mean, variance):
    """Return exact moments of algorithms 1 and 2 and simulated moments of algorithm 3 with errors 0, for five counts of
    100.
    """
    rows = [
        {"algorithm": a, "representative": p, "variant": "as_written" if a == "Algorithm 3" else "corrected",
         "true": 100.0, "mean": mean[a], "variance": variance[a], "mean_se": 0.0, "variance_se": 0.0,
         "exact_mean": mean[a], "exact_variance": variance[a], "mean_z": 1.0, "variance_z": -2.0, "n": 10_000}
        for a in claims.ALL for p in examples.REPRESENTATIVES
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_margins_of_table_1():
    """Check that, for means 100.2, 100, 99.9, 100 and variances 110, 108, 100, 4 at every count, margins follow from
    the claims' thresholds.
    """
    mean = dict(zip(claims.ALL, (100.2, 100.0, 99.9, 100.0), strict=True))
    variance = dict(zip(claims.ALL, (110.0, 108.0, 100.0, 4.0), strict=True))
    found = {row["quantity"]: row["ours"] for row in claims.of_moments("table_1", moments_table(mean, variance))}
    wanted = {
        "claim: means are very close to the true counts": 1 - 0.2,
        "claim: means at N_min are close to 1": 0.5 - 99.2,
        "claim: variances at N_min hardly differ": 2 - 110 / 4,
        "claim: variances at large counts differ much": 110 / 4 - 2,
        "claim: variances of algorithms 1 and 2 are close to the counts": 0.1 - 0.1,
        "claim: algorithm 3 has much smaller variances": 25 - 2,
        "claim: algorithm 2 does slightly better than algorithm 1": 1.08 - 1,
        "claim: variances of algorithm 3 are similar across counts": -1,  # both spread by 1: log10 1 less 1
        "claim: independent and summed totals hardly differ": 0.05 - 2 / 110,
        "claim: summed totals are no better": 0.01 - 2 / 110,
        "law: our releases against their exact moments": min(1.0, 2 * 40 * 0.02275013),
    }
    assert found == pytest.approx(wanted, abs=1e-7)


def test_margins_of_table_3():
    mean = dict.fromkeys(claims.ALL, 100.0)
    variance = dict(zip(claims.ALL, (110.0, 121.0, 100.0, 40.0), strict=True))
    found = {row["quantity"]: row["ours"] for row in claims.of_moments("table_3", moments_table(mean, variance))}
    assert found["claim: variances of algorithms 1 and 2 are similar"] == pytest.approx(2 - 1.21)
    assert found["claim: algorithm 3 has the smallest variances"] == pytest.approx(2.5 - 1)
    assert found["claim: summed totals are no better"] == pytest.approx(0.01 + 0.1)


def test_margins_of_the_checks():
    """Check the margins of the release checks: the worst of several proportions, sums over examples, p-values of two
    examples, and the tail.
    """
    rows = [("zeros at 0 or 1", 0.7, 0.01), ("zeros at 0 or 1", 0.8, 0.02), ("zeros above 0", 0.3, 0.01),
            ("zeros above 0", 0.2, 0.015), ("wrong totals", 0, 0.0), ("wrong totals", 2, 0.0),
            ("not additive", 0.9, 0.01), ("not additive", 0.95, 0.0), ("no mode", 0, 0.0), ("no mode", 1, 0.0),
            ("noise, p value", 0.3, 0.0), ("noise, p value", 0.2, 0.0), ("noise, z of its width", 2.0, 0.0),
            ("noise, z of neighbours", 1.0, 0.0), ("noise, z of neighbours", -2.5, 0.0),
            ("noise, epsilon seen", 0.016, 0.0), ("sum and total, z", 1.0, 0.0), ("sum and total, z", -1.5, 0.0),
            ("beyond the cut", 1e-7, 0.0)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["statement", "value", "se"]).assign(n=10_000)
    made = list(claims.of_checks(table))
    found = [(row["ours"], row["mc_se"]) for row in made]
    # two chi-squared p values, those of z = 2, 1 and -2.5, the least .0124, five together; of z = 1.5, two together
    wanted = [(0.2, 0.01), (0.2, 0.015), (-1.5, 0), (0.9, 0.01), (-0.5, 0), (5 * 2 * norm.sf(2.5), 0)]
    wanted += [(2 * 2 * norm.sf(1.5), 0), (9e-7, 0)]
    assert made[5]["sees"] == "epsilon by 1.6 %"
    table.loc[table["statement"] == "noise, z of its width", "value"] = 3.0
    assert list(claims.of_checks(table))[5]["ours"] == pytest.approx(5 * 2 * norm.sf(3))
    # at level 1e-4/2 z must be 4.056, in nine cases of ten 4.056 + 1.282 = 5.34 standard errors of 1/100
    assert made[6]["sees"] == "a correlation of 0.053"
    assert found == [pytest.approx(pair, abs=1e-12) for pair in wanted]


def test_margins_of_zeros_and_of_the_comparison():
    bias = pd.DataFrame({"algorithm": ["Algorithm 1 (ind)", "Algorithm 2", "Algorithm 3"], "bias": [-3.0, -2.5, -0.5]})
    assert [row["ours"] for row in claims.of_zeros(bias)] == pytest.approx([1.5, -0.5])
    methods = ("Algorithm 1 (ind)", "Algorithm 2", "Algorithm 3, random ties")
    table = pd.DataFrame([
        {"example": e, "method": m, "rmse": r, "rmse_se": 0.3 if m == methods[2] else 0.4, "total_variance": 4.0}
        for e, values in (("one", (9.0, 8.0, 1.0)), ("two", (7.0, 5.0, 2.0)))
        for m, r in zip(methods, values, strict=True)
    ])  # fmt: skip
    close, best = claims.of_comparison(table)
    assert (close["ours"], close["mc_se"]) == pytest.approx((1.5 * 2 - 2, 0.3))
    assert (best["ours"], best["mc_se"]) == pytest.approx((3, 0.5))


def test_margins_of_the_posteriors():
    """Check margins for variables with the values 0 and 1 and the probabilities q and p: the sd is sqrt(p q), the total
    variation the difference of the p.

    Totals .5 and sqrt(.24) given algorithms 1; N1 .5 and .4 given algorithms 2 and 3.
    """
    laws = {
        ("Algorithm 1 (ind)", "N1"): 0.5, ("Algorithm 1 (summed)", "N1"): 0.55, ("Algorithm 2", "N1"): 0.5,
        ("Algorithm 3", "N1"): 0.8, ("Algorithm 1 (ind)", "N"): 0.5, ("Algorithm 1 (summed)", "N"): 0.6,
        ("Algorithm 2", "N"): 0.7, ("Algorithm 3", "N"): 0.7,
    }  # fmt: skip
    table = pd.DataFrame([
        {"release": r, "quantity": q, "sd": np.nan, "value": v, "probability": p if v else 1 - p}
        for (r, q), p in laws.items() for v in (0, 1)
    ])  # fmt: skip
    mass, top, *found = claims.of_posteriors(table)
    assert (mass["left"], top["left"]) == (pytest.approx(0, abs=1e-15), 607)  # ties of equal p go to the first, 0
    assert [row["ours"] for row in found] == pytest.approx([0.5 - np.sqrt(0.24), 0.5 / 0.4 - 2, 0.2, 0.05, -0.1])
    lighter = table.assign(probability=table["probability"] * 0.9)
    assert next(claims.of_posteriors(lighter))["left"] == pytest.approx(0.1)
    missing = table.assign(probability=table["probability"].where(table.index > 0))
    assert [np.isnan(row["ours"]) for row in claims.of_posteriors(missing)][:2] == [True, True]


def test_many_zeros_are_those_asked_for():
    """Check the results for two counts of 5 among 4 zeros: the bias is the exact mean minus the count."""
    table = draws.many_zeros(zeros=4, large=2, count=5, epsilon=1.0, support=6).set_index("algorithm")
    assert (table["bias"] == table["exact_mean"] - 5).all()
    assert (table["zeros"].eq(4) & table["large"].eq(2) & table["true"].eq(5)).all()
    # six components at scale 1 hide a count of 5 among zeros: each zero takes a share, none is below 0
    assert (table["bias"] < 0).all()
    rng_free = additive_counts.posterior([5, 5], epsilon=1.0, algorithm="2", window=8)
    assert rng_free.top(1)[0].tolist() == [[5, 5]]


def test_the_fit_of_a_tie_rule():
    """Check the fit for means 2.1 (printed 2.0) and variances 3.0 (printed 2.8), n = 2,500: errors .3 and .4 times 1/2,
    or times sqrt(5/4) if simulated.

    Both have a decimal: rounding adds .01/12 to each variance. Without correlation two squares are added.
    """
    about = {
        "ties": "ieee",
        "representative": "N_min",
        "n": 2500,
        "mean_se": 0.3,
        "variance_se": 0.4,
        "correlation": 0.0,
    }
    known = about | {"exact_mean": 2.1, "exact_variance": 3.0, "mean": 9.0, "variance": 9.0}
    drawn = about | {"exact_mean": np.nan, "exact_variance": np.nan, "mean": 2.1, "variance": 3.0}
    names = [f"Algorithm 3, N_min: {what}" for what in ("mean", "variance")]
    printed = pd.DataFrame({"artefact": "table_3", "quantity": names, "value": [2.0, 2.8], "digits": 1.0})
    for row, runs in ((known, 0.25), (drawn, 1.25)):
        found = draws.tie_fit(tie_rules=pd.DataFrame([row]), published=printed).iloc[0]
        wanted = 0.1**2 / (0.09 * runs + 0.01 / 12) + 0.2**2 / (0.16 * runs + 0.01 / 12)
        assert (found["chi_squared"], found["cells"]) == (pytest.approx(wanted), 2)
        assert found["p_value"] == pytest.approx(np.exp(-wanted / 2))  # of two degrees
    both = draws.tie_fit(tie_rules=pd.DataFrame([known | {"correlation": 1.0}]), published=printed).iloc[0]
    a, b, c = 0.09 / 4 + 0.01 / 12, 0.16 / 4 + 0.01 / 12, 0.12 / 4
    inverse = (b * 0.01 - 2 * c * 0.02 + a * 0.04) / (a * b - c * c)
    assert both["chi_squared"] == pytest.approx(inverse)


def test_order_statistics_of_the_seats_as_they_are_stated():
    """Check that the 1st, 12th, 25th, 38th and 50th of the fifty seat counts are 1, 2, 6, 11 (as printed) and 435, and
    that the total is 863.
    """
    found = {row["quantity"]: row["ours"] for row in agreement._table_2(examples.table_2())}
    assert [found[name] for name in examples.REPRESENTATIVES] == [1, 2, 6, 11, 435]
    assert found["total"] == 863
    assert found["components with count 7"] == 2
    # places that counts of the same size hide show in fifty different ones
    distinct = pd.DataFrame({"count": np.arange(1, 51), "instances": 1, "note": ""})
    found = {row["quantity"]: row["ours"] for row in agreement._table_2(distinct)}
    assert [found[name] for name in examples.REPRESENTATIVES] == [1, 12, 25, 38, 50]
    one = {row["quantity"]: row["ours"] for row in agreement._figure_1(examples.figure_1(vector=1))}
    assert (one["total"], one["components"], one["N_q1"], one["N_max"]) == (21249, 50, 60, 977)


def test_exact_moments_of_every_tie_rule_are_those_of_example_2():
    """Check that the named tie rules have rows for Example 2 only, in addition to the rules that both examples have."""
    table = releases.exact_moments(vector=1, epsilon=1.0, support=3)
    rules = table[table["algorithm"] == "Algorithm 3"].groupby("example")["ties"].agg(set)
    assert {"first", "last"} <= rules["example_2"]
    assert not {"first", "last"} & rules.get("example_1", set())
    assert table.groupby(["example", "algorithm", "ties"]).size().eq(5).all()


def test_rules_of_the_tables_of_pairs():
    """Check that only algorithm 3 has a tie rule, and that a missing window is NaN."""
    second = beyond.table_4(released=[6, 5], epsilon=1.0, window=4, other_window=2, rows=2)
    third = beyond.table_5(released=[6, 5], epsilon=1.0, window=4, other_window=2, rows=2)
    assert set(second["ties"]) == {""}
    assert third.groupby("variant")["ties"].agg(set).to_dict() == {
        "as_written": {"ieee"},
        "published": {"ieee"},
        "corrected": {"random"},
    }
    for table in (second, third):
        window = table.groupby("variant")["window"].first()
        assert (window["as_written"], window["published"], np.isnan(window["corrected"])) == (4, 2, True)
        assert (table["N"] == table["N1"] + table["N2"]).all()


def test_baselines_are_scaled_to_the_full_size(monkeypatch):
    """Check that baselines are scaled if every time is 2 s: 50 releases from 4 in proportion, a window of 9 from 4 by
    ((2 9 + 1)/(2 4 + 1))^4.
    """
    monkeypatch.setattr(speed, "_median", lambda call, repeats: 2.0)
    table = speed.timings(
        epsilon=1.0, support=5, releases=50, literal_releases=4, window=9, literal_window=4, repeats=3,
        rng=stream(1, "speed"),
    )  # fmt: skip
    baseline = table["baseline_seconds"].to_numpy()
    assert baseline[:2] == pytest.approx([2 * 50 / 4, 2 * (19 / 9) ** 4])
    assert table["ratio"].to_numpy()[:2] == pytest.approx(baseline[:2] / 2)
    assert np.isnan(baseline[2:]).all()
    assert "scaled by 20" in table["note"].iloc[1]


def test_margins_of_the_scattered_counts():
    """Check the test of uniformity for 60, 295 and 530, which are at 0, 1/4 and 1/2 of their range: the largest
    distance is one half, at the last step. An end 1 % further moves the distribution function by 10/940 there, of what
    the test needs.
    """
    row = claims._uniform(pd.DataFrame({"count": [3, 60, 295, 530]}))
    assert row["ours"] == pytest.approx(kstwo.sf(1 / 2, 3), rel=1e-12)
    assert "3 counts" in row["note"]
    needed = kstwo.isf(claims._LEVEL, 3) + norm.ppf(0.9) / (2 * np.sqrt(3))
    assert row["sees"] == claims.power.words({"upper end": needed * 0.94})
