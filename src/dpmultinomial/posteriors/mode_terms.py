"""The terms of algorithm 3's posterior in full: factors of one level for draws, closed forms for single vectors."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..kernels import geometric_boxes
from .transformed_counts import Chain

if TYPE_CHECKING:
    from .mode_transforms import _Sweep

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_ROOM = 1 << 21  # numbers held at once


class ModeTerms:
    """Terms of a solved sweep in full."""

    def __init__(self, sweep: "_Sweep") -> None:
        self.sweep = sweep

    def chain(self, term: int) -> Chain:
        """Factors of one level at one node."""
        s = self.sweep
        row, early, late = (part[term] for part in s.terms[:3])
        level, of = s.levels.take(np.array([row])), s.problem.columns.of

        def factor(lower: Whole, upper: Whole) -> Array:
            kinds = np.arange(len(s.low))
            return geometric_boxes.boxes(
                np.maximum(lower, -geometric_boxes.LARGEST),
                upper,
                kinds,
                low=s.low,
                width=s.width,
                rise=s.rise,
                epsilon=s.problem.noise.epsilon,
                reach=s.problem.noise.reach,
                length=s.rise.shape[1],
            )

        clear = factor(level.lower[0], level.upper[0])
        if not level.claimed.any():
            return Chain(clear[of], clear[of], None, s.tail)
        got, lost = (factor(e, np.where(e >= 0, e, e - 1)) for e in (level.got[0], level.lost[0]))
        first, last = (clear + e * got + (1.0 - e) * lost for e in (early, late))
        return Chain(first[of], last[of], got[of], s.tail)

    def log_probabilities(self, vectors: Whole) -> Array:
        """Log probability of every row: the levels' closed forms, no transform."""
        s = self.sweep
        totals = vectors.sum(axis=1)
        place = totals - s.totals[0]
        inside = (vectors >= 0).all(axis=1) & (place >= 0) & (place < len(s.totals))
        out = np.full(len(vectors), -np.inf)
        block = max(_ROOM // (len(s.terms[0]) * vectors.shape[1]), 1)
        rows = np.flatnonzero(inside)
        for begin in range(0, len(rows), block):
            some = rows[begin : begin + block]
            out[some] = self._log_weights(vectors[some]) + s.log_g[place[some]] - s.log_whole
        return out

    def _log_weights(self, vectors: Whole) -> Array:
        """Log of the sum over all terms, float64 (n,)."""
        s, (rows, early, late, weight) = self.sweep, self.sweep.terms
        levels, of = s.levels.take(rows), s.problem.columns.of
        shapes = s.problem.columns.shape[of]
        base = sum(s.problem.prior.log_component(vectors[:, i], float(shapes[i])) for i in range(len(of)))
        base = base + len(of) * np.log(s.problem.noise.peak)
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
        """sum of exp(-epsilon |n - x|) over the box within the noise's reach, float64 (T, n)."""
        noise = self.sweep.problem.noise
        e, reach = noise.epsilon, noise.reach
        first = np.maximum(lower[:, None] - x, -reach)
        last = np.minimum(upper[:, None] - x, reach)
        series = np.expm1(-e * np.maximum(last - first + 1, 0)) / np.expm1(-e)
        one_side = np.exp(-e * np.maximum(np.maximum(first, -last), 0)) * series
        right, left = (np.expm1(-e * (np.maximum(end, 0) + 1)) / np.expm1(-e) for end in (last, -first))
        both = right + left - 1.0
        return np.where(first > last, 0.0, np.where((first < 0) & (last > 0), both, one_side))
