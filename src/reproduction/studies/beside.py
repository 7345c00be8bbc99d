"""Least squares, the same clipped at zero, and a posterior: what each says of the counts of a tree."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
METHODS = ("least squares", "clipped least squares", "posterior")


def answers(rows: pd.DataFrame, z: float) -> dict[str, tuple[Array, Array, Array]]:
    """Estimate, lower and upper end by method.

    Parameters
    ----------
    rows : a row a count; columns least_squares, least_squares_sd; mean, lower, upper of the posterior.
    z : half the width of a normal interval in standard deviations.

    Returns
    -------
    dict
        Of `METHODS`. Clipped: the whole numbers from 0 on within the interval of least squares, 0 alone where there
        are none.
    """
    least, sd = (np.asarray(rows[name], dtype=np.float64) for name in ("least_squares", "least_squares_sd"))
    low, high = least - z * sd, least + z * sd
    clipped = np.maximum(least, 0.0), np.maximum(np.ceil(low), 0.0), np.maximum(np.floor(high), 0.0)
    mean, lower, upper = (rows[name].to_numpy(dtype=np.float64) for name in ("mean", "lower", "upper"))
    return dict(zip(METHODS, ((least, low, high), clipped, (mean, lower, upper)), strict=True))
