"""Verdicts as a reader sees them: a sign, a word and what it means; colour only repeats them."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..verdicts.agreement import VERDICTS


@dataclass(frozen=True)
class Verdict:
    """One verdict.

    Parameters
    ----------
    name : as in the agreement table.
    sign, word : what is shown.
    meaning : one sentence.
    """

    name: str
    sign: str
    word: str
    meaning: str

    @property
    def rank(self) -> int:
        """Order by which a table is sorted: what needs a look comes first."""
        return _LOOK_FIRST.index(self.name)


_SAID = {
    "reproduced": ("✓", "reproduced", "the text, or the corrected method, gives what is printed"),
    "reproduced_by_slip": ("≈", "reproduced by slip", "only an emulated slip of the paper's program gives it"),
    "differs": ("✗", "differs", "ours is another number, or the claim fails; the note says why"),
    "undecided": ("?", "undecided", "a claim whose margin is within two standard errors of none"),
    "not_stated": ("–", "not stated", "the paper shows the quantity and prints no number"),
    "not_run": ("○", "not run", "this run did not compute it; the note says why"),
    "machine_dependent": ("~", "machine dependent", "a time, which depends on the machine and never counts"),
    "input": ("=", "input", "chosen to match print; does not count"),
    "derived": ("→", "derived", "follows from other rows; does not count"),
}
_LOOK_FIRST = ("differs", "undecided", "not_run", "reproduced_by_slip", "reproduced", *VERDICTS[4:5], *VERDICTS[6:])

LOOK = _LOOK_FIRST[:2]  # what a reader must see without asking
ALL = {name: Verdict(name, *_SAID[name]) for name in VERDICTS}


def counts(names: Iterable[str]) -> list[tuple[Verdict, int]]:
    """How often each verdict occurs, in the order of `VERDICTS`; those that do not occur are omitted."""
    listed = list(names)
    return [(verdict, listed.count(name)) for name, verdict in ALL.items() if name in listed]
