# cython: language_level=3
"""Mixtures of Beta distributions over consecutive counts: means and intervals of many mixtures, and the posterior
density of a share.

Component j of a mixture is Beta(first + j, whole - first - j), which is the distribution of a share given counts with a
known total: the parameters of all components have the same sum, so each evaluation of the distribution function is one
pass of ratios (`intervals`).

`Density` is the density of a share p_c/(p_c + p_others) given counts with a fixed total, without a list of all pairs of
counts. Given s = S_c and t = the sum of the other counts, the share is Beta(alpha + s, beta + t), and (s, t) has the
weight mine[s] theirs[t] of_total[s + t]. On the scale z = log(x/(1 - x)), the density is a double sum of positive
terms,

    g(z) = sum_n of_total[n] h(n),  h(n) = sum_s mine[s] theirs[n - s] x^(alpha + s) (1 - x)^(beta + n - s)/B(.., ..).

The inner sum is computed by ratios over a few standard deviations sqrt(n x (1 - x)) around its largest term. On the
same scale, h is smooth even if the factors have kinks, so the outer sum uses product integration: on a panel of values
n, h is interpolated at twelve integers, and the sums of of_total times the interpolating polynomials are exact. Panels
are halved until the sum of the two halves agrees with the sum over the whole panel. Short panels include every n, so
small problems are summed term by term.
"""
cimport cython
import numpy as np
from scipy.special import ndtri as _normal_quantile

from libc.math cimport INFINITY, NAN, cos, exp, fabs, log, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from .beta_mixtures cimport Mixture, c_place, c_quantile, expl, lgammal, log1pl, logl

from ... import _checks

cdef enum:
    NODES = 12  # number of nodes of a long panel
    LEAF = 24  # panels up to this length include every n
cdef double NOTHING = 5e-18  # mass of a tail that is neglected
cdef double NEGLIGIBLE = 1e-18  # size of a negligible term, relative to the sum of the previous terms
cdef double LARGEST_LOGIT = 600.0

cdef struct Share:
    const double *of_total
    const double *rising  # mine[s + 1]/(mine[s] (alpha + s))
    const double *falling  # theirs[t - 1] (beta + t - 1)/theirs[t]
    const double *mine
    const double *theirs
    double *weights  # NODES weights for every panel that was visited
    char *known
    int64_t first_mine, last_mine, first_theirs, last_theirs, first_total, size
    double alpha, beta, odds, reference, relative, tolerance, least
    long double log_x, log_y
    int64_t peak, forced


# Intervals.

cdef void c_interval(const double *given, int64_t size, double first, double whole, double level, double normal,
                     double *room, double *out) noexcept nogil:
    """Compute the mean, standard deviation and central interval of one mixture, with a workspace of 2 size numbers."""
    cdef double norm = 0.0, mean = 0.0, variance = 0.0, running = 0.0, mu
    cdef int64_t j, low = 0, high = size - 1
    cdef Mixture m
    # mean and variance of j
    for j in range(size):
        norm += given[j]
        mean += given[j] * j
    mean /= norm
    for j in range(size):
        room[j] = given[j] / norm
        variance += room[j] * (j - mean) * (j - mean)
    # skip components of negligible weight; cumulative weights of all other components
    while running + room[low] < NOTHING:
        running += room[low]
        low += 1
    running = 0.0
    while running + room[high] < NOTHING:
        running += room[high]
        high -= 1
    running = 0.0
    for j in range(low, high + 1):
        running += room[j]
        room[size + j] = running
    # mean; variance as the mean of the components' variances plus the variance of their means
    mu = (first + mean) / whole
    out[0] = mu
    out[1] = sqrt((mu * (1.0 - mu) - variance / (whole * whole)) / (whole + 1.0) + variance / (whole * whole))
    m.weights, m.cumulative, m.size = &room[low], &room[size + low], high - low + 1
    m.first, m.whole = first + low, whole
    c_place(&m, <int64_t> (mu * whole - m.first))
    out[2] = c_quantile(&m, 0.5 * (1.0 - level), -normal, mu, out[1])
    out[3] = c_quantile(&m, 0.5 * (1.0 + level), normal, mu, out[1])


