"""Figures of a user's own case: intervals of a release's probabilities, or the scores of a rehearsal."""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...style import BLACK, BLUE, DOUBLE, RED
from .figure_panels import ACCURACY, BUDGET, LIKELIHOOD, LOSS, legend, panel

MOST_SHOWN = 40  # quantities of a model in one figure; the table has them all
_WIDTH = 110  # characters of a line of the note


def scenario(table: pd.DataFrame) -> Figure:
    """Posterior intervals beside the released values, or test scores by budget; the assumptions stand below."""
    figure = _scores(table) if "measure" in table else _intervals(table)
    figure.supxlabel(_note(table), fontsize=6, x=0.01, ha="left")
    return figure


def _intervals(table: pd.DataFrame) -> Figure:
    shown = table.head(MOST_SHOWN).iloc[::-1].reset_index(drop=True)
    figure = Figure(figsize=(DOUBLE, 1.5 + 0.16 * len(shown)))
    axis = figure.subplots()
    places = np.arange(len(shown))
    sure = shown["status"].isin(["exact", "converged"])
    for rows, face in ((sure, BLUE), (~sure, "white")):
        if rows.any():
            some = shown[rows]
            word = f" ({', '.join(dict.fromkeys(some['status']))})"
            bars = np.abs(some[["lower", "upper"]].to_numpy().T - some["mean"].to_numpy())
            label = f"mean and {100 * table['level'].iloc[0]:g} % interval{word}"
            axis.errorbar(some["mean"], places[rows], xerr=bars, fmt="o", color=BLUE, mfc=face, ms=3, label=label)
    axis.plot(shown["released"], places, "x", color=RED, ms=4, label="released value")
    axis.set_yticks(places, [_short(name) for name in shown["quantity"]], fontsize=6)
    axis.set(xlabel="probability", ylim=(-0.7, len(shown) - 0.3))
    axis.set_xlim(left=0)
    if len(table) > len(shown):
        axis.set_title(f"the first {len(shown)} of {len(table)} quantities; the table has all", fontsize=7)
    figure.legend(loc="outside upper center", ncol=3)
    return figure


def _scores(table: pd.DataFrame) -> Figure:
    labels = {"cross_entropy": LOSS, "accuracy": ACCURACY, "log_likelihood": LIKELIHOOD}
    found = [measure for measure in labels if (table["measure"] == measure).any()]
    figure = Figure(figsize=(DOUBLE, 3.3))
    for axis, measure in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
        rows = table[table["measure"] == measure]
        rows = rows.assign(method=rows["method"].str.removeprefix("network, "), variant="corrected")
        panel(axis, rows.rename(columns={"mean": f"{measure}_mean", "sd": f"{measure}_sd"}), measure, "corrected")
        axis.set(xlabel=BUDGET, ylabel=labels[measure])
    legend(figure, table.assign(variant="corrected", score_mean=table["mean"]), ("dirichlet", "gaussian", "laplace"))
    figure.text(0.005, 0.995, "bars: one sd over releases", fontsize=6, va="top", color=BLACK)
    return figure


def _note(table: pd.DataFrame) -> str:
    return "\n".join(textwrap.wrap(str(table["note"].iloc[0]), _WIDTH))


def _short(name: str) -> str:
    return name if len(name) <= 48 else f"{name[:45]}..."
