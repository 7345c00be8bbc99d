"""Checks of drawn figures: texts that overlap or are cut off, and marks that do not touch their bars."""

from itertools import combinations
from unittest import mock

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cbook import STEP_LOOKUP_MAP
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.text import Text

_SHRUNK = 0.12  # fraction of a line's height, because a box is higher than its letters
_TOUCH = 1.5  # pixels


def faults(figure):
    """Return all mistakes in a figure, as text."""
    texts, renderer = _drawn(figure)
    boxes = [(text.get_text(), _box(text, renderer)) for text in texts]
    yield from _overlaps(boxes)
    yield from _cut(boxes, figure.bbox)
    yield from astray(figure)
    yield from _crossed(figure, texts, renderer)


def _drawn(figure):
    """Return the texts that are drawn, without texts outside the view."""
    texts = []
    draw = Text.draw

    def record(self, renderer):
        if self.get_visible() and self.get_text().strip():
            texts.append(self)
        return draw(self, renderer)

    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()  # the first drawing determines the layout, which is kept when the figure is saved
    figure.set_layout_engine("none")
    with mock.patch.object(Text, "draw", record):
        figure.draw_without_rendering()
    return texts, renderer


def _box(text, renderer):
    box = text.get_window_extent(renderer)
    lines = text.get_text().count("\n") + 1
    less = _SHRUNK * min(box.height, box.width) / lines
    return box.padded(-less)


def _overlaps(boxes):
    for (one, a), (other, b) in combinations(boxes, 2):
        if a.overlaps(b):
            yield f"{one!r} lies on {other!r}"


def _cut(boxes, whole):
    for text, box in boxes:
        if box.x0 < whole.x0 or box.x1 > whole.x1 or box.y0 < whole.y0 or box.y1 > whole.y1:
            yield f"{text!r} is cut at the figure's edge"


def astray(figure):
    """Return the marks of `style.interval` that do not touch their bars."""
    for axis in figure.axes:
        bars = {c.get_gid(): c for c in axis.collections if isinstance(c, LineCollection) and c.get_gid()}
        for marks in (line for line in axis.lines if line.get_gid() in bars):
            yield from _astray(axis, bars[marks.get_gid()], marks)


def _astray(axis, bars, marks):
    centres = axis.transData.transform(marks.get_xydata())
    reach = marks.get_markersize() / 2 * axis.figure.dpi / 72
    for ends in bars.get_segments():
        line = axis.transData.transform(ends)
        along = int(np.argmax(np.ptp(line, axis=0)))  # y of an upright bar
        across = 1 - along
        near = centres[np.abs(centres[:, across] - line[0, across]) < 0.5]
        low, high = line[:, along].min() - reach, line[:, along].max() + reach
        if len(near) and not ((near[:, along] >= low) & (near[:, along] <= high)).any():
            yield f"a mark of {marks.get_label()!r} lies beside its bar {ends.round(4).tolist()}"


def _crossed(figure, texts, renderer):
    """Return the texts inside a panel that are crossed by a curve."""
    for axis in figure.axes:
        legend = axis.get_legend()
        inside = [*axis.texts, *(legend.get_texts() if legend else [])]
        curves = [line for line in axis.lines if isinstance(line, Line2D) and line.get_visible()]
        for text in (t for t in texts if t in inside):
            box = _box(text, renderer)
            box = box.padded(-_SHRUNK * box.height, -2 * _SHRUNK * box.height)  # the letters without the margin
            for curve in curves:
                if _through(curve, axis, box):
                    yield f"a curve runs through {text.get_text()!r}"
                    break


def _through(curve, axis, box):
    steps = STEP_LOOKUP_MAP[curve.get_drawstyle()]
    path = Path(np.column_stack(steps(*curve.get_xydata().T)))
    if len(path) < 2 or curve.get_linestyle() in ("None", "", " "):
        return False
    shown = curve.get_transform().transform_path(path)
    return axis.bbox.overlaps(box) and shown.intersects_bbox(box, filled=False)
