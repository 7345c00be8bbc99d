"""Minimum detectable effect of a test, which is the smallest relative change of a parameter that the test detects with
power 0.9.

The arguments of each function are the first-order effect of a change of 100 % in the parameter on the test statistic,
and the level of the test.
"""

from collections.abc import Mapping

import numpy as np
import scipy  # scipy.stats is loaded on first use

SEEN = 0.9  # power of a test at its minimum detectable effect


def normal(per_unit: float, level: float) -> float:
    """Return the minimum detectable effect of a two-sided z test. The argument `per_unit` is the change of z, in
    standard errors, if the parameter changes by 100 %.
    """
    needed = scipy.stats.norm.isf(level / 2) + scipy.stats.norm.ppf(SEEN)
    return float(needed / abs(per_unit)) if per_unit else np.inf


def kolmogorov(per_unit: float, draws: float, level: float) -> float:
    """Return the minimum detectable effect of a Kolmogorov-Smirnov test with a sample of size `draws`. The argument
    `per_unit` is the distance between the distribution functions if the parameter changes by 100 %.

    At the point of the largest distance, the standard deviation of the empirical distribution function is at most 1/(2
    sqrt(draws)).
    """
    if not (draws >= 1 and per_unit):
        return np.inf
    needed = scipy.stats.kstwo.isf(level, round(draws)) + scipy.stats.norm.ppf(SEEN) / (2 * np.sqrt(draws))
    return float(needed / abs(per_unit))


def chi_squared(per_unit: float, degrees: float, level: float) -> float:
    """Return the minimum detectable effect of a chi-squared test. The argument `per_unit` is the noncentrality if the
    parameter changes by 100 %. The noncentrality is quadratic in the change.
    """
    limit = scipy.stats.chi2.isf(level, degrees)
    needed = scipy.optimize.brentq(lambda x: scipy.stats.ncx2.sf(limit, degrees, x) - SEEN, 1e-9, 4 * limit + 100)
    return float(np.sqrt(needed / per_unit)) if per_unit > 0 else np.inf


def noncentrality(expected: np.ndarray, changed: np.ndarray) -> float:
    """Return the noncentrality parameter of a chi-squared test against `expected` if the true expected counts are
    `changed`.
    """
    expected, changed = np.asarray(expected, dtype=float), np.asarray(changed, dtype=float)
    keep = expected > 0
    return float(np.sum((changed[keep] - expected[keep]) ** 2 / expected[keep]))


def words(changes: Mapping[str, float]) -> str:
    """Return the relative changes of parameters as text, such as ``noise scale by 1.8 %; prior's concentration by 5
    %``.
    """
    return "; ".join(f"{name} by {_percent(change)}" for name, change in changes.items())


def _percent(change: float) -> str:
    if not np.isfinite(change) or change >= 10:
        return "no factor below 10"
    # two digits of 99.5 % would be written as 1e+02 %
    return f"{100 * change:.2g} %" if change < 0.995 else f"a factor of {1 + change:.2g}"
