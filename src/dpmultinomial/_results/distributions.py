"""Distribution of one quantity: a discrete distribution, a continuous distribution, or a sample of draws.

All of them have the interface of `Marginal`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from .. import _checks
from .._accuracy import LEVEL, Accuracy
from .._printing import limits

Array = NDArray[np.float64]
TYPES = ("count", "share", "rate", "parameter", "question")
KINDS = ("central", "hdi")
_END = 1e-6  # smallest fraction of the mass outside the shortest interval that is on one side


class Unavailable(TypeError):
    """Error that is raised if a distribution does not have the requested property. The message gives the reason."""


class Marginal(ABC):
    """Distribution of one quantity given the release.

    Parameters
    ----------
    name : name of the quantity.
    type : one of `TYPES`.
    accuracy : accuracy of the values computed from this distribution.
    """

    def __init__(self, name: str, type: str, accuracy: Accuracy) -> None:
        self.name, self.type, self.accuracy = name, _checks.one_of("type", type, TYPES), accuracy

    @abstractmethod
    def mean(self) -> float:
        """Return the expected value of the quantity given the release."""

    @abstractmethod
    def sd(self) -> float:
        """Return the standard deviation of the distribution."""

    def variance(self) -> float:
        """Return the variance of the distribution."""
        return self.sd() ** 2

    @abstractmethod
    def quantile(self, q: ArrayLike) -> Array:
        """Return the smallest x with P(quantity <= x) >= q.

        Parameters
        ----------
        q : levels in [0, 1], any shape; strictly between 0 and 1 for a log odds ratio, whose range has no ends.

        Returns
        -------
        float64, of the shape of `q`.

        Raises
        ------
        ValueError, TypeError
            If a level is not a number in this range.
        """

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Array:
        """Return P(quantity <= x), with the shape of `x`. For a rate or share with a closed form, `x` must lie in [0,
        1]; otherwise, ValueError is raised.
        """

    @abstractmethod
    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Draw independent values, as an array of shape (size,). Draws of a chain are resampled with replacement."""

    @abstractmethod
    def mode(self) -> float:
        """Return the most probable value or the point with the highest density, or raise `Unavailable` if there is no
        mode.
        """

    def median(self) -> float:
        """Return the median of the quantity, which is the 0.5 quantile."""
        return float(self.quantile(0.5))

    def interval(self, level: float = LEVEL, *, kind: str = "central") -> tuple[float, float]:
        """Return the limits of an interval that contains the quantity with probability at least `level`.

        Parameters
        ----------
        level : probability level, in (0, 1).
        kind : ``"central"``, with equal probabilities on both sides; ``"hdi"``, the shortest interval.

        Returns
        -------
        (lower, upper)

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid.
        """
        level, tail = _checks.inside("level", level), (1 - level) / 2
        if _checks.one_of("kind", kind, KINDS) == "hdi":
            return self._shortest(level)
        lower, upper = self.quantile([tail, 1 - tail])
        return float(lower), float(upper)

    def _shortest(self, level: float) -> tuple[float, float]:
        def ends(tail: float) -> Array:
            return self.quantile([tail, tail + level])

        def width(tail: float) -> float:
            lower, upper = ends(tail)
            return float(upper - lower)

        rest = 1.0 - level
        grid = rest * np.concatenate([[_END], np.linspace(0, 1, 41)[1:-1], [1 - _END]])  # ends may be infinite
        position = int(np.argmin([width(tail) for tail in grid]))
        bounds = grid[max(position - 1, 0)], grid[min(position + 1, len(grid) - 1)]
        optimum = minimize_scalar(width, bounds=bounds, method="bounded", options={"xatol": 1e-9})
        lower, upper = ends(min((optimum.x, grid[position]), key=width))
        return float(lower), float(upper)

    def pdf(self, x: ArrayLike) -> Array:
        """Return the posterior density at `x`, with the shape of `x`. Raise `Unavailable` if the quantity is an integer
        or represented by draws.
        """
        raise Unavailable(f"{self.name}: {self._no_density}")

    def logpdf(self, x: ArrayLike) -> Array:
        """Return the log of the density (`pdf`) at `x`."""
        with np.errstate(divide="ignore"):
            return np.log(self.pdf(x))

    def pmf(self, x: ArrayLike) -> Array:
        """Return P(quantity = x), with the shape of `x`. Raise `Unavailable` if the quantity is real-valued or
        represented by draws.
        """
        raise Unavailable(f"{self.name}: {self._no_mass}")

    def logpmf(self, x: ArrayLike) -> Array:
        """Return the log of `pmf(x)`, the probability of `x`."""
        with np.errstate(divide="ignore"):
            return np.log(self.pmf(x))

    _no_density = "a discrete distribution has no density: use pmf"
    _no_mass = "the probability of a single value is 0 for a continuous distribution: use pdf"

    def __repr__(self) -> str:
        lower, upper = self.interval()
        mean = f"{self.mean():.6g}" if abs(self.mean()) < 1e6 else f"{self.mean():.0f}"
        numbers = f"mean {mean}, sd {self.sd():.3g}, {100 * LEVEL:g} % interval {limits(lower, upper)}"
        return f"{self.type} {self.name}: {numbers}, {self.accuracy.status}"


