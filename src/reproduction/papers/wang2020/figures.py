"""Figures of Wang (2020) and of what goes beyond it."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...style import BLACK, BLUE, CYCLE, DOUBLE, GREY, MARKERS, RED, SINGLE, SKY, calibration_panel, letters
from ...verdicts.table_tests import LARGEST_Z
from .figures_of_posteriors import comparison, fifty_components, precision, windows

SYMBOLS = {
    "N_min": r"$N_{min}$",
    "N_q1": r"$N_{q1}$",
    "N_med": r"$N_{med}$",
    "N_q3": r"$N_{q3}$",
    "N_max": r"$N_{max}$",
}

_BREAK = 1e-9  # smaller deltas come from the cut of the noise alone

__all__ = [
    "agreement",
    "calibration",
    "comparison",
    "fifty_components",
    "figure_1",
    "precision",
    "privacy",
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
        side = {"N_min": "right", "N_q1": "left"}.get(name, "center")  # these two stand close to each other
        aside = {"right": 12, "left": -12, "center": 0}[side]
        axis.text(count + aside, 1.08 * top, SYMBOLS[name], ha=side, va="bottom", fontsize=7)
    axis.set(xlabel="true count $N_s$", ylabel="number of components", ylim=(-0.06 * top, 1.2 * top), xlim=(-30, 1000))
    axis.spines["left"].set_bounds(0, top)
    axis.set_yticks([t for t in axis.get_yticks() if 0 <= t <= top and t == int(t)])
    return figure


def tie_rules(table: pd.DataFrame) -> Figure:
    """Bias of algorithm 3 by tie rule, the largest count apart, and variance over that of random ties."""
    rules = {"first": "lowest index", "last": "highest index", "random": "random", "ieee": "rounding (as written)"}
    figure = Figure(figsize=(DOUBLE, 2.7))
    panels = figure.subplots(1, 3, width_ratios=(4, 1.2, 5))
    random = table[table["ties"] == "random"].set_index("representative")["exact_variance"]
    for number, (rule, label) in enumerate(rules.items()):
        rows = table[table["ties"] == rule].reset_index(drop=True)
        x, scale = np.arange(len(rows)) + 0.18 * (number - 1.5), rows["representative"].map(random)
        bias = (rows["mean"] - rows["true"], 2 * rows["mean_se"], rows["exact_mean"] - rows["true"])
        ratio = (rows["variance"] / scale, 2 * rows["variance_se"] / scale, rows["exact_variance"] / scale)
        largest = np.arange(len(rows)) == len(rows) - 1
        for axis, (value, error, exact), shown in zip(
            panels, (bias, bias, ratio), (~largest, largest, largest | True), strict=True
        ):
            look = {"color": CYCLE[number], "marker": MARKERS[number], "ls": ""}
            axis.errorbar(x[shown], value[shown], error[shown], mfc="none", label=label, lw=0.8, **look)
            axis.plot(x[shown], exact[shown], ms=2, **look)
    panels[0].axhline(0, color=GREY, lw=0.8, zorder=0)
    panels[2].axhline(1, color=GREY, lw=0.8, zorder=0)
    names = [f"{SYMBOLS[r]}\n= {t}" for r, t in table[["representative", "true"]].drop_duplicates().to_numpy()]
    for axis, places in zip(panels, (range(4), (4,), range(5)), strict=True):
        axis.set_xticks(places, [names[place] for place in places], fontsize=6.5)
    panels[1].set_xlim(3.5, 4.5)
    panels[0].set_ylabel("mean $-$ true count")
    panels[2].set_ylabel("variance, over random ties")
    for fill, what in (("none", "simulated, 2 s.e."), (BLACK, "exact")):
        panels[0].plot([], [], "o", color=BLACK, mfc=fill, ms=4 if fill == "none" else 2, label=what)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    letters(panels)
    return figure


def calibration(table: pd.DataFrame) -> Figure:
    """ECDF of the PIT less the diagonal: one column per release, components above totals, simultaneous bands."""
    methods, quantities = list(dict.fromkeys(table["method"])), list(dict.fromkeys(table["quantity"]))
    figure = Figure(figsize=(DOUBLE, 3.2))
    panels = figure.subplots(len(quantities), len(methods), sharex=True, sharey=True, squeeze=False)
    for row, quantity in enumerate(quantities):
        for axis, method in zip(panels[row], methods, strict=True):
            calibration_panel(axis, table[(table["quantity"] == quantity) & (table["method"] == method)], BLUE)
        panels[row, 0].set_ylabel(f"{quantity}\nECDF less uniform")
    for axis, method in zip(panels[0], methods, strict=True):
        axis.set_title(method)
    for axis in panels[-1]:
        axis.set_xlabel("PIT of the true value")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center")
    return figure


def privacy(table: pd.DataFrame) -> Figure:
    """Delta against the claimed epsilon, on a log axis broken in two: it drops where the claim becomes true."""
    figure = Figure(figsize=(SINGLE, 2.9))
    panels: Any = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    above, below = panels
    looks = ((SKY, "s", 4.5), (BLUE, "o", 3))
    for (counts, rows), (colour, marker, size) in zip(table.groupby("counts", sort=False), looks, strict=True):
        shown = rows[rows["delta"] > 0].sort_values("claimed")
        for axis in panels:
            axis.plot(shown["claimed"], shown["delta"], marker, color=colour, ms=size, label=counts)
        for place in rows[rows["delta"] < _BREAK].nsmallest(1, "claimed").itertuples():
            below.annotate(rf"$\delta$ = {place.delta:.1e}", (place.claimed, place.delta), (0, 8),
                           textcoords="offset points", ha="center", fontsize=6)  # fmt: skip
    above.set(yscale="log", ylim=(0.05, 1), ylabel=r"smallest $\delta$")
    below.set(yscale="log", ylim=(1e-24, 1e-19), xlabel=r"claimed $\varepsilon$")
    below.set_yticks([1e-24, 1e-22, 1e-20])
    below.minorticks_off()
    above.spines["bottom"].set_visible(False)
    above.tick_params(axis="x", length=0)
    broken = {"marker": [(-1, -0.5), (1, 0.5)], "ms": 7, "ls": "", "color": BLACK, "mew": 0.6, "clip_on": False}
    above.plot([0], [0], transform=above.transAxes, **broken)
    below.plot([0], [1], transform=below.transAxes, **broken)
    figure.legend(*above.get_legend_handles_labels(), loc="outside upper center", ncols=2)
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
