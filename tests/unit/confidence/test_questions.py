"""Sums, differences, ratios and tests: coverage and sizes by sums over all noise, p-values by hand."""

import bisect
import math
import pickle

import numpy as np
import pytest
from scipy import optimize, stats

import dpmultinomial as dpm
from dpmultinomial._confidence import hypotheses
from dpmultinomial._confidence.confidence import PValue
from dpmultinomial._confidence.hypotheses import (
    Sample,
    TwoPoissonRates,
    TwoRates,
    _two_shares,
    goodness_of_fit,
    largest_probability,
)
from dpmultinomial._confidence.noise_sums import Ratio, SignedSum, added
from dpmultinomial._seeding import stream

DL, DG = dpm.DiscreteLaplace, dpm.DiscreteGaussian


def noise(law, mass=1e-12):
    half = int(law.halfwidth(-math.log(mass))) + 1
    x = np.arange(-half, half + 1)
    return x, np.exp(law.log_likelihood(x.astype(float), np.zeros(1)))


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("law", [DL(scale=0.3), DL(scale=2.0), DG(sigma=0.5), DG(sigma=5.0)], ids=str)
def test_a_sum_covers_exactly_as_stated(law, k):
    """The sum of the noise by direct convolution; a normal interval at sigma .5 covers .787."""
    _, p = noise(law, 1e-16)
    total = p
    for _ in range(k - 1):
        total = np.convolve(total, p)
    at = np.arange(-(len(total) // 2), len(total) // 2 + 1)
    right = np.cumsum(total[::-1])[::-1]
    h = at[right > 0.025].max()
    values = {f"n{i}": 100 * (i + 1) for i in range(k)}
    row = dpm.confidence(dpm.Release(values, mechanism=law)).ask({"sum": list(values)}).iloc[0]
    assert (row["lower"], row["upper"]) == (sum(values.values()) - h, sum(values.values()) + h)
    assert row["coverage"] == pytest.approx(total[np.abs(at) <= h].sum(), abs=1e-9)
    assert row["coverage"] >= 0.95
    assert (row["method"], row["status"]) == ("tails", "exact")


def test_sums_of_continuous_and_modified_noise_are_wider_not_narrower():
    """Laplace: the sum of two has the tail (2 + h) exp(-h)/4 at scale 1."""
    h = next(h for h in np.arange(3, 6, 1e-4) if (2 + h) * math.exp(-h) / 4 <= 0.025)
    found = dpm.confidence(dpm.Release({"a": 1000.5, "b": 0.25}, mechanism=dpm.Laplace(scale=1.0)))
    noisy = SignedSum(0.0, 0.0, added([(dpm.Laplace(scale=1.0), 1)] * 2))
    assert h <= noisy.noise.largest(0.025, "right") < h + 0.03
    row = found.ask({"sum": ["a", "b"]}).iloc[0]
    assert (row["lower"], row["upper"], row["status"]) == (np.ceil(1000.75 - h), np.floor(1000.75 + h), "conservative")
    rounded = dpm.confidence(dpm.Release({"a": 20, "b": 10}, mechanism=DG(sigma=2.0).rounded(10)))
    row = rounded.ask({"difference": ["a", "b"]}).iloc[0]  # 15..25 minus 6..14 at least
    assert row["lower"] < 1 < 19 < row["upper"]
    parts = dpm.confidence(dpm.Release({"a": 20, "b": 10}, mechanism=dpm.RandomRounding(5))).ask({"sum": ["a", "b"]})
    assert parts.iloc[0][["lower", "upper"]].tolist() == [22, 38]  # every count is within 4
    assert parts["method"].iloc[0] == "sum of simultaneous intervals"


@pytest.mark.parametrize(
    ("law", "d1", "d2"), [(DL(scale=2.0), 20, 50), (DG(sigma=5.0), 3, 12), (DG(sigma=5.0), 200, 800)]
)
def test_a_ratio_is_accepted_as_often_as_stated(law, d1, d2):
    x, p = noise(law, 1e-7)
    one, angle = added([(law, 1)]), math.atan2(d1, d2)
    covered = 0.0
    for i, a in zip(x[::3], p[::3], strict=True):  # every third value of the first noise is enough for a mean
        for j, b in zip(x, p, strict=True):
            ratio = Ratio(SignedSum(d1 + i, d1 + i, one), SignedSum(d2 + j, d2 + j, one))
            covered += a * b * ratio.accepts(angle, 0.95)
    covered /= p[::3].sum() * p.sum()
    assert 0.945 <= covered <= 0.965  # .950 to .953 over all values


def test_ends_of_a_ratio():
    found = dpm.confidence(dpm.Release({"a": 200, "b": 800, "c": 3}, mechanism=DG(sigma=5.0)))
    row = found.ask({"ratio": ["a", "b"]}).iloc[0]
    half = 1.96 * 5 / 800 * math.sqrt(1 + 1 / 16)  # the delta method is accurate for so large counts
    assert row["lower"] == pytest.approx(0.25 - half, abs=1.5e-3)
    assert row["upper"] == pytest.approx(0.25 + half, abs=1.5e-3)
    small = found.ask({"many": {"ratio": ["a", "c"]}}).iloc[0]
    assert small["upper"] == math.inf
    assert small["quantity"] == "many"
    assert 200 / 14 < small["lower"] < 200 / 8  # the denominator is at most 13 at 95 %


@pytest.mark.parametrize(("n", "k"), [(400, 123), (10_000, 3791), (7, 3)])
def test_the_bound_holds_between_the_rates_of_a_grid(n, k):
    """P(X = k) is largest at the rate k/n. No point of the grid is there, so that the largest value is too small."""
    rates = np.linspace(0.2, 0.55, 12)
    size, exact = float(n), stats.binom.pmf(k, n, k / n)
    assert stats.binom.pmf(k, n, rates).max() < exact - 1e-4
    found = largest_probability(lambda p: stats.binom.pmf(k, n, p), lambda p: n / (p * (1 - p)), size, rates)
    assert exact <= found <= exact + 1e-6
    found = largest_probability(lambda m: stats.poisson.pmf(k, m * n), lambda m: n / m, size, rates)
    assert stats.poisson.pmf(k, k) <= found <= stats.poisson.pmf(k, k) + 1e-6
    edge = np.array([0.0, 2.6 / n])  # P(X = 1) is largest at 1/n, in a cell in which the information is unbounded
    peak = largest_probability(
        lambda p: stats.binom.pmf(1, n, p), lambda p: np.where(p > 0, n / np.fmax(p, 1e-99), np.inf), size, edge
    )
    assert 0 <= peak - stats.binom.pmf(1, n, 1 / n) <= 1e-6


def test_the_bound_of_one_cell_by_hand():
    """A cell of width w around the peak: its larger end plus w^2 I/8, or plus w size/2 if the information is large."""
    for low, high, slack in ((0.29, 0.32, 0.03**2 * 400 / (0.29 * 0.71) / 8), (1e-9, 1e-4, 1e-4 * 200)):
        rates = np.array([low, high])
        found = largest_probability(
            lambda p: stats.binom.pmf(123, 400, p), lambda p: 400 / (p * (1 - p)), 400.0, rates, target=1.0
        )
        assert found == pytest.approx(stats.binom.pmf(123, 400, rates).max() + slack, rel=1e-4)


@pytest.mark.parametrize(
    ("y", "n", "law", "shift"),
    [
        ((5, 15), (50, 50), DL(scale=2.0), 0.0),
        ((3, 9), (20, 35), DG(sigma=2.0), 0.0),
        ((70, 95), (150, 150), DL(scale=0.4), 0.0),
        ((5, 15), (50, 50), DL(scale=2.0), -0.3),
        ((-2, 1), (12, 9), DL(scale=1.0), 0.25),
    ],
)  # fmt: skip
def test_the_pvalue_is_the_largest_probability(y, n, law, shift):
    """The probabilities by convolution at 60,001 rates; the p-value is at least as large, by at most 2e-6."""
    x, p = noise(law, 1e-15)
    test = TwoRates(tuple(map(float, y)), n, (added([(law, 1)]),) * 2)
    values = [np.arange(x[0], size + x[-1] + 1.0) for size in n]
    extreme = np.abs(test._statistic(values[0][:, None], values[1], shift)) >= abs(
        test._statistic(np.array(y[0]), np.array(y[1]), shift) * (1 - 1e-9)
    )
    if shift == 0:  # the confidence set of the common rate, or of the second rate
        size, at, mass = sum(n), sum(y) - 2 * int(x[0]), np.convolve(p, p)
    else:
        size, at, mass = n[1], y[1] - int(x[0]), p

    def tail(q, right):
        both = np.convolve(stats.binom.pmf(np.arange(size + 1), size, q), mass)
        return both[at:].sum() if right else both[: at + 1].sum()

    low, high = max(0.0, -shift), min(1.0, 1 - shift)
    if tail(low, True) < 0.0005:
        low = optimize.brentq(lambda q: tail(q, True) - 0.0005, low, high)
    if tail(high, False) < 0.0005:
        high = optimize.brentq(lambda q: tail(q, False) - 0.0005, low, high)

    def chance(q):
        one, two = (
            np.convolve(stats.binom.pmf(np.arange(m + 1), m, r), p) for m, r in zip(n, (q + shift, q), strict=True)
        )
        return one @ extreme @ two

    rates = np.linspace(low, high, 301)
    best = rates[int(np.argmax([chance(q) for q in rates]))]
    for width in (1e-2, 1e-3, 1e-4):
        near = np.linspace(max(best - width * (high - low), low), min(best + width * (high - low), high), 31)
        best = near[int(np.argmax([chance(q) for q in near]))]
    assert -1e-9 <= test.pvalue(shift) - 0.001 - chance(best) <= 2e-6


UNEQUAL = DG(sigma=20.0), DG(sigma=1.0)  # normal up to lattice effects, and very different for the two counts


@pytest.mark.parametrize("noises", [UNEQUAL, UNEQUAL[::-1]], ids=["first", "second"])
@pytest.mark.parametrize("kind", [TwoRates, TwoPoissonRates])
def test_the_noise_of_each_count_is_divided_by_the_size_of_its_own_sample(kind, noises):
    """For large counts, the p-value is that of a z test plus gamma. The variance of a released rate is its sampling
    variance at the pooled rate plus sigma^2/size^2, with the sigma of its own noise.
    """
    y, sizes = (92.0, 290.0), (250, 1000)
    pooled = sum(y) / sum(sizes)
    one_record = pooled * (1 - pooled) if kind is TwoRates else pooled
    variance = sum(one_record / size + law.sigma**2 / size**2 for size, law in zip(sizes, noises, strict=True))
    z = (y[0] / sizes[0] - y[1] / sizes[1]) / math.sqrt(variance)
    found = kind(y, sizes, tuple(added([(law, 1)]) for law in noises))
    assert found.pvalue() == pytest.approx(2 * stats.norm.sf(z) + 0.001, rel=0.03)


@pytest.mark.parametrize(
    "laws", [(DL(scale=2.0), DG(sigma=0.5)), (DG(sigma=0.5), DL(scale=2.0))], ids=["first", "second"]
)
@pytest.mark.parametrize(("kind", "shift"), [(TwoRates, 0.0), (TwoRates, 0.1), (TwoPoissonRates, None)])
def test_the_rates_of_a_test_have_no_tail_below_half_of_gamma(kind, shift, laws, monkeypatch):
    """If the rates are equal, both tails are those of the sum of both counts, with the noise of both; otherwise, those
    of the second count.
    """
    given = []
    monkeypatch.setattr(hypotheses, "_bound", lambda samples, statistic, rates, *_, **__: given.append(rates) or 0.5)
    y, sizes = (9.0, 17.0), (20, 40)
    test = kind(y, sizes, tuple(added([(law, 1)]) for law in laws))
    test.pvalue(*([] if shift is None else [shift]))
    used = [1] if shift else [0, 1]
    size, total = sum(sizes[i] for i in used), sum(y[i] for i in used)
    first, mass = 0, np.ones(1)
    for x, p in (noise(laws[i], 1e-16) for i in used):
        first, mass = first + int(x[0]), np.convolve(mass, p)

    def tail(q, right):
        k = np.arange(size + 1 if kind is TwoRates else 400)
        file = stats.binom.pmf(k, size, q) if kind is TwoRates else stats.poisson.pmf(k, size * q)
        both, at = np.convolve(file, mass), int(total) - first
        return (both[at:].sum() if right else both[: at + 1].sum()) - 0.0005

    ends = [optimize.brentq(tail, 0.0, 1.0 if kind is TwoRates else 4.0, args=(right,)) for right in (True, False)]
    assert given[0][[0, -1]] == pytest.approx([ends[0], min(ends[1], 1 - (shift or 0.0))], abs=1e-6)


def rejected(kind, sizes, law, y):
    """Releases with p-values up to .05. Given the sum of both counts, the p-value decreases with the statistic."""
    sums = added([(law, 1)])
    found = np.zeros((len(y[0]), len(y[1])), dtype=bool)
    for total in range(int(y[0][0] + y[1][0]), int(y[0][-1] + y[1][-1]) + 1):
        one = np.arange(max(y[0][0], total - y[1][-1]), min(y[0][-1], total - y[1][0]) + 1)
        gap = one / sizes[0] - (total - one) / sizes[1]
        for side in (one[gap >= 0], one[gap < 0][::-1]):
            first = bisect.bisect_left(
                side,
                True,
                key=lambda a, t=total: kind((float(a), float(t - a)), sizes, (sums, sums)).pvalue(target=0.05) <= 0.05,
            )
            found[(side[first:] - y[0][0]).astype(int), (total - side[first:] - y[1][0]).astype(int)] = True
    return found


def trial(kind, sizes, law, mass):
    """Return the rejected releases, and a function of two rates that returns the probabilities of both releases."""
    x, p = noise(law, mass)
    tops = sizes if kind is TwoRates else [int(stats.poisson.ppf(1 - 1e-9, 3 * e)) for e in sizes]

    def laws(*rates):
        if kind is TwoRates:
            files = [stats.binom.pmf(np.arange(n + 1), n, r) for n, r in zip(sizes, rates, strict=True)]
        else:
            means = [e * r for e, r in zip(sizes, rates, strict=True)]
            files = [stats.poisson.pmf(np.arange(t + 1), m) for t, m in zip(tops, means, strict=True)]
        return [np.convolve(file, p) for file in files]

    return rejected(kind, sizes, law, [np.arange(x[0], top + x[-1] + 1.0) for top in tops]), laws


def largest_size(reject, laws, highest):
    """Largest size at 600 rates off every grid."""
    pairs = [laws(rate, rate) for rate in np.random.default_rng(2).uniform(0, highest, 600)]
    return max(first @ reject @ second for first, second in pairs)


def test_size_of_the_tests_of_two_rates():
    assert 0.02 < largest_size(*trial(TwoRates, (5, 6), DL(scale=0.3), 1e-5), 1.0) <= 0.05
    assert 0.01 < largest_size(*trial(TwoPoissonRates, (1.0, 1.5), DL(scale=0.2), 1e-5), 1.5) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sizes", "law", "size", "power"),
    [  # largest size and power (rates .1 and .3, or .5 and 1.5) of an independent prototype
        (TwoRates, (50, 50), DL(scale=2.0), 0.0481, 0.393),
        (TwoRates, (50, 50), DG(sigma=5.0), 0.0481, 0.224),
        (TwoRates, (200, 200), DG(sigma=5.0), 0.0488, 0.966),
        (TwoPoissonRates, (10.0, 10.0), DL(scale=2.0), 0.0486, 0.355),
    ],
)  # fmt: skip
def test_size_and_power_at_the_sizes_of_an_independent_study(kind, sizes, law, size, power):
    reject, laws = trial(kind, sizes, law, 1e-9)
    found = largest_size(reject, laws, 1.0 if kind is TwoRates else 3.0)
    assert found <= 0.05
    assert found == pytest.approx(size, abs=5e-4)
    first, second = laws(*((0.1, 0.3) if kind is TwoRates else (0.5, 1.5)))
    assert first @ reject @ second == pytest.approx(power, abs=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "law"), [((20, 20), DL(scale=2.0)), ((15, 30), DG(sigma=2.0))], ids=str)
