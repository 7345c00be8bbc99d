"""Categories of the columns of a table: public levels and bounds given by the caller, or categories derived from the
data with a warning.

The privacy budget covers the counts but not the set of categories. Categories that depend on the records reveal
information about the records.

The module reads a table of records column by column. The values of a column are numbers, Booleans or strings. The
estimators share the functions that read X and y by scikit-learn's conventions and that describe the columns.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d, validate_data

from .. import _checks


@dataclass(frozen=True)
class Column:
    """Column of a table of records, with its name, data type and values.

    Parameters
    ----------
    name : name of the column, or its index as a string.
    kind : ``"number"``, ``"truth"`` (numbers 0 and 1) or ``"text"``.
    values : float64 (n,) for numbers and Booleans, objects (n,) for strings.
    declared : categories of a pandas categorical column, otherwise empty.
    """

    name: str
    kind: str
    values: NDArray[np.generic]
    declared: tuple[str | float, ...] = ()


def read_columns(X: pd.DataFrame | ArrayLike) -> list[Column]:
    """Read the columns of a data frame, or of a two-dimensional array of numbers, Booleans or strings.

    Parameters
    ----------
    X : (n, columns) without missing cells. An object column must contain only strings or only numbers.

    Returns
    -------
    list of Column

    Raises
    ------
    ValueError
        For missing cells, infinities, complex numbers, or a table without rows or columns.
    TypeError
        For cells that are neither numbers nor strings, or a column that contains both.
    """
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if not frame.shape[0] or not frame.shape[1]:
        raise ValueError(f"X must have at least one row and one column, got shape {frame.shape}")
    return [_column(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]


def _column(name: str, series: pd.Series) -> Column:
    if series.isna().any():
        row = int(np.flatnonzero(series.isna().to_numpy())[0])
        raise ValueError(
            f"column {name!r} must not contain missing values, got NaN in row {row}: define a level for missing "
            "values, or remove the row"
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
        return Column(name, "number", _finite_values(name, series.to_numpy()), declared)
    return _objects(name, series.to_numpy(dtype=object), declared)


def _objects(name: str, cells: NDArray[np.object_], declared: tuple[str | float, ...]) -> Column:
    text = [isinstance(cell, str) for cell in cells]
    if all(text):
        return Column(name, "text", cells, declared)
    for row, cell in enumerate(cells):
        if not isinstance(cell, str | Real | np.bool_):
            raise TypeError(
                f"every value in the argument must be a string or a number, got {cell!r} in row {row} of column "
                f"{name!r}"
            )
    if any(text):
        raise TypeError(
            f"column {name!r} must contain only strings or only numbers, got a string in row {text.index(True)} and a "
            f"number in row {text.index(False)}"
        )
    return Column(name, "number", _finite_values(name, cells.astype(float)), declared)


def _finite_values(name: str, values: NDArray[np.generic]) -> NDArray[np.float64]:
    if np.iscomplexobj(values):
        raise ValueError(  # scikit-learn requires the phrase in parentheses
            f"column {name!r} must contain only real numbers, got complex numbers (Complex data not supported)"
        )
    array = np.asarray(values, dtype=float)
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"column {name!r} must contain only finite values, got {array[row]} in row {row}")
    return array


Scalar = str | float | int | bool
MANY: Final = 30  # number of distinct values above which a numeric column without levels is binned
_NAMED: Final = 8  # largest number of columns listed in a warning


class SupportFromData(UserWarning):
    """Warning that levels, bounds or classes were derived from the records and are therefore not private."""


@dataclass(frozen=True)
class Levels:
    """Support of a column with categorical values.

    Parameters
    ----------
    values : the categories in order, either all strings or all numbers.
    public : whether the categories were known without the data.
    """

    values: tuple[Scalar, ...]
    public: bool

    @property
    def size(self) -> int:
        """Number of categories that the column can have."""
        return len(self.values)

    def codes(self, column: Column) -> NDArray[np.int32]:
        """Return an int32 array of shape (n,) with the index of the category of each value of a column, or -1 for
        values that are not categories.
        """
        text = all(isinstance(v, str) for v in self.values)
        if text != (column.kind == "text"):
            return np.full(len(column.values), -1, dtype=np.int32)
        known = pd.Index(np.array(self.values, dtype=object if text else float))
        return np.asarray(known.get_indexer(pd.Index(column.values)), dtype=np.int32)

    def card(self) -> dict[str, object]:
        """Return a description of the categories in a form that can be written as JSON."""
        return {"kind": "levels", "values": list(self.values), "public": self.public}


@dataclass(frozen=True)
class Bins:
    """Support of a numeric column that is divided into `bins` intervals of equal width. Values outside the range belong
    to the first or the last interval.

    Parameters
    ----------
    lower, upper : bounds, lower < upper.
    bins : number of intervals, 2 or more.
    public : whether the bounds were known without the data.
    """

    lower: float
    upper: float
    bins: int
    public: bool

    @property
    def size(self) -> int:
        """Number of intervals into which the column is divided."""
        return self.bins

    def codes(self, column: Column) -> NDArray[np.int32]:
        """Return the index of the interval of each value of a column, as an int32 array of shape (n,). The index is -1
        for strings.
        """
        if column.kind == "text":
            return np.full(len(column.values), -1, dtype=np.int32)
        values = np.clip(np.asarray(column.values, dtype=float), self.lower, self.upper)
        # values are halved, because the width may overflow
        share = (values / 2 - self.lower / 2) / (self.upper / 2 - self.lower / 2)
        return np.asarray(np.minimum(share * self.bins, self.bins - 1), dtype=np.int32)

    def card(self) -> dict[str, object]:
        """Return a description of the intervals in a form that can be written as JSON."""
        return {"kind": "bins", "lower": self.lower, "upper": self.upper, "bins": self.bins, "public": self.public}


Support = Levels | Bins
Key = str | int
Bounds = tuple[float, float]


def from_card(card: Mapping[str, object]) -> Support:
    """Build the support of a column from a description that `Levels.card` or `Bins.card` returned.

    Parameters
    ----------
    card : a dict as returned by these methods, e.g. read from JSON.

    Returns
    -------
    Levels or Bins

    Raises
    ------
    ValueError, TypeError
        If a part is missing or invalid.
    """
    try:
        if card["kind"] == "levels":
            values = card["values"]
            if not isinstance(values, list | tuple):
                raise TypeError(f"values must be a list, got {values!r}")
            return Levels(plain("levels", values), bool(card["public"]))
        pair = (_checks.number("lower", card["lower"]), _checks.number("upper", card["upper"]))
        if not pair[1] / 2 - pair[0] / 2 > 0:
            raise ValueError(f"lower must be below upper, got lower = {pair[0]} and upper = {pair[1]}")
        return Bins(*pair, _checks.integer("bins", card["bins"], least=2), bool(card["public"]))
    except KeyError as missing:
        raise ValueError(f"the exported description of a column lacks the key {missing}, got {dict(card)}") from None


def learn(
    columns: Sequence[Column],
    *,
    levels: Mapping[Key, Sequence[Scalar]] | None,
    bounds: Mapping[Key, Bounds] | Bounds | None,
    bins: int,
) -> tuple[Support, ...]:
    """Determine the categories or intervals of every column of a table.

    Parameters
    ----------
    columns : columns returned by `read_columns`.
    levels : mapping from a column name or index to all values that the column can have. Truth values do not need
        levels.
    bounds : mapping from a column name or index to (lower, upper) of a numeric column, or one pair for all columns
        without levels.
    bins : number of intervals of a bounded column.

    Returns
    -------
    tuple of Levels or Bins
        One per column. A text column without levels has its distinct values as levels. The same holds for a numeric
        column with at most 30 distinct values that are all integers. Any other numeric column has bounds from its
        smallest to its largest value. In these cases, the support is not public.
    Raises
    ------
    ValueError, TypeError
        For unknown columns, repeated levels, bounds that are not an interval or refer to text, and a value of a record
        that is not among the levels of its column.
    """
    _checks.integer("bins", bins, least=2)
    levels_given = {_place("levels", key, columns): plain(f"levels of {key!r}", v) for key, v in (levels or {}).items()}
    pair = None if isinstance(bounds, Mapping) else bounds
    named = bounds if isinstance(bounds, Mapping) else {}
    limits = {_place("bounds", key, columns): value for key, value in named.items()}
    supports: list[Support] = []
    for k, column in enumerate(columns):
        if k in levels_given:
            supports.append(_stated(column, Levels(levels_given[k], public=True)))
        elif k in limits or (pair and column.kind == "number"):
            supports.append(_bounded(column, limits.get(k, pair), bins))
        else:
            supports.append(_seen(column, bins))
    return tuple(supports)


def warn_of_data(columns: Sequence[Column], supports: Sequence[Support], *, classes: bool = True) -> None:
    """Issue a `SupportFromData` warning that names all levels, bounds and classes that were derived from the records.

    Parameters
    ----------
    columns, supports : columns of the records, and their supports.
    classes : whether the classes are public.

    Returns
    -------
    None; the function does not warn if nothing was derived from the records.
    """
    names = [c.name for c, s in zip(columns, supports, strict=True) if not s.public]
    what = ["the classes"] if not classes else []
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        what.append(f"the levels or bounds of {', '.join(names[:_NAMED])}{more}")
    if what:
        warnings.warn(
            f"{' and '.join(what)} were derived from the data, which is not private: pass public levels, bounds and "
            "classes",
            SupportFromData,
            stacklevel=3,
        )


def plain(name: str, values: Sequence[Scalar] | NDArray[np.generic]) -> tuple[Scalar, ...]:
    """Check that values are distinct strings or finite numbers, and return them as a tuple of Python values.

    Parameters
    ----------
    name : name of the argument, for error messages.
    values : at least one value.

    Returns
    -------
    tuple
        The values in the given order.

    Raises
    ------
    ValueError, TypeError
        If a value is neither a string nor a finite number, strings and numbers are mixed, or a value occurs twice.
    """
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} must be a list of values, got {values!r}")
    plain_values = [v.item() if isinstance(v, np.generic) else v for v in values]
    text = [isinstance(v, str) for v in plain_values]
    if not plain_values or any(text) != all(text) or not all(isinstance(v, str | int | float) for v in plain_values):
        raise TypeError(
            f"{name} must contain only strings or only numbers, and at least one value, got {plain_values!r}"
        )
    if not all(text) and not all(_finite(v) for v in plain_values):
        raise ValueError(f"{name} must contain only finite values, got {plain_values!r}")
    if len(set(plain_values)) != len(plain_values):
        raise ValueError(f"{name} must contain distinct values, got {plain_values!r}")
    return tuple(plain_values)


def _finite(value: object) -> bool:
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:  # the integer is too large for a float
        return False


def _place(name: str, key: Key, columns: Sequence[Column]) -> int:
    names = [c.name for c in columns]
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(columns):
        return key
    raise ValueError(f"{name} must contain names of columns of X ({', '.join(names[:_NAMED])}), got {key!r}")


def _stated(column: Column, support: Levels) -> Levels:
    outside = np.flatnonzero(support.codes(column) < 0)
    if len(outside):
        value = column.values[outside[0]]
        raise ValueError(
            f"the values of column {column.name!r} must be among the levels of the column, got {value!r} in row "
            f"{outside[0]}"
        )
    return support


def _bounded(column: Column, pair: Bounds | None, bins: int) -> Bins:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"the bounds of {column.name!r} must be a pair (lower, upper), got {pair!r}")
    if column.kind == "text":
        raise TypeError(
            f"bounds must be omitted for column {column.name!r}, which contains text, got {pair}: give the levels of "
            "this column instead"
        )
    lower, upper = (_checks.number(f"bounds of {column.name!r}", float(v)) for v in pair)
    if not upper / 2 - lower / 2 > 0:  # 5e-324 is above 0, but half of 5e-324 is rounded to 0
        raise ValueError(f"the bounds of {column.name!r} must satisfy lower < upper, got {pair}")
    return Bins(lower, upper, bins, public=True)


def _seen(column: Column, bins: int) -> Support:
    if column.kind == "truth":
        return Levels((0, 1), public=True)
    if column.declared:
        return Levels(column.declared, public=False)
    if column.kind == "text":
        return Levels(tuple(sorted(set(column.values.tolist()))), public=False)
    distinct = np.unique(column.values)
    if len(distinct) == 1 or (len(distinct) <= MANY and np.all(distinct == np.floor(distinct))):
        return Levels(tuple(distinct.tolist()), public=False)
    return Bins(float(distinct[0]), float(distinct[-1]), bins, public=False)


def read_records(
    estimator: BaseEstimator,
    X: pd.DataFrame | ArrayLike,
    y: ArrayLike | str | None = "no_validation",
    *,
    reset: bool = True,
) -> tuple[list[Column], NDArray[np.generic]]:
    """Return the columns of the table X and the labels y of the records. The names and the number of columns are stored
    in `estimator`, or compared with the stored values.

    Parameters
    ----------
    estimator : a scikit-learn estimator.
    X : data frame or array.
    y : labels; optional.
    reset : True in ``fit``, otherwise False.

    Returns
    -------
    list of Column, ndarray (n,)
        The labels are empty if `y` is missing.

    Raises
    ------
    ValueError, TypeError
        As in `read_columns`, and if the columns differ from those in ``fit``.
    """
    framed = isinstance(X, pd.DataFrame)
    supervised = not isinstance(y, str)
    if framed:
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)
        labels = column_or_1d(y, warn=True) if supervised else np.empty(0)
        if supervised:
            check_consistent_length(X, labels)
            assert_all_finite(labels, input_name="y")
    elif supervised:
        X, labels = validate_data(estimator, X, y, reset=reset, dtype=None)
    else:
        X, labels = validate_data(estimator, X, reset=reset, dtype=None), np.empty(0)
    return read_columns(X), labels


def column(name: str, values: ArrayLike) -> Column:
    """Build a `Column` from the name and the values of a column."""
    return read_columns(pd.DataFrame({name: np.asarray(values)}))[0]


def described(estimator: BaseEstimator, supports: Sequence[Support]) -> list[dict[str, object]]:
    """Return the name and the support of every column of a fitted estimator, in a form that can be written as JSON."""
    names = getattr(estimator, "feature_names_in_", None)
    listed = [None] * len(supports) if names is None else [str(n) for n in names]
    return [{"name": name, **s.card()} for name, s in zip(listed, supports, strict=True)]


def name_columns(estimator: BaseEstimator, names: Sequence[str | None]) -> None:
    """Set ``n_features_in_`` and, if all columns have names, ``feature_names_in_`` of a scikit-learn estimator, as the
    method ``fit`` does.
    """
    estimator.n_features_in_ = len(names)
    if None not in names:
        estimator.feature_names_in_ = np.array(names, dtype=object)
