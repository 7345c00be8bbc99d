# cython: language_level=3, cdivision=True, wraparound=False
"""Rough means and variances of tilted weights, from few counts: they only centre what is summed exactly later."""
from libc.math cimport INFINITY, exp
from libc.stdint cimport int64_t

from ._sites cimport EMPTY, GOOD, Site, c_log, c_window

cdef enum:
    POINTS = 32  # of a long window
    FIRST = 8  # counts at the lower bound that are never skipped

cdef extern from *:
    const double FALL "18.0"  # log weight that is neglected


cdef inline void c_zoom(const Site *s, const double *tables, double tilt, int64_t *low, int64_t *high) noexcept nogil:
    """Where a table has its weight, by ever finer steps."""
    cdef int64_t step, n, k, first, last, size = high[0] - low[0] + 1
    cdef double most, value
    while size > 2 * POINTS:
        step = size // (2 * POINTS) + 1
        most = -INFINITY
        for k in range((size + step - 1) // step):
            most = max(most, c_log(s, tables, tilt, low[0] + k * step, low[0]))
        first, last = high[0], low[0]
        for k in range((size + step - 1) // step):
            n = low[0] + k * step
            value = c_log(s, tables, tilt, n, low[0])
            if value >= most - FALL:
                first, last = min(first, n), max(last, n)
        low[0], high[0] = max(low[0], first - step), min(high[0], last + step)
        if 2 * (high[0] - low[0] + 1) > size:
            return
        size = high[0] - low[0] + 1


cdef inline int c_each(const Site *s, const double *tables, double tilt, int64_t low, int64_t high, double *mean,
                       double *variance) noexcept nogil:
    """As `c_moments`, from every count of a list with holes, which steps could fall into."""
    cdef double most = -INFINITY, total = 0.0, first = 0.0, second = 0.0, weight
    cdef int64_t n
    for n in range(low, high + 1):
        most = max(most, c_log(s, tables, tilt, n, low))
    if most == -INFINITY:
        return EMPTY
    for n in range(low, high + 1):
        weight = exp(c_log(s, tables, tilt, n, low) - most)
        total += weight
        first += weight * (n - low)
    first /= total
    for n in range(low, high + 1):
        second += exp(c_log(s, tables, tilt, n, low) - most) * (n - low - first) * (n - low - first)
    mean[0], variance[0] = low + first, second / total
    return GOOD


cdef inline int c_moments(const Site *s, const double *tables, double tilt, double *mean,
                          double *variance) noexcept nogil:
    """Mean and variance under the tilt, from every count of a short window, from some of a long one."""
    cdef int64_t low, high, step, j, size = 0
    cdef double points[2 * POINTS + FIRST]
    cdef double logs[2 * POINTS + FIRST]
    cdef double weights[2 * POINTS + FIRST]
    cdef double n, most = -INFINITY, total = 0.0, first = 0.0, second = 0.0
    cdef int state = c_window(s, tilt, FALL, &low, &high)
    if state != GOOD:
        return state
    if s.table >= 0 and s.swing == INFINITY:
        return c_each(s, tables, tilt, low, high, mean, variance)
    if s.table >= 0:
        c_zoom(s, tables, tilt, &low, &high)
    step = (high - low + POINTS) // POINTS
    if step > 1 and low == s.lower:
        for j in range(FIRST):
            points[size], weights[size] = low + j, 1.0
            size += 1
        low += FIRST
    for j in range((high - low + step) // step):
        n = min(step, high - low - j * step + 1)
        points[size], weights[size] = low + j * step + <int64_t> (0.5 * (n - 1.0)), n
        size += 1
    for j in range(size):
        logs[j] = c_log(s, tables, tilt, points[j], points[0])
        most = max(most, logs[j])
    if most == -INFINITY:
        return EMPTY
    for j in range(size):
        logs[j] = weights[j] * exp(logs[j] - most)
        total += logs[j]
        first += logs[j] * (points[j] - points[0])
    first /= total
    for j in range(size):
        second += logs[j] * (points[j] - points[0] - first) * (points[j] - points[0] - first)
    mean[0], variance[0] = points[0] + first, second / total
    return GOOD