def test_size_of_tests_of_two_small_samples(sizes, law):
    assert 0.02 < largest_size(*trial(TwoRates, sizes, law, 1e-6), 1.0) <= 0.05


def test_ratio_of_two_poisson_rates():
    """Without noise, the ratio given the sum of the counts is binomial: an interval of Clopper and Pearson."""
    found = dpm.confidence(dpm.Release({"a": 30, "b": 54}, mechanism=dpm.Exact()))
    row = found.ask({"ratio": ["a", "b"], "exposures": [2.0, 5.0]}).iloc[0]
    share = stats.binomtest(30, 84).proportion_ci(0.95, method="exact")
    odds = np.array([share.low / (1 - share.low), share.high / (1 - share.high)]) * 2.5
    assert np.array([row["lower"], row["upper"]]) == pytest.approx(odds, rel=0.04)


def test_ratio_of_two_noisy_poisson_rates():
    noisy = dpm.confidence(dpm.Release({"a": 30, "b": 54}, mechanism=DL(scale=2.0)))
    ratio = noisy.ask({"ratio": ["a", "b"], "exposures": [2.0, 5.0]}).iloc[0]
    spread = 1.96 * math.sqrt(1 / 30 + 1 / 54 + DL(scale=2.0).variance() * (1 / 30**2 + 1 / 54**2))
    assert math.log(ratio["upper"] / ratio["lower"]) == pytest.approx(2 * spread, rel=0.05)
    assert (ratio["method"], ratio["status"], ratio["error"]) == ("Berger and Boos", "conservative", 0.001001)
    for end, inside in ((ratio["lower"], 1.01), (ratio["upper"], 0.99)):
        assert noisy.test("a = b", exposures=[2.0 * end, 5.0]) <= 0.05 + 1e-6
        assert noisy.test("a = b", exposures=[2.0 * end * inside, 5.0]) > 0.05


