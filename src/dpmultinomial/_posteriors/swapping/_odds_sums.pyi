import numpy as np
from numpy.typing import ArrayLike, NDArray

def mixture(
    a: ArrayLike, weights: ArrayLike, tilt: float, t: ArrayLike, fresh: ArrayLike, starts: ArrayLike
) -> NDArray[np.complex128]: ...
def waves(x: ArrayLike, step: float, values: ArrayLike) -> NDArray[np.complex128]: ...
