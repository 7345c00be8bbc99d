# cython: language_level=3, cdivision=True, wraparound=False
"""Sums over the possible counts of every area, and the posterior distributions of the rates, which are mixtures of
gamma or beta distributions.

Each area has a window of counts d = low, low + 1, .. with likelihoods p(y | d), scaled so that the largest is 1. Given
the hyperparameters, a count has a negative binomial distribution (rates: shape a, mean m) or a beta-binomial
distribution (shares: A, B and the number of persons N). All probabilities are computed from one probability by the
ratios of neighbouring probabilities.

    rates:  p(d + 1) / p(d) = (a + d) m / ((d + 1) (a + m))

    shares: p(d + 1) / p(d) = (A + d) (N - d) / ((d + 1) (B + N - d - 1))

The recurrence starts at the count with the largest likelihood, so that no relevant term underflows. The rate of an area
given its release is a mixture of Gamma(a + d, a/mu + E), or of Beta(A + d, B + N - d), over d, the nodes of an
uncertain exposure, and points of the hyperparameters. With e(l) = x^l exp(-x) / Gamma(l + 1) for the gamma
distribution, P(l, x) = P(l + 1, x) + e(l), and similarly for the beta distribution. The distribution function of a
mixture is therefore a sum of products of e(l) with cumulative weights.
"""
import numpy as np

from libc.math cimport INFINITY, exp, fabs, floor, lgamma, log, log1p, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from scipy.special.cython_special cimport betainc, gammainc, psi

cdef double BIG = 1e150  # sums are rescaled if they exceed this number
cdef double TRIM = 1e-13  # fraction of the weight of a component that is dropped at either end
cdef double SMALL = 1e-6  # relative error of a probability below which the next Newton step is the last
cdef double NEGLIGIBLE = 1e-17  # relative size of the terms that a distribution function omits
cdef double TIE = 1e-12  # tolerance of a probability: sums of rounded numbers that differ by less are equal
cdef int STEPS = 80
cdef double LOG_LEAST = -700.0  # logarithm of the smallest rate that bisection can find


cdef struct Law:  # distribution of a count given the hyperparameters
    bint shares
    double a  # shape, or A
    double b  # m, or B
    double n  # unused, or N
    double q  # m / (a + m)


cdef struct Part:  # component of a mixture: window of one area, one node of the exposure, one hyperparameter point
    Law law
    double one  # weight in the mixture
    double two  # weight under the second rule
    double rate  # rate of the gamma distributions
    int64_t first  # position in the window, after trimming
    int64_t size
    double *weight
    double *below  # cumulative weights


cdef inline double c_trigamma(double x) noexcept nogil:
    """Return the trigamma function psi'(x) for x > 0, by the recurrence up to x >= 12 and then by the asymptotic
    series.
    """
    cdef double total = 0.0, y
    while x < 12:
        total += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    return total + (1 + 0.5 / x + y * (1 / 6.0 - y * (1 / 30.0 - y * (1 / 42.0 - y * (1 / 30.0 - y * 5 / 66.0))))) / x


cdef inline double c_ratio(Law *law, double d) noexcept nogil:
    """Return the ratio p(d + 1) / p(d) of the probabilities of two neighbouring counts."""
    if law.shares:
        return (law.a + d) * (law.n - d) / ((d + 1) * (law.b + law.n - d - 1))
    return (law.a + d) * law.q / (d + 1)


cdef inline double c_inverse_ratio(Law *law, double d) noexcept nogil:
    """Return the ratio p(d) / p(d + 1) of the probabilities of two neighbouring counts."""
    if law.shares:
        return (d + 1) * (law.b + law.n - d - 1) / ((law.a + d) * (law.n - d))
    return (d + 1) / ((law.a + d) * law.q)


cdef double c_log_probability(Law *law, double d) noexcept nogil:
    """Return the log probability log p(d) of a count given the hyperparameters."""
    cdef double out
    if law.shares:
        out = lgamma(law.n + 1) - lgamma(d + 1) - lgamma(law.n - d + 1) + lgamma(law.a + law.b)
        out += lgamma(law.a + d) - lgamma(law.a) + lgamma(law.b + law.n - d) - lgamma(law.b)
        return out - lgamma(law.a + law.b + law.n)
    out = -law.a * log1p(law.b / law.a)
    return out if d == 0 else out + lgamma(law.a + d) - lgamma(law.a) - lgamma(d + 1) + d * log(law.q)


