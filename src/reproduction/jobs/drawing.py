"""What a job of figures does: it draws them one after the other. The workflow's scripts call it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .. import style, tables
from . import adapters
from .job_log import named


def all_figures(parts: Iterable[Mapping[str, Any]]) -> None:
    """Draw figures from their tables, each as PNG and PDF.

    Parameters
    ----------
    parts : what `reproduction.jobs.parts` says of each.
    """
    for part in parts:
        with named(part), style.applied():
            figure = adapters.find(part["function"])(tables.read(part["table"]))
            style.save(figure, part["png"], Path(part["png"]).with_suffix(".pdf"))
