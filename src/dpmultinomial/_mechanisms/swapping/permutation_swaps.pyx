# cython: language_level=3
"""Draws of permutation swaps of records, and the exact distribution of a swapped r x c table over all tables with its
margins.

A swap selects each record with probability `rate`, then deranges the selected records uniformly. This is the algorithm
of Bailie, Gong and Meng (2023) as printed in the slides of Pan, Li and Li (2023). Within a stratum of at least two
records, the selection is repeated while exactly one record is selected. If no record is selected, the stratum is
unchanged. The derangement is of records, so a record may receive an equal value. All draws are uniform numbers from the
stream of the Generator.

For the exact distribution, a swap is the signed mixture sum_N a_N Q_N of unconstrained shuffles of a uniformly random
N-subset (`exact_swapping`). With G the records of each cell that are outside the subset, N = n - sum of G, and A and B
the margins of X - G,

P(S | X) = sum_G a_N (n - N)!/n! prod_ij X!/(G! (X - G)! (S - G)!) prod_i A_i! prod_j B_j!.

The sum over G is computed column by column, with the row sums of G as the state: a column with original counts x and
counts g outside the subset contributes prod_i C(x_i, g_i) times the multinomial coefficient of s - g, and
a_N/(C(n, N) multinomial(A)) is the factor of the last column. The originals are listed column by column, depth first,
so that sums over common first columns are computed only once.
"""
import numpy as np

from libc.math cimport NAN, fabs, log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen
from .permutation_swaps cimport c_derange, c_select, c_swap_counts

from ... import _checks

MOST_RECORDS = 250  # binomial coefficients and their products are below 1e308
cdef enum:
    MOST_ROWS = 16


# Draws.

cdef void sources_fill(const int64_t[::1] order, const int64_t[::1] starts, double rate, int64_t[::1] chosen,
                       int64_t[::1] image, int64_t[::1] sources, bitgen_t *bits) noexcept nogil:
    cdef int64_t stratum, start, size, k, i
    for stratum in range(starts.shape[0] - 1):
        start = starts[stratum]
        size = starts[stratum + 1] - start
        if size < 2:
            continue
        # select, derange, and pass the values on within the stratum
        k = c_select(bits, size, rate, &chosen[0])
        c_derange(bits, k, &image[0])
        for i in range(k):
            sources[order[start + chosen[i]]] = order[start + chosen[image[i]]]


def sources(strata, *, rate, rng):
    """Draw one swap: for each record, the index of the record from which it takes its swapped values.

    Parameters
    ----------
    strata : integers (n,)
        Stratum of each record, 0..J-1, J at most n.
    rate : float
        Swap rate, in (0, 1).
    rng : Generator
        Strata are drawn in increasing order, first the uniforms of the selection, then those of the derangement.

    Returns
    -------
    int64 (n,)
        A permutation of 0..n-1 that maps every stratum to itself.

    Raises
    ------
    ValueError, TypeError
        If `strata` is not one-dimensional or has an entry that is not an integer in [0, n), or the rate is not in

    Notes
    -----
    The cost is O(n): 1,000,000 records in about 0.1 s.
    """
    codes = _checks.counts("strata", strata, least_size=0)
    _checks.generator(rng)
    cdef double p = _checks.inside("rate", rate)
    out = np.arange(len(codes))
    if len(codes) and codes.max() >= len(codes):
        raise ValueError(f"strata must be numbers from 0 to at most {len(codes) - 1}, got {codes.max()}")
    if len(codes) < 2:
        return out
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
    """Draw independent uniform derangements.

    Parameters
    ----------
    k : int
        Length of a derangement, not 1.
    size : int
        Number of derangements.
    rng : Generator
        About (e - 1) k uniforms per derangement.

    Returns
    -------
    int64 (size, k)
        Each row is a permutation of 0..k-1 without fixed points.

    Raises
    ------
    ValueError, TypeError
        If k is 1, or k or size is not an integer >= 0.
    """
    if _checks.integer("k", k, most=1 << 31) == 1:
        raise ValueError("k must not be 1, because a single element has no derangement")
    out = np.empty((_checks.integer("size", size, most=1 << 40), k), dtype=np.int64)
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
    """Draw independent swaps of the records of one table, which is a single stratum in which the row variable is
    swapped.

    Parameters
    ----------
    table : integers >= 0, (rows, columns)
        At least 2 x 2, total 2 to 2^31.
    size : int
        Number of swaps.
    rate : float
        Swap rate, in (0, 1).
    rng : Generator
        Each swap uses the same draws as `sources`.

    Returns
    -------
    int64 (size, rows, columns)
        All swapped tables have the margins of `table`.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.

    Notes
    -----
    About 2 n + 5 (rate n) ns per swap.
    """
    start = _checks.table("table", table)
    cdef double p = _checks.inside("rate", rate)
    cdef int64_t n = _checks.integer("total of table", int(start.sum()), least=2, most=1 << 31)
    cdef int64_t rows = start.shape[0], columns = start.shape[1], cells = start.size
    cdef int64_t j, i
    record = np.repeat(np.arange(cells), start.ravel())
    out = np.repeat(start.reshape(1, -1), _checks.integer("size", size, most=1 << 40), axis=0)
    cdef const int64_t[::1] row = record // columns, column = record % columns
    cdef int64_t[:, ::1] view = out
    cdef int64_t[::1] chosen = np.empty(n + 1, dtype=np.int64), image = np.empty(n + 1, dtype=np.int64)
    cdef bitgen_t *bits = c_bitgen(_checks.generator(rng))
    with rng.bit_generator.lock, nogil:
        for j in range(view.shape[0]):
            c_swap_counts(bits, &row[0], &column[0], n, rows, columns, p, &chosen[0], &image[0], &view[j, 0])
    return out.reshape(-1, *start.shape)


