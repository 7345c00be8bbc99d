# cython: language_level=3
"""Means, standard deviations and central intervals of many mixtures of Beta laws, each over consecutive counts.

Component j of a mixture is Beta(first + j, whole - first - j), which is the law of a share given counts with a known
total: all components have the same sum of parameters, so the law's function is one pass of ratios an evaluation.
"""
import numpy as np
from scipy.special import ndtri as _normal_quantile

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from ._noisy_tables cimport Mixture, c_place, c_quantile

from ... import _checks

cdef double NOTHING = 5e-18  # mass of a tail that is neglected


cdef void c_interval(const double *given, int64_t size, double first, double whole, double level, double normal,
                     double *room, double *out) noexcept nogil:
    """Mean, sd, lower and upper of one mixture; workspace of 2 size numbers."""
    cdef double norm = 0.0, mean = 0.0, variance = 0.0, running = 0.0, mu
    cdef int64_t j, low = 0, high = size - 1
    cdef Mixture m
    for j in range(size):
        norm += given[j]
        mean += given[j] * j
    mean /= norm
    for j in range(size):
        room[j] = given[j] / norm
        variance += room[j] * (j - mean) * (j - mean)
    while running + room[low] < NOTHING:
        running += room[low]
        low += 1
    running = 0.0
    while running + room[high] < NOTHING:
        running += room[high]
        high -= 1
    running = 0.0
    for j in range(low, high + 1):
        running += room[j]
        room[size + j] = running
    mu = (first + mean) / whole
    out[0] = mu
    out[1] = sqrt((mu * (1.0 - mu) - variance / (whole * whole)) / (whole + 1.0) + variance / (whole * whole))
    m.weights, m.cumulative, m.size = &room[low], &room[size + low], high - low + 1
    m.first, m.whole = first + low, whole
    c_place(&m, <int64_t> (mu * whole - m.first))
    out[2] = c_quantile(&m, 0.5 * (1.0 - level), -normal, mu, out[1])
    out[3] = c_quantile(&m, 0.5 * (1.0 + level), normal, mu, out[1])


cdef int intervals_fill(const double[::1] weights, const int64_t[::1] starts, const double[::1] firsts,
                        const double[::1] wholes, double level, double normal, double[:, ::1] out) noexcept nogil:
    cdef int64_t i, size, longest = 1
    cdef double *room
    for i in range(firsts.shape[0]):
        longest = max(longest, starts[i + 1] - starts[i])
    room = <double *> malloc(2 * longest * sizeof(double))
    if room == NULL:
        return -1
    for i in range(firsts.shape[0]):
        size = starts[i + 1] - starts[i]
        c_interval(&weights[starts[i]], size, firsts[i], wholes[i], level, normal, room, &out[i, 0])
    free(room)
    return 0


def intervals(weights, *, starts, firsts, wholes, level=0.95):
    """Mean, sd, lower and upper end of the central interval of every mixture.

    Parameters
    ----------
    weights : float64 (n,), >= 0, of the components, one mixture after another; scaled to 1 within each.
    starts : int64 (m + 1,), rising from 0 to n by at least 1: mixture i has weights[starts[i] : starts[i + 1]].
    firsts, wholes : float64 (m,): component j of mixture i is Beta(firsts[i] + j, wholes[i] - firsts[i] - j), both > 0.
    level : in (0, 1).

    Returns
    -------
    float64 (m, 4): relative errors below 1e-12.

    Raises
    ------
    ValueError, TypeError
        If a shape is wrong, a weight is negative or not finite, a mixture has no mass or a component no law.
    MemoryError
        If there is no memory for the longest mixture.
    """
    bounds = _checks.int64s("starts", starts)
    columns = [np.ascontiguousarray(values, dtype=np.float64) for values in (weights, firsts, wholes)]
    mass, first, whole = columns
    if len(bounds) != len(first) + 1 or first.shape != whole.shape or mass.shape != (bounds[len(bounds) - 1],):
        raise ValueError(f"starts, firsts, wholes and weights do not fit: {bounds.shape}, {first.shape}, {whole.shape}")
    if bounds[0] != 0 or (len(first) and np.diff(bounds).min() < 1):
        raise ValueError(f"starts must rise from 0 by at least 1, got {starts!r}")
    if not np.all(np.isfinite(mass) & (mass >= 0)):
        raise ValueError("weights must be finite and >= 0")
    if len(first) and not np.all(np.add.reduceat(mass, bounds[: len(first)]) > 0):
        raise ValueError("weights must have some mass in every mixture")
    if not np.all(np.isfinite(whole) & (first > 0) & (whole - first - np.diff(bounds) + 1 > 0)):
        raise ValueError("firsts must be > 0, and wholes larger than the last component's first parameter")
    cdef double share = _checks.inside("level", level), normal = _normal_quantile(0.5 + 0.5 * level)
    cdef const double[::1] weight_view = mass, first_view = first, whole_view = whole
    cdef const int64_t[::1] start_view = bounds
    values = np.empty((len(first), 4))
    cdef double[:, ::1] out = values
    cdef int failed
    with nogil:
        failed = intervals_fill(weight_view, start_view, first_view, whole_view, share, normal, out)
    if failed:
        raise MemoryError("no room for the longest mixture")
    return values
