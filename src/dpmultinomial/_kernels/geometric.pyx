# cython: language_level=3
"""Two-sided geometric noise cut at +-support: P(d) = a^|d| / Z on -support..support, a = exp(-epsilon).

Wang (2020), section 2.1, the law of his equations (1) to (5). One uniform a draw, inverted through the cumulative
probabilities; values whose probability is below 2^-53 come no more often than a double can say.
"""
import numpy as np

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from .bitgen cimport c_bitgen, c_uniform
from .geometric cimport c_noise_from

from .. import _checks


_LARGEST_SUPPORT = 1 << 27


def probabilities(epsilon, support):
    """Probabilities of the noise.

    Parameters
    ----------
    epsilon : > 0, per unit of change.
    support : whole number in [0, 2^27].

    Returns
    -------
    float64 (2 support + 1,), P(d) for d = -support..support, symmetric, adding up to 1.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    support = _checks.whole("support", support, most=_LARGEST_SUPPORT)
    weights = np.exp(-_checks.positive("epsilon", epsilon) * np.abs(np.arange(-support, support + 1)))
    return weights / weights.sum()


def cumulative(epsilon, support):
    """Cumulative probabilities of the noise.

    Parameters
    ----------
    epsilon, support : as in `probabilities`.

    Returns
    -------
    float64 (2 support + 1,), P(D <= d) for d = -support..support, the last entry exactly 1.
    """
    table = np.cumsum(probabilities(epsilon, support))
    table[len(table) - 1] = 1.0
    return table


cdef void noise_fill(const double[::1] table, int64_t support, double epsilon, const int64_t[::1] least,
                     int64_t[::1] out, bitgen_t *bits) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = c_noise_from(c_uniform(bits), &table[0], support, epsilon, least[i])


def draw(size, *, epsilon, support, rng, least=None):
    """Independent draws of the noise.

    Parameters
    ----------
    size : number of draws >= 0.
    epsilon : > 0, per unit of change.
    support : whole number >= 0; the noise stays within +-support.
    rng : numpy Generator; one uniform a draw.
    least : int64 (size,) or None. Each draw is conditioned on being at least that large.

    Returns
    -------
    int64 (size,).

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, e.g. an entry of `least` exceeds `support`, so that no value is left.
    """
    size, support = _checks.whole("size", size), _checks.whole("support", support)
    _checks.generator(rng)
    bounds = np.full(size, -support, dtype=np.int64) if least is None else _checks.int64s("least", least)
    if bounds.shape != (size,) or (size and bounds.max() > support):
        raise ValueError(f"least must be {size} whole numbers <= support = {support}, got {least!r}")
    cdef const double[::1] table = cumulative(epsilon, support)
    cdef const int64_t[::1] bounds_view = bounds
    cdef int64_t reach = support
    cdef double rate = epsilon
    out = np.empty(size, dtype=np.int64)
    cdef int64_t[::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        noise_fill(table, reach, rate, bounds_view, view, bits)
    return out
