"""Check the numbers, tables and margins that the functions for this paper return against results derived by hand."""

from math import exp, sqrt, tanh

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, kstwo, multinomial, norm

from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._seeding import stream
from reproduction import evidence, paper
from reproduction.papers.wang2020 import (
    agreement,
    beyond,
    calibration,
    claims,
    comparison,
    draws,
    errata,
    examples,
    literal,
    releases,
    speed,
)
from reproduction.papers.wang2020.algorithms import release_moments


def test_a_mode_of_the_multinomial_is_told_from_its_neighbours():
    # weights 3, 1, four units: the largest quotients are 3/1, 3/2, 3/3, 1/1. The allocation (3, 1) uses them, but (4,
    # 0) and (2, 2) do not.
    weights = np.array([3, 1])
    assert draws.is_mode(np.array([3, 1]), weights)
    assert not draws.is_mode(np.array([4, 0]), weights)
    assert not draws.is_mode(np.array([2, 2]), weights)
    # weights 1, 1 and one unit: both results are modes
    assert draws.is_mode(np.array([1, 0]), np.array([1, 1]))
    assert draws.is_mode(np.array([0, 1]), np.array([1, 1]))


def test_the_noise_test_takes_its_law_and_refuses_others():
    noise = TwoSidedGeometric(epsilon=1.0, support=50)
    rng = stream(11, "by hand")
    assert draws.noise_test(noise.sample(np.zeros(20_000, dtype=np.int64), rng=rng), noise) > 1e-4
    wider = TwoSidedGeometric(epsilon=0.9, support=50)
    assert draws.noise_test(wider.sample(np.zeros(20_000, dtype=np.int64), rng=rng), noise) < 1e-6
    assert draws.noise_test(np.array([51]), noise) == 0.0


def test_the_width_of_noise_by_hand():
    """Check the z score and the minimum detectable effect of the test of the mean absolute noise against a calculation
    by hand. At support 1 and with a = exp(-epsilon), the absolute noise |d| is 1 with probability q = 2 a/(1 + 2 a), so
    it has sd sqrt(q (1 - q)).
    """
    noise, found = TwoSidedGeometric(epsilon=0.5, support=1), np.array([1] * 60 + [0] * 40)
    q = 2 * exp(-0.5) / (1 + 2 * exp(-0.5))
    sd = np.sqrt(q * (1 - q))
    z, seen = (row["value"] for row in draws._width(found, noise))
    assert z == pytest.approx((0.6 - q) / (sd / 10))
    # d q/d log epsilon = -epsilon q (1 - q): 100 draws change z by epsilon sd 10 per unit
    # five tests share the level; two sides
    expected = (norm.isf(draws.LEVEL / 5 / 2) + norm.isf(0.1)) / (0.5 * sd * 10)
    assert seen == pytest.approx(expected)


def test_the_full_size_sees_two_percent_of_epsilon():
    """Check that the minimum detectable effect of the test of the mean absolute noise is at most 2 % of epsilon at the
    default settings. Each completely checked release contributes five totals of each of the two examples.
    """
    size = paper.discover()["wang2020"].settings["sections"]["release_checks"]["properties"]["size"]["default"]
    noise = TwoSidedGeometric(epsilon=1.0, support=50)
    _, seen = (row["value"] for row in draws._width(np.ones(2 * draws._TOTALS * size), noise))
    assert seen <= 0.02


def test_noise_beyond_the_cut_is_two_geometric_tails():
    # P(|d| > s) = 2 (1 - a)/(1 + a) (a^(s + 1) + a^(s + 2) + ..) = 2 a^(s + 1)/(1 + a)
    table = draws.release_checks(vector=1, epsilon=0.5, support=7, size=20, rng=stream(12, "by hand"))
    value = table.set_index("statement").loc["beyond the cut", "value"]
    d = np.arange(8, 4000)
    a = exp(-0.5)
    assert value == pytest.approx(2 * (1 - a) / (1 + a) * np.sum(a**d), rel=1e-12)


def test_a_claim_of_zero_costs_the_total_variation_of_a_unit_shift():
    # for the two-sided geometric distribution and its shift by one: sum over d >= 1 of P(d - 1) - P(d) = P(0) =
    # tanh(epsilon/2)
    for epsilon in (0.5, 1.0):
        table = beyond.privacy(epsilon=epsilon, support=60, claims=[0.0, epsilon, 2 * epsilon])
        delta = table.set_index(["counts", "claimed"])["delta"]
        assert delta["the total alone", 0.0] == pytest.approx(tanh(epsilon / 2), rel=1e-9)
        assert delta["the total alone", epsilon] < 1e-12
        assert delta["total and components", epsilon] > 0.1
        assert delta["total and components", 2 * epsilon] < 1e-12


