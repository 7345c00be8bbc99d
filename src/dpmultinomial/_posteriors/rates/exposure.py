"""Exposures that are themselves protected counts: a Gauss rule of each exposure given its release.

The posterior of the number of persons N of an area under a flat prior on 1, 2, .. is replaced by a few nodes with
weights that have the same moments (Stieltjes' procedure, then Golub and Welsch, 1969, Math. Comp. 23, 221-230). The
nodes lie within the range of N, so they are > 0.
"""

import numpy as np
from numpy.typing import NDArray

from ..published.cells import Cells
from .likelihoods import Likelihoods, likelihoods_of

Array = NDArray[np.float64]
NODES, NODES_OF_FEW, FEW = 9, 21, 50  # nodes, nodes of an exposure whose mean is below FEW
_ENTRIES = 1_000_000


def nodes_of(cells: Cells, log_mass: float = 40.0) -> tuple[Array, Array]:
    """Compute nodes and log weights of protected exposures.

    Parameters
    ----------
    cells : released exposures, all measured and without errors; lower bounds >= 1.
    log_mass : as of `likelihoods_of`.

    Returns
    -------
    (nodes, log_weights)
        float64 (n, K), K the largest number of nodes; unused nodes are 1 and come last, with weight -inf.
    """
    table = likelihoods_of(cells, log_mass)
    n, width = len(table), np.diff(table.start)
    nodes, log_weights = np.ones((n, NODES_OF_FEW)), np.full((n, NODES_OF_FEW), -np.inf)
    order = np.argsort(width, kind="stable")
    start = 0
    while start < n:
        size = max(1, int(np.searchsorted(width[order[start:]] * np.arange(1, n - start + 1), _ENTRIES, side="right")))
        rows = order[start : start + size]
        start += size
        x, w = _rectangle(table, rows)
        mean = (w * x).sum(axis=1)
        for count in (NODES, NODES_OF_FEW):
            asked = np.flatnonzero((mean < FEW) == (count == NODES_OF_FEW))
            few = (w[asked] > 0).sum(axis=1) <= count
            for i in asked[few]:  # all possible numbers are nodes
                kept = w[i] > 0
                nodes[rows[i], : kept.sum()], log_weights[rows[i], : kept.sum()] = x[i, kept], np.log(w[i, kept])
            many = asked[~few]
            if len(many):
                at, weights = gauss(x[many], w[many], count)
                nodes[rows[many], :count] = at
                with np.errstate(divide="ignore"):
                    log_weights[rows[many], :count] = np.log(weights)
    used = int(np.isfinite(log_weights).sum(axis=1).max())
    return nodes[:, :used], log_weights[:, :used]


def _rectangle(table: Likelihoods, rows: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return possible numbers and their probabilities, (rows, widest)."""
    widest = int(np.diff(table.start)[rows].max())
    x = table.low[rows, None] + np.arange(widest, dtype=np.float64)
    w = np.zeros(x.shape)
    for line, row in zip(w, rows, strict=True):
        values = table.values[table.start[row] : table.start[row + 1]]
        line[: len(values)] = values
    w /= w.sum(axis=1, keepdims=True)
    return x, np.where(w > 1e-300, w, 0.0)


def gauss(x: Array, w: Array, count: int) -> tuple[Array, Array]:
    """Return the Gauss rule of every row of a discrete distribution.

    Parameters
    ----------
    x, w : float64 (rows, width), points and weights; each row of weights adds up to 1, with more than `count` points.
    count : number of nodes.

    Returns
    -------
    (nodes, weights)
        float64 (rows, count): all moments up to the order 2 count - 1 are those of the distribution.
    """
    centre = (w * x).sum(axis=1, keepdims=True)
    scale = np.sqrt((w * (x - centre) ** 2).sum(axis=1, keepdims=True))
    z = (x - centre) / scale
    jacobi = np.zeros((len(x), count, count))
    before, now, norm = np.zeros(z.shape), np.ones(z.shape), np.ones(len(x))
    for k in range(count):
        jacobi[:, k, k] = (w * z * now * now).sum(axis=1)
        # orthonormal polynomials: b p(k + 1) = (z - a) p(k) - b' p(k - 1)
        after = (z - jacobi[:, k, k, None]) * now - (norm[:, None] * before if k else 0.0)
        norm = np.sqrt((w * after * after).sum(axis=1))
        if k + 1 < count:
            jacobi[:, k, k + 1] = jacobi[:, k + 1, k] = norm
        before, now = now, after / norm[:, None]
    values, vectors = np.linalg.eigh(jacobi)
    return centre + scale * values, vectors[:, 0, :] ** 2
