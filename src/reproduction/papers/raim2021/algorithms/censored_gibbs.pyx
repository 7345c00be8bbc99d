# cython: language_level=3
"""Gibbs samplers for (mu, sigma2) given a noisy censored release (Raim 2021, "Analysis of Sensitive Data").

x_1 .. x_n ~ N(mu, sigma2). Records in [a, b] determine s_mean and s_sse, the others the counts s_low and s_high. The
release is z = s + Laplace noise, with one scale per statistic. The prior is mu ~ N(mu0, var0), sigma2 ~ IG(shape0,
rate0). One sweep draws s given theta and z, the censored records, then mu and sigma2.

``statistics_chain`` draws s from [s | theta] and the closed-form noise distributions, in three forms:

- ``"as_written"``: as in the slides: s_high, then s_low, then s_mean ~ N(mu, sigma2/s_c) and s_sse ~ sigma2 chi^2(s_c -
1).
- ``"corrected"``: (s_low, s_high) jointly, weighted by the normalising constants of the noise distributions, and the
  moments of the truncated normal for s_mean and s_sse (a gamma distribution with the same mean and variance).
- ``"slides_model"``: the joint counts with the slides' distributions, and the factor P(a < x < b)^s_c, which is
  required for a consistent model.

``records_chain`` keeps all n records, proposes each from N(mu, sigma2) and accepts it with the ratio of the noise
densities. It is exact (Raim 2021 gives only the model). A sweep costs O(n).
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, fabs, fmax, fmin, log, log1p, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma, random_standard_normal
from scipy.special.cython_special cimport log_ndtr, ndtri_exp

from dpmultinomial._kernels.bitgen cimport c_bitgen, c_open, c_uniform
from dpmultinomial._kernels.log_probabilities cimport FOUR, c_gaussian

from .laplace_noise cimport (GammaNoise, NormalNoise, c_gamma_log_psi, c_gamma_log_psi_four, c_gamma_noise,
                             c_gamma_quantile, c_normal_noise, c_normal_quantile)

from dpmultinomial import _checks
from .censored_arguments import checked

# Both chains: the setting, theta given all records, and a new release.

cdef struct Setting:
    double z_mean, z_sse, z_low, z_high
    double scale_mean, scale_sse, scale_low, scale_high
    double a, b, mu0, var0, shape0, rate0
    int64_t n
    bint sums  # z_mean, z_sse are noisy sums of x and x^2 about the middle of [a, b] instead

cdef struct State:
    double mu, sigma2, mean, sse
    int64_t low, high

cdef inline double c_laplace(bitgen_t *bits, double scale) noexcept nogil:
    cdef double u = c_open(bits)
    return scale * log(2.0 * u) if u < 0.5 else -scale * log(2.0 * (1.0 - u))


cdef inline double c_log_inside(const Setting *data, double mu, double sigma2) noexcept nogil:
    """Return log P(a < x < b)."""
    return c_gaussian((data.a - mu) / sqrt(sigma2), (data.b - data.a) / sqrt(sigma2))


cdef inline int64_t c_theta(const Setting *data, State *state, double centre, double sse, bint factor,
                            bitgen_t *bits) noexcept nogil:
    """Draw mu, then sigma2, from their conditionals given all n records (mean `centre`, sum of squares `sse` about it).

    With `factor`, each is a proposal that is accepted with the ratio of P(a < x < b)^s_c; the number accepted is
    returned.
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
    """Draw a new release of the current statistics."""
    cdef double c = <double> (data.n - state.low - state.high), distance = state.mean - 0.5 * (data.a + data.b)
    data.z_mean = (c * distance if data.sums else state.mean) + c_laplace(bits, data.scale_mean)
    data.z_sse = state.sse + (c * distance * distance if data.sums else 0.0) + c_laplace(bits, data.scale_sse)
    data.z_low = state.low + c_laplace(bits, data.scale_low)
    data.z_high = state.high + c_laplace(bits, data.scale_high)


