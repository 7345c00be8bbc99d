"""Which categories a column can have: public levels and bounds of the caller, or what the data hold, said in a warning.

Budget covers counts, not the set of categories: a support that depends on the records tells something about them.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from ._columns import Column

Scalar = str | float | int | bool
MANY: Final = 30  # distinct values above which a numeric column without levels is binned
_NAMED: Final = 8  # columns that a warning names


class SupportFromData(UserWarning):
    """Levels, bounds or classes were taken from the records; they are not private."""


@dataclass(frozen=True)
class Levels:
    """A column whose values are categories.

    Parameters
    ----------
    values : the categories in order, all text or all numbers.
    public : whether they were known without the data.
    """

    values: tuple[Scalar, ...]
    public: bool

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.values)

    def codes(self, column: Column) -> NDArray[np.int32]:
        """Category numbers (n,) of a column's values, -1 for other values."""
        text = all(isinstance(v, str) for v in self.values)
        if text != (column.kind == "text"):
            return np.full(len(column.values), -1, dtype=np.int32)
        known = pd.Index(np.array(self.values, dtype=object if text else float))
        return np.asarray(known.get_indexer(pd.Index(column.values)), dtype=np.int32)

    def card(self) -> dict[str, object]:
        """JSON-able description."""
        return {"kind": "levels", "values": list(self.values), "public": self.public}


@dataclass(frozen=True)
class Bins:
    """A numeric column cut into `bins` intervals of equal width; values outside go to the first or last one.

    Parameters
    ----------
    lower, upper : bounds, lower < upper.
    bins : 2 or more.
    public : whether the bounds were known without the data.
    """

    lower: float
    upper: float
    bins: int
    public: bool

    @property
    def size(self) -> int:
        """Number of intervals."""
        return self.bins

    def codes(self, column: Column) -> NDArray[np.int32]:
        """Interval numbers (n,) of a column's values; -1 for text."""
        if column.kind == "text":
            return np.full(len(column.values), -1, dtype=np.int32)
        values = np.clip(np.asarray(column.values, dtype=float), self.lower, self.upper)
        share = (values / 2 - self.lower / 2) / (self.upper / 2 - self.lower / 2)  # halves: the width may overflow
        return np.asarray(np.minimum(share * self.bins, self.bins - 1), dtype=np.int32)

    def card(self) -> dict[str, object]:
        """JSON-able description."""
        return {"kind": "bins", "lower": self.lower, "upper": self.upper, "bins": self.bins, "public": self.public}


Support = Levels | Bins
Key = str | int
Bounds = tuple[float, float]


def from_card(card: Mapping[str, object]) -> Support:
    """The support that `Levels.card` or `Bins.card` described.

    Parameters
    ----------
    card : a dict as those return, e.g. read from JSON.

    Returns
    -------
    Levels or Bins

    Raises
    ------
    ValueError, TypeError
        If a part is missing or wrong.
    """
    try:
        if card["kind"] == "levels":
            values = card["values"]
            if not isinstance(values, list | tuple):
                raise TypeError(f"values must be a list, got {values!r}")
            return Levels(plain("levels", values), bool(card["public"]))
        pair = (_checks.number("lower", card["lower"]), _checks.number("upper", card["upper"]))
        if not pair[1] / 2 - pair[0] / 2 > 0:
            raise ValueError(f"bins must have lower < upper, got {pair}")
        return Bins(*pair, _checks.whole("bins", card["bins"], least=2), bool(card["public"]))
    except KeyError as missing:
        raise ValueError(f"a support's card must hold {missing}, got {dict(card)}") from None


