"""The largest penalised evidence of a histogram, and how smooth it should be.

Log densities f of the cells maximise sum_i c_i log sum_b E_ib m_b(f) - f' P f/2, where E_ib is the mean likelihood of
row i on cell b, m_b the cell's mass and P a penalty of second differences. With the expected number of counts in a cell
held fixed, this is one step of EM; its information n (diag m - m m') + P is used where the exact one is not positive
definite, so that every step climbs. The penalty is chosen by the evidence of Laplace's approximation, and so is whether
the cell of 0 may stand off from its neighbours.
"""

import numpy as np
from numpy.typing import NDArray

from . import _grid

Array = NDArray[np.float64]
_SMOOTH = 10.0 ** np.arange(5, -2, -1)
_USUAL, _SPREAD = 1.5, 1.0  # normal prior of log10 of the smoothness: few counts cannot ask for a rough prior
_FREE = 0.1  # smoothness at 0 where that may stand off: a factor of exp(3) is one sd
_ROUNDS = 60
_STEP = 3.0  # largest change of a log density
_GAIN = 1e-4  # of the log evidence, below which a maximum is reached
_ROWS = 10_000  # at a time


def largest(likelihood: Array, times: Array, width: Array) -> tuple[Array, float]:
    """Masses of the cells, and the smoothness under which they were found.

    Parameters
    ----------
    likelihood : float64 (rows, cells), mean likelihood of every row on every cell, up to a factor a row.
    times : float64 (rows,), how often each row occurs.
    width : float64 (cells,), counts in a cell.

    Returns
    -------
    masses : float64 (cells,)
    smoothness : float
    """
    problem = _Problem(likelihood, times, width)
    best, masses, chosen = -np.inf, width, 0.0
    for free in (False, True):
        f, worse = -np.log(1.0 + np.cumsum(width)), 0
        for smoothness in _SMOOTH:
            weights = _grid.penalty(len(width), smoothness, _FREE if free else smoothness)
            f, evidence = problem.climb(f, weights)
            evidence -= ((np.log10(smoothness) - _USUAL) / _SPREAD) ** 2 / 2
            worse = 0 if evidence > best else worse + 1
            if evidence > best:
                best, masses, chosen = evidence, problem.masses(f), float(smoothness)
            elif worse > 1:
                break
    return masses, chosen


class _Problem:
    """Evidence of log densities: its value, slope and information."""

    def __init__(self, likelihood: Array, times: Array, width: Array) -> None:
        self.likelihood, self.times, self.width, self.n = likelihood, times, width, float(times.sum())

    def masses(self, f: Array) -> Array:
        weights = self.width * np.exp(f - f.max())
        return np.asarray(weights / weights.sum())

    def value(self, f: Array, weights: Array) -> float:
        each = self.likelihood @ self.masses(f)
        with np.errstate(divide="ignore"):
            return float(self.times @ np.log(each) - f @ weights @ f / 2)

    def climb(self, f: Array, weights: Array) -> tuple[Array, float]:
        """Log densities of the largest penalised evidence, and the log evidence of the penalty."""
        value = self.value(f, weights)
        for _ in range(_ROUNDS):
            slope, complete, observed = self._local(f, weights)
            new = next(
                (found for info in (observed, complete) if (found := self._step(f, value, slope, info, weights))), None
            )
            if new is None:
                break
            gain = new[1] - value
            f, value = new
            if gain < _GAIN:
                break
        _, complete, observed = self._local(f, weights)
        root = _root(observed)
        root = _root(complete) if root is None else root
        assert root is not None
        size = np.linalg.slogdet(weights)[1] / 2 - np.log(np.diag(root)).sum()
        return f, value + float(size)

    def _step(
        self, f: Array, value: float, slope: Array, information: Array, weights: Array
    ) -> tuple[Array, float] | None:
        """A step uphill, or None."""
        root = _root(information)
        if root is None:
            return None
        step = np.linalg.solve(root.T, np.linalg.solve(root, slope))
        size = min(1.0, _STEP / max(float(np.abs(step).max()), 1e-300))
        while size > 1e-4:
            new = f + size * step
            new -= new.max()
            found = self.value(new, weights)
            if found > value:
                return new, found
            size /= 2
        return None

    def _local(self, f: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Slope, and the information of EM (complete) and of the evidence (observed)."""
        m = self.masses(f)
        expected, cross = np.zeros(len(m)), np.zeros((len(m), len(m)))
        for start in range(0, len(self.times), _ROWS):
            part, times = self.likelihood[start : start + _ROWS], self.times[start : start + _ROWS]
            each = part @ m
            expected += (times / each) @ part
            scaled = part * (np.sqrt(times) / each)[:, None]
            cross += scaled.T @ scaled
        expected *= m
        slope = expected - self.n * m - weights @ f
        complete = self.n * (np.diag(m) - np.outer(m, m)) + weights
        observed = complete - np.diag(expected) + cross * np.outer(m, m)
        return slope, complete, observed


def _root(information: Array) -> Array | None:
    try:
        return np.asarray(np.linalg.cholesky(information + 1e-9 * np.trace(information) * np.eye(len(information))))
    except np.linalg.LinAlgError:
        return None
