"""Chi-squared test of counts against expected counts, with rare outcomes taken together."""

import numpy as np
import scipy  # its statistics load when they are first used
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.special import betainc

from . import power

Array = NDArray[np.float64]
_LEAST = 5.0  # expected number in a cell
_UNSEEN = 1e-6  # expected number below which an outcome has no score
_ROUNDING = 1e-9  # of the size: what is left of it below this is what rounding leaves of the sums
_IMPOSSIBLE = 1e-6  # chance of so many rare outcomes below which they are not put among the others


def pooled(counts: ArrayLike, expected: ArrayLike, size: float) -> float:
    """p value that `counts` of `size` trials follow `expected`.

    Outcomes that expect fewer than 5, and whatever is counted outside the list, are one cell; if that expects fewer
    than 5 as well, it joins the cell that expects least, unless so many were counted there that the exact binomial
    probability of as many is below a millionth: then that is the p value. 0 if something was counted that cannot be,
    or a number is missing.
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
    """The binomial probability of `counted` or more; draws may be worth a number of trials that is not whole."""
    return float(betainc(counted, size - counted + 1, chance))


def scored(
    counts: ArrayLike, expected: ArrayLike, moved: ArrayLike, size: float, *, step: float, level: float
) -> tuple[float, float]:
    """p value that `counts` of `size` trials follow `expected`, and the relative change of a parameter that it refuses.

    Two tests, the lesser p value times two: `pooled`, and the score of the parameter, a z test that looks for its
    changes alone.

    Parameters
    ----------
    counts, expected, size : as in `pooled`.
    moved : what is expected where the parameter is another.
    step : by how much it is larger there, relative; negative where it is smaller.
    level : of the verdict.
    """
    seen, wanted, other = (np.asarray(values, dtype=float) for values in (counts, expected, moved))
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(wanted > _UNSEEN, (other - wanted) / (step * wanted), 0.0)
    information = float(score**2 @ wanted)
    z = float(score @ (seen - wanted)) / np.sqrt(information) if information > 0 else np.nan
    p_value = 2 * np.minimum(pooled(seen, wanted, size), 2 * scipy.stats.norm.sf(abs(z)))
    return float(np.minimum(1.0, p_value)), power.normal(np.sqrt(information), level / 2)


def histogram(left: ArrayLike, heights: ArrayLike, x: ArrayLike, y: ArrayLike, draws: float) -> float:
    """p value of a drawn histogram against the drawn density beside it.

    Parameters
    ----------
    left, heights : left ends of bins of one width, and the density shown over them.
    x, y : points of the density; neither it nor the histogram is scaled to add up to one.
    draws : number of independent draws that the histogram is worth.
    """
    expected = masses(left, x, y)
    return pooled(draws * np.asarray(heights, dtype=float) * _widths(left), draws * expected, draws)


def masses(left: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """What a density holds in every bin; NaN where it is not finite."""
    places, density = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if not (np.all(np.isfinite(density)) and np.all(np.diff(places) > 0)):
        return np.full(np.size(left), np.nan)
    edges = np.append(np.asarray(left, dtype=float), np.asarray(left, dtype=float)[-1] + _widths(left)[-1])
    return np.asarray(np.diff(CubicSpline(places, density).antiderivative()(edges)))


def _widths(left: ArrayLike) -> Array:
    ends = np.asarray(left, dtype=float)
    return np.full(len(ends), (ends[-1] - ends[0]) / (len(ends) - 1))
