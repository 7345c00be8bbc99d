"""Distribution of sums and differences of independent noise, on a lattice and with bounds that hold exactly.

Noise on the integers is added by convolution of its probabilities. Other noise is replaced by the largest multiple of
a step that it exceeds, so that the sum lies between the lattice value and the lattice value plus the total of the
steps; tail probabilities are evaluated at the end that makes them larger. Mass beyond the lattice is added to both
tails.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its signal processing loads on first use
from numpy.typing import ArrayLike

from .._mechanisms.noise_law import AddedNoise, Array

_LOG_MASS = 36.0  # exp(-36) = 2e-16 of each noise is beyond its lattice
_POINTS = 2**13  # most points of the lattice of one noise on each side of 0
_DIRECT = 5e7  # products up to which a convolution is direct, and relatively accurate


@dataclass(frozen=True)
class NoiseSum:
    """Distribution of a sum of independent noise terms.

    Parameters
    ----------
    step : distance between lattice values.
    first : lattice value of the first probability, in steps.
    mass : probabilities of first, first + 1, .. in steps.
    slack : largest amount by which the sum exceeds its lattice value; 0 if the sum is on the lattice.
    lost : probability beyond the lattice, at most.
    """

    step: float
    first: int
    mass: Array
    slack: float
    lost: float

    @property
    def exact(self) -> bool:
        """Return whether the sum is on the lattice."""
        return self.slack == 0

    def right(self, distance: ArrayLike) -> Array:
        """Return P(sum >= distance), or an upper bound of it if the sum is not on the lattice."""
        sums = np.append(np.cumsum(self.mass[::-1])[::-1], 0.0)
        at = np.ceil((np.asarray(distance, float) - self.slack) / self.step - 1e-9) - self.first
        return np.asarray(np.minimum(sums[np.clip(at, 0, len(self.mass)).astype(np.int64)] + self.lost, 1.0))

    def left(self, distance: ArrayLike) -> Array:
        """Return P(sum <= distance), or an upper bound of it if the sum is not on the lattice."""
        sums = np.append(0.0, np.cumsum(self.mass))
        at = np.floor(np.asarray(distance, float) / self.step + 1e-9) - self.first + 1
        return np.asarray(np.minimum(sums[np.clip(at, 0, len(self.mass)).astype(np.int64)] + self.lost, 1.0))

    def largest(self, tail: float, side: str) -> float:
        """Return the largest distance h with P(sum >= h) > tail for side ``"right"``, with P(sum <= -h) > tail for
        side ``"left"``.
        """
        at = (self.first + np.arange(len(self.mass))) * self.step
        if side == "right":
            good = self.right(at + self.slack) > tail
            return float(at[good][-1] + self.slack)
        good = self.left(at) > tail
        return float(-at[good][0])


def single(noise: Any, place: int) -> Any:
    """Return the noise distribution of a single row.

    Parameters
    ----------
    noise : distribution with one parameter, or one per row.
    place : position of the row.

    Returns
    -------
    AddedNoise
        With one parameter.
    """
    if noise.row_count is None:
        return noise
    part = noise.take(np.array([place]))
    return type(part)(**{part._name: float(part.parameter[0])})


def added(terms: Sequence[tuple[Any, int]]) -> NoiseSum:
    """Return the distribution of a sum of multiples of independent symmetric noise terms.

    Parameters
    ----------
    terms : (distribution of symmetric noise with one parameter, multiple), at least one; multiples are integers, not 0;
        the sign of a multiple has no effect, because the noise is symmetric.

    Returns
    -------
    NoiseSum
        On the integers without slack if all noise is on the integers and narrow enough for the lattice.
    """
    widths = [float(noise.halfwidth(_LOG_MASS)) for noise, _ in terms]
    step = max(widths) / _POINTS
    if all(noise.discrete for noise, _ in terms):
        step = max(1.0, float(np.ceil(step)))
    found: NoiseSum | None = None
    for (noise, multiple), often in Counter((noise, abs(m)) for noise, m in terms).items():
        one = _stretched(_one(noise, step), multiple)
        for _ in range(often):
            found = one if found is None else _convolved(found, one)
    if found is None:
        raise ValueError("terms: at least one noise distribution is required")
    return found


def _one(noise: AddedNoise, step: float) -> NoiseSum:
    """Return the lattice distribution of a single noise term."""
    n = int(np.ceil(float(noise.halfwidth(_LOG_MASS)) / step)) + 1
    at = np.arange(-n, n + 1)
    low, high, slack = at * step, (at + 1) * step, step
    if noise.discrete:
        low, high = np.ceil(low), np.ceil(high) - 1
        slack = step - 1 if step == np.floor(step) else step
    mass, some = np.zeros(len(at)), high >= low
    mass[some] = np.exp(noise.log_within(low[some], high[some], noise.by_row(np.zeros(()))))
    return NoiseSum(step, -n, mass, slack, max(1 - float(mass.sum()), 0.0) + 2 * float(np.exp(-_LOG_MASS)))


def _stretched(one: NoiseSum, multiple: int) -> NoiseSum:
    if multiple == 1:
        return one
    mass = np.zeros((len(one.mass) - 1) * multiple + 1)
    mass[::multiple] = one.mass
    return NoiseSum(one.step, one.first * multiple, mass, one.slack * multiple, one.lost)


def _convolved(a: NoiseSum, b: NoiseSum) -> NoiseSum:
    if len(a.mass) * len(b.mass) <= _DIRECT:
        mass, error = np.convolve(a.mass, b.mass), 0.0
    else:
        mass, error = np.maximum(scipy.signal.fftconvolve(a.mass, b.mass), 0.0), 1e-13
    keep = np.flatnonzero(mass > 1e-25)
    first, last = int(keep[0]), int(keep[-1]) + 1
    dropped = float(mass[:first].sum() + mass[last:].sum())
    lost = a.lost + b.lost + dropped + error
    return NoiseSum(a.step, a.first + b.first + first, mass[first:last], a.slack + b.slack, lost)
