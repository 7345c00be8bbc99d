# cython: language_level=3, cdivision=True, wraparound=False
"""Messages of a tree: from the leaves up with a bound of what is cut, from the root down with what the rest says."""
from libc.math cimport INFINITY, exp, log, log1p
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ._convolution cimport c_about, c_sum
from ._families cimport Piece, Store, c_clip, c_highest, c_mean, c_merge, c_scale, c_take
from ._sites cimport EMPTY, FAR, GOOD, UNBOUNDED, WIDE, Site, c_above, c_below, c_fill, c_level, c_window
from ._suprema cimport c_supremum

cdef enum:
    MEMORY = 4

cdef struct Tree:
    int64_t size
    const int64_t *parent
    const int64_t *first
    const int64_t *count
    const Site *sites
    const double *tables
    const double *tilts
    const double *slacks
    double drop
    int64_t *window  # (n, 4): counts that the node's own weight allows, those that its ancestors leave
    double *sums  # (n, 2): mean and variance of the sum of a node's children under their tilt
    Piece *heads  # of inner nodes' messages, places in `inner`
    Piece *pieces  # of one family
    Store inner, outer, scratch


cdef inline bint c_weighs(const Site *s, double tilt) noexcept nogil:
    """Whether there is anything to multiply with."""
    return s.square > 0.0 or s.absolute > 0.0 or s.table >= 0 or s.own != s.others or s.damped != 0.0 or \
        tilt + s.slope != 0.0 or s.lower > 0 or s.upper < FAR


cdef inline double c_own_tilt(Tree *t, int64_t v) noexcept nogil:
    """Tilt of the node's own weight: from its children's to its siblings'."""
    cdef int64_t p = t.parent[v]
    return (t.tilts[p] if p >= 0 else 0.0) - (t.tilts[v] if t.count[v] else 0.0)


cdef inline void c_windows(Tree *t) noexcept nogil:
    """Windows of the inner nodes, from the root down."""
    cdef int64_t v, p
    cdef int64_t *w
    cdef const Site *s
    cdef double fall = 12.0 - log(t.drop)
    for v in range(t.size):
        if not t.count[v]:
            continue
        w, s, p = t.window + 4 * v, &t.sites[v], t.parent[v]
        w[0], w[1] = s.lower, s.upper
        if s.square > 0.0 or s.absolute > 0.0 or s.table >= 0:
            if c_window(s, c_own_tilt(t, v), fall, &w[0], &w[1]) != GOOD:
                w[0], w[1] = s.lower, s.upper
        w[2], w[3] = w[0], w[1]
        if p >= 0:
            w[3] = min(w[3], t.window[4 * p + 3])


cdef inline void c_masses(Piece *piece, const double *values, double slack) noexcept nogil:
    """Sums under the tilt less and plus the slack."""
    cdef int64_t k, side
    if slack == 0.0:
        piece.mass[0] = piece.mass[1] = c_sum(values, piece.size)
        return
    for side in range(2):
        piece.mass[side] = 0.0
        for k in range(piece.size):
            piece.mass[side] += values[k] * exp((2 * side - 1) * slack * (piece.low + k - piece.centre))


cdef inline void c_centre(Piece *piece, const double *values) noexcept nogil:
    """Mean and variance of a message."""
    cdef double total = c_sum(values, piece.size), mean = c_about(values, piece.size, 0.0, False) / total
    piece.centre = piece.low + mean
    piece.variance = c_about(values, piece.size, mean, True) / total


cdef inline double c_beyond(const Site *s, const double *tables, double tilt, int64_t most,
                            int64_t high) noexcept nogil:
    """Bound of the log of all weight above `most`, where it need not fall yet, `high` the end of its window."""
    cdef double bound = c_above(s, tables, tilt, most), base = most
    if bound < INFINITY and s.table < 0:
        return bound
    bound = c_supremum(s, tables, tilt, 0.0, 0.0, most + 1, high, base) + c_level(s, tilt, base)
    bound += log(1.0 * (high - most))
    base = c_above(s, tables, tilt, high)
    return bound + log1p(exp(base - bound)) if bound > -INFINITY else base


