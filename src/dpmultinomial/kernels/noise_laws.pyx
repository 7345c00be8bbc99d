# cython: language_level=3
"""Laplace noise behind a released statistic: the laws of xi given z = s + xi, in closed form.

xi ~ Laplace(scale). If s ~ N(mu, variance), xi | z is a mixture of two truncated normal laws, one on each side of 0. If
s ~ Gamma(shape, scale beta), it is a gamma law of rate 1/beta + 1/scale cut at z and one of rate 1/beta - 1/scale, which
may be zero or negative: then the integral is Kummer's function. All is relative to the density at the kink xi = 0, so
that no large terms cancel; accurate in both tails and for releases far from anything the model expects.
"""
import numpy as np

from libc.math cimport log, log1p

from .noise_laws cimport (GammaNoise, NormalNoise, c_gamma_at_least, c_gamma_below, c_gamma_log_psi, c_gamma_log_slope, c_gamma_noise,
                          c_gamma_quantile, c_log_lower, c_log_upper, c_normal_log_cdf, c_normal_noise,
                          c_normal_quantile)


def log_lower(shape, x):
    """log of int_0^1 v^(shape - 1) exp(-x (v - 1)) dv = x^-shape e^x gamma(shape, x); shape > 0, any real x. One number."""
    return c_log_lower(shape, x)


def log_upper(shape, x):
    """log of int_1^inf v^(shape - 1) exp(-x (v - 1)) dv = x^-shape e^x Gamma(shape, x); shape > 0, x > 0. One number."""
    return c_log_upper(shape, x)


def normal_log_total(m, variance, scale):
    """log of int exp(-|xi|/scale) N(m - xi; 0, variance) dxi; m = z - mu. One number."""
    return c_normal_noise(m, variance, scale).log_total


def normal_log_cdf(xi, m, variance, scale, upper=False):
    """log P(noise <= xi), or log P(noise > xi) with `upper`: float64 of the shape of xi (one-dimensional)."""
    cdef const double[::1] points = xi
    cdef double[::1] out = np.empty(points.shape[0])
    cdef NormalNoise law = c_normal_noise(m, variance, scale)
    cdef bint above = upper
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            out[i] = c_normal_log_cdf(&law, points[i], above)
    return np.asarray(out)


def normal_quantile(q, m, variance, scale):
    """xi with P(noise <= xi) = q, for q one-dimensional in (0, 1)."""
    cdef const double[::1] levels = q
    cdef double[::1] out = np.empty(levels.shape[0])
    cdef NormalNoise law = c_normal_noise(m, variance, scale)
    cdef Py_ssize_t i
    with nogil:
        for i in range(levels.shape[0]):
            out[i] = c_normal_quantile(&law, log(levels[i]), log1p(-levels[i]))
    return np.asarray(out)


def gamma_log_psi(z, shape, beta, scale):
    """log of int Laplace(xi; scale) Gamma(z - xi; shape, beta) dxi, both densities. One number."""
    return c_gamma_log_psi(z, shape, beta, scale)


def gamma_log_pdf(s, z, shape, beta, scale):
    """log density of s = z - xi given z, for s one-dimensional; -inf where s <= 0."""
    cdef const double[::1] points = s
    cdef double[::1] out = np.empty(points.shape[0])
    cdef GammaNoise law = c_gamma_noise(z, shape, beta, scale)
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            out[i] = c_gamma_log_slope(&law, points[i])
    return np.asarray(out)


def gamma_log_cdf(s, z, shape, beta, scale, upper=False):
    """log P(S <= s), or log P(S > s) with `upper`, given z: float64 of the shape of s (one-dimensional)."""
    cdef const double[::1] points = s
    cdef double[::1] out = np.empty(points.shape[0])
    cdef GammaNoise law = c_gamma_noise(z, shape, beta, scale)
    cdef bint above = upper
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            out[i] = c_gamma_at_least(&law, points[i]) if above else c_gamma_below(&law, points[i])
    return np.asarray(out)


def gamma_quantile(q, z, shape, beta, scale):
    """s = z - xi with P(noise <= xi) = q, for q one-dimensional in (0, 1)."""
    cdef const double[::1] levels = q
    cdef double[::1] out = np.empty(levels.shape[0])
    cdef GammaNoise law = c_gamma_noise(z, shape, beta, scale)
    cdef Py_ssize_t i
    with nogil:
        for i in range(levels.shape[0]):
            out[i] = c_gamma_quantile(&law, log(levels[i]), log1p(-levels[i]))
    return np.asarray(out)