def test_calibration_believes_the_noise_it_made(monkeypatch):
    # releases, noisy counts and posteriors all have the stated epsilon; otherwise, no PIT would be uniform
    found = []

    def recorded(where, name):
        right = getattr(where, name)

        def spy(*given, **stated):
            found.append((name, stated["epsilon"]))
            return right(*given, **stated)

        monkeypatch.setattr(where, name, spy)

    for name in ("release", "posterior", "posterior_of_noisy"):
        recorded(calibration.additive_counts, name)
    recorded(calibration, "TwoSidedGeometric")
    calibration.simulate(1, components=2, largest=5, epsilon=0.75, support=8, rng=stream(13, "by hand"))
    names = [name for name, _ in found]
    assert [names.count(n) for n in ("release", "posterior", "posterior_of_noisy", "TwoSidedGeometric")] == [3, 3, 1, 1]
    assert {epsilon for _, epsilon in found} == {0.75}


def test_pits_by_hand():
    # P(2) = .2, P(3) = .5, P(4) = .3; the truth 3 with U = .4: .2 + .4 x .5
    law = np.array([2, 3, 4]), np.array([0.2, 0.5, 0.3])
    assert calibration._pit(*law, 3, 0.4) == pytest.approx(0.4)
    assert calibration._pit(*law, 2, 0.5) == pytest.approx(0.1)


def test_bands_of_the_calibration_are_99_percent_of_a_binomial_bin():
    # a bin of 20 contains a binomial proportion with sd sqrt(0.05 0.95/n), 20 times this as a density: 0.218 at n = 400
    n = 400
    pits = (np.arange(n) + 0.5) / n
    table = pd.concat([pd.DataFrame({"method": m, "pit": pits, "total": pits}) for m in calibration.METHODS])
    found = calibration.calibration(table, components=4, largest=79, epsilon=1.0, support=50)
    assert found["density"].to_numpy() == pytest.approx(1.0)
    assert found["upper"].iloc[0] - 1 == pytest.approx(2.576 * 20 * sqrt(0.05 * 0.95 / n), rel=0.03)
    assert found["lower"].iloc[0] + found["upper"].iloc[0] == pytest.approx(2)
    # the number of values below the end of each bin is that of a uniform distribution, so the difference is 0;
    # Kolmogorov's 99 % point is near 1.628/sqrt(n)
    assert found["ecdf_difference"].to_numpy() == pytest.approx(0, abs=1e-12)
    assert found["band"].iloc[0] == pytest.approx(1.628 / sqrt(n), rel=0.02)
    halved = calibration.calibration(
        table.assign(pit=table["pit"] / 2), components=4, largest=79, epsilon=1.0, support=50
    )
    shifted = halved[halved["quantity"] == "component"].groupby("bin")["ecdf_difference"].first()
    # all values are below 1/2, where a uniform distribution has probability one half
    assert shifted.loc[0.45] == pytest.approx(0.5)
    assert shifted.iloc[-1] == pytest.approx(0, abs=1e-12)
    cover = calibration.coverage(table, components=4, largest=79, epsilon=1.0, support=50)
    assert cover["coverage"].to_numpy() == pytest.approx(0.9)
    assert cover["se"].to_numpy() == pytest.approx(0.015)  # sqrt(0.9 0.1/400)
    assert cover["chi2"].to_numpy() == pytest.approx(0)


def test_moments_of_two_releases():
    # errors -1 and 3 of a count of 10: mean 11, variance 8 (n - 1), mu4 = 16, biased variance 4: se of it sqrt(0/2)
    sums = {"s1": 2, "s2": 10, "s3": 26, "s4": 82}
    about = {"example": "e", "algorithm": "a", "ties": "", "representative": "r", "true": 10, "n": 2}
    found = releases.moments(pd.DataFrame([about | sums]), vector=1, epsilon=1.0, support=50).iloc[0]
    assert found["mean"] == 11
    assert found["variance"] == 8
    assert found["mean_se"] == pytest.approx(sqrt(2))
    assert found["variance_se"] == 0
    # errors 0, 0, 0, 4: m2 = 3, m3 = 6, m4 = 21; correlation m3/sqrt(m2 (m4 - m2^2)) = 6/sqrt(36) = 1
    skewed = {"n": 4, "s1": 4, "s2": 16, "s3": 64, "s4": 256}
    found = releases.moments(pd.DataFrame([about | skewed]), vector=1, epsilon=1.0, support=50).iloc[0]
    assert found["correlation"] == pytest.approx(1)
    assert found["variance_se"] == pytest.approx(sqrt(12 / 4))


