"""Study the coverage of intervals for the log odds ratio (log phi) that are computed from swapped data. The intervals
either ignore the swap or account for the swap.
"""

import numpy as np
import pandas as pd

from dpmultinomial._mechanisms.swapping import permutation_swaps
from dpmultinomial._posteriors.swapping import log_odds, swapped_table

from .settings import name_of, odds_ratio

_FEW = 100  # largest number of records for which every data set gets a swap-aware interval


def simulate(
    size: int,
    *,
    rng: np.random.Generator,
    thetas: list[list[float]],
    totals: list[int],
    rates: list[float],
    aware_up_to: int,
    aware_every: int,
    level: float,
) -> pd.DataFrame:
    """Return the posterior probability that the log odds ratio log phi is below its true value, for each method and for
    `size` data sets per setting. Each data set is a multinomial draw and one swap.

    The columns are theta, total, rate, method and pit (posterior probability that log phi is below the true value).
    """
    rows = []
    for theta in thetas:
        truth = np.log(odds_ratio(theta))
        for total in totals:
            for rate in rates:
                about = {"theta": name_of(theta), "total": total, "rate": rate}
                every = aware_every if total > _FEW else 1
                drawn = rng.multinomial(total, theta, size).reshape(-1, 2, 2)
                swapped = permutation_swaps.each(drawn, rate=rate, rng=rng)
                naive = log_odds.below(1 + swapped.reshape(-1, 4), truth)
                for i, table in enumerate(swapped):
                    rows.append(about | {"method": "naive", "pit": float(naive[i])})
                    if total <= aware_up_to and i % every == 0:
                        aware = swapped_table.exact(table, rate=rate).log_odds().cdf(truth)
                        rows.append(about | {"method": "swap-aware", "pit": float(aware)})
    return pd.DataFrame(rows)


def coverage(
    table: pd.DataFrame,
    *,
    thetas: list[list[float]],
    totals: list[int],
    rates: list[float],
    aware_up_to: int,
    aware_every: int,
    level: float,
) -> pd.DataFrame:
    """Return the proportion of central intervals at the given level that contain the true log phi.

    The columns are theta, total, rate, method, variant, level, coverage, mc_se and size.
    """
    tail = (1 - level) / 2
    rows = []
    keys = ["theta", "total", "rate", "method"]
    for (theta, total, rate, method), part in table.groupby(keys, sort=False):
        hit = ((part["pit"] >= tail) & (part["pit"] <= 1 - tail)).mean()
        about = {"theta": theta, "total": total, "rate": rate, "method": method}
        about |= {"variant": "as_written" if method == "naive" else "corrected", "level": level, "coverage": hit}
        rows.append(about | {"mc_se": np.sqrt(hit * (1 - hit) / len(part)), "size": len(part)})
    return pd.DataFrame(rows)
