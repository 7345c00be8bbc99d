"""Numbers and tables as they are shown: six digits, the rest in the CSV file."""

import math
import numbers
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

ROWS_WHOLE, ROWS_FIRST = 30, 10  # a table of more rows than the first is cut to the second
COLUMNS_SHOWN = 14


@dataclass(frozen=True)
class Table:
    """The first rows of a table.

    Parameters
    ----------
    columns : names.
    rows : texts of the cells.
    numeric : which columns hold numbers.
    total : rows in the file.
    file : href of the CSV file in the report, empty where it is too large to be copied.
    path : its path in the run.
    """

    columns: list[str]
    rows: list[list[str]]
    numeric: list[bool] = field(default_factory=list)
    total: int = 0
    file: str = ""
    path: str = ""

    @property
    def cut(self) -> bool:
        """Whether rows are omitted."""
        return self.total > len(self.rows)


def shown(table: pd.DataFrame, *, file: str = "", path: str = "", most: int = ROWS_WHOLE) -> Table:
    """A table for a page: whole if it has at most `most` rows, else its first ones; empty columns are omitted."""
    kept = table.dropna(axis=1, how="all").iloc[:, :COLUMNS_SHOWN]
    part = kept if len(kept) <= most else kept.head(ROWS_FIRST)
    rows = [[text(value) for value in row] for row in part.itertuples(index=False, name=None)]
    numeric = [pd.api.types.is_numeric_dtype(kept[name]) for name in kept]
    return Table([str(name) for name in kept], rows, numeric, len(table), file, path)


def text(value: Any) -> str:
    """A cell: six significant digits of a number, nothing for what is missing."""
    if value is None or value is pd.NA:
        return ""
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, numbers.Integral)):
        return number(float(value))
    return str(value)


def number(value: float, digits: int = 6) -> str:
    """A number to `digits` significant digits; whole numbers below 10^9 in full, NaN as nothing."""
    if math.isnan(value):
        return ""
    if value == int(value) if math.isfinite(value) else False:
        return f"{int(value)}" if abs(value) < 1e9 else f"{value:.{digits}g}"
    return f"{value:.{digits}g}"


def printed(value: float, digits: float) -> str:
    """A printed number with the decimals that are printed."""
    if math.isnan(value) or math.isnan(digits):
        return number(value)
    return f"{value:.{max(0, int(digits))}f}"


def beside(value: float, digits: float) -> str:
    """Ours beside a printed number: two decimals more, no more than six digits where print has none."""
    if not math.isfinite(value) or math.isnan(digits):
        return number(value)
    shown = f"{value:.{max(0, int(digits)) + 2}f}"
    return number(value) if value and (float(shown) == 0 or abs(value) >= 1e9) else _trimmed(shown, value)


def _trimmed(shown: str, value: float) -> str:
    """Without the decimals of a whole number."""
    return f"{value:.0f}" if value == int(value) else shown
