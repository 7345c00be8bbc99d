"""Read swapped tables from a release of swapped records, from published tables or a file, or from a simulation with
synthetic tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._files.published import Published, open_release
from dpmultinomial._mechanisms.swapping import permutation_swaps

from ..case import REHEARSAL, Case
from . import rules

_MOST_LEVELS = 50  # maximum number of categories in the rows or in the columns of a table


@dataclass(frozen=True, kw_only=True)
class Source:
    """Swapped tables of a scenario, together with the metadata about the swapping.

    Parameters
    ----------
    counts : int64 (strata, rows, columns); the rows are the categories of the swapped variable, the columns those of
        the unswapped variable.
    rate : swap rate.
    strata, rows, columns : names of the strata, of the rows and of the columns.
    largest : number of records in the largest stratum in which a swap can change the table; 0 if there is no such
        stratum.
    facts : origin of the tables.
    """

    counts: NDArray[np.int64]
    rate: float
    strata: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    largest: int
    facts: Mapping[str, object]

    def names(self) -> list[str]:
        """Return the name ``row/column`` of every cell of the tables, ordered by stratum. If the tables have several
        strata, the name of the stratum is put in front.
        """
        several = len(self.strata) > 1
        return [
            "/".join((s, r, c) if several else (r, c)) for s in self.strata for r in self.rows for c in self.columns
        ]


def of(case: Case) -> Source:
    """Return the swapped tables of a case, together with the metadata about the swapping. Raise ValueError if a release
    has no swapped records or its table is too large.
    """
    settings = case.settings
    if case.release:
        published = open_release(case.release)
        return _of_release(published, settings.get("swapped"), settings["held"])
    facts = {"origin": REHEARSAL if REHEARSAL in settings else "published"}
    if case.columns is not None:
        return _of_file(case, facts)
    counts = np.asarray(rules.tables(settings), dtype=np.int64)
    if REHEARSAL in settings:
        drawn = [permutation_swaps.tables(layer, 1, rate=settings["rate"], rng=case.rng) for layer in counts]
        counts = np.concatenate(drawn)
    given = settings.get("names") or {}
    sides = [tuple(str(i + 1) for i in range(length)) for length in counts.shape]
    return Source(
        counts=counts,
        rate=settings["rate"],
        strata=sides[0],
        rows=tuple(given.get("rows", sides[1])),
        columns=tuple(given.get("columns", sides[2])),
        largest=_largest(counts),
        facts=facts,
    )


def _largest(counts: NDArray[np.int64]) -> int:
    sizes = [(int(t.sum()), int((t.sum(axis=1) > 0).sum()), int((t.sum(axis=0) > 0).sum())) for t in counts]
    return accounting.largest_stratum(sizes)


def _of_file(case: Case, facts: Mapping[str, object]) -> Source:
    """Return the table whose cells are listed in the file of a scenario. The categories are either sorted or in the
    order of `names`, and missing cells are 0.
    """
    assert case.columns is not None
    rows, columns = (_side(case, side) for side in ("row", "column"))
    counts = np.zeros((1, len(rows), len(columns)), dtype=np.int64)
    seen = set()
    for row, column, text in zip(case.columns["row"], case.columns["column"], case.columns["value"], strict=True):
        value = float(text) if text else -1.0
        if value != int(value) or value < 0:
            raise ValueError(
                f"{case.settings['file']}: value must be an integer >= 0, got {text!r} in row {row}, column {column}"
            )
        if (row, column) in seen:
            raise ValueError(
                f"{case.settings['file']}: the cell in row {row}, column {column} is listed twice: list each cell once"
            )
        seen.add((row, column))
        counts[0, rows.index(row), columns.index(column)] = int(value)
    if min(counts.shape[1:]) < 2:
        raise ValueError(
            f"{case.settings['file']}: a table must have at least two rows and two columns, got shape "
            f"{counts.shape[1:]}"
        )
    return Source(
        counts=counts, rate=float(case.settings["rate"]), strata=("1",), rows=rows, columns=columns,
        largest=_largest(counts), facts=facts,
    )  # fmt: skip


def _side(case: Case, side: str) -> tuple[str, ...]:
    """Return the categories of the row variable or of the column variable of the table in a file."""
    assert case.columns is not None
    names_of_side = set(case.columns[side])
    given = (case.settings.get("names") or {}).get(f"{side}s")
    if given is None:
        return tuple(sorted(names_of_side))
    if unknown := sorted(names_of_side - set(given)):
        raise ValueError(
            f"{case.settings['file']}: {side} {unknown[0]!r} must be listed under names.{side}s, which contains "
            f"{', '.join(given)}"
        )
    return tuple(given)


def _of_release(release: Published, swapped: Sequence[str] | None, held: Sequence[str]) -> Source:
    """Return contingency tables of the swapped columns by the unswapped columns, computed from a file of swapped
    records. There is one table per stratum.
    """
    record = release.record
    moved = _texts(record, "swapped")
    rows = list(swapped or moved)
    staying = [column for column in release.table.columns if column not in moved]
    for key, chosen, allowed in (("swapped", rows, moved), ("held", held, staying)):
        if wrong := [column for column in chosen if column not in allowed]:
            known = ", ".join(allowed)
            rule = "were swapped" if key == "swapped" else "were not swapped"
            raise ValueError(
                f"{key} must contain only columns that {rule} in the release ({known}), got {', '.join(wrong)}"
            )
    sides = [_codes(release, columns) for columns in (_texts(record, "matched"), rows, held)]
    for key, (_, categories) in zip(("swapped", "held"), sides[1:], strict=True):
        if not 2 <= len(categories) <= _MOST_LEVELS:
            raise ValueError(
                f"{key} must have 2 to {_MOST_LEVELS} distinct values in the release, got {len(categories)}"
            )
    counts = np.zeros(tuple(len(categories) for _, categories in sides), dtype=np.int64)
    np.add.at(counts, tuple(codes for codes, _ in sides), 1)
    kept = ("release", "generation", "source", "neighbours", "cost")
    return Source(
        counts=counts,
        rate=release.number("rate"),
        strata=sides[0][1],
        rows=sides[1][1],
        columns=sides[2][1],
        largest=int(release.number("largest_stratum")),
        facts={"origin": "release"} | {key: record[key] for key in kept if key in record},
    )


def _texts(record: Mapping[str, object], key: str) -> list[str]:
    columns = record.get(key)
    if not isinstance(columns, list):
        raise ValueError(
            f"the record of the release must contain a list of columns under the key {key!r}, got {columns!r}"
        )
    return [str(name) for name in columns]


def _codes(release: Published, columns: Sequence[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return a code for each record, and the list of combinations of column values to which the codes refer. A
    combination consists of the values of a record in several columns, and the list is in the order of the codes.
    """
    if not columns:
        return np.zeros(len(release.table), dtype=np.int64), ("all",)
    joint = list(zip(*(release.table.texts(column) for column in columns), strict=True))
    places = {value: code for code, value in enumerate(sorted(set(joint)))}
    return np.array([places[value] for value in joint], dtype=np.int64), tuple(" ".join(value) for value in places)
