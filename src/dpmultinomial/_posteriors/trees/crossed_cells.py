"""Fast approximate posterior distribution of crossed cells, which are the cells of a histogram at every node of a tree.
The cells are measured by noisy sums. The method applies least squares to the sums of each node, and then uses a
separate tree for each cell.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._mechanisms.exact import Exact
from ..._mechanisms.gaussian import Gaussian
from ..._mechanisms.noise_law import LawByRow, NoiseLaw
from ._tree_law import TreeLaw
from .crossed_chain import Crossed
from .measurements import Measurements
from .tree import Leaves, Splits
from .tree_posterior import infer

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Laws = list[TreeLaw]  # one posterior distribution per target
SOLVED = 1e-8  # a sum is determined if the residual of least squares, relative to a coefficient, is below this


@dataclass(frozen=True)
class Combined:
    """Best linear unbiased estimates of one cell or sum, each computed from the measured values of a single node.

    Parameters
    ----------
    nodes : int64 (r,), the node of each estimate.
    values, variance : float64 (r,); the variance is 0 if the estimate is exact.
    alone : int64 (r,), index of the measured value if the estimate uses a single value, -1 if it combines several
        values.
    """

    nodes: Whole
    values: Array
    variance: Array
    alone: Whole


def combined(crossed: Crossed) -> list[Combined]:
    """Return the best linear unbiased estimates of every cell or sum (target), at every node whose measured values
    determine the target.

    Parameters
    ----------
    crossed : the measured values; withheld values are not used.

    Returns
    -------
    list, one per target
    """
    variance = np.broadcast_to(np.asarray(crossed.noise.variance(), dtype=np.float64), crossed.values.shape)
    rows = np.flatnonzero(np.isfinite(crossed.values))
    parts: list[list[tuple[Whole, Array, Array, Whole]]] = [[] for _ in crossed.targets]
    for members in _alike(crossed, rows, variance):
        first = members[0]
        sums = crossed.sums[crossed.which[first]].astype(np.float64)
        nodes = crossed.nodes[members[:, 0]]
        for target, cover in enumerate(crossed.cover.astype(np.float64)):
            weights = _weights(sums, variance[first], cover)
            if weights is None:
                continue
            used = np.flatnonzero(weights)
            alone = members[:, used[0]] if len(used) == 1 else np.full(len(members), -1)
            spread = np.full(len(members), float(weights**2 @ variance[first]))
            values = crossed.values[alone] if len(used) == 1 else crossed.values[members] @ weights
            parts[target].append((nodes, np.rint(values) if spread[0] == 0 else values, spread, alone))
    return [
        Combined(*(np.concatenate(column) for column in zip(*part, strict=True)))
        if part
        else Combined(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
        for part in parts
    ]


def _alike(crossed: Crossed, rows: Whole, variance: Array) -> list[Whole]:
    """Return groups of nodes with the same queries and the same noise. Each group is an array of indices of measured
    values (nodes, values).
    """
    order = rows[np.argsort(crossed.nodes[rows], kind="stable")]
    each = np.split(order, np.flatnonzero(np.diff(crossed.nodes[order])) + 1) if len(order) else []
    groups: dict[tuple[bytes, bytes], list[Whole]] = {}
    for noise_of_leaf in each:
        groups.setdefault((crossed.which[noise_of_leaf].tobytes(), variance[noise_of_leaf].tobytes()), []).append(
            noise_of_leaf
        )
    return [np.array(members) for members in groups.values()]


def _weights(sums: Array, variance: Array, cover: Array) -> Array | None:
    """Return the weights of the minimum-variance linear combination of measured sums that equals a given cell or sum.
    The result is None if there is no such combination.
    """
    q, cells = sums.shape
    scale = float(variance.max()) or 1.0
    system = np.zeros((q + cells, q + cells))
    system[:q, :q], system[:q, q:], system[q:, :q] = np.diag(variance / scale), sums, sums.T
    coefficients = np.linalg.lstsq(system, np.concatenate([np.zeros(q), cover]), rcond=None)[0][:q]
    coefficients[np.abs(coefficients) < SOLVED] = 0.0
    return coefficients if np.abs(sums.T @ coefficients - cover).max() < SOLVED else None


def laws(crossed: Crossed, prior: Splits | Leaves | None) -> Laws:
    """Compute the posterior distributions of all cells and sums (targets). The function uses a separate tree for each
    target.

    Parameters
    ----------
    crossed : the measured values.
    prior : prior of the tree of every cell and every sum; None: splits with fitted concentrations.

    Returns
    -------
    list of TreeLaw

    Raises
    ------
    ValueError
        If a count is unbounded, as in `tree_posterior.infer`; the message names the cell or the sum.
    """
    tree_laws = []
    for target, one in enumerate(combined(crossed)):
        try:
            measured = Measurements(crossed.tree_of(target), one.nodes, one.values, _noise(crossed, one))
            tree_laws.append(infer(measured, prior=prior))
        except ValueError as wrong:
            raise ValueError(f"{crossed.targets[target]}: {wrong.args[0]}") from None
    return tree_laws


def _noise(crossed: Crossed, one: Combined) -> NoiseLaw:
    """Return the noise distribution of each estimate. It is the noise distribution of the measured value if the
    estimate uses a single value, and otherwise a normal distribution.
    """
    spreads, which = np.unique(one.variance, return_inverse=True)
    laws: list[NoiseLaw] = [Gaussian(sigma=float(np.sqrt(v))) if v > 0 else Exact() for v in spreads]
    noise = crossed.noise
    alone = np.flatnonzero(one.alone >= 0)
    which = which.reshape(-1).astype(np.int64)
    if len(alone):
        which[alone] = len(laws) + noise.which[one.alone[alone]]
    return LawByRow([*laws, *noise.laws], which)
