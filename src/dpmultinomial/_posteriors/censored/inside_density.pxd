# cython: language_level=3, cdivision=True, wraparound=False
"""Saddlepoint approximation of the joint density of the mean, and of the sum of squares about the mean, of c records on
[-1, 1] under Lebesgue measure.

Inside the limits, the normal distribution is an exponential family in (u, u^2): the distribution of a sample given
theta is exp(-(q + c (m - mu)^2)/(2 sigma2)) times a density h_c(m, q) that does not depend on theta. With K(e) = log
int
exp(e1 d + e2 d^2) du, d = u - m, and the tilt e at which E d = 0, E d^2 = v = q/c, the saddlepoint is (Daniels 1954;
second order: Barndorff-Nielsen and Cox 1989, section 7.3)

    log h_c = c (K - e2 v) - log(det V)/2 - log(2 pi) + log(1 + r/c),     V = covariance of (d, d^2),
    r = (E|y|^4 - 8)/8 - |E|y|^2 y|^2/8 - sum_ijk (E y_i y_j y_k)^2/12,    y = (d, d^2) orthonormalised.

The Jacobian c of (sums -> m, q) cancels the factor 1/c of the two-dimensional saddlepoint. The relative error is
O(c^-2).
"""
from libc.math cimport INFINITY, M_PI, NAN, exp, fabs, fmax, fmin, log, log1p, sqrt

cdef enum:
    NODES = 40  # number of Gauss-Legendre nodes

cdef struct Rule:
    double x[NODES]
    double w[NODES]

cdef struct Tilted:  # distribution proportional to exp(e1 d + e2 d^2), d = u - centre, -1 <= u <= 1
    double log_mass, m1, m2, m3, m4  # log of the integral; moments of d
    double d[NODES]
    double p[NODES]


cdef inline void c_tilt(const Rule *rule, double e1, double e2, double centre, Tilted *law) noexcept nogil:
    """Compute the moments of the tilted distribution by quadrature over the range in which the exponent is within 40 of
    its maximum.
    """
    cdef double low = -1.0 - centre, high = 1.0 - centre, top, gap, slope, first, last, half, middle, s, p, total = 0.0
    cdef int i
    if e2 < 0.0:
        top = fmin(fmax(-0.5 * e1 / e2, low), high)
        gap = fabs(top + 0.5 * e1 / e2)
        slope = e1 + 2.0 * e2 * top if gap > 0.0 else 0.0
        s = -40.0 / e2
        s /= sqrt(gap * gap + s) + gap
        first, last = fmax(low - top, -s), fmin(high - top, s)
    else:
        top = high if (e1 + e2 * (high + low)) > 0.0 else low
        slope = e1 + 2.0 * e2 * top
        gap = slope * slope - 160.0 * e2
        s = INFINITY
        if gap > 0.0 and fabs(slope) > 20.0 + 2.0 * e2:  # the weight at the opposite end is negligible
            s = 80.0 / (fabs(slope) + sqrt(gap))
        first, last = fmax(low - top, -s), fmin(high - top, s)
    half, middle = 0.5 * (last - first), 0.5 * (last + first)
    for i in range(NODES):
        s = middle + half * rule.x[i]
        p = rule.w[i] * exp(s * (slope + e2 * s))
        law.d[i], law.p[i] = top + s, p
        total += p
    law.m1 = law.m2 = law.m3 = law.m4 = 0.0
    for i in range(NODES):
        s = law.d[i]
        p = law.p[i] / total
        law.p[i] = p
        p *= s
        law.m1 += p
        p *= s
        law.m2 += p
        p *= s
        law.m3 += p
        law.m4 += p * s
    law.log_mass = log(total * half) + top * (e1 + e2 * top)


cdef inline double c_second_order(const Tilted *law, double v11, double v12, double v22) noexcept nogil:
    """Return the second-order term r of the saddlepoint expansion."""
    cdef double slope = v12 / v11, scale1 = 1.0 / sqrt(v11), scale2 = 1.0 / sqrt(v22 - v12 * slope)
    cdef double y, x, p, square, fourth = 0.0, ax = 0.0, ay = 0.0, xxx = 0.0, xxy = 0.0, xyy = 0.0, yyy = 0.0
    cdef int i
    for i in range(NODES):
        x = law.d[i] - law.m1
        y = (law.d[i] * law.d[i] - law.m2 - slope * x) * scale2
        x *= scale1
        p, square = law.p[i], x * x + y * y
        fourth += p * square * square
        ax += p * square * x
        ay += p * square * y
        xxx += p * x * x * x
        xxy += p * x * x * y
        xyy += p * x * y * y
        yyy += p * y * y * y
    return ((fourth - 8.0) / 8.0 - (ax * ax + ay * ay) / 8.0
            - (xxx * xxx + 3.0 * xxy * xxy + 3.0 * xyy * xyy + yyy * yyy) / 12.0)


cdef inline bint c_reachable(double m, double v) noexcept nogil:
    """Return whether a mean m and a variance v of 64 or more normal records inside the limits are possible and not
    extremely improbable.

    If v > 0.8 (1 - m^2), the records are at both ends: the probability is below exp(-1.17 c), where 1.17 is the
    relative entropy from the nearest log-concave distribution. If v > 20 (1 - |m|)^2, twenty times the value of an
    exponential distribution, one of 64 records is 36 means away from the limit: probability e^-36.
    """
    cdef double gap = 1.0 - fabs(m)
    return v > 0.0 and v < 0.8 * (1.0 - m * m) and v < 20.0 * gap * gap and gap > 0.0


cdef inline double c_log_inside_density(const Rule *rule, double m, double v, double c, double *e, Tilted *law,
                                        double *second) noexcept nogil:
    """Return the log density log h_c(m, c v), or -inf if `c_reachable` is false, or NaN if Newton's method finds no
    tilt.

    e: the tilt, a starting value on entry and the solution on return. second: r. Newton's method minimises the convex
    function K(e) - e2 v and halves steps that do not decrease it. Half the last decrement is an estimate of the
    remaining decrease.
    """
    cdef double g1, g2, v11, v12, v22, det, d1, d2, decrement = INFINITY, objective, fresh, step
    cdef int i, j
    if not c_reachable(m, v):
        return -INFINITY
    c_tilt(rule, e[0], e[1], m, law)
    objective = law.log_mass - e[1] * v
    for i in range(80):
        g1, g2 = law.m1, law.m2 - v
        v11, v12, v22 = law.m2 - law.m1 * law.m1, law.m3 - law.m1 * law.m2, law.m4 - law.m2 * law.m2
        det = v11 * v22 - v12 * v12
        d1, d2 = (v12 * g2 - v22 * g1) / det, (v12 * g1 - v11 * g2) / det
        decrement = -(g1 * d1 + g2 * d2)
        if not decrement > -1e-9:
            return NAN
        if decrement < 1e-13 and c * decrement < 1e-7:
            second[0] = c_second_order(law, v11, v12, v22)
            fresh = second[0] / c
            return c * (objective - 0.5 * decrement) - 0.5 * log(det) - log(2.0 * M_PI) + log1p(fmax(fresh, -0.5))
        step = 1.0
        for j in range(40):
            c_tilt(rule, e[0] + step * d1, e[1] + step * d2, m, law)
            fresh = law.log_mass - (e[1] + step * d2) * v
            if fresh <= objective - 0.1 * step * decrement + 1e-14:
                break
            step *= 0.5
        e[0] += step * d1
        e[1] += step * d2
        objective = fresh
    return NAN
