# cython: language_level=3, cdivision=True, wraparound=False
"""Quantiles of mixtures of the distributions Beta(first + j, whole - first - j), j < size, for which the sum of both
parameters is constant.
"""
from libc.math cimport exp, fabs, log, sqrt
from libc.stdint cimport int64_t

cdef extern from "<math.h>" nogil:
    long double lgammal(long double)
    long double logl(long double)
    long double log1pl(long double)
    long double expl(long double)


cdef inline double c_fraction(double a, double b, double x) noexcept nogil:
    """Return the continued fraction of the incomplete beta function (modified Lentz), for x < (a + 1)/(a + b + 2)."""
    cdef double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0), h, term, change
    cdef int64_t m
    d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
    h = d
    for m in range(1, 100000):
        term = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 + term * d
        c = 1.0 + term / c
        d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
        h *= d * c
        term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 + term * d
        c = 1.0 + term / (c if fabs(c) > 1e-300 else 1e-300)
        d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
        change = d * c
        h *= change
        if fabs(change - 1.0) < 1e-16:
            break
    return h


cdef inline double c_betainc(double a, double b, double x) noexcept nogil:
    """Return the regularised incomplete beta function I_x(a, b), 0 < x < 1."""
    cdef long double front
    front = expl(lgammal(<long double> a + b) - lgammal(a) - lgammal(b) + a * logl(x) + b * log1pl(-<long double> x))
    if x < (a + 1.0) / (a + b + 2.0):
        return <double> (front * c_fraction(a, b, x) / a)
    return <double> (1.0 - front * c_fraction(b, a, 1.0 - x) / b)


cdef struct Mixture:  # Beta(first + j, whole - first - j) with weights[j], j < size
    const double *weights
    const double *cumulative
    int64_t size, place  # place: the component at which D is computed
    double first, whole
    long double constant


cdef inline void c_place(Mixture *m, int64_t place) noexcept nogil:
    m.place = 0 if place < 0 else (m.size - 1 if place > m.size - 1 else place)
    m.constant = lgammal(m.whole) - lgammal(<long double> m.first + m.place + 1)
    m.constant -= lgammal(<long double> m.whole - m.first - m.place)


cdef inline double c_cdf(Mixture *m, double x, double *density, double *bend) noexcept nogil:
    """Return the cumulative distribution function P(X <= x) of a mixture, and compute the density at x and its
    logarithmic derivative.

    For fixed a + b, I_x(a, b) = I_x(a + 1, b - 1) + D(a), so the mixture is sum_j D(first + j) cumulative[j] plus one
    incomplete beta function: positive terms, each computed by a ratio from the previous one.
    """
    cdef double a = m.first + m.place, odds = x / (1.0 - x), start, d, g, total = 0.0, p = 0.0, q = 0.0, ratio
    cdef int64_t j
    cdef bint ended = False
    # the component with a mean near x, so that D(a) does not underflow
    if (x * m.whole - a) * (x * m.whole - a) > 100.0 * (1.0 + m.whole * x * (1.0 - x)):
        c_place(m, <int64_t> (x * m.whole - m.first))
        a = m.first + m.place
    # D(a) = x^a (1 - x)^(b - 1) Gamma(a + b)/(Gamma(a + 1) Gamma(b)), b = whole - a; the density of Beta(a, b) is
    # D(a) a/x. From this component upwards by ratios of neighbouring terms
    start = <double> expl(m.constant + a * logl(x) + (m.whole - a - 1.0) * log1pl(-<long double> x))
    d = start
    for j in range(m.place, m.size):
        a = m.first + j
        g = m.weights[j] * a * d
        p += g
        q += g * a
        if j == m.size - 1:
            break
        total += d * m.cumulative[j]
        ratio = odds * (m.whole - a - 1.0) / (a + 1.0)
        d *= ratio
        if ratio < 0.95 and d < 1e-19 * total and d * (a + 1.0) < 1e-19 * p:
            ended = True
            break
    if not ended:  # I_x of the last component
        a = m.first + (m.size - 1)
        total += c_betainc(a, m.whole - a, x)
    # then downwards
    d = start
    for j in range(m.place - 1, -1, -1):
        a = m.first + j
        d *= (a + 1.0) / (odds * (m.whole - a - 1.0))
        g = m.weights[j] * a * d
        p += g
        q += g * a
        total += d * m.cumulative[j]
        if d * m.cumulative[j] * (j + 1.0) < 1e-19 * total and d * a * m.cumulative[j] * (j + 1.0) < 1e-19 * p:
            break
    density[0] = p / x
    bend[0] = (q / p - 1.0) / x - (m.whole - q / p - 1.0) / (1.0 - x) if p > 0 else 0.0
    return total


cdef inline double c_quantile(Mixture *m, double level, double normal, double mean, double sd) noexcept nogil:
    """Return the quantile x of a mixture with P(X <= x) = level. Halley's method within a bracket starts from a normal
    approximation on the scale of log(x/(1 - x)).
    """
    cdef double low = 0.0, high = 1.0, x, f, bend, excess, step, new, typical
    cdef int64_t iteration
    # starting point: normal on the scale of log(x/(1 - x)), sd by the delta method
    x = 1.0 / (1.0 + exp(-(log(mean / (1.0 - mean)) + normal * sd / (mean * (1.0 - mean)))))
    if not 0.0 < x < 1.0:
        x = mean
    for iteration in range(400):
        excess = c_cdf(m, x, &f, &bend) - level
        if excess > 0:
            high = x
        else:
            low = x
        typical = sd if sd < x else x
        new = -1.0
        if f > 0:  # Halley: x - step/(1 - step f'/(2 f))
            step = excess / f
            new = 1.0 - 0.5 * step * bend
            new = x - step / (new if new > 0.5 else 0.5)
            if fabs(new - x) <= 1e-6 * typical and fabs(step * bend) < 1e-3 and 0.0 < new < 1.0:
                return new
        # outside the bracket: bisect, by the geometric mean if the bracket spans several orders of magnitude
        if not low < new < high:
            if low == 0.0:
                new = high * 1e-3
            elif high > 4 * low:
                new = sqrt(low * high)
            else:
                new = low + 0.5 * (high - low)
        if high - low <= 4e-16 * high or high < 1e-300:
            return new
        x = new
    return x
