"""Printed statements beside ours, as rows of a page that link to their artefact and back.

A verdict is shown as a sign, a word and its meaning; colour only repeats them. Tables are laid out as printed (`grid`):
rows and columns are read from the names of the statements, and our number is below each printed number.
"""

import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..verdicts.agreement import VERDICTS
from ..verdicts.table_tests import LARGEST_Z
from . import texts

_IN_WORDS = {"claim": "a claim", "law": "a law", "fact": "a fact"}  # what is printed where no number is
_SIGNS = {"<=": "≤", ">=": "≥"}
_WITH_Z = ("number", "curve", "derived", "input")

_VARIANTS = {"corrected": "corrected method", "as_written": "as written", "published": "as their program"}
_BY_VARIANT = ("number", "curve")  # kinds of statements that hold under one method and not under another


@dataclass(frozen=True)
class Verdict:
    """One verdict.

    Parameters
    ----------
    name : as in the agreement table.
    sign, word : what is shown.
    meaning : one sentence.
    """

    name: str
    sign: str
    word: str
    meaning: str

    @property
    def rank(self) -> int:
        """Order by which a table is sorted: what needs a look comes first."""
        return _LOOK_FIRST.index(self.name)


_SAID = {
    "reproduced": ("✓", "reproduced", "the text, or the corrected method, gives what is printed"),
    "reproduced_by_slip": ("≈", "reproduced by slip", "only an emulated slip of the paper's program gives it"),
    "differs": ("✗", "differs", "ours is another number, or the claim fails; the note says why"),
    "undecided": ("?", "undecided", "a claim whose margin is within two standard errors of none"),
    "not_stated": ("–", "not stated", "the paper shows the quantity and prints no number"),
    "not_run": ("○", "not run", "this run did not compute it; the note says why"),
    "machine_dependent": ("~", "machine dependent", "a time, which depends on the machine and never counts"),
    "input": ("=", "input", "chosen to match print; does not count"),
    "derived": ("→", "derived", "follows from other rows; does not count"),
}
_LOOK_FIRST = ("differs", "undecided", "not_run", "reproduced_by_slip", "reproduced", *VERDICTS[4:5], *VERDICTS[6:])

LOOK = _LOOK_FIRST[:2]  # what a reader must see without asking
ALL = {name: Verdict(name, *_SAID[name]) for name in VERDICTS}


def counts(names: Iterable[str]) -> list[tuple[Verdict, int]]:
    """How often each verdict occurs, in the order of `VERDICTS`; those that do not occur are omitted."""
    listed = list(names)
    return [(verdict, listed.count(name)) for name, verdict in ALL.items() if name in listed]


@dataclass(frozen=True)
class Statement:
    """One printed statement.

    Parameters
    ----------
    paper, artefact, label, quantity, kind, place, note : as in the agreement table; `label` is the artefact's.
    printed, ours : as shown; of a claim the two sides of its relation, of a law its p value.
    off : how far off ours is: its distance from print with the standard error of that, or by how much a claim holds.
    z : of that distance; NaN where there is none.
    printed_exact, exact : as they sort.
    verdict : with its sign.
    variant : by which method, and the verdict of the others.
    number : within its paper.
    """

    paper: str
    artefact: str
    label: str
    quantity: str
    kind: str
    printed: str
    printed_exact: str
    ours: str
    exact: str
    off: str
    z: float
    verdict: Verdict
    variant: str
    note: str
    place: str
    number: int

    @property
    def z_text(self) -> str:
        """z as shown: one decimal, nothing where it is no number."""
        return f"{self.z:+.1f}".replace("-", "−") if math.isfinite(self.z) else ""

    @property
    def row(self) -> str:
        """Name of its row in the agreement page."""
        return f"{self.paper}-{self.number}"

    @property
    def address(self) -> str:
        """Where its artefact is shown."""
        return f"paper-{self.paper}.html#{self.artefact}"


