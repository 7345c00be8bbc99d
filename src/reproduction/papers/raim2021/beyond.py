"""Results beyond the slides of Raim (2021): the exact sensitivity, better designs of the release, and other noise
distributions. The draws from these noise distributions are tested.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics

from ...verdicts import power
from .algorithms import censored_normal
from .algorithms import direct_sampling as ds
from .method import TARGETS, weight
from .statistics_laws import LEVEL

Array = NDArray[np.float64]
Weight = ds.NormalWeight | ds.GammaWeight
LEAST_EXPECTED = 5.0


@dataclass(frozen=True)
class Noise:
    """Noise distribution with a density proportional to exp(-abs(x)/width), or to exp(-x^2/(2 width^2)) if `normal` is
    True.

    Parameters
    ----------
    width : scale, or standard deviation of a normal noise; > 0.
    normal : whether the exponent is quadratic.
    whole : whether the noise is on the integers.
    """

    width: float
    normal: bool = False
    whole: bool = False

    def log_density(self, x: Array) -> Array:
        """Return the log density of the noise at `x`, up to an additive constant that does not depend on `x`."""
        return -((x / self.width) ** 2) / 2 if self.normal else -np.abs(x) / self.width


def p_value(x: Array, weight: Weight, noise: Noise) -> float:
    """Return the p-value of a test of the hypothesis that draws have the target density. The target density is w(x)
    g(x)/psi, with the weight function w, the noise density g and the normalising constant psi. Integers are tested by a
    chi-squared test, and real numbers by Kolmogorov's test.
    """
    places, mass = law(x, weight, noise)
    if not noise.whole:
        cdf = np.cumsum(mass)
        return float(stats.kstest(x, lambda at: np.interp(at, places, cdf - mass / 2)).pvalue)
    if not np.array_equal(x, np.rint(x)):
        return 0.0  # a draw outside the support
    counts = np.bincount((x - places[0]).astype(int), minlength=len(places))
    return 0.0 if len(counts) > len(places) else chi_squared(counts, mass * len(x))


def law(x: Array, weight: Weight, noise: Noise) -> tuple[Array, Array]:
    """Return a grid of points that covers the range of the draws `x`, and the probability of each grid point. The
    probabilities sum to one. The points are integers or a fine grid.
    """
    if noise.whole:
        reach = int(20 * x.std()) + 50
        places = np.arange(int(np.floor(x.mean())) - reach, int(np.ceil(x.mean())) + reach + 1).astype(float)
    else:
        reach = 40 * x.std() + 1e-9
        places = np.linspace(x.mean() - reach, x.mean() + reach, 400_001)
    mass = _relative(weight.log_relative(places) + noise.log_density(places))
    return places, mass / mass.sum()


def masses(edges: Array, x: Array, weight: Weight, noise: Noise) -> Array:
    """Return the probabilities of the intervals between consecutive edges, conditional on the range from the first to
    the last edge.
    """
    places, mass = law(x, weight, noise)
    if noise.whole:
        cdf = np.array([mass[places < edge].sum() for edge in edges])
    else:
        cdf = np.interp(edges, places, np.cumsum(mass) - mass / 2)
    return np.diff(cdf) / (cdf[-1] - cdf[0])


def sees(x: Array, weight: Weight, noise: Noise, level: float) -> float:
    """Return the minimum detectable effect of the test in `p_value`: the relative change in noise scale that the test
    detects at the given level with power 0.9.
    """
    wider = replace(noise, width=1.01 * noise.width)
    mass, moved = law(x, weight, noise)[1], law(x, weight, wider)[1]
    if not noise.whole:
        return power.kolmogorov(float(np.abs(np.cumsum(moved - mass)).max() / 0.01), len(x), level)
    kept = mass * len(x) >= LEAST_EXPECTED
    per_unit = power.noncentrality(mass[kept] * len(x), moved[kept] * len(x)) / 0.01**2
    return power.chi_squared(per_unit, max(int(kept.sum()) - 1, 1), level)


def chi_squared(counts: Array | NDArray[np.int64], expected: Array) -> float:
    """Return the p-value of Pearson's chi-squared test. Neighbouring cells are merged until each cell has an expected
    count of at least five.
    """
    observed, wanted = [0.0], [0.0]
    for count, mass in zip(counts, expected, strict=True):
        if wanted[-1] >= LEAST_EXPECTED:
            observed.append(0.0)
            wanted.append(0.0)
        observed[-1] += count
        wanted[-1] += mass
    if len(wanted) > 1 and wanted[-1] < LEAST_EXPECTED:  # the last, incomplete group
        observed[-2:], wanted[-2:] = [sum(observed[-2:])], [sum(wanted[-2:])]
    if len(wanted) < 2:
        return 1.0
    return float(stats.chi2.sf(np.sum((np.array(observed) - wanted) ** 2 / np.array(wanted)), len(wanted) - 1))


def _relative(logs: Array) -> Array:
    return np.exp(logs - logs.max())


Base = ds.LaplaceBase | ds.GaussianBase | ds.GeometricBase | ds.DiscreteGaussianBase


def sensitivity(*, limits: list[list[float]], sizes: list[int], brute_force_up_to: int) -> pd.DataFrame:
    """Return the sensitivity of the released statistics, computed by three methods, for each pair of censoring limits
    and each number of records. The methods are the exact formula, brute force over extremal data sets, and the sum of
    the ranges of the statistics.

    Returns
    -------
    DataFrame with the columns lower, upper, n, exact, brute_force (NaN above `brute_force_up_to` records), range_bound
        and sums (for the release of sums).
    """
    rows = []
    for lower, upper in limits:
        mechanism = CensoredStatistics(lower=lower, upper=upper)
        for n in sizes:
            brute = mechanism.brute_force_sensitivity(n) if n <= brute_force_up_to else np.nan
            row = {"lower": lower, "upper": upper, "n": n, "exact": mechanism.sensitivity(n), "brute_force": brute}
            rows.append(row | {"range_bound": mechanism.range_bound(), "sums": mechanism.sums_sensitivity()})
    return pd.DataFrame(rows)


def release_designs(
    *, n: int, lower: float, upper: float, epsilons: list[float], data_sets: int, draws: int, burn_in: int, rng
) -> pd.DataFrame:
    """Return the posterior means and standard deviations for several designs of the released statistics. All designs
    have the same epsilon, and the data are drawn from N(0, 1).

    The designs are the four statistics with noise for the sum of the ranges (22 for [-2, 2]) or for the exact
    sensitivity; noise with separate scales; the sums of x and x^2 instead of the mean and the sum of squares; and the
    posterior without privacy.

    Returns
    -------
    DataFrame with the columns epsilon, design, data_set, parameter, mean and sd.
    """
    mechanism = CensoredStatistics(lower=lower, upper=upper)
    width, rows = mechanism.width, []
    size: dict[str, Any] = {"draws": draws, "burn_in": burn_in, "rng": rng}
    for data_set in range(data_sets):
        x = rng.standard_normal(n)
        theta_draws = censored_normal.without_privacy(x, lower=lower, upper=upper, **size)
        for epsilon in epsilons:
            # a third of epsilon for each of mean, sum of squares and counts, with the separate worst case of each
            separate = np.array([width, width**2, 2, 2]) * 3 / epsilon
            designs: dict[str, tuple[Any, bool]] = {
                "ranges added up": (mechanism.range_bound() / epsilon, False),
                "exact sensitivity": (mechanism.sensitivity(n) / epsilon, False),
                "separate scales": (separate, False),
                "sums released": (mechanism.sums_sensitivity() / epsilon, True),
            }
            rows += _rows(epsilon, "without privacy", data_set, theta_draws)
            for design, (scale, sums) in designs.items():
                true = mechanism.sums_of(x) if sums else mechanism.of(x)
                scales = np.broadcast_to(scale, 4)
                z = np.array([Laplace(scale=float(b)).sample(t, rng=rng) for t, b in zip(true, scales, strict=True)])
                chain = censored_normal.chain(
                    z, n=n, lower=lower, upper=upper, scale=scale, method="exact", sums=sums, initial=(0.0, 1.0), **size
                )
                rows += _rows(epsilon, design, data_set, chain.draws)
    return pd.DataFrame(rows)


def _rows(epsilon: float, design: str, data_set: int, draws: np.ndarray) -> list[dict]:
    return [
        {"epsilon": epsilon, "design": design, "data_set": data_set, "parameter": name, "mean": x.mean(), "sd": x.std()}
        for name, x in zip(("mu", "sigma2"), draws[:, :2].T, strict=True)
    ]


def other_noises(
    *, delta_s: float, epsilon: float, draws: int, knots: int, bins: int, rng: np.random.Generator, **setting
) -> pd.DataFrame:
    """Return draws from both target densities under four noise distributions of equal variance, and results of tests of
    these draws. All draws are from the same direct sampler.

    Returns
    -------
    DataFrame with the columns target, noise, kind, statistic, x, y and expected (exact probability of a bin, relative
        to all bins). The kinds are histogram (left ends and density) and number: rejected, exact_rate, observed_rate,
        mean, sd, p_value (`p_value`), inside (number of draws in the histogram) and sees (relative change of the
        noise's width that the test rejects).
    """
    scale = delta_s / epsilon
    sd = 2**0.5 * scale
    noises: dict[str, tuple[Base, Noise]] = {  # sampler and exact distribution are independent implementations
        "Laplace": (ds.LaplaceBase(scale), Noise(scale)),
        "two-sided geometric": (ds.GeometricBase(scale), Noise(scale, whole=True)),
        "Gaussian": (ds.GaussianBase(sd), Noise(sd, normal=True)),
        "discrete Gaussian": (ds.DiscreteGaussianBase(sd), Noise(sd, normal=True, whole=True)),
    }
    parts = []
    for target in TARGETS:
        w = weight(target, **setting)
        if target == "xi_mean":  # integer-valued noise is visible only if the weight spans several integers
            w = ds.NormalWeight(w.z, mu=w.mu, sigma2=w.sigma2, count=1)
        for noise, (base, stated) in noises.items():
            sampler = ds.DirectSampler(w, base, knots=knots)
            x, rejected, _ = sampler.sample_counted(draws, rng=rng)
            edges = _edges(x, bins, stated.whole)
            heights, edges = np.histogram(x, bins=edges, density=True)
            about = {"target": target, "noise": noise}
            ends = {"x": edges, "y": np.append(heights, 0.0)}
            ends["expected"] = np.append(masses(edges, x, w, stated), 0.0)
            parts.append(pd.DataFrame({**about, "kind": "histogram", "statistic": "density", **ends}))
            numbers = {"rejected": rejected, "observed_rate": rejected / (rejected + draws)}
            numbers |= {"exact_rate": sampler.rejection_rate, "mean": x.mean(), "sd": x.std()}
            numbers |= {"p_value": p_value(x, w, stated), "sees": sees(x, w, stated, LEVEL / 4)}
            numbers["inside"] = int(((x >= edges[0]) & (x <= edges[-1])).sum())
            columns = {"statistic": list(numbers), "y": [float(v) for v in numbers.values()]}
            parts.append(pd.DataFrame({**about, "kind": "number", **columns}))
    return pd.concat(parts, ignore_index=True)


def _edges(x: np.ndarray, bins: int, whole: bool) -> np.ndarray:
    low, high = np.quantile(x, [0.0005, 0.9995])
    if not whole:
        return np.linspace(low, high, bins + 1)
    step = max(1, round((high - low) / bins))
    return np.arange(np.floor(low), high + step, step) - 0.5
