"""Do prior and measurements agree: every measurement beside what all the rest says of its count, level by level."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .priors import Leaves, moments
from .tree import Tree

Array = NDArray[np.float64]
FAR = 3.0
SHARP = 1e-6  # share of the noise's variance that must be left to see anything
COLUMNS = ("level", "measurements", "mean", "mean_square", "beyond_3", "largest", "node")


def residuals(mean: ArrayLike, sd: ArrayLike, released: ArrayLike, variance: ArrayLike) -> Array:
    """(released - posterior mean)/sqrt(noise variance - posterior variance): standard normal where all laws are normal.

    Equal to (released - m)/sqrt(noise variance + v), m and v the mean and variance of the count given everything but
    this measurement. NaN where the posterior is (nearly) as wide as the noise: then nothing else speaks of the count.

    Parameters
    ----------
    mean, sd : float64 (r,), posterior of the count that each value measures.
    released : float64 (r,), NaN where a value was withheld.
    variance : float64 (r,), of the noise; 0 for exact counts, which are never in doubt.

    Returns
    -------
    float64 (r,)
    """
    noise, left = (
        np.asarray(variance, dtype=float),
        np.asarray(variance, dtype=float) - np.asarray(sd, dtype=float) ** 2,
    )
    seen = (noise > 0) & (left > SHARP * noise)
    gap = np.asarray(released, dtype=float) - np.asarray(mean, dtype=float)
    return np.where(seen, gap / np.sqrt(np.where(seen, left, 1.0)), np.nan)


def by_level(tree: Tree, nodes: NDArray[np.int64], z: Array) -> pd.DataFrame:
    """Residuals of each level: number, mean (0 expected), mean square (1), share beyond 3, the largest and its node.

    Parameters
    ----------
    tree : the nodes.
    nodes : int64 (r,), of each measurement.
    z : float64 (r,), `residuals`.

    Returns
    -------
    DataFrame with columns `COLUMNS`.
    """
    rows = []
    for depth, level in enumerate(tree.levels):
        own = np.flatnonzero((tree.depth[nodes] == depth) & np.isfinite(z))
        if not len(own):
            continue
        worst = own[np.argmax(np.abs(z[own]))]
        rows.append(
            (
                level,
                len(own),
                z[own].mean(),
                (z[own] ** 2).mean(),
                (np.abs(z[own]) > FAR).mean(),
                z[worst],
                tree.names[nodes[worst]],
            )
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def implied_totals(tree: Tree, prior: Leaves) -> pd.DataFrame:
    """What independent priors of the leaves say of every total: mean and standard deviation before any measurement.

    With many leaves the standard deviation is a small share of the mean: a confident statement, right or wrong.

    Parameters
    ----------
    tree : the nodes.
    prior : of the leaves; fitted ones by what they became.

    Returns
    -------
    DataFrame
        Columns node, level, leaves, mean, sd; infinite where a leaf's prior has no mean.
    """
    names, groups = prior.rows(tree)
    each = np.array([moments(prior.of(name)) for name in names])
    leaf = np.flatnonzero(tree.leaf)
    values = np.zeros((len(tree), 3))
    values[leaf] = np.column_stack([np.ones(len(leaf)), each[groups[leaf]]])
    total = tree.sums(values)
    inner = np.flatnonzero(~tree.leaf)
    return pd.DataFrame(
        {
            "node": [tree.names[i] for i in inner],
            "level": [tree.levels[d] for d in tree.depth[inner]],
            "leaves": total[inner, 0].astype(int),
            "mean": total[inner, 1],
            "sd": np.sqrt(total[inner, 2]),
        }
    )
