# cython: language_level=3, cdivision=True, wraparound=False
"""Draws of one count outside alone, by inversion, at a cost of its spread, whatever n.

Of n records s are there with the weight exp(f(s) + (n - s) log(1 - p) - log (n - s)!), f(s) = s log p - log s! - |z -
s|/scale: concave, so that bisection finds the heaviest count and where counts weigh less than exp(-`DEPTH`) of it.
"""
from libc.math cimport exp, fabs
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_uniform
from ._censored_law cimport Law
from ._censored_setting cimport Setting, State

cdef extern from *:
    """
    #define DEPTH 38.0
    """
    const double DEPTH

cdef enum:
    LEAST_COUNT = 4  # fewer uncensored records leave the gamma weight unbounded

cdef struct Side:  # a count outside: log probability of a record there, of one elsewhere, its release
    double log_p, log_rest, z, scale

cdef struct Box:  # s_high in h0 .. h1, s_low in l0 .. l1, their sum in m0 .. m1
    int64_t h0, h1, l0, l1, m0, m1


cdef inline int64_t c_most(int64_t a, int64_t b) noexcept nogil:
    return a if a > b else b


cdef inline int64_t c_least(int64_t a, int64_t b) noexcept nogil:
    return a if a < b else b


cdef inline double c_term(const Side *side, const double[::1] factorial, int64_t s) noexcept nogil:
    return s * side.log_p - factorial[s] - fabs(side.z - s) / side.scale


cdef inline double c_alone(const Side *side, const double[::1] factorial, int64_t n, int64_t s) noexcept nogil:
    return c_term(side, factorial, s) + (n - s) * side.log_rest - factorial[n - s]


cdef inline double c_weigh(const Side *side, int64_t n, const double[::1] factorial, double[:, ::1] work,
                           Box *box) noexcept nogil:
    """A count among n records, drawn alone: its weights h0 .. h1 in row 0 (binomial law times the noise); their sum."""
    cdef int64_t low = 0, high = n - LEAST_COUNT, middle, mode
    cdef double top, value, total = 0.0
    while low < high:
        middle = (low + high) // 2
        if c_alone(side, factorial, n, middle + 1) > c_alone(side, factorial, n, middle):
            low = middle + 1
        else:
            high = middle
    mode, top = low, c_alone(side, factorial, n, low)
    low, high = 0, mode
    while low < high:
        middle = (low + high) // 2
        if c_alone(side, factorial, n, middle) > top - DEPTH:
            high = middle
        else:
            low = middle + 1
    box.h0, box.h1 = low, mode
    for low in range(box.h0, n - LEAST_COUNT + 1):
        value = c_alone(side, factorial, n, low) - top
        if low > mode and value < -DEPTH:
            break
        work[0, low], box.h1 = exp(value), low
        total += work[0, low]
    return total


cdef inline int64_t c_count(const Side *side, int64_t n, const double[::1] factorial, double[:, ::1] work,
                            bitgen_t *bits) noexcept nogil:
    """A count drawn alone, by inversion."""
    cdef Box box
    cdef double target = c_weigh(side, n, factorial, work, &box) * c_uniform(bits), total = 0.0
    cdef int64_t s
    for s in range(box.h0, box.h1):
        total += work[0, s]
        if total > target:
            return s
    return box.h1


cdef inline void c_counts_in_turn(const Setting *data, const Law *law, const double[::1] factorial,
                                  double[:, ::1] work, State *state, bitgen_t *bits) noexcept nogil:
    """The slides: s_high from its binomial times the noise, then s_low given s_high from its own."""
    cdef Side high = Side(law.log_high, law.log_not_high, data.z_high, data.scale_high)
    cdef Side low = Side(law.log_low, law.log_inside, data.z_low, data.scale_low)
    state.high = c_count(&high, data.n, factorial, work, bits)
    state.low = c_count(&low, data.n - state.high, factorial, work, bits)
