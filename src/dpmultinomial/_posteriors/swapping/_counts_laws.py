"""Laws of counts put together from others: strata side by side, mixtures over an unknown parameter."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..counts.dirichlet_mixture import CountsLaw, PairedLaw

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class StrataLaw(PairedLaw):
    """Independent counts of several strata, one after the other, as a `dirichlet_mixture.CountsLaw`.

    Parameters
    ----------
    laws : one `CountsLaw` a stratum.
    """

    def __init__(self, laws: Sequence[CountsLaw]) -> None:
        self.laws = list(laws)
        self.total, self.categories = sum(law.total for law in laws), sum(law.categories for law in laws)
        self.least = max(law.least for law in laws)
        self._starts = np.cumsum([0, *(law.categories for law in laws)])

    def marginal(self, category: int) -> Array:
        """Law of one count, float64 (total + 1,)."""
        stratum = self._stratum(category)
        law = self.laws[stratum].marginal(category - int(self._starts[stratum]))
        return np.concatenate([law, np.zeros(self.total + 1 - len(law))])

    def pair(self, inside: int, others: Sequence[int]) -> tuple[Counts, Counts, Array]:
        """Joint law of one count and the sum over `others`; whole strata apart from the own one add their totals.

        Raises
        ------
        ValueError
            If `others` names a part of another stratum.
        """
        stratum = self._stratum(inside)
        start = int(self._starts[stratum])
        own, beside = [], 0
        for k, law in enumerate(self.laws):
            first = int(self._starts[k])
            named = [i - first for i in others if first <= i < first + law.categories]
            if k == stratum:
                own = named
            elif len(named) == law.categories:
                beside += law.total
            elif named:
                raise ValueError(f"given must name all cells of another stratum or none, got others {list(others)}")
        law = self.laws[stratum]
        if not own:
            weights = law.marginal(inside - start)
            return np.arange(len(weights)), np.full(len(weights), beside), weights
        s, t, weights = law.pair(inside - start, own)
        return s, t + beside, weights

    def draw(self, size: int, *, rng: np.random.Generator) -> Counts:
        """Independent draws, int64 (size, categories)."""
        return np.concatenate([law.draw(size, rng=rng) for law in self.laws], axis=1)

    def _stratum(self, category: int) -> int:
        return int(np.searchsorted(self._starts, category, side="right")) - 1


class MixedLaw(PairedLaw):
    """Counts whose law depends on a hidden choice, as a `dirichlet_mixture.CountsLaw`.

    Parameters
    ----------
    laws : `CountsLaw` of each choice, all with the same total and categories.
    weights : float64 (choices,), non-negative; scaled to 1.
    """

    def __init__(self, laws: Sequence[CountsLaw], weights: Array) -> None:
        self.laws, self.weights = list(laws), weights / weights.sum()
        self.total, self.categories = laws[0].total, laws[0].categories
        self.least = max(law.least for law in laws)

    def marginal(self, category: int) -> Array:
        """Law of one count, float64 (total + 1,)."""
        parts = [w * law.marginal(category) for w, law in zip(self.weights, self.laws, strict=True) if w > 0]
        return np.asarray(np.sum(parts, axis=0))

    def pair(self, inside: int, others: Sequence[int]) -> tuple[Counts, Counts, Array]:
        """Joint law of one count and the sum over `others`."""
        found = [law.pair(inside, others) for law in self.laws]
        weights = [w * p / p.sum() for w, (_, _, p) in zip(self.weights, found, strict=True)]
        s, t, p = np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found]), np.concatenate(weights)
        pairs, index = np.unique(np.column_stack([s, t]), axis=0, return_inverse=True)
        return pairs[:, 0], pairs[:, 1], np.bincount(index.ravel(), p).astype(np.float64)

    def draw(self, size: int, *, rng: np.random.Generator) -> Counts:
        """Independent draws, int64 (size, categories)."""
        chosen = rng.choice(len(self.laws), size, p=self.weights)
        out = np.empty((size, self.categories), dtype=np.int64)
        for k, law in enumerate(self.laws):
            where = np.flatnonzero(chosen == k)
            if len(where):
                out[where] = law.draw(len(where), rng=rng)
        return out
