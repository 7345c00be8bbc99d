"""Tests of the page of a scenario in a browser: one file, narrow screens, printing, and accessibility."""

import base64
from pathlib import Path

import pytest

from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making, page

pytestmark = pytest.mark.site

AXE = "return axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)"
NAMES = ["met with spaces", "Île-de-France", "東京都", "القاهرة", "a" * 60, "</script><script>alert(1)</script>"]
CASES = {
    "names": {"counts": {name: 10.5 + i for i, name in enumerate(NAMES)}, "total": 80, "among": NAMES[2:4]},
    "two": {"counts": {"a": 5, "b": 9}, "total": 14},
    "many": {"counts": {f"c{i}": 5.5 + i % 7 for i in range(200)}, "total": 1700},
    "grid": {"counts": {"a": 5, "b": 9}, "total": [14, 20]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("pages")
    for name, settings in CASES.items():
        scenario = scenario_settings.single(name, {"kind": "noisy_counts", "epsilon": 1.0, **settings}, kind.discover())
        files = making.files(name, root)
        making.part(scenario, files, root_seed=1)
        page.write(files, root / f"{name}.html")
    return root


@pytest.mark.parametrize("width", [1300, 375])
@pytest.mark.parametrize("name", CASES)
def test_a_page_fits_its_window_and_asks_nobody(browser, folder, name, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for log in ("browser", "performance"):
            browser.get_log(log)
        browser.get(f"{folder.as_uri()}/{name}.html")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script("return document.scripts.length") == 0
        assert [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
        lead = browser.execute_script("return document.querySelector('.lead').getBoundingClientRect().bottom")
        assert lead < 900  # the answer is read without scrolling
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("name", ["names", "grid"])
def test_axe_finds_nothing(browser, folder, name):
    axe = Path(pytest.importorskip("axe_selenium_python").__file__).parent / "node_modules/axe-core/axe.min.js"
    browser.get(f"{folder.as_uri()}/{name}.html")
    browser.execute_script(axe.read_text(encoding="utf-8"))
    found = [(v["id"], v["nodes"][0]["html"][:200]) for v in browser.execute_script(AXE)]
    assert found == []


def test_a_page_of_few_counts_prints_on_two_pages(browser, folder):
    browser.get(f"{folder.as_uri()}/two.html")
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert 1 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 2
