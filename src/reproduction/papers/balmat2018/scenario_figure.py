"""The figure of a user's scenario."""

from textwrap import fill

import pandas as pd
from matplotlib.figure import Figure

from ...style import BLACK, RED, SINGLE, SKY
from .scenario import REHEARSAL

_LABEL = "share (shaded: central {level:.0%} interval; red line: posterior mean)"


def scenario(table: pd.DataFrame) -> Figure:
    """Density of every share with mean and interval; below: law and cost of the noise, prior, and what does not fit."""
    summary = table[table["statistic"] == "summary"].set_index("quantity")
    words = _words(table, summary)
    figure = Figure(figsize=(SINGLE, 0.9 + 0.75 * len(summary) + 0.12 * len(words.splitlines())))
    panels = figure.subplots(len(summary), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (quantity, row) in zip(panels, summary.iterrows(), strict=True):
        curve = table[(table["quantity"] == quantity) & (table["statistic"] == "density")]
        inside = curve["x"].between(row["lower"], row["upper"])
        axis.plot(curve["x"], curve["density"], color=BLACK)
        axis.fill_between(curve["x"][inside], curve["density"][inside], color=SKY, alpha=0.6, lw=0)
        axis.axvline(row["mean"], color=RED, lw=0.8)
        axis.set(ylim=(0, None), yticks=[], xlim=(0, 1))
        state = "" if row["status"] == "exact" else f" ({row['status']})"
        estimate = f"{row['mean']:.3f} [{row['lower']:.3f}, {row['upper']:.3f}]"
        axis.set_title(f"{quantity}{state}: {estimate}", loc="left", fontsize=7, parse_math=False)
    panels[-1].set_xlabel(_LABEL.format(level=summary["level"].iloc[0]), fontsize=7)
    figure.supxlabel(words, fontsize=5.5, x=0.02, ha="left", parse_math=False)
    return figure


def _words(table: pd.DataFrame, summary: pd.DataFrame) -> str:
    """What was assumed, in lines; that a rehearsal is none but a rehearsal comes first."""
    note = summary["note"].iloc[0]
    parts = [note.partition("; with Jeffreys'")[0].removeprefix(f"{REHEARSAL}; ")]
    if note.startswith(REHEARSAL):
        parts.insert(0, REHEARSAL)
    parts += table.loc[table["statistic"] == "check", "note"].str.partition(";")[0].tolist()
    return "\n".join(fill(part, 78) for part in parts)
