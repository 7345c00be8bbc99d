"""Prior predictive checks of a release, which compare the sum of the noise terms with the noise distribution (given the
public total), and the released counts with the prior.

Neither check uses confidential data. The sum of all noise terms is the released sum minus the public total, whatever
the true counts are, so this sum reveals a wrong total or a wrong scale. Under the prior predictive distribution, a
released count is a beta-binomial count (from the Dirichlet prior) plus noise.
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
SUSPECT = 0.001  # p-value below which the release conflicts with the stated total, noise or prior


@dataclass(frozen=True)
class Fit:
    """Two-sided p-values of a release under the stated total, the stated noise and the prior.

    Parameters
    ----------
    total : probability that the absolute value of the sum of the noise terms is at least the observed difference from
        the public total.
    counts : prior predictive p-value of each released count.
    """

    total: float
    counts: tuple[float, ...]

    @property
    def least(self) -> float:
        """Return the smallest p-value multiplied by the number of p-values (Bonferroni correction), limited to 1."""
        return min(1.0, min(self.total, *self.counts) * (1 + len(self.counts)))

    def __str__(self) -> str:
        if self.least >= SUSPECT:
            return f"prior predictive check passed (p = {self.least:.2g}; warning below {SUSPECT:g})"
        sums = self.total <= min(self.counts)
        part = "the released counts do not add up to the total" if sums else "the release is improbable under the prior"
        return f"CONFLICT: {part} (p = {self.least:.1g}): check the total, scale and prior"


def of(release: Release, posterior: Posterior) -> Fit | None:
    """Return both checks of a release with an exact total and a single noise distribution, or None for any other
    release.
    """
    law, source = release.mechanism, posterior.source
    if not isinstance(law, Law) or np.ndim(getattr(law, "scale", getattr(law, "sigma", 0))):
        return None
    if not isinstance(release.total, int) or not isinstance(source, DirichletMixture):
        return None
    return fit(release.values, total=release.total, law=law, alpha=source.alpha)


def fit(noisy: NDArray[np.float64], *, total: int, law: Law, alpha: NDArray[np.float64]) -> Fit:
    """Return the p-value of the total and the p-values of the k released counts, in O(k M) time for the public total M.

    Parameters
    ----------
    noisy : float64 (k,).
    total : public total of the counts.
    law : distribution of the noise, which is the same for every count.
    alpha : float64 (k,), Dirichlet prior.
    """
    s = np.arange(total + 1)
    chances = []
    for value, alpha_count in zip(noisy, alpha, strict=True):
        rest = alpha.sum() - alpha_count
        logs = gammaln(total + 1) - gammaln(s + 1) - gammaln(total - s + 1)
        prior = np.exp(logs + betaln(s + alpha_count, total - s + rest) - betaln(alpha_count, rest))
        above = float(prior @ at_least(law, value - s))
        below = float(prior @ at_least(law, s - value))
        chances.append(min(1.0, 2 * min(above, below)))
    return Fit(sum_at_least(law, abs(float(noisy.sum()) - total), len(noisy)), tuple(chances))


def at_least(law: Law, d: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the upper tail probability P(noise >= d) of a noise distribution. For discrete Gaussian noise, the value
    is a continuous approximation with a relative error of about 5 %.
    """
    d = np.asarray(d, dtype=float)
    match law:
        case Laplace():
            tail = np.exp(-np.abs(d) / law.scale) / 2
            return np.where(d > 0, tail, 1 - tail)
        case DiscreteLaplace():
            a = exp(-1 / law.scale)
            tail = np.exp(-np.abs(d) / law.scale) / (1 + a)
            return np.where(d > 0, tail, 1 - a * tail)
        case _:
            return np.asarray(ndtr((0.5 - d) / law.sigma))


def sum_at_least(law: Law, gap: float, size: int) -> float:
    """Return P(|sum of `size` noise terms| >= gap), where the noise terms are independent.

    The sum of k Laplace terms is the difference of two independent Gamma(k) variables G and H with the same scale, so
    P(G - H > x) = E[P(Poisson(x + H) < k)], which is a finite sum. Discrete distributions are approximated by the
    corresponding continuous distributions, with a continuity correction of one half.
    """
    if isinstance(law, DiscreteGaussian):
        return min(1.0, 2 * float(ndtr(-max(0.0, gap - 0.5) / (law.sigma * size**0.5))))
    x = max(0.0, gap - (0.5 if isinstance(law, DiscreteLaplace) else 0.0)) / law.scale
    i = np.arange(size)
    # the weight of term i is E[H^i e^-H]/i!
    weights = np.exp(gammaln(size + i) - gammaln(size) - gammaln(i + 1) - (size + i) * np.log(2))
    return float(min(1.0, 2 * (weights @ gammaincc(size - i, x))))
