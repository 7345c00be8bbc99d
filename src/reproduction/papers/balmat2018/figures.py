"""Plot the figures of Balmat, Barrientos and Reiter (2018), and additional figures that extend the paper."""

from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...style import (
    BLACK,
    BLUE,
    CYCLE,
    DOUBLE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PINK,
    RED,
    SINGLE,
    SKY,
    YELLOW,
    calibration_panel,
    interval,
    letters,
    log_scale,
)

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
    """Plot the posteriors in the first row of panels and the results of the paper's code listing in the second row,
    with one legend.
    """
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
            label = "runs of the listing (one colour per run)" if run == 0 else None
            bottom.plot(*_steps(line), color=CYCLE[run % len(CYCLE)], lw=0.7, label=label)
        for axis in (top, bottom):
            label = "exact density" if axis is top else None
            axis.plot(kinds["density"]["x"], kinds["density"]["y"], color=BLACK, label=label)
            highest = max(line.get_ydata().max() for line in axis.lines)
            axis.set(xlim=(0, 1), ylim=(0, 1.05 * highest))  # the limits show everything that was drawn
            axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        top.set_title(f"({setting}) S = ({kinds['density']['counts'].iloc[0]})", loc="left")
        bottom.set_xlabel(R_LABEL)
    for axis, name in zip(panels[:, 0], ("posterior density", "listing as written"), strict=True):
        axis.set_ylabel(name)
    handles = [h for axis in panels[:, 0] for h in axis.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=6.5)
    return figure


def figure_2(table: pd.DataFrame) -> Figure:
    """Plot the number of significant digits against each of the three probabilities p. The upper panels show the
    paper's comparison with one point per triplet, and the lower panels show the digits relative to exact values.
    """
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
        middles = _middles(groups.median())
        axis.plot(middles, groups.median(), line, color=colour, label=label)
        axis.fill_between(middles, groups.min(), groups.max(), color=colour, alpha=0.15, lw=0)
    axis.set(xlabel="$p_1$", ylabel="fewest digits in agreement\nwith exact values", xlim=(0, 1))


def calibration(table: pd.DataFrame) -> Figure:
    """Plot the empirical distribution function of the probability integral transform (PIT) minus the uniform
    distribution function, with simultaneous bands. There is one row of panels per epsilon and one column per method.
    """
    methods, epsilons = list(dict.fromkeys(table["method"])), sorted(table["epsilon"].unique())
    figure = Figure(figsize=(DOUBLE, 0.6 + 1.4 * len(epsilons)))
    panels = figure.subplots(len(epsilons), len(methods), sharex=True, sharey=True, squeeze=False)
    for row, epsilon in enumerate(epsilons):
        for column, method in enumerate(methods):
            axis = panels[row, column]
            subset = table[(table["epsilon"] == epsilon) & (table["method"] == method)]
            calibration_panel(axis, subset, BLUE if subset["variant"].iloc[0] == "corrected" else RED)
            if row == 0:
                axis.set_title(method.replace(" read as", "\nread as").replace(" (p", "\n(p"), fontsize=7)
        panels[row, 0].set_ylabel(rf"$\varepsilon$ = {epsilon:g}" + "\nECDF minus uniform")
    for axis in panels[-1]:
        axis.set_xlabel("PIT of the true $r$")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center")
    return figure


