"""Noisy counts made to add up by simple means: what one would compare the additive releases of Wang (2020) with.

All functions work on rows: `noisy` float64 or int64 (n, S), `totals` (n,). Post-processing costs no privacy.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def scaled(noisy: NDArray, totals: NDArray) -> Array:
    """Non-negative parts in proportion, to the total; equal shares where all are 0."""
    kept = np.maximum(np.asarray(noisy, dtype=float), 0.0)
    kept[kept.sum(axis=1) == 0] = 1.0
    return kept / kept.sum(axis=1, keepdims=True) * np.asarray(totals, dtype=float)[:, None]


def projected(noisy: NDArray, totals: NDArray) -> Array:
    """The nearest (least squares) non-negative rows with the given totals: max(noisy - shift, 0)."""
    values = np.asarray(noisy, dtype=float)
    size = values.shape[1]
    falling = -np.sort(-values, axis=1)
    excess = (np.cumsum(falling, axis=1) - np.asarray(totals, dtype=float)[:, None]) / np.arange(1, size + 1)
    last = size - 1 - np.argmax((falling > excess)[:, ::-1], axis=1)
    shift = excess[np.arange(len(values)), last]
    rows = np.maximum(values - shift[:, None], 0.0)
    rows[np.asarray(totals) <= 0] = 0.0
    return rows


def least_squares(noisy: NDArray, noisy_totals: NDArray) -> tuple[Array, Array]:
    """Generalised least squares with the total as one more observation of equal variance: (rows, their sums)."""
    values = np.asarray(noisy, dtype=float)
    gap = np.asarray(noisy_totals, dtype=float) - values.sum(axis=1)
    rows = values + gap[:, None] / (values.shape[1] + 1)
    return rows, rows.sum(axis=1)


def largest_remainder(rows: Array, totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers with the given totals: floors, then one more unit for the largest remainders.

    Raises
    ------
    ValueError
        If a row does not add up to its total to within rounding.
    """
    whole = np.floor(rows + 1e-9).astype(np.int64)
    left = np.asarray(totals, dtype=np.int64) - whole.sum(axis=1)
    if np.any(left < 0) or np.any(left > rows.shape[1]):
        raise ValueError("rows must add up to their totals")
    order = np.argsort(-(rows - whole), axis=1, kind="stable")
    gains = np.arange(rows.shape[1]) < left[:, None]
    np.put_along_axis(whole, order, np.take_along_axis(whole, order, axis=1) + gains, axis=1)
    return whole
