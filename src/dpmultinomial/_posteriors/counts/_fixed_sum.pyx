# cython: language_level=3
"""Distribution of independent counts conditional on their sum, for which P(S = s) is proportional to prod_i a_i(s_i) on
s_1 + .. + s_k = M.

The posterior of the true counts given a noisy release has this form (methods of Balmat et al., 2018, in the
documentation), so the normalising constant, the marginals and independent draws follow from convolutions of the a_i.
Their cost is O(k M^2), compared with the C(M+k-1, k-1) compositions of the paper. All terms are positive, so every sum
has full relative accuracy. The a_i are given as logs and are tilted, a_i(s) exp(theta s): the common factor exp(theta
M) cancels, and the tilt prevents underflow in float64.

Gibbs samplers for (p, S) given noisy multinomial counts are built on these convolutions: Balmat et al. (2018),
sections 5.1 and 6. One iteration draws S | p, noisy counts with probability proportional to M!/(s_1! .. s_k!)
prod_i p_i^s_i L_i(s_i) (equation 1; L_i is the noise density), then p | S ~ Dirichlet(alpha + S). Two methods give the
same distribution of the chain:

``table_chain``        the paper's method: one weight per composition, tabulated coefficients, one exp per row.
``convolution_chain``  the counts are independent given their sum, so k - 1 convolutions at a cost of O(k M^2) replace
the table.
"""
import numpy as np

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma

from ..._kernels.bitgen cimport c_bitgen, c_uniform

from ... import _checks

cdef double SAFE_LOG = 230.0  # the product of all powers is within 1e+-100: no relevant sum over- or underflows

cdef extern from "row_weights.h" nogil:
    void c_row_weights "gibbs_weights"(const double *first, const double *x, const double *log_p, int64_t k, int64_t n,
                                       double *weights, double *sums) noexcept


# Tilts and convolutions of factors.

cdef inline void c_tilted(const double[:, ::1] logs, const double *slopes, double theta, double[:, ::1] factors,
                          double *mean, double *variance) noexcept nogil:
    """Set factors[i, s] to exp(logs[i, s] + (slopes[i] + theta) s), scaled to a row maximum of 1, and compute the mean
    and the variance of the unconditioned sum.
    """
    cdef Py_ssize_t i, s, k = logs.shape[0], n = logs.shape[1]
    cdef double largest, value, slope, m0, m1, m2
    mean[0] = 0.0
    variance[0] = 0.0
    for i in range(k):
        # the largest log weight of the row, so that its factors are at most 1
        slope = slopes[i] + theta
        largest = logs[i, 0]
        for s in range(1, n):
            value = logs[i, s] + slope * s
            if value > largest:
                largest = value
        # moments of the tilted row: the means and the variances of independent counts are added
        m0 = m1 = m2 = 0.0
        for s in range(n):
            value = exp(logs[i, s] + slope * s - largest)
            factors[i, s] = value
            m0 += value
            m1 += value * s
            m2 += value * s * s
        m1 /= m0
        mean[0] += m1
        variance[0] += m2 / m0 - m1 * m1


cdef inline double c_tilt(const double[:, ::1] logs, const double *slopes, double start,
                          double[:, ::1] factors) noexcept nogil:
    """Compute the factors under a tilt theta at which the mean of the unconditioned sum is within one standard
    deviation of the total.

    Safeguarded Newton method from `start`; the mean increases with theta. The tilt cancels in the conditional
    distribution, so an approximate solution is sufficient. The tilt only has to prevent underflow of the sums of
    products.
    """
    cdef double total = <double> (logs.shape[1] - 1), theta = start, low = -1e300, high = 1e300, step = 1.0
    cdef double mean, variance, gap, proposal
    cdef int iteration
    for iteration in range(2000):
        c_tilted(logs, slopes, theta, factors, &mean, &variance)
        # the mean of the unconditioned sum increases with theta: a bracket, and the Newton step theta + gap/variance
        gap = total - mean
        if fabs(gap) <= 0.5 or gap * gap <= variance:
            break
        if gap > 0:
            low = theta
        else:
            high = theta
        proposal = theta + gap / variance if variance > 1e-12 else theta
        # bisect if the step leaves the bracket; without a bracket, move forward by doubling steps
        if low > -1e299 and high < 1e299:
            if not (low < proposal < high) or iteration > 20:
                proposal = low + 0.5 * (high - low)
        elif not (fabs(proposal - theta) > 0 and fabs(proposal - theta) <= step):
            proposal = theta + step if gap > 0 else theta - step
            step *= 2.0
        if proposal == theta:
            break
        theta = proposal
    return theta


