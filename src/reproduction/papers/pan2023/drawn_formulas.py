"""Densities of theta and log phi given tables, from the slides' model; nothing of the library's posteriors is used.

A mixture is a list of 2 x 2 tables (m, 4) with a weight each: theta ~ Dir(alpha + table).
"""

import numpy as np
import scipy  # its laws load when they are first used
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, polygamma

Array = NDArray[np.float64]
_NODES = np.linspace(-1, 1, 161)
_REACH = 9.0  # standard deviations over which a density is integrated
_LEAST = 1e-12  # of a weight


def theta_density(x: ArrayLike, tables: ArrayLike, weights: ArrayLike, cell: int, alpha: float = 1.0) -> Array:
    """Density of theta's `cell`: a mixture of Beta laws."""
    a, w = _kept(tables, weights, alpha)
    return w @ scipy.stats.beta(a[:, [cell]], a.sum(axis=1, keepdims=True) - a[:, [cell]]).pdf(np.asarray(x, float))


def theta_cdf(x: ArrayLike, tables: ArrayLike, weights: ArrayLike, cell: int, alpha: float = 1.0) -> Array:
    """Distribution function of theta's `cell`."""
    a, w = _kept(tables, weights, alpha)
    return w @ scipy.stats.beta(a[:, [cell]], a.sum(axis=1, keepdims=True) - a[:, [cell]]).cdf(np.asarray(x, float))


def log_phi_density(x: ArrayLike, tables: ArrayLike, weights: ArrayLike, alpha: float = 1.0) -> Array:
    """Density of log phi: log theta1/theta2 and log theta4/theta3 are independent, logits of Beta variables."""
    places = np.asarray(x, dtype=float)
    found = np.zeros(len(places))
    for a, weight in zip(*_kept(tables, weights, alpha), strict=True):
        centre = np.log(a[0] / a[1])
        u = centre + _REACH * np.sqrt(polygamma(1, a[0]) + polygamma(1, a[1])) * _NODES
        first = np.exp(_log_logit(u, a[0], a[1]))
        found += weight * np.trapezoid(first * np.exp(_log_logit(places[:, None] - u, a[3], a[2])), u, axis=1)
    return found


def reweighted(tables: ArrayLike, weights: ArrayLike, alpha: float) -> Array:
    """Weights P(S | table) P(table) under Dir(alpha) where those under Dir(1), of every table alike, are `weights`."""
    counts = np.asarray(tables, dtype=float).reshape(-1, 4)
    logs = (gammaln(counts + alpha) - gammaln(counts + 1)).sum(axis=1)
    found = np.asarray(weights, dtype=float) * np.exp(logs)
    return found / found.sum()


def accepted(tables: ArrayLike, weights: ArrayLike, alpha: float) -> float:
    """Probability of the swapped table under Dir(alpha), in units of that under Dir(1)."""
    counts, w = np.asarray(tables, dtype=float).reshape(-1, 4), np.asarray(weights, dtype=float)
    n = counts[0].sum()
    here, one = (
        (gammaln(counts + a) - gammaln(a)).sum(axis=1) + gammaln(4 * a) - gammaln(4 * a + n) for a in (alpha, 1.0)
    )
    return float(w @ np.exp(here - one))


def _kept(tables: ArrayLike, weights: ArrayLike, alpha: float) -> tuple[Array, Array]:
    counts, w = np.asarray(tables, dtype=float).reshape(-1, 4), np.asarray(weights, dtype=float)
    keep = w > _LEAST
    return alpha + counts[keep], w[keep]


def _log_logit(u: Array, a: float, b: float) -> Array:
    """log density of log G_a/G_b."""
    return a * u - (a + b) * np.logaddexp(0.0, u) - betaln(a, b)
