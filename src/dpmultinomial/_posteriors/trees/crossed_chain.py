"""Joint posterior distribution of the cells of a histogram in all nodes of a tree (crossed cells), simulated by Markov
chains. Each move of a chain draws the counts of a whole tree exactly.

Crossed cells are a histogram in every node of a tree, with noisy sums over several cells of the histogram.

A move of a chain changes the cells along a direction. A direction assigns +1, 0 or -1 to every cell: a single cell, a
pair of cells with a constant sum, or four cells with constant sums in both dimensions of a table. The directions are
chosen so that the moves can reach all counts with the exactly known sums.

The count n of the first cell of a direction determines the counts of all other moving cells, in every node, and is
additive over the tree. Given all other counts, n has the distribution of a count in a tree (`_solver`), from which the
move draws exactly. `Along` is the likelihood of the measured values along one direction, given all other counts.

The chains start at counts that satisfy all exact sums and bounds and are close to given counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack
from scipy.special import gammaln

from ... import _accuracy, _checks
from ..._accuracy import LARGEST_RHAT, Accuracy, of_chains
from ..._mechanisms.coarsened import Coarsened
from ..._mechanisms.noise_law import LawByRow, NoiseLaw
from ..._mechanisms.perturbation import Perturbation
from ..._mechanisms.random_rounding import RandomRounding
from ..._printing import steps
from . import _solver
from ._sites import Ends
from ._solver import drawn
from ._tree_law import TreeLaw
from .measurements import (
    FAR,
    LISTED,
    PARABOLA,
    POINT,
    REACH,
    SITE,
    TENT,
    Listed,
    Lists,
    assume_prior,
    fall,
    multiply_splits,
    shapes,
)
from .tree import NONE, Leaves, Splits, Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class Crossed:
    """Noisy sums over the cells of a histogram, measured at arbitrary nodes of a tree.

    Parameters
    ----------
    tree : the nodes; their bounds are ignored (see `lower` and `upper`).
    queries : mapping from a query to the cell names in its sum, each cell once. The cells of the histogram are
        the cells of all queries.
    released : (nodes, queries), NaN if a node has no value for a query.
    noise : noise distribution with one row per released value, ordered by node, or one distribution for all values.
    lower, upper : (nodes, queries) or one number, known bounds on the true sums.
    withheld : bool (nodes, queries), whether a missing value means that the noisy value was below a threshold.

    Attributes
    ----------
    cells : cell names.
    sums : bool (queries, cells), the cells in the sum of each query.
    targets : names of the requested quantities: all cells, then the queries with several cells.
    cover : bool (targets, cells), the cells in the sum of each target.
    nodes, which : int64 (r,), node and query of every measured value.
    values : float64 (r,), the measured values; NaN if withheld.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, if a value is impossible under its distribution, or if a distribution is a table of
        probabilities, because a table can prevent a chain from reaching some counts.
    """

    def __init__(
        self,
        tree: Tree,
        queries: Mapping[str, Sequence[str]],
        released: ArrayLike,
        noise: NoiseLaw,
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        withheld: NDArray[np.bool_] | None = None,
    ) -> None:
        self.tree, self.queries = tree, tuple(queries)
        self.cells, self.sums = _cells(queries)
        several = self.sums.sum(axis=1) > 1
        self.targets = (*self.cells, *(name for name, more in zip(self.queries, several, strict=True) if more))
        self.cover = np.concatenate([np.eye(len(self.cells), dtype=bool), self.sums[several]])
        table = np.asarray(released, dtype=np.float64)
        _checks.shaped("released", np.where(np.isnan(table), 0.0, table), len(tree), len(self.queries))
        asked = ~np.isnan(table) if withheld is None else ~np.isnan(table) | withheld
        self.nodes, self.which = np.nonzero(asked)
        self.values = table[asked]
        flat = np.flatnonzero(asked.ravel())
        if noise.row_count is None:
            noise = LawByRow([noise], np.zeros(table.size, dtype=np.int64))
        if not isinstance(noise, LawByRow) or noise.row_count != table.size:
            raise TypeError(f"noise must be a single distribution, or a LawByRow with {table.size} rows, got {noise!r}")
        self.noise = noise.take(flat)
        inner = [law.noise if isinstance(law, Coarsened) else law for law in self.noise.laws]
        if any(isinstance(law, Perturbation | RandomRounding) for law in inner):
            raise ValueError(
                "noise of crossed cells must be additive, got "
                f"{next(law for law in inner if isinstance(law, Perturbation | RandomRounding))!r}"
            )
        self._known: dict[int, Array] = {}
        self.form = shapes(self.values, self.noise)
        self.lower, self.upper = self._bounds(lower, upper)

    def __repr__(self) -> str:
        return f"Crossed({len(self.cells)} cells, {len(self.values)} numbers, {self.tree!r})"

    @cached_property
    def hard(self) -> tuple[Whole, Whole, Array, Array]:
        """Return the nodes, queries, lower bounds and upper bounds of all sums that are exact, have an upper bound, or
        have a lower bound above 0.
        """
        rows = np.nonzero((self.lower > 0) | np.isfinite(self.upper))
        return rows[0], rows[1], self.lower[rows], self.upper[rows]

    @cached_property
    def exact(self) -> NDArray[np.int64]:
        """Return the distinct queries that sum several cells and whose true value is known for at least one node, as an
        int64 array of shape (e, cells).
        """
        fixed = (self.lower == self.upper).any(axis=0) & (self.sums.sum(axis=1) > 1)
        return np.asarray(self.sums[fixed], dtype=np.int64)

    def log_likelihood(self, number: int, sums: Whole) -> Array:
        """Return the log likelihood of one measured value for each of several true sums, which are integers of at least
        -1. The values are computed once and cached.

        Parameters
        ----------
        number : index of the measured value in `values`.
        sums : int64, true values.
        """
        known, most = self._known.get(number), int(sums.max(initial=0)) + 2
        if known is None or len(known) < most:
            law, value = self.noise.take(np.array([number])), self.values[[number]]
            known = np.asarray(law.log_likelihood(value[:, None], np.arange(-1, 2 * most)[None]), dtype=np.float64)[0]
            self._known[number] = known
        return known[sums + 1]

    def tree_of(self, target: int) -> Tree:
        """Return a tree whose counts are the counts of one target (a cell or a sum of cells), with the bounds on these
        counts.

        Parameters
        ----------
        target : index of the target in `targets`.
        """
        tree, size = self.tree, len(self.tree)
        rows_of_target = np.flatnonzero((self.sums == self.cover[target]).all(axis=1))
        lower, upper = np.zeros(size), np.full(size, np.inf)
        for query in rows_of_target:
            lower, upper = np.maximum(lower, self._given[0][:, query]), np.minimum(upper, self._given[1][:, query])
        return Tree(tree.parent, names=tree.names, levels=tree.levels, lower=lower, upper=upper)

    def _bounds(self, lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
        """Return the lower and upper bounds of all sums, including the bounds that exact values imply."""
        shape = len(self.tree), len(self.queries)
        known = np.where(self.tree.upper == NONE, np.inf, self.tree.upper.astype(np.float64))
        if known.min() < np.inf or self.tree.lower.max() > 0:
            raise ValueError("for crossed cells, bounds must be set on queries, got bounds on the nodes of the tree")
        low = np.array(np.broadcast_to(np.asarray(lower, dtype=np.float64), shape))
        high = np.array(np.broadcast_to(np.asarray(upper, dtype=np.float64), shape))
        low = np.maximum(np.ceil(np.nan_to_num(low, nan=0.0)), 0.0)
        high = np.floor(np.nan_to_num(high, nan=np.inf, posinf=np.inf))
        self._given = low.copy(), high.copy()
        points = self.form.kind == POINT
        places = self.nodes[points], self.which[points]
        low[places], high[places] = (
            np.maximum(low[places], self.values[points]),
            np.minimum(high[places], self.values[points]),
        )
        bad = np.argwhere(~(low <= high))
        if len(bad):
            node, query = bad[0].tolist()
            raise ValueError(
                f"bounds must satisfy 0 <= lower <= upper and contain every exact value, got {low[node, query]:.15g} "
                f"to {high[node, query]:.15g} for the node {self.tree.names[node]} and the query {self.queries[query]}"
            )
        return low, high


def _cells(queries: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Return the names of all cells, and a boolean matrix (queries, cells) that indicates the cells of each query. The
    cells are in the order of their first occurrence in the queries, with single-cell queries first.
    """
    if not queries:
        raise ValueError("queries must contain at least one query, got none")
    cells_in_order: dict[str, None] = {}
    for name, cells in sorted(queries.items(), key=lambda item: len(item[1]) > 1):
        if isinstance(cells, str) or not isinstance(cells, Sequence) or not len(cells):
            raise TypeError(f"the query {name} must be a list of cell names, got {cells!r}")
        if len(set(cells)) < len(cells):
            raise ValueError(f"the query {name} must not contain a cell more than once, got {list(cells)}")
        cells_in_order |= dict.fromkeys(map(str, cells))
    places = {cell: i for i, cell in enumerate(cells_in_order)}
    sums = np.zeros((len(queries), len(cells_in_order)), dtype=bool)
    for i, (name, cells) in enumerate(queries.items()):
        sums[i, [places[str(cell)] for cell in cells]] = True
        if len(cells) > 1 and name in places:
            raise ValueError(
                f"the query {name} has the same name as a cell but is the sum of several cells "
                f"({', '.join(map(str, cells))}): rename the query"
            )
    return tuple(cells_in_order), sums


