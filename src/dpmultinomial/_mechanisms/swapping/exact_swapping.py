"""Exact distribution of a swapped table, conditional on the original table.

A permutation of n records with k moved points has probability b_k/(C(n, k) D_k), where b_k is the distribution of the
number of selected records (binomial, conditional on a number other than 1) and D_k is the number of derangements. The
probability depends only on k, so (methods of Pan, 2023, in the documentation)

P(swapped | original) = sum_N a_N Q_N,  a_N = sum_{k >= N} b_k (k!/D_k) (-1)^(k-N)/(k-N)!,

where Q_N shuffles a uniformly random N-subset of the records. This equation holds for any table. Among tables with
fixed margins, the distribution is reversible with respect to the hypergeometric distribution h. The module
`permutation_swaps` lists small r x c classes and sums over them.

There are two independent methods for 2 x 2 tables. The function `two_by_two.row` sums positive terms, for tables of any
size. The function `row` uses the fact that all Q_N have the Hahn polynomials as eigenfunctions. Its sums alternate in
sign and are computed in integer fixed-point arithmetic, with a precision that is increased until the smallest
probability is accurate. This method is slow, but almost always correctly rounded.

`log_permutation_weights` returns the probability of a permutation, given the number of records that it moves;
`mixture_coefficients` returns the a_N above, which express the same distribution as a signed mixture of unconstrained
shuffles.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import comb, factorial, log
from operator import mul

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ... import _checks
from . import permutation_swaps, two_by_two
from .two_by_two import Row

_COUNTED = 200  # largest number of records for which derangements are counted as integers
_SPARE = 64  # number of bits in addition to the requested number


def subfactorials(n: int) -> list[int]:
    """Return the numbers of derangements D_0..D_n of 0, 1, .., n elements.

    Parameters
    ----------
    n : int
        At least 0.

    Returns
    -------
    list of int, n + 1 values. O(n^2 log n) bits.
    """
    d = [1, 0]
    for k in range(2, n + 1):
        d.append((k - 1) * (d[-1] + d[-2]))
    return d[: n + 1]


@lru_cache(maxsize=64)
def mixture_coefficients(n: int, rate: float, bits: int) -> tuple[int, ...]:
    """Return the coefficients a_0..a_n of the mixture that represents the exact distribution of a swap. Some
    coefficients may be negative. The coefficients are multiples of 2^-bits. The error of each coefficient is at most
    2^-bits.

    Parameters
    ----------
    n : int
        Number of records, at least 2.
    rate : float
        Swap rate, in (0, 1).
    bits : int
        Number of binary digits after the point.

    Returns
    -------
    tuple of int, n + 1 values. O(n^2) products of `bits` + n bits.
    """
    work = bits + n + _SPARE  # the factor C(n, k) <= 2^n multiplies the rounding error of a power
    one = 1 << work
    top, bottom = rate.as_integer_ratio()
    # powers of p and 1 - p; norm = 1 - P(1 selected), because a single record cannot be swapped
    up, down = [one], [one]
    for _ in range(n):
        up.append(up[-1] * top // bottom)
        down.append(down[-1] * (bottom - top) // bottom)
    norm = one - (n * up[1] * down[n - 1] >> work)
    derangements = subfactorials(n)
    weights = [0] * (n + 1)  # b_k k!/D_k, and 1/m! below, with _SPARE more bits than requested
    for k in range(n + 1):
        if k != 1:
            selected = comb(n, k) * up[k] * down[n - k] // norm
            weights[k] = selected * factorial(k) // derangements[k] >> n
    # a_N = sum_{k >= N} (b_k k!/D_k) (-1)^(k - N)/(k - N)!
    shares = [1 << bits + _SPARE]
    while shares[-1]:
        shares.append(shares[-1] // len(shares))
    signed = [-share if m % 2 else share for m, share in enumerate(shares)]
    return tuple(sum(map(mul, weights[start:], signed)) >> bits + 2 * _SPARE for start in range(n + 1))


def log_permutation_weights(n: int, *, rate: float) -> NDArray[np.float64]:
    """Return the log probability that a swap yields a given permutation of n records, for each number of moved records.
    The number of moved records is k = 0..n. The value is -inf at k = 1.

    Parameters
    ----------
    n : int
        Number of records, 0 to 2^31.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    float64 (n + 1,)
        For more than 200 records, ln D_k is computed as ln k! - 1, which is accurate to double precision.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.

    Notes
    -----
    The cost is O(n).
    """
    p = _checks.inside("rate", rate)
    k = np.arange(_checks.integer("n", n, most=1 << 31) + 1)
    if n < 2:
        return np.where(k == 0, 0.0, -np.inf)
    with np.errstate(divide="ignore"):
        counted = np.array([log(d) if d else -np.inf for d in subfactorials(min(n, _COUNTED))])
    derangements = np.concatenate([counted, gammaln(k[_COUNTED + 1 :] + 1.0) - 1.0])
    # log b_k/(C(n, k) D_k) with b_k = C(n, k) p^k (1 - p)^(n - k)/(1 - n p (1 - p)^(n - 1))
    norm = np.log1p(-n * p * (1 - p) ** (n - 1))
    return np.where(k == 1, -np.inf, k * np.log(p) + (n - k) * np.log1p(-p) - norm - np.where(k == 1, 0, derangements))


_DIGITS = 64  # number of significant bits of the smallest probability
# largest number of records of a 2 x 2 table for which `class_law` uses `row`, which is accurate to the last bit
SPECTRAL_UP_TO = 24
MOST_WORK = 2e9  # largest number of enumeration steps for r x c tables, a few seconds
MOST_TABLES = 500_000
_LARGEST_LOSS = 1e6  # largest loss of accuracy by cancellation in r x c tables, six digits


@lru_cache(maxsize=64)
def eigenvalues(n: int, rate: float, count: int, bits: int) -> tuple[int, ...]:
    """Return the eigenvalues lambda_0, lambda_1, .. of the transition matrix of a swap.

    Parameters
    ----------
    n : number of records.
    rate : swap rate, in (0, 1).
    count : number of eigenvalues, at most n/2 + 1.
    bits : precision in bits.

    Returns
    -------
    tuple of int, multiples of 2^-bits.
    """
    sums = [0] * count
    row = [1] + [0] * (count - 1)  # C(n - N, 0..count-1), from N = n downwards
    for index, weight in zip(range(n, -1, -1), reversed(mixture_coefficients(n, rate, bits)), strict=True):
        for j in range(count):
            sums[j] += weight * (row[j] - row[j - 1 - index] if j > index else row[j])
        row = [1, *(row[j - 1] + row[j] for j in range(1, count))]
    return tuple(s // (comb(n, j) - (comb(n, j - 1) if j else 0)) for j, s in enumerate(sums))


@lru_cache(maxsize=16)
def _hahn(n: int, small: int, other: int, bits: int) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return the eigenfunctions Q_j(x) of a random walk of swaps for all integers j and x from 0 to `small`, and the
    reciprocals of their squared norms. The eigenfunctions are normalised to Q_j(0) = 1, and the norms refer to the
    hypergeometric distribution h. All numbers are multiples of 2^-bits.

    Let x be the number of records in one category of each variable, of sizes `small` (the smallest margin) and `other`.
    Q_j solves the difference equation of the random walk that exchanges the values of two random records.
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


def row(table: ArrayLike, *, rate: float, depth: int | None = None) -> Row:
    """Compute one row and one column of the transition matrix for swaps of a 2 x 2 table. Every probability has full
    relative accuracy.

    Parameters
    ----------
    table : integers, 2 x 2.
    rate : swap rate, in (0, 1).
    depth : None for all probabilities. With an integer d, only probabilities above 2^-d of the largest backward
        probability are computed, which is faster; all others are 0.

    Returns
    -------
    Row
        The computing time is milliseconds at n = 100 and seconds at n = 1,000.
    """
    counts = _checks.table("table", table)
    if counts.shape != (2, 2):
        raise ValueError(f"table must have shape 2 x 2, got shape {counts.shape}")
    rate = _checks.inside("rate", rate)
    x, view = two_by_two.orient(counts)
    if len(x) == 1:
        return Row(x, np.zeros(1), np.zeros(1), 0)
    n, small, other, position = view.n, view.small, view.other, view.at
    values, bits = _symmetric(n, small, other, position, rate, depth)
    ways = [comb(other, i) * comb(n - other, small - i) for i in range(small + 1)]
    total = comb(n, small)
    order = slice(None, None, -1 if view.flipped else 1)
    forward = np.array([_log(v * w // total, bits) for v, w in zip(values, ways, strict=True)])
    backward = np.array([_log(v * ways[position] // total, bits) for v in values])
    return Row(x, forward[order], backward[order], int(counts[1, 1] - x[0]))


def _log(value: int, bits: int) -> float:
    """Return log(value 2^-bits), which is accurate even if value 2^-bits is slightly less than 1."""
    if value <= 0:
        return -np.inf
    shift = max(0, value.bit_length() - 64)
    exponent = shift + 64 - bits
    return log((value >> shift) / 2.0**64) + exponent * log(2) if exponent else log((value >> shift) / 2.0**64)


def _symmetric(n: int, small: int, other: int, at: int, rate: float, depth: int | None) -> tuple[list[int], int]:
    """Return the ratios P(y | x)/h(y) of a transition probability to a hypergeometric probability, for a fixed count x
    and all counts y, as integer multiples of 2^-bits. P(y | x) is the probability that a swap changes a count x to y.
    Also return the number of bits. The function h is the hypergeometric probability mass function. The total number is
    2 n bits for rounding errors plus 64 bits below the smallest requested value.
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
    table: ArrayLike, *, rate: float, depth: int | None = None, most_work: float = MOST_WORK
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return all tables with the same margins as `table`, the log probability of a swap from `table` to each of these
    tables, and the log probability of the reverse swap.

    Parameters
    ----------
    table : integers, (rows, columns) 2 x 2 with any total, or a larger table if its class can be listed (3 x 3: totals
        up to about 45; 3 x 5: about 25).
    rate : float
        Swap rate, in (0, 1).
    depth : int, optional
        As in `row`; used for up to 24 records.
    most_work : float Largest number of steps for an r x c table; 1e9 steps take less than a second.

    Returns
    -------
    tables : int64 (m, rows, columns)
        In lexicographic order; for 2 x 2 tables, in increasing order of the last cell.
    log_forward, log_backward : float64 (m,)

    Raises
    ------
    ValueError, TypeError
        If an r x c table needs more than `most_work` steps or 500,000 tables, or would lose more than six digits to
        cancellation (if all values are distinct and nearly all records are swapped). The message names the samplers
        without these limits.

    Notes
    -----
    Computing time: 1 ms for 3 x 3 tables with 18 records, 30 ms for 3 x 5 tables with 20 records.
    """
    counts = _checks.table("table", table)
    rate = _checks.inside("rate", rate)
    if counts.shape == (2, 2):
        swap_row = (
            row(counts, rate=rate, depth=depth) if counts.sum() <= SPECTRAL_UP_TO else two_by_two.row(counts, rate=rate)
        )
        return swap_row.tables(counts), swap_row.log_forward, swap_row.log_backward
    listed = listed_law(counts, rate, most_work)
    if isinstance(listed, str):
        raise ValueError(listed)
    return listed


def listed_law(
    counts: NDArray[np.int64], rate: float, most_work: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]] | str:
    """Return the same result as `class_law` for a table larger than 2 x 2 that has already been checked. If there are
    too many tables with the same margins, return the reason.

    Parameters
    ----------
    counts : int64 (rows, columns)
        A checked table.
    rate : float
        Swap rate, in (0, 1).
    most_work : float
        Largest number of steps.

    Returns
    -------
    The result of `class_law`, or a sentence that names the samplers without these limits.
    """
    sides = [counts.sum(axis=axis) for axis in (0, 1)]
    if counts.sum() < 2 or min((side > 0).sum() for side in sides) < 2:
        return counts[None], np.zeros(1), np.zeros(1)
    n, turned = int(counts.sum()), counts.shape[0] > counts.shape[1]
    # the kernel requires at most as many rows as columns
    upright = np.ascontiguousarray(counts.T) if turned else counts
    if n > permutation_swaps.MOST_RECORDS:
        why = f"total of table must be in [0, {permutation_swaps.MOST_RECORDS}], got {n}"
    else:
        why = permutation_swaps.refusal(upright, most_tables=MOST_TABLES, most_work=most_work)
    if not why:
        tables, backward, loss = _listed(upright, rate, most_work)
        if loss < _LARGEST_LOSS:
            if turned:
                tables = np.ascontiguousarray(tables.transpose(0, 2, 1))
            order = np.lexsort(tables.reshape(len(tables), -1).T[::-1])
            tables, backward = tables[order], backward[order]
            ways = -gammaln(tables + 1.0).sum(axis=(1, 2)) + gammaln(counts + 1.0).sum()  # log h(other)/h(table)
            return tables, backward + ways, backward
        why = f"the computation would lose {np.log10(loss):.0f} digits to cancellation"
    return (
        f"the exact distribution of swaps is not available for a table with {n} records and shape {counts.shape} "
        f"({why}): for the posterior, pass rng= to dpmultinomial.posterior, which then draws samples; to swap the "
        "table, use dpmultinomial.Swap(rate=..).sample"
    )


def _listed(
    counts: NDArray[np.int64], rate: float, most_work: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """List all tables that have the same margins as a given small table. Return these tables, the log probability of
    `table` given each of them, and the largest loss of accuracy by cancellation.
    """
    n = int(counts.sum())
    bits = 2 * _DIGITS + int(-n * log(min(rate, 1 - rate)) / log(2)) + 1  # |a_n| >= min(p, 1 - p)^n
    one = 1 << bits
    coefficients = np.array([a / one for a in mixture_coefficients(n, rate, bits)])
    tables, backward, loss = permutation_swaps.originals(
        counts, coefficients, most_tables=MOST_TABLES, most_work=most_work
    )
    return tables, backward, float(loss.max())


def same_margins(table: NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
    """Yield all tables that have the same margins as `table`, as flat tuples in lexicographic order."""
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
