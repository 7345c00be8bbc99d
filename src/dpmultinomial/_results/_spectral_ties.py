"""What many counts and the weight on their sum say of a few: Fourier sums over the frequencies that matter.

With p_k the law of count k and g the weight on the sum of all, the weight of a sum u of the few counts P is

    tie(u) = sum_N g(N) P(sum of all others = N - u) = 1/L sum_m exp(-i w_m u) conj(G(w_m)) prod_(k not in P) F_k(w_m)

over the frequencies w_m = 2 pi m/L, F and G the transforms of p and g. A sum of many counts is smooth: of its product
all but some hundred frequencies are nothing, so that one tie costs some hundred terms where convolutions cost millions.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from .whole import Array, Unlisted, Window

FEWEST = 64  # counts from which frequencies are fewer than terms of convolutions
MOST = 4  # counts of which the sum is asked
_SOME = 256  # counts by which frequencies are judged first
_NOTHING = 1e-18  # of the term at frequency 0
_FLAT = 0.01  # least tie that is wanted, of the sum of the terms' sizes: cancellation costs two digits at most
_LARGEST = 4_000_000  # numbers of a table of transforms
_LONGEST = 250_000  # values of a sum that are told apart
Complex = NDArray[np.complex128]


class SpectralTies:
    """Ties of few counts by all others and a weight on the sum.

    Parameters
    ----------
    factors : weights of the counts, at least `FEWEST`.
    root : weights of their sum, tilted as the factors are.
    free : weights of the sum of all factors.

    Raises
    ------
    Unlisted
        If the sum has too many values.
    """

    def __init__(self, factors: Sequence[Window], root: Window, free: Window) -> None:
        self.root, self.firsts = root, np.array([factor.first for factor in factors], dtype=np.int64)
        widest = max(len(factor.weights) for factor in factors)
        span = max(root.last - free.first, free.last - root.first, free.last - free.first) + MOST * widest
        self.length = next_fast_len(int(2 * span + 1), real=True)  # no two sums that meet differ by a multiple of it
        if self.length > _LONGEST:
            raise Unlisted(f"a sum of {self.length} values")
        normed = [factor.weights / factor.weights.sum() for factor in factors]
        judges = min(len(normed), _SOME, _LARGEST // self.length)
        some = np.linspace(0, len(normed) - 1, judges).round().astype(int)
        sizes = np.abs(np.fft.rfft(_padded([normed[i] for i in some]), self.length, axis=1))
        whole = np.fft.rfft(root.weights, self.length)
        most = _without(np.log(np.maximum(sizes, 1e-300))) + np.log(np.maximum(np.abs(whole) / whole[0].real, 1e-300))
        kept = np.flatnonzero(most > np.log(_NOTHING))
        self.dropped = 2 * float(np.exp(np.delete(most, kept)).sum())
        found = _padded(normed) @ self._waves(kept, widest)
        actual = _without(np.log(np.maximum(np.abs(found), 1e-300))) + np.log(np.abs(whole[kept]) / whole[0].real)
        good = actual > np.log(_NOTHING)
        self.dropped += 2 * float(np.exp(actual[~good]).sum())
        self.frequencies = kept[good]
        self.logs = np.log(np.where(found == 0, 1e-300, found)[:, good])  # subtracted as they were added
        twice = np.where((self.frequencies == 0) | (2 * self.frequencies == self.length), 1.0, 2.0)
        self.ends = twice * np.conj(whole[self.frequencies]) / whole[0].real
        self.all_logs = self.logs.sum(axis=0)
        self.waves = self._waves(self.frequencies, min(MOST * widest, _LARGEST // (2 * len(self.frequencies))))

    def tie(self, places: Sequence[int], low: int, high: int) -> Window | None:
        """Weights of low..high, sums over `places`, up to a factor; None where frequencies do not say them to 1e-12.

        Parameters
        ----------
        places : different positions, at most `MOST`.
        low, high : of the window.
        """
        own = list(places)
        if high - low + 1 > len(self.waves):
            return None
        shift = low + int(self.firsts.sum() - self.firsts[own].sum()) - self.root.first
        terms = self.ends * np.exp(self.all_logs - self.logs[own].sum(axis=0))
        turned = terms * np.exp(-2j * np.pi / self.length * (self.frequencies * shift % self.length))
        weights: Array = np.einsum(
            "um,m->u", self.waves[: high - low + 1], turned
        ).real  # small: BLAS would wake threads
        sizes = float(np.abs(terms).sum())
        if weights.min() >= _FLAT * sizes and self.dropped <= 1e-13 * _FLAT * sizes:
            return Window(low, weights / weights.max())
        return None

    def _waves(self, frequencies: NDArray[np.int64], size: int) -> Complex:
        """exp(-i w y) for y = 0..size - 1, (size, frequencies)."""
        turns = np.outer(np.arange(size), frequencies) % self.length
        return np.asarray(np.exp(-2j * np.pi / self.length * turns))


def _padded(weights: Sequence[Array]) -> Array:
    out = np.zeros((len(weights), max(len(own) for own in weights)))
    for row, own in zip(out, weights, strict=True):
        row[: len(own)] = own
    return out


def _without(logs: Array) -> Array:
    """Sum over counts at each frequency, without the `MOST` smallest: no few counts can be omitted for more."""
    return np.asarray(logs.sum(axis=0) - np.partition(logs, MOST, axis=0)[:MOST].sum(axis=0))
