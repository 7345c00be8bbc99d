"""Mean and covariance of the censored statistics under theta, for many theta at once; records on [-1, 1].

For starts, pilots, prior predictions and the normal approximation of the baseline; the sampler's law does not rest
on them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


class Inside(NamedTuple):
    """Mean and central moments 2, 3, 4 of N(mu, sigma2) inside [-1, 1]; probabilities of the two sides.

    Parameters
    ----------
    mean, second, third, fourth, low, high : float64 (k,).
    """

    mean: Array
    second: Array
    third: Array
    fourth: Array
    low: Array
    high: Array


def inside(mu: Array, sigma2: Array) -> Inside:
    """Moments of a record inside, by quadrature where the density is within exp(-40) of its largest value; mu,
    sigma2 (k,)."""
    sigma = np.sqrt(sigma2)
    top = np.clip(mu, -1, 1)
    gap = np.abs(mu - top)
    reach = 80 * sigma2 / (np.sqrt(gap**2 + 80 * sigma2) + gap)
    first, last = np.maximum(-1 - top, -reach), np.minimum(1 - top, reach)
    s = 0.5 * (first + last)[:, None] + 0.5 * (last - first)[:, None] * NODES
    p = WEIGHTS * np.exp(-0.5 * s * (s + 2 * (top - mu)[:, None]) / sigma2[:, None])
    p /= p.sum(axis=1, keepdims=True)
    mean = (p * s).sum(axis=1)
    d = s - mean[:, None]
    second, third, fourth = ((p * d**k).sum(axis=1) for k in (2, 3, 4))
    return Inside(top + mean, second, third, fourth, ndtr((-1 - mu) / sigma), ndtr((mu - 1) / sigma))


def statistics(mu: Array, sigma2: Array, n: int, *, sums: bool = False) -> tuple[Array, Array]:
    """Mean (k, 4) and covariance (k, 4, 4) of (mean, sse, low, high), to first order in 1/n; of the sums exactly.

    Parameters
    ----------
    mu, sigma2 : float64 (k,), on the scale of the limits.
    n : records.
    sums : sums of u and u^2 of the records inside in place of mean and sum of squares about it.

    Returns
    -------
    mean, covariance : float64 (k, 4) and (k, 4, 4).
    """
    law = inside(mu, sigma2)
    p = np.clip(1 - law.low - law.high, 0.0, 1.0)
    covariance = np.zeros((len(mu), 4, 4))
    if sums:
        u = law.mean
        square = law.second + u**2
        cube = law.third + 3 * u * law.second + u**3
        fourth = law.fourth + 4 * u * law.third + 6 * u**2 * law.second + u**4
        one = np.column_stack([p * u, p * square, law.low, law.high])
        covariance[:, 0, 0], covariance[:, 1, 1] = p * square, p * fourth
        covariance[:, 0, 1] = covariance[:, 1, 0] = p * cube
        covariance[:, 2, 2], covariance[:, 3, 3] = law.low, law.high
        return n * one, n * (covariance - one[:, :, None] * one[:, None, :])
    c = np.maximum(n * p, 2.0)
    mean = np.column_stack([law.mean, (c - 1) * law.second, n * law.low, n * law.high])
    covariance[:, 0, 0] = law.second / c
    covariance[:, 0, 1] = covariance[:, 1, 0] = law.third * (c - 1) / c
    covariance[:, 1, 1] = c * np.maximum(law.fourth - law.second**2, 1e-3 * law.second**2) + law.second**2 * n * p * (
        1 - p
    )
    for i, side in ((2, law.low), (3, law.high)):
        covariance[:, i, i] = n * side * (1 - side)
        covariance[:, 1, i] = covariance[:, i, 1] = -law.second * n * side * p
    covariance[:, 2, 3] = covariance[:, 3, 2] = -n * law.low * law.high
    return mean, covariance
