# cython: language_level=3
"""Exact sums over all counts of a tree by the sum-product algorithm: evidence, marginal distributions, conditional
draws, and an upper bound on the neglected weight.

The count of every node has a weight (measurements, factor of the prior, bounds), and the count of an inner node is the
sum of the counts of its children. Messages from the leaves to the root are convolutions times weights. Messages from
the root to the leaves are correlations. The messages of each family have a tilt exp(lambda n) that centres them given
the whole tree (`_sites`); tilts cancel. All terms are positive, so there is no cancellation. The documentation (trees)
has the proof of the bound.
"""
cimport cython
import numpy as np

from libc.math cimport INFINITY, exp, log, log1p
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen, c_uniform
from ._sites cimport (EMPTY, FAR, GOOD, UNBOUNDED, WIDE, Site, c_above, c_below, c_fill, c_level, c_supremum,
    c_window)

from ... import _arrays, _checks
from ..._printing import steps

cdef extern from "convolution.h" nogil:
    int64_t c_room "trees_room"(int64_t na, int64_t nb) noexcept
    void c_correlate "trees_correlate"(const double *a, int64_t na, int64_t low_a, const double *b, int64_t nb,
                                       int64_t low_b, int64_t low, int64_t size, double *spare, double *out) noexcept

cdef extern from "messages.h" nogil:
    ctypedef struct Piece "trees_piece":
        int64_t at, low, size, left, right, least, most
        double centre, variance, log_scale, spill, peak
        double error[2]
        double mass[2]
    ctypedef struct Store "trees_store":
        double *data
        int64_t used, room
    double c_sum "trees_sum"(const double *values, int64_t n) noexcept
    double c_highest "trees_highest"(const double *values, int64_t n) noexcept
    void c_largest_one "trees_largest_one"(double *values, int64_t n) noexcept
    int64_t c_take "trees_take"(Store *store, int64_t size) noexcept
    double c_mean "trees_mean"(const double *sides) noexcept
    void c_scale "trees_scale"(Piece *piece, const Store *store, double drop, double slack) noexcept
    int64_t c_merge "trees_merge"(Piece *pieces, int64_t size, int64_t low, int64_t high, bint top, double drop,
                                  double slack, Store *store) noexcept
    void c_clip "trees_clip"(Piece *piece, int64_t least, int64_t most) noexcept
    void c_masses "trees_masses"(Piece *piece, const double *values, double slack) noexcept
    void c_centre "trees_centre"(Piece *piece, const double *values) noexcept
    double c_expected_digamma "trees_expected_digamma"(const double *p, int64_t low, int64_t size,
                                                       double shift) noexcept
    void c_summary "trees_summary"(double *p, int64_t low, int64_t size, double tail, double *out) noexcept

cdef enum:
    MEMORY = 4  # first number after the states of `_sites`
    BLOCKS = 64  # number of blocks of nodes between which the progress is shown

STATES = ("good", "unbounded", "wide", "empty", "memory")

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
    # (n, 4): counts that are possible given the node's weight, and those that are also possible given its ancestors
    int64_t *window
    double *sums  # (n, 2): mean and variance of the sum of a node's children under their tilt
    int64_t *equal  # (n, 3): last node with an equal subtree, nearest ancestor with a weight, number of equal families
    Piece *heads  # messages of inner nodes, stored in `inner`
    Piece *pieces  # pieces of one family
    Store inner, outer, scratch


# One family: the messages of its children, added in pairs.
#
# A message is a window of weights under the tilt of the family, normalised to a sum of 1. Each message has bounds:
# `error` of the weight neglected in its subtree and `mass` of the weight it contains, both under the tilt minus and
# plus the slack, relative to the sum; `spill` and `peak` are the same at any single count, under the tilt itself.


# Messages from the leaves up, with a bound on the truncated weight.

cdef inline bint c_has_weight(const Site *s, double tilt) noexcept nogil:
    """Return whether the weight of a node of the tree is not constant 1."""
    return s.square > 0.0 or s.absolute > 0.0 or s.table >= 0 or s.own != s.others or s.damped != 0.0 or \
        tilt + s.slope != 0.0 or s.lower > 0 or s.upper < FAR


cdef inline double c_own_tilt(Tree *t, int64_t v) noexcept nogil:
    """Return the tilt of the weight of a node: the tilt of the node and its siblings minus the tilt of its children."""
    cdef int64_t p = t.parent[v]
    return (t.tilts[p] if p >= 0 else 0.0) - (t.tilts[v] if t.count[v] else 0.0)


