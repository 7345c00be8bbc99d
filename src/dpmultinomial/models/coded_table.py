"""A data set as whole numbers: every column coded by its sorted distinct values, the values kept beside."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray


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
    levels: tuple[NDArray, ...]
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
            levels[k], new = np.unique(np.floor(levels[k] + 0.5), return_inverse=True)
            codes[:, k] = new[self.codes[:, k]]
        return CodedTable(name=self.name, columns=self.columns, codes=codes, levels=tuple(levels), numeric=self.numeric)


def encode(frame: pd.DataFrame, *, name: str, target: str, numeric: Sequence[str]) -> CodedTable:
    """Integer-code a data frame.

    Parameters
    ----------
    frame : one row a record, without missing cells in numeric columns; in others an empty cell is a category.
    name : of the data set. target : its column to predict. numeric : columns whose values are numbers.

    Raises
    ------
    ValueError
        If a column is unknown, a numeric column holds text or missing cells, or the target has one class.
    """
    if unknown := [c for c in (target, *numeric) if c not in frame.columns]:
        raise ValueError(f"{name}: no column {unknown[0]!r}; the columns are {', '.join(map(str, frame.columns))}")
    columns = [*(c for c in frame.columns if c != target), target]
    codes = np.empty((len(frame), len(columns)), dtype=np.int32)
    levels = []
    for k, column in enumerate(columns):
        is_number = column in numeric and column != target
        found = _numbers(frame[column], name) if is_number else frame[column].fillna("").astype(str).to_numpy()
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


def _numbers(column: pd.Series, name: str) -> NDArray[np.float64]:
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    if not column.astype(str).str.strip().astype(bool).any() or column.isna().all():
        raise ValueError(f"{name}: numeric column {column.name!r} is all missing")
    if np.isnan(values).any():
        bad = int(np.flatnonzero(np.isnan(values))[0])
        raise ValueError(
            f"{name}: numeric column {column.name!r} holds {column.iloc[bad]!r} (row {bad + 1}), no number"
        )
    return values