cdef inline void c_store(const State *state, double[:, ::1] out, int64_t row) noexcept nogil:
    out[row, 0], out[row, 1], out[row, 2], out[row, 3] = state.mu, state.sigma2, state.mean, state.sse
    out[row, 4], out[row, 5] = <double> state.low, <double> state.high


cdef inline Setting c_setting(object arguments, bint sums) except *:
    """Convert the result of `censored_arguments.checked`."""
    cdef Setting data
    data.z_mean, data.z_sse, data.z_low, data.z_high = arguments.release
    data.scale_mean, data.scale_sse, data.scale_low, data.scale_high = arguments.scales
    data.n, data.a, data.b, data.sums = arguments.n, arguments.a, arguments.b, sums
    data.mu0, data.var0, data.shape0, data.rate0 = arguments.prior
    return data


# Distributions of the statistics under theta, as used by the chain of statistics.
cdef struct Law:
    double log_low, log_high, log_inside, log_not_high  # for one record: below a, above b, inside, not above b
    double centre, variance, power, beta  # s_mean ~ N(centre, variance/c), s_sse ~ Gamma(power (c - 1), beta)


cdef inline void c_moments(const Setting *data, double mu, double sigma2, const double[::1] nodes,
                           const double[::1] weights, Law *law) noexcept nogil:
    """Compute mean and variance of a record in [a, b], and the gamma distribution with the mean and variance of s_sse.

    Gauss-Legendre over the range where the density is above exp(-40) of its maximum: no cancellation for any mu.
    """
    cdef double top = fmin(fmax(mu, data.a), data.b), reach, low, high, x, w, total = 0.0, fourth = 0.0
    cdef Py_ssize_t i
    reach = sqrt((top - mu) * (top - mu) + 80.0 * sigma2)
    low, high = fmax(data.a, mu - reach), fmin(data.b, mu + reach)
    law.centre = law.variance = 0.0
    for i in range(nodes.shape[0]):
        x = 0.5 * (high - low) * nodes[i] + 0.5 * (low + high) - top
        w = weights[i] * exp(-0.5 * x * (x + 2.0 * (top - mu)) / sigma2)
        total += w
        law.centre += w * x
        law.variance += w * x * x
    law.centre /= total
    law.variance = 0.0
    for i in range(nodes.shape[0]):
        x = 0.5 * (high - low) * nodes[i] + 0.5 * (low + high) - top
        w = weights[i] * exp(-0.5 * x * (x + 2.0 * (top - mu)) / sigma2) / total
        x -= law.centre
        law.variance += w * x * x
        fourth += w * x * x * x * x
    law.centre += top
    law.beta = fourth / law.variance - law.variance
    law.power = law.variance / law.beta


# Draws of one outside count, by inversion, at a cost proportional to its spread for any n. A count s of n records has
# the weight exp(f(s) + (n - s) log(1 - p) - log (n - s)!), f(s) = s log p - log s! - |z - s|/scale. The log weight is
# concave, so bisection finds the mode and the counts with a weight of at least exp(-`DEPTH`) times the largest weight.
cdef enum:
    DEPTH = 38  # counts with a weight below exp(-DEPTH) times the largest weight are neglected
    LEAST_COUNT = 4  # with fewer uncensored records, the gamma weight is unbounded

cdef struct Side:  # an outside count: log probability of an outside record and of another record, and the release
    double log_p, log_rest, z, scale

cdef struct Box:  # s_high in h0 .. h1, s_low in l0 .. l1, their sum in m0 .. m1
    int64_t h0, h1, l0, l1, m0, m1


cdef inline int64_t c_most(int64_t a, int64_t b) noexcept nogil:
    return a if a > b else b


cdef inline int64_t c_least(int64_t a, int64_t b) noexcept nogil:
    return a if a < b else b


cdef inline double c_term(const Side *side, const double[::1] factorial, int64_t s) noexcept nogil:
    return s * side.log_p - factorial[s] - fabs(side.z - s) / side.scale


