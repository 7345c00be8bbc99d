"""Reference of `_subset_shuffles`: every original, every set of records that stay, in whole numbers and fractions."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb, factorial, log, prod

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def same_margins(table: Counts) -> Iterator[Counts]:
    """Tables with the margins of `table`, by trying all."""
    most = [min(r, c) for r in table.sum(axis=1).tolist() for c in table.sum(axis=0).tolist()]
    for cells in product(*(range(m + 1) for m in most)):
        other = np.array(cells, dtype=np.int64).reshape(table.shape)
        if all(np.array_equal(other.sum(axis=a), table.sum(axis=a)) for a in (0, 1)):
            yield other


def probability(original: Counts, swapped: Counts, coefficients: list[Fraction]) -> Fraction:
    """P(swapped | original): sum over the records that stay out of the shuffled subset."""
    n, total = int(original.sum()), Fraction(0)
    for cells in product(*(range(min(a, b) + 1) for a, b in zip(original.flat, swapped.flat, strict=True))):
        stay = np.array(cells, dtype=np.int64).reshape(original.shape)
        moving, size = original - stay, n - int(stay.sum())
        ways = prod(comb(int(a), int(g)) for a, g in zip(original.flat, stay.flat, strict=True))
        top = prod(factorial(int(v)) for axis in (0, 1) for v in moving.sum(axis=axis))
        bottom = comb(n, size) * factorial(size) * prod(factorial(int(v)) for v in (swapped - stay).flat)
        total += coefficients[size] * Fraction(ways * top, bottom)
    return total


def originals(swapped: Counts, coefficients: list[Fraction]) -> tuple[Counts, NDArray[np.float64]]:
    """`subset_shuffles.originals`, in rising order of the tables' rows and without the loss."""
    tables = list(same_margins(swapped))
    return np.stack(tables), np.array([log(probability(t, swapped, coefficients)) for t in tables])
