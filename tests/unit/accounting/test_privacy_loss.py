"""Composed loss distributions: exact sums in multiprecision, closed forms, and never below the exact epsilon."""

import math
from collections import Counter

import mpmath
import numpy as np
import pytest
from scipy import optimize, stats

import dpmultinomial as dpm
from dpmultinomial._accounting.composition import RELATIONS
from dpmultinomial._accounting.loss_composition import Composition, epsilon
from dpmultinomial._accounting.privacy_loss import (
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    SplitLoss,
    largest,
    split,
)
from dpmultinomial._accounting.privacy_profiles import laplace_delta
from dpmultinomial._seeding import stream

ADD, REPLACE, _ = RELATIONS
DG, DL = DiscreteGaussianLoss, DiscreteLaplaceLoss


def sum_of_noise(sigma, k):
    """Law of the sum of k discrete Gaussians by direct convolution: positive terms only."""
    x = np.arange(-int(14 * sigma) - 2, int(14 * sigma) + 3)
    p = np.exp(-((x / sigma) ** 2) / 2)
    p, out = p / p.sum(), np.ones(1)
    for bit in f"{k:b}":
        out = np.convolve(out, out)
        out = np.convolve(out, p) if bit == "1" else out
    half = (len(out) - 1) // 2
    return np.arange(-half, half + 1), out


def gaussian_delta(level, sigma, k, change=1):
    """Exact delta of k equal discrete Gaussians: the loss is linear in the sum of the noise."""
    x, p = sum_of_noise(sigma, k)
    loss = (2 * change * x + k * change**2) / (2 * sigma**2)
    return float((p * -np.expm1(np.minimum(level - loss, 0.0))).sum())


def laplace_lattice_delta(level, scale, k):
    """Exact delta of k discrete Laplace, sensitivity 1: the loss is binomial."""
    j = np.arange(k + 1)
    p = stats.binom.pmf(j, k, 1 / (1 + math.exp(-1 / scale)))
    return float((p * -np.expm1(np.minimum(level - (2 * j - k) / scale, 0.0))).sum())


def solved(delta_of, delta):
    return optimize.brentq(lambda e: math.log(max(delta_of(e), 1e-300)) - math.log(delta), 0, 200, xtol=1e-13)


@pytest.mark.parametrize(
    ("mechanisms", "delta", "expected"),
    [  # exact sums of an independent prototype, and for mixtures its composition with dp-accounting at 1e-4
        ({DG(math.sqrt(88 / 5.112), 1): 88}, 1e-10, 16.464790),
        ({DG(1.0, 1): 1}, 1e-3, 3.27186),
        ({DG(5.0, 1): 1}, 1e-6, 0.834976),
        ({DG(20.0, 1): 1}, 1e-3, 0.084008),
        ({DG(0.5, 1): 1}, 1e-6, 9.99625),
        ({DG(10.0, 1): 10}, 1e-6, 1.367587),
        ({DL(10.0, 1): 100}, 1e-6, 4.774568),
        ({DG(10.0, 1): 20}, 1e-6, 1.994571),
    ],
)
def test_equal_noise_is_exact(mechanisms, delta, expected):
    found = epsilon(Counter(mechanisms), delta)
    assert found == pytest.approx(expected, abs=6e-6)
    ((one, k),) = mechanisms.items()
    exact = (
        (lambda e: gaussian_delta(e, one.sigma, k))
        if isinstance(one, DG)
        else (lambda e: laplace_lattice_delta(e, one.scale, k))
    )
    assert -1e-12 <= found - solved(exact, delta) < 1e-7


@pytest.mark.parametrize("delta", [1e-3, 1e-10, 1e-18, 1e-25])
def test_small_deltas_keep_their_digits(delta):
    """88 discrete Gaussians, down to where dp-accounting is infinite."""
    sigma = math.sqrt(88 / 5.112)
    exact = solved(lambda e: gaussian_delta(e, sigma, 88), delta)
    assert 0 <= epsilon(Counter({DG(sigma, 1): 88}), delta) - exact < 1e-7
    mixed = epsilon(Counter({DG(sigma, 1): 87, DG(sigma + 1e-9, 1): 1}), delta)  # on the common grid
    assert -1e-8 <= mixed - exact < 2e-3


