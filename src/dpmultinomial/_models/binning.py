"""Numeric columns to categories by quantile bins, ties kept apart, learnt from the training records alone.

A numeric column with more than `many` distinct training values is binned: its most frequent values become categories of
their own while the i-th of them has more than n/3^i records, and what remains goes to quantile bins if it still has
more than `many` distinct values. Without the first step tied quantiles would merge (a column that is mostly 0 would
keep one bin). Edges come from the training data and are not covered by any privacy budget.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .coded_table import CodedTable

UNSEEN = -1
MATCHES = ("nearest", "exact")


@dataclass(frozen=True)
class Binning:
    """Maps from a table's codes to categories, one a column.

    Parameters
    ----------
    train, test : int32 arrays, code -> category or `UNSEEN`; they differ only under ``match="exact"``.
    sizes : number of categories of each column.
    """

    train: tuple[NDArray[np.int32], ...]
    test: tuple[NDArray[np.int32], ...]
    sizes: tuple[int, ...]

    def apply(self, codes: NDArray[np.int32], *, to: str = "train") -> NDArray[np.int32]:
        """Categories int32 (n, columns) of table codes; ``to="test"`` for records that were not used to learn."""
        maps = self.train if _checks.one_of("to", to, ("train", "test")) == "train" else self.test
        return np.column_stack([m[codes[:, k]] for k, m in enumerate(maps)]).astype(np.int32)


def learn(
    table: CodedTable,
    rows: NDArray[np.int64],
    *,
    bins: int = 10,
    many: int = 30,
    match: str = "nearest",
    public_levels: bool = False,
) -> Binning:
    """Learn categories of every column (the target too) from the training `rows`.

    Parameters
    ----------
    table : all records.
    rows : indices of the training records.
    bins : quantile bins of a binned column.
    many : distinct values above which a numeric column is binned.
    match : ``"nearest"`` puts every value of a binned column into a bin. ``"exact"`` emulates the published protocol:
        a test value counts only if that very value occurs in training, and the lowest bin is lost in testing.
    public_levels : True also makes a category of each level that training does not hold; the set of categories then
        tells nothing about the training records. False leaves such levels `UNSEEN`, except those of the target: a class
        that is rare may have no training record and still be asked for.

    Returns
    -------
    Binning
        Missing numbers, where the table has them, are a category of their own, the last one.

    Raises
    ------
    ValueError, TypeError
        For an unknown word or fewer than 2 bins.
    """
    _checks.one_of("match", match, MATCHES)
    _checks.whole("bins", bins, least=2)
    maps = []
    for k, levels in enumerate(table.levels):
        counts = np.bincount(table.codes[rows, k], minlength=len(levels))
        if table.numeric[k] and np.count_nonzero(counts) > many:
            maps.append(_with_missing(np.asarray(levels, dtype=float), counts, bins, many, match))
        elif public_levels or k == len(table.levels) - 1:
            maps.append((np.arange(len(levels)), np.arange(len(levels))))
        else:
            maps.append((_number(counts > 0),) * 2)
    train, test = ([m[i].astype(np.int32) for m in maps] for i in (0, 1))
    sizes = tuple(int(m.max()) + 1 for m in train)
    return Binning(tuple(train), tuple(test), sizes)


def _with_missing(
    levels: NDArray[np.float64], counts: NDArray[np.int64], bins: int, many: int, match: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`_binned` of the numbers; a last level that is missing gets the category after them."""
    if not np.isnan(levels[-1]):
        return _binned(levels, counts, bins, many, match)
    train, test = _binned(levels[:-1], counts[:-1], bins, many, match)
    own = train.max() + 1
    return np.append(train, own), np.append(test, own)


def _number(kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """0, 1, .. for the kept entries in order, `UNSEEN` for the others."""
    return np.where(kept, np.cumsum(kept) - 1, UNSEEN)


def _binned(
    levels: NDArray[np.float64], counts: NDArray[np.int64], bins: int, many: int, match: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    own = _frequent(counts)
    rest = (counts > 0) & ~own
    if np.count_nonzero(rest) <= many:
        categories = _number(counts > 0)
        return categories, categories
    repeated = np.repeat(levels[rest], counts[rest])
    edges = np.unique(np.quantile(repeated, np.linspace(0, 1, bins + 1)))
    inner = edges[1:-1]
    first = np.count_nonzero(own)
    bin_of = np.searchsorted(inner, levels, side="left")  # (a, b] as pandas cuts
    nearest = np.where(own, _number(own), first + bin_of)
    if match == "nearest":
        return _compact(nearest, counts)
    lost = (counts == 0) | (~own & (bin_of == 0))
    return nearest, np.where(lost, UNSEEN, nearest)


def _frequent(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Levels that become categories of their own."""
    own, total = np.zeros(len(counts), dtype=bool), counts.sum()
    for i, level in enumerate(np.argsort(-counts, kind="stable"), start=1):
        if counts[level] <= total / 3**i:
            break
        own[level] = True
    return own


def _compact(categories: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Categories renumbered so that each has a training record; others take the nearest smaller one."""
    held = np.unique(categories[counts > 0])
    renamed = np.clip(np.searchsorted(held, categories, side="right") - 1, 0, None)
    return renamed, renamed
