"""Two-sided geometric noise on all whole numbers (the discrete Laplace law of Ghosh, Roughgarden and Sundararajan)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .families import LaplaceFamily
from .noise_law import Array, Scale


@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteLaplace(LaplaceFamily):
    """Release count + D with P(D = d) = (1 - a)/(1 + a) a^|d|, a = exp(-1/scale), for every whole number d.

    Parameters
    ----------
    scale : > 0, in units of the counts; one number, or one a row; sensitivity/epsilon for epsilon-DP.

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
        """log P(D = d); -inf at fractions."""
        d = np.asarray(d, dtype=float)
        scale = self.by_row(d)
        logs = np.log(np.tanh(1 / (2 * scale))) - np.abs(d) / scale
        return np.where(d == np.floor(d), logs, -np.inf)

    def pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """P(D = d); 0 at fractions."""
        return np.exp(self.log_pmf(d))

    def variance(self) -> float | Array:
        """Variance of the noise of one entry, 2 a/(1 - a)^2 = 1/(2 sinh(1/(2 scale))^2)."""
        return self._as_given(0.5 / np.sinh(np.minimum(0.5 / self.parameter, 300.0)) ** 2)

    def halfwidth(self, log_mass: float) -> float | Array:
        """Distance that the noise exceeds with probability below exp(-log_mass), one a row."""
        return self._as_given(self.parameter * log_mass + 1)  # P(|D| > h) = 2 a^(h + 1)/(1 + a) <= a^h for whole h

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """A repeatable simulation: counts + the difference of two geometric draws. Not for confidential counts.

        Parameters
        ----------
        counts : whole numbers, any shape.
        rng : numpy Generator.
        """
        whole = np.asarray(_checks.whole_numbers("counts", counts), dtype=np.int64)
        chance = -np.expm1(-1 / self.by_row(whole))
        draws = _checks.generator(rng).geometric(chance, (2, *whole.shape))
        return np.asarray(whole + draws[0] - draws[1], dtype=np.int64)

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(np.log(np.tanh(0.5 / parameter)) - np.abs(gaps) / parameter)

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        count = np.log(-np.expm1(-(high - low + 1) / parameter))  # a^low (1 - a^(high - low + 1))/(1 + a)
        return np.asarray(-low / parameter + count - np.log1p(np.exp(-1 / parameter)))
