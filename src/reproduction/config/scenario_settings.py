"""Check the kind, grid points and files of the scenarios of a configuration, and report every mistake. Plain Python.

A list in place of a single value defines a grid, which is the product of all such lists. A file with a column ``table``
is a batch. `as_text` and `restored` pass a scenario to a job.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

from dpmultinomial._files import places

from .. import kind
from ..kind import Kind, resolved
from . import config, file_columns, table_files, user_files

MOST_POINTS = 200
_SCALARS = {"number", "integer", "string"}
_FIXED = ("kind", "release", "file")  # keys with the same value at all points of a grid
_ONCE = ("level", "title", "source", "date")  # keys with one value for the table and the page of a scenario
_OF_FILE = ("columns", "withheld", "absent")  # keys that state how the file is read, once for all points of a grid
_ENDINGS = ("_densities", "_parts")  # endings of the names of a scenario's output files
Mistakes = Iterator[tuple[str, str]]
Point = dict[str, float | int | str]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Scenario of a configuration, given by an entry under `scenarios`.

    Parameters
    ----------
    name : name chosen by the user.
    kind : kind of the scenario.
    settings : settings as written, with defaults.
    form : ``"case"``, ``"grid"`` or ``"batch"``.
    release : folder of the release that the scenario analyses, below the working directory; empty if the scenario
        contains the numbers.
    """

    name: str
    kind: Kind
    settings: Mapping[str, Any]
    form: str
    release: str = ""

    @property
    def points(self) -> list[Point]:
        """Return, for every point of a grid, the values of the keys that vary over the grid. The last key varies
        fastest. A scenario without a grid has one empty point.
        """
        return points(self.settings, self.kind)

    def at(self, point: Point) -> dict[str, Any]:
        """Return the settings at one grid point, as if this point were a separate scenario."""
        return at(self.settings, self.kind, point)

    @property
    def files(self) -> list[str]:
        """Return the user's files that the scenario reads."""
        return [*_files(self.settings), *self.kind.files([self.at(point) for point in self.points])]


def named(settings: Mapping[str, Any], kinds: Mapping[str, Kind]) -> dict[str, Scenario]:
    """Return the scenarios of a checked configuration, as a mapping from their names."""
    scenarios = {}
    for name, written in settings["scenarios"].items():
        kind, release = _kind(written, settings, kinds)
        batch = table_files.is_batch(written.get("file"))
        filled = config.with_defaults((dict(kind.batch_defaults) if batch else {}) | dict(written), kind.schema)
        form = "batch" if batch else "grid" if lists(filled, kind) else "case"
        scenarios[name] = Scenario(name=name, kind=kind, settings=filled, form=form, release=release)
    return scenarios


