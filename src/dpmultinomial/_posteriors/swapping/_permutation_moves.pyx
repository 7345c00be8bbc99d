# cython: language_level=3
"""A chain over the permutation that made a swapped table, whose moves are aimed at the moved records.

`unswapping.permutation_chain` exchanges the images of two random records and must hit one given two-cycle with
probability 2/n^2. Here the moved records are kept in a list of their own, so that joining and leaving it are proposed
at rates that do not fall with n.
"""
import numpy as np

from libc.math cimport exp
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ..._mechanisms.swapping.swap_draws cimport c_below

from ... import _checks


cdef struct Moves:  # a permutation, its moved records first in `order`
    int64_t n
    int64_t moved
    int64_t columns
    const int64_t *row
    const int64_t *column
    const double *log_weights
    const double *alpha
    int64_t *sigma
    int64_t *order
    int64_t *place
    int64_t *counts


cdef inline void c_mark(Moves *at, int64_t i) noexcept nogil:
    """Put record i on the side of `order` where its image says it belongs."""
    cdef bint moved = at.sigma[i] != i
    cdef int64_t target, other
    if moved == (at.place[i] < at.moved):
        return
    target = at.moved if moved else at.moved - 1
    other = at.order[target]
    at.order[at.place[i]] = other
    at.place[other] = at.place[i]
    at.order[target] = i
    at.place[i] = target
    at.moved += 1 if moved else -1


cdef inline bint c_exchange(Moves *at, int64_t i, int64_t j, double proposal, bint same_size, double u) noexcept nogil:
    """Exchange the images of i and j with the Metropolis probability; `proposal` is the ratio of proposals, back over
    forth."""
    cdef int64_t a, b, c, d, image
    cdef int64_t to_i = at.sigma[i], to_j = at.sigma[j]
    cdef int64_t k = at.moved - (to_i != i) - (to_j != j) + (to_j != i) + (to_i != j)
    cdef double ratio
    if same_size and k != at.moved:
        return False
    a, b = at.row[to_i] * at.columns + at.column[i], at.row[to_j] * at.columns + at.column[j]
    c, d = at.row[to_j] * at.columns + at.column[i], at.row[to_i] * at.columns + at.column[j]
    ratio = proposal * exp(at.log_weights[k] - at.log_weights[at.moved])
    if at.row[to_i] != at.row[to_j] and at.column[i] != at.column[j]:
        ratio *= (at.alpha[c] + at.counts[c]) * (at.alpha[d] + at.counts[d])
        ratio /= (at.alpha[a] + at.counts[a] - 1.0) * (at.alpha[b] + at.counts[b] - 1.0)
    if not u < ratio:
        return False
    at.sigma[i], at.sigma[j] = to_j, to_i
    at.counts[a] -= 1
    at.counts[b] -= 1
    at.counts[c] += 1
    at.counts[d] += 1
    c_mark(at, i)
    c_mark(at, j)
    return True


cdef void c_move(Moves *at, bitgen_t *bits) noexcept nogil:
    """One proposal. With k moved and f fixed records: release (.3) makes the image of a moved record fixed, insert
    (.15) joins a fixed record to a cycle, pair (.15) makes a two-cycle, moved (.3) exchanges two moved images and
    keeps k, any (.1) exchanges two images.

    Release chooses one of k; insert, which undoes it where k falls by one, one of f k; pair, where it falls by two,
    one of f (f - 1)/2, either of whose records release may choose. Hence the ratios below.
    """
    cdef double kind = c_uniform(bits), proposal = 1.0
    cdef int64_t k = at.moved, fixed = at.n - at.moved, i, j
    if kind < 0.3:
        if k == 0:
            return
        j = at.order[c_below(bits, k)]
        i = at.sigma[j]
        if at.sigma[i] == j:
            proposal = 0.5 * k / ((fixed + 2.0) * (fixed + 1.0))
        else:
            proposal = 0.5 * k / ((fixed + 1.0) * (k - 1.0))
    elif kind < 0.45:
        if k == 0 or fixed == 0:
            return
        i = at.order[k + c_below(bits, fixed)]
        j = at.order[c_below(bits, k)]
        proposal = 2.0 * fixed * k / (k + 1.0)
    elif kind < 0.6:
        if fixed < 2:
            return
        i = c_below(bits, fixed)
        j = c_below(bits, fixed - 1)
        j += j >= i
        i, j = at.order[k + i], at.order[k + j]
        proposal = 2.0 * fixed * (fixed - 1.0) / (k + 2.0)
    elif kind < 0.9:
        if k < 3:
            return
        i = c_below(bits, k)
        j = c_below(bits, k - 1)
        j += j >= i
        i, j = at.order[i], at.order[j]
    else:
        i = c_below(bits, at.n)
        j = c_below(bits, at.n - 1)
        j += j >= i
    c_exchange(at, i, j, proposal, 0.6 <= kind < 0.9, c_uniform(bits))


