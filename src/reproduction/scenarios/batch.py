"""Analyse a batch, which is a file that contains many public tables. The result has one row per quantity and table.

The function ``many(tables, settings, stream_of)`` of a kind analyses several tables at a time. The result of a table is
computed only from the table's own rows, so it does not depend on the shards or on the tables that are read together. A
table that cannot be analysed has one row with the reason.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from dpmultinomial._files import places
from dpmultinomial._printing import progress
from dpmultinomial._seeding import stream

from ..config import file_columns
from ..config.scenario_settings import Scenario
from . import table_stream
from .case import COLUMNS, CONFIDENCE, CONFLICT, WARNINGS
from .table_stream import TABLE, Tables

REFUSED = "refused: "
ANALYSIS = "analysis"
# columns of the results, and of the rows shown only for comparison
ALL, BESIDE = (TABLE, *COLUMNS), (TABLE, ANALYSIS, *COLUMNS)
_TEXTS = (TABLE, ANALYSIS, "quantity", "type", "status", CONFLICT[1], WARNINGS, CONFIDENCE[2])
_FURTHER = (*CONFLICT, WARNINGS, *CONFIDENCE)
_SCHEMA = pa.schema([(name, pa.string() if name in _TEXTS else pa.float64()) for name in (*BESIDE, *_FURTHER)])
_TESTED = ("noisy_counts",)  # kinds of scenarios whose tables are tested for conflicts
_SEVERITY = ("exact", "approximate", "converged", "not converged")  # statuses of the numbers of a table
_PIECE = 2000  # number of tables analysed at a time
_LINE_EVERY = 5.0  # seconds between progress messages
_BLOCK = 1 << 24  # bytes read at a time
Answers = tuple[pd.DataFrame, Sequence[str]]


def write(
    scenario: Scenario,
    path: Path,
    beside: Path,
    *,
    root_seed: int,
    shard: int,
    of: int,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """Write the results for one shard (part of a batch) as CSV, and return the number of tables by status.

    Parameters
    ----------
    scenario : scenario that is a batch.
    path : file of the results.
    beside : file of the rows that are shown only for comparison.
    root_seed : root seed of all streams; the stream of a table is derived from the names of the scenario and of the
        table.
    shard, of : number of the shard, beginning with 1, and number of shards.
    tell : function that receives progress messages with the expected time of completion.

    Returns
    -------
    dict
        ``tables``: a dictionary that maps each status to its number of tables (`added`).
    """
    numbers = {"all": 0, "refused": 0}
    statuses: dict[str, int] = {}
    tested = scenario.kind.name in _TESTED
    warned = _may_warn(scenario)
    further = [*CONFLICT] * tested + [WARNINGS] * warned + [*CONFIDENCE] * bool(scenario.settings.get("confidence"))
    files: dict[Path, Sequence[str]] = {path: (*ALL, *further), beside: BESIDE}
    counted = dict.fromkeys(["conflicts"] * tested + ["warned"] * warned, 0)
    unfinished = {one: places.draft(one) for one in files}
    with ExitStack() as opened:
        for making in unfinished.values():
            opened.callback(making.unlink, missing_ok=True)  # an error leaves no incomplete table
        out = {one: opened.enter_context(making.open("wb")) for one, making in unfinished.items()}
        for one, columns in files.items():
            out[one].write((",".join(columns) + "\n").encode())
        for part in _answers(scenario, root_seed, shard, of, tell):
            answers = part[part[ANALYSIS] == ""]
            first = answers[TABLE].ne(answers[TABLE].shift())
            table = first.cumsum()
            numbers["all"] += int(first.sum())
            numbers["refused"] += table[answers["status"].str.startswith(REFUSED)].nunique()
            for status, tables in _statuses(answers["status"], table).items():
                statuses[status] = statuses.get(status, 0) + tables
            if tested:
                counted["conflicts"] += int(answers.loc[first, CONFLICT[0]].notna().sum())
            if warned:
                counted["warned"] += int((answers.loc[first, WARNINGS] != "").sum())
            for one, rows in ((path, answers), (beside, part[part[ANALYSIS] != ""])):
                _append(rows, files[one], out[one])
        for one, making in unfinished.items():
            out[one].close()
            os.replace(making, one)
    return added([{**numbers, "statuses": statuses, **counted}])


def _may_warn(scenario: Scenario) -> bool:
    """Return whether the tables of a batch can have warnings: about the model of rates, or about a fitted prior that
    the settings request.
    """
    prior = scenario.settings.get("prior")
    stated = [prior, *prior.values()] if isinstance(prior, Mapping) else [prior]
    return scenario.kind.name == "protected_rates" or any(one in ("fitted", {"law": "fitted"}) for one in stated)


def _statuses(status: pd.Series, table: pd.Series) -> dict[str, int]:
    """Return the number of tables with each status. The status of a table is the last of `_SEVERITY` among its rows. A
    table with rejected rows is counted once for each reason, and has no other status.

    Parameters
    ----------
    status : statuses of the rows.
    table : number of the table of each row.
    """
    rows = pd.DataFrame({"table": table, "status": status}).drop_duplicates()
    rejected = rows["status"].str.startswith(REFUSED)
    whole = rows[~rejected & ~rows["table"].isin(rows.loc[rejected, "table"])]
    place = whole["status"].map(_SEVERITY.index)
    found = pd.concat([rows[rejected], whole[place == place.groupby(whole["table"]).transform("max")]])
    return {str(status): int(tables) for status, tables in found["status"].value_counts().items()}


def _append(rows: pd.DataFrame, columns: Sequence[str], out: IO[bytes]) -> None:
    plain = pa.csv.WriteOptions(include_header=False, quoting_style="needed")
    schema = pa.schema([_SCHEMA.field(name) for name in columns])
    pa.csv.write_csv(pa.Table.from_pandas(rows[list(columns)], schema=schema, preserve_index=False), out, plain)


def added(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the total number of tables in a batch, the number of tables that were rejected in whole or in part, and
    the number of tables with each status or reason, summed over the shards. The most frequent status is first. If the
    tables were tested for conflicts or can have warnings, the number of tables with them is also given.
    """
    total: dict[str, int] = {}
    for part in parts:
        for status, tables in part["statuses"].items():
            total[status] = total.get(status, 0) + tables
    order = sorted(total, key=lambda status: (-total[status], status))
    counts: dict[str, Any] = {key: sum(part[key] for part in parts) for key in ("all", "refused")}
    counts["statuses"] = {status: total[status] for status in order}
    for key in ("conflicts", "warned"):
        if parts and all(key in part for part in parts):
            counts[key] = sum(part[key] for part in parts)
    return {"tables": counts}


