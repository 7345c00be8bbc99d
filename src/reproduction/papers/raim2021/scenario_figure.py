"""The figure of a user's scenario: both posteriors, their intervals, and under them what was assumed."""

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...style import BLACK, BLUE, DOUBLE, GREY, ORANGE, RED, SKY

_NAMES = {"mu": r"$\mu$, mean of the records' law", "sigma2": r"$\sigma^2$, variance of the records' law"}
_SHOWN = ("noise", "cost", "prior", "state of the answer")
_WIDTH = 150  # characters a line


def scenario(table: pd.DataFrame) -> Figure:
    """Posterior of both parameters with estimate and interval; the assumptions in words below."""
    said = table[table["statistic"] == "assumption"].set_index("quantity")["note"]
    lines = [line for name in _SHOWN if name in said.index for line in textwrap.wrap(f"{name}: {said[name]}", _WIDTH)]
    warning = said["rehearsal"] if "rehearsal" in said.index else ""
    text = 0.125 * len(lines) + 0.1
    figure = Figure(figsize=(DOUBLE, 2.7 + text))
    halves: Any = figure.subfigures(2, 1, height_ratios=(2.7, text))
    upper, lower = halves
    for axis, (parameter, name) in zip(upper.subplots(1, 2), _NAMES.items(), strict=True):
        _posterior(axis, table[table["quantity"] == parameter], name)
        _intervals(axis, table, parameter)
    lower.text(0.02, 0.98, "\n".join(lines), fontsize=5.8, va="top", linespacing=1.35)
    if warning:
        upper.suptitle(warning, fontsize=8, color=RED)
    return figure


def _posterior(axis: Axes, rows: pd.DataFrame, name: str) -> None:
    found = rows[rows["statistic"] == "summary"].iloc[0]
    curve = rows[rows["statistic"] == "density"]
    width = curve["x"].diff().median()
    inside = curve["x"].between(found["lower"], found["upper"])
    axis.bar(curve["x"], curve["density"], width, color=np.where(inside, SKY, GREY))
    axis.set(xlabel=name, yticks=[], ylim=(-0.32 * curve["density"].max(), 1.4 * curve["density"].max()))
    axis.set_title(
        f"{found['mean']:.4g}, {found['level']:.0%} interval {found['lower']:.4g} .. {found['upper']:.4g}\n"
        f"{found['status']}",
        fontsize=7,
        color=RED if found["status"] == "not converged" else BLACK,
    )


def _intervals(axis: Axes, table: pd.DataFrame, parameter: str) -> None:
    """Three intervals under the density: this one, under a weaker prior, and with the noise ignored."""
    low, high = axis.get_xlim()
    for place, (suffix, colour, label) in enumerate(
        (
            ("", BLUE, "this analysis"),
            (", weaker prior", ORANGE, "weaker prior"),
            (", noise ignored", RED, "noise ignored"),
        )
    ):
        row = table[table["quantity"] == parameter + suffix].iloc[0]
        y = axis.get_ylim()[0] * (0.22 + 0.27 * place)
        ends = np.clip([row["lower"], row["upper"]], low, high)
        outside = "" if low < row["mean"] < high else f" (at {row['mean']:.3g}, outside)"
        axis.plot(ends, [y, y], color=colour, lw=2, solid_capstyle="butt", label=label + outside)
        axis.plot(np.clip(row["mean"], low, high), y, "|", color=colour, ms=6)
        for end, edge, mark in ((row["lower"], low, "<"), (row["upper"], high, ">")):
            if not low <= end <= high:  # it goes on beyond the axis
                axis.plot(edge, y, mark, color=colour, ms=5, clip_on=False)
    axis.axhline(0, color=BLACK, lw=0.5)
    axis.set_xlim(low, high)
    axis.legend(loc="upper right", fontsize=5.5, handlelength=1.2)
