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
    first, p = messages.root()
    below = np.cumsum(p)
    total = first + below[:-1].searchsorted(rng.random() * below[-1], side="right")
    return messages.splits(int(total), rng=rng)
