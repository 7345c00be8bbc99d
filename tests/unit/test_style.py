"""The look of the figures: order without colour, calibration panels, files that are the same each time."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from reproduction import style


def luminance(colour: str) -> float:
    """Relative luminance, Rec. 709: what is left of a colour in grey."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def test_graded_colours_stay_in_order_in_grey():
    greys = [luminance(colour) for colour in style.GRADED]
    assert all(later > 1.15 * earlier for earlier, later in pairwise(greys))
    assert greys[-1] < 0.7  # the lightest still stands off from white paper


def test_a_calibration_panel_shows_the_differences_at_the_bins_ends_and_the_band():
    rows = pd.DataFrame({"bin": [0.0, 0.25, 0.5, 0.75], "ecdf_difference": [0.1, -0.2, 0.05, 0.0], "band": 0.12})
    axis = Figure().subplots()
    style.calibration_panel(axis, rows, style.BLUE)
    curve = max(axis.lines, key=lambda line: len(line.get_xdata()))
    assert curve.get_xdata() == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert curve.get_ydata() == pytest.approx([0, 0.1, -0.2, 0.05, 0])
    assert curve.get_color() == style.BLUE
    (band,) = axis.patches
    assert (band.get_y(), band.get_height()) == pytest.approx((-0.12, 0.24))


def test_the_same_drawing_gives_the_same_files(tmp_path):
    for run in ("one", "two"):
        with style.applied():
            figure = Figure(figsize=(style.SINGLE, 2))
            figure.subplots().plot([0, 1], [1, 0], label=r"$\phi$")
            style.letters(figure.axes)
            style.save(figure, tmp_path / f"{run}.png", tmp_path / f"{run}.pdf")
    for kind in ("png", "pdf"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()
