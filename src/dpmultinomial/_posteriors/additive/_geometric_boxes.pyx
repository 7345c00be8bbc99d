# cython: language_level=3
"""Two-sided geometric weights a^|d|, |d| <= reach, a = exp(-epsilon), summed over windows and intervals in closed form.

`smooth` turns a likelihood of noisy counts into one of true counts. `boxes` does so for the indicator of an interval of
noisy counts, sum_{n = lower..upper} a^|n - N|, by geometric series on either side of N. Both add positive terms only,
so every result keeps full relative accuracy, and both cost O(1) a value whatever the half-width.
"""
import numpy as np

from libc.stdint cimport int64_t

from ... import _arrays, _checks

LARGEST = 1 << 40  # ends beyond +-LARGEST stand for no end


cdef void c_trailing(const double *like, Py_ssize_t step, int64_t m, const double *power, int64_t reach, double *start,
                     double *rest, double *out, Py_ssize_t out_step) noexcept nogil:
    """out[j] += sum_{d = 0..reach} a^d like[j + reach - d] for j = 0..m - 2 reach - 1; steps of +-1.

    In blocks of reach + 1 entries a window is the end of one block (`rest`) and the start of the next (`start`).
    """
    cdef int64_t i, j, first, last, end, block = reach + 1, wanted = m - 2 * reach
    cdef double a = power[1], running
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
    reach : whole number >= 0, half-width of the noise.

    Returns
    -------
    float64 (n, W). Relative error a few 1e-16; O(1) a value, whatever the half-width.

    Raises
    ------
    ValueError, TypeError
        If a shape or a value breaks its rule.
    """
    like = _arrays.floats("likelihood", likelihood, ndim=2)
    rate, edge = _checks.positive("epsilon", epsilon), _checks.whole("reach", reach, most=10**8)
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
            n = low[u] + x
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
    reach : whole number >= 0, at most 10^8, half-width of the noise.
    length : columns of the result; those from `width` on are 0.

    Returns
    -------
    float64 (n, length).

    Raises
    ------
    ValueError, TypeError
        If a shape, an index or a value breaks its rule.
    """
    rate, edge = _checks.positive("epsilon", epsilon), _checks.whole("reach", reach, most=10**8)
    size = _checks.whole("length", length)
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