cdef inline void c_windows(Tree *t) noexcept nogil:
    """Compute the windows of counts of the inner nodes, from the root to the leaves."""
    cdef int64_t v, p
    cdef int64_t *w
    cdef const Site *s
    cdef double fall = 12.0 - log(t.drop)
    for v in range(t.size):
        if not t.count[v]:
            continue
        w, s, p = t.window + 4 * v, &t.sites[v], t.parent[v]
        w[0], w[1] = s.lower, s.upper
        # counts that are possible given the node's weight, and those that are also possible given its ancestors
        if s.square > 0.0 or s.absolute > 0.0 or s.table >= 0:
            if c_window(s, c_own_tilt(t, v), fall, &w[0], &w[1]) != GOOD:
                w[0], w[1] = s.lower, s.upper
        w[2], w[3] = w[0], w[1]
        if p >= 0:
            w[3] = min(w[3], t.window[4 * p + 3])
        # ancestors without a weight pass messages on
        t.equal[3 * v + 1] = t.equal[3 * p + 1] if p > 0 and not c_has_weight(&t.sites[p], c_own_tilt(t, p)) else p


cdef inline bint c_is_next(Tree *t, int64_t v) noexcept nogil:
    """Return whether inner node v + 1 has the same messages as v, from its children and from all other nodes."""
    cdef int64_t u = v + 1, p = t.parent[v], q, k, a, b
    if v == 0 or u >= t.size or t.count[u] != t.count[v] or t.equal[3 * u + 1] != t.equal[3 * v + 1]:
        return False
    q = t.parent[u]
    if t.tilts[v] != t.tilts[u] or t.slacks[v] != t.slacks[u] or t.tilts[p] != t.tilts[q] or \
            t.slacks[p] != t.slacks[q] or memcmp(&t.sites[v], &t.sites[u], sizeof(Site)) or \
            memcmp(t.window + 4 * v, t.window + 4 * u, 4 * sizeof(int64_t)):
        return False
    for k in range(t.count[v]):
        a, b = t.first[v] + k, t.first[u] + k
        if t.count[a] != t.count[b] or (t.count[a] and t.equal[3 * a] != t.equal[3 * b]) or \
                (not t.count[a] and memcmp(&t.sites[a], &t.sites[b], sizeof(Site))):
            return False
    return True


cdef inline double c_beyond(const Site *s, const double *tables, double tilt, int64_t most,
                            int64_t high) noexcept nogil:
    """Return an upper bound on the log of the sum of all weights above `most`, where the weight may still increase up
    to the end `high` of its window.
    """
    cdef double bound = c_above(s, tables, tilt, most), base = most
    if bound < INFINITY and s.table < 0:
        return bound
    bound = c_supremum(s, tables, tilt, 0.0, 0.0, most + 1, high, base) + c_level(s, tilt, base)
    bound += log(1.0 * (high - most))
    base = c_above(s, tables, tilt, high)
    return bound + log1p(exp(base - bound)) if bound > -INFINITY else base


cdef inline int c_leaf(Tree *t, int64_t v, Piece *piece) noexcept nogil:
    """Compute the message of a leaf of the tree to its parent."""
    cdef const Site *s = &t.sites[v]
    cdef int64_t p = t.parent[v], low, high, most, side
    cdef double tilt = t.tilts[p], slack = t.slacks[p], scale, shift
    cdef double *values
    cdef int state = c_window(s, tilt - slack, 5.0 - log(t.drop), &low, &high)
    # a window that contains the weight under tilt - slack and tilt + slack
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
    # psi(n) exp(tilt n) at low .. most, and the bounds of the weight outside, under both second tilts
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


cdef inline int c_gather(Tree *t, int64_t v, bint top, int64_t *n_pieces) noexcept nogil:
    """Collect the messages of the children of a node and convolve them. The function returns EMPTY if no sum is
    possible.
    """
    cdef int64_t k, c, size = t.count[v]
    cdef Piece *piece
    cdef int state
    t.scratch.used = 0
    for k in range(size):
        c, piece = t.first[v] + k, &t.pieces[k]
        if t.count[c] == 0 and k and t.count[c - 1] == 0 and not memcmp(&t.sites[c], &t.sites[c - 1], sizeof(Site)):
            piece[0] = t.pieces[k - 1]  # equal leaves have equal messages
            piece.at = c_take(&t.scratch, piece.size)
            if piece.at < 0:
                return MEMORY
            memcpy(t.scratch.data + piece.at, t.scratch.data + t.pieces[k - 1].at, piece.size * sizeof(double))
            continue
        if t.count[c] == 0:
            state = c_leaf(t, c, piece)
            if state != GOOD:
                return state
            continue
        piece[0] = t.heads[c]  # an inner child: a copy of its message, which the merge may restrict
        piece.at = c_take(&t.scratch, piece.size)
        if piece.at < 0:
            return MEMORY
        memcpy(t.scratch.data + piece.at, t.inner.data + t.heads[c].at, piece.size * sizeof(double))
        piece.log_scale = 0.0  # included when the message was computed
    n_pieces[0] = c_merge(t.pieces, size, t.window[4 * v + 2], t.window[4 * v + 3], top, t.drop, t.slacks[v],
                          &t.scratch)
    if n_pieces[0] > 0:
        return GOOD
    return EMPTY if n_pieces[0] == 0 else (MEMORY if n_pieces[0] == -1 else WIDE)


