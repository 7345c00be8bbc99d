"""What a job of figures does: it draws them one after the other. The workflow's scripts call it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .. import provenance, results, style
from ..provenance import Job
from . import adapters, dependencies
from .job_log import named


def all_figures(parts: Iterable[Mapping[str, Any]], *, job: Job | None = None) -> None:
    """Draw figures from their tables, each as PNG and PDF.

    Parameters
    ----------
    parts : what `reproduction.jobs.parts` says of each.
    job : that does it.
    """
    for part in parts:
        _figure(part, job)


def _figure(part: Mapping[str, Any], job: Job | None) -> None:
    pdf = Path(part["png"]).with_suffix(".pdf")
    with named(part, "draw"), style.applied():
        figure = adapters.find(part["function"])(results.read(part["table"]))
        style.save(figure, part["png"], pdf)
    made = provenance.short(function=part["function"], inputs=[Path(part["table"])], job=job)
    code = dependencies.of_job(f"reproduction.papers.{part['function'].rpartition('.')[0]}")
    provenance.write(made | {provenance.SOURCES: provenance.sources(code)}, part["png"], pdf)
