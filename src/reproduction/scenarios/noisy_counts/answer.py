"""Compute the posterior of counts, shares and rates from noisy counts. The counts and shares are those in a file, and
the rates are those in the population from which the file was sampled.

The posterior of a tree of counts has one row per node, with least-squares estimates and the names of the levels.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._files import csv_table
from dpmultinomial._files.table_columns import Hierarchy
from dpmultinomial._inference import counts, trees
from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.reading import read
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.noise_law import NoiseLaw
from dpmultinomial._posteriors.published.counts import PublishedCounts
from dpmultinomial._posteriors.published.counts_with_total import TiedCounts
from dpmultinomial._posteriors.trees.least_squares import LeastSquares
from dpmultinomial._posteriors.trees.tree_posterior import TreeLaw
from dpmultinomial._printing import steps
from dpmultinomial._releases.spending import ADD_OR_REMOVE, REPLACE
from dpmultinomial._results.posterior import Posterior
from dpmultinomial._seeding import stream

from ...config import file_columns, published_cells
from .. import standard
from ..case import BESIDE, COLUMNS, REHEARSAL, Answer, Case
from . import rules, single_counts, without_prior
from .many import many as many

# percentages of the time of an answer with 2,000,000 counts: posterior, table, comparison and confidence intervals
_STAGES = (20, 35, 10, 35)


def answer(case: Case) -> Answer:
    """Return the results of one case of a noisy-counts scenario.

    Parameters
    ----------
    case : case with the keys of settings.yaml, or with the keys of a release.

    Raises
    ------
    ValueError
        If a file breaks a rule, or the release has probability 0 under the stated assumptions.
    """
    settings = case.settings
    release, facts = _release(case)
    if release.total is None and "among" in settings:
        raise ValueError("the key 'among' requires the total of all counts: set total, or omit the key 'among'")
    flat = release.total is None and release.parents is None
    stage = steps(_STAGES, sum(_STAGES), "hundredths of the answer", int) if flat else iter(_STAGES)
    next(stage)
    inferred = posterior(release, prior=settings.get("prior"), rng=case.rng)
    next(stage)
    facts |= {"total": release.total if isinstance(release.total, int) else inferred.facts.get("total")}
    facts |= {"noise": dict(release.mechanism.settings()), "counts": len(set(release.names))}
    facts |= _limits(release, settings.get("bounds") or {})
    if reason := inferred.facts.get("omitted"):
        facts["omitted"] = reason
    released = dict(zip(release.names, release.values.tolist(), strict=True))
    if isinstance(inferred.source, TreeLaw):
        return _with_confidence(_of_tree(inferred, case, facts), release, settings)
    about, table = settings["about"], None
    if isinstance(inferred.source, PublishedCounts):
        about, table = "counts", single_counts.rows(inferred.source, settings["level"])
    elif isinstance(inferred.source, TiedCounts) and "among" not in settings:
        table = single_counts.rows_of_total(
            inferred, release.values, settings["level"], standard.groups_of(inferred, about)
        )
    result = standard.answer(inferred, case, facts=facts, released=released, about=about, table=table)
    next(stage)
    result = replace(result, comparison=single_counts.decided(inferred, settings["level"]))
    next(stage)
    return _with_confidence(result, release, settings)


def _limits(release: Release, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stated bounds of all counts, and whether a count has neither a value nor an upper bound. The bounds of
    a count that was published as a range are not stated bounds.
    """
    upper = np.asarray((release.bounds or (0, np.inf))[1], dtype=np.float64)
    limited = isinstance(release.total, int) or "threshold" in release.mechanism.settings()
    ends = {key: float(stated.get(key, end)) for key, end in (("lower", 0), ("upper", np.inf))} if stated else {}
    open_ = not limited and bool((np.isnan(release.values) & np.isinf(upper)).any())
    return {"bounds": ends} | ({"unlimited": True} if open_ else {})


def _with_confidence(result: Answer, release: Release, settings: Mapping[str, Any]) -> Answer:
    """Return the results, with confidence intervals added if the settings request confidence intervals. Otherwise, for
    counts without a total, add a sentence if the confidence intervals differ from the credible intervals.
    """
    if level := settings.get("confidence"):
        rows = without_prior.columns(result.rows, release, level)
        stated = {"level": level, "sentence": without_prior.sentence(level, rows)}
        return replace(result, rows=rows, facts={**result.facts, "confidence": stated})
    if release.total is not None or release.parents is not None:
        return result
    differs = without_prior.differing(result.rows, release, settings["level"])
    return replace(result, facts={**result.facts, "confidence": {"sentence": differs}}) if differs else result