def listed(agreement: pd.DataFrame, labels: dict[tuple[str, str], str]) -> list[Statement]:
    """All rows of an agreement table; `labels` is (paper, artefact) -> label."""
    return [_statement(row, labels) for row in agreement.to_dict("records")]


def grouped(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """By artefact, in the order of the table; within one, what needs a look comes first."""
    groups: dict[str, list[Statement]] = {}
    for statement in statements:
        groups.setdefault(statement.artefact, []).append(statement)
    return {name: sorted(rows, key=lambda row: row.verdict.rank) for name, rows in groups.items()}


def _statement(row: dict[Any, Any], labels: dict[tuple[str, str], str]) -> Statement:
    paper, artefact = str(row["paper"]), str(row["artefact"])
    verdict = ALL[str(row["verdict"])]
    kind = str(row["kind"])
    silent = verdict.name == "not_run"
    return Statement(
        paper=paper,
        artefact=artefact,
        label=labels.get((paper, artefact), artefact.replace("_", " ").capitalize()),
        quantity=texts.text(row["quantity"]),
        kind=kind,
        printed=texts.printed(float(row["printed"]), float(row["printed_digits"])) or _IN_WORDS.get(kind, "–"),
        printed_exact=_sortable(row["printed"]),
        ours="" if silent else _ours(row, kind),
        exact="" if silent else _sortable(row["ours"]),
        off="" if silent else _off(row, kind),
        z=float(row["z"]) if kind in _WITH_Z and not silent and math.isfinite(float(row["z"])) else math.nan,
        verdict=verdict,
        variant=_variants(row, kind),
        note="; ".join(filter(None, [texts.text(row["note"]), _power(row)])),
        place=texts.text(row["place"]),
        number=int(row["number"]),
    )


def _variants(row: dict[Any, Any], kind: str) -> str:
    """By which method a statement holds, and what the others give."""
    others = [text.partition(": ") for text in texts.text(row["other_variants"]).split("; ") if text]
    own = _VARIANTS.get(str(row["variant"]), "") if kind in _BY_VARIANT or others else ""
    return "; ".join([own] * bool(own) + [f"{_VARIANTS[name]}: {ALL[verdict].word}" for name, _, verdict in others])


def _ours(row: dict[Any, Any], kind: str) -> str:
    """Ours: the sides of a claim's relation, a law's p value, a number with two decimals more than print."""
    value = float(row["ours"])
    if relation := texts.text(row["relation"]):
        sides = [float(row[side]) for side in ("left", "right")]
        if not any(map(math.isnan, sides)):
            return f"{texts.number(sides[0], 4)} {_SIGNS.get(relation, relation)} {texts.number(sides[1], 4)}"
        return _margin(value)
    if kind == "law":
        return f"p = {texts.number(value, 3)}"
    return texts.beside(value, float(row["printed_digits"]))


def _off(row: dict[Any, Any], kind: str) -> str:
    """How far ours is from what is printed, in words where it is a claim; the error is that of the distance."""
    error = float(row["mc_se"])
    known = f" (s.e. {texts.number(error, 2)})" if error > 0 else ""
    if texts.text(row["relation"]):
        return f"{_margin(float(row['ours']))}{known}"
    gap = float(row["ours"]) - float(row["printed"])
    if kind == "law" or math.isnan(gap):
        return ""
    return f"{'none' if gap == 0 else f'{gap:+.2g}'.replace('-', '−')}{known}"


def _margin(value: float) -> str:
    """The margin of a claim in words."""
    if value == 0:
        return "holds with equality"
    return f"{'holds' if value > 0 else 'fails'} by {texts.number(abs(value), 3)}"


def _power(row: dict[Any, Any]) -> str:
    """What a law's test sees, as words of its note."""
    sees = texts.text(row["sees"])
    return f"the test sees {sees}" if sees else ""


def _sortable(value: Any) -> str:
    """A number as a script sorts it: all digits, infinities as the largest numbers there are."""
    return texts.number(min(max(float(value), -sys.float_info.max), sys.float_info.max), 17)


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
