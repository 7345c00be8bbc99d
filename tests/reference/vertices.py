"""Reference implementation of `composition_tables.last_move` of balmat2018: chains until they reach a vertex."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def last_move(rows: Array, static: Array, alpha: float, iterations: int, rng: np.random.Generator) -> int | None:
    """Return the iteration at which a chain reaches a vertex, or None."""
    p = rng.dirichlet(np.ones(3))
    for iteration in range(iterations):
        log_p = np.log(p, out=np.full(3, -1e30), where=p > 0)  # finite, so that a count of 0 has weight 0^0 = 1
        weights = np.cumsum(np.exp(static + rows @ log_p))
        shape = alpha + rows[np.searchsorted(weights, rng.random() * weights[-1], side="right")]
        p = np.zeros(3)
        p[shape > 0] = rng.dirichlet(shape[shape > 0])
        if p.max() == 1.0:
            return iteration
    return None
