"""The exact law of a swapped table.

A permutation of n records with k moved points has probability b_k/(C(n, k) D_k), where b_k is the law of the number
selected (binomial, not 1) and D_k the number of derangements: it depends on k alone. Hence (docs/methods.md)

P(swapped | original) = sum_N a_N Q_N,  a_N = sum_{k >= N} b_k (k!/D_k) (-1)^(k-N)/(k-N)!,

Q_N = shuffle a uniformly random N-subset of the records, for any table. Among tables with fixed margins the law is
reversible with respect to the hypergeometric law h. For 2 x 2 tables the Q_N share the Hahn polynomials as
eigenfunctions, so one row of the kernel costs O(d^2), d tables in the class. Alternating sums run in whole-number
fixed point, whose precision grows until the smallest probability has its digits: every probability keeps full
relative accuracy, also in the tails.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb, factorial, lgamma, log, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .permutation_weights import mixture_coefficients

_DIGITS = 64  # significant bits of the smallest probability
_LARGEST_WORK = 2_000_000  # pairs (unselected cells, swapped table) of the enumeration for r x c tables


@lru_cache(maxsize=64)
def eigenvalues(n: int, rate: float, count: int, bits: int) -> tuple[int, ...]:
    """lambda_0..lambda_(count-1), count <= n/2 + 1, as whole multiples of 2^-bits."""
    sums = [0] * count
    row = [1] + [0] * (count - 1)  # C(n - N, 0..count-1), from N = n down
    for at, weight in zip(range(n, -1, -1), reversed(mixture_coefficients(n, rate, bits)), strict=True):
        for j in range(count):
            sums[j] += weight * (row[j] - row[j - 1 - at] if j > at else row[j])
        row = [1, *(row[j - 1] + row[j] for j in range(1, count))]
    return tuple(s // (comb(n, j) - (comb(n, j - 1) if j else 0)) for j, s in enumerate(sums))


@lru_cache(maxsize=16)
def _hahn(n: int, small: int, other: int, bits: int) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Eigenfunctions Q_j(x), j, x = 0..small, scaled to Q_j(0) = 1, and 1/norm_j under h; multiples of 2^-bits.

    x counts the records in one category of each variable, of sizes `small` (the smallest margin) and `other`.
    Q_j solves the difference equation of the walk that exchanges the values of two random records.
    """
    one = 1 << bits
    rest = n - other
    functions, inverse_norms = [], []
    for j in range(small + 1):
        values, step = [one], 0
        for x in range(small):
            up, down = (small - x) * (other - x), x * (rest - small + x)
            step = (down * step - j * (n + 1 - j) * values[-1]) // up
            values.append(values[-1] + step)
        functions.append(tuple(values))
        dimension = comb(n, j) - (comb(n, j - 1) if j else 0)
        top, bottom = dimension * comb(other, j) * comb(small, j), comb(rest, j) * comb(n - small, j)
        inverse_norms.append((top << bits) // bottom)
    return tuple(functions), tuple(inverse_norms)


@dataclass(frozen=True)
class Row:
    """The class of a 2 x 2 table and the kernel between that table and every table of its class.

    x : int64 (d,), record counts #(1, 1) of the class, rising. log_forward, log_backward : float64 (d,), logs of
    P(class table | this table) and P(this table | class table). position : index of this table.
    """

    x: NDArray[np.int64]
    log_forward: NDArray[np.float64]
    log_backward: NDArray[np.float64]
    position: int

    def tables(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The class of `table`, int64 (d, 2, 2)."""
        step = (self.x - table[1, 1])[:, None, None]
        return table + step * np.array([[1, -1], [-1, 1]])


def row(table: ArrayLike, *, rate: float, depth: int | None = None) -> Row:
    """One row and one column of the kernel of a 2 x 2 table, each probability to full relative accuracy.

    Parameters
    ----------
    table : whole numbers, 2 x 2. rate : swap rate, in (0, 1).
    depth : None for all probabilities; d gives those above 2^-d of the largest backward one, faster, the rest as 0.

    Returns
    -------
    Row
        Milliseconds at n = 100, seconds at n = 1,000.
    """
    counts = _checks.table("table", table)
    if counts.shape != (2, 2):
        raise ValueError(f"table must be 2 x 2 here, got shape {counts.shape}")
    rate = _checks.inside("rate", rate)
    n, r1, c1 = int(counts.sum()), int(counts[1].sum()), int(counts[:, 1].sum())
    x = np.arange(max(0, r1 + c1 - n), min(r1, c1) + 1)
    here = int(counts[1, 1] - x[0])
    if len(x) == 1:
        return Row(x, np.zeros(1), np.zeros(1), 0)
    # Exchange labels and variables so that the smallest margin comes first and the count starts at 0.
    views = [(r1, c1, False), (n - r1, n - c1, False), (n - r1, c1, True), (r1, n - c1, True)]
    views += [(other, small, flipped) for small, other, flipped in views]
    small, other, flipped = min(views)
    at = small - here if flipped else here
    values, bits = _symmetric(n, small, other, at, rate, depth)
    ways = [comb(other, i) * comb(n - other, small - i) for i in range(small + 1)]
    total = comb(n, small)
    order = slice(None, None, -1 if flipped else 1)
    forward = np.array([_log(v * w // total, bits) for v, w in zip(values, ways, strict=True)])
    backward = np.array([_log(v * ways[at] // total, bits) for v in values])
    return Row(x, forward[order], backward[order], here)


def _log(value: int, bits: int) -> float:
    """log(value 2^-bits), accurate also near 0."""
    if value <= 0:
        return -np.inf
    shift = max(0, value.bit_length() - 64)
    exponent = shift + 64 - bits
    return log((value >> shift) / 2.0**64) + exponent * log(2) if exponent else log((value >> shift) / 2.0**64)


def _symmetric(n: int, small: int, other: int, at: int, rate: float, depth: int | None) -> tuple[list[int], int]:
    """P(y | x)/h(y) of one x for all y, as whole multiples of 2^-bits, and bits: 2 n bits for rounding errors, 64
    more below the smallest value wanted.
    """
    lost = 2 * n
    bits = lost + _DIGITS + (depth or _DIGITS)
    while True:
        functions, inverse_norms = _hahn(n, small, other, bits)
        lambdas = eigenvalues(n, rate, small + 1, bits)
        scaled = [
            (value * inverse >> bits) * f[at] >> bits
            for value, inverse, f in zip(lambdas, inverse_norms, functions, strict=True)
        ]
        sums = [sum(s * f[y] for s, f in zip(scaled, functions, strict=True)) >> bits for y in range(small + 1)]
        least = min(sums) if depth is None else max(sums) >> depth
        missing = lost + _DIGITS - (least.bit_length() if least > 0 else 0)
        if missing <= 0:
            return [v if v >> lost else 0 for v in sums], bits
        bits += missing + (_DIGITS if depth is None else 0)


def class_law(
    table: ArrayLike, *, rate: float, depth: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Every table with the margins of `table`, log P(it | table) and log P(table | it).

    2 x 2 for any total (`row`); larger tables by enumeration, for totals up to about 12 to 30.

    Raises
    ------
    ValueError
        If an r x c table needs more than 2,000,000 terms; the message names the sampler that does not.
    """
    counts = _checks.table("table", table)
    rate = _checks.inside("rate", rate)
    if counts.shape == (2, 2):
        found = row(counts, rate=rate, depth=depth)
        return found.tables(counts), found.log_forward, found.log_backward
    terms = int(np.prod(counts + 1.0))
    tables: list[tuple[int, ...]] = []
    for other in same_margins(counts):
        tables.append(other)
        if terms * len(tables) > _LARGEST_WORK:
            raise ValueError(
                f"table of total {counts.sum()} and shape {counts.shape} needs over {_LARGEST_WORK} terms; "
                "use posteriors.swapped_table.mcmc or kernels.swapping.tables"
            )
    if len(tables) == 1:
        return np.array(tables).reshape(-1, *counts.shape), np.zeros(1), np.zeros(1)
    forward = _enumerated(counts, tables, rate)
    ways = np.array([_log_factorials(t) for t in tables])  # -log h up to a constant
    return (
        np.array(tables).reshape(-1, *counts.shape),
        forward,
        forward + ways - _log_factorials(counts.ravel().tolist()),
    )


def same_margins(table: NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
    """Tables with the margins of `table`, row by row in rising order, as flat tuples."""
    columns = table.shape[1]

    def rows_of(total: int, room: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(room) == 1:
            if total <= room[0]:
                yield (total,)
            return
        for first in range(min(total, room[0]) + 1):
            for rest in rows_of(total - first, room[1:]):
                yield (first, *rest)

    def below(totals: tuple[int, ...], room: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(totals) == 1:
            yield room
            return
        for first in rows_of(totals[0], room):
            left = tuple(room[j] - first[j] for j in range(columns))
            for rest in below(totals[1:], left):
                yield first + rest

    yield from below(tuple(table.sum(axis=1).tolist()), tuple(table.sum(axis=0).tolist()))


def _enumerated(counts: NDArray[np.int64], tables: list[tuple[int, ...]], rate: float) -> NDArray[np.float64]:
    """log P(each of `tables` | counts): sum over the records that stay out of the shuffled subset.

    Any table has at least probability min(p, 1 - p)^n/n!, which fixes the precision.
    """
    n = int(counts.sum())
    bits = 2 * _DIGITS + factorial(n).bit_length() + int(-n * log(min(rate, 1 - rate)) / log(2)) + 1
    bits += _LARGEST_WORK.bit_length()
    coefficients = mixture_coefficients(n, rate, bits)
    start = counts.ravel().tolist()
    facts = [factorial(i) for i in range(n + 1)]
    sums = [0] * len(tables)
    for stay in product(*(range(c + 1) for c in start)):
        size = n - sum(stay)
        moving = np.array(start).reshape(counts.shape) - np.array(stay).reshape(counts.shape)
        top = coefficients[size] * prod(comb(c, s) for c, s in zip(start, stay, strict=True))
        top *= prod(facts[m] for axis in (0, 1) for m in moving.sum(axis=axis).tolist())
        scale = comb(n, size) * facts[size]
        for i, other in enumerate(tables):
            gaps = [o - s for o, s in zip(other, stay, strict=True)]
            if min(gaps) >= 0:
                sums[i] += top // (scale * prod(facts[g] for g in gaps))
    return np.array([_log(value, bits) for value in sums])


def _log_factorials(cells: Iterable[int]) -> float:
    return sum(lgamma(c + 1.0) for c in cells)
