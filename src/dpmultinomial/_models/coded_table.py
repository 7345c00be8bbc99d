"""Data sets whose columns are coded as integers. The code of a value is its index among the sorted distinct values of
the column, which are stored separately.

Numeric columns are converted to categories by quantile bins, which are determined from the training records only. Tied
values are kept in separate bins.

A numeric column with more than `many` distinct training values is binned. First, the i-th most frequent value becomes a
separate category if it has more than n/3^i records and all more frequent values are separate categories. Then, if more
than `many` distinct values remain, these values are divided into quantile bins. Without the first step, tied quantiles
would merge (a column that is mostly 0 would have one bin). The edges are derived from the training data and are not
covered by any privacy budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks

MISSING = ("refuse", "category")
FEW = 5  # `examine` reports classes with fewer records than this


@dataclass(frozen=True, kw_only=True)
class CodedTable:
    """Data set of records whose columns are discrete and coded as integers.

    Parameters
    ----------
    name : name of the data set.
    columns : names of the columns; the last one is the target.
    codes : int32 (records, columns); entry c of column k represents levels[k][c].
    levels : the distinct values of every column in increasing order; float64 if `numeric`, otherwise text.
    numeric : whether the values of a column are numbers, which may be binned.
    """

    name: str
    columns: tuple[str, ...]
    codes: NDArray[np.int32]
    levels: tuple[NDArray[np.generic], ...]
    numeric: tuple[bool, ...]

    @property
    def features(self) -> NDArray[np.int32]:
        """Integer codes of all columns except the target column."""
        return self.codes[:, :-1]

    @property
    def target(self) -> NDArray[np.int32]:
        """Integer codes of the target column of the data set."""
        return np.ascontiguousarray(self.codes[:, -1])

    @property
    def classes(self) -> int:
        """Number of distinct values (classes) of the target column."""
        return len(self.levels[-1])

    def rounded(self, columns: Sequence[str]) -> "CodedTable":
        """Return a copy of the records in which the given numeric columns are rounded to integers (halves are rounded
        up).
        """
        codes, levels = self.codes.copy(), list(self.levels)
        for name in columns:
            k = self.columns.index(name)
            levels[k], new = np.unique(np.floor(np.asarray(levels[k], dtype=float) + 0.5), return_inverse=True)
            codes[:, k] = new[self.codes[:, k]]
        return CodedTable(name=self.name, columns=self.columns, codes=codes, levels=tuple(levels), numeric=self.numeric)


def encode(
    frame: pd.DataFrame, *, name: str, target: str, numeric: Sequence[str], missing: str = "refuse"
) -> CodedTable:
    """Return the records of a data frame with all columns coded as integers.

    Parameters
    ----------
    frame : one row per record; an empty cell of a non-numeric column is a category.
    name : name of the data set.
    target : column to predict.
    numeric : columns whose values are numbers.
    missing : treatment of missing values in numeric columns: ``"refuse"`` rejects them, ``"category"`` assigns them to
        a separate category (the last level, NaN).

    Returns
    -------
    CodedTable

    Raises
    ------
    ValueError
        If a column is unknown, a numeric column contains text or missing cells, or the target has only one class.
    """
    _checks.one_of("missing", missing, MISSING)
    if len(set(frame.columns)) < frame.shape[1]:
        raise ValueError(f"{name}: column names must be distinct, got {', '.join(map(str, frame.columns))}")
    if unknown := [c for c in (target, *numeric) if c not in frame.columns]:
        raise ValueError(
            f"{name} has no column {unknown[0]!r}. The columns of the file are {', '.join(map(str, frame.columns))}"
        )
    columns = [*(c for c in frame.columns if c != target), target]
    codes = np.empty((len(frame), len(columns)), dtype=np.int32)
    levels = []
    for k, column in enumerate(columns):
        is_number = column in numeric and column != target
        column_values = (
            _numbers(frame[column], name, missing) if is_number else frame[column].fillna("").astype(str).to_numpy()
        )
        distinct, codes[:, k] = np.unique(column_values, return_inverse=True)
        levels.append(distinct)
    if len(levels[-1]) < 2:
        raise ValueError(f"{name}: the target {target!r} must have at least two classes, got {len(levels[-1])}")
    return CodedTable(
        name=name,
        columns=tuple(map(str, columns)),
        codes=codes,
        levels=tuple(levels),
        numeric=tuple(c in numeric and c != target for c in columns),
    )


@dataclass(frozen=True)
class Finding:
    """Unusual property of a column, with a description of its consequence for a private model.

    Parameters
    ----------
    column : name of the column.
    kind : ``"identifier"``, ``"constant"``, ``"missing"`` or ``"rare class"``.
    text : description.
    """

    column: str
    kind: str
    text: str


def examine(table: CodedTable) -> list[Finding]:
    """Return a list of problems with columns that use privacy budget but contribute little or nothing to a model.

    Parameters
    ----------
    table : result of `encode`.

    Returns
    -------
    list of Finding
        Identifiers (string columns with more levels than half the number of records), constant columns, missing cells,
        and classes with fewer than 5 records. The findings depend on the records, so only the data holder may see them.
    """
    findings = []
    for k, (name, levels) in enumerate(zip(table.columns, table.levels, strict=True)):
        counts = np.bincount(table.codes[:, k], minlength=len(levels))
        if k == len(table.columns) - 1:
            findings += [
                Finding(
                    name,
                    "rare class",
                    f"class {str(level)!r} has only {n} record{'' if n == 1 else 's'}: its probabilities are imprecise",
                )
                for level, n in zip(levels, counts, strict=True)
                if n < FEW
            ]
        elif len(levels) == 1:
            findings.append(
                Finding(
                    name,
                    "constant",
                    (
                        f"column {name!r} has only one value, {str(levels[0])!r}, so the column contains no "
                        "information: remove the column"
                    ),
                )
            )
        elif not table.numeric[k] and len(levels) > len(table.codes) / 2:
            text = (
                f"column {name!r} has {len(levels)} levels in {len(table.codes)} records, like an identifier: remove "
                "the column"
            )
            findings.append(Finding(name, "identifier", text))
        blank = np.isnan(levels) if table.numeric[k] else np.array([not str(v).strip() for v in levels])
        if lost := int(counts[blank].sum()):
            text = f"column {name!r} has missing cells ({lost}), which are treated as a separate category"
            findings.append(Finding(name, "missing", text))
    return findings


def _numbers(column: "pd.Series[str]", name: str, missing: str) -> NDArray[np.float64]:
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    blank = column.isna().to_numpy() | ~column.astype(str).str.strip().astype(bool).to_numpy()
    if blank.all():
        raise ValueError(f"{name}: the numeric column {column.name!r} contains only missing values: remove this column")
    wrong = ~np.isfinite(values) & ~(blank & (missing == "category"))
    if wrong.any():
        bad = int(np.flatnonzero(wrong)[0])
        cell = "is missing" if blank[bad] else f"holds {column.iloc[bad]!r}"
        way = ": remove the row, or pass missing='category' to treat missing cells as a category" if blank[bad] else ""
        raise ValueError(
            f"{name}: the numeric column {column.name!r} {cell} in row {bad + 1}, but must contain numbers{way}"
        )
    return values


UNSEEN = -1
MATCHES = ("nearest", "exact")


@dataclass(frozen=True)
class Binning:
    """Mapping from the integer codes of every column of a table to categories.

    Parameters
    ----------
    train, test : int32 arrays, mapping from codes to categories or `UNSEEN`; they differ only if ``match="exact"``.
    sizes : number of categories of each column.
    """

    train: tuple[NDArray[np.int32], ...]
    test: tuple[NDArray[np.int32], ...]
    sizes: tuple[int, ...]

    def apply(self, codes: NDArray[np.int32], *, to: str = "train") -> NDArray[np.int32]:
        """Return the categories that correspond to integer codes of a table, as an int32 array of shape (n, columns).
        Use ``to="test"`` for records that were not used to learn the categories.
        """
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
    """Determine the categories of every column of a table, including the target, from the training records.

    Parameters
    ----------
    table : all records.
    rows : indices of the training records.
    bins : number of quantile bins of a binned column.
    many : number of distinct values above which a numeric column is binned.
    match : ``"nearest"`` assigns every value of a binned column to a bin. ``"exact"`` emulates the published protocol:
        a test value is used only if the same value occurs in the training records, and the lowest bin is not used in
        the test.
    public_levels : if True, each level without training records is also a category, so that the set of categories does
        not reveal anything about the training records. If False, such levels are `UNSEEN`, except the levels of the
        target: a rare class may have no training record but still be requested.

    Returns
    -------
    Binning
        If the table has missing numbers, they form a separate category, which is the last one.

    Raises
    ------
    ValueError, TypeError
        For an unknown option or fewer than 2 bins.
    """
    _checks.one_of("match", match, MATCHES)
    _checks.integer("bins", bins, least=2)
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
    """Divide the distinct values of a numeric column into bins with the function `_binned`. If the last value is
    missing (NaN), it becomes a separate category after all bins.
    """
    if not np.isnan(levels[-1]):
        return _binned(levels, counts, bins, many, match)
    train, test = _binned(levels[:-1], counts[:-1], bins, many, match)
    missing_code = train.max() + 1
    return np.append(train, missing_code), np.append(test, missing_code)


def _number(kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return consecutive numbers 0, 1, .. for the entries of a mask that are true, and `UNSEEN` for all
    other entries.
    """
    return np.where(kept, np.cumsum(kept) - 1, UNSEEN)


