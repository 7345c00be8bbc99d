"""The figure of a scenario from the files that were made of it."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from .. import style
from . import figure, making
from .making import Files


def drawn(files: Files, *, fonts_of: str = "machine") -> Figure:
    """The figure of a scenario: of its case, grid or batch.

    Parameters
    ----------
    files : that were made of it.
    fonts_of : ``machine``, whose fonts must draw its names, or ``reader``, where names stay texts.
    """
    facts = making.facts_of(files)
    if facts["form"] == "batch":
        from . import batch  # pyarrow, where there are many tables

        return figure.of_batch(batch.read(files.csv, figure.BATCH), facts, fonts_of=fonts_of)
    rows, _, facts = making.read(files)
    made = figure.of_grid if facts["form"] == "grid" else figure.of_case
    return made(rows, facts, fonts_of=fonts_of)


def save(files: Files, png: str | Path, pdf: str | Path) -> None:
    """The figure of a scenario in both formats, in fonts that have its names."""
    with style.applied(_names(files)):
        style.save(drawn(files), png, pdf)


def _names(files: Files) -> set[str]:
    """Names of quantities, as far as a figure shows some; characters are what matters."""
    found = pd.read_csv(files.csv, usecols=["quantity"], dtype=str, keep_default_na=False, nrows=100_000)
    return set(found["quantity"])
