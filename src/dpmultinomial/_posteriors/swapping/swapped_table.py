"""Posterior of cell probabilities from a swapped contingency table.

theta ~ Dirichlet(alpha), X | theta ~ Multinomial(n, theta), S | X by permutation swapping of the row variable. Given
X the posterior is conjugate, and X has the margins of S, so theta | S is a finite mixture of Dirichlet(alpha + X)
with weights P(S | X) times the Dirichlet-multinomial law of X. `abc` is the rejection sampler of Pan, Li and Li
(2023): accepting exact equality of a discrete table, it draws from that same law.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from ... import _checks
from ..._honesty import EXACT, LEVEL, Honesty, summary_frame
from ..._mechanisms.swapping import exact_swapping, two_by_two
from ..counts.dirichlet_mixture import DirichletMixture, ExplicitLaw
from ._swap_samplers import METHODS, Accepted, Weighted, abc, abc_run, mcmc, reverse_swap
from .log_odds import LogOddsMixture

__all__ = [
    "METHODS", "Accepted", "SwappedTablePosterior", "Weighted", "abc", "abc_run", "exact", "log_dirichlet_multinomial",
    "mcmc", "naive", "reverse_swap", "two_by_two_posterior",
]  # fmt: skip

_DEPTH = 96  # bits below the largest weight that still count
_WINDOW = 75.0  # the same in logs for large tables: e^-75 = 3e-33


class SwappedTablePosterior(DirichletMixture):
    """`DirichletMixture` over the cells, row by row, with what the swap adds.

    Parameters
    ----------
    alpha : float64 (cells,)
        Dirichlet prior.
    tables : int64 (m, rows, columns)
        The possible originals.
    log_weights : float64 (m,)
        log P(swapped table | original) P(original).
    honesty : Honesty
        How the weights were found.

    Attributes
    ----------
    acceptance : float
        Probability that one iteration of `abc` is accepted, the marginal probability of the swapped table.
    weights : float64 (m,)
        Posterior probabilities of the originals.
    """

    def __init__(
        self,
        alpha: NDArray[np.float64],
        tables: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        honesty: Honesty = EXACT,
    ) -> None:
        total = logsumexp(log_weights)
        self.tables, self.weights, self.acceptance = tables, np.exp(log_weights - total), float(np.exp(total))
        self.log_acceptance = float(total)
        super().__init__(alpha, ExplicitLaw(tables.reshape(len(tables), -1), self.weights), honesty)

    def __repr__(self) -> str:
        rows, columns = self.tables.shape[1:]
        return (
            f"{type(self).__name__}({rows} x {columns}, {self.counts.total} records, {len(self.tables)} possible "
            f"originals, {self.honesty})"
        )

    def log_odds(self) -> LogOddsMixture:
        """Law of the log odds ratio log(theta_00 theta_11/(theta_01 theta_10)); 2 x 2 tables only.

        Returns
        -------
        LogOddsMixture

        Raises
        ------
        ValueError
            If the table is not 2 x 2.
        """
        if self.tables.shape[1:] != (2, 2):
            raise ValueError(f"the odds ratio needs a 2 x 2 table, got shape {self.tables.shape[1:]}")
        return LogOddsMixture(self.alpha + self.tables.reshape(-1, 4), self.weights)

    def summary(self, level: float = LEVEL, *, given: Sequence[int] | None = None) -> pd.DataFrame:
        """Mean, standard deviation and central interval of every cell, and of the log odds ratio of a 2 x 2 table.

        Parameters
        ----------
        level : float
            Mass of the intervals, in (0, 1).
        given : sequence of int
            Cells among which shares are taken, as in `DirichletMixture.summary`; None: all, and the odds ratio.

        Returns
        -------
        DataFrame
            Columns `honesty.SUMMARY`, quantities ``theta(row, column)`` and ``log odds ratio``.
        """
        if given is not None:
            return super().summary(level, given=given)
        tails = [(1 - _checks.inside("level", level)) / 2, (1 + level) / 2]
        laws = [self.beta(i) for i in range(self.counts.categories)]
        names = [f"theta({i}, {j})" for i, j in np.ndindex(self.tables.shape[1:])]
        found = [(law.mean(), law.variance() ** 0.5, *law.quantile(tails)) for law in laws]
        if self.tables.shape[1:] == (2, 2):
            odds = self.log_odds()
            names.append("log odds ratio")
            found.append((odds.mean(), odds.variance() ** 0.5, *odds.quantile(tails)))
        mean, sd, lower, upper = np.array(found, dtype=np.float64).T
        return summary_frame(names, mean=mean, sd=sd, lower=lower, upper=upper, level=level, status=self.honesty)


def exact(
    swapped: ArrayLike, *, rate: float, alpha: ArrayLike = 1.0, most_work: float = exact_swapping.MOST_WORK
) -> SwappedTablePosterior:
    """The posterior, exactly.

    Parameters
    ----------
    swapped : whole numbers >= 0, (rows, columns)
        The published table, swapped as one stratum; 2 x 2 with any total, larger with small totals (`unswapped.infer`
        takes any).
    rate : float
        Swap rate, in (0, 1).
    alpha : float or (rows * columns,)
        Dirichlet prior, > 0; one number or one per cell, row by row.
    most_work : float
        Steps at most for an r x c table; 1e9 take under a second.

    Returns
    -------
    SwappedTablePosterior
        Originals of a 2 x 2 table with over 24 records whose weight is below 3e-33 of the largest are neglected.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range or the class of an r x c table is too large to list.

    Notes
    -----
    2 x 2: milliseconds up to 1,000 records, under a second for 10,000 in 5,001 tables. `acceptance` to 1e-12, or 1e-15
    times the total.
    """
    counts = _checks.table("swapped", swapped)
    prior = _checks.positives("alpha", alpha, counts.size)
    depth = None
    if counts.shape == (2, 2) and counts.sum() > exact_swapping.SPECTRAL_UP_TO:
        return two_by_two_posterior(counts, rate, prior)
    if counts.shape == (2, 2):  # what the prior can lift must still have its digits
        possible = np.array(list(exact_swapping.same_margins(counts)))
        depth = _DEPTH + int(np.ptp(log_dirichlet_multinomial(possible, prior)) / np.log(2))
    tables, _, backward = exact_swapping.class_law(counts, rate=rate, depth=depth, most_work=most_work)
    log_prior = log_dirichlet_multinomial(tables.reshape(len(tables), -1), prior)
    return SwappedTablePosterior(prior, tables, backward + log_prior)


def two_by_two_posterior(counts: NDArray[np.int64], rate: float, prior: NDArray[np.float64]) -> SwappedTablePosterior:
    """`exact` of a 2 x 2 table by sums of positive terms, at any size.

    Parameters
    ----------
    counts : int64 (2, 2)
        A checked table.
    rate : float
        Swap rate, in (0, 1).
    prior : float64 (4,)
        Dirichlet parameters.

    Returns
    -------
    SwappedTablePosterior
    """
    ratios = two_by_two.log_prior_ratios(counts, prior)
    row = two_by_two.row(counts, rate=rate, log_prior=ratios, window=_WINDOW)
    kept = np.isfinite(row.log_backward)
    here = float(log_dirichlet_multinomial(counts.reshape(1, -1), prior)[0])
    return SwappedTablePosterior(prior, row.tables(counts)[kept], (row.log_backward + ratios)[kept] + here)


def naive(swapped: ArrayLike, *, alpha: ArrayLike = 1.0) -> SwappedTablePosterior:
    """The posterior that takes the swapped table for the original: one component, Dirichlet(alpha + swapped).

    Parameters
    ----------
    swapped : whole numbers >= 0, (rows, columns)
    alpha : float or (rows * columns,)
        Dirichlet prior, > 0.

    Returns
    -------
    SwappedTablePosterior

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    counts = _checks.table("swapped", swapped)
    prior = _checks.positives("alpha", alpha, counts.size)
    return SwappedTablePosterior(prior, counts[None], log_dirichlet_multinomial(counts.reshape(1, -1), prior))


def log_dirichlet_multinomial(counts: NDArray[np.int64], alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """log probability of each row of counts under the Dirichlet-multinomial law.

    Parameters
    ----------
    counts : int64 (m, k)
    alpha : float64 (k,)

    Returns
    -------
    float64 (m,)
        Absolute error about 1e-16 n log n.
    """
    n = counts.sum(axis=1)
    rows = (gammaln(counts + alpha) - gammaln(alpha) - gammaln(counts + 1)).sum(axis=1)
    return np.asarray(rows + gammaln(n + 1) + gammaln(alpha.sum()) - gammaln(alpha.sum() + n))
