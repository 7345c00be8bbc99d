"""A scenario at every point of its grid: one tidy table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from dpmultinomial._seeding import stream

from ..config import grid_settings
from . import scenario_tables


def of_shard(
    function: Callable[..., pd.DataFrame],
    scenario: Mapping[str, Any],
    *,
    names: Sequence[str],
    root_seed: int,
    shard: int,
    shards: int,
    further: Mapping[str, Any],
) -> pd.DataFrame:
    """The main tables of one block of points, the grid's keys first.

    Parameters
    ----------
    function : a paper's ``scenario.table``.
    scenario : with its grid.
    names : of the scenario's streams; a point's own stream has the point in words as its last name, so it depends on
        nothing but the point.
    root_seed : of all streams.
    shard : 1-based.
    shards : how many blocks there are.
    further : arguments beside the scenario's keys.

    Returns
    -------
    DataFrame; without columns where a block has no points.

    Raises
    ------
    ValueError
        As the scenario at the point it names.
    """
    points = grid_settings.points(scenario)
    first, last = (len(points) * s // shards for s in (shard - 1, shard))
    parts = []
    for point in points[first:last]:
        words = grid_settings.label(point)
        try:
            rng = stream(root_seed, *names, words)
            table = function(**grid_settings.at(scenario, point), **further, rng=rng)
        except ValueError as error:
            raise ValueError(f"{words}: {error}") from error
        main, _ = scenario_tables.split(table)
        rest = main.drop(columns=[key for key in point if key in main])
        parts.append(pd.concat([pd.DataFrame(point, index=main.index), rest], axis=1))
    return together(parts)


def together(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Blocks one below the other; those without points are passed over."""
    found = [part for part in parts if len(part)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame({"quantity": []})
