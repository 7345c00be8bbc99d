"""Exact (epsilon, delta) profiles of a single release of the Dirichlet, Laplace and geometric mechanisms. Neighbouring
data sets differ by the replacement of one record.

Two histograms that differ by one moved record have densities whose ratio depends only on w = y_i/(y_i + y_j), and w has
a Beta distribution under both. Therefore delta(epsilon) is a difference of two Beta tails, without a conversion.

The profile of Laplace noise is in closed form, for one histogram and neighbours that differ by replacing a record. The
profile of two-sided geometric noise is the exact hockey-stick divergence of several counts.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit

from .. import _checks
from .._kernels import geometric

_LARGEST_EXPONENT = 700.0
_CONVERGED = 1e-15  # relative change of a continued fraction at which it has converged


def dirichlet_delta(
    epsilon: ArrayLike, *, r: float, alpha: float, counts: tuple[float, float] = (0.0, 0.0)
) -> NDArray[np.float64]:
    """Return the smallest delta for which the mechanism that draws from Dirichlet(r f + alpha), given the histogram f,
    is (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : >= 0, any shape.
    r, alpha : > 0.
    counts : the two changed cells without the moved record. (0, 0) is the worst pair (proof: `DirichletLoss`); other
        values give the profile of one pair.

    Returns
    -------
    float64 of the shape of `epsilon`, in [0, 1]
        The absolute error is about 1e-15, so values below 1e-12 are not reliable; it is 1e-12 for epsilon >= 700.

    Raises
    ------
    ValueError, TypeError
        If an argument is not a number, r or alpha is not > 0, or an epsilon is negative or NaN.
    """
    r, alpha = _checks.positive("r", r), _checks.positive("alpha", alpha)
    epsilon = np.asarray(epsilon, dtype=float)
    if not np.all(epsilon >= 0):
        raise ValueError(f"epsilon must be >= 0, got {epsilon.min()}")
    a, b = (alpha + r * _checks.counts("counts", counts, least_size=2)).tolist()
    # log ratio at w: betaln(a, b + r) - betaln(a + r, b) + r log(w/(1 - w)), increasing in w
    below = expit(-(epsilon - betaln(a, b + r) + betaln(a + r, b)) / r)  # 1 - w where the ratio is exp(epsilon)
    usual = np.minimum(epsilon, _LARGEST_EXPONENT)
    shrunk = np.asarray(np.exp(usual) * betainc(b + r, a, below))
    large = (usual < epsilon) & np.isfinite(epsilon)  # exp(epsilon) overflows
    for place in zip(*np.nonzero(np.atleast_1d(large)), strict=True):
        where = place if epsilon.ndim else ()
        shrunk[where] = np.exp(min(epsilon[where] + _log_tail(b + r, a, float(below[where])), 0.0))
    return np.asarray(np.clip(betainc(b, a + r, below) - shrunk, 0.0, 1.0))


def _log_tail(p: float, q: float, x: float) -> float:
    """Return the log of the regularised incomplete beta function I_x(p, q) for x <= p/(p + q), without underflow. The
    function is x^p (1 - x)^q/(p B(p, q)) times the continued fraction of DLMF 8.17.22, which is computed by Lentz's
    method.
    """
    if x == 0:
        return float("-inf")
    if (value := float(betainc(p, q, x))) > 1e-290:
        return float(np.log(value))
    # so far below the mean, the fraction converges in about 12 steps
    front = float(p * np.log(x) + q * np.log1p(-x) - np.log(p) - betaln(p, q))
    fraction, upper, lower, change, n = 1.0, 1.0, 0.0, 0.0, 0
    while abs(change - 1) > _CONVERGED:
        n += 1
        m = n // 2
        term = -(p + m) * (p + q + m) if n % 2 else m * (q - m)
        term *= x / ((p + n - 1) * (p + n))
        lower, upper = 1 / (1 + term * lower), 1 + term / upper
        change = upper * lower
        fraction *= change
    return front - float(np.log(fraction))


def dirichlet_epsilon(delta_: float, *, r: float, alpha: float) -> float:
    """Return the smallest epsilon >= 0 for which a release Dirichlet(r f + alpha) of counts f is (epsilon, delta_)-DP.

    Parameters
    ----------
    delta_ : in (1e-12, 1).
    r, alpha : > 0.

    Returns
    -------
    float
        The absolute error is 1e-13, plus the effect of an error of 1e-15 in delta.

    Raises
    ------
    ValueError, TypeError
        If `delta_` is outside its range, or as in `dirichlet_delta`.
    """
    if not 1e-12 < _checks.positive("delta_", delta_) < 1:
        raise ValueError(f"delta_ must lie in (1e-12, 1), got {delta_}")

    def gap(level: float) -> float:
        return float(np.log(np.maximum(dirichlet_delta(level, r=r, alpha=alpha), 1e-300)) - np.log(delta_))

    if gap(0.0) <= 0:
        return 0.0
    upper = 1.0
    while gap(upper) > 0:
        upper *= 2
    return float(brentq(gap, 0.0, upper, xtol=1e-13, rtol=1e-13))


def dirichlet_calibration(
    epsilon_hat: float, *, delta_: float, alpha_per_r: float = 0.0, alpha_offset: float = 1.0
) -> float:
    """Return the largest r for which a release Dirichlet(r f + alpha) of counts f is (epsilon_hat, delta_)-DP. The
    parameter alpha is alpha_offset + alpha_per_r r.

    Parameters
    ----------
    epsilon_hat : > 0.
    delta_ : in (1e-12, 1).
    alpha_per_r, alpha_offset : >= 0 and > 0; Algorithm 1 of order lambda has 4 (lambda - 1) and 1.

    Returns
    -------
    float
        r > 1e-9, with a relative error of 1e-13.

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range.
    """
    epsilon_hat = _checks.positive("epsilon_hat", epsilon_hat)
    if not 1e-12 < _checks.positive("delta_", delta_) < 1:
        raise ValueError(f"delta_ must lie in (1e-12, 1), got {delta_}")

    def gap(log_r: float) -> float:
        r = float(np.exp(log_r))
        value = float(dirichlet_delta(epsilon_hat, r=r, alpha=alpha_offset + alpha_per_r * r))
        return float(np.log(max(value, 1e-300)) - np.log(delta_))

    lower, upper = np.log(1e-9), np.log(1e-3)
    while gap(upper) < 0:
        upper += np.log(4)
    return float(np.exp(brentq(gap, lower, upper, xtol=1e-13)))


def laplace_delta(epsilon: ArrayLike, *, scale: float) -> NDArray[np.float64]:
    """Return the smallest delta for which a release of counts with Laplace(scale) noise is (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : >= 0, any shape.
    scale : Laplace scale of every cell, > 0; replacing one record changes two cells by one each.

    Returns
    -------
    float64 of the shape of `epsilon`, in [0, 1]
        ``1 - (1 + a/4) exp(-a/2)`` with ``a = max(2/scale - epsilon, 0)``, with a relative error of 1e-15; 0 for
        epsilon >= 2/scale.

    Raises
    ------
    ValueError, TypeError
        If `scale` is not a finite number > 0 or an `epsilon` is negative or NaN.

    Notes
    -----
    The privacy losses of the two cells add. With s = 1/scale, their sum has the density exp((l - 2 s)/2) (1/4 + (2 s -
    l)/16) for 0 < l < 2 s and an atom of 1/4 at 2 s. Integrating 1 - exp(epsilon - l) against this distribution gives
    the closed form. The cost is O(1).
    """
    scale = _checks.positive("scale", scale)
    levels = np.asarray(epsilon, dtype=float)
    if not np.all(levels >= 0):
        raise ValueError(f"epsilon must be >= 0, got {levels.min()}")
    with np.errstate(over="ignore", invalid="ignore"):
        left = np.minimum(np.where(np.isinf(levels), 0.0, np.maximum(2 / scale - levels, 0.0)), 1e4)
    return np.asarray(-np.expm1(-left / 2) - left / 4 * np.exp(-left / 2))


def geometric_delta(claimed: float, *, epsilon: float, changed: int = 2, support: int = 50) -> float:
    """Return the smallest delta for which a release of counts with truncated two-sided geometric noise satisfies
    (epsilon, delta)-DP at the claimed epsilon.

    Parameters
    ----------
    claimed : epsilon of the claim, >= 0.
    epsilon : privacy parameter of each noisy count.
    changed : number of counts that one person changes by one. In an additive release, the total and one component: 2.
    support : the noise is between -support and support.

    Returns
    -------
    float
        max over events E and both orders of neighbours of P(E) - exp(claimed) P'(E), summed exactly: an outcome has
        likelihood ratio exp(epsilon (2 j - changed)) if j of the changed counts differ in one direction, and an
        infinite ratio if a count is at the edge that is impossible for the neighbour. Post-processing (every algorithm
        of the paper) does not increase the cost.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    if not claimed >= 0:
        raise ValueError(f"claimed must be >= 0, got {claimed}")
    changed = _checks.integer("changed", changed, least=1)
    support = _checks.integer("support", support, least=1)
    p = geometric.probabilities(_checks.positive("epsilon", epsilon), support)
    edge, up = p[0], p[1 : support + 1].sum()  # noise -support; -support + 1..0 (ratio e^eps); the rest (ratio e^-eps)
    down = p[support + 1 :].sum()
    infinite = -np.expm1(changed * np.log1p(-edge))
    total, ways = infinite, 1.0
    for j in range(changed + 1):  # j counts with ratio e^eps
        ratio = epsilon * (2 * j - changed)
        if ratio > claimed:
            total += ways * up**j * down ** (changed - j) * -np.expm1(claimed - ratio)
        ways *= (changed - j) / (j + 1)
    return float(total)
