"""Figures of the experiments on data sets: naive Bayes, Bayesian networks."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from ...style import BLACK, BLUE, DOUBLE, GREEN, GREY, ORANGE, RED, log_scale
from .figure_panels import (
    ACCURACY,
    BUDGET,
    LIKELIHOOD,
    LOOKS,
    LOSS,
    REACH,
    empty,
    grid,
    legend,
    mark,
    panel,
    read_off_print,
    short,
)

METHODS = ("dirichlet", "dirichlet, exact", "gaussian", "laplace", "gohari")


def figure_4(table: pd.DataFrame) -> Figure:
    """Cross-entropy by data set: the author's protocol and the corrected one."""
    return _scores(table, "figure_4", "cross_entropy", LOSS, log=True)


def figure_5(table: pd.DataFrame) -> Figure:
    """Accuracy by data set, as `figure_4`."""
    return _scores(table, "figure_5", "accuracy", ACCURACY, log=False)


def figure_9(table: pd.DataFrame) -> Figure:
    """Cross-entropy under approximate differential privacy."""
    return _scores(table, "figure_9", "cross_entropy", LOSS, log=True, budget=REACH)


def figure_10(table: pd.DataFrame) -> Figure:
    """Accuracy under approximate differential privacy."""
    return _scores(table, "figure_10", "accuracy", ACCURACY, log=False, budget=REACH)


def bundled_sets(table: pd.DataFrame) -> Figure:
    """Cross-entropy (above) and accuracy (below) on the sets that scikit-learn carries."""
    names = list(dict.fromkeys(table["dataset"]))
    figure = Figure(figsize=(DOUBLE, 4.2))
    axes = figure.subplots(2, len(names), squeeze=False)
    for column, name in enumerate(names):
        for row, (measure, label) in enumerate((("cross_entropy", LOSS), ("accuracy", ACCURACY))):
            axis = axes[row, column]
            panel(axis, table[table["dataset"] == name], measure, "corrected")
            axis.set_ylabel(label if column == 0 else "")
            if row == 0:
                log_scale(axis)
        axes[0, column].set_title(name.removeprefix("bundled_").replace("_", " "))
    figure.supxlabel(BUDGET, fontsize=8)
    legend(figure, table, ("dirichlet", "dirichlet, exact", "gaussian", "laplace"))
    return figure


def clipping_floor(table: pd.DataFrame) -> Figure:
    """Cross-entropy of the Gaussian mechanism by the floor under its noisy counts, beside the Dirichlet."""
    figure, axes = grid(table, 1)
    shades = {"1e-06": (RED, ":"), "0.1": (ORANGE, "--"), "1.0": (GREEN, "-."), "sigma": (BLACK, "-")}
    for axis, name in axes:
        rows = table[table["dataset"] == name]
        if empty(axis, rows):
            continue
        for floor, (colour, line) in shades.items():
            some = rows[(rows["method"] == "gaussian") & (rows["floor"].astype(str) == floor)].sort_values("epsilon")
            _with_errors(axis, some, line, colour)
        _with_errors(axis, rows[rows["method"] == "dirichlet"].sort_values("epsilon"), "o-", BLUE)
        log_scale(axis, "xy")
    handles = [Line2D([], [], color=c, ls=s, label=_floor_label(f)) for f, (c, s) in shades.items()]
    handles.append(Line2D([], [], color=BLUE, marker="o", label="Dirichlet"))
    figure.legend(handles=handles, loc="outside upper center", ncol=5)
    figure.supxlabel(BUDGET, fontsize=8)
    figure.supylabel(LOSS, fontsize=8)
    return figure


def paired_differences(table: pd.DataFrame) -> Figure:
    """Dirichlet minus Gaussian with its interval: floor 1e-6 and floor sigma."""
    table = table[table["method"].isin(["gaussian", "not_run"]) & (table["measure"] == "cross_entropy")]
    looks = {"1e-06": (RED, "--"), "sigma": (BLACK, "-")}
    figure, axes = grid(table, 1)
    for axis, name in axes:
        if empty(axis, table[table["dataset"] == name]):
            continue
        axis.axhline(0, color=GREY, lw=0.8)
        for floor, (colour, line) in looks.items():
            rows = table[(table["dataset"] == name) & (table["floor"].astype(str) == floor)].sort_values("epsilon")
            axis.fill_between(rows["epsilon"], rows["lower"], rows["upper"], color=colour, alpha=0.25, lw=0)
            axis.plot(rows["epsilon"], rows["difference"], line, color=colour)
        log_scale(axis, "x")
        axis.set_yscale("symlog", linthresh=0.1)
        axis.yaxis.set_major_formatter(FuncFormatter(short))
    handles = [Line2D([], [], color=c, ls=s, label=_floor_label(f)) for f, (c, s) in looks.items()]
    figure.legend(handles=handles, loc="outside upper center", ncol=2)
    figure.supxlabel(BUDGET, fontsize=8)
    figure.supylabel("cross-entropy, Dirichlet − Gaussian\n(nats; linear within ±0.1, then log)", fontsize=8)
    return figure


