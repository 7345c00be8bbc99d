# cython: language_level=3
"""Gibbs samplers for (p, S) given noisy multinomial counts: Balmat et al. (2018), sections 5.1 and 6.

One iteration draws S | p, noisy counts with probability proportional to M!/(s_1! .. s_k!) prod_i p_i^s_i L_i(s_i)
(equation 1; L_i the noise density), then p | S ~ Dirichlet(alpha + S). Two ways to the same chain law:

``table_chain``        the paper's: one weight for every composition, coefficients looked up, one exp a row.
``convolution_chain``  the counts are independent given their sum, so k - 1 convolutions replace the rows: O(k M^2).
"""
import numpy as np

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ..._kernels.dirichlet cimport c_dirichlet
from ._fixed_sum cimport c_suffix, c_tilt
from ._row_weights cimport c_row_weights

from ... import _checks

cdef double SAFE_LOG = 230.0  # all powers together within 1e+-100: no sum that matters can over- or underflow


cdef inline double c_log(double p) noexcept nogil:
    """log p, with p = 0 (a gamma draw that underflowed) kept finite so that 0 log 0 stays 0."""
    return log(p) if p > 0.0 else -1e5


cdef inline int64_t c_row(const double *weights, const double *sums, int64_t n, double u) noexcept nogil:
    """Row in proportion to its weight, with its block of 64 looked up first; u is a uniform number."""
    cdef int64_t r, block = 0, pick
    cdef double running = 0.0
    u *= sums[(n - 1) // 64]  # below that sum, so that some row of the block below has a weight
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
        for i in range(k):
            logs[i] = c_log(p[i])
        c_row_weights(&static[0], &columns[0, 0], &logs[0], k, rows, &weights[0], &sums[0])
        r = c_row(&weights[0], &sums[0], rows, c_uniform(bits))
        if not c_dirichlet(bits, &alpha[0], &counts[r, 0], &p[0], k):
            return 0
        if t >= burn_in:
            for i in range(k):
                out[t - burn_in, i] = p[i]
    return 1


cdef inline double c_powers(const double[:, ::1] weights, const double *p, const double *reference,
                            double[:, ::1] factors) noexcept nogil:
    """factors[i, s] = weights[i, s] (p[i]/reference[i])^s by running products, four side by side; returns the sum of
    largest |log|."""
    cdef Py_ssize_t i, s, j, n = weights.shape[1]
    cdef double ratio, fourth, bound = 0.0
    cdef double power[4]
    for i in range(weights.shape[0]):
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
        # Running products where no power can leave float64's range, else exponentials with a tilt: the same weights.
        running = c_powers(weights, &p[0], &reference[0], factors)
        if running < SAFE_LOG:
            c_suffix(factors, suffix)
        if not (running < SAFE_LOG and 1e-200 < suffix[0, n - 1] < 1e200):
            for i in range(k):
                logs[i] = c_log(p[i])
            theta = c_tilt(static, &logs[0], theta, factors)
            c_suffix(factors, suffix)
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
        if not c_dirichlet(bits, &alpha[0], &s[0], &p[0], k):
            return 0
        if t >= burn_in:
            for i in range(k):
                out[t - burn_in, i] = p[i]
    return 1


def table_chain(counts, static, alpha, initial, *, draws, burn_in, rng):
    """Gibbs chain over a table of all compositions (the paper's method).

    Parameters
    ----------
    counts : int64 (rows, k), the compositions, e.g. of `kernels.log_multinomial_table`.
    static : float64 (rows,), log coefficient + log noise density of each row.
    alpha : float64 (k,), Dirichlet prior.
    initial : float64 (k,), first p; positive, adds up to 1.
    draws, burn_in : whole numbers; iterations kept and thrown away before.
    rng : numpy Generator; an iteration uses one uniform and k standard gammas.

    Returns
    -------
    float64 (draws, k). Cost: one exp for each row and iteration.
    """
    counts, columns, static = _table(counts, static)
    rows, k = counts.shape
    _checks.generator(rng)
    cdef const int64_t[:, ::1] counts_view = counts
    cdef const double[:, ::1] columns_view = columns
    cdef const double[::1] static_view = static, alpha_view = _checks.positives("alpha", alpha, k)
    cdef double[::1] p = _start(initial, k), logs = np.empty(k), weights = np.empty(rows), sums = np.empty(rows)
    cdef int64_t skip = _checks.whole("burn_in", burn_in)
    out = np.empty((_checks.whole("draws", draws), k))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    cdef int good
    with rng.bit_generator.lock, nogil:
        good = table_fill(counts_view, columns_view, static_view, alpha_view, p, logs, weights, sums, skip, view, bits)
    return _finished(out, good)


def row_weights(counts, static, p):
    """Weights by which an iteration of `table_chain` draws its row.

    Parameters
    ----------
    counts, static : as in `table_chain`.
    p : float64 (k,), as `initial` there.

    Returns
    -------
    weights : float64 (rows,), prod_i p_i^counts exp(static) over its largest value, to 1e-15 of that.
    sums : float64 (ceil(rows/64),), of the first 64, 128, .. weights.
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
    """Gibbs chain with the counts drawn by convolution; the same law as `table_chain`, O(k M^2) an iteration.

    Parameters
    ----------
    static : float64 (k, M + 1), -log s! + log noise density of count i at s.
    alpha, initial, draws, burn_in : as in `table_chain`.
    reference : float64 (k,), positive; any typical p. Iterations near it need no exponentials, only products.
    rng : numpy Generator; an iteration uses k - 1 uniforms and k standard gammas.

    Returns
    -------
    float64 (draws, k).
    """
    static = _below_infinity("static", _checks.shaped("static", static, None, None))
    k = static.shape[0]
    if k < 2 or static.shape[1] < 1 or not (static.max(axis=1) > -np.inf).all():
        raise ValueError(f"static must be (k >= 2, total + 1), finite somewhere in every row, got shape {static.shape}")
    _checks.generator(rng)
    reference = _checks.positives("reference", reference, k)
    cdef const double[:, ::1] static_view = static
    cdef const double[::1] alpha_view = _checks.positives("alpha", alpha, k)
    cdef const double[::1] reference_view = reference, reference_logs = np.log(reference)
    cdef double[::1] p = _start(initial, k), logs = np.empty(k)
    cdef double[:, ::1] factors = np.empty_like(static), suffix = np.zeros_like(static), weights = np.empty_like(static)
    cdef int64_t[::1] s = np.empty(k, dtype=np.int64)
    cdef int64_t skip = _checks.whole("burn_in", burn_in)
    out = np.empty((_checks.whole("draws", draws), k))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    cdef int good
    with rng.bit_generator.lock, nogil:
        c_tilt(static_view, &reference_logs[0], 0.0, weights)
        good = convolution_fill(static_view, weights, reference_view, alpha_view, p, logs, factors, suffix, s, skip,
                                view, bits)
    return _finished(out, good)


def _table(counts, static):
    """Compositions, the same as columns of float64, and what is the same in every iteration."""
    counts = _checks.shaped_counts("counts", counts, None, None)
    if counts.shape[0] < 1 or counts.shape[1] < 2:
        raise ValueError(f"counts must have at least one row and two columns, got shape {counts.shape}")
    static = _below_infinity("static", _checks.shaped("static", static, len(counts)))
    return counts, np.ascontiguousarray(counts.T, dtype=float), static


def _start(initial, k):
    """A copy of the first p, which the chain overwrites."""
    p = np.array(_checks.shaped("initial", initial, k))
    if not (np.isfinite(p).all() and p.min() >= 0 and p.sum() > 0):
        raise ValueError(f"initial must be {k} finite numbers >= 0 with a positive sum, got {initial!r}")
    return p


def _below_infinity(name, values):
    if not (values < np.inf).all() or not (values > -np.inf).any():
        raise ValueError(f"{name} must be below +inf, and finite somewhere")
    return values


def _finished(out, good):
    if not good:
        raise FloatingPointError("all gamma draws of a Dirichlet underflowed to 0; use alpha >= 0.01")
    return out
