"""Sums, differences, ratios and tests: coverage and sizes by sums over all noise, p-values by hand."""

import math

import numpy as np
import pytest
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._confidence.hypotheses import TwoRates, _two_shares
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


def sizes_of(n, law):
    """Largest probability, over 600 equal rates off the grid, that the p-value of the release is at most .05."""
    x, p = noise(law, 1e-6)
    sums = added([(law, 1)])
    y = [np.arange(x[0], size + x[-1] + 1) for size in n]
    z = (y[0][:, None] / n[0] - y[1] / n[1]) / math.sqrt(0.25 / n[0] + 0.25 / n[1])
    reject = np.zeros(z.shape, dtype=bool)
    for i, j in np.argwhere(np.abs(z) > 0.8):  # all others have p-values far above
        reject[i, j] = TwoRates((float(y[0][i]), float(y[1][j])), n, (sums, sums)).pvalue() <= 0.05
    found = []
    for rate in np.random.default_rng(2).uniform(0, 1, 600):
        first, second = (np.convolve(stats.binom.pmf(np.arange(size + 1), size, rate), p) for size in n)
        found.append(first @ reject @ second)
    return max(found)


@pytest.mark.thorough
def test_size_of_the_test_of_two_rates():
    assert 0.02 < sizes_of((6, 7), DL(scale=0.4)) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("n", "law"), [((20, 20), DL(scale=2.0)), ((15, 30), DG(sigma=2.0))], ids=str)
def test_size_of_larger_tests_of_two_rates(n, law):
    assert 0.02 < sizes_of(n, law) <= 0.05


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


@pytest.mark.slow
def test_power_at_the_sizes_of_an_independent_study():
    """Power at rates .1 and .3 with 50 records and noise DL 2, by sums over releases: .393 in an independent study."""
    n, law = (50, 50), DL(scale=2.0)
    x, p = noise(law, 1e-4)
    sums = added([(law, 1)])
    y = np.arange(x[0], 50 + x[-1] + 1)
    first, second = (np.convolve(stats.binom.pmf(np.arange(51), 50, rate), p) for rate in (0.1, 0.3))
    power = total = 0.0
    for i, j in np.argwhere(np.multiply.outer(first, second) > 2e-4):
        weight = first[i] * second[j]
        power += weight * (TwoRates((float(y[i]), float(y[j])), n, (sums, sums)).pvalue() <= 0.05)
        total += weight
    assert power / total == pytest.approx(0.393, abs=0.03)


def test_shares_of_four_cells_by_hand():
    """Shares 30/100 and 20/50, common share 1/3, noise of variance 4 in every cell."""
    z, sizes, p = _two_shares(np.array([[30.0], [70.0], [20.0], [30.0]]), np.array([4.0, 4.0, 4.0, 4.0]))
    variance = (1 / 3) * (2 / 3) * (1 / 100 + 1 / 50) + 4 * (4 / 9 + 1 / 9) * (1 / 100**2 + 1 / 50**2)
    assert z[0] == pytest.approx(0.1 / math.sqrt(variance), rel=1e-12)
    assert (sizes[:, 0].tolist(), p[0]) == ([100.0, 50.0], pytest.approx(1 / 3))


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
        (lambda c: c.ask({"rank": ["a", "b"]}), ValueError, "a rank is chosen after looking at the data"),
        (lambda c: c.ask({"q": {"sum": ["a", "x"]}}), KeyError, "q: unknown name 'x'"),
        (lambda c: c.ask({"difference": ["a", "a"]}), ValueError, "each count may be named only once"),
        (lambda c: c.ask({"difference": ["a"]}), ValueError, "difference requires two sides"),
        (lambda c: c.ask({"ratio": ["a", "b"], "sizes": [3, 4]}), ValueError, "only for a difference of rates"),
        (lambda c: c.ask({"difference": ["a", "b"], "sizes": [3.5, 4]}), TypeError, "must be an integer, got 3.5"),
        (lambda c: c.ask({"difference": ["a", "b"], "sizes": [30, 40]}, level=0.9995), ValueError, "below 0.999"),
        (lambda c: c.ask("a - b"), TypeError, "questions must be a mapping"),
        (lambda c: c.test("a > b"), ValueError, "a hypothesis must be an equation"),
        (lambda c: c.test("2 * a = b"), ValueError, "a hypothesis must be an equation"),
        (lambda c: c.test({"a": 0.5, "b": 0.5}), ValueError, r"pass Release\(.., total=\)"),
        (lambda c: c.test("a = 3", sizes=[4, 5]), ValueError, "must compare two samples"),
        (lambda c: c.test("a = b", rest=("a", "b"), rng=np.random.default_rng(1)), ValueError, "two other counts"),
    ],
)  # fmt: skip
def test_bad_questions(call, error, words):
    with pytest.raises(error, match=words):
        call(dpm.confidence(dpm.Release({"a": 10, "b": 20}, mechanism=DL(scale=2.0))))
