"""Tests of the style of figures: order visible without colour, calibration panels, files that are equal each time."""

import io
import re
import subprocess
import sys
import warnings
import zlib
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from PIL import Image

from reproduction import style


def luminance(colour: str) -> float:
    """Return the relative luminance, Rec. 709, which is a colour converted to grey."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def test_graded_colours_stay_in_order_in_grey():
    greys = [luminance(colour) for colour in style.GRADED]
    assert all(later > 1.15 * earlier for earlier, later in pairwise(greys))
    assert greys[-1] < 0.7  # the lightest still stands off from white paper


def test_a_calibration_panel_shows_the_differences_at_the_bins_ends_and_the_band():
    rows = pd.DataFrame({"bin": [0.0, 0.25, 0.5, 0.75], "ecdf_difference": [0.1, -0.2, 0.05, 0.0], "band": 0.12})
    axis = Figure().subplots()
    style.calibration_panel(axis, rows, style.BLUE)
    curve = max(axis.lines, key=lambda line: len(line.get_xdata()))
    assert curve.get_xdata() == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert curve.get_ydata() == pytest.approx([0, 0.1, -0.2, 0.05, 0])
    assert curve.get_color() == style.BLUE
    (band,) = axis.patches
    assert (band.get_y(), band.get_height()) == pytest.approx((-0.12, 0.24))


def test_the_same_drawing_gives_the_same_files(tmp_path):
    for run in ("one", "two"):
        with style.applied():
            figure = Figure(figsize=(style.SINGLE, 2))
            figure.subplots().plot([0, 1], [1, 0], label=r"$\phi$")
            style.letters(figure.axes)
            style.save(figure, tmp_path / f"{run}.png", tmp_path / f"{run}.pdf")
    for kind in ("png", "pdf"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()


@pytest.mark.parametrize("horizontal", [False, True])
def test_an_interval_runs_from_low_to_high_whatever_its_centre(horizontal):
    """Check a number anywhere, also outside: there is no reflection at it."""
    axis = Figure().subplots()
    style.interval(axis, [1, 2, 3], [0.5, 0.1, 7.0], [0.2, 0.3, np.nan], [0.9, 0.4, np.nan], horizontal=horizontal)
    (bars,), (marks,) = axis.collections, axis.lines
    value, place = (0, 1) if horizontal else (1, 0)
    ends = [(part[:, value].tolist(), part[0, place]) for part in bars.get_segments()]
    assert ends == [([0.2, 0.9], 1), ([0.3, 0.4], 2)]
    assert marks.get_xydata()[:, value] == pytest.approx([0.5, 0.1, 7.0])
    assert bars.get_gid() == marks.get_gid()


def test_an_interval_upside_down_is_refused():
    with pytest.raises(ValueError, match=r"low must be at most high, got 0\.5 to 0\.25 at place 2"):
        style.interval(Figure().subplots(), [1, 2], [0.3, 0.3], [0.2, 0.5], [0.4, 0.25])


def ticks(low, high, **how):
    figure = Figure()
    axis = figure.subplots()
    style.log_scale(axis, "x", **how)
    axis.set_xlim(low, high)
    figure.draw_without_rendering()
    inside = [t for t in axis.get_xticks() if low * 0.999 <= t <= high * 1.001]
    labels = [label.get_text() for label in axis.get_xticklabels()][-len(axis.get_xticks()) :]
    assert not any(label.get_text() for label in axis.get_xticklabels(minor=True))
    return inside, [text for text, t in zip(labels, axis.get_xticks(), strict=True) if t in inside]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.3, 8, "0.5 1 2 5"),  # one decade: 1, 2, 5, never 3x10^-1 beside 4x10^-1
        (30, 1500, "50 100 200 500 1000"),
        (0.002, 4, "0.01 0.1 1"),
        (21, 29, "22 24 26 28"),  # less than three of 1, 2, 5
        (1e-5, 1, "$10^{-5}$ $10^{-4}$ $10^{-3}$ $10^{-2}$ $10^{-1}$ $10^{0}$"),
        (1e-20, 1, "$10^{-20}$ $10^{-16}$ $10^{-12}$ $10^{-8}$ $10^{-4}$ $10^{0}$"),
    ],
)
def test_a_logarithmic_axis_has_plain_numbers(low, high, expected):
    assert ticks(low, high)[1] == expected.split()


def test_a_grid_has_its_ticks_at_its_values():
    assert ticks(0.09, 0.6, at=[0.5, 0.1, 0.25, 0.1]) == ([0.1, 0.25, 0.5], ["0.1", "0.25", "0.5"])


def test_a_name_that_no_font_can_draw_is_a_word_and_the_reader_is_told():
    lost = chr(0x10FFFD)  # for private use: in no font
    assert style.unwritable(f"a{lost}")
    assert style.names(["Île-de-France", lost], "category") == (
        ["Île-de-France", "category 2"],
        "No font of this machine can draw one name; numbers in the order of the table are shown instead.",
    )
    assert style.names(["nord est", "ß"], "category") == (["nord est", "ß"], "")


def written(text):
    figure = Figure()
    figure.text(0.5, 0.5, text)
    figure.savefig(io.BytesIO(), format="png")


def test_a_script_is_drawn_by_the_font_that_has_it():
    """Check a character that is missing in DejaVu but is in another font of matplotlib."""
    other = FT2Font(font_manager.findfont("STIXGeneral"))
    first = FT2Font(font_manager.findfont(style.FIRST))
    code = next(c for c in sorted(other.get_charmap()) if chr(c).isprintable() and not first.get_char_index(c))
    found = style.families(["abc", chr(code)])
    assert found[0] == style.FIRST
    assert len(found) == 2
    with style.applied([chr(code)]), warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a glyph that is missing
        written(chr(code))
    with pytest.warns(UserWarning, match="missing from"), style.applied():
        written(chr(code))


def hard() -> Figure:
    """Draw panels with unequal labels, shared and logarithmic axes, inline labels, a colour bar, a legend, formulas."""
    figure = Figure(figsize=(style.DOUBLE, 3))
    axes = figure.subplots(2, 3, sharey="row")
    for n, axis in enumerate(axes.flat):
        axis.plot([0, 1, 10], np.array([1.0, 300.0, 2e5]) * 7.0**n, "o-", label=rf"$\epsilon_{n}^2 \geq \sqrt{{{n}}}$")
        axis.set(xlabel="x " * (n + 1), ylabel="long label", title=f"Panel {n}: œuvre")
    style.log_scale(axes[0, 0], "y")
    style.log_scale(axes[1, 0], "xy", at=[1, 10, 100])
    axes[0, 2].legend()
    axes[1, 2].tick_params(axis="x", labelrotation=60)
    axes[1, 1].minorticks_on()
    figure.colorbar(axes[1, 2].scatter([1, 2, 3], [1, 2, 3], c=[1e-4, 2, 3e6]), ax=axes[1, 2])
    figure.align_labels()
    style.letters(figure.axes)
    return figure


def saved_usually(figure: Figure, png, pdf) -> None:
    figure.savefig(png, metadata={"Software": None})
    figure.set_layout_engine("none")
    figure.savefig(pdf, metadata={"CreationDate": None})


def streams(pdf) -> list[bytes]:
    """Return the contents of a PDF with everything decompressed."""
    found = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf.read_bytes(), re.DOTALL)
    return [zlib.decompress(part) for part in found]


def drawn(pdf) -> bytes:
    """Return what the page draws: lines, and texts by the number of their characters."""
    return max((part for part in streams(pdf) if b" Tf" in part), key=len)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Compare the same figure saved by `Figure.savefig` and by `style.save`, which draws each format once."""
    folder = tmp_path_factory.mktemp("saved")
    for name, save in (("usual", saved_usually), ("once", style.save)):
        with style.applied():
            save(hard(), folder / f"{name}.png", folder / f"{name}.pdf")
    return folder