cdef int intervals_fill(const double[::1] weights, const int64_t[::1] starts, const double[::1] firsts,
                        const double[::1] wholes, double level, double normal, double[:, ::1] out) noexcept nogil:
    cdef int64_t i, size, longest = 1
    cdef double *room
    for i in range(firsts.shape[0]):
        longest = max(longest, starts[i + 1] - starts[i])
    room = <double *> malloc(2 * longest * sizeof(double))
    if room == NULL:
        return -1
    for i in range(firsts.shape[0]):
        size = starts[i + 1] - starts[i]
        c_interval(&weights[starts[i]], size, firsts[i], wholes[i], level, normal, room, &out[i, 0])
    free(room)
    return 0


def intervals(weights, *, starts, firsts, wholes, level=0.95):
    """Return the mean, the standard deviation, and the lower and upper end of the central interval of every mixture of
    Beta distributions.

    Parameters
    ----------
    weights : float64 (n,), >= 0, weights of the components, one mixture after another; normalised within each mixture.
    starts : int64 (m + 1,), increasing from 0 to n by at least 1: mixture i has weights[starts[i] : starts[i + 1]].
    firsts, wholes : float64 (m,): component j of mixture i is Beta(firsts[i] + j, wholes[i] - firsts[i] - j), both > 0.
    level : in (0, 1).

    Returns
    -------
    float64 (m, 4): mean, sd, lower, upper, with relative errors below 1e-12.

    Raises
    ------
    ValueError, TypeError
        If a shape is wrong, a weight is negative or not finite, a mixture has no mass or a component is not defined.
    MemoryError
        If there is no memory for the longest mixture.
    """
    bounds = _checks.int64s("starts", starts)
    columns = [np.ascontiguousarray(values, dtype=np.float64) for values in (weights, firsts, wholes)]
    mass, first, whole = columns
    if len(bounds) != len(first) + 1 or first.shape != whole.shape or mass.shape != (bounds[len(bounds) - 1],):
        raise ValueError(f"starts, firsts, wholes and weights must have consistent shapes, got {bounds.shape}, "
                         f"{first.shape} and {whole.shape}")
    if bounds[0] != 0 or (len(first) and np.diff(bounds).min() < 1):
        raise ValueError(f"starts must begin with 0 and increase by at least 1, got {starts!r}")
    if not np.all(np.isfinite(mass) & (mass >= 0)):
        raise ValueError("weights must contain only finite numbers >= 0")
    if len(first) and not np.all(np.add.reduceat(mass, bounds[: len(first)]) > 0):
        raise ValueError("weights must have a positive sum in every mixture")
    if not np.all(np.isfinite(whole) & (first > 0) & (whole - first - np.diff(bounds) + 1 > 0)):
        raise ValueError("firsts must be > 0, and wholes must be larger than the first parameter of the last component")
    cdef double share = _checks.inside("level", level), normal = _normal_quantile(0.5 + 0.5 * level)
    cdef const double[::1] weight_view = mass, first_view = first, whole_view = whole
    cdef const int64_t[::1] start_view = bounds
    values = np.empty((len(first), 4))
    cdef double[:, ::1] out = values
    cdef int failed
    with nogil:
        failed = intervals_fill(weight_view, start_view, first_view, whole_view, share, normal, out)
    if failed:
        raise MemoryError("the longest mixture does not fit into memory")
    return values


# The density of a share.

