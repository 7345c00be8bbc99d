"""Rename the columns of a user's file to the names that a kind of scenario expects. The module is written in plain
Python.

The mapping is stated (``columns: {name: county, value: count}``), or the columns are recognised by the names that other
software uses: PipelineDP (partition_key, count, count_noise_stddev) and OpenDP (len). The results state which column
was read under which name. A column of standard deviations of Laplace noise is converted to scales.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from math import prod, sqrt
from typing import Any

from ..kind import Kind
from . import published_cells, table_files

Names = dict[str, str | list[str]]
_VALUES = ("count", "len")  # names of the column of counts in PipelineDP and in OpenDP
_KEY = "partition_key"
_BESIDE = ("privacy_id_count", "sum", "mean", "variance")  # further columns of PipelineDP
_SPREAD = "{}_noise_stddev"
_SCALE = {"laplace": "scale", "gaussian": "sd", "discrete_gaussian": "sigma"}
_OPENDP = {  # mapping from names of distributions in OpenDP to the law and its parameter
    "Integer Laplace": ("discrete_laplace", "scale"),
    "Integer Gaussian": ("discrete_gaussian", "sigma"),
    "Float Laplace": ("laplace", "scale"),
    "Float Gaussian": ("gaussian", "sd"),
}
_TABLE = ("true", "released", "probability")
_PTABLE = ("i", "j", "p")
_SUMMARY = ("column", "aggregate", "distribution", "scale")  # columns of OpenDP's summarize()
COMBINATIONS = "combinations"  # of the values of the columns that make up a name
_MOST_CELLS = 1_000_000
JOINT = "/"  # separator between the parts of a name that consists of several columns


def names(settings: Mapping[str, Any], header: Sequence[str], kind: Kind) -> Names:
    """Return a mapping from the column names that a kind of scenario expects to the columns of the file.

    Parameters
    ----------
    settings : settings of the scenario.
    header : columns of the file.
    kind : kind of the scenario.

    Returns
    -------
    dict
        Empty if the file has the expected names. A name may consist of several columns.

    Raises
    ------
    ValueError
        If a stated column does not exist, or the kind does not have a column of that name.
    """
    known = {**kind.columns, **kind.further, **kind.by_table}
    mapping: Names = {}
    for ours, theirs in (settings.get("columns") or {}).items():
        if ours not in known:
            raise ValueError(
                f"columns: {ours!r} is not the name of a column that the scenario reads. "
                f"The names are {', '.join(known)}"
            )
        if ours != "name" and not isinstance(theirs, str):
            raise ValueError(
                f"columns: {ours!r} must be a single column, got {theirs!r}. Only 'name' may consist of several columns"
            )
        for one in [theirs] if isinstance(theirs, str) else theirs:
            if one not in header:
                near = get_close_matches(one, header, n=1)
                hint = f": did you mean {near[0]!r}?" if near else ""
                raise ValueError(
                    f"columns: the file has no column {one!r}. The columns of the file "
                    f"are {', '.join(header[:20])}{hint}"
                )
        mapping[ours] = theirs if isinstance(theirs, str) else list(theirs)
    return {**_recognised(settings, header, kind, mapping), **mapping}


def _recognised(settings: Mapping[str, Any], header: Sequence[str], kind: Kind, stated: Names) -> Names:
    """Recognise the columns that have the names used by other software, and return a mapping from the expected names to
    these columns.
    """
    if not {"name", "value"} <= set(kind.columns):
        return {}
    recognised: Names = {}
    if "value" not in header and "value" not in stated:
        recognised |= {"value": next((one for one in _VALUES if one in header), "")}
        if not recognised["value"]:
            return {}
    value = str(stated.get("value", recognised.get("value", "value")))
    spread = _SPREAD.format(value)
    if "name" not in header and "name" not in stated:
        reserved = {value, spread, "table", *_BESIDE, *kind.columns, *kind.further, *kind.by_table}
        reserved |= {settings.get("exposure", ""), *(settings.get("covariates") or ())}
        left = [one for one in header if one not in reserved and not one.endswith("_noise_stddev")]
        if _KEY in left or len(left) == 1:
            recognised["name"] = _KEY if _KEY in left else left[0]
    noise = settings.get("noise")
    key = _SCALE.get(str(noise.get("law") if isinstance(noise, Mapping) else noise), "")
    scales = ("scale", "sd", "sigma", "variance", "epsilon", "rho")
    free = not any(one in header or one in stated or (isinstance(noise, Mapping) and one in noise) for one in scales)
    if spread in header and key and free:
        recognised[key] = spread
    return recognised


def header(settings: Mapping[str, Any], kind: Kind, batch: bool) -> tuple[list[str], Names]:
    """Return a list of column names, and the mapping from expected to actual column names (`names`). The list contains
    the mapped expected names, followed by all other column names in the scenario's file.

    Raises
    ------
    ValueError, ImportError
        As in `names` and `table_files.columns`.
    """
    written = table_files.columns(settings["file"], batch)
    mapping = names(settings, written, kind)
    return [*mapping, *(one for one in written if one not in mapping)], mapping


def texts(settings: Mapping[str, Any], kinds: Mapping[str, str], found: Names) -> dict[str, list[str]]:
    """Return the columns of a file that contains one table, as strings under the expected names.

    Parameters
    ----------
    settings : settings of the scenario.
    kinds : mapping from expected names to ``text``, ``number``, ``whole`` or ``published`` (`published_cells`).
    found : mapping returned by `names`.

    Raises
    ------
    ValueError
        For all invalid cells, with line, column, rule and value.
    """
    published = [str(found.get(ours, ours)) for ours, form in kinds.items() if form == "published"]
    judges = dict.fromkeys(published, lambda text: published_cells.meaning(text, settings))
    read = table_files.texts(settings["file"], _wanted(kinds, found), judges)
    out = _joined(read, kinds, found)
    if settings.get("absent"):
        parts = [read[one] for one in _sources(found.get("name", "name"))]
        out = _with_absent(settings, kinds, found, out, parts)
    if _is_spread(settings, found):
        out["scale"] = [repr(float(text) / sqrt(2)) if text else text for text in out["scale"]]
    return out


def _wanted(kinds: Mapping[str, str], found: Names) -> dict[str, str]:
    """Return the columns that are read from a file, with the type of each column."""
    return {
        one: "text" if form == "published" else form
        for ours, form in kinds.items()
        for one in _sources(found.get(ours, ours))
    }


def _joined(read: Mapping[str, list[str]], kinds: Mapping[str, str], found: Names) -> dict[str, list[str]]:
    """Return the columns of a file under the names that a kind of scenario expects. The parts of a name are joined."""
    out = {}
    for ours in kinds:
        parts = [read[one] for one in _sources(found.get(ours, ours))]
        out[ours] = [JOINT.join(cells) for cells in zip(*parts, strict=True)] if len(parts) > 1 else list(parts[0])
    return out


def _combinations(parts: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of all combinations of the values of several columns, in the order in which the values first
    occur.
    """
    different = [list(dict.fromkeys(part)) for part in parts]
    if (size := prod(map(len, different))) > _MOST_CELLS:
        raise ValueError(
            f"absent: the columns that form the name must have at most {_MOST_CELLS:,} combinations of values, got "
            f"{size:,}: list the cell names in a file, and set the key 'cells' to its path"
        )
    return [JOINT.join(cell) for cell in product(*different)]


