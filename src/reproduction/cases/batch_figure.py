"""The figure of a batch: ranked intervals of its commonest categories, and width against the size of the table."""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..style import BLACK, BLUE, DOUBLE, GREY, RED, SKY
from .batches import REFUSED

COLUMNS = ("table", "category", "mean", "lower", "upper", "status", "level", "total")
_PANELS, _SHOWN = 3, 150  # categories that get a panel, intervals in each
_MARKS = 2000  # intervals of a funnel that are drawn one by one
_SURE = ("exact", "converged")


def batch(parts: Iterable[pd.DataFrame]) -> Figure:
    """Ranked intervals: at most 150 tables, evenly spaced in rank; the funnel has every row.

    Parameters
    ----------
    parts : a batch's table with at least `COLUMNS`, in pieces.
    """
    table = _slim(parts)
    good = table[table["mean"].notna()]
    shown = list(good["category"].value_counts().index[:_PANELS])
    figure = Figure(figsize=(DOUBLE, 2.6 if len(shown) < 2 else 4.6))
    axes = figure.subplots(1 if len(shown) < 2 else 2, 2, squeeze=False).ravel()
    for axis, category in zip(axes, shown, strict=False):
        _ranked(axis, good[good["category"] == category], str(category))
    _funnel(axes[min(len(shown), _PANELS)], good)
    for axis in axes[min(len(shown), _PANELS) + 1 :]:
        axis.set_axis_off()
    tables = table["first"].sum()
    refused = (table["first"] & table["refused"]).sum()
    level = table["level"].iloc[0] if len(table) else np.nan
    words = f"{tables:,} tables, {refused:,} refused; central {level:.0%} intervals"
    figure.suptitle(words, fontsize=8, color=RED if refused else BLACK)
    return figure


def _slim(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """What is drawn, texts as categories: many rows fit into memory."""
    found, last = [], None
    for part in parts:
        first = part["table"].ne(part["table"].shift(fill_value=last))
        last = part["table"].iloc[-1] if len(part) else last
        slim: dict[str, Any] = {"first": first, "refused": part["status"].str.startswith(REFUSED)}
        slim["sure"] = part["status"].isin(_SURE)
        found.append(part[["category", "mean", "lower", "upper", "level", "total"]].assign(**slim))
    return pd.concat(found, ignore_index=True)


def _ranked(axis: Axes, rows: pd.DataFrame, category: str) -> None:
    ordered = rows.sort_values("mean", kind="stable", ignore_index=True)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _SHOWN)).round().astype(int))
    some = ordered.loc[places]
    colours = [SKY if sure else GREY for sure in some["sure"]]
    axis.vlines(places + 1, some["lower"], some["upper"], colors=colours, lw=1.0)
    axis.plot(places + 1, some["mean"], ".", color=BLUE, ms=1.5)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set(xlabel="rank of the table", ylabel="mean and interval")
    which = f" ({len(places)} of {len(ordered):,} tables)" if len(places) < len(ordered) else ""
    axis.set_title(f"{category if len(category) < 30 else category[:29] + '…'}{which}", fontsize=7, parse_math=False)


def _funnel(axis: Axes, rows: pd.DataFrame) -> None:
    """Width of every interval against the records of its table: what the size alone cannot explain stands out."""
    width = (rows["upper"] - rows["lower"]).to_numpy()
    drawn = (rows["total"].to_numpy() > 0) & (width > 0)
    total, width = rows["total"].to_numpy()[drawn], width[drawn]
    across, up = _scale(total), _scale(width)
    if len(width) > _MARKS:
        cells = axis.hexbin(
            total, width, xscale=across, yscale=up, bins="log", gridsize=45, mincnt=1, cmap="Blues", linewidths=0.1
        )
        axis.figure.colorbar(cells, ax=axis, label="intervals")
    else:
        axis.plot(total, width, ".", color=BLUE, ms=2)
        axis.set(xscale=across, yscale=up)
    axis.set(xlabel="records of the table", ylabel="width of the interval")
    axis.set_title("funnel, all categories", fontsize=7)


def _scale(values: np.ndarray) -> Literal["linear", "log"]:
    """Logarithmic where the values span a decade."""
    return "log" if len(values) and values.max() > 10 * values.min() else "linear"
