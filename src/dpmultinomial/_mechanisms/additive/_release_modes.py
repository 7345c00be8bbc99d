"""Exact law of one component of a multinomial mode whose weights and total are random (algorithm 3 of Wang, 2020).

With weights x and total m, component s has k or more units exactly if k + #{units of the others that come before} <= m,
where a unit (j, q) comes before if x_j/q > x_s/k, or if the quotients are equal and j wins the tie. For x_s = a the
number of such units of j is ceil(x_j k/a) - 1, plus one for a lost tie: a sum of independent terms.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrik

from ... import _checks, _quadrature
from ._mode_products import integrated

TIES = ("random", "first", "last")
_NEGLIGIBLE = 1e-15
_CERTAIN = 1e-11

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Spectrum = NDArray[np.complex128]
Group = tuple[Whole, Array, int, bool]  # values, probabilities, repeats, wins ties


class LawOfCount(Protocol):
    """Law on the whole numbers low, low + 1, ..: what `release_moments.Law` is."""

    @property
    def low(self) -> int: ...

    @property
    def p(self) -> Array: ...

    def values(self) -> Whole: ...

    def moment(self, power: int) -> float: ...


def moments(laws: Sequence[LawOfCount], total: LawOfCount, *, index: int, ties: str) -> tuple[float, float]:
    """First and second moment of component `index`.

    Parameters
    ----------
    laws : `release_moments.Law` of every weight, independent, non-negative.
    total : law of the total, independent of the weights.
    index : 0..S - 1.
    ties : ``"random"`` (uniform over the claims, integrated by Gauss-Legendre nodes), ``"first"`` or ``"last"``.

    Returns
    -------
    first, second : floats, to about 1e-9 relative.

    Raises
    ------
    ValueError
        If `ties` is none of these.
    """
    _checks.one_of("ties", ties, TIES)
    groups = _groups(laws, index, ties)
    own = laws[index]
    first = second = 0.0
    for a, probability in zip(own.values().tolist(), own.p.tolist(), strict=True):
        if a == 0 or probability < _NEGLIGIBLE:
            continue
        start, tail = _tail(a, groups, total, len(laws), ties)
        k = start + 1 + np.arange(len(tail))
        first += probability * (start + tail.sum())
        second += probability * (start**2 + ((2 * k - 1) * tail).sum())
    empty = np.prod([law.p[0] if law.low == 0 else 0.0 for law in laws])
    if empty > 0:
        lot = total.values() // len(laws)
        place = {"first": index, "last": len(laws) - 1 - index}.get(ties)
        left = total.values() % len(laws)
        extra = left / len(laws) if place is None else (left > place).astype(float)
        first += empty * float((lot + extra) @ total.p)
        second += empty * float((lot**2 + extra * (2 * lot + 1)) @ total.p)
    return first, second


def _groups(laws: Sequence[LawOfCount], index: int, ties: str) -> list[Group]:
    """The other weights, equal laws together: (values, probabilities, repeats, wins ties)."""
    found: dict[tuple[int, int, float, bool], int] = {}
    kinds: dict[tuple[int, int, float, bool], LawOfCount] = {}
    for j, law in enumerate(laws):
        if j != index:
            wins = (j < index) if ties == "first" else (j > index)
            key = (law.low, len(law.p), float(law.p[0]), wins and ties != "random")
            found[key] = found.get(key, 0) + 1
            kinds[key] = law
    out = []
    for key, repeats in found.items():
        law = kinds[key]
        kept = law.p > _NEGLIGIBLE
        out.append((law.values()[kept], law.p[kept], repeats, key[3]))
    return out


def _tail(a: int, groups: list[Group], total: LawOfCount, size: int, ties: str) -> tuple[int, Array]:
    """(start, P(units >= k) for k = start + 1, ..): before it the probability is 1, after it 0, to 1e-11."""
    mean = [float(v @ p) * n for v, p, n, _ in groups]
    variance = [n * float((v - v @ p) ** 2 @ p) for v, p, n, _ in groups]
    m = max(total.moment(1), 1.0)
    centre = a * (m + size / 2) / (a + sum(mean))
    spread = np.sqrt(sum(variance) / (a + sum(mean)) ** 2 + (total.moment(2) - total.moment(1) ** 2) / m**2)
    width = 7 * centre * spread + 4
    while True:
        low, high = max(int(centre - width), 0), int(centre + width) + 1
        high = min(high, int(total.values()[-1]) + 1)
        low = min(low, high)
        tail = _reached(a, np.arange(low + 1, high + 1), groups, total, ties)
        good_start = low == 0 or tail[0] > 1 - _CERTAIN
        good_end = high == total.values()[-1] + 1 or tail[-1] < _CERTAIN
        if good_start and good_end:
            return low, tail
        width *= 2


def _reached(a: int, k: Whole, groups: list[Group], total: LawOfCount, ties: str) -> Array:
    """P(at least k units | weight a) for every k."""
    units = _units(a, k, groups)
    if ties != "random":
        wins = np.array([wins for *_, wins in groups])[:, None]
        law = units.law(np.arange(len(k)), np.where(wins, units.place, -1), np.ones(1), np.ones(1))
        return _cumulated(law, units.centres, k, total)
    expected = units.repeats @ units.chance
    claims = units.repeats @ (units.chance > 1e-14)
    claims = np.where(expected > 0, np.minimum(claims, np.ceil(pdtrik(1 - 1e-13, np.maximum(expected, 1e-14))) + 1), 0)
    out = np.empty(len(k))
    levels = [-1, 0, 3, 6, 9, 14, 24, 48, 96, 200, 10**9]
    for below, above in pairwise(levels):
        rows = np.flatnonzero((claims > below) & (claims <= above))
        if rows.size:
            nodes, weights = _quadrature.legendre(int(claims[rows].max()) // 2 + 1)
            law = units.law(rows, units.place, (nodes + 1) / 2, weights / 2)
            out[rows] = _cumulated(law, units.centres[rows], k[rows], total)
    return out


class _Units(NamedTuple):
    """How many units of every group come before the k-th one, for every k: spectra of circular laws around a mean."""

    length: int
    centres: Whole  # (K, 2): what was taken off before the transform, what is left of the mean
    every: Spectrum  # (G, K, F)
    some: Spectrum  # (T, F): of tied units, times what a lost tie changes
    place: Whole  # (G, K): the row of `some`, -1 where no unit is tied
    chance: Array  # (G, K): of a tied unit
    repeats: Whole  # (G,)

    def law(self, rows: Whole, place: Whole, nodes: Array, weights: Array) -> Array:
        """Law of all units together in some rows, a tie lost with a chance that is integrated: float64 (K, length)."""
        about = {"rows": rows, "nodes": nodes, "weights": weights}
        return np.fft.irfft(integrated(self.every, self.some, place, self.repeats, **about), n=self.length)


def _units(a: int, k: Whole, groups: list[Group]) -> _Units:
    units, centres, variance, farthest = [], np.zeros(len(k)), np.zeros(len(k)), 0
    for values, p, alike, _ in groups:
        product = values * k[:, None] - 1
        before = product // a
        tied = (product - before * a == a - 1) & (values > 0)
        before = np.maximum(before, 0, out=before)
        mean = before @ p
        variance += alike * (before**2 @ p - mean**2)
        base = np.rint(mean).astype(np.int64)
        centres += alike * (mean - base)
        before -= base[:, None]
        farthest = max(farthest, int(before.max()), -int(before.min()))
        units.append((before, base, tied))
    repeats = np.array([group[2] for group in groups], dtype=np.int64)
    spread = 9 * np.sqrt(variance.max() + repeats.sum() / 4) + farthest + 8
    length = 1 << int(np.ceil(np.log2(2 * spread + 2)))
    chance = np.array([tied @ p for (_, p, _, _), (_, _, tied) in zip(groups, units, strict=True)])
    place = np.where(chance > 0, np.cumsum(chance.ravel() > 0).reshape(chance.shape) - 1, -1)
    every, some = np.zeros((len(groups), len(k), length)), np.zeros((int(place.max()) + 1, length))
    for g, ((_, p, _, _), (before, _, tied)) in enumerate(zip(groups, units, strict=True)):
        at = np.arange(len(k))[:, None] * length + (before & (length - 1))
        every[g] = np.bincount(at.ravel(), np.broadcast_to(p, at.shape).ravel(), every[g].size).reshape(every[g].shape)
        row, value = np.nonzero(tied)
        np.add.at(some, (place[g, row], before[row, value] & (length - 1)), p[value])
    later = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length) - 1
    shift = repeats @ np.array([base for _, base, _ in units])
    about = np.stack([shift, np.rint(centres).astype(np.int64)], axis=1)
    return _Units(length, about, np.fft.rfft(every), np.fft.rfft(some) * later, place, chance, repeats)


def _cumulated(law: Array, centres: Whole, k: Whole, total: LawOfCount) -> Array:
    """P(k + sum <= total) from the circular law of the sum around its mean."""
    half = law.shape[1] // 2
    shift, near = centres.T[..., None]
    turned = np.take_along_axis(law, (np.arange(law.shape[1]) + near - half) % law.shape[1], axis=1)
    below = np.concatenate([np.zeros((len(k), 1)), np.cumsum(turned, axis=1)], axis=1)  # from shift + near - half on
    place = total.values() - k[:, None] - (shift + near - half) + 1
    return np.asarray(np.clip(np.take_along_axis(below, np.clip(place, 0, law.shape[1]), axis=1), 0.0, 1.0) @ total.p)