MOST_CELLS = 40  # largest number of cells for which moves of four cells are used


def directions(cells: int, exact: Whole) -> Whole:
    """Return the directions in which a Markov chain moves. They are single cells, pairs of cells with a constant sum
    and, if required by exact sums, groups of four cells of a table.

    Parameters
    ----------
    cells : number of cells.
    exact : int64 (e, cells), sums that are exact in at least one node.

    Returns
    -------
    int64 (d, cells), entries +1, 0 and -1; the first non-zero entry is positive.

    Raises
    ------
    ValueError
        If these directions do not span the changes that keep all exact sums: margins that cross in three dimensions.
    """
    one = np.eye(cells, dtype=np.int64)
    moves = [*one, *(one[a] - one[b] for a, b in combinations(range(cells), 2))]
    needed = cells - (int(np.linalg.matrix_rank(exact)) if len(exact) else 0)
    if _free(moves, exact) < needed and cells <= MOST_CELLS:
        moves += _fours(one, exact)
    if _free(moves, exact) < needed:
        raise ValueError(
            "the chain cannot move between the tables that agree with the exact margins, because the "
            "margins overlap in three dimensions: use method='least squares'"
        )
    return np.array(moves)


def _free(found: list[Whole], exact: Whole) -> int:
    """Return the number of linearly independent directions in which the counts can change while all exact sums remain
    constant.
    """
    kept = [d for d in found if not len(exact) or not (exact @ d).any()]
    return int(np.linalg.matrix_rank(np.array(kept))) if kept else 0