cdef inline long double c_inner(Share *w, int64_t n) noexcept nogil:
    """Return log h(n), the log of the sum of the weighted Beta densities of all pairs (s, t) of counts with s + t = n,
    or -inf if there is no such pair.
    """
    cdef int64_t low = max(w.first_mine, n - w.last_theirs), high = min(w.last_mine, n - w.first_theirs), a, b, s, p
    cdef double total = 1.0, above = 1.0, below = 1.0
    cdef long double top
    if low > high:
        return -INFINITY
    a, b = low, high
    while a < b:  # first s at which the terms stop increasing
        s = (a + b) // 2
        if w.odds * w.rising[s - w.first_mine] * w.falling[n - s - w.first_theirs] > 1.0:
            a = s + 1
        else:
            b = s
    # total = h(n) divided by its largest term, by ratios of neighbouring terms
    p = a
    b = p - 1
    while a < high and b >= low:  # both directions in one loop, because the two products are independent
        above *= w.odds * (w.rising[a - w.first_mine] * w.falling[n - a - w.first_theirs])
        below *= 1.0 / (w.odds * (w.rising[b - w.first_mine] * w.falling[n - b - w.first_theirs]))
        total += above + below
        a, b = a + 1, b - 1
        if above + below < NEGLIGIBLE * total:
            break
    while a < high and above >= NEGLIGIBLE * total:
        above *= w.odds * (w.rising[a - w.first_mine] * w.falling[n - a - w.first_theirs])
        total += above
        a += 1
    while b >= low and below >= NEGLIGIBLE * total:
        below *= 1.0 / (w.odds * (w.rising[b - w.first_mine] * w.falling[n - b - w.first_theirs]))
        total += below
        b -= 1
    # log of the largest term: mine[p] theirs[n - p] and the density of Beta(alpha + p, beta + n - p) for z
    top = lgammal(<long double> w.alpha + w.beta + n) - lgammal(<long double> w.alpha + p)
    top -= lgammal(<long double> w.beta + (n - p))
    top += (<long double> w.alpha + p) * w.log_x + (<long double> w.beta + (n - p)) * w.log_y
    top += logl(w.mine[p - w.first_mine]) + logl(w.theirs[n - p - w.first_theirs])
    return top + log(total)


cdef inline double c_h(Share *w, int64_t i) noexcept nogil:
    """Return the sum h(n) of weighted Beta densities at the i-th total n, divided by a reference value."""
    return <double> expl(c_inner(w, w.first_total + i) - w.reference)


cdef inline double c_log_whole(Share *w, int64_t i) noexcept nogil:
    return <double> (c_inner(w, w.first_total + i) + logl(w.of_total[i]))


cdef inline int64_t c_node(int64_t first, int64_t last, int64_t j) noexcept nogil:
    """Return the j-th of NODES Chebyshev nodes in first..last, as an integer."""
    cdef double half = 0.5 * (last - first)
    return first + <int64_t> (half * (1.0 - cos(3.141592653589793 * (j + 0.5) / NODES)) + 0.5)


cdef void c_moments(Share *w, int64_t first, int64_t last, double *out) noexcept nogil:
    """Compute the weights out[j] of a panel: the sum over the panel of of_total times the j-th Lagrange polynomial."""
    cdef int64_t i, j, l
    cdef double place[NODES]
    cdef double inverse[NODES]
    cdef double product, scale = 0.25 * (last - first)
    for j in range(NODES):
        place[j] = <double> (c_node(first, last, j) - first)
        out[j] = 0.0
    # denominators of the Lagrange polynomials, nodes in units of a quarter of the panel
    for j in range(NODES):
        product = 1.0
        for l in range(NODES):
            if l != j:
                product *= (place[j] - place[l]) / scale
        inverse[j] = 1.0 / product
    # for every n of the panel: at a node, one polynomial is 1; otherwise, the numerator is the product over (i -
    # place[j])
    l = 0
    for i in range(last - first + 1):
        if l < NODES and i == <int64_t> place[l]:
            out[l] += w.of_total[first + i]
            l += 1
            continue
        product = scale
        for j in range(NODES):
            product *= (i - place[j]) / scale
        product *= w.of_total[first + i]
        for j in range(NODES):
            out[j] += product * inverse[j] / (i - place[j])


cdef double c_estimate(Share *w, int64_t first, int64_t last, int64_t panel) noexcept nogil:
    cdef double total = 0.0
    cdef int64_t i, j
    if last - first < LEAF:
        for i in range(first, last + 1):
            total += w.of_total[i] * c_h(w, i)
        return total
    if not w.known[panel]:
        c_moments(w, first, last, &w.weights[panel * NODES])
        w.known[panel] = 1
    for j in range(NODES):
        total += w.weights[panel * NODES + j] * c_h(w, c_node(first, last, j))
    return total


