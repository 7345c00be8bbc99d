"""Measure the accuracy of estimated counts of geographic units. The counts are estimated from synthetic noisy
measurement files. Error, width and coverage are computed by level and by size of the count.

The noisy measurement files are synthetic, and the true counts are stored next to them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import ndtri

from dpmultinomial._measurement_files import products, reading
from dpmultinomial._measurement_files.places import Places
from dpmultinomial._seeding import stream
from reproduction import synthetic_census

from ..style import CYCLE, DOUBLE, GREY, MARKERS, letters, log_scale
from .coverage import METHODS, answers, errors, summed, words

MEASURES = {"rmse": "root mean square error", "width": "mean width", "coverage": "coverage"}
FEWEST = 20  # minimum number of places in a bin that is shown in the figure
POSTERIOR = METHODS[-1]


def table(
    root_seed: int,
    *,
    state: str,
    files: int,
    size: Mapping[str, Any],
    cell: Mapping[str, Any],
    levels: Sequence[str],
    level: float,
    edges: Sequence[float],
) -> pd.DataFrame:
    """Return the coverage and the width of the intervals, and the bias and the root mean square error of the estimates,
    for the counts of geographic units, by level, method and true count.

    Parameters
    ----------
    root_seed : root seed of all streams.
    state : abbreviation of a state with two letters; the files have the code of this state.
    files : number of independent synthetic states.
    size : size of each state, as fields of `synthetic_census.Size`.
    cell : dictionary from the axes to a level, a group of levels or a list of levels.
    levels : levels of the tabulation: State, County, Tract, Block_Group or Block.
    level : probability of the intervals, in (0, 1).
    edges : increasing bin edges of the true counts.

    Returns
    -------
    DataFrame
        The columns are level and interval, then the columns of `by_true_value`, and the accuracy status and error of
        the posterior. Both are the worst over all places of a level.
    """
    every = []
    for i in range(files):
        with TemporaryDirectory() as folder:
            rng = stream(root_seed, "studies", "measurements", i)
            asked: dict[str, Any] = {"state": state, "size": size, "cell": cell, "levels": levels, "level": level}
            every.append(measured(Path(folder), rng=rng, **asked))
    places = pd.concat(every, ignore_index=True)
    z = float(ndtri((1 + level) / 2))
    parts = []
    for name in levels:
        places_of_level = places[places["level"] == name]
        truth = places_of_level["truth"].to_numpy()
        frame = summed(
            pd.concat([errors(word, truth, *ends) for word, ends in answers(places_of_level, z).items()]), edges
        )
        frame.insert(0, "level", name.lower().replace("_", " "))
        frame.insert(1, "interval", level)
        ours = frame["method"] == POSTERIOR
        worst = max(places_of_level["status"], key=("exact", "approximate").index)
        parts.append(
            frame.assign(
                status=np.where(ours, worst, "comparison"),
                error=np.where(ours, places_of_level["error"].astype(float).max(), np.nan),
            )
        )
    return pd.concat(parts, ignore_index=True)


def figure(table: pd.DataFrame) -> Figure:
    """Plot the error of the estimates, the interval width and the coverage against the true count, with one column of
    panels per geographic level.
    """
    levels = list(dict.fromkeys(table["level"]))
    last = float(table.loc[np.isfinite(table["to"]), "to"].max())
    drawn = table[table["counts"] >= FEWEST]
    figure_drawn = Figure(figsize=(DOUBLE, 5.4))
    panels = figure_drawn.subplots(len(MEASURES), len(levels), sharex="col", sharey="row", squeeze=False)
    for column, name in zip(panels.T, levels, strict=True):
        rows = drawn[drawn["level"] == name]
        bins = rows.loc[rows["method"] == POSTERIOR, ["from", "to"]].to_numpy()
        column[0].set_title(name)
        column[-1].set_xticks(range(len(bins)), [words(a, b, last) for a, b in bins], rotation=40, ha="right")
        column[-1].tick_params(axis="x", pad=1)
        column[-1].set_xlabel("true count")
        column[-1].set_xlim(-0.5, max(len(bins), 1) - 0.5)
        for i, method in enumerate(METHODS):
            method_rows = rows[rows["method"] == method]
            _lines(column, method_rows, i)
        column[-1].axhline(table["interval"].iloc[0], color=GREY, ls="--", lw=0.8, zorder=0)
    for row, label in zip(panels, MEASURES.values(), strict=True):
        row[0].set_ylabel(label)
    for row in panels[:2]:
        log_scale(row[0])
    figure_drawn.align_xlabels(panels[-1])
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure_drawn.legend(handles, labels, loc="outside lower center", ncols=len(METHODS))
    letters(panels.ravel())
    return figure_drawn


def _lines(column: Sequence[Any], own: pd.DataFrame, i: int) -> None:
    """Plot the results of one method in the panels of one geographic level. A line connects the bins, and a separate
    mark shows the result for all counts together.
    """
    x = np.arange(len(own)) + 0.12 * (i - 1)
    bins = np.isfinite(own["to"].to_numpy())
    look: dict[str, Any] = {"color": CYCLE[i], "marker": MARKERS[i], "lw": 0.8, "ms": 3}
    for panel, measure in zip(column, MEASURES, strict=True):
        values = own[measure].to_numpy()
        panel.plot(x[bins], values[bins], label=METHODS[i], **look)
        panel.plot(x[~bins], values[~bins], **look)
        if measure == "coverage":
            error = 2 * own["coverage_se"].to_numpy()
            panel.vlines(x, values - error, np.minimum(values + error, 1.0), color=CYCLE[i], lw=0.6)


# settings of a product for states, whose noise settings are published
PL94: dict[str, Any] = {"product": "pl94", "table": "person"}
# number of characters of the geocode of a block, which is the GEOID with the digit of the block group repeated
_TAIL = 16
_TWICE = 11  # position of the first of the two equal digits


def measured(
    folder: Path,
    *,
    state: str,
    size: Mapping[str, Any],
    cell: Mapping[str, Any],
    levels: Sequence[str],
    level: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Generate a synthetic state, write and read its noisy measurement files, and analyse the count of one histogram
    cell in all geographic units of some levels.

    Parameters
    ----------
    folder : empty folder for the files.
    state : abbreviation of a state with two letters.
    size : size of the state, as fields of `synthetic_census.Size`.
    cell : dictionary from the axes to a level, a group of levels or a list of levels.
    levels : levels of the tabulation, from `products.GEOID_DIGITS`.
    level : probability of the intervals, in (0, 1).
    rng : numpy Generator.

    Returns
    -------
    DataFrame
        The columns are those of `Places.table`, and ``truth`` (true count). The default prior is used.
    """
    data = synthetic_census.write(folder, state=state, rng=rng, size=synthetic_census.Size(**size), **PL94)
    files = reading.read(folder, state=state, cell=cell, **PL94)
    rows = Places(files, levels, level=level).table("count", rng=rng)
    blocks = true_counts(data, cell)
    known = [blocks.groupby(blocks.index.str[: products.GEOID_DIGITS[name]]).sum() for name in levels]
    every = pd.concat(known, keys=levels)
    place = pd.MultiIndex.from_frame(rows[["level", "geoid"]])
    return rows.assign(truth=every.reindex(place, fill_value=0).to_numpy(dtype=np.int64))


def true_counts(data: Path, cell: Mapping[str, Any]) -> "pd.Series[int]":
    """Return the true count of a cell in every block, indexed by the GEOID of the block. Blocks in which the count is 0
    are omitted.

    Parameters
    ----------
    data : folder of the product, with the file of true counts.
    cell : argument of `measured`.
    """
    product = products.product_of(**PL94)
    everyone = pq.read_table(data / synthetic_census.TRUTH).to_pandas()
    inside: NDArray[np.bool_] = np.ones(len(everyone), dtype=bool)
    for axis, mask in zip(product.axes, products.masks(product, dict(cell)), strict=True):
        inside &= mask[everyone[axis.name].to_numpy()]
    rows = everyone[inside]
    tail = rows["geocode"].str[-_TAIL:]
    geoid = tail.str[:_TWICE] + tail.str[_TWICE + 1 :]
    return rows.groupby(geoid)["count"].sum()
