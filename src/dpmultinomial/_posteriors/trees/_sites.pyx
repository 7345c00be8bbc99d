# cython: language_level=3
"""Weights of the nodes of a tree, before messages are computed: the exponential tilts that centre them, and the weights
of moves of Markov chains.

The multipliers of the constraints "the sum of the children is the count of the parent" are the tilts that all other
nodes of the tree apply to a family (a node and its children). If the weight psi_v of every node is summed separately,
the tilts minimise the convex function

F(lambda) = sum_v log sum_n psi_v(n) exp((lambda_parent(v) - lambda_v) n),

where lambda is 0 for the parent of the root and for the children of leaves. At the minimum, the tilted means of the
children of a family sum to the tilted mean of the parent. A Newton step solves the tree from the leaves up in O(nodes).
The tilt of a node without measurement or bound is the tilt of its parent plus the slope of log psi_v. Approximate sums
are sufficient, because the tilts only centre the messages (`balance`, `refine`).

A chain over crossed cells moves along a direction, which assigns +1, 0 or -1 to every cell. Let n be the count of the
first moving cell; then a sum over cells is rest + k n. `Ends` stores the weights of n given all other counts in the
sites of the nodes. Terms that do not depend on the state are computed only once.
"""
cimport cython
import numpy as np

from libc.math cimport INFINITY, ceil, exp, fabs, floor, log, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcmp

cdef extern from "messages.h" nogil:
    double c_sum "trees_sum"(const double *values, int64_t n) noexcept
    void c_summary "trees_summary"(double *p, int64_t low, int64_t size, double tail, double *out) noexcept

cdef enum:
    POINTS = 32  # number of grid points of a long window
    FIRST = 8  # number of counts at the lower bound that are never skipped

cdef extern from *:
    const double FALL "18.0"  # terms whose log weight is lower by this amount are neglected
cdef double NEAR = 0.1  # distance from the minimum, in standard deviations, that is sufficient
cdef double EDGE = 0.01  # relative to the inverse of a count
cdef double STRIDE = 3.0  # longest step, in standard deviations, or per count
cdef enum:
    ROUNDS = 60


# Approximate means and variances of tilted weights from few counts, used only to centre sums that are computed exactly
# later.

