"""A prior of counts fitted to many of them: the histogram under which their noisy values are most probable.

The density is constant on the cells of a grid, and its logs are smooth where few counts say otherwise (`_evidence`).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _evidence, _grid, windows
from .cells import Cells
from .priors import Reciprocal

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
FEWEST = 30
MOST_ROWS = 20_000  # different rows that are fitted on; of more, every so many
_LOG_MASS = 25.0  # likelihoods beyond have less than 1e-11 of a row's
_COUNTS = Reciprocal()  # counts from 0 on


class Fitted:
    """A histogram of counts as a prior.

    Parameters
    ----------
    edges : int64 (cells + 1,), rising from 0: cell b holds edges[b]..edges[b + 1] - 1.
    masses : float64 (cells,), probability of each cell; scaled to 1.
    fitted_on : how many counts it was fitted on.
    smoothness : weight of the penalty.
    """

    proper = True

    def __init__(self, edges: ArrayLike, masses: ArrayLike, *, fitted_on: int, smoothness: float) -> None:
        self.edges = np.asarray(edges, dtype=np.int64)
        p = np.asarray(masses, dtype=np.float64)
        total = p.sum()
        self.masses: Array = p if abs(total - 1) <= 1e-12 else p / total  # what was scaled once keeps its bits
        with np.errstate(divide="ignore"):
            self.logs: Array = np.log(self.masses / np.diff(self.edges))
        self.fitted_on, self.smoothness = fitted_on, smoothness
        self.peak = float(self.logs.max())
        self.first, self.last = 0.0, float(self.edges[-1] - 1)

    def log_weights(self, counts: ArrayLike) -> Array:
        """log P(n); -inf below 0 and above the last cell."""
        n = np.asarray(counts, dtype=np.float64)
        cell = np.searchsorted(self.edges, n, side="right") - 1
        inside = (cell >= 0) & (cell < len(self.logs))
        return np.where(inside, self.logs[np.where(inside, cell, 0)], -np.inf)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """The first and the last count of the grid."""
        return self.first, self.last

    def below(self, counts: ArrayLike) -> Array:
        """P(count < n), by broadcasting."""
        n = np.clip(np.asarray(counts, dtype=np.float64), 0, self.edges[-1])
        sums = np.concatenate([[0.0], np.cumsum(self.masses)])
        return np.asarray(np.interp(n, self.edges, sums))

    def mean(self) -> float:
        """Expected count."""
        return float(self.masses @ (self.edges[:-1] + self.edges[1:] - 1) / 2)

    def words(self) -> dict[str, object]:
        """What it was fitted on, and what came out."""
        return {
            "law": "fitted",
            "fitted_on": self.fitted_on,
            "cells": len(self.masses),
            "smoothness": self.smoothness,
            "mean": self.mean(),
            "zero": float(self.masses[0]),
        }


def fit(cells: Cells) -> Fitted:
    """Fit a prior to noisy counts.

    Parameters
    ----------
    cells : noisy counts; rows that are wrong or not measured are passed over.

    Returns
    -------
    Fitted

    Raises
    ------
    ValueError
        If fewer than `FEWEST` counts are left.
    """
    rows = np.flatnonzero(cells.good & cells.measured)
    if len(rows) < FEWEST:
        raise ValueError(
            f"a fitted prior needs at least {FEWEST} measured counts, got {len(rows)}: give another, such as 1/(1+n)"
        )
    part, times = _different(cells, rows)
    low, high = windows.spans(cells.take(rows), _COUNTS, _LOG_MASS)
    last = float(high.max())
    low, high = windows.spans(cells.take(part), _COUNTS, _LOG_MASS)
    sd = np.sqrt(np.broadcast_to(np.asarray(cells.noise.variance()), (len(cells),)))[part]
    centre = np.clip((low + high) / 2, cells.lower[part], cells.upper[part])
    edges = _grid.edges_of(np.repeat(centre, times), np.repeat(sd, times), last)
    likelihood = _mean_likelihood(cells, part, low, high, edges)
    masses, smoothness = _evidence.largest(likelihood, times.astype(float), np.diff(edges).astype(float))
    return Fitted(edges, masses, fitted_on=int(times.sum()), smoothness=smoothness)


def _different(cells: Cells, rows: Whole) -> tuple[Whole, Whole]:
    """Rows that differ, and how often each occurs; of too many, every so many."""
    keys = cells.keys()
    step = 1
    while True:
        part = rows[::step]
        _, first, times = np.unique(keys[part], axis=0, return_index=True, return_counts=True)
        if len(first) <= MOST_ROWS:
            return part[first], times
        step = max(step + 1, step * len(first) // MOST_ROWS)


def _mean_likelihood(cells: Cells, rows: Whole, low: Array, high: Array, edges: Whole) -> Array:
    """E_ib up to a factor a row: float64 (rows, cells)."""
    place = np.empty(len(cells), dtype=np.int64)
    place[rows] = np.arange(len(rows))
    out = np.zeros((len(rows), len(edges) - 1))
    for block in windows.blocks(cells, rows, low, high):
        best = block.log_likelihood.max(axis=1, keepdims=True)
        below = np.zeros((len(block.rows), block.counts.shape[1] + 1))
        np.cumsum(np.exp(block.log_likelihood - best), axis=1, out=below[:, 1:])
        at = np.clip(edges - block.low[:, None], 0, block.counts.shape[1])
        out[place[block.rows]] = np.diff(np.take_along_axis(below, at, axis=1), axis=1)
    return out / np.diff(edges)
