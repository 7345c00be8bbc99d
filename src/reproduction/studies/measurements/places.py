"""Synthetic noisy measurement files, the truth in them, and what is said of every place."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpmultinomial._measurement_files import products, reading
from dpmultinomial._measurement_files.places import Places
from reproduction import synthetic_census

PL94: dict[str, Any] = {"product": "pl94", "table": "person"}  # whose noise is published
_TAIL = 16  # characters of a block's code, its GEOID with the digit of the block group twice
_TWICE = 11  # where the first of these two digits stands


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
    """Make up a state, write its files, read them and answer one cell in all places of some levels.

    Parameters
    ----------
    folder : an empty one, for the files.
    state : two letters.
    size : fields of `synthetic_census.Size`.
    cell : axis -> level, group of levels or a list.
    levels : of the tabulation, from `products.GEOID_DIGITS`.
    level : of the intervals, in (0, 1).
    rng : numpy Generator.

    Returns
    -------
    DataFrame
        Columns of `Places.table`, and ``truth``, the count that was made up. The prior is the default one.
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
    """The cell's count in every block where it is not 0, by the block's GEOID.

    Parameters
    ----------
    data : folder of the product, with the truth in it.
    cell : as of `measured`.
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
