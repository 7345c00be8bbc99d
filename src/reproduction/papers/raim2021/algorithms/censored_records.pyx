# cython: language_level=3
"""Gibbs sampler for (mu, sigma2) given a noisy censored release that keeps all n records: exact (Raim 2021, model
only).

x_1 .. x_n ~ N(mu, sigma2). Records in [a, b] give s_mean and s_sse, the others the counts s_low and s_high; released is
z = s + Laplace noise, one scale for each statistic. Prior mu ~ N(mu0, var0), sigma2 ~ IG(shape0, rate0). One sweep
proposes each record from N(mu, sigma2) and accepts it with the ratio of the noise's density, then draws mu and sigma2.
O(n) a sweep.
"""
import numpy as np

from libc.math cimport exp, fabs, fmax, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal

from dpmultinomial._kernels.bitgen cimport c_bitgen, c_uniform

from .censored_setting cimport Setting, State, c_release, c_setting, c_store, c_theta

from dpmultinomial import _checks
from .censored_arguments import checked

cdef inline double c_misfit(const Setting *data, int64_t low, int64_t high, double first, double second) noexcept nogil:
    """-log density of the noise, up to a constant; first, second: sums of uncensored x and x^2 about the middle of
    [a, b]."""
    cdef int64_t c = data.n - low - high
    cdef double mean = first / c if c > 0 else 0.0, sse = fmax(second - first * mean, 0.0)
    if data.sums:
        return (fabs(data.z_mean - first) / data.scale_mean + fabs(data.z_sse - second) / data.scale_sse
                + fabs(data.z_low - low) / data.scale_low + fabs(data.z_high - high) / data.scale_high)
    return (fabs(data.z_mean - 0.5 * (data.a + data.b) - mean) / data.scale_mean
            + fabs(data.z_sse - sse) / data.scale_sse
            + fabs(data.z_low - low) / data.scale_low + fabs(data.z_high - high) / data.scale_high)


cdef inline bint c_accepts(double u, double gap) noexcept nogil:
    """Whether u < exp(-gap), which is at least 1 - gap: mostly that says it without an exponential."""
    return u < 1.0 - gap - 1e-15 or u < exp(-gap)


cdef int64_t records_fill(Setting *data, State *state, bint again, double[::1] x, int64_t burn_in, double[:, ::1] out,
                          bitgen_t *bits) noexcept nogil:
    cdef int64_t t, i, low, high, low2, high2, n = data.n, accepted = 0
    cdef double middle = 0.5 * (data.a + data.b), half = 0.5 * (data.b - data.a), first, second, first2, second2
    cdef double misfit, fresh, y, centre, sse
    for t in range(burn_in + out.shape[0]):
        first = second = 0.0
        low = high = 0
        for i in range(n):
            y = x[i] - middle
            if y < -half:
                low += 1
            elif y > half:
                high += 1
            else:
                first += y
                second += y * y
        misfit = c_misfit(data, low, high, first, second)
        for i in range(n):
            low2, high2, first2, second2 = low, high, first, second
            y = x[i] - middle
            if y < -half:
                low2 -= 1
            elif y > half:
                high2 -= 1
            else:
                first2 -= y
                second2 -= y * y
            y = state.mu - middle + sqrt(state.sigma2) * random_standard_normal(bits)
            if y < -half:
                low2 += 1
            elif y > half:
                high2 += 1
            else:
                first2 += y
                second2 += y * y
            fresh = c_misfit(data, low2, high2, first2, second2)
            if c_accepts(c_uniform(bits), fresh - misfit):
                x[i] = y + middle
                low, high, first, second, misfit = low2, high2, first2, second2, fresh
                accepted += 1
        state.low, state.high = low, high
        state.mean = middle + (first / (n - low - high) if n > low + high else 0.0)
        state.sse = fmax(second - first * (state.mean - middle), 0.0)
        centre = sse = 0.0
        for i in range(n):
            centre += x[i]
        centre /= n
        for i in range(n):
            sse += (x[i] - centre) * (x[i] - centre)
        c_theta(data, state, centre, sse, False, bits)
        if again:
            c_release(data, state, bits)
        if t >= burn_in:
            c_store(state, out, t - burn_in)
    return accepted


def records_chain(release, n, a, b, scales, prior, initial, records, *, draws, burn_in, rng, again=False, sums=False):
    """Gibbs chain through all records; exact. The mean of no uncensored records is taken as (a + b)/2.

    Parameters
    ----------
    release, n, a, b, scales, prior, initial, draws, burn_in, again : as in `censored_gibbs.statistics_chain`.
    records : float64 (n,), first values.
    sums : the release holds noisy sums of x and of x^2, about the middle of [a, b], in place of mean and sum of
        squares.
    rng : numpy Generator. A sweep uses a standard normal and a uniform a record, then one normal and one gamma.

    Returns
    -------
    float64 (draws, 6) as in `statistics_chain`; and the share of accepted records. O(n) a sweep.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    found = checked(release, n, a, b, scales, prior, initial, sums=bool(sums))
    _checks.generator(rng)
    cdef Setting data = c_setting(found, sums)
    cdef State state
    state.mu, state.sigma2 = found.initial
    cdef double[::1] x = np.array(_checks.reals("records", records), dtype=np.float64)
    if x.shape[0] != found.n:
        raise ValueError(f"records must have n = {n} entries, got {x.shape[0]}")
    cdef int64_t skip = _checks.whole("burn_in", burn_in), accepted
    cdef bint fresh = again
    out = np.empty((_checks.whole("draws", draws), 6))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        accepted = records_fill(&data, &state, fresh, x, skip, view, bits)
    return out, accepted / max(1, n * (burn_in + draws))
