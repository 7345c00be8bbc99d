"""Gauss-Legendre quadrature rules, with a cache of the computed rules."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@lru_cache(maxsize=256)
def legendre(size: int) -> tuple[Array, Array]:
    """Return the nodes on (-1, 1) and the weights of the Gauss-Legendre rule with `size` nodes, as read-only arrays."""
    nodes, weights = np.polynomial.legendre.leggauss(size)
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
