"""Coverage of 95 % intervals over repeated data sets: the methods, two epsilons, and the posterior without privacy."""

import numpy as np
import pandas as pd

from dpmultinomial.mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial.posteriors import censored_normal

from .gibbs import VARIANTS

TRUTH = (0.0, 1.0)
WITHOUT = "without privacy"


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
    """`size` data sets of n records from N(0, 1), one release at every epsilon, every method on each.

    Returns
    -------
    DataFrame: replication, epsilon (NaN without privacy), method, parameter, truth, mean, lower, upper, diverged.
    """
    limits = CensoredStatistics(lower=lower, upper=upper)
    size_of = {"draws": draws, "burn_in": burn_in, "rng": rng}
    rows = []
    for replication in range(size):
        x = TRUTH[0] + TRUTH[1] ** 0.5 * rng.standard_normal(n)
        found = censored_normal.without_privacy(x, lower=lower, upper=upper, **size_of)
        rows += _rows(replication, np.nan, WITHOUT, found, False)
        for epsilon in epsilons:
            z = limits.release(x, epsilon=epsilon, sensitivity=delta_s, rng=rng)
            for method in methods:
                chain = censored_normal.chain(
                    z, n=n, lower=lower, upper=upper, scale=delta_s / epsilon, method=method, **size_of
                )
                rows += _rows(replication, epsilon, method, chain.draws, chain.diverged)
    return pd.DataFrame(rows)


def _rows(replication: int, epsilon: float, method: str, draws: np.ndarray, diverged: bool) -> list[dict]:
    rows = []
    for i, name in enumerate(("mu", "sigma2")):
        low, high = np.quantile(draws[:, i], [0.025, 0.975])
        row = {"replication": replication, "epsilon": epsilon, "method": method, "parameter": name, "truth": TRUTH[i]}
        rows.append(row | {"mean": draws[:, i].mean(), "lower": low, "upper": high, "diverged": diverged})
    return rows


def coverage(table: pd.DataFrame, **settings) -> pd.DataFrame:
    """Bias, coverage and interval length by method, epsilon and parameter.

    Returns
    -------
    DataFrame: epsilon, method, variant, parameter, data_sets, diverged (share), bias, bias_se, coverage, coverage_se,
    length. Chains that diverged are counted in all columns and in `diverged`, nothing is left out.
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
            "variant": VARIANTS.get(method, "corrected"),
            "parameter": parameter,
        }
        row |= {"data_sets": size, "diverged": group["diverged"].mean(), "bias": error.mean()}
        row |= {"bias_se": error.std(ddof=1) / size**0.5 if size > 1 else np.nan, "coverage": share}
        row |= {"coverage_se": (share * (1 - share) / size) ** 0.5}
        rows.append(row | {"length": (group["upper"] - group["lower"]).median()})
    return pd.DataFrame(rows)


def intervals(table: pd.DataFrame, **settings) -> pd.DataFrame:
    """Every interval, one row a data set: what the figure shows."""
    return table
