"""Tests of tails of shares by arithmetic with 50 digits, and of mixtures of Beta distributions by their moments."""

from functools import cache

import mpmath
import numpy as np
import pytest
from scipy.special import betainc, expit
from scipy.stats import beta

from dpmultinomial._posteriors.counts import beta_mixtures, dirichlet_mixture, laplace_multinomial, share_law
from dpmultinomial._posteriors.swapping import log_odds
from dpmultinomial._seeding import stream

mpmath.mp.dps = 50
CASES, FAST = 320, 40
LEAST = 1e-15


def convolved(first, second, size):
    return [sum(first[i] * second[n - i] for i in range(n + 1)) for n in range(size)]


@cache
def case(number):
    """Return a random release: noisy counts, total, scale and prior, and the categories of the share."""
    rng = stream(7, "deep", number)
    k = int(rng.choice([2, 3, 4, 6]))
    total = int(rng.choice([1, 3, 14, 40, 90] if k < 4 else [2, 9, 25]))
    scale = float(10 ** rng.uniform(-4, 2))
    alpha = np.round(10 ** rng.uniform(-1, 1, k), 3) if rng.random() < 0.7 else np.ones(k)
    noisy = np.round(rng.multinomial(total, rng.dirichlet(np.ones(k))) + min(scale, 50) * rng.laplace(size=k), 3)
    among = None if total > 14 or k == 2 or rng.random() < 0.6 else tuple(range(k - 1))
    return noisy, total, scale, alpha, among


def enumerated(noisy, total, scale, alpha, among):
    """Return Beta components (a, b, weight) of the share of category 0, from the model, with 50 digits."""
    factors = [
        [mpmath.gamma(mpmath.mpf(a) + n) / mpmath.factorial(n) * mpmath.exp(-abs(mpmath.mpf(y) - n) / mpmath.mpf(scale))
         for n in range(total + 1)]
        for y, a in zip(noisy.tolist(), alpha.tolist(), strict=True)
    ]  # fmt: skip
    group = range(len(alpha)) if among is None else among
    ones = [mpmath.mpf(1)] + [mpmath.mpf(0)] * total
    theirs, rest = ones, ones
    for i in range(1, len(alpha)):
        if i in group:
            theirs = convolved(theirs, factors[i], total + 1)
        else:
            rest = convolved(rest, factors[i], total + 1)
    a, b = mpmath.mpf(alpha[0]), sum(mpmath.mpf(alpha[i]) for i in group if i)
    weights = {
        (s, t): factors[0][s] * theirs[t] * rest[total - s - t]
        for s in range(total + 1) for t in range(total + 1 - s) if rest[total - s - t]
    }  # fmt: skip
    whole = sum(weights.values())
    return [(a + s, b + t, w / whole) for (s, t), w in weights.items() if w / whole > mpmath.mpf(10) ** -40]


def tail(parts, x, upper):
    """Return P(share <= x), or P(share > x), with 50 digits."""
    x = mpmath.mpf(float(x))
    if upper:
        parts, x = [(b, a, w) for a, b, w in parts], 1 - x
    return sum(w * mpmath.betainc(a, b, 0, x, regularized=True) for a, b, w in parts)


def off(parts, x, level, upper, found):
    """Return the relative error of the tail at x, `found`, unless the neighbouring float64 are not better."""
    wanted = 1 - mpmath.mpf(level) if upper else mpmath.mpf(level)
    if abs(found / wanted - 1) > dirichlet_mixture.ERROR:
        side = 0.0 if (found > wanted) != upper else 1.0
        other = tail(parts, np.nextafter(x, side), upper)
        if (other > wanted) != (found > wanted):
            return 0.0
    return float(abs(found / wanted - 1))


@cache
def errors(number):
    """Return the relative errors of one case: of a lower and an upper quantile, of cdf and of sf."""
    noisy, total, scale, alpha, among = case(number)
    law = laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=alpha).beta(0, among)
    parts = enumerated(noisy, total, scale, alpha, among)
    rng, found = stream(8, "levels", number), []
    for upper in (False, True):
        q = float(10 ** rng.uniform(np.log10(LEAST), np.log10(0.5)))
        level = 1 - q if upper else q
        x = float(law.quantile(level))
        exact = tail(parts, x, upper)
        found.append(off(parts, x, level, upper, exact))
        found.append(float(abs((law.sf(x) if upper else law.cdf(x)) / exact - 1)) if exact > 1e-300 else 0.0)
    return found


