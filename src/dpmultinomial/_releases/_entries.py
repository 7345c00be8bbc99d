"""What was spent, line by line: the columns that the public ledger and the confidential journal share."""

import json
import re
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime

from . import _costs
from ._refused import Refused

SPENT, PUBLISHED = "spent, not published", "published"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the ledger says of a release.

    Parameters
    ----------
    time : UTC, to the second.
    release, generation, source, mechanism : as configured.
    cost : as `_costs.Cost` prints.
    sha256 : of the public file.
    record_sha256 : of its record.
    settings, data : keyed fingerprints of what was asked and of the confidential file, bound to release and generation;
        empty where they are not known any more.
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
    def spent(self) -> _costs.Cost:
        """What it cost."""
        return _costs.read(self.cost)

    @property
    def name(self) -> tuple[str, int]:
        """Release and generation."""
        return self.release, self.generation

    @property
    def line(self) -> bytes:
        """The entry as a line, with its end.

        Raises
        ------
        ValueError
            If a field holds tabs or line ends.
        """
        values = [str(value) for value in astuple(self)]
        if any(re.search(r"[\t\r\n]", value) for value in values):
            raise Refused("a ledger's field must not hold tabs or line ends")
        return ("\t".join(values) + "\n").encode()


COLUMNS = tuple(f.name for f in fields(Entry))
HEADER = ("\t".join(COLUMNS) + "\n").encode()


def now() -> str:
    """The time as the ledger writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def of_line(values: list[str], place: str) -> Entry:
    """The entry of a line.

    Parameters
    ----------
    values : its fields.
    place : file and line, for errors.

    Raises
    ------
    ValueError
        If a field is not as the ledger writes it (file, line and rule).
    """
    if len(values) != len(COLUMNS):
        raise Refused(f"{place}: must have {len(COLUMNS)} fields, got {len(values)}")
    named = dict(zip(COLUMNS, values, strict=True))
    if named["state"] not in (SPENT, PUBLISHED):
        raise Refused(f"{place}: state must be {SPENT!r} or {PUBLISHED!r}, got {named['state']!r}")
    generation = named.pop("generation")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", generation, re.ASCII):
        raise Refused(f"{place}: generation must be a whole number, got {generation!r}")
    for key in ("release", "source"):
        if not _NAME.fullmatch(named[key]):
            raise Refused(f"{place}: {key} must be [a-z][a-z0-9_]*, got {named[key]!r}")
    try:
        cost = _costs.read(named["cost"])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        why = f" ({error})" if type(error) is ValueError else ""
        raise Refused(f"{place}: cost must be what a release can cost, got {named['cost'][:80]!r}{why}") from None
    if str(cost) != named["cost"]:
        raise Refused(f"{place}: cost must be written as {cost}, got {named['cost'][:80]!r}")
    return Entry(generation=int(generation), **named)


def latest(entries: list[Entry]) -> dict[tuple[str, int], Entry]:
    """Every release in its latest state, in the order in which they were spent; what is published stays published."""
    found: dict[tuple[str, int], Entry] = {}
    for entry in entries:
        known = found.get(entry.name)
        if known is None or known.state != PUBLISHED:
            found[entry.name] = entry
    return found


def costs(entries: list[Entry], source: str) -> list[_costs.Cost]:
    """What was spent on a source, published or not."""
    return [entry.spent for entry in latest(entries).values() if entry.source == source]


def of_record(raw: bytes, place: str, *, record_sha256: str, sha256: str) -> Entry:
    """The entry of a release of which nothing is known but its public files.

    Parameters
    ----------
    raw : ``record.json``.
    place : its name, for errors.
    record_sha256, sha256 : of record and public file.

    Returns
    -------
    Entry

    Raises
    ------
    ValueError
        If the record does not say what the release cost.
    """
    try:
        said = json.loads(raw)
        values = [now(), said["release"], str(said["generation"]), said["source"], said["mechanism"]]
        cost = str(_costs.read(json.dumps(said["cost"])))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise Refused(f"{place}: does not say what the release cost ({type(error).__name__})") from None
    return of_line([*map(str, values), cost, sha256, record_sha256, "", "", PUBLISHED], place)
