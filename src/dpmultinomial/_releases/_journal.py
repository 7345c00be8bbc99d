"""The journal of what was spent: beside the confidential data, so that it is lost only with them.

A tab-separated file, mode 0600, that only grows: an entry of the ledger a line, the keyed fingerprints of the file that
was released and of its name, and a digest of the line and of all before it under the same key. A changed, exchanged or
missing line breaks the chain from there on; lines cut off at its end are missed by the ledger, the releases or the
account's memory (`_books`). A crash may leave part of a last line, which the next writer cuts off: nothing follows a
line before it is on disk whole.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import _durable, _entries
from ._entries import Entry
from ._refused import Refused

NAME = ".spent"
_TITLE = b"dpmultinomial, spent 1"
_HEADER = re.compile(rb"dpmultinomial, spent 1\t([0-9a-f]{32})\t([0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the journal.

    Parameters
    ----------
    entry : as in the ledger.
    file, name : keyed fingerprints of what the confidential file held, whatever its encoding, and of its name below
        ``confidential/``; empty where they are not known.
    """

    entry: Entry
    file: str = ""
    name: str = ""

    @property
    def body(self) -> bytes:
        """The line without its chain and end."""
        return self.entry.line[:-1] + f"\t{self.file}\t{self.name}".encode()


@dataclass(frozen=True)
class Journal:
    """The journal at `path`, its chain under the key `secret`; changes need the lock of `protocol`."""

    path: Path
    secret: bytes

    def __repr__(self) -> str:
        return f"Journal({self.path.name})"

    @property
    def text(self) -> bytes:
        """All whole lines, as they are on disk; nothing where there is no journal."""
        raw = self.path.read_bytes() if self.path.exists() else b""
        return raw[: raw.rfind(b"\n") + 1]

    def identity(self, text: bytes | None = None) -> str:
        """What tells this journal from others: 32 hexadecimal digits; empty where it has not begun."""
        found = _HEADER.match(self.text if text is None else text)
        return found[1].decode() if found else ""

    def lines(self, text: bytes | None = None) -> list[Line]:
        """Every whole line.

        Parameters
        ----------
        text : of a copy; None takes the file.

        Raises
        ------
        ValueError
            If a line is not what was written under this key after the lines before it (line and rule).
        """
        return [line for line, _ in self._chained(self.text if text is None else text)]

    def intact(self, text: bytes) -> list[Line]:
        """The lines of a copy up to the first that breaks the chain."""
        found = []
        try:
            for line, _ in self._chained(text):
                found.append(line)
        except Refused:
            pass
        return found

    def begin(self) -> None:
        """Cut off the part of a line that a crash left; begin an empty journal."""
        raw = self.path.read_bytes() if self.path.exists() else b""
        whole = len(self.text)
        if whole < len(raw):
            _durable.cut(self.path, whole)
        if not whole:
            _durable.append(self.path, self._first(secrets.token_hex(16)), name="first line of the journal", mode=0o600)
            _durable.sync(self.path.parent, name="journal")

    def add(self, line: Line) -> None:
        """Write a line; when this returns it is on disk."""
        chain = self._end()
        whole = line.body + b"\t" + self._digest(chain, line.body) + b"\n"
        _durable.append(self.path, whole, name=f"journal, {line.entry.state}", mode=0o600)

    def rewrite(self, lines: list[Line]) -> None:
        """A new journal with a name of its own, all or nothing."""
        found = self._first(secrets.token_hex(16))
        chain = found.split(b"\t")[-1].rstrip(b"\n")
        for line in lines:
            chain = self._digest(chain, line.body)
            found += line.body + b"\t" + chain + b"\n"
        _durable.replace(self.path, found, mode=0o600, name="journal, written anew")

    def _first(self, identity: str) -> bytes:
        return b"\t".join([_TITLE, identity.encode(), self._digest(b"", identity.encode())]) + b"\n"

    def _digest(self, before: bytes, body: bytes) -> bytes:
        code = hmac.new(self.secret, b"journal\n%d\n" % len(before) + before + body, hashlib.sha256)
        return code.hexdigest().encode()

    def _end(self) -> bytes:
        return next(reversed([chain for _, chain in self._chained(self.text)]), self._start(self.text))

    def _start(self, text: bytes) -> bytes:
        found = _HEADER.fullmatch(text.split(b"\n")[0])
        if not found or not hmac.compare_digest(found[2], self._digest(b"", found[1])):
            raise Refused(f"{self.path}, line 1: is not what was written under the key beside it")
        return found[2]

    def _chained(self, text: bytes) -> Iterator[tuple[Line, bytes]]:
        if not text:
            return
        chain = self._start(text)
        for number, raw in enumerate(text.split(b"\n")[1:-1], start=2):
            place = f"{self.path}, line {number}"
            body, _, stated = raw.rpartition(b"\t")
            chain = self._digest(chain, body)
            if not hmac.compare_digest(stated, chain):
                raise Refused(f"{place}: is not what was written there; it or a line before it was changed")
            values = body.decode().split("\t")
            yield Line(entry=_entries.of_line(values[:-2], place), file=values[-2], name=values[-1]), chain
