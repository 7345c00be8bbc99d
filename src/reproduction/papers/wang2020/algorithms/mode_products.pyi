import numpy as np
from numpy.typing import ArrayLike, NDArray

def integrated(
    every: ArrayLike,
    some: ArrayLike,
    place: ArrayLike,
    repeats: ArrayLike,
    *,
    rows: ArrayLike,
    nodes: ArrayLike,
    weights: ArrayLike,
) -> NDArray[np.complex128]: ...
