"""Reference implementation of `swap_draws`."""

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def select(n: int, *, rate: float, rng: np.random.Generator) -> Counts:
    """Positions selected among n >= 2, anew while there is exactly one."""
    while True:
        chosen = np.flatnonzero(rng.random(n) < rate)
        if len(chosen) != 1:
            return chosen


def derange(k: int, *, rng: np.random.Generator) -> list[int]:
    """One uniform derangement: a shuffle from the end, refused at its first fixed point."""
    while True:
        image = list(range(k))
        for i in range(k - 1, -1, -1):
            j = int(rng.random() * (i + 1))
            image[i], image[j] = image[j], image[i]
            if image[i] == i:
                break
        else:
            return image


def derangements(k: int, size: int, *, rng: np.random.Generator) -> Counts:
    """`swapping.derangements`."""
    return np.array([derange(k, rng=rng) for _ in range(size)], dtype=np.int64).reshape(size, k)


def sources(strata: Counts, *, rate: float, rng: np.random.Generator) -> Counts:
    """`swapping.sources`."""
    out = np.arange(len(strata))
    for stratum in range(int(max(strata, default=-1)) + 1):
        members = np.flatnonzero(strata == stratum)
        if len(members) >= 2:
            chosen = members[select(len(members), rate=rate, rng=rng)]
            out[chosen] = chosen[derange(len(chosen), rng=rng)]
    return out


def tables(table: Counts, size: int, *, rate: float, rng: np.random.Generator) -> Counts:
    """`swap_draws.tables`."""
    row, column = (np.repeat(codes.ravel(), table.ravel()) for codes in np.indices(table.shape))
    out = np.zeros((size, *table.shape), dtype=np.int64)
    for swapped in out:
        moved = row[sources(np.zeros(len(row), dtype=np.int64), rate=rate, rng=rng)]
        np.add.at(swapped, (moved, column), 1)
    return out
