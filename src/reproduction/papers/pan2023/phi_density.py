"""Density of phi before and after swapping at one rate (slide "Findings: fix swap rate p = 0.5").

The slides do not state n, nor whether a curve comes from one swap or many. Here X = n theta*, "original" is the
posterior given X, "swapped" the posterior taking the swapped table for the original, pooled over many swaps and,
exactly, mixed over the law of the swap.
"""

from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kstest

from dpmultinomial._mechanisms.swapping import swap_draws, two_by_two
from dpmultinomial._mechanisms.swapping import swapping as mechanism
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture

from .phi_draws import tables_tested
from .settings import name_of, odds_ratio, posterior_draws, table_of

_POINTS = 301


def simulate(
    size: int,
    *,
    rng: np.random.Generator,
    thetas: list[list[float]],
    totals: list[int],
    rate: float,
    draws: int,
    bins: int,
) -> pd.DataFrame:
    """Last cell after each of `size` swaps, for every theta and total; `draws` and `bins` are used later."""
    parts = []
    for theta in thetas:
        for total in totals:
            last = swap_draws.tables(table_of(theta, total), size, rate=rate, rng=rng)[:, 1, 1]
            parts.append(pd.DataFrame({"theta": name_of(theta), "total": total, "x11": last}))
    return pd.concat(parts, ignore_index=True)


def swapped_law(table: NDArray[np.int64], rate: float) -> LogOddsMixture:
    """log phi under Dirichlet(1 + S), S by one swap of `table`: what naive analyses see on average."""
    row = two_by_two.row(table, rate=rate)
    return LogOddsMixture(1 + row.tables(table).reshape(-1, 4), np.exp(row.log_forward))


def phi_density(
    table: pd.DataFrame,
    *,
    thetas: list[list[float]],
    totals: list[int],
    rate: float,
    draws: int,
    bins: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Curves and single numbers, long: theta, total, variant, kind, x, y, mc_se.

    Kinds with x on the phi scale: ``original``, ``swapped exact`` (densities), ``swapped`` (histogram of `draws`
    posterior draws for each simulated swap), ``one swap`` (density after the first simulated swap). Kinds with x
    missing: medians of these, ``phi``, ``limit``, ``attenuation`` (simulated share of the distance to independence that
    is left) and its exact value, ``p tables`` and ``p phi`` (`tables_tested` of the swapped tables, Kolmogorov-Smirnov
    test of one draw of phi a swap), ``swaps``, ``sees rate`` (relative change that the tables' test refuses), ``one
    swap x11`` (last cell of the first table), ``rate``.
    """
    parts = []
    for theta in thetas:
        for total in totals:
            chosen = table[(table["theta"] == name_of(theta)) & (table["total"] == total)]
            frame = _panel(theta, total, chosen["x11"].to_numpy(), rate, draws, bins, rng)
            parts.append(frame.assign(theta=name_of(theta), total=total))
    table = pd.concat(parts, ignore_index=True)
    return table[["theta", "total", "variant", "kind", "x", "y", "mc_se"]]


def _panel(
    theta: list[float],
    total: int,
    last: NDArray[np.int64],
    rate: float,
    draws: int,
    bins: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    original = table_of(theta, total)
    swapped = original + (last - original[1, 1])[:, None, None] * np.array([[1, -1], [-1, 1]])
    p = posterior_draws(np.repeat(swapped.reshape(-1, 4), draws, axis=0), rng)
    phi = p[:, 0] * p[:, 3] / (p[:, 1] * p[:, 2])
    laws = {
        "original": LogOddsMixture(1 + original.reshape(1, 4)),
        "swapped exact": swapped_law(original, rate),
        "one swap": LogOddsMixture(1 + swapped[0].reshape(1, 4)),
    }
    low, high = (f(law.quantile(q) for law in laws.values()) for f, q in ((min, 0.001), (max, 0.995)))
    grid = np.linspace(np.exp(low), np.exp(high), _POINTS)
    parts = [pd.DataFrame({"kind": k, "x": grid, "y": law.pdf(np.log(grid)) / grid}) for k, law in laws.items()]
    edges = np.linspace(grid[0], grid[-1], bins + 1)
    heights = np.histogram(phi, edges)[0] / (len(phi) * np.diff(edges))
    parts.append(pd.DataFrame({"kind": "swapped", "x": edges[:-1], "y": heights}))
    singles = [(f"median {k}", np.exp(float(law.quantile(0.5))), 0.0) for k, law in laws.items()]
    by_swap = np.log(phi).reshape(len(last), draws)
    batches = [np.median(np.exp(b)) for b in np.array_split(by_swap, 20)] if len(last) >= 20 else [np.nan] * 2
    singles.append(("median swapped", np.median(phi), np.std(batches, ddof=1) / np.sqrt(len(batches))))
    gap = original[1, 1] - original[1].sum() * original[:, 1].sum() / total
    left = (last - original[1, 1] + gap) / gap
    singles.append(("attenuation", left.mean(), left.std(ddof=1) / np.sqrt(len(left)) if len(left) > 1 else np.nan))
    singles.append(("attenuation exact", mechanism.attenuation(total, rate=rate)[0], 0.0))
    singles += _tests(original, rate, last, by_swap[:, 0], laws["swapped exact"])
    singles += [
        ("rate", rate, 0.0),
        ("phi", odds_ratio(original), 0.0),
        ("limit", mechanism.limit_odds_ratio(theta, rate=rate), 0.0),
    ]
    parts.append(pd.DataFrame(singles, columns=["kind", "y", "mc_se"]))
    frame = pd.concat(parts, ignore_index=True)
    simulated = frame["kind"].isin(
        ["swapped", "one swap", "median swapped", "median one swap", "attenuation", "p tables", "p phi", "one swap x11"]
    )
    return frame.assign(variant=np.where(simulated, "as_written", "corrected"))


def _tests(
    original: NDArray[np.int64], rate: float, last: NDArray[np.int64], log_phi: NDArray[np.float64], law: LogOddsMixture
) -> list[tuple[str, float, float]]:
    """p values of the swapped tables, and of one draw of log phi a swap: these are independent."""
    p_tables, sees = tables_tested(last, original, rate)
    p_phi = float(kstest(log_phi, cast(Any, law.cdf)).pvalue)
    found = [("p tables", p_tables), ("p phi", p_phi), ("swaps", len(last)), ("sees rate", sees)]
    return [(name, value, 0.0) for name, value in [*found, ("one swap x11", last[0])]]
