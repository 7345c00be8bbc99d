"""Discrete Gaussian noise on counts (Canonne, Kamath and Steinke 2020)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting import concentrated
from . import _discrete_tails
from .families import GaussianFamily
from .noise_law import Array, Scale, by_row

_TABULATED = 100_000.0  # sigma up to which draws look up a table


@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteGaussian(GaussianFamily):
    """Release count + D with P(D = d) proportional to exp(-d^2/(2 sigma^2)) for every whole number d.

    Parameters
    ----------
    sigma : > 0, in units of the counts; one number, or one a row. The variance of D is below sigma^2, noticeably where
        sigma < 1; what agencies publish as variance is sigma^2.

    Raises
    ------
    ValueError, TypeError
        If a sigma is not a finite number > 0.
    """

    sigma: Scale

    discrete = True
    _word, _name = "discrete_gaussian", "sigma"

    def __post_init__(self) -> None:
        self._set_parameter()

    @classmethod
    def published(cls, variance: ArrayLike) -> "DiscreteGaussian":
        """The law whose parameter sigma^2 is published as `variance`, as in the noisy measurement files of the Census.

        Parameters
        ----------
        variance : > 0, one number or one a row; not the variance of the noise, which is a little smaller.
        """
        return cls(sigma=_root("variance", variance))

    @cached_property
    def log_normaliser(self) -> float | Array:
        """log of sum_d exp(-d^2/(2 sigma^2)), by the sum or, for sigma >= 1, by its Poisson transform: error 1e-15."""
        return _discrete_tails.log_normaliser(self.sigma)

    def log_pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """log P(D = d); -inf at fractions."""
        d = np.asarray(d, dtype=float)
        norm = by_row("sigma", np.asarray(self.log_normaliser), d)
        return np.where(d == np.floor(d), -((d / self.by_row(d)) ** 2) / 2 - norm, -np.inf)

    def pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """P(D = d); 0 at fractions."""
        return np.exp(self.log_pmf(d))

    def variance(self) -> float | Array:
        """Variance of the noise of one entry, a little below sigma^2."""
        return _discrete_tails.variance(self.sigma, self.log_normaliser)

    def halfwidth(self, log_mass: float) -> float | Array:
        """Distance that the noise exceeds with probability below exp(-log_mass), one a row."""
        width = np.sqrt(2 * (log_mass + np.log(2)))  # P(D >= d) <= exp(-d^2/(2 sigma^2))
        return self._as_given(self.parameter * width + 1)

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
        rng : numpy Generator, one uniform an entry; by rejection where sigmas differ by row or no table holds the law.
        """
        whole = np.asarray(_checks.whole_numbers("counts", counts), dtype=np.int64)
        if self.row_count is not None or self.sigma > _TABULATED:
            noise = _discrete_tails.draw(np.broadcast_to(self.by_row(whole), whole.shape), _checks.generator(rng))
            return np.asarray(whole + noise, dtype=np.int64)
        reach = int(9 * self.sigma) + 2
        table = np.cumsum(self.pmf(np.arange(-reach, reach + 1)))
        u = _checks.generator(rng).random(whole.shape) * table[-1]
        return np.asarray(whole + np.searchsorted(table[:-1], u, side="right") - reach, dtype=np.int64)

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return self._exponent(gaps, parameter)

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        return _discrete_tails.log_sum(low, high, parameter)

    def _log_norm(self, parameter: Array) -> float | Array:
        return _discrete_tails.log_normaliser(parameter)


def _root(name: str, values: ArrayLike) -> float | Array:
    roots = np.sqrt(_checks.positives(name, values, np.size(values)))
    return float(roots[0]) if np.ndim(values) == 0 else roots
