"""Privacy loss distributions of noisy counts, and the smallest epsilon of their composition at a given delta.

The privacy loss of an outcome is the log of its probability under a file over that under the neighbouring file. Losses
of independent releases add, and delta(epsilon) is the expected value of max(1 - exp(epsilon - loss), 0). Discrete noise
has its losses on a lattice. If all releases share one lattice, the sums are exact. Otherwise every loss is split
between the two neighbouring points of a common grid such that both total probabilities stay the same, which can only
increase delta(epsilon) (Doroshenko et al. 2022, "connect the dots").

Sums of losses are convolved by a Fourier transform after exponential tilting at the Chernoff point, so that the errors
of rounding are relative to the answer. They are bounded and added to delta, as is all neglected probability: the result
is an upper bound at any delta.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy  # its signal processing loads on first use
from numpy.typing import NDArray
from scipy import fft
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

Array = NDArray[np.float64]

_FINE = 50.0  # points of the grid per standard deviation of the loss of the most precise mechanism
_MOST = 2**21  # points of the grid
_WIDE = 2**17  # points of the lattice of a single mechanism
_NEGLECTED = 25.0  # log of delta over the mass that a mechanism may neglect
_INFLATED = 1e-9  # relative allowance for rounding, besides the bound on the errors of the transform
_ROUNDS = 6  # Fourier transforms, each with the power of the last answer
_NEAR = 0.02  # relative change of the answer below which its power is kept
_INSIDE = 0.98  # largest share of the largest loss at which a power is sought
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


@dataclass(frozen=True)
class Losses:
    """Distribution of a privacy loss on a lattice.

    Parameters
    ----------
    step : distance of the lattice values, > 0.
    offset : lattice value number 0.
    first : number of the first lattice value with a probability.
    mass : probabilities under the file, from `first` on.
    infinite : probability of an infinite loss, with all neglected probability.
    """

    step: float
    offset: float
    first: int
    mass: Array
    infinite: float

    @property
    def values(self) -> Array:
        """Losses of the lattice values."""
        return np.asarray(self.offset + (self.first + np.arange(len(self.mass))) * self.step, dtype=np.float64)


class Mechanism(Protocol):
    """Interface of a mechanism whose loss distribution is known; mechanisms are hashable.

    ``step``      distance of the lattice of its losses; None if they are not on a lattice
    ``spread``    standard deviation of the loss, roughly
    ``lattice``   exact losses on that lattice, with log of the neglected mass below -`log_mass`
    ``gridded``   losses on a grid of another step, an upper bound
    """

    @property
    def step(self) -> float | None: ...

    @property
    def spread(self) -> float: ...

    def lattice(self, log_mass: float) -> Losses: ...

    def gridded(self, step: float, log_mass: float) -> Losses: ...


def split(losses: Array, masses: Array, *, step: float, infinite: float) -> Losses:
    """Split losses between the neighbouring points of a grid, keeping the total probability under both files.

    Parameters
    ----------
    losses : finite losses (n,).
    masses : their probabilities under the file (n,).
    step : distance of the points of the grid, > 0.
    infinite : probability of an infinite loss.

    Returns
    -------
    Losses
        Its delta(epsilon) is at least that of the given losses, for every epsilon.
    """
    place = np.floor(losses / step)
    above = np.clip(losses - place * step, 0.0, step)
    upper = masses * (-np.expm1(-above) / -np.expm1(-step))
    first = int(place.min())
    at = (place - first).astype(np.int64)
    mass: Array = np.zeros(int(at.max()) + 2)
    mass += np.bincount(at, np.maximum(masses - upper, 0.0), minlength=len(mass))
    mass += np.bincount(at + 1, upper, minlength=len(mass))
    return Losses(step, 0.0, first, mass, infinite)


@dataclass(frozen=True)
class DiscreteGaussianLoss:
    """Loss of discrete Gaussian noise on a count that changes by an integer.

    Parameters
    ----------
    sigma : parameter of the noise, > 0.
    change : size of the change, integer >= 1.
    """

    sigma: float
    change: int

    @property
    def step(self) -> float:
        """Distance of the lattice of losses, which is (2 x + change) change/(2 sigma^2)."""
        return 1 / self.sigma**2

    @property
    def spread(self) -> float:
        """Standard deviation of the loss of continuous noise."""
        return self.change / self.sigma

    def _noise(self, log_mass: float) -> tuple[Array, Array, float]:
        half = int(self.sigma * math.sqrt(2 * (log_mass + 1))) + 2
        x = np.arange(-half, half + 1, dtype=np.float64)
        weights = np.exp(-((x / self.sigma) ** 2) / 2)
        total = math.fsum(weights.tolist()) if half < _WIDE else float(weights.sum())
        return x, weights / total, 2 * math.exp(-log_mass)

    def lattice(self, log_mass: float) -> Losses:
        """Return the losses on their lattice, in steps of 1/sigma^2."""
        x, p, lost = self._noise(log_mass)
        mass = np.zeros((len(x) - 1) * self.change + 1)
        mass[:: self.change] = p
        return Losses(self.step, self.change**2 * self.step / 2, int(x[0]) * self.change, mass, lost)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the losses split between the points of a grid."""
        x, p, lost = self._noise(log_mass)
        losses = (2 * x * self.change + self.change**2) * self.step / 2
        return split(losses, p, step=step, infinite=lost)


