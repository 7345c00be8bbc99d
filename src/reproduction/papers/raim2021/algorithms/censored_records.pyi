import numpy as np
from numpy.typing import ArrayLike, NDArray

def records_chain(
    release: ArrayLike,
    n: int,
    a: float,
    b: float,
    scales: ArrayLike,
    prior: ArrayLike,
    initial: ArrayLike,
    records: ArrayLike,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    again: bool = False,
    sums: bool = False,
) -> tuple[NDArray[np.float64], float]: ...
