"""Counts that are released without noise: invariants."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import Cost
from .coarsened import Coarsened
from .noise_law import Array, Index, releasable


@dataclass(frozen=True)
class Exact:
    """Mechanism that releases the count itself: the distribution of an invariant."""

    discrete = True

    @property
    def row_count(self) -> None:
        """Return None: no row has a separate parameter."""
        return None

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return which values can be counts: integers."""
        return releasable(released, discrete=True)

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return 0 if the count is the released one, else -inf, by broadcasting.

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
        """Return 0 if low <= 0 <= high, else -inf; `parameter` is not used (it belongs to other distributions)."""
        return np.where((np.asarray(low) <= 0) & (np.asarray(high) >= 0), 0.0, -np.inf)

    def log_density(self, gaps: Array, parameter: Array) -> Array:
        """Return 0 if the gap is 0, else -inf."""
        return np.where(gaps == 0, 0.0, -np.inf)

    def rounded(self, step: float, *, ties: str = "even") -> Coarsened:
        """Return the distribution of counts that are rounded to multiples of `step` without noise."""
        return Coarsened(self, step=step, ties=ties)

    def by_row(self, released: NDArray[Any]) -> Array:
        """Return a zero: no parameter differs by row."""
        return np.zeros(())

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return the released values, twice: no other count is possible."""
        values = _checks.integral("noisy_counts", released)
        return values, values

    def halfwidth(self, log_mass: float) -> float:
        """Return 0, the half-width without noise."""
        return 0.0

    def variance(self) -> float:
        """Return 0, the variance without noise."""
        return 0.0

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the counts themselves, int64 of their shape."""
        _checks.generator(rng)
        return np.asarray(_checks.integral("counts", counts), dtype=np.int64)

    def take(self, rows: Index) -> "Exact":
        """Return the distribution itself."""
        return self

    def cost(self, relation: str, *, sensitivity: float | None = None, source: str = "data") -> Cost:
        """Raise an error: no finite epsilon covers an exact release."""
        raise ValueError("an exact count has no finite privacy cost; list it as an invariant instead")

    def settings(self) -> dict[str, object]:
        """Return the distribution as configuration keys and values."""
        return {"law": "exact"}
