"""Simple methods that adjust noisy counts to a total, for comparison with the release mechanisms of Wang (2020).

All functions operate on rows: `noisy` float64 or int64 (n, S), `totals` (n,). Post-processing does not have a privacy
cost.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmultinomial import _checks

Array = NDArray[np.float64]


def scaled(noisy: ArrayLike, totals: ArrayLike) -> Array:
    """Return non-negative counts that are scaled so that they sum to a given total. All shares are equal if all
    counts are 0.

    Parameters
    ----------
    noisy : float64 or int64 (n, S), finite, one release per row.
    totals : (n,).

    Returns
    -------
    float64 (n, S), with row sums `totals`.

    Raises
    ------
    ValueError
        If a shape is wrong or a number is not finite.
    """
    values, wanted = _rows(noisy, totals)
    kept = np.maximum(values, 0.0)
    kept[kept.sum(axis=1) == 0] = 1.0
    return np.asarray(kept / kept.sum(axis=1, keepdims=True) * wanted[:, None])


def projected(noisy: ArrayLike, totals: ArrayLike) -> Array:
    """Return the non-negative rows with given sums that have the smallest squared distance to the rows of noisy counts.
    These rows are max(noisy - shift, 0).

    Parameters
    ----------
    noisy : float64 or int64 (n, S), finite, one release per row.
    totals : (n,); a total of 0 or less gives a row of zeros.

    Returns
    -------
    float64 (n, S).

    Raises
    ------
    ValueError
        If a shape is wrong or a number is not finite.
    """
    values, wanted = _rows(noisy, totals)
    size = values.shape[1]
    falling = -np.sort(-values, axis=1)
    excess = (np.cumsum(falling, axis=1) - wanted[:, None]) / np.arange(1, size + 1)
    last = size - 1 - np.argmax((falling > excess)[:, ::-1], axis=1)
    shift = excess[np.arange(len(values)), last]
    rows = np.maximum(values - shift[:, None], 0.0)
    rows[wanted <= 0] = 0.0
    return np.asarray(rows)


def least_squares(noisy: ArrayLike, noisy_totals: ArrayLike) -> tuple[Array, Array]:
    """Return generalised least-squares estimates of counts, given noisy counts and a noisy total. The noisy total is an
    additional observation with the same variance.

    Parameters
    ----------
    noisy : float64 or int64 (n, S), finite, one release per row.
    noisy_totals : (n,).

    Returns
    -------
    rows, sums : float64 (n, S), which may be negative, and (n,).

    Raises
    ------
    ValueError
        If a shape is wrong or a number is not finite.
    """
    values, observed = _rows(noisy, noisy_totals)
    gap = observed - values.sum(axis=1)
    rows = values + gap[:, None] / (values.shape[1] + 1)
    return rows, rows.sum(axis=1)


def largest_remainder(rows: Array, totals: ArrayLike) -> NDArray[np.int64]:
    """Round the numbers in each row to integers that sum to a given total, by the largest-remainder method. Each part
    is rounded down, and the parts with the largest remainders are increased by one.

    Parameters
    ----------
    rows : float64 (n, S), finite.
    totals : integers (n,), sums of the rows.

    Returns
    -------
    int64 (n, S). If remainders are equal, the lowest index is preferred.

    Raises
    ------
    ValueError
        If a row sum differs from its total by more than rounding, a shape is wrong, or a number is not finite.
    """
    rows, wanted = _rows(rows, totals)
    whole = np.floor(rows + 1e-9).astype(np.int64)
    left = wanted.astype(np.int64) - whole.sum(axis=1)
    if np.any(left < 0) or np.any(left > rows.shape[1]):
        raise ValueError(
            "the sums of the rows must be equal to the totals, got a sum of "
            f"{rows.sum(axis=1)[(left < 0) | (left > rows.shape[1])][0]:g} for the total "
            f"{wanted[(left < 0) | (left > rows.shape[1])][0]:g}"
        )
    order = np.argsort(-(rows - whole), axis=1, kind="stable")
    gains = np.arange(rows.shape[1]) < left[:, None]
    np.put_along_axis(whole, order, np.take_along_axis(whole, order, axis=1) + gains, axis=1)
    return whole


def _rows(values: ArrayLike, totals: ArrayLike) -> tuple[Array, Array]:
    rows = _checks.shaped("rows", values, None, None)
    sums = _checks.shaped("totals", totals, len(rows))
    if not rows.shape[1]:
        raise ValueError(f"rows must have at least one column, got shape {rows.shape}")
    for name, array in (("rows", rows), ("totals", sums)):
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return rows, sums
