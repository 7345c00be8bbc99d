"""The documentation site: it builds offline without a warning, its links hold, and it opens in a browser."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from docutils import nodes
from PIL import Image

import dpmultinomial
from reproduction import jobs, paper, schema

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs/_ext"), str(Path(__file__).parent)]

import docstrings  # noqa: E402
import gallery  # noqa: E402
import mathml  # noqa: E402
import papers  # noqa: E402
import site_pages  # noqa: E402

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
browser = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="Chromium and its driver are not installed"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` builds it, without a network."""
    made = tmp_path_factory.mktemp("site")
    places = ["-d", str(made / "doctrees"), str(ROOT / "docs"), str(made / "html")]
    build = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", *places],
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    return made / "html"


def test_the_checkers_find_what_is_wrong(tmp_path):
    """A page with one mistake of each kind beside what is allowed: every mistake is named, nothing else."""
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
    formula = mathml.mathml(nodes.math_block("", r"\frac{a}{b}"), block=True)
    assert formula.startswith("<math")
    assert 'display="block"' in formula
    assert "<mfrac>" in formula
    assert "<code>" in mathml.mathml(nodes.math("", r"\nosuchcommand{a}"), block=False)  # and a warning, so no site
    assert 'display="block"' not in mathml.mathml(nodes.math("", "a"), block=False)


