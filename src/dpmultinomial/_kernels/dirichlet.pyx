# cython: language_level=3
"""Dirichlet draws whose parameter is a prior plus counts, with one row of counts per draw."""
import numpy as np

from libc.math cimport log, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma, random_standard_normal

from .bitgen cimport c_bitgen, c_uniform

from .. import _checks

_REMEMBERED = 512  # largest count for which the gamma constants are cached


cdef inline double c_gamma(bitgen_t *bits, double b, double c) noexcept nogil:
    """Draw a standard gamma variable of shape b + 1/3 > 1, c = 1/sqrt(9 b): Marsaglia and Tsang (2000), as in NumPy."""
    cdef double x, v, u
    while True:
        x = random_standard_normal(bits)
        v = 1.0 + c * x  # proposal b v^3
        if v <= 0.0:
            continue
        v = v * v * v
        u = c_uniform(bits)
        # the squeeze test almost always decides without logarithms
        if u < 1.0 - 0.0331 * (x * x) * (x * x):
            return b * v
        if log(u) < 0.5 * x * x + b * (1.0 - v + log(v)):
            return b * v


cdef int dirichlet_fill(const double[::1] alpha, const int64_t[:, ::1] counts, double[:, ::1] scales,
                        double[:, ::1] out, bitgen_t *bits) noexcept nogil:
    """Draw all rows; scales[i, s] caches 1/sqrt(9 b) of shape alpha[i] + s, because few shapes occur in many draws."""
    cdef int64_t i, j, s, k = counts.shape[1], good = 1
    cdef double shape, b, total
    for j in range(out.shape[0]):
        # gamma draws of shape alpha_i + s_i, divided by their sum
        total = 0.0
        for i in range(k):
            s = counts[j, i]
            shape = alpha[i] + s
            if shape > 1.0 and s < scales.shape[1]:
                b = shape - 1.0 / 3.0
                if scales[i, s] == 0.0:
                    scales[i, s] = 1.0 / sqrt(9.0 * b)
                out[j, i] = c_gamma(bits, b, scales[i, s])
            else:
                out[j, i] = random_standard_gamma(bits, shape)
            total += out[j, i]
        good &= total > 0.0
        total = 1.0 / total
        for i in range(k):
            out[j, i] *= total
    return good


def draw(alpha, counts, *, rng):
    """Draw p ~ Dirichlet(alpha + counts[j]) independently for every row j.

    Parameters
    ----------
    alpha : float64 (k,), positive; at least 0.01 for rows without counts.
    counts : int64 (size, k), non-negative.
    rng : numpy Generator; k standard gamma draws per row, in order.

    Returns
    -------
    float64 (size, k), each row with sum 1.

    Raises
    ------
    FloatingPointError
        If all gamma draws of a row underflow to 0 (tiny alpha and no counts).
    """
    alpha = _checks.shaped("alpha", alpha, None)
    counts = _checks.shaped_counts("counts", counts, None, len(alpha))
    alpha = _checks.positives("alpha", alpha, len(alpha))
    if not len(alpha):
        raise ValueError("alpha must have at least one entry, got none")
    cdef const double[::1] alpha_view = alpha
    cdef const int64_t[:, ::1] counts_view = counts
    _checks.generator(rng)
    out = np.empty(counts.shape)
    cdef double[:, ::1] view = out, scales = np.zeros((len(alpha), _REMEMBERED))
    cdef bitgen_t *bits = c_bitgen(rng)
    cdef int good
    with rng.bit_generator.lock, nogil:
        good = dirichlet_fill(alpha_view, counts_view, scales, view, bits)
    if not good:
        raise FloatingPointError("all gamma draws of a Dirichlet variable underflowed to 0: use alpha >= 0.01")
    return out
