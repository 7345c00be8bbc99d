"""Generalised least squares on a tree: best linear unbiased estimates of all counts, computed in two passes over the
tree.

In the pass from the leaves to the root, every node combines its measurement with the sum of the estimates of its
children. In the pass from the root to the leaves, every child receives its share of the difference between the estimate
of its parent and the sum of the children (Hay et al. 2010). Estimates are not rounded and may be negative. The
covariance of any two nodes is computed from the same shares.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from .tree import Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class _Pass(NamedTuple):
    """Results of the pass from the leaves to the root of a tree: estimates, variances, sums over children, and numbers
    of children without information.
    """

    estimate: Array
    variance: Array
    total: Array
    spread: Array
    unknown: Whole


class LeastSquares:
    """Generalised least-squares estimates of the counts of all nodes of a tree, with their covariances.

    Parameters
    ----------
    tree : the nodes.
    nodes : int (r,), position of the node of each measurement; a node may have several measurements.
    released : float (r,), measured values.
    variance : float (r,), variances of the errors of the measured values, >= 0; 0 for exact counts.

    Attributes
    ----------
    estimate : float64 (n,); NaN if the measurements do not determine the count.
    sd : float64 (n,); infinite for counts that are not determined.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or exact counts of one node differ.
    """

    def __init__(self, tree: Tree, nodes: ArrayLike, released: ArrayLike, variance: ArrayLike) -> None:
        self.tree = tree
        rows = _checks.int64s("nodes", np.asarray(nodes, dtype=np.int64))
        values, spreads = _checks.reals("released", released, least_size=0), np.asarray(variance, dtype=np.float64)
        spreads = np.broadcast_to(spreads, values.shape)
        if len(rows) != len(values):
            raise ValueError(
                f"nodes must contain one node per measurement ({len(values)} measurements), got {len(rows)} nodes"
            )
        if not (spreads >= 0).all():
            raise ValueError(f"variance must be >= 0, got {spreads[~(spreads >= 0)][0]}")
        combined, own_variance = _combined(tree, rows, values, spreads)
        self._up = _from_below(tree, combined, own_variance)
        self.estimate, self._variance, self._gain = _from_above(tree, self._up)
        self.estimate = np.where(np.isinf(self._variance), np.nan, self.estimate)

    @cached_property
    def sd(self) -> Array:
        """Standard deviations of the least-squares estimates of all nodes."""
        return np.sqrt(self._variance)

    def covariance(self, first: int, second: int) -> float:
        """Return the covariance of the least-squares estimates of the nodes at two positions. The value is NaN if one
        of the estimates is not determined.
        """
        if np.isinf(self._variance[[first, second]]).any():
            return float("nan")
        one, two = self.tree.path(first), self.tree.path(second)
        shared = sum(a == b for a, b in zip(one, two, strict=False))
        if shared in (len(one), len(two)):
            value = float(self._variance[one[shared - 1]])
            rest = one[shared:] + two[shared:]
        else:
            value = self._siblings(one[shared - 1], one[shared], two[shared])
            rest = one[shared + 1 :] + two[shared + 1 :]
        return value * float(np.prod(self._gain[rest]))

    def _siblings(self, top: int, a: int, b: int) -> float:
        """Return the covariance of the least-squares estimates of two children of the same node."""
        up, lost = self._up, np.isinf(self._up.variance[[a, b]])
        if up.unknown[top]:  # estimate of the unknown child: the parent minus the siblings
            return -float(up.variance[[a, b]][~lost].sum()) if lost.any() else 0.0
        apart = up.variance[a] * up.variance[b] / up.spread[top] if up.spread[top] > 0 else 0.0
        return float(self._gain[a] * self._gain[b] * self._variance[top] - apart)

    def difference(self, first: int, second: int) -> tuple[float, float]:
        """Return the least-squares estimate of the difference of the counts of two nodes (first minus second), and the
        standard deviation of this estimate.
        """
        spread = self._variance[first] + self._variance[second] - 2 * self.covariance(first, second)
        return float(self.estimate[first] - self.estimate[second]), float(np.sqrt(max(spread, 0.0)))


def _combined(tree: Tree, rows: Whole, values: Array, spreads: Array) -> tuple[Array, Array]:
    """Return the combined measurement of every node, and the variance of this combined measurement. The variance is
    infinite for nodes without measurements.
    """
    size = len(tree)
    exact = spreads == 0
    estimate, variance = np.zeros(size), np.full(size, np.inf)
    weight = np.bincount(rows[~exact], 1 / spreads[~exact], size)
    first = np.zeros(size)
    first[rows] = values
    moved = np.bincount(rows[~exact], (values[~exact] - first[rows[~exact]]) / spreads[~exact], size)
    seen = weight > 0
    estimate[seen], variance[seen] = (first + moved / np.where(seen, weight, 1.0))[seen], 1 / weight[seen]
    estimate[rows[exact]], variance[rows[exact]] = values[exact], 0.0
    clash = values[exact] != estimate[rows[exact]]
    if clash.any():
        raise ValueError(
            f"{tree.names[rows[exact][clash][0]]} has several exact counts with different values, such as "
            f"{values[exact][clash][0]:.15g} and {estimate[rows[exact][clash][0]]:.15g}: keep only one of them"
        )
    return estimate, variance


def _from_below(tree: Tree, own: Array, own_variance: Array) -> _Pass:
    size = len(tree)
    estimate, variance = own.copy(), own_variance.copy()
    total, spread, unknown = np.zeros(size), np.zeros(size), np.zeros(size, dtype=np.int64)
    for depth in range(int(tree.depth.max()), -1, -1):
        rows = np.flatnonzero(tree.depth == depth)
        inner = rows[~tree.leaf[rows]]
        known = unknown[inner] == 0
        both = spread[inner] + own_variance[inner]
        gain = np.where(both > 0, spread[inner] / np.where(both > 0, both, 1.0), 0.0)
        use = known & np.isfinite(own_variance[inner])
        estimate[inner] = np.where(
            use, total[inner] + gain * (own[inner] - total[inner]), np.where(known, total[inner], own[inner])
        )
        variance[inner] = np.where(use, spread[inner] * (1 - gain), np.where(known, spread[inner], own_variance[inner]))
        parents = tree.parent[rows]
        if depth:
            lost = np.isinf(variance[rows])
            np.add.at(total, parents, np.where(lost, 0.0, estimate[rows]))
            np.add.at(spread, parents, np.where(lost, 0.0, variance[rows]))
            np.add.at(unknown, parents, lost)
    return _Pass(estimate, variance, total, spread, unknown)


def _from_above(tree: Tree, up: _Pass) -> tuple[Array, Array, Array]:
    """Return the estimates and variances of all nodes, computed from the root to the leaves. Also return the share of
    each node in the difference between its parent's estimate and the sum over the children of this parent.
    """
    estimate, variance, gain = up.estimate.copy(), up.variance.copy(), np.zeros(len(tree))
    for depth in range(1, int(tree.depth.max()) + 1):
        rows = np.flatnonzero(tree.depth == depth)
        above = tree.parent[rows]
        lost, others = np.isinf(up.variance[rows]), up.unknown[above]
        spread = up.spread[above]
        share = np.where(lost, 0.0, up.variance[rows]) / np.where(spread > 0, spread, 1.0)
        gain[rows] = np.where(others > 0, np.where(lost, 1.0, 0.0), share)
        finite = np.where(lost, 0.0, up.variance[rows])
        estimate[rows] = np.where(
            lost,
            estimate[above] - up.total[above],
            up.estimate[rows] + gain[rows] * np.where(others > 0, 0.0, estimate[above] - up.total[above]),
        )
        first = finite - np.where(others > 0, 0.0, share * finite)
        child_variance = first + gain[rows] ** 2 * np.where(np.isinf(variance[above]), 0.0, variance[above])
        alone = lost & (others == 1)
        variance[rows] = np.where(alone, variance[above] + spread, np.where(lost, np.inf, child_variance))
    return estimate, variance, gain