cdef void each_fill(int64_t[:, ::1] counts, int64_t columns, double rate, int64_t[:, ::1] work,
                    bitgen_t *bits) noexcept nogil:
    """Swap every row of `counts` once; `work` has four rows of one entry more than the largest total."""
    cdef int64_t j, cell, n, cells = counts.shape[1], t
    for j in range(counts.shape[0]):
        # the row and the column of each record, one record per unit of the table
        n = 0
        for cell in range(cells):
            for t in range(counts[j, cell]):
                work[0, n], work[1, n] = cell // columns, cell % columns
                n += 1
        c_swap_counts(bits, &work[0, 0], &work[1, 0], n, cells // columns, columns, rate, &work[2, 0], &work[3, 0],
                      &counts[j, 0])


def each(tables, *, rate, rng):
    """Draw one swap of the records of each of several tables.

    Parameters
    ----------
    tables : int64 (m, rows, columns), >= 0
        At least 2 x 2 each, total 2 to 2^31.
    rate : float
        Swap rate, in (0, 1).
    rng : Generator
        The tables are swapped in order, each with the same draws as a swap of `tables`.

    Returns
    -------
    int64 (m, rows, columns)

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.

    Notes
    -----
    The cost is that of `tables`, without the overhead per call.
    """
    before = _checks.shaped_counts("tables", tables, None, None, None)
    cdef double p = _checks.inside("rate", rate)
    if min(before.shape[1:]) < 2:
        raise ValueError(f"tables must have at least two rows and two columns each, got shape {before.shape}")
    out = before.reshape(len(before), before.shape[1] * before.shape[2]).copy()
    totals = out.sum(axis=1)
    for total in (totals.min(initial=2), totals.max(initial=2)):
        _checks.integer("total of a table", int(total), least=2, most=1 << 31)
    cdef int64_t columns = before.shape[2]
    cdef int64_t[:, ::1] view = out, work = np.empty((4, totals.max(initial=2) + 1), dtype=np.int64)
    cdef bitgen_t *bits = c_bitgen(_checks.generator(rng))
    with rng.bit_generator.lock, nogil:
        each_fill(view, columns, p, work, bits)
    return out.reshape(before.shape)


# Exact distribution of a swapped table, by shuffles of subsets.

cdef struct Sums:
    int64_t rows
    int64_t columns
    int64_t box
    int64_t width  # width of Pascal's triangle
    int64_t listed
    int64_t most
    const int64_t *seen  # (columns, rows), the swapped table
    const int64_t *totals  # column totals
    const int64_t *stride
    const double *choose
    const double *closing
    int64_t *original  # (columns, rows)
    double *states  # (columns, box)
    int64_t *offsets  # offsets of the transitions of a column, one slice per column; `weights` has their weights
    double *weights
    int64_t most_transitions
    int64_t *tables  # NULL: count the tables without listing them
    double *log_p
    double *loss