@dataclass(frozen=True)
class DiscreteLaplaceLoss:
    """Loss of discrete Laplace noise on a count that changes by an integer.

    Parameters
    ----------
    scale : scale of the noise, > 0.
    change : size of the change, integer >= 1.
    """

    scale: float
    change: int

    @property
    def step(self) -> float:
        """Distance of the lattice of losses, which is (|x + change| - |x|)/scale."""
        return 1 / self.scale

    @property
    def spread(self) -> float:
        """Largest loss."""
        return self.change / self.scale

    def _losses(self) -> tuple[Array, Array]:
        """Return the losses, in steps, and their probabilities."""
        d, a = self.change, math.exp(-1 / self.scale)
        k = np.arange(-d, d + 1, 2, dtype=np.float64)
        mass = math.tanh(0.5 / self.scale) * np.exp(-np.abs(k - d) / 2 / self.scale)  # at x = (k - d)/2 inside
        mass[-1] = 1 / (1 + a)  # all x >= 0
        mass[0] = a**d / (1 + a)  # all x <= -d
        return k, mass

    def lattice(self, log_mass: float) -> Losses:
        """Return the losses on their lattice, in steps of 1/scale."""
        k, p = self._losses()
        mass = np.zeros(2 * self.change + 1)
        mass[::2] = p
        return Losses(self.step, 0.0, int(k[0]), mass, 0.0)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the losses split between the points of a grid."""
        k, p = self._losses()
        return split(k * self.step, p, step=step, infinite=0.0)


@dataclass(frozen=True)
class LaplaceLoss:
    """Loss of Laplace noise on a number that changes.

    Parameters
    ----------
    scale : scale of the noise, > 0.
    change : size of the change, > 0.
    """

    scale: float
    change: float

    @property
    def step(self) -> None:
        """Return None, because the losses are not on a lattice."""
        return None

    @property
    def spread(self) -> float:
        """Largest loss."""
        return self.change / self.scale

    def lattice(self, log_mass: float) -> Losses:
        """Return the losses on a grid of 1/1000 of the largest loss."""
        return self.gridded(self.spread / 1000, log_mass)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the losses split between the points of a grid: 1/2 at the largest loss t, exp(-t)/2 at -t, and the
        density exp((loss - t)/2)/4 between, which has closed forms; a partial cell at an end counts at its upper end.
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
        e = math.exp(step / 2)
        up = np.exp((cells - t) / 2) * (e * (e - 1) / (e + 1) / 2)  # of the mass exp((cell - t)/2) (e - 1)/2
        down = np.exp((cells - t) / 2) * ((e - 1) / (e + 1) / 2)
        mass = np.zeros(max(high, points.first + len(points.mass) - 1) - min(low, points.first) + 1)
        start = min(low, points.first)
        mass[points.first - start : points.first - start + len(points.mass)] += points.mass
        mass[low - start : high - start] += down
        mass[low - start + 1 : high - start + 1] += up
        return Losses(step, 0.0, start, mass, 0.0)


@dataclass(frozen=True)
class GaussianLoss:
    """Loss of Gaussian noise on a number that changes: normal with mean m^2/2 and variance m^2, m = change/sigma.

    Parameters
    ----------
    sigma : standard deviation of the noise, > 0.
    change : size of the change, > 0.
    """

    sigma: float
    change: float

    @property
    def step(self) -> None:
        """Return None, because the losses are not on a lattice."""
        return None

    @property
    def spread(self) -> float:
        """Standard deviation of the loss."""
        return self.change / self.sigma

    def lattice(self, log_mass: float) -> Losses:
        """Return the losses on a grid of 1/100 of their standard deviation."""
        return self.gridded(self.spread / 100, log_mass)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the losses split between the points of a grid; cells are integrated by Gauss and Legendre's rule."""
        m = self.spread
        half = m * math.sqrt(2 * (log_mass + 1))
        low, high = math.floor((m * m / 2 - half) / step), math.ceil((m * m / 2 + half) / step)
        parts = max(1, math.ceil(2 * step / m))  # cells are at most half a standard deviation wide
        edges = np.linspace(low, high, (high - low) * parts + 1) * step
        width = step / parts
        losses = (edges[:-1, None] + (_NODES + 1) * (width / 2)).ravel()
        density = np.exp(-(((losses - m * m / 2) / m) ** 2) / 2) / (m * math.sqrt(2 * math.pi))
        masses = density * np.tile(_WEIGHTS * (width / 2), len(edges) - 1)
        return split(losses, masses, step=step, infinite=2 * math.exp(-log_mass))


