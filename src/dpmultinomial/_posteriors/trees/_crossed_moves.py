"""Moves of a chain over crossed cells: whole trees of changes along one direction, drawn exactly given all the rest.

A direction gives +1, 0 or -1 to every cell: one cell alone, a pair of cells whose sum stays, or four whose sums stay in
both directions of a table. The count n of its first cell determines all others that move, in every node, and adds up
over the tree; given the rest its law is that of a tree (`_solver`), from which it is drawn anew.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from . import _prior_sites, _solver
from ._crossed_laws import Along
from .crossed import Crossed
from .priors import Leaves, Splits
from .sites import FAR, SITE, Lists
from .sums_down import drawn

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
LARGEST = 4_000_000  # counts that the weights of one move list


class Moves:
    """The moves of one posterior.

    Parameters
    ----------
    crossed : the measured numbers.
    priors : one a cell, everything in them fitted.
    directions : int64 (d, cells), `directions.of`.

    Attributes
    ----------
    bound : largest bound of the total variation between the law of a move and what was computed of it.
    """

    def __init__(self, crossed: Crossed, priors: list[Splits | Leaves], directions: Whole) -> None:
        tree = crossed.tree
        self.crossed, self.tree, self.priors, self.directions = crossed, tree, priors, directions
        self.trees = [crossed.tree_of(i) for i in range(len(crossed.cells))]
        self.plain = np.zeros((len(crossed.cells), len(tree.order)), dtype=SITE)
        self.plain["own"] = self.plain["others"] = 1.0
        for i, prior in enumerate(priors):
            if isinstance(prior, Splits) and len(tree) > 1:
                by_level = prior.by_level(self.trees[i])
                if by_level is None:
                    raise ValueError(f"the concentrations of {crossed.cells[i]} must be given or fitted")
                _prior_sites.split(self.plain[i], self.trees[i], by_level)
        self.plain["upper"], self.plain["table"] = FAR, -1
        self.plain["below"] = self.plain["above"] = np.inf
        self._along = [Along(crossed, direction) for direction in directions]
        self._tilts: list[Array | None] = [None] * len(directions)
        self.bound = 0.0

    def move(self, state: Whole, which: int, rng: np.random.Generator) -> bool:
        """Draw the tree of one direction anew; whether it could move at all.

        Parameters
        ----------
        state : int64 (m, cells), counts in the kernels' order; changed.
        which : the direction.
        rng : numpy Generator.
        """
        made = self.weights(state, which)
        if made is None:
            return False
        sites, tables = made
        solved = self._solved(sites, tables, which)
        self._tilts[which], self.bound = solved.tilts, max(self.bound, solved.bound)
        direction = self.directions[which]
        new = drawn(self.tree, solved.messages, rng)
        state += (new - state[:, np.argmax(direction)])[:, None] * direction[None, :]
        return True

    def weights(self, state: Whole, which: int) -> tuple[NDArray[Any], Array] | None:
        """Weights of the count of a direction's first cell given all the rest; None where nothing can move.

        Parameters
        ----------
        state, which : as of `move`.

        Returns
        -------
        (sites, tables) or None
        """
        direction, along = self.directions[which], self._along[which]
        first = int(np.argmax(direction))
        sites = self.plain[first].copy()
        low, high = along.ends(state)
        free = low < high
        if not free[self.tree.count == 0].any():
            return None
        sites["lower"], sites["upper"] = low, high
        along.parabolas(state, sites)
        lists = Lists()
        several = int((direction != 0).sum()) > 1
        if several:
            sites["own"] = sites["others"] = 1.0
            self._list(sites, lists, state, direction, low, high)
        along.lists(state, sites, lists)
        if not several and isinstance(prior := self.priors[first], Leaves):
            names, groups = prior.rows(self.tree)
            for i, name in enumerate(names):
                rows = np.flatnonzero(groups == i)
                _prior_sites.assume(sites, lists, self.trees[first], prior.of(name), rows)
        return sites, lists.joined()

    def _solved(self, sites: NDArray[Any], tables: Array, which: int) -> _solver.Solved:
        """Messages, from the tilts of the last time where they still serve."""
        if (start := self._tilts[which]) is not None:
            try:
                found = _solver.solve(self.tree, sites, tables, goal=_solver.ENOUGH, start=start, blind=False)
            except ValueError:
                pass
            else:
                if found.bound <= _solver.ENOUGH:
                    return found
        return _solver.solve(self.tree, sites, tables, goal=_solver.ENOUGH)

    def _list(self, sites: NDArray[Any], lists: Lists, state: Whole, direction: Whole, low: Whole, high: Whole) -> None:
        """The prior of all cells that move, as lists between the ends."""
        sizes = high - low + 1
        if (total := int(sizes.sum())) > LARGEST:
            raise ValueError(
                f"counts of crossed cells must be few enough for a chain, {LARGEST} possible ones in all nodes "
                f"together, got {total}: method='least squares'"
            )
        row = np.repeat(np.arange(len(low)), sizes)
        n = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[row]
        change = n - state[row, np.argmax(direction)]
        logs = np.zeros(total)
        for cell in np.flatnonzero(direction).tolist():
            logs += self._log_prior(cell, row, state[row, cell] + direction[cell] * change)
        lists.put_many(sites, low, sizes, logs)

    def _log_prior(self, cell: int, row: Whole, counts: Whole) -> Array:
        """Its part of single nodes, for counts of nodes in the kernels' order."""
        prior = self.priors[cell]
        if isinstance(prior, Splits):
            own, others = self.plain[cell]["own"], self.plain[cell]["others"]
            out = np.zeros(len(row))
            rises = own[row] != others[row]
            at, n = row[rises], counts[rises]
            out[rises] = gammaln(n + own[at]) - gammaln(n + others[at])
            return out
        names, groups = prior.rows(self.tree)
        out = np.zeros(len(row))
        group = np.full(len(self.tree.order), -1, dtype=np.int64)
        group[self.tree.place] = groups
        for i, name in enumerate(names):
            own_rows = group[row] == i
            if own_rows.any():
                out[own_rows] = prior.of(name).log_weights(counts[own_rows])
        return out


def starts(crossed: Crossed, leaves: Whole) -> Whole:
    """Counts of all nodes in the kernels' order, groups of large families among them, from those of the leaves.

    Parameters
    ----------
    crossed : of the tree.
    leaves : int64 (n, cells), counts; what stands at inner nodes is not read.

    Returns
    -------
    int64 (m, cells)
    """
    tree = crossed.tree
    out = np.zeros((len(tree.order), leaves.shape[1]), dtype=np.int64)
    out[tree.place[tree.leaf]] = leaves[tree.leaf]
    for row in range(len(tree.order) - 1, 0, -1):
        out[tree.above[row]] += out[row]
    return out
