"""Tests of the programs that build and check the documentation site; `make docs` checks the site itself."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from docutils import nodes
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from sphinx.util.typing import stringify_annotation

from reproduction import paper, studies
from reproduction.archive import claims
from reproduction.config import checks
from reproduction.jobs import artefacts

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs/_ext"), str(Path(__file__).parent)]

import docstrings  # noqa: E402
import gallery  # noqa: E402
import papers  # noqa: E402
import site_pages  # noqa: E402


def test_the_checkers_find_what_is_wrong(tmp_path):
    """Check a page with one mistake of each kind next to valid text: every mistake is reported and nothing else."""
    (tmp_path / "other.html").write_text('<h1 id="top">x</h1>')
    (tmp_path / "good.css").write_text(
        "a { background: url(picture.png) } b { background: url(data:image/png;base64,A) }"
    )
    (tmp_path / "bad.css").write_text(
        "@import 'https://fonts.example/a.css'; a { background: url(//cdn.example/b.png) }"
    )
    allowed = '<a href="other.html#top">x</a><a href="#here" id="here">x</a><a href="https://example.org">x</a>'
    wrong = '<a href="gone.html">x</a><a href="other.html#gone">x</a><a href="#gone">x</a><img src="gone.png">'
    far = '<script src="https://cdn.example/x.js"></script><link rel="stylesheet" href="//cdn.example/y.css">'
    (tmp_path / "page.html").write_text(f"{allowed}{wrong}{far}<link rel='canonical' href='https://example.org'>")
    named = [
        "gone.html: no such file",
        "other.html#gone: no such place",
        "#gone: no such place",
        "gone.png: no such file",
    ]
    found = list(site_pages.broken(tmp_path))
    assert len(found) == len(named)
    assert all(any(line.startswith(f"page.html: {text}") for line in found) for text in named)
    loaded = {line.partition(": ")[2] for line in site_pages.remote(tmp_path)}
    assert loaded == {
        *("https://cdn.example/x.js", "//cdn.example/y.css"),
        *("https://fonts.example/a.css", "//cdn.example/b.png"),
    }


def test_a_formula_is_mathml():
    formula = docstrings.mathml(nodes.math_block("", r"\frac{a}{b}"), block=True)
    assert formula.startswith("<math")
    assert 'display="block"' in formula
    assert "<mfrac>" in formula
    assert "<code>" in docstrings.mathml(nodes.math("", r"\nosuchcommand{a}"), block=False)  # and a warning, so no site
    assert 'display="block"' not in docstrings.mathml(nodes.math("", "a"), block=False)


@pytest.mark.thorough
def test_thumbnails_are_small(tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "_WIDTHS", (500, 400))
    noise = np.random.default_rng(1).integers(0, 255, (400, 600, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    with pytest.raises(ValueError, match="no thumbnail of at most 20000 bytes"):
        gallery.thumbnail(tmp_path / "noise.png", tmp_path / "small.png")
    made = sorted((ROOT / "docs/gallery").glob("*.*.png"))
    assert 1 <= len(made) <= 14
    assert all(path.stat().st_size <= gallery.LARGEST for path in made)
    width = gallery.thumbnail(made[0], tmp_path / "small.png")
    with Image.open(tmp_path / "small.png") as image:
        assert image.width == width


def test_a_thumbnail_keeps_the_colours_of_thin_lines(tmp_path):
    """Check lines of three colours on a white figure with a shaded area, which takes most of the palette."""
    colours = [(0, 114, 178), (0, 158, 115), (213, 94, 0)]
    figure = np.full((1060, 1400, 3), 255, dtype=np.uint8)
    figure[:, 700:] = np.linspace(0, 255, 700).astype(np.uint8)[:, None]
    for i, colour in enumerate(colours):
        figure[300 + 40 * i : 306 + 40 * i, :700] = colour
    Image.fromarray(figure).save(tmp_path / "figure.png")
    gallery.thumbnail(tmp_path / "figure.png", tmp_path / "small.png")
    with Image.open(tmp_path / "small.png") as opened:
        found = np.array([colour for _, colour in opened.convert("RGB").getcolors()], dtype=int)
    for colour in colours:
        assert np.abs(found - colour).max(axis=1).min() <= 24  # the three colours differ by at least 44


def test_every_thumbnail_is_a_figure_of_a_paper_or_study():
    figures = {f"{slug}.{a.name}" for slug, p in paper.discover().items() for a in p.artefacts if a.figure}
    figures |= {f"studies.{name}" for name in studies.discover()}
    assert {path.stem for path in (ROOT / "docs/gallery").glob("*.*.png")} <= figures


SECTION = """A law: `x` is text.

Parameters
----------
x, y : float64 (n,), finite, of which the first is the left end of the interval and the second
    is the right one.
size : int
    Independent draws.

Returns
-------
float64 (n,). In the order of x, as it came.

Raises
------
ValueError
    Never : it is no entry."""
SHOWN = """A law: `x` is text.

