"""Gibbs sampler in Python in which each iteration is vectorised with NumPy, as a baseline for the compiled sampler."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def table_chain(
    counts: NDArray[np.int64],
    static: Array,
    alpha: Array,
    initial: Array,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> Array:
    """Return draws with the same distribution as the draws of `_fixed_sum.table_chain`, from the same random stream."""
    rows = counts.astype(float)
    p, out = np.asarray(initial, dtype=float), np.empty((draws, counts.shape[1]))
    for t in range(burn_in + draws):
        logs = static + rows @ np.log(p)
        weights = np.cumsum(np.exp(logs - logs.max()))
        row = np.searchsorted(weights, rng.random() * weights[-1], side="right")
        p = rng.standard_gamma(alpha + counts[row])
        p /= p.sum()
        if t >= burn_in:
            out[t - burn_in] = p
    return out


def convolution_chain(
    static: Array,
    alpha: Array,
    initial: Array,
    reference: Array,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> Array:
    """Return draws that have the same distribution and use the same random stream as `_fixed_sum.convolution_chain`."""
    categories, n = static.shape
    p, out = np.asarray(initial, dtype=float), np.empty((draws, categories))
    for t in range(burn_in + draws):
        logs = static + np.arange(n) * np.log(p)[:, None]
        factors = np.exp(logs - logs.max(axis=1, keepdims=True))
        suffix = factors.copy()
        for i in range(categories - 2, -1, -1):
            suffix[i] = np.convolve(factors[i], suffix[i + 1])[:n]
        s, left = np.empty(categories, dtype=np.int64), n - 1
        for i in range(categories - 1):
            weights = np.cumsum(factors[i, : left + 1] * suffix[i + 1, left::-1])
            s[i] = min(np.searchsorted(weights, rng.random() * suffix[i, left], side="right"), left)
            left -= s[i]
        s[-1] = left
        p = rng.standard_gamma(alpha + s)
        p /= p.sum()
        if t >= burn_in:
            out[t - burn_in] = p
    return out