cdef int64_t c_transitions(Sums *sums, int64_t column) noexcept nogil:
    """List all possible g of a column, with the offset of the state and the weight; return the number of them."""
    cdef const int64_t *seen = sums.seen + column * sums.rows
    cdef const int64_t *original = sums.original + column * sums.rows
    cdef int64_t *offsets = sums.offsets + column * sums.most_transitions
    cdef double *weights = sums.weights + column * sums.most_transitions
    cdef int64_t stay[MOST_ROWS]
    cdef int64_t i, rest, count = 0
    for i in range(sums.rows):
        stay[i] = 0
    while True:
        # prod_i C(x_i, g_i) times the multinomial coefficient of s - g, as a product of binomial coefficients
        weights[count] = 1.0
        offsets[count] = rest = 0
        for i in range(sums.rows):
            rest += seen[i] - stay[i]
            weights[count] *= (sums.choose[original[i] * sums.width + stay[i]]
                               * sums.choose[rest * sums.width + seen[i] - stay[i]])
            offsets[count] += stay[i] * sums.stride[i]
        count += 1
        # the next g, 0 <= g_i <= min(x_i, s_i)
        i = sums.rows - 1
        while i >= 0 and stay[i] == min(original[i], seen[i]):
            stay[i] = 0
            i -= 1
        if i < 0:
            return count
        stay[i] += 1


cdef inline bint c_next_state(const int64_t *limit, int64_t *state, int64_t *place, const Sums *sums) noexcept nogil:
    cdef int64_t i = sums.rows - 1
    while i >= 0 and state[i] == limit[i]:
        place[0] -= state[i] * sums.stride[i]
        state[i] = 0
        i -= 1
    if i < 0:
        return False
    state[i] += 1
    place[0] += sums.stride[i]
    return True


cdef void c_apply(Sums *sums, int64_t column, const int64_t *limit) noexcept nogil:
    """Compute the states after `column` from the states before it, which are within `limit`."""
    cdef double *before = sums.states + column * sums.box
    cdef double *after = before + sums.box
    cdef int64_t *offsets = sums.offsets + column * sums.most_transitions
    cdef double *weights = sums.weights + column * sums.most_transitions
    cdef int64_t state[MOST_ROWS]
    cdef int64_t i, place = 0, t, count = c_transitions(sums, column)
    for i in range(sums.box):
        after[i] = 0.0
    for i in range(sums.rows):
        state[i] = 0
    while True:
        # the new row sums of G are the row sums before the column plus g
        if before[place] != 0.0:
            for t in range(count):
                after[place + offsets[t]] += weights[t] * before[place]
        if not c_next_state(limit, state, &place, sums):
            return


cdef void c_close(Sums *sums, const int64_t *limit) noexcept nogil:
    """Sum over the last column: P(S | X), and the sum of the absolute terms divided by it."""
    cdef int64_t column = sums.columns - 1, place = 0, i, t, count
    cdef double *before = sums.states + column * sums.box
    cdef int64_t *offsets = sums.offsets + column * sums.most_transitions
    cdef double *weights = sums.weights + column * sums.most_transitions
    cdef double total = 0.0, size = 0.0, part
    cdef int64_t state[MOST_ROWS]
    count = c_transitions(sums, column)
    for i in range(sums.rows):
        state[i] = 0
    while True:
        # multiply by a_N/(C(n, N) multinomial(A)), where the row sums of G determine N and A
        if before[place] != 0.0:
            for t in range(count):
                part = before[place] * weights[t] * sums.closing[place + offsets[t]]
                total += part
                size += fabs(part)
        if not c_next_state(limit, state, &place, sums):
            break
    sums.log_p[sums.listed] = log(total) if total > 0.0 else NAN
    sums.loss[sums.listed] = size / total if total > 0.0 else NAN


cdef void c_leaf(Sums *sums, const int64_t *limit) noexcept nogil:
    cdef int64_t i, cells = sums.rows * sums.columns
    if sums.tables != NULL:
        for i in range(cells):
            sums.tables[sums.listed * cells + i] = sums.original[i]
        c_close(sums, limit)
    sums.listed += 1


