# cython: language_level=3, cdivision=True, wraparound=False
"""The laws of the statistics under theta, as the chain of statistics uses them."""
from libc.math cimport exp, fmax, fmin, sqrt

from ._censored_setting cimport Setting

cdef struct Law:
    double log_low, log_high, log_inside, log_not_high  # of one record: below a, above b, inside, not above b
    double centre, variance, power, beta  # s_mean ~ N(centre, variance/c), s_sse ~ Gamma(power (c - 1), beta)


cdef inline void c_moments(const Setting *data, double mu, double sigma2, const double[::1] nodes,
                           const double[::1] weights, Law *law) noexcept nogil:
    """Mean and variance of a record inside [a, b], and the gamma law with the mean and variance of s_sse.

    Gauss-Legendre where the density is within exp(-40) of its largest value: no cancellation however far mu lies.
    """
    cdef double top = fmin(fmax(mu, data.a), data.b), reach, low, high, x, w, total = 0.0, fourth = 0.0
    cdef Py_ssize_t i
    reach = sqrt((top - mu) * (top - mu) + 80.0 * sigma2)
    low, high = fmax(data.a, mu - reach), fmin(data.b, mu + reach)
    law.centre = law.variance = 0.0
    for i in range(nodes.shape[0]):
        x = 0.5 * (high - low) * nodes[i] + 0.5 * (low + high) - top
        w = weights[i] * exp(-0.5 * x * (x + 2.0 * (top - mu)) / sigma2)
        total += w
        law.centre += w * x
        law.variance += w * x * x
    law.centre /= total
    law.variance = 0.0
    for i in range(nodes.shape[0]):
        x = 0.5 * (high - low) * nodes[i] + 0.5 * (low + high) - top
        w = weights[i] * exp(-0.5 * x * (x + 2.0 * (top - mu)) / sigma2) / total
        x -= law.centre
        law.variance += w * x * x
        fourth += w * x * x * x * x
    law.centre += top
    law.beta = fourth / law.variance - law.variance
    law.power = law.variance / law.beta
