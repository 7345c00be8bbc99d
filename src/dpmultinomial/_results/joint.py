"""Joint distributions of counts, with the distributions of sums and differences, and with draws.

Counts are independent, listed, or independent except for a weight on their sum (`Coupled`). The weights of a sum are
those of consecutive integers (`Window`).

Coupled counts are sums in a binary tree. If there are many counts, the distribution of selected counts is computed by
Fourier sums (`spectral_ties`).
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from .. import _checks
from .._printing import steps
from .convolutions import (
    BRIEF,
    Array,
    Unlisted,
    Whole,
    Window,
    added,
    added_up,
    convolved,
    convolved_once,
    drawn,
    window_of,
)
from .distributions import Discrete
from .spectral_ties import MOST, SpectralTies

Places = Sequence[int]


def tied_differences(first: ArrayLike, second: ArrayLike, tie: ArrayLike) -> Array:
    """Compute the weights of the possible values of the difference i - j of two integers. The pair (i, j) has the
    weight first[i] second[j] tie[i + j].

    Parameters
    ----------
    first : float64 (m,), m >= 1.
    second : float64 (n,), n >= 1.
    tie : float64 (m + n - 1,), weights of the sums 0, 1, ..

    Returns
    -------
    out : float64 (m + n - 1,), weights of the differences -(n - 1)..m - 1. They are sums of products, so small weights
        have full relative accuracy if all weights are nonnegative. The cost is O(m n) time, O(m + n) memory.

    Raises
    ------
    ValueError, TypeError
        If an argument is empty, not one-dimensional or not finite, or if `tie` has another size.
    """
    a, b, g = _checks.reals("first", first), _checks.reals("second", second), _checks.reals("tie", tie)
    if len(g) != len(a) + len(b) - 1:
        raise ValueError(f"tie must have one entry per sum ({len(a) + len(b) - 1} sums), got {len(g)} entries")
    columns, downwards, sums_downwards = len(b), np.ascontiguousarray(b[::-1]), np.ascontiguousarray(g[::-1])
    out, terms, places = np.zeros(len(g)), np.empty(columns), np.flatnonzero(a)
    for i, weight in zip(places.tolist(), a[places].tolist(), strict=True):
        # in row i, j decreases from n - 1 to 0, so i - j and i + j both move by one index
        first = len(g) - i - columns  # position of the sum i + n - 1 among the sums in decreasing order
        np.multiply(downwards, sums_downwards[first : first + columns], out=terms)
        np.multiply(terms, weight, out=terms)
        row = out[i : i + columns]
        np.add(row, terms, out=row)
    return out


@dataclass(frozen=True)
class Pair:
    """Joint distribution of two integer-valued quantities s and t. The probabilities are proportional to first(s)
    second(t) tie(s + t), or are listed.

    Parameters
    ----------
    first, second : weights of each integer.
    tie : weights of their sum; None if they are independent.
    listed : float64 (values of the first, values of the second), the weights if they do not have this product form.
    """

    first: Window
    second: Window
    tie: Window | None
    listed: Array | None = None

    def matrix(self) -> Array:
        """Return the matrix of joint probabilities, with one row per value of the first quantity and one column per
        value of the second.
        """
        if self.listed is not None:
            return np.asarray(self.listed / self.listed.sum())
        weights, low = np.outer(self.first.weights, self.second.weights), self.first.first + self.second.first
        if self.tie is not None:
            weights *= sliding_window_view(self.tie.at(low, sum(weights.shape) - 1), weights.shape[1])
        return np.asarray(weights / weights.sum())

    def difference(self) -> Window:
        """Return the distribution of the difference s - t of two quantities s and t."""
        if self.tie is None and self.listed is None:
            return added(self.first, self.second.reflected()).normalised()
        rows, columns = len(self.first.weights), len(self.second.weights)
        if self.listed is None and self.tie is not None:
            along = self.tie.at(self.first.first + self.second.first, rows + columns - 1)
            sums = tied_differences(self.first.weights, self.second.weights, along)
            return Window(self.first.first - self.second.last, sums).normalised()
        # if the rows are one shorter, row i moves by i columns
        wide = np.pad(self.matrix()[:, ::-1], ((0, 0), (0, rows)))
        sums = wide.ravel()[: rows * (columns + rows - 1)].reshape(rows, -1).sum(axis=0)
        return Window(self.first.first - self.second.last, sums)


class Together(Protocol):
    """Interface for integer-valued quantities whose joint distribution is known.

    ``unit``      unit of which a quantity is a multiple: 1 for counts, 1/total for shares of a public total
    ``pair_of``   joint distribution of two sums; None if it is not a `Pair`

    Methods raise `convolutions.Unlisted` if a distribution is too large to be listed.
    """

    unit: float

    def sum_of(self, places: Places) -> Window: ...

    def pair_of(self, first: Places, second: Places) -> Pair | None: ...

    def difference_of(self, first: Places, second: Places) -> Window: ...

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole: ...


class Independent:
    """Counts that are independent given the release.

    Parameters
    ----------
    law : function from a position to the distribution of the number, on integers times `unit`.
    unit : unit of which the quantities are multiples.
    """

    def __init__(self, law: Callable[[int], Discrete], *, unit: float = 1.0) -> None:
        self.law, self.unit = law, unit
        self._windows: dict[int, Window] = {}

    def window(self, place: int) -> Window:
        """Return the distribution of one of the integer-valued quantities."""
        if place not in self._windows:
            law = self.law(place)
            values = np.rint(law.values / self.unit).astype(np.int64)
            self._windows[place] = window_of(values, law.probabilities)
        return self._windows[place]

    def sum_of(self, places: Places) -> Window:
        """Return the distribution of the sum of the counts at several distinct positions."""
        return added_up([self.window(i) for i in places]).normalised()

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Return the joint distribution of two sums over disjoint sets of quantities."""
        return Pair(self.sum_of(first), self.sum_of(second), None)

    def difference_of(self, first: Places, second: Places) -> Window:
        """Return the distribution of the difference between two sums of counts over disjoint sets of positions."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors of the values at the positions `places`, as an array of shape (size, number of
        positions).
        """
        out = np.empty((size, len(places)), dtype=np.int64)
        for column, place in enumerate(places):
            out[:, column] = drawn(self.window(place), size, rng)
        return out


