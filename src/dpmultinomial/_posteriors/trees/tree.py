"""Trees in which the count of each inner node is the sum of the counts of the node's children, and priors of these
counts.

The nodes are ordered such that the children of a node are contiguous and follow their parent. A prior is either a flat
total that is split among the children (the default), or a product of independent priors of the leaves.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..published.priors import prior_of
from ..published.windows import CountPrior

Whole = NDArray[np.int64]
WIDEST = 64  # largest number of children per node in the internal tree; larger families are summed in groups
GROUP = 32
NONE = np.iinfo(np.int64).max  # value that means that there is no upper bound


class Tree:
    """Tree of nodes in which the count of each inner node is the sum of the counts of its children.

    Parameters
    ----------
    parent : int (n,), position of each node's parent; -1 for the root. There is exactly one root.
    names : one string per node, all different; by default ``"0"``, ``"1"``, ..
    levels : names of the levels, starting with the level of the root; by default ``"level 0"``, .. The level of a node
        is its depth.
    lower : integers >= 0, one for all nodes or one per node: known lower bounds on the counts.
    upper : integers, in the same format; None, or infinity in an array, if there is no bound.
    members : integers >= 1, in the same format: number of siblings whose sum each node represents, for splits.

    Attributes
    ----------
    depth : int64 (n,), depth of each node; the depth of the root is 0.
    order : int64 (m,), m >= n: nodes from the root to the leaves, families contiguous; -1 for groups within large
        families, and for a node added above a root without children.
    place : int64 (n,), position of each node in `order`.
    above, first, count : int64 (m,), in the same order: parent, first child, number of children.
    layers : index in this order of the first node at each depth, followed by m.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, there is not exactly one root, or a node is its own ancestor.
    """

    def __init__(
        self,
        parent: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        levels: Sequence[str] | None = None,
        lower: ArrayLike = 0,
        upper: ArrayLike | None = None,
        members: ArrayLike = 1,
    ) -> None:
        self.parent = _parents(parent)
        size = len(self.parent)
        self.members: Whole = np.broadcast_to(_checks.integral("members", members), (size,))
        self.names = _names(names, size)
        self.depth, rows = _by_depth(self.parent, self.names)
        deepest = int(self.depth.max())
        self.levels = tuple(levels) if levels is not None else tuple(f"level {k}" for k in range(deepest + 1))
        if len(self.levels) != deepest + 1:
            raise ValueError(
                f"levels must contain one name per level ({deepest + 1} levels), got {len(self.levels)} names"
            )
        self.lower, self.upper = _bounds(lower, upper, self.names)
        self.order, self.above, self.first, self.count, self.layers = _families(self.parent, rows)
        self.place: Whole = np.empty(size, dtype=np.int64)
        real = np.flatnonzero(self.order >= 0)
        self.place[self.order[real]] = real

    @classmethod
    def named(cls, parents: dict[str, str | None], **rest: Any) -> "Tree":
        """Build a tree from a mapping of each node's name to the name of its parent, or to None for the root.

        Parameters
        ----------
        parents : mapping from the name of a node to the name of its parent.
        **rest : `levels`, `lower`, `upper`.

        Returns
        -------
        Tree
        """
        places = {name: i for i, name in enumerate(parents)}
        for name, parent in parents.items():
            if parent is not None and parent not in places:
                raise ValueError(f"the parent of {name} must be a node, got {parent!r}")
        positions = [-1 if parent is None else places[parent] for parent in parents.values()]
        return cls(positions, names=list(parents), **rest)

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{int((self.depth == k).sum())} {name}" for k, name in enumerate(self.levels))
        return f"Tree({len(self)} nodes: {sizes})"

    def arranged(self, rank: ArrayLike) -> "Tree":
        """Return a copy of the tree in which the leaves of each large group of siblings are sorted by a given rank.

        Leaves with equal weights are then in the same groups, whose messages are computed once.

        Parameters
        ----------
        rank : int (m,), one rank per row of `order`.
        """
        other, rows = copy(self), np.arange(len(self.order))
        ranks = _checks.int64s("rank", np.asarray(rank))
        leaves = np.flatnonzero((self.order >= 0) & (self.count == 0) & (self.order[self.above] < 0))
        family = self.parent[self.order[leaves]]
        rows[leaves[np.argsort(family, kind="stable")]] = leaves[np.lexsort((ranks[leaves], family))]
        other.order = self.order[rows]
        other.place = np.empty_like(self.place)
        real = np.flatnonzero(other.order >= 0)
        other.place[other.order[real]] = real
        return other

    @cached_property
    def leaf(self) -> NDArray[np.bool_]:
        """Boolean array that is True for the nodes without children (the leaves)."""
        return np.asarray(np.bincount(self.parent[self.parent >= 0], minlength=len(self)) == 0)

    @cached_property
    def inner(self) -> frozenset[str]:
        """Names of the nodes with children, whose counts are sums of others."""
        return frozenset(self.names[i] for i in np.flatnonzero(~self.leaf))

    @cached_property
    def root(self) -> int:
        """Position of the root of the tree in the order of the nodes."""
        return int(np.flatnonzero(self.parent < 0)[0])

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def position(self, name: str) -> int:
        """Return the position in the tree of the node with a given name.

        Parameters
        ----------
        name : name of the node.

        Raises
        ------
        KeyError
            If there is no node with this name.
        """
        if name not in self._positions:
            raise KeyError(f"{name!r} is not a node of {self!r}")
        return self._positions[name]

    def level(self, name: str) -> int:
        """Return the depth of a level of the tree, given the name of the level."""
        return self.levels.index(_checks.one_of("level", name, self.levels))

    def path(self, node: int) -> list[int]:
        """Return the positions of all nodes on the path from the root to a given node."""
        nodes = [node]
        while self.parent[nodes[-1]] >= 0:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes[::-1]

    def sums(self, leaves: ArrayLike) -> NDArray[Any]:
        """Return the values of all nodes, each computed as the sum of the values of the leaves below the node, as an
        array with the shape of `leaves`. Values at inner nodes are ignored.

        Parameters
        ----------
        leaves : (n, ..), in the order of the nodes.
        """
        values = np.array(leaves)
        values[~self.leaf] = 0
        for depth in range(int(self.depth.max()), 0, -1):
            rows = np.flatnonzero(self.depth == depth)
            np.add.at(values, self.parent[rows], values[rows])
        return values


def _parents(parent: ArrayLike) -> Whole:
    array = _checks.int64s("parent", np.asarray(parent))
    if not len(array):
        raise ValueError("parent must contain at least one node, got none")
    if array.min() < -1 or array.max() >= len(array):
        bad = int(np.flatnonzero((array < -1) | (array >= len(array)))[0])
        raise ValueError(
            f"parent must contain positions in [0, {len(array)}) or -1 for the root, got {array[bad]} for the node "
            f"{bad}"
        )
    if (roots := int((array < 0).sum())) != 1:
        raise ValueError(f"parent must be -1 for exactly one node (the root), got -1 for {roots} nodes")
    return array


def _names(names: Sequence[str] | None, size: int) -> tuple[str, ...]:
    if names is None:
        return tuple(map(str, range(size)))
    labels = tuple(names)
    if len(labels) != size:
        raise ValueError(f"names must contain one name per node ({size} nodes), got {len(labels)} names")
    for name in labels:
        if not isinstance(name, str) or not name:
            raise TypeError(f"names must contain only non-empty strings, got {name!r}")
    if len(set(labels)) < size:
        twice = next(name for i, name in enumerate(labels) if name in labels[:i])
        raise ValueError(f"names must be distinct, got {twice!r} twice")
    return labels


def _by_depth(parent: Whole, names: tuple[str, ...]) -> tuple[Whole, list[Whole]]:
    """Return the distance of every node from the root, and the nodes at each distance in an order in which siblings are
    contiguous.
    """
    kin, starts, counts = _children(parent)
    depth = np.full(len(parent), -1, dtype=np.int64)
    rows = [np.flatnonzero(parent < 0)]
    while len(rows[-1]):
        depth[rows[-1]] = len(rows) - 1
        rows.append(kin[_ranges(starts[rows[-1]], counts[rows[-1]])])
    if (depth < 0).any():
        raise ValueError(
            f"the ancestors of {names[int(np.argmin(depth))]} contain a cycle: correct the parents of these nodes"
        )
    return depth, rows[:-1]


def _children(parent: Whole) -> tuple[Whole, Whole, Whole]:
    """Return all nodes except the root, ordered by parent, with the index of the first child and the number of children
    of every node.
    """
    kin = np.argsort(parent, kind="stable")[1:]
    counts = np.bincount(parent[kin], minlength=len(parent))
    return kin, np.cumsum(counts) - counts, counts


def _ranges(starts: Whole, counts: Whole) -> Whole:
    """Return the concatenation of several ranges of integers start, start + 1, .., with given starts and lengths."""
    total = int(counts.sum())
    shift = np.repeat(starts - np.cumsum(counts) + counts, counts)
    return np.asarray(np.arange(total) + shift)


def _families(parent: Whole, rows: list[Whole]) -> tuple[Whole, Whole, Whole, Whole, list[int]]:
    """Return the order of the nodes of the internal tree, their parents, first children and numbers of children, and
    the layers of this tree. In the internal tree, the children of large families are divided into groups.
    """
    grown, size = parent, len(parent)
    if size == 1:  # a family needs a parent
        one, none = np.array([1, 0]), np.array([-1, 0])
        return none, none.copy(), one, one.copy(), [0, 1, 2]
    while True:
        kin, starts, counts = _children(grown)
        large = np.flatnonzero(counts > WIDEST)
        if not len(large):
            break
        groups = -(-counts[large] // GROUP)
        firsts = len(grown) + np.cumsum(groups) - groups
        within = np.concatenate([np.arange(n) // GROUP for n in counts[large]])
        members = kin[_ranges(starts[large], counts[large])]
        grown = np.concatenate([grown, np.repeat(large, groups)])
        grown[members] = np.repeat(firsts, counts[large]) + within
    if len(grown) > size:
        rows = _by_depth(grown, ("",) * len(grown))[1]
    order = np.concatenate(rows)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    above = np.where(grown[order] >= 0, place[grown[order]], -1)
    count = counts[order]
    first = np.where(count > 0, 1 + np.cumsum(count) - count, 0)
    layers = [0, *np.cumsum([len(row) for row in rows]).tolist()]
    return np.where(order < size, order, -1), above, first, count, layers


def _bounds(lower: ArrayLike, upper: ArrayLike | None, names: tuple[str, ...]) -> tuple[Whole, Whole]:
    """Return the lower and upper bounds on the count of every node. The value `NONE` means that there is no upper
    bound.
    """
    low = np.broadcast_to(_checks.integral("lower", lower), (len(names),))
    high = np.full(len(names), np.inf)
    if upper is not None:
        high = np.broadcast_to(np.asarray(upper, dtype=np.float64), (len(names),))
        _checks.integral("upper", np.where(np.isinf(high), 0.0, high))
    bad = (low < 0) | ~(high >= low)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"bounds must satisfy 0 <= lower <= upper, got {low[i]:.15g} to {high[i]:.15g} for the node {names[i]}"
        )
    upper_bounds = np.where(np.isinf(high), NONE, np.where(np.isinf(high), 0.0, high).astype(np.int64))
    return low.astype(np.int64), upper_bounds.astype(np.int64)


Array = NDArray[np.float64]
FEWEST = 30  # smallest number of leaves of a group for which a prior is fitted


@dataclass(frozen=True)
class Splits:
    """Prior that is flat on the count of the root and splits every count among the children by a Dirichlet-multinomial
    distribution.

    Given N, the counts of the k children have probability N! Gamma(kA)/Gamma(N + kA) prod Gamma(n_i + A)/(n_i!
    Gamma(A)); their shares have a symmetric Dirichlet distribution with concentration A. Children with upper bound 0
    are excluded.

    Parameters
    ----------
    concentrations : A of the splits into each level below the root, > 0: one number, a sequence (starting with the
        level below the root), or a mapping from levels to A. If None, all concentrations are fitted by maximising the
        exact evidence.
    """

    concentrations: float | Sequence[float] | Mapping[str, float] | None = None

    def by_level(self, tree: Tree) -> Array | None:
        """Return the concentration parameter of the splits for every level of the tree, as a float64 array of shape
        (levels,). The entry of the root is 1 and is not used. Return None if the concentrations are to be fitted.

        Raises
        ------
        ValueError, TypeError
            If a level does not have a number > 0, or the number of values is wrong.
        """
        given, below = self.concentrations, tree.levels[1:]
        if given is None:
            return None
        if isinstance(given, Mapping):
            if set(given) != set(below):
                raise ValueError(
                    f"concentrations must have one entry per level ({', '.join(below)}), got entries for "
                    f"{', '.join(given)}"
                )
            given = [given[name] for name in below]
        return np.concatenate([[1.0], _checks.positives("concentrations", given, len(below))])

    def settings(self) -> dict[str, object]:
        """Return the description of the prior as configuration keys and values."""
        return {"law": "splits"}


class Leaves:
    """Independent priors of the counts of the leaves of a tree. They imply a prior on every total (see
    `implied_totals`).

    Parameters
    ----------
    prior : ``"flat"``, ``"1/(1+n)"``, ``"fitted"``, another argument of `published.priors.prior_of`, or a mapping from
        groups to any of these.
    groups : one label per node, which names the group of each leaf (labels of inner nodes are ignored); None: all
        leaves are in one group.
    """

    def __init__(self, prior: Any = "1/(1+n)", groups: Sequence[str] | None = None) -> None:
        by_group = isinstance(prior, Mapping) and "law" not in prior
        if by_group and groups is None:
            raise ValueError(f"groups is required, because prior contains a prior per group ({', '.join(prior)})")
        self.groups = None if groups is None else tuple(groups)
        self.priors: dict[str, Any] = {}
        for name, words in (prior if by_group else {"": prior}).items():
            fitted = words == "fitted" or (isinstance(words, Mapping) and words.get("law") == "fitted")
            self.priors[name] = "fitted" if fitted else prior_of(words)
        self._by_group = by_group

    def rows(self, tree: Tree) -> tuple[list[str], Whole]:
        """Return the names of the groups of leaves, and the index of the group of each node, as an int64 array of shape
        (n,). The group of an inner node is -1.

        Raises
        ------
        ValueError
            If there is not exactly one label per node, or the group of a leaf has no prior.
        """
        if self.groups is None:
            return [""], np.where(tree.leaf, 0, -1)
        if len(self.groups) != len(tree):
            raise ValueError(
                f"groups must contain one group per node ({len(tree)} nodes), got {len(self.groups)} groups"
            )
        names = list(self.priors) if self._by_group else sorted({self.groups[i] for i in np.flatnonzero(tree.leaf)})
        places = {name: i for i, name in enumerate(names)}
        for i in np.flatnonzero(tree.leaf):
            if self.groups[i] not in places:
                raise ValueError(
                    f"no prior is given for group {self.groups[i]!r} of {tree.names[i]}. The groups "
                    f"with a prior are {', '.join(names)}"
                )
        group_index = [
            places[label] if leaf else -1 for label, leaf in zip(self.groups, tree.leaf.tolist(), strict=True)
        ]
        return names, np.array(group_index, dtype=np.int64)

    def of(self, group: str) -> Any:
        """Return the prior of one group of leaves, or ``"fitted"`` if the prior is to be fitted."""
        return self.priors[group if self._by_group else ""]

    def replaced(self, priors: Mapping[str, Any]) -> "Leaves":
        """Return a copy of this prior with the same groups of leaves and with new priors, given as a mapping from group
        to prior.
        """
        other = Leaves("flat", self.groups)
        other.priors, other._by_group = dict(priors), self._by_group or self.groups is not None
        return other

    def settings(self) -> dict[str, object]:
        """Return the description of the prior as configuration keys and values."""
        each = {name: p if isinstance(p, str) else p.settings() for name, p in self.priors.items()}
        return {"law": "leaves", "priors": each if self._by_group else each[""]}


class Histogram:
    """Prior of a count with a piecewise constant probability mass function, fitted to many leaves of one tree.

    Parameters
    ----------
    edges : int64 (cells + 1,), increasing from 0: cell b contains edges[b] .. edges[b + 1] - 1.
    masses : float64 (cells,), probability of each cell; normalised to a sum of 1.
    fitted_on : number of leaves used for the fit.
    """

    proper, first = True, 0.0

    def __init__(self, edges: ArrayLike, masses: ArrayLike, *, fitted_on: int) -> None:
        self.edges = np.asarray(edges, dtype=np.int64)
        p = np.asarray(masses, dtype=np.float64)
        self.masses: Array = p / p.sum()
        self.fitted_on, self.last = fitted_on, float(self.edges[-1] - 1)
        self.logs: Array = np.log(self.masses / np.diff(self.edges))
        self.peak = float(self.logs.max())

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior probabilities of given counts. The value is -inf for counts outside the cells of the
        histogram.
        """
        n = np.asarray(counts, dtype=np.float64)
        cell = np.searchsorted(self.edges, n, side="right") - 1
        inside = (cell >= 0) & (cell < len(self.logs))
        return np.where(inside, self.logs[np.where(inside, cell, 0)], -np.inf)

    def settings(self) -> dict[str, object]:
        """Return a description of the fitted prior: the number of leaves that were used in the fit, and the probability
        of the first bin of the histogram.
        """
        return {"law": "fitted", "fitted_on": self.fitted_on, "zero": float(self.masses[0])}


def moments(prior: CountPrior) -> tuple[float, float]:
    """Return the prior mean and the prior variance of one count. Both are infinite if the prior is improper."""
    words = prior.settings()
    if not prior.proper:
        return np.inf, np.inf
    if words["law"] in ("geometric", "negative_binomial"):
        mean = float(str(words["mean"]))
        return mean, mean + mean**2 / float(str(words.get("shape", 1.0)))
    n = np.arange(int(prior.first), int(prior.last) + 1)
    p = np.exp(prior.log_weights(n))
    mean = float(n @ p)
    return mean, float((n - mean) ** 2 @ p)
