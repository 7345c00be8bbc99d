"""Two-sided geometric noise on all whole numbers (the discrete Laplace law of Ghosh, Roughgarden and Sundararajan)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace:
    """Release count + D with P(D = d) = (1 - a)/(1 + a) a^|d|, a = exp(-1/scale), for every whole number d.

    Parameters
    ----------
    scale : > 0, in units of the counts; sensitivity/epsilon for epsilon-DP.

    Raises
    ------
    ValueError, TypeError
        If scale is not a finite number > 0.
    """

    scale: float

    def __post_init__(self) -> None:
        _checks.positive("scale", self.scale)

    @classmethod
    def calibrated(cls, epsilon: float, *, sensitivity: float) -> "DiscreteLaplace":
        """The mechanism that is epsilon-DP for whole numbers whose L1 norm changes by at most `sensitivity`.

        Parameters
        ----------
        epsilon : > 0.
        sensitivity : > 0; 2 for counts with a fixed total.
        """
        return cls(scale=_checks.positive("sensitivity", sensitivity) / _checks.positive("epsilon", epsilon))

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
        return np.asarray(-np.abs(gaps) / self.scale)

    def log_pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """log P(D = d); -inf at fractions."""
        d = np.asarray(d, dtype=float)
        logs = np.log(np.tanh(1 / (2 * self.scale))) - np.abs(d) / self.scale
        return np.where(d == np.floor(d), logs, -np.inf)

    def pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """P(D = d); 0 at fractions."""
        return np.exp(self.log_pmf(d))

    def variance(self) -> float:
        """Variance of the noise of one entry, 2 a/(1 - a)^2 = 1/(2 sinh(1/(2 scale))^2)."""
        return float(0.5 / np.sinh(min(0.5 / self.scale, 300.0)) ** 2)

    def epsilon(self, *, sensitivity: float) -> float:
        """Pure differential privacy that one release costs, exactly: sensitivity/scale."""
        return _checks.positive("sensitivity", sensitivity) / self.scale

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """A repeatable simulation: counts + the difference of two geometric draws. Not for confidential counts.

        Parameters
        ----------
        counts : whole numbers, any shape.
        rng : numpy Generator.
        """
        whole = np.asarray(_checks.whole_numbers("counts", counts), dtype=np.int64)
        chance = -np.expm1(-1 / self.scale)
        draws = _checks.generator(rng).geometric(chance, (2, *whole.shape))
        return np.asarray(whole + draws[0] - draws[1], dtype=np.int64)
