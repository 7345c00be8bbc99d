"""Figures saved quickly: the pictures that `Figure.savefig` makes, in files that depend on the figure alone."""

import re
import subprocess
import sys
import zlib
from io import BytesIO

import numpy as np
import pytest
from fontTools import ttLib
from matplotlib import font_manager
from matplotlib.axis import Axis
from matplotlib.backends import _backend_pdf_ps as pdf_fonts
from matplotlib.figure import Figure
from PIL import Image

from reproduction import saving, style


def hard() -> Figure:
    """Panels of unequal labels, shared and logarithmic axes, labels in line, a colour bar, a legend, formulas."""
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
    """Everything compressed in a PDF, laid open."""
    found = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf.read_bytes(), re.DOTALL)
    return [zlib.decompress(part) for part in found]


def drawn(pdf) -> bytes:
    """What the page draws: lines, and texts by numbers of characters."""
    return max((part for part in streams(pdf) if b" Tf" in part), key=len)


def embedded(pdf) -> list[ttLib.TTFont]:
    return [ttLib.TTFont(BytesIO(part)) for part in streams(pdf) if part[:4] == b"\0\1\0\0"]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same figure saved by matplotlib and by this module."""
    folder = tmp_path_factory.mktemp("saved")
    for name, save in (("usual", saved_usually), ("quick", style.save)):
        with style.applied():
            save(hard(), folder / f"{name}.png", folder / f"{name}.pdf")
    return folder


def test_pictures_are_those_of_matplotlib(both):
    usual, quick = (np.asarray(Image.open(both / f"{name}.png")) for name in ("usual", "quick"))
    assert usual.std() > 10
    np.testing.assert_array_equal(quick, usual)
    assert (both / "quick.png").read_bytes() == (both / "usual.png").read_bytes()


def test_pages_are_those_of_matplotlib(both):
    assert drawn(both / "quick.pdf").count(b" Tf") > 50
    assert drawn(both / "quick.pdf") == drawn(both / "usual.pdf")


def outline(font: ttLib.TTFont, glyph: str) -> tuple[object, ...]:
    points, ends, flags = font["glyf"][glyph].getCoordinates(font["glyf"])
    return [*points], [*ends], [*flags], font["hmtx"][glyph]


def test_embedded_outlines_and_widths_are_the_fonts_own(both):
    """Upright and slanted letters, root and relation: every glyph that is embedded, by its name."""
    names = {"DejaVuSans": "DejaVu Sans", "DejaVuSans-Oblique": "DejaVu Sans:italic"}
    found = {font["name"].getDebugName(6): font for font in embedded(both / "quick.pdf")}
    assert names.keys() <= found.keys()
    for name, family in names.items():
        whole = ttLib.TTFont(font_manager.findfont(family))
        glyphs = {*found[name].getGlyphOrder()} - {".notdef"}  # the box for none has no outline
        assert {"e", "x", "five", "minus", "epsilon"} <= glyphs
        for glyph in glyphs:
            assert outline(found[name], glyph) == outline(whole, glyph), glyph


def test_a_character_beyond_the_base_is_embedded_beside_it(both):
    """The base is ASCII, Greek and signs; œ is in one title."""
    assert ord("œ") not in saving.BASE
    upright = [font for font in embedded(both / "quick.pdf") if font["name"].getDebugName(6) == "DejaVuSans"]
    held = [{"oe", "A", "z", "emdash"} & set(font.getGlyphOrder()) for font in upright]
    assert sorted(held, key=len) == [{"A", "z"}, {"oe", "A", "z"}]  # a font of its own for characters above 255


def test_fonts_are_embedded_without_what_no_viewer_reads(both):
    for font in embedded(both / "quick.pdf"):
        assert not {"GSUB", "GPOS", "GDEF", "kern", "fpgm", "prep"} & {*font.keys()}


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


def test_a_figures_files_do_not_depend_on_what_was_saved_before(tmp_path):
    """Saved as the first of a process, as a later one and in a fork."""
    subprocess.run([sys.executable, "-c", _PROGRAM, str(tmp_path)], check=True)
    with style.applied():
        figure = Figure(figsize=(2, 2))
        figure.subplots().set(title="œuvre", xlabel="x")
        saving._made.cache_clear()
        style.save(figure, tmp_path / "alone.png", tmp_path / "alone.pdf")
    content = {
        name: [(tmp_path / f"{name}.{kind}").read_bytes() for kind in ("png", "pdf")]
        for name in ("first", "again", "later", "forked", "alone")
    }
    assert content["first"] == content["again"]
    assert content["later"] == content["forked"] == content["alone"] != content["first"]


def test_most_figures_share_one_subset(tmp_path):
    saving._made.cache_clear()
    for text in ("one", "two: x = −3.5", "three"):
        with style.applied():
            figure = Figure(figsize=(2, 2))
            figure.subplots().set_title(text)
            style.save(figure, tmp_path / "a.png", tmp_path / "a.pdf")
    assert saving._made.cache_info().misses == 1


def test_matplotlib_is_as_it_was_afterwards():
    parts = pdf_fonts.get_glyphs_subset, Axis._update_ticks, Axis._get_ticklabel_bboxes
    with saving.quick():
        assert pdf_fonts.get_glyphs_subset is saving._subset
    with pytest.raises(OSError, match="nowhere"), style.applied():
        style.save(Figure(), "nowhere/a.png", "nowhere/a.pdf")
    assert parts == (pdf_fonts.get_glyphs_subset, Axis._update_ticks, Axis._get_ticklabel_bboxes)


def test_ticks_are_worked_out_anew_where_view_place_or_resolution_changed():
    figure = Figure(figsize=(3, 2))
    axis = figure.subplots()
    calls = []
    ticks = saving._Ticks(lambda one: calls.append("ticks") or [1], lambda *_: calls.append("boxes") or ([2], [3]))
    ask = ticks.updater()
    changes = (
        lambda: None,
        lambda: axis.set_xlim(0, 5),
        lambda: axis.set_position((0.1, 0.1, 0.5, 0.5)),
        lambda: axis.set_position((0.1, 0.1, 0.5, 0.6)),
        lambda: figure.set_dpi(77),
    )
    for number, change in enumerate(changes, start=1):
        change()
        assert ask(axis.xaxis) == ask(axis.xaxis) == [1]
        assert calls.count("ticks") == number
    box, one, other = ticks.boxer(), [object()], [object()]
    for number, (given, renderer) in enumerate([(one, 1), (other, 1), (other, 2)], start=1):
        assert box(axis.xaxis, given, renderer) == box(axis.xaxis, given, renderer) == ([2], [3])
        assert calls.count("boxes") == number
    box(axis.xaxis, other, 2)[0].append(9)
    assert box(axis.xaxis, other, 2) == ([2], [3])
