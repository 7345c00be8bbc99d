"""Compare the paper's statements about its experiments on data sets with the results of the run."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ...verdicts.rows import claim, computed, not_run
from . import catalogue, experiment

UNDECIDED = 2.0  # number of standard errors at which `reproduction.verdicts.agreement` calls a claim decided
Score = tuple[float, float]  # a mean and its standard error
SIGN = {"cross_entropy": -1.0, "accuracy": 1.0, "log_likelihood": 1.0}


def advantage(rows: pd.DataFrame, measure: str, others: Sequence[str], *, relative: bool = False) -> pd.DataFrame:
    """Return the score differences between the Dirichlet mechanism of Algorithm 1 and the best of the mechanisms
    `others`. The table has one row per data set and budget. A difference is positive if the Dirichlet mechanism is
    better.

    Returns
    -------
    DataFrame with the columns dataset, epsilon, gap and se, in the unit of the measure (a smaller loss is better), or
        in logs with `relative`. A budget without the Dirichlet or without any of `others` is omitted; NaN scores remain
        NaN.
    """
    rows = rows[rows["epsilon"].notna() & rows["method"].isin(["dirichlet", *others])]
    sign, gaps, cells = SIGN[measure], [], dict[tuple[str, float], dict[str, Score]]()
    columns = ("dataset", "epsilon", "method", f"{measure}_mean", f"{measure}_se")
    for dataset, epsilon, method, mean, se in zip(*(rows[column] for column in columns), strict=True):
        cells.setdefault((dataset, epsilon), {}).setdefault(method, (mean, se))
    for (dataset, epsilon), scores in cells.items():
        if {"dirichlet", *others} <= scores.keys():
            theirs = [scores[other] for other in others]
            whole = not np.isnan([mean for mean, _ in theirs]).any()
            best = max(theirs, key=lambda score: sign * score[0]) if whole else (np.nan, np.nan)
            gaps.append((dataset, epsilon, *_gap(scores["dirichlet"], best, sign, relative)))
    return pd.DataFrame(gaps, columns=["dataset", "epsilon", "gap", "se"])


def at_same_reach(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the score differences between two calibrations of the Dirichlet mechanism, by Algorithm 1 and by Gohari et
    al., in the format of `advantage`. The scores of Algorithm 1's Dirichlet are interpolated in log epsilon_hat.

    Points outside the Dirichlet's range are omitted.
    """
    sign, gaps = SIGN[measure], []
    point: Any
    for dataset, group in rows.groupby("dataset", sort=False):
        mine = group[group["method"] == "dirichlet"].sort_values("epsilon")
        if mine.empty:
            continue
        log_budgets = np.log(mine["epsilon"].to_numpy())
        for point in group[group["method"] == "gohari"].itertuples():
            x = np.log(point.epsilon)
            if log_budgets[0] <= x <= log_budgets[-1]:
                value, error = (np.interp(x, log_budgets, mine[f"{measure}_{c}"]) for c in ("mean", "se"))
                gap = sign * (value - getattr(point, f"{measure}_mean"))
                gaps.append((dataset, point.epsilon, gap, np.hypot(error, getattr(point, f"{measure}_se"))))
    return pd.DataFrame(gaps, columns=["dataset", "epsilon", "gap", "se"])


def _gap(mine: Score, other: Score, sign: float, relative: bool) -> tuple[float, float]:
    (a, x), (b, y) = mine, other
    if relative:
        return float(sign * np.log(a / b)), float(np.hypot(x / a, y / b))
    return float(sign * (a - b)), float(np.hypot(x, y))


