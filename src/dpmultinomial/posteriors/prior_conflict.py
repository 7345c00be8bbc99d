"""Whether a prior and a release agree: the release's place in the prior predictive law."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.sufficient_statistics import STATISTICS
from . import censored_moments
from .censored_pilot import Release

SIZE = 4000
SUSPECT = 0.001  # least two-sided probability, four statistics together, below which prior and release disagree


@dataclass(frozen=True)
class Conflict:
    """Two-sided prior predictive probabilities P of the four released numbers, from 4,000 predicted releases.

    Parameters
    ----------
    probabilities : for mean, sse, low, high: 2 min(P(Z <= z), P(Z >= z)), at most 1; at least 1/4,001.
    """

    probabilities: tuple[float, float, float, float]

    @property
    def least(self) -> float:
        """The least of the four, times four (Bonferroni), at most 1."""
        return min(1.0, 4 * min(self.probabilities))

    @property
    def found(self) -> bool:
        """Whether prior and release disagree: `least` below 0.004."""
        return min(self.probabilities) < SUSPECT

    def __str__(self) -> str:
        if not self.found:
            return f"prior and release agree (prior predictive probability {self.least:.2g})"
        worst = STATISTICS[int(np.argmin(self.probabilities))]
        return f"prior and release disagree: the released {worst} has prior predictive probability {min(self.probabilities):.1g}"


def predictive(release: Release, *, rng: np.random.Generator) -> Conflict:
    """Compare a release with those that its prior predicts.

    Counts are multinomial; mean and sum of squares have a normal and a gamma law with their moments under theta: approximate for a
    few records, good enough to see a conflict. Laplace noise is added.
    """
    theta = release.prior.sample(SIZE, rng=rng)
    law = censored_moments.inside(theta[:, 0], theta[:, 1])
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
    predicted = np.column_stack([first, second, counts[:, 0], counts[:, 1]]) + rng.laplace(size=(SIZE, 4)) * release.scale
    return Conflict(_two_sided(predicted, release.z))


def _two_sided(predicted: NDArray[np.float64], z: NDArray[np.float64]) -> tuple[float, float, float, float]:
    below, above = (predicted <= z).sum(axis=0) + 1, (predicted >= z).sum(axis=0) + 1
    found = np.minimum(1.0, 2 * np.minimum(below, above) / (len(predicted) + 1))
    return float(found[0]), float(found[1]), float(found[2]), float(found[3])