cdef inline void c_convolve(const double *a, const double *b, double *out, Py_ssize_t n) noexcept nogil:
    """Compute the convolution out[t] = sum_s a[s] b[t - s] for t < n, four terms at a time (a summation order that
    vectorises).
    """
    cdef Py_ssize_t s = 0, t
    cdef double w0, w1, w2, w3
    for t in range(n):
        out[t] = 0.0
    while s + 3 < n:
        w0, w1, w2, w3 = a[s], a[s + 1], a[s + 2], a[s + 3]
        if w0 + w1 + w2 + w3 > 0.0:
            out[s] += w0 * b[0]
            out[s + 1] += w0 * b[1] + w1 * b[0]
            out[s + 2] += w0 * b[2] + w1 * b[1] + w2 * b[0]
            for t in range(s + 3, n):
                out[t] += (w0 * b[t - s] + w1 * b[t - s - 1]) + (w2 * b[t - s - 2] + w3 * b[t - s - 3])
        s += 4
    while s < n:
        w0 = a[s]
        for t in range(s, n):
            out[t] += w0 * b[t - s]
        s += 1


cdef inline void c_suffix(const double[:, ::1] factors, double[:, ::1] suffix) noexcept nogil:
    """Compute suffix[i, t], the weight of the event that the counts i, .., k - 1 have the sum t (row 0 only at the full
    total).
    """
    cdef Py_ssize_t k = factors.shape[0], n = factors.shape[1], i, s
    # suffix_i = a_i * suffix_(i+1), from the last count to the second; for the first count, only the total M
    for s in range(n):
        suffix[k - 1, s] = factors[k - 1, s]
    for i in range(k - 2, 0, -1):
        c_convolve(&factors[i, 0], &suffix[i + 1, 0], &suffix[i, 0], n)
    suffix[0, n - 1] = 0.0
    for s in range(n):
        suffix[0, n - 1] += factors[0, s] * suffix[1, n - 1 - s]


class Tables:
    """Factors of independent counts and their suffix convolutions, as returned by `tables`.

    Parameters
    ----------
    factors, suffix : float64 (k, M + 1), tilted.
    theta : the tilt.
    """

    __slots__ = ("factors", "suffix", "theta")

    def __init__(self, factors, suffix, theta):
        self.factors, self.suffix, self.theta = factors, suffix, theta


def tables(log_factors):
    """Tilt the factors of independent counts and convolve them. All later results are computed from these tables.

    Parameters
    ----------
    log_factors : float64 (k, M + 1), log a_i(s) for s = 0..M up to a constant per row; -inf if s is impossible. k >= 2.

    Returns
    -------
    Tables
        `factors` = a_i(s) exp(theta s) scaled to row maximum 1; `suffix[i, t]` = weight of counts i..k-1 with sum t
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
    """Return the factors of independent counts, tilted and scaled as in `tables`, but without convolutions, for any
    total that fits in memory.

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
        As in `tables`, except for compositions without weight. Cost O(k M).
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
        raise TypeError(f"log_factors must contain real numbers, got dtype {np.asarray(log_factors).dtype}")
    logs = np.ascontiguousarray(log_factors, dtype=np.float64)
    if logs.ndim != 2 or logs.shape[0] < 2 or logs.shape[1] < 1:
        raise ValueError(f"log_factors must have shape (k >= 2, total + 1), got shape {logs.shape}")
    if not np.all(logs < np.inf) or not np.all(logs.max(axis=1) > -np.inf):
        raise ValueError("log_factors must not contain NaN or +inf and must have a finite entry in every row")
    return logs


def convolve(a, b):
    """Return the convolution of two non-negative sequences of length n, truncated at n: sum_s a[s] b[t - s]."""
    return convolved(_checks.shaped("a", a, None), _checks.shaped("b", b, None))


def convolved(const double[::1] left, const double[::1] right):
    """Return the convolution of two sequences as `convolve` does, for contiguous float64 arrays without NaN. The caller
    has checked the arrays.
    """
    if left.shape[0] != right.shape[0] or left.shape[0] == 0:
        raise ValueError(f"a and b must have the same positive length, got lengths {left.shape[0]} and "
                         f"{right.shape[0]}")
    cdef double[::1] out = np.empty(left.shape[0])
    with nogil:
        c_convolve(&left[0], &right[0], &out[0], left.shape[0])
    return np.asarray(out)


cdef inline void c_guide(const double *cumulative, int64_t *guide, int64_t n) noexcept nogil:
    """Set guide[g] to the index at which a search may start: the smallest s whose cumulative weight is above the
    fraction g/n of the total weight.
    """
    cdef int64_t g, s = 0
    cdef double step = cumulative[n - 1] / n
    for g in range(n):
        while s < n - 1 and cumulative[s] <= g * step:
            s += 1
        guide[g] = s


