"""What a test sees: the smallest relative change of a parameter that it refuses with probability 0.9.

Each function takes how far a change of 100 % would move the test's statistic, to first order, and the test's level.
"""

from collections.abc import Mapping

import numpy as np
import scipy  # its statistics load when they are first used

SEEN = 0.9  # probability with which a change that is seen is refused


def normal(per_unit: float, level: float) -> float:
    """Of a two-sided z test: `per_unit`, standard errors by which a change of 100 % moves z."""
    needed = scipy.stats.norm.isf(level / 2) + scipy.stats.norm.ppf(SEEN)
    return float(needed / abs(per_unit)) if per_unit else np.inf


def kolmogorov(per_unit: float, draws: float, level: float) -> float:
    """Of Kolmogorov's test of `draws` draws: `per_unit`, distance of the laws at a change of 100 %.

    The empirical law is within 1/(2 sqrt(draws)), one standard deviation, of the true one at the point that counts.
    """
    if not (draws >= 1 and per_unit):
        return np.inf
    needed = scipy.stats.kstwo.isf(level, round(draws)) + scipy.stats.norm.ppf(SEEN) / (2 * np.sqrt(draws))
    return float(needed / abs(per_unit))


def chi_squared(per_unit: float, degrees: float, level: float) -> float:
    """Of a chi-squared test: `per_unit`, its noncentrality at a change of 100 %; it grows with the change's square."""
    limit = scipy.stats.chi2.isf(level, degrees)
    needed = scipy.optimize.brentq(lambda x: scipy.stats.ncx2.sf(limit, degrees, x) - SEEN, 1e-9, 4 * limit + 100)
    return float(np.sqrt(needed / per_unit)) if per_unit > 0 else np.inf


def noncentrality(expected: np.ndarray, changed: np.ndarray) -> float:
    """Of a chi-squared test of counts that are `expected`, where they are truly `changed`."""
    expected, changed = np.asarray(expected, dtype=float), np.asarray(changed, dtype=float)
    keep = expected > 0
    return float(np.sum((changed[keep] - expected[keep]) ** 2 / expected[keep]))


def words(changes: Mapping[str, float]) -> str:
    """Parameter -> relative change, as text: ``noise scale by 1.8 %; prior's concentration by 5 %``."""
    return "; ".join(f"{name} by {_percent(change)}" for name, change in changes.items())


def _percent(change: float) -> str:
    if not np.isfinite(change) or change >= 10:
        return "no factor below 10"
    return f"{100 * change:.2g} %" if change < 1 else f"a factor of {1 + change:.2g}"
