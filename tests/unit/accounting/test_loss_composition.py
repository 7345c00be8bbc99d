"""Bounds on the rounding of a composition, by transforms that are wrong by as much as the bounds allow; losses of
mechanisms against exact profiles; costs of mechanisms by the changes of one record.
"""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import fft, stats

import dpmultinomial as dpm
from dpmultinomial._accounting import loss_composition, privacy_loss
from dpmultinomial._accounting.composition import RELATIONS
from dpmultinomial._accounting.loss_composition import Composition, epsilon, tilt, transform_error
from dpmultinomial._accounting.privacy_loss import (
    DirichletLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    SplitLoss,
    TableLoss,
    TruncatedLaplaceLoss,
)
from dpmultinomial._accounting.privacy_profiles import dirichlet_delta, dirichlet_epsilon, geometric_delta
from dpmultinomial._seeding import stream

ADD, REPLACE, EXCHANGE = RELATIONS


@pytest.mark.parametrize("log_size", [1, 4, 8, 11])
def test_the_transform_is_within_its_bound(log_size):
    """Against a discrete Fourier sum in extended precision (u = 5e-20), for smooth, spiked and random numbers."""
    size = 2**log_size
    assert transform_error(size) == 16 * 2.0**-53 * log_size  # about twice the bound of Higham, theorem 24.2
    rng = stream(5, "transforms", log_size)
    turns = np.outer(np.arange(size // 2 + 1), np.arange(size)) % size
    pi = np.longdouble("3.14159265358979323846264338327950288")
    waves = np.exp(np.clongdouble(-2j) * pi * turns.astype(np.longdouble) / np.longdouble(size))
    for given in (rng.random(size), rng.random(size) ** 20, np.exp(-np.arange(size) / 9.0), rng.standard_normal(size)):
        exact = (waves * given).sum(axis=1)
        weights = np.full(len(exact), 2.0)  # of the frequencies that a real transform omits
        weights[[0, -1]] = 1.0
        norm = math.sqrt(float((weights * np.abs(exact) ** 2).sum()))
        found = math.sqrt(float((weights * np.abs(fft.rfft(given, size) - exact) ** 2).sum()))
        assert found <= transform_error(size) * norm
        back = math.sqrt(float(((fft.irfft(fft.rfft(given, size), size) - given) ** 2).sum()))
        assert back <= 2.01 * transform_error(size) * math.sqrt(float(given @ given))


class Wrong:
    """Transforms with an error of the largest size that is allowed, in a direction that lowers a tail."""

    def __init__(self, seed, error):
        self.rng, self.error = np.random.default_rng(seed), error

    def rfft(self, given, size):
        found = fft.rfft(given, size)
        error = self.rng.standard_normal(len(found)) + 1j * self.rng.standard_normal(len(found))
        norm = math.sqrt(size * float(given @ given))
        return found + error * (0.99 * self.error(size) * norm / math.sqrt(float((np.abs(error) ** 2).sum()) * 2))

    def irfft(self, spectrum, size):
        found = fft.irfft(spectrum, size)
        down = np.zeros(size)
        at = int(np.argmax(found))  # near the answer, because of the tilting
        down[at : at + 3] = -1 / math.sqrt(3)
        return found + down * (0.99 * self.error(size) * math.sqrt(float(found @ found)))


def exact_sum(sigma, k):
    x = np.arange(-int(14 * sigma) - 2, int(14 * sigma) + 3)
    p = np.exp(-((x / sigma) ** 2) / 2)
    p, out = p / p.sum(), np.ones(1)
    for _ in range(k):
        out = np.convolve(out, p)
    loss = (2 * np.arange(-(len(out) // 2), len(out) // 2 + 1) + k) / (2 * sigma**2)
    return lambda level: float((out * -np.expm1(np.minimum(level - loss, 0.0))).sum())


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_wrong_transforms_never_lower_epsilon(monkeypatch, bits):
    """With transforms of `bits` bits, the bound covers errors that are visible; without it, the answer is too low."""

    def error(size):
        return transform_error(size) * 2.0 ** (53 - bits)

    lower = 0
    for seed, (sigma, k) in enumerate([(2.0, 3), (5.0, 10), (11.0, 40), (1.0, 7)]):
        delta_of = exact_sum(sigma, k)
        for delta in (1e-3, 1e-9):
            often = Counter({DiscreteGaussianLoss(sigma, 1): k})
            monkeypatch.setattr(loss_composition, "fft", Wrong(seed, error))
            unprotected = epsilon_without(monkeypatch, often, delta)
            lower += delta_of(unprotected) > delta * (1 + 1e-9)
            monkeypatch.setattr(loss_composition, "transform_error", error)
            assert delta_of(epsilon(often, delta)) <= delta
            monkeypatch.undo()
    assert lower >= 4


def epsilon_without(monkeypatch, often, delta):
    monkeypatch.setattr(loss_composition, "transform_error", lambda size: 0.0)
    return epsilon(often, delta)


def test_tilted_probabilities_bound_the_given_ones():
    """mass <= K y exp(-power loss) in 60 digits, also where the tilted probability underflows."""
    mpmath.mp.dps = 60
    for one, power in ((DiscreteGaussianLoss(3.0, 1), 40.0), (DiscreteLaplaceLoss(0.2, 3), 90.0), (PureLoss(2.0), 0.3)):
        part = one.lattice(80.0)
        tilted, log_scale = tilt(part, power)
        assert tilted.sum() == pytest.approx(1, abs=1e-9)
        loosest = mpmath.inf
        for number, (mass, y) in enumerate(zip(part.mass.tolist(), tilted.tolist(), strict=True)):
            loss = mpmath.mpf(part.offset) + (part.first + number) * mpmath.mpf(part.step)
            if mass > 0:
                room = mpmath.mpf(log_scale) + mpmath.log(y) - power * loss - mpmath.log(mass)
                assert room >= 0
                loosest = min(loosest, room)
        assert loosest < 1e-11


@pytest.mark.parametrize(
    ("one", "probability"),
    [
        (DiscreteGaussianLoss(0.3, 1), lambda x: mpmath.exp(-mpmath.mpf(x * x) / (2 * mpmath.mpf(0.3) ** 2))),
        (DiscreteGaussianLoss(41.7, 1), lambda x: mpmath.exp(-mpmath.mpf(x * x) / (2 * mpmath.mpf(41.7) ** 2))),
    ],
)
def test_stated_relative_errors_hold(one, probability):
    mpmath.mp.dps = 50
    part = one.lattice(120.0)
    total = mpmath.fsum(probability(x) for x in range(-3000, 3001))
    for mass, x in zip(part.mass.tolist(), range(part.first, part.first + len(part.mass)), strict=True):
        assert probability(x) / total <= mpmath.mpf(mass) * (1 + mpmath.mpf(part.relative)) + mpmath.mpf("1e-300")


@pytest.mark.parametrize(
    ("one", "spread", "share"),
    [  # standard deviation or largest value of the loss, and its part that is a step of the lattice
        (DiscreteGaussianLoss(4.0, 2), 0.5, 1 / 16 / 0.5),
        (DiscreteLaplaceLoss(4.0, 3), 0.75, 1 / 4 / 0.75),
        (TruncatedLaplaceLoss(4.0, 9, 3), 0.75, 1 / 4 / 0.75),
        (PureLoss(0.7), 0.7, 1.0),
        (LaplaceLoss(4.0, 3.0), 0.75, 1 / 1000),
        (GaussianLoss(4.0, 3.0), 0.75, 1 / 100),
        (DirichletLoss(2.0, 3.0), 2 * math.sqrt(0.221322955737115 + 0.394934066848226), 1 / 100),  # trigamma(5), (3)
        (TableLoss((((0.5, -0.9), (0.6, 0.4)), ((-0.5, 0.9), (0.7, 0.3)))), 0.9, 1 / 1000),
        (SplitLoss(((GaussianLoss(4.0, 3.0),), (GaussianLoss(4.0, 1.0), GaussianLoss(4.0, 2.0)))), 0.25, 1 / 100),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, SplitLoss | TableLoss) else str(value),
)
def test_spreads_and_lattices_by_hand(one, spread, share):
    part = one.lattice(40.0)
    assert one.spread == pytest.approx(spread, rel=1e-12)
    assert part.step == pytest.approx(share * spread, rel=1e-12)
    assert one.step is None or one.step == part.step
    assert part.mass.sum() + part.infinite == pytest.approx(1, abs=1e-9)
    assert abs(part.values).max() >= spread * (1 - 1e-12)
    if isinstance(one, DiscreteGaussianLoss | GaussianLoss | DirichletLoss):  # up to the splitting of the grid
        mean = part.mass @ part.values
        assert part.mass @ (part.values - mean) ** 2 == pytest.approx(spread**2, rel=1e-3)
        assert part.infinite == 2 * math.exp(-40)


@pytest.mark.parametrize(("n", "size"), [(2, 8), (5, 16), (8, 32)])
def test_the_error_of_a_composition_by_hand(n, size, monkeypatch):
    """The bound of the module's docstring with transforms accurate to 1 %: two losses, and 2 n + 1 possible sums."""
    monkeypatch.setattr(loss_composition, "transform_error", lambda length: 0.01 if length == size else math.nan)
    tail = Composition({PureLoss(0.3): n}, 1e-6)._tail(0.7)
    y = np.exp([-0.3 - 0.21, 0.21])  # probabilities proportional to exp(-0.3) and 1, tilted with power 0.7
    y /= y.sum()
    norm = math.sqrt(y @ y)
    growth = (1 + 0.01 * math.sqrt(size) * norm) ** n
    error = growth * n * 0.01 * norm
    error += math.expm1(3 * 2.0**-53 * n) * (norm * growth + error)
    error += 0.01 * (norm * growth + error)
    assert tail.error == pytest.approx(error, rel=1e-7)
    assert len(tail.values) == 2 * n + 1


@pytest.mark.parametrize(
    ("one", "roundings"),
    [  # four for every unit of the largest exponent and eight more, and one for every number of a sum
        (DiscreteGaussianLoss(4.0, 1), 4 * ((38 / 4) ** 2 / 2 + 8)),  # 38 = floor(4 sqrt(2 (40 + 1))) + 2
        (DiscreteGaussianLoss(0.01, 1), 4 * (750 + 8)),  # probabilities below exp(-750) are 0
        (DiscreteLaplaceLoss(4.0, 3), 4 * (3 / 4 + 8)),
        (TruncatedLaplaceLoss(4.0, 9, 3), 4 * (9 / 4 + 8) + 19),
        (PureLoss(2.0), 16),
    ],
    ids=str,
)
def test_stated_roundings_by_hand(one, roundings):
    assert one.lattice(40.0).relative == pytest.approx(roundings * 2.0**-53, rel=1e-12, abs=0)
    fine = one.gridded(one.spread / 7.3, 40.0)
    assert fine.relative >= one.lattice(40.0).relative - 16 * 2.0**-53 * isinstance(one, PureLoss)


@pytest.mark.parametrize("one", [DirichletLoss(2.0, 3.0), DirichletLoss(0.4, 0.3), DirichletLoss(5.0, 40.0)])
def test_neglected_tails_of_dirichlet_losses(one):
    """P(w < 1/(1 + exp(t))) of a Beta variable, at the ends where exp(-log_mass) is stated: at most that, and above
    it a third nearer.
    """
    for a, b in ((one.alpha + one.r, one.alpha), (one.alpha, one.alpha + one.r)):
        for log_mass in (5.0, 30.0):
            t = one._end(a, b, log_mass)
            assert stats.beta.cdf(1 / (1 + math.exp(t)), a, b) <= math.exp(-log_mass)
            assert stats.beta.cdf(1 / (1 + math.exp(t * 2 / 3)), a, b) > math.exp(-log_mass) or t < 2 * math.log(2)


def test_the_grid_of_a_composition_by_hand():
    """200 points per standard deviation of the most precise loss; the step of a wider lattice is a multiple."""
    many = Composition({GaussianLoss(4.0, 1.0): 2, GaussianLoss(4.0, 3.0): 1}, 1e-6)
    assert many.parts[0][0].step == many.parts[1][0].step == pytest.approx(0.25 / 200, rel=1e-12)
    wide = Composition({GaussianLoss(4.0, 1.0): 1, DiscreteLaplaceLoss(1.5, 1): 1}, 1e-6).parts[0][0].step
    assert wide == pytest.approx(1 / 1.5 / math.floor(200 / 1.5 / 0.25), rel=1e-12)
    far = Composition({GaussianLoss(4.0, 1.0): 10**6, GaussianLoss(4.0, 2.0): 1}, 1e-6)
    reach = (10**6 * 0.25 + 0.5) * math.sqrt(8 * (math.log((10**6 + 1) / 1e-6) + 25 + 1))
    assert far.parts[0][0].step == pytest.approx(reach / 2**21, rel=1e-12)
    equal = Composition({DiscreteGaussianLoss(4.0, 1): 3}, 1e-6)
    assert equal.parts[0][0].infinite == pytest.approx(2 * 1e-6 / 3 * math.exp(-34), rel=1e-9, abs=0)
    assert many.parts[0][0].infinite == pytest.approx(2 * 1e-6 / 3 * math.exp(-25), rel=1e-9, abs=0)
    assert many.infinite == pytest.approx(3 * many.parts[0][0].infinite, rel=1e-9, abs=0)


@pytest.mark.parametrize("one", [GaussianLoss(3.0, 1.0), GaussianLoss(2.0, 4.0), DirichletLoss(1.0, 1.0)])
def test_quadrature_keeps_both_totals(one):
    """All mass, and all mass under the neighbouring file, to the stated relative error."""
    part = one.gridded(one.spread / 30, 60.0)
    assert float(part.mass.sum()) == pytest.approx(1, abs=2e-12)
    assert float((part.mass * np.exp(-part.values)).sum()) == pytest.approx(1, abs=2e-11)
    coarse = one.gridded(one.spread * 3, 60.0)  # one cell of the grid has many cells of the rule
    assert float(coarse.mass.sum()) == pytest.approx(1, abs=2e-12)


@pytest.mark.parametrize(
    "one",
    [
        GaussianLoss(3.0, 1.0),
        GaussianLoss(0.2, 4.0),
        *(DirichletLoss(*p) for p in ((1, 1), (0.1, 0.2), (5, 300), (1, 2000))),
    ],
    ids=str,
)
def test_densities_are_smooth_on_the_cells_of_the_rule(one, monkeypatch):
    """The stated error of the rule requires at most 1e5 times the smallest density of a cell in the ellipse of 40."""
    seen = []
    cells = privacy_loss._cells
    monkeypatch.setattr(privacy_loss, "_cells", lambda *given: (seen.append(given), cells(*given))[1])
    one.gridded(3 * one.spread, 40.0)
    ((low, high, _, widest),) = seen

    def log_density(z):
        if isinstance(one, GaussianLoss):
            return -(((z - one.spread**2 / 2) / one.spread) ** 2) / 2
        return -(one.alpha + one.r) * np.log(1 + np.exp(-z / one.r)) - one.alpha * np.log(1 + np.exp(z / one.r))

    centre, turn = np.linspace(low, high, 301)[:, None], np.exp(1j * np.linspace(0, np.pi, 101))
    around = log_density(centre + widest / 4 * (40 * turn + 1 / (40 * turn))).real.max(axis=1)
    least = log_density(centre + widest * np.array([-0.5, 0.0, 0.5])).min(axis=1)
    assert (around - least).max() <= math.log(1e5)


def test_gaussian_cells_are_those_of_the_normal_distribution():
    one = GaussianLoss(2.0, 1.0)
    part, m = one.gridded(0.01, 60.0), 0.5
    upto = part.mass.cumsum()
    ends = stats.norm.cdf((part.values - m * m / 2) / m)
    assert np.all(upto[:-1] <= ends[1:] + 1e-13)
    assert np.all(upto >= stats.norm.cdf((part.values - 0.01 - m * m / 2) / m) - 1e-13)
    assert np.all(upto[1:] <= stats.norm.cdf((part.values[1:] + 0.01 - m * m / 2) / m) + 1e-13)


@pytest.mark.parametrize(("r", "alpha"), [(1.0, 1.0), (1.0, 10.0), (5.0, 30.0), (0.3, 0.2)])
def test_dirichlet_losses_have_the_exact_profile(r, alpha):
    for delta in (1e-3, 1e-6, 1e-9):
        exact = dirichlet_epsilon(delta, r=r, alpha=alpha)
        assert 0 <= epsilon(Counter({DirichletLoss(r, alpha): 1}), delta) - exact < 1e-3 * max(exact, 1)


def test_empty_cells_are_the_worst_pair_of_a_dirichlet_release():
    """Post-processing proves it for all counts; here 200 pairs and levels."""
    rng = stream(6, "pairs")
    for _ in range(200):
        r, alpha, level = rng.uniform(0.1, 4), rng.uniform(0.1, 8), rng.uniform(0, 5)
        counts = tuple(rng.integers(0, 6, 2).tolist())
        one, worst = (float(dirichlet_delta(level, r=r, alpha=alpha, counts=pair)) for pair in (counts, (0.0, 0.0)))
        assert one <= worst + 1e-14


@pytest.mark.thorough
def test_ten_dirichlet_tables_by_enumeration():
    """Two tables of r = alpha = 1: the loss is log odds of Beta(2, 1), whose distribution is a ratio of polynomials."""
    u = (np.arange(4000) + 0.5) / 4000
    w = np.sqrt(u)  # Beta(2, 1)
    loss = np.log(w / (1 - w))
    total = loss[:, None] + loss
    found = epsilon(Counter({DirichletLoss(1.0, 1.0): 2}), 0.01)
    assert np.mean(-np.expm1(np.minimum(found - total, 0))) == pytest.approx(0.01, rel=2e-3)


@pytest.mark.parametrize(("scale", "support", "k"), [(1.0, 50, 2), (2.0, 5, 1), (0.7, 12, 3)])
def test_truncated_noise_has_the_exact_profile(scale, support, k):
    one = TruncatedLaplaceLoss(scale, support, 1)
    floor = geometric_delta(50.0, epsilon=1 / scale, changed=k, support=support)
    assert epsilon(Counter({one: k}), floor * 0.999) == math.inf
    for level in (0.3 * k / scale, 0.9 * k / scale):
        delta = geometric_delta(level, epsilon=1 / scale, changed=k, support=support)
        assert epsilon(Counter({one: k}), delta) == pytest.approx(level, abs=1e-7)


def test_truncated_noise_by_larger_changes_in_fractions():
    """Ratio 1/2 per step, support 3, change 2: p(x) = 2^-|x|/(11/4), by hand."""
    one = TruncatedLaplaceLoss(1 / math.log(2), 3, 2)
    part = one.lattice(40.0)
    weights = {x: Fraction(1, 2 ** abs(x)) for x in range(-3, 4)}
    total = sum(weights.values())
    assert part.infinite == pytest.approx(float((weights[3] + weights[2]) / total), rel=1e-12)
    expected = {}
    for x in range(-3, 2):
        expected[abs(x + 2) - abs(x)] = expected.get(abs(x + 2) - abs(x), 0) + weights[x] / total
    assert dict(zip(range(-2, 3), part.mass.tolist(), strict=True)) == pytest.approx(
        {k: float(expected.get(k, 0)) for k in range(-2, 3)}, rel=1e-12
    )


def test_additive_counts_cost_by_the_changes_of_components_and_total():
    whole = dpm.AdditiveCounts(epsilon=0.5, algorithm="2", support=math.inf)
    cost = whole.cost()
    assert (cost.epsilon, cost.mechanisms) == (1.0, (DiscreteLaplaceLoss(2.0, 1),) * 2)
    assert whole.cost(changes=(1,)).mechanisms == cost.mechanisms == whole.cost(REPLACE, changes=(1, -1)).mechanisms
    assert whole.cost(changes=(2, 1)).epsilon == 0.5 * 6
    assert whole.cost(REPLACE, changes=(3, -2)).epsilon == 0.5 * 6
    assert whole.cost(changes=(1, 1)).dp(1e-6) < whole.cost(sensitivity=2).dp(1e-6) <= whole.cost(sensitivity=2).epsilon
    ten = dpm.compose(*[cost] * 10)
    exact = Counter({DiscreteLaplaceLoss(2.0, 1): 20})
    assert ten.dp(1e-6) == epsilon(exact, 1e-6) < ten.converted(1e-6) < 10
    cut = dpm.AdditiveCounts(epsilon=0.5, algorithm="2", support=20)
    assert cut.cost(changes=(1,)) == cut.cost()
    tail = sum(math.exp(-0.5 * abs(x)) for x in range(-20, 21))
    lost = [sum(math.exp(-0.5 * x) for x in range(21 - c, 21)) / tail for c in (2, 2)]
    assert cut.cost(changes=(2,)).delta == pytest.approx(1 - math.prod(1 - p for p in lost), rel=1e-9)
    assert cut.cost(changes=(2,)).dp(0.01) == pytest.approx(
        epsilon(Counter({TruncatedLaplaceLoss(2.0, 20, 2): 2}), 0.01)
    )


def test_dirichlet_and_swap_cost_by_changes():
    law = dpm.Dirichlet(r=1.0, alpha=10.0)
    assert law.cost() == law.cost(changes=(1, -1)) == law.cost(sensitivity=2)
    assert (
        law.cost(changes=(2, 2), orders=[3.0]).epsilons == dpm.Dirichlet(r=2.0, alpha=10.0).cost(orders=[3.0]).epsilons
    )
    assert law.cost().dp(1e-6) == pytest.approx(dirichlet_epsilon(1e-6, r=1.0, alpha=10.0), abs=1e-3)
    ten = dpm.compose(*[law.cost()] * 10)
    assert ten.dp(1e-6) < 0.95 * ten.converted(1e-6)
    swap = dpm.Swap(rate=0.1)
    one = swap.cost(largest=10)
    assert one == swap.cost(largest=10, changes=(2,)) == swap.cost(largest=10, sensitivity=2)
    assert swap.cost(largest=10, changes=(2, 3)).epsilon == pytest.approx(2.5 * one.epsilon, rel=1e-15)
    assert one.mechanisms == (PureLoss(one.epsilon),)
    bare = dpm.CensoredStatistics(lower=0.0, upper=1.0, scale=8.0).cost(n=40)
    assert bare.mechanisms == (PureLoss(bare.epsilon),)
    assert dpm.compose(*[bare] * 50).dp(1e-6) < dpm.compose(*[bare] * 50).converted(1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: dpm.AdditiveCounts(epsilon=1.0).cost(changes=(1.5,)),
            TypeError,
            "changes must be an integer, got 1.5",
        ),
        (lambda: dpm.AdditiveCounts(epsilon=1.0).cost(changes=(1,), sensitivity=1), ValueError, "not both"),
        (
            lambda: dpm.AdditiveCounts(epsilon=1.0, support=3).cost(changes=(4,)),
            ValueError,
            r"one record can cause .* \(4\), got 3",
        ),
        (lambda: dpm.AdditiveCounts(epsilon=1.0).cost(sensitivity=2), ValueError, "'changes' is required"),
        (lambda: dpm.Dirichlet(r=1.0, alpha=3.0).cost(changes=(1, 2)), ValueError, r"two equal numbers.*got \(1, 2\)"),
        (lambda: dpm.Dirichlet(r=1.0, alpha=3.0).cost(changes=(1,)), ValueError, "two equal numbers"),
        (lambda: dpm.Swap(rate=0.1).cost(largest=9, changes=(1,)), ValueError, "changes must be >= 2, got 1"),
        (lambda: dpm.Swap(rate=0.1).cost(largest=9, sensitivity=2.5), TypeError, "sensitivity must be an integer"),
    ],
)
def test_bad_changes(call, error, words):
    with pytest.raises(error, match=words):
        call()
