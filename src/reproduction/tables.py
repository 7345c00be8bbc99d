"""Read and write the tables of the workflow, which are CSV files that preserve every value exactly."""

import os
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from dpmultinomial._files import places

_TEXT = {"note", "relation", "sees", "other_variants"}  # columns that contain text, even if every cell is empty


def read(path: str | Path, content: BinaryIO | None = None) -> pd.DataFrame:
    """Read a table from a CSV file, with exactly the values that were written. Floats are read without loss, and empty
    cells of text columns are read as empty strings.

    Parameters
    ----------
    path : path of the file.
    content : content of the file, if it has been read already (tables of a run are read through `reproduction.trust`).
    """
    table = pd.read_csv(path if content is None else content, sep="\t" if str(path).endswith(".tsv") else ",")
    text = [*table.select_dtypes(include=["object", "string"]).columns, *(_TEXT & set(table.columns))]
    return table.assign(**{c: table[c].astype("string").fillna("").astype(object) for c in text})


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table as CSV, or as TSV if the name of the file ends in ``.tsv``. The file is written completely or not
    at all, and its floats are read back exactly.
    """
    separator = "\t" if str(path).endswith(".tsv") else ","
    _replace(path, table.to_csv(index=False, sep=separator, lineterminator="\n"))


def _replace(path: str | Path, text: str) -> None:
    path = Path(path)
    part = places.draft(path)
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
