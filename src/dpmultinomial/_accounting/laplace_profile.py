"""The exact (epsilon, delta) profile of one histogram with Laplace noise under replace-one neighbours."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks


def delta(epsilon: ArrayLike, *, scale: float) -> NDArray[np.float64]:
    """Smallest delta for which counts plus Laplace(scale) noise are (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : >= 0, any shape.
    scale : Laplace scale of every cell, > 0; one record moves two cells by one each.

    Returns
    -------
    float64 of the shape of `epsilon`, in [0, 1]
        ``1 - (1 + a/4) exp(-a/2)`` with ``a = max(2/scale - epsilon, 0)``, to 1e-15 relative; 0 from 2/scale on.

    Raises
    ------
    ValueError, TypeError
        If `scale` is not a finite number > 0 or an `epsilon` is negative or NaN.

    Notes
    -----
    The privacy losses of the two cells add. With s = 1/scale their sum has the density
    exp((l - 2 s)/2) (1/4 + (2 s - l)/16) for 0 < l < 2 s and an atom of 1/4 at 2 s; integrating 1 - exp(epsilon - l)
    against it gives the closed form. O(1).
    """
    scale = _checks.positive("scale", scale)
    levels = np.asarray(epsilon, dtype=float)
    if not np.all(levels >= 0):
        raise ValueError(f"epsilon must be >= 0, got {levels.min()}")
    with np.errstate(over="ignore", invalid="ignore"):
        left = np.minimum(np.where(np.isinf(levels), 0.0, np.maximum(2 / scale - levels, 0.0)), 1e4)
    return np.asarray(-np.expm1(-left / 2) - left / 4 * np.exp(-left / 2))
