"""Fixtures: the report of a synthetic run, and headless Chromium that reads it; tests with Chromium are skipped if it
is not installed.
"""

import re
import shutil

import pytest

from reproduction import report

from . import made_run

SHARE = 5  # of the statements of the agreement page, one in so many, where their number is nothing to what is tested
ROWS = re.compile(r'<tr id="[^"]*">.*?</tr>\n', re.DOTALL)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    made_run.make(root)
    return root


@pytest.fixture(scope="session")
def pages(run_folder):
    """Return the folder of the report of `run_folder`."""
    return report.write(run_folder, run_folder / "results/report").parent


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return a driver of Chromium; tests with this fixture are skipped without Chromium."""
    if not there():
        pytest.skip(MISSING)
    started = driver(tmp_path_factory.mktemp("profile"))
    yield started
    started.quit()


@pytest.fixture
def opened(browser, pages):
    """Return a function that opens a page of the report."""
    return lambda name: shown(browser, pages / name)


@pytest.fixture(scope="session")
def few(pages, tmp_path_factory):
    """Return a report with a fraction `SHARE` of the statements on its agreement page, so that scripts run faster."""
    folder = tmp_path_factory.mktemp("few") / "report"
    shutil.copytree(pages, folder)
    page = folder / "agreement.html"
    whole = page.read_text(encoding="utf-8")
    rows = ROWS.findall(whole)
    assert len(rows) > 500
    kept = iter(row if number % SHARE == 0 or made_run.SOUGHT in row else "" for number, row in enumerate(rows))
    page.write_text(ROWS.sub(lambda row: next(kept), whole), encoding="utf-8")
    return folder


@pytest.fixture
def agreement(browser, few):
    """Return the agreement page of `few`, opened."""
    return shown(browser, few / "agreement.html")


FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FILTERS = "#agreement thead .dtcc-button_dropdown"  # of the agreement page
MISSING = "Chromium and its driver are not installed; .ci/run installs them"


def there():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


def driver(profile):
    """Start a window of 1200 x 900 that keeps its logs and uses the folder `profile`; the caller must end it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS, f"--user-data-dir={profile}", "--window-size=1200,900"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    made = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    made.set_page_load_timeout(300)
    made.set_script_timeout(300)
    return made


def shown(browser, path):
    """Return the browser with an open page of a report."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(path.as_uri())
    if path.name == "agreement.html":  # a script makes its table
        WebDriverWait(browser, 60, 0.05).until(lambda page: len(page.find_elements(By.CSS_SELECTOR, FILTERS)) > 3)
    return browser
