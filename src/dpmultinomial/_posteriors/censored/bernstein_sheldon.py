"""The Gibbs sampler of Bernstein and Sheldon (2018) for the censored normal model: a baseline to measure against.

Idea of "Differentially Private Bayesian Inference for Exponential Families": the statistics' law given theta is
replaced by the normal law with its mean and covariance, Laplace noise is a normal law whose variance has an exponential
law (so 1/variance is inverse Gaussian given the noise), and theta is drawn as if the drawn statistics were those of the
data, here with the censored records drawn anew. Records on the scale of the limits; all chains in one array.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri_exp

from ... import _checks
from ..._mechanisms.sufficient_statistics import CensoredStatistics
from . import _censored_moments
from ._released_statistics import released
from .normal_prior import Prior

Array = NDArray[np.float64]
LEAST_RECORDS = 4


def gibbs(
    release: ArrayLike | Mapping[str, float],
    *,
    n: int,
    lower: float,
    upper: float,
    scale: ArrayLike,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    prior: Prior | None = None,
    chains: int = 4,
) -> Array:
    """Dependent draws of (mu, sigma2): float64 (chains, draws, 2), from the normal approximation's posterior.

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high), or a mapping.
    n : records, >= 4.
    lower, upper : censoring limits.
    scale : Laplace scale, one number or one a statistic.
    draws, burn_in : sweeps kept and thrown away.
    rng : numpy Generator.
    prior : None takes `Prior.from_limits`.
    chains : >= 1.

    Returns
    -------
    float64 (chains, draws, 2). A sweep costs O(records outside). The law is not that of the model: it misses the
        skewness of the sum of squares and the bounds of the statistics, worst where the noise is small or few records
        are inside.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    limits = CensoredStatistics(lower=lower, upper=upper)
    half, middle = limits.width / 2, (limits.lower + limits.upper) / 2
    units = np.array([half, half**2, 1.0, 1.0])
    z = (released(release) - [middle, 0.0, 0.0, 0.0]) / units
    size = _checks.positives("scale", scale, 4) / units
    count, kept = _checks.whole("n", n, least=LEAST_RECORDS), _checks.whole("draws", draws)
    skip, width = _checks.whole("burn_in", burn_in), _checks.whole("chains", chains, least=1)
    _checks.generator(rng)
    used = (Prior.from_limits(lower, upper) if prior is None else prior).standardised(lower, upper)
    mu, sigma2 = np.zeros(width), np.full(width, 0.25)
    s, out = np.tile([0.0, 0.2 * count, 0.05 * count, 0.05 * count], (width, 1)), np.empty((width, kept, 2))
    for t in range(skip + kept):
        s = _statistics(z, size, mu, sigma2, s, count, rng)
        mu, sigma2 = _theta(s, count, mu, sigma2, used, rng)
        if t >= skip:
            out[:, t - skip] = np.column_stack([middle + half * mu, half**2 * sigma2])
    return out


def _statistics(z: Array, scale: Array, mu: Array, sigma2: Array, s: Array, n: int, rng: np.random.Generator) -> Array:
    """The noise's variances given the noise, then the statistics given theta, variances and release."""
    precision = rng.wald(1 / (scale * np.maximum(np.abs(z - s), 1e-12 * scale)), 1 / scale**2)
    mean, covariance = _censored_moments.statistics(mu, sigma2, n)
    covariance = (
        covariance + 1e-9 * np.eye(4) * np.diagonal(covariance, axis1=1, axis2=2)[:, None, :] + 1e-12 * np.eye(4)
    )
    gain = np.linalg.inv(covariance)
    both = np.linalg.inv(gain + precision[:, :, None] * np.eye(4))
    centre = np.einsum("kij,kj->ki", both, np.einsum("kij,kj->ki", gain, mean) + precision * z)
    root = np.linalg.cholesky((both + both.transpose(0, 2, 1)) / 2)
    return np.asarray(centre + np.einsum("kij,kj->ki", root, rng.standard_normal(s.shape)))


def _theta(s: Array, n: int, mu: Array, sigma2: Array, prior: Prior, rng: np.random.Generator) -> tuple[Array, Array]:
    """Records outside anew, then mu and sigma2 from their conditionals; the statistics moved to the nearest possible
    ones."""
    low = np.clip(np.rint(s[:, 2]), 0, n - 1).astype(int)
    high = np.clip(np.rint(s[:, 3]), 0, n - 1 - low).astype(int)
    c = n - low - high
    mean = np.clip(s[:, 0], -1, 1)
    first, second = c * mean, np.clip(s[:, 1], 0, c) + c * mean**2
    sigma = np.sqrt(sigma2)
    for counts, sign in ((low, 1.0), (high, -1.0)):
        place = np.repeat(np.arange(len(mu)), counts)
        tail = log_ndtr((-1 - sign * mu) / sigma)
        x = sign * (sign * mu[place] + sigma[place] * ndtri_exp(np.log1p(-rng.random(len(place))) + tail[place]))
        first += np.bincount(place, x, len(mu))
        second += np.bincount(place, x**2, len(mu))
    precision = n / sigma2 + 1 / prior.var0
    fresh = (first / sigma2 + prior.mu0 / prior.var0) / precision + rng.standard_normal(len(mu)) / np.sqrt(precision)
    rate = prior.rate0 + 0.5 * np.maximum(second - 2 * fresh * first + n * fresh**2, 0.0)
    return fresh, rate / rng.standard_gamma(prior.shape0 + n / 2, len(mu))
