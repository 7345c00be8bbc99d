"""Reference implementation of `geometric`: inversion draw by draw; smoothing and boxes by a matrix of all weights."""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def noise(u: float, table: NDArray[np.float64], epsilon: float, least: int) -> int:
    """Draw one value from one uniform, conditional on at least `least`."""
    support = len(table) // 2
    if least > 0 and least > -support:
        return min(support, least + int(-math.log1p(u * math.expm1(-epsilon * (support - least + 1))) / epsilon))
    below = table[least - 1 + support] if least > -support else 0.0
    value = int(np.searchsorted(table, below + u * (1.0 - below), side="right")) - support
    return max(value, least)


def draw(
    size: int, *, table: NDArray[np.float64], epsilon: float, rng: np.random.Generator, least: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Compute `geometric.draw` with the cumulative probabilities `table`."""
    return np.array([noise(rng.random(), table, epsilon, int(least[i])) for i in range(size)], dtype=np.int64)


def weights(distance: NDArray[np.generic], epsilon: float, reach: int) -> Array:
    """Return exp(-epsilon |d|) within the reach, 0 beyond."""
    away = np.abs(np.asarray(distance, dtype=float))
    return np.where(away <= reach, np.exp(-epsilon * away), 0.0)


def smooth(likelihood: Array, *, epsilon: float, reach: int) -> Array:
    """Compute `geometric.smooth`."""
    columns = np.arange(likelihood.shape[1])
    return likelihood @ weights(columns[:, None] - (columns[reach : len(columns) - reach]), epsilon, reach)


def boxes(
    lower: Whole, upper: Whole, kind: Whole, *, low: Whole, width: Whole, rise: Array, epsilon: float, reach: int,
    length: int,
) -> Array:  # fmt: skip
    """Compute `geometric.boxes`."""
    out = np.zeros((len(kind), length))
    for i, u in enumerate(kind):
        for x in range(width[u]):
            count = low[u] + x
            n = np.arange(max(lower[i], count - reach), min(upper[i], count + reach) + 1)
            out[i, x] = rise[u, x] * weights(n - count, epsilon, reach).sum()
    return out