cdef inline double c_weight(Tree *t, int64_t v, int64_t low, int64_t size, double *values) noexcept nogil:
    """Multiply a message by the tilted weight of the node, and return the log of the scale. The caller has allocated
    the scratch memory.
    """
    cdef double *weights = t.scratch.data + t.scratch.used - size
    cdef double scale
    cdef int64_t k
    if not c_has_weight(&t.sites[v], c_own_tilt(t, v)):
        return 0.0
    scale = c_fill(&t.sites[v], t.tables, c_own_tilt(t, v), low, low + size - 1, weights)
    for k in range(size):
        values[k] *= weights[k]
    return scale


cdef inline double c_total_bound(Tree *t, int64_t v, double scale, double base, Piece *out) noexcept nogil:
    """Compute an upper bound on the sum of the tilted weight of a node over all counts. The weights in the window are
    in the scratch memory (`c_weight`).
    """
    cdef const Site *s = &t.sites[v]
    cdef double tilt = c_own_tilt(t, v), below
    # below the window, the number of counts times the largest weight; above it, a geometric series
    below = c_level(s, tilt, base) - scale + c_supremum(s, t.tables, tilt, 0.0, base, 0, out.low - 1, base)
    return c_sum(t.scratch.data + t.scratch.used - out.size, out.size) + out.low * exp(below) + \
        exp(c_above(s, t.tables, tilt, out.low + out.size - 1) - scale)


cdef inline void c_error_bounds(Tree *t, int64_t v, double scale, Piece *below, Piece *out) noexcept nogil:
    """Compute upper bounds on the neglected weight of a message after multiplication by the weight of the node, before
    normalisation.
    """
    cdef const Site *s = &t.sites[v]
    cdef int64_t p = t.parent[v], side
    cdef int64_t *w = t.window + 4 * v
    cdef double outer = t.slacks[p] if p >= 0 else 0.0, tilt = c_own_tilt(t, v)
    cdef double slack = t.slacks[v], shift, all_, beyond
    cdef double base = <double> (<int64_t> (below.centre + 0.5))
    cdef double error = c_mean(below.error), mass = c_mean(below.mass), add, paid
    cdef double whole = c_total_bound(t, v, scale, base, out) if outer == 0.0 and c_has_weight(s, tilt) else INFINITY
    cdef bint level = outer == 0.0 and slack == 0.0
    out.spill = INFINITY
    for side in range(2):
        shift = (2 * side - 1) * outer
        add = c_level(s, tilt, base) + shift * (base - out.centre) - scale
        # the node has no weight, so its bounds equal the bounds for the sum of the children
        if not c_has_weight(s, tilt) and outer == slack:
            beyond = exp(shift * (below.centre - out.centre))
            out.error[side] += below.error[side] * beyond
            out.spill = below.spill
            if w[3] < w[1]:
                out.mass[side] = max(out.mass[side], below.mass[side] * beyond)
                out.peak = max(out.peak, below.peak)
            continue
        # the largest factor by which the node's weight multiplies an error, and the largest factor for counts outside
        # its window
        all_ = exp(add + c_supremum(s, t.tables, tilt + shift, slack, below.centre, 0, FAR, base))
        beyond = exp(add + c_supremum(s, t.tables, tilt + shift, slack, below.centre, 0, w[0] - 1, base))
        beyond += exp(add + c_supremum(s, t.tables, tilt + shift, slack, below.centre, w[1] + 1, FAR, base))
        # errors of the sum times this factor, and the mass outside the window
        beyond = 0.0 if beyond == 0.0 else beyond * mass
        paid = 0.0 if error == 0.0 else all_ * error
        if below.spill > 0.0:  # the error is spread over many counts, of which the node's weight selects a few
            paid = min(paid, whole * below.spill)
        out.error[side] += paid + beyond
        if level:
            out.spill = (0.0 if below.spill == 0.0 else all_ * below.spill) + beyond
        if w[3] < w[1]:
            out.mass[side] += all_ * mass
            out.peak = max(out.peak, all_ * (below.peak if level else mass))
    out.spill = min(out.spill, c_mean(out.error))


