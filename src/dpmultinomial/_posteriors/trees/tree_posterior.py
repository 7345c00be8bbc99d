"""Exact posterior distribution of all counts of a tree of totals, given noisy measurements of any subset of the counts.

Parameters of the prior (the concentrations of splits, or the histograms of leaves) are fitted by maximising the exact
evidence of a tree.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln

from ... import _checks
from ..._accuracy import LEVEL
from ..._printing import steps
from ..._results.convolutions import Unlisted
from . import _sites, _solver
from ._solver import ENOUGH, Mixture, Solved, mixture
from ._tree_law import NodePair, Rows, sized, sized_as
from ._tree_law import TreeLaw as TreeLaw
from .measurements import FAR, REACH, Lists, Measurements, assume_prior, multiply_splits, split_takers
from .tree import FEWEST, NONE, WIDEST, Histogram, Leaves, Splits, Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
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
    """Fitted concentrations of the Dirichlet-multinomial priors of the counts of children, one per level of the tree.

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
    """Return rows of the Hessian matrix of the negative log evidence, computed from finite differences of gradients."""
    units = np.eye(len(x))[rows]
    return np.array([(evidence.cost(x + ASIDE * unit)[1] - slope) / ASIDE for unit in units])


def _step(x: Array, slope: Array, bend: Array) -> Array:
    """Return a descent step of at most `LONGEST` per log concentration that keeps all concentrations in `RANGE`."""
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
            solved = _solver.rough(self.tree, weighted_sites, self.tables, self.tilts)
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
    """Return a part of a large tree, and the positions of its nodes in the full tree. The part contains complete
    families of every level, evenly spaced, up to `most` nodes. If a family is larger, the part contains `most` of its
    children and, after all other nodes, one node for the sum of the remaining children.
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
        enough(int((groups == group).sum()), names[group])
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
        solved = _solver.rough(tree, fitted_sites, space.joined(), tilts)
        tilts = solved.tilts
        masses = np.asarray(solved.messages.down(tree.count > 0, 0.25, groups=rows, edges=edges)[2])
        for group in fitted:
            counted = masses[group] + base / base.sum()
            priors[group] = Histogram(edges, counted, fitted_on=priors[group].fitted_on)
        if solved.log_evidence + constant < before + ENOUGH_EVIDENCE:
            break
        before = solved.log_evidence + constant
    return priors


def enough(size: int, group: str) -> None:
    """Raise an error if a group has too few leaves to fit a prior.

    Parameters
    ----------
    size : number of leaves.
    group : name of the group, or empty.
    """
    if size < FEWEST:
        called = f" in group {group!r}" if group else ""
        raise ValueError(
            f"fitting a prior requires at least {FEWEST} leaves, got {size}{called}: choose another prior, such "
            "as 1/(1+n)"
        )


def grid(last: float) -> Whole:
    """Return the bin edges of a histogram of counts. The bins cover all counts up to at least `last`. The first bins
    contain a single count 0, 1, .., and are followed by bins of increasing width.
    """
    edges = list(range(SINGLE + 1))
    while edges[-1] <= last:
        edges.append(int(np.ceil(edges[-1] * WIDER)))
    return np.array(edges, dtype=np.int64)


def is_star(measurements: Measurements) -> bool:
    """Return whether the function `mixture` computes the posterior distribution of a tree. In this case, all nodes
    except the root are leaves, the root has no measurement and no bound, and there are more than `WIDEST` leaves.
    """
    tree = measurements.tree
    root = tree.root
    plain = tree.upper[root] == NONE and tree.lower[root] == 0 and not (measurements.nodes == root).any()
    return bool(plain and len(tree.levels) == 2 and len(tree) > WIDEST + 1 and (tree.members == 1).all())


def _star(measurements: Measurements, prior: Splits, reach: float, level: float, deepest: int) -> "StarLaw | None":
    """Return the posterior distribution of a star (a root and leaves). Return None if too few leaves are measured, if a
    leaf has only a lower bound, or if the concentration is too small.
    """
    tree = measurements.tree
    sites, lists, constant = measurements.weigh(reach)
    _solver.consistent(tree, sites) if len(measurements.nodes) == 0 else None
    weights, tables = sites[tree.place], lists.joined()
    takers = split_takers(tree)
    held = (weights["square"] > 0) | (weights["absolute"] > 0) | (weights["table"] >= 0) | (weights["upper"] < FAR)
    if (takers & ~held & (weights["lower"] > 0)).any():
        return None  # a leaf that has only a lower bound has no closed form
    seen = np.flatnonzero(takers & held)
    given = prior.by_level(tree)
    if len(seen) <= WIDEST or (given is not None and given[1] * len(seen) <= LEAST_SHARES):
        return None
    facts: dict[str, object] = {"prior": prior.settings()}
    if given is None:
        part = weights[seen[:: -(-len(seen) // MOST_NODES)]]
        value, calls = _star_concentration(part, tables)
        facts["fitted_on"] = {"nodes": len(part) + 1, "of": len(tree), "evaluations": calls}
        given = np.array([1.0, value])
    constant += multiply_splits(sites, tree, given)
    facts["concentrations"] = {tree.levels[1]: float(given[1])}
    weights = sites[tree.place]
    distinct, times = _distinct(weights[seen])[::2]
    found = mixture(distinct, tables, times, float(given[1]))
    left = int(takers.sum()) - len(seen)
    constant += left * float(gammaln(given[1])) - float(gammaln(given[1] * int(takers.sum()) - 1.0))
    return StarLaw(
        measurements,
        found,
        (weights, tables),
        Splits([float(given[1])]),
        found.log_evidence + constant,
        level,
        deepest,
        facts,
    )


def _distinct(weights: NDArray[Any]) -> tuple[NDArray[Any], Whole, Whole]:
    """Return the distinct weights of leaves, the index of every leaf's weight, and the number of leaves per weight."""
    _, first, which, times = np.unique(
        np.ascontiguousarray(weights).view(f"V{weights.dtype.itemsize}"),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    return np.ascontiguousarray(weights[first]), which, times


def _star_concentration(weights: NDArray[Any], tables: Array) -> tuple[float, int]:
    """Return the concentration that maximises the evidence of a star times a weak normal prior density of the log
    concentration. Also return the number of evaluations. For measurements of a part of the leaves, the evidence is
    exact: a flat prior of the sum of all counts implies a flat prior of the sum of any of the counts.
    """
    distinct, _, times = _distinct(weights)
    size = len(weights)

    def cost(log: float) -> float:
        a = float(np.exp(log))
        distinct["own"], distinct["others"] = a, 1.0
        found = mixture(distinct, tables, times, a, bounded=False)
        constant = gammaln(size * a) - gammaln(size * a - 1.0) - size * gammaln(a)
        return float(0.5 * log**2 / WEAK**2 - found.log_evidence - constant)

    ends = np.log(max(RANGE[0], LEAST_SHARES / size)), np.log(RANGE[1])
    best = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 5e-3})
    return float(np.exp(best.x)), int(best.nfev)


