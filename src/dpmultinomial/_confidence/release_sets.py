"""Confidence sets for the true counts, given a release of several counts. Each count may have any noise distribution.

The sets for added noise are in `count_sets`. This module has the sets for counts whose released values follow a table
of P(released | true), or random rounding.

Tails of a table need not be monotone in the count. Outcomes are rejected in the order of the likelihood ratio P_d(y) /
max_d P_d(y), as proposed by Feldman and Cousins (1998): the p-value of a count d is the probability, under d, of all
outcomes whose ratio is at most that of y. The most likely count has ratio 1 and p-value 1, so no set is empty. The
accepted counts cover the true count with probability at least 1 - alpha, even if they are not consecutive integers. The
interval from the smallest to the largest accepted count covers the true count at least as often.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._mechanisms.additive_counts import AdditiveCounts
from .._mechanisms.coarsened import Coarsened
from .._mechanisms.dirichlet import Dirichlet
from .._mechanisms.noise_law import Array, LawByRow
from .._mechanisms.perturbation import Perturbation
from .._mechanisms.random_rounding import RandomRounding
from .._mechanisms.sufficient_statistics import CensoredStatistics
from .._mechanisms.swapping.swapping import Swap
from .count_sets import AddedSets, CountSets, Ends, listed

_TIE = 1e-12  # ratios that differ by less are equal
_LARGEST = 20_000_000  # largest number of table entries for which p-values are computed
_LONGEST = 10_000  # largest number of rows after which a table repeats


def likelihood_ratio_pvalues(weights: Array) -> Array:
    """Return the p-value of every pair of true count and released value in a noise table. The released values are
    ordered by their likelihood ratios.

    Parameters
    ----------
    weights : probabilities (true counts, released values).

    Returns
    -------
    float64 of the same shape; 0 where the value is impossible given the count.
    """
    best = weights.max(axis=0)
    ratio = np.divide(weights, best, out=np.zeros_like(weights), where=best > 0)
    order = np.argsort(ratio, axis=1)
    sums = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    out = np.empty_like(weights)
    for row, (places, cumulative) in enumerate(zip(order, sums, strict=True)):
        ordered = ratio[row, places]
        last = np.searchsorted(ordered, ordered * (1 + _TIE) + 1e-300, side="right") - 1
        out[row, places] = cumulative[last]
    return np.where(weights > 0, np.minimum(out, 1.0), 0.0)


class OrderedSets(ABC):
    """Confidence sets for true counts, based on likelihood ratios. The released values were produced by a noise table
    or by random rounding.

    Attributes
    ----------
    known : bool (n,), whether each count was measured.
    """

    method = "likelihood ratio"
    known: NDArray[np.bool_]

    @abstractmethod
    def _accepted(self, place: int, level: float) -> NDArray[np.int64]:
        """Return the true counts in the confidence set for a measured count."""

    @abstractmethod
    def _two_sided(self, place: int, count: int) -> float:
        """Return the p-value of a hypothetical true count, for a test that orders the released values by their
        likelihood ratios.
        """

    @abstractmethod
    def tails(self, place: int, counts: Array) -> tuple[Array, Array]:
        """Return the tail probabilities P(Y >= y) and P(Y <= y) of a release Y at the released value y, given each of
        several true counts.
        """

    def accepted(self, place: int, level: float) -> NDArray[np.int64]:
        """Return the true counts in the confidence set for a single count, in increasing order.

        Parameters
        ----------
        place : position of the count.
        level : in (0, 1).

        Returns
        -------
        int64

        Raises
        ------
        ValueError
            If nothing was measured.
        """
        if not self.known[place]:
            raise ValueError(
                f"accepted values can be listed only for measured counts, but count {place + 1} was not measured: "
                "choose a measured count"
            )
        return self._accepted(place, level)

    def pvalue(self, place: int, count: int, side: str) -> float:
        """Return the p-value of the test of the hypothesis that a true count has a given value.

        Parameters
        ----------
        place : position of the count.
        count : integer >= 0.
        side : ``"two"``: in the order of likelihood ratios; ``"right"``: P(Y >= y); ``"left"``: P(Y <= y).

        Returns
        -------
        float
            1 if the count was not measured.

        Raises
        ------
        ValueError
            If the count is not in the table.
        """
        if not self.known[place]:
            return 1.0
        if side == "two":
            return self._two_sided(place, count)
        right, left = (float(one[0]) for one in self.tails(place, np.array([float(count)])))
        return min(right if side == "right" else left, 1.0)


class TableSets(OrderedSets):
    """Confidence sets for counts that were released by a `Perturbation`.

    Parameters
    ----------
    law : the table.
    values : released values (n,), NaN if a count was not measured.
    lower, upper : public limits of the counts (n,), integers or inf.

    Raises
    ------
    ValueError
        If a value cannot be released under the table, or the table is too large.
    """

    def __init__(self, law: Perturbation, values: Array, lower: Array, upper: Array) -> None:
        self.least, self.most = lower, upper
        self.known = ~np.isnan(values)
        if not (good := law.possible(np.where(self.known, values, law.values[0]))).all():
            raise ValueError(
                f"values must be among the released values of the noise table, got {values[~good][0]:.15g}"
            )
        if (size := len(law.true) * len(law.values)) > _LARGEST:
            raise ValueError(
                f"the noise table of a confidence set must have at most {_LARGEST:,} probabilities, got {size:,}"
            )
        self.true, self.released, self.weights, top = _extended(law)
        self.first, self.shifts = int(law.true[0]), law.period > 0
        # rows near the end of a continued table lack the competing counts above it; they repeat lower rows
        self.whole = (
            ~(self.weights[:, self.released > top] > 0).any(axis=1)
            if self.shifts
            else np.ones(len(self.true), dtype=bool)
        )
        self.pvalues = likelihood_ratio_pvalues(self.weights)
        y = np.where(self.known, values, 0)
        self.moved = np.zeros_like(y)
        if self.shifts:
            self.moved = np.ceil(np.maximum(y - top, 0) / law.period) * law.period
        self.column = np.searchsorted(self.released, y - self.moved)

    def ends(self, level: Any) -> Ends:
        """Return the confidence intervals for all counts.

        Parameters
        ----------
        level : in (0, 1), one number or one per count.

        Returns
        -------
        Ends
            The coverage is the smallest over the true counts of the table, by exact sums.
        """
        n = len(self.column)
        level = np.broadcast_to(np.asarray(level, dtype=np.float64), (n,))
        lower, upper, coverage = np.zeros(n), np.full(n, np.inf), np.ones(n)
        empty, gaps = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        keys = np.column_stack([self.column, self.moved, level, self.least, self.most])[self.known]
        cases, where = np.unique(keys, axis=0, return_inverse=True)
        least_cover = {one: self._coverage(one) for one in np.unique(level[self.known])}
        by_case = np.zeros((len(cases), 5))
        for i, (column, moved, one, least, most) in enumerate(cases):
            counts = self.true[self.pvalues[:, int(column)] > 1 - one] + moved
            inside = counts[(counts >= least) & (counts <= most)]
            if inside.size:
                by_case[i] = inside[0], inside[-1], least_cover[one], 0, len(inside) < inside[-1] - inside[0] + 1
            else:
                from_below = least - counts[counts < least].max(initial=-np.inf)
                from_above = counts[counts > most].min(initial=np.inf) - most
                near = least if from_below <= from_above else most
                by_case[i] = near, near, least_cover[one], 1, 0
        chosen = by_case[where.ravel()]
        known = self.known
        lower[known], upper[known], coverage[known] = chosen[:, 0], chosen[:, 1], chosen[:, 2]
        empty[known], gaps[known] = chosen[:, 3] > 0, chosen[:, 4] > 0
        return Ends(np.where(known, lower, self.least), np.where(known, upper, self.most), coverage, empty, gaps)

    def _coverage(self, level: float) -> float:
        return float(np.where(self.pvalues > 1 - level, self.weights, 0.0).sum(axis=1)[self.whole].min())

    def _accepted(self, place: int, level: float) -> NDArray[np.int64]:
        counts = self.true[self.pvalues[:, self.column[place]] > 1 - level] + int(self.moved[place])
        return np.asarray(counts[(counts >= self.least[place]) & (counts <= self.most[place])], dtype=np.int64)

    def _two_sided(self, place: int, count: int) -> float:
        rows = self._rows(place, np.array([float(count)]))
        return float(self.pvalues[rows[0], self.column[place]]) if rows[0] >= 0 else 0.0

    def _rows(self, place: int, counts: Array) -> NDArray[np.int64]:
        """Return the row numbers of several true counts in the noise table of the released value at a given position.
        The row number is -1 if the count is below or above the table.
        """
        offsets = counts - self.moved[place]
        rows = np.minimum(np.searchsorted(self.true, offsets), len(self.true) - 1)
        known = self.true[rows] == offsets
        if not (known | (self.shifts & (counts >= self.first))).all():
            wrong = counts[~known][0]
            raise ValueError(
                f"count must be one of the true counts in the noise table ({self.true[0]} to {self.true[-1]}), got "
                f"{wrong:.15g}"
            )
        return np.where(known, rows, -1)

    def tails(self, place: int, counts: Array) -> tuple[Array, Array]:
        """Return the tail probabilities P(Y >= y) and P(Y <= y) of a release Y at the released value y, given each of
        several true counts.

        Parameters
        ----------
        place : position of the released value y.
        counts : hypothetical true counts, integers as float64.

        Returns
        -------
        right, left : float64 of the shape of `counts`

        Raises
        ------
        ValueError
            If a count is not in the table.
        """
        rows, column = self._rows(place, counts), self.column[place]
        right = self.weights[rows, column:].sum(axis=1)
        left = self.weights[rows, : column + 1].sum(axis=1)
        above = counts > self.true[-1]
        away = rows < 0  # no row of the table can produce the released value
        return np.where(away, above * 1.0, right), np.where(away, ~above * 1.0, left)


def _extended(law: Perturbation) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, int]:
    """Return the true counts, released values and probabilities of a noise table. Also return the released value above
    which the confidence sets are shifted copies of each other. If the last rows of the table repeat, the table is
    continued above its last count.
    """
    if not law.period:
        return law.true, law.values, law.weights, 0
    last, k = int(law.true[-1]), law.period
    rows, columns = np.nonzero(law.weights[-k:])
    moves = law.values[columns] - law.true[-k:][rows]
    span = int(moves.max() - moves.min())
    top = int(max(law.values[-1], last + moves.max()) + 2 * span + k + 1)
    true = np.unique(np.append(law.true, np.arange(last, top + 2 * span + k - min(int(moves.min()), 0) + 1)))
    most = int(max(law.values[-1], true[-1] + moves.max()))
    released = np.arange(min(int(law.values[0]), int(last - k + moves.min())), most + 1)
    weights = np.exp(law.log_likelihood(released, true[:, None].astype(np.float64)))
    return true, released, weights, top


class RoundingSets(OrderedSets):
    """Confidence sets for counts that were rounded at random to multiples of a base.

    The released value y has probability 1 - |y - d|/base given the count d, and at most one other value is possible.
    The smaller of the two probabilities is the p-value of its outcome, and the p-value of the other outcome is 1.

    Parameters
    ----------
    law : random rounding.
    values : released values (n,), NaN if a count was not measured.
    lower, upper : public limits of the counts (n,), integers or inf.

    Raises
    ------
    ValueError
        If a value is not a multiple of the base.
    """

    def __init__(self, law: RandomRounding, values: Array, lower: Array, upper: Array) -> None:
        self.base, self.least, self.most, self.values = law.base, lower, upper, values
        self.known = ~np.isnan(values)
        if not (good := law.possible(np.where(self.known, values, 0))).all():
            raise ValueError(f"values must be multiples of the base {law.base}, got {values[~good][0]:.15g}")

    def _distance(self, level: Array) -> Array:
        """Return, for each confidence level, the largest distance between an accepted count and the released value."""
        gaps = np.arange(self.base)
        likely = 1 - gaps / self.base
        fits = (likely >= 0.5) | (likely > 1 - np.asarray(level)[..., None])
        return np.asarray(np.where(fits, gaps, 0).max(axis=-1))

    def ends(self, level: Any) -> Ends:
        """Return the confidence intervals for all counts.

        Parameters
        ----------
        level : in (0, 1), one number or one per count.

        Returns
        -------
        Ends
            The coverage is the smallest over the remainders of the count, by exact sums.
        """
        levels, place = np.unique(np.broadcast_to(level, self.values.shape), return_inverse=True)
        width = self._distance(levels)
        m = np.arange(self.base)
        down, up = m <= width[:, None], (self.base - m) <= width[:, None]
        cover = (down * (1 - m / self.base) + up * (m / self.base)).min(axis=1)
        width, cover = width[place.ravel()], cover[place.ravel()]
        lower, upper = np.maximum(self.values - width, self.least), np.minimum(self.values + width, self.most)
        empty = lower > upper
        near = np.clip(self.values, self.least, self.most)
        lower, upper = np.where(empty, near, lower), np.where(empty, near, upper)
        lower, upper = np.where(self.known, lower, self.least), np.where(self.known, upper, self.most)
        return Ends(lower, upper, cover, empty & self.known, np.zeros(empty.shape, dtype=bool))

    def _accepted(self, place: int, level: float) -> NDArray[np.int64]:
        return listed(self.ends(level), place)

    def _two_sided(self, place: int, count: int) -> float:
        likely = max(1 - abs(float(self.values[place]) - count) / self.base, 0.0)
        return 1.0 if likely >= 0.5 else likely

    def tails(self, place: int, counts: Array) -> tuple[Array, Array]:
        """Return the tail probabilities P(Y >= y) and P(Y <= y) of a release Y at the released value y, given each of
        several true counts.

        Parameters
        ----------
        place : position of the released value y.
        counts : hypothetical true counts, integers as float64.

        Returns
        -------
        right, left : float64 of the shape of `counts`
        """
        gap = self.values[place] - counts
        likely = np.maximum(1 - np.abs(gap) / self.base, 0.0)
        return np.where(gap <= 0, 1.0, likely), np.where(gap >= 0, 1.0, likely)


_JOINT = (AdditiveCounts, Swap, CensoredStatistics, Dirichlet)


def law_of_counts(mechanism: Any, shape: tuple[int, ...]) -> Any:
    """Return the noise distribution for the one-dimensional (flattened) array of the counts of a release.

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
                "a confidence interval requires the probability of a released value given a single "
                f"count, which is not defined for {type(one).__name__}: use posterior(..)"
            )
        if not hasattr(one, "log_likelihood"):
            raise TypeError(
                f"mechanism must be a noise distribution such as dpmultinomial.Laplace(scale=2.0), got {one!r}"
            )
    law = LawByRow.of(list(mechanism)) if isinstance(mechanism, Sequence) else mechanism
    if law.row_count is None:
        return law
    if law.row_count != shape[0]:
        raise ValueError(f"mechanism must have one row per value ({shape[0]} rows), got {law.row_count} rows")
    return law.take(np.repeat(np.arange(shape[0]), int(np.prod(shape[1:]))))


