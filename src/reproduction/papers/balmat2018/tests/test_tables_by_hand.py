"""Check the tables of balmat2018, and the margins of claims about these tables, against values derived by hand. Each
derivation is next to the assertion.
"""

from math import sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018 import agreement, beyond, calibration, figure_1, laws, speed, tables

STANDARD, IMPROVED = "standard (R dmultinom)", "table (R and C)"


def ours(rows):
    return {row["quantity"]: row for row in rows}


def test_margins_of_table_1():
    """Check the rows of the agreement table for Table 1 of the paper, for the total count M = 50. The rows refer to a
    table with 1,326 rows, to 5,000 iterations, and to the coefficients 1, 50, 50 of (50, 0, 0), (49, 0, 1), (49, 1, 0).
    """
    found = ours(agreement._table_1(tables.table_1(total=50)))
    assert found["rows at M = 50"]["ours"] == 1326
    assert found["coefficient evaluations of the standard algorithm"]["ours"] == 1326 * 5000
    assert found["unique evaluations, percent"]["ours"] == pytest.approx(0.02)
    assert [found[f"row {i}: coefficient at M = 50"]["ours"] for i in (1, 2, 3, 4, 5)] == [1, 50, 50, 1225, 2450]
    assert (found[agreement._MISPRINT]["left"], found[agreement._MISPRINT]["right"]) == (2450, 1225)  # 50!/(48! 1! 1!)
    assert 0 < found[agreement._COEFFICIENTS]["ours"] <= 1e-12
    # row i - k of a block's last row is its first row, which is equally large: by the rule in words, (M - k + 1)/k
    # times this value, 50 at k = 1
    column, words, linear = (found[name]["ours"] for name in agreement._RULES)
    assert 0 < column <= 1e-12
    assert words == pytest.approx(1e-12 - 49)
    assert linear < -1
    other = ours(agreement._table_1(tables.table_1(total=6)))
    assert other["rows at M = 50"]["variant"] == "not_run"
    assert agreement._categories(pd.DataFrame({"categories": [2, 4], "largest_error": [0, 3e-12]}))[
        "ours"
    ] == pytest.approx(-2e-12, rel=1e-9, abs=0)


def test_margins_of_equation_3():
    """Check the margins by which the claims about equation (3) hold or fail. The table contains the means 0.5 and 0.2
    under equation (3), the means 0.128 and 0.12 under the model, a total variation distance of 0.4, and methods that
    differ by 3e-6.
    """
    rows = [(beyond.EQUATION, "mean of r", way, value) for way, value in (("quadrature", 0.5), ("simulation", 0.49))]
    rows += [(beyond.EQUATION, "mean of r given S", way, 0.2) for way in ("quadrature", "simulation")]
    rows += [(beyond.MODEL, "mean of r", "closed form", 0.128), (beyond.MODEL, "mean of r", "quadrature", 0.128003)]
    rows += [(beyond.MODEL, "mean of r given S", "closed form", 0.12)]
    rows += [(beyond.EQUATION, "distance of the laws of S", "quadrature", 0.4)]
    found = ours(agreement._equation_3(pd.DataFrame(rows, columns=["law", "quantity", "way", "value"])))
    assert found["equation (3) is the joint distribution: mean of r"]["ours"] == pytest.approx(1e-6 - 0.372)
    assert found["equation (3) is the joint distribution: mean of r given S"]["ours"] == pytest.approx(1e-6 - 0.08)
    assert found["equation (4) is the distribution of S"]["ours"] == pytest.approx(1e-6 - 0.4)
    assert found["numerical evaluation is unavoidable"]["ours"] == pytest.approx(2e-6)


def test_margins_of_the_listings():
    """Check the margins by which the claims about the standard deviation of the code listings over runs fail. The
    listings have standard deviations of 0.3 and 0.2 over 51 runs, and the Gibbs chains have standard deviations of 0.01
    and 0.05. The margin is .03 - .3 with the error .3/sqrt(100).
    """
    rows = [
        {"quantity": "r", "method": m, "setting": s, "spread": spread, "runs": 51}
        for m, values in (("gibbs", (0.01, 0.05)), ("listing 5.2 (p frozen)", (0.3, 0.2)), ("listing 6.4", (0.1, 0.4)))
        for s, spread in zip("ab", values, strict=True)
    ]
    first, second = agreement._listings(pd.DataFrame(rows))
    assert (first["ours"], first["mc_se"]) == pytest.approx((0.03 - 0.3, 0.03))
    assert (second["ours"], second["mc_se"]) == pytest.approx((0.15 - 0.4, 0.04))


