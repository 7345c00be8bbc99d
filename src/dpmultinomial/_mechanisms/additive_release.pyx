# cython: language_level=3
"""Releases by the four algorithms of Wang (2020), section 3.1, and modes of multinomial distributions, which one
algorithm uses.

All releases use the same noisy counts n = N + d, n_s = N_s + d_s (`_kernels.geometric`). The releases are
``1-independent``  x_s and M are posterior draws given n_s and n (equations 4, 5), >= 0; Multinomial(M, x / sum x);
``1-summed``       the same x_s; M is drawn given n and sum n_s (equation 6) with the exact distribution of the noise;
``2``              Multinomial(max(n, 0), max(n_s, 0) / sum);
``3``              a mode of that multinomial distribution (`modes`).
If all weights are 0, all components have equal probabilities.

Every mode of Multinomial(m, x / sum x), for integers x, is an allocation by largest quotients x_i/1, x_i/2, ..
(Finucan's rule, the divisor rule of d'Hondt). The starting point floor((m + S/2) p) of the paper's Theorem 1 is such an
allocation for another total, so adding or removing single units leads to a mode. If quotients are equal, the mode is
ambiguous, and a tie-breaking rule chooses:

- ``first``, ``last``: the lowest or the highest index, in exact integers;
- ``random``: a uniformly random choice among the equal claims, in exact integers;
- ``ieee``: Theorem 1 as printed, in doubles, with the lowest index among equal q; rounding decides ties. It is only
  meant for reproducing the paper.
"""
import numpy as np

from libc.math cimport exp, floor
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport binomial_t, random_multinomial

from .._kernels.bitgen cimport c_bitgen, c_uniform
from .._kernels.geometric cimport c_noise, c_noise_from

from .. import _arrays, _checks
from .._kernels import geometric

ALGORITHMS = ("1-independent", "1-summed", "2", "3")
RULES = ("first", "last", "random", "ieee")
LARGEST_WEIGHT = 10**9  # limit of `modes`; products of two weights are below 2^63
LARGEST_COUNT = 5 * 10**8  # limit of `draw` for counts plus noise; products of two such numbers are below 2^63
_UNDERFLOW = 1e-300

cdef enum TieRule:  # indices in RULES
    FIRST = 0
    LAST = 1
    RANDOM = 2
    IEEE = 3


cdef inline void c_greedy(const int64_t *x, int64_t *k, Py_ssize_t size, int64_t total, int64_t weight,
                          bint last) noexcept nogil:
    """Apply the exact divisor rule: k = floor((total + size/2) x / weight), then single units until the sum is total.

    If quotients are equal, the lowest index keeps or gains the unit, or the highest index if `last`.
    """
    cdef Py_ssize_t i, best
    cdef int64_t given = 0, mine, theirs
    # starting point: floor((m + S/2) x_i/sum x), in exact integers
    for i in range(size):
        k[i] = ((2 * total + size) * x[i]) // (2 * weight)
        given += k[i]
    # add one unit to the component with the largest next quotient x_i/(k_i + 1)
    while given < total:
        best = 0
        for i in range(1, size):
            mine = x[i] * (k[best] + 1)
            theirs = x[best] * (k[i] + 1)
            if mine > theirs or (last and mine == theirs):
                best = i
        k[best] += 1
        given += 1
    # remove one unit from the component with the smallest last quotient x_i/k_i
    while given > total:
        best = -1
        for i in range(size):
            if k[i] == 0:
                continue
            if best >= 0:
                mine = x[i] * k[best]
                theirs = x[best] * k[i]
                if mine > theirs or (last and mine == theirs):
                    continue
            best = i
        k[best] -= 1
        given -= 1


cdef inline void c_shuffle_ties(bitgen_t *bits, const int64_t *x, int64_t *k, Py_ssize_t size) noexcept nogil:
    """Give the units of the last level to a uniformly random subset of the components with a claim at that level."""
    cdef Py_ssize_t i, worst = -1
    cdef int64_t winners = 0, claims = 0
    for i in range(size):
        if k[i] > 0 and (worst < 0 or x[i] * k[worst] < x[worst] * k[i]):
            worst = i
    if worst < 0:
        return
    # claims: components whose last or next quotient equals the smallest served one; winners: those that got the unit
    cdef int64_t top = x[worst], bottom = k[worst]
    for i in range(size):
        if k[i] > 0 and x[i] * bottom == top * k[i]:
            winners += 1
            claims += 1
        elif x[i] * bottom == top * (k[i] + 1):
            claims += 1
    if winners == claims:
        return
    # each claim in turn wins with probability (units left)/(claims left), which gives a uniform subset
    for i in range(size):
        if k[i] > 0 and x[i] * bottom == top * k[i]:
            k[i] -= 1
        elif x[i] * bottom != top * (k[i] + 1):
            continue
        if c_uniform(bits) * claims < winners:
            k[i] += 1
            winners -= 1
        claims -= 1


