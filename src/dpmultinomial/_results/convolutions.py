"""Convolutions of non-negative weights with a small relative error in every entry, computed by tilted Fourier
transforms.

A Fourier transform gives all entries of a convolution the absolute error of the largest entry. Both factors are
therefore tilted by exp(theta s) first, so that the largest entry is where accuracy is needed, and the tilt is reversed
afterwards. A few tilts, from the largest entry outwards, give all entries down to a given fraction of the largest
entry.

The method makes no assumptions about the shape of the weights. An entry is taken from a transform only if it exceeds
`RELIABLE` times the product of the Euclidean norms of the tilted factors, because the rounding error of a transform is
a few units of 1e-16 of this product. Entries beyond the last accurate entry are neglected only if Chernoff's inequality
shows that all of them are small enough: entry x is at most A(theta) B(theta) exp(-theta x) for every theta, where A and
B are the sums of the tilted factors. If the tilts do not give an entry, the convolution is summed term by term.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
SMALLEST = 1e-40  # fraction of the largest weight; smaller weights at the ends are truncated, to keep long sums short
DIRECT = 20_000_000  # largest number of products for which the sum term by term is faster
BRIEF = 1_000_000  # the same for a single transform
RELIABLE = 1e-4  # smallest entry of a transform that is used, relative to the product of the norms: 12 digits
MOST_TILTS = 300  # number of tilts after which the convolution is summed term by term


def convolved(a: Array, b: Array, *, smallest: float, direct: int | None = None) -> Array:
    """Return the convolution of two sequences of weights.

    Parameters
    ----------
    a, b : float64 (m,) and (n,), non-negative, each with a positive entry.
    smallest : entries below this fraction of the largest entry may become 0.
    direct : number of products m n up to which the convolution is summed term by term; None: `DIRECT`.

    Returns
    -------
    float64 (m + n - 1,)
        Relative error at most 1e-11 in every entry above `smallest` times the largest and above 1e-300. The cost is
        O((m + n) log (m + n)) time for each tilt, O(m + n) memory; O(m n) time if the tilts do not cover all of these
        entries.
    """
    if len(a) * len(b) <= (DIRECT if direct is None else direct):
        return np.convolve(a, b)
    tilted = _Tilted(a, b).covered(smallest)
    return np.convolve(a, b) if tilted is None else tilted


def convolved_once(a: Array, b: Array) -> Array:
    """Return the convolution of two sequences of weights, computed by a single Fourier transform.

    Parameters
    ----------
    a, b : float64 (m,) and (n,), non-negative.

    Returns
    -------
    float64 (m + n - 1,)
        Non-negative; the absolute error of every entry is a few units of 1e-16 of the product of the Euclidean norms.
    """
    if len(a) * len(b) <= BRIEF:
        return np.convolve(a, b)
    length = next_fast_len(len(a) + len(b) - 1, real=True)
    sums = irfft(rfft(a, length) * rfft(b, length), length)[: len(a) + len(b) - 1]
    return np.asarray(np.maximum(sums, 0.0))


class _Tilted:
    """Logs of the entries of a convolution, computed with different exponential tilts for different entries."""

    def __init__(self, a: Array, b: Array) -> None:
        self.size = len(a) + len(b) - 1
        self.length = next_fast_len(self.size, real=True)
        with np.errstate(divide="ignore"):
            self.parts = [np.log(part / part.max()) for part in (a, b)]
        self.log_scale = float(np.log(a.max()) + np.log(b.max()))
        self.logs = np.full(self.size, -np.inf)

    def covered(self, smallest: float) -> Array | None:
        """Return the entries of the convolution as an array. The result is None if the tilted transforms do not yield
        all entries above `smallest` times the largest entry.
        """
        first, last, _ = self._covered_by(0.0, 0, self.size)
        if first is None or last is None:
            return None
        for side in (-1, 1):
            if not self._outwards(first, last, side, np.log(smallest)):
                return None
        return np.asarray(np.exp(self.logs + self.log_scale))

    def _outwards(self, first: int, last: int, side: int, log_smallest: float) -> bool:
        """Compute the entries of the convolution to the left of `first` or to the right of `last`, depending on `side`.
        Return whether all large entries on this side have been computed.
        """
        edge, inner, end = (first, last, 0) if side < 0 else (last, first, self.size - 1)
        for _ in range(MOST_TILTS):
            if edge == end:
                return True
            step = max(1, abs(edge - inner) // 100)
            theta = side * (self.logs[edge - side * step] - self.logs[edge]) / step
            low, high = (0, edge) if side < 0 else (edge + 1, self.size)
            near, far, log_bound = self._covered_by(theta, low, high, side)
            # every entry from the edge on is below this bound if the tilt points to the edge's side
            if side * theta > 0 and log_bound - theta * edge < self.logs.max() + log_smallest:
                return True
            if near is None or far is None:
                return False
            inner, edge = near, far
        return False

    def _covered_by(self, theta: float, low: int, high: int, side: int = 0) -> tuple[int | None, int | None, float]:
        """Compute the entries of the convolution from low to high - 1 for which the Fourier transform under one tilt is
        accurate.

        Returns
        -------
        (near, far, log_bound)
            The contiguous range that was filled: around the largest entry, or beginning at the end of low..high - 1
            that is nearest to the accurate entries; None if the range is empty. The last element is the log of the sum
            of the tilted convolution.
        """
        parts, shift = [], 0.0
        for logs in self.parts:
            tilted = logs + theta * np.arange(len(logs))
            shift += (highest := float(tilted.max()))
            parts.append(np.exp(tilted - highest))
        values = irfft(rfft(parts[0], self.length) * rfft(parts[1], self.length), self.length)[low:high]
        log_bound = shift + float(np.log(parts[0].sum()) + np.log(parts[1].sum()))
        least = RELIABLE * float(np.sqrt((parts[0] @ parts[0]) * (parts[1] @ parts[1])))
        bad = np.flatnonzero(values <= least)
        if side == 0:
            top = int(values.argmax())
            place = int(np.searchsorted(bad, top))
            first = int(bad[place - 1]) + 1 if place else 0
            last = int(bad[place]) - 1 if place < len(bad) else len(values) - 1
        elif side > 0:
            first, last = 0, int(bad[0]) - 1 if len(bad) else len(values) - 1
        else:
            first, last = int(bad[-1]) + 1 if len(bad) else 0, len(values) - 1
        if first > last:
            return None, None, log_bound
        filled = np.arange(first, last + 1)
        self.logs[low + filled] = np.log(values[filled]) + shift - theta * (low + filled)
        ends = (low + first, low + last)
        return (*(ends if side >= 0 else ends[::-1]), log_bound)


class Unlisted(Exception):
    """Error that is raised if a joint distribution has too many values to be listed and must be sampled instead."""


@dataclass(frozen=True)
class Window:
    """Weights of the consecutive integers `first`, `first` + 1, and so on.

    Parameters
    ----------
    first : first integer of the window.
    weights : float64 (n,), non-negative, n >= 1.
    """

    first: int
    weights: Array

    @property
    def last(self) -> int:
        """Largest of the consecutive integers to which weights are assigned."""
        return self.first + len(self.weights) - 1

    def values(self) -> Whole:
        """Consecutive integers from `first` to `last`."""
        return np.arange(self.first, self.last + 1)

    def log_weights(self) -> Array:
        """Logarithms of the weights, with the value -inf for a weight of 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights))

    def trimmed(self, smallest: float = SMALLEST) -> "Window":
        """Remove the weights that are at most `smallest` times the largest weight from both ends, and return the
        remaining weights. The largest weight becomes 1.
        """
        largest = self.weights.max()
        kept = np.flatnonzero(self.weights > smallest * largest)
        weights = self.weights[kept[0] : kept[-1] + 1]
        return Window(self.first + int(kept[0]), weights if largest == 1 else weights / largest)

    def within(self, low: int, high: int) -> "Window":
        """Return the weights that are assigned to the integers from `low` to `high`. If the part is empty, return a
        window with weight 0 at the lower integer.
        """
        first, last = max(low, self.first), min(high, self.last)
        if first > last:
            return Window(low, np.zeros(1))
        return Window(first, self.weights[first - self.first : last - self.first + 1])

    def normalised(self) -> "Window":
        """Return the weights, normalised so that they sum to 1."""
        return Window(self.first, self.weights / self.weights.sum())

    def reflected(self) -> "Window":
        """Return the weights of the values of -X, given the weights of the values of an integer-valued quantity X."""
        return Window(-self.last, self.weights[::-1].copy())

    def spread(self, factor: int) -> "Window":
        """Return the weights of an integer-valued quantity after multiplication of the quantity by the integer `factor`
        > 0.
        """
        wide = np.zeros((len(self.weights) - 1) * factor + 1)
        wide[::factor] = self.weights
        return Window(self.first * factor, wide)

    def at(self, first: int, size: int) -> Array:
        """Return the weights of the integers from first to first + size - 1. They are 0 for integers that are not
        stored.
        """
        out = np.zeros(size)
        low, high = max(first, self.first), min(first + size, self.last + 1)
        if low < high:
            out[low - first : high - first] = self.weights[low - self.first : high - self.first]
        return out


