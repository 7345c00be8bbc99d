"""Posterior distribution of a share among a subset of the categories, for any total and any noise. The density is
interpolated, with a bound on the interpolation error.

The density on the scale z = log(x/(1 - x)) comes from `beta_mixtures.Density`, a sum of positive terms; `PanelDensity`
interpolates its logarithm. Mean and variance do not use the interpolation (`share_moments`). The error that is stated
with every result is the largest discrepancy of the interpolation in the mean, the variance, the integral (which is 1),
and the density at points between the nodes.

Convolutions of positive weights over windows of integers are computed with small relative error, down to `SMALLEST` of
the largest entry (`convolutions`).

Mean and variance of a share among some categories come from convolutions, with O(M log M) time and O(M) memory.

Let s be the count in the numerator of the share, t the sum of the other counts in the denominator, and n = s + t. The
share is Beta(alpha + s, beta + t), so its first two moments given n are polynomials of degree two in s and t, divided
by polynomials of the known number N = alpha + beta + n. Summed over s, they are convolutions of the weights times
powers of s and of t. The moments are computed for deviations from a first guess c of the mean, X = (1 - c)(alpha + s) -
c (beta + t) = N (share - c), to avoid cancellation.

The weights of the counts in a share are the weights of independent counts with a fixed sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import scipy  # submodules of scipy are loaded on first use
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import expit, logit

from ... import _checks
from ..._accuracy import Accuracy
from ..._results.convolutions import convolved
from . import beta_mixtures
from .panel_density import PanelDensity, TailedLaw, nearer_tail, share_at

SMALLEST = 1e-250  # fraction of the largest weight; smaller weights at the ends of a window are truncated
_DIRECT = 200_000_000  # largest number of products for which the direct sum is faster


@dataclass(frozen=True)
class Window:
    """Positive weights of consecutive integers (`first`, `first` + 1 and so on), determined up to a common factor.

    Parameters
    ----------
    first : integer.
    weights : float64 (n,), positive, largest entry 1.
    """

    first: int
    weights: NDArray[np.float64]

    @property
    def last(self) -> int:
        """Largest of the consecutive integers to which weights are assigned."""
        return self.first + len(self.weights) - 1

    def values(self) -> NDArray[np.int64]:
        """Consecutive integers to which the weights are assigned, from `first` to `last`."""
        return np.arange(self.first, self.last + 1)

    def reflected(self, total: int) -> "Window":
        """Return the weights of `total` - s for an integer-valued quantity s, given the weights of s."""
        return Window(total - self.last, np.ascontiguousarray(self.weights[::-1]))


def window(weights: NDArray[np.float64], *, first: int = 0, smallest: float = SMALLEST) -> Window:
    """Return the weights divided by the largest weight, without the negligible weights at both ends. A weight is
    negligible if it does not exceed `smallest` times the largest weight. The weights are non-negative, and at least one
    weight is positive.

    Parameters
    ----------
    weights : float64 (n,).
    first : integer of the first entry.
    smallest : fraction of the largest weight, in (0, 1).

    Returns
    -------
    Window
    """
    largest = float(weights.max())
    kept = np.flatnonzero(weights > smallest * largest)
    scaled = weights[kept[0] : kept[-1] + 1] / largest
    if not scaled.min() > 0:
        # fills gaps inside the window, because ratios of neighbouring weights must exist
        scaled = np.maximum(scaled, smallest)
    return Window(first + int(kept[0]), np.ascontiguousarray(scaled))


def convolve(a: Window, b: Window, *, largest: int, tails: bool = True, smallest: float = SMALLEST) -> Window:
    """Compute the weights of the sum of two independent counts, for sums of at most `largest`.

    Parameters
    ----------
    a, b : windows of the two counts.
    largest : largest sum needed, at least ``a.first + b.first``.
    tails : whether every entry has a small relative error (1e-11, down to `smallest`). If not, entries have an absolute
        error of 1e-15 times the largest entry, and the computation takes a fifth of the time.
    smallest : fraction of the largest entry below which entries at the ends are truncated.

    Returns
    -------
    Window
    """
    size = min(len(a.weights) + len(b.weights) - 1, largest - a.first - b.first + 1)
    first = a.first + b.first
    if len(a.weights) * len(b.weights) <= _DIRECT:
        return window(np.convolve(a.weights, b.weights)[:size], first=first, smallest=smallest)
    if tails:
        sums = convolved(a.weights, b.weights, smallest=smallest, direct=_DIRECT)
        return window(sums[:size], first=first, smallest=smallest)
    return window(np.maximum(scipy.signal.fftconvolve(a.weights, b.weights)[:size], 0.0), first=first, smallest=1e-17)


_BLOCKS = 4096  # number of blocks of counts for a first guess of the mean
_SHORT = 4  # number of counts in a block below which the first guess is not worthwhile


@dataclass(frozen=True)
class ShareMoments:
    """Posterior mean and posterior variance of a single share.

    Parameters
    ----------
    mean, variance : mean and variance of the share.
    """

    mean: float
    variance: float


def share_moments(mine: Window, theirs: Window, of_total: Window, *, alpha: float, beta: float) -> ShareMoments:
    """Compute the mean and variance of a share. Given counts (s, t), the distribution of the share is Beta(alpha + s,
    beta + t). The weight of (s, t) is mine[s] theirs[t] of_total[s + t].

    Parameters
    ----------
    mine, theirs, of_total : weights of s, of t and of n = s + t.
    alpha, beta : > 0.

    Returns
    -------
    ShareMoments
        The relative errors are about 1e-12 (rounding of the transforms).

    Raises
    ------
    ValueError
        If no pair (s, t) has positive weight.
    """
    step = max(len(mine.weights), len(theirs.weights)) // _BLOCKS
    if step > _SHORT:  # the moments of blocks of counts give an accurate guess, so a second round is not needed
        blocks = [_blocks(part, step) for part in (mine, theirs, of_total)]
        guess = share_moments(*blocks, alpha=alpha / step, beta=beta / step).mean
    else:
        guess = _guess(mine, theirs, alpha, beta)
    moments = _about(guess, mine, theirs, of_total, alpha, beta)
    if abs(moments.mean - guess) > 0.1 * np.sqrt(moments.variance):
        moments = _about(moments.mean, mine, theirs, of_total, alpha, beta)
    return moments


def _blocks(part: Window, step: int) -> Window:
    """Return the sums of the weights over blocks of `step` consecutive counts. They are the weights of s // step."""
    first = part.first % step
    padded = np.zeros(-(-(first + len(part.weights)) // step) * step)
    padded[first : first + len(part.weights)] = part.weights
    return Window(part.first // step, padded.reshape(-1, step).sum(axis=1))


def log_weight(mine: Window, theirs: Window, of_total: Window) -> float:
    """Return the log of the sum, over all pairs of counts (s, t), of the product of the weights of s, of t and of s +
    t. The sum is computed by one convolution.

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
    weight_sum = float(_weights(of_total, low, high) @ sums[start : start + high - low + 1])
    if not weight_sum > 0:
        raise ValueError(
            f"the distribution of the share is not defined, because all pairs of counts whose sum lies between {low} "
            f"and {high} have weight 0: check the counts and the settings"
        )
    return float(np.log(weight_sum))


def _common(mine: Window, theirs: Window, of_total: Window) -> tuple[int, int]:
    """Return the smallest and the largest sum of two counts among all sums with positive weight."""
    low = max(of_total.first, mine.first + theirs.first)
    high = min(of_total.last, mine.last + theirs.last)
    if low > high:
        raise ValueError(
            "the distribution of the share is not defined, because the sum of the two counts lies between "
            f"{mine.first + theirs.first} and {mine.last + theirs.last}, but must lie between {of_total.first} and "
            f"{of_total.last}: check the counts and the settings"
        )
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
    """Return the mean and the variance of a share, computed from sums over its numerator count s for every value n of
    its denominator. The variance is the variance between the components plus the mean variance within the components.
    """
    weight_sum = float(weights @ zero)
    if not weight_sum > 0:
        raise ValueError(
            "the distribution of the share is not defined, because all pairs of counts with a total from "
            f"{n[0]:g} to {n[-1]:g} have weight 0: check the counts and the settings"
        )
    shift = float(weights @ (one / n)) / weight_sum
    between = float(weights @ (two / n**2)) / weight_sum
    inside = c * (1 - c) * zero + (1 - 2 * c) * one / n - two / n**2
    within = float(weights @ (inside / (n + 1))) / weight_sum
    return ShareMoments(c + shift, between - shift**2 + within)


Triple = tuple[Window, Window, Window]


@dataclass(frozen=True)
class ShareWeights:
    """Weights of the possible values of the counts that determine a share: the count in the numerator, the other counts
    in the denominator, and the counts outside the denominator.

    Parameters
    ----------
    mine : weights of the count s inside.
    others, outside : weights of each other count, `others` not empty.
    total : sum of all counts.
    """

    mine: Window
    others: Sequence[Window]
    outside: Sequence[Window]
    total: int

    @cached_property
    def precise(self) -> Triple:
        """Weights of the possible values of s, t and s + t, where s is the count in the numerator of a share, and t is
        the sum of the other counts in the denominator. Each has a small relative error in the tails.
        """
        return self._combined(tails=True)

    @cached_property
    def bulk(self) -> Triple:
        """Weights of the possible values of s, t and s + t, where s is the count in the numerator of a share, and t is
        the sum of the other counts in the denominator. Each has a small absolute error. This accuracy is sufficient for
        moments. They are computed much faster than `precise` if convolutions are long.
        """
        return self._combined(tails=False)

    def _combined(self, *, tails: bool) -> Triple:
        theirs = self._sum(self.others, tails)
        of_total = self._sum(self.outside, tails).reflected(self.total) if self.outside else self._whole()
        return self.mine, theirs, of_total

    def _sum(self, parts: Sequence[Window], tails: bool) -> Window:
        return reduce(lambda a, b: convolve(a, b, largest=self.total, tails=tails), parts)

    def _whole(self) -> Window:
        return Window(self.total, np.ones(1))


@dataclass(frozen=True)
class PairWeights:
    """Weights of the possible values of three integers that determine a share: the count in the numerator, the sum of
    the other counts in the denominator, and the sum of all counts in the denominator.

    Parameters
    ----------
    mine, theirs, of_total : the weights, with small relative error.
    """

    mine: Window
    theirs: Window
    of_total: Window

    @property
    def total(self) -> int:
        """Largest possible sum of all counts in the denominator of the share."""
        return self.of_total.last

    @property
    def precise(self) -> Triple:
        """Weights of the possible values of s, t and s + t, where s is the count in the numerator of a share, and t is
        the sum of the other counts in the denominator. The weights have a small relative error in the tails.
        """
        return self.mine, self.theirs, self.of_total

    bulk = precise


DEEPEST = 600.0  # largest |log(x/(1 - x))| at which the density is evaluated
_LARGE, _FINE, _COARSE = 20_000, 1e-11, 1e-7  # larger totals use the coarser tolerance
_DEEPEST_LEVEL = float(np.log(1e-15))  # log of the smallest tail probability for which `error` holds
_LEAST_X, _MOST_X = float(expit(-40.0)), 1 - 2.0**-53


class ShareLaw(TailedLaw):
    """Distribution of a share x with x | s, t ~ Beta(alpha + s, beta + t), where s and t are random counts. The weight
    of the counts (s, t) is a product of three factors that depend on s, on t and on s + t.

    Probabilities above 1e-15 have the relative error `error`, and their logarithms have this absolute error. At
    quantiles of levels from 1e-15 to 1 - 1e-15, the smaller tail probability has this relative error.

    Parameters
    ----------
    weights : the weights of s, of t and of n = s + t.
    alpha, beta : > 0.

    Raises
    ------
    ValueError, TypeError
        If alpha or beta is not a finite number > 0.

    Notes
    -----
    The class has the same methods as `BetaMixture`. The memory is O(M) for any noise. At totals of 1,000,000, mean and
    variance take a few tenths of a second. The density and all results that depend on it take one to three seconds for
    the first call.
    """

    support = (0.0, 1.0)

    def __init__(self, weights: ShareWeights | PairWeights, *, alpha: float, beta: float) -> None:
        self.alpha, self.beta = _checks.positive("alpha", alpha), _checks.positive("beta", beta)
        self._weights = weights
        self._tolerance = _FINE if weights.total <= _LARGE else _COARSE

    def __getstate__(self) -> dict[str, object]:
        """Return the state for pickling without the arrays of the compiled kernel, which are recomputed after
        unpickling.
        """
        return {name: value for name, value in self.__dict__.items() if name not in ("_kernel", "_density")}

    def mean(self) -> float:
        """Return the expected value of the share, computed without interpolation."""
        return self._moments.mean

    def variance(self) -> float:
        """Return the variance of the share, computed without interpolation."""
        return self._moments.variance

    @cached_property
    def error(self) -> float:
        """Upper bound on the relative error of the interpolated density. It also bounds the relative error of any
        probability, and of the smaller tail probability at a quantile, for tails down to 1e-15.

        The bound is the largest of |integral - 1|, the error of the mean in standard deviations, the relative error of
        the variance, and the relative error of the density at three points between the nodes of every panel.
        """
        mean, sd = self.mean(), np.sqrt(self.variance())

        def powers(z: NDArray[np.float64]) -> NDArray[np.float64]:
            x = (expit(z) - mean) / sd
            return np.stack([np.ones(len(x)), x, x**2])

        mass, first, second = self._density.moments(powers)
        return float(np.max(np.abs([mass - 1, first, second - 1, self._density.error(_DEEPEST_LEVEL)])))

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy status ``approximate`` of the share, with the error bound `error`. The mean and the variance do
        not depend on the interpolation.
        """
        reason = "relative error of density and probabilities: integral, mean, variance, points between the nodes"
        return Accuracy("approximate", self.error, reason)

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the density of the share at x in [0, 1]. The density is +inf at 0 (at 1) if a component with alpha + s
        < 1 (beta + t < 1) has positive weight.
        """
        points = _checks.fraction("x", x)
        out = np.exp(self._log_pdf(logit(np.clip(points.ravel(), _LEAST_X, _MOST_X)))).reshape(points.shape)
        for end, power in zip((0.0, 1.0), self._powers, strict=True):
            if power != 1:
                out = np.where(points == end, np.inf if power < 1 else 0.0, out)
        return out

    def mode(self) -> float | None:
        """Return the mode of the share, which is the point with the highest density. If the density is infinite at 0 or
        1, return the highest interior maximum, or None.
        """
        z = np.unique(np.concatenate([np.linspace(p.low, p.high, 41) for p in self._density.panels]))
        z = z[np.abs(z) < 36]
        if not len(z):
            return float(self.mean() > 0.5)
        logs = self._log_pdf(z)
        best = int(np.argmax(logs))
        if best in (0, len(z) - 1):
            if self._powers[best > 0] >= 1:
                return float(best > 0)
            peaks = np.flatnonzero((logs[1:-1] >= logs[:-2]) & (logs[1:-1] > logs[2:])) + 1
            if not len(peaks):
                return None
            best = int(peaks[np.argmax(logs[peaks])])
        return float(expit(self._summit(z[best - 1], z[best], z[best + 1])))

    def __repr__(self) -> str:
        return f"ShareLaw(mean {self.mean():.6g}, sd {self.variance() ** 0.5:.3g}, total {self._weights.total})"

    @property
    def smallest_shape(self) -> float:
        """Smallest first parameter of a component, see `BetaMixture`."""
        return self._powers[0]

    @cached_property
    def _powers(self) -> tuple[float, float]:
        """Return the smallest value of each of the two Beta parameters over all components. The density behaves like
        x^(power - 1) near 0 and like (1 - x)^(power - 1) near 1.
        """
        mine, theirs, _ = self._weights.precise
        return self.alpha + mine.first, self.beta + theirs.first

    @cached_property
    def _log_weight(self) -> float:
        """Return the log of the normalising constant of the density. The constant is the sum of the weights `precise`
        over all pairs of counts. The weights `bulk` may have another scale if they were truncated.
        """
        return log_weight(*self._weights.precise)

    @cached_property
    def _moments(self) -> ShareMoments:
        return share_moments(*self._weights.bulk, alpha=self.alpha, beta=self.beta)

    @cached_property
    def _density(self) -> PanelDensity:
        mean, sd = self.mean(), np.sqrt(self.variance())
        width = min(sd / (mean * (1 - mean)), 5.0)
        return PanelDensity(
            self._log_density, centre=float(logit(mean)), width=width, deepest=DEEPEST, tolerance=10 * self._tolerance
        )

    @cached_property
    def _kernel(self) -> beta_mixtures.Density:
        mine, theirs, of_total = self._weights.precise
        return beta_mixtures.Density(
            mine=mine.weights,
            theirs=theirs.weights,
            of_total=of_total.weights,
            alpha=self.alpha,
            beta=self.beta,
            first=(mine.first, theirs.first, of_total.first),
            tolerance=self._tolerance,
        )

    def _log_density(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the normalised log density of log(x/(1 - x)) for the share x, computed by the compiled kernel."""
        return self._kernel.at(z) - self._log_weight

    def _log_pdf(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._density.log_density(z) + np.logaddexp(0.0, z) + np.logaddexp(0.0, -z)

    def _summit(self, low: float, middle: float, high: float) -> float:
        """Return the point in [low, high] at which the slope of the log density changes its sign, or `middle` if there
        is no such point.
        """
        step = 1e-4 * (high - low)

        def slope(z: float) -> float:
            around = self._log_pdf(np.array([z - step, z + step]))
            return float(around[1] - around[0])

        if not slope(low) > 0 > slope(high):
            return middle
        return float(brentq(slope, low, high, xtol=1e-14))

    def _probability(self, x: ArrayLike, *, upper: bool) -> NDArray[np.float64]:
        return np.exp(self._log_probability(x, upper=upper))

    def _log_probability(self, x: ArrayLike, *, upper: bool) -> NDArray[np.float64]:
        points = _checks.fraction("x", x)
        logs = [self._density.log_tail(float(logit(p)), upper=upper) if 0 < p < 1 else
                (0.0 if (p == 0) == upper else -np.inf) for p in points.ravel()]  # fmt: skip
        return np.asarray(np.minimum(logs, 0.0)).reshape(points.shape)

    def _quantile(self, level: float) -> float:
        if level in (0.0, 1.0):
            return level
        log_level, upper = nearer_tail(level)
        return share_at(self._density.quantile(log_level, upper=upper))
