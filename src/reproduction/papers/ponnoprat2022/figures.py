"""Figures of Ponnoprat (2022) and of what goes beyond it."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...style import BLACK, BLUE, DOUBLE, GREEN, GREY, MARKERS, ORANGE, RED, SINGLE, interval, letters, log_scale
from .figures_models import (
    bundled_sets,
    clipping_floor,
    figure_4,
    figure_5,
    figure_7,
    figure_9,
    figure_10,
    figure_11,
    paired_differences,
)
from .network_figure import figure_6

__all__ = [
    "bundled_sets",
    "clipping_floor",
    "exact_calibration",
    "figure_1",
    "figure_2",
    "figure_3_bottom",
    "figure_3_top",
    "figure_4",
    "figure_5",
    "figure_6",
    "figure_7",
    "figure_8",
    "figure_9",
    "figure_10",
    "figure_11",
    "paired_differences",
    "theorem_2",
]


_STARTS = "Algorithm 1 (starts at the dot)"
SERIES = {
    ("Algorithm 1", "corrected"): (_STARTS, BLUE, "-"),
    ("Algorithm 1", "published"): (r"Algorithm 1 as printed ($\delta=2$)", BLUE, ":"),
    ("exact profile", "corrected"): ("exact profile", BLACK, "-"),
    ("Gohari et al.", "corrected"): ("Gohari et al.", RED, "-"),
}


def figure_1(table: pd.DataFrame) -> Figure:
    """psi' between the bounds of equation 6; below, the bounds over psi'."""
    figure = Figure(figsize=(SINGLE, 3.2))
    panels: Any = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    axis, ratio = panels
    axis.fill_between(
        table["x"], table["lower"], table["upper"], color=GREY, alpha=0.6, lw=0, label="bounds, equation 6"
    )
    axis.plot(table["x"], table["trigamma"], color=BLACK, label=r"$\psi'(x)$")
    axis.set(ylabel=r"$\psi'(x)$", yscale="log")
    axis.legend()
    ratio.fill_between(
        table["x"], table["lower"] / table["trigamma"], table["upper"] / table["trigamma"], color=GREY, alpha=0.6, lw=0
    )
    ratio.axhline(1, color=BLACK)
    ratio.set(xlabel="$x$", ylabel=r"over $\psi'(x)$")
    return figure


def figure_2(table: pd.DataFrame) -> Figure:
    """delta against gamma: over the whole range, and over the range of the printed plot."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    axes = figure.subplots(1, 2)
    looks = {"corrected": ("exact", BLACK, "-"), "published": ("quadrature of degree 50", RED, "--")}
    for axis in axes:
        for variant, (label, colour, line) in looks.items():
            rows = table[table["variant"] == variant]
            shown = rows[rows["delta"] > 0]
            axis.plot(shown["gamma"], shown["delta"], line, color=colour, label=label)
        axis.axhline(2.1e-4, color=GREY, lw=3, zorder=0, label=r"printed floor, $2.1\times10^{-4}$")
        axis.set(xlabel=r"$\gamma$", ylabel=r"$\delta$", yscale="log")
    axes[0].set(xscale="log")
    least = table["gamma"][table["gamma"] > 1e-5].min()
    axes[1].set(xlim=(least, table["gamma"].max()), ylim=(1e-14, 1e-2))
    reach = table["gamma_for_1e-5"].iloc[0]
    (point,) = axes[1].plot([reach], [1e-5], "o", color=BLACK, label=r"$\delta=10^{-5}$")
    axes[1].legend(handles=[point], loc="lower right")
    axes[1].ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
    axes[0].legend(loc="lower right")
    letters(axes)
    return figure


def figure_3_top(table: pd.DataFrame) -> Figure:
    """Rényi divergence against r, one column an order; below, over the exact worst case."""
    orders = sorted(table["order"].unique())
    figure = Figure(figsize=(DOUBLE, 3.6))
    panels = figure.subplots(2, len(orders), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2))
    looks = {
        ("Algorithm 1", "corrected"): ("Algorithm 1", BLUE, "-"),
        ("worst case", "corrected"): ("exact worst case", BLACK, "-"),
        ("divergence", "published"): ("pair of the figure", ORANGE, "--"),
        ("divergence", "as_written"): ("pair of the text", RED, ":"),
    }
    for (axis, below), order in zip(panels.T, orders, strict=True):
        of = table[table["order"] == order].set_index(["series", "variant"])
        worst = of.loc[("worst case", "corrected"), "epsilon"].to_numpy()
        for key, (label, colour, line) in looks.items():
            rows = of.loc[key]
            axis.loglog(rows["r"], rows["epsilon"], line, color=colour, label=label)
            below.semilogx(rows["r"], rows["epsilon"] / worst, line, color=colour)
        axis.set(title=rf"$\lambda={order:g}$")
        below.set(xlabel="$r$")
    panels[0, 0].set_ylabel(r"Rényi divergence $\varepsilon$ (nats)")
    panels[1, 0].set_ylabel("over the worst case")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncol=4)
    letters(panels.ravel())
    return figure


