"""How exact the saddlepoint law of (mean, sum of squares) is: inversion of the characteristic function at posterior
draws.

h_c knows no theta. So the exact posterior is the sampled one times R = h/h_saddle, a function of (c, m, q) alone, and
the total variation distance between them is at most (e^D - 1)/2, D the range of log R over the posterior's support.
"""

import numpy as np
from numpy.typing import NDArray

from . import _statistics_sampler

Array = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(128)
STEP = 0.4  # of the trapezoid in orthonormal coordinates: aliasing below exp(-(2 pi/0.4)^2/2)


def log_ratio(mean: Array, sse: Array, counts: NDArray[np.int64]) -> Array:
    """log h_c - log h_saddle at (m, q), each float64 (k,): two-dimensional inversion, error about 1e-8 or 1e-12 c.

    Parameters
    ----------
    mean, sse : float64 (k,).
    counts : int64 (k,), >= 3.

    Returns
    -------
    float64 (k,)

    Raises
    ------
    ValueError
        If a count is below 3 or a pair outside 0 < q/c < 1 - m^2.
    """
    found = _statistics_sampler.log_inside_density(mean, sse, counts)
    if not np.isfinite(found).all():
        raise ValueError("mean and sse must lie inside 0 < sse/count < 1 - mean^2")
    rows = zip(found, mean, counts, strict=True)
    return np.array([_one(tilt, second, float(m), int(c)) for (_, *tilt, second), m, c in rows])


def total_variation(mean: Array, sse: Array, counts: NDArray[np.int64], *, checks: int = 24) -> tuple[float, int]:
    """(e^D - 1)/2 over those of the given draws where R is checked, and how many those are.

    A third of `checks` are the draws with the least and the largest second-order term over c, where R is worst, the
    rest evenly spaced. Draws of fewer than 64 records are exact (log R = 0) and count as such.

    Parameters
    ----------
    mean, sse : float64 (k,), draws.
    counts : int64 (k,).
    checks : how many to check, >= 3.

    Returns
    -------
    distance, checked : float and int.
    """
    few = counts < _statistics_sampler.FEWEST
    m, q, c = mean[~few], sse[~few], counts[~few]
    if not len(c):
        return 0.0, 0
    term = _statistics_sampler.log_inside_density(m, q, c)[:, 3] / c
    order = np.argsort(term)
    ends = np.r_[order[: checks // 6], order[-(checks // 6) :]]
    places = np.unique(np.r_[ends, np.linspace(0, len(c) - 1, checks - 2 * (checks // 6)).astype(int)])
    found = log_ratio(m[places], q[places], c[places])
    if few.any():
        found = np.append(found, 0.0)
    return float(np.expm1(np.ptp(found)) / 2), len(places)


def _one(tilt: list[float], second: float, m: float, c: int) -> float:
    y1, y2, p = _orthonormal(tilt[0], tilt[1], m)
    reach = np.ceil((8 + 120 / c**0.5) / STEP)
    t = np.arange(-reach, reach + 1) * STEP / c**0.5
    left, right = np.exp(1j * np.outer(t, y1)), np.exp(1j * np.outer(t[t >= 0], y2))
    value = ((left * p) @ right.T) ** c
    value[:, 1:] *= 2  # the other half is the conjugate
    inverted = value.real.sum() * STEP**2 / (2 * np.pi)
    return float(np.log(inverted) - np.log1p(max(second / c, -0.5)))


def _orthonormal(e1: float, e2: float, m: float) -> tuple[Array, Array, Array]:
    """d and d^2 made orthonormal under the tilted law, at the nodes, and the nodes' probabilities."""
    low, high = -1 - m, 1 - m
    if e2 < 0:
        peak = -0.5 * e1 / e2
        top = min(max(peak, low), high)
        reach = np.sqrt((top - peak) ** 2 - 45 / e2)
        low, high = max(low, peak - reach), min(high, peak + reach)
    d = 0.5 * (low + high) + 0.5 * (high - low) * NODES
    exponent = d * (e1 + e2 * d)
    p = WEIGHTS * np.exp(exponent - exponent.max())
    p /= p.sum()
    y1 = d - p @ d
    y1 /= (p @ y1**2) ** 0.5
    y2 = d**2 - p @ d**2
    y2 -= (p @ (y1 * y2)) * y1
    return y1, y2 / (p @ y2**2) ** 0.5, p
