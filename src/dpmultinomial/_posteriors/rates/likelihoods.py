"""Likelihoods p(y | D = d) of the possible values d of a privacy-protected count D, given the released value y. Each
likelihood is stored on a range of true counts d (window) outside which the likelihood is negligible.

A window is chosen without a prior. Let h be a half-width of the noise with P(|noise| > h) <= exp(-log_mass). The window
contains all counts within h of the counts that the released value represents. Under any model whose probabilities are
at most 1, the counts outside the window therefore contribute at most exp(`log_bound`) to p(y), with log_bound = log of
the largest likelihood + log(1 + 2.6 sd) - log_mass (`windows.neglected`).

If exposures are protected counts too, each has a Gauss rule given its release: the posterior of the number of persons N
of an area under a flat prior on 1, 2, .. is replaced by a few nodes with weights that have the same moments (Stieltjes'
procedure, then Golub and Welsch, 1969, Math. Comp. 23, 221-230). The nodes are in the range of N, so they are > 0.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..published import windows
from ..published.cells import Cells
from ..published.priors import Splits

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
WIDEST = 2_000_000  # largest number of counts in a window
# if a count was not measured, its bounds are used if there are at most this number of counts between them
_BOUNDED = 100_000


class CountLikelihood(NamedTuple):
    """Log likelihoods of the possible true counts given a release, with one row per count.

    Parameters
    ----------
    names : names of the counts, n of them.
    first : int64 (n,), first count of every row.
    counts : int64 (n, width), first, first + 1, ..
    log : float64 (n, width), log p(released | count); -inf beyond the window of a row, 0 if nothing was measured.
    log_mass : the noise has a probability below exp(-log_mass) beyond the half-width of a window.
    log_bound : float64 (n,), log of the largest contribution of all other counts to p(released), under any model in
        which probabilities of single counts are at most 1; -inf if there are no other counts.
    """

    names: tuple[str, ...]
    first: Whole
    counts: Whole
    log: Array
    log_mass: float
    log_bound: Array


@dataclass(frozen=True)
class Likelihoods:
    """Likelihoods of the possible values of all counts. The possible values of each count are consecutive integers (its
    window), and the likelihoods of all windows are concatenated.

    Parameters
    ----------
    values : float64 (pairs,), likelihoods; each window is scaled to a largest value of 1.
    start : int64 (n + 1,), positions of the windows.
    low, peak : int64 (n,), first count of every window, and position of its largest likelihood.
    log_top : float64 (n,), log of the largest likelihood of every window.
    log_bound : float64 (n,), as in `CountLikelihood`.
    measured : (n,), whether a count was measured, or has finite bounds and equal likelihoods within them. If not, its
        window is the count 0, with likelihood 1.
    """

    values: Array
    start: Whole
    low: Whole
    peak: Whole
    log_top: Array
    log_bound: Array
    measured: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def last(self) -> Whole:
        """Largest true count with a non-negligible likelihood, for every released count."""
        return self.low + np.diff(self.start) - 1

    def of(self, rows: slice) -> tuple[Array, Whole, Whole, Whole]:
        """Return the arguments likelihood, start, low and peak of the compiled kernel for the selected rows."""
        first, last = self.start[rows.start], self.start[rows.stop]
        start = self.start[rows.start : rows.stop + 1] - first
        return self.values[first:last], start, self.low[rows], self.peak[rows]

    def log(self, i: int) -> tuple[int, Array]:
        """Return the smallest true count of one window (range of counts), and the log likelihoods of all counts in the
        window.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(self.values[self.start[i] : self.start[i + 1]]) + self.log_top[i]
        return int(self.low[i]), logs

    def widened(self, cells: Cells, rows: Whole, log_mass: float) -> "Likelihoods":
        """Return a copy of the likelihoods with a wider range of true counts in the selected rows.

        Parameters
        ----------
        cells : all noisy counts.
        rows : positions of the rows with wider windows.
        log_mass : as of `likelihoods_of`, for these rows.

        Returns
        -------
        Likelihoods
        """
        wide = likelihoods_of(cells.take(rows), log_mass)
        windows_of_rows = np.split(self.values, self.start[1:-1])
        low, peak, top, bound = self.low.copy(), self.peak.copy(), self.log_top.copy(), self.log_bound.copy()
        for row, window in zip(rows, np.split(wide.values, wide.start[1:-1]), strict=True):
            windows_of_rows[row] = window
        low[rows], peak[rows], top[rows], bound[rows] = wide.low, wide.peak, wide.log_top, wide.log_bound
        start = np.append(0, np.cumsum([len(window) for window in windows_of_rows])).astype(np.int64)
        return Likelihoods(np.concatenate(windows_of_rows), start, low, peak, top, bound, self.measured)


