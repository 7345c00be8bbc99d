"""Exact posterior distribution of two true counts given a release by an algorithm of Wang (2020), as a table over all
pairs of true counts.

The paper's quadruple sum over (N_1, N_2, n_1, n_2) factorises into two matrix products, K_1 L K_2', times the factor of
the total. The result equals the paper's sum up to rounding and is computed about ten thousand times faster.

For two counts released by algorithm 1 (summed) of Wang (2020), the released total also depends on the sum of the noisy
counts.

P(N_1, N_2) is proportional to the sum over n_1, n_2 of p(n_1 - N_1) p(n_2 - N_2) L(n_1, n_2) c(N_1 + N_2, n_1 + n_2),
with L the likelihood of the noisy counts and c the probability of the released total. The factor c couples the pairs,
so every sum n_1 + n_2 is processed separately.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ..._kernels import geometric
from ..._mechanisms import additive_release
from . import _noise, _sum_chain
from ._coupled_counts import windows
from ._noise import BANDED, Noise

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_NEGLIGIBLE = 1e-17
# the contribution of a sum of noisy counts is neglected below this fraction of the largest contribution
_UNSEEN = 1e-20
_SUMS = 256  # number of sums of noisy counts that are weighted together
_TINY = 1e-280  # subnormal numbers are slow and negligible
# largest number of noisy totals for which the factor of the total is summed in the order of the dense products
_DENSE = 257


def summed_table(released: int, low: Whole, likelihood: Array, noise: Noise, support: int) -> Array:
    """Compute the unnormalised joint posterior distribution of two true counts, given a release that was produced by
    algorithm 1 (summed) of Wang (2020).

    Parameters
    ----------
    released : the released total, an integer.
    low : int64 (2,), the first true counts.
    likelihood : float64 (A + 2 reach, B + 2 reach) of noisy counts, from low - reach on.
    noise : noise of one count.
    support : support of the noise.

    Returns
    -------
    float64 (A, B)

    Notes
    -----
    Cost: for untruncated noise, O(1) per pair and sum of noisy counts, about one nanosecond each; for truncated noise,
    two matrix products per sum.
    """
    sizes = np.array(likelihood.shape) - 2 * noise.reach
    totals = int(low.sum()) + np.arange(int(sizes.sum()) - 1)
    cut = noise.reach >= support or noise.of_total is not noise  # truncated noise does not decay as a power
    if cut:
        return _by_products(low, likelihood, noise, *_factor(released, totals, noise.of_total, support))
    likelihood = np.where(likelihood < _TINY, 0.0, likelihood)
    shift = released - int(low.sum())  # offset of the first sum, released - 2 reach, from the smallest sum on the grid
    weights = _weights(released, totals, noise, support, _along_sums(likelihood, shift, 4 * noise.reach + 1))
    return _sum_chain.pairs(likelihood, weights, epsilon=noise.epsilon, reach=noise.reach, shift=shift)


def _along_sums(likelihood: Array, first: int, size: int) -> Array:
    """Return sums of a likelihood over pairs (n_1, n_2) of noisy counts, for `size` consecutive values of n_1 + n_2.
    Each sum is over all pairs with the same value of n_1 + n_2.
    """
    sums = np.zeros(max(sum(likelihood.shape), first + size))
    for row, values in enumerate(likelihood):
        sums[row : row + len(values)] += values
    return sums[first : first + size]


def _weights(released: int, totals: Whole, noise: Noise, support: int, most: Array) -> Array:
    """Return the weights P(released total | T, V) exp(-epsilon |V - T|) for every true total T and every sum V of noisy
    counts. The weights are used by `_sum_chain.pairs`.

    The weight is 0 where it is negligible, given that the likelihood of the sum is at most `most`.
    """
    chance, sums = _chance(released, noise, support)
    weights, best = np.empty((len(totals), len(sums))), np.zeros(len(totals))
    before = released - noise.reach - (int(totals[0]) - noise.reach)  # zeros before the first noisy total
    near = slice(max(-before, 0), max(len(totals) + 2 * noise.reach - before, 0))
    for start in range(0, len(sums), _SUMS):
        block_rows = slice(start, start + _SUMS)
        padded = np.zeros((len(sums[block_rows]), len(totals) + 2 * noise.reach))
        kept = chance[block_rows, near]
        padded[:, max(before, 0) : max(before, 0) + kept.shape[1]] = kept
        given = noise.p[noise.reach] * geometric.smooth(padded, epsilon=noise.epsilon, reach=noise.reach).T
        weights[:, block_rows] = given * np.exp(-noise.epsilon * np.abs(sums[block_rows] - totals[:, None]))
        best = np.maximum(best, (weights[:, block_rows] * most[block_rows]).max(axis=1))
    for start in range(0, len(sums), _SUMS):
        block_rows = slice(start, start + _SUMS)
        weights[:, block_rows][weights[:, block_rows] * most[block_rows] <= _UNSEEN * best[:, None]] = 0.0
    return weights


def _by_products(low: Whole, likelihood: Array, noise: Noise, factor: Array, sums: Whole) -> Array:
    """Return the likelihood of every pair of true counts. For each sum of noisy counts, two multiplications with the
    banded matrix of the noise are needed.
    """
    n = [low[s] - noise.reach + np.arange(likelihood.shape[s]) for s in (0, 1)]
    sizes = np.array(likelihood.shape) - 2 * noise.reach
    noisy_sums = np.add.outer(n[0], n[1])
    totals = np.add.outer(np.arange(sizes[0]), np.arange(sizes[1]))
    out = np.zeros(tuple(sizes))
    for column, value in enumerate(sums):
        part = np.where(noisy_sums == value, likelihood, 0.0)
        if part.any() and factor[:, column].max() > _NEGLIGIBLE * factor.max():
            out += noise.spread(noise.spread(part).T).T * factor[totals, column]
    return out


def _chance(released: int, noise: Noise, support: int) -> tuple[Array, Whole]:
    """Return the conditional probabilities of the released total, given the sum V of the noisy counts and the noisy
    total n. The rows are the non-negligible sums V of noisy counts, and the columns are the noisy totals n. Also return
    the sums V.
    """
    logs, reach = additive_release.summed_noise(noise.epsilon, support, 2)
    sums = released + np.arange(-2 * noise.reach, 2 * noise.reach + 1)
    n = released + np.arange(-noise.reach, noise.reach + 1)
    m = released + np.arange(-2 * noise.reach, 2 * noise.reach + 1)
    gap = sums[:, None] - m
    inside = (np.abs(gap) <= reach) & (m >= 0)
    summed = np.where(inside, np.exp(logs[np.where(inside, gap, 0) + reach]), 0.0)
    released_index = int(np.flatnonzero(m == released)[0])
    if noise.reach > _noise.BANDED:
        norm = noise.spread(summed)
        masses = noise.p
    else:
        near = np.abs(m - n[:, None]) <= noise.reach
        each = np.where(near, noise.p[np.where(near, m - n[:, None], 0) + noise.reach], 0.0)
        norm = _over_totals(summed, each)
        masses = each[:, released_index]
    return np.divide(np.outer(summed[:, released_index], masses), norm, out=np.zeros_like(norm), where=norm > 0), sums


def _over_totals(summed: Array, own: Array) -> Array:
    """Return the matrix product ``summed @ own.T``, as a float64 array of shape (sums, n). The product is a sum over
    the totals, which are the second axis of both arrays.
    """
    if summed.shape[1] <= _DENSE:
        return np.asarray((own[None] * summed[:, None]).sum(axis=2))
    return np.asarray(summed @ own.T)


def _factor(released: int, totals: Whole, noise: Noise, support: int) -> tuple[Array, Whole]:
    """Return the probabilities of the released total, given the true total and the sum n_1 + n_2 of the noisy counts.
    The rows are the true totals, and the columns are the non-negligible sums n_1 + n_2 of noisy counts. Also return the
    sums.
    """
    chance, sums = _chance(released, noise, support)
    n = released + np.arange(-noise.reach, noise.reach + 1)
    close = np.abs(n - totals[:, None]) <= noise.reach
    given = np.where(close, noise.p[np.where(close, n - totals[:, None], 0) + noise.reach], 0.0)
    return given @ chance.T, sums


_LARGEST = 3000  # largest number of counts of a component in a table
_ROWS = 256  # number of rows of the likelihood that are computed together if the noise is wide
_LARGEST_MODE = 4000  # the same limit for algorithm 3, which enumerates the table only once; the table requires 1 GB


class PairTable:
    """Joint posterior distribution of two counts, stored as a table of weights.

    Parameters
    ----------
    low : int64 (2,), counts in the table's first row and first column.
    weights : float64 (A, B), non-negative, positive somewhere.
    """

    components = 2

    def __init__(self, low: Whole, weights: Array) -> None:
        if not weights.sum() > 0:
            raise ValueError(
                "the release has probability 0 under this mechanism and these windows: "
                "check the settings, or choose a larger window"
            )
        self.low, self.table = low, weights / weights.sum()

    def marginal(self, component: int) -> tuple[Whole, Array]:
        return self.low[component] + np.arange(self.table.shape[component]), self.table.sum(axis=1 - component)

    def total(self) -> tuple[Whole, Array]:
        sums = np.add.outer(*(np.arange(n) for n in self.table.shape))
        values = self.low.sum() + np.arange(sum(self.table.shape) - 1)
        return values, np.bincount(sums.ravel(), self.table.ravel()).astype(float)

    def draw(self, size: int, *, rng: np.random.Generator) -> Whole:
        place = rng.choice(self.table.size, size=size, p=self.table.ravel())
        return self.low + np.stack(np.unravel_index(place, self.table.shape), axis=1)

    def top(self, k: int) -> tuple[Whole, Array]:
        order = np.argsort(-self.table.ravel(), kind="stable")[:k]
        return self.low + np.stack(np.unravel_index(order, self.table.shape), axis=1), self.table.ravel()[order]


def solve(released: Whole, noise: Noise, *, algorithm: str, window: int | None, support: int, ties: str) -> PairTable:
    """Compute the joint posterior distribution of two true counts given a release by any algorithm of Wang (2020).
    Every tie-breaking rule is supported.

    Parameters
    ----------
    released : int64 (2,).
    noise : noise of one count.
    algorithm : ``"1-independent"``, ``"1-summed"``, ``"2"`` or ``"3"``.
    ties : as in `additive_counts.posterior`.
    window : half-width of the window, an integer, or None.
    support : support of the noise.

    Returns
    -------
    PairTable
    """
    drawn = algorithm.startswith("1")
    low, high = windows(released, noise, window, drawn=drawn)
    if algorithm == "3" and window is None:
        low, high = noise.capped(np.maximum(released - 4 * noise.reach, 0), released + 4 * noise.reach)
    sizes = high - low + 1
    n = [low[s] - noise.reach + np.arange(sizes[s] + 2 * noise.reach) for s in (0, 1)]
    if algorithm == "3":
        likelihood = mode_likelihood(released, *n, ties=ties)
    elif algorithm == "2":
        likelihood = share_likelihood(released, *n)
    else:
        wide = [np.arange(v[0] - noise.reach, v[-1] + noise.reach + 1) for v in n]
        likelihood = _drawn_shares(released, wide, noise)
    if algorithm == "1-summed":
        return PairTable(low, summed_table(int(released.sum()), low, likelihood, noise, support))
    table = noise.spread(noise.spread(likelihood).T).T
    return PairTable(low, table * _on_totals(*noise.total_factor(int(released.sum()), drawn=drawn), low, sizes))


def _drawn_shares(released: Whole, wide: list[Whole], noise: Noise) -> Array:
    """Return the likelihood of two noisy counts for a release whose shares are computed from posterior draws of the
    counts. The result is shorter than `wide` by one half-width of the noise at each end.
    """
    width = len(wide[1]) - 2 * noise.reach
    once = np.zeros((len(wide[0]), width))
    inside = wide[1] >= 0
    block = _ROWS if noise.reach > BANDED else len(wide[0])
    for start in range(0, len(wide[0]), block):
        rows = wide[0][start : start + block]
        shares = np.zeros((len(rows), len(wide[1])))
        shares[np.ix_(rows >= 0, inside)] = share_likelihood(released, rows[rows >= 0], wide[1][inside])
        once[start : start + block] = noise.drawn(shares, int(wide[1][0]))
    return noise.drawn(once.T, int(wide[0][0])).T


def widest(released: Whole, noise: Noise, *, algorithm: str, window: int | None) -> tuple[int, int]:
    """Return the number of rows in a table of all pairs of true counts, and the largest permitted number of rows. A
    table with the largest permitted number of rows needs 1 GB and a few seconds.

    Parameters
    ----------
    released : int64 (2,).
    noise : noise of one count.
    algorithm, window : as in `solve`.

    Returns
    -------
    width, limit : use the table if `width` is at most `limit`.
    """
    low, high = windows(released, noise, window, drawn=algorithm.startswith("1"))
    if algorithm == "3" and window is None:
        low, high = np.maximum(released - 4 * noise.reach, 0), released + 4 * noise.reach
    return int((high - low).max()) + 1, _LARGEST_MODE if algorithm == "3" else _LARGEST


def share_likelihood(released: Whole, n1: Whole, n2: Whole) -> Array:
    """Return the likelihood of pairs of noisy counts (n1, n2), given the two released counts. The likelihood is
    binomial with weights max(n, 0), or with equal shares if both weights are 0.

    Parameters
    ----------
    released : int64 (2,).
    n1, n2 : int64 (A,), (B,), noisy counts.

    Returns
    -------
    float64 (A, B)
    """
    x1, x2 = np.maximum(n1, 0)[:, None], np.maximum(n2, 0)
    weight_total = x1 + x2
    total = int(released.sum())
    safe = np.where(weight_total > 0, weight_total, 1)
    logs = xlogy(released[0], x1 / safe) + xlogy(released[1], x2 / safe)
    logs = np.where(weight_total > 0, logs, -total * np.log(2))
    constant = gammaln(total + 1) - gammaln(released + 1).sum()
    return np.asarray(np.exp(constant + logs))


def mode_likelihood(released: Whole, n1: Whole, n2: Whole, *, ties: str) -> Array:
    """Return the probability that the released vector is selected as the mode of a multinomial distribution. The
    weights of this distribution are max(n, 0), where n are the noisy counts. The probability is 0 or 1, or one half if
    a random tie decides.

    Parameters
    ----------
    released : int64 (2,).
    n1, n2 : int64 (A,), (B,), noisy counts.
    ties : tie-breaking rule.

    Returns
    -------
    float64 (A, B)
    """
    weights = np.stack(np.meshgrid(np.maximum(n1, 0), np.maximum(n2, 0), indexing="ij"), axis=-1).reshape(-1, 2)
    weights[weights.sum(axis=1) == 0] = 1
    totals = np.full(len(weights), released.sum())
    rules = ("first", "last") if ties == "random" else (ties,)
    # the generator is not used, because these tie-breaking rules are deterministic
    quiet = np.random.Generator(np.random.PCG64(0))
    hits = [(additive_release.modes(totals, weights, ties=rule, rng=quiet) == released).all(axis=1) for rule in rules]
    return np.asarray(np.mean(hits, axis=0).reshape(len(n1), len(n2)))


def _on_totals(first: int, values: Array, low: Whole, sizes: Whole) -> Array:
    """Return, for every pair of counts, the value of a factor that depends only on the sum of the two counts."""
    place = np.add.outer(np.arange(sizes[0]), np.arange(sizes[1])) + low.sum() - first
    inside = (place >= 0) & (place < len(values))
    return np.where(inside, values[np.where(inside, place, 0)], 0.0)
