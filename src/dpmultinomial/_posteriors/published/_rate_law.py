"""Posterior distribution of a rate: a mixture of Beta distributions over the possible pairs of a count and the sum of
all other counts.

Along a run of pairs (s, t), (s, t + 1), .., the cumulative distribution functions of consecutive components differ by
one term, I_x(a, b + 1) = I_x(a, b) + x^a (1 - x)^b/(b B(a, b)). A run therefore needs one incomplete beta function, and
otherwise only powers. If all pairs have the same total, the runs are (s, t), (s + 1, t - 1), .., and the term is I_x(a,
b) = I_x(a + 1, b - 1) + x^a (1 - x)^(b - 1)/(a B(a, b)).
"""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit, xlog1py, xlogy

from ... import _checks

Array = NDArray[np.float64]
_NEGLIGIBLE = 1e-17  # pairs with a weight below this fraction of the largest weight are dropped
_FURTHEST = 740.0  # largest absolute log odds, for a rate of 1e-321


class RateLaw:
    """Posterior distribution of a rate, which is a mixture of the distributions Beta(alpha + s, beta + t) over pairs of
    counts (s, t).

    Parameters
    ----------
    alpha, beta : concentrations > 0 of the rate and of the sum of all other rates.
    s, t : float64 (n,), integers, the count and the sum of all other counts; t increases by 1 along a run of equal s.
    weights : float64 (n,), non-negative, divided by their sum.
    """

    def __init__(self, alpha: float, beta: float, s: Array, t: Array, weights: Array) -> None:
        kept = weights > _NEGLIGIBLE * weights.max()
        self.a, self.b = alpha + s[kept], beta + t[kept]
        self.weights: Array = weights[kept] / weights[kept].sum()
        self._log_beta = np.asarray(betaln(self.a, self.b))
        if len(self.a) > 1 and (np.diff(self.a + self.b) == 0).all():
            self._follow_total()
            return
        heads = np.flatnonzero(np.r_[True, (np.diff(self.a) != 0) | (np.diff(self.b) != 1)])
        later = np.concatenate([_later(run) for run in np.split(self.weights, heads[1:])])
        self._heads = self.a[heads], self.b[heads], np.add.reduceat(self.weights, heads)
        going = later > 0
        self._steps = self.a[going], self.b[going], np.log(later[going] / self.b[going]) - self._log_beta[going]

    def _follow_total(self) -> None:
        """Determine the parameters and the weights of the incomplete beta functions and of the powers in the
        distribution function if all pairs have the same total. A run then consists of the pairs (s, t),
        (s + 1, t - 1), .., and begins at the largest count.
        """
        starts = np.flatnonzero(np.r_[True, np.diff(self.a) != 1])
        ends = np.append(starts[1:], len(self.a)) - 1
        self._heads = self.a[ends], self.b[ends], np.add.reduceat(self.weights, starts)
        earlier = np.concatenate([np.cumsum(run) for run in np.split(self.weights, starts[1:])])
        going = np.ones(len(self.a), dtype=bool)
        going[ends] = False
        a, b = self.a[going], self.b[going]
        self._steps = a, b - 1, np.log(earlier[going] / a) - self._log_beta[going]

    def mean(self) -> float:
        """Return the posterior mean of the rate, computed in closed form."""
        return self._moments[0]

    def variance(self) -> float:
        """Return the posterior variance of the rate, computed in closed form."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[float, float]:
        totals = self.a + self.b
        means = self.a / totals
        mean = float(self.weights @ means)
        inner = means * (1 - means) / (totals + 1)
        return mean, float(self.weights @ (inner + (means - mean) ** 2))

    def pdf(self, x: ArrayLike) -> Array:
        """Return the posterior density of the rate at x in [0, 1]."""
        points = np.asarray(x, dtype=np.float64)
        flat = np.atleast_1d(points).ravel()
        out = np.zeros(flat.shape)
        for i in np.flatnonzero((flat >= 0) & (flat <= 1)):
            out[i] = self.weights @ np.exp(xlogy(self.a - 1, flat[i]) + xlog1py(self.b - 1, -flat[i]) - self._log_beta)
        return out.reshape(points.shape)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the cumulative distribution function P(rate <= x). It is accurate to 12 significant digits. If all
        pairs have the same total, the relative error is about 2e-16 times the total, if this is larger.
        """
        points = np.asarray(x, dtype=np.float64)
        return np.array([self._below(float(one)) for one in points.ravel()]).reshape(points.shape)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the quantile x with P(rate <= x) = q. It is as accurate as the cumulative distribution function."""
        levels = _checks.fraction("q", q)
        return np.array([self._at(float(level)) for level in levels.ravel()]).reshape(levels.shape)

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Draw independent values of the rate from its posterior distribution, as an array of shape (size,)."""
        pairs = rng.choice(len(self.weights), size=size, p=self.weights)
        return np.asarray(rng.beta(self.a[pairs], self.b[pairs]))

    def _below(self, x: float) -> float:
        if not 0 < x < 1:
            return float(x >= 1)
        a, b, log_step = self._steps
        first, second, sums = self._heads
        steps = np.exp(log_step + a * np.log(x) + b * np.log1p(-x)).sum()
        return min(float(sums @ betainc(first, second, x) + steps), 1.0)

    def _at(self, level: float) -> float:
        """Return the quantile of the rate at a single level. The search is on the scale of the log odds of the rate."""
        if not 0 < level < 1:
            return level
        mean = min(max(self.mean(), 1e-300), 1 - 1e-16)
        start, width = np.log(mean) - np.log1p(-mean), np.sqrt(self.variance()) / (mean * (1 - mean))
        ends = [float(start - width), float(start + width)]

        def excess(odds: float) -> float:
            return self._below(float(expit(odds))) - level

        for i, side in ((0, -1.0), (1, 1.0)):
            while side * excess(ends[i]) < 0 and abs(ends[i]) < _FURTHEST:
                ends[1 - i], width = ends[i], 2 * width
                ends[i] = float(np.clip(ends[i] + side * width, -_FURTHEST, _FURTHEST))
        if excess(ends[0]) * excess(ends[1]) >= 0:
            return float(ends[0] > 0)
        return float(expit(brentq(excess, ends[0], ends[1], xtol=1e-14, rtol=1e-14)))


def _later(weights: Array) -> Array:
    """Return, for each entry of an array of weights, the sum of all later entries. The sums start at the last weight,
    so that small sums keep full relative accuracy.
    """
    return np.asarray(np.append(np.cumsum(weights[:0:-1])[::-1], 0.0))