@dataclass(frozen=True)
class PureLoss:
    """Loss of randomised response, the least private mechanism that is epsilon-DP.

    Parameters
    ----------
    epsilon : > 0.
    """

    epsilon: float

    @property
    def step(self) -> float:
        """Distance of the two losses, epsilon and -epsilon, from 0."""
        return self.epsilon

    @property
    def spread(self) -> float:
        """Largest loss."""
        return self.epsilon

    def _masses(self) -> Array:
        likely = 1 / (1 + math.exp(-self.epsilon))
        return np.array([likely * math.exp(-self.epsilon), likely])

    def lattice(self, log_mass: float) -> Losses:
        """Return the two losses on their lattice."""
        low, high = self._masses()
        return Losses(self.step, 0.0, -1, np.array([low, 0.0, high]), 0.0)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return the losses split between the points of a grid."""
        return split(np.array([-self.epsilon, self.epsilon]), self._masses(), step=step, infinite=0.0)


@dataclass(frozen=True)
class TableLoss:
    """Largest loss of a table of P(released | true) between neighbouring true counts, over all counts.

    Parameters
    ----------
    pairs : (losses, probabilities) of each pair of neighbouring rows in both orders; finite losses.
    """

    pairs: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]

    @property
    def step(self) -> None:
        """Return None, because the losses are not on a lattice."""
        return None

    @cached_property
    def spread(self) -> float:
        """Largest loss of all pairs."""
        return max(max(map(abs, losses)) for losses, _ in self.pairs)

    def lattice(self, log_mass: float) -> Losses:
        """Return the losses on a grid of 1/1000 of the largest loss."""
        return self.gridded(self.spread / 1000, log_mass)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return losses on a grid whose delta(epsilon) is the largest of all pairs."""
        parts = [split(np.array(a), np.array(p), step=step, infinite=max(1 - math.fsum(p), 0.0)) for a, p in self.pairs]
        return largest(parts)