cdef inline double c_alone(const Side *side, const double[::1] factorial, int64_t n, int64_t s) noexcept nogil:
    return c_term(side, factorial, s) + (n - s) * side.log_rest - factorial[n - s]


cdef inline double c_weigh(const Side *side, int64_t n, const double[::1] factorial, double[:, ::1] work,
                           Box *box) noexcept nogil:
    """Set row 0 from h0 to h1 to the weights of a single count (binomial times the noise density); return their sum."""
    cdef int64_t low = 0, high = n - LEAST_COUNT, middle, mode
    cdef double top, value, total = 0.0
    # mode of the log-concave weights by bisection
    while low < high:
        middle = (low + high) // 2
        if c_alone(side, factorial, n, middle + 1) > c_alone(side, factorial, n, middle):
            low = middle + 1
        else:
            high = middle
    mode, top = low, c_alone(side, factorial, n, low)
    # first count h0 with a weight within exp(-DEPTH) of the largest, by bisection
    low, high = 0, mode
    while low < high:
        middle = (low + high) // 2
        if c_alone(side, factorial, n, middle) > top - DEPTH:
            high = middle
        else:
            low = middle + 1
    box.h0, box.h1 = low, mode
    # weights relative to the largest, up to the last count h1 within exp(-DEPTH)
    for low in range(box.h0, n - LEAST_COUNT + 1):
        value = c_alone(side, factorial, n, low) - top
        if low > mode and value < -DEPTH:
            break
        work[0, low], box.h1 = exp(value), low
        total += work[0, low]
    return total


cdef inline int64_t c_count(const Side *side, int64_t n, const double[::1] factorial, double[:, ::1] work,
                            bitgen_t *bits) noexcept nogil:
    """Draw a single count, by inversion."""
    cdef Box box
    cdef double target = c_weigh(side, n, factorial, work, &box) * c_uniform(bits), total = 0.0
    cdef int64_t s
    for s in range(box.h0, box.h1):
        total += work[0, s]
        if total > target:
            return s
    return box.h1


cdef inline void c_counts_in_turn(const Setting *data, const Law *law, const double[::1] factorial,
                                  double[:, ::1] work, State *state, bitgen_t *bits) noexcept nogil:
    """Draw as in the slides: s_high from its binomial times the noise density, then s_low given s_high likewise."""
    cdef Side high = Side(law.log_high, law.log_not_high, data.z_high, data.scale_high)
    cdef Side low = Side(law.log_low, law.log_inside, data.z_low, data.scale_low)
    state.high = c_count(&high, data.n, factorial, work, bits)
    state.low = c_count(&low, data.n - state.high, factorial, work, bits)


# Joint draws of (s_high, s_low), by inversion, at a cost proportional to their spread for any n. The log weight is
# f(high) + g(low) + R(low + high), with f and g as above and R(m) the term of the n - m records inside. At its maximum
# there is a common slope b of f, g and -R, so that with this slope subtracted A(s) = exp(f(s) - f(s*) - b (s - s*)),
# B(t) and C(m) = exp(R(m) - R(m*) + b (m - m*)) are at most 1: outside the range where A, B and, for the best pair of a
# sum, A B C are above exp(-`DEPTH`), no pair has a weight above this fraction of the largest. f and g are concave. R is
# concave unless the release is extremely improbable, and then (C above 1) the range is extended by the excess.
cdef enum:
    NEAR = 2  # groups of four sums on each side of the previous pair's sum that are computed before the search
    ROWS = 5  # of the work array: A by s_high, B by s_low, R by their sum (NaN: not computed), C, A times sums of B C

cdef struct Joint:
    Side high, low
    const Setting *data
    const Law *law
    int64_t first, last  # range of the sums at which R has been computed


