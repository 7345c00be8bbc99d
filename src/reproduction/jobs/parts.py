"""What the workflow tells a job of each table, loop and figure: plain values, JSON-encoded as the rule's parameters."""

import shutil
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..config import json_text
from ..paper import Paper
from . import jobs


def of_tables(
    paper: Paper,
    job: jobs.Tables,
    section: Mapping[str, Any],
    loops: Iterable[jobs.Loop] = (),
    gathered: Callable[[tuple[str, ...]], list[str]] = list,
) -> list[str]:
    """One part for each table of a job.

    Parameters
    ----------
    paper, job : whose tables they are.
    section : the paper's settings.
    loops : all loops of the paper.
    gathered : the files that the `inputs` of a table made by ``gather`` stand for.
    """
    by_loop = {(loop.module, loop.settings): loop for loop in loops}
    parts = []
    for artefact in job.artefacts:
        table = artefact.table
        assert table is not None
        part: dict[str, Any] = {
            "name": artefact.name,
            "label": artefact.label,
            "caption": table.caption,
            "by": table.by,
        }
        part |= {"function": f"{paper.slug}.{table.function}", "names": [paper.slug, table.settings]}
        part |= {"settings": section[table.settings], "files": table.files}
        part |= {"programs": {name: shutil.which(name) or "" for name in table.programs}}
        files = {file: file for file in gathered(table.inputs)} if table.by == "gather" else {}
        part |= {"reads": files or jobs.sources(paper, artefact, by_loop)}
        parts.append(json_text.encoded(part))
    return parts


def of_loop(loop: jobs.Loop, section: Mapping[str, Any]) -> str:
    """The part of a loop; its file has {shard} for the number of the piece."""
    part: dict[str, Any] = {"function": f"{loop.slug}.{loop.module}.simulate", "names": [loop.slug, loop.settings]}
    part |= {"settings": section[loop.settings], "pieces": max(1, loop.pieces), "file": loop.file}
    return json_text.encoded(part)


def of_figures(paper: Paper, job: jobs.Figures) -> list[str]:
    """One part for each figure of a job."""
    parts = []
    for artefact in job.artefacts:
        assert artefact.figure is not None
        place = f"{paper.slug}/{artefact.name}"
        part = {"name": artefact.name, "function": f"{paper.slug}.{artefact.figure.function}"}
        part |= {"table": f"results/{place}.csv", "png": f"figures/{place}.png"}
        parts.append(json_text.encoded(part))
    return parts


def captions(job: jobs.Tables | jobs.Figures) -> dict[str, str]:
    """Label -> caption of everything a job makes, for Snakemake's report."""
    kind = "table" if isinstance(job, jobs.Tables) else "figure"
    return {a.label: getattr(a, kind).caption for a in job.artefacts}
