"""Compute the exact means and variances of the additive releases of Wang (2020), for which Tables 1 and 3 of the paper
contain simulated values.

Algorithms ``1-independent`` and ``2`` release X ~ Multinomial(M, theta), with M independent of theta = A/(A + B), where
A is the weight of one component and B that of all others: two convolutions. In ``1-summed``, M depends on the sum of
the noisy components, so the joint distribution of this sum and of B is needed (a two-dimensional convolution).
Algorithm ``3`` gives a component k or more units exactly if the sum of k and of the units of other components with
larger quotients is at most the total: one convolution for every k. All three are derived in the methods of Wang (2020)
in the documentation.

The module also computes the exact distribution of one component of the mode of a multinomial distribution with random
weights and a random total (algorithm 3 of Wang, 2020).

With weights x and total m, component s has k or more units exactly if k + #{units of other components that precede} <=
m. A unit (j, q) precedes if x_j/q > x_s/k, or if the quotients are equal and j wins the tie. For x_s = a, the number of
such units of j is ceil(x_j k/a) - 1, plus one for a lost tie: a sum of independent terms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import pdtrik

from dpmultinomial import _checks, _quadrature
from dpmultinomial._mechanisms import additive_release
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric

from .mode_products import integrated

TIES = ("random", "first", "last")
_NEGLIGIBLE_WEIGHT = 1e-15
_CERTAIN = 1e-11

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Spectrum = NDArray[np.complex128]
Group = tuple[Whole, Array, int, bool]  # values, probabilities, number of repeats, whether the group wins ties


class LawOfCount(Protocol):
    """Protocol of a distribution on consecutive integers that begin at `low`, such as `release_moments.Law`."""

    @property
    def low(self) -> int: ...

    @property
    def p(self) -> Array: ...

    def values(self) -> Whole: ...

    def moment(self, power: int) -> float: ...


def mode_moments(laws: Sequence[LawOfCount], total: LawOfCount, *, index: int, ties: str) -> tuple[float, float]:
    """Return the first two moments of one component of the mode of a multinomial distribution whose weights and total
    are random.

    Parameters
    ----------
    laws : distributions of the weights (`release_moments.Law`), independent and non-negative.
    total : distribution of the total, independent of the weights.
    index : 0..S - 1.
    ties : ``"random"`` (uniform over the claims, integrated by Gauss-Legendre nodes), ``"first"`` or ``"last"``.

    Returns
    -------
    first, second : floats, with a relative error of about 1e-9.

    Raises
    ------
    ValueError
        If `ties` is not one of these values.
    """
    _checks.one_of("ties", ties, TIES)
    groups = _groups(laws, index, ties)
    component = laws[index]
    first = second = 0.0
    for a, probability in zip(component.values().tolist(), component.p.tolist(), strict=True):
        if a == 0 or probability < _NEGLIGIBLE_WEIGHT:
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
    """Return the distributions of the weights of all components except `index`. Components with the same distribution
    are collected in a group. Each group is a tuple (values, probabilities, number of repeats, whether it wins ties).
    """
    multiplicity: dict[tuple[int, int, float, bool], int] = {}
    kinds: dict[tuple[int, int, float, bool], LawOfCount] = {}
    for j, law in enumerate(laws):
        if j != index:
            wins = (j < index) if ties == "first" else (j > index)
            key = (law.low, len(law.p), float(law.p[0]), wins and ties != "random")
            multiplicity[key] = multiplicity.get(key, 0) + 1
            kinds[key] = law
    out = []
    for key, repeats in multiplicity.items():
        law = kinds[key]
        kept = law.p > _NEGLIGIBLE_WEIGHT
        out.append((law.values()[kept], law.p[kept], repeats, key[3]))
    return out


def _tail(a: int, groups: list[Group], total: LawOfCount, size: int, ties: str) -> tuple[int, Array]:
    """Return the tail probabilities P(X >= k) of the released count X of one component. The result contains `start` and
    the probabilities for k = start + 1, start + 2, .. For smaller k the probability is 1, and for larger k it is 0, up
    to an error of 1e-11.
    """
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
    """Return, for every k, the probability that the released count of a component with weight a is at least k."""
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
    """Distribution of the number of units in a group that precede the k-th unit of a given component, for each group
    and each k. The distributions are stored as spectra of circular distributions around a mean.
    """

    length: int
    centres: Whole  # (K, 2): shift removed before the transform, and remainder of the mean
    every: Spectrum  # (G, K, F)
    some: Spectrum  # (T, F): spectra of tied units, multiplied by the effect of a lost tie
    place: Whole  # (G, K): row of `some`, -1 if there is no tied unit
    chance: Array  # (G, K): probability of a tied unit
    repeats: Whole  # (G,)

    def law(self, rows: Whole, place: Whole, nodes: Array, weights: Array) -> Array:
        """Return the distribution of the number of units in other components that precede the k-th unit of a given
        component. The result has one row per selected value of k, as a float64 array of shape (K, length). The
        distribution is integrated over the lost ties.
        """
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
    every, spectra = np.zeros((len(groups), len(k), length)), np.zeros((int(place.max()) + 1, length))
    for g, ((_, p, _, _), (before, _, tied)) in enumerate(zip(groups, units, strict=True)):
        flat_index = np.arange(len(k))[:, None] * length + (before & (length - 1))
        every[g] = np.bincount(flat_index.ravel(), np.broadcast_to(p, flat_index.shape).ravel(), every[g].size).reshape(
            every[g].shape
        )
        row, value = np.nonzero(tied)
        np.add.at(spectra, (place[g, row], before[row, value] & (length - 1)), p[value])
    later = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length) - 1
    shift = repeats @ np.array([base for _, base, _ in units])
    about = np.stack([shift, np.rint(centres).astype(np.int64)], axis=1)
    return _Units(length, about, np.fft.rfft(every), np.fft.rfft(spectra) * later, place, chance, repeats)


def _cumulated(law: Array, centres: Whole, k: Whole, total: LawOfCount) -> Array:
    """Return, for every k, the probability that the k-th unit of a component is within a random total. The circular
    distribution of the sum around its mean is given.
    """
    half = law.shape[1] // 2
    shift, near = centres.T[..., None]
    turned = np.take_along_axis(law, (np.arange(law.shape[1]) + near - half) % law.shape[1], axis=1)
    below = np.concatenate([np.zeros((len(k), 1)), np.cumsum(turned, axis=1)], axis=1)  # from shift + near - half on
    place = total.values() - k[:, None] - (shift + near - half) + 1
    return np.asarray(np.clip(np.take_along_axis(below, np.clip(place, 0, law.shape[1]), axis=1), 0.0, 1.0) @ total.p)


_NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class Law:
    """Distribution on consecutive integers that start at `low`.

    Parameters
    ----------
    low : integer.
    p : float64 (n,), probabilities of low, low + 1, ..
    """

    low: int
    p: Array

    def values(self) -> Whole:
        """Return the support of the distribution (integers), as an int64 array of shape (n,)."""
        return self.low + np.arange(len(self.p))

    def moment(self, power: int) -> float:
        """Return the moment E[X^power] of a variable X with this distribution."""
        return float(self.values().astype(float) ** power @ self.p)

    def plus(self, other: "Law") -> "Law":
        """Return the distribution of the sum of two independent variables. Values in the tails with a probability below
        1e-20 are dropped.
        """
        p = np.convolve(self.p, other.p)
        kept = np.flatnonzero(p > _NEGLIGIBLE)
        return Law(self.low + other.low + int(kept[0]), p[kept[0] : kept[-1] + 1])


def clipped(count: int, noise: TwoSidedGeometric, least: int = 0) -> Law:
    """Return the distribution of max(count + D, `least`), where D is the noise.

    Parameters
    ----------
    count : integer >= 0.
    noise : distribution of D.
    least : integer.

    Returns
    -------
    Law
    """
    values = np.maximum(count + noise.values(), least)
    return Law(int(values[0]), np.bincount(values - values[0], noise.probabilities()).astype(float))


def posterior_draw(count: int, noise: TwoSidedGeometric, least: int = 0) -> tuple[int, Array]:
    """Return the joint distribution of the noisy count n and the posterior draw x of one component (equations 4 and 5).
    Given n, x is drawn with the constraint x >= `least`.

    Parameters
    ----------
    count : integer >= 0.
    noise : distribution of n - count.
    least : 0, or 1 (the literal "positive").

    Returns
    -------
    low, joint : joint[i, j] = P(n = count - support + i, x = low + j).
    """
    p, reach = noise.probabilities(), noise.support
    low = max(count - 2 * reach, least)
    joint = np.zeros((2 * reach + 1, count + 2 * reach + 1 - low))
    for i, probability in enumerate(p):
        n = count - reach + i
        first = max(n - reach, least)
        kept = p[first - n + reach :] if first <= n + reach else np.ones(1)  # only the value `least` remains
        joint[i, first - low : first - low + len(kept)] = probability * kept / kept.sum()
    return low, joint


def moments(
    counts: ArrayLike,
    *,
    components: Sequence[int],
    epsilon: float,
    algorithm: str,
    support: int = 50,
    ties: str = "random",
    least: int = 0,
) -> tuple[Array, Array]:
    """Return the mean and the variance of released components, computed without simulation and with a relative error of
    about 1e-9.

    Parameters
    ----------
    counts : integers >= 0 (S,), the confidential components.
    components : indices of the requested components.
    epsilon, support : parameters of the noise.
    algorithm : ``"1-independent"``, ``"1-summed"``, ``"2"`` or ``"3"``.
    ties : for algorithm 3, ``"random"``, ``"first"`` or ``"last"``; rounding (``"ieee"``) does not have a tractable
        distribution.
    least : smallest allowed weight and total: 0, or 1 (the literal "positive") for ``"1-independent"`` and ``"2"``.

    Returns
    -------
    mean, variance : float64 (len(components),).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    true = _checks.counts("counts", counts)
    _checks.one_of("algorithm", algorithm, additive_release.ALGORITHMS)
    noise = TwoSidedGeometric(epsilon=epsilon, support=support)
    chosen = [_checks.integer("components", int(i), most=len(true) - 1) for i in components]
    total = int(true.sum())
    if _checks.integer("least", least, most=1) and algorithm not in ("1-independent", "2"):
        raise ValueError(
            f"least may be 1 only for the algorithms '1-independent' and '2', got the algorithm {algorithm!r}"
        )
    if algorithm == "3":
        laws = [clipped(int(c), noise) for c in true]
        pairs = [mode_moments(laws, clipped(total, noise), index=i, ties=ties) for i in chosen]
    elif algorithm == "1-summed":
        pairs = [_summed(true, i, noise) for i in chosen]
    else:
        drawn = algorithm == "1-independent"
        laws = [_weight(int(c), noise, drawn, least) for c in true]
        pairs = [_independent(laws, i, _weight(total, noise, drawn, least)) for i in chosen]
    mean, second = np.array(pairs, dtype=float).reshape(-1, 2).T
    return mean, second - mean**2