cdef inline double c_rest(Joint *joint, const double[::1] factorial, double[:, ::1] work, int64_t m) noexcept nogil:
    """Return R(m) for n - m records inside, with the normalising constants of their noise; -inf if not defined."""
    cdef int64_t c = joint.data.n - m
    if m < 0 or c < LEAST_COUNT:
        return -INFINITY
    if work[2, m] != work[2, m]:
        work[2, m] = (c * joint.law.log_inside - factorial[c]
                      + c_normal_noise(joint.data.z_mean - joint.law.centre, joint.law.variance / c,
                                       joint.data.scale_mean).log_total
                      + c_gamma_log_psi(joint.data.z_sse, joint.law.power * (c - 1), joint.law.beta,
                                        joint.data.scale_sse))
        joint.first = c_least(m, joint.first)
        joint.last = c_most(m, joint.last)
    return work[2, m]


cdef inline void c_rests(Joint *joint, double[:, ::1] work, const double[::1] factorial, int64_t m,
                         int64_t way) noexcept nogil:
    """Compute `c_rest` at m, m + way .., four values together, if none of them is known yet."""
    cdef double shapes[FOUR]
    cdef double psi[FOUR]
    cdef int64_t c, k, end = m + (FOUR - 1) * way
    if not 0 <= end <= joint.data.n - LEAST_COUNT or joint.first <= m <= joint.last or joint.first <= end <= joint.last:
        return
    for k in range(FOUR):
        shapes[k] = joint.law.power * (joint.data.n - m - k * way - 1)
    c_gamma_log_psi_four(joint.data.z_sse, shapes, joint.law.beta, joint.data.scale_sse, psi)
    for k in range(FOUR):
        c = joint.data.n - m - k * way
        work[2, m + k * way] = (c * joint.law.log_inside - factorial[c]
                                + c_normal_noise(joint.data.z_mean - joint.law.centre, joint.law.variance / c,
                                                 joint.data.scale_mean).log_total + psi[k])
    joint.first = c_least(end, joint.first)
    joint.last = c_most(end, joint.last)


cdef inline double c_pair(Joint *joint, const double[::1] factorial, double[:, ::1] work, int64_t s,
                          int64_t t) noexcept nogil:
    """Return the log weight of s_high = s, s_low = t."""
    if s < 0 or t < 0 or s + t > joint.data.n - LEAST_COUNT:
        return -INFINITY
    return c_term(&joint.high, factorial, s) + c_term(&joint.low, factorial, t) + c_rest(joint, factorial, work, s + t)


cdef inline void c_climb(Joint *joint, const double[::1] factorial, double[:, ::1] work, int64_t *s,
                         int64_t *t) noexcept nogil:
    """Move to the pair with the largest weight by steps in one count, or by moving units from one count to the other;
    step lengths are doubled on success.
    """
    cdef int64_t step = 1, ds, dt, best_s, best_t
    cdef double best = c_pair(joint, factorial, work, s[0], t[0]), fresh
    cdef int i
    while step > 0:
        best_s, best_t = s[0], t[0]
        for i in range(6):
            ds, dt = (step if i < 2 else 0), (step if 1 < i < 4 else 0)
            if i > 3:
                ds, dt = step, -step
            if i % 2:
                ds, dt = -ds, -dt
            fresh = c_pair(joint, factorial, work, s[0] + ds, t[0] + dt)
            if fresh > best:
                best, best_s, best_t = fresh, s[0] + ds, t[0] + dt
        if best_s == s[0] and best_t == t[0]:
            step //= 2
        else:
            s[0], t[0] = best_s, best_t
            step *= 2


cdef inline double c_slope(Joint *joint, const double[::1] factorial, double[:, ::1] work, int64_t s,
                           int64_t t) noexcept nogil:
    """Return the slope b at the best pair: the middle of the slopes that f, g and -R have in common."""
    cdef double middle = c_rest(joint, factorial, work, s + t)
    cdef double low = c_rest(joint, factorial, work, s + t - 1) - middle
    cdef double high = middle - c_rest(joint, factorial, work, s + t + 1)
    low = fmax(low, c_term(&joint.high, factorial, s + 1) - c_term(&joint.high, factorial, s))
    low = fmax(low, c_term(&joint.low, factorial, t + 1) - c_term(&joint.low, factorial, t))
    if s > 0:
        high = fmin(high, c_term(&joint.high, factorial, s) - c_term(&joint.high, factorial, s - 1))
    if t > 0:
        high = fmin(high, c_term(&joint.low, factorial, t) - c_term(&joint.low, factorial, t - 1))
    return 0.5 * (low + high) if high < INFINITY else low


