"""Protocol of a release: the cost is recorded on disk before the release is published.

All steps are under two locks, which are always taken in the same order: the lock next to the data, and the lock of the
user account, which all projects of the account share. The steps are: draw the noise; stage the files in a folder that
only its owner can open; write the fingerprint of the file to the copy of the journal in the user account; write the
line `spent, not published` to the journal, the ledger and this copy; rename the folder to its final name; write
`published`. If a crash happens before the line of the journal is written, nothing was spent. After a later crash, the
staged files still exist, and the next call publishes them without drawing noise. Every step has a name (`_durable`).

A requested release is checked against the records of earlier releases.
"""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from .. import _printing
from . import _budget_records, _durable, _places
from ._budget_records import DATA, FOLDER, PUBLISHED, RECORD, SPENT, Books, Entry, Line, now
from ._places import Refused
from .spending import Cost, beyond


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Requested release, with its name, its generation and its folders.

    Parameters
    ----------
    root : folder of `releases/` and `confidential/`.
    release, generation, source, mechanism : as configured.
    ceiling : budget of the source; may be empty.
    sources : sources over which the budget is counted; if empty, the source of the release.
    """

    root: Path
    release: str
    generation: int
    source: str
    mechanism: str
    ceiling: Mapping[str, float]
    sources: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        """Folder in which the files of the release are published."""
        return self.root / FOLDER / self.release / str(self.generation)

    @property
    def staged(self) -> Path:
        """Folder in which the files of the release are prepared."""
        return self.folder.with_name(f".staged-{self.generation}")

    def __str__(self) -> str:
        return f"releases/{self.release}, generation {self.generation}"


def state(asked: Asked, lines: Sequence[Line]) -> Entry | None:
    """Return the entry of the requested release in the budget records, or None if there is no such entry. Unknown
    files, and a generation that is not the next one, are rejected.

    Parameters
    ----------
    asked : requested release.
    lines : all recorded spending (`Books.agreed`).

    Raises
    ------
    ValueError
        If the folder contains files of unknown origin, a link or a file is in the place of the folder, or the
        generation is not the next one.
    """
    entries = _budget_records.latest(lines)
    entry = entries.get((asked.release, asked.generation))
    if entry is None or entry.state != PUBLISHED:
        _own_folders(asked)
    if entry is not None:
        return entry
    if asked.folder.exists() and (others := sorted(path.name for path in asked.folder.iterdir())):
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise Refused(
            f"{asked}: the folder of this generation must be empty before the release, but contains "
            f"{others[0]!r}{more}: remove all files from this folder"
        )
    latest = max((generation for release, generation in entries if release == asked.release), default=0)
    if asked.generation != latest + 1:
        raise Refused(
            f"{asked}: generation must be {latest + 1}, got {asked.generation}, because generations are consecutive"
        )
    return None


def _own_folders(asked: Asked) -> None:
    """Reject a release if the path of one of its folders is a file or a link. This check precedes the reading of data
    and the drawing of noise.
    """
    parent = asked.folder.parent
    if os.path.lexists(parent) and not parent.is_dir():
        raise Refused(
            f"{asked}: {FOLDER}/{asked.release} must be a folder, got a link or a file: remove or rename this path"
        )
    for path in (asked.folder, asked.staged):
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
            place = f"{FOLDER}/{asked.release}/{path.name}"
            raise Refused(f"{asked}: {place} must be a folder, got a link or a file: remove or rename the link or file")


def affordable(asked: Asked, cost: Cost, lines: Sequence[Line]) -> None:
    """Raise ValueError if the release would exceed the privacy budget of its source. The message states the cost before
    and after the release.

    Parameters
    ----------
    asked : requested release.
    cost : cost of the release.
    lines : all recorded spending.
    """
    spent = _budget_records.costs([line.entry for line in lines], *(asked.sources or [asked.source]))
    if why := beyond([*spent, cost], asked.ceiling):
        raise Refused(f"{asked}: budgets/{asked.source}: {why}")


def one_source(
    asked: Asked, lines: Sequence[Line], *, file: str, name: str, bound: Callable[[Entry], str] = lambda _: ""
) -> None:
    """Raise ValueError if a file was already released from another source. The message contains the name of the earlier
    release.

    Parameters
    ----------
    asked : requested release.
    lines : all recorded spending.
    file, name : fingerprints of the file's content and of its name.
    bound : function that returns the file's fingerprint bound to another release, for entries that are older than the
        journal.
    """
    for line in lines:
        other = line.entry.source
        content = file == line.file or (not line.file and line.entry.data and bound(line.entry) == line.entry.data)
        if other != asked.source and (content or name == line.name):
            what = "the content of this file" if content else "a file of this name"
            way = "" if content else ". If the file contains records of other people, rename the file"
            raise Refused(
                f"{asked}: {what} was already released from the source {other} (releases/{line.entry.release}, "
                f"generation {line.entry.generation}), and a file can have only one source: set source to {other}{way}"
            )


def _next(asked: Asked) -> str:
    return f"{asked.generation + 1} (or to the next generation that is not in the ledger)"


def unchanged(asked: Asked, entry: Entry, *, settings: Sequence[str], data: str) -> None:
    """Raise ValueError if budget was already spent on the same generation of a release with other settings or other
    data. The message states the remedy.

    Parameters
    ----------
    asked : requested release.
    entry : entry of the ledger.
    settings : fingerprints of the current settings, in every form in which they may have been stored.
    data : fingerprint of the file.

    Returns
    -------
    None
    """
    if not entry.settings or not entry.data:
        raise Refused(
            f"{asked}: the ledger does not contain the fingerprints of the settings and data of this release, so "
            f"changes cannot be detected: use the published files, or set generation to {_next(asked)} to "
            "spend budget on a new release"
        )
    known = (("settings", entry.settings in settings), ("confidential file", entry.data == data))
    for what, same in known:
        if not same:
            raise Refused(
                f"{asked}: the {what} changed after the release was made, and the difference between two answers "
                "with the same noise would reveal the change. To make another release, set generation to "
                f"{_next(asked)}, which spends {entry.spent.words} again, or the cost of the new settings"
            )


LOCK, WAIT = ".lock", 600.0
_QUIET = 3.0  # seconds of waiting without a message


@contextmanager
def locked(root: Path, *, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock that all releases from the same confidential folder share, and then the lock of the user account. A
    second process waits at most `wait` seconds for each lock and is then rejected.

    Raises
    ------
    TimeoutError
        If another process still holds a lock.
    ValueError
        If other users can open the confidential folder, or if the file of a lock is a link or a folder, or is on a file
        system without locks, or if both locks are the same file.
    """
    place = _places.folder(root)
    _durable.folder(place, mode=0o700)
    _places.own_folder(place)
    _two_locks(place)
    with _held(place / LOCK, f"{_places.FOLDER}/{LOCK}", wait=wait), account_locked(wait=wait):
        _durable.step("locked")
        yield