cdef Law c_law(bint shares, double first, double second, double exposure) noexcept nogil:
    """Return the distribution of a count given the hyperparameters; `second` is the mean rate mu (then m =
    mu E), or B.
    """
    cdef Law law
    law.shares, law.a, law.n = shares, first, exposure
    law.b = second if shares else second * exposure
    law.q = law.b / (law.a + law.b)
    return law


cdef double c_weights(Law *law, const double *likelihood, int64_t low, int64_t width, int64_t peak,
                      double *weights) noexcept nogil:
    """Compute the posterior probabilities p(d | y) of a count given its release y, and return log p(y), up to the scale
    of the likelihood.
    """
    cdef int64_t j, k
    cdef double t = 1.0, shift = 0.0, total = 0.0, scale
    # upwards from the peak
    for j in range(peak, width):
        weights[j] = t * likelihood[j]
        total += weights[j]
        t *= c_ratio(law, low + j)
        if t > BIG:
            for k in range(peak, j + 1):
                weights[k] /= t
            total /= t
            shift += log(t)
            t = 1.0
    # downwards from the peak
    t = exp(-shift)
    for j in range(peak - 1, -1, -1):
        t *= c_inverse_ratio(law, low + j)
        weights[j] = t * likelihood[j]
        total += weights[j]
        if t > BIG:
            for k in range(j, width):
                weights[k] /= t
            total /= t
            shift += log(t)
            t = 1.0
    if not total > 0:
        return -INFINITY
    scale = 1 / total
    for j in range(width):
        weights[j] *= scale
    return c_log_probability(law, low + peak) + shift + log(total)


cdef void c_moments(Law *law, const double *weights, int64_t low, int64_t width, int64_t peak,
                    double *out) noexcept nogil:
    """Compute posterior moments of (d, u) for rates and of (u, v) for shares, with u = psi(a + d) - psi(a) and v =
    psi(B + N - d) - psi(B).

    out[1..5]: two means, variance, covariance, variance; out[6], out[7]: means of the differences of psi'.
    """
    cdef int64_t j
    cdef double d = low + peak, w, x, y, u = 0.0, v = 0.0, tu = 0.0, tv = 0.0, gap
    cdef double u0 = psi(law.a + d) - psi(law.a), tu0 = c_trigamma(law.a + d) - c_trigamma(law.a)
    cdef double v0 = 0.0, tv0 = 0.0
    cdef double x1 = 0.0, y1 = 0.0, xx = 0.0, xy = 0.0, yy = 0.0, mean_tu = 0.0, mean_tv = 0.0
    if law.shares:
        v0 = psi(law.b + law.n - d) - psi(law.b)
        tv0 = c_trigamma(law.b + law.n - d) - c_trigamma(law.b)
    for j in range(peak, width):  # differences from the peak, by psi(z + 1) = psi(z) + 1/z
        w, d = weights[j], low + j
        x, y = (u, v) if law.shares else (d - low - peak, u)
        x1 += w * x
        y1 += w * y
        xx += w * x * x
        xy += w * x * y
        yy += w * y * y
        mean_tu += w * tu
        mean_tv += w * tv
        gap = 1 / (law.a + d)
        u += gap
        tu -= gap * gap
        if law.shares:
            if law.n - d < 1:
                break
            gap = 1 / (law.b + law.n - d - 1)
            v -= gap
            tv += gap * gap
    u = v = tu = tv = 0.0
    for j in range(peak - 1, -1, -1):
        w, d = weights[j], low + j
        gap = 1 / (law.a + d)
        u -= gap
        tu += gap * gap
        if law.shares:
            gap = 1 / (law.b + law.n - d - 1)
            v += gap
            tv -= gap * gap
        x, y = (u, v) if law.shares else (d - low - peak, u)
        x1 += w * x
        y1 += w * y
        xx += w * x * x
        xy += w * x * y
        yy += w * y * y
        mean_tu += w * tu
        mean_tv += w * tv
    out[1] = x1 + (u0 if law.shares else low + peak)
    out[2] = y1 + (v0 if law.shares else u0)
    out[3] = xx - x1 * x1
    out[4] = xy - x1 * y1
    out[5] = yy - y1 * y1
    out[6] = mean_tu + tu0
    out[7] = mean_tv + tv0


