"""Tilts of products of independent counts coupled through their total, and the shortest transform a tilt allows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._mode_levels import Columns

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_RESERVE = 44.0  # exp(-44): what may wrap around, relative to the free sum
_DOWNWARD = 8.0  # steepest tilt towards 0, where windows end and nothing can overflow
_STEEPEST = 600.0  # largest exponent of a tilt inside a window


@dataclass(frozen=True)
class Frame:
    """What all products of a mixture share.

    Attributes
    ----------
    columns : Columns.
    low : int64 (U,), first true count of every column.
    totals : int64 (n,), rising by 1.
    log_g : float64 (n,), log factor of the total, prior included.
    log_prior : float64 (U, W), log prior weight of every true count.
    rate : epsilon, the steepest tilt at which sums over the whole line exist.
    endless : whether the noise goes beyond the grids; if not, nothing is neglected.
    """

    columns: Columns
    low: Whole
    totals: Whole
    log_g: Array
    log_prior: Array
    rate: float
    endless: bool

    @property
    def start(self) -> int:
        """Sum of the first true counts over all components."""
        return int(self.low @ self.columns.repeats)


class Tilted:
    """Cumulants of sum N - T under the product of factors and the factor of the total."""

    def __init__(self, frame: Frame, factors: Array) -> None:
        self.frame, self.factors = frame, factors / factors.max(axis=1, keepdims=True)
        self.log_scale = float(np.log(factors.max(axis=1)) @ frame.columns.repeats)
        self.x = np.arange(factors.shape[1], dtype=float)
        self.powers = np.stack([np.ones_like(self.x), self.x, self.x**2], axis=1)
        self.away = (frame.totals - frame.start).astype(float)
        self.steepest = min(frame.rate, _STEEPEST / factors.shape[1])

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Log sum, mean and variance of sum N - T."""
        repeats = self.frame.columns.repeats
        s0, s1, s2 = (self.factors @ (self.powers * np.exp(theta * self.x)[:, None])).T
        mean = s1 / s0
        tail = self.frame.log_g - theta * self.away
        g = np.exp(tail - tail.max())
        whole, mean_g = float(g.sum()), float(g @ self.away) / float(g.sum())
        variance_g = float(g @ (self.away - mean_g) ** 2) / whole
        log_sum = float(np.log(s0) @ repeats) + float(np.log(whole) + tail.max()) + self.log_scale
        return log_sum, float(mean @ repeats) - mean_g, float((s2 / s0 - mean**2) @ repeats) + variance_g

    def log_sum(self, theta: float) -> float:
        """The first of the cumulants alone."""
        tail = self.frame.log_g - theta * self.away
        of_total = float(np.log(np.exp(tail - tail.max()).sum()) + tail.max())
        sums = np.log(self.factors @ np.exp(theta * self.x))
        return float(sums @ self.frame.columns.repeats) + of_total + self.log_scale

    def weights(self, theta: float) -> tuple[Array, Array]:
        """Tilted factors and tilted factor of the total, scaled to sum 1 each."""
        h = self.factors * np.exp(theta * self.x)
        tail = self.frame.log_g - theta * self.away
        g = np.exp(tail - tail.max())
        return h / h.sum(axis=1, keepdims=True), g / g.sum()

    def best(self) -> float:
        """The tilt at which sum N - T has mean 0, to half a standard deviation; not steeper than the noise allows."""
        limit = 0.9 * self.steepest
        low, high, theta = -max(limit, _DOWNWARD), limit, 0.0
        for _ in range(40):
            _, mean, variance = self.cumulants(theta)
            if abs(mean) <= 0.5 * np.sqrt(max(variance, 0.0)) or high - low < 1e-6 * limit:
                break
            low, high = (low, theta) if mean > 0 else (theta, high)
            step = theta - mean / max(variance, 1e-300)
            theta = step if low < step < high else 0.5 * (low + high)
        return theta


def length_of(tilted: Tilted, theta: float, log_sum: float, variance: float) -> tuple[int, list[tuple[float, float]]]:
    """Length at which totals that wrap around have exp(-reserve) of the free sum, and the bounds it rests on.

    Parameters
    ----------
    tilted : Tilted.
    theta : the tilt.
    log_sum, variance : log of the free sum at that tilt, and its second cumulant.

    Returns
    -------
    (length, [(gap, log sum at theta +- gap), ..])
    """
    needed, bounds = 0.0, []
    for sign in (1.0, -1.0):
        room = (0.95 * tilted.steepest if sign > 0 else max(0.95 * tilted.steepest, _DOWNWARD + 1.0)) - sign * theta
        gaps = np.unique(
            np.minimum([0.05 * room, 0.15 * room, 0.4 * room, 0.8 * room, 6.0 / np.sqrt(max(variance, 1e-300))], room)
        )
        logs = [tilted.log_sum(theta + sign * gap) for gap in gaps]
        lengths = [(log_b - log_sum + _RESERVE) / gap for gap, log_b in zip(gaps, logs, strict=True)]
        best = int(np.argmin(lengths))
        needed = max(needed, lengths[best])
        bounds.append((float(gaps[best]), logs[best]))
    return int(np.ceil(needed)), bounds