def coarsened_table(law: Coarsened, values: Array) -> tuple[Perturbation, Array]:
    """Return the probability table of coarsened values, with the possible values in increasing order. Also return the
    position of each given value in this order.

    Parameters
    ----------
    law : noise table, or rounding to multiples of a base, with values that are rounded, clipped or withheld.
    values : released values (n,), NaN where a value was withheld or not measured.

    Returns
    -------
    table, numbers : Perturbation, float64 (n,); a withheld value has the smallest number, and NaN means not measured

    Raises
    ------
    ValueError
        If a value cannot be released, or the table is too large.
    """
    law.behind(values[~np.isnan(values)])  # rejects impossible values
    table = law.noise
    if isinstance(table, RandomRounding) or table.period:
        return _periodic_table(law), _coded(law, values)
    withheld = -np.inf
    coarsened = law.coarsen(table.values.astype(np.float64))
    outcomes, columns = np.unique(np.where(np.isnan(coarsened), withheld, coarsened), return_inverse=True)
    weights = np.zeros((len(table.true), len(outcomes)))
    np.add.at(weights.T, columns, table.weights.T)
    rows, numbers = np.nonzero(weights)
    perturbation = Perturbation(
        {"true": table.true[rows], "released": numbers, "probability": weights[rows, numbers]}, beyond="none"
    )
    wanted = np.where(np.isnan(values) & (law.least is not None), withheld, values)
    place = np.minimum(np.searchsorted(outcomes, wanted), len(outcomes) - 1)
    known = ~np.isnan(wanted)
    if (wrong := known & (outcomes[place] != wanted)).any():
        raise ValueError(f"values must be among the released values of the noise table, got {values[wrong][0]:.15g}")
    return perturbation, np.where(known, place, np.nan)


