"""The posterior of all counts of a tree of totals, given noisy measurements of any of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _checks
from ..._honesty import LEVEL
from . import _fitting, _multipliers, _prior_sites, _solver
from ._likelihoods import REACH
from ._solver import ENOUGH, Solved
from ._tree_law import TreeLaw as TreeLaw
from .measurements import Measurements
from .priors import Leaves, Splits
from .sites import Lists
from .tree import Tree

REACHES = (REACH, 30 * REACH, 1000 * REACH)


def infer(
    measurements: Measurements,
    *,
    prior: Splits | Leaves | None = None,
    level: float = LEVEL,
    deepest: str | None = None,
) -> TreeLaw:
    """The posterior of every count.

    Parameters
    ----------
    measurements : released values and their tree.
    prior : `Splits` (the default, its concentrations fitted) or independent `Leaves`.
    level : of the intervals, in (0, 1).
    deepest : name of the deepest level whose counts are asked for; all levels by default.

    Returns
    -------
    TreeLaw

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, exact counts or bounds contradict each other, or a count has no end.

    Notes
    -----
    Exact: sums over all counts by messages (`_sum_product`), with a bound of what their windows neglect, stated as
    error. O(nodes x width^2) for windows of width about 20 standard deviations of the noise.
    """
    tree = measurements.tree
    _checks.inside("level", level)
    deep = len(tree.levels) - 1 if deepest is None else tree.level(deepest)
    chosen = Splits() if prior is None else prior
    if not isinstance(chosen, Splits | Leaves):
        raise TypeError(f"prior must be Splits or Leaves, got {prior!r}")
    for reach in REACHES:  # further, where measurements contradict each other so much that lists end too early
        try:
            found = _solved(measurements, chosen, reach)
        except ValueError:
            if reach == REACHES[-1] or not measurements.listed:
                raise
        else:
            if found[0].bound <= ENOUGH or not measurements.listed:
                break
    solved, constant, settled, facts = found
    return TreeLaw(measurements, solved, settled, solved.log_evidence + constant, level, deep, facts)


def _solved(
    measurements: Measurements, prior: Splits | Leaves, reach: float
) -> tuple[Solved, float, Splits | Leaves, dict[str, object]]:
    """Messages; what the log evidence has beyond theirs; the prior with everything fitted; facts."""
    tree = measurements.tree
    sites, lists, constant = measurements.weigh(reach)
    facts: dict[str, object] = {"prior": prior.words()}
    if isinstance(prior, Splits):
        by_level = prior.by_level(tree)
        if by_level is None and len(tree) > 1:
            fit = _fitting.concentrations(
                tree,
                lambda part, kept: (measurements if part is tree else measurements.within(part, kept)).weigh(reach),
            )
            by_level = fit.by_level
            facts["fitted_on"] = {"nodes": fit.nodes, "of": len(tree), "evaluations": fit.evaluations}
        values = np.ones(len(tree.levels)) if by_level is None else by_level
        constant += _prior_sites.split(sites, tree, values)
        facts["concentrations"] = dict(zip(tree.levels[1:], values[1:].tolist(), strict=True))
        prior = Splits(values[1:].tolist()) if len(tree) > 1 else prior
    else:
        prior = _with_fitted(measurements, prior, sites, lists)
        constant += _assume(prior, tree, sites, lists)
        facts["prior"] = prior.words()
    return _solver.solve(tree, sites, lists.joined()), constant, prior, facts


def _assume(prior: Leaves, tree: Tree, sites: NDArray[Any], lists: Lists) -> float:
    names, groups = prior.rows(tree)
    return sum(
        _prior_sites.assume(sites, lists, tree, prior.of(name), np.flatnonzero(groups == i))
        for i, name in enumerate(names)
    )


def _with_fitted(measurements: Measurements, prior: Leaves, sites: NDArray[Any], lists: Lists) -> Leaves:
    """The same with every fitted prior found."""
    tree = measurements.tree
    names, groups = prior.rows(tree)
    fitted = [i for i, name in enumerate(names) if prior.of(name) == "fitted"]
    if not fitted:
        return prior
    own, space = sites.copy(), lists.copied()
    for i, name in enumerate(names):
        if i not in fitted:
            _prior_sites.assume(own, space, tree, prior.of(name), np.flatnonzero(groups == i))
    reach = _multipliers.reach(tree.above, sites)[tree.place]
    last = float(reach[np.isin(groups, fitted)].max())
    found = _fitting.histograms(tree, own, space, groups, names, fitted, last)
    return prior.replaced({name: found[i] if i in found else prior.of(name) for i, name in enumerate(names)})
