"""Posterior distribution of the original tables given swapped tables of any shape, in one or several strata.

Given the invariants of the swap, the posterior factorises over the strata, even under a common Dirichlet prior over the
cells of all strata. `infer` sums a stratum exactly if possible (`summed`). Otherwise, it samples the stratum by Markov
chains over the permutation that produced the swapped table (`sample`). The chains run until they have converged or a
limit on the number of moves is reached. Given the originals, theta has its conjugate Dirichlet distribution.

The original of a 2 x c table is summed without listing the originals (`TwoRowLaw`). With r records in one row, of which
x_j are in column j before the swap and s_j after it, c_j records in column j, and w_i the weight of i records that
cross (`_mechanisms.swapping.swap_crossings`),

P(S | X) = sum_i w_i/(C(r, i) C(n - r, i)) [z^i] prod_j sum_u C(x_j, u) C(c_j - x_j, u + s_j - x_j) z^u.      (1)

The Dirichlet-multinomial prior is also a product over columns. Therefore the originals are independent pairs (x_j,
u_j), conditional on sum x = r and weighted by a function of sum u. The pairs are tilted by kappa^x rho^u to a saddle
point, at which neither condition is improbable, and their sums are convolved by Fourier transform.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft2, next_fast_len, rfft2
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from ... import _accuracy, _checks
from ..._accuracy import EXACT, LARGEST_RHAT, LEAST_ESS, LEVEL, Accuracy, of_chains, summary_frame, worst
from ..._mechanisms.swapping import exact_swapping, permutation_swaps, swap_crossings, two_by_two
from ..counts.dirichlet_mixture import CountsLaw, DirichletMixture, ExplicitLaw, PairedLaw
from . import swapped_table, unswapping

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
MOST_RECORDS = 1500  # transforms have n x n/2 entries, one per column
_STEEPEST = 200.0  # largest absolute log tilt in the search


class TwoRowLaw(PairedLaw):
    """Posterior distribution of the original table given a swapped 2 x c (or c x 2) table, with the interface of
    `dirichlet_mixture.CountsLaw`.

    Parameters
    ----------
    table : int64 (2, c) or (c, 2)
        Valid swapped table with up to 1,500 records and at least two positive row totals and two positive column
        totals.
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
    Probabilities have an absolute error of 1e-13, so small probabilities have no relative accuracy, and levels below
    1e-11 are rejected. The cost is c transforms of n x n/2 entries: 0.3 s at n = 500, a few seconds at 1,500.
    """

    least = 1e-11  # smallest tail probability, with two digits of accuracy

    def __init__(self, table: Counts, alpha: Array, *, rate: float) -> None:
        self.shape = table.shape
        self._turned = table.shape[0] != 2
        rows = table.T if self._turned else table
        prior = alpha.reshape(table.shape).T if self._turned else alpha.reshape(table.shape)
        self._lower = bool(rows[1].sum() <= rows[0].sum())  # the row that is counted is the smaller one
        counted, other = (1, 0) if self._lower else (0, 1)
        self.columns, self._seen = rows.sum(axis=0), rows[counted]
        self.total, self.categories, self._r = int(table.sum()), table.size, int(rows[counted].sum())
        # one factor of (1) per column: log C(x, u) C(c - x, u + s - x), plus the log prior of the column's two cells
        self._logs = [
            _column(int(c), int(s), float(a), float(b))
            for c, s, a, b in zip(self.columns, self._seen, prior[counted], prior[other], strict=True)
        ]
        # the weights of (1): log w_i - log C(r, i) C(n - r, i)
        crossing = _log_choose(self._r) + _log_choose(self.total - self._r)[: self._r + 1]
        self._omega = swap_crossings.log_weights(self.total, self._r, rate=rate) - crossing
        self._tilt()
        self._convolve()
        # (1) summed over all originals, without the tilts (offset), times the constant of the prior
        mass = self._law_of_crossings().sum()
        self.log_acceptance = float(
            np.log(mass) + self._offset + gammaln(self.total + 1) + gammaln(alpha.sum())
            - gammaln(alpha.sum() + self.total) - gammaln(alpha).sum()
        )  # fmt: skip

    def marginal(self, category: int) -> Array:
        """Return the posterior distribution of the original count of one cell, as a float64 array of shape (total +
        1,).
        """
        row, j = self._place(category)
        column = int(self.columns[j])
        x = np.arange(column + 1)
        others = self._without(j)
        # P(x_j = x) = sum_u pair(x, u) sum_v others(r - x, v) omega(u + v): the other columns have r - x records
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
        """Return the joint distribution of the count of one cell and the sum of the counts of other cells. The two
        numbers must sum to a fixed total. This is the case for the sum of all other cells, of all other cells of the
        row, or of all other cells of the column. For other sums, the method raises ValueError; use draws instead.
        """
        row, j = self._place(inside)
        cells = np.arange(self.categories).reshape(self.shape)
        grid = cells.T if self._turned else cells
        size = {
            tuple(sorted(set(cells.ravel().tolist()) - {inside})): self.total,
            tuple(sorted(set(grid[row].tolist()) - {inside})): self._r if row == self._lower else self.total - self._r,
            (int(grid[1 - row, j]),): int(self.columns[j]),
        }.get(tuple(sorted(others)))
        if size is None:
            raise ValueError(
                "the argument `given` must contain all cells of the table, all cells of one row, or all cells of one "
                f"column, got the cells {sorted({inside, *others})}"
            )
        s = np.arange(size + 1)
        return s, size - s, self.marginal(inside)[: size + 1]

    def draw(self, size: int, *, rng: np.random.Generator) -> Counts:
        """Draw independent original tables from their posterior, as an int64 array of shape (size, cells)."""
        # joint distributions of the sums of x and u over all columns after each column
        after = [self._inverse(self._products(j)) for j in range(1, len(self.columns))]
        last = np.zeros((1, 1))
        last[0, 0] = 1.0
        # draw the number of records that cross, then (x, u) column by column, given the records left for later columns
        law = self._law_of_crossings()
        left, cross = np.full(size, self._r), rng.choice(len(law), size, p=law / law.sum())
        x = np.empty((size, len(self.columns)), dtype=np.int64)
        for j, (pairs, rest) in enumerate(zip(self._pairs, [*after, last], strict=True)):
            states, index = np.unique(np.column_stack([left, cross]), axis=0, return_inverse=True)
            for state_index, (a, t) in enumerate(states.tolist()):
                chosen = np.flatnonzero(index.ravel() == state_index)
                drawn = _pick(pairs, rest, a, t, len(chosen), rng)
                x[chosen, j] = drawn[:, 0]
                left[chosen] -= drawn[:, 0]
                cross[chosen] -= drawn[:, 1]
        rows = np.stack([self.columns - x, x] if self._lower else [x, self.columns - x], axis=1)
        return np.ascontiguousarray((rows.transpose(0, 2, 1) if self._turned else rows).reshape(size, -1))

    def _place(self, category: int) -> tuple[int, int]:
        """Return the row (0 or 1) and the column of a cell in the table or, for a c x 2 table, in its transpose."""
        first, second = divmod(int(category), self.shape[1])
        return (second, first) if self._turned else (first, second)

    def _tilt(self) -> None:
        """Compute exponential tilts of the distributions of all columns such that the conditions on the sums are
        probable under the tilted distributions. The tilts kappa and rho of the pairs (x_j, u_j) are such that sum x has
        the mean r, and rho is the slope of the crossing weight at the mean of sum u.
        """
        # bisection for the i at which the slope of the crossing weight makes the mean of sum u equal to i
        low, high = 0, max(self._r - 1, 0)
        while low < high:
            middle = (low + high) // 2
            _, u = self._means(self._kappa(slope := self._omega[middle] - self._omega[middle + 1]), -slope)
            low, high = (middle + 1, high) if u > middle else (low, middle)
        rho = self._omega[low] - self._omega[low + 1] if self._r else 0.0
        rho, kappa = -rho, self._kappa(rho)
        # pairs tilted by kappa^x rho^u and normalised; the offset contains their norms and the tilts at (r, .)
        tilted = [logs + kappa * np.arange(len(logs))[:, None] + rho * np.arange(logs.shape[1]) for logs in self._logs]
        norms = [float(logsumexp(t)) for t in tilted]
        self._pairs = [np.exp(t - norm) for t, norm in zip(tilted, norms, strict=True)]
        logs = self._omega - rho * np.arange(self._r + 1)
        self._weights = np.exp(logs - logs.max())
        self._offset = float(logs.max()) + sum(norms) - kappa * self._r

    def _means(self, kappa: float, rho: float) -> tuple[float, float]:
        """Return the means of two sums over all columns, under an exponential tilt. The first sum is over the original
        counts x in one row, and the second sum is over the numbers u of records that the swap moves to the other row.
        """
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
        root = brentq(lambda k: self._means(k, -slope)[0] - self._r, -_STEEPEST, _STEEPEST, xtol=1e-6)
        return float(root)

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
        """Return the joint distribution of two sums, each over all columns of the table except column j. The terms are
        the original counts x in one row and the numbers u of records that cross between the rows.
        """
        return self._inverse(self._products(0, skipped=j))

    def _law_of_crossings(self) -> Array:
        """Return the unnormalised distribution of the number of records that the swap moves to another row. It is
        conditional on the sum r of the original counts of one row.
        """
        line = self._inverse(self._products(0))[self._r, : len(self._weights)]
        return np.asarray(line * self._weights[: len(line)])


def _log_choose(n: int) -> Array:
    k = np.arange(n + 1)
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def _column(size: int, seen: int, mine: float, rest: float) -> Array:
    """Return the log of the factor that one column of the swapped table contributes to the posterior weight, including
    the prior. The result is a matrix with one row per value of x and one column per value of u; an entry is -inf if the
    factor is 0.
    """
    x, u = np.arange(size + 1)[:, None], np.arange(size + 1)[None, :]
    v = u + seen - x  # records of the other row that cross
    good = (u <= x) & (v >= 0) & (v <= size - x)
    top = int(np.flatnonzero(good.any(axis=0)).max())
    x, u, v, good = x, u[:, : top + 1], v[:, : top + 1], good[:, : top + 1]
    u, v = np.where(good, u, 0), np.where(good, v, 0)
    logs = -gammaln(u + 1.0) - gammaln(x - u + 1.0) - gammaln(v + 1.0) - gammaln(size - x - v + 1.0)
    return np.where(good, logs + gammaln(mine + x) + gammaln(rest + size - x), -np.inf)


def _pick(pairs: Array, rest: Array, a: int, t: int, size: int, rng: np.random.Generator) -> Counts:
    """Draw the original count in one row of a column, and the number of records that the swap moves to the other row.
    The draws (x, u) are an int64 array of shape (size, 2). The sums a and t are the sums that remain for this column
    and the later columns.
    """
    x_low, u_low = max(0, a - rest.shape[0] + 1), max(0, t - rest.shape[1] + 1)
    x_top, u_top = min(pairs.shape[0] - 1, a), min(pairs.shape[1] - 1, t)
    x, u = np.arange(x_low, x_top + 1), np.arange(u_low, u_top + 1)
    weights = (pairs[np.ix_(x, u)] * rest[np.ix_(a - x, t - u)]).ravel()
    cumulative = np.cumsum(weights)
    picked = np.searchsorted(cumulative[:-1], rng.random(size) * cumulative[-1], side="right")
    return np.column_stack([x[picked // len(u)], u[picked % len(u)]]).astype(np.int64)


CHAINS = 4
DRAWS = 500  # number of draws that are kept per chain
MOST_MOVES = 60_000_000  # largest total number of moves of all chains, a few seconds
_FIRST_MOVES = 5_000  # number of moves per chain in the first run


@dataclass(frozen=True)
class Chains:
    """Draws of the original table of one stratum from several Markov chains, with convergence diagnostics.

    Parameters
    ----------
    originals : int64 (chains, draws, cells)
    moved : int64 (chains, draws)
        Number of records that the swap moved.
    ess, rhat : float64 (quantities,)
        Diagnostics of all quantities that vary, among the cells, `moved` and the log prior of the original.
    moves : int
        Number of proposals of all chains, including the warm-up.
    accuracy : Accuracy
    """

    originals: Counts
    moved: Counts
    ess: Array
    rhat: Array
    moves: int
    accuracy: Accuracy


def sample(
    table: Counts, alpha: Array, *, rate: float, rng: np.random.Generator, most_moves: int = MOST_MOVES
) -> Chains:
    """Draw original tables of one stratum by four Markov chains from different starting points. The number of moves is
    doubled until the chains have converged.

    Parameters
    ----------
    table : int64 (rows, columns) Valid swapped table of one stratum.
    alpha : float64 (cells,)
        Dirichlet prior of its cells.
    rate : float
        Swap rate, in (0, 1).
    rng : Generator
    most_moves : int
        Limit on the total number of proposals; a run that would exceed the limit is not started.

    Returns
    -------
    Chains
        ``converged`` if every bulk ESS is at least 400 and every R-hat at most 1.01, otherwise ``not converged``.

    Notes
    -----
    The starting points are the identity and swaps at the rate, at three times the rate (at most 0.9), and at 0.9. Each
    run continues from the end of the previous run and discards its draws. The relaxation time is about n times the
    number of moved records, in proposals.
    """
    n = int(table.sum())
    if n < 2:
        flat = np.broadcast_to(table.ravel(), (CHAINS, DRAWS, table.size)).copy()
        return Chains(flat, np.zeros((CHAINS, DRAWS), dtype=np.int64), np.zeros(0), np.zeros(0), 0, EXACT)
    logs = exact_swapping.log_permutation_weights(n, rate=rate)
    states = [np.arange(n)]
    states += [
        permutation_swaps.sources(np.zeros(n, dtype=np.int64), rate=p, rng=rng) for p in (rate, min(0.9, 3 * rate), 0.9)
    ]
    thin, moves = -(-_FIRST_MOVES // DRAWS), 0
    while True:
        runs = [unswapping.moved_chain(table, s, logs, alpha, draws=DRAWS, thin=thin, rng=rng) for s in states]
        moves += CHAINS * DRAWS * thin
        originals, moved = (np.stack([run[part] for run in runs]) for part in (0, 1))
        ess, rhat = _diagnostics(originals, moved, alpha)
        passed = len(ess) == 0 or bool(np.min(ess) >= LEAST_ESS and np.max(rhat) <= LARGEST_RHAT)
        if (passed and moves > CHAINS * DRAWS * thin) or moves + 2 * CHAINS * DRAWS * thin > most_moves:
            state = of_chains(ess, rhat) if len(ess) else Accuracy("not converged", float("nan"), "no quantity moved")
            return Chains(originals, moved, ess, rhat, moves, state)
        thin *= 2


def _diagnostics(originals: Counts, moved: Counts, alpha: Array) -> tuple[Array, Array]:
    """Return the bulk effective sample size and the R-hat of every quantity that varies along the chains."""
    log_prior = np.round((gammaln(originals + alpha) - gammaln(originals + 1.0)).sum(axis=2), 9)
    quantities = [*np.moveaxis(originals, 2, 0).astype(float), moved.astype(float), log_prior]
    varying = [q for q in quantities if np.ptp(q) > 0]
    ess = np.array([_accuracy.bulk_ess(q) for q in varying])
    rhat = np.array([_accuracy.rhat(q) for q in varying])
    return np.nan_to_num(ess, nan=0.0), np.nan_to_num(rhat, nan=np.inf)


class StrataLaw(PairedLaw):
    """Joint distribution of the counts of several independent strata, combined in one vector. The class has the
    interface of `dirichlet_mixture.CountsLaw`.

    Parameters
    ----------
    laws : one `CountsLaw` per stratum.
    """

    def __init__(self, laws: Sequence[CountsLaw]) -> None:
        self.laws = list(laws)
        self.total, self.categories = sum(law.total for law in laws), sum(law.categories for law in laws)
        self.least = max(law.least for law in laws)
        self._starts = np.cumsum([0, *(law.categories for law in laws)])

    def marginal(self, category: int) -> Array:
        """Return the distribution of one count, as a float64 array of shape (total + 1,)."""
        stratum = self._stratum(category)
        law = self.laws[stratum].marginal(category - int(self._starts[stratum]))
        return np.concatenate([law, np.zeros(self.total + 1 - len(law))])

    def pair(self, inside: int, others: Sequence[int]) -> tuple[Counts, Counts, Array]:
        """Return the joint distribution of one count and of the sum of the counts in `others`. Another stratum must be
        included completely or not at all, and adds its total.

        Raises
        ------
        ValueError
            If `others` contains a part of another stratum.
        """
        stratum = self._stratum(inside)
        start = int(self._starts[stratum])
        side, beside = [], 0
        for k, law in enumerate(self.laws):
            first = int(self._starts[k])
            named = [i - first for i in others if first <= i < first + law.categories]
            if k == stratum:
                side = named
            elif len(named) == law.categories:
                beside += law.total
            elif named:
                raise ValueError(
                    "the argument `given` must contain either all cells or no cell of each of the other strata, got "
                    f"the cells {list(others)}"
                )
        law = self.laws[stratum]
        if not side:
            weights = law.marginal(inside - start)
            return np.arange(len(weights)), np.full(len(weights), beside), weights
        s, t, weights = law.pair(inside - start, side)
        return s, t + beside, weights

    def draw(self, size: int, *, rng: np.random.Generator) -> Counts:
        """Draw independent vectors of counts, as an int64 array of shape (size, categories)."""
        return np.concatenate([law.draw(size, rng=rng) for law in self.laws], axis=1)

    def _stratum(self, category: int) -> int:
        return int(np.searchsorted(self._starts, category, side="right")) - 1


class MixedLaw(PairedLaw):
    """Mixture of several distributions of counts, with the interface of `dirichlet_mixture.CountsLaw`.

    Parameters
    ----------
    laws : one `CountsLaw` per component, all with the same total and categories.
    weights : float64 (components,), non-negative; normalised to a sum of 1.
    """

    def __init__(self, laws: Sequence[CountsLaw], weights: Array) -> None:
        self.laws, self.weights = list(laws), weights / weights.sum()
        self.total, self.categories = laws[0].total, laws[0].categories
        self.least = max(law.least for law in laws)

    def marginal(self, category: int) -> Array:
        """Return the distribution of one count, as a float64 array of shape (total + 1,)."""
        parts = [w * law.marginal(category) for w, law in zip(self.weights, self.laws, strict=True) if w > 0]
        return np.asarray(np.sum(parts, axis=0))

    def pair(self, inside: int, others: Sequence[int]) -> tuple[Counts, Counts, Array]:
        """Return the joint distribution of one count and of the sum of the counts in `others`, averaged over the
        components.
        """
        laws = [law.pair(inside, others) for law in self.laws]
        weights = [w * p / p.sum() for w, (_, _, p) in zip(self.weights, laws, strict=True)]
        s, t, p = (np.concatenate(part) for part in ([s for s, _, _ in laws], [t for _, t, _ in laws], weights))
        # equal pairs of different components become one pair of the mixture
        pairs, index = np.unique(np.column_stack([s, t]), axis=0, return_inverse=True)
        return pairs[:, 0], pairs[:, 1], np.bincount(index.ravel(), p).astype(np.float64)

    def draw(self, size: int, *, rng: np.random.Generator) -> Counts:
        """Draw independent vectors of counts, as an int64 array of shape (size, categories)."""
        chosen = rng.choice(len(self.laws), size, p=self.weights)
        out = np.empty((size, self.categories), dtype=np.int64)
        for k, law in enumerate(self.laws):
            where = np.flatnonzero(chosen == k)
            if len(where):
                out[where] = law.draw(len(where), rng=rng)
        return out


METHODS = ("auto", "exact", "chain")
_MOST_LISTED = 1e9  # largest number of steps of an enumeration that is preferred to chains; it takes less than a second
_MOST_PAIRED = 30  # 2 x c tables with up to this number of records are listed
_MOST_COLUMNS = 64


class OutOfReach(ValueError):
    """Error that is raised if the exact sum over all possible original tables of a stratum cannot be computed. The
    message states the reason.
    """


@dataclass(frozen=True)
class Stratum:
    """Posterior distribution of the original table of one stratum, with the name of the method by which the
    distribution was computed.

    Parameters
    ----------
    law : CountsLaw
        Distribution of the original.
    how : ``listed``, ``two rows`` or ``chain``.
    accuracy : Accuracy
    log_acceptance : log of the marginal probability of the swapped table; NaN for chains.
    """

    law: CountsLaw
    how: str
    accuracy: Accuracy
    log_acceptance: float


class UnswappedPosterior(DirichletMixture):
    """Posterior distribution of the cell probabilities given swapped tables, as a `DirichletMixture` over the cells of
    all strata. The cells are ordered by stratum and then by row.

    Parameters
    ----------
    alpha : float64 (cells,)
    counts : CountsLaw
        Distribution of the originals.
    shape : (strata, rows, columns)
    how : method used for each stratum, ``listed``, ``two rows`` or ``chain``.
    states : Accuracy
        Accuracy of every stratum, or of every cell; the accuracy of the posterior is the worst of them.
    """

    def __init__(
        self,
        alpha: Array,
        counts: CountsLaw,
        shape: tuple[int, int, int],
        how: tuple[str, ...],
        states: Sequence[Accuracy],
    ) -> None:
        super().__init__(alpha, counts, worst(states))
        self.shape, self.how = shape, how
        self._states = [state for state in states for _ in range(counts.categories // len(states))]

    def __repr__(self) -> str:
        strata, rows, columns = self.shape
        kinds = ", ".join(f"{self.how.count(kind)} {kind}" for kind in dict.fromkeys(self.how))
        return (
            f"{type(self).__name__}({strata} x ({rows} x {columns}), {self.counts.total} records; {kinds}; "
            f"{self.accuracy})"
        )

    def summary(self, level: float = LEVEL, *, given: Sequence[int] | None = None) -> pd.DataFrame:
        """Return the posterior mean, standard deviation and central interval of the probability of every cell.

        Parameters
        ----------
        level : float
            Probability of the intervals, in (0, 1).
        given : sequence of int
            Cells among which shares are computed, as in `DirichletMixture.summary`; None: all cells.

        Returns
        -------
        DataFrame
            Columns `accuracy.SUMMARY`, with `status` and `error` of the stratum of each cell; quantities
            ``theta(row, column)``, preceded by the stratum if there are several.
        """
        if given is not None:
            return super().summary(level, given=given)
        tails = [(1 - _checks.inside("level", level)) / 2, (1 + level) / 2]
        cells = [cell if self.shape[0] > 1 else cell[1:] for cell in np.ndindex(self.shape)]
        laws = [self.beta(i) for i in range(self.counts.categories)]
        rows = [(law.mean(), law.variance() ** 0.5, *law.quantile(tails)) for law in laws]
        mean, sd, lower, upper = np.array(rows, dtype=np.float64).T
        names = [f"theta({', '.join(map(str, cell))})" for cell in cells]
        return summary_frame(names, mean=mean, sd=sd, lower=lower, upper=upper, level=level, status=self._states)


def infer(
    swapped: ArrayLike,
    *,
    rate: float,
    rng: np.random.Generator,
    alpha: ArrayLike = 1.0,
    method: str = "auto",
    most_moves: int = MOST_MOVES,
) -> UnswappedPosterior:
    """Compute the posterior distribution of the cell probabilities given swapped tables of any size.

    Parameters
    ----------
    swapped : integers >= 0, (rows, columns) or (strata, rows, columns)
        Tables swapped within strata.
    rate : float
        Swap rate, in (0, 1).
    rng : Generator
        Used only for chains.
    alpha : float or (cells,)
        Dirichlet prior over the cells of all strata, > 0.
    method : str
        ``"exact"`` rejects tables that cannot be summed exactly; ``"chain"`` always uses Markov chains; ``"auto"`` uses
        exact sums for 2 x 2 tables, 2 x c tables up to 1,500 records and tables with few possible originals, and chains
        for all other tables.
    most_moves : int
        Limit on the moves of the chains of a stratum (`sample`).

    Returns
    -------
    UnswappedPosterior
        Accuracy ``exact``, ``converged`` or ``not converged``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range, or if ``method="exact"`` and a stratum is too large.
    """
    counts, prior = stacked(swapped, alpha)
    _checks.one_of("method", method, METHODS)
    rate, rng = _checks.inside("rate", rate), _checks.generator(rng)
    parts: list[Stratum] = []
    for table, table_prior in zip(counts, prior, strict=True):
        stratum = None if method == "chain" else summed(table, table_prior, rate, strict=method == "exact")
        parts.append(
            stratum or _sampled(table, table_prior, rate, rng, _checks.integer("most_moves", most_moves, least=1))
        )
    shape = cast(tuple[int, int, int], counts.shape)
    law, how = StrataLaw([part.law for part in parts]), tuple(part.how for part in parts)
    return UnswappedPosterior(prior.ravel(), law, shape, how, [part.accuracy for part in parts])


def stacked(swapped: ArrayLike, alpha: ArrayLike) -> tuple[Counts, Array]:
    """Check the arguments of `infer`, and return the tables as an array of shape (strata, rows, columns) and the priors
    as an array of shape (strata, cells).
    """
    array = np.asarray(swapped)
    stack = array[None] if array.ndim == 2 else array
    if stack.ndim != 3 or not len(stack):
        raise ValueError(f"swapped must have shape (rows, columns) or (strata, rows, columns), got shape {array.shape}")
    counts = np.stack([_checks.table("swapped", layer) for layer in stack])
    return counts, _checks.positives("alpha", alpha, counts.size).reshape(len(counts), -1)


def summed(table: Counts, prior: Array, rate: float, *, strict: bool = False) -> Stratum | None:
    """Compute the posterior distribution of the original table of one stratum by exact summation, if possible.

    Parameters
    ----------
    table : int64 (rows, columns)
        A swapped table that has been checked.
    prior : float64 (cells,)
        Dirichlet prior of the cells.
    rate : float
        Swap rate, in (0, 1).
    strict : bool
        Whether to allow more work, and to raise an error instead of returning None.

    Returns
    -------
    Stratum, or None if exact summation is not possible.

    Raises
    ------
    OutOfReach
        If `strict` is true and the stratum cannot be summed exactly; the message states the reason.
    """
    sides = [int((table.sum(axis=axis) > 0).sum()) for axis in (0, 1)]
    two_rows = min(table.shape) == 2 < max(table.shape) and min(sides) >= 2
    if two_rows and _MOST_PAIRED < table.sum() <= MOST_RECORDS and max(table.shape) <= _MOST_COLUMNS:
        law = TwoRowLaw(table, prior, rate=rate)
        return Stratum(law, "two rows", EXACT, law.log_acceptance)
    result: swapped_table.SwappedTablePosterior | str
    if table.shape == (2, 2):
        result = two_by_two.refusal(table) or swapped_table.two_by_two_posterior(table, rate, prior)
    else:
        result = swapped_table.listed(table, rate, prior, exact_swapping.MOST_WORK if strict else _MOST_LISTED)
    if not isinstance(result, str):
        return Stratum(cast(ExplicitLaw, result.counts), "listed", result.accuracy, result.log_acceptance)
    if strict:
        raise OutOfReach(result)
    return None


def _sampled(table: Counts, prior: Array, rate: float, rng: np.random.Generator, most_moves: int) -> Stratum:
    chains = sample(table, prior, rate=rate, rng=rng, most_moves=most_moves)
    flat = chains.originals.reshape(-1, table.size)
    return Stratum(ExplicitLaw(flat, np.ones(len(flat))), "chain", chains.accuracy, float("nan"))
