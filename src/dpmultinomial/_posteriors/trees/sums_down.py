"""One draw of all counts of a tree, from its messages, groups within large families included."""

import numpy as np
from numpy.typing import NDArray

from ._sum_product import SumProduct
from .tree import Tree


def drawn(tree: Tree, messages: SumProduct, rng: np.random.Generator) -> NDArray[np.int64]:
    """Counts in the kernels' order, exactly from their joint law.

    Parameters
    ----------
    tree : the nodes.
    messages : passed up.
    rng : numpy Generator.

    Returns
    -------
    int64 (m,)
    """
    out = np.zeros(len(tree.order), dtype=np.int64)
    first, p = messages.root()
    below = np.cumsum(p)
    out[0] = first + np.searchsorted(below[:-1], rng.random() * below[-1], side="right")
    for row in np.flatnonzero(tree.count > 0).tolist():
        start = int(tree.first[row])
        out[start : start + int(tree.count[row])] = messages.split(row, out[row : row + 1], rng=rng)[0]
    return out