@dataclass(frozen=True)
class SplitLoss:
    """Largest loss of noise on several counts whose changes are known only by their norm.

    Parameters
    ----------
    cases : possible changes, each the mechanisms of the counts that change.
    """

    cases: tuple[tuple[Mechanism, ...], ...]

    @property
    def step(self) -> None:
        """Return None, because the cases have different lattices."""
        return None

    @cached_property
    def spread(self) -> float:
        """Smallest loss of all mechanisms."""
        return min(one.spread for case in self.cases for one in case)

    def lattice(self, log_mass: float) -> Losses:
        """Return losses on a grid of 1/100 of the smallest spread."""
        return self.gridded(self.spread / 100, log_mass)

    def gridded(self, step: float, log_mass: float) -> Losses:
        """Return losses on a grid whose delta(epsilon) is the largest of all cases."""
        found = []
        for case in self.cases:
            first, *others = (one.gridded(step, log_mass + math.log(len(case))) for one in case)
            for other in others:
                mass = np.convolve(first.mass, other.mass)
                lost = first.infinite + other.infinite
                first = Losses(step, 0.0, first.first + other.first, mass, lost)
            found.append(first)
        return largest(found)


def largest(parts: list[Losses]) -> Losses:
    """Return losses whose delta(epsilon) is, at every point of their common grid, the largest of several.

    Parameters
    ----------
    parts : losses on one grid.

    Returns
    -------
    Losses
    """
    step = parts[0].step
    low, high = min(p.first for p in parts), max(p.first + len(p.mass) for p in parts)
    shrink = math.exp(-step)
    deltas = []
    for part in parts:
        mass = np.zeros(high - low + 1)
        mass[part.first - low : part.first - low + len(part.mass)] = part.mass
        above = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)  # mass above each point
        found = scipy.signal.lfilter([-math.expm1(-step)], [1.0, -shrink], above[::-1])[::-1]
        deltas.append(found + part.infinite)
    best = np.maximum.reduce(deltas)
    infinite = float(best[-1])
    finite = best - infinite
    above = (finite - shrink * np.append(finite[1:], 0.0)) / -math.expm1(-step)
    above = np.minimum.accumulate(np.maximum(above, 0.0)) * (1 + _INFLATED)
    mass = np.maximum(np.append(1 - infinite, above[:-1]) - above, 0.0)
    some = np.flatnonzero(mass)
    return Losses(step, 0.0, low + int(some[0]), mass[some[0] : some[-1] + 1], infinite)


