"""Windows of the counts below one total, tilted together, and a bound of what they neglect."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._results.whole import Window
from . import windows
from .cells import Cells
from .priors import CountPrior, Splits

Array = NDArray[np.float64]
_ENTRIES = 50_000_000  # of all windows together
_STEEPEST = 600.0  # of a tilt
_NEAR = 0.1  # sds of the free sum to which its mean is brought to that of the total


@dataclass(frozen=True)
class Leaves:
    """One row a count.

    Parameters
    ----------
    low, width : float64 (k,), first count and number of counts of a window.
    counts : float64 (k, widest).
    logs : float64 (k, widest), log of prior times likelihood; -inf beyond a window.
    left, right : float64 (k, 2), log of a bound of the first two weights beyond either end, nearest first; -inf where a
        bound of the count ends the window.
    growth : float64 (k,), largest factor by which the prior's weights rise beyond the right end, from one to the next.
    """

    low: Array
    width: Array
    counts: Array
    logs: Array
    left: Array
    right: Array
    growth: Array

    @classmethod
    def of(cls, cells: Cells, priors: Sequence[CountPrior], log_mass: float) -> "Leaves | None":
        """Windows of these counts; None where one of them is empty.

        Parameters
        ----------
        cells : noisy counts with finite bounds.
        priors : one a count.
        log_mass : as of `windows.spans`.

        Returns
        -------
        Leaves or None

        Raises
        ------
        ValueError
            If a window has no end, or all are too wide together.
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
        widest = float((high - low).max()) + 1
        if not k * widest <= _ENTRIES:
            raise ValueError(f"windows of {widest:.3g} for each of {k} counts are too wide: give bounds or priors")
        counts = low[:, None] + np.arange(int(widest))
        ends = np.stack([low - 1, low - 2, high + 1, high + 2], axis=1)
        likelihood, beyond = np.zeros(counts.shape), np.zeros(ends.shape)
        seen = np.flatnonzero(cells.measured)
        law = cells.noise.take(seen)
        likelihood[seen] = law.log_likelihood(cells.released[seen, None], counts[seen])
        beyond[seen] = law.log_likelihood(cells.released[seen, None], ends[seen])
        growth = np.ones(k)
        for prior, members in kinds.values():
            rows = np.array(members)
            likelihood[rows] += prior.log_weights(counts[rows])
            beyond[rows] += prior.peak if np.isfinite(prior.peak) else prior.log_weights(ends[rows])
            if isinstance(prior, Splits) and prior.alpha > 1:
                growth[rows] = (high[rows] + 1 + prior.alpha) / (high[rows] + 2)
        beyond[low <= lower, :2] = -np.inf
        beyond[high >= upper, 2:] = -np.inf
        likelihood[counts > high[:, None]] = -np.inf
        return cls(low, high - low + 1, counts, likelihood, beyond[:, :2], beyond[:, 2:], growth)

    def tilt(self, sums: Array, root: Array) -> float:
        """The tilt under which the free sum and the total have the same mean, nearly.

        Parameters
        ----------
        sums : float64 (n,), possible totals.
        root : float64 (n,), log of the weight of each.

        Returns
        -------
        float
        """
        low, high, step = -np.inf, np.inf, 1e-3
        theta = 0.0
        for _ in range(400):
            mean, variance = self._moments(theta)
            weights = np.exp(root - theta * sums - (root - theta * sums).max())
            total = float(weights @ sums / weights.sum())
            spread = variance + float(weights @ (sums - total) ** 2 / weights.sum())
            if abs(total - mean) <= _NEAR * np.sqrt(max(spread, 1e-300)) or abs(theta) > _STEEPEST:
                break
            low, high = (theta, high) if total > mean else (low, theta)
            new = theta + (total - mean) / spread
            if np.isfinite(low) and np.isfinite(high):
                new = new if low < new < high else (low + high) / 2
            elif not abs(new - theta) <= step:
                new, step = theta + np.copysign(step, total - mean), 2 * step
            if new == theta:
                break
            theta = float(new)
        return theta

    def tilted(self, theta: float) -> list[Window]:
        """The windows under a tilt."""
        logs = self.logs + theta * (self.counts - self.counts[:, :1])
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return [
            Window(int(first), row[: int(size)]) for first, size, row in zip(self.low, self.width, weights, strict=True)
        ]

    def neglected(self, theta: float) -> float:
        """Bound of the free probability outside the windows under a tilt: geometric tails."""
        logs = self.logs + theta * (self.counts - self.counts[:, :1])
        whole = np.logaddexp.reduce(logs, axis=1)
        last = self.width - 1
        bound = 0.0
        for ends, at, sign, growth in (
            (self.left, np.zeros(len(last)), -1.0, np.ones(len(last))),
            (self.right, last, 1.0, self.growth),
        ):
            nearest = ends[:, 0] + theta * (at + sign) - whole
            with np.errstate(invalid="ignore", over="ignore"):
                fall = np.exp(ends[:, 1] - ends[:, 0] + sign * theta) * growth
                tail = np.where(fall < 1, np.exp(nearest) / (1 - fall), np.inf)
            bound += float(np.where(ends[:, 0] == -np.inf, 0.0, tail).sum())
        return bound

    def _moments(self, theta: float) -> tuple[float, float]:
        logs = self.logs + theta * (self.counts - self.counts[:, :1])
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        mean = (weights * self.counts).sum(axis=1)
        return float(mean.sum()), float((weights * (self.counts - mean[:, None]) ** 2).sum())
