"""Distribution of independent counts conditional on their sum, for large sums. The distribution is computed on windows
that contain all but a negligible part of the probability.

The weights of count i are a_i(s) = exp(theta s) prior(s) likelihood(s), with the tilt theta at which the unconditional
sum of the counts has a mean near the total; the tilt cancels given the total. A window contains the weights above
`SMALLEST` (or `SMALLEST_WIDE`, if the noise is wide) times the largest weight, so its length grows with the noise and
not with the total.

The weights are computed without listing all counts up to the total. The likelihood of additive noise is log-concave, so
a count whose weight is below the threshold on a coarse grid, on either side of the largest weight of the grid, bounds
the window. A prior with alpha < 1 is not log-concave, but it decreases from 0 to the total; its total decrease is added
to the threshold.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..._results import convolutions, joint
from .share_law import SMALLEST, ShareLaw, ShareWeights, Window, convolve, window

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
SMALLEST_WIDE = 1e-60  # the counterpart of `share_law.SMALLEST` for wide noise, far below any reported tail
NARROW = 400_000  # largest total number of weights of all counts that are kept down to `SMALLEST`
MOST = 4_000_000  # largest total number of weights of all counts
LISTED_COUNTS = 20_000  # largest number of counts for which the components of a share of all counts are listed
_GRID = 1001  # number of grid points in the search for a window
_ROUGH = 1e-15  # smallest relative weight that is used to determine the tilt
_NEGLIGIBLE = 1e-25  # counts with a smaller probability are neglected in pairs
_STEPS = 200

Logs = Callable[[Whole], Array]


def windows_of(likelihoods: Sequence[Logs], alpha: Array, total: int) -> list[Window]:
    """Return, for every count, a range of possible values with their exponentially tilted weights. The tilt is the same
    for all counts and depends on the given total of the counts.

    Parameters
    ----------
    likelihoods : log-concave functions from true counts, int64 (n,), to log weights, float64 (n,), up to a constant.
    alpha : float64 (k,), concentrations > 0 of the Dirichlet prior.
    total : sum of the counts.

    Returns
    -------
    list of Window

    Raises
    ------
    ValueError
        If the windows have more than `MOST` weights in total.
    """
    parts = [_Part(*one, total) for one in zip(likelihoods, alpha.tolist(), strict=True)]
    theta = _tilt(parts, total)
    for smallest in (SMALLEST, SMALLEST_WIDE):
        ends = [part.ends(theta, smallest) for part in parts]
        weights = sum(high - low + 1 for low, high in ends)
        if weights <= NARROW:
            break
    _refuse(weights, total)
    windows = []
    for part, (low, high) in zip(parts, ends, strict=True):
        logs = part.logs(np.arange(low, high + 1), theta)
        windows.append(window(np.exp(logs - logs.max()), first=low, smallest=smallest))
    return windows


def _refuse(weights: int, total: int) -> None:
    if weights > MOST:
        raise ValueError(
            f"the noise is too large for the total {total:,}, because {weights:,} true counts are possible, "
            f"more than the limit of {MOST:,}: set tighter bounds on the counts"
        )


class _Part:
    """Exponentially tilted log weights of a single count."""

    def __init__(self, likelihood: Logs, alpha: float, total: int) -> None:
        self.likelihood, self.alpha, self.total = likelihood, alpha, total
        self.fall = max(-float(self._prior(np.array([total]))[0]), 0.0) if alpha < 1 else 0.0

    def logs(self, counts: Whole, theta: float) -> Array:
        """Return the exponentially tilted log weights of given values of the count, up to a constant."""
        return np.asarray(self._concave(counts, theta) + (self._prior(counts) if self.alpha < 1 else 0.0))

    def ends(self, theta: float, smallest: float) -> tuple[int, int]:
        """Return the ends of a range that contains all counts with weights above `smallest` times the
        largest weight.
        """
        drop = self.fall - np.log(smallest)
        low, high = 0, self.total
        while True:
            grid = np.unique(np.linspace(low, high, _GRID).round().astype(np.int64))
            logs = self._concave(grid, theta)
            kept = np.flatnonzero(logs >= logs.max() - drop)
            first, last = int(grid[max(kept[0] - 1, 0)]), int(grid[min(kept[-1] + 1, len(grid) - 1)])
            if last - first > 0.9 * (high - low):
                return first, last
            low, high = first, last

    def moments(self, theta: float) -> tuple[float, float]:
        """Return the mean and the variance of the exponentially tilted distribution of the count."""
        low, high = self.ends(theta, _ROUGH)
        _refuse(high - low + 1, self.total)
        counts = np.arange(low, high + 1)
        logs = self.logs(counts, theta)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean = float(weights @ counts)
        return mean, float(weights @ (counts - mean) ** 2)

    def _concave(self, counts: Whole, theta: float) -> Array:
        logs = self.likelihood(counts) + theta * counts
        return np.asarray(logs + self._prior(counts) if self.alpha >= 1 else logs)

    def _prior(self, counts: Whole) -> Array:
        return np.asarray(gammaln(counts + self.alpha) - gammaln(counts + 1.0) - gammaln(self.alpha))


def _tilt(parts: Sequence[_Part], total: int) -> float:
    """Return an exponential tilt for which the mean of the sum of the counts differs from the total by at most one
    standard deviation.
    """
    theta, low, high, step = 0.0, -np.inf, np.inf, 1.0 / max(total, 1)
    for _ in range(_STEPS):
        moments = np.array([part.moments(theta) for part in parts])
        gap, variance = total - float(moments[:, 0].sum()), float(moments[:, 1].sum())
        if abs(gap) <= 0.5 or gap**2 <= variance:
            break
        low, high = (theta, high) if gap > 0 else (low, theta)
        new = theta + gap / variance if variance > 1e-12 else theta
        if np.isfinite(low) and np.isfinite(high):
            new = new if low < new < high else (low + high) / 2
        elif not 0 < abs(new - theta) <= step:
            new, step = theta + np.copysign(step, gap), 2 * step
        if new == theta:
            break
        theta = new
    return theta


class WindowedSumLaw:
    """Distribution of independent counts given their sum, computed on a range of possible values for each count.

    Parameters
    ----------
    windows : weights of every count, k >= 2, all with the tilt at which the unconditional sum is near the total.
    total : sum of the counts.

    Raises
    ------
    ValueError
        If no counts within the windows have this sum.

    Notes
    -----
    Cost: O(k w log w) time and O(k w) memory for windows of w weights.
    """

    least = 0.0  # every count has full relative accuracy even if it is improbable

    def __init__(self, windows: Sequence[Window], total: int) -> None:
        self.windows, self.total, self.categories = list(windows), total, len(windows)
        self._smallest = SMALLEST if sum(len(part.weights) for part in windows) <= NARROW else SMALLEST_WIDE
        self._runs: dict[tuple[int, int], Window] = {}
        least, most = sum(w.first for w in windows), sum(w.last for w in windows)
        if not least <= total <= most:
            raise ValueError(
                f"total must lie between {least} and {most} under the noise and the prior, got {total}: check the "
                "total, the noise and the bounds"
            )

    def located(self, category: int) -> Window:
        """Return the distribution of one count given the sum, as probabilities of consecutive counts."""
        others = [i for i in range(self.categories) if i != category]
        return _product(self.windows[category], self._sum_of(others).reflected(self.total))

    def marginal(self, category: int) -> Array:
        """Return the distribution of a count given the sum of all counts, as a float64 array of shape (total + 1,)."""
        return _at(self.located(category), 0, self.total + 1)

    def pair(self, inside: int, others: Sequence[int]) -> tuple[Whole, Whole, Array]:
        """Return the joint distribution of one count s and of the sum t of the counts in `others`. The distribution is
        given by arrays (s, t, weight) with one entry per pair.
        """
        return self._pairs(inside, others, _NEGLIGIBLE)

    def tails(self, inside: int, others: Sequence[int], negligible: float) -> tuple[Whole, Whole, Array]:
        """Return the joint distribution of one count and of the sum of the counts in `others`, with improbable pairs
        omitted. The total probability of the omitted pairs is below `negligible`.
        """
        return self._pairs(inside, others, negligible / (2 * self.total + 2))

    def _pairs(self, inside: int, others: Sequence[int], negligible: float) -> tuple[Whole, Whole, Array]:
        outside = self._outside(inside, others)
        mine, theirs = self.windows[inside], self._sum_of(others)
        if not outside:
            both = _product(mine, theirs.reflected(self.total))
            s = both.values()
            return s, self.total - s, both.weights
        rest = self._sum_of(outside)
        s, t = (
            law.values()[law.weights > negligible]
            for law in (
                _product(mine, self._convolved(theirs, rest).reflected(self.total)),
                _product(theirs, self._convolved(mine, rest).reflected(self.total)),
            )
        )
        s, t = (grid.ravel() for grid in np.meshgrid(s, t, indexing="ij"))
        left = self.total - s - t
        inner = (left >= rest.first) & (left <= rest.last)
        s, t, left = s[inner], t[inner], left[inner]
        return s, t, mine.weights[s - mine.first] * theirs.weights[t - theirs.first] * rest.weights[left - rest.first]

    def share(self, inside: int, others: Sequence[int], *, alpha: float, beta: float) -> ShareLaw | None:
        """Return the distribution of the share of category `inside` in the sum of the counts of the categories `inside`
        and `others`. Return None if this sum contains all counts and the share has few possible values, which are then
        listed instead.
        """
        listed = not self._outside(inside, others) and len(self.windows[inside].weights) <= LISTED_COUNTS
        return None if listed else self.interpolated(inside, others, alpha=alpha, beta=beta)

    def interpolated(self, inside: int, others: Sequence[int], *, alpha: float, beta: float) -> ShareLaw:
        """Return the distribution of a share by interpolation of its density. Tail probabilities have a small relative
        error.
        """
        outside = self._outside(inside, others)
        sums = [self._sum_of(others)], [self._sum_of(outside)] if outside else []
        return ShareLaw(ShareWeights(self.windows[inside], *sums, self.total), alpha=alpha, beta=beta)

    def draw(self, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors of counts given the sum of the counts, as an int64 array of shape (size, k) for k
        counts.
        """
        return self.together.draw(range(self.categories), size, rng=rng)

    @cached_property
    def together(self) -> joint.Coupled:
        """Joint distribution of all counts given their sum, for results that involve several counts."""
        factors = [convolutions.Window(part.first, part.weights).trimmed() for part in self.windows]
        return joint.Coupled(factors, convolutions.Window(self.total, np.ones(1)))

    def _outside(self, inside: int, others: Sequence[int]) -> list[int]:
        return sorted(set(range(self.categories)) - {inside, *others})

    def _sum_of(self, categories: Sequence[int]) -> Window:
        """Return the unnormalised probabilities of the sum of the counts of `categories`. The categories are sorted in
        increasing order, and the probabilities are computed from sums over ranges of consecutive categories.
        """
        runs: list[list[int]] = []
        for i in categories:
            if runs and runs[-1][-1] == i - 1:
                runs[-1].append(i)
            else:
                runs.append([i])
        weights_of_sum = self._run(runs[0][0], runs[0][-1])
        for run in runs[1:]:
            weights_of_sum = self._convolved(weights_of_sum, self._run(run[0], run[-1]))
        return weights_of_sum

    def _run(self, first: int, last: int) -> Window:
        if first == last:
            return self.windows[first]
        if (first, last) not in self._runs:
            if last == self.categories - 1:  # sums over the last counts are reused for several counts
                parts = self.windows[first], self._run(first + 1, last)
            else:
                parts = self._run(first, last - 1), self.windows[last]
            self._runs[first, last] = self._convolved(*parts)
        return self._runs[first, last]

    def _convolved(self, one: Window, other: Window) -> Window:
        return convolve(one, other, largest=self.total, smallest=self._smallest)


def _product(one: Window, other: Window) -> Window:
    """Return the product of two weight functions of the same integer, normalised to a sum of 1."""
    low, high = max(one.first, other.first), min(one.last, other.last)
    if low > high:
        raise ValueError(
            "the total is impossible given the noise and the bounds of the counts, because the sum of some of the "
            f"counts would have to lie in [{one.first}, {one.last}] and also in [{other.first}, {other.last}]: check "
            "the total and the bounds"
        )
    size = high - low + 1
    weights = _at(one, low, size) * _at(other, low, size)
    return Window(low, weights / weights.sum())


def _at(law: Window, first: int, size: int) -> Array:
    return convolutions.Window(law.first, law.weights).at(first, size)
