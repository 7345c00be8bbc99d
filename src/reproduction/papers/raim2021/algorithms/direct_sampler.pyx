# cython: language_level=3
"""Direct sampler: draws of f(x) = w(x) g(x)/psi through u | x ~ Uniform(0, w(x)/c) (Walker et al. 2011, Raim 2021).

p(u) is proportional to P(A_u), A_u = {x: w(x) > u c}; x | u is the base g restricted to the interval A_u. P(A_u) is
bounded by a step function on knots u_0 < .. < u_N, from which u is drawn and accepted or rejected, so the draws are
exact. All values are stored as log u and log P, because u can be exp(-10^7) and P(A_u) far below the range of float64.

The weight is a normal density of xi, or a gamma density of z - xi. The base is Laplace, Gaussian, or a symmetric
distribution on the integers. The ends of A_u are stored as distances from the mode of the weight, so that intervals as
short as 1e-150 keep their length.
"""
cimport cython
import numpy as np

from libc.math cimport INFINITY, M_PI, ceil, exp, expm1, fabs, floor, fmin, log, log1p, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from scipy.special.cython_special cimport log_ndtr, ndtri_exp

from dpmultinomial._kernels.bitgen cimport c_bitgen, c_uniform
from dpmultinomial._kernels.log_probabilities cimport c_gaussian, c_log1mexp, c_logaddexp

from dpmultinomial import _checks

# Inline routines of the direct sampler: weights, bases and P(A_u), all in logs.
cdef enum:
    NORMAL = 0
    GAMMA = 1
    LAPLACE = 0
    GAUSSIAN = 1
    INTEGERS = 2
    SERIES = 24  # number of coefficients

cdef struct Target:
    int weight, base
    double mode, width, power  # weight: normal (width = sd), or gamma of z - xi (width = its mode, power = shape - 1)
    double scale  # base: Laplace scale or Gaussian sd
    const double *tail  # integer base, symmetric: tail[k] = log P(X >= k), k = 0..size - 1; tail[size] = -inf
    int64_t size
    double series[SERIES]


cdef inline void c_series(double *series) noexcept nogil:
    """Compute the coefficients of v(eta), v - log(1 + v) = eta^2/2, v ~ eta: from v v' = eta (1 + v), term by term."""
    cdef int k, j
    cdef double total
    series[0] = 0.0
    series[1] = 1.0
    for k in range(2, SERIES):
        total = series[k - 1]
        for j in range(2, k):
            total -= series[j] * (k + 1 - j) * series[k + 1 - j]
        series[k] = total / (k + 1)


cdef inline double c_gamma_offset(const Target *target, double eta) noexcept nogil:
    """Return v > -1 with v - log(1 + v) = eta^2/2 and the sign of eta: relative distance from a gamma's mode."""
    cdef double v = 0.0, q, t, step, gap
    cdef int i
    if fabs(eta) < 0.6:
        for i in range(SERIES - 1, 0, -1):
            v = (v + target.series[i]) * eta
        return v
    q = 0.5 * eta * eta  # e^t - 1 - t = q with t = log(1 + v): Newton from outside, monotone because of convexity
    t = log1p(q + eta) + 1.0 if eta > 0.0 else -q - 1.0
    for i in range(100):
        gap = expm1(t) - t - q
        step = gap / expm1(t)
        t -= step
        if fabs(step) <= 4e-16 * fabs(t):
            break
    return expm1(t)


cdef inline void c_reach(const Target *target, double log_u, double *left, double *right) noexcept nogil:
    """Compute A_u = (mode - left, mode + right), for log u <= 0."""
    cdef double eta
    if target.weight == NORMAL:
        left[0] = right[0] = target.width * sqrt(-2.0 * log_u)
    else:
        eta = sqrt(-2.0 * log_u / target.power)
        left[0] = target.width * c_gamma_offset(target, eta)
        right[0] = -target.width * c_gamma_offset(target, -eta)


cdef inline double c_tail(const Target *target, double k) noexcept nogil:
    """Return log P(X >= k) for integers k >= 0."""
    return target.tail[<int64_t> k] if k < target.size else -INFINITY


cdef inline double c_integers(const Target *target, double low, double high) noexcept nogil:
    """Return log P(low <= X <= high) for integers."""
    if low > high:
        return -INFINITY
    if low > 0.0:
        if not low < target.size:
            return -INFINITY
        return c_tail(target, low) + c_log1mexp(c_tail(target, high + 1.0) - c_tail(target, low))
    if high < 0.0:
        return c_integers(target, -high, -low)
    return log1p(-exp(c_tail(target, 1.0 - low)) - exp(c_tail(target, high + 1.0)))


