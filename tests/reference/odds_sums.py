"""Reference implementation of `_odds_sums`: components from gamma functions, terms from exponentials."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import loggamma

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def mixture(a: Array, weights: Array, tilt: float, t: Array) -> Complex:
    """Compute `_odds_sums.mixture` without a recursion."""
    s = tilt + 1j * np.asarray(t, dtype=float)
    found = np.zeros(len(s), dtype=complex)
    for row, weight in zip(np.asarray(a, dtype=float), weights, strict=True):
        logs = [loggamma(x + sign * s) - loggamma(x) for x, sign in zip(row, (1, -1, -1, 1), strict=True)]
        found += weight * np.exp(sum(logs))
    return found


def waves(x: Array, step: float, values: Complex) -> Complex:
    """Compute `_odds_sums.waves` term by term."""
    t = step * (np.arange(len(values)) + 0.5)
    return np.array([(np.exp(-1j * t * at) * values).sum() for at in np.asarray(x, dtype=float)])
