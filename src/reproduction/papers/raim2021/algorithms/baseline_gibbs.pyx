# cython: language_level=3
"""Sweeps of Bernstein and Sheldon's (2018) Gibbs sampler for the censored normal model (bernstein_sheldon.py), for all
chains in parallel.

Records are on the scale of the limits. One sweep draws 1/variance of the noise of every statistic, inverse Gaussian
given the noise; s from the product of the normal distribution with its mean and covariance under theta (to first order
in 1/n) and the noise density; the records outside the limits; and mu and sigma2 given the sums of x and x^2 over all n
records, with the statistics moved to the nearest possible values.
"""
import numpy as np

from libc.math cimport fabs, fmax, fmin, log1p, rint, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma, random_standard_normal, random_wald
from scipy.special.cython_special cimport log_ndtr, ndtr, ndtri_exp

from dpmultinomial._kernels.bitgen cimport c_bitgen, c_uniform
from dpmultinomial._posteriors.censored.inside_density cimport NODES, Rule, Tilted, c_tilt

from dpmultinomial import _checks

cdef enum:  # columns of the state of a chain: s, 1/variance of the noise, sums of x and x^2
    MU = 0
    SIGMA2 = 1
    S = 2
    PRECISION = 6
    FIRST = 10
    SECOND = 11
    WIDTH = 12

cdef struct Setting:
    double z[4]
    double scale[4]
    double mu0, var0, shape0, rate0
    int64_t n


cdef inline bint c_root(const double *a, double *root) noexcept nogil:
    """Compute the lower Cholesky factor of a 4 x 4 matrix, row by row; return whether the factor exists."""
    cdef int i, j, k
    cdef double total
    for i in range(4):
        for j in range(i + 1):
            total = a[4 * i + j]
            for k in range(j):
                total -= root[4 * i + k] * root[4 * j + k]
            if i > j:
                root[4 * i + j] = total / root[5 * j]
            elif total > 0.0:
                root[5 * i] = sqrt(total)
            else:
                return False
    return True


cdef inline void c_inverse(const double *root, double *out) noexcept nogil:
    """Compute the inverse of the matrix with this Cholesky factor."""
    cdef double half[16]
    cdef double total
    cdef int i, j, k
    for j in range(4):  # inverse of the Cholesky factor, by columns
        half[5 * j] = 1.0 / root[5 * j]
        for i in range(j + 1, 4):
            total = 0.0
            for k in range(j, i):
                total -= root[4 * i + k] * half[4 * k + j]
            half[4 * i + j] = total / root[5 * i]
    for i in range(4):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, 4):
                total += half[4 * k + i] * half[4 * k + j]
            out[4 * i + j] = out[4 * j + i] = total


cdef inline void c_normal_law(const Rule *rule, double mu, double sigma2, double n, double *mean,
                              double *covariance) noexcept nogil:
    """Compute mean and covariance of (mean, sse, low, high) from `inside_moments`, with a slightly larger diagonal."""
    cdef double sigma = sqrt(sigma2), shift = fmin(fmax(mu, -1.0), 1.0), second = 0.0, third = 0.0, fourth = 0.0, d, w
    cdef double low = ndtr((-1.0 - mu) / sigma), high = ndtr((mu - 1.0) / sigma)
    cdef double p = fmin(fmax(1.0 - low - high, 0.0), 1.0), c = fmax(n * p, 2.0)
    cdef Tilted law
    cdef int i
    c_tilt(rule, (mu - shift) / sigma2, -0.5 / sigma2, shift, &law)
    for i in range(NODES):
        d = law.d[i] - law.m1
        w = law.p[i] * d * d
        second += w
        third += w * d
        fourth += w * d * d
    mean[0], mean[1], mean[2], mean[3] = shift + law.m1, (c - 1.0) * second, n * low, n * high
    for i in range(16):
        covariance[i] = 0.0
    covariance[0] = second / c
    covariance[1] = covariance[4] = third * (c - 1.0) / c
    covariance[5] = c * (fourth - second * second) + second * second * n * p * (1.0 - p)
    covariance[6] = covariance[9] = -second * n * low * p
    covariance[7] = covariance[13] = -second * n * high * p
    covariance[10], covariance[15] = n * low * (1.0 - low), n * high * (1.0 - high)
    covariance[11] = covariance[14] = -n * low * high
    for i in range(4):
        covariance[5 * i] += 1e-9 * covariance[5 * i] + 1e-12