def test_a_ratio_of_rates_without_limits():
    few = dpm.confidence(dpm.Release({"a": 5, "b": 0}, mechanism=DL(scale=2.0)))
    assert few.ask({"ratio": ["a", "b"], "exposures": [1, 1]})["upper"].iloc[0] == math.inf
    assert few.ask({"ratio": ["b", "a"], "exposures": [1, 1]})["lower"].iloc[0] == 0


def test_a_total_that_no_rate_explains_is_rejected():
    low = dpm.confidence(dpm.Release({"a": -30, "b": -40}, mechanism=DL(scale=1.0)))
    assert low.test("a = b", sizes=[20, 20]) == low.test("a = b", exposures=[1, 2]) == 0.001


def test_difference_of_two_rates_covers():
    law, n = DL(scale=2.0), (50, 50)
    found = dpm.confidence(dpm.Release({"a": 5, "b": 15}, mechanism=law))
    row = found.ask({"difference": ["a", "b"], "sizes": [50, 50]}).iloc[0]
    wald = 1.96 * math.sqrt(0.1 * 0.9 / 50 + 0.3 * 0.7 / 50 + 2 * law.variance() / 2500)
    assert row["lower"] == pytest.approx(-0.2 - wald, abs=0.05)
    assert row["upper"] == pytest.approx(-0.2 + wald, abs=0.05)
    test = TwoRates((5.0, 15.0), n, (added([(law, 1)]),) * 2)
    assert test.pvalue(row["lower"]) <= 0.05 < test.pvalue(row["lower"] + 0.01)
    assert test.pvalue(row["upper"]) <= 0.05 < test.pvalue(row["upper"] - 0.01)


