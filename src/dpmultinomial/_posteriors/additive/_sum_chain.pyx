# cython: language_level=3
"""Distributions of integers that are coupled through a factor of their sum, for which P(x) is proportional to g(x_1 +
.. + x_S) prod h_i(x_i).

Forward and backward sums over the partial sums c_i = x_1 + .. + x_i, as in a hidden Markov chain, give the normalising
constant, all marginals, the distribution of the sum, and independent draws. The cost is O(S W L), with W values per
component and L possible sums. All terms are positive, so every result has full relative accuracy.

With three factors per component, the chain has an additional state: the factor is stay0 for components before a
distinguished component, `move` for this component, and stay1 for components after it. The result is summed over the
choice of the distinguished component. (In the posterior of algorithm 3, this is the last component that received a unit
at the smallest quotient.) Callers tilt their factors so that the free sum has its mean near the centre of g.

The function `pairs` computes the corresponding sums for two true counts given noisy counts with geometric noise, for
every sum V of the noisy counts at a cost of O(1). If n_1 + n_2 = V and N_1 + N_2 = T, the noise a^|n_1 - N_1| a^|n_2 -
N_2| of a pair depends only on n_1 and on two points, N_1 and m = N_1 + V - T: it is a^|V - T| between the points and
decreases by a factor a^2 per step outside. The sum over n_1 is therefore a difference of running sums between the
points, and a recursion on either side. The running sums start from the side opposite to the largest likelihood, so that
differences have full relative accuracy in both tails.
"""
import numpy as np

from libc.math cimport log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen, c_uniform

from ... import _arrays, _checks

_FARTHEST = 2**40  # largest distance of the first sum from 0
cdef extern from *:
    const double TRIM "1e-24"  # partial sums below this fraction of the largest partial sum are neglected
cdef enum:
    BATCH = 16  # number of sums of noisy counts that are processed together; their running sums fit into the cache


# Chains of any number of counts.

cdef inline void c_move(const double *source, const double *h, double *out, int64_t n, int64_t w, int64_t shift,
                        int64_t length, bint back) noexcept nogil:
    """Add h[x] source[c] to out[c + x - shift] for all indices in 0..length - 1, or apply the transposed operation if
    `back` is true.
    """
    cdef int64_t x, c, low, high, to, of
    cdef double weight
    for x in range(w):
        weight = h[x]
        if weight == 0.0:
            continue
        low = shift - x if shift > x else 0
        high = length + shift - x if length + shift - x < n else n
        to = 0 if back else x - shift
        of = x - shift if back else 0
        for c in range(low, high):
            out[c + to] += weight * source[c + of]


cdef inline void c_marginal(const double *a, const double *b, const double *h, double *out, int64_t n, int64_t w,
                            int64_t shift, int64_t length) noexcept nogil:
    """Add h[x] sum_c a[c] b[c + x - shift] to out[x], with four running sums at a time."""
    cdef int64_t x, c, low, high
    cdef double s0, s1, s2, s3
    for x in range(w):
        if h[x] == 0.0:
            continue
        low = shift - x if shift > x else 0
        high = length + shift - x if length + shift - x < n else n
        s0 = s1 = s2 = s3 = 0.0
        c = low
        while c + 3 < high:
            s0 += a[c] * b[c + x - shift]
            s1 += a[c + 1] * b[c + x - shift + 1]
            s2 += a[c + 2] * b[c + x - shift + 2]
            s3 += a[c + 3] * b[c + x - shift + 3]
            c += 4
        while c < high:
            s0 += a[c] * b[c + x - shift]
            c += 1
        out[x] += h[x] * ((s0 + s1) + (s2 + s3))


