"""Ranks of independent counts, largest first: 1 + the number of counts that are larger, exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .together import Independent
from .whole import Array, Whole, Window

MOST_WORK = 10_000_000_000  # steps of a law of a rank; beyond it ranks are drawn
_SURE = 1e-18  # a count is larger, or not, for certain


@dataclass(frozen=True)
class Rank:
    """Law of a rank.

    Parameters
    ----------
    place : position of the quantity.
    ranks, probabilities : rising, and their probabilities; ties share the better rank.
    """

    place: int
    ranks: Whole
    probabilities: Array

    def among(self, top: int) -> float:
        """Probability of being among the first `top`."""
        return min(1.0, float(self.probabilities[self.ranks <= top].sum()))


def exact(together: Independent, places: Sequence[int], top: int) -> list[Rank] | None:
    """Laws of the ranks of those with the smallest expected rank.

    Parameters
    ----------
    together : independent numbers.
    places : positions of those that compete.
    top : how many laws are wanted.

    Returns
    -------
    list of Rank, or None
        By rising expected rank; None where that is too much work.
    """
    laws = [together.window(i) for i in places]
    order = np.argsort(expected(laws), kind="stable")[:top]
    found, work = [], 0
    for i in order:
        above = _exceeding(laws[i], [law for j, law in enumerate(laws) if j != i])
        unsure = np.asarray(((above > _SURE) & (above < 1 - _SURE)).any(axis=1))
        work += int(unsure.sum()) ** 2 * above.shape[1]
        if work > MOST_WORK:
            return None
        ranks, probabilities = _law(laws[i].weights / laws[i].weights.sum(), above, unsure)
        found.append(Rank(places[i], ranks, probabilities))
    return found


def expected(laws: Sequence[Window]) -> Array:
    """Expected rank of every number: 1 + sum_j P(number j is larger), by one pass over all windows.

    Parameters
    ----------
    laws : one a number.

    Returns
    -------
    float64 (numbers,)
    """
    _, place = np.unique(np.concatenate([law.values() for law in laws]), return_inverse=True)
    mass = np.bincount(place, np.concatenate([law.weights / law.weights.sum() for law in laws]))
    larger = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)  # expected number of all that are larger than each value
    out, start = np.empty(len(laws)), 0
    for i, law in enumerate(laws):
        p = law.weights / law.weights.sum()
        own = np.append(np.cumsum(p[::-1])[::-1][1:], 0.0)
        out[i] = 1 + p @ (larger[place[start : start + len(p)]] - own)
        start += len(p)
    return out


def _exceeding(law: Window, others: Sequence[Window]) -> Array:
    """P(other > n) for every other and every n of the window: (others, values)."""
    values, out = law.values(), np.empty((len(others), len(law.weights)))
    for row, other in zip(out, others, strict=True):
        from_here = np.append(np.cumsum(other.weights[::-1])[::-1], 0.0) / other.weights.sum()
        row[:] = from_here[np.clip(values + 1 - other.first, 0, len(other.weights))]
    return np.minimum(out, 1.0)


def _law(p: Array, above: Array, unsure: NDArray[np.bool_]) -> tuple[Whole, Array]:
    """Law of 1 + the number of others that are larger: a sum of independent indicators for every value of the own."""
    base = (above[~unsure] > 0.5).sum(axis=0)  # of those that are certain
    chances = above[unsure]
    counts = np.zeros((chances.shape[0] + 1, above.shape[1]))
    counts[0] = 1.0
    for m, chance in enumerate(chances, 1):
        counts[1 : m + 1] = counts[1 : m + 1] * (1 - chance) + counts[:m] * chance
        counts[0] *= 1 - chance
    first = int(base.min())
    out = np.zeros(int(base.max()) - first + len(counts))
    for column in range(above.shape[1]):
        start = int(base[column]) - first
        out[start : start + len(counts)] += p[column] * counts[:, column]
    ranks = 1 + first + np.arange(len(out))
    kept = out > 0
    return ranks[kept], out[kept]
