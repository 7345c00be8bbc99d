"""Levels of algorithm 3's posterior a memory's worth at a time: their boxes transformed, multiplied and pulled back."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from ..kernels import frequency_products, geometric_boxes
from . import mode_levels

if TYPE_CHECKING:
    from .mode_transforms import _Sweep

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class Chunk:
    """Some levels in a row: every box once, the rows that terms use, and their terms."""

    def __init__(self, sweep: "_Sweep", rows: Whole) -> None:
        self.sweep, levels = sweep, sweep.levels.take(rows)
        claimed, size = levels.claimed, len(sweep.low)
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
        self._plan(rows, claimed @ sweep.problem.columns.repeats)

    def _plan(self, rows: Whole, claims: Whole) -> None:
        """One term a node of every level: index of the level, early, late, weight."""
        if self.plain:
            ones = np.ones(len(rows))
            self.terms = (rows, ones, ones, ones * np.exp(self.sweep.log_empty))
            self.level = np.arange(len(rows))
            return
        rules = {n: mode_levels.rule(n, self.sweep.problem.ties) for n in np.unique(claims).tolist()}
        found = [rules[n] for n in claims.tolist()]
        self.level = np.repeat(np.arange(len(rows)), [len(rule[0]) for rule in found])
        early, late, weight = (np.concatenate([rule[k] for rule in found]) for k in range(3))
        self.terms = (rows[self.level], early, late, weight)

    def collect(self, marginals: list[Array]) -> tuple[Array, NDArray[np.complex128]]:
        """Run the terms and add to the marginals; returns the terms' sums and the adjoint of the tail."""
        s = self.sweep
        boxes = geometric_boxes.boxes(
            np.maximum(self.lower, -geometric_boxes.LARGEST),
            self.upper,
            self.kind,
            low=s.low,
            width=s.width,
            rise=s.rise,
            epsilon=s.problem.noise.epsilon,
            reach=s.problem.noise.reach,
            length=s.length,
        )
        spectra = scipy.fft.rfft(boxes, axis=1)
        _, early, late, weight = self.terms
        sums, adjoints, tail = frequency_products.sweep(
            spectra,
            scipy.fft.rfft(s.tail),
            self.clear[self.level],
            None if self.plain else self.got[self.level],
            None if self.plain else self.lost[self.level],
            weight=weight,
            repeats=s.problem.columns.repeats,
            length=s.length,
            early=None if self.plain else early,
            late=None if self.plain else late,
        )
        others = scipy.fft.irfft(adjoints, s.length, axis=1, overwrite_x=True)
        for u, (begin, end) in enumerate(zip(self.ends[:-1], self.ends[1:], strict=True)):
            w = s.width[u]
            marginals[u] += np.einsum("rx,rx->x", boxes[begin:end, :w], others[begin:end, :w])
        return sums, tail
