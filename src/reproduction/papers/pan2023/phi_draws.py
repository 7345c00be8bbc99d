"""Draws of phi as the slides make them, at every rate, against the exact law (slide "Apply different choices of p").

The curves of the slides are densities of simulated phi. Here every draw has a swap of its own: X = n theta*, one swap,
theta from the posterior that takes the swapped table for the original.
"""

from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kstest

from dpmultinomial._kernels import dirichlet
from dpmultinomial._mechanisms.swapping import swap_draws, two_by_two
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture

from ...verdicts import chi_squared
from .settings import name_of, table_of


def phi_draws(
    *, thetas: list[list[float]], totals: list[int], rates: list[float], swaps: int, rng: np.random.Generator
) -> pd.DataFrame:
    """One row a theta*, number of records and rate.

    Columns theta, total, rate, variant, swaps, median (of the drawn phi), mc_se (its error, from the exact density),
    exact (median), p_tables (chi-squared test of the swapped tables; missing at rate 0), p_phi (Kolmogorov-Smirnov
    test of the draws of phi).
    """
    rows = []
    for theta in thetas:
        for total in totals:
            original = table_of(theta, total)
            for rate in rates:
                last, law, p_tables = _swapped(original, rate, swaps, rng)
                tables = original + (last - original[1, 1])[:, None, None] * np.array([[1, -1], [-1, 1]])
                theta_drawn = dirichlet.draw(np.ones(4), tables.reshape(-1, 4), rng=rng)
                log_phi = np.log(theta_drawn) @ np.array([1.0, -1.0, -1.0, 1.0])
                middle = float(law.quantile(0.5))
                error = np.exp(middle) * 0.5 / (np.sqrt(swaps) * float(law.pdf(middle)))
                rows.append({
                    "theta": name_of(theta), "total": total, "rate": rate, "variant": "as_written", "swaps": swaps,
                    "median": float(np.exp(np.median(log_phi))), "mc_se": error, "exact": np.exp(middle),
                    "p_tables": p_tables, "p_phi": float(kstest(log_phi, cast(Any, law.cdf)).pvalue),
                })  # fmt: skip
    return pd.DataFrame(rows)


def table_test(last: NDArray[np.int64], values: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """p value of a chi-squared test: drawn last cells against their law."""
    counts = np.array([(last == value).sum() for value in values.tolist()])
    return chi_squared.pooled(counts, len(last) * probabilities, len(last))


def _swapped(
    original: NDArray[np.int64], rate: float, swaps: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], LogOddsMixture, float]:
    """Last cells after the swaps, exact law of log phi, p value of the tables."""
    if rate == 0:
        return np.full(swaps, original[1, 1]), LogOddsMixture(1 + original.reshape(1, 4)), np.nan
    last = swap_draws.tables(original, swaps, rate=rate, rng=rng)[:, 1, 1]
    row = two_by_two.row(original, rate=rate)
    p = np.exp(row.log_forward)
    tables = row.tables(original)
    return last, LogOddsMixture(1 + tables.reshape(-1, 4), p), table_test(last, tables[:, 1, 1], p)
