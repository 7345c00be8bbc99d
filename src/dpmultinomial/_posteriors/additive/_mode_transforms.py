"""Posterior distribution of the true counts given a release that was produced by algorithm 3 of Wang (2020), for any
epsilon. It is a sum of a few thousand products, computed by Fourier transforms.

A factor contains the weights of the true counts of one column, given that the noisy count lies in an interval. The
levels of a chunk use the same tilt, so each factor is transformed once for all levels of the chunk that share it. The
sum of all products that multiply a factor is then transformed back, once per factor (`_frequency_products`). The tilt,
the length of the transforms and the widths of the marginals of every chunk, and the neglected levels, follow from the
bounds of `_mode_levels`. Each of these truncations has an upper bound on the neglected posterior mass. The derivation
is in the documentation, on the page about the methods of Wang (2020).

The levels of a chunk are transformed together. Draws use the factors of a single level, and log probabilities use
closed forms.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.special import gammaln

from ..._kernels import geometric
from ..._printing import steps
from . import _frequency_products, _mode_levels
from ._coupled_counts import Certificate, Chain, Solved, TransformedCounts
from ._mode_levels import Columns, Levels
from ._noise import CountsPrior, NoiseModel

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_ROOM = 1 << 21  # number of array entries in memory at the same time


@dataclass(frozen=True)
class Frame:
    """Data shared by all terms of the mixture for algorithm 3 of Wang (2020). The data include the columns, levels,
    noise, prior and sizes of the transforms.

    Parameters
    ----------
    columns : Columns, the components.
    levels : Levels, all levels of the problem.
    noise : noise of one count.
    prior : prior of the counts.
    ties : ``"random"``, ``"first"`` or ``"last"``.
    log_empty : log weight of the level without intervals.
    low : int64 (U,), first value of every column.
    width : int64 (U,), number of values of every column.
    rise : float64 (U, W), factor of the intervals of every column.
    length : length of all transforms.
    tail : float64 (length,), factor of the total at its position in a transform.
    """

    columns: Columns
    levels: Levels
    noise: NoiseModel
    prior: CountsPrior
    ties: str
    log_empty: float
    low: Whole
    width: Whole
    rise: Array
    length: int
    tail: Array

    def boxes(self, lower: Whole, upper: Whole, kind: NDArray[np.integer], length: int) -> Array:
        """Return the weights of the true counts of one column of components, as a float64 array of shape (rows,
        length). Each row is conditional on a noisy count in one of several intervals.
        """
        return geometric.boxes(
            np.maximum(lower, -geometric.LARGEST),
            upper,
            kind,
            low=self.low,
            width=self.width,
            rise=self.rise,
            epsilon=self.noise.epsilon,
            reach=self.noise.reach,
            length=length,
        )


class Chunk:
    """Block of consecutive levels of algorithm 3 that is small enough to fit into memory. The block contains the terms
    of these levels and their distinct intervals. Each term uses some rows of these intervals.
    """

    def __init__(self, frame: Frame, rows: Whole) -> None:
        self.frame, levels = frame, frame.levels.take(rows)
        claimed, size = levels.claimed, len(frame.low)
        self.plain = not claimed.any()
        empty = levels.lower > levels.upper
        start, end = np.where(empty, 0, levels.lower), np.where(empty, -1, levels.upper)
        fresh = np.ones(start.shape, dtype=bool)
        fresh[1:] = (np.diff(start, axis=0) != 0) | (np.diff(end, axis=0) != 0)
        got, lost = levels.got >= 0, levels.lost >= 0
        parts = ((fresh, start, end), (got, levels.got, levels.got), (lost, levels.lost, levels.lost))
        kind = np.concatenate([np.nonzero(mask.T)[0] for mask, _, _ in parts])
        lower, upper = (np.concatenate([part[k].T[part[0].T] for part in parts]) for k in (1, 2))
        distinct, row_of = _different(kind, lower, upper)
        self.kind, self.lower, self.upper = kind[distinct], lower[distinct], upper[distinct]
        self.ends = np.searchsorted(self.kind, np.arange(size + 1))
        counts = np.cumsum([0, *(int(mask.sum()) for mask, _, _ in parts)])
        place = [
            np.cumsum(mask.T.ravel()).reshape(mask.T.shape).T - 1 + counts[k] for k, (mask, _, _) in enumerate(parts)
        ]
        self.clear = np.where(claimed & empty, -1, row_of[place[0]])
        self.got, self.lost = (
            np.where(m, row_of[np.maximum(p, 0)], -1) for m, p in zip((got, lost), place[1:], strict=True)
        )
        self._plan(rows, claimed @ frame.columns.repeats)

    def _plan(self, rows: Whole, claims: Whole) -> None:
        """Set up one term per level and quadrature node, with the index of the level and the values (early, late,
        weight) of the node.
        """
        if self.plain:
            ones = np.ones(len(rows))
            self.terms = (rows, ones, ones, ones * np.exp(self.frame.log_empty))
            self.level = np.arange(len(rows))
            return
        rules = {n: _mode_levels.rule(n, self.frame.ties) for n in np.unique(claims).tolist()}
        node_rules = [rules[n] for n in claims.tolist()]
        self.level = np.repeat(np.arange(len(rows)), [len(rule[0]) for rule in node_rules])
        early, late, weight = (np.concatenate([rule[k] for rule in node_rules]) for k in range(3))
        self.terms = (rows[self.level], early, late, weight)

    def collect(self, marginals: list[Array]) -> tuple[Array, NDArray[np.complex128]]:
        """Compute the terms of the mixture for several levels, and add them to the marginal distributions. The function
        returns the sums of the terms and the derivative with respect to the transform of the factor of the total.
        """
        s = self.frame
        boxes = s.boxes(self.lower, self.upper, self.kind, s.length)
        spectra = scipy.fft.rfft(boxes, axis=1)
        _, early, late, weight = self.terms
        sums, adjoints, tail = _frequency_products.sweep(
            spectra,
            scipy.fft.rfft(s.tail),
            self.clear[self.level],
            None if self.plain else self.got[self.level],
            None if self.plain else self.lost[self.level],
            weight=weight,
            repeats=s.columns.repeats,
            length=s.length,
            early=None if self.plain else early,
            late=None if self.plain else late,
        )
        others = scipy.fft.irfft(adjoints, s.length, axis=1, overwrite_x=True)
        for u, (begin, end) in enumerate(zip(self.ends[:-1], self.ends[1:], strict=True)):
            w = s.width[u]
            marginals[u] += np.einsum("rx,rx->x", boxes[begin:end, :w], others[begin:end, :w])
        return sums, tail


class ModeTerms:
    """Terms of the mixture that represents the posterior distribution given a release by algorithm 3 of Wang (2020).

    Parameters
    ----------
    frame : data shared by the terms.
    terms : index of the level, early, late and weight, with one entry per term.
    totals : int64 (L,).
    log_g : float64 (L,), log factor of every total.
    log_whole : log of the sum of all terms.
    """

    def __init__(self, frame: Frame, terms: list[Any], totals: Whole, log_g: Array, log_whole: float) -> None:
        self.frame, self.terms, self.totals, self.log_g, self.log_whole = frame, terms, totals, log_g, log_whole

    def chain(self, term: int) -> Chain:
        """Return the factors of the mixture term for one level and one quadrature node."""
        s = self.frame
        row, early, late = (part[term] for part in self.terms[:3])
        level, of = s.levels.take(np.array([row])), s.columns.of

        def factor(lower: Whole, upper: Whole) -> Array:
            return s.boxes(lower, upper, np.arange(len(s.low)), s.rise.shape[1])

        clear = factor(level.lower[0], level.upper[0])
        if not level.claimed.any():
            return Chain(clear[of], clear[of], None, s.tail)
        got, lost = (factor(e, np.where(e >= 0, e, e - 1)) for e in (level.got[0], level.lost[0]))
        first, last = (clear + e * got + (1.0 - e) * lost for e in (early, late))
        return Chain(first[of], last[of], got[of], s.tail)

    def log_probabilities(self, vectors: Whole) -> Array:
        """Return the log probabilities of several vectors of counts, with one vector per row. They are computed from
        closed forms and not by transforms.
        """
        place = vectors.sum(axis=1) - self.totals[0]
        inside = (vectors >= 0).all(axis=1) & (place >= 0) & (place < len(self.totals))
        out = np.full(len(vectors), -np.inf)
        block = max(_ROOM // (len(self.terms[0]) * vectors.shape[1]), 1)
        rows = np.flatnonzero(inside)
        for begin in range(0, len(rows), block):
            block_rows = rows[begin : begin + block]
            out[block_rows] = self._log_weights(vectors[block_rows]) + self.log_g[place[block_rows]] - self.log_whole
        return out

    def _log_weights(self, vectors: Whole) -> Array:
        """Return the log of the sum of all terms of the mixture at every vector of counts, as a float64 array of shape
        (n,).
        """
        s, (rows, early, late, weight) = self.frame, self.terms
        levels, of = s.levels.take(rows), s.columns.of
        shapes = s.columns.shape[of]
        base = sum(s.prior.log_component(vectors[:, i], float(shapes[i])) for i in range(len(of)))
        base = base + len(of) * np.log(s.noise.peak)
        sure, moved = np.zeros((len(rows), len(vectors))), np.full((len(rows), len(vectors)), -np.inf)
        plain: NDArray[np.bool_] = ~np.asarray(levels.claimed.any(axis=1))
        with np.errstate(divide="ignore"):
            for i, u in enumerate(of):
                x = vectors[:, i]
                clear = self._box(levels.lower[:, u], levels.upper[:, u], x)
                got, lost = (self._box(e, np.where(e >= 0, e, e - 1), x) for e in (levels.got[:, u], levels.lost[:, u]))
                before, after = (np.log(clear + e[:, None] * got + (1.0 - e[:, None]) * lost) for e in (early, late))
                moved = np.logaddexp(moved + after, sure + np.log(got))
                sure = sure + before
        each = np.where(plain[:, None], sure, moved) + np.log(weight)[:, None]
        return np.asarray(base + np.logaddexp.reduce(each, axis=0))

    def _box(self, lower: Whole, upper: Whole, x: Whole) -> Array:
        """Return the sum of exp(-epsilon |n - x|) over the noisy counts n in each interval, with one row per interval
        and one column per true count x. The sum includes only noisy counts within the half-width of the noise.
        """
        noise = self.frame.noise
        e, reach = noise.epsilon, noise.reach
        first = np.maximum(lower[:, None] - x, -reach)
        last = np.minimum(upper[:, None] - x, reach)
        series = np.expm1(-e * np.maximum(last - first + 1, 0)) / np.expm1(-e)
        one_side = np.exp(-e * np.maximum(np.maximum(first, -last), 0)) * series
        right, left = (np.expm1(-e * (np.maximum(end, 0) + 1)) / np.expm1(-e) for end in (last, -first))
        both = right + left - 1.0
        return np.where(first > last, 0.0, np.where((first < 0) & (last > 0), both, one_side))


_KEPT = 36.0  # levels below exp(-36) of the largest level are neglected, after subtraction of the slack of their bounds
_SLACK = 3.0  # slack of the bounds on the levels
_RESERVE = 46.0  # exp(-46): mass that may wrap around in a transform, relative to the weight of the correct total
# number of values of a block that is freed at once: glibc then keeps the memory of every chunk's arrays for the next
# chunk, and does not return it to the system, which would take a third of the time
_REUSED = 1 << 21
_CHUNK = 1 << 19  # number of values that are transformed together; they fit into the cache
_LARGEST = 10**9  # largest released total; products of two counts stay below 2^63


@dataclass(frozen=True)
class Problem:
    """Release of counts by algorithm 3 of Wang (2020), with the noise and the prior of the counts.

    Parameters
    ----------
    released : int64 (S,), with a sum of at most 10^9.
    noise : noise of one count.
    prior : prior of the counts.
    ties : ``"random"``, ``"first"`` or ``"last"``.
    """

    released: Whole
    noise: NoiseModel
    prior: CountsPrior
    ties: str

    @property
    def total(self) -> int:
        """Released total M, the sum of the released components."""
        return int(self.released.sum())

    @cached_property
    def columns(self) -> Columns:
        """Groups of equal components, or one group per component if the tie-breaking rule depends on the order."""
        shapes = self.prior.shapes(len(self.released))
        return _mode_levels.columns(self.released, shapes, together=self.ties == "random")

    def totals(self, span: float) -> tuple[Whole, Array]:
        """Return the true totals that differ from the released total by at most `span`/epsilon, and the log of the
        factor that each total contributes to the posterior weights.
        """
        totals, logs = self.noise.totals(self.total, span)
        return totals, logs + self.prior.log_total(totals)


def solve(problem: Problem) -> TransformedCounts:
    """Compute the posterior distribution of the true counts given a release that was produced by algorithm 3 of Wang
    (2020).

    Parameters
    ----------
    problem : problem to solve.

    Returns
    -------
    TransformedCounts. The cost is O(T L (U + log L)) for T levels, U columns and L sums; T and L grow like 1/epsilon.

    Raises
    ------
    ValueError
        If the release has probability 0, or is too large for integer arithmetic.
    """
    if problem.total > _LARGEST:
        raise ValueError(f"the sum of the released counts must be <= {_LARGEST}, got {problem.total}")
    slack, reserve = _SLACK, _RESERVE
    for _ in range(4):
        law = _Sweep(problem, slack, reserve).law()
        if law.certificate.pruned < 1e-14 and law.certificate.wrapped < 1e-14:
            break
        slack += max(np.log(law.certificate.pruned / 1e-15), 0.0) + 2.0
        reserve += max(np.log(law.certificate.wrapped / 1e-15), 0.0) + 2.0
    return law


class Window(NamedTuple):
    """Settings of the Fourier transforms for a set of levels of algorithm 3 of Wang (2020). The settings are the range
    of true counts of every column (group of components), the exponential tilt and the length.

    Attributes
    ----------
    free : float64 (G,), logs of the exponentially tilted weights of the levels, one per tilt.
    tilt : exponential tilt of the transforms, theta.
    below, above : largest noise by which a range extends beyond the intervals.
    low : int64 (U,), first value of every column.
    width : int64 (U,), number of values of every column.
    length : length of the transforms, at which the mass that wraps around is negligible.
    """

    free: Array
    tilt: float
    below: int
    above: int
    low: Whole
    width: Whole
    length: int


class _Sweep:
    """Solver for the posterior distribution given a release by algorithm 3 of Wang (2020). It determines the levels,
    their bounds and the sizes of the arrays, and then processes all levels.
    """

    def __init__(self, problem: Problem, slack: float, reserve: float) -> None:
        self.problem, self.slack, self.reserve = problem, slack, reserve
        self._bound_levels()
        bounds = self.masses.bounds()
        dropped = bounds <= bounds.max() - _KEPT - slack
        self.kept, self.log_dropped = np.flatnonzero(~dropped), bounds[dropped]
        self._choose_windows()
        self._scale()

    def _bound_levels(self) -> None:
        """Determine all levels of algorithm 3 of Wang (2020) whose weight is not negligible. The range of levels is
        extended until the bounds on the weights at both ends are negligible.
        """
        p = self.problem
        span, total, size = 60.0 + 3.0 * len(p.released), p.total, len(p.released)
        for _ in range(5):
            self.totals, self.log_g = p.totals(span)
            if not np.isfinite(self.log_g).any():
                raise ValueError(
                    f"the release with the total {p.total} has probability 0 under this mechanism: check the "
                    "released counts and the settings"
                )
            away = span / p.noise.epsilon
            levels = _mode_levels.levels(
                p.columns.released, max(total - away, 0.5) / (total + size), (total + away) / total
            )
            empty = _log_remainder(p.released, p.ties)
            if empty > -np.inf:
                levels = levels.with_empty()
            self.levels, self.has_empty, self.log_empty = levels, empty > -np.inf, empty
            log_totals = np.stack([self.totals - total, self.log_g])
            self.masses = _mode_levels.masses(p.columns, levels, p.noise, p.prior, log_totals, p.ties)
            if self.has_empty:
                self.masses.levels[:, -1] += empty
            bounds = self.masses.bounds()
            last = -2 if self.has_empty else -1
            ends = max(bounds[0] if total > away else -np.inf, bounds[last])
            if ends < bounds.max() - _KEPT - self.slack or p.noise.support * (size + 1) < away:
                return
            span *= 2.0

    def _choose_windows(self) -> None:
        """Choose ranges of true counts and the length of the Fourier transforms for every chunk of levels. Also choose
        ranges that contain the ranges of all chunks.
        """
        self.share = float(self.masses.free(self.kept)[1:-1].min())
        self.whole = self._window(self.kept)
        chunks = self._chunks()
        self.share -= np.log(len(chunks))  # each chunk may neglect an equal share of the mass
        self.parts = [(rows, self._window(rows)) for rows in chunks]
        self.low = np.min([window.low for _, window in self.parts], axis=0)
        self.width = np.max([window.low + window.width for _, window in self.parts], axis=0) - self.low
        length = int(scipy.fft.next_fast_len(max(self.whole.length, int(self.width.max())), real=True))
        self.whole = self.whole._replace(low=self.low, width=self.width, length=length)

    def _window(self, rows: Whole) -> Window:
        """Return the range of true counts, the exponential tilt and the length of the transforms that are used for the
        given levels.

        The range of a column contains the intervals of the column, extended on both sides by the largest noise that is
        not negligible compared with all levels. The tilt is the one with the shortest transform, among the tilts near
        the minimum of the upper bound Phi on the mass that wraps around.
        """
        levels, noise, tilts = self.levels.take(rows), self.problem.noise, self.masses.tilts
        free = self.masses.free(rows)
        rise = np.maximum(free - self.share + self.reserve, 0.0)
        below, above = (
            int(min(np.ceil(((rise + 6.0) / (noise.epsilon + sign * tilts)).min()), noise.reach)) for sign in (1, -1)
        )
        first = np.where(levels.lower < 0, 0, np.where(levels.got >= 0, levels.got, levels.lower)).min(axis=0)
        last = np.maximum(np.maximum(levels.upper, levels.lost).max(axis=0), 0)
        low = np.maximum(first - below, 0)
        width = last + above - low + 1
        lengths = np.maximum(self._lengths(rise), width.max())
        near = free < max(free[1:-1].min(), self.share) + np.log(20.0)
        score = np.where(near, lengths, np.inf)
        best = np.flatnonzero(score == score.min())
        place = int(best[np.argmin(free[best])])
        length = int(scipy.fft.next_fast_len(max(int(np.ceil(lengths[place])), 32), real=True))
        return Window(free, float(tilts[place]), below, above, low, width, length)

    def _lengths(self, rise: Array) -> Array:
        """Return, for every tilt, the shortest sufficient length L of the Fourier transform. At this length, the
        probability mass that wraps around at distances L, 2 L, .. is at most exp(-reserve) times the tilted weights of
        all levels. The result is a float64 array of shape (G,) for G tilts. The first and the last tilt have no such
        length.

        Parameters
        ----------
        rise : float64 (G,), logs of the tilted weights of the selected levels, measured from this largest mass.
        """
        tilts = self.masses.tilts
        gap = tilts - tilts[:, None]
        need = rise / np.where(gap == 0, np.nan, np.abs(gap))
        sides = [np.where(sign * gap > 0, need, np.inf).min(axis=1) for sign in (1, -1)]
        return np.asarray(np.maximum(*sides))

    def _scale(self) -> None:
        """Compute and store, for every column (group of components), the part of the log factor that does not depend on
        the exponential tilt. It is the sum of the log prior, the log of the noise at 0, and a scale that keeps products
        near 1. The factor of the totals is scaled in the same way.
        """
        noise, c, tilt = self.problem.noise, self.problem.columns, self.whole.tilt
        at_tilt = self.masses.levels[int(np.argmin(np.abs(self.masses.tilts - tilt)))]
        best = self.levels.take(np.array([np.argmax(at_tilt)]))
        self.scale, self.log_rise = np.empty(len(c.released)), []
        for u in range(len(c.released)):
            clear, got, lost = _mode_levels.column_masses(c, best, u, np.array([tilt]), noise, self.problem.prior)
            self.scale[u] = next(float(v[0, 0]) for v in (got, lost, clear) if v[0, 0] > -np.inf)
            x = self.low[u] + np.arange(self.width[u])
            log_prior = self.problem.prior.log_component(x, float(c.shape[u]))
            self.log_rise.append(log_prior + np.log(noise.peak) - self.scale[u])
        self.log_top = float((self.log_g - tilt * (self.totals - self.problem.total)).max())

    def law(self) -> TransformedCounts:
        """Return the posterior distribution of the counts, computed from all levels that are not negligible."""
        c = self.problem.columns
        marginals, total = [np.zeros(w) for w in self.width], np.zeros(len(self.totals))
        sums, terms = [], []
        np.empty(_REUSED)
        for rows, window in steps(self.parts, len(self.kept), "levels", lambda part: len(part[0])):
            frame, tail_values, place = self._frame(window)
            chunk = Chunk(frame, rows)
            starts = window.low - self.low
            inside = [m[a : a + w] for m, a, w in zip(marginals, starts, window.width, strict=True)]
            chunk_sums, tail_adjoint = chunk.collect(inside)
            total += tail_values * scipy.fft.irfft(tail_adjoint, frame.length)[place]
            sums.append(chunk_sums)
            terms.append(chunk.terms)
        weights = np.concatenate(sums)
        weight_sum = float(weights[:, 0].sum())
        if not weight_sum > 0:
            raise ValueError(
                f"the release with the total {self.problem.total} has probability 0 under this mechanism: check the "
                "released counts and the settings"
            )
        parts = [np.concatenate(part) for part in zip(*terms, strict=True)]
        self.log_whole = float(np.log(weight_sum) + self.log_top + self.scale @ c.repeats)
        chances = np.maximum(weights[:, 0], 0.0)
        solved = Solved(
            of=c.of,
            low=self.low,
            marginals=[_normalised(np.maximum(m, 0.0)) for m in marginals],
            totals=self.totals,
            total=_normalised(np.maximum(total, 0.0)),
            weights=_normalised(chances),
            certificate=self._certificate(float(weights[:, 1].sum() / weight_sum)),
        )
        return TransformedCounts(
            solved, ModeTerms(self._frame(self.whole)[0], parts, self.totals, self.log_g, self.log_whole)
        )

    def _frame(self, window: Window) -> tuple[Frame, Array, Whole]:
        """Return the data that are shared by all terms with the given settings of the Fourier transforms. Also return
        the factor of every total in the weights of the terms, and the position of every total in a transform.
        """
        p, width = self.problem, window.width
        tail_values = np.exp(self.log_g - window.tilt * (self.totals - p.total) - self.log_top)
        place = (int((window.low * p.columns.repeats).sum()) - self.totals) % window.length
        tail = np.bincount(place, tail_values, window.length).astype(float)
        rise = np.zeros((len(width), int(width.max())))
        for u, (start, w) in enumerate(zip(window.low - self.low, width, strict=True)):
            away = window.low[u] - p.columns.released[u] + np.arange(w)
            rise[u, :w] = np.exp(self.log_rise[u][start : start + w] + window.tilt * away)
        frame = Frame(
            p.columns,
            self.levels,
            p.noise,
            p.prior,
            p.ties,
            self.log_empty,
            low=window.low,
            width=width,
            rise=rise,
            length=window.length,
            tail=tail,
        )
        return frame, tail_values, place

    def _certificate(self, condition: float) -> Certificate:
        """Return upper bounds on the neglected probability mass. The bounds are computed from the exponentially tilted
        sums at every tilt of the grid.
        """
        tilts, noise, size = self.masses.tilts, self.problem.noise, len(self.problem.released)
        wrapped = cut = 0.0
        for _, window in self.parts:
            free, gap = window.free - self.log_whole, tilts - window.tilt
            alias = free - np.abs(gap) * window.length
            wrapped += sum(np.exp(alias[side].min()) for side in (gap > 0, gap < 0))
            for far, sign in ((window.below, 1), (window.above, -1)):
                if far < noise.support:
                    rate = noise.epsilon + sign * tilts
                    cut += size * np.exp((free - rate * far - np.log(np.expm1(rate))).min())
        rest = self.whole.free - self.log_whole - self.masses.totals
        for end, sign in ((0, -1), (-1, 1)):
            away = int(self.totals[end]) - self.problem.total
            if abs(away) < noise.support and (sign > 0 or self.totals[0] > 0):
                rate = noise.epsilon + sign * tilts
                cut += np.exp((rest + self.log_g[end] - tilts * away - np.log(np.expm1(rate))).min())
        pruned = float(np.exp(self.log_dropped - self.log_whole).sum())
        return Certificate(pruned, float(wrapped), float(cut), condition)

    def _chunks(self) -> list[Whole]:
        """Return the levels of algorithm 3 of Wang (2020) in increasing order, in chunks that fit into memory. The
        empty level is a separate chunk.
        """
        rows = self.kept
        empty = rows[rows == len(self.levels) - 1] if self.has_empty else rows[:0]
        rows = rows[: len(rows) - len(empty)]
        levels = self.levels.take(rows)
        fresh = np.count_nonzero(np.diff(levels.lower, axis=0) | np.diff(levels.upper, axis=0), axis=1)
        load = np.cumsum(np.concatenate([[0], fresh]) + levels.claimed.sum(axis=1) * 2)
        limit = max(_CHUNK // self.whole.length - len(self.whole.low), 64)
        parts = np.split(rows, np.flatnonzero(np.diff(load // limit)) + 1) if len(rows) else []
        return [part for part in [*parts, empty] if len(part)]


def _different(*columns: Whole) -> tuple[Whole, Whole]:
    """Return the position of the first row of every group of equal rows, and the group index of every row. The groups
    are in increasing order of the rows.
    """
    order = np.lexsort(columns[::-1])
    new = np.ones(len(order), dtype=bool)
    if len(order):
        new[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    place = np.empty_like(order)
    place[order] = np.cumsum(new) - 1
    return order[new], place


def _normalised(weights: Array) -> Array:
    return np.asarray(weights / weights.sum())


def _log_remainder(released: Whole, ties: str) -> float:
    """Return the log probability of the released vector if all multinomial weights are 0. All components then receive
    equal shares, and the tie-breaking rule divides the remainder.
    """
    size, extra = len(released), int(released.sum()) % len(released)
    if released.max() - released.min() > 1:
        return -np.inf
    if ties == "random":
        return float(gammaln(extra + 1) + gammaln(size - extra + 1) - gammaln(size + 1))
    winners = np.flatnonzero(released > released.min()) if extra else np.arange(0)
    expected = np.arange(extra) if ties == "first" else np.arange(size - extra, size)
    return 0.0 if np.array_equal(winners, expected) else -np.inf