cdef inline void c_theorem(const int64_t *x, int64_t *k, double *f, double *q, Py_ssize_t size, int64_t total,
                           int64_t weight) noexcept nogil:
    """Apply Theorem 1 of the paper in doubles, the lowest index first among equal q; a component at 0 loses no unit."""
    cdef Py_ssize_t i, best
    cdef int64_t given = 0
    cdef double p
    # k_i = floor((m + S/2) p_i) and its fractional part f_i
    for i in range(size):
        p = <double> x[i] / <double> weight
        f[i] = (total + 0.5 * size) * p
        k[i] = <int64_t> floor(f[i])
        f[i] -= k[i]
        given += k[i]
    if given < total:  # add units to the smallest q_i = (1 - f_i)/(k_i + 1)
        for i in range(size):
            q[i] = (1.0 - f[i]) / (k[i] + 1)
        while given < total:
            best = 0
            for i in range(1, size):
                if q[i] < q[best]:
                    best = i
            k[best] += 1
            f[best] -= 1.0
            q[best] = (1.0 - f[best]) / (k[best] + 1)
            given += 1
    elif given > total:  # remove units from the smallest q_i = f_i/k_i
        for i in range(size):
            q[i] = f[i] / k[i] if k[i] > 0 else 1e300
        while given > total:
            best = 0
            for i in range(1, size):
                if q[i] < q[best]:
                    best = i
            k[best] -= 1
            f[best] += 1.0
            q[best] = f[best] / k[best] if k[best] > 0 else 1e300
            given -= 1


cdef inline void c_mode(bitgen_t *bits, const int64_t *x, int64_t *k, double *f, double *q, Py_ssize_t size,
                        int64_t total, int rule) noexcept nogil:
    """Set k to a mode of Multinomial(total, x / sum x); at least one x must be positive."""
    cdef Py_ssize_t i
    cdef int64_t weight = 0
    for i in range(size):
        weight += x[i]
    if rule == IEEE:
        c_theorem(x, k, f, q, size, total, weight)
    else:
        c_greedy(x, k, size, total, weight, rule == LAST)
        if rule == RANDOM:
            c_shuffle_ties(bits, x, k, size)


cdef void mode_fill(const int64_t[:, ::1] weights, const int64_t[::1] totals, int64_t[:, ::1] out, double[::1] f,
                    double[::1] q, int rule, bitgen_t *bits) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(out.shape[0]):
        c_mode(bits, &weights[j, 0], &out[j, 0], &f[0], &q[0], weights.shape[1], totals[j], rule)


def modes(totals, weights, *, ties, rng):
    """Return a mode of the multinomial distribution of every row.

    Parameters
    ----------
    totals : int64 (n,), numbers of trials in [0, 10^9 - S].
    weights : int64 (n, S), non-negative, each row with a sum in 1..10^9.
    ties : one of ``RULES``.
    rng : numpy Generator; only ``random`` draws: one uniform per claim of the last level, if claims exceed units.

    Returns
    -------
    int64 (n, S), with row sums `totals`. The cost per row is O(S), plus O(S) per unit between starting point and mode
        (at most S/2 + 1 units).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; floats are rejected, not truncated.
    """
    _checks.one_of("ties", ties, RULES)
    _checks.generator(rng)
    rows = _arrays.integers("weights", weights, ndim=2, least=0, most=LARGEST_WEIGHT)
    if rows.shape[1] < 1:
        raise ValueError("weights must have at least one column, got none")
    sizes = _arrays.integers("totals", totals, shape=rows.shape[:1], least=0, most=LARGEST_WEIGHT - rows.shape[1])
    sums = rows.sum(axis=1)
    if len(sums) and (sums.min() < 1 or sums.max() > LARGEST_WEIGHT):
        raise ValueError(f"the sum of weights in each row must lie in [1, 10^9], got sums from {sums.min()} to "
                         f"{sums.max()}")
    out = np.empty_like(rows)
    cdef const int64_t[:, ::1] rows_view = rows
    cdef const int64_t[::1] sizes_view = sizes
    cdef int64_t[:, ::1] view = out
    cdef double[::1] f = np.empty(rows.shape[1]), q = np.empty(rows.shape[1])
    cdef int rule = RULES.index(ties)
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        mode_fill(rows_view, sizes_view, view, f, q, rule, bits)
    return out


