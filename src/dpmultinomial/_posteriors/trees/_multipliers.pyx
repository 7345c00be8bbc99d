# cython: language_level=3
"""Multipliers of "the children add up to their parent": the tilt that the rest of the tree applies to a family.

With every node's weight psi_v summed as if it stood alone, the multipliers minimise the convex function
sum_v log sum_n psi_v(n) exp((lambda_parent - lambda_v) n), lambda of the root's parent and of leaves' children 0:
at its minimum the tilted means of a family's children add up to the tilted mean of their parent. Newton's steps solve
the tree from the leaves up in O(nodes). Nodes without measurement or bound hand their parent's tilt on, less the slope
of their own weight. Rough sums are good enough: the tilts only centre the messages.
"""
import numpy as np

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t

from ._moments cimport c_moments
from ._sites cimport FAR, GOOD, Site
from ._slacks cimport Node, c_fall, c_floor, c_plain_node, c_slack

cdef double NEAR = 0.1  # of a standard deviation: close enough
cdef double EDGE = 0.01  # of the inverse of a count
cdef double STRIDE = 3.0  # of one step, in standard deviations, or per count
cdef enum:
    ROUNDS = 60


cdef int64_t gather_fill(const int64_t[::1] parent, const int64_t[::1] count, const Site[::1] sites,
                         const double[::1] tables, const double[::1] tilts, Node *nodes, int *state) noexcept nogil:
    """From the leaves up: what every family's sum is and how it moves with the tilt; the node that failed, or -1."""
    cdef int64_t v, p, n = parent.shape[0]
    cdef Node *node
    cdef double tilt, share
    for v in range(n):
        nodes[v].below = nodes[v].spread = 0.0
    for v in range(n - 1, -1, -1):
        node = &nodes[v]
        p = parent[v]
        tilt = (tilts[p] if p >= 0 else 0.0) - (tilts[v] if count[v] else 0.0)
        if not node.passes:
            state[0] = c_moments(&sites[v], &tables[0], tilt, &node.mean, &node.variance)
            if state[0] != GOOD:
                return v
        if p < 0:
            continue
        if not count[v]:
            nodes[p].below += node.mean
            nodes[p].spread += node.variance
        elif node.passes:
            nodes[p].below += node.below
            nodes[p].spread += node.spread
        elif node.spread + node.variance == 0.0:
            nodes[p].below += node.mean
        else:
            share = node.spread / (node.spread + node.variance)
            nodes[p].below += share * node.mean + (1.0 - share) * node.below
            nodes[p].spread += share * node.variance
    return -1


cdef void start_fill(const int64_t[::1] parent, const int64_t[::1] count, const Site[::1] sites,
                     const double[::1] reach, double[::1] tilts, Node *nodes) noexcept nogil:
    """First tilts: 0 where everything falls off by itself, else what makes as many leaves as there are share a sum."""
    cdef int64_t v, p
    cdef double above, least
    for v in range(parent.shape[0]):
        nodes[v].below = 0.0
    for v in range(parent.shape[0] - 1, 0, -1):
        nodes[parent[v]].below += nodes[v].below if nodes[v].passes else 1.0
    for v in range(parent.shape[0]):
        if not count[v]:
            continue
        p = parent[v]
        above = tilts[p] if p >= 0 else 0.0
        tilts[v] = above if nodes[v].passes else 0.0
        if nodes[v].ceiling <= 0.0:
            tilts[v] = min(tilts[v], nodes[v].ceiling - max(nodes[v].below, 1.0) / (1.0 + reach[v]))
        least = c_floor(&sites[v], &nodes[v], above)
        if tilts[v] <= least:
            tilts[v] = least + min(1.0 / (1.0 + reach[v]), 0.5 * (nodes[v].ceiling - least))


