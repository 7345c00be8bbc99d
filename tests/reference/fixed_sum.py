"""Reference implementations of `compositions` and `_fixed_sum`.

Compositions are selected from the full grid, and coefficients are exact integers. Draws are computed by inversion, one
by one, and the distribution is enumerated.
"""

from itertools import product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]


def compositions(total: int, categories: int) -> NDArray[np.int64]:
    """Compute `compositions.compositions`: selected from the full grid, then ordered as in Table 1."""
    grid = [c for c in product(range(total + 1), repeat=categories) if sum(c) == total]
    return np.array(sorted(grid, key=lambda c: (-c[0], *c[1:])), dtype=np.int64)


def coefficients(counts: NDArray[np.int64]) -> list[int]:
    """Return multinomial coefficients as exact integers."""
    return [factorial(int(sum(c))) // prod(factorial(int(s)) for s in c) for c in counts]


def law(log_factors: Array) -> tuple[NDArray[np.int64], Array]:
    """Return every composition and its probability under `fixed_sum`, by enumeration in logs."""
    counts = compositions(log_factors.shape[1] - 1, len(log_factors))
    logs = log_factors[range(len(log_factors)), counts].sum(axis=1)
    return counts, np.exp(logs - logsumexp(logs))


def draw(factors: Array, suffix: Array, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Compute `fixed_sum.draw` by inversion, category by category."""
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