def _fours(one: Whole, exact: Whole) -> list[Whole]:
    """Return all directions in which two cells increase, two cells decrease, and all exact sums remain constant."""
    pairs = list(combinations(range(len(one)), 2))
    sums = {pair: tuple((exact[:, pair[0]] + exact[:, pair[1]]).tolist()) for pair in pairs}
    alike: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for pair, key in sums.items():
        alike.setdefault(key, []).append(pair)
    out = []
    for group in alike.values():
        for up, down in combinations(group, 2):
            if not set(up) & set(down):
                out.append(one[list(up)].sum(axis=0) - one[list(down)].sum(axis=0))
    return out


class Along:
    """Likelihoods of the measured values along a direction in which the counts of some cells change. The likelihoods
    are functions of n, the count of the first cell with a change of +1.

    A sum over cells is rest + k n, where k is the sum of the direction over the cells.

    Parameters
    ----------
    crossed : the measured values.
    direction : int64 (cells,), +1, 0 or -1.

    Attributes
    ----------
    known : bounds and likelihoods with a closed form, compiled.
    bent : mapping from a node to its measured values whose joint likelihood has no closed form.
    """

    def __init__(self, crossed: Crossed, direction: Whole) -> None:
        self.crossed, self.direction = crossed, direction
        self.first = int(np.argmax(direction))
        place, k = crossed.tree.place, crossed.sums.astype(np.int64) @ direction
        form = crossed.form
        says = np.flatnonzero((k[crossed.which] != 0) & (form.kind != POINT))
        rows = place[crossed.nodes[says]]
        tents = np.bincount(rows[form.kind[says] == TENT], minlength=len(crossed.tree.order))
        listed = np.bincount(rows[form.kind[says] == LISTED], minlength=len(tents))
        parabolas = np.bincount(rows[form.kind[says] == PARABOLA], minlength=len(tents))
        bent = (listed > 0) | (tents > 1) | ((tents == 1) & (parabolas > 0))
        self.bent = {row: says[rows == row] for row in np.flatnonzero(bent).tolist()}
        self._k = k[crossed.which]
        plain = says[~bent[rows]]
        nodes, queries, low, high = crossed.hard
        touched = k[queries] != 0
        self.known = Ends(
            direction,
            crossed.tree.count,
            crossed.sums.astype(np.int64),
            _rows(place[nodes[touched]], queries[touched], k[queries[touched]]),
            np.stack([low[touched], high[touched]], axis=1),
            _rows(place[crossed.nodes[plain]], crossed.which[plain], self._k[plain], form.kind[plain] == PARABOLA),
            np.stack([form.centre[plain], form.steepness[plain]], axis=1),
        )

    def lists(self, state: Whole, sites: NDArray[Any], lists: Lists) -> None:
        """Multiply the weights of the nodes by the likelihoods that have no closed form. These likelihoods are stored
        as lists of log weights. They are log-concave, and they are listed until they are lower than the maximum by
        `REACH`.

        Parameters
        ----------
        state : int64 (m, cells), counts in the kernels' order.
        sites : structured (m,), modified; existing lists must contain all possible counts.
        lists : log weights, extended.
        """
        for row, members in self.bent.items():
            if sites["table"][row] >= 0:
                prior = lists.of(sites, row)
                n = np.arange(prior.first, prior.last + 1)
                lists.put(sites, row, Listed(prior.first, prior.logs + self._logs(state, row, members, n)))
            else:
                lists.put(sites, row, self._listed(state, sites, row, members))

    def _listed(self, state: Whole, sites: NDArray[Any], row: int, members: Whole) -> Listed:
        low, high, n = int(sites["lower"][row]), int(sites["upper"][row]), int(state[row, self.first])
        width = 64
        while True:
            first, last = max(n - width, low), min(n + width, high)
            counts = np.arange(first - 1, last + 2)
            logs = self._logs(state, row, members, counts)
            top = logs[1:-1].max()
            if (first == low or logs[1] < top - REACH) and (last == high or logs[-2] < top - REACH):
                break
            width *= 2
        keep = np.flatnonzero(logs >= top - REACH)
        keep = keep[(keep > 0) & (keep < len(logs) - 1)]
        a, b = int(keep[0]), int(keep[-1])
        below = np.inf if counts[a] == low else fall(logs[a], logs[a - 1])
        above = np.inf if counts[b] == high else fall(logs[b], logs[b + 1])
        return Listed(int(counts[a]), logs[a : b + 1], below, above)

    def _logs(self, state: Whole, row: int, members: Whole, counts: Whole) -> Array:
        """Return the log likelihood of several possible counts of one node, given all other counts."""
        total, form = np.zeros(len(counts)), self.crossed.form
        for i in members.tolist():
            k = int(self._k[i])
            sums = self._sums(state, np.array([row]), self.crossed.which[[i]])[0]
            sums_at_counts = sums + k * (counts - state[row, self.first])
            if form.kind[i] == LISTED:
                total += self.crossed.log_likelihood(i, sums_at_counts)
            else:
                power = 2 if form.kind[i] == PARABOLA else 1
                total -= form.steepness[i] * np.abs(sums_at_counts - form.centre[i]) ** power
        return total

    def _sums(self, state: Whole, rows: Whole, queries: Whole) -> Whole:
        """Return the values of the given sums over cells in the current state of the Markov chain."""
        return np.asarray((state[rows] * self.crossed.sums[queries]).sum(axis=1))