def absent_mistakes(settings: Mapping[str, Any], found: Names, batch: bool) -> list[str]:
    """Return the errors in the value of the key ``absent`` that can be found without reading the rows of the file.

    Parameters
    ----------
    settings : settings of the scenario.
    found : mapping of `names`.
    batch : whether the file has many tables.
    """
    stated, noise = settings.get("absent"), settings.get("noise")
    if not stated:
        return []
    threshold = isinstance(noise, Mapping) and "threshold" in noise
    wrong = []
    if stated["are"] == "withheld" and not threshold and not settings.get("withheld") and "below" not in stated:
        wrong.append(
            "the key 'below' is required: set the limit below which cells were omitted: "
            "{cells: .., are: withheld, below: 10}"
        )
    if stated["are"] != "withheld" and "below" in stated:
        wrong.append(f"below is allowed only with are: withheld, got are: {stated['are']}")
    if stated["are"] == "unknown" and threshold:
        wrong.append(
            "with a threshold of the noise, a cell without a value was withheld: set are: withheld, or remove the "
            "key absent"
        )
    several = not isinstance(found.get("name", "name"), str)
    if stated["cells"] == COMBINATIONS and not several:
        wrong.append(
            "combinations require a name that is made of several columns, such as columns: {name: [state, age]}: "
            "otherwise list the cells, or name a CSV file that lists them"
        )
    elif isinstance(stated["cells"], str) and stated["cells"] != COMBINATIONS:
        try:
            header = table_files.columns(stated["cells"], False)
        except ValueError as error:
            return [*wrong, f"cells: {error}"]
        if missing := [one for one in _sources(found.get("name", "name")) if one not in header]:
            wrong.append(f"cells: {stated['cells']!r} has no column {missing[0]!r} with the cell names")
        elif table_files.TABLE in header:
            wrong.append(
                f"cells: {stated['cells']!r} has a column {table_files.TABLE}, but the cells are the same for every "
                "table: remove this column"
            )
    return wrong


