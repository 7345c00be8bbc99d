# cython: language_level=3
"""Sums of products of Fourier transforms, and their derivatives, for distributions of counts that are coupled through
their total.

Term t is w_t tail(k) sum_j (prod_{s < j} E_s) G_j (prod_{s > j} L_s) at frequency k, with E = clear + e got + (1 - e)
lost, L = clear + l got + (1 - l) lost, G = got. Component j is distinguished; the components before and after j have
the factors E and L. A plain term is w tail prod E. The factors `clear`, `got` and `lost` are rows of a table of
spectra, so a factor that many terms share is transformed only once, and its derivative (the adjoint) is summed over all
terms. One inverse transform per row then gives the marginals of a mixture of thousands of products (reverse-mode
differentiation).

A column represents `repeats` components with the same factors (and e = l): E^m, and m G E^(m - 1) if one of them is
distinguished. Frequencies are independent of each other, so all terms are processed for one block of frequencies that
fits into the cache. The cost is O(terms U K) for U columns and K frequencies, about three complex products each.
"""
import numpy as np

from libc.stdint cimport int64_t

from ... import _arrays, _checks

cdef extern from "frequency_blocks.h" nogil:
    const int BLOCK
    const int PAIR
    void c_times(const double *a, const double *b, double *out) noexcept
    void c_add_times(const double *a, const double *b, double *out) noexcept
    void c_add_scaled(double weight, const double *a, double *out) noexcept
    void c_scaled(double weight, const double *a, double *out) noexcept
    void c_real_and_size(const double *a, const double *b, double *out) noexcept
    void c_copy(const double *a, double *out) noexcept
    void c_fill(double value, double *out) noexcept


cdef inline void c_power(const double *a, int64_t n, double *out, double *square, double *spare) noexcept nogil:
    """Compute out = a^n by repeated squaring, for complex numbers a."""
    if n <= 0:
        c_fill(1.0, out)
        return
    if n == 1:
        c_copy(a, out)
        return
    if n == 2:
        c_times(a, a, out)
        return
    c_fill(1.0, out)
    c_copy(a, square)
    while True:
        if n & 1:
            c_times(out, square, spare)
            c_copy(spare, out)
        n >>= 1
        if n == 0:
            return
        c_times(square, square, spare)
        c_copy(spare, square)


cdef inline void c_load(const double complex *row, int count, double *out) noexcept nogil:
    cdef int k
    for k in range(count):
        out[k] = row[k].real
        out[k + BLOCK] = row[k].imag
    for k in range(count, BLOCK):
        out[k] = out[k + BLOCK] = 0.0


cdef inline void c_add_row(double complex[:, ::1] out, int64_t row, Py_ssize_t start, int count,
                           const double *a) noexcept nogil:
    """Add the complex conjugate of one block of values to a row of `out`, so that a forward transform of the row
    computes an inverse transform.
    """
    cdef int k
    cdef double *place
    if row < 0:
        return
    place = <double *> &out[row, start]
    for k in range(count):
        place[2 * k] += a[k]
        place[2 * k + 1] -= a[k + BLOCK]


cdef struct Columns:
    # one block of PAIR doubles per column, each array contiguous in memory
    double *early
    double *late
    double *gain
    double *slope     # E^(m - 1)
    double *slope2  # E^(m - 2), for columns with claims that represent several components
    double *held  # adjoint of a column whose row has not changed
    double *rest_late  # suffix products prod L
    double *rest_gain  # suffix sums in which the distinguished component is among the remaining columns


cdef inline void c_release(Columns *c, int64_t u, int64_t *row, double complex[:, ::1] adjoints, Py_ssize_t start,
                           int count, double *spare) noexcept nogil:
    """Add the accumulated adjoint of column u to the row of adjoints that belongs to the factor of the column."""
    if row[u] >= 0:
        c_times(c.held + u * PAIR, c.slope + u * PAIR, spare)
        c_add_row(adjoints, row[u], start, count, spare)
    row[u] = -1


cdef inline void c_clear_column(Columns *c, int64_t u, int64_t repeats, const double complex *spectrum, int count,
                                double *work) noexcept nogil:
    cdef double *value = work
    c_load(spectrum, count, value)
    c_power(value, repeats - 1, c.slope + u * PAIR, work + PAIR, work + 2 * PAIR)
    c_times(c.slope + u * PAIR, value, c.early + u * PAIR)
    c_fill(0.0, c.held + u * PAIR)