cdef double move_fill(const int64_t[::1] parent, const int64_t[::1] count, const Site[::1] sites, double[::1] tilts,
                      double[::1] moves, Node *nodes, bint aimed) noexcept nogil:
    """From the root down: one step of every tilt, clipped; the largest, in standard deviations of its family's sum."""
    cdef int64_t v, p
    cdef double above, change, limit, largest = 0.0, new, offset, floor_
    cdef Node *node
    for v in range(parent.shape[0]):
        if not count[v]:
            continue
        node = &nodes[v]
        p = parent[v]
        above = moves[p] if p >= 0 else 0.0
        limit = sqrt(node.spread)
        if node.passes and not (aimed and sites[v].own != sites[v].others):
            node.estimate = max(node.below + above * node.spread, 0.0)
            offset = (sites[v].own - sites[v].others) / (node.estimate + 1.0)
            new = tilts[p] if p >= 0 else 0.0
            new += min(max(offset, -0.25 / (limit + 1e-3)), 0.5 * (node.ceiling - new))
        elif node.spread + node.variance == 0.0:
            new = tilts[v]
        else:
            change = (node.mean + node.variance * above - node.below) / (node.spread + node.variance)
            node.stride *= 0.5 if change * moves[v] < 0.0 else 1.25
            node.stride = min(node.stride, max(STRIDE / max(limit, 1.0), 0.3 * fabs(tilts[v])))
            offset = node.stride
            if node.ceiling <= 0.0:  # sums grow without end there, sds as fast: a share of the way is short enough
                offset = max(offset, min(0.7 * (node.ceiling - tilts[v]), 1.0))
            new = tilts[v] + min(max(change, -offset), offset)
            node.estimate = node.below + change * node.spread
        floor_ = c_floor(&sites[v], node, tilts[p] if p >= 0 else 0.0)
        if new >= node.ceiling:
            new = tilts[v] + 0.9 * (node.ceiling - tilts[v])
        if new <= floor_:
            new = floor_ + 0.1 * (tilts[v] - floor_ if tilts[v] > floor_ else
                                  min(node.ceiling - floor_, 1.0 / (limit + 1.0)))
        moves[v] = new - tilts[v]
        largest = max(largest, fabs(moves[v]) * limit)
        tilts[v] = new
    return largest


cdef void ceilings_fill(const int64_t[::1] parent, const int64_t[::1] count, const Site[::1] sites,
                        const double[::1] reach, Node *nodes) noexcept nogil:
    """What the tilts of a family must stay below, lest a child's weight does not fall off, nor too slowly."""
    cdef int64_t v, p
    for v in range(parent.shape[0]):
        nodes[v].edge, nodes[v].stride = EDGE / (1.0 + reach[v]), STRIDE
        nodes[v].ceiling = INFINITY
        nodes[v].passes = count[v] > 0 and c_plain_node(&sites[v])
        nodes[v].fall = c_fall(&sites[v])
    for v in range(parent.shape[0] - 1, 0, -1):
        p = parent[v]
        nodes[p].ceiling = min(nodes[p].ceiling, nodes[v].fall - sites[v].slope - nodes[v].edge
                               + (nodes[v].ceiling if count[v] else 0.0))


cdef void slacks_fill(const int64_t[::1] parent, const int64_t[::1] count, const Site[::1] sites,
                      const double[::1] tables, double[::1] tilts, double[::1] slacks, Node *nodes) noexcept nogil:
    """Second tilts, to either side of the first, under which errors are measured too; where none of them bounds what
    an error pays, the tilt of a node without measurement is that of its parent."""
    cdef int64_t v, p
    cdef double outer, above, least
    for v in range(parent.shape[0]):
        if not count[v]:
            continue
        p = parent[v]
        outer, above = (slacks[p], tilts[p]) if p >= 0 else (0.0, 0.0)
        slacks[v] = outer
        if nodes[v].passes and sites[v].own == sites[v].others and sites[v].damped == 0.0:
            tilts[v] = above
            continue
        if nodes[v].passes:
            tilts[v] = max(tilts[v], above - 0.3 * (nodes[v].ceiling - above))
        else:
            least = c_floor(&sites[v], &nodes[v], above) + outer
            if least > -INFINITY and tilts[v] < least + 0.1 * nodes[v].fall:
                tilts[v] = least + min(0.1 * nodes[v].fall, 0.5 * (nodes[v].ceiling - least))
        if c_slack(&sites[v], &tables[0], &nodes[v], above - tilts[v], tilts[v], outer, &slacks[v]) == INFINITY \
                and nodes[v].passes:
            tilts[v] = above
            c_slack(&sites[v], &tables[0], &nodes[v], 0.0, above, outer, &slacks[v])


def reach(parent, sites):
    """Rough upper guesses of all counts, float64 (n,): of the nearest node at or above each that says something.

    Parameters
    ----------
    parent, sites : as of `balance`.
    """
    cdef const int64_t[::1] above = parent
    cdef const Site[::1] site = sites
    cdef double[::1] out = np.ones(len(parent))
    cdef int64_t v
    cdef double steep
    with nogil:
        for v in range(above.shape[0]):
            steep = 2.0 * site[v].square if site[v].square > 0.0 else site[v].absolute * site[v].absolute
            if site[v].table >= 0:
                out[v] = max(<double> (site[v].begin + site[v].length), 1.0)
            elif steep > 0.0:
                out[v] = max(site[v].centre, 0.0) + 3.0 / sqrt(steep)
            elif site[v].upper < FAR:
                out[v] = <double> site[v].upper
            elif v:
                out[v] = out[above[v]]
    return np.asarray(out)


