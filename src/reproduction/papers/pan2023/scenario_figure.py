"""Figures of a user's own swapped table or microdata."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...style import BLUE, DOUBLE, GREY, RED


def scenario(table: pd.DataFrame) -> Figure:
    """A user's swapped table: its posteriors; a user's microdata: associations before and after."""
    return _associations(table) if (table["analysis"] == "swap").any() else _posteriors(table)


def _posteriors(table: pd.DataFrame) -> Figure:
    density = table[table["statistic"] == "density"]
    names = list(dict.fromkeys(density["quantity"]))
    columns = min(len(names), 3)
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(DOUBLE, 1.9 * lines + 0.3))
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axis in panels[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(panels, names, strict=False):
        for analysis, colour, dash in (("swap-aware", BLUE, "-"), ("naive", RED, "--")):
            line = density[(density["quantity"] == name) & (density["analysis"] == analysis)]
            axis.plot(line["x"], line["value"], dash, color=colour, label=analysis)
        axis.set(xlabel=name.replace("log phi", r"$\log\,\phi$").replace("theta", r"$\theta$"), ylim=(0, None))
        if name != "log phi":
            shown = density[(density["quantity"] == name) & (density["value"] > 0.005 * density["value"].max())]
            axis.set_xlim(max(0, shown["x"].min() - 0.02), min(1, shown["x"].max() + 0.02))
    for axis in panels[::columns]:
        axis.set_ylabel("posterior density")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _associations(table: pd.DataFrame) -> Figure:
    pairs = table[table["quantity"].str.startswith("association of ")].dropna(subset="value")
    wide = pairs.pivot_table(index="quantity", columns="statistic", values="value", sort=False)
    figure = Figure(figsize=(DOUBLE, 1.2 + 0.28 * max(len(wide), 1)))
    axis = figure.subplots()
    y = np.arange(len(wide))[::-1]
    if not len(wide):
        axis.annotate(
            "no pair of a swapped and a held column\nhas few enough values", (0.5, 0.5), ha="center", va="center"
        )
        axis.set_axis_off()
        return figure
    axis.hlines(y, wide["after"], wide["before"], color=GREY)
    axis.plot(wide["before"], y, "o", ms=7, mfc="none", color=BLUE, label="before the swap")
    axis.plot(wide["after"], y, "s", color=RED, label="after")
    axis.set_yticks(y, [name.removeprefix("association of ") for name in wide.index])
    axis.set(xlabel="Cramér's V", xlim=(0, None), ylim=(-0.6, len(wide) - 0.4))
    figure.legend(loc="outside lower center", ncols=2)
    return figure
