"""Reference implementation of `_fixed_sum`: inversion draw by draw, and the whole law by enumeration."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from twins.compositions import compositions

Array = NDArray[np.float64]


def law(log_factors: Array) -> tuple[NDArray[np.int64], Array]:
    """Every composition and its probability under `fixed_sum`, by enumeration in logs."""
    counts = compositions(log_factors.shape[1] - 1, len(log_factors))
    logs = log_factors[range(len(log_factors)), counts].sum(axis=1)
    return counts, np.exp(logs - logsumexp(logs))


def draw(factors: Array, suffix: Array, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
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
