"""What a configuration of pan2023 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TABLE_KEYS = ("table", "alpha")
_DATA_KEYS = ("data", "swap", "match")
_SUM = 1e-9


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for name, scenario in section.get("scenarios", {}).items():
        for key, text in _scenario(scenario):
            yield f"scenarios.{name}{key}", text
    for artefact in ("phi_examples", "phi_density", "phi_by_rate", "closer_or_farther", "coverage"):
        settings = section[artefact]
        for i, theta in enumerate(settings["thetas"]):
            if abs(sum(theta) - 1) > _SUM:
                yield f"{artefact}.thetas[{i}]", f"{theta} adds up to {sum(theta):g}, not to 1"
            elif artefact in ("phi_density", "phi_by_rate", "closer_or_farther"):
                for total in settings["totals"]:
                    if any(abs(total * t - round(total * t)) > 1e-6 for t in theta):
                        yield f"{artefact}.totals", f"{total} times {theta} is not whole; use a multiple of 100"


def _scenario(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    has_table, has_data = "table" in scenario, "data" in scenario
    if has_table == has_data:
        found = "both" if has_table else "neither"
        yield "", f"has {found}; give either data (a CSV file to swap) or table (a swapped table you have)"
        return
    foreign = _DATA_KEYS if has_table else _TABLE_KEYS
    for key in foreign:
        if key in scenario and scenario[key] not in ([], 1.0):
            yield f".{key}", f"is not used with {'table' if has_table else 'data'}; leave it out"
    yield from _table(scenario) if has_table else _data(scenario)


def _table(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    table = scenario["table"]
    widths = {len(row) for row in table}
    if len(widths) > 1:
        yield ".table", f"its rows have {', '.join(map(str, sorted(widths)))} entries; all must have the same number"
        return
    cells, total = sum(map(len, table)), sum(map(sum, table))
    if cells > 4 and total > 30:
        yield (
            ".table",
            f"{total} records in {cells} cells are too many for the exact law; 2 x 2 tables have no such limit",
        )
    if cells == 4 and total > 3000:
        yield ".table", f"{total} records would take minutes; the exact posterior is meant for up to 3000"
    alpha = scenario.get("alpha", 1.0)
    if isinstance(alpha, list) and len(alpha) != cells:
        yield ".alpha", f"{len(alpha)} entries for {cells} cells; give one number or one for each"


def _data(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    path = Path(scenario["data"])
    if not path.is_file():
        yield ".data", f"{scenario['data']!r} is no file here ({Path.cwd()})"
        return
    with path.open(newline="", encoding="utf-8-sig") as stream:
        header = next(csv.reader(stream), [])
    if len(set(header)) < len(header):
        yield ".data", f"names a column twice in its header: {', '.join(header)}"
    swap, match = scenario.get("swap") or [], scenario.get("match") or []
    if not swap:
        yield ".swap", "name at least one column to swap"
    for key, names in (("swap", swap), ("match", match)):
        for column in names:
            if column not in header:
                yield f".{key}", f"{column!r} is no column of {path.name}; it has {', '.join(header)}"
    if both := sorted(set(swap) & set(match)):
        yield ".match", f"{', '.join(both)} cannot be swapped and matched at once"
