"""Tables laid out as printed: rows and columns read from the names of the statements, ours under each number."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..verdicts.table_tests import LARGEST_Z
from .statements import Statement

_NAME = re.compile(r"^(?P<row>[^:]+?)(?:, (?P<group>[^,:()]+))?: (?P<column>[^:]+)$")
_KINDS = ("number", "derived", "input", "fact", "curve")
_FULL = 0.6  # of the cells must be there
_FEWEST = 6


@dataclass(frozen=True)
class Cell:
    """One printed number, ours under it; `band` (0 to 3) colours it by abs(z), `z` says the same in figures."""

    printed: str
    ours: str
    z: str
    band: str
    statement: Statement


@dataclass(frozen=True)
class Grid:
    """A printed table: `groups` are (heading, columns under it); cells are None where nothing was printed."""

    groups: list[tuple[str, int]]
    columns: list[str]
    rows: list[tuple[str, list[Cell | None]]]


def grid(statements: Sequence[Statement]) -> Grid | None:
    """The table of an artefact; None where the names of its statements form none."""
    rows: dict[str, dict[tuple[str, str], Cell]] = {}
    heads: dict[tuple[str, str], None] = {}
    for statement in sorted(statements, key=lambda s: s.number):
        named = _NAME.match(statement.quantity)
        if named and statement.kind in _KINDS and statement.printed != "–":
            head = (named["group"] or "", named["column"])
            heads.setdefault(head)
            rows.setdefault(named["row"], {})[head] = _cell(statement)
    order = _together(list(heads))
    filled = sum(map(len, rows.values()))
    if min(len(rows), len(order)) < 2 or filled < max(_FEWEST, _FULL * len(rows) * len(order)):
        return None
    groups: list[tuple[str, int]] = []
    for group, _ in order:
        if groups and groups[-1][0] == group:
            groups[-1] = (group, groups[-1][1] + 1)
        else:
            groups.append((group, 1))
    table = [(name, [cells.get(head) for head in order]) for name, cells in rows.items()]
    return Grid(groups if any(g for g, _ in groups) else [], [column for _, column in order], table)


def _together(heads: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Columns of one group side by side, groups in the order in which they first come."""
    groups = list(dict.fromkeys(group for group, _ in heads))
    return sorted(heads, key=lambda head: groups.index(head[0]))


def _cell(statement: Statement) -> Cell:
    z = statement.z if statement.kind in ("number", "curve") else math.nan
    size = abs(z)
    band = "" if math.isnan(z) else "3" if size > LARGEST_Z else "2" if size > 2 else "1" if size > 1 else "0"
    return Cell(statement.printed, statement.ours, "" if math.isnan(z) else statement.z_text, band, statement)
