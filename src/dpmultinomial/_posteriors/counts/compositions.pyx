# cython: language_level=3
"""Multinomial coefficients of all compositions of a total, by the recurrence of Balmat et al. (2018), Table 1.

A composition (s_1, .., s_k) of M has the coefficient M!/(s_1! .. s_k!). In the order of Table 1 (s_1 decreasing, then
s_2, .., s_{k-1} increasing, s_k the remainder), every coefficient is an earlier coefficient, with one unit moved from
category j to category 1, times (s_1 + 1)/s_j. The paper's rule (M - k + 1)/k is the case S_0 = 0; in general it is (M -
k + 1)/S_err.
"""
from math import comb, lgamma, log

import numpy as np

from libc.math cimport logl
from libc.stdint cimport int64_t

from ... import _checks

_LARGEST_TABLE = 1 << 34  # limit in bytes; larger problems should use the convolution form


cdef inline int64_t c_rank(const int64_t[:, ::1] below, int64_t *s, int64_t k) noexcept nogil:
    """Return the row of composition s in the table: the total size of all earlier blocks plus the lexicographic rank
    within its block.

    below[t, m] is the number of compositions of t into m parts.
    """
    cdef int64_t rest = 0, rank = 0, i
    for i in range(1, k):
        rest += s[i]
    if rest > 0:
        rank = below[rest - 1, k]
    # compositions with a smaller s_2, then compositions with the same s_2 and a smaller s_3, ..
    for i in range(1, k - 1):
        if s[i] > 0:
            rank += below[rest, k - i] - below[rest - s[i], k - i]
        rest -= s[i]
    return rank


cdef void table_fill(int64_t[:, ::1] counts, double[::1] values, const int64_t[:, ::1] below) noexcept nogil:
    cdef int64_t rows = counts.shape[0], k = counts.shape[1], r, i, j, previous
    values[0] = 1.0
    for r in range(1, rows):
        c_successor(counts, r, k)
        # the last category j with a unit: value = (earlier value) (s_1 + 1)/s_j
        j = k - 1
        while counts[r, j] == 0:
            j -= 1
        # The same composition with one unit of category j moved back to category 1 (temporarily, in place).
        counts[r, 0] += 1
        counts[r, j] -= 1
        previous = c_rank(below, &counts[r, 0], k)
        counts[r, 0] -= 1
        counts[r, j] += 1
        values[r] = values[previous] * (counts[r, 0] + 1) / counts[r, j]


cdef void counts_fill(int64_t[:, ::1] counts) noexcept nogil:
    cdef int64_t r
    for r in range(1, counts.shape[0]):
        c_successor(counts, r, counts.shape[1])


cdef inline void c_successor(int64_t[:, ::1] counts, int64_t r, int64_t k) noexcept nogil:
    """Compute the composition in row r from the composition in row r - 1: s_2..s_{k-1} increase like an odometer, s_k
    is the remainder, and then s_1 decreases by one.
    """
    cdef int64_t i, j
    for i in range(k):
        counts[r, i] = counts[r - 1, i]
    if k > 2 and counts[r, k - 1] > 0:
        counts[r, k - 2] += 1
        counts[r, k - 1] -= 1
        return
    j = k - 2
    while j > 0 and counts[r, j] == 0:
        j -= 1
    if j > 1:  # carry: one unit to the category on the left, the remaining units to the last category
        counts[r, j - 1] += 1
        counts[r, k - 1] = counts[r, j] - 1
        counts[r, j] = 0
        return
    # s_2, .., s_(k-1) are at their limit: move one unit of s_1 to the last category
    i = 1
    for j in range(1, k):
        i += counts[r, j]
        counts[r, j] = 0
    counts[r, 0] -= 1
    counts[r, k - 1] = i


def log_factorials(total):
    """Return the logs of the factorials 0!, 1!, .., total! as float64 (total + 1,), summed in extended precision if the
    machine supports it.

    Parameters
    ----------
    total : integer in [0, 2^31].
    """
    cdef int64_t last = _checks.integer("total", total, most=1 << 31)
    cdef double[::1] out = np.zeros(last + 1)
    cdef long double running = 0
    cdef int64_t s
    for s in range(1, last + 1):
        running += logl(<long double> s)
        out[s] = <double> running
    return np.asarray(out)


