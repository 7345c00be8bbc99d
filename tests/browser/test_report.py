"""Tests of the report and of the page of a scenario in a browser: opening from disk, tables, narrow screens,
accessibility, and printing.
"""

import base64
import json
import re
from pathlib import Path

import pytest

from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making, page
from tests.browser.conftest import FILTERS, shown
from tests.browser.made_run import END, SOUGHT, VERDICTS

pytestmark = pytest.mark.site
WIDEST = 375  # pixels of a small telephone
LISTED = ".dtcc-dropdown .dtcc-list-buttons button"
ALIKE = """
const kind = e => [e.tagName, e.getAttribute('class'), e.getAttributeNames(), !e.textContent.trim()].join(' ');
for (const parts of ['tbody tr:nth-child(n + 4)', 'svg circle', 'article', 'details']) {
    const seen = new Set();
    for (const part of document.querySelectorAll(parts)) {
        const all = [part, ...part.querySelectorAll('*')];
        const kinds = all.map(e => [part.parentElement, e.parentElement, e].map(kind).join(' in '));
        if (kinds.every(k => seen.has(k))) part.remove();
        kinds.forEach(k => seen.add(k));
    }
}"""  # takes away parts in which nothing is of a new kind: axe would look at each

AXE = "return axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)"


def names(folder):
    return sorted(path.name for path in folder.glob("*.html"))


def kinds(folder):
    """Return one page of every kind."""
    return list({re.split(r"[-.]", name)[0]: name for name in names(folder)}.values())


def asked(browser):
    """Return the addresses that the browser requested since the last call."""
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


def test_every_page_opens_with_its_images_and_without_an_error_a_network_or_a_script_of_a_user(browser, pages, opened):
    assert len(names(pages)) >= 14  # start, agreement, settings, five papers, own cases
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)  # what was logged before is forgotten
    for name in names(pages):
        page = opened(name)
        assert len(page.execute_script("return document.querySelector('main').innerText")) > 80, name
        lost = "return [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"
        assert page.execute_script(lost) == [], name
        assert [e["message"] for e in page.get_log("browser") if e["level"] == "SEVERE"] == [], name
        away = [a for a in asked(page) if not a.startswith(("file:", "data:", "about:"))]
        assert away == [], name
        scripts = page.execute_script("return [...document.scripts].map(s => s.textContent.trim().slice(0, 40))")
        assert not any("alert" in script for script in scripts), name
    assert END in opened("paper-balmat2018.html").execute_script("return document.body.textContent")


def choose(page, text):
    """Select one entry of the open filter."""
    from selenium.webdriver.common.by import By

    next(entry for entry in page.find_elements(By.CSS_SELECTOR, LISTED) if text in entry.text).click()


def shown_rows(page):
    return page.execute_script("return [...document.querySelectorAll('#agreement tbody tr')].map(r => r.innerText)")


def test_the_filter_finds_and_the_search_too(agreement):
    from selenium.webdriver.common.by import By

    page = agreement
    everything = len(shown_rows(page))
    page.find_elements(By.CSS_SELECTOR, FILTERS)[0].click()
    choose(page, "raim2021")
    rows = shown_rows(page)
    assert 0 < len(rows) < everything
    assert all("raim2021" in row for row in rows)
    page.find_element(By.CSS_SELECTOR, ".dt-search input").send_keys(SOUGHT)
    found = shown_rows(page)
    assert 0 < len(found) < len(rows)
    assert all(SOUGHT.lower() in row.lower() for row in found)


def test_a_filter_of_verdicts_leaves_that_verdict_alone(agreement):
    from selenium.webdriver.common.by import By

    page = agreement
    page.find_elements(By.CSS_SELECTOR, FILTERS)[3].click()
    assert len(page.find_elements(By.CSS_SELECTOR, LISTED)) == len(VERDICTS)
    choose(page, "undecided")
    shown = "return [...document.querySelectorAll('#agreement tbody .verdict')].map(v => v.innerText)"
    words = page.execute_script(shown)
    assert words
    assert all("undecided" in word for word in words)