def sums(likelihood, start, low, peak, first, second, exposure, *, shares, moments=True):
    """Compute the log evidence of every area and every node of its exposure, and posterior moments of its count.

    Parameters
    ----------
    likelihood : float64 (pairs,), p(y | d) of all windows, one after the other, each with largest entry 1.
    start : int64 (n + 1,), positions of the windows in `likelihood`.
    low, peak : int64 (n,), first count of every window, and position of its largest likelihood.
    first : float64 (n,), shape a of the rates, or A.
    second : float64 (n,), mean rate mu, or B.
    exposure : float64 (n, nodes), >= 0; for shares, numbers of persons N, at least the last count of the window.
    shares : whether counts are beta-binomial.
    moments : whether to compute the moments; if not, they are 0.

    Returns
    -------
    float64 (n, nodes, 8)
        log p(y) up to the scale of the likelihood; the means of d and u = psi(a + d) - psi(a), the variance of d, their
        covariance, and the variance of u; the mean of psi'(a + d) - psi'(a). For shares, u and v = psi(B + N - d) -
        psi(B) replace d and u, and the last entry is the mean of psi'(B + N - d) - psi'(B).

    Notes
    -----
    Computing time: about 8 ns per pair of a count and a node.
    """
    cdef const double[::1] values = likelihood
    cdef const int64_t[::1] starts = start
    cdef const int64_t[::1] lows = low
    cdef const int64_t[::1] peaks = peak
    cdef const double[::1] firsts = first
    cdef const double[::1] seconds = second
    cdef const double[:, ::1] nodes = exposure
    cdef bint is_shares = shares, with_moments = moments
    cdef Py_ssize_t n = nodes.shape[0], k, i
    cdef int64_t width
    cdef Law law
    _check(values, starts, lows, peaks, n)
    if firsts.shape[0] != n or seconds.shape[0] != n:
        raise ValueError(f"first and second must have one entry per area, got {firsts.shape[0]} and "
                         f"{seconds.shape[0]} entries")
    result = np.zeros((n, nodes.shape[1], 8))
    cdef double[:, :, ::1] out = result
    cdef double *weights = <double *> malloc(max(int(np.diff(start).max(initial=1)), 1) * sizeof(double))
    if weights == NULL:
        raise MemoryError("the window of an area does not fit into memory: set tighter bounds on the counts")
    with nogil:
        for i in range(n):
            width = starts[i + 1] - starts[i]
            for k in range(nodes.shape[1]):
                law = c_law(is_shares, firsts[i], seconds[i], nodes[i, k])
                out[i, k, 0] = c_weights(&law, &values[starts[i]], lows[i], width, peaks[i], weights)
                if with_moments:
                    c_moments(&law, weights, lows[i], width, peaks[i], &out[i, k, 0])
    free(weights)
    return result


cdef int64_t c_parts(const double *likelihood, int64_t low, int64_t width, int64_t peak, bint shares,
                     const double *first, const double *second, int64_t points, int64_t areas,
                     const double *nodes, const double *log_node, int64_t count,
                     const double *one, const double *two, Part *parts, double *room) noexcept nogil:
    """Compute the components of the mixture for one area and return their number. The arrays `first` and `second` have
    a stride of `areas`.
    """
    cdef int64_t h, k, j, used = 0, begin, base
    cdef double top, total, sum_, scale
    cdef Part *p
    for h in range(points):
        top, begin = -INFINITY, used
        for k in range(count):
            if log_node[k] == -INFINITY:
                continue
            p = &parts[used]
            p.law = c_law(shares, first[h * areas], second[h * areas], nodes[k])
            p.rate = 0.0 if shares else first[h * areas] / second[h * areas] + nodes[k]
            base = 2 * used * width
            p.weight, p.below = room + base, room + base + width
            p.one = log_node[k] + c_weights(&p.law, likelihood, low, width, peak, p.weight)
            if p.one == -INFINITY:
                continue
            top = max(top, p.one)
            # trim both ends
            p.first, p.size, sum_ = 0, width, 0.0
            while p.size > 1 and sum_ + p.weight[p.first] < TRIM:
                sum_ += p.weight[p.first]
                p.first += 1
                p.size -= 1
            sum_ = 0.0
            while p.size > 1 and sum_ + p.weight[p.first + p.size - 1] < TRIM:
                sum_ += p.weight[p.first + p.size - 1]
                p.size -= 1
            p.weight += p.first
            sum_ = 0.0
            for j in range(p.size):
                sum_ += p.weight[j]
            scale, sum_ = 1 / sum_, 0.0
            for j in range(p.size):
                p.weight[j] *= scale
                sum_ += p.weight[j]
                p.below[j] = sum_
            used += 1
        # weights of the nodes given the release, times the weight of the point
        total = 0.0
        for j in range(begin, used):
            parts[j].one = exp(parts[j].one - top)
            total += parts[j].one
        for j in range(begin, used):
            parts[j].two = parts[j].one / total * two[h]
            parts[j].one = parts[j].one / total * one[h]
    return used


