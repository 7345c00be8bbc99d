import numpy as np
from numpy.typing import ArrayLike, NDArray

def moved_chain(
    swapped: ArrayLike,
    sigma: NDArray[np.int64],
    log_weights: ArrayLike,
    alpha: ArrayLike,
    *,
    draws: int,
    thin: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
