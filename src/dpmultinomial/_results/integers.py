"""Weights of consecutive whole numbers: what sums and differences of counts are made of."""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
SMALLEST = 1e-40  # of the largest weight; smaller ones at the ends are cut, so that sums of many stay short


class Unlisted(Exception):
    """A law that hangs together too widely to be listed: it has to be drawn."""


@dataclass(frozen=True)
class Window:
    """Weights of first, first + 1, ..

    Parameters
    ----------
    first : whole number.
    weights : float64 (n,), non-negative, n >= 1.
    """

    first: int
    weights: Array

    @property
    def last(self) -> int:
        """The last whole number."""
        return self.first + len(self.weights) - 1

    def values(self) -> Whole:
        """first..last."""
        return np.arange(self.first, self.last + 1)

    def log_weights(self) -> Array:
        """Their logs, -inf where one is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights))

    def trimmed(self) -> "Window":
        """Without entries at the ends below `SMALLEST` of the largest; the largest becomes 1."""
        largest = self.weights.max()
        kept = np.flatnonzero(self.weights > SMALLEST * largest)
        return Window(self.first + int(kept[0]), self.weights[kept[0] : kept[-1] + 1] / largest)

    def within(self, low: int, high: int) -> "Window":
        """The part between two whole numbers; where there is none, weight 0 at the lower one."""
        first, last = max(low, self.first), min(high, self.last)
        if first > last:
            return Window(low, np.zeros(1))
        return Window(first, self.weights[first - self.first : last - self.first + 1])

    def normalised(self) -> "Window":
        """Scaled to sum 1."""
        return Window(self.first, self.weights / self.weights.sum())

    def reflected(self) -> "Window":
        """The weights of minus the number."""
        return Window(-self.last, self.weights[::-1].copy())

    def spread(self, factor: int) -> "Window":
        """The weights of `factor` (> 0) times the number."""
        wide = np.zeros((len(self.weights) - 1) * factor + 1)
        wide[::factor] = self.weights
        return Window(self.first * factor, wide)

    def at(self, first: int, size: int) -> Array:
        """Weights of first..first + size - 1, 0 outside the window."""
        out = np.zeros(size)
        low, high = max(first, self.first), min(first + size, self.last + 1)
        if low < high:
            out[low - first : high - first] = self.weights[low - self.first : high - self.first]
        return out


def added(a: Window, b: Window) -> Window:
    """Weights of the sum of two independent numbers: all terms are positive, so that tails keep their digits."""
    return Window(a.first + b.first, np.convolve(a.weights, b.weights)).trimmed()


def added_up(parts: list[Window]) -> Window:
    """Weights of the sum of independent numbers, two by two; of none it is 0."""
    if not parts:
        return Window(0, np.ones(1))
    while len(parts) > 1:
        parts = [reduce(added, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


def window_of(values: Whole, probabilities: Array) -> Window:
    """The window of listed whole numbers, rising; what is not listed has weight 0."""
    first = int(values[0])
    weights = np.zeros(int(values[-1]) - first + 1)
    weights[values - first] = probabilities
    return Window(first, weights)


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
