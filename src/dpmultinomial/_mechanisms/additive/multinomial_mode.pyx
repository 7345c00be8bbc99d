# cython: language_level=3
"""Modes of multinomial laws whose probabilities are proportional to whole numbers x.

Every mode of Multinomial(m, x / sum x) is an allocation by largest quotients x_i/1, x_i/2, .. (Finucan's rule, the
divisor rule of d'Hondt), and the start floor((m + S/2) p) of the paper's Theorem 1 is such an allocation of another
total, so adding or taking single units ends at a mode. Equal quotients make the mode ambiguous; the rule says who wins:

- ``first``, ``last``: the lowest or the highest index, in exact whole numbers;
- ``random``: a uniformly random choice among the equal claims, in exact whole numbers;
- ``ieee``: Theorem 1 as written in doubles, lowest index among equal q: rounding decides. It serves to reproduce the
  paper and nothing else.
"""
import numpy as np

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen
from .multinomial_mode cimport c_mode

from ... import _arrays, _checks

RULES = ("first", "last", "random", "ieee")
LARGEST = 10**9  # products of two counts stay below 2^63


cdef void mode_fill(const int64_t[:, ::1] weights, const int64_t[::1] totals, int64_t[:, ::1] out, double[::1] f,
                    double[::1] q, int rule, bitgen_t *bits) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(out.shape[0]):
        c_mode(bits, &weights[j, 0], &out[j, 0], &f[0], &q[0], weights.shape[1], totals[j], rule)


def modes(totals, weights, *, ties, rng):
    """A mode for every row.

    Parameters
    ----------
    totals : int64 (n,), trial sizes in [0, 10^9 - S].
    weights : int64 (n, S), non-negative, each row adding up to 1..10^9.
    ties : one of ``RULES``.
    rng : numpy Generator; only ``random`` draws, one uniform per claim of the last level, if that level is contested.

    Returns
    -------
    int64 (n, S), rows adding up to `totals`. Cost O(S) a row plus O(S) per unit the start is away (at most S/2 + 1).

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; floats are refused, not truncated.
    """
    _checks.one_of("ties", ties, RULES)
    _checks.generator(rng)
    rows = _arrays.integers("weights", weights, ndim=2, least=0, most=LARGEST)
    if rows.shape[1] < 1:
        raise ValueError("weights must have at least one column")
    sizes = _arrays.integers("totals", totals, shape=rows.shape[:1], least=0, most=LARGEST - rows.shape[1])
    sums = rows.sum(axis=1)
    if len(sums) and (sums.min() < 1 or sums.max() > LARGEST):
        raise ValueError(f"weights must add up to a number in [1, 10^9] in each row, got {sums.min()}..{sums.max()}")
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
