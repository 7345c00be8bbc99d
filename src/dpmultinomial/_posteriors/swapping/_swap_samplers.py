"""Posterior samplers given swapped tables: rejection as on the slides, importance sampling, a permutation chain."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ... import _checks
from ..._honesty import LEVEL, Honesty, standard_error, summary_frame
from ..._kernels import dirichlet
from ..._mechanisms.swapping import permutation_weights, swap_draws
from . import unswapping

METHODS = ("record", "margins_first")
_NOT_JUDGED = Honesty("not converged", float("nan"), "one chain, not judged; unswapped.infer runs four")


def _monte_carlo(effective: float) -> Honesty:
    error = standard_error(effective)
    return Honesty(
        "approximate", error, f"{effective:.0f} effective draws, standard error of a probability {error:.2g}"
    )


def _summary(draws: NDArray[np.float64], weights: NDArray[np.float64], level: float, status: Honesty) -> pd.DataFrame:
    """Weighted moments and quantiles of each cell."""
    if not len(draws):
        raise ValueError("draws must not be empty: nothing was accepted")
    tails = [(1 - _checks.inside("level", level)) / 2, (1 + level) / 2]
    mean = weights @ draws
    sd = np.sqrt(weights @ (draws - mean) ** 2)
    order = np.argsort(draws, axis=0)
    ranks = np.cumsum(weights[order], axis=0)
    places = [[np.searchsorted(ranks[:, c], q) for c in range(draws.shape[1])] for q in tails]
    lower, upper = (
        np.take_along_axis(draws, order, axis=0)[np.minimum(at, len(draws) - 1), range(draws.shape[1])] for at in places
    )
    names = [f"theta{c + 1}" for c in range(draws.shape[1])]
    return summary_frame(names, mean=mean, sd=sd, lower=lower, upper=upper, level=level, status=status)


@dataclass(frozen=True)
class Accepted:
    """Draws of a sampler.

    Parameters
    ----------
    draws : float64 (accepted, cells)
        theta.
    originals : int64 (accepted, cells)
        Their unswapped tables.
    honesty : Honesty
    """

    draws: NDArray[np.float64]
    originals: NDArray[np.int64]
    honesty: Honesty = _NOT_JUDGED

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.draws)} draws of {self.draws.shape[1]} cells, {self.honesty})"

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Mean, standard deviation and interval of every cell, ``theta1``, ``theta2``, .. row by row.

        Parameters
        ----------
        level : float
            Mass of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
            Columns `honesty.SUMMARY`.

        Raises
        ------
        ValueError
            If there are no draws.
        """
        return _summary(self.draws, np.full(len(self.draws), 1 / max(len(self.draws), 1)), level, self.honesty)


def abc(
    swapped: ArrayLike,
    *,
    rate: float,
    iterations: int,
    rng: np.random.Generator,
    alpha: ArrayLike = 1.0,
    method: str = "record",
) -> NDArray[np.float64]:
    """Accepted draws of the slides' rejection sampler, float64 (accepted, cells); see `abc_run` for the arguments.

    Parameters
    ----------
    swapped, rate, iterations, rng, alpha, method : as in `abc_run`.

    Returns
    -------
    float64 (accepted, cells)
    """
    return abc_run(swapped, rate=rate, iterations=iterations, rng=rng, alpha=alpha, method=method).draws


