"""Draws under any noise against their law by summation or quadrature: nothing of the direct sampler is used, nor of the
noise that it is given.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpmultinomial._posteriors.censored import direct_sampling as ds

from ...verdicts import power

Array = NDArray[np.float64]
Weight = ds.NormalWeight | ds.GammaWeight
LEAST_EXPECTED = 5.0


@dataclass(frozen=True)
class Noise:
    """A noise by its formula: exp(-abs(x)/width), or exp(-x^2/(2 width^2)) for a `normal` one.

    Parameters
    ----------
    width : scale, or standard deviation of a normal noise; > 0.
    normal : whether it falls with the square.
    whole : whether it is on the whole numbers.
    """

    width: float
    normal: bool = False
    whole: bool = False

    def log_density(self, x: Array) -> Array:
        """Up to a constant."""
        return -((x / self.width) ** 2) / 2 if self.normal else -np.abs(x) / self.width


def p_value(x: Array, weight: Weight, noise: Noise) -> float:
    """p value of draws from w(x) g(x)/psi: chi-squared for whole numbers, Kolmogorov's test otherwise."""
    places, mass = law(x, weight, noise)
    if not noise.whole:
        cdf = np.cumsum(mass)
        return float(stats.kstest(x, lambda at: np.interp(at, places, cdf - mass / 2)).pvalue)
    if not np.array_equal(x, np.rint(x)):
        return 0.0  # a draw that the law does not reach
    counts = np.bincount((x - places[0]).astype(int), minlength=len(places))
    return 0.0 if len(counts) > len(places) else chi_squared(counts, mass * len(x))


def law(x: Array, weight: Weight, noise: Noise) -> tuple[Array, Array]:
    """Places around the draws x and what the law holds there, adding up to one: whole numbers, or a fine grid."""
    if noise.whole:
        reach = int(20 * x.std()) + 50
        places = np.arange(int(np.floor(x.mean())) - reach, int(np.ceil(x.mean())) + reach + 1).astype(float)
    else:
        reach = 40 * x.std() + 1e-9
        places = np.linspace(x.mean() - reach, x.mean() + reach, 400_001)
    mass = _relative(weight.log_relative(places) + noise.log_density(places))
    return places, mass / mass.sum()


def masses(edges: Array, x: Array, weight: Weight, noise: Noise) -> Array:
    """What the law holds between neighbouring edges, as a share of what it holds between the first and the last."""
    places, mass = law(x, weight, noise)
    if noise.whole:
        cdf = np.array([mass[places < edge].sum() for edge in edges])
    else:
        cdf = np.interp(edges, places, np.cumsum(mass) - mass / 2)
    return np.diff(cdf) / (cdf[-1] - cdf[0])


def sees(x: Array, weight: Weight, noise: Noise, level: float) -> float:
    """Relative change of the noise's width that `p_value` refuses at this level with probability 0.9."""
    wider = replace(noise, width=1.01 * noise.width)
    mass, moved = law(x, weight, noise)[1], law(x, weight, wider)[1]
    if not noise.whole:
        return power.kolmogorov(float(np.abs(np.cumsum(moved - mass)).max() / 0.01), len(x), level)
    kept = mass * len(x) >= LEAST_EXPECTED
    per_unit = power.noncentrality(mass[kept] * len(x), moved[kept] * len(x)) / 0.01**2
    return power.chi_squared(per_unit, max(int(kept.sum()) - 1, 1), level)


def chi_squared(counts: Array | NDArray[np.int64], expected: Array) -> float:
    """p value of Pearson's test; neighbouring cells are put together until each expects five."""
    observed, wanted = [0.0], [0.0]
    for count, mass in zip(counts, expected, strict=True):
        if wanted[-1] >= LEAST_EXPECTED:
            observed.append(0.0)
            wanted.append(0.0)
        observed[-1] += count
        wanted[-1] += mass
    if len(wanted) > 1 and wanted[-1] < LEAST_EXPECTED:  # the last, unfinished group
        observed[-2:], wanted[-2:] = [sum(observed[-2:])], [sum(wanted[-2:])]
    if len(wanted) < 2:
        return 1.0
    return float(stats.chi2.sf(np.sum((np.array(observed) - wanted) ** 2 / np.array(wanted)), len(wanted) - 1))


def _relative(logs: Array) -> Array:
    return np.exp(logs - logs.max())
