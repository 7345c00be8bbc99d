import numpy as np
from numpy.typing import NDArray

def count(
    codes: NDArray[np.int32], groups: NDArray[np.int32], starts: NDArray[np.int64], number_of_groups: int
) -> NDArray[np.int64]: ...