class Enumerated:
    """Joint distribution of integer-valued counts, given by a list of all possible vectors and their weights.

    Parameters
    ----------
    rows : int64 (m, k), all possible vectors.
    weights : float64 (m,), non-negative.
    unit : unit of which the quantities are multiples.
    """

    def __init__(self, rows: Whole, weights: Array, *, unit: float = 1.0) -> None:
        self.rows, self.weights, self.unit = rows, weights / weights.sum(), unit

    def sum_of(self, places: Places) -> Window:
        """Return the distribution of the sum of the counts at several distinct positions."""
        values = self.rows[:, list(places)].sum(axis=1)
        first = int(values.min())
        return Window(first, np.asarray(np.bincount(values - first, self.weights), dtype=np.float64))

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Return the joint distribution of two sums over disjoint sets of quantities."""
        s, t = (self.rows[:, list(places)].sum(axis=1) for places in (first, second))
        listed = np.zeros((int(s.max() - s.min()) + 1, int(t.max() - t.min()) + 1))
        np.add.at(listed, (s - s.min(), t - t.min()), self.weights)
        window_pair = Window(int(s.min()), listed.sum(axis=1)), Window(int(t.min()), listed.sum(axis=0))
        return Pair(*window_pair, None, listed)

    def difference_of(self, first: Places, second: Places) -> Window:
        """Return the distribution of the difference between two sums of counts over disjoint sets of positions."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors of the values at the positions `places`, as an array of shape (size, number of
        positions).
        """
        below = np.cumsum(self.weights)
        picked = np.searchsorted(below[:-1], rng.random(size) * below[-1], side="right")
        return np.asarray(self.rows[picked][:, list(places)])


FEWEST = 64  # smallest number of counts for which the Fourier sum has fewer terms than convolutions
MANY = 1000  # smallest number of counts with separate weights whose marginal distributions are all Fourier sums
# rounding error of a transform relative to the largest weight; smaller weights at the ends are truncated
_NEGLIGIBLE = 3e-15
_LEVEL = 1e-3  # smallest weight of a tie with absolute accuracy, relative to the largest, ..
_UNEVEN = 4  # largest ratio of the largest and the mean number of values of a count, for Fourier sums of all counts
_SEEN = 1e-10  # .. at all values of a count with more than this weight
_FAINT, _CLEAR = 1e-120, 1e-60  # smallest entry of a message, and smallest largest entry, relative to all sums


class Incompatible(ValueError):
    """Error that is raised if the counts and the weights of their sum are inconsistent."""


class Coupled:
    """Joint distribution of counts n_i with a weight a_i for each count and a weight g for their sum. The probability
    P(n) is proportional to prod_i a_i(n_i) g(sum n).

    Parameters
    ----------
    factors : weights a_i, one per count; tilted so that the unconstrained sum is where `root` is large.
    root : weights g of the sum.
    unit : unit of which the quantities are multiples.
    which : int64 (counts,), position of the factor of each count, if several counts share a factor; None: every count
        has a separate factor.

    Notes
    -----
    Sums over neighbouring counts are stored in a binary tree, so a question about a few counts costs a few
    convolutions. If there are many counts, a question about up to four of them costs a Fourier sum. For `MANY` or more
    counts with separate weights, the tree is built only for draws and for sums of more counts, and small probabilities
    have the absolute accuracy of the largest.
    """

    def __init__(
        self, factors: Sequence[Window], root: Window, *, unit: float = 1.0, which: Whole | None = None
    ) -> None:
        self.root, self.unit = root, unit
        self.which = np.arange(len(factors)) if which is None else which
        self.size = len(self.which)
        self.shared = len(factors) < self.size
        if not self.shared:  # every count has a separate factor: the factors in the order of the counts
            factors, self.which = [factors[i] for i in self.which], np.arange(self.size)
        self._factors = [factor.trimmed() for factor in factors]
        self.total = _met(self.free, root)

    @cached_property
    def free(self) -> Window:
        """Weights of the possible sums of all counts, without the factor g(sum) by which each weight is multiplied in
        the joint distribution.
        """
        if self.shared:
            return self._kinds.free
        return self._levels[-1][0] if self._smooth is None else self._smooth[1]

    @cached_property
    def _smooth(self) -> tuple[SpectralTies, Window] | None:
        """Fourier sums of many counts with separate weights, and the weights of the sum of all counts. The value is
        None if there are few counts, or if the sum of the counts requires accurate tails.
        """
        widths = np.array([len(factor.weights) for factor in self._factors])
        if self.shared or self.size < MANY or self.size * widths.max() > _UNEVEN * widths.sum():
            return None
        try:
            spectrum = SpectralTies(self._factors, self.root, smooth=True)
        except Unlisted:
            return None
        free = spectrum.free().trimmed(_rounding(self.size))
        return (spectrum, free) if _level(free, self.root) > _LEVEL else None

    @cached_property
    def _levels(self) -> list[list[Window]]:
        """Levels of a binary tree of sums: the counts, the sums of pairs of counts, .., and the sum of all counts."""
        return _sums_of_pairs([self._factors[i] for i in self.which])

    @cached_property
    def _kinds(self) -> "_Kinds":
        """Sums of counts, with one sum for each group of counts whose factors are equal. The sums have only absolute
        accuracy if the factor g of the sum is largest where the weights are large.
        """
        times = np.bincount(self.which).tolist()
        rough = _Kinds(self._factors, times, tails=False)
        if _level(rough.free, self.root) > _LEVEL:
            return rough
        return _Kinds(self._factors, times, tails=True)

    @cached_property
    def _kind_ties(self) -> list[Window]:
        """Weights of the possible values of one count, for each group of counts with equal factors. They follow from
        all other counts and from the factor g of the sum.
        """
        ties = self._kinds.ties(self.root)
        if self._kinds.tails:
            return ties
        pairs = zip(ties, self._factors, strict=True)
        # absolute accuracy is sufficient
        if all(tie.weights[factor.weights > _SEEN].min() > _LEVEL for tie, factor in pairs):
            return ties
        return _Kinds(self._factors, np.bincount(self.which).tolist(), tails=True).ties(self.root)

    def singles(self, kinds: ArrayLike) -> list[Window]:
        """Return, for each given kind of count, the marginal distribution of a single count of this kind. The weights
        of the counts of a kind are the factor at this position in the list of factors.

        Parameters
        ----------
        kinds : int (n,), positions of factors.
        """
        rows = np.asarray(kinds, dtype=np.int64)
        found = [None] * len(rows) if self._smooth is None else self._smooth[0].singles(rows)
        return [self._single(int(kind)) if law is None else law for kind, law in zip(rows, found, strict=True)]

    def _single(self, kind: int) -> Window:
        return _met(self._factors[kind], self._kind_ties[kind] if self.shared else self._ties[kind])

    def sum_of(self, places: Places) -> Window:
        """Return the distribution of the sum of the counts at several distinct positions."""
        if len(places) == 1:
            return self.singles([self.which[places[0]]])[0]
        free_sum = self._free_sum(set(places), inside=True)
        return _met(free_sum, self._tie(places, free_sum.first, free_sum.last))

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Return the joint distribution of two sums over disjoint sets of quantities."""
        one, two = self._free_sum(set(first), inside=True), self._free_sum(set(second), inside=True)
        return Pair(one, two, self._tie([*first, *second], one.first + two.first, one.last + two.last))

    def difference_of(self, first: Places, second: Places) -> Window:
        """Return the distribution of the difference between two sums of counts over disjoint sets of positions."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors of the values at the positions `places`, as an array of shape (size, number of
        positions). The sum is drawn first, then its parts, from the top of the tree downwards and only where they are
        needed.
        """
        if not len(places):
            return np.empty((size, 0), dtype=np.int64)
        sums = {0: drawn(self.total, size, rng)}
        for level in range(len(self._levels) - 2, -1, -1):
            row, parents = self._levels[level], sums
            sums = {}
            for i in sorted({place >> level for place in places}):
                whole, pair = parents[i // 2], i ^ 1
                if pair == len(row):
                    sums[i] = whole
                elif i not in sums:
                    left = _split(row[i & ~1], row[i | 1], whole, rng)
                    sums |= {i & ~1: left, i | 1: whole - left}
        return np.stack([sums[i] for i in places], axis=1)

    def scaled(self, unit: float) -> "Coupled":
        """Return the joint distribution of the same counts, with each count multiplied by a new factor (the unit). For
        example, the unit 1/total gives shares.
        """
        same = copy(self)
        same.unit = unit
        return same

    def with_sum_from(self, least: int) -> "Coupled":
        """Return the joint distribution of the same counts, given that their sum is at least `least`."""
        root = self.root.within(least, self.root.last).trimmed()
        return Coupled(self._factors, root, unit=self.unit, which=self.which)

    @cached_property
    def _ties(self) -> list[Window]:
        """Compute the weights of the possible values of every count. The weights follow from the distributions of all
        other counts and from the weight g on the sum of all counts. The computation starts at the top of the tree.
        """
        return _ties(self._levels, self.root)

    def beside(self, place: int) -> tuple[Window, Window]:
        """Return the weights of the possible values of one count, and of the possible sums of all other counts."""
        return self.own(place), self._others[place]

    def own(self, place: int) -> Window:
        """Return the weights of the possible values of one count, without the factor for the sum of all counts."""
        return self._factors[int(self.which[place])]

    @cached_property
    def _others(self) -> list[Window]:
        """Compute, for every count, the weights of the sum of all other counts, in one pass downwards through the
        binary tree of partial sums.
        """
        sums = [Window(0, np.ones(1))]
        for row in steps(reversed(self._levels[:-1]), len(self._levels) - 1, "levels of sums"):
            below = []
            for i, window in enumerate(row):
                pair = i ^ 1
                whole = added(sums[i // 2], row[pair]) if pair < len(row) else sums[i // 2]
                below.append(whole.within(self.root.first - window.last, self.root.last - window.first))
            sums = below
        return sums

    def _tie(self, places: Places, low: int, high: int) -> Window:
        """Return the weights of the values from `low` to `high` of the sum of the counts at the positions `places`. The
        weights follow from the distributions of all other counts and from the weight g on the sum of all counts.
        """
        if len(places) <= MOST and self._spectrum is not None:
            tie = self._spectrum.tie(places, low, high)
            if tie is not None:
                return tie
        rest = self._free_sum(set(places), inside=False)
        return added(self.root, rest.reflected())

    @cached_property
    def _spectrum(self) -> SpectralTies | None:
        """Return the solver for questions about a small subset of many counts. Return None if the number of counts is
        small or if the counts have too many possible values.
        """
        if self._smooth is not None:
            return self._smooth[0]
        try:
            return SpectralTies([self._factors[i] for i in self.which], self.root) if self.size >= FEWEST else None
        except Unlisted:
            return None

    def _free_sum(self, places: set[int], *, inside: bool) -> Window:
        """Return the weights of the sum of the counts at `places`, or of the sum of all other counts, without the
        factor g(total) of the joint distribution. The sum is built from the largest nodes that fit.
        """
        if inside and len(places) == 1:
            return self._factors[int(self.which[next(iter(places))])]
        parts: list[Window] = []

        def collect(level: int, i: int) -> None:
            first, last = i << level, min((i + 1) << level, self.size)
            inside_count = (
                sum(p in places for p in range(first, last)) if last - first < 64 else _between(ordered, first, last)
            )
            wanted = inside_count if inside else last - first - inside_count
            if wanted == last - first:
                parts.append(self._levels[level][i])
            elif wanted:
                for child in (2 * i, 2 * i + 1):
                    if child < len(self._levels[level - 1]):
                        collect(level - 1, child)

        ordered = np.array(sorted(places), dtype=np.int64)
        collect(len(self._levels) - 1, 0)
        return added_up(parts)


def _level(free: Window, root: Window) -> float:
    """Return the largest product of the weights of a sum under two sequences of weights, relative to the product of
    their largest weights.
    """
    products = free.weights * root.at(free.first, len(free.weights))
    return float(products.max() / (free.weights.max() * root.weights.max()))


def _rounding(size: int) -> float:
    """Return the rounding error, relative to the largest weight, of the distribution of a sum of many counts that is
    computed by one Fourier transform.
    """
    return max(_NEGLIGIBLE, 4e-16 * size)


def _between(ordered: Whole, first: int, last: int) -> int:
    return int(np.searchsorted(ordered, last) - np.searchsorted(ordered, first))


def _message(tie: Window, sibling: Window, own: Window, *, tails: bool = True) -> Window:
    """Return the weights of one integer-valued quantity, given the weights `tie` of the sum of this quantity and a
    second quantity.
    """
    size = len(own.weights) + len(sibling.weights) - 1
    weights = _correlated(tie.at(own.first + sibling.first, size), sibling.weights, len(own.weights), tails=tails)
    return Window(own.first, weights / max(float(weights.max()), np.finfo(float).tiny))


class _Kinds:
    """Distributions of sums of many independent counts that have only a few different distributions (factors). They are
    computed from convolution powers of the factors and from convolutions of these powers.

    Parameters
    ----------
    factors : weights of one count of each kind.
    times : number of counts of each kind, at least 1.
    tails : whether small weights have small relative errors; otherwise, all weights have the absolute accuracy of the
        largest, 1e-12, at a fraction of the time.
    """

    def __init__(self, factors: Sequence[Window], times: Sequence[int], *, tails: bool) -> None:
        self.factors, self.tails = factors, tails
        # all other counts of the same kind
        self.others = [self._power(factor, n - 1) for factor, n in zip(factors, times, strict=True)]
        self.levels = [[self._added(*pair) for pair in zip(factors, self.others, strict=True)]]
        while len(self.levels[-1]) > 1:
            row = self.levels[-1]
            self.levels.append([reduce(self._added, row[i : i + 2]) for i in range(0, len(row), 2)])
        self.free = self.levels[-1][0]

    def ties(self, root: Window) -> list[Window]:
        """Return, for each kind of count, the weights of all possible values of a single count of this kind. Counts of
        one kind have equal factors. The weights follow from the factors of all other counts and from the weight g on
        the sum of all counts.
        """
        ties = _ties(self.levels, root, tails=self.tails)
        rows = zip(ties, self.others, self.factors, strict=True)
        return [_message(tie, others, factor, tails=self.tails) for tie, others, factor in rows]

    def _power(self, factor: Window, times: int) -> Window:
        """Return the weights of the sum of `times` independent counts with identical weights, computed by repeated
        doubling.
        """
        power, doubled = Window(0, np.ones(1)), factor
        while times:
            if times % 2:
                power = self._added(power, doubled)
            times //= 2
            if times:
                doubled = self._added(doubled, doubled)
        return power

    def _added(self, a: Window, b: Window) -> Window:
        if self.tails or len(a.weights) * len(b.weights) <= BRIEF:
            return added(a, b)
        return Window(a.first + b.first, convolved_once(a.weights, b.weights)).trimmed(_NEGLIGIBLE)


def free_sum(factors: Sequence[Window], which: Whole, *, tails: bool = True) -> Window:
    """Return the weights of the sum of independent counts, many of which may have the same weights.

    Parameters
    ----------
    factors : weights of the counts.
    which : int64 (counts,), position of the factor of each count.
    tails : whether small weights have small relative errors; otherwise, the weights of `MANY` or more counts have the
        absolute accuracy of the largest, at a fraction of the time.

    Returns
    -------
    Window
    """
    if len(factors) < len(which):
        return _Kinds([factor.trimmed() for factor in factors], np.bincount(which).tolist(), tails=tails).free
    if not tails and len(which) >= MANY:
        try:
            return SpectralTies([factors[i] for i in which], None, smooth=True).free().trimmed(_rounding(len(which)))
        except Unlisted:
            pass  # the sum has too many values for one transform
    return added_up([factors[i] for i in which])


def _sums_of_pairs(parts: list[Window]) -> list[list[Window]]:
    """Return the levels of a binary tree of sums: the parts, the sums of pairs of adjacent parts, .., and the sum of
    all parts.
    """
    levels = [parts]
    for _ in steps(range((len(parts) - 1).bit_length()), (len(parts) - 1).bit_length(), "levels of sums"):
        row = levels[-1]
        levels.append([added_up(row[i : i + 2]) for i in range(0, len(row), 2)])
    return levels


def _ties(levels: list[list[Window]], root: Window, *, tails: bool = True) -> list[Window]:
    """Return weights for the values of every partial sum in a binary tree of sums. The weights follow from the
    distributions of the counts outside the partial sum and from the weight g on the total sum.
    """
    ties = [_message(root, Window(0, np.ones(1)), levels[-1][0], tails=tails)]
    for row in steps(reversed(levels[:-1]), len(levels) - 1, "levels of sums"):
        below = []
        for i, window in enumerate(row):
            pair = i ^ 1
            parent = ties[i // 2]
            below.append(_message(parent, row[pair], window, tails=tails) if pair < len(row) else parent)
        ties = below
    return ties


def _correlated(along: Array, weights: Array, size: int, *, tails: bool = True) -> Array:
    """Return the cross-correlation sum_r along(k + r) weights(r) of two arrays, for every k from 0 to size - 1. If
    `tails` is true, every entry has a small relative error.
    """
    seen = np.flatnonzero(along)
    if not len(seen) * len(weights):
        return np.zeros(size)
    first, last = int(seen[0]), int(seen[-1])
    parts = along[first : last + 1], np.ascontiguousarray(weights[::-1])
    whole = convolved(*parts, smallest=_FAINT) if tails else convolved_once(*parts)
    correlation = Window(first - len(weights) + 1, whole).at(0, size)
    if correlation.max() > _CLEAR * whole.max() or not tails:
        return correlation
    return np.convolve(along, weights[::-1], mode="valid")  # all needed entries are far smaller than the other entries


def _met(own: Window, tie: Window) -> Window:
    """Return the elementwise product of two weight sequences of the same quantity, normalised to a sum of 1."""
    weights = own.weights * tie.at(own.first, len(own.weights))
    if not weights.max() > 0:
        raise Incompatible(
            f"the counts and the information on their sum contradict each other ({own.first} to {own.last} according "
            f"to the counts, {tie.first} to {tie.last} according to the sum): check the counts and the total"
        )
    return Window(own.first, weights / weights.sum())


def _split(left: Window, right: Window, whole: Whole, rng: np.random.Generator) -> Whole:
    """Draw the first of two independent random integers given their sum, for each of several observed sums. Draws with
    the same sum are processed together.
    """
    u, out = rng.random(len(whole)), np.empty_like(whole)
    order = np.argsort(whole, kind="stable")
    values, starts = np.unique(whole[order], return_index=True)
    for value, rows in zip(values, np.split(order, starts[1:]), strict=True):
        low, high = max(left.first, int(value) - right.last), min(left.last, int(value) - right.first)
        weights = left.weights[low - left.first : high - left.first + 1]
        other = right.weights[int(value) - high - right.first : int(value) - low - right.first + 1]
        below = np.cumsum(weights * other[::-1])
        out[rows] = low + np.searchsorted(below[:-1], u[rows] * below[-1], side="right")
    return out