cdef inline void c_zoom(const Site *s, const double *tables, double tilt, int64_t *low, int64_t *high) noexcept nogil:
    """Reduce a range of counts to the part in which the weights of a table are not negligible, on successively finer
    grids.
    """
    cdef int64_t step, n, k, first, last, size = high[0] - low[0] + 1
    cdef double most, value
    while size > 2 * POINTS:
        # the largest log weight on a grid of at most 2 POINTS counts
        step = size // (2 * POINTS) + 1
        most = -INFINITY
        for k in range((size + step - 1) // step):
            most = max(most, c_log(s, tables, tilt, low[0] + k * step, low[0]))
        # keep the grid points within FALL of the maximum, and one more on each side
        first, last = high[0], low[0]
        for k in range((size + step - 1) // step):
            n = low[0] + k * step
            value = c_log(s, tables, tilt, n, low[0])
            if value >= most - FALL:
                first, last = min(first, n), max(last, n)
        low[0], high[0] = max(low[0], first - step), min(high[0], last + step)
        if 2 * (high[0] - low[0] + 1) > size:
            return
        size = high[0] - low[0] + 1


cdef inline int c_each(const Site *s, const double *tables, double tilt, int64_t low, int64_t high, double *mean,
                       double *variance) noexcept nogil:
    """Compute the mean and variance of `c_moments` from every count of a table with zeros, because a grid could miss
    the positive weights.
    """
    cdef double most = -INFINITY, total = 0.0, first = 0.0, second = 0.0, weight
    cdef int64_t n
    for n in range(low, high + 1):
        most = max(most, c_log(s, tables, tilt, n, low))
    if most == -INFINITY:
        return EMPTY
    for n in range(low, high + 1):
        weight = exp(c_log(s, tables, tilt, n, low) - most)
        total += weight
        first += weight * (n - low)
    first /= total
    for n in range(low, high + 1):
        second += exp(c_log(s, tables, tilt, n, low) - most) * (n - low - first) * (n - low - first)
    mean[0], variance[0] = low + first, second / total
    return GOOD


cdef inline int c_moments(const Site *s, const double *tables, double tilt, double *mean,
                          double *variance) noexcept nogil:
    """Compute the mean and variance of the count of a node under a tilt, from every count of a short window or from a
    grid of counts of a long window.
    """
    cdef int64_t low, high, step, j, size = 0
    cdef double points[2 * POINTS + FIRST]
    cdef double logs[2 * POINTS + FIRST]
    cdef double weights[2 * POINTS + FIRST]
    cdef double n, most = -INFINITY, total = 0.0, first = 0.0, second = 0.0
    cdef int state = c_window(s, tilt, FALL, &low, &high)
    if state != GOOD:
        return state
    if s.table >= 0 and s.swing == INFINITY:
        return c_each(s, tables, tilt, low, high, mean, variance)
    if s.table >= 0:
        c_zoom(s, tables, tilt, &low, &high)
    # points n_j represent blocks of `step` counts each, with the length of the block as weight; the counts next to the
    # lower bound are used separately, because the weights may change by large factors there
    step = (high - low + POINTS) // POINTS
    if step > 1 and low == s.lower:
        for j in range(FIRST):
            points[size], weights[size] = low + j, 1.0
            size += 1
        low += FIRST
    for j in range((high - low + step) // step):
        n = min(step, high - low - j * step + 1)
        points[size], weights[size] = low + j * step + <int64_t> (0.5 * (n - 1.0)), n
        size += 1
    # mean and variance of n under weights_j psi(n_j), relative to the first point
    for j in range(size):
        logs[j] = c_log(s, tables, tilt, points[j], points[0])
        most = max(most, logs[j])
    if most == -INFINITY:
        return EMPTY
    for j in range(size):
        logs[j] = weights[j] * exp(logs[j] - most)
        total += logs[j]
        first += logs[j] * (points[j] - points[0])
    first /= total
    for j in range(size):
        second += logs[j] * (points[j] - points[0] - first) * (points[j] - points[0] - first)
    mean[0], variance[0] = points[0] + first, second / total
    return GOOD


# Limits on the tilt of a family, and slacks: second tilts on both sides of it, under which errors are bounded.

cdef struct Node:
    double mean, variance  # mean and variance of the node's weight under its tilt
    double below, spread  # sum of the means of the children, and of their variances
    double ceiling  # upper limit of the tilts of the children
    double estimate  # estimate of the count
    double fall  # decrease of the log weight per count for very large counts; infinite if it decreases faster or ends
    double stride  # longest step; reduced if the last step was too long
    double edge  # distance from tilts under which the weight does not decrease
    bint passes


cdef inline bint c_plain_node(const Site *s) noexcept nogil:
    """Return whether a node has neither a measurement nor a bound, so that its tilt follows from the tilt of its
    parent.
    """
    return s.square == 0.0 and s.absolute == 0.0 and s.table < 0 and s.lower == 0 and s.upper >= FAR


cdef inline double c_floor(const Site *s, const Node *node, double above) noexcept nogil:
    """Return the lower limit of the tilt of the children of a node, above which the tilted weight of the node
    decreases.
    """
    return -INFINITY if node.passes else above + s.slope - node.fall + node.edge


cdef inline double c_fall(const Site *s) noexcept nogil:
    """Return the decrease of the log weight of a node per count, for very large counts."""
    if s.square > 0.0 or s.upper < FAR:
        return INFINITY
    if s.table < 0:
        return s.absolute
    return s.above if s.above >= 0.0 else INFINITY


cdef inline double c_cost(const Site *s, const double *tables, double tilt, double eta, double outer,
                          double estimate, double spread) noexcept nogil:
    """Return the log of the largest factor by which the weight of a node multiplies the error of a message."""
    cdef double base = <double> (<int64_t> (estimate + 0.5)), up, down
    up = c_supremum(s, tables, tilt + outer, eta, estimate, 0, FAR, base)
    down = c_supremum(s, tables, tilt - outer, eta, estimate, 0, FAR, base) if outer > 0.0 else up
    return max(up, down) + 0.5 * eta * eta * spread


cdef inline double c_slack(const Site *s, const double *tables, const Node *node, double tilt, double below,
                           double outer, double *slack) noexcept nogil:
    """Choose the difference between two tilts (the slack) with the lowest cost among several candidates, and return the
    cost.
    """
    cdef double least = max(tilt + outer, 0.0) if node.passes else 0.0, room = 0.7 * (node.ceiling - below), cost
    cdef double best = INFINITY
    cdef double etas[9]
    cdef int64_t k
    # candidates: a grid on the scale of 1/sd of the sum, and three fractions of the room below the ceiling
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


# Newton's steps on F.

cdef int64_t gather_fill(const int64_t[::1] parent, const int64_t[::1] count, const Site[::1] sites,
                         const double[::1] tables, const double[::1] tilts, Node *nodes, int *state) noexcept nogil:
    """Compute, from the leaves to the root, the mean of the sum of the children of every node and its derivative with
    respect to the tilt. The function returns the node at which the computation fails, or -1.
    """
    cdef int64_t v, p, n = parent.shape[0]
    cdef Node *node
    cdef double tilt, share
    for v in range(n):
        nodes[v].below = nodes[v].spread = 0.0
    for v in range(n - 1, -1, -1):
        node = &nodes[v]
        p = parent[v]
        # mean and variance of psi_v(n) exp((lambda_parent - lambda_v) n)
        tilt = (tilts[p] if p >= 0 else 0.0) - (tilts[v] if count[v] else 0.0)
        if not node.passes and v + 1 < n and not count[v] and not count[v + 1] and \
                tilts[p] == tilts[parent[v + 1]] and not memcmp(&sites[v], &sites[v + 1], sizeof(Site)):
            node.mean, node.variance = nodes[v + 1].mean, nodes[v + 1].variance  # equal leaves
        elif not node.passes:
            state[0] = c_moments(&sites[v], &tables[0], tilt, &node.mean, &node.variance)
            if state[0] != GOOD:
                return v
        if p < 0:
            continue
        # contribution of v to the means and variances of its parent's sum, with the tilts below v eliminated
        if not count[v]:
            nodes[p].below += node.mean
            nodes[p].spread += node.variance
        elif node.passes:
            nodes[p].below += node.below
            nodes[p].spread += node.spread
        elif node.spread + node.variance == 0.0:
            nodes[p].below += node.mean
        else:
            # product of two normal distributions of the same count: the precisions are added
            share = node.spread / (node.spread + node.variance)
            nodes[p].below += share * node.mean + (1.0 - share) * node.below
            nodes[p].spread += share * node.variance
    return -1


cdef void start_fill(const int64_t[::1] parent, const int64_t[::1] count, const Site[::1] sites,
                     const double[::1] reach, double[::1] tilts, Node *nodes) noexcept nogil:
    """Choose the initial tilts of all nodes: 0 if all weights decrease, and otherwise tilts under which the leaves
    share a sum equally.
    """
    cdef int64_t v, p
    cdef double above, least
    for v in range(parent.shape[0]):
        nodes[v].below = 0.0
    # number of leaves, or of nodes with a weight, below every node
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
    """Change every tilt by one clipped step, from the root to the leaves. The function returns the longest step, in
    standard deviations of the sum of the children.
    """
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
            # no measurement: the parent's tilt, plus the slope of log psi_v at the estimated count
            node.estimate = max(node.below + above * node.spread, 0.0)
            offset = (sites[v].own - sites[v].others) / (node.estimate + 1.0)
            new = tilts[p] if p >= 0 else 0.0
            new += min(max(offset, -0.25 / (limit + 1e-3)), 0.5 * (node.ceiling - new))
        elif node.spread + node.variance == 0.0:
            new = tilts[v]
        else:
            # Newton step of lambda_v, given the step `above` of its parent, for which the mean of the node equals the
            # mean of the sum below
            change = (node.mean + node.variance * above - node.below) / (node.spread + node.variance)
            node.stride *= 0.5 if change * moves[v] < 0.0 else 1.25
            node.stride = min(node.stride, max(STRIDE / max(limit, 1.0), 0.3 * fabs(tilts[v])))
            offset = node.stride
            # sums increase without limit near the ceiling, and so do the sds; a fraction of the distance is sufficient
            if node.ceiling <= 0.0:
                offset = max(offset, min(0.7 * (node.ceiling - tilts[v]), 1.0))
            new = tilts[v] + min(max(change, -offset), offset)
            node.estimate = node.below + change * node.spread
        # stay strictly between the floor and the ceiling, where all weights decrease
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
    """Compute the upper limits of all tilts, below which the weights of all children of a node decrease fast enough."""
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
    """Choose the slack of every node: the truncation errors are bounded under the tilt plus and minus the slack. If no
    slack gives a bound, the tilt of a node without measurement is set to the tilt of its parent.
    """
    cdef int64_t v, p
    cdef double outer, above, least
    for v in range(parent.shape[0]):
        if not count[v]:
            continue
        p = parent[v]
        outer, above = (slacks[p], tilts[p]) if p >= 0 else (0.0, 0.0)
        slacks[v] = outer  # used unless a better slack is found below
        if nodes[v].passes and sites[v].own == sites[v].others and sites[v].damped == 0.0:
            tilts[v] = above
            continue
        # move tilts away from the floor, so that there is room for a slack on both sides
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
    """Return approximate upper bounds on all counts of a tree, float64 (n,). They follow from the nearest ancestor with
    a measurement or a bound.

    Parameters
    ----------
    parent, sites : as in `balance`.
    """
    cdef const int64_t[::1] above = parent
    cdef const Site[::1] site = sites
    cdef double[::1] out = np.ones(len(parent))
    cdef int64_t v
    cdef double steep
    with nogil:
        for v in range(above.shape[0]):
            # 1/variance of a measurement: of exp(-square d^2), and of exp(-absolute |d|) up to a factor of 2
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
    """Return the exponential tilts that centre the messages of the sum-product algorithm on a tree.

    Parameters
    ----------
    parent : int64 (n,), parent of every node, which precedes it in the order; -1 at the root, which is first.
    count : int64 (n,), number of children.
    sites : structured (n,), see `sites.SITE`.
    tables : float64 (t,), t >= 1, log weights to which sites point.
    reach : float64 (n,), >= 0, approximate upper bound on every count, up to which the weights under an initial tilt
        must decrease.
    start : float64 (n,), initial tilts, under which all weights decrease; None: 0 if that is possible.

    Returns
    -------
    tilts : float64 (n,), tilts of the children of every node; 0 at leaves.
    slacks : float64 (n,), >= 0; errors are bounded under tilts - slacks and tilts + slacks.
    rounds : number of Newton steps.
    failed : (node, state) of a weight that has no window, otherwise (-1, 0).
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
    """Improve the tilts of all nodes by one step, computed from the means and variances of the messages under the
    current tilts.

    Parameters
    ----------
    parent, count, sites, tables, reach : as in `balance`.
    tilts : float64 (n,).
    sums : float64 (n, 2), mean and variance of the sum of the children of every inner node.
    means : float64 (n,), target mean of each sum; None: the mean that is in balance with the node's weight.

    Returns
    -------
    tilts, slacks, failed : as in `balance`.
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


# Sums of the weights of single nodes under given tilts, for mixtures of independent counts.

def sums(sites, tables, tilts, fall, most):
    """Return the sum of every weight under every tilt, with moments, a bound on the rest, and the window.

    Parameters
    ----------
    sites : structured (n,), see `sites.SITE`.
    tables : float64 (t,), t >= 1, log weights to which sites point.
    tilts : float64 (t,).
    fall : > 0, decrease of the log weight from its maximum to the ends of the window.
    most : largest number of counts in all windows.

    Returns
    -------
    float64 (n, tilts, 6)
        Log of the sum in a window, mean, variance, upper bound on the log of the sum outside the window, and both ends
        of the window.

    Raises
    ------
    OverflowError
        If the sum of a weight over all counts is infinite, or if the windows have more than `most` counts.
    """
    cdef const Site[::1] site = sites
    cdef const double[::1] table = tables, tilt = tilts
    cdef double[:, :, ::1] out = np.zeros((len(sites), len(tilts), 6))
    cdef double depth = fall, limit = most, counts = 0.0, widest = 0.0, total, first, second
    cdef int64_t i, j, k, low, high
    with nogil:
        for i in range(site.shape[0]):
            for j in range(tilt.shape[0]):
                if c_window(&site[i], tilt[j], depth, &low, &high) != GOOD:
                    counts = INFINITY
                    continue
                out[i, j, 4], out[i, j, 5] = low, high
                counts, widest = counts + high - low + 1, max(widest, high - low + 1)
    if not counts <= limit or counts == INFINITY:
        raise OverflowError(counts)
    cdef double[::1] values = np.empty(<int64_t> widest)
    with nogil:
        for i in range(site.shape[0]):
            for j in range(tilt.shape[0]):
                low, high = <int64_t> out[i, j, 4], <int64_t> out[i, j, 5]
                out[i, j, 0] = c_fill(&site[i], &table[0], tilt[j], low, high, &values[0])
                total, first, second = c_sum(&values[0], high - low + 1), 0.0, 0.0
                for k in range(high - low + 1):
                    first += k * values[k]
                first /= total
                for k in range(high - low + 1):
                    second += (k - first) * (k - first) * values[k]
                out[i, j, 0], out[i, j, 1], out[i, j, 2] = out[i, j, 0] + log(total), low + first, second / total
                out[i, j, 3] = max(c_above(&site[i], &table[0], tilt[j], high),
                                   c_below(&site[i], &table[0], tilt[j], low)) + LOG_2
    return np.asarray(out)


def components(site, tables, tilts, low, high):
    """Return the normalised weights of one node at the counts low .. high under every tilt.

    Parameters
    ----------
    site : structured (1,), see `sites.SITE`.
    tables, tilts : arguments of `sums`.
    low, high : first and last count.

    Returns
    -------
    float64 (tilts, high - low + 1)
    """
    cdef const Site[::1] one = site
    cdef const double[::1] table = tables, tilt = tilts
    cdef int64_t first = low, last = high, j, k
    cdef double[:, ::1] out = np.empty((len(tilts), high - low + 1))
    cdef double total
    with nogil:
        for j in range(tilt.shape[0]):
            c_fill(&one[0], &table[0], tilt[j], first, last, &out[j, 0])
            total = c_sum(&out[j, 0], last - first + 1)
            for k in range(last - first + 1):
                out[j, k] /= total
    return np.asarray(out)


def interval(law, low, tail):
    """Return the mean, the standard deviation and the ends of the central interval of a distribution of a count.

    Parameters
    ----------
    law : float64 (n,), probabilities of low, low + 1, ..; they sum to 1.
    low : first count.
    tail : probability below and above the interval.

    Returns
    -------
    float64 (4,)
    """
    cdef double[::1] p = law, out = np.empty(4)
    c_summary(&p[0], low, p.shape[0], tail, &out[0])
    return np.asarray(out)


@cython.auto_pickle(False)
@cython.final
cdef class Ends:
    """Weights of the count of the first moving cell in every node, for one direction of a Markov chain: bounds,
    parabolas, tents and tables.

    Parameters
    ----------
    direction : int64 (cells,), +1, 0 and -1; the first non-zero entry is positive.
    count : int64 (m,), numbers of children, in the kernels' order.
    sums : int64 (queries, cells), 1 if the query includes the cell.
    hard : int64 (h, 3), node, query and k of every sum with bounds; no k is 0.
    bounds : float64 (h, 2), lower and upper bound of each of these sums.
    measured : int64 (p, 4), node, query, k and form (1 for a parabola, 0 for a tent) of every measured value.
    form : float64 (p, 2), centre and steepness of each measured value.

    Raises
    ------
    ValueError
        If lengths disagree, or a node, a query or a k is invalid.
    """
    cdef const int64_t[::1] direction, count
    cdef const int64_t[:, ::1] sums, hard, measured
    cdef const double[:, ::1] bounds, form
    cdef double[:, ::1] space
    cdef int64_t first

    def __cinit__(self, direction, count, sums, hard, bounds, measured, form):
        for name, rows, more in (("hard", hard, bounds), ("measured", measured, form)):
            if len(rows) != len(more):
                raise ValueError(f"{name}: both lists of rows must have the same length, got {len(rows)} and "
                                 f"{len(more)}")
            if len(rows) and not (rows[:, :2].min() >= 0 and rows[:, 0].max() < len(count)
                                  and rows[:, 1].max() < len(sums) and rows[:, 2].all()):
                raise ValueError(f"{name} must contain nodes below {len(count)}, queries below {len(sums)} and only "
                                 "k != 0")
        if sums.shape[1] != len(direction) or not (direction > 0).any():
            raise ValueError(f"direction must have {sums.shape[1]} entries, at least one of which is > 0, got "
                             f"{direction}")
        self.direction, self.count, self.sums = direction, count, sums
        self.hard, self.bounds, self.measured, self.form = hard, bounds, measured, form
        self.space = np.zeros((len(count), 3))
        self.first = int(np.argmax(direction))

    def ends(self, state, sites):
        """Compute the smallest and the largest possible count of the first moving cell in every node.

        Parameters
        ----------
        state : int64 (m, cells), counts in the kernels' order.
        sites : structured (m,), `sites.SITE`; the fields lower and upper are set.

        Returns
        -------
        free : whether any leaf has two possible counts.
        total : total number of possible counts of all nodes.
        most : largest possible count of any moving cell.
        """
        cdef const int64_t[:, ::1] counts = state
        cdef Site[::1] site = sites
        self._checked(counts, site)
        cdef int64_t v, i, n, low, high, change, k, most = 0
        cdef double rest, one, two, total = 0.0
        cdef bint free = False
        with nogil:
            # every cell must be >= 0: cells that increase bound n from below, and cells that decrease bound n from
            # above
            for v in range(counts.shape[0]):
                n = counts[v, self.first]
                low, high = n, FAR
                for i in range(self.direction.shape[0]):
                    if self.direction[i] > 0:
                        low = min(low, counts[v, i])
                    elif self.direction[i] < 0:
                        high = min(high, counts[v, i])
                site[v].lower, site[v].upper = n - low, n + high if high < FAR else FAR
            # sums with bounds: lower <= rest + k n <= upper, for k of either sign
            for i in range(self.hard.shape[0]):
                v, k = self.hard[i, 0], self.hard[i, 2]
                rest = <double> (self._sum(counts, v, self.hard[i, 1]) - k * counts[v, self.first])
                one, two = (self.bounds[i, 0] - rest) / k, (self.bounds[i, 1] - rest) / k
                site[v].lower = max(site[v].lower, <int64_t> ceil(max(min(one, two), -1.0)))
                site[v].upper = min(site[v].upper, <int64_t> floor(min(max(one, two), <double> FAR)))
            # number of possible n, and the largest possible count of a cell
            for v in range(counts.shape[0]):
                low, high = site[v].lower, site[v].upper
                free = free or (self.count[v] == 0 and low < high)
                total += max(high - low + 1, 0)
                for i in range(self.direction.shape[0]):
                    if self.direction[i]:
                        change = (high if self.direction[i] > 0 else low) - counts[v, self.first]
                        most = max(most, counts[v, i] + self.direction[i] * change)
        return bool(free), int(total), int(most)

    def shapes(self, state, sites):
        """Store the likelihoods with a closed form in the sites of the nodes: the product of all parabolas of a node,
        or a single tent.

        Parameters
        ----------
        state, sites : as in `ends`; the fields centre, square and absolute are set.
        """
        cdef const int64_t[:, ::1] counts = state
        cdef Site[::1] site = sites
        self._checked(counts, site)
        cdef int64_t i, v, k
        cdef double centre, steep
        with nogil:
            self.space[:, :] = 0.0  # per node: total steepness, centre of one parabola, and offset of their mean
            # total steepness of the parabolas of a node, and the centre of one of them
            for i in range(self.measured.shape[0]):
                v = self.measured[i, 0]
                self.space[v, 1] = self._centre(counts, i)
                if self.measured[i, 3]:
                    self.space[v, 0] += self._steep(i)
            # mean of the centres weighted by steepness, relative to the centre of one of them; the sum is a parabola
            # around it
            for i in range(self.measured.shape[0]):
                v, k = self.measured[i, 0], self.measured[i, 2]
                centre = self._centre(counts, i)
                if self.measured[i, 3]:
                    self.space[v, 2] += self._steep(i) * (centre - self.space[v, 1])
                else:
                    site[v].centre, site[v].absolute = centre, self.form[i, 1] * fabs(<double> k)
            for v in range(counts.shape[0]):
                if self.space[v, 0] > 0.0:
                    site[v].centre = self.space[v, 1] + self.space[v, 2] / self.space[v, 0]
                    site[v].square = self.space[v, 0]

    def priors(self, state, sites, tables, rows, logs):
        """Tabulate the log prior of all moving cells over the possible counts, and let the sites refer to these tables.

        Parameters
        ----------
        state, sites : as in `ends`, whose fields lower and upper are used; the fields of the lists are set.
        tables : float64 (t, size), log weights of counts 0, 1, .., at least up to the largest possible count.
        rows : int64 (cells, m), row of `tables` for every cell in every node; -1: no weight.
        logs : float64 array with at least `total` entries, which is filled.

        Raises
        ------
        ValueError
            If shapes disagree, or `tables` or `logs` are too short.
        """
        cdef const int64_t[:, ::1] counts = state
        cdef Site[::1] site = sites
        cdef const double[:, ::1] table = tables
        cdef const int64_t[:, ::1] row = rows
        cdef double[::1] out = logs
        _, total, most = self.ends(state, sites)
        if rows.shape != (state.shape[1], state.shape[0]) or int(rows.max(initial=-1)) >= len(tables):
            raise ValueError(f"rows must have shape (cells, nodes) and entries below {len(tables)}, got shape "
                             f"{rows.shape}")
        if total > len(logs) or most >= tables.shape[1]:
            raise ValueError(f"logs must have at least {total} entries and tables at least {most} columns, got "
                             f"{len(logs)} and {tables.shape[1]}")
        cdef int64_t v, i, n, k, size, begin = 0
        cdef double highest, lowest
        with nogil:
            for v in range(counts.shape[0]):
                size = max(site[v].upper - site[v].lower + 1, 0)
                for n in range(size):
                    out[begin + n] = 0.0
                for i in range(counts.shape[1]):
                    if self.direction[i] and row[i, v] >= 0:  # log prior of cell i at its counts k, k +- 1, ..
                        k = counts[v, i] + self.direction[i] * (site[v].lower - counts[v, self.first])
                        for n in range(size):
                            out[begin + n] += table[row[i, v], k + self.direction[i] * n]
                # fields of the list: position, first count, length, largest entry, largest minus smallest entry
                highest, lowest = -INFINITY, INFINITY
                for n in range(size):
                    highest, lowest = max(highest, out[begin + n]), min(lowest, out[begin + n])
                site[v].table, site[v].begin, site[v].length = begin, site[v].lower, size
                site[v].below = site[v].above = INFINITY
                site[v].highest, site[v].swing = highest, highest - lowest
                begin += size

    cdef int _checked(self, const int64_t[:, ::1] counts, Site[::1] sites) except -1:
        if not (counts.shape[0] == sites.shape[0] == self.count.shape[0]
                and counts.shape[1] == self.direction.shape[0]):
            raise ValueError(f"state and sites must have {self.count.shape[0]} nodes and {self.direction.shape[0]} "
                             f"cells, got {counts.shape[0]}, {sites.shape[0]} and {counts.shape[1]}")
        return 0

    cdef inline int64_t _sum(self, const int64_t[:, ::1] counts, int64_t v, int64_t query) noexcept nogil:
        cdef int64_t i, total = 0
        for i in range(counts.shape[1]):
            total += counts[v, i] * self.sums[query, i]
        return total

    cdef inline double _centre(self, const int64_t[:, ::1] counts, int64_t i) noexcept nogil:
        """Return the count n of the first moving cell at which a sum over cells equals its measured value."""
        cdef int64_t v = self.measured[i, 0]
        cdef double gap = self.form[i, 0] - <double> self._sum(counts, v, self.measured[i, 1])
        return <double> counts[v, self.first] + gap / <double> self.measured[i, 2]

    cdef inline double _steep(self, int64_t i) noexcept nogil:
        return self.form[i, 1] * <double> (self.measured[i, 2] * self.measured[i, 2])
