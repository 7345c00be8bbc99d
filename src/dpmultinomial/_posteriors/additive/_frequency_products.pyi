import numpy as np
from numpy.typing import ArrayLike, NDArray

def sweep(
    spectra: ArrayLike,
    tail: ArrayLike,
    clear: ArrayLike,
    got: ArrayLike | None = None,
    lost: ArrayLike | None = None,
    *,
    weight: ArrayLike,
    repeats: ArrayLike,
    length: int,
    early: ArrayLike | None = None,
    late: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.complex128], NDArray[np.complex128]]: ...
