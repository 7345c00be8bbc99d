"""Crossed cells of a small tree by going through all counts: independent of the library, laws written out once more."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .tree_enumeration import likelihood

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class CrossedEnumeration:
    """All counts of all cells of the leaves, with their weights.

    Parameters
    ----------
    parent : position of every node's parent, -1 for the root's.
    cells : number of cells.
    most : counts of the leaves' cells are 0 .. most.
    log_prior : from the counts of one cell, a list of one array a node, to its log prior; cells are independent.
    measured : (node, cells that are added up, words of a law, released value).
    """

    def __init__(
        self,
        parent: Sequence[int],
        cells: int,
        most: int,
        log_prior: Callable[[list[Whole]], Array],
        measured: Sequence[tuple[int, Sequence[int], dict[str, Any], float]],
    ) -> None:
        leaves = [v for v in range(len(parent)) if v not in parent]
        grids = np.indices((most + 1,) * (len(leaves) * cells), dtype=np.int64)
        grids = grids.reshape(len(leaves), cells, -1)
        self.counts = np.zeros((len(parent), cells, grids.shape[2]), dtype=np.int64)
        for values, leaf in zip(grids, leaves, strict=True):
            node = leaf
            while node >= 0:
                self.counts[node] += values
                node = parent[node]
        self.leaves = leaves
        every = np.arange(most * len(leaves) * cells + 1)
        logs = sum((log_prior(list(self.counts[:, cell])) for cell in range(cells)), np.zeros(grids.shape[2]))
        with np.errstate(divide="ignore"):
            for node, own, words, released in measured:
                logs = logs + np.log(likelihood(words, released, every))[self.counts[node, list(own)].sum(axis=0)]
        weights = np.exp(logs - logs.max())
        self.p = weights / weights.sum()

    def mean(self, node: int, cells: Sequence[int]) -> float:
        """Of the sum over some cells."""
        return float(self.counts[node, list(cells)].sum(axis=0) @ self.p)

    def law(self, node: int, cells: Sequence[int]) -> Array:
        """Probabilities of 0, 1, .. of the sum over some cells."""
        return np.bincount(self.counts[node, list(cells)].sum(axis=0), self.p)

    def along(self, state: ArrayLike, direction: ArrayLike, node: int) -> Array:
        """Law of the first cell that moves, in one node, given that the leaves differ from `state` along a direction.

        Parameters
        ----------
        state : (nodes, cells), counts.
        direction : (cells,), +1, 0 or -1.
        node : of which the law is asked for.
        """
        way = np.asarray(direction)
        first = int(np.argmax(way))
        gap = self.counts[self.leaves] - np.asarray(state)[self.leaves][:, :, None]
        same = (gap == gap[:, [first]] * way[None, :, None]).all(axis=(0, 1))
        found = np.bincount(self.counts[node, first, same], self.p[same])
        return found / found.sum()
