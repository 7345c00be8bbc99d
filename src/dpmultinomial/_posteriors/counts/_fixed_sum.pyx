# cython: language_level=3
"""Independent counts conditioned on their sum: P(S = s) proportional to prod_i a_i(s_i) on s_1 + .. + s_k = M.

The posterior of the true counts given a noisy release has this form (methods of Balmat et al., 2018, in the
documentation), so its normaliser, its marginals and independent draws follow from convolutions of the a_i: O(k M^2)
in place of the C(M+k-1, k-1) compositions of the paper. All terms are positive, so every sum keeps full relative
accuracy. The a_i come in logs and tilted, a_i(s) exp(theta s): the common factor exp(theta M) cancels, and the tilt
keeps plain float64 from underflow.
"""
import numpy as np

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ._fixed_sum cimport c_convolve, c_suffix, c_tilt

from ... import _checks


class Tables:
    """Factors and suffix convolutions, as `prepare` makes them.

    Parameters
    ----------
    factors, suffix : float64 (k, M + 1), tilted.
    theta : the tilt.
    """

    __slots__ = ("factors", "suffix", "theta")

    def __init__(self, factors, suffix, theta):
        self.factors, self.suffix, self.theta = factors, suffix, theta


def tables(log_factors):
    """Tilt and convolve the factors once; everything else is read off the result.

    Parameters
    ----------
    log_factors : float64 (k, M + 1), log a_i(s) for s = 0..M up to a constant per row; -inf forbids a value. k >= 2.

    Returns
    -------
    Tables
        `factors` = a_i(s) exp(theta s) scaled to row maximum 1; `suffix[i, t]` = weight of counts i..k-1 adding up to t
        (for i = 0 only at t = M). Cost O(k M^2).

    Raises
    ------
    ValueError
        If fewer than two rows are given, if an entry is NaN or +inf, or if no composition has positive weight.
    """
    logs = _checked(log_factors)
    factors = np.empty_like(logs)
    suffix = np.zeros_like(logs)
    cdef const double[:, ::1] logs_view = logs
    cdef double[:, ::1] factors_view = factors, suffix_view = suffix
    cdef const double[::1] slopes = np.zeros(len(logs))
    cdef double theta
    with nogil:
        theta = c_tilt(logs_view, &slopes[0], 0.0, factors_view)
        c_suffix(factors_view, suffix_view)
    if not suffix[0, -1] > 0:
        raise ValueError(f"no composition of the total {logs.shape[1] - 1} has positive weight under these factors")
    return Tables(factors, suffix, theta)


def tilted(log_factors):
    """The factors alone, tilted and scaled as in `tables`; no convolution, so any total up to memory.

    Parameters
    ----------
    log_factors : as in `tables`.

    Returns
    -------
    factors : float64 (k, M + 1), a_i(s) exp(theta s) with row maximum 1.
    theta : float, the tilt.

    Raises
    ------
    ValueError
        As in `tables`, but for compositions without weight. Cost O(k M).
    """
    logs = _checked(log_factors)
    factors = np.empty_like(logs)
    cdef const double[:, ::1] logs_view = logs
    cdef double[:, ::1] factors_view = factors
    cdef const double[::1] slopes = np.zeros(len(logs))
    cdef double theta
    with nogil:
        theta = c_tilt(logs_view, &slopes[0], 0.0, factors_view)
    return factors, theta


def _checked(log_factors):
    if np.asarray(log_factors).dtype.kind not in "iuf":
        raise TypeError(f"log_factors must be real numbers, got {np.asarray(log_factors).dtype}")
    logs = np.ascontiguousarray(log_factors, dtype=np.float64)
    if logs.ndim != 2 or logs.shape[0] < 2 or logs.shape[1] < 1:
        raise ValueError(f"log_factors must have shape (k >= 2, total + 1), got {logs.shape}")
    if not np.all(logs < np.inf) or not np.all(logs.max(axis=1) > -np.inf):
        raise ValueError("log_factors must be below +inf, not NaN, and finite somewhere in every row")
    return logs


def convolve(a, b):
    """Convolution of two non-negative sequences of equal length n, cut at n: out[t] = sum_s a[s] b[t - s]."""
    cdef const double[::1] left = _checks.shaped("a", a, None)
    cdef const double[::1] right = _checks.shaped("b", b, None)
    if left.shape[0] != right.shape[0] or left.shape[0] == 0:
        raise ValueError(f"a and b must have the same positive length, got {left.shape[0]} and {right.shape[0]}")
    cdef double[::1] out = np.empty(left.shape[0])
    with nogil:
        c_convolve(&left[0], &right[0], &out[0], left.shape[0])
    return np.asarray(out)


