"""Does a release fit what is said about it? Its noise against its public total, its counts against the prior.

Two checks, neither of which looks at anything confidential. The noises of all counts together are the released sum less
the public total, whatever the true counts: a wrong total or a wrong scale shows there. Each released count has a law
before it is seen: a beta-binomial count under the Dirichlet prior, plus noise.
"""

from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaincc, gammaln, ndtr

from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.laplace import DiscreteLaplace, Laplace
from dpmultinomial._posteriors.counts.dirichlet_mixture import DirichletMixture
from dpmultinomial._results.posterior import Posterior

Law = Laplace | DiscreteLaplace | DiscreteGaussian
SUSPECT = 0.001  # probability below which the release does not fit what is said about it


@dataclass(frozen=True)
class Fit:
    """Two-sided probabilities of a release under what is stated.

    Parameters
    ----------
    total : of a sum at least as far from the public total, under the noise alone.
    counts : of each released count under prior and noise.
    """

    total: float
    counts: tuple[float, ...]

    @property
    def least(self) -> float:
        """The least of all, times their number (Bonferroni), at most 1."""
        return min(1.0, min(self.total, *self.counts) * (1 + len(self.counts)))

    def __str__(self) -> str:
        if self.least >= SUSPECT:
            chance = f"one as far out has probability {self.least:.2g}, and below {SUSPECT:g} they would not"
            return f"release, total, noise and prior fit together: {chance}"
        part = "its sum is too far from the total" if self.total <= min(self.counts) else "prior and release disagree"
        return f"CONFLICT: {part} (probability {self.least:.1g}): check total, scale and prior"


def of(release: Release, posterior: Posterior) -> Fit | None:
    """Both checks of a release with an exact total and one law; None of any other."""
    law, source = release.mechanism, posterior.source
    if not isinstance(law, Law) or np.ndim(getattr(law, "scale", getattr(law, "sigma", 0))):
        return None
    if not isinstance(release.total, int) or not isinstance(source, DirichletMixture):
        return None
    return fit(release.values, total=release.total, law=law, alpha=source.alpha)


def fit(noisy: NDArray[np.float64], *, total: int, law: Law, alpha: NDArray[np.float64]) -> Fit:
    """Both checks; O(k M) time.

    Parameters
    ----------
    noisy : float64 (k,).
    total : public.
    law : of the noise, the same for every count.
    alpha : float64 (k,), prior.
    """
    s = np.arange(total + 1)
    chances = []
    for value, own in zip(noisy, alpha, strict=True):
        rest = alpha.sum() - own
        logs = gammaln(total + 1) - gammaln(s + 1) - gammaln(total - s + 1)
        prior = np.exp(logs + betaln(s + own, total - s + rest) - betaln(own, rest))
        above = float(prior @ at_least(law, value - s))
        below = float(prior @ at_least(law, s - value))
        chances.append(min(1.0, 2 * min(above, below)))
    return Fit(sum_at_least(law, abs(float(noisy.sum()) - total), len(noisy)), tuple(chances))


def at_least(law: Law, d: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(noise >= d); the discrete Gaussian's to some 5 % of itself, by its continuous neighbour."""
    d = np.asarray(d, dtype=float)
    match law:
        case Laplace():
            tail = np.exp(-np.abs(d) / law.scale) / 2
            return np.where(d > 0, tail, 1 - tail)
        case DiscreteLaplace():
            a = exp(-1 / law.scale)
            return np.where(d > 0, np.exp(-np.abs(d) / law.scale) / (1 + a), 1 - a * np.exp(d / law.scale) / (1 + a))
        case _:
            return np.asarray(ndtr((0.5 - d) / law.sigma))


def sum_at_least(law: Law, gap: float, size: int) -> float:
    """P(|sum of `size` noises| >= gap).

    The sum of k Laplace noises is the difference of two Gamma(k) variables G and H of their scale, so that
    P(G - H > x) = E[P(Poisson(x + H) < k)], a finite sum; the discrete laws are taken as their continuous neighbours,
    half a step nearer.
    """
    if isinstance(law, DiscreteGaussian):
        return min(1.0, 2 * float(ndtr(-max(0.0, gap - 0.5) / (law.sigma * size**0.5))))
    x = max(0.0, gap - (0.5 if isinstance(law, DiscreteLaplace) else 0.0)) / law.scale
    i = np.arange(size)
    weights = np.exp(gammaln(size + i) - gammaln(size) - gammaln(i + 1) - (size + i) * np.log(2))  # E[H^i e^-H]/i!
    return float(min(1.0, 2 * (weights @ gammaincc(size - i, x))))
