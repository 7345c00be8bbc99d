"""Confidence sets of all counts of a release, whatever the distribution of each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._mechanisms.additive.additive_counts import AdditiveCounts
from .._mechanisms.dirichlet import Dirichlet
from .._mechanisms.noise_law import Array
from .._mechanisms.perturbation import Perturbation
from .._mechanisms.random_rounding import RandomRounding
from .._mechanisms.rows import LawByRow
from .._mechanisms.sufficient_statistics import CensoredStatistics
from .._mechanisms.swapping.swapping import Swap
from .count_sets import AddedSets, CountSets, Ends
from .table_sets import RoundingSets, TableSets

_JOINT = (AdditiveCounts, Swap, CensoredStatistics, Dirichlet)


def law_of_counts(mechanism: Any, shape: tuple[int, ...]) -> Any:
    """Return the noise distribution of the flattened counts of a release.

    Parameters
    ----------
    mechanism : mechanism of a `Release`, or a sequence of mechanisms, one per row.
    shape : shape of the released values.

    Returns
    -------
    NoiseLaw
        With one row per count if distributions or parameters differ by row.

    Raises
    ------
    TypeError
        If the mechanism does not give the probability of one released value given one count.
    """
    for one in mechanism if isinstance(mechanism, Sequence) else [mechanism]:
        if isinstance(one, _JOINT):
            raise TypeError(
                f"confidence needs the probability of one released value given one count, which "
                f"{type(one).__name__} does not have; use posterior(..)"
            )
        if not hasattr(one, "log_likelihood"):
            raise TypeError(f"mechanism must be a mechanism of this library, got {one!r}")
    law = LawByRow.of(list(mechanism)) if isinstance(mechanism, Sequence) else mechanism
    if law.row_count is None:
        return law
    if law.row_count != shape[0]:
        raise ValueError(f"mechanism must have one row per value, {shape[0]}, got {law.row_count}")
    return law.take(np.repeat(np.arange(shape[0]), int(np.prod(shape[1:]))))


def sets_of(law: Any, values: Array, lower: Array, upper: Array) -> CountSets:
    """Return the confidence sets of counts.

    Parameters
    ----------
    law : result of `law_of_counts`.
    values : released values (n,), NaN where a value was withheld or not measured.
    lower, upper : public limits of the counts (n,), integers or inf.

    Returns
    -------
    CountSets

    Raises
    ------
    ValueError
        If a value cannot be released under its distribution.
    """
    if isinstance(law, LawByRow):
        return SetsByRow(law, values, lower, upper)
    kind: Any = {Perturbation: TableSets, RandomRounding: RoundingSets}.get(type(law), AddedSets)
    found: CountSets = kind(law, values, lower, upper)
    return found


class SetsByRow:
    """Confidence sets of counts whose noise distributions differ by row.

    Parameters
    ----------
    law : distributions by row.
    values, lower, upper : as in `sets_of`.
    """

    def __init__(self, law: LawByRow, values: Array, lower: Array, upper: Array) -> None:
        self.size = len(values)
        self.parts: list[tuple[NDArray[np.int64], CountSets]] = [
            (rows, sets_of(one, values[rows], lower[rows], upper[rows])) for one, rows in law.parts() if rows.size
        ]
        self.part, self.within = np.zeros(self.size, dtype=np.int64), np.zeros(self.size, dtype=np.int64)
        for i, (rows, _) in enumerate(self.parts):
            self.part[rows], self.within[rows] = i, np.arange(rows.size)
        self.method = " or ".join(sorted({sets.method for _, sets in self.parts}))

    def ends(self, level: Any) -> Ends:
        """Return the confidence intervals of all counts at a level, one number or one per count."""
        level = np.broadcast_to(np.asarray(level, dtype=np.float64), (self.size,))
        columns: list[NDArray[Any]] = [np.zeros(self.size) for _ in range(5)]
        for rows, sets in self.parts:
            for column, found in zip(columns, sets.ends(level[rows]), strict=True):
                column[rows] = found
        return Ends(columns[0], columns[1], columns[2], columns[3] > 0, columns[4] > 0)

    def _at(self, place: int) -> tuple[CountSets, int]:
        sets: CountSets = self.parts[int(self.part[place])][1]
        return sets, int(self.within[place])

    def accepted(self, place: int, level: float) -> NDArray[np.int64]:
        """Return the accepted counts of the count at a position."""
        sets, at = self._at(place)
        return sets.accepted(at, level)

    def pvalue(self, place: int, count: int, side: str) -> float:
        """Return the p-value of a hypothetical true count of the count at a position."""
        sets, at = self._at(place)
        return sets.pvalue(at, count, side)

    def tails(self, place: int, counts: Array) -> tuple[Array, Array]:
        """Return P(Y >= y) and P(Y <= y) given hypothetical counts, for the released value at a position."""
        sets, at = self._at(place)
        return sets.tails(at, counts)