@contextmanager
def account_locked(*, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock that all releases of the same user account share, so that the cost of a simultaneous release in
    another project is always included. A process that holds this lock never waits for the lock of a project, so two
    processes cannot wait for each other. Without a writable home folder, there is no lock. A folder that other users
    can change is rejected.
    """
    memory = _budget_records.of_account()
    if not memory.there:
        yield
        return
    _places.own_account(memory.folder)
    path = memory.folder / LOCK
    with _held(path, str(path), wait=wait):
        yield


def _two_locks(place: Path) -> None:
    """Raise ValueError if the lock of a confidential folder is also the lock of the user account. A process that holds
    the first lock would wait for itself.
    """
    lock, other = place / LOCK, _budget_records.of_account().folder / LOCK
    if os.path.realpath(lock) == os.path.realpath(other):
        raise Refused(
            f"{_places.FOLDER}/ must not be the folder with the budget records of the user account, got {place}: move "
            "the confidential data to another folder"
        )
    if lock.exists() and other.exists() and lock.samefile(other):
        raise Refused(
            f"{lock} must not be a hard link to {other}, the lock file of the user account: remove the hard link"
        )


@contextmanager
def _held(path: Path, name: str, *, wait: float) -> Iterator[None]:
    """Hold an exclusive lock on a file. The operating system releases the lock if the process ends."""
    _places.own_file(path, name)
    _durable.step("open the lock")
    handle = _opened(path)
    try:
        start, told = time.monotonic(), False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                    break
                os.close(handle)  # the file was removed while this process waited, so others lock a new file
                handle = _opened(path)
            except BlockingIOError:
                passed = time.monotonic() - start
                if not told and passed > _QUIET:
                    _printing.notice(
                        f"{name} is locked by another process: waiting for at most {wait:g} s (keep this file)"
                    )
                    told = True
                if passed >= wait:
                    raise TimeoutError(
                        f"another process is making a release, and {name} was still locked after {wait:g} s: run the "
                        "command again later"
                    ) from None
                time.sleep(0.02)
            except OSError as error:
                raise Refused(
                    f"{name} cannot be locked ({error.strerror}), so two simultaneous releases could exceed a "
                    "budget: move the folder that contains this file to a file system that supports file locking"
                ) from None
        yield
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def finish(asked: Asked, entry: Entry, books: Books) -> Path:
    """Publish a release whose budget has already been spent, or verify that the release is published and intact. No
    noise is drawn.

    Parameters
    ----------
    asked : requested release.
    entry : entry of the journal.
    books : journal and ledger.

    Returns
    -------
    pathlib.Path
        Folder of the release.

    Raises
    ------
    ValueError
        If neither the published files nor the staged files are those named in the ledger.
    """
    if _intact(asked.folder, entry):
        if entry.state != PUBLISHED:
            _durable.sync(asked.folder.parent, name="published again")
            _published(entry, books)
        return asked.folder
    if entry.state == PUBLISHED:
        raise Refused(
            f"{asked}: the published files are missing, were changed, or belong to another checkout: restore these "
            "files from a backup whose SHA-256 equals the SHA-256 in the ledger"
        )
    if _intact(asked.staged, entry):
        return _publish(asked, entry, books)
    raise Refused(
        f"{asked}: the budget was spent, but the files of the release are lost: set generation to "
        f"{_next(asked)}, which spends {entry.spent.words} again"
    )


def release(asked: Asked, books: Books, line: Line, *, data: bytes, record: bytes, files: Sequence[str] = ()) -> Path:
    """Write the files in a private folder, record the privacy cost, and publish the files with mode 0444.

    Parameters
    ----------
    asked : requested release.
    books : budget records to write to.
    line : line for the budget records (`spending`).
    data, record : bytes of the two public files.
    files : fingerprints for the copy of the journal in the user account.

    Returns
    -------
    Path of the folder. The function takes about 10 ms, plus the time of the disk.
    """
    stage(asked, data=data, record=record)
    if not _intact(asked.staged, line.entry):
        raise OSError(
            f"{asked}: the content of the staged files differs from the content that was written, so no budget was "
            "spent: check the disk, and make the release again"
        )
    books.spend(line, files=files)
    return _publish(asked, line.entry, books)


def spending(asked: Asked, *, data: bytes, record: bytes, cost: Cost, settings: str, source_data: str) -> Entry:
    """Return the entry of the budget records for a release whose budget is about to be spent.

    Parameters
    ----------
    asked : requested release.
    data, record : bytes of the two public files.
    cost : cost of the release.
    settings, source_data : keyed fingerprints of the settings and of the confidential file.

    Returns
    -------
    Entry
    """
    return Entry(
        time=now(),
        release=asked.release,
        generation=asked.generation,
        source=asked.source,
        mechanism=asked.mechanism,
        cost=str(cost),
        sha256=hashlib.sha256(data).hexdigest(),
        record_sha256=hashlib.sha256(record).hexdigest(),
        settings=settings,
        data=source_data,
        state=SPENT,
    )


def stage(asked: Asked, *, data: bytes, record: bytes) -> None:
    """Write the two files of a release completely, in a folder that only the owner of the folder can open. If there is
    an error, no file remains.

    Parameters
    ----------
    asked : requested release.
    data, record : contents of the two files.

    Returns
    -------
    None
    """
    _durable.folder(asked.staged.parent)
    if asked.staged.exists():
        _durable.step("remove what an earlier crash staged")
        shutil.rmtree(asked.staged)
    _durable.step("make the staging folder")
    asked.staged.mkdir(mode=0o700)
    try:
        _durable.write(asked.staged / DATA, data, mode=0o444, name=DATA)
        _durable.write(asked.staged / RECORD, record, mode=0o444, name=RECORD)
        _durable.sync(asked.staged, name="staging folder")
    except OSError:
        shutil.rmtree(asked.staged, ignore_errors=True)
        raise


def _publish(asked: Asked, entry: Entry, books: Books) -> Path:
    _durable.step("open the staged folder to others")
    asked.staged.chmod(0o755)
    _durable.step("give the release its name")
    # the target must not exist or be an empty folder; renaming fails if the folder contains a file
    os.rename(asked.staged, asked.folder)
    _durable.step("named")
    _durable.sync(asked.folder.parent, name="release")
    _published(entry, books)
    _durable.step("done")
    return asked.folder


def _published(entry: Entry, books: Books) -> None:
    books.spend(Line(entry=replace(entry, time=now(), state=PUBLISHED)), files=())


def _intact(folder: Path, entry: Entry) -> bool:
    """Return whether `folder` contains exactly the two files of a release, with the SHA-256 values that the ledger
    states.
    """
    wanted = {DATA: entry.sha256, RECORD: entry.record_sha256}
    if not folder.is_dir() or {p.name for p in folder.iterdir()} != set(wanted):
        return False
    return all(hashlib.sha256((folder / n).read_bytes()).hexdigest() == digest for n, digest in wanted.items())