cdef double c_part_cdf(Part *p, double low, double t, double *density) noexcept nogil:
    """Return the cumulative distribution function P(rate <= t) of one component of the mixture, and compute its
    density.
    """
    cdef double a = p.law.a + low + p.first, x, e, e_start, c = 0.0, f = 0.0, b = 0.0, odds = 0.0, at, top, r
    cdef int64_t j, start, last = p.size - 1
    cdef bint ended = False
    # e(l) at the term nearest to its mode
    if p.law.shares:
        x, b = t, p.law.b + p.law.n - low - p.first  # component j is Beta(a + j, b - j)
        odds = x / (1 - x)
        at = floor((a + b - 1) * x - a)
    else:
        x = p.rate * t
        at = floor(x - a)
    start = 0 if not at > 0 else (last if at > last else <int64_t> at)  # 0 if `at` is not a number
    if p.law.shares:
        e_start = lgamma(a + b) - lgamma(a + start + 1) - lgamma(b - start)
        e_start = exp(e_start + (a + start) * log(x) + (b - start - 1) * log1p(-x))
    else:
        e_start = exp((a + start) * log(x) - x - lgamma(a + start + 1))
    # sum of e(l) times cumulative weights, and the density; upwards from the mode all e(l) above j sum to at most e
    # r / (1 - r), with the ratio r of the next two, and downwards all e(l) below j sum to at most j e
    e = top = e_start
    for j in range(start, p.size):
        c += p.below[j] * e
        f += p.weight[j] * e * (a + j)
        top = e
        if j == last:
            break
        r = odds * (b - j - 1) / (a + j + 1) if p.law.shares else x / (a + j + 1)
        if e * (a + last) < NEGLIGIBLE * f and e * r < NEGLIGIBLE * c * (1 - r):
            ended = True  # the last component is 0 too
            break
        e *= r
    e = e_start
    for j in range(start - 1, -1, -1):
        e *= (a + j + 1) / (odds * (b - j - 1)) if p.law.shares else (a + j + 1) / x
        c += p.below[j] * e
        f += p.weight[j] * e * (a + j)
        if p.below[j] * e * (a + j) < NEGLIGIBLE * f and p.below[j] * e * j < NEGLIGIBLE * c:
            break
    # the last component: e(last) is replaced by its distribution function, unless the sum ended before
    if not ended:
        c -= p.below[last] * top
        if p.law.shares:
            c += p.below[last] * betainc(a + last, b - last, x)
        elif x < 0.5 * (a + last) and top < 1e-18:
            c += p.below[last] * 2 * top
        else:
            c += p.below[last] * gammainc(a + last, x)
    density[0] = f / t
    return c


cdef void c_cdf(Part *parts, int64_t used, double low, double t, double *out) noexcept nogil:
    """Compute the cumulative distribution function of the mixture at t, its density, and the cumulative distribution
    function by the second integration rule.
    """
    cdef int64_t j
    cdef double c, f
    out[0] = out[1] = out[2] = 0.0
    for j in range(used):
        c = c_part_cdf(&parts[j], low, t, &f)
        out[0] += parts[j].one * c
        out[1] += parts[j].one * f
        out[2] += parts[j].two * c


