"""Weights of consecutive integers, used for sums and differences of counts."""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
SMALLEST = 1e-40  # of the largest weight; smaller weights at the ends are truncated, to keep long sums short


class Unlisted(Exception):
    """Raised if a joint distribution has too many values to be listed, so that it must be sampled."""


@dataclass(frozen=True)
class Window:
    """Weights of the consecutive integers first, first + 1, ..

    Parameters
    ----------
    first : first integer of the window.
    weights : float64 (n,), non-negative, n >= 1.
    """

    first: int
    weights: Array

    @property
    def last(self) -> int:
        """Last integer of the window."""
        return self.first + len(self.weights) - 1

    def values(self) -> Whole:
        """Integers first..last."""
        return np.arange(self.first, self.last + 1)

    def log_weights(self) -> Array:
        """Logs of the weights, -inf for weight 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights))

    def trimmed(self) -> "Window":
        """Return the window without end entries below `SMALLEST` times the largest; the largest weight becomes 1."""
        largest = self.weights.max()
        kept = np.flatnonzero(self.weights > SMALLEST * largest)
        return Window(self.first + int(kept[0]), self.weights[kept[0] : kept[-1] + 1] / largest)

    def within(self, low: int, high: int) -> "Window":
        """Return the part between two integers; if it is empty, a window with weight 0 at the lower integer."""
        first, last = max(low, self.first), min(high, self.last)
        if first > last:
            return Window(low, np.zeros(1))
        return Window(first, self.weights[first - self.first : last - self.first + 1])

    def normalised(self) -> "Window":
        """Return the weights normalised to sum 1."""
        return Window(self.first, self.weights / self.weights.sum())

    def reflected(self) -> "Window":
        """Return the weights of the negative of the number."""
        return Window(-self.last, self.weights[::-1].copy())

    def spread(self, factor: int) -> "Window":
        """Return the weights of `factor` (> 0) times the number."""
        wide = np.zeros((len(self.weights) - 1) * factor + 1)
        wide[::factor] = self.weights
        return Window(self.first * factor, wide)

    def at(self, first: int, size: int) -> Array:
        """Return the weights of first..first + size - 1, 0 outside the window."""
        out = np.zeros(size)
        low, high = max(first, self.first), min(first + size, self.last + 1)
        if low < high:
            out[low - first : high - first] = self.weights[low - self.first : high - self.first]
        return out


def added(a: Window, b: Window) -> Window:
    """Return the weights of the sum of two independent numbers; all terms are positive, so the tails have full relative
    accuracy.
    """
    return Window(a.first + b.first, np.convolve(a.weights, b.weights)).trimmed()


def added_up(parts: list[Window]) -> Window:
    """Return the weights of the sum of independent numbers, added in pairs; the empty sum is 0."""
    if not parts:
        return Window(0, np.ones(1))
    while len(parts) > 1:
        parts = [reduce(added, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


def window_of(values: Whole, probabilities: Array) -> Window:
    """Return the window of listed integers in increasing order; integers that are not listed have weight 0."""
    first = int(values[0])
    weights = np.zeros(int(values[-1]) - first + 1)
    weights[values - first] = probabilities
    return Window(first, weights)


def drawn(law: Window, size: int, rng: np.random.Generator) -> Whole:
    """Draw independent values of one number.

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