def added(a: Window, b: Window) -> Window:
    """Return the weights of the possible sums of two independent random integers, with full relative accuracy in the
    tails.
    """
    return Window(a.first + b.first, convolved(a.weights, b.weights, smallest=SMALLEST)).trimmed()


def added_up(parts: list[Window]) -> Window:
    """Return the weights of the possible values of a sum of independent random integers. The integers are added in
    pairs. The empty sum is 0.
    """
    if not parts:
        return Window(0, np.ones(1))
    while len(parts) > 1:
        parts = [reduce(added, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


def window_of(values: Whole, probabilities: Array) -> Window:
    """Convert the probabilities of a list of integers to an array of weights for all integers from the smallest to the
    largest. The integers are listed in increasing order, and integers that are not in the list have weight 0.
    """
    first = int(values[0])
    weights = np.zeros(int(values[-1]) - first + 1)
    weights[values - first] = probabilities
    return Window(first, weights)


def drawn(law: Window, size: int, rng: np.random.Generator) -> Whole:
    """Draw independent values of an integer-valued quantity from its distribution.

    Parameters
    ----------
    law : weights of the number.
    size : number of draws.
    rng : numpy Generator; uses one uniform per draw.

    Returns
    -------
    int64 (size,)
    """
    below = np.cumsum(law.weights)
    return np.asarray(law.first + np.searchsorted(below[:-1], rng.random(size) * below[-1], side="right"))