def figure_7(table: pd.DataFrame) -> Figure:
    """Log-likelihoods of the networks: the printed budget, the stated budget, and corrected, from top to bottom."""
    return _likelihoods(
        table,
        "figure_7",
        {"published": r"published, $\varepsilon/3$", "stated_share": "stated budget", "corrected": "corrected"},
        BUDGET,
    )


def figure_11(table: pd.DataFrame) -> Figure:
    """Log-likelihoods of the networks under approximate differential privacy."""
    return _likelihoods(table, "figure_11", {"published": "as published", "corrected": "corrected"}, REACH)


def _scores(table: pd.DataFrame, artefact: str, measure: str, label: str, *, log: bool, budget: str = BUDGET) -> Figure:
    """One panel a data set, in the paper's order: published curves dashed with open marks, corrected ones solid."""
    figure, panels = grid(table, 1, height=2.5)
    printed = read_off_print(artefact)
    for axis, name in panels:
        rows = table[table["dataset"] == name]
        if empty(axis, rows):
            continue
        panel(axis, rows, measure, "published", faint=True)
        panel(axis, rows, measure, "corrected")
        literal = rows[(rows["variant"] == "as_written") & (rows["method"] == "dirichlet")].sort_values("epsilon")
        axis.plot(literal["epsilon"], literal[f"{measure}_mean"], ":", color=BLUE)
        for row in printed[printed["dataset"] == name].itertuples():
            mark(axis, rows["epsilon"].max(), row)
        if log:
            log_scale(axis)
    further = [
        Line2D([], [], color=BLACK, ls="--", marker="o", mfc="white", lw=0.6, ms=2.8, label="open, dashed: published"),
        Line2D([], [], color=BLACK, marker="o", lw=0.9, ms=2.2, label="filled, solid: corrected"),
    ]
    if len(printed):
        further.append(_printed("non-private, read off print"))
    legend(figure, table, METHODS, further)
    figure.supxlabel(budget, fontsize=8)
    figure.supylabel(label, fontsize=8)
    return figure


def _likelihoods(table: pd.DataFrame, artefact: str, variants: dict[str, str], budget: str) -> Figure:
    """One row a variant, one column a network; points read off print in the first row."""
    printed = read_off_print(artefact)
    names = list(dict.fromkeys(table["dataset"]))
    figure = Figure(figsize=(DOUBLE, 1.9 * len(variants) + 0.5))
    axes = figure.subplots(len(variants), len(names), squeeze=False, sharex=True)
    for row, (variant, word) in enumerate(variants.items()):
        for column, name in enumerate(names):
            axis, rows = axes[row, column], table[table["dataset"] == name]
            axis.set_title(f"{name}, {word}", fontsize=7)
            if empty(axis, rows):
                continue
            panel(
                axis,
                rows.assign(
                    log_likelihood_mean=rows["log_likelihood_mean"] / 1e3,
                    log_likelihood_sd=rows["log_likelihood_sd"] / 1e3,
                ),
                "log_likelihood",
                variant,
            )
            if variant == "published":
                for spot in printed[printed["dataset"] == name].itertuples():
                    method, epsilon = str(spot.what).split(" at epsilon = ")
                    mark(axis, float(epsilon), spot, LOOKS[method][1], unit=1e3)
    legend(figure, table, METHODS, [_printed("read off print")] if len(printed) else ())
    figure.supxlabel(budget, fontsize=8)
    figure.supylabel(f"{LIKELIHOOD} (thousand nats)", fontsize=8)
    return figure


def _with_errors(axis: Axes, rows: pd.DataFrame, line: str, colour: str) -> None:
    """Mean cross-entropy with two standard errors."""
    look: dict[str, Any] = {"fmt": line, "color": colour, "ms": 2.2, "elinewidth": 0.6}
    axis.errorbar(rows["epsilon"], rows["cross_entropy_mean"], 2 * rows["cross_entropy_se"], **look)


def _printed(label: str) -> Line2D:
    return Line2D([], [], color=BLACK, ls="", marker="D", mfc="white", ms=4.5, label=label)


def _floor_label(floor: str) -> str:
    return {"1e-06": r"Gaussian, floor $10^{-6}$", "sigma": r"Gaussian, floor $\sigma$"}.get(
        floor, f"Gaussian, floor {floor}"
    )