cdef void c_column(Sums *sums, int64_t column, const int64_t *room, const int64_t *limit) noexcept nogil:
    """List all originals of `column` and of the later columns that fit into `room`, the remaining row totals."""
    cdef int64_t *original = sums.original + column * sums.rows
    cdef const int64_t *seen = sums.seen + column * sums.rows
    cdef int64_t left[MOST_ROWS]
    cdef int64_t bound[MOST_ROWS]
    cdef int64_t i, carried, later
    if column == sums.columns - 1:
        for i in range(sums.rows):
            original[i] = room[i]
        c_leaf(sums, limit)
        return
    carried = sums.totals[column]
    for i in range(sums.rows - 1, -1, -1):  # the first original, in which the last rows get as much as possible
        original[i] = min(carried, room[i])
        carried -= original[i]
    while sums.listed <= sums.most:
        for i in range(sums.rows):
            left[i] = room[i] - original[i]
            bound[i] = limit[i] + min(original[i], seen[i])
        # sum over G of this column, then list all originals of the later columns
        if sums.tables != NULL:
            c_apply(sums, column, limit)
        c_column(sums, column + 1, left, bound)
        # the next original in increasing order: one more in the last row that can take it from the rows after
        carried, i = 0, sums.rows - 1
        while i >= 0 and (carried == 0 or original[i] == room[i]):
            carried += original[i]
            i -= 1
        if i < 0:
            return
        original[i] += 1
        carried -= 1
        for later in range(sums.rows - 1, i, -1):
            original[later] = min(carried, room[later])
            carried -= original[later]


def _closing(table, coefficients):
    """Return a_N/(C(n, N) multinomial(A)) for every row sum of G, in the order of the states."""
    from scipy.special import gammaln

    rows, n = table.sum(axis=1), int(table.sum())
    stay = np.indices(rows + 1).reshape(len(rows), -1)
    size = n - stay.sum(axis=0)
    logs = gammaln(rows[:, None] - stay + 1.0).sum(axis=0) - gammaln(n + 1.0) + gammaln(n - size + 1.0)
    return np.ascontiguousarray(coefficients[size] * np.exp(logs))


def _cost(table):
    """Return the numbers of transitions per column, of states of a table, and of steps per original table (states x
    transitions).
    """
    transitions = np.prod(table + 1.0, axis=0)
    box = int(np.prod(table.sum(axis=1) + 1, dtype=object))
    return transitions, box, box * 2.0 * transitions.max()


def _number(table, int64_t most):
    """Return the number of tables with the margins of `table`; counting stops above `most`."""
    cdef int64_t rows = table.shape[0], columns = table.shape[1]
    cdef const int64_t[::1] totals = table.sum(axis=0), room = table.sum(axis=1)
    cdef const int64_t[::1] nothing = np.zeros(rows, dtype=np.int64)
    cdef const int64_t[:, ::1] seen = np.ascontiguousarray(table.T)
    cdef int64_t[:, ::1] original = np.zeros((columns, rows), dtype=np.int64)
    cdef Sums sums
    sums.rows, sums.columns, sums.listed, sums.most, sums.tables = rows, columns, 0, most, NULL
    sums.seen, sums.totals, sums.original = &seen[0, 0], &totals[0], &original[0, 0]
    with nogil:
        c_column(&sums, 0, &room[0], &nothing[0])
    return sums.listed


def refusal(table, *, most_tables, most_work):
    """Return the reason why there are too many tables with the margins of a table to list them, or an empty string if
    they can be listed.

    Parameters
    ----------
    table : int64 (rows, columns)
        A checked table of 2 to 250 records.
    most_tables, most_work : the same as in `originals`.

    Returns
    -------
    str
    """
    if len(table) > MOST_ROWS:
        return f"rows of swapped must be in [0, {MOST_ROWS}], got {len(table)}"
    _, _, cost = _cost(table)
    if cost > most_work:
        return f"swapped needs {cost:.2g} steps a table, over {most_work:.2g} for the class"
    most = min(most_tables, int(most_work / cost))
    if _number(table, most) > most:
        return (f"swapped has over {most} originals of {cost:.2g} steps each, more than "
                f"most_tables = {most_tables} and most_work = {most_work:.2g} allow")
    return ""