cdef inline int64_t c_invert(const double *cumulative, const int64_t *guide, int64_t n, double u) noexcept nogil:
    """Return the smallest s with cumulative[s] > u cumulative[n - 1], for u in [0, 1), or n - 1 if there is no such s
    because of rounding.
    """
    cdef double target = u * cumulative[n - 1]
    cdef int64_t s = guide[<int64_t> (u * n)]
    while s > 0 and cumulative[s - 1] > target:
        s -= 1
    while s < n - 1 and cumulative[s] <= target:
        s += 1
    return s


cdef inline void c_group(const int64_t *left, int64_t *first, int64_t *order, int64_t n, int64_t size) noexcept nogil:
    """Sort the draws by their remainder (counting sort), and set first[t] to the end of the draws with remainder t."""
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
    """Draw vectors of counts with a fixed sum, category by category. Draws with the same remainder use the same row of
    cumulative weights.
    """
    cdef int64_t k = factors.shape[0], n = factors.shape[1], size = out.shape[0], i, j, r, s, t
    cdef double running
    for t in range(n):
        first[t] = 0
    first[n - 1] = size
    for j in range(size):  # all draws start with the total
        left[j] = n - 1
        order[j] = j
    for i in range(k - 1):
        # P(s_i = s | remainder t) proportional to a_i(s) suffix_(i+1)(t - s), once per remainder that occurs
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
    """Draw independent vectors of counts from their distribution given the sum.

    Parameters
    ----------
    tables : Tables, from `tables`.
    size : number of draws >= 0.
    rng : numpy Generator; uses (k - 1) * size uniforms, category by category.

    Returns
    -------
    int64 (size, k), each row with sum M. Cost O(k M^2 + k size log M), memory O(k size + k M).
    """
    size = _checks.integer("size", size)
    _checks.generator(rng)
    cdef const double[:, ::1] factors = tables.factors, suffix = tables.suffix
    cdef int64_t n = factors.shape[1]
    if factors.shape[0] < 2 or n < 1 or suffix.shape[0] != factors.shape[0] or suffix.shape[1] != n:
        raise ValueError(
            "tables must contain factors and suffix of the same shape (k >= 2, total + 1), got "
            f"{np.shape(tables.factors)} and {np.shape(tables.suffix)}"
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


# Gibbs samplers.

cdef inline int c_dirichlet(bitgen_t *bits, const double *alpha, const int64_t *s, double *p,
                            Py_ssize_t k) noexcept nogil:
    """Draw p ~ Dirichlet(alpha + s) by normalising gamma draws, and return 0 if all gamma draws underflow."""
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(k):
        p[i] = random_standard_gamma(bits, alpha[i] + s[i])
        total += p[i]
    if not total > 0.0:
        return 0
    for i in range(k):
        p[i] /= total
    return 1


cdef inline double c_log(double p) noexcept nogil:
    """Return log p, or a finite value for p = 0 (a gamma draw that underflowed), so that 0 log 0 is 0."""
    return log(p) if p > 0.0 else -1e5


cdef inline int64_t c_row(const double *weights, const double *sums, int64_t n, double u) noexcept nogil:
    """Return a row that is drawn with probability proportional to its weight, by inversion of the uniform number u. The
    block of 64 rows is determined first.
    """
    cdef int64_t r, block = 0, pick
    cdef double running = 0.0
    u *= sums[(n - 1) // 64]  # smaller than the total, so a row of the block below has a positive weight
    while sums[block] <= u:
        block += 1
    if block:
        u -= sums[block - 1]
    pick = 64 * block
    for r in range(64 * block, n if n < 64 * block + 64 else 64 * block + 64):
        running += weights[r]
        if weights[r] > 0.0:
            pick = r
        if running > u:
            break
    return pick


cdef int table_fill(const int64_t[:, ::1] counts, const double[:, ::1] columns, const double[::1] static,
                    const double[::1] alpha, double[::1] p, double[::1] logs, double[::1] weights, double[::1] sums,
                    int64_t burn_in, double[:, ::1] out, bitgen_t *bits) noexcept nogil:
    cdef int64_t rows = counts.shape[0], k = counts.shape[1], t, r, i
    for t in range(burn_in + out.shape[0]):
        # S | p, noisy counts: log weight of a row = static + sum_i s_i log p_i (equation 1)
        for i in range(k):
            logs[i] = c_log(p[i])
        c_row_weights(&static[0], &columns[0, 0], &logs[0], k, rows, &weights[0], &sums[0])
        r = c_row(&weights[0], &sums[0], rows, c_uniform(bits))
        # p | S ~ Dirichlet(alpha + S)
        if not c_dirichlet(bits, &alpha[0], &counts[r, 0], &p[0], k):
            return 0
        if t >= burn_in:
            for i in range(k):
                out[t - burn_in, i] = p[i]
    return 1


cdef inline double c_powers(const double[:, ::1] weights, const double *p, const double *reference,
                            double[:, ::1] factors) noexcept nogil:
    """Compute factors[i, s] = weights[i, s] (p[i]/reference[i])^s by running products, four in parallel. The function
    returns the sum over i of the largest absolute log of these powers.
    """
    cdef Py_ssize_t i, s, j, n = weights.shape[1]
    cdef double ratio, fourth, bound = 0.0
    cdef double power[4]
    for i in range(weights.shape[0]):
        # powers ratio^s for s mod 4 = 0, 1, 2, 3, each by repeated multiplication by ratio^4
        ratio = p[i] / reference[i]
        bound += fabs(log(ratio)) if ratio > 0.0 else INFINITY
        power[0], power[1], power[2], power[3] = 1.0, ratio, ratio * ratio, ratio * ratio * ratio
        fourth = power[2] * power[2]
        for s in range(0, n - 3, 4):
            for j in range(4):
                factors[i, s + j] = weights[i, s + j] * power[j]
                power[j] *= fourth
        for s in range(n - n % 4, n):
            factors[i, s] = weights[i, s] * power[s % 4]
    return bound * (n - 1)


cdef int convolution_fill(const double[:, ::1] static, const double[:, ::1] weights, const double[::1] reference,
                          const double[::1] alpha, double[::1] p, double[::1] logs, double[:, ::1] factors,
                          double[:, ::1] suffix, int64_t[::1] s, int64_t burn_in, double[:, ::1] out,
                          bitgen_t *bits) noexcept nogil:
    cdef int64_t k = static.shape[0], n = static.shape[1], t, i, left, value
    cdef double theta = 0.0, running, target
    for t in range(burn_in + out.shape[0]):
        # Use running products if no power can leave the range of float64, and otherwise exponentials with a tilt. The
        # weights are the same.
        running = c_powers(weights, &p[0], &reference[0], factors)
        if running < SAFE_LOG:
            c_suffix(factors, suffix)
        if not (running < SAFE_LOG and 1e-200 < suffix[0, n - 1] < 1e200):
            for i in range(k):
                logs[i] = c_log(p[i])
            theta = c_tilt(static, &logs[0], theta, factors)
            c_suffix(factors, suffix)
        # S | p, noisy counts: draw s_1, s_2, .. in turn given the remainder, by inversion
        left = n - 1
        for i in range(k - 1):
            target = c_uniform(bits) * suffix[i, left]
            running = factors[i, 0] * suffix[i + 1, left]
            value = 0
            while running <= target and value < left:
                value += 1
                running += factors[i, value] * suffix[i + 1, left - value]
            s[i] = value
            left -= value
        s[k - 1] = left
        # p | S ~ Dirichlet(alpha + S)
        if not c_dirichlet(bits, &alpha[0], &s[0], &p[0], k):
            return 0
        if t >= burn_in:
            for i in range(k):
                out[t - burn_in, i] = p[i]
    return 1


def table_chain(counts, static, alpha, initial, *, draws, burn_in, rng):
    """Run the Gibbs sampler of Balmat et al. (2018) over a table of all compositions (the method of the paper).

    Parameters
    ----------
    counts : int64 (rows, k), the compositions, e.g. of `kernels.log_multinomial_table`.
    static : float64 (rows,), log coefficient + log noise density of each row.
    alpha : float64 (k,), Dirichlet prior.
    initial : float64 (k,), initial p; positive, with sum 1.
    draws, burn_in : integers, number of iterations that are kept, and number of earlier iterations that are discarded.
    rng : numpy Generator; an iteration uses one uniform and k standard gamma draws.

    Returns
    -------
    float64 (draws, k). Cost: one exp per row and iteration.
    """
    counts, columns, static = _table(counts, static)
    rows, k = counts.shape
    _checks.generator(rng)
    cdef const int64_t[:, ::1] counts_view = counts
    cdef const double[:, ::1] columns_view = columns
    cdef const double[::1] static_view = static, alpha_view = _checks.positives("alpha", alpha, k)
    cdef double[::1] p = _start(initial, k), logs = np.empty(k), weights = np.empty(rows), sums = np.empty(rows)
    cdef int64_t skip = _checks.integer("burn_in", burn_in)
    out = np.empty((_checks.integer("draws", draws), k))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    cdef int good
    with rng.bit_generator.lock, nogil:
        good = table_fill(counts_view, columns_view, static_view, alpha_view, p, logs, weights, sums, skip, view, bits)
    return _finished(out, good)


def row_weights(counts, static, p):
    """Return the weights of all compositions, from which an iteration of `table_chain` draws one row.

    Parameters
    ----------
    counts, static : as in `table_chain`.
    p : float64 (k,), as `initial` in `table_chain`.

    Returns
    -------
    weights : float64 (rows,), prod_i p_i^counts exp(static) divided by its maximum, with an absolute error of 1e-15.
    sums : float64 (ceil(rows/64),), sums of the first 64, 128, .. weights.
    """
    counts, columns, static = _table(counts, static)
    rows, k = counts.shape
    cdef const double[:, ::1] columns_view = columns
    cdef const double[::1] static_view = static, p_view = _start(p, k)
    cdef double[::1] logs = np.empty(k), weights = np.empty(rows), sums = np.empty((rows + 63) // 64)
    cdef Py_ssize_t i
    for i in range(k):
        logs[i] = c_log(p_view[i])
    c_row_weights(&static_view[0], &columns_view[0, 0], &logs[0], k, rows, &weights[0], &sums[0])
    return np.asarray(weights), np.asarray(sums)


def convolution_chain(static, alpha, initial, reference, *, draws, burn_in, rng):
    """Run the Gibbs sampler of Balmat et al. (2018) with counts that are drawn by convolutions. The draws have the same
    distribution as in `table_chain`, at a cost of O(k M^2) per iteration.

    Parameters
    ----------
    static : float64 (k, M + 1), -log s! + log noise density of count i at s.
    alpha, initial, draws, burn_in : as in `table_chain`.
    reference : float64 (k,), positive; any typical p. Iterations with p near `reference` need only products and no
        exponentials.
    rng : numpy Generator; an iteration uses k - 1 uniforms and k standard gamma draws.

    Returns
    -------
    float64 (draws, k).
    """
    static = _below_infinity("static", _checks.shaped("static", static, None, None))
    k = static.shape[0]
    if k < 2 or static.shape[1] < 1 or not (static.max(axis=1) > -np.inf).all():
        raise ValueError("static must have shape (k >= 2, total + 1) and a finite entry in every row, got shape "
                         f"{static.shape}")
    _checks.generator(rng)
    reference = _checks.positives("reference", reference, k)
    cdef const double[:, ::1] static_view = static
    cdef const double[::1] alpha_view = _checks.positives("alpha", alpha, k)
    cdef const double[::1] reference_view = reference, reference_logs = np.log(reference)
    cdef double[::1] p = _start(initial, k), logs = np.empty(k)
    cdef double[:, ::1] factors = np.empty_like(static), suffix = np.zeros_like(static), weights = np.empty_like(static)
    cdef int64_t[::1] s = np.empty(k, dtype=np.int64)
    cdef int64_t skip = _checks.integer("burn_in", burn_in)
    out = np.empty((_checks.integer("draws", draws), k))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    cdef int good
    with rng.bit_generator.lock, nogil:
        c_tilt(static_view, &reference_logs[0], 0.0, weights)
        good = convolution_fill(static_view, weights, reference_view, alpha_view, p, logs, factors, suffix, s, skip,
                                view, bits)
    return _finished(out, good)


def _table(counts, static):
    """Return the compositions, their columns as float64, and the terms that are the same in every iteration."""
    counts = _checks.shaped_counts("counts", counts, None, None)
    if counts.shape[0] < 1 or counts.shape[1] < 2:
        raise ValueError(f"counts must have at least one row and two columns, got shape {counts.shape}")
    static = _below_infinity("static", _checks.shaped("static", static, len(counts)))
    return counts, np.ascontiguousarray(counts.T, dtype=float), static


def _start(initial, k):
    """Return a copy of the initial probabilities p, which the Gibbs sampler overwrites."""
    p = np.array(_checks.shaped("initial", initial, k))
    if not (np.isfinite(p).all() and p.min() >= 0 and p.sum() > 0):
        raise ValueError(f"initial must contain {k} finite numbers >= 0 with a positive sum, got {initial!r}")
    return p


def _below_infinity(name, values):
    if not (values < np.inf).all() or not (values > -np.inf).any():
        raise ValueError(f"{name} must not contain +inf and must have a finite entry")
    return values


def _finished(out, good):
    if not good:
        raise FloatingPointError("all gamma draws of a Dirichlet variable underflowed to 0: use alpha >= 0.01")
    return out
