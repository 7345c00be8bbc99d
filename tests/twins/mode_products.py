"""Reference implementation of `_mode_products`: one product after the other."""

import numpy as np
from numpy.typing import NDArray

Spectrum = NDArray[np.complex128]
Whole = NDArray[np.int64]


def integrated(
    every: Spectrum, some: Spectrum, place: Whole, repeats: Whole, *, rows: Whole, nodes: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> Spectrum:  # fmt: skip
    """`mode_products.integrated`."""
    out = np.zeros((len(rows), every.shape[2]), dtype=complex)
    for i, row in enumerate(rows):
        for node, weight in zip(nodes, weights, strict=True):
            tied = [node * some[at] if at >= 0 else 0.0 for at in place[:, row]]
            out[i] += weight * np.prod(
                [(e + s) ** n for e, s, n in zip(every[:, row], tied, repeats, strict=True)], axis=0
            )
    return out
