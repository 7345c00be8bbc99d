# cython: language_level=3, cdivision=True, wraparound=False
"""The step function of the direct sampler: areas between knots, the largest of them first (see direct_sampler.pyx)."""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int64_t

from ._gamma_integrals cimport c_log1mexp


cdef inline double c_log_width(double low, double high) noexcept nogil:
    """log(exp(high) - exp(low))."""
    return high + c_log1mexp(low - high)


cdef inline double c_rectangle(double low, double high, double p_low, double p_high) noexcept nogil:
    """log area between two knots, of the part under the step function and above the next step."""
    if not p_low > -INFINITY:
        return -INFINITY
    return c_log_width(low, high) + (p_low + c_log1mexp(p_high - p_low) if p_high < p_low else -INFINITY)


cdef inline void c_push(double *keys, int64_t *places, int64_t n, double key, int64_t place) noexcept nogil:
    """Add to a binary heap of n entries with the largest key first."""
    cdef int64_t i = n, parent
    while i > 0:
        parent = (i - 1) >> 1
        if keys[parent] >= key:
            break
        keys[i], places[i] = keys[parent], places[parent]
        i = parent
    keys[i], places[i] = key, place


cdef inline int64_t c_pop(double *keys, int64_t *places, int64_t n) noexcept nogil:
    """Take the entry with the largest key from a heap of n."""
    cdef int64_t top = places[0], i = 0, child
    cdef double key = keys[n - 1]
    while True:
        child = 2 * i + 1
        if child >= n - 1:
            break
        if child + 1 < n - 1 and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[i], places[i] = keys[child], places[child]
        i = child
    keys[i], places[i] = key, places[n - 1]
    return top


cdef inline double steps_fill(const double[::1] u, const double[::1] p, double first, int64_t n,
                              double *cumulative, double *ratio, double *squeeze) noexcept nogil:
    """Cumulative areas of the step function: [0, u_0) at height exp(first), then [u_j, u_{j+1})."""
    cdef double largest = u[0] + first, area, running
    cdef int64_t j
    cumulative[0] = largest
    for j in range(n):
        area = c_log_width(u[j], u[j + 1]) + p[j]
        cumulative[j + 1] = area
        if area > largest:
            largest = area
    running = 0.0
    for j in range(n + 1):
        running += exp(cumulative[j] - largest)
        cumulative[j] = running
    ratio[0] = 0.0
    squeeze[0] = exp(p[0] - first)
    for j in range(n):
        ratio[j + 1] = exp(u[j] - u[j + 1])
        squeeze[j + 1] = exp(p[j + 1] - p[j])
    return largest + log(running)
