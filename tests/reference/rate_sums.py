"""Regression of protected counts, computed with SciPy's distributions and no recurrence: evidence, rates, integrals."""

import numpy as np
from scipy import stats


def count_law(parameters, design, exposure, *, shares):
    """Distribution of the count of one area given (log a, b): a frozen distribution of SciPy."""
    a, at = np.exp(parameters[0]), design @ parameters[1:]
    if shares:
        mu = 1 / (1 + np.exp(-at))
        return stats.betabinom(int(exposure), a * mu, a * (1 - mu))
    return stats.nbinom(a, a / (a + exposure * np.exp(at)))


def rate_law(parameters, design, exposure, count, *, shares):
    """Distribution of the rate of one area given (log a, b) and its count."""
    a, at = np.exp(parameters[0]), design @ parameters[1:]
    if shares:
        mu = 1 / (1 + np.exp(-at))
        return stats.beta(a * mu + count, a * (1 - mu) + exposure - count)
    return stats.gamma(a + count, scale=1 / (a * np.exp(-at) + exposure))


def likelihood(law, released, most):
    """p(released | d) for d = 0 .. most, of one value."""
    return np.exp(law.log_likelihood(np.array([[released]]), np.arange(most + 1.0)[None])[0])


def log_evidence(parameters, likelihoods, design, exposure, *, shares):
    """log p(y_i) of every area; `likelihoods` (n, most + 1), exposure (n,)."""
    d = np.arange(likelihoods.shape[1])
    return np.array(
        [
            np.log(count_law(parameters, x, e, shares=shares).pmf(d) @ row)
            for row, x, e in zip(likelihoods, design, exposure, strict=True)
        ]
    )


def lattice(log_posterior, centre, covariance, *, reach=4.8, size=13):
    """Points and weights of a lattice about the mode: the exact posterior of few hyperparameters."""
    z = np.linspace(-reach, reach, size)
    at = np.stack(np.meshgrid(*[z] * len(centre), indexing="ij"), -1).reshape(-1, len(centre))
    points = centre + at @ np.linalg.cholesky(covariance).T
    logs = np.array([log_posterior(point) for point in points])
    weights = np.exp(logs - logs.max())
    return points, weights / weights.sum()
