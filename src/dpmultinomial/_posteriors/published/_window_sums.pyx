# cython: language_level=3, cdivision=True, wraparound=False
"""Sums, moments and central intervals of many distributions of counts, each on a separate window of integers, and of
the rates of these counts.

A row is read once to find its largest entry and once to compute its weights. A result depends only on its row, so it is
bit-identical whatever other rows are computed in the same call.

Rates: given a total T, a rate is a mixture of the distributions Beta(a_s, b_s) with a_s = alpha + s and b_s = beta + T
- s over the counts s = first..last, with weights w_s. By the recurrence I_x(a, b) = I_x(a + 1, b - 1) + x^a (1 - x)^(b
- 1)/(a B(a, b)), its distribution function is

    F(x) = sum_s W_s t_s + I_x(a_last, b_last),  t_s = x^a_s (1 - x)^(b_s - 1)/(a_s B(a_s, b_s)),  s = first..last - 1

with W_s = w_first + .. + w_s, and its density is sum_s w_s t_s a_s/x, where the sum includes the last count. The terms
t_s increase up to the largest and then decrease, and t_(s + 1)/t_s = x/(1 - x) (b_s - 1)/(a_s + 1). They are summed
from the largest outwards until the rest is negligible.
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, fabs, floor, fmax, fmin, log, log1p, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from scipy.special.cython_special cimport betainc

from ..._kernels.log_probabilities cimport c_log_complete, c_log_stirling
from ... import _arrays, _checks

cdef double NEGLIGIBLE = 1e-18  # part of a sum that is neglected
cdef double FURTHEST = 740.0  # largest absolute log odds of a rate
cdef int MOST_STEPS = 200  # largest number of steps of the search for a quantile
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


cdef struct Rate:  # posterior distribution of one rate
    double a  # alpha plus the first count
    double b  # beta plus the total minus the count at position `width` - 1, which can be small
    int64_t width
    int64_t last  # position of the last count with a non-negligible weight
    const double *weights  # normalised weights of the counts
    const double *below  # cumulative weights


cdef double c_below(const Rate *rate, double odds, double *slope) noexcept nogil:
    """Return the distribution function of a rate at the log odds `odds`. Set `slope` to its derivative with respect to
    the log odds.
    """
    cdef double ratio = exp(odds), x = 1 / (1 + exp(-odds)), rest = 1 / (1 + ratio)
    cdef double a, b, n, term, top, step, total = 0.0, density = 0.0
    cdef int64_t j, middle
    # position of the largest term
    n = rate.a + (rate.width - 1) + rate.b
    middle = <int64_t> fmax(0.0, fmin(<double> rate.last, floor(x * n - rate.a)))
    a, b = rate.a + middle, rate.b + (rate.width - 1 - middle)
    top = c_log_stirling(n) - c_log_complete(a, n * x) - c_log_complete(b, n * rest)
    top = exp(top + log1p(ratio)) / a
    # upwards, to the last count: its incomplete beta function is the sum of all further terms
    term, j = top, middle
    while True:
        density += rate.weights[j] * term * a
        if j == rate.last:
            total += betainc(a, b, x)
            break
        total += rate.below[j] * term
        # ratio of consecutive terms t_s a_s; the ratio of consecutive t_s is smaller
        step = ratio * (b - 1) / a
        if step < 1 and term * step <= NEGLIGIBLE * (1 - step) * fmin(total, density / a):
            break
        term *= step * a / (a + 1)
        j += 1
        a += 1
        b = rate.b + (rate.width - 1 - j)
    # downwards, to the first count
    term, j, a, b = top, middle, rate.a + middle, rate.b + (rate.width - 1 - middle)
    while j > 0:
        step = a / (ratio * b)
        if step < 1 and rate.below[j] * term * step <= NEGLIGIBLE * (1 - step) * fmin(total, density / a):
            break
        term *= step
        j -= 1
        a -= 1
        b += 1
        total += rate.below[j] * term
        density += rate.weights[j] * term * a
    slope[0] = density * rest
    return fmin(total, 1.0)


cdef double c_quantile(const Rate *rate, double level, double start) noexcept nogil:
    """Return the log odds of a quantile of a rate, by Newton's method within a bracket. The method is applied to the
    log of the lower tail probability, or of the upper tail probability if the level is larger than 1/2.
    """
    cdef double low = -FURTHEST, high = FURTHEST, odds = fmax(low, fmin(start, high)), last = INFINITY
    cdef double value, slope, step, new
    cdef int i
    for i in range(MOST_STEPS):
        value = c_below(rate, odds, &slope)
        if value < level:
            low = odds
        else:
            high = odds
        if level <= 0.5:
            step = log(value / level) * value / slope
        else:
            step = -log((1 - value) / (1 - level)) * (1 - value) / slope
        new = odds - step
        if not low <= new <= high:  # also if the step is not a number
            new = (low + high) / 2
        step = fabs(new - odds)
        odds = new
        if step <= 1e-15 * fmax(1.0, fabs(odds)) or (step < 1e-10 and step >= last / 2):
            break
        last = step
    return odds


cdef Rate c_rate(const double *weights, int64_t width, double a, double b, double *below) noexcept nogil:
    """Return the distribution of a rate, and write the cumulative weights of the counts to `below`."""
    cdef Rate rate
    cdef double running = 0.0
    cdef int64_t j
    rate.a, rate.b, rate.width, rate.weights, rate.below, rate.last = a, b, width, weights, below, 0
    for j in range(width):
        running += weights[j]
        below[j] = running
        if weights[j] > NEGLIGIBLE:
            rate.last = j
    return rate


cdef void c_rate_summary(const Rate *rate, int64_t width, double level, double score, double *out) noexcept nogil:
    """Compute the mean, the standard deviation and the central interval of one rate."""
    cdef double n = rate.a + (width - 1) + rate.b, mean = 0.0, within = 0.0, between = 0.0, part, odds, sd
    cdef int64_t j
    for j in range(width):
        part = (rate.a + j) / n
        mean += rate.weights[j] * part
        within += rate.weights[j] * part * (1 - part)
    for j in range(width):
        part = (rate.a + j) / n - mean
        between += rate.weights[j] * part * part
    sd = sqrt(within / (n + 1) + between)
    odds = log(mean) - log1p(-mean)
    out[0], out[1] = mean, sd
    sd *= score / (mean * (1 - mean))
    out[2] = 1 / (1 + exp(-c_quantile(rate, (1 - level) / 2, odds - sd)))
    out[3] = 1 / (1 + exp(-c_quantile(rate, (1 + level) / 2, odds + sd)))


cdef void rates_fill(const double[:, ::1] weights, const int64_t[::1] widths, const double[::1] a, const double[::1] b,
                     double level, double score, double *below, double[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t i
    cdef Rate rate
    for i in range(weights.shape[0]):
        rate = c_rate(&weights[i, 0], widths[i], a[i], b[i], below)
        c_rate_summary(&rate, widths[i], level, score, &out[i, 0])


def rate_summaries(weights, widths, a, b, *, level, score):
    """Return the mean, the standard deviation and the central interval of every rate, given a public total.

    Parameters
    ----------
    weights : float64 (rows, width), probabilities of consecutive counts.
    widths : int64 (rows,), the number of entries used in each row, 1..width.
    a : float64 (rows,), > 0, alpha plus the first count of the row.
    b : float64 (rows,), > 0, beta plus the total minus the last count of the row.
    level : probability of the interval, in (0, 1).
    score : quantile of the standard normal distribution at (1 + level)/2, from which the search starts.

    Returns
    -------
    float64 (rows, 4)
        Mean, sd, lower and upper end.

    Raises
    ------
    ValueError, TypeError
        If a shape, a type or the level is invalid, or an entry is NaN.
    """
    rows = _arrays.floats("weights", weights, ndim=2)
    sizes = _arrays.integers("widths", widths, shape=(len(rows),), least=1, most=rows.shape[1])
    first, second = (_arrays.floats(*part, ndim=1, shape=(len(rows),)) for part in (("a", a), ("b", b)))
    if not (first > 0).all() or not (second > 0).all():
        raise ValueError("a and b must be > 0 for all rows")
    cdef double probability = _checks.inside("level", level), standard = score
    out, below = np.empty((len(rows), 4)), np.empty(max(rows.shape[1], 1))
    cdef const double[:, ::1] rows_view = rows
    cdef const int64_t[::1] sizes_view = sizes
    cdef const double[::1] a_view = first, b_view = second
    cdef double[:, ::1] out_view = out
    cdef double[::1] below_view = below
    with nogil:
        rates_fill(rows_view, sizes_view, a_view, b_view, probability, standard, &below_view[0], out_view)
    return out


def rate_cdf(weights, double a, double b, double odds):
    """Return the probability that a rate has log odds of at most `odds`, given a public total, and its derivative with
    respect to the log odds.

    Parameters
    ----------
    weights : float64 (width,), probabilities of consecutive counts.
    a : alpha plus the first count, > 0.
    b : beta plus the total minus the last count, > 0.
    odds : log odds.

    Returns
    -------
    (probability, derivative)

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    row = _arrays.floats("weights", _usable(weights, a, b), ndim=1)
    below = np.empty(len(row))
    cdef const double[::1] row_view = row
    cdef double[::1] below_view = below
    cdef Rate rate = c_rate(&row_view[0], len(row), a, b, &below_view[0])
    cdef double slope = 0.0
    cdef double value = c_below(&rate, odds, &slope)
    return value, slope


def rate_quantile(weights, double a, double b, double level, double start):
    """Return the log odds of a quantile of a rate, given a public total.

    Parameters
    ----------
    weights, a, b : arguments of `rate_cdf`.
    level : probability below the quantile, in (0, 1).
    start : log odds from which the search begins.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    row = _arrays.floats("weights", _usable(weights, a, b), ndim=1)
    below = np.empty(len(row))
    cdef const double[::1] row_view = row
    cdef double[::1] below_view = below
    cdef Rate rate = c_rate(&row_view[0], len(row), a, b, &below_view[0])
    return c_quantile(&rate, level, start)


def _usable(weights, a, b):
    if not len(weights) or not a > 0 or not b > 0:
        raise ValueError("a and b must be > 0, and weights must not be empty")
    return weights
