"""Exact posterior distribution of multinomial probabilities given counts with independent noise of any known
distribution.

Model: p ~ Dirichlet(alpha), S | p ~ Multinomial(M, p), and each released count is drawn from S_i by a noise
distribution. As with Laplace noise (methods of Balmat et al., 2018, in the documentation), only S has to be summed
over. Given its sum, S has a weight that is a product of the factors a_i(s) = Gamma(s + alpha_i)/s! P(noisy_i | s). The
posterior is a mixture of Dirichlet distributions and requires no simulation.

The distribution of independent counts conditional on their sum is computed without listing the compositions.
"""

from collections.abc import Sequence
from functools import cached_property, partial, reduce
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._mechanisms.additive_law import AdditiveLaw
from . import _fixed_sum
from .dirichlet_mixture import DirichletMixture
from .share_law import ShareLaw, ShareWeights, Window, window
from .windowed_sum import WindowedSumLaw, windows_of

# largest total for which convolutions are summed term by term over all counts; for larger totals, over windows
DIRECT_TOTAL = 10_000
MOST_LISTED = 20_000_000  # largest total number of values of all counts if all values up to the total are stored
LISTED_PAIRS = 250_000  # largest number of pairs of counts for which the distribution of a share is a list of pairs
_NEGLIGIBLE = 1e-25  # counts with a smaller probability are neglected in pairs

Array = NDArray[np.float64]


