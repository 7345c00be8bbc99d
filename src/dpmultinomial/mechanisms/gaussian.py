"""The Gaussian mechanism on vectors of counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from .. import _checks
from ..accounting import renyi


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Release x + noise with independent N(0, sigma^2) noise.

    Parameters
    ----------
    sigma : standard deviation > 0, in units of the counts.
    """

    sigma: float

    def __post_init__(self) -> None:
        _checks.positive("sigma", self.sigma)

    @classmethod
    def calibrated_renyi(cls, epsilon: float, *, order: float, l2_squared: float = 2.0) -> "Gaussian":
        """The mechanism that is (order, epsilon)-RDP; `l2_squared` is 2 where one record is replaced."""
        return cls(sigma=renyi.gaussian_sigma(epsilon, order=order, l2_squared=l2_squared))

    def sample(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release `values` (any shape): float64 of the same shape."""
        values = np.asarray(values, dtype=float)
        return values + _checks.generator(rng).normal(0.0, self.sigma, values.shape)

    def pdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Density of the noise at z."""
        scaled = np.asarray(z, dtype=float) / self.sigma
        return np.exp(-0.5 * scaled**2) / (self.sigma * np.sqrt(2 * np.pi))

    def variance(self) -> float:
        """Variance of the noise of one entry."""
        return self.sigma**2

    def renyi(self, *, order: float, l2_squared: float = 2.0) -> float:
        """Rényi cost of one release."""
        return renyi.gaussian(self.sigma, order=order, l2_squared=l2_squared)

    def delta(self, epsilon: ArrayLike, *, l2_squared: float = 2.0) -> NDArray[np.float64]:
        """Smallest delta at `epsilon` >= 0, exactly (Balle and Wang 2018)."""
        epsilon = np.asarray(epsilon, dtype=float)
        shift = np.sqrt(_checks.positive("l2_squared", l2_squared)) / self.sigma
        upper = log_ndtr(shift / 2 - epsilon / shift)
        lower = epsilon + log_ndtr(-shift / 2 - epsilon / shift)
        return np.exp(upper) * -np.expm1(np.minimum(lower - upper, 0.0))
