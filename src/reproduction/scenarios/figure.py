"""Plot the figures of scenarios: intervals of a single case, intervals along a grid, or intervals and interval widths
of a batch.

The function `drawn` makes the figure from the files of a scenario, and `save` writes the figure as PNG and as PDF.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .. import style
from ..style import BLACK, BLUE, CYCLE, DOUBLE, GREY, MARKERS, ORANGE, RED, SKY
from . import making
from .making import Files
from .sentences import NOUNS, as_stated

_SHOWN = 60  # maximum number of rows in a panel; the table contains all rows
_WIDE = 50  # ratio of the largest to the smallest mean above which the axis is logarithmic
_RANKED_NAMES = 30  # maximum number of names that are written in a panel with more than `_SHOWN` rows
_LONGEST = 28  # maximum number of characters of a name
_PANELS, _COLUMNS = 6, 3
_COVARIATES = 3  # maximum number of covariates against which rates are drawn
_OWN = 4  # maximum number of parameters that are drawn in separate panels in the figure of a single case
_PARAMETERS = 2  # maximum number of panels for parameters in the figure of a grid that also has other quantities
_SURE = ("exact", "converged")
_RELEASED = {"swapped_table": "after the swap"}  # label of the released value of a count
_COLOURS = {"count": BLUE, "share": BLUE, "rate": ORANGE, "parameter": BLUE, "question": BLACK}
_AXES = {"count": "true count", "parameter": "value of the parameter"}


class Labels:
    """Names of quantities in the form in which they label a figure.

    Parameters
    ----------
    names : names of the quantities, in the order of the rows of the table.
    fonts_of : ``machine`` if the fonts of this machine must draw the names, or ``reader`` if the reader's fonts are
        used, which are not known.
    """

    def __init__(self, names: Sequence[str], fonts_of: str = "machine") -> None:
        every = list(dict.fromkeys(map(str, names)))
        labels, self.told = (every, "") if fonts_of == "reader" else style.names(every, "quantity")
        self._labels = dict(zip(every, labels, strict=True))

    def __getitem__(self, name: str) -> str:
        return shortened(self._labels[name])

    def title(self, text: str) -> str:
        """Return the title of a figure, followed by a note if some names cannot be displayed and were replaced."""
        return f"{text}\n{self.told}" if self.told else text


def of_case(rows: pd.DataFrame, facts: Mapping[str, Any], *, fonts_of: str = "machine") -> Figure:
    """Plot the interval and the mean of every quantity of a single case. Counts are in a panel with the noisy values,
    and shares are in a panel with rates.

    Parameters
    ----------
    rows : table of a case.
    facts : metadata of the scenario.
    fonts_of : argument of `Labels`.
    """
    good = _plotted(rows[rows["type"] != "question"])
    labels = Labels(list(rows["quantity"]), fonts_of)
    panels = [part for kinds in (("count",), ("share", "rate")) if len(part := good[good["type"].isin(kinds)])]
    parameters = good[good["type"] == "parameter"]  # each parameter has its own unit and therefore its own panel
    separate = parameters["quantity"].nunique() <= _OWN
    panels += [part for _, part in parameters.groupby("quantity", sort=False)] if separate else [parameters]
    point = facts.get("points", [{}])[0]
    names = [_names(part, "rate_unit" in point and set(part["type"]) == {"rate"}) for part in panels]
    heights = [0.5 + 0.2 * len(shown) * (1.35 if part["type"].nunique() > 1 else 1.0)
               for part, shown in zip(panels, names, strict=True)]  # fmt: skip
    rates = good[good["type"] == "rate"]
    against = list(point.get("covariates") or {})[:_COVARIATES] if len(rates) else []
    heights += [1.8] * len(against)
    figure = Figure(figsize=(DOUBLE * 0.75, max(sum(heights), 1.2) + 0.5))
    if not panels:
        figure.text(0.5, 0.5, "no interval is drawn; see the table", ha="center", fontsize=8)
        return figure
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axis, part, shown in zip(axes, panels, names, strict=False):
        _panel(axis, part, shown, labels, _RELEASED.get(facts["kind"], "released"), point)
    for axis, covariate in zip(axes[len(panels) :], against, strict=True):
        _against(axis, rates, covariate, point)
    level, states = rows["level"].dropna().iloc[0], ", ".join(dict.fromkeys(good["status"]))
    size, drawn_names = max((part["quantity"].nunique(), len(few)) for part, few in zip(panels, names, strict=True))
    file = " in the CSV file" if point.get("rows_left_out") else ""
    largest = f"; the {drawn_names} largest of {size:,}{file}" if size > drawn_names else ""
    title = labels.title(f"means and {as_stated(level)} intervals ({states}){largest}")
    figure.suptitle(title, fontsize=8, color=_warned(good))
    return figure


def _plotted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a mean and a finite interval. An infinite mean is replaced by NaN, so only the interval
    is drawn.
    """
    finite = np.isfinite(rows[["lower", "upper"]].to_numpy(dtype=float)).all(axis=1) & rows["mean"].notna()
    return rows[finite].assign(mean=rows.loc[finite, "mean"].astype(float).replace([np.inf, -np.inf], np.nan))


