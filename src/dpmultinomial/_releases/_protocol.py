"""Once: a release is spent on disk before it is there, made once a generation, and never changed.

Under one lock, which lies beside the data: draw; stage the files in a folder that only their owner can open; write the
line `spent, not published` into the journal, the ledger and the account's memory; give the folder its name; write
`published`. A crash before the journal's line leaves nothing that was spent; after it, the staged files are still there
and the next call finishes with them, drawing nothing. Every step is named (`_durable`).

A release that is asked for, held against what is known of the releases before it.
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

from . import _budget_records, _durable, _places
from ._budget_records import DATA, FOLDER, PUBLISHED, RECORD, SPENT, Books, Entry, Line, now
from ._places import Refused
from .spending import Cost, beyond


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A release that is asked for.

    Parameters
    ----------
    root : folder of `releases/` and `confidential/`.
    release, generation, source, mechanism : as configured.
    ceiling : the budget of its source, may be empty.
    """

    root: Path
    release: str
    generation: int
    source: str
    mechanism: str
    ceiling: Mapping[str, float]

    @property
    def folder(self) -> Path:
        """Where its files are published."""
        return self.root / FOLDER / self.release / str(self.generation)

    @property
    def staged(self) -> Path:
        """Where they wait."""
        return self.folder.with_name(f".staged-{self.generation}")

    def __str__(self) -> str:
        return f"releases/{self.release}, generation {self.generation}"


def state(asked: Asked, lines: Sequence[Line]) -> Entry | None:
    """The entry of what is asked, or None; rejects what nobody wrote and what is not the next generation.

    Parameters
    ----------
    asked : the release.
    lines : all that was spent (`Books.agreed`).

    Raises
    ------
    ValueError
        If the folder holds files of somebody else, or the generation is not the next one.
    """
    found = _budget_records.latest(lines)
    if entry := found.get((asked.release, asked.generation)):
        return entry
    if asked.folder.exists() and any(asked.folder.iterdir()):
        raise Refused(f"{asked}: its folder holds files that are no release's; take out what is yours")
    latest = max((generation for release, generation in found if release == asked.release), default=0)
    if asked.generation != latest + 1:
        raise Refused(f"{asked}: the next generation is {latest + 1}")
    return None


def affordable(asked: Asked, cost: Cost, lines: Sequence[Line]) -> None:
    """Reject a release beyond the ceiling of its source; ValueError with the cost before and after.

    Parameters
    ----------
    asked : the release.
    cost : what it would cost.
    lines : all that was spent.
    """
    spent = _budget_records.costs([line.entry for line in lines], asked.source)
    if why := beyond([*spent, cost], asked.ceiling):
        raise Refused(f"{asked}: budgets/{asked.source}: {why}")


def one_source(
    asked: Asked, lines: Sequence[Line], *, file: str, name: str, bound: Callable[[Entry], str] = lambda _: ""
) -> None:
    """Reject a file that belongs to another source; ValueError with the release that says so.

    Parameters
    ----------
    asked : the release.
    lines : all that was spent.
    file, name : fingerprints of the file's content and of its name.
    bound : the file's fingerprint bound to another release, for entries that are older than the journal.
    """
    for line in lines:
        other = line.entry.source
        content = file == line.file or (not line.file and line.entry.data and bound(line.entry) == line.entry.data)
        if other != asked.source and (content or name == line.name):
            what = "what this file says" if content else "a file of this name"
            raise Refused(
                f"{asked}: {what} was released from source {other} (releases/{line.entry.release}, generation "
                f"{line.entry.generation}), and one file spends one budget: write source: {other}. A file about other "
                "people needs a name of its own"
            )


def unchanged(asked: Asked, entry: Entry, *, settings: Sequence[str], data: str) -> None:
    """Reject other settings or other data under a generation that was spent; ValueError with the way out.

    Parameters
    ----------
    asked : the release.
    entry : of the ledger.
    settings : fingerprints of the settings now, in every form in which they may have been kept.
    data : of the file.

    Returns
    -------
    None
    """
    if not entry.settings or not entry.data:
        raise Refused(
            f"{asked}: nobody knows any more with what it was made; write generation: {asked.generation + 1}, which "
            "spends once more, or use its published files where they are"
        )
    known = (("settings", entry.settings in settings), ("confidential file", entry.data == data))
    for what, same in known:
        if not same:
            raise Refused(
                f"{asked}: the {what} changed since it was made. Noise drawn once must not cover two answers: their "
                f"difference would give the change away. To release again write generation: {asked.generation + 1}; "
                f"that spends {entry.spent.words} once more, or what the new settings cost, beside what is spent"
            )