cdef inline void c_places(const Side *side, const double[::1] factorial, int64_t most, int64_t mode, double slope,
                          double depth, double *weights, int64_t *first, int64_t *last) noexcept nogil:
    """Compute A or B over the range where it is above exp(-depth)."""
    cdef double top = c_term(side, factorial, mode), value
    cdef int64_t s
    weights[mode] = 1.0
    first[0], last[0] = mode, mode
    for s in range(mode - 1, -1, -1):
        value = c_term(side, factorial, s) - top - slope * (s - mode)
        if not value > -depth:
            break
        weights[s], first[0] = exp(value), s
    for s in range(mode + 1, most + 1):
        value = c_term(side, factorial, s) - top - slope * (s - mode)
        if not value > -depth:
            break
        weights[s], last[0] = exp(value), s


cdef inline int64_t c_sums(Joint *joint, const double[::1] factorial, double[:, ::1] work, int64_t s, int64_t t,
                           int64_t way, double slope, double depth, double *excess) noexcept nogil:
    """Return the last sum in direction `way` with a pair above exp(-depth); `excess` is the largest log C on the path.

    The best pair of the next sum is that of this sum with a step in one count (log A and log B are concave).
    """
    cdef double top = c_rest(joint, factorial, work, s + t), log_ab = 0.0, log_c, gain_s, gain_t
    cdef int64_t m = s + t, start = s + t
    while 0 <= m + way <= joint.data.n - LEAST_COUNT:
        gain_s = gain_t = -INFINITY
        if s + way >= 0:
            gain_s = c_term(&joint.high, factorial, s + way) - c_term(&joint.high, factorial, s) - slope * way
        if t + way >= 0:
            gain_t = c_term(&joint.low, factorial, t + way) - c_term(&joint.low, factorial, t) - slope * way
        log_ab += fmax(gain_s, gain_t)
        c_rests(joint, work, factorial, m + way, way)
        log_c = c_rest(joint, factorial, work, m + way) - top + slope * (m + way - start)
        excess[0] = fmax(excess[0], log_c)
        if not log_ab + log_c > -depth:
            break
        m += way
        if gain_s > gain_t:
            s += way
        else:
            t += way
    return m


cdef inline double c_row_sums(double[:, ::1] work, const Box *box) noexcept nogil:
    """Set row 4 to A(s) times the sum of B(t) C(s + t) over t; return the sum of the row."""
    cdef const double *c = &work[3, 0]
    cdef double *sums = &work[4, 0]
    cdef double weight, total = 0.0
    cdef int64_t s, t
    for s in range(box.h0, box.h1 + 1):
        sums[s] = 0.0
    for t in range(box.l0, box.l1 + 1):
        weight = work[1, t]
        for s in range(c_most(box.h0, box.m0 - t), c_least(box.h1, box.m1 - t) + 1):
            sums[s] += weight * c[s + t]
    for s in range(box.h0, box.h1 + 1):
        sums[s] *= work[0, s]
        total += sums[s]
    return total


