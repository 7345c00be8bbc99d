"""Figures of the two targets: draws, step functions, accuracy of the sampler."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...style import BLACK, BLUE, CYCLE, DOUBLE, MARKERS, RED, SKY, letters, log_scale
from .labels import TARGETS

_ROOM = 0.085  # parts of a panel between two numbers of knots


def _target(table: pd.DataFrame, name: str) -> Figure:
    """Rows: Delta_s. Left: draws and exact density. Right: the step function, log u against log P(A_u)."""
    deltas = list(dict.fromkeys(table["delta_s"]))
    figure = Figure(figsize=(DOUBLE, 2.35 * len(deltas)))
    panels = figure.subplots(len(deltas), 3, squeeze=False)
    for row, delta in zip(panels, deltas, strict=True):
        of = table[table["delta_s"] == delta]
        bars = of[(of["variant"] == "corrected") & (of["kind"] == "histogram")]
        curve = of[(of["variant"] == "corrected") & (of["kind"] == "density")]
        row[0].bar(bars["x"], bars["y"], bars["bin_width"], align="edge", color=SKY, alpha=0.6, label="draws")
        row[0].plot(curve["x"], curve["y"], color=BLACK, label="exact density")
        row[0].set(xlabel=name, ylabel="density")
        row[0].xaxis.set_major_locator(MaxNLocator(4))
        row[0].set_title(rf"$\Delta_s={delta:g}$", loc="left")
        row[0].legend(loc="upper left", fontsize=6, handlelength=1)
        for axis, variant, title in (
            (row[1], "as_written", "$u_L$ as on the slides"),
            (row[2], "corrected", "$u_L$ used here"),
        ):
            kinds = dict(iter(of[of["variant"] == variant].groupby("kind")))
            _steps(axis, kinds["step"], kinds["area"])
            axis.set_title(title, loc="left")
            axis.set_xlabel(r"$-\log u$")
        row[1].set_ylabel(r"$\log P(A_u)$, $\log h^*(u)$")
        row[1].annotate("numbers: order\nof the knots", (0.05, 0.05), xycoords="axes fraction", fontsize=6, color=RED)
    letters(panels.ravel())
    return figure


def _steps(axis, steps: pd.DataFrame, area: pd.DataFrame) -> None:
    """Step function from u_L to u_H on a reversed log scale, with the number of each knot."""
    steps = steps.sort_values("x")
    finite = np.isfinite(steps["y"])
    floor = area["y"][area["x"] < -1e-3].min() - 0.3
    axis.plot(-area["x"], area["y"], color=BLACK, lw=0.8)
    smallest = -steps["x"][steps["x"] < 0].max() / 3
    x = np.append(-steps["x"][finite], smallest)
    axis.step(x, np.append(steps["y"][finite], steps["y"][finite].iloc[-1]), where="post", color=BLUE, lw=0.8)
    axis.set_xscale("log")
    axis.set_xlim(-steps["x"].min() * 2, smallest)
    top = steps["y"].max() + 0.08 * (steps["y"].max() - floor)
    axis.set_ylim(floor, top)
    last = np.array([np.inf, np.inf])
    extent = np.array([np.log(-steps["x"].min() * 2 / smallest), top - floor])
    for row in steps[finite].itertuples():
        here = np.array([np.log(-row.x), row.y]) / extent  # in parts of the panel
        if np.hypot(*(here - last)) < _ROOM:
            continue  # the number would lie on the one before
        last = here
        look = {"textcoords": "offset points", "fontsize": 5, "color": RED, "ha": "left", "va": "bottom"}
        axis.annotate(f"{row.order:.0f}", (-row.x, row.y), (2, 1), **look)
    axis.plot(-steps["x"][finite], steps["y"][finite], ".", color=BLUE, ms=1.8)


def xi_mean(table: pd.DataFrame) -> Figure:
    """Draws of xi_mean and the step functions they came from."""
    return _target(table, TARGETS["xi_mean"])


def xi_sse(table: pd.DataFrame) -> Figure:
    """Draws of xi_sse and the step functions they came from."""
    return _target(table, TARGETS["xi_sse"])


def sampler_accuracy(table: pd.DataFrame) -> Figure:
    """Exact rejection rate (line), observed (marker) and bound (dotted) against N by rule."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    panels = figure.subplots(1, 2, sharey=True)
    table = table[table["delta_s"] == table["delta_s"].iloc[0]]
    for axis, (target, name) in zip(panels, TARGETS.items(), strict=True):
        for (rule, rows), colour, marker in zip(
            table[table["target"] == target].groupby("rule", sort=False), CYCLE, MARKERS, strict=False
        ):
            adaptive = rows["mc_se"].isna().all()
            bars = 2 * rows["mc_se"].fillna(0)
            axis.errorbar(
                rows["knots"], rows["observed_rate"], bars, fmt=marker, color=colour, mfc="none", lw=0.8, label=rule
            )
            if adaptive:
                axis.loglog(rows["knots"], rows["observed_rate"], "-", color=colour, lw=0.8)
                continue
            axis.loglog(rows["knots"], rows["exact_rate"], "-", color=colour, lw=0.8)
            axis.loglog(rows["knots"], rows["bound"].clip(upper=1), ":", color=colour, lw=1)
        axis.set(xlabel="$N$", title=name)
        log_scale(axis, "x", table["knots"])
        log_scale(axis)
    panels[0].set_ylabel("probability of a rejection")
    for line, word in (("-", "exact"), (":", "bound")):
        panels[1].plot([], [], line, color=BLACK, lw=1, label=word)
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels)
    return figure