cdef double c_panel(Share *w, int64_t first, int64_t last, int64_t panel, double whole) noexcept nogil:
    """Return the sum of the weights of_total[n] h(n) over the totals n = first..last. The argument `whole` is the
    estimate of this sum from one panel, or NaN.
    """
    cdef int64_t middle = (first + last) // 2, nearest
    cdef double left, right
    # away from the peak: bound the sum of the panel by its largest term times its length
    if first > w.peak or last < w.peak:
        nearest = first if first > w.peak else last
        if c_log_whole(w, nearest) - w.reference + log(<double> (last - first + 1)) < w.least:
            return 0.0
    if last - first < LEAF:
        return c_estimate(w, first, last, panel) if whole != whole else whole
    if first <= w.peak <= last and last - first > w.forced:
        return (c_panel(w, first, middle, 2 * panel, NAN) + c_panel(w, middle + 1, last, 2 * panel + 1, NAN))
    if whole != whole:
        whole = c_estimate(w, first, last, panel)
    # accept the halves if they agree with the whole panel
    left = c_estimate(w, first, middle, 2 * panel)
    right = c_estimate(w, middle + 1, last, 2 * panel + 1)
    if fabs(left + right - whole) <= w.tolerance:
        return left + right
    return c_panel(w, first, middle, 2 * panel, left) + c_panel(w, middle + 1, last, 2 * panel + 1, right)


cdef double c_log_density(Share *w, double z) noexcept nogil:
    cdef int64_t a = 0, b = w.size - 1, i, reach = 1
    cdef double top
    w.odds = exp(z)
    if z > 0:
        w.log_x, w.log_y = -log1pl(expl(-<long double> z)), -z - log1pl(expl(-<long double> z))
    else:
        w.log_x, w.log_y = z - log1pl(expl(<long double> z)), -log1pl(expl(<long double> z))
    while a < b:  # the largest term of the outer sum
        i = (a + b) // 2
        if c_log_whole(w, i + 1) > c_log_whole(w, i):
            a = i + 1
        else:
            b = i
    # reach: distance at which the terms have fallen by a factor e on both sides; panels at the peak are <= 8 reach
    top = c_log_whole(w, a)
    while reach < w.size and not ((a + reach >= w.size or c_log_whole(w, a + reach) < top - 1)
                                  and (a - reach < 0 or c_log_whole(w, a - reach) < top - 1)):
        reach *= 2
    w.reference, w.peak, w.forced = top, a, 8 * reach
    w.tolerance, w.least = w.relative * reach, log(NEGLIGIBLE * reach)
    return top + log(c_panel(w, 0, w.size - 1, 1, NAN))


cdef void log_density_fill(Share *w, const double[::1] z, double[::1] out) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(z.shape[0]):
        out[j] = c_log_density(w, z[j])


def log_density(z, *, mine, theirs, of_total, alpha, beta, first=(0, 0, 0), tolerance=1e-11):
    """Return the log density of log(x/(1 - x)) for a share x at the points z, up to a constant. The result equals that
    of `Density.at`.

    Parameters
    ----------
    z : float64 (m,), finite.
    mine, theirs, of_total, alpha, beta, first, tolerance : as in `Density`.

    Returns
    -------
    float64 (m,)
    """
    weights = {"mine": mine, "theirs": theirs, "of_total": of_total}
    return Density(**weights, alpha=alpha, beta=beta, first=first, tolerance=tolerance).at(_points(z))