cdef inline int c_leaf(Tree *t, int64_t v, Piece *piece) noexcept nogil:
    """Message of a leaf."""
    cdef const Site *s = &t.sites[v]
    cdef int64_t p = t.parent[v], low, high, most, side
    cdef double tilt = t.tilts[p], slack = t.slacks[p], scale, shift
    cdef double *values
    cdef int state = c_window(s, tilt - slack, 5.0 - log(t.drop), &low, &high)
    if state == GOOD and slack > 0.0:
        state = c_window(s, tilt + slack, 5.0 - log(t.drop), &most, &high)
    if state != GOOD:
        return state
    most = min(high, t.window[4 * p + 3])
    if low > most:
        return EMPTY
    piece.left = piece.right = -1
    piece.low, piece.size = low, most - low + 1
    piece.at = c_take(&t.scratch, piece.size)
    if piece.at < 0:
        return MEMORY
    values = t.scratch.data + piece.at
    scale = c_fill(s, t.tables, tilt, low, most, values)
    if not c_sum(values, piece.size) > 0.0:
        return EMPTY
    c_centre(piece, values)
    c_masses(piece, values, slack)
    piece.peak = c_highest(values, piece.size)
    for side in range(2):
        shift = (2 * side - 1) * slack
        piece.error[side] = exp(c_above(s, t.tables, tilt + shift, high) - shift * piece.centre - scale) + \
            exp(c_below(s, t.tables, tilt + shift, low) - shift * piece.centre - scale)
        if most < high:
            piece.mass[side] += exp(c_beyond(s, t.tables, tilt + shift, most, high) - shift * piece.centre - scale)
    if most < high:
        shift = c_supremum(s, t.tables, tilt, 0.0, 0.0, most + 1, high, most) + c_level(s, tilt, most)
        piece.peak = max(piece.peak, exp(shift - scale))
    piece.spill = c_mean(piece.error)
    piece.log_scale = scale
    c_scale(piece, &t.scratch, t.drop, slack)
    return GOOD


cdef inline int c_gather(Tree *t, int64_t v, bint top, int64_t *made) noexcept nogil:
    """The children's messages, added up; EMPTY where no sum is possible."""
    cdef int64_t k, c, size = t.count[v]
    cdef Piece *piece
    cdef int state
    t.scratch.used = 0
    for k in range(size):
        c, piece = t.first[v] + k, &t.pieces[k]
        if t.count[c] == 0:
            state = c_leaf(t, c, piece)
            if state != GOOD:
                return state
            continue
        piece[0] = t.heads[c]
        piece.at = c_take(&t.scratch, piece.size)
        if piece.at < 0:
            return MEMORY
        memcpy(t.scratch.data + piece.at, t.inner.data + t.heads[c].at, piece.size * sizeof(double))
        piece.log_scale = 0.0  # counted where the message was made
    made[0] = c_merge(t.pieces, size, t.window[4 * v + 2], t.window[4 * v + 3], top, t.drop, t.slacks[v], &t.scratch)
    if made[0] > 0:
        return GOOD
    return EMPTY if made[0] == 0 else (MEMORY if made[0] == -1 else WIDE)


cdef inline double c_weight(Tree *t, int64_t v, int64_t low, int64_t size, double *values) noexcept nogil:
    """Multiply by the node's own weight, tilted; returns the log of its scale. Scratch memory has been taken."""
    cdef double *weights = t.scratch.data + t.scratch.used - size
    cdef double scale
    cdef int64_t k
    if not c_weighs(&t.sites[v], c_own_tilt(t, v)):
        return 0.0
    scale = c_fill(&t.sites[v], t.tables, c_own_tilt(t, v), low, low + size - 1, weights)
    for k in range(size):
        values[k] *= weights[k]
    return scale


cdef inline double c_whole(Tree *t, int64_t v, double scale, double base, Piece *out) noexcept nogil:
    """Bound of a node's tilted weight summed over all counts; its window stands in the scratch store (`c_weight`)."""
    cdef const Site *s = &t.sites[v]
    cdef double tilt = c_own_tilt(t, v), below
    below = c_level(s, tilt, base) - scale + c_supremum(s, t.tables, tilt, 0.0, base, 0, out.low - 1, base)
    return c_sum(t.scratch.data + t.scratch.used - out.size, out.size) + out.low * exp(below) + \
        exp(c_above(s, t.tables, tilt, out.low + out.size - 1) - scale)


