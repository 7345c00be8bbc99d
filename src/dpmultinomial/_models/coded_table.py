"""A data set as whole numbers: every column coded by its sorted distinct values, the values kept beside."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks

MISSING = ("refuse", "category")
FEW = 5  # records of a class below which `examine` speaks of it


@dataclass(frozen=True, kw_only=True)
class CodedTable:
    """Records with discrete columns.

    Parameters
    ----------
    name : of the data set.
    columns : names of the columns, the target last.
    codes : int32 (records, columns); entry c of column k stands for levels[k][c].
    levels : the distinct values of every column in increasing order; float64 where `numeric`, else text.
    numeric : whether a column's values are numbers, which may be binned.
    """

    name: str
    columns: tuple[str, ...]
    codes: NDArray[np.int32]
    levels: tuple[NDArray[np.generic], ...]
    numeric: tuple[bool, ...]

    @property
    def features(self) -> NDArray[np.int32]:
        """Codes of all columns but the target."""
        return self.codes[:, :-1]

    @property
    def target(self) -> NDArray[np.int32]:
        """Codes of the target."""
        return np.ascontiguousarray(self.codes[:, -1])

    @property
    def classes(self) -> int:
        """Number of distinct targets."""
        return len(self.levels[-1])

    def rounded(self, columns: Sequence[str]) -> "CodedTable":
        """The same records with some numeric columns rounded half up to whole numbers."""
        codes, levels = self.codes.copy(), list(self.levels)
        for name in columns:
            k = self.columns.index(name)
            levels[k], new = np.unique(np.floor(np.asarray(levels[k], dtype=float) + 0.5), return_inverse=True)
            codes[:, k] = new[self.codes[:, k]]
        return CodedTable(name=self.name, columns=self.columns, codes=codes, levels=tuple(levels), numeric=self.numeric)


def encode(
    frame: pd.DataFrame, *, name: str, target: str, numeric: Sequence[str], missing: str = "refuse"
) -> CodedTable:
    """Integer-code a data frame.

    Parameters
    ----------
    frame : one row a record; an empty cell of a column that is not numeric is a category.
    name : of the data set.
    target : its column to predict.
    numeric : columns whose values are numbers.
    missing : of numeric columns: ``"refuse"`` them, or make them a ``"category"`` of their own (a level NaN, the last).

    Returns
    -------
    CodedTable

    Raises
    ------
    ValueError
        If a column is unknown, a numeric column holds text or missing cells, or the target has one class.
    """
    _checks.one_of("missing", missing, MISSING)
    if len(set(frame.columns)) < frame.shape[1]:
        raise ValueError(f"{name}: column names must be distinct, got {', '.join(map(str, frame.columns))}")
    if unknown := [c for c in (target, *numeric) if c not in frame.columns]:
        raise ValueError(f"{name}: no column {unknown[0]!r}; the columns are {', '.join(map(str, frame.columns))}")
    columns = [*(c for c in frame.columns if c != target), target]
    codes = np.empty((len(frame), len(columns)), dtype=np.int32)
    levels = []
    for k, column in enumerate(columns):
        is_number = column in numeric and column != target
        found = _numbers(frame[column], name, missing) if is_number else frame[column].fillna("").astype(str).to_numpy()
        distinct, codes[:, k] = np.unique(found, return_inverse=True)
        levels.append(distinct)
    if len(levels[-1]) < 2:
        raise ValueError(f"{name}: the target {target!r} must have at least two classes, found {len(levels[-1])}")
    return CodedTable(
        name=name,
        columns=tuple(map(str, columns)),
        codes=codes,
        levels=tuple(levels),
        numeric=tuple(c in numeric and c != target for c in columns),
    )


@dataclass(frozen=True)
class Finding:
    """What is unusual about a column, and what follows from it.

    Parameters
    ----------
    column : its name.
    kind : ``"identifier"``, ``"constant"``, ``"missing"`` or ``"rare class"``.
    text : in words.
    """

    column: str
    kind: str
    text: str


def examine(table: CodedTable) -> list[Finding]:
    """Columns of a table that waste budget or cannot be learnt from.

    Parameters
    ----------
    table : as `encode` gives it.

    Returns
    -------
    list of Finding
        Identifiers (a text column with more levels than half of its records), constant columns, missing cells, and
        classes with fewer than 5 records. What it says depends on the records: it is for their holder alone.
    """
    found = []
    for k, (name, levels) in enumerate(zip(table.columns, table.levels, strict=True)):
        counts = np.bincount(table.codes[:, k], minlength=len(levels))
        if k == len(table.columns) - 1:
            found += [
                Finding(
                    name, "rare class", f"class {str(level)!r} has {n} record(s): a model cannot tell it from noise"
                )
                for level, n in zip(levels, counts, strict=True)
                if n < FEW
            ]
        elif len(levels) == 1:
            found.append(
                Finding(name, "constant", f"{name!r} has one value, {str(levels[0])!r}: it says nothing; drop it")
            )
        elif not table.numeric[k] and len(levels) > len(table.codes) / 2:
            text = f"{name!r} has {len(levels)} levels on {len(table.codes)} records, like an identifier: drop it"
            found.append(Finding(name, "identifier", text))
        blank = np.isnan(levels) if table.numeric[k] else np.array([not str(v).strip() for v in levels])
        if lost := int(counts[blank].sum()):
            text = f"{name!r} has {lost} missing cell(s), which are a category of their own"
            found.append(Finding(name, "missing", text))
    return found


def _numbers(column: "pd.Series[str]", name: str, missing: str) -> NDArray[np.float64]:
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    blank = column.isna().to_numpy() | ~column.astype(str).str.strip().astype(bool).to_numpy()
    if blank.all():
        raise ValueError(f"{name}: numeric column {column.name!r} is all missing")
    wrong = ~np.isfinite(values) & ~(blank & (missing == "category"))
    if wrong.any():
        bad = int(np.flatnonzero(wrong)[0])
        cell = "is missing" if blank[bad] else f"holds {column.iloc[bad]!r}"
        way = "; missing='category' makes missing cells a category" if blank[bad] else ""
        raise ValueError(f"{name}: numeric column {column.name!r} {cell} (row {bad + 1}), no number{way}")
    return values
