"""Products of independent counts coupled through their total, by one transform a product; mixtures of such products.

Each product has its own tilt (Newton's method on the cumulants of sum N - T) and its own length, which follows from the
exponential bound on what wraps around: totals L, 2 L, .. off.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.special import logsumexp

from . import _frequency_products
from ._product_tilts import Frame, Tilted, length_of
from ._transformed_counts import Certificate, Chain, Solved, TransformedCounts

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_KEPT = 37.0  # products below exp(-37) of the largest are neglected
_HELD = 1 << 24  # numbers kept for log probabilities


@dataclass(frozen=True)
class Product:
    """One product solved: log weight, marginals (U, W), law of the total, tilt, length, and what was cut.

    Parameters
    ----------
    log_weight : float.
    marginals : float64 (U, W).
    total : float64 (n,).
    length : of the transform.
    wrapped : mass that may have come round.
    condition : sum of absolute values over the sum.
    """

    log_weight: float
    marginals: Array
    total: Array
    length: int
    wrapped: float
    condition: float


def product(frame: Frame, factors: Array, log_weight: float, least: float = -np.inf) -> Product | None:
    """Solve one product.

    Parameters
    ----------
    frame : what it shares with others.
    factors : float64 (U, W), non-negative, each row positive somewhere: h(low + x), without the prior.
    log_weight : of the product.
    least : products whose bound is below this are not solved.

    Returns
    -------
    Product, or None where it is below `least` or has no weight. O(U (W + L log L)).
    """
    factors = factors * np.exp(frame.log_prior)
    if not np.all(factors.sum(axis=1) > 0):
        return None
    tilted = Tilted(frame, factors)
    theta = tilted.best()
    log_sum, _, variance = tilted.cumulants(theta)
    if log_weight + log_sum < least:
        return None
    needed, bounds = length_of(tilted, theta, log_sum, variance)
    h, g = tilted.weights(theta)
    length = int(scipy.fft.next_fast_len(max(needed, factors.shape[1], 32), real=True))
    place = (frame.start - frame.totals) % length
    tail = np.bincount(place, g, length)
    sums, adjoints, tail_adjoint = _frequency_products.sweep(
        scipy.fft.rfft(h, length, axis=1),
        scipy.fft.rfft(tail),
        np.arange(len(h))[None],
        weight=[1.0],
        repeats=frame.columns.repeats,
        length=length,
    )
    whole = float(sums[0, 0])
    if not whole > 0:
        return None
    others = scipy.fft.irfft(adjoints, length, axis=1)[:, : factors.shape[1]]
    total = np.maximum(g * scipy.fft.irfft(tail_adjoint, length)[place], 0.0)
    wrapped = sum(np.exp(log_b - log_sum - gap * length) for gap, log_b in bounds) / whole
    marginals = np.maximum(h * others, 0.0)
    marginals /= marginals.sum(axis=1, keepdims=True)
    condition = float(sums[0, 1]) / whole
    log_whole = log_weight + log_sum + float(np.log(whole))
    return Product(log_whole, marginals, total / total.sum(), length, float(wrapped), condition)


class _ProductTerms:
    """Terms of a solved mixture in full."""

    def __init__(self, frame: Frame, factors: Callable[[int], Array], keys: list[int], logs: Array, lengths: list[int]):
        self.frame, self.factors, self.keys, self.logs, self.lengths = frame, factors, keys, logs, lengths
        self.log_whole, self._held = 0.0, {}  # type: float, dict[int, Array]
        self._room = _HELD // max(frame.log_prior.size, 1)

    def _log_factors(self, key: int) -> Array:
        """Kept, as far as memory allows: the search for the most probable vectors asks for them again and again."""
        found = self._held.get(key)
        if found is None:
            with np.errstate(divide="ignore"):
                found = np.log(self.factors(key))
            if len(self._held) < self._room:
                self._held[key] = found
        return found

    def chain(self, term: int) -> Chain:
        """Factors of one product, tilted as it was solved."""
        frame = self.frame
        tilted = Tilted(frame, self.factors(self.keys[term]) * np.exp(frame.log_prior))
        h, g = tilted.weights(tilted.best())
        tail: Array = np.bincount((frame.start - frame.totals) % self.lengths[term], g, self.lengths[term]).astype(
            float
        )
        h = h[frame.columns.of]
        return Chain(h, h, None, tail)

    def log_probabilities(self, vectors: Whole) -> Array:
        """Log probability of every row."""
        frame, of = self.frame, self.frame.columns.of
        place, total = vectors - frame.low[of], vectors.sum(axis=1) - frame.totals[0]
        width = frame.log_prior.shape[1]
        inside = ((place >= 0) & (place < width)).all(axis=1) & (total >= 0) & (total < len(frame.totals))
        place, total = np.where(inside[:, None], place, 0), np.where(inside, total, 0)
        logs = np.full((len(self.keys), len(vectors)), -np.inf)
        for row, (key, weight) in enumerate(zip(self.keys, self.logs, strict=True)):
            logs[row] = weight + self._log_factors(key)[of, place].sum(axis=1)
        prior = frame.log_prior[of, place].sum(axis=1) + frame.log_g[total]
        return np.where(inside, logsumexp(logs, axis=0) + prior - self.log_whole, -np.inf)


def _edges(frame: Frame, parts: list[Product], weights: Array) -> float:
    """What lies beyond the windows, from the probabilities at their ends and the slowest decay of the noise there."""
    if not frame.endless:
        return 0.0
    ends = sum(w * (part.marginals[:, -1] + np.where(frame.low > 0, part.marginals[:, 0], 0.0))
               for w, part in zip(weights, parts, strict=True))  # fmt: skip
    sides = sum(w * (part.total[-1] + (part.total[0] if frame.totals[0] > 0 else 0.0))
                for w, part in zip(weights, parts, strict=True))  # fmt: skip
    return float((ends @ frame.columns.repeats + sides) / -np.expm1(-frame.rate))


def mixture(
    frame: Frame,
    factors: Callable[[int], Array],
    log_weights: Array,
    orders: Iterable[Iterable[int]],
    scales: Callable[[int], float] = lambda _: 0.0,
) -> TransformedCounts:
    """Law of a mixture of products.

    Parameters
    ----------
    frame : what the products share.
    factors : index -> float64 (U, W), the factors of a product without the prior.
    log_weights : float64 (T,), of the products.
    orders : runs of indices; a run ends at the first product that is negligible beside the best one so far.
    scales : index -> log of the constant that `factors` omits from a product.

    Returns
    -------
    TransformedCounts

    Raises
    ------
    ValueError
        If nothing has weight.
    """
    solved: dict[int, Product] = {}
    best = -np.inf
    for order in orders:
        for key in order:
            log_weights[key] += scales(key)
            found = product(frame, factors(key), float(log_weights[key]), best - _KEPT - np.log(len(log_weights)))
            if found is None:
                if best > -np.inf:
                    break
                continue
            solved[key] = found
            best = max(best, found.log_weight)
            if found.log_weight < best - _KEPT:
                break
    if not solved:
        raise ValueError("the release has probability 0 under this mechanism and these windows")
    keys = sorted(solved)
    logs = np.array([solved[key].log_weight for key in keys])
    log_whole = float(logsumexp(logs))
    weights = np.exp(logs - log_whole)
    weights /= weights.sum()
    parts = [solved[key] for key in keys]
    certificate = Certificate(
        pruned=float(len(log_weights) * np.exp(-_KEPT)),
        wrapped=float(sum(w * part.wrapped for w, part in zip(weights, parts, strict=True))),
        cut=_edges(frame, parts, weights),
        condition=float(sum(w * part.condition for w, part in zip(weights, parts, strict=True))),
    )
    marginals = sum(w * part.marginals for w, part in zip(weights, parts, strict=True))
    total = sum(w * part.total for w, part in zip(weights, parts, strict=True))
    terms = _ProductTerms(frame, factors, keys, log_weights[keys], [part.length for part in parts])
    terms.log_whole = log_whole
    law = Solved(frame.columns.of, frame.low, list(marginals), frame.totals, np.asarray(total), weights, certificate)
    return TransformedCounts(law, terms)
