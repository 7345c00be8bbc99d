"""Reference implementation of `_censored_records`: sweeps in NumPy from the same stream."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
    """`censored_records.records_chain`, with all statistics computed anew for every proposal."""
    (mu, sigma2), x, out = initial, np.array(records, dtype=float), np.empty((draws, 6))
    for t in range(burn_in + draws):
        for i in range(n):
            proposed = x.copy()
            proposed[i] = mu + sigma2**0.5 * rng.standard_normal()
            old, new = (np.abs(np.subtract(release, _of(y, a, b))) @ (1 / np.asarray(scales)) for y in (x, proposed))
            if rng.random() < np.exp(min(float(old - new), 0.0)):
                x = proposed
        stats = _of(x, a, b)
        mu, sigma2 = _theta(n, x.mean(), ((x - x.mean()) ** 2).sum(), sigma2, prior, rng)
        if t >= burn_in:
            out[t - burn_in] = mu, sigma2, *stats
    return out


def _of(x: Array, a: float, b: float) -> Array:
    inside = x[(x >= a) & (x <= b)]
    mean = inside.mean() if len(inside) else (a + b) / 2
    return np.array([mean, ((inside - mean) ** 2).sum(), (x < a).sum(), (x > b).sum()])


def _theta(
    n: int, centre: float, total: float, sigma2: float, prior: Array, rng: np.random.Generator
) -> tuple[float, float]:
    mu0, var0, shape0, rate0 = prior
    precision = n / sigma2 + 1 / var0
    mu = (n * centre / sigma2 + mu0 / var0) / precision + rng.standard_normal() / precision**0.5
    return mu, (rate0 + 0.5 * (total + n * (centre - mu) ** 2)) / rng.standard_gamma(shape0 + n / 2)
