"""Headless Chromium and its driver, for tests of pages, which are skipped if they are not installed."""

import shutil

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
