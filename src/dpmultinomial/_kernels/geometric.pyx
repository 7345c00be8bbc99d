# cython: language_level=3
"""Two-sided geometric noise cut at +-support: P(d) = a^|d| / Z on -support..support, a = exp(-epsilon).

Wang (2020), section 2.1, the distribution of his equations (1) to (5). One uniform per draw, inverted through the
cumulative probabilities; values whose probability is below 2^-53 come no more often than a double can say.

The weights a^|d|, |d| <= reach, are also summed over windows and intervals in closed form. `smooth` turns a likelihood
of noisy counts into one of true counts. `boxes` does so for the indicator of an interval of noisy counts,
sum_{n = lower..upper} a^|n - N|, by geometric series on either side of N. Both add positive terms only, so every result
keeps full relative accuracy, and both cost O(1) a value whatever the half-width.
"""
import numpy as np

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from .bitgen cimport c_bitgen, c_uniform
from .geometric cimport c_noise_from

from .. import _arrays, _checks

_LARGEST_SUPPORT = 1 << 27
LARGEST = 1 << 40  # ends of an interval beyond +-LARGEST stand for no end


def probabilities(epsilon, support):
    """Probabilities of the noise.

    Parameters
    ----------
    epsilon : > 0, per unit of change.
    support : integer in [0, 2^27].

    Returns
    -------
    float64 (2 support + 1,), P(d) for d = -support..support, symmetric, adding up to 1.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    support = _checks.integer("support", support, most=_LARGEST_SUPPORT)
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
    support : integer >= 0; the noise stays within +-support.
    rng : numpy Generator; one uniform per draw.
    least : int64 (size,) or None. Each draw is conditioned on being at least that large.

    Returns
    -------
    int64 (size,).

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, e.g. an entry of `least` exceeds `support`, so that no value is left.
    """
    size, support = _checks.integer("size", size), _checks.integer("support", support)
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


cdef void c_trailing(const double *like, Py_ssize_t step, int64_t m, const double *power, int64_t reach, double *start,
                     double *rest, double *out, Py_ssize_t out_step) noexcept nogil:
    """out[j] += sum_{d = 0..reach} a^d like[j + reach - d] for j = 0..m - 2 reach - 1; steps of +-1.

    In blocks of reach + 1 entries a window is the end of one block (`rest`) and the start of the next (`start`).
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
    # the window j .. j + reach begins in one block and ends in the next, unless j is the first of its block
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
    """sum_{|d| <= reach} exp(-epsilon |d|) L(N + d) for every row of L.

    Parameters
    ----------
    likelihood : float64 (n, W + 2 reach), finite, non-negative: L at N - reach for the first N, and so on.
    epsilon : > 0.
    reach : integer >= 0, half-width of the noise.

    Returns
    -------
    float64 (n, W). Relative error a few 1e-16; O(1) a value, whatever the half-width.

    Raises
    ------
    ValueError, TypeError
        If a shape or a value breaks its rule.
    """
    like = _arrays.floats("likelihood", likelihood, ndim=2)
    rate, edge = _checks.positive("epsilon", epsilon), _checks.integer("reach", reach, most=10**8)
    if like.shape[1] < 2 * edge + 1:
        raise ValueError(f"likelihood must have more than 2 reach = {2 * edge} columns, got shape {like.shape}")
    if like.size and not (like.min() >= 0 and np.isfinite(like.max())):
        raise ValueError("likelihood must be finite and >= 0")
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
    """sum of a^|d| over d = first..last within +-reach; series[m] = 1 + a + .. + a^(m - 1)."""
    # the part within +-reach, then a geometric series on either side of d = 0
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
            n = low[u] + x  # N of this column: the interval's ends become distances from it
            out[i, x] = rise[u, x] * c_box(lower[i] - n, upper[i] - n, reach, &power[0], &series[0])
        for x in range(width[u], out.shape[1]):
            out[i, x] = 0.0


def boxes(lower, upper, kind, *, low, width, rise, epsilon, reach, length):
    """rise(x) sum_{n = lower..upper, |n - N| <= reach} exp(-epsilon |n - N|) at N = low + x, one row an interval.

    Parameters
    ----------
    lower, upper : int64 (n,), ends of the intervals within +-LARGEST = 2^40, which stand for no end; empty where
        lower > upper.
    kind : int64 (n,), which row of `rise`, `low` and `width` an interval uses.
    low : int64 (U,), N of the first column, within +-LARGEST.
    width : int64 (U,), columns used, 0..length.
    rise : float64 (U, at least the largest width), finite factors.
    epsilon : > 0.
    reach : integer >= 0, at most 10^8, half-width of the noise.
    length : columns of the result; those from `width` on are 0.

    Returns
    -------
    float64 (n, length).

    Raises
    ------
    ValueError, TypeError
        If a shape, an index or a value breaks its rule.
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
        raise ValueError(f"rise must have one row a kind and a column for every value, got shape {factors.shape}")
    out = np.empty((len(kinds), size))
    if not out.size:
        return out
    powers = np.exp(-rate * np.arange(edge + 2))
    sums = np.expm1(-rate * np.arange(2 * edge + 2)) / np.expm1(-rate)
    cdef const int64_t[::1] lower_view = firsts, upper_view = lasts, kind_view = kinds, low_view = starts
    cdef const int64_t[::1] width_view = widths
    cdef const double[:, ::1] rise_view = factors
    cdef const double[::1] power = powers, series = sums
    cdef double[:, ::1] view = out
    cdef int64_t most = edge
    with nogil:
        boxes_fill(lower_view, upper_view, kind_view, low_view, width_view, rise_view, most, power, series, view)
    return out
