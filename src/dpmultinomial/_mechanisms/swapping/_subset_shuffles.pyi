import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_RECORDS: int

def refusal(table: NDArray[np.int64], *, most_tables: int, most_work: float) -> str: ...
def originals(
    swapped: ArrayLike, coefficients: ArrayLike, *, most_tables: int, most_work: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
