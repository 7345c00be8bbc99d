# cython: language_level=3
"""Spectra of sums of terms that are independent given a common probability: products over groups, integrated over this
probability.

Each group has ties in only a few rows. The factors of groups without a tie are multiplied once per row; the product is
then the starting value at every node of the integral.
"""
import numpy as np

from libc.stdint cimport int64_t

from dpmultinomial import _arrays

cdef enum:
    TOGETHER = 64  # number of frequencies that are processed together; their values for all groups fit into the cache
    MOST = 1000000  # largest number of repeats


cdef inline void c_times(double *out, const double *term, const double *more, double node, int64_t repeats,
                         int64_t size) noexcept nogil:
    """Compute out *= (term + node more)^repeats, with complex numbers as pairs of real numbers."""
    cdef int64_t again, f
    cdef double real, imag, kept
    for again in range(repeats):
        for f in range(size):
            real = term[2 * f] + node * more[2 * f]
            imag = term[2 * f + 1] + node * more[2 * f + 1]
            kept = out[2 * f] * real - out[2 * f + 1] * imag
            out[2 * f + 1] = out[2 * f] * imag + out[2 * f + 1] * real
            out[2 * f] = kept


cdef void integrated_fill(const double[:, :, ::1] every, const double[:, ::1] some, const int64_t[:, ::1] place,
                          const int64_t[::1] repeats, const int64_t[::1] rows, const double[::1] nodes,
                          const double[::1] weights, double[:, ::1] out) noexcept nogil:
    """Add, to each row of `out`, sum_n weights_n prod_g (every_g + nodes_n some_g)^repeats_g."""
    cdef int64_t i, row, g, n, first, f, size, length = out.shape[1] // 2
    cdef double[2 * TOGETHER] free, product
    for i in range(rows.shape[0]):
        row = rows[i]
        first = 0
        while first < length:
            size = min(<int64_t>TOGETHER, length - first)
            # product of the factors of the groups without a tie in this row
            for f in range(size):
                free[2 * f], free[2 * f + 1] = 1.0, 0.0
            for g in range(every.shape[0]):
                if place[g, row] < 0:
                    c_times(free, &every[g, row, 2 * first], &every[g, row, 2 * first], 0.0, repeats[g], size)
            # at each node, multiply by the factors of the groups with a tie, and add with the weight of the node
            for n in range(nodes.shape[0]):
                for f in range(2 * size):
                    product[f] = weights[n] * free[f]
                for g in range(every.shape[0]):
                    if place[g, row] >= 0:
                        c_times(product, &every[g, row, 2 * first], &some[place[g, row], 2 * first], nodes[n],
                                repeats[g], size)
                for f in range(2 * size):
                    out[i, 2 * first + f] += product[f]
            first += TOGETHER


def integrated(every, some, place, repeats, *, rows, nodes, weights):
    """Return sum over nodes t of w(t) product over groups g of (E_g + t S_g)^repeats_g, for some rows of spectra.

    Parameters
    ----------
    every : complex128 (G, R, F), E of every group and row.
    some : complex128 (T, F), S where it is not 0.
    place : int64 (G, R), the row of `some` that is the S of a group, or -1 if S is 0.
    repeats : int64 (G,), 0..10^6.
    rows : int64 (K,), the rows to compute, 0..R - 1.
    nodes, weights : float64 (N,).

    Returns
    -------
    complex128 (K, F). The cost is O(F) per group and row, and O(N F) if the group has a tie.

    Raises
    ------
    ValueError, TypeError
        If a shape or a value is invalid.
    """
    terms, more = _arrays.spectra("every", every, ndim=3), _arrays.spectra("some", some, ndim=2)
    groups, count, length = terms.shape
    places = _arrays.integers("place", place, ndim=2, shape=(groups, count), least=-1, most=len(more) - 1)
    powers = _arrays.integers("repeats", repeats, shape=(groups,), least=0, most=MOST)
    wanted = _arrays.integers("rows", rows, least=0, most=count - 1)
    at = _arrays.floats("nodes", nodes, ndim=1)
    by = _arrays.floats("weights", weights, ndim=1, shape=at.shape)
    if more.shape[1] != length:
        raise ValueError(f"some must have as many columns as every ({length} columns), got {more.shape[1]}")
    out = np.zeros((len(wanted), length), dtype=complex)
    if out.size:
        integrated_fill(terms.view(float), more.view(float), places, powers, wanted, at, by, out.view(float))
    return out
