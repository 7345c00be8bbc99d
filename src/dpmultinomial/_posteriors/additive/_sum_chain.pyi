from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Chain: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]

def solve(
    factors: ArrayLike, total_factor: ArrayLike, first: int
) -> tuple[float, NDArray[np.float64], NDArray[np.float64], _Chain | None]: ...
def solve_each(
    factors: ArrayLike, total_factors: ArrayLike, first: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def draw(factors: ArrayLike, chain: _Chain | None, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]: ...
def pairs(
    likelihood: ArrayLike, weights: ArrayLike, *, epsilon: float, reach: int, shift: int
) -> NDArray[np.float64]: ...
