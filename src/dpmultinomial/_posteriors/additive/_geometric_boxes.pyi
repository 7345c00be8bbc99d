import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST: int

def smooth(likelihood: ArrayLike, *, epsilon: float, reach: int) -> NDArray[np.float64]: ...
def boxes(
    lower: ArrayLike,
    upper: ArrayLike,
    kind: ArrayLike,
    *,
    low: ArrayLike,
    width: ArrayLike,
    rise: ArrayLike,
    epsilon: float,
    reach: int,
    length: int,
) -> NDArray[np.float64]: ...
