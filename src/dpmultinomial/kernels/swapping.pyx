# cython: language_level=3
"""Permutation swapping at record level: select each record with probability `rate`, derange the selected uniformly.

The algorithm of Bailie, Gong and Meng (2023) as the slides of Pan, Li and Li (2023) print it: within a stratum of at least two
records the selection is repeated while exactly one record is selected; none selected leaves the stratum as it is. It is a
derangement of records: equal values may be exchanged. All draws are uniforms from the Generator's own stream.
"""
import numpy as np

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from .bitgen cimport c_bitgen
from .swapping cimport c_derange, c_select, c_swap_counts

from .. import _checks


cdef void sources_fill(const int64_t[::1] order, const int64_t[::1] starts, double rate, int64_t[::1] chosen,
                       int64_t[::1] image, int64_t[::1] sources, bitgen_t *bits) noexcept nogil:
    cdef int64_t stratum, start, size, k, i
    for stratum in range(starts.shape[0] - 1):
        start = starts[stratum]
        size = starts[stratum + 1] - start
        if size < 2:
            continue
        k = c_select(bits, size, rate, &chosen[0])
        c_derange(bits, k, &image[0])
        for i in range(k):
            sources[order[start + chosen[i]]] = order[start + chosen[image[i]]]


def sources(strata, *, rate, rng):
    """Which record each record takes its swapped values from, after one run of the permutation algorithm.

    Parameters
    ----------
    strata : int64 (n,), stratum of each record, 0..J-1.
    rate : swap rate, in (0, 1).
    rng : numpy Generator; strata in rising order, the selection's uniforms first, then the derangement's.

    Returns
    -------
    int64 (n,), a permutation of 0..n-1 that keeps every stratum. O(n): 1,000,000 records in about 0.1 s.
    """
    codes = np.asarray(strata, dtype=np.int64)
    _checks.generator(rng)
    out = np.arange(len(codes))
    if len(codes) < 2:
        return out
    cdef double p = _checks.inside("rate", rate)
    sizes = np.bincount(codes)
    cdef const int64_t[::1] order = np.argsort(codes, kind="stable")
    cdef const int64_t[::1] starts = np.concatenate([[0], np.cumsum(sizes)])
    cdef int64_t largest = sizes.max()
    cdef int64_t[::1] chosen = np.empty(largest + 1, dtype=np.int64), image = np.empty(largest + 1, dtype=np.int64)
    cdef int64_t[::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        sources_fill(order, starts, p, chosen, image, view, bits)
    return out


def derangements(k, size, *, rng):
    """Independent uniform derangements of 0..k-1, int64 (size, k); k != 1. About (e - 1) k uniforms each."""
    if _checks.whole("k", k) == 1:
        raise ValueError("k must not be 1: one element has no derangement")
    out = np.empty((_checks.whole("size", size), k), dtype=np.int64)
    cdef int64_t[:, ::1] view = out
    cdef int64_t j, length = k
    _checks.generator(rng)
    if out.size == 0:
        return out
    cdef bitgen_t *bits = c_bitgen(rng)
    with rng.bit_generator.lock, nogil:
        for j in range(view.shape[0]):
            c_derange(bits, length, &view[j, 0])
    return out


def tables(table, size, *, rate, rng):
    """Independent swaps of the records behind one table (a single stratum; the row variable is swapped).

    Parameters
    ----------
    table : whole numbers >= 0, (rows, columns), total >= 2.
    size : number of swaps.
    rate : swap rate, in (0, 1).
    rng : numpy Generator; each swap draws as `sources` does.

    Returns
    -------
    int64 (size, rows, columns), all with the margins of `table`. About 2 n + 5 (rate n) ns a swap.
    """
    start = _checks.table("table", table)
    cdef double p = _checks.inside("rate", rate)
    cdef int64_t n = _checks.whole("total of table", int(start.sum()), least=2), columns = start.shape[1], cells = start.size
    cdef int64_t j, i
    record = np.repeat(np.arange(cells), start.ravel())
    out = np.repeat(start.reshape(1, -1), _checks.whole("size", size), axis=0)
    cdef const int64_t[::1] row = record // columns, column = record % columns
    cdef int64_t[:, ::1] view = out
    cdef int64_t[::1] chosen = np.empty(n + 1, dtype=np.int64), image = np.empty(n + 1, dtype=np.int64)
    cdef bitgen_t *bits = c_bitgen(_checks.generator(rng))
    with rng.bit_generator.lock, nogil:
        for j in range(view.shape[0]):
            c_swap_counts(bits, &row[0], &column[0], n, columns, p, &chosen[0], &image[0], &view[j, 0])
    return out.reshape(-1, *start.shape)