cdef inline Box c_weigh_jointly(const Setting *data, const Law *law, const double[::1] factorial,
                                double[:, ::1] work, int64_t high, int64_t low) noexcept nogil:
    """Compute A, B and C; the search for the best pair starts at the possible pair (high, low)."""
    cdef int64_t m, start
    cdef double slope, top, excess = 0.0, depth = 0.0
    cdef Joint joint
    cdef Box box
    joint.high = Side(law.log_high, 0.0, data.z_high, data.scale_high)
    joint.low = Side(law.log_low, 0.0, data.z_low, data.scale_low)
    joint.data, joint.law, joint.first, joint.last = data, law, high + low, high + low - 1
    # R(m) near the starting pair, then the pair with the largest weight
    for m in range(NEAR):
        c_rests(&joint, work, factorial, joint.first - 1, -1)
        c_rests(&joint, work, factorial, joint.last + 1, 1)
    c_climb(&joint, factorial, work, &high, &low)
    # slope b at the best pair, and the range of the sums, which is extended until `excess` does not grow
    start = high + low
    slope, top = c_slope(&joint, factorial, work, high, low), c_rest(&joint, factorial, work, start)
    while depth < DEPTH + excess:
        depth = DEPTH + excess
        box.m0 = c_sums(&joint, factorial, work, high, low, -1, slope, depth, &excess)
        box.m1 = c_sums(&joint, factorial, work, high, low, 1, slope, depth, &excess)
    # C(m), and the ranges and weights A and B of the two counts
    for m in range(box.m0, box.m1 + 1):
        work[3, m] = exp(c_rest(&joint, factorial, work, m) - top + slope * (m - start) - excess)
    c_places(&joint.high, factorial, data.n - LEAST_COUNT, high, slope, depth, &work[0, 0], &box.h0, &box.h1)
    c_places(&joint.low, factorial, data.n - LEAST_COUNT, low, slope, depth, &work[1, 0], &box.l0, &box.l1)
    for m in range(joint.first, joint.last + 1):
        work[2, m] = NAN
    return box