cdef inline double c_rescale(double[:, :, ::1] table, Py_ssize_t i, int64_t length) noexcept nogil:
    """Divide the weights of both states at step i of the chain by their largest entry, and return the log of this
    entry.
    """
    cdef double largest = 0.0
    cdef int64_t c
    cdef Py_ssize_t state
    for state in range(table.shape[1]):
        for c in range(length):
            if table[i, state, c] > largest:
                largest = table[i, state, c]
    if largest > 0.0:
        for state in range(table.shape[1]):
            for c in range(length):
                table[i, state, c] /= largest
        return log(largest)
    return 0.0


cdef inline void c_forward(const double[:, :, ::1] h, double[:, :, ::1] table, int64_t[::1] begin,
                           int64_t[::1] length, double *scale) noexcept nogil:
    """Compute the forward weights table[i, state, c] of the event that the first i components have the sum begin[i] +
    c. Ranges of sums are reduced to their non-negligible part.
    """
    cdef Py_ssize_t i, states = table.shape[1], size = h.shape[1]
    cdef int64_t w = h.shape[2], shift, lead, c, n
    scale[0] = 0.0
    for i in range(size):
        # forward step: weight of c_(i+1) = sum_x h_i(x) weight of c_i = c_(i+1) - x; with states stay0, move, stay1
        n = length[i + 1]
        shift = begin[i + 1] - begin[i]
        for c in range(n):
            table[i + 1, 0, c] = 0.0
            table[i + 1, states - 1, c] = 0.0
        c_move(&table[i, 0, 0], &h[0, i, 0], &table[i + 1, 0, 0], length[i], w, shift, n, False)
        if states == 2:
            c_move(&table[i, 0, 0], &h[1, i, 0], &table[i + 1, 1, 0], length[i], w, shift, n, False)
            c_move(&table[i, 1, 0], &h[2, i, 0], &table[i + 1, 1, 0], length[i], w, shift, n, False)
        scale[0] += c_rescale(table, i + 1, n)
        # drop both ends of the range of sums in which the weights of all states are negligible
        if i + 1 < size:
            while n > 1 and table[i + 1, 0, n - 1] < TRIM and table[i + 1, states - 1, n - 1] < TRIM:
                n -= 1
            lead = 0
            while lead < n - 1 and table[i + 1, 0, lead] < TRIM and table[i + 1, states - 1, lead] < TRIM:
                lead += 1
            if lead:
                for c in range(n - lead):
                    table[i + 1, 0, c] = table[i + 1, 0, c + lead]
                    if states == 2:
                        table[i + 1, 1, c] = table[i + 1, 1, c + lead]
            begin[i + 1] += lead
            length[i + 1] = n - lead


cdef inline void c_backward(const double[:, :, ::1] h, double[:, :, ::1] table, const int64_t[::1] begin,
                            const int64_t[::1] length, double[:, ::1] marginals, double[:, ::1] spare) noexcept nogil:
    """Replace the forward weights in `table` by the backward weights of the later components. The marginals need both
    kinds of weights and are computed in the same pass.
    """
    cdef Py_ssize_t i, states = table.shape[1], size = h.shape[1], state
    cdef int64_t w = h.shape[2], shift, c, n, m
    for i in range(size - 1, -1, -1):
        n, m = length[i], length[i + 1]
        shift = begin[i + 1] - begin[i]
        # P(x_i = x) = h_i(x) sum_c forward(c) backward(c + x), one term per transition of the states
        c_marginal(&table[i, 0, 0], &table[i + 1, 0, 0], &h[0, i, 0], &marginals[i, 0], n, w, shift, m)
        # backward step, the transpose of the forward step: table[i] contained the forward weights and now contains the
        # backward weights
        for c in range(n):
            spare[0, c] = 0.0
            spare[states - 1, c] = 0.0
        c_move(&table[i + 1, 0, 0], &h[0, i, 0], &spare[0, 0], n, w, shift, m, True)
        if states == 2:
            c_marginal(&table[i, 0, 0], &table[i + 1, 1, 0], &h[1, i, 0], &marginals[i, 0], n, w, shift, m)
            c_marginal(&table[i, 1, 0], &table[i + 1, 1, 0], &h[2, i, 0], &marginals[i, 0], n, w, shift, m)
            c_move(&table[i + 1, 1, 0], &h[1, i, 0], &spare[0, 0], n, w, shift, m, True)
            c_move(&table[i + 1, 1, 0], &h[2, i, 0], &spare[1, 0], n, w, shift, m, True)
        for state in range(states):
            for c in range(n):
                table[i, state, c] = spare[state, c]
        c_rescale(table, i, n)