def _coded(law: Coarsened, values: Array) -> Array:
    """Return the released values as integer codes that preserve the order of the values. A withheld value is the
    largest integer below the threshold, and a value clipped at a fraction is rounded down; neither is a possible value
    otherwise.
    """
    codes = np.floor(values)
    return codes if law.least is None else np.where(np.isnan(values), np.ceil(law.least) - 1, codes)


def _periodic_table(law: Coarsened) -> Perturbation:
    """Return the probability table of coarsened values, for noise whose distribution is periodic in the true count with
    the period k.

    Above the threshold and the limit of clipping, rounding to multiples of s repeats after 2 lcm(k, s) counts (the
    factor 2 keeps the parity of ties), and so do the rows of the table.
    """
    noise = law.noise
    rounding = isinstance(noise, RandomRounding)
    k = noise.base if rounding else noise.period
    period = k if law.step is None else 2 * lcm(k, int(law.step))
    edge = max([0.0, *(end for end in (law.at, law.least) if end is not None)]) + (law.step or 0)
    if rounding:
        first, lowest, highest = 0, -k, k
    else:
        moves = np.where(noise.weights > 0, noise.values - noise.true[:, None], 0)
        first, lowest, highest = int(noise.true[0]), int(moves.min()), int(moves.max())
        edge = max(edge, float(noise.true[-1]))
    true = np.arange(first, int(np.ceil(edge)) - lowest + 2 * period + 1)
    released = np.arange(first + lowest, int(true[-1]) + highest + 1)
    released = released[noise.possible(released.astype(np.float64))]
    if period > _LONGEST or len(true) * (len(true) + highest - lowest) > _LARGEST:
        raise ValueError(
            "a confidence set of values that were rounded, clipped or withheld after the application of the mechanism "
            f"{type(noise).__name__} requires a table of {len(true):,} true counts, more than the limit of "
            f"{int(_LARGEST**0.5):,}: compute a posterior, or use a smaller threshold or step"
        )
    probabilities = np.exp(noise.log_likelihood(released[None].astype(np.float64), true[:, None].astype(np.float64)))
    outcomes, columns = np.unique(_coded(law, law.coarsen(released.astype(np.float64))), return_inverse=True)
    weights = np.zeros((len(true), len(outcomes)))
    np.add.at(weights.T, columns, probabilities.T)
    rows, numbers = np.nonzero(weights)
    entries = {
        "true": true[rows],
        "released": outcomes[numbers].astype(np.int64),
        "probability": weights[rows, numbers],
    }
    return Perturbation(entries, beyond={"period": period})


