"""Compute the exact distribution of the odds ratio phi for each swap rate, and the probability that one swap moves phi
away from 1.

Source: slide "Findings: apply different choices of p and theta", and claim 2 of the slide "Result".
"""

import numpy as np
import pandas as pd

from dpmultinomial._mechanisms.swapping import permutation_swaps, two_by_two
from dpmultinomial._mechanisms.swapping import swapping as mechanism
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture

from .phi_density import swapped_law
from .settings import abs_log_odds, name_of, odds_ratio, table_of

_POINTS = 241
_SAME = 1e-12  # differences of |log phi| below this are ties


def phi_by_rate(*, thetas: list[list[float]], totals: list[int], rates: list[float]) -> pd.DataFrame:
    """Return, for every swap rate, the distribution of the odds ratio phi under Dirichlet(1 + S) for a swapped table S.
    S is the result of one swap of X = total * theta.

    The table is in long format, with the columns theta, total, rate, variant, kind, x and y. The kind ``density`` has
    phi in x. Single numbers have missing x: ``median``, ``lower`` and ``upper`` (2.5 and 97.5 %), ``mean_log_phi``,
    ``sd_log_phi``, ``mean_s11``, ``sd_s11``, ``overlap`` (with the density of the original), ``limit`` (infinitely many
    records).
    """
    parts = []
    for theta in thetas:
        for total in totals:
            original = table_of(theta, total)
            first = LogOddsMixture(1 + original.reshape(1, 4))
            low, high, least, most = first.quantile([1e-4, 0.9995, 1e-9, 1 - 1e-9])
            grid = np.exp(np.linspace(min(low, -0.5), max(high, 0.5), _POINTS))
            span = np.linspace(least, most, 4001)
            for rate in rates:
                law, mean, sd = _after(original, rate)
                frame = _summary(law, first.pdf(span), grid, span)
                singles = {"mean_s11": mean, "sd_s11": sd, "limit": mechanism.limit_odds_ratio(theta, rate=rate)}
                frame = pd.concat(
                    [frame, pd.DataFrame({"kind": list(singles), "y": list(singles.values())})], ignore_index=True
                )
                parts.append(frame.assign(theta=name_of(theta), total=total, rate=rate, variant="corrected"))
    return pd.concat(parts, ignore_index=True)[["theta", "total", "rate", "variant", "kind", "x", "y"]]


def _after(original: np.ndarray, rate: float) -> tuple[LogOddsMixture, float, float]:
    """Return the distribution of the log odds ratio under Dirichlet(1 + S), where S is the table after one swap. Also
    return the mean and the standard deviation of the last cell of S.
    """
    if rate == 0:
        return LogOddsMixture(1 + original.reshape(1, 4)), float(original[1, 1]), 0.0
    return (
        swapped_law(original, rate),
        mechanism.expected_table(original, rate=rate)[1, 1],
        mechanism.cell_sd(original, rate=rate),
    )


def _summary(law: LogOddsMixture, first: np.ndarray, grid: np.ndarray, span: np.ndarray) -> pd.DataFrame:
    """Return summaries of a distribution of the log odds ratio log phi after a swap. The argument `first` is the
    density of the original table at the points `span` of log phi.
    """
    overlap = np.trapezoid(np.minimum(law.pdf(span), first), span)
    lower, median, upper = np.exp(law.quantile([0.025, 0.5, 0.975]))
    singles = {"median": median, "lower": lower, "upper": upper, "overlap": overlap}
    singles |= {"mean_log_phi": law.mean(), "sd_log_phi": law.variance() ** 0.5}
    density = pd.DataFrame({"kind": "density", "x": grid, "y": law.pdf(np.log(grid)) / grid})
    return pd.concat([density, pd.DataFrame({"kind": list(singles), "y": list(singles.values())})], ignore_index=True)


def simulate(
    size: int, *, rng: np.random.Generator, thetas: list[list[float]], totals: list[int], rates: list[float]
) -> pd.DataFrame:
    """Return the number of random tables that a swap moves closer to independence, and the number of tables that a swap
    moves away from independence. The `size` tables are drawn from Multinomial(total, theta).
    """
    rows = []
    for theta in thetas:
        for total in totals:
            drawn = rng.multinomial(total, theta, size).reshape(-1, 2, 2)
            for rate in rates:
                after = permutation_swaps.each(drawn, rate=rate, rng=rng)
                closer, farther = _closer(abs_log_odds(drawn), abs_log_odds(after))
                counts = {"closer": closer.sum(), "farther": farther.sum(), "size": size}
                rows.append({"theta": name_of(theta), "total": total, "rate": rate, **counts})
    return pd.DataFrame(rows)


def closer_or_farther(
    table: pd.DataFrame, *, thetas: list[list[float]], totals: list[int], rates: list[float]
) -> pd.DataFrame:
    """Return the probabilities that one swap moves the odds ratio phi of a table closer to 1, leaves phi unchanged, or
    moves phi away from 1.

    The columns are theta, total, rate, data (``fixed``: X = total * theta, exact; ``random``: X drawn for each swap,
    simulated), variant, closer, tie, farther, mc_se (of farther) and size (number of tables drawn; 0 if exact).
    """
    rows = []
    for theta in thetas:
        for total in totals:
            for rate in rates:
                about = {"theta": name_of(theta), "total": total, "rate": rate}
                rows.append(about | {"data": "fixed"} | exact_share(table_of(theta, total), rate))
                chosen = table[(table["theta"] == about["theta"]) & (table["total"] == total) & (table["rate"] == rate)]
                n = chosen["size"].sum()
                closer, farther = chosen["closer"].sum() / n, chosen["farther"].sum() / n
                share = {"closer": closer, "tie": 1 - closer - farther, "farther": farther}
                rows.append(
                    about | {"data": "random"} | share | {"mc_se": np.sqrt(farther * (1 - farther) / n), "size": n}
                )
    return pd.DataFrame(rows).assign(variant="corrected")


def exact_share(original: np.ndarray, rate: float) -> dict[str, float]:
    row = two_by_two.row(original, rate=rate)
    p = np.exp(row.log_forward)
    closer, farther = _closer(np.full(len(p), abs(np.log(odds_ratio(original)))), abs_log_odds(row.tables(original)))
    return {"closer": p @ closer, "tie": 1 - p @ (closer | farther), "farther": p @ farther, "mc_se": 0.0, "size": 0}


def _closer(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return after < before - _SAME, after > before + _SAME
