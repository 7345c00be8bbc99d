"""Two families of added noise, in each a law on the real line and one on the whole numbers: one kernel, one cost."""

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting import concentrated
from .._accounting.composition import ZCDP, PureDP
from .additive_law import AdditiveLaw
from .noise_law import Array, summed_over_records


class Family(AdditiveLaw):
    """Noise whose weight is the exponential of `_exponent`, on the real line or on the whole numbers."""

    @abstractmethod
    def _exponent(self, gaps: Array, parameter: Array) -> Array:
        """log probability, or density, of the noise at `gaps`, up to a constant of the parameter."""

    def log_weights(self, noisy: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """log probability, or density, of the release `noisy` given every count, up to a constant, by broadcasting.

        Parameters
        ----------
        noisy : finite numbers, whole ones where the noise is.
        counts : whole numbers, the possible true counts.

        Raises
        ------
        ValueError
            If a noisy count is no whole number where the law releases none else.
        """
        values = _checks.whole_numbers("noisy_counts", noisy) if self.discrete else np.asarray(noisy, dtype=float)
        return self._exponent(values - np.asarray(counts, dtype=float), self.by_row(values))


class LaplaceFamily(Family):
    """Noise z with weight exp(-|z|/scale); a release costs pure differential privacy, exactly."""

    @classmethod
    def calibrated(cls, epsilon: float, *, sensitivity: float) -> Self:
        """The mechanism that is epsilon-DP for queries whose L1 norm changes by at most `sensitivity`.

        Parameters
        ----------
        epsilon : > 0.
        sensitivity : > 0; 2 for counts with a fixed total, since one record that moves changes two of them.
        """
        scale = _checks.positive("sensitivity", sensitivity) / _checks.positive("epsilon", epsilon)
        return cls(**{cls._name: scale})

    def _exponent(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(-np.abs(gaps) / parameter)

    def epsilon(self, *, sensitivity: float) -> float | Array:
        """Pure differential privacy that one release costs, exactly: sensitivity/scale."""
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


class GaussianFamily(Family):
    """Noise z with weight exp(-z^2/(2 sigma^2)); a release costs zero-concentrated differential privacy."""

    @classmethod
    def calibrated(cls, rho: float, *, l2_squared: float) -> Self:
        """The mechanism that is rho-zCDP for numbers whose squared L2 norm changes by at most `l2_squared`.

        Parameters
        ----------
        rho : > 0.
        l2_squared : > 0; 2 for counts with a fixed total.
        """
        return cls(**{cls._name: concentrated.gaussian_sigma(rho, l2_squared=l2_squared)})

    def _exponent(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(-((gaps / parameter) ** 2) / 2)

    def cost(self, relation: str, *, sensitivity: float | None = None, source: str = "data") -> ZCDP:
        """What one release costs; of the discrete law as published with it (Canonne, Kamath, Steinke 2020, Theorem 14).

        Parameters
        ----------
        relation : which data sets are neighbours, one of `composition.RELATIONS`.
        sensitivity : largest L2 change of the released vector; None: disjoint counts, sqrt(2) where one record is
            replaced, 1 where one is added or removed.
        source : name of the confidential data.

        Returns
        -------
        ZCDP
            rho; costs of queries with different scales add up in `composition.total`, whose ``dp(delta)`` converts.
        """
        squared = None if sensitivity is None else _checks.positive("sensitivity", sensitivity) ** 2
        rho = summed_over_records(1 / (2 * self.parameter**2), relation, squared)
        return ZCDP(rho=rho, source=source, relation=relation)
