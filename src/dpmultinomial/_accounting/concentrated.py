"""Zero-concentrated differential privacy (Bun and Steinke 2016) of Gaussian noise, continuous or discrete."""

import numpy as np

from .. import _checks


def gaussian(sigma: float, *, l2_squared: float) -> float:
    """rho of N(0, sigma^2) or discrete Gaussian noise: l2_squared/(2 sigma^2) (Canonne, Kamath, Steinke 2020, Theorem
    4).

    Parameters
    ----------
    sigma : > 0.
    l2_squared : > 0, largest squared L2 change of the released vector.
    """
    return _checks.positive("l2_squared", l2_squared) / (2 * _checks.positive("sigma", sigma) ** 2)


def gaussian_sigma(rho: float, *, l2_squared: float) -> float:
    """sigma at which Gaussian noise costs `rho`, the inverse of `gaussian`."""
    return float(np.sqrt(_checks.positive("l2_squared", l2_squared) / (2 * _checks.positive("rho", rho))))


def to_dp(rho: float, *, delta: float) -> float:
    """Smallest epsilon for which rho-zCDP implies (epsilon, delta)-DP by Canonne, Kamath, Steinke (2020), Corollary 13.

    Parameters
    ----------
    rho : > 0.
    delta : in (0, 1).

    Returns
    -------
    float
        min over orders a > 1 of rho a + log(1/(a delta))/(a - 1) + log(1 - 1/a), never below 0.
    """
    from scipy.optimize import minimize_scalar  # a third of a second, for this bound alone

    rho, delta = _checks.positive("rho", rho), _checks.inside("delta", delta)

    def bound(log_gap: float) -> float:
        a = 1 + np.exp(log_gap)
        return float(rho * a - np.log(a * delta) / (a - 1) + log_gap - np.log(a))

    found = minimize_scalar(bound, bounds=(-20.0, 40.0), method="bounded", options={"xatol": 1e-10})
    return max(0.0, float(found.fun))
