from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

def intervals(
    weights: ArrayLike, *, starts: ArrayLike, firsts: ArrayLike, wholes: ArrayLike, level: float = ...
) -> NDArray[np.float64]: ...
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

@final
class Density:
    # the keywords of log_density except z; the compiled slot has no names
    def __new__(cls, *args: object, **kwargs: ArrayLike | float | tuple[int, int, int]) -> Density: ...
    def at(self, z: ArrayLike) -> NDArray[np.float64]: ...
