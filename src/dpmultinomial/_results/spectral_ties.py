"""Distributions of selected counts among many independent counts, given the distribution of the sum of all counts.
The distributions are computed by Fourier sums.

Let p_k be the distribution of count k and g the weight on the sum of all counts. The weight of a sum u of a few counts
P is

    tie(u) = sum_N g(N) P(sum of all others = N - u) = 1/L sum_m exp(-i w_m u) conj(G(w_m)) prod_(k not in P) F_k(w_m)

over the frequencies w_m = 2 pi m/L, where F and G are the transforms of p and g. A sum of many counts is smooth: its
transform is negligible except at about a hundred frequencies, so one tie costs about a hundred terms, compared with
millions for convolutions. The transform of every count is shifted by its rounded mean, so that the logs of the
transforms are small and their sum over all counts is accurate.

The length L is chosen by Chernoff's inequality, P(S - E S > d) <= E exp(t (S - E S)) exp(-t d): the probability of all
sums that are further than L/2 from their mean is below 1e-26.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft

from .convolutions import Unlisted, Window

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Whole = NDArray[np.int64]
MOST = 4  # largest number of counts whose sum is computed by Fourier sums
_SOME = 256  # smallest number of counts for which the frequencies are selected first
_MORE = 4  # factor by which the number of counts increases from one selection of frequencies to the next
_NOTHING = 1e-18  # negligible size of a term, relative to the term at frequency 0
_FLAT = 0.01  # smallest usable tie, relative to the sum of the absolute terms: cancellation costs at most two digits
_SEEN = 1e-10  # a tie must be usable at all values of a count with more than this weight
_LARGEST = 4_000_000  # largest number of entries of a table of transforms
_TOGETHER = 1 << 20  # number of weights that are transformed together
_LONGEST = 250_000  # largest number of distinct values of a sum
_SMALLEST = 1e-14  # smallest absolute value of a transform; smaller values are rounding errors
_FAR = 60.0  # minus the log of the neglected probability of sums that are far from their mean
_TILTS = (2.0, 4.0, 8.0, 16.0)  # tilts of Chernoff's inequality, times the standard deviation of the sum
_STEEPEST = 600.0  # largest exponent of a tilted weight


class SpectralTies:
    """Weights of the sum of a few counts, implied by the distributions of all other counts and by the weight on the
    total.

    Parameters
    ----------
    factors : weights of the counts.
    root : weights of the sum of all counts, with the same tilt as the factors; None: all weight is on the mean sum.
    smooth : whether to select the frequencies so that `free` can be called, even if the root has few frequencies.

    Raises
    ------
    Unlisted
        If the sum has too many values.
    """

    def __init__(self, factors: Sequence[Window], root: Window | None, *, smooth: bool = False) -> None:
        self.factors = factors
        self.widest = max(len(factor.weights) for factor in factors)
        self.sums = np.array([factor.weights.sum() for factor in factors])
        self.centres, self.first, self.last = self._reach()
        self.root = root = Window((self.first + self.last) // 2, np.ones(1)) if root is None else root
        reach = max(root.last - self.first, self.last - root.first, self.last - self.first) + MOST * self.widest
        # no two possible sums differ by a multiple of this length
        self.length = next_fast_len(int(2 * reach + 1), real=True)
        if self.length > _LONGEST:
            raise Unlisted(
                f"the possible values of the sum cannot be listed, because there are too many ({self.length:,}): use "
                "draws instead"
            )
        self.roots = np.exp(-2j * np.pi / self.length * np.arange(self.length))  # exp(-i w s) for w s = 2 pi j/length
        whole = rfft(root.weights, self.length)
        sizes = np.log(np.maximum(np.abs(whole) / whole[0].real, 1e-300))
        self._select(np.zeros(len(whole)) if smooth else sizes)
        twice = np.where((self.frequencies == 0) | (2 * self.frequencies == self.length), 1.0, 2.0)
        self.ends = twice * np.conj(whole[self.frequencies]) / whole[0].real
        self.waves = self._waves(self.frequencies, min(MOST * self.widest, _LARGEST // (2 * len(self.frequencies))))

    def tie(self, places: Sequence[int], low: int, high: int) -> Window | None:
        """Return the unnormalised probabilities that the sum of the counts at the positions `places` equals low, ..,
        high. Return None if the frequencies do not determine the probabilities to 1e-12.

        Parameters
        ----------
        places : distinct positions, at most `MOST`.
        low, high : ends of the window.
        """
        members = list(places)
        if high - low + 1 > len(self.waves):
            return None
        shift = low + int(self.centres.sum() - self.centres[members].sum()) - self.root.first
        logs, phases = _polar(self.transforms[members])
        terms = self.ends * self.phases * np.exp(self.log_sizes - logs.sum(axis=0)) / phases.prod(axis=0)
        turned = terms * self._turn(np.array(shift))
        weights: Array = np.einsum(
            "um,m->u", self.waves[: high - low + 1], turned
        ).real  # for small arrays, a BLAS call would start threads
        sizes = float(np.abs(terms).sum())
        if weights.min() >= _FLAT * sizes and self._negligible(sizes):
            return Window(low, weights / weights.max())
        return None

    def singles(self, places: Whole) -> list[Window | None]:
        """Return the marginal distributions of the counts at the positions `places`. An element is None if the
        frequencies do not determine the tie to 1e-12 of its largest value, wherever the count has a weight of more than
        1e-10.
        """
        found: list[Window | None] = []
        for rows in _blocks(places, 2 * max(self.widest, len(self.frequencies))):
            laws = [self.factors[i] for i in rows]
            fits = np.array([len(law.weights) <= len(self.waves) for law in laws])
            width = min(max(len(law.weights) for law in laws), len(self.waves))
            firsts = np.array([law.first for law in laws])
            logs, phases = _polar(self.transforms[rows])
            terms = self.ends * self.phases * np.exp(self.log_sizes - logs) / phases
            sizes = np.abs(terms).sum(axis=1)
            terms *= self._turn((firsts + self.centres.sum() - self.centres[rows] - self.root.first)[:, None])
            waves = self.waves[:width]
            ties = terms.real @ waves.real.T - terms.imag @ waves.imag.T
            fitting = [law.weights if fit else np.ones(1) for law, fit in zip(laws, fits, strict=True)]
            weights = _padded(fitting, width)
            seen = weights > _SEEN * weights.max(axis=1, keepdims=True)
            least = np.where(seen, ties, np.inf).min(axis=1)
            accurate = fits & (least >= _FLAT * sizes) & self._negligible(sizes)
            weights *= np.maximum(ties, 0.0, out=ties)
            sums = weights.sum(axis=1, keepdims=True)
            np.divide(weights, sums, out=weights, where=sums > 0)
            for law, good, row in zip(laws, accurate, weights, strict=True):
                found.append(Window(law.first, row[: len(law.weights)]) if good else None)
        return found

    def free(self) -> Window:
        """Return the weights of the possible sums of all counts, without the weights in `root`. The absolute error of
        every weight is about 1e-16 times the number of counts, relative to the largest weight. The argument `smooth`
        must have been true.
        """
        spectrum = np.zeros(self.length // 2 + 1, dtype=np.complex128)
        shift = int(self.centres.sum()) - self.first
        spectrum[self.frequencies] = np.exp(self.log_sizes) * self.phases * self._turn(np.array(shift))
        weights = irfft(spectrum, self.length)[: self.last - self.first + 1]
        return Window(self.first, np.maximum(weights, 0.0))

    def _negligible(self, sizes: ArrayLike) -> NDArray[np.bool_]:
        """Return whether the dropped terms of the Fourier sums are negligible compared with sums of the absolute values
        of the terms.
        """
        return self.dropped <= 1e-13 * _FLAT * np.asarray(sizes)

    def _reach(self) -> tuple[Whole, int, int]:
        """Return the rounded means of the counts, and the ends of a range outside which the sum of the counts has a
        negligible probability.
        """
        y = np.arange(self.widest, dtype=np.float64)
        firsts = np.array([factor.first for factor in self.factors], dtype=np.int64)
        means, squares = (self._weighted(np.stack([y, y * y], axis=1)) / self.sums[:, None]).T
        sd = float(np.sqrt(np.maximum(squares - means * means, 0.0).sum()))
        tilts = np.minimum(np.array(_TILTS) / max(sd, 1e-300), _STEEPEST / self.widest)
        tilts = np.concatenate([-tilts, tilts])
        generating = np.log(self._weighted(np.exp(np.outer(y, tilts))) / self.sums[:, None]) - np.outer(means, tilts)
        distances = (np.maximum(generating, 0.0).sum(axis=0) + _FAR) / np.abs(tilts)
        middle = float(firsts.sum()) + float(means.sum())
        half = len(_TILTS)
        ends = np.floor(middle - distances[:half].min()), np.ceil(middle + distances[half:].min())
        return firsts + np.rint(means).astype(np.int64), int(ends[0]), int(ends[1])

    def _select(self, sizes: Array) -> None:
        """Select the frequencies at which the terms of the Fourier sums are not negligible. The product of the
        transforms of some counts is an upper bound on the product of all transforms; more counts give a smaller bound.

        Parameters
        ----------
        sizes : logs of the absolute values of further factors of the terms, one per frequency.
        """
        size = len(self.factors)
        judges = min(size, _SOME, max(_LARGEST // self.length, 1))
        rows = _sampled(size, judges)
        normed = _padded([self.factors[i].weights for i in rows], self.widest) / self.sums[rows, None]
        self.frequencies, self.dropped = np.arange(len(sizes)), self.length * 2 * float(np.exp(-_FAR))
        self._drop(_bound(*_products(rfft(normed, self.length, axis=1))) + sizes)
        stages = [judges * _MORE**i for i in range(1, 30) if judges * _MORE**i < size]
        for count in (*stages, size):
            products = self._products(_sampled(size, count))
            kept = self._drop(_bound(*products) + sizes[self.frequencies])
        self.log_sizes, self.phases = products[0][kept], products[1][kept]

    def _products(self, places: Whole) -> tuple[Array, Complex, Array]:
        """Return the products of the Fourier transforms of the given counts at the selected frequencies, in the form of
        the function `_products`.
        """
        waves, count = self._waves(self.frequencies, self.widest), len(self.frequencies)
        log_sizes, phases, least = np.zeros(count), np.ones(count, dtype=np.complex128), np.zeros((0, count))
        for part in _blocks(places, self.widest):
            more = _products(self._transforms(part, waves))
            log_sizes += more[0]
            phases *= more[1]
            least = np.sort(np.concatenate([least, more[2]]), axis=0)[:MOST]
        return log_sizes, phases, least

    @cached_property
    def transforms(self) -> Complex:
        """Fourier transforms of the distributions of all counts at the selected frequencies, with one row per count."""
        waves = self._waves(self.frequencies, self.widest)
        out = np.empty((len(self.factors), len(self.frequencies)), dtype=np.complex128)
        for part in _blocks(np.arange(len(out)), self.widest):
            out[part] = self._transforms(part, waves)
        return out

    def _drop(self, most: Array) -> NDArray[np.bool_]:
        """Drop frequencies with negligible terms, given upper bounds on the logs of the terms. Return the mask of the
        remaining frequencies.
        """
        kept: NDArray[np.bool_] = most > np.log(_NOTHING)
        self.dropped += 2 * float(np.exp(most[~kept]).sum())
        self.frequencies = self.frequencies[kept]
        if self.widest * len(self.frequencies) > _LARGEST:
            raise Unlisted(
                f"the sum has {len(self.frequencies):,} frequencies with non-negligible terms, too many for windows of "
                f"{self.widest:,} counts: use draws instead"
            )
        return kept

    def _transforms(self, places: Whole, waves: Complex) -> Complex:
        """Return the Fourier transforms of the counts at `places`, evaluated at the frequencies of the given waves.
        Each count is measured from its rounded mean.
        """
        parts = self._weighted(waves.view(np.float64), places) / self.sums[places, None]
        firsts = np.array([self.factors[i].first for i in places])
        shifts = (self.centres[places] - firsts)[:, None]
        return np.asarray(parts.view(np.complex128) * np.conj(self._turn(shifts)))

    def _weighted(self, functions: Array, places: Whole | None = None) -> Array:
        """Return, for every count and every column of `functions`, the sum of the weights of the count multiplied by
        the values in the column. A column contains the values of one function at the positions in a window.
        """
        places = np.arange(len(self.factors)) if places is None else places
        out = np.empty((len(places), functions.shape[1]))
        for part in _blocks(np.arange(len(places)), self.widest):
            out[part] = _padded([self.factors[i].weights for i in places[part]], self.widest) @ functions
        return out

    def _turn(self, shift: Whole) -> Complex:
        """Return exp(-i w shift) for each frequency w."""
        return np.asarray(self.roots[self.frequencies * shift % self.length])

    def _waves(self, frequencies: Whole, size: int) -> Complex:
        """Return exp(-i w y) for each frequency w and y = 0..size - 1, as an array of shape (size, frequencies)."""
        return np.asarray(self.roots[np.outer(np.arange(size), frequencies) % self.length])


def _sampled(size: int, count: int) -> Whole:
    return np.linspace(0, size - 1, count).round().astype(np.int64)


def _blocks(places: Whole, width: int) -> Iterator[Whole]:
    """Yield consecutive parts of an array of positions, such that the counts of each part have at most `_TOGETHER`
    weights in windows of the given width.
    """
    size = max(_TOGETHER // width, 1)
    for start in range(0, len(places), size):
        yield places[start : start + size]


def _padded(rows: Sequence[Array], width: int) -> Array:
    out = np.zeros((len(rows), width))
    for row, weights in zip(out, rows, strict=True):
        row[: len(weights)] = weights
    return out


def _polar(transforms: Complex) -> tuple[Array, Complex]:
    """Return the logs of the absolute values of Fourier transforms, and the phases as complex numbers of modulus 1.
    Smaller values than `_SMALLEST` count as `_SMALLEST`: they are divided out again, or their product with other
    transforms is negligible.
    """
    sizes = np.sqrt(transforms.real**2 + transforms.imag**2)
    small = sizes < _SMALLEST
    sizes[small] = _SMALLEST
    phases = np.where(small, 1.0, transforms / sizes)
    return np.log(sizes), phases


def _products(transforms: Complex) -> tuple[Array, Complex, Array]:
    """Return the log of the absolute value and the phase of the product of all transforms, one per frequency, and the
    logs of the `MOST` smallest absolute values.
    """
    logs, phases = _polar(transforms)
    least = np.partition(logs, MOST - 1, axis=0)[:MOST] if len(logs) > MOST else logs
    return logs.sum(axis=0), np.multiply.reduce(phases, axis=0), least


def _bound(log_sizes: Array, _: Complex, least: Array) -> Array:
    """Return the log of the absolute value of a product of transforms, from which the `MOST` factors with the smallest
    absolute values are omitted. The result is an upper bound if at most `MOST` counts are omitted.
    """
    return np.asarray(log_sizes - least.sum(axis=0))
