"""Exact law of one component of a multinomial mode whose weights and total are random (algorithm 3 of Wang, 2020).

With weights x and total m, component s has k or more units exactly if k + #{units of the others that come before} <= m,
where a unit (j, q) comes before if x_j/q > x_s/k, or if the quotients are equal and j wins the tie. For x_s = a the
number of such units of j is ceil(x_j k/a) - 1, plus one for a lost tie: a sum of independent terms.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrik

from ... import _checks, _quadrature

TIES = ("random", "first", "last")
_NEGLIGIBLE = 1e-15
_CERTAIN = 1e-11

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Spectrum = NDArray[np.complex128]
Group = tuple[Whole, Array, int, bool]  # values, probabilities, repeats, wins ties
Part = tuple[tuple[Spectrum, Spectrum, bool], Array, int, Whole]  # (all, tied, wins), ties, repeats, shift


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
    length, centres, parts = _spectra(a, k, groups)
    step = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
    if ties == "random":
        chance = np.array([t for _, t, _, _ in parts])
        expected = sum(t * n for _, t, n, _ in parts)
        claims = (chance > 1e-14).astype(int).T @ np.array([n for _, _, n, _ in parts])
        claims = np.where(
            expected > 0, np.minimum(claims, np.ceil(pdtrik(1 - 1e-13, np.maximum(expected, 1e-14))) + 1), 0
        )
        out = np.empty(len(k))
        levels = [-1, 0, 3, 6, 9, 14, 24, 48, 96, 200, 10**9]
        for below, above in pairwise(levels):
            rows = np.flatnonzero((claims > below) & (claims <= above))
            if rows.size:
                degree = int(claims[rows].max())
                nodes, weights = _quadrature.legendre(degree // 2 + 1)
                open_parts = [part for part in parts if part[1][rows].any()]
                law = sum(
                    w / 2 * _product(open_parts, rows, (t + 1) / 2 * (step - 1))
                    for t, w in zip(nodes, weights, strict=True)
                ) * _product([part for part in parts if not part[1][rows].any()], rows, 0.0)
                out[rows] = _cumulated(law, length, centres[rows], k[rows], total)
        return out
    return _cumulated(_product(parts, slice(None), step - 1, chosen=True), length, centres, k, total)


def _spectra(a: int, k: Whole, groups: list[Group]) -> tuple[int, Whole, list[Part]]:
    """Circular spectra of every group's number of earlier units, all of them and the tied ones."""
    units, centres, variance = [], np.zeros(len(k)), np.zeros(len(k))
    for values, p, repeats, _ in groups:
        before = np.maximum(-((-values * k[:, None]) // a) - 1, 0)
        mean = before @ p
        variance += repeats * (before**2 @ p - mean**2)
        base = np.rint(mean).astype(np.int64)
        centres += repeats * (mean - base)
        units.append((before - base[:, None], base, (values * k[:, None]) % a == 0))
    ties = sum(n for _, _, n, _ in groups)
    spread = 9 * np.sqrt(variance.max() + ties / 4) + max(int(np.abs(u).max()) for u, _, _ in units) + 8
    length = 1 << int(np.ceil(np.log2(2 * spread + 2)))
    rows, parts = np.arange(len(k))[:, None] * length, []
    for (values, p, repeats, wins), (before, base, tied) in zip(groups, units, strict=True):
        place = (rows + before % length).ravel()
        tied = tied & (values > 0)
        every, some = (
            np.fft.rfft(np.bincount(place, weight.ravel(), len(k) * length).reshape(len(k), length))
            for weight in (np.broadcast_to(p, before.shape), p * tied)
        )
        parts.append(((every, some, wins), tied @ p, repeats, base))
    shift = sum(n * base for _, _, n, base in parts)
    return length, np.stack([shift, np.rint(centres).astype(np.int64)], axis=1), parts


def _product(parts: list[Part], rows: Whole | slice, factor: Spectrum | float, *, chosen: bool = False) -> Spectrum:
    """Spectrum of the sum: a tied unit comes before with the chance inside `factor`, or if its group wins ties."""
    out = np.ones(1, dtype=complex)
    for (every, some, wins), _, repeats, _ in parts:
        term = every[rows] + some[rows] * factor if wins or not chosen else every[rows]
        for _ in range(repeats):
            out = out * term
    return out


def _cumulated(spectrum: Spectrum, length: int, centres: Whole, k: Whole, total: LawOfCount) -> Array:
    """P(k + sum <= total) from the circular law of the sum around its mean."""
    law = np.fft.irfft(spectrum, n=length)
    out = np.empty(len(k))
    for row in range(len(k)):
        shift, near = centres[row]
        mine = np.roll(law[row], length // 2 - near)  # index i stands for shift + near + i - length/2
        below = np.concatenate([[0.0], np.cumsum(mine)])
        place = total.values() - k[row] - (shift + near - length // 2) + 1
        out[row] = np.clip(below[np.clip(place, 0, length)], 0.0, 1.0) @ total.p
    return out
