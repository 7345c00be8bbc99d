"""Exact means and variances of the additive releases of Wang (2020): the numbers his tables 1 and 3 simulate.

Algorithms ``1-independent`` and ``2`` release X ~ Multinomial(M, theta) with M independent of theta = A/(A + B), A the
weight of one component and B that of the others: two convolutions. In ``1-summed`` M depends on the sum of the noisy
components, so the joint law of that sum and of B is needed (a two-dimensional convolution). Algorithm ``3`` gives a
component k or more units exactly if k plus the units of the others with larger quotients fit in the total: one
convolution for every k. The methods of Wang (2020) in the documentation derive all three.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..geometric import TwoSidedGeometric
from . import _release_modes, additive_release

_NEGLIGIBLE = 1e-20

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Law:
    """Law on the whole numbers low, low + 1, ..

    Parameters
    ----------
    low : whole number.
    p : float64 (n,), probabilities of low, low + 1, ..
    """

    low: int
    p: Array

    def values(self) -> Whole:
        """The values, int64 (n,)."""
        return self.low + np.arange(len(self.p))

    def moment(self, power: int) -> float:
        """E[X^power]."""
        return float(self.values().astype(float) ** power @ self.p)

    def plus(self, other: "Law") -> "Law":
        """Law of the sum of independent variables; what has probability below 1e-20 at either end is neglected."""
        p = np.convolve(self.p, other.p)
        kept = np.flatnonzero(p > _NEGLIGIBLE)
        return Law(self.low + other.low + int(kept[0]), p[kept[0] : kept[-1] + 1])


def clipped(count: int, noise: TwoSidedGeometric, least: int = 0) -> Law:
    """Law of count + D where that is >= `least`, else of `least`.

    Parameters
    ----------
    count : whole number >= 0.
    noise : law of D.
    least : whole number.

    Returns
    -------
    Law
    """
    values = np.maximum(count + noise.values(), least)
    return Law(int(values[0]), np.bincount(values - values[0], noise.probabilities()).astype(float))


def posterior_draw(count: int, noise: TwoSidedGeometric, least: int = 0) -> tuple[int, Array]:
    """Joint law of the noisy count n and the posterior draw x >= `least` given n (equations 4 and 5).

    Parameters
    ----------
    count : whole number >= 0.
    noise : law of n - count.
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
        kept = p[first - n + reach :] if first <= n + reach else np.ones(1)  # nothing else is left: `least` itself
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
    """Mean and variance of released components, to about 1e-9 relative, without simulation.

    Parameters
    ----------
    counts : whole numbers >= 0 (S,), the confidential components.
    components : indices of the components asked for.
    epsilon, support : of the noise.
    algorithm : ``"1-independent"``, ``"1-summed"``, ``"2"`` or ``"3"``.
    ties : for algorithm 3 ``"random"``, ``"first"`` or ``"last"``; rounding (``"ieee"``) has no tractable law.
    least : smallest weight and total allowed: 0, or 1 (the literal "positive") for ``"1-independent"`` and ``"2"``.

    Returns
    -------
    mean, variance : float64 (len(components),).

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    true = _checks.counts("counts", counts)
    _checks.one_of("algorithm", algorithm, additive_release.ALGORITHMS)
    noise = TwoSidedGeometric(epsilon=epsilon, support=support)
    chosen = [_checks.whole("components", int(i), most=len(true) - 1) for i in components]
    total = int(true.sum())
    if _checks.whole("least", least, most=1) and algorithm not in ("1-independent", "2"):
        raise ValueError(f"least = 1 is available for '1-independent' and '2', got algorithm {algorithm!r}")
    if algorithm == "3":
        laws = [clipped(int(c), noise) for c in true]
        pairs = [_release_modes.moments(laws, clipped(total, noise), index=i, ties=ties) for i in chosen]
    elif algorithm == "1-summed":
        pairs = [_summed(true, i, noise) for i in chosen]
    else:
        drawn = algorithm == "1-independent"
        laws = [_weight(int(c), noise, drawn, least) for c in true]
        pairs = [_independent(laws, i, _weight(total, noise, drawn, least)) for i in chosen]
    mean, second = np.array(pairs, dtype=float).reshape(-1, 2).T
    return mean, second - mean**2


def _weight(count: int, noise: TwoSidedGeometric, drawn: bool, least: int) -> Law:
    """Law of a weight: the clipped noisy count, or the posterior draw given it."""
    if not drawn:
        return clipped(count, noise, least)
    low, joint = posterior_draw(count, noise, least)
    return Law(low, joint.sum(axis=0))


def _share(a: Whole, b: Whole, size: int) -> Array:
    """a/(a + b) for every pair, 1/size at 0/0."""
    whole = a[:, None] + b
    return np.asarray(np.divide(a[:, None], whole, out=np.full(whole.shape, 1.0 / size), where=whole > 0))


def _independent(laws: list[Law], index: int, total: Law) -> tuple[float, float]:
    """First two moments of Multinomial(M, theta)[index], M independent of theta."""
    others = Law(0, np.ones(1))
    for i, law in enumerate(laws):
        if i != index:
            others = others.plus(law)
    share = _share(laws[index].values(), others.values(), len(laws))
    first, second = (float(laws[index].p @ share**power @ others.p) for power in (1, 2))
    return total.moment(1) * first, total.moment(1) * (first - second) + total.moment(2) * second


def _summed(counts: Whole, index: int, noise: TwoSidedGeometric) -> tuple[float, float]:
    """First two moments for ``1-summed``: E[X] = E[m1(n*) theta], m1 and m2 the moments of M given n*."""
    rest = np.delete(counts, index)
    gaps, low, law = _noise_and_draws(rest, noise)
    table, drawn = posterior_draw(int(counts[index]), noise)[::-1]
    share = _share(drawn + np.arange(table.shape[1]), low + np.arange(law.shape[1]), len(counts))
    m1, m2 = _total_moments(int(counts.sum()), len(counts), noise)
    reach = len(m1) // 2
    place = np.clip(noise.values()[:, None] + gaps + reach, 0, 2 * reach)  # n* - N for own noise x noise of the rest
    weight1, weight2 = m1[place] @ law, m2[place] @ law
    first = np.sum(table * (weight1 @ share.T))
    second = np.sum(table * (weight1 @ (share * (1 - share)).T + weight2 @ (share**2).T))
    return float(first), float(second)


def _noise_and_draws(counts: Whole, noise: TwoSidedGeometric) -> tuple[Whole, int, Array]:
    """Joint law of (sum of noises, sum of posterior draws): (noise values, first draw value, table)."""
    reach = noise.support
    kinds, repeats = np.unique(np.minimum(counts, 2 * reach), return_counts=True)  # beyond 2 reach only shifts
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
    """E[M | n*] and E[M^2 | n*] for every n* - total within reach, averaged over the noisy total."""
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