cdef inline double c_log_probability(const Target *target, double left, double right) noexcept nogil:
    """Return log P(mode - left < X < mode + right) under the base."""
    cdef double low = target.mode - left, high = target.mode + right
    if target.base == LAPLACE:
        if low < 0.0 < high:
            return log(-0.5 * (expm1(low / target.scale) + expm1(-high / target.scale)))
        return (-(low if low >= 0.0 else -high) / target.scale + c_log1mexp(-(left + right) / target.scale)
                - 0.69314718055994530942)
    if target.base == GAUSSIAN:
        return c_gaussian(low / target.scale, (left + right) / target.scale)
    return c_integers(target, floor(low) + 1.0, ceil(high) - 1.0)


cdef inline double c_log_area(const Target *target, double log_u) noexcept nogil:
    """Return log P(A_u)."""
    cdef double left, right
    if log_u >= 0.0:
        return -INFINITY
    c_reach(target, log_u, &left, &right)
    return c_log_probability(target, left, right)


cdef inline double c_within_gaussian(double low, double d, double v) noexcept nogil:
    """Return quantile v of N(0, 1) between low and low + d."""
    cdef double middle = low + 0.5 * d, a, b
    if d * (1.0 + fabs(middle)) < 1e-3:
        return low + (d * v if fabs(middle * d) < 1e-12 else -log1p(v * expm1(-middle * d)) / middle)
    if middle > 0.0:
        return -c_within_gaussian(-low - d, d, 1.0 - v)
    a, b = log_ndtr(low), log_ndtr(low + d)
    return ndtri_exp(fmin(b, b + log(v + (1.0 - v) * exp(a - b)))) if v > 0.0 else low


cdef inline double c_within_integers(const Target *target, double low, double high, double v) noexcept nogil:
    """Return quantile v of the base on low..high, by bisection in the table of tails."""
    cdef double first = low, last = high, middle, log_v, span
    if high < 0.0 or (low < 0.0 and -low > high):
        return -c_within_integers(target, -high, -low, 1.0 - v)
    span = c_integers(target, low, high)
    # smallest k with P(k + 1 <= X <= high) <= (1 - v) P(low <= X <= high)
    log_v = log(1.0 - v) if v < 1.0 else -INFINITY
    while first < last:
        middle = floor(0.5 * (first + last))
        if c_integers(target, middle + 1.0, high) <= log_v + span:
            last = middle
        else:
            first = middle + 1.0
    return first


cdef inline double c_within(const Target *target, double left, double right, double v) noexcept nogil:
    """Return quantile v of the base restricted to (mode - left, mode + right): one draw of [x | u]."""
    cdef double low = target.mode - left, high = target.mode + right, d = left + right, below, above
    if target.base == GAUSSIAN:
        return target.scale * c_within_gaussian(low / target.scale, d / target.scale, v)
    if target.base == INTEGERS:
        return c_within_integers(target, floor(low) + 1.0, ceil(high) - 1.0, v)
    if low >= 0.0:
        return low - target.scale * log1p(v * expm1(-d / target.scale))
    if high <= 0.0:
        return high + target.scale * log1p((1.0 - v) * expm1(-d / target.scale))
    below, above = -expm1(low / target.scale), -expm1(-high / target.scale)
    v *= below + above
    if v < below:
        return target.scale * log1p(v - below)
    return -target.scale * log1p(-(v - below))


# Step function of the direct sampler: areas between knots, and a heap with the largest area first.
cdef inline double c_log_width(double low, double high) noexcept nogil:
    """Return log(exp(high) - exp(low))."""
    return high + c_log1mexp(low - high)


cdef inline double c_rectangle(double low, double high, double p_low, double p_high) noexcept nogil:
    """Return the log area between two knots of the part below the step function and above the next step."""
    if not p_low > -INFINITY:
        return -INFINITY
    return c_log_width(low, high) + (p_low + c_log1mexp(p_high - p_low) if p_high < p_low else -INFINITY)


cdef inline void c_push(double *keys, int64_t *places, int64_t n, double key, int64_t place) noexcept nogil:
    """Add an entry to a binary heap of n entries with the largest key first."""
    cdef int64_t i = n, parent
    while i > 0:
        parent = (i - 1) >> 1
        if keys[parent] >= key:
            break
        keys[i], places[i] = keys[parent], places[parent]
        i = parent
    keys[i], places[i] = key, place


