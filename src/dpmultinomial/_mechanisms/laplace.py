"""The Laplace mechanism on vectors of counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .families import LaplaceFamily
from .noise_law import Array, Scale


@dataclass(frozen=True, kw_only=True, eq=False)
class Laplace(LaplaceFamily):
    """Release x + noise with independent Laplace(scale) noise, density exp(-|z|/scale)/(2 scale).

    Parameters
    ----------
    scale : > 0, in units of the counts; one number, or one a row.
    """

    scale: Scale

    _word, _name = "laplace", "scale"

    def __post_init__(self) -> None:
        self._set_parameter()

    def sample(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release `values` (any shape): float64 of the same shape."""
        values = np.asarray(values, dtype=float)
        return values + _checks.generator(rng).laplace(0.0, self.by_row(values), values.shape)

    def pdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Density of the noise at z."""
        z = np.asarray(z, dtype=float)
        scale = self.by_row(z)
        return np.asarray(np.exp(-np.abs(z) / scale) / (2 * scale))

    def variance(self) -> float | Array:
        """Variance of the noise of one entry, 2 scale^2."""
        return self._as_given(2 * self.parameter**2)

    def halfwidth(self, log_mass: float) -> float | Array:
        """Distance that the noise exceeds with probability exp(-log_mass), one a row."""
        return self._as_given(self.parameter * log_mass)

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return self._exponent(gaps, parameter) - np.log(2 * parameter)

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        with np.errstate(divide="ignore"):
            return -low / parameter + np.log(-np.expm1(-(high - low) / parameter) / 2)
