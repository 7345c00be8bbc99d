"""Reference implementations of `_sum_chain`, `_frequency_products` and `_mode_products`.

All vectors are enumerated, every component has a separate factor, and products are computed one by one.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Spectra = NDArray[np.complex128]
Whole = NDArray[np.int64]


def law(factors: Array, total_factor: Array, first: int) -> tuple[NDArray[np.int64], Array]:
    """Return every vector and its weight (not normalised)."""
    states, size, width = factors.shape
    vectors = np.array(list(product(range(width), repeat=size)))
    columns = np.arange(size)
    if states == 1:
        weights = factors[0, columns, vectors].prod(axis=1)
    else:
        weights = np.zeros(len(vectors))
        for j in range(size):
            kinds = np.where(columns < j, 0, np.where(columns == j, 1, 2))
            weights += factors[kinds, columns, vectors].prod(axis=1)
    place = vectors.sum(axis=1) - first
    inside = (place >= 0) & (place < len(total_factor))
    return vectors, weights * np.where(inside, total_factor[np.where(inside, place, 0)], 0.0)


def solve(factors: Array, total_factor: Array, first: int) -> tuple[float, Array, Array]:
    """Compute `sum_chain.solve` without a chain."""
    vectors, weights = law(factors, total_factor, first)
    width = factors.shape[2]
    marginals = np.array([np.bincount(column, weights, width) for column in vectors.T]) / weights.sum()
    sums = np.bincount(vectors.sum(axis=1), weights, first + len(total_factor))[first:] / weights.sum()
    return float(np.log(weights.sum())), marginals, sums[: len(total_factor)]


def sweep(
    spectra: Spectra, tail: Spectra, clear: Whole, got: Whole | None, lost: Whole | None, *, weight: Array, repeats:
    Whole,
    length: int, early: Array | None, late: Array | None,
) -> tuple[Array, Spectra, Spectra]:  # fmt: skip
    """Compute `frequency_products.sweep`; derivatives by leaving one factor out."""
    table = np.concatenate([spectra, np.zeros((1, spectra.shape[1]))])  # row -1 represents S = 0
    of = np.repeat(np.arange(len(repeats)), repeats)
    adjoints, tail_adjoint, sums = np.zeros_like(table), np.zeros_like(tail), np.zeros((len(clear), 2))
    both = np.full(len(tail), 2.0)
    both[0] = 1.0
    if length % 2 == 0:
        both[-1] = 1.0
    for t, rows in enumerate(clear):
        if got is None or lost is None or early is None or late is None:
            orders = [[(rows[u], 1.0)] for u in of]
            terms = [orders]
        else:
            terms = []
            for j in range(len(of)):
                if got[t, of[j]] < 0:
                    continue
                factors = []
                for s, u in enumerate(of):
                    e = early[t] if s < j else late[t]
                    mixed = [(rows[u], 1.0), (got[t, u], e), (lost[t, u], 1.0 - e)]
                    factors.append([(got[t, u], 1.0)] if s == j else mixed)
                terms.append(factors)
        root = np.zeros_like(tail)
        for factors in terms:
            values = [sum(c * table[row] for row, c in factor) for factor in factors]
            root += np.prod(values, axis=0)
            for s, factor in enumerate(factors):
                others = np.prod(values[:s] + values[s + 1 :], axis=0) * tail * weight[t]
                for row, c in factor:
                    adjoints[row] += c * others / repeats[of[s]]
        sums[t] = (both @ (root * tail).real * weight[t], both @ np.abs(root * tail) * weight[t])
        tail_adjoint += weight[t] * root
    return sums / length, adjoints[:-1].conj(), tail_adjoint.conj()


def integrated(
    every: Spectra, some: Spectra, place: Whole, repeats: Whole, *, rows: Whole, nodes: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> Spectra:  # fmt: skip
    """Compute `mode_products.integrated`."""
    out = np.zeros((len(rows), every.shape[2]), dtype=complex)
    for i, row in enumerate(rows):
        for node, weight in zip(nodes, weights, strict=True):
            tied = [node * some[at] if at >= 0 else 0.0 for at in place[:, row]]
            out[i] += weight * np.prod(
                [(e + s) ** n for e, s, n in zip(every[:, row], tied, repeats, strict=True)], axis=0
            )
    return out