cdef inline void c_guide(const double *cumulative, int64_t *guide, int64_t n) noexcept nogil:
    """guide[g]: smallest s whose cumulative weight exceeds the fraction g/n of the total, where a search may start."""
    cdef int64_t g, s = 0
    cdef double step = cumulative[n - 1] / n
    for g in range(n):
        while s < n - 1 and cumulative[s] <= g * step:
            s += 1
        guide[g] = s


cdef inline int64_t c_invert(const double *cumulative, const int64_t *guide, int64_t n, double u) noexcept nogil:
    """Smallest s with cumulative[s] > u cumulative[n - 1] (n - 1 if rounding leaves none), u in [0, 1)."""
    cdef double target = u * cumulative[n - 1]
    cdef int64_t s = guide[<int64_t> (u * n)]
    while s > 0 and cumulative[s - 1] > target:
        s -= 1
    while s < n - 1 and cumulative[s] <= target:
        s += 1
    return s


cdef inline void c_group(const int64_t *left, int64_t *first, int64_t *order, int64_t n, int64_t size) noexcept nogil:
    """Counting sort of the draws by their remainder; first[t] becomes the end of the draws with remainder t."""
    cdef int64_t t, j
    for t in range(n + 1):
        first[t] = 0
    for j in range(size):
        first[left[j] + 1] += 1
    for t in range(n):
        first[t + 1] += first[t]
    for j in range(size):
        t = left[j]
        order[first[t]] = j
        first[t] += 1


cdef void draw_fill(const double[:, ::1] factors, const double[:, ::1] suffix, int64_t[:, ::1] out,
                    double[::1] uniforms, double[::1] cumulative, int64_t[::1] guide, int64_t[::1] left,
                    int64_t[::1] first, int64_t[::1] order, bitgen_t *bits) noexcept nogil:
    """Category by category: draws with the same remainder share one row of cumulative weights."""
    cdef int64_t k = factors.shape[0], n = factors.shape[1], size = out.shape[0], i, j, r, s, t
    cdef double running
    for t in range(n):
        first[t] = 0
    first[n - 1] = size
    for j in range(size):  # all draws start with the whole total
        left[j] = n - 1
        order[j] = j
    for i in range(k - 1):
        for j in range(size):
            uniforms[j] = c_uniform(bits)
        if i > 0:
            c_group(&left[0], &first[0], &order[0], n, size)
        r = 0
        for t in range(n):
            if r == first[t]:
                continue
            running = 0.0
            for s in range(t + 1):
                running += factors[i, s] * suffix[i + 1, t - s]
                cumulative[s] = running
            c_guide(&cumulative[0], &guide[0], t + 1)
            while r < first[t]:
                j = order[r]
                s = c_invert(&cumulative[0], &guide[0], t + 1, uniforms[j])
                out[j, i] = s
                left[j] = t - s
                r += 1
    for j in range(size):
        out[j, k - 1] = left[j]


def draw(tables, size, *, rng):
    """Independent draws of the counts.

    Parameters
    ----------
    tables : Tables, from `tables`.
    size : number of draws >= 0.
    rng : numpy Generator; consumes (k - 1) * size uniforms, category by category.

    Returns
    -------
    int64 (size, k), each row adding up to M. Cost O(k M^2 + k size log M), memory O(k size + k M).
    """
    size = _checks.whole("size", size)
    _checks.generator(rng)
    cdef const double[:, ::1] factors = tables.factors, suffix = tables.suffix
    cdef int64_t n = factors.shape[1]
    if factors.shape[0] < 2 or n < 1 or suffix.shape[0] != factors.shape[0] or suffix.shape[1] != n:
        raise ValueError(
            f"tables must hold factors and suffix of one shape (k >= 2, total + 1), got {np.shape(tables.factors)} and "
            f"{np.shape(tables.suffix)}"
        )
    out = np.empty((size, factors.shape[0]), dtype=np.int64)
    if size == 0:
        return out
    cdef int64_t[:, ::1] view = out
    cdef double[::1] uniforms = np.empty(size), cumulative = np.empty(n)
    cdef int64_t[::1] left = np.empty(size, np.int64), order = np.empty(size, np.int64)
    cdef int64_t[::1] first = np.empty(n + 1, np.int64), guide = np.empty(n, np.int64)
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        draw_fill(factors, suffix, view, uniforms, cumulative, guide, left, first, order, bits)
    return out
