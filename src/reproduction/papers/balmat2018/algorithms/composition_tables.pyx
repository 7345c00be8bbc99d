# cython: language_level=3
"""Computations of Balmat et al. (2018) with a table of all compositions: accuracy of probabilities, and chains at
vertices.

Multinomial probabilities M!/(s_1! s_0! s_e!) p_1^s_1 p_0^s_0 p_e^s_e by several formulas: section 6.2 (accuracy,
Figure 2) and section 6.3 (speed of the product, Table 2). The exact value is computed in double-double arithmetic (106
bits, by fused multiply-add) with separate exponents of two, so there is neither overflow nor underflow.

Chains of step 6.4 with p ~ Dirichlet(alpha + S), run until a p is exactly 1, where the chain stays (a vertex). An
iteration draws S from a table of all compositions, as in the paper, then p. The random stream is that of NumPy's
`random` and `dirichlet`; `dirichlet` draws the categories with alpha + S > 0, and all other p are 0.
"""
import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport exp, fabs, fma, fmin, frexp, ldexp, lgamma, log, log10, pow
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_gamma

from dpmultinomial import _checks

FORMULATIONS = ("table_exp", "lgamma", "log_table_exp", "table_pow", "table_products")
cdef double MOST_DIGITS = 15.954589770191003  # -log10(2^-53): the highest accuracy that a float64 can have
cdef double DEPTH = 40.0  # compositions with a weight below exp(-DEPTH) times the largest weight are skipped
cdef enum:
    FORMS = 5


# Probabilities by several formulas, and their accuracy (sections 6.2 and 6.3).

cdef struct Wide:  # an unevaluated sum hi + lo
    double hi
    double lo


cdef inline Wide c_times(Wide a, Wide b) noexcept nogil:
    cdef Wide out
    cdef double p = a.hi * b.hi, e
    e = fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi)
    out.hi = p + e
    out.lo = e - (out.hi - p)
    return out


cdef inline double c_digits(double error) noexcept nogil:
    return MOST_DIGITS if error <= 0.0 else fmin(MOST_DIGITS, -log10(error))


cdef int64_t digits_fill(const int64_t[:, ::1] counts, const double[::1] table, const double[:, ::1] exact,
                         const double[::1] log_table, const double[::1] gammas, const double *p, Wide[:, ::1] wide,
                         int64_t[::1] shifts, double[:, ::1] powers, double[:, ::1] products,
                         double *out) noexcept nogil:
    """Compute the smallest number of digits over all rows for one p: table_exp compared with lgamma, then each formula
    compared with the exact value.

    Rows whose exact value is below the normal range of float64 are skipped, because they give no information about a
    formula; their number is returned.
    """
    cdef int64_t total = counts[0, 0], rows = counts.shape[0], i, s, r, shift, skipped = 0
    cdef double logs[3]
    cdef double normed[3]
    cdef double values[FORMS]
    cdef double errors[FORMS]
    cdef double pair = 0.0, error, mantissa, sum_p = p[0] + p[1] + p[2]
    cdef long double terms
    cdef int exponent, f
    cdef Wide value, base
    # powers p_i^s for s = 0..M: with twice the precision (mantissa and shift), as products, and by pow
    for i in range(3):
        logs[i] = log(p[i])
        normed[i] = log(p[i] / sum_p)
        base.hi = frexp(p[i], &exponent)
        base.lo = 0.0
        shifts[i] = exponent
        wide[i, 0].hi, wide[i, 0].lo = 1.0, 0.0
        products[i, 0] = 1.0
        powers[i, 0] = 1.0
        for s in range(1, total + 1):
            wide[i, s] = c_times(wide[i, s - 1], base)
            products[i, s] = products[i, s - 1] * p[i]
            powers[i, s] = pow(p[i], <double> s)
    for f in range(FORMS):
        errors[f] = 0.0
    for r in range(rows):
        # exact value: coefficient times p_1^s_1 p_2^s_2 p_3^s_3, as value times 2^shift
        value.hi, value.lo = exact[r, 0], exact[r, 1]
        shift = 0
        for i in range(3):
            value = c_times(value, wide[i, counts[r, i]])
            shift += shifts[i] * counts[r, i]
        mantissa = frexp(value.hi, &exponent)
        if shift + exponent < -1021:
            skipped += 1
            continue
        # dmultinom: log M! + sum_i (s_i log p_i - log s_i!), with the shares normalised to a sum of 1
        terms = 0
        for i in range(3):
            terms += counts[r, i] * normed[i] - gammas[counts[r, i]]
        error = counts[r, 0] * logs[0] + counts[r, 1] * logs[1] + counts[r, 2] * logs[2]
        # the other forms: coefficient times exp, exp of the sum of logs, powers, products
        values[0] = table[r] * exp(error)
        values[1] = exp(gammas[total] + <double> terms)
        values[2] = exp(log_table[r] + error)
        values[3] = table[r] * powers[0, counts[r, 0]] * powers[1, counts[r, 1]] * powers[2, counts[r, 2]]
        values[4] = table[r] * products[0, counts[r, 0]] * products[1, counts[r, 1]] * products[2, counts[r, 2]]
        # largest relative errors over all rows
        for f in range(FORMS):
            error = fabs((ldexp(values[f], -shift) - value.hi) - value.lo) / value.hi
            if error > errors[f]:
                errors[f] = error
        if values[1] > 0.0:
            error = fabs(values[1] - values[0]) / values[1]
            if error > pair:
                pair = error
    out[0] = c_digits(pair)
    for f in range(FORMS):
        out[f + 1] = c_digits(errors[f])
    return skipped


