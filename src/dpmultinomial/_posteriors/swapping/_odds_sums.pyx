# cython: language_level=3
"""Sums for the distribution of a log odds ratio: characteristic functions of mixtures, and Fourier sums at many points.

If a table differs from the previous one by one unit in every cell, Gamma(z + 1) = z Gamma(z) gives its moment
generating function from the previous one,

E exp(s X') = E exp(s X) (a + s)(d + s)/((b' - s)(c' - s)) b' c'/(a d),

with (a, b, c, d) the parameters before and (a', b', c', d') = (a + 1, b - 1, c - 1, d + 1) after the step. A Fourier
sum with equal steps is a polynomial in exp(-i step x). It is evaluated by Horner's rule within blocks of BLOCK terms,
and every block starts from a new cosine and sine, so that rounding errors do not accumulate.
"""
import numpy as np

from libc.math cimport cos, sin
from libc.stdint cimport int64_t

from ... import _checks

cdef enum:
    BLOCK = 16
    LANES = 8  # number of points that are evaluated in parallel


cdef void c_followed(const double[:, ::1] a, Py_ssize_t j, double tilt, const double[::1] t, double *real,
                     double *imaginary) noexcept nogil:
    """Compute component j from the previous component, at all t."""
    cdef Py_ssize_t k, n = t.shape[0]
    cdef const double *points = &t[0]
    cdef double p = a[j - 1, 0] + tilt, q = a[j - 1, 3] + tilt, u = a[j, 1] - tilt, v = a[j, 2] - tilt
    cdef double scale = (a[j, 1] / a[j - 1, 0]) * (a[j, 2] / a[j - 1, 3])
    cdef double rising = p + q, falling = u + v, above = p * q, below = u * v, square, x, y, over, re, im
    # (p + i t)(q + i t)/((u - i t)(v - i t)) b' c'/(a d), s = tilt + i t, and the product with the previous value
    for k in range(n):
        square = points[k] * points[k]
        x, y = above - square, below - square
        over = scale / ((u * u + square) * (v * v + square))
        re = (x * y - rising * falling * square) * over
        im = points[k] * (x * falling + y * rising) * over
        x = real[k] * re - imaginary[k] * im
        imaginary[k] = real[k] * im + imaginary[k] * re
        real[k] = x


