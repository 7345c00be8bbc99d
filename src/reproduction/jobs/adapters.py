"""What the workflow's scripts share: finding a paper's function, putting shards together."""

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from dpmultinomial._seeding import stream


def find(name: str) -> Callable[..., Any]:
    """The function with this dotted name below `papers`, e.g. ``<slug>.tables.table_1``."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"reproduction.papers.{module}"), function)


def made(
    function: str,
    *,
    by: str,
    settings: Mapping[str, Any],
    read: Mapping[str, pd.DataFrame],
    programs: Mapping[str, str],
    files: Mapping[str, Path],
    names: tuple[str, ...],
    root_seed: int,
    further: Mapping[str, Any],
) -> pd.DataFrame:
    """The table that a paper's function makes.

    Parameters
    ----------
    function : as in `find`.
    by : how it is made (``compute``, ``measure``, ``summarise``, ``gather``).
    settings : its section of the configuration.
    read : tables it reads, by name; shards or parts in their order.
    programs : program -> its path, handed over under its lower-case name.
    files : argument -> file.
    names, root_seed : of its random stream, if it takes `rng`; `root_seed` itself, if it takes that.
    further : other arguments.
    """
    call = find(function)
    if by == "summarise":
        arguments = {"table": stack(list(read.values())), **without_loop(settings)}
    elif by == "gather":
        arguments = {"table": together(list(read.values())), **settings}
    else:
        arguments = {**read, **settings}
    arguments |= {name.lower(): path for name, path in programs.items()} | dict(files) | dict(further)
    wanted = inspect.signature(call).parameters
    if "rng" in wanted:
        arguments["rng"] = stream(root_seed, *names)
    if "root_seed" in wanted:
        arguments["root_seed"] = root_seed
    table: pd.DataFrame = call(**arguments)
    return table


def seeds(call: Callable[..., Any], *, root_seed: int, names: tuple[str, ...]) -> dict[str, Any]:
    """`root_seed` and the first `names` of its streams, for a function that takes them."""
    given = {"root_seed": root_seed, "names": names}
    return {key: value for key, value in given.items() if key in inspect.signature(call).parameters}


def stack(shards: list[pd.DataFrame]) -> pd.DataFrame:
    """All blocks in their order, whatever the number of shards; shards without blocks are passed over."""
    table = pd.concat([shard for shard in shards if len(shard)], ignore_index=True)
    return table.sort_values("block", kind="stable", ignore_index=True)


def together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Tables of the same columns one below the other, in the order they are named."""
    return pd.concat(parts, ignore_index=True)


def without_loop(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without the keys that steer the loop over blocks."""
    return {key: value for key, value in settings.items() if key not in ("replications", "block")}
