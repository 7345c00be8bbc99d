"""Tests of hypotheses from noisy counts: the hypothesis that rates have given values, and the hypothesis that two
samples have equal rates.

Two groups of public size (`TwoRates`): the statistic is the difference of the two released shares over its standard
deviation, noise included. Its p-value is the largest probability, over the rates p in a confidence set of level 1 -
gamma, of a statistic at least as large, plus gamma (Berger and Boos 1994). The set follows from the sum of both
released counts, whose distribution depends on p only. The grid of rates is widened by one step on both sides.

Goodness of fit to given rates, and equal rates of two samples whose sizes are noisy too: under given rates the release
can be drawn exactly. The p-value (1 + number of draws with a statistic at least as large) / (1 + draws) of Barnard
(1963) has level alpha for every alpha and every number of draws. If a rate or the number of records is estimated first,
the test is a parametric bootstrap and its level is approximate.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._mechanisms.noise_law import Array
from .noise_sums import NoiseSum
from .rates import binomial

DRAWS = 9999


def goodness_of_fit(
    values: Array, *, n: int, rates: Array, law: Any, variances: Array, rng: np.random.Generator
) -> float:
    """Return the p-value of the hypothesis that the rates have given values, from noisy counts of all categories.

    Parameters
    ----------
    values : released counts (k,).
    n : number of records.
    rates : hypothetical rates (k,), which add up to 1.
    law : noise distribution, with a method ``sample``.
    variances : variances of the noise (k,), or (1,).
    rng : numpy Generator; 9,999 draws of the release.

    Returns
    -------
    float
        The statistic is the squared distance from the expected counts in the inverse covariance of counts and noise.
    """
    k = len(rates)
    covariance = n * (np.diag(rates) - np.outer(rates, rates)) + np.diag(np.broadcast_to(variances, (k,)))
    inverse = np.linalg.pinv(covariance, hermitian=True)

    def distance(found: Array) -> Array:
        gap = found - n * rates
        return np.asarray(np.einsum("...i,ij,...j->...", gap, inverse, gap))

    drawn = sampled(law, rng.multinomial(n, rates, size=DRAWS), rng)
    own = float(distance(values))
    return (1 + int((distance(drawn) >= own * (1 - _TIE)).sum())) / (DRAWS + 1)


def sampled(law: Any, counts: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Draw noisy counts, as an array of shape (draws, k), under the noise distribution of each count.

    Parameters
    ----------
    law : noise distribution, with one parameter per count or one for all counts.
    counts : true counts (draws, k).
    rng : numpy Generator.

    Returns
    -------
    float64
    """
    return np.asarray(law.sample(counts.T, rng=rng), dtype=np.float64).T


def four_cells(values: Array, *, law: Any, variances: Array, rng: np.random.Generator) -> float:
    """Return the p-value of the hypothesis that two samples of unknown size have equal rates, by a parametric
    bootstrap.

    Parameters
    ----------
    values : released counts yes and no of the first sample, yes and no of the second (4,).
    law : noise distribution, with one parameter for each of the four counts or one for all.
    variances : variances of the noise (4,).
    rng : numpy Generator; 9,999 draws of the release.

    Returns
    -------
    float
    """
    own, sizes, p = _two_shares(values[:, None], variances)
    n = np.maximum(np.round(sizes[:, 0]), 1).astype(np.int64)
    yes = rng.binomial(n[:, None], float(p[0]), size=(2, DRAWS))
    cells = np.stack([yes[0], n[0] - yes[0], yes[1], n[1] - yes[1]], axis=1)
    drawn, _, _ = _two_shares(sampled(law, cells, rng).T, variances)
    return (1 + int((drawn >= own[0] - _TIE).sum())) / (DRAWS + 1)


def _two_shares(values: Array, variances: Array) -> tuple[Array, Array, Array]:
    """Return the standardised difference of two shares, the sample sizes, and the common share, for each column of
    releases.
    """
    sizes = np.maximum(values[[0, 2]] + values[[1, 3]], 1.0)
    p = np.clip((values[0] + values[2]) / sizes.sum(axis=0), 0.005, 0.995)
    v = np.broadcast_to(variances, (4,))
    spread = np.zeros(values.shape[1])
    for i in (0, 1):
        noise = (1 - p) ** 2 * v[2 * i] + p**2 * v[2 * i + 1]
        spread = spread + p * (1 - p) / sizes[i] + noise / sizes[i] ** 2
    z = np.abs(values[0] / sizes[0] - values[2] / sizes[1]) / np.sqrt(spread)
    return z, sizes, p


GAMMA = 0.001  # probability that the common rate is outside its confidence set
_GRID = 401  # number of rates in the grid on [0, 1], equally spaced in angle
_TIE = 1e-9  # statistics that differ by less are equal
_REFINED = 12  # bisection steps that refine each end of the interval of differences
_FAR = 40  # number of steps of a quarter of a standard deviation on each side


def _released(n: int, p: float, noise: NoiseSum) -> Array:
    """Return the probabilities of all possible values of a released count, which is a binomial count plus noise,
    starting at the smallest value.
    """
    return np.convolve(binomial(np.arange(n + 1.0), n, p), noise.mass)