def _weight(count: int, noise: TwoSidedGeometric, drawn: bool, least: int) -> Law:
    """Return the distribution of the weight of a component, where the weights determine the multinomial distribution of
    a release. If `drawn` is true, the weight is a posterior draw given the noisy count; otherwise, it is the clipped
    noisy count.
    """
    if not drawn:
        return clipped(count, noise, least)
    low, joint = posterior_draw(count, noise, least)
    return Law(low, joint.sum(axis=0))


def _share(a: Whole, b: Whole, size: int) -> Array:
    """Return the share a/(a + b) for every pair (a, b), and 1/size if a and b are both 0."""
    whole = a[:, None] + b
    return np.asarray(np.divide(a[:, None], whole, out=np.full(whole.shape, 1.0 / size), where=whole > 0))


def _independent(laws: list[Law], index: int, total: Law) -> tuple[float, float]:
    """Return the first two moments of component `index` of Multinomial(M, theta), where M is independent of theta."""
    others = Law(0, np.ones(1))
    for i, law in enumerate(laws):
        if i != index:
            others = others.plus(law)
    share = _share(laws[index].values(), others.values(), len(laws))
    first, second = (float(laws[index].p @ share**power @ others.p) for power in (1, 2))
    return total.moment(1) * first, total.moment(1) * (first - second) + total.moment(2) * second


