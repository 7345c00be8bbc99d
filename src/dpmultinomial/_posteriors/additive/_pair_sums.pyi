import numpy as np
from numpy.typing import ArrayLike, NDArray

def pairs(
    likelihood: ArrayLike, weights: ArrayLike, *, epsilon: float, reach: int, shift: int
) -> NDArray[np.float64]: ...
