# cython: language_level=3, cdivision=True, wraparound=False
"""Inline routines for Laplace noise added to a normal or a gamma statistic (derivation: laplace_noise.pyx).

The constant log(2 pi) is 1.8378770664093454836.
"""
from libc.math cimport INFINITY, M_LN2, M_SQRT1_2, exp, fabs, fmax, fmin, log, log1p, sqrt
from scipy.special.cython_special cimport erfcx, log_ndtr, ndtri_exp

from dpmultinomial._kernels.log_probabilities cimport (FOUR, c_log1mexp, c_log_complete, c_log_lower,
    c_log_lower_four, c_log_upper, c_log_upper_four, c_logaddexp)


cdef inline double c_log_normal_density(double x) noexcept nogil:
    return -0.5 * x * x - 0.5 * 1.8378770664093454836


# A normal variable N(h, 1) truncated to values above 0: survival function and its inverse, accurate also for h << 0.

cdef inline double c_log_kept(double h, double d) noexcept nogil:
    """Return log P(X > d | X > 0), d >= 0."""
    if h > -5.0:
        return log_ndtr(h - d) - log_ndtr(h)
    return d * (h - 0.5 * d) + log(erfcx((d - h) * M_SQRT1_2) / erfcx(-h * M_SQRT1_2))


cdef inline double c_kept_quantile(double h, double log_p) noexcept nogil:
    """Return d with log P(X > d | X > 0) = log_p."""
    cdef double d, step, gap, slope
    cdef int i
    if log_p >= 0.0:
        return 0.0
    if h > -5.0:
        return fmax(0.0, h - ndtri_exp(log_ndtr(h) + log_p))
    d = -2.0 * log_p / (-h + sqrt(h * h - 2.0 * log_p))  # starting point: the solution for the density exp(h d - d^2/2)
    for i in range(60):
        gap = c_log_kept(h, d) - log_p
        slope = -sqrt(2.0 / 3.14159265358979323846) / erfcx((d - h) * M_SQRT1_2)
        step = gap / slope
        d = fmax(0.5 * d, d - step)
        if fabs(step) <= 4e-16 * d:
            break
    return d


# Distribution of Laplace(scale) noise xi = z - s given z, where s ~ N(mu, variance).

cdef struct NormalNoise:
    # below: standardised mean of -xi on xi < 0; above: of xi on xi > 0
    double sd, below, above, log_below, log_above, log_total


cdef inline NormalNoise c_normal_noise(double m, double variance, double scale) noexcept nogil:
    """Compute the distribution; m = z - mu. log_below, log_above: log integrals of exp(-|xi|/scale) times N density."""
    cdef NormalNoise law
    cdef double shift = variance / scale
    law.sd = sqrt(variance)
    law.below = -(m + shift) / law.sd
    law.above = (m - shift) / law.sd
    law.log_below = m / scale + 0.5 * shift / scale + log_ndtr(law.below)
    law.log_above = -m / scale + 0.5 * shift / scale + log_ndtr(law.above)
    if law.below < -5.0:  # the exponents above cancel, leaving the density at 0
        law.log_below = (c_log_normal_density(m / law.sd) + log(erfcx(-law.below * M_SQRT1_2))
                         + 0.5 * 1.8378770664093454836 - M_LN2)
    if law.above < -5.0:
        law.log_above = (c_log_normal_density(m / law.sd) + log(erfcx(-law.above * M_SQRT1_2))
                         + 0.5 * 1.8378770664093454836 - M_LN2)
    law.log_total = c_logaddexp(law.log_below, law.log_above)
    return law


cdef inline double c_normal_log_cdf(const NormalNoise *law, double xi, bint upper) noexcept nogil:
    """Return log P(noise <= xi), or log P(noise > xi) if `upper`."""
    cdef double part
    if xi <= 0.0:
        part = law.log_below - law.log_total + c_log_kept(law.below, -xi / law.sd)
        return c_log1mexp(part) if upper else part
    part = law.log_above - law.log_total + c_log_kept(law.above, xi / law.sd)
    return part if upper else c_log1mexp(part)


