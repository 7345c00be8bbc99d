"""One panel of an interpolated log density, and Gauss's rule on it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]
PLACES, WEIGHTS = np.polynomial.legendre.leggauss(28)


@dataclass(frozen=True)
class Panel:
    """log density on [low, high] as a Chebyshev series.

    Parameters
    ----------
    low, high : ends of the panel.
    series : float64 (n,), Chebyshev coefficients.
    """

    low: float
    high: float
    series: Array

    def log_density(self, z: Array) -> Array:
        """The interpolation at z."""
        return np.asarray(chebyshev.chebval((2 * z - self.low - self.high) / (self.high - self.low), self.series))

    def log_integral(self, low: float, high: float) -> float:
        """log of the integral over [low, high], by Gauss's rule."""
        half = (high - low) / 2
        if not half > 0:
            return -np.inf
        return float(logsumexp(self.log_density(low + half * (1 + PLACES)), b=half * WEIGHTS))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The log density at both ends."""
        low, high = self.log_density(np.array([self.low, self.high])).tolist()
        return low, high

    @cached_property
    def log_mass(self) -> float:
        """log of the integral over the whole panel."""
        return self.log_integral(self.low, self.high)

    def slope(self, z: float) -> float:
        """Derivative of the log density."""
        place = (2 * z - self.low - self.high) / (self.high - self.low)
        return float(chebyshev.chebval(place, chebyshev.chebder(self.series)) * 2 / (self.high - self.low))
