# cython: language_level=3, cdivision=True, wraparound=False
"""Logs of binomial and hypergeometric probabilities without cancellation, in Loader's (2000) saddle-point form.

log Bin(x; n, p) = stirling(n) - stirling(x) - stirling(n - x) - deviance(x, n p) - deviance(n - x, n q) + log(n/(2 pi
x (n - x)))/2, every term small near the mean, so that the relative error of the probability is about 1e-16 times its
log, at any n.
"""
from libc.math cimport INFINITY, fabs, log, log1p
from libc.stdint cimport int64_t

cdef extern from *:
    """
    static const double dp_stirling[16] = {
    0.0, 0.08106146679532725822, 0.041340695955409294094, 0.027677925684998339149,
    0.020790672103765093112, 0.016644691189821192163, 0.013876128823070747999, 0.011896709945891770095,
    0.010411265261972096497, 0.0092554621827127329177, 0.0083305634333628712565, 0.007573675487951840795,
    0.0069428401072095298657, 0.0064089941880042070684, 0.0059513701127588477356, 0.005554733551962801371
    };
    """
    const double[16] STIRLING "dp_stirling"


cdef inline double c_stirling(double x) noexcept nogil:
    """log x! less Stirling's formula x log x - x + log(2 pi x)/2, x >= 1 whole."""
    cdef double s
    if x < 16.0:
        return STIRLING[<int> x]
    s = x * x
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / s) / s) / s) / s) / x


cdef inline double c_deviance(double x, double mean) noexcept nogil:
    """x log(x/mean) + mean - x >= 0, by its series where x is near the mean."""
    cdef double gap = x - mean, v, term, total, before
    cdef int j = 3
    if fabs(gap) >= 0.1 * (x + mean):
        return x * log(x / mean) + mean - x
    v = gap / (x + mean)
    total = gap * v
    term = 2.0 * x * v
    v *= v
    while True:
        term *= v
        before = total
        total += term / j
        if total == before:
            return total
        j += 2


cdef inline double c_log_binomial(double x, double n, double p, double q) noexcept nogil:
    """log C(n, x) p^x q^(n - x) for whole 0 <= x <= n, p + q = 1; -inf elsewhere."""
    if x < 0.0 or x > n:
        return -INFINITY
    if n == 0.0:
        return 0.0
    if p <= 0.0 or q <= 0.0:
        return 0.0 if x == (0.0 if p <= 0.0 else n) else -INFINITY
    if x == 0.0:
        return n * (log1p(-p) if p < 0.1 else log(q))
    if x == n:
        return n * (log1p(-q) if q < 0.1 else log(p))
    return (c_stirling(n) - c_stirling(x) - c_stirling(n - x) - c_deviance(x, n * p) - c_deviance(n - x, n * q)
            + 0.5 * log(n / (6.283185307179586476925 * x * (n - x))))


cdef inline double c_log_hypergeometric(double x, double n, double marked, double drawn) noexcept nogil:
    """log C(marked, x) C(n - marked, drawn - x)/C(n, drawn); -inf where it is 0."""
    cdef double p, q
    if x < 0.0 or x > marked or drawn < x or drawn - x > n - marked:
        return -INFINITY
    if drawn == 0.0 or drawn == n:
        return 0.0
    p = drawn / n
    q = (n - drawn) / n
    return (c_log_binomial(x, marked, p, q) + c_log_binomial(drawn - x, n - marked, p, q)
            - c_log_binomial(drawn, n, p, q))
