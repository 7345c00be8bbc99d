"""Reference implementation of `private_blocks`: releases and naive Bayes scores."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]


def release(
    counts: Array,
    starts: NDArray[np.int64],
    *,
    law: str,
    scale: Array,
    alpha: Array | None = None,
    floors: Array | None = None,
    normalise: bool = True,
    rng: np.random.Generator,
) -> Array:
    """Compute `private_blocks.release`."""
    rows = []
    for m, value in enumerate(scale):
        if law == "dirichlet":
            cells = rng.standard_gamma(value * counts + (1.0 if alpha is None else alpha[m]))
        elif law == "gaussian":
            cells = counts + value * rng.standard_normal(len(counts))
        else:
            cells = counts + rng.laplace(0.0, value, len(counts))
        if floors is not None:
            cells = np.maximum(cells, floors[m])
        totals = np.repeat(np.add.reduceat(cells, starts[:-1]), np.diff(starts))
        rows.append(np.log(cells) - (np.log(totals) if normalise else 0.0))
    return np.array(rows)


def scores(
    priors: Array, tables: Array, cells: NDArray[np.int32], labels: NDArray[np.int32], *, cap: float = 0.0
) -> Array:
    """Compute `private_blocks.scores`."""
    out = np.empty((len(tables), 2))
    rows = np.arange(len(labels))
    for m, table in enumerate(tables):
        padded = np.vstack([table, np.zeros((1, table.shape[1]))])  # cell -1 uses the row of zeros
        logits = priors[m] + padded[cells].sum(axis=1)
        logits[np.isneginf(logits).all(axis=1)] = 0.0  # no class is possible: equal probabilities
        log_shares = logits - logsumexp(logits, axis=1, keepdims=True)
        own = log_shares[rows, labels]
        out[m, 0] = -np.mean(np.log(np.exp(own) + cap) if cap else own)
        out[m, 1] = np.mean(logits[rows, labels] >= logits.max(axis=1))
    return out
