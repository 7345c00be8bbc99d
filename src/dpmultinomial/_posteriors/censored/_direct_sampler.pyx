# cython: language_level=3
"""The direct sampler: draws of f(x) = w(x) g(x)/psi through u | x ~ Uniform(0, w(x)/c) (Walker et al. 2011, Raim 2021).

p(u) is proportional to P(A_u), A_u = {x: w(x) > u c}; x | u is the base g restricted to the interval A_u. P(A_u) is
enclosed by a step function on knots u_0 < .. < u_N, from which u is drawn and accepted or rejected: the draws are
exact. Everything is held as log u and log P, because u reaches exp(-10^7) and P(A_u) far below the range of float64.

Weights: a normal density of xi, or a gamma density of z - xi. Bases: Laplace, Gaussian, symmetric laws on the integers.
The sides of A_u are kept as distances from the weight's mode, so that intervals as thin as 1e-150 keep their length.
"""
cimport cython
import numpy as np

from libc.math cimport INFINITY, exp, expm1, log, log1p
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ._direct_sampler cimport (GAMMA, GAUSSIAN, INTEGERS, LAPLACE, NORMAL, Target, c_log_area, c_log_probability,
    c_reach, c_series, c_within)
from ._gamma_integrals cimport c_logaddexp
from ._step_function cimport c_pop, c_push, c_rectangle, steps_fill

from ... import _checks

WEIGHTS = {"normal": NORMAL, "gamma": GAMMA}
BASES = {"laplace": LAPLACE, "gaussian": GAUSSIAN, "integers": INTEGERS}
MIDPOINTS = ("geometric", "arithmetic")
MOST = 10**7  # knots


@cython.auto_pickle(False)
@cython.final
cdef class Problem:
    """A weight and a base.

    Parameters
    ----------
    weight : ``"normal"`` or ``"gamma"``.
    base : ``"laplace"``, ``"gaussian"`` or ``"integers"``, a law on whole numbers symmetric about 0.
    mode : of the weight; z - width for a gamma weight.
    width : > 0, standard deviation of a normal weight, mode of z - xi of a gamma weight.
    power : > 0, shape - 1 of a gamma weight; unused otherwise.
    scale : > 0, of the Laplace base, or the Gaussian's standard deviation.
    tail : for whole numbers alone, float64 (K,), log P(X >= k) for k = 0..K - 1; no mass beyond the table.
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
                f"tail must be given for integer bases and for no other, got base = {base!r} and tail = {tail!r}"
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
        """log P(A_u) at log u <= 0: float64, one-dimensional (-inf at 0).

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
        """Distances (left, right) of the ends of A_u from the mode: two float64 arrays. Raises as `log_area`."""
        cdef const double[::1] points = _logs("log_u", log_u)
        cdef double[::1] left = np.empty(points.shape[0]), right = np.empty(points.shape[0])
        cdef Py_ssize_t i
        with nogil:
            for i in range(points.shape[0]):
                c_reach(&self.target, points[i], &left[i], &right[i])
        return np.asarray(left), np.asarray(right)

    def log_whole(self):
        """log P(A_0): the base's mass where the weight is positive."""
        if self.target.weight == NORMAL:
            return 0.0
        return c_log_probability(&self.target, 1e18 + 1e6 * self.target.width, self.target.width)


cdef int64_t small_rectangles_fill(const Target *target, double[::1] u, double[::1] p, int64_t[::1] following,
                                   double[::1] keys, int64_t[::1] places, bint geometric) noexcept nogil:
    """Knots in the order in which they are added (0: lower end, 1: upper end); returns how many there are."""
    cdef int64_t made = 2, heap = 1, i, j, total = u.shape[0]
    following[0], following[1] = 1, -1
    keys[0], places[0] = c_rectangle(u[0], u[1], p[0], p[1]), 0
    while made < total and heap > 0:
        i = c_pop(&keys[0], &places[0], heap)
        heap -= 1
        j = following[i]
        u[made] = 0.5 * (u[i] + u[j]) if geometric else c_logaddexp(u[i], u[j]) - 0.69314718055994530942
        if not u[i] < u[made] < u[j]:  # two neighbours among the floating point numbers
            continue
        p[made] = c_log_area(target, u[made])
        following[made], following[i] = j, made
        c_push(&keys[0], &places[0], heap, c_rectangle(u[i], u[made], p[i], p[made]), i)
        c_push(&keys[0], &places[0], heap + 1, c_rectangle(u[made], u[j], p[made], p[j]), made)
        heap += 2
        made += 1
    return made


def small_rectangles(Problem problem not None, double lower, double upper, count, midpoint="geometric"):
    """Knots by the small rectangles algorithm: halve the largest rectangle until there are `count` + 1 knots.

    Parameters
    ----------
    problem : weight and base.
    lower, upper : log u_L < log u_H <= 0.
    count : N >= 1, number of intervals.
    midpoint : ``"geometric"`` (halfway in log u) or ``"arithmetic"`` (halfway in u).

    Returns
    -------
    log_u, log_p : float64, in the order of adding (u_L, u_H, then the midpoints); fewer than N + 1 only where floating
        point numbers run out. O(N log N) with a priority queue.
    """
    _checks.one_of("midpoint", midpoint, MIDPOINTS)
    count = _checks.whole("count", count, least=1, most=MOST)
    if not -INFINITY < lower < upper <= 0.0:
        raise ValueError(f"lower and upper must be finite with lower < upper <= 0, got {lower} and {upper}")
    u, p = np.empty(count + 1), np.empty(count + 1)
    cdef double[::1] u_view = u, p_view = p, keys = np.empty(2 * count + 4)
    cdef int64_t[::1] following = np.empty(count + 1, np.int64), places = np.empty(2 * count + 4, np.int64)
    u[:2] = lower, upper
    p[:2] = problem.log_area(u[:2])
    cdef int64_t made
    cdef bint geometric = midpoint == "geometric"
    with nogil:
        made = small_rectangles_fill(&problem.target, u_view, p_view, following, keys, places, geometric)
    return u[:made], p[:made]


