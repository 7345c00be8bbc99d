"""Figures of what is simulated: Figure 1's posteriors, Figure 2's triplets, the calibration."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...style import BLACK, BLUE, CYCLE, DOUBLE, GREEN, GREY, ORANGE, RED, SKY, calibration_panel, letters

R_LABEL = r"$r = p_1/(p_1+p_0)$"
NAMES = {"p1": "$p_1$", "p0": "$p_0$", "perr": r"$p_{\mathrm{err}}$"}
FORMULATIONS = {
    "table_products": ("table × running products", BLUE, "-"),
    "table_pow": ("table × powers", GREEN, "--"),
    "log_table_exp": ("exp of log table", ORANGE, "--"),
    "table_exp": ("table × exp (paper)", BLACK, "-"),
    "lgamma": ("lgamma (dmultinom)", RED, "-."),
}
_BINS = np.linspace(0, 1, 21)


def figure_1(table: pd.DataFrame) -> Figure:
    """Two rows of panels: the posterior, and the listing as written; one legend for all."""
    settings = list(dict.fromkeys(table["setting"]))
    figure = Figure(figsize=(DOUBLE, 4.0))
    panels = figure.subplots(2, len(settings), sharex=True, squeeze=False)
    for column, setting in enumerate(settings):
        kinds = dict(iter(table[table["setting"] == setting].groupby("kind", sort=False)))
        top, bottom = panels[:, column]
        for run, line in kinds["noise"].groupby("run"):
            top.plot(line["x"], line["y"], color=GREY, lw=0.7, label="exact, other noise" if run == 0 else None)
        top.fill_between(*_steps(kinds["exact draws"]), color=SKY, alpha=0.5, lw=0, label="exact draws")
        top.plot(*_steps(kinds["gibbs"]), color=ORANGE, lw=0.7, label="Gibbs draws")
        for run, line in kinds["frozen"].groupby("run"):
            label = "runs of the listing, a colour each" if run == 0 else None
            bottom.plot(*_steps(line), color=CYCLE[run % len(CYCLE)], lw=0.7, label=label)
        for axis in (top, bottom):
            label = "exact density" if axis is top else None
            axis.plot(kinds["density"]["x"], kinds["density"]["y"], color=BLACK, label=label)
            highest = max(line.get_ydata().max() for line in axis.lines)
            axis.set(xlim=(0, 1), ylim=(0, 1.05 * highest))  # nothing that was drawn is cut
            axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        top.set_title(f"({setting}) S = ({kinds['density']['counts'].iloc[0]})", loc="left")
        bottom.set_xlabel(R_LABEL)
    for axis, name in zip(panels[:, 0], ("posterior density", "listing as written"), strict=True):
        axis.set_ylabel(name)
    handles = [h for axis in panels[:, 0] for h in axis.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=6.5)
    return figure


def figure_2(table: pd.DataFrame) -> Figure:
    """Above: the paper's comparison against each p, one point a triplet. Below: digits against exact values."""
    figure = Figure(figsize=(DOUBLE, 4.4))
    grid = figure.add_gridspec(2, 3)
    first = figure.add_subplot(grid[0, 0])
    panels = [first, *(figure.add_subplot(grid[0, i], sharey=first) for i in (1, 2))]
    for axis, (name, label) in zip(panels, NAMES.items(), strict=True):
        axis.plot(table[name], table["pair"], ".", ms=2, mew=0, color=BLUE, alpha=0.35, rasterized=True)
        groups = table["pair"].groupby(_bin(table[name])).median()
        axis.plot(_middles(groups), groups, color=BLACK, lw=1, label="median")
        axis.axhline(12, color=GREY, lw=0.8, ls="--")
        axis.set(xlabel=label, xlim=(0, 1))
        axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    low, high = table["pair"].min(), table["pair"].max()
    first.set(ylabel="fewest digits in agreement", ylim=(low - 0.06 * (high - low), high + 0.06 * (high - low)))
    for axis in panels[1:]:
        axis.tick_params(labelleft=False)
    panels[-1].legend(loc="lower center")
    below = figure.add_subplot(grid[1, :])
    _formulations(below, table)
    figure.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=6.5)
    letters((*panels, below))
    return figure


def _formulations(axis: Axes, table: pd.DataFrame) -> None:
    place = _bin(table["p1"])
    for name, (label, colour, line) in FORMULATIONS.items():
        groups = table[name].groupby(place)
        at = _middles(groups.median())
        axis.plot(at, groups.median(), line, color=colour, label=label)
        axis.fill_between(at, groups.min(), groups.max(), color=colour, alpha=0.15, lw=0)
    axis.set(xlabel="$p_1$", ylabel="fewest digits\nagainst exact", xlim=(0, 1))


def calibration(table: pd.DataFrame) -> Figure:
    """ECDF of the PIT less the diagonal: one row per epsilon, one column per method, simultaneous bands."""
    methods, epsilons = list(dict.fromkeys(table["method"])), sorted(table["epsilon"].unique())
    figure = Figure(figsize=(DOUBLE, 0.6 + 1.4 * len(epsilons)))
    panels = figure.subplots(len(epsilons), len(methods), sharex=True, sharey=True, squeeze=False)
    for row, epsilon in enumerate(epsilons):
        for column, method in enumerate(methods):
            axis = panels[row, column]
            found = table[(table["epsilon"] == epsilon) & (table["method"] == method)]
            calibration_panel(axis, found, BLUE if found["variant"].iloc[0] == "corrected" else RED)
            if row == 0:
                axis.set_title(method.replace(" read as", "\nread as").replace(" (p", "\n(p"), fontsize=7)
        panels[row, 0].set_ylabel(rf"$\varepsilon$ = {epsilon:g}" + "\nECDF less uniform")
    for axis in panels[-1]:
        axis.set_xlabel("PIT of the true $r$")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center")
    return figure


def _steps(histogram: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Outline of a histogram given by left ends and heights on [0, 1]."""
    edges = np.append(histogram["x"], 1.0)
    return np.repeat(edges, 2)[1:-1], np.repeat(histogram["y"].to_numpy(), 2)


def _bin(p: pd.Series) -> NDArray[np.int64]:
    return np.asarray(np.clip(np.digitize(p, _BINS) - 1, 0, len(_BINS) - 2))


def _middles(groups: pd.Series) -> NDArray[np.float64]:
    return np.asarray((_BINS[1:] + _BINS[:-1]) / 2)[groups.index.to_numpy()]