def originals(swapped, coefficients, *, most_tables, most_work):
    """List every table with the margins of `swapped`, and log P(swapped | table).

    Parameters
    ----------
    swapped : int64 (rows, columns)
        At least 2 x 2, at most 16 rows, 2 to 250 records; it is faster if rows are the shorter side.
    coefficients : float64 (n + 1,)
        a_0..a_n of the swap, each with full relative accuracy.
    most_tables : int Largest number of originals; if there are more, the table is rejected.
    most_work : float Largest product of originals, states and transitions of two columns; a larger product is rejected.
        A product of 1e9 takes about a second.

    Returns
    -------
    tables : int64 (m, rows, columns)
        The tables, in increasing order of their columns, the first column first.
    log_p : float64 (m,)
        The log probability of `swapped` given each table.
    loss : float64 (m,)
        The sum of the absolute terms divided by the sum: the rounding error is about 1e-15 times this.

    Raises
    ------
    ValueError, TypeError
        If shapes or numbers are out of range, or the class is too large; the message states its size.
    """
    table = _checks.table("swapped", swapped)
    cdef int64_t rows = table.shape[0], columns = table.shape[1], n = _checks.integer(
        "total of swapped", int(table.sum()), least=2, most=MOST_RECORDS)
    shares = _checks.reals("coefficients", coefficients)
    if shares.shape != (n + 1,):
        raise ValueError(f"coefficients must have shape ({n + 1},), got shape {shares.shape}")
    most = _checks.integer("most_tables", most_tables, least=1, most=1 << 40)
    if why := refusal(table, most_tables=most, most_work=most_work):
        raise ValueError(why)
    sizes = [int(s) + 1 for s in table.sum(axis=1)]
    transitions, box, cost = _cost(table)
    order = np.argsort(-transitions, kind="stable")  # the last columns are summed most often
    cdef int64_t widest = int(transitions.max())
    cdef const int64_t[:, ::1] seen = np.ascontiguousarray(table.T[order])
    cdef const int64_t[::1] totals = np.asarray(seen).sum(axis=1), room = table.sum(axis=1)
    cdef const int64_t[::1] stride = np.array([int(np.prod(sizes[i + 1:])) for i in range(rows)], dtype=np.int64)
    cdef int64_t[:, ::1] original = np.zeros((columns, rows), dtype=np.int64)
    cdef Sums sums
    sums.rows, sums.columns, sums.box, sums.width, sums.listed = rows, columns, box, n + 1, 0
    sums.most = min(most, int(most_work / cost))
    sums.seen, sums.totals, sums.stride, sums.original = &seen[0, 0], &totals[0], &stride[0], &original[0, 0]
    sums.tables = NULL
    cdef const int64_t[::1] nothing = np.zeros(rows, dtype=np.int64)
    with nogil:
        c_column(&sums, 0, &room[0], &nothing[0])
    pascal = np.zeros((n + 1, n + 1))
    pascal[:, 0] = 1.0
    for k in range(1, n + 1):
        pascal[k, 1:] = pascal[k - 1, 1:] + pascal[k - 1, :-1]
    cdef const double[:, ::1] choose = pascal
    cdef const double[::1] closing = _closing(table, shares)
    cdef double[:, ::1] states = np.zeros((columns, box)), weights = np.empty((columns, widest))
    cdef int64_t[:, ::1] offsets = np.empty((columns, widest), dtype=np.int64)
    n_originals = sums.listed
    tables = np.empty((n_originals, columns, rows), dtype=np.int64)
    log_p, loss = np.empty(n_originals), np.empty(n_originals)
    cdef int64_t[:, :, ::1] tables_view = tables
    cdef double[::1] log_view = log_p, loss_view = loss
    states[0, 0] = 1.0
    sums.choose, sums.closing, sums.states = &choose[0, 0], &closing[0], &states[0, 0]
    sums.offsets, sums.weights, sums.most_transitions = &offsets[0, 0], &weights[0, 0], widest
    sums.tables, sums.log_p, sums.loss, sums.listed = &tables_view[0, 0, 0], &log_view[0], &loss_view[0], 0
    with nogil:
        c_column(&sums, 0, &room[0], &nothing[0])
    out = np.empty_like(tables)
    out[:, order] = tables
    return np.ascontiguousarray(out.transpose(0, 2, 1)), log_p, loss
