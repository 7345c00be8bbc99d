"""Reference implementations of `censored_gibbs` and `baseline_gibbs`: sweeps in NumPy with the same random stream."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr, ndtri_exp
from scipy.stats import truncnorm

from dpmultinomial._posteriors.censored import censored_statistics
from reproduction.papers.raim2021.algorithms import laplace_noise

Array = NDArray[np.float64]
Logs = tuple[float, float, float]
Moments = tuple[float, float, float, float]

_LEAST = 4


def statistics_chain(
    release: Array,
    n: int,
    a: float,
    b: float,
    scales: Array,
    prior: Array,
    initial: Array,
    *,
    form: str,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> Array:
    """Compute `censored_gibbs.statistics_chain` for the forms ``"as_written"`` and ``"corrected"``."""
    mu, sigma2 = initial
    out = np.empty((draws, 6))
    for t in range(burn_in + draws):
        sigma = sigma2**0.5
        log_low, log_high = log_ndtr((a - mu) / sigma), log_ndtr((mu - b) / sigma)
        inside = 1 - np.exp(log_low) - np.exp(log_high)
        moments = _moments(mu, sigma, a, b) if form == "corrected" else (mu, sigma2, 0.5, 2 * sigma2)
        if form == "corrected":
            low, high = _jointly(release, n, scales, (log_low, log_high, np.log(inside)), moments, rng)
        else:
            low, high = _in_turn(release, n, scales, (log_low, log_high, inside), rng)
        mean, sse = _statistics(release, n - low - high, scales, moments, rng)
        x = np.concatenate([
            mu + sigma * ndtri_exp(np.log(rng.random(low)) + log_low),
            mu - sigma * ndtri_exp(np.log(rng.random(high)) + log_high),
        ])  # fmt: skip
        centre = (x.sum() + (n - low - high) * mean) / n
        total = sse + (n - low - high) * (mean - centre) ** 2 + ((x - centre) ** 2).sum()
        mu, sigma2 = _theta(n, centre, total, sigma2, prior, rng)
        if t >= burn_in:
            out[t - burn_in] = mu, sigma2, mean, sse, low, high
    return out


def _theta(
    n: int, centre: float, total: float, sigma2: float, prior: Array, rng: np.random.Generator
) -> tuple[float, float]:
    mu0, var0, shape0, rate0 = prior
    precision = n / sigma2 + 1 / var0
    mu = (n * centre / sigma2 + mu0 / var0) / precision + rng.standard_normal() / precision**0.5
    return mu, (rate0 + 0.5 * (total + n * (centre - mu) ** 2)) / rng.standard_gamma(shape0 + n / 2)


def _moments(mu: float, sigma: float, a: float, b: float) -> tuple[float, float, float, float]:
    law = truncnorm((a - mu) / sigma, (b - mu) / sigma, mu, sigma)
    centre, variance = law.mean(), law.var()
    beta = law.expect(lambda x: (x - centre) ** 4) / variance - variance
    return centre, variance, variance / beta, beta


def _in_turn(release: Array, n: int, scales: Array, logs: Logs, rng: np.random.Generator) -> tuple[int, int]:
    log_low, log_high, inside = logs
    s = np.arange(n - _LEAST + 1)
    high = _pick(_binomial(s, n, log_high, np.log(inside + np.exp(log_low))) - np.abs(release[3] - s) / scales[3], rng)
    s = s[: n - high - _LEAST + 1]
    low = _pick(_binomial(s, n - high, log_low, np.log(inside)) - np.abs(release[2] - s) / scales[2], rng)
    return low, high


def counts_law(
    release: Array, n: int, a: float, b: float, scales: Array, theta: tuple[float, float], form: str
) -> Array:
    """Compute `censored_gibbs.counts_law` by enumeration of all pairs."""
    mu, sigma = theta[0], theta[1] ** 0.5
    log_low, log_high = log_ndtr((a - mu) / sigma), log_ndtr((mu - b) / sigma)
    inside = np.exp(log_ndtr((b - mu) / sigma)) - np.exp(log_low)
    if form != "as_written":
        moments = _moments(mu, sigma, a, b) if form == "corrected" else (mu, sigma**2, 0.5, 2 * sigma**2)
        logs = joint_logs(release, n, scales, (log_low, log_high, np.log(inside)), moments)
        found = np.exp(logs - logs.max())
        return np.asarray(found / found.sum())
    law, s = np.zeros((n + 1, n + 1)), np.arange(n - _LEAST + 1)
    first = _binomial(s, n, log_high, np.log(inside + np.exp(log_low))) - np.abs(release[3] - s) / scales[3]
    for high, share in enumerate(np.exp(first - first.max()) / np.exp(first - first.max()).sum()):
        left = s[: n - high - _LEAST + 1]
        second = _binomial(left, n - high, log_low, np.log(inside)) - np.abs(release[2] - left) / scales[2]
        law[high, left] = share * np.exp(second - second.max()) / np.exp(second - second.max()).sum()
    return law


def _binomial(s: NDArray[np.int64], n: int, log_p: float, log_q: float) -> Array:
    return np.asarray(s * log_p + (n - s) * log_q - gammaln(s + 1) - gammaln(n - s + 1))


def _pick(logs: Array, rng: np.random.Generator) -> int:
    weights = np.cumsum(np.exp(logs - logs.max()))
    return int(np.searchsorted(weights, rng.random() * weights[-1], side="right"))


def _jointly(
    release: Array, n: int, scales: Array, logs: Logs, moments: Moments, rng: np.random.Generator
) -> tuple[int, int]:
    """Draw from all pairs of counts by inversion, high before low."""
    high, low = divmod(_pick(joint_logs(release, n, scales, logs, moments).ravel(), rng), n + 1)
    return low, high


def joint_logs(release: Array, n: int, scales: Array, logs: Logs, moments: Moments) -> Array:
    """Return the log weights of all pairs, rows s_high; -inf if fewer than four records are inside."""
    (log_low, log_high, log_inside), (centre, variance, power, beta) = logs, moments
    high, low = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    c = np.maximum(n - high - low, 0)
    psi = np.full(n + 1, -np.inf)
    for k in range(_LEAST, n + 1):
        psi[k] = laplace_noise.normal_log_total(release[0] - centre, variance / k, scales[0])
        psi[k] += laplace_noise.gamma_log_psi(release[1], power * (k - 1), beta, scales[1])
    total = (
        high * log_high
        + low * log_low
        + c * log_inside
        + psi[c]
        - gammaln(high + 1)
        - gammaln(low + 1)
        - gammaln(c + 1)
    )
    return np.asarray(total - np.abs(release[2] - low) / scales[2] - np.abs(release[3] - high) / scales[3])


def _statistics(
    release: Array, count: int, scales: Array, moments: Moments, rng: np.random.Generator
) -> tuple[float, float]:
    centre, variance, power, beta = moments
    xi = laplace_noise.normal_quantile(np.array([rng.random()]), release[0] - centre, variance / count, scales[0])[0]
    sse = laplace_noise.gamma_quantile(np.array([rng.random()]), release[1], power * (count - 1), beta, scales[1])[0]
    return release[0] - xi, sse


def records_chain(
    release: Array,
    n: int,
    a: float,
    b: float,
    scales: Array,
    prior: Array,
    initial: Array,
    records: Array,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> Array:
    """Compute `censored_gibbs.records_chain`, recomputing all statistics for every proposal."""
    (mu, sigma2), x, out = initial, np.array(records, dtype=float), np.empty((draws, 6))
    for t in range(burn_in + draws):
        for i in range(n):
            proposed = x.copy()
            proposed[i] = mu + sigma2**0.5 * rng.standard_normal()
            old, new = (
                np.abs(np.subtract(release, _summary(y, a, b))) @ (1 / np.asarray(scales)) for y in (x, proposed)
            )
            if rng.random() < np.exp(min(float(old - new), 0.0)):
                x = proposed
        stats = _summary(x, a, b)
        mu, sigma2 = _theta(n, x.mean(), ((x - x.mean()) ** 2).sum(), sigma2, prior, rng)
        if t >= burn_in:
            out[t - burn_in] = mu, sigma2, *stats
    return out


def _summary(x: Array, a: float, b: float) -> Array:
    inside = x[(x >= a) & (x <= b)]
    mean = inside.mean() if len(inside) else (a + b) / 2
    return np.array([mean, ((inside - mean) ** 2).sum(), (x < a).sum(), (x > b).sum()])


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