cdef inline void c_counts_jointly(const Setting *data, const Law *law, const double[::1] factorial,
                                  double[:, ::1] work, State *state, bitgen_t *bits) noexcept nogil:
    """Draw (s_low, s_high): multinomial times both noises times the normalising constants at s_c = n - s_low - s_high.

    The draw is by inversion, s_high before s_low. `state` contains a possible pair.
    """
    cdef Box box = c_weigh_jointly(data, law, factorial, work, state.high, state.low)
    cdef double target = c_row_sums(work, &box) * c_uniform(bits), total = 0.0, value
    cdef int64_t s, t, first
    for s in range(box.h0, box.h1 + 1):
        state.high = s
        if total + work[4, s] > target:
            break
        total += work[4, s]
    first = c_most(box.l0, box.m0 - state.high)
    state.low = first
    for t in range(first, c_least(box.l1, box.m1 - state.high) + 1):
        value = work[0, state.high] * work[1, t] * work[3, state.high + t]
        total += value
        if value > 0.0:
            state.low = t
        if total > target:
            break


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
    """Draw s_mean and s_sse of the uncensored records from their closed-form distributions, by inversion."""
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
        for i in range(state.low + state.high):  # the censored records, measured from s_mean
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
    """Run the Gibbs chain of the statistics.

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high), within 10^7 scales of the ranges of the statistics.
    n : number of records, 4 to 10^7.
    a, b : censoring limits, a < b.
    scales : Laplace scales of the four statistics.
    prior : (mu0, var0, shape0, rate0).
    initial : (mu, sigma2).
    form : ``"as_written"``, ``"corrected"`` or ``"slides_model"`` (see the module docstring).
    draws, burn_in : number of sweeps kept, and of sweeps discarded before them.
    rng : numpy Generator. A sweep uses one uniform for the counts (two as written), one for s_mean, one for s_sse, one
        per censored record (s_low, then s_high), a standard normal and a standard gamma; ``"slides_model"`` uses one
        more uniform after each of the last two; `again` uses four more.
    again : whether the release is redrawn from the current statistics after every sweep (Geweke's joint distribution
        test: the distribution of theta is then its prior).

    Returns
    -------
    float64 (draws, 6): mu, sigma2, s_mean, s_sse, s_low, s_high; and the acceptance rate (1 without proposals). The
        cost of a sweep is proportional to the number of outside records, plus, for the joint counts, the square of
        their spread.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    arguments = checked(release, n, a, b, scales, prior, initial)
    _checks.one_of("form", form, tuple(FORMS))
    _checks.generator(rng)
    cdef Setting data = c_setting(arguments, False)
    cdef State state
    state.mu, state.sigma2 = arguments.initial
    state.high = <int64_t> min(max(data.z_high, 0.0), data.n - LEAST_COUNT)  # start of the search for the first pair
    state.low = <int64_t> min(max(data.z_low, 0.0), data.n - LEAST_COUNT - state.high)
    cdef const double[::1] x = _NODES, w = _WEIGHTS
    cdef const double[::1] factorial = _factorials(arguments.n)
    cdef double[:, ::1] work = np.full((ROWS, arguments.n + 1), np.nan)
    cdef int64_t skip = _checks.integer("burn_in", burn_in), accepted
    cdef int code = FORMS[form]
    cdef bint fresh = again
    out = np.empty((_checks.integer("draws", draws), 6))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        accepted = statistics_fill(&data, &state, code, fresh, factorial, x, w, work, skip, view, bits)
    return out, accepted / max(1, 2 * (burn_in + draws)) if code == SLIDES_MODEL else 1.0


def inside_moments(mu, sigma2, a, b):
    """Return mean and variance of N(mu, sigma2) in [a, b], and the gamma distribution matched to the sum of squares.

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
        If an argument is invalid.
    """
    middle = 0.5 * _checks.number("a", a) + 0.5 * _checks.number("b", b)
    arguments = checked((middle, 0.0, 0.0, 0.0), 4, a, b, 1.0, (0.0, 1.0, 1.0, 1.0),
                    (_checks.number("mu", mu), _checks.positive("sigma2", sigma2)))
    cdef Setting data = c_setting(arguments, False)
    cdef Law law
    cdef const double[::1] x = _NODES, w = _WEIGHTS
    c_moments(&data, arguments.initial[0], arguments.initial[1], x, w, &law)
    return law.centre, law.variance, law.power, law.beta


def counts_law(release, n, a, b, scales, theta, *, form, near=(0, 0)):
    """Return the distribution from which a sweep draws (s_high, s_low).

    Parameters
    ----------
    release, n, a, b, scales, form : as in `statistics_chain`.
    theta : (mu, sigma2).
    near : (s_high, s_low), a possible pair at which the search for the best pair starts.

    Returns
    -------
    float64 (n + 1, n + 1), rows s_high; 0 if a pair has a weight below exp(-38) times the largest weight.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    arguments = checked(release, n, a, b, scales, (0.0, 1.0, 1.0, 1.0), theta)
    _checks.one_of("form", form, tuple(FORMS))
    cdef Setting data = c_setting(arguments, False)
    cdef State state
    state.mu, state.sigma2 = arguments.initial
    pair = _checks.counts("near", near).tolist()
    if len(pair) != 2:
        raise ValueError(f"near must contain two counts, got {len(pair)}")
    high, low = pair
    if high + low > arguments.n - LEAST_COUNT:
        raise ValueError(f"near must leave at least {LEAST_COUNT} records, got {high} and {low} of {arguments.n}")
    cdef Law law = c_law(&data, &state, FORMS[form], _NODES, _WEIGHTS)
    cdef const double[::1] factorial = _factorials(arguments.n)
    work = np.full((ROWS, arguments.n + 1), np.nan)
    out = np.zeros((arguments.n + 1, arguments.n + 1))
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
    """Return `laplace_noise.gamma_log_psi` at four shapes, as the joint counts compute it: bit-identical results.

    Parameters
    ----------
    z, beta, scale : as in `laplace_noise.gamma_log_psi`.
    shapes : float64 (4,), > 0.

    Returns
    -------
    float64 (4,)

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    cdef const double[::1] shape = _checks.positives("shapes", shapes, FOUR)
    cdef double place = _checks.number("z", z), b = _checks.positive("beta", beta), c = _checks.positive("scale", scale)
    out = np.empty(FOUR)
    cdef double[::1] view = out
    c_gamma_log_psi_four(place, &shape[0], b, c, &view[0])
    return out


# The chain of records.

cdef inline double c_misfit(const Setting *data, int64_t low, int64_t high, double first, double second) noexcept nogil:
    """Return -log density of the noise, up to a constant; first, second: sums of uncensored x and x^2 about the middle
    of [a, b]."""
    cdef int64_t c = data.n - low - high
    cdef double mean = first / c if c > 0 else 0.0, sse = fmax(second - first * mean, 0.0)
    if data.sums:
        return (fabs(data.z_mean - first) / data.scale_mean + fabs(data.z_sse - second) / data.scale_sse
                + fabs(data.z_low - low) / data.scale_low + fabs(data.z_high - high) / data.scale_high)
    return (fabs(data.z_mean - 0.5 * (data.a + data.b) - mean) / data.scale_mean
            + fabs(data.z_sse - sse) / data.scale_sse
            + fabs(data.z_low - low) / data.scale_low + fabs(data.z_high - high) / data.scale_high)


cdef inline bint c_accepts(double u, double gap) noexcept nogil:
    """Return whether u < exp(-gap); since exp(-gap) >= 1 - gap, the exponential is rarely needed."""
    return u < 1.0 - gap - 1e-15 or u < exp(-gap)


cdef int64_t records_fill(Setting *data, State *state, bint again, double[::1] x, int64_t burn_in, double[:, ::1] out,
                          bitgen_t *bits) noexcept nogil:
    """Run the Gibbs chain through all records, and store the sweeps after the burn-in; return the number of accepted
    proposals."""
    cdef int64_t t, i, low, high, low2, high2, n = data.n, accepted = 0
    cdef double middle = 0.5 * (data.a + data.b), half = 0.5 * (data.b - data.a), first, second, first2, second2
    cdef double misfit, fresh, y, centre, sse
    for t in range(burn_in + out.shape[0]):
        # counts and sums of the records, recomputed in each sweep so that rounding errors do not accumulate
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
            # remove record i from the counts and sums
            low2, high2, first2, second2 = low, high, first, second
            y = x[i] - middle
            if y < -half:
                low2 -= 1
            elif y > half:
                high2 -= 1
            else:
                first2 -= y
                second2 -= y * y
            # propose a new record from N(mu, sigma2), and add it
            y = state.mu - middle + sqrt(state.sigma2) * random_standard_normal(bits)
            if y < -half:
                low2 += 1
            elif y > half:
                high2 += 1
            else:
                first2 += y
                second2 += y * y
            # Metropolis step with the density of the noise
            fresh = c_misfit(data, low2, high2, first2, second2)
            if c_accepts(c_uniform(bits), fresh - misfit):
                x[i] = y + middle
                low, high, first, second, misfit = low2, high2, first2, second2, fresh
                accepted += 1
        # true statistics, then theta given all records
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
    """Run the exact Gibbs chain through all records; without uncensored records, their mean is set to (a + b)/2.

    Parameters
    ----------
    release, n, a, b, scales, prior, initial, draws, burn_in, again : as in `statistics_chain`.
    records : float64 (n,), initial values.
    sums : whether the release consists of noisy sums of x and of x^2, about the middle of [a, b], instead of mean and
        sum of squares.
    rng : numpy Generator. A sweep uses a standard normal and a uniform per record, then one normal and one gamma.

    Returns
    -------
    float64 (draws, 6) as in `statistics_chain`, and the acceptance rate of records. A sweep costs O(n).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    arguments = checked(release, n, a, b, scales, prior, initial, sums=bool(sums))
    _checks.generator(rng)
    cdef Setting data = c_setting(arguments, sums)
    cdef State state
    state.mu, state.sigma2 = arguments.initial
    cdef double[::1] x = np.array(_checks.reals("records", records), dtype=np.float64)
    if x.shape[0] != arguments.n:
        raise ValueError(f"records must have n = {n} entries, got {x.shape[0]}")
    cdef int64_t skip = _checks.integer("burn_in", burn_in), accepted
    cdef bint fresh = again
    out = np.empty((_checks.integer("draws", draws), 6))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        accepted = records_fill(&data, &state, fresh, x, skip, view, bits)
    return out, accepted / max(1, n * (burn_in + draws))
