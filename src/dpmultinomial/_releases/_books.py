"""All that remembers what was spent, held against each other before anything is spent again.

The journal beside the data decides. The public ledger must be what the journal says; every release on disk must be in
it; and it must not lack what the account remembers. What one crash can explain is mended; whatever else differs is
refused, with the command that brings the books together without forgetting a release.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import _confidential, _durable, _entries, _memory, _places
from ._entries import Entry
from ._journal import NAME, Journal, Line
from ._ledger import Ledger
from ._memory import Memory, Remembered
from ._refused import Refused

FOLDER, DATA, RECORD = "releases", "release.csv", "record.json"
RESTORE = "python -m dpmultinomial._releases restore"
_LAG = 1  # lines that the ledger may be behind the journal after a crash


@dataclass(frozen=True, kw_only=True)
class Books:
    """What remembers the releases of one folder.

    Parameters
    ----------
    root : folder of the configuration.
    place : of the confidential files.
    journal, ledger : there.
    memory : of the account.
    """

    root: Path
    place: Path
    journal: Journal
    ledger: Ledger
    memory: Memory

    def agreed(self) -> list[Line]:
        """Every line of the journal, after all have been held against each other and a crash's traces were mended.

        Raises
        ------
        ValueError
            If they differ: what is wrong, and what brings it in order.
        """
        try:
            self.journal.begin()
            lines = self.journal.lines()
        except Refused as error:
            raise Refused(f"{error}. Restore the newest copy, or {RESTORE} writes it from all that is known") from None
        self._ledger_agrees([line.entry for line in lines])
        self._releases_known({line.entry.name for line in lines})
        self._memory_agrees()
        return lines

    def spend(self, line: Line, *, files: Sequence[str]) -> None:
        """A line in every book; when this returns it is on disk.

        Parameters
        ----------
        line : what is written.
        files : the account's fingerprints of what is released (`Memory.fingerprint`).
        """
        self.journal.add(line)
        self.ledger.mend()
        self.ledger.add(line.entry)
        self.remember(files)

    def remember(self, files: Sequence[str] = ()) -> None:
        """Let the account remember the journal as it is; where it cannot, nothing happens."""
        if self.memory.there:
            text = self.journal.text
            identity = self.journal.identity(text)
            known = self.memory.find(identity)
            every = tuple(dict.fromkeys([*(known.files if known else ()), *filter(None, files)]))
            self.memory.keep(Remembered(identity=identity, place=str(self.place), text=text, files=every))

    def elsewhere(self, files: Sequence[str]) -> None:
        """Refuse a file whose spending another journal of this account keeps; ValueError with its place."""
        own = self.journal.identity()
        for other in self.memory.all():
            if other.identity != own and set(files) & set(other.files):
                way = f"make {_places.FOLDER}/ here a link to that folder, or release it from there"
                if not Path(other.place, NAME).exists():
                    way = f"that folder is gone: {RESTORE} {other.place} takes over what was spent there"
                raise Refused(f"what was spent on this file is kept in the journal of {other.place}; {way}")

    def _ledger_agrees(self, wanted: list[Entry]) -> None:
        path = self.ledger.path
        _durable.folder(path.parent)
        raw = path.read_bytes() if path.exists() else b""
        found = read(self.ledger)
        for number, (there, own) in enumerate(zip(found, wanted, strict=False), start=2):
            if there != own:
                raise Refused(
                    f"{FOLDER}/ledger.tsv, line {number}: is not what the journal in {_places.FOLDER}/ says. Restore "
                    f"both from one copy, or {RESTORE} writes the ledger from the journal"
                )
        if len(found) > len(wanted):
            raise Refused(
                f"{_places.FOLDER}/{NAME} lacks {len(found) - len(wanted)} lines of {FOLDER}/ledger.tsv: it was cut or "
                f"is an older copy. Restore the newest, or {RESTORE} adds what the ledger knows"
            )
        if len(wanted) - len(found) > _LAG:
            raise Refused(
                f"{FOLDER}/ledger.tsv lacks {len(wanted) - len(found)} of {len(wanted)} lines: it was lost or cut, is "
                f"an older copy, or this is another checkout. Restore it from a copy, or {RESTORE} writes it from the "
                f"journal in {_places.FOLDER}/"
            )
        if wanted or raw:
            self.ledger.mend()
        for entry in wanted[len(found) :]:
            self.ledger.add(entry)

    def _releases_known(self, known: set[tuple[str, int]]) -> None:
        for name, generation in releases(self.root):
            if (name, generation) not in known:
                raise Refused(
                    f"{FOLDER}/{name}/{generation} is neither in the journal nor in the ledger: both are older copies, "
                    f"or it was made elsewhere. Restore the newest, or {RESTORE} counts what it cost"
                )

    def _memory_agrees(self) -> None:
        text = self.journal.text
        identity = self.journal.identity(text)
        for known in self.memory.all():
            if known.identity == identity and not text.startswith(known.text):
                behind = known.text.startswith(text)
                what = "is older than" if behind else "has parted from"
                raise Refused(
                    f"{_places.FOLDER}/{NAME} {what} what the account remembers of it (last in {known.place}): "
                    f"{'it was cut or put back from an older copy' if behind else 'two copies of it have spent'}. "
                    f"Restore the newest, or {RESTORE} adds what is remembered"
                )
            if known.identity != identity and known.place == str(self.place):
                raise Refused(
                    f"the account remembers another journal of {self.place}: this one was begun anew. Restore the old "
                    f"one from a copy, or {RESTORE} adds what is remembered"
                )


def releases(root: Path) -> list[tuple[str, int]]:
    """(name, generation) of everything below ``releases/`` that looks like a release."""
    found = []
    for path in sorted((root / FOLDER).glob("*/*")):
        named = re.fullmatch(r"[a-z][a-z0-9_]*", path.parent.name) and re.fullmatch(r"[1-9][0-9]*", path.name)
        if named and any((path / file).exists() for file in (DATA, RECORD)):
            found.append((path.parent.name, int(path.name)))
    return found


def read(ledger: Ledger) -> list[Entry]:
    """The lines of a ledger; ValueError with line, rule and way out where it is damaged."""
    try:
        return ledger.lines()
    except Refused as error:
        raise Refused(f"{error}. Restore it from a copy, or {RESTORE} writes it from the journal") from None


def opened(root: Path) -> Books:
    """The books of a folder; the key is made where nothing was ever spent.

    Raises
    ------
    ValueError
        If the key or the journal is gone while something was spent, or others can read the key.
    """
    place, ledger, memory = _places.folder(root), Ledger(root / FOLDER / "ledger.tsv"), _memory.of_account()
    path = place / NAME
    _places.own_file(path)
    begun = path.exists() and path.stat().st_size > 0  # a crash may have left no more than half of its first line
    spent = {entry.name for entry in read(ledger)}
    if not _confidential.has_key(place) and (begun or spent):
        raise Refused(
            f"{_places.FOLDER}/{_confidential.KEY} is gone: nobody can tell whether anything changed. Restore it from "
            f"a copy; without one {RESTORE} begins with a new key, keeps all that was spent, and needs new generations"
        )
    if not begun and (why := _spent_before(root, place, spent, memory)):
        raise Refused(
            f"{_places.FOLDER}/{NAME}, the journal of what was spent, is missing, but {why}. Restore it from a copy; "
            f"without one, or with a ledger of version 0.2 or older, {RESTORE} writes it from what is there"
        )
    journal = Journal(path, _confidential.key(place))
    return Books(root=root, place=place, journal=journal, ledger=ledger, memory=memory)


def _spent_before(root: Path, place: Path, spent: set[tuple[str, int]], memory: Memory) -> str:
    """What shows that a journal should be there."""
    if spent:
        return f"{FOLDER}/ledger.tsv has {len(spent)} releases"
    if any(known.place == str(place) for known in memory.all()):
        return f"the account remembers one in {place}"
    return f"there are releases in {FOLDER}/" if releases(root) else ""


def latest(lines: Sequence[Line]) -> dict[tuple[str, int], Entry]:
    """Every release in its latest state."""
    return _entries.latest([line.entry for line in lines])
