# cython: language_level=3
"""What is known of a count along one direction of a chain over crossed cells, given all the rest: written into sites.

A direction gives +1, 0 or -1 to every cell; n is the count of the first cell that moves, and a sum over cells is
rest + k n. Everything that does not depend on the state is kept from move to move.
"""
cimport cython
import numpy as np

from libc.math cimport INFINITY, ceil, fabs, floor
from libc.stdint cimport int64_t

from ._sites cimport FAR, Site


@cython.auto_pickle(False)
@cython.final
cdef class Ends:
    """Bounds, parabolas, tents and listed priors of one direction.

    Parameters
    ----------
    direction : int64 (cells,), +1, 0 and -1, the first that is not 0 positive.
    count : int64 (m,), numbers of children, in the kernels' order.
    sums : int64 (queries, cells), 1 where a query adds a cell up.
    hard : int64 (h, 3), node, query and k of every sum with bounds; all k are not 0.
    bounds : float64 (h, 2), its lower and upper end.
    said : int64 (p, 4), node, query, k and whether it is a parabola (1) or a tent (0), of measured numbers.
    form : float64 (p, 2), their centres and steepnesses.

    Raises
    ------
    ValueError
        If lengths disagree, or a node, a query or a k is none.
    """
    cdef const int64_t[::1] direction, count
    cdef const int64_t[:, ::1] sums, hard, said
    cdef const double[:, ::1] bounds, form
    cdef double[:, ::1] space
    cdef int64_t first

    def __cinit__(self, direction, count, sums, hard, bounds, said, form):
        for name, rows, more in (("hard", hard, bounds), ("said", said, form)):
            if len(rows) != len(more):
                raise ValueError(f"{name}: as many rows must be given twice, got {len(rows)} and {len(more)}")
            if len(rows) and not (rows[:, :2].min() >= 0 and rows[:, 0].max() < len(count)
                                  and rows[:, 1].max() < len(sums) and rows[:, 2].all()):
                raise ValueError(f"{name} must name nodes below {len(count)}, queries below {len(sums)} and no k of 0")
        if sums.shape[1] != len(direction) or not (direction > 0).any():
            raise ValueError(f"direction must have {sums.shape[1]} entries, one of them positive, got {direction}")
        self.direction, self.count, self.sums = direction, count, sums
        self.hard, self.bounds, self.said, self.form = hard, bounds, said, form
        self.space = np.zeros((len(count), 3))
        self.first = int(np.argmax(direction))

    def ends(self, state, sites):
        """First and last possible count of the first cell in every node.

        Parameters
        ----------
        state : int64 (m, cells), counts in the kernels' order.
        sites : structured (m,), `sites.SITE`; lower and upper are set.

        Returns
        -------
        free : whether any leaf has two possible counts.
        total : numbers of possible counts of all nodes together.
        most : largest possible count of any cell that moves.
        """
        cdef const int64_t[:, ::1] counts = state
        cdef Site[::1] site = sites
        self._checked(counts, site)
        cdef int64_t v, i, n, low, high, change, k, most = 0
        cdef double rest, one, two, total = 0.0
        cdef bint free = False
        with nogil:
            for v in range(counts.shape[0]):
                n = counts[v, self.first]
                low, high = n, FAR
                for i in range(self.direction.shape[0]):
                    if self.direction[i] > 0:
                        low = min(low, counts[v, i])
                    elif self.direction[i] < 0:
                        high = min(high, counts[v, i])
                site[v].lower, site[v].upper = n - low, n + high if high < FAR else FAR
            for i in range(self.hard.shape[0]):
                v, k = self.hard[i, 0], self.hard[i, 2]
                rest = <double> (self._sum(counts, v, self.hard[i, 1]) - k * counts[v, self.first])
                one, two = (self.bounds[i, 0] - rest) / k, (self.bounds[i, 1] - rest) / k
                site[v].lower = max(site[v].lower, <int64_t> ceil(max(min(one, two), -1.0)))
                site[v].upper = min(site[v].upper, <int64_t> floor(min(max(one, two), <double> FAR)))
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
        """Put closed forms into sites: what several parabolas are together, and single tents.

        Parameters
        ----------
        state, sites : as of `ends`; centre, square and absolute are set.
        """
        cdef const int64_t[:, ::1] counts = state
        cdef Site[::1] site = sites
        self._checked(counts, site)
        cdef int64_t i, v, k
        cdef double centre, steep
        with nogil:
            self.space[:, :] = 0.0  # of every node: steepness of its parabolas, one of them, and how far their mean is
            for i in range(self.said.shape[0]):
                v = self.said[i, 0]
                self.space[v, 1] = self._centre(counts, i)
                if self.said[i, 3]:
                    self.space[v, 0] += self._steep(i)
            for i in range(self.said.shape[0]):
                v, k = self.said[i, 0], self.said[i, 2]
                centre = self._centre(counts, i)
                if self.said[i, 3]:
                    self.space[v, 2] += self._steep(i) * (centre - self.space[v, 1])
                else:
                    site[v].centre, site[v].absolute = centre, self.form[i, 1] * fabs(<double> k)
            for v in range(counts.shape[0]):
                if self.space[v, 0] > 0.0:
                    site[v].centre = self.space[v, 1] + self.space[v, 2] / self.space[v, 0]
                    site[v].square = self.space[v, 0]

    def priors(self, state, sites, tables, rows, logs):
        """List the log prior of all cells that move, between the ends.

        Parameters
        ----------
        state, sites : as of `ends`, whose lower and upper ends are read; what they say of lists is set.
        tables : float64 (t, size), log weights of counts 0, 1, .., up to the largest possible one at least.
        rows : int64 (cells, m), row of `tables` of every cell in every node; -1: no weight.
        logs : float64 (total,) at least, filled.

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
            raise ValueError(f"rows must be (cells, nodes), below {len(tables)}, got {rows.shape}")
        if total > len(logs) or most >= tables.shape[1]:
            raise ValueError(f"{total} counts up to {most} must fit into {len(logs)} and {tables.shape[1]}")
        cdef int64_t v, i, n, k, size, begin = 0
        cdef double highest, lowest
        with nogil:
            for v in range(counts.shape[0]):
                size = max(site[v].upper - site[v].lower + 1, 0)
                for n in range(size):
                    out[begin + n] = 0.0
                for i in range(counts.shape[1]):
                    if self.direction[i] and row[i, v] >= 0:
                        k = counts[v, i] + self.direction[i] * (site[v].lower - counts[v, self.first])
                        for n in range(size):
                            out[begin + n] += table[row[i, v], k + self.direction[i] * n]
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
            raise ValueError(f"state and sites must be of {self.count.shape[0]} nodes and {self.direction.shape[0]} "
                             f"cells, got {counts.shape[0]}, {sites.shape[0]} and {counts.shape[1]}")
        return 0

    cdef inline int64_t _sum(self, const int64_t[:, ::1] counts, int64_t v, int64_t query) noexcept nogil:
        cdef int64_t i, total = 0
        for i in range(counts.shape[1]):
            total += counts[v, i] * self.sums[query, i]
        return total

    cdef inline double _centre(self, const int64_t[:, ::1] counts, int64_t i) noexcept nogil:
        """The n under which a measured number is hit exactly."""
        cdef int64_t v = self.said[i, 0]
        cdef double gap = self.form[i, 0] - <double> self._sum(counts, v, self.said[i, 1])
        return <double> counts[v, self.first] + gap / <double> self.said[i, 2]

    cdef inline double _steep(self, int64_t i) noexcept nogil:
        return self.form[i, 1] * <double> (self.said[i, 2] * self.said[i, 2])