Parameters
----------
x, y
    float64 (n,), finite, of which the first is the left end of the interval and the second is the right one.
size : int
    Independent draws.

Returns
-------
float64 (n,)
    In the order of x, as it came.

Raises
------
ValueError
    Never : it is no entry."""


def test_an_entry_is_shown_as_a_name_and_its_text():
    """Check that in Returns a type replaces the name, and that existing text below it is unchanged."""
    assert docstrings.sections(SECTION.splitlines()) == SHOWN.splitlines()
    assert docstrings.sections(SHOWN.splitlines()) == SHOWN.splitlines()
    assert docstrings.sections(["One line."]) == ["One line."]
    yields = [text.replace("Returns\n-------", "Yields\n------").splitlines() for text in (SECTION, SHOWN)]
    assert docstrings.sections(yields[0]) == yields[1]


@pytest.mark.parametrize("mode", ["smart", "fully-qualified", "fully-qualified-except-typing"])
def test_types_of_arrays_have_their_names_in_signatures(mode):
    likes, array = stringify_annotation(ArrayLike, mode), stringify_annotation(NDArray[np.float64] | None, mode)
    assert "_SupportsArray" in likes
    assert docstrings.short(f"(x: {likes} | None = None, *, size: int)") == "(x: ArrayLike | None = None, *, size: int)"
    assert docstrings.short(array) == "NDArray[float64] | None"
    assert docstrings.short("(size: int) -> float") == "(size: int) -> float"


def test_the_page_of_claims_has_a_row_for_each_and_nothing_that_markdown_would_take():
    text = papers.printed()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`snakemake" in line]
    every = claims.every()
    assert len(rows) == len(every)
    for row, claim in zip(rows, every, strict=True):
        assert f"`{claim.command}` | `{claim.file}` |" in row
        assert row.count(" | ") == 4


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("density exp(-|x|/b)", r"density exp(-\|x\|/b)"),
        ("names n_ and x_i, ``|x|`` and `y_`_ stay", r"names n\_ and x_i, ``|x|`` and `y_`_ stay"),
        (".. note:: |x|", ".. note:: |x|"),
    ],
)
def test_bars_and_trailing_underscores_are_plain_text(line, expected):
    assert docstrings.plain(line) == expected


def test_a_setting_is_described_in_words():
    known = {"size": {"type": "integer", "minimum": 1}}
    several = {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/size"}}
    assert papers.described({"$ref": "#/$defs/size"}, known) == "integer ≥ 1"
    assert papers.described(several, known) == "list of at least 2: integer ≥ 1"
    assert papers.described({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, known) == "number > 0, ≤ 1"
    assert papers.described({"enum": ["2", "3"]}, known) == "one of 2, 3"
    either = {"type": ["number", "array"], "exclusiveMinimum": 0, "minItems": 4, "maxItems": 4, "items": known["size"]}
    assert papers.described(either, known) == "number > 0 or list of 4: integer ≥ 1"


def test_a_paper_without_texts_of_its_own_shows_its_list_of_errata(tmp_path):
    """Check that every part of a page comes from the folder: a folder with half of the files has half a page."""
    slug, found = next(iter(paper.discover().items()))
    copied = shutil.copytree(found.folder, tmp_path / slug)
    (copied / "errata.md").unlink()
    (copied / "methods.md").unlink()
    settings = checks.schema_of({slug: found})
    text = papers.page(paper.read(copied), settings, tmp_path)
    assert f"`python -m reproduction.evidence {slug} N` runs the evidence for erratum N." in text
    assert "## Methods" not in text
    assert "```{figure}" not in text
    assert "| 12 | " in text
    whole = papers.page(found, settings, tmp_path)
    assert "## Methods" in whole
    assert "| N | erratum | consequence |" in whole
    assert "consequence" not in text


def test_a_page_names_every_rule_setting_and_printed_number(tmp_path):
    for slug, found in paper.discover().items():
        settings = checks.schema_of({slug: found})
        text = papers.page(found, settings, tmp_path)
        for a in found.artefacts:
            assert not a.table or f"`results/{slug}/{a.name}.csv`<br>`{artefacts.table_rule(found, a)}`" in text
            assert not a.figure or f"`figures/{slug}/{a.name}.png`<br>`{artefacts.figure_rule(found, a)}`" in text
        sections = settings["properties"][slug]["properties"]
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        named = {line.split("`")[1] for line in rows}
        assert named >= {f"{name}.{key}" for name, part in sections.items() for key in part.get("properties", {})}
        printed = text.partition("## Printed statements")[2].partition("````{dropdown}")[2].partition("````")[0]
        assert printed.count("\n| ") == len((found.folder / "published.tsv").read_text().splitlines()) + 1


def test_a_page_is_plain_text_where_the_folder_is(tmp_path):
    assert papers.plain("a*b|c_d <x>") == r"a\*b\|c\_d \<x\>"
