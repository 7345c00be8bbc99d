"""Posterior of the originals of swapped tables of any shape, in one stratum or several.

Given the invariants the strata factorise, also under one Dirichlet prior over the cells of all of them. Each is summed
exactly where that is possible and sampled by chains where it is not; theta given the originals is conjugate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._honesty import EXACT, LEVEL, Honesty, summary_frame, worst
from ..._mechanisms.swapping import exact_swapping
from ..counts.dirichlet_mixture import CountsLaw, DirichletMixture, ExplicitLaw
from . import _permutation_chains, swapped_table
from ._counts_laws import StrataLaw
from ._two_rows import MOST_RECORDS, TwoRowLaw

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
METHODS = ("auto", "exact", "chain")
_MOST_LISTED = 1e9  # steps of an enumeration that is preferred to chains: less than a second
_MOST_PAIRED = 30  # records up to which 2 x c tables are listed
_MOST_COLUMNS = 64


@dataclass(frozen=True)
class Stratum:
    """How one stratum was treated.

    Parameters
    ----------
    law : CountsLaw
        Of its original.
    how : ``listed``, ``two rows`` or ``chain``.
    honesty : Honesty
    log_acceptance : log of the marginal probability of the swapped table; NaN from chains.
    """

    law: CountsLaw
    how: str
    honesty: Honesty
    log_acceptance: float


class UnswappedPosterior(DirichletMixture):
    """`DirichletMixture` over the cells of all strata, stratum by stratum and row by row.

    Parameters
    ----------
    alpha : float64 (cells,)
    counts : CountsLaw
        Law of the originals.
    shape : (strata, rows, columns)
    how : what was done in each stratum, ``listed``, ``two rows`` or ``chain``.
    states : Honesty
        Of every stratum, or of every cell; the worst of them is the posterior's.
    """

    def __init__(
        self,
        alpha: Array,
        counts: CountsLaw,
        shape: tuple[int, int, int],
        how: tuple[str, ...],
        states: Sequence[Honesty],
    ) -> None:
        super().__init__(alpha, counts, worst(states))
        self.shape, self.how = shape, how
        self._states = [state for state in states for _ in range(counts.categories // len(states))]

    def __repr__(self) -> str:
        strata, rows, columns = self.shape
        kinds = ", ".join(f"{self.how.count(kind)} {kind}" for kind in dict.fromkeys(self.how))
        return (
            f"{type(self).__name__}({strata} x ({rows} x {columns}), {self.counts.total} records; {kinds}; "
            f"{self.honesty})"
        )

    def summary(self, level: float = LEVEL, *, given: Sequence[int] | None = None) -> pd.DataFrame:
        """Mean, standard deviation and central interval of the share of every cell among all records.

        Parameters
        ----------
        level : float
            Mass of the intervals, in (0, 1).
        given : sequence of int
            Cells among which shares are taken, as in `DirichletMixture.summary`; None: all.

        Returns
        -------
        DataFrame
            Columns `honesty.SUMMARY`, `status` and `error` of every cell's own stratum; quantities ``theta(row,
            column)``, with the stratum first if there are several.
        """
        if given is not None:
            return super().summary(level, given=given)
        tails = [(1 - _checks.inside("level", level)) / 2, (1 + level) / 2]
        cells = [cell if self.shape[0] > 1 else cell[1:] for cell in np.ndindex(self.shape)]
        laws = [self.beta(i) for i in range(self.counts.categories)]
        found = [(law.mean(), law.variance() ** 0.5, *law.quantile(tails)) for law in laws]
        mean, sd, lower, upper = np.array(found, dtype=np.float64).T
        names = [f"theta({', '.join(map(str, cell))})" for cell in cells]
        return summary_frame(names, mean=mean, sd=sd, lower=lower, upper=upper, level=level, status=self._states)


def infer(
    swapped: ArrayLike,
    *,
    rate: float,
    rng: np.random.Generator,
    alpha: ArrayLike = 1.0,
    method: str = "auto",
    most_moves: int = _permutation_chains.MOST_MOVES,
) -> UnswappedPosterior:
    """Posterior of the cell probabilities given swapped tables of any size.

    Parameters
    ----------
    swapped : whole numbers >= 0, (rows, columns) or (strata, rows, columns)
        Swapped within strata.
    rate : float
        Swap rate, in (0, 1).
    rng : Generator
        Used by chains only.
    alpha : float or (cells,)
        Dirichlet prior over the cells of all strata, > 0.
    method : str
        ``"exact"`` refuses what cannot be summed, ``"chain"`` sums nothing, ``"auto"`` sums 2 x 2 tables, 2 x c tables
        up to 1,500 records and small classes, and runs chains on the rest.
    most_moves : int
        Limit of the chains of a stratum (`_permutation_chains.sample`).

    Returns
    -------
    UnswappedPosterior
        ``exact``, ``converged`` or ``not converged``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range, or with ``method="exact"`` a stratum is too large.
    """
    counts, prior = stacked(swapped, alpha)
    _checks.one_of("method", method, METHODS)
    rate, rng = _checks.inside("rate", rate), _checks.generator(rng)
    parts: list[Stratum] = []
    for table, own in zip(counts, prior, strict=True):
        found = None if method == "chain" else summed(table, own, rate, strict=method == "exact")
        parts.append(found or _sampled(table, own, rate, rng, _checks.whole("most_moves", most_moves, least=1)))
    shape = cast(tuple[int, int, int], counts.shape)
    law, how = StrataLaw([part.law for part in parts]), tuple(part.how for part in parts)
    return UnswappedPosterior(prior.ravel(), law, shape, how, [part.honesty for part in parts])


def stacked(swapped: ArrayLike, alpha: ArrayLike) -> tuple[Counts, Array]:
    """Checked tables (strata, rows, columns) and priors (strata, cells), from the arguments of `infer`."""
    array = np.asarray(swapped)
    stack = array[None] if array.ndim == 2 else array
    if stack.ndim != 3 or not len(stack):
        raise ValueError(f"swapped must be (rows, columns) or (strata, rows, columns), got shape {array.shape}")
    counts = np.stack([_checks.table("swapped", layer) for layer in stack])
    return counts, _checks.positives("alpha", alpha, counts.size).reshape(len(counts), -1)


def summed(table: Counts, prior: Array, rate: float, *, strict: bool = False) -> Stratum | None:
    """A stratum by exact sums.

    Parameters
    ----------
    table : int64 (rows, columns)
        A checked swapped table.
    prior : float64 (cells,)
        Dirichlet prior of its cells.
    rate : float
        Swap rate, in (0, 1).
    strict : bool
        Whether to try harder, and to raise instead of returning None.

    Returns
    -------
    Stratum, or None where the sums are out of reach.

    Raises
    ------
    ValueError
        If `strict` and out of reach; the message says why.
    """
    sides = [int((table.sum(axis=axis) > 0).sum()) for axis in (0, 1)]
    two_rows = min(table.shape) == 2 < max(table.shape) and min(sides) >= 2
    if two_rows and _MOST_PAIRED < table.sum() <= MOST_RECORDS and max(table.shape) <= _MOST_COLUMNS:
        law = TwoRowLaw(table, prior, rate=rate)
        return Stratum(law, "two rows", EXACT, law.log_acceptance)
    try:
        if table.shape == (2, 2):
            two = swapped_table.two_by_two_posterior(table, rate, prior)
            return Stratum(cast(ExplicitLaw, two.counts), "listed", two.honesty, two.log_acceptance)
        work = exact_swapping.MOST_WORK if strict else _MOST_LISTED
        found = swapped_table.exact(table, rate=rate, alpha=prior, most_work=work)
        return Stratum(cast(ExplicitLaw, found.counts), "listed", found.honesty, found.log_acceptance)
    except ValueError:
        if strict:
            raise
    return None


def _sampled(table: Counts, prior: Array, rate: float, rng: np.random.Generator, most_moves: int) -> Stratum:
    found = _permutation_chains.sample(table, prior, rate=rate, rng=rng, most_moves=most_moves)
    flat = found.originals.reshape(-1, table.size)
    return Stratum(ExplicitLaw(flat, np.ones(len(flat))), "chain", found.honesty, float("nan"))
