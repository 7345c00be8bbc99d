"""The Gaussian mechanism on vectors of counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from .. import _checks
from .._accounting import renyi
from . import _normal_tails
from .families import GaussianFamily
from .noise_law import Array, Scale


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaussian(GaussianFamily):
    """Release x + noise with independent N(0, sigma^2) noise.

    Parameters
    ----------
    sigma : standard deviation > 0, in units of the counts; one number, or one a row.
    """

    sigma: Scale

    _word, _name, _said = "gaussian", "sigma", "sd"

    def __post_init__(self) -> None:
        self._set_parameter()

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
        return values + _checks.generator(rng).normal(0.0, self.by_row(values), values.shape)

    def pdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Density of the noise.

        Parameters
        ----------
        z : any shape, in units of the counts.

        Returns
        -------
        float64 of the shape of `z`
        """
        z = np.asarray(z, dtype=float)
        sigma = self.by_row(z)
        return np.asarray(np.exp(-0.5 * (z / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)))

    def variance(self) -> float | Array:
        """Variance of the noise of one entry."""
        return self._as_given(self.parameter**2)

    def halfwidth(self, log_mass: float) -> float | Array:
        """Distance that the noise exceeds with probability below exp(-log_mass), one a row."""
        return self._as_given(self.parameter * np.sqrt(2 * log_mass))  # 2 Phi(-x) <= exp(-x^2/2)

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

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(self._exponent(gaps, parameter) - np.log(parameter) - np.log(2 * np.pi) / 2)

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        return _normal_tails.log_between(low, high, parameter)