cdef inline double c_normal_quantile(const NormalNoise *law, double log_q, double log_p) noexcept nogil:
    """Return xi with P(noise <= xi) = exp(log_q) = 1 - exp(log_p)."""
    if log_q <= law.log_below - law.log_total:
        return -law.sd * c_kept_quantile(law.below, log_q - (law.log_below - law.log_total))
    return law.sd * c_kept_quantile(law.above, log_p - (law.log_above - law.log_total))


# The same for s ~ Gamma(shape, scale beta). All values are relative to the joint density at xi = 0, s = z.

cdef struct GammaNoise:
    double z, shape, below_rate, above_rate, log_below, log_above, log_total


cdef inline GammaNoise c_gamma_noise(double z, double shape, double beta, double scale) noexcept nogil:
    cdef GammaNoise law
    law.z, law.shape = z, shape
    law.below_rate = 1.0 / beta + 1.0 / scale  # xi < 0: s > z
    law.above_rate = 1.0 / beta - 1.0 / scale  # xi > 0: s < z
    if z > 0.0:
        law.log_below = c_log_upper(shape, law.below_rate * z)
        law.log_above = c_log_lower(shape, law.above_rate * z)
        law.log_total = c_logaddexp(law.log_below, law.log_above)
    else:
        law.z = 0.0  # a single gamma distribution of s, normalised without reference to z
        law.log_below = law.log_total = 0.0
        law.log_above = -INFINITY
    return law


cdef inline double c_gamma_log_psi(double z, double shape, double beta, double scale) noexcept nogil:
    """Return the log of the integral of Laplace(xi) Gamma(z - xi) over xi, a product of two densities."""
    cdef GammaNoise law
    if z <= 0.0:
        return z / scale - shape * log1p(beta / scale) - log(2.0 * scale)
    law = c_gamma_noise(z, shape, beta, scale)
    return law.log_total - c_log_complete(shape, z / beta) - log(2.0 * scale)


cdef inline void c_gamma_log_psi_four(double z, const double *shape, double beta, double scale,
                                      double *out) noexcept nogil:
    """Compute `c_gamma_log_psi` for four shapes, with bit-identical results."""
    cdef double log_below[FOUR]
    cdef double log_above[FOUR]
    cdef int k
    if z > 0.0:
        c_log_upper_four(shape, (1.0 / beta + 1.0 / scale) * z, log_below)
        c_log_lower_four(shape, (1.0 / beta - 1.0 / scale) * z, log_above)
    for k in range(FOUR):
        if z <= 0.0:
            out[k] = c_gamma_log_psi(z, shape[k], beta, scale)
        else:
            out[k] = c_logaddexp(log_below[k], log_above[k]) - c_log_complete(shape[k], z / beta) - log(2.0 * scale)


cdef inline double c_gamma_at_least(const GammaNoise *law, double s) noexcept nogil:
    """Return log P(S >= s), with full relative accuracy also in the tail."""
    cdef double x = law.below_rate * s, lead
    if s <= 0.0:
        return 0.0
    if law.z == 0.0:
        return c_log_upper(law.shape, x) - c_log_complete(law.shape, x)
    if s >= law.z:
        return (c_log_upper(law.shape, x) + law.shape * log1p((s - law.z) / law.z) - law.below_rate * (s - law.z)
                - law.log_total)
    x = law.above_rate * s
    lead = law.shape * log(s / law.z) - law.above_rate * (s - law.z)
    if x > law.shape:  # P(s < S < z) is the difference of two upper parts
        lead += c_log_upper(law.shape, x)
        lead += c_log1mexp(fmin(0.0, c_log_upper(law.shape, law.above_rate * law.z) - lead))
        return fmin(0.0, c_logaddexp(lead, law.log_below) - law.log_total)
    return c_log1mexp(fmin(0.0, lead + c_log_lower(law.shape, x) - law.log_total))


cdef inline double c_gamma_below(const GammaNoise *law, double s) noexcept nogil:
    """Return log P(S < s), with full relative accuracy also in the tail."""
    cdef double x = law.below_rate * s, lead
    if s <= 0.0:
        return -INFINITY
    if law.z == 0.0:
        return c_log_lower(law.shape, x) - c_log_complete(law.shape, x)
    if s < law.z:
        return (c_log_lower(law.shape, law.above_rate * s) + law.shape * log(s / law.z) - law.above_rate * (s - law.z)
                - law.log_total)
    lead = law.shape * log1p((s - law.z) / law.z) - law.below_rate * (s - law.z)
    if x < law.shape:  # P(z < S < s) is the difference of two lower parts
        lead += c_log_lower(law.shape, x)
        lead += c_log1mexp(fmin(0.0, c_log_lower(law.shape, law.below_rate * law.z) - lead))
        return fmin(0.0, c_logaddexp(lead, law.log_above) - law.log_total)
    return c_log1mexp(fmin(0.0, lead + c_log_upper(law.shape, x) - law.log_total))