def _of_tree(found: Posterior, case: Case, facts: Mapping[str, Any]) -> Answer:
    """Return the posterior of the counts of a tree, with one row of results per node. Least-squares estimates are added
    for all nodes, and for questions about sums and differences.
    """
    law, settings = found.source, case.settings
    assert isinstance(law, TreeLaw)
    if settings["about"] == "rates":
        raise ValueError(
            f"about must be 'counts' for a tree, got {settings['about']!r}: set the key 'about' to 'counts'"
        )
    if "among" in settings:
        raise ValueError(
            "the key 'among' must not be set for a tree: remove the key, and use a question with the key 'share' to "
            "compute a share"
        )
    table, facts_of_tree = (
        tree_rows(law, settings["level"]),
        {**facts, "counts": len(law.tree), **tree_facts(law, facts.get("published_as", ()))},
    )
    result = standard.answer(
        found, case, facts=facts_of_tree, released={}, about="counts", table=table, accuracy=law.accuracy
    )
    return replace(result, rows=beside_questions(result.rows, settings.get("questions") or {}, law))


def _release(case: Case) -> tuple[Release, dict[str, Any]]:
    """Return the release that a scenario analyses, and a description of the origin of this release."""
    if case.release:
        stored = read(case.release)
        return stored, {"origin": "release", **stored.facts}
    return _stated(case.settings, case.columns, case.rng)


def refuse(settings: Mapping[str, Any], columns: rules.Columns) -> None:
    """Raise an error if `answer` would reject the file or the settings. The posterior is not computed.

    Parameters
    ----------
    settings, columns : settings of the scenario and columns of its file.

    Raises
    ------
    ValueError, TypeError
        As `answer`.
    """
    release, _ = _stated(settings, columns, stream(0, "not used"))
    (counts if release.parents is None else trees).refuse(release, settings.get("prior"))


def _stated(
    settings: Mapping[str, Any], columns: rules.Columns, rng: np.random.Generator
) -> tuple[Release, dict[str, Any]]:
    """Return the release that the settings and the file specify, and a description of the origin of this release."""
    names, cells = rules.names(settings, columns), rules.cells(settings, columns)
    listed = np.array([np.nan if value is None else value for value, _ in cells], dtype=np.float64)
    whole = bool((np.isnan(listed) | (listed == np.floor(listed))).all())
    noise, ends = published_cells.censored(rules.noise(settings, columns, whole), cells, names)
    law = noise_of(settings, columns, noise)
    facts: dict[str, Any] = {"origin": "published"}
    if texts := published_cells.texts_of(cells, names):
        facts["published_as"] = texts
    if spent := spent_of(settings, columns):
        facts["cost"] = spent
        if replaced := replaced_of(spent, settings, columns):
            facts["cost_to_replace"] = replaced
    total = settings.get("total")
    if REHEARSAL in settings:
        total, facts["origin"] = int(listed.sum()), REHEARSAL
        listed = np.asarray(law.sample(listed.astype(np.int64), rng=rng), dtype=np.float64)
    if isinstance(total, Mapping):
        total = {"released": total["released"], "noise": law_of(_mapping(total["noise"]))}
    limits = settings.get("bounds")
    bounds = (limits.get("lower", 0), limits.get("upper", np.inf)) if limits else None
    if ends is not None:
        lower, upper = bounds or (0, np.inf)
        bounds = np.maximum(ends[0], lower), np.minimum(ends[1], upper)
    groups = _groups(settings, names, columns)
    shape: dict[str, Any] = {}
    if columns is not None and rules.is_tree(columns):
        shape = {"parents": rules.parents(columns), "levels": rules.levels(columns)}
    release = Release(listed, mechanism=law, names=names, total=total, bounds=bounds, groups=groups, **shape)
    return release, facts


def noise_of(settings: Mapping[str, Any], columns: rules.Columns, noise: Mapping[str, Any]) -> NoiseLaw:
    """Return the noise distribution of a scenario, with parameters that may differ between rows.

    Parameters
    ----------
    settings, columns : settings of the scenario and columns of its file.
    noise : noise distribution as settings; a scale that is given by a column is omitted.
    """
    words = dict(noise)
    for key in rules.stated_scales(columns):
        assert columns is not None
        unmeasured = [not value and "threshold" not in words for value in columns["value"]]
        free = unmeasured if rules.is_tree(columns) else [False] * len(unmeasured)
        if missing := [i + 1 for i, text in enumerate(columns[key]) if not text and not free[i]]:
            raise ValueError(f"{settings['file']}, column {key!r}: the cell in row {missing[0]} must not be empty")
        # the column is not read for a node without a measurement
        example = next((text for text in columns[key] if text), "1")
        words[key] = np.array([float(text or example) for text in columns[key]])
    if "file" in words:
        path = words.pop("file")
        table = csv_table.read(Path(path))
        read = file_columns.table_of_noise(table.columns)
        words["table"] = {name: table.numbers(column) for name, column in read.items()}
        words["table"]["true"] = table.whole(read["true"])
    return law_of(words)


