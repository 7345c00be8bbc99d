# cython: language_level=3, cdivision=True, wraparound=False
"""Log-scale sums and differences, normal intervals, and incomplete gamma integrals scaled by the integrand at the end.

The constant log(2 pi) is 1.8378770664093454836.
"""
from libc.math cimport INFINITY, M_LN2, M_PI, exp, expm1, fabs, lgamma, log, log1p, sqrt
from scipy.special.cython_special cimport log_ndtr


cdef inline double c_logaddexp(double a, double b) noexcept nogil:
    """Return log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a + log1p(exp(b - a)) if b > -INFINITY else a


cdef inline double c_log1mexp(double x) noexcept nogil:
    """Return log(1 - exp(x)) for x <= 0."""
    return log(-expm1(x)) if x > -M_LN2 else log1p(-exp(x))


cdef inline double c_log_stirling(double a) noexcept nogil:
    """Return log(Gamma(a) a^-a e^a)."""
    cdef double q
    if a < 12.0:
        return lgamma(a) - a * log(a) + a
    q = 1.0 / (a * a)
    return (0.5 * (1.8378770664093454836 - log(a))
            + (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680 - q / 1188)))) / a)


cdef inline double c_log_complete(double a, double x) noexcept nogil:
    """Return log(Gamma(a) x^-a e^x), x > 0."""
    cdef double d = (x - a) / a
    if -0.5 < d < 1.0:
        return c_log_stirling(a) + a * (d - log1p(d))
    return c_log_stirling(a) - a * log(x / a) + (x - a)


cdef inline double c_log_lower(double a, double x) noexcept nogil:
    """Return the log of the integral of v^(a - 1) e^(-x (v - 1)) over 0 < v < 1; a > 0, any x.

    For x > 0, it is log(x^-a e^x gamma(a, x)), by the series sum_n x^n/(a (a + 1) .. (a + n)).
    For x < 0, it is log E[1/(a + N)] with N ~ Poisson(-x) (Kummer's transformation). All terms are positive.
    """
    cdef double term, total, n
    if x >= 0.0:
        if x > a + 3000.0 + 40.0 * sqrt(a):
            return c_log_complete(a, x)  # the upper part is below 1e-17 of the complete integral
        term = total = 1.0 / a
        n = a
        while True:
            n += 1.0
            term *= x / n
            total += term
            if term < 1e-17 * total and n > x:
                return log(total)
            if total > 1e250:  # this happens only far above a, where the complete integral is equally accurate
                return c_log_complete(a, x) + c_log1mexp(c_log_upper(a, x) - c_log_complete(a, x))
    return c_log_poisson(a, -x)


cdef inline double c_log_poisson(double a, double y) noexcept nogil:
    """Return log E[1/(a + N)], N ~ Poisson(y): summed outwards from the mode, for large y by a continued fraction."""
    cdef double mode, n, term, mass, total, b, c, d, change
    cdef int i
    if y > 60.0:  # 1/(a + y - y/(a + 1 + y - 2 y/(a + 2 + y - ..))), by Lentz's algorithm
        b = a + y
        c, d = 1e300, 1.0 / b
        total = d
        for i in range(1, 100000):
            b += 1.0
            d = 1.0 / (b - i * y * d)
            c = b - i * y / c
            change = c * d
            total *= change
            if fabs(change - 1.0) < 3e-16:
                break
        return log(total)
    mode = <double> <long long> y
    n, term, mass, total = mode, 1.0, 1.0, 1.0 / (a + mode)
    while term > 1e-18 * mass:
        n += 1.0
        term *= y / n
        mass += term
        total += term / (a + n)
    n, term = mode, 1.0
    while n > 0.0 and term > 1e-18 * mass:
        term *= n / y
        n -= 1.0
        mass += term
        total += term / (a + n)
    return log(total / mass)


cdef inline double c_log_upper(double a, double x) noexcept nogil:
    """Return the log of the integral of v^(a - 1) e^(-x (v - 1)) over v > 1: log(x^-a e^x Gamma(a, x)); a, x > 0."""
    cdef double whole, b, c, d, h, an, change
    cdef int i
    if x < a + 1.0 or x < 1.0:
        whole = c_log_complete(a, x)
        return whole + c_log1mexp(c_log_lower(a, x) - whole)
    b = x + 1.0 - a  # Lentz's algorithm for Legendre's continued fraction
    c = 1e300
    d = 1.0 / b
    h = d
    for i in range(1, 100000):
        an = -i * (i - a)
        b += 2.0
        d = an * d + b
        c = b + an / c
        d = 1.0 / d
        change = d * c
        h *= change
        if fabs(change - 1.0) < 3e-16:
            break
    return log(h)


# Four values of a for the same x: the four chains of divisions run in parallel, and the results are bit-identical.

cdef enum:
    FOUR = 4


cdef inline void c_log_lower_four(const double *a, double x, double *out) noexcept nogil:
    """Compute `c_log_lower` for four values of a."""
    cdef double n[FOUR]
    cdef double term[FOUR]
    cdef double total[FOUR]
    cdef int i, k
    cdef bint open = x >= 0.0, more = True
    for k in range(FOUR):
        n[k], term[k] = a[k], 1.0 / a[k]
        total[k] = term[k]
    while open and more:
        for i in range(8):  # a term below 1e-17 of the sum does not change the result
            for k in range(FOUR):
                n[k] += 1.0
                term[k] *= x / n[k]
                total[k] += term[k]
        more = False
        for k in range(FOUR):
            more = more or not (term[k] < 1e-17 * total[k] and n[k] > x)
            open = open and total[k] <= 1e250
    for k in range(FOUR):
        out[k] = log(total[k]) if open else c_log_lower(a[k], x)


cdef inline void c_log_upper_four(const double *a, double x, double *out) noexcept nogil:
    """Compute `c_log_upper` for four values of a."""
    cdef double b[FOUR]
    cdef double c[FOUR]
    cdef double d[FOUR]
    cdef double h[FOUR]
    cdef double moving[FOUR]
    cdef double an, change, whole
    cdef int i, k, below = 0
    for k in range(FOUR):
        below += x < a[k] + 1.0 or x < 1.0
        b[k], c[k], moving[k] = x + 1.0 - a[k], 1e300, 1.0
    if below == FOUR:
        c_log_lower_four(a, x, out)
        for k in range(FOUR):
            whole = c_log_complete(a[k], x)
            out[k] = whole + c_log1mexp(out[k] - whole)
        return
    if below > 0:
        for k in range(FOUR):
            out[k] = c_log_upper(a[k], x)
        return
    for k in range(FOUR):
        d[k] = 1.0 / b[k]
        h[k] = d[k]
    for i in range(1, 100000):
        for k in range(FOUR):
            an = -i * (i - a[k])
            b[k] += 2.0
            d[k] = 1.0 / (an * d[k] + b[k])
            c[k] = b[k] + an / c[k]
            change = d[k] * c[k]
            h[k] *= change if moving[k] > 0.0 else 1.0
            moving[k] = moving[k] if fabs(change - 1.0) >= 3e-16 else 0.0
        if moving[0] + moving[1] + moving[2] + moving[3] == 0.0:
            break
    for k in range(FOUR):
        out[k] = log(h[k])


cdef inline double c_gaussian(double low, double d) noexcept nogil:
    """Return log P(low < Z < low + d), Z ~ N(0, 1)."""
    cdef double middle = low + 0.5 * d
    if d * (1.0 + fabs(middle)) < 1e-3:
        return -0.5 * middle * middle - 0.5 * log(2.0 * M_PI) + log(d) + (middle * middle - 1.0) * d * d / 24.0
    if middle > 0.0:
        low = -low - d
    if low + d > 0.0:
        return log1p(-exp(log_ndtr(low)) - exp(log_ndtr(-low - d)))
    return log_ndtr(low + d) + c_log1mexp(log_ndtr(low) - log_ndtr(low + d))
