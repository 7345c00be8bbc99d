"""The Gaussian mechanism on vectors of counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from .. import _checks
from .._accounting import renyi


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
        """The mechanism that is (order, epsilon)-RDP.

        Parameters
        ----------
        epsilon : > 0.
        order : lambda >= 1.
        l2_squared : > 0; 2 where one record is replaced.

        Returns
        -------
        Gaussian
        """
        return cls(sigma=renyi.gaussian_sigma(epsilon, order=order, l2_squared=l2_squared))

    def sample(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release `values`.

        Parameters
        ----------
        values : numbers, any shape.
        rng : numpy Generator, one normal a value.

        Returns
        -------
        float64 of the same shape
        """
        values = np.asarray(values, dtype=float)
        return values + _checks.generator(rng).normal(0.0, self.sigma, values.shape)

    def pdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Density of the noise.

        Parameters
        ----------
        z : any shape, in units of the counts.

        Returns
        -------
        float64 of the shape of `z`
        """
        scaled = np.asarray(z, dtype=float) / self.sigma
        return np.asarray(np.exp(-0.5 * scaled**2) / (self.sigma * np.sqrt(2 * np.pi)))

    def variance(self) -> float:
        """Variance of the noise of one entry."""
        return self.sigma**2

    def renyi(self, *, order: float, l2_squared: float = 2.0) -> float:
        """Rényi cost of one release.

        Parameters
        ----------
        order : lambda >= 1.
        l2_squared : squared L2 sensitivity, > 0.

        Returns
        -------
        float
        """
        return renyi.gaussian(self.sigma, order=order, l2_squared=l2_squared)

    def delta(self, epsilon: ArrayLike, *, l2_squared: float = 2.0) -> NDArray[np.float64]:
        """Smallest delta, exactly (Balle and Wang 2018, Theorem 8).

        Parameters
        ----------
        epsilon : >= 0, any shape.
        l2_squared : squared L2 sensitivity, > 0.

        Returns
        -------
        float64 of the shape of `epsilon`

        Raises
        ------
        ValueError
            If an epsilon is negative or NaN.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        if not np.all(epsilon >= 0):
            raise ValueError(f"epsilon must be >= 0, got {epsilon.min()}")
        shift = np.sqrt(_checks.positive("l2_squared", l2_squared)) / self.sigma
        upper = log_ndtr(shift / 2 - epsilon / shift)
        lower = epsilon + log_ndtr(-shift / 2 - epsilon / shift)
        return np.asarray(np.exp(upper) * -np.expm1(np.minimum(lower - upper, 0.0)))
