"""The Laplace mechanism on vectors of counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Release x + noise with independent Laplace(scale) noise, density exp(-|z|/scale)/(2 scale).

    Parameters
    ----------
    scale : > 0, in units of the counts.
    """

    scale: float

    def __post_init__(self) -> None:
        _checks.positive("scale", self.scale)

    @classmethod
    def calibrated(cls, epsilon: float, *, sensitivity: float) -> "Laplace":
        """The mechanism that is epsilon-DP for queries whose L1 norm changes by at most `sensitivity`.

        Counts that add up to a fixed total have sensitivity 2: one record that moves changes two of them.
        """
        return cls(scale=_checks.positive("sensitivity", sensitivity) / _checks.positive("epsilon", epsilon))

    def sample(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release `values` (any shape): float64 of the same shape."""
        values = np.asarray(values, dtype=float)
        return values + _checks.generator(rng).laplace(0.0, self.scale, values.shape)

    def pdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Density of the noise at z."""
        return np.asarray(np.exp(-np.abs(np.asarray(z, dtype=float)) / self.scale) / (2 * self.scale))

    def log_weights(self, noisy: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """log density of the release `noisy` given every count, up to a constant, by broadcasting.

        Parameters
        ----------
        noisy : finite numbers.
        counts : whole numbers, the possible true counts.
        """
        gaps = np.asarray(noisy, dtype=float) - np.asarray(counts, dtype=float)
        return np.asarray(-np.abs(gaps) / self.scale)

    def variance(self) -> float:
        """Variance of the noise of one entry, 2 scale^2."""
        return 2 * self.scale**2

    def epsilon(self, *, sensitivity: float) -> float:
        """Pure differential privacy that one release costs."""
        return _checks.positive("sensitivity", sensitivity) / self.scale
