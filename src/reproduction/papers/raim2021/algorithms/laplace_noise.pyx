# cython: language_level=3
"""Closed-form distributions of the Laplace noise xi in a released statistic, given z = s + xi.

xi ~ Laplace(scale). If s ~ N(mu, variance), xi | z is a mixture of two truncated normal distributions, one on each side
of 0. If s ~ Gamma(shape, scale beta), it is a mixture of a gamma distribution of rate 1/beta + 1/scale truncated at z
and one of rate 1/beta - 1/scale, which may be zero or negative; in that case the integral is Kummer's function. All
values are relative to the density at the kink xi = 0, so that large terms do not cancel; they are accurate in both
tails and for releases that are extremely improbable under the model. These are the targets of the direct sampler in
Raim (2021). Scales, rates and variances must be in [1e-150, 1e150], shapes in [1e-150, 1e12]; an invalid argument
raises ValueError or TypeError. A value costs 1 us, a quantile a few us.
"""
import numpy as np

from libc.math cimport fmin, log, log1p

from dpmultinomial._kernels.log_probabilities cimport c_log1mexp, c_log_lower, c_log_upper

from .laplace_noise cimport (GammaNoise, NormalNoise, c_gamma_at_least, c_gamma_below, c_gamma_log_psi,
                             c_gamma_log_slope, c_gamma_noise, c_gamma_quantile, c_normal_log_cdf, c_normal_noise,
                             c_normal_quantile, c_peak_log_density, c_peak_log_tail, c_peak_quantile)

from dpmultinomial import _arrays, _checks

_LARGEST_SHAPE = 1e12


def log_lower(shape, x):
    """Return the log of int_0^1 v^(shape - 1) exp(-x (v - 1)) dv = x^-shape e^x gamma(shape, x).

    Parameters
    ----------
    shape : > 0.
    x : any finite number.

    Returns
    -------
    float
    """
    cdef double a = _shape(shape), b = _checks.number("x", x)
    return c_log_lower(a, b)


def log_upper(shape, x):
    """Return the log of int_1^inf v^(shape - 1) exp(-x (v - 1)) dv = x^-shape e^x Gamma(shape, x).

    Parameters
    ----------
    shape, x : > 0.

    Returns
    -------
    float
    """
    cdef double a = _shape(shape), b = _checks.positive("x", x)
    return c_log_upper(a, b)


def normal_log_total(m, variance, scale):
    """Return the log of int exp(-|xi|/scale) N(m - xi; 0, variance) dxi.

    Parameters
    ----------
    m : z - mu.
    variance, scale : > 0.

    Returns
    -------
    float
    """
    return _normal(m, variance, scale).log_total


def normal_log_cdf(xi, m, variance, scale, upper=False):
    """Return log P(noise <= xi), or log P(noise > xi) if `upper`.

    Parameters
    ----------
    xi : float64 (n,), not NaN.
    m, variance, scale : as in `normal_log_total`.
    upper : whether to return the upper tail.

    Returns
    -------
    float64 (n,)
    """
    cdef const double[::1] points = _arrays.floats("xi", xi, ndim=1)
    cdef double[::1] out = np.empty(points.shape[0])
    cdef NormalNoise law = _normal(m, variance, scale)
    cdef bint above = upper
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            out[i] = c_normal_log_cdf(&law, points[i], above)
    return np.asarray(out)


def normal_quantile(q, m, variance, scale):
    """Return xi with P(noise <= xi) = q.

    Parameters
    ----------
    q : float64 (n,), strictly between 0 and 1.
    m, variance, scale : as in `normal_log_total`.

    Returns
    -------
    float64 (n,)
    """
    cdef const double[::1] levels = _levels(q)
    cdef double[::1] out = np.empty(levels.shape[0])
    cdef NormalNoise law = _normal(m, variance, scale)
    cdef Py_ssize_t i
    with nogil:
        for i in range(levels.shape[0]):
            out[i] = c_normal_quantile(&law, log(levels[i]), log1p(-levels[i]))
    return np.asarray(out)


def gamma_log_psi(z, shape, beta, scale):
    """Return the log of int Laplace(xi; scale) Gamma(z - xi; shape, beta) dxi, a product of two densities.

    Parameters
    ----------
    z : any finite number.
    shape, beta, scale : > 0.

    Returns
    -------
    float
    """
    cdef double place = _checks.number("z", z), a = _shape(shape), b = _size("beta", beta), c = _size("scale", scale)
    return c_gamma_log_psi(place, a, b, c)


def gamma_log_pdf(s, z, shape, beta, scale):
    """Return the log density of s = z - xi given z.

    Parameters
    ----------
    s : float64 (n,), not NaN.
    z, shape, beta, scale : as in `gamma_log_psi`.

    Returns
    -------
    float64 (n,), -inf for s <= 0.
    """
    cdef const double[::1] points = _arrays.floats("s", s, ndim=1)
    cdef double[::1] out = np.empty(points.shape[0])
    cdef GammaNoise law = _gamma(z, shape, beta, scale)
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            out[i] = c_gamma_log_slope(&law, points[i])
    return np.asarray(out)


