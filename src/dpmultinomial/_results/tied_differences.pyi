import numpy as np
from numpy.typing import ArrayLike, NDArray

def tied_differences(first: ArrayLike, second: ArrayLike, tie: ArrayLike) -> NDArray[np.float64]: ...
