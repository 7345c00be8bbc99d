import numpy as np
from numpy.typing import NDArray

LARGEST_TOTAL: int

def log_weights(n: int, small: int, *, rate: float) -> NDArray[np.float64]: ...
def log_law(
    n: int,
    small: int,
    other: int,
    at: int,
    *,
    rate: float,
    log_prior: NDArray[np.float64] | None = None,
    window: float = ...,
    log_w: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