cdef inline double c_gamma_log_slope(const GammaNoise *law, double s) noexcept nogil:
    """Return the log density of S at s."""
    cdef double x
    if s <= 0.0:
        return -INFINITY
    if law.z == 0.0:
        x = law.below_rate * s
        return -c_log_complete(law.shape, x) - log(s)
    return (law.shape * log(s / law.z) - (law.below_rate if s >= law.z else law.above_rate) * (s - law.z)
            - log(s) - law.log_total)


cdef inline double c_gamma_quantile(const GammaNoise *law, double log_q, double log_p) noexcept nogil:
    """Return s = z - xi with P(noise <= xi) = P(S >= s) = exp(log_q) = 1 - exp(log_p): safeguarded Newton method."""
    cdef double low, high, s, part, gap, step, sd = sqrt(law.shape) / law.below_rate
    cdef int i
    if log_q <= law.log_below - law.log_total:  # s > z
        low, high = law.z, INFINITY
        s = fmax(low, law.shape / law.below_rate) + 0.5 * sd
    else:
        low, high = 0.0, law.z
        s = 0.9 * high if law.above_rate <= 0.0 else fmax(0.5 * high, high - sd)
        if law.above_rate > 0.0 and law.shape / law.above_rate < high:
            s = law.shape / law.above_rate
    for i in range(200):
        if log_q < log_p:
            part = c_gamma_at_least(law, s)
            gap = log_q - part
        else:
            part = c_gamma_below(law, s)
            gap = part - log_p
        if gap > 0.0:
            high = s
        else:
            low = s
        step = gap * exp(part - c_gamma_log_slope(law, s))
        if not fabs(step) < 1e300 or s - step <= low or s - step >= high:
            step = s - (0.5 * (low + high) if high < INFINITY else 2.0 * s + sd)
        s -= step
        if fabs(step) <= 3e-16 * s:
            break
    return s


# If the distribution of xi is a narrow peak at 0, z - s has no significant digits: the same functions of xi itself.

cdef inline double c_peak_log_density(const GammaNoise *law, double xi) noexcept nogil:
    """Return the log density of xi < z."""
    cdef double log_ratio = log1p(-xi / law.z)
    return ((law.shape - 1.0) * log_ratio + (law.above_rate if xi > 0.0 else law.below_rate) * xi - log(law.z)
            - law.log_total)


cdef inline double c_peak_log_tail(const GammaNoise *law, double xi, bint above) noexcept nogil:
    """Return log P(noise > xi) for xi >= 0 if `above`, otherwise log P(noise <= xi) for xi <= 0."""
    cdef double lead = law.shape * log1p(-xi / law.z) - law.log_total
    if above:
        return lead + law.above_rate * xi + c_log_lower(law.shape, law.above_rate * (law.z - xi))
    return lead + law.below_rate * xi + c_log_upper(law.shape, law.below_rate * (law.z - xi))


cdef inline double c_peak_quantile(const GammaNoise *law, double log_q, double log_p) noexcept nogil:
    """Return xi with P(noise <= xi) = exp(log_q) = 1 - exp(log_p): safeguarded Newton method, away from 0."""
    cdef bint above = log_q > law.log_below - law.log_total
    cdef double side = 1.0 if above else -1.0, target = log_p if above else log_q
    cdef double low = 0.0, high = law.z if above else INFINITY, d = 0.0, part, gap, further
    cdef int i
    for i in range(200):
        part = c_peak_log_tail(law, side * d, above)
        gap = part - target
        if gap > 0.0:
            low = d
        else:
            high = d
        further = d + gap * exp(part - c_peak_log_density(law, side * d))
        if not low < further < high:
            further = 0.5 * (low + high) if high < INFINITY else 2.0 * d + 1.0 / law.below_rate
        gap, d = fabs(further - d), further
        if gap <= 3e-16 * d:
            break
    return side * d
