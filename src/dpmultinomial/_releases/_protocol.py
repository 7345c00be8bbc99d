"""Once: a release is spent on disk before it is there, made once a generation, and never changed.

Under one lock: draw; stage the files in a folder that only their owner can open; write the ledger's line `spent, not
published`; give the folder its name; write `published`. A crash before the line leaves nothing that was spent; after
it, the staged files are still there and the next call finishes with them, drawing nothing. Every step is named
(`_durable`).
"""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import _durable
from ._costs import Cost, beyond
from ._ledger import PUBLISHED, SPENT, Entry, Ledger, now
from ._refused import Refused

FOLDER, DATA, RECORD = "releases", "release.csv", "record.json"
WAIT = 600.0


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

    @property
    def ledger(self) -> Ledger:
        """The ledger of all releases."""
        return Ledger(self.root / FOLDER / "ledger.tsv")

    def __str__(self) -> str:
        return f"releases/{self.release}, generation {self.generation}"


@contextmanager
def locked(root: Path, *, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock of all releases; who comes second waits `wait` seconds, then is refused.

    Raises
    ------
    TimeoutError
        If another process still holds it.
    """
    _durable.folder(root / FOLDER)
    _durable.step("open the lock")
    handle = os.open(root / FOLDER / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise TimeoutError(f"another release is being made; waited {wait:g} s for releases/.lock") from None
                time.sleep(0.02)
        _durable.step("locked")
        yield
    finally:
        os.close(handle)


def state(asked: Asked) -> Entry | None:
    """The ledger's entry of what is asked, after mending; refuses what the ledger cannot explain.

    Raises
    ------
    ValueError
        If the folder holds files the ledger does not know, or the generation is not the next one.
    """
    asked.ledger.mend()
    entry = asked.ledger.find(asked.release, asked.generation)
    if entry is not None:
        return entry
    if asked.folder.exists() and any(asked.folder.iterdir()):
        raise Refused(f"{asked}: its folder is not empty and the ledger knows no such release; move the files away")
    latest = max((e.generation for e in asked.ledger.entries() if e.release == asked.release), default=0)
    if asked.generation != latest + 1:
        raise Refused(f"{asked}: the next generation is {latest + 1}")
    return None


def affordable(asked: Asked, cost: Cost) -> None:
    """Refuse a release beyond the ceiling of its source; ValueError with the cost before and after."""
    why = beyond([*asked.ledger.costs(asked.source), cost], asked.ceiling)
    if why:
        raise Refused(f"{asked}: budgets/{asked.source}: {why}")


def unchanged(asked: Asked, entry: Entry, *, settings: str, data: str) -> None:
    """Refuse other settings or other data under a generation that was spent; ValueError with the way out.

    Parameters
    ----------
    asked : the release.
    entry : of the ledger.
    settings, data : fingerprints now.

    Returns
    -------
    None
    """
    for what, before, after in (("settings", entry.settings, settings), ("confidential file", entry.data, data)):
        if before != after:
            raise Refused(
                f"{asked}: the {what} changed since it was made. Noise drawn once must not cover two answers: their "
                f"difference would give the change away. To release again write generation: {asked.generation + 1}; "
                f"that spends {entry.spent.words} once more, or what the new settings cost, beside what is spent"
            )


def finish(asked: Asked, entry: Entry) -> Path:
    """Bring a spent release to its name, or find it there intact; nothing is drawn.

    Raises
    ------
    ValueError
        If neither the published nor the staged files are the ones the ledger names.
    """
    if _intact(asked.folder, entry):
        if entry.state != PUBLISHED:
            _durable.sync(asked.folder.parent, name="published again")
            asked.ledger.publish(entry)
        return asked.folder
    if entry.state == PUBLISHED:
        raise Refused(f"{asked}: the published files are gone or changed; restore them from a copy (see the ledger)")
    if _intact(asked.staged, entry):
        return _publish(asked, entry)
    raise Refused(
        f"{asked}: spent, not published, and its files are lost; write "
        f"generation: {asked.generation + 1}, which spends {entry.spent.words} once more"
    )


def release(asked: Asked, *, data: bytes, record: bytes, cost: Cost, settings: str, source_data: str) -> Path:
    """Stage, spend, publish: the files under their name, write-once (mode 0444).

    Parameters
    ----------
    asked : what is released.
    data, record : bytes of the two public files.
    cost : what it spends.
    settings, source_data : keyed fingerprints of what was asked and of the confidential file.

    Returns
    -------
    Path of the folder; about 10 ms besides the disk's own time.
    """
    stage(asked, data=data, record=record)
    entry = Entry(
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
    if not _intact(asked.staged, entry):
        raise OSError(f"{asked}: what was staged does not read back as it was written; nothing was spent")
    asked.ledger.add(entry)
    return _publish(asked, entry)


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


def _publish(asked: Asked, entry: Entry) -> Path:
    _durable.step("open the staged folder to others")
    asked.staged.chmod(0o755)
    _durable.step("give the release its name")
    os.rename(asked.staged, asked.folder)  # onto nothing or an empty folder; a folder that holds a file refuses
    _durable.step("named")
    _durable.sync(asked.folder.parent, name="release")
    asked.ledger.publish(entry)
    _durable.step("done")
    return asked.folder


def _intact(folder: Path, entry: Entry) -> bool:
    """Whether `folder` holds exactly the two files the entry names."""
    wanted = {DATA: entry.sha256, RECORD: entry.record_sha256}
    if not folder.is_dir() or {p.name for p in folder.iterdir()} != set(wanted):
        return False
    return all(hashlib.sha256((folder / n).read_bytes()).hexdigest() == digest for n, digest in wanted.items())