def test_margin_of_the_closed_form_without_noise():
    """Check the margin by which the claim about the mean of Beta(6, 41) fails. The mean is 6/47, so that the value 0.13
    in a table has an error of 0.13 - 6/47.
    """
    table = pd.DataFrame({"quantity": ["r", "pe"], "method": "no noise", "S1": 5, "S0": 40, "mean": [0.13, 9.0]})
    assert agreement._no_noise(table)["ours"] == pytest.approx(1e-6 - (0.13 - 6 / 47))
    assert agreement._no_noise(table.drop(columns="S1"))["variant"] == "not_run"


def points(pair, **p):
    """Return triplets of probabilities with the given p1, p0 and numbers of significant digits."""
    table = pd.DataFrame(p | {"pair": pair})
    return table.assign(perr=1 - table["p1"] - table["p0"])


def test_margins_of_figure_2(monkeypatch):
    """Check the margins by which the claims about Figure 2 hold or fail. The tables contain 40 triplets with 12.5
    digits at p1 = 0.005, 13 digits at p1 = 0.3, 11 digits at p0 < 1e-6, and 0.4 digits at the smallest p.
    """
    monkeypatch.setattr(agreement, "_fewest", lambda total, p: 12.75)
    table = points([12.5, 13.0] * 19 + [12.5, 11.0], p1=[0.005, 0.3] * 20, p0=[0.3, 0.4] * 19 + [0.3, 1e-7])
    tiny = pd.DataFrame({"p1": [1e-2, 1e-10], "pair": [13.0, 0.4]})
    found = ours(list(agreement._digits(table, tiny, 50)))
    assert found["all differences are beyond the twelfth digit, no p below 1e-6"]["ours"] == 0.5
    assert (
        "the smallest number of digits is 11.00, and the number of triplets with fewer than 12 digits is 1."
        in found["all differences are beyond the twelfth digit, no p below 1e-6"]["note"]
    )
    dip = found["dip near the end points of p1, digits"]
    # twenty groups with one triplet on each side: the dip is .5 in 19 groups; in the last group, the only triplet in
    # the middle has 11 digits: -1.5
    groups = np.array([0.5] * 19 + [-1.5])
    assert (dip["ours"], dip["mc_se"]) == pytest.approx((0.5, groups.std(ddof=1) / sqrt(20)))
    assert found["random triplets"]["ours"] == 40
    assert found["every triplet adds up to one"]["ours"] >= 0
    assert found["the digits are computed as in footnote 12"]["left"] == 0.25  # |12.5 - 12.75| and |13 - 12.75|
    last = found["all differences are beyond the twelfth digit, at any p"]
    assert last["ours"] == pytest.approx(-11.6)
    assert "p1 = 1e-10" in last["note"]
    other = list(agreement._digits(table, tiny, 20))
    assert [row["variant"] for row in other[:4]] == ["not_run"] * 4


def test_digits_of_footnote_12_by_hand(monkeypatch):
    """Check the numbers of significant digits of multinomial probabilities with the total count M = 1. In this case,
    the composition (1, 0, 0) has the coefficient 1 and the product p1. An error of d in log gamma then causes an error
    of p1 (e^d - 1).
    """
    real, fewest = agreement.math.lgamma, agreement._fewest.__wrapped__  # cached values do not depend on the patch
    monkeypatch.setattr(agreement.math, "lgamma", lambda x: real(x) + (1e-6 if x == 2 else 0.0))
    # lgamma(M + 1) = lgamma(2) is cancelled by the single count of 1, so the results differ only by rounding
    assert fewest(1, (0.5, 0.25, 0.25)) > 14
    monkeypatch.setattr(agreement.math, "lgamma", lambda x: real(x) + (1e-6 if x == 1 else 0.0))
    # two counts of 0 are wrong, by -2e-6 in the log: log10(1/2e-6) = 5.7 digits
    assert fewest(1, (0.5, 0.25, 0.25)) == pytest.approx(-np.log10(2e-6), abs=1e-5)


