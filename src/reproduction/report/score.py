"""What a referee asks first: how many statements reproduce, how each printed artefact stands, where each z lies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..verdicts.agreement import JUDGED
from ..verdicts.table_tests import LARGEST_Z
from .statements import ALL, Statement, Verdict

_GOOD = ("reproduced", "reproduced_by_slip")
_DECIDED = (*_GOOD, "differs", "undecided")
_WORST = ("differs", "undecided", "not_run", "reproduced_by_slip", "reproduced")  # what a whole artefact is called
_LETTER = 7.0  # width of a letter, in units of the plot
_NAMED = 3  # statements that are named as reasons
_WIDTH, _HEIGHT, _EDGE, _MOST = 960, 180, 40, 5.0  # of the plot of z, in its own units; z beyond the most at the edge


@dataclass(frozen=True)
class Line:
    """One printed artefact: how many of its judged statements reproduce, its largest abs(z), and what does not.

    Parameters
    ----------
    label, address : of the artefact.
    verdict : the worst among its statements; None where none is judged.
    good, judged : numbers of statements.
    largest : largest abs(z) of a printed number, as text.
    why : quantities that need a look, each with its verdict.
    more : how many beyond these.
    lacking : how many were not run.
    unrun : why, the first of them; empty where it is not said.
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
    """A printed number in the plot of z, in the plot's units."""

    x: float
    y: float
    outside: bool
    text: str


@dataclass(frozen=True)
class Plot:
    """z of every printed number of a paper: dots, level lines (z, height), where an artefact begins (and its label)."""

    dots: list[Dot]
    levels: list[tuple[str, float]]
    starts: list[tuple[float, str]]
    outside: int
    width: int = _WIDTH
    height: int = _HEIGHT
    edge: int = _EDGE


def decided(statements: Sequence[Statement]) -> list[Statement]:
    """Statements that count: numbers, claims, laws and curves with a verdict."""
    return [s for s in statements if s.kind in JUDGED and s.verdict.name in _DECIDED]


def sentence(statements: Sequence[Statement]) -> str:
    """The score, e.g. ``3 statements judged: 1 reproduces, 1 only with a slip emulated, 1 differs.``, then what is not
    judged: statements not run, and facts, which tables of verdicts count as reproduced."""
    found = decided(statements)
    said = []
    words = (("reproduces", "reproduce"), ("only with a slip emulated",) * 2, ("differs", "differ"), ("undecided",) * 2)
    for name, (one, many) in zip(_DECIDED, words, strict=True):
        number = sum(s.verdict.name == name for s in found)
        if number:
            said.append(f"{number} {one if number == 1 else many}")
    lacking = sum(s.verdict.name == "not_run" for s in statements)
    start = f"{len(found)} statement{'' if len(found) == 1 else 's'} judged"
    apart = f" {lacking} more {'was' if lacking == 1 else 'were'} not run." if lacking else ""
    facts = sum(s.kind == "fact" and s.verdict.name in _GOOD for s in statements)
    apart += f" Beside them {facts} fact{' holds' if facts == 1 else 's hold'} by definition or arithmetic." * (
        facts > 0
    )
    return f"{start}: {', '.join(said)}.{apart}" if said else f"{start}.{apart}"


def lines(statements: Sequence[Statement]) -> list[Line]:
    """One line a printed artefact, in the order of print."""
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
    """z of every printed number that was judged, in the order of print; None where there is none."""
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