LOCK, WAIT = ".lock", 600.0


@contextmanager
def locked(root: Path, *, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock of all releases of these data; who comes second waits `wait` seconds, then is rejected.

    Raises
    ------
    TimeoutError
        If another process still holds it.
    """
    place = _places.folder(root)
    _durable.folder(place, mode=0o700)
    _places.own_file(place / LOCK)
    _durable.step("open the lock")
    handle = os.open(place / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise TimeoutError(
                        f"another release is being made; waited {wait:g} s for {_places.FOLDER}/{LOCK}"
                    ) from None
                time.sleep(0.02)
        _durable.step("locked")
        yield
    finally:
        os.close(handle)


def finish(asked: Asked, entry: Entry, books: Books) -> Path:
    """Bring a spent release to its name, or find it there intact; nothing is drawn.

    Parameters
    ----------
    asked : the release.
    entry : what the journal says of it.
    books : journal and ledger.

    Returns
    -------
    pathlib.Path
        Folder of the release.

    Raises
    ------
    ValueError
        If neither the published nor the staged files are the ones the ledger names.
    """
    if _intact(asked.folder, entry):
        if entry.state != PUBLISHED:
            _durable.sync(asked.folder.parent, name="published again")
            _published(entry, books)
        return asked.folder
    if entry.state == PUBLISHED:
        raise Refused(
            f"{asked}: the published files are gone or changed, or were made in another checkout; restore them from a "
            f"copy with the SHA-256 of the ledger"
        )
    if _intact(asked.staged, entry):
        return _publish(asked, entry, books)
    raise Refused(
        f"{asked}: spent, not published, and its files are lost; write "
        f"generation: {asked.generation + 1}, which spends {entry.spent.words} once more"
    )


def release(asked: Asked, books: Books, line: Line, *, data: bytes, record: bytes, files: Sequence[str] = ()) -> Path:
    """Stage, spend, publish: the files under their name, write-once (mode 0444).

    Parameters
    ----------
    asked : what is released.
    books : where it is written.
    line : what they say of it (`spending`).
    data, record : bytes of the two public files.
    files : fingerprints for the account's memory.

    Returns
    -------
    Path of the folder; about 10 ms besides the disk's own time.
    """
    stage(asked, data=data, record=record)
    if not _intact(asked.staged, line.entry):
        raise OSError(f"{asked}: what was staged does not read back as it was written; nothing was spent")
    books.spend(line, files=files)
    return _publish(asked, line.entry, books)


def spending(asked: Asked, *, data: bytes, record: bytes, cost: Cost, settings: str, source_data: str) -> Entry:
    """What the books say of a release that is about to be spent.

    Parameters
    ----------
    asked : what is released.
    data, record : bytes of the two public files.
    cost : what it spends.
    settings, source_data : keyed fingerprints of what was asked and of the confidential file.

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
    """Write both files in full where only their owner can open them; on an error nothing stays.

    Parameters
    ----------
    asked : the release.
    data, record : what the two files hold.

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
    os.rename(asked.staged, asked.folder)  # onto nothing or an empty folder; a folder that holds a file rejects
    _durable.step("named")
    _durable.sync(asked.folder.parent, name="release")
    _published(entry, books)
    _durable.step("done")
    return asked.folder


def _published(entry: Entry, books: Books) -> None:
    books.spend(Line(entry=replace(entry, time=now(), state=PUBLISHED)), files=())


def _intact(folder: Path, entry: Entry) -> bool:
    """Return whether `folder` holds exactly the two files the entry names."""
    wanted = {DATA: entry.sha256, RECORD: entry.record_sha256}
    if not folder.is_dir() or {p.name for p in folder.iterdir()} != set(wanted):
        return False
    return all(hashlib.sha256((folder / n).read_bytes()).hexdigest() == digest for n, digest in wanted.items())