def likelihoods_of(cells: Cells, log_mass: float = 40.0) -> Likelihoods:
    """Compute the likelihoods of the possible true counts given noisy counts, on one window of consecutive integers per
    count.

    Parameters
    ----------
    cells : noisy counts without errors.
    log_mass : determines the half-width of the windows; 40 gives a total width of 18 standard deviations for normal
        noise.

    Returns
    -------
    Likelihoods

    Raises
    ------
    ValueError
        If a window is infinite, or no count can produce the released value.
    """
    n = len(cells)
    prior = Splits(1.0)
    low, high = windows.spans(cells, prior, log_mass)
    seen = np.flatnonzero(cells.measured)
    bad = seen[~(high[seen] - low[seen] < WIDEST) | (high[seen] < low[seen])]
    if len(bad):
        i = int(bad[0])
        if high[i] < low[i]:
            raise ValueError(
                f"the released value {cells.released[i]:g} of count {i + 1} is impossible for all true counts: check "
                "the noise and the bounds"
            )
        raise ValueError(
            f"the released value {cells.released[i]:g} of count {i + 1} is consistent with more than {WIDEST:,} "
            "values of the true count: set tighter bounds on this count"
        )
    rows: list[Array] = [np.ones(1)] * n
    first, top, bound = np.zeros(n, dtype=np.int64), np.zeros(n), np.full(n, -np.inf)
    sd = np.broadcast_to(np.sqrt(np.asarray(cells.noise.variance())), (n,))
    complete = (low <= cells.lower) & (high >= cells.upper)
    for block in windows.blocks(cells, seen, low[seen], high[seen]):
        best = block.log_likelihood.max(axis=1)
        if np.isneginf(best).any():
            i = int(block.rows[np.isneginf(best).argmax()])
            raise ValueError(
                f"the released value {cells.released[i]:g} of count {i + 1} is impossible for all true counts: check "
                "the noise and the bounds"
            )
        scaled = np.exp(block.log_likelihood - best[:, None])
        top[block.rows] = best
        bound[block.rows] = best - log_mass + np.log1p(2.6 * sd[block.rows])
        inside = scaled > 0
        begin = inside.argmax(axis=1)
        end = inside.shape[1] - inside[:, ::-1].argmax(axis=1)
        first[block.rows] = block.low + begin
        for i, line, b, e in zip(block.rows, scaled, begin, end, strict=True):
            rows[i] = line[b:e].copy()
    known = np.array(cells.measured)
    for i in np.flatnonzero(~known & (cells.upper - cells.lower < _BOUNDED)).tolist():
        rows[i], first[i], known[i] = np.ones(int(cells.upper[i] - cells.lower[i]) + 1), int(cells.lower[i]), True
    width = np.array([len(row) for row in rows], dtype=np.int64)
    start = np.append(0, np.cumsum(width)).astype(np.int64)
    values = np.concatenate(rows)
    peak = np.array([row.argmax() for row in rows], dtype=np.int64)
    no_more = (cells.noise.halfwidth(1.0) == 0) | complete
    return Likelihoods(values, start, first, peak, top, np.where(no_more, -np.inf, bound), known)


def table_of(cells: Cells, names: tuple[str, ...], log_mass: float) -> CountLikelihood:
    """Return the likelihoods as a rectangular table, for models that are fitted with other software.

    Parameters
    ----------
    cells : noisy counts without errors; counts without a measurement are kept if they have finite bounds.
    names : names of the counts.
    log_mass : as in `likelihoods_of`.

    Returns
    -------
    CountLikelihood

    Raises
    ------
    ValueError
        If nothing was measured and no count has finite bounds, or as in `likelihoods_of`.
    """
    bounded = np.isfinite(cells.lower) & np.isfinite(cells.upper)
    kept = np.flatnonzero(cells.measured | bounded)
    if not len(kept):
        raise ValueError(
            "a likelihood requires a measurement or finite bounds for at least one count, but none of the "
            f"{len(cells)} counts has a measurement or finite bounds"
        )
    part = cells.take(kept)
    likelihoods = likelihoods_of(part, log_mass)
    first, size = likelihoods.low.copy(), np.diff(likelihoods.start)
    free = np.flatnonzero(~part.measured)
    first[free], size[free] = part.lower[free], part.upper[free] - part.lower[free] + 1
    log = np.full((len(kept), int(size.max())), -np.inf)
    for i in range(len(kept)):
        log[i, : size[i]] = likelihoods.log(i)[1] if part.measured[i] else 0.0
    counts = first[:, None] + np.arange(log.shape[1])
    return CountLikelihood(tuple(names[i] for i in kept), first, counts, log, log_mass, likelihoods.log_bound)