cdef void mixture_fill(const double[:, ::1] a, const double[::1] weights, double tilt, const double[::1] t,
                       const int64_t[::1] fresh, const double[:, :, ::1] starts, double[:, ::1] power,
                       double[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t j, k, n = t.shape[0]
    cdef double *real = &power[0, 0]
    cdef double *imaginary = &power[1, 0]
    cdef double *first = &out[0, 0]
    cdef double *second = &out[1, 0]
    cdef double weight
    for j in range(a.shape[0]):
        if fresh[j] >= 0:  # E exp(s X_j) as given, otherwise from the previous component
            for k in range(n):
                real[k], imaginary[k] = starts[fresh[j], k, 0], starts[fresh[j], k, 1]
        else:
            c_followed(a, j, tilt, t, real, imaginary)
        # sum_j w_j E exp(s X_j)
        weight = weights[j]
        for k in range(n):
            first[k] += weight * real[k]
            second[k] += weight * imaginary[k]


def mixture(a, weights, tilt, t, fresh, starts):
    """Return sum_j w_j E exp((tilt + i t) X_j) for log odds ratios X_j under Dirichlet(a_j).

    Parameters
    ----------
    a : float64 (m, 4)
        Dirichlet parameters; those of cells 01 and 10 are greater than `tilt`.
    weights : float64 (m,)
    tilt : float
    t : float64 (n,), n >= 1.
    fresh : bool (m,)
        False if a_j is a_(j - 1) + (1, -1, -1, 1); the first entry is True.
    starts : complex128 (number of fresh, n)
        E exp((tilt + i t) X_j) of the components with `fresh`.

    Returns
    -------
    complex128 (n,)

    Raises
    ------
    ValueError, TypeError
        If shapes differ, an array has entries that are not numbers, or the first entry of `fresh` is False.

    Notes
    -----
    About 2 ns per component and t.
    """
    parameters = np.ascontiguousarray(a, dtype=np.float64)
    cdef const double[::1] shares = _checks.reals("weights", weights)
    cdef const double[::1] points = _checks.reals("t", t)
    flags = np.asarray(fresh, dtype=bool)
    first = np.ascontiguousarray(starts, dtype=np.complex128)
    m, n = shares.shape[0], points.shape[0]
    if parameters.shape != (m, 4) or flags.shape != (m,) or first.shape != (flags.sum(), n):
        shapes = parameters.shape, flags.shape, first.shape
        raise ValueError(f"a, fresh and starts must have shapes ({m}, 4), ({m},) and (fresh, {n}), got {shapes}")
    if not flags[0]:
        raise ValueError("the first component must be fresh")
    cdef double c = _checks.number("tilt", tilt)
    cdef const double[:, ::1] cells = parameters
    cdef const int64_t[::1] places = np.where(flags, np.cumsum(flags) - 1, -1)
    cdef const double[:, :, ::1] begun = first.view(np.float64).reshape(len(first), n, 2)
    parts = np.zeros((2, n))
    cdef double[:, ::1] out = parts, power = np.empty((2, n))
    with nogil:
        mixture_fill(cells, shares, c, points, places, begun, power, out)
    return parts[0] + 1j * parts[1]


cdef void waves_fill(const double[::1] x, double step, const double[:, ::1] values, double[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t group, block, first, low, high, k, l, n = values.shape[0], count
    cdef double turn_re[LANES]
    cdef double turn_im[LANES]
    cdef double sum_re[LANES]
    cdef double sum_im[LANES]
    cdef double whole_re[LANES]
    cdef double whole_im[LANES]
    cdef double angle, re, im, kept
    for group in range((x.shape[0] + LANES - 1) // LANES):
        first = group * LANES
        count = min(x.shape[0] - first, <Py_ssize_t> LANES)
        # exp(-i step x), the argument of the polynomial
        for l in range(LANES):
            angle = step * x[first + (l if l < count else 0)]
            turn_re[l], turn_im[l] = cos(angle), -sin(angle)
            whole_re[l] = whole_im[l] = 0.0
        for block in range((n + BLOCK - 1) // BLOCK):
            low = block * BLOCK
            high = min(low + <Py_ssize_t> BLOCK, n)
            # Horner's rule within the block
            for l in range(LANES):
                sum_re[l] = sum_im[l] = 0.0
            for k in range(high - 1, low - 1, -1):
                re, im = values[k, 0], values[k, 1]
                for l in range(LANES):
                    kept = sum_re[l] * turn_re[l] - sum_im[l] * turn_im[l] + re
                    sum_im[l] = sum_re[l] * turn_im[l] + sum_im[l] * turn_re[l] + im
                    sum_re[l] = kept
            # multiplied by exp(-i step (low + 1/2) x), the factor of the start of the block
            for l in range(count):
                angle = step * (low + 0.5) * x[first + l]
                re, im = cos(angle), -sin(angle)
                whole_re[l] += sum_re[l] * re - sum_im[l] * im
                whole_im[l] += sum_re[l] * im + sum_im[l] * re
        for l in range(count):
            out[first + l, 0], out[first + l, 1] = whole_re[l], whole_im[l]


def waves(x, step, values):
    """Return sum_k values[k] exp(-i step (k + 1/2) x) at every x.

    Parameters
    ----------
    x : float64 (m,); the result is NaN where x is not finite.
    step : float
    values : complex128 (n,)

    Returns
    -------
    complex128 (m,)
        Accurate to a few units in the last digit of the sum of abs(values), plus the effect of rounding the argument.

    Raises
    ------
    ValueError, TypeError
        If x or values is not one-dimensional or has entries that are not numbers.

    Notes
    -----
    About 3 ns per point and value.
    """
    places, heights = _checks.floats("x", x), np.ascontiguousarray(values, dtype=np.complex128)
    if places.ndim != 1 or heights.ndim != 1:
        raise ValueError(f"x and values must be one-dimensional, got shapes {places.shape} and {heights.shape}")
    cdef const double[::1] points = np.ascontiguousarray(places)
    cdef double width = _checks.number("step", step)
    cdef const double[:, ::1] terms = heights.view(np.float64).reshape(-1, 2)
    sums = np.empty((points.shape[0], 2))
    cdef double[:, ::1] out = sums
    with nogil:
        waves_fill(points, width, terms, out)
    return sums.view(np.complex128).ravel()
