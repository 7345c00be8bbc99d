import numpy as np
from numpy.typing import ArrayLike, NDArray

class Tables:
    factors: NDArray[np.float64]
    suffix: NDArray[np.float64]
    theta: float
    def __init__(self, factors: NDArray[np.float64], suffix: NDArray[np.float64], theta: float) -> None: ...

def tables(log_factors: ArrayLike) -> Tables: ...
def tilted(log_factors: ArrayLike) -> tuple[NDArray[np.float64], float]: ...
def convolve(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]: ...
def convolved(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]: ...
def draw(tables: Tables, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]: ...
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