def test_shares_of_four_cells_by_hand():
    """Shares 30/100 and 20/60, common share 50/160, noise with a variance of its own in every cell."""
    z, sizes, p = _two_shares(np.array([[30.0], [70.0], [20.0], [40.0]]), np.array([4.0, 1.0, 9.0, 2.0]))
    yes, no = 5 / 16, 11 / 16
    noise = (no**2 * 4 + yes**2 * 1) / 100**2 + (no**2 * 9 + yes**2 * 2) / 60**2
    assert z[0] == pytest.approx((1 / 3 - 0.3) / math.sqrt(yes * no * (1 / 100 + 1 / 60) + noise), rel=1e-12)
    assert (sizes[:, 0].tolist(), p[0]) == ([100.0, 60.0], pytest.approx(yes))
    rare = np.array([[2.0, 1.0, -3.0], [98.0, 99.0, 103.0], [0.0, 0.0, 0.0], [100.0, 100.0, 100.0]])
    common = [_two_shares(cells, np.ones(4))[2].tolist() for cells in (rare, rare[[1, 0, 3, 2]])]
    assert common[0] == pytest.approx([0.01, 0.005, 0.005])  # within .005 of the ends
    assert common[1] == pytest.approx([0.99, 0.995, 0.995])


@pytest.mark.parametrize(
    ("y", "shift", "first", "second"),
    [
        ((3, 10), 0.0, 13 / 50 * 37 / 50, 13 / 50 * 37 / 50),  # the common share
        ((-2, 1), 0.0, 0.25 / 50, 0.25 / 50),  # the least variance
        ((3, 10), 0.1, 3.5 / 21 * 17.5 / 21, 10.5 / 31 * 20.5 / 31),
        ((20, 31), -0.2, 0.975 * 0.025, (1 / 60) * (59 / 60)),  # both shares are cut half a record from 1
        ((-4, 10), -0.2, 0.975 * 0.025, 10.5 / 31 * 20.5 / 31),
    ],
)
def test_the_statistic_of_two_rates_by_hand(y, shift, first, second):
    """Samples of 20 and 30 records: p (1 - p) by hand, and noise with a different variance in each count."""
    laws = DG(sigma=3.0), DL(scale=1.0)
    of_noise = [float(p @ x**2) for x, p in (noise(law, 1e-16) for law in laws)]
    spread = math.sqrt(first / 20 + second / 30 + of_noise[0] / 20**2 + of_noise[1] / 30**2)
    sums = tuple(added([(law, 1)]) for law in laws)
    found = TwoRates((3.0, 10.0), (20, 30), sums)._statistic(*map(np.array, map(float, y)), shift)
    assert float(found) == pytest.approx((y[0] / 20 - y[1] / 30 - shift) / spread, rel=1e-9)


@pytest.mark.parametrize(("y", "records"), [((3, 10), 13.0), ((-4, 1), 0.25), ((0, 0), 0.25)])
def test_the_statistic_of_two_poisson_rates_by_hand(y, records):
    """Exposures 2 and 5: the common rate is the sum of both counts, at least a quarter, divided by 7."""
    laws = DG(sigma=3.0), DL(scale=1.0)
    of_noise = [float(p @ x**2) for x, p in (noise(law, 1e-16) for law in laws)]
    spread = math.sqrt(records / 7 * (1 / 2 + 1 / 5) + of_noise[0] / 2**2 + of_noise[1] / 5**2)
    sums = tuple(added([(law, 1)]) for law in laws)
    found = TwoPoissonRates((3.0, 10.0), (2.0, 5.0), sums)._statistic(*map(np.array, map(float, y)))
    assert float(found) == pytest.approx((y[0] / 2 - y[1] / 5) / spread, rel=1e-9)


@pytest.mark.parametrize("poisson", [False, True])
def test_the_first_grid_has_the_excess_that_it_states(poisson):
    """A cell of width w exceeds its ends by w^2 I/8, which is .001 on an even grid of the transformed rate."""
    sample = Sample(3.0, 400.0, added([(DL(scale=2.0), 1)]), poisson=poisson)
    rates = sample.grid(0.2, 0.8, 1000.0)
    information = 1000 / (rates if poisson else rates * (1 - rates))
    excess = np.diff(rates) ** 2 * np.maximum(information[1:], information[:-1]) / 8
    assert (rates[0], rates[-1]) == pytest.approx((0.2, 0.8), rel=1e-14)
    assert excess == pytest.approx(np.full(len(excess), 0.001), rel=0.1)


def test_goodness_of_fit_by_enumeration():
    """Ten records, three rates, exact noise on two counts of the files: the distance in the inverse covariance."""
    rates, law = np.array([0.2, 0.5, 0.3]), DL(scale=1.0)
    x, p = noise(law, 1e-5)
    variance = float(p @ x**2)
    inverse = np.linalg.inv(10 * (np.diag(rates) - np.outer(rates, rates)) + variance * np.eye(3))

    def distance(y):
        gap = y - 10 * rates
        return sum(inverse[i, j] * gap[..., i] * gap[..., j] for i in range(3) for j in range(3))

    own, chance = np.array([5.0, 5.0, 2.0]), 0.0
    noises = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1)
    weights = p[:, None, None] * p[:, None] * p
    for a in range(11):
        for b in range(11 - a):
            file = np.array([a, b, 10 - a - b])
            far = distance(file + noises) >= distance(own) - 1e-9
            chance += stats.multinomial.pmf(file, 10, rates) * weights[far].sum()
    found = goodness_of_fit(own, n=10, rates=rates, law=law, variances=np.array([variance]), rng=stream(7, "fit"))
    assert found == pytest.approx(chance, abs=5 * math.sqrt(chance / 9999))


def test_tests_of_counts_by_hand():
    x, p = noise(DG(sigma=5.0), 1e-16)
    both = np.convolve(p, p)
    at = np.arange(2 * x[0], 2 * x[-1] + 1)
    found = dpm.confidence(dpm.Release({"a": 30, "b": 12, "c d": 16}, mechanism=DG(sigma=5.0)))
    equal = found.test("a = b")
    assert equal == pytest.approx(2 * both[at >= 18].sum(), rel=1e-9)
    assert (equal.method, equal.status) == ("tails", "exact")
    assert "p-value" in repr(equal)
    assert found.test("a = 20") == pytest.approx(2 * p[x >= 10].sum(), rel=1e-9)
    assert found.test("a = 'c d' + 14") == pytest.approx(1.0)
    three = np.convolve(both, p)  # a - b - c d = 2
    at = np.arange(3 * x[0], 3 * x[-1] + 1)
    assert found.test("a = b + 'c d'") == pytest.approx(2 * three[at >= 2].sum(), rel=1e-9)


