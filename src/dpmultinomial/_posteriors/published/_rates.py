"""Law of a rate given a count and its total: a mixture of Beta laws, one for each pair of both."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln, xlog1py, xlogy

Array = NDArray[np.float64]
_LEFT_OUT = 1e-13  # probability of pairs that quantiles and densities may leave out
_BISECTIONS = 60


class RateLaw:
    """Mixture of Beta(a, b).

    Parameters
    ----------
    a, b : float64 (n,), > 0.
    weights : float64 (n,), non-negative; scaled to 1.
    """

    def __init__(self, a: Array, b: Array, weights: Array) -> None:
        order = np.argsort(weights)[::-1]
        p = weights[order] / weights.sum()
        kept = max(int(np.searchsorted(np.cumsum(p), 1 - _LEFT_OUT)) + 1, 1)
        self.a, self.b, self.weights = a[order][:kept], b[order][:kept], p[:kept]

    def mean(self) -> float:
        """Expected rate."""
        return float(self.weights @ (self.a / (self.a + self.b)))

    def variance(self) -> float:
        """Variance of the rate."""
        whole = self.a + self.b
        means = self.a / whole
        inner = means * (1 - means) / (whole + 1)
        return float(self.weights @ (inner + (means - self.mean()) ** 2))

    def pdf(self, x: ArrayLike) -> Array:
        """Density at x in [0, 1]."""
        at = np.asarray(x, dtype=np.float64)
        flat = np.atleast_1d(at).ravel()
        out = np.zeros(flat.shape)
        for i in np.flatnonzero((flat >= 0) & (flat <= 1)):
            logs = xlogy(self.a - 1, flat[i]) + xlog1py(self.b - 1, -flat[i]) - betaln(self.a, self.b)
            out[i] = self.weights @ np.exp(logs)
        return out.reshape(at.shape)

    def cdf(self, x: ArrayLike) -> Array:
        """P(rate <= x)."""
        at = np.clip(np.asarray(x, dtype=np.float64), 0, 1)
        flat = np.atleast_1d(at).ravel()
        out = np.array([self.weights @ betainc(self.a, self.b, one) for one in flat])
        return np.asarray(np.minimum(out, 1.0).reshape(at.shape))

    def quantile(self, q: ArrayLike) -> Array:
        """x with P(rate <= x) = q, by bisection to 1e-16."""
        levels = np.asarray(q, dtype=np.float64)
        flat = np.atleast_1d(levels).ravel()
        low, high = np.zeros(flat.shape), np.ones(flat.shape)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            below = self.cdf(middle) < flat
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found = np.where(flat <= 0, 0.0, np.where(flat >= 1, 1.0, (low + high) / 2))
        return np.asarray(found.reshape(levels.shape))
