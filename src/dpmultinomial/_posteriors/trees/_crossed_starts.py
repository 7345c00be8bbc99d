"""Where chains over crossed cells start: counts that satisfy all exact sums and bounds, near given ones."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack

from .crossed import Crossed

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def possible(crossed: Crossed, near: Whole) -> Whole:
    """Counts of the leaves that satisfy what is known exactly, the nearest to given ones in sum of distances.

    Parameters
    ----------
    crossed : the measured numbers.
    near : int64 (n, cells), counts of all nodes.

    Returns
    -------
    int64 (n, cells); what stands at inner nodes is 0.

    Raises
    ------
    ValueError
        If exact sums and bounds contradict each other.
    """
    leaves = np.flatnonzero(crossed.tree.leaf)
    out = np.zeros_like(near)
    out[leaves] = near[leaves]
    nodes, _, low, high = crossed.hard
    if not len(nodes):
        return out
    own = _sums(crossed, leaves)
    value = own @ near[leaves].ravel()
    if ((value >= low) & (value <= high)).all():
        return out
    size = own.shape[1]
    one = eye_array(size, format="csr")
    distance = LinearConstraint(hstack([one, -one]), -np.inf, near[leaves].ravel().astype(np.float64))
    mirrored = LinearConstraint(hstack([one, one]), near[leaves].ravel().astype(np.float64), np.inf)
    sums = LinearConstraint(hstack([own, csr_array((len(nodes), size))]), low, high)
    cost = np.repeat([0.0, 1.0], size)
    found = milp(
        cost,
        integrality=np.repeat([1, 0], size),
        bounds=Bounds(0.0, np.inf),
        constraints=[distance, mirrored, sums],
    )
    if found.x is None:
        raise ValueError(f"exact sums and bounds of crossed cells contradict each other: {found.message}")
    out[leaves] = np.rint(found.x[:size]).astype(np.int64).reshape(len(leaves), -1)
    return out


def _sums(crossed: Crossed, leaves: Whole) -> csr_array:
    """The sums that are exact or bounded, as sums over the leaves' cells."""
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
    """Leaves below every node, itself where it is one."""
    out: dict[int, list[int]] = {}
    for leaf in leaves.tolist():
        node = leaf
        while node >= 0:
            out.setdefault(node, []).append(leaf)
            node = int(parent[node])
    return out
