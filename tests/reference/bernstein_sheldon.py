"""Reference implementation of `baseline_gibbs`: sweeps in NumPy and SciPy with the same random stream."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from dpmultinomial._posteriors.censored import censored_statistics

Array = NDArray[np.float64]


def gibbs(
    z: Array,
    n: int,
    scale: Array,
    prior: tuple[float, float, float, float],
    start: Array,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> Array:
    """Compute `baseline_gibbs.gibbs`."""
    mu, sigma2, s = start[:, 0], start[:, 1], start[:, 2:]
    out = np.empty((len(start), draws, 2))
    for t in range(burn_in + draws):
        s = statistics(z, scale, mu, sigma2, s, n, rng)
        mu, sigma2 = theta(s, n, mu, sigma2, prior, rng)
        if t >= burn_in:
            out[:, t - burn_in] = np.column_stack([mu, sigma2])
    return out


def statistics(z: Array, scale: Array, mu: Array, sigma2: Array, s: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw the noise variances given the noise, then the statistics given theta, the variances and the release."""
    precision = rng.wald(1 / (scale * np.maximum(np.abs(z - s), 1e-12 * scale)), 1 / scale**2)
    mean, covariance = censored_statistics.statistics(mu, sigma2, n)
    covariance = (
        covariance + 1e-9 * np.eye(4) * np.diagonal(covariance, axis1=1, axis2=2)[:, None, :] + 1e-12 * np.eye(4)
    )
    gain = np.linalg.inv(covariance)
    both = np.linalg.inv(gain + precision[:, :, None] * np.eye(4))
    centre = np.einsum("kij,kj->ki", both, np.einsum("kij,kj->ki", gain, mean) + precision * z)
    root = np.linalg.cholesky((both + both.transpose(0, 2, 1)) / 2)
    return np.asarray(centre + np.einsum("kij,kj->ki", root, rng.standard_normal(s.shape)))


def theta(
    s: Array, n: int, mu: Array, sigma2: Array, prior: tuple[float, float, float, float], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw the records outside, then mu and sigma2 from their conditionals; the statistics are moved to the nearest
    possible values."""
    mu0, var0, shape0, rate0 = prior
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
    precision = n / sigma2 + 1 / var0
    fresh = (first / sigma2 + mu0 / var0) / precision + rng.standard_normal(len(mu)) / np.sqrt(precision)
    rate = rate0 + 0.5 * np.maximum(second - 2 * fresh * first + n * fresh**2, 0.0)
    return fresh, rate / rng.standard_gamma(shape0 + n / 2, len(mu))
