"""Opening public files. Confidential ones are refused (`_files.places`); `_releases` alone opens them."""

import os
from pathlib import Path

from . import places
from .csv_table import CsvTable, parse
from .faults import FileFault

LARGEST_FILE = 4 * 2**30


def read(path: str | Path, *, delimiter: str | None = None, encoding: str | None = None) -> CsvTable:
    """Read and check a public CSV file.

    Parameters
    ----------
    path : of the file.
    delimiter, encoding : stated, or None to find them (`csv_table.parse`).

    Returns
    -------
    CsvTable
        Errors show the value they complain about.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, it is confidential, it has more than 4 GiB, or it breaks a rule of `csv_table.parse`.
    """
    return parse(read_bytes(path), name=str(path), confidential=False, delimiter=delimiter, encoding=encoding)


def read_bytes(path: str | Path) -> bytes:
    """All bytes of a public file of at most 4 GiB; raises as `read`."""
    with open(places.public(path), "rb") as file:
        about = os.fstat(file.fileno())
        if about.st_size > LARGEST_FILE:
            raise FileFault(f"{path}: must be at most {LARGEST_FILE} bytes, got {about.st_size}")
        if not os.path.samestat(about, os.stat(places.public(path))):
            raise FileFault(f"{path}: became another file while it was opened")
        return file.read()