def single(name: str, written: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Scenario:
    """Check a single scenario that is not in a configuration file, and return the scenario.

    Raises
    ------
    ConfigError
        For all mistakes.
    """
    whole = {"scenarios": {name: dict(written)}, "releases": {}}
    if faults := sorted(set(mistakes(whole, kinds))):
        raise config.ConfigError("\n".join(f"{place}: {text}" for place, text in faults))
    return named(whole, kinds)[name]


def lists(settings: Mapping[str, Any], kind: Kind) -> dict[tuple[str, ...], list[Any]]:
    """Return a mapping from the path of a key to its list, for all keys that contain a list although they normally take
    a single value.
    """
    return dict(_lists(settings, kind.schema["properties"], kind.schema, ()))


def _lists(
    settings: Mapping[str, Any], known: Mapping[str, Any], schema: Mapping[str, Any], place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    for key, value in settings.items():
        part = resolved(known.get(key, {}), schema)
        if isinstance(value, list) and (*place, key) not in {(k,) for k in _FIXED} and _one(part) and _plain(value):
            yield (*place, key), value
        elif isinstance(value, dict) and "properties" in part:
            yield from _lists(value, part["properties"], schema, (*place, key))


def _one(part: Mapping[str, Any]) -> bool:
    """Return whether a key takes a single number or string as its value, rather than a list."""
    kinds = {part["type"]} if isinstance(part.get("type"), str) else set(part.get("type", ()))
    kinds |= {option.get("type", "string") for option in part.get("anyOf", ())} | (
        {"string"} if "enum" in part else set()
    )
    return bool(kinds & _SCALARS) and "array" not in kinds


def _plain(values: list[Any]) -> bool:
    """Return whether a list contains only numbers and strings."""
    return not any(isinstance(value, (list, dict)) for value in values)


# names of the other columns of a table of results
_TAKEN: tuple[str, ...] = (
    *("quantity", "type", "released", "mean", "sd", "lower", "upper", "level", "status", "error", "analysis"),
    *("tree_level", "least_squares", "least_squares_sd", "ci_lower", "ci_upper", "ci_method", "geoid", "geocode"),
)


def _labels(paths: list[tuple[str, ...]]) -> list[str]:
    """Return a column name for each key of a grid: the last part of the key's path or, if this part is not unique or is
    the name of another column of the results, the whole path. A path with a single part is preceded by ``setting``.
    """
    last = [path[-1] for path in paths]
    whole = ["_".join(path if len(path) > 1 else ("setting", *path)) for path in paths]
    alone = [last.count(name) == 1 and name not in _TAKEN for name in last]
    return [name if short else path for name, path, short in zip(last, whole, alone, strict=True)]


def points(settings: Mapping[str, Any], kind: Kind) -> list[Point]:
    """Return the points of a grid in the format of `Scenario.points`."""
    values_by_key = lists(settings, kind)
    names = _labels(list(values_by_key))
    return [dict(zip(names, values, strict=True)) for values in product(*values_by_key.values())]


def at(settings: Mapping[str, Any], kind: Kind, point: Point) -> dict[str, Any]:
    """Return the settings of a scenario at a single grid point, in the format of `Scenario.at`."""
    paths, point_settings = list(lists(settings, kind)), deepcopy(dict(settings))
    for path, label in zip(paths, _labels(paths), strict=True):
        inner = point_settings
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = point[label]
    return point_settings


def words(point: Point) -> str:
    """Return a grid point as text, which is also used to name the random stream of the point."""
    return ", ".join(f"{key}={value}" for key, value in point.items())


def _files(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _files(part, name)
    elif isinstance(value, str):
        known = {"noise": file_columns.is_summary(value), "cells": value != file_columns.COMBINATIONS}
        if known.get(key, key in ("file", "csv")):
            yield value


def _kind(written: Mapping[str, Any], settings: Mapping[str, Any], kinds: Mapping[str, Kind]) -> tuple[Kind, str]:
    """Return the kind of a scenario and the folder of its release. Raise ValueError, with a message of the form
    ``key: rule``, if a setting is invalid.
    """
    release = written.get("release")
    if release is None:
        if not isinstance(written.get("kind"), str) or written["kind"] not in kinds:
            hint = config.nearest(str(written.get("kind")), kinds)
            got = repr(written["kind"])[:80] if "kind" in written else "none"
            raise ValueError(
                f".kind: must be one of {', '.join(kinds)}, or must be omitted if release is given, got {got}{hint}"
            )
        return kinds[written["kind"]], ""
    if not isinstance(release, str):
        raise ValueError(f".release: must be the name of a release, got {str(release)[:80]!r}")
    releases = settings.get("releases")
    folder, mechanism = _release(release, releases if isinstance(releases, Mapping) else {})
    kind = next((kind for kind in kinds.values() if mechanism in kind.releases), None)
    if kind is None:
        raise ValueError(f".release: no kind of scenario supports the mechanism {mechanism} of the release {release}")
    if "kind" in written:
        raise ValueError(
            f".kind: must be omitted, because the mechanism of the release ({mechanism}) determines the kind"
        )
    return kind, str(folder)


def _release(name: str, releases: Mapping[str, Mapping[str, Any]]) -> tuple[Path, str]:
    """Return the folder and the mechanism of a release, given as an entry under `releases` or as a folder."""
    if isinstance(releases.get(name), Mapping):
        return user_files.release_folder(name, releases[name]), str(releases[name].get("mechanism"))
    folder = Path(name)
    try:
        record = json.loads(places.public(folder / user_files.RECORD).read_bytes())
    except (OSError, ValueError):
        record = {}
    if not isinstance(record, dict) or "mechanism" not in record:
        near = get_close_matches(name, releases, n=1)
        known = f"releases are {', '.join(releases) or 'none'}" + (f": did you mean {near[0]!r}?" if near else "")
        raise ValueError(f".release: {name!r} is neither a release ({known}) nor a folder that contains record.json")
    return folder, str(record["mechanism"])


def mistakes(settings: Mapping[str, Any], kinds: Mapping[str, Kind], *, thorough: bool = True) -> Mistakes:
    """Yield (path below `scenarios`, message) for every mistake in the scenarios of a configuration. Each point of a
    grid is checked separately.

    Parameters
    ----------
    settings : a whole configuration.
    kinds : kinds of scenario, by name.
    thorough : whether to check the counts and the prior as the analysis does; not needed directly before an analysis.
    """
    for name, written in (settings.get("scenarios") or {}).items():
        prefix = name
        if name.endswith(_ENDINGS) or name.startswith("plan_"):
            yield (
                prefix,
                f"a name that ends in {' or '.join(_ENDINGS)} or begins with plan_ is reserved: choose another name",
            )
        if not isinstance(written, dict):
            continue  # the schema reports this mistake
        try:
            kind, release = _kind(written, settings, kinds)
        except ValueError as error:
            place, _, text = str(error).partition(": ")
            yield f"{prefix}{place}", text
            continue
        for place, text in dict.fromkeys(_scenario(written, kind, release, thorough)):
            yield f"{prefix}{place}", text


def _scenario(written: dict[str, Any], kind: Kind, release: str, thorough: bool) -> Mistakes:
    if large := [(f".{place.removeprefix('.')}", text) for place, text in config.beyond("", written)]:
        yield from large
        return
    given = [key for key in kind.sources if key in written]
    if release:
        for key in (key for key in kind.stated if key in written):
            yield f".{key}", "must be omitted, because the record of the release contains this key"
    elif len(given) != 1:
        have = " and ".join(given) or "none"
        yield "", f"must contain exactly one of the keys {', '.join(kind.sources)}, got {have}"
        if not given:
            yield from _by_schema(written, kind)
            return
    batch = table_files.is_batch(written.get("file"))
    grid = lists(written, kind)
    if batch and grid:
        yield (
            f".{'.'.join(next(iter(grid)))}",
            "must be a single value, because the file has a column table and a batch cannot be a grid",
        )
        return
    size = 1
    for path, values in grid.items():
        if path[0] in _OF_FILE:
            yield f".{'.'.join(path)}", "must be a single value, because the file is read once for all points of a grid"
            return
        if path[0] in _ONCE:
            yield f".{path[0]}", f"must be a single value, got a list: define one scenario for each {path[0]}"
            return
        size *= max(len(values), 1)
        if not values or len({json.dumps(v) for v in values}) < len(values):
            yield f".{'.'.join(path)}", "a list that defines a grid must have at least one value and no duplicates"
            return
    if size > MOST_POINTS:
        yield "", f"must have at most {MOST_POINTS} points, got {size}"
        return
    wrong = False
    for number, point in enumerate(points(written, kind)):
        settings = at(written, kind, point)
        varied = {key: settings[key] for path in grid for key in path[:1]} if number else settings
        note = f" (at {words(point)})" if point else ""
        for place, text in _by_schema(varied, kind):
            wrong = True
            yield place, text + (note if any(place == f".{'.'.join(path)}" for path in grid) else "")
    if not wrong:
        yield from _by_rules(written, kind, batch, thorough)


def _by_schema(settings: dict[str, Any], kind: Kind) -> Mistakes:
    filled = config.with_defaults(settings, kind.schema)
    for place, text in config.broken(filled, kind.schema):
        yield (f".{place}" if place != "(top level)" else ""), text


def _by_rules(written: dict[str, Any], kind: Kind, batch: bool, thorough: bool) -> Mistakes:
    """Yield the mistakes in a scenario that the schema cannot detect. The mistakes in the file come first, followed by
    the mistakes in the settings at each grid point.
    """
    columns: dict[str, list[str]] | None = None
    by_table: dict[str, Any] = {}
    names: file_columns.Names = {}
    for about_file in ("columns", "absent"):
        if about_file in written and "file" not in written:
            yield f".{about_file}", "is allowed only with file"
    if "file" in written:
        try:
            header, names = file_columns.header(config.with_defaults(dict(written), kind.schema), kind, batch)
            needed = [*([table_files.TABLE] if batch else []), *kind.columns]
            if missing := [c for c in needed if c not in header]:
                raise ValueError(
                    f"{written['file']!r} lacks the columns {', '.join(missing)}. The required columns are "
                    f"{', '.join(needed)}, and the file has the columns {', '.join(header[:20])}. "
                    "If the columns have other names, set columns: {"
                    + ", ".join(f"{c}: .." for c in missing if c != table_files.TABLE)
                    + "}"
                )
            for key in (key for key in kind.by_table if key in written and key in header):
                yield f".{key}", f"must be omitted, because {written['file']!r} has a column with this name"
            if batch and not kind.batch:
                raise ValueError(
                    f"{written['file']!r} has a column {table_files.TABLE}, but {kind.name} supports only one table: "
                    "remove this column, or use one file per table"
                )
            if batch:
                allowed = {"kind", "file", "columns", "level", *kind.batch}
                for key in sorted(set(written) - allowed):
                    yield f".{key}", f"is not allowed for a batch. The allowed keys are {', '.join(sorted(allowed))}"
            if wrong := file_columns.absent_mistakes(written, names, batch):
                yield from ((".absent", text) for text in wrong)
                return
            kinds = kind.column_kinds(header)
            columns = {column: [] for column in kinds} if batch else file_columns.texts(written, kinds, names)
            file_columns.with_noise(written, names)
            by_table = {} if batch else table_files.by_table(written["file"], columns, kind.by_table)
        except ImportError:  # the kernels are not compiled yet, so the job reads the file
            return
        except ValueError as error:
            yield ".file", str(error)
            return
    for point in points(written, kind):
        note = f" (at {words(point)})" if point else ""
        settings = config.with_defaults(at(written, kind, point) | by_table, kind.schema)
        if columns is not None:
            settings = file_columns.with_noise(settings, names)
        found = list(kind.rule("mistakes")(settings, columns, batch))
        stated = thorough and not batch and "release" not in settings and "rehearsal" not in settings
        if stated and not found:
            found = list(_refused(settings, columns, kind))
        for place, text in found:
            yield place, text + note


def _refused(settings: dict[str, Any], columns: dict[str, list[str]] | None, kind: Kind) -> Mistakes:
    """Yield a pair (path, message) if the analysis would reject the counts or the prior of a scenario, as determined by
    the function ``answer.refuse(settings, columns)`` for this kind of scenario.
    """
    try:
        if (refuse := kind.refuse) is not None:
            refuse(settings, columns)
    except ImportError:  # the kernels are not compiled yet; the job will report the mistake
        return
    except (ValueError, TypeError) as error:
        text = str(error)
        of_prior = text.startswith(("prior", "fitting a prior", "group", "no prior", "concentrations"))
        place = ".prior" if of_prior else ".counts" if columns is None else ".file"
        yield place, text.removeprefix("prior: ")


def shards(scenario: Scenario, wanted: int) -> int:
    """Return the number of parts into which a scenario is divided. This is 1 for a single case, at most one part per
    point for a grid, and the requested number for a batch.
    """
    return wanted if scenario.form == "batch" else min(wanted, len(scenario.points))


def as_text(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as JSON-compatible values, from which `restored` rebuilds the scenario."""
    return {
        "name": scenario.name,
        "kind": scenario.kind.name,
        "settings": dict(scenario.settings),
        "form": scenario.form,
        "release": scenario.release,
    }


def restored(found: dict[str, Any]) -> Scenario:
    """Rebuild a scenario from the JSON-compatible values that `as_text` returned."""
    return Scenario(**{**found, "kind": kind.discover()[found["kind"]]})