def test_the_comparison_of_two_releases():
    # errors 1 and 3 at the largest count: bias 2, variance 1; squares 100 and 300 over 50 counts: RMSE 2; totals 0, 4
    row = {"example": "e", "method": "m", "n": 2, "e1": 4, "e2": 10, "e4": 82, "all": 400, "all2": 100_000}
    table = pd.DataFrame([row | {"t1": 4, "t2": 16}])
    found = comparison.comparison(table, vector=1, epsilon=1.0, support=50, posteriors=1).iloc[0]
    assert (found["bias"], found["variance"], found["rmse"]) == (2, 1, 2)
    assert found["bias_se"] == pytest.approx(sqrt(1 / 2))
    assert found["rmse_se"] == pytest.approx(
        sqrt((20 - 16) / 2) / 4
    )  # mean squares 2 and 6: variance 4; slope 1/(2 RMSE)
    assert (found["total_bias"], found["total_variance"]) == (2, 4)


def test_margins_and_their_errors():
    # variances 4 +- 1 and 2 +- 0.5: ratio 2, relative errors 1/4 and 1/4, so the error is 2 sqrt(1/8)
    cells = claims.Cells({}, {("a", "p"): (4.0, 1.0), ("b", "p"): (2.0, 0.5)}, {})
    assert cells.extremes(("a", "b"), "p") == pytest.approx((2, 2 * sqrt(1 / 8)))
    assert np.isnan(claims.least([(1.0, 0.0), (np.nan, 0.0), (-2.0, 0.0)])[0])
    assert np.isnan(claims.most([(1.0, 0.0), (np.nan, 0.0)])[0])
    assert claims.least([(1.0, 0.1), (-2.0, 0.2)]) == (-2.0, 0.2)


def test_a_printed_error_is_that_of_ten_thousand_runs():
    row = pd.Series({"mean_se": 0.3, "n": 2500})
    assert agreement._printed_error(row, "mean") == pytest.approx(0.15)


def pairs_of(probabilities, pairs):
    frame = pd.DataFrame(pairs, columns=["N1", "N2"]).assign(probability=probabilities, variant="as_written")
    return frame.assign(row=np.arange(1, len(pairs) + 1))


def test_margins_of_the_most_probable_pairs():
    # (250, 357) leads by .06 - .05; the farthest pair is at distance 2; 1.5 - .06/.04 = 0; one pair has the sum 608
    table = pairs_of([0.06, 0.05, 0.04], [(250, 357), (251, 357), (249, 359)])
    lead, near, close, sums = (row["ours"] for row in claims.of_pairs("table_4", table))
    assert (lead, near, close) == pytest.approx((0.01, 8.0, 0.0))
    assert sums == -1.5
    stands_out = list(claims.of_pairs("table_5", table))[2]["ours"]
    assert stands_out == pytest.approx(0.06 / 0.05 - 1.5)
    for other in ((251, 357), (250, 358), (249, 357)):
        first = next(claims.of_pairs("table_4", pairs_of([0.06, 0.05], [other, (250, 357)])))
        assert first["ours"] == -1.0  # not the released pair


def test_the_erratum_on_captions_names_both_tops():
    tops = [additive_counts.posterior((250, 357), epsilon=1.0, algorithm="2", window=30)]
    tops += [additive_counts.posterior((250, 357), epsilon=1.0, algorithm="3", window=30, ties="ieee")]
    first, second = (f"{law.top(1)[1][0]:.4f}" for law in tops)
    assert first != second
    text = evidence.show(errata.ERRATA, 3, rng=stream(7, "errata"), size=10)
    assert f"{first} for algorithm 2 and {second} for algorithm 3." in text


def test_totals_that_are_not_the_noisy_one_are_counted():
    # three releases by four algorithms for counts (2, 0): the totals of 2 and 3 are equal except in the second release;
    # the third release of algorithm 3 has a negative count
    released = np.array([[[2, 0]] * 3, [[2, 0]] * 3, [[2, 1], [2, 1], [4, 0]], [[3, 0], [2, 2], [5, -1]]])
    found = {row["statement"]: row["value"] for row in draws._of_releases(released, np.array([2, 0]))}
    assert found["wrong totals"] == 2
    # the count of 0 under algorithm 2, checked last: 1, 1, 0; all at 0 or 1, and two above 0
    shares = {(r["statement"], r["algorithm"]): r["value"] for r in draws._of_releases(released, np.array([2, 0]))}
    assert shares["zeros at 0 or 1", "Algorithm 2"] == 1.0
    assert shares["zeros above 0", "Algorithm 2"] == pytest.approx(2 / 3)
    assert shares["zeros above 0", "Algorithm 3"] == pytest.approx(1 / 3)


