# cython: language_level=3, cdivision=True, wraparound=False
"""The log target of the sampler without records, and the statistics at its coordinates (laws:
censored_statistics.pyx)."""
from libc.math cimport INFINITY, exp, fabs, floor, fmax, fmin, lgamma, log, rint, sqrt
from libc.stdint cimport int64_t
from scipy.special.cython_special cimport log_ndtr, ndtri_exp

from ._direct_sampler cimport c_gaussian
from ._inside_density cimport Rule, Tilted, c_log_inside_density, c_reachable, c_tilt

cdef enum:
    FEW = 64

cdef struct Setting:
    double z[4]
    double scale[4]
    double grid[4]
    double mu0, var0, shape0, rate0, origin
    int64_t n
    bint sums

cdef struct State:
    double y[6]
    double u[FEW]
    double s[4]  # mean, sse, low, high
    double e[2]
    double centre, log_target, count

cdef inline double c_place(double w, double expected, double variance, double z, double scale,
                           double *log_slope) noexcept nogil:
    cdef double noise = 2.0 * scale * scale, k = noise / (noise + variance)
    log_slope[0] += 0.5 * log(k * variance)
    return k * expected + (1.0 - k) * z + sqrt(k * variance) * w


cdef inline double c_miss(double z, double s, double scale, double grid, double origin) noexcept nogil:
    if grid > 0.0:
        s = rint((s + origin) / grid) * grid - origin
    return fabs(z - s) / scale


cdef inline double c_misfit(const Setting *data, const double *s, double c) noexcept nogil:
    cdef double first = c * s[0] if data.sums else s[0], second = s[1] + c * s[0] * s[0] if data.sums else s[1]
    return (c_miss(data.z[0], first, data.scale[0], data.grid[0], 0.0 if data.sums else data.origin)
            + c_miss(data.z[1], second, data.scale[1], data.grid[1], 0.0)
            + c_miss(data.z[2], s[2], data.scale[2], data.grid[2], 0.0)
            + c_miss(data.z[3], s[3], data.scale[3], data.grid[3], 0.0))


cdef inline double c_log_prior(const Setting *data, double mu, double t) noexcept nogil:
    """Of (mu, log sigma2), up to a constant."""
    return -0.5 * (mu - data.mu0) * (mu - data.mu0) / data.var0 - data.shape0 * t - data.rate0 * exp(-t)


cdef inline void c_few_records(State *state, double mu, double sd, int64_t c) noexcept nogil:
    """Mean and sum of squares of c < 64 records, quantiles of the truncated normal law at the state's uniforms."""
    cdef double low = (-1.0 - mu) / sd, high = (1.0 - mu) / sd, sign = 1.0, top, ratio, x, first = 0.0, second = 0.0
    cdef int64_t i
    if low > 0.0:
        low, high, sign = -high, -low, -1.0
    top = log_ndtr(high)
    ratio = exp(log_ndtr(low) - top)
    for i in range(c):
        x = mu + sign * sd * ndtri_exp(top + log(ratio + state.u[i] * (1.0 - ratio)))
        x = fmin(fmax(x, -1.0), 1.0)
        first += x
        second += x * x
    state.s[0] = first / c if c > 0 else 0.0
    state.s[1] = fmax(second - first * state.s[0], 0.0)


