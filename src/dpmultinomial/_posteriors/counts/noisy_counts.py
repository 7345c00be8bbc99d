"""Posterior of multinomial probabilities from counts with independent noise of any known law.

p ~ Dirichlet(alpha), S | p ~ Multinomial(M, p), each released count drawn from S_i by a noise law. As with Laplace
noise (methods of Balmat et al., 2018, in the documentation) only S is unknown given the release, and its factors are
independent given their sum, a_i(s) = Gamma(s + alpha_i)/s! P(noisy_i | s): the posterior is a mixture of Dirichlet laws
and nothing is simulated.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ._fixed_sum_law import FixedSumLaw
from .dirichlet_mixture import DirichletMixture


class NoiseLaw(Protocol):
    """How a released count follows from the true one: `_mechanisms` has Laplace, DiscreteLaplace, DiscreteGaussian."""

    def log_weights(self, noisy: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """log probability (density) of the release given each count, up to a constant that depends on `noisy` alone."""
        ...


def exact(
    noisy_counts: ArrayLike, *, total: int, noise: NoiseLaw | Sequence[NoiseLaw], alpha: ArrayLike
) -> DirichletMixture:
    """The posterior of p, exactly.

    Parameters
    ----------
    noisy_counts : (k,), k >= 2; any finite numbers, also negative or above the total; whole numbers for discrete laws.
    total : whole number >= 0, the public number of records M.
    noise : the law of the noise, or one for each category.
    alpha : Dirichlet prior, > 0; one number or one per category.

    Returns
    -------
    DirichletMixture
        As of `laplace_multinomial.exact`.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, a discrete law is given a fraction, or the release has probability 0 under it.

    Notes
    -----
    O(k M^2) time up to M = 10,000, O(k M log M) beyond, O(k M) memory.
    """
    noisy = _checks.reals("noisy_counts", noisy_counts, least_size=2)
    total, prior = _checks.whole("total", total), _checks.positives("alpha", alpha, len(noisy))
    laws = list(noise) if isinstance(noise, Sequence) else [noise] * len(noisy)
    if len(laws) != len(noisy):
        raise ValueError(f"noise must be one law or {len(noisy)} of them, got {len(laws)}")
    s = np.arange(total + 1)
    logs = np.stack([_log_weights(law, value, s) for law, value in zip(laws, noisy, strict=True)])
    return posterior(logs, prior)


def posterior(log_noise: NDArray[np.float64], alpha: NDArray[np.float64]) -> DirichletMixture:
    """The posterior given log weights of the releases.

    Parameters
    ----------
    log_noise : float64 (k, total + 1), log P(release i | S_i = s) up to a constant a row.
    alpha : float64 (k,), positive.
    """
    s = np.arange(log_noise.shape[1])
    rising = np.log((s[1:] - 1 + alpha[:, None]) / s[1:]).cumsum(axis=1)  # log Gamma(s + alpha)/(s! Gamma(alpha))
    logs = log_noise.copy()
    logs[:, 1:] += rising
    return DirichletMixture(alpha, FixedSumLaw(logs))


def _log_weights(law: NoiseLaw, value: float, s: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights over 0..total, largest 0: a release far outside has no digits left unless the largest is taken off."""
    logs = np.asarray(law.log_weights(value, s), dtype=float)
    if logs.shape != s.shape or np.isnan(logs).any() or not logs.max() > -np.inf:
        raise ValueError(f"the released count {value} has no weight at any count 0..{s[-1]} under {law!r}")
    return np.asarray(logs - logs.max())
