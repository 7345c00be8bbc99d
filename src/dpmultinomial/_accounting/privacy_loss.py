"""Privacy loss distributions of the mechanisms of this library.

The privacy loss of an outcome is the log of its probability under a file over that under the neighbouring file. Losses
of independent releases add, and delta(epsilon) is the expected value of max(1 - exp(epsilon - loss), 0). Discrete noise
has its losses on a lattice. If all releases share one lattice, the sums are exact. Otherwise every loss is split
between the two neighbouring points of a common grid such that both total probabilities stay the same, which can only
increase delta(epsilon) (Doroshenko et al. 2022, "connect the dots").

Every mechanism returns a loss distribution whose delta(epsilon) is at least the exact delta(epsilon) of the mechanism:
neglected probability counts as an infinite loss, and `Losses.relative` bounds the errors of rounding and of quadrature.
The module `loss_composition` adds losses.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy  # submodules of scipy are loaded on first use
from numpy.typing import NDArray
from scipy.special import betaln, polygamma

Array = NDArray[np.float64]

UNIT = 2.0**-53  # largest relative error of one rounding
_WIDE = 2**17  # largest number of lattice points of a single mechanism
_QUADRATURE = 1e-12  # relative error of the rule on the cells that are used, see `_cells`
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


@dataclass(frozen=True)
class Losses:
    """Distribution of a privacy loss on a lattice of equally spaced values.

    Parameters
    ----------
    step : distance between neighbouring lattice values, > 0.
    offset : value of lattice point number 0.
    first : number of the first lattice value with a probability.
    mass : probabilities under the file, from `first` on.
    infinite : probability of an infinite loss, including all neglected probability.
    relative : the exact probabilities are at most `mass` times 1 + relative.
    """

    step: float
    offset: float
    first: int
    mass: Array
    infinite: float
    relative: float = 16 * UNIT

    @property
    def values(self) -> Array:
        """Privacy losses at the points of the lattice."""
        return np.asarray(self.offset + (self.first + np.arange(len(self.mass))) * self.step, dtype=np.float64)


class Mechanism(Protocol):
    """Interface for mechanisms whose privacy loss has a known distribution. Every mechanism is hashable.

    ``step``      distance of the lattice of its losses; None if they are not on a lattice
    ``spread``    approximate standard deviation of the loss
    ``lattice``   exact losses on that lattice, with log of the neglected mass below -`log_mass`
    ``gridded``   losses on a grid of another step, an upper bound
    """

    @property
    def step(self) -> float | None: ...

    @property
    def spread(self) -> float: ...

    def lattice(self, log_mass: float) -> Losses: ...

    def gridded(self, step: float, log_mass: float) -> Losses: ...


def split(losses: Array, masses: Array, *, step: float, infinite: float, relative: float = 0.0) -> Losses:
    """Split the probability of each privacy loss between the two neighbouring grid points. The total probability under
    each of the two neighbouring data sets does not change.

    Parameters
    ----------
    losses : finite losses (n,).
    masses : their probabilities under the file (n,).
    step : distance between neighbouring points of the grid, > 0.
    infinite : probability of an infinite loss.
    relative : the exact probabilities are at most `masses` times 1 + relative.

    Returns
    -------
    Losses
        Its delta(epsilon) is at least that of the given losses, for every epsilon. The upper part of a loss has a
        relative error of 8 roundings; that error moves mass between the two points, and increasing the upper part moves
        mass to the larger loss. A sum of n numbers >= 0 has a relative error of n roundings.
    """
    place = np.floor(losses / step)
    above = np.clip(losses - place * step, 0.0, step)
    upper = np.minimum(masses * (-np.expm1(-above) / -np.expm1(-step)), masses)
    first = int(place.min())
    positions = (place - first).astype(np.int64)
    mass: Array = np.zeros(int(positions.max()) + 2)
    mass += np.bincount(positions, np.maximum(masses - upper, 0.0), minlength=len(mass))
    mass += np.bincount(positions + 1, upper, minlength=len(mass))
    return Losses(step, 0.0, first, mass, infinite, relative + (16 + int(np.bincount(positions).max())) * UNIT)


@dataclass(frozen=True)
class DiscreteGaussianLoss:
    """Privacy loss of discrete Gaussian noise on a count, if one record changes the count by an integer.

    Parameters
    ----------
    sigma : parameter of the noise, > 0.
    change : size of the change, integer >= 1.
    """

    sigma: float
    change: int

    @property
    def step(self) -> float:
        """Distance between neighbouring points of the lattice of privacy losses. The losses are (2 x + change)
        change/(2 sigma^2).
        """
        return 1 / self.sigma**2

    @property
    def spread(self) -> float:
        """Standard deviation of the privacy loss of continuous Gaussian noise with the same parameter sigma."""
        return self.change / self.sigma

    def _noise(self, log_mass: float) -> tuple[Array, Array, float, float]:
        """Return the values of the noise and their probabilities. Also return the neglected probability and the
        relative error of the probabilities. The neglected probability follows from the sub-Gaussian tails in Canonne et
        al. (2020), corollary 17. The error assumes that exp(-x) has an error of 4 x + 4 roundings.
        """
        half = int(self.sigma * math.sqrt(2 * (log_mass + 1))) + 2
        x = np.arange(-half, half + 1, dtype=np.float64)
        weights = np.exp(-((x / self.sigma) ** 2) / 2)
        total = math.fsum(weights.tolist()) if half < _WIDE else float(weights.sum())
        relative = 4 * UNIT * (min((half / self.sigma) ** 2 / 2, 750.0) + 8)
        return x, weights / total, 2 * math.exp(-log_mass), relative

    def lattice(self, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a lattice with step 1/sigma^2."""
        x, p, lost, relative = self._noise(log_mass)
        mass = np.zeros((len(x) - 1) * self.change + 1)
        mass[:: self.change] = p
        return Losses(self.step, self.change**2 * self.step / 2, int(x[0]) * self.change, mass, lost, relative)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The probability of each loss is split between the two
        neighbouring grid points.
        """
        x, p, lost, relative = self._noise(log_mass)
        losses = (2 * x * self.change + self.change**2) * self.step / 2
        return split(losses, p, step=step, infinite=lost, relative=relative)


@dataclass(frozen=True)
class DiscreteLaplaceLoss:
    """Privacy loss of releasing a count with discrete Laplace noise if one record changes this count by the integer
    `change`.

    Parameters
    ----------
    scale : scale of the noise, > 0.
    change : size of the change, integer >= 1.
    """

    scale: float
    change: int

    @property
    def step(self) -> float:
        """Distance between neighbouring points of the lattice of privacy losses. The losses are (|x + change| -
        |x|)/scale.
        """
        return 1 / self.scale

    @property
    def spread(self) -> float:
        """Largest privacy loss of the mechanism."""
        return self.change / self.scale

    def _losses(self) -> tuple[Array, Array]:
        """Return the possible privacy losses, in steps of the lattice, and their probabilities."""
        d, a = self.change, math.exp(-1 / self.scale)
        k = np.arange(-d, d + 1, 2, dtype=np.float64)
        mass = math.tanh(0.5 / self.scale) * np.exp(-np.abs(k - d) / 2 / self.scale)  # at x = (k - d)/2 inside
        mass[-1] = 1 / (1 + a)  # all x >= 0
        mass[0] = a**d / (1 + a)  # all x <= -d
        return k, mass

    def lattice(self, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a lattice with step 1/scale."""
        k, p = self._losses()
        mass = np.zeros(2 * self.change + 1)
        mass[::2] = p
        return Losses(self.step, 0.0, int(k[0]), mass, 0.0, self._relative)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The probability of each loss is split between the two
        neighbouring grid points.
        """
        k, p = self._losses()
        return split(k * self.step, p, step=step, infinite=0.0, relative=self._relative)

    @property
    def _relative(self) -> float:
        return 4 * UNIT * (self.change / self.scale + 8)


@dataclass(frozen=True)
class LaplaceLoss:
    """Privacy loss of releasing a number with Laplace noise if one record changes this number by `change`.

    Parameters
    ----------
    scale : scale of the noise, > 0.
    change : size of the change, > 0.
    """

    scale: float
    change: float

    @property
    def step(self) -> None:
        """Return None, because the privacy losses of Laplace noise are not on a lattice."""
        return None

    @property
    def spread(self) -> float:
        """Largest privacy loss of the mechanism."""
        return self.change / self.scale

    def lattice(self, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid whose step is 1/1000 of the largest loss."""
        return self.gridded(self.spread / 1000, log_mass)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The probability of each loss is split between the two
        neighbouring grid points. The loss is t (the largest loss) with probability 1/2, and -t with probability
        exp(-t)/2. Between -t and t, the density exp((loss - t)/2)/4 is integrated in closed form. The losses in a
        partial cell at an end of the grid count as the upper end of the cell.
        """
        t = self.spread
        low, high = math.ceil(-t / step), math.floor(t / step)
        ends = [t, -t] + ([t, low * step] if low <= high else [t])
        first, last = low * step, high * step
        masses = [0.5, math.exp(-t) / 2]
        if low <= high:
            masses += [-math.expm1((last - t) / 2) / 2, (math.exp((first - t) / 2) - math.exp(-t)) / 2]
        else:
            masses += [-math.expm1(-t) / 2]
        points = split(np.array(ends), np.array(masses), step=step, infinite=0.0)
        if low >= high:
            return points
        cells = np.arange(low, high) * step
        down = np.exp((cells - t) / 2) * (math.tanh(step / 4) / 2)  # of the mass exp((cell - t)/2) (e - 1)/2
        up = down * math.exp(step / 2)  # e = exp(step/2); down and up keep both total probabilities
        mass = np.zeros(max(high, points.first + len(points.mass) - 1) - min(low, points.first) + 1)
        start = min(low, points.first)
        mass[points.first - start : points.first - start + len(points.mass)] += points.mass
        mass[low - start : high - start] += down
        mass[low - start + 1 : high - start + 1] += up
        return Losses(step, 0.0, start, mass, 0.0, points.relative + 4 * UNIT * (t + 16 + 2 / min(step, 1.0)))


@dataclass(frozen=True)
class GaussianLoss:
    """Privacy loss of releasing a number with Gaussian noise if one record changes this number by `change`. The loss
    has a normal distribution with mean m^2/2 and variance m^2, m = change/sigma.

    Parameters
    ----------
    sigma : standard deviation of the noise, > 0.
    change : size of the change, > 0.
    """

    sigma: float
    change: float

    @property
    def step(self) -> None:
        """Return None, because the privacy losses of Gaussian noise are not on a lattice."""
        return None

    @property
    def spread(self) -> float:
        """Standard deviation of the privacy loss of the mechanism."""
        return self.change / self.sigma

    def lattice(self, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The step of the grid is 1/100 of the standard deviation of
        the loss.
        """
        return self.gridded(self.spread / 100, log_mass)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The probability of each loss is split between the two
        neighbouring grid points. Cells whose width is at most a fortieth of a standard deviation are integrated by a
        Gauss-Legendre rule.
        """
        m = self.spread
        half = m * math.sqrt(2 * (log_mass + 1))
        losses, weights = _cells(m * m / 2 - half, m * m / 2 + half, step, min(m / 40, 0.1))
        exponent = ((losses - m * m / 2) / m) ** 2 / 2
        masses = np.exp(-exponent) * (weights / (m * math.sqrt(2 * math.pi)))
        relative = _QUADRATURE + 4 * UNIT * (float(exponent.max()) + 8)
        return split(losses, masses, step=step, infinite=2 * math.exp(-log_mass), relative=relative)


def _cells(low: float, high: float, step: float, widest: float) -> tuple[Array, Array]:
    """Return the nodes and weights of a composite Gauss-Legendre rule on intervals (cells) of equal width. The limits
    of the cells include the points of a grid.

    Parameters
    ----------
    low, high : ends of the range, which is extended to grid points.
    step : distance between neighbouring points of the grid.
    widest : largest width of a cell.

    Returns
    -------
    nodes, weights : float64

    Notes
    -----
    If f is analytic in the ellipse with foci at the ends of a cell and sum of semi-axes rho times its half-width, and
    at most M there, the rule with 6 nodes has an error of at most (64/15) M rho^-12/(1 - rho^-2) times the half-width
    (Trefethen 2013, theorem 19.3). Its callers choose cells on which M is at most 1e5 times the smallest density for
    rho = 40, which gives a relative error of 3e-14; that is below 1e-12 with the factors exp(-loss) of a split.
    """
    first, last = math.floor(low / step), math.ceil(high / step)
    parts = max(1, math.ceil(step / widest))
    edges = np.linspace(first, last, (last - first) * parts + 1) * step
    width = step / parts
    nodes = (edges[:-1, None] + (_NODES + 1) * (width / 2)).ravel()
    return nodes, np.tile(_WEIGHTS * (width / 2), len(edges) - 1)


@dataclass(frozen=True)
class DirichletLoss:
    """Privacy loss of a draw from Dirichlet(r counts + alpha) if one record moves from one cell to another. The loss is
    r log(w/(1 - w)), where w has a Beta(alpha + r, alpha) distribution.

    Parameters
    ----------
    r : weight of the moved record, > 0.
    alpha : parameter of an empty cell, > 0.

    Notes
    -----
    Given both cells' sum, the other cells have the same distribution before and after, so w = y_i/(y_i + y_j) is
    sufficient. Two empty cells are the worst pair: multiply w and 1 - w by an independent Gamma(2 alpha + r) variable,
    which has the same distribution under both files, add independent Gamma variables with the parameters r counts, and
    normalise. This post-processing turns Beta(alpha + r, alpha) and Beta(alpha, alpha + r) into the distributions of
    any other pair.
    """

    r: float
    alpha: float

    @property
    def step(self) -> None:
        """Return None, because the privacy losses of the Dirichlet mechanism are not on a lattice."""
        return None

    @property
    def spread(self) -> float:
        """Standard deviation of the privacy loss of the mechanism."""
        return self.r * math.sqrt(float(polygamma(1, self.alpha + self.r)) + float(polygamma(1, self.alpha)))

    def lattice(self, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The step of the grid is 1/100 of the standard deviation of
        the loss.
        """
        return self.gridded(self.spread / 100, log_mass)

    def _end(self, inner: float, outer: float, log_mass: float) -> float:
        """Return a number t with P(w/(1 - w) < exp(-t)) <= exp(-log_mass), for a random variable w with the
        distribution Beta(inner, outer). The bound uses that the density is at most 2 w^(inner - 1)/B(inner, outer) for
        w up to 1/2.
        """
        log_w = (math.log(inner / 2) + float(betaln(inner, outer)) - log_mass - 1) / inner
        log_w = min(log_w, -math.log(2))
        return math.log(-math.expm1(log_w)) - log_w

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The probability of each loss is split between the two
        neighbouring grid points. Cells are integrated by a Gauss-Legendre rule, and the probabilities are divided by
        their sum. The sum equals 1 minus the neglected probability.
        """
        r, a, b = self.r, self.alpha + self.r, self.alpha
        low, high = -r * self._end(a, b, log_mass), r * self._end(b, a, log_mass)
        losses, weights = _cells(low, high, step, min(r / 10, r / (4 * (a + b)), 0.1))
        up, down = np.logaddexp(0.0, -losses / r), np.logaddexp(0.0, losses / r)
        exponent = a * up + b * down
        masses = np.exp(exponent.min() - exponent) * weights
        relative = 2 * _QUADRATURE + 4 * UNIT * (float(exponent.max()) + 200)
        return split(losses, masses / masses.sum(), step=step, infinite=2 * math.exp(-log_mass), relative=relative)


@dataclass(frozen=True)
class TruncatedLaplaceLoss:
    """Privacy loss of discrete Laplace noise that is conditioned to lie between -support and support.

    Parameters
    ----------
    scale : scale of the noise, > 0.
    support : largest noise, integer >= 1.
    change : size of the change of the count, integer >= 1.
    """

    scale: float
    support: int
    change: int

    @property
    def step(self) -> float:
        """Distance between neighbouring points of the lattice of privacy losses. The losses are (|x + change| -
        |x|)/scale.
        """
        return 1 / self.scale

    @property
    def spread(self) -> float:
        """Largest finite privacy loss of the mechanism."""
        return self.change / self.scale

    def _parts(self) -> tuple[Array, Array, float, float]:
        """Return the privacy losses, as multiples of the lattice step, and their probabilities. Also return the
        probability of an infinite loss, and the relative error of the probabilities.
        """
        x = np.arange(-self.support, self.support + 1, dtype=np.float64)
        p = np.exp(-np.abs(x) / self.scale)
        p /= math.fsum(p.tolist())
        moved = x + self.change
        possible = moved <= self.support
        relative = 4 * UNIT * (min(self.support / self.scale, 750.0) + 8)
        lost = float(p[~possible].sum()) * (1 + relative + len(x) * UNIT)
        k = (np.abs(moved) - np.abs(x))[possible]
        return k, p[possible], lost, relative + len(x) * UNIT

    def lattice(self, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a lattice with step 1/scale."""
        k, p, lost, relative = self._parts()
        mass: Array = np.zeros(2 * self.change + 1)
        mass += np.bincount((k + self.change).astype(np.int64), p, minlength=len(mass))
        return Losses(self.step, 0.0, -self.change, mass, lost, relative)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The probability of each loss is split between the two
        neighbouring grid points.
        """
        k, p, lost, relative = self._parts()
        return split(k * self.step, p, step=step, infinite=lost, relative=relative)


@dataclass(frozen=True)
class PureLoss:
    """Privacy loss of randomised response, which is the least private of all epsilon-DP mechanisms.

    Parameters
    ----------
    epsilon : > 0.
    """

    epsilon: float

    @property
    def step(self) -> float:
        """Step of the lattice of possible privacy losses. The two losses epsilon and -epsilon are one step from 0."""
        return self.epsilon

    @property
    def spread(self) -> float:
        """Largest privacy loss of the mechanism."""
        return self.epsilon

    def _masses(self) -> Array:
        likely = 1 / (1 + math.exp(-self.epsilon))
        return np.array([likely * math.exp(-self.epsilon), likely])

    def lattice(self, log_mass: float) -> Losses:
        """Return the distribution of a privacy loss with the two possible values epsilon and -epsilon, on a lattice."""
        low, high = self._masses()
        return Losses(self.step, 0.0, -1, np.array([low, 0.0, high]), 0.0)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The probability of each loss is split between the two
        neighbouring grid points.
        """
        return split(np.array([-self.epsilon, self.epsilon]), self._masses(), step=step, infinite=0.0)