def _values(n: int, noise: NoiseSum) -> Array:
    return np.arange(noise.first, n + noise.first + len(noise.mass), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class TwoRates:
    """Two noisy counts of samples of public size, with integer-valued noise.

    Parameters
    ----------
    y : two released counts.
    n : numbers of records of the two samples.
    noise : distributions of the noise of the two counts, without slack.
    """

    y: tuple[float, float]
    n: tuple[int, int]
    noise: tuple[NoiseSum, NoiseSum]

    @cached_property
    def _grid(self) -> Array:
        return np.sin(np.linspace(0.0, np.pi / 2, _GRID)) ** 2

    @cached_property
    def _shares(self) -> tuple[Array, Array]:
        one, two = (_values(n, noise) for n, noise in zip(self.n, self.noise, strict=True))
        return one[:, None], two[None, :]

    def _statistic(self, one: Array, two: Array, shift: float) -> Array:
        """Return the difference of the shares minus `shift`, divided by its standard deviation."""
        (n1, n2), (v1, v2) = self.n, (_variance(noise) for noise in self.noise)
        noise = v1 / n1**2 + v2 / n2**2
        if shift == 0:
            p = np.clip((one + two) / (n1 + n2), 0.0, 1.0)
            q = np.maximum(p * (1 - p), 0.25 / (n1 + n2))
            return np.asarray((one / n1 - two / n2) / np.sqrt(q * (1 / n1 + 1 / n2) + noise))
        spread: Array = np.zeros(())
        for y, n in ((one, n1), (two, n2)):
            p = np.clip((y + 0.5) / (n + 1), 0.5 / n, 1 - 0.5 / n)
            spread = spread + p * (1 - p) / n
        return np.asarray((one / n1 - two / n2 - shift) / np.sqrt(spread + noise))

    def _probable(self, tails: Array) -> NDArray[np.int64]:
        """Return the grid positions in a confidence set that is widened by one step; `tails` contains the smaller tail
        probability of each rate.
        """
        good = tails > GAMMA / 2
        wide = good.copy()
        wide[1:] |= good[:-1]
        wide[:-1] |= good[1:]
        return np.flatnonzero(wide)

    @cached_property
    def _common(self) -> NDArray[np.int64]:
        """Grid positions of the common rates that are not rejected by the sum of both counts at level gamma."""
        both = np.convolve(self.noise[0].mass, self.noise[1].mass)
        n, at = sum(self.n), round(sum(self.y)) - self.noise[0].first - self.noise[1].first
        tails = []
        for p in self._grid:
            mass = np.convolve(binomial(np.arange(n + 1.0), n, float(p)), both)
            tails.append(min(mass[: max(at + 1, 0)].sum(), mass[max(at, 0) :].sum()))
        return self._probable(np.array(tails))

    @cached_property
    def _second(self) -> NDArray[np.int64]:
        """Grid positions of the rates of the second sample that are not rejected by its count at level gamma."""
        at = round(self.y[1]) - self.noise[1].first
        tails = []
        for p in self._grid:
            mass = _released(self.n[1], float(p), self.noise[1])
            tails.append(min(mass[: max(at + 1, 0)].sum(), mass[max(at, 0) :].sum()))
        return self._probable(np.array(tails))

    def pvalue(self, shift: float = 0.0) -> float:
        """Return the p-value of the hypothesis that the rates differ by `shift`.

        Parameters
        ----------
        shift : hypothetical rate of the first sample minus that of the second, in (-1, 1); 0: equal rates.

        Returns
        -------
        float
            Two-sided; an upper bound on the probability of a statistic at least as large, for every rate.
        """
        one, two = self._shares
        found = np.abs(self._statistic(one, two, shift))
        own = abs(float(self._statistic(np.array(self.y[0]), np.array(self.y[1]), shift)))
        extreme = found >= own - _TIE
        places = self._common if shift == 0 else self._second
        largest = 0.0
        for q in self._grid[places]:
            p = q + shift
            if -1e-12 <= p <= 1 + 1e-12:
                first = _released(self.n[0], float(np.clip(p, 0.0, 1.0)), self.noise[0])
                second = _released(self.n[1], float(q), self.noise[1])
                largest = max(largest, float(first @ (extreme @ second)))
        lost = self.noise[0].lost + self.noise[1].lost
        return min(largest + GAMMA + lost, 1.0)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the smallest and the largest difference of rates that is not rejected.

        Parameters
        ----------
        level : in (0, 1 - GAMMA).

        Returns
        -------
        lower, upper : float, in [-1, 1], rounded outwards
        """
        n1, n2 = self.n
        centre = float(np.clip(self.y[0] / n1 - self.y[1] / n2, -1.0, 1.0))
        spread = float(np.sqrt(0.25 / n1 + 0.25 / n2 + sum(_variance(v) / n**2 for v, n in self._parts)))
        steps = np.arange(-_FAR, _FAR + 1) * (spread / 4)  # up to ten standard deviations on both sides
        shifts = np.unique(np.clip(centre + steps, -1.0, 1.0))
        at = np.flatnonzero([self._accepted(float(shift), level) for shift in shifts])
        lower, upper = float(shifts[at[0]]), float(shifts[at[-1]])
        if at[0] > 0:
            lower = self._end(float(shifts[at[0] - 1]), lower, level)
        if at[-1] < len(shifts) - 1:
            upper = self._end(float(shifts[at[-1] + 1]), upper, level)
        return lower, upper

    def _end(self, bad: float, good: float, level: float) -> float:
        for _ in range(_REFINED):
            middle = (good + bad) / 2
            good, bad = (middle, bad) if self._accepted(middle, level) else (good, middle)
        return bad

    @property
    def _parts(self) -> list[tuple[NoiseSum, int]]:
        return list(zip(self.noise, self.n, strict=True))

    def _accepted(self, shift: float, level: float) -> bool:
        return self.pvalue(shift if shift != 0 else 1e-12) > 1 - level


def _variance(noise: NoiseSum) -> float:
    at = (noise.first + np.arange(len(noise.mass))) * noise.step
    return float(noise.mass @ at**2)