cdef inline void c_pay(Tree *t, int64_t v, double scale, Piece *below, Piece *out) noexcept nogil:
    """Bounds of what is neglected, once the node's own weight is multiplied on, before the scale to sum 1."""
    cdef const Site *s = &t.sites[v]
    cdef int64_t p = t.parent[v], side
    cdef int64_t *w = t.window + 4 * v
    cdef double outer = t.slacks[p] if p >= 0 else 0.0, tilt = c_own_tilt(t, v)
    cdef double slack = t.slacks[v], shift, all_, beyond
    cdef double base = <double> (<int64_t> (below.centre + 0.5))
    cdef double error = c_mean(below.error), mass = c_mean(below.mass), add, paid
    cdef double whole = c_whole(t, v, scale, base, out) if outer == 0.0 and c_weighs(s, tilt) else INFINITY
    cdef bint level = outer == 0.0 and slack == 0.0
    out.spill = INFINITY
    for side in range(2):
        shift = (2 * side - 1) * outer
        add = c_level(s, tilt, base) + shift * (base - out.centre) - scale
        if not c_weighs(s, tilt) and outer == slack:
            beyond = exp(shift * (below.centre - out.centre))
            out.error[side] += below.error[side] * beyond
            out.spill = below.spill
            if w[3] < w[1]:
                out.mass[side] = max(out.mass[side], below.mass[side] * beyond)
                out.peak = max(out.peak, below.peak)
            continue
        all_ = exp(add + c_supremum(s, t.tables, tilt + shift, slack, below.centre, 0, FAR, base))
        beyond = exp(add + c_supremum(s, t.tables, tilt + shift, slack, below.centre, 0, w[0] - 1, base))
        beyond += exp(add + c_supremum(s, t.tables, tilt + shift, slack, below.centre, w[1] + 1, FAR, base))
        beyond = 0.0 if beyond == 0.0 else beyond * mass
        paid = 0.0 if error == 0.0 else all_ * error
        if below.spill > 0.0:  # spread over many counts, of which the node's weight takes a few
            paid = min(paid, whole * below.spill)
        out.error[side] += paid + beyond
        if level:
            out.spill = (0.0 if below.spill == 0.0 else all_ * below.spill) + beyond
        if w[3] < w[1]:
            out.mass[side] += all_ * mass
            out.peak = max(out.peak, all_ * (below.peak if level else mass))
    out.spill = min(out.spill, c_mean(out.error))


cdef inline int c_up(Tree *t, int64_t v) noexcept nogil:
    """Message of an inner node."""
    cdef int64_t made, k, p = t.parent[v], at, side
    cdef Piece *top
    cdef Piece *out = &t.heads[v]
    cdef double *values
    cdef double scale
    cdef int state = c_gather(t, v, True, &made)
    if state != GOOD:
        return state
    top = &t.pieces[made - 1]
    c_clip(top, t.window[4 * v + 2], t.window[4 * v + 3])
    if top.size < 1:
        return EMPTY
    out.left = out.right = -1
    out.low, out.size, out.log_scale = top.low, top.size, 0.0
    t.sums[2 * v], t.sums[2 * v + 1] = top.centre, top.variance
    for k in range(made):
        out.log_scale += t.pieces[k].log_scale if t.pieces[k].left != -2 else 0.0
    at = c_take(&t.inner, top.size)
    if at < 0 or c_take(&t.scratch, top.size) < 0:
        return MEMORY
    out.at = at
    values = t.inner.data + at
    memcpy(values, t.scratch.data + top.at, top.size * sizeof(double))
    scale = c_weight(t, v, out.low, out.size, values)
    if not c_sum(values, out.size) > 0.0:
        return EMPTY
    c_centre(out, values)
    c_masses(out, values, t.slacks[p] if p >= 0 else 0.0)
    out.error[0] = out.error[1] = 0.0
    out.peak = c_highest(values, out.size)
    c_pay(t, v, scale, top, out)
    out.log_scale += scale
    c_scale(out, &t.inner, t.drop, t.slacks[p] if p >= 0 else 0.0)
    t.inner.used = out.at + out.size
    return GOOD
