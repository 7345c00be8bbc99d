"""Compute a table, simulate one part (shard) of a simulation loop, or plot a figure, in one job of the workflow.

A function of a paper is named ``<slug>.<module>.<function>``, below ``reproduction.papers``. Long loops are divided
into blocks of fixed size, with one random stream per block, and the blocks are distributed over any number of shards.
The numbers of a block depend only on its stream, so results do not depend on the shards, the cores or the order of
jobs.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from dpmultinomial import _checks
from dpmultinomial._seeding import stream

from .. import dependencies, provenance, style, tables, trust
from ..provenance import Job


def table(
    function: str,
    csv: str | Path,
    *,
    by: str,
    settings: Mapping[str, Any],
    reads: Mapping[str, str],
    files: Mapping[str, str],
    programs: Mapping[str, str],
    names: Sequence[str],
    root_seed: int,
    job: Job | None = None,
) -> None:
    """Compute a table and write it with its provenance record.

    Parameters
    ----------
    function : as in `find`.
    csv : output file.
    reads : mapping from a name to the file of an input table.
    files : mapping from an argument to a file.
    by, settings, programs, names, root_seed : as in `made`.
    job : the calling job.
    """
    paths = {argument: Path(file) for argument, file in files.items()}
    table = made(
        function,
        by=by,
        settings=settings,
        read={name: trust.table(path) for name, path in reads.items()},
        files=paths,
        programs=programs,
        names=tuple(names),
        root_seed=root_seed,
    )
    tables.write(table, csv)
    record = provenance.record(
        function=function,
        settings=dict(settings),
        root_seed=root_seed,
        inputs=[*map(Path, reads.values()), *paths.values()],
        code=_code(function),
        job=job,
    )
    provenance.write(record, csv)


def piece(
    function: str,
    csv: str | Path,
    *,
    settings: Mapping[str, Any],
    names: Sequence[str],
    root_seed: int,
    shard: int,
    shards: int,
    job: Job | None = None,
) -> None:
    """Simulate one part (shard) of a simulation loop, and write the results with their provenance record.

    Parameters
    ----------
    function : function that simulates one block, as in `find`.
    csv : output file.
    settings, names, root_seed, shard, shards : as in `simulate`.
    job : the calling job.
    """
    streams, call = tuple(names), find(function)
    piece = simulate(call, dict(settings), root_seed=root_seed, names=streams, shard=shard, shards=shards)
    tables.write(piece, csv)
    provenance.write(provenance.short(function=function, job=job), csv)


def figure(function: str, table: str | Path, png: str | Path, pdf: str | Path, *, job: Job | None = None) -> None:
    """Plot a figure from a table, save the figure as PNG and PDF, and write the provenance record of the figure.

    Parameters
    ----------
    function : as in `find`.
    table, png, pdf : input file and output files.
    job : the calling job.
    """
    with style.applied():
        style.save(find(function)(trust.table(table)), png, pdf)
    record = provenance.short(function=function, inputs=[Path(table)], job=job)
    provenance.write(record | {provenance.SOURCES: provenance.sources(_code(function))}, png, pdf)


def _code(function: str) -> list[Path]:
    """Return the source files and kernels that the module of a function uses."""
    return dependencies.of_job(f"reproduction.papers.{function.rpartition('.')[0]}")


def find(name: str) -> Callable[..., Any]:
    """Return the function with the given dotted name below ``papers``, such as ``<slug>.tables.table_1``."""
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
    """Call a function of a paper with its settings, tables, files and random stream, and return the resulting table.

    Parameters
    ----------
    function : as in `find`.
    by : method by which the table is made (``compute``, ``measure``, ``summarise``, ``gather``).
    settings : section of the configuration.
    read : mapping from a name to an input table; parts of a loop and gathered tables are in order.
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
    """Return all blocks of a simulation loop as one table, sorted by the number of the block. The result does not
    depend on the number of parts into which the loop is divided. Parts without blocks are omitted.
    """
    table = pd.concat([piece for piece in pieces if len(piece)], ignore_index=True)
    return table.sort_values("block", kind="stable", ignore_index=True)


def _without_loop(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a simulation, excluding the number of replications and the block size."""
    return {key: value for key, value in settings.items() if key not in ("replications", "block")}


def of_shard(replications: int, block: int, shard: int, shards: int) -> list[tuple[int, int]]:
    """Return the index and the size of each block of replications in one shard (the blocks computed by one of several
    jobs). The blocks of a shard are consecutive, and the numbers of blocks differ by at most one between shards.

    Parameters
    ----------
    replications : total size >= 1.
    block : size of a block >= 1 (the last block may be smaller).
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
    """Run ``function(size, rng=, **settings)`` for every block of replications in one shard (part of a simulation
    loop), and stack the resulting tables.

    Parameters
    ----------
    function : function that simulates the replications of one block.
    settings : settings that contain `replications` and `block`; all other entries are passed to `function`.
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
