"""Accuracy of the counts of a synthetic nation by level, computed from the files of the states."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...style import CYCLE, DOUBLE, GREY, MARKERS, letters, log_scale
from . import states


def part(root_seed: int, name: str, path: Path, **settings: Any) -> None:
    """Write the file of one state (see `states.write`).

    Parameters
    ----------
    root_seed : root seed of all streams.
    name : two letters of the state.
    path : output file.
    **settings : settings of the study.
    """
    states.write(name, path, root_seed=root_seed, **settings)


def table(
    root_seed: int,
    *,
    parts: Sequence[Path],
    scale: float,
    sigmas: Mapping[str, float],
    level: float,
    deepest: str,
) -> pd.DataFrame:
    """Return error, coverage and width by level and method.

    Parameters
    ----------
    root_seed : not used, because all random draws are made in the parts.
    parts : files of the states.
    scale, sigmas, level, deepest : settings of the study, see `states.write`.

    Returns
    -------
    DataFrame
        ``states.COLUMNS``, and the level of the intervals.
    """
    found = states.accuracy(parts)
    found["interval"] = level
    return found


def figure(table: pd.DataFrame) -> Figure:
    """Plot the root mean square error and the coverage by level, with one line per method."""
    figure_drawn = Figure(figsize=(DOUBLE, 2.6))
    panels = figure_drawn.subplots(1, 2)
    levels = list(dict.fromkeys(table["level"]))[1:]  # the count of the state itself is known
    for i, (method, method_rows) in enumerate(table.groupby("method", sort=False)):
        rows = method_rows.set_index("level").loc[levels]
        look: dict[str, Any] = {"color": CYCLE[i], "marker": MARKERS[i], "lw": 0.8, "label": method}
        for panel, column in zip(panels, ("rmse", "coverage"), strict=True):
            panel.plot(np.arange(len(levels)) + 0.06 * (i - 1), rows[column], **look)
    log_scale(panels[0], "y")
    panels[0].set_ylabel("root mean square error")
    panels[1].set_ylabel("coverage")
    panels[1].axhline(table["interval"].iloc[0], color=GREY, ls="--", lw=0.8, zorder=0)
    for panel in panels:
        panel.set_xticks(range(len(levels)), levels)
    handles, labels = panels[0].get_legend_handles_labels()
    figure_drawn.legend(handles, labels, loc="outside lower center", ncols=3)
    letters(panels)
    return figure_drawn