_AT_END = 1e-2  # fraction of the step of a grid; a maximum that is closer to the end of the grid is at the end
_TIE = 1e-12  # tolerance for ties: probabilities that differ by less are equal


class Discrete(Marginal):
    """Distribution of a quantity with a list of possible values, such as a count or a share of counts.

    Parameters
    ----------
    values : values, (n,), increasing.
    probabilities : float64 (n,), non-negative; normalised to a sum of 1.
    name, type, accuracy : attributes of every `Marginal`.
    """

    def __init__(
        self, values: ArrayLike, probabilities: ArrayLike, *, name: str, type: str, accuracy: Accuracy
    ) -> None:
        super().__init__(name, type, accuracy)
        p = np.asarray(probabilities, dtype=np.float64)
        kept = p > 0
        self.values = np.asarray(values)[kept]
        self.probabilities: Array = p[kept] / p[kept].sum()
        self._below: Array = np.cumsum(self.probabilities)
        self._from: Array = np.cumsum(self.probabilities[::-1])[::-1]  # P(quantity >= value)

    def mean(self) -> float:
        """Return the expected value of the quantity given the release."""
        return float(self.values @ self.probabilities)

    def sd(self) -> float:
        """Return the standard deviation of the distribution."""
        return float(np.sqrt((self.values - self.mean()) ** 2 @ self.probabilities))

    def mode(self) -> float:
        """Return the most probable value, or the smallest of several equally probable values."""
        return float(self.values[np.argmax(self.probabilities)])

    def cdf(self, x: ArrayLike) -> Array:
        """Return P(quantity <= x)."""
        place = np.searchsorted(self.values, np.asarray(x, dtype=np.float64), side="right")
        return np.asarray(np.where(place > 0, np.minimum(self._below[np.maximum(place, 1) - 1], 1.0), 0.0))

    def sf(self, x: ArrayLike) -> Array:
        """Return P(quantity > x), with full relative accuracy for small probabilities."""
        place = np.searchsorted(self.values, np.asarray(x, dtype=np.float64), side="right")
        inside = np.minimum(place, len(self.values) - 1)
        return np.asarray(np.where(place < len(self.values), np.minimum(self._from[inside], 1.0), 0.0))

    def pmf(self, x: ArrayLike) -> Array:
        """Return P(quantity = x)."""
        points = np.asarray(x, dtype=np.float64)
        place = np.minimum(np.searchsorted(self.values, points), len(self.values) - 1)
        return np.asarray(np.where(self.values[place] == points, self.probabilities[place], 0.0))

    def quantile(self, q: ArrayLike) -> Array:
        """Return the smallest value with P(quantity <= value) >= q. Levels above 1/2 are computed from the upper
        tail.
        """
        levels = _checks.fraction("q", q)
        low = np.searchsorted(self._below, levels * (1 - _TIE))
        rest = (1 - levels) * (1 + _TIE)  # P(quantity > value) <= rest
        high = len(self.values) - 1 - np.searchsorted(self._from[::-1], rest, side="right")
        place = np.where(levels <= 0.5, low, np.maximum(high, 0))
        return np.asarray(self.values[np.minimum(place, len(self.values) - 1)], dtype=np.float64)

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Draw independent values, as an array of shape (size,)."""
        u = _checks.generator(rng).random(_checks.integer("size", size)) * self._below[-1]
        return np.asarray(self.values[np.searchsorted(self._below[:-1], u, side="right")])

    def _shortest(self, level: float) -> tuple[float, float]:
        ends = np.searchsorted(self._below, self._below - self.probabilities + level * (1 - _TIE))
        inside = ends < len(self.values)
        starts = np.flatnonzero(inside)
        widths = self.values[ends[inside]] - self.values[starts]
        shortest = int(np.argmin(widths))
        return float(self.values[starts[shortest]]), float(self.values[ends[inside][shortest]])


class RealLaw(Protocol):
    """Interface of the distributions of real numbers that `Continuous` accepts."""

    def mean(self) -> float: ...

    def variance(self) -> float: ...

    def pdf(self, x: ArrayLike) -> Array: ...

    def cdf(self, x: ArrayLike) -> Array: ...

    def quantile(self, q: ArrayLike) -> Array: ...


class Continuous(Marginal):
    """Continuous distribution of a real quantity, with a probability density.

    Parameters
    ----------
    law : distribution with moments, density, distribution function and quantiles.
    draw : function of (size, rng) that returns draws; None: inversion of `law.quantile`.
    name, type, accuracy : attributes of every `Marginal`.
    """

    def __init__(
        self,
        law: RealLaw,
        *,
        name: str,
        type: str,
        accuracy: Accuracy,
        draw: Callable[[int, np.random.Generator], Array] | None = None,
    ) -> None:
        super().__init__(name, type, accuracy)
        self.law, self._draw = law, draw

    def mean(self) -> float:
        """Return the expected value of the quantity given the release."""
        return float(self.law.mean())

    def sd(self) -> float:
        """Return the standard deviation of the distribution."""
        return float(np.sqrt(self.law.variance()))

    def pdf(self, x: ArrayLike) -> Array:
        """Return the density of the quantity at `x`."""
        return np.asarray(self.law.pdf(x))

    def cdf(self, x: ArrayLike) -> Array:
        """Return P(quantity <= x)."""
        return np.asarray(self.law.cdf(x))

    def quantile(self, q: ArrayLike) -> Array:
        """Return the quantile x at the level q, which satisfies P(quantity <= x) = q."""
        return np.asarray(self.law.quantile(q))

    def mode(self) -> float:
        """Return the highest interior maximum of the density, or raise `Unavailable` if the density has no interior
        maximum.
        """
        law_mode = getattr(self.law, "mode", None)
        location = law_mode() if law_mode else self._highest()
        if location is None:
            raise Unavailable(
                f"{self.name} has no mode, because the density is infinite at an end of the range: use the median"
            )
        return float(location)

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Draw independent values, as an array of shape (size,)."""
        size, rng = _checks.integer("size", size), _checks.generator(rng)
        return self.quantile(rng.random(size)) if self._draw is None else self._draw(size, rng)

    def _highest(self) -> float | None:
        """Return the highest maximum of the density at which it is finite, or None if the density is infinite at an end
        of its range and has no interior maximum.
        """
        lower, upper = self.quantile([1e-4, 1 - 1e-4])
        grid = np.linspace(lower, upper, 513)
        height = self.pdf(grid)
        position = int(np.argmax(height))
        if position in (0, 512):
            end = float(self.quantile(float(position > 0)))
            with np.errstate(all="ignore"):
                if height[position] <= float(self.pdf(end)) < np.inf:
                    return end
        inner = 1 + np.flatnonzero((height[1:-1] >= height[:-2]) & (height[1:-1] >= height[2:]))
        if not len(inner):
            return self._peak(grid[max(position - 1, 0)], grid[min(position + 1, 512)])
        position = int(inner[np.argmax(height[inner])])
        return self._peak(grid[position - 1], grid[position + 1])

    def _peak(self, lower: float, upper: float) -> float | None:
        """Return the maximum of the density between two points, or None if the density is highest at a point."""
        optimum = minimize_scalar(
            lambda x: -float(self.pdf(x)), bounds=(lower, upper), method="bounded", options={"xatol": 1e-10}
        )
        inside = min(optimum.x - lower, upper - optimum.x) > _AT_END * (upper - lower)
        return float(optimum.x) if inside else None