cdef inline int c_up(Tree *t, int64_t v) noexcept nogil:
    """Compute the message of an inner node of the tree to its parent."""
    cdef int64_t n_pieces, k, p = t.parent[v], place, side
    cdef Piece *top
    cdef Piece *out = &t.heads[v]
    cdef double *values
    cdef double scale
    cdef int state
    t.equal[3 * v] = v
    if c_is_next(t, v):  # equal families share their messages
        t.equal[3 * v], out[0] = t.equal[3 * v + 3], t.heads[v + 1]
        t.sums[2 * v], t.sums[2 * v + 1] = t.sums[2 * v + 2], t.sums[2 * v + 3]
        return GOOD
    state = c_gather(t, v, True, &n_pieces)
    if state != GOOD:
        return state
    # the sum of the children, restricted to counts that are possible given the node and its ancestors
    top = &t.pieces[n_pieces - 1]
    c_clip(top, t.window[4 * v + 2], t.window[4 * v + 3])
    if top.size < 1:
        return EMPTY
    out.left = out.right = -1
    out.low, out.size, out.log_scale = top.low, top.size, 0.0
    t.sums[2 * v], t.sums[2 * v + 1] = top.centre, top.variance
    for k in range(n_pieces):
        out.log_scale += t.pieces[k].log_scale if t.pieces[k].left != -2 else 0.0
    place = c_take(&t.inner, top.size)
    if place < 0 or c_take(&t.scratch, top.size) < 0:
        return MEMORY
    out.at = place
    values = t.inner.data + place
    memcpy(values, t.scratch.data + top.at, top.size * sizeof(double))
    # multiply by the node's weight; the tilt changes from the tilt of the children to the tilt of the siblings
    scale = c_weight(t, v, out.low, out.size, values)
    if not c_sum(values, out.size) > 0.0:
        return EMPTY
    c_centre(out, values)
    c_masses(out, values, t.slacks[p] if p >= 0 else 0.0)
    out.error[0] = out.error[1] = 0.0
    out.peak = c_highest(values, out.size)
    # bounds of the neglected weight, then truncation and normalisation
    c_error_bounds(t, v, scale, top, out)
    out.log_scale += scale
    c_scale(out, &t.inner, t.drop, t.slacks[p] if p >= 0 else 0.0)
    t.inner.used = out.at + out.size
    return GOOD


# Messages from the root down, to the children of each node, and the summaries of a marginal distribution.

cdef inline int c_down(Tree *t, int64_t v, int64_t *places, int64_t *n_pieces) noexcept nogil:
    """Compute the message of all other pieces to piece i, on the window of piece i and scaled to a largest entry of 1.
    The position of the message in the scratch memory is stored in places[i].
    """
    cdef int64_t i, k, place, gap, spare, size = t.count[v]
    cdef Piece *head = &t.heads[v]
    cdef Piece *a
    cdef Piece *b
    cdef int state = c_gather(t, v, False, n_pieces)
    if state != GOOD:
        return state
    place = c_take(&t.scratch, head.size)
    if place < 0 or c_take(&t.scratch, head.size) < 0:
        return MEMORY
    # message of all other nodes to the node, times the node's weight: the message to the sum of the children
    for k in range(head.size):
        t.scratch.data[place + k] = t.outer.data[head.at + k]
    c_weight(t, v, head.low, head.size, t.scratch.data + place)
    c_largest_one(t.scratch.data + place, head.size)
    if size == 1:
        places[0] = c_take(&t.scratch, t.pieces[0].size)
        if places[0] < 0:
            return MEMORY
        for k in range(t.pieces[0].size):
            gap = t.pieces[0].low + k - head.low
            t.scratch.data[places[0] + k] = t.scratch.data[place + gap] if 0 <= gap < head.size else 0.0
        return GOOD
    t.pieces[n_pieces[0] - 1].low, t.pieces[n_pieces[0] - 1].size = head.low, head.size
    places[n_pieces[0] - 1] = place
    # down the binary tree of `c_merge`: a(i) = sum_k outer(k) b(k - i) for both parts of a sum
    for i in range(n_pieces[0] - 1, size - 1, -1):
        head = &t.pieces[i]
        if head.left == -2:
            places[head.right] = places[i]
            continue
        a, b = &t.pieces[head.left], &t.pieces[head.right]
        places[head.left] = c_take(&t.scratch, a.size)
        places[head.right] = c_take(&t.scratch, b.size)
        spare = c_take(&t.scratch, c_room(head.size, max(a.size, b.size)))
        if spare < 0 or places[head.left] < 0 or places[head.right] < 0:
            return MEMORY
        c_correlate(t.scratch.data + places[i], head.size, head.low, t.scratch.data + b.at, b.size, b.low, a.low,
                    a.size, t.scratch.data + spare, t.scratch.data + places[head.left])
        c_correlate(t.scratch.data + places[i], head.size, head.low, t.scratch.data + a.at, a.size, a.low, b.low,
                    b.size, t.scratch.data + spare, t.scratch.data + places[head.right])
        t.scratch.used = spare
        c_largest_one(t.scratch.data + places[head.left], a.size)
        c_largest_one(t.scratch.data + places[head.right], b.size)
    return GOOD