@cython.auto_pickle(False)
@cython.final
cdef class Density:
    """Posterior density of log(x/(1 - x)) for a share x, which can be evaluated at any number of points.

    Parameters
    ----------
    mine, theirs : float64 (a,), (b,), positive: weights of s = first[0], first[0] + 1, .. and of t = first[1], ..
    of_total : float64 (c,), positive: weights of n = s + t = first[2], first[2] + 1, ..
    alpha, beta : > 0, the share is Beta(alpha + s, beta + t) given s and t.
    first : three integers >= 0.
    tolerance : in (0, 1): largest difference between a panel of n and its halves, relative to the sum.

    Raises
    ------
    ValueError, TypeError
        If an array is empty, not positive, not finite or not one-dimensional, if another number is out of range, or
        if no pair (s, t) has its sum in `of_total`.

    Notes
    -----
    Cost: O(panels sqrt(n)) time per point, at most 20 ms for totals of 1,000,000; O(a + b + c) memory. The sums of
    of_total over a panel are reused for later points.
    """

    cdef Share w
    cdef const double[::1] mine, theirs, of_total, rising, falling
    cdef double[::1] moments
    cdef char[::1] known

    def __cinit__(self, *, mine, theirs, of_total, alpha, beta, first=(0, 0, 0), tolerance=1e-11):
        weights = {"mine": mine, "theirs": theirs, "of_total": of_total}
        arrays = [_checks.positives(name, _checks.reals(name, v), np.size(v)) for name, v in weights.items()]
        if len(first) != 3:
            raise ValueError(f"first must contain three integers, got {first!r}")
        starts = [_checks.integer("first", value, most=1 << 52) for value in first]
        low = max(starts[2], starts[0] + starts[1])
        high = min(starts[2] + len(arrays[2]), starts[0] + starts[1] + len(arrays[0]) + len(arrays[1]) - 1)
        if low >= high:
            raise ValueError(f"all sums of s and t are outside the range of of_total with first = {first!r}")
        shape_mine, shape_theirs = _checks.positive("alpha", alpha), _checks.positive("beta", beta)
        self.w.alpha, self.w.beta, self.w.relative = shape_mine, shape_theirs, _checks.inside("tolerance", tolerance)
        self.mine, self.theirs = arrays[0], arrays[1]
        self.of_total = np.ascontiguousarray(arrays[2][low - starts[2] : high - starts[2]])
        self.rising = _rising(arrays[0], shape_mine + starts[0])
        self.falling = _falling(arrays[1], shape_theirs + starts[1])
        panels = 4 * (1 << max(0, int(np.ceil(np.log2((high - low) / LEAF)))) + 1)
        self.moments, self.known = np.empty(panels * NODES), np.zeros(panels, dtype=np.int8)
        self.w.mine, self.w.theirs, self.w.of_total = &self.mine[0], &self.theirs[0], &self.of_total[0]
        self.w.rising, self.w.falling = &self.rising[0], &self.falling[0]
        self.w.weights, self.w.known = &self.moments[0], &self.known[0]
        self.w.first_mine, self.w.last_mine = starts[0], starts[0] + len(arrays[0]) - 1
        self.w.first_theirs, self.w.last_theirs = starts[1], starts[1] + len(arrays[1]) - 1
        self.w.first_total, self.w.size = low, high - low

    def at(self, z):
        """Return the log density of log(x/(1 - x)) at the points z, up to a constant: the log of the sum of mine[s]
        theirs[t] of_total[s + t].

        Parameters
        ----------
        z : float64 (m,), in [-600, 600].

        Returns
        -------
        float64 (m,); the relative error of the density is about `tolerance` if the terms are unimodal in s and in n, as
            for log-concave noise.
        """
        cdef const double[::1] points = _points(z)
        out = np.empty(points.shape[0])
        cdef double[::1] view = out
        with nogil:
            log_density_fill(&self.w, points, view)
        return out


def _points(z):
    points = _checks.reals("z", z, least_size=0)
    if points.size and not np.abs(points).max() <= LARGEST_LOGIT:
        raise ValueError(f"z must lie in [-600, 600], got {points[np.abs(points).argmax()]}")
    return points


def _rising(weights, shape):
    """Return the ratios weights[s + 1]/(weights[s] (shape + s)), with one entry for every s. The last entry is never
    used.
    """
    ratios = np.ones(len(weights))
    ratios[: len(weights) - 1] = weights[1:] / weights[: len(weights) - 1] / (shape + np.arange(len(weights) - 1))
    return ratios


def _falling(weights, shape):
    """Return the ratios weights[t - 1] (shape + t - 1)/weights[t], with one entry for every t. The first entry is never
    used.
    """
    ratios = np.ones(len(weights))
    ratios[1:] = weights[: len(weights) - 1] / weights[1:] * (shape + np.arange(len(weights) - 1))
    return ratios
