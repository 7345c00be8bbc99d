"""Counts that are released without noise (invariants)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .coarsened import Coarsenable
from .noise_law import Array, Index, WithoutCost, releasable


@dataclass(frozen=True)
class Exact(WithoutCost, Coarsenable):
    """Mechanism that releases a count without noise. Such a count is called an invariant."""

    discrete = True
    why_no_cost = "an exact count has no finite privacy cost: report the count as an invariant"

    @property
    def row_count(self) -> None:
        """Return None, because the mechanism adds no noise and therefore has no noise parameters that could differ
        between rows.
        """
        return None

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask of the values that are integers and can therefore be counts."""
        return releasable(released, discrete=True)

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(release | count) without noise, which is 0 if the count equals the released value and -inf
        otherwise. The arguments are broadcast against each other.

        Parameters
        ----------
        released : integers.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        values = _checks.integral("noisy_counts", released)
        return np.where(values == np.asarray(counts), 0.0, -np.inf)

    log_weights = log_likelihood

    def log_within(self, low: ArrayLike, high: ArrayLike, parameter: ArrayLike) -> Array:
        """Return log P(low <= noise <= high) for a release without noise, which is 0 if low <= 0 <= high and -inf
        otherwise. The argument `parameter` is ignored, because an exact count has no parameter.
        """
        return np.where((np.asarray(low) <= 0) & (np.asarray(high) >= 0), 0.0, -np.inf)

    def log_at_most(self, end: ArrayLike, parameter: ArrayLike) -> Array:
        """Return log P(noise <= end) for a release without noise, which is 0 if end >= 0 and -inf otherwise. The
        argument `parameter` is ignored.
        """
        return self.log_within(-np.inf, end, parameter)

    def log_density(self, gaps: Array, parameter: Array) -> Array:
        """Return the log probability of a difference between the released value and the true count, which is 0 if the
        difference is 0 and -inf otherwise.
        """
        return np.where(gaps == 0, 0.0, -np.inf)

    def by_row(self, released: NDArray[Any]) -> Array:
        """Return 0 as a placeholder for the noise parameter, because an exact release has no noise."""
        return np.zeros(())

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return the released values as both the smallest and the largest possible count."""
        values = _checks.integral("noisy_counts", released)
        return values, values

    def halfwidth(self, log_mass: float) -> float:
        """Return 0 as the half-width of the noise, because an exact release has no noise."""
        return 0.0

    def variance(self) -> float:
        """Return 0 as the variance of the noise, because an exact release has no noise."""
        return 0.0

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the counts without noise, as an int64 array of the same shape."""
        _checks.generator(rng)
        return np.asarray(_checks.integral("counts", counts), dtype=np.int64)

    def take(self, rows: Index) -> "Exact":
        """Return the unchanged distribution, because all rows have the same distribution."""
        return self

    def settings(self) -> dict[str, object]:
        """Return the distribution as configuration keys and values."""
        return {"law": "exact"}