class Recording:
    """Random number generator for tests that returns the most probable values and records the choices and their
    probabilities.
    """

    def __init__(self):
        self.laws, self.shares = [], []

    def choice(self, values, p):
        self.laws.append(dict(zip(np.asarray(values).tolist(), p, strict=True)))
        return values[int(np.argmax(p))]

    def multinomial(self, total, theta):
        self.shares.append((total, np.asarray(theta).tolist()))
        return np.zeros(len(theta), dtype=np.int64)


def test_the_literal_release_draws_from_the_laws_of_section_3_1():
    # counts 1 and 0, support 2, epsilon 1: noise 0 is the most probable value, so n = 1 and the noisy counts are 1, 0
    rng = Recording()
    literal.release([1, 0], epsilon=1.0, support=2, rng=rng)

    def law(weights):
        return pytest.approx({v: w / sum(weights.values()) for v, w in weights.items()})

    noise = {d: exp(-abs(d)) for d in range(-2, 3)}
    near_1, near_0 = {v: exp(-abs(v - 1)) for v in range(4)}, {v: exp(-v) for v in range(3)}
    # sum of two noise values: s = d + e with both in -2..2
    both = {s: sum(noise[d] * noise[s - d] for d in noise if s - d in noise) for s in range(-4, 5)}
    summed = {v: exp(-abs(v - 1)) * both[1 - v] for v in range(4)}
    wanted = [noise, noise, noise, near_1, summed, near_1, near_0]
    assert len(rng.laws) == len(wanted)
    for found, weights in zip(rng.laws, wanted, strict=True):
        assert found == law(weights)
    assert rng.shares == [(1, [1.0, 0.0])] * 3


def test_the_literal_posterior_of_two_counts_in_a_window_of_one():
    # releases 5 and 4, algorithm 2: weight of true (t1, t2), sum over noisy (n1, n2) within one of it, of
    # exp(-e |9 - t1 - t2|) exp(-e (|n1 - t1| + |n2 - t2|)) (n1/(n1 + n2))^5 (n2/(n1 + n2))^4
    e, table = 0.4, np.zeros((3, 3))
    for i, t1 in enumerate((4, 5, 6)):
        for j, t2 in enumerate((3, 4, 5)):
            for n1 in (t1 - 1, t1, t1 + 1):
                for n2 in (t2 - 1, t2, t2 + 1):
                    q = n1 / (n1 + n2)
                    noise = exp(-e * (abs(n1 - t1) + abs(n2 - t2) + abs(9 - t1 - t2)))
                    table[i, j] += noise * q**5 * (1 - q) ** 4
    assert literal.pair_table([5, 4], epsilon=e, window=1) == pytest.approx(table / table.sum())


def test_the_first_row_of_table_3_read_as_above_0():
    # one row per representative and moment, with the error of 10,000 printed runs: .3 and .8 at 2,500 are halved
    readings = pd.DataFrame({
        "algorithm": ["Algorithm 1 (ind)", "Algorithm 1 (ind)", "Algorithm 2"],
        "representative": ["N_min", "N_min", "x"],
        "variant": ["as_written", "corrected", "as_written"], "mean": [2.5, 1.5, 9.0], "variance": [4.0, 5.0, 9.0],
    })  # fmt: skip
    table = pd.DataFrame(
        {"algorithm": ["Algorithm 1 (ind)"], "representative": "N_min", "mean_se": 0.3, "variance_se": 0.8, "n": 2500}
    )
    found = [(r["quantity"], r["ours"], r["mc_se"], r["variant"]) for r in agreement._literal(readings, table)]
    assert found == [
        ("Algorithm 1 (ind), N_min: mean", 2.5, pytest.approx(0.15), "as_written"),
        ("Algorithm 1 (ind), N_min: variance", 4.0, pytest.approx(0.4), "as_written"),
    ]