def test_the_sort_sorts_by_number_and_verdicts_by_what_needs_a_look(agreement):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    page = agreement
    buttons = page.find_elements(By.CSS_SELECTOR, "#agreement thead .dtcc-button_order")
    buttons[6].click()  # ours; the table sorts when the browser has time
    heading = "return document.querySelectorAll('#agreement thead th')[arguments[0]].ariaSort"
    WebDriverWait(page, 20).until(lambda p: p.execute_script(heading, 6) == "ascending")
    values = "return [...document.querySelectorAll('#agreement tbody td:nth-child(7)')].map(c => c.dataset.order)"
    numbers = [float(value) for value in page.execute_script(values) if value]
    assert len(numbers) > 100
    assert numbers == sorted(numbers)
    buttons[4].click()  # verdict
    WebDriverWait(page, 20).until(lambda p: p.execute_script(heading, 4) == "ascending")
    first = page.execute_script("return document.querySelector('#agreement tbody .verdict').innerText")
    assert "differs" in first


def test_a_verdict_leads_to_its_artefact_and_back(agreement):
    from selenium.webdriver.common.by import By

    page = agreement
    row = page.find_elements(By.CSS_SELECTOR, "#agreement tbody tr[id^='pan2023-']")[-1]
    name = row.get_attribute("id")
    link = row.find_element(By.TAG_NAME, "a")
    place, text = link.get_attribute("href").rpartition("#")[2], link.text
    page.execute_script("arguments[0].click()", link)
    assert page.current_url.endswith(f"paper-pan2023.html#{place}")
    section = page.find_element(By.ID, place)
    assert section.find_element(By.TAG_NAME, "h2").text == text
    top = page.execute_script("return arguments[0].getBoundingClientRect().top", section)
    assert -5 <= top <= 900  # within the window
    back = section.find_element(By.CSS_SELECTOR, f"a[href='agreement.html#{name}']")
    page.execute_script("arguments[0].click()", back)
    seen = page.execute_script("return document.getElementById(arguments[0]).getBoundingClientRect().top", name)
    assert 0 <= seen <= 900
    assert page.execute_script("return scrollY") > 900  # it stands far down


def test_axe_finds_nothing_serious(browser, few):
    axe = Path(pytest.importorskip("axe_selenium_python").__file__).parent / "node_modules/axe-core/axe.min.js"
    for name in kinds(few):
        page = shown(browser, few / name)
        page.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
        page.execute_script(ALIKE)
        page.execute_script(axe.read_text(encoding="utf-8"))
        found = page.execute_script(AXE)
        grave = {v["id"]: v["nodes"][0]["html"][:200] for v in found if v["impact"] in ("serious", "critical")}
        assert grave == {}, name


def test_a_small_telephone_never_scrolls_sideways(pages, opened, browser):
    size = {"width": WIDEST, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for name in kinds(pages):
            page = opened(name)
            page.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
            assert page.execute_script("return innerWidth") == WIDEST, name
            assert page.execute_script("return document.documentElement.scrollWidth") <= WIDEST, name
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_paper_nothing_is_folded_away_and_no_control_is_printed(opened, browser):
    page = opened("paper-balmat2018.html")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        folded = "[...document.querySelectorAll('details pre, details td')].filter(e => !e.checkVisibility())"
        assert page.execute_script(f"return {folded}.length") == 0  # what stands in closed details is printed too
        controls = "[...document.querySelectorAll('header, .back, .contents')].filter(e => e.checkVisibility())"
        assert page.execute_script(f"return {controls}.length") == 0
        printed = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
        assert printed.startswith(b"%PDF")
        assert printed.count(b"/Type /Page") > 5  # all of it, not one screen
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_keyboard_alone_reaches_links_and_filters(agreement):
    from selenium.webdriver.common.keys import Keys

    page = agreement
    seen = []
    for _ in range(40):
        page.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(page.execute_script("return document.activeElement.outerHTML.slice(0, 300)"))
        outline = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", seen[-1]  # where one is can be seen
        if "dtcc-button_dropdown" in seen[-1]:
            break
    assert "skip" in seen[0]
    assert any("paper-raim2021.html" in html for html in seen)
    assert "dtcc-button_dropdown" in seen[-1]
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.execute_script(f"return document.querySelectorAll('{LISTED}').length") > 0


def test_the_first_page_is_there_within_a_second_of_work(opened, browser):
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})

    def spent():
        found = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return {m["name"]: m["value"] for m in found}["TaskDuration"]

    before = spent()
    opened("index.html")
    assert spent() - before < 1


