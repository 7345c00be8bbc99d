# cython: language_level=3, cdivision=True, wraparound=False
"""One Dirichlet draw (see dirichlet.pyx)."""
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma


cdef inline int c_dirichlet(bitgen_t *bits, const double *alpha, const int64_t *s, double *p,
                            Py_ssize_t k) noexcept nogil:
    """p ~ Dirichlet(alpha + s) by normalised gamma draws; returns 0 where all of them underflow."""
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(k):
        p[i] = random_standard_gamma(bits, alpha[i] + s[i])
        total += p[i]
    if not total > 0.0:
        return 0
    for i in range(k):
        p[i] /= total
    return 1
