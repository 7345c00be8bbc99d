"""Counts on a tree, and crossed cells of a small tree, by enumeration of all counts; and `_sites.Ends`, array by array:
bounds, parabolas, tents, listed priors, upper bounds.

The module is independent of the library: the distributions are implemented a second time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

NEGLECTED = 1e-32  # smallest probability of a case that is kept

_NOISE = np.arange(-400, 401)  # integer values of the noise that are summed for a tail probability


def likelihood(words: dict[str, Any], released: float, counts: ArrayLike) -> Array:
    """Return P(released | count) of every count, for a distribution and modifiers as in a configuration.

    Parameters
    ----------
    words : the distribution; ``rounded``, ``clipped``, ``threshold`` only for discrete distributions.
    released : the value; NaN if it was withheld.
    counts : integers.
    """
    n = np.asarray(counts, dtype=np.float64)
    law = words["law"]
    if law == "exact":
        return np.where(n == released, 1.0, 0.0)
    if law == "table":
        rows = list(zip(*(words["table"][key] for key in ("true", "released", "probability")), strict=True))
        return np.array([sum(p for t, r, p in rows if t == k and r == released) for k in n])
    if law == "gaussian":
        return np.exp(-((released - n) ** 2) / (2 * words["sd"] ** 2)) / np.sqrt(2 * np.pi * words["sd"] ** 2)
    if law == "laplace":
        return np.exp(-np.abs(released - n) / words["scale"]) / (2 * words["scale"])
    p = (
        np.exp(-(_NOISE**2) / (2 * words["sigma"] ** 2))
        if "sigma" in words
        else np.exp(-np.abs(_NOISE) / words["scale"])
    )
    p = p / p.sum()
    noisy = n.ravel()[:, None] + _NOISE[None]
    if "rounded" in words:
        noisy = words["rounded"] * np.round(noisy / words["rounded"])  # halves are rounded to the even multiple
    if "clipped" in words:
        noisy = np.maximum(noisy, words["clipped"]["at"])
    seen = noisy == released
    if "threshold" in words:
        seen = (noisy < words["threshold"]) if np.isnan(released) else seen & (noisy >= words["threshold"])
    return np.asarray(np.where(seen, p[None], 0.0).sum(axis=1).reshape(n.shape))


def splits(
    parent: Sequence[int], concentration: Array, counts: list[NDArray[np.int64]], free: NDArray[np.bool_]
) -> Array:
    """Return the log probability of every split: Dirichlet-multinomial with all Gamma(A + a), A by node."""

    def log_gamma(n: NDArray[np.int64], shift: float) -> Array:
        return np.asarray(gammaln(np.arange(n.max() + 1) + shift)[n])  # one value per count instead of one per case

    total = np.zeros(counts[0].shape)
    for v in range(len(parent)):
        children = [c for c in range(len(parent)) if parent[c] == v and free[c]]
        if not children:
            continue
        whole = sum(concentration[c] for c in children)
        total += log_gamma(counts[v], 1) + gammaln(whole) - log_gamma(counts[v], whole)
        for c in children:
            a = concentration[c]
            total += log_gamma(counts[c], a) - log_gamma(counts[c], 1) - gammaln(a)
    return total


class Enumeration:
    """All counts of a tree, with their weights, by enumeration.

    The evidence and all probabilities include every case. The cases above `NEGLECTED` are stored, which have nearly all
    of the weight: the others have less than (most + 1)^leaves `NEGLECTED` together.

    Parameters
    ----------
    parent : position of every node's parent, -1 for the root.
    most : largest count of a leaf; the counts are 0 .. most.
    log_prior : function from the list of the counts of all nodes, arrays that broadcast with each other, to the log
        prior.
    measured : (node, description of a distribution, released value), any number of them.
    lower, upper : bounds of every node.
    """

    def __init__(
        self,
        parent: Sequence[int],
        most: int,
        log_prior: Callable[[list[NDArray[np.int64]]], Array],
        measured: Sequence[tuple[int, dict[str, Any], float]],
        lower: ArrayLike,
        upper: ArrayLike,
    ) -> None:
        size = len(parent)
        leaves = [v for v in range(size) if v not in parent]
        axes = np.indices((most + 1,) * len(leaves), dtype=np.int64, sparse=True)
        grids = [np.zeros((1,) * len(leaves), dtype=np.int64) for _ in range(size)]  # only along its leaves
        for values, leaf in zip(axes, leaves, strict=True):
            node = leaf
            while node >= 0:
                grids[node] = grids[node] + values
                node = parent[node]
        every = np.arange(most * len(leaves) + 1)
        logs = np.array(np.broadcast_to(log_prior(grids), grids[0].shape), dtype=np.float64)
        with np.errstate(divide="ignore"):
            for node, words, released in measured:
                logs += np.log(likelihood(words, released, every))[grids[node]]
        for node in range(size):
            inside = (grids[node] >= np.asarray(lower)[node]) & (grids[node] <= np.asarray(upper)[node])
            logs += np.where(inside, 0.0, -np.inf)
        top = logs.max()
        weights = np.exp(logs - top)
        self.log_evidence = float(top + np.log(weights.sum()))
        p = weights / weights.sum()
        self.edge = max(float(p.take(most, axis=axis).sum()) for axis in range(len(leaves)))
        self._sizes = [int(grid.max()) + 1 for grid in grids]
        cases = np.nonzero(p > NEGLECTED)
        self.p = p[cases]
        self.counts = [np.zeros(len(self.p), dtype=np.int64) for _ in range(size)]
        for values, leaf in zip(cases, leaves, strict=True):
            node = leaf
            while node >= 0:
                self.counts[node] += values
                node = parent[node]

    def law(self, node: int) -> Array:
        """Return the probabilities of the counts 0, 1, .. of a node, as far as leaves of at most `most` allow."""
        return np.bincount(self.counts[node], self.p, self._sizes[node])

    def joint(self, nodes: Sequence[int]) -> dict[tuple[int, ...], float]:
        """Return the joint probabilities of the counts of some nodes."""
        sizes = [int(self.counts[node].max()) + 1 for node in nodes]
        cell = np.ravel_multi_index([self.counts[node] for node in nodes], sizes)
        values, where = np.unique(cell, return_inverse=True)
        p = np.bincount(where, self.p)
        rows = np.stack(np.unravel_index(values, sizes), axis=1)
        return {tuple(int(k) for k in row): float(q) for row, q in zip(rows, p, strict=True)}

    def combined(self, one: int, two: int, sign: int) -> dict[int, float]:
        """Return the probabilities of the sum (sign 1) or difference (-1) of the counts of two nodes."""
        value = self.counts[one] + sign * self.counts[two]
        low = int(value.min())
        p = np.bincount(value - low, self.p)
        return {low + int(k): float(p[k]) for k in np.flatnonzero(p)}


class CrossedEnumeration:
    """All counts of all cells of the leaves, with their weights, by enumeration.

    Parameters
    ----------
    parent : position of every node's parent, -1 for the root.
    cells : number of cells.
    most : largest count of a cell of a leaf; the counts are 0 .. most.
    log_prior : function from the counts of one cell, a list of one array per node, to its log prior; cells are
        independent.
    measured : (node, cells in the sum, description of a distribution, released value).
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
        """Return the mean of the sum over some cells."""
        return float(self.counts[node, list(cells)].sum(axis=0) @ self.p)

    def law(self, node: int, cells: Sequence[int]) -> Array:
        """Return the probabilities of the values 0, 1, .. of the sum over some cells."""
        return np.bincount(self.counts[node, list(cells)].sum(axis=0), self.p)

    def along(self, state: ArrayLike, direction: ArrayLike, node: int) -> Array:
        """Return the distribution of the first moving cell in one node, for leaves along a direction from `state`.

        Parameters
        ----------
        state : (nodes, cells), counts.
        direction : (cells,), +1, 0 or -1.
        node : node whose distribution is requested.
        """
        way = np.asarray(direction)
        first = int(np.argmax(way))
        gap = self.counts[self.leaves] - np.asarray(state)[self.leaves][:, :, None]
        same = (gap == gap[:, [first]] * way[None, :, None]).all(axis=(0, 1))
        found = np.bincount(self.counts[node, first, same], self.p[same])
        return found / found.sum()