def balance(parent, count, sites, tables, reach, start=None):
    """Tilts that centre the messages of a tree.

    Parameters
    ----------
    parent : int64 (n,), of every node, before it in the order; -1 at the root, which stands first.
    count : int64 (n,), number of children.
    sites : structured (n,), see `sites.SITE`.
    tables : float64 (t,), t >= 1, log weights that sites point to.
    reach : float64 (n,), >= 0, a rough upper guess of every count, where a first tilt must make weights fall off.
    start : float64 (n,), tilts under which all weights fall off; None: 0 where that will do.

    Returns
    -------
    tilts : float64 (n,), of the children of every node; 0 at leaves.
    slacks : float64 (n,), >= 0: errors are bounded under tilts - slacks and tilts + slacks.
    rounds : Newton's steps taken.
    failed : (node, state) of a weight that has no window, else (-1, 0).
    """
    cdef const int64_t[::1] parent_view = parent, count_view = count
    cdef const Site[::1] sites_view = sites
    cdef const double[::1] tables_view = tables
    cdef const double[::1] reach_view = reach
    cdef double[::1] tilts = np.zeros(len(parent)) if start is None else np.array(start)
    cdef double[::1] slacks = np.zeros(len(parent))
    cdef bint fresh = start is None
    cdef double[::1] moves = np.zeros(len(parent))
    space = np.zeros(len(parent) * sizeof(Node) // 8 + 1)
    cdef double[::1] space_view = space
    cdef Node *nodes = <Node *> &space_view[0]
    cdef int state = GOOD
    cdef int64_t node = -1, rounds = 0
    cdef double largest = INFINITY
    with nogil:
        ceilings_fill(parent_view, count_view, sites_view, reach_view, nodes)
        if fresh:
            start_fill(parent_view, count_view, sites_view, reach_view, tilts, nodes)
        while rounds < ROUNDS and largest > NEAR:
            node = gather_fill(parent_view, count_view, sites_view, tables_view, tilts, nodes, &state)
            if node >= 0:
                break
            largest = move_fill(parent_view, count_view, sites_view, tilts, moves, nodes, False)
            rounds += 1
        slacks_fill(parent_view, count_view, sites_view, tables_view, tilts, slacks, nodes)
    return np.asarray(tilts), np.asarray(slacks), rounds, (int(node), int(state))


def refine(parent, count, sites, tables, reach, tilts, sums, means=None):
    """One more step, from the sums that the messages themselves have under these tilts.

    Parameters
    ----------
    parent, count, sites, tables, reach : as of `balance`.
    tilts : float64 (n,).
    sums : float64 (n, 2), mean and variance of the sum of every inner node's children.
    means : float64 (n,), what the mean of each sum shall be; None: what balances it with the node's own weight.

    Returns
    -------
    tilts, slacks, failed : as of `balance`.
    """
    cdef const int64_t[::1] parent_view = parent, count_view = count
    cdef const Site[::1] sites_view = sites
    cdef const double[::1] tables_view = tables
    cdef const double[::1] reach_view = reach
    cdef const double[:, ::1] sums_view = sums
    cdef const double[::1] means_view = np.zeros(1) if means is None else means
    cdef double[::1] new = np.array(tilts, dtype=np.float64), slacks = np.zeros(len(parent))
    cdef double[::1] moves = np.zeros(len(parent))
    space = np.zeros(len(parent) * sizeof(Node) // 8 + 1)
    cdef double[::1] space_view = space
    cdef Node *nodes = <Node *> &space_view[0]
    cdef int state = GOOD
    cdef int64_t node = -1, v
    cdef bint aimed = means is not None
    with nogil:
        ceilings_fill(parent_view, count_view, sites_view, reach_view, nodes)
        if not aimed:
            node = gather_fill(parent_view, count_view, sites_view, tables_view, new, nodes, &state)
        for v in range(parent_view.shape[0]):
            nodes[v].below, nodes[v].spread = sums_view[v, 0], sums_view[v, 1]
            if aimed:
                nodes[v].mean, nodes[v].variance = means_view[v], 0.0
        if node < 0:
            move_fill(parent_view, count_view, sites_view, new, moves, nodes, aimed)
        slacks_fill(parent_view, count_view, sites_view, tables_view, new, slacks, nodes)
    return np.asarray(new), np.asarray(slacks), (int(node), int(state))