def _rows(*columns: NDArray[Any]) -> Whole:
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int64)


LARGEST = 4_000_000  # largest number of counts in the weights of one move
TABLED = 1_000_000  # counts below which log priors are tabulated


class Moves:
    """Moves of a Markov chain on the cells of a histogram in all nodes of a tree (crossed cells). The stationary
    distribution of the chain is the posterior distribution of these cells.

    Parameters
    ----------
    crossed : the measured values.
    priors : priors, one per cell, with all fitted values.
    directions : int64 (d, cells), `directions.of`.

    Attributes
    ----------
    bound : largest upper bound on the total variation distance between the distribution of a move and its computed
        form.
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
                    raise ValueError(f"the concentrations of {crossed.cells[i]} must be given or fitted, got none")
                multiply_splits(self.plain[i], self.trees[i], by_level)
        self.plain["upper"], self.plain["table"] = FAR, -1
        self.plain["below"] = self.plain["above"] = np.inf
        self._together = self.plain[0].copy()  # cells that move together with other cells; their priors are lists
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
        """Replace all counts that change along one direction by a draw from their exact conditional distribution. The
        method returns whether any count could change.

        Parameters
        ----------
        state : int64 (m, cells), counts in the kernels' order; modified.
        which : index of the direction.
        rng : numpy Generator.
        """
        weights_of_move = self.weights(state, which)
        if weights_of_move is None:
            return False
        sites, tables = weights_of_move
        solved = self._solved(sites, tables, which)
        self._tilts[which], self.bound = solved.tilts, max(self.bound, solved.bound)
        direction = self.directions[which]
        new = drawn(self.tree, solved.messages, rng)
        state += (new - state[:, np.argmax(direction)])[:, None] * direction[None, :]
        return True

    def weights(self, state: Whole, which: int) -> tuple[NDArray[Any], Array] | None:
        """Return the weights of the possible counts of one cell for a move of the Markov chain. The cell is the first
        cell with a non-zero entry in the direction `which`, and the weights are conditional on all other counts. The
        result is None if no count can change.

        Parameters
        ----------
        state, which : arguments of `move`.

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
                f"the crossed cells have {total} possible counts over all nodes, more than the limit "
                f"of {LARGEST} for a chain: use method='least squares'"
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
        """Store the prior of the leaves of one cell as closed-form weights of the nodes. A prior without a closed form
        is not stored, because it must be tabulated. The method returns whether the prior was stored.
        """
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
                assume_prior(sites, lists, self.trees[cell], prior.of(name), np.flatnonzero(groups == i))

    def _solved(self, sites: NDArray[Any], tables: Array, which: int) -> _solver.Solved:
        """Return the sum-product messages of a tree for a move of the Markov chain along one direction. The computation
        starts from the tilts of the previous move along this direction, if these tilts are still usable.
        """
        if (start := self._tilts[which]) is not None:
            try:
                solved = _solver.solve(self.tree, sites, tables, goal=_solver.ENOUGH, start=start, blind=False)
            except _solver.Unsolved:
                pass
            else:
                if solved.bound <= _solver.ENOUGH:
                    return solved
        return _solver.solve(self.tree, sites, tables, goal=_solver.ENOUGH)

    def _list(self, sites: NDArray[Any], lists: Lists, state: Whole, direction: Whole) -> None:
        """Store the log prior weights of the cells whose counts change along a given direction. Each cell has one list
        over all possible counts, including counts beyond the cached tables.
        """
        low, sizes = sites["lower"].copy(), sites["upper"] - sites["lower"] + 1
        row = np.repeat(np.arange(len(low)), sizes)
        n = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[row]
        change = n - state[row, np.argmax(direction)]
        logs = np.zeros(len(row))
        for cell in np.flatnonzero(direction).tolist():
            laws, rows = self._classes[cell]
            counts = state[row, cell] + direction[cell] * change
            for i, law in enumerate(laws):
                is_row = rows[row] == i
                logs[is_row] += law(counts[is_row])
        lists.put_many(sites, low, sizes, logs)

    def _tables(self, most: int) -> Array:
        """Return the log prior weights of all counts from 0 to an upper limit that is at least `most`. The array has
        one row for each distinct distribution in the priors of the cells. The weights do not depend on the state.
        """
        if most >= self._known.shape[1]:
            n = np.arange(2 * most + 64)
            laws = [law for each, _ in self._classes for law in each]
            self._known = np.array([law(n) for law in laws]).reshape(len(laws), len(n))
        return self._known

    def _classed(self, cell: int) -> tuple[list[Callable[[Whole], Array]], Whole]:
        """Return the distinct prior distributions of one cell, and for every node the index of its distribution. The
        index is -1 for nodes without a distribution, and the nodes are in the order of the compiled kernels.
        """
        prior, rows = self.priors[cell], np.full(len(self.tree.order), -1, dtype=np.int64)
        if isinstance(prior, Leaves):
            names, rows[self.tree.place] = prior.rows(self.tree)
            return [prior.of(name).log_weights for name in names], rows
        pairs = np.stack([self.plain[cell]["own"], self.plain[cell]["others"]], axis=1)
        rises = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        distinct, rows[rises] = np.unique(pairs[rises], axis=0, return_inverse=True)
        return [partial(_rise, own=moved_up, others=others) for moved_up, others in distinct.tolist()], rows


