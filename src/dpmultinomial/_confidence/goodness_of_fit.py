"""Monte Carlo tests from noisy counts: goodness of fit to given rates, and equal rates of two noisy samples.

Under given rates the release can be drawn exactly. The p-value (1 + number of draws with a statistic at least as large)
/ (1 + draws) of Barnard (1963) has level alpha for every alpha and every number of draws. If a rate or the number of
records is estimated first, the test is a parametric bootstrap and its level is approximate.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._mechanisms.noise_law import Array

DRAWS = 9999
_TIE = 1e-9


def goodness_of_fit(
    values: Array, *, n: int, rates: Array, law: Any, variances: Array, rng: np.random.Generator
) -> float:
    """Return the p-value of given rates, from noisy counts of all categories.

    Parameters
    ----------
    values : released counts (k,).
    n : number of records.
    rates : hypothetical rates (k,), which add up to 1.
    law : noise distribution, with a method ``sample``.
    variances : variances of the noise (k,), or (1,).
    rng : numpy Generator; 9,999 draws of the release.

    Returns
    -------
    float
        The statistic is the squared distance from the expected counts in the inverse covariance of counts and noise.
    """
    k = len(rates)
    covariance = n * (np.diag(rates) - np.outer(rates, rates)) + np.diag(np.broadcast_to(variances, (k,)))
    inverse = np.linalg.pinv(covariance, hermitian=True)

    def distance(found: Array) -> Array:
        gap = found - n * rates
        return np.asarray(np.einsum("...i,ij,...j->...", gap, inverse, gap))

    drawn = sampled(law, rng.multinomial(n, rates, size=DRAWS), rng)
    own = float(distance(values))
    return (1 + int((distance(drawn) >= own * (1 - _TIE)).sum())) / (DRAWS + 1)


def sampled(law: Any, counts: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Return noisy counts (draws, k) under the distribution of each column.

    Parameters
    ----------
    law : noise distribution of k counts, or of all.
    counts : true counts (draws, k).
    rng : numpy Generator.

    Returns
    -------
    float64
    """
    return np.asarray(law.sample(counts.T, rng=rng), dtype=np.float64).T


def four_cells(values: Array, *, law: Any, variances: Array, rng: np.random.Generator) -> float:
    """Return the p-value of equal rates of two samples of unknown size, by a parametric bootstrap.

    Parameters
    ----------
    values : released counts yes and no of the first sample, yes and no of the second (4,).
    law : noise distribution of the four counts, or of all.
    variances : variances of the noise (4,).
    rng : numpy Generator; 9,999 draws of the release.

    Returns
    -------
    float
    """
    own, sizes, p = _two_shares(values[:, None], variances)
    n = np.maximum(np.round(sizes[:, 0]), 1).astype(np.int64)
    yes = rng.binomial(n[:, None], float(p[0]), size=(2, DRAWS))
    cells = np.stack([yes[0], n[0] - yes[0], yes[1], n[1] - yes[1]], axis=1)
    drawn, _, _ = _two_shares(sampled(law, cells, rng).T, variances)
    return (1 + int((drawn >= own[0] - _TIE).sum())) / (DRAWS + 1)


def _two_shares(values: Array, variances: Array) -> tuple[Array, Array, Array]:
    """Return the standardised difference of two shares, the sizes and the common share, for columns of releases."""
    sizes = np.maximum(values[[0, 2]] + values[[1, 3]], 1.0)
    p = np.clip((values[0] + values[2]) / sizes.sum(axis=0), 0.005, 0.995)
    v = np.broadcast_to(variances, (4,))
    spread = np.zeros(values.shape[1])
    for i in (0, 1):
        noise = (1 - p) ** 2 * v[2 * i] + p**2 * v[2 * i + 1]
        spread = spread + p * (1 - p) / sizes[i] + noise / sizes[i] ** 2
    z = np.abs(values[0] / sizes[0] - values[2] / sizes[1]) / np.sqrt(spread)
    return z, sizes, p
