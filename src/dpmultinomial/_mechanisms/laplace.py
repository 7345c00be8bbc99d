"""Continuous and discrete Laplace mechanisms on vectors of counts.

Discrete Laplace noise: two-sided geometric noise on all integers (Ghosh, Roughgarden and Sundararajan).

Truncated noise: two-sided geometric noise on counts, between -support and support, the mechanism of Wang (2020),
section 2.1.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.privacy_loss import DiscreteLaplaceLoss, LaplaceLoss, Mechanism
from .._kernels import geometric
from .additive_law import LaplaceFamily
from .noise_law import Array, Scale

_LARGEST_CHANGE = 10**6  # largest change of a count for which losses are listed


@dataclass(frozen=True, kw_only=True, eq=False)
class Laplace(LaplaceFamily):
    """Mechanism that releases x + noise with independent Laplace(scale) noise, whose density is exp(-|z|/scale)/(2
    scale).

    Parameters
    ----------
    scale : > 0, in units of the counts; one number, or one number per row.
    """

    scale: Scale

    _word, _name = "laplace", "scale"

    def __post_init__(self) -> None:
        self._set_parameter()

    def sample(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy versions of `values` of any shape, as a float64 array of the same shape."""
        values = np.asarray(values, dtype=float)
        return values + _checks.generator(rng).laplace(0.0, self.by_row(values), values.shape)

    def pdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Return the density of the noise at z."""
        z = np.asarray(z, dtype=float)
        scale = self.by_row(z)
        return np.asarray(np.exp(-np.abs(z) / scale) / (2 * scale))

    def variance(self) -> float | Array:
        """Return the variance of the noise of one entry, 2 scale^2."""
        return self._as_given(2 * self.parameter**2)

    def loss(self, change: float) -> Mechanism | None:
        """Return the privacy loss of a single count that changes by `change`."""
        return LaplaceLoss(float(self.parameter), change)

    def halfwidth(self, log_mass: float) -> float | Array:
        """Return, for each row, the distance that the absolute value of the noise exceeds with probability
        exp(-log_mass).
        """
        return self._as_given(self.parameter * log_mass)

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return self._exponent(gaps, parameter) - np.log(2 * parameter)

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        with np.errstate(divide="ignore"):
            return -low / parameter + np.log(-np.expm1(-(high - low) / parameter) / 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteLaplace(LaplaceFamily):
    """Mechanism that releases count + D with P(D = d) = (1 - a)/(1 + a) a^|d|, a = exp(-1/scale), for every integer d.

    Parameters
    ----------
    scale : > 0, in units of the counts; one number, or one number per row. For epsilon-DP, the scale is
        sensitivity/epsilon.

    Raises
    ------
    ValueError, TypeError
        If a scale is not a finite number > 0.
    """

    scale: Scale

    discrete = True
    _word, _name = "discrete_laplace", "scale"

    def __post_init__(self) -> None:
        self._set_parameter()

    def log_pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """Return log P(D = d) for the noise D, which is -inf if d is not an integer."""
        d = np.asarray(d, dtype=float)
        scale = self.by_row(d)
        logs = np.log(np.tanh(1 / (2 * scale))) - np.abs(d) / scale
        return np.where(d == np.floor(d), logs, -np.inf)

    def pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """Return the probability P(D = d) of the noise D, which is 0 if d is not an integer."""
        return np.exp(self.log_pmf(d))

    def variance(self) -> float | Array:
        """Return the variance of the noise in one count, 2 a/(1 - a)^2 = 1/(2 sinh(1/(2 scale))^2) with a =
        exp(-1/scale).
        """
        return self._as_given(0.5 / np.sinh(np.minimum(0.5 / self.parameter, 300.0)) ** 2)

    def loss(self, change: float) -> Mechanism | None:
        """Return the privacy loss of a single count that changes by the integer `change`. The largest allowed change is
        10^6.
        """
        known = change == int(change) and change <= _LARGEST_CHANGE
        return DiscreteLaplaceLoss(float(self.parameter), int(change)) if known else None

    def halfwidth(self, log_mass: float) -> float | Array:
        """Return, for each row, a distance that the absolute value of the noise exceeds with probability below
        exp(-log_mass).
        """
        return self._as_given(self.parameter * log_mass + 1)  # P(|D| > h) = 2 a^(h + 1)/(1 + a) <= a^h for integer h

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw noisy counts for a reproducible simulation, by adding the difference of two geometric draws to each
        count. Do not use this function for confidential counts.

        Parameters
        ----------
        counts : integers of any shape.
        rng : numpy Generator.
        """
        whole = np.asarray(_checks.integral("counts", counts), dtype=np.int64)
        chance = -np.expm1(-1 / self.by_row(whole))
        draws = _checks.generator(rng).geometric(chance, (2, *whole.shape))
        return np.asarray(whole + draws[0] - draws[1], dtype=np.int64)

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(np.log(np.tanh(0.5 / parameter)) - np.abs(gaps) / parameter)

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        count = np.log(-np.expm1(-(high - low + 1) / parameter))  # a^low (1 - a^(high - low + 1))/(1 + a)
        return np.asarray(-low / parameter + count - np.log1p(np.exp(-1 / parameter)))


