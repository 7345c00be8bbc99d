"""Reference implementation of `_sum_chain`: every vector enumerated."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def law(factors: Array, total_factor: Array, first: int) -> tuple[NDArray[np.int64], Array]:
    """Every vector and its weight (not normalised)."""
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
    """`sum_chain.solve` without its chain."""
    vectors, weights = law(factors, total_factor, first)
    width = factors.shape[2]
    marginals = np.array([np.bincount(column, weights, width) for column in vectors.T]) / weights.sum()
    sums = np.bincount(vectors.sum(axis=1), weights, first + len(total_factor))[first:] / weights.sum()
    return float(np.log(weights.sum())), marginals, sums[: len(total_factor)]
