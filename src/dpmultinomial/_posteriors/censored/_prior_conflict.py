"""Whether a prior and a release agree: the release under the prior predictive law, the posterior under the prior."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, ndtr

from ..._mechanisms.sufficient_statistics import STATISTICS
from . import _censored_moments
from ._censored_pilot import Release

SIZE = 4000
SUSPECT = 0.001  # least two-sided probability, four statistics together, below which prior and release disagree


@dataclass(frozen=True)
class Conflict:
    """How well prior and release agree.

    Parameters
    ----------
    predictive : two-sided prior predictive probabilities of the released mean, sse, low, high: 2 min(P(Z <= z), P(Z >=
        z)), at most 1, from 4,000 predicted releases; at least 1/2,000.
    parameters : two-sided prior probabilities of the posterior medians of mu and sigma2, in closed form: they show a
        conflict that only the four numbers together betray.
    """

    predictive: tuple[float, float, float, float]
    parameters: tuple[float, float]

    @property
    def least(self) -> float:
        """The least of the six, times six (Bonferroni), at most 1."""
        return min(1.0, 6 * min(self.predictive + self.parameters))

    @property
    def found(self) -> bool:
        """Whether prior and release disagree: one of the six is below 0.001."""
        return min(self.predictive + self.parameters) < SUSPECT

    def __str__(self) -> str:
        if not self.found:
            return f"prior and release agree (prior predictive probability {self.least:.2g})"
        names = (
            *(f"the released {name}" for name in STATISTICS),
            "the posterior median of mu",
            "the posterior median of sigma2",
        )
        every = self.predictive + self.parameters
        worst = min(range(len(every)), key=every.__getitem__)
        return f"prior and release disagree: {names[worst]} has prior probability {every[worst]:.1g}"

    __repr__ = __str__


def compare(release: Release, medians: tuple[float, float], *, rng: np.random.Generator) -> Conflict:
    """Both comparisons; `medians` of mu and sigma2 on the scale of the limits.

    Parameters
    ----------
    release : Release.
    medians : posterior medians.
    rng : numpy Generator.

    Returns
    -------
    Conflict
    """
    prior = release.prior
    mu = 2 * float(ndtr(-abs(medians[0] - prior.mu0) / prior.var0**0.5))
    gamma = prior.shape0, prior.rate0 / medians[1]  # 1/sigma2 is a gamma variable
    return Conflict(predictive(release, rng=rng), (mu, 2 * float(min(gammaincc(*gamma), gammainc(*gamma)))))


def predictive(release: Release, *, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Two-sided probabilities of the four released numbers among 4,000 that the prior predicts.

    Counts are multinomial; mean and sum of squares have a normal and a gamma law with their moments under theta:
    approximate for a few records, good enough to see a conflict. Laplace noise is added.
    """
    theta = release.prior.sample(SIZE, rng=rng)
    law = _censored_moments.inside(theta[:, 0], theta[:, 1])
    inside = np.clip(1 - law.low - law.high, 0, 1)
    p = np.column_stack([law.low, law.high, inside])
    counts = rng.multinomial(release.n, p / p.sum(axis=1, keepdims=True)).astype(float)
    c = counts[:, 2]
    few = np.maximum(c, 1)
    mean = np.where(c > 0, np.clip(law.mean + np.sqrt(law.second / few) * rng.standard_normal(SIZE), -1, 1), 0.0)
    beta = np.maximum(law.fourth - law.second**2, 1e-3 * law.second**2) / law.second
    shape = np.maximum(c - 1, 0) * law.second / beta
    sse = np.where(c > 1, beta * rng.standard_gamma(np.maximum(shape, 1e-9)), 0.0)
    first, second = (c * mean, sse + c * mean**2) if release.sums else (mean, sse)
    predicted = (
        np.column_stack([first, second, counts[:, 0], counts[:, 1]]) + rng.laplace(size=(SIZE, 4)) * release.scale
    )
    return _two_sided(predicted, release.z)


def _two_sided(predicted: NDArray[np.float64], z: NDArray[np.float64]) -> tuple[float, float, float, float]:
    below, above = (predicted <= z).sum(axis=0) + 1, (predicted >= z).sum(axis=0) + 1
    found = np.minimum(1.0, 2 * np.minimum(below, above) / (len(predicted) + 1))
    return float(found[0]), float(found[1]), float(found[2]), float(found[3])