cdef inline void c_claimed_column(Columns *c, int64_t u, int64_t repeats, const double complex[:, ::1] spectra,
                                  int64_t clear, int64_t got, int64_t lost, double e, double l, Py_ssize_t start,
                                  int count, double *work) noexcept nogil:
    """Compute the factors `early`, `late` and `gain` of a column that may contain the distinguished component, and the
    factors `slope` and `slope2` if the column represents several components.
    """
    cdef double *value = work
    cdef double *part = work + PAIR
    c_fill(0.0, c.early + u * PAIR)
    if clear >= 0:
        c_load(&spectra[clear, start], count, c.early + u * PAIR)
    if repeats == 1:
        c_copy(c.early + u * PAIR, c.late + u * PAIR)
    c_fill(0.0, c.gain + u * PAIR)
    if got >= 0:
        c_load(&spectra[got, start], count, c.gain + u * PAIR)
        c_add_scaled(e, c.gain + u * PAIR, c.early + u * PAIR)
        if repeats == 1:
            c_add_scaled(l, c.gain + u * PAIR, c.late + u * PAIR)
    if lost >= 0:
        c_load(&spectra[lost, start], count, part)
        c_add_scaled(1.0 - e, part, c.early + u * PAIR)
        if repeats == 1:
            c_add_scaled(1.0 - l, part, c.late + u * PAIR)
    # m equal components: E^m, L^m (the two are equal, because e = l), and m G E^(m - 1)
    if repeats > 1:
        c_copy(c.early + u * PAIR, value)
        c_power(value, repeats - 2, c.slope2 + u * PAIR, part, work + 2 * PAIR)
        c_times(c.slope2 + u * PAIR, value, c.slope + u * PAIR)
        c_times(c.slope + u * PAIR, value, c.early + u * PAIR)
        c_copy(c.early + u * PAIR, c.late + u * PAIR)
        if got >= 0:
            c_scaled(<double> repeats, c.gain + u * PAIR, part)
            c_times(part, c.slope + u * PAIR, c.gain + u * PAIR)


cdef inline void c_claimed_adjoint(Columns *c, int64_t u, int64_t repeats, const double complex[:, ::1] spectra,
                                   int64_t clear, int64_t got, int64_t lost, double e, double l, Py_ssize_t start,
                                   int count, double *before, double *after, double *moved,
                                   double complex[:, ::1] adjoints, double *work) noexcept nogil:
    """Add the adjoints of the factors E, L and G of one component of a column (`before`, `after`, `moved`) to the rows
    of the spectra of the column.
    """
    cdef double *part = work
    cdef double *spare = work + PAIR
    # with respect to one of m equal components: E^(m - 1) for E^m; for m G E^(m - 1), either (m - 1) G E^(m - 2) with
    # respect to E, or E^(m - 1) with respect to G
    if repeats > 1:
        c_add_scaled(1.0, after, before)
        c_times(before, c.slope + u * PAIR, part)
        if got >= 0:
            c_load(&spectra[got, start], count, spare)
            c_times(spare, c.slope2 + u * PAIR, after)
            c_scaled(<double> (repeats - 1), after, spare)
            c_add_times(spare, moved, part)
        c_times(moved, c.slope + u * PAIR, spare)
        c_copy(spare, moved)
        c_copy(part, before)
        c_fill(0.0, after)
    # chain rule: E = clear + e got + (1 - e) lost, L = clear + l got + (1 - l) lost, G = got
    if clear >= 0:
        c_copy(before, part)
        c_add_scaled(1.0, after, part)
        c_add_row(adjoints, clear, start, count, part)
    if got >= 0:
        c_scaled(e, before, part)
        c_add_scaled(l, after, part)
        c_add_scaled(1.0, moved, part)
        c_add_row(adjoints, got, start, count, part)
    if lost >= 0:
        c_scaled(1.0 - e, before, part)
        c_add_scaled(1.0 - l, after, part)
        c_add_row(adjoints, lost, start, count, part)


