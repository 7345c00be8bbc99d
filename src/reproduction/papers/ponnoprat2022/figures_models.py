"""Figures of the experiments on data sets: naive Bayes, Bayesian networks."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from ...style import BLACK, BLUE, DOUBLE, GREEN, GREY, ORANGE, RED
from .figure_panels import ACCURACY, BUDGET, LIKELIHOOD, LOSS, REACH, empty, grid, legend, panel, plain_log, short


def figure_4(table: pd.DataFrame) -> Figure:
    """Cross-entropy by data set: the author's protocol above, the corrected one below."""
    return _scores(table, "cross_entropy", LOSS, log=True)


def figure_5(table: pd.DataFrame) -> Figure:
    """Accuracy by data set, as `figure_4`."""
    return _scores(table, "accuracy", ACCURACY, log=False)


def figure_9(table: pd.DataFrame) -> Figure:
    """Cross-entropy under approximate differential privacy."""
    return _scores(table, "cross_entropy", LOSS, log=True, budget=REACH)


def figure_10(table: pd.DataFrame) -> Figure:
    """Accuracy under approximate differential privacy."""
    return _scores(table, "accuracy", ACCURACY, log=False, budget=REACH)


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
                plain_log(axis)
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
        axis.set_xscale("log")
        plain_log(axis)
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
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=0.1)
        axis.yaxis.set_major_formatter(FuncFormatter(short))
    handles = [Line2D([], [], color=c, ls=s, label=_floor_label(f)) for f, (c, s) in looks.items()]
    figure.legend(handles=handles, loc="outside upper center", ncol=2)
    figure.supxlabel(BUDGET, fontsize=8)
    figure.supylabel("cross-entropy, Dirichlet − Gaussian (nats)", fontsize=8)
    return figure


def figure_7(table: pd.DataFrame) -> Figure:
    """Log-likelihoods of the networks: the printed budget, the stated budget, and corrected, from top to bottom."""
    return _likelihoods(
        table,
        {"published": r"published, $\varepsilon/3$", "stated_share": "stated budget", "corrected": "corrected"},
        BUDGET,
    )


def figure_11(table: pd.DataFrame) -> Figure:
    """Log-likelihoods of the networks under approximate differential privacy."""
    return _likelihoods(table, {"published": "as published", "corrected": "corrected"}, REACH)


def _scores(table: pd.DataFrame, measure: str, label: str, *, log: bool, budget: str = "") -> Figure:
    """Published panels above corrected ones, in the paper's order of data sets."""
    figure, panels = grid(table, 2)
    half = len(panels) // 2
    for number, (axis, name) in enumerate(panels):
        variant = "published" if number < half else "corrected"
        rows = table[table["dataset"] == name]
        axis.set_title(f"{name}, {variant}", fontsize=7)
        if empty(axis, rows):
            continue
        panel(axis, rows, measure, variant)
        if variant == "published" and (rows["variant"] == "as_written").any():
            literal = rows[(rows["variant"] == "as_written") & (rows["method"] == "dirichlet")].sort_values("epsilon")
            axis.plot(literal["epsilon"], literal[f"{measure}_mean"], ":", color=BLUE)
        if log:
            plain_log(axis)
    shown = ("dirichlet", "dirichlet, exact", "gaussian", "laplace", "gohari")
    legend(figure, table, shown)
    figure.supxlabel(budget or BUDGET, fontsize=8)
    figure.supylabel(label, fontsize=8)
    return figure


def _likelihoods(table: pd.DataFrame, variants: dict[str, str], budget: str) -> Figure:
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
    legend(figure, table, ("dirichlet", "dirichlet, exact", "gaussian", "laplace", "gohari"))
    figure.supxlabel(budget, fontsize=8)
    figure.supylabel(f"{LIKELIHOOD} (thousand nats)", fontsize=8)
    return figure


def _with_errors(axis: Axes, rows: pd.DataFrame, line: str, colour: str) -> None:
    """Mean cross-entropy with two standard errors."""
    look: dict[str, Any] = {"fmt": line, "color": colour, "ms": 2.2, "elinewidth": 0.6}
    axis.errorbar(rows["epsilon"], rows["cross_entropy_mean"], 2 * rows["cross_entropy_se"], **look)


def _floor_label(floor: str) -> str:
    return {"1e-06": r"Gaussian, floor $10^{-6}$", "sigma": r"Gaussian, floor $\sigma$"}.get(
        floor, f"Gaussian, floor {floor}"
    )
