# cython: language_level=3
"""Whole numbers coupled through a factor of their sum: P(x) proportional to g(x_1 + .. + x_S) prod h_i(x_i).

Forward and backward sums over the partial sums c_i = x_1 + .. + x_i, as in a hidden Markov chain, give the normaliser,
all marginals, the law of the sum and independent draws in O(S W L), W values a component and L reachable sums. All
terms are positive, so every result keeps full relative accuracy.

With three factors a component the chain carries one bit: stay0 before, `move` at, and stay1 after one distinguished
component, summed over which component that is. (Algorithm 3's posterior names the last component that got the smallest
quotient this way.) Callers tilt their factors so that the free sum has its mean near the centre of g.
"""
import numpy as np

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ._chain_sums cimport c_backward, c_forward

from ... import _arrays, _checks

_FARTHEST = 2**40  # of sums from 0


def solve(factors, total_factor, first):
    """Normaliser, marginals and law of the sum.

    Parameters
    ----------
    factors : float64 (1, S, W) or (3, S, W), finite, non-negative: h_i(x) for x = 0..W - 1, or stay0, move, stay1.
    total_factor : float64 (G,), finite, non-negative: g at the sums first, first + 1, ..; 0 elsewhere.
    first : whole number within +-2^40.

    Returns
    -------
    log_weight : log of the sum over all x; -inf if nothing has weight.
    marginals : float64 (S, W), rows adding up to 1 (all 0 if nothing has weight).
    total : float64 (G,), law of the sum on the support of `total_factor`.
    chain : (table, begin, length), what `draw` needs; None if nothing has weight.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    h, g = _factors(factors, 3), _weights("total_factor", total_factor, 1)
    log_weights, marginals, totals, chain = _solved(h[None], g[None], first)
    return float(log_weights[0]), marginals[0], totals[0], chain if log_weights[0] > -np.inf else None


def solve_each(factors, total_factors, first):
    """`solve` for T laws, without the chains.

    Parameters
    ----------
    factors : float64 (T, 1, S, W) or (T, 3, S, W), T >= 1, each as in `solve`.
    total_factors : float64 (T, G).
    first : as in `solve`.

    Returns
    -------
    log_weights : float64 (T,).
    marginals : float64 (T, S, W).
    totals : float64 (T, G).

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    h, g = _factors(factors, 4), _weights("total_factors", total_factors, 2)
    if not len(h) == len(g) >= 1:
        raise ValueError(f"factors and total_factors must be of one number of laws >= 1, got {len(h)} and {len(g)}")
    return _solved(h, g, first)[:3]


def _solved(h, g, first):
    """The results of `solve_each`, and the chain of the last law."""
    if not g.shape[1]:
        raise ValueError("total_factor must have at least one entry")
    first = _checks.whole("first", first, least=-_FARTHEST, most=_FARTHEST)
    states, size, width = (1 if h.shape[1] == 1 else 2), h.shape[2], h.shape[3]
    begin, length = _reach(h, g.shape[1], first)
    table = np.zeros((size + 1, states, int(length.max())))
    marginals, totals = np.zeros((len(h), size, width)), np.zeros(g.shape)
    spare, scales = np.empty((states, table.shape[2])), np.empty(len(h))
    cdef const double[:, :, :, ::1] h_view = h
    cdef const double[:, ::1] g_view = g
    cdef double[:, :, ::1] table_view = table, marginals_view = marginals
    cdef int64_t[:, ::1] begin_view = begin, length_view = length
    cdef double[:, ::1] totals_view = totals, spare_view = spare
    cdef double[::1] scales_view = scales
    cdef Py_ssize_t t
    with nogil:
        for t in range(h_view.shape[0]):
            solve_fill(h_view[t], g_view[t], table_view, begin_view[t], length_view[t], marginals_view[t],
                       totals_view[t], spare_view, &scales_view[t])
    weights, sums = totals.sum(axis=1), marginals.sum(axis=2, keepdims=True)
    some = weights > 0
    marginals[some] /= sums[some]
    totals[some] /= weights[some, None]
    logs = np.full(len(h), -np.inf)
    logs[some] = np.log(weights[some]) + scales[some]
    return logs, marginals, totals, (table, begin[len(h) - 1], length[len(h) - 1])


cdef void solve_fill(const double[:, :, ::1] h, const double[::1] g, double[:, :, ::1] table, int64_t[::1] begin,
                     int64_t[::1] length, double[:, ::1] marginals, double[::1] total, double[:, ::1] spare,
                     double *scale) noexcept nogil:
    """One law: marginals and total without their normalisers, both 0 if nothing has weight."""
    cdef Py_ssize_t states = table.shape[1], size = h.shape[1]
    cdef int64_t c, n = g.shape[0]
    cdef bint some = False
    table[0, 0, 0], table[0, states - 1, 0] = 1.0, 0.0 if states == 2 else 1.0
    c_forward(h, table, begin, length, scale)
    for c in range(n):
        total[c] = table[size, states - 1, c] * g[c]
        some = some or total[c] > 0.0
        table[size, 0, c] = 0.0
        table[size, states - 1, c] = g[c]
    if some:
        c_backward(h, table, begin, length, marginals, spare)


