"""Read tables of a run, and reject a table that does not match its provenance (`reproduction.trust`)."""

import io
from pathlib import Path

import pandas as pd

from . import tables, trust

_SOURCES = Path(__file__).resolve().parent  # files in a paper's folder are code, not results


def read(path: str | Path) -> pd.DataFrame:
    """Return a table that a run computed, or a table from a paper's folder.

    Raises
    ------
    trust.Damaged
        If its provenance is missing or its SHA-256 differs.
    """
    if Path(path).resolve().is_relative_to(_SOURCES):
        return tables.read(path)
    return tables.read(path, io.BytesIO(trust.content(path)))
