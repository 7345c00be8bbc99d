# cython: language_level=3
"""Two-sided geometric noise truncated at +-support: P(d) = a^|d| / Z on -support..support, a = exp(-epsilon).

This is the noise distribution of equations (1) to (5) of Wang (2020), section 2.1. Each draw uses one uniform number
and inverts the cumulative probabilities; a value whose probability is below 2^-53 is drawn only as often as the
resolution of a double allows.

The weights a^|d|, |d| <= reach, are also summed over windows and intervals in closed form. `smooth` converts a
likelihood of noisy counts into a likelihood of true counts. `boxes` does the same for the indicator of an interval of
noisy counts, sum_{n = lower..upper} a^|n - N|, by geometric series on both sides of N. Both functions add only positive
terms, so every result has full relative accuracy, and both cost O(1) per value for any half-width.
"""
from functools import lru_cache

import numpy as np

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from .bitgen cimport c_bitgen, c_uniform
from .geometric cimport c_noise_from

from .. import _arrays, _checks

_LARGEST_SUPPORT = 1 << 27
LARGEST = 1 << 40  # interval ends beyond +-LARGEST denote an unbounded side


def probabilities(epsilon, support):
    """Return the probabilities of all noise values.

    Parameters
    ----------
    epsilon : > 0, per unit of change.
    support : integer in [0, 2^27].

    Returns
    -------
    float64 (2 support + 1,), P(d) for d = -support..support, symmetric, with sum 1.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    support = _checks.integer("support", support, most=_LARGEST_SUPPORT)
    weights = np.exp(-_checks.positive("epsilon", epsilon) * np.abs(np.arange(-support, support + 1)))
    return weights / weights.sum()


def cumulative(epsilon, support):
    """Return the cumulative probabilities of the noise.

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
    """Draw independent values of the noise.

    Parameters
    ----------
    size : number of draws >= 0.
    epsilon : > 0, per unit of change.
    support : integer >= 0; the noise is between -support and support.
    rng : numpy Generator; one uniform per draw.
    least : int64 (size,) or None. Each draw is conditional on being at least this large.

    Returns
    -------
    int64 (size,).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, e.g. an entry of `least` exceeds `support`, so that no value is possible.
    """
    size, support = _checks.integer("size", size), _checks.integer("support", support)
    _checks.generator(rng)
    bounds = np.full(size, -support, dtype=np.int64) if least is None else _checks.int64s("least", least)
    if bounds.shape != (size,) or (size and bounds.max() > support):
        raise ValueError(f"least must contain {size} integers <= the support ({support}), got {least!r}")
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


