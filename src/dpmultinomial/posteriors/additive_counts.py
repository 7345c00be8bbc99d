"""What an additive release of counts (Wang, 2020) says about the true counts: exact posteriors for any number of them.

The paper sums by brute force for two components and leaves more than two to future work. Here the true counts have a
flat prior on the whole numbers >= 0, as there, and the posterior is exact: no MCMC, no sampling.
"""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from ..mechanisms.additive_counts import ALGORITHMS, TIES, multinomial_mode, release, release_all
from . import additive_terms, pair_counts
from .coupled_counts import CoupledCounts

__all__ = ["AdditivePosterior", "multinomial_mode", "posterior", "posterior_of_noisy", "release", "release_all"]

Array = NDArray[np.float64]
_SUPPORT = 50


class CountsLaw(Protocol):
    """Law of the true counts."""

    components: int

    def marginal(self, component: int) -> tuple[NDArray[np.int64], Array]: ...

    def total(self) -> tuple[NDArray[np.int64], Array]: ...

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]: ...

    def top(self, k: int) -> tuple[NDArray[np.int64], Array]: ...


class AdditivePosterior:
    """Posterior of the true component counts; their total is their sum.

    Parameters
    ----------
    law : what the release implies, available as ``.law``.
    """

    def __init__(self, law: CountsLaw) -> None:
        self.law = law

    def mean(self) -> Array:
        """Expected true counts, float64 (S,)."""
        return np.array([v @ p for v, p in self._marginals()])

    def variance(self) -> Array:
        """Variances of the true counts, float64 (S,)."""
        return np.array([(v - v @ p) ** 2 @ p for v, p in self._marginals()])

    def marginal(self, i: int) -> tuple[NDArray[np.int64], Array]:
        """Law of one component: (values, probabilities)."""
        return self.law.marginal(_checks.whole("i", i, most=self.law.components - 1))

    def total(self) -> tuple[NDArray[np.int64], Array]:
        """Law of the total: (values, probabilities)."""
        return self.law.total()

    def interval(self, i: int, *, level: float = 0.9) -> tuple[int, int]:
        """Central interval of one component: the smallest values at or above probability (1 -+ level)/2."""
        _checks.fraction("level", level)
        values, p = self.marginal(i)
        place = np.searchsorted(np.cumsum(p), [(1 - level) / 2, (1 + level) / 2 - 1e-12])
        low, high = values[np.minimum(place, len(values) - 1)]
        return int(low), int(high)

    def top(self, k: int) -> tuple[NDArray[np.int64], Array]:
        """The k most probable vectors of true counts, int64 (k, S), and their probabilities, most probable first."""
        return self.law.top(_checks.whole("k", k))

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent draws of the true counts, int64 (size, S)."""
        return self.law.draw(_checks.whole("size", size), rng=_checks.generator(rng))

    def _marginals(self) -> list[tuple[NDArray[np.int64], Array]]:
        return [self.law.marginal(i) for i in range(self.law.components)]


def posterior(
    released: ArrayLike,
    *,
    epsilon: float,
    algorithm: str,
    window: int | None = 30,
    support: int = _SUPPORT,
    ties: str = "random",
    largest: int | None = None,
) -> AdditivePosterior:
    """Posterior of the true counts given one release.

    Parameters
    ----------
    released : whole numbers >= 0 (S,), the released components; the released total is their sum.
    epsilon : > 0, as the release was made.
    algorithm : ``"1-independent"``, ``"2"``, ``"3"``; for S = 2 also ``"1-summed"``.
    window : true counts within +-window of the released ones and noise within +-window, as in section 3.2 (30 there).
        This cuts the posteriors of algorithms 1 and 2, whose standard deviations grow like the square root of the
        counts; None keeps everything that matters (to 1e-16).
    support : the noise stays within +-support.
    ties : how algorithm 3 settled ties: ``"random"``, ``"first"``, ``"last"``; for S = 2 also ``"ieee"``.
    largest : the prior is flat on 0..largest; None: on all whole numbers >= 0.

    Returns
    -------
    AdditivePosterior

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, or if the release has probability 0 under the stated mechanism.

    Notes
    -----
    S = 2 is one table (`pair_counts`); any other S is a mixture of products coupled through the total
    (`additive_terms`, `coupled_counts`). O(S W L) for each of some tens (algorithms 1, 2) or hundreds (3) of terms, W
    values a component, L sums: for algorithm 3 both stay below a few hundred whatever the counts, for algorithms 1 and
    2 they grow like the square root of the counts and of their total (about a minute at 50 counts near 5,000).
    """
    counts = _checks.counts("released", released)
    _checks.positive("epsilon", epsilon)
    _checks.one_of("algorithm", algorithm, ALGORITHMS)
    _checks.one_of("ties", ties, TIES)
    _checks.whole("support", support, least=1)
    if window is not None:
        _checks.whole("window", window, least=1)
    if largest is not None:
        _checks.whole("largest", largest)
    noise = additive_terms.Noise(epsilon=epsilon, support=support, window=window, largest=largest)
    if len(counts) == 2 and (algorithm == "3" or pair_counts.fits(counts, noise, algorithm=algorithm, window=window)):
        return AdditivePosterior(
            pair_counts.solve(counts, noise, algorithm=algorithm, window=window, support=support, ties=ties)
        )
    if algorithm == "1-summed" or (algorithm == "3" and ties == "ieee"):
        what = "algorithm '1-summed'" if algorithm != "3" else "ties='ieee'"
        raise ValueError(
            f"{what} has a tractable posterior for two components of moderate size only (or within a window), "
            f"got {len(counts)} components, {counts.max()} the largest"
        )
    return AdditivePosterior(chain(counts, noise, algorithm=algorithm, window=window, ties=ties))


def chain(
    released: NDArray[np.int64], noise: additive_terms.Noise, *, algorithm: str, window: int | None, ties: str
) -> CoupledCounts:
    """The law for any S >= 1, two included."""
    drawn = algorithm == "1-independent"
    if algorithm == "3":
        terms = additive_terms.mode(released, noise, window, ties=ties)
    else:
        terms = additive_terms.multinomial(released, noise, window, drawn=drawn)
    return CoupledCounts(terms, *noise.total_factor(int(released.sum()), drawn=drawn))


def posterior_of_noisy(
    noisy_counts: ArrayLike, *, noisy_total: int, epsilon: float, support: int = _SUPPORT, largest: int | None = None
) -> AdditivePosterior:
    """Posterior of the true counts given the noisy components and the noisy total themselves.

    Parameters
    ----------
    noisy_counts : whole numbers (S,), negative ones included.
    noisy_total : whole number.
    epsilon, support : of the noise of every count.
    largest : the prior is flat on 0..largest; None: on all whole numbers >= 0.

    Notes
    -----
    This is what an agency gives away by releasing `release` in place of the noisy counts it is computed from; releasing
    them costs the same privacy. The additive constraint is in the law: N_1 + .. + N_S explains both.
    """
    values = _checks.reals("noisy_counts", noisy_counts)
    total = float(_checks.reals("noisy_total", [noisy_total])[0])
    if not np.all(values == np.floor(values)) or total != np.floor(total):
        raise ValueError("noisy_counts and noisy_total must be whole numbers")
    _checks.positive("epsilon", epsilon)
    support = _checks.whole("support", support, least=1)
    noise = additive_terms.Noise(epsilon=epsilon, support=support, window=None, largest=largest)
    low = max(int(total) - noise.reach, 0)
    totals = np.arange(low, max(int(total) + noise.reach, low) + 1)
    gap = np.abs(totals - int(total))
    factor = np.where(gap <= noise.reach, noise.p[np.minimum(gap, noise.reach) + noise.reach], 0.0)
    terms = additive_terms.noisy(values.astype(np.int64), noise, low, factor)
    return AdditivePosterior(CoupledCounts(terms, low, factor))
