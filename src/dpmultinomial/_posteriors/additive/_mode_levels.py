"""Algorithm 3 level by level: intervals of noisy counts whose mode is the released vector, bounds on their weights.

The released r is a mode of the noisy weights n exactly if the smallest quotient n_j/r_j that was served is at least the
largest n_i/(r_i + 1) that was not. Given that level p/q, every n_s lies in an open interval, ]p r_s/q, p (r_s + 1)/q[,
or at one of its ends: at the lower one it was served last (`got`), at the upper one it just missed (`lost`).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ... import _quadrature
from . import _geometric_boxes

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
NOTHING = -1
_NO_END = -_geometric_boxes.LARGEST


@dataclass(frozen=True)
class Columns:
    """Components with the same released count and prior, which have the same law, in one column.

    Attributes
    ----------
    released : int64 (U,), r.
    shape : float64 (U,), concentration of the prior.
    repeats : int64 (U,), components in it.
    of : int64 (S,), column of every component.
    """

    released: Whole
    shape: Array
    repeats: Whole
    of: Whole


def columns(released: Whole, shapes: Array, *, together: bool) -> Columns:
    """Columns of the components; one each unless `together` (rules that look at the order need that).

    Parameters
    ----------
    released : int64 (S,).
    shapes : float64 (S,), concentrations of the prior.
    together : see above.

    Returns
    -------
    Columns
    """
    size = len(released)
    if not together:
        return Columns(released, shapes, np.ones(size, dtype=np.int64), np.arange(size))
    pairs, of, repeats = np.unique(
        np.stack([released.astype(float), shapes]), axis=1, return_inverse=True, return_counts=True
    )
    return Columns(pairs[0].astype(np.int64), pairs[1].copy(), repeats.astype(np.int64), of.ravel())


@dataclass(frozen=True)
class Levels:
    """Intervals of every level (rows) and column.

    Attributes
    ----------
    numerator, denominator : int64 (T,), p and q, in lowest terms, rising p/q.
    lower, upper : int64 (T, U), first and last noisy count inside the open interval; empty where lower > upper.
    got, lost : int64 (T, U), the noisy count at the interval's end, `NOTHING` where none is whole.
    """

    numerator: Whole
    denominator: Whole
    lower: Whole
    upper: Whole
    got: Whole
    lost: Whole

    def __len__(self) -> int:
        return len(self.numerator)

    def take(self, rows: NDArray[np.integer] | slice) -> "Levels":
        """Some of the levels."""
        return Levels(
            self.numerator[rows],
            self.denominator[rows],
            self.lower[rows],
            self.upper[rows],
            self.got[rows],
            self.lost[rows],
        )

    def with_empty(self) -> "Levels":
        """One more, last: all noisy counts 0 or less."""
        nothing, size = np.array([0]), self.got.shape[1]
        none = np.full((1, size), NOTHING)
        return Levels(
            np.append(self.numerator, nothing),
            np.append(self.denominator, nothing + 1),
            np.append(self.lower, np.full((1, size), _NO_END), axis=0),
            np.append(self.upper, np.zeros((1, size), dtype=np.int64), axis=0),
            np.append(self.got, none, axis=0),
            np.append(self.lost, none, axis=0),
        )

    @property
    def claimed(self) -> NDArray[np.bool_]:
        """Where a component sits at an end of its interval."""
        return (self.got >= 0) | (self.lost >= 0)


def levels(released: Whole, lowest: float, highest: float) -> Levels:
    """Every level a/r_j in [lowest, highest], r_j > 0.

    Parameters
    ----------
    released : int64 (U,), a positive count among them; products with a numerator must stay below 2^63.
    lowest, highest : range of the smallest served quotient, > 0.

    Returns
    -------
    Levels
    """
    p, q = [], []
    for r in np.unique(released[released > 0]).tolist():
        a = np.arange(max(1, int(np.floor(lowest * r))), int(np.ceil(highest * r)) + 1, dtype=np.int64)
        common = np.gcd(a, r)
        p.append(a // common)
        q.append(r // common)
    pairs = np.unique(np.stack([np.concatenate(p), np.concatenate(q)], axis=1), axis=0)
    pairs = pairs[np.argsort(pairs[:, 0] / pairs[:, 1], kind="stable")]
    return _boxes(released, pairs[:, :1], pairs[:, 1:])


def _boxes(released: Whole, p: Whole, q: Whole) -> Levels:
    served = (released > 0)[None]
    start, end = p * released, p * (released + 1)
    return Levels(
        p[:, 0],
        q[:, 0],
        np.where(served, start // q + 1, _NO_END),
        -((-end) // q) - 1,
        np.where((start % q == 0) & served, start // q, NOTHING),
        np.where(end % q == 0, end // q, NOTHING),
    )


def nodes(claims: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1] for the chance of a place before the last served claim, ties at random.

    The integrand is a polynomial of degree claims - 1, so (claims + 1) // 2 Gauss-Legendre nodes are exact; it is a
    product of many similar factors, hence smooth, and 5 sqrt(claims) + 3 nodes do to rounding (tested).
    """
    size = min((claims + 1) // 2, int(5 * np.sqrt(claims)) + 3)
    places, weights = _quadrature.legendre(size)
    return (1.0 + places) / 2.0, weights / 2.0


@lru_cache(maxsize=1024)
def rule(claims: int, ties: str) -> tuple[Array, Array, Array]:
    """(early, late, weight) of the terms of a level (`_frequency_products`) under a tie rule.

    Of equal claims, those served are a place before the one served last. ``"first"``: a lower index is before it, so
    that components before it may hold an equal claim and those after it may have missed one; ``"last"`` the other way;
    ``"random"``: every claim is before it with the same chance, which is integrated over.
    """
    if ties == "random":
        places, weights = nodes(claims)
        return places, places, weights
    first = np.array([1.0 if ties == "first" else 0.0])
    return first, 1.0 - first, np.ones(1)