cdef double c_quantile(Part *parts, int64_t used, double low, bint shares, double level, double normal, double mean,
                       double sd, double *out) noexcept nogil:
    """Compute a quantile by Newton's method on the log (or logit) of the rate, within a bracket. The array `out`
    contains the results of `c_cdf` at the quantile.
    """
    cdef double u, left = -INFINITY, right = INFINITY, t, slope, step, s
    cdef bint found = False
    cdef int i
    if shares:
        u = log(mean) - log1p(-mean) + normal * sd / (mean * (1 - mean))
    else:
        s = (mean / sd) ** 2  # cube of a normal variable (Wilson and Hilferty)
        u = 1 - 1 / (9 * s) + normal / (3 * sqrt(s))
        u = log(mean) + (3 * log(u) if u > 0.05 else log(level) / s)
    for i in range(STEPS):
        t = 1 / (1 + exp(-u)) if shares else exp(u)
        if t <= 0 or (shares and t >= 1):
            break
        c_cdf(parts, used, low, t, out)
        slope = out[1] * (t * (1 - t) if shares else t)
        # the remaining error is of the order SMALL^2
        if slope > 0 and fabs(out[0] - level) < SMALL * min(level, 1 - level):
            u += (level - out[0]) / slope
            out[2] += level - out[0]
            out[0] = level
            found = True
            break
        if out[0] < level:
            left = u
        else:
            right = u
        step = (level - out[0]) / slope if slope > 0 else (2.0 if out[0] < level else -2.0)
        step = max(min(step, 2.0), -2.0)
        if u + step <= left or u + step >= right:
            step = (left + right) / 2 - u
        u += step
        if fabs(step) < 1e-15 * (1 + fabs(u)):
            found = True
            break
    if not found and not shares:  # the start, from two moments, can be far from a quantile of a skewed mixture
        left, right = LOG_LEAST, -LOG_LEAST
        for i in range(STEPS):
            u = (left + right) / 2
            c_cdf(parts, used, low, exp(u), out)
            if out[0] < level:
                left = u
            else:
                right = u
    return 1 / (1 + exp(-u)) if shares else exp(u)


cdef void c_of_part(Part *p, double low, double *mean, double *square) noexcept nogil:
    """Compute the first and the second moment of the rate under one component of the mixture."""
    cdef double a, total = p.law.a + p.law.b + p.law.n, m1 = 0.0, m2 = 0.0
    cdef int64_t j
    for j in range(p.size):
        a = p.law.a + low + p.first + j
        m1 += p.weight[j] * a
        m2 += p.weight[j] * a * (a + 1)
    if p.law.shares:
        mean[0], square[0] = m1 / total, m2 / (total * (total + 1))
    else:
        mean[0], square[0] = m1 / p.rate, m2 / (p.rate * p.rate)


cdef void c_counts(Part *parts, int64_t used, int64_t low, int64_t width, double tail, double *room,
                   double *out) noexcept nogil:
    """Compute the posterior mean, standard deviation and central interval of the count of one area."""
    cdef int64_t i, j
    cdef double mean = 0.0, square = 0.0, running
    # P(count = low + j): mixture over the components
    for j in range(width):
        room[j] = 0.0
    for i in range(used):
        for j in range(parts[i].size):
            room[parts[i].first + j] += parts[i].one * parts[i].weight[j]
    # mean and standard deviation
    for j in range(width):
        mean += room[j] * j
    for j in range(width):
        square += room[j] * (j - mean) ** 2
    out[0], out[1] = low + mean, sqrt(square)
    # lower and upper limit, with at most `tail` beyond each
    j, running = 0, room[0]
    while running < tail * (1 - TIE) and j < width - 1:
        j += 1
        running += room[j]
    out[2] = low + j
    j, running = width - 1, room[width - 1]
    while running <= tail * (1 + TIE) and j > 0:
        j -= 1
        running += room[j]
    out[3] = low + j


