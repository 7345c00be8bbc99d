"""The report of a made-up run, and a browser to read it."""

import shutil

import pytest

from reproduction import report

from . import made_run

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    made_run.make(root)
    return root


@pytest.fixture(scope="session")
def pages(run_folder):
    """Folder of the report of `run_folder`."""
    return report.write(run_folder, run_folder / "results/report").parent


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium, driven; a test that has it is skipped where there is none."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("Chromium and its driver are not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1200,900"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_page_load_timeout(300)
    driver.set_script_timeout(300)
    yield driver
    driver.quit()
