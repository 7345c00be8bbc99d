"""Reference implementation of `compositions`: filtered from the full grid; exact whole numbers."""

from itertools import product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray


def compositions(total: int, categories: int) -> NDArray[np.int64]:
    """`compositions.compositions`: filtered from the full grid, then ordered as Table 1."""
    grid = [c for c in product(range(total + 1), repeat=categories) if sum(c) == total]
    return np.array(sorted(grid, key=lambda c: (-c[0], *c[1:])), dtype=np.int64)


def coefficients(counts: NDArray[np.int64]) -> list[int]:
    """Multinomial coefficients as exact whole numbers."""
    return [factorial(int(sum(c))) // prod(factorial(int(s)) for s in c) for c in counts]
