"""Functions that several experiments use: splits of the data, prepared counts, and the budgets for approximate
differential privacy in Appendix C.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betaincinv
from sklearn.model_selection import train_test_split

from dpmultinomial._accounting import composition, renyi
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._models import coded_table
from dpmultinomial._models.calibrated_noise import Noise
from dpmultinomial._models.coded_table import CodedTable

from . import catalogue
from .algorithms import gohari

BINS = 10  # number of quantile bins of a numeric attribute
TEST_SHARE = 0.3
FIRST_SPLIT = 1  # seed of the published split; further splits use the next seeds


@dataclass(frozen=True, kw_only=True)
class Split:
    """Coded records of a training set and a test set. The target is the last column."""

    train: NDArray[np.int32]
    test: NDArray[np.int32]
    sizes: tuple[int, ...]


def published_table(table: CodedTable) -> CodedTable:
    """Round some columns of a data set in the same way as in the author's copy of the data set. In the author's copy,
    some columns of the data set Shopper are rounded to integers.
    """
    source = catalogue.SOURCES.get(table.name)
    return table.rounded(source.rounded) if source and source.rounded else table


def split(
    table: CodedTable, number: int, *, match: str = "nearest", public_levels: bool = False, bins: int = BINS
) -> Split:
    """Split a data set into 70 % training and 30 % test records with binned columns. The split with number 0 is the
    published split. The keywords are the same as for `coded_table.learn`.
    """
    rows = np.arange(len(table.codes))
    train, test = train_test_split(rows, test_size=TEST_SHARE, random_state=FIRST_SPLIT + number)
    learnt = coded_table.learn(table, train, match=match, public_levels=public_levels, bins=bins)
    return Split(
        train=learnt.apply(table.codes[train]),
        test=learnt.apply(table.codes[test], to="test"),
        sizes=learnt.sizes,
    )


def log_grid(least: float, most: float, points: int) -> NDArray[np.float64]:
    """Return `points` values from `least` to `most` that are evenly spaced on the log scale."""
    return np.geomspace(least, most, points)


def dirichlet_for_dp(target: float, *, delta: float, releases: int) -> tuple[float, float]:
    """Return the parameters r and alpha of Algorithm 1 for which `releases` releases are jointly (target, delta)-DP by
    Rényi composition.

    The order minimises the number of pseudo-records per cell, alpha/r, and does not depend on the data.
    """

    def pair(log_excess: float) -> tuple[float, float] | None:
        order = 1 + float(np.exp(log_excess))
        budget = composition.dp_to_rdp(target, order=order, delta=delta) / releases
        return dirichlet.calibrate(budget, order=order) if budget > 0 else None

    def cost(log_excess: float) -> float:
        parameters = pair(log_excess)
        return np.log(parameters[1] / parameters[0]) if parameters else 1e3

    return cast(tuple[float, float], pair(_smallest(cost)))


def gaussian_for_dp(target: float, *, delta: float, releases: int) -> float:
    """Return the standard deviation of Gaussian noise for which the smallest epsilon of the composition of all releases
    at the given delta equals `target`. This epsilon is computed exactly.
    """
    squared = 2.0 * releases

    def gap(log_sigma: float) -> float:
        exact_delta = float(Gaussian(sigma=float(np.exp(log_sigma))).delta(target, l2_squared=squared))
        return np.log(max(exact_delta, 1e-300)) - np.log(delta)

    return float(np.exp(brentq(gap, np.log(1e-3), np.log(1e9), xtol=1e-12)))


def laplace_for_dp(target: float, *, delta: float, releases: int) -> float:
    """Return the scale of Laplace noise for which the composition of all releases is (target, delta)-DP. The result is
    the smaller of the scales for pure composition and for Rényi composition.
    """

    def scale(log_excess: float) -> float:
        order = 1 + float(np.exp(log_excess))
        budget = composition.dp_to_rdp(target, order=order, delta=delta) / releases
        return renyi.laplace_scale(budget, order=order, l1=2.0, cells=2) if budget > 0 else 1e300

    best = _smallest(lambda x: np.log(scale(x)))
    return float(min(2.0 * releases / target, scale(best)))


def gohari_epsilon(r: float, alpha: float, *, total: int, sizes: Sequence[int], delta: float, releases: int) -> float:
    """Return the total epsilon (epsilon_hat) that the guarantee of Gohari et al. gives for `releases` Dirichlet
    releases. It is the smaller value of basic and advanced composition.

    Parameters
    ----------
    r, alpha : parameters of the releases.
    total : public number of records, an upper bound on the total of each histogram.
    sizes : numbers of cells of the histograms; the largest cost among them is charged for all histograms.
    delta : total delta.
    releases : number of histograms that one record affects.

    Notes
    -----
    Neighbouring data sets in Gohari et al. move weight between two cells of one histogram. Their theorem does not apply
    to a record that moves from one histogram to another. The paper uses the theorem in this case, and this function
    does too.
    """
    several = {d for d in sizes if d > 1}  # a histogram with one cell releases the constant 1
    basic = releases * max(_one_gohari(r, alpha, total, d, delta / releases) for d in several)
    one = max(_one_gohari(r, alpha, total, d, delta / (2 * releases)) for d in several)
    advanced = one * np.sqrt(2 * releases * np.log(2 / delta)) + releases * one * np.expm1(min(one, 700.0))
    return float(min(basic, advanced))


@cache
def _one_gohari(r: float, alpha: float, total: int, cells: int, delta: float) -> float:
    k = r * total + cells * alpha
    region: dict[str, Any] = {"concentration": k, "eta": alpha / k, "eta_bar": max(cells - 2, 1e-9) * alpha / k}
    gamma = _gamma_by_union_bound(delta, k, alpha)
    return gohari.epsilon(gamma, **region, shift=2 * r / k)


def _gamma_by_union_bound(delta: float, k: float, alpha: float) -> float:
    """Return the threshold gamma with Pr[Y_i <= gamma] = delta/2, where Y_i ~ Beta(alpha, k - alpha) is one cell of a
    Dirichlet vector with total concentration k. The result is at most 0.49. By the union bound, this threshold is at
    most the exact gamma.
    """
    return float(min(betaincinv(alpha, k - alpha, delta / 2), 0.49))


def published_dirichlet(epsilon: float, *, delta: float) -> tuple[float, float]:
    """Return the parameters r and alpha of the Dirichlet mechanism in the author's runs with approximate differential
    privacy. In these runs, alpha is 1 + (order - 1) r, which is too small for Theorem 1.

    The order is 1 + 1/e, where e is the Rényi epsilon for which equation 14 gives `epsilon`.
    """

    def gap(log_e: float) -> float:
        e = float(np.exp(log_e))
        return composition.rdp_to_dp(e, order=1 + 1 / e, delta=delta) - epsilon

    low = np.log(delta)
    high = low + 1
    while gap(high) < 0:
        high += 1
    e = float(np.exp(brentq(gap, high - 1 if gap(high - 1) < 0 else low, high, xtol=1e-12)))
    order = 1 + 1 / e
    r, _ = dirichlet.calibrate(e, order=order)
    return r, 1 + (order - 1) * r


def published_noise(mechanism: str, epsilons: Sequence[float], *, delta: float, share: float) -> Noise:
    """Return the noise parameters of the author's runs with approximate differential privacy. The noise is for one
    release at each of `epsilons`. The argument `share` is the release's part of delta.
    """
    if mechanism == "dirichlet":
        pairs = np.array([published_dirichlet(e, delta=share) for e in epsilons])
        return Noise("dirichlet", pairs[:, 0].copy(), pairs[:, 1].copy())
    values = np.asarray(epsilons, dtype=float)
    if mechanism == "gaussian":
        scale = np.sqrt(2 * np.log(1.25 / share) * 2.0) / values
    else:
        scale = 2 / values * np.sqrt(np.log(0.5 / delta) / np.log(1 / delta))
    return Noise(mechanism, scale, np.ones(len(values)))


def corrected_noise(mechanism: str, targets: Sequence[float], *, delta: float, releases: int) -> Noise:
    """Return, for every target, the noise parameters for which `releases` releases are jointly (target, delta)-DP."""
    ones = np.ones(len(targets))
    if mechanism == "dirichlet":
        pairs = np.array([dirichlet_for_dp(t, delta=delta, releases=releases) for t in targets])
        return Noise("dirichlet", pairs[:, 0].copy(), pairs[:, 1].copy())
    find = gaussian_for_dp if mechanism == "gaussian" else laplace_for_dp
    return Noise(mechanism, np.array([find(t, delta=delta, releases=releases) for t in targets]), ones)


def _smallest(cost: Callable[[float], float]) -> float:
    """Return the value of log(order - 1) that minimises `cost`, found by a grid search and a bounded minimisation."""
    grid = np.linspace(np.log(1e-2), np.log(1e7), 60)
    position = int(np.argmin([cost(x) for x in grid]))
    bounds = grid[max(position - 1, 0)], grid[min(position + 1, len(grid) - 1)]
    return float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-6}).x)
