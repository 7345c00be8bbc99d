"""The ledger: one line for what a release spends, on disk before its file appears, and one when it has appeared.

A tab-separated file that only grows. A crash may leave part of a last line: the reader ignores it and the next
writer cuts it off, which is safe because a file appears only after its whole line is on disk.
"""

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from . import _costs, _durable
from ._refused import Refused

SPENT, PUBLISHED = "spent, not published", "published"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the ledger says of a release.

    Parameters
    ----------
    time : UTC, to the second.
    release, generation, source, mechanism : as configured.
    cost : as `costs.Cost` prints.
    sha256 : of the public file.
    record_sha256 : of its record.
    settings, data : keyed fingerprints of what was asked and of the confidential file, bound to release and generation.
    state : `SPENT` or `PUBLISHED`.
    """

    time: str
    release: str
    generation: int
    source: str
    mechanism: str
    cost: str
    sha256: str
    record_sha256: str
    settings: str
    data: str
    state: str

    @property
    def spent(self) -> _costs.Cost:
        """What it cost."""
        return _costs.read(self.cost)


COLUMNS = tuple(f.name for f in fields(Entry))
_HEADER = ("\t".join(COLUMNS) + "\n").encode()


def now() -> str:
    """The time as the ledger writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Ledger:
    """The ledger at `path`; changes need the lock of `_protocol`."""

    path: Path

    def __repr__(self) -> str:
        return f"Ledger({self.path}: {len(self.entries())} releases)"

    def entries(self) -> list[Entry]:
        """Every release that spent anything, in order, each in its latest state.

        Raises
        ------
        ValueError
            If a whole line is not one the ledger wrote (line and rule).
        """
        found: dict[tuple[str, int], Entry] = {}
        for number, line in enumerate(self._lines(), start=1):
            if number == 1:
                if line.encode() + b"\n" != _HEADER:
                    raise Refused(f"{self.path}, line 1: must name the columns {', '.join(COLUMNS)}")
                continue
            entry = _entry(line, f"{self.path}, line {number}")
            found[entry.release, entry.generation] = entry
        return list(found.values())

    def find(self, release: str, generation: int) -> Entry | None:
        """The entry of one release, or None."""
        return next((e for e in self.entries() if (e.release, e.generation) == (release, generation)), None)

    def costs(self, source: str) -> list[_costs.Cost]:
        """What was spent on a source, published or not."""
        return [e.spent for e in self.entries() if e.source == source]

    def mend(self) -> None:
        """Cut off the part of a line that a crash left, and begin an empty ledger with its header."""
        raw = self.path.read_bytes() if self.path.exists() else b""
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            _durable.cut(self.path, whole)
        if not whole:
            _durable.append(self.path, _HEADER, name="header of the ledger")
            _durable.sync(self.path.parent, name="ledger")

    def add(self, entry: Entry) -> None:
        """Write an entry; when this returns it is on disk."""
        values = [str(v) for v in astuple(entry)]
        if any(re.search(r"[\t\r\n]", v) for v in values):
            raise Refused("a ledger's field must not hold tabs or line ends")
        _durable.append(self.path, ("\t".join(values) + "\n").encode(), name=f"ledger, {entry.state}")

    def publish(self, entry: Entry) -> None:
        """Write that the file of `entry` is there."""
        self.add(replace(entry, time=now(), state=PUBLISHED))

    def _lines(self) -> Sequence[str]:
        if not self.path.exists():
            return []
        return self.path.read_bytes().decode("utf-8", errors="replace").split("\n")[:-1]


def _entry(line: str, place: str) -> Entry:
    values = line.split("\t")
    if len(values) != len(COLUMNS):
        raise Refused(f"{place}: must have {len(COLUMNS)} fields, got {len(values)}")
    named = dict(zip(COLUMNS, values, strict=True))
    if named["state"] not in (SPENT, PUBLISHED):
        raise Refused(f"{place}: state must be {SPENT!r} or {PUBLISHED!r}, got {named['state']!r}")
    if not named["generation"].isascii() or not named["generation"].isdigit():
        raise Refused(f"{place}: generation must be a whole number, got {named['generation']!r}")
    generation = int(named.pop("generation"))
    return Entry(
        time=named["time"],
        release=named["release"],
        generation=generation,
        source=named["source"],
        mechanism=named["mechanism"],
        cost=named["cost"],
        sha256=named["sha256"],
        record_sha256=named["record_sha256"],
        settings=named["settings"],
        data=named["data"],
        state=named["state"],
    )