def test_margins_of_the_triplets():
    """Check the margins by which the claims about the triplets of probabilities hold, for a table of 100 triplets. The
    table contains values below 1/4 and above 3/4. The numbers 55 and 5 for p1 give .5; the numbers 40 and 20 for p0
    give .2 with error sqrt(60)/100.
    """
    table = pd.DataFrame({"p1": [0.1] * 55 + [0.8] * 5 + [0.5] * 40, "p0": [0.2] * 40 + [0.9] * 20 + [0.5] * 40})
    table = table.assign(perr=[0.01] * 60 + [0.85] * 10 + [0.5] * 30)
    *tests, thin = agreement._triplets(table)
    assert [row["quantity"] for row in tests] == [f"{name} follows the three stages" for name in ("p1", "p0", "perr")]
    for row, p in zip(tests, ("p1", "p0", "perr"), strict=True):
        assert row["ours"] == pytest.approx(stats.kstest(table[p], laws.three_stages).pvalue, rel=1e-9, abs=0)
        assert row["sees"].startswith("width of the second stage by")
    assert (thin["ours"], thin["mc_se"]) == pytest.approx((0.2, sqrt(60) / 100))
    assert "(p0)" in thin["note"]


def test_three_stages_with_a_shorter_second_stage():
    """Check that triplets whose second stage has the width 0.8 pass a Kolmogorov-Smirnov test for the width 0.8 and
    fail a test for the width 1. The test of 200,000 triplets has level 1e-4.
    """
    rng = stream(6, "stages")
    first, u = rng.random((2, 200_000))
    second = 0.8 * u * (1 - first)
    p = rng.permuted(np.column_stack([first, second, 1 - first - second]), axis=1)[:, 0]
    assert stats.kstest(p, lambda x: laws.three_stages(x, width=0.8)).pvalue > 1e-4
    assert stats.kstest(p, laws.three_stages).pvalue < 1e-12


def test_ratios_of_table_2_are_medians_of_the_repeats():
    """Check the ratios of the computing times of two methods, which take 1 and 3 seconds and 2 and 4 seconds in two
    repeats. The ratios are 0.5 and 0.75, their median is 0.625, the middle half is 0.5625 to 0.6875, and their standard
    deviation is 0.1768.
    """
    rows = [
        ("Python", "own p", m, r, t) for m, times in ((1, (2.0, 4.0)), (2, (1.0, 3.0))) for r, t in enumerate(times)
    ]
    times = pd.DataFrame(rows, columns=["environment", "setup", "method", "repeat", "seconds"])
    none = pd.DataFrame({"what": ["figure_3"], "method": [1], "seconds": [np.nan]})
    printed = pd.DataFrame(
        {
            "artefact": ["table_2", "figure_3"],
            "kind": "timing",
            "quantity": ["method 2 relative to", "x"],
            "value": 0.47,
        }
    )
    found = speed.table_2(table_2_timings=times, r_timings=none, published=printed)
    two = found[(found["method"] == 2) & (found["environment"] == "Python")].iloc[0]
    assert (two["ratio"], two["low"], two["high"]) == pytest.approx((0.625, 0.5625, 0.6875))
    assert (two["sd"], two["repeats"]) == (pytest.approx(0.25 / sqrt(2)), 2)
    paper = found[found["environment"] == "paper"]
    assert paper[["variant", "method", "ratio"]].to_numpy().tolist() == [["published", 2, 0.47]]


def test_times_of_figure_3():
    times = pd.DataFrame(
        {
            "method": "m",
            "total": 4,
            "rows": 15,
            "epsilon": 1.0,
            "vector": range(5),
            "seconds": [1.0, 2.0, 3.0, 4.0, 10.0],
        }
    )
    none = pd.DataFrame({"what": ["figure_3"], "method": ["R"], "seconds": [np.nan], "note": ["not found"]})
    measured, missing = speed.figure_3(figure_3_timings=times, r_timings=none).to_dict("records")
    assert (measured["mean"], measured["median"], measured["runs"]) == (4, 3, 5)
    assert (measured["low"], measured["high"]) == pytest.approx((1.4, 7.6))  # interpolated between order statistics
    assert measured["sd"] == pytest.approx(sqrt((9 + 4 + 1 + 0 + 36) / 4))
    assert (missing["method"], missing["note"], np.isnan(missing["median"])) == ("R", "not found", True)


def test_products_of_table_2_are_all_the_same(monkeypatch):
    """Check that every set-up and every method computes the same products p1^S1 p0^S0 perr^Serr. The results of the
    calls are compared.
    """
    made = []

    def called(call, repeats=1):
        made.append(np.ravel(call()) if np.ndim(made) else call())
        return 1.0

    monkeypatch.setattr(speed, "seconds", called)
    table = speed.table_2_timings(total=3, products_each=25, repeats=1, rng=stream(1, "products"))
    assert table["products"].eq(30).all()  # three tables of ten rows
    assert table["seconds"].eq(1.0).all()
    results = [np.concatenate([np.ravel(x) for x in r]) if isinstance(r, list) else np.ravel(r) for r in made]
    for setup in range(3):
        one, two, three = results[3 * setup : 3 * setup + 3]
        assert two == pytest.approx(one, rel=1e-12)
        assert three == pytest.approx(one, rel=1e-12)
    assert results[0] == pytest.approx(results[3], rel=1e-12)


