import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Whole = NDArray[np.int64]

def sums(
    likelihood: _Array,
    start: _Whole,
    low: _Whole,
    peak: _Whole,
    first: _Array,
    second: _Array,
    exposure: _Array,
    *,
    shares: bool,
    moments: bool = True,
) -> _Array: ...
def mixtures(
    likelihood: _Array,
    start: _Whole,
    low: _Whole,
    peak: _Whole,
    first: _Array,
    second: _Array,
    exposure: _Array,
    log_node: _Array,
    weights: _Array,
    levels: _Array,
    normals: _Array,
    points: _Array,
    *,
    shares: bool,
) -> tuple[_Array, _Array, _Array, _Array]: ...
def picks(
    likelihood: _Array,
    start: _Whole,
    low: _Whole,
    peak: _Whole,
    first: _Array,
    second: _Array,
    exposure: _Array,
    log_node: _Array,
    uniforms: _Array,
    which: _Whole,
    *,
    shares: bool,
) -> tuple[_Whole, _Whole]: ...
