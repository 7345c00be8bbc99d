"""Windows of noisy counts with a public or noisy total, and the joint posterior distribution of the counts.

Given the released values, the counts are independent up to a weight on their sum: a_i(n) is the prior times the
likelihood of count i, and g(N) is the likelihood of the total. All weights are tilted, to a_i(n) exp(theta n) and g(N)
exp(-theta N), with the theta at which the unconditional sum has the mean that the total implies. The tilts cancel, and
the windows contain the bulk of the posterior, even if the noisy counts and their total differ by a large amount. The
mass that windows neglect is bounded: likelihoods are log-concave, so a tail decreases at least geometrically. The bound
is the neglected unconditional mass times the largest weight of the total, divided by the evidence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..._mechanisms.exact import Exact
from ..._printing import steps
from ..._results.convolutions import SMALLEST, Window
from ..._results.joint import Coupled, Incompatible, free_sum
from . import conflict, windows
from .cells import Cells, Total
from .priors import Splits
from .windows import CountPrior

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_PLAIN_TAIL = 1e-7  # smallest tail probability for which an absolute accuracy of 1e-14 is sufficient
_ACCURATE = 1e-7  # smallest accurate weight of the sum of many counts, relative to the largest
_SLIGHT = 1e-3  # largest probability that windows may neglect under the tilt of an improbable sum
_FAR = 37.0  # minus the log of a negligible weight of a sum, relative to the largest
_MOST_TILTS = 60  # largest number of tilts that are joined
_TOGETHER = 1 << 20  # number of values of windows that are computed together
_ENTRIES = 50_000_000  # largest total number of entries of all windows
_WIDEST = 2_000_000  # largest number of values of one count, and of their sum
SHARED = 1000  # smallest number of counts for which equal counts share a window
# the means of the unconditional sum and of the total are matched within this number of standard deviations
_NEAR = 0.1


class TooWide(ValueError):
    """Error that is raised if the counts have too many possible values to compute the distribution of their sum."""


@dataclass(frozen=True)
class Leaves:
    """Ranges (windows) of possible counts with their log weights, in arrays with one row per count.

    Parameters
    ----------
    low, width : float64 (k,), first count and number of counts of a window.
    logs : float64 (sum of all widths,), log of prior times likelihood, in the order of the windows.
    left, right : float64 (k, 2), logs of upper bounds on the first two weights beyond either end, starting with the
        nearest; -inf if a bound of the count ends the window.
    times : float64 (k,), number of counts with the same window.
    growth : float64 (k,), largest ratio of consecutive prior weights beyond the right end.
    """

    low: Array
    width: Array
    logs: Array
    left: Array
    right: Array
    growth: Array
    times: Array

    @classmethod
    def of(
        cls, cells: Cells, priors: Sequence[CountPrior], log_mass: float, times: Array | None = None
    ) -> "Leaves | None":
        """Return the windows (ranges of possible values) of the given counts, or None if a window is empty.

        Parameters
        ----------
        cells : noisy counts with finite bounds.
        priors : one prior per count.
        log_mass : log mass of a window, as in `windows.spans`.
        times : float64 (k,), number of equal counts that each row represents; None: 1.

        Returns
        -------
        Leaves or None

        Raises
        ------
        TooWide
            If a window is infinite, or the windows are too wide in total.
        """
        k = len(cells)
        low, high, lower, upper = np.empty(k), np.empty(k), cells.lower.copy(), cells.upper.copy()
        kinds: dict[int, tuple[CountPrior, list[int]]] = {}
        for i, prior in enumerate(priors):
            kinds.setdefault(id(prior), (prior, []))[1].append(i)
        for prior, members in kinds.values():
            rows = np.array(members)
            low[rows], high[rows] = windows.spans(cells.take(rows), prior, log_mass)
            lower[rows], upper[rows] = np.maximum(lower[rows], prior.first), np.minimum(upper[rows], prior.last)
        low, high = np.where(cells.measured, low, lower), np.where(cells.measured, high, upper)
        if (high < low).any():
            return None
        width = high - low + 1
        if not (width.sum() <= _ENTRIES and width.max() <= _WIDEST):
            raise TooWide(_too_wide(width, shared=times is not None and bool((times > 1).any())))
        ends = np.stack([low - 1, low - 2, high + 1, high + 2], axis=1)
        beyond = np.zeros(ends.shape)
        seen = np.flatnonzero(cells.measured)
        beyond[seen] = cells.noise.take(seen).log_likelihood(cells.released[seen, None], ends[seen])
        growth = np.ones(k)
        for prior, members in kinds.values():
            rows = np.array(members)
            beyond[rows] += prior.peak if np.isfinite(prior.peak) else prior.log_weights(ends[rows])
            if isinstance(prior, Splits) and prior.alpha > 1:
                growth[rows] = (high[rows] + 1 + prior.alpha) / (high[rows] + 2)
        beyond[low <= lower, :2] = -np.inf
        beyond[high >= upper, 2:] = -np.inf
        times = np.ones(k) if times is None else times
        logs = _log_weights(cells, priors, low, width)
        if (np.maximum.reduceat(logs, np.append(0, np.cumsum(width[:-1])).astype(np.int64)) == -np.inf).any():
            return None
        return cls(low, width, logs, beyond[:, :2], beyond[:, 2:], growth, times)

    def tilt(self, sums: Array, root: Array) -> float:
        """Return the exponential tilt under which the unconditional sum of the counts has approximately the same mean
        as the total.

        Parameters
        ----------
        sums : float64 (n,), possible totals.
        root : float64 (n,), log weight of each possible total.

        Returns
        -------
        float
        """
        low, high, step = -np.inf, np.inf, 1e-3
        theta = 0.0
        for _ in range(400):
            mean, variance = self.moments(theta)
            weights = np.exp(root - theta * sums - (root - theta * sums).max())
            total = float(weights @ sums / weights.sum())
            spread = variance + float(weights @ (sums - total) ** 2 / weights.sum())
            if abs(total - mean) <= _NEAR * np.sqrt(max(spread, 1e-300)):
                break
            low, high = (theta, high) if total > mean else (low, theta)
            new = theta + (total - mean) / spread if spread > 0 else np.copysign(np.inf, total - mean)
            if np.isfinite(low) and np.isfinite(high):
                new = new if low < new < high else (low + high) / 2
            elif not abs(new - theta) <= step:
                new, step = theta + np.copysign(step, total - mean), 2 * step
            if new == theta:
                break
            theta = float(new)
        return theta

    def moments(self, theta: float) -> tuple[float, float]:
        """Return the mean and the variance of the unconditional sum of the counts under an exponential tilt."""
        mean, spread = np.empty(len(self.low)), np.empty(len(self.low))
        for rows, part in _row_blocks(self.width):
            weights = self._scaled(rows, part, theta)[0]
            y = np.arange(float(weights.shape[1]))
            sums, means, squares = (weights @ np.stack([np.ones_like(y), y, y * y], axis=1)).T
            mean[rows] = means / sums
            spread[rows] = np.maximum(squares / sums - mean[rows] ** 2, 0.0)
        return float((self.times * (self.low + mean)).sum()), float((self.times * spread).sum())

    def tilted(self, theta: float) -> list[Window]:
        """Return, for each count, the exponentially tilted weights of its possible values."""
        out = np.empty(len(self.logs))
        for rows, part in _row_blocks(self.width):
            weights = self._scaled(rows, part, theta)[0]
            out[part] = weights[np.arange(weights.shape[1]) < self.width[rows, None]]
        parts = np.split(out, np.cumsum(self.width[:-1]).astype(np.int64))
        return [Window(int(first), part) for first, part in zip(self.low, parts, strict=True)]

    def neglected(self, theta: float) -> float:
        """Return an upper bound on the probability outside the tabulated ranges (windows) of the counts. The bound is
        computed from exponentially tilted weights, without conditioning on the total.
        """
        log_totals, last = self._log_totals(theta), self.width - 1
        bound = 0.0
        for ends, end_counts, sign, growth in (
            (self.left, np.zeros(len(last)), -1.0, np.ones(len(last))),
            (self.right, last, 1.0, self.growth),
        ):
            nearest = ends[:, 0] + theta * (end_counts + sign) - log_totals
            with np.errstate(invalid="ignore", over="ignore"):
                fall = np.exp(ends[:, 1] - ends[:, 0] + sign * theta) * growth
                tail = np.where(fall < 1, np.exp(nearest) / (1 - fall), np.inf)
            bound += float((self.times * np.where(ends[:, 0] == -np.inf, 0.0, tail)).sum())
        return bound

    def log_total(self, theta: float) -> float:
        """Return the log of the sum of all products of tilted weights, one weight per count."""
        return float((self.times * (self._log_totals(theta) + theta * self.low)).sum())

    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest sum of counts in the windows."""
        return float((self.times * self.low).sum()), float((self.times * (self.low + self.width - 1)).sum())

    def evidence(self, theta: float, sums: Array, weights: Array) -> float:
        """Return twice the normal approximation to the expected weight of the unconditional sum under an exponential
        tilt. The result is limited to at most 1, which is valid if no weight exceeds 1.
        """
        mean, variance = self.moments(theta)
        density = np.exp(-((sums - mean) ** 2) / (2 * variance + 1)) / np.sqrt(np.pi * (2 * variance + 1))
        return min(2 * float(density @ weights), 1.0)

    def _log_totals(self, theta: float) -> Array:
        log_totals = np.empty(len(self.low))
        for rows, part in _row_blocks(self.width):
            weights, tops = self._scaled(rows, part, theta)
            log_totals[rows] = tops + np.log(weights.sum(axis=1))
        return log_totals

    def _scaled(self, rows: slice, part: slice, theta: float) -> tuple[Array, Array]:
        """Return the weights of the selected counts under an exponential tilt, scaled to a largest weight of 1 in every
        row, and the log of the largest weight of every row. The positions in `logs` are `part`.
        """
        width = self.width[rows, None]
        offsets = np.arange(float(width.max()))
        weights = np.full((len(width), len(offsets)), -np.inf)
        weights[offsets < width] = self.logs[part]
        if theta:
            weights += theta * offsets
        tops = weights.max(axis=1)
        weights -= tops[:, None]
        return np.exp(weights, out=weights), tops