def spent_of(settings: Mapping[str, Any], columns: rules.Columns = None) -> dict[str, Any]:
    """Return the privacy cost of the noise as a dictionary. The dictionary is empty if the cost is not known.

    The stated epsilon or rho is that of disjoint counts. In a tree, a record changes several counts, and their costs
    add up. If the total is stated, only the replacement of a record leaves the total unchanged.
    """
    noise = settings.get("noise", settings)
    keys = ("epsilon", "rho", "sensitivity", "relation")
    cost = {key: noise[key] for key in keys if isinstance(noise, Mapping) and key in noise}
    change = 1.0 if cost.get("relation") == ADD_OR_REMOVE else 2.0  # of disjoint counts; for rho, the squared L2 change
    if "sensitivity" in cost:
        change = float(cost["sensitivity"]) if "epsilon" in cost else round(float(cost["sensitivity"]) ** 2, 12)
    if relation := _RELATIONS.get(change):
        cost.setdefault("relation", relation)
    unit = next(iter({"epsilon", "rho"} & set(cost)), "")
    tree, total = rules.is_tree(columns), settings.get("total") is not None or REHEARSAL in settings
    if not unit or "relation" not in cost or not (tree or (total and cost["relation"] == ADD_OR_REMOVE)):
        return cost if unit else {}
    relation = REPLACE if total else cost["relation"]
    changed = _changed(columns, noise)[relation == REPLACE]
    return {unit: cost[unit] * changed / change, "relation": relation} if changed else {}


def replaced_of(
    cost: Mapping[str, Any], settings: Mapping[str, Any], columns: rules.Columns = None
) -> dict[str, float]:
    """Return the privacy cost of replacing a record. The dictionary is empty if `cost` is not the cost of adding or
    removing a record.

    Parameters
    ----------
    cost : result of `spent_of`.
    settings, columns : settings of the scenario and columns of its file.
    """
    if cost.get("relation") != ADD_OR_REMOVE:
        return {}
    added, replaced = _changed(columns, settings.get("noise", settings))
    return {unit: cost[unit] * replaced / added for unit in ("epsilon", "rho") if unit in cost}


def _changed(columns: rules.Columns, noise: Mapping[str, Any]) -> tuple[int, int]:
    """Return the largest number of measurements whose true counts change by 1 if one record is added or removed, and if
    one record is replaced. Without a tree, the counts are those of disjoint groups.
    """
    if columns is None or not rules.is_tree(columns):
        return 1, 2
    weights = dict.fromkeys(columns["name"], 0)
    for name, value in zip(columns["name"], columns["value"], strict=True):
        weights[name] += bool(value) or "threshold" in noise
    depths, above = rules.depths(columns), rules.parents(columns)
    place = {name: node for node, name in enumerate(weights)} | {None: -1}
    shape = Hierarchy([place[above[name]] for name in weights], [depths[name] for name in weights])
    added, replaced = shape.largest_sums(list(weights.values()))
    return round(added), round(replaced)


_RELATIONS = {1.0: ADD_OR_REMOVE, 2.0: REPLACE}  # neighbouring relation by the L1 change, or squared L2 change


def _mapping(noise: Any) -> dict[str, Any]:
    return {"law": noise} if isinstance(noise, str) else dict(noise)


def _groups(settings: Mapping[str, Any], names: list[str], columns: rules.Columns) -> list[str] | None:
    """Return the group of every count, or None if there are no groups. A separate prior is fitted to each group."""
    if columns is not None and "group" in columns:
        return list(columns["group"])
    if "groups" not in settings:
        return None
    of = {name: group for group, members in settings["groups"].items() for name in members}
    if missing := [name for name in names if name not in of]:
        raise ValueError(f"groups: the count {missing[0]!r} must be in one of the groups")
    return [of[name] for name in names]


_LISTED = 1000  # maximum number of names in the metadata of a tree
_WIDEST = 200  # maximum number of nodes in a question to which least-squares estimates are added


