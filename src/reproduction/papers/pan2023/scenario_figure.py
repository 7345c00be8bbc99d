"""Figure of a user's own swapped table: densities, or intervals where there are many cells."""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...style import BLACK, BLUE, DOUBLE, RED
from .scenario import AWARE, DENSITY, NAIVE, SUMMARY
from .scenario_case import REHEARSAL

_LOOKS = ((AWARE, BLUE, "-", "o"), (NAIVE, RED, "--", "s"))


def scenario(table: pd.DataFrame) -> Figure:
    """Posteriors, naive and swap-aware, with what was assumed, the level and the state of the answer."""
    density = table[table["statistic"] == DENSITY]
    summary = table[(table["statistic"] == SUMMARY) & table["analysis"].isin([AWARE, NAIVE])]
    return _densities(density, summary, table) if len(density) else _intervals(summary)


def _densities(density: pd.DataFrame, summary: pd.DataFrame, table: pd.DataFrame) -> Figure:
    names = list(dict.fromkeys(density["quantity"]))
    columns = min(len(names), 3)
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(DOUBLE, 1.9 * lines + 0.9))
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axis in panels[len(names) :]:
        axis.set_axis_off()
    truth = table[table["analysis"] == "made up"].set_index("quantity")["mean"]
    handles = {}
    for axis, name in zip(panels, names, strict=False):
        for analysis, colour, dash, _ in _LOOKS:
            line = density[(density["quantity"] == name) & (density["analysis"] == analysis)]
            if len(line):
                handles[analysis] = axis.plot(line["x"], line["density"], dash, color=colour, label=analysis)[0]
        if name in truth.index:
            handles["made up"] = axis.axvline(truth[name], color=BLACK, lw=0.8, ls=":", label="made-up share")
        _interval(axis, summary[(summary["quantity"] == name) & (summary["analysis"] == AWARE)])
        axis.set(xlabel=_label(name), ylim=(0, None))
        if name.startswith("theta"):
            mine = density[density["quantity"] == name]
            shown = mine[mine["density"] > 0.005 * mine["density"].max()]
            axis.set_xlim(max(0, shown["x"].min() - 0.02), min(1, shown["x"].max() + 0.02))
    for axis in panels[:: columns or 1]:
        axis.set_ylabel("posterior density")
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=3)
    _words(figure, summary)
    return figure


def _interval(axis, row: pd.DataFrame) -> None:
    for one in row.itertuples():
        axis.axvspan(one.lower, one.upper, color=BLUE, alpha=0.12, lw=0)


def _intervals(summary: pd.DataFrame) -> Figure:
    names = list(dict.fromkeys(summary["quantity"]))
    figure = Figure(figsize=(DOUBLE, min(0.16 * len(names) + 1.4, 30)))
    axis = figure.subplots()
    places = {name: -i for i, name in enumerate(names)}
    for k, (analysis, colour, _, marker) in enumerate(_LOOKS):
        rows = summary[summary["analysis"] == analysis].dropna(subset=["lower", "upper"])
        y = np.array([places[name] for name in rows["quantity"]]) - 0.2 * k
        gaps = [rows["mean"] - rows["lower"], rows["upper"] - rows["mean"]]
        axis.errorbar(rows["mean"], y, xerr=gaps, fmt=marker, color=colour, ms=2.5, lw=0.8, label=analysis)
    axis.set_yticks(list(places.values()), [_label(name) for name in places], fontsize=6)
    axis.set(xlabel="share of all records", ylim=(-len(names), 1))
    figure.legend(loc="outside lower center", ncols=2)
    _words(figure, summary)
    return figure


def _label(name: str) -> str:
    return name.replace("log phi", r"$\log\,\phi$").replace("theta", r"$\theta$")


def _words(figure: Figure, summary: pd.DataFrame) -> None:
    aware = summary[summary["analysis"] == AWARE].iloc[0]
    states = ", ".join(dict.fromkeys(summary["status"]))
    text = f"{aware['level']:.0%} intervals shaded or as bars; {states}. {aware['note']}"
    colour = RED if "not converged" in states or REHEARSAL in text else BLACK
    figure.suptitle(textwrap.fill(text.replace("$", r"\$"), 125), fontsize=6.5, color=colour)
