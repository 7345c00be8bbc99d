"""Compare the matplotlib artists that a figure contains with the expected artists. The comparison uses the data of
every line, marker, bar, band and step function in a panel.

The function `wrong` is for tests of figure functions. It returns a message if one column is drawn in place of another,
if a limit of an interval is wrong, if a line is drawn in place of a band, or if anything is drawn that is not expected.
"""

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle, StepPatch
from numpy.typing import ArrayLike

_DIGITS = 9  # number of significant digits that are compared


class Drawn(NamedTuple):
    """Artist in a panel of a figure, described by the kind of artist, the data points and the colour.

    Parameters
    ----------
    kind : ``line``, ``marks``, ``curve`` (a line with markers), ``step-post``, ``step-mid``, ``level`` and ``upright``
        (lines across the whole panel), ``bars`` (separate segments), ``band``, ``stairs``, ``boxes`` or ``span``.
    points : rounded data; their order matters only for lines.
    colour : hexadecimal, or empty if any colour is accepted.
    """

    kind: str
    points: tuple[tuple[str, ...], ...]
    colour: str = ""


def crossed(*columns: str, seed: int = 1, **keys: Sequence[Any]) -> pd.DataFrame:
    """Return a synthetic table with one row for each combination of the values of the keys. The columns contain
    different numbers between 0.1 and 0.9, so that no two columns can be confused.
    """
    table = pd.MultiIndex.from_product(list(keys.values()), names=list(keys)).to_frame(index=False)
    numbers = 0.1 + 0.8 * np.random.default_rng(seed).random((len(table), len(columns)))
    return table.assign(**dict(zip(columns, numbers.T, strict=True)))


def line(x: ArrayLike, y: ArrayLike, colour: str = "", *, kind: str = "line") -> Drawn:
    """Return an artist that represents a line, markers, a curve or a step function through points (x, y) in the given
    order.
    """
    return Drawn(kind, _points(x, y), _hex(colour))


def across(kind: str, at: float, colour: str = "") -> Drawn:
    """Return an artist that represents a horizontal (``level``) or vertical (``upright``) line across the whole
    panel.
    """
    return Drawn(kind, _points([at]), _hex(colour))


def bars(x: ArrayLike, low: ArrayLike, high: ArrayLike, *, horizontal: bool = False, colour: str = "") -> Drawn:
    """Return an artist that represents separate line segments from low to high at the positions x. If `horizontal` is
    True, the segments are horizontal and x contains their heights.
    """
    ends = (low, x, high, x) if horizontal else (x, low, x, high)
    return Drawn("bars", tuple(sorted(_points(*ends))), _hex(colour))


def band(x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str = "") -> Drawn:
    """Return an artist that represents the area between the values low and high along the x axis."""
    return Drawn("band", tuple(sorted({*_points(x, low), *_points(x, high)})), _hex(colour))


def stairs(edges: ArrayLike, heights: ArrayLike, colour: str = "") -> Drawn:
    """Return an artist that represents the outline or the area of a histogram. A histogram has one more edge than it
    has heights.
    """
    return Drawn("stairs", (*_points(edges), *_points(heights)), _hex(colour))


def boxes(x: ArrayLike, bottom: ArrayLike, width: ArrayLike, height: ArrayLike, colour: str = "") -> Drawn:
    """Return an artist that represents all rectangles of one colour."""
    return Drawn("boxes", tuple(sorted(_points(x, bottom, width, height))), _hex(colour))


def wrong(axis: Axes, *expected: Drawn, own: str = "") -> list[str]:
    """Return messages about matplotlib artists that are missing from a panel or that are not expected in the panel. The
    list is empty if the panel is correct. An axis without a label must have the limits of the panel in which a reader
    finds its label (the nearest panel to the left in the same row, or below in the same column) and must not repeat its
    tick labels. This rule is not checked for the axes in `own` (``x``, ``y`` or ``xy``).
    """
    left, missing = list(shown(axis)), []
    for one in expected:
        match = next((other for other in left if other[:2] == one[:2] and one.colour in ("", other.colour)), None)
        if match is None:
            missing.append(f"missing: {_short(one)}")
        else:
            left.remove(match)
    return [*missing, *(f"not expected: {_short(one)}" for one in left), *_other_limits(axis, own)]