def worst(gaps: pd.DataFrame) -> tuple[float, float]:
    """Return the gap between two scores that has the smallest ratio to its standard error, together with this standard
    error. A claim about every row holds by this gap, or fails if the gap is negative.

    With n rows, the error is increased as in a Bonferroni correction: two standard errors correspond to the n-th part
    of the tail probability.
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
    """Average the gap between the scores of two mechanisms over all privacy budgets, separately for every data set.
    Return the mean gap with the smallest ratio to its standard error, and the standard error of this mean gap, as in
    `worst`. A claim about every data set holds by this mean gap, or fails if it is negative.
    """
    if not len(gaps):
        return np.nan, np.nan
    by = gaps.groupby("dataset", sort=False)
    means = by["gap"].apply(lambda g: g.mean(skipna=False))
    errors = by["se"].apply(lambda s: np.sqrt((s**2).sum(skipna=False)) / len(s))
    return worst(pd.DataFrame({"gap": means, "se": errors}))


def share(good: Sequence[bool]) -> tuple[float, float]:
    """Return the proportion of cases in which a statement is true, with its binomial standard error."""
    if not len(good):
        return np.nan, np.nan
    p = float(np.mean(good))
    return p, float(np.sqrt(max(p * (1 - p), 0.25 / len(good)) / len(good)))


ABSENT = "This run does not include the data set."
PARTLY = "This run does not include all data sets to which the statement refers."
FLOORS = {
    "corrected": "Noisy counts below the standard deviation of their noise are replaced by this standard deviation.",
    "published": "Noisy counts below 1e-6 are replaced by 1e-6.",
}
BOTH = ("corrected", "published")
NOISE = ("gaussian", "laplace")
CLOSE = 1.5  # mean ratio to the non-private loss, below which a loss counts as remarkably close
LEADS = 2 / 3  # proportion of cases in which a clear winner is best
WELL = 0.1  # difference of accuracy that separates curves on a plot from 0 to 1
NEAR = 0.01  # largest difference of accuracy for which a method counts as equal to the others

Rows = Iterator[dict[str, Any]]
# the number that a claim compares with a limit, and its standard error
Margin = Callable[[pd.DataFrame], tuple[float, float]]
MOST = (">", 0.5)  # more than half of the cases


def naive_bayes(losses: pd.DataFrame, accuracies: pd.DataFrame) -> Rows:
    """Yield the rows of the agreement table that concern Figures 4 and 5 (naive Bayes)."""
    yield from _losses(losses)
    yield from _accuracies(accuracies)
    for artefact, table, name, measure in (
        ("figure_4", losses, "Bank", "cross_entropy"),
        ("figure_5", accuracies, "Bank", "accuracy"),
        ("figure_5", accuracies, "Adult", "accuracy"),
    ):
        word = "loss" if measure == "cross_entropy" else "accuracy"
        yield from _levels(artefact, f"{name}: non-private {word}", table[table["dataset"] == name], measure)


def _losses(losses: pd.DataFrame) -> Rows:
    text = (
        "The log of the smaller loss of the other two mechanisms minus the log of the loss of the Dirichlet "
        "mechanism is averaged over the budgets. The left side is the mean for the data set (of {n}) with the "
        "smallest ratio of the mean to its standard error. {floor}"
    )
    yield from _claim(
        "figure_4",
        "smaller loss than Gaussian and Laplace on all data sets, over all budgets",
        losses,
        lambda t: least_mean(advantage(t, "cross_entropy", NOISE, relative=True)),
        text,
    )
    text = (
        "The left side is the smaller loss of the other two mechanisms minus the loss of the Dirichlet mechanism, "
        "for the budget and the data set (of {n}) with the smallest ratio of this difference to its standard error. "
        "{floor}"
    )
    yield from _claim(
        "figure_4",
        "smaller loss than Gaussian and Laplace on all data sets, at every budget",
        losses,
        lambda t: worst(advantage(t, "cross_entropy", NOISE)),
        text,
    )
    for name in ("CreditCard", "GermanCredit", "Bank", "Adult"):
        quantity = f"{name}: loss remarkably close to the non-private one"
        text = (
            "The left side is the mean over all budgets of the absolute log ratio of the loss to the non-private loss. "
            f"The right side is the log of {CLOSE:g}, a threshold chosen by this project."
        ) + " {floor}"
        near = ("<", float(np.log(CLOSE)))
        yield from _claim("figure_4", quantity, losses, _closeness, text, (name,), near)


def _accuracies(accuracies: pd.DataFrame) -> Rows:
    for name, low, high, where in (
        ("Digit", 0.1, np.inf, "epsilon > 0.1"),
        ("Adult", 0.0, 0.1, "epsilon < 0.1"),
        ("Bank", 0.0, np.inf, "all epsilon"),
    ):
        yield from _claim(
            "figure_5",
            f"{name}: more accurate than the Gaussian ({where})",
            accuracies[accuracies["epsilon"].between(low, high, inclusive="neither")],
            lambda t: worst(advantage(t, "accuracy", ["gaussian"])),
            "The left side is the difference between the accuracies of the Dirichlet and the Gaussian mechanism, for "
            "the budget with the smallest ratio of this difference to its standard error. {floor}",
            names=(name,),
        )
    few = ("<", LEADS)
    text = (
        "The left side is the proportion of cases in which a mechanism is the best, for the mechanism that is the best "
        "most often. The right side is two thirds. {floor}"
    )
    yield from _claim("figure_5", "no mechanism is a clear winner", accuracies, _no_winner, text, limit=few)
    yield from _guessing("figure_5", accuracies)
    text = (
        "The left side is the proportion of cases in which the accuracy of the Dirichlet mechanism is at most "
        f"{NEAR:g} below the highest accuracy."
    ) + " {floor}"
    quantity = "the Dirichlet does as well as the others in most cases"
    yield from _claim("figure_5", quantity, accuracies, _as_well, text, limit=MOST)


def networks(table: pd.DataFrame) -> Rows:
    """Yield the rows of the agreement table for Figure 7, which shows results for Bayesian networks."""
    cells = (
        "Only the cells that occur in the training data are released, whereas the text (equation 12) requires all "
        "cells (erratum 19)."
    )
    notes = {
        "corrected": "Every cell is released, and every test cell is counted. With this variant, the likelihood of the "
        "Dirichlet mechanism is never the largest.",
        "stated_share": f"Each node receives epsilon/K. {cells}",
        "published": f"Each node receives epsilon/3, so that K/3 times the stated budget is spent. {cells}",
    }
    label = "the Dirichlet has the largest likelihood on all data sets, every epsilon < 1"
    for variant, note in notes.items():
        rows = table[(table["variant"] == variant) & (table["epsilon"] < 1)]
        yield _judged(
            "figure_7",
            label,
            rows,
            lambda t: worst(advantage(t, "log_likelihood", NOISE)),
            note,
            "corrected" if variant == "corrected" else "published",
            catalogue.NETWORKS,
        )
    for name in catalogue.NETWORKS:
        for method in ("dirichlet", "gaussian", "laplace"):
            chosen = table[(table["variant"] == "published") & (table["dataset"] == name) & (table["method"] == method)]
            chosen = chosen[np.isclose(chosen["epsilon"], 1e-3)]
            quantity = f"{name}: {method} at epsilon = 0.001"
            if chosen.empty:
                yield not_run("figure_7", quantity, f"This run does not include {name} with epsilon = 0.001.")
                continue
            error = np.sqrt(2) * chosen["log_likelihood_se"].iloc[0]  # number of releases in the printed mean
            value = chosen["log_likelihood_mean"].iloc[0]
            yield computed("figure_7", quantity, value, notes["published"], "published", error)


def approximate(losses: pd.DataFrame, accuracies: pd.DataFrame, likelihoods: pd.DataFrame) -> Rows:
    """Yield the rows of the agreement table that concern Appendix C (approximate differential privacy)."""
    for artefact, table in (("figure_9", losses), ("figure_10", accuracies), ("figure_11", likelihoods)):
        yield from _beside_gohari(artefact, table)


def _beside_gohari(artefact: str, table: pd.DataFrame) -> Rows:
    notes = {
        "corrected": "All mechanisms are calibrated by exact or Rényi composition, and the floor of noisy counts is "
        "the standard deviation of the noise.",
        "published": "The mechanisms are calibrated as in the author's code.",
    }
    word, measure, names = {
        "figure_9": ("loss", "cross_entropy", catalogue.NAMES),
        "figure_10": ("accuracy", "accuracy", catalogue.NAMES),
        "figure_11": ("likelihood", "log_likelihood", catalogue.NETWORKS),
    }[artefact]
    for variant in BOTH:
        rows, note = table[table["variant"] == variant], notes[variant]
        yield _judged(
            artefact,
            f"better {word} than Gohari et al. in all experiments",
            rows,
            partial(_same_reach, measure=measure),
            "The score of the Dirichlet mechanism is interpolated to the epsilon_hat of Gohari et al. The left side "
            "is the difference between the two scores (positive if the Dirichlet mechanism is better) at the point "
            f"with the smallest ratio of this difference to its standard error. {note}",
            variant,
            names,
        )
        if measure == "accuracy":
            if variant == "published":
                yield from _guessing(artefact, table)
            continue
        yield _judged(
            artefact,
            f"Gohari et al.: much worse {word} at small epsilon_hat",
            rows,
            partial(_decline, measure=measure),
            "The left side is the score of Gohari et al. at the largest epsilon_hat minus that at the smallest "
            "epsilon_hat, for the data set with the smallest ratio of this difference to its standard error. "
            f"{note}",
            variant,
            names,
        )
        yield _judged(
            artefact,
            f"better {word} with Laplace than with Gaussian noise",
            rows,
            partial(_laplace, measure=measure),
            f"The left side is the proportion of cases in which the Laplace mechanism is better. {note}",
            variant,
            names,
            MOST,
        )
        yield _judged(
            artefact,
            f"better {word} than Gaussian and Laplace on all data sets, over all budgets",
            rows,
            partial(_mean_advantage, measure=measure),
            "The difference between the scores of the Dirichlet mechanism and of the better of the other two "
            "mechanisms is averaged over the budgets. The left side is the mean for the data set with the smallest "
            f"ratio of the mean to its standard error. {note}",
            variant,
            names,
        )


def _claim(
    artefact: str,
    quantity: str,
    table: pd.DataFrame,
    margin: Margin,
    text: str,
    names: tuple[str, ...] = catalogue.NAMES,
    limit: tuple[str, float] = (">", 0.0),
) -> Rows:
    for variant in BOTH:
        rows = table[(table["variant"] == variant) & table["dataset"].isin(names)]
        note = text.format(floor=FLOORS[variant], n=rows["dataset"].nunique())
        yield _judged(artefact, quantity, rows, margin, note, variant, names, limit)


def _judged(
    artefact: str,
    quantity: str,
    rows: pd.DataFrame,
    margin: Margin,
    note: str,
    variant: str,
    names: tuple[str, ...],
    limit: tuple[str, float] = (">", 0.0),
) -> dict[str, Any]:
    """Return the row of the agreement table for a claim that compares a margin with a limit. The margin is computed for
    the data sets `names`. The row is "not run" unless all of these data sets exist.
    """
    available = set(rows.loc[rows["method"] != "not_run", "dataset"])
    if not set(names) <= available:
        return not_run(artefact, quantity, PARTLY if available & set(names) else ABSENT)
    value, error = margin(rows)
    return claim(artefact, quantity, value, *limit, note, variant, error)


def _guessing(artefact: str, table: pd.DataFrame) -> Rows:
    """Yield rows of the agreement table for the statements in the captions of Figures 5 and 10. The captions state that
    random guessing is far below all curves on some data sets.
    """
    quantity = "random guessing is well below the other models on some data sets"
    for variant in BOTH:
        rows = table[table["variant"] == variant]
        drawn = rows[~rows["method"].isin(["random", "majority", "not_run"])]
        least = drawn.groupby(["dataset", "method"])["accuracy_mean"].mean().groupby("dataset")
        guess = rows[rows["method"] == "random"].groupby("dataset")["accuracy_mean"].first()
        if guess.empty:
            yield not_run(artefact, quantity, ABSENT)
            return
        gaps = least.min() - guess
        note = (
            "For each data set, the accuracy of random guessing is subtracted from the smallest mean accuracy of a "
            f"model. The left side is the largest difference. The right side, {WELL:g}, is the smallest difference "
            f"that is visible on a plot, as judged by this project. {FLOORS[variant]}"
        )
        yield claim(artefact, quantity, gaps.max(skipna=False), ">", WELL, note, variant)


def settings(losses: pd.DataFrame, likelihoods: pd.DataFrame) -> Rows:
    """Yield the rows of the agreement table for the experimental design, which is set in the configuration of the
    run.
    """
    for artefact, table in (("figure_4", losses), ("figure_7", likelihoods)):
        note, reach = "The value is a setting.", table["epsilon"].dropna()
        for quantity, value in (("smallest epsilon", reach.min()), ("largest epsilon", reach.max())):
            row = not_run(artefact, quantity, ABSENT) if reach.empty else computed(artefact, quantity, value, note)
            yield row
        yield computed(artefact, "percentage of the records used for training", 100 * (1 - experiment.TEST_SHARE), note)
        yield computed(artefact, "bins of a numerical attribute", experiment.BINS, note)


def _closeness(rows: pd.DataFrame) -> tuple[float, float]:
    reference = rows.loc[rows["method"] == "non-private", "cross_entropy_mean"].iloc[0]
    mine = rows[(rows["method"] == "dirichlet") & rows["epsilon"].notna()]
    if mine.empty:
        return np.nan, np.nan
    distance = np.abs(np.log(mine["cross_entropy_mean"] / reference))
    error = np.sqrt(((mine["cross_entropy_se"] / mine["cross_entropy_mean"]) ** 2).sum(skipna=False)) / len(mine)
    return float(distance.mean(skipna=False)), float(error)


def _by_method(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the scores of the three mechanisms, with one row per data set and budget. Larger scores are better."""
    by_method = rows[rows["epsilon"].notna() & rows["method"].isin(["dirichlet", *NOISE])]
    wide = by_method.pivot(index=["dataset", "epsilon"], columns="method", values=f"{measure}_mean")
    return SIGN[measure] * wide


