"""Reference implementation of `geometric`: inversion draw by draw."""

import math

import numpy as np
from numpy.typing import NDArray


def noise(u: float, table: NDArray[np.float64], epsilon: float, least: int) -> int:
    """One draw from one uniform, given that it is at least `least`."""
    support = len(table) // 2
    if least > 0 and least > -support:
        return min(support, least + int(-math.log1p(u * math.expm1(-epsilon * (support - least + 1))) / epsilon))
    below = table[least - 1 + support] if least > -support else 0.0
    value = int(np.searchsorted(table, below + u * (1.0 - below), side="right")) - support
    return max(value, least)


def draw(
    size: int, *, table: NDArray[np.float64], epsilon: float, rng: np.random.Generator, least: NDArray[np.int64]
) -> NDArray[np.int64]:
    """`geometric.draw` with the cumulative probabilities `table`."""
    return np.array([noise(rng.random(), table, epsilon, int(least[i])) for i in range(size)], dtype=np.int64)
