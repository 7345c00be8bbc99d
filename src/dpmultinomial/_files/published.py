"""Opening a release for inference: the public file, checked against its record, and both against the ledger.

Nothing here can be confidential (`places`). Where a ledger lies two folders above, as in ``releases/``, it must name
these very files; a release that was copied elsewhere is held against its record alone.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import _records, _released_tables
from .csv_table import CsvTable, parse
from .faults import FileFault
from .public import read_bytes

LEDGER = "ledger.tsv"
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
        If a file is missing or confidential; the record breaks the schema of its mechanism; the public file is not the
        one whose SHA-256 the record states, or not what such a release is; the ledger names other files, or none.
    """
    folder = Path(folder)
    raw, data = read_bytes(folder / RECORD), read_bytes(folder / DATA)
    record = _records.parsed(raw, str(folder / RECORD))
    found = hashlib.sha256(data).hexdigest()
    if found != record["sha256"]:
        raise FileFault(f"{folder / DATA}: SHA-256 must be {record['sha256']}, as its record states, got {found}")
    _named_by_ledger(folder, record, hashlib.sha256(raw).hexdigest())
    stated = {key: record[key] if isinstance(record.get(key), str) else None for key in ("delimiter", "encoding")}
    table = parse(data, name=str(folder / DATA), confidential=False, **stated)
    _released_tables.check(table, record)
    return Published(folder, record, table)


def _named_by_ledger(folder: Path, record: Mapping[str, object], digest: str) -> None:
    """Hold a release against the ledger two folders above, where there is one."""
    ledger = folder.resolve().parents[1] / LEDGER
    if not ledger.is_file():
        return
    name, generation = folder.resolve().parent.name, folder.resolve().name
    if (record["release"], str(record["generation"])) != (name, generation):
        stated = f"{record['release']}, generation {record['generation']}"
        raise FileFault(
            f"{folder / RECORD}: must be of {name}, generation {generation}, as its folder says, got {stated}"
        )
    lines = [line.split("\t") for line in read_bytes(ledger).decode("utf-8", errors="replace").split("\n")]
    columns = {column: k for k, column in enumerate(lines[0])}
    if not {"release", "generation", "sha256", "record_sha256"} <= set(columns):
        raise FileFault(f"{ledger}, line 1: must name the columns of a ledger")
    rows = [{c: row[k] for c, k in columns.items()} for row in lines[1:] if len(row) == len(columns)]
    same = [row for row in rows if (row["release"], row["generation"]) == (name, generation)]
    if not same:
        raise FileFault(
            f"{folder}: {ledger} knows no such release; it was made elsewhere, or the ledger is an older copy"
        )
    if any((row["sha256"], row["record_sha256"]) != (record["sha256"], digest) for row in same):
        raise FileFault(f"{folder / RECORD}: is not the record that {ledger} names; restore it from a copy")
