"""Mean and variance of a share among some categories, from convolutions: O(M log M) time and O(M) memory.

With s the count inside, t the sum of the others in `given` and n = s + t, the share is Beta(alpha + s, beta + t), so
its first two moments given n are polynomials of degree two in s and t over the known number N = alpha + beta + n.
Summed over s they are convolutions of the weights times powers of s and of t. They are taken of deviations from a
first guess c of the mean, X = (1 - c)(alpha + s) - c (beta + t) = N (share - c), so that nothing cancels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from ._positive_sequences import Window

_BLOCKS = 4096  # counts are put together to so many blocks for a first guess of the mean
_SHORT = 4  # counts in a block below which the guess is not worth it


@dataclass(frozen=True)
class ShareMoments:
    """Moments of a share.

    Parameters
    ----------
    mean, variance : of the share.
    """

    mean: float
    variance: float


def share_moments(mine: Window, theirs: Window, of_total: Window, *, alpha: float, beta: float) -> ShareMoments:
    """Mean and variance of Beta(alpha + s, beta + t) under weights mine[s] theirs[t] of_total[s + t].

    Parameters
    ----------
    mine, theirs, of_total : weights of s, of t and of n = s + t.
    alpha, beta : > 0.

    Returns
    -------
    ShareMoments
        Relative errors about 1e-12 (rounding of the transforms).

    Raises
    ------
    ValueError
        If no pair (s, t) has positive weight.
    """
    step = max(len(mine.weights), len(theirs.weights)) // _BLOCKS
    if step > _SHORT:  # the moments of blocks of counts: a guess that needs no second round
        blocks = [_blocks(part, step) for part in (mine, theirs, of_total)]
        guess = share_moments(*blocks, alpha=alpha / step, beta=beta / step).mean
    else:
        guess = _guess(mine, theirs, alpha, beta)
    found = _about(guess, mine, theirs, of_total, alpha, beta)
    if abs(found.mean - guess) > 0.1 * np.sqrt(found.variance):
        found = _about(found.mean, mine, theirs, of_total, alpha, beta)
    return found


def _blocks(part: Window, step: int) -> Window:
    """Weights of s // step, in blocks of `step` counts."""
    first = part.first % step
    padded = np.zeros(-(-(first + len(part.weights)) // step) * step)
    padded[first : first + len(part.weights)] = part.weights
    return Window(part.first // step, padded.reshape(-1, step).sum(axis=1))


def log_weight(mine: Window, theirs: Window, of_total: Window) -> float:
    """log of the sum of mine[s] theirs[t] of_total[s + t]: one convolution.

    Parameters
    ----------
    mine, theirs, of_total : as in `share_moments`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If no pair (s, t) has positive weight.
    """
    low, high = _common(mine, theirs, of_total)
    length = next_fast_len(len(mine.weights) + len(theirs.weights) - 1, real=True)
    sums = irfft(rfft(mine.weights, length) * rfft(theirs.weights, length), length)
    start = low - mine.first - theirs.first
    whole = float(_weights(of_total, low, high) @ sums[start : start + high - low + 1])
    if not whole > 0:
        raise ValueError("no pair of counts has positive weight")
    return float(np.log(whole))


def _common(mine: Window, theirs: Window, of_total: Window) -> tuple[int, int]:
    """The first and the last sum of two counts that has weight."""
    low = max(of_total.first, mine.first + theirs.first)
    high = min(of_total.last, mine.last + theirs.last)
    if low > high:
        raise ValueError("no pair of counts has a sum of positive weight")
    return low, high


def _guess(mine: Window, theirs: Window, alpha: float, beta: float) -> float:
    s = float(mine.weights @ mine.values() / mine.weights.sum())
    t = float(theirs.weights @ theirs.values() / theirs.weights.sum())
    return (alpha + s) / (alpha + beta + s + t)


def _about(c: float, mine: Window, theirs: Window, of_total: Window, alpha: float, beta: float) -> ShareMoments:
    low, high = _common(mine, theirs, of_total)
    f, h = (1 - c) * (alpha + mine.values()), c * (beta + theirs.values())
    centre = float(mine.weights @ f / mine.weights.sum())
    f, h = f - centre, h - centre
    size = len(mine.weights) + len(theirs.weights) - 1
    length = next_fast_len(size, real=True)
    a = [rfft(mine.weights * f**j, length) for j in range(3)]
    b = [rfft(theirs.weights * h**j, length) for j in range(3)]
    place = slice(low - mine.first - theirs.first, high - mine.first - theirs.first + 1)
    zero = irfft(a[0] * b[0], length)[place]
    one = irfft(a[1] * b[0] - a[0] * b[1], length)[place]
    two = irfft(a[2] * b[0] - 2 * a[1] * b[1] + a[0] * b[2], length)[place]
    n = np.arange(low, high + 1, dtype=np.float64)
    return _combined(c, zero, one, two, _weights(of_total, low, high), alpha + beta + n)


def _weights(of_total: Window, low: int, high: int) -> NDArray[np.float64]:
    return of_total.weights[low - of_total.first : high - of_total.first + 1]


def _combined(
    c: float,
    zero: NDArray[np.float64],
    one: NDArray[np.float64],
    two: NDArray[np.float64],
    weights: NDArray[np.float64],
    n: NDArray[np.float64],
) -> ShareMoments:
    """Moments from the sums over s for every n: mean of the components, their spread, and the spread inside them."""
    whole = float(weights @ zero)
    if not whole > 0:
        raise ValueError("no pair of counts has positive weight")
    shift = float(weights @ (one / n)) / whole
    between = float(weights @ (two / n**2)) / whole
    inside = c * (1 - c) * zero + (1 - 2 * c) * one / n - two / n**2
    within = float(weights @ (inside / (n + 1))) / whole
    return ShareMoments(c + shift, between - shift**2 + within)
