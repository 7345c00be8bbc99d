"""Reference implementation of `unswapping`."""

import numpy as np
from numpy.typing import NDArray
from twins.swapping import sources

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def abc(
    observed: Counts,
    alpha: Array,
    iterations: int,
    *,
    rate: float,
    rng: np.random.Generator,
    margins_first: bool = False,
) -> tuple[Array, Counts]:
    """`unswapping.abc`."""
    draws, originals = [], []
    n = int(observed.sum())
    for _ in range(iterations):
        gammas = rng.standard_gamma(alpha)
        cumulative = np.cumsum(gammas)
        cells = np.searchsorted(cumulative[:-1], rng.random(n) * cumulative[-1], side="right")
        original = np.bincount(cells, minlength=observed.size).reshape(observed.shape)
        margins = [np.array_equal(original.sum(axis=a), observed.sum(axis=a)) for a in (0, 1)]
        if margins_first and not all(margins):
            continue
        row, column = np.divmod(cells, observed.shape[1])
        swapped = original
        if n >= 2:
            moved = row[sources(np.zeros(n, dtype=np.int64), rate=rate, rng=rng)]
            swapped = np.bincount(moved * observed.shape[1] + column, minlength=observed.size).reshape(observed.shape)
        if np.array_equal(swapped, observed):
            draws.append(gammas / cumulative[-1])
            originals.append(original.ravel())
    shape = (-1, observed.size)
    return np.array(draws).reshape(shape), np.array(originals, dtype=np.int64).reshape(shape)