@dataclass(frozen=True)
class TableLoss:
    """Largest privacy loss over all pairs of neighbouring true counts, for a mechanism that is given by a table of
    P(released | true).

    Parameters
    ----------
    pairs : (losses, probabilities) of each pair of neighbouring rows in both orders; finite losses.
    """

    pairs: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]

    @property
    def step(self) -> None:
        """Return None, because the privacy losses of a table are not on a lattice."""
        return None

    @cached_property
    def spread(self) -> float:
        """Largest privacy loss over all pairs of neighbouring true counts."""
        return max(max(map(abs, losses)) for losses, _ in self.pairs)

    def lattice(self, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid whose step is 1/1000 of the largest loss."""
        return self.gridded(self.spread / 1000, log_mass)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return a privacy loss distribution on a grid. Its delta(epsilon) equals the largest delta(epsilon) over all
        pairs of neighbouring counts.
        """
        parts = []
        for losses, p in self.pairs:  # a difference of two logs, each at least -745, has an error below 2e-13
            lost = max(1 - math.fsum(p), 0.0) + len(p) * UNIT
            parts.append(split(np.array(losses) + 2e-13, np.array(p), step=step, infinite=lost, relative=2e-13))
        return largest(parts)


@dataclass(frozen=True)
class SplitLoss:
    """Worst-case privacy loss of the release of several noisy counts, if only the norm of the changes in the counts is
    known.

    Parameters
    ----------
    cases : possible changes, each the mechanisms of the counts that change.
    """

    cases: tuple[tuple[Mechanism, ...], ...]

    @property
    def step(self) -> None:
        """Return None, because the possible changes in the counts lead to privacy losses on different lattices."""
        return None

    @cached_property
    def spread(self) -> float:
        """Smallest approximate standard deviation of the privacy loss over all possible changes in the counts."""
        return min(one.spread for case in self.cases for one in case)

    def lattice(self, log_mass: float) -> Losses:
        """Return the privacy loss distribution on a grid. The step is 1/100 of the smallest approximate standard
        deviation of the loss over all possible changes in the counts.
        """
        return self.gridded(self.spread / 100, log_mass)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return a privacy loss distribution on a grid. Its delta(epsilon) is the largest delta(epsilon) over all
        possible changes.
        """
        losses = []
        for case in self.cases:
            first, *others = (one.gridded(step, log_mass + math.log(len(case))) for one in case)
            for other in others:
                mass = np.convolve(first.mass, other.mass)
                error = first.relative + other.relative + min(len(first.mass), len(other.mass)) * 2 * UNIT
                lost = first.infinite + other.infinite
                first = Losses(step, 0.0, first.first + other.first, mass, lost, error)
            losses.append(first)
        return largest(losses)


def largest(parts: list[Losses]) -> Losses:
    """Return a privacy loss distribution whose delta(epsilon) is the largest delta(epsilon) of the given distributions.
    The maximum is taken at every point of the common grid.

    Parameters
    ----------
    parts : losses on one grid.

    Returns
    -------
    Losses

    Notes
    -----
    Let s = exp(-step) and a_k the probability above point k. Then delta_k = (1 - s) a_k + s delta_(k + 1), so that a
    curve has a_k = (delta_k - s delta_(k + 1))/(1 - s), and the largest curve is convex in exp(epsilon), so that its
    a_k decrease. The rounding of the quotient is at most 8 delta_k/(1 - s) roundings; a_k is increased by that, and
    then by a running maximum from the right. Larger a_k have larger delta_k.
    """
    step = parts[0].step
    low, high = min(p.first for p in parts), max(p.first + len(p.mass) for p in parts)
    shrink, rest = math.exp(-step), -math.expm1(-step)
    deltas = []
    for part in parts:
        mass = np.zeros(high - low + 1)
        mass[part.first - low : part.first - low + len(part.mass)] = part.mass
        above = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)  # mass above each point
        curve = scipy.signal.lfilter([rest], [1.0, -shrink], above[::-1])[::-1]
        deltas.append(curve + part.infinite)
    best = np.maximum.reduce(deltas)
    infinite = float(best[-1])
    finite = best - infinite
    above = np.maximum(finite - shrink * np.append(finite[1:], 0.0), 0.0) / rest + best * (8 * UNIT / rest)
    above = np.maximum.accumulate(above[::-1])[::-1]
    above[-1] = 0.0
    mass = np.maximum(np.append(1 - infinite, above[:-1]) - above, 0.0)
    nonzero = np.flatnonzero(mass)
    relative = max(p.relative for p in parts) + 4 * (len(mass) + 1 / rest) * UNIT
    return Losses(step, 0.0, low + int(nonzero[0]), mass[nonzero[0] : nonzero[-1] + 1], infinite, relative)
