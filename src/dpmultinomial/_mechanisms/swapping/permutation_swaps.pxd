# cython: language_level=3, cdivision=True, wraparound=False
"""Draws of one selection, one derangement and one swap of a table (see permutation_swaps.pyx)."""
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_uniform


cdef inline int64_t c_below(bitgen_t *bits, int64_t n) noexcept nogil:
    """Return a uniform integer in 0..n-1, with a bias below n 2^-53."""
    return <int64_t> (c_uniform(bits) * n)


cdef inline int64_t c_select(bitgen_t *bits, int64_t n, double rate, int64_t *chosen) noexcept nogil:
    """Select positions among n >= 2, and repeat while exactly one is selected; return their number. The loop is
    branch-free.
    """
    cdef int64_t i, k = 1
    while k == 1:
        k = 0
        for i in range(n):  # the next position is overwritten until a record is selected
            chosen[k] = i
            k += c_uniform(bits) < rate
    return k


cdef inline void c_derange(bitgen_t *bits, int64_t k, int64_t *image) noexcept nogil:
    """Draw a uniform derangement of 0..k-1, k != 1: shuffles from the end, rejected at the first fixed point."""
    cdef int64_t i, j, moved
    cdef bint fixed = True
    while fixed:
        fixed = False
        for i in range(k):
            image[i] = i
        # Fisher and Yates: position i gets the value of a random position j <= i and is final
        for i in range(k - 1, -1, -1):
            j = c_below(bits, i + 1)
            moved = image[j]
            image[j] = image[i]
            image[i] = moved
            if moved == i:
                fixed = True
                break


cdef inline void c_swap_counts(bitgen_t *bits, const int64_t *row, const int64_t *column, int64_t n, int64_t rows,
                               int64_t columns, double rate, int64_t *chosen, int64_t *image,
                               int64_t *counts) noexcept nogil:
    """Swap the row variable of n >= 2 records; `counts`, the table of the records, becomes the swapped table."""
    cdef int64_t i, moved = 0, k = c_select(bits, n, rate, chosen)
    c_derange(bits, k, image)
    if rows == 2 and columns == 2:  # with fixed margins, one cell determines the table; its change is in a register
        for i in range(k):
            moved += column[chosen[i]] * (row[chosen[image[i]]] - row[chosen[i]])
        counts[0] += moved
        counts[1] -= moved
        counts[2] -= moved
        counts[3] += moved
        return
    # record chosen[i] leaves its cell and gets the row of record chosen[image[i]]
    for i in range(k):
        counts[row[chosen[i]] * columns + column[chosen[i]]] -= 1
        counts[row[chosen[image[i]]] * columns + column[chosen[i]]] += 1
