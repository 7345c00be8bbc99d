"""Sums and differences of independent noise terms, and confidence intervals for sums, differences and ratios of counts.

The distribution of a sum of noise is on a lattice, with bounds that hold exactly. Noise on the integers is added by
convolution of its probabilities. Other noise is replaced by the largest multiple of a step that it exceeds, so that the
sum lies between the lattice value and the lattice value plus the total of the steps; tail probabilities are evaluated
at the end that makes them larger. Mass beyond the lattice is added to both tails.

A signed sum s of counts is in the confidence set if P(noise >= low - s) > alpha/2 and P(noise <= high - s) > alpha/2,
where low and high limit the sum of the noisy values and the noise is the sum of the noise terms. A ratio r = a/b is in
the confidence set if 0 is in the confidence set of a - r b, whose noise is N_a - r N_b for any b (Fieller 1954, here
with the exact distribution of the noise). The confidence set of a ratio may have no upper limit.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._mechanisms.noise_law import AddedNoise, Array
from .._results.convolutions import convolved_once

_LOG_MASS = 36.0  # exp(-36) = 2e-16 of each noise is beyond its lattice
_POINTS = 2**13  # largest number of lattice points of one noise term on each side of 0
_DIRECT = 5e7  # largest number of products for which a convolution is computed directly, with a small relative error


@dataclass(frozen=True)
class NoiseSum:
    """Distribution of a sum of independent noise terms.

    Parameters
    ----------
    step : distance between lattice values.
    first : lattice value of the first probability, in steps.
    mass : probabilities of first, first + 1, .. in steps.
    slack : largest amount by which the sum exceeds its lattice value; 0 if the sum is on the lattice.
    lost : upper bound on the probability beyond the lattice.
    """

    step: float
    first: int
    mass: Array
    slack: float
    lost: float

    @property
    def exact(self) -> bool:
        """Return whether the sum of the noise terms takes only values on the lattice."""
        return self.slack == 0

    @cached_property
    def variance(self) -> float:
        """Variance of the sum of the noise terms on the lattice, if this sum is symmetrically distributed about 0."""
        lattice = (self.first + np.arange(len(self.mass))) * self.step
        return float(self.mass @ lattice**2)

    @cached_property
    def _above(self) -> Array:
        """Probability that the sum of the noise terms is at least the lattice value, for each lattice value."""
        return np.append(np.cumsum(self.mass[::-1])[::-1], 0.0)

    @cached_property
    def _below(self) -> Array:
        """Probability that the sum of the noise terms is smaller than the lattice value, for each lattice value."""
        return np.append(0.0, np.cumsum(self.mass))

    def right(self, distance: ArrayLike) -> Array:
        """Return the probability P(sum >= distance) that the sum of the noise terms is at least `distance`. If the sum
        is not on a lattice, return an upper bound on this probability.
        """
        positions = np.ceil((np.asarray(distance, float) - self.slack) / self.step - 1e-9) - self.first
        return np.asarray(
            np.minimum(self._above[np.clip(positions, 0, len(self.mass)).astype(np.int64)] + self.lost, 1.0)
        )

    def left(self, distance: ArrayLike) -> Array:
        """Return the probability P(sum <= distance) that the sum of the noise terms is at most `distance`. If the sum
        is not on a lattice, return an upper bound on this probability.
        """
        positions = np.floor(np.asarray(distance, float) / self.step + 1e-9) - self.first + 1
        return np.asarray(
            np.minimum(self._below[np.clip(positions, 0, len(self.mass)).astype(np.int64)] + self.lost, 1.0)
        )

    def largest(self, tail: float, side: str) -> float:
        """Return the largest distance h at which a tail probability of the sum exceeds `tail`. The tail probability is
        P(sum >= h) for the side ``"right"`` and P(sum <= -h) for the side ``"left"``.
        """
        lattice = (self.first + np.arange(len(self.mass))) * self.step
        if side == "right":
            good = self.right(lattice + self.slack) > tail
            return float(lattice[good][-1] + self.slack)
        good = self.left(lattice) > tail
        return float(-lattice[good][0])


def added(terms: Sequence[tuple[Any, int]]) -> NoiseSum:
    """Return the distribution of a sum of multiples of independent symmetric noise terms.

    Parameters
    ----------
    terms : (distribution of symmetric noise with one parameter, multiple), at least one term. Multiples are nonzero
        integers; their signs have no effect, because the noise is symmetric.

    Returns
    -------
    NoiseSum
        The sum is on the integers and has no slack if all noise is on the integers and narrow enough for the lattice.
    """
    widths = [float(noise.halfwidth(_LOG_MASS)) for noise, _ in terms]
    step = max(widths) / _POINTS
    if all(noise.discrete for noise, _ in terms):
        step = max(1.0, float(np.ceil(step)))
    total: NoiseSum | None = None
    for (noise, multiple), often in Counter((noise, abs(m)) for noise, m in terms).items():
        one = _stretched(_one(noise, step), multiple)
        for _ in range(often):
            total = one if total is None else convolved(total, one)
    if total is None:
        raise ValueError("terms must contain at least one noise distribution, got none")
    return total


def _one(noise: AddedNoise, step: float) -> NoiseSum:
    """Return the lattice distribution of a single noise term."""
    n = int(np.ceil(float(noise.halfwidth(_LOG_MASS)) / step)) + 1
    indices = np.arange(-n, n + 1)
    low, high, slack = indices * step, (indices + 1) * step, step
    if noise.discrete:
        low, high = np.ceil(low), np.ceil(high) - 1
        slack = step - 1 if step == np.floor(step) else step
    mass, nonempty = np.zeros(len(indices)), high >= low
    mass[nonempty] = np.exp(noise.log_within(low[nonempty], high[nonempty], noise.by_row(np.zeros(()))))
    return NoiseSum(step, -n, mass, slack, max(1 - float(mass.sum()), 0.0) + 2 * float(np.exp(-_LOG_MASS)))


def _stretched(one: NoiseSum, multiple: int) -> NoiseSum:
    if multiple == 1:
        return one
    mass = np.zeros((len(one.mass) - 1) * multiple + 1)
    mass[::multiple] = one.mass
    return NoiseSum(one.step, one.first * multiple, mass, one.slack * multiple, one.lost)


def convolved(a: NoiseSum, b: NoiseSum) -> NoiseSum:
    """Return the distribution of the sum of two independent sums of noise terms on lattices with the same step."""
    if len(a.mass) * len(b.mass) <= _DIRECT:
        mass, error = np.convolve(a.mass, b.mass), 0.0
    else:
        mass, error = convolved_once(a.mass, b.mass), 1e-13
    keep = np.flatnonzero(mass > 1e-25)
    first, last = int(keep[0]), int(keep[-1]) + 1
    dropped = float(mass[:first].sum() + mass[last:].sum())
    lost = a.lost + b.lost + dropped + error
    return NoiseSum(a.step, a.first + b.first + first, mass[first:last], a.slack + b.slack, lost)


def boundary(accepts: Callable[[float], bool], bad: float, good: float, rounds: int) -> float:
    """Return the last rejected value in a bisection between a rejected and an accepted value.

    Parameters
    ----------
    accepts : whether a value is accepted.
    bad, good : a rejected and an accepted value.
    rounds : number of bisections.

    Returns
    -------
    float
    """
    for _ in range(rounds):
        middle = (bad + good) / 2
        bad, good = (bad, middle) if accepts(middle) else (middle, good)
    return float(bad)


def outermost(accepts: Callable[[float], bool], grid: Array, rounds: int) -> tuple[float, float, bool] | None:
    """Return the smallest and the largest value that a test does not reject, and whether the set of these values has a
    gap.

    Parameters
    ----------
    accepts : whether a value is accepted, that is, not rejected by the test.
    grid : values in increasing order.
    rounds : number of bisections between an accepted point of the grid and its rejected neighbour.

    Returns
    -------
    (lower, upper, gaps)
        Both ends are rounded outwards. None if no point of the grid is accepted.
    """
    accepted = np.flatnonzero([accepts(float(value)) for value in grid])
    if not accepted.size:
        return None
    first, last = int(accepted[0]), int(accepted[-1])
    lower, upper = float(grid[first]), float(grid[last])
    if first > 0:
        lower = boundary(accepts, float(grid[first - 1]), lower, rounds)
    if last < len(grid) - 1:
        upper = boundary(accepts, float(grid[last + 1]), upper, rounds)
    return lower, upper, bool(accepted.size < last - first + 1)


_ANGLES = 721  # number of ratios in the grid, equally spaced in angle
_REFINED = 45  # bisection steps that refine each end of the grid


@dataclass(frozen=True)
class SignedSum:
    """Signed sum of counts, with limits for the sum of the noisy values and with the distribution of the sum of the
    noise terms.

    Parameters
    ----------
    low, high : limits of the signed sum of noisy values that the release implies; infinite if there is no limit.
    noise : distribution of the signed sum of the noise.
    """

    low: float
    high: float
    noise: NoiseSum

    def interval(self, level: float) -> tuple[float, float]:
        """Return the smallest and the largest sum in the confidence set, as integers. A limit that does not exist is
        infinite.

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
        """Return the p-value of a test of the hypothesis that the signed sum of the counts has a given value.

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
    """Ratio of two non-negative sums of counts. The confidence set of the ratio is computed by Fieller's method.

    Parameters
    ----------
    top, bottom : numerator and denominator, which have no count in common.
    """

    top: SignedSum
    bottom: SignedSum

    def accepts(self, angle: float, level: float) -> bool:
        """Return whether the confidence set contains the ratio tan(angle).

        Parameters
        ----------
        angle : in [0, pi/2]; pi/2 is an infinite ratio, with denominator 0.
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
        """Return an upper bound on P(a N_top - b N_bottom >= distance), the tail probability of a weighted difference
        of two noise terms. N_top and N_bottom are the noise of the numerator and of the denominator. The bound is the
        exact probability if the noise is on a lattice.
        """
        n, mass = _support(self.bottom.noise)
        if a == 0:
            return float(self.bottom.noise.left(-distance / b))
        tails = self.top.noise.right((distance + b * n) / a - 1e-9)
        return min(float(mass @ tails) + self.bottom.noise.lost, 1.0)

    def _left(self, a: float, b: float, distance: float) -> float:
        n, mass = _support(self.bottom.noise)
        if a == 0:
            return float(self.bottom.noise.right(-distance / b))
        tails = self.top.noise.left((distance + b * (n + self.bottom.noise.slack)) / a + 1e-9)
        return min(float(mass @ tails) + self.bottom.noise.lost, 1.0)

    def interval(self, level: float) -> tuple[float, float, bool] | None:
        """Return the smallest and the largest ratio in the confidence set. Also return whether the confidence set has a
        gap between these limits.

        Parameters
        ----------
        level : in (0, 1).

        Returns
        -------
        (lower, upper, gaps)
            The ends are rounded outwards; upper is inf if the ratio has no upper limit. The result is None if the
            confidence set is empty.
        """
        angle_range = outermost(lambda angle: self.accepts(angle, level), self._grid(), _REFINED)
        return None if angle_range is None else (tangent(angle_range[0]), tangent(angle_range[1]), angle_range[2])

    def _grid(self) -> Array:
        """Return a grid of angles in [0, pi/2] that is dense near the angle whose tangent is the released ratio."""
        even = np.linspace(0.0, np.pi / 2, _ANGLES)
        top, bottom = (np.clip((s.low + s.high) / 2, 1.0, None) for s in (self.top, self.bottom))
        if not np.isfinite(top + bottom):
            return even
        centre = float(np.log(np.arctan2(top, bottom)))
        near = np.exp(centre + np.linspace(-8.0, 8.0, _ANGLES))
        return np.unique(np.concatenate([even, near[near < np.pi / 2]]))


def tangent(angle: float) -> float:
    """Return the tangent of an angle from 0 to pi/2, which is infinity at pi/2."""
    return float(np.tan(angle)) if angle < np.pi / 2 else float(np.inf)


def _scaled(factor: float, end: float) -> float:
    return 0.0 if factor == 0 else factor * end


def _support(noise: NoiseSum) -> tuple[Array, Array]:
    return np.asarray((noise.first + np.arange(len(noise.mass))) * noise.step, dtype=np.float64), noise.mass