def learn(
    columns: Sequence[Column],
    *,
    levels: Mapping[Key, Sequence[Scalar]] | None,
    bounds: Mapping[Key, Bounds] | Bounds | None,
    bins: int,
) -> tuple[Support, ...]:
    """Supports of all columns.

    Parameters
    ----------
    columns : as `columns.read` gives them.
    levels : column name or number -> all values it can have. Truth values need none.
    bounds : column name or number -> (lower, upper) of a numeric column, or one pair for all that have no levels.
    bins : intervals of a bounded column.

    Returns
    -------
    tuple of Levels or Bins
        One a column. A text column without levels takes its distinct values; a numeric one takes them where they are
        whole and no more than 30, else bounds from its least to its largest value; neither is public then.

    Raises
    ------
    ValueError, TypeError
        For unknown columns, repeated levels, bounds that are no interval or belong to text, and a value of a record
        that is not among its column's levels.
    """
    _checks.whole("bins", bins, least=2)
    own = {_place("levels", key, columns): plain(f"levels of {key!r}", v) for key, v in (levels or {}).items()}
    pair = None if isinstance(bounds, Mapping) else bounds
    named = bounds if isinstance(bounds, Mapping) else {}
    limits = {_place("bounds", key, columns): value for key, value in named.items()}
    found: list[Support] = []
    for k, column in enumerate(columns):
        if k in own:
            found.append(_stated(column, Levels(own[k], public=True)))
        elif k in limits or (pair and column.kind == "number"):
            found.append(_bounded(column, limits.get(k, pair), bins))
        else:
            found.append(_seen(column, bins))
    return tuple(found)


def warn_of_data(columns: Sequence[Column], supports: Sequence[Support], *, classes: bool = True) -> None:
    """One `SupportFromData` warning that names what was taken from the records.

    Parameters
    ----------
    columns, supports : of the records.
    classes : whether the classes are public.

    Returns
    -------
    None; nothing is said where nothing was taken from the records.
    """
    names = [c.name for c, s in zip(columns, supports, strict=True) if not s.public]
    what = ["the classes"] if not classes else []
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        what.append(f"the support of {', '.join(names[:_NAMED])}{more}")
    if what:
        warnings.warn(
            f"{' and '.join(what)} came from the data, which is not private: give public levels, bounds and classes",
            SupportFromData,
            stacklevel=3,
        )


def plain(name: str, values: Sequence[Scalar] | NDArray[np.generic]) -> tuple[Scalar, ...]:
    """Distinct text or finite numbers as plain Python values.

    Parameters
    ----------
    name : of the argument, for the error.
    values : at least one.

    Returns
    -------
    tuple
        In the given order.

    Raises
    ------
    ValueError, TypeError
        If a value is neither, they are mixed, or one occurs twice.
    """
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} must be a list of values, got {values!r}")
    found = [v.item() if isinstance(v, np.generic) else v for v in values]
    text = [isinstance(v, str) for v in found]
    if not found or any(text) != all(text) or not all(isinstance(v, str | int | float) for v in found):
        raise TypeError(f"{name} must be all text or all numbers, at least one, got {found!r}")
    if not all(text) and not all(_finite(v) for v in found):
        raise ValueError(f"{name} must be finite, got {found!r}")
    if len(set(found)) != len(found):
        raise ValueError(f"{name} must be distinct, got {found!r}")
    return tuple(found)


def _finite(value: object) -> bool:
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond floats
        return False


def _place(name: str, key: Key, columns: Sequence[Column]) -> int:
    names = [c.name for c in columns]
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(columns):
        return key
    raise ValueError(f"{name} must name columns of X ({', '.join(names[:_NAMED])}), got {key!r}")


def _stated(column: Column, support: Levels) -> Levels:
    outside = np.flatnonzero(support.codes(column) < 0)
    if len(outside):
        value = column.values[outside[0]]
        raise ValueError(f"column {column.name!r} must hold its levels alone, got {value!r} in row {outside[0]}")
    return support


def _bounded(column: Column, pair: Bounds | None, bins: int) -> Bins:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"bounds of {column.name!r} must be a pair (lower, upper), got {pair!r}")
    if column.kind == "text":
        raise TypeError(f"bounds of {column.name!r} must belong to a numeric column, got text; give its levels")
    lower, upper = (_checks.number(f"bounds of {column.name!r}", float(v)) for v in pair)
    if not upper / 2 - lower / 2 > 0:  # 5e-324 is above 0, and its half is not
        raise ValueError(f"bounds of {column.name!r} must have lower < upper, got {pair}")
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