cdef inline int64_t c_pop(double *keys, int64_t *places, int64_t n) noexcept nogil:
    """Remove the entry with the largest key from a heap of n entries."""
    cdef int64_t top = places[0], i = 0, child
    cdef double key = keys[n - 1]
    while True:
        child = 2 * i + 1
        if child >= n - 1:
            break
        if child + 1 < n - 1 and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[i], places[i] = keys[child], places[child]
        i = child
    keys[i], places[i] = key, places[n - 1]
    return top


cdef inline double steps_fill(const double[::1] u, const double[::1] p, double first, int64_t n,
                              double *cumulative, double *ratio, double *squeeze) noexcept nogil:
    """Compute cumulative areas of the step function: [0, u_0) at height exp(first), then [u_j, u_{j+1})."""
    cdef double largest = u[0] + first, area, running
    cdef int64_t j
    cumulative[0] = largest
    for j in range(n):
        area = c_log_width(u[j], u[j + 1]) + p[j]
        cumulative[j + 1] = area
        if area > largest:
            largest = area
    running = 0.0
    for j in range(n + 1):
        running += exp(cumulative[j] - largest)
        cumulative[j] = running
    ratio[0] = 0.0
    squeeze[0] = exp(p[0] - first)
    for j in range(n):
        ratio[j + 1] = exp(u[j] - u[j + 1])
        squeeze[j + 1] = exp(p[j + 1] - p[j])
    return largest + log(running)


WEIGHTS = {"normal": NORMAL, "gamma": GAMMA}
BASES = {"laplace": LAPLACE, "gaussian": GAUSSIAN, "integers": INTEGERS}
MIDPOINTS = ("geometric", "arithmetic")
MOST = 10**7  # largest number of knots


@cython.auto_pickle(False)
@cython.final
cdef class Problem:
    """Weight function and base distribution of a direct sampler.

    Parameters
    ----------
    weight : ``"normal"`` or ``"gamma"``.
    base : ``"laplace"``, ``"gaussian"`` or ``"integers"``, a distribution on the integers symmetric about 0.
    mode : mode of the weight; z - width for a gamma weight.
    width : > 0, standard deviation of a normal weight, mode of z - xi of a gamma weight.
    power : > 0, shape - 1 of a gamma weight; unused otherwise.
    scale : > 0, scale of the Laplace base, or standard deviation of the Gaussian base.
    tail : only for integers, float64 (K,), log P(X >= k) for k = 0..K - 1; no mass beyond the table.
    """
    cdef Target target
    cdef object tail

    def __init__(self, *, weight, base, double mode, double width, double power=0.0, double scale=1.0, tail=None):
        _checks.one_of("weight", weight, tuple(WEIGHTS))
        _checks.one_of("base", base, tuple(BASES))
        _checks.number("mode", mode)
        _checks.positive("width", width)
        _checks.positive("scale", scale)
        if weight == "gamma":
            _checks.positive("power", power)
        if (tail is None) == (base == "integers"):
            raise ValueError(
                f"tail must be given if and only if the base is an integer distribution, got base = {base!r} and "
                f"tail = {tail!r}"
            )
        self.target.weight, self.target.base = WEIGHTS[weight], BASES[base]
        self.target.mode, self.target.width, self.target.power, self.target.scale = mode, width, power, scale
        cdef const double[::1] view
        if tail is not None:
            self.tail = np.array(_logs("tail", tail))
            view = self.tail
            if view.shape[0] < 1:
                raise ValueError("tail must have at least one entry, got none")
            self.target.tail, self.target.size = &view[0], view.shape[0]
        c_series(self.target.series)

    def log_area(self, log_u):
        """Return log P(A_u) at log u <= 0: float64, one-dimensional (-inf at 0).

        Raises
        ------
        ValueError, TypeError
            If `log_u` is not one-dimensional, NaN or above 0.
        """
        cdef const double[::1] points = _logs("log_u", log_u)
        cdef double[::1] out = np.empty(points.shape[0])
        cdef Py_ssize_t i
        with nogil:
            for i in range(points.shape[0]):
                out[i] = c_log_area(&self.target, points[i])
        return np.asarray(out)

    def interval(self, log_u):
        """Return the distances (left, right) of the ends of A_u from the mode: two arrays; errors as `log_area`."""
        cdef const double[::1] points = _logs("log_u", log_u)
        cdef double[::1] left = np.empty(points.shape[0]), right = np.empty(points.shape[0])
        cdef Py_ssize_t i
        with nogil:
            for i in range(points.shape[0]):
                c_reach(&self.target, points[i], &left[i], &right[i])
        return np.asarray(left), np.asarray(right)

    def log_whole(self):
        """Return log P(A_0): the mass of the base where the weight is positive."""
        if self.target.weight == NORMAL:
            return 0.0
        return c_log_probability(&self.target, 1e18 + 1e6 * self.target.width, self.target.width)


