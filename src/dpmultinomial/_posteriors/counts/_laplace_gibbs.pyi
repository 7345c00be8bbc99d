import numpy as np
from numpy.typing import ArrayLike, NDArray

def table_chain(
    counts: ArrayLike,
    static: ArrayLike,
    alpha: ArrayLike,
    initial: ArrayLike,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]: ...
def row_weights(
    counts: ArrayLike, static: ArrayLike, p: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def convolution_chain(
    static: ArrayLike,
    alpha: ArrayLike,
    initial: ArrayLike,
    reference: ArrayLike,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]: ...
