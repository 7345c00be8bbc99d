"""Exact posterior distribution of all counts of a tree of totals, given noisy measurements of any subset of the counts.

Parameters of the prior (the concentrations of splits, or the histograms of leaves) are fitted by maximising the exact
evidence of a tree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from ... import _checks
from ..._accuracy import LEVEL
from ..._printing import steps
from . import _sites, _solver
from ._solver import ENOUGH, Solved
from ._tree_law import TreeLaw as TreeLaw
from .measurements import REACH, Lists, Measurements, assume_prior, multiply_splits, split_takers
from .tree import FEWEST, Histogram, Leaves, Splits, Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
ROUGH = 1e-9  # fraction of a message that may be truncated while a prior is fitted
ROUGH_GOAL = 1e-3  # goal for the error bound of the log evidence during fitting
RANGE = (1e-3, 1e4)  # limits of a concentration
WEAK = 2.0  # standard deviation of the weak normal prior of the log of a concentration, for levels with few nodes
ASIDE = 0.3  # difference of log concentrations for second derivatives
LONGEST = 1.5  # longest step of a log concentration
MOST_STEPS = 20
WALL = 1e3  # penalty on the log evidence if it cannot be computed
ENOUGH_EVIDENCE = 0.02  # gain in log evidence below which the search stops
MOST_NODES = 4000  # largest number of nodes of a level used to fit concentrations
ROUNDS = 15  # number of iterations for a histogram
WIDER = 1.4  # ratio of widths of consecutive cells of a histogram
SINGLE = 6  # number of counts with separate cells


@dataclass(frozen=True)
class FittedSplits:
    """Fitted concentration parameters of the splits of counts, one for every level of a tree, with details of the fit.

    Parameters
    ----------
    by_level : float64 (levels,); the entry of the root is 1 and not used.
    nodes : number of nodes used in the fit.
    evaluations : number of evaluations of the evidence, including evaluations for a smaller part of a large tree.
    """

    by_level: Array
    nodes: int
    evaluations: int


def concentrations(tree: Tree, weigh: Callable[[Tree, Whole], tuple[NDArray[Any], Lists, float]]) -> FittedSplits:
    """Return the fitted concentration parameters of the prior in which the count of every node is split among its
    children. These parameters maximise the evidence times a weak normal prior on their logarithms.

    Parameters
    ----------
    tree : the nodes.
    weigh : function from (tree, positions of its nodes in `tree`) to sites, lists and constant of their measurements
        and bounds.

    Returns
    -------
    FittedSplits
        For a large tree, the fit uses the evidence of a part: complete families of every level, evenly spaced, without
        the nodes below families that are not in the part. The omitted part of the prior integrates to 1, so the result
        is the exact evidence given fewer measurements. A family that is larger than the part is represented by some of
        its children and by the sum of its other children, with the sum of their concentrations.
    """
    try:
        return _concentrations(tree, weigh, MOST_NODES)
    except _solver.Unsolved:
        if max(np.bincount(tree.parent + 1)[1:], default=0) <= MOST_NODES // 4:
            raise
        return _concentrations(tree, weigh, len(tree))  # the sum of many siblings may be too wide


def _concentrations(
    tree: Tree, weigh: Callable[[Tree, Whole], tuple[NDArray[Any], Lists, float]], most: int
) -> FittedSplits:
    """Return the fitted concentration parameters of the prior in which the count of every node is split among its
    children. They are computed from a part of the tree with at most `most` nodes on every level.
    """
    part, kept = thinned(tree, most)
    evidence, calls = _Evidence(part, *weigh(part, kept)[:2], len(tree.levels) - 1), 0
    start = bend = None
    if len(part) < len(tree):  # first fit a quarter of the part, for a starting point
        few, kept = thinned(tree, most // 4)
        rough = _Evidence(few, *weigh(few, kept)[:2], evidence.levels)
        start, bend = _lowest(rough)
        more = np.sqrt(np.bincount(part.depth)[1:] / np.bincount(few.depth)[1:])
        weak = np.eye(len(start)) / WEAK**2
        bend, calls = weak + np.outer(more, more) * (bend - weak), rough.calls
    logs = _lowest(evidence, start, bend)[0]
    return FittedSplits(np.concatenate([[1.0], np.exp(logs)]), len(part), evidence.calls + calls)


def _lowest(evidence: "_Evidence", x: Array | None = None, bend: Array | None = None) -> tuple[Array, Array]:
    """Minimise the negative log evidence by quasi-Newton steps, and return the minimiser and the curvature. By default,
    the search starts at concentrations 1, with a curvature computed from differences of gradients.
    """
    x = np.zeros(evidence.levels) if x is None else x
    value, slope = evidence.cost(x)
    fresh = False
    if bend is None:
        bend = _curvature(evidence, x, slope, np.arange(len(x)))
    for _ in steps(range(MOST_STEPS), MOST_STEPS, "steps of a fit at most"):
        step = _step(x, slope, bend)
        if -float(slope @ step) < ENOUGH_EVIDENCE:
            steep = np.flatnonzero(slope**2 > ENOUGH_EVIDENCE)
            if fresh or not len(steep):
                break
            bend[steep] = _curvature(evidence, x, slope, steep)  # the curvature was computed at another point
            bend[:, steep] = bend[steep].T
            fresh = True
            continue
        fresh = False
        new, turned = evidence.cost(x + step)
        change = turned - slope
        along = bend @ step
        if (grown := float(change @ step)) > 1e-8 * float(step @ step):
            bend = bend + np.outer(change, change) / grown - np.outer(along, along) / float(step @ along)
        else:
            bend = bend * 2.0
        if new < value:
            x, value, slope = x + step, new, turned
    return x, bend


def _curvature(evidence: "_Evidence", x: Array, slope: Array, rows: Whole) -> Array:
    """Return rows of the Hessian matrix of the negative log evidence, computed from differences of gradients."""
    units = np.eye(len(x))[rows]
    return np.array([(evidence.cost(x + ASIDE * unit)[1] - slope) / ASIDE for unit in units])


def _step(x: Array, slope: Array, bend: Array) -> Array:
    """Return a descent step of the log concentrations that is at most `LONGEST` long and stays within `RANGE`."""
    size, axes = np.linalg.eigh((bend + bend.T) / 2)
    step = -axes @ ((axes.T @ slope) / np.maximum(np.abs(size), WEAK**-2))
    step *= min(1.0, LONGEST / float(np.abs(step).max(initial=1e-300)))
    return np.asarray(np.clip(x + step, *np.log(RANGE)) - x)


class _Evidence:
    """Log evidence of a tree and its derivatives, as functions of the concentrations of the splits."""

    def __init__(self, tree: Tree, sites: NDArray[Any], lists: Lists, levels: int) -> None:
        self.tree, self.sites, self.tables, self.levels = tree, sites, lists.joined(), levels
        self.takers = split_takers(tree)
        self.tilts: Array | None = None
        self.calls = 0
        self.best: tuple[float, Array] | None = None

    def cost(self, logs: Array) -> tuple[float, Array]:
        """Return the objective function and its derivatives at given logarithms of the concentration parameters. The
        objective function is minus the log evidence minus the log of the weak prior.

        If no messages can be computed, the cost is a quadratic penalty around the best point so far.
        """
        self.calls += 1
        weighted_sites = self.sites.copy()
        constant = multiply_splits(weighted_sites, self.tree, np.concatenate([[1.0], np.exp(logs)]))
        try:
            solved = _solver.solve(
                self.tree, weighted_sites, self.tables, goal=ROUGH_GOAL, drop=ROUGH, start=self.tilts, blind=False
            )
        except _solver.Unsolved:
            if self.best is None:
                raise
            gap = logs - self.best[1]
            return self.best[0] + WALL * (1 + float(gap @ gap)), 2 * WALL * gap
        digammas = np.asarray(solved.messages.down(self.tree.count > 0, 0.25, digammas=True)[1])
        slope = _slope(self.tree, self.takers, np.exp(logs), digammas[self.tree.place])
        value = -(solved.log_evidence + constant) + 0.5 * float((logs**2).sum()) / WEAK**2
        if self.best is None or value < self.best[0]:
            self.best, self.tilts = (value, logs.copy()), solved.tilts
        return value, logs / WEAK**2 - slope


def _slope(tree: Tree, takers: NDArray[np.bool_], values: Array, digammas: Array) -> Array:
    """Return the derivatives of the log evidence of a tree with respect to the logs of the concentrations. The
    derivatives are the expected digamma values minus the digamma values of the prior.
    """
    out = np.zeros(len(values))
    kin = np.bincount(tree.parent[takers], tree.members[takers], minlength=len(tree))
    for depth in range(1, len(values) + 1):
        a = values[depth - 1]
        children = np.flatnonzero(takers & (tree.depth == depth))
        size = tree.members[children]
        parents = np.flatnonzero((tree.depth == depth - 1) & (kin > 0))
        k = kin[parents]
        weighted_sum = (k * (digamma(k * a) - digammas[parents, 1])).sum()
        out[depth - 1] = a * (weighted_sum + (size * (digammas[children, 0] - digamma(size * a))).sum())
    return out


def thinned(tree: Tree, most: int) -> tuple[Tree, Whole]:
    """Return a part of a large tree, and the positions that the nodes of this part have in the full tree. The part
    contains complete families of every level, evenly spaced, up to `most` nodes. If a family is larger, the part
    contains `most` of its children and, after all other nodes, one node for the sum of the remaining children.
    """
    if max(np.bincount(tree.depth)) <= most:
        return tree, np.arange(len(tree))
    keep = np.zeros(len(tree), dtype=bool)
    keep[tree.root] = True
    sizes = np.bincount(tree.parent[tree.parent >= 0], minlength=len(tree))
    takers, rests = split_takers(tree), []
    for depth in range(len(tree.levels) - 1):
        parents = np.flatnonzero(keep & (tree.depth == depth) & (sizes > 0))
        total = int(sizes[parents].sum())
        if total > most:
            parents = parents[:: -(-total // most)]
        chosen = np.zeros(len(tree), dtype=bool)
        chosen[parents] = True
        keep |= (tree.parent >= 0) & chosen[tree.parent]
        for row in parents[sizes[parents] > most].tolist():
            family = np.flatnonzero(tree.parent == row)
            left = np.ones(len(family), dtype=bool)
            left[:: -(-len(family) // most)] = False
            keep[family[left]] = False
            rests += [(row, n)] if (n := int(takers[family[left]].sum())) else []
    kept = np.flatnonzero(keep)
    place = np.cumsum(keep) - 1
    above = np.where(tree.parent[kept] >= 0, place[tree.parent[kept]], -1)
    upper = tree.upper[kept].astype(np.float64)
    upper[tree.upper[kept] == np.iinfo(np.int64).max] = np.inf
    more = len(rests)
    part = Tree(
        [*above, *(place[row] for row, _ in rests)],
        names=[*(tree.names[i] for i in kept), *(f"{n} other children of {tree.names[row]}" for row, n in rests)],
        lower=np.append(tree.lower[kept], np.zeros(more)),
        upper=np.append(upper, np.full(more, np.inf)),
        members=[*np.ones(len(kept), dtype=np.int64), *(n for _, n in rests)],
    )
    return part, kept


def histograms(
    tree: Tree, sites: NDArray[Any], lists: Lists, groups: Whole, names: list[str], fitted: list[int], last: float
) -> dict[int, Histogram]:
    """Fit histogram priors to groups of leaves by the EM algorithm. The expected numbers of leaves per cell include one
    additional leaf with prior 1/(1+n).

    Parameters
    ----------
    tree : the nodes.
    sites, lists : weights of the nodes, without the fitted priors.
    groups : int64 (n,), group of every leaf, -1 elsewhere.
    names : names of the groups, for error messages.
    fitted : groups whose priors are fitted.
    last : largest count for which there are cells.

    Returns
    -------
    dict
        Mapping from each group to its prior.

    Raises
    ------
    ValueError
        If a group has fewer than `FEWEST` leaves.
    """
    edges = grid(last)
    for group in fitted:
        if (size := int((groups == group).sum())) < FEWEST:
            called = f" of group {names[group]!r}" if names[group] else ""
            raise ValueError(
                f"fitting a prior requires at least {FEWEST} leaves, got {size} leaves{called}: choose another "
                "prior, such as 1/(1+n)"
            )
    base = np.log(edges[1:]) - np.log(np.maximum(edges[:-1], 0.5))
    priors = {group: Histogram(edges, base, fitted_on=int((groups == group).sum())) for group in fitted}
    rows = np.full(len(tree.order), -1, dtype=np.int64)
    rows[tree.place] = np.where(np.isin(groups, fitted), groups, -1)
    before, tilts = -np.inf, None
    for _ in steps(range(ROUNDS), ROUNDS, "steps of a fit at most"):
        fitted_sites, constant = sites.copy(), 0.0
        space = lists.copied()
        for group, prior in priors.items():
            constant += assume_prior(fitted_sites, space, tree, prior, np.flatnonzero(groups == group))
        solved = _solver.solve(
            tree, fitted_sites, space.joined(), goal=ROUGH_GOAL, drop=ROUGH, start=tilts, blind=False
        )
        tilts = solved.tilts
        masses = np.asarray(solved.messages.down(tree.count > 0, 0.25, groups=rows, edges=edges)[2])
        for group in fitted:
            counted = masses[group] + base / base.sum()
            priors[group] = Histogram(edges, counted, fitted_on=priors[group].fitted_on)
        if solved.log_evidence + constant < before + ENOUGH_EVIDENCE:
            break
        before = solved.log_evidence + constant
    return priors


def grid(last: float) -> Whole:
    """Return the bin edges of a histogram of counts, which cover all counts up to at least `last`. The first bins
    contain a single count 0, 1, .., and are followed by bins of increasing width.
    """
    edges = list(range(SINGLE + 1))
    while edges[-1] <= last:
        edges.append(int(np.ceil(edges[-1] * WIDER)))
    return np.array(edges, dtype=np.int64)


REACHES = (REACH, 30 * REACH, 1000 * REACH)


def infer(
    measurements: Measurements,
    *,
    prior: Splits | Leaves | None = None,
    level: float = LEVEL,
    deepest: str | None = None,
) -> TreeLaw:
    """Compute the posterior distribution of every count of a tree.

    Parameters
    ----------
    measurements : released values and their tree.
    prior : `Splits` (the default, with fitted concentrations) or independent `Leaves`.
    level : probability of the intervals, in (0, 1).
    deepest : name of the deepest level whose counts are requested; by default all levels.

    Returns
    -------
    TreeLaw

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, exact counts or bounds are inconsistent, or a count is unbounded.

    Notes
    -----
    The result is exact: all counts are summed over by messages (`_sum_product`). The upper bound on the probability
    mass that the windows of the messages neglect is reported as the error. The cost is O(nodes x width^2) for windows
    of about 20 standard deviations of the noise.
    """
    measurements = measurements.arranged()
    tree = measurements.tree
    _checks.inside("level", level)
    deep = len(tree.levels) - 1 if deepest is None else tree.level(deepest)
    chosen = Splits() if prior is None else prior
    if not isinstance(chosen, Splits | Leaves):
        raise TypeError(f"prior must be Splits or Leaves, got {prior!r}")
    for reach in REACHES:  # extend the lists if they end too early, because measurements contradict each other strongly
        try:
            solution = _solved(measurements, chosen, reach)
        except ValueError:
            if reach == REACHES[-1] or not measurements.listed:
                raise
        else:
            if solution[0].bound <= ENOUGH or not measurements.listed:
                break
    solved, constant, settled, facts = solution
    return TreeLaw(measurements, solved, settled, solved.log_evidence + constant, level, deep, facts)


def _solved(
    measurements: Measurements, prior: Splits | Leaves, reach: float
) -> tuple[Solved, float, Splits | Leaves, dict[str, object]]:
    """Return the messages of the tree, the part of the log evidence that is not contained in the messages, the prior
    with its fitted parameters, and a dict that describes the fit.
    """
    tree = measurements.tree
    sites, lists, constant = measurements.weigh(reach)
    facts: dict[str, object] = {"prior": prior.settings()}
    if isinstance(prior, Splits):
        by_level = prior.by_level(tree)
        if by_level is None and len(tree) > 1:
            fit = concentrations(
                tree,
                lambda part, kept: measurements.weigh_part(part, kept, reach),
            )
            by_level = fit.by_level
            facts["fitted_on"] = {"nodes": fit.nodes, "of": len(tree), "evaluations": fit.evaluations}
        values = np.ones(len(tree.levels)) if by_level is None else by_level
        constant += multiply_splits(sites, tree, values)
        facts["concentrations"] = dict(zip(tree.levels[1:], values[1:].tolist(), strict=True))
        prior = Splits(values[1:].tolist()) if len(tree) > 1 else prior
    else:
        prior = _with_fitted(measurements, prior, sites, lists)
        constant += _assume(prior, tree, sites, lists)
        facts["prior"] = prior.settings()
    return _solver.solve(tree, sites, lists.joined()), constant, prior, facts


def _assume(prior: Leaves, tree: Tree, sites: NDArray[Any], lists: Lists) -> float:
    names, groups = prior.rows(tree)
    return sum(
        assume_prior(sites, lists, tree, prior.of(name), np.flatnonzero(groups == i)) for i, name in enumerate(names)
    )


def _with_fitted(measurements: Measurements, prior: Leaves, sites: NDArray[Any], lists: Lists) -> Leaves:
    """Return a copy of the prior in which all priors to be fitted are replaced by the fitted priors."""
    tree = measurements.tree
    names, groups = prior.rows(tree)
    fitted = [i for i, name in enumerate(names) if prior.of(name) == "fitted"]
    if not fitted:
        return prior
    weighted_sites, space = sites.copy(), lists.copied()
    for i, name in enumerate(names):
        if i not in fitted:
            assume_prior(weighted_sites, space, tree, prior.of(name), np.flatnonzero(groups == i))
    reach = _sites.reach(tree.above, sites)[tree.place]
    last = float(reach[np.isin(groups, fitted)].max())
    fits = histograms(tree, weighted_sites, space, groups, names, fitted, last)
    return prior.replaced({name: fits[i] if i in fits else prior.of(name) for i, name in enumerate(names)})
