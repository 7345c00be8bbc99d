"""Budget records of a user account: the journal, the ledger and the copies of journals in the account. These records
are compared with each other before every release.

The journal next to the data is authoritative. The public ledger must agree with the journal, every release on disk must
be in the journal, and the journal must contain all entries of its copy in the user account. Traces of a single crash
are repaired. Any other difference is rejected, with the command that restores the budget records without losing a
release.

The account keeps a copy of each journal outside of the project, below ``~/.local/state``.

The copy detects changes that the files next to the data cannot show: all of them were replaced by an older backup, two
copies of a project spend independently, or a confidential file was moved to another checkout without its journal. The
copy does not give a guarantee: another account, another machine or a home folder without write permission does not have
a copy (see `Memory.there`).

Entries describe the spending line by line. The public ledger and the confidential journal have these columns.

The journal of spending is stored next to the confidential data, so that it is lost only together with the data.

The journal is a tab-separated file with mode 0600, to which lines are only appended. Each line contains an entry of the
ledger, the keyed fingerprints of the released file and of its name, and a digest, under the same key, of the line and
of all lines before it. A changed, exchanged or missing line breaks the chain from this line on. Lines that are removed
from the end are detected from the ledger, the releases or the copy of the journal in the user account. A crash may
leave a part of the last line, which the next writer removes: no line is written before the previous line is complete on
disk.

The public ledger has one line when a release spends its budget, and one when its files have been published.

The ledger is a tab-separated file to which lines are only appended. It is derived from the confidential journal, which
is authoritative. A crash may leave a part of the last line, which the reader ignores and the next writer removes.
"""

import errno
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import _confidential, _durable, _places, spending
from ._places import Refused

COMMAND = "python -P -m dpmultinomial._releases"  # -P: modules in the current folder are not imported
RESTORE, NEW_KEY = f"{COMMAND} restore", f"{COMMAND} new-account-key"
_NO_KEY = f"Restore the key from a backup. If there is no backup, run {NEW_KEY} to generate a new key"
_NO_HOME = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST)


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """Backup copy of a journal, stored in the folder with the budget records of the user account.

    Parameters
    ----------
    identity : identifier of the journal.
    place : folder that contained the journal.
    text : text of all lines of the journal.
    files : fingerprints of the released files under the secret key of the user account.
    """

    identity: str
    place: str
    text: bytes
    files: tuple[str, ...]


@dataclass(frozen=True)
class Unreadable:
    """Unreadable copy of a journal in the folder with the budget records of the user account.

    Parameters
    ----------
    path : the file, whose name is the identifier of its journal.
    place : folder of the journal, if it can be read from the file; otherwise empty.
    """

    path: Path
    place: str

    def is_about(self, identity: str, place: Path) -> bool:
        """Return whether a damaged file is a copy of the journal of a given folder."""
        return self.path.stem == identity or self.place == str(place)


