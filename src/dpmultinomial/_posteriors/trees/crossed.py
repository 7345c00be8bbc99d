"""A histogram in every node of a tree, and noisy sums over some of its cells: crossed cells."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._mechanisms.noise_law import NoiseLaw
from ..._mechanisms.perturbation import Perturbation
from ..._mechanisms.rows import LawByRow
from ._likelihoods import POINT, shapes
from .tree import NONE, Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class Crossed:
    """Noisy sums over cells, in any nodes of a tree.

    Parameters
    ----------
    tree : the nodes; their bounds are not read, see `lower` and `upper`.
    queries : name of a query -> names of the cells that it adds up, each cell once. Cells are those of all queries.
    released : (nodes, queries), NaN where a query was not asked of a node.
    noise : law, with one row a released number, row by row, or one law for all.
    lower, upper : (nodes, queries) or one number, known bounds of the true sums.
    withheld : bool (nodes, queries), where an absent number says that the noisy one was below a threshold.

    Attributes
    ----------
    cells : names of the cells.
    sums : bool (queries, cells), which cells a query adds up.
    targets : names of what is asked for: all cells, then the queries of several cells.
    cover : bool (targets, cells), likewise.
    nodes, which : int64 (r,), node and query of every measured number.
    values : float64 (r,), the measured numbers; NaN where withheld.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, a value is one that its law never releases, or a law is a table of
        probabilities, under which the moves of a chain can be closed.
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
            raise TypeError(f"noise must be one law, or a LawByRow of {table.size} rows, got {noise!r}")
        self.noise = noise.take(flat)
        if any(isinstance(law, Perturbation) for law in self.noise.laws):
            raise ValueError("laws of crossed cells must be added noise, got a table of probabilities")
        self._known: dict[int, Array] = {}
        self.form = shapes(self.values, self.noise)
        self.lower, self.upper = self._bounds(lower, upper)

    def __repr__(self) -> str:
        return f"Crossed({len(self.cells)} cells, {len(self.values)} numbers, {self.tree!r})"

    @cached_property
    def hard(self) -> tuple[Whole, Whole, Array, Array]:
        """Nodes, queries, lower and upper ends of the sums that are exact or bounded from above or from below by more
        than 0."""
        rows = np.nonzero((self.lower > 0) | np.isfinite(self.upper))
        return rows[0], rows[1], self.lower[rows], self.upper[rows]

    @cached_property
    def exact(self) -> NDArray[np.int64]:
        """The different queries of several cells that are exact somewhere, int64 (e, cells)."""
        fixed = (self.lower == self.upper).any(axis=0) & (self.sums.sum(axis=1) > 1)
        return np.asarray(self.sums[fixed], dtype=np.int64)

    def log_likelihood(self, number: int, sums: Whole) -> Array:
        """Of one measured number, for sums of -1 and more; worked out once for every sum.

        Parameters
        ----------
        number : its position in `values`.
        sums : int64, true values.
        """
        known, most = self._known.get(number), int(sums.max(initial=0)) + 2
        if known is None or len(known) < most:
            law, value = self.noise.take(np.array([number])), self.values[[number]]
            known = np.asarray(law.log_likelihood(value[:, None], np.arange(-1, 2 * most)[None]), dtype=np.float64)[0]
            self._known[number] = known
        return known[sums + 1]

    def tree_of(self, target: int) -> Tree:
        """The tree of one cell or sum, with its bounds.

        Parameters
        ----------
        target : its position in `targets`.
        """
        tree, size = self.tree, len(self.tree)
        own = np.flatnonzero((self.sums == self.cover[target]).all(axis=1))
        lower, upper = np.zeros(size), np.full(size, np.inf)
        for query in own:
            lower, upper = np.maximum(lower, self._given[0][:, query]), np.minimum(upper, self._given[1][:, query])
        return Tree(tree.parent, names=tree.names, levels=tree.levels, lower=lower, upper=upper)

    def _bounds(self, lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
        """Of all sums, exact numbers among them."""
        shape = len(self.tree), len(self.queries)
        known = np.where(self.tree.upper == NONE, np.inf, self.tree.upper.astype(np.float64))
        if known.min() < np.inf or self.tree.lower.max() > 0:
            raise ValueError("bounds of crossed cells are those of queries, got bounds of the tree's nodes")
        low = np.array(np.broadcast_to(np.asarray(lower, dtype=np.float64), shape))
        high = np.array(np.broadcast_to(np.asarray(upper, dtype=np.float64), shape))
        low = np.maximum(np.ceil(np.nan_to_num(low, nan=0.0)), 0.0)
        high = np.floor(np.nan_to_num(high, nan=np.inf, posinf=np.inf))
        self._given = low.copy(), high.copy()
        points = self.form.kind == POINT
        at = self.nodes[points], self.which[points]
        low[at], high[at] = np.maximum(low[at], self.values[points]), np.minimum(high[at], self.values[points])
        bad = np.argwhere(~(low <= high))
        if len(bad):
            node, query = bad[0].tolist()
            raise ValueError(
                f"bounds must be 0 <= lower <= upper and hold the exact number, got {low[node, query]:g} .. "
                f"{high[node, query]:g} at {self.tree.names[node]}, {self.queries[query]}"
            )
        return low, high


def _cells(queries: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Names of the cells, in the order in which queries name them, singles first; which query adds up which."""
    if not queries:
        raise ValueError("queries must be one at least")
    found: dict[str, None] = {}
    for name, cells in sorted(queries.items(), key=lambda item: len(item[1]) > 1):
        if isinstance(cells, str) or not isinstance(cells, Sequence) or not len(cells):
            raise TypeError(f"query {name} must be a list of names of cells, got {cells!r}")
        if len(set(cells)) < len(cells):
            raise ValueError(f"query {name} must name every cell once, got {list(cells)}")
        found |= dict.fromkeys(map(str, cells))
    places = {cell: i for i, cell in enumerate(found)}
    sums = np.zeros((len(queries), len(found)), dtype=bool)
    for i, (name, cells) in enumerate(queries.items()):
        sums[i, [places[str(cell)] for cell in cells]] = True
        if len(cells) > 1 and name in places:
            raise ValueError(f"query {name} has the name of a cell, but adds up {', '.join(map(str, cells))}")
    return tuple(found), sums
