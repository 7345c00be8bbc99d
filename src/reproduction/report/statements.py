"""Printed statements beside ours, as rows of a page that link to their artefact and back."""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from . import cells
from .verdicts import ALL, Verdict

_IN_WORDS = {"claim": "a claim", "law": "a law", "fact": "a fact"}  # what is printed where no number is
_SIGNS = {"<=": "≤", ">=": "≥"}
_WITH_Z = ("number", "curve", "derived", "input")

_VARIANTS = {"corrected": "corrected method", "as_written": "as written", "published": "as their program"}
_BY_VARIANT = ("number", "curve")  # kinds of statements that hold under one method and not under another


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
        quantity=cells.text(row["quantity"]),
        kind=kind,
        printed=cells.printed(float(row["printed"]), float(row["printed_digits"])) or _IN_WORDS.get(kind, "–"),
        printed_exact=_sortable(row["printed"]),
        ours="" if silent else _ours(row, kind),
        exact="" if silent else _sortable(row["ours"]),
        off="" if silent else _off(row, kind),
        z=float(row["z"]) if kind in _WITH_Z and not silent and math.isfinite(float(row["z"])) else math.nan,
        verdict=verdict,
        variant=_variants(row, kind),
        note="; ".join(filter(None, [cells.text(row["note"]), _power(row)])),
        place=cells.text(row["place"]),
        number=int(row["number"]),
    )


def _variants(row: dict[Any, Any], kind: str) -> str:
    """By which method a statement holds, and what the others give."""
    others = [text.partition(": ") for text in cells.text(row["other_variants"]).split("; ") if text]
    own = _VARIANTS.get(str(row["variant"]), "") if kind in _BY_VARIANT or others else ""
    return "; ".join([own] * bool(own) + [f"{_VARIANTS[name]}: {ALL[verdict].word}" for name, _, verdict in others])


def _ours(row: dict[Any, Any], kind: str) -> str:
    """Ours: the sides of a claim's relation, a law's p value, a number with two decimals more than print."""
    value = float(row["ours"])
    if relation := cells.text(row["relation"]):
        sides = [float(row[side]) for side in ("left", "right")]
        if not any(map(math.isnan, sides)):
            return f"{cells.number(sides[0], 4)} {_SIGNS.get(relation, relation)} {cells.number(sides[1], 4)}"
        return _margin(value)
    if kind == "law":
        return f"p = {cells.number(value, 3)}"
    return cells.beside(value, float(row["printed_digits"]))


def _off(row: dict[Any, Any], kind: str) -> str:
    """How far ours is from what is printed, in words where it is a claim; the error is that of the distance."""
    error = float(row["mc_se"])
    known = f" (s.e. {cells.number(error, 2)})" if error > 0 else ""
    if cells.text(row["relation"]):
        return f"{_margin(float(row['ours']))}{known}"
    gap = float(row["ours"]) - float(row["printed"])
    if kind == "law" or math.isnan(gap):
        return ""
    return f"{'none' if gap == 0 else f'{gap:+.2g}'.replace('-', '−')}{known}"


def _margin(value: float) -> str:
    """The margin of a claim in words."""
    if value == 0:
        return "holds with equality"
    return f"{'holds' if value > 0 else 'fails'} by {cells.number(abs(value), 3)}"


def _power(row: dict[Any, Any]) -> str:
    """What a law's test sees, as words of its note."""
    sees = cells.text(row["sees"])
    return f"the test sees {sees}" if sees else ""


def _sortable(value: Any) -> str:
    """A number as a script sorts it: all digits, infinities as the largest numbers there are."""
    return cells.number(min(max(float(value), -sys.float_info.max), sys.float_info.max), 17)