FAR = 1 << 52


def ends(state, direction, sums, hard):
    """Return the first and last possible count of the first cell in every node.

    Parameters
    ----------
    state : int64 (m, cells).
    direction : int64 (cells,).
    sums : int64 (queries, cells).
    hard : (node, query, lower, upper) of every bounded sum.
    """
    n = state[:, np.argmax(direction)]
    low = n - state[:, direction == 1].min(axis=1)
    down = state[:, direction == -1]
    high = n + down.min(axis=1) if down.shape[1] else np.full(len(n), FAR)
    for node, query, least, most in hard:
        k = int(sums[query] @ direction)
        if k:
            rest = state[node] @ sums[query] - k * n[node]
            one, two = sorted(((least - rest) / k, (most - rest) / k))
            low[node] = max(low[node], int(np.ceil(max(one, -1.0))))
            high[node] = min(high[node], int(np.floor(min(two, FAR))))
    return low, high


def shapes(state, direction, sums, said):
    """Return centre, square and absolute of every node, float64 (m, 3); zeros for nodes without measurements.

    Parameters
    ----------
    said : (node, query, parabola, centre, steepness) of every measured value; a tent is the only value at its node.
    """
    out, n = np.zeros((len(state), 3)), state[:, np.argmax(direction)]
    bowls: dict[int, list[tuple[float, float]]] = {}
    for node, query, bowl, centre, steepness in said:
        if k := int(sums[query] @ direction):
            at = n[node] + (centre - state[node] @ sums[query]) / k
            if bowl:
                bowls.setdefault(node, []).append((at, steepness * k**2))
            else:
                out[node] = at, 0.0, steepness * abs(k)
    for node, each in bowls.items():
        at, steep = np.array(each).T
        out[node] = at @ steep / steep.sum(), steep.sum(), 0.0
    return out


def priors(state, direction, low, high, log_prior) -> list[NDArray[np.float64]]:
    """Return the log prior of all moving cells, one list per node over its possible counts.

    Parameters
    ----------
    log_prior : function of (cell, node, counts) that returns float64.
    """
    first, out = np.argmax(direction), []
    for node in range(len(state)):
        change = np.arange(low[node], high[node] + 1) - state[node, first]
        moving = np.flatnonzero(direction)
        out.append(sum(log_prior(i, node, state[node, i] + direction[i] * change) for i in moving))
    return out


def reach(parent, sites):
    """Return the bound of the nearest node at or above each that has a list, a likelihood or a bound; 1 without one."""
    found = []
    for v, site in enumerate(sites):
        steep = 2 * site["square"] or site["absolute"] ** 2
        if site["table"] >= 0:
            found.append(max(float(site["begin"] + site["length"]), 1.0))
        elif steep:
            found.append(max(site["centre"], 0.0) + 3 / np.sqrt(steep))
        elif site["upper"] < FAR:
            found.append(float(site["upper"]))
        else:
            found.append(found[parent[v]] if v else 1.0)
    return np.array(found)