def tree_rows(law: TreeLaw, level: float) -> pd.DataFrame:
    """Return one row per node of a tree, with the columns of a scenario's results table and the columns `BESIDE`.

    Parameters
    ----------
    law : joint posterior of all counts.
    level : probability of the intervals.

    Returns
    -------
    DataFrame
        The column `released` is empty if a node has no measurement or several measurements.
    """
    tree, measured = law.tree, law.measurements
    released = np.full(len(tree), np.nan)
    released[measured.nodes] = measured.released
    released[np.bincount(measured.nodes, minlength=len(tree)) > 1] = np.nan
    mean, sd, lower, upper = law.numbers(level)
    frame = pd.DataFrame({"quantity": list(tree.names), "released": released, "mean": mean, "sd": sd})
    frame = frame.assign(lower=lower, upper=upper, type="count", level=level)
    frame = frame.assign(status=law.accuracy.status, error=law.accuracy.error)[list(COLUMNS)]
    least = law.least_squares
    known = np.isfinite(least.sd)
    frame["tree_level"] = [tree.levels[d] for d in tree.depth]
    frame["least_squares"] = np.where(known, least.estimate, np.nan)
    frame["least_squares_sd"] = np.where(known, least.sd, np.nan)
    return frame


def tree_facts(law: TreeLaw, published: Collection[str] = ()) -> dict[str, Any]:
    """Return metadata about a tree: the number of nodes and the number of measurements at each level, and the prior.

    Parameters
    ----------
    law : joint posterior of all counts.
    published : names of the counts that are published as bounds.
    """
    tree = law.tree
    nodes = np.bincount(tree.depth, minlength=len(tree.levels)).tolist()
    seen = np.bincount(tree.depth[law.measurements.nodes], minlength=len(tree.levels)).tolist()
    times = np.bincount(law.measurements.nodes, minlength=len(tree))
    description: dict[str, Any] = {
        "root": tree.names[int(np.argmin(tree.depth))],
        "levels": [
            {"level": name, "nodes": n, "measurements": m} for name, n, m in zip(tree.levels, nodes, seen, strict=True)
        ],
        "measured_more_than_once": int((times > 1).sum()),
        "several": [tree.names[i] for i in np.flatnonzero(times > 1)[:_LISTED]],
        "not_measured": sum(tree.names[i] not in published for i in np.flatnonzero(times == 0)),
    }
    prior: Any = law.facts["prior"]
    if "concentrations" in law.facts:
        prior = {**prior, "concentrations": law.facts["concentrations"], "fitted_on": law.facts.get("fitted_on")}
    return {"tree": description, "prior": prior, "least_squares": {}}  # the least-squares estimates are in the table


def beside_questions(table: pd.DataFrame, questions: Mapping[str, Any], law: TreeLaw) -> pd.DataFrame:
    """Add least-squares estimates to the answers about sums and differences of counts in the results table of a
    scenario.

    Parameters
    ----------
    table : table of a scenario, with the columns `BESIDE`.
    questions : dictionary of the questions by name.
    law : joint posterior of all counts.

    Returns
    -------
    DataFrame
        The answers to other questions have no least-squares estimates.
    """
    extended = table.copy()
    for name, asked in questions.items():
        weights = _weights(asked)
        matches = extended.index[(extended["type"] == "question") & (extended["quantity"] == name)]
        if weights is None or len(weights) > _WIDEST or len(matches) != 1:
            continue
        extended.loc[matches[0], list(BESIDE[1:])] = combined(law.least_squares, weights)
    return extended


def combined(least: LeastSquares, weights: Mapping[str, float]) -> tuple[float, float]:
    """Return the least-squares estimate of a weighted sum of counts, and the standard deviation of the estimate. Both
    are NaN if the measurements do not determine one of the counts.

    Parameters
    ----------
    least : least-squares estimates of the tree.
    weights : dictionary from the names of nodes to their weights.
    """
    coefficients = {least.tree.position(name): weight for name, weight in weights.items()}
    variance = sum(
        coefficients[i] * coefficients[j] * least.covariance(i, j) for i, j in product(coefficients, coefficients)
    )
    return float(sum(w * least.estimate[i] for i, w in coefficients.items())), float(np.sqrt(max(variance, 0.0)))


def _weights(asked: Mapping[str, Any]) -> dict[str, float] | None:
    """Return a mapping from counts to their weights in a question about a sum or a difference, or None for any other
    question.
    """
    if asked.get("about", "counts") != "counts" or not {"sum", "difference"} & set(asked):
        return None
    parts = [(1.0, asked["sum"])] if "sum" in asked else list(zip((1.0, -1.0), asked["difference"], strict=True))
    weights: dict[str, float] = {}
    for weight, side in parts:
        for name in _side(side):
            weights[name] = weights.get(name, 0.0) + weight
    return weights


def _side(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
