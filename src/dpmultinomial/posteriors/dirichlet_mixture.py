"""Mixtures of Dirichlet laws, Dirichlet(alpha + S) with S random: what a conjugate posterior behind noisy counts is.

The law of the counts S is any object with ``total``, ``categories`` and three methods:

``pair(inside, others)``  arrays (s, t, weight): joint law of S[inside] and the sum of S over `others`;
``marginal(category)``    float64 (total + 1,): law of one count;
``draw(size, rng=)``      int64 (size, k).
"""

from collections.abc import Sequence
from functools import reduce
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from ..kernels import dirichlet, fixed_sum
from .beta_mixture import BetaMixture

_NEGLIGIBLE = 1e-25  # counts with less probability than this are left out of pairs


class CountsLaw(Protocol):
    """Law of counts with a fixed total."""

    total: int
    categories: int

    def pair(self, inside: int, others: Sequence[int]) -> tuple[NDArray, NDArray, NDArray]: ...

    def marginal(self, category: int) -> NDArray[np.float64]: ...

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]: ...


class FixedSumLaw:
    """Independent counts conditioned on their sum (`kernels.fixed_sum`); never lists the compositions."""

    def __init__(self, log_factors: NDArray[np.float64]) -> None:
        self.tables = fixed_sum.tables(log_factors)
        self.categories, self.total = len(log_factors), log_factors.shape[1] - 1
        self._prefix = [self.tables.factors[0]]

    def marginal(self, category: int) -> NDArray[np.float64]:
        others = [i for i in range(self.categories) if i != category]
        return self._law(self.tables.factors[category], self._sum_of(others))

    def pair(self, inside: int, others: Sequence[int]) -> tuple[NDArray, NDArray, NDArray]:
        outside = sorted(set(range(self.categories)) - {inside, *others})
        mine, theirs = self.tables.factors[inside], self._sum_of(others)
        if not outside:
            s = np.arange(self.total + 1)
            return s, self.total - s, mine * theirs[::-1]
        rest = self._sum_of(outside)
        s = np.flatnonzero(self._law(mine, fixed_sum.convolve(theirs, rest)) > _NEGLIGIBLE)
        t = np.flatnonzero(self._law(theirs, fixed_sum.convolve(mine, rest)) > _NEGLIGIBLE)
        s, t = (grid.ravel() for grid in np.meshgrid(s, t, indexing="ij"))
        inner = s + t <= self.total
        s, t = s[inner], t[inner]
        weights = mine[s] * theirs[t] * rest[self.total - s - t]
        return s, t, weights

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        return fixed_sum.draw(self.tables, size, rng=rng)

    @staticmethod
    def _law(part: NDArray[np.float64], remainder: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = part * remainder[::-1]
        return weights / weights.sum()

    def _sum_of(self, categories: Sequence[int]) -> NDArray[np.float64]:
        """Weights of S summed over `categories` (rising); leading and trailing runs are looked up."""
        lead = next((n for n, i in enumerate(categories) if i != n), len(categories))
        middle, last = list(categories[lead:]), self.categories - 1
        tail = next((n for n, i in enumerate(reversed(middle)) if i != last - n), len(middle))
        while len(self._prefix) < lead:
            self._prefix.append(fixed_sum.convolve(self._prefix[-1], self.tables.factors[len(self._prefix)]))
        parts = [self._prefix[lead - 1]] if lead else []
        parts += [self.tables.factors[i] for i in middle[: len(middle) - tail]]
        parts += [self.tables.suffix[last + 1 - tail]] if tail else []
        return reduce(fixed_sum.convolve, parts)


class ExplicitLaw:
    """A list of possible counts with their weights.

    Parameters
    ----------
    counts : int64 (m, k), each row with the same total. weights : float64 (m,), non-negative; scaled to 1.
    """

    def __init__(self, counts: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        self.rows, self.weights = np.ascontiguousarray(counts, dtype=np.int64), weights / weights.sum()
        self.categories, self.total = counts.shape[1], int(counts[0].sum())

    def marginal(self, category: int) -> NDArray[np.float64]:
        return np.bincount(self.rows[:, category], self.weights, self.total + 1)

    def pair(self, inside: int, others: Sequence[int]) -> tuple[NDArray, NDArray, NDArray]:
        return self.rows[:, inside], self.rows[:, others].sum(axis=1), self.weights

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        cumulative = np.cumsum(self.weights)
        return self.rows[np.searchsorted(cumulative[:-1], rng.random(size) * cumulative[-1], side="right")]


class DirichletMixture:
    """Law of p with p | S ~ Dirichlet(alpha + S).

    Parameters
    ----------
    alpha : float64 (k,), positive.
    counts : law of S (see the module's first lines), available as ``.counts``.

    Notes
    -----
    In every method ``given=(i, j, ..)`` conditions on those categories: with ``category=0, given=(0, 1)`` the quantity
    is p_0/(p_0 + p_1). Each is a finite mixture of Beta laws (``.beta(category, given)``), so no value is simulated.
    """

    def __init__(self, alpha: NDArray[np.float64], counts: CountsLaw) -> None:
        self.alpha, self.counts = alpha, counts
        self._betas: dict[tuple[int, tuple[int, ...] | None], BetaMixture] = {}

    def mean(self, *, category: int | None = None, given: Sequence[int] | None = None) -> NDArray | float:
        """Expected shares, float64 (k,); with `category` one number."""
        return self._each(category, given, BetaMixture.mean)

    def variance(self, *, category: int | None = None, given: Sequence[int] | None = None) -> NDArray | float:
        """Variances of the shares, float64 (k,); with `category` one number."""
        return self._each(category, given, BetaMixture.variance)

    def pdf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Density of a share at x in [0, 1]."""
        return self.beta(category, given).pdf(x)

    def cdf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """P(share <= x)."""
        return self.beta(category, given).cdf(x)

    def quantile(self, q: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Quantiles of a share, to 1e-14."""
        return self.beta(category, given).quantile(q)

    def mode(self, *, category: int, given: Sequence[int] | None = None) -> float | None:
        """Place of the highest density of a share (`BetaMixture.mode`)."""
        return self.beta(category, given).mode()

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Independent draws of p, float64 (size, k)."""
        counts = self.counts.draw(_checks.whole("size", size), rng=_checks.generator(rng))
        if self.counts.total == 0:
            return rng.dirichlet(self.alpha, size)
        return dirichlet.draw(self.alpha, counts, rng=rng)

    def beta(self, category: int, given: Sequence[int] | None = None) -> BetaMixture:
        """Law of one share."""
        key = (category, None if given is None else tuple(given))
        if key not in self._betas:
            inside, others = self._split(*key)
            s, t, weights = self.counts.pair(inside, others)
            self._betas[key] = BetaMixture(self.alpha[inside] + s, self.alpha[others].sum() + t, weights)
        return self._betas[key]

    def share_of_counts(self, *, category: int, given: tuple[int, ...]) -> tuple[NDArray, NDArray]:
        """Law of the realised share S_c/sum of S over `given`: (values rising, probabilities).

        The counts, not p, are the confidential facts; 0/0 (no count in `given` at all) is reported as NaN, last.
        """
        s, t, weights = self.counts.pair(*self._split(category, given))
        share = np.divide(s, s + t, out=np.full(len(s), np.nan), where=s + t > 0)
        values, inverse = np.unique(share, return_inverse=True)
        return values, np.bincount(inverse, weights / weights.sum())

    def _split(self, category: int, given: Sequence[int] | None) -> tuple[int, list[int]]:
        last = self.counts.categories - 1
        group = range(last + 1) if given is None else [_checks.whole("given", i, most=last) for i in given]
        if _checks.whole("category", category, most=last) not in group or not 2 <= len(group) == len(set(group)):
            raise ValueError(
                f"given must name at least two different categories, category={category} among them, got {given}"
            )
        return category, sorted(i for i in group if i != category)

    def _each(self, category: int | None, given: Sequence[int] | None, what) -> NDArray | float:
        if category is not None:
            return what(self.beta(category, given))
        group = range(self.counts.categories) if given is None else given
        return np.array([what(self.beta(i, given)) for i in group])