def _row_blocks(width: Array) -> Iterator[tuple[slice, slice]]:
    """Yield consecutive parts of the windows of counts, each as a pair of the range of rows and the range of entries in
    the array of all windows. The windows of a part have at most `_TOGETHER` values if they are extended to the widest
    window of the part. A wider window is a separate part.
    """
    ends = np.append(0, np.cumsum(width)).astype(np.int64)
    start = 0
    while start < len(width):
        widest = np.maximum.accumulate(width[start : start + max(_TOGETHER // int(width[start]), 1)])
        sizes = widest * np.arange(1, len(widest) + 1)
        stop = start + max(int(np.searchsorted(sizes, _TOGETHER, side="right")), 1)
        yield slice(start, stop), slice(int(ends[start]), int(ends[stop]))
        start = stop


def _log_weights(cells: Cells, priors: Sequence[CountPrior], low: Array, width: Array) -> Array:
    """Return the log of prior times likelihood for every possible count, concatenated over all windows."""
    out = np.empty(int(width.sum()))
    kinds = list({id(prior): prior for prior in priors}.values())
    place = {id(prior): i for i, prior in enumerate(kinds)}
    which = np.array([place[id(prior)] for prior in priors])
    for rows, part in _row_blocks(width):
        first, offsets = low[rows], np.arange(width[rows].max())
        logs = np.zeros((len(first), len(offsets)))
        seen = cells.measured[rows]
        if seen.any():
            places = np.flatnonzero(seen) + rows.start
            law = cells.noise.take(places)
            logs[seen] = law.log_likelihood(cells.released[places, None], first[seen, None] + offsets)
        for kind in np.unique(which[rows]):
            members = which[rows] == kind
            logs[members] += _at_counts(kinds[kind], first[members], offsets)
        out[part] = logs[offsets < width[rows, None]]
    return out


def _at_counts(prior: CountPrior, first: Array, offsets: Array) -> Array:
    """Return the log prior weights of the counts first + offsets, as an array with one row per element of `first`. Each
    count is evaluated once if the counts overlap.
    """
    least, size = first.min(), first.max() - first.min() + len(offsets)
    if size > len(first) * len(offsets):
        return prior.log_weights(first[:, None] + offsets)
    table = prior.log_weights(least + np.arange(size))
    return np.asarray(table[(first[:, None] - least + offsets).astype(np.int64)])


def _too_wide(width: Array, *, shared: bool) -> str:
    """Return the error message for windows with too many possible counts. If `shared` is true, every window belongs to
    a group of equal counts.
    """
    kinds = f"{len(width):,} {'different noisy' if shared else 'true'} counts in the total"
    if width.max() > _WIDEST:
        fault = f"each of the {kinds} has up to {width.max():.3g} possible values"
    else:
        fault = f"the {kinds} have {width.sum():.3g} possible values together"
    limit = _WIDEST if width.max() > _WIDEST else _ENTRIES
    return f"{fault}, more than the limit of {limit:,}: set tighter bounds on the counts, or more informative priors"


_ENOUGH = 1000  # largest number of counts for which the first log mass is sufficient
_LOG_MASS = (45.0, 60.0, 180.0, 720.0, 2880.0, 11_520.0, 46_080.0, 184_320.0, 737_280.0)


@dataclass(frozen=True)
class Solved:
    """Joint posterior of counts that are coupled by their total.

    Parameters
    ----------
    together : joint distribution of the counts.
    error : upper bound on the neglected posterior probability.
    theta : tilt.
    log_total : log of the sum of all products of tilted weights, one weight per count.
    """

    together: Coupled
    error: float
    theta: float
    log_total: float


def solve(cells: Cells, priors: Sequence[CountPrior], total: Total) -> Solved:
    """Compute the joint posterior distribution of counts and their total.

    Parameters
    ----------
    cells : noisy counts, all valid; lower bounds are finite.
    priors : one prior per count.
    total : public information about the sum.

    Returns
    -------
    Solved

    Raises
    ------
    ValueError
        If counts and total are incompatible, or windows would be too wide.

    Notes
    -----
    Cost: O(k w log k) memory and O(k w log w) time for k counts and windows of w.
    """
    kinds = _kinds(cells, priors)
    extra = float(np.log(max(len(cells) / _ENOUGH, 1.0)))  # the neglected probability is a sum over all counts
    for log_mass in steps(_LOG_MASS, len(_LOG_MASS), "window widths at most"):
        attempt = None  # releases the memory of the previous attempt
        attempt = _attempt(cells, priors, total, log_mass + extra, kinds)
        if attempt is not None and attempt.error <= windows.NEGLECTED:
            return attempt
    raise ValueError(
        f"no counts within the bounds are consistent with the total {total.released:g}, or the total requires noise of "
        "more than 1,200 standard deviations: check the total, the noise and the bounds"
    )


def tail_of_total(cells: Cells, priors: Sequence[CountPrior], total: Total, solved: Solved) -> float:
    """Return the smaller tail probability of the released total, given the released counts.

    Parameters
    ----------
    cells, priors, total : arguments of `solve`; `conflict.has_tails` is true for the noise of the total.
    solved : joint posterior of the counts, whose sum is tilted to the released total.

    Returns
    -------
    float
        NaN if the counts do not determine the distribution of their sum: because a count was not measured and its prior
        is improper, or because the prior of the sum is as informative as the counts. For many counts, probabilities
        below 1e-7 can have a relative error of 1e-3.
    """
    rows, which = _kinds(cells, priors)
    part, kinds, times = cells.take(rows), [priors[i] for i in rows], np.bincount(which).astype(np.float64)
    rough, law = len(cells) >= SHARED, None
    try:
        for log_mass in _LOG_MASS:
            leaves = Leaves.of(part, kinds, log_mass, times)
            law = None if leaves is None else _law_of_sum(leaves, which, total, rough=rough)
            if law is not None:
                break
    except TooWide:
        return np.nan
    if law is None:
        return np.nan
    log_scale, probabilities = float(logsumexp(law[1])), np.exp(law[1] - logsumexp(law[1]))
    tail = conflict.of_mixture(total.released, total.noise, law[0], probabilities)
    if tail >= _PLAIN_TAIL or not isinstance(total.noise, Exact):
        return tail
    # all weights on this side of a public total are accurate if the sum is tilted to the total
    side = "low" if total.released < probabilities @ law[0] else "high"
    sums, logs = _untilted(solved.together.free.normalised(), solved.theta, solved.log_total, total)
    return conflict.of_mixture(total.released, total.noise, sums, np.exp(logs - log_scale), side=side)


def _law_of_sum(leaves: Leaves, which: Whole, total: Total, *, rough: bool) -> tuple[Array, Array] | None:
    """Return the possible sums of the counts, and the logs of their weights including the prior of the sum.

    The weights of a sum are accurate near the mean of the tilted sum, and the prior can move the mean by many standard
    deviations. The weights are therefore assembled from several tilted distributions, from the first tilt outwards,
    until the weights at both ends are negligible. The result is None if this takes more than `_MOST_TILTS` tilts, or if
    the windows neglect too much.
    """
    theta = _balance(leaves, total)
    if not leaves.neglected(theta) <= windows.NEGLECTED:
        return None
    least, most = leaves.ends()
    first, logs, edges = _near(leaves, which, total, theta, rough=rough)
    tilts, moves = {-1: theta, 1: theta}, {-1: 0.0, 1: 0.0}
    for _ in steps(range(_MOST_TILTS), _MOST_TILTS, "tilts of the sum at most"):
        last, top = first + len(logs) - 1, float(logs.max()) - _FAR
        if edges[0] > top and first > least:
            side, end = -1, first
        elif edges[1] > top and last < most:
            side, end = 1, last
        else:
            return np.arange(first, last + 1).astype(np.float64), logs
        if not moves[side]:
            mean, variance = leaves.moments(tilts[side])
            moves[side] = side * max(side * (end - mean) / max(variance, 1e-300), 0.5 / np.sqrt(variance + 1e-2))
        theta = tilts[side] + moves[side]
        low, more, further = _near(leaves, which, total, theta, rough=rough)
        high = low + len(more) - 1
        if low > last + 1 or high < first - 1:  # the ranges do not touch
            moves[side] /= 2
        elif (side < 0 and low < first) or (side > 0 and high > last):
            if not leaves.neglected(theta) <= _SLIGHT:
                return None
            logs = np.concatenate([more[: first - low], logs] if side < 0 else [logs, more[last - low + 1 :]])
            first, edges = (low, (further[0], edges[1])) if side < 0 else (first, (edges[0], further[1]))
            tilts[side], moves[side] = theta, 0.0
        else:  # nothing new is covered
            moves[side] *= 2
    return None


def _balance(leaves: Leaves, total: Total) -> float:
    """Return an approximation of the exponential tilt that is equal to the slope of the log prior of the sum at the
    mean of the tilted sum.
    """
    theta = 0.0
    for _ in range(20):
        mean, variance = leaves.moments(theta)
        slope, curvature = total.slope(mean)
        step = (slope - theta) / max(1 - curvature * variance, 0.5) if variance > 0 else 0.0
        if not step * step * variance > _NEAR * _NEAR:
            break
        theta += step
    return theta


def _near(
    leaves: Leaves, which: Whole, total: Total, theta: float, *, rough: bool
) -> tuple[int, Array, tuple[float, float]]:
    """Return the first sum whose weight is accurate under a given tilt, the log weights of this sum and of the
    following sums, and upper bounds on the log weights of the sums just beyond both ends.
    """
    smallest = _ACCURATE if rough else SMALLEST
    law = free_sum(leaves.tilted(theta), which, tails=not rough).normalised()
    kept = np.flatnonzero(law.weights > smallest * law.weights.max())
    weights = law.weights[kept[0] : kept[-1] + 1]
    weights = np.concatenate([[smallest * weights.max()], weights, [smallest * weights.max()]])
    first, logs = _untilted(Window(law.first + int(kept[0]) - 1, weights), theta, leaves.log_total(theta), total)
    return int(first[1]), logs[1:-1], (float(logs[0]), float(logs[-1]))


def _untilted(law: Window, theta: float, log_total: float, total: Total) -> tuple[Array, Array]:
    """Remove the exponential tilt from the probabilities of the sums of the counts, and return the possible sums and
    their log weights, including the prior of the sum.
    """
    sums = law.values().astype(np.float64)
    return sums, law.log_weights() - theta * sums + log_total + total.log_prior(sums)


Kinds = tuple[NDArray[np.int64], NDArray[np.int64]]  # one row per group of equal counts, and every row's group


def _kinds(cells: Cells, priors: Sequence[CountPrior]) -> Kinds:
    """Group the counts that are equal and have equal priors. Return the position of one count per group, and the group
    index of every count. If there are few counts, every count is a separate group.
    """
    if len(cells) < SHARED:
        every = np.arange(len(cells))
        return every, every
    places: dict[int, int] = {}
    prior_index = np.array([places.setdefault(id(prior), len(places)) for prior in priors], dtype=np.int64)
    return np.unique(cells.kinds[1] * len(places) + prior_index, return_index=True, return_inverse=True)[1:]


def _sums(cells: Cells, total: Total, log_mass: float) -> tuple[float, float]:
    """Return the smallest and the largest possible sum of the counts, given the released total."""
    ends = total.noise.reach(np.array([total.released]), log_mass)
    least, most = float(cells.lower.sum()), float(cells.upper.sum())
    half = np.ceil(np.asarray(total.noise.halfwidth(log_mass)))
    low, high = windows.around(np.floor(ends[0]), np.ceil(ends[1]), half, least, most)
    first, last = max(float(low[0]), least), min(float(high[0]), most)
    if not last - first < _WIDEST:
        raise ValueError(
            f"{last - first + 1:.3g} sums of the true counts are possible given the noise in the total, which is more "
            f"than the limit of {_WIDEST:,}: set tighter bounds on the counts"
        )
    return first, last


def _attempt(cells: Cells, priors: Sequence[CountPrior], total: Total, log_mass: float, kinds: Kinds) -> Solved | None:
    first, last = _sums(cells, total, log_mass)
    least, most = float(cells.lower.sum()), float(cells.upper.sum())
    rows, which = kinds
    part = cells.take(rows)
    capped = replace(part, upper=np.minimum(part.upper, part.lower + last - least))
    leaves = Leaves.of(capped, [priors[i] for i in rows], log_mass, np.bincount(which).astype(np.float64))
    if leaves is None:
        return None
    sums = np.arange(first, last + 1)
    around = total.log_weights(np.array([first - 2, first - 1, last + 1, last + 2]))
    root = total.log_weights(sums)
    if root.max() == -np.inf:
        return None
    theta = leaves.tilt(sums, root)
    tilted = root - theta * sums
    weights = np.exp(tilted - tilted.max())
    neglected, log_total = leaves.neglected(theta), leaves.log_total(theta)
    if len(cells) >= SHARED and not neglected <= windows.NEGLECTED * leaves.evidence(theta, sums, weights):
        return None  # without the computation of the joint distribution
    try:
        together = Coupled(leaves.tilted(theta), Window(int(first), weights), which=which)
    except Incompatible:
        return None
    beyond = around - theta * np.array([first - 2, first - 1, last + 1, last + 2]) - tilted.max()
    cut = _root_tail(beyond[[1, 0]], first > least) + _root_tail(beyond[[2, 3]], last < most)
    free = together.free.normalised()
    kept = float(free.weights @ Window(int(first), weights).at(free.first, len(free.weights)))
    return Solved(together, (neglected + cut) / kept, theta, log_total)


def _root_tail(logs: Array, open_end: bool) -> float:
    """Return the largest weight of a total beyond one end of the computed range of totals, or 0 if the range ends at a
    bound. This is the first weight beyond the end if the weights decrease, and otherwise infinity.
    """
    if not open_end or logs[0] == -np.inf:
        return 0.0
    return float(np.exp(logs[0])) if logs[1] <= logs[0] else np.inf
