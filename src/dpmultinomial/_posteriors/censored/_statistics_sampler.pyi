import numpy as np
from numpy.typing import ArrayLike, NDArray

COLUMNS: tuple[str, ...]
FEWEST: int
MOST: int

def chain(
    release: ArrayLike,
    n: int,
    scales: ArrayLike,
    grids: ArrayLike,
    prior: ArrayLike,
    start: ArrayLike,
    uniforms: ArrayLike,
    *,
    walk: ArrayLike,
    centre: ArrayLike,
    spread: ArrayLike,
    draws: int,
    thin: int,
    rng: np.random.Generator,
    origin: float = 0.0,
    sums: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], int]: ...
def log_target(
    release: ArrayLike,
    n: int,
    scales: ArrayLike,
    grids: ArrayLike,
    prior: ArrayLike,
    start: ArrayLike,
    uniforms: ArrayLike,
    *,
    origin: float = 0.0,
    sums: bool = False,
) -> tuple[float, NDArray[np.float64]]: ...
def log_inside_density(mean: ArrayLike, sse: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]: ...
