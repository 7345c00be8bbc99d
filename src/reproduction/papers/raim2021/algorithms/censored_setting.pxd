# cython: language_level=3, cdivision=True, wraparound=False
"""What the chain of statistics and the chain of records share: the setting, theta given all records, a new release."""
from libc.math cimport fabs, fmax, log, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma, random_standard_normal

from dpmultinomial._kernels.bitgen cimport c_open
from dpmultinomial._kernels.log_probabilities cimport c_gaussian

cdef struct Setting:
    double z_mean, z_sse, z_low, z_high
    double scale_mean, scale_sse, scale_low, scale_high
    double a, b, mu0, var0, shape0, rate0
    int64_t n
    bint sums  # z_mean, z_sse hold noisy sums of x and x^2 about the middle of [a, b] instead

cdef struct State:
    double mu, sigma2, mean, sse
    int64_t low, high

cdef inline double c_laplace(bitgen_t *bits, double scale) noexcept nogil:
    cdef double u = c_open(bits)
    return scale * log(2.0 * u) if u < 0.5 else -scale * log(2.0 * (1.0 - u))


cdef inline double c_log_inside(const Setting *data, double mu, double sigma2) noexcept nogil:
    """log P(a < x < b)."""
    return c_gaussian((data.a - mu) / sqrt(sigma2), (data.b - data.a) / sqrt(sigma2))


cdef inline int64_t c_theta(const Setting *data, State *state, double centre, double sse, bint factor,
                            bitgen_t *bits) noexcept nogil:
    """mu, then sigma2, from their conditionals given all n records (mean `centre`, sum of squares `sse` about it).

    With `factor` each is only proposed, and accepted with the ratio of P(a < x < b)^s_c; returns how many were.
    """
    cdef double precision = data.n / state.sigma2 + 1.0 / data.var0, inside = 0.0, fresh
    cdef double mu = (data.n * centre / state.sigma2 + data.mu0 / data.var0) / precision, sigma2
    cdef int64_t c = data.n - state.low - state.high, accepted = 0
    mu += random_standard_normal(bits) / sqrt(precision)
    if factor:
        inside = c_log_inside(data, state.mu, state.sigma2)
        fresh = c_log_inside(data, mu, state.sigma2)
        if log(c_open(bits)) < c * (fresh - inside):
            state.mu, inside, accepted = mu, fresh, 1
    else:
        state.mu = mu
    sigma2 = data.rate0 + 0.5 * (sse + data.n * (centre - state.mu) * (centre - state.mu))
    sigma2 /= random_standard_gamma(bits, data.shape0 + 0.5 * data.n)
    if not factor or log(c_open(bits)) < c * (c_log_inside(data, state.mu, sigma2) - inside):
        state.sigma2 = sigma2
        accepted += 1
    return accepted


cdef inline void c_release(Setting *data, const State *state, bitgen_t *bits) noexcept nogil:
    """A new release of the current statistics."""
    cdef double c = <double> (data.n - state.low - state.high), distance = state.mean - 0.5 * (data.a + data.b)
    data.z_mean = (c * distance if data.sums else state.mean) + c_laplace(bits, data.scale_mean)
    data.z_sse = state.sse + (c * distance * distance if data.sums else 0.0) + c_laplace(bits, data.scale_sse)
    data.z_low = state.low + c_laplace(bits, data.scale_low)
    data.z_high = state.high + c_laplace(bits, data.scale_high)


cdef inline void c_store(const State *state, double[:, ::1] out, int64_t row) noexcept nogil:
    out[row, 0], out[row, 1], out[row, 2], out[row, 3] = state.mu, state.sigma2, state.mean, state.sse
    out[row, 4], out[row, 5] = <double> state.low, <double> state.high


cdef inline Setting c_setting(object arguments, bint sums) except *:
    """From `_censored_arguments.checked`."""
    cdef Setting data
    data.z_mean, data.z_sse, data.z_low, data.z_high = arguments.release
    data.scale_mean, data.scale_sse, data.scale_low, data.scale_high = arguments.scales
    data.n, data.a, data.b, data.sums = arguments.n, arguments.a, arguments.b, sums
    data.mu0, data.var0, data.shape0, data.rate0 = arguments.prior
    return data
