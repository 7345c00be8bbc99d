"""Call a paper's function by name, with its settings, tables and random stream.

A function of a paper is named ``<slug>.<module>.<function>``, below ``reproduction.papers``.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from dpmultinomial._seeding import stream


def find(name: str) -> Callable[..., Any]:
    """Return the function with this dotted name below ``papers``, e.g. ``<slug>.tables.table_1``."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"reproduction.papers.{module}"), function)


def made(
    function: str,
    *,
    by: str,
    settings: Mapping[str, Any],
    read: Mapping[str, pd.DataFrame],
    files: Mapping[str, Path],
    programs: Mapping[str, str],
    names: tuple[str, ...],
    root_seed: int,
) -> pd.DataFrame:
    """Call a paper's function and return its table.

    Parameters
    ----------
    function : as in `find`.
    by : how the table is made (``compute``, ``measure``, ``summarise``, ``gather``).
    settings : section of the configuration.
    read : mapping from a name to an input table; pieces of a loop and gathered tables are in order.
    files : mapping from an argument to a file.
    programs : mapping from a program to its path, passed as an argument with the program's lower-case name.
    names, root_seed : name and root seed of the random stream, if the function has an argument `rng`; `root_seed` is
        also passed if the function has an argument of this name.
    """
    call = find(function)
    if by == "summarise":
        arguments = {"table": stack(list(read.values())), **_without_loop(settings)}
    elif by == "gather":
        arguments = {"table": pd.concat(list(read.values()), ignore_index=True), **settings}
    else:
        arguments = {**read, **settings}
    arguments |= {name.lower(): path for name, path in programs.items()} | dict(files)
    wanted = inspect.signature(call).parameters
    if "rng" in wanted:
        arguments["rng"] = stream(root_seed, *names)
    if "root_seed" in wanted:
        arguments["root_seed"] = root_seed
    table: pd.DataFrame = call(**arguments)
    return table


def stack(pieces: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return all blocks of a loop stacked in order, for any number of pieces; pieces without blocks are omitted."""
    table = pd.concat([piece for piece in pieces if len(piece)], ignore_index=True)
    return table.sort_values("block", kind="stable", ignore_index=True)


def _without_loop(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings without the keys that control the loop over blocks."""
    return {key: value for key, value in settings.items() if key not in ("replications", "block")}