def sets_of(law: Any, values: Array, lower: Array, upper: Array) -> CountSets:
    """Return the confidence sets for the true counts, given released counts with a known noise distribution.

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
    if isinstance(law, RandomRounding) and law.fixed is not None:
        law = Coarsened(law)
    if isinstance(law, Coarsened) and law.listed:
        table, codes = coarsened_table(law, values)
        return TableSets(table, codes, lower, upper)
    kind: Any = {Perturbation: TableSets, RandomRounding: RoundingSets}.get(type(law), AddedSets)
    count_sets: CountSets = kind(law, values, lower, upper)
    return count_sets


class SetsByRow:
    """Confidence sets for counts whose noise distribution differs between rows.

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
        """Return the confidence intervals for all counts, with one common level or with one level per count."""
        level = np.broadcast_to(np.asarray(level, dtype=np.float64), (self.size,))
        columns: list[NDArray[Any]] = [np.zeros(self.size) for _ in range(5)]
        for rows, sets in self.parts:
            for column, values in zip(columns, sets.ends(level[rows]), strict=True):
                column[rows] = values
        return Ends(columns[0], columns[1], columns[2], columns[3] > 0, columns[4] > 0)

    def _at(self, place: int) -> tuple[CountSets, int]:
        sets: CountSets = self.parts[int(self.part[place])][1]
        return sets, int(self.within[place])

    def accepted(self, place: int, level: float) -> NDArray[np.int64]:
        """Return the true counts in the confidence set for the count at a given position."""
        sets, position = self._at(place)
        return sets.accepted(position, level)

    def pvalue(self, place: int, count: int, side: str) -> float:
        """Return the p-value of the test of the hypothesis that the count at a given position has a given value."""
        sets, position = self._at(place)
        return sets.pvalue(position, count, side)

    def tails(self, place: int, counts: Array) -> tuple[Array, Array]:
        """Return the upper and lower tail probabilities of a released value, for each of several hypothetical true
        counts. The probabilities are P(Y >= y) and P(Y <= y) for a random release Y. The released value y is the value
        at a given position.
        """
        sets, position = self._at(place)
        return sets.tails(position, counts)
