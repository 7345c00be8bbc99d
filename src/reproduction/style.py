"""The look of every figure: sizes in inches at print width, colour-blind safe colours, byte-stable files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

SINGLE, DOUBLE = 3.4, 7.0  # column widths
# Okabe and Ito's palette: told apart with any colour vision; black first for what is exact.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73"),
    *("#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
)
CYCLE = (BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#BBBBBB"
GRADED = ("#440154", "#414487", "#2A788E", "#22A884", "#54C568", "#9BD93C")  # dark to light, in order without colour

_SETTINGS: dict[Any, Any] = {
    **{"font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7},
    **{"xtick.labelsize": 7, "ytick.labelsize": 7, "lines.linewidth": 1.2, "lines.markersize": 3.5},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6},
    **{"legend.frameon": False, "figure.dpi": 100, "savefig.dpi": 200, "pdf.fonttype": 42},
    **{"axes.prop_cycle": cycler(color=CYCLE), "figure.constrained_layout.use": True},
}


@contextmanager
def applied() -> Iterator[None]:
    """Draw with this style."""
    with mpl.rc_context(_SETTINGS):
        yield


def save(figure: Figure, png: str | Path, pdf: str | Path) -> None:
    """Both formats, without the date, so that equal tables give equal files."""
    figure.savefig(png, metadata={"Software": None})
    figure.set_layout_engine("none")  # the second file keeps the places found for the first
    figure.savefig(pdf, metadata={"CreationDate": None})


def calibration_panel(axis: Axes, rows: pd.DataFrame, colour: str) -> None:
    """Empirical distribution function of PIT values less the uniform one, with its band for all places at once.

    `rows` has columns bin (left ends of [0, 1]'s bins), ecdf_difference (at their right ends) and band.
    """
    band = rows["band"].iloc[0]
    axis.axhspan(-band, band, color=GREY, alpha=0.5, lw=0)
    axis.axhline(0, color=BLACK, lw=0.5)
    ends = np.append(0.0, rows["bin"] + (rows["bin"].iloc[1] - rows["bin"].iloc[0]))
    axis.plot(ends, np.append(0.0, rows["ecdf_difference"]), ".-", ms=3, color=colour)
    axis.set_xlim(0, 1)
    axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])


def letters(axes) -> None:
    """(a), (b), .. at the upper left of each panel."""
    for letter, axis in zip("abcdefghijkl", axes, strict=False):
        axis.annotate(
            f"({letter})", (0, 1), (-2, 3), "axes fraction", textcoords="offset points", ha="right", va="bottom"
        )
