"""The Laplace mechanism on vectors of counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import PureDP
from .additive_law import AdditiveLaw
from .noise_law import Array, Scale, summed_over_records


@dataclass(frozen=True, kw_only=True, eq=False)
class Laplace(AdditiveLaw):
    """Release x + noise with independent Laplace(scale) noise, density exp(-|z|/scale)/(2 scale).

    Parameters
    ----------
    scale : > 0, in units of the counts; one number, or one a row.
    """

    scale: Scale

    _word, _name = "laplace", "scale"

    def __post_init__(self) -> None:
        self._set_parameter()

    @classmethod
    def calibrated(cls, epsilon: float, *, sensitivity: float) -> "Laplace":
        """The mechanism that is epsilon-DP for queries whose L1 norm changes by at most `sensitivity`.

        Counts that add up to a fixed total have sensitivity 2: one record that moves changes two of them.
        """
        return cls(scale=_checks.positive("sensitivity", sensitivity) / _checks.positive("epsilon", epsilon))

    def sample(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release `values` (any shape): float64 of the same shape."""
        values = np.asarray(values, dtype=float)
        return values + _checks.generator(rng).laplace(0.0, self.by_row(values), values.shape)

    def pdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Density of the noise at z."""
        z = np.asarray(z, dtype=float)
        scale = self.by_row(z)
        return np.asarray(np.exp(-np.abs(z) / scale) / (2 * scale))

    def log_weights(self, noisy: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """log density of the release `noisy` given every count, up to a constant, by broadcasting.

        Parameters
        ----------
        noisy : finite numbers.
        counts : whole numbers, the possible true counts.
        """
        values = np.asarray(noisy, dtype=float)
        return np.asarray(-np.abs(values - np.asarray(counts, dtype=float)) / self.by_row(values))

    def variance(self) -> float | Array:
        """Variance of the noise of one entry, 2 scale^2."""
        return self._as_given(2 * self.parameter**2)

    def halfwidth(self, log_mass: float) -> float | Array:
        """Distance that the noise exceeds with probability exp(-log_mass), one a row."""
        return self._as_given(self.parameter * log_mass)

    def epsilon(self, *, sensitivity: float) -> float | Array:
        """Pure differential privacy that one release costs."""
        return self._as_given(_checks.positive("sensitivity", sensitivity) / self.parameter)

    def cost(self, relation: str, *, sensitivity: float | None = None, source: str = "data") -> PureDP:
        """What one release costs, exactly.

        Parameters
        ----------
        relation : which data sets are neighbours, one of `composition.RELATIONS`.
        sensitivity : largest L1 change of the released vector; None: disjoint counts, 2 where one record is replaced,
            1 where one is added or removed.
        source : name of the confidential data.

        Returns
        -------
        PureDP
        """
        given = None if sensitivity is None else _checks.positive("sensitivity", sensitivity)
        epsilon = summed_over_records(1 / self.parameter, relation, given)
        return PureDP(epsilon=epsilon, source=source, relation=relation)

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(-np.abs(gaps) / parameter - np.log(2 * parameter))

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        with np.errstate(divide="ignore"):
            return -low / parameter + np.log(-np.expm1(-(high - low) / parameter) / 2)
