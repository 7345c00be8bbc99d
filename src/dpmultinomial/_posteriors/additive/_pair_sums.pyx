# cython: language_level=3
"""Two true counts given noisy ones whose sum matters: geometric noise on both, added up over every sum, O(1) each.

Where n_1 + n_2 = V and N_1 + N_2 = T, the noise a^|n_1 - N_1| a^|n_2 - N_2| of a pair depends on n_1 and two points
only, N_1 and m = N_1 + V - T: it is a^|V - T| between them and falls by a^2 a step beyond. So the sum over n_1 is a
difference of running sums between the points and a recursion on either side. The running sums start from the far side
of the largest likelihood, so that differences keep their digits down both tails.
"""
import numpy as np

from libc.stdint cimport int64_t

from ... import _arrays, _checks

cdef enum:
    TOGETHER = 16  # sums of noisy counts worked on at once: their running sums stay in the cache


cdef int64_t c_diagonal(const double[:, ::1] like, int64_t s, double *line) noexcept nogil:
    """Copy the likelihood of n_1 along n_1 + n_2 = s; place of the largest."""
    cdef int64_t p, rows = like.shape[0], columns = like.shape[1], top = 0
    for p in range(rows):
        line[p] = like[p, s - p] if 0 <= s - p < columns else 0.0
        if line[p] > line[top]:
            top = p
    return top


cdef void c_running(const double *line, int64_t size, int64_t pad, double square, double[:, ::1] sums) noexcept nogil:
    """Rows 0, 1: what the lower and the upper point add, sums from the left; rows 2, 3: from the right.

    Rows 0 and 1 below the grid and 2 and 3 above it are 0 from the start and stay so.
    """
    cdef int64_t p
    cdef double beyond = 0.0, total = 0.0
    for p in range(size):
        sums[0, pad + p] = beyond - total
        sums[2, pad + p] = beyond
        beyond = square * (beyond + line[p])
        total += line[p]
        sums[1, pad + p] = total
    for p in range(pad):
        sums[0, pad + size + p] = -total
        sums[1, pad + size + p] = total
    beyond = total = 0.0
    for p in range(size - 1, -1, -1):
        sums[1, pad + p] += beyond
        sums[3, pad + p] = beyond - total
        beyond = square * (beyond + line[p])
        total += line[p]
        sums[2, pad + p] += total
    for p in range(pad):
        sums[2, p] = total
        sums[3, p] = -total


cdef inline void c_add(double weight, const double *low, const double *high, int64_t first, int64_t last,
                       double *out) noexcept nogil:
    cdef int64_t i
    for i in range(first, last):
        out[i] += weight * (low[i] + high[i])


