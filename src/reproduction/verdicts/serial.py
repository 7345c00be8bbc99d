"""Test draws for serial independence."""

import numpy as np
import scipy  # scipy.stats is loaded at first use
from numpy.typing import ArrayLike


def z(apart: ArrayLike, *, sd: float) -> float:
    """Return the sum of products of neighbouring draws divided by its standard deviation; nearly standard normal for
    independent draws.

    A proportion s of draws that repeat the previous draw increases it by s sqrt(n).

    Parameters
    ----------
    apart : (n,), draws minus their mean.
    sd : standard deviation of one draw, > 0.

    Returns
    -------
    float, NaN for fewer than three draws. Products have the variance sd^4 and neighbouring ones are uncorrelated.
    """
    found = np.asarray(apart, dtype=float)
    if len(found) < 3:
        return float("nan")
    return float(found[1:] @ found[:-1]) / (sd**2 * np.sqrt(len(found) - 1))


def p_value(uniform: ArrayLike) -> float:
    """Return the two-sided p-value of `z` for draws transformed by their distribution function (uniform if correct)."""
    return float(2 * scipy.stats.norm.sf(abs(z(np.asarray(uniform, dtype=float) - 0.5, sd=12**-0.5))))
