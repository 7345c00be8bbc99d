# cython: language_level=3
"""Gibbs samplers for (mu, sigma2) given a noisy censored release (Raim 2021, "Analysis of Sensitive Data").

x_1 .. x_n ~ N(mu, sigma2). Records in [a, b] give s_mean and s_sse, the others the counts s_low and s_high; released is
z = s + Laplace noise, one scale for each statistic. Prior mu ~ N(mu0, var0), sigma2 ~ IG(shape0, rate0). One sweep
draws s given theta and z, the censored records, then mu and sigma2.

``statistics_chain`` : s through [s | theta] and the closed-form laws of the noise, in three forms:

- ``"as_written"``: the slides: s_high, then s_low, then s_mean ~ N(mu, sigma2/s_c) and s_sse ~ sigma2 chi^2(s_c - 1).
- ``"corrected"``: (s_low, s_high) jointly, weighted by the normalisers of the noise laws, and the moments of the
  truncated normal for s_mean and s_sse (a gamma law matched to mean and variance).
- ``"slides_model"``: the joint counts with the slides' laws, and the factor P(a < x < b)^s_c that makes them a model.

``records_chain`` (module `censored_records`) : keeps all n records and proposes each from N(mu, sigma2): exact.
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, fabs, fmax, fmin, log, log1p, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from scipy.special.cython_special cimport log_ndtr, ndtri_exp

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ._censored_law cimport Law, c_moments
from ._censored_setting cimport Setting, State, c_log_inside, c_open, c_release, c_setting, c_store, c_theta
from ._laplace_noise cimport (GammaNoise, NormalNoise, c_gamma_log_psi, c_gamma_noise, c_gamma_quantile,
    c_normal_noise, c_normal_quantile)

from ... import _checks
from ._censored_arguments import checked

FORMS = {"as_written": 0, "corrected": 1, "slides_model": 2}

cdef enum:
    AS_WRITTEN = 0
    CORRECTED = 1
    SLIDES_MODEL = 2
    LEAST_COUNT = 4  # fewer uncensored records leave the gamma weight unbounded


cdef inline Law c_law(const Setting *data, const State *state, int form, const double[::1] nodes,
                      const double[::1] weights) noexcept nogil:
    cdef Law law
    cdef double sigma = sqrt(state.sigma2)
    law.log_low = log_ndtr((data.a - state.mu) / sigma)
    law.log_high = log_ndtr((state.mu - data.b) / sigma)
    law.log_not_high = log_ndtr((data.b - state.mu) / sigma)
    law.log_inside = c_log_inside(data, state.mu, state.sigma2)
    if form == CORRECTED:
        c_moments(data, state.mu, state.sigma2, nodes, weights, &law)
    else:
        law.centre, law.variance, law.power, law.beta = state.mu, state.sigma2, 0.5, 2.0 * state.sigma2
    return law


cdef inline int64_t c_pick(double[::1] logs, int64_t size, double u) noexcept nogil:
    """Index drawn with probability proportional to exp(logs)."""
    cdef double top = -INFINITY, total = 0.0, target
    cdef int64_t i
    for i in range(size):
        if logs[i] > top:
            top = logs[i]
    for i in range(size):
        if logs[i] > top - 45.0:
            total += exp(logs[i] - top)
    target = u * total
    total = 0.0
    for i in range(size):
        if logs[i] > top - 45.0:
            total += exp(logs[i] - top)
            if total > target:
                return i
    return size - 1


cdef inline void c_counts_in_turn(const Setting *data, const Law *law, const double[::1] factorial, double[::1] logs,
                                  State *state, bitgen_t *bits) noexcept nogil:
    """The slides: s_high from its binomial times the noise, then s_low given s_high from its own."""
    cdef int64_t s, left = data.n, most = data.n - LEAST_COUNT
    for s in range(most + 1):
        logs[s] = (s * law.log_high + (left - s) * law.log_not_high - factorial[s] - factorial[left - s]
                   - fabs(data.z_high - s) / data.scale_high)
    state.high = c_pick(logs, most + 1, c_uniform(bits))
    left = data.n - state.high
    most = left - LEAST_COUNT
    for s in range(most + 1):
        logs[s] = (s * law.log_low + (left - s) * law.log_inside - factorial[s] - factorial[left - s]
                   - fabs(data.z_low - s) / data.scale_low)
    state.low = c_pick(logs, most + 1, c_uniform(bits))


cdef inline double c_log_psi(const Setting *data, const Law *law, int64_t c) noexcept nogil:
    """log of the normalisers of both noise laws at s_c = c."""
    return (c_normal_noise(data.z_mean - law.centre, law.variance / c, data.scale_mean).log_total
            + c_gamma_log_psi(data.z_sse, law.power * (c - 1), law.beta, data.scale_sse))


cdef inline void c_window(const double[::1] logs, int64_t size, double margin, int64_t *first,
                          int64_t *last) noexcept nogil:
    """Where unimodal logs come within `margin` of their largest value."""
    cdef double top = -INFINITY
    cdef int64_t i
    for i in range(size):
        if logs[i] > top:
            top = logs[i]
    first[0], last[0] = size, -1
    for i in range(size):
        if logs[i] > top - margin:
            if first[0] > i:
                first[0] = i
            last[0] = i


cdef void c_counts_jointly(const Setting *data, const Law *law, const double[::1] factorial, double[:, ::1] work,
                           State *state, bitgen_t *bits) noexcept nogil:
    """(s_low, s_high) from their multinomial law times both noises times the normalisers at s_c = n - s_low - s_high.

    work rows: 0 terms of s_high, 1 terms of s_low, 2 terms of s_c (NaN until needed), 3 scratch.
    """
    cdef int64_t n = data.n, size = n - LEAST_COUNT + 1, s, t, c, h0, h1, l0, l1, grow, last
    cdef double top, edge, value, total, target
    cdef double log_not_low = log1p(-exp(law.log_low)) if law.log_low < -1e-12 else -27.6
    for s in range(size):
        work[0, s] = s * law.log_high - factorial[s] - fabs(data.z_high - s) / data.scale_high
        work[3, s] = work[0, s] + (n - s) * law.log_not_high - factorial[n - s]
    c_window(work[3], size, 40.0, &h0, &h1)
    for s in range(size):
        work[1, s] = s * law.log_low - factorial[s] - fabs(data.z_low - s) / data.scale_low
        work[3, s] = work[1, s] + (n - s) * log_not_low - factorial[n - s]
    c_window(work[3], size, 40.0, &l0, &l1)
    for s in range(n + 1):
        work[2, s] = NAN
    while True:  # the box of counts; it grows where its rim still matters
        top = edge = -INFINITY
        for s in range(h0, h1 + 1):
            last = l1 if l1 < n - LEAST_COUNT - s else n - LEAST_COUNT - s
            for t in range(l0, last + 1):
                c = n - s - t
                if work[2, c] != work[2, c]:
                    work[2, c] = c * law.log_inside - factorial[c] + c_log_psi(data, law, c)
                value = work[0, s] + work[1, t] + work[2, c]
                if value > top:
                    top = value
                if value > edge and ((s == h0 and h0 > 0) or (s == h1 and h1 < size - 1) or (t == l0 and l0 > 0)
                                     or (t == l1 and l1 < size - 1)):
                    edge = value
        if (top > -INFINITY and edge < top - 34.0) or (h0 == l0 == 0 and h1 == l1 == size - 1):
            break
        grow = 10 + (h1 - h0 + l1 - l0) // 4
        h0, l0 = (h0 - grow if h0 > grow else 0), (l0 - grow if l0 > grow else 0)
        h1, l1 = (h1 + grow if h1 + grow < size else size - 1), (l1 + grow if l1 + grow < size else size - 1)
    total = 0.0
    for s in range(h0, h1 + 1):
        last = l1 if l1 < n - LEAST_COUNT - s else n - LEAST_COUNT - s
        for t in range(l0, last + 1):
            value = work[0, s] + work[1, t] + work[2, n - s - t] - top
            if value > -38.0:
                total += exp(value)
        work[3, s] = total
    target = c_uniform(bits) * total
    s = h0
    while s < h1 and work[3, s] <= target:
        s += 1
    total = work[3, s - 1] if s > h0 else 0.0
    last = l1 if l1 < n - LEAST_COUNT - s else n - LEAST_COUNT - s
    state.high, state.low = s, l0
    for t in range(l0, last + 1):
        value = work[0, s] + work[1, t] + work[2, n - s - t] - top
        if value > -38.0:
            state.low = t
            total += exp(value)
            if total > target:
                return


cdef inline void c_inside(const Setting *data, const Law *law, State *state, bitgen_t *bits) noexcept nogil:
    """s_mean and s_sse of the uncensored records from the closed-form laws of their noise, by inversion."""
    cdef int64_t c = data.n - state.low - state.high
    cdef NormalNoise mean = c_normal_noise(data.z_mean - law.centre, law.variance / c, data.scale_mean)
    cdef GammaNoise sse = c_gamma_noise(data.z_sse, law.power * (c - 1), law.beta, data.scale_sse)
    cdef double u = c_open(bits)
    state.mean = data.z_mean - c_normal_quantile(&mean, log(u), log1p(-u))
    u = c_open(bits)
    state.sse = c_gamma_quantile(&sse, log(u), log1p(-u))


cdef int64_t statistics_fill(Setting *data, State *state, int form, bint again, const double[::1] factorial,
                             const double[::1] nodes, const double[::1] weights, double[:, ::1] work, int64_t burn_in,
                             double[:, ::1] out, bitgen_t *bits) noexcept nogil:
    cdef int64_t t, i, accepted = 0
    cdef double first, second, x, sigma
    cdef Law law
    for t in range(burn_in + out.shape[0]):
        law = c_law(data, state, form, nodes, weights)
        if form == AS_WRITTEN:
            c_counts_in_turn(data, &law, factorial, work[0], state, bits)
        else:
            c_counts_jointly(data, &law, factorial, work, state, bits)
        c_inside(data, &law, state, bits)
        first = second = 0.0
        sigma = sqrt(state.sigma2)
        for i in range(state.low + state.high):  # the censored records, about s_mean
            if i < state.low:
                x = state.mu + sigma * ndtri_exp(log(c_open(bits)) + law.log_low) - state.mean
            else:
                x = state.mu - sigma * ndtri_exp(log(c_open(bits)) + law.log_high) - state.mean
            first += x
            second += x * x
        accepted += c_theta(data, state, state.mean + first / data.n, state.sse + second - first * first / data.n,
                            form == SLIDES_MODEL, bits)
        if again:
            c_release(data, state, bits)
        if t >= burn_in:
            c_store(state, out, t - burn_in)
    return accepted


def statistics_chain(release, n, a, b, scales, prior, initial, *, form, draws, burn_in, rng, again=False):
    """Gibbs chain through the statistics.

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high), within 10^7 scales of the statistics' ranges.
    n : records, 4 to 10^7.
    a, b : censoring limits, a < b.
    scales : Laplace scales of the four statistics.
    prior : (mu0, var0, shape0, rate0).
    initial : (mu, sigma2).
    form : ``"as_written"``, ``"corrected"`` or ``"slides_model"`` (first lines of this module).
    draws, burn_in : sweeps kept and thrown away before.
    rng : numpy Generator. A sweep uses one uniform for the counts (two as written), one for s_mean, one for s_sse, one
        for each censored record (s_low, then s_high), a standard normal, a standard gamma; ``"slides_model"`` one
        uniform more after each of the last two; `again` four more.
    again : redraw the release from the current statistics after every sweep (Geweke's joint distribution test: theta
        then has its prior as its law).

    Returns
    -------
    float64 (draws, 6): mu, sigma2, s_mean, s_sse, s_low, s_high; and the share of accepted proposals (1 without any).
        O(n) a sweep, for the joint counts also the square of their spread.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    found = checked(release, n, a, b, scales, prior, initial)
    _checks.one_of("form", form, tuple(FORMS))
    _checks.generator(rng)
    cdef Setting data = c_setting(found, False)
    cdef State state
    state.mu, state.sigma2 = found.initial
    nodes, weights = np.polynomial.legendre.leggauss(64)
    cdef const double[::1] x = nodes, w = weights
    cdef const double[::1] factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, found.n + 1)))])
    cdef double[:, ::1] work = np.empty((4, found.n + 1))
    cdef int64_t skip = _checks.whole("burn_in", burn_in), accepted
    cdef int code = FORMS[form]
    cdef bint fresh = again
    out = np.empty((_checks.whole("draws", draws), 6))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        accepted = statistics_fill(&data, &state, code, fresh, factorial, x, w, work, skip, view, bits)
    return out, accepted / max(1, 2 * (burn_in + draws)) if code == SLIDES_MODEL else 1.0


def inside_moments(mu, sigma2, a, b):
    """Mean and variance of N(mu, sigma2) inside [a, b], and the gamma law matched to the sum of squares.

    Parameters
    ----------
    mu, sigma2 : finite, sigma2 > 0.
    a, b : limits, a < b.

    Returns
    -------
    Four floats: mean, variance, shape per degree of freedom, scale.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    middle = 0.5 * _checks.number("a", a) + 0.5 * _checks.number("b", b)
    found = checked((middle, 0.0, 0.0, 0.0), 4, a, b, 1.0, (0.0, 1.0, 1.0, 1.0),
                    (_checks.number("mu", mu), _checks.positive("sigma2", sigma2)))
    cdef Setting data = c_setting(found, False)
    cdef Law law
    nodes, weights = np.polynomial.legendre.leggauss(64)
    cdef const double[::1] x = nodes, w = weights
    c_moments(&data, found.initial[0], found.initial[1], x, w, &law)
    return law.centre, law.variance, law.power, law.beta
