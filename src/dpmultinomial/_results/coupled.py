"""Counts that are independent except for a weight on their sum: distributions of sums and pairs, and draws, by a binary
tree of sums.

If there are many counts, the distribution of a few of them is computed by Fourier sums over the frequencies with
non-negligible terms.
matter.

With p_k the distribution of count k and g the weight on the sum of all counts, the weight of a sum u of a few counts P
is

    tie(u) = sum_N g(N) P(sum of all others = N - u) = 1/L sum_m exp(-i w_m u) conj(G(w_m)) prod_(k not in P) F_k(w_m)

over the frequencies w_m = 2 pi m/L, where F and G are the transforms of p and g. A sum of many counts is smooth: its
transform is negligible except at about a hundred frequencies, so one tie costs about a hundred terms, compared with
millions for convolutions.
"""

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from .integers import Array, Unlisted, Whole, Window, added, added_up, drawn
from .joint import Pair, Places

FEWEST = 64  # number of counts from which the Fourier sum has fewer terms than convolutions
MOST = 4  # largest number of counts whose sum is computed by Fourier sums
_SOME = 256  # number of counts from which the frequencies are selected first
_NOTHING = 1e-18  # negligible size of a term, relative to the term at frequency 0
_FLAT = 0.01  # smallest usable tie, relative to the sum of the absolute terms: cancellation costs at most two digits
_LARGEST = 4_000_000  # largest number of entries of a table of transforms
_LONGEST = 250_000  # largest number of distinct values of a sum
Complex = NDArray[np.complex128]


class Incompatible(ValueError):
    """Raised if the counts and the weights of their sum are inconsistent."""