def _no_winner(rows: pd.DataFrame) -> tuple[float, float]:
    wide = _by_method(rows, "accuracy")
    if wide.isna().any(axis=None):
        return np.nan, np.nan
    best = wide.eq(wide.max(axis=1), axis=0)
    return share(best[best.mean().idxmax()].tolist())


def _as_well(rows: pd.DataFrame) -> tuple[float, float]:
    wide = _by_method(rows, "accuracy")
    if wide.isna().any(axis=None):
        return np.nan, np.nan
    return share((wide["dirichlet"] >= wide.max(axis=1) - NEAR).tolist())


def _same_reach(rows: pd.DataFrame, measure: str) -> tuple[float, float]:
    return worst(at_same_reach(rows, measure))


def _mean_advantage(rows: pd.DataFrame, measure: str) -> tuple[float, float]:
    return least_mean(advantage(rows, measure, NOISE))


def _laplace(rows: pd.DataFrame, measure: str) -> tuple[float, float]:
    wide = _by_method(rows, measure)
    if wide.isna().any(axis=None):
        return np.nan, np.nan
    return share((wide["laplace"] > wide["gaussian"]).tolist())


def _decline(rows: pd.DataFrame, measure: str) -> tuple[float, float]:
    declines = []
    for dataset, group in rows[rows["method"] == "gohari"].groupby("dataset"):
        ends = group.sort_values("epsilon").iloc[[0, -1]]
        score, error = ends[f"{measure}_mean"].to_numpy(), ends[f"{measure}_se"].to_numpy()
        declines.append((dataset, SIGN[measure] * (score[1] - score[0]), np.hypot(*error)))
    return worst(pd.DataFrame(declines, columns=["dataset", "gap", "se"]))


def _levels(artefact: str, quantity: str, table: pd.DataFrame, measure: str) -> Rows:
    for variant in BOTH:
        rows = table[(table["variant"] == variant) & (table["method"] == "non-private")]
        if rows.empty:
            yield not_run(artefact, quantity, ABSENT)
            return
        yield computed(
            artefact, quantity, rows[f"{measure}_mean"].iloc[0], f"{FLOORS[variant]} The smoothing is 0.1.", variant
        )