def rows(total, categories=3):
    """Return the number of compositions of `total` into `categories` counts, which is C(total + categories
    - 1, total).
    """
    size, count = _checks.integer("total", total), _checks.integer("categories", categories, least=2)
    return comb(size + count - 1, count - 1)


def compositions(total, categories=3):
    """Return all compositions of `total` into `categories` counts, in the order of Table 1 of Balmat et al. (2018).

    Parameters
    ----------
    total : integer >= 0 (M in the paper).
    categories : integer >= 2 (k).

    Returns
    -------
    int64 (rows, categories), first row (total, 0, .., 0).

    Raises
    ------
    MemoryError
        If the table would need more than 16 GiB; `laplace_multinomial.exact` needs no table.
    """
    cdef int64_t[:, ::1] counts = _first_row(total, categories)
    with nogil:
        counts_fill(counts)
    return np.asarray(counts)


def multinomial_table(total, categories=3):
    """Return all compositions of a total and their multinomial coefficients, by the recurrence of Balmat et al. (2018),
    Table 1.

    Parameters
    ----------
    total : integer >= 0 (M in the paper).
    categories : integer >= 2; 3 in the paper.

    Returns
    -------
    counts : int64 (rows, categories), in the paper's order: the first count decreases, the next counts increase, and
        the last count is the remainder.
    coefficients : float64 (rows,), M!/(s_1! .. s_k!).

    Raises
    ------
    OverflowError
        If a step of the recurrence exceeds float64 (total >= 648 for three categories). The message states the
        largest safe total; `log_multinomial_table` has no such limit.
    MemoryError
        The same as in `compositions`.

    Notes
    -----
    One multiplication and one division per row; exact integers as long as every product is below 2**53 (total <= 37 for
    three categories), relative error 6e-16 at total 50 and 6.4e-15 at total 647.
    """
    table = _first_row(total, categories)
    if not _is_safe(total, categories):
        raise OverflowError(
            f"multinomial coefficients of total={total} with categories={categories} exceed the range of float64, "
            f"and the largest possible total is {largest_safe_total(categories)}: use log_multinomial_table instead"
        )
    cdef int64_t[:, ::1] counts = table
    cdef double[::1] values = np.empty(len(table))
    cdef const int64_t[:, ::1] below = np.array(
        [[comb(t + m - 1, t) if m else 0 for m in range(categories + 1)] for t in range(total + 1)], dtype=np.int64
    )
    with nogil:
        table_fill(counts, values, below)
    return table, np.asarray(values)


def log_multinomial_table(total, categories=3):
    """Return all compositions of a total and the natural logarithms of their multinomial coefficients, for any total.

    Returns
    -------
    counts : int64 (rows, categories).
    log_coefficients : float64 (rows,), log M! - sum_i log s_i!; absolute error below 2e-12 at total 1,000.
    """
    counts = compositions(total, categories)
    table = log_factorials(total)
    return counts, table[total] - table[counts].sum(axis=1)


def largest_safe_total(categories=3):
    """Return the largest total for which `multinomial_table` can compute all coefficients in float64.

    Parameters
    ----------
    categories : integer in [2, 1e6].
    """
    categories = _checks.integer("categories", categories, least=2, most=10**6)
    low, high = 0, 2
    while _is_safe(high, categories):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_safe(middle, categories) else (low, middle)
    return low


def _first_row(total, categories):
    """Return the arrays for a table of all compositions and coefficients, in which only the first row is filled."""
    n = rows(total, categories)
    if n * (categories + 1) * 8 > _LARGEST_TABLE:
        raise MemoryError(
            f"the table of total={total}, categories={categories} has {n:,} rows and needs more than 16 GiB: "
            "use laplace_multinomial.exact, which does not need a table"
        )
    counts = np.zeros((n, categories), dtype=np.int64)
    counts[0, 0] = total
    return counts


def _is_safe(total, categories):
    """Return whether the largest product of the recurrence, total * (largest coefficient of total - 1), does not exceed
    the largest float64 number.
    """
    if total < 2:
        return True
    share, extra = divmod(total - 1, categories)
    largest = lgamma(total + 1) - extra * lgamma(share + 2) - (categories - extra) * lgamma(share + 1)
    return largest < log(1.7976931348623157e308)