cdef inline double c_log_inside(const Rule *rule, const Setting *data, State *state, const Tilted *at, double shift,
                                double mu, double t, double c, Tilted *law, int64_t *unsolved) noexcept nogil:
    """Sets mean and sse of c >= 64 records; log of their density at the state's coordinates, without the
    multinomial."""
    cdef double variance = at.m2 - at.m1 * at.m1, log_slope = 0.0, second, v, found
    cdef double third = at.m3 - 3.0 * at.m1 * at.m2 + 2.0 * at.m1 * at.m1 * at.m1, expected = shift + at.m1, tilt
    cdef double fourth = at.m4 - 4.0 * at.m1 * at.m3 + 6.0 * at.m1 * at.m1 * at.m2 - 3.0 * at.m1 * at.m1 * at.m1 * at.m1
    cdef double m, q, expected_q, z = data.z[0] / c if data.sums else data.z[0]
    cdef double scale = data.scale[0] / c if data.sums else data.scale[0]
    tilt = third / variance  # slope of q in m, per record
    fourth = fmax(fourth - variance * variance - tilt * third, 1e-3 * variance * variance)
    m = c_place(state.y[4], expected, variance / c, fmin(fmax(z, -1.0), 1.0), scale, &log_slope)
    z = data.z[1] - c * m * m if data.sums else data.z[1]
    expected_q = (c - 1.0) * (variance + tilt * (m - expected))
    q = c_place(state.y[5], expected_q, c * fourth, fmin(fmax(z, 0.0), c), data.scale[1], &log_slope)
    state.s[0], state.s[1], v = m, q, q / c
    if not c_reachable(m, v):
        return -INFINITY
    state.e[0] += 2.0 * state.e[1] * (m - state.centre)
    state.centre = m
    found = c_log_inside_density(rule, m, v, c, state.e, law, &second)
    if found != found:  # once more, from where no warm start can mislead
        state.e[0], state.e[1] = 0.0, -0.5 / v
        found = c_log_inside_density(rule, m, v, c, state.e, law, &second)
        if found != found:
            unsolved[0] += 1
            return -INFINITY
    return found + log_slope - 0.5 * c * (1.8378770664093454836 + t) - 0.5 * (q + c * (m - mu) * (m - mu)) * exp(-t)


cdef inline void c_evaluate(const Rule *rule, const Setting *data, State *state, Tilted *law,
                            int64_t *unsolved) noexcept nogil:
    """Sets the statistics and the log target at the state's coordinates."""
    cdef double mu = state.y[0], t = state.y[1], variance = exp(t), sd = sqrt(variance), log_slope = 0.0
    cdef double n = <double> data.n
    cdef double log_low, log_high, low, high, l, h, c, shift = fmin(fmax(mu, -1.0), 1.0), total
    state.log_target = -INFINITY
    if not (fabs(t) < 500.0 and fabs(mu) < 1e100):
        return
    log_low, log_high = log_ndtr((-1.0 - mu) / sd), log_ndtr((mu - 1.0) / sd)
    low, high = exp(log_low), exp(log_high)
    l = c_place(state.y[2], n * low, n * low * (1.0 - low) + 1.0 / 12.0, fmin(fmax(data.z[2], 0.0), n),
                sqrt(data.scale[2] * data.scale[2] + 1.0 / 24.0), &log_slope)
    l = floor(l + 0.5)
    if not 0.0 <= l <= n:
        return
    high = fmin(1.0, exp(log_high - log_ndtr((1.0 + mu) / sd)))  # of a record that is not below
    h = c_place(state.y[3], (n - l) * high, (n - l) * high * (1.0 - high) + 1.0 / 12.0, fmin(fmax(data.z[3], 0.0), n),
                sqrt(data.scale[3] * data.scale[3] + 1.0 / 24.0), &log_slope)
    h = floor(h + 0.5)
    c = n - l - h
    if not (h >= 0.0 and c >= 0.0):
        return
    state.s[2], state.s[3], state.count = l, h, c
    total = log_slope + c_log_prior(data, mu, t) - lgamma(l + 1.0) - lgamma(h + 1.0) - lgamma(c + 1.0) + lgamma(n + 1.0)
    total += (l * log_low if l > 0.0 else 0.0) + (h * log_high if h > 0.0 else 0.0)
    if c < FEW:
        c_few_records(state, mu, sd, <int64_t> c)
        total += c * c_gaussian((-1.0 - mu) / sd, 2.0 / sd) if c > 0.0 else 0.0
        total -= 1.8378770664093454836 + 0.5 * (state.y[4] * state.y[4] + state.y[5] * state.y[5])  # idle places
    else:
        c_tilt(rule, (mu - shift) / variance, -0.5 / variance, shift, law)
        total += c_log_inside(rule, data, state, law, shift, mu, t, c, law, unsolved)
    if total == total:
        state.log_target = total - c_misfit(data, state.s, c)
