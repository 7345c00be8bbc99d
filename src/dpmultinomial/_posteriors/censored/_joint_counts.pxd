# cython: language_level=3, cdivision=True, wraparound=False
"""Draws of (s_high, s_low) together, by inversion, at a cost of their spread, whatever n.

The log weight is f(high) + g(low) + R(low + high), f and g as in censored_counts.pxd, R(m) the part of the n - m
records inside. At its largest value there is a slope b that is one of f, g and -R, so that with b taken off

    A(s) = exp(f(s) - f(s*) - b (s - s*)),  B(t),  C(m) = exp(R(m) - R(m*) + b (m - m*))

are at most 1: no pair outside the places where A, B and, for the heaviest pair of a sum, A B C are above exp(-`DEPTH`)
weighs more than that of the heaviest. f and g are concave; R is where the release is not absurd, and where it is not
(C above 1) the places are wider by as much.
"""
from libc.math cimport INFINITY, NAN, exp, fmax, fmin
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_uniform
from ._censored_counts cimport DEPTH, LEAST_COUNT, Box, Side, c_least, c_most, c_term
from ._censored_law cimport Law
from ._censored_setting cimport Setting, State
from ._gamma_integrals cimport FOUR
from ._laplace_noise cimport c_gamma_log_psi, c_gamma_log_psi_four, c_normal_noise

cdef enum:
    NEAR = 2  # fours of sums on each side of the last pair's that are made before the climb
    ROWS = 5  # of the work: A by s_high, B by s_low, R by their sum (NaN: not known), C, A times the sums of B C

cdef struct Joint:
    Side high, low
    const Setting *data
    const Law *law
    int64_t first, last  # sums at which R is known lie between them


cdef inline double c_rest(Joint *joint, const double[::1] factorial, double[:, ::1] work, int64_t m) noexcept nogil:
    """R(m): n - m records inside, and the normalisers of both laws of their noise; -inf where it is not defined."""
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
    """`c_rest` at m, m + way .. , four together, where none is known yet."""
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
    """log weight of s_high = s, s_low = t."""
    if s < 0 or t < 0 or s + t > joint.data.n - LEAST_COUNT:
        return -INFINITY
    return c_term(&joint.high, factorial, s) + c_term(&joint.low, factorial, t) + c_rest(joint, factorial, work, s + t)


cdef inline void c_climb(Joint *joint, const double[::1] factorial, double[:, ::1] work, int64_t *s,
                         int64_t *t) noexcept nogil:
    """To the heaviest pair: steps in either count or from one to the other, longer while they help."""
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
    """The slope b at the heaviest pair: in the middle of what f, g and -R have there in common."""
    cdef double here = c_rest(joint, factorial, work, s + t)
    cdef double low = c_rest(joint, factorial, work, s + t - 1) - here
    cdef double high = here - c_rest(joint, factorial, work, s + t + 1)
    low = fmax(low, c_term(&joint.high, factorial, s + 1) - c_term(&joint.high, factorial, s))
    low = fmax(low, c_term(&joint.low, factorial, t + 1) - c_term(&joint.low, factorial, t))
    if s > 0:
        high = fmin(high, c_term(&joint.high, factorial, s) - c_term(&joint.high, factorial, s - 1))
    if t > 0:
        high = fmin(high, c_term(&joint.low, factorial, t) - c_term(&joint.low, factorial, t - 1))
    return 0.5 * (low + high) if high < INFINITY else low


cdef inline void c_places(const Side *side, const double[::1] factorial, int64_t most, int64_t mode, double slope,
                          double depth, double *weights, int64_t *first, int64_t *last) noexcept nogil:
    """A or B at all places where it is above exp(-depth)."""
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
    """The last sum, going `way`, of which a pair weighs more than exp(-depth); `excess`: the largest log C on it.

    The heaviest pair of the next sum is this one's with a step in one count (A and B fall ever faster).
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
    """Row 4: A(s) times the sum of B(t) C(s + t) over t; their sum."""
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
    """A, B and C; the heaviest pair is looked for from (high, low), a possible one."""
    cdef int64_t m, start
    cdef double slope, top, excess = 0.0, depth = 0.0
    cdef Joint joint
    cdef Box box
    joint.high = Side(law.log_high, 0.0, data.z_high, data.scale_high)
    joint.low = Side(law.log_low, 0.0, data.z_low, data.scale_low)
    joint.data, joint.law, joint.first, joint.last = data, law, high + low, high + low - 1
    for m in range(NEAR):
        c_rests(&joint, work, factorial, joint.first - 1, -1)
        c_rests(&joint, work, factorial, joint.last + 1, 1)
    c_climb(&joint, factorial, work, &high, &low)
    start = high + low
    slope, top = c_slope(&joint, factorial, work, high, low), c_rest(&joint, factorial, work, start)
    while depth < DEPTH + excess:
        depth = DEPTH + excess
        box.m0 = c_sums(&joint, factorial, work, high, low, -1, slope, depth, &excess)
        box.m1 = c_sums(&joint, factorial, work, high, low, 1, slope, depth, &excess)
    for m in range(box.m0, box.m1 + 1):
        work[3, m] = exp(c_rest(&joint, factorial, work, m) - top + slope * (m - start) - excess)
    c_places(&joint.high, factorial, data.n - LEAST_COUNT, high, slope, depth, &work[0, 0], &box.h0, &box.h1)
    c_places(&joint.low, factorial, data.n - LEAST_COUNT, low, slope, depth, &work[1, 0], &box.l0, &box.l1)
    for m in range(joint.first, joint.last + 1):
        work[2, m] = NAN
    return box


cdef inline void c_counts_jointly(const Setting *data, const Law *law, const double[::1] factorial,
                                  double[:, ::1] work, State *state, bitgen_t *bits) noexcept nogil:
    """(s_low, s_high) from their multinomial law times both noises times the normalisers at s_c = n - s_low - s_high.

    By inversion, s_high before s_low. `state` holds a possible pair.
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
