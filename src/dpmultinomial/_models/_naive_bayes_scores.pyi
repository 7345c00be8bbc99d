import numpy as np
from numpy.typing import ArrayLike, NDArray

def scores(
    priors: ArrayLike,
    tables: ArrayLike,
    cells: ArrayLike,
    labels: ArrayLike,
    *,
    cap: float = 0.0,
) -> NDArray[np.float64]: ...
