"""Draws under any noise against their law by summation or quadrature: nothing of the direct sampler is used."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpmultinomial._posteriors.censored import direct_sampling as ds

Array = NDArray[np.float64]
Base = ds.LaplaceBase | ds.GaussianBase | ds.GeometricBase | ds.DiscreteGaussianBase
LEAST_EXPECTED = 5.0


def p_value(x: Array, weight: ds.NormalWeight | ds.GammaWeight, base: Base) -> float:
    """p value of draws from w(x) g(x)/psi: chi-squared for whole numbers, Kolmogorov's test otherwise."""
    if isinstance(base, (ds.GeometricBase, ds.DiscreteGaussianBase)):
        return _whole(x, weight, base)
    reach = 40 * x.std() + 1e-9
    grid = np.linspace(x.mean() - reach, x.mean() + reach, 400_001)
    mass = _relative(weight.log_relative(grid) + _log_density(grid, base))
    cdf = np.concatenate([[0.0], np.cumsum(mass[1:] + mass[:-1])])
    return float(stats.kstest(x, lambda at: np.interp(at, grid, cdf / cdf[-1])).pvalue)


def _whole(x: Array, weight: ds.NormalWeight | ds.GammaWeight, base: Base) -> float:
    if not np.array_equal(x, np.rint(x)):
        return 0.0  # a draw that the law does not reach
    reach = int(20 * x.std()) + 50
    k = np.arange(int(np.floor(x.mean())) - reach, int(np.ceil(x.mean())) + reach + 1).astype(float)
    mass = _relative(weight.log_relative(k) + _log_density(k, base))
    counts = np.bincount((x - k[0]).astype(int), minlength=len(k))
    if len(counts) > len(k):
        return 0.0
    return chi_squared(counts, mass / mass.sum() * len(x))


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


def _log_density(x: Array, base: Base) -> Array:
    """Of the noise, up to a constant."""
    if isinstance(base, (ds.GaussianBase, ds.DiscreteGaussianBase)):
        return -(x**2) / (2 * base.sd**2)
    return -np.abs(x) / base.scale
