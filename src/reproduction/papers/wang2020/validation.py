"""What a configuration of wang2020 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SOURCES = ("counts", "counts_file", "released", "released_file")
_COLUMNS = ("component", "count")


def read_file(path: str) -> tuple[list[str], list[int]]:
    """Component names and counts of a CSV file with the columns component, count.

    Raises
    ------
    ValueError
        If the file is missing or a column, a name or a count is not as it should be; the message names file and line.
    """
    if not Path(path).is_file():
        raise ValueError(f"{path}: no such file (paths start where snakemake was started)")
    with Path(path).open(newline="", encoding="utf-8-sig") as stream:
        rows = csv.DictReader(stream)
        if missing := [c for c in _COLUMNS if c not in (rows.fieldnames or ())]:
            raise ValueError(f"{path}: column {', '.join(missing)} missing; found {', '.join(rows.fieldnames or ())}")
        names, counts = [], []
        for line, row in enumerate(rows, 2):
            if not (row["count"] or "").strip().isdecimal():
                raise ValueError(f"{path}, line {line}: count must be a whole number >= 0, got {row['count']!r}")
            names.append(row["component"])
            counts.append(int(row["count"]))
    return names, counts


def components(scenario: dict[str, Any]) -> tuple[list[str], list[int], bool]:
    """Names, counts and whether they are true counts (else a release) of a scenario that names one source."""
    source = next(key for key in _SOURCES if scenario.get(key) is not None)
    if source.endswith("_file"):
        names, counts = read_file(scenario[source])
    else:
        counts = scenario[source]
        names = scenario.get("names") or [f"c{i + 1}" for i in range(len(counts))]
    return names, counts, source.startswith("counts")


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for name, scenario in section.get("scenarios", {}).items():
        for key, text in _scenario(scenario):
            yield f"scenarios.{name}{key}", text


def _scenario(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    given = [key for key in _SOURCES if scenario.get(key) is not None]
    if len(given) != 1:
        yield "", f"has {' and '.join(given) or 'no counts'}; give exactly one of {', '.join(_SOURCES)}"
        return
    try:
        names, counts, true = components(scenario)
    except ValueError as error:
        yield f".{given[0]}", str(error)
        return
    if scenario.get("names") and given[0].endswith("_file"):
        yield ".names", "leave it out, the file names the components"
    elif len(names) != len(counts):
        yield ".names", f"{len(names)} names for {len(counts)} components"
    elif len(set(names)) != len(names):
        yield ".names", "names something twice"
    if not counts or sum(counts) > 10**8:
        yield f".{given[0]}", f"adds up to {sum(counts)}; at least one component and at most 10^8 in all"
    total = scenario.get("released_total")
    if total is not None and true:
        yield ".released_total", "belongs to a release you have; these counts get a release of their own"
    elif total is not None and total != sum(counts):
        yield ".released_total", f"{total} is not the sum of the released components, {sum(counts)}"
    if len(counts) != 2:
        if scenario.get("algorithm") == "1-summed":
            yield ".algorithm", f"'1-summed' has a tractable posterior for two components only, not {len(counts)}"
        if scenario.get("algorithm", "3") == "3" and scenario.get("ties") == "ieee":
            yield ".ties", f"'ieee' has a tractable posterior for two components only, not {len(counts)}"
