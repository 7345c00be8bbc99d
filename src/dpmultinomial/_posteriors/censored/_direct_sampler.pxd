# cython: language_level=3, cdivision=True, wraparound=False
"""Inline routines of the direct sampler (see direct_sampler.pyx): weights, bases, P(A_u), all in logs."""
from libc.math cimport INFINITY, M_PI, ceil, exp, expm1, fabs, floor, fmin, log, log1p, sqrt
from libc.stdint cimport int64_t
from scipy.special.cython_special cimport log_ndtr, ndtri_exp

from ._gamma_integrals cimport c_log1mexp, c_logaddexp

cdef enum:
    NORMAL = 0
    GAMMA = 1
    LAPLACE = 0
    GAUSSIAN = 1
    INTEGERS = 2
    SERIES = 24  # coefficients kept

cdef struct Target:
    int weight, base
    double mode, width, power  # weight: normal (width = sd), or gamma of z - xi (width = its mode, power = shape - 1)
    double scale  # base: Laplace scale or Gaussian sd
    const double *tail  # integer base, symmetric: tail[k] = log P(X >= k), k = 0..size - 1; tail[size] = -inf
    int64_t size
    double series[SERIES]


cdef inline void c_series(double *series) noexcept nogil:
    """Coefficients of v(eta) with v - log(1 + v) = eta^2/2, v ~ eta: from v v' = eta (1 + v), term by term."""
    cdef int k, j
    cdef double total
    series[0] = 0.0
    series[1] = 1.0
    for k in range(2, SERIES):
        total = series[k - 1]
        for j in range(2, k):
            total -= series[j] * (k + 1 - j) * series[k + 1 - j]
        series[k] = total / (k + 1)


cdef inline double c_gamma_offset(const Target *target, double eta) noexcept nogil:
    """v > -1 with v - log(1 + v) = eta^2/2 and the sign of eta: relative distance from a gamma density's mode."""
    cdef double v = 0.0, q, t, step, gap
    cdef int i
    if fabs(eta) < 0.6:
        for i in range(SERIES - 1, 0, -1):
            v = (v + target.series[i]) * eta
        return v
    q = 0.5 * eta * eta  # e^t - 1 - t = q with t = log(1 + v): Newton from outside, monotone because convex
    t = log1p(q + eta) + 1.0 if eta > 0.0 else -q - 1.0
    for i in range(100):
        gap = expm1(t) - t - q
        step = gap / expm1(t)
        t -= step
        if fabs(step) <= 4e-16 * fabs(t):
            break
    return expm1(t)


cdef inline void c_reach(const Target *target, double log_u, double *left, double *right) noexcept nogil:
    """A_u = (mode - left, mode + right), for log u <= 0."""
    cdef double eta
    if target.weight == NORMAL:
        left[0] = right[0] = target.width * sqrt(-2.0 * log_u)
    else:
        eta = sqrt(-2.0 * log_u / target.power)
        left[0] = target.width * c_gamma_offset(target, eta)
        right[0] = -target.width * c_gamma_offset(target, -eta)


cdef inline double c_tail(const Target *target, double k) noexcept nogil:
    """log P(X >= k) for whole k >= 0."""
    return target.tail[<int64_t> k] if k < target.size else -INFINITY


cdef inline double c_integers(const Target *target, double low, double high) noexcept nogil:
    """log P(low <= X <= high) for whole numbers."""
    if low > high:
        return -INFINITY
    if low > 0.0:
        if not low < target.size:
            return -INFINITY
        return c_tail(target, low) + c_log1mexp(c_tail(target, high + 1.0) - c_tail(target, low))
    if high < 0.0:
        return c_integers(target, -high, -low)
    return log1p(-exp(c_tail(target, 1.0 - low)) - exp(c_tail(target, high + 1.0)))


