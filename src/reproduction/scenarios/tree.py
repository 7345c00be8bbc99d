"""The posterior of a tree of counts as a scenario's table: one row a node, least squares beside, levels in words."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._posteriors.trees.least_squares import LeastSquares
from dpmultinomial._posteriors.trees.tree_posterior import TreeLaw

from .case import BESIDE, COLUMNS

_WIDEST = 200  # nodes of a question whose least squares are given


def rows(law: TreeLaw, level: float) -> pd.DataFrame:
    """One row a node, with the columns of a scenario's table and `BESIDE`.

    Parameters
    ----------
    law : of all counts.
    level : of the intervals.

    Returns
    -------
    DataFrame
        `released` is empty where a node has no measurement or several.
    """
    tree, measured = law.tree, law.measurements
    released = np.full(len(tree), np.nan)
    released[measured.nodes] = measured.released
    released[np.bincount(measured.nodes, minlength=len(tree)) > 1] = np.nan
    mean, sd, lower, upper = law.numbers(level)
    frame = pd.DataFrame({"quantity": list(tree.names), "released": released, "mean": mean, "sd": sd})
    frame = frame.assign(lower=lower, upper=upper, type="count", level=level)
    frame = frame.assign(status=law.honesty.word, error=law.honesty.error)[list(COLUMNS)]
    least = law.least_squares
    known = np.isfinite(least.sd)
    frame["tree_level"] = [tree.levels[d] for d in tree.depth]
    frame["least_squares"] = np.where(known, least.estimate, np.nan)
    frame["least_squares_sd"] = np.where(known, least.sd, np.nan)
    return frame


def facts(law: TreeLaw) -> dict[str, Any]:
    """What the table is of: levels with their nodes and measurements, conflict of prior and measurements by level.

    Parameters
    ----------
    law : of all counts.
    """
    tree = law.tree
    nodes = np.bincount(tree.depth, minlength=len(tree.levels)).tolist()
    seen = np.bincount(tree.depth[law.measurements.nodes], minlength=len(tree.levels)).tolist()
    times = np.bincount(law.measurements.nodes, minlength=len(tree))
    found: dict[str, Any] = {
        "levels": [
            {"level": name, "nodes": n, "measurements": m} for name, n, m in zip(tree.levels, nodes, seen, strict=True)
        ],
        "measured_more_than_once": int((times > 1).sum()),
        "not_measured": int((times == 0).sum()),
        "conflict": law.conflict().to_dict("records"),
    }
    prior: Any = law.facts["prior"]
    if "concentrations" in law.facts:
        prior = {**prior, "concentrations": law.facts["concentrations"], "fitted_on": law.facts.get("fitted_on")}
    # the table has least squares; a conflict that other kinds state has another form
    return {"tree": found, "prior": prior, "conflict": {}, "least_squares": {}}


def beside_questions(table: pd.DataFrame, questions: Mapping[str, Any], law: TreeLaw) -> pd.DataFrame:
    """The same table with least squares of sums and differences of counts.

    Parameters
    ----------
    table : of a scenario, with the columns `BESIDE`.
    questions : name -> what is asked.
    law : of all counts.

    Returns
    -------
    DataFrame
        Other questions have no least squares.
    """
    found = table.copy()
    for name, asked in questions.items():
        weights = _weights(asked)
        at = found.index[(found["type"] == "question") & (found["quantity"] == name)]
        if weights is None or len(weights) > _WIDEST or len(at) != 1:
            continue
        found.loc[at[0], list(BESIDE[1:])] = combined(law.least_squares, weights)
    return found


def combined(least: LeastSquares, weights: Mapping[str, float]) -> tuple[float, float]:
    """Estimate and standard deviation of a weighted sum of counts; NaN where one is not determined.

    Parameters
    ----------
    least : of the tree.
    weights : name of a node -> its weight.
    """
    at = {least.tree.position(name): weight for name, weight in weights.items()}
    variance = sum(at[i] * at[j] * least.covariance(i, j) for i, j in product(at, at))
    return float(sum(w * least.estimate[i] for i, w in at.items())), float(np.sqrt(max(variance, 0.0)))


def _weights(asked: Mapping[str, Any]) -> dict[str, float] | None:
    """Weights of the counts of a sum or a difference."""
    if asked.get("about", "counts") != "counts" or not {"sum", "difference"} & set(asked):
        return None
    parts = [(1.0, asked["sum"])] if "sum" in asked else list(zip((1.0, -1.0), asked["difference"], strict=True))
    found: dict[str, float] = {}
    for weight, side in parts:
        for name in _side(side):
            found[name] = found.get(name, 0.0) + weight
    return found


def _side(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
