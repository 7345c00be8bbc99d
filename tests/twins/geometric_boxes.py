"""Reference implementation of `geometric.smooth` and `geometric.boxes`: every weight in a matrix."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def weights(distance: NDArray[np.generic], epsilon: float, reach: int) -> Array:
    """exp(-epsilon |d|) within the reach, 0 beyond."""
    away = np.abs(np.asarray(distance, dtype=float))
    return np.where(away <= reach, np.exp(-epsilon * away), 0.0)


def smooth(likelihood: Array, *, epsilon: float, reach: int) -> Array:
    """`geometric_boxes.smooth`."""
    columns = np.arange(likelihood.shape[1])
    return likelihood @ weights(columns[:, None] - (columns[reach : len(columns) - reach]), epsilon, reach)


def boxes(
    lower: Whole, upper: Whole, kind: Whole, *, low: Whole, width: Whole, rise: Array, epsilon: float, reach: int,
    length: int,
) -> Array:  # fmt: skip
    """`geometric_boxes.boxes`."""
    out = np.zeros((len(kind), length))
    for i, u in enumerate(kind):
        for x in range(width[u]):
            count = low[u] + x
            n = np.arange(max(lower[i], count - reach), min(upper[i], count + reach) + 1)
            out[i, x] = rise[u, x] * weights(n - count, epsilon, reach).sum()
    return out
