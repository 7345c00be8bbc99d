"""Accuracy of an answer, described by one of four statuses that are the same for every posterior distribution.

An answer is ``exact`` if it is computed in closed form or by enumeration, and is therefore exact up to rounding. The
draws of a Markov chain are ``converged`` if every ESS is at least 400 and every R-hat is at most 1.01. Otherwise, they
are ``not converged``, and the numbers are shown together with this status. An answer is ``approximate`` if it has a
stated error, or if a truncation neglects a stated mass.

All errors have the same unit, probability: the error of a row is the largest error of any probability that the row
states, and therefore of the level of its interval. For independent draws, the error is a standard error, at most 1/2
divided by the square root of the number of draws. For chains, the error is not known (NaN). The function that creates a
row also computes its error: `summary_frame` takes one `Accuracy` per row.

For chains, ESS are effective sample sizes and R-hat is the rank-normalised split R-hat (Vehtari, Gelman, Simpson,
Carpenter, Buerkner 2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan

import numpy as np
import pandas as pd
import scipy  # scipy.stats is loaded on first use
from numpy.typing import ArrayLike, NDArray
from scipy.fft import next_fast_len
from scipy.special import ndtri

STATUSES = ("exact", "converged", "not converged", "approximate")
LEAST_ESS = 400.0
LARGEST_RHAT = 1.01
LEVEL = 0.95  # level of all intervals, unless a paper prints another level
SUMMARY = ("quantity", "mean", "sd", "lower", "upper", "level", "status", "error")


@dataclass(frozen=True)
class Accuracy:
    """Accuracy status of an answer, with the error of the answer and the reason for the status.

    Parameters
    ----------
    status : one of `STATUSES`.
    error : largest error of any probability, 0 if the answer is exact up to rounding; for draws a standard error; NaN
        if it is not known.
    reason : description of the check, in one sentence.
    """

    status: str
    error: float = 0.0
    reason: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status must be one of {', '.join(STATUSES)}, got {self.status!r}")
        if self.status == "approximate" and not self.reason:
            raise ValueError("reason must not be empty if the status is approximate: describe the error of the answer")
        if not (self.error >= 0 or isnan(self.error)):
            raise ValueError(f"error must be >= 0, or NaN if it is not known, got {self.error}")

    def __str__(self) -> str:
        return f"{self.status} ({self.reason})" if self.reason else self.status


EXACT = Accuracy("exact")


def of_chains(ess: ArrayLike, rhat: ArrayLike) -> Accuracy:
    """Return the accuracy status of Markov chains, determined by the quantity with the worst convergence.

    Parameters
    ----------
    ess : effective sample sizes, one per quantity.
    rhat : R-hat, one per quantity; a NaN in either argument never passes.
    """
    least, largest = float(np.min(np.asarray(ess))), float(np.max(np.asarray(rhat)))
    passed = least >= LEAST_ESS and largest <= LARGEST_RHAT
    # rounded towards the worse side, so that a number that did not pass is not shown as its limit
    shown, ratio = float(np.floor(least)), float(np.ceil(1000 * largest - 1e-9) / 1000)
    reason = f"smallest ESS {shown:.0f}, required {LEAST_ESS:.0f}; largest R-hat {ratio:.3f}, limit {LARGEST_RHAT}"
    return Accuracy("converged" if passed else "not converged", float("nan"), reason)


def worst(states: Sequence[Accuracy]) -> Accuracy:
    """Return the `Accuracy` object with the worst status among several objects and, among objects of equal status, with
    the largest error (NaN counts as the largest).
    """
    order = ("exact", "approximate", "converged", "not converged")
    return max(states, key=lambda state: (order.index(state.status), inf if isnan(state.error) else state.error))


def standard_error(effective: float) -> float:
    """Return an upper bound on the standard error of an estimated probability. The bound is 1/(2 sqrt(effective)) if
    the probability is estimated from `effective` independent draws. The result is NaN for zero draws.
    """
    return float(0.5 / np.sqrt(effective)) if effective > 0 else float("nan")


def summary_frame(
    quantities: Sequence[str],
    *,
    mean: ArrayLike,
    sd: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    level: float,
    status: Accuracy | Sequence[Accuracy],
) -> pd.DataFrame:
    """Build the table that the method ``summary()`` of every posterior returns, with one row per quantity and the
    columns `SUMMARY`.

    Parameters
    ----------
    quantities : names of the quantities, one per row.
    mean, sd, lower, upper : statistics, one per quantity.
    level : probability level of the intervals.
    status : an `Accuracy` for all quantities, or one per quantity.

    Returns
    -------
    DataFrame with columns `SUMMARY`; `status` and `error` come from the `Accuracy` of each row.

    Raises
    ------
    ValueError
        If there is not one `Accuracy` per quantity, or an interval ends before it begins.
    """
    states = [status] * len(quantities) if isinstance(status, Accuracy) else list(status)
    if len(states) != len(quantities):
        raise ValueError(
            f"status must be a single Accuracy or a list with one Accuracy per quantity, got {len(states)} values "
            f"for {len(quantities)} quantities"
        )
    if np.any(np.asarray(lower, dtype=float) > np.asarray(upper, dtype=float)):
        raise ValueError(f"lower must be <= upper, got lower = {lower!r} and upper = {upper!r}")
    words, errors = [s.status for s in states], [s.error for s in states]
    columns = (list(quantities), mean, sd, lower, upper, level, words, errors)
    return pd.DataFrame(dict(zip(SUMMARY, columns, strict=True)))


Array = NDArray[np.float64]
LEAST_DRAWS = 8  # draws per chain; shorter halves are not informative


def bulk_ess(draws: ArrayLike) -> float:
    """Return the bulk effective sample size, computed from the rank-normalised halves of the chains.

    Parameters
    ----------
    draws : (chains, draws), at least 8 draws per chain, finite.

    Returns
    -------
    float
        NaN if all draws are equal.

    Raises
    ------
    ValueError
        If `draws` is not two-dimensional, too short or not finite.
    """
    return _ess(_ranked(_halves(_chains(draws))))


def mean_ess(draws: ArrayLike) -> float:
    """Return the effective sample size for the mean, computed from the two halves of every chain without rank
    normalisation. Arguments, result and errors are those of `bulk_ess`.
    """
    return _ess(_halves(_chains(draws)))


def rhat(draws: ArrayLike) -> float:
    """Return the rank-normalised split R-hat, which is the maximum of the R-hat of the draws and the R-hat of the
    folded draws (the distances of the draws from their median).

    The arguments, the result and the errors are those of `bulk_ess`.
    """
    halves = _halves(_chains(draws))
    folded = np.abs(halves - np.median(halves))
    return float(np.max([_rhat(_ranked(halves)), _rhat(_ranked(folded))]))


def _chains(draws: ArrayLike) -> Array:
    chains = np.asarray(draws, dtype=float)
    if chains.ndim != 2 or chains.shape[0] < 1 or chains.shape[1] < LEAST_DRAWS:
        raise ValueError(
            f"draws must have shape (chains, draws) with at least {LEAST_DRAWS} draws per "
            f"chain, got shape {chains.shape}"
        )
    if not np.isfinite(chains).all():
        raise ValueError(f"draws must be finite, got {chains[~np.isfinite(chains)][0]}")
    return chains


def _halves(chains: Array) -> Array:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _ranked(chains: Array) -> Array:
    """Return the normal scores of the ranks of all draws of all chains, by Blom's formula."""
    ranks = np.asarray(scipy.stats.rankdata(chains.ravel())).reshape(chains.shape)
    return np.asarray(ndtri((ranks - 0.375) / (chains.size + 0.25)))


