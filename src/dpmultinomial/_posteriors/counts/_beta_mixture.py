"""Finite mixtures of Beta laws: density, distribution function, quantiles, moments and mode without simulation."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit, logit, xlog1py, xlogy

from ... import _checks
from ..._honesty import EXACT, Honesty
from .panel_density import share_at
from .tailed_law import TailedLaw

ERROR = 1e-11  # relative error of the probability of the nearer tail at every quantile: a statement, read by nothing
_ACCEPTED = 9.5e-12  # what a quantile in the centre may be off by before its tail is solved in logs
CDF_ERROR = 1e-13  # relative error of `cdf` and `sf`
_NEGLIGIBLE = 1e-17  # total weight of the components that is neglected in the centre
_TAIL = 1e-6  # probabilities of a tail below this are sums over all components
_FAINT, _FAINTER = 1e-32, 1e-12  # weight that tails down to 1e-20 may neglect; the same over the tail, further out
_FARTHEST = 745.0  # largest |log(x/(1 - x))|: beyond it x is 0 or 1 in float64
_CHUNK = 2_000_000  # component x point pairs evaluated at once
Array = NDArray[np.float64]
Components = tuple[Array, Array, Array]


class BetaMixture(TailedLaw):
    """Mixture of Beta(a_j, b_j) with weights w_j.

    Probabilities of either tail have the relative error `CDF_ERROR` wherever they are above 1e-300, and at every
    quantile that of the nearer tail has the relative error `ERROR`.

    Parameters
    ----------
    a, b : float64 (n,), positive.
    weights : float64 (n,), non-negative; scaled to 1. Components whose weights add up to less than 1e-17 are neglected
        of everything but tails.
    tails : from a weight to (a, b, weights) of the same mixture, with all components but those of less than this
        weight together; None: all are given.
    least : levels nearer to 0 or 1 are refused, because the weights themselves are not known to such digits.
    honesty : state of the weights.
    """

    honesty: Honesty = EXACT

    def __init__(
        self,
        a: ArrayLike,
        b: ArrayLike,
        weights: ArrayLike,
        *,
        tails: Callable[[float], Components] | None = None,
        least: float = 0.0,
        honesty: Honesty = EXACT,
    ) -> None:
        given = np.asarray(weights, dtype=np.float64)
        shares: Array = given / given.sum()
        order = np.argsort(shares, kind="stable")
        kept = np.sort(order[np.cumsum(shares[order]) > _NEGLIGIBLE])
        self._all: Components = np.asarray(a, dtype=float), np.asarray(b, dtype=float), shares
        self._tails, self.least, self.honesty = tails, least, honesty
        self.a, self.b, self.weights = (part[kept] for part in self._all)

    def mean(self) -> float:
        """Expected value."""
        return float(self.weights @ (self.a / (self.a + self.b)))

    def variance(self) -> float:
        """Variance: expected variance of the components plus the variance of their means (no cancellation)."""
        n = self.a + self.b
        means = self.a / n
        centre = self.weights @ means
        return float(self.weights @ (means * (self.b / n) / (n + 1) + (means - centre) ** 2))

    def pdf(self, x: ArrayLike) -> Array:
        """Density at x in [0, 1]; +inf at an end where a component with a < 1 (b < 1) has weight."""
        return self._sum(x, lambda v: np.exp(self._norm + xlogy(self.a - 1, v) + xlog1py(self.b - 1, -v)))

    def mode(self) -> float | None:
        """Place of the highest density.

        Where the density is infinite at an end (a or b < 1), the best interior maximum, or None if there is none.
        """
        width = np.sqrt(self.variance())
        grid = np.concatenate([np.linspace(0, 1, 513)[1:-1], self.mean() + width * np.linspace(-8, 8, 257)])
        grid = np.unique(grid[(grid > 0) & (grid < 1)])
        slope = np.array([self._slope(x) for x in grid])
        falls = np.flatnonzero((slope[:-1] > 0) & (slope[1:] <= 0))
        found = [brentq(self._slope, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-14) for i in falls]
        ends = self.pdf([0.0, 1.0])
        if not np.isinf(ends).any():
            found += [0.0, 1.0]
        return float(max(found, key=lambda x: float(self.pdf(x)))) if found else None

    def _slope(self, x: float) -> float:
        """Derivative of the density, up to a positive factor."""
        logs = self._norm + (self.a - 1) * np.log(x) + (self.b - 1) * np.log1p(-x)
        return float(np.exp(logs - logs.max()) @ ((self.a - 1) * (1 - x) - (self.b - 1) * x))

    @cached_property
    def _norm(self) -> Array:
        """log of every component's weight over its beta function."""
        return np.asarray(np.log(self.weights) - betaln(self.a, self.b))

    def _quantile(self, level: float) -> float:
        if level in (0.0, 1.0):
            return level
        upper = level > 0.5
        tail = 1 - level if upper else level
        if tail >= _TAIL:
            x = float(brentq(lambda x: self._below(x) - level, 0.0, 1.0, xtol=1e-15, rtol=1e-14))
            if abs(float(_tail(self._all, float(logit(x)), upper)) - tail) <= _ACCEPTED * tail:
                return x
        return self._tail_root(tail, upper)

    def _tail_root(self, wanted: float, upper: bool) -> float:
        """Quantile by Newton's method on the scales of log(x/(1 - x)) and of the log probability, in a bracket."""
        a, b, weights = self._components(wanted)
        norm, sign = np.log(weights) - betaln(a, b), -1.0 if upper else 1.0
        ends, z = [-_FARTHEST, _FARTHEST], float(logit(np.clip(self.mean(), 1e-300, 1 - 1e-16)))
        for _ in range(200):
            tail = float(_tail((a, b, weights), z, upper))
            ends[int((tail > wanted) != upper)] = z
            density = float(np.exp(norm - a * np.logaddexp(0.0, -z) - b * np.logaddexp(0.0, z)).sum())
            new = z - sign * np.log(tail / wanted) * tail / density if tail > 0 and density > 0 else np.nan
            new = new if ends[0] < new < ends[1] else 0.5 * (ends[0] + ends[1])
            z, step = new, abs(new - z)
            if step <= 4e-16 * (1 + abs(z)):
                break
        return float(upper) if abs(z) >= _FARTHEST - 1e-9 and (z > 0) == upper else share_at(z)

    def _components(self, probability: float) -> Components:
        """All components that matter to a tail of this probability."""
        parts = self._deep if probability > _FAINT / _FAINTER else self._listed(probability * _FAINTER)
        order = np.argsort(parts[2], kind="stable")
        kept = order[np.cumsum(parts[2][order]) > 0.01 * _ACCEPTED * probability]
        return parts[0][kept], parts[1][kept], parts[2][kept]

    @cached_property
    def _deep(self) -> Components:
        return self._listed(_FAINT)

    def _listed(self, negligible: float) -> Components:
        if self._tails is None:
            return self._all
        a, b, weights = self._tails(negligible)
        return np.asarray(a, dtype=float), np.asarray(b, dtype=float), weights / weights.sum()

    def _probability(self, x: ArrayLike, *, upper: bool) -> Array:
        points = _checks.fraction("x", x)
        out = self._central(points, upper=upper)
        for place in np.argwhere((out < _TAIL) & (points > 0) & (points < 1)):
            at = tuple(place)
            z = float(logit(points[at]))
            out[at] = _tail(self._deep, z, upper)
            if 0 < out[at] < _FAINT / _FAINTER:
                out[at] = _tail(self._components(float(out[at])), z, upper)
        return out

    def _central(self, x: ArrayLike, *, upper: bool) -> Array:
        """The probability without the faintest components."""
        if upper:
            return self._sum(x, lambda v: self.weights * betainc(self.b, self.a, 1 - v))
        return self._sum(x, lambda v: self.weights * betainc(self.a, self.b, v))

    def _below(self, x: float) -> float:
        """`_central` below a single point."""
        return float((self.weights * betainc(self.a, self.b, x)).sum())

    def __repr__(self) -> str:
        return f"BetaMixture({len(self.a)} components; mean {self.mean():.6g}, sd {self.variance() ** 0.5:.3g})"

    def _sum(self, x: ArrayLike, terms: Callable[[Array], Array]) -> Array:
        points = _checks.fraction("x", x)
        flat = points.reshape(-1, 1)
        step = max(1, _CHUNK // len(self.a))
        parts = [terms(flat[i : i + step]).sum(axis=1) for i in range(0, len(flat), step)]
        return np.concatenate(parts).reshape(points.shape) if parts else np.zeros(points.shape)


def _tail(parts: Components, z: float, upper: bool) -> float:
    """P(X <= x) or P(X > x) at z = log(x/(1 - x)), a sum of positive terms."""
    a, b, weights = parts
    return float(weights @ (betainc(b, a, expit(-z)) if upper else betainc(a, b, expit(z))))