class Draws(Marginal):
    """Empirical distribution of a sample of draws. The draws are independent or come from Markov chains.

    Parameters
    ----------
    draws : float64 (n,) or (chains, n).
    name, type, accuracy : attributes of every `Marginal`.
    tails : tail indices of the distribution from which the draws come, at its lower and its upper end. A moment of the
        order of a tail index, or of a higher order, does not exist; the moments of the draws themselves are finite. NaN
        if the tails are not known, so the mean and the standard deviation are not stated.
    discrete : whether the quantity is discrete, so that a quantile is one of the draws. By default, only counts and
        shares are discrete.
    """

    _no_density = _no_mass = (
        "a sample of draws has no density and no probabilities of single values: use cdf or quantile"
    )

    def __init__(
        self,
        draws: ArrayLike,
        *,
        name: str,
        type: str,
        accuracy: Accuracy,
        tails: tuple[float, float] = (np.inf, np.inf),
        discrete: bool | None = None,
    ) -> None:
        super().__init__(name, type, accuracy)
        self.draws: Array = np.sort(np.asarray(draws, dtype=np.float64), axis=None)
        self.tails = tails
        self.discrete = type in ("count", "share") if discrete is None else discrete

    def mean(self) -> float:
        """Return the mean of the draws of the quantity. If the distribution has no finite mean, return an infinite
        number, or NaN if both tails are too long or not known.
        """
        low, high = (not tail > 1 for tail in self.tails)
        if low or high:
            return float("nan") if low and high else -np.inf if low else np.inf
        return float(self.draws.mean())

    def sd(self) -> float:
        """Return the standard deviation of the draws of the quantity, or infinity if the distribution has no finite
        variance.
        """
        if np.isnan(self.tails).any():
            return float("nan")
        return np.inf if min(self.tails) <= 2 else float(self.draws.std(ddof=1))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the fraction of the draws that are at most `x`."""
        return np.searchsorted(self.draws, np.asarray(x, dtype=np.float64), side="right") / len(self.draws)

    def quantile(self, q: ArrayLike) -> Array:
        """Return quantiles of the draws, by interpolation. For a discrete quantity, return the smallest draw x such
        that the fraction of the draws that are at most x is at least `q`.
        """
        method: Any = "inverted_cdf" if self.discrete else "linear"
        return np.asarray(np.quantile(self.draws, _checks.fraction("q", q), method=method))

    def mode(self) -> float:
        """Raise `Unavailable`, because a sample has no mode."""
        raise Unavailable(f"{self.name}: {self._no_density}")

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Draw values from the sample with replacement, as an array of shape (size,)."""
        return _checks.generator(rng).choice(self.draws, size=_checks.integer("size", size))