cdef inline void c_suffixes(Columns *c, Py_ssize_t size, const int64_t *split, Py_ssize_t first, Py_ssize_t last,
                            bint plain) noexcept nogil:
    """Compute two suffix products of the factors of the columns. They are rest_late[u] = prod_{s >= u} L_s for u >
    first, and rest_gain[u] for u <= last, in which the distinguished component is among the columns s >= u.

    For plain terms, rest_gain[u] = prod_{s >= u} E_s.
    """
    cdef Py_ssize_t u, v
    cdef double *late
    c_fill(1.0, c.rest_late + size * PAIR)
    c_fill(1.0 if plain else 0.0, c.rest_gain + (last + 1) * PAIR)
    for v in range(size):
        u = size - 1 - v
        if not plain and u > first:
            late = c.late + u * PAIR if split[u] else c.early + u * PAIR
            c_times(late, c.rest_late + (u + 1) * PAIR, c.rest_late + u * PAIR)
        if u <= last:
            if u == last and not plain:
                c_times(c.gain + u * PAIR, c.rest_late + (u + 1) * PAIR, c.rest_gain + u * PAIR)
                continue
            c_times(c.early + u * PAIR, c.rest_gain + (u + 1) * PAIR, c.rest_gain + u * PAIR)
            if split[u]:
                c_add_times(c.gain + u * PAIR, c.rest_late + (u + 1) * PAIR, c.rest_gain + u * PAIR)


cdef inline void c_sum(const double *tail, const double *root, double weight, Py_ssize_t start, int count,
                       Py_ssize_t frequencies, bint even, double *total, double *size, double *work) noexcept nogil:
    """Add the contribution of one block of frequencies to the real sum over all frequencies, and to the sum of absolute
    values.
    """
    cdef int k
    cdef double factor
    c_real_and_size(tail, root, work)
    for k in range(count):
        factor = 1.0 if start + k == 0 or (even and start + k == frequencies - 1) else 2.0
        total[0] += weight * factor * work[k]
        size[0] += weight * factor * work[k + BLOCK]


