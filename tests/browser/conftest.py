"""Fixtures: the report of a synthetic run, and a browser that reads it."""

import re
import shutil

import pytest

from reproduction import report

from . import chromium, made_run

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
    if not chromium.there():
        pytest.skip(chromium.MISSING)
    driver = chromium.driver(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, pages):
    """Return a function that opens a page of the report."""
    return lambda name: chromium.shown(browser, pages / name)


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
    return chromium.shown(browser, few / "agreement.html")