def _other_limits(axis: Axes, free: str) -> Iterator[str]:
    own = axis.get_subplotspec()
    if own is None:
        return
    panels = [(one, spec) for one in axis.figure.axes if (spec := one.get_subplotspec()) and one is not axis]
    panels = [(one, spec) for one, spec in panels if spec.get_gridspec() is own.get_gridspec()]
    if not axis.get_ylabel() and "y" not in free:
        row = [(s.colspan.start, one) for one, s in panels if s.rowspan == own.rowspan and one.get_ylabel()]
        left = [pair for pair in row if pair[0] < own.colspan.start]
        if left and not np.allclose(axis.get_ylim(), max(left, key=itemgetter(0))[1].get_ylim()):
            yield "the y axis has no label, and other limits than the panel to the left with a label"
        elif left and axis.axison and axis.yaxis.get_tick_params().get("labelleft", True):
            yield "the y axis repeats the tick labels of the panel to the left with a label"
    if not axis.get_xlabel() and "x" not in free:
        column = [(s.rowspan.start, one) for one, s in panels if s.colspan == own.colspan and one.get_xlabel()]
        below = [pair for pair in column if pair[0] > own.rowspan.start]
        if below and not np.allclose(axis.get_xlim(), min(below, key=itemgetter(0))[1].get_xlim()):
            yield "the x axis has no label, and other limits than the panel below with a label"
        elif below and axis.axison and axis.xaxis.get_tick_params().get("labelbottom", True):
            yield "the x axis repeats the tick labels of the panel below with a label"


def words(axes: Sequence[Axes]) -> list[tuple[str, str, str]]:
    """Return the title and the axis labels of each panel, without the dollar signs, braces and backslashes of
    formulas.
    """
    found = [(one.get_title() or one.get_title(loc="left"), one.get_xlabel(), one.get_ylabel()) for one in axes]
    return [tuple(re.sub(r"[$\\\\{}]", "", text).strip() for text in texts) for texts in found]  # type: ignore[misc]


def shown(axis: Axes) -> Iterator[Drawn]:
    """Yield all artists that show data in a panel of a figure. Empty lines, which are used only for entries of a
    legend, and lines of width 0 are omitted.
    """
    for one in axis.lines:
        if len(np.atleast_1d(one.get_xdata())):
            yield from _line(one, axis)
    for area in axis.collections:
        if isinstance(area, LineCollection):
            ends = [np.asarray(segment, dtype=float).ravel() for segment in area.get_segments()]
            if ends and np.max(area.get_linewidth()) > 0:
                colours: Any = area.get_color()
                yield Drawn("bars", tuple(sorted(_points(*np.array(ends).T))), to_hex(colours[0]))
        elif isinstance(area, PolyCollection):
            corners = np.concatenate([path.vertices for path in area.get_paths()] or [np.empty((0, 2))])
            faces: Any = area.get_facecolor()
            yield Drawn("band", tuple(sorted({*_points(*corners.T)})), to_hex(faces[0]))
    yield from _patches(axis)


def _line(one: Line2D, axis: Axes) -> Iterator[Drawn]:
    along, up = one.get_transform().contains_branch_seperately(axis.transData)
    x: Any = one.get_xdata()
    y: Any = one.get_ydata()
    colour = to_hex(one.get_color())
    joined, marked = (word not in ("None", "none", "", " ", None) for word in (one.get_linestyle(), one.get_marker()))
    joined = joined and one.get_linewidth() > 0
    if not joined and not marked:
        return
    if along != up:
        yield Drawn("upright" if along else "level", _points([(x if along else y)[0]]), colour)
    elif along:
        kind = "curve" if joined and marked else "line" if joined else "marks"
        steps = one.get_drawstyle()
        yield Drawn(steps.replace("steps", "step") if steps != "default" else kind, _points(x, y), colour)


def _patches(axis: Axes) -> Iterator[Drawn]:
    coordinates: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for patch in axis.patches:
        along, up = patch.get_data_transform().contains_branch_seperately(axis.transData)
        if isinstance(patch, StepPatch):
            data: Any = patch.get_data()
            yield Drawn("stairs", (*_points(data.edges), *_points(data.values)), _colour(patch))
        elif isinstance(patch, Rectangle) and patch.get_width() and patch.get_height():
            numbers = (patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height())
            kind = "boxes" if along and up else "span"
            ends = numbers if along and up else numbers[::2] if along else numbers[1::2]
            coordinates.setdefault((kind, _colour(patch)), []).extend(_points(*([number] for number in ends)))
    yield from (Drawn(kind, tuple(sorted(points)), colour) for (kind, colour), points in coordinates.items())


def span(low: float, high: float, colour: str = "") -> Drawn:
    """Return an artist that represents a band from `low` to `high` across the whole panel."""
    return Drawn("span", _points([low], [high - low]), _hex(colour))


def _colour(patch: Patch) -> str:
    face: Any = patch.get_facecolor()
    return to_hex(face if patch.get_fill() else patch.get_edgecolor())


def _hex(colour: str) -> str:
    return to_hex(colour) if colour else ""


def _points(*columns: ArrayLike) -> tuple[tuple[str, ...], ...]:
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(column, dtype=float)) for column in columns))
    return tuple(tuple(f"{value + 0.0:.{_DIGITS}g}" for value in row) for row in zip(*arrays, strict=True))


def _short(one: Drawn) -> str:
    few: Sequence[tuple[str, ...]] = one.points[:3]
    rest = f" .. ({len(one.points)} in all)" if len(one.points) > len(few) else ""
    return f"{one.kind} {one.colour} {' '.join('(' + ', '.join(point) + ')' for point in few)}{rest}"