cdef inline double c_gaussian(double low, double d) noexcept nogil:
    """log P(low < Z < low + d), Z ~ N(0, 1)."""
    cdef double middle = low + 0.5 * d
    if d * (1.0 + fabs(middle)) < 1e-3:
        return -0.5 * middle * middle - 0.5 * log(2.0 * M_PI) + log(d) + (middle * middle - 1.0) * d * d / 24.0
    if middle > 0.0:
        low = -low - d
    if low + d > 0.0:
        return log1p(-exp(log_ndtr(low)) - exp(log_ndtr(-low - d)))
    return log_ndtr(low + d) + c_log1mexp(log_ndtr(low) - log_ndtr(low + d))


cdef inline double c_log_probability(const Target *target, double left, double right) noexcept nogil:
    """log P(mode - left < X < mode + right) under the base."""
    cdef double low = target.mode - left, high = target.mode + right
    if target.base == LAPLACE:
        if low < 0.0 < high:
            return log(-0.5 * (expm1(low / target.scale) + expm1(-high / target.scale)))
        return (-(low if low >= 0.0 else -high) / target.scale + c_log1mexp(-(left + right) / target.scale)
                - 0.69314718055994530942)
    if target.base == GAUSSIAN:
        return c_gaussian(low / target.scale, (left + right) / target.scale)
    return c_integers(target, floor(low) + 1.0, ceil(high) - 1.0)


cdef inline double c_log_area(const Target *target, double log_u) noexcept nogil:
    """log P(A_u)."""
    cdef double left, right
    if log_u >= 0.0:
        return -INFINITY
    c_reach(target, log_u, &left, &right)
    return c_log_probability(target, left, right)


cdef inline double c_within_gaussian(double low, double d, double v) noexcept nogil:
    """Quantile v of N(0, 1) between low and low + d."""
    cdef double middle = low + 0.5 * d, a, b
    if d * (1.0 + fabs(middle)) < 1e-3:
        return low + (d * v if fabs(middle * d) < 1e-12 else -log1p(v * expm1(-middle * d)) / middle)
    if middle > 0.0:
        return -c_within_gaussian(-low - d, d, 1.0 - v)
    a, b = log_ndtr(low), log_ndtr(low + d)
    return ndtri_exp(fmin(b, b + log(v + (1.0 - v) * exp(a - b)))) if v > 0.0 else low


cdef inline double c_within_integers(const Target *target, double low, double high, double v) noexcept nogil:
    """Quantile v of the base on low..high, by bisection in the table of tails."""
    cdef double first = low, last = high, middle, log_v, span
    if high < 0.0 or (low < 0.0 and -low > high):
        return -c_within_integers(target, -high, -low, 1.0 - v)
    span = c_integers(target, low, high)
    # smallest k with P(k + 1 <= X <= high) <= (1 - v) P(low <= X <= high)
    log_v = log(1.0 - v) if v < 1.0 else -INFINITY
    while first < last:
        middle = floor(0.5 * (first + last))
        if c_integers(target, middle + 1.0, high) <= log_v + span:
            last = middle
        else:
            first = middle + 1.0
    return first


cdef inline double c_within(const Target *target, double left, double right, double v) noexcept nogil:
    """Quantile v of the base restricted to (mode - left, mode + right): one draw of [x | u]."""
    cdef double low = target.mode - left, high = target.mode + right, d = left + right, below, above
    if target.base == GAUSSIAN:
        return target.scale * c_within_gaussian(low / target.scale, d / target.scale, v)
    if target.base == INTEGERS:
        return c_within_integers(target, floor(low) + 1.0, ceil(high) - 1.0, v)
    if low >= 0.0:
        return low - target.scale * log1p(v * expm1(-d / target.scale))
    if high <= 0.0:
        return high + target.scale * log1p((1.0 - v) * expm1(-d / target.scale))
    below, above = -expm1(low / target.scale), -expm1(-high / target.scale)
    v *= below + above
    if v < below:
        return target.scale * log1p(v - below)
    return -target.scale * log1p(-(v - below))
