"""Normal probabilities of intervals on one side of the mean, in logs, with full relative accuracy.

A difference of two tails loses digits where the interval is short beside the distance on which the density falls;
there the density is integrated by Gauss and Legendre's rule, relative to its value in the middle.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

Array = NDArray[np.float64]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_SHORT = 8.0  # exponents up to which forty nodes have sixteen digits


def log_between(low: Array, high: Array, sigma: Array) -> Array:
    """log P(low <= sigma Z <= high), Z standard normal.

    Parameters
    ----------
    low, high : (n,), 0 <= low <= high <= inf.
    sigma : > 0 (n,).

    Returns
    -------
    float64 (n,), relative error of the probability below 1e-13 (1 + its log).
    """
    a, b = low / sigma, high / sigma
    out = log_ndtr(-a)
    with np.errstate(invalid="ignore"):
        half, middle = (high - low) / (2 * sigma), (b + a) / 2  # a difference of quotients would lose digits
        short = half * (middle + half / 2) < _SHORT
    h, m = half[short], middle[short]
    total = np.zeros_like(h)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        u = node * h
        total += weight * np.exp(-u * (m + u / 2))
    with np.errstate(divide="ignore"):
        out[short] = np.log(h * total) - m * m / 2 - np.log(2 * np.pi) / 2
    cut = ~short & (high < np.inf)
    out[cut] += np.log1p(-np.exp(log_ndtr(-b[cut]) - out[cut]))
    return np.asarray(out)