def test_representatives_are_order_statistics():
    """Check that the representatives are the order statistics 1, 12, 25, 38 and 50 of fifty counts. Equal counts keep
    their original order.
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
    """Check that the frequencies in the table of seats sum to 50, and that the products of count and frequency sum to
    863. In addition, check that the only note is at the count seven.
    """
    table = examples.table_2()
    assert table["instances"].sum() == 50
    assert (table["count"] * table["instances"]).sum() == 863
    noted = table[table["note"] != ""]
    assert noted[["count", "instances", "components"]].to_numpy().tolist() == [[7, 2, "Colorado, South Carolina"]]


def test_correlations_of_small_errors():
    """Check the correlation between the simulation errors of a mean and of a variance. The errors 0, 0, 0, 1 have m2 =
    3/16, m3 = 3/32 and m4 - m2^2 = 3/64, so the correlation is 1. If all errors are 0, the correlation is 0.
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
    assert notes["as_written"] == {"The windows are +-4."}
    assert notes["published"] == {"The windows are +-2 instead of the stated +-30."}
    assert notes["corrected"] == {"No window is used."}
    table = beyond.table_5(released=[6, 5], epsilon=1.0, window=4, other_window=2, rows=3)
    rows = pd.DataFrame(agreement._pairs("table_5", table))
    assert set(rows.loc[rows["variant"] == "corrected", "note"]) == {
        "No window is used. Ties are broken at random.",
        "This run includes fewer rows. No window is used. Ties are broken at random.",
    }
    missing = rows[rows["ours"].isna()]
    assert set(missing["quantity"].str.extract(r"row (\d+):")[0].astype(int)) == set(range(4, 11))
    assert set(rows.loc[rows["variant"] == "as_written", "note"].str.endswith(" Ties are broken by rounding.")) == {
        True
    }


def test_laws_of_a_release_by_loops():
    """Check the posterior distribution of the count N1 under algorithm 2 against a computation with four nested loops.
    The mean and the sd of every distribution are checked against its values and probabilities.
    """
    table = beyond.precision(released=[12, 11], epsilon=3.0)
    loop, near = literal.pair_table([12, 11], epsilon=3.0, window=5), np.arange(-5, 6)
    first = loop.sum(axis=1)
    rows = table[(table["release"] == "Algorithm 2") & (table["quantity"] == "N1")].set_index("value")
    # the window is two sd of the share wide; the probability inside the window, up to its normalising constant
    inside = rows.loc[12 + near, "probability"]
    assert first[3:8] == pytest.approx((inside / inside.sum()).to_numpy()[3:8], rel=0.05)
    assert set(table["release"]) == {*beyond.RELEASES, "noisy counts"}
    assert set(table["quantity"]) == {"N1", "N"}
    for (_, _), law in table.groupby(["release", "quantity"]):
        value, p = law["value"].to_numpy(), law["probability"].to_numpy()
        assert law["mean"].iloc[0] == pytest.approx(value @ p)
        assert law["sd"].iloc[0] == pytest.approx(sqrt((value - value @ p) ** 2 @ p))