cdef void c_trailing(const double *like, Py_ssize_t step, int64_t m, const double *power, int64_t reach, double *start,
                     double *rest, double *out, Py_ssize_t out_step) noexcept nogil:
    """Compute out[j] += sum_{d = 0..reach} a^d like[j + reach - d] for j = 0..m - 2 reach - 1, in steps of +-1.

    In blocks of reach + 1 entries, a window is the end of one block (`rest`) and the start of the next (`start`).
    """
    cdef int64_t i, j, first, last, end, block = reach + 1, wanted = m - 2 * reach
    cdef double a = power[1], running
    # start[j] = sum_{i <= j} a^(j - i) like[i] and rest[j] = sum_{i >= j} a^(last - i) like[i], within the block of j
    for i in range((m + reach) // block):
        first = i * block
        last = min(first + block, m) - 1
        running = 0.0
        for j in range(first, last + 1):
            running = like[j * step] + a * running
            start[j] = running
        running = 0.0
        for j in range(last, first - 1, -1):
            running = like[j * step] * power[last - j] + running
            rest[j] = running
    # the window j .. j + reach begins in one block and ends in the next, unless j is the first entry of its block
    for i in range((wanted + reach) // block):
        first = i * block
        end = min(first + block, wanted)
        out[first * out_step] += start[first + reach]
        for j in range(first + 1, end):
            out[j * out_step] += start[j + reach] + rest[j] * power[j - first]


cdef void smooth_fill(const double[:, ::1] like, const double[::1] power, int64_t reach, double[:, ::1] out,
                      double[::1] start, double[::1] rest) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef int64_t m = like.shape[1], width = out.shape[1]
    for i in range(like.shape[0]):
        c_trailing(&like[i, 0], 1, m, &power[0], reach, &start[0], &rest[0], &out[i, 0], 1)
        c_trailing(&like[i, m - 1], -1, m, &power[0], reach, &start[0], &rest[0], &out[i, width - 1], -1)
        for j in range(width):
            out[i, j] -= like[i, j + reach]  # d = 0 was counted twice


def smooth(likelihood, *, epsilon, reach):
    """Return sum_{|d| <= reach} exp(-epsilon |d|) L(N + d) for every row of L.

    Parameters
    ----------
    likelihood : float64 (n, W + 2 reach), finite, non-negative: the first entry is L at N - reach for the first N.
    epsilon : > 0.
    reach : integer >= 0, half-width of the noise.

    Returns
    -------
    float64 (n, W). The relative error is a few 1e-16; the cost is O(1) per value, for any half-width.

    Raises
    ------
    ValueError, TypeError
        If a shape or a value is invalid.
    """
    like = _arrays.floats("likelihood", likelihood, ndim=2)
    rate, edge = _checks.positive("epsilon", epsilon), _checks.integer("reach", reach, most=10**8)
    if like.shape[1] < 2 * edge + 1:
        raise ValueError(f"likelihood must have more than 2 * reach = {2 * edge} columns, got shape {like.shape}")
    if like.size and not (like.min() >= 0 and np.isfinite(like.max())):
        raise ValueError("likelihood must contain only finite numbers >= 0")
    out = np.zeros((like.shape[0], like.shape[1] - 2 * edge))
    if not out.size:
        return out
    cdef const double[:, ::1] like_view = like
    cdef const double[::1] power = np.exp(-rate * np.arange(edge + 2))
    cdef double[:, ::1] view = out
    cdef double[::1] start = np.empty(like.shape[1]), rest = np.empty(like.shape[1])
    cdef int64_t size = edge
    with nogil:
        smooth_fill(like_view, power, size, view, start, rest)
    return out


cdef inline double c_box(int64_t first, int64_t last, int64_t reach, const double *power,
                         const double *series) noexcept nogil:
    """Return the sum of a^|d| over d = first..last within +-reach; series[m] = 1 + a + .. + a^(m - 1)."""
    # restrict the range to +-reach, then sum a geometric series on each side of d = 0
    if first < -reach:
        first = -reach
    if last > reach:
        last = reach
    if first > last:
        return 0.0
    if first >= 0:
        return power[first] * series[last - first + 1]
    if last <= 0:
        return power[-last] * series[last - first + 1]
    return series[last + 1] + (series[1 - first] - 1.0)


cdef void boxes_fill(const int64_t[::1] lower, const int64_t[::1] upper, const int64_t[::1] kind,
                     const int64_t[::1] low, const int64_t[::1] width, const double[:, ::1] rise, int64_t reach,
                     const double[::1] power, const double[::1] series, double[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t x, n, u
    for i in range(out.shape[0]):
        u = kind[i]
        for x in range(width[u]):
            n = low[u] + x  # N of this column; the ends of the interval are converted to distances from N
            out[i, x] = rise[u, x] * c_box(lower[i] - n, upper[i] - n, reach, &power[0], &series[0])
        for x in range(width[u], out.shape[1]):
            out[i, x] = 0.0


@lru_cache(maxsize=1)
def _series(rate, reach):
    """Return the powers a^d of a = exp(-rate), float64 (reach + 2,), and the sums 1 + a + .. + a^(m - 1), float64 (2
    reach + 2,). The most recent result is cached.
    """
    return np.exp(-rate * np.arange(reach + 2)), np.expm1(-rate * np.arange(2 * reach + 2)) / np.expm1(-rate)


def boxes(lower, upper, kind, *, low, width, rise, epsilon, reach, length):
    """Return rise(x) sum_{n = lower..upper, |n - N| <= reach} exp(-epsilon |n - N|) at N = low + x, per interval.

    Parameters
    ----------
    lower, upper : int64 (n,), ends of the intervals within +-LARGEST = 2^40; an end at +-LARGEST denotes an unbounded
        side. The interval is empty if lower > upper.
    kind : int64 (n,), the row of `rise`, `low` and `width` that each interval uses.
    low : int64 (U,), N of the first column, within +-LARGEST.
    width : int64 (U,), number of columns used, 0..length.
    rise : float64 (U, at least the largest width), finite factors.
    epsilon : > 0.
    reach : integer >= 0, at most 10^8, half-width of the noise.
    length : number of columns of the result; columns from `width` on are 0.

    Returns
    -------
    float64 (n, length).

    Raises
    ------
    ValueError, TypeError
        If a shape, an index or a value is invalid.
    """
    rate, edge = _checks.positive("epsilon", epsilon), _checks.integer("reach", reach, most=10**8)
    size = _checks.integer("length", length)
    starts = _arrays.integers("low", low, least=-LARGEST, most=LARGEST)
    widths = _arrays.integers("width", width, shape=starts.shape, least=0, most=size)
    kinds = _arrays.integers("kind", kind, least=0, most=len(starts) - 1)
    firsts = _arrays.integers("lower", lower, shape=kinds.shape, least=-LARGEST, most=LARGEST)
    lasts = _arrays.integers("upper", upper, shape=kinds.shape, least=-LARGEST, most=LARGEST)
    factors = _arrays.floats("rise", rise, ndim=2)
    if factors.shape[0] != len(starts) or factors.shape[1] < widths.max(initial=0):
        raise ValueError(f"rise must have one row per kind and one column per value, got shape {factors.shape}")
    out = np.empty((len(kinds), size))
    if not out.size:
        return out
    powers, sums = _series(rate, edge)
    cdef const int64_t[::1] lower_view = firsts, upper_view = lasts, kind_view = kinds, low_view = starts
    cdef const int64_t[::1] width_view = widths
    cdef const double[:, ::1] rise_view = factors
    cdef const double[::1] power = powers, series = sums
    cdef double[:, ::1] view = out
    cdef int64_t most = edge
    with nogil:
        boxes_fill(lower_view, upper_view, kind_view, low_view, width_view, rise_view, most, power, series, view)
    return out
