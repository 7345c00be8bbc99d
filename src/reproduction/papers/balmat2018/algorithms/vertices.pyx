# cython: language_level=3
"""Chains of step 6.4 with p ~ Dirichlet(alpha + S), run until a p is exactly 1, where the chain stays (a vertex).

An iteration draws S from a table of all compositions, as in the paper, then p. The random stream is that of NumPy's
`random` and `dirichlet`; `dirichlet` draws the categories with alpha + S > 0, the other p are 0.
"""
import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport exp, log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma

from dpmultinomial import _checks

cdef double DEPTH = 40.0  # compositions with a weight below exp(-DEPTH) times the largest weight are skipped


cdef inline void c_dirichlet(bitgen_t *bits, double alpha, const int64_t *s, double *p, Py_ssize_t k) noexcept nogil:
    """Draw p ~ Dirichlet(alpha + s) over the categories with a positive parameter."""
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(k):
        p[i] = random_standard_gamma(bits, alpha + s[i]) if alpha + s[i] > 0.0 else 0.0
        total += p[i]
    total = 1.0 / total if total > 0.0 else 0.0  # without records, all p are 0
    for i in range(k):
        p[i] *= total


cdef inline int64_t c_composition(const int64_t[:, ::1] rows, const double[::1] static, const double *logs,
                                  double[::1] weights, bitgen_t *bits) noexcept nogil:
    """Draw a row of the table with probability proportional to exp(static) prod_i p_i^s_i, by inversion."""
    cdef Py_ssize_t k = rows.shape[1], r, i
    cdef double top = -1e308, total = 0.0, target
    for r in range(rows.shape[0]):
        weights[r] = static[r]
        for i in range(k):
            weights[r] += rows[r, i] * logs[i]
        if weights[r] > top:
            top = weights[r]
    for r in range(rows.shape[0]):
        if weights[r] > top - DEPTH:
            total += exp(weights[r] - top)
        weights[r] = total
    target = bits.next_double(bits.state) * total
    for r in range(rows.shape[0]):
        if weights[r] > target:
            return r
    return rows.shape[0] - 1


cdef int64_t chain_fill(const int64_t[:, ::1] rows, const double[::1] static, double alpha, double[::1] p,
                        double[::1] logs, double[::1] weights, int64_t iterations, bitgen_t *bits) noexcept nogil:
    """Return the number of iterations before the one that ends at a vertex, or `iterations` if there is none."""
    cdef int64_t t, r
    cdef Py_ssize_t k = rows.shape[1], i
    for t in range(iterations):
        for i in range(k):
            logs[i] = log(p[i]) if p[i] > 0.0 else -1e30  # finite, so that a count of 0 has weight 0^0 = 1
        r = c_composition(rows, static, &logs[0], weights, bits)
        c_dirichlet(bits, alpha, &rows[r, 0], &p[0], k)
        for i in range(k):
            if p[i] == 1.0:
                return t
    return iterations


def last_move(rows, static, alpha, iterations, rng):
    """Return the iteration at which a chain from p ~ Dirichlet(1, .., 1) reaches a vertex, or None.

    Parameters
    ----------
    rows : int64 (n, k), compositions of one total, k >= 2.
    static : float64 (n,), log coefficient + log noise density of each composition.
    alpha : finite, >= 0.
    iterations : largest number of iterations.
    rng : numpy Generator; an iteration uses one uniform and a standard gamma draw per category with alpha + S > 0.

    Returns
    -------
    int or None. The cost is one exponential per iteration and composition of non-negligible weight.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    table = _checks.shaped_counts("rows", rows, None, None)
    if table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(f"rows must have at least one row and two columns, got shape {table.shape}")
    cdef const int64_t[:, ::1] view = table
    cdef const double[::1] logs = _checks.shaped("static", static, len(table))
    cdef double more = _checks.number("alpha", alpha)
    if more < 0.0:
        raise ValueError(f"alpha must be >= 0, got {alpha}")
    cdef int64_t most = _checks.integer("iterations", iterations), found
    cdef double[::1] p = _checks.generator(rng).dirichlet(np.ones(table.shape[1]))
    cdef double[::1] log_p = np.empty(table.shape[1]), weights = np.empty(len(table))
    cdef bitgen_t *bits = <bitgen_t *> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")
    with rng.bit_generator.lock, nogil:
        found = chain_fill(view, logs, more, p, log_p, weights, most, bits)
    return found if found < most else None
