"""What a scenario is about: swapped tables, from a made release, from print, or made up and swapped here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._files.published import Published
from dpmultinomial._mechanisms.swapping import swap_draws

REHEARSAL = "rehearsal: the noise can be repeated by anyone; not a release"
MECHANISM = "swap"
MOST_LEVELS = 50  # different values of a side of the table


@dataclass(frozen=True, kw_only=True)
class Case:
    """Swapped tables and what is known of the swap.

    Parameters
    ----------
    counts : int64 (strata, rows, columns)
        Rows are the swapped variable, columns the held one.
    rate : float
    strata, rows, columns : names of the three sides.
    origin : str
        Where the tables come from, in words.
    largest : int
        Records of the largest stratum in which a swap can change anything; 0 if there is none.
    made_up : int64 like `counts`, or None
        The tables before the swap, of a rehearsal.
    """

    counts: NDArray[np.int64]
    rate: float
    strata: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    origin: str
    largest: int
    made_up: NDArray[np.int64] | None = None

    def cells(self) -> list[str]:
        """``(row, column)`` of every cell, stratum by stratum; the stratum first if there are several."""
        several = len(self.strata) > 1
        return [
            f"({', '.join((s, r, c) if several else (r, c))})"
            for s in self.strata
            for r in self.rows
            for c in self.columns
        ]


def case(
    *,
    release: Published | None,
    table: Sequence[Sequence[int]] | None,
    strata: Sequence[Sequence[Sequence[int]]] | None,
    rehearsal: Mapping[str, object] | None,
    rate: float | None,
    swapped: Sequence[str] | None,
    held: Sequence[str] | None,
    rng: np.random.Generator,
) -> Case:
    """The case of a scenario; its keys are in settings.yaml.

    Raises
    ------
    ValueError
        If a release is none of swapped records, or its columns make too large a table.
    """
    if release is not None:
        return of_release(release, swapped=swapped, held=held or ())
    if rate is None:
        raise ValueError("rate must be given with a table; only a release states its own")
    if rehearsal is None:
        counts = _stacked(table, strata)
        return _unnamed(counts, rate, "published table, taken as printed")
    made_up = _stacked(rehearsal.get("table"), rehearsal.get("strata"))
    after = np.concatenate([swap_draws.tables(layer, 1, rate=rate, rng=rng) for layer in made_up])
    return _unnamed(after, rate, REHEARSAL, made_up)


def of_release(release: Published, *, swapped: Sequence[str] | None, held: Sequence[str]) -> Case:
    """Tables of some swapped columns by some held ones, a table a stratum, from a file of swapped records.

    Parameters
    ----------
    release : a release whose record states the mechanism ``swap``.
    swapped : some of its swapped columns, together the rows; all of them by default.
    held : held columns, together the columns of the tables.

    Raises
    ------
    ValueError
        If the record states another mechanism or rate, a column is none of its kind, or a side has over 50 values.
    """
    record = release.record
    matched, rows = _fitting(release, swapped, held)
    sides = [_codes(release, columns) for columns in (matched, rows, held)]
    for name, (_, names) in zip(("swapped", "held"), sides[1:], strict=True):
        if not 2 <= len(names) <= MOST_LEVELS:
            raise ValueError(f"{name} must have 2 to {MOST_LEVELS} different values in the release, got {len(names)}")
    shape = tuple(len(names) for _, names in sides)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(codes for codes, _ in sides), 1)
    return Case(
        counts=counts,
        rate=release.number("rate"),
        strata=sides[0][1],
        rows=sides[1][1],
        columns=sides[2][1],
        origin=f"release {record['release']}, generation {record['generation']}",
        largest=int(release.number("largest_stratum")),
    )


def _fitting(release: Published, swapped: Sequence[str] | None, held: Sequence[str]) -> tuple[list[str], list[str]]:
    """Matched columns and the swapped ones that make the rows, checked."""
    record = release.record
    if record["mechanism"] != MECHANISM:
        raise ValueError(
            f"release must be one of the mechanism {MECHANISM}, {record['release']} states {record['mechanism']}"
        )
    moved, rows = _names(record, "swapped"), list(swapped or _names(record, "swapped"))
    staying = [column for column in release.table.columns if column not in moved]
    for name, chosen, allowed in (("swapped", rows, moved), ("held", held, staying)):
        if wrong := [column for column in chosen if column not in allowed]:
            raise ValueError(
                f"{name} must name {name} columns of the release ({', '.join(allowed)}), got {', '.join(wrong)}"
            )
    return _names(record, "matched"), rows


def loss(found: Case) -> accounting.SmallestChange | None:
    """What one exchange costs; None where a swap can change nothing."""
    return accounting.smallest_change(found.largest, rate=found.rate) if found.largest >= 2 else None


def _stacked(table: object, strata: object) -> NDArray[np.int64]:
    return np.asarray([table] if table is not None else strata, dtype=np.int64)


def _unnamed(counts: NDArray[np.int64], rate: float, origin: str, made_up: NDArray[np.int64] | None = None) -> Case:
    sizes = [
        (int(layer.sum()), int((layer.sum(axis=1) > 0).sum()), int((layer.sum(axis=0) > 0).sum())) for layer in counts
    ]
    sides = [tuple(str(i) for i in range(length)) for length in counts.shape]
    return Case(
        counts=counts,
        rate=rate,
        strata=sides[0],
        rows=sides[1],
        columns=sides[2],
        origin=origin,
        largest=accounting.largest_stratum(sizes),
        made_up=made_up,
    )


def _names(record: Mapping[str, object], key: str) -> list[str]:
    found = record.get(key)
    if not isinstance(found, list):
        raise ValueError(f"the record of the release must list its {key} columns, got {found!r}")
    return [str(name) for name in found]


def _codes(release: Published, columns: Sequence[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Code of every record's joint value of some columns, and the values by code in their order."""
    if not columns:
        return np.zeros(len(release.table), dtype=np.int64), ("all",)
    joint = list(zip(*(release.table.texts(column) for column in columns), strict=True))
    values = sorted(set(joint))
    places = {value: code for code, value in enumerate(values)}
    return np.array([places[value] for value in joint], dtype=np.int64), tuple(" ".join(value) for value in values)
