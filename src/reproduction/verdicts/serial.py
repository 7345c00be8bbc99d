"""Whether draws are independent of the ones before them."""

import numpy as np
import scipy  # its statistics load when they are first used
from numpy.typing import ArrayLike


def z(apart: ArrayLike, *, sd: float) -> float:
    """Sum of the products of neighbours over its standard deviation; nearly standard normal for independent draws.

    A share s of draws that repeat the one before moves it by s sqrt(n).

    Parameters
    ----------
    apart : (n,), draws less their mean.
    sd : of one draw, > 0.

    Returns
    -------
    float, NaN for fewer than three draws. Products have the variance sd^4 and neighbouring ones are uncorrelated.
    """
    found = np.asarray(apart, dtype=float)
    if len(found) < 3:
        return float("nan")
    return float(found[1:] @ found[:-1]) / (sd**2 * np.sqrt(len(found) - 1))


def p_value(uniform: ArrayLike) -> float:
    """Two-sided p value of `z`, of draws through their own distribution function: uniform if all is right."""
    return float(2 * scipy.stats.norm.sf(abs(z(np.asarray(uniform, dtype=float) - 0.5, sd=12**-0.5))))