def abc_run(
    swapped: ArrayLike,
    *,
    rate: float,
    iterations: int,
    rng: np.random.Generator,
    alpha: ArrayLike = 1.0,
    method: str = "record",
) -> Accepted:
    """Rejection sampler at record level: theta, records, a swap, kept if the swapped table is `swapped`.

    Parameters
    ----------
    swapped, rate, alpha : as in `swapped_table.exact`.
    iterations : int
        Proposals; the slides run 5,000,000 (under 3 s for ten records).
    rng : Generator
    method : str
        ``"record"`` swaps every proposal as the slides do; ``"margins_first"`` only those with the right margins,
        which has the same law, since a swap keeps the margins, and takes a third of the time.

    Returns
    -------
    Accepted

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    counts = _checks.table("swapped", swapped)
    prior = _checks.positives("alpha", alpha, counts.size)
    first = _checks.one_of("method", method, METHODS) == "margins_first"
    draws, originals = unswapping.abc(counts, prior, iterations, rate=rate, rng=rng, margins_first=first)
    return Accepted(draws, originals, _monte_carlo(len(draws)))


@dataclass(frozen=True)
class Weighted:
    """Weighted draws.

    Parameters
    ----------
    draws : float64 (size, cells)
        theta.
    originals : int64 (size, cells)
        Their unswapped tables.
    weights : float64 (size,)
        Adding up to 1.
    """

    draws: NDArray[np.float64]
    originals: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.draws)} draws of {self.draws.shape[1]} cells, {self.honesty})"

    @property
    def efficiency(self) -> float:
        """Effective sample size over the number of draws."""
        return float(1 / (len(self.weights) * (self.weights**2).sum()))

    @property
    def honesty(self) -> Honesty:
        """``approximate``: the error is one over the root of the effective sample size."""
        return _monte_carlo(self.efficiency * len(self.weights))

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Weighted mean, standard deviation and interval of every cell; as `Accepted.summary`."""
        return _summary(self.draws, self.weights, level, self.honesty)


def reverse_swap(
    swapped: ArrayLike, *, rate: float, size: int, rng: np.random.Generator, alpha: ArrayLike = 1.0
) -> Weighted:
    """Importance sampling without rejections: swap the swapped table once more, weight by the product of Gamma(alpha
    + X).

    The swap is reversible with respect to the hypergeometric law, so P(S | X) times the prior of X over P(X | S) is
    that product up to a constant. Good while few records are swapped; look at `.efficiency`.

    Parameters
    ----------
    swapped : whole numbers, (rows, columns)
        Any size, total >= 2.
    rate, alpha : as in `swapped_table.exact`.
    size : int
        Number of draws.
    rng : Generator

    Returns
    -------
    Weighted

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    counts = _checks.table("swapped", swapped)
    prior = _checks.positives("alpha", alpha, counts.size)
    originals = swap_draws.tables(counts, _checks.whole("size", size, least=1), rate=rate, rng=rng).reshape(size, -1)
    logs = gammaln(originals + prior).sum(axis=1)
    weights = np.exp(logs - logs.max())
    return Weighted(dirichlet.draw(prior, originals, rng=rng), originals, weights / weights.sum())


def mcmc(
    swapped: ArrayLike,
    *,
    rate: float,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    alpha: ArrayLike = 1.0,
    thin: int = 1,
) -> Accepted:
    """Dependent draws by Metropolis moves on the permutation of the swap: any table, any number of strata.

    Parameters
    ----------
    swapped : whole numbers >= 0, (rows, columns), or (strata, rows, columns) swapped within strata.
    rate : swap rate, in (0, 1).
    alpha : Dirichlet prior over all cells; one number or one per cell.
    draws, burn_in : kept draws and sweeps thrown away; a sweep proposes one transposition a record.
    thin : sweeps a kept draw. At small rates and large totals draws are strongly dependent.

    rng : Generator

    Returns
    -------
    Accepted
        ``not converged``: one chain is not judged. `unswapped.infer` runs several that are.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    array = np.asarray(swapped)
    stack = array if array.ndim == 3 else array[None] if array.ndim == 2 else array
    if stack.ndim != 3 or not len(stack):
        raise ValueError(f"swapped must be (rows, columns) or (strata, rows, columns), got shape {array.shape}")
    counts = np.stack([_checks.table("swapped", layer) for layer in stack])
    prior = _checks.positives("alpha", alpha, counts.size)
    logs = [permutation_weights.log_permutation_weights(int(layer.sum()), rate=rate) for layer in counts]
    originals = unswapping.permutation_chain(counts, logs, prior, draws=draws, burn_in=burn_in, thin=thin, rng=rng)
    return Accepted(dirichlet.draw(prior, originals, rng=rng), originals)
