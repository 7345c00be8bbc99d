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

from libc.math cimport fmin, log, log1p, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from scipy.special.cython_special cimport log_ndtr, ndtri_exp

from ..._kernels.bitgen cimport c_bitgen
from ._censored_counts cimport LEAST_COUNT, Box, Side, c_counts_in_turn, c_weigh
from ._censored_law cimport Law, c_moments
from ._censored_setting cimport Setting, State, c_log_inside, c_open, c_release, c_setting, c_store, c_theta
from ._gamma_integrals cimport FOUR
from ._joint_counts cimport ROWS, c_counts_jointly, c_row_sums, c_weigh_jointly
from ._laplace_noise cimport (GammaNoise, NormalNoise, c_gamma_log_psi_four, c_gamma_noise, c_gamma_quantile,
    c_normal_noise, c_normal_quantile)

from ... import _checks
from ._censored_arguments import checked

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
FORMS = {"as_written": 0, "corrected": 1, "slides_model": 2}

cdef enum:
    AS_WRITTEN = 0
    CORRECTED = 1
    SLIDES_MODEL = 2


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
            c_counts_in_turn(data, &law, factorial, work, state, bits)
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


def _factorials(n):
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])


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
        A sweep costs the records outside and, for the joint counts, the square of their spread.

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
    state.high = <int64_t> min(max(data.z_high, 0.0), data.n - LEAST_COUNT)  # where the first pair is looked for
    state.low = <int64_t> min(max(data.z_low, 0.0), data.n - LEAST_COUNT - state.high)
    cdef const double[::1] x = _NODES, w = _WEIGHTS
    cdef const double[::1] factorial = _factorials(found.n)
    cdef double[:, ::1] work = np.full((ROWS, found.n + 1), np.nan)
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
    cdef const double[::1] x = _NODES, w = _WEIGHTS
    c_moments(&data, found.initial[0], found.initial[1], x, w, &law)
    return law.centre, law.variance, law.power, law.beta


def counts_law(release, n, a, b, scales, theta, *, form, near=(0, 0)):
    """The law that a sweep draws (s_high, s_low) from.

    Parameters
    ----------
    release, n, a, b, scales, form : as in `statistics_chain`.
    theta : (mu, sigma2).
    near : (s_high, s_low), a possible pair from which the heaviest is looked for.

    Returns
    -------
    float64 (n + 1, n + 1), rows s_high; 0 where a pair weighs less than exp(-38) of the heaviest.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    found = checked(release, n, a, b, scales, (0.0, 1.0, 1.0, 1.0), theta)
    _checks.one_of("form", form, tuple(FORMS))
    cdef Setting data = c_setting(found, False)
    cdef State state
    state.mu, state.sigma2 = found.initial
    pair = _checks.counts("near", near).tolist()
    if len(pair) != 2:
        raise ValueError(f"near must be two counts, got {len(pair)}")
    high, low = pair
    if high + low > found.n - LEAST_COUNT:
        raise ValueError(f"near must leave {LEAST_COUNT} records inside, got {high} and {low} of {found.n}")
    cdef Law law = c_law(&data, &state, FORMS[form], _NODES, _WEIGHTS)
    cdef const double[::1] factorial = _factorials(found.n)
    work = np.full((ROWS, found.n + 1), np.nan)
    out = np.zeros((found.n + 1, found.n + 1))
    cdef Box box
    cdef Side side
    if form == "as_written":
        side = Side(law.log_high, law.log_not_high, data.z_high, data.scale_high)
        total = c_weigh(&side, data.n, factorial, work, &box)
        first = work[0, : box.h1 + 1].copy()
        side = Side(law.log_low, law.log_inside, data.z_low, data.scale_low)
        for s in range(box.h0, box.h1 + 1):
            whole = c_weigh(&side, data.n - s, factorial, work, &box)
            out[s, box.h0 : box.h1 + 1] = first[s] / total * work[0, box.h0 : box.h1 + 1] / whole
        return out
    box = c_weigh_jointly(&data, &law, factorial, work, high, low)
    total = c_row_sums(work, &box)
    for s in range(box.h0, box.h1 + 1):
        t = np.arange(max(box.l0, box.m0 - s), min(box.l1, box.m1 - s) + 1)
        out[s, t] = work[0, s] * work[1, t] * work[3, s + t] / total
    return out


def log_psis(z, shapes, beta, scale):
    """`_laplace_noise.gamma_log_psi` at four shapes, as the joint counts make them: the same bits.

    Parameters
    ----------
    z, beta, scale : as in `_laplace_noise.gamma_log_psi`.
    shapes : float64 (4,), > 0.

    Returns
    -------
    float64 (4,)

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    cdef const double[::1] shape = _checks.positives("shapes", shapes, FOUR)
    cdef double place = _checks.number("z", z), b = _checks.positive("beta", beta), c = _checks.positive("scale", scale)
    out = np.empty(FOUR)
    cdef double[::1] view = out
    c_gamma_log_psi_four(place, &shape[0], b, c, &view[0])
    return out