def summed_noise(epsilon, support, size):
    """Return the log probabilities of the sum of independent noise values.

    Parameters
    ----------
    epsilon : > 0.
    support : integer >= 1, support of each noise value.
    size : number of noise values, in [0, 10^6].

    Returns
    -------
    log_probabilities : float64 (2 reach + 1,), index i for the value i - reach; -inf where the probability underflows.
    reach : integer, the half-width of the support of these log probabilities.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    Positive terms are convolved directly, so the tails have full relative accuracy; probabilities below 1e-300 are
    neglected. The cost is a small multiple of R^2 for R = min(support, 700/epsilon) values.
    """
    size = _checks.integer("size", size, most=10**6)
    power, result = geometric.probabilities(epsilon, support), np.ones(1)
    while size:
        if size & 1:
            result = _trim(np.convolve(result, power))
        size >>= 1
        if size:
            power = _trim(np.convolve(power, power))
    with np.errstate(divide="ignore"):
        return np.log(result), len(result) // 2


def _trim(law):
    kept = np.flatnonzero(law > _UNDERFLOW)
    edge = min(kept.min(), len(law) - 1 - kept.max())
    return law[edge : len(law) - edge]


cdef inline int64_t c_summed_total(double u, int64_t noisy, int64_t summed, double epsilon, int64_t support,
                                   const double *logs, int64_t reach, double *weights) noexcept nogil:
    """Draw M >= 0 with weight exp(-epsilon |M - noisy|) P(summed noise = summed - M), |M - noisy| <= support."""
    cdef int64_t first = noisy - support if noisy > support else 0, last = noisy + support, m, gap
    cdef double best = -1e300, running = 0.0, value
    # equation 6 in logs: exp(-epsilon |M - n|) times the probability of the summed noise sum n_s - M
    for m in range(first, last + 1):
        gap = summed - m
        value = -1e300
        if -reach <= gap <= reach:
            value = logs[gap + reach] - epsilon * (m - noisy if m > noisy else noisy - m)
        weights[m - first] = value
        if value > best:
            best = value
    # draw by inversion of the cumulative weights
    for m in range(last - first + 1):
        running += exp(weights[m] - best)
        weights[m] = running
    for m in range(last - first):
        if weights[m] > u * running:
            return first + m
    return last


cdef inline void c_multinomial(bitgen_t *bits, binomial_t *binomial, int64_t total, const int64_t *x, double *p,
                               int64_t *out, Py_ssize_t size) noexcept nogil:
    """Draw out ~ Multinomial(total, x / sum x)."""
    cdef Py_ssize_t i
    cdef int64_t weight = 0
    for i in range(size):
        weight += x[i]
    for i in range(size):
        p[i] = <double> x[i] / <double> weight
        out[i] = 0
    random_multinomial(bits, total, out, p, size, binomial)


cdef inline void c_share_if_empty(int64_t *x, Py_ssize_t size) noexcept nogil:
    """Set equal weights if all weights are 0."""
    cdef Py_ssize_t i
    for i in range(size):
        if x[i] > 0:
            return
    for i in range(size):
        x[i] = 1


