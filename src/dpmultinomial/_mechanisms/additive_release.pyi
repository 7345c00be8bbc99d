from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

ALGORITHMS: tuple[str, ...]
RULES: tuple[str, ...]
LARGEST_WEIGHT: int
LARGEST_COUNT: int

def modes(totals: ArrayLike, weights: ArrayLike, *, ties: str, rng: np.random.Generator) -> NDArray[np.int64]: ...
def summed_noise(epsilon: float, support: int, size: int) -> tuple[NDArray[np.float64], int]: ...
def draw(
    counts: ArrayLike,
    *,
    epsilon: float,
    support: int,
    algorithms: Sequence[str],
    ties: str,
    size: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]: ...