def _rise(n: Whole, own: float, others: float) -> Array:
    return np.asarray(gammaln(n + own) - gammaln(n + others))


def starts(crossed: Crossed, leaves: Whole) -> Whole:
    """Return the counts of all nodes of a tree, in the node order of the compiled kernels, given the counts of the
    leaves. The nodes include the additional nodes that group the children of large families.

    Parameters
    ----------
    crossed : crossed cells with the tree.
    leaves : int64 (n, cells), counts; the values at inner nodes are ignored.

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


def possible(crossed: Crossed, near: Whole) -> Whole:
    """Return leaf counts that satisfy all exact sums and bounds. Among these, the function minimises the sum of
    absolute differences from given counts.

    Parameters
    ----------
    crossed : the measured values.
    near : int64 (n, cells), counts of all nodes.

    Returns
    -------
    int64 (n, cells), with 0 at inner nodes.

    Raises
    ------
    ValueError
        If exact sums and bounds are inconsistent.
    """
    leaves = np.flatnonzero(crossed.tree.leaf)
    out = np.zeros_like(near)
    out[leaves] = near[leaves]
    nodes, _, low, high = crossed.hard
    if not len(nodes):
        return out
    leaf_sums = _sums(crossed, leaves)
    value = leaf_sums @ near[leaves].ravel()
    if ((value >= low) & (value <= high)).all():
        return out
    size = leaf_sums.shape[1]
    one = eye_array(size, format="csr")
    distance = LinearConstraint(hstack([one, -one]), -np.inf, near[leaves].ravel().astype(np.float64))
    mirrored = LinearConstraint(hstack([one, one]), near[leaves].ravel().astype(np.float64), np.inf)
    sums = LinearConstraint(hstack([leaf_sums, csr_array((len(nodes), size))]), low, high)
    cost = np.repeat([0.0, 1.0], size)
    solution = milp(
        cost,
        integrality=np.repeat([1, 0], size),
        bounds=Bounds(0.0, np.inf),
        constraints=[distance, mirrored, sums],
    )
    if solution.x is None:
        raise ValueError(
            f"the exact sums and the bounds of crossed cells contradict each other ({solution.message}): correct the "
            "sums or the bounds"
        )
    out[leaves] = np.rint(solution.x[:size]).astype(np.int64).reshape(len(leaves), -1)
    return out


def _sums(crossed: Crossed, leaves: Whole) -> csr_array:
    """Return the matrix of all exact or bounded sums, with one row per sum and one column per cell of a leaf."""
    tree = crossed.tree
    cells, place = len(crossed.cells), np.full(len(tree), -1, dtype=np.int64)
    place[leaves] = np.arange(len(leaves))
    nodes, queries, _, _ = crossed.hard
    rows: list[Whole] = []
    columns: list[Whole] = []
    below = _leaves_below(tree.parent, leaves)
    for i, (node, query) in enumerate(zip(nodes.tolist(), queries.tolist(), strict=True)):
        where = place[below[node]][:, None] * cells + np.flatnonzero(crossed.sums[query])[None, :]
        columns.append(where.ravel())
        rows.append(np.full(where.size, i))
    row, column = np.concatenate(rows), np.concatenate(columns)
    return csr_array(coo_array((np.ones(len(row)), (row, column)), shape=(len(nodes), len(leaves) * cells)))


def _leaves_below(parent: Whole, leaves: Whole) -> dict[int, list[int]]:
    """Return the leaves below every node of a tree. The only leaf below a leaf is the leaf itself."""
    out: dict[int, list[int]] = {}
    for leaf in leaves.tolist():
        node = leaf
        while node >= 0:
            out.setdefault(node, []).append(leaf)
            node = int(parent[node])
    return out


CHAINS = 4
WARM = 100  # number of discarded sweeps
FIRST = 250  # number of sweeps before the first check of convergence; the number is then doubled
MOST = 8000  # largest number of sweeps of a chain
PAIRS = 2  # moves of pairs and groups of four per sweep and cell


@dataclass(frozen=True)
class Chains:
    """Draws of all cells and sums in all nodes, simulated by Markov chains, with the convergence status of the chains.

    Parameters
    ----------
    draws : int64 (chains, draws, nodes, targets).
    accuracy : ``converged`` or ``not converged``.
    facts : numbers of sweeps, effective sample size and R-hat, as values for JSON.
    """

    draws: Whole
    accuracy: Accuracy
    facts: dict[str, object]


def sample(
    crossed: Crossed,
    *,
    priors: list[Splits | Leaves],
    near: list[TreeLaw],
    rng: np.random.Generator,
    most: int = MOST,
) -> Chains:
    """Run Markov chains for crossed cells from different starting points, and extend the chains until they have
    converged.

    Parameters
    ----------
    crossed : the measured values.
    priors : one prior per cell, independent of each other, with all fitted values.
    near : posteriors of single cells (`crossed_cells.laws`), from which the starting points are drawn.
    rng : numpy Generator.
    most : largest number of sweeps of a chain, in addition to `WARM` discarded sweeps.

    Returns
    -------
    Chains

    Raises
    ------
    ValueError
        If exact sums and bounds are inconsistent or leave no moves, or if counts are too large for this method.

    Notes
    -----
    A sweep moves along every single cell and along `PAIRS` other directions per cell, chosen and ordered at random, so
    that the sweep is reversible. Convergence is assessed on all counts of cells and of the queries in all nodes, except
    counts that never change.
    """
    _checks.integer("most", most, least=_accuracy.LEAST_DRAWS)
    moves = Moves(crossed, priors, directions(len(crossed.cells), crossed.exact))
    each = rng.spawn(CHAINS)
    states = [_start(crossed, near, start_cells) for start_cells in each]
    pairs = list(zip(states, each, strict=True))
    for state, start_cells in steps((pair for pair in pairs for _ in range(WARM)), WARM * CHAINS, "first sweeps"):
        sweep(moves, state, start_cells)
    kept: list[list[Whole]] = [[] for _ in states]
    goal = min(FIRST, most)
    while True:
        left = [i for i in range(CHAINS) for _ in range(goal - len(kept[i]))]
        for i in steps(left, len(left), "sweeps"):
            sweep(moves, states[i], each[i])
            kept[i].append(states[i][crossed.tree.place] @ crossed.cover.T.astype(np.int64))
        draws = np.array(kept)
        accuracy, facts = _judged(draws)
        if accuracy.status == "converged" or goal == most:
            facts |= {"warm": WARM, "bound": moves.bound}
            return Chains(draws, accuracy, facts)
        goal = min(2 * goal, most)


def sweep(moves: Moves, state: Whole, rng: np.random.Generator) -> None:
    """Perform one sweep of moves of a Markov chain, and modify the state of the chain in place.

    Parameters
    ----------
    moves : moves of the posterior.
    state : int64 (m, cells), counts in the kernels' order; modified.
    rng : numpy Generator.
    """
    cells, size = state.shape[1], len(moves.directions)
    others = cells + rng.permutation(size - cells)[: PAIRS * cells]
    for which in rng.permutation(np.concatenate([np.arange(cells), others])).tolist():
        moves.move(state, which, rng)


def _start(crossed: Crossed, near: list[TreeLaw], rng: np.random.Generator) -> Whole:
    """Draw counts that satisfy all exact sums and bounds, as a starting point of a Markov chain. Each cell is drawn
    independently, and the counts are then adjusted.
    """
    leaf_counts = np.stack([law.sample(1, rng=rng)[0] for law in near], axis=1)
    return starts(crossed, possible(crossed, leaf_counts))


def _judged(draws: Whole) -> tuple[Accuracy, dict[str, object]]:
    chains, size = draws.shape[:2]
    columns = draws.reshape(chains, size, -1)
    moving = np.flatnonzero((columns != columns[:1, :1]).any(axis=(0, 1)))
    facts: dict[str, object] = {
        "chains": chains,
        "sweeps": size,
        "judged": len(moving),
        "constant": columns.shape[2] - len(moving),
    }
    if not len(moving):
        return of_chains([np.inf], [1.0]), facts
    columns_moving = [columns[:, :, i].astype(np.float64) for i in moving]
    rhat = [_accuracy.rhat(x) for x in columns_moving]
    if np.nanmax(rhat) > 2 * LARGEST_RHAT - 1:
        ess = [np.nan]  # far from convergence, so the effective sample size is not computed
        facts |= {"rhat": float(np.nanmax(rhat))}
        return of_chains(ess, rhat), facts
    ess = [min(_accuracy.bulk_ess(x), _accuracy.mean_ess(x)) for x in columns_moving]
    facts |= {"rhat": float(np.max(rhat)), "ess": float(np.min(ess))}
    return of_chains(ess, rhat), facts
