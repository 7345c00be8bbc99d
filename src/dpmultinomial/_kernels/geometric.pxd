# cython: language_level=3, cdivision=True, wraparound=False
"""Draws of truncated two-sided geometric noise from one uniform number (see geometric.pyx)."""
from libc.math cimport expm1, log1p
from libc.stdint cimport int64_t


cdef inline int64_t c_noise(double u, const double *cumulative, int64_t support) noexcept nogil:
    """Return the smallest value whose cumulative probability exceeds u, by a branch-free search."""
    cdef int64_t low = 0, n = 2 * support + 1, half
    while n > 1:  # bisection: the answer is one of the n values from `low` on
        half = n >> 1
        low += half * (cumulative[low + half - 1] <= u)
        n -= half
    return low - support


cdef inline int64_t c_noise_from(double u, const double *cumulative, int64_t support, double epsilon,
                                 int64_t least) noexcept nogil:
    """Draw the noise conditional on a value of at least `least` <= support; above 0, this is a one-sided geometric
    distribution.
    """
    cdef double below
    cdef int64_t value
    if least <= -support:
        return c_noise(u, cumulative, support)
    # above 0 the distribution is geometric, truncated at the support: invert 1 - a^(d - least + 1)
    if least > 0:
        value = least + <int64_t> (-log1p(u * expm1(-epsilon * (support - least + 1))) / epsilon)
        return value if value < support else support
    # otherwise, use a uniform number between P(D < least) and 1
    below = cumulative[least - 1 + support]
    value = c_noise(below + u * (1.0 - below), cumulative, support)
    return value if value > least else least
