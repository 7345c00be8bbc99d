"""Release of the counts of a tree, with independent noise in the count of every measured node. The noise is discrete
and drawn by exact samplers. The budget is split over the levels.

A record is counted in one leaf and in all nodes above it, and therefore in at most one node per level. Adding or
removing the record changes one count per level by one: an L1 change and a squared L2 change of 1. Replacing the record
decreases one count of a level by one and increases another count by one, a change of 2 in either norm. The root does
not change. The levels are measured in sequence, so costs add up: epsilon = sum of change/scale, rho = sum of change/(2
scale^2).

If records are added or removed, every node is measured. If records are replaced, the count of the root is the public
number of records. It is published exactly, without cost, and all levels below the root are measured.

The budget of a tree of counts is split among its levels based on the noise distribution and the shape of the tree, but
never on counts.

The effect of a level's share s on the variance of its noise is known in advance: discrete Gaussian noise of rho s has a
variance proportional to 1/s, and discrete Laplace noise of epsilon s a variance proportional to 1/s^2. The standard
deviation of the least-squares estimate of a node does not depend on the counts. The shares minimise the mean of this
standard deviation over the nodes of one level, and therefore the mean width of their intervals without prior
information. For several levels, they minimise the product of these means. The total budget only scales the widths. For
a single level, nearly the whole budget goes to this level.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import table_columns
from .._files.csv_table import CsvTable
from .._files.table_columns import Hierarchy
from . import _noise, losses
from ._places import Refused
from .spending import ADD_OR_REMOVE, REPLACE, Cost, Drawn, Plan, csv_bytes

STEPS = 1000  # shares are multiples of 1/1000
LEAST = 0.1  # fraction of an equal share that every level keeps
_POWERS = {"discrete_laplace": 2, "discrete_gaussian": 1}
_SCHEDULE = (0.5, 0.2, 0.08, 0.03, 0.01, 0.004)
Array = NDArray[np.float64]


def equal(levels: int) -> list[float]:
    """Return equal shares of the budget, one per level."""
    return [1 / levels] * levels


def narrowing(shape: Hierarchy, *, mechanism: str, targets: Sequence[int], known: bool) -> list[float]:
    """Return the shares of the budget for the measured levels that minimise the mean least-squares standard deviation
    at the target level, or the product of these means for several target levels.

    Parameters
    ----------
    shape : shape of the tree; nothing else of the file is used.
    mechanism : ``"discrete_laplace"`` or ``"discrete_gaussian"``.
    targets : depths of the target levels.
    known : whether the root's count is public, so that the root has no share.

    Returns
    -------
    list of float
        One share per measured level, starting with the level of the root; multiples of 1/1000, each at least a tenth of
        an equal share.

    Notes
    -----
    The logarithms of the shares are changed one at a time, in steps that decrease to 0.4 %, as long as the
    minimised quantity decreases. This takes about 20 to 40 least-squares solutions per level, 0.1 s each with 60,000
    nodes. Under discrete Laplace noise, the product for several levels has more than one local minimum, so the search
    also starts from nearly the whole budget at each level.
    """
    first = 1 if known else 0
    levels = len(shape.sizes) - first
    if levels == 1:
        return [1.0]
    width = _width(shape, power=_POWERS[mechanism], targets=targets, first=first)
    starts = [np.array(equal(levels))]
    if len(targets) > 1 and mechanism == "discrete_laplace":
        starts += [_kept(np.where(np.arange(levels) == level, 1.0, 0.0)) for level in range(levels)]
    shares, _ = min((_lowered(width, start) for start in starts), key=lambda end: end[1])
    whole = np.floor(shares * STEPS + 1e-6).astype(int)
    whole[targets[0] - first] += STEPS - whole.sum()
    return [float(part) / STEPS for part in whole]


def _lowered(width: Callable[[Array], float], start: Array) -> tuple[Array, float]:
    """Minimise the function `width` of the budget shares, with one share per level of the tree. Return the shares at
    which no further step reduces the width, and this width.
    """
    shares, best = start, width(start)
    for step in _SCHEDULE:
        moved = True
        while moved:
            moved = False
            for level in range(len(shares)):
                for way in (step, -step):
                    tried = shares.copy()
                    tried[level] *= np.exp(way)
                    tried = _kept(tried)
                    if (value := width(tried)) < best - 1e-9:
                        shares, best, moved = tried, value, True
    return shares, best


def _kept(shares: Array) -> Array:
    """Return shares of the budget, one per level, that sum to 1 and are at least `LEAST` divided by the number of
    levels.
    """
    least = LEAST / len(shares)
    bounded: Array = shares / shares.sum()
    for _ in range(len(bounded)):
        low = bounded <= least
        if not low.any() or low.all():
            break
        rest = np.where(low, 0.0, bounded)
        bounded = np.asarray(np.where(low, least, rest * (1 - least * low.sum()) / rest.sum()))
    return bounded


def _width(shape: Hierarchy, *, power: int, targets: Sequence[int], first: int) -> Callable[[Array], float]:
    """Return a function that computes the size of the noise at the target levels, given the shares of the budget. The
    function value is the sum, over the target levels, of the log of the mean least-squares standard deviation.
    """
    from .._posteriors.trees.least_squares import LeastSquares  # needed only if a budget is split
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


COLUMNS = ("category", "parent", "count")
_LAWS = {"discrete_laplace": ("discrete Laplace", "L1"), "discrete_gaussian": ("discrete Gaussian", "squared L2")}


def release(settings: Mapping[str, Any], table: CsvTable, names: list[str], counts: NDArray[np.int64]) -> Plan:
    """Plan a release of a tree with independent noise in every node.

    Parameters
    ----------
    settings : checked and completed keys: mechanism, epsilon or rho, sensitivity, relation, levels, shares, narrow.
    table : columns category, parent, count.
    names, counts : names and counts of the records, checked (`_counts.read`).

    Returns
    -------
    Plan

    Raises
    ------
    Rejected, FileFault
        If parents do not form a tree, a count is not the sum of the counts of its children, the named levels are not
        those of the file, or the share of a level requires noise of a scale above 2^40.
    """
    shape = table_columns.of(table, names)
    if (node := shape.unlike(counts.tolist())) is not None:
        raise table.refuse("count", node, "must be the sum of the counts of its children", str(counts[node]))
    names, above, counts, shape = _in_order(names, table.texts("parent"), counts, shape)
    mechanism, public = str(settings["mechanism"]), settings["relation"] == REPLACE
    levels = _levels(settings, shape, table.name)
    shares = dict(zip(levels[public:], shares_of(settings, shape, levels), strict=True))
    change = changed(int(settings["sensitivity"]), public=public)
    scales = {level: _scale(mechanism, settings, share, change, level) for level, share in shares.items()}
    key = "epsilon" if mechanism == "discrete_laplace" else "rho"
    scales, spent = _noise.within(settings[key], scales, lambda _, scale: _spent(mechanism, scale, change))
    cost = {key: _noise.total(spent.values())}
    law, norm = _LAWS[mechanism]
    facts = {
        "law": law,
        "step": 1,
        "sensitivity": int(settings["sensitivity"]),
        "sensitivity_norm": norm,
        "change_of_a_level": change,
        "levels": levels,
        "nodes": dict(zip(levels, shape.sizes, strict=True)),
        "shares": shares,
        "narrow": settings["narrow"],
        "scale": scales,
        "cost_of_each": spent,
        "total": int(counts[shape.depth.index(0)]) if public else None,
        "categories": len(names),
        "hardened": True,
    }

    def drawn() -> Drawn:
        released, depth = counts.copy(), np.array(shape.depth)
        draw = _noise.discrete_laplace if mechanism == "discrete_laplace" else _noise.discrete_gaussian
        for level, scale in scales.items():
            rows = np.flatnonzero(depth == levels.index(level))
            released[rows] = draw(counts[rows], scale=scale)
        written = zip(names, above, released.tolist(), strict=True)
        return Drawn(data=csv_bytes(COLUMNS, written))

    stated = Cost(relation=REPLACE if public else ADD_OR_REMOVE, **cost)
    known = losses.of_levels(mechanism, list(scales.values()), change=change, relation=stated.relation)
    return Plan(cost=stated, facts=facts, draw=drawn, losses=known)


def _in_order(
    names: list[str], above: list[str], counts: NDArray[np.int64], shape: Hierarchy
) -> tuple[list[str], list[str], NDArray[np.int64], Hierarchy]:
    """Return the nodes sorted by depth, by the name of the parent and by the name of the node. The order in the file is
    not used, because it may depend on the counts.
    """
    order = sorted(range(len(names)), key=lambda node: (shape.depth[node], above[node], names[node]))
    place = {node: k for k, node in enumerate(order)} | {-1: -1}
    parent = [place[shape.parent[node]] for node in order]
    sorted_shape = Hierarchy(parent, [shape.depth[node] for node in order])
    return [names[k] for k in order], [above[k] for k in order], counts[order], sorted_shape


def changed(sensitivity: int, *, public: bool) -> int:
    """Return the largest change that one record can make to the counts of a level, in the norm of the mechanism.

    Parameters
    ----------
    sensitivity : sensitivity of a replacement, in which one record is removed and another is added, each with half of
        the sensitivity.
    public : whether records are replaced; if not, they are added or removed.
    """
    return sensitivity if public else -(-sensitivity // 2)


def _levels(settings: Mapping[str, Any], shape: Hierarchy, name: str) -> list[str]:
    """Return the names of the levels, starting with the level of the root."""
    level_names = list(settings["levels"] or [f"level {depth}" for depth in range(len(shape.sizes))])
    if len(level_names) != len(shape.sizes):
        raise Refused(
            f"levels must contain one name per level of the tree in {name} ({len(shape.sizes)} levels), got "
            f"{len(level_names)} names"
        )
    return level_names


def shares_of(settings: Mapping[str, Any], shape: Hierarchy, levels: list[str]) -> list[float]:
    """Return the share of the privacy budget that is assigned to each measured level. The shares do not depend on the
    counts.

    Parameters
    ----------
    settings : checked and completed keys of a tree.
    shape : shape of the tree.
    levels : names of the levels, starting with the level of the root.

    Returns
    -------
    list of float, starting with the level of the root; without the root if records are replaced.
    """
    known = settings["relation"] == REPLACE
    if settings["shares"]:
        return [settings["shares"][level] for level in levels[known:]]
    if settings["narrow"]:
        targets = [levels.index(level) for level in settings["narrow"]]
        return narrowing(shape, mechanism=str(settings["mechanism"]), targets=targets, known=known)
    return equal(len(levels) - known)


def _scale(mechanism: str, settings: Mapping[str, Any], share: float, change: int, level: str) -> float:
    """Return the scale of the noise at one level of a tree."""
    laplace = mechanism == "discrete_laplace"
    key = "epsilon" if laplace else "rho"
    part = settings[key] * share
    wanted = change / part if laplace else math.sqrt(change / part / 2)
    if not wanted <= _noise.LARGEST_SCALE * (1 - 1e-9):
        raise Refused(
            f"the noise scale of the level {level!r} must be <= 2^40, got {wanted:.3g}: choose a larger share or "
            f"a larger {key}"
        )
    return (_noise.laplace_scale if laplace else _gaussian_scale)(part, sensitivity=change)


def _gaussian_scale(rho: float, *, sensitivity: int) -> float:
    return _noise.gaussian_scale(rho, l2_squared=sensitivity)


def _spent(mechanism: str, scale: float, change: int) -> float:
    if mechanism == "discrete_laplace":
        return _noise.laplace_epsilon(scale, sensitivity=change)
    return _noise.gaussian_rho(scale, l2_squared=change)
