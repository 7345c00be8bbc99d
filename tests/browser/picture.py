"""Picture of a report for README: ``python -m tests.browser.picture results/report/index.html report.png``."""

import io
import sys
import tempfile
from base64 import b64decode
from pathlib import Path

from PIL import Image

from .conftest import driver

WIDTH, HEIGHT, COLOURS = 1300, 960, 128


def taken(page, target):
    """Write the top of a page as a PNG image of `WIDTH` pixels with few colours.

    Parameters
    ----------
    page : an HTML file.
    target : the PNG file.
    """
    with tempfile.TemporaryDirectory() as profile:
        window = driver(profile)
        try:
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            window.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
            window.get(Path(page).resolve().as_uri())
            raw = b64decode(window.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
        finally:
            window.quit()
    with Image.open(io.BytesIO(raw)) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(target, optimize=True)


if __name__ == "__main__":
    taken(*sys.argv[1:])