def absent_value(settings: Mapping[str, Any]) -> str:
    """Return the value, as text, that is assumed for a cell that the file does not list. It is ``0``, a limit such as
    ``<10``, or an empty string. An empty string means unknown, or withheld if the noise has a threshold.
    """
    stated, noise = settings["absent"], settings.get("noise")
    if stated["are"] != "withheld":
        return "0" if stated["are"] == "zero" else ""
    if "below" not in stated and isinstance(noise, Mapping) and "threshold" in noise:
        return ""
    return f"<{stated.get('below') or settings['withheld']['below']}"


def listed_cells(settings: Mapping[str, Any], kinds: Mapping[str, str], found: Names) -> dict[str, list[str]]:
    """Return the names of all cells that the key ``absent`` specifies, and the columns of the file of cells that the
    scenario reads.

    Raises
    ------
    ValueError
        If the file of cells cannot be read, or a name is empty or a duplicate.
    """
    cells = settings["absent"]["cells"]
    listed = {"name": list(cells)}
    if isinstance(cells, str):
        header = table_files.columns(cells, False)
        there = {
            ours: form
            for ours, form in kinds.items()
            if ours == "name" or (form != "published" and set(_sources(found.get(ours, ours))) <= set(header))
        }
        listed = _joined(table_files.texts(cells, _wanted(there, found)), there, found)
    names_of_cells = listed["name"]
    if len(set(names_of_cells)) < len(names_of_cells) or "" in names_of_cells:
        twice = next(name for name, times in Counter(names_of_cells).items() if times > 1 or not name)
        raise ValueError(f"absent: the cell {twice!r} is listed twice" if twice else "absent: a cell has an empty name")
    return listed


def _with_absent(
    settings: Mapping[str, Any],
    kinds: Mapping[str, str],
    found: Names,
    columns: dict[str, list[str]],
    parts: Sequence[Sequence[str]],
) -> dict[str, list[str]]:
    """Return the columns of a file, with an additional row for every cell that the file does not list."""
    if wrong := absent_mistakes(settings, found, False):
        raise ValueError(f"absent: {wrong[0]}")
    if "parent" in columns:
        raise ValueError(
            "the key 'absent' is not allowed for a tree: add a row with an empty value for a node without a count"
        )
    if settings["absent"]["cells"] == COMBINATIONS:
        settings = {**settings, "absent": {**settings["absent"], "cells": _combinations(parts)}}
    listed = listed_cells(settings, kinds, found)
    known, every = set(columns["name"]), set(listed["name"])
    if strange := [name for name in columns["name"] if name not in every]:
        raise ValueError(not_a_cell(strange[0], listed["name"]))
    rows = [i for i, name in enumerate(listed["name"]) if name not in known]
    out = {}
    for ours, values in columns.items():
        if ours in listed:
            more = [listed[ours][i] for i in rows]
        elif ours == "value":
            more = [absent_value(settings)] * len(rows)
        elif len(set(values)) == 1 or not rows:
            more = values[:1] * len(rows)
        else:
            raise ValueError(not_constant(str(found.get(ours, ours)), listed["name"][rows[0]]))
        out[ours] = [*values, *more]
    return out


def not_a_cell(name: str, cells: Sequence[str]) -> str:
    """Return the error message for a cell of the file that is not among the cells specified by the key ``absent``."""
    near = get_close_matches(name, cells, n=1)
    hint = f": did you mean {near[0]!r}?" if near else ""
    return f"absent: the file has the cell {name!r}, which is not among the {len(cells):,} cells{hint}"