@pytest.mark.thorough
def test_pictures_are_those_of_matplotlib(both):
    usual, once = (np.asarray(Image.open(both / f"{name}.png")) for name in ("usual", "once"))
    assert usual.std() > 10
    np.testing.assert_array_equal(once, usual)
    assert (both / "once.png").read_bytes() == (both / "usual.png").read_bytes()


@pytest.mark.thorough
def test_pages_are_those_of_matplotlib(both):
    assert drawn(both / "once.pdf").count(b" Tf") > 50
    assert drawn(both / "once.pdf") == drawn(both / "usual.pdf")


_PROGRAM = """
import os, sys
from matplotlib.figure import Figure
from reproduction import style

def save(name, text):
    with style.applied():
        figure = Figure(figsize=(2, 2))
        figure.subplots().set(title=text, xlabel="x")
        style.save(figure, f"{sys.argv[1]}/{name}.png", f"{sys.argv[1]}/{name}.pdf")

save("first", "plain")
save("again", "plain")
save("later", "œuvre")
child = os.fork()
if child == 0:
    save("forked", "œuvre")
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.thorough
def test_a_figures_files_do_not_depend_on_what_was_saved_before(tmp_path):
    """Check figures saved as the first of a process, as a later one, and in a fork."""
    subprocess.run([sys.executable, "-c", _PROGRAM, str(tmp_path)], check=True)
    with style.applied():
        figure = Figure(figsize=(2, 2))
        figure.subplots().set(title="œuvre", xlabel="x")
        style.save(figure, tmp_path / "alone.png", tmp_path / "alone.pdf")
    content = {
        name: [(tmp_path / f"{name}.{kind}").read_bytes() for kind in ("png", "pdf")]
        for name in ("first", "again", "later", "forked", "alone")
    }
    assert content["first"] == content["again"]
    assert content["later"] == content["forked"] == content["alone"] != content["first"]
