"""The figure of a grid: intervals of the first quantities against the first key, coloured by the others."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..style import CYCLE, DOUBLE, MARKERS

_PANELS, _COLUMNS = 6, 3


def grid(table: pd.DataFrame, lists: Mapping[str, Sequence[float | str]]) -> Figure:
    """Mean and interval of up to six quantities.

    Parameters
    ----------
    table : of a grid.
    lists : the grid, key -> values; the first key is the axis, the others make the colours.
    """
    keys = list(lists)
    texts = [key for key, values in lists.items() if any(isinstance(value, str) for value in values)]
    table = table.astype(dict.fromkeys(texts, str))  # a file cannot tell the text 2 from the number
    numbers = table[["mean", "lower", "upper"]].to_numpy(dtype=float)
    shown = table.iloc[np.flatnonzero(np.isfinite(numbers).all(axis=1))]
    about = [column for column in ("quantity", "analysis") if column in shown]
    panel = pd.Series([", ".join(map(str, names)) for names in shown[about].to_numpy()], index=shown.index, dtype=str)
    wanted = list(dict.fromkeys(panel))
    places = _places(table[keys[0]])
    rows = max(1, -(-min(len(wanted), _PANELS) // _COLUMNS))
    figure = Figure(figsize=(DOUBLE, 2.1 * rows + 0.7))
    axes = figure.subplots(rows, min(max(len(wanted), 1), _COLUMNS), squeeze=False).ravel()
    groups = list(dict.fromkeys(_words(table, keys[1:])))
    for axis, name in zip(axes, wanted, strict=False):
        _intervals(axis, shown[panel == name], keys, groups, places)
        axis.set_title(name if len(name) < 40 else f"{name[:39]}…", fontsize=7, parse_math=False)
        axis.set_xlabel(keys[0])
    for axis in axes[len(wanted) :]:
        axis.set_axis_off()
    if len(groups) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    rest = f"; the first {_PANELS} of {len(wanted)} quantities, the table has all" if len(wanted) > _PANELS else ""
    level = shown["level"].iloc[0] if len(shown) else np.nan
    states = ", ".join(dict.fromkeys(shown["status"]))
    figure.suptitle(f"mean and central {level:.0%} interval ({states}){rest}", fontsize=7)
    return figure


def _words(table: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """The other keys of every row in words."""
    words = pd.Series("", index=table.index)
    for i, key in enumerate(keys):
        words = words + (", " if i else "") + f"{key} " + table[key].astype(str)
    return words


def _places(values: pd.Series) -> dict[object, float] | None:
    """Places of texts on the axis, in their order; None where the values are numbers."""
    if pd.api.types.is_numeric_dtype(values):
        return None
    return {value: float(i) for i, value in enumerate(dict.fromkeys(values))}


def _intervals(
    axis: Axes, rows: pd.DataFrame, keys: Sequence[str], groups: Sequence[str], places: dict[object, float] | None
) -> None:
    values = rows[keys[0]]
    at = values.map(places).to_numpy(float) if places else values.to_numpy(float)
    wide = places is None and len(at) > 0 and at.min() > 0 and at.max() >= 5 * at.min()
    reach = np.log(at.max() / at.min()) if wide else max(np.ptp(at), 1.0) if len(at) else 1.0
    words = _words(rows, keys[1:])
    for i, group in enumerate(groups):
        mine = (words == group).to_numpy()
        aside = 0.02 * reach * (i - (len(groups) - 1) / 2)
        x = at[mine] * np.exp(aside) if wide else at[mine] + aside
        gaps = np.abs(rows.loc[mine, ["lower", "upper"]].to_numpy().T - rows.loc[mine, "mean"].to_numpy())
        marker, colour = MARKERS[i % len(MARKERS)], CYCLE[i % len(CYCLE)]
        axis.errorbar(x, rows.loc[mine, "mean"], yerr=gaps, fmt=marker, color=colour, label=group, ms=2.5, lw=0.9)
    if wide:
        axis.set_xscale("log")
    if places:
        axis.set_xticks(list(places.values()), [str(value) for value in places])
