# cython: language_level=3
"""Sums of products of transforms, and their derivatives: what couples counts through their total.

Term t is w_t tail(k) sum_j (prod_{s < j} E_s) G_j (prod_{s > j} L_s) at frequency k, with
E = clear + e got + (1 - e) lost, L = clear + l got + (1 - l) lost, G = got: component j is distinguished, those before
and after it have their own factors. A plain term is w tail prod E. `clear`, `got` and `lost` are rows of a table of
spectra, so a factor that many terms share is transformed once, and its derivative (the adjoint) is collected over all
terms: one inverse transform a row gives the marginals of a mixture of thousands of products (reverse-mode
differentiation).

`repeats` components with the same factors (and e = l) are one column: E^m, and m G E^(m - 1) where one is
distinguished.
Frequencies do not interact: all terms run over a block of them that stays in the cache. O(terms U K) for U columns and
K frequencies, about three complex products each.
"""
import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t

from ._frequency_blocks cimport (BLOCK, PAIR, Columns, c_add_row, c_add_scaled, c_add_times, c_claimed_adjoint,
    c_claimed_column, c_clear_column, c_copy, c_fill, c_load, c_release, c_suffixes, c_times)

from ... import _arrays, _checks


cdef inline void c_sum(const double *tail, const double *root, double weight, Py_ssize_t start, int count,
                       Py_ssize_t frequencies, bint even, double *total, double *size) noexcept nogil:
    """Add the block's share of the real sum over all frequencies, and of the sum of absolute values."""
    cdef int k
    cdef double factor, re, im
    for k in range(count):
        factor = 1.0 if start + k == 0 or (even and start + k == frequencies - 1) else 2.0
        re = tail[k] * root[k] - tail[k + BLOCK] * root[k + BLOCK]
        im = tail[k] * root[k + BLOCK] + tail[k + BLOCK] * root[k]
        total[0] += weight * factor * re
        size[0] += weight * factor * sqrt(re * re + im * im)


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
    while start < frequencies:
        count = <int> (frequencies - start) if frequencies - start < BLOCK else BLOCK
        c_load(&tail[start], count, ends)
        c_fill(0.0, ends + PAIR)
        for u in range(size):
            row[u] = -1
        for t in range(terms):
            first, last = size, size - 1
            for u in range(size):
                split[u] = got[t, u] >= 0 or lost[t, u] >= 0
                if split[u]:
                    if first == size:
                        first = u
                    last = u
            alone = first == last and repeats[first if first < size else 0] == 1
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
            c_suffixes(&c, size, &split[0], first, last, plain)
            c_sum(ends, c.rest_gain, weight[t], start, count, frequencies, even, &sums[t, 0], &sums[t, 1])
            c_add_scaled(weight[t], c.rest_gain, ends + PAIR)
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
    """All terms, and the derivatives of their sum with respect to every spectrum.

    Parameters
    ----------
    spectra : complex128 (R, K), finite: transforms of real factors over `length` values, K = length // 2 + 1 of them.
    tail : complex128 (K,), finite: transform of the factor of the total.
    clear : int64 (T, U), rows of `spectra`; -1 (nothing) only where a component is claimed.
    got, lost : int64 (T, U), rows or -1 where the component has no such claim; None for plain terms.
    weight : float64 (T,), finite.
    repeats : int64 (U,), >= 1, components that a column stands for; above 1 needs early == late.
    length : number of values L of a transform.
    early, late : float64 (T,), e and l; None for plain terms.

    Returns
    -------
    sums : float64 (T, 2), every term summed over all L frequencies and divided by L, and the same of its absolute
        values: rounding is about 1e-16 times the second.
    adjoints : complex128 (R, K), conjugated derivative of the sum of all terms with respect to a row, for one of the
        components it serves: its inverse real transform at x is what multiplies the factor at x.
    tail_adjoint : complex128 (K,), the same for `tail`.

    Raises
    ------
    ValueError, TypeError
        If a shape, an index or a value breaks its rule.
    """
    values, end = _arrays.spectra("spectra", spectra, ndim=2), _arrays.spectra("tail", tail, ndim=1)
    size = _checks.whole("length", length, least=1, most=2**31)
    if values.shape[1] != size // 2 + 1 or end.shape[0] != values.shape[1]:
        raise ValueError(f"spectra and tail need length // 2 + 1 = {size // 2 + 1} frequencies, got {values.shape[1]} "
                         f"and {end.shape[0]}")
    plain = got is None
    if plain != (lost is None) or plain != (early is None) or plain != (late is None):
        raise ValueError("got, lost, early and late must be given together (plain terms have none of them)")
    rows = _arrays.integers("clear", clear, ndim=2, least=-1, most=len(values) - 1)
    gains, losses = rows, rows
    if plain:
        gains = losses = np.full_like(rows, -1)
    else:
        gains = _arrays.integers("got", got, ndim=2, shape=rows.shape, least=-1, most=len(values) - 1)
        losses = _arrays.integers("lost", lost, ndim=2, shape=rows.shape, least=-1, most=len(values) - 1)
    if np.any((rows < 0) & (gains < 0) & (losses < 0)):
        raise ValueError("clear must name a row wherever a component has no claim")
    if not plain and rows.size and not np.all((gains >= 0).any(axis=1)):
        raise ValueError("got must name a row for some component of every term")
    weights = _finite("weight", weight, rows.shape[0])
    firsts = np.zeros(rows.shape[0]) if plain else _finite("early", early, rows.shape[0])
    lasts = np.zeros(rows.shape[0]) if plain else _finite("late", late, rows.shape[0])
    copies = _arrays.integers("repeats", repeats, shape=rows.shape[1:], least=1, most=2**40)
    if np.any(copies > 1) and not np.array_equal(firsts, lasts):
        raise ValueError("repeats above 1 need early == late: the order of equal components is not known")
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