def test_margins_of_table_2():
    """Check the margins by which the claims about Table 2 hold. The ratios are 0.8 and 0.3, with standard deviations of
    0.1 and 0.06 over 4 repeats. The margins are 1 - .8 and .8 - .3. If a ratio is above 1, the first method is faster.

    The standard error of a median of normal numbers is sqrt(pi/2) = 1.2533 times that of their mean.
    """
    rows = [{"setup": "own p", "environment": "R", "method": m, "ratio": r, "sd": sd, "repeats": 4}
            for m, r, sd in ((1, 1.0, 0.0), (2, 0.8, 0.1), (3, 0.3, 0.06))]  # fmt: skip
    table = pd.DataFrame([*rows, rows[1] | {"environment": "Python", "ratio": 5.0}, rows[1] | {"setup": "block"}])
    found = agreement._table_2(table)
    assert [row["ours"] for row in found] == pytest.approx([0.8, 0.3, 0.2, 0.5])
    assert [row["mc_se"] for row in found] == pytest.approx(1.2533 * np.array([0.05, 0.03, 0.05, np.hypot(0.05, 0.03)]))
    slow = agreement._table_2(table.assign(ratio=table["ratio"].replace(0.8, 1.5)))
    assert (slow[3]["ours"], slow[3]["mc_se"]) == pytest.approx((0.7, 1.2533 * 0.03))
    assert {row["variant"] for row in agreement._table_2(table.iloc[:2])} == {"not_run"}


