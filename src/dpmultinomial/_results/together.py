"""How counts hang together: independent, or independent up to a weight on their sum. Laws of sums, pairs and draws."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .laws import Discrete
from .whole import Array, Window, added, added_up, window_of

Places = Sequence[int]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Pair:
    """Joint law of two whole numbers s, t: proportional to first(s) second(t) tie(s + t), or listed.

    Parameters
    ----------
    first, second : weights of either.
    tie : weights of their sum; None where they are independent.
    listed : float64 (values of the first, values of the second), the weights where they have no such form.
    """

    first: Window
    second: Window
    tie: Window | None
    listed: Array | None = None

    def matrix(self) -> Array:
        """Probabilities, (values of the first, values of the second)."""
        if self.listed is not None:
            return np.asarray(self.listed / self.listed.sum())
        weights = np.outer(self.first.weights, self.second.weights)
        if self.tie is not None:
            size = sum(weights.shape) - 1
            along = self.tie.at(self.first.first + self.second.first, size)
            weights *= along[np.add.outer(np.arange(weights.shape[0]), np.arange(weights.shape[1]))]
        return np.asarray(weights / weights.sum())

    def difference(self) -> Window:
        """Law of s - t."""
        if self.tie is None and self.listed is None:
            return added(self.first, self.second.reflected()).normalised()
        weights = self.matrix()[:, ::-1]
        place = np.add.outer(np.arange(weights.shape[0]), np.arange(weights.shape[1]))
        sums = np.asarray(np.bincount(place.ravel(), weights.ravel()), dtype=np.float64)
        return Window(self.first.first - self.second.last, sums)


class Together(Protocol):
    """Whole numbers whose joint law is known.

    ``unit``      what a quantity is a multiple of: 1 for counts, 1/total for shares of a public total
    ``pair_of``   joint law of two sums; None where it is not one of `Pair`
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
    law : position -> its law, on whole numbers times `unit`.
    unit : what the quantities are multiples of.
    """

    def __init__(self, law: Callable[[int], Discrete], *, unit: float = 1.0) -> None:
        self.law, self.unit = law, unit
        self._windows: dict[int, Window] = {}

    def window(self, place: int) -> Window:
        """Law of one number."""
        if place not in self._windows:
            law = self.law(place)
            values = np.rint(law.values / self.unit).astype(np.int64)
            self._windows[place] = window_of(values, law.probabilities)
        return self._windows[place]

    def sum_of(self, places: Places) -> Window:
        """Law of the sum of the numbers at different places."""
        return added_up([self.window(i) for i in places]).normalised()

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Joint law of two sums over different places."""
        return Pair(self.sum_of(first), self.sum_of(second), None)

    def difference_of(self, first: Places, second: Places) -> Window:
        """Law of the difference of two sums over different places."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Independent draws, (size, places)."""
        out = np.empty((size, len(places)), dtype=np.int64)
        for column, place in enumerate(places):
            out[:, column] = drawn(self.window(place), size, rng)
        return out