SHIFT = 10.0  # largest change of a tilt times the half-width of a distribution that is tilted
FEW_FREQUENCIES = 300  # number of frequencies above which fast Fourier transforms are used
ROWS = 64  # number of leaves whose characteristic functions are computed together
LEAST_SHARES = 1.1  # smallest concentration times the number of leaves of a star
MOST_PARTS = 5e7  # largest number of values of the distributions of one leaf at all nodes of the quadrature rule


class StarLaw(TreeLaw):
    """Posterior distribution of all counts of a star, computed from a `Mixture`.

    Parameters
    ----------
    measurements, prior, log_evidence, level, deepest, facts : arguments of `TreeLaw`.
    found : posterior of the shares.
    leaves : weights of all nodes, in the order of the tree, and the log weights to which they point.
    """

    method = "mixture of independent counts"

    def __init__(
        self,
        measurements: Measurements,
        found: Mixture,
        leaves: tuple[NDArray[Any], Array],
        prior: Splits,
        log_evidence: float,
        level: float,
        deepest: int,
        facts: dict[str, object],
    ) -> None:
        self._found = found
        self._weights, self._tables = leaves
        self._nodes = np.flatnonzero(measurements.tree.leaf)
        self._distinct, which, self._times = _distinct(self._weights[self._nodes])
        self._which = np.full(len(measurements.tree), -1, dtype=np.int64)
        self._which[self._nodes] = which
        try:
            self._each = _sites.sums(self._distinct, self._tables, found.tilts, _solver.FALL, np.inf)
        except OverflowError:
            raise _solver.Unsolved(_solver.too_many(np.inf)) from None
        widths = self._each[..., 5].max(axis=1) - self._each[..., 4].min(axis=1) + 1.0
        if widths.max() * len(found.tilts) > MOST_PARTS:
            name = measurements.tree.names[self._nodes[np.argmax(which == np.argmax(widths))]]
            raise _solver.Unsolved(
                f"the root is not measured, and the leaf {name!r} has about {widths.max():.2g} possible counts, more "
                f"than the limit of {MOST_PARTS / len(found.tilts):.2g}: measure this leaf, or set an upper bound on it"
            )
        self._settle(measurements, found.bound, prior, log_evidence, level, deepest, facts)

    def numbers(self, level: float) -> tuple[Array, Array, Array, Array]:
        """Return the posterior means, standard deviations and ends of central intervals of the counts of all nodes,
        each as a float64 array of shape (n,). See `TreeLaw.numbers`.
        """
        tail = (1 - _checks.inside("level", level)) / 2
        out = np.full((len(self.tree), 4), np.nan)
        if self._deepest > 0:
            each = np.array([_sites.interval(p, low, tail) for low, p in map(self._mixed, range(len(self._distinct)))])
            out[self._nodes] = each[self._which[self._nodes]]
        low, p = self._root
        out[self.tree.root] = _sites.interval(p.copy(), low, tail)
        mean, sd, lower, upper = np.ascontiguousarray(out.T)
        return mean, sd, lower, upper

    def _parts(self, place: int) -> tuple[int, Array]:
        """Return the smallest possible count of a leaf, and the distribution of the count at each node of the
        quadrature rule. The argument is an index of the distinct weights of leaves.
        """
        low, high = int(self._each[place, :, 4].min()), int(self._each[place, :, 5].max())
        return low, _sites.components(self._distinct[place : place + 1], self._tables, self._found.tilts, low, high)

    def _mixed(self, place: int) -> tuple[int, Array]:
        low, parts = self._parts(place)
        return low, self._found.shares @ parts

    @cached_property
    def _root(self) -> tuple[int, Array]:
        """Distribution of the root count of a star, as the smallest possible count and an array of probabilities."""
        return _total(self)

    def _law_at(self, row: int) -> tuple[int, Array]:
        if row == 0:
            return self._root
        node = int(self.tree.order[row])
        return self._mixed(int(self._which[node])) if node >= 0 else (0, np.ones(1))

    def children(self, row: int) -> list[tuple[int, Array]]:
        """Return the posterior distribution of the count of every child of a node. See `TreeLaw.children`."""
        first = int(self.tree.first[row])
        return [self._law_at(first + k) for k in range(int(self.tree.count[row]))]

    def _pair(self, one: int, two: int) -> NodePair:
        if one == two:
            low, p = self._law_at(int(self.tree.place[one]))
            return NodePair(low, low, sized(np.diag(p)))
        found = self._sums([one], [two])
        if found is None:
            raise Unlisted("the joint distribution of a count and the total is not available: use draws instead")
        return found

    def _sums(self, first: Rows, second: Rows) -> NodePair | None:
        if self.tree.root in (*first, *second):
            return None
        low, x = self._added(first)
        other, y = self._added(second)
        sized_as(x.shape[1], y.shape[1])
        return NodePair(low, other, (x * self._found.shares[:, None]).T @ y)

    def _added(self, nodes: Rows) -> tuple[int, Array]:
        """Return the smallest possible sum of the counts of several leaves, and the distribution of the sum at each
        node of the quadrature rule.
        """
        low, out = 0, np.ones((len(self._found.shares), 1))
        for node in nodes:
            first, parts = self._parts(int(self._which[node]))
            sized_as(out.shape[1] * len(out), parts.shape[1])
            low, out = low + first, np.array([np.convolve(x, y) for x, y in zip(out, parts, strict=True)])
        return low, out

    def sample(
        self, size: int, *, rng: np.random.Generator, nodes: Sequence[str | int] | None = None
    ) -> NDArray[np.int64]:
        """Draw independent vectors of counts from the joint posterior distribution. See `TreeLaw.sample`."""
        tree, draws = self.tree, _checks.integer("size", size)
        wanted = np.arange(len(tree)) if nodes is None else np.array([self._place(n) for n in nodes], dtype=np.int64)
        at = _checks.generator(rng).choice(len(self._found.shares), draws, p=self._found.shares)
        leaves = self._nodes if (wanted == tree.root).any() else np.unique(wanted)
        out = np.zeros((draws, len(wanted)), dtype=np.int64)
        total: Whole = np.zeros(draws, dtype=np.int64)
        width = 0
        order = leaves[np.argsort(self._which[leaves], kind="stable")]
        known, low, below = -1, 0, np.zeros(0)
        for node in order.tolist():
            place = int(self._which[node])
            if place != known:
                known, (low, parts) = place, self._parts(place)
                offset: Array = np.arange(float(len(parts)))[:, None]
                below = (np.minimum(np.cumsum(parts, axis=1), 1.0) + offset)[:, :-1].ravel()
                width = parts.shape[1] - 1
            count = low + np.searchsorted(below, at + rng.random(draws), side="right") - at * width
            total = total + count
            out[:, wanted == node] = count[:, None]
        out[:, wanted == tree.root] = total[:, None]
        return out

    @property
    def rule(self) -> tuple[Array, Array]:
        """Exponential tilts and posterior weights of the nodes of the quadrature rule, each as a float64 array of shape
        (j,).
        """
        return self._found.tilts, self._found.shares

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Means and standard deviations of the count of the root at the nodes of the quadrature rule, each as a float64
        array of shape (j,).
        """
        mean, variance = (np.tensordot(self._times, self._each[..., k], (0, 0)) for k in (1, 2))
        return mean, np.sqrt(variance)

    def sum_at(self, place: int) -> tuple[int, Array]:
        """Return the posterior distribution of the count of the root, conditional on one node of the quadrature rule.
        The result is the smallest count and the probabilities of consecutive counts.

        The inverse Fourier transform uses the frequencies at which the characteristic function is not negligible. If a
        leaf has a table of weights, all frequencies are used, because the possible counts can have gaps.
        """
        mean, sd = (float(values[place]) for values in self.moments)
        least = int(self._times @ self._each[:, place, 4])
        if sd == 0.0:
            return round(mean), np.ones(1)
        half = self.halfwidth(place)
        widest = int(np.ptp(self._each[:, place, 4:], axis=1).max()) + 1
        length = 1 << int(np.ceil(np.log2(float(max(2 * half + 2, widest)))))
        first, size = round(mean) - length // 2, int(np.ceil(9.2 / sd * length / (2 * np.pi))) + 3
        if (self._distinct["table"] >= 0).any():
            size = length
        while True:
            size = min(size, length // 2 + 1)
            spectrum = self._spectrum(place, length, size, first)
            if size == length // 2 + 1 or np.abs(spectrum[-3:]).max() < _solver.SPARE:
                break
            size *= 2
        p = np.maximum(np.fft.irfft(np.append(spectrum, np.zeros(length // 2 + 1 - size)), length), 0.0)
        low, high = max(round(mean) - half, least), round(mean) + half
        p = p[low - first : high - first + 1]
        return low, p / p.sum()

    def halfwidth(self, place: int) -> int:
        """Return a half-width w such that the count of the root differs from its mean by more than w with a probability
        below exp(-39). The probability is conditional on one node of the quadrature rule, and the half-width follows
        from Chernoff's bound.
        """
        law = _solver.Shares(self._distinct, self._tables, self._times, 1.0)
        if self.moments[1][place] == 0.0:
            return 1
        tilt, (mean, sd) = float(self._found.tilts[place]), (float(values[place]) for values in self.moments)
        inside, out = float(law.sums(np.array([tilt]))[0, 0]), []
        for side in (-1, 1):
            ends = []
            changes = [min(steep / sd, 40.0) for steep in (9.0, 5.0, 3.0, 2.0, 1.0, 0.5)]
            for change in (side * size for size in [*changes, 0.9 * abs(tilt), 0.3 * abs(tilt)]):
                try:
                    sums = law.sums(np.array([tilt + change]))[:, 0]
                except _solver.Unsolved:
                    continue
                ends.append((sums[0] + np.log1p(sums[3]) - inside - change * mean + 40.0) / abs(change))
                if ends[-1] < 12 * sd or ends[-1] > 2 * min(ends):
                    break
            if not ends:
                raise _solver.Unsolved(_solver.too_many(np.inf))
            out.append(min(ends))
        return int(np.ceil(max(out))) + 1

    def _spectrum(self, place: int, length: int, size: int, first: int) -> NDArray[np.complex128]:
        """Return the characteristic function of the count of the root minus `first`, given one node of the quadrature
        rule. The frequencies are -2 pi m/length for 0 <= m < size.
        """
        ends = self._each[:, place, 4:].astype(np.int64)
        frequencies, table = 2 * np.pi * np.arange(size) / length, None
        if size < FEW_FREQUENCIES:  # fewer operations than a fast Fourier transform
            angles = np.outer(np.arange(int((ends[:, 1] - ends[:, 0]).max()) + 1), frequencies)
            table = np.concatenate([np.cos(angles), -np.sin(angles)], axis=1)
        amplitude, phase = np.zeros(size), np.zeros(size)
        centres, order = np.rint(self._each[:, place, 1]).astype(np.int64), np.argsort(ends[:, 1] - ends[:, 0])
        block = ROWS if table is not None else max(ROWS * 4096 // length, 1)
        for start in range(0, len(order), block):
            rows = order[start : start + block]
            p = self._rows(place, rows, ends)
            if table is None:
                value = np.fft.rfft(p, length, axis=1)[:, :size]
            else:
                real, imaginary = np.split(p @ table[: p.shape[1]], 2, axis=1)
                value = real + 1j * imaginary
            value = value * np.exp(1j * np.outer(centres[rows] - ends[rows, 0], frequencies))
            with np.errstate(divide="ignore"):
                amplitude += self._times[rows] @ np.log(np.abs(value))
            phase += self._times[rows] @ np.angle(value)
        shift = int(self._times @ centres) - first
        turns = (shift * np.arange(size)) % length * (2 * np.pi / length)
        return np.asarray(np.exp(amplitude) * np.exp(1j * (phase - turns)))

    def _rows(self, place: int, rows: Whole, ends: Whole) -> Array:
        """Return the distributions of the counts of the selected leaves, given one node of the quadrature rule. Each
        row begins at the first count of the leaf's window and is padded with zeros.
        """
        p = np.zeros((len(rows), int((ends[rows, 1] - ends[rows, 0]).max()) + 1))
        for row, i in zip(p, rows.tolist(), strict=True):
            low, high = ends[i].tolist()
            law = _sites.components(self._distinct[i : i + 1], self._tables, self._found.tilts[[place]], low, high)
            row[: high - low + 1] = law[0]
        return p


def _total(law: StarLaw) -> tuple[int, Array]:
    """Return the distribution of the root count of a star, as the smallest possible count and an array of
    probabilities.

    The sum of independent counts is computed from the product of their characteristic functions, for a few nodes of the
    rule; the distributions of the sum at neighbouring nodes follow by a change of the tilt.
    """
    tilts, shares = law.rule
    means, _ = law.moments
    parts, start = [], 0
    while start < len(tilts):
        near = tilts[start] + SHIFT / law.halfwidth(start)  # rounding errors grow by at most exp(SHIFT/2)
        end = int(np.searchsorted(tilts, near, side="right"))
        end = max(min(end, len(tilts)), start + 1)
        base = (start + end) // 2
        low, p = law.sum_at(base)
        for j in range(start, end):
            q = p * np.exp((tilts[j] - tilts[base]) * (np.arange(len(p)) + low - means[base]))
            parts.append((low, q * (shares[j] / q.sum())))
        start = end
    low = min(first for first, _ in parts)
    out = np.zeros(max(first + len(q) for first, q in parts) - low)
    for first, q in parts:
        out[first - low : first - low + len(q)] += q
    kept = np.flatnonzero(out > _solver.SPARE * out.max() / len(out))
    out = out[kept[0] : kept[-1] + 1]
    return low + int(kept[0]), out / out.sum()


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
    of about 20 standard deviations of the noise. With the default prior, a star without a measured root and with more
    than `WIDEST` measured leaves is a mixture of independent counts instead, with a cost of O(leaves x width).
    """
    measurements = measurements.arranged()
    tree = measurements.tree
    _checks.inside("level", level)
    deep = len(tree.levels) - 1 if deepest is None else tree.level(deepest)
    chosen = Splits() if prior is None else prior
    if not isinstance(chosen, Splits | Leaves):
        raise TypeError(f"prior must be Splits or Leaves, got {prior!r}")
    star = is_star(measurements)
    for reach in REACHES:  # extend the lists if they end too early, because measurements contradict each other strongly
        try:
            found = _star(measurements, chosen, reach, level, deep) if star and isinstance(chosen, Splits) else None
            if found is not None:
                if found.bound <= ENOUGH or not measurements.listed or reach == REACHES[-1]:
                    return found
                continue
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
    """Return the sum-product messages of the tree, the part of the log evidence that these messages do not contain, the
    fitted prior, and a dict that describes the fit.
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