class Composition:
    """Composition of mechanisms that were fixed in advance.

    Parameters
    ----------
    often : mechanism -> number of releases.
    delta : the delta for which an epsilon is sought, in (0, 1): neglected probability is small relative to it.
    """

    def __init__(self, often: Mapping[Mechanism, int], delta: float) -> None:
        log_mass = _NEGLECTED - math.log(delta) + math.log(sum(often.values()))
        steps = {one.step for one in often}
        step = next(iter(steps)) if len(steps) == 1 else None
        self.parts = [(one.lattice(log_mass), n) for one, n in often.items()] if step is not None else []
        if step is None or sum(len(p.mass) * n for p, n in self.parts) > _MOST:
            self.parts = self._gridded(often, log_mass)
        self.infinite = -math.expm1(math.fsum(n * math.log1p(-p.infinite) for p, n in self.parts))
        self.releases = sum(n for _, n in self.parts)

    @staticmethod
    def _gridded(often: Mapping[Mechanism, int], log_mass: float) -> list[tuple[Losses, int]]:
        step = min(one.spread for one in often) / _FINE
        reach = sum(n * one.spread * math.sqrt(8 * (log_mass + 1)) for one, n in often.items())
        step = max(step, reach / _MOST)
        return [(one.gridded(step, log_mass), n) for one, n in often.items()]

    def log_moment(self, power: float) -> float:
        """Return the log of the expected value of exp(power loss), finite losses only."""
        return float(math.fsum(n * _moment(p, power) for p, n in self.parts))

    def _chernoff(self, epsilon: float) -> tuple[float, float]:
        """Return the power with the smallest Chernoff bound of P(loss > epsilon), and the log of the bound."""

        def bound(log_power: float) -> float:
            power = math.exp(log_power)
            return self.log_moment(power) - power * epsilon

        grid = np.linspace(-12.0, min(12.0, math.log(500 / self.parts[0][0].step)), 25)
        found = [bound(x) for x in grid]
        at = int(np.argmin(found))
        best = minimize_scalar(bound, bounds=(grid[max(at - 1, 0)], grid[min(at + 1, 24)]), method="bounded")
        return (math.exp(best.x), float(best.fun)) if best.fun < found[at] else (math.exp(grid[at]), found[at])

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the smallest epsilon >= 0 at `delta`; inf below the probability of infinite losses.

        Parameters
        ----------
        delta : in (0, 1).

        Returns
        -------
        float
        """
        if self.infinite >= delta:
            return math.inf
        left = math.log(delta - self.infinite)
        top = math.fsum(n * float(p.values[-1]) for p, n in self.parts)
        if top <= 0:
            return 0.0
        found = best = top
        start = self._start(left, top)
        for _ in range(_ROUNDS):  # any power gives an upper bound; that at the answer gives the smallest
            found = self._solved(self._tail(self._chernoff(start)[0]), left, top)
            best = min(best, found)
            if abs(found - start) <= _NEAR * found:
                break
            start = min(found, _INSIDE * top)
        return best

    def _start(self, left: float, top: float) -> float:
        """Return the epsilon of the Chernoff bound, at most a little below the largest loss."""
        high = _INSIDE * top
        if self._chernoff(high)[1] >= left or self._chernoff(0.0)[1] <= left:
            return high if self._chernoff(high)[1] >= left else 0.0
        return float(brentq(lambda e: self._chernoff(e)[1] - left, 0.0, high, xtol=1e-6 * top))

    @staticmethod
    def _solved(tail: "_Tail", left: float, top: float) -> float:
        if tail(0.0) <= left:
            return 0.0
        return float(brentq(lambda e: tail(e) - left, 0.0, top, xtol=1e-13, rtol=1e-14)) * (1 + 1e-13)

    def _tail(self, power: float) -> "_Tail":
        first, offset, length, step = 0, 0.0, 1, self.parts[0][0].step
        for part, n in self.parts:
            first, offset = first + n * part.first, offset + n * part.offset
            length += n * (len(part.mass) - 1)
        size = fft.next_fast_len(length, real=True)
        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        for part, n in self.parts:
            logs = _logs(part) + power * part.values
            tilted = np.exp(logs - logs.max())
            spectrum *= fft.rfft(tilted / tilted.sum(), size) ** n
        mass = np.maximum(fft.irfft(spectrum, size)[:length], 0.0)
        error = 2.3e-16 * (4 * math.log2(size + 2) + 4 * self.releases)  # of each probability
        values = np.asarray(offset + (first + np.arange(length)) * step, dtype=np.float64)
        return _Tail(values, mass, error, power, self.log_moment(power))


class _Tail:
    """Log of an upper bound on delta(epsilon) without infinite losses, from tilted probabilities of the total loss."""

    def __init__(self, values: Array, mass: Array, error: float, power: float, log_moment: float) -> None:
        self.values, self.power, self.log_moment = values, power, log_moment
        self.mass = mass + error

    def __call__(self, epsilon: float) -> float:
        """Return the log of the bound; below -700 if there are no larger losses."""
        at = int(np.searchsorted(self.values, epsilon, side="right"))
        gap = self.values[at:] - epsilon
        found = float((self.mass[at:] * np.exp(-self.power * gap) * -np.expm1(-gap)).sum()) * (1 + _INFLATED)
        return math.log(max(found, 1e-305)) + self.log_moment - self.power * epsilon if len(gap) else -1e4


def _logs(part: Losses) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(part.mass)


def _moment(part: Losses, power: float) -> float:
    return float(logsumexp(_logs(part) + power * part.values))


def epsilon(mechanisms: Counter[Mechanism], delta: float) -> float:
    """Return an upper bound on the epsilon of a composition at a given delta, accurate to 1e-3 or better.

    Parameters
    ----------
    mechanisms : mechanism -> number of releases.
    delta : in (0, 1).

    Returns
    -------
    float
        Exact to about 1e-9 if all noise is discrete Gaussian of one sigma, or discrete Laplace of one scale; inf if no
        epsilon holds at this delta.

    Raises
    ------
    ValueError
        If there is no mechanism, or `delta` is not in (0, 1).
    """
    if not mechanisms or not 0 < delta < 1:
        raise ValueError(f"epsilon needs mechanisms and a delta in (0, 1), got {len(mechanisms)} and {delta}")
    return Composition(mechanisms, delta).epsilon(delta)