def _binned(
    levels: NDArray[np.float64], counts: NDArray[np.int64], bins: int, many: int, match: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    frequent = _frequent(counts)
    rest = (counts > 0) & ~frequent
    if np.count_nonzero(rest) <= many:
        categories = _number(counts > 0)
        return categories, categories
    repeated = np.repeat(levels[rest], counts[rest])
    edges = np.unique(np.quantile(repeated, np.linspace(0, 1, bins + 1)))
    inner = edges[1:-1]
    first = np.count_nonzero(frequent)
    bin_of = np.searchsorted(inner, levels, side="left")  # intervals (a, b] as in pandas
    nearest = np.where(frequent, _number(frequent), first + bin_of)
    if match == "nearest":
        return _compact(nearest, counts)
    lost = (counts == 0) | (~frequent & (bin_of == 0))
    return nearest, np.where(lost, UNSEEN, nearest)


def _frequent(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the levels of a column that are frequent enough to become separate categories."""
    kept, total = np.zeros(len(counts), dtype=bool), counts.sum()
    for i, level in enumerate(np.argsort(-counts, kind="stable"), start=1):
        if counts[level] <= total / 3**i:
            break
        kept[level] = True
    return kept


def _compact(categories: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Renumber the categories of a column so that each category contains at least one training record. A category
    without training records is merged into the nearest smaller category.
    """
    held = np.unique(categories[counts > 0])
    renamed = np.clip(np.searchsorted(held, categories, side="right") - 1, 0, None)
    return renamed, renamed
