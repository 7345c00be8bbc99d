"""Plots of posterior intervals and of plans, for use in a notebook."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from .._accuracy import LEVEL
from .quantities import Quantities


def intervals(groups: Mapping[str, Quantities]) -> Any:
    """Plot one panel per group, with a line for each central interval and a dot for the median.

    Parameters
    ----------
    groups : mapping from the name of a group to its quantities.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    """
    heights = [max(len(group), 1) for group in groups.values()]
    figure = _figure()(figsize=(6.0, 0.9 + 0.28 * sum(heights) + 0.5 * len(heights)), layout="constrained")
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


def plan_curve(curve: pd.DataFrame, epsilon: float, frequency: float, error: float) -> Any:
    """Plot the frequencies of correct and of wrong answers as functions of epsilon; a dot with two standard errors
    marks the fresh releases.

    Parameters
    ----------
    curve : table with columns epsilon, frequency, wrong.
    epsilon, frequency : epsilon and success rate of the fresh releases.
    error : standard error of `frequency`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    """
    figure = _figure()(figsize=(6.0, 3.4), layout="constrained")
    axis = figure.subplots()
    axis.plot(curve["epsilon"], curve["frequency"], ".-", color="0.35", label="sure and right")
    axis.plot(curve["epsilon"], curve["wrong"], ".--", color="#D55E00", label="sure and wrong")
    axis.errorbar([epsilon], [frequency], yerr=[2 * error], fmt="o", color="#0072B2", label="fresh releases")
    axis.set(xscale="log", xlabel="epsilon", ylabel="frequency", ylim=(-0.03, 1.03))
    axis.legend(frameon=False, fontsize=9)
    return figure


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ModuleNotFoundError("plot needs matplotlib: install it (pip install matplotlib)") from error
    return Figure