def mixtures(likelihood, start, low, peak, first, second, exposure, log_node, weights, levels, normals, points, *,
             shares):
    """Compute the posterior means, standard deviations, quantiles and cumulative distribution functions of the rates,
    and summaries of the counts.

    Parameters
    ----------
    likelihood, start, low, peak, exposure, shares : as in `sums`.
    first, second : float64 (hyperparameter points, n), as in `sums`.
    log_node : float64 (n, nodes), log weights of the nodes of the exposure; -inf for unused nodes.
    weights : float64 (2, hyperparameter points), weights of two integration rules, each with sum 1.
    levels, normals : float64 (levels,), increasing probabilities, and the normal quantiles at which the search starts;
        the first level is the tail of the interval of the counts.
    points : float64 (n, any number), rates > 0 at which the distribution function is computed.

    Returns
    -------
    (rates, quantiles, at, counts)
        float64 (n, 2), mean and sd; (n, levels, 3), quantile, and the distribution function at the quantile by each of
        the two rules; (n, points, 3), distribution function, density, and distribution function by the second rule; (n,
        4), mean, sd, lower and upper end of the count.

    Notes
    -----
    Computing time: about 4 ns per pair of a count and a component, for each step of the search.
    """
    cdef const double[::1] values = likelihood
    cdef const int64_t[::1] starts = start
    cdef const int64_t[::1] lows = low
    cdef const int64_t[::1] peaks = peak
    cdef const double[:, ::1] firsts = first
    cdef const double[:, ::1] seconds = second
    cdef const double[:, ::1] nodes = exposure
    cdef const double[:, ::1] log_nodes = log_node
    cdef const double[:, ::1] rules = weights
    cdef const double[::1] level = levels
    cdef const double[::1] normal = normals
    cdef const double[:, ::1] where = points
    cdef bint is_shares = shares
    cdef Py_ssize_t n = nodes.shape[0], i, q, h = firsts.shape[0], count = nodes.shape[1], total = h * count
    _check(values, starts, lows, peaks, n)
    _same(n, h, firsts, seconds, log_nodes, rules, where, count)
    rates, quantiles = np.empty((n, 2)), np.empty((n, level.shape[0], 3))
    at, counts = np.empty((n, where.shape[1], 3)), np.empty((n, 4))
    cdef double[:, ::1] rate_out = rates
    cdef double[:, :, ::1] quantile_out = quantiles
    cdef double[:, :, ::1] at_out = at
    cdef double[:, ::1] count_out = counts
    cdef int64_t widest = max(int(np.diff(start).max(initial=1)), 1), width, used, j
    cdef double m1, m2, one, two
    cdef double[3] cdf_values
    cdef Part *parts = <Part *> malloc(max(total, 1) * sizeof(Part))
    cdef double *room = <double *> malloc((2 * total + 1) * widest * sizeof(double))
    if parts == NULL or room == NULL:
        free(parts)
        free(room)
        raise MemoryError(f"{total} components with windows of {widest} counts do not fit into memory: set tighter "
                          "bounds on the counts")
    with nogil:
        for i in range(n):
            width = starts[i + 1] - starts[i]
            # components of the mixture of area i
            used = c_parts(&values[starts[i]], lows[i], width, peaks[i], is_shares, &firsts[0, i], &seconds[0, i], h,
                           n, &nodes[i, 0], &log_nodes[i, 0], count, &rules[0, 0], &rules[1, 0], parts, room)
            # moments of the rate
            m1 = m2 = 0.0
            for j in range(used):
                c_of_part(&parts[j], lows[i], &one, &two)
                m1 += parts[j].one * one
                m2 += parts[j].one * two
            rate_out[i, 0] = m1
            rate_out[i, 1] = sqrt(max(m2 - m1 * m1, 0.0))
            # quantiles, each with the distribution function at the quantile by both rules
            for q in range(level.shape[0]):
                quantile_out[i, q, 0] = c_quantile(parts, used, lows[i], is_shares, level[q], normal[q], m1,
                                                   max(rate_out[i, 1], 1e-8 * m1), cdf_values)
                quantile_out[i, q, 1] = cdf_values[0]
                quantile_out[i, q, 2] = cdf_values[2]
            for q in range(where.shape[1]):
                c_cdf(parts, used, lows[i], where[i, q], cdf_values)
                for j in range(3):
                    at_out[i, q, j] = cdf_values[j]
            c_counts(parts, used, lows[i], width, level[0] if level.shape[0] else 0.5, room + 2 * total * widest,
                     &count_out[i, 0])
    free(parts)
    free(room)
    return rates, quantiles, at, counts


