"""The terms of algorithm 3's posterior: levels transformed together, factors of one level for draws, closed forms."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from . import _frequency_products, _geometric_boxes, _mode_levels
from ._additive_noise import NoiseModel
from ._count_priors import CountsPrior
from ._mode_levels import Columns, Levels
from ._transformed_counts import Chain

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_ROOM = 1 << 21  # numbers held at once


@dataclass(frozen=True)
class Frame:
    """What all terms of one solution share.

    Parameters
    ----------
    columns : Columns, the components.
    levels : Levels, all of them.
    noise : NoiseModel.
    prior : CountsPrior.
    ties : ``"random"``, ``"first"`` or ``"last"``.
    log_empty : log weight of the level without intervals.
    low : int64 (U,), first value of every column.
    width : int64 (U,), values of every column.
    rise : float64 (U, W), what multiplies an interval of every column.
    length : of all transforms.
    tail : float64 (length,), factor of the total at its place in a transform.
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
        """Weights of true counts of column `kind` whose noisy count lies in each interval, float64 (rows, length)."""
        return _geometric_boxes.boxes(
            np.maximum(lower, -_geometric_boxes.LARGEST),
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
    """Some levels in a row, as many as memory takes: every interval once, the rows that terms use, and their terms."""

    def __init__(self, frame: Frame, rows: Whole) -> None:
        self.frame, levels = frame, frame.levels.take(rows)
        claimed, size = levels.claimed, len(frame.low)
        self.plain = not claimed.any()
        fresh = np.ones(levels.lower.shape, dtype=bool)
        fresh[1:] = (np.diff(levels.lower, axis=0) != 0) | (np.diff(levels.upper, axis=0) != 0)
        got, lost = levels.got >= 0, levels.lost >= 0
        parts = ((fresh, levels.lower, levels.upper), (got, levels.got, levels.got), (lost, levels.lost, levels.lost))
        kind = np.concatenate([np.nonzero(mask.T)[0] for mask, _, _ in parts])
        order = np.argsort(kind, kind="stable")
        row_of = np.empty_like(order)
        row_of[order] = np.arange(len(order))
        self.kind = kind[order]
        self.lower, self.upper = (np.concatenate([part[k].T[part[0].T] for part in parts])[order] for k in (1, 2))
        self.ends = np.searchsorted(self.kind, np.arange(size + 1))
        counts = np.cumsum([0, *(int(mask.sum()) for mask, _, _ in parts)])
        place = [
            np.cumsum(mask.T.ravel()).reshape(mask.T.shape).T - 1 + counts[k] for k, (mask, _, _) in enumerate(parts)
        ]
        self.clear = row_of[place[0]]
        self.got, self.lost = (
            np.where(m, row_of[np.maximum(p, 0)], -1) for m, p in zip((got, lost), place[1:], strict=True)
        )
        self._plan(rows, claimed @ frame.columns.repeats)

    def _plan(self, rows: Whole, claims: Whole) -> None:
        """One term a node of every level: index of the level, early, late, weight."""
        if self.plain:
            ones = np.ones(len(rows))
            self.terms = (rows, ones, ones, ones * np.exp(self.frame.log_empty))
            self.level = np.arange(len(rows))
            return
        rules = {n: _mode_levels.rule(n, self.frame.ties) for n in np.unique(claims).tolist()}
        found = [rules[n] for n in claims.tolist()]
        self.level = np.repeat(np.arange(len(rows)), [len(rule[0]) for rule in found])
        early, late, weight = (np.concatenate([rule[k] for rule in found]) for k in range(3))
        self.terms = (rows[self.level], early, late, weight)

    def collect(self, marginals: list[Array]) -> tuple[Array, NDArray[np.complex128]]:
        """Run the terms and add to the marginals; returns the terms' sums and the adjoint of the tail."""
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
    """All terms of a solution.

    Parameters
    ----------
    frame : Frame.
    terms : index of the level, early, late, weight; one entry a term.
    totals : int64 (L,).
    log_g : float64 (L,), log factor of every total.
    log_whole : log of the sum of all terms.
    """

    def __init__(self, frame: Frame, terms: list[Any], totals: Whole, log_g: Array, log_whole: float) -> None:
        self.frame, self.terms, self.totals, self.log_g, self.log_whole = frame, terms, totals, log_g, log_whole

    def chain(self, term: int) -> Chain:
        """Factors of one level at one node."""
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
        """Log probability of every row: the levels' closed forms, no transform."""
        place = vectors.sum(axis=1) - self.totals[0]
        inside = (vectors >= 0).all(axis=1) & (place >= 0) & (place < len(self.totals))
        out = np.full(len(vectors), -np.inf)
        block = max(_ROOM // (len(self.terms[0]) * vectors.shape[1]), 1)
        rows = np.flatnonzero(inside)
        for begin in range(0, len(rows), block):
            some = rows[begin : begin + block]
            out[some] = self._log_weights(vectors[some]) + self.log_g[place[some]] - self.log_whole
        return out

    def _log_weights(self, vectors: Whole) -> Array:
        """Log of the sum over all terms, float64 (n,)."""
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
        """sum of exp(-epsilon |n - x|) over the interval within the noise's half-width, float64 (T, n)."""
        noise = self.frame.noise
        e, reach = noise.epsilon, noise.reach
        first = np.maximum(lower[:, None] - x, -reach)
        last = np.minimum(upper[:, None] - x, reach)
        series = np.expm1(-e * np.maximum(last - first + 1, 0)) / np.expm1(-e)
        one_side = np.exp(-e * np.maximum(np.maximum(first, -last), 0)) * series
        right, left = (np.expm1(-e * (np.maximum(end, 0) + 1)) / np.expm1(-e) for end in (last, -first))
        both = right + left - 1.0
        return np.where(first > last, 0.0, np.where((first < 0) & (last > 0), both, one_side))
