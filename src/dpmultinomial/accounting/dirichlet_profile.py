"""The exact (epsilon, delta) profile of one Dirichlet release under replace-one neighbours.

Two histograms that differ by one moved record have densities whose ratio depends on w = y_i/(y_i + y_j) alone, and w
has a Beta law under both. So delta(epsilon) is a difference of two Beta tails, with no conversion in between.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit

from .. import _checks


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
    float64 of the shape of `epsilon`; absolute error about 1e-15, so values below 1e-12 are not to be trusted.
    """
    r, alpha = _checks.positive("r", r), _checks.positive("alpha", alpha)
    epsilon = np.asarray(epsilon, dtype=float)
    if not np.all(epsilon >= 0):
        raise ValueError(f"epsilon must be >= 0, got {epsilon.min()}")
    a, b = (alpha + r * _checks.counts("counts", counts, least_size=2)).tolist()
    # log ratio at w: betaln(a, b + r) - betaln(a + r, b) + r log(w/(1 - w)), increasing in w
    below = expit(-(epsilon - betaln(a, b + r) + betaln(a + r, b)) / r)  # 1 - w where the ratio is exp(epsilon)
    value = betainc(b, a + r, below) - np.exp(epsilon) * betainc(b + r, a, below)
    return np.maximum(value, 0.0)


def epsilon(delta_: float, *, r: float, alpha: float) -> float:
    """Smallest epsilon >= 0 for which Dirichlet(r f + alpha) is (epsilon, delta_)-DP; delta_ in (1e-12, 1)."""
    if not 1e-12 < _checks.positive("delta_", delta_) < 1:
        raise ValueError(f"delta_ must lie in (1e-12, 1), got {delta_}")
    gap = lambda e: float(np.log(np.maximum(delta(e, r=r, alpha=alpha), 1e-300)) - np.log(delta_))  # noqa: E731
    if gap(0.0) <= 0:
        return 0.0
    upper = 1.0
    while gap(upper) > 0:
        upper *= 2
    return float(brentq(gap, 0.0, upper, xtol=1e-13, rtol=1e-13))


def calibrate(epsilon_hat: float, *, delta_: float, alpha_per_r: float = 0.0, alpha_offset: float = 1.0) -> float:
    """Largest r for which Dirichlet(r f + alpha), alpha = alpha_offset + alpha_per_r r, is (epsilon_hat, delta_)-DP.

    Algorithm 1 of order lambda has ``alpha_per_r = 4 (lambda - 1)`` and ``alpha_offset = 1``.
    """
    epsilon_hat = _checks.positive("epsilon_hat", epsilon_hat)

    def gap(log_r: float) -> float:
        r = float(np.exp(log_r))
        value = float(delta(epsilon_hat, r=r, alpha=alpha_offset + alpha_per_r * r))
        return float(np.log(max(value, 1e-300)) - np.log(delta_))

    lower, upper = np.log(1e-9), np.log(1e-3)
    while gap(upper) < 0:
        upper += np.log(4)
    return float(np.exp(brentq(gap, lower, upper, xtol=1e-13)))
