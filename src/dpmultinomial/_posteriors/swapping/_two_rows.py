"""Posterior of the original of a swapped 2 x c table, exactly and without listing the originals.

With r records in one row, x_j of them in column j before and s_j after the swap, c_j in the column, and i records that
cross (`_mechanisms.swapping.swap_crossings`),

P(S | X) = sum_i w_i/(C(r, i) C(n - r, i)) [z^i] prod_j sum_u C(x_j, u) C(c_j - x_j, u + s_j - x_j) z^u.

The Dirichlet-multinomial prior is a product over columns too. So the originals are independent pairs (x_j, u_j),
conditioned on sum x = r and weighted by a function of sum u. The pairs are tilted by kappa^x rho^u to a saddle point,
where neither condition is rare, and their sums convolved by Fourier transform.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, next_fast_len, rfft2
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from ..._mechanisms.swapping import swap_crossings
from ..counts.dirichlet_mixture import PairedLaw

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
MOST_RECORDS = 1500  # transforms of n x n/2 entries, one a column
_STEEPEST = 200.0  # log tilts are looked for up to this


class TwoRowLaw(PairedLaw):
    """Posterior law of the original of a swapped 2 x c (or c x 2) table, as a `dirichlet_mixture.CountsLaw`.

    Parameters
    ----------
    table : int64 (2, c) or (c, 2)
        The swapped table, checked; both sides of two positive margins or more, up to 1,500 records.
    alpha : float64 (2 c,)
        Dirichlet prior of the cells, row by row.
    rate : float
        Swap rate, in (0, 1).

    Attributes
    ----------
    log_acceptance : float
        Log of the marginal probability of the swapped table.

    Notes
    -----
    Probabilities to 1e-13 absolutely, however small they are: tails below 1e-11 are refused. c transforms of n x n/2
    entries: 0.3 s at n = 500, a few seconds at 1,500.
    """

    least = 1e-11  # of the probability of a tail: two digits

    def __init__(self, table: Counts, alpha: Array, *, rate: float) -> None:
        self.shape = table.shape
        self._turned = table.shape[0] != 2
        rows = table.T if self._turned else table
        prior = alpha.reshape(table.shape).T if self._turned else alpha.reshape(table.shape)
        self._lower = bool(rows[1].sum() <= rows[0].sum())  # the row that is counted: the smaller one
        mine, rest = (1, 0) if self._lower else (0, 1)
        self.columns, self._seen = rows.sum(axis=0), rows[mine]
        self.total, self.categories, self._r = int(table.sum()), table.size, int(rows[mine].sum())
        self._logs = [
            _column(int(c), int(s), float(a), float(b))
            for c, s, a, b in zip(self.columns, self._seen, prior[mine], prior[rest], strict=True)
        ]
        crossing = _log_choose(self._r) + _log_choose(self.total - self._r)[: self._r + 1]
        self._omega = swap_crossings.log_weights(self.total, self._r, rate=rate) - crossing
        self._tilt()
        self._convolve()
        mass = self._law_of_crossings().sum()
        self.log_acceptance = float(
            np.log(mass) + self._offset + gammaln(self.total + 1) + gammaln(alpha.sum())
            - gammaln(alpha.sum() + self.total) - gammaln(alpha).sum()
        )  # fmt: skip

    def marginal(self, category: int) -> Array:
        """Law of one cell, float64 (total + 1,)."""
        row, j = self._place(category)
        column = int(self.columns[j])
        x = np.arange(column + 1)
        others = self._without(j)
        inside = (x <= self._r) & (self._r - x <= self.total - column)
        rows = np.where(inside[:, None], others[np.clip(self._r - x, 0, len(others) - 1)], 0.0)
        u = np.arange(self._pairs[j].shape[1])
        weights = np.concatenate([self._weights, np.zeros(rows.shape[1] + len(u))])
        ahead = rows @ weights[np.arange(rows.shape[1])[:, None] + u[None, :]]
        law = np.maximum((self._pairs[j] * ahead).sum(axis=1), 0.0)
        out = np.zeros(self.total + 1)
        out[x if row == self._lower else column - x] = law / law.sum()
        return out

    def pair(self, inside: int, others: Sequence[int]) -> tuple[Counts, Counts, Array]:
        """Joint law of a cell and a sum of cells, where one is a fixed number less the other: all other cells, the
        rest of its row, or the rest of its column. ValueError for other sums: take draws."""
        row, j = self._place(inside)
        cells = np.arange(self.categories).reshape(self.shape)
        grid = cells.T if self._turned else cells
        size = {
            tuple(sorted(set(cells.ravel().tolist()) - {inside})): self.total,
            tuple(sorted(set(grid[row].tolist()) - {inside})): self._r if row == self._lower else self.total - self._r,
            (int(grid[1 - row, j]),): int(self.columns[j]),
        }.get(tuple(sorted(others)))
        if size is None:
            raise ValueError(f"given must be all cells, one row or one column of the table here, got others {others}")
        s = np.arange(size + 1)
        return s, size - s, self.marginal(inside)[: size + 1]

    def draw(self, size: int, *, rng: np.random.Generator) -> Counts:
        """Independent originals, int64 (size, cells)."""
        after = [self._inverse(self._products(j)) for j in range(1, len(self.columns))]
        last = np.zeros((1, 1))
        last[0, 0] = 1.0
        law = self._law_of_crossings()
        left, cross = np.full(size, self._r), rng.choice(len(law), size, p=law / law.sum())
        x = np.empty((size, len(self.columns)), dtype=np.int64)
        for j, (pairs, rest) in enumerate(zip(self._pairs, [*after, last], strict=True)):
            states, index = np.unique(np.column_stack([left, cross]), axis=0, return_inverse=True)
            for at, (a, t) in enumerate(states.tolist()):
                chosen = np.flatnonzero(index.ravel() == at)
                drawn = _pick(pairs, rest, a, t, len(chosen), rng)
                x[chosen, j] = drawn[:, 0]
                left[chosen] -= drawn[:, 0]
                cross[chosen] -= drawn[:, 1]
        rows = np.stack([self.columns - x, x] if self._lower else [x, self.columns - x], axis=1)
        return np.ascontiguousarray((rows.transpose(0, 2, 1) if self._turned else rows).reshape(size, -1))

    def _place(self, category: int) -> tuple[int, int]:
        """Row (0 or 1) and column of a cell in the 2 x c view."""
        first, second = divmod(int(category), self.shape[1])
        return (second, first) if self._turned else (first, second)

    def _tilt(self) -> None:
        """Find kappa and rho: sum of x at r on average, rho the slope of the crossing weight at the mean of sum u."""
        low, high = 0, max(self._r - 1, 0)
        while low < high:
            middle = (low + high) // 2
            _, u = self._means(self._kappa(slope := self._omega[middle] - self._omega[middle + 1]), -slope)
            low, high = (middle + 1, high) if u > middle else (low, middle)
        rho = self._omega[low] - self._omega[low + 1] if self._r else 0.0
        rho, kappa = -rho, self._kappa(rho)
        tilted = [logs + kappa * np.arange(len(logs))[:, None] + rho * np.arange(logs.shape[1]) for logs in self._logs]
        norms = [float(logsumexp(t)) for t in tilted]
        self._pairs = [np.exp(t - norm) for t, norm in zip(tilted, norms, strict=True)]
        logs = self._omega - rho * np.arange(self._r + 1)
        self._weights = np.exp(logs - logs.max())
        self._offset = float(logs.max()) + sum(norms) - kappa * self._r

    def _means(self, kappa: float, rho: float) -> tuple[float, float]:
        """Means of sum x and sum u under a tilt."""
        x_mean = u_mean = 0.0
        for logs in self._logs:
            x, u = np.arange(len(logs)), np.arange(logs.shape[1])
            p = logs + kappa * x[:, None] + rho * u
            p = np.exp(p - p.max())
            p /= p.sum()
            x_mean += float(p.sum(axis=1) @ x)
            u_mean += float(p.sum(axis=0) @ u)
        return x_mean, u_mean

    def _kappa(self, slope: float) -> float:
        if not 0 < self._r < self.total:
            return 0.0
        found = brentq(lambda k: self._means(k, -slope)[0] - self._r, -_STEEPEST, _STEEPEST, xtol=1e-6)
        return float(found)

    def _convolve(self) -> None:
        span = sum(p.shape[1] - 1 for p in self._pairs) + 1
        self._size = (next_fast_len(self.total + 1, real=True), next_fast_len(span, real=True))
        self._transforms = [rfft2(p, self._size) for p in self._pairs]

    def _products(self, first: int, skipped: int = -1) -> NDArray[np.complex128]:
        out = np.ones_like(self._transforms[0])
        for j in range(first, len(self._transforms)):
            if j != skipped:
                out = out * self._transforms[j]
        return out

    def _inverse(self, transform: NDArray[np.complex128]) -> Array:
        return np.maximum(irfft2(transform, self._size), 0.0)

    def _without(self, j: int) -> Array:
        """Joint law of the sums of x and u over the other columns."""
        return self._inverse(self._products(0, skipped=j))

    def _law_of_crossings(self) -> Array:
        """Unscaled law of sum u given sum x = r."""
        line = self._inverse(self._products(0))[self._r, : len(self._weights)]
        return np.asarray(line * self._weights[: len(line)])


def _log_choose(n: int) -> Array:
    k = np.arange(n + 1)
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def _column(size: int, seen: int, mine: float, rest: float) -> Array:
    """log of a column's term for x (rows) and u (columns), prior included; -inf where it is 0."""
    x, u = np.arange(size + 1)[:, None], np.arange(size + 1)[None, :]
    v = u + seen - x
    good = (u <= x) & (v >= 0) & (v <= size - x)
    top = int(np.flatnonzero(good.any(axis=0)).max())
    x, u, v, good = x, u[:, : top + 1], v[:, : top + 1], good[:, : top + 1]
    u, v = np.where(good, u, 0), np.where(good, v, 0)
    logs = -gammaln(u + 1.0) - gammaln(x - u + 1.0) - gammaln(v + 1.0) - gammaln(size - x - v + 1.0)
    return np.where(good, logs + gammaln(mine + x) + gammaln(rest + size - x), -np.inf)


def _pick(pairs: Array, rest: Array, a: int, t: int, size: int, rng: np.random.Generator) -> Counts:
    """Draws of (x, u) of one column, when a and t are left for it and the later ones; int64 (size, 2)."""
    x_low, u_low = max(0, a - rest.shape[0] + 1), max(0, t - rest.shape[1] + 1)
    x_top, u_top = min(pairs.shape[0] - 1, a), min(pairs.shape[1] - 1, t)
    x, u = np.arange(x_low, x_top + 1), np.arange(u_low, u_top + 1)
    weights = (pairs[np.ix_(x, u)] * rest[np.ix_(a - x, t - u)]).ravel()
    cumulative = np.cumsum(weights)
    at = np.searchsorted(cumulative[:-1], rng.random(size) * cumulative[-1], side="right")
    return np.column_stack([x[at // len(u)], u[at % len(u)]]).astype(np.int64)
