"""Exact posterior behind an additive release of two components: one table over all pairs of true counts.

The paper's four-fold sum over (N_1, N_2, n_1, n_2) factorises into two matrix products, K_1 L K_2', times the factor of
the total: equal to the loop to rounding and about ten thousand times faster.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ..kernels import additive_release, geometric_boxes, multinomial_mode
from .additive_terms import windows
from .noise_operators import Noise

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_NEGLIGIBLE = 1e-17
_LARGEST = 3000  # counts of a component in a table
_BANDED = 64  # reach of the noise up to which sums over it are dense products


class PairTable:
    """Law of two counts given as a table.

    Parameters
    ----------
    low : int64 (2,), counts of the table's first row and column.
    weights : float64 (A, B), non-negative, positive somewhere.
    """

    components = 2

    def __init__(self, low: Whole, weights: Array) -> None:
        if not weights.sum() > 0:
            raise ValueError("the release has probability 0 under this mechanism and these windows")
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
    """The posterior table of algorithm ``"1-independent"``, ``"1-summed"``, ``"2"`` or ``"3"`` (any tie rule).

    Parameters
    ----------
    released : int64 (2,). noise : Noise. algorithm, ties : as in `additive_counts.posterior`.
    window : whole number or None. support : of the noise.

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
        shares = share_likelihood(released, *wide) * np.outer(wide[0] >= 0, wide[1] >= 0)
        likelihood = noise.drawn(noise.drawn(shares, int(wide[1][0])).T, int(wide[0][0])).T
    if algorithm == "1-summed":
        return PairTable(low, _summed(released, n, low, sizes, likelihood, noise, support))
    table = noise.spread(noise.spread(likelihood).T).T
    return PairTable(low, table * _on_totals(*noise.total_factor(int(released.sum()), drawn=drawn), low, sizes))


def fits(released: Whole, noise: Noise, *, algorithm: str, window: int | None) -> bool:
    """Whether the table of all pairs is small enough to be kept.

    Parameters
    ----------
    released : int64 (2,). noise : Noise. algorithm, window : as in `solve`.

    Returns
    -------
    bool
    """
    low, high = windows(released, noise, window, drawn=algorithm.startswith("1"))
    if algorithm == "3" and window is None:
        low, high = noise.capped(np.maximum(released - 4 * noise.reach, 0), released + 4 * noise.reach)
    return int((high - low).max()) < _LARGEST


def share_likelihood(released: Whole, n1: Whole, n2: Whole) -> Array:
    """P(released | weights max(n, 0)), up to a constant: binomial, equal shares where both are 0.

    Parameters
    ----------
    released : int64 (2,). n1, n2 : int64 (A,), (B,), noisy counts.

    Returns
    -------
    float64 (A, B)
    """
    x1, x2 = np.maximum(n1, 0)[:, None], np.maximum(n2, 0)
    whole = x1 + x2
    total = int(released.sum())
    safe = np.where(whole > 0, whole, 1)
    logs = xlogy(released[0], x1 / safe) + xlogy(released[1], x2 / safe)
    logs = np.where(whole > 0, logs, -total * np.log(2))
    constant = gammaln(total + 1) - gammaln(released + 1).sum()
    return np.asarray(np.exp(constant + logs))


def mode_likelihood(released: Whole, n1: Whole, n2: Whole, *, ties: str) -> Array:
    """P(released is the reported mode | weights max(n, 0)): 0 or 1, or one half where a random tie decides.

    Parameters
    ----------
    released : int64 (2,). n1, n2 : int64 (A,), (B,), noisy counts. ties : the rule.

    Returns
    -------
    float64 (A, B)
    """
    weights = np.stack(np.meshgrid(np.maximum(n1, 0), np.maximum(n2, 0), indexing="ij"), axis=-1).reshape(-1, 2)
    weights[weights.sum(axis=1) == 0] = 1
    totals = np.full(len(weights), released.sum())
    rules = ("first", "last") if ties == "random" else (ties,)
    quiet = np.random.Generator(np.random.PCG64(0))  # these rules draw nothing
    hits = [(multinomial_mode.modes(totals, weights, ties=rule, rng=quiet) == released).all(axis=1) for rule in rules]
    return np.asarray(np.mean(hits, axis=0).reshape(len(n1), len(n2)))


