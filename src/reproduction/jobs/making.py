"""Compute a table, simulate a piece of a loop, or draw a figure: the work of one job, called by the scripts of the
workflow.

A function of a paper is named ``<slug>.<module>.<function>``, below ``reproduction.papers``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import dependencies, provenance, results, style, tables
from ..provenance import Job
from . import blocks, calls


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
    """Compute a table and write it with its provenance.

    Parameters
    ----------
    function : as in `calls.find`.
    csv : output file.
    reads : name -> file of an input table.
    files : argument -> file.
    by, settings, programs, names, root_seed : as in `calls.made`.
    job : the calling job.
    """
    paths = {argument: Path(file) for argument, file in files.items()}
    table = calls.made(
        function,
        by=by,
        settings=settings,
        read={name: results.read(path) for name, path in reads.items()},
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
    """Simulate one piece of a loop and write it with its provenance.

    Parameters
    ----------
    function : function that simulates one block, as in `calls.find`.
    csv : output file.
    settings, names, root_seed, shard, shards : as in `blocks.simulate`.
    job : the calling job.
    """
    streams, call = tuple(names), calls.find(function)
    piece = blocks.simulate(call, dict(settings), root_seed=root_seed, names=streams, shard=shard, shards=shards)
    tables.write(piece, csv)
    provenance.write(provenance.short(function=function, job=job), csv)


def figure(function: str, table: str | Path, png: str | Path, pdf: str | Path, *, job: Job | None = None) -> None:
    """Draw a figure from its table, as PNG and PDF, and write its provenance.

    Parameters
    ----------
    function : as in `calls.find`.
    table, png, pdf : input file and output files.
    job : the calling job.
    """
    with style.applied():
        style.save(calls.find(function)(results.read(table)), png, pdf)
    record = provenance.short(function=function, inputs=[Path(table)], job=job)
    provenance.write(record | {provenance.SOURCES: provenance.sources(_code(function))}, png, pdf)


def _code(function: str) -> list[Path]:
    """Return the source files and kernels that the module of a function uses."""
    return dependencies.of_job(f"reproduction.papers.{function.rpartition('.')[0]}")