@pytest.mark.parametrize("noisy", range(3))
def test_goodness_of_fit_with_unequal_noise(noisy):
    """For large counts, the statistic has a chi-squared distribution with 3 degrees of freedom if the noise of each
    count has its own variance; here one is 225 times as large as the others. The p-value has a standard error of 0.005.
    """
    n, rates, sigma = 4000, np.array([0.2, 0.3, 0.5]), np.where(np.arange(3) == noisy, 60.0, 4.0)
    law, gap = DG(sigma=sigma), np.where(np.arange(3) == noisy, 100.0, -20.0)
    covariance = n * (np.diag(rates) - np.outer(rates, rates)) + np.diag(sigma**2)
    expected = stats.chi2.sf(gap @ np.linalg.solve(covariance, gap), 3)
    assert 0.1 < expected < 0.6
    found = goodness_of_fit(
        n * rates + gap, n=n, rates=rates, law=law, variances=law.variance(), rng=stream(noisy, "unequal")
    )
    assert found == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("top", "bottom"), [(1.0, 3.0), (3.0, 1.0)])
@pytest.mark.parametrize("distance", [0.0, 1.0, 4.0, 20.0])
def test_tails_of_a_weighted_difference_of_laplace_noise_are_upper_bounds(top, bottom, distance):
    """P(a N1 - b N2 >= d) = (t^2 exp(-d/t) - s^2 exp(-d/s))/(2 (t^2 - s^2)) for the scales s = a s1 and t = b s2."""
    a, b = 0.6, 0.8
    s, t = a * top, b * bottom
    exact = (t**2 * math.exp(-distance / t) - s**2 * math.exp(-distance / s)) / (2 * (t**2 - s**2))
    sums = [SignedSum(0.0, 0.0, added([(dpm.Laplace(scale=scale), 1)])) for scale in (top, bottom)]
    ratio = Ratio(*sums)
    for found in (ratio._right(a, b, distance), ratio._left(a, b, -distance)):
        assert exact <= found <= 1.02 * exact


def test_goodness_of_fit_has_its_level():
    """Given the rates, the p-value is uniform on 1/10,000 steps: 60 draws, false alarm below 1e-4."""
    rng, law, rates = stream(3, "goodness of fit"), DL(scale=2.0), {"a": 0.4, "b": 0.3, "c": 0.3}
    found = []
    for _ in range(60):
        y = law.sample(rng.multinomial(100, list(rates.values())), rng=rng)
        release = dpm.Release(dict(zip("abc", y.tolist(), strict=True)), mechanism=law, total=100)
        found.append(dpm.confidence(release).test(rates, rng=rng))
    assert stats.kstest(found, "uniform").pvalue > 1e-4
    far = dpm.Release({"a": 10, "b": 30, "c": 60}, mechanism=law, total=100)
    assert dpm.confidence(far).test(rates, rng=rng) < 0.001


def test_four_noisy_cells_by_a_bootstrap():
    rng, law = stream(4, "four cells"), DL(scale=2.0)
    found = []
    for _ in range(60):
        yes = rng.binomial(50, 0.3, 2)
        cells = law.sample(np.array([yes[0], 50 - yes[0], yes[1], 50 - yes[1]]), rng=rng)
        release = dpm.Release(dict(zip(("a", "na", "b", "nb"), cells.tolist(), strict=True)), mechanism=law)
        found.append(dpm.confidence(release).test("a = b", rest=("na", "nb"), rng=rng))
    assert stats.kstest(found, "uniform").pvalue > 1e-4
    assert found[0].status == "approximate"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.ask({"rank": ["a", "b"]}), ValueError, "got rank: for a rank, use posterior"),
        (lambda c: c.ask({"q": {"sum": ["a", "x"]}}), KeyError, "q: unknown name 'x'"),
        (lambda c: c.ask({"difference": ["a", "a"]}), ValueError, "a count must not occur twice"),
        (lambda c: c.ask({"difference": ["a"]}), ValueError, "difference requires two sides"),
        (lambda c: c.ask({"ratio": ["a", "b"], "sizes": [3, 4]}), ValueError, "only for a difference of rates"),
        (lambda c: c.ask({"difference": ["a", "b"], "sizes": [3.5, 4]}), TypeError, "must be an integer, got 3.5"),
        (lambda c: c.ask({"difference": ["a", "b"], "sizes": [30, 40]}, level=0.9995), ValueError, "below 0.999"),
        (lambda c: c.ask({"sum": ["a", "b"], "exposures": [3, 4]}), ValueError, "only for a ratio of rates, got sum"),
        (lambda c: c.ask({"ratio": ["a", "b"], "exposures": [3]}), ValueError, "must contain two numbers, the public"),
        (lambda c: c.ask({"ratio": ["a", "b"], "exposures": [3, 0]}), ValueError, "must be finite and > 0, got 0"),
        (lambda c: c.ask({"ratio": ["a", "b"], "exposures": [3, 1]}, level=0.9995), ValueError, "below 0.999"),
        (lambda c: c.test("a = b", exposures=[3, 1], sizes=[4, 5]), ValueError, "only one of .* got sizes, exposures"),
        (lambda c: c.test("a = 3", exposures=[4, 5]), ValueError, "if exposures is given, the hypothesis must compare"),
        (lambda c: c.ask("a - b"), TypeError, "questions must be a mapping"),
        (lambda c: c.test("a > b"), ValueError, "a hypothesis must be an equation"),
        (lambda c: c.test("2 * a = b"), ValueError, "a hypothesis must be an equation"),
        (lambda c: c.test({"a": 0.5, "b": 0.5}), ValueError, r"pass Release\(.., total=\)"),
        (lambda c: c.test("a = 3", sizes=[4, 5]), ValueError, "must compare two samples"),
        (lambda c: c.test("a = b", rest=("a", "b"), rng=np.random.default_rng(1)), ValueError, "not in the hypothesis"),
    ],
)  # fmt: skip
def test_bad_questions(call, error, words):
    with pytest.raises(error, match=words):
        call(dpm.confidence(dpm.Release({"a": 10, "b": 20}, mechanism=DL(scale=2.0))))


