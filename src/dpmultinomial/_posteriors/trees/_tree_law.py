"""Posterior distribution of all counts of a tree: summaries, distributions of single counts and of pairs, draws, and
evidence.

The joint distribution of two counts of a tree follows from the messages of the families on the path between them.

`TreeTogether` describes the dependence between the counts of a tree: it returns the distributions of one or two counts,
and of sums over siblings.

Prior and measurements are compared level by level: every measurement is compared with the information that all other
measurements give about its count.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ... import _checks
from ..._accuracy import LEVEL, Accuracy
from ..._results.convolutions import Unlisted, Whole, Window
from ..._results.distributions import Discrete
from ..._results.joint import Pair, Places
from ..._results.posterior import Posterior
from ..._results.quantities import Columns, Quantities
from ._solver import ENOUGH, Solved
from ._sum_product import SumProduct
from .least_squares import LeastSquares
from .measurements import Measurements
from .tree import Leaves, Splits, Tree, moments

Array = NDArray[np.float64]
LARGEST = 40_000_000  # largest number of entries of a joint distribution


class NodePair(NamedTuple):
    """Joint distribution of two counts of a tree, stored as a matrix. Entry (i, j) is the probability of the counts
    (low + i, other_low + j).

    Parameters
    ----------
    low, other_low : smallest value of each count.
    p : float64 (values of the first, values of the second).
    """

    low: int
    other_low: int
    p: Array


class _Window(NamedTuple):
    low: int
    p: Array


class _Given(NamedTuple):
    """Matrix with the conditional distributions of a count given the count of an ancestor. The entry (i, j) is P(low +
    i | above + j). Column j is for the ancestor count above + j.
    """

    low: int
    above: int
    p: Array

    def on(self, low: int, size: int) -> Array:
        """Return the conditional distributions of a count given each of the values low, .., low + size - 1 of the
        ancestor's count. The distributions are the columns of an array. Messages and distributions are stored only for
        the possible values in a window.
        """
        return self.p[:, low - self.above : low - self.above + size]


def pair(
    tree: Tree,
    messages: SumProduct,
    rows: tuple[int, int],
    reach: Callable[[int], None],
    law: Callable[[int], tuple[int, Array]],
) -> NodePair:
    """Compute the joint posterior distribution of the counts of two nodes of a tree.

    Parameters
    ----------
    tree, messages : the tree, with upward and downward messages.
    rows : the two nodes, as rows in the order used by the kernels.
    reach : function that ensures that the downward message of a node is computed.
    law : function that returns the distribution of a single node.

    Returns
    -------
    Pair

    Raises
    ------
    Unlisted
        If the joint distribution, or an intermediate one, has more than `LARGEST` entries.
    """
    one, two = _up(tree, rows[0]), _up(tree, rows[1])
    shared = next(row for row in one if row in two)
    first, second = one[: one.index(shared)], two[: two.index(shared)]
    if not first or not second:
        low, p = law(shared)
        chain = _chain(tree, messages, [*(first or second), shared], reach)
        if chain is None:
            return NodePair(low, low, sized(np.diag(p)))
        joint = sized(chain.on(low, len(p)) * p[None, :])  # times the ancestor's distribution
        return NodePair(chain.low, low, joint) if first else NodePair(low, chain.low, joint.T)
    reach(shared)
    children, others, _ = messages.family(shared)
    start = int(tree.first[shared])
    a, b = first[-1] - start, second[-1] - start
    rest = [_Window(*message) for i, message in enumerate(children) if i not in (a, b)]
    x, y = _Window(*children[a]), _Window(*children[b])
    outer = _correlated(_Window(*others), _summed(rest), x.low + y.low, len(x.p) + len(y.p) - 1)
    low, other_low, joint = _joint(x, y, outer)
    if (chain := _chain(tree, messages, first, reach)) is not None:
        low, joint = chain.low, sized(chain.on(x.low, len(x.p)) @ joint)
    if (chain := _chain(tree, messages, second, reach)) is not None:
        other_low, joint = chain.low, sized(joint @ chain.on(y.low, len(y.p)).T)
    return NodePair(low, other_low, joint)


def siblings(
    tree: Tree, messages: SumProduct, first: list[int], second: list[int], reach: Callable[[int], None]
) -> NodePair | None:
    """Return the joint posterior distribution of two sums of counts over disjoint sets of children of the same node.
    The result is None for other sums and for empty sets.

    Parameters
    ----------
    tree, messages, reach : arguments of `pair`.
    first, second : the children, in the order used by the kernels.

    Returns
    -------
    Pair or None
    """
    above = {int(tree.above[row]) for row in first + second}
    parent = above.pop()
    if above or parent < 0:
        return None
    reach(parent)
    children, others, _ = messages.family(parent)
    sibling_places = [row - int(tree.first[parent]) for row in first], [row - int(tree.first[parent]) for row in second]
    x, y = (_summed([_Window(*children[i]) for i in part]) for part in sibling_places)
    rest = _summed(
        [_Window(*message) for i, message in enumerate(children) if i not in sibling_places[0] + sibling_places[1]]
    )
    return _joint(x, y, _correlated(_Window(*others), rest, x.low + y.low, len(x.p) + len(y.p) - 1))


def _joint(x: "_Window", y: "_Window", outer: Array) -> NodePair:
    """Return the joint distribution of two counts n and m. The probabilities are proportional to x(n) y(m) outer(n + m)
    for given functions x, y and outer.
    """
    sized_as(len(x.p), len(y.p))
    joint = x.p[:, None] * y.p[None, :] * outer[np.arange(len(x.p))[:, None] + np.arange(len(y.p))[None, :]]
    return NodePair(x.low, y.low, joint / joint.sum())


def difference(joint: NodePair) -> tuple[int, Array]:
    """Return the distribution of the difference of two counts (first minus second), as (smallest value,
    probabilities).
    """
    rows, columns = joint.p.shape
    gaps = np.arange(rows)[:, None] - np.arange(columns)[None, :] + columns - 1
    p: Array = np.bincount(gaps.ravel(), joint.p.ravel(), rows + columns - 1).astype(np.float64)
    return joint.low - joint.other_low - columns + 1, p


def total(joint: NodePair) -> tuple[int, Array]:
    """Return the distribution of the sum of two counts, as (smallest value, probabilities)."""
    rows, columns = joint.p.shape
    sums = np.arange(rows)[:, None] + np.arange(columns)[None, :]
    p: Array = np.bincount(sums.ravel(), joint.p.ravel(), rows + columns - 1).astype(np.float64)
    return joint.low + joint.other_low, p


def _up(tree: Tree, row: int) -> list[int]:
    path = [row]
    while path[-1] > 0:
        path.append(int(tree.above[path[-1]]))
    return path


def _chain(tree: Tree, messages: SumProduct, path: list[int], reach: Callable[[int], None]) -> _Given | None:
    """Return the conditional distributions of the count of the first node of a path, given the count of the last node.
    There is one column per count of the last node. Return None if the path has only one node.
    """
    conditional: _Given | None = None
    for child, parent in pairwise(path):
        reach(parent)
        children, _, _ = messages.family(parent)
        place = child - int(tree.first[parent])
        child_window = _Window(*children[place])
        rest = _summed([_Window(*m) for i, m in enumerate(children) if i != place])
        window = _window_of(tree, messages, parent)
        gaps = (
            window.low
            + np.arange(len(window.p))[None, :]
            - child_window.low
            - np.arange(len(child_window.p))[:, None]
            - rest.low
        )
        inside = (gaps >= 0) & (gaps < len(rest.p))
        step = sized(child_window.p[:, None] * np.where(inside, rest.p[np.where(inside, gaps, 0)], 0.0))
        sums = step.sum(axis=0)
        step = step / np.where(sums > 0, sums, 1.0)
        p = step if conditional is None else conditional.on(child_window.low, len(child_window.p)) @ step
        conditional = _Given(child_window.low if conditional is None else conditional.low, window.low, p)
    return conditional


def _window_of(tree: Tree, messages: SumProduct, row: int) -> _Window:
    """Return the range of possible counts of an inner node of the tree."""
    low, size, _ = messages.nodes()[row]
    return _Window(int(low), np.zeros(int(size)))


def _summed(parts: list[_Window]) -> _Window:
    """Return the distribution of the sum of independent integers, given the distribution of each integer on a range of
    values.

    The values of the result are scaled to a maximum of 1.
    """
    out = _Window(0, np.ones(1))
    for part in parts:
        p = np.convolve(out.p, part.p)
        out = _Window(out.low + part.low, p / p.max())
    return out


def _correlated(a: _Window, b: _Window, low: int, size: int) -> Array:
    """Return the cross-correlations sum_r a(low + k + r) b(r) of two functions on integers, for 0 <= k < size."""
    padded = np.zeros(size + len(b.p) - 1)
    shift = low + b.low - a.low
    start, end = max(shift, 0), min(shift + len(padded), len(a.p))
    if start < end:
        padded[start - shift : end - shift] = a.p[start:end]
    return np.asarray(np.correlate(padded, b.p, "valid"))


def sized(p: Array) -> Array:
    """Return a joint distribution of two counts unchanged, or raise `Unlisted` if the distribution has too many
    entries.

    Parameters
    ----------
    p : float64 (rows, columns).

    Returns
    -------
    The same array.
    """
    sized_as(*p.shape)
    return p


def sized_as(rows: int, columns: int) -> None:
    """Raise `Unlisted` if a joint distribution of two counts has too many entries.

    Parameters
    ----------
    rows, columns : numbers of possible values of both counts.

    Raises
    ------
    Unlisted
        If the distribution has more than `LARGEST` entries.
    """
    if rows * columns > LARGEST:
        raise Unlisted(
            f"the joint distribution of the two counts has too many entries ({rows} x {columns}): use draws instead"
        )


Rows = list[int]


class TreeTogether:
    """Exact joint distributions of counts of a tree, if they can be computed from the messages of the sum-product
    algorithm. Any other request raises `Unlisted`.

    Parameters
    ----------
    law : function from a position to (first count, probabilities).
    pair : function from two positions to their joint distribution.
    siblings : function from two lists of positions to the joint distribution of the two sums, or to None if the
        positions are not siblings.
    draw : function of (positions, size, rng) that returns joint draws.
    certain : whether results may be reported as exact; if not, all requests raise `Unlisted`, and only draws are
        available.
    """

    unit = 1.0

    def __init__(
        self,
        law: Callable[[int], Window],
        pair: Callable[[int, int], NodePair],
        siblings: Callable[[Rows, Rows], NodePair | None],
        draw: Callable[[Rows, int, np.random.Generator], Whole],
        *,
        certain: bool = True,
    ) -> None:
        self._law, self._pair, self._siblings, self._draw = law, pair, siblings, draw
        self._certain = certain

    def sum_of(self, places: Places) -> Window:
        """Return the distribution of the sum of the counts at several different positions."""
        members = list(places)
        if len(members) == 1 and self._certain:
            return self._law(members[0])
        return Window(*total(self._joint(members[:1], members[1:])))

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Return the joint distribution of two sums of counts over disjoint sets of nodes. The nodes are given by their
        positions in the tree.
        """
        low, other, p = self._joint(list(first), list(second))
        return Pair(Window(low, p.sum(axis=1)), Window(other, p.sum(axis=0)), None, p)

    def difference_of(self, first: Places, second: Places) -> Window:
        """Return the distribution of the difference between two sums of counts over disjoint sets of positions."""
        return Window(*difference(self._joint(list(first), list(second))))

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors of the counts at several positions, as an array of shape (size, number of
        positions).
        """
        return self._draw(list(places), size, rng)

    def _joint(self, first: Rows, second: Rows) -> NodePair:
        if not self._certain:
            raise Unlisted(
                "the joint distribution is not available, because the counts of this tree have no exact distributions: "
                "use draws"
            )
        if len(first) == len(second) == 1:
            return self._pair(first[0], second[0])
        joint = self._siblings(first, second)
        if joint is None:
            raise Unlisted(
                f"the exact joint distribution of these {len(first) + len(second)} counts is not "
                "available, because they are not siblings: use draws instead"
            )
        return joint


def implied_totals(tree: Tree, prior: Leaves) -> pd.DataFrame:
    """Return the prior mean and the prior standard deviation of the total of every inner node. They are implied by the
    independent priors of the leaves.

    If there are many leaves, the standard deviation is a small fraction of the mean, so the prior is a strong
    assumption about totals.

    Parameters
    ----------
    tree : the nodes.
    prior : prior of the leaves; fitted priors must be replaced by their fits.

    Returns
    -------
    DataFrame
        Columns node, level, leaves, mean, sd; infinite if a leaf's prior has no mean.
    """
    names, groups = prior.rows(tree)
    each = np.array([moments(prior.of(name)) for name in names])
    leaf = np.flatnonzero(tree.leaf)
    values = np.zeros((len(tree), 3))
    values[leaf] = np.column_stack([np.ones(len(leaf)), each[groups[leaf]]])
    total = tree.sums(values)
    inner = np.flatnonzero(~tree.leaf)
    return pd.DataFrame(
        {
            "node": [tree.names[i] for i in inner],
            "level": [tree.levels[d] for d in tree.depth[inner]],
            "leaves": total[inner, 0].astype(int),
            "mean": total[inner, 1],
            "sd": np.sqrt(total[inner, 2]),
        }
    )


COLUMNS = (
    "node",
    "level",
    "least_squares",
    "least_squares_sd",
    "mean",
    "sd",
    "lower",
    "upper",
    "status",
    "error",
)
ROUNDED = 1e-6  # a larger difference, in standard deviations, is not due to rounding


class TreeLaw:
    """Posterior distribution of all counts of a tree.

    Attributes
    ----------
    tree : the nodes of the tree.
    prior : prior that was assumed, including all fitted values.
    log_evidence : log probability (density) of the measurements.
    bound : upper bound on the total variation distance between the distribution of any single count and its computed
        form, due to truncation.
    accuracy : ``exact`` if `bound` is at most 1e-9, otherwise ``approximate``.
    mean, sd, lower, upper : float64 (n,); NaN for nodes below the deepest requested level.
    level : probability of the intervals.
    facts : assumptions and results of checks, as values for JSON.
    """

    method = "sum-product on a tree"

    def __init__(
        self,
        measurements: Measurements,
        solved: Solved,
        prior: Splits | Leaves,
        log_evidence: float,
        level: float,
        deepest: int,
        facts: dict[str, object],
    ) -> None:
        self._messages = solved.messages
        self._settle(measurements, solved.bound, prior, log_evidence, level, deepest, facts)

    def _settle(
        self,
        measurements: Measurements,
        bound: float,
        prior: Splits | Leaves,
        log_evidence: float,
        level: float,
        deepest: int,
        facts: dict[str, object],
    ) -> None:
        """Set all attributes of the posterior distribution except the messages, and compute the summaries of all
        counts.
        """
        self.tree: Tree = measurements.tree
        self.measurements, self.prior = measurements, prior
        self.log_evidence, self.level, self._deepest = log_evidence, level, deepest
        self.bound = min(bound, 1.0)
        self.mean, self.sd, self.lower, self.upper = self.numbers(level)
        self.rounding = _additivity(self.tree, self.mean, self.sd, deepest)
        self.accuracy = _accuracy(self.bound, self.rounding)
        self.facts = {**facts, "log_evidence": log_evidence, "bound": self.bound, "rounding": self.rounding}

    def __repr__(self) -> str:
        return f"TreeLaw of {self.tree!r}: log evidence {self.log_evidence:.6g}, {self.accuracy}"

    @cached_property
    def least_squares(self) -> LeastSquares:
        """Generalised least-squares estimates of all counts of the tree, without a prior and without bounds."""
        return self.measurements.least_squares()

    def table(self, level: str | None = None) -> pd.DataFrame:
        """Return the results as a table with one row per node, for one level of the tree or for all requested levels.

        Parameters
        ----------
        level : name of a level.

        Returns
        -------
        DataFrame with columns `COLUMNS`, including the least-squares estimates.
        """
        depth = None if level is None else self.tree.level(level)
        rows = np.flatnonzero(self.tree.depth <= self._deepest if depth is None else self.tree.depth == depth)
        columns = (
            [self.tree.names[i] for i in rows],
            [self.tree.levels[d] for d in self.tree.depth[rows]],
            self.least_squares.estimate[rows],
            self.least_squares.sd[rows],
            self.mean[rows],
            self.sd[rows],
            self.lower[rows],
            self.upper[rows],
            self.accuracy.status,
            self.accuracy.error,
        )
        return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))

    def numbers(self, level: float) -> tuple[Array, Array, Array, Array]:
        """Return the posterior means, standard deviations and ends of central intervals of the counts of all nodes,
        each as a float64 array of shape (n,).

        Parameters
        ----------
        level : level of the intervals, in (0, 1).
        """
        tail = (1 - _checks.inside("level", level)) / 2
        self._reached = _families_above(self.tree, self._deepest)
        summaries = self._messages.down(self._reached, tail)[0]
        mean, sd, lower, upper = np.ascontiguousarray(summaries[self.tree.place].T)
        return mean, sd, lower, upper

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the summary of the posterior distribution with one row per node, in the format of `Posterior.summary`.

        Parameters
        ----------
        level : level of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame
        """
        return self.posterior().summary(level)

    def law(self, node: str | int) -> Discrete:
        """Return the posterior distribution of the count of one node.

        Parameters
        ----------
        node : name or position of the node.
        """
        place = self._place(node)
        first, p = self._law_at(int(self.tree.place[place]))
        values = np.arange(first, first + len(p))
        return Discrete(values, p, name=self.tree.names[place], type="count", accuracy=self.accuracy)

    def difference(self, first: str | int, second: str | int) -> Discrete:
        """Return the exact posterior distribution of the difference of two counts (first minus second), for any two
        nodes of the tree.

        Raises
        ------
        Unlisted
            If the joint distribution is too large; use draws instead.
        """
        one, two = self._place(first), self._place(second)
        low, p = difference(self._pair(one, two))
        name = f"{self.tree.names[one]} - {self.tree.names[two]}"
        return Discrete(np.arange(low, low + len(p)), p, name=name, type="question", accuracy=self.accuracy)

    def sum(self, first: str | int, second: str | int) -> Discrete:
        """Return the exact posterior distribution of the sum of two counts of the tree. See `difference`."""
        one, two = self._place(first), self._place(second)
        low, p = total(self._pair(one, two))
        name = f"{self.tree.names[one]} + {self.tree.names[two]}"
        return Discrete(np.arange(low, low + len(p)), p, name=name, type="question", accuracy=self.accuracy)

    def sample(
        self, size: int, *, rng: np.random.Generator, nodes: Sequence[str | int] | None = None
    ) -> NDArray[np.int64]:
        """Draw independent vectors of counts from the joint posterior distribution, from the root to the leaves.

        Parameters
        ----------
        size : number of draws.
        rng : numpy Generator.
        nodes : names or positions of the nodes; by default all nodes.

        Returns
        -------
        int64 (size, nodes)
        """
        tree, draws = self.tree, _checks.integer("size", size)
        wanted = np.arange(len(tree)) if nodes is None else np.array([self._place(n) for n in nodes], dtype=np.int64)
        _checks.generator(rng)
        first, p = self._messages.root()
        below = np.cumsum(p)
        top = first + np.searchsorted(below[:-1], rng.random(draws) * below[-1], side="right")
        values: dict[int, Whole] = {0: top.astype(np.int64)}
        needed = _families_of(tree, tree.place[wanted])
        for row in needed.tolist():
            children = self._messages.split(row, values[row], rng=rng)
            values.update((int(tree.first[row]) + k, children[:, k]) for k in range(children.shape[1]))
        if not len(wanted):
            return np.zeros((draws, 0), dtype=np.int64)
        return np.stack([values[int(row)] for row in tree.place[wanted]], axis=1)

    def posterior(self) -> Posterior:
        """Return the posterior distribution as a `Posterior` whose counts have the names of the nodes."""

        def together(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
            return self.sample(size, rng=rng)

        places = self.tree.place
        state = TreeTogether(
            lambda i: Window(*self._law_at(int(places[i]))),
            self._pair,
            self._sums,
            lambda nodes, size, rng: self.sample(size, rng=rng, nodes=nodes),
            certain=self.accuracy.status == "exact",
        )
        counts = Quantities(
            self.tree.names, self.law, joint=together, together=state, numbers=self._quantities,
            sums=self.tree.inner, parents=self.tree.parent,
        )  # fmt: skip
        return Posterior(
            {"counts": counts},
            joint=lambda size, rng: {"counts": together(size, rng)},
            method=self.method,
            facts=self.facts,
            source=self,
            log_evidence=lambda: self.log_evidence,
        )

    def _quantities(self, level: float) -> Columns:
        """Return the posterior summaries of all nodes of the tree. For nodes below the deepest requested level, the
        summaries are computed from the posterior distribution of each node.
        """
        mean, sd, lower, upper = (self.mean, self.sd, self.lower, self.upper)
        if level != self.level:
            mean, sd, lower, upper = self.numbers(level)
        columns = [values.copy() for values in (mean, sd, lower, upper)]
        for i in np.flatnonzero(np.isnan(mean)).tolist():
            law = self.law(i)
            for values, value in zip(columns, (law.mean(), law.sd(), *law.interval(level)), strict=True):
                values[i] = value
        mean, sd, lower, upper = columns
        return Columns(mean, sd, lower, upper, self.accuracy)

    def implied_totals(self) -> pd.DataFrame | None:
        """Return the prior mean and the prior standard deviation of every total (`implied_totals`). The result is None
        if the prior is a prior of splits.
        """
        return implied_totals(self.tree, self.prior) if isinstance(self.prior, Leaves) else None

    def _place(self, node: str | int) -> int:
        if isinstance(node, str):
            return self.tree.position(node)
        return _checks.integer("node", node, most=len(self.tree) - 1)

    def _law_at(self, row: int) -> tuple[int, Array]:
        if row == 0:
            return self._messages.root()
        parent = int(self.tree.above[row])
        self._reach(parent)
        return self._messages.family(parent)[2][row - int(self.tree.first[parent])]

    def window(self, row: int) -> tuple[int, Array]:
        """Return the posterior distribution of the count of one node, as (smallest count, probabilities). The node is
        given by its position in the order of the compiled kernels.
        """
        return self._law_at(row)

    def children(self, row: int) -> list[tuple[int, Array]]:
        """Return the posterior distribution of the count of every child of a node, as (smallest count, probabilities).
        The node is given by its position in the order of the compiled kernels.
        """
        self._reach(row)
        return self._messages.family(row)[2]

    def pair(self, one: int, two: int) -> NodePair:
        """Return the joint posterior distribution of two counts, given the positions of their nodes in the tree."""
        return self._pair(one, two)

    def _reach(self, row: int) -> None:
        """Compute the message from the parent of a node to this node, if this message has not been computed yet."""
        path = [row]
        while path[-1] > 0:
            path.append(int(self.tree.above[path[-1]]))
        for above in path[:0:-1]:
            if not self._reached[above]:
                self._messages.family(above)
                self._reached[above] = True

    def _pair(self, one: int, two: int) -> NodePair:
        rows = int(self.tree.place[one]), int(self.tree.place[two])
        return pair(self.tree, self._messages, rows, self._reach, self._law_at)

    def _sums(self, first: Rows, second: Rows) -> NodePair | None:
        """Return the joint posterior distribution of two sums of counts, given the positions of their nodes, or None if
        the nodes are not siblings.
        """
        one, two = (self.tree.place[part].tolist() for part in (first, second))
        return siblings(self.tree, self._messages, one, two, self._reach)


def _families_above(tree: Tree, deepest: int) -> NDArray[np.bool_]:
    """Return a boolean mask of inner nodes, in the node order of the compiled kernels. The mask selects the nodes whose
    children are at or above the deepest requested level.
    """
    wanted = np.zeros(len(tree.order), dtype=bool)
    wanted[tree.place] = (tree.depth < deepest) & ~tree.leaf
    wanted[0] = wanted[0] or len(tree) == 1
    for start, end in zip(tree.layers[1:-1], tree.layers[2:], strict=True):
        groups = np.arange(start, end)[tree.order[start:end] < 0]
        wanted[groups] = wanted[tree.above[groups]]
    return wanted


def _families_of(tree: Tree, rows: Whole) -> Whole:
    """Return all ancestors of the given nodes, in the order of the compiled kernels (from the root to the leaves)."""
    needed = np.zeros(len(tree.order), dtype=bool)
    needed[tree.above[rows[rows > 0]]] = True
    for start, end in list(zip(tree.layers[1:-1], tree.layers[2:], strict=True))[::-1]:
        families = np.arange(start, end)[needed[start:end]]
        needed[tree.above[families]] = True
    return np.flatnonzero(needed)


def _additivity(tree: Tree, mean: Array, sd: Array, deepest: int) -> float:
    """Return the largest difference between the posterior mean of a node and the sum of the posterior means of its
    children. The unit is max(standard deviation, 1).
    """
    below = np.flatnonzero((tree.depth <= deepest) & (tree.parent >= 0))
    if not len(below):
        return 0.0
    total = np.bincount(tree.parent[below], mean[below], len(tree))
    parents = np.unique(tree.parent[below])
    return float((np.abs(total - mean)[parents] / np.maximum(sd[parents], 1.0)).max())


def _accuracy(bound: float, rounding: float) -> Accuracy:
    if not rounding <= ROUNDED:
        return Accuracy("approximate", rounding, "means of children and parent differ, in standard deviations")
    reason = "the distribution of every count is within the stated error of the exact distribution, in total variation"
    return Accuracy("exact" if bound <= ENOUGH else "approximate", bound, reason)
