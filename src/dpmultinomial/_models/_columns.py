"""A table of records read column by column: numbers, truth values or text, with clear refusals."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Column:
    """One column of the records.

    Parameters
    ----------
    name : its name, or its number as text.
    kind : ``"number"``, ``"truth"`` (numbers 0 and 1) or ``"text"``.
    values : float64 (n,) of numbers and truth values, objects (n,) of text.
    declared : the categories of a pandas categorical column, else empty.
    """

    name: str
    kind: str
    values: NDArray[np.generic]
    declared: tuple[str | float, ...] = ()


def read(X: pd.DataFrame | ArrayLike) -> list[Column]:
    """Columns of a data frame or of a two-dimensional array of numbers, truth values or text.

    Parameters
    ----------
    X : (n, columns) without missing cells. An object column must be all text or all numbers.

    Returns
    -------
    list of Column

    Raises
    ------
    ValueError
        For missing cells, infinities, complex numbers, or no row or column at all.
    TypeError
        For cells that are neither numbers nor text, or a column that mixes both.
    """
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if not frame.shape[0] or not frame.shape[1]:
        raise ValueError(f"X must have at least one row and one column, got shape {frame.shape}")
    return [_column(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]


def _column(name: str, series: pd.Series) -> Column:
    if series.isna().any():
        row = int(np.flatnonzero(series.isna().to_numpy())[0])
        raise ValueError(
            f"column {name!r} must have no missing cell (NaN), got one in row {row}: make it a level or drop it"
        )
    declared: tuple[str | float, ...] = ()
    if isinstance(series.dtype, pd.CategoricalDtype):
        categories = series.dtype.categories
        inner = _column(name, pd.Series(categories)) if len(categories) else None
        declared = tuple(inner.values.tolist()) if inner else ()
        series = series.astype(categories.dtype)
    if pd.api.types.is_bool_dtype(series.dtype):
        return Column(name, "truth", series.to_numpy(dtype=float), ())
    if pd.api.types.is_numeric_dtype(series.dtype):
        return Column(name, "number", _finite(name, series.to_numpy()), declared)
    return _objects(name, series.to_numpy(dtype=object), declared)


def _objects(name: str, cells: NDArray[np.object_], declared: tuple[str | float, ...]) -> Column:
    text = [isinstance(cell, str) for cell in cells]
    if all(text):
        return Column(name, "text", cells, declared)
    for row, cell in enumerate(cells):
        if not isinstance(cell, str | Real | np.bool_):
            raise TypeError(f"column {name!r}: argument must be a string or a number, got {cell!r} in row {row}")
    if any(text):
        raise TypeError(f"column {name!r} must be all text or all numbers, got both")
    return Column(name, "number", _finite(name, cells.astype(float)), declared)


def _finite(name: str, values: NDArray[np.generic]) -> NDArray[np.float64]:
    if np.iscomplexobj(values):
        raise ValueError(f"Complex data not supported: column {name!r}")
    found = np.asarray(values, dtype=float)
    if not np.isfinite(found).all():
        row = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(f"column {name!r} must be finite (no inf), got {found[row]} in row {row}")
    return found
