"""Intervals of a posterior as a figure, for who looks at one in a notebook."""

from collections.abc import Mapping
from typing import Any

from .._honesty import LEVEL
from .quantities import Quantities


def intervals(groups: Mapping[str, Quantities]) -> Any:
    """A panel a group: a line for the central interval, a dot for the median.

    Parameters
    ----------
    groups : name of a group -> its quantities.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ModuleNotFoundError
        Where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ModuleNotFoundError("plot needs matplotlib: install dpmultinomial[plot]") from error
    heights = [max(len(group), 1) for group in groups.values()]
    figure = Figure(figsize=(6.0, 0.9 + 0.28 * sum(heights) + 0.5 * len(heights)), layout="constrained")
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axis, (title, group) in zip(axes, groups.items(), strict=True):
        ends, names = group.interval(LEVEL), list(group)
        place = range(len(names) - 1, -1, -1)
        axis.hlines(place, ends["lower"], ends["upper"], color="0.35", linewidth=2)
        axis.plot(group.median(), place, "o", color="#0072B2", markersize=5)
        axis.set_yticks(place, names)
        axis.set_ylim(-0.6, len(names) - 0.4)
        axis.set_title(f"{title}: median and {LEVEL:.0%} interval", loc="left", fontsize=9)
    return figure