def check(numbers):
    found = np.array([errors(number) for number in numbers])
    quantiles, probabilities = found[:, [0, 2]].max(), found[:, [1, 3]].max()
    assert dirichlet_mixture.ERROR / 10 < quantiles <= dirichlet_mixture.ERROR  # a bound ten times smaller is wrong
    assert dirichlet_mixture.CDF_ERROR / 10 < probabilities <= dirichlet_mixture.CDF_ERROR


def test_deep_quantiles_of_shares_are_right_to_the_stated_error():
    check(range(FAST))


@pytest.mark.slow
def test_deep_quantiles_of_more_shares_are_right_to_the_stated_error():
    check(range(CASES))


def test_the_ends_of_a_beta_law_are_solved():
    """Check one certain count of 14: Beta(15, 1), whose quantiles are q^(1/15)."""
    law = laplace_multinomial.exact([-766.1, 418.7], total=14, scale=1.3e-4, alpha=1.0).beta(1, None)
    for q in (1e-12, 1e-15, 1e-9, 1e-6, 0.3, 1 - 1e-9, 1 - 1e-15):
        assert float(law.quantile(q)) == pytest.approx(float(mpmath.mpf(q) ** (mpmath.mpf(1) / 15)), rel=1e-12)


def interpolated(number):
    """Return the largest relative error of the tails of one interpolated share, divided by the stated error."""
    noisy, total, scale, alpha, among = case(number)
    mixture = laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=alpha)
    others = [i for i in range(1, len(alpha)) if among is None or i in among]
    law = mixture.counts.interpolated(0, others, alpha=float(alpha[0]), beta=float(alpha[others].sum()))
    parts, worst = enumerated(noisy, total, scale, alpha, among), 0.0
    for q in (1e-15, 1e-11, 1e-7, 1e-3, 0.2, 0.45):
        for upper in (False, True):
            level = 1 - q if upper else q
            wanted = 1 - mpmath.mpf(level) if upper else mpmath.mpf(level)
            x = float(law.quantile(level))
            exact = tail(parts, x, upper)
            spacing = float(abs(tail(parts, np.nextafter(x, 0.5), upper) / exact - 1))
            logs = law.logsf(x) if upper else law.logcdf(x)
            worst = max(worst, float(abs(exact / wanted - 1)) - spacing, abs(float(logs - mpmath.log(exact))))
    return worst / law.error


SHARES = (0, 4, 13, 16, 26)


def test_interpolated_shares_are_right_to_the_error_they_state():
    assert max(interpolated(number) for number in SHARES) <= 1


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_roughly_interpolated_shares_state_their_error(tolerance, monkeypatch):
    """Check that the stated error is met, and a tenth of it is not."""
    monkeypatch.setattr(share_law, "_FINE", tolerance)
    assert 0.1 < max(interpolated(number) for number in SHARES) <= 1


LOG_ODDS = 60


def log_odds_tail(a, weights, x, upper):
    """Return P(X <= x) or P(X > x) of a mixture of log odds ratios: the sum of two independent logits of Beta
    variables, with the density of one and the tail of the other by the trapezoid rule (error exp(-2 (pi sd/h)^2))."""
    rows = a if upper else a[:, [1, 0, 3, 2]]
    x = mpmath.mpf(x) if upper else -mpmath.mpf(x)
    return sum(
        mpmath.mpf(w) * _upper(*map(mpmath.mpf, r), x) for r, w in zip(rows.tolist(), weights.tolist(), strict=True)
    )


def _upper(a, b, c, d, x):
    step, constant = mpmath.mpf(0.4) / mpmath.sqrt(1 + a + b + c + d), mpmath.beta(c, d) * mpmath.beta(b, a)

    def term(i):
        y = i * step
        density = mpmath.exp(d * y - (c + d) * mpmath.log1p(mpmath.exp(y))) / constant
        return density * mpmath.betainc(b, a, 0, 1 / (1 + mpmath.exp(x - y)))

    best = _largest(*map(float, (a, b, c, d, x, step)))
    total = largest = term(best)
    for side in (-1, 1):
        i = best + side
        while (part := term(i)) > 1e-15 * largest:
            total, largest, i = total + part, max(largest, part), i + side
    return total * step


def _largest(a, b, c, d, x, step):
    """Return the approximate position of the largest term; the start of a sum does not change its value."""
    i = np.arange(-1000, 1001, 20)
    y = i * step
    with np.errstate(divide="ignore"):
        return int(i[np.argmax(d * y - (c + d) * np.logaddexp(0, y) + np.log(betainc(b, a, expit(y - x))))])