class SpectralTies:
    """Ties of a few counts: the weights of their sum given all other counts and the weight on the total.

    Parameters
    ----------
    factors : weights of the counts, at least `FEWEST` of them.
    root : weights of the sum of all counts, with the same tilt as the factors.
    free : weights of the sum of all factors, without the weights in `root`.

    Raises
    ------
    Unlisted
        If the sum has too many values.
    """

    def __init__(self, factors: Sequence[Window], root: Window, free: Window) -> None:
        self.root, self.firsts = root, np.array([factor.first for factor in factors], dtype=np.int64)
        widest = max(len(factor.weights) for factor in factors)
        span = max(root.last - free.first, free.last - root.first, free.last - free.first) + MOST * widest
        self.length = next_fast_len(int(2 * span + 1), real=True)  # no two possible sums differ by a multiple of it
        if self.length > _LONGEST:
            raise Unlisted(f"the sum has {self.length} values, too many to list")
        normed = [factor.weights / factor.weights.sum() for factor in factors]
        judges = min(len(normed), _SOME, _LARGEST // self.length)
        sampled = np.linspace(0, len(normed) - 1, judges).round().astype(int)
        sizes = np.abs(np.fft.rfft(_padded([normed[i] for i in sampled]), self.length, axis=1))
        whole = np.fft.rfft(root.weights, self.length)
        most = _without(np.log(np.maximum(sizes, 1e-300))) + np.log(np.maximum(np.abs(whole) / whole[0].real, 1e-300))
        kept = np.flatnonzero(most > np.log(_NOTHING))
        self.dropped = 2 * float(np.exp(np.delete(most, kept)).sum())
        found = _padded(normed) @ self._waves(kept, widest)
        actual = _without(np.log(np.maximum(np.abs(found), 1e-300))) + np.log(np.abs(whole[kept]) / whole[0].real)
        good = actual > np.log(_NOTHING)
        self.dropped += 2 * float(np.exp(actual[~good]).sum())
        self.frequencies = kept[good]
        self.logs = np.log(np.where(found == 0, 1e-300, found)[:, good])  # subtracted in this form later
        twice = np.where((self.frequencies == 0) | (2 * self.frequencies == self.length), 1.0, 2.0)
        self.ends = twice * np.conj(whole[self.frequencies]) / whole[0].real
        self.all_logs = self.logs.sum(axis=0)
        self.waves = self._waves(self.frequencies, min(MOST * widest, _LARGEST // (2 * len(self.frequencies))))

    def tie(self, places: Sequence[int], low: int, high: int) -> Window | None:
        """Return the weights of the sums low..high over `places`, up to a factor; None if the frequencies do not
        determine them to 1e-12.

        Parameters
        ----------
        places : distinct positions, at most `MOST`.
        low, high : ends of the window.
        """
        members = list(places)
        if high - low + 1 > len(self.waves):
            return None
        shift = low + int(self.firsts.sum() - self.firsts[members].sum()) - self.root.first
        terms = self.ends * np.exp(self.all_logs - self.logs[members].sum(axis=0))
        turned = terms * np.exp(-2j * np.pi / self.length * (self.frequencies * shift % self.length))
        weights: Array = np.einsum(
            "um,m->u", self.waves[: high - low + 1], turned
        ).real  # small arrays: a BLAS call would start threads
        sizes = float(np.abs(terms).sum())
        if weights.min() >= _FLAT * sizes and self.dropped <= 1e-13 * _FLAT * sizes:
            return Window(low, weights / weights.max())
        return None

    def _waves(self, frequencies: NDArray[np.int64], size: int) -> Complex:
        """Return exp(-i w y) for y = 0..size - 1, (size, frequencies)."""
        turns = np.outer(np.arange(size), frequencies) % self.length
        return np.asarray(np.exp(-2j * np.pi / self.length * turns))


def _padded(weights: Sequence[Array]) -> Array:
    out = np.zeros((len(weights), max(len(row_weights) for row_weights in weights)))
    for row, row_weights in zip(out, weights, strict=True):
        row[: len(row_weights)] = row_weights
    return out


def _without(logs: Array) -> Array:
    """Sum the logs over counts at each frequency, without the `MOST` smallest: an upper bound if any few counts are
    omitted.
    """
    return np.asarray(logs.sum(axis=0) - np.partition(logs, MOST, axis=0)[:MOST].sum(axis=0))


class Coupled:
    """Joint distribution of counts with individual weights and a weight on their sum: P(n) proportional to prod_i
    a_i(n_i) g(sum n).

    Parameters
    ----------
    factors : weights a_i, one per count; tilted so that the unconstrained sum is where `root` is large.
    root : weights g of the sum.
    unit : unit of which the quantities are multiples.

    Notes
    -----
    Sums over neighbouring counts are stored in a binary tree, so a question about a few counts costs a few
    convolutions. If there are many counts, a question about up to four of them costs a Fourier sum.
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
        """Return the distribution of the sum of the numbers at several different positions."""
        if len(places) == 1:
            return _met(self._levels[0][places[0]], self._ties[places[0]])
        free_sum = self._free_sum(set(places), inside=True)
        return _met(free_sum, self._tie(places, free_sum.first, free_sum.last))

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Return the joint distribution of two sums of numbers at different positions."""
        one, two = self._free_sum(set(first), inside=True), self._free_sum(set(second), inside=True)
        return Pair(one, two, self._tie([*first, *second], one.first + two.first, one.last + two.last))

    def difference_of(self, first: Places, second: Places) -> Window:
        """Return the distribution of the difference of two sums of numbers at different positions."""
        return self.pair_of(first, second).difference()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors, (size, places): first the sum, then its parts, from the top of the tree downwards,
        only where they are needed.
        """
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
        """Return the same numbers as multiples of another unit."""
        same = copy(self)
        same.unit = unit
        return same

    @cached_property
    def _ties(self) -> list[Window]:
        """Compute for every count the weights of its values given all other counts and the root, from the top of the
        tree downwards.
        """
        ties = [_message(self.root, Window(0, np.ones(1)), self._levels[-1][0])]
        for row in reversed(self._levels[:-1]):
            below = []
            for i, window in enumerate(row):
                pair = i ^ 1
                parent = ties[i // 2]
                below.append(_message(parent, row[pair], window) if pair < len(row) else parent)
            ties = below
        return ties

    def beside(self, place: int) -> tuple[Window, Window]:
        """Return the weights of one count, and those of the sum of all other counts over the range that is needed for
        its values and the root.
        """
        return self._levels[0][place], self._others[place]

    @cached_property
    def _others(self) -> list[Window]:
        """Compute for every count the weights of the sum of all other counts, from the top of the tree downwards."""
        sums = [Window(0, np.ones(1))]
        for row in reversed(self._levels[:-1]):
            below = []
            for i, window in enumerate(row):
                pair = i ^ 1
                whole = added(sums[i // 2], row[pair]) if pair < len(row) else sums[i // 2]
                below.append(whole.within(self.root.first - window.last, self.root.last - window.first))
            sums = below
        return sums

    def _tie(self, places: Places, low: int, high: int) -> Window:
        """Return the weights of the sums low..high over `places` given all other counts and the root."""
        if len(places) <= MOST and self._spectrum is not None:
            found = self._spectrum.tie(places, low, high)
            if found is not None:
                return found
        rest = self._free_sum(set(places), inside=False)
        return added(self.root, rest.reflected())

    @cached_property
    def _spectrum(self) -> SpectralTies | None:
        """Return the solver for questions about a few of many counts; None if there are few counts, or too
        many values.
        """
        try:
            many = self.size >= FEWEST
            return SpectralTies(self._levels[0], self.root, self.free) if many else None
        except Unlisted:
            return None

    def _free_sum(self, places: set[int], *, inside: bool) -> Window:
        """Return the weights of the sum over `places`, or over all other places, without the root, from the largest
        nodes that fit.
        """
        if inside and len(places) == 1:
            return self._levels[0][next(iter(places))]
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


def _between(ordered: Whole, first: int, last: int) -> int:
    return int(np.searchsorted(ordered, last) - np.searchsorted(ordered, first))


def _message(tie: Window, sibling: Window, own: Window) -> Window:
    """Return the weights of one number over its window, from a tie on its sum with a sibling."""
    size = len(own.weights) + len(sibling.weights) - 1
    along = tie.at(own.first + sibling.first, size)
    weights = np.convolve(along, sibling.weights[::-1], mode="valid")
    return Window(own.first, weights / max(float(weights.max()), np.finfo(float).tiny))


def _met(own: Window, tie: Window) -> Window:
    """Return the product of two weights of the same number, normalised to sum 1."""
    weights = own.weights * tie.at(own.first, len(own.weights))
    if not weights.max() > 0:
        raise Incompatible("the counts and the information on their sum are incompatible")
    return Window(own.first, weights / weights.sum())


def _split(left: Window, right: Window, whole: Whole, rng: np.random.Generator) -> Whole:
    """Draw the left part of each sum; draws with the same sum are handled together."""
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