def gaussian_in_40_digits(sigma, k, level):
    """delta(level) of k discrete Gaussians: the loss is linear in the sum of the noise."""
    x = range(-int(18 * sigma) - 2, int(18 * sigma) + 3)
    weights = [mpmath.exp(-mpmath.mpf(d * d) / (2 * sigma**2)) for d in x]
    whole = mpmath.fsum(weights)
    total = p = np.array([w / whole for w in weights], dtype=object)
    for _ in range(k - 1):
        total = np.convolve(total, p)
    half = (len(total) - 1) // 2
    losses = [(2 * mpmath.mpf(d) + k) / (2 * sigma**2) for d in range(-half, half + 1)]
    return mpmath.fsum(
        mass * (1 - mpmath.exp(level - loss)) for loss, mass in zip(losses, total, strict=True) if loss > level
    )


def laplace_in_40_digits(scale, k, level):
    """delta(level) of k discrete Laplace, sensitivity 1: the loss is binomial."""
    p = 1 / (1 + mpmath.exp(-1 / scale))
    losses = [(2 * j - k) / scale for j in range(k + 1)]
    return mpmath.fsum(
        mpmath.binomial(k, j) * p**j * (1 - p) ** (k - j) * (1 - mpmath.exp(level - loss))
        for j, loss in enumerate(losses)
        if loss > level
    )


@pytest.mark.parametrize(
    ("one", "k", "level", "error"),
    [
        (DG(1.0, 1), 1, 3.0, 1e-12),
        (DG(5.0, 1), 1, 0.75, 1e-12),
        (DG(2.5, 1), 3, 2.0, 1e-12),
        pytest.param(DG(2.5, 1), 11, 7.5, 2e-12, marks=pytest.mark.thorough),
        (DL(4.0, 1), 1, 0.125, 1e-12),
        (DL(8.0, 1), 8, 0.625, 1e-12),
    ],
)  # fmt: skip
def test_profiles_in_multiprecision(one, k, level, error):
    """delta in 40 digits, against the composed losses: twelve digits of delta and of epsilon, and never below."""
    with mpmath.workdps(40):
        exact_of = gaussian_in_40_digits if isinstance(one, DG) else laplace_in_40_digits
        exact = exact_of(mpmath.mpf(one.sigma if isinstance(one, DG) else one.scale), k, mpmath.mpf(level))
        composed = Composition({one: k}, float(exact))
        found = math.exp(composed._tail(composed._chernoff(level)[0])(level))
        assert 0 <= (mpmath.mpf(found) + mpmath.mpf(composed.infinite)) / exact - 1 < error
    assert 0 <= epsilon(Counter({one: k}), float(exact)) - level < 1e-12 * max(level, 1)


def test_the_power_of_the_tilting_gives_the_smallest_chernoff_bound():
    composed = Composition({DG(3.0, 1): 4, DL(2.0, 1): 3}, 1e-6)
    for level in (0.4, 1.7, 3.0):
        power, bound = composed._chernoff(level)
        assert bound == pytest.approx(composed.log_moment(power) - power * level, rel=1e-12)
        other = [composed.log_moment(p) - p * level for p in np.exp(np.linspace(-12, 6, 1801))]
        assert min(other) - 1e-4 <= bound <= min(other) + 1e-9