def picks(likelihood, start, low, peak, first, second, exposure, log_node, uniforms, which, *, shares):
    """Draw the counts of all areas and the nodes of their exposures from the posterior distribution, by inversion of
    uniform numbers.

    Parameters
    ----------
    likelihood, start, low, peak, first, second, exposure, log_node, shares : as in `mixtures`.
    uniforms : float64 (size, n), in [0, 1).
    which : int64 (size,), hyperparameter point of every draw.

    Returns
    -------
    (counts, nodes)
        int64 (size, n).
    """
    cdef const double[::1] values = likelihood
    cdef const int64_t[::1] starts = start
    cdef const int64_t[::1] lows = low
    cdef const int64_t[::1] peaks = peak
    cdef const double[:, ::1] firsts = first
    cdef const double[:, ::1] seconds = second
    cdef const double[:, ::1] nodes = exposure
    cdef const double[:, ::1] log_nodes = log_node
    cdef const double[:, ::1] chance = uniforms
    cdef const int64_t[::1] points = which
    cdef bint is_shares = shares
    cdef Py_ssize_t n = nodes.shape[0], i, r, h = firsts.shape[0], count = nodes.shape[1], total = h * count
    cdef double[:, ::1] rules = np.ones((2, h))
    _check(values, starts, lows, peaks, n)
    _same(n, h, firsts, seconds, log_nodes, rules, chance.T, count)
    if points.shape[0] != chance.shape[0] or (points.shape[0] and not 0 <= min(which) <= max(which) < h):
        raise ValueError("which must contain one point of the hyperparameters per draw")
    drawn, chosen = np.empty((len(which), n), dtype=np.int64), np.empty((len(which), n), dtype=np.int64)
    cdef int64_t[:, ::1] drawn_view = drawn
    cdef int64_t[:, ::1] chosen_view = chosen
    cdef int64_t widest = max(int(np.diff(start).max(initial=1)), 1), width, used, j, left, right, middle
    cdef double rest
    cdef Part *p
    cdef Part *parts = <Part *> malloc(max(total, 1) * sizeof(Part))
    cdef double *room = <double *> malloc((2 * total + 1) * widest * sizeof(double))
    if parts == NULL or room == NULL:
        free(parts)
        free(room)
        raise MemoryError(f"{total} components with windows of {widest} counts do not fit into memory: set tighter "
                          "bounds on the counts")
    with nogil:
        for i in range(n):
            width = starts[i + 1] - starts[i]
            used = c_parts(&values[starts[i]], lows[i], width, peaks[i], is_shares, &firsts[0, i], &seconds[0, i], h,
                           n, &nodes[i, 0], &log_nodes[i, 0], count, &rules[0, 0], &rules[1, 0], parts, room)
            for r in range(points.shape[0]):
                # the node, among the components of this hyperparameter point
                j = points[r] * (used // h)
                rest = chance[r, i]
                while rest >= parts[j].one and j < (points[r] + 1) * (used // h) - 1:
                    rest -= parts[j].one
                    j += 1
                p = &parts[j]
                rest /= p.one
                # the smallest count whose cumulative weight exceeds the remainder of the uniform number
                left, right = 0, p.size - 1
                while left < right:
                    middle = (left + right) // 2
                    if p.below[middle] > rest:
                        right = middle
                    else:
                        left = middle + 1
                drawn_view[r, i] = lows[i] + p.first + left
                chosen_view[r, i] = j - points[r] * (used // h)
    free(parts)
    free(room)
    return drawn, chosen


def _check(values, start, low, peak, n):
    """Raise an error if the windows of the areas are inconsistent with each other."""
    width = np.diff(start)
    if len(start) != n + 1 or len(low) != n or len(peak) != n or (n and (start[0] != 0 or start[n] != len(values))):
        raise ValueError(f"start, low and peak must describe {n} windows of {len(values)} counts in all")
    if n and (width.min() < 1 or np.min(peak) < 0 or (np.asarray(peak) >= width).any() or np.min(low) < 0):
        raise ValueError("every window must have at least one count, a first count >= 0, and a peak inside the window")


def _same(n, h, first, second, log_node, weights, points, count):
    """Raise an error if the arrays have inconsistent shapes."""
    actual = tuple(np.shape(x) for x in (first, second, log_node, weights)), np.shape(points)[0]
    if actual != (((h, n), (h, n), (n, count), (2, h)), n):
        raise ValueError(f"first, second, log_node, weights and points must have consistent shapes for {n} areas, "
                         f"got {actual}")