cdef int64_t small_rectangles_fill(const Target *target, double[::1] u, double[::1] p, int64_t[::1] following,
                                   double[::1] keys, int64_t[::1] places, bint geometric) noexcept nogil:
    """Add knots in order (0: lower end, 1: upper end, then the midpoints); return their number."""
    cdef int64_t filled = 2, heap = 1, i, j, total = u.shape[0]
    following[0], following[1] = 1, -1
    keys[0], places[0] = c_rectangle(u[0], u[1], p[0], p[1]), 0
    while filled < total and heap > 0:
        i = c_pop(&keys[0], &places[0], heap)
        heap -= 1
        j = following[i]
        u[filled] = 0.5 * (u[i] + u[j]) if geometric else c_logaddexp(u[i], u[j]) - 0.69314718055994530942
        if not u[i] < u[filled] < u[j]:  # u[i] and u[j] are adjacent floating-point numbers
            continue
        p[filled] = c_log_area(target, u[filled])
        following[filled], following[i] = j, filled
        c_push(&keys[0], &places[0], heap, c_rectangle(u[i], u[filled], p[i], p[filled]), i)
        c_push(&keys[0], &places[0], heap + 1, c_rectangle(u[filled], u[j], p[filled], p[j]), filled)
        heap += 2
        filled += 1
    return filled


def small_rectangles(Problem problem not None, double lower, double upper, count, midpoint="geometric"):
    """Choose knots by the small rectangles algorithm: halve the largest rectangle until there are `count` + 1 knots.

    Parameters
    ----------
    problem : weight and base.
    lower, upper : log u_L < log u_H <= 0.
    count : N >= 1, number of intervals.
    midpoint : ``"geometric"`` (halfway in log u) or ``"arithmetic"`` (halfway in u).

    Returns
    -------
    log_u, log_p : float64, in the order in which they were added (u_L, u_H, then the midpoints); fewer than N + 1 only
        if adjacent floating-point numbers have no midpoint. The cost is O(N log N) with a priority queue.
    """
    _checks.one_of("midpoint", midpoint, MIDPOINTS)
    count = _checks.integer("count", count, least=1, most=MOST)
    if not -INFINITY < lower < upper <= 0.0:
        raise ValueError(f"lower and upper must be finite with lower < upper <= 0, got {lower} and {upper}")
    u, p = np.empty(count + 1), np.empty(count + 1)
    cdef double[::1] u_view = u, p_view = p, keys = np.empty(2 * count + 4)
    cdef int64_t[::1] following = np.empty(count + 1, np.int64), places = np.empty(2 * count + 4, np.int64)
    u[:2] = lower, upper
    p[:2] = problem.log_area(u[:2])
    cdef int64_t filled
    cdef bint geometric = midpoint == "geometric"
    with nogil:
        filled = small_rectangles_fill(&problem.target, u_view, p_view, following, keys, places, geometric)
    return u[:filled], p[:filled]


cdef int64_t insert_fill(double[::1] u, double[::1] p, int64_t n, int64_t piece, double log_u,
                         double log_p) noexcept nogil:
    """Insert a rejected u between its neighbouring knots; return the number of intervals."""
    cdef int64_t j
    for j in range(n, piece - 1, -1):
        u[j + 1], p[j + 1] = u[j], p[j]
    u[piece], p[piece] = log_u, log_p
    return n + 1


cdef int64_t draw_fill(const Target *target, double[::1] u, double[::1] p, double first, int64_t *knots, bint adapt,
                       int64_t limit, double[:, ::1] work, double[::1] out, bitgen_t *bits) noexcept nogil:
    """Accept or reject draws from the step function; return the number of rejections, or -1 if it exceeds `limit`."""
    cdef int64_t n = knots[0], i, low, half, size, rejected = 0
    cdef double *cumulative = &work[0, 0]
    cdef double *ratio = &work[1, 0]
    cdef double *squeeze = &work[2, 0]
    cdef double left, right, log_u, log_p, v, target_area
    steps_fill(u, p, first, n, cumulative, ratio, squeeze)
    i = 0
    while i < out.shape[0]:
        target_area = c_uniform(bits) * cumulative[n]
        low, size = 0, n + 1
        while size > 1:
            half = size >> 1
            low += half * (cumulative[low + half - 1] <= target_area)
            size -= half
        v = target_area - (cumulative[low - 1] if low > 0 else 0.0)
        v /= cumulative[low] - (cumulative[low - 1] if low > 0 else 0.0)
        v = 1.0 - v  # in (0, 1]
        log_u = u[low] + log(ratio[low] + v * (1.0 - ratio[low]))
        c_reach(target, log_u if log_u < 0.0 else -5e-324, &left, &right)
        v = c_uniform(bits)
        if v >= squeeze[low]:
            log_p = c_log_probability(target, left, right)
            if v >= exp(log_p - (first if low == 0 else p[low - 1])):
                rejected += 1
                if rejected > limit:
                    return -1
                if adapt and n + 2 < u.shape[0]:
                    n = insert_fill(u, p, n, low, log_u, log_p)
                    steps_fill(u, p, first, n, cumulative, ratio, squeeze)
                continue
        out[i] = c_within(target, left, right, c_uniform(bits))
        i += 1
    knots[0] = n
    return rejected


