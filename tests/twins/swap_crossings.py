"""Reference implementation of `swap_crossings`: every term of both double sums, for totals up to a few hundred."""

from math import lgamma

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]


def _choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if 0 <= k <= n else -np.inf


def _share(k: int, i: int) -> float:
    """log of the share of arrangements of k records, i of them from outside, that leave none with its own value."""
    total, term = 0.0, 1.0
    for f in range(k - i + 1):
        total += term
        term *= -(k - i - f) / max((k - f) * (f + 1), 1)
    return float(np.log(total)) if total > 1e-12 else -np.inf


def log_weights(n: int, small: int, *, rate: float) -> Array:
    """`swap_crossings.log_weights`."""
    r = min(small, n - small)
    norm = np.log1p(-n * rate * (1 - rate) ** (n - 1))
    out = np.full(r + 1, -np.inf)
    for i in range(r + 1):
        terms = [
            _choose(r, a) + _choose(n - r, b) + (a + b) * np.log(rate) + (n - a - b) * np.log1p(-rate)
            + _choose(a, i) + _choose(b, i) - _choose(a + b, a) + _share(a, i) + _share(b, i) - _share(a + b, 0)
            for a in range(i, r + 1) for b in range(i, n - r + 1) if a + b != 1
        ]  # fmt: skip
        out[i] = logsumexp(terms) - norm
    return out


def log_law(n: int, small: int, other: int, at: int, *, rate: float) -> Array:
    """`swap_crossings.log_law`, all entries."""
    weights, m = log_weights(n, small, rate=rate), n - small
    out = np.empty(small + 1)
    for y in range(small + 1):
        terms = [
            weights[i] + _choose(y, u) + _choose(small - y, i - u) - _choose(small, i)
            + _choose(other - y, u + at - y) + _choose(m - other + y, i - u - at + y) - _choose(m, i)
            for i in range(small + 1) for u in range(i + 1)
        ]  # fmt: skip
        out[y] = logsumexp(terms)
    return out
