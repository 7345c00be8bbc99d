"""Confidence intervals of sums, differences and ratios of counts with independent added noise.

A signed sum s of counts is accepted if P(noise >= low - s) > alpha/2 and P(noise <= high - s) > alpha/2, where low and
high limit the sum of the noisy values and the noise is the sum of the noise terms. A ratio r = a/b is accepted by the
same rule for a - r b = 0, whose noise is N_a - r N_b, whatever b is (Fieller 1954, here with the exact distribution of
the noise). The accepted ratios may have no upper limit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._mechanisms.noise_law import Array
from .noise_sums import NoiseSum

_ANGLES = 721  # grid of ratios, at equal angles
_REFINED = 45  # bisections of the step of the grid at both ends


@dataclass(frozen=True)
class SignedSum:
    """A signed sum of counts: the limits of the sum of their noisy values, and the distribution of their noise.

    Parameters
    ----------
    low, high : limits of the signed sum of noisy values that the release implies; infinite if there is none.
    noise : distribution of the signed sum of the noise.
    """

    low: float
    high: float
    noise: NoiseSum

    def interval(self, level: float) -> tuple[float, float]:
        """Return the smallest and largest accepted sum, integers, or infinite if there is no limit.

        Parameters
        ----------
        level : in (0, 1).

        Returns
        -------
        lower, upper : float
            The set is empty if lower > upper.
        """
        least = (1 - level) / 2
        lower = self.low - self.noise.largest(least, "right")
        upper = self.high + self.noise.largest(least, "left")
        return float(np.ceil(lower - 1e-9)), float(np.floor(upper + 1e-9))

    def pvalue(self, value: float, side: str) -> float:
        """Return the p-value of a hypothetical sum.

        Parameters
        ----------
        value : hypothetical signed sum.
        side : ``"two"``, ``"right"`` (against larger sums) or ``"left"``.

        Returns
        -------
        float
        """
        right, left = float(self.noise.right(self.low - value)), float(self.noise.left(self.high - value))
        return min({"two": 2 * min(left, right), "left": left, "right": right}[side], 1.0)

    def coverage(self, level: float) -> float:
        """Return a lower bound on the probability that the interval covers the true sum."""
        least = (1 - level) / 2
        if not self.noise.exact:
            return level
        above = self.noise.right(self.noise.largest(least, "right") + self.noise.step)
        below = self.noise.left(-self.noise.largest(least, "left") - self.noise.step)
        return min(float(1 - above - below) + 2 * self.noise.lost, 1.0)


@dataclass(frozen=True)
class Ratio:
    """Ratio of two sums of counts >= 0, for confidence sets by Fieller's method.

    Parameters
    ----------
    top, bottom : numerator and denominator, of different counts.
    """

    top: SignedSum
    bottom: SignedSum

    def accepts(self, angle: float, level: float) -> bool:
        """Return whether the ratio tan(angle) is accepted.

        Parameters
        ----------
        angle : in [0, pi/2]; pi/2 stands for an infinite ratio, a denominator of 0.
        level : in (0, 1).

        Returns
        -------
        bool
        """
        a, b = max(float(np.cos(angle)), 0.0), float(np.sin(angle))  # tests a top - b bottom = 0
        if angle >= np.pi / 2:
            a, b = 0.0, 1.0
        low, high = _scaled(a, self.top.low) - _scaled(b, self.bottom.high), _scaled(a, self.top.high)
        high -= _scaled(b, self.bottom.low)
        least = (1 - level) / 2
        return self._right(a, b, low) > least and self._left(a, b, high) > least

    def _right(self, a: float, b: float, distance: float) -> float:
        """Return an upper bound on P(a N_top - b N_bottom >= distance); exact without slack."""
        n, mass = _support(self.bottom.noise)
        if a == 0:
            return float(self.bottom.noise.left(-distance / b))
        found = self.top.noise.right((distance + b * n) / a - 1e-9)
        return min(float(mass @ found) + self.bottom.noise.lost, 1.0)

    def _left(self, a: float, b: float, distance: float) -> float:
        n, mass = _support(self.bottom.noise)
        if a == 0:
            return float(self.bottom.noise.right(-distance / b))
        found = self.top.noise.left((distance + b * (n + self.bottom.noise.slack)) / a + 1e-9)
        return min(float(mass @ found) + self.bottom.noise.lost, 1.0)

    def interval(self, level: float) -> tuple[float, float, bool] | None:
        """Return the smallest and the largest accepted ratio, and whether a ratio of the grid between is rejected.

        Parameters
        ----------
        level : in (0, 1).

        Returns
        -------
        (lower, upper, gaps)
            The ends are rounded outwards; upper is inf if the ratio has no upper limit. None if no ratio is accepted.
        """
        angles = self._grid()
        good: NDArray[np.bool_] = np.array([self.accepts(float(angle), level) for angle in angles])
        at = np.flatnonzero(good)
        if not at.size:
            return None
        first, last = int(at[0]), int(at[-1])
        lower = 0.0 if first == 0 else float(np.tan(self._end(angles[first - 1], angles[first], level)))
        upper = np.inf
        if last < len(angles) - 1:
            upper = float(np.tan(self._end(angles[last + 1], angles[last], level)))
        return lower, upper, bool(at.size < last - first + 1)

    def _grid(self) -> Array:
        """Return angles, dense around that of the released ratio."""
        even = np.linspace(0.0, np.pi / 2, _ANGLES)
        top, bottom = (np.clip((s.low + s.high) / 2, 1.0, None) for s in (self.top, self.bottom))
        if not np.isfinite(top + bottom):
            return even
        centre = float(np.log(np.arctan2(top, bottom)))
        near = np.exp(centre + np.linspace(-8.0, 8.0, _ANGLES))
        return np.unique(np.concatenate([even, near[near < np.pi / 2]]))

    def _end(self, bad: float, good: float, level: float) -> float:
        for _ in range(_REFINED):
            middle = (bad + good) / 2
            bad, good = (bad, middle) if self.accepts(middle, level) else (middle, good)
        return float(bad)


def _scaled(factor: float, end: float) -> float:
    return 0.0 if factor == 0 else factor * end


def _support(noise: NoiseSum) -> tuple[Array, Array]:
    return np.asarray((noise.first + np.arange(len(noise.mass))) * noise.step, dtype=np.float64), noise.mass
