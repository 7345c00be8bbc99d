"""Draws of phi as the slides make them, at every rate, against the exact law (slide "Apply different choices of p").

The curves of the slides are densities of simulated phi. Here every draw has a swap of its own: X = n theta*, one swap,
theta from the posterior that takes the swapped table for the original.
"""

from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kstest

from dpmultinomial._mechanisms.swapping import swap_draws, two_by_two
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture

from ...verdicts import chi_squared
from .settings import name_of, posterior_draws, table_of

LEVEL = 1e-4  # of every law (published.tsv)
_STEP = 0.01  # relative, of what a rate is changed by
_TESTS = 12  # that share a row's level, at the most: p values of tables and of phi for every rate


def phi_draws(
    *,
    thetas: list[list[float]],
    totals: list[int],
    rates: list[float],
    swaps: int,
    tables: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """One row a theta*, number of records and rate.

    Columns theta, total, rate, variant, swaps, median (of the drawn phi), mc_se (its error, from the exact density),
    exact (median), p_phi (Kolmogorov-Smirnov test of the draws of phi), p_tables (`tables_tested` of `tables` more
    swapped tables) and sees_rate (what that refuses); both missing at rate 0.
    """
    rows: list[dict[str, Any]] = []
    for theta in thetas:
        for total in totals:
            original = table_of(theta, total)
            for rate in rates:
                last, law = _swapped(original, rate, swaps, rng)
                after = original + (last - original[1, 1])[:, None, None] * np.array([[1, -1], [-1, 1]])
                theta_drawn = posterior_draws(after.reshape(-1, 4), rng)
                log_phi = np.log(theta_drawn) @ np.array([1.0, -1.0, -1.0, 1.0])
                middle = float(law.quantile(0.5))
                error = np.exp(middle) * 0.5 / (np.sqrt(swaps) * float(law.pdf(middle)))
                rows.append({
                    "theta": name_of(theta), "total": total, "rate": rate, "variant": "as_written", "swaps": swaps,
                    "median": float(np.exp(np.median(log_phi))), "mc_se": error, "exact": np.exp(middle),
                    "p_phi": float(kstest(log_phi, cast(Any, law.cdf)).pvalue),
                })  # fmt: skip
    for row in rows:
        original = table_of([float(share) for share in row["theta"].strip("()").split(",")], row["total"])
        row["p_tables"], row["sees_rate"] = _long(original, row["rate"], tables, rng)
    return pd.DataFrame(rows)


def tables_tested(last: NDArray[np.int64], original: NDArray[np.int64], rate: float) -> tuple[float, float]:
    """p value of drawn last cells against their law (`chi_squared.scored`); relative change of the rate it refuses."""
    row = two_by_two.row(original, rate=rate)
    values, size = row.tables(original)[:, 1, 1], len(last)
    counts = np.bincount(last - values[0], minlength=len(values))
    moved = np.exp(two_by_two.row(original, rate=(1 - _STEP) * rate).log_forward)
    return chi_squared.scored(
        counts, size * np.exp(row.log_forward), size * moved, size, step=-_STEP, level=LEVEL / _TESTS
    )


def _long(original: NDArray[np.int64], rate: float, size: int, rng: np.random.Generator) -> tuple[float, float]:
    if rate == 0:
        return np.nan, np.nan
    return tables_tested(swap_draws.tables(original, size, rate=rate, rng=rng)[:, 1, 1], original, rate)


def _swapped(
    original: NDArray[np.int64], rate: float, swaps: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], LogOddsMixture]:
    """Last cells after the swaps, exact law of log phi."""
    if rate == 0:
        return np.full(swaps, original[1, 1]), LogOddsMixture(1 + original.reshape(1, 4))
    last = swap_draws.tables(original, swaps, rate=rate, rng=rng)[:, 1, 1]
    row = two_by_two.row(original, rate=rate)
    return last, LogOddsMixture(1 + row.tables(original).reshape(-1, 4), np.exp(row.log_forward))
