import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

def sums(
    likelihood: Array,
    start: Whole,
    low: Whole,
    peak: Whole,
    first: Array,
    second: Array,
    exposure: Array,
    *,
    shares: bool,
    moments: bool = True,
) -> Array: ...
def mixtures(
    likelihood: Array,
    start: Whole,
    low: Whole,
    peak: Whole,
    first: Array,
    second: Array,
    exposure: Array,
    log_node: Array,
    weights: Array,
    levels: Array,
    normals: Array,
    points: Array,
    *,
    shares: bool,
) -> tuple[Array, Array, Array, Array]: ...
def picks(
    likelihood: Array,
    start: Whole,
    low: Whole,
    peak: Whole,
    first: Array,
    second: Array,
    exposure: Array,
    log_node: Array,
    uniforms: Array,
    which: Whole,
    *,
    shares: bool,
) -> tuple[Whole, Whole]: ...
