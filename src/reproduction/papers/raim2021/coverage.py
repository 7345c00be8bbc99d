"""Coverage of 95 % intervals over repeated data sets, for every method and for the posterior without privacy, at two
values of epsilon.

In addition to the samplers of `gibbs`, the methods are ``statistics`` (the exact distribution without records),
``bernstein_sheldon`` (their Gibbs sampler, a baseline) and ``naive`` (the noise is ignored).
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy  # scipy.stats is loaded on first use

from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._posteriors.censored import censored_statistics, normal_model

from .algorithms import bernstein_sheldon, censored_normal
from .gibbs import VARIANTS

TRUTH = (0.0, 1.0)
PARAMETERS = ("mu", "sigma2")
WITHOUT = "without privacy"
TAILS = (0.025, 0.975)
Z = 1.959963984540054  # standard normal quantile for Wilson's 95 % interval of a coverage


def simulate(
    size: int,
    *,
    epsilons: list[float],
    methods: list[str],
    n: int,
    lower: float,
    upper: float,
    delta_s: float,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the results of every method for `size` data sets of n records from N(0, 1). Each data set is released once
    at every epsilon, and every method analyses each release.

    Returns
    -------
    DataFrame with the columns replication, epsilon (NaN without privacy), method, parameter, truth, mean, lower, upper
        and diverged.
    """
    limits = CensoredStatistics(lower=lower, upper=upper)
    size_of: dict[str, Any] = {"draws": draws, "burn_in": burn_in, "rng": rng}
    rows = []
    for replication in range(size):
        x = TRUTH[0] + TRUTH[1] ** 0.5 * rng.standard_normal(n)
        theta = censored_normal.without_privacy(x, lower=lower, upper=upper, **size_of)
        rows += _rows(replication, np.nan, WITHOUT, theta, False)
        for epsilon in epsilons:
            z = limits.release(x, epsilon=epsilon, sensitivity=delta_s, rng=rng)
            public: dict[str, Any] = {"n": n, "lower": lower, "upper": upper}
            for method in methods:
                if method == "naive":
                    law = normal_model.naive(z, **public, prior=censored_normal.VAGUE)
                    rows += _of_law(replication, epsilon, method, law)
                    continue
                model = public | {"scale": delta_s / epsilon}
                if method in ("statistics", "bernstein_sheldon"):
                    theta, diverged = _four_chains(method, z, model, size_of), False
                else:
                    chain = censored_normal.chain(z, **model, method=method, **size_of)
                    theta, diverged = chain.draws, chain.diverged
                rows += _rows(replication, epsilon, method, theta, diverged)
    return pd.DataFrame(rows)


def _four_chains(method: str, z: np.ndarray, model: dict, size: dict) -> np.ndarray:
    """Return the pooled draws of four chains, each with a quarter of the requested number of draws."""
    model = model | {"prior": censored_normal.VAGUE, "rng": size["rng"], "draws": max(8, size["draws"] // 4)}
    if method == "statistics":
        return censored_statistics.sample(z, **model).draws.reshape(-1, 2)
    return bernstein_sheldon.gibbs(z, **model, burn_in=size["burn_in"]).reshape(-1, 2)


def _of_law(replication: int, epsilon: float, method: str, law: normal_model.GridPosterior) -> list[dict]:
    ends, means = law.quantile(TAILS), law.mean()
    return [
        _row(replication, epsilon, method, i, means[i], ends[0, i], ends[1, i], False) for i in range(len(PARAMETERS))
    ]


def _rows(replication: int, epsilon: float, method: str, draws: np.ndarray, diverged: bool) -> list[dict]:
    ends = np.quantile(draws[:, :2], TAILS, axis=0)
    return [
        _row(replication, epsilon, method, i, draws[:, i].mean(), ends[0, i], ends[1, i], diverged)
        for i in range(len(PARAMETERS))
    ]


def _row(
    replication: int, epsilon: float, method: str, i: int, mean: float, low: float, high: float, diverged: bool
) -> dict:
    row = {"replication": replication, "epsilon": epsilon, "method": method, "parameter": PARAMETERS[i]}
    return row | {"truth": TRUTH[i], "mean": mean, "lower": low, "upper": high, "diverged": diverged}


def coverage(table: pd.DataFrame, **settings) -> pd.DataFrame:
    """Return the bias, the coverage and the interval length, by method, epsilon and parameter.

    Returns
    -------
    DataFrame with the columns epsilon, method, variant, parameter, data_sets, diverged (proportion), bias, bias_se,
        coverage, coverage_se, coverage_lower and coverage_upper (Wilson's 95 % interval), length (median), length_lower
        and length_upper (its 95 % interval). Chains that diverged are included in all columns and counted in
        `diverged`; no chain is dropped.
    """
    rows = []
    for (epsilon, method, parameter), group in table.groupby(
        ["epsilon", "method", "parameter"], sort=False, dropna=False
    ):
        covered = (group["lower"] <= group["truth"]) & (group["truth"] <= group["upper"])
        error, size = group["mean"] - group["truth"], len(group)
        share = covered.mean()
        row = {
            "epsilon": epsilon,
            "method": method,
            "variant": VARIANTS.get(str(method), "corrected"),
            "parameter": parameter,
        }
        row |= {"data_sets": size, "diverged": group["diverged"].mean(), "bias": error.mean()}
        row |= {"bias_se": error.std(ddof=1) / size**0.5 if size > 1 else np.nan, "coverage": share}
        row |= {"coverage_se": (share * (1 - share) / size) ** 0.5}
        row |= dict(zip(("coverage_lower", "coverage_upper"), wilson(share, size), strict=True))
        lengths = group["upper"] - group["lower"]
        row |= {"length": lengths.median()}
        rows.append(row | dict(zip(("length_lower", "length_upper"), median_interval(lengths), strict=True)))
    return pd.DataFrame(rows)


def median_interval(values: pd.Series) -> tuple[float, float]:
    """Return a distribution-free 95 % interval for a median, whose limits are two order statistics. With fewer than six
    values, the limits are the smallest and the largest value.
    """
    ordered = np.sort(values.to_numpy())
    rank = max(int(scipy.stats.binom.ppf(0.025, len(ordered), 0.5)), 1)
    return float(ordered[rank - 1]), float(ordered[-rank])


def wilson(share: float, size: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a proportion. The limits p of the interval satisfy (share - p)^2 = z^2 p (1 -
    p)/size.
    """
    middle, spread = share + Z**2 / (2 * size), Z * (share * (1 - share) / size + Z**2 / (4 * size**2)) ** 0.5
    low, high = (float((middle + sign * spread) / (1 + Z**2 / size)) for sign in (-1, 1))
    return low, high


def intervals(table: pd.DataFrame, **settings) -> pd.DataFrame:
    """Return all intervals of the coverage study, with one row per data set, method, epsilon and parameter."""
    return table
