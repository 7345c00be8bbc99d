"""Show the printed statements with the reproduced values as table rows that are linked to the artefacts.

A verdict is shown as a sign, a word and its meaning, so that colour is not needed. Tables are arranged as printed
(`grid`): rows and columns are derived from the names of the statements, and our number is below each printed number.
"""

import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..verdicts.agreement import VERDICTS
from ..verdicts.rows import holds
from ..verdicts.table_tests import LARGEST_Z
from . import texts

_IN_WORDS = {  # text that is shown if no number is printed
    **{"claim": "a claim", "law": "our test", "check": "our check", "fact": "a fact", "timing": "a time"},
}
_SIGNS = {"<": "<", "<=": "≤", "=": "=", ">=": "≥", ">": ">"}
_FAILS = {"<": "≥", "<=": ">", "=": "≠", ">=": "<", ">": "≤"}  # sign that is shown if the relation does not hold
_WITH_Z = ("number", "curve", "derived", "input")

_VARIANTS = {"corrected": "corrected method", "as_written": "as written", "published": "as in their program"}
_BY_VARIANT = ("number", "curve")  # kinds of statements that may hold with some methods and not with others


@dataclass(frozen=True)
class Verdict:
    """Verdict on a statement, with the sign, the word and the sentence that a page shows for the verdict.

    Parameters
    ----------
    name : name as in the agreement table.
    sign, word : displayed sign and word.
    meaning : one or two sentences.
    """

    name: str
    sign: str
    word: str
    meaning: str

    @property
    def rank(self) -> int:
        """Return the sort rank of a verdict, which determines the order of the statements in a table. Statements that
        are not reproduced come first.
        """
        return _LOOK_FIRST.index(self.name)


_SAID = {
    "reproduced": ("✓", "reproduced", "The method in the text or the corrected method gives the printed value."),
    "reproduced_by_slip": (
        "≈",
        "reproduced by slip",
        "Only a method that emulates an error of the paper's program gives the printed value, or all printed values of "
        "its table.",
    ),
    "differs": ("✗", "differs", "The computed value differs or the claim fails. The note gives the reason."),
    "undecided": (
        "?",
        "undecided",
        "The claim holds under none of the methods, but under at least one method, its margin is within two standard "
        "errors of zero.",
    ),
    "not_stated": ("–", "not stated", "The paper shows the quantity, but it prints no number."),
    "not_run": ("○", "not run", "The quantity was not computed in this run. The note gives the reason."),
    "machine_dependent": (
        "~",
        "machine dependent",
        "The statement concerns a computing time, which depends on the machine. It is not counted.",
    ),
    "input": ("=", "input", "The value was chosen to match the printed value. The statement is not counted."),
    "derived": ("→", "derived", "The statement follows from other statements. It is not counted."),
}
_LOOK_FIRST = ("differs", "undecided", "not_run", "reproduced_by_slip", "reproduced", *VERDICTS[4:5], *VERDICTS[6:])

LOOK = _LOOK_FIRST[:2]  # verdicts that are shown without opening details
ALL = {name: Verdict(name, *_SAID[name]) for name in VERDICTS}


def counts(names: Iterable[str]) -> list[tuple[Verdict, int]]:
    """Return the number of statements with each verdict, in the order of `VERDICTS`. Verdicts without statements are
    omitted.
    """
    listed = list(names)
    return [(verdict, listed.count(name)) for name, verdict in ALL.items() if name in listed]


