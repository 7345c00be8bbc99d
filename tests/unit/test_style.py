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
from matplotlib.layout_engine import ConstrainedLayoutEngine
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
    with pytest.raises(ValueError, match=r"low must be <= high, got 0\.5 to 0\.25 at place 2"):
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


def upright_ticks(low, high):
    axis = Figure().subplots()
    style.log_scale(axis, "y")
    axis.set_ylim(low, high)
    return [float(f"{t:.9g}") for t in axis.get_yticks() if low * 0.999 <= t <= high * 1.001]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.3, 8, [0.5, 1, 2, 5]),  # 0.5 is within 1.7 times the lower end, 0.51
        (0.29, 8, [0.3, 1, 3]),  # 0.5 is above 0.493, and 1, 2, 3, 5, 7 would give eight ticks
        (1.5, 8, [2, 3, 5, 7]),  # two ticks at 1, 2, 5 are too few
        (1, 10, [1, 2, 5, 10]),
        (1, 100, [1, 3, 10, 30, 100]),  # seven ticks at 1, 2, 5 are too many
        (0.9, 60, [1, 2, 5, 10, 20, 50]),  # six ticks
        (1, 1e7, [1, 100, 1e4, 1e6]),  # eight powers of ten: every second one
        (1, 1e5, [1, 10, 100, 1e3, 1e4, 1e5]),
    ],
)
def test_a_vertical_logarithmic_axis_has_three_to_six_ticks(low, high, expected):
    assert upright_ticks(low, high) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 50, "1 2 5 10 20 50"),  # 1.699 decades
        (1, 50.2, "1 10"),  # 1.701 decades
        (0.00099, 0.01, "0.001 0.002 0.005 0.01"),
        (0.00098, 0.012, "$10^{-3}$ 2.0e-03 5.0e-03 $10^{-2}$"),
        (1e3, 2e4, "1000 2000 5000 10000 20000"),
        (1e3, 2.01e4, "$10^{3}$ 2.0e+03 5.0e+03 $10^{4}$ 2.0e+04"),
    ],
)
def test_limits_of_plain_numbers_and_of_powers_of_ten(low, high, expected):
    assert ticks(low, high)[1] == expected.split()


def test_both_axes_can_be_logarithmic():
    axis = Figure().subplots()
    style.log_scale(axis, "xy", at=[1, 10])
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert axis.get_xticks().tolist() == axis.get_yticks().tolist() == [1, 10]
    assert len(axis.xaxis.get_minorticklocs()) == 0
    other = Figure().subplots()
    style.log_scale(other)
    assert (other.get_xscale(), other.get_yscale()) == ("linear", "log")


def test_panels_have_letters_at_the_upper_left():
    axes = Figure().subplots(1, 3)
    style.letters(axes)
    for letter, axis in zip("abc", axes, strict=True):
        (text,) = axis.texts
        assert (text.get_text(), text.xy, text.xyann) == (f"({letter})", (0, 1), (-2, 3))


def test_sizes_are_those_of_the_printed_page():
    """Check that text has 7 or 8 points at print width, that pixels are those of 200 dpi, and that the text of a PDF
    file remains text (font type 42, TrueType).
    """
    assert (style.SINGLE, style.DOUBLE) == (3.4, 7.0)
    with style.applied(["a"]):
        sizes = {key: style.mpl.rcParams[key] for key in style._SETTINGS if key.endswith("size")}
        assert set(sizes) == {
            *("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize", "xtick.labelsize"),
            *("ytick.labelsize", "lines.markersize"),
        }
        assert {key: size for key, size in sizes.items() if size == 8} == dict.fromkeys(
            ("font.size", "axes.titlesize", "axes.labelsize"), 8
        )
        assert {size for size in sizes.values() if size != 8} == {7, 3.5}
        found = {key: style.mpl.rcParams[key] for key in ("figure.dpi", "savefig.dpi", "pdf.fonttype")}
        assert found == {"figure.dpi": 100, "savefig.dpi": 200, "pdf.fonttype": 42}
        assert (style.mpl.rcParams["lines.linewidth"], style.mpl.rcParams["axes.linewidth"]) == (1.2, 0.6)
        axis = Figure().subplots()
        assert [axis.spines[side].get_visible() for side in ("top", "right", "left", "bottom")] == [False] * 2 + [
            True
        ] * 2
        assert axis.legend([axis.plot([0], [0])[0]], ["x"]).get_frame_on() is False
        assert isinstance(Figure().get_layout_engine(), ConstrainedLayoutEngine)
    assert style.mpl.rcParams["font.size"] != 8


def test_saved_pictures_have_200_pixels_per_inch(tmp_path):
    with style.applied():
        figure = Figure(figsize=(2, 1))
        style.save(figure, tmp_path / "a.png", tmp_path / "a.pdf")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == (400, 200)
    assert b"CreationDate" not in (tmp_path / "a.pdf").read_bytes()


def test_a_calibration_panel_ends_at_zero_and_one():
    rows = pd.DataFrame({"bin": [0.0, 0.5], "ecdf_difference": [0.1, 0.0], "band": [0.12, 0.3]})
    axis = Figure().subplots()
    style.calibration_panel(axis, rows, style.RED)
    assert axis.get_xlim() == (0, 1)
    assert axis.get_xticks().tolist() == [0, 0.5, 1]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0", "0.5", "1"]
    assert any(line.get_ydata()[0] == 0 and len(line.get_xdata()) == 2 for line in axis.lines)


def test_intervals_are_numbered_and_may_have_length_zero():
    axis = Figure().subplots()
    style.interval(axis, 1, 0.5, 0.5, 0.5)
    style.interval(axis, [2], [0.5], [0.1], [0.7], color=style.RED, marker="s", lw=3)
    assert [line.get_gid() for line in axis.lines] == ["interval-0", "interval-1"]
    assert [line.get_marker() for line in axis.lines] == ["o", "s"]
    assert [line.get_color() for line in axis.lines] == [style.BLUE, style.RED]
    assert [c.get_linewidth()[0] for c in axis.collections] == [0.8, 3]
    half = Figure().subplots()
    style.interval(half, [1, 2], [0.5, 0.5], [0.1, -np.inf], [np.inf, 0.7])
    assert len(half.collections[0].get_segments()) == 0


def test_names_that_cannot_be_drawn_are_numbered_by_place():
    lost = chr(0x10FFFD)
    assert style.names([lost, "a", lost], "state") == (
        ["state 1", "a", "state 3"],
        "No font of this machine can draw some names; numbers in the order of the table are shown instead.",
    )
    assert style.names([], "state") == ([], "")
    assert not style.unwritable("a\u200d \n")  # joiners and blanks have no shape
    assert style.families(["\u200d"]) == [style.FIRST]
    assert style._font("/no/such/file.ttf") is None
    assert not style._has("/no/such/file.ttf", "a")


def test_the_first_font_comes_before_the_others_by_name():
    known = list(style._known())
    assert known[0] == style.FIRST
    assert known[1:] == sorted(set(known[1:]) - {style.FIRST}, key=known.index)
    others = [name for name in known[1:] if name != style.FIRST]
    assert others == sorted(others)
    assert not any(name.startswith(("Last Resort", "cm")) for name in known)
