"""Figures of Wang (2020) and of what goes beyond it."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...style import BLACK, BLUE, CYCLE, DOUBLE, GREY, MARKERS, RED, SINGLE, SKY, letters
from ...table_tests import LARGEST_Z
from .figures_of_posteriors import comparison, fifty_components, precision, scenario, windows

SYMBOLS = {
    "N_min": r"$N_{min}$",
    "N_q1": r"$N_{q1}$",
    "N_med": r"$N_{med}$",
    "N_q3": r"$N_{q3}$",
    "N_max": r"$N_{max}$",
}

__all__ = [
    "agreement",
    "calibration",
    "comparison",
    "fifty_components",
    "figure_1",
    "precision",
    "privacy",
    "scenario",
    "tie_rules",
    "windows",
]


def figure_1(table: pd.DataFrame) -> Figure:
    """Histogram of the true counts with the counts themselves below."""
    figure = Figure(figsize=(SINGLE, 2.4))
    axis = figure.subplots()
    axis.hist(table["count"], bins=range(0, 1001, 50), color=SKY, edgecolor="white", lw=0.5)
    top = axis.get_ylim()[1]
    axis.plot(table["count"], np.full(len(table), -0.03 * top), "|", color=BLACK, ms=4, mew=0.6, clip_on=False)
    chosen = table[table["representative"] != ""]
    axis.plot(chosen["count"], np.full(len(chosen), 1.03 * top), "v", color=RED, clip_on=False)
    for count, name in chosen[["count", "representative"]].to_numpy():
        left = name == "N_q1"  # stands close to the minimum
        axis.text(
            count - 20 * left, 1.08 * top, SYMBOLS[name], ha="left" if left else "center", va="bottom", fontsize=7
        )
    axis.set(xlabel="true count $N_s$", ylabel="number of components", ylim=(-0.06 * top, 1.2 * top), xlim=(-30, 1000))
    axis.spines["left"].set_bounds(0, top)
    axis.set_yticks([t for t in axis.get_yticks() if 0 <= t <= top and t == int(t)])
    return figure


def tie_rules(table: pd.DataFrame) -> Figure:
    """Bias and variance of algorithm 3 by tie rule."""
    rules = {"first": "lowest index", "last": "highest index", "random": "random", "ieee": "rounding (as written)"}
    figure = Figure(figsize=(DOUBLE, 2.5))
    panels = figure.subplots(1, 2)
    for number, (rule, label) in enumerate(rules.items()):
        rows = table[table["ties"] == rule].reset_index(drop=True)
        x = np.arange(len(rows)) + 0.18 * (number - 1.5)
        truths: tuple[pd.Series | int, ...] = (rows["true"], 0)
        for axis, what, true in zip(panels, ("mean", "variance"), truths, strict=True):
            look = {"color": CYCLE[number], "marker": MARKERS[number], "ls": ""}
            axis.errorbar(x, rows[what] - true, 2 * rows[f"{what}_se"], mfc="none", label=label, lw=0.8, **look)
            axis.plot(x, rows[f"exact_{what}"] - true, ms=2, **look)
    panels[0].axhline(0, color=GREY, lw=0.8, zorder=0)
    panels[1].set_yscale("log")
    panels[1].set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    panels[1].minorticks_off()
    names = [f"{SYMBOLS[r]} = {t}" for r, t in table[["representative", "true"]].drop_duplicates().to_numpy()]
    for axis, label in zip(panels, ("mean $-$ true count", "variance"), strict=True):
        axis.set_xticks(range(len(names)), names, fontsize=6)
        axis.set_ylabel(label)
    panels[0].legend(loc="upper left")
    letters(panels)
    return figure


def calibration(table: pd.DataFrame) -> Figure:
    """PIT histograms: one column per release, components above totals."""
    methods, quantities = list(dict.fromkeys(table["method"])), list(dict.fromkeys(table["quantity"]))
    figure = Figure(figsize=(DOUBLE, 3.0))
    panels = figure.subplots(len(quantities), len(methods), sharex=True, sharey=True, squeeze=False)
    for row, quantity in enumerate(quantities):
        for column, method in enumerate(methods):
            axis = panels[row, column]
            bars = table[(table["quantity"] == quantity) & (table["method"] == method)]
            axis.axhspan(bars["lower"].iloc[0], bars["upper"].iloc[0], color=GREY, alpha=0.6, lw=0)
            edges = np.append(bars["bin"], 1.0)
            axis.plot(np.repeat(edges, 2)[1:-1], np.repeat(bars["density"].to_numpy(), 2), color=BLUE)
            if row == 0:
                axis.set_title(method)
        panels[row, 0].set_ylabel(f"{quantity}\ndensity")
    for axis in panels[-1]:
        axis.set(xlabel="PIT of the true value", xlim=(0, 1), ylim=(0, None))
    return figure


def privacy(table: pd.DataFrame) -> Figure:
    """Delta against the claimed epsilon, on a log axis: it drops where the claim becomes true."""
    figure = Figure(figsize=(SINGLE, 2.5))
    axis = figure.subplots()
    looks = ((SKY, "s", 4), (BLUE, "o", 3))
    for (counts, rows), (colour, marker, size) in zip(table.groupby("counts", sort=False), looks, strict=True):
        shown = rows[rows["delta"] > 0].sort_values("claimed")
        axis.plot(shown["claimed"], shown["delta"], marker, color=colour, ms=size, label=counts)
        for place in rows[rows["delta"] < 1e-9].nsmallest(1, "claimed").itertuples():
            axis.annotate(rf"$\delta$ = {place.delta:.1e}", (place.claimed, place.delta), (0, 8),
                          textcoords="offset points", ha="center", fontsize=6)  # fmt: skip
    axis.set(xlabel=r"claimed $\varepsilon$", ylabel=r"smallest $\delta$", yscale="log", ylim=(1e-24, 30))
    axis.set_yticks([1e-24, 1e-18, 1e-12, 1e-6, 1])
    axis.minorticks_off()
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def agreement(table: pd.DataFrame) -> Figure:
    """z of every printed mean and variance of the two simulation tables."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    panels = figure.subplots(1, 2, sharey=True)
    for axis, artefact in zip(panels, ("table_1", "table_3"), strict=True):
        rows = table[(table["artefact"] == artefact) & (table["kind"] == "number")]
        parts = rows["quantity"].str.extract(r"^(?P<algorithm>.*), (?P<place>N_\w+): (?P<what>\w+)$")
        for number, (algorithm, part) in enumerate(parts.groupby("algorithm")):
            for what, fill in (("mean", None), ("variance", "none")):
                chosen = part[part["what"] == what]
                x = [list(SYMBOLS).index(p) + 0.18 * (number - 1.5) for p in chosen["place"]]
                label = algorithm if what == "mean" else None
                look = {"color": CYCLE[number], "mfc": fill or CYCLE[number], "label": label}
                axis.plot(x, rows.loc[chosen.index, "z"], MARKERS[number], **look)
        for level in (-LARGEST_Z, LARGEST_Z):
            axis.axhline(level, color=GREY, lw=0.8, ls="--")
        axis.axhline(0, color=GREY, lw=0.8, zorder=0)
        axis.set_xticks(range(len(SYMBOLS)), SYMBOLS.values())
        axis.set_title(f"Table {artefact[-1]}", loc="left")
        axis.set_ylim(-4.5, 4.5)
    panels[0].set_ylabel("(ours $-$ printed) / standard error")
    handles, labels = panels[0].get_legend_handles_labels()
    for fill, name in ((BLACK, "mean"), ("none", "variance")):
        handles += panels[0].plot([], [], "o", color=BLACK, mfc=fill)
        labels.append(name)
    figure.legend(handles, labels, loc="outside upper center", ncols=6)
    return figure
