import numpy as np
from numpy.typing import ArrayLike, NDArray

def log_density(
    z: ArrayLike,
    *,
    mine: ArrayLike,
    theirs: ArrayLike,
    of_total: ArrayLike,
    alpha: float,
    beta: float,
    first: tuple[int, int, int] = ...,
    tolerance: float = ...,
) -> NDArray[np.float64]: ...

class Density:
    def __init__(
        self,
        *,
        mine: ArrayLike,
        theirs: ArrayLike,
        of_total: ArrayLike,
        alpha: float,
        beta: float,
        first: tuple[int, int, int] = ...,
        tolerance: float = ...,
    ) -> None: ...
    def at(self, z: ArrayLike) -> NDArray[np.float64]: ...
