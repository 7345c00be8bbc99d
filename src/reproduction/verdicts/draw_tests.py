"""Test random draws by a chi-squared test, in which rare outcomes are pooled, and by a test of serial independence."""

import numpy as np
import scipy  # scipy.stats is loaded on first use
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.special import betainc

from . import power

Array = NDArray[np.float64]
_LEAST = 5.0  # minimum expected number in a cell
_UNSEEN = 1e-6  # expected number below which an outcome is not used in the score test
_ROUNDING = 1e-9  # remaining probability, relative to the total size, below which it is rounding error
# probability of the observed number of rare outcomes below which they are not pooled with other outcomes
_IMPOSSIBLE = 1e-6


def pooled(counts: ArrayLike, expected: ArrayLike, size: float) -> float:
    """Return the p-value of a chi-squared goodness-of-fit test of `counts` (from `size` trials) against the expected
    counts `expected`.

    Outcomes with an expected number below 5, and all outcomes that are not listed, form one cell. If the expected
    number of this cell is also below 5, it is merged with the cell that has the smallest expected number. However, if
    the exact binomial probability of the count in this cell is below a millionth, this probability is the p-value. The
    p-value is 0 if an impossible outcome was counted or a number is missing.
    """
    seen, wanted = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    if not np.all(np.isfinite(seen)) or not np.all(np.isfinite(wanted)) or np.any((wanted <= 0) & (seen > 0)):
        return 0.0
    if size <= 0:
        return float("nan")
    many = np.flatnonzero(wanted >= _LEAST)
    left = size - seen[many].sum(), size - wanted[many].sum()
    rest_seen, rest = (float(part) if abs(part) > _ROUNDING * size else 0.0 for part in left)
    seen, wanted = seen[many], wanted[many]
    if rest <= 0 < rest_seen:
        return 0.0
    if rest >= _LEAST or not len(many):
        seen, wanted = np.append(seen, rest_seen), np.append(wanted, rest)
    elif rest_seen > 0 and (tail := _as_many(rest_seen, size, rest / size)) < _IMPOSSIBLE:
        return tail
    else:
        least = np.argmin(wanted)
        seen[least] += rest_seen
        wanted[least] += rest
    statistic = float(((seen - wanted) ** 2 / wanted).sum())
    return float(scipy.stats.chi2.sf(statistic, max(len(seen) - 1, 1)))


def _as_many(counted: float, size: float, chance: float) -> float:
    """Return the binomial probability that at least `counted` of `size` trials are successes. The number of trials may
    be fractional if draws are correlated.
    """
    return float(betainc(counted, size - counted + 1, chance))


def scored(
    counts: ArrayLike, expected: ArrayLike, moved: ArrayLike, size: float, *, step: float, level: float
) -> tuple[float, float]:
    """Return the p-value of a test of `counts` against the expected counts `expected`, and the minimum detectable
    change of a parameter. The counts are from `size` trials.

    The p-value is twice the smaller of two p-values (Bonferroni correction): the p-value of `pooled`, and that of a
    score test of the parameter, which is a z test.

    Parameters
    ----------
    counts, expected, size : as in `pooled`.
    moved : expected counts at a different value of the parameter.
    step : relative increase of the parameter from `expected` to `moved`; negative for a decrease.
    level : level of the test.
    """
    seen, wanted, other = (np.asarray(values, dtype=float) for values in (counts, expected, moved))
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(wanted > _UNSEEN, (other - wanted) / (step * wanted), 0.0)
    information = float(score**2 @ wanted)
    z = float(score @ (seen - wanted)) / np.sqrt(information) if information > 0 else np.nan
    p_value = 2 * np.minimum(pooled(seen, wanted, size), 2 * scipy.stats.norm.sf(abs(z)))
    return float(np.minimum(1.0, p_value)), power.normal(np.sqrt(information), level / 2)


def histogram(left: ArrayLike, heights: ArrayLike, x: ArrayLike, y: ArrayLike, draws: float) -> float:
    """Return the p-value of a goodness-of-fit test of a plotted histogram against the density in the same figure.

    Parameters
    ----------
    left, heights : left ends of bins of equal width, and the density shown over them.
    x, y : points of the density; neither the density nor the histogram is normalised.
    draws : effective number of independent draws in the histogram.
    """
    expected = masses(left, x, y)
    return pooled(draws * np.asarray(heights, dtype=float) * _widths(left), draws * expected, draws)


def masses(left: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Return the probability of every bin under a density, or NaN if the density is not finite."""
    places, density = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if not (np.all(np.isfinite(density)) and np.all(np.diff(places) > 0)):
        return np.full(np.size(left), np.nan)
    edges = np.append(np.asarray(left, dtype=float), np.asarray(left, dtype=float)[-1] + _widths(left)[-1])
    return np.asarray(np.diff(CubicSpline(places, density).antiderivative()(edges)))


def _widths(left: ArrayLike) -> Array:
    ends = np.asarray(left, dtype=float)
    return np.full(len(ends), (ends[-1] - ends[0]) / (len(ends) - 1))


def serial_z(apart: ArrayLike, *, sd: float) -> float:
    """Return the test statistic for serial correlation: the sum of products of consecutive centred draws, divided by
    the standard deviation of this sum. For independent draws, the result is nearly standard normal.

    If a proportion s of the draws repeat the previous draw, the expected result increases by s sqrt(n).

    Parameters
    ----------
    apart : draws minus their mean, shape (n,).
    sd : standard deviation of one draw, > 0.

    Returns
    -------
    float NaN for fewer than three draws. Each product has the variance sd^4, and neighbouring products are
        uncorrelated.
    """
    deviations = np.asarray(apart, dtype=float)
    if len(deviations) < 3:
        return float("nan")
    return float(deviations[1:] @ deviations[:-1]) / (sd**2 * np.sqrt(len(deviations) - 1))


def serial_p_value(uniform: ArrayLike) -> float:
    """Return the two-sided p-value of the test for serial correlation with the statistic `serial_z`. The draws were
    first transformed by their distribution function. If the draws are correct, the transformed draws are uniformly
    distributed.
    """
    return float(2 * scipy.stats.norm.sf(abs(serial_z(np.asarray(uniform, dtype=float) - 0.5, sd=12**-0.5))))