class Coupled:
    """Counts with weights of their own and a weight on their sum: P(n) proportional to prod_i a_i(n_i) g(sum n).

    Parameters
    ----------
    factors : weights a_i, one a count; tilted so that their free sum lies where `root` is large.
    root : weights g of the sum.
    unit : what the quantities are multiples of.

    Notes
    -----
    Sums over neighbours are kept in a binary tree, so that a question about few counts costs few convolutions.
    """

    def __init__(self, factors: Sequence[Window], root: Window, *, unit: float = 1.0) -> None:
        self.root, self.unit, self.size = root, unit, len(factors)
        self._levels = [[factor.trimmed() for factor in factors]]
        while len(self._levels[-1]) > 1:
            row = self._levels[-1]
            self._levels.append([added_up(row[i : i + 2]) for i in range(0, len(row), 2)])
        self.free = self._levels[-1][0]  # weights of the sum without the root
        self.total = _met(self.free, root)

    def sum_of(self, places: Places) -> Window:
        """Law of the sum of the numbers at different places."""
        if len(places) == 1:
            return _met(self._levels[0][places[0]], self._ties[places[0]])
        own = self._free_sum(set(places), inside=True)
        return _met(own, self._tie(set(places)))

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Joint law of two sums over different places."""
        one, two = self._free_sum(set(first), inside=True), self._free_sum(set(second), inside=True)
        return Pair(one, two, self._tie({*first, *second}))

    def difference_of(self, first: Places, second: Places) -> Window:
        """Law of the difference of two sums over different places."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Independent draws, (size, places): the sum, then its parts from the top of the tree down, where wanted."""
        if not len(places):
            return np.empty((size, 0), dtype=np.int64)
        found = {0: drawn(self.total, size, rng)}
        for level in range(len(self._levels) - 2, -1, -1):
            row, parents = self._levels[level], found
            found = {}
            for i in sorted({place >> level for place in places}):
                whole, pair = parents[i // 2], i ^ 1
                if pair == len(row):
                    found[i] = whole
                elif i not in found:
                    left = _split(row[i & ~1], row[i | 1], whole, rng)
                    found |= {i & ~1: left, i | 1: whole - left}
        return np.stack([found[i] for i in places], axis=1)

    def scaled(self, unit: float) -> "Coupled":
        """The same numbers as multiples of another unit."""
        same = copy(self)
        same.unit = unit
        return same

    @cached_property
    def _ties(self) -> list[Window]:
        """For every count the weights that all others and the root give its values: from the top of the tree down."""
        ties = [_message(self.root, Window(0, np.ones(1)), self._levels[-1][0])]
        for row in reversed(self._levels[:-1]):
            below = []
            for i, own in enumerate(row):
                pair = i ^ 1
                parent = ties[i // 2]
                below.append(_message(parent, row[pair], own) if pair < len(row) else parent)
            ties = below
        return ties

    def _tie(self, places: set[int]) -> Window:
        """Weights of the sum over `places`, by what all others and the root say."""
        rest = self._free_sum(places, inside=False)
        return added(self.root, rest.reflected())

    def _free_sum(self, places: set[int], *, inside: bool) -> Window:
        """Weights of the sum over `places`, or over all others, without the root: of the largest nodes that fit."""
        parts: list[Window] = []

        def collect(level: int, i: int) -> None:
            first, last = i << level, min((i + 1) << level, self.size)
            here = sum(p in places for p in range(first, last)) if last - first < 64 else _between(ordered, first, last)
            wanted = here if inside else last - first - here
            if wanted == last - first:
                parts.append(self._levels[level][i])
            elif wanted:
                for child in (2 * i, 2 * i + 1):
                    if child < len(self._levels[level - 1]):
                        collect(level - 1, child)

        ordered = np.array(sorted(places), dtype=np.int64)
        collect(len(self._levels) - 1, 0)
        return added_up(parts)


class Enumerated:
    """Counts whose possible vectors are listed.

    Parameters
    ----------
    rows : int64 (m, k), every vector.
    weights : float64 (m,), non-negative.
    unit : what the quantities are multiples of.
    """

    def __init__(self, rows: Whole, weights: Array, *, unit: float = 1.0) -> None:
        self.rows, self.weights, self.unit = rows, weights / weights.sum(), unit

    def sum_of(self, places: Places) -> Window:
        """Law of the sum of the numbers at different places."""
        values = self.rows[:, list(places)].sum(axis=1)
        first = int(values.min())
        return Window(first, np.asarray(np.bincount(values - first, self.weights), dtype=np.float64))

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Joint law of two sums over different places."""
        s, t = (self.rows[:, list(places)].sum(axis=1) for places in (first, second))
        listed = np.zeros((int(s.max() - s.min()) + 1, int(t.max() - t.min()) + 1))
        np.add.at(listed, (s - s.min(), t - t.min()), self.weights)
        own = Window(int(s.min()), listed.sum(axis=1)), Window(int(t.min()), listed.sum(axis=0))
        return Pair(*own, None, listed)

    def difference_of(self, first: Places, second: Places) -> Window:
        """Law of the difference of two sums over different places."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Independent draws, (size, places)."""
        below = np.cumsum(self.weights)
        found = np.searchsorted(below[:-1], rng.random(size) * below[-1], side="right")
        return np.asarray(self.rows[found][:, list(places)])


def _between(ordered: Whole, first: int, last: int) -> int:
    return int(np.searchsorted(ordered, last) - np.searchsorted(ordered, first))


def _message(tie: Window, sibling: Window, own: Window) -> Window:
    """Weights of a number by a tie on its sum with a sibling, over the number's own window."""
    size = len(own.weights) + len(sibling.weights) - 1
    along = tie.at(own.first + sibling.first, size)
    weights = np.convolve(along, sibling.weights[::-1], mode="valid")
    return Window(own.first, weights / max(float(weights.max()), np.finfo(float).tiny))


def _met(own: Window, tie: Window) -> Window:
    """Product of two weights of the same number."""
    weights = own.weights * tie.at(own.first, len(own.weights))
    if not weights.max() > 0:
        raise ValueError("the counts and what is known of their sum have nothing in common")
    return Window(own.first, weights / weights.sum())


def drawn(law: Window, size: int, rng: np.random.Generator) -> Whole:
    """Independent draws of one number.

    Parameters
    ----------
    law : of the number.
    size : how many.
    rng : numpy Generator, one uniform a draw.

    Returns
    -------
    int64 (size,)
    """
    below = np.cumsum(law.weights)
    return np.asarray(law.first + np.searchsorted(below[:-1], rng.random(size) * below[-1], side="right"))


def _split(left: Window, right: Window, whole: Whole, rng: np.random.Generator) -> Whole:
    """The left part of each sum, draws with the same sum together."""
    u, out = rng.random(len(whole)), np.empty_like(whole)
    order = np.argsort(whole, kind="stable")
    values, starts = np.unique(whole[order], return_index=True)
    for value, rows in zip(values, np.split(order, starts[1:]), strict=True):
        low, high = max(left.first, int(value) - right.last), min(left.last, int(value) - right.first)
        own = left.weights[low - left.first : high - left.first + 1]
        other = right.weights[int(value) - high - right.first : int(value) - low - right.first + 1]
        below = np.cumsum(own * other[::-1])
        out[rows] = low + np.searchsorted(below[:-1], u[rows] * below[-1], side="right")
    return out