cdef int64_t insert_fill(double[::1] u, double[::1] p, int64_t n, int64_t piece, double log_u,
                         double log_p) noexcept nogil:
    """Put a rejected u between the knots around it; returns the number of intervals."""
    cdef int64_t j
    for j in range(n, piece - 1, -1):
        u[j + 1], p[j + 1] = u[j], p[j]
    u[piece], p[piece] = log_u, log_p
    return n + 1


cdef int64_t draw_fill(const Target *target, double[::1] u, double[::1] p, double first, int64_t *knots, bint adapt,
                       int64_t limit, double[:, ::1] work, double[::1] out, bitgen_t *bits) noexcept nogil:
    """Accept-reject from the step function; returns the number of rejections, -1 if `limit` is passed."""
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
    """log a = log of the integral of the step function on sorted knots; `first` is its log height on [0, u_0).

    Parameters
    ----------
    log_u, log_p : float64 (N + 1,), rising and falling.
    first : log height before the first knot.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If the knots are not as in `draw`.
    """
    u_checked, p_checked = _knots(log_u, log_p, first)
    cdef const double[::1] u = u_checked, p = p_checked
    work = np.empty((3, len(u_checked) + 1))
    cdef double[:, ::1] view = work
    return steps_fill(u, p, first, u.shape[0] - 1, &view[0, 0], &view[1, 0], &view[2, 0])


def draw(Problem problem not None, log_u, log_p, double first, size, *, rng, adapt=False, limit=10**9, room=2000):
    """Independent draws of x.

    Parameters
    ----------
    problem : weight and base.
    log_u, log_p : float64 (N + 1,), sorted knots and log P(A_u) there.
    first : log height of the step function on [0, u_0); log P(A_0) makes it an envelope for sure.
    size : number of draws >= 0.
    rng : numpy Generator; two uniforms an attempt and one more if it is accepted.
    adapt : add rejected u to the knots (until there are `room` more).
    limit : most rejections allowed.
    room : knots that `adapt` may add.

    Returns
    -------
    x float64 (size,), number of rejections, log_u and log_p of the knots afterwards.

    Raises
    ------
    RuntimeError
        After `limit` rejections: the envelope is useless.
    ValueError, TypeError
        If an argument breaks its rule: at least two knots, log u finite, increasing and <= 0, log P not NaN and not
        increasing, `first` finite and not below the first log P.
    """
    u_checked, p_checked = _knots(log_u, log_p, first)
    cdef int64_t n = len(u_checked) - 1, rejected, most = _checks.whole("limit", limit, most=2**62)
    extra = _checks.whole("room", room, most=MOST) if adapt else 0
    u, p = (np.concatenate([a, np.empty(extra)]) for a in (u_checked, p_checked))
    out = np.empty(_checks.whole("size", size))
    _checks.generator(rng)
    cdef double[::1] u_view = u, p_view = p, view = out
    cdef double[:, ::1] work = np.empty((3, len(u) + 1))
    cdef bint add = adapt
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        rejected = draw_fill(&problem.target, u_view, p_view, first, &n, add, most, work, view, bits)
    if rejected < 0:
        raise RuntimeError(f"more than {limit} rejections: the step function is no useful envelope; use other knots")
    return out, rejected, u[: n + 1], p[: n + 1]


def _logs(name, values):
    """One-dimensional numbers <= 0, -inf among them."""
    found = np.asarray(values)
    if found.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be numbers, got {values!r}")
    if found.ndim != 1 or not (found <= 0.0).all():
        raise ValueError(f"{name} must be one-dimensional and <= 0, got {values!r}")
    return np.ascontiguousarray(found, dtype=np.float64)


def _knots(log_u, log_p, first):
    u, p = _logs("log_u", log_u), np.asarray(log_p)
    if p.dtype.kind not in "iuf":
        raise TypeError(f"log_p must be numbers, got {log_p!r}")
    p = np.ascontiguousarray(p, dtype=np.float64)
    if len(u) < 2 or p.shape != u.shape:
        raise ValueError(f"log_u and log_p must have equal lengths >= 2, got shapes {u.shape} and {p.shape}")
    if not (np.isfinite(u).all() and (np.diff(u) > 0.0).all()):
        raise ValueError("log_u must be finite and increasing")
    if np.isnan(p).any() or not (p[1:] <= p[:-1] + 1e-9).all():
        raise ValueError("log_p must not increase and not be NaN")
    if not (first < INFINITY and first >= p[0] - 1e-9):
        raise ValueError(f"first must be finite and not below log_p[0] = {p[0]}, got {first}")
    return u, p
