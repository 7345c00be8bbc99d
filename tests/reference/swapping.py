"""Reference implementations of `permutation_swaps` and `swap_crossings`.

Swaps are drawn record by record; weights and distributions of crossings are sums of all terms of both double sums (for
totals up to a few hundred); originals of a shuffled subset are listed with exact fractions.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb, factorial, lgamma, log, prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Counts = NDArray[np.int64]
Array = NDArray[np.float64]


def select(n: int, *, rate: float, rng: np.random.Generator) -> Counts:
    """Select positions among n >= 2, repeatedly while exactly one is selected."""
    while True:
        chosen = np.flatnonzero(rng.random(n) < rate)
        if len(chosen) != 1:
            return chosen


def derange(k: int, *, rng: np.random.Generator) -> list[int]:
    """Draw one uniform derangement: a shuffle from the end, rejected at its first fixed point."""
    while True:
        image = list(range(k))
        for i in range(k - 1, -1, -1):
            j = int(rng.random() * (i + 1))
            image[i], image[j] = image[j], image[i]
            if image[i] == i:
                break
        else:
            return image


def derangements(k: int, size: int, *, rng: np.random.Generator) -> Counts:
    """Compute `permutation_swaps.derangements`."""
    return np.array([derange(k, rng=rng) for _ in range(size)], dtype=np.int64).reshape(size, k)


def sources(strata: Counts, *, rate: float, rng: np.random.Generator) -> Counts:
    """Compute `permutation_swaps.sources`."""
    out = np.arange(len(strata))
    for stratum in range(int(max(strata, default=-1)) + 1):
        members = np.flatnonzero(strata == stratum)
        if len(members) >= 2:
            chosen = members[select(len(members), rate=rate, rng=rng)]
            out[chosen] = chosen[derange(len(chosen), rng=rng)]
    return out


def tables(table: Counts, size: int, *, rate: float, rng: np.random.Generator) -> Counts:
    """Compute `permutation_swaps.tables`."""
    row, column = (np.repeat(codes.ravel(), table.ravel()) for codes in np.indices(table.shape))
    out = np.zeros((size, *table.shape), dtype=np.int64)
    for swapped in out:
        moved = row[sources(np.zeros(len(row), dtype=np.int64), rate=rate, rng=rng)]
        np.add.at(swapped, (moved, column), 1)
    return out


def _choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if 0 <= k <= n else -np.inf


def _share(k: int, i: int) -> float:
    """Return the log share of arrangements of k records, i of them from outside, in which none has its own value."""
    total, term = 0.0, 1.0
    for f in range(k - i + 1):
        total += term
        term *= -(k - i - f) / max((k - f) * (f + 1), 1)
    return float(np.log(total)) if total > 1e-12 else -np.inf


def log_weights(n: int, small: int, *, rate: float) -> Array:
    """Compute `swap_crossings.log_weights`."""
    r = min(small, n - small)
    norm = np.log1p(-n * rate * (1 - rate) ** (n - 1))
    out = np.full(r + 1, -np.inf)
    for i in range(r + 1):
        terms = [
            _choose(r, a) + _choose(n - r, b) + (a + b) * np.log(rate) + (n - a - b) * np.log1p(-rate)
            + _choose(a, i) + _choose(b, i) - _choose(a + b, a) + _share(a, i) + _share(b, i) - _share(a + b, 0)
            for a in range(i, r + 1) for b in range(i, n - r + 1) if a + b != 1
        ]  # fmt: skip
        out[i] = logsumexp(terms) - norm
    return out


def log_law(n: int, small: int, other: int, at: int, *, rate: float) -> Array:
    """Compute `swap_crossings.log_law` with all entries."""
    weights, m = log_weights(n, small, rate=rate), n - small
    out = np.empty(small + 1)
    for y in range(small + 1):
        terms = [
            weights[i] + _choose(y, u) + _choose(small - y, i - u) - _choose(small, i)
            + _choose(other - y, u + at - y) + _choose(m - other + y, i - u - at + y) - _choose(m, i)
            for i in range(small + 1) for u in range(i + 1)
        ]  # fmt: skip
        out[y] = logsumexp(terms)
    return out


def same_margins(table: Counts) -> Iterator[Counts]:
    """Return the tables with the margins of `table`, by testing all tables."""
    most = [min(r, c) for r in table.sum(axis=1).tolist() for c in table.sum(axis=0).tolist()]
    for cells in product(*(range(m + 1) for m in most)):
        other = np.array(cells, dtype=np.int64).reshape(table.shape)
        if all(np.array_equal(other.sum(axis=a), table.sum(axis=a)) for a in (0, 1)):
            yield other


def probability(original: Counts, swapped: Counts, coefficients: list[Fraction]) -> Fraction:
    """Return P(swapped | original), a sum over the records outside the shuffled subset."""
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
    """Compute `subset_shuffles.originals`, in increasing order of the tables' rows and without the loss."""
    tables = list(same_margins(swapped))
    return np.stack(tables), np.array([log(probability(t, swapped, coefficients)) for t in tables])