cdef void sweep_fill(const double complex[:, ::1] spectra, const double complex[::1] tail, const int64_t[:, ::1] clear,
                     const int64_t[:, ::1] got, const int64_t[:, ::1] lost, const double[::1] early,
                     const double[::1] late, const double[::1] weight, const int64_t[::1] repeats, bint plain,
                     bint even, double complex[:, ::1] adjoints, double complex[:, ::1] tail_adjoint,
                     double[:, ::1] sums,
                     double[:, ::1] memory, int64_t[::1] row, int64_t[::1] split) noexcept nogil:
    cdef Py_ssize_t t, u, size = clear.shape[1], terms = clear.shape[0], frequencies = tail.shape[0], start = 0, span
    cdef int count
    cdef Columns c
    cdef double *work
    cdef double *ends
    cdef double *prefix
    cdef double *gained
    cdef double *swap
    cdef double *before
    cdef double *after
    cdef double *moved
    cdef Py_ssize_t first, last
    cdef bint alone
    span = (size + 1) * PAIR
    c.early = &memory[0, 0]
    c.late = c.early + span
    c.gain = c.late + span
    c.slope = c.gain + span
    c.slope2 = c.slope + span
    c.held = c.slope2 + span
    c.rest_late = c.held + span
    c.rest_gain = c.rest_late + span
    work = c.rest_gain + span
    ends = work + 4 * PAIR
    prefix, gained, swap = ends + 2 * PAIR, ends + 3 * PAIR, ends + 4 * PAIR
    before, after, moved = ends + 5 * PAIR, ends + 6 * PAIR, ends + 7 * PAIR
    while start < frequencies:  # one block of frequencies, for all terms
        count = <int> (frequencies - start) if frequencies - start < BLOCK else BLOCK
        c_load(&tail[start], count, ends)
        c_fill(0.0, ends + PAIR)
        for u in range(size):
            row[u] = -1
        for t in range(terms):
            # first and last column that may contain the distinguished component; `alone`: a single column of a single
            # component
            first, last = size, size - 1
            for u in range(size):
                split[u] = got[t, u] >= 0 or lost[t, u] >= 0
                if split[u]:
                    if first == size:
                        first = u
                    last = u
            alone = first == last and repeats[first if first < size else 0] == 1
            # E, L and G of every column; columns without a claim are kept from the previous term if their row is the
            # same
            for u in range(size):
                if split[u]:
                    c_release(&c, u, &row[0], adjoints, start, count, work)
                    if alone:
                        c_fill(0.0, c.gain + u * PAIR)
                        if got[t, u] >= 0:
                            c_load(&spectra[got[t, u], start], count, c.gain + u * PAIR)
                        continue
                    c_claimed_column(&c, u, repeats[u], spectra, clear[t, u], got[t, u], lost[t, u], early[t], late[t],
                                     start, count, work)
                elif row[u] != clear[t, u]:
                    c_release(&c, u, &row[0], adjoints, start, count, work)
                    c_clear_column(&c, u, repeats[u], &spectra[clear[t, u], start], count, work)
                    row[u] = clear[t, u]
            # value of the term: rest_gain[0] = sum_j (prod_{s < j} E_s) G_j (prod_{s > j} L_s), times w and the tail
            c_suffixes(&c, size, &split[0], first, last, plain)
            c_sum(ends, c.rest_gain, weight[t], start, count, frequencies, even, &sums[t, 0], &sums[t, 1],
                  work)
            c_add_scaled(weight[t], c.rest_gain, ends + PAIR)
            # derivatives, from left to right: prefix = w tail prod_{s < u} E_s, and `gained`, the same with the
            # distinguished component among s < u. The adjoint of E_u is prefix rest_gain[u + 1], of G_u prefix
            # rest_late[u + 1], and of L_u gained rest_late[u + 1]
            c_fill(0.0, prefix)
            c_add_scaled(weight[t], ends, prefix)
            for u in range(size):
                if not split[u]:
                    if u <= last:
                        c_add_times(prefix, c.rest_gain + (u + 1) * PAIR, c.held + u * PAIR)
                    if u > first:
                        c_add_times(gained, c.rest_late + (u + 1) * PAIR, c.held + u * PAIR)
                        c_times(gained, c.early + u * PAIR, swap)
                        c_copy(swap, gained)
                elif alone:
                    c_times(prefix, c.rest_late + (u + 1) * PAIR, moved)
                    c_add_row(adjoints, got[t, u], start, count, moved)
                    c_times(prefix, c.gain + u * PAIR, gained)
                else:
                    c_times(prefix, c.rest_gain + (u + 1) * PAIR, before)
                    c_times(prefix, c.rest_late + (u + 1) * PAIR, moved)
                    c_times(prefix, c.gain + u * PAIR, swap)
                    c_fill(0.0, after)
                    if u > first:
                        c_add_times(gained, c.rest_late + (u + 1) * PAIR, after)
                        c_add_times(gained, c.late + u * PAIR, swap)
                    c_claimed_adjoint(&c, u, repeats[u], spectra, clear[t, u], got[t, u], lost[t, u], early[t], late[t],
                                      start, count, before, after, moved, adjoints, work)
                    c_copy(swap, gained)
                if u < last:
                    c_times(prefix, c.early + u * PAIR, swap)
                    c_copy(swap, prefix)
        for u in range(size):
            c_release(&c, u, &row[0], adjoints, start, count, work)
        c_add_row(tail_adjoint, 0, start, count, ends + PAIR)
        start += BLOCK


