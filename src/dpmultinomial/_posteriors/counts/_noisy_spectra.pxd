# cython: language_level=3, cdivision=True, wraparound=False
"""Products of spectra that leave one factor out, and the sums of all other counts (see noisy_tables.pyx)."""
from libc.stdint cimport int64_t

from ._noisy_tables cimport c_fourier


cdef struct Space:
    double *z
    double *spectra
    double *products
    double *factors
    double *weights
    double *cumulative
    const double *roots


cdef inline void c_leave_one_out(int64_t k, int64_t n, Space *w) noexcept nogil:
    """products[i] = product of all spectra but the i-th: suffixes first, then a running prefix."""
    cdef int64_t half = n // 2 + 1, j, i, at
    cdef double pr, pi, ar, ai
    for j in range(half):
        pr, pi = 1.0, 0.0
        for i in range(k - 1, -1, -1):
            at = 2 * (i * half + j)
            w.products[at], w.products[at + 1] = pr, pi
            ar, ai = w.spectra[at], w.spectra[at + 1]
            pr, pi = pr * ar - pi * ai, pr * ai + pi * ar
        pr, pi = 1.0, 0.0
        for i in range(k):
            at = 2 * (i * half + j)
            ar, ai = w.products[at], w.products[at + 1]
            w.products[at], w.products[at + 1] = pr * ar - pi * ai, pr * ai + pi * ar
            ar, ai = w.spectra[at], w.spectra[at + 1]
            pr, pi = pr * ar - pi * ai, pr * ai + pi * ar


cdef inline void c_others(int64_t pair, int64_t k, int64_t n, Space *w) noexcept nogil:
    """z = weights of the sum of all counts but the pair-th (real parts) and but the next (imaginary parts)."""
    cdef int64_t half = n // 2 + 1, j, at
    cdef double ar, ai, br = 0.0, bi = 0.0
    for j in range(half):
        at = 2 * (pair * half + j)
        ar, ai = w.products[at], w.products[at + 1]
        if pair + 1 < k:
            br, bi = w.products[at + 2 * half], w.products[at + 2 * half + 1]
        w.z[2 * j], w.z[2 * j + 1] = ar - bi, ai + br
        if 0 < j < n // 2:
            w.z[2 * (n - j)], w.z[2 * (n - j) + 1] = ar + bi, br - ai
    c_fourier(w.z, n, w.roots, 1)