def _factors(factors, ndim):
    h = _weights("factors", factors, ndim)
    if h.shape[ndim - 3] not in (1, 3) or not h.shape[ndim - 2] or not h.shape[ndim - 1]:
        raise ValueError(f"factors must have shape (.., 1 or 3, S, W) with S, W >= 1, got {h.shape}")
    return h


def _weights(name, values, ndim):
    array = _arrays.floats(name, values, ndim=ndim)
    if array.size and not (array.min() >= 0 and array.max() < np.inf):
        raise ValueError(f"{name} must be finite and >= 0, got {array.min()}..{array.max()}")
    return array


def _reach(h, reached, first):
    """Generous ranges of the partial sums: 12 standard deviations and one component around their free means."""
    size, width = h.shape[2:]
    x = np.arange(width)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = h.sum(axis=1)
        sums = weights.sum(axis=2)
        sums[sums == 0] = 1.0
        mean = weights @ x / sums
        spread = np.sqrt(np.cumsum(np.maximum(weights @ x**2 / sums - mean**2, 0.0), axis=1))
    centre = np.cumsum(mean, axis=1)
    if not (np.isfinite(centre).all() and np.isfinite(spread).all()):
        raise ValueError("factors must be scaled: their sums overflow")
    begin, end = np.zeros((2, len(h), size + 1), dtype=np.int64)
    top = np.arange(1, size + 1) * (width - 1)
    begin[:, 1:] = np.clip(np.floor(centre - 12 * spread - width), 0, top)
    end[:, 1:] = np.clip(np.ceil(centre + 12 * spread + width), 0, top)
    begin[:, size], end[:, size] = first, first + reached - 1
    return begin, end - begin + 1


cdef void draw_fill(const double[:, :, ::1] h, const double[:, :, ::1] table, const int64_t[::1] begin,
                    const int64_t[::1] length, int64_t[:, ::1] out, double[::1] weights, bitgen_t *bits) noexcept nogil:
    """Component by component, each given the sum and the state so far."""
    cdef Py_ssize_t i, j, x, states = table.shape[1]
    cdef int64_t c, place, w = h.shape[2], state, pick, last
    cdef double running, target
    for j in range(out.shape[0]):
        c, state = 0, 0
        for i in range(h.shape[1]):
            running = 0.0
            last = 0
            for x in range(w):
                place = c + x - begin[i + 1]
                if 0 <= place < length[i + 1]:
                    running += h[2 * state, i, x] * table[i + 1, state, place]
                weights[2 * x] = running
                if states == 2 and state == 0 and 0 <= place < length[i + 1]:
                    running += h[1, i, x] * table[i + 1, 1, place]
                weights[2 * x + 1] = running
            target = c_uniform(bits) * running
            pick = 0
            while weights[pick] <= target and weights[pick] < running:
                pick += 1
            out[j, i] = pick // 2
            c += pick // 2
            state += pick % 2


def draw(factors, chain, size, *, rng):
    """Independent draws of x.

    Parameters
    ----------
    factors, chain : the input and the last result of `solve`.
    size : number of draws >= 0.
    rng : numpy Generator; S uniforms a draw.

    Returns
    -------
    int64 (size, S).

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, or nothing has weight.
    """
    h = _factors(factors, 3)
    if not isinstance(chain, tuple) or len(chain) != 3:
        raise TypeError(f"chain must be what solve returned, got {chain!r}")
    table, steps = _weights("chain[0]", chain[0], 3), (h.shape[1] + 1,)
    if table.shape[:2] != (steps[0], 1 + (len(h) == 3)):
        raise ValueError(f"chain[0] must have shape ({steps[0]}, {1 + (len(h) == 3)}, L), got {table.shape}")
    begin = _arrays.integers("chain[1]", chain[1], shape=steps, least=-_FARTHEST, most=_FARTHEST)
    length = _arrays.integers("chain[2]", chain[2], shape=steps, least=0, most=table.shape[2])
    _checks.generator(rng)
    out = np.empty((_checks.whole("size", size), h.shape[1]), dtype=np.int64)
    cdef const double[:, :, ::1] h_view = h, table_view = table
    cdef const int64_t[::1] begin_view = begin, length_view = length
    cdef int64_t[:, ::1] view = out
    cdef double[::1] weights = np.empty(2 * h.shape[2])
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        draw_fill(h_view, table_view, begin_view, length_view, view, weights, bits)
    return out