def read(path: Path, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
    """Yield the rows of the result table of a batch in blocks of consecutive rows. Empty strings remain empty strings,
    and missing numbers are NaN.

    Parameters
    ----------
    path : file of the results.
    columns : columns to read; None: all columns.
    """
    if columns is None:
        with path.open(encoding="utf-8") as file:
            columns = file.readline().rstrip("\n").split(",")
    reader = pa.csv.open_csv(
        path,
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK),
        convert_options=pa.csv.ConvertOptions(
            include_columns=list(columns), column_types=dict(zip(_SCHEMA.names, _SCHEMA.types, strict=True))
        ),
    )
    with reader:
        for batch in reader:
            yield batch.to_pandas()


def _answers(
    scenario: Scenario, root_seed: int, shard: int, of: int, tell: Callable[[str], None]
) -> Iterator[pd.DataFrame]:
    settings, kind = scenario.settings, scenario.kind
    path = Path(settings["file"])
    header, names = file_columns.header(settings, kind, True)
    settings = file_columns.with_noise(settings, names)
    forms = kind.column_kinds(header)
    kinds = {column: form if form in ("text", "published") else "number" for column, form in forms.items()}
    tables = table_stream.named(path, kinds, settings, names, shard, of)
    many = import_module(f"{kind.package}.answer").many
    streams = partial(stream, root_seed, "scenarios", scenario.name)
    started, reported, done = time.monotonic(), 0.0, 0
    for piece in tables.pieces(_PIECE):
        yield answered(many, piece, [c for c in kind.columns if kinds[c] == "text"], settings, streams)
        done += len(piece.names)
        passed = time.monotonic() - started
        if passed - reported > _LINE_EVERY or done == len(tables.names):
            reported = passed
            tell(progress(done, len(tables.names), "tables", passed))