@dataclass(frozen=True)
class Statement:
    """Printed statement of a paper, together with the reproduced value.

    Parameters
    ----------
    paper, artefact, label, quantity, kind, place, note : as in the agreement table; `label` is the label of the
        artefact.
    printed, ours : values as shown; for a claim, the two sides of its relation; for a law, the p-value.
    off : our value minus the printed value with its standard error, or the margin by which a claim
        holds or fails.
    z : z-score of that difference; NaN if there is no difference.
    printed_exact, exact : values for sorting.
    verdict : verdict with its sign.
    variant : method that was used, and the verdicts of other methods.
    number : number within the paper.
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
        """Return the z score of a statement as text with one decimal. The text is empty if z is not finite."""
        return f"{self.z:+.1f}".replace("-", "−") if math.isfinite(self.z) else ""

    @property
    def row(self) -> str:
        """Return the HTML identifier of the row that shows a statement on the page of all statements."""
        return f"{self.paper}-{self.number}"

    @property
    def address(self) -> str:
        """Return the address of the page that shows the artefact of a statement."""
        return f"paper-{self.paper}.html#{self.artefact}"


def listed(agreement: pd.DataFrame, labels: dict[tuple[str, str], str]) -> list[Statement]:
    """Return all rows of an agreement table as statements. The argument `labels` is a mapping from (paper, artefact) to
    label.
    """
    return [_statement(row, labels) for row in agreement.to_dict("records")]


def grouped(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """Return a mapping from each artefact to the statements about this artefact. The groups are in the order in which
    the artefacts first occur. In each group, statements that are not reproduced come first.
    """
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
        printed=_printed(row, kind),
        printed_exact=_sortable(row["printed"]),
        ours="" if silent else _ours(row, kind),
        exact="" if silent else _sortable(row["ours"]),
        off="" if silent else _off(row, kind),
        z=float(row["z"]) if kind in _WITH_Z and not silent and math.isfinite(float(row["z"])) else math.nan,
        verdict=verdict,
        variant=_variants(row, kind),
        note=" ".join(filter(None, [texts.text(row["note"]), _power(row)])),
        place=texts.text(row["place"]),
        number=int(row["number"]),
    )


def _printed(row: dict[Any, Any], kind: str) -> str:
    """Return the printed number and the quoted words of a statement as text. If both are missing, return a word for the
    kind of the statement.
    """
    number = texts.printed(float(row["printed"]), float(row["printed_digits"]))
    words = texts.text(row.get("words"))
    return " ".join(filter(None, [number, f"“{words}”" if words else ""])) or _IN_WORDS.get(kind, "–")


def _variants(row: dict[Any, Any], kind: str) -> str:
    """Return the variant of the method for which a statement holds, as text. The text also states the verdicts for
    other variants.
    """
    others = [text.partition(": ") for text in texts.text(row["other_variants"]).split("; ") if text]
    variant = _VARIANTS.get(str(row["variant"]), "") if kind in _BY_VARIANT or others else ""
    return "; ".join(
        [variant] * bool(variant) + [f"{_VARIANTS[name]}: {ALL[verdict].word}" for name, _, verdict in others]
    )


def _ours(row: dict[Any, Any], kind: str) -> str:
    """Return the reproduced value of a statement as text. The text contains both sides of the relation that a claim
    states, a p-value, or a number with two decimals more than the printed number.
    """
    value = float(row["ours"])
    if relation := texts.text(row["relation"]):
        sides = [float(row[side]) for side in ("left", "right")]
        if not any(map(math.isnan, sides)):
            return f"{texts.number(sides[0], 4)} {_sign(row, relation)} {texts.number(sides[1], 4)}"
        return _margin(value)
    if texts.text(row["sees"]):
        return f"p = {texts.number(value, 3)}"
    return texts.beside(value, float(row["printed_digits"]))


def _sign(row: dict[Any, Any], relation: str) -> str:
    """Return the sign, such as ``<`` or ``=``, that relates the two numbers of a claim as reproduced. It is ``≈`` for
    numbers that differ by no more than the rounding tolerance, and the opposite sign for a relation that fails.
    """
    apart, rounding = abs(float(row["left"]) - float(row["right"])), float(row["rounding"])
    if 0 < apart <= rounding:
        return "≈"
    return _SIGNS[relation] if holds(float(row["ours"]), relation) else _FAILS[relation]


def _off(row: dict[Any, Any], kind: str) -> str:
    """Return the difference between the reproduced and the printed number, or the margin by which a claim holds or
    fails, as text. A positive standard error is added. The text is empty for tests and for missing numbers.
    """
    error = float(row["mc_se"])
    known = f" (s.e. {texts.number(error, 2)})" if error > 0 else ""
    if texts.text(row["relation"]):
        return f"{_margin(float(row['ours']))}{known}"
    gap = float(row["ours"]) - float(row["printed"])
    if texts.text(row["sees"]) or math.isnan(gap):
        return ""
    return f"{'none' if gap == 0 else f'{gap:+.2g}'.replace('-', '−')}{known}"


def _margin(value: float) -> str:
    """Return the margin by which a claim holds or fails, as text."""
    if value == 0:
        return "holds with equality"
    return f"{'holds' if value > 0 else 'fails'} by {texts.number(abs(value), 3)}"


def _power(row: dict[Any, Any]) -> str:
    """Return the minimum detectable effect of a test as text, for the note below a statement in the report."""
    sees = texts.text(row["sees"])
    return f"The test detects the following changes with probability 0.9: {sees}." if sees else ""


def _sortable(value: Any) -> str:
    """Return a number as a string that a script can use to sort the rows of a table. It has all digits, and infinities
    become the largest floating-point numbers.
    """
    return texts.number(min(max(float(value), -sys.float_info.max), sys.float_info.max), 17)


_NAME = re.compile(r"^(?P<row>[^:]+?)(?:, (?P<group>[^,:()]+))?: (?P<column>[^:]+)$")
_KINDS = ("number", "derived", "input", "fact", "curve")
_FULL = 0.6  # smallest proportion of filled cells
_FEWEST = 6


@dataclass(frozen=True)
class Cell:
    """Cell of a printed table, with the printed and the reproduced number. The entry `band` (0 to 3) is its colour by
    abs(z), and `z` is the value of z as text.
    """

    printed: str
    ours: str
    z: str
    band: str
    statement: Statement


@dataclass(frozen=True)
class Grid:
    """Table as printed in a paper, together with the reproduced numbers. The entry `groups` contains pairs (heading,
    number of columns), and a cell is None if the paper prints no number.
    """

    groups: list[tuple[str, int]]
    columns: list[str]
    rows: list[tuple[str, list[Cell | None]]]


def grid(statements: Sequence[Statement]) -> Grid | None:
    """Return the printed table of an artefact with the reproduced numbers filled in, or None if the names of the
    statements do not form a table.
    """
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
    """Return the columns of a table so that columns of the same group are adjacent."""
    groups = list(dict.fromkeys(group for group, _ in heads))
    return sorted(heads, key=lambda head: groups.index(head[0]))


def _cell(statement: Statement) -> Cell:
    z = statement.z if statement.kind in ("number", "curve") else math.nan
    size = abs(z)
    band = "" if math.isnan(z) else "3" if size > LARGEST_Z else "2" if size > 2 else "1" if size > 1 else "0"
    return Cell(statement.printed, statement.ours, "" if math.isnan(z) else statement.z_text, band, statement)
