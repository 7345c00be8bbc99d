"""What matplotlib works out again and again while it saves a figure, worked out once: places of ticks, parts of fonts.

Pictures are those of `Figure.savefig` to the pixel. Laying out a figure asks each axis for its ticks many times with
nothing changed between; a font's subset holds `BASE` beside what else a figure writes, so that most figures of a
process share one, and every figure's file is the same whatever was saved before it.
"""

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from io import BytesIO
from typing import Any, NamedTuple

from fontTools import subset
from matplotlib import axis as axes
from matplotlib.backends import _backend_pdf_ps

BASE = frozenset({*range(32, 127), *map(ord, "−×·–…≤≥±αβγδεθλμπσφχ")})
_PDF: Any = _backend_pdf_ps  # parts of matplotlib that are its own; the tests hold what they do
_AXIS: Any = axes.Axis
# By these an editor would set other text (ligatures, kerning, alternates); no viewer of a PDF reads them.
_OF_EDITORS = ("BASE", "GDEF", "GPOS", "GSUB", "JSTF", "MATH", "kern", "FFTM", "PfEd", "meta")


@contextmanager
def quick() -> Iterator[None]:
    """Figures saved inside are saved so. A figure must not be changed by hand between two savings in one context."""
    usual = _PDF.get_glyphs_subset, _AXIS._update_ticks, _AXIS._get_ticklabel_bboxes
    ticks = _Ticks(*usual[1:])
    _PDF.get_glyphs_subset = _subset
    _AXIS._update_ticks, _AXIS._get_ticklabel_bboxes = ticks.updater(), ticks.boxer()
    try:
        yield
    finally:
        _PDF.get_glyphs_subset, _AXIS._update_ticks, _AXIS._get_ticklabel_bboxes = usual


class _Ticks:
    """Ticks of each axis and the extents of their labels, kept while its view, place and resolution stay."""

    def __init__(self, update: Any, boxes: Any) -> None:
        self._update, self._boxes = update, boxes
        self._ticks: dict[axes.Axis, tuple[Any, list[Any]]] = {}
        self._found: dict[axes.Axis, tuple[Any, Any]] = {}

    def updater(self) -> Any:
        """In place of `Axis._update_ticks`."""

        def ticks(axis: axes.Axis) -> list[Any]:
            state = _state(axis)
            if axis not in self._ticks or self._ticks[axis][0] != state:
                self._ticks[axis] = state, self._update(axis)
                self._found.pop(axis, None)
            return [*self._ticks[axis][1]]

        return ticks

    def boxer(self) -> Any:
        """In place of `Axis._get_ticklabel_bboxes`."""

        def boxes(axis: axes.Axis, ticks: list[Any], renderer: Any) -> tuple[list[Any], list[Any]]:
            state = _state(axis), [*map(id, ticks)], id(renderer)
            if axis not in self._found or self._found[axis][0] != state:
                self._found[axis] = state, self._boxes(axis, ticks, renderer)
            one, other = self._found[axis][1]
            return [*one], [*other]

        return boxes


def _state(axis: axes.Axis) -> tuple[Any, ...]:
    """What ticks and their labels' extents depend on, of what changes while a figure is saved."""
    root: Any = axis.get_figure(root=True)
    return (*axis.get_view_interval(), *axis.axes.bbox.bounds, root.dpi)


class _Made(NamedTuple):
    """A subset as matplotlib asks for it."""

    font: "_Bytes"
    glyph_index_map: dict[int, int]


class _Bytes:
    """A font's file, which writes itself."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def save(self, stream: BytesIO, **_: Any) -> None:
        """Write it, as a font does."""
        stream.write(self._content)


def _subset(fontfile: Any, glyphs: Collection[int]) -> AbstractContextManager[_Made]:
    """As matplotlib's `get_glyphs_subset`, which takes the same: a font's file and numbers of glyphs."""
    made = _made(fontfile, frozenset())
    further = frozenset(glyphs).difference(made.glyph_index_map)
    return nullcontext(_made(fontfile, further) if further else made)


@lru_cache(maxsize=64)
def _made(fontfile: Any, further: frozenset[int]) -> _Made:
    options = subset.Options(glyph_names=True, recommended_glyphs=True)
    options.drop_tables += _OF_EDITORS
    options.hinting, options.font_number = False, fontfile.face_index
    with subset.load_font(fontfile, options) as font:
        subsetter = subset.Subsetter(options=options)
        subsetter.populate(unicodes=BASE, gids=further)
        subsetter.subset(font)
        font.save(stream := BytesIO(), reorderTables=False)
    return _Made(_Bytes(stream.getvalue()), subsetter.glyph_index_map)