def _summed(counts: Whole, index: int, noise: TwoSidedGeometric) -> tuple[float, float]:
    """Return the first two moments of a component if the counts are released by the summed variant of algorithm 1
    (``1-summed``). The first moment is E[X] = E[m1(n*) theta], where m1 and m2 are the moments of M given n*.
    """
    rest = np.delete(counts, index)
    gaps, low, law = _noise_and_draws(rest, noise)
    table, drawn = posterior_draw(int(counts[index]), noise)[::-1]
    share = _share(drawn + np.arange(table.shape[1]), low + np.arange(law.shape[1]), len(counts))
    m1, m2 = _total_moments(int(counts.sum()), len(counts), noise)
    reach = len(m1) // 2
    place = np.clip(
        noise.values()[:, None] + gaps + reach, 0, 2 * reach
    )  # n* - N from the noise of the component and the noise of all other components
    weight1, weight2 = m1[place] @ law, m2[place] @ law
    first = np.sum(table * (weight1 @ share.T))
    second = np.sum(table * (weight1 @ (share * (1 - share)).T + weight2 @ (share**2).T))
    return float(first), float(second)


def _noise_and_draws(counts: Whole, noise: TwoSidedGeometric) -> tuple[Whole, int, Array]:
    """Return the joint distribution of two sums: the sum of the noise terms and the sum of the posterior draws of the
    counts. The result is a tuple (noise values, first draw value, table).
    """
    reach = noise.support
    kinds, repeats = np.unique(
        np.minimum(counts, 2 * reach), return_counts=True
    )  # differences beyond 2 reach only shift the result
    spread = int(9 * np.sqrt(2 * noise.variance() * max(len(counts), 1))) + 2 * reach
    size = 1 << int(np.ceil(np.log2(2 * spread + 1)))
    spectrum, mean = np.ones((size, size // 2 + 1), dtype=complex), 0.0
    for kind, repeat in zip(kinds.tolist(), repeats.tolist(), strict=True):
        low, joint = posterior_draw(kind, noise)
        grid = np.zeros((size, size))
        rows, columns = np.arange(-reach, reach + 1) % size, (low - kind + np.arange(joint.shape[1])) % size
        np.add.at(grid, (rows[:, None], columns), joint)
        spectrum *= np.fft.rfft2(grid) ** repeat
        mean += repeat * float((low - kind + np.arange(joint.shape[1])) @ joint.sum(axis=0))
    law = np.fft.irfft2(spectrum, s=(size, size))
    first = max(round(mean) - size // 2, -int(counts.sum()))
    law = np.roll(law, (size // 2, -first), axis=(0, 1))
    return np.arange(size) - size // 2, int(counts.sum()) + first, np.maximum(law, 0.0)


def _total_moments(total: int, size: int, noise: TwoSidedGeometric) -> tuple[Array, Array]:
    """Return the first two moments of the total M, conditional on each possible sum n* of the noisy counts. The moments
    are averaged over the noisy total.
    """
    logs, reach = additive_release.summed_noise(noise.epsilon, noise.support, size)
    support, p = noise.support, noise.probabilities()
    m = total + np.arange(-2 * support, 2 * support + 1)
    offset = np.arange(2 * support + 1)[:, None] + np.arange(2 * support + 1)  # n by M - n + support, as index of m
    first, second = np.zeros(2 * reach + 1), np.zeros(2 * reach + 1)
    padded = np.full(2 * reach + 1 + 4 * support, -np.inf)
    padded[2 * support : 2 * support + 2 * reach + 1] = logs
    for i in range(2 * reach + 1):  # n* - M = i - reach - (M - total)
        weight = padded[i : i + 4 * support + 1][::-1].copy()
        weight[m < 0] = -np.inf
        weight = np.exp(weight - weight.max())[offset] * p
        weight /= weight.sum(axis=1, keepdims=True)
        first[i] = p @ (weight * m[offset]).sum(axis=1)
        second[i] = p @ (weight * m[offset].astype(float) ** 2).sum(axis=1)
    return first, second
