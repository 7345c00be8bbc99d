"""Scenarios from settings to files: a shard of a grid's points or of a batch's tables, and all shards as one.

A single case is a grid of one point. Whatever the number of shards, the bytes are the same; whoever asks for one shard
alone writes what the gathered files will be. Tables of places may be large: their rows get the columns of a scenario's
table (`as_quantities`), and a table of more than `MOST` rows is in Parquet too (`saved`).
"""

import json
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from dpmultinomial import __version__
from dpmultinomial._seeding import stream

from .. import tables
from ..config import scenario_settings, table_files
from ..config.scenario_settings import Point, Scenario
from .case import BESIDE, COLUMNS, COMPARISON, DENSITIES, Answer, Case

_TEXTS = {"quantity", "type", "status"}
_LISTED = ("", "_densities", "_comparison")


@dataclass(frozen=True)
class Files:
    """The files of a scenario, or of a shard of it; all begin alike.

    Parameters
    ----------
    start : path without an ending.
    """

    start: Path

    @property
    def csv(self) -> Path:
        """One row a quantity."""
        return self.start.with_name(self.start.name + ".csv")

    @property
    def facts(self) -> Path:
        """What was assumed and found."""
        return self.start.with_name(self.start.name + ".json")

    @property
    def listed(self) -> list[Path]:
        """The tables: rows, points of densities, comparison."""
        return [self.start.with_name(f"{self.start.name}{part}.csv") for part in _LISTED]

    @property
    def all(self) -> list[Path]:
        """Every file."""
        return [*self.listed, self.facts]


def files(name: str, folder: str | Path = ".") -> Files:
    """The files of a scenario below a working directory."""
    return Files(Path(folder, "results", "scenarios", name))


