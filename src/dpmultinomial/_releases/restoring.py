"""Restoration of damaged or missing budget records without loss of any recorded spending.

The spending is the union of the journal, the copy of the journal in the user account, the ledger, and the records of
releases on disk. A line that is authenticated by the journal's key overrides other lines about the same release. If two
different releases have the same name and generation, both count; the second gets the next free generation.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from . import _budget_records, _confidential, _durable, _places, _protocol
from ._budget_records import DATA, FOLDER, NAME, PUBLISHED, RECORD, Entry, Journal, Ledger, Line, Memory, Remembered
from ._places import Refused


def state(root: Path) -> list[str]:
    """Return lines of text that state the privacy cost of every release so far, and whether all budget records agree.
    The function changes nothing.

    Parameters
    ----------
    root : folder of the configuration.

    Returns
    -------
    list of str
    """
    ledger = Ledger(Path(root) / FOLDER / "ledger.tsv")
    spent = _budget_records.latest_entries(_read_lines(ledger)).values()
    lines = [f"{e.release}, generation {e.generation}, source {e.source}: {e.spent.words}; {e.state}" for e in spent]
    journal = _journal(Path(root))
    if journal is None:
        return [*lines, f"there is no journal in {_places.FOLDER}/"]
    try:
        entries = [line.entry for line in journal.lines()]
    except Refused as error:
        return [*lines, str(error)]
    same = entries == _read_lines(ledger)
    return [*lines, "ledger and journal agree" if same else f"ledger and journal differ: {_budget_records.RESTORE}"]


def restored(root: Path, *, take_over: Sequence[str] = (), wait: float = _protocol.WAIT) -> list[str]:
    """Make the entries of the journal, of the ledger and of the copy of the journal in the user account identical.
    Afterwards, each of them contains every line that was in at least one of them.

    Parameters
    ----------
    root : folder of the configuration.
    take_over : folders of confidential files that no longer exist; their journals must have copies in the user account.
    wait : number of seconds to wait for the lock.

    Returns
    -------
    list of str
        Description of what was done.

    Raises
    ------
    ValueError
        If a folder in `take_over` still exists or is unknown, if a release's record does not state its cost, if no
        budget was ever spent in this folder, or if the copy of the journal in the user account cannot be read and the
        journal and the ledger differ.
    TimeoutError
        If another process is making a release.
    """
    root = Path(root)
    place, memory = _places.folder(root), _budget_records.of_account()
    if not take_over and not _is_begun(root, place, memory):
        raise Refused(
            f"{root.resolve()} contains no journal, no ledger and no release, and the user account has no "
            "copy of a journal of this folder: run the command in the folder that contains config.yaml"
        )
    with _protocol.locked(root, wait=wait):
        new = not _confidential.has_key(place)
        journal = Journal(place / NAME, _confidential.key(place))
        ledger = Ledger(root / FOLDER / "ledger.tsv")
        moved = _unreadable_aside(journal, ledger, memory)
        old = _remembered(journal, memory, take_over)
        vouched = list(_vouched(journal, old))
        merged = _union(vouched, [*_unvouched(journal, ledger, old), *_on_disk(root, vouched)])
        lines, messages = _journal_written(journal, [_blank(line) for line in merged] if new else merged)
        messages[:0] = moved
        messages += _ledger_written(place, ledger, [line.entry for line in lines])
        if memory.there:
            identity, text = journal.identity(), journal.text
            files = tuple(dict.fromkeys(file for known in old for file in known.files))
            memory.keep(Remembered(identity=identity, place=str(place), text=text, files=files))
            for known in old:
                if known.identity != identity:
                    memory.forget(known.identity)
        releases = len(_budget_records.latest(lines))
        return [*messages, f"number of recorded releases: {releases}; all budget records agree"]


def new_account_key(*, wait: float = _protocol.WAIT) -> list[str]:
    """Generate a new secret key for the fingerprints of released files in the user account, in place of a lost key.
    A damaged key is renamed.

    Parameters
    ----------
    wait : number of seconds to wait for the lock of the user account.

    Returns
    -------
    list of str
        Description of what was done, and of what follows.

    Raises
    ------
    ValueError
        If the key is neither missing nor damaged, or the home folder is not writable.
    TimeoutError
        If another process is making a release.
    """
    memory = _budget_records.of_account()
    if not memory.there:
        raise Refused(f"{memory.folder} is not writable: set XDG_STATE_HOME to a folder that you can write to")
    with _protocol.account_locked(wait=wait):
        if memory.secret():
            raise Refused(f"{memory.key} is a valid key, so no new key was generated: there is nothing to do")
        messages = []
        if os.path.lexists(memory.key):
            messages = [f"{memory.key} is damaged and was renamed to {memory.move_aside(memory.key).name}"]
        _confidential.draw_key(memory.key, name="the account's key")
        messages.append(f"{memory.key}: a new key was generated")
        if places := sorted({known.place for known in memory.all() if known.files}):
            messages.append(
                "other projects recognise the files released from the following folders only after each release of the "
                f"folder was requested again (dpm release NAME), which spends no budget: {', '.join(places)}"
            )
        return messages


def _is_begun(root: Path, place: Path, memory: Memory) -> bool:
    """Return whether a key, a journal, a ledger, a release or a backup shows that a folder was used for releases."""
    if _confidential.has_key(place) or (place / NAME).exists() or (root / FOLDER / "ledger.tsv").exists():
        return True
    places = [known.place for known in memory.all()] + [torn.place for torn in memory.unreadable()]
    remembered = str(place) in places
    return remembered or bool(_budget_records.releases(root))


def _unreadable_aside(journal: Journal, ledger: Ledger, memory: Memory) -> list[str]:
    """Rename the unreadable files among the copies of the journal in the user account, and return a description of each
    step.

    Raises
    ------
    ValueError
        If the journal and the ledger differ, because the copy might contain entries that both do not have.
    """
    torn = [
        torn_copy for torn_copy in memory.unreadable() if torn_copy.is_about(journal.identity(), journal.path.parent)
    ]
    if not torn:
        return []
    try:
        agree = bool(journal.identity()) and [line.entry for line in journal.lines()] == ledger.lines()
    except Refused:
        agree = False
    if not agree:
        raise Refused(
            f"{torn[0].path}: the copy of the journal cannot be read, and it may contain spending that is not in the "
            f"journal or the ledger, because these two differ. Restore the copy, {_places.FOLDER}/{NAME} or "
            f"{FOLDER}/ledger.tsv from a backup. If there is no backup, move the unreadable copy to another folder"
        )
    return [
        f"{torn_copy.path} cannot be read and was renamed to {memory.move_aside(torn_copy.path).name}"
        for torn_copy in torn
    ]


def _journal(root: Path) -> Journal | None:
    place = _places.folder(root)
    is_there = _confidential.has_key(place) and (place / NAME).exists()
    return Journal(place / NAME, _confidential.key(place)) if is_there else None


def _read_lines(ledger: Ledger) -> list[Entry]:
    """Return the readable lines of a damaged ledger as entries."""
    entries = []
    for raw in ledger.text.split(b"\n")[1:]:
        with suppress(Refused):
            entries.append(_budget_records.of_line(raw.decode("utf-8", errors="replace").split("\t"), str(ledger.path)))
    return entries


def _remembered(journal: Journal, memory: Memory, take_over: Sequence[str]) -> list[Remembered]:
    """Return the journal copies that are stored in the user account. They are copies of this journal, of other journals
    in the same place, and of journals in folders that no longer exist.
    """
    identity, place = journal.identity(), journal.path.parent
    wanted = {str(place)}
    for folder in take_over:
        known = [copy for copy in memory.all() if copy.place == str(Path(folder).absolute())]
        if not known:
            places = ", ".join(sorted({copy.place for copy in memory.all()})[:5]) or "none"
            raise Refused(
                f"the user account contains no backup of the journal of {folder}: choose a folder whose journal has a "
                f"backup in the user account (at most five are listed: {places})"
            )
        if Path(folder, NAME).exists():
            raise Refused(
                f"the recorded spending can be transferred only from a folder that no longer exists, but {folder} "
                f"exists: replace {_places.FOLDER}/ with a symbolic link to {folder}"
            )
        wanted |= {copy.place for copy in known}
    return [copy for copy in memory.all() if copy.identity == identity or copy.place in wanted]


def _vouched(journal: Journal, old: Iterable[Remembered]) -> Iterator[Line]:
    """Yield all authenticated lines of the journal and of its copies. The lines are authenticated by the key of the
    journal.
    """
    for text in (journal.text, *(copy.text for copy in old)):
        yield from journal.intact(text)


def _unvouched(journal: Journal, ledger: Ledger, old: Iterable[Remembered]) -> Iterator[Line]:
    """Yield every readable line of the journal, its copies and the ledger, whether or not the line is authenticated."""
    for text in (journal.text, *(copy.text for copy in old)):
        for raw in text.split(b"\n")[1:]:
            values = raw.decode("utf-8", errors="replace").split("\t")[: len(_budget_records.COLUMNS)]
            with suppress(Refused):
                yield Line(entry=_budget_records.of_line(values, NAME))
    yield from (Line(entry=entry) for entry in _read_lines(ledger))


def _on_disk(root: Path, vouched: Sequence[Line]) -> Iterator[Line]:
    """Yield every release on disk. A release is omitted as already counted if one of its two files (record or public
    file) is damaged or missing, and the remaining file matches an authenticated line of the journal or of a copy of
    the journal.
    """
    digests = {line.entry.record_sha256: line.entry.sha256 for line in vouched}
    named = {line.entry.name: line.entry for line in vouched}
    for name, generation in _budget_records.releases(root):
        folder, known = root / FOLDER / name / str(generation), named.get((name, generation))
        record, data = (_budget_records.file_digest(folder / file) for file in (RECORD, DATA))
        if digests.get(record, data) != data:
            continue
        try:
            yield Line(entry=_of_record(folder, f"{FOLDER}/{name}/{generation}"))
        except Refused as error:
            if known is None:
                raise
            if known.sha256 != data:
                raise Refused(
                    f"{error}. The journal contains the cost of {FOLDER}/{name}/{generation}, so if there is no "
                    "backup, move this folder to another place"
                ) from None


def _of_record(folder: Path, name: str) -> Entry:
    files = [folder / file for file in (RECORD, DATA)]
    if not all(path.is_file() for path in files):
        raise Refused(f"{name}: the file {RECORD} or {DATA} is missing: restore the file from a backup")
    record, data = (path.read_bytes() for path in files)
    record_sha256, data_sha256 = (sha256(raw).hexdigest() for raw in (record, data))
    return _budget_records.of_record(record, f"{name}/{RECORD}", record_sha256=record_sha256, sha256=data_sha256)


def _union(vouched: Iterable[Line], others: Iterable[Line]) -> list[Line]:
    """Return all releases without duplicates: one entry per distinct state of a release, in the order in which the
    entries were found.

    Two lines are about the same release if they name the same public file and the same record, which states name and
    generation (equal noise gives equal files), or the same file under the same name and generation. Among
    unauthenticated lines, the line with the higher cost is kept.
    """
    by_name: dict[tuple[str, int], list[Line]] = {}
    names: dict[tuple[str, str], tuple[str, int]] = {}
    sure: set[tuple[str, int]] = set()
    for line, good in [*((line, True) for line in vouched), *((line, False) for line in others)]:
        files = line.entry.sha256, line.entry.record_sha256
        name = names.get(files, line.entry.name)
        while name in by_name and by_name[name][0].entry.sha256 != line.entry.sha256:
            name = name[0], name[1] + 1
        names[files] = name
        known = by_name.setdefault(name, [])
        kept = replace(line, entry=replace(line.entry, generation=name[1]))
        if good:
            sure.add(name)
        elif name not in sure and known and _weight(kept) > _weight(known[0]):
            known[:] = [replace(each, entry=replace(each.entry, cost=kept.entry.cost)) for each in known]
        states = {each.entry.state for each in known}
        if kept.entry.state not in states and PUBLISHED not in states:
            known.append(replace(kept, entry=replace(kept.entry, cost=known[0].entry.cost)) if known else kept)
    return [line for each in by_name.values() for line in each]


def _weight(line: Line) -> float:
    """Return a privacy cost as one number, for comparison with other costs of the same kind."""
    cost = line.entry.spent
    return (cost.epsilon or 0.0) + (cost.rho or 0.0)


def _blank(line: Line) -> Line:
    """Return a line of the journal without its fingerprints, which cannot be checked because their key is lost."""
    return Line(entry=replace(line.entry, settings="", data=""))


def _journal_written(journal: Journal, lines: list[Line]) -> tuple[list[Line], list[str]]:
    """Return all lines of the journal after its restoration, and a description of each step of the restoration. Lines
    are only appended to a valid journal.
    """
    try:
        journal.begin()
        journal_lines: list[Line] | None = journal.lines()
    except Refused:
        journal_lines = None
    if journal_lines is not None:
        known_states = {(line.entry.name, line.entry.state) for line in journal_lines}
        added = [line for line in lines if (line.entry.name, line.entry.state) not in known_states]
        for line in added:
            journal.add(line)
        return journal_lines + added, [f"{_places.FOLDER}/{NAME}: {len(added)} lines added"] if added else []
    kept = _aside(journal.path.parent, journal.path)
    journal.rewrite(lines)
    return lines, [f"{_places.FOLDER}/{NAME}: rewritten with {len(lines)} lines; the previous file is in {kept}"]


def _ledger_written(place: Path, ledger: Ledger, entries: list[Entry]) -> list[str]:
    try:
        if ledger.lines() == entries and ledger.path.exists():
            return []
    except Refused:
        pass
    kept = f"; the previous file is in {_aside(place, ledger.path)}" if ledger.path.exists() else ""
    ledger.rewrite(entries)
    return [f"{FOLDER}/ledger.tsv: written with {len(entries)} lines{kept}"]


def _aside(place: Path, path: Path) -> str:
    """Copy a file into the confidential folder, and return the name of the copy."""
    name = f"{path.name.lstrip('.')}.{_budget_records.now().replace(':', '')}"
    number = 0
    while (place / f"{name}.{number}").exists():
        number += 1
    _durable.write(place / f"{name}.{number}", path.read_bytes(), mode=0o600, name="what was there")
    return f"{_places.FOLDER}/{name}.{number}"
