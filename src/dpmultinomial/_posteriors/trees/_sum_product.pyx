# cython: language_level=3
"""Exact sums over all counts of a tree: evidence, marginals, conditional draws, and a bound of what windows neglect.

Every node's count has a weight (its measurements, its part of the prior, its bounds); an inner count is the sum of its
children's. Messages from the leaves up are convolutions times weights, those from the root down correlations. Each
family's messages carry a tilt exp(lambda n) that centres them where the whole tree puts them (`_multipliers`); tilts
cancel. All terms are positive, so no digits are lost. The proof of the bound is in the documentation (trees).
"""
cimport cython
import numpy as np

from libc.stdint cimport int64_t
from libc.stdlib cimport free
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_bitgen
from ._draws cimport split_fill, tree_fill
from ._families cimport Piece, c_take
from ._messages cimport EMPTY, GOOD, MEMORY, Tree, c_gather, c_up, c_windows
from ._outer cimport c_down, c_expected_digamma, c_hand_on, c_summary
from ._sites cimport Site

from ... import _arrays, _checks

STATES = ("good", "unbounded", "wide", "empty", "memory")


@cython.auto_pickle(False)
@cython.final
cdef class SumProduct:
    """Messages of one tree.

    Parameters
    ----------
    parent : int64 (n,), of every node, before it in the order; -1 at the root, which stands first.
    first : int64 (n,), first child; the children of a node stand together.
    count : int64 (n,), number of children.
    sites : structured (n,), weights of the nodes, see `sites.SITE`.
    tables : float64 (t,), t >= 1, log weights that sites point to.
    tilts, slacks : float64 (n,), see `_multipliers.balance`.
    drop : in (0, 1e-3], share of a message that may be cut at either end.
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
        pieces = np.zeros((3 * most + 66) * sizeof(Piece) // 8)
        cdef int64_t[:, ::1] windows = window
        cdef double[::1] head = heads, piece = pieces
        cdef double[:, ::1] total = sums
        self.kept = (parent, first, count, sites, tables, tilts, slacks, window, heads, pieces, sums)
        self.tree.size, self.tree.drop = n, drop
        self.tree.parent, self.tree.first, self.tree.count = &parents[0], &firsts[0], &counts[0]
        self.tree.sites, self.tree.tables = &weights[0], &table[0]
        self.tree.tilts, self.tree.slacks = &tilt[0], &slack[0]
        self.tree.window, self.tree.sums = &windows[0, 0], &total[0, 0]
        self.tree.heads, self.tree.pieces = <Piece *> &head[0], <Piece *> &piece[0]

    def __dealloc__(self):
        free(self.tree.inner.data)
        free(self.tree.outer.data)
        free(self.tree.scratch.data)

    def up(self):
        """From the leaves to the root.

        Returns
        -------
        log_evidence : log of the sum over all counts.
        bound : of the total variation between any marginal and what is computed of it.
        failed : (node, state) where no message could be made, else (-1, ``"good"``).
        """
        cdef int64_t v, node = -1
        cdef int state = GOOD
        cdef double log_evidence = 0.0
        self.tree.inner.used = 0
        with nogil:
            c_windows(&self.tree)
            for v in range(self.tree.size - 1, -1, -1):
                if self.tree.count[v]:
                    state = c_up(&self.tree, v)
                    if state != GOOD:
                        node = v
                        break
                    log_evidence += self.tree.heads[v].log_scale
        if node < 0:
            self.upward = True
        return log_evidence, self.tree.heads[0].error[0], (int(node), STATES[state])

    def down(self, wanted, tail, *, digammas=False, groups=None, edges=None):
        """From the root towards the leaves.

        Parameters
        ----------
        wanted : bool (n,), nodes whose children are asked for; a node's parent must be wanted too.
        tail : in (0, 1/2), probability beyond either end of the intervals.
        digammas : also E psi(N + own) and E psi(N + others) of every node.
        groups : int64 (n,), row of a histogram that a leaf's law is added to, -1 for none; with `edges`.
        edges : int64 (b + 1,), rising from 0; bin j holds edges[j] <= n < edges[j + 1].

        Returns
        -------
        summary : float64 (n, 4), mean, sd, lower, upper; NaN where nothing was asked for.
        digammas : float64 (n, 2), or None.
        masses : float64 (groups, b), expected numbers of leaves, or None.
        failed : as of `up`.
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
            self._node(0, tail_, &out[0, 0], &more[0, 0] if with_digammas else NULL)
            for v in range(n):
                if self.tree.count[v] and asked[v]:
                    state = self._family(v, tail_, out, more, with_digammas, row_view, edge_view, mass)
                    if state != GOOD:
                        node = v
                        break
        return summary, sums, masses if groups is not None else None, (int(node), STATES[state])

    def family(self, v):
        """Messages of one family, after `down` (or `family`) has reached its parent.

        Parameters
        ----------
        v : an inner node.

        Returns
        -------
        children : list of (first count, float64 weights), under the family's tilt, sum 1.
        others : (first count, float64 weights): what all others and the node itself say of its count.
        laws : list of (first count, probabilities), of the children.
        """
        if not self.downward:
            self._begin()
        cdef int64_t k, made, node = v, size = self.tree.count[v]
        places = np.zeros(3 * size + 66, dtype=np.int64)
        cdef int64_t[::1] place = places
        cdef int state = c_down(&self.tree, node, &place[0], &made)
        if state != GOOD:
            raise MemoryError("a family's messages do not fit") if state == MEMORY else ValueError("no sum is possible")
        c_hand_on(&self.tree, node, &place[0])
        cdef const double *data = self.tree.scratch.data
        children, laws = [], []
        for k in range(size):
            inner = self._copy(data + self.tree.pieces[k].at, self.tree.pieces[k].size)
            outer = self._copy(data + place[k], self.tree.pieces[k].size)
            children.append((self.tree.pieces[k].low, inner))
            law = outer * inner
            laws.append((self.tree.pieces[k].low, law / law.sum()))
        if size > 1:
            others = self.tree.heads[v].low, self._copy(data + place[made - 1], self.tree.heads[v].size)
        else:
            others = self.tree.pieces[0].low, self._copy(data + place[0], self.tree.pieces[0].size)
        return children, others, laws

    def root(self):
        """Law of the root's count: first count, probabilities."""
        law = self._copy(self.tree.inner.data + self.tree.heads[0].at, self.tree.heads[0].size)
        return self.tree.heads[0].low, law / law.sum()

    def split(self, v, totals, *, rng):
        """Independent draws of the children's counts given their parent's.

        Parameters
        ----------
        v : an inner node.
        totals : int64 (size,), counts of the node, each possible.
        rng : numpy Generator; one uniform a child less one, and draw.

        Returns
        -------
        int64 (size, children).
        """
        cdef const int64_t[::1] sums = _arrays.integers("totals", totals, least=0, most=1 << 52)
        cdef int64_t made, node = v, size = self.tree.count[v], state = c_gather(&self.tree, node, False, &made)
        cdef int64_t spare
        if state != GOOD:
            raise ValueError(f"no counts of the children add up at node {v}")
        out = np.zeros((made, len(sums)), dtype=np.int64)
        cdef int64_t[:, ::1] values = out
        out[made - 1] = totals
        most = 1 + max(self.tree.pieces[i].size for i in range(made - 1)) if made > 1 else 1
        spare = c_take(&self.tree.scratch, most)
        if spare < 0:
            raise MemoryError("a family's messages do not fit")
        cdef bitgen_t *bits = c_bitgen(_checks.generator(rng))
        with rng.bit_generator.lock, nogil:
            split_fill(&self.tree, made, size, spare, values, bits)
        if (out < 0).any():
            raise ValueError(f"a total is impossible at node {v}")
        return np.ascontiguousarray(out[:size].T)

    def splits(self, total, *, rng):
        """One draw of all counts, int64 (n,), given the root's: `split` of every family, from the root down."""
        cdef bitgen_t *bits = c_bitgen(_checks.generator(rng))
        cdef int64_t[::1] counts = np.zeros(self.tree.size, dtype=np.int64)
        cdef int64_t[:, ::1] values = np.zeros((len(self.kept[9]) * 8 // sizeof(Piece), 1), dtype=np.int64)
        cdef int64_t failed
        counts[0] = total
        with rng.bit_generator.lock, nogil:
            failed = tree_fill(&self.tree, values, counts, bits)
        if failed >= 0:
            raise ValueError(f"a total is impossible at node {failed}, or its messages do not fit into memory")
        return np.asarray(counts)

    def sums(self):
        """Mean and variance of the sum of every inner node's children under their tilt, float64 (n, 2)."""
        return self.kept[10]

    def nodes(self):
        """Per inner node: first count, length and error bound of its message."""
        return np.array([(self.tree.heads[v].low, self.tree.heads[v].size, self.tree.heads[v].error[0])
                         for v in range(self.tree.size)])

    cdef object _copy(self, const double *data, int64_t size):
        cdef double[::1] out = np.empty(size)
        cdef int64_t k
        for k in range(size):
            out[k] = data[k]
        return np.asarray(out)

    def _begin(self):
        if not self.upward:
            raise ValueError("the messages have not been passed up")
        cdef int64_t k
        self.tree.outer.used = 0
        if c_take(&self.tree.outer, self.tree.inner.used) < 0:
            raise MemoryError("the tree's messages do not fit")
        for k in range(self.tree.heads[0].size):
            self.tree.outer.data[self.tree.heads[0].at + k] = 1.0
        self.downward = True

    cdef void _node(self, int64_t v, double tail, double *out, double *more) noexcept nogil:
        """Summary of an inner node."""
        cdef int64_t k, at
        cdef Piece *head = &self.tree.heads[v]
        self.tree.scratch.used = 0
        at = c_take(&self.tree.scratch, head.size)
        if at < 0:
            return
        for k in range(head.size):
            self.tree.scratch.data[at + k] = self.tree.inner.data[head.at + k] * self.tree.outer.data[head.at + k]
        self._describe(v, self.tree.scratch.data + at, head.low, head.size, tail, out, more)

    cdef void _describe(self, int64_t v, double *law, int64_t low, int64_t size, double tail, double *out,
                        double *more) noexcept nogil:
        c_summary(law, low, size, tail, out + 4 * v)
        if more != NULL:
            more[2 * v] = c_expected_digamma(law, low, size, self.tree.sites[v].own)
            more[2 * v + 1] = c_expected_digamma(law, low, size, self.tree.sites[v].others)

    cdef int _family(self, int64_t v, double tail, double[:, ::1] out, double[:, ::1] more, bint digammas,
                     const int64_t[::1] rows, const int64_t[::1] edges, double[:, ::1] mass) noexcept nogil:
        """Summaries of a node's children."""
        cdef int64_t k, j, c, made, places, size = self.tree.count[v], bin_
        cdef int64_t *place
        cdef double *law
        cdef double *outer
        cdef int state
        cdef Piece *piece
        places = c_take(&self.tree.outer, 3 * size + 66)  # as many integers behind the messages
        if places < 0:
            return MEMORY
        place = <int64_t *> (self.tree.outer.data + places)
        state = c_down(&self.tree, v, place, &made)
        if state != GOOD:
            return state
        c_hand_on(&self.tree, v, place)
        for k in range(size):
            c, piece = self.tree.first[v] + k, &self.tree.pieces[k]
            law, outer = self.tree.scratch.data + piece.at, self.tree.scratch.data + place[k]
            for j in range(piece.size):
                law[j] *= outer[j]
            self._describe(c, law, piece.low, piece.size, tail, &out[0, 0], &more[0, 0] if digammas else NULL)
            if rows[c] >= 0:
                bin_ = 0
                for j in range(piece.size):
                    while bin_ < edges.shape[0] - 2 and piece.low + j >= edges[bin_ + 1]:
                        bin_ += 1
                    mass[rows[c], bin_] += law[j]
        self.tree.outer.used = places
        return GOOD