def test_sums_of_rounded_counts_by_hand():
    """Base 10: at level .95^(1/2) every count within 9 is accepted, because the last one has probability 1/10."""
    found = dpm.confidence(dpm.Release({"a": 60, "b": 30}, mechanism=dpm.RandomRounding(10)))
    rows = found.ask({"s": {"sum": ["a", "b"]}, "d": {"difference": ["a", "b"]}})
    assert rows[["lower", "upper"]].to_numpy().tolist() == [[72, 108], [12, 48]]
    questions = {"s": {"sum": ["a", "b"]}, "d": {"difference": ["a", "b"]}, "r": {"ratio": ["a", "b"]}}
    rows = found.ask(questions, level=0.45)  # .45^(1/2) = .67: counts with a probability above .33 are within 6
    assert rows[["lower", "upper"]].to_numpy().tolist() == [[78, 102], [18, 42], [54 / 36, 66 / 24]]


def test_ratios_of_rounded_counts_by_hand():
    """Base 10: at level .95^(1/4) at least, every count within 9 is accepted."""
    found = dpm.confidence(dpm.Release({"a": 60, "b": 30, "c": 0}, mechanism=dpm.RandomRounding(10)))
    rows = found.ask({"one": {"ratio": ["a", "b"]}, "two": {"ratio": ["b", ["a", "c"]]}, "none": {"ratio": ["a", "c"]}})
    assert rows["lower"].to_numpy() == pytest.approx([51 / 39, 21 / (69 + 9), 51 / 9])
    assert rows["upper"].to_numpy() == pytest.approx([69 / 21, 39 / 51, math.inf])
    assert rows["method"].tolist() == ["ratio of simultaneous intervals"] * 3
    assert rows["status"].tolist() == ["conservative"] * 3


@pytest.mark.parametrize(
    ("values", "question", "ends"),
    [  # the noise is within 3 at 95 %
        ((2, 1), {"sum": ["a", "b"]}, (0, 6)),
        ((1, 9), {"difference": ["a", "b"]}, (-10, -5)),
        ((15, 12), {"sum": ["a", "b"]}, (20, 20)),
        ((-6, -4), {"sum": ["a", "b"]}, (0, 0)),
        ((-20, 9), {"difference": ["a", "b"]}, (-10, -10)),
        ((30, 0), {"difference": ["a", "b"]}, (10, 10)),
    ],
)
def test_sums_keep_to_the_bounds_of_their_counts(values, question, ends):
    """Counts from 0 to 10, and noise of sigma 1: the sum of two has P(N >= 4) = .0064 and P(N >= 3) = .039."""
    release = dpm.Release(dict(zip("ab", values, strict=True)), mechanism=DG(sigma=1.0), bounds=(0, 10))
    row = dpm.confidence(release).ask(question).iloc[0]
    assert (row["lower"], row["upper"]) == ends


@pytest.mark.parametrize("law", [DL(scale=3000.0), DG(sigma=4000.0)], ids=str)
def test_tails_of_wide_noise_are_bounds(law):
    """The lattice has a step of several units: tails are at least the exact ones, and at most those a slack nearer."""
    found = added([(law, 1)])
    assert found.step == math.ceil(float(law.halfwidth(36.0)) / 2**13)
    assert found.slack == found.step - 1
    at = np.array([-9000.0, -1.0, 0.0, 1.0, 17.0, 500.0, 4000.0, 20_000.0])
    exact, nearer = (
        np.exp(law.log_within(x, np.full(8, np.inf), law.by_row(np.zeros(())))) for x in (at, at - found.slack)
    )
    for tails in (found.right(at), found.left(-at)):
        assert (tails >= exact - 1e-12).all()
        assert (tails <= nearer * (1 + 1e-9) + found.lost).all()
    for side in ("right", "left"):
        h = found.largest(0.025, side)
        ends = np.exp(
            law.log_within(np.array([h + 1, h - 2 * found.step]), np.full(2, np.inf), law.by_row(np.zeros(())))
        )
        assert ends[0] <= 0.025 < ends[1]


THREE = {"a": 30, "b": 12, "c": 16}


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ({"sum": ["a", "b", "c"]}, "a + b + c"),
        ({"sum": "c"}, "c"),
        ({"difference": [["a", "c"], "b"]}, "a + c - b"),
        ({"ratio": ["b", ["a", "c"]]}, "b / a + c"),
    ],
)
def test_a_question_without_a_label_is_named_after_its_counts(question, name):
    found = dpm.confidence(dpm.Release(THREE, mechanism=DG(sigma=1.0)))
    assert found.ask({"": question})["quantity"].tolist() == [name]
    assert found.ask({"q": question, "r": question})["quantity"].tolist() == ["q", "r"]


@pytest.mark.parametrize(
    ("law", "question", "status"),
    [
        (DG(sigma=1.0), {"sum": ["a", "b"]}, "exact"),
        (DG(sigma=1.0).rounded(2), {"sum": ["a", "b"]}, "conservative"),
        (dpm.Laplace(scale=1.0), {"difference": ["a", "b"]}, "conservative"),
        (DG(sigma=1.0), {"ratio": ["a", "b"]}, "exact"),
        (DG(sigma=1.0).rounded(2), {"ratio": ["a", "b"]}, "conservative"),
        ([DG(sigma=1.0), DG(sigma=1.0).rounded(3), DG(sigma=1.0)], {"ratio": ["a", "b"]}, "conservative"),
        ([DG(sigma=1.0).rounded(3), DG(sigma=1.0), DG(sigma=1.0)], {"ratio": ["a", "b"]}, "conservative"),
        ([dpm.Laplace(scale=1.0), DG(sigma=1.0), DG(sigma=1.0)], {"ratio": ["b", "a"]}, "conservative"),
        ([dpm.Laplace(scale=1.0), DG(sigma=1.0), DG(sigma=1.0)], {"ratio": ["a", "b"]}, "conservative"),
        ([dpm.RandomRounding(2), DG(sigma=1.0), DG(sigma=1.0)], {"ratio": ["a", "b"]}, "conservative"),
    ],
)
def test_an_answer_is_exact_if_every_noisy_value_is_known(law, question, status):
    found = dpm.confidence(dpm.Release(THREE, mechanism=law)).ask(question)
    assert found["status"].tolist() == [status]
    assert found["type"].tolist() == ["question"]
    assert found["level"].tolist() == [0.95]


@pytest.mark.parametrize(
    ("values", "question", "ends"),
    [  # every sum is within 4 of its noisy value
        ((15, 9, 0), {"sum": ["a", "b"]}, (10, 10)),
        ((-1, 9, 12), {"difference": ["a", ["b", "c"]]}, (-10, -10)),
        ((9, 12, -1), {"difference": [["a", "b"], "c"]}, (10, 10)),
    ],
)
def test_sums_keep_to_the_public_total(values, question, ends):
    release = dpm.Release(dict(zip("abc", values, strict=True)), mechanism=DG(sigma=1.0), total=10)
    row = dpm.confidence(release).ask(question).iloc[0]
    assert (row["lower"], row["upper"]) == ends