cdef void release_fill(const int64_t[::1] counts, double epsilon, int64_t support, const double[::1] table,
                       const double[::1] logs, const int64_t[::1] wanted, int rule, int64_t[:, :, ::1] out,
                       int64_t[:, ::1] x, double[:, ::1] work, double[::1] weights, bitgen_t *bits) noexcept nogil:
    """Draw one release; x: noisy components, then posterior draws; work: probabilities and two scratch rows."""
    cdef Py_ssize_t j, s, a, size = counts.shape[0]
    cdef int64_t total = 0, noisy, summed, kept, m
    cdef bint drawing = False
    cdef binomial_t binomial
    binomial.has_binomial = 0
    for s in range(size):
        total += counts[s]
    for a in range(wanted.shape[0]):
        drawing |= wanted[a] < 2
    for j in range(out.shape[1]):
        # noisy counts n = N + d and n_s = N_s + d_s, shared by all algorithms
        noisy = total + c_noise(c_uniform(bits), &table[0], support)
        kept = noisy if noisy > 0 else 0
        summed = 0
        for s in range(size):
            x[0, s] = counts[s] + c_noise(c_uniform(bits), &table[0], support)
            summed += x[0, s]
        if drawing:  # equation 4: N_s = n_s + noise, conditional on N_s >= 0
            for s in range(size):
                x[1, s] = x[0, s] + c_noise_from(c_uniform(bits), &table[0], support, epsilon, -x[0, s])
            c_share_if_empty(&x[1, 0], size)
        # algorithms 2 and 3: max(n_s, 0)
        for s in range(size):
            if x[0, s] < 0:
                x[0, s] = 0
        c_share_if_empty(&x[0, 0], size)
        for a in range(wanted.shape[0]):
            if wanted[a] == 3:
                c_mode(bits, &x[0, 0], &out[a, j, 0], &work[1, 0], &work[2, 0], size, kept, rule)
                continue
            m = kept  # max(n, 0), unless M is drawn by equation 5 or 6
            if wanted[a] == 0:
                m = noisy + c_noise_from(c_uniform(bits), &table[0], support, epsilon, -noisy)
            elif wanted[a] == 1:
                m = c_summed_total(c_uniform(bits), noisy, summed, epsilon, support, &logs[0], logs.shape[0] // 2,
                                   &weights[0])
            c_multinomial(bits, &binomial, m, &x[wanted[a] < 2, 0], &work[0, 0], &out[a, j, 0], size)


def draw(counts, *, epsilon, support, algorithms, ties, size, rng):
    """Draw independent releases. The algorithms share their noise, as in the paper.

    Parameters
    ----------
    counts : int64 (S,), S >= 1, the true counts of the components; their sum plus the largest noise is at most 5 10^8.
    epsilon : > 0, privacy parameter of each noisy count.
    support : integer >= 0; the noise is between -support and support.
    algorithms : a selection of ``ALGORITHMS``, in the order of the result.
    ties : rule of `modes` for algorithm 3.
    size : number of releases >= 0.
    rng : numpy Generator. A release uses 1 + S uniforms for the noise and S more if an algorithm 1 is selected. Each
        algorithm uses one for its total (algorithms 1) and those of NumPy's multinomial draw or of the tie-breaking
        rule.

    Returns
    -------
    int64 (len(algorithms), size, S), non-negative.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    size, support = _checks.integer("size", size), _checks.integer("support", support, most=LARGEST_COUNT)
    true = _arrays.integers("counts", counts, least=0, most=LARGEST_COUNT)
    if not len(true):
        raise ValueError("counts must contain at least one count, got none")
    if int(true.sum()) + (len(true) + 1) * support > LARGEST_COUNT:
        raise ValueError("the sum of the counts and the largest noise must be <= 5e8")
    names = [_checks.one_of("algorithm", a, ALGORITHMS) for a in algorithms]
    wanted = np.array([ALGORITHMS.index(name) for name in names], dtype=np.int64)
    _checks.one_of("ties", ties, RULES)
    _checks.generator(rng)
    cdef const int64_t[::1] true_view = true, wanted_view = wanted
    cdef const double[::1] table = geometric.cumulative(epsilon, support)
    cdef const double[::1] logs = summed_noise(epsilon, support, len(true))[0] if 1 in wanted else np.zeros(1)
    cdef int rule = RULES.index(ties)
    cdef double rate = epsilon
    cdef int64_t reach = support
    out = np.empty((len(wanted), size, len(true)), dtype=np.int64)
    cdef int64_t[:, :, ::1] view = out
    cdef int64_t[:, ::1] x = np.empty((2, len(true)), dtype=np.int64)
    cdef double[:, ::1] work = np.empty((3, len(true)))
    cdef double[::1] weights = np.empty(2 * support + 1)
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        release_fill(true_view, rate, reach, table, logs, wanted_view, rule, view, x, work, weights, bits)
    return out