cdef void pairs_fill(const double[:, ::1] like, const double[:, ::1] weights, int64_t shift, int64_t reach,
                     double square, int64_t pad, double[:, :, ::1] sums, double[::1] line, int64_t[::1] splits,
                     double[:, ::1] rows) noexcept nogil:
    """rows[t, i] = sum over V for N_1 = low_1 + i, N_1 + N_2 = low_1 + low_2 + t; some V at a time, a row for all of
    them."""
    cdef int64_t b, c, t, s, start, first, last, split, up, down, centre = pad + reach, count = weights.shape[1]
    cdef int64_t wide = like.shape[0] - 2 * reach, high = like.shape[1] - 2 * reach
    cdef double weight
    for c in range((count + TOGETHER - 1) // TOGETHER):
        start = c * TOGETHER
        for b in range(min(TOGETHER, count - start)):
            s = start + b + shift
            splits[b] = -1
            if s < like.shape[0] + like.shape[1] - 1:
                splits[b] = c_diagonal(like, s, &line[0])
                c_running(&line[0], like.shape[0], pad, square, sums[b])
        for t in range(weights.shape[0]):
            first = t - high + 1 if t >= high else 0
            last = t + 1 if t < wide else wide
            for b in range(min(TOGETHER, count - start)):
                weight = weights[t, start + b]
                if weight == 0.0 or splits[b] < 0:
                    continue
                split = splits[b] - reach + 1
                up = start + b + shift - 2 * reach - t  # V - T
                down = up if up < 0 else 0
                up = up if up > 0 else 0
                c_add(weight, &sums[b, 0, centre + down], &sums[b, 1, centre + up], first, min(last, split),
                      &rows[t, 0])
                c_add(weight, &sums[b, 2, centre + down], &sums[b, 3, centre + up], max(first, split), last,
                      &rows[t, 0])


def _farthest(weights, shift, reach):
    """Largest |V - T| of a positive weight."""
    seen = weights > 0
    columns = np.flatnonzero(seen.any(axis=0))
    if not len(columns):
        return 0
    first, last = seen[:, columns].argmax(axis=0), len(seen) - 1 - seen[::-1, columns].argmax(axis=0)
    away = columns + shift - 2 * reach
    return int(max(np.abs(away - first).max(), np.abs(away - last).max()))


def pairs(likelihood, weights, *, epsilon, reach, shift):
    """sum over V of w(T, V) sum over n_1 of exp(-epsilon |n_1 - N_1| - epsilon |V - n_1 - N_2| + epsilon |V - T|) L.

    Parameters
    ----------
    likelihood : float64 (A + 2 reach, B + 2 reach), finite, non-negative: L of noisy counts from `reach` below the
        first true ones on.
    weights : float64 (A + B - 1, K), finite, non-negative: of T = N_1 + N_2, from its least value on, and of
        V = n_1 + n_2; the factor exp(-epsilon |V - T|) of the noise is theirs.
    epsilon : > 0.
    reach : whole number >= 0, half-width by which the grid of noisy counts goes on; noise is not cut within it.
    shift : whole number >= 0, place of the weights' first V: V less the least sum of noisy counts.

    Returns
    -------
    float64 (A, B), non-negative. O(1) for each positive weight and N_1.

    Raises
    ------
    ValueError, TypeError
        If a shape or a value breaks its rule.
    """
    rate, edge = _checks.positive("epsilon", epsilon), _checks.whole("reach", reach, most=10**6)
    place = _checks.whole("shift", shift, most=10**8)
    like = _arrays.floats("likelihood", likelihood, ndim=2)
    wide, high = like.shape[0] - 2 * edge, like.shape[1] - 2 * edge
    if wide < 1 or high < 1:
        raise ValueError(f"likelihood must have more than 2 reach = {2 * edge} rows and columns, got {like.shape}")
    factors = _arrays.floats("weights", weights, ndim=2)
    if factors.shape[0] != wide + high - 1:
        raise ValueError(f"weights must have {wide + high - 1} rows, one a total, got shape {factors.shape}")
    for name, array in (("likelihood", like), ("weights", factors)):
        if array.size and not (array.min() >= 0 and np.isfinite(array.max())):
            raise ValueError(f"{name} must be finite and >= 0")
    rows = np.zeros((wide + high - 1, wide))
    beyond = max(_farthest(factors, place, edge) - edge, 0)
    cdef const double[:, ::1] like_view = like, weights_view = factors
    cdef double[:, ::1] rows_view = rows
    cdef double[:, :, ::1] sums = np.zeros((TOGETHER, 4, like.shape[0] + 2 * beyond))
    cdef double[::1] line = np.zeros(like.shape[0])
    cdef int64_t[::1] splits = np.zeros(TOGETHER, dtype=np.int64)
    cdef double square = np.exp(-2 * rate)
    cdef int64_t shift_ = place, reach_ = edge, pad = beyond
    with nogil:
        pairs_fill(like_view, weights_view, shift_, reach_, square, pad, sums, line, splits, rows_view)
    first = np.arange(wide)[:, None]
    return np.maximum(rows[first + np.arange(high), first], 0.0)