cdef void moved_fill(Moves *at, int64_t thin, int64_t[:, ::1] originals, int64_t[::1] moved,
                     bitgen_t *bits) noexcept nogil:
    cdef int64_t draw, step, cell
    for draw in range(originals.shape[0]):
        for step in range(thin):
            c_move(at, bits)
        for cell in range(originals.shape[1]):
            originals[draw, cell] = at.counts[cell]
        moved[draw] = at.moved


def moved_chain(swapped, sigma, log_weights, alpha, *, draws, thin, rng):
    """Metropolis chain over the permutation that made a swapped table, with moves aimed at the moved records.

    The law is w_k prod_c Gamma(alpha_c + X_c): k moved records, X the table of (swapped-back row, column). Proposals
    that pick a moved record directly make and undo exchanges at rates that do not fall with n.

    Parameters
    ----------
    swapped : int64 (rows, columns)
        One stratum, at least two records.
    sigma : int64 (n,)
        A permutation, records in the order of the cells of `swapped`; where the chain starts, and where it ended on
        return.
    log_weights : float64 (n + 1,)
        log probability of one permutation with k moved records; entry 1 is not used.
    alpha : float64 (rows * columns,)
        Dirichlet prior, > 0.
    draws, thin : int
        States kept, and proposals between them (at least one).
    rng : Generator
        Two to four uniforms a proposal, one where it has nothing to choose from.

    Returns
    -------
    originals : int64 (draws, rows * columns).
    moved : int64 (draws,), the numbers of moved records.

    Raises
    ------
    ValueError, TypeError
        If a shape, a value or the permutation is wrong.

    Notes
    -----
    About 0.1 microseconds a proposal; relaxation takes of the order of n k proposals.
    """
    table = _checks.table("swapped", swapped)
    cdef int64_t n = _checks.whole("total of swapped", int(table.sum()), least=2), columns = table.shape[1]
    if not (isinstance(sigma, np.ndarray) and sigma.dtype == np.int64 and sigma.shape == (n,)
            and sigma.flags.c_contiguous and sigma.flags.writeable and np.array_equal(np.sort(sigma), np.arange(n))):
        raise ValueError(f"sigma must be a contiguous writeable int64 permutation of 0..{n - 1}")
    logs = np.ascontiguousarray(log_weights, dtype=np.float64)
    if logs.shape != (n + 1,) or not np.isfinite(np.delete(logs, 1)).all():
        raise ValueError(f"log_weights must have shape ({n + 1},) and be finite but at 1, got shape {logs.shape}")
    cdef const double[::1] weights = np.where(np.arange(n + 1) == 1, -np.inf, logs)
    cdef const double[::1] prior = _checks.positives("alpha", alpha, table.size)
    record = np.repeat(np.arange(table.size), table.ravel())
    cdef const int64_t[::1] row = record // columns, column = record % columns
    cdef int64_t[::1] image = sigma
    unmoved = sigma == np.arange(n)
    order = np.argsort(unmoved, kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    counts = np.bincount(np.asarray(row)[sigma] * columns + np.asarray(column), minlength=table.size).astype(np.int64)
    out = np.empty((_checks.whole("draws", draws), table.size), dtype=np.int64)
    moved = np.empty(len(out), dtype=np.int64)
    cdef int64_t[::1] order_view = order, place_view = place, counts_view = counts, moved_view = moved
    cdef int64_t[:, ::1] view = out
    cdef int64_t every = _checks.whole("thin", thin, least=1)
    cdef Moves at
    at.n, at.moved, at.columns = n, n - int(unmoved.sum()), columns
    at.row, at.column, at.log_weights, at.alpha = &row[0], &column[0], &weights[0], &prior[0]
    at.sigma, at.order, at.place, at.counts = &image[0], &order_view[0], &place_view[0], &counts_view[0]
    cdef bitgen_t *bits = c_bitgen(_checks.generator(rng))
    with rng.bit_generator.lock, nogil:
        moved_fill(&at, every, view, moved_view, bits)
    return out, moved
