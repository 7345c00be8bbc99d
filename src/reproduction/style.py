"""Style of all figures: sizes in inches at print width, and colours that colour-blind readers can distinguish. If a
figure is plotted again, the files are identical.

Ticks are at the data values if these form a grid, and otherwise at 1, 2 and 5 times powers of ten, labelled with plain
numbers (`log_scale`). Numbers with intervals are always drawn by `interval`. Names written by users are drawn in any
script for which the machine has a font. Names in other scripts are replaced by numbered labels (`names`).
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.rcsetup import cycler
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    Formatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)
from numpy.typing import ArrayLike

SINGLE, DOUBLE = 3.4, 7.0  # widths of one column and of two columns
# colour-blind safe palette of Okabe and Ito; black is first and is used for exact values
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73"),
    *("#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
)
CYCLE = (BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#BBBBBB"
# colours from dark to light, which can also be ordered in greyscale
GRADED = ("#440154", "#414487", "#2A788E", "#22A884", "#54C568", "#9BD93C")

_SETTINGS: dict[Any, Any] = {
    **{"font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7},
    **{"xtick.labelsize": 7, "ytick.labelsize": 7, "lines.linewidth": 1.2, "lines.markersize": 3.5},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6},
    **{"legend.frameon": False, "figure.dpi": 100, "savefig.dpi": 200, "pdf.fonttype": 42},
    **{"axes.prop_cycle": cycler(color=CYCLE), "figure.constrained_layout.use": True},
}


@contextmanager
def applied(texts: Iterable[str] = ()) -> Iterator[None]:
    """Apply the common figure style while the context is active. The argument `texts` contains names that a user wrote,
    in any script.

    All other settings are Matplotlib's defaults. The folder of a configuration can contain a file ``matplotlibrc``,
    which Matplotlib reads when it is loaded; such a file could change a figure, or draw its texts with LaTeX.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS | {"font.family": families(texts)})
        yield


def save(figure: Figure, png: str | Path, pdf: str | Path) -> None:
    """Save a figure as PNG and PDF without a date, so that identical tables yield identical files. The layout is
    computed only once.

    The canvas objects are printed directly, because `Figure.savefig` would draw all texts twice per format to compute a
    layout that is already known.
    """
    figure.set_dpi(mpl.rcParams["savefig.dpi"])
    FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
    figure.set_layout_engine("none")  # the second file uses the layout that was computed for the first
    FigureCanvasPdf(figure).print_pdf(pdf, metadata={"CreationDate": None})


def interval(
    axis: Axes,
    places: ArrayLike,
    centre: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    horizontal: bool = False,
    lw: float = 0.8,
    color: str = BLUE,
    **look: Any,
) -> None:
    """Plot intervals as lines from the lower to the upper limit, with a marker at the centre of each interval.

    Parameters
    ----------
    axis : matplotlib Axes.
    places : positions (x, or y if `horizontal`).
    centre, low, high : values in data coordinates; if a limit is not finite, only the mark is drawn.
    horizontal : whether the values are on the x axis.
    lw, color : width and colour of the lines.
    **look : appearance of the marks, as in `Axes.plot`: marker, ls, ms, mfc, label; with ``marker=""``, only the lines
        are drawn.

    Raises
    ------
    ValueError
        If a lower end is above its upper end.
    """
    x, y, a, b = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, dtype=float)) for v in (places, centre, low, high)))
    if (wrong := np.flatnonzero(a > b)).size:
        ends = f"{a[wrong[0]]:g} to {b[wrong[0]]:g} at place {x[wrong[0]]:g}"
        raise ValueError(
            f"low must be <= high, got {ends}: pass the ends of the interval, not the distances from its centre"
        )
    name = f"interval-{len(axis.collections)}"
    whole = np.isfinite(a) & np.isfinite(b)
    (axis.hlines if horizontal else axis.vlines)(x[whole], a[whole], b[whole], color=color, lw=lw, gid=name)
    axis.plot(*((y, x) if horizontal else (x, y)), gid=name, **({"marker": "o", "ls": "", "color": color} | look))


def log_scale(axis: Axes, which: str = "y", at: Iterable[float] | None = None) -> None:
    """Make an axis logarithmic, with labels that are plain numbers and do not overlap.

    Parameters
    ----------
    axis : axis of a figure.
    which : axis to change: x, y or xy.
    at : positions of the ticks. By default, they are at 1, 2 and 5 times powers of ten on an axis of one or two
        decades, and at powers of ten on a longer axis.
    """
    ticks = None if at is None else sorted({float(value) for value in at})
    for letter in which:
        one = axis.xaxis if letter == "x" else axis.yaxis
        axis.set(**{f"{letter}scale": "log"})
        one.set_minor_formatter(NullFormatter())
        if ticks is None:
            one.set_major_locator(_PlainTicks())
            one.set_major_formatter(_PlainNumbers())
        else:
            one.set_minor_locator(NullLocator())
            one.set_major_locator(FixedLocator(ticks))
            one.set_major_formatter(FixedFormatter([f"{tick:g}" for tick in ticks]))


