"""The exact (epsilon, delta) profile of one Dirichlet release under replace-one neighbours.

Two histograms that differ by one moved record have densities whose ratio depends on w = y_i/(y_i + y_j) alone, and w
has a Beta law under both. So delta(epsilon) is a difference of two Beta tails, with no conversion in between.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit

from .. import _checks

_LARGEST_EXPONENT = 700.0
_MOST_TERMS = 2_000_000


def delta(
    epsilon: ArrayLike, *, r: float, alpha: float, counts: tuple[float, float] = (0.0, 0.0)
) -> NDArray[np.float64]:
    """Smallest delta for which Dirichlet(r f + alpha) is (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : >= 0, any shape.
    r, alpha : > 0.
    counts : the two touched cells without the moved record. (0, 0) is the worst pair (checked over many pairs, not
        proved); other values give the profile of one pair.

    Returns
    -------
    float64 of the shape of `epsilon`, in [0, 1]
        Absolute error about 1e-15, so values below 1e-12 are not to be trusted; 1e-12 from epsilon = 700 on.

    Raises
    ------
    ValueError, TypeError
        If an argument is no number, r or alpha is not > 0, or an epsilon is negative or NaN.
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
    """log I_x(p, q), also where it underflows: x^p (1 - x)^q / (p B(p, q)) sum_n (p + q)_n / (p + 1)_n x^n."""
    if x == 0:
        return float("-inf")
    if (value := float(betainc(p, q, x))) > 1e-290:
        return float(np.log(value))
    n = np.arange(min(40 / (1 - max((p + q) / (p + 1) * x, x)), _MOST_TERMS))  # far below its mean the series is short
    series = 1 + np.cumprod((p + q + n) / (p + 1 + n) * x).sum()
    return float(p * np.log(x) + q * np.log1p(-x) - np.log(p) - betaln(p, q) + np.log(series))


def epsilon(delta_: float, *, r: float, alpha: float) -> float:
    """Smallest epsilon >= 0 for which Dirichlet(r f + alpha) is (epsilon, delta_)-DP.

    Parameters
    ----------
    delta_ : in (1e-12, 1).
    r, alpha : > 0.

    Returns
    -------
    float
        1e-13 absolute plus what an error of 1e-15 in delta makes.

    Raises
    ------
    ValueError, TypeError
        If `delta_` is outside its range, or as in `delta`.
    """
    if not 1e-12 < _checks.positive("delta_", delta_) < 1:
        raise ValueError(f"delta_ must lie in (1e-12, 1), got {delta_}")

    def gap(level: float) -> float:
        return float(np.log(np.maximum(delta(level, r=r, alpha=alpha), 1e-300)) - np.log(delta_))

    if gap(0.0) <= 0:
        return 0.0
    upper = 1.0
    while gap(upper) > 0:
        upper *= 2
    return float(brentq(gap, 0.0, upper, xtol=1e-13, rtol=1e-13))


def calibrate(epsilon_hat: float, *, delta_: float, alpha_per_r: float = 0.0, alpha_offset: float = 1.0) -> float:
    """Largest r for which Dirichlet(r f + alpha), alpha = alpha_offset + alpha_per_r r, is (epsilon_hat, delta_)-DP.

    Parameters
    ----------
    epsilon_hat : > 0.
    delta_ : in (1e-12, 1).
    alpha_per_r, alpha_offset : >= 0 and > 0; Algorithm 1 of order lambda has 4 (lambda - 1) and 1.

    Returns
    -------
    float
        r > 1e-9, 1e-13 relative.

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
        value = float(delta(epsilon_hat, r=r, alpha=alpha_offset + alpha_per_r * r))
        return float(np.log(max(value, 1e-300)) - np.log(delta_))

    lower, upper = np.log(1e-9), np.log(1e-3)
    while gap(upper) < 0:
        upper += np.log(4)
    return float(np.exp(brentq(gap, lower, upper, xtol=1e-13)))