class FixedSumLaw:
    """Distribution of independent counts given their sum, for sums of at most `DIRECT_TOTAL`.

    Parameters
    ----------
    log_factors : float64 (k, total + 1), log weight of every count at 0..total, k >= 2.

    Raises
    ------
    ValueError
        As in `_fixed_sum.tables`.

    Notes
    -----
    Cost: O(k total^2) time, O(k total) memory.
    """

    least = 0.0  # every count has full relative accuracy even if it is improbable

    def __init__(self, log_factors: Array) -> None:
        self.categories, self.total = len(log_factors), log_factors.shape[1] - 1
        self.tables = _fixed_sum.tables(log_factors)
        self.factors: Array = self.tables.factors
        self._prefix = [self.factors[0]]

    @cached_property
    def windows(self) -> list[Window]:
        """Weights of the possible values of every count, except for values with negligible weight."""
        return [window(row) for row in self.factors]

    def marginal(self, category: int) -> Array:
        """Return the distribution of a count given the sum of all counts, as a float64 array of shape (total + 1,)."""
        others = [i for i in range(self.categories) if i != category]
        return self._law(self.factors[category], self._sum_of(others))

    def pair(self, inside: int, others: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """Return the joint distribution of one count s and of the sum t of the counts in `others`. The distribution is
        given by arrays (s, t, weight) with one entry per pair.
        """
        return self._pairs(inside, others, _NEGLIGIBLE)

    def tails(
        self, inside: int, others: Sequence[int], negligible: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """Return the joint distribution of one count and of the sum of the counts in `others`, with improbable pairs
        omitted. The total probability of the omitted pairs is below `negligible`.
        """
        return self._pairs(inside, others, negligible / (2 * self.total + 2))

    def _pairs(
        self, inside: int, others: Sequence[int], negligible: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        outside = sorted(set(range(self.categories)) - {inside, *others})
        mine, theirs = self.factors[inside], self._sum_of(others)
        if not outside:
            s = np.arange(self.total + 1)
            return s, self.total - s, mine * theirs[::-1]
        rest = self._sum_of(outside)
        s = np.flatnonzero(self._law(mine, _fixed_sum.convolved(theirs, rest)) > negligible)
        t = np.flatnonzero(self._law(theirs, _fixed_sum.convolved(mine, rest)) > negligible)
        s, t = (grid.ravel() for grid in np.meshgrid(s, t, indexing="ij"))
        inner = s + t <= self.total
        s, t = s[inner], t[inner]
        weights = mine[s] * theirs[t] * rest[self.total - s - t]
        return s, t, weights

    def share(self, inside: int, others: Sequence[int], *, alpha: float, beta: float) -> ShareLaw | None:
        """Return the distribution of the share of category `inside` among the categories `inside` and `others`. The
        result is None if the list of pairs is short enough to be used instead.
        """
        outside = [i for i in range(self.categories) if i != inside and i not in others]
        if self._listed(inside, others, outside):
            return None
        return self.interpolated(inside, others, alpha=alpha, beta=beta)

    def interpolated(self, inside: int, others: Sequence[int], *, alpha: float, beta: float) -> ShareLaw:
        """Return the distribution of a share, computed by interpolation of its density. The number of pairs of counts
        is not limited. Tail probabilities have a small relative error.
        """
        outside = [i for i in range(self.categories) if i != inside and i not in others]
        w = self.windows
        weights = ShareWeights(w[inside], [w[i] for i in others], [w[i] for i in outside], self.total)
        return ShareLaw(weights, alpha=alpha, beta=beta)

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw independent vectors of counts given the sum of the counts, as an int64 array of shape (size, k) for k
        counts.
        """
        drawn: NDArray[np.int64] = _fixed_sum.draw(self.tables, size, rng=rng)
        return drawn

    def _listed(self, inside: int, others: Sequence[int], outside: Sequence[int]) -> bool:
        if not outside:
            return True
        mine, theirs, rest = self.factors[inside], self._sum_of(others), self._sum_of(outside)
        s = self._law(mine, _fixed_sum.convolved(theirs, rest)) > _NEGLIGIBLE
        t = self._law(theirs, _fixed_sum.convolved(mine, rest)) > _NEGLIGIBLE
        return int(s.sum()) * int(t.sum()) <= LISTED_PAIRS

    @staticmethod
    def _law(part: Array, remainder: Array) -> Array:
        weights = part * remainder[::-1]
        return np.asarray(weights / weights.sum())

    def _sum_of(self, categories: Sequence[int]) -> Array:
        """Return the unnormalised probabilities of the sum of the counts of `categories` (sorted in increasing order).
        Sums over leading and trailing categories are cached.
        """
        lead = next((n for n, i in enumerate(categories) if i != n), len(categories))
        middle, last = list(categories[lead:]), self.categories - 1
        tail = next((n for n, i in enumerate(reversed(middle)) if i != last - n), len(middle))
        while len(self._prefix) < lead:
            self._prefix.append(_fixed_sum.convolved(self._prefix[-1], self.factors[len(self._prefix)]))
        parts = [self._prefix[lead - 1]] if lead else []
        parts += [self.factors[i] for i in middle[: len(middle) - tail]]
        parts += [self.tables.suffix[last + 1 - tail]] if tail else []
        return reduce(_fixed_sum.convolved, parts)


class NoiseLaw(Protocol):
    """Interface for distributions of a released count given the true count (noise distributions). The package
    `_mechanisms` contains Laplace, DiscreteLaplace and DiscreteGaussian.
    """

    def log_weights(self, noisy: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the log probability (or density) of a released count given each true count. The values are defined up
        to a constant that depends only on the released count.
        """
        ...


def exact(
    noisy_counts: ArrayLike, *, total: int, noise: NoiseLaw | Sequence[NoiseLaw], alpha: ArrayLike
) -> DirichletMixture:
    """Compute the exact posterior distribution of the multinomial probabilities p given noisy counts.

    Parameters
    ----------
    noisy_counts : (k,), k >= 2; any finite numbers, also negative or above the total; integers for discrete
        distributions.
    total : integer >= 0, the public number of records M.
    noise : distribution of the noise, or one distribution per category.
    alpha : Dirichlet prior, > 0; one number or one number per category.

    Returns
    -------
    DirichletMixture
        As in `laplace_multinomial.exact`.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, a fractional count is passed with a discrete distribution, or the release has
        probability 0.

    Notes
    -----
    Cost: O(k M^2) time and O(k M) memory up to M = 10,000; for larger M, O(k w log w) time and O(k w) memory for
    windows of w counts, as wide as the noise.
    """
    noisy = _checks.reals("noisy_counts", noisy_counts, least_size=2)
    total, prior = _checks.integer("total", total), _checks.positives("alpha", alpha, len(noisy))
    laws = list(noise) if isinstance(noise, Sequence) else [noise] * len(noisy)
    if len(laws) != len(noisy):
        raise ValueError(f"noise must be one distribution or {len(noisy)} distributions, got {len(laws)} distributions")
    if total > DIRECT_TOTAL and all(isinstance(law, AdditiveLaw) for law in laws):
        likelihoods = [partial(_log_weights, law, value) for law, value in zip(laws, noisy, strict=True)]
        return DirichletMixture(prior, WindowedSumLaw(windows_of(likelihoods, prior, total), total))
    if len(laws) * (total + 1) > MOST_LISTED:
        raise ValueError(
            f"{len(laws)} counts between 0 and {total:,} have {len(laws) * (total + 1):,} possible values, "
            f"more than the limit of {MOST_LISTED:,} for noise that is not additive: set tighter bounds on the counts"
        )
    s = np.arange(total + 1)
    logs = np.stack([_log_weights(law, value, s) for law, value in zip(laws, noisy, strict=True)])
    possible = np.isfinite(logs)
    least, most = int(possible.argmax(axis=1).sum()), int((total - possible[:, ::-1].argmax(axis=1)).sum())
    if not least <= total <= most:
        limit = f">= {least:,}" if total < least else f"<= {most:,}"
        raise ValueError(
            f"total must be {limit} given the released values and the noise, got {total:,}: check the total, the "
            "released values and the noise"
        )
    return posterior(logs, prior)


def law_of_counts(log_factors: Array) -> FixedSumLaw | WindowedSumLaw:
    """Return the distribution of independent counts given their sum, computed from the log weights of the values 0, ..,
    total of every count.

    Parameters
    ----------
    log_factors : float64 (k, total + 1), log weight of every count at 0..total, k >= 2.
    """
    total = log_factors.shape[1] - 1
    if total <= DIRECT_TOTAL:
        return FixedSumLaw(log_factors)
    return WindowedSumLaw([window(row) for row in _fixed_sum.tilted(log_factors)[0]], total)


def posterior(log_noise: NDArray[np.float64], alpha: NDArray[np.float64]) -> DirichletMixture:
    """Compute the posterior distribution of the multinomial probabilities, given the log likelihood of every true
    count.

    Parameters
    ----------
    log_noise : float64 (k, total + 1), log P(release i | S_i = s) up to a constant per row.
    alpha : float64 (k,), positive.
    """
    s = np.arange(log_noise.shape[1])
    rising = np.log((s[1:] - 1 + alpha[:, None]) / s[1:]).cumsum(axis=1)  # log Gamma(s + alpha)/(s! Gamma(alpha))
    logs = log_noise.copy()
    logs[:, 1:] += rising
    return DirichletMixture(alpha, law_of_counts(logs))


def _log_weights(law: NoiseLaw, value: float, s: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log likelihoods of several true counts given a released count, shifted so that the largest log
    likelihood is 0.
    """
    logs = np.asarray(law.log_weights(value, s), dtype=float)
    if logs.shape != s.shape or np.isnan(logs).any() or not logs.max() > -np.inf:
        raise ValueError(
            f"the released count {value} is impossible under {law!r} for every true count from 0 to {s[-1]}: check the "
            "released count and the noise"
        )
    return np.asarray(logs - logs.max())
