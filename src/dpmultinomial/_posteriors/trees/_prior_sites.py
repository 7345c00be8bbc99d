"""Contribution of a prior to the weights of the nodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..published.priors import CountPrior
from ._likelihoods import Listed
from .priors import Histogram
from .sites import Lists, both
from .tree import Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def split(sites: NDArray[Any], tree: Tree, by_level: Array) -> float:
    """Multiply the weights of splits into the sites; return the part of the log prior that the sites do not contain.

    Parameters
    ----------
    sites : structured (m,), `sites.SITE`; the fields own and others are set, and upper bounds of 0 are passed on.
    tree : the nodes.
    by_level : float64 (levels,), concentration of the splits into each level, indexed by depth.

    Returns
    -------
    float
    """
    part = takers(tree)
    concentrations = np.where(part, by_level[tree.depth], 1.0)
    concentrations[tree.root] = 1.0
    total = np.bincount(tree.parent[part], concentrations[part], len(tree))
    others = np.where(tree.leaf | (total == 0), 1.0, total)
    sites["own"][tree.place], sites["others"][tree.place] = concentrations, others
    return float(gammaln(others[total > 0]).sum() - gammaln(concentrations[part]).sum())


def takers(tree: Tree) -> NDArray[np.bool_]:
    """Return which nodes take part in a split: all except the root and nodes whose count must be 0 by its bounds."""
    upper = np.where(tree.upper == 0, 0, 1)
    for depth in range(1, int(tree.depth.max()) + 1):
        rows = np.flatnonzero(tree.depth == depth)
        upper[rows] = np.minimum(upper[rows], upper[tree.parent[rows]])
    return (upper > 0) & (tree.parent >= 0)


def assume(sites: NDArray[Any], lists: Lists, tree: Tree, prior: CountPrior | Histogram, nodes: Whole) -> float:
    """Multiply a prior of single counts into the sites of some leaves; return the part of the log prior that the sites
    do not contain.

    Parameters
    ----------
    sites, lists : arguments of `sites.measure`, which must be called first.
    tree : the nodes.
    prior : prior of each count.
    nodes : int64, positions of the leaves.

    Returns
    -------
    float
    """
    words, rows = prior.settings(), tree.place[nodes]
    law = words["law"]
    if law == "flat":
        return 0.0
    if law == "1/(1+n)":
        sites["damped"][rows] = 1.0
        return 0.0
    if law in ("geometric", "negative_binomial"):
        mean, shape = float(str(words["mean"])), float(str(words.get("shape", 1.0)))
        sites["own"][rows], sites["slope"][rows] = shape, -np.log1p(shape / mean)
        return float(len(nodes) * (-gammaln(shape) - shape * np.log1p(mean / shape)))
    first, last = int(prior.first), int(prior.last)
    logs = np.asarray(prior.log_weights(np.arange(first, last + 1)), dtype=np.float64)
    taken = sites["table"][rows] >= 0
    listed = Listed(first, logs)
    if (~taken).any():
        lists.put(sites, rows[~taken], listed)
    for row in rows[taken].tolist():
        lists.put(sites, row, both(lists.of(sites, row), listed))
    return 0.0
