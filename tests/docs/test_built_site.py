"""Tests of the documentation site built by `make docs`: valid links, no missing files, and rendering in a browser."""

import json
import sys
from pathlib import Path

import pytest

import dpmultinomial
from reproduction import paper
from tests.browser import conftest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent)]

import site_pages  # noqa: E402

pytestmark = pytest.mark.site
browser = pytest.mark.skipif(not conftest.there(), reason=conftest.MISSING)


@pytest.fixture(scope="module")
def site():
    built = ROOT / "docs/_build/html"
    assert (built / "index.html").is_file(), "make docs builds it, and runs these tests"
    return built


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


def test_every_public_name_of_the_library_is_in_the_reference_and_nothing_else(site):
    pages = {path.stem.rpartition(".")[2] for path in (site / "api").glob("dpmultinomial*.html")}
    assert pages == set(dpmultinomial.__all__)
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((site / "api").glob("*.html")))
    assert [name for name in dpmultinomial.__all__ if f'id="dpmultinomial.{name}"' not in text] == []
    assert [word for word in ("_Buffer", "_SupportsArray", "_NestedSequence", "dtype[") if word in text] == []
    assert "ArrayLike" in text


@browser
def test_the_pages_render_in_a_browser_and_ask_no_other_machine(site, tmp_path):
    """Return all pages written by hand, and some of the reference, whose pages are generated in the same way."""
    driver = conftest.driver(tmp_path)
    try:
        alike = sorted((site / "api").glob("*.html"))
        for path in [*sorted(site_pages.pages(site).keys() - set(alike)), *alike[::5]]:
            name = str(path.relative_to(site))
            driver.get(path.as_uri())
            assert len(_shown(driver)) > 20, name
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


def _shown(driver):
    """Return the text of the page, after the browser has built it, since a driver can be asked before."""
    from selenium.webdriver.support.ui import WebDriverWait

    text = "const part = document.querySelector('main, .bd-article, body'); return part && part.innerText"
    return WebDriverWait(driver, 60).until(lambda page: page.execute_script(text))


def _asked(driver):
    """Return the addresses that the browser requested since the last call."""
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]
