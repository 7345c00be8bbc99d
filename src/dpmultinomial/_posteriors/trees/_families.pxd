# cython: language_level=3, cdivision=True, wraparound=False
"""One family: the messages of its children, added up two by two, and what the rest of the tree says, taken back down.

A message is a window of weights under the family's tilt, scaled to sum 1. Beside it stand bounds of what its subtree
has neglected, `error`, and of what it holds, `mass`, both under the tilt less and plus the slack, relative to the sum;
and of both at any one count under the tilt itself, `spill` and `peak`.
"""
from libc.math cimport INFINITY, exp, expm1, log, log1p
from libc.stdint cimport int64_t
from libc.stdlib cimport realloc

from ._convolution cimport c_convolve, c_cut, c_room, c_sum

cdef extern from *:
    const double TERMS "5e10"  # of one sum: more take minutes
    const double ROUNDED "1e-10"  # of a sum, more than its rounding

cdef struct Piece:
    int64_t at, low, size  # place in the store, first count, length
    int64_t left, right  # pieces it is the sum of; -1: a child
    int64_t least, most  # sums of the children's first and last counts
    double centre, variance, log_scale  # centre: the mean; of a sum, of its parts before cuts
    double error[2]
    double mass[2]
    double spill, peak

cdef struct Store:
    double *data
    int64_t used, room


cdef inline int64_t c_take(Store *store, int64_t size) noexcept nogil:
    """Place of `size` new numbers; -1 where there is no memory. Pointers into the store are void afterwards."""
    cdef int64_t room = store.room, at = store.used
    cdef double *data
    if at + size > room:
        room = max(2 * room, at + size, <int64_t> 4096)
        data = <double *> realloc(store.data, room * sizeof(double))
        if data == NULL:
            return -1
        store.data, store.room = data, room
    store.used += size
    return at


cdef inline double c_mean(const double *sides) noexcept nogil:
    """Bound under the tilt itself, from those to either side of it: cosh >= 1."""
    return 0.5 * (sides[0] + sides[1])


cdef inline double c_highest(const double *values, int64_t size) noexcept nogil:
    cdef double m0 = 0.0, m1 = 0.0, m2 = 0.0, m3 = 0.0
    cdef int64_t k = 0
    while k + 3 < size:
        m0, m1 = max(m0, values[k]), max(m1, values[k + 1])
        m2, m3 = max(m2, values[k + 2]), max(m3, values[k + 3])
        k += 4
    while k < size:
        m0 = max(m0, values[k])
        k += 1
    return max(max(m0, m1), max(m2, m3))


cdef inline int64_t c_cut_tilted(const double *values, Piece *piece, double drop, double slack,
                                 int64_t *begin) noexcept nogil:
    """As `c_cut`, the low end under the tilt less the slack, the high end under the tilt plus the slack."""
    cdef int64_t i = 0, j = piece.size, k
    cdef double down = 0.0, up = 0.0, dropped
    for k in range(piece.size):
        down += values[k] * exp(-slack * (piece.low + k - piece.centre))
        up += values[k] * exp(slack * (piece.low + k - piece.centre))
    dropped = values[0] * exp(-slack * (piece.low - piece.centre))
    while i < piece.size - 1 and dropped <= drop * down:
        i += 1
        dropped += values[i] * exp(-slack * (piece.low + i - piece.centre))
    dropped = values[j - 1] * exp(slack * (piece.low + j - 1 - piece.centre))
    while j > i + 1 and dropped <= drop * up:
        j -= 1
        dropped += values[j - 1] * exp(slack * (piece.low + j - 1 - piece.centre))
    begin[0] = i
    return j - i


cdef inline void c_drop(const double *values, Piece *piece, int64_t first, int64_t last, double slack, double *most,
                        double *dropped) noexcept nogil:
    """Count what is dropped from `first` to before `last`: the largest, and the sums to either side of the tilt."""
    cdef int64_t k, side
    for k in range(first, last):
        most[0] = max(most[0], values[k])
        for side in range(2):
            dropped[side] += values[k] * (exp((2 * side - 1) * slack * (piece.low + k - piece.centre))
                                          if slack > 0.0 else 1.0)


