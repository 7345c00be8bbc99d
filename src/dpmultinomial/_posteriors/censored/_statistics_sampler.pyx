# cython: language_level=3
"""Sampler of the posterior distribution of (mu, sigma2) given noisy statistics of a censored normal sample, with a cost
per step that does not depend on the sample size n.

The sampler keeps no records. Values are on the scale of the limits, u = (x - middle)/half-width; inside means
[-1, 1]. With l, h the numbers of records below and above, c = n - l - h, m, q the mean and the sum of squares (about m)
of the c records inside, and P_l, P_h the normal tail probabilities,

    p(l, h, m, q | theta) =
        n!/(l! h! c!) P_l^l P_h^h (2 pi sigma2)^(-c/2) exp(-(q + c (m - mu)^2)/(2 sigma2)) h_c(m, q),

exactly. The function h_c does not depend on theta (inside_density.pxd: saddlepoint approximation of second order for c
>= 64). For c < 64, the c records are part of the state, as uniform numbers to which the quantile function of the
distribution is applied. This is exact, also for c = 0, 1, 2. The released z_j has weight exp(-|z_j - s_j|/scale_j);
with a grid g_j > 0, z_j is s_j rounded to multiples of g_j plus discrete Laplace noise on the grid.

The coordinates of the chain are (mu, log sigma2, w_low, w_high, w_mean, w_sse). A statistic with mean E and variance V
under theta is s = k E + (1 - k) z + sqrt(k V) w, k = 2 scale^2/(2 scale^2 + V): this transformation centres s at its
conditional distribution, so that w is nearly standard normal and independent of theta for every size of the noise.
Counts are rounded. The steps are a random walk in all six coordinates (25 %, with 0.3, 1 or 2.5 times `walk`); a new
theta from a t_4 distribution (35 %) or from the prior (5 %) at the same w; and w' = w/2 + sqrt(3/4) N(0, I) with a new
theta from the t_4 distribution (20 %) or the same theta (15 %). Each step has its Metropolis-Hastings ratio.
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, fabs, floor, fmax, fmin, lgamma, log, log1p, rint, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma, random_standard_normal
from scipy.special.cython_special cimport log_ndtr, ndtri_exp

from ..._kernels.bitgen cimport c_bitgen, c_open, c_uniform
from ..._kernels.log_probabilities cimport c_gaussian
from .inside_density cimport NODES, Rule, Tilted, c_log_inside_density, c_reachable, c_tilt

from ... import _checks

# Log target of the sampler without records, and the statistics at its coordinates (distributions: see the module
# docstring).
cdef enum:
    FEW = 64

cdef struct Setting:
    double z[4]
    double scale[4]
    double grid[4]
    double mu0, var0, shape0, rate0, origin
    int64_t n
    bint sums

cdef struct State:
    double y[6]
    double u[FEW]
    double s[4]  # mean, sse, low, high
    double e[2]
    double centre, log_target, count

cdef inline double c_place(double w, double expected, double variance, double z, double scale,
                           double *log_slope) noexcept nogil:
    cdef double noise = 2.0 * scale * scale, k = noise / (noise + variance)
    log_slope[0] += 0.5 * log(k * variance)
    return k * expected + (1.0 - k) * z + sqrt(k * variance) * w


cdef inline double c_miss(double z, double s, double scale, double grid, double origin) noexcept nogil:
    if grid > 0.0:
        s = rint((s + origin) / grid) * grid - origin
    return fabs(z - s) / scale


cdef inline double c_misfit(const Setting *data, const double *s, double c) noexcept nogil:
    cdef double first = c * s[0] if data.sums else s[0], second = s[1] + c * s[0] * s[0] if data.sums else s[1]
    return (c_miss(data.z[0], first, data.scale[0], data.grid[0], 0.0 if data.sums else data.origin)
            + c_miss(data.z[1], second, data.scale[1], data.grid[1], 0.0)
            + c_miss(data.z[2], s[2], data.scale[2], data.grid[2], 0.0)
            + c_miss(data.z[3], s[3], data.scale[3], data.grid[3], 0.0))


cdef inline double c_log_prior(const Setting *data, double mu, double t) noexcept nogil:
    """Return the log prior density of (mu, log sigma2), up to a constant."""
    return -0.5 * (mu - data.mu0) * (mu - data.mu0) / data.var0 - data.shape0 * t - data.rate0 * exp(-t)


cdef inline void c_few_records(State *state, double mu, double sd, int64_t c) noexcept nogil:
    """Compute the mean and the sum of squares of c < 64 records. The records are quantiles of the truncated normal
    distribution at the uniform numbers of the state.
    """
    cdef double low = (-1.0 - mu) / sd, high = (1.0 - mu) / sd, sign = 1.0, top, ratio, x, first = 0.0, second = 0.0
    cdef int64_t i
    if low > 0.0:
        low, high, sign = -high, -low, -1.0
    top = log_ndtr(high)
    ratio = exp(log_ndtr(low) - top)
    for i in range(c):
        x = mu + sign * sd * ndtri_exp(top + log(ratio + state.u[i] * (1.0 - ratio)))
        x = fmin(fmax(x, -1.0), 1.0)
        first += x
        second += x * x
    state.s[0] = first / c if c > 0 else 0.0
    state.s[1] = fmax(second - first * state.s[0], 0.0)


cdef inline double c_log_inside(const Rule *rule, const Setting *data, State *state, const Tilted *at, double shift,
                                double mu, double t, double c, Tilted *law, int64_t *unsolved) noexcept nogil:
    """Compute the mean and the sum of squares of c >= 64 records from the coordinates of the state, and return the log
    of their density without the multinomial factor.
    """
    cdef double variance = at.m2 - at.m1 * at.m1, log_slope = 0.0, second, v, log_density
    cdef double third = at.m3 - 3.0 * at.m1 * at.m2 + 2.0 * at.m1 * at.m1 * at.m1, expected = shift + at.m1, tilt
    cdef double fourth = at.m4 - 4.0 * at.m1 * at.m3 + 6.0 * at.m1 * at.m1 * at.m2 - 3.0 * at.m1 * at.m1 * at.m1 * at.m1
    cdef double m, q, expected_q, z = data.z[0] / c if data.sums else data.z[0]
    cdef double scale = data.scale[0] / c if data.sums else data.scale[0]
    tilt = third / variance  # slope of q in m, per record
    fourth = fmax(fourth - variance * variance - tilt * third, 1e-3 * variance * variance)
    m = c_place(state.y[4], expected, variance / c, fmin(fmax(z, -1.0), 1.0), scale, &log_slope)
    z = data.z[1] - c * m * m if data.sums else data.z[1]
    expected_q = (c - 1.0) * (variance + tilt * (m - expected))
    q = c_place(state.y[5], expected_q, c * fourth, fmin(fmax(z, 0.0), c), data.scale[1], &log_slope)
    state.s[0], state.s[1], v = m, q, q / c
    if not c_reachable(m, v):
        return -INFINITY
    state.e[0] += 2.0 * state.e[1] * (m - state.centre)
    state.centre = m
    log_density = c_log_inside_density(rule, m, v, c, state.e, law, &second)
    if log_density != log_density:  # try again from a starting point that does not depend on the previous tilt
        state.e[0], state.e[1] = 0.0, -0.5 / v
        log_density = c_log_inside_density(rule, m, v, c, state.e, law, &second)
        if log_density != log_density:
            unsolved[0] += 1
            return -INFINITY
    return (log_density + log_slope - 0.5 * c * (1.8378770664093454836 + t)
            - 0.5 * (q + c * (m - mu) * (m - mu)) * exp(-t))


cdef inline void c_evaluate(const Rule *rule, const Setting *data, State *state, Tilted *law,
                            int64_t *unsolved) noexcept nogil:
    """Compute the statistics and the log target density at the coordinates of the state."""
    cdef double mu = state.y[0], t = state.y[1], variance = exp(t), sd = sqrt(variance), log_slope = 0.0
    cdef double n = <double> data.n
    cdef double log_low, log_high, low, high, l, h, c, shift = fmin(fmax(mu, -1.0), 1.0), total
    state.log_target = -INFINITY
    if not (fabs(t) < 500.0 and fabs(mu) < 1e100):
        return
    log_low, log_high = log_ndtr((-1.0 - mu) / sd), log_ndtr((mu - 1.0) / sd)
    low, high = exp(log_low), exp(log_high)
    l = c_place(state.y[2], n * low, n * low * (1.0 - low) + 1.0 / 12.0, fmin(fmax(data.z[2], 0.0), n),
                sqrt(data.scale[2] * data.scale[2] + 1.0 / 24.0), &log_slope)
    l = floor(l + 0.5)
    if not 0.0 <= l <= n:
        return
    high = fmin(1.0, exp(log_high - log_ndtr((1.0 + mu) / sd)))  # probability above, given that a record is not below
    h = c_place(state.y[3], (n - l) * high, (n - l) * high * (1.0 - high) + 1.0 / 12.0, fmin(fmax(data.z[3], 0.0), n),
                sqrt(data.scale[3] * data.scale[3] + 1.0 / 24.0), &log_slope)
    h = floor(h + 0.5)
    c = n - l - h
    if not (h >= 0.0 and c >= 0.0):
        return
    state.s[2], state.s[3], state.count = l, h, c
    total = log_slope + c_log_prior(data, mu, t) - lgamma(l + 1.0) - lgamma(h + 1.0) - lgamma(c + 1.0) + lgamma(n + 1.0)
    total += (l * log_low if l > 0.0 else 0.0) + (h * log_high if h > 0.0 else 0.0)
    if c < FEW:
        c_few_records(state, mu, sd, <int64_t> c)
        total += c * c_gaussian((-1.0 - mu) / sd, 2.0 / sd) if c > 0.0 else 0.0
        total -= 1.8378770664093454836 + 0.5 * (state.y[4] * state.y[4] + state.y[5] * state.y[5])  # unused coordinates
    else:
        c_tilt(rule, (mu - shift) / variance, -0.5 / variance, shift, law)
        total += c_log_inside(rule, data, state, law, shift, mu, t, c, law, unsolved)
    if total == total:
        state.log_target = total - c_misfit(data, state.s, c)


# Proposals of the chain over statistics: scales of the walk, and t distribution of theta (see the module docstring).
cdef struct Proposal:
    double walk[6][6]
    double centre[2]
    double spread[2][2]


cdef inline double c_log_t(const Proposal *by, const double *y) noexcept nogil:
    """Return the log density of the t_4 proposal distribution of theta, up to a constant."""
    cdef double a = (y[0] - by.centre[0]) / by.spread[0][0]
    cdef double b = (y[1] - by.centre[1] - by.spread[1][0] * a) / by.spread[1][1]
    return -3.0 * log1p(0.25 * (a * a + b * b))


cdef inline void c_theta_from_t(const Proposal *by, State *state, bitgen_t *bits) noexcept nogil:
    cdef double a = random_standard_normal(bits), b = random_standard_normal(bits)
    cdef double stretch = sqrt(2.0 / random_standard_gamma(bits, 2.0))
    state.y[0] = by.centre[0] + by.spread[0][0] * a * stretch
    state.y[1] = by.centre[1] + (by.spread[1][0] * a + by.spread[1][1] * b) * stretch


FEWEST = 64  # smallest number of uncensored records for which the saddlepoint is used
# largest number of records; for more, float64 has too few digits for the logs of the multinomial distribution
MOST = 10**12
COLUMNS = ("mu", "log_sigma2", "w_low", "w_high", "w_mean", "w_sse", "mean", "sse", "low", "high")

cdef enum:
    FRESH = 8  # number of uniforms redrawn in one proposal


cdef int c_propose(const Setting *data, const Proposal *by, const State *now, State *fresh, double *ratio,
                   bitgen_t *bits) noexcept nogil:
    """Propose a move from the state `now` to the state `fresh`, store the log Hastings ratio in `ratio`, and return the
    kind of the move (0 to 6).
    """
    cdef double u = c_uniform(bits), size, normals[6]
    cdef int kind, i, j
    kind = 0 if u < 0.05 else 1 if u < 0.2 else 2 if u < 0.25 else 3 if u < 0.6 else 4
    if u >= 0.65:
        kind = 5 if u < 0.85 else 6
    ratio[0] = 0.0
    # kinds 0 to 2: random walk of all coordinates with three step sizes; the proposal is symmetric
    if kind < 3:
        size = 0.3 if kind == 0 else 1.0 if kind == 1 else 2.5
        for i in range(6):
            normals[i] = random_standard_normal(bits)
        for i in range(6):
            for j in range(i + 1):
                fresh.y[i] += size * by.walk[i][j] * normals[j]
    # kinds 3 and 5: theta from the t distribution
    if kind == 3 or kind == 5:
        c_theta_from_t(by, fresh, bits)
        ratio[0] += c_log_t(by, now.y) - c_log_t(by, fresh.y)
    # kind 4: theta from the prior
    if kind == 4:
        fresh.y[0] = data.mu0 + sqrt(data.var0) * random_standard_normal(bits)
        fresh.y[1] = log(data.rate0) - log(random_standard_gamma(bits, data.shape0))
        ratio[0] += c_log_prior(data, now.y[0], now.y[1]) - c_log_prior(data, fresh.y[0], fresh.y[1])
    # kinds 5 and 6: autoregressive step of the standard normal coordinates w
    if kind > 4:
        for i in range(2, 6):
            fresh.y[i] = 0.5 * now.y[i] + 0.86602540378443864676 * random_standard_normal(bits)
            ratio[0] += 0.5 * (fresh.y[i] * fresh.y[i] - now.y[i] * now.y[i])
    return kind


cdef void c_refresh(const Rule *rule, const Setting *data, State *now, State *fresh, Tilted *law, int64_t *unsolved,
                    bitgen_t *bits) noexcept nogil:
    """Redraw one of the uniform numbers that represent fewer than 64 records if these numbers are not in use, and
    otherwise propose eight new numbers.
    """
    cdef int64_t first = <int64_t> (FEW * c_uniform(bits)), i
    if now.count >= FEW:
        now.u[first] = c_open(bits)
        return
    fresh[0] = now[0]
    for i in range(FRESH):
        fresh.u[(first + i) % FEW] = c_open(bits)
    c_evaluate(rule, data, fresh, law, unsolved)
    if log(c_open(bits)) < fresh.log_target - now.log_target:
        now[0] = fresh[0]


cdef int64_t chain_fill(const Rule *rule, const Setting *data, const Proposal *by, State *now, int64_t thin,
                        double[:, ::1] out, int64_t[:, ::1] moves, bitgen_t *bits) noexcept nogil:
    """Run out.shape[0] * thin steps of the Markov chain, and count the proposed and accepted moves by kind. The
    function returns the number of proposals for which no tilt was found.
    """
    cdef int64_t t, k, unsolved = 0
    cdef int kind, i
    cdef double ratio
    cdef State fresh
    cdef Tilted law
    for t in range(out.shape[0]):
        for k in range(thin):
            fresh = now[0]
            kind = c_propose(data, by, now, &fresh, &ratio, bits)
            c_evaluate(rule, data, &fresh, &law, &unsolved)
            moves[kind, 0] += 1
            if log(c_open(bits)) < fresh.log_target - now.log_target + ratio:
                now[0] = fresh
                moves[kind, 1] += 1
            c_refresh(rule, data, now, &fresh, &law, &unsolved, bits)
        for i in range(6):
            out[t, i] = now.y[i]
        for i in range(4):
            out[t, 6 + i] = now.s[i]
    return unsolved


cdef Rule _rule():
    cdef Rule rule
    cdef int i
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    for i in range(NODES):
        rule.x[i], rule.w[i] = nodes[i], weights[i]
    return rule


cdef Rule RULE = _rule()


cdef Setting _setting(release, n, scales, grids, prior, origin, sums) except *:
    cdef Setting data
    cdef int i
    z, size, steps = _four("release", release), _checks.positives("scales", scales, 4), _four("grids", grids)
    values = _four("prior", prior)
    if steps.min() < 0.0:
        raise ValueError(f"grids must be >= 0, got {steps.min()}")
    if values[1:].min() <= 0.0:
        raise ValueError(f"prior must have the form (mu0, var0 > 0, shape0 > 0, rate0 > 0), got {values.tolist()}")
    for i in range(4):
        data.z[i], data.scale[i], data.grid[i] = z[i], size[i], steps[i]
    data.mu0, data.var0, data.shape0, data.rate0 = values
    data.n, data.origin = _checks.integer("n", n, least=1, most=MOST), _checks.number("origin", origin)
    data.sums = bool(sums)
    return data


cdef State _state(start, uniforms) except *:
    cdef State state
    cdef int i
    y, u = _checks.reals("start", start), _checks.reals("uniforms", uniforms)
    if len(y) != 6:
        raise ValueError(f"start must have 6 entries, got {len(y)} entries")
    if len(u) != FEW or u.min() <= 0.0 or u.max() >= 1.0:
        raise ValueError(
            f"uniforms must contain {FEW} numbers strictly between 0 and 1, got {len(u)} from {u.min()} to {u.max()}"
        )
    for i in range(6):
        state.y[i] = y[i]
    for i in range(FEW):
        state.u[i] = u[i]
    state.e[0], state.e[1], state.centre, state.count = 0.0, -0.5 * exp(-fmin(fmax(y[1], -50.0), 50.0)), 0.0, 0.0
    state.s[0] = state.s[1] = state.s[2] = state.s[3] = NAN
    return state


def chain(release, n, scales, grids, prior, start, uniforms, *, walk, centre, spread, draws, thin, rng, origin=0.0,
          sums=False):
    """Generate dependent draws from the posterior distribution by a Markov chain, on the scale of the limits.

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high).
    n : records, 1 to 10^12.
    scales : Laplace scales, one per statistic.
    grids : step of the grid of the noise, one per statistic; 0 for continuous noise.
    origin : the grid of z_mean has its zero at -origin.
    prior : (mu0, var0, shape0, rate0).
    start : initial coordinates (6,).
    uniforms : initial uniforms (64,), strictly between 0 and 1.
    walk : lower triangle (6, 6) of the random walk.
    centre, spread : mean (2,) and lower triangle (2, 2) of theta's t_4 distribution.
    draws, thin : number of rows kept, and number of steps per row, >= 1.
    rng : numpy Generator. A step uses a uniform, the draws of its kind (6 normals; 2 and a gamma(2); 1 and a
        gamma(shape0); 6 and a gamma(2); 4) and a uniform; then a uniform and one more, or nine more for fewer than 64
        records.
    sums : whether the first two values of `release` are the noisy sums of u and u^2.

    Returns
    -------
    float64 (draws, 10) with columns `COLUMNS`; the final uniforms (64,); moves int64 (7, 2), proposed and accepted
        moves by kind (walk at 0.3, 1, 2.5; t; prior; t and w; w); number of proposals for which no tilt was found (they
        are rejected: 0 means that no proposal was lost).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or if the initial coordinates are impossible.
    """
    cdef Setting data = _setting(release, n, scales, grids, prior, origin, sums)
    cdef State state = _state(start, uniforms)
    cdef Proposal by
    cdef Tilted law
    cdef int64_t unsolved = 0, step = _checks.integer("thin", thin, least=1)
    cdef int i, j
    lower, middle, root = _triangle("walk", walk, 6), _checks.reals("centre", centre), _triangle("spread", spread, 2)
    if len(middle) != 2:
        raise ValueError(f"centre must have 2 entries, got {len(middle)} entries")
    for i in range(6):
        for j in range(6):
            by.walk[i][j] = lower[i, j]
    for i in range(2):
        by.centre[i] = middle[i]
        for j in range(2):
            by.spread[i][j] = root[i, j]
    out, moves = np.empty((_checks.integer("draws", draws), 10)), np.zeros((7, 2), np.int64)
    cdef double[:, ::1] view = out
    cdef int64_t[:, ::1] counts = moves
    _checks.generator(rng)
    c_evaluate(&RULE, &data, &state, &law, &unsolved)
    if not state.log_target > -INFINITY:
        raise ValueError(f"start must be possible, but no sample has the statistics of the coordinates {list(start)}")
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        unsolved = chain_fill(&RULE, &data, &by, &state, step, view, counts, bits)
    return out, np.array([state.u[i] for i in range(FEW)]), moves, unsolved


def log_target(release, n, scales, grids, prior, start, uniforms, *, origin=0.0, sums=False):
    """Return the log target density of the Markov chain at `start`, without the constants of noise and prior, and the
    statistics (mean, sse, low, high).


    Parameters
    ----------
    release, n, scales, grids, prior, start, uniforms, origin, sums : as in `chain`, which raises the same errors.

    Returns
    -------
    log_density, statistics : float (-inf if impossible) and float64 (4,).
    """
    cdef Setting data = _setting(release, n, scales, grids, prior, origin, sums)
    cdef State state = _state(start, uniforms)
    cdef Tilted law
    cdef int64_t unsolved = 0
    c_evaluate(&RULE, &data, &state, &law, &unsolved)
    return state.log_target, np.array([state.s[0], state.s[1], state.s[2], state.s[3]])


def log_inside_density(mean, sse, counts):
    """Return log h_c(m, q), the log density of the mean m and the sum of squares q of c records on [-1, 1] under
    Lebesgue measure.

    Parameters
    ----------
    mean, sse : float64 (k,).
    counts : integers (k,), >= 3; the approximation is intended for 64 and more.

    Returns
    -------
    float64 (k, 4): log h_c, the tilt (e1, e2) about the mean, and the second-order term r. The values are -inf and NaN
        outside 0 < q/c < 1 - m^2.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    cdef const double[::1] m = _checks.reals("mean", mean), q = _checks.reals("sse", sse)
    c_found = _checks.counts("counts", counts).astype(float)
    cdef const double[::1] c = c_found
    if not m.shape[0] == q.shape[0] == c.shape[0]:
        raise ValueError(
            f"mean, sse and counts must have the same length, got lengths {m.shape[0]}, {q.shape[0]} and {c.shape[0]}"
        )
    if c_found.min() < 3:
        raise ValueError(f"counts must be >= 3, got {c_found.min():g}")
    out = np.full((m.shape[0], 4), np.nan)
    cdef double[:, ::1] view = out
    cdef Tilted law
    cdef double e[2]
    cdef double second
    cdef Py_ssize_t i
    with nogil:
        for i in range(m.shape[0]):
            e[0], e[1], second = 0.0, -0.5 * c[i] / q[i] if q[i] > 0.0 else 0.0, NAN
            view[i, 0] = c_log_inside_density(&RULE, m[i], q[i] / c[i], c[i], e, &law, &second)
            if view[i, 0] > -INFINITY:
                view[i, 1], view[i, 2], view[i, 3] = e[0], e[1], second
    return out


def _four(name, values):
    array = _checks.reals(name, values)
    if len(array) != 4:
        raise ValueError(f"{name} must have 4 entries, got {len(array)}")
    return array


def _triangle(name, values, size):
    """Check that an array is a lower triangular matrix with a positive diagonal."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.shape != (size, size) or not np.isfinite(array).all():
        raise ValueError(f"{name} must contain {size} x {size} finite numbers, got shape {array.shape} and dtype "
                         f"{array.dtype}")
    if np.diag(array).min() <= 0.0:
        raise ValueError(f"{name} must have a positive diagonal, got {np.diag(array).min()}")
    return array.astype(float)