def gamma_log_cdf(s, z, shape, beta, scale, upper=False):
    """Return log P(S <= s), or log P(S > s) if `upper`, given z.

    Parameters
    ----------
    s : float64 (n,), not NaN.
    z, shape, beta, scale, upper : as in `gamma_log_psi` and `normal_log_cdf`.

    Returns
    -------
    float64 (n,)
    """
    cdef const double[::1] points = _arrays.floats("s", s, ndim=1)
    cdef double[::1] out = np.empty(points.shape[0])
    cdef GammaNoise law = _gamma(z, shape, beta, scale)
    cdef bint above = upper
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            out[i] = c_gamma_at_least(&law, points[i]) if above else c_gamma_below(&law, points[i])
    return np.asarray(out)


def gamma_quantile(q, z, shape, beta, scale):
    """Return s = z - xi with P(noise <= xi) = q.

    Parameters
    ----------
    q : float64 (n,), strictly between 0 and 1.
    z, shape, beta, scale : as in `gamma_log_psi`.

    Returns
    -------
    float64 (n,)
    """
    cdef const double[::1] levels = _levels(q)
    cdef double[::1] out = np.empty(levels.shape[0])
    cdef GammaNoise law = _gamma(z, shape, beta, scale)
    cdef Py_ssize_t i
    with nogil:
        for i in range(levels.shape[0]):
            out[i] = c_gamma_quantile(&law, log(levels[i]), log1p(-levels[i]))
    return np.asarray(out)


def peak_log_pdf(xi, z, shape, beta, scale):
    """Return the log density of xi given z > 0: like `gamma_log_pdf` at z - xi, without loss of digits in xi.

    Parameters
    ----------
    xi : float64 (n,), < z.
    z, shape, beta, scale : as in `gamma_log_psi`, z > 0.

    Returns
    -------
    float64 (n,)
    """
    cdef const double[::1] points = _noise(xi, z)
    cdef double[::1] out = np.empty(points.shape[0])
    cdef GammaNoise law = _gamma(_checks.positive("z", z), shape, beta, scale)
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            out[i] = c_peak_log_density(&law, points[i])
    return np.asarray(out)


def peak_log_cdf(xi, z, shape, beta, scale, upper=False):
    """Return log P(noise <= xi), or log P(noise > xi) if `upper`, given z > 0, without loss of digits in xi.

    Parameters
    ----------
    xi, z, shape, beta, scale, upper : as in `peak_log_pdf` and `normal_log_cdf`.

    Returns
    -------
    float64 (n,). The absolute error of the probability is about 1e-15; it is a relative error if the requested tail is
        on the same side of 0 as xi.
    """
    cdef const double[::1] points = _noise(xi, z)
    cdef double[::1] out = np.empty(points.shape[0])
    cdef GammaNoise law = _gamma(_checks.positive("z", z), shape, beta, scale)
    cdef bint above = upper
    cdef double part
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            part = fmin(0.0, c_peak_log_tail(&law, points[i], points[i] > 0.0))
            out[i] = part if above == (points[i] > 0.0) else c_log1mexp(part)
    return np.asarray(out)


def peak_quantile(q, z, shape, beta, scale):
    """Return xi with P(noise <= xi) = q given z > 0, with full relative accuracy even if the peak is at 0.

    Parameters
    ----------
    q : float64 (n,), strictly between 0 and 1.
    z, shape, beta, scale : as in `peak_log_pdf`.

    Returns
    -------
    float64 (n,)
    """
    cdef const double[::1] levels = _levels(q)
    cdef double[::1] out = np.empty(levels.shape[0])
    cdef GammaNoise law = _gamma(_checks.positive("z", z), shape, beta, scale)
    cdef Py_ssize_t i
    with nogil:
        for i in range(levels.shape[0]):
            out[i] = c_peak_quantile(&law, log(levels[i]), log1p(-levels[i]))
    return np.asarray(out)


def _noise(xi, z):
    points = _arrays.floats("xi", xi, ndim=1)
    if len(points) and not points.max() < z:
        raise ValueError(f"xi must be below z = {z}, got {points.max()}")
    return points


cdef NormalNoise _normal(m, variance, scale):
    return c_normal_noise(_checks.number("m", m), _size("variance", variance), _size("scale", scale))


cdef GammaNoise _gamma(z, shape, beta, scale):
    return c_gamma_noise(_checks.number("z", z), _shape(shape), _size("beta", beta), _size("scale", scale))


def _shape(shape):
    if _size("shape", shape) > _LARGEST_SHAPE:
        raise ValueError(f"shape must be <= {_LARGEST_SHAPE:g}, got {shape}")
    return shape


def _size(name, value):
    value = _checks.positive(name, value)
    if not 1e-150 <= value <= 1e150:
        raise ValueError(f"{name} must lie in [1e-150, 1e150], got {value}")
    return value


def _levels(q):
    levels = _arrays.floats("q", q, ndim=1)
    if len(levels) and not (levels.min() > 0 and levels.max() < 1):
        raise ValueError(f"q must lie strictly between 0 and 1, got values from {levels.min()} to {levels.max()}")
    return levels
