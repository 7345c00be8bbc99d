# cython: language_level=3, cdivision=True, wraparound=False
"""What the chain over statistics proposes: its scales, and theta from a t law (see censored_statistics.pyx)."""
from libc.math cimport log1p, sqrt
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma, random_standard_normal

from ._censored_target cimport State


cdef struct Proposal:
    double walk[6][6]
    double centre[2]
    double spread[2][2]


cdef inline double c_log_t(const Proposal *by, const double *y) noexcept nogil:
    """Log density of the t_4 proposal of theta, up to a constant."""
    cdef double a = (y[0] - by.centre[0]) / by.spread[0][0]
    cdef double b = (y[1] - by.centre[1] - by.spread[1][0] * a) / by.spread[1][1]
    return -3.0 * log1p(0.25 * (a * a + b * b))


cdef inline void c_theta_from_t(const Proposal *by, State *state, bitgen_t *bits) noexcept nogil:
    cdef double a = random_standard_normal(bits), b = random_standard_normal(bits)
    cdef double stretch = sqrt(2.0 / random_standard_gamma(bits, 2.0))
    state.y[0] = by.centre[0] + by.spread[0][0] * a * stretch
    state.y[1] = by.centre[1] + (by.spread[1][0] * a + by.spread[1][1] * b) * stretch