cdef inline bint c_statistics(const Rule *rule, const Setting *data, double *at, bitgen_t *bits) noexcept nogil:
    """Draw s of one chain given theta and the noise variances; return False if a matrix is not positive definite."""
    cdef double mean[4]
    cdef double pull[4]
    cdef double a[16]
    cdef double b[16]
    cdef double normal
    cdef int i, j
    # normal approximation of s given theta: mean m and covariance A
    c_normal_law(rule, at[MU], at[SIGMA2], data.n, mean, a)
    if not c_root(a, b):
        return False
    c_inverse(b, a)
    # precision A^-1 + diag(1/v) and A^-1 m + z/v, for the noise variances v
    for i in range(4):
        pull[i] = at[PRECISION + i] * data.z[i]
        for j in range(4):
            pull[i] += a[4 * i + j] * mean[j]
    for i in range(4):
        a[5 * i] += at[PRECISION + i]
    if not c_root(a, b):
        return False
    c_inverse(b, a)
    if not c_root(a, b):
        return False
    # s = covariance (A^-1 m + z/v) + root of the covariance times normal draws
    for i in range(4):
        at[S + i] = 0.0
        for j in range(4):
            at[S + i] += a[4 * i + j] * pull[j]
    for j in range(4):
        normal = random_standard_normal(bits)
        for i in range(j, 4):
            at[S + i] += b[4 * i + j] * normal
    return True


cdef bint statistics_fill(const Rule *rule, const Setting *data, double[:, ::1] at, bitgen_t *bits) noexcept nogil:
    """Draw the noise variances of all chains, then the statistics of all chains."""
    cdef Py_ssize_t k, i
    cdef double noise
    for k in range(at.shape[0]):
        for i in range(4):
            noise = fmax(fabs(data.z[i] - at[k, S + i]), 1e-12 * data.scale[i])
            at[k, PRECISION + i] = random_wald(bits, 1.0 / (data.scale[i] * noise),
                                               1.0 / (data.scale[i] * data.scale[i]))
    for k in range(at.shape[0]):
        if not c_statistics(rule, data, &at[k, 0], bits):
            return False
    return True


cdef void theta_fill(const Setting *data, double[:, ::1] at, bitgen_t *bits) noexcept nogil:
    """Draw the records below the limits of all chains, those above, then mu and sigma2."""
    cdef Py_ssize_t k
    cdef int64_t i, low, count
    cdef int side
    cdef double sign, c, mean, mu, sigma, tail, x, first, second, precision, n = <double> data.n
    # sums of the records: those inside from s, those outside drawn from the tails of N(mu, sigma2)
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for k in range(at.shape[0]):
            low = <int64_t> fmin(fmax(rint(at[k, S + 2]), 0.0), n - 1.0)
            count = <int64_t> fmin(fmax(rint(at[k, S + 3]), 0.0), n - 1.0 - low)
            if side == 0:
                c, mean = n - low - count, fmin(fmax(at[k, S], -1.0), 1.0)
                at[k, FIRST], at[k, SECOND] = c * mean, fmin(fmax(at[k, S + 1], 0.0), c) + c * mean * mean
                count = low
            mu, sigma, first, second = sign * at[k, MU], sqrt(at[k, SIGMA2]), 0.0, 0.0
            tail = log_ndtr((-1.0 - mu) / sigma)
            for i in range(count):
                x = mu + sigma * ndtri_exp(log1p(-c_uniform(bits)) + tail)
                first += x
                second += x * x
            at[k, FIRST] += sign * first
            at[k, SECOND] += second
    # mu given sigma2 and the records
    for k in range(at.shape[0]):
        precision = n / at[k, SIGMA2] + 1.0 / data.var0
        at[k, MU] = (at[k, FIRST] / at[k, SIGMA2] + data.mu0 / data.var0) / precision
        at[k, MU] += random_standard_normal(bits) / sqrt(precision)
    # sigma2 given mu and the records
    for k in range(at.shape[0]):
        x = at[k, SECOND] - 2.0 * at[k, MU] * at[k, FIRST] + n * at[k, MU] * at[k, MU]
        at[k, SIGMA2] = (data.rate0 + 0.5 * fmax(x, 0.0)) / random_standard_gamma(bits, data.shape0 + 0.5 * n)


