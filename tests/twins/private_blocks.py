"""Reference implementation of `private_blocks`."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def release(
    counts: Array,
    starts: NDArray[np.int64],
    *,
    law: str,
    scale: Array,
    alpha: Array | None = None,
    floors: Array | None = None,
    normalise: bool = True,
    rng: np.random.Generator,
) -> Array:
    """`private_blocks.release`."""
    rows = []
    for m, value in enumerate(scale):
        if law == "dirichlet":
            cells = rng.standard_gamma(value * counts + (1.0 if alpha is None else alpha[m]))
        elif law == "gaussian":
            cells = counts + value * rng.standard_normal(len(counts))
        else:
            cells = counts + rng.laplace(0.0, value, len(counts))
        if floors is not None:
            cells = np.maximum(cells, floors[m])
        totals = np.repeat(np.add.reduceat(cells, starts[:-1]), np.diff(starts))
        rows.append(np.log(cells) - (np.log(totals) if normalise else 0.0))
    return np.array(rows)