def sweep(spectra, tail, clear, got=None, lost=None, *, weight, repeats, length, early=None, late=None):
    """Compute the value of every term of the mixture, and the derivatives of the sum of all terms with respect to every
    spectrum.

    Parameters
    ----------
    spectra : complex128 (R, K), finite: transforms of real factors over `length` values, with K = length // 2 + 1.
    tail : complex128 (K,), finite: transform of the factor of the total.
    clear : int64 (T, U), rows of `spectra`; -1 (no factor) only if a component has a claim.
    got, lost : int64 (T, U), rows, or -1 if the component has no such claim; None for plain terms.
    weight : float64 (T,), finite.
    repeats : int64 (U,), >= 1, number of components that a column represents; a number above 1 requires early == late.
    length : number of values L of a transform.
    early, late : float64 (T,), e and l; None for plain terms.

    Returns
    -------
    sums : float64 (T, 2): every term summed over all L frequencies and divided by L, and the sum of absolute values,
        divided by L. The rounding error is about 1e-16 times the second sum.
    adjoints : complex128 (R, K), complex conjugate of the derivative of the sum of all terms with respect to every row,
        for one of the components of the row. The inverse real transform of a row at x is the number that multiplies the
        factor at x.
    tail_adjoint : complex128 (K,), complex conjugate of the derivative with respect to `tail`.

    Raises
    ------
    ValueError, TypeError
        If a shape, an index or a value is invalid.
    """
    values, end = _arrays.spectra("spectra", spectra, ndim=2), _arrays.spectra("tail", tail, ndim=1)
    size = _checks.integer("length", length, least=1, most=2**31)
    if values.shape[1] != size // 2 + 1 or end.shape[0] != values.shape[1]:
        raise ValueError(f"spectra and tail must have length // 2 + 1 = {size // 2 + 1} frequencies, got "
                         f"{values.shape[1]} and {end.shape[0]}")
    plain = got is None
    if plain != (lost is None) or plain != (early is None) or plain != (late is None):
        raise ValueError("got, lost, early and late must be given together, or all omitted for plain terms")
    rows = _arrays.integers("clear", clear, ndim=2, least=-1, most=len(values) - 1)
    gains, losses = rows, rows
    if plain:
        gains = losses = np.full_like(rows, -1)
    else:
        gains = _arrays.integers("got", got, ndim=2, shape=rows.shape, least=-1, most=len(values) - 1)
        losses = _arrays.integers("lost", lost, ndim=2, shape=rows.shape, least=-1, most=len(values) - 1)
    if np.any((rows < 0) & (gains < 0) & (losses < 0)):
        raise ValueError("clear must contain a row for every component without a claim")
    if not plain and rows.size and not np.all((gains >= 0).any(axis=1)):
        raise ValueError("got must contain a row for at least one component of every term")
    weights = _finite("weight", weight, rows.shape[0])
    firsts = np.zeros(rows.shape[0]) if plain else _finite("early", early, rows.shape[0])
    lasts = np.zeros(rows.shape[0]) if plain else _finite("late", late, rows.shape[0])
    copies = _arrays.integers("repeats", repeats, shape=rows.shape[1:], least=1, most=2**40)
    if np.any(copies > 1) and not np.array_equal(firsts, lasts):
        raise ValueError("early and late must be equal if repeats > 1, because the order of equal components is "
                         "unknown")
    return _swept(values, end, rows, gains, losses, firsts, lasts, weights, copies, plain, size)


def _finite(name, values, size):
    array = _arrays.floats(name, values, ndim=1, shape=(size,))
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array


def _swept(values, end, rows, gains, losses, firsts, lasts, weights, copies, plain, size):
    adjoints, tail_adjoint = np.zeros_like(values), np.zeros((1, len(end)), dtype=np.complex128)
    sums = np.zeros((rows.shape[0], 2))
    if not rows.shape[0]:
        return sums, adjoints, tail_adjoint[0]
    cdef const double complex[:, ::1] spectra_view = values
    cdef const double complex[::1] tail_view = end
    cdef const int64_t[:, ::1] clear_view = rows, got_view = gains, lost_view = losses
    cdef const double[::1] early_view = firsts, late_view = lasts, weight_view = weights
    cdef const int64_t[::1] repeats_view = copies
    cdef double complex[:, ::1] adjoints_view = adjoints, tail_adjoint_view = tail_adjoint
    cdef double[:, ::1] sums_view = sums
    cdef double[:, ::1] memory = np.zeros((1, (8 * (rows.shape[1] + 1) + 12) * PAIR))
    cdef int64_t[::1] row = np.zeros(rows.shape[1] + 1, dtype=np.int64)
    cdef int64_t[::1] split = np.zeros(rows.shape[1] + 1, dtype=np.int64)
    cdef bint is_plain = plain, even = size % 2 == 0
    with nogil:
        sweep_fill(spectra_view, tail_view, clear_view, got_view, lost_view, early_view, late_view, weight_view,
                   repeats_view, is_plain, even, adjoints_view, tail_adjoint_view, sums_view, memory, row, split)
    sums /= size
    return sums, adjoints, tail_adjoint[0]
