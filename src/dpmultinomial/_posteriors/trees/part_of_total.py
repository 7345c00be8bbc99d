"""Posterior distribution of the counts of one cell in all nodes of a tree, given the totals of all nodes.

In every node, the cell has the count c, and its complement (the remainder of the total t) has the count r = t - c. Both
are >= 0, both are additive along the tree, and both have a prior of splits (`priors.Splits`) with separate
concentrations. Given all totals t, the counts of the cell have the weights of a tree with one more factor per node: the
weight of r in its splits, as a function of c.

`Mixture` sums the distributions of all nodes over several draws of the totals.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..._accuracy import LEVEL
from ..._mechanisms.gaussian import Gaussian
from . import _solver
from ._tree_law import TreeLaw, difference, total
from .measurements import FAR, Measurements, bounded, multiply_splits
from .tree import Splits, Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
GOAL = 1e-10  # goal for the bound on the neglected mass
WIDTHS = (
    12.0,
    60.0,
    1000.0,
)  # half-widths of a list of weights, in standard deviations; if one is too small, the next is used


@dataclass(frozen=True)
class Windows:
    """Distributions of counts on ranges of consecutive integers, with one distribution per node of a tree.

    Parameters
    ----------
    low, size : int64 (n,), smallest value and number of values.
    p : float64, concatenated probabilities of all nodes.
    """

    low: Whole
    size: Whole
    p: Array

    @classmethod
    def of(cls, parts: Iterable[tuple[int, Array]]) -> "Windows":
        """Build a `Windows` object from a sequence of distributions, each given as (smallest value, probabilities)."""
        every = list(parts)
        low = np.array([first for first, _ in every], dtype=np.int64)
        size = np.array([len(p) for _, p in every], dtype=np.int64)
        return cls(low, size, np.concatenate([np.zeros(0), *(p for _, p in every)]))

    @property
    def begin(self) -> Whole:
        """Index of the first probability of each node in the array that concatenates the probabilities of all nodes."""
        return np.asarray(np.cumsum(self.size) - self.size)

    @property
    def node(self) -> Whole:
        """Index of the node to which each probability in the concatenated array belongs."""
        return np.repeat(np.arange(len(self.low)), self.size)

    @property
    def values(self) -> Whole:
        """Value of the count for each probability in the concatenated array."""
        return np.asarray(np.arange(len(self.p)) + np.repeat(self.low - self.begin, self.size))

    def at(self, i: int) -> tuple[int, Array]:
        """Return the distribution of the count of one node, as (smallest value, probabilities), with probabilities that
        sum to 1.
        """
        begin = int(self.begin[i])
        p = self.p[begin : begin + int(self.size[i])]
        return int(self.low[i]), p / p.sum()

    def on(self, low: Whole, size: Whole) -> "Windows":
        """Return a copy of the distributions on wider ranges of values, with probability 0 for the additional values.
        These ranges contain the current ranges.
        """
        p = np.zeros(int(size.sum()))
        begin = np.cumsum(size) - size
        p[self.values + np.repeat(begin - low, self.size)] = self.p
        return Windows(low, size, p)

    def scaled(self) -> "Windows":
        """Return a normalised copy of the distributions of counts, in which the probabilities of each distribution sum
        to 1.
        """
        return Windows(self.low, self.size, self.p / np.repeat(self._sums(self.p), self.size))

    def _sums(self, values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, self.begin), dtype=np.float64)

    def numbers(self, level: float) -> tuple[Array, Array, Array, Array]:
        """Return the mean, the standard deviation and the ends of the central interval of every node, as four float64
        arrays of shape (n,).

        Parameters
        ----------
        level : probability of the intervals, in (0, 1).
        """
        one, node, values = self.scaled(), self.node, self.values
        mean = self.low + one._sums(one.p * (values - self.low[node]))
        sd = np.sqrt(one._sums(one.p * (values - mean[node]) ** 2))
        below = np.cumsum(one.p)
        below = below - np.repeat(np.append(0.0, below[self.begin[1:] - 1]), self.size)
        tail = (1 - level) / 2
        ends = [self.low + one._sums((below < chance).astype(float)) for chance in (tail, 1 - tail)]
        return mean, sd, *(np.minimum(end, self.low + self.size - 1).astype(float) for end in ends)

    def at_most(self, upper: Array) -> tuple["Windows", Array]:
        """Return, for each node, the distribution of the count given that the count is at most `upper`, and the
        probability of larger counts.

        A count that exceeds `upper` with probability 1 is set to `upper`.
        """
        one = self.scaled()
        beyond = self.values > upper[self.node]
        dropped = np.minimum(one._sums(np.where(beyond, one.p, 0.0)), 1.0)
        p = np.where(beyond, 0.0, one.p)
        lost = one._sums(p) <= 0
        low = np.where(lost, np.minimum(upper, self.low), self.low).astype(np.int64)
        p[self.begin[lost]] = 1.0
        return Windows(low, self.size, p).scaled(), np.where(lost, 1.0, dropped)


def distance(one: Windows, other: Windows) -> Array:
    """Return, for every node, the total variation distance between two distributions of the count of the node, as a
    float64 array of shape (n,).
    """
    low, size = _together(one, other)
    a, b = one.scaled().on(low, size), other.scaled().on(low, size)
    return np.asarray(0.5 * a._sums(np.abs(a.p - b.p)), dtype=np.float64)


def added(one: Windows, other: Windows) -> Windows:
    """Add the weights of two collections of distributions, separately for every node and every possible count."""
    low, size = _together(one, other)
    a, b = one.on(low, size), other.on(low, size)
    return Windows(low, size, a.p + b.p)


def _together(one: Windows, other: Windows) -> tuple[Whole, Whole]:
    low = np.minimum(one.low, other.low)
    return low, np.maximum(one.low + one.size, other.low + other.size) - low


class Mixture:
    """Equally weighted mixture of several distributions of the count, for each node of a tree. The mixtures of two
    halves of the components are also stored.
    """

    def __init__(self) -> None:
        self.halves: list[Windows] = []
        self.number = 0

    def add(self, windows: Windows) -> None:
        """Add a component to the mixture, alternately to the first half and to the second half of the mixture."""
        half = self.number % 2
        if len(self.halves) <= half:
            self.halves.append(windows)
        else:
            self.halves[half] = added(self.halves[half], windows)
        self.number += 1

    @property
    def whole(self) -> Windows:
        """Return the mixture of all components, normalised for every node."""
        return added(*self.halves).scaled() if len(self.halves) == 2 else self.halves[0].scaled()

    @property
    def difference(self) -> Array:
        """Return, for every node, the total variation distance between two mixtures, each formed by one half of the
        components. The distance is 1 if the mixture has only one component.
        """
        return distance(*self.halves) if len(self.halves) == 2 else np.ones(len(self.halves[0].low))


def windows(law: TreeLaw) -> Windows:
    """Return the posterior distributions of the counts of all nodes of a tree, in the order of the nodes."""
    tree = law.tree
    parts: list[tuple[int, Array]] = [(0, np.zeros(0))] * len(tree)
    parts[int(tree.order[0])] = law.window(0)
    for row in np.flatnonzero(tree.count > 0).tolist():
        first = int(tree.first[row])
        for k, window in enumerate(law.children(row)):
            if (node := int(tree.order[first + k])) >= 0:
                parts[node] = window
    return Windows.of(parts)


def combined(law: TreeLaw, one: int, two: int, *, minus: bool = False) -> tuple[int, Array]:
    """Return the distribution of the sum or the difference of two counts of a tree, as (smallest value, probabilities).

    Parameters
    ----------
    law : posterior of the tree.
    one, two : positions of the counts.
    minus : whether to subtract the second count.

    Returns
    -------
    int, float64 (values,)
    """
    return (difference if minus else total)(law.pair(one, two))


class PartOfTotal:
    """Posterior distribution of the counts of one cell in all nodes, given the totals of all nodes.

    Parameters
    ----------
    cell, rest : trees with the same nodes, with the bounds on the cell and on its complement.
    concentrations : concentrations of the splits of the cell and of its complement, float64 (levels,) each, by depth;
        the entry of the root is not used.
    released, slope : float64 (n,), with `released + slope * t` the estimate of the cell given the total t.
    variance : float64 (n,), variance of the estimate; infinite if the cell is not measured, 0 if the estimate is exact.
    level : probability of the intervals.
    """

    def __init__(
        self,
        cell: Tree,
        rest: Tree,
        concentrations: tuple[Array, Array],
        released: Array,
        slope: Array,
        variance: Array,
        *,
        level: float = LEVEL,
    ) -> None:
        self.tree, self.rest, self.level = cell, rest, level
        self.released, self.slope, self.variance = released, slope, variance
        self._sites, self._others = bounded(cell), bounded(rest)
        multiply_splits(self._sites, cell, concentrations[0])
        multiply_splits(self._others, rest, concentrations[1])
        self._tilts: Array | None = None
        self._nothing = Measurements(cell, [], [], Gaussian(sigma=1.0))
        self._prior = Splits(concentrations[0][1:].tolist() or None)

    def given(self, totals: Whole) -> TreeLaw:
        """Return the posterior distribution of the counts of one cell in all nodes, given the totals of all nodes.

        Parameters
        ----------
        totals : int64 (n,), >= 0, additive along the tree.

        Raises
        ------
        ValueError
            If no counts of the cell are possible given these totals.
        """
        for width in WIDTHS:
            try:
                solved = self._solved(*self._weights(np.asarray(totals, dtype=np.int64), width))
                break
            except _solver.Unsolved:
                if width == WIDTHS[-1]:
                    raise
        self._tilts = solved.tilts
        deepest = len(self.tree.levels) - 1
        return TreeLaw(self._nothing, solved, self._prior, solved.log_evidence, self.level, deepest, {})

    def _solved(self, sites: NDArray[np.void], tables: Array) -> _solver.Solved:
        if self._tilts is not None:
            try:
                solved = _solver.solve(self.tree, sites, tables, goal=GOAL, start=self._tilts, blind=False)
                if solved.bound <= GOAL:
                    return solved
            except ValueError:
                pass
        return _solver.solve(self.tree, sites, tables, goal=GOAL)

    def _ends(self, t: Whole) -> tuple[Whole, Whole]:
        """Return the smallest and the largest possible count of the cell, given all bounds on the cell and its
        complement.
        """
        cell_sites, other, place = self._sites, self._others, self.tree.place
        low = np.maximum(cell_sites["lower"][place], t - np.minimum(other["upper"][place], FAR))
        return self._consistent(np.maximum(low, 0), np.minimum(cell_sites["upper"][place], t - other["lower"][place]))

    def _consistent(self, low: Whole, high: Whole) -> tuple[Whole, Whole]:
        """Return the smallest and the largest possible count of every node, given the limits on the counts of its
        children and its parent. Without this step, counts that are known through other counts would need windows as
        wide as the noise of the measurements.

        Raises
        ------
        ValueError
            If a node has no possible count.
        """
        tree, low, high = self.tree, low.copy(), high.copy()
        levels = [np.flatnonzero(tree.depth == depth) for depth in range(1, len(tree.levels))]
        for rows in levels[::-1]:
            above = np.unique(tree.parent[rows])
            least, most = _added_up(tree, rows, low), _added_up(tree, rows, high)
            low[above], high[above] = np.maximum(low, least)[above], np.minimum(high, most)[above]
        for rows in levels:
            least, most, above = _added_up(tree, rows, low), _added_up(tree, rows, high), tree.parent[rows]
            first = low[above] - (most[above] - high[rows])
            high[rows] = np.minimum(high[rows], high[above] - (least[above] - low[rows]))
            low[rows] = np.maximum(low[rows], first)
        if (low > high).any():
            i = int(np.flatnonzero(low > high)[0])
            raise _solver.Unsolved(
                f"no count of the cell in {tree.names[i]} agrees with the bounds and the totals, which require at "
                f"least {low[i]:.15g} and at most {high[i]:.15g}: correct the bounds or the measurements"
            )
        return low, high

    def _weights(self, t: Whole, width: float) -> tuple[NDArray[np.void], Array]:
        """Return the weights of the possible counts of one cell at every node, given the totals of all nodes. A weight
        is the product of the parabola of the estimate, the splits of the cell, and the splits of its complement, stored
        as a list over the possible counts of the cell.
        """
        place, sites = self.tree.place, self._sites.copy()
        low, high = self._ends(t)
        centre = np.where(np.isfinite(self.variance), self.released + self.slope * t, 0.0)
        known = self.variance == 0
        noisy = np.isfinite(self.variance) & ~known
        reach = np.where(noisy, width * np.sqrt(np.where(noisy, self.variance, 1.0)), np.where(known, 0.5, np.inf))
        near = np.where(np.isfinite(self.variance), np.clip(centre, low, high), low)
        near = np.where(known, np.rint(near), near)
        first = np.maximum(low, np.ceil(near - reach)).astype(np.int64)
        last = np.minimum(high, np.floor(near + reach)).astype(np.int64)
        first, last = self._consistent(first, last)
        sites["lower"][place], sites["upper"][place] = first, last
        sites["centre"][place] = np.where(noisy, centre, 0.0)
        sites["square"][place] = np.where(noisy, 0.5 / np.where(noisy, self.variance, 1.0), 0.0)
        own_shape, others = self._others["own"][place], self._others["others"][place]
        rows = np.flatnonzero(own_shape != others)
        size = last[rows] - first[rows] + 1
        begin = np.cumsum(size) - size
        row = np.repeat(rows, size)
        rest = (t - first)[row] - (np.arange(len(row)) - np.repeat(begin, size))
        base = np.rint(t - np.clip(near, first, last))[row]  # logs are relative to a likely count
        logs = gammaln(rest + own_shape[row]) - gammaln(base + own_shape[row]) - gammaln(rest + others[row])
        logs += gammaln(base + others[row])
        listed = place[rows]
        sites["table"][listed], sites["begin"][listed], sites["length"][listed] = begin, first[rows], size
        if len(rows):
            highest, lowest = np.maximum.reduceat(logs, begin), np.minimum.reduceat(logs, begin)
            sites["highest"][listed], sites["swing"][listed] = highest, highest - lowest
        return sites, np.append(logs, 0.0)


def _added_up(tree: Tree, rows: Whole, values: Whole) -> Whole:
    """Return, for every node of the tree, the sum of the values of the children in `rows`, as an int64 array of shape
    (n,).
    """
    out = np.zeros(len(tree), dtype=np.int64)
    np.add.at(out, tree.parent[rows], values[rows])
    return out
