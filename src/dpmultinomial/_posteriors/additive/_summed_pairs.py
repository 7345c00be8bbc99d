"""Two counts released by algorithm 1 (summed) of Wang (2020): the released total depends on the noisy counts' sum too.

P(N_1, N_2) is proportional to sum over n_1, n_2 of p(n_1 - N_1) p(n_2 - N_2) L(n_1, n_2) c(N_1 + N_2, n_1 + n_2), with
L the likelihood of the noisy counts and c the probability of the released total. c ties the pairs together, so every
sum n_1 + n_2 is taken by itself.
"""

import numpy as np
from numpy.typing import NDArray

from ..._mechanisms.additive import additive_release
from . import _geometric_boxes, _noise_operators, _pair_sums
from ._noise_operators import Noise

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_NEGLIGIBLE = 1e-17
_UNSEEN = 1e-20  # of the most that a sum of noisy counts adds to a total: sums that add less are neglected
_SUMS = 256  # sums of noisy counts weighed at once
_TINY = 1e-280  # denormal numbers are slow and say nothing
_DENSE = 257  # noisy totals up to which the factor of the total is added up in the order of the dense products


def table(released: int, low: Whole, likelihood: Array, noise: Noise, support: int) -> Array:
    """The law of both true counts, up to a constant.

    Parameters
    ----------
    released : the released total.
    low : int64 (2,), the first true counts.
    likelihood : float64 (A + 2 reach, B + 2 reach) of noisy counts, from low - reach on.
    noise : Noise.
    support : of the noise.

    Returns
    -------
    float64 (A, B)

    Notes
    -----
    Of whole noise O(1) a pair and sum of noisy counts: about a nanosecond each; of cut noise two products a sum.
    """
    sizes = np.array(likelihood.shape) - 2 * noise.reach
    totals = int(low.sum()) + np.arange(int(sizes.sum()) - 1)
    cut = noise.reach >= support or noise.of_total is not noise  # cut noise is not a power beyond its reach
    if cut:
        return _by_products(low, likelihood, noise, *_factor(released, totals, noise.of_total, support))
    likelihood = np.where(likelihood < _TINY, 0.0, likelihood)
    shift = released - int(low.sum())  # of the first sum, released - 2 reach, from the least on the grid
    weights = _weights(released, totals, noise, support, _along_sums(likelihood, shift, 4 * noise.reach + 1))
    return _pair_sums.pairs(likelihood, weights, epsilon=noise.epsilon, reach=noise.reach, shift=shift)


def _along_sums(likelihood: Array, first: int, size: int) -> Array:
    """Likelihood added up over every n_1 + n_2, `size` of them from the place `first`."""
    sums = np.zeros(max(sum(likelihood.shape), first + size))
    for row, values in enumerate(likelihood):
        sums[row : row + len(values)] += values
    return sums[first : first + size]


def _weights(released: int, totals: Whole, noise: Noise, support: int, most: Array) -> Array:
    """What `_pair_sums.pairs` takes: P(released total | T, V) exp(-epsilon |V - T|), (totals, sums).

    It is 0 where `most`, the likelihood on a sum, makes nothing of it.
    """
    chance, sums = _chance(released, noise, support)
    weights, best = np.empty((len(totals), len(sums))), np.zeros(len(totals))
    before = released - noise.reach - (int(totals[0]) - noise.reach)  # zeros before the first noisy total
    near = slice(max(-before, 0), max(len(totals) + 2 * noise.reach - before, 0))
    for start in range(0, len(sums), _SUMS):
        some = slice(start, start + _SUMS)
        padded = np.zeros((len(sums[some]), len(totals) + 2 * noise.reach))
        kept = chance[some, near]
        padded[:, max(before, 0) : max(before, 0) + kept.shape[1]] = kept
        given = noise.p[noise.reach] * _geometric_boxes.smooth(padded, epsilon=noise.epsilon, reach=noise.reach).T
        weights[:, some] = given * np.exp(-noise.epsilon * np.abs(sums[some] - totals[:, None]))
        best = np.maximum(best, (weights[:, some] * most[some]).max(axis=1))
    for start in range(0, len(sums), _SUMS):
        some = slice(start, start + _SUMS)
        weights[:, some][weights[:, some] * most[some] <= _UNSEEN * best[:, None]] = 0.0
    return weights


def _by_products(low: Whole, likelihood: Array, noise: Noise, factor: Array, sums: Whole) -> Array:
    """Two products with the band of the noise for every sum of noisy counts."""
    n = [low[s] - noise.reach + np.arange(likelihood.shape[s]) for s in (0, 1)]
    sizes = np.array(likelihood.shape) - 2 * noise.reach
    whole = np.add.outer(n[0], n[1])
    totals = np.add.outer(np.arange(sizes[0]), np.arange(sizes[1]))
    out = np.zeros(tuple(sizes))
    for column, value in enumerate(sums):
        part = np.where(whole == value, likelihood, 0.0)
        if part.any() and factor[:, column].max() > _NEGLIGIBLE * factor.max():
            out += noise.spread(noise.spread(part).T).T * factor[totals, column]
    return out


def _chance(released: int, noise: Noise, support: int) -> tuple[Array, Whole]:
    """P(released total | V, n) for every sum V of noisy counts that matters (rows) and every noisy total n."""
    logs, reach = additive_release.summed_noise(noise.epsilon, support, 2)
    sums = released + np.arange(-2 * noise.reach, 2 * noise.reach + 1)
    n = released + np.arange(-noise.reach, noise.reach + 1)
    m = released + np.arange(-2 * noise.reach, 2 * noise.reach + 1)
    gap = sums[:, None] - m
    inside = (np.abs(gap) <= reach) & (m >= 0)
    summed = np.where(inside, np.exp(logs[np.where(inside, gap, 0) + reach]), 0.0)
    at = int(np.flatnonzero(m == released)[0])
    if noise.reach > _noise_operators.BANDED:
        norm = noise.spread(summed)
        own = noise.p
    else:
        near = np.abs(m - n[:, None]) <= noise.reach
        each = np.where(near, noise.p[np.where(near, m - n[:, None], 0) + noise.reach], 0.0)
        norm = _over_totals(summed, each)
        own = each[:, at]
    return np.divide(np.outer(summed[:, at], own), norm, out=np.zeros_like(norm), where=norm > 0), sums


def _over_totals(summed: Array, own: Array) -> Array:
    """sum over M of summed[sum, M] own[n, M]: float64 (sums, n)."""
    if summed.shape[1] <= _DENSE:
        return np.asarray((own[None] * summed[:, None]).sum(axis=2))
    return np.asarray(summed @ own.T)


def _factor(released: int, totals: Whole, noise: Noise, support: int) -> tuple[Array, Whole]:
    """P(released total | true total, n_1 + n_2) for every true total (rows) and every sum that matters (columns)."""
    chance, sums = _chance(released, noise, support)
    n = released + np.arange(-noise.reach, noise.reach + 1)
    close = np.abs(n - totals[:, None]) <= noise.reach
    given = np.where(close, noise.p[np.where(close, n - totals[:, None], 0) + noise.reach], 0.0)
    return given @ chance.T, sums
