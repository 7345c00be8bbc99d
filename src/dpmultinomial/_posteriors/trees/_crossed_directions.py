"""Directions in which a chain over crossed cells moves, enough of them for the sums that are known exactly."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
MOST_CELLS = 40  # where four of them have to move together


def directions(cells: int, exact: Whole) -> Whole:
    """Single cells, pairs whose sum stays, and, where sums that are exact need them, fours of a table.

    Parameters
    ----------
    cells : number of cells.
    exact : int64 (e, cells), sums that are exact somewhere.

    Returns
    -------
    int64 (d, cells), entries +1, 0 and -1, the first that is not 0 positive.

    Raises
    ------
    ValueError
        If sums are exact whose changes these directions do not span: margins that cross in three directions.
    """
    one = np.eye(cells, dtype=np.int64)
    found = [*one, *(one[a] - one[b] for a, b in combinations(range(cells), 2))]
    needed = cells - (int(np.linalg.matrix_rank(exact)) if len(exact) else 0)
    if _free(found, exact) < needed and cells <= MOST_CELLS:
        found += _fours(one, exact)
    if _free(found, exact) < needed:
        raise ValueError(
            "sums over crossed cells are known exactly that leave a chain no move: margins that cross in three "
            "directions; method='least squares'"
        )
    return np.array(found)


def _free(found: list[Whole], exact: Whole) -> int:
    """Dimension of the changes that leave all exact sums as they are."""
    kept = [d for d in found if not len(exact) or not (exact @ d).any()]
    return int(np.linalg.matrix_rank(np.array(kept))) if kept else 0


def _fours(one: Whole, exact: Whole) -> list[Whole]:
    """Two cells up, two down, all exact sums kept."""
    pairs = list(combinations(range(len(one)), 2))
    sums = {pair: tuple((exact[:, pair[0]] + exact[:, pair[1]]).tolist()) for pair in pairs}
    alike: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for pair, key in sums.items():
        alike.setdefault(key, []).append(pair)
    out = []
    for group in alike.values():
        for up, down in combinations(group, 2):
            if not set(up) & set(down):
                out.append(one[list(up)].sum(axis=0) - one[list(down)].sum(axis=0))
    return out
