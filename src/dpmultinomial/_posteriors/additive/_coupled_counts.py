"""Mixtures of independent counts coupled through their total: the form of every posterior given an additive release.

P(N) is proportional to g(N_1 + .. + N_S) sum_t w_t prod_s h_ts(N_s); each term is one run of `_sum_chain`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from . import _sum_chain
from ._unit_moves import most_probable

Array = NDArray[np.float64]
_NEGLIGIBLE = 36.0  # terms whose weight is below exp(-36) of the largest are neglected; log of the share
_BLOCK, _NUMBERS = 64, 2_000_000  # terms, and numbers of their factors, that are bounded or solved at a time


@dataclass(frozen=True)
class Terms:
    """The terms of a mixture.

    Attributes
    ----------
    low : int64 (S,), smallest value of every component; a component takes low, low + 1, .., low + W - 1.
    log_weights : float64 (T,).
    factors : float64 (T, 1 or 3, S, W), as `_sum_chain.solve_each` takes them.
    tilts : float64 (T,), theta that puts the free total near the released one; it cancels.
    """

    low: NDArray[np.int64]
    log_weights: Array
    factors: Array
    tilts: Array


class CoupledCounts:
    """Law of counts with the given terms and total factor.

    Parameters
    ----------
    terms : Terms.
    total_low, total_factor : g at the totals total_low, total_low + 1, ..; 0 elsewhere.
    """

    def __init__(self, terms: Terms, total_low: int, total_factor: Array) -> None:
        self.terms, self.low = terms, terms.low
        skipped = max(int(self.low.sum()) - total_low, 0)
        self.total_low, self.total_factor = total_low + skipped, total_factor[skipped:]
        if not self.total_factor.size or not self.total_factor.max() > 0:
            raise ValueError("no counts inside the windows add up to a total that the release allows")
        self._solve()

    @property
    def components(self) -> int:
        return len(self.low)

    def marginal(self, component: int) -> tuple[NDArray[np.int64], Array]:
        p = self._marginals[component]
        kept = np.flatnonzero(p > 0)
        inside = slice(kept[0], kept[-1] + 1)
        return self.low[component] + np.arange(len(p))[inside], p[inside]

    def total(self) -> tuple[NDArray[np.int64], Array]:
        return self.total_low + np.arange(len(self._total)), self._total

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        out = np.empty((size, self.components), dtype=np.int64)
        term = rng.choice(len(self._kept), size=size, p=self._weights)
        for t in np.unique(term):
            rows = np.flatnonzero(term == t)
            factors, _, g = (tilted[0] for tilted in self._tilted(self._kept[t : t + 1]))
            chain = _sum_chain.solve(factors, g, self._first)[3]
            out[rows] = self.low + _sum_chain.draw(factors, chain, len(rows), rng=rng)
        return out

    def top(self, k: int) -> tuple[NDArray[np.int64], Array]:
        start = np.array([np.rint(v @ p) for v, p in map(self.marginal, range(self.components))], dtype=np.int64)
        vectors, logs = most_probable(self.log_probabilities, start, k)
        return vectors, np.exp(logs)

    def log_probabilities(self, vectors: NDArray[np.int64]) -> Array:
        """Log probability of every row."""
        width = self._marginals.shape[1]
        place = vectors - self.low
        total = vectors.sum(axis=1) - self.total_low
        inside = ((place >= 0) & (place < width)).all(axis=1) & (total >= 0) & (total < len(self.total_factor))
        place, total = np.where(inside[:, None], place, 0), np.where(inside, total, 0)
        logs = np.full((len(self._kept), len(vectors)), -np.inf)
        columns = np.arange(self.components)
        for row, (weight, factors) in enumerate(self._kept_logs):
            logs[row] = weight + _vector_weights(factors, columns, place)
        with np.errstate(divide="ignore"):
            found = logsumexp(logs, axis=0) + np.log(self.total_factor[total]) - self._log_normaliser
        return np.where(inside, found, -np.inf)

    @cached_property
    def _kept_logs(self) -> list[tuple[float, Array]]:
        """Log weight and log factors of the terms that matter."""
        with np.errstate(divide="ignore"):
            return [(float(self.terms.log_weights[i]), np.log(self.terms.factors[i])) for i in self._kept]

    def _solve(self) -> None:
        """Run the terms, the promising ones first, until those left cannot matter."""
        bounds, block = self._bounds(), self._block(_BLOCK // 4)
        order, logs, best = np.argsort(-bounds, kind="stable"), np.full(len(bounds), -np.inf), -np.inf
        solved: dict[int, tuple[Array, Array]] = {}
        for start in range(0, len(order), block):
            some = order[start : start + block]
            some = some[bounds[some] > best - _NEGLIGIBLE - np.log(len(bounds))]
            if not some.size:
                break
            factors, scales, g = self._tilted(some)
            log_weights, *laws = _sum_chain.solve_each(factors, g, self._first)
            logs[some] = self.terms.log_weights[some] + log_weights + scales
            solved |= dict(zip(some.tolist(), zip(*laws, strict=True), strict=True))
            best = logs.max()
        if not best > -np.inf:
            raise ValueError("the release has probability 0 under this mechanism and these windows")
        self._kept = np.flatnonzero(logs > best - _NEGLIGIBLE)
        logs = logs[self._kept]
        self._log_normaliser = float(logsumexp(logs))
        self._weights = np.exp(logs - self._log_normaliser)
        self._weights /= self._weights.sum()
        kept = list(zip(self._weights, [solved[i] for i in self._kept.tolist()], strict=True))
        self._marginals: Array = sum(w * marginals for w, (marginals, _) in kept)
        self._total: Array = sum(w * total for w, (_, total) in kept)

    def _block(self, most: int) -> int:
        """How many terms are worked on at a time."""
        return max(1, min(most, _NUMBERS // int(self.terms.factors[0].size)))

    def _bounds(self) -> Array:
        """At least the log weight of every term: its free sum times the largest total factor."""
        terms, bounds = self.terms, np.empty(len(self.terms.log_weights))
        gap, block = self.total_low + np.arange(len(self.total_factor)) - self._centre, self._block(_BLOCK)
        for start in range(0, len(bounds), block):
            some = slice(start, start + block)
            theta, factors = terms.tilts[some, None], terms.factors[some].sum(axis=1)
            mass = (factors @ np.exp(theta * np.arange(factors.shape[2]))[..., None])[..., 0]
            with np.errstate(divide="ignore"):
                bounds[some] = np.log(mass).sum(axis=1) + (np.log(self.total_factor) - theta * gap).max(axis=1)
            bounds[some] += terms.log_weights[some] - theta[:, 0] * (self._centre - self.low.sum())
        return bounds

    @property
    def _centre(self) -> float:
        """The most likely total as far as g goes; tilts are taken around it."""
        return float(self.total_low + np.argmax(self.total_factor))

    @property
    def _first(self) -> int:
        """The sum of the places that g begins at."""
        return int(self.total_low - self.low.sum())

    def _tilted(self, some: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Tilted factors with largest entry 1 a component, the log of what that took away, and the tilted g."""
        theta, totals = self.terms.tilts[some, None], self.total_low + np.arange(len(self.total_factor))
        g = self.total_factor * np.exp(-theta * (totals - self._centre))
        factors = self.terms.factors[some]
        factors = factors * np.exp(theta * np.arange(factors.shape[3]))[:, None, None]
        largest = factors.max(axis=(1, 3))
        largest[largest == 0] = 1.0
        scale = np.log(largest).sum(axis=1) - theta[:, 0] * (self._centre - self.low.sum())
        return factors / largest[:, None, :, None], scale, g


def _vector_weights(log_factors: Array, columns: NDArray[np.int64], place: NDArray[np.int64]) -> Array:
    """Log of prod h(x) for every vector; with three factors, of the sum over the distinguished component."""
    logs = log_factors[:, columns, place]
    if len(log_factors) == 1:
        return np.asarray(logs[0].sum(axis=1))
    edge = np.zeros((len(place), 1))
    before = np.concatenate([edge, np.cumsum(logs[0], axis=1)[:, :-1]], axis=1)
    after = np.concatenate([np.cumsum(logs[2][:, :0:-1], axis=1)[:, ::-1], edge], axis=1)
    return np.asarray(logsumexp(before + logs[1] + after, axis=1))