def test_thumbnails_are_small(tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "_WIDTHS", (500, 400))
    noise = np.random.default_rng(1).integers(0, 255, (400, 600, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    with pytest.raises(ValueError, match="no thumbnail of at most 20000 bytes"):
        gallery.thumbnail(tmp_path / "noise.png", tmp_path / "small.png")
    made = sorted((ROOT / "docs/gallery").glob("*.png"))
    assert 1 <= len(made) <= 12
    assert all(path.stat().st_size <= gallery.LARGEST for path in made)
    width = gallery.thumbnail(made[0], tmp_path / "small.png")
    with Image.open(tmp_path / "small.png") as image:
        assert image.width == width


def test_every_thumbnail_is_a_figure_of_a_paper():
    figures = {f"{slug}.{a.name}" for slug, p in paper.discover().items() for a in p.artefacts if a.figure}
    assert {path.stem for path in (ROOT / "docs/gallery").glob("*.png")} <= figures


def test_no_link_within_the_site_is_broken(site):
    assert list(site_pages.broken(site)) == []


def test_no_page_loads_anything_from_another_machine(site):
    assert list(site_pages.remote(site)) == []


def test_every_paper_has_its_page_with_all_its_artefacts(site):
    for slug, found in paper.discover().items():
        text = (site / f"papers/{slug}.html").read_text(encoding="utf-8")
        for file in found.tables() + found.figures():
            assert file in text, file
        for part in ("artefacts", "settings", "printed", "errata"):
            assert f'id="{slug}-{part}"' in text, (slug, part)


def public_names():
    """Full names of the library's public functions and classes, as its modules define them."""
    from importlib import import_module
    from pkgutil import walk_packages

    for module in walk_packages(dpmultinomial.__path__, "dpmultinomial."):
        hidden = any(part.startswith("_") for part in module.name.split("."))
        if hidden or ".reference" in module.name or module.ispkg:
            continue
        loaded = import_module(module.name)
        for name, value in vars(loaded).items():
            defined = callable(value) and getattr(value, "__module__", "") == module.name and value.__doc__
            if defined and name in getattr(loaded, "__all__", [name]) and not name.startswith("_"):
                yield f"{module.name}.{name}"


def test_every_public_name_of_the_library_is_in_the_reference(site):
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((site / "api").glob("*.html")))
    names = list(public_names())
    assert len(names) > 100
    assert [name for name in names if f'id="{name}"' not in text] == []


@browser
def test_the_pages_render_in_a_browser_and_ask_no_other_machine(site, tmp_path):
    """All that are written by hand, and some of the reference, whose pages are made alike."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS, f"--user-data-dir={tmp_path}", "--window-size=1200,900"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        alike = sorted((site / "api").glob("*.html"))
        for path in [*(site_pages.pages(site).keys() - set(alike)), *alike[::20]]:
            name = str(path.relative_to(site))
            driver.get(path.as_uri())
            shown = driver.execute_script("return document.querySelector('main, .bd-article, body').innerText")
            assert len(shown) > 20, name
            unloaded = "return [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
            assert driver.execute_script(unloaded) == [], name
            severe = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
            assert severe == [], name
            assert [address for address in _asked(driver) if address.startswith(("http", "ws", "ftp"))] == [], name
        formula = "return document.querySelector('math').getBoundingClientRect().width"
        driver.get((site / "papers/balmat2018.html").as_uri())
        assert driver.execute_script(formula) > 20
        driver.set_window_size(500, 800)  # the narrowest window of headless Chromium
        for name in ("index", "start", "papers/balmat2018", "how-to/scenario"):
            driver.get((site / f"{name}.html").as_uri())
            wider = driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
            assert wider <= 0, f"{name} is {wider} pixels wider than the window"
    finally:
        driver.quit()


def _asked(driver):
    """Addresses that the browser asked for since the last look."""
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


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
    assert papers.described({"$ref": "#/$defs/size"}, known) == "whole number ≥ 1"
    assert papers.described(several, known) == "list of at least 2: whole number ≥ 1"
    assert papers.described({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, known) == "number > 0, ≤ 1"
    assert papers.described({"enum": ["2", "3"]}, known) == "one of 2, 3"
    either = {"type": ["number", "array"], "exclusiveMinimum": 0, "minItems": 4, "maxItems": 4, "items": known["size"]}
    assert papers.described(either, known) == "number > 0 or list of 4: whole number ≥ 1"


def test_a_paper_without_texts_of_its_own_shows_its_list_of_errata(tmp_path):
    """Every part of a page comes from the folder: a folder with half of them has half a page and no mistake."""
    slug, found = next(iter(paper.discover().items()))
    copied = shutil.copytree(found.folder, tmp_path / slug)
    (copied / "errata.md").unlink()
    (copied / "methods.md").unlink()
    settings = schema.of({slug: found})
    text = papers.page(paper.read(copied), settings, tmp_path)
    assert f"`python -m reproduction.evidence {slug} N` runs number N." in text
    assert "## Methods" not in text
    assert "```{figure}" not in text
    assert "| 12 | " in text
    whole = papers.page(found, settings, tmp_path)
    assert "## Methods" in whole
    assert "| N | erratum | what follows |" in whole
    assert "what follows" not in text


def test_a_page_names_every_rule_setting_and_printed_number(tmp_path):
    for slug, found in paper.discover().items():
        settings = schema.of({slug: found})
        text = papers.page(found, settings, tmp_path)
        rules = jobs.rules(found)
        for a in found.artefacts:
            assert not a.table or f"`results/{slug}/{a.name}.csv`<br>`{rules[a.name, 'table']}`" in text
            assert not a.figure or f"`figures/{slug}/{a.name}.png`<br>`{rules[a.name, 'figure']}`" in text
        sections = settings["properties"][slug]["properties"]
        users = [sections[name]["additionalProperties"] for name in ("scenarios", "batches") if name in sections]
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        needed = [line.split("`")[1] for line in rows if "| required |" in line]
        assert [name for name in needed if "." not in name] == [
            key for each in users for key in each["properties"] if key in each.get("required", [])
        ]
        named = {line.split("`")[1] for line in rows}
        assert named >= {f"{name}.{key}" for name, part in sections.items() for key in part.get("properties", {})}
        printed = text.partition("## Printed statements")[2].partition("````{dropdown}")[2].partition("````")[0]
        assert printed.count("\n| ") == len((found.folder / "published.tsv").read_text().splitlines()) + 1


def test_a_page_is_plain_text_where_the_folder_is(tmp_path):
    assert papers.plain("a*b|c_d <x>") == r"a\*b\|c\_d \<x\>"
