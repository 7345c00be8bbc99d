"""Finite mixtures of Beta laws: density, distribution function, quantiles, moments and mode without simulation."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit, xlog1py, xlogy

from ... import _checks
from ..._honesty import EXACT, LEVEL, Honesty, summary_frame

_NEGLIGIBLE = 1e-17  # total weight of the components that are neglected
_TAIL, _DEEPEST = 1e-9, 700.0  # levels nearer to 0 or 1 are solved in logs; largest |log(x/(1 - x))| looked at
_CHUNK = 2_000_000  # component x point pairs evaluated at once


class BetaMixture:
    """Mixture of Beta(a_j, b_j) with weights w_j.

    Parameters
    ----------
    a, b : float64 (n,), positive.
    weights : float64 (n,), non-negative; scaled to 1. Components whose weights add up to less than 1e-17 are dropped.
    """

    def __init__(self, a: ArrayLike, b: ArrayLike, weights: ArrayLike) -> None:
        given = np.asarray(weights, dtype=np.float64)
        shares: NDArray[np.float64] = given / given.sum()
        order = np.argsort(shares, kind="stable")
        kept = np.sort(order[np.cumsum(shares[order]) > _NEGLIGIBLE])
        self._all = np.asarray(a, dtype=float), np.asarray(b, dtype=float), shares
        self.a = np.asarray(a, dtype=float)[kept]
        self.b = np.asarray(b, dtype=float)[kept]
        self.weights: NDArray[np.float64] = shares[kept]

    def mean(self) -> float:
        """Expected value."""
        return float(self.weights @ (self.a / (self.a + self.b)))

    def variance(self) -> float:
        """Variance: expected variance of the components plus the variance of their means (no cancellation)."""
        n = self.a + self.b
        means = self.a / n
        centre = self.weights @ means
        return float(self.weights @ (means * (self.b / n) / (n + 1) + (means - centre) ** 2))

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Density at x in [0, 1]; +inf at an end where a component with a < 1 (b < 1) has weight."""
        norm = np.log(self.weights) - betaln(self.a, self.b)
        return self._sum(x, lambda v: np.exp(norm + xlogy(self.a - 1, v) + xlog1py(self.b - 1, -v)))

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """P(X <= x)."""
        return self._sum(x, lambda v: self.weights * betainc(self.a, self.b, v))

    def sf(self, x: ArrayLike) -> NDArray[np.float64]:
        """P(X > x), to an absolute error of 1e-17 (no cancellation against 1)."""
        return self._sum(x, lambda v: self.weights * betainc(self.b, self.a, 1 - v))

    def quantile(self, q: ArrayLike) -> NDArray[np.float64]:
        """Smallest x with P(X <= x) >= q, to 1e-14; levels within 1e-9 of 0 or 1 are solved in logs."""
        levels = _checks.fraction("q", q)
        return np.array([self._root(level) for level in levels.ravel()]).reshape(levels.shape)

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
        logs = np.log(self.weights) - betaln(self.a, self.b) + (self.a - 1) * np.log(x) + (self.b - 1) * np.log1p(-x)
        return float(np.exp(logs - logs.max()) @ ((self.a - 1) * (1 - x) - (self.b - 1) * x))

    def _root(self, level: float) -> float:
        if level in (0.0, 1.0):
            return float(level)
        if not _TAIL < level < 1 - _TAIL:
            return self._tail_root(level)
        return float(brentq(lambda x: float(self.cdf(x)) - level, 0.0, 1.0, xtol=1e-15, rtol=1e-14))

    def _tail_root(self, level: float) -> float:
        """Quantile from all components, on the scales of log(x/(1 - x)) and of the log probability."""
        a, b, weights = self._all
        upper = level > 0.5
        wanted = np.log1p(-level) if upper else np.log(level)

        def excess(z: float) -> float:
            tail = float(weights @ (betainc(b, a, expit(-z)) if upper else betainc(a, b, expit(z))))
            return float(np.log(max(tail, 1e-320)) - wanted)

        if excess(-_DEEPEST) * excess(_DEEPEST) >= 0:
            return float(upper)
        return float(expit(brentq(excess, -_DEEPEST, _DEEPEST, xtol=1e-13, rtol=1e-14)))

    @property
    def honesty(self) -> Honesty:
        """Exact: a finite sum."""
        return EXACT

    def summary(self, level: float = LEVEL, *, quantity: str = "share") -> pd.DataFrame:
        """Mean, sd and central interval in one row (`_honesty.summary_frame`)."""
        lower, upper = self.quantile([(1 - _checks.inside("level", level)) / 2, (1 + level) / 2])
        return summary_frame(
            [quantity],
            mean=[self.mean()],
            sd=[np.sqrt(self.variance())],
            lower=[lower],
            upper=[upper],
            level=level,
            status=EXACT,
        )

    def __repr__(self) -> str:
        return f"BetaMixture({len(self.a)} components; mean {self.mean():.6g}, sd {self.variance() ** 0.5:.3g})"

    def _sum(self, x: ArrayLike, terms: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> NDArray[np.float64]:
        points = _checks.fraction("x", x)
        flat = points.reshape(-1, 1)
        step = max(1, _CHUNK // len(self.a))
        parts = [terms(flat[i : i + step]).sum(axis=1) for i in range(0, len(flat), step)]
        return np.concatenate(parts).reshape(points.shape) if parts else np.zeros(points.shape)
