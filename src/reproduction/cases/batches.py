"""Batches: one row of summary a quantity and table, for a file of many public tables.

A paper's ``batch.table(tables, **settings)`` answers some tables at a time, each from its own rows alone, so neither
shards nor pieces can change a result. A table that cannot be answered has a row that says why.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config.batch_settings import columns_used
from ..scenarios import table_stream as batch_files
from ..scenarios.table_stream import Tables

COLUMNS = ("table", "category", "mean", "sd", "lower", "upper", "status", "level", "total", "note")
REFUSED = "refused: "
_PIECE = 2000  # tables answered at a time
_LINE_EVERY = 5.0  # seconds between lines of progress
Answer = tuple[pd.DataFrame, Sequence[str]]


def answers(
    function: Callable[..., Answer],
    settings: Mapping[str, Any],
    about: Mapping[str, Any],
    *,
    further: Mapping[str, Any],
    shard: int = 1,
    shards: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[pd.DataFrame]:
    """The rows of one shard, a piece at a time.

    Parameters
    ----------
    function : ``(tables, **settings, **further) -> (rows, reasons)``: rows of the tables it can answer, with a column
        `position` (0-based place of the table) and those of `COLUMNS` that it knows; a reason a table, empty where it
        was answered.
    settings : the batch, `data` among it.
    about : the paper's `batch` in settings.yaml.
    further : what `function` takes beside them.
    shard : 1-based.
    shards : how many there are.
    tell : gets a line of progress, with the expected end.

    Yields
    ------
    DataFrame with `COLUMNS`.

    Raises
    ------
    ValueError
        If the file cannot be read.
    """
    path = Path(settings["data"])
    kinds = columns_used(path, about)
    tables = batch_files.of_shard(path, kinds, shard, shards)
    keys = [name for name in about["columns"] if kinds[name] == "text"]
    stated = {key: value for key, value in settings.items() if key != "data"} | dict(further)
    started, told, done = time.monotonic(), 0.0, 0
    for piece in tables.pieces(_PIECE):
        yield _answered(function, piece, keys, stated)
        done += len(piece.names)
        passed = time.monotonic() - started
        if passed - told > _LINE_EVERY or done == len(tables.names):
            told = passed
            tell(_progress(done, len(tables.names), passed))


def one_a_table(tables: Tables, name: str, stated: Any = None) -> tuple[NDArray[Any], list[str]]:
    """A parameter that is one for all (`stated`), or a column: its value for every table, and why it has none.

    Parameters
    ----------
    tables : none of them empty.
    name : of the parameter and of its column.
    stated : its value for all tables; None reads the column.
    """
    size = len(tables.names)
    if stated is not None:
        return np.full(size, stated), [""] * size
    values = tables.columns[name]
    first = values[tables.starts[:-1]]
    spread = np.repeat(first, np.diff(tables.starts))
    same = values == spread
    if values.dtype.kind == "f":
        same |= np.isnan(values) & np.isnan(spread)
    alike = np.logical_and.reduceat(same.astype(bool), tables.starts[:-1]) if size else np.empty(0, dtype=bool)
    return first, ["" if good else f"{name} must be the same in all rows of a table" for good in alike]


def both(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Reasons of two rules, a table each."""
    return ["; ".join(filter(None, pair)) for pair in zip(first, second, strict=True)]


def _answered(
    function: Callable[..., Answer], tables: Tables, keys: Sequence[str], settings: Mapping[str, Any]
) -> pd.DataFrame:
    reasons = np.array(both(tables.reasons, _named_once(tables, keys)), dtype=object)
    usable = np.flatnonzero(reasons == "")
    rows, found = function(_only(tables, usable), **settings)
    reasons[usable] = found
    bad = np.flatnonzero(reasons != "")
    rows = rows.assign(position=usable[rows["position"].to_numpy(dtype=np.int64)])
    refused = pd.DataFrame({"position": bad, "category": "", "status": [REFUSED + reasons[t] for t in bad]})
    if len(bad):
        rows = pd.concat([rows, refused], ignore_index=True).sort_values("position", kind="stable", ignore_index=True)
    names = np.array([*tables.names, ""], dtype=object)
    rows = rows.assign(table=names[rows["position"].to_numpy(dtype=np.int64)], level=settings["level"])
    rows = rows.reindex(columns=list(COLUMNS))
    return rows.assign(note=rows["note"].astype(object).where(rows["note"].notna(), ""))


def _named_once(tables: Tables, keys: Sequence[str]) -> list[str]:
    """Why the rows of a table cannot be told apart."""
    owner = np.repeat(np.arange(len(tables.names)), np.diff(tables.starts))
    names = pd.DataFrame({key: tables.columns[key] for key in keys}, dtype=object)
    reasons = ["" if name else "table must have a name" for name in tables.names]
    for rule, wrong in (
        (f"{' and '.join(keys)} must not be empty", (names == "").any(axis=1)),
        (f"{' and '.join(keys)} must not be given twice", names.assign(owner=owner).duplicated()),
    ):
        for t in np.unique(owner[wrong.to_numpy(dtype=bool)]):
            reasons[t] = reasons[t] or rule
    return reasons


def _only(tables: Tables, wanted: NDArray[np.int64]) -> Tables:
    """The tables at these places."""
    sizes = np.diff(tables.starts)
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[wanted] = True
    rows = np.repeat(chosen, sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[wanted])]).astype(np.int64)
    columns = {name: values[rows] for name, values in tables.columns.items()}
    return Tables([tables.names[t] for t in wanted], starts, columns, [""] * len(wanted))


def _progress(done: int, of: int, passed: float) -> str:
    left = passed * (of - done) / done
    end = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
    return f"{done:,} of {of:,} tables ({done / of:.0%}) in {passed:.0f} s; expected end {end} (in {left:.0f} s)"


def counted(parts: Iterator[pd.DataFrame]) -> pd.DataFrame:
    """How many tables have which status.

    Parameters
    ----------
    parts : pieces of a batch's table with `table` and `status`; a table's rows may lie in two pieces.

    Returns
    -------
    DataFrame
        status, tables; first ``tables`` (all) and ``refused`` (of them), then every status, commonest first, at most
        `MOST_SHOWN` of them and the rest together.
    """
    statuses: dict[str, int] = {}
    last = None
    for part in parts:
        first = part["table"].ne(part["table"].shift(fill_value=last))
        for status, count in part.loc[first, "status"].value_counts().items():
            statuses[str(status)] = statuses.get(str(status), 0) + int(count)
        last = part["table"].iloc[-1] if len(part) else last
    order = sorted(statuses, key=lambda status: (-statuses[status], status))
    refused = sum(count for status, count in statuses.items() if status.startswith(REFUSED))
    rows = [("tables", sum(statuses.values())), ("refused", refused)]
    rows += [(status, statuses[status]) for status in order[:MOST_SHOWN]]
    if rest := sum(statuses[status] for status in order[MOST_SHOWN:]):
        rows.append(("other reasons", rest))
    return pd.DataFrame(rows, columns=["status", "tables"])


MOST_SHOWN = 30
