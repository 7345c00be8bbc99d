from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_Whole = NDArray[np.int64]
_Array = NDArray[np.float64]

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

@final
class Ends:
    # arguments direction, count, sums, hard, bounds, measured, form; the compiled slot has no names
    def __new__(cls, *args: NDArray[np.generic]) -> Ends: ...
    def ends(self, state: _Whole, sites: NDArray[Any]) -> tuple[bool, int, int]: ...
    def shapes(self, state: _Whole, sites: NDArray[Any]) -> None: ...
    def priors(self, state: _Whole, sites: NDArray[Any], tables: _Array, rows: _Whole, logs: _Array) -> None: ...
