"""Reference implementation of `published._window_sums`: row by row with NumPy."""

import numpy as np
from numpy.typing import NDArray

TIE = 1e-12


def summaries(log_weights: NDArray[np.float64], widths: NDArray[np.int64], *, level: float) -> NDArray[np.float64]:
    """Return the log sum, mean, sd, lower and upper end of every row, measured from its first entry."""
    out = np.full((len(log_weights), 5), np.nan)
    tail = (1 - level) / 2
    for row, logs, width in zip(out, log_weights, widths, strict=True):
        top = logs[:width].max()
        row[0] = top
        if top == -np.inf:
            continue
        weights = np.exp(logs[:width] - top)
        total, j = weights.sum(), np.arange(width)
        mean = j @ weights / total
        row[:3] = top + np.log(total), mean, np.sqrt((j - mean) ** 2 @ weights / total)
        row[3] = np.argmax(np.cumsum(weights) >= tail * (1 - TIE) * total)
        row[4] = width - 1 - np.argmax(np.cumsum(weights[::-1]) > tail * (1 + TIE) * total)
    return out
