"""The figure of a scenario from the files that were made of it."""

from pathlib import Path

from matplotlib.figure import Figure

from .. import style
from . import figure, making
from .making import Files


def drawn(files: Files) -> Figure:
    """The figure of a scenario: of its case, grid or batch.

    Parameters
    ----------
    files : that were made of it.
    """
    facts = making.facts_of(files)
    if facts["form"] == "batch":
        from . import batch  # pyarrow, where there are many tables

        return figure.of_batch(batch.read(files.csv, figure.BATCH), facts)
    rows, _, facts = making.read(files)
    return figure.of_grid(rows, facts) if facts["form"] == "grid" else figure.of_case(rows, facts)


def save(files: Files, png: str | Path, pdf: str | Path) -> None:
    """The figure of a scenario in both formats."""
    with style.applied():
        found = drawn(files)
        style.save(found, png, pdf)