def _names(part: pd.DataFrame, ranked: bool = False) -> list[str]:
    """Return the names of the quantities in a panel of a figure, in the order of the table or ranked by their means. If
    there are many names, return those of the largest quantities in decreasing order.
    """
    names = list(dict.fromkeys(part["quantity"]))
    if len(names) <= _SHOWN and not ranked:
        return names
    mean = part.groupby("quantity", sort=False)["mean"].max().sort_values(ascending=False, kind="stable")
    return [str(name) for name in mean.index[: _RANKED_NAMES if len(names) > _SHOWN else _SHOWN]]


def _warned(rows: pd.DataFrame) -> str:
    return RED if (rows["status"] == "not converged").any() else BLACK


def _panel(
    axis: Axes, part: pd.DataFrame, names: Sequence[str], labels: Labels, released: str, point: Mapping[str, Any]
) -> None:
    kinds = list(dict.fromkeys(part["type"]))
    unit, naive = point.get("rate_unit"), point.get("naive_rates") or {}
    for i, kind in enumerate(kinds):
        mine = part[(part["type"] == kind) & part["quantity"].isin(names)]
        factor = 100.0 if kind in ("share", "rate") and unit is None else 1.0
        y = mine["quantity"].map({name: place for place, name in enumerate(names)}).to_numpy(dtype=float)
        y = y + 0.3 * (i - (len(kinds) - 1) / 2)
        low, middle, high = (factor * mine[key].to_numpy(dtype=float) for key in ("lower", "mean", "upper"))
        look = {"marker": MARKERS[i], "ms": 4, "label": NOUNS[kind]}
        style.interval(axis, y, middle, low, high, horizontal=True, lw=1.6, color=_COLOURS[kind], **look)
        if kind in ("count", "share") and mine["released"].notna().any():
            axis.plot(factor * mine["released"], y, "x", color=RED, ms=4.5, mew=1, label=released)
    shown = part.loc[part["quantity"].isin(names), "mean"]
    if part["quantity"].nunique() > len(names) and kinds == ["count"] and shown.max() > _WIDE * max(shown.min(), 1.0):
        axis.set_xscale("asinh", linear_width=10.0)
    axis.set_yticks(range(len(names)), [labels[name] for name in names], parse_math=False)
    axis.set_ylim(len(names) - 0.4, -0.6)
    if axis.get_xscale() == "linear":
        axis.xaxis.set_major_locator(MaxNLocator(6, integer=kinds == ["count"]))
    if kinds == ["count"]:
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if kinds == ["rate"] and unit is not None:
        marks = [(naive.get(name, np.nan), place) for place, name in enumerate(names)]
        axis.plot(*np.array(marks, dtype=float).T, "x", color=RED, ms=4.5, mew=1, label="naive rate")
        axis.set_xlabel(f"underlying rate, {unit}", parse_math=False)
    elif kinds == ["parameter"] and len(names) == 1:
        axis.set_xlabel(labels[names[0]], parse_math=False)
        axis.set_yticks([])  # the label of the axis is the name
        if names[0].startswith("slope of "):
            axis.axvline(0, color=BLACK, ls="--", lw=0.6, zorder=0)
    else:
        axis.set_xlabel(_AXES.get(kinds[0], f"{' and '.join(NOUNS[kind] for kind in kinds)}, in per cent"))
    axis.grid(axis="x", color=GREY, lw=0.3)
    if len(axis.get_legend_handles_labels()[0]) > 1:
        axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.1)


def _against(axis: Axes, rates: pd.DataFrame, covariate: str, point: Mapping[str, Any]) -> None:
    """Plot the intervals of all rates, and the naive rates (released values divided by exposures), against a
    covariate.
    """
    x, unit = rates["quantity"].map(point["covariates"][covariate]).to_numpy(dtype=float), point.get("rate_unit")
    factor = 100.0 if unit is None else 1.0
    ends = (factor * rates[key].to_numpy(dtype=float) for key in ("mean", "lower", "upper"))
    style.interval(axis, x, *ends, lw=0.8, color=_COLOURS["rate"], marker=MARKERS[0], ms=2.5, label=NOUNS["rate"])
    naive = factor * rates["quantity"].map(point.get("naive_rates") or {}).to_numpy(dtype=float)
    look: dict[str, Any] = {"ms": 3, "mew": 0.8} if len(x) <= _RANKED_NAMES else {"ms": 2, "mew": 0.4, "zorder": 1}
    axis.plot(x, naive, "x", color=RED, label="naive rate", **look)
    axis.set_xlabel(shortened(covariate), parse_math=False)
    axis.set_ylabel(f"underlying rate\n{unit or 'in per cent'}", parse_math=False)
    axis.grid(axis="y", color=GREY, lw=0.3)
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1)


