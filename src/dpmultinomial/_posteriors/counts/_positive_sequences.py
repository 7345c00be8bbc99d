"""Sequences of positive weights over a window of whole numbers, and their convolutions with small relative error.

A Fourier transform leaves every entry of a convolution with the absolute error of the largest. Where the tails matter
too, the factors are tilted by exp(theta s) first, which moves the largest entry to where digits are wanted, and the
tilt is taken back afterwards: a few tilts cover all entries down to `SMALLEST` of the largest.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its signal processing loads when it is first used
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

SMALLEST = 1e-250  # of the largest weight; smaller ones at the ends of a window are cut
_RELIABLE = 1e-4  # of the largest entry: down to here one transform has twelve digits
_DIRECT = 200_000_000  # products up to which the sum itself is faster than the thought
_MOST_TILTS = 200


@dataclass(frozen=True)
class Window:
    """Positive weights of the whole numbers first, first + 1, .., up to a common factor.

    Parameters
    ----------
    first : whole number.
    weights : float64 (n,), positive, largest entry 1.
    """

    first: int
    weights: NDArray[np.float64]

    @property
    def last(self) -> int:
        """The last whole number."""
        return self.first + len(self.weights) - 1

    def values(self) -> NDArray[np.int64]:
        """first..last."""
        return np.arange(self.first, self.last + 1)

    def reflected(self, total: int) -> "Window":
        """The same weights as a law of total - s."""
        return Window(total - self.last, np.ascontiguousarray(self.weights[::-1]))


def window(weights: NDArray[np.float64], *, first: int = 0, smallest: float = SMALLEST) -> Window:
    """The part of `weights` (non-negative, positive somewhere) above `smallest` of the largest, scaled to largest
    entry 1.

    Parameters
    ----------
    weights : float64 (n,).
    first : place of its first entry.
    smallest : share of the largest, in (0, 1).

    Returns
    -------
    Window
    """
    largest = float(weights.max())
    kept = np.flatnonzero(weights > smallest * largest)
    scaled = weights[kept[0] : kept[-1] + 1] / largest
    if not scaled.min() > 0:
        scaled = np.maximum(scaled, smallest)  # a gap inside; ratios of neighbours must exist
    return Window(first + int(kept[0]), np.ascontiguousarray(scaled))


def convolve(a: Window, b: Window, *, largest: int, tails: bool = True) -> Window:
    """Weights of the sum of two independent counts, cut at `largest`.

    Parameters
    ----------
    a, b : the factors.
    largest : the largest sum that is wanted, at least ``a.first + b.first``.
    tails : whether every entry keeps its relative accuracy (1e-11, down to `SMALLEST`); else entries have the absolute
        accuracy of the largest, 1e-15, at a fifth of the time.

    Returns
    -------
    Window
    """
    size = min(len(a.weights) + len(b.weights) - 1, largest - a.first - b.first + 1)
    first = a.first + b.first
    if len(a.weights) * len(b.weights) <= _DIRECT:
        return window(np.convolve(a.weights, b.weights)[:size], first=first)
    if tails:
        return window(_by_tilts(a.weights, b.weights)[:size], first=first)
    return window(np.maximum(scipy.signal.fftconvolve(a.weights, b.weights)[:size], 0.0), first=first, smallest=1e-17)


def _by_tilts(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convolution by tilted transforms, working outwards from the largest entry in both directions."""
    n = len(a) + len(b) - 1
    logs = np.full(n, -np.inf)
    left, right = _cover(a, b, 0.0, logs, 0, n)
    for step in (-1, 1):
        edge = left if step < 0 else right - 1
        for _ in range(_MOST_TILTS):
            if not 0 < edge < n - 1 or logs[edge] < logs.max() + np.log(SMALLEST):
                break
            inner = edge - step * max(1, abs(edge - (left if step > 0 else right)) // 100)
            theta = -(logs[edge] - logs[inner]) / (edge - inner)
            low, high = _cover(a, b, theta, logs, *((0, edge) if step < 0 else (edge + 1, n)))
            if low == high or (edge := low if step < 0 else high - 1) in (left, right - 1):
                break
    return np.asarray(np.exp(logs - logs.max()))


def _cover(
    a: NDArray[np.float64], b: NDArray[np.float64], theta: float, logs: NDArray[np.float64], low: int, high: int
) -> tuple[int, int]:
    """Fill logs[low:high] where the transform under this tilt is reliable, one run of entries; return the run."""
    parts, shift = [], 0.0
    for sequence in (a, b):
        tilted = np.log(sequence) + theta * np.arange(len(sequence))
        shift += tilted.max()
        parts.append(np.exp(tilted - tilted.max()))
    n = len(a) + len(b) - 1
    length = next_fast_len(n, real=True)
    values = irfft(rfft(parts[0], length) * rfft(parts[1], length), length)[:n]
    good = values[low:high] > _RELIABLE * values.max()
    if not good.any():
        return low, low
    first, last = low + int(good.argmax()), high - int(good[::-1].argmax())
    first, last = (first, high) if low == 0 and high < n else (low, last) if high == n and low > 0 else (first, last)
    run = slice(first, last)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs[run] = np.log(values[run]) + shift - theta * np.arange(first, last)
    return first, last
