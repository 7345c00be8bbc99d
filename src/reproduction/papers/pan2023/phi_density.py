"""Compute the density of the odds ratio phi before and after swapping, at a given swap rate and at all swap rates on
the slides.

Source: slides "Findings: fix swap rate p = 0.5" and "Apply different choices of p". The slides state neither n nor
whether a curve comes from one swap or many. In this module, X = n theta*. "Original" is the posterior given X.
"Swapped" is the posterior that treats the swapped table as the original; it is pooled over many swaps and, exactly,
averaged over the distribution of the swap. Each draw of phi uses a new swap, as on the slides, and the draws are
compared with the exact distribution.
"""

from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kstest

from dpmultinomial._mechanisms.swapping import permutation_swaps, two_by_two
from dpmultinomial._mechanisms.swapping import swapping as mechanism
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture

from ...verdicts import draw_tests
from .settings import name_of, odds_ratio, posterior_draws, table_of

LEVEL = 1e-4  # level of every test (published.tsv)
_STEP = 0.01  # relative change of a rate
_TESTS = 12  # largest number of tests that share the level of a row: tables and phi for every rate


def phi_draws(
    *,
    thetas: list[list[float]],
    totals: list[int],
    rates: list[float],
    swaps: int,
    tables: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return summaries and tests of the draws of the odds ratio phi. There is one row per combination of cell
    probabilities theta*, number of records and swap rate.

    The columns are theta, total, rate, variant, swaps, median (of the drawn phi), mc_se (its error, from the exact
    density), exact (median), p_phi (Kolmogorov-Smirnov test of the draws of phi), p_tables (`tables_tested` for
    `tables` further swapped tables) and sees_rate (minimum detectable effect of that test). The last two are missing at
    rate 0.
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
    """Return the p-value of a test of the last cells of simulated swapped tables, and the minimum detectable effect for
    the swap rate (see `draw_tests.scored`).
    """
    row = two_by_two.row(original, rate=rate)
    values, size = row.tables(original)[:, 1, 1], len(last)
    counts = np.bincount(last - values[0], minlength=len(values))
    moved = np.exp(two_by_two.row(original, rate=(1 - _STEP) * rate).log_forward)
    return draw_tests.scored(
        counts, size * np.exp(row.log_forward), size * moved, size, step=-_STEP, level=LEVEL / _TESTS
    )


def _long(original: NDArray[np.int64], rate: float, size: int, rng: np.random.Generator) -> tuple[float, float]:
    if rate == 0:
        return np.nan, np.nan
    return tables_tested(permutation_swaps.tables(original, size, rate=rate, rng=rng)[:, 1, 1], original, rate)


def _swapped(
    original: NDArray[np.int64], rate: float, swaps: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], LogOddsMixture]:
    """Return the counts in the last cell of the simulated swapped tables, and the exact distribution of the log odds
    ratio log phi.
    """
    if rate == 0:
        return np.full(swaps, original[1, 1]), LogOddsMixture(1 + original.reshape(1, 4))
    last = permutation_swaps.tables(original, swaps, rate=rate, rng=rng)[:, 1, 1]
    row = two_by_two.row(original, rate=rate)
    return last, LogOddsMixture(1 + row.tables(original).reshape(-1, 4), np.exp(row.log_forward))


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
    """Return the last cell of the swapped 2 x 2 table in each of `size` simulations, for every vector theta of cell
    probabilities and every total. The arguments `draws` and `bins` are not used here.
    """
    parts = []
    for theta in thetas:
        for total in totals:
            last = permutation_swaps.tables(table_of(theta, total), size, rate=rate, rng=rng)[:, 1, 1]
            parts.append(pd.DataFrame({"theta": name_of(theta), "total": total, "x11": last}))
    return pd.concat(parts, ignore_index=True)


def swapped_law(table: NDArray[np.int64], rate: float) -> LogOddsMixture:
    """Return the distribution of the log odds ratio log phi under Dirichlet(1 + S), where S is the result of one swap
    of `table`. It is the average posterior of analyses that ignore the swap.
    """
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
    """Return density curves of the odds ratio phi, and medians, p-values and other summary statistics, in long format.
    The columns are theta, total, variant, kind, x, y and mc_se.

    Kinds with x on the phi scale are ``original`` and ``swapped exact`` (densities), ``swapped`` (histogram of `draws`
    posterior draws for each simulated swap), and ``one swap`` (density after the first simulated swap). Kinds with
    missing x are the medians of these; ``phi``; ``limit``; ``attenuation`` (simulated proportion of the distance to
    independence that remains) and its exact value; ``p tables`` and ``p phi`` (`tables_tested` for the swapped tables,
    and a Kolmogorov-Smirnov test with one draw of phi per swap); ``swaps``; ``sees rate`` (relative change that the
    test of the tables rejects); ``one swap x11`` (last cell of the first table); and ``rate``.
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
    """Return the p-values of tests of the swapped tables, and of tests of independent draws of the log odds ratio log
    phi (one draw per swap).
    """
    p_tables, sees = tables_tested(last, original, rate)
    p_phi = float(kstest(log_phi, cast(Any, law.cdf)).pvalue)
    entries = [("p tables", p_tables), ("p phi", p_phi), ("swaps", len(last)), ("sees rate", sees)]
    return [(name, value, 0.0) for name, value in [*entries, ("one swap x11", last[0])]]
