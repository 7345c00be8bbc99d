"""The public ledger: one line for what a release spends, and one when its files have appeared.

A tab-separated file that only grows, made from the confidential journal (`_journal`), which decides. A crash may leave
part of a last line: the reader ignores it and the next writer cuts it off.
"""

from dataclasses import dataclass
from pathlib import Path

from . import _durable, _entries
from ._entries import HEADER, Entry
from ._refused import Refused


@dataclass(frozen=True)
class Ledger:
    """The ledger at `path`; changes need the lock of `_protocol`."""

    path: Path

    def __repr__(self) -> str:
        return f"Ledger({self.path}: {len(_entries.latest(self.lines()))} releases)"

    def lines(self) -> list[Entry]:
        """Every whole line after the header.

        Raises
        ------
        ValueError
            If one is not what the ledger writes (file, line and rule).
        """
        if not self.path.exists():
            return []
        found = []
        for number, line in enumerate(self.path.read_bytes().split(b"\n")[:-1], start=1):
            place = f"{self.path}, line {number}"
            if number == 1:
                if line + b"\n" != HEADER:
                    raise Refused(f"{place}: must name the columns {', '.join(_entries.COLUMNS)}")
                continue
            found.append(_entries.of_line(line.decode("utf-8", errors="replace").split("\t"), place))
        return found

    def entries(self) -> list[Entry]:
        """Every release in its latest state; raises as `lines`."""
        return list(_entries.latest(self.lines()).values())

    def mend(self) -> None:
        """Cut off the part of a line that a crash left, and begin an empty ledger with its header."""
        raw = self.path.read_bytes() if self.path.exists() else b""
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            _durable.cut(self.path, whole)
        if not whole:
            _durable.append(self.path, HEADER, name="header of the ledger")
            _durable.sync(self.path.parent, name="ledger")

    def add(self, entry: Entry) -> None:
        """Write an entry; when this returns it is on disk."""
        _durable.append(self.path, entry.line, name=f"ledger, {entry.state}")

    def rewrite(self, entries: list[Entry]) -> None:
        """All lines anew, all or nothing."""
        _durable.folder(self.path.parent)
        _durable.replace(self.path, HEADER + b"".join(e.line for e in entries), mode=0o644, name="ledger, written anew")