def _on_totals(first: int, values: Array, low: Whole, sizes: Whole) -> Array:
    """A factor of the total, looked up for every pair."""
    place = np.add.outer(np.arange(sizes[0]), np.arange(sizes[1])) + low.sum() - first
    inside = (place >= 0) & (place < len(values))
    return np.where(inside, values[np.where(inside, place, 0)], 0.0)


def _summed(
    released: Whole, n: list[Whole], low: Whole, sizes: Whole, likelihood: Array, noise: Noise, support: int
) -> Array:
    """Algorithm 1 (summed): the factor of the total also depends on n_1 + n_2, so one product for every such sum."""
    total = int(released.sum())
    first, count = int(low.sum()), int(sizes.sum()) - 1
    factor, sums = _summed_factor(total, first + np.arange(count), noise.of_total, support)
    whole = np.add.outer(n[0], n[1])
    totals = np.add.outer(np.arange(sizes[0]), np.arange(sizes[1]))
    out = np.zeros(tuple(sizes))
    for column, value in enumerate(sums):
        part = np.where(whole == value, likelihood, 0.0)
        if part.any() and factor[:, column].max() > _NEGLIGIBLE * factor.max():
            out += _spread_twice(part, noise) * factor[totals, column]
    return out


def _spread_twice(likelihood: Array, noise: Noise) -> Array:
    """Likelihood of two noisy counts -> of the counts behind them; wide noise by recursion."""
    if noise.reach <= _BANDED:
        return noise.spread(noise.spread(likelihood).T).T
    peak = float(noise.p[noise.reach])
    rows = np.flatnonzero(likelihood.any(axis=1))
    once = np.zeros((len(likelihood), likelihood.shape[1] - 2 * noise.reach))
    once[rows] = geometric_boxes.smooth(likelihood[rows], epsilon=noise.epsilon, reach=noise.reach)
    other = geometric_boxes.smooth(np.ascontiguousarray(once.T), epsilon=noise.epsilon, reach=noise.reach)
    return peak**2 * other.T


def _over_totals(summed: Array, own: Array) -> Array:
    """sum over M of summed[sum, M] own[n, M]: float64 (sums, n)."""
    if summed.shape[1] <= 4 * _BANDED + 1:
        return np.asarray((own[None] * summed[:, None]).sum(axis=2))
    return np.asarray(summed @ own.T)


def _summed_factor(released: int, totals: Whole, noise: Noise, support: int) -> tuple[Array, Whole]:
    """P(released total | true total, n_1 + n_2) for every true total (rows) and every sum that matters (columns)."""
    logs, reach = additive_release.summed_noise(noise.epsilon, support, 2)
    sums = released + np.arange(-2 * noise.reach, 2 * noise.reach + 1)
    n = released + np.arange(-noise.reach, noise.reach + 1)
    m = released + np.arange(-2 * noise.reach, 2 * noise.reach + 1)
    gap = sums[:, None] - m
    inside = (np.abs(gap) <= reach) & (m >= 0)
    summed = np.where(inside, np.exp(logs[np.where(inside, gap, 0) + reach]), 0.0)
    near = np.abs(m - n[:, None]) <= noise.reach
    own = np.where(near, noise.p[np.where(near, m - n[:, None], 0) + noise.reach], 0.0)
    norm = _over_totals(summed, own)
    at = int(np.flatnonzero(m == released)[0])
    chance = np.divide(np.outer(summed[:, at], own[:, at]), norm, out=np.zeros_like(norm), where=norm > 0)
    close = np.abs(n - totals[:, None]) <= noise.reach
    given = np.where(close, noise.p[np.where(close, n - totals[:, None], 0) + noise.reach], 0.0)
    return given @ chance.T, sums