def test_closed_forms():
    """One Gaussian (Balle and Wang 2018), two Laplace counts, randomised response: every atom at epsilon."""
    found = epsilon(Counter({GaussianLoss(1.0, 1.0): 1}), 1e-6)
    exact = solved(lambda e: stats.norm.cdf(0.5 - e) - math.exp(e) * stats.norm.cdf(-0.5 - e), 1e-6)
    assert 0 <= found - exact < 2e-3
    two = epsilon(Counter({LaplaceLoss(4.0, 1.0): 2}), 1e-3)
    assert 0 <= two - solved(lambda e: float(laplace_delta(e, scale=4.0)), 1e-3) < 1e-4
    one = epsilon(Counter({LaplaceLoss(4.0, 1.0): 1}), 1e-3)
    assert 0 <= one - (0.25 + 2 * math.log(1 - 1e-3)) < 1e-4  # delta = 1 - exp((epsilon - 1/4)/2)
    pure = epsilon(Counter({PureLoss(0.25): 20}), 1e-6)
    every = (1 / (1 + math.exp(-0.25))) ** 20  # delta = every (1 - exp(epsilon - 5)) near the largest loss
    assert pure == pytest.approx(5 + math.log(1 - 1e-6 / every), abs=1e-8)
    assert epsilon(Counter({PureLoss(0.25): 20}), 1e-12) == pytest.approx(5, abs=1e-5)


def drawn(rng):
    """A composition of one or two kinds of discrete noise, with its exact epsilon by direct sums."""
    sigma, scale = float(rng.uniform(0.7, 12)), float(rng.uniform(0.7, 12))
    k, m = int(rng.integers(1, 12)), int(rng.integers(0, 12))
    x, p = sum_of_noise(sigma, k)
    j = np.arange(m + 1)
    q = stats.binom.pmf(j, m, 1 / (1 + math.exp(-1 / scale)))
    loss = ((2 * x + k) / (2 * sigma**2))[:, None] + (2 * j - m) / scale
    mass = p[:, None] * q

    def delta_of(level):
        return float((mass * -np.expm1(np.minimum(level - loss, 0.0))).sum())

    often = Counter({DG(sigma, 1): k}) + Counter({DL(scale, 1): m})
    return often, delta_of


def compare(seed, times):
    rng = stream(seed, "compositions")
    gaps = []
    for _ in range(times):
        often, delta_of = drawn(rng)
        delta = 10 ** -float(rng.uniform(3, 25))
        found, exact = epsilon(often, delta), solved(delta_of, delta) if delta_of(0.0) > delta else 0.0
        assert found >= exact - 1e-12, (often, delta, found, exact)
        gaps.append(found - exact)
    return np.array(gaps)


def test_never_below_the_exact_epsilon():
    assert compare(1, 10).max() < 5e-3


@pytest.mark.slow
def test_two_thousand_compositions_are_never_below_the_exact_epsilon():
    assert compare(2, 2000).max() < 5e-3


def test_splitting_keeps_both_totals_and_increases_delta():
    rng = np.random.default_rng(3)
    losses, p = rng.normal(0.1, 0.4, 50), rng.dirichlet(np.ones(50))
    found = split(losses, p, step=0.07, infinite=0.0)
    assert found.mass.sum() == pytest.approx(1, rel=1e-14)
    assert (found.mass * np.exp(-found.values)).sum() == pytest.approx((p * np.exp(-losses)).sum(), rel=1e-13)
    for level in np.linspace(-1, 1, 41):
        exact = (p * -np.expm1(np.minimum(level - losses, 0))).sum()
        assert (found.mass * -np.expm1(np.minimum(level - found.values, 0))).sum() >= exact - 1e-15


@pytest.mark.parametrize("more", [(), ((1.5, 0.1, 0.0),), ((-4.0, 0.1, 0.02),)])
def test_largest_of_several_is_their_largest_delta(more):
    rng = np.random.default_rng(4)
    parts = [split(rng.normal(m, s, 40), rng.dirichlet(np.ones(40)), step=0.05, infinite=c)
             for m, s, c in ((0.1, 0.1, 0.0), (0.0, 0.6, 0.0), (-0.3, 0.2, 0.01), *more)]  # fmt: skip
    found = largest(parts)

    def delta(part, level):
        return (part.mass * -np.expm1(np.minimum(level - part.values, 0))).sum() + part.infinite

    for level in np.arange(-20, 40) * 0.05:
        best = max(delta(part, level) for part in parts)
        assert best - 1e-13 <= delta(found, level) <= best + 1e-8


