"""Noise given by a table of P(released | true), as in cell-key methods, random rounding and post-randomisation."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import RELATIONS, PureDP
from .._accounting.privacy_loss import PureLoss, TableLoss
from .coarsened import Coarsenable
from .noise_law import DISJOINT, Array, Index, changed_counts, releasable, summed_over_records

BEYOND = ("none", "shift")
_SUM = 1e-6  # tolerance for the sum of the probabilities of one true count, which are divided by their sum
_EQUAL = 1e-5  # tolerance within which the probabilities of two rows are equal up to a shift
_PERIOD = "beyond: {period: 5} repeats the last 5 rows"


class Perturbation(Coarsenable):
    """Mechanism that releases a value drawn from a table of probabilities with one row per true count.

    Parameters
    ----------
    table : columns ``true``, ``released``, ``probability`` (a DataFrame, or a mapping of sequences of equal length),
        one entry per possible pair.
    beyond : rule for counts above the largest listed count. ``"none"``: only listed counts are possible. ``"shift"``:
        the released value increases by the same amount as the true count, as in cell-key tables. ``{"period": k}``: the
        last k rows are repeated, shifted by k each time, as in random rounding.

    Raises
    ------
    ValueError, TypeError
        If a column is missing, an entry is not a number, a pair is listed twice, or the probabilities of a true count
        are negative or do not sum to 1 (within 1e-6). If the last rows contradict `beyond`: rows whose true counts
        differ by the period must be equal after their released values are shifted by the period. With ``"shift"``, the
        last row but one may also be limited by values that are never released, such as negative values; the last row
        must then be symmetric.

    Notes
    -----
    The table is stored as a band of adjacent released values around each true count.
    """

    discrete = True

    def __init__(self, table: Mapping[str, ArrayLike], *, beyond: Any = "none") -> None:
        missing = [name for name in ("true", "released", "probability") if name not in table]
        if missing:
            raise ValueError(
                f"table must have the columns true, released and probability, but lacks {', '.join(missing)}"
            )
        true, p = _checks.counts("true", table["true"]), _checks.reals("probability", table["probability"])
        released = _checks.reals("released", _checks.integral("released", table["released"]))
        if not len(true) == len(released) == len(p):
            raise ValueError(
                f"the columns true, released and probability must have the same length, got lengths {len(true)}, "
                f"{len(released)} and {len(p)}"
            )
        if p.min() < 0:
            raise ValueError(f"probability must be >= 0, got {p.min()} (index {int(p.argmin())})")
        self.beyond, self.period = beyond, _period(beyond)
        self.values, columns = np.unique(released.astype(np.int64), return_inverse=True)
        self.true, rows = np.unique(true, return_inverse=True)
        order = np.lexsort((columns, rows))
        rows, columns, p = rows[order], columns[order], p[order]
        twice = np.flatnonzero((np.diff(rows) == 0) & (np.diff(columns) == 0))
        if twice.size:
            t, r = rows[twice[0]], columns[twice[0]]
            times = int(((rows == t) & (columns == r)).sum())
            raise ValueError(
                f"the pair of true count {self.true[t]} and released value {self.values[r]} is listed "
                f"{times} times: list each pair once"
            )
        sums = np.bincount(rows, p)
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > _SUM:
            raise ValueError(
                f"the probabilities for the true count {self.true[worst]} must sum to 1, got {sums[worst]:.9g}"
            )
        positive = p > 0
        rows, columns, p = rows[positive], columns[positive], p[positive] / sums[rows[positive]]
        starts = np.searchsorted(rows, np.arange(len(self.true)))
        self._start = columns[starts]  # column of the first value in each row
        self._band: Array = np.zeros((len(self.true), int((columns - self._start[rows]).max()) + 1))
        self._band[rows, columns - self._start[rows]] = p
        self._entries = rows, columns, p
        self._check_period()

    def _check_period(self) -> None:
        """Raise an error if the last rows of the noise table contradict the setting `beyond`."""
        if not self.period:
            return
        k, last = self.period, len(self.true)
        tail = self.true[max(last - k, 0) :]
        if len(tail) < k or tail[-1] - tail[0] != k - 1:
            raise ValueError(
                f"beyond: the last {k} true counts of the table must be consecutive, got "
                f"{', '.join(map(str, tail[-9:]))}"
            )
        for t in tail:
            before = np.flatnonzero(self.true == t - k)
            if not before.size:
                continue
            row, there = self._row(int(t)), {value + k: p for value, p in self._row(int(t - k)).items()}
            gap = max(abs(row.get(v, 0.0) - there.get(v, 0.0)) for v in row.keys() | there.keys())
            if gap > _EQUAL and not (k == 1 and self._limited(int(t), row)):
                raise ValueError(
                    f"beyond: the rows of the true counts {t - k} and {t} must be equal after {k} is added to the "
                    f"released values of the first row, but the probabilities in the two rows differ by {gap:.3g}. For "
                    f"random rounding, {_PERIOD}"
                )

    def _row(self, true: int) -> dict[int, float]:
        i = int(np.searchsorted(self.true, true))
        nonzero = np.flatnonzero(self._band[i])
        return dict(zip(self.values[nonzero + self._start[i]].tolist(), self._band[i, nonzero].tolist(), strict=True))

    def _limited(self, last: int, row: Mapping[int, float]) -> bool:
        """Return whether the last row of the noise table is symmetric about its true count and the table contains
        value - 1 for some, but not all, released values of this row.
        """
        mirrored = max(abs(p - row.get(2 * last - value, 0.0)) for value, p in row.items())
        known = np.isin([value - 1 for value in row], self.values)
        return mirrored < _EQUAL and len(row) > 1 and bool(known.any() and not known.all())

    @property
    def row_count(self) -> None:
        """Return None, which means that all rows share one noise table."""
        return None

    @cached_property
    def weights(self) -> Array:
        """Matrix of probabilities with one row per true count and one column per released value. The probability is 0
        for pairs that are not listed.
        """
        out = np.zeros((len(self.true), len(self.values)))
        rows, columns, p = self._entries
        out[rows, columns] = p
        return out

    @cached_property
    def _last(self) -> int:
        return int(self.true[-1])

    @cached_property
    def _sums(self) -> Array:
        """Cumulative sums of the probabilities in each row of the table, with a leading 0."""
        return np.column_stack([np.zeros(len(self._band)), np.cumsum(self._band, axis=1)])

    def _excess(self, counts: Array) -> Array:
        """Return the difference between each count and the true count whose row of the noise table is used for this
        count. The difference is 0 for counts up to the largest true count in the table.
        """
        if not self.period:
            return np.zeros_like(counts)
        return np.asarray(np.ceil(np.maximum(counts - self._last, 0.0) / self.period) * self.period)

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask of the values that can be released for some true count in the table."""
        good = releasable(released, discrete=True)
        low, high = self.reach(np.where(good, released, 0), 0.0)
        return good & (low <= high)

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(release | count), which is -inf for counts or releases that are not in the table. The arguments
        are broadcast against each other.

        Parameters
        ----------
        released : integers.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        y, n = np.broadcast_arrays(_checks.integral("noisy_counts", released), np.asarray(counts, dtype=float))
        excess = self._excess(n)
        row, column = np.searchsorted(self.true, n - excess), np.searchsorted(self.values, y - excess)
        row, column = np.minimum(row, len(self.true) - 1), np.minimum(column, len(self.values) - 1)
        place = column - self._start[row]
        known = (self.true[row] == n - excess) & (self.values[column] == y - excess)
        known &= (place >= 0) & (place < self._band.shape[1])
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.where(known, self._band[row, np.where(known, place, 0)], 0.0)))

    log_weights = log_likelihood

    def log_between(self, low: ArrayLike, high: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(low <= released <= high | count), which is -inf for counts that are not in the table. The
        arguments are broadcast against each other.

        Parameters
        ----------
        low, high : ends of the interval; infinite if there is no end.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape; absolute error of the probability below 1e-15.
        """
        ends = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float), np.asarray(counts, float))
        low, high, n = (np.asarray(end) for end in ends)
        excess = self._excess(n)
        row = np.minimum(np.searchsorted(self.true, n - excess), len(self.true) - 1)
        width = self._band.shape[1]
        first = np.clip(np.searchsorted(self.values, low - excess) - self._start[row], 0, width)
        last = np.clip(np.searchsorted(self.values, high - excess, side="right") - self._start[row], 0, width)
        p = self._sums[row, np.maximum(first, last)] - self._sums[row, first]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.where(self.true[row] == n - excess, p, 0.0)))

    @cached_property
    def _columns(self) -> tuple[Array, Array]:
        """Smallest and largest true counts that can lead to each released value of the table."""
        rows, columns, _ = self._entries
        low, high = np.full(len(self.values), np.inf), np.full(len(self.values), -np.inf)
        np.minimum.at(low, columns, self.true[rows])
        np.maximum.at(high, columns, self.true[rows])
        return low, high

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return the smallest and the largest true count that can lead to each release. Return (inf, -inf) if there is
        no such count.
        """
        y = np.asarray(_checks.integral("noisy_counts", released), dtype=np.float64)
        column = np.minimum(np.searchsorted(self.values, y), len(self.values) - 1)
        known = self.values[column] == y
        low, high = (
            np.where(known, self._columns[0][column], np.inf),
            np.where(known, self._columns[1][column], -np.inf),
        )
        for true, value in self._repeated:
            steps = y - value
            # a count beyond the end of the table can produce the release
            above = (steps > 0) & (steps % self.period == 0)
            low = np.where(above, np.minimum(low, true + steps), low)
            high = np.where(above, np.maximum(high, true + steps), high)
        return low, high

    @cached_property
    def _repeated(self) -> list[tuple[int, int]]:
        """Pairs (true count, released value) with positive probability in the rows of the noise table that are repeated
        for larger counts.
        """
        rows, columns, _ = self._entries
        tail = np.flatnonzero(rows >= len(self.true) - self.period)
        return list(zip(self.true[rows[tail]].tolist(), self.values[columns[tail]].tolist(), strict=True))

    def halfwidth(self, log_mass: float) -> float:
        """Return the largest distance between a true count and a released value in the noise table."""
        rows, columns, _ = self._entries
        return float(np.abs(self.values[columns] - self.true[rows]).max())

    def variance(self) -> float:
        """Return the largest variance of a released value, over all true counts in the noise table."""
        rows, columns, p = self._entries
        mean = np.bincount(rows, p * self.values[columns])
        return float(np.bincount(rows, p * (self.values[columns] - mean[rows]) ** 2).max())

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw released values for `counts`, as an int64 array of the same shape. Do not use this function for
        confidential counts.

        Raises
        ------
        ValueError
            If a count is not in the table.
        """
        n = np.asarray(_checks.integral("counts", counts), dtype=np.float64)
        excess = self._excess(n)
        row = np.minimum(np.searchsorted(self.true, n - excess), len(self.true) - 1)
        if not (good := self.true[row] == n - excess).all():
            raise ValueError(
                f"counts must be among the true counts of the noise table ({self.true[0]} to {self._last}), got "
                f"{n[~good][0]:g}"
            )
        below = self._sums[row, 1:]
        u = _checks.generator(rng).random(n.shape) * below[..., -1]
        place = self._start[row] + (u[..., None] >= below).sum(axis=-1)
        return np.asarray(self.values[np.minimum(place, len(self.values) - 1)] + excess, dtype=np.int64)

    def take(self, rows: Index) -> "Perturbation":
        """Return this distribution unchanged for any selection of rows, because all rows share one table."""
        return self

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> PureDP:
        """Return the privacy cost of one release, given by the largest log ratio between the probabilities in
        neighbouring rows of the noise table.

        Parameters
        ----------
        relation : neighbours, ``"add or remove a record"``, ``"replace a record"`` or ``"exchange within invariants"``.
        sensitivity : total number of steps of size 1 by which one record changes the counts. None: one step if a record
            is added or removed, two steps if a record is replaced.
        changes : instead of `sensitivity`, the number of steps of each count that changes, e.g. ``(1, 1)``.
        source : name of the confidential data.

        Returns
        -------
        PureDP
            The cost includes a loss distribution, which gives a tighter composition: that of the table for a change by
            one step, and that of randomised response for larger changes.

        Raises
        ------
        ValueError
            If a value is possible for one count and not for its neighbour, so that no epsilon is finite.
        """
        _checks.one_of("relation", relation, RELATIONS)
        sizes = changed_counts(changes, sensitivity)
        given = None if sensitivity is None else _checks.positive("sensitivity", sensitivity)
        given = given if sizes is None else float(sum(sizes))
        y = np.arange(self.values[0] - self.period, self.values[-1] + self.period + 1)
        n = np.arange(self.true[0], self._last + self.period + 1)
        logs = self.log_likelihood(y, n[:, None])
        with np.errstate(invalid="ignore"):
            ratios = np.abs(np.diff(logs, axis=0))
        largest = float(np.nanmax(ratios, initial=0.0))
        if not 0 < largest < np.inf:
            why = (
                "a released value is possible for only one of two consecutive counts"
                if largest
                else "the table has only one true count"
                if len(n) == 1
                else "all its true counts have the same probabilities, so that a release is independent of the data"
            )
            raise ValueError(f"the noise table has no finite epsilon, because {why}: use another noise table")
        epsilon = summed_over_records(np.asarray(largest), relation, given)
        ones = sizes or ((1.0,) * DISJOINT[relation] if given is None else (given,))
        mechanisms = tuple(_loss(logs) if size == 1 else PureLoss(size * largest) for size in ones)
        return PureDP(epsilon=epsilon, source=source, relation=relation, mechanisms=mechanisms)

    def settings(self) -> dict[str, object]:
        """Return the settings of the distribution as a dict of configuration keys and values. The range of true counts
        is stated in place of the table.
        """
        return {"law": "table", "beyond": self.beyond, "true": [int(self.true[0]), self._last]}

    def __repr__(self) -> str:
        return f"Perturbation(true {self.true[0]}..{self._last}, released {self.values[0]}..{self.values[-1]})"


def _period(beyond: Any) -> int:
    """Return the number of rows at the end of the noise table that are repeated for larger counts, or 0 if no row is
    repeated.
    """
    if isinstance(beyond, Mapping):
        if set(beyond) != {"period"}:
            raise ValueError(f"beyond must be none, shift or {{period: number}}, got {dict(beyond)!r}")
        return _checks.integer("period", beyond["period"], least=1, most=10_000)
    return BEYOND.index(_checks.one_of("beyond", beyond, BEYOND))


def _loss(logs: Array) -> TableLoss:
    """Return the privacy losses between neighbouring rows of an array of log probabilities, in both directions. The
    array has one row per count and one column per released value.
    """
    pairs: dict[tuple[tuple[float, ...], tuple[float, ...]], None] = {}
    for one, two in pairwise(logs):
        finite = one > -np.inf
        for p, q in ((one[finite], two[finite]), (two[finite], one[finite])):
            pair = tuple((p - q).tolist()), tuple(np.exp(p).tolist())
            pairs[pair] = None
    return TableLoss(tuple(pairs))