def answered(
    many: Callable[..., Answers],
    tables: Tables,
    keys: Sequence[str],
    settings: Mapping[str, Any],
    streams: Callable[[str], np.random.Generator],
) -> pd.DataFrame:
    """Return the result rows of the given tables, in the order of the tables.

    Parameters
    ----------
    many : function ``(tables, settings, stream_of) -> (rows, reasons)``. The rows of the tables that can be analysed
        have a column `position` (position of the table, beginning with 0), the columns `COLUMNS`, and `analysis` if
        they are shown only for comparison. There is one reason per table, which is empty if the table was analysed.
    tables : some of the tables of a file.
    keys : columns that identify the rows of a table.
    settings : settings of the batch.
    streams : function that returns the Generator of a table, given the name of the table.
    """
    reasons = np.array(both(tables.reasons, _named_once(tables, keys)), dtype=object)
    usable = np.flatnonzero(reasons == "")
    rows, refusals = many(only(tables, usable), settings, streams)
    reasons[usable] = refusals
    bad = np.flatnonzero(reasons != "")
    rows = rows.assign(position=usable[rows["position"].to_numpy(dtype=np.int64)])
    refused = pd.DataFrame({"position": bad, "quantity": "", "type": "", "status": [REFUSED + reasons[t] for t in bad]})
    if len(bad):
        rows = pd.concat([rows, refused], ignore_index=True).sort_values("position", kind="stable", ignore_index=True)
    names = np.array([*tables.names, ""], dtype=object)
    rows = rows.assign(table=names[rows["position"].to_numpy(dtype=np.int64)], level=settings["level"])
    analysis = rows[ANALYSIS].fillna("") if ANALYSIS in rows else ""
    out = rows.reindex(columns=[*BESIDE, *_FURTHER]).assign(**{ANALYSIS: analysis})
    return out.assign(**{name: out[name].astype(object).fillna("") for name in (CONFLICT[1], WARNINGS, CONFIDENCE[2])})


def one_by_one(tables: Tables, answer: Callable[[int], pd.DataFrame], reasons: Sequence[str] | None = None) -> Answers:
    """Analyse tables separately, and return the results with a reason for each table that was not analysed. The reason
    is empty for an analysed table.

    Parameters
    ----------
    tables : some of the tables of a file.
    answer : function that returns the rows of a table, given its position; it raises ValueError or TypeError if the
        table cannot be analysed.
    reasons : reason why each table is skipped; empty if the table is analysed.
    """
    why = list(reasons or [""] * len(tables.names))
    parts = []
    for t in range(len(tables.names)):
        if not why[t]:
            try:
                parts.append(answer(t).assign(position=t))
            except (ValueError, TypeError, OverflowError) as error:
                why[t] = str(error)
    none = pd.DataFrame({"position": np.empty(0, dtype=np.int64)})
    return pd.concat(parts, ignore_index=True) if parts else none, why


def one_a_table(tables: Tables, name: str, stated: Any = None) -> tuple[NDArray[Any], list[str]]:
    """Return the value of a parameter for each table of a batch, and an error message for each table in which the value
    is not unique. The value is either given for the whole batch (`stated`) or read from a column.

    Parameters
    ----------
    tables : tables, all with at least one row.
    name : name of the parameter and of the column that contains it.
    stated : value of the parameter for all tables; if None, the values are read from the column.
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


def both(first: Iterable[str], second: Iterable[str]) -> list[str]:
    """Return, for each table of a batch, the error messages of two checks, joined to one text."""
    return ["; ".join(filter(None, pair)) for pair in zip(first, second, strict=True)]


def _named_once(tables: Tables, keys: Sequence[str]) -> list[str]:
    """Return an error message for each table of a batch in which a key is missing or duplicated, and an empty string
    for every other table.
    """
    owner = np.repeat(np.arange(len(tables.names)), np.diff(tables.starts))
    names = pd.DataFrame({key: tables.columns[key] for key in keys}, dtype=object)
    reasons = ["" if name else "every table must have a name" for name in tables.names]
    for rule, wrong in (
        (f"{' and '.join(keys)} must not be empty", (names == "").any(axis=1)),
        (f"{' and '.join(keys)} must not contain duplicates", names.assign(owner=owner).duplicated()),
    ):
        for t in np.unique(owner[wrong.to_numpy(dtype=bool)]):
            reasons[t] = reasons[t] or rule
    return reasons


def only(tables: Tables, wanted: NDArray[np.int64]) -> Tables:
    """Return the tables of a batch at the given positions."""
    sizes = np.diff(tables.starts)
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[wanted] = True
    rows = np.repeat(chosen, sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[wanted])]).astype(np.int64)
    columns = {name: values[rows] for name, values in tables.columns.items()}
    return Tables([tables.names[t] for t in wanted], starts, columns, [""] * len(wanted))
