"""How the budget of a tree of counts is split over its levels: from the law and the tree's shape, never from counts.

What a level's share s does to the variance of its noise is known beforehand: discrete Gaussian noise of rho s has a
variance in proportion to 1/s, discrete Laplace noise of epsilon s in proportion to 1/s^2. The standard deviation that
least squares then has at a node depends on no count. The shares minimise its mean over the nodes of one level, hence
the mean width of their intervals before a prior says more, or the product of these means of several levels; the whole
budget only scales them. For one level alone nearly everything goes to this level.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .._files.hierarchy import Hierarchy

STEPS = 1000  # shares are multiples of 1/1000
LEAST = 0.1  # of an equal share, that every level keeps
_POWERS = {"discrete_laplace": 2, "discrete_gaussian": 1}
_SCHEDULE = (0.5, 0.2, 0.08, 0.03, 0.01, 0.004)
Array = NDArray[np.float64]


def equal(levels: int) -> list[float]:
    """One share a level, all alike."""
    return [1 / levels] * levels


def narrowing(shape: Hierarchy, *, mechanism: str, targets: Sequence[int], known: bool) -> list[float]:
    """Shares of the measured levels under which the mean widths at some levels are least.

    Parameters
    ----------
    shape : of the tree; nothing else of the file.
    mechanism : ``"discrete_laplace"`` or ``"discrete_gaussian"``.
    targets : depths of the levels whose widths count; of several the product.
    known : whether the root's count is public, so that the root has no share.

    Returns
    -------
    list of float
        One a measured level, the root's first; multiples of 1/1000, each at least a tenth of an equal share.

    Notes
    -----
    The logarithms of the shares are moved one by one and in steps that shrink to 0.4 %, as long as the width falls;
    some 20 to 40 solutions of least squares a level, 0.1 s each with 60,000 nodes. Under discrete Laplace noise several
    levels have more than one lowest product nearby: it is searched from each level with nearly everything, too.
    """
    first = 1 if known else 0
    levels = len(shape.sizes) - first
    if levels == 1:
        return [1.0]
    width = _width(shape, power=_POWERS[mechanism], targets=targets, first=first)
    starts = [np.array(equal(levels))]
    if len(targets) > 1 and mechanism == "discrete_laplace":
        starts += [_kept(np.where(np.arange(levels) == level, 1.0, 0.0)) for level in range(levels)]
    found, _ = min((_lowered(width, start) for start in starts), key=lambda end: end[1])
    whole = np.floor(found * STEPS + 1e-6).astype(int)
    whole[targets[0] - first] += STEPS - whole.sum()
    return [float(part) / STEPS for part in whole]


def _lowered(width: Callable[[Array], float], start: Array) -> tuple[Array, float]:
    """The shares that no step makes better, and their width."""
    found, best = start, width(start)
    for step in _SCHEDULE:
        moved = True
        while moved:
            moved = False
            for level in range(len(found)):
                for way in (step, -step):
                    tried = found.copy()
                    tried[level] *= np.exp(way)
                    tried = _kept(tried)
                    if (value := width(tried)) < best - 1e-9:
                        found, best, moved = tried, value, True
    return found, best


def _kept(shares: Array) -> Array:
    """Shares that add up to 1, none below its least."""
    least = LEAST / len(shares)
    found: Array = shares / shares.sum()
    for _ in range(len(found)):
        low = found <= least
        if not low.any() or low.all():
            break
        rest = np.where(low, 0.0, found)
        found = np.asarray(np.where(low, least, rest * (1 - least * low.sum()) / rest.sum()))
    return found


def _width(shape: Hierarchy, *, power: int, targets: Sequence[int], first: int) -> Callable[[Array], float]:
    """Sum of the logarithms of the mean standard deviation of least squares at some levels, from the shares."""
    from .._posteriors.trees.least_squares import LeastSquares  # where a budget is split
    from .._posteriors.trees.tree import Tree

    depth, nodes = np.array(shape.depth), np.arange(len(shape.depth))
    tree, aimed = Tree(_positions(shape.parent)), [np.flatnonzero(depth == target) for target in targets]

    def width(shares: Array) -> float:
        by_level = np.concatenate([np.zeros(first), shares**-power])
        sd = LeastSquares(tree, nodes, np.zeros(len(nodes)), by_level[depth]).sd
        return float(sum(np.log(sd[rows].mean()) for rows in aimed))

    return width


def _positions(parent: Sequence[int]) -> NDArray[np.int64]:
    return np.array(parent, dtype=np.int64)
