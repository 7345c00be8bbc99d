"""Moves of a chain over crossed cells: whole trees of changes along one direction, drawn exactly given all the rest.

A direction gives +1, 0 or -1 to every cell: one cell alone, a pair of cells whose sum stays, or four whose sums stay in
both directions of a table. The count n of its first cell determines all others that move, in every node, and adds up
over the tree; given the rest its law is that of a tree (`_solver`), from which it is drawn anew.
"""

from collections.abc import Callable
from functools import partial
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
TABLED = 1_000_000  # counts below which log priors are tabled


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
        self._together = self.plain[0].copy()  # of cells that move together: their priors are listed
        self._together["own"] = self._together["others"] = 1.0
        self._later = [not self._formulas(i) for i in range(len(priors))]
        self._classes = [self._classed(i) for i in range(len(priors))]
        sizes = np.cumsum([0, *(len(laws) for laws, _ in self._classes)])
        self._rows = np.array(
            [np.where(row >= 0, row + s, -1) for (_, row), s in zip(self._classes, sizes[:-1], strict=True)]
        )
        self._known = np.zeros((int(sizes[-1]), 0))
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
        first, several = int(np.argmax(direction)), int(np.abs(direction).sum()) > 1
        sites = (self._together if several else self.plain[first]).copy()
        free, total, most = along.known.ends(state, sites)
        if not free:
            return None
        along.known.shapes(state, sites)
        if several and total > LARGEST:
            raise ValueError(
                f"counts of crossed cells must be few enough for a chain, {LARGEST} possible ones in all nodes "
                f"together, got {total}: method='least squares'"
            )
        if not along.bent and (most < TABLED if several else not self._later[first]):
            logs = np.zeros(total + 1 if several else 1)
            if several:
                along.known.priors(state, sites, self._tables(most), self._rows, logs)
            return sites, logs
        lists = Lists()
        if several:
            self._list(sites, lists, state, direction)
        along.lists(state, sites, lists)
        if not several and self._later[first]:
            self._assume(first, sites, lists)
        return sites, lists.joined()

    def _formulas(self, cell: int) -> bool:
        """Put a cell's prior of leaves into its plain sites, where it needs no list."""
        sites, lists = self.plain[cell].copy(), Lists()
        self._assume(cell, sites, lists)
        if (sites["table"] >= 0).any():
            return False
        self.plain[cell] = sites
        return True

    def _assume(self, cell: int, sites: NDArray[Any], lists: Lists) -> None:
        if isinstance(prior := self.priors[cell], Leaves):
            names, groups = prior.rows(self.tree)
            for i, name in enumerate(names):
                _prior_sites.assume(sites, lists, self.trees[cell], prior.of(name), np.flatnonzero(groups == i))

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

    def _list(self, sites: NDArray[Any], lists: Lists, state: Whole, direction: Whole) -> None:
        """The prior of all cells that move, as lists between the ends, of counts that no table has."""
        low, sizes = sites["lower"].copy(), sites["upper"] - sites["lower"] + 1
        row = np.repeat(np.arange(len(low)), sizes)
        n = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[row]
        change = n - state[row, np.argmax(direction)]
        logs = np.zeros(len(row))
        for cell in np.flatnonzero(direction).tolist():
            laws, rows = self._classes[cell]
            counts = state[row, cell] + direction[cell] * change
            for i, law in enumerate(laws):
                own = rows[row] == i
                logs[own] += law(counts[own])
        lists.put_many(sites, low, sizes, logs)

    def _tables(self, most: int) -> Array:
        """Log weights of counts up to `most` at least, one row a law of any cell: they depend on no state."""
        if most >= self._known.shape[1]:
            n = np.arange(2 * most + 64)
            laws = [law for each, _ in self._classes for law in each]
            self._known = np.array([law(n) for law in laws]).reshape(len(laws), len(n))
        return self._known

    def _classed(self, cell: int) -> tuple[list[Callable[[Whole], Array]], Whole]:
        """Different parts of its prior in single nodes; which one every node has, in the kernels' order, or -1."""
        prior, rows = self.priors[cell], np.full(len(self.tree.order), -1, dtype=np.int64)
        if isinstance(prior, Leaves):
            names, rows[self.tree.place] = prior.rows(self.tree)
            return [prior.of(name).log_weights for name in names], rows
        pairs = np.stack([self.plain[cell]["own"], self.plain[cell]["others"]], axis=1)
        rises = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        found, rows[rises] = np.unique(pairs[rises], axis=0, return_inverse=True)
        return [partial(_rise, own=own, others=others) for own, others in found.tolist()], rows


def _rise(n: Whole, own: float, others: float) -> Array:
    return np.asarray(gammaln(n + own) - gammaln(n + others))


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