cdef inline void c_scale(Piece *piece, Store *store, double drop, double slack) noexcept nogil:
    """Cut both ends, scale to sum 1, count what was dropped."""
    cdef double *values = store.data + piece.at
    cdef double kept, most = 0.0
    cdef double dropped[2]
    cdef int64_t begin, size, k, side
    if slack > 0.0:
        size = c_cut_tilted(values, piece, drop, slack, &begin)
    else:
        size = c_cut(values, piece.size, drop * c_sum(values, piece.size), &begin)
    kept = c_sum(values + begin, size)
    dropped[0] = dropped[1] = 0.0
    c_drop(values, piece, 0, begin, slack, &most, dropped)
    c_drop(values, piece, begin + size, piece.size, slack, &most, dropped)
    for k in range(begin, begin + size):
        values[k] /= kept
    for side in range(2):
        piece.error[side] = (piece.error[side] + dropped[side]) / kept
        piece.mass[side] /= kept
    piece.spill = min((piece.spill + most) / kept, c_mean(piece.error))
    piece.peak /= kept
    piece.at += begin
    piece.low += begin
    piece.size = size
    piece.log_scale += log(kept)


cdef inline void c_clip(Piece *piece, int64_t least, int64_t most) noexcept nogil:
    """Only counts least .. most: the others cannot stand in any sum that is kept."""
    if piece.low < least:
        piece.at += least - piece.low
        piece.size -= least - piece.low
        piece.low = least
    piece.size = min(piece.size, most - piece.low + 1)


cdef inline void c_heads(Piece *a, Piece *b, Piece *out) noexcept nogil:
    """All but the window of a sum of two."""
    cdef int64_t side
    cdef double lost = c_mean(a.error), lost_too = c_mean(b.error), held = c_mean(a.mass), held_too = c_mean(b.mass)
    out.peak = min(a.peak * held_too, held * b.peak)
    out.spill = min(a.peak * lost_too, held * b.spill)
    out.spill += min(a.spill * (held_too + lost_too), lost * (b.peak + b.spill))
    out.least, out.most = a.least + b.least, a.most + b.most
    out.centre, out.variance, out.log_scale = a.centre + b.centre, a.variance + b.variance, 0.0
    for side in range(2):
        out.mass[side] = a.mass[side] * b.mass[side]
        out.error[side] = a.mass[side] * b.error[side] + a.error[side] * (b.mass[side] + b.error[side])


cdef inline void c_peak_of_sum(Piece *out, const double *values) noexcept nogil:
    """What a sum holds at any one count: the largest of its window, or all that is outside."""
    cdef double held = c_mean(out.mass), outside
    outside = max(held - c_sum(values, out.size), 0.0) + ROUNDED * held
    out.peak = min(out.peak, max(c_highest(values, out.size), outside))


cdef inline int64_t c_merge(Piece *pieces, int64_t size, int64_t low, int64_t high, bint top, double drop,
                            double slack, Store *store) noexcept nogil:
    """Add pieces two by two until one is left; sums of all of them outside low .. high are of no interest.

    Returns the number of pieces, the last of which is the sum (its window is not filled unless `top`); 0 where a
    window is empty, -1 where memory ran out, -2 where a sum has too many terms.
    """
    cdef int64_t first = 0, last = size, made = size, i, least = 0, most = 0, at, spare
    cdef Piece *a
    cdef Piece *b
    cdef Piece *out
    for i in range(size):
        pieces[i].least, pieces[i].most = pieces[i].low, pieces[i].low + pieces[i].size - 1
        least += pieces[i].least
        most += pieces[i].most
    for i in range(size):
        c_clip(&pieces[i], low - (most - pieces[i].most), high - (least - pieces[i].least))
        if pieces[i].size < 1:
            return 0
    while last - first > 1:
        i = first
        while i + 1 < last:
            a, b, out = &pieces[i], &pieces[i + 1], &pieces[made]
            c_heads(a, b, out)
            out.left, out.right = i, i + 1
            out.low = max(a.low + b.low, low - (most - out.most))
            out.size = min(a.low + a.size + b.low + b.size - 2, high - (least - out.least)) - out.low + 1
            if out.size < 1:
                return 0
            made += 1
            i += 2
            if last - first == 2 and not top:
                return made
            out.at = c_take(store, out.size)
            spare = c_take(store, c_room(a.size, b.size))
            if out.at < 0 or spare < 0:
                return -1
            if <double> a.size * <double> b.size > TERMS:
                return -2
            at = out.low - a.low - b.low
            c_convolve(store.data + a.at, a.size, store.data + b.at, b.size, at, at + out.size - 1,
                       store.data + spare, store.data + out.at)
            store.used = spare
            c_peak_of_sum(out, store.data + out.at)
            if last - first > 2:
                c_scale(out, store, drop, slack)
        if i < last:  # the odd one waits
            pieces[made] = pieces[i]
            pieces[made].left, pieces[made].right = -2, i
            made += 1
        first, last = last, made
    return made