@cache
def log_odds_errors(number):
    rng = stream(9, "odds", number)
    size = int(rng.integers(1, 4))
    a, weights = 10 ** rng.uniform(-0.4, 1.8, (size, 4)), rng.dirichlet(np.ones(size))
    law, found = log_odds.LogOddsMixture(a, weights), []
    for upper in (False, True):
        q = float(10 ** rng.uniform(np.log10(LEAST), np.log10(0.5)))
        level = 1 - q if upper else q
        x = float(law.quantile(level))
        exact = log_odds_tail(a, weights, x, upper)
        wanted = 1 - mpmath.mpf(level) if upper else mpmath.mpf(level)
        found += [float(abs(exact / wanted - 1)), float(abs((law.sf(x) if upper else law.cdf(x)) / exact - 1))]
    return found


def check_log_odds(numbers):
    worst = np.max([log_odds_errors(number) for number in numbers])
    assert log_odds.ERROR / 10 < worst <= log_odds.ERROR


@pytest.mark.thorough
def test_deep_quantiles_of_log_odds_ratios_are_right_to_the_stated_error():
    check_log_odds(range(11, 19))


@pytest.mark.slow
def test_deep_quantiles_of_more_log_odds_ratios_are_right_to_the_stated_error():
    check_log_odds(range(LOG_ODDS))


MIXTURES = {
    "one law": (np.ones(1), 3.0, 10.0),
    "two laws": (np.array([1.0, 3.0]), 0.5, 4.0),
    "a hump": (np.exp(-0.5 * ((np.arange(60) - 25) / 4.0) ** 2), 7.5, 90.0),
    "two humps": (np.r_[np.ones(3), np.zeros(40), 5 * np.ones(3)], 1.0, 80.0),
    "empty ends": (np.r_[np.zeros(5), 1.0, 2.0, np.zeros(9)], 2.0, 30.0),
    "small prior": (np.array([0.9, 0.1]), 0.01, 1.5),
    "tiny weights": (np.array([1e-300, 1e-299]), 4.0, 12.0),
}


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_moments_and_ends_are_those_of_the_mixture(name, level):
    weights, first, whole = MIXTURES[name]
    shares = weights / weights.sum()
    laws = beta(first + np.arange(len(weights)), whole - first - np.arange(len(weights)))
    mean = shares @ laws.mean()
    second = shares @ (laws.var() + laws.mean() ** 2)
    found = beta_mixtures.intervals(weights, starts=[0, len(weights)], firsts=[first], wholes=[whole], level=level)[0]
    assert found[0] == pytest.approx(mean, rel=1e-13)
    assert found[1] == pytest.approx(np.sqrt(second - mean**2), rel=1e-9)  # the difference loses digits, not the kernel
    assert shares @ laws.cdf(found[2]) == pytest.approx((1 - level) / 2, rel=1e-10)
    assert shares @ laws.cdf(found[3]) == pytest.approx((1 + level) / 2, rel=1e-10)


def test_a_mixture_has_the_same_bits_whatever_stands_beside_it():
    parts = list(MIXTURES.values())
    sizes = [len(weights) for weights, _, _ in parts]
    about = {"starts": np.cumsum([0, *sizes]), "firsts": [p[1] for p in parts], "wholes": [p[2] for p in parts]}
    together = beta_mixtures.intervals(np.concatenate([p[0] for p in parts]), **about)
    for (weights, first, whole), row in zip(parts, together, strict=True):
        alone = beta_mixtures.intervals(weights, starts=[0, len(weights)], firsts=[first], wholes=[whole])
        assert np.array_equal(alone[0], row)
    assert beta_mixtures.intervals([], starts=[0], firsts=[], wholes=[]).shape == (0, 4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": [1.0, -1.0]}, "weights must contain only finite numbers"),
        ({"weights": [1.0, np.nan]}, "weights must contain only finite numbers"),
        ({"weights": [0.0, 0.0]}, "positive sum in every mixture"),
        ({"starts": [0, 1]}, "must have consistent shapes"),
        ({"starts": [1, 2]}, "begin with 0 and increase"),
        ({"starts": [0, 0, 2], "firsts": [1.0, 1.0], "wholes": [5.0, 5.0]}, "begin with 0 and increase"),
        ({"firsts": [0.0]}, "firsts must be > 0"),
        ({"wholes": [2.0]}, "larger than the first parameter of the last"),
        ({"wholes": [np.inf]}, "larger than the first parameter of the last"),
        ({"level": 1.0}, "level"),
    ],
)
def test_what_is_no_mixture_is_refused(changes, words):
    good = {"weights": [1.0, 1.0], "starts": [0, 2], "firsts": [1.0], "wholes": [5.0]}
    with pytest.raises(ValueError, match=words):
        beta_mixtures.intervals(**good | changes)
