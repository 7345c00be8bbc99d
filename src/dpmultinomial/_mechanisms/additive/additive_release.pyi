from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

ALGORITHMS: tuple[str, ...]
LARGEST: int

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