def envelope(log_u, log_p, double first):
    """Return log a, the log integral of the step function on sorted knots; `first` is its log height on [0, u_0).

    Parameters
    ----------
    log_u, log_p : float64 (N + 1,), increasing and decreasing.
    first : log height before the first knot.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If the knots are not valid for `draw`.
    """
    u_checked, p_checked = _knots(log_u, log_p, first)
    cdef const double[::1] u = u_checked, p = p_checked
    work = np.empty((3, len(u_checked) + 1))
    cdef double[:, ::1] view = work
    return steps_fill(u, p, first, u.shape[0] - 1, &view[0, 0], &view[1, 0], &view[2, 0])


def draw(Problem problem not None, log_u, log_p, double first, size, *, rng, adapt=False, limit=10**9, room=2000):
    """Draw independent values of x from the target density.

    Parameters
    ----------
    problem : weight and base.
    log_u, log_p : float64 (N + 1,), sorted knots and log P(A_u) at the knots.
    first : log height of the step function on [0, u_0); with log P(A_0), it is certain to be an envelope.
    size : number of draws >= 0.
    rng : numpy Generator; two uniforms per attempt and one more if it is accepted.
    adapt : whether rejected u are added to the knots (until there are `room` more).
    limit : largest number of rejections allowed.
    room : number of knots that `adapt` may add.

    Returns
    -------
    x float64 (size,), number of rejections, log_u and log_p of the final knots.

    Raises
    ------
    RuntimeError
        If there are more than `limit` rejections: the envelope is too far from P(A_u) to be useful.
    ValueError, TypeError
        If an argument is invalid: there must be at least two knots, log u finite, increasing and <= 0, log P not NaN
        and not increasing, `first` finite and not below the first log P.
    """
    u_checked, p_checked = _knots(log_u, log_p, first)
    cdef int64_t n = len(u_checked) - 1, rejected, most = _checks.integer("limit", limit, most=2**62)
    extra = _checks.integer("room", room, most=MOST) if adapt else 0
    u, p = (np.concatenate([a, np.empty(extra)]) for a in (u_checked, p_checked))
    out = np.empty(_checks.integer("size", size))
    _checks.generator(rng)
    cdef double[::1] u_view = u, p_view = p, view = out
    cdef double[:, ::1] work = np.empty((3, len(u) + 1))
    cdef bint add = adapt
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        rejected = draw_fill(&problem.target, u_view, p_view, first, &n, add, most, work, view, bits)
    if rejected < 0:
        raise RuntimeError(f"the sampler rejected more than {limit} candidates, because the step function is a poor "
                           "envelope: use other knots")
    return out, rejected, u[: n + 1], p[: n + 1]


def _logs(name, values):
    """Return one-dimensional numbers <= 0, which may include -inf."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must contain only numbers, got {values!r}")
    if array.ndim != 1 or not (array <= 0.0).all():
        raise ValueError(f"{name} must be one-dimensional and <= 0, got {values!r}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _knots(log_u, log_p, first):
    u, p = _logs("log_u", log_u), np.asarray(log_p)
    if p.dtype.kind not in "iuf":
        raise TypeError(f"log_p must contain only numbers, got {log_p!r}")
    p = np.ascontiguousarray(p, dtype=np.float64)
    if len(u) < 2 or p.shape != u.shape:
        raise ValueError(f"log_u and log_p must have the same length, at least 2, got shapes {u.shape} and {p.shape}")
    if not (np.isfinite(u).all() and (np.diff(u) > 0.0).all()):
        raise ValueError("log_u must be finite and increasing")
    if np.isnan(p).any() or not (p[1:] <= p[:-1] + 1e-9).all():
        raise ValueError("log_p must not increase and must not contain NaN")
    if not (first < INFINITY and first >= p[0] - 1e-9):
        raise ValueError(f"first must be finite and >= log_p[0] ({p[0]}), got {first}")
    return u, p
