from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

WEIGHTS: dict[str, int]
BASES: dict[str, int]
MIDPOINTS: tuple[str, ...]
MOST: int

@final
class Problem:
    # keywords weight, base, mode, width, power = 0, scale = 1, tail = None; the compiled slot has no names
    def __init__(self, *args: float, **kwargs: float | str | ArrayLike | None) -> None: ...
    def log_area(self, log_u: ArrayLike) -> NDArray[np.float64]: ...
    def interval(self, log_u: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def log_whole(self) -> float: ...

def small_rectangles(
    problem: Problem, lower: float, upper: float, count: int, midpoint: str = "geometric"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def envelope(log_u: ArrayLike, log_p: ArrayLike, first: float) -> float: ...
def draw(
    problem: Problem,
    log_u: ArrayLike,
    log_p: ArrayLike,
    first: float,
    size: int,
    *,
    rng: np.random.Generator,
    adapt: bool = False,
    limit: int = ...,
    room: int = 2000,
) -> tuple[NDArray[np.float64], int, NDArray[np.float64], NDArray[np.float64]]: ...
