"""Check numbers of the paper's functions that can be derived by hand; each derivation is given."""

from math import exp, sqrt, tanh

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

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
    literal,
    releases,
)


def test_a_mode_of_the_multinomial_is_told_from_its_neighbours():
    # weights 3, 1, four units: the largest quotients are 3/1, 3/2, 3/3, 1/1: (3, 1) takes them, (4, 0) and (2, 2) not.
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
    """Check the test of the noise's width by hand: at support 1 and a = exp(-epsilon), |d| is 1 with probability q = 2
    a/(1 + 2 a) and has sd sqrt(q (1 - q)).
    """
    noise, found = TwoSidedGeometric(epsilon=0.5, support=1), np.array([1] * 60 + [0] * 40)
    q = 2 * exp(-0.5) / (1 + 2 * exp(-0.5))
    sd = np.sqrt(q * (1 - q))
    z, seen = (row["value"] for row in draws._width(found, noise))
    assert z == pytest.approx((0.6 - q) / (sd / 10))
    # d q/d log epsilon = -epsilon q (1 - q): 100 draws move z by epsilon sd 10 per unit
    expected = (norm.isf(draws.LEVEL / 5 / 2) + norm.isf(0.1)) / (0.5 * sd * 10)  # five share the level; two sides
    assert seen == pytest.approx(expected)


def test_the_full_size_sees_two_percent_of_epsilon():
    """Check that the detection limit at the default settings, with five totals of two examples per completely checked
    release, is at most 2 % of epsilon.
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
    # of the two-sided geometric law and its shift by one: sum over d >= 1 of P(d - 1) - P(d) = P(0) = tanh(epsilon/2)
    for epsilon in (0.5, 1.0):
        table = beyond.privacy(epsilon=epsilon, support=60, claims=[0.0, epsilon, 2 * epsilon])
        delta = table.set_index(["counts", "claimed"])["delta"]
        assert delta["the total alone", 0.0] == pytest.approx(tanh(epsilon / 2), rel=1e-9)
        assert delta["the total alone", epsilon] < 1e-12
        assert delta["total and components", epsilon] > 0.1
        assert delta["total and components", 2 * epsilon] < 1e-12


def test_calibration_believes_the_noise_it_made(monkeypatch):
    # releases, noisy counts and posteriors all have the epsilon stated, else no PIT is uniform
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
    # a bin of 20 holds a binomial share of sd sqrt(0.05 0.95/n), 20 times that as a density: 0.218 at n = 400
    n = 400
    pits = (np.arange(n) + 0.5) / n
    table = pd.concat([pd.DataFrame({"method": m, "pit": pits, "total": pits}) for m in calibration.METHODS])
    found = calibration.calibration(table, components=4, largest=79, epsilon=1.0, support=50)
    assert found["density"].to_numpy() == pytest.approx(1.0)
    assert found["upper"].iloc[0] - 1 == pytest.approx(2.576 * 20 * sqrt(0.05 * 0.95 / n), rel=0.03)
    assert found["lower"].iloc[0] + found["upper"].iloc[0] == pytest.approx(2)
    # as many below each bin's end as a uniform law has: no difference; Kolmogorov's 99 % point is near 1.628/sqrt(n)
    assert found["ecdf_difference"].to_numpy() == pytest.approx(0, abs=1e-12)
    assert found["band"].iloc[0] == pytest.approx(1.628 / sqrt(n), rel=0.02)
    halved = calibration.calibration(
        table.assign(pit=table["pit"] / 2), components=4, largest=79, epsilon=1.0, support=50
    )
    shifted = halved[halved["quantity"] == "component"].groupby("bin")["ecdf_difference"].first()
    assert shifted.loc[0.45] == pytest.approx(0.5)  # everything lies below 1/2, where a uniform law has half
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
    # variances 4 +- 1 and 2 +- 0.5: ratio 2, relative errors 1/4 and 1/4, so 2 sqrt(1/8)
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
    # (250, 357) leads by .06 - .05; the farthest is 2 away; 1.5 - .06/.04 = 0; one pair adds up to 608
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
    assert f"algorithm 2 {first}, algorithm 3 {second};" in text


def test_totals_that_are_not_the_noisy_one_are_counted():
    # three releases by four algorithms of counts (2, 0): 2 and 3 share their total but in the second; the third of
    # algorithm 3 has a negative count
    released = np.array([[[2, 0]] * 3, [[2, 0]] * 3, [[2, 1], [2, 1], [4, 0]], [[3, 0], [2, 2], [5, -1]]])
    found = {row["statement"]: row["value"] for row in draws._of_releases(released, np.array([2, 0]))}
    assert found["wrong totals"] == 2
    # the count of 0 under algorithm 2, looked at last: 1, 1, 0; all at 0 or 1 and two above 0
    shares = {(r["statement"], r["algorithm"]): r["value"] for r in draws._of_releases(released, np.array([2, 0]))}
    assert shares["zeros at 0 or 1", "Algorithm 2"] == 1.0
    assert shares["zeros above 0", "Algorithm 2"] == pytest.approx(2 / 3)
    assert shares["zeros above 0", "Algorithm 3"] == pytest.approx(1 / 3)


class Recording:
    """Generator that returns the most probable values and records the choices and their probabilities."""

    def __init__(self):
        self.laws, self.shares = [], []

    def choice(self, values, p):
        self.laws.append(dict(zip(np.asarray(values).tolist(), p, strict=True)))
        return values[int(np.argmax(p))]

    def multinomial(self, total, theta):
        self.shares.append((total, np.asarray(theta).tolist()))
        return np.zeros(len(theta), dtype=np.int64)


def test_the_literal_release_draws_from_the_laws_of_section_3_1():
    # counts 1 and 0, support 2, epsilon 1: noise 0 is likeliest everywhere, so n = 1 and the noisy counts are 1, 0
    rng = Recording()
    literal.release([1, 0], epsilon=1.0, support=2, rng=rng)

    def law(weights):
        return pytest.approx({v: w / sum(weights.values()) for v, w in weights.items()})

    noise = {d: exp(-abs(d)) for d in range(-2, 3)}
    near_1, near_0 = {v: exp(-abs(v - 1)) for v in range(4)}, {v: exp(-v) for v in range(3)}
    # sum of two noises: s = d + e with both in -2..2
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
    # one row a representative and moment, with the error of 10,000 printed runs: .3 and .8 at 2,500 halve
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
