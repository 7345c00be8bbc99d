# cython: language_level=3, cdivision=True, wraparound=False
"""Draws of a family's counts given their sum."""
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_uniform
from ._families cimport Piece, c_take
from ._messages cimport GOOD, Tree, c_gather


cdef inline void split_fill(Tree *t, int64_t made, int64_t size, int64_t spare, int64_t[:, ::1] values,
                     bitgen_t *bits) noexcept nogil:
    """From the sum of all down to the children: the first of two given their sum, by inversion; -1 where impossible."""
    cdef int64_t i, j, n, low, high, draws = values.shape[1]
    cdef double *running = t.scratch.data + spare
    cdef double *left
    cdef double *right
    cdef double total, target
    cdef Piece *a
    cdef Piece *b
    for i in range(made - 1, size - 1, -1):
        if t.pieces[i].left == -2:
            for j in range(draws):
                values[t.pieces[i].right, j] = values[i, j]
            continue
        a, b = &t.pieces[t.pieces[i].left], &t.pieces[t.pieces[i].right]
        left, right = t.scratch.data + a.at, t.scratch.data + b.at
        for j in range(draws):
            low, high = max(a.low, values[i, j] - b.low - b.size + 1), min(a.low + a.size - 1, values[i, j] - b.low)
            total = 0.0
            for n in range(low, high + 1):
                total += left[n - a.low] * right[values[i, j] - n - b.low]
                running[n - low] = total
            target = c_uniform(bits) * total
            n = 0
            while n < high - low and running[n] <= target:
                n += 1
            if not total > 0.0:
                values[t.pieces[i].left, j] = values[t.pieces[i].right, j] = -1
                continue
            values[t.pieces[i].left, j] = low + n
            values[t.pieces[i].right, j] = values[i, j] - low - n


cdef inline int64_t tree_fill(Tree *t, int64_t[:, ::1] values, int64_t[::1] counts, bitgen_t *bits) noexcept nogil:
    """One draw of all families given the root's count, which stands first; a node where there is none, or -1.

    `values` has a row a piece of the largest family.
    """
    cdef int64_t v, i, made, most, spare
    for v in range(t.size):
        if not t.count[v]:
            continue
        if c_gather(t, v, False, &made) != GOOD:
            return v
        most = 1
        for i in range(made - 1):
            most = max(most, 1 + t.pieces[i].size)
        spare = c_take(&t.scratch, most)
        if spare < 0:
            return v
        values[made - 1, 0] = counts[v]
        split_fill(t, made, t.count[v], spare, values, bits)
        for i in range(t.count[v]):
            if values[i, 0] < 0:
                return v
            counts[t.first[v] + i] = values[i, 0]
    return -1
