"""Rank-normalised split R-hat and effective sample sizes of Markov chains (Vehtari, Gelman, Simpson, Carpenter,
Buerkner 2021)."""

import numpy as np
import scipy  # its statistics load on first use
from numpy.typing import ArrayLike, NDArray
from scipy.fft import next_fast_len
from scipy.special import ndtri

Array = NDArray[np.float64]
LEAST_DRAWS = 8  # draws per chain; shorter halves are not informative


def bulk_ess(draws: ArrayLike) -> float:
    """Return the bulk effective sample size, computed from the rank-normalised half chains.

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
    """Return the effective sample size for the mean, computed from the half chains without ranks. Arguments, result and
    errors as `bulk_ess`.
    """
    return _ess(_halves(_chains(draws)))


def rhat(draws: ArrayLike) -> float:
    """Return the larger of two rank-normalised split R-hats: of the draws, and of their distances from the median.

    Arguments, result and errors as `bulk_ess`.
    """
    halves = _halves(_chains(draws))
    folded = np.abs(halves - np.median(halves))
    return float(np.max([_rhat(_ranked(halves)), _rhat(_ranked(folded))]))


def _chains(draws: ArrayLike) -> Array:
    found = np.asarray(draws, dtype=float)
    if found.ndim != 2 or found.shape[0] < 1 or found.shape[1] < LEAST_DRAWS:
        raise ValueError(f"draws must be (chains, at least {LEAST_DRAWS} draws), got shape {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("draws must be finite")
    return found


def _halves(chains: Array) -> Array:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _ranked(chains: Array) -> Array:
    """Return the normal scores of the pooled ranks (Blom)."""
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
    """Return the effective sample size by Geyer's initial monotone sequence on the pooled autocorrelation."""
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
