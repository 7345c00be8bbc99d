"""Compute scenarios and write their files. The files are written for one shard of the grid points or of the tables, or
for all shards together.

A single case is a grid of one point. The files are identical for any number of shards. Tables of places may be large.
Their rows get the columns of a scenario's table (`as_quantities`), and a table with more than `MOST` rows is also
written as Parquet (`saved`).
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
from dpmultinomial._files import places
from dpmultinomial._seeding import stream

from .. import tables
from ..config import file_columns, scenario_settings, table_files
from ..config.scenario_settings import Point, Scenario
from .case import BESIDE, COLUMNS, COMPARISON, CONFIDENCE, DENSITIES, Answer, Case

_TEXTS = {"quantity", "type", "status"}
_LISTED = ("", "_densities", "_comparison")


@dataclass(frozen=True)
class Files:
    """Paths of the files that contain the results of a scenario or of one of its parts (shards). The names of all files
    begin with the same prefix.

    Parameters
    ----------
    start : path without the file name extension.
    """

    start: Path

    @property
    def csv(self) -> Path:
        """Return the path of the CSV file of results, which has one row per quantity."""
        return self.start.with_name(self.start.name + ".csv")

    @property
    def facts(self) -> Path:
        """Return the path of the JSON file of metadata, which contains the assumptions and the results."""
        return self.start.with_name(self.start.name + ".json")

    @property
    def listed(self) -> list[Path]:
        """Return the paths of the CSV tables with the results of a scenario. The tables contain the result rows, the
        points of the densities, and the rows for comparison.
        """
        return [self.start.with_name(f"{self.start.name}{part}.csv") for part in _LISTED]

    @property
    def all(self) -> list[Path]:
        """Return the paths of all result files of a scenario: the tables and the metadata."""
        return [*self.listed, self.facts]


def files(name: str, folder: str | Path = ".") -> Files:
    """Return the paths of a scenario's files below a working directory."""
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
    """Compute one shard (a separately computed part) of a scenario, and write the files of this shard.

    Parameters
    ----------
    scenario : checked scenario.
    into : paths of the output files.
    root_seed : root seed of all streams; the stream of a point is derived from the names of the scenario and of the
        point.
    shard, of : number of the shard, beginning with 1, and number of shards.
    tell : function that receives progress messages of a batch.

    Returns
    -------
    list of Answer
        One answer per point; empty for a batch.

    Raises
    ------
    ValueError, FileNotFoundError
        If a file or release cannot be read, or a point cannot be analysed; the message names the point.
    """
    into.csv.parent.mkdir(parents=True, exist_ok=True)
    if scenario.form == "batch":
        from . import batch  # imported here, because only batches need pyarrow

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
        frames = [_at(point, getattr(a, which)) for point, a in zip(points[first:last], answers, strict=True)]
        frames = [frame for frame in frames if len(frame)]
        none = pd.DataFrame(columns=[*points[0], *columns])
        tables.write(pd.concat(frames, ignore_index=True) if frames else none, path)
    points_facts = [{"at": point, **a.facts} for point, a in zip(points[first:last], answers, strict=True)]
    write_facts(head(scenario) | {"points": points_facts}, into.facts)
    return answers


def _parted(answer: Answer, into: Files, point: Point) -> Answer:
    """Return the results at a grid point with only the rows that belong in the CSV file. If all rows are in a Parquet
    file, the metadata of the answer state the name of this file.
    """
    words = "".join(c if c.isalnum() else "_" for c in scenario_settings.words(point))
    name = f"{into.start.name}_{words}" if words else into.start.name
    rows, whole = saved(answer.rows, into.start.with_name(f"{name}.parquet"))
    if not whole:
        return answer
    left = len(answer.rows) - len(rows)
    return replace(answer, rows=rows, facts={**answer.facts, "all_rows": whole, "rows_left_out": left})


