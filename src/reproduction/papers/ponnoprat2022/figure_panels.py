"""What the figures of the experiments share: panels by data set, curves with bars, one legend."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...style import BLACK, BLUE, DOUBLE, GREEN, GREY, PINK, RED, SKY, interval, log_scale
from ...verdicts.agreement import read_published

ORDER = ("CreditCard", "Thyroid", "Shopper", "Digit", "GermanCredit", "Bank", "Spam", "Adult")
LOOKS = {
    "dirichlet": ("Dirichlet", BLUE, "o", "-"),
    "dirichlet, exact": ("Dirichlet, exact calibration", SKY, "D", "--"),
    "gaussian": ("Gaussian", RED, "s", "-"),
    "laplace": ("Laplace", GREEN, "^", "-"),
    "gohari": ("Dirichlet, Gohari et al.", PINK, "v", "-"),
}
FLATS = {
    "non-private": ("non-private", BLACK, "--"),
    "random": ("random guess", GREY, ":"),
    "majority": ("largest class", GREY, "-."),
}
BUDGET, REACH = r"Rényi $\varepsilon$ of the whole model", r"$\hat\varepsilon$ of the whole model"
LOSS, ACCURACY, LIKELIHOOD = "test cross-entropy (nats)", "test accuracy", "test log-likelihood"


def panel(axis: Axes, rows: pd.DataFrame, measure: str, variant: str, *, faint: bool = False) -> None:
    """Curves with bars of one standard deviation over releases, and flat reference lines; faint: dashed, open marks."""
    rows = rows[rows["variant"] == variant]
    columns = ("method", "epsilon", f"{measure}_mean", f"{measure}_sd")
    methods, *numbers = (rows[column].to_numpy() for column in columns)
    look: dict[str, Any] = {"ms": 2.2, "lw": 0.9, "elinewidth": 0.6}
    look |= {"mfc": "white", "ms": 2.8, "mew": 0.5, "lw": 0.6, "zorder": 1, "alpha": 0.8} if faint else {}
    for method, (_, colour, marker, line) in LOOKS.items():
        x, y, spread = (values[methods == method] for values in numbers)
        if len(x):
            rising = x.argsort(kind="stable")
            curve = x[rising], y[rising], spread[rising]
            axis.errorbar(*curve, fmt=marker + ("--" if faint else line), color=colour, **look)
    lowest = rows.loc[rows["epsilon"].notna(), f"{measure}_mean"].min()  # a far lower guess would flatten the curves
    for method, (_, colour, line) in FLATS.items():
        level = numbers[1][(methods == method) & ~np.isnan(numbers[1])]
        if len(level) and not (measure == "accuracy" and level[0] < lowest - 0.1):
            axis.axhline(level[0], color=colour, ls=line, lw=0.5 if faint else 0.9, zorder=0)
    log_scale(axis, "x")


def read_off_print(artefact: str) -> pd.DataFrame:
    """Numbers that were read off a printed plot: columns of ``published.tsv``, with dataset and what."""
    published = read_published(Path(__file__).with_name("published.tsv"))
    rows = published[(published["artefact"] == artefact) & (published["kind"] == "curve")]
    return rows.assign(**rows["quantity"].str.extract(r"^(?P<dataset>\w+): (?P<what>.*)$"))


def mark(axis: Axes, x: float, row: Any, colour: str = BLACK, unit: float = 1) -> None:
    """An open diamond for a number read off print, with how far the reading may be off."""
    value, error = row.value / unit, row.error / unit
    look: dict[str, Any] = {"marker": "D", "mfc": "white", "ms": 4.5, "mew": 1, "zorder": 5}
    interval(axis, x, value, value - error, value + error, color=colour, **look)


def grid(table: pd.DataFrame, blocks: int, height: float = 1.75) -> tuple[Figure, list[tuple[Axes, str]]]:
    """Up to four panels a row of this height, all data sets, `blocks` times."""
    found = set(table["dataset"])
    names = [n for n in ORDER if n in found] + sorted(found - set(ORDER))
    columns = min(4, max(len(names), 2))
    deep = -(-len(names) // columns)
    figure = Figure(figsize=(DOUBLE, height * deep * blocks + 0.6))
    axes = figure.subplots(deep * blocks, columns, squeeze=False)
    panels = []
    for block in range(blocks):
        flat = list(axes[block * deep : (block + 1) * deep].flat)
        for axis in flat[len(names) :]:
            axis.axis("off")
        panels += list(zip(flat, names, strict=False))
    for axis, name in panels:
        axis.set_title(name, fontsize=7)
    return figure, panels


def empty(axis: Axes, rows: pd.DataFrame) -> bool:
    """Mark a panel whose data set could not be had."""
    if (rows["method"] != "not_run").all():
        return False
    axis.text(0.5, 0.5, "not run:\nno data", ha="center", va="center", transform=axis.transAxes, color=GREY)
    axis.set(xticks=[], yticks=[])
    return True


def legend(figure: Figure, table: pd.DataFrame, methods: Sequence[str], further: Sequence[Line2D] = ()) -> None:
    """One legend above all panels; `further` handles come last."""
    found = set(table["method"].str.removeprefix("network, "))
    looks = {m: LOOKS[m] for m in methods if m in found}
    handles = [Line2D([], [], color=c, marker=m, ls=s, label=name) for name, c, m, s in looks.values()]
    if "as_written" in set(table["variant"]) and "log_likelihood_mean" not in table:
        handles.append(Line2D([], [], color=BLUE, ls=":", label="Dirichlet as the text says"))
    drawn = set(table.dropna(subset=[c for c in map(str, table) if c.endswith("_mean")], how="all")["method"])
    handles += [Line2D([], [], color=c, ls=s, label=word) for m, (word, c, s) in FLATS.items() if m in drawn]
    figure.legend(handles=[*handles, *further], loc="outside upper center", ncol=4)


def short(value: float, _: int) -> str:
    return f"{value:g}"
