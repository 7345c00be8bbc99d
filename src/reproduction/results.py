"""The one reader of a run's tables: nothing is read that is not what its provenance states (`reproduction.trust`)."""

import io
from pathlib import Path

import pandas as pd

from . import tables, trust

_SOURCES = Path(__file__).resolve().parent  # files of the papers themselves: code, not results


def read(path: str | Path) -> pd.DataFrame:
    """A table that a run made, or one of a paper's own folder.

    Raises
    ------
    trust.Damaged
        If its provenance is missing or states other bytes.
    """
    if Path(path).resolve().is_relative_to(_SOURCES):
        return tables.read(path)
    return tables.read(path, io.BytesIO(trust.content(path)))
