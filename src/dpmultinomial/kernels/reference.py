"""Plain NumPy twins of the compiled kernels: the same law from the same stream, written to be read.

Tests compare them draw by draw; nothing else uses them. Arguments and results are those of the kernel of the same name.
"""

from itertools import product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]


def compositions(total: int, categories: int) -> NDArray[np.int64]:
    """`compositions.compositions`: filtered from the full grid, then ordered as Table 1."""
    grid = [c for c in product(range(total + 1), repeat=categories) if sum(c) == total]
    return np.array(sorted(grid, key=lambda c: (-c[0], *c[1:])), dtype=np.int64)


def coefficients(counts: NDArray[np.int64]) -> list[int]:
    """Multinomial coefficients as exact whole numbers."""
    return [factorial(int(sum(c))) // prod(factorial(int(s)) for s in c) for c in counts]


def fixed_sum_law(log_factors: Array) -> tuple[NDArray[np.int64], Array]:
    """Every composition and its probability under `fixed_sum`, by enumeration in logs."""
    counts = compositions(log_factors.shape[1] - 1, len(log_factors))
    logs = log_factors[range(len(log_factors)), counts].sum(axis=1)
    return counts, np.exp(logs - logsumexp(logs))


def fixed_sum_draw(
    factors: Array, suffix: Array, size: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """`fixed_sum.draw`: inversion, category by category."""
    categories, n = factors.shape
    out = np.empty((size, categories), dtype=np.int64)
    left = np.full(size, n - 1)
    for i in range(categories - 1):
        for j, u in enumerate(rng.random(size)):
            weights = np.cumsum(factors[i, : left[j] + 1] * suffix[i + 1, left[j] :: -1])
            out[j, i] = min(np.searchsorted(weights, u * weights[-1], side="right"), left[j])
        left = left - out[:, i]
    out[:, -1] = left
    return out


def dirichlet_draw(alpha: Array, counts: NDArray[np.int64], *, rng: np.random.Generator) -> Array:
    """`dirichlet.draw`."""
    gammas = rng.standard_gamma(alpha + counts)
    return gammas * (1.0 / gammas.sum(axis=1, keepdims=True))


def table_chain(
    counts: NDArray[np.int64], static: Array, alpha: Array, initial: Array, *, draws: int, burn_in: int, rng
) -> Array:
    """`laplace_gibbs.table_chain`, one vectorised iteration at a time."""
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
    static: Array, alpha: Array, initial: Array, reference, *, draws: int, burn_in: int, rng
) -> Array:
    """`laplace_gibbs.convolution_chain`, with exponentials throughout (no `reference` needed)."""
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
