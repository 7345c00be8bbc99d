import numpy as np
from numpy.typing import ArrayLike, NDArray

def gibbs(
    release: ArrayLike,
    n: int,
    scales: ArrayLike,
    prior: ArrayLike,
    start: ArrayLike,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]: ...
def statistics(
    release: ArrayLike, n: int, scales: ArrayLike, start: ArrayLike, *, rng: np.random.Generator
) -> NDArray[np.float64]: ...
