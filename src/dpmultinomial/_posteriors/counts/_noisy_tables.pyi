import numpy as np
from numpy.typing import ArrayLike, NDArray

def counts_and_rates(
    noisy: ArrayLike,
    *,
    starts: ArrayLike,
    totals: ArrayLike,
    scales: ArrayLike,
    alphas: ArrayLike,
    level: float = ...,
    wanted: NDArray[np.bool_] | None = ...,
    rates: bool = ...,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