def answered(scenario: Scenario, point: Point, *, root_seed: int) -> Answer:
    """Return the results of a scenario at one point of its grid."""
    settings, words = scenario.at(point), scenario_settings.words(point)
    columns = None
    if "file" in settings:
        header, names = file_columns.header(settings, scenario.kind, False)
        columns = file_columns.texts(settings, scenario.kind.column_kinds(header), names)
        settings = file_columns.with_noise(settings, names)
        settings |= table_files.by_table(settings["file"], columns, scenario.kind.by_table)
    rng = stream(root_seed, "scenarios", scenario.name, *([words] if words else []))
    case = Case(name=scenario.name, settings=settings, rng=rng, release=scenario.release, columns=columns)
    try:
        answer: Answer = import_module(f"{scenario.kind.package}.answer").answer(case)
    except (ValueError, TypeError, KeyError) as error:
        if not words:
            raise
        raise ValueError(f"{words}: {error.args[0] if error.args else error}") from error
    if columns is not None and settings.get("absent"):
        rows = len(file_columns.texts({"file": settings["file"]}, {"name": "text"}, names)["name"])
        absent = {**settings["absent"], "number": len(columns["name"]) - rows}
        answer = replace(answer, facts={**answer.facts, "absent": absent})
    return answer


def _at(point: Point, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of a table with additional first columns that contain the keys and values of a grid point."""
    if not point:
        return frame
    keys = {
        key: pd.Series([value] * len(frame), index=frame.index, dtype=object) for key, value in point.items()
    }  # the value 1 remains an integer even if another value is 0.5
    return pd.concat([pd.DataFrame(keys), frame], axis=1)


def head(scenario: Scenario) -> dict[str, Any]:
    """Return the metadata that are the same for all shards (separately computed parts) of a scenario."""
    return {
        "scenario": scenario.name,
        "kind": scenario.kind.name,
        "about": scenario.kind.about,
        "form": scenario.form,
        "release": scenario.release,
        "settings": _valid_settings(scenario),
        **_read_as(scenario),
        "versions": {
            "dpmultinomial": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
    }


def _valid_settings(scenario: Scenario) -> dict[str, Any]:
    """Return the settings of a scenario. For a release, omit the defaults of keys whose values are in its record."""
    recorded = scenario.kind.stated if scenario.release else ()
    return {key: value for key, value in scenario.settings.items() if key not in recorded}


def _read_as(scenario: Scenario) -> dict[str, Any]:
    """Return the columns of the user's file that were read under a name other than their name in the file and, for a
    batch, all columns.
    """
    names: file_columns.Names = {}
    facts: dict[str, Any] = {}
    if "file" in scenario.settings:
        header, names = file_columns.header(scenario.settings, scenario.kind, scenario.form == "batch")
        facts = {"columns": header} if scenario.form == "batch" else {}
    columns = file_columns.read_as(scenario.settings, names)
    return facts | ({"read_as": columns} if columns else {})


def together(parts: Sequence[Files], into: Files) -> None:
    """Combine the files of all shards (parts) of a scenario, in the order of the shards. The rows are concatenated
    below one header, and the metadata are either listed by grid point or added up.
    """
    for path, of in zip(into.listed, zip(*(p.listed for p in parts), strict=True), strict=True):
        _joined(of, path)
    all_facts = [json.loads(p.facts.read_bytes()) for p in parts]
    whole = all_facts[0]
    if "points" in whole:
        for part, facts_of_part in zip(parts, all_facts, strict=True):
            for point in (point for point in facts_of_part["points"] if "all_rows" in point):
                point["all_rows"] = _moved(part, into, point["all_rows"])
        whole["points"] = [point for part in all_facts for point in part["points"]]
    else:
        from . import batch

        whole |= batch.added([part["tables"] for part in all_facts])
    write_facts(whole, into.facts)


def _moved(part: Files, into: Files, name: str) -> str:
    """Rename the Parquet file of a grid point when shards are combined, and return the new name. The new name begins
    with the prefix of the scenario instead of the prefix of the shard.
    """
    target = into.start.with_name(into.start.name + name.removeprefix(part.start.name))
    os.replace(part.start.with_name(name), target)
    return target.name


def facts_of(files: Files) -> dict[str, Any]:
    """Return the metadata of a scenario, including the assumptions and the results."""
    facts: dict[str, Any] = json.loads(files.facts.read_bytes())
    return facts


def large(files: Files) -> list[Path]:
    """Return the paths of the Parquet files, which contain tables that are too large for CSV."""
    points = facts_of(files).get("points", ())
    return [files.start.with_name(point["all_rows"]) for point in points if "all_rows" in point]


def read(files: Files) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Return the result rows, the rows of analyses shown for comparison, and the metadata of a scenario that is not a
    batch. Names are always strings.
    """
    facts = facts_of(files)
    numbers = {key for key in facts["points"][0]["at"] if all(_number(point["at"][key]) for point in facts["points"])}
    frames = []
    for path in (files.listed[0], files.listed[2]):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        table = as_quantities(table, facts["settings"]["level"])
        wanted = ({*COLUMNS, *BESIDE[1:], *CONFIDENCE[:2]} - _TEXTS) | numbers
        frames.append(table.assign(**{str(c): pd.to_numeric(table[c]).astype(float) for c in table if c in wanted}))
    return frames[0], frames[1], facts


def _number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _joined(parts: Iterable[Path], path: Path) -> None:
    making = places.draft(path)
    with making.open("wb") as out:
        for i, shard in enumerate(parts):
            with shard.open("rb") as lines:
                header = lines.readline()
                if not i:
                    out.write(header)
                shutil.copyfileobj(lines, out, 1 << 20)
    os.replace(making, path)


def write_facts(facts: dict[str, Any], path: Path) -> None:
    """Write metadata as JSON, so that equal metadata give identical files. Numbers that are not finite are written as
    strings.
    """
    text = json.dumps(plain(facts), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    making = places.draft(path)
    making.write_text(text, encoding="utf-8")
    os.replace(making, path)


def plain(value: Any) -> Any:
    """Return a value that can be written as JSON, with arrays replaced by lists and infinite or missing numbers by
    strings.
    """
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


MOST = 100_000  # maximum number of rows in a CSV file; larger tables are also written as Parquet
_CODE = "geocode"  # column by which such a table is recognised


def as_quantities(table: pd.DataFrame, level: Any) -> pd.DataFrame:
    """Convert the rows of a table of geographic units to the columns of a scenario's results table. Any other table is
    returned unchanged.

    Parameters
    ----------
    table : table with the columns ``geoid``, ``geocode``, ``level`` (of the geography) and ``quantity``, as strings.
    level : probability of the intervals.
    """
    if _CODE not in table:
        return table
    place = table["geoid"].where(table["geoid"] != "", table[_CODE])
    labels = table["quantity"] + " in " + table["level"].str.lower().str.replace("_", " ") + " " + place
    return table.assign(quantity=labels.where(table["level"] != "", table["quantity"]), level=level)


def saved(rows: pd.DataFrame, target: Path) -> tuple[pd.DataFrame, str]:
    """Write all result rows to a Parquet file if there are too many rows for a CSV file. Return the rows for CSV and
    the name of the Parquet file, which is empty if the CSV contains all rows.

    Parameters
    ----------
    rows : rows of one point of the grid.
    target : path of the Parquet file; a file of an earlier run is removed.
    """
    target.unlink(missing_ok=True)
    if len(rows) <= MOST:
        return rows, ""
    making = places.draft(target)
    rows.to_parquet(making, index=False)
    os.replace(making, target)
    first = rows[rows["type"] == "question"] if "type" in rows else rows.head(0)
    return pd.concat([first, rows.drop(first.index).head(MOST - len(first))], ignore_index=True), target.name