def test_windows_of_the_loop():
    """Check that the table of pairs has (2 w + 1)^2 cells, if the window contains w counts on each side of a released
    count. The released pair in the middle is the most probable pair.
    """
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
    """Return a table with exact moments of algorithms 1 and 2 and simulated moments of algorithm 3, for five components
    with a true count of 100. The simulated moments have standard error 0.
    """
    rows = [
        {"algorithm": a, "representative": p, "variant": "as_written" if a == "Algorithm 3" else "corrected",
         "true": 100.0, "mean": mean[a], "variance": variance[a], "mean_se": 0.0, "variance_se": 0.0,
         "exact_mean": mean[a], "exact_variance": variance[a], "mean_z": 1.0, "variance_z": -2.0, "n": 10_000}
        for a in claims.ALL for p in examples.REPRESENTATIVES
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_margins_of_table_1():
    """Check the margins by which the claims about Table 1 hold or fail. A margin is the distance from the threshold of
    a claim. The four algorithms have the means 100.2, 100, 99.9 and 100 and the variances 110, 108, 100 and 4 at every
    count.
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
        "claim: variances of algorithm 3 are similar across counts": -1,  # both have the spread 1: log10 1 - 1
        "claim: independent and summed totals hardly differ": 0.05 - 2 / 110,
        "claim: summed totals are no better": 0.01 - 2 / 110,
        "law: the releases have their exact moments": min(1.0, 2 * 40 * 0.02275013),
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
    """Check the margins by which the claims about the releases hold. The margins use the worst of several proportions,
    sums over examples, p-values of two examples, and the tail probability.
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
    # two chi-squared p-values, and those of z = 2, 1 and -2.5, the smallest .0124, five tests jointly; of z = 1.5, two
    # tests jointly
    wanted = [(0.2, 0.01), (0.2, 0.015), (-1.5, 0), (0.9, 0.01), (-0.5, 0), (5 * 2 * norm.sf(2.5), 0)]
    wanted += [(2 * 2 * norm.sf(1.5), 0), (9e-7, 0)]
    assert made[5]["sees"] == "epsilon by 1.6 %"
    table.loc[table["statement"] == "noise, z of its width", "value"] = 3.0
    assert list(claims.of_checks(table))[5]["ours"] == pytest.approx(5 * 2 * norm.sf(3))
    # at level 1e-4/2, z must be 4.056; for power 0.9, 4.056 + 1.282 = 5.34 standard errors of 1/100
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
    """Check the margins by which the claims about posteriors hold. The posteriors are Bernoulli distributions with P(0)
    = q and P(1) = p.

    The totals have sd .5 and sqrt(.24) given algorithms 1; N1 has sd .5 and .4 given algorithms 2 and 3.
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
    # if the probabilities are equal, the first value, 0, is the mode
    assert (mass["left"], top["left"]) == (pytest.approx(0, abs=1e-15), 607)
    assert [row["ours"] for row in found] == pytest.approx([0.5 - np.sqrt(0.24), 0.5 / 0.4 - 2, 0.2, 0.05, -0.1])
    lighter = table.assign(probability=table["probability"] * 0.9)
    assert next(claims.of_posteriors(lighter))["left"] == pytest.approx(0.1)
    missing = table.assign(probability=table["probability"].where(table.index > 0))
    assert [np.isnan(row["ours"]) for row in claims.of_posteriors(missing)][:2] == [True, True]


def test_many_zeros_are_those_asked_for():
    """Check the exact moments of the released value of a count of 5, if two counts of 5 and four counts of 0 are
    released with additive noise. The bias is the exact mean minus the count.
    """
    table = draws.many_zeros(zeros=4, large=2, count=5, epsilon=1.0, support=6).set_index("algorithm")
    assert (table["bias"] == table["exact_mean"] - 5).all()
    assert (table["zeros"].eq(4) & table["large"].eq(2) & table["true"].eq(5)).all()
    # six components at scale 1 hide a count of 5 among zeros: each zero gets a share, and no count is below 0
    assert (table["bias"] < 0).all()
    rng_free = additive_counts.posterior([5, 5], epsilon=1.0, algorithm="2", window=8)
    assert rng_free.top(1)[0].tolist() == [[5, 5]]


def test_the_fit_of_a_tie_rule():
    """Check the goodness of fit of a tie-breaking rule to the printed moments, for moments from 2,500 releases. The
    mean is 2.1 (printed 2.0), and the variance is 3.0 (printed 2.8). The errors .3 and .4 are multiplied by 1/2 if
    exact values are known, and by sqrt(5/4) if the values are simulated.

    Both have one decimal, and rounding adds .01/12 to each variance. Without correlation, the two squares are added.
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
        assert found["p_value"] == pytest.approx(np.exp(-wanted / 2))  # two degrees of freedom
    both = draws.tie_fit(tie_rules=pd.DataFrame([known | {"correlation": 1.0}]), published=printed).iloc[0]
    a, b, c = 0.09 / 4 + 0.01 / 12, 0.16 / 4 + 0.01 / 12, 0.12 / 4
    inverse = (b * 0.01 - 2 * c * 0.02 + a * 0.04) / (a * b - c * c)
    assert both["chi_squared"] == pytest.approx(inverse)


def test_order_statistics_of_the_seats_as_they_are_stated():
    """Check that the order statistics 1, 12, 25, 38 and 50 of the fifty seat counts are 1, 2, 6, 11 (as printed) and
    435. The total is 863.
    """
    found = {row["quantity"]: row["ours"] for row in agreement._table_2(examples.table_2())}
    assert [found[name] for name in examples.REPRESENTATIVES] == [1, 2, 6, 11, 435]
    assert found["total"] == 863
    assert found["components with count 7"] == 2
    # positions that are ambiguous for equal counts are unambiguous for fifty different counts
    distinct = pd.DataFrame({"count": np.arange(1, 51), "instances": 1, "note": ""})
    found = {row["quantity"]: row["ours"] for row in agreement._table_2(distinct)}
    assert [found[name] for name in examples.REPRESENTATIVES] == [1, 12, 25, 38, 50]
    one = {row["quantity"]: row["ours"] for row in agreement._figure_1(examples.figure_1(vector=1))}
    assert (one["total"], one["components"], one["N_q1"], one["N_max"]) == (21249, 50, 60, 977)


def test_exact_moments_of_every_tie_rule_are_those_of_example_2():
    """Check that the exact moments under the tie-breaking rules ``first`` and ``last`` are computed only for
    Example 2.
    """
    table = releases.exact_moments(vector=1, epsilon=1.0, support=3)
    rules = table[table["algorithm"] == "Algorithm 3"].groupby("example")["ties"].agg(set)
    assert {"first", "last"} <= rules["example_2"]
    assert not {"first", "last"} & rules.get("example_1", set())
    assert table.groupby(["example", "algorithm", "ties"]).size().eq(5).all()


def test_rules_of_the_tables_of_pairs():
    """Check that the tables of pairs of counts state a tie-breaking rule only for algorithm 3. The width of the window
    is NaN if there is no window.
    """
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
    """Check that the computing times of the baselines, which are measured as 2 s each, are scaled to the full size of
    the problem. The time of 4 releases is scaled to 50 releases in proportion, and the time for a window of 4 is scaled
    to a window of 9 by ((2 9 + 1)/(2 4 + 1))^4.
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
    """Check the test of the claim that the counts of Example 1 are uniform, for the counts 60, 295 and 530. These
    counts are at 0, 1/4 and 1/2 of the range. The largest distance is one half, at the last step. The minimum
    detectable effect assumes that an upper end 1 % higher moves the distribution function by 10/940 at 1000.
    """
    row = claims._uniform(pd.DataFrame({"count": [3, 60, 295, 530]}))
    assert row["ours"] == pytest.approx(kstwo.sf(1 / 2, 3), rel=1e-12)
    assert "3 counts" in row["note"]
    needed = kstwo.isf(claims._LEVEL, 3) + norm.ppf(0.9) / (2 * np.sqrt(3))
    assert row["sees"] == claims.power.words({"upper end": needed * 0.94})


@pytest.mark.parametrize(
    ("total", "shares", "mode"),
    [
        (2, [0.25, 0.75], [0, 2]),  # quotients 1, 3 and 3/2: both units go to the second component
        (3, [0.25, 0.75], [1, 2]),  # of the quotients 3, 3/2, 1 and 1, the first component wins the tie
        (3, [0.6, 0.4], [2, 1]),
        (4, [0.5, 0.3, 0.2], [2, 1, 1]),
        (0, [0.5, 0.5], [0, 0]),
        (5, [1.0, 0.0], [5, 0]),
        (1, [0.4, 0.35, 0.25], [1, 0, 0]),
    ],
)
def test_a_mode_by_the_printed_theorem(total, shares, mode):
    """Check Theorem 1 as printed against the mode that results from the `total` largest quotients x/k."""
    found = literal.theorem_1(total, shares)
    assert found.sum() == total
    assert draws.is_mode(found, np.round(np.array(shares) * 1000).astype(int))
    if total != 3 or shares != [0.25, 0.75]:
        assert found.tolist() == mode


def test_every_small_mode_of_the_printed_theorem_is_a_mode():
    """Check, for up to six units and three components, that the mode by Theorem 1 is the most probable of all
    allocations.
    """
    rng = stream(14, "modes")
    for _ in range(60):
        weights = rng.integers(1, 20, 3)
        total = int(rng.integers(0, 7))
        found = literal.theorem_1(total, (weights / weights.sum()).tolist())
        every = [(a, b, total - a - b) for a in range(total + 1) for b in range(total + 1 - a)]
        best = max(multinomial(total, weights / weights.sum()).pmf(one) for one in every)
        assert multinomial(total, weights / weights.sum()).pmf(found) == pytest.approx(best, rel=1e-12)


def test_independence_of_the_cells_of_the_noise_test():
    """Check the chi-squared test of the noise against a calculation by hand. At support 1 and epsilon = log 2, the
    noise -1, 0, 1 has the probabilities 1/4, 1/2, 1/4. Of 20 draws, 5 are expected in each tail, which is enough for
    three cells; of 19 draws, 4.75 are not, but the two tails remain cells.
    """
    noise = TwoSidedGeometric(epsilon=np.log(2), support=1)
    for counts in ((7, 8, 5), (6, 8, 5)):
        size = sum(counts)
        expected = np.array([0.25, 0.5, 0.25]) * size
        found = np.repeat([-1, 0, 1], counts)
        wanted = chi2.sf(np.sum((np.array(counts) - expected) ** 2 / expected), 2)
        assert draws.noise_test(found, noise) == pytest.approx(wanted)
    assert draws.noise_test(np.array([-2] + [0] * 19), noise) == 0


def test_a_share_of_nothing_has_an_error():
    """Check that a proportion of 0 or 1 of n cases has the standard error 1/n."""
    assert draws._share("s", "a", 0.0, 25)["se"] == pytest.approx(1 / 25)
    assert draws._share("s", "a", 0.5, 25)["se"] == pytest.approx(0.1)


def test_the_most_probable_pairs_are_ten():
    """Check that a pair at distance 10 from the released pair violates a claim, and that a pair whose sum is not 607 is
    counted.
    """
    table = pairs_of([0.06, 0.05], [(250, 357), (260, 357)])
    _, near, _, sums = (row["ours"] for row in claims.of_pairs("table_4", table))
    assert (near, sums) == (0, -0.5)
    _, near, _, sums = (
        row["ours"] for row in claims.of_pairs("table_4", pairs_of([0.06, 0.05], [(250, 357), (249, 358)]))
    )
    assert (near, sums) == (9, 0.5)


def test_rows_of_the_privacy_of_a_release():
    """Check that the reported epsilon is the smallest claimed epsilon with a delta below 1e-9, for a release of the
    total and the components.
    """
    table = pd.DataFrame({
        "counts": ["the total alone", *["total and components"] * 3], "claimed": [0.5, 1.0, 2.0, 3.0],
        "delta": [0.0, 1e-9, 0.9e-9, 0.0],
    })  # fmt: skip
    (row,) = agreement._privacy(table)
    assert row["ours"] == 2


def test_rows_of_figure_1_count_small_large_and_sorted_counts():
    """Check the numbers of counts between 15 and 60 and from 60 to 1000, including counts at the ends, and the order of
    the counts by rank.
    """
    counts = [0, 0, 0, 1, 2, 3, 14, 15, 40, 60, 61, 60, 59, *[500] * 35, 1000, 1001]
    table = pd.DataFrame({"count": sorted(counts), "representative": "", "rank": range(1, 51)})
    for place, name in zip((0, 11, 24, 37, 49), examples.REPRESENTATIVES, strict=True):
        table.loc[place, "representative"] = name
    rows = {row["quantity"]: row for row in agreement._figure_1(table)}
    # sorted positions 7 to 11 are 14, 15, 40, 59, 60, and those after them are 60, 61, 500, .., 1000, 1001
    assert rows["components between 15 and 60"]["ours"] == 4
    assert rows["components from 60 to 1000"]["ours"] == 38
    assert rows["the counts are sorted by rank"]["left"] == 0
    assert rows["components with count 0"]["ours"] == 3
    turned = table.assign(rank=range(50, 0, -1))
    assert agreement._figure_1(turned)[-1]["ours"] == -1
    swapped = table.assign(count=table["count"].replace({14: 16}))
    assert agreement._figure_1(swapped)[-1]["ours"] == -1


def test_rows_of_table_2_at_the_limit_of_small_counts():
    """Check that a count of 50 is classified as small and a count of 51 is not, and that small counts must be more than
    one half of all counts.
    """
    table = pd.DataFrame({"count": [50, 51], "instances": [26, 24], "note": ["n", ""]})
    rows = {row["quantity"]: row for row in agreement._table_2(table)}
    assert rows["most counts are small, 0 to 50"]["left"] == 0.52
    assert (rows["components with count 50"]["ours"], rows["components with count 50"]["note"]) == (26, "n")


def test_tie_rules_of_the_note_have_their_p_values():
    fit = pd.DataFrame({"ties": ["random", "ieee"], "p_value": [0.0123, 0.456]})
    assert agreement._ties(fit).endswith(
        "p = 0.46 if ties are broken by rounding and p = 0.012 if ties are broken at random."
    )


def test_moments_of_algorithm_3_are_simulated_and_the_others_exact():
    row = {"representative": "N_min", "n": 40_000, "mean": 2.0, "mean_se": 0.3, "variance": 5.0, "variance_se": 0.4,
           "exact_mean": 2.5, "exact_variance": 6.0}  # fmt: skip
    table = pd.DataFrame([
        row | {"algorithm": "Algorithm 3", "variant": "as_written"},
        row | {"algorithm": "Algorithm 3", "variant": "corrected", "mean": 99.0},
        row | {"algorithm": "Algorithm 2", "variant": "corrected"},
        row | {"algorithm": "Algorithm 2", "variant": "as_written", "exact_mean": 99.0},
    ])  # fmt: skip
    found = [(r["quantity"], r["ours"], r["mc_se"]) for r in agreement._moments("table_1", table, "")]
    assert found == [
        ("Algorithm 3, N_min: mean", 2.0, pytest.approx(np.hypot(0.3, 0.6))),
        ("Algorithm 3, N_min: variance", 5.0, pytest.approx(np.hypot(0.4, 0.8))),
        ("Algorithm 2, N_min: mean", 2.5, pytest.approx(0.6)),
        ("Algorithm 2, N_min: variance", 6.0, pytest.approx(0.8)),
    ]


def test_sums_of_units_within_nine_standard_deviations_are_distinct():
    """Check that the length of the Fourier transform is sufficient for 400 components with the counts 0 or 200. With a
    = k = 1, a component receives 0 or 199 units before a tie, so the sum has the standard deviation 199/2 sqrt(400) =
    1990.
    """
    group = (np.array([0, 200]), np.array([0.5, 0.5]), 400, True)
    units = release_moments._units(1, np.array([1]), [group])
    assert units.length >= 2 * 9 * 1990
