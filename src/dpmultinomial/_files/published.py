"""Opening a release for inference: the public file, checked against its record; nothing here can be confidential."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .csv_table import CsvTable
from .faults import FileFault
from .public import read, read_bytes

DATA, RECORD = "release.csv", "record.json"


@dataclass(frozen=True, repr=False)
class Published:
    """A release as inference sees it.

    Parameters
    ----------
    folder : where it lies.
    record : what ``record.json`` states (mechanism, law, scale, step, cost, ..).
    table : its file.
    """

    folder: Path
    record: Mapping[str, object]
    table: CsvTable

    def __repr__(self) -> str:
        return (
            f"Published({self.record['release']}, generation {self.record['generation']}: {self.record['mechanism']})"
        )

    def number(self, key: str) -> float:
        """A number of the record; FileFault if there is none of that name."""
        value = self.record.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise FileFault(f"{self.folder / RECORD}: must state {key} as a number")
        return float(value)


def open_release(folder: str | Path) -> Published:
    """A published release.

    Parameters
    ----------
    folder : ``releases/<name>/<generation>``.

    Raises
    ------
    FileNotFoundError, FileFault
        If a file is missing, the record is no JSON object with release, generation, mechanism and sha256, or the public
        file is not the one whose SHA-256 the record states.
    """
    folder = Path(folder)
    try:
        record = json.loads(read_bytes(folder / RECORD))
    except ValueError as error:
        raise FileFault(f"{folder / RECORD}: is no JSON ({error})") from None
    if not isinstance(record, dict) or not {"release", "generation", "mechanism", "sha256"} <= set(record):
        raise FileFault(f"{folder / RECORD}: must state release, generation, mechanism and sha256")
    found = hashlib.sha256(read_bytes(folder / DATA)).hexdigest()
    if found != record["sha256"]:
        raise FileFault(f"{folder / DATA}: SHA-256 must be {record['sha256']}, as its record states, got {found}")
    stated = {key: record[key] if isinstance(record.get(key), str) else None for key in ("delimiter", "encoding")}
    table = read(folder / DATA, delimiter=stated["delimiter"], encoding=stated["encoding"])
    return Published(folder, record, table)