def solve(factors, total_factor, first):
    """Compute the normalising constant, the marginals and the distribution of the sum of integers that are coupled
    through a factor of their sum.

    Parameters
    ----------
    factors : float64 (1, S, W) or (3, S, W), finite, non-negative: h_i(x) for x = 0..W - 1, or stay0, move, stay1.
    total_factor : float64 (G,), finite, non-negative: g at the sums first, first + 1, ..; g is 0 at all other sums.
    first : integer within +-2^40.

    Returns
    -------
    log_weight : log of the sum over all x; -inf if all weights are 0.
    marginals : float64 (S, W), rows with sum 1 (all 0 if all weights are 0).
    total : float64 (G,), distribution of the sum on the support of `total_factor`.
    chain : (table, begin, length), an argument of `draw`; None if all weights are 0.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    h, g = _factors(factors, 3), _weights("total_factor", total_factor, 1)
    log_weights, marginals, totals, chain = _solved(h[None], g[None], first)
    return float(log_weights[0]), marginals[0], totals[0], chain if log_weights[0] > -np.inf else None


def solve_each(factors, total_factors, first):
    """Compute the results of `solve` for T distributions, without the arrays that `draw` needs.

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
        If an argument is invalid.
    """
    h, g = _factors(factors, 4), _weights("total_factors", total_factors, 2)
    if not len(h) == len(g) >= 1:
        raise ValueError("factors and total_factors must contain the same number of distributions, at least 1, got "
                         f"{len(h)} and {len(g)}")
    return _solved(h, g, first)[:3]


def _solved(h, g, first):
    """Return the results of `solve_each`, and the arrays that `draw` needs for the last distribution."""
    if not g.shape[1]:
        raise ValueError("total_factor must have at least one entry, got none")
    first = _checks.integer("first", first, least=-_FARTHEST, most=_FARTHEST)
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
    possible = weights > 0
    marginals[possible] /= sums[possible]
    totals[possible] /= weights[possible, None]
    logs = np.full(len(h), -np.inf)
    logs[possible] = np.log(weights[possible]) + scales[possible]
    return logs, marginals, totals, (table, begin[len(h) - 1], length[len(h) - 1])


cdef void solve_fill(const double[:, :, ::1] h, const double[::1] g, double[:, :, ::1] table, int64_t[::1] begin,
                     int64_t[::1] length, double[:, ::1] marginals, double[::1] total, double[:, ::1] spare,
                     double *scale) noexcept nogil:
    """Compute the unnormalised marginals of a vector of integers and the unnormalised distribution of their sum. Both
    are 0 if all weights are 0.
    """
    cdef Py_ssize_t states = table.shape[1], size = h.shape[1]
    cdef int64_t c, n = g.shape[0]
    cdef bint possible = False
    table[0, 0, 0], table[0, states - 1, 0] = 1.0, 0.0 if states == 2 else 1.0
    # the distribution of the sum is the last forward step times g; the backward steps start from g
    c_forward(h, table, begin, length, scale)
    for c in range(n):
        total[c] = table[size, states - 1, c] * g[c]
        possible = possible or total[c] > 0.0
        table[size, 0, c] = 0.0
        table[size, states - 1, c] = g[c]
    if possible:
        c_backward(h, table, begin, length, marginals, spare)


def _factors(factors, ndim):
    h = _weights("factors", factors, ndim)
    if h.shape[ndim - 3] not in (1, 3) or not h.shape[ndim - 2] or not h.shape[ndim - 1]:
        raise ValueError(f"factors must have shape (.., 1 or 3, S, W) with S, W >= 1, got {h.shape}")
    return h


def _weights(name, values, ndim):
    array = _arrays.floats(name, values, ndim=ndim)
    if array.size and not (array.min() >= 0 and array.max() < np.inf):
        raise ValueError(f"{name} must be finite and >= 0, got values from {array.min()} to {array.max()}")
    return array


def _reach(h, reached, first):
    """Return the first value and the length of the ranges of all partial sums: 12 standard deviations plus the width of
    one component around the means without the factor of the sum.
    """
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
        raise ValueError("the sums of factors must be finite: divide the factors by their maximum")
    begin, end = np.zeros((2, len(h), size + 1), dtype=np.int64)
    top = np.arange(1, size + 1) * (width - 1)
    begin[:, 1:] = np.clip(np.floor(centre - 12 * spread - width), 0, top)
    end[:, 1:] = np.clip(np.ceil(centre + 12 * spread + width), 0, top)
    begin[:, size], end[:, size] = first, first + reached - 1
    return begin, end - begin + 1


cdef void draw_fill(const double[:, :, ::1] h, const double[:, :, ::1] table, const int64_t[::1] begin,
                    const int64_t[::1] length, int64_t[:, ::1] out, double[::1] weights, bitgen_t *bits) noexcept nogil:
    """Draw the components one after the other, each given the sum and the state of the earlier components."""
    cdef Py_ssize_t i, j, x, states = table.shape[1]
    cdef int64_t c, place, w = h.shape[2], state, pick, last
    cdef double running, target
    for j in range(out.shape[0]):
        c, state = 0, 0
        for i in range(h.shape[1]):
            running = 0.0
            last = 0
            # cumulative weights of x and the next state: positions 2 x (the state stays) and 2 x + 1 (the state moves)
            for x in range(w):
                place = c + x - begin[i + 1]
                if 0 <= place < length[i + 1]:
                    running += h[2 * state, i, x] * table[i + 1, state, place]
                weights[2 * x] = running
                if states == 2 and state == 0 and 0 <= place < length[i + 1]:
                    running += h[1, i, x] * table[i + 1, 1, place]
                weights[2 * x + 1] = running
            target = c_uniform(bits) * running  # draw by inversion
            pick = 0
            while weights[pick] <= target and weights[pick] < running:
                pick += 1
            out[j, i] = pick // 2
            c += pick // 2
            state += pick % 2


def draw(factors, chain, size, *, rng):
    """Draw independent vectors x from the distribution that `solve` computed.

    Parameters
    ----------
    factors, chain : the input and the last result of `solve`.
    size : number of draws >= 0.
    rng : numpy Generator; S uniforms per draw.

    Returns
    -------
    int64 (size, S).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or all weights are 0.
    """
    h = _factors(factors, 3)
    if not isinstance(chain, tuple) or len(chain) != 3:
        raise TypeError(f"chain must be the result of solve, got {chain!r}")
    table, steps = _weights("chain[0]", chain[0], 3), (h.shape[1] + 1,)
    if table.shape[:2] != (steps[0], 1 + (len(h) == 3)):
        raise ValueError(f"chain[0] must have shape ({steps[0]}, {1 + (len(h) == 3)}, L), got {table.shape}")
    begin = _arrays.integers("chain[1]", chain[1], shape=steps, least=-_FARTHEST, most=_FARTHEST)
    length = _arrays.integers("chain[2]", chain[2], shape=steps, least=0, most=table.shape[2])
    _checks.generator(rng)
    out = np.empty((_checks.integer("size", size), h.shape[1]), dtype=np.int64)
    cdef const double[:, :, ::1] h_view = h, table_view = table
    cdef const int64_t[::1] begin_view = begin, length_view = length
    cdef int64_t[:, ::1] view = out
    cdef double[::1] weights = np.empty(2 * h.shape[2])
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        draw_fill(h_view, table_view, begin_view, length_view, view, weights, bits)
    return out


# Two counts under geometric noise.

cdef int64_t c_diagonal(const double[:, ::1] like, int64_t s, double *line) noexcept nogil:
    """Copy the likelihoods of all n_1 with n_1 + n_2 = s to `line`, and return the position of the largest likelihood.
    """
    cdef int64_t p, rows = like.shape[0], columns = like.shape[1], top = 0
    for p in range(rows):
        line[p] = like[p, s - p] if 0 <= s - p < columns else 0.0
        if line[p] > line[top]:
            top = p
    return top


cdef void c_running(const double *line, int64_t size, int64_t pad, double square, double[:, ::1] sums) noexcept nogil:
    """Compute four running sums of the likelihoods in `line`. Rows 0 and 1 contain the contributions of the lower and
    the upper point, summed from the left, and rows 2 and 3 contain the sums from the right.

    Rows 0 and 1 below the grid, and rows 2 and 3 above the grid, are 0.
    """
    cdef int64_t p
    cdef double beyond = 0.0, total = 0.0
    # from the left, L(q) the likelihood of n_1 = q: total = sum_{q < p} L(q), beyond = sum_{q < p} a^(2 (p - q)) L(q)
    for p in range(size):
        sums[0, pad + p] = beyond - total
        sums[2, pad + p] = beyond
        beyond = square * (beyond + line[p])
        total += line[p]
        sums[1, pad + p] = total
    for p in range(pad):
        sums[0, pad + size + p] = -total
        sums[1, pad + size + p] = total
    # the corresponding sums from the right
    beyond = total = 0.0
    for p in range(size - 1, -1, -1):
        sums[1, pad + p] += beyond
        sums[3, pad + p] = beyond - total
        beyond = square * (beyond + line[p])
        total += line[p]
        sums[2, pad + p] += total
    for p in range(pad):
        sums[2, p] = total
        sums[3, p] = -total


cdef inline void c_add(double weight, const double *low, const double *high, int64_t first, int64_t last,
                       double *out) noexcept nogil:
    cdef int64_t i
    for i in range(first, last):
        out[i] += weight * (low[i] + high[i])


cdef void pairs_fill(const double[:, ::1] like, const double[:, ::1] weights, int64_t shift, int64_t reach,
                     double square, int64_t pad, double[:, :, ::1] sums, double[::1] line, int64_t[::1] splits,
                     double[:, ::1] rows) noexcept nogil:
    """Compute the sum over all V for every pair N_1 = low_1 + i and N_1 + N_2 = low_1 + low_2 + t, and store it in
    rows[t, i]. BATCH values of V are processed at a time.
    """
    cdef int64_t b, c, t, s, start, first, last, split, up, down, centre = pad + reach, count = weights.shape[1]
    cdef int64_t wide = like.shape[0] - 2 * reach, high = like.shape[1] - 2 * reach
    cdef double weight
    for c in range((count + BATCH - 1) // BATCH):
        start = c * BATCH
        # running sums along n_1 + n_2 = V, for the next BATCH sums V
        for b in range(min(BATCH, count - start)):
            s = start + b + shift
            splits[b] = -1
            if s < like.shape[0] + like.shape[1] - 1:
                splits[b] = c_diagonal(like, s, &line[0])
                c_running(&line[0], like.shape[0], pad, square, sums[b])
        # all N_1 that are possible for T = low_1 + low_2 + t; the two points are N_1 and N_1 + V - T. Below the
        # position of the largest likelihood, the sums from the left are added; above it, the sums from the right
        for t in range(weights.shape[0]):
            first = t - high + 1 if t >= high else 0
            last = t + 1 if t < wide else wide
            for b in range(min(BATCH, count - start)):
                weight = weights[t, start + b]
                if weight == 0.0 or splits[b] < 0:
                    continue
                split = splits[b] - reach + 1
                up = start + b + shift - 2 * reach - t  # V - T
                down = up if up < 0 else 0
                up = up if up > 0 else 0
                c_add(weight, &sums[b, 0, centre + down], &sums[b, 1, centre + up], first, min(last, split),
                      &rows[t, 0])
                c_add(weight, &sums[b, 2, centre + down], &sums[b, 3, centre + up], max(first, split), last,
                      &rows[t, 0])


def _farthest(weights, shift, reach):
    """Return the largest difference |V - T| of the two sums that has a positive weight."""
    seen = weights > 0
    columns = np.flatnonzero(seen.any(axis=0))
    if not len(columns):
        return 0
    first, last = seen[:, columns].argmax(axis=0), len(seen) - 1 - seen[::-1, columns].argmax(axis=0)
    away = columns + shift - 2 * reach
    return int(max(np.abs(away - first).max(), np.abs(away - last).max()))


def pairs(likelihood, weights, *, epsilon, reach, shift):
    """Return the posterior weights of all pairs of true counts N_1, N_2 with T = N_1 + N_2: sum_V w(T, V) sum_{n_1}
    exp(-epsilon |n_1 - N_1| - epsilon |V - n_1 - N_2| + epsilon |V - T|) L(n_1, V - n_1).

    Parameters
    ----------
    likelihood : float64 (A + 2 reach, B + 2 reach), finite, non-negative: likelihood L of noisy counts, starting
        `reach` below the first true counts.
    weights : float64 (A + B - 1, K), finite, non-negative: weights of T = N_1 + N_2, starting at its smallest value,
        and of V = n_1 + n_2. They include the factor exp(-epsilon |V - T|) of the noise.
    epsilon : > 0.
    reach : integer >= 0, half-width by which the grid of noisy counts extends beyond the true counts; the noise is not
        truncated within this distance.
    shift : integer >= 0, position of the first V of the weights: V minus the smallest sum of noisy counts.

    Returns
    -------
    float64 (A, B), non-negative. The cost is O(1) for each positive weight and N_1.

    Raises
    ------
    ValueError, TypeError
        If a shape or a value is invalid.
    """
    rate, edge = _checks.positive("epsilon", epsilon), _checks.integer("reach", reach, most=10**6)
    place = _checks.integer("shift", shift, most=10**8)
    like = _arrays.floats("likelihood", likelihood, ndim=2)
    wide, high = like.shape[0] - 2 * edge, like.shape[1] - 2 * edge
    if wide < 1 or high < 1:
        raise ValueError(f"likelihood must have more than 2 * reach = {2 * edge} rows and columns, got {like.shape}")
    factors = _arrays.floats("weights", weights, ndim=2)
    if factors.shape[0] != wide + high - 1:
        raise ValueError(f"weights must have one row per total ({wide + high - 1} rows), got shape {factors.shape}")
    for name, array in (("likelihood", like), ("weights", factors)):
        if array.size and not (array.min() >= 0 and np.isfinite(array.max())):
            raise ValueError(f"{name} must be finite and >= 0")
    rows = np.zeros((wide + high - 1, wide))
    beyond = max(_farthest(factors, place, edge) - edge, 0)
    cdef const double[:, ::1] like_view = like, weights_view = factors
    cdef double[:, ::1] rows_view = rows
    cdef double[:, :, ::1] sums = np.zeros((BATCH, 4, like.shape[0] + 2 * beyond))
    cdef double[::1] line = np.zeros(like.shape[0])
    cdef int64_t[::1] splits = np.zeros(BATCH, dtype=np.int64)
    cdef double square = np.exp(-2 * rate)
    cdef int64_t shift_ = place, reach_ = edge, pad = beyond
    with nogil:
        pairs_fill(like_view, weights_view, shift_, reach_, square, pad, sums, line, splits, rows_view)
    first = np.arange(wide)[:, None]
    return np.maximum(rows[first + np.arange(high), first], 0.0)