@dataclass(frozen=True)
class Memory:
    """Folder with the budget records of the user account. It contains copies of the release journals."""

    folder: Path

    @property
    def there(self) -> bool:
        """Return whether the process can write to the folder with the budget records of the user account. Raise OSError
        only if a disk is full or broken.
        """
        try:
            _durable.folder(self.folder, mode=0o700)
        except OSError as error:
            if error.errno in _NO_HOME:
                return False
            raise
        return os.access(self.folder, os.W_OK | os.X_OK)

    def all(self) -> Iterator[Remembered]:
        """Yield all readable copies of journals in the folder with the budget records of the user account. The method
        `unreadable` returns the other files.
        """
        yield from (entry for entry in self._files() if isinstance(entry, Remembered))

    def unreadable(self) -> list[Unreadable]:
        """Return the unreadable copies of journals in the folder with the budget records of the user account. Each file
        concerns only the project whose journal it contained.
        """
        return [entry for entry in self._files() if isinstance(entry, Unreadable)]

    def _files(self) -> Iterator[Remembered | Unreadable]:
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ():
            raw = b""
            try:
                raw = path.read_bytes() if path.is_file() else b""
                record = json.loads(raw)
                yield Remembered(
                    identity=path.stem,
                    place=str(record["place"]),
                    text=record["text"].encode(),
                    files=tuple(map(str, record["files"])),
                )
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                yield Unreadable(path, _place_of(raw))

    def move_aside(self, path: Path) -> Path:
        """Rename a damaged journal copy or key, so that the damaged file is no longer used. Return the new path."""
        number = 0
        while os.path.lexists(kept := path.with_name(f"{path.name}.unreadable.{number}")):
            number += 1
        path.rename(kept)
        return kept

    def find(self, identity: str) -> Remembered | None:
        """Return the copy of a journal that is stored in the user account, or None if there is no such copy."""
        return next((copy for copy in self.all() if copy.identity == identity), None)

    def fingerprint(self, content: bytes) -> str:
        """Return the fingerprint of a confidential file's content under the secret key of the user account. The string
        is empty if there is no key and nothing can be stored.
        """
        if not self.there and not (self.folder.is_dir() and os.access(self.key, os.R_OK)):
            return ""
        if not os.path.lexists(self.key):
            if any(not isinstance(entry, Remembered) or entry.files for entry in self._files()):
                raise Refused(
                    f"{self.key}, the key of the user account, is missing, so a copy of a file that was already "
                    f"released in another project would not be recognised and would get a new budget. {_NO_KEY}"
                )
            _confidential.draw_key(self.key, name="the account's key")
        if not (secret := self.secret()):  # without a secret key, anyone could compute the fingerprint of a guess
            raise Refused(
                f"{self.key}: the key of the user account must be a regular file of {_confidential.KEY_BYTES} bytes. "
                f"{_NO_KEY}"
            )
        return hmac.new(secret, content, hashlib.sha256).hexdigest()

    @property
    def key(self) -> Path:
        """Path of the secret key of the user account."""
        return self.folder / "key"

    def secret(self) -> bytes:
        """Return the secret key of the user account, or an empty string if the key is missing or damaged."""
        whole = self.key.is_file() and self.key.stat().st_size == _confidential.KEY_BYTES
        return self.key.read_bytes() if whole else b""

    def keep(self, journal: Remembered) -> None:
        """Store a copy of the current state of a journal on disk, in place of the earlier copy."""
        known: dict[str, Any] = {"place": journal.place, "text": journal.text.decode(), "files": list(journal.files)}
        raw = (json.dumps(known) + "\n").encode()
        _durable.replace(self.folder / f"{journal.identity}.json", raw, mode=0o600, name="the account's memory")

    def forget(self, identity: str) -> None:
        """Remove from the user account the copy of a journal whose entries are now contained in another journal."""
        (self.folder / f"{identity}.json").unlink(missing_ok=True)


_PLACE = re.compile(rb'^\{"place": ("(?:[^"\\\\\x00-\x1f]|\\\\.)*")')


def _place_of(raw: bytes) -> str:
    """Return the folder path at the beginning of an incomplete copy of a journal, or an empty string if the path cannot
    be read.
    """
    match = _PLACE.match(raw)
    with suppress(ValueError):
        return str(json.loads(match[1])) if match else ""
    return ""


def of_account() -> Memory:
    """Return the folder that contains the journal copies of the user account that runs this process."""
    home = os.environ.get("XDG_STATE_HOME", "")  # a relative path is ignored (XDG Base Directory Specification)
    return Memory(Path(home if os.path.isabs(home) else os.path.expanduser("~/.local/state"), "dpmultinomial/spent"))


SPENT, PUBLISHED = "spent, not published", "published"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Entry of the ledger for a single release.

    Parameters
    ----------
    time : time in UTC, with a resolution of one second.
    release, generation, source, mechanism : settings as configured.
    cost : cost, in the format printed by `spending.Cost`.
    sha256 : digest of the public file.
    record_sha256 : digest of the record of the release.
    settings, data : keyed fingerprints of the settings and of the confidential file, bound to the release and its
        generation; empty if they are no longer known.
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
    def spent(self) -> spending.Cost:
        """Privacy cost of the release that an entry of the ledger describes."""
        return spending.read(self.cost)

    @property
    def name(self) -> tuple[str, int]:
        """Name and generation of the release that an entry of the ledger describes."""
        return self.release, self.generation

    @property
    def line(self) -> bytes:
        """Return an entry of the ledger as a line of text that ends with a line break.

        Raises
        ------
        ValueError
            If a field contains tabs or line breaks.
        """
        values = [str(value) for value in astuple(self)]
        if wrong := [value for value in values if re.search(r"[\t\r\n]", value)]:
            raise Refused(f"the fields of a ledger line must not contain tabs or line breaks, got {wrong[0][:80]!r}")
        return ("\t".join(values) + "\n").encode()