@pytest.mark.parametrize(("a", "b", "share"), [(30, -50, 30.0), (-50, 30, 0.0)])
def test_a_ratio_that_no_counts_explain_is_the_nearest(a, b, share):
    """A negative numerator is replaced by 0, and a negative denominator by 1."""
    found = dpm.confidence(dpm.Release({"a": a, "b": b}, mechanism=DG(sigma=1.0)))
    row = found.ask({"ratio": ["a", "b"]}).iloc[0]
    method = "Fieller: no ratio fits at this level"
    assert (row["lower"], row["upper"], row["method"]) == (share, share, method)
    assert found._ratio([0], [1], 0.95)[-1] == "no ratio fits at this level"


def test_a_sum_between_two_integers_has_the_nearer_one():
    """Noise of at most .003: no integer is near 10.4 + 5, 10.4 - 5 or 10.4 + 5.2, and the nearest are 15, 5 and 16."""
    found = dpm.confidence(dpm.Release({"a": 10.4, "b": 5.0, "c": 5.2}, mechanism=dpm.Gaussian(sigma=0.001)))
    rows = found.ask({"both": {"sum": ["a", "b"]}, "more": {"difference": ["a", "b"]}, "up": {"sum": ["a", "c"]}})
    assert rows[["lower", "upper"]].to_numpy().tolist() == [[15, 15], [5, 5], [16, 16]]
    assert rows["method"].tolist() == [f"tails: no value fits at this level; the nearest is {n}" for n in (15, 5, 16)]


def test_a_ratio_with_denominator_0_is_not_a_large_number():
    found = dpm.confidence(dpm.Release({"a": 3, "b": 0}, mechanism=dpm.Exact()))
    row = found.ask({"ratio": ["a", "b"]}).iloc[0]
    method = "Fieller: no finite ratio fits at this level"
    assert (row["lower"], row["upper"], row["method"]) == (math.inf, math.inf, method)


def test_a_difference_of_rates_that_no_counts_explain():
    """Both rates are in [0, 1], and -30 of 50 and 90 of 60 are not; (-30/50) - 90/60 = -2.1 is replaced by -1."""
    found = dpm.confidence(dpm.Release({"a": -30, "b": 90}, mechanism=DL(scale=1.0)))
    row = found.ask({"difference": ["a", "b"], "sizes": [50, 60]}).iloc[0]
    method = "Berger and Boos: no difference fits at this level"
    assert (row["lower"], row["upper"], row["method"]) == (-1, -1, method)
    assert row["error"] == pytest.approx(0.001 + 1e-6, rel=1e-9)  # the level of the set of rates, and the excess


def test_a_p_value_below_the_rounding_of_tails_is_a_bound():
    found = dpm.confidence(dpm.Release({"a": 100, "b": 3}, mechanism=DL(scale=1.0)))  # 2 P(N >= 97) < 1e-41
    assert repr(found.test("a = 3")) == "p-value below 1e-12 of a = 3 (tails, exact)"


