# cython: language_level=3
"""Posterior of (mu, sigma2) given a noisy censored release without keeping records: cost a step independent of n.

Records are on the scale of the limits, u = (x - middle)/half-width; inside means [-1, 1]. With l, h records below
and above, c = n - l - h, m, q the mean and sum of squares (about it) of the c inside, P_l, P_h the normal tail
probabilities,

    p(l, h, m, q | theta) =
        n!/(l! h! c!) P_l^l P_h^h (2 pi sigma2)^(-c/2) exp(-(q + c (m - mu)^2)/(2 sigma2)) h_c(m, q),

exactly; h_c knows no theta (inside_density.pxd: saddlepoint of second order for c >= 64). For c < 64 the c records
themselves are kept, as uniforms through the law's quantile function: exact, also for c = 0, 1, 2. The released z_j has
weight exp(-|z_j - s_j|/scale_j); with a grid g_j > 0, z_j is s_j rounded to multiples of g_j plus discrete Laplace
noise on the grid.

The chain moves (mu, log sigma2, w_low, w_high, w_mean, w_sse). A statistic with mean E and variance V under theta is
s = k E + (1 - k) z + sqrt(k V) w, k = 2 scale^2/(2 scale^2 + V): about its own conditional law, so that w is nearly
standard normal and independent of theta wherever the noise stands. Counts are rounded. Steps: a random walk in all six
(25 %, at 0.3, 1 or 2.5 times `walk`), theta anew from a t_4 law (35 %) or from the prior (5 %) at the same w,
w' = w/2 + sqrt(3/4) N(0, I) with theta anew (20 %) or as it is (15 %), each with its Metropolis-Hastings ratio.
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, fmax, fmin, log, log1p, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma, random_standard_normal

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ._censored_proposal cimport Proposal, c_log_t, c_theta_from_t
from ._censored_setting cimport c_open
from ._censored_target cimport FEW, Setting, State, c_evaluate, c_log_prior
from ._inside_density cimport NODES, Rule, Tilted, c_log_inside_density

from ... import _checks

FEWEST = 64  # uncensored records from which on the saddlepoint is used
MOST = 10**12  # records: beyond, float64 has too few digits for the multinomial's logs
COLUMNS = ("mu", "log_sigma2", "w_low", "w_high", "w_mean", "w_sse", "mean", "sse", "low", "high")

cdef enum:
    FRESH = 8  # uniforms redrawn in one proposal


cdef int c_propose(const Setting *data, const Proposal *by, const State *now, State *fresh, double *ratio,
                   bitgen_t *bits) noexcept nogil:
    """A move from `now`, written to `fresh`; the log Hastings ratio; returns its kind, 0 to 6."""
    cdef double u = c_uniform(bits), size, normals[6]
    cdef int kind, i, j
    kind = 0 if u < 0.05 else 1 if u < 0.2 else 2 if u < 0.25 else 3 if u < 0.6 else 4
    if u >= 0.65:
        kind = 5 if u < 0.85 else 6
    ratio[0] = 0.0
    if kind < 3:
        size = 0.3 if kind == 0 else 1.0 if kind == 1 else 2.5
        for i in range(6):
            normals[i] = random_standard_normal(bits)
        for i in range(6):
            for j in range(i + 1):
                fresh.y[i] += size * by.walk[i][j] * normals[j]
    if kind == 3 or kind == 5:
        c_theta_from_t(by, fresh, bits)
        ratio[0] += c_log_t(by, now.y) - c_log_t(by, fresh.y)
    if kind == 4:
        fresh.y[0] = data.mu0 + sqrt(data.var0) * random_standard_normal(bits)
        fresh.y[1] = log(data.rate0) - log(random_standard_gamma(bits, data.shape0))
        ratio[0] += c_log_prior(data, now.y[0], now.y[1]) - c_log_prior(data, fresh.y[0], fresh.y[1])
    if kind > 4:
        for i in range(2, 6):
            fresh.y[i] = 0.5 * now.y[i] + 0.86602540378443864676 * random_standard_normal(bits)
            ratio[0] += 0.5 * (fresh.y[i] * fresh.y[i] - now.y[i] * now.y[i])
    return kind


cdef void c_refresh(const Rule *rule, const Setting *data, State *now, State *fresh, Tilted *law, int64_t *unsolved,
                    bitgen_t *bits) noexcept nogil:
    """Uniforms of the few records anew: one where they stand for nothing, else eight, to be accepted."""
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
    """Steps out.shape[0] * thin times; moves[kind] counts tried and accepted. Returns how often no tilt was found."""
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
        raise ValueError(f"prior must be (mu0, var0 > 0, shape0 > 0, rate0 > 0), got {values.tolist()}")
    for i in range(4):
        data.z[i], data.scale[i], data.grid[i] = z[i], size[i], steps[i]
    data.mu0, data.var0, data.shape0, data.rate0 = values
    data.n, data.origin = _checks.whole("n", n, least=1, most=MOST), _checks.number("origin", origin)
    data.sums = bool(sums)
    return data


cdef State _state(start, uniforms) except *:
    cdef State state
    cdef int i
    y, u = _checks.reals("start", start), _checks.reals("uniforms", uniforms)
    if len(y) != 6:
        raise ValueError(f"start must have 6 entries, got {len(y)}")
    if len(u) != FEW or u.min() <= 0.0 or u.max() >= 1.0:
        raise ValueError(
            f"uniforms must be {FEW} numbers strictly between 0 and 1, got {len(u)} from {u.min()} to {u.max()}"
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
    """Dependent draws from the posterior, on the scale of the limits.

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high).
    n : records, 1 to 10^12.
    scales : Laplace scales, one a statistic.
    grids : step of the noise's grid, one a statistic; 0 for continuous noise.
    origin : the grid of z_mean has its zero at -origin.
    prior : (mu0, var0, shape0, rate0).
    start : first coordinates (6,).
    uniforms : first uniforms (64,), inside (0, 1).
    walk : lower triangle (6, 6) of the random walk.
    centre, spread : mean (2,) and lower triangle (2, 2) of theta's t_4 law.
    draws, thin : rows kept, and steps a row, >= 1.
    rng : numpy Generator. A step takes a uniform, its kind's normals (6; 2 and a gamma(2); 1 and a gamma(shape0); 6 and
        a gamma(2); 4) and a uniform; then a uniform and one more, or for fewer than 64 records nine more.
    sums : whether the noisy sums of u and u^2 stand first in `release`.

    Returns
    -------
    float64 (draws, 10) with `COLUMNS`; the uniforms at the end (64,); moves int64 (7, 2), tried and accepted by kind
        (walk at 0.3, 1, 2.5; t; prior; t and w; w); how often no tilt was found (those proposals are rejected: 0 means
        that nothing was lost).

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, or if the first coordinates are impossible.
    """
    cdef Setting data = _setting(release, n, scales, grids, prior, origin, sums)
    cdef State state = _state(start, uniforms)
    cdef Proposal by
    cdef Tilted law
    cdef int64_t unsolved = 0, step = _checks.whole("thin", thin, least=1)
    cdef int i, j
    lower, middle, root = _triangle("walk", walk, 6), _checks.reals("centre", centre), _triangle("spread", spread, 2)
    if len(middle) != 2:
        raise ValueError(f"centre must have 2 entries, got {len(middle)}")
    for i in range(6):
        for j in range(6):
            by.walk[i][j] = lower[i, j]
    for i in range(2):
        by.centre[i] = middle[i]
        for j in range(2):
            by.spread[i][j] = root[i, j]
    out, moves = np.empty((_checks.whole("draws", draws), 10)), np.zeros((7, 2), np.int64)
    cdef double[:, ::1] view = out
    cdef int64_t[:, ::1] counts = moves
    _checks.generator(rng)
    c_evaluate(&RULE, &data, &state, &law, &unsolved)
    if not state.log_target > -INFINITY:
        raise ValueError(f"start is impossible: no sample has the statistics of the coordinates {list(start)}")
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        unsolved = chain_fill(&RULE, &data, &by, &state, step, view, counts, bits)
    return out, np.array([state.u[i] for i in range(FEW)]), moves, unsolved


def log_target(release, n, scales, grids, prior, start, uniforms, *, origin=0.0, sums=False):
    """Log target density (up to no constant but the noise's and the prior's) and (mean, sse, low, high) at
    coordinates `start`.

    Parameters
    ----------
    release, n, scales, grids, prior, start, uniforms, origin, sums : as in `chain`, which raises the same.

    Returns
    -------
    log_density, statistics : float (-inf where impossible) and float64 (4,).
    """
    cdef Setting data = _setting(release, n, scales, grids, prior, origin, sums)
    cdef State state = _state(start, uniforms)
    cdef Tilted law
    cdef int64_t unsolved = 0
    c_evaluate(&RULE, &data, &state, &law, &unsolved)
    return state.log_target, np.array([state.s[0], state.s[1], state.s[2], state.s[3]])


def log_inside_density(mean, sse, counts):
    """log h_c(m, q): density of mean and sum of squares of c records on [-1, 1], each with Lebesgue measure.

    Parameters
    ----------
    mean, sse : float64 (k,).
    counts : whole numbers (k,), >= 3; the law is meant for 64 and more.

    Returns
    -------
    float64 (k, 4): log h_c, the tilt (e1, e2) about the mean, the second-order term r. -inf and NaN outside
        0 < q/c < 1 - m^2.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    cdef const double[::1] m = _checks.reals("mean", mean), q = _checks.reals("sse", sse)
    c_found = _checks.counts("counts", counts).astype(float)
    cdef const double[::1] c = c_found
    if not m.shape[0] == q.shape[0] == c.shape[0]:
        raise ValueError(
            f"mean, sse and counts must have equal lengths, got {m.shape[0]}, {q.shape[0]} and {c.shape[0]}"
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
    found = _checks.reals(name, values)
    if len(found) != 4:
        raise ValueError(f"{name} must have 4 entries, got {len(found)}")
    return found


def _triangle(name, values, size):
    """A lower triangle with a positive diagonal."""
    found = np.asarray(values)
    if found.dtype.kind not in "iuf" or found.shape != (size, size) or not np.isfinite(found).all():
        raise ValueError(f"{name} must be {size} x {size} finite numbers, got shape {found.shape} of {found.dtype}")
    if np.diag(found).min() <= 0.0:
        raise ValueError(f"{name} must have a positive diagonal, got {np.diag(found).min()}")
    return found.astype(float)