COLUMNS = tuple(f.name for f in fields(Entry))
HEADER = ("\t".join(COLUMNS) + "\n").encode()


def now() -> str:
    """Return the current time in the format of the ledger."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def of_line(values: list[str], place: str) -> Entry:
    """Parse a line of the ledger into an entry.

    Parameters
    ----------
    values : fields of the line.
    place : file and line, for error messages.

    Raises
    ------
    ValueError
        If a field does not have the format of the ledger; the message states file, line and rule.
    """
    if len(values) != len(COLUMNS):
        raise Refused(f"{place}: the line must have {len(COLUMNS)} fields, got {len(values)} fields")
    named = dict(zip(COLUMNS, values, strict=True))
    if named["state"] not in (SPENT, PUBLISHED):
        raise Refused(f"{place}: state must be {SPENT!r} or {PUBLISHED!r}, got {named['state']!r}")
    generation = named.pop("generation")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", generation, re.ASCII):
        raise Refused(f"{place}: generation must be an integer >= 1, got {generation!r}")
    for key in ("release", "source"):
        if not _NAME.fullmatch(named[key]):
            raise Refused(
                f"{place}: {key} must consist of at most 64 lower-case letters, digits and _ and "
                f"begin with a letter, got {named[key]!r}"
            )
    try:
        cost = spending.read(named["cost"])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        why = f" ({error})" if type(error) is ValueError else ""
        raise Refused(
            f"{place}: cost must be a valid privacy cost of a release, got {named['cost'][:80]!r}{why}"
        ) from None
    if str(cost) != named["cost"]:
        raise Refused(f"{place}: cost must be written as {cost}, got {named['cost'][:80]!r}")
    return Entry(generation=int(generation), **named)


def latest_entries(entries: list[Entry]) -> dict[tuple[str, int], Entry]:
    """Return the latest state of every release, in the order in which budget was spent. A published release remains
    published.
    """
    by_release: dict[tuple[str, int], Entry] = {}
    for entry in entries:
        known = by_release.get(entry.name)
        if known is None or known.state != PUBLISHED:
            by_release[entry.name] = entry
    return by_release


def costs(entries: list[Entry], *sources: str) -> list[spending.Cost]:
    """Return the privacy costs of all published and unpublished releases of the given sources."""
    return [entry.spent for entry in latest_entries(entries).values() if entry.source in sources]


def of_record(raw: bytes, place: str, *, record_sha256: str, sha256: str) -> Entry:
    """Build the ledger entry of a release from its public files. This is used if no other record of the release exists.

    Parameters
    ----------
    raw : ``record.json``.
    place : name of the record, for error messages.
    record_sha256, sha256 : digests of the record and of the public file.

    Returns
    -------
    Entry

    Raises
    ------
    ValueError
        If the record does not state the cost of the release.
    """
    try:
        record = json.loads(raw)
        values = [now(), record["release"], str(record["generation"]), record["source"], record["mechanism"]]
        cost = str(spending.read(json.dumps(record["cost"])))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise Refused(
            f"{place}: the record must contain a valid privacy cost of the release ({type(error).__name__}: "
            f"{str(error)[:80]!r})"
        ) from None
    return of_line([*map(str, values), cost, sha256, record_sha256, "", "", PUBLISHED], place)


NAME = ".spent"
_TITLE = b"dpmultinomial, spent 1"
_HEADER = re.compile(rb"dpmultinomial, spent 1\t([0-9a-f]{32})\t([0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class Line:
    """Single line of the journal of budget records.

    Parameters
    ----------
    entry : entry as in the ledger.
    file, name : keyed fingerprints of the confidential file's content (in any encoding) and of its name below
        ``confidential/``; empty if they are not known.
    """

    entry: Entry
    file: str = ""
    name: str = ""

    @property
    def body(self) -> bytes:
        """Return a line of the journal without its digest in the hash chain and without its line break."""
        return self.entry.line[:-1] + f"\t{self.file}\t{self.name}".encode()


@dataclass(frozen=True)
class Journal:
    """Journal of budget records at `path`, whose lines form a hash chain that is keyed with `secret`. A program may
    change the journal only while it holds the lock (`_protocol.locked`).
    """

    path: Path
    secret: bytes

    def __repr__(self) -> str:
        return f"Journal({self.path.name})"

    @property
    def text(self) -> bytes:
        """Return all complete lines of the journal file, or an empty string if there is no journal."""
        _places.own_file(self.path)
        raw = self.path.read_bytes() if self.path.exists() else b""
        return raw[: raw.rfind(b"\n") + 1]

    def identity(self, text: bytes | None = None) -> str:
        """Return the identifier of a journal as 32 hexadecimal digits, or an empty string if the journal is empty."""
        match = _HEADER.match(self.text if text is None else text)
        return match[1].decode() if match else ""

    def lines(self, text: bytes | None = None) -> list[Line]:
        """Return every complete line of the journal of budget records.

        Parameters
        ----------
        text : text of a copy; None reads the file.

        Raises
        ------
        ValueError
            If a line was not written under this key after the lines before it; the message states line and rule.
        """
        return [line for line, _ in self._chained(self.text if text is None else text)]

    def intact(self, text: bytes) -> list[Line]:
        """Return the lines of a copy of the journal before the first line that breaks the hash chain."""
        valid = []
        try:
            for line, _ in self._chained(text):
                valid.append(line)
        except Refused:
            pass
        return valid

    def begin(self) -> None:
        """Remove an incomplete line left by a crash, and write the first line of an empty journal."""
        raw = self.path.read_bytes() if self.path.exists() else b""
        whole = len(self.text)
        if whole < len(raw):
            _durable.cut(self.path, whole)
        if not whole:
            _durable.append(self.path, self._first(secrets.token_hex(16)), name="first line of the journal", mode=0o600)
            _durable.sync(self.path.parent, name="journal")

    def add(self, line: Line) -> None:
        """Write a line to the journal, and wait until the line is on disk."""
        chain = self._end()
        whole = line.body + b"\t" + self._digest(chain, line.body) + b"\n"
        _durable.append(self.path, whole, name=f"journal, {line.entry.state}", mode=0o600)

    def rewrite(self, lines: list[Line]) -> None:
        """Write a new journal with a new identifier. A crash leaves either the old or the new journal."""
        content = self._first(secrets.token_hex(16))
        chain = content.split(b"\t")[-1].rstrip(b"\n")
        for line in lines:
            chain = self._digest(chain, line.body)
            content += line.body + b"\t" + chain + b"\n"
        _durable.replace(self.path, content, mode=0o600, name="journal, rewritten")

    def _first(self, identity: str) -> bytes:
        return b"\t".join([_TITLE, identity.encode(), self._digest(b"", identity.encode())]) + b"\n"

    def _digest(self, before: bytes, body: bytes) -> bytes:
        code = hmac.new(self.secret, b"journal\n%d\n" % len(before) + before + body, hashlib.sha256)
        return code.hexdigest().encode()

    def _end(self) -> bytes:
        return next(reversed([chain for _, chain in self._chained(self.text)]), self._start(self.text))

    def _start(self, text: bytes) -> bytes:
        header = _HEADER.fullmatch(text.split(b"\n")[0])
        if not header or not hmac.compare_digest(header[2], self._digest(b"", header[1])):
            raise Refused(
                f"{self.path}, line 1: the checksum does not match the key in the same folder: restore the file and "
                "the key from the same backup"
            )
        return header[2]

    def _chained(self, text: bytes) -> Iterator[tuple[Line, bytes]]:
        if not text:
            return
        chain = self._start(text)
        for number, raw in enumerate(text.split(b"\n")[1:-1], start=2):
            place = f"{self.path}, line {number}"
            body, _, stated = raw.rpartition(b"\t")
            chain = self._digest(chain, body)
            if not hmac.compare_digest(stated, chain):
                raise Refused(
                    f"{place}: this line or an earlier line was modified (wrong checksum): restore the newest backup"
                )
            values = body.decode().split("\t")
            yield Line(entry=of_line(values[:-2], place), file=values[-2], name=values[-1]), chain


@dataclass(frozen=True)
class Ledger:
    """Ledger of releases in the file `path`. A program may change the ledger only while the program holds
    the lock (`_protocol.locked`).
    """

    path: Path

    def __repr__(self) -> str:
        return f"Ledger({self.path}, releases: {len(latest_entries(self.lines()))})"

    @property
    def text(self) -> bytes:
        """Return the content of the ledger file, or an empty string if there is no ledger."""
        _places.public_file(self.path)
        return self.path.read_bytes() if self.path.exists() else b""

    def lines(self) -> list[Entry]:
        """Return all complete lines of the ledger after the header.

        Raises
        ------
        ValueError
            If a line does not have the format of the ledger; the message states file, line and rule.
        """
        entries = []
        for number, line in enumerate(self.text.split(b"\n")[:-1], start=1):
            place = f"{self.path}, line {number}"
            if number == 1:
                if line + b"\n" != HEADER:
                    raise Refused(
                        f"{place}: the header must contain the columns {', '.join(COLUMNS)}, got "
                        f"{line[:80].decode('utf-8', errors='replace')!r}"
                    )
                continue
            entries.append(of_line(line.decode("utf-8", errors="replace").split("\t"), place))
        return entries

    def entries(self) -> list[Entry]:
        """Return the latest state of every release in the ledger. The errors are those of `lines`."""
        return list(latest_entries(self.lines()).values())

    def mend(self) -> None:
        """Remove an incomplete line left by a crash, and write the header of an empty ledger."""
        raw = self.text
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            _durable.cut(self.path, whole)
        if not whole:
            _durable.append(self.path, HEADER, name="header of the ledger")
            _durable.sync(self.path.parent, name="ledger")

    def add(self, entry: Entry) -> None:
        """Write an entry to the ledger, and wait until the entry is on disk."""
        _durable.append(self.path, entry.line, name=f"ledger, {entry.state}")

    def rewrite(self, entries: list[Entry]) -> None:
        """Rewrite the ledger in such a way that, after a crash, either the old or the new ledger is on disk."""
        _durable.folder(self.path.parent)
        _durable.replace(self.path, HEADER + b"".join(e.line for e in entries), mode=0o644, name="ledger, rewritten")


FOLDER, DATA, RECORD = "releases", "release.csv", "record.json"
_LAG = 1  # largest number of lines by which the ledger may lag behind the journal after a crash


@dataclass(frozen=True, kw_only=True)
class Books:
    """Budget records of the releases in one folder.

    Parameters
    ----------
    root : folder of the configuration.
    place : folder of the confidential files.
    journal, ledger : the two files of the folder.
    memory : copies of journals in the user account.
    """

    root: Path
    place: Path
    journal: Journal
    ledger: Ledger
    memory: Memory

    def agreed(self) -> list[Line]:
        """Compare all budget records, repair the effects of a crash, and return every line of the journal.

        Raises
        ------
        ValueError
            If the records differ; the message states the difference, and the command that resolves it.
        """
        try:
            self.journal.begin()
            lines = self.journal.lines()
        except Refused as error:
            raise Refused(
                f"{error}. Restore the newest backup, or run {RESTORE} to rebuild the file from the "
                "remaining budget records"
            ) from None
        self._ledger_agrees([line.entry for line in lines])
        self._releases_known([line.entry for line in lines])
        self._memory_agrees()
        return lines

    def spend(self, line: Line, *, files: Sequence[str]) -> None:
        """Write a line to the journal, to its copy in the user account and to the ledger, and wait until the line is on
        disk. The fingerprints are written first, so that after a crash other projects know the file of the release.

        Parameters
        ----------
        line : line to write.
        files : fingerprints of the released files under the secret key of the user account (`Memory.fingerprint`).
        """
        self.remember(files)
        self.journal.add(line)
        self.ledger.mend()
        self.ledger.add(line.entry)
        self.remember()

    def remember(self, files: Sequence[str] = ()) -> None:
        """Save a copy of the current journal in the user account, if possible."""
        if self.memory.there:
            text = self.journal.text
            identity = self.journal.identity(text)
            known = self.memory.find(identity)
            every = tuple(dict.fromkeys([*(known.files if known else ()), *filter(None, files)]))
            journal = Remembered(identity=identity, place=str(self.place), text=text, files=every)
            if journal != known:
                self.memory.keep(journal)

    def elsewhere(self, files: Sequence[str]) -> None:
        """Raise ValueError if the privacy budget spent on a file is recorded in another journal of the same user
        account. The message states the location of that journal.
        """
        journal_identity = self.journal.identity()
        for other in self.memory.all():
            if other.identity != journal_identity and set(files) & set(other.files):
                way = (
                    f"Make {_places.FOLDER}/ a symbolic link to this folder, or make the release in the project to "
                    "which this folder belongs"
                )
                if not Path(other.place, NAME).exists():
                    way = f"This folder no longer exists: run {RESTORE} {other.place} to transfer the recorded spending"
                raise Refused(
                    "the privacy budget already spent on the file of this release is recorded in another journal (in "
                    f"{other.place}). {way}"
                )

    def _ledger_agrees(self, wanted: list[Entry]) -> None:
        path = self.ledger.path
        _durable.folder(path.parent)
        raw = self.ledger.text
        entries = read(self.ledger)
        for number, (found_entry, wanted_entry) in enumerate(zip(entries, wanted, strict=False), start=2):
            if found_entry != wanted_entry:
                raise Refused(
                    f"{FOLDER}/ledger.tsv, line {number}: the line differs from the journal in "
                    f"{_places.FOLDER}/. Restore both files from the same backup, or run {RESTORE} to "
                    "rebuild the ledger from the journal"
                )
        if len(entries) > len(wanted):
            raise Refused(
                f"{_places.FOLDER}/{NAME} lacks {len(entries) - len(wanted)} lines of "
                f"{FOLDER}/ledger.tsv, so the journal was truncated or is an older copy. Restore the "
                f"newest backup, or run {RESTORE} to add the missing lines from the ledger"
            )
        if len(wanted) - len(entries) > _LAG:
            raise Refused(
                f"{FOLDER}/ledger.tsv lacks {len(wanted) - len(entries)} of {len(wanted)} lines. The ledger was lost "
                "or truncated, is an older copy, or belongs to another checkout. Restore the ledger from a backup, "
                f"or run {RESTORE} to rebuild the ledger from the journal in {_places.FOLDER}/"
            )
        if wanted or raw:
            self.ledger.mend()
        for entry in wanted[len(entries) :]:
            self.ledger.add(entry)

    def _releases_known(self, entries: list[Entry]) -> None:
        known, records = {entry.name for entry in entries}, {entry.record_sha256: entry for entry in entries}
        for name, generation in releases(self.root):
            if (name, generation) not in known:
                entry = records.get(file_digest(self.root / FOLDER / name / str(generation) / RECORD))
                if entry is not None:
                    raise Refused(
                        f"{FOLDER}/{name}/{generation} contains the files of {FOLDER}/{entry.release}/"
                        f"{entry.generation}, so the folder was renamed or copied: give the folder its previous "
                        "name, or remove the copy"
                    )
                raise Refused(
                    f"{FOLDER}/{name}/{generation} is neither in the journal nor in the ledger. Either the journal "
                    "and the ledger are old backups, or this release was recorded in other files. Restore the newest "
                    f"backups of both files, or run {RESTORE} to add the cost of this release to the recorded spending"
                )

    def _memory_agrees(self) -> None:
        text = self.journal.text
        identity = self.journal.identity(text)
        _readable_memory(self.memory, identity, self.place)
        for known in self.memory.all():
            if known.identity == identity and not text.startswith(known.text):
                behind = known.text.startswith(text)
                what = "is older than" if behind else "differs from"
                cause = (
                    "the journal was truncated or restored from an older copy"
                    if behind
                    else "spending was recorded in two copies of the journal"
                )
                raise Refused(
                    f"{_places.FOLDER}/{NAME} {what} the copy in the user account (last used in {known.place}), "
                    f"because {cause}. Restore the newest backup of the journal, or run {RESTORE} to add the spending "
                    "recorded in the copy to the journal"
                )
            if known.identity != identity and known.place == str(self.place):
                raise Refused(
                    f"the journal in {self.place} is new, but the user account has a copy of an older journal of this "
                    f"folder. Restore the older journal from a backup, or run {RESTORE} to add the spending recorded "
                    "in the copy to the new journal"
                )


def _readable_memory(memory: Memory, identity: str, place: Path) -> None:
    """Check that the copy of a journal in the user account can be read. The identifier `identity` of the journal is
    empty if the journal does not exist yet.
    """
    for torn in memory.unreadable():
        if torn.is_about(identity, place):
            raise Refused(
                f"{torn.path} cannot be read. This file is the backup copy of the journal {_places.FOLDER}/{NAME}. "
                f"Restore the file from a backup, or run {RESTORE}, which renames the damaged file if the journal and "
                "the ledger agree"
            )


def releases(root: Path) -> list[tuple[str, int]]:
    """Return the pair (name, generation) of every release folder below ``releases/``. A release folder has a valid name
    and a valid generation number, and contains the data or the record of a release.
    """
    pairs = []
    for path in sorted((root / FOLDER).glob("*/*")):
        named = re.fullmatch(r"[a-z][a-z0-9_]*", path.parent.name) and re.fullmatch(r"[1-9][0-9]*", path.name)
        if named and any((path / file).exists() for file in (DATA, RECORD)):
            pairs.append((path.parent.name, int(path.name)))
    return pairs


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, or an empty string if there is no such file."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def read(ledger: Ledger) -> list[Entry]:
    """Return the lines of a ledger. If the ledger is damaged, raise ValueError with a message that states the line, the
    rule and the remedy.
    """
    try:
        return ledger.lines()
    except Refused as error:
        raise Refused(
            f"{error}. Restore the ledger from a backup, or run {RESTORE} to rebuild the ledger from the journal"
        ) from None


def opened(root: Path) -> Books:
    """Open the budget records of a folder, and create the secret key if no budget has been spent yet.

    Raises
    ------
    ValueError
        If the key or the journal is missing although a budget was spent, or if other users can read the key.
    """
    place, ledger, memory = _places.folder(root), Ledger(root / FOLDER / "ledger.tsv"), of_account()
    path = place / NAME
    _places.own_file(path)
    begun = path.exists() and path.stat().st_size > 0  # a crash may have left a part of the first line
    spent = {entry.name for entry in read(ledger)}
    if not _confidential.has_key(place) and (begun or spent):
        raise Refused(
            f"{_places.FOLDER}/{_confidential.KEY} is missing, so changes to the budget records cannot be detected. "
            f"Restore this key from a backup. If there is no backup, run {RESTORE}, which creates a new key and "
            "keeps all recorded spending. Every later release then requires a new generation"
        )
    if not begun and (why := _spent_before(root, place, spent, memory)):
        raise Refused(
            f"{_places.FOLDER}/{NAME}, the journal of the recorded spending, is missing, but {why}. Restore the "
            "journal from a backup. If there is no backup, or if the ledger was written by version 0.2 or older, run "
            f"{RESTORE} to rebuild the journal from the other budget records"
        )
    journal = Journal(path, _confidential.key(place))
    return Books(root=root, place=place, journal=journal, ledger=ledger, memory=memory)


def _spent_before(root: Path, place: Path, spent: set[tuple[str, int]], memory: Memory) -> str:
    """Return the evidence that a missing journal should exist, or an empty string if there is no evidence."""
    if spent:
        return f"{FOLDER}/ledger.tsv contains releases ({len(spent)})"
    _readable_memory(memory, "", place)
    if any(known.place == str(place) for known in memory.all()):
        return f"the user account has a copy of a journal of {place}"
    return f"there are releases in {FOLDER}/" if releases(root) else ""


def latest(lines: Sequence[Line]) -> dict[tuple[str, int], Entry]:
    """Return the latest state of every release in the budget records."""
    return latest_entries([line.entry for line in lines])