def shortened(name: str) -> str:
    """Return a name, shortened if it is too long for the label of an axis."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def of_grid(rows: pd.DataFrame, facts: Mapping[str, Any], *, fonts_of: str = "machine") -> Figure:
    """Plot the intervals of up to six quantities against the first key of a grid of settings. The colours represent the
    other keys of the grid. The quantities have the same type, except for up to two parameters such as log odds.

    Parameters
    ----------
    rows : table of a grid, with the keys of the grid as its first columns.
    facts : metadata of the scenario.
    fonts_of : argument of `Labels`.
    """
    shown = Labels(list(rows["quantity"]), fonts_of)
    keys = list(facts["points"][0]["at"])
    good = _plotted(rows)
    kinds = [kind for kind in ("share", "count", "parameter", "rate") if (good["type"] == kind).any()]
    labels = facts["points"][0].get("among_labels") or {}
    parameters = good[good["type"] == "parameter"]
    good = good[good["type"].isin([kinds[0]] if kinds else [])]
    if len(among := good[good["quantity"].isin(labels)]):
        good = among
    wanted = list(dict.fromkeys(good["quantity"]))
    further = [name for name in dict.fromkeys(parameters["quantity"]) if name not in wanted][:_PARAMETERS]
    many = len(wanted) + len(further)
    wanted = [*wanted[: _PANELS - len(further)], *further]
    good = pd.concat([good, parameters[parameters["quantity"].isin(further)]])
    lines = max(1, -(-min(len(wanted), _PANELS) // _COLUMNS))
    figure = Figure(figsize=(DOUBLE, 2.1 * lines + 0.7))
    axes = figure.subplots(lines, min(max(len(wanted), 1), _COLUMNS), squeeze=False).ravel()
    groups = list(dict.fromkeys(_others(good, keys[1:])))
    for axis, name in zip(axes, wanted, strict=False):
        _moving(axis, good[good["quantity"] == name], keys, groups)
        kind = "parameter" if name in further else kinds[0]
        worded = any(character.isalpha() for character in shown[name])
        title = shown[name] if worded else f"{NOUNS[kind]} {shown[name]}"  # such as 3, or 1/2 for a cell of a table
        axis.set_title(title, fontsize=7, parse_math=False)
        if kind == "count":
            axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axis.set_xlabel(keys[0])
        if kind == "parameter":
            axis.set_ylabel(shown[name], parse_math=False)
        elif axis is axes[0]:
            axis.set_ylabel(NOUNS[kind])
    for axis in axes[len(wanted) :]:
        axis.set_axis_off()
    if len(groups) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    rest = "; more quantities are in the table" if many > len(wanted) else ""
    level = rows["level"].dropna().iloc[0]
    states = ", ".join(dict.fromkeys(good["status"]))
    title = shown.title(f"mean and {as_stated(level)} interval ({states}){rest}")
    figure.suptitle(title, fontsize=7, color=_warned(good))
    return figure


def _others(table: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """Return, for every row of a table, a text that states the values of the given grid keys."""
    words = pd.Series("", index=table.index, dtype=object)
    for i, key in enumerate(keys):
        words = words + (", " if i else "") + f"{key} " + table[key].map(_shown)
    return words


def _shown(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _moving(axis: Axes, rows: pd.DataFrame, keys: Sequence[str], groups: Sequence[str]) -> None:
    values = list(dict.fromkeys(rows[keys[0]]))  # the ticks are at the values that occur in the data
    places = {value: float(i) for i, value in enumerate(values)}
    words = _others(rows, keys[1:])
    for i, group in enumerate(groups):
        mine = rows[words == group]
        x = mine[keys[0]].map(places).to_numpy(dtype=float) + 0.12 * (i - (len(groups) - 1) / 2)
        colour, marker = CYCLE[i % len(CYCLE)], MARKERS[i % len(MARKERS)]
        ends = (mine[key].to_numpy(dtype=float) for key in ("mean", "lower", "upper"))
        style.interval(axis, x, *ends, lw=1.2, color=colour, marker=marker, ms=3, label=group)
    step = max(1, -(-len(values) // 8))
    axis.set_xticks(list(places.values())[::step], [_shown(value) for value in values][::step])
    axis.set_xlim(-0.5, len(values) - 0.5)


def of_batch(parts: Any, facts: Mapping[str, Any], *, fonts_of: str = "machine") -> Figure:
    """Plot the ranked intervals of the quantities that occur most often in a batch, and the distribution of the
    interval widths. At most 150 tables are shown per quantity.

    Parameters
    ----------
    parts : table of a batch, in several parts.
    facts : metadata of the scenario.
    fonts_of : argument of `Labels`.
    """
    good = pd.concat([part.loc[part["mean"].notna(), list(BATCH)] for part in parts], ignore_index=True)
    kind = next((k for k in ("count", "share", "rate", "parameter") if (good["type"] == k).any()), "count")
    same = good[good["type"] == kind]
    shown = list(same["quantity"].value_counts().index[:3])
    labels = Labels(shown, fonts_of)
    figure = Figure(figsize=(DOUBLE, 2.6 if len(shown) < 2 else 4.6))
    axes = figure.subplots(1 if len(shown) < 2 else 2, 2, squeeze=False).ravel()
    for axis, name in zip(axes, shown, strict=False):
        _ranked(axis, same[same["quantity"] == name], labels[str(name)], kind)
    _widths(axes[len(shown)], same, kind)
    for axis in axes[len(shown) + 1 :]:
        axis.set_axis_off()
    counted = facts["tables"]
    level = as_stated(facts["settings"]["level"])
    words = f"tables: {counted['all']:,}, with rejected rows: {counted['refused']:,}; {level} intervals"
    figure.suptitle(labels.title(words), fontsize=8, color=RED if counted["refused"] else BLACK)
    return figure


BATCH = ("quantity", "type", "mean", "lower", "upper", "status")
_RANKED = 150


def _ranked(axis: Axes, rows: pd.DataFrame, name: str, kind: str) -> None:
    ordered = rows.sort_values("mean", kind="stable", ignore_index=True)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _RANKED)).round().astype(int))
    shown = ordered.loc[places]
    colours = [SKY if status in _SURE else GREY for status in shown["status"]]
    for colour in dict.fromkeys(colours):
        mine = np.array([is_colour == colour for is_colour in colours])
        ends = (shown.loc[mine, key].to_numpy(dtype=float) for key in ("mean", "lower", "upper"))
        look: Any = {"marker": ".", "ms": 1.5, "mec": BLUE, "mfc": BLUE}
        style.interval(axis, (places + 1)[mine], *ends, lw=1.0, color=colour, **look)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if kind == "count":
        axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set(xlabel="tables in increasing order of the mean", ylabel=NOUNS[kind])
    which = f" ({len(places)} of {len(ordered):,} tables)" if len(places) < len(ordered) else ""
    axis.set_title(f"{name}{which}", fontsize=7, parse_math=False)


def _widths(axis: Axes, rows: pd.DataFrame, kind: str) -> None:
    """Plot a histogram of the interval widths of a batch."""
    width = (rows["upper"] - rows["lower"]).to_numpy()
    low, high = (float(width.min()), float(width.max())) if len(width) else (0.0, 1.0)
    alike = high - low <= 1e-9 * max(abs(high), 1.0)  # the values differ by less than the width of a bin
    axis.hist(width, bins=1 if alike else 40, range=(0.9 * low, 1.1 * high + 1e-9) if alike else None, color=SKY)
    axis.xaxis.set_major_locator(MaxNLocator(5, integer=kind == "count"))
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set(xlabel=f"width of the interval ({NOUNS[kind]})", ylabel="intervals")
    axis.set_title("all quantities of this type", fontsize=7)


def drawn(files: Files, *, fonts_of: str = "machine") -> Figure:
    """Return the figure of a scenario, for a single case, a grid or a batch.

    Parameters
    ----------
    files : files with the results of the scenario.
    fonts_of : ``machine`` if the fonts of this machine must draw the names, or ``reader`` if names are stored as text.
    """
    facts = making.facts_of(files)
    if facts["form"] == "batch":
        from . import batch  # imported here, because only batches need pyarrow

        return of_batch(batch.read(files.csv, BATCH), facts, fonts_of=fonts_of)
    rows, _, facts = making.read(files)
    draw = of_grid if facts["form"] == "grid" else of_case
    return draw(rows, facts, fonts_of=fonts_of)


def save(files: Files, png: str | Path, pdf: str | Path) -> None:
    """Save the figure of a scenario as PNG and PDF, with fonts that contain all characters of the labels."""
    with style.applied(_texts(files)):
        style.save(drawn(files), png, pdf)


def _texts(files: Files) -> set[str]:
    """Return the names of the quantities that the figure of a scenario may show. These names determine the choice of
    fonts.
    """
    quantities = pd.read_csv(files.csv, usecols=["quantity"], dtype=str, keep_default_na=False, nrows=100_000)
    return set(quantities["quantity"])
