from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

def abc(
    observed: ArrayLike,
    alpha: ArrayLike,
    iterations: int,
    *,
    rate: float,
    rng: np.random.Generator,
    margins_first: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...
def permutation_chain(
    swapped: ArrayLike,
    log_weights: Sequence[ArrayLike],
    alpha: ArrayLike,
    *,
    draws: int,
    burn_in: int,
    thin: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]: ...
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
def mixture(
    a: ArrayLike, weights: ArrayLike, tilt: float, t: ArrayLike, fresh: ArrayLike, starts: ArrayLike
) -> NDArray[np.complex128]: ...
def waves(x: ArrayLike, step: float, values: ArrayLike) -> NDArray[np.complex128]: ...