def default_support(epsilon: float) -> int:
    """Return the default truncation point of two-sided geometric noise. It is ceil(50/epsilon) and at least 1; the
    paper uses 50 for epsilon = 1. The truncation adds less than exp(-50) to delta at any epsilon.

    Parameters
    ----------
    epsilon : privacy parameter of one count, > 0.

    Returns
    -------
    int

    Raises
    ------
    ValueError, TypeError
        If `epsilon` is not a finite number > 0.
    """
    return max(ceil(50 / _checks.positive("epsilon", epsilon)), 1)


@dataclass(frozen=True, kw_only=True)
class TwoSidedGeometric:
    """Mechanism that releases count + D with P(D = d) proportional to exp(-epsilon |d|) on -support..support.

    Parameters
    ----------
    epsilon : > 0, privacy parameter for counts that change by at most 1.
    support : integer >= 1. The paper truncates at 50, which adds `tail_delta` to the cost.
    """

    epsilon: float
    support: int = 50

    def __post_init__(self) -> None:
        _checks.positive("epsilon", self.epsilon)
        _checks.integer("support", self.support, least=1)

    def values(self) -> NDArray[np.int64]:
        """Return the possible values of the noise, which are the integers -support..support."""
        return np.arange(-self.support, self.support + 1)

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability P(D = d) that the noise D equals d, for every integer d in `values`."""
        return geometric.probabilities(self.epsilon, self.support)

    def pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """Return the probability P(D = d) of the noise D, which is 0 if d is outside the support or not an integer."""
        d = np.asarray(d, dtype=float)
        inside = (np.abs(d) <= self.support) & (d == np.floor(d))
        index = np.where(inside, d + self.support, 0).astype(np.int64)
        return np.where(inside, self.probabilities()[index], 0.0)

    def variance(self) -> float:
        """Return the variance of the noise, which is 2 a/(1 - a)^2 with a = exp(-epsilon) if the noise is not
        truncated.
        """
        return float(self.values() ** 2 @ self.probabilities())

    def tail_delta(self) -> float:
        """Return the privacy parameter delta that results from the truncation of the noise. It is the probability of
        outcomes that are impossible for a neighbouring data set. A release is (epsilon, tail_delta)-DP and not pure DP.
        """
        return float(self.probabilities()[0])

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a noisy version of every count in `counts`, an array of any shape."""
        counts = np.asarray(counts)
        if not np.issubdtype(counts.dtype, np.integer):
            raise TypeError(f"counts must contain integers, got dtype {counts.dtype}")
        noise = geometric.draw(counts.size, epsilon=self.epsilon, support=self.support, rng=rng)
        return counts + noise.reshape(counts.shape)
