"""Plots of posterior intervals and of release plans, for notebooks."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from .. import _checks
from .quantities import Quantities


def intervals(groups: Mapping[str, Quantities], *, level: float, largest: int | None, ax: Any) -> Any:
    """Plot one panel per group, with a line for the central interval and a dot for the median of each quantity.

    Parameters
    ----------
    groups : mapping from the name of a group to its quantities; a single group if `ax` is passed.
    level : probability of the intervals, in (0, 1).
    largest : number of quantities per group, starting with the largest medians; None for all, in their order.
    ax : matplotlib Axes to draw in, or None for a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    """
    level = _checks.inside("level", level)
    rows = {title: _rows(group, level, largest) for title, group in groups.items()}
    heights = [max(len(table), 1) for table in rows.values()]
    if ax is None:
        size = 6.0, 0.9 + 0.28 * sum(heights) + 0.5 * len(heights)
        axes = _figure()(figsize=size, layout="constrained").subplots(
            len(heights), 1, squeeze=False, height_ratios=heights
        )[:, 0]
    else:
        axes = [ax]
    for axis, (title, table) in zip(axes, rows.items(), strict=True):
        place = range(len(table) - 1, -1, -1)
        axis.hlines(place, table["lower"], table["upper"], color="0.35", linewidth=2)
        axis.plot(table["median"], place, "o", color="#0072B2", markersize=5)
        axis.set_yticks(place, list(table.index))
        axis.set_ylim(-0.6, len(table) - 0.4)
        which = "" if len(table) == len(groups[title]) else f", {len(table)} largest of {len(groups[title]):,}"
        axis.set_title(f"{title}: median and {100 * level:.12g} % interval{which}", loc="left", fontsize=9)
    return axes[0].figure


def _rows(group: Quantities, level: float, largest: int | None) -> pd.DataFrame:
    """Return the median and the interval of each quantity that the plot shows."""
    table = group.interval(level).assign(median=group.median())
    if largest is None:
        return table
    return table.sort_values("median", ascending=False, kind="stable").head(
        _checks.integer("largest", largest, least=1)
    )


def plan_curve(curve: pd.DataFrame, epsilon: float, frequency: float, error: float) -> Any:
    """Plot the frequencies of correct answers and of wrong answers as functions of epsilon. A dot with two standard
    errors marks the frequency in new releases.

    Parameters
    ----------
    curve : table with columns epsilon, frequency, wrong.
    epsilon, frequency : epsilon and success rate of the new releases.
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
    axis.plot(curve["epsilon"], curve["frequency"], ".-", color="0.35", label="decisive and correct")
    axis.plot(curve["epsilon"], curve["wrong"], ".--", color="#D55E00", label="decisive but wrong")
    axis.errorbar([epsilon], [frequency], yerr=[2 * error], fmt="o", color="#0072B2", label="fresh releases")
    axis.set(xscale="log", xlabel="epsilon", ylabel="frequency", ylim=(-0.03, 1.03))
    axis.legend(frameon=False, fontsize=9)
    return figure


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ModuleNotFoundError("plot requires matplotlib: install matplotlib (pip install matplotlib)") from error
    return Figure
