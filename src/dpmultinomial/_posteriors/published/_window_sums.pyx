# cython: language_level=3, cdivision=True, wraparound=False
"""Sums, moments and central intervals of many distributions of counts, each on a separate window of integers.

A row is read once to find its largest entry and once to compute its weights. A result depends only on its row, so it is
bit-identical whatever other rows are computed in the same call.
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, log, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from ... import _arrays, _checks

cdef double TIE = 1e-12  # relative tolerance of the tail probability, for ties between sums of rounded numbers


cdef void c_row(const double *logs, int64_t width, double tail, double *weights, double *out) noexcept nogil:
    """Compute the log of the sum of the weights, and the mean, standard deviation and central interval of the
    distribution, measured from the first entry. Results are NaN if all weights are 0.
    """
    cdef int64_t j
    cdef double top = -INFINITY, total = 0.0, mean = 0.0, square = 0.0, running, gap
    # the largest entry; all weights are divided by its weight
    for j in range(width):
        if logs[j] > top:
            top = logs[j]
    out[0] = top
    if top == -INFINITY:
        for j in range(1, 5):
            out[j] = NAN
        return
    # sum, mean and variance
    for j in range(width):
        weights[j] = exp(logs[j] - top)
        total += weights[j]
        mean += j * weights[j]
    mean /= total
    for j in range(width):
        gap = j - mean
        square += gap * gap * weights[j]
    out[0] = top + log(total)
    out[1] = mean
    out[2] = sqrt(square / total)
    # the smallest n with P(N <= n) >= tail
    running = weights[0]
    j = 0
    while running < tail * (1 - TIE) * total and j < width - 1:
        j += 1
        running += weights[j]
    out[3] = j
    # the largest n with P(N >= n) > tail
    running = weights[width - 1]
    j = width - 1
    while running <= tail * (1 + TIE) * total and j > 0:
        j -= 1
        running += weights[j]
    out[4] = j


cdef void summaries_fill(const double[:, ::1] logs, const int64_t[::1] widths, double tail, double *weights,
                         double[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(logs.shape[0]):
        c_row(&logs[i, 0], widths[i], tail, weights, &out[i, 0])


def summaries(log_weights, widths, *, level):
    """Return the log of the sum, the mean, the standard deviation and the central interval of every row of weights.

    Parameters
    ----------
    log_weights : float64 (rows, width), logs of the weights of consecutive integers; -inf for weight 0.
    widths : int64 (rows,), the number of entries used in each row, 1..width.
    level : probability of the interval, in (0, 1).

    Returns
    -------
    float64 (rows, 5)
        log of the sum of the weights; mean, sd, lower and upper end, measured from the first integer, NaN if all
        weights of the row are 0.

    Raises
    ------
    ValueError, TypeError
        If a shape, a type or the level is invalid, or an entry is NaN.
    """
    logs = _arrays.floats("log_weights", log_weights, ndim=2)
    sizes = _arrays.integers("widths", widths, shape=(len(logs),), least=1, most=logs.shape[1])
    cdef double tail = (1 - _checks.inside("level", level)) / 2
    out = np.empty((len(logs), 5))
    cdef const double[:, ::1] logs_view = logs
    cdef const int64_t[::1] sizes_view = sizes
    cdef double[:, ::1] out_view = out
    cdef double *weights = <double *> malloc(max(logs.shape[1], 1) * sizeof(double))
    if weights == NULL:
        raise MemoryError(f"a window of {logs.shape[1]} counts does not fit into memory: set tighter bounds on the "
                          "counts")
    with nogil:
        summaries_fill(logs_view, sizes_view, tail, weights, out_view)
    free(weights)
    return out
