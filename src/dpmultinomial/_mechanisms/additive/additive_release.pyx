# cython: language_level=3
"""The four additive releases of Wang (2020), section 3.1, one compiled loop over the releases.

Every release starts from the same noise: n = N + d, n_s = N_s + d_s (`_kernels.geometric`). Then
``1-independent``  x_s and M are posterior draws given n_s and n (equations 4, 5), cut at 0; Multinomial(M, x / sum x);
``1-summed``       the same x_s; M is a draw given n and sum n_s (equation 6) with the exact law of the summed noise;
``2``              Multinomial(max(n, 0), max(n_s, 0) / sum);
``3``              a mode of that multinomial law (`multinomial_mode`).
Where all weights are 0 the components share equally.
"""
import numpy as np

from libc.math cimport exp
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport binomial_t, random_multinomial

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ..._kernels.geometric cimport c_noise, c_noise_from
from .multinomial_mode cimport c_mode

from ... import _arrays, _checks
from ..._kernels import geometric
from . import multinomial_mode

ALGORITHMS = ("1-independent", "1-summed", "2", "3")
LARGEST = 5 * 10**8  # counts and noise together: products of two of them stay below 2^63
_UNDERFLOW = 1e-300


def summed_noise(epsilon, support, size):
    """Log law of the sum of independent noises.

    Parameters
    ----------
    epsilon : > 0.
    support : whole number >= 0, of each noise.
    size : how many, in [0, 10^6].

    Returns
    -------
    log_probabilities : float64 (2 reach + 1,), index i for the value i - reach; -inf where nothing is left.
    reach : whole number, the half-width of that law's support.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.

    Notes
    -----
    Direct convolution of positive terms, so the tails keep full relative accuracy; what is below 1e-300 is neglected.
    O(R^2) for R = min(support, 700/epsilon) values, a few times over.
    """
    size = _checks.whole("size", size, most=10**6)
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
    for m in range(first, last + 1):
        gap = summed - m
        value = -1e300
        if -reach <= gap <= reach:
            value = logs[gap + reach] - epsilon * (m - noisy if m > noisy else noisy - m)
        weights[m - first] = value
        if value > best:
            best = value
    for m in range(last - first + 1):
        running += exp(weights[m] - best)
        weights[m] = running
    for m in range(last - first):
        if weights[m] > u * running:
            return first + m
    return last


cdef inline void c_multinomial(bitgen_t *bits, binomial_t *binomial, int64_t total, const int64_t *x, double *p,
                               int64_t *out, Py_ssize_t size) noexcept nogil:
    """out ~ Multinomial(total, x / sum x)."""
    cdef Py_ssize_t i
    cdef int64_t weight = 0
    for i in range(size):
        weight += x[i]
    for i in range(size):
        p[i] = <double> x[i] / <double> weight
        out[i] = 0
    random_multinomial(bits, total, out, p, size, binomial)


cdef inline void c_share_if_empty(int64_t *x, Py_ssize_t size) noexcept nogil:
    """Equal weights where all are 0."""
    cdef Py_ssize_t i
    for i in range(size):
        if x[i] > 0:
            return
    for i in range(size):
        x[i] = 1


cdef void release_fill(const int64_t[::1] counts, double epsilon, int64_t support, const double[::1] table,
                       const double[::1] logs, const int64_t[::1] wanted, int rule, int64_t[:, :, ::1] out,
                       int64_t[:, ::1] x, double[:, ::1] work, double[::1] weights, bitgen_t *bits) noexcept nogil:
    """x: noisy components, then posterior draws; work: probabilities and the two scratch rows of the mode."""
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
        noisy = total + c_noise(c_uniform(bits), &table[0], support)
        kept = noisy if noisy > 0 else 0
        summed = 0
        for s in range(size):
            x[0, s] = counts[s] + c_noise(c_uniform(bits), &table[0], support)
            summed += x[0, s]
        if drawing:
            for s in range(size):
                x[1, s] = x[0, s] + c_noise_from(c_uniform(bits), &table[0], support, epsilon, -x[0, s])
            c_share_if_empty(&x[1, 0], size)
        for s in range(size):
            if x[0, s] < 0:
                x[0, s] = 0
        c_share_if_empty(&x[0, 0], size)
        for a in range(wanted.shape[0]):
            if wanted[a] == 3:
                c_mode(bits, &x[0, 0], &out[a, j, 0], &work[1, 0], &work[2, 0], size, kept, rule)
                continue
            m = kept
            if wanted[a] == 0:
                m = noisy + c_noise_from(c_uniform(bits), &table[0], support, epsilon, -noisy)
            elif wanted[a] == 1:
                m = c_summed_total(c_uniform(bits), noisy, summed, epsilon, support, &logs[0], logs.shape[0] // 2,
                                   &weights[0])
            c_multinomial(bits, &binomial, m, &x[wanted[a] < 2, 0], &work[0, 0], &out[a, j, 0], size)


def draw(counts, *, epsilon, support, algorithms, ties, size, rng):
    """Independent releases; the algorithms share their noise, as in the paper.

    Parameters
    ----------
    counts : int64 (S,), S >= 1, the true component counts; they and the largest noise add up to at most 5 10^8.
    epsilon : > 0, privacy parameter of each noisy count.
    support : whole number >= 0, the noise stays within +-support.
    algorithms : some of ``ALGORITHMS``, in the order wanted.
    ties : rule of `kernels.multinomial_mode` for algorithm 3.
    size : number of releases >= 0.
    rng : numpy Generator. A release uses 1 + S uniforms for the noise, S more if an algorithm 1 is wanted, then
        algorithm by algorithm one for its total (algorithms 1) and those of NumPy's multinomial or of the tie rule.

    Returns
    -------
    int64 (len(algorithms), size, S), non-negative.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    size, support = _checks.whole("size", size), _checks.whole("support", support, most=LARGEST)
    true = _arrays.integers("counts", counts, least=0, most=LARGEST)
    if len(true) < 1 or int(true.sum()) + (len(true) + 1) * support > LARGEST:
        raise ValueError("counts must be at least one and, noise included, stay below 5e8 in all")
    names = [_checks.one_of("algorithm", a, ALGORITHMS) for a in algorithms]
    wanted = np.array([ALGORITHMS.index(name) for name in names], dtype=np.int64)
    _checks.one_of("ties", ties, multinomial_mode.RULES)
    _checks.generator(rng)
    cdef const int64_t[::1] true_view = true, wanted_view = wanted
    cdef const double[::1] table = geometric.cumulative(epsilon, support)
    cdef const double[::1] logs = summed_noise(epsilon, support, len(true))[0] if 1 in wanted else np.zeros(1)
    cdef int rule = multinomial_mode.RULES.index(ties)
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
