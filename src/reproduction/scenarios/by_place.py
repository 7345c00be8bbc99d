"""Tables of places, which may be large: as rows of quantities for words and figures, and in Parquet."""

import os
from pathlib import Path
from typing import Any

import pandas as pd

MOST = 100_000  # rows of a table in CSV; larger ones are in Parquet too
_CODE = "geocode"  # the column that such a table has


def as_quantities(table: pd.DataFrame, level: Any) -> pd.DataFrame:
    """A table of places with the columns of a scenario's table; any other as it is.

    Parameters
    ----------
    table : with ``geoid``, ``geocode``, ``level`` (of the geography) and ``quantity``, as texts.
    level : of the intervals.
    """
    if _CODE not in table:
        return table
    place = table["geoid"].where(table["geoid"] != "", table[_CODE])
    told = table["quantity"] + " in " + table["level"].str.lower().str.replace("_", " ") + " " + place
    return table.assign(quantity=told.where(table["level"] != "", table["quantity"]), level=level)


def saved(rows: pd.DataFrame, target: Path) -> tuple[pd.DataFrame, str]:
    """The rows that go into CSV, and the name of the Parquet file that has all; empty where CSV has all.

    Parameters
    ----------
    rows : of one point.
    target : of the Parquet file; one that a former run left is removed.
    """
    target.unlink(missing_ok=True)
    if len(rows) <= MOST:
        return rows, ""
    making = target.with_name(target.name + ".part")
    rows.to_parquet(making, index=False)
    os.replace(making, target)
    first = rows[rows["type"] == "question"] if "type" in rows else rows.head(0)
    return pd.concat([first, rows.drop(first.index).head(MOST - len(first))], ignore_index=True), target.name