def _rhat(chains: Array) -> float:
    length = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    return float(np.sqrt((length - 1) / length + between / within)) if within > 0 else float("nan")


def _autocovariance(chains: Array) -> Array:
    length = chains.shape[1]
    size = next_fast_len(2 * length)
    spectrum = np.abs(np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), size)) ** 2
    return np.asarray(np.fft.irfft(spectrum, size)[:, :length] / length)


def _ess(chains: Array) -> float:
    """Return the effective sample size by Geyer's initial monotone sequence, applied to the pooled autocorrelation."""
    count, length = chains.shape
    covariance = _autocovariance(chains)
    within = covariance[:, 0].mean() * length / (length - 1)
    pooled = within * (length - 1) / length + (chains.mean(axis=1).var(ddof=1) if count > 1 else 0.0)
    if not pooled > 0:
        return float("nan")
    rho = 1 - (within - covariance.mean(axis=0)) / pooled
    rho[0] = 1.0
    pairs = rho[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[: min(_first(pairs <= 0), (length - 1) // 2 - 1)]
    following = rho[2 * len(positive)]
    tau = -1 + 2 * np.minimum.accumulate(positive).sum() + max(following, 0.0)
    return float(count * length / max(tau, 1 / np.log10(count * length)))


def _first(condition: NDArray[np.bool_]) -> int:
    """Return the index of the first True in an array, or the length of the array if no element is True."""
    return int(np.argmax(condition)) if condition.any() else len(condition)