cdef inline void c_pass_down(Tree *t, int64_t v, const int64_t *places) noexcept nogil:
    """Store the downward messages to the inner children of a node until the children are processed."""
    cdef int64_t k, j, c, gap
    for k in range(t.count[v]):
        c = t.first[v] + k
        if t.count[c]:
            for j in range(t.heads[c].size):
                gap = t.heads[c].low + j - t.pieces[k].low
                t.outer.data[t.heads[c].at + j] = \
                    t.scratch.data[places[k] + gap] if 0 <= gap < t.pieces[k].size else 0.0


# Draws of a family's counts given their sum.

cdef inline void split_fill(Tree *t, int64_t n_pieces, int64_t size, int64_t spare, int64_t[:, ::1] values,
                     bitgen_t *bits) noexcept nogil:
    """Draw the counts of the children given their sum, from each sum to its two parts by inversion. A value of -1 means
    that the sum is impossible.
    """
    cdef int64_t i, j, n, low, high, draws = values.shape[1]
    cdef double *running = t.scratch.data + spare
    cdef double *left
    cdef double *right
    cdef double total, target
    cdef Piece *a
    cdef Piece *b
    for i in range(n_pieces - 1, size - 1, -1):
        if t.pieces[i].left == -2:
            for j in range(draws):
                values[t.pieces[i].right, j] = values[i, j]
            continue
        a, b = &t.pieces[t.pieces[i].left], &t.pieces[t.pieces[i].right]
        left, right = t.scratch.data + a.at, t.scratch.data + b.at
        for j in range(draws):
            # cumulative weights a(n) b(sum - n) of the first part
            low, high = max(a.low, values[i, j] - b.low - b.size + 1), min(a.low + a.size - 1, values[i, j] - b.low)
            total = 0.0
            for n in range(low, high + 1):
                total += left[n - a.low] * right[values[i, j] - n - b.low]
                running[n - low] = total
            target = c_uniform(bits) * total  # draw by inversion
            n = 0
            while n < high - low and running[n] <= target:
                n += 1
            if not total > 0.0:
                values[t.pieces[i].left, j] = values[t.pieces[i].right, j] = -1
                continue
            values[t.pieces[i].left, j] = low + n
            values[t.pieces[i].right, j] = values[i, j] - low - n


cdef inline int64_t tree_fill(Tree *t, int64_t[:, ::1] values, int64_t[::1] counts, bitgen_t *bits) noexcept nogil:
    """Draw the counts of all nodes once, given the count of the root in the first entry. The function returns a node
    without a possible draw, or -1.

    `values` has one row per piece of the largest family.
    """
    cdef int64_t v, i, n_pieces, most, spare
    for v in range(t.size):
        if not t.count[v]:
            continue
        # messages of the children of v, combined in pairs
        if c_gather(t, v, False, &n_pieces) != GOOD:
            return v
        most = 1
        for i in range(n_pieces - 1):
            most = max(most, 1 + t.pieces[i].size)
        spare = c_take(&t.scratch, most)
        if spare < 0:
            return v
        # split the count of v among the children
        values[n_pieces - 1, 0] = counts[v]
        split_fill(t, n_pieces, t.count[v], spare, values, bits)
        for i in range(t.count[v]):
            if values[i, 0] < 0:
                return v
            counts[t.first[v] + i] = values[i, 0]
    return -1