def not_constant(column: str, cell: str) -> str:
    """Return the error message for a cell that is not listed in the file and whose value in a column is unknown."""
    return (
        f"absent: the column {column!r} has different values, so its value for {cell!r} is unknown: set "
        "the key 'cells' to a CSV file that has this column"
    )


def _sources(theirs: str | list[str]) -> list[str]:
    return [theirs] if isinstance(theirs, str) else theirs


def _is_spread(settings: Mapping[str, Any], found: Names) -> bool:
    """Return whether the scale of Laplace noise is given as a column of standard deviations. The standard deviation is
    sqrt(2) times the scale.
    """
    return str(found.get("scale", "")).endswith("_noise_stddev")


def read_as(settings: Mapping[str, Any], found: Names) -> dict[str, str]:
    """Return a mapping from each expected column name to the column of the file that is read under this name. Columns
    whose names agree are omitted.
    """
    sources = {ours: JOINT.join(_sources(theirs)) for ours, theirs in found.items()}
    if _is_spread(settings, found):
        sources["scale"] += ", divided by the square root of 2"
    noise = settings.get("noise")
    if is_summary(noise):
        sources["noise"] = f"the distribution in {noise}"
    if isinstance(noise, Mapping) and noise.get("law") == "table" and "file" in noise:
        columns = table_of_noise(table_files.columns(str(noise["file"]), False))
        sources |= {ours: theirs for ours, theirs in columns.items() if ours != theirs}
    return sources


def table_of_noise(columns: Sequence[str]) -> dict[str, str]:
    """Return the names of the columns with true counts, released values and probabilities in a noise table. The columns
    of the R package ptable are recognised.
    """
    ptable = set(_PTABLE) <= set(columns) and not set(_TABLE) <= set(columns)
    return dict(zip(_TABLE, _PTABLE if ptable else _TABLE, strict=True))


def with_noise(settings: Mapping[str, Any], found: Names) -> dict[str, Any]:
    """Return settings in which the path of a file written by OpenDP's ``summarize()`` is replaced by the noise
    distribution that the file describes.

    Parameters
    ----------
    settings : settings of the scenario; ``noise`` may be the path of a CSV file.
    found : mapping returned by `names`; the row of the summary is that of the column of values.

    Raises
    ------
    ValueError
        If the file is not such a summary, or does not contain a row for the column.
    """
    path = settings.get("noise")
    if not is_summary(path):
        return dict(settings)
    where, value = str(path), str(found.get("value", "value"))
    try:
        columns = table_files.columns(where, False)
    except ValueError as error:
        raise ValueError(f"noise: {error}") from None
    if missing := [one for one in ("column", "distribution", "scale") if one not in columns]:
        raise ValueError(
            f"noise: {where!r} lacks the column {missing[0]}: pass a file written by OpenDP's summarize(), which has "
            f"the columns {', '.join(_SUMMARY)}"
        )
    wanted = {"column": "text", "distribution": "text", "scale": "number"}
    threshold = {"threshold": "number"} if "threshold" in columns else {}
    rows = table_files.texts(where, {**wanted, **threshold})
    places = [i for i, name in enumerate(rows["column"]) if name == value]
    if len(places) != 1 and len(rows["column"]) > 1:
        raise ValueError(
            f"noise: {where!r} must have one row for the column {value!r}, but has rows only for "
            f"{', '.join(rows['column'][:20])}"
        )
    row = places[0] if places else 0
    distribution, scale = rows["distribution"][row], rows["scale"][row]
    if distribution not in _OPENDP or not scale:
        known = ", ".join(_OPENDP)
        raise ValueError(
            f"noise: the distribution in {where!r} must be one of {known} and must have a scale, got {distribution!r}"
        )
    law, key = _OPENDP[distribution]
    least = rows.get("threshold", [""] * (row + 1))[row]
    modified = {"threshold": float(least)} if least else {}
    return {**settings, "noise": {"law": law, key: float(scale), **modified}}


def is_summary(noise: object) -> bool:
    """Return whether the noise is specified by the name of a CSV file. OpenDP's ``summarize()`` writes such files."""
    return isinstance(noise, str) and noise.lower().endswith(".csv")