def part(
    scenario: Scenario,
    into: Files,
    *,
    root_seed: int,
    shard: int = 1,
    of: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Answer]:
    """Make the files of one shard.

    Parameters
    ----------
    scenario : checked.
    into : what is written.
    root_seed : of all streams; that of a point is named by the scenario and the point alone.
    shard, of : 1-based number, and how many there are.
    tell : gets lines of progress of a batch.

    Returns
    -------
    list of Answer
        One a point; none of a batch.

    Raises
    ------
    ValueError, FileNotFoundError
        If a file or release cannot be read, or a point has no answer: the point is named.
    """
    into.csv.parent.mkdir(parents=True, exist_ok=True)
    if scenario.form == "batch":
        from . import batch  # pyarrow, where there are many tables

        _, densities, beside = into.listed
        counted = batch.write(scenario, into.csv, beside, root_seed=root_seed, shard=shard, of=of, tell=tell)
        tables.write(pd.DataFrame(columns=list(DENSITIES)), densities)
        write_facts(head(scenario) | counted, into.facts)
        return []
    points = scenario.points
    first, last = (len(points) * s // of for s in (shard - 1, shard))
    answers = [answered(scenario, point, root_seed=root_seed) for point in points[first:last]]
    answers = [_parted(answer, into, point) for answer, point in zip(answers, points[first:last], strict=True)]
    for path, which, columns in zip(
        into.listed, ("rows", "densities", "comparison"), (COLUMNS, DENSITIES, COMPARISON), strict=True
    ):
        found = [_at(point, getattr(a, which)) for point, a in zip(points[first:last], answers, strict=True)]
        found = [frame for frame in found if len(frame)]
        none = pd.DataFrame(columns=[*points[0], *columns])
        tables.write(pd.concat(found, ignore_index=True) if found else none, path)
    told = [{"at": point, **a.facts} for point, a in zip(points[first:last], answers, strict=True)]
    write_facts(head(scenario) | {"points": told}, into.facts)
    return answers


def _parted(answer: Answer, into: Files, point: Point) -> Answer:
    """An answer with what of its rows goes into CSV; its facts name the Parquet file that has all, if there is one."""
    words = "".join(c if c.isalnum() else "_" for c in scenario_settings.words(point))
    name = f"{into.start.name}_{words}" if words else into.start.name
    rows, whole = saved(answer.rows, into.start.with_name(f"{name}.parquet"))
    if not whole:
        return answer
    left = len(answer.rows) - len(rows)
    return replace(answer, rows=rows, facts={**answer.facts, "all_rows": whole, "rows_left_out": left})


def answered(scenario: Scenario, point: Point, *, root_seed: int) -> Answer:
    """The answer at one point."""
    settings, words = scenario.at(point), scenario_settings.words(point)
    columns = None
    if "file" in settings:
        header = table_files.columns(settings["file"], False)
        columns = table_files.texts(settings["file"], scenario.kind.column_kinds(header))
        settings |= table_files.by_table(settings["file"], columns, scenario.kind.by_table)
    rng = stream(root_seed, "scenarios", scenario.name, *([words] if words else []))
    case = Case(name=scenario.name, settings=settings, rng=rng, release=scenario.release, columns=columns)
    try:
        found: Answer = import_module(f"{scenario.kind.package}.answer").answer(case)
    except (ValueError, TypeError, KeyError) as error:
        if not words:
            raise
        raise ValueError(f"{words}: {error.args[0] if error.args else error}") from error
    return found


def _at(point: Point, frame: pd.DataFrame) -> pd.DataFrame:
    """A table with the grid's keys before its columns."""
    if not point:
        return frame
    keys = {key: pd.Series([value] * len(frame), dtype=object) for key, value in point.items()}  # 1 stays 1 beside 0.5
    return pd.concat([pd.DataFrame(keys, index=frame.index), frame], axis=1)


def head(scenario: Scenario) -> dict[str, Any]:
    """What the facts of every shard begin with."""
    return {
        "scenario": scenario.name,
        "kind": scenario.kind.name,
        "about": scenario.kind.about,
        "form": scenario.form,
        "release": scenario.release,
        "settings": dict(scenario.settings),
        "versions": {
            "dpmultinomial": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
    }


def together(parts: Sequence[Files], into: Files) -> None:
    """All shards in their order as one: rows below one header, facts point by point or added up."""
    for path, of in zip(into.listed, zip(*(p.listed for p in parts), strict=True), strict=True):
        _joined(of, path)
    found = [json.loads(p.facts.read_bytes()) for p in parts]
    whole = found[0]
    if "points" in whole:
        for part, own in zip(parts, found, strict=True):
            for point in (point for point in own["points"] if "all_rows" in point):
                point["all_rows"] = _moved(part, into, point["all_rows"])
        whole["points"] = [point for part in found for point in part["points"]]
    else:
        from . import batch

        whole |= batch.added([part["tables"] for part in found])
    write_facts(whole, into.facts)


def _moved(part: Files, into: Files, name: str) -> str:
    """The Parquet file of a shard's point beside the whole scenario's files."""
    found = into.start.with_name(into.start.name + name.removeprefix(part.start.name))
    os.replace(part.start.with_name(name), found)
    return found.name


def facts_of(files: Files) -> dict[str, Any]:
    """The facts of a scenario."""
    found: dict[str, Any] = json.loads(files.facts.read_bytes())
    return found


def large(files: Files) -> list[Path]:
    """The Parquet files of tables that are too large for CSV alone."""
    points = facts_of(files).get("points", ())
    return [files.start.with_name(point["all_rows"]) for point in points if "all_rows" in point]


def read(files: Files) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Rows, comparison and facts of a scenario that is no batch; names are texts, whatever they look like."""
    facts = facts_of(files)
    numbers = {key for key in facts["points"][0]["at"] if all(_number(point["at"][key]) for point in facts["points"])}
    found = []
    for path in (files.listed[0], files.listed[2]):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        table = as_quantities(table, facts["settings"]["level"])
        wanted = ({*COLUMNS, *BESIDE[1:]} - _TEXTS) | numbers
        found.append(table.assign(**{str(c): pd.to_numeric(table[c]).astype(float) for c in table if c in wanted}))
    return found[0], found[1], facts


def _number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _joined(parts: Iterable[Path], path: Path) -> None:
    making = path.with_name(path.name + ".part")
    with making.open("wb") as out:
        for i, shard in enumerate(parts):
            with shard.open("rb") as lines:
                header = lines.readline()
                if not i:
                    out.write(header)
                shutil.copyfileobj(lines, out, 1 << 20)
    os.replace(making, path)


def write_facts(facts: dict[str, Any], path: Path) -> None:
    """JSON without anything that another run would change; numbers that are not finite become texts."""
    text = json.dumps(_plain(facts), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    making = path.with_name(path.name + ".part")
    making.write_text(text, encoding="utf-8")
    os.replace(making, path)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


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