class _PlainTicks(LogLocator):
    """Locator for the ticks of a logarithmic axis. The ticks are at 1, 2 and 5 times powers of ten if the axis covers
    at most 1.7 decades, and at powers of ten otherwise. If fewer than three ticks remain on a short axis, round numbers
    are used.

    A vertical axis has space for more labels. It uses the first of the lists (1, 2, 5), (1, 2, 3, 5, 7) and (1, 3) that
    gives three to six ticks, the lowest of which is near the lower end of the axis.
    """

    _MOST = 6
    _NEAR = 1.7  # maximum ratio of the lowest tick to the lower end of a vertical axis

    @staticmethod
    def _inside(vmin: float, vmax: float, digits: tuple[int, ...]) -> Any:
        powers: Any = 10.0 ** np.arange(np.floor(np.log10(vmin)), np.ceil(np.log10(vmax)) + 1)
        ticks = np.outer(powers, digits).ravel()
        return ticks[(ticks >= vmin * (1 - 1e-9)) & (ticks <= vmax * (1 + 1e-9))]

    def tick_values(self, vmin: float, vmax: float) -> Any:
        upright = getattr(self.axis, "axis_name", "x") == "y"
        for digits in ((1, 2, 5), (1, 2, 3, 5, 7), (1, 3)) if upright else ():
            inside = self._inside(vmin, vmax, digits)
            if 3 <= len(inside) <= self._MOST and inside[0] <= self._NEAR * vmin:
                return inside
        decades = np.log10(vmax / vmin)
        if decades > 1.7:
            inside = self._inside(vmin, vmax, (1,))
            return inside[:: int(np.ceil(len(inside) / self._MOST))]
        inside = self._inside(vmin, vmax, (1, 2, 5))
        return inside if len(inside) >= 3 else MaxNLocator(4).tick_values(vmin, vmax)


class _PlainNumbers(Formatter):
    """Tick formatter that shows plain numbers (0.1, 2, 50), or powers of ten if the axis extends below 0.001 or above
    20,000.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        low, high = sorted(cast("Any", self.axis).get_view_interval())
        if low >= 0.99e-3 and high <= 2e4:
            return f"{x:g}"
        power = np.log10(x)
        return f"$10^{{{round(power)}}}$" if np.isclose(power, round(power)) else f"{x:.1e}"


def calibration_panel(axis: Axes, rows: pd.DataFrame, colour: str) -> None:
    """Plot the difference between the empirical distribution function of PIT values and the uniform distribution
    function, with a simultaneous confidence band.

    The table `rows` has the columns bin (left ends of the bins of [0, 1]), ecdf_difference (at the right ends of the
    bins) and band.
    """
    band = rows["band"].iloc[0]
    axis.axhspan(-band, band, color=GREY, alpha=0.5, lw=0, label="99 % simultaneous band of calibrated posteriors")
    axis.axhline(0, color=BLACK, lw=0.5)
    ends = np.append(0.0, rows["bin"] + (rows["bin"].iloc[1] - rows["bin"].iloc[0]))
    axis.plot(ends, np.append(0.0, rows["ecdf_difference"]), ".-", ms=3, color=colour)
    axis.set_xlim(0, 1)
    axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])


def letters(axes) -> None:
    """Label the panels of a figure with the letters (a), (b), .. at the upper left."""
    for letter, axis in zip("abcdefghijkl", axes, strict=False):
        axis.annotate(
            f"({letter})", (0, 1), (-2, 3), "axes fraction", textcoords="offset points", ha="right", va="bottom"
        )


FIRST = "DejaVu Sans"  # this font is part of matplotlib and contains Latin, Greek, Cyrillic and mathematical characters
# the first font draws a box for every character; TeX fonts use their own character codes
_NO_SHAPES = ("Last Resort", "cm")
_SHAPELESS = ("Cc", "Cf", "Zl", "Zp", "Zs")  # control characters, joiners, direction marks and spaces


def families(texts: Iterable[str] = ()) -> list[str]:
    """Return a list of font families that starts with `FIRST` and covers as many characters of `texts` as possible."""
    fonts = (_family(character) for character in sorted(set("".join(texts))))
    return list(dict.fromkeys([FIRST, *(name for name in fonts if name)]))


def unwritable(text: str) -> bool:
    """Return whether `text` contains a character that is missing from all installed fonts."""
    return any(not _family(character) for character in text)


def names(texts: Sequence[str], noun: str) -> tuple[list[str], str]:
    """Return the labels of a figure, and a note if some labels contain characters that cannot be displayed.

    Parameters
    ----------
    texts : names as written by the user.
    noun : noun for the named things, e.g. ``category``.

    Returns
    -------
    labels : list of str
        Names; a name that no font of this machine can draw is replaced by `noun` and a number, beginning with 1.
    told : str
        Note on the replaced names; empty if all names can be drawn.
    """
    hidden = [unwritable(text) for text in texts]
    labels = [f"{noun} {n}" if no else text for n, (text, no) in enumerate(zip(texts, hidden, strict=True), start=1)]
    if not any(hidden):
        return labels, ""
    which = "some names" if sum(hidden) > 1 else "one name"
    return labels, f"No font of this machine can draw {which}; numbers in the order of the table are shown instead."


@cache
def _family(character: str) -> str:
    """Return the first font family that contains a character, or an empty string if no font contains the character. The
    result is `FIRST` for a character without a shape (a space or joiner).
    """
    if unicodedata.category(character) in _SHAPELESS:
        return FIRST
    return next((name for name, known in _known().items() if _has(known, character)), "")


@cache
def _known() -> dict[str, str]:
    """Return a mapping from each font family to the file of its regular font, with `FIRST` first and the other families
    sorted by name.
    """
    listed = [e for e in font_manager.fontManager.ttflist if not e.name.startswith(_NO_SHAPES)]
    regular = [e for e in listed if e.style == "normal" and e.weight in (400, "normal")]
    files = {entry.name: entry.fname for entry in sorted(regular, key=lambda entry: (entry.name, entry.fname))}
    return {FIRST: font_manager.findfont(FIRST)} | files


@cache
def _font(path: str) -> FT2Font | None:
    try:
        return FT2Font(path)
    except (OSError, RuntimeError):
        return None  # the font is listed, but the file was deleted or is not a scalable font


def _has(path: str, character: str) -> bool:
    font = _font(path)
    return font is not None and font.get_char_index(ord(character)) != 0
