"""A release that is asked for, held against what is known of the releases before it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import _books, _entries
from ._books import FOLDER
from ._costs import Cost, beyond
from ._entries import Entry
from ._journal import Line
from ._refused import Refused


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
    """The entry of what is asked, or None; refuses what nobody wrote and what is not the next generation.

    Parameters
    ----------
    asked : the release.
    lines : all that was spent (`Books.agreed`).

    Raises
    ------
    ValueError
        If the folder holds files of somebody else, or the generation is not the next one.
    """
    found = _books.latest(lines)
    if entry := found.get((asked.release, asked.generation)):
        return entry
    if asked.folder.exists() and any(asked.folder.iterdir()):
        raise Refused(f"{asked}: its folder holds files that are no release's; take out what is yours")
    latest = max((generation for release, generation in found if release == asked.release), default=0)
    if asked.generation != latest + 1:
        raise Refused(f"{asked}: the next generation is {latest + 1}")
    return None


def affordable(asked: Asked, cost: Cost, lines: Sequence[Line]) -> None:
    """Refuse a release beyond the ceiling of its source; ValueError with the cost before and after.

    Parameters
    ----------
    asked : the release.
    cost : what it would cost.
    lines : all that was spent.
    """
    spent = _entries.costs([line.entry for line in lines], asked.source)
    if why := beyond([*spent, cost], asked.ceiling):
        raise Refused(f"{asked}: budgets/{asked.source}: {why}")


def one_source(
    asked: Asked, lines: Sequence[Line], *, file: str, name: str, bound: Callable[[Entry], str] = lambda _: ""
) -> None:
    """Refuse a file that belongs to another source; ValueError with the release that says so.

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
    """Refuse other settings or other data under a generation that was spent; ValueError with the way out.

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
