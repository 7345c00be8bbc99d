"""What a job of tables does: its loops and its tables one after the other. The workflow's scripts call it.

A part is what `reproduction.jobs.parts` says of one table or loop.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import provenance, results, tables
from ..provenance import Job
from . import adapters, blocks, dependencies
from .job_log import named

_PAPERS = Path(__file__).resolve().parents[1] / "papers"


def all_tables(
    loops: Sequence[Mapping[str, Any]], parts: Sequence[Mapping[str, Any]], *, root_seed: int, job: Job | None = None
) -> None:
    """Make the short loops of a job, then its tables, below the working directory.

    Parameters
    ----------
    loops, parts : as the workflow tells, in their order.
    root_seed : of all streams.
    job : that does it.
    """
    for loop in loops:
        piece(loop, 1, root_seed=root_seed, job=job)
    for part in parts:
        with named(part, part["by"]):
            _table(part, root_seed, job)


def piece(loop: Mapping[str, Any], shard: int, *, root_seed: int, job: Job | None = None) -> None:
    """Make one piece of a loop.

    Parameters
    ----------
    loop : as the workflow tells.
    shard : 1-based number of the piece.
    root_seed : of all streams.
    job : that does it.
    """
    path = Path(loop["file"].format(shard=shard))
    with named({**loop, "name": path.stem}, "simulate"):
        names = tuple(loop["names"])
        which = {"shard": shard, "shards": loop["pieces"]}
        function = adapters.find(loop["function"])
        made = blocks.simulate(function, loop["settings"], root_seed=root_seed, names=names, **which)
        path.parent.mkdir(parents=True, exist_ok=True)
        tables.write(made, path)
        provenance.write(provenance.short(function=loop["function"], job=job), path)


def _table(part: Mapping[str, Any], root_seed: int, job: Job | None) -> None:
    slug, name = part["function"].partition(".")[0], part["name"]
    files = {argument: _PAPERS / slug / file for argument, file in part["files"].items()}
    table = adapters.made(
        part["function"],
        **{key: part[key] for key in ("by", "settings", "programs")},
        read={key: results.read(path) for key, path in part["reads"].items()},
        files=files,
        names=tuple(part["names"]),
        root_seed=root_seed,
        further={},
    )
    csv = Path("results", slug, f"{name}.csv")
    tables.write(table, csv)
    tables.write_html(table, csv.with_suffix(".html"), title=part["label"], caption=part["caption"])
    record = provenance.record(
        function=part["function"],
        settings=part["settings"],
        root_seed=root_seed,
        inputs=map(Path, [*part["reads"].values(), *files.values()]),
        code=dependencies.of_job(f"reproduction.papers.{part['function'].rpartition('.')[0]}"),
        job=job,
    )
    provenance.write(record, csv, csv.with_suffix(".html"))