cdef int64_t gibbs_fill(const Rule *rule, const Setting *data, double[:, ::1] at, int64_t burn_in,
                        double[:, :, ::1] out, bitgen_t *bits) noexcept nogil:
    """Run the sweeps and return their number: fewer than requested if a matrix is not positive definite."""
    cdef int64_t t
    cdef Py_ssize_t k
    for t in range(burn_in + out.shape[1]):
        if not statistics_fill(rule, data, at, bits):
            return t
        theta_fill(data, at, bits)
        if t >= burn_in:
            for k in range(at.shape[0]):
                out[k, t - burn_in, 0], out[k, t - burn_in, 1] = at[k, MU], at[k, SIGMA2]
    return burn_in + out.shape[1]


cdef Rule _rule():
    cdef Rule rule
    cdef int i
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    for i in range(NODES):
        rule.x[i], rule.w[i] = nodes[i], weights[i]
    return rule


cdef Rule RULE = _rule()


cdef Setting _setting(release, n, scales, prior) except *:
    cdef Setting data
    cdef int i
    z, size = _checks.reals("release", release), _checks.positives("scales", scales, 4)
    values = _checks.reals("prior", prior)
    if len(z) != 4:
        raise ValueError(f"release must have 4 entries, got {len(z)} entries")
    if len(values) != 4 or values[1:].min() <= 0.0:
        raise ValueError(f"prior must have the form (mu0, var0 > 0, shape0 > 0, rate0 > 0), got {values.tolist()}")
    for i in range(4):
        data.z[i], data.scale[i] = z[i], size[i]
    data.mu0, data.var0, data.shape0, data.rate0 = values
    data.n = _checks.integer("n", n, least=4)
    return data


def _state(start):
    first = _checks.shaped("start", start, None, 6)
    if not len(first) or first[:, 1].min() <= 0.0:
        raise ValueError(f"start must have at least one row and only sigma2 > 0, got sigma2 = {first[:, 1].tolist()}")
    state = np.zeros((len(first), WIDTH))
    state[:, :6] = first
    return state


def gibbs(release, n, scales, prior, start, *, draws, burn_in, rng):
    """Return dependent draws of (mu, sigma2) from a Gibbs sampler, for several chains.

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high).
    n : number of records, >= 4.
    scales : Laplace scales, one per statistic.
    prior : (mu0, var0, shape0, rate0).
    start : float64 (chains, 6): mu, sigma2 > 0 and the statistics.
    draws, burn_in : number of sweeps kept, and of sweeps discarded.
    rng : numpy Generator. A sweep uses 4 inverse Gaussian draws per chain, 4 normals per chain, a uniform per record
        below, chain by chain, and per record above, a normal per chain, and a gamma per chain.

    Returns
    -------
    float64 (chains, draws, 2). The cost of a sweep is proportional to the number of records outside the limits.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    numpy.linalg.LinAlgError
        If a covariance matrix of a normal distribution is not positive definite.
    """
    cdef Setting data = _setting(release, n, scales, prior)
    state = _state(start)
    cdef double[:, ::1] at = state
    out = np.empty((len(state), _checks.integer("draws", draws), 2))
    cdef double[:, :, ::1] view = out
    cdef int64_t skip = _checks.integer("burn_in", burn_in), done
    _checks.generator(rng)
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        done = gibbs_fill(&RULE, &data, at, skip, view, bits)
    if done < skip + out.shape[1]:
        theta = state[:, :2].tolist()
        raise np.linalg.LinAlgError(f"the covariance of the statistics is not positive definite in sweep {done}, "
                                    f"with (mu, sigma2) = {theta}")
    return out


def statistics(release, n, scales, start, *, rng):
    """Draw the first half of a sweep, which consists of the noise variances and then the statistics.

    Parameters
    ----------
    release, n, scales, start, rng : as in `gibbs`, which raises the same errors.

    Returns
    -------
    float64 (chains, 4)
    """
    cdef Setting data = _setting(release, n, scales, (0.0, 1.0, 1.0, 1.0))
    state = _state(start)
    cdef double[:, ::1] at = state
    cdef bint computed
    _checks.generator(rng)
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        computed = statistics_fill(&RULE, &data, at, bits)
    if not computed:
        raise np.linalg.LinAlgError("the covariance of the statistics is not positive definite at (mu, sigma2) = "
                                    f"{state[:, :2].tolist()}")
    return state[:, S : S + 4]
