"""Reference implementation of `_frequency_products`: every component by itself, every product written out."""

import numpy as np
from numpy.typing import NDArray

Spectra = NDArray[np.complex128]
Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def sweep(
    spectra: Spectra, tail: Spectra, clear: Whole, got: Whole | None, lost: Whole | None, *, weight: Array, repeats:
    Whole,
    length: int, early: Array | None, late: Array | None,
) -> tuple[Array, Spectra, Spectra]:  # fmt: skip
    """`frequency_products.sweep`; derivatives by leaving one factor out."""
    table = np.concatenate([spectra, np.zeros((1, spectra.shape[1]))])  # row -1 is nothing
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
