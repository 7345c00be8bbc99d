from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Whole = NDArray[np.int64]

def reach(parent: _Whole, sites: NDArray[Any]) -> _Array: ...
def balance(
    parent: _Whole, count: _Whole, sites: NDArray[Any], tables: _Array, reach: _Array, start: _Array | None = None
) -> tuple[_Array, _Array, int, tuple[int, int]]: ...
def refine(
    parent: _Whole,
    count: _Whole,
    sites: NDArray[Any],
    tables: _Array,
    reach: _Array,
    tilts: _Array,
    sums: _Array,
    means: _Array | None = None,
) -> tuple[_Array, _Array, tuple[int, int]]: ...
