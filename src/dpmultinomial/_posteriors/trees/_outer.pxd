# cython: language_level=3, cdivision=True, wraparound=False
"""What the rest of a tree says of the children of one node, and what a message makes of it."""
from libc.math cimport INFINITY, log, sqrt
from libc.stdint cimport int64_t

from ._convolution cimport c_correlate, c_room, c_sum
from ._families cimport Piece, c_take
from ._messages cimport GOOD, MEMORY, Tree, c_gather, c_weight

cdef extern from *:
    const double TIE "1e-12"  # of a probability: sums of rounded numbers are equal within it


cdef inline void c_largest_one(double *values, int64_t size) noexcept nogil:
    cdef int64_t k
    cdef double most = 0.0
    for k in range(size):
        most = max(most, values[k])
    if most > 0.0:
        for k in range(size):
            values[k] /= most


cdef inline int c_down(Tree *t, int64_t v, int64_t *places, int64_t *made) noexcept nogil:
    """places[i]: where in the scratch store stands what all others say of piece i, on its window, largest 1."""
    cdef int64_t i, k, at, gap, spare, size = t.count[v]
    cdef Piece *head = &t.heads[v]
    cdef Piece *a
    cdef Piece *b
    cdef int state = c_gather(t, v, False, made)
    if state != GOOD:
        return state
    at = c_take(&t.scratch, head.size)
    if at < 0 or c_take(&t.scratch, head.size) < 0:
        return MEMORY
    for k in range(head.size):
        t.scratch.data[at + k] = t.outer.data[head.at + k]
    c_weight(t, v, head.low, head.size, t.scratch.data + at)
    c_largest_one(t.scratch.data + at, head.size)
    if size == 1:
        places[0] = c_take(&t.scratch, t.pieces[0].size)
        if places[0] < 0:
            return MEMORY
        for k in range(t.pieces[0].size):
            gap = t.pieces[0].low + k - head.low
            t.scratch.data[places[0] + k] = t.scratch.data[at + gap] if 0 <= gap < head.size else 0.0
        return GOOD
    t.pieces[made[0] - 1].low, t.pieces[made[0] - 1].size = head.low, head.size
    places[made[0] - 1] = at
    for i in range(made[0] - 1, size - 1, -1):
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


cdef inline double c_digamma(double x) noexcept nogil:
    cdef double shift = 0.0, y
    while x < 10.0:
        shift += 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    return log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132)))) - shift


cdef inline double c_expected_digamma(const double *p, int64_t low, int64_t size, double shift) noexcept nogil:
    """E psi(n + shift) under probabilities p at low, low + 1, .."""
    cdef double value = c_digamma(low + shift), total = 0.0
    cdef int64_t k
    for k in range(size):
        total += p[k] * value
        value += 1.0 / (low + k + shift)
    return total


cdef inline void c_summary(double *p, int64_t low, int64_t size, double tail, double *out) noexcept nogil:
    """Scale to sum 1; mean, sd, and the smallest counts with P(N <= n) >= tail and P(N > n) <= tail."""
    cdef double total = c_sum(p, size), mean = 0.0, variance = 0.0, running
    cdef int64_t k
    for k in range(size):
        p[k] /= total
        mean += k * p[k]
    for k in range(size):
        variance += (k - mean) * (k - mean) * p[k]
    out[0], out[1] = low + mean, sqrt(variance)
    running = p[0]
    k = 0
    while k < size - 1 and running < tail * (1.0 - TIE):
        k += 1
        running += p[k]
    out[2] = low + k
    running = 0.0
    k = size - 1
    while k > 0 and running + p[k] <= tail * (1.0 + TIE):
        running += p[k]
        k -= 1
    out[3] = low + k


cdef inline void c_hand_on(Tree *t, int64_t v, const int64_t *places) noexcept nogil:
    """What the rest says of inner children, to where their own turn finds it."""
    cdef int64_t k, j, c, gap
    for k in range(t.count[v]):
        c = t.first[v] + k
        if t.count[c]:
            for j in range(t.heads[c].size):
                gap = t.heads[c].low + j - t.pieces[k].low
                t.outer.data[t.heads[c].at + j] = \
                    t.scratch.data[places[k] + gap] if 0 <= gap < t.pieces[k].size else 0.0