def test_margins_of_calls():
    """Check that the margin (log ratio) of two computing times is log 2, and check the standard error of this margin.
    The shortest of the times (4, 5) is compared with the shortest of the times (2, 2.5), and the standard error
    combines the relative errors 0.5/4 and 0.25/2.
    """
    rows = [("dmultinom", 4.0), ("dmultinom", 5.0), ("product", 2.0), ("product", 2.5), ("coefficient", 3.0),
            ("coefficient", 3.0), ("weights by apply", 9.0), ("weights by apply", 9.0), ("weights in C", 3.0),
            ("weights in C", 3.0), ("weights in C by powers", 6.0), ("weights in C by powers", 6.0)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seconds"]).assign(what="calls")
    found = ours(agreement._calls(table))
    first = found["dmultinom takes longer than the bare product"]
    assert (first["ours"], first["mc_se"]) == pytest.approx((np.log(2), np.hypot(0.5 / 4, 0.25 / 2)))
    assert found["the coefficients take most of the time of dmultinom"]["ours"] == pytest.approx(0.75 - 0.5)
    assert found["in C, exp of logarithms is faster than powers"]["ours"] == pytest.approx(np.log(2))
    assert found["time of the weights by apply relative to C"]["ours"] == 3
    less = ours(agreement._calls(table[table["method"] != "product"]))
    assert less["dmultinom takes longer than the bare product"]["variant"] == "not_run"


def test_margins_of_figure_3():
    """Check the ratios of two computing times, 8/2 at M = 50 and 9/3 at M = 30, and their standard errors. The smaller
    ratio is 3, and the relative standard error of a median is 1.2533 sd/(sqrt(runs) median).
    """
    rows = [
        (IMPROVED, 50, 2.0),
        (STANDARD, 50, 8.0),
        (IMPROVED, 30, 3.0),
        (STANDARD, 30, 9.0),
        ("exact draws", 50, 1.0),
    ]
    table = pd.DataFrame(rows, columns=["method", "total", "median"])
    table = table.assign(epsilon=1.0, sd=0.1 * table["median"], runs=25, note="")
    found = ours(agreement._figure_3(table))
    assert found["random count vectors"]["ours"] == 25
    relative = 1.2533 * 0.1 / 5 * sqrt(2)
    faster = found["the improved algorithm is faster at every M"]
    assert (faster["ours"], faster["mc_se"]) == pytest.approx((np.log(3), relative))
    assert "at M = 30" in faster["note"]
    over = found["time of the standard relative to the improved algorithm at M = 50"]
    assert (over["ours"], over["mc_se"]) == pytest.approx((4, 4 * relative))
    assert "takes 8 times as long as the method 'exact draws'" in over["note"]
    four = ours(agreement._figure_3(pd.concat([table.assign(epsilon=epsilon) for epsilon in (0.5, 1.0, 2.0, 4.0)])))
    several = four["time of the standard relative to the improved algorithm at M = 50"]
    assert (several["ours"], several["mc_se"]) == pytest.approx((4, 4 * relative / 2))  # four values of epsilon
    none = ours(agreement._figure_3(table[table["total"] == 30]))
    assert none["time of the standard relative to the improved algorithm at M = 50"]["variant"] == "not_run"


def test_margins_of_growth():
    names = ("rows_misfit", "exponential_misfit", "linear_misfit")
    row = dict.fromkeys(names, 0.1) | {"exponential_margin": -0.3, "exponential_se": 0.02, "linear_margin": -0.2}
    row |= {"linear_se": 0.03, "epsilon_effect": 0.05, "epsilon_effect_se": 0.01}
    table = pd.DataFrame([row | {"method": STANDARD}, row | {"method": IMPROVED, "epsilon_effect_se": np.nan}])
    found = ours(agreement._growth(table))
    grows = found["the standard algorithm's time appears to grow exponentially in M"]
    assert (grows["ours"], grows["mc_se"]) == (-0.3, 0.02)
    grows = found["the improved algorithm's time grows linearly in M"]
    assert (grows["ours"], grows["mc_se"]) == (-0.2, 0.03)
    same = found["epsilon has no effect on the standard algorithm"]
    assert (same["ours"], same["mc_se"]) == (pytest.approx(0.1), 0.01)
    assert found["epsilon has no effect on the improved algorithm"]["variant"] == "not_run"


def test_bands_of_the_calibration():
    """Check the calibration statistics of 400 evenly spaced PIT values. The density is 1, the band has the half-width
    2.576 sqrt(20/400), the coverage is exactly 0.95, and the chi-squared statistic is 0.
    """
    pits = (np.arange(400) + 0.5) / 400
    table = pd.DataFrame({"epsilon": 1.0, **dict.fromkeys(calibration.METHODS, pits)})
    stated = {"total": 9, "epsilons": [1.0], "gibbs_draws": 5, "burn_in": 1}
    found = calibration.calibration(table, **stated)
    assert found["density"].to_numpy() == pytest.approx(1)
    assert found["upper"].iloc[0] - 1 == pytest.approx(2.576 * sqrt(20 / 400))
    assert 1 - found["lower"].iloc[0] == pytest.approx(2.576 * sqrt(20 / 400))
    assert found["ecdf_difference"].to_numpy() == pytest.approx(0, abs=1e-12)
    cover = calibration.coverage(table, **stated)
    assert cover["coverage"].to_numpy() == pytest.approx(0.95)
    assert cover["se"].to_numpy() == pytest.approx(sqrt(0.95 * 0.05 / 400))
    assert cover["chi2"].to_numpy() == pytest.approx(0)
    assert cover["p_value"].to_numpy() == pytest.approx(1)
    low = calibration.coverage(table.assign(**dict.fromkeys(calibration.METHODS, pits / 20)), **stated)
    assert low["chi2"].to_numpy() == pytest.approx((380**2 + 19 * 20**2) / 20)  # all 400 values in one of twenty bins


def test_modes_and_moments_of_draws():
    """Check the estimated mode of a histogram in which each of five cells contains two draws. The mode is the mean
    midpoint of the five fullest of 250 cells.
    """
    draws = np.repeat([0.1, 0.2, 0.3, 0.4, 0.5], 2)
    rest = np.array([0.0, 1.0])
    mode = figure_1.frequency_mode(np.concatenate([draws, rest]))
    assert mode == pytest.approx(np.mean((np.floor(np.array([0.1, 0.2, 0.3, 0.4, 0.5]) * 250) + 0.5) / 250), abs=0.004)
    row = figure_1._chain_row("a", "corrected", "gibbs", [np.array([0.1, 0.3]), np.array([0.2, 0.6])])
    sds = np.array([0.2, 0.4]) / sqrt(2)
    assert (row["mean"], row["sd"]) == pytest.approx((0.3, sds.mean()))
    assert (row["mean_se"], row["spread"]) == pytest.approx((0.1, 0.1 * sqrt(2)))  # means .2 and .4
    assert row["sd_se"] == pytest.approx(abs(sds[1] - sds[0]) / 2)
    assert (row["lower"], row["upper"]) == pytest.approx(tuple(np.quantile([0.1, 0.3, 0.2, 0.6], [0.025, 0.975])))
    row = figure_1._listing_row("a", "listing", np.array([0.2, 0.4]), np.array([0.01, 0.09]))
    assert (row["mean"], row["sd"], row["spread"], row["runs"]) == pytest.approx((0.3, 0.2, 0.1 * sqrt(2), 2))
    assert (row["mean_se"], row["sd_se"]) == pytest.approx((0.1, 0.1))


def test_the_realised_share_by_enumeration():
    """Check the posterior of the realised share against an enumeration of all compositions. The counts are (2, 1, 0),
    the scale is 2/epsilon = 2 and the prior is flat, so that every composition has the weight exp(-distance/2).
    """
    table = beyond.realised_share(settings={"a": [2, 1, 0]}, total=3, epsilon=1.0)
    rows = [(a, b) for a in range(4) for b in range(4 - a)]
    weights = np.array([np.exp(-(abs(a - 2) + abs(b - 1) + abs(3 - a - b)) / 2) for a, b in rows])
    weights /= weights.sum()
    known = np.array([a + b > 0 for a, b in rows])
    shares = np.array([a / (a + b) if a + b else np.nan for a, b in rows])
    law = weights[known] / weights[known].sum()
    single = table[table["x"].isna()].set_index("kind")["y"]
    mean = law @ shares[known]
    assert single["unknown"] == pytest.approx(weights[~known].sum())
    assert single["share_mean"] == pytest.approx(mean)
    assert single["share_sd"] == pytest.approx(sqrt(law @ (shares[known] - mean) ** 2))
    of_r = np.array([(1 + a) / (2 + a + b) for a, b in rows])
    second = np.array([(1 + a) * (2 + a) / (2 + a + b) / (3 + a + b) for a, b in rows])
    assert single["r_mean"] == pytest.approx(weights @ of_r)
    assert single["r_sd"] == pytest.approx(sqrt(weights @ second - (weights @ of_r) ** 2))
    drawn = table[table["kind"] == "share"]
    for x, y in zip(drawn["x"], drawn["y"], strict=True):
        assert y == pytest.approx(law[np.isclose(shares[known], x)].sum())


def test_choosing_epsilon_is_relative_to_no_noise():
    """Check that r has the distribution Beta(1 + S1, 1 + S0) if there is no noise. The mean standard deviation is given
    relative to this case, and noise gives a relative value above 1.
    """
    table = beyond.choosing_epsilon(
        totals=[20], epsilons=[0.5], probabilities=[0.4, 0.4, 0.2], releases=6, rng=stream(2, "choose")
    )
    counts = stream(2, "choose").multinomial(20, [0.4, 0.4, 0.2], 6)
    sds = [stats.beta(1 + a, 1 + b).std() for a, b, _ in counts]
    noisy, clean = table.to_dict("records")
    assert (clean["sd"], clean["sd_se"]) == pytest.approx((np.mean(sds), np.std(sds, ddof=1) / sqrt(6)), rel=1e-6)
    assert clean["relative"] == 1
    assert noisy["relative"] == noisy["sd"] / clean["sd"] > 1


def test_counts_of_trapped_chains(monkeypatch):
    """Check the number of trapped chains among three chains, and the median iteration at which a chain becomes trapped.
    The first chain is trapped at iteration 4, the second at iteration 8, and the third never. Two chains are trapped,
    at a median iteration of 6.
    """
    ends = iter([4, None, 8, None, None, None])
    monkeypatch.setattr(laws, "_last_move", lambda *_: next(ends))
    table = laws.trapped(settings={"a": [2, 1, 0]}, total=3, epsilon=1.0, chains=3, iterations=9, rng=stream(1, "t"))
    assert table[["alpha", "chains", "iterations", "trapped"]].to_numpy().tolist() == [[0, 3, 9, 2], [1, 3, 9, 0]]
    assert table["median_iteration"].iloc[0] == 6
    assert np.isnan(table["median_iteration"].iloc[1])


def test_triplets_are_counted_at_a_quarter_and_three_quarters():
    p = np.array([0.1, 0.2, 0.25, 0.3, 0.75, 0.9])
    rows = laws.figure_2_laws(pd.DataFrame({"p1": p, "p0": p, "perr": 1 - p}), total=5)
    assert rows[["below", "above"]].to_numpy().tolist() == [[2, 1], [2, 1], [1, 2]]
    assert rows["draws"].eq(6).all()
