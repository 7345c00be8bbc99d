"""What a mechanism has worked out before any noise is drawn, and what it then draws."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ._costs import Cost

Facts = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A release as it goes to disk.

    Parameters
    ----------
    data : bytes of the public file.
    report : bytes of a confidential report, or None.
    facts : what is public and known only now.
    """

    data: bytes
    report: bytes | None = None
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """A release before its noise.

    Parameters
    ----------
    cost : what it will spend.
    facts : public statements for the record; nothing confidential.
    draw : draws the noise; called once, after the budget was checked.
    """

    cost: Cost
    facts: Facts
    draw: Callable[[], Drawn]

    def __repr__(self) -> str:
        return f"Plan({self.cost})"


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """UTF-8 CSV with LF line ends, quoted where RFC 4180 asks for it."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue().encode("utf-8")
