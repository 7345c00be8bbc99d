"""Distribution of coupled counts computed by transforms: marginals, total, draws, the most probable vectors, and the
truncated mass.

P(N) is proportional to g(N_1 + .. + N_S) sum_t w_t prod_s h_ts(N_s), or to the same with one distinguished component
(`_frequency_products`). Marginals have absolute accuracy (about 1e-16 of the largest probability), not relative.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from ..._accuracy import EXACT, Accuracy
from ._coupled_counts import most_probable

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_TOLERANCE = 1e-11  # largest neglected mass, or rounding error, of a distribution that is called exact
_ROUNDING = 4e-17  # observed: rounding of the marginals is below this times the condition
_DRAWS = 1 << 22  # weights held at once while drawing


@dataclass(frozen=True)
class Certificate:
    """Bounds on the neglected mass, as fractions of the posterior: neglected terms sum to a quarter of `pruned`, and
    `wrapped` and `cut` are Chernoff bounds that are not attained.

    Attributes
    ----------
    pruned : mass of neglected terms.
    wrapped : mass of totals beyond the transform's length.
    cut : mass of counts and totals beyond their grids.
    condition : sum of absolute values over the sum, for the transforms; rounding is about 1e-16 times it.
    """

    pruned: float = 0.0
    wrapped: float = 0.0
    cut: float = 0.0
    condition: float = 1.0

    @property
    def error(self) -> float:
        """Bound on the error of any probability, including rounding errors."""
        return self.pruned + self.wrapped + self.cut + _ROUNDING * self.condition

    def accuracy(self) -> Accuracy:
        """Accuracy status: ``exact`` if exact up to rounding, else ``approximate`` with the bound."""
        if self.error < _TOLERANCE:
            return EXACT
        return Accuracy(
            "approximate", self.error, f"at most {self.error:.1e} of the probability is truncated or rounded"
        )


@dataclass(frozen=True)
class Chain:
    """Term of the mixture with all its factors: those of the components on low_s, low_s + 1, .., and the factor of the
    total.

    Attributes
    ----------
    early, late, gain : float64 (S, W); `gain` is None if no component is distinguished.
    tail : float64 (L,), factor of the total at minus its distance from sum(low), modulo L.
    """

    early: Array
    late: Array
    gain: Array | None
    tail: Array


class TermSource(Protocol):
    """Interface for the terms of a distribution, which are computed on demand."""

    def chain(self, term: int) -> Chain: ...

    def log_probabilities(self, vectors: Whole) -> Array: ...


@dataclass(frozen=True)
class Solved:
    """Solution of a mixture by transforms.

    Attributes
    ----------
    of : int64 (S,), column of every component.
    low : int64 (U,), first value of every column.
    marginals : one array per column, adding up to 1.
    totals, total : values and probabilities of the total.
    weights : float64 (T,), probability of every term.
    """

    of: Whole
    low: Whole
    marginals: list[Array]
    totals: Whole
    total: Array
    weights: Array
    certificate: Certificate


class TransformedCounts:
    """Distribution of counts computed by transforms.

    Parameters
    ----------
    solved : marginals and total.
    terms : source of draws and of probabilities of vectors.
    """

    def __init__(self, solved: Solved, terms: TermSource) -> None:
        self.solved, self._terms = solved, terms
        self.components, self.certificate = len(solved.of), solved.certificate

    def marginal(self, component: int) -> tuple[Whole, Array]:
        """Return the distribution of one component: (values, probabilities)."""
        column = int(self.solved.of[component])
        return _trimmed(self.solved.low[column], self.solved.marginals[column])

    def total(self) -> tuple[Whole, Array]:
        """Return the distribution of the total: (values, probabilities)."""
        return _trimmed(self.solved.totals[0], self.solved.total)

    def accuracy(self) -> Accuracy:
        """Accuracy status of the distribution."""
        return self.certificate.accuracy()

    def log_probabilities(self, vectors: Whole) -> Array:
        """Return the log probability of every row of an array of counts, float64 (n,)."""
        return self._terms.log_probabilities(vectors)

    def top(self, k: int) -> tuple[Whole, Array]:
        """Return the k most probable vectors of counts and their probabilities."""
        start = np.array([np.rint(v @ p) for v, p in map(self.marginal, range(self.components))], dtype=np.int64)
        vectors, logs = most_probable(self.log_probabilities, start, k)
        return vectors, np.exp(logs)

    def draw(self, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors of counts, int64 (size, S): first a term, then component by component given the
        remaining total.
        """
        out = np.empty((size, self.components), dtype=np.int64)
        term = rng.choice(len(self.solved.weights), size=size, p=self.solved.weights)
        low = self.solved.low[self.solved.of]
        for t in np.unique(term):
            rows = np.flatnonzero(term == t)
            chain = self._terms.chain(int(t))
            block = max(_DRAWS // (2 * chain.early.shape[1]), 1)
            after = _afterwards(chain)
            for begin in range(0, len(rows), block):
                block_rows = rows[begin : begin + block]
                out[block_rows] = low + _draw(chain, after, rng.random((len(block_rows), self.components)))
        return out


def _trimmed(first: np.int64, law: Array) -> tuple[Whole, Array]:
    kept = np.flatnonzero(law > 0)
    return first + np.arange(kept[0], kept[-1] + 1), law[kept[0] : kept[-1] + 1]


def _afterwards(chain: Chain) -> list[Array]:
    """Return, for every component, the weights of the later components, (1 or 2, L), at minus the sum so far: one row
    if no component has been served last yet, and one row if one has.
    """
    length = len(chain.tail)
    late = scipy.fft.rfft(chain.tail)
    early = late if chain.gain is None else np.zeros_like(late)
    out = []
    for s in range(len(chain.early) - 1, -1, -1):
        states = [early] if chain.gain is None else [early, late]
        out.append(np.maximum(scipy.fft.irfft(np.stack(states), length, axis=1), 0.0))
        first = scipy.fft.rfft(chain.early[s], length)
        early = first * early
        if chain.gain is not None:
            early = early + scipy.fft.rfft(chain.gain[s], length) * late
            late = scipy.fft.rfft(chain.late[s], length) * late
    return out[::-1]


def _draw(chain: Chain, after: list[Array], uniforms: Array) -> Whole:
    """Draw one vector of counts per row of `uniforms`, relative to the lowest counts."""
    size, width, length = len(uniforms), chain.early.shape[1], len(chain.tail)
    out, sums, state = (
        np.empty(uniforms.shape, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=bool),
    )
    x = np.arange(width)
    for s in range(uniforms.shape[1]):
        place = (-(sums[:, None] + x)) % length
        if chain.gain is None:
            weights = chain.early[s] * after[s][0][place]
        else:
            served = after[s][1][place]
            stay = np.where(state[:, None], chain.late[s] * served, chain.early[s] * after[s][0][place])
            weights = np.concatenate([stay, np.where(state[:, None], 0.0, chain.gain[s] * served)], axis=1)
        running = np.cumsum(weights, axis=1)
        pick = (running <= uniforms[:, s, None] * running[:, -1:]).sum(axis=1)
        pick = np.minimum(pick, weights.shape[1] - 1)
        out[:, s] = pick % width
        state |= pick >= width
        sums += out[:, s]
    return out
