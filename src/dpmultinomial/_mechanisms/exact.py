"""Counts that are released as they are: invariants."""

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
    """Release the count itself: the distribution of an invariant."""

    discrete = True

    @property
    def row_count(self) -> None:
        """None: no row has a parameter of its own."""
        return None

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Which values can be counts: integers."""
        return releasable(released, discrete=True)

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """0 where the count is the released one, else -inf, by broadcasting.

        Parameters
        ----------
        released : integers.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        values = _checks.whole_numbers("noisy_counts", released)
        return np.where(values == np.asarray(counts), 0.0, -np.inf)

    log_weights = log_likelihood

    def log_within(self, low: ArrayLike, high: ArrayLike, parameter: ArrayLike) -> Array:
        """0 where low <= 0 <= high, else -inf; `parameter` is that of other distributions."""
        return np.where((np.asarray(low) <= 0) & (np.asarray(high) >= 0), 0.0, -np.inf)

    def log_density(self, gaps: Array, parameter: Array) -> Array:
        """0 where there is no gap, else -inf."""
        return np.where(gaps == 0, 0.0, -np.inf)

    def rounded(self, step: float, *, ties: str = "even") -> Coarsened:
        """The distribution of counts that are rounded to multiples of `step` without noise."""
        return Coarsened(self, step=step, ties=ties)

    def by_row(self, released: NDArray[Any]) -> Array:
        """Nothing that differs by row."""
        return np.zeros(())

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """The released values, twice: no other count is possible."""
        values = _checks.whole_numbers("noisy_counts", released)
        return values, values

    def halfwidth(self, log_mass: float) -> float:
        """0."""
        return 0.0

    def variance(self) -> float:
        """0."""
        return 0.0

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """The counts themselves, int64 of their shape."""
        _checks.generator(rng)
        return np.asarray(_checks.whole_numbers("counts", counts), dtype=np.int64)

    def take(self, rows: Index) -> "Exact":
        """Itself."""
        return self

    def cost(self, relation: str, *, sensitivity: float | None = None, source: str = "data") -> Cost:
        """No finite epsilon covers an exact release: rejected."""
        raise ValueError("an exact count has no finite privacy cost; list it as an invariant instead")

    def words(self) -> dict[str, object]:
        """Return the distribution as configuration keys and values."""
        return {"law": "exact"}
