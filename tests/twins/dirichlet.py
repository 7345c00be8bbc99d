"""Reference implementation of `dirichlet`."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def draw(alpha: Array, counts: NDArray[np.int64], *, rng: np.random.Generator) -> Array:
    """`dirichlet.draw`."""
    gammas = rng.standard_gamma(alpha + counts)
    return np.asarray(gammas * (1.0 / gammas.sum(axis=1, keepdims=True)))