def fewest_digits(counts, coefficients, exact, probabilities):
    """Return, for each p, the number of significant digits that agree, the smallest over all compositions.

    Parameters
    ----------
    counts : int64 (rows, 3), first row (M, 0, 0), e.g. of `kernels.multinomial_table`.
    coefficients : float64 (rows,), the coefficients of the table.
    exact : list of int, the coefficients as integers.
    probabilities : float64 (n, 3), positive; used without normalisation (the lgamma formula normalises them, as R
        does).

    Returns
    -------
    digits : float64 (n, 6): first table_exp compared with lgamma (the paper's Figure 2, relative to lgamma), then
        each of `FORMULATIONS` compared with the exact value; -log10 of the relative difference, at most 15.95.
    skipped : int64 (n,), number of compositions whose exact probability is below 2.2e-308.

    Notes
    -----
    ``table_exp`` C exp(sum s log p), the paper's; ``lgamma`` R's dmultinom; ``log_table_exp`` exp(log C + sum s log p);
    ``table_pow`` C prod p^s; ``table_products`` the same with powers by repeated products. About 0.1 ms per triplet at
    M = 50.
    """
    counts = _three(counts)
    if not len(counts) or not (counts.sum(axis=1) == counts[0, 0]).all():
        raise ValueError("all rows of counts must have the same sum, and the first row must be (total, 0, 0)")
    rows = len(counts)
    coefficients = _checks.positives("coefficients", _checks.shaped("coefficients", coefficients, rows), rows)
    if len(exact) != rows:
        raise ValueError(f"exact must have one entry per row of counts ({rows} rows), got {len(exact)} entries")
    probabilities = _checks.shaped("probabilities", probabilities, None, 3)
    if not (np.isfinite(probabilities) & (probabilities > 0)).all():
        raise ValueError("probabilities must be finite and > 0")
    total = int(counts[0, 0])
    hi = np.array([float(c) for c in exact])
    pairs = np.ascontiguousarray(np.column_stack([hi, [float(c - int(h)) for c, h in zip(exact, hi, strict=True)]]))
    cdef const int64_t[:, ::1] counts_view = counts
    cdef const double[::1] table = coefficients, log_table = np.log(coefficients)
    cdef const double[:, ::1] exact_view = pairs, p = np.ascontiguousarray(probabilities, dtype=np.float64)
    cdef const double[::1] gammas = np.array([lgamma(s + 1.0) for s in range(total + 1)])
    cdef double[:, ::1] powers = np.empty((3, total + 1)), products = np.empty((3, total + 1))
    cdef Wide[:, ::1] wide = np.zeros((3, total + 1), dtype=[("hi", "f8"), ("lo", "f8")])
    digits = np.empty((p.shape[0], FORMS + 1))
    skipped = np.empty(p.shape[0], dtype=np.int64)
    cdef double[:, ::1] digits_view = digits
    cdef int64_t[::1] skipped_view = skipped, shifts = np.empty(3, dtype=np.int64)
    cdef Py_ssize_t t
    with nogil:
        for t in range(p.shape[0]):
            skipped_view[t] = digits_fill(counts_view, table, exact_view, log_table, gammas, &p[t, 0], wide, shifts,
                                          powers, products, &digits_view[t, 0])
    return digits, skipped


def product_of(double s1, double s0, double se, double p1, double p0, double pe):
    """Return one product exp(s1 log p1 + s0 log p0 + se log pe), a single call of the paper's method 3.

    Parameters
    ----------
    s1, s0, se : counts.
    p1, p0, pe : > 0.

    Returns
    -------
    float
    """
    return exp(s1 * log(p1) + s0 * log(p0) + se * log(pe))


def product_each(counts, probabilities):
    """Return exp(sum_i s_i log p_i) for every row with its own p: int64 (n, 3), float64 (n, 3) -> float64 (n,)."""
    cdef const int64_t[:, ::1] s = _three(counts)
    cdef const double[:, ::1] p = _checks.shaped("probabilities", probabilities, s.shape[0], 3)
    out = np.empty(s.shape[0])
    cdef double[::1] view = out
    cdef Py_ssize_t r
    with nogil:
        for r in range(s.shape[0]):
            view[r] = exp(s[r, 0] * log(p[r, 0]) + s[r, 1] * log(p[r, 1]) + s[r, 2] * log(p[r, 2]))
    return out


def product_block(counts, probabilities):
    """Return exp(sum_i s_i log p_i) for every row with the same p: int64 (n, 3), float64 (3,) -> float64 (n,)."""
    probabilities = _checks.shaped("probabilities", probabilities, 3)
    cdef const int64_t[:, ::1] s = _three(counts)
    cdef double a = log(probabilities[0]), b = log(probabilities[1]), c = log(probabilities[2])
    out = np.empty(s.shape[0])
    cdef double[::1] view = out
    cdef Py_ssize_t r
    with nogil:
        for r in range(s.shape[0]):
            view[r] = exp(s[r, 0] * a + s[r, 1] * b + s[r, 2] * c)
    return out


def _three(counts):
    return _checks.shaped_counts("counts", counts, None, 3)


# Chains until they reach a vertex.

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
    cdef int64_t most = _checks.integer("iterations", iterations), reached
    cdef double[::1] p = _checks.generator(rng).dirichlet(np.ones(table.shape[1]))
    cdef double[::1] log_p = np.empty(table.shape[1]), weights = np.empty(len(table))
    cdef bitgen_t *bits = <bitgen_t *> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")
    with rng.bit_generator.lock, nogil:
        reached = chain_fill(view, logs, more, p, log_p, weights, most, bits)
    return reached if reached < most else None
