# cython: language_level=3, cdivision=True, wraparound=False
"""What a tilt of one family has to keep to, and second tilts to either side of it under which errors are bounded."""
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t

from ._sites cimport FAR, Site
from ._suprema cimport c_supremum


cdef struct Node:
    double mean, variance  # of the node's own weight under its tilt
    double below, spread  # sum of the children's means, of their variances
    double ceiling  # tilts of the children must stay below
    double estimate  # of the count
    double fall  # of the log weight a count, far above; infinite where it falls faster or ends
    double stride  # longest step; shorter where the last one went too far
    double edge  # distance kept from tilts under which the weight does not fall off
    bint passes


cdef inline bint c_plain_node(const Site *s) noexcept nogil:
    """No measurement and no bound: the tilt passes."""
    return s.square == 0.0 and s.absolute == 0.0 and s.table < 0 and s.lower == 0 and s.upper >= FAR


cdef inline double c_floor(const Site *s, const Node *node, double above) noexcept nogil:
    """What a family's tilt must stay above, lest its parent's own weight does not fall off."""
    return -INFINITY if node.passes else above + s.slope - node.fall + node.edge


cdef inline double c_fall(const Site *s) noexcept nogil:
    """What the log weight falls by a count, far above."""
    if s.square > 0.0 or s.upper < FAR:
        return INFINITY
    if s.table < 0:
        return s.absolute
    return s.above if s.above >= 0.0 else INFINITY


cdef inline double c_cost(const Site *s, const double *tables, double tilt, double eta, double outer,
                          double estimate, double spread) noexcept nogil:
    """What an error pays at most on its way through a node, in logs."""
    cdef double base = <double> (<int64_t> (estimate + 0.5)), up, down
    up = c_supremum(s, tables, tilt + outer, eta, estimate, 0, FAR, base)
    down = c_supremum(s, tables, tilt - outer, eta, estimate, 0, FAR, base) if outer > 0.0 else up
    return max(up, down) + 0.5 * eta * eta * spread


cdef inline double c_slack(const Site *s, const double *tables, const Node *node, double tilt, double below,
                           double outer, double *slack) noexcept nogil:
    """The cheapest of some slacks, and its cost."""
    cdef double least = max(tilt + outer, 0.0) if node.passes else 0.0, room = 0.7 * (node.ceiling - below), cost
    cdef double best = INFINITY
    cdef double etas[9]
    cdef int64_t k
    for k in range(6):
        etas[k] = least + 0.125 * k * k / sqrt(node.spread) if node.spread > 0.0 else least
    for k in range(3):
        etas[6 + k] = least + 0.3 * (k + 1) * (room - least) if least < room < INFINITY else least
    for k in range(9):
        if etas[k] > 0.0 and etas[k] > room:
            continue
        cost = c_cost(s, tables, tilt, etas[k], outer, node.estimate, node.spread)
        if cost < best:
            best, slack[0] = cost, etas[k]
        if not node.passes and best < INFINITY:
            break
    return best
