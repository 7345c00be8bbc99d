"""Joint distributions of counts (independent, listed, or independent except for a weight on their sum, see `coupled`),
distributions of sums, and draws.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from .. import _checks
from .distributions import Discrete
from .integers import Array, Whole, Window, added, added_up, drawn, window_of

Places = Sequence[int]


def tied_differences(first: ArrayLike, second: ArrayLike, tie: ArrayLike) -> Array:
    """Compute the weights of the difference i - j, where (i, j) has the weight first[i] second[j] tie[i + j].

    Parameters
    ----------
    first : float64 (m,), m >= 1.
    second : float64 (n,), n >= 1.
    tie : float64 (m + n - 1,), weights of the sums 0, 1, ..

    Returns
    -------
    out : float64 (m + n - 1,), weights of the differences -(n - 1)..m - 1. They are sums of products, so small weights
        have full relative accuracy if all weights are nonnegative. O(m n) time, O(m + n) memory.

    Raises
    ------
    ValueError, TypeError
        If an argument is empty, not one-dimensional or not finite, or if `tie` has another size.
    """
    a, b, g = _checks.reals("first", first), _checks.reals("second", second), _checks.reals("tie", tie)
    if len(g) != len(a) + len(b) - 1:
        raise ValueError(f"tie must have {len(a) + len(b) - 1} entries, one per sum, got {len(g)}")
    columns, downwards, sums_downwards = len(b), np.ascontiguousarray(b[::-1]), np.ascontiguousarray(g[::-1])
    out, terms, places = np.zeros(len(g)), np.empty(columns), np.flatnonzero(a)
    for i, weight in zip(places.tolist(), a[places].tolist(), strict=True):
        # in row i, j decreases from n - 1 to 0, so that i - j and i + j both move by one index
        first = len(g) - i - columns  # position of the sum i + n - 1 among the sums in decreasing order
        np.multiply(downwards, sums_downwards[first : first + columns], out=terms)
        np.multiply(terms, weight, out=terms)
        row = out[i : i + columns]
        np.add(row, terms, out=row)
    return out


@dataclass(frozen=True)
class Pair:
    """Joint distribution of two integers s, t: proportional to first(s) second(t) tie(s + t), or listed.

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
        """Return the probabilities, (values of the first, values of the second)."""
        if self.listed is not None:
            return np.asarray(self.listed / self.listed.sum())
        weights, low = np.outer(self.first.weights, self.second.weights), self.first.first + self.second.first
        if self.tie is not None:
            weights *= sliding_window_view(self.tie.at(low, sum(weights.shape) - 1), weights.shape[1])
        return np.asarray(weights / weights.sum())

    def difference(self) -> Window:
        """Return the distribution of s - t."""
        if self.tie is None and self.listed is None:
            return added(self.first, self.second.reflected()).normalised()
        rows, columns = len(self.first.weights), len(self.second.weights)
        if self.listed is None and self.tie is not None:
            along = self.tie.at(self.first.first + self.second.first, rows + columns - 1)
            sums = tied_differences(self.first.weights, self.second.weights, along)
            return Window(self.first.first - self.second.last, sums).normalised()
        wide = np.pad(self.matrix()[:, ::-1], ((0, 0), (0, rows)))  # in rows shorter by one, row i moves by i columns
        sums = wide.ravel()[: rows * (columns + rows - 1)].reshape(rows, -1).sum(axis=0)
        return Window(self.first.first - self.second.last, sums)


class Together(Protocol):
    """Interface of integers whose joint distribution is known.

    ``unit``      unit of which a quantity is a multiple: 1 for counts, 1/total for shares of a public total
    ``pair_of``   joint distribution of two sums; None if it is not a `Pair`

    Methods raise `integers.Unlisted` for a distribution that is too large to be listed.
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
        """Return the distribution of one number."""
        if place not in self._windows:
            law = self.law(place)
            values = np.rint(law.values / self.unit).astype(np.int64)
            self._windows[place] = window_of(values, law.probabilities)
        return self._windows[place]

    def sum_of(self, places: Places) -> Window:
        """Return the distribution of the sum of the numbers at several different positions."""
        return added_up([self.window(i) for i in places]).normalised()

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Return the joint distribution of two sums of numbers at different positions."""
        return Pair(self.sum_of(first), self.sum_of(second), None)

    def difference_of(self, first: Places, second: Places) -> Window:
        """Return the distribution of the difference of two sums of numbers at different positions."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors, (size, places)."""
        out = np.empty((size, len(places)), dtype=np.int64)
        for column, place in enumerate(places):
            out[:, column] = drawn(self.window(place), size, rng)
        return out


class Enumerated:
    """Counts whose possible vectors are listed.

    Parameters
    ----------
    rows : int64 (m, k), all possible vectors.
    weights : float64 (m,), non-negative.
    unit : unit of which the quantities are multiples.
    """

    def __init__(self, rows: Whole, weights: Array, *, unit: float = 1.0) -> None:
        self.rows, self.weights, self.unit = rows, weights / weights.sum(), unit

    def sum_of(self, places: Places) -> Window:
        """Return the distribution of the sum of the numbers at several different positions."""
        values = self.rows[:, list(places)].sum(axis=1)
        first = int(values.min())
        return Window(first, np.asarray(np.bincount(values - first, self.weights), dtype=np.float64))

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Return the joint distribution of two sums of numbers at different positions."""
        s, t = (self.rows[:, list(places)].sum(axis=1) for places in (first, second))
        listed = np.zeros((int(s.max() - s.min()) + 1, int(t.max() - t.min()) + 1))
        np.add.at(listed, (s - s.min(), t - t.min()), self.weights)
        window_pair = Window(int(s.min()), listed.sum(axis=1)), Window(int(t.min()), listed.sum(axis=0))
        return Pair(*window_pair, None, listed)

    def difference_of(self, first: Places, second: Places) -> Window:
        """Return the distribution of the difference of two sums of numbers at different positions."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors, (size, places)."""
        below = np.cumsum(self.weights)
        found = np.searchsorted(below[:-1], rng.random(size) * below[-1], side="right")
        return np.asarray(self.rows[found][:, list(places)])