def _steps(histogram: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the outline of a histogram on [0, 1] from the left edges and the heights of its bars."""
    edges = np.append(histogram["x"], 1.0)
    return np.repeat(edges, 2)[1:-1], np.repeat(histogram["y"].to_numpy(), 2)


def _bin(p: pd.Series) -> NDArray[np.int64]:
    return np.asarray(np.clip(np.digitize(p, _BINS) - 1, 0, len(_BINS) - 2))


def _middles(groups: pd.Series) -> NDArray[np.float64]:
    return np.asarray((_BINS[1:] + _BINS[:-1]) / 2)[groups.index.to_numpy()]


_SETUPS = {"scalar": "one call\nper product", "own p": "vectorised,\nseparate p", "block": "vectorised,\none p"}

__all__ = [
    "calibration",
    "choosing_epsilon",
    "figure_1",
    "figure_2",
    "figure_3",
    "realised_share",
    "six_categories",
    "table_1_accuracy",
    "table_2",
]


def table_1_accuracy(table: pd.DataFrame) -> Figure:
    """Plot the error of the coefficients and of their logarithms against the total count M. The error is relative for
    the coefficients and absolute for their logarithms.
    """
    figure = Figure(figsize=(DOUBLE, 2.4))
    panels = figure.subplots(1, 2)
    groups = (("recurrence", "exp(lgamma)"), ("log table", "lgamma"))
    for axis, methods, label in zip(panels, groups, ("relative error", "absolute error of the log"), strict=True):
        for method, colour, marker in zip(methods, (BLUE, RED), MARKERS, strict=False):
            rows = table[(table["method"] == method) & (table["largest_error"] > 0)]
            axis.loglog(rows["total"], rows["largest_error"], marker + "-", color=colour, label=method)
        axis.axhline(2.0**-53, color=GREY, lw=0.8, ls="--", zorder=0)
        axis.set(xlabel="$M$", ylabel=f"largest {label}")
    ends = table[(table["method"] == "recurrence") & table["largest_error"].isna()]["total"]
    if len(ends):
        panels[0].axvline(ends.min(), color=GREY, lw=0.8)
        panels[0].annotate(f"overflow at {ends.min()}", (ends.min(), 0.02), (-3, 0), ("data", "axes fraction"),
                           textcoords="offset points", ha="right", va="bottom", fontsize=6)  # fmt: skip
    exact = table[(table["method"] == "recurrence") & (table["largest_error"] == 0)]["total"]
    if len(exact):
        panels[0].plot(exact, np.full(len(exact), 2.0**-53 / 3), "o", mfc="none", color=BLUE, label="exact (error 0)")
    for axis in panels:
        axis.annotate(r"$2^{-53}$", (0.99, 2.0**-53), (0, 2), ("axes fraction", "data"),
                      textcoords="offset points", ha="right", fontsize=6)  # fmt: skip
    for axis in panels:
        axis.legend(loc="upper left")
    letters(panels)
    return figure


def table_2(table: pd.DataFrame) -> Figure:
    """Plot the computing times of methods 2 and 3 relative to method 1, for each set-up and environment, together with
    the printed ratios.
    """
    setups = [s for s in _SETUPS if s in set(table["setup"])]
    environments = sorted(set(table["environment"]) & {"Python", "R"})
    figure = Figure(figsize=(DOUBLE, 2.6))
    panels = figure.subplots(1, len(environments), sharey=True, squeeze=False)[0]
    looks = {2: ("2: exp of logs", ORANGE, "s", "--"), 3: ("3: exp of logs, compiled", BLUE, "o", ":")}
    printed = table[table["variant"] == "published"].set_index("method")["ratio"]
    for axis, environment in zip(panels, environments, strict=True):
        axis.axhline(1, color=BLACK, lw=0.8, label="1: powers")
        for method, (name, colour, marker, line) in looks.items():
            rows = table[(table["environment"] == environment) & (table["method"] == method)].set_index("setup")
            rows = rows.reindex(setups)
            x = np.arange(len(setups)) + 0.2 * (method - 2.5)
            look: dict[str, Any] = {"color": colour, "lw": 1.2, "marker": marker, "ms": 7, "mfc": "none", "label": name}
            interval(axis, x, rows["ratio"], rows["low"], rows["high"], **look)
            if method in printed.index:
                axis.axhline(printed[method], color=colour, lw=0.8, ls=line, zorder=0, label=f"{method}, printed")
        log_scale(axis)
        axis.set_xticks(range(len(setups)), [_SETUPS[setup] for setup in setups])
        axis.set_xlim(-0.5, len(setups) - 0.5)
        axis.set_title(environment)
    panels[0].set_ylabel("time relative to method 1")
    figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return figure


def figure_3(table: pd.DataFrame) -> Figure:
    """Plot the computing time per posterior against the total M, on a logarithmic scale."""
    figure = Figure(figsize=(DOUBLE, 3.0))
    axis = figure.subplots()
    measured = table[table["median"].notna()]
    order = measured[measured["total"] == measured["total"].max()].groupby("method")["median"].median()
    colours = {
        "standard (R dmultinom)": RED,
        "table (R)": YELLOW,
        "table (R and C)": ORANGE,
        "vectorised, no table (R)": PINK,
        "vectorised, no table (NumPy)": "#555555",
        "standard (Python)": "#8B5A2B",
        "table (NumPy)": SKY,
    }
    colours |= {"table (compiled)": BLUE, "convolution Gibbs": GREEN, "exact draws": BLACK}
    for number, method in enumerate(order.sort_values(ascending=False).index):
        rows = measured[measured["method"] == method].groupby("total")
        middle = rows["median"].median()
        look: dict[str, Any] = {"color": colours.get(method, GREY), "mfc": None if number < len(MARKERS) else "white"}
        axis.plot(middle.index, middle, MARKERS[number % len(MARKERS)] + "-", label=method, **look)
        axis.fill_between(
            middle.index,
            rows["low"].median(),
            rows["high"].median(),
            color=colours.get(method, GREY),
            alpha=0.15,
            lw=0,
        )
    for method in table.loc[table["median"].isna(), "method"]:
        axis.plot([], [], " ", label=f"{method}: not run")
    axis.set(yscale="log", xlabel="$M$", ylabel="CPU seconds per posterior")
    axis.set_xticks(sorted(measured["total"].unique().astype(int)))
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def choosing_epsilon(table: pd.DataFrame) -> Figure:
    """Plot the posterior standard deviation against epsilon, with one line for each total M. Dashed lines show the
    standard deviation without noise.
    """
    figure = Figure(figsize=(SINGLE, 2.5))
    axis = figure.subplots()
    for number, (total, rows) in enumerate(table.groupby("total")):
        noisy = rows[np.isfinite(rows["epsilon"])]
        axis.errorbar(
            noisy["epsilon"],
            noisy["sd"],
            2 * noisy["sd_se"],
            fmt=MARKERS[number % len(MARKERS)] + "-",
            color=CYCLE[number % len(CYCLE)],
            label=f"$M$ = {total}",
        )
        axis.axhline(
            rows.loc[np.isinf(rows["epsilon"]), "sd"].item(), color=CYCLE[number % len(CYCLE)], ls="--", lw=0.8
        )
    axis.plot([], [], "--", color=GREY, lw=0.8, label="without noise")
    axis.set(xlabel=r"$\varepsilon$", ylabel="posterior sd of $r$", ylim=(0, None))
    log_scale(axis, "x", table.loc[np.isfinite(table["epsilon"]), "epsilon"])
    axis.legend()
    return figure


def realised_share(table: pd.DataFrame) -> Figure:
    """Plot the posterior distribution functions of the realised share and of the share r = p1/(p1 + p0)."""
    settings = list(dict.fromkeys(table["setting"]))
    figure = Figure(figsize=(DOUBLE, 2.2))
    panels = figure.subplots(1, len(settings), sharey=True, squeeze=False)[0]
    for axis, setting in zip(panels, settings, strict=True):
        rows = table[table["setting"] == setting]
        share, r = rows[rows["kind"] == "share"], rows[rows["kind"] == "r"]
        axis.plot(r["x"], r["y"], color=BLACK, label="$r$")
        axis.step(share["x"], share["y"].cumsum(), where="post", color=RED, lw=0.9, label="realised share")
        axis.set(title=f"({setting}) S = ({rows['counts'].iloc[0]})", xlabel="share", xlim=(0, 1), ylim=(0, 1.02))
        axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    panels[0].set_ylabel("posterior P(share ≤ x)")
    figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def six_categories(table: pd.DataFrame) -> Figure:
    """Plot the density, the interval, the noisy share and the true share of every category, with one curve per category
    in a single panel.
    """
    figure = Figure(figsize=(SINGLE, 3.2))
    axis = figure.subplots()
    total = table.loc[table["kind"] == "count", "y"].sum()
    peak = table.loc[table["kind"] == "density", "y"].max()
    noisy = table.loc[table["kind"] == "noisy", "y"] / total
    low, high = noisy.min(), max(noisy.max(), table.loc[table["kind"] == "upper", "y"].max())
    for category, rows in table.groupby("category"):
        value = rows[rows["x"].isna()].set_index("kind")["y"]
        curve = rows[rows["kind"] == "density"]
        base = -float(cast("float", category))
        axis.fill_between(curve["x"], base, base + 0.8 * curve["y"] / peak, color=SKY, alpha=0.6, lw=0)
        axis.plot(
            [value["lower"], value["upper"]],
            [base, base],
            color=BLACK,
            lw=1.5,
            label="95 % interval" if category == 1 else None,
        )
        axis.plot(
            value["noisy"] / total,
            base,
            "o",
            mfc="white",
            color=RED,
            label="noisy count / M" if category == 1 else None,
        )
        axis.plot(value["count"] / total, base, "s", color=BLUE, label="true count / M" if category == 1 else None)
    axis.set_yticks(-table["category"].unique().astype(float), table["category"].unique())
    axis.set(xlabel="share", ylabel="category", xlim=(min(-0.05, low - 0.02), min(1.05, high + 0.1)))
    axis.legend(loc="lower right")
    return figure
