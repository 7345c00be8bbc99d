"""Score of a paper: the number of statements that reproduce, by printed artefact, and the z of each number."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..verdicts.agreement import JUDGED
from ..verdicts.table_tests import LARGEST_Z
from .statements import ALL, Statement, Verdict

_GOOD = ("reproduced", "reproduced_by_slip")
_DECIDED = (*_GOOD, "differs", "undecided")
_WORST = ("differs", "undecided", "not_run", "reproduced_by_slip", "reproduced")  # names of whole artefacts
_LETTER = 7.0  # width of a character, in units of the plot
_NAMED = 3  # maximum number of statements that are named as reasons
_WIDTH, _HEIGHT, _EDGE, _MOST = 960, 180, 40, 5.0  # size of the plot of z, in its units; larger z are at the edge


@dataclass(frozen=True)
class Line:
    """Score of a printed artefact: number of checked statements that reproduce, largest abs(z), and the statements that
    do not reproduce.

    Parameters
    ----------
    label, address : label and address of the artefact.
    verdict : worst verdict of its statements; None if none was checked.
    good, judged : numbers of reproduced and of checked statements.
    largest : largest abs(z) of a printed number, as text.
    why : quantities that do not reproduce, each with its verdict.
    more : number of further such quantities.
    lacking : number of statements that were not run.
    unrun : the first reason for these; empty if none is given.
    """

    label: str
    address: str
    verdict: Verdict | None
    good: int
    judged: int
    largest: str
    why: list[tuple[str, Verdict]]
    more: int
    lacking: int
    unrun: str


@dataclass(frozen=True)
class Dot:
    """Point of a printed number in the plot of z, in units of the plot."""

    x: float
    y: float
    outside: bool
    text: str


@dataclass(frozen=True)
class Plot:
    """Plot of z for every printed number of a paper: dots, level lines (z, height), and start and label of each
    artefact.
    """

    dots: list[Dot]
    levels: list[tuple[str, float]]
    starts: list[tuple[float, str]]
    outside: int
    width: int = _WIDTH
    height: int = _HEIGHT
    edge: int = _EDGE


def decided(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements that count in the score: numbers, claims, tests of distributions (kind ``law``) and curves
    with a verdict.
    """
    return [s for s in statements if s.kind in JUDGED and s.verdict.name in _DECIDED]


def sentence(statements: Sequence[Statement]) -> str:
    """Return the score, e.g. ``3 statements checked: 1 reproduces, 1 only with an error emulated, 1 differs.``,
    followed by the numbers of statements not run and of facts, which tables of verdicts count as reproduced.
    """
    found = decided(statements)
    parts = []
    words = (
        ("reproduces", "reproduce"),
        ("only with an error emulated",) * 2,
        ("differs", "differ"),
        ("undecided",) * 2,
    )
    for name, (one, many) in zip(_DECIDED, words, strict=True):
        number = sum(s.verdict.name == name for s in found)
        if number:
            parts.append(f"{number} {one if number == 1 else many}")
    lacking = sum(s.verdict.name == "not_run" for s in statements)
    start = f"{len(found)} statement{'' if len(found) == 1 else 's'} checked"
    apart = f" {lacking} more {'was' if lacking == 1 else 'were'} not run." if lacking else ""
    facts = sum(s.kind == "fact" and s.verdict.name in _GOOD for s in statements)
    apart += f" In addition, {facts} fact{' holds' if facts == 1 else 's hold'} by definition or arithmetic." * (
        facts > 0
    )
    return f"{start}: {', '.join(parts)}.{apart}" if parts else f"{start}.{apart}"


def lines(statements: Sequence[Statement]) -> list[Line]:
    """Return one score line per printed artefact, in the order of the paper."""
    groups: dict[str, list[Statement]] = {}
    for statement in sorted(statements, key=lambda s: s.number):
        groups.setdefault(statement.artefact, []).append(statement)
    return [_line(rows) for rows in groups.values()]


def _line(rows: list[Statement]) -> Line:
    found = decided(rows)
    names = {s.verdict.name for s in rows}
    worst = next((ALL[name] for name in _WORST if name in names), None)
    look = [s for s in rows if s.verdict.name in ("differs", "undecided")]
    zs = [abs(s.z) for s in found if s.kind in ("number", "curve") and math.isfinite(s.z)]
    return Line(
        label=rows[0].label,
        address=rows[0].address,
        verdict=worst,
        good=sum(s.verdict.name in _GOOD for s in found),
        judged=len(found),
        largest=f"{max(zs):.1f}" if zs else "",
        why=[(s.quantity, s.verdict) for s in look[:_NAMED]],
        more=max(0, len(look) - _NAMED),
        lacking=sum(s.verdict.name == "not_run" for s in rows),
        unrun=next((s.note for s in rows if s.verdict.name == "not_run"), ""),
    )


def plot(statements: Sequence[Statement]) -> Plot | None:
    """Return the plot of z for every checked printed number, in the order of the paper; None if no number
    was checked.
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