@pytest.mark.parametrize(("a", "ratio"), [(-30, 2.5), (8, 40.0)])
def test_a_ratio_of_rates_that_no_counts_explain(a, ratio):
    """Half a record replaces a negative count: (.5/2)/(.5/5) = 2.5 and (8/2)/(.5/5) = 40."""
    found = dpm.confidence(dpm.Release({"a": a, "b": -40}, mechanism=DL(scale=1.0)))
    row = found._ratio_of_rates([[0], [1]], [2.0, 5.0], 0.95)
    assert row == (ratio, ratio, 0.95, "Berger and Boos", "conservative", 0.001001, "no ratio fits at this level")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.ask({"q": {}}), ValueError, "^q: .*exactly one of the keys sum, difference, ratio, got nothing$"),
        (lambda c: c.ask({"sum": ["a"], "ratio": ["a", "b"]}), ValueError, "^a question .*, got sum and ratio$"),
        (lambda c: c.ask({"q": {"mean": ["a"]}}), ValueError, "^q: .*, got mean$"),
        (lambda c: c.ask({"q": 3}), TypeError, "^q: a question must be a mapping such as .*, got 3$"),
        (lambda c: c.ask({"sum": []}), TypeError, r"must be a name or a list of names, got \[\]$"),
        (lambda c: c.ask({"sum": ["a", "b", "a"]}), ValueError, "^sum: a count must not occur twice"),
        (lambda c: c.ask({"difference": ["a", "b", "c"]}), ValueError, "^difference requires two sides"),
        (lambda c: c.ask({"q": {"ratio": "ab"}}), ValueError, "^q: ratio requires two sides .*, got 'ab'$"),
        (lambda c: c.ask({"difference": ["a", "b"], "sizes": [3]}), ValueError, r"sizes must contain two .*\[3\]$"),
        (lambda c: c.ask({"difference": ["a", "b"], "sizes": "34"}), ValueError, "sizes must contain two .* got '34'$"),
        (lambda c: c.ask({"difference": ["a", "b"], "sizes": [0, 4]}), ValueError, "sizes must be >= 1, got 0"),
        (lambda c: c.ask({"ratio": ["a", "b"], "exposures": "34"}), ValueError, "exposures must contain two .* '34'"),
        (lambda c: c.ask({"difference": ["a", "b"], "sizes": [30, 40]}, level=0.999), ValueError,
         "^level must be below 0.999 for a difference of rates, got 0.999$"),
        (lambda c: c.ask({"ratio": ["a", "b"], "exposures": [1, 1]}, level=0.999), ValueError,
         "^level must be below 0.999 for a ratio of rates, got 0.999$"),
        (lambda c: c.test("a = b", sizes=[40, 40], rest=("b", "c")), ValueError, "only one of .*, got sizes, rest$"),
        (lambda c: c.test("a + b = 3", sizes=[4, 5]), ValueError, "if sizes is given, the hypothesis must compare"),
        (lambda c: c.test("a = b + 1", sizes=[4, 5]), ValueError, "if sizes is given, the hypothesis must compare"),
        (lambda c: c.test("a = b", rest="cc"), ValueError, "rest must contain two names, one per sample, got 'cc'"),
        (lambda c: c.test("a = b", rest=("c",)), ValueError, "rest must contain two names, one per sample"),
        (lambda c: c.test("a + b = c", rest=("a", "b")), ValueError, "each side of the hypothesis must be a single"),
        (lambda c: c.test("a = b", rest=("c", "c")), ValueError, "two counts that are not in .*, got c, c$"),
        (lambda c: c.test("a = a"), ValueError, "a hypothesis must be an equation between sums of different counts"),
    ],
)  # fmt: skip
def test_more_bad_questions(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call(dpm.confidence(dpm.Release(THREE, mechanism=DG(sigma=1.0))))
    assert "rank depends" not in str(caught.value)


@pytest.mark.parametrize(
    ("law", "total", "call", "words"),
    [
        (
            dpm.Laplace(scale=1.0),
            None,
            lambda c: c.test("a = b", sizes=[40, 40]),
            "^sizes: an exact test of two rates requires integer-valued noise",
        ),
        (
            dpm.Laplace(scale=1.0),
            None,
            lambda c: c.test("a = b", exposures=[1, 1]),
            "^exposures: an exact test of two rates requires integer-valued noise",
        ),
        (DG(sigma=5e4), None, lambda c: c.test("a = b", sizes=[40, 40]), "^sizes: the noise .* is too large for an"),
        ([DG(sigma=5e4), *[DG(sigma=1.0)] * 2], None, lambda c: c.test("a = b", sizes=[40, 40]), "is too large for"),
        ([DG(sigma=1.0), *[DG(sigma=5e4)] * 2], None, lambda c: c.test("a = b", sizes=[40, 40]), "is too large for"),
        (dpm.RandomRounding(2), None, lambda c: c.test("a = b"), "is not available .*: test each count sep"),
        (dpm.RandomRounding(2), None, lambda c: c.test("a = b", rest=("c", "a")), "rest may be given only for counts"),
        (
            DL(scale=1.0).rounded(2),
            60,
            lambda c: c.test({"a": 1.0}),
            "requires counts that are not rounded or withheld",
        ),
        (DL(scale=1.0), 60, lambda c: c.test({"a": 0.5, "b": 0.5}), "for each of a, b, c, got rates for a, b$"),
        (DL(scale=1.0), 60, lambda c: c.test({"a": 0.5, "b": 0.5, "c": 1.2e-9}), "rates must sum to 1, got 1$"),
        (DL(scale=1.0), 60, lambda c: c.test({"a": 0.5, "b": 0.5, "c": 0.25}), "rates must sum to 1, got 1.25$"),
        (DL(scale=1.0), 60, lambda c: c.test({"a": 0.25, "b": 0.5, "c": 0.0}), "rates must sum to 1, got 0.75$"),
    ],
)
def test_tests_that_the_noise_or_the_total_does_not_allow(law, total, call, words):
    with pytest.raises(ValueError, match=words):
        call(dpm.confidence(dpm.Release(THREE, mechanism=law, total=total)))


def test_rates_may_add_up_to_one_within_a_billionth():
    found = dpm.confidence(dpm.Release(THREE, mechanism=DL(scale=1.0), total=58))
    value = found.test({"a": 0.5, "b": 0.2, "c": 0.3 - 9e-10}, rng=stream(1, "rates"))
    assert (value.hypothesis, value.method, value.status) == ("the given rates", "Monte Carlo, 9,999 draws", "exact")


def test_a_bootstrap_takes_the_noise_of_its_four_counts():
    """The fifth count has so much noise that no difference would be detected with it."""
    laws = [DL(scale=1e4), *[DL(scale=0.1)] * 4]
    values = {"other": 0, "a": 90, "na": 10, "b": 10, "nb": 90}
    found = dpm.confidence(dpm.Release(values, mechanism=laws)).test("a = b", rest=("na", "nb"), rng=stream(1, "four"))
    assert found == 1e-4  # no draw of 9,999 is as far
    assert (found.hypothesis, found.method) == ("a = b (rates)", "parametric bootstrap, 9,999 draws")


def test_a_pvalue_is_a_number_in_the_unit_interval_with_a_description():
    for given, value in ((-1e-17, 0.0), (0.0, 0.0), (0.25, 0.25), (1.0, 1.0), (1 + 1e-15, 1.0)):
        assert float(PValue(given)) == value
    one = PValue(0.01234567, "a = b", "tails", "conservative")
    assert repr(one) == "p-value 0.01235 of a = b (tails, conservative)"
    again = pickle.loads(pickle.dumps(one))
    assert (float(again), repr(again), PValue(0.5).status) == (float(one), repr(one), "exact")


def test_a_question_states_that_no_value_fits_and_has_no_negative_zero():
    noise = DL(scale=2.0)
    (row,) = dpm.confidence(dpm.Release({"a": -30, "b": 5}, mechanism=noise)).ask({"sum": ["a", "b"]}).itertuples()
    assert (row.lower, row.upper) == (0.0, 0.0)
    assert row.method.startswith("tails: no ")
    (row,) = (
        dpm.confidence(dpm.Release({"a": 21, "b": 9}, mechanism=DL(scale=3.0)))
        .ask({"difference": ["a", "b"]})
        .itertuples()
    )  # 12 - 12 to 12 + 12
    assert (str(row.lower), row.upper, row.method) == ("0.0", 24.0, "tails")


@pytest.mark.parametrize(("number", "shown"), [(9, 9), (10, 10), (11, 10)])
def test_ten_remarks_are_shown_above_the_table(number, shown):
    found = dpm.confidence(dpm.Release([-50.0] * number, mechanism=DL(scale=1.0)))
    lines = repr(found).splitlines()
    assert lines[0] == "95 % confidence intervals, without a prior"
    assert lines[1 : shown + 1] == [f"{i + 1}: no count fits at this level; the nearest is 0" for i in range(shown)]
    more = [".. (1 more remark)"] if number > shown else []
    assert lines[shown + 1 : shown + 1 + len(more)] == more
    assert lines[shown + 1 + len(more)].split() == [
        "quantity",
        "type",
        "lower",
        "upper",
        "coverage",
        "method",
        "status",
    ]


@pytest.mark.parametrize(("number", "rows"), [(24, 24), (25, 24)])
def test_a_printed_table_has_at_most_twenty_four_rows(number, rows):
    found = dpm.confidence(dpm.Release([9.0] * number, mechanism=DL(scale=1.0)))
    assert repr(found).count(" count ") == rows


@pytest.mark.parametrize(("number", "rows"), [(60, 60), (61, 60)])
def test_a_table_in_html_has_at_most_sixty_rows(number, rows):
    text = dpm.confidence(dpm.Release([9.0] * number, mechanism=DL(scale=1.0)))._repr_html_()
    assert text.count("<td>count</td>") == rows
    assert "<th>0</th>" not in text  # rows have no number