def figure_3_bottom(table: pd.DataFrame) -> Figure:
    """Expected KL divergence against epsilon_hat, one panel an order; bands are one standard deviation of a draw."""
    orders = sorted(table["order"].unique())
    figure = Figure(figsize=(DOUBLE, 3.0))
    axes = figure.subplots(1, len(orders), sharey=True, squeeze=False)[0]
    for axis, order in zip(axes, orders, strict=True):
        for (series, variant), (label, colour, line) in SERIES.items():
            rows = table[(table["order"] == order) & (table["series"] == series) & (table["variant"] == variant)]
            rows = rows.sort_values("epsilon_hat")
            low = np.maximum(rows["kl_mean"] - rows["kl_sd"], rows["kl_mean"] / 10)
            if variant == "corrected":
                axis.fill_between(
                    rows["epsilon_hat"], low, rows["kl_mean"] + rows["kl_sd"], color=colour, alpha=0.15, lw=0
                )
            start = {"marker": "o", "ms": 3, "markevery": [0]} if label == _STARTS and len(rows) else {}
            axis.loglog(rows["epsilon_hat"], rows["kl_mean"], line, color=colour, label=label, **start)
        axis.axhline(table["kl_uniform"].iloc[0], color=GREY, lw=1, ls="-.", label="uniform")
        reach = table[table["series"] != "Gohari et al."]["epsilon_hat"]
        axis.set(
            xlabel=_reach(table),
            title=rf"$\lambda={order:g}$",
            xlim=(reach.min(), reach.max()),
        )
    axes[0].set_ylabel(r"$D_{\mathrm{KL}}(f\,\Vert\,y)$ (nats)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=5)
    letters(axes)
    return figure


def figure_8(table: pd.DataFrame) -> Figure:
    """epsilon_hat of equation 14 against r."""
    figure = Figure(figsize=(SINGLE, 2.6))
    axis = figure.subplots()
    looks = zip(sorted(table["order"].unique()), (BLUE, RED, GREEN, ORANGE), MARKERS, strict=False)
    for order, colour, marker in looks:
        for variant, line in (("corrected", "-"), ("published", ":")):
            rows = table[(table["order"] == order) & (table["variant"] == variant)]
            look: dict[str, Any] = {"color": colour, "marker": marker, "markevery": 0.18}
            look |= {"label": rf"$\lambda={order:g}$"} if line == "-" else {"mfc": "none"}
            axis.plot(rows["r"], rows["epsilon_hat"], line, **look)
    axis.plot([], [], ":", color=BLACK, label=r"printed ($\Delta_2^2=1$)")
    axis.set(xlabel="$r$", ylabel=_reach(table), yscale="log")
    axis.legend()
    return figure


def exact_calibration(table: pd.DataFrame) -> Figure:
    """Expected KL by calibration, for both kinds of privacy."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    axes = figure.subplots(1, 2, sharey=True)
    looks = {"Algorithm 1": (BLUE, "o-"), "exact worst case": (ORANGE, "s--"), "exact, free alpha": (BLACK, "^-")}
    for axis, privacy in zip(axes, ("renyi", "approximate"), strict=True):
        for method, (colour, line) in looks.items():
            rows = table[(table["privacy"] == privacy) & (table["method"] == method)]
            if len(rows):
                label = method.replace("alpha", r"$\alpha$")
                if privacy == "approximate":
                    label = label.replace("Algorithm 1", r"Algorithm 1, best $\lambda$")
                axis.loglog(rows["epsilon"], rows["kl_mean"], line, color=colour, label=label)
        axis.legend()
    order = table["order"].iloc[0]
    axes[0].set(
        xlabel=rf"Rényi $\varepsilon$ at $\lambda={order:g}$", ylabel=r"expected $D_{\mathrm{KL}}(f\,\Vert\,y)$ (nats)"
    )
    axes[1].set(xlabel=_reach(table))
    letters(axes)
    return figure


def theorem_2(table: pd.DataFrame) -> Figure:
    """Frequency of a divergence above eta beside the bound, against alpha."""
    etas = sorted(table["eta"].unique())
    figure = Figure(figsize=(DOUBLE, 2.7))
    axes = figure.subplots(1, len(etas), sharey=True, squeeze=False)[0]
    for axis, eta in zip(axes, etas, strict=True):
        axis.axvspan(table["alpha"].min() * 0.85, 0.5, color=GREY, alpha=0.3, lw=0, label=r"$\alpha<1/2$: not proved")
        sizes = sorted(table["cells"].unique())
        looks = zip(sizes, (BLUE, RED, GREEN, ORANGE), MARKERS, ("-", "--", "-.", ":"), strict=False)
        for number, (cells, colour, marker, line) in enumerate(looks):
            rows = table[(table["eta"] == eta) & (table["cells"] == cells)].sort_values("alpha")
            aside = 1.05 ** (2 * number + 1 - len(sizes))  # so that points do not lie on each other
            x, y, reach = aside * rows["alpha"], rows["frequency"], 2 * rows["mc_se"]
            look: dict[str, Any] = {"marker": marker, "ms": 3, "mfc": "white", "color": colour, "label": f"$d={cells}$"}
            interval(axis, x, y, y - reach, y + reach, **look)
            axis.plot(rows["alpha"], rows["bound"], line, color=colour, lw=0.9, label=f"bound, $d={cells}$")
        axis.set(xlabel=r"$\alpha$", title=rf"$\eta={eta:g}$", ylim=(-0.05, 1.05))
        log_scale(axis, "x")
    axes[0].set_ylabel(r"$\Pr[D_{\mathrm{KL}}(p\,\Vert\,q)>\eta]$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=4, columnspacing=1.2)
    letters(axes)
    return figure


def _reach(table: pd.DataFrame) -> str:
    """Label of an axis of epsilon_hat, with the table's delta."""
    delta = table["delta"].iloc[0]
    power = np.log10(delta)
    shown = f"10^{{{round(power)}}}" if np.isclose(power, round(power)) else f"{delta:g}"
    return rf"$\hat\varepsilon$ at $\delta={shown}$"
