"""Posterior distribution of the true counts given a release that was produced by algorithm 3 of Wang (2020), for any
epsilon. It is a sum of a few thousand products, computed by Fourier transforms of equal length.

A factor contains the weights of the true counts of one column, given that the noisy count lies in an interval. All
levels use the same tilt, so each factor is transformed once for all levels that share it. The sum of all products that
multiply a factor is then transformed back, once per factor (`_frequency_products`). The length of the transforms, the
widths of the marginals and the neglected levels follow from the bounds of `_mode_levels`. Each of these truncations has
an upper bound on the neglected posterior mass. The derivation is in the documentation, on the page about the methods of
Wang (2020).

All levels are transformed together. Draws use the factors of a single level, and log probabilities use closed forms.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
    """Data that all terms of the mixture for algorithm 3 of Wang (2020) share: columns, levels, noise, prior and sizes
    of the transforms.

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
        """Return the weights of the true counts of one column of components, float64 (rows, length). Each row is
        conditional on a noisy count in one of several intervals.
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
    """Block of consecutive levels of algorithm 3 that fit into memory together, with the terms and the distinct
    intervals of these levels. Each term uses some rows of these intervals.
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
    """Terms of the mixture that represents the posterior distribution given a release that was produced by algorithm 3
    of Wang (2020).

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
        """Return the log probabilities of several vectors of counts, one per row, from closed forms instead of
        transforms.
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
        """Return the log of the sum of all terms of the mixture at every vector of counts, float64 (n,)."""
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
        """Groups of equal components (columns), or one column per component if the tie rule depends on the order."""
        shapes = self.prior.shapes(len(self.released))
        return _mode_levels.columns(self.released, shapes, together=self.ties == "random")

    def totals(self, span: float) -> tuple[Whole, Array]:
        """Return the true totals within span/epsilon of the released total, and the log of the factor of each total in
        the posterior weights.
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
        raise ValueError(f"the sum of released must be at most {_LARGEST}, got {problem.total}")
    slack, reserve = _SLACK, _RESERVE
    for _ in range(4):
        law = _Sweep(problem, slack, reserve).law()
        if law.certificate.pruned < 1e-14 and law.certificate.wrapped < 1e-14:
            break
        slack += max(np.log(law.certificate.pruned / 1e-15), 0.0) + 2.0
        reserve += max(np.log(law.certificate.wrapped / 1e-15), 0.0) + 2.0
    return law


class _Sweep:
    """Solver that computes the posterior distribution given a release that was produced by algorithm 3 of Wang (2020).
    It determines the levels, their bounds and the sizes of the arrays, and then processes all levels.
    """

    def __init__(self, problem: Problem, slack: float, reserve: float) -> None:
        self.problem, self.slack = problem, slack
        self._bound_levels()
        bounds = self.masses.bounds()
        dropped = bounds <= bounds.max() - _KEPT - slack
        self.kept, self.log_dropped = np.flatnonzero(~dropped), bounds[dropped]
        self._choose_tilt(reserve)
        self._choose_windows()
        self._scale()

    def _bound_levels(self) -> None:
        """Determine all levels of algorithm 3 of Wang (2020) with a weight that is not negligible. The range of levels
        is extended until the bounds on the weights at both ends are negligible.
        """
        p = self.problem
        span, total, size = 60.0 + 3.0 * len(p.released), p.total, len(p.released)
        for _ in range(5):
            self.totals, self.log_g = p.totals(span)
            if not np.isfinite(self.log_g).any():
                raise ValueError(
                    "the release has probability 0 under this mechanism: check the released counts and the settings"
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

    def _choose_tilt(self, reserve: float) -> None:
        """Choose the exponential tilt that requires the shortest Fourier transform. The candidates are tilts near the
        minimum of the upper bound Phi on the mass that wraps around.
        """
        self.free = self.masses.free(self.kept)
        tilts = self.masses.tilts
        lengths = np.array([self._length(k, reserve) for k in range(len(tilts))])
        self.place = 1 + int(np.argmin(self.free[1:-1]))
        self._choose_windows()
        near = self.free < self.free[self.place] + np.log(20.0)
        score = np.where(near, np.maximum(lengths, self.width.max()), np.inf)
        best = np.flatnonzero(score == score.min())
        self.place = int(best[np.argmin(self.free[best])])
        self.length = int(lengths[self.place])

    def _length(self, k: int, reserve: float) -> float:
        """Return the shortest transform length L at which the wrapped-around probability mass of the totals is small
        enough. The mass at distances L, 2 L, .. is at most exp(-reserve) times the sum of all tilted weights at tilt k.
        """
        gap = self.masses.tilts - self.masses.tilts[k]
        if k in (0, len(gap) - 1):
            return np.inf
        need = (self.free - self.free[k] + reserve)[gap != 0] / np.abs(gap[gap != 0])
        up = gap[gap != 0] > 0
        return float(max(need[up].min(), need[~up].min()))

    def _choose_windows(self) -> None:
        """Choose the range of true counts for every column. The range contains the intervals of the column, extended on
        both sides by the largest non-negligible noise.
        """
        levels, noise = self.levels.take(self.kept), self.problem.noise
        rise = self.free - self.free[self.place] + _RESERVE + 6.0
        tilts = self.masses.tilts
        self.beyond = [
            int(min(np.ceil((rise / (noise.epsilon + sign * tilts)).min()), noise.reach)) for sign in (1, -1)
        ]
        first = np.where(levels.lower < 0, 0, np.where(levels.got >= 0, levels.got, levels.lower)).min(axis=0)
        last = np.maximum(np.maximum(levels.upper, levels.lost).max(axis=0), 0)
        self.low = np.maximum(first - self.beyond[0], 0)
        self.width = last + self.beyond[1] - self.low + 1

    def _scale(self) -> None:
        """Set the factor that multiplies the weights of every column. It is the product of the exponential tilt, the
        prior, and a scale that keeps products near 1.
        """
        noise, c, tilt = self.problem.noise, self.problem.columns, self.masses.tilts[self.place]
        self.tilt = float(tilt)
        self.length = int(scipy.fft.next_fast_len(max(self.length, int(self.width.max()), 32), real=True))
        best = self.levels.take(np.array([np.argmax(self.masses.levels[self.place])]))
        self.scale, self.rise = np.empty(len(c.released)), np.zeros((len(c.released), int(self.width.max())))
        for u in range(len(c.released)):
            clear, got, lost = _mode_levels.column_masses(c, best, u, np.array([self.tilt]), noise, self.problem.prior)
            self.scale[u] = next(float(v[0, 0]) for v in (got, lost, clear) if v[0, 0] > -np.inf)
            x = self.low[u] + np.arange(self.width[u])
            logs = self.tilt * (x - c.released[u]) + self.problem.prior.log_component(x, float(c.shape[u]))
            self.rise[u, : self.width[u]] = noise.peak * np.exp(logs - self.scale[u])

    def law(self) -> TransformedCounts:
        """Return the posterior distribution of the counts, computed from all levels that are not negligible."""
        c = self.problem.columns
        log_tail = self.log_g - self.tilt * (self.totals - self.problem.total)
        self.log_top = float(log_tail.max())
        self.tail_values = np.exp(log_tail - self.log_top)
        start = int((self.low * c.repeats).sum())
        self.place_of_totals = (start - self.totals) % self.length
        frame = self._frame(np.bincount(self.place_of_totals, self.tail_values, self.length).astype(float))
        marginals = [np.zeros(w) for w in self.width]
        tail_adjoint = np.zeros(self.length // 2 + 1, dtype=np.complex128)
        sums, terms = [], []
        chunks = self._chunks()
        for rows in steps(chunks, len(chunks), "chunks of levels"):
            chunk = Chunk(frame, rows)
            chunk_sums, tail_part = chunk.collect(marginals)
            tail_adjoint += tail_part
            sums.append(chunk_sums)
            terms.append(chunk.terms)
        weights = np.concatenate(sums)
        weight_sum = float(weights[:, 0].sum())
        if not weight_sum > 0:
            raise ValueError(
                "the release has probability 0 under this mechanism: check the released counts and the settings"
            )
        parts = [np.concatenate(part) for part in zip(*terms, strict=True)]
        self.log_whole = float(np.log(weight_sum) + self.log_top + self.scale @ c.repeats)
        total = np.maximum(self.tail_values * scipy.fft.irfft(tail_adjoint, self.length)[self.place_of_totals], 0.0)
        chances = np.maximum(weights[:, 0], 0.0)
        solved = Solved(
            of=c.of,
            low=self.low,
            marginals=[_normalised(np.maximum(m, 0.0)) for m in marginals],
            totals=self.totals,
            total=_normalised(total),
            weights=_normalised(chances),
            certificate=self._certificate(float(weights[:, 1].sum() / weight_sum)),
        )
        return TransformedCounts(solved, ModeTerms(frame, parts, self.totals, self.log_g, self.log_whole))

    def _frame(self, tail: Array) -> Frame:
        p = self.problem
        boxes = {"low": self.low, "width": self.width, "rise": self.rise, "length": self.length, "tail": tail}
        return Frame(p.columns, self.levels, p.noise, p.prior, p.ties, self.log_empty, **boxes)

    def _certificate(self, condition: float) -> Certificate:
        """Return upper bounds on the probability mass that is neglected, computed from the tilted sums at every tilt of
        the grid.
        """
        tilts, gap = self.masses.tilts, np.abs(self.masses.tilts - self.tilt)
        noise, free = self.problem.noise, self.free - self.log_whole
        up = tilts > self.tilt
        wrapped = sum(np.exp((free - gap * self.length)[side].min()) for side in (up, (tilts < self.tilt)))
        cut = 0.0
        size = len(self.problem.released)
        for far, sign in zip(self.beyond, (1, -1), strict=True):
            if far < noise.support:
                rate = noise.epsilon + sign * tilts
                cut += size * np.exp((free - rate * far - np.log(np.expm1(rate))).min())
        rest = free - self.masses.totals
        for end, sign in ((0, -1), (-1, 1)):
            away = int(self.totals[end]) - self.problem.total
            if abs(away) < noise.support and (sign > 0 or self.totals[0] > 0):
                rate = noise.epsilon + sign * tilts
                cut += np.exp((rest + self.log_g[end] - tilts * away - np.log(np.expm1(rate))).min())
        pruned = float(np.exp(self.log_dropped - self.log_whole).sum())
        return Certificate(pruned, float(wrapped), float(cut), condition)

    def _chunks(self) -> list[Whole]:
        """Yield the levels of algorithm 3 of Wang (2020) in increasing order, in chunks that fit into memory. The empty
        level is a separate chunk.
        """
        rows = self.kept
        empty = rows[rows == len(self.levels) - 1] if self.has_empty else rows[:0]
        rows = rows[: len(rows) - len(empty)]
        levels = self.levels.take(rows)
        fresh = np.count_nonzero(np.diff(levels.lower, axis=0) | np.diff(levels.upper, axis=0), axis=1)
        load = np.cumsum(np.concatenate([[0], fresh]) + levels.claimed.sum(axis=1) * 2)
        limit = max(_CHUNK // self.length - len(self.low), 64)
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
    equal shares, and the tie rule divides the remainder.
    """
    size, extra = len(released), int(released.sum()) % len(released)
    if released.max() - released.min() > 1:
        return -np.inf
    if ties == "random":
        return float(gammaln(extra + 1) + gammaln(size - extra + 1) - gammaln(size + 1))
    winners = np.flatnonzero(released > released.min()) if extra else np.arange(0)
    expected = np.arange(extra) if ties == "first" else np.arange(size - extra, size)
    return 0.0 if np.array_equal(winners, expected) else -np.inf
