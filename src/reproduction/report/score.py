"""Compute the score of a reproduction, which consists of the number of reproduced statements per printed artefact and
the z score of each printed number.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..verdicts.agreement import CODE, JUDGED, PAPER, WORDING
from ..verdicts.table_tests import LARGEST_Z
from .statements import ALL, Statement, Verdict, counts

_GOOD = ("reproduced", "reproduced_by_slip")
_OUTSIDE = ("stricter", "fact", "timing", "input", "derived")
_GROUPS = (
    ("Evidence for the papers: printed numbers, claims and curves", "paper", PAPER),
    ("Verbal statements, judged with thresholds chosen by this project", "wording", WORDING),
    ("Evidence for the code: tests of the samples and curves of this project", "code", CODE),
    (
        "Outside the scores: stricter interpretations, facts, times, inputs, and values that follow from others",
        "no",
        _OUTSIDE,
    ),
)
_NOUNS = {  # nouns for one statement and for several statements, and verbs
    "paper": ("printed statement checked", "printed statements checked", ("reproduces", "reproduce")),
    "wording": (
        *(
            "verbal statement judged with a threshold chosen by this project",
            "verbal statements judged with thresholds chosen by this project",
        ),
        ("holds", "hold"),
    ),
    "code": (
        "test of the samples and curves of this project",
        "tests of the samples and curves of this project",
        ("passes", "pass"),
    ),
}
_DECIDED = (*_GOOD, "differs", "undecided")
_WORST = ("differs", "undecided", "not_run", "reproduced_by_slip", "reproduced")  # names of whole artefacts
_LETTER = 7.0  # width of a character, in units of the plot
_NAMED = 3  # largest number of statements that are named as reasons
_WIDTH, _HEIGHT, _EDGE, _MOST = 960, 180, 40, 5.0  # size of the plot of z, in its units; larger z are at the edge


@dataclass(frozen=True)
class Group:
    """Number of statements with each verdict, among the statements of several given kinds. The numbers are given in
    total and for each paper.

    Parameters
    ----------
    title, name : heading, and a word for the page's style.
    total : number of statements with each verdict.
    papers : the same by paper.
    """

    title: str
    name: str
    total: list[tuple[Verdict, int]]
    papers: Mapping[str, Mapping[Verdict, int]]


@dataclass(frozen=True)
class Line:
    """Score of a printed artefact, which consists of the number of reproduced statements, the largest abs(z), and the
    statements that are not reproduced.

    Parameters
    ----------
    label, address : label and address of the artefact.
    verdict : worst verdict of its statements; None if no statement was checked.
    good, judged : numbers of reproduced and of checked numbers, claims and curves.
    worded, tested : numbers of reproduced and of checked verbal statements, and of tests of samples and curves, as ``2
        of 3``; empty if there are none.
    largest : largest abs(z) of a printed number, as text.
    why : quantities that do not reproduce, each with its verdict.
    more : number of further such quantities.
    lacking : number of statements that were not run.
    unrun : the first reason for these; empty if no reason is given.
    """

    label: str
    address: str
    verdict: Verdict | None
    good: int
    judged: int
    worded: str
    tested: str
    largest: str
    why: list[tuple[str, Verdict]]
    more: int
    lacking: int
    unrun: str


@dataclass(frozen=True)
class Dot:
    """Point in the plot of the z scores, which represents a printed number."""

    x: float
    y: float
    outside: bool
    text: str


@dataclass(frozen=True)
class Plot:
    """Data for a plot of the z score of every printed number of a paper. The data are the points, the horizontal
    reference lines, and the first position and the label of each artefact.
    """

    dots: list[Dot]
    levels: list[tuple[str, float]]
    starts: list[tuple[float, str]]
    outside: int
    width: int = _WIDTH
    height: int = _HEIGHT
    edge: int = _EDGE


def decided(statements: Sequence[Statement], kinds: Sequence[str] = PAPER) -> list[Statement]:
    """Return the statements of the given kinds that have a decisive verdict and are therefore included in the score."""
    return [s for s in statements if s.kind in kinds and s.verdict.name in _DECIDED]


def groups(statements: Sequence[Statement]) -> list[Group]:
    """Return the number of statements with each verdict, separately for groups of statement kinds. The groups are in
    the order of the score. Groups without statements are omitted.
    """
    all_groups = []
    for title, name, kinds in _GROUPS:
        rows = [s for s in statements if s.kind in kinds]
        papers = dict.fromkeys(s.paper for s in rows)
        by_paper = {p: dict(counts(s.verdict.name for s in rows if s.paper == p)) for p in papers}
        if rows:
            all_groups.append(Group(title, name, counts(s.verdict.name for s in rows), by_paper))
    return all_groups


def sentence(statements: Sequence[Statement]) -> str:
    """Return several sentences that state the score of a paper. The text states the evidence for the papers, the
    statements in words (judged with thresholds that we chose), and the evidence for the code, each as ``3 printed
    statements checked: 1 reproduces, 2 differ.``, followed by the number of statements not run.
    """
    parts = [_counted(decided(statements), *_NOUNS["paper"])]
    for name, kinds in (("wording", WORDING), ("code", CODE)):
        judged = decided(statements, kinds)
        parts += [_counted(judged, *_NOUNS[name])] if judged else []
    lacking = sum(s.verdict.name == "not_run" for s in statements)
    parts += [f"{lacking} more {'was' if lacking == 1 else 'were'} not run."] if lacking else []
    return " ".join(parts)


def _counted(found: Sequence[Statement], one: str, many: str, good: tuple[str, str]) -> str:
    """Return a sentence that states the total number of statements and the number of statements with each verdict. The
    argument `good` is the verb for ``reproduced`` in the singular and the plural.
    """
    words = (
        good,
        ("only with an error emulated",) * 2,
        ("differs", "differ"),
        ("undecided",) * 2,
    )
    parts = []
    for name, (single, several) in zip(_DECIDED, words, strict=True):
        number = sum(s.verdict.name == name for s in found)
        parts += [f"{number} {single if number == 1 else several}"] if number else []
    start = f"{len(found)} {one if len(found) == 1 else many}"
    return f"{start}: {', '.join(parts)}." if parts else f"{start}."


def lines(statements: Sequence[Statement]) -> list[Line]:
    """Return the score of each printed artefact of a paper, in the order in which the artefacts occur in the paper."""
    groups: dict[str, list[Statement]] = {}
    for statement in sorted(statements, key=lambda s: s.number):
        groups.setdefault(statement.artefact, []).append(statement)
    return [_line(rows) for rows in groups.values()]


def _line(rows: list[Statement]) -> Line:
    judged = decided(rows)
    counted = [s for s in rows if s.kind in JUDGED]
    names = {s.verdict.name for s in counted} | {s.verdict.name for s in rows if s.verdict.name == "not_run"}
    worst = next((ALL[name] for name in _WORST if name in names), None)
    look = [s for s in counted if s.verdict.name in ("differs", "undecided")]
    zs = [abs(s.z) for s in judged if s.kind in ("number", "curve") and math.isfinite(s.z)]
    return Line(
        label=rows[0].label,
        address=rows[0].address,
        verdict=worst,
        good=sum(s.verdict.name in _GOOD for s in judged),
        judged=len(judged),
        worded=_part(rows, WORDING),
        tested=_part(rows, CODE),
        largest=f"{max(zs):.1f}" if zs else "",
        why=[(s.quantity, s.verdict) for s in look[:_NAMED]],
        more=max(0, len(look) - _NAMED),
        lacking=sum(s.verdict.name == "not_run" for s in rows),
        unrun=next((s.note for s in rows if s.verdict.name == "not_run"), ""),
    )


def _part(rows: Sequence[Statement], kinds: Sequence[str]) -> str:
    judged = decided(rows, kinds)
    return f"{sum(s.verdict.name in _GOOD for s in judged)} of {len(judged)}" if judged else ""


def plot(statements: Sequence[Statement]) -> Plot | None:
    """Return a plot of the z scores of all checked printed numbers, in the order of the paper, or None if no number was
    checked.
    """
    rows = sorted((s for s in decided(statements) if s.kind in ("number", "curve")), key=lambda s: s.number)
    rows = [s for s in rows if not math.isnan(s.z)]
    if not rows:
        return None
    step = (_WIDTH - 2 * _EDGE) / len(rows)
    dots, starts = [], []
    for place, row in enumerate(rows):
        x = _EDGE + (place + 0.5) * step
        if not place or row.artefact != rows[place - 1].artefact:
            starts.append((x - step / 2, row.label))
        shown = min(max(row.z, -_MOST), _MOST)
        dots.append(
            Dot(round(x, 1), _height(shown), abs(row.z) > _MOST, f"{row.label}, {row.quantity}: z = {row.z:.2g}")
        )
    ends = [x for x, _ in starts[1:]] + [_WIDTH - _EDGE]
    starts = [
        (x, label if len(label) * _LETTER < end - x else "") for (x, label), end in zip(starts, ends, strict=True)
    ]
    levels = [(f"{z:g}", _height(z)) for z in (LARGEST_Z, 0.0, -LARGEST_Z)]
    return Plot(dots, levels, starts, sum(dot.outside for dot in dots))


def _height(z: float) -> float:
    return round(_HEIGHT / 2 * (1 - z / (1.1 * _MOST)), 1)