@cython.auto_pickle(False)
@cython.final
cdef class SumProduct:
    """Messages of the sum-product algorithm for the counts of one tree.

    Parameters
    ----------
    parent : int64 (n,), parent of every node, which precedes it in the order; -1 at the root, which is first.
    first : int64 (n,), first child; the children of a node are contiguous.
    count : int64 (n,), number of children.
    sites : structured (n,), weights of the nodes, see `sites.SITE`.
    tables : float64 (t,), t >= 1, log weights to which sites point.
    tilts, slacks : float64 (n,), see `_sites.balance`.
    drop : in (0, 1e-3], fraction of a message that may be truncated at each end.
    """
    cdef Tree tree
    cdef object kept
    cdef bint upward, downward

    def __cinit__(self, parent, first, count, sites, tables, tilts, slacks, drop):
        cdef const int64_t[::1] parents = parent, firsts = first, counts = count
        cdef const Site[::1] weights = sites
        cdef const double[::1] table = tables, tilt = tilts, slack = slacks
        n, most = len(parent), int(np.max(count)) if len(count) else 0
        window = np.zeros((n, 4), dtype=np.int64)
        heads, sums = np.zeros(n * sizeof(Piece) // 8), np.zeros((n, 2))
        equal = np.zeros((n, 3), dtype=np.int64)
        pieces = np.zeros((3 * most + 66) * sizeof(Piece) // 8)
        cdef int64_t[:, ::1] windows = window, equals = equal
        cdef double[::1] head = heads, piece = pieces
        cdef double[:, ::1] total = sums
        self.kept = (parent, first, count, sites, tables, tilts, slacks, window, heads, pieces, sums, equal)
        self.tree.size, self.tree.drop = n, drop
        self.tree.parent, self.tree.first, self.tree.count = &parents[0], &firsts[0], &counts[0]
        self.tree.sites, self.tree.tables = &weights[0], &table[0]
        self.tree.tilts, self.tree.slacks = &tilt[0], &slack[0]
        self.tree.window, self.tree.sums, self.tree.equal = &windows[0, 0], &total[0, 0], &equals[0, 0]
        self.tree.heads, self.tree.pieces = <Piece *> &head[0], <Piece *> &piece[0]

    def __dealloc__(self):
        free(self.tree.inner.data)
        free(self.tree.outer.data)
        free(self.tree.scratch.data)

    def up(self):
        """Compute the messages of the sum-product algorithm from the leaves to the root.

        Returns
        -------
        log_evidence : log of the sum over all counts.
        bound : upper bound on the total variation distance between any marginal distribution and its computed form.
        failed : (node, state) if a message could not be computed, otherwise (-1, ``"good"``).
        """
        cdef int64_t v, last, node = -1, block = self.tree.size // BLOCKS + 1
        cdef int state = GOOD
        cdef double log_evidence = 0.0
        self.tree.inner.used = 0
        c_windows(&self.tree)
        for last in steps(range(self.tree.size, 0, -block), -(-self.tree.size // block), "blocks of nodes"):
            with nogil:
                for v in range(last - 1, max(last - block, 0) - 1, -1):
                    if self.tree.count[v]:
                        state = c_up(&self.tree, v)
                        if state != GOOD:
                            node = v
                            break
                        log_evidence += self.tree.heads[v].log_scale
            if node >= 0:
                break
        self.upward = self.upward or node < 0
        return log_evidence, self.tree.heads[0].error[0], (int(node), STATES[state])

    def down(self, wanted, tail, *, digammas=False, groups=None, edges=None):
        """Compute the messages from the root to the leaves, and summaries of the marginal distributions of the counts.

        Parameters
        ----------
        wanted : bool (n,), nodes whose children are requested; the parent of such a node must also be in it.
        tail : in (0, 1/2), probability beyond each end of the intervals.
        digammas : whether to return E psi(N + own) and E psi(N + others) of every node.
        groups : int64 (n,), row of a histogram to which a leaf's distribution is added, -1 for none; with `edges`.
        edges : int64 (b + 1,), increasing from 0; bin j contains edges[j] <= n < edges[j + 1].

        Returns
        -------
        summary : float64 (n, 4), mean, sd, lower, upper; NaN for nodes that were not requested.
        digammas : float64 (n, 2), or None.
        masses : float64 (groups, b), expected numbers of leaves, or None.
        failed : as in `up`.
        """
        self._begin()
        cdef const unsigned char[::1] asked = np.ascontiguousarray(wanted, dtype=np.uint8)
        cdef int64_t n = self.tree.size, v, node = -1, rows = 0
        summary, sums = np.full((n, 4), np.nan), np.full((n, 2), np.nan) if digammas else None
        row = np.full(n, -1, dtype=np.int64) if groups is None else groups
        edge = np.array([0, 1]) if edges is None else edges
        masses = np.zeros((max(int(row.max()) + 1, 1), len(edge) - 1))
        cdef double[:, ::1] out = summary, more = sums if digammas else np.zeros((1, 2)), mass = masses
        cdef const int64_t[::1] row_view = row, edge_view = np.ascontiguousarray(edge, dtype=np.int64)
        cdef double tail_ = tail
        cdef bint with_digammas = digammas
        cdef int state = GOOD
        with nogil:
            # summaries of the root
            self._node(0, tail_, &out[0, 0], &more[0, 0] if with_digammas else NULL)
            for v in range(n):
                self.tree.equal[3 * v + 2] = 1
            # families from the root to the leaves; families with equal messages are computed once
            for v in range(n):
                if self.tree.count[v] and asked[v]:
                    if self._is_copy(v, asked, row_view):
                        self.tree.equal[3 * self.tree.equal[3 * v] + 2] += 1
                        continue
                    state = self._family(v, tail_, out, more, with_digammas, row_view, edge_view, mass)
                    if state != GOOD:
                        node = v
                        break
            for v in range(n - 1, -1, -1):
                if self.tree.count[v] and asked[v] and self._is_copy(v, asked, row_view):
                    self._copy_family(v, &out[0, 0], &more[0, 0] if with_digammas else NULL)
        return summary, sums, masses if groups is not None else None, (int(node), STATES[state])

    def family(self, v):
        """Return the messages of one node and its children, after `down` (or `family`) has processed the parent of the
        node.

        Parameters
        ----------
        v : an inner node.

        Returns
        -------
        children : list of (first count, float64 weights), under the tilt of the family, with sum 1.
        others : (first count, float64 weights): message of all other nodes and of the node's weight to the sum of the
            children.
        laws : list of (first count, probabilities) of the children.
        """
        if not self.downward:
            self._begin()
        cdef int64_t k, n_pieces, node = v, size = self.tree.count[v]
        places = np.zeros(3 * size + 66, dtype=np.int64)
        cdef int64_t[::1] place = places
        cdef int state = c_down(&self.tree, node, &place[0], &n_pieces)
        if state != GOOD:
            if state == MEMORY:
                raise MemoryError("the messages of a family do not fit into memory")
            raise ValueError("all sums are impossible")
        c_pass_down(&self.tree, node, &place[0])
        cdef const double *data = self.tree.scratch.data
        children, laws = [], []
        for k in range(size):
            inner = self._copy(data + self.tree.pieces[k].at, self.tree.pieces[k].size)
            outer = self._copy(data + place[k], self.tree.pieces[k].size)
            children.append((self.tree.pieces[k].low, inner))
            law = outer * inner
            laws.append((self.tree.pieces[k].low, law / law.sum()))
        if size > 1:
            others = self.tree.heads[v].low, self._copy(data + place[n_pieces - 1], self.tree.heads[v].size)
        else:
            others = self.tree.pieces[0].low, self._copy(data + place[0], self.tree.pieces[0].size)
        return children, others, laws

    def root(self):
        """Return the posterior distribution of the count of the root, as (first count, probabilities)."""
        law = self._copy(self.tree.inner.data + self.tree.heads[0].at, self.tree.heads[0].size)
        return self.tree.heads[0].low, law / law.sum()

    def split(self, v, totals, *, rng):
        """Draw independent vectors of the counts of the children of a node, given the count of the node.

        Parameters
        ----------
        v : an inner node.
        totals : int64 (size,), counts of the node, each possible.
        rng : numpy Generator; for each draw, one uniform per child except one.

        Returns
        -------
        int64 (size, children).
        """
        cdef const int64_t[::1] sums = _arrays.integers("totals", totals, least=0, most=1 << 52)
        cdef int64_t n_pieces, node = v, size = self.tree.count[v], state = c_gather(&self.tree, node, False, &n_pieces)
        cdef int64_t spare
        if state != GOOD:
            raise ValueError(f"all sums of the counts of the children are impossible at node {v}")
        out = np.zeros((n_pieces, len(sums)), dtype=np.int64)
        cdef int64_t[:, ::1] values = out
        out[n_pieces - 1] = totals
        most = 1 + max(self.tree.pieces[i].size for i in range(n_pieces - 1)) if n_pieces > 1 else 1
        spare = c_take(&self.tree.scratch, most)
        if spare < 0:
            raise MemoryError("the messages of a family do not fit into memory")
        cdef bitgen_t *bits = c_bitgen(_checks.generator(rng))
        with rng.bit_generator.lock, nogil:
            split_fill(&self.tree, n_pieces, size, spare, values, bits)
        if (out < 0).any():
            raise ValueError(f"all totals are impossible at node {v}")
        return np.ascontiguousarray(out[:size].T)

    def splits(self, total, *, rng):
        """Draw the counts of all nodes once, int64 (n,), given the count of the root. Every count is split among the
        children, from the root to the leaves.
        """
        cdef bitgen_t *bits = c_bitgen(_checks.generator(rng))
        cdef int64_t[::1] counts = np.zeros(self.tree.size, dtype=np.int64)
        cdef int64_t[:, ::1] values = np.zeros((len(self.kept[9]) * 8 // sizeof(Piece), 1), dtype=np.int64)
        cdef int64_t failed
        counts[0] = total
        with rng.bit_generator.lock, nogil:
            failed = tree_fill(&self.tree, values, counts, bits)
        if failed >= 0:
            raise ValueError(f"all totals are impossible at node {failed}, or the messages do not fit into memory")
        return np.asarray(counts)

    def sums(self):
        """Return the mean and variance of the sum of the children of every inner node under their tilt, float64 (n, 2).
        """
        return self.kept[10]

    def nodes(self):
        """Return the first count, the length and the error bound of the message of every inner node."""
        return np.array([(self.tree.heads[v].low, self.tree.heads[v].size, self.tree.heads[v].error[0])
                         for v in range(self.tree.size)])

    def distinct(self):
        """Return the number of inner nodes whose messages were computed. Messages of the other inner nodes are copies
        from equal nodes.
        """
        return sum(self.tree.count[v] > 0 and self.tree.equal[3 * v] == v for v in range(self.tree.size))

    cdef object _copy(self, const double *data, int64_t size):
        cdef double[::1] out = np.empty(size)
        cdef int64_t k
        for k in range(size):
            out[k] = data[k]
        return np.asarray(out)

    def _begin(self):
        if not self.upward:
            raise ValueError("the upward pass must run before this method is called")
        cdef int64_t k
        self.tree.outer.used = 0
        if c_take(&self.tree.outer, self.tree.inner.used) < 0:
            raise MemoryError("the messages of the tree do not fit into memory")
        for k in range(self.tree.heads[0].size):
            self.tree.outer.data[self.tree.heads[0].at + k] = 1.0
        self.downward = True

    cdef void _node(self, int64_t v, double tail, double *out, double *more) noexcept nogil:
        """Compute the summary (mean, standard deviation, interval) of the count of an inner node."""
        cdef int64_t k, place
        cdef Piece *head = &self.tree.heads[v]
        self.tree.scratch.used = 0
        place = c_take(&self.tree.scratch, head.size)
        if place < 0:
            return
        for k in range(head.size):
            self.tree.scratch.data[place + k] = self.tree.inner.data[head.at + k] * self.tree.outer.data[head.at + k]
        self._describe(v, self.tree.scratch.data + place, head.low, head.size, tail, out, more)

    cdef void _describe(self, int64_t v, double *law, int64_t low, int64_t size, double tail, double *out,
                        double *more) noexcept nogil:
        c_summary(law, low, size, tail, out + 4 * v)
        if more != NULL:
            more[2 * v] = c_expected_digamma(law, low, size, self.tree.sites[v].own)
            more[2 * v + 1] = c_expected_digamma(law, low, size, self.tree.sites[v].others)

    cdef bint _is_copy(self, int64_t v, const unsigned char[::1] asked, const int64_t[::1] rows) noexcept nogil:
        """Return whether the summaries of the children of a node are copied from a later, equal node."""
        cdef int64_t k, u = self.tree.equal[3 * v]
        if u == v or not asked[u]:
            return False
        for k in range(self.tree.count[v]):
            if rows[self.tree.first[v] + k] != rows[self.tree.first[u] + k]:
                return False
        return True

    cdef void _copy_family(self, int64_t v, double *out, double *more) noexcept nogil:
        cdef int64_t k, a = self.tree.first[v], b = self.tree.first[self.tree.equal[3 * v]]
        memcpy(out + 4 * a, out + 4 * b, 4 * self.tree.count[v] * sizeof(double))
        if more != NULL:
            memcpy(more + 2 * a, more + 2 * b, 2 * self.tree.count[v] * sizeof(double))

    cdef int _family(self, int64_t v, double tail, double[:, ::1] out, double[:, ::1] more, bint digammas,
                     const int64_t[::1] rows, const int64_t[::1] edges, double[:, ::1] mass) noexcept nogil:
        """Compute the summaries of the posterior distributions of the children of a node."""
        cdef int64_t k, j, c, n_pieces, places, size = self.tree.count[v], bin_
        cdef int64_t *place
        cdef double *law
        cdef double *outer
        cdef int state
        cdef Piece *piece
        places = c_take(&self.tree.outer, 3 * size + 66)  # place for the same number of integers after the messages
        if places < 0:
            return MEMORY
        place = <int64_t *> (self.tree.outer.data + places)
        state = c_down(&self.tree, v, place, &n_pieces)
        if state != GOOD:
            return state
        c_pass_down(&self.tree, v, place)
        for k in range(size):
            c, piece = self.tree.first[v] + k, &self.tree.pieces[k]
            law, outer = self.tree.scratch.data + piece.at, self.tree.scratch.data + place[k]
            for j in range(piece.size):
                law[j] *= outer[j]
            self._describe(c, law, piece.low, piece.size, tail, &out[0, 0], &more[0, 0] if digammas else NULL)
            if rows[c] >= 0:  # expected numbers of leaves per bin: probabilities of the bin, summed over leaves
                bin_ = 0
                for j in range(piece.size):
                    while bin_ < edges.shape[0] - 2 and piece.low + j >= edges[bin_ + 1]:
                        bin_ += 1
                    mass[rows[c], bin_] += self.tree.equal[3 * v + 2] * law[j]
        self.tree.outer.used = places
        return GOOD
