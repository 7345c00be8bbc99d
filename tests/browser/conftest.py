"""The report of a made-up run, and a browser to read it."""

import pytest

from reproduction import report

from . import chromium, made_run


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
    if not chromium.there():
        pytest.skip(chromium.MISSING)
    driver = chromium.driver(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()
