"""Reference implementation of `private_blocks.scores`."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]


def scores(
    priors: Array, tables: Array, cells: NDArray[np.int32], labels: NDArray[np.int32], *, cap: float = 0.0
) -> Array:
    """`naive_bayes_scores.scores`."""
    out = np.empty((len(tables), 2))
    rows = np.arange(len(labels))
    for m, table in enumerate(tables):
        padded = np.vstack([table, np.zeros((1, table.shape[1]))])  # cell -1 reads the row of zeros
        logits = priors[m] + padded[cells].sum(axis=1)
        logits[np.isneginf(logits).all(axis=1)] = 0.0  # no class is possible: all are equally so
        log_shares = logits - logsumexp(logits, axis=1, keepdims=True)
        own = log_shares[rows, labels]
        out[m, 0] = -np.mean(np.log(np.exp(own) + cap) if cap else own)
        out[m, 1] = np.mean(logits[rows, labels] >= logits.max(axis=1))
    return out
