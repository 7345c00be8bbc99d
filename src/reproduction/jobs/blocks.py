"""Cut long loops into blocks of fixed size, with one random stream per block, and distribute the blocks over any number
of shards.

The numbers of a block depend only on its stream, so results do not depend on shards, cores or the order of jobs.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd

from dpmultinomial import _checks
from dpmultinomial._seeding import stream


def of_shard(replications: int, block: int, shard: int, shards: int) -> list[tuple[int, int]]:
    """Return (index, size) of the blocks of one shard; blocks of a shard are consecutive, and shards differ by at most
    one block.

    Parameters
    ----------
    replications : total size >= 1.
    block : size of a block >= 1 (the last may be smaller).
    shard : 1-based number of the shard.
    shards : number of shards.
    """
    _checks.integer("replications", replications, least=1)
    _checks.integer("block", block, least=1)
    _checks.integer("shard", shard, least=1, most=_checks.integer("shards", shards, least=1))
    sizes = [min(block, replications - start) for start in range(0, replications, block)]
    first, last = (len(sizes) * s // shards for s in (shard - 1, shard))
    return [(index, sizes[index]) for index in range(first, last)]


def simulate(
    function: Callable[..., pd.DataFrame],
    settings: dict[str, Any],
    *,
    root_seed: int,
    names: tuple[str, ...],
    shard: int = 1,
    shards: int = 1,
) -> pd.DataFrame:
    """Run ``function(size, rng=, **settings)`` for every block of a shard, and stack the resulting tables.

    Parameters
    ----------
    function : simulates the replications of one block.
    settings : must contain `replications` and `block`; the other entries are passed to `function`.
    root_seed : root seed of all random streams.
    names : leading names of the streams; the block index is the last name.
    shard, shards : as in `of_shard`.

    Returns
    -------
    DataFrame with a leading column `block`; empty (no columns) for a shard without blocks.
    """
    rest = {k: v for k, v in settings.items() if k not in ("replications", "block")}
    tables = [
        function(size, rng=stream(root_seed, *names, index), **rest).assign(block=index)
        for index, size in of_shard(settings["replications"], settings["block"], shard, shards)
    ]
    if not tables:
        return pd.DataFrame({"block": []})
    table = pd.concat(tables, ignore_index=True)
    return table[["block", *(c for c in table.columns if c != "block")]]