@pytest.mark.parametrize("k", [1, 10])
def test_a_norm_is_the_largest_of_its_splits(k):
    """sigma 3 and squared norm 4: changes of 2, or of 1, 1, 1, 1; for k = 10 neither is the continuous Gaussian."""
    both = epsilon(Counter({SplitLoss(((DG(3.0, 2),), (DG(3.0, 1),) * 4)): k}), 1e-6)
    ends = [solved(lambda e: gaussian_delta(e, 3.0, k, 2), 1e-6), solved(lambda e: gaussian_delta(e, 3.0, 4 * k), 1e-6)]
    assert 0 <= both - max(ends) < 0.03
    if k == 10:
        assert ends[0] == pytest.approx(11.72489, abs=1e-5)  # the continuous Gaussian has 11.72228: no upper bound


def test_costs_of_laws_carry_their_losses():
    law = dpm.DiscreteGaussian(sigma=10.0)
    ten = dpm.compose(*[law.cost(REPLACE)] * 10)
    assert ten.dp(1e-6) == pytest.approx(1.994571, abs=1e-6)
    assert ten.dp(1e-6).method == "loss distributions"
    assert ten.converted(1e-6) == pytest.approx(2.141939, abs=1e-6)
    assert law.cost(ADD, changes=(4,)).dp(1e-6) == pytest.approx(1.765, abs=1e-3)
    assert law.cost(ADD, changes=(1, -1, 1, 1)).dp(1e-6) == pytest.approx(0.834, abs=1e-3)
    assert law.cost(ADD, changes=(1, 1)).rho == law.cost(REPLACE).rho == 2 / 200
    assert dpm.Laplace(scale=4.0).rounded(1).cost(ADD, changes=[2]).epsilon == 0.5
    bare = dpm.ZCDP(rho=0.1, source="data", relation=ADD)
    assert bare.dp(1e-6) == dpm.compose(bare).converted(1e-6)
    mixed = dpm.compose(law.cost(ADD), bare)
    assert mixed.dp(1e-6) == mixed.converted(1e-6)
    assert mixed.dp(1e-6).method == "conversion"
    with_pure = dpm.compose(law.cost(ADD), dpm.PureDP(epsilon=0.25, source="data", relation=ADD))
    assert with_pure.dp(1e-6) == epsilon(Counter({DG(10.0, 1): 1, PureLoss(0.25): 1}), 1e-6) < with_pure.converted(1e-6)
    assert law.cost(ADD) == dpm.ZCDP(rho=0.005, source="data", relation=ADD)  # what was equal stays equal
    assert ten.dp(0.0) == math.inf


def test_a_table_composes_its_worst_neighbours():
    """Randomised response as a table: log ratio 1 at every pair, so that its losses are those of PureLoss(1)."""
    p = math.e / (1 + math.e)
    table = {"true": [0, 0, 1, 1], "released": [0, 1, 0, 1], "probability": [p, 1 - p, 1 - p, p]}
    cost = dpm.Perturbation(table).cost(ADD)
    assert cost.epsilon == pytest.approx(1, rel=1e-12)
    found, exact = dpm.compose(*[cost] * 20).dp(1e-6), epsilon(Counter({PureLoss(1.0): 20}), 1e-6)
    assert exact - 1e-9 <= found < exact + 2e-3
    assert dpm.Perturbation(table).cost(ADD, changes=(2, 1)).mechanisms == (
        PureLoss(cost.epsilon * 2),
        *cost.mechanisms,
    )


def test_bad_arguments():
    law = dpm.DiscreteGaussian(sigma=10.0)
    with pytest.raises(ValueError, match="sensitivity and changes must not both be given"):
        law.cost(ADD, changes=(1,), sensitivity=1.0)
    with pytest.raises(TypeError, match=r"changes must be a sequence of numbers such as \(1, 1\), got 2"):
        law.cost(ADD, changes=2)
    with pytest.raises(ValueError, match="changes must be finite and > 0, got 0"):
        law.cost(ADD, changes=(1, 0))
    with pytest.raises(ValueError, match="mechanisms must contain at least one mechanism, got none"):
        epsilon(Counter(), 1e-6)
    with pytest.raises(ValueError, match=r"delta must lie in \[0, 1\), got 1.0"):
        law.cost(ADD).dp(1.0)
