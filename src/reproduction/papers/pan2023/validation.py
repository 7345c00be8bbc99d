"""What a configuration of pan2023 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

from collections.abc import Iterator
from typing import Any

_SOURCES = ("release", "table", "strata", "rehearsal")
_CONFIDENTIAL = ("data", "swap", "match")
_OF_A_RELEASE = ("held", "swapped")
_WAY_OUT = (
    "true records get their swap under releases (mechanism: swap), whose name goes here as release; made-up tables go "
    "under rehearsal"
)
_MOST_CELLS, _MOST_RECORDS = 200, 100_000
_SUM = 1e-9


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for name, scenario in section.get("scenarios", {}).items():
        for key, text in _scenario(scenario):
            yield f"scenarios.{name}{key}", text
    for artefact in ("phi_examples", "phi_density", "phi_by_rate", "phi_draws", "closer_or_farther", "coverage"):
        settings = section[artefact]
        for i, theta in enumerate(settings["thetas"]):
            if abs(sum(theta) - 1) > _SUM:
                yield f"{artefact}.thetas[{i}]", f"{theta} adds up to {sum(theta):g}, not to 1"
            elif artefact in ("phi_density", "phi_by_rate", "phi_draws", "closer_or_farther"):
                for total in settings["totals"]:
                    if any(abs(total * t - round(total * t)) > 1e-6 for t in theta):
                        yield f"{artefact}.totals", f"{total} times {theta} is not whole; use a multiple of 100"


def _scenario(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in _CONFIDENTIAL:
        if key in scenario:
            yield f".{key}", f"is not taken by a scenario: {_WAY_OUT}"
    given = [key for key in _SOURCES if key in scenario]
    if len(given) != 1:
        if not any(key in scenario for key in _CONFIDENTIAL):
            found = " and ".join(given) or "none of them"
            yield "", f"must have exactly one of {', '.join(_SOURCES)}, has {found}; {_WAY_OUT}"
        return
    source = given[0]
    if source == "release":
        if "held" not in scenario:
            yield ".held", "is missing: name the held columns that make the columns of the table"
        if "rate" in scenario:
            yield ".rate", "is not used with release, whose record states it; leave it out"
        return
    for key in _OF_A_RELEASE:
        if key in scenario:
            yield f".{key}", f"is not used with {source}; leave it out"
    if "rate" not in scenario:
        yield ".rate", "is missing: the swap rate of the table"
    yield from _source(source, scenario)


def _source(source: str, scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    holder, place = scenario, ""
    if source == "rehearsal":
        holder, place = scenario["rehearsal"], ".rehearsal"
        if len(holder) != 1:
            yield place, "must have either table or strata"
            return
        (source,) = holder
    tables = [holder["table"]] if source == "table" else holder["strata"]
    yield from ((f"{place}.{source}", text) for text in _tables(tables))
    cells = sum(len(row) for table in tables for row in table)
    alpha = scenario.get("alpha", 1.0)
    if isinstance(alpha, list) and len(alpha) != cells:
        yield ".alpha", f"{len(alpha)} entries for {cells} cells; give one number or one for each"


def _tables(tables: list[list[list[int]]]) -> Iterator[str]:
    shapes = {(len(table), *{len(row) for row in table}) for table in tables}
    if any(len(shape) > 2 for shape in shapes):
        widths = sorted({len(row) for table in tables for row in table})
        yield f"its rows have {', '.join(map(str, widths))} entries; all must have the same number"
    elif len(shapes) > 1:
        yield "its strata must all have the same number of rows and of columns"
    cells = sum(len(row) for table in tables for row in table)
    if shapes != {(2, 2)} and cells > _MOST_CELLS:
        yield f"{cells} cells are too many; a scenario takes up to {_MOST_CELLS}, or strata of 2 x 2 tables"
    records = max(sum(map(sum, table)) for table in tables)
    if records > _MOST_RECORDS:
        yield f"{records} records in a stratum are too many; a scenario takes up to {_MOST_RECORDS}"
    if records == 0:
        yield "has no records"