def telephone(browser, width=WIDEST):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def test_on_a_small_telephone_the_verdict_is_seen_first(opened, browser):
    """Check that the verdict of each row is within the width and above the other text of the row."""
    first = """return [...document.querySelectorAll(arguments[0])].slice(0, 5).map(row => {
        const v = row.querySelector('.verdict, .small').getBoundingClientRect();
        const others = [...row.children].map(c => c.getBoundingClientRect()).filter(r => r.height);
        return [v.left >= 0 && v.right <= innerWidth, v.top <= Math.min(...others.map(r => r.top)) + 8];
    })"""
    telephone(browser)
    try:
        for name, *kinds_of_rows in (
            ("agreement.html", "#agreement tbody tr"),
            ("index.html", ".lines tbody tr", "#differs ~ .wide .statements tbody tr"),
            ("paper-wang2020.html", ".statements tbody tr"),
        ):
            page = opened(name)
            wide = "[...document.querySelectorAll('.wide, .agreement')].filter(e => e.scrollWidth > e.clientWidth + 1)"
            assert name.startswith("paper") or page.execute_script(f"return {wide}.length") == 0, name
            page.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
            for rows in kinds_of_rows:
                found = page.execute_script(first, rows)
                assert found, (name, rows)
                assert all(inside and above for inside, above in found), (name, rows, found)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_in_a_window_nothing_of_the_tables_of_statements_is_cut(opened, browser):
    cut = """return [...document.querySelectorAll('table')]
        .filter(t => t.matches('.statements, .lines, .matrix'))
        .filter(t => t.getBoundingClientRect().right > t.parentElement.getBoundingClientRect().right + 1)
        .map(t => t.className + ' ' + t.getBoundingClientRect().width)"""
    try:
        for name in ("agreement.html", "index.html", "paper-wang2020.html"):
            page = opened(name)
            page.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
            for width in (1300, 1600):
                telephone(browser, width)
                assert page.execute_script("return innerWidth") == width
                assert page.execute_script(cut) == [], (name, width)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_z_of_every_printed_number_is_a_dot_with_its_name(opened):
    page = opened("paper-wang2020.html")
    dots = page.execute_script("return [...document.querySelectorAll('.zplot circle title')].map(t => t.textContent)")
    assert len(dots) > 50
    assert all(": z = " in dot for dot in dots)
    assert len(page.execute_script("return [...document.querySelectorAll('table.printed')]")) >= 2


NAMES = ["met with spaces", "Île-de-France", "東京都", "القاهرة", "a" * 60, "</script><script>alert(1)</script>"]
CASES = {
    "names": {"counts": {name: 10.5 + i for i, name in enumerate(NAMES)}, "total": 80, "among": NAMES[2:4]},
    "two": {"counts": {"a": 5, "b": 9}, "total": 14},
    "many": {"counts": {f"c{i}": 5.5 + i % 7 for i in range(200)}, "total": 1700},
    "grid": {"counts": {"a": 5, "b": 9}, "total": [14, 20]},
    "sure": {"counts": {"a": 17, "b": 40}, "confidence": 0.95},
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


def test_a_page_shows_the_confidence_interval_of_each_count(browser, folder):
    """Discrete Laplace noise of scale 2, h = 6: P(N >= 6) = .031 and P(N >= 7) = .019, so that 17 gives 11 to 23."""
    browser.get(f"{folder.as_uri()}/sure.html")
    cells = browser.execute_script(
        "return [...document.querySelectorAll('td[data-label=\"confidence interval\"]')].map(t => t.textContent.trim())"
    )
    assert cells == ["11 to 23", "34 to 46"]
    text = browser.execute_script("return document.body.innerText")
    assert "cover the true count in at least 95 % of releases, whatever the count" in text


@pytest.mark.parametrize("name", ["names", "grid", "sure"])
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
