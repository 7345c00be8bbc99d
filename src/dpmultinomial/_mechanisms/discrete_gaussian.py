"""Discrete Gaussian noise on counts (Canonne, Kamath and Steinke 2020)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting import concentrated

_REACH = 40.0  # standard deviations: exp(-800) is nothing


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian:
    """Release count + D with P(D = d) proportional to exp(-d^2/(2 sigma^2)) for every whole number d.

    Parameters
    ----------
    sigma : > 0, in units of the counts; the variance of D is at most sigma^2.

    Raises
    ------
    ValueError, TypeError
        If sigma is not a finite number > 0.
    """

    sigma: float

    def __post_init__(self) -> None:
        _checks.positive("sigma", self.sigma)

    @classmethod
    def calibrated(cls, rho: float, *, l2_squared: float) -> "DiscreteGaussian":
        """The mechanism that is rho-zCDP for whole numbers whose squared L2 norm changes by at most `l2_squared`.

        Parameters
        ----------
        rho : > 0.
        l2_squared : > 0; 2 for counts with a fixed total.
        """
        return cls(sigma=concentrated.gaussian_sigma(rho, l2_squared=l2_squared))

    def log_weights(self, noisy: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """log P(release = noisy | count) up to a constant, by broadcasting.

        Parameters
        ----------
        noisy : whole numbers.
        counts : whole numbers, the possible true counts.

        Raises
        ------
        ValueError
            If a noisy count is no whole number: this law never releases one.
        """
        gaps = _checks.whole_numbers("noisy_counts", noisy) - np.asarray(counts, dtype=float)
        return np.asarray(-((gaps / self.sigma) ** 2) / 2)

    @cached_property
    def log_normaliser(self) -> float:
        """log of sum_d exp(-d^2/(2 sigma^2)), by the sum or, for sigma >= 1, by its Poisson transform: error 1e-15."""
        if self.sigma < 1:
            d = np.arange(1, int(_REACH * self.sigma) + 2)
            return float(np.log1p(2 * np.exp(-((d / self.sigma) ** 2) / 2).sum()))
        waves = np.exp(-2 * (np.pi * self.sigma * np.arange(1, 4)) ** 2).sum()
        return float(np.log(self.sigma) + np.log(2 * np.pi) / 2 + np.log1p(2 * waves))

    def log_pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """log P(D = d); -inf at fractions."""
        d = np.asarray(d, dtype=float)
        return np.where(d == np.floor(d), -((d / self.sigma) ** 2) / 2 - self.log_normaliser, -np.inf)

    def pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """P(D = d); 0 at fractions."""
        return np.exp(self.log_pmf(d))

    def variance(self) -> float:
        """Variance of the noise of one entry, a little below sigma^2."""
        if self.sigma < 1:
            d = np.arange(1, int(_REACH * self.sigma) + 2)
            return float(2 * (d**2 * np.exp(-((d / self.sigma) ** 2) / 2 - self.log_normaliser)).sum())
        n = np.arange(1, 4)
        waves = np.exp(-2 * (np.pi * self.sigma * n) ** 2)
        bend = 8 * self.sigma**4 * np.pi**2 * (n**2 * waves).sum() / (1 + 2 * waves.sum())
        return float(self.sigma**2 - bend)

    def rho(self, *, l2_squared: float) -> float:
        """Zero-concentrated differential privacy that one release costs: l2_squared/(2 sigma^2)."""
        return concentrated.gaussian(self.sigma, l2_squared=l2_squared)

    def epsilon(self, *, delta: float, l2_squared: float) -> float:
        """epsilon of (epsilon, delta)-DP that follows from the zCDP cost (an upper bound)."""
        return concentrated.to_dp(self.rho(l2_squared=l2_squared), delta=delta)

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """A repeatable simulation, by inversion of the tabulated law in float64. Not for confidential counts.

        Parameters
        ----------
        counts : whole numbers, any shape.
        rng : numpy Generator, one uniform an entry.
        """
        whole = np.asarray(_checks.whole_numbers("counts", counts), dtype=np.int64)
        reach = int(9 * self.sigma) + 2
        table = np.cumsum(self.pmf(np.arange(-reach, reach + 1)))
        u = _checks.generator(rng).random(whole.shape) * table[-1]
        return np.asarray(whole + np.searchsorted(table[:-1], u, side="right") - reach, dtype=np.int64)
