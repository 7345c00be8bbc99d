"""Margins by which a claim about several methods, data sets and budgets holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

UNDECIDED = 2.0  # standard errors at which `reproduction.verdicts.agreement` calls a claim decided
Score = tuple[float, float]  # a mean and its standard error
SIGN = {"cross_entropy": -1.0, "accuracy": 1.0, "log_likelihood": 1.0}


def advantage(rows: pd.DataFrame, measure: str, others: Sequence[str], *, relative: bool = False) -> pd.DataFrame:
    """By how much the Dirichlet of Algorithm 1 is better than the best of `others`, one row a data set and budget.

    Returns
    -------
    DataFrame: dataset, epsilon, gap, se: in the measure's unit (a loss counts as better where it is smaller), or with
        `relative` in logs. A budget without the Dirichlet or without any of `others` is omitted; NaN scores stay NaN.
    """
    rows = rows[rows["epsilon"].notna() & rows["method"].isin(["dirichlet", *others])]
    sign, found, cells = SIGN[measure], [], dict[tuple[str, float], dict[str, Score]]()
    columns = ("dataset", "epsilon", "method", f"{measure}_mean", f"{measure}_se")
    for dataset, epsilon, method, mean, se in zip(*(rows[column] for column in columns), strict=True):
        cells.setdefault((dataset, epsilon), {}).setdefault(method, (mean, se))
    for (dataset, epsilon), scores in cells.items():
        if {"dirichlet", *others} <= scores.keys():
            theirs = [scores[other] for other in others]
            whole = not np.isnan([mean for mean, _ in theirs]).any()
            best = max(theirs, key=lambda score: sign * score[0]) if whole else (np.nan, np.nan)
            found.append((dataset, epsilon, *_gap(scores["dirichlet"], best, sign, relative)))
    return pd.DataFrame(found, columns=["dataset", "epsilon", "gap", "se"])


def at_same_reach(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """`advantage` over Gohari et al.: the Dirichlet of Algorithm 1 is interpolated in log epsilon_hat to their points.

    Points outside the Dirichlet's range are omitted.
    """
    sign, found = SIGN[measure], []
    point: Any
    for dataset, group in rows.groupby("dataset", sort=False):
        mine = group[group["method"] == "dirichlet"].sort_values("epsilon")
        if mine.empty:
            continue
        at = np.log(mine["epsilon"].to_numpy())
        for point in group[group["method"] == "gohari"].itertuples():
            x = np.log(point.epsilon)
            if at[0] <= x <= at[-1]:
                value, error = (np.interp(x, at, mine[f"{measure}_{c}"]) for c in ("mean", "se"))
                gap = sign * (value - getattr(point, f"{measure}_mean"))
                found.append((dataset, point.epsilon, gap, np.hypot(error, getattr(point, f"{measure}_se"))))
    return pd.DataFrame(found, columns=["dataset", "epsilon", "gap", "se"])


def _gap(mine: Score, other: Score, sign: float, relative: bool) -> tuple[float, float]:
    (a, x), (b, y) = mine, other
    if relative:
        return float(sign * np.log(a / b)), float(np.hypot(x / a, y / b))
    return float(sign * (a - b)), float(np.hypot(x, y))


def worst(gaps: pd.DataFrame) -> tuple[float, float]:
    """Margin of a claim about every row: the gap farthest on the wrong side, with its standard error.

    With n rows the error is widened so that two of it are the n-th part of the tail: that any of n true rows looks
    false, or the least of them looks proved by chance, is as likely as for a single one.
    """
    if not len(gaps):
        return np.nan, np.nan
    if gaps[["gap", "se"]].isna().any(axis=None):
        return np.nan, np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(gaps["se"] > 0, gaps["gap"] / gaps["se"], np.sign(gaps["gap"]) * np.inf)
    row = gaps.iloc[int(np.argmin(z))]
    widened = -ndtri(0.02275013194817921 / len(gaps)) / UNDECIDED
    return float(row["gap"]), float(row["se"] * widened)


def least_mean(gaps: pd.DataFrame) -> tuple[float, float]:
    """Margin of a claim about every data set: the least of their means over budgets."""
    if not len(gaps):
        return np.nan, np.nan
    by = gaps.groupby("dataset", sort=False)
    means = by["gap"].apply(lambda g: g.mean(skipna=False))
    errors = by["se"].apply(lambda s: np.sqrt((s**2).sum(skipna=False)) / len(s))
    return worst(pd.DataFrame({"gap": means, "se": errors}))


def share(good: Sequence[bool], least: float) -> tuple[float, float]:
    """Margin of a claim that holds in more than `least` of all cases, with its binomial standard error."""
    if not len(good):
        return np.nan, np.nan
    p = float(np.mean(good))
    return p - least, float(np.sqrt(max(p * (1 - p), 0.25 / len(good)) / len(good)))
