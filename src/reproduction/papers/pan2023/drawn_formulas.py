"""Compute, for given tables, the densities of the cell probabilities theta and of the log odds ratio log phi under the
model on the slides of Pan, Li and Li (2023). The computation does not use the library's posteriors.

A mixture is a list of 2 x 2 tables (m, 4) with one weight per table: theta ~ Dir(alpha + table).
"""

from functools import lru_cache
from itertools import product
from math import comb, factorial

import numpy as np
import scipy  # scipy.stats is loaded on first use
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln, expit, gammaln, polygamma

Array = NDArray[np.float64]
_NODES = np.linspace(-1, 1, 161)
_REACH = 9.0  # range of integration in standard deviations
_LEAST = 1e-12  # smallest weight that is used


def theta_density(x: ArrayLike, tables: ArrayLike, weights: ArrayLike, cell: int, alpha: float = 1.0) -> Array:
    """Return the density of the component `cell` of theta, a mixture of Beta densities."""
    a, w = _kept(tables, weights, alpha)
    return w @ scipy.stats.beta(a[:, [cell]], a.sum(axis=1, keepdims=True) - a[:, [cell]]).pdf(np.asarray(x, float))


def theta_cdf(x: ArrayLike, tables: ArrayLike, weights: ArrayLike, cell: int, alpha: float = 1.0) -> Array:
    """Return the posterior cumulative distribution function of one cell probability at the points `x`. The cell has the
    index `cell`.
    """
    a, w = _kept(tables, weights, alpha)
    return w @ scipy.stats.beta(a[:, [cell]], a.sum(axis=1, keepdims=True) - a[:, [cell]]).cdf(np.asarray(x, float))


def log_phi_density(x: ArrayLike, tables: ArrayLike, weights: ArrayLike, alpha: float = 1.0) -> Array:
    """Return the density of the log odds ratio log phi under the Dirichlet model. The logits log theta1/theta2 and log
    theta4/theta3 of Beta variables are independent, and log phi is their sum.
    """
    places = tuple(np.asarray(x, dtype=float).tolist())
    density = np.zeros(len(places))
    for a, weight in zip(*_kept(tables, weights, alpha), strict=True):
        density += weight * _log_phi(places, *a.tolist())
    return density


@lru_cache(maxsize=512)
def _log_phi(places: tuple[float, ...], a: float, b: float, c: float, d: float) -> Array:
    """Return the density of the log odds ratio log phi at given points, if the cell probabilities theta have the
    distribution Dir(a, b, c, d). The result is cached, since the same tables occur at every rate.
    """
    u = _first_logits(a, b)
    further = np.exp(_log_logit(np.array(places)[:, None] - u, d, c))
    density: Array = np.trapezoid(np.exp(_log_logit(u, a, b)) * further, u, axis=1)
    return density


def log_phi_excess(x: float, tables: ArrayLike, weights: ArrayLike, alpha: float = 1.0) -> float:
    """Return P(log phi <= x) - P(log phi > x) at one point x, where log phi is the log odds ratio. It is computed by
    integrating the distribution function of the second logit over the first logit.
    """
    a, weight = _kept(tables, weights, alpha)
    first, second, third, fourth = a.T[:, :, None]
    u = _first_logits(first, second)
    below = betainc(fourth, third, expit(x - u))
    return float(weight @ np.trapezoid(np.exp(_log_logit(u, first, second)) * (2 * below - 1), u, axis=1))


def reweighted(tables: ArrayLike, weights: ArrayLike, alpha: float) -> Array:
    """Convert the weights of the original tables from the prior Dir(1) to the prior Dir(alpha). The weight of a table
    is proportional to P(S | table) P(table), where S is the swapped table. The prior Dir(1) is uniform on tables.
    """
    counts = np.asarray(tables, dtype=float).reshape(-1, 4)
    logs = (gammaln(counts + alpha) - gammaln(counts + 1)).sum(axis=1)
    new_weights = np.asarray(weights, dtype=float) * np.exp(logs)
    return new_weights / new_weights.sum()


def accepted(tables: ArrayLike, weights: ArrayLike, alpha: float) -> float:
    """Return the ratio of the probabilities of the swapped table under the priors Dir(alpha) and Dir(1)."""
    counts, w = np.asarray(tables, dtype=float).reshape(-1, 4), np.asarray(weights, dtype=float)
    n = counts[0].sum()
    forward, one = (
        (gammaln(counts + a) - gammaln(a)).sum(axis=1) + gammaln(4 * a) - gammaln(4 * a + n) for a in (alpha, 1.0)
    )
    return float(w @ np.exp(forward - one))


def forward(original: ArrayLike, swapped: ArrayLike, rate: float) -> float:
    """Return P(swapped | original), the probability that one swap turns the original table into the swapped table, for
    tables with few records. It is computed by inclusion and exclusion over the unmoved records.

    A uniform derangement of k records is a signed mixture of uniform shuffles of N of them, N = 0 .. k, with weights
    (k!/D_k) (-1)^(k - N)/(k - N)!. A shuffle of a random subset changes the last cell by hypergeometric numbers.
    """
    a, b = (np.asarray(table, dtype=int).ravel() for table in (original, swapped))
    n, q = int(a.sum()), 1 - rate
    deranged = [1, 0]
    for k in range(2, n + 1):
        deranged.append((k - 1) * (deranged[-1] + deranged[-2]))
    chosen = [comb(n, k) * rate**k * q ** (n - k) if k != 1 else 0.0 for k in range(n + 1)]
    numerator = 0.0
    for size in range(n + 1):
        weight = sum(
            chosen[k] * factorial(k) / deranged[k] * (-1) ** (k - size) / factorial(k - size)
            for k in range(size, n + 1)
            if k != 1
        )
        numerator += weight * _shuffled(a, int(b[3] - a[3]), size)
    return numerator / sum(chosen)


def _shuffled(cells: NDArray[np.int64], shift: int, size: int) -> float:
    """Return the probability that the last cell changes by `shift` if the first variable is shuffled among `size`
    random records.
    """
    probability, n = 0.0, int(cells.sum())
    for part in product(*(range(min(int(cell), size) + 1) for cell in cells)):
        after, rows, columns = part[3] + shift, part[2] + part[3], part[1] + part[3]
        if sum(part) != size or not max(0, rows + columns - size) <= after <= min(rows, columns):
            continue
        picked = np.prod([float(comb(int(cell), taken)) for cell, taken in zip(cells, part, strict=True)])
        moved = comb(rows, after) * comb(size - rows, columns - after) / comb(size, columns)
        probability += float(picked) / comb(n, size) * moved
    return probability


def _kept(tables: ArrayLike, weights: ArrayLike, alpha: float) -> tuple[Array, Array]:
    counts, w = np.asarray(tables, dtype=float).reshape(-1, 4), np.asarray(weights, dtype=float)
    keep = w > _LEAST
    return alpha + counts[keep], w[keep]


def _first_logits(a: float | Array, b: float | Array) -> Array:
    """Return integration nodes for log(G_a/G_b), where G_a and G_b are independent gamma variables with the shape
    parameters a and b.
    """
    return np.asarray(np.log(a / b) + _REACH * np.sqrt(polygamma(1, a) + polygamma(1, b)) * _NODES)


def _log_logit(u: Array, a: float | Array, b: float | Array) -> Array:
    """Return the log density of log(G_a/G_b), where G_a and G_b are independent gamma variables with the shape
    parameters a and b.
    """
    return np.asarray(a * u - (a + b) * np.logaddexp(0.0, u) - betaln(a, b))