NODES, NODES_OF_FEW, FEW = 9, 21, 50  # number of nodes; number of nodes of an exposure whose mean is below FEW
_ENTRIES = 1_000_000


def nodes_of(cells: Cells, log_mass: float = 40.0) -> tuple[Array, Array]:
    """Compute quadrature nodes for the true exposure of every area, given the released exposures, and the logs of the
    weights of the nodes.

    Parameters
    ----------
    cells : released exposures, all measured and without errors; lower bounds >= 1.
    log_mass : as in `likelihoods_of`.

    Returns
    -------
    (nodes, log_weights)
        float64 (n, K), where K is the largest number of nodes. Unused nodes are 1, with weight -inf, and are last.
    """
    table = likelihoods_of(cells, log_mass)
    n, width = len(table), np.diff(table.start)
    nodes, log_weights = np.ones((n, NODES_OF_FEW)), np.full((n, NODES_OF_FEW), -np.inf)
    order = np.argsort(width, kind="stable")
    start = 0
    while start < n:
        size = max(1, int(np.searchsorted(width[order[start:]] * np.arange(1, n - start + 1), _ENTRIES, side="right")))
        rows = order[start : start + size]
        start += size
        x, w = _rectangle(table, rows)
        mean = (w * x).sum(axis=1)
        for count in (NODES, NODES_OF_FEW):
            asked = np.flatnonzero((mean < FEW) == (count == NODES_OF_FEW))
            few = (w[asked] > 0).sum(axis=1) <= count
            for i in asked[few]:  # all possible numbers are nodes
                kept = w[i] > 0
                nodes[rows[i], : kept.sum()], log_weights[rows[i], : kept.sum()] = x[i, kept], np.log(w[i, kept])
            many = asked[~few]
            if len(many):
                gauss_nodes, weights = gauss(x[many], w[many], count)
                nodes[rows[many], :count] = gauss_nodes
                with np.errstate(divide="ignore"):
                    log_weights[rows[many], :count] = np.log(weights)
    used = int(np.isfinite(log_weights).sum(axis=1).max())
    return nodes[:, :used], log_weights[:, :used]


def _rectangle(table: Likelihoods, rows: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the possible true counts of every selected area, and the probabilities of these counts. Both are arrays
    with one row per area.
    """
    widest = int(np.diff(table.start)[rows].max())
    x = table.low[rows, None] + np.arange(widest, dtype=np.float64)
    w = np.zeros(x.shape)
    for line, row in zip(w, rows, strict=True):
        values = table.values[table.start[row] : table.start[row + 1]]
        line[: len(values)] = values
    w /= w.sum(axis=1, keepdims=True)
    return x, np.where(w > 1e-300, w, 0.0)


def gauss(x: Array, w: Array, count: int) -> tuple[Array, Array]:
    """Return a Gauss quadrature rule for the discrete distribution in each row.

    Parameters
    ----------
    x, w : float64 (rows, width), points and weights; each row of weights sums to 1, with more than `count` points.
    count : number of nodes.

    Returns
    -------
    (nodes, weights)
        float64 (rows, count). All moments up to order 2 count - 1 are equal to the moments of the distribution.
    """
    centre = (w * x).sum(axis=1, keepdims=True)
    scale = np.sqrt((w * (x - centre) ** 2).sum(axis=1, keepdims=True))
    z = (x - centre) / scale
    jacobi = np.zeros((len(x), count, count))
    before, now, norm = np.zeros(z.shape), np.ones(z.shape), np.ones(len(x))
    for k in range(count):
        jacobi[:, k, k] = (w * z * now * now).sum(axis=1)
        # orthonormal polynomials: b p(k + 1) = (z - a) p(k) - b' p(k - 1)
        after = (z - jacobi[:, k, k, None]) * now - (norm[:, None] * before if k else 0.0)
        norm = np.sqrt((w * after * after).sum(axis=1))
        if k + 1 < count:
            jacobi[:, k, k + 1] = jacobi[:, k + 1, k] = norm
        before, now = now, after / norm[:, None]
    values, vectors = np.linalg.eigh(jacobi)
    return centre + scale * values, vectors[:, 0, :] ** 2
