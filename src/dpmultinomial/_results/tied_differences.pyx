# cython: language_level=3
"""Law of the difference of two whole numbers that hang together by a weight on their sum."""
import numpy as np

from .. import _checks


cdef void fill(const double[::1] first, const double[::1] second, const double[::1] tie,
               double[::1] out) noexcept nogil:
    """Adds first[i] second[j] tie[i + j] to out[i - j + columns - 1]; `second` comes reversed: all run along."""
    cdef Py_ssize_t i, j, columns = second.shape[0], start
    cdef double weight
    for i in range(first.shape[0]):
        weight = first[i]
        if weight == 0:
            continue
        start = i + columns - 1
        for j in range(columns):
            out[i + j] += weight * (second[j] * tie[start - j])


def tied_differences(first, second, tie):
    """Weights of i - j, where (i, j) has the weight first[i] second[j] tie[i + j].

    Parameters
    ----------
    first : float64 (m,), m >= 1.
    second : float64 (n,), n >= 1.
    tie : float64 (m + n - 1,), weights of the sums 0, 1, ..

    Returns
    -------
    out : float64 (m + n - 1,), of the differences -(n - 1)..m - 1: sums of products, so that small ones keep their
        digits where all weights are positive. O(m n) time, O(m + n) memory.

    Raises
    ------
    ValueError, TypeError
        If an argument is not one-dimensional and finite, is empty, or `tie` has another size.
    """
    a, b, g = _checks.reals("first", first), _checks.reals("second", second), _checks.reals("tie", tie)
    if len(g) != len(a) + len(b) - 1:
        raise ValueError(f"tie must have {len(a) + len(b) - 1} entries, one a sum, got {len(g)}")
    reversed_ = np.ascontiguousarray(b[::-1])
    out = np.zeros(len(g))
    cdef const double[::1] own = a, other = reversed_, along = g
    cdef double[::1] view = out
    with nogil:
        fill(own, other, along, view)
    return out
