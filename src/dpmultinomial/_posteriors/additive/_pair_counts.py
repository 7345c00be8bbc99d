"""Exact posterior given an additive release of two components: one table over all pairs of true counts.

The paper's four-fold sum over (N_1, N_2, n_1, n_2) factorises into two matrix products, K_1 L K_2', times the factor of
the total: equal to the loop to rounding and about ten thousand times faster.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ..._mechanisms.additive import multinomial_mode
from . import _summed_pairs
from ._additive_terms import windows
from ._noise_operators import BANDED, Noise

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_LARGEST = 3000  # counts of a component in a table
_ROWS = 256  # of the likelihood made at once where noise is wide
_LARGEST_MODE = 4000  # the same for algorithm 3, which enumerates its table once: a gigabyte


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
    released : int64 (2,).
    noise : Noise.
    algorithm, ties : as in `additive_counts.posterior`.
    window : whole number or None.
    support : of the noise.

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
        return PairTable(low, _summed_pairs.table(int(released.sum()), low, likelihood, noise, support))
    table = noise.spread(noise.spread(likelihood).T).T
    return PairTable(low, table * _on_totals(*noise.total_factor(int(released.sum()), drawn=drawn), low, sizes))


def _drawn_shares(released: Whole, wide: list[Whole], noise: Noise) -> Array:
    """Likelihood of noisy counts whose shares are those of posterior draws; the outer half-width of `wide` is lost."""
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
    """Counts of a component in the table of all pairs, and the most that is worked out: a gigabyte, some seconds.

    Parameters
    ----------
    released : int64 (2,).
    noise : Noise.
    algorithm, window : as in `solve`.

    Returns
    -------
    width, limit : the table is kept where the first is no more than the second.
    """
    low, high = windows(released, noise, window, drawn=algorithm.startswith("1"))
    if algorithm == "3" and window is None:
        low, high = np.maximum(released - 4 * noise.reach, 0), released + 4 * noise.reach
    return int((high - low).max()) + 1, _LARGEST_MODE if algorithm == "3" else _LARGEST


def share_likelihood(released: Whole, n1: Whole, n2: Whole) -> Array:
    """P(released | weights max(n, 0)), up to a constant: binomial, equal shares where both are 0.

    Parameters
    ----------
    released : int64 (2,).
    n1, n2 : int64 (A,), (B,), noisy counts.

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
    released : int64 (2,).
    n1, n2 : int64 (A,), (B,), noisy counts.
    ties : the rule.

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
