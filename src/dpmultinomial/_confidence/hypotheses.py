"""Tests of hypotheses about rates, based on noisy counts. The hypotheses are that rates have given values, or that the
rates of two samples are equal.

Two groups of public size (`TwoRates`): the statistic is the difference of the two released shares over its standard
deviation, noise included. Its p-value is the largest probability, over the rates p in a confidence set of level 1 -
gamma, of a statistic at least as large, plus gamma (Berger and Boos 1994). The set follows from the sum of both
released counts, whose distribution depends on p only. The largest probability is bounded between the rates at which it
is computed (`largest_probability`), so that the p-value is an upper bound. Two Poisson counts with public exposures
(`TwoPoissonRates`) have the same test.

Goodness of fit to given rates, and equal rates of two samples whose sizes are noisy too: under given rates the release
can be drawn exactly. The p-value (1 + number of draws with a statistic at least as large) / (1 + draws) of Barnard
(1963) has level alpha for every alpha and every number of draws. If a rate or the number of records is estimated first,
the test is a parametric bootstrap and its level is approximate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # its linear algebra loads on first use
from numpy.typing import NDArray

from .._mechanisms.noise_law import Array
from .noise_sums import NoiseSum, convolved, outermost, tangent
from .rates import NEGLECTED, TailsGivenCount, accepted_range, binomial, numbers, poisson, rate_interval

DRAWS = 9999


def goodness_of_fit(
    values: Array, *, n: int, rates: Array, law: Any, variances: Array, rng: np.random.Generator
) -> float:
    """Return the p-value of a test of the hypothesis that the rates have given values. The p-value is computed from
    noisy counts of all categories.

    Parameters
    ----------
    values : released counts (k,).
    n : number of records.
    rates : hypothetical rates (k,), which sum to 1.
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
    observed = float(distance(values))
    return (1 + int((distance(drawn) >= observed * (1 - _TIE)).sum())) / (DRAWS + 1)


def sampled(law: Any, counts: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Draw noisy counts given true counts, as an array of shape (draws, k) for k counts.

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
    """Return the p-value of a test of the hypothesis that two samples of unknown size have equal rates. The p-value is
    computed by a parametric bootstrap.

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
    observed, sizes, p = _two_shares(values[:, None], variances)
    n = np.maximum(np.round(sizes[:, 0]), 1).astype(np.int64)
    yes = rng.binomial(n[:, None], float(p[0]), size=(2, DRAWS))
    cells = np.stack([yes[0], n[0] - yes[0], yes[1], n[1] - yes[1]], axis=1)
    drawn, _, _ = _two_shares(sampled(law, cells, rng).T, variances)
    return (1 + int((drawn >= observed[0] - _TIE).sum())) / (DRAWS + 1)


def _two_shares(values: Array, variances: Array) -> tuple[Array, Array, Array]:
    """Return the standardised absolute difference of two shares, the two sample sizes, and the pooled share, for each
    simulated release.
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
EXCESS = 1e-6  # largest amount by which the bound exceeds the largest probability
_TIE = 1e-9  # statistics that differ by less are equal
_FIRST = 1e-3  # excess of the bound on the first grid of rates
_ROUNDING = 1e-9  # relative rounding error of a probability, for samples of up to 10^7 records
_BISECTED = 25  # bisections of the ends of a set of rates or ratios
_LEAST = 1e-300  # least variance of a statistic
_REFINED = 12  # bisection steps that refine each end of the interval of differences
_FAR = 40  # number of steps of a quarter of a standard deviation on each side


def largest_probability(
    probability: Callable[[Array], Array],
    information: Callable[[Array], Array],
    size: float,
    rates: Array,
    target: float | None = None,
) -> float:
    """Return an upper bound on the largest probability of an event over all rates in a range.

    Parameters
    ----------
    probability : function of rates, the probability of an event that depends on binomial or Poisson numbers.
    information : Fisher information about the rate, a convex function of the rate, may be infinite at an end.
    size : sum of the numbers of records or of the exposures; a unit more of the rate adds `size` expected records.
    rates : first grid of the range, in increasing order.
    target : the bound is refined only until it is known on which side of this value the largest probability is.

    Returns
    -------
    float
        Exceeds the largest probability by at most 1e-6 if `target` is None.

    Notes
    -----
    The log-likelihood l is a concave function of the rate, so that -l'' >= 0 has the expected value I of l'^2, the
    information. The second derivative of P(event) is the expected value of l'^2 + l'' over the event, and that of all
    outcomes is 0. It is therefore at most half the expected value of l'^2 + abs(l''), which is I. In a cell of width w,
    P is at most the larger of its values at both ends plus w^2 I/8 for the larger I of both ends. It is also at most
    this value plus w size/2, because a change of the rate by w changes at most w size records. The cells with a bound
    above the largest known value plus 1e-6 are halved.
    """
    probabilities, known = probability(rates), information(rates)
    while True:
        width = np.diff(rates)
        slack = width * np.minimum(width * np.maximum(known[1:], known[:-1]) / 8, size / 2)
        bound = np.maximum(probabilities[1:], probabilities[:-1]) + slack
        wide = np.flatnonzero(bound > probabilities.max() + EXCESS)
        most = float(np.append(bound, probabilities).max())
        if not wide.size or (target is not None and (probabilities.max() > target or most <= target)):
            return most
        middle = (rates[wide] + rates[wide + 1]) / 2
        probabilities = np.insert(probabilities, wide + 1, probability(middle))
        known = np.insert(known, wide + 1, information(middle))
        rates = np.insert(rates, wide + 1, middle)


@dataclass(frozen=True, eq=False)
class Sample:
    """Noisy count of the records in a sample that have a given property. Before the noise is added, the count has a
    binomial or a Poisson distribution.

    Parameters
    ----------
    y : released count.
    size : number of records of the sample, or the exposure under a Poisson distribution.
    noise : distribution of the noise, on the integers.
    poisson : whether the count without noise has a Poisson distribution with mean `size` times the rate.
    """

    y: float
    size: float
    noise: NoiseSum
    poisson: bool = False

    def numbers(self, low: float, high: float) -> Array:
        """Return the true counts that have a non-negligible probability for a rate between `low` and `high`."""
        return numbers(self.size * low, self.size * high, np.inf if self.poisson else self.size)

    def values(self, x: Array) -> Array:
        """Return the noisy counts that can be released if the true count is one of the integers in `x`. The order is
        that of the probabilities returned by the method `released`.
        """
        return np.asarray(np.arange(len(x) + len(self.noise.mass) - 1) + x[0] + self.noise.first, dtype=np.float64)

    def probabilities(self, x: Array, rates: Array) -> Array:
        """Return the probabilities of the true counts in `x`, with one row per rate."""
        rate_column = np.asarray(rates)[..., None]
        return poisson(x, self.size * rate_column) if self.poisson else binomial(x, int(self.size), rate_column)

    def released(self, x: Array) -> Array:
        """Return the probability of each noisy count given each of the true counts in `x`. The rows are the true
        counts, which are consecutive integers.
        """
        mass = self.noise.mass
        return scipy.linalg.toeplitz(np.append(mass[0], np.zeros(len(x) - 1)), np.append(mass, np.zeros(len(x) - 1)))

    def information(self, rates: Array) -> Array:
        """Return the Fisher information in a count without noise, for each of the given rates."""
        with np.errstate(divide="ignore", invalid="ignore"):
            fisher = self.size / (rates if self.poisson else rates * (1 - rates))
        return np.asarray(fisher if self.size > 0 else np.zeros_like(rates))

    def accepted(self, level: float) -> tuple[float, float] | None:
        """Return the smallest and the largest rate in the confidence set, rounded outwards, or None if the set is
        empty.

        The tails are monotone in the rate, so that the set is an interval.
        """

        def right(x: Array) -> Array:
            return self.noise.right(self.y - x)

        def left(x: Array) -> Array:
            return self.noise.left(self.y - x)

        if not self.poisson:
            return rate_interval(TailsGivenCount(int(self.size), right, left), level, _BISECTED)

        def tails(rate: float) -> tuple[float, float]:
            x = self.numbers(rate, rate)
            weights = self.probabilities(x, np.array(rate))
            return float(weights @ right(x)) + NEGLECTED, float(weights @ left(x)) + NEGLECTED

        highest = 1 / self.size
        while tails(highest)[1] > (1 - level) / 2:
            highest *= 2
        return accepted_range(tails, level, highest, _BISECTED)

    def grid(self, low: float, high: float, size: float) -> Array:
        """Return a grid of rates from `low` to `high`, for use in the function `largest_probability`. If the sizes of
        the counts of both samples sum to `size`, the bound exceeds the largest probability at the grid points by about
        0.001.
        """
        ends = np.sqrt([low, high]) if self.poisson else np.arcsin(np.sqrt([low, high]))
        first, last = float(ends[0]), float(ends[1])
        points = np.linspace(first, last, 2 + int((last - first) * np.sqrt(size / (2 * _FIRST))))
        return np.asarray(np.clip(points**2 if self.poisson else np.sin(points) ** 2, low, high))


def _bound(
    samples: tuple[Sample, Sample],
    statistic: Callable[[Array, Array], Array],
    rates: Array,
    shift: float = 0.0,
    target: float | None = None,
) -> float:
    """Return an upper bound on the probability that the absolute value of a statistic is at least as large as its
    observed absolute value. The bound holds for a range of rates of the second sample. The rate of the first sample is
    larger by `shift`.
    """
    one, two = samples
    observed = abs(float(statistic(np.array(one.y), np.array(two.y))))
    low, high = np.clip(rates[[0, -1]] + shift, 0.0, None if one.poisson else 1.0)
    x1, x2 = one.numbers(low, high), two.numbers(rates[0], rates[-1])
    extreme = np.abs(statistic(one.values(x1)[:, None], two.values(x2)[None, :])) >= observed - _TIE
    given = one.released(x1) @ (extreme * 1.0) @ two.released(x2).T

    def probability(q: Array) -> Array:
        p = np.clip(q + shift, low, high)
        return np.asarray(((one.probabilities(x1, p) @ given) * two.probabilities(x2, q)).sum(axis=1))

    def information(q: Array) -> Array:
        return one.information(np.clip(q + shift, low, high)) + two.information(q)

    largest = largest_probability(probability, information, one.size + two.size, rates, target)
    return largest * (1 + _ROUNDING) + 4 * NEGLECTED + one.noise.lost + two.noise.lost


@dataclass(frozen=True, eq=False)
class TwoRates:
    """Two counts with integer-valued noise, from two samples whose sizes are public.

    Parameters
    ----------
    y : two released counts.
    n : numbers of records of the two samples.
    noise : distributions of the noise of the two counts, without slack.
    """

    y: tuple[float, float]
    n: tuple[int, int]
    noise: tuple[NoiseSum, NoiseSum]

    def _statistic(self, one: Array, two: Array, shift: float) -> Array:
        """Return the difference of two shares minus `shift`, divided by an estimate of the standard deviation of the
        difference.
        """
        n1, n2 = self.n
        noise = self.noise[0].variance / n1**2 + self.noise[1].variance / n2**2
        if shift == 0:
            p = np.clip((one + two) / (n1 + n2), 0.0, 1.0)
            q = np.maximum(p * (1 - p), 0.25 / (n1 + n2))
            return np.asarray((one / n1 - two / n2) / np.sqrt(q * (1 / n1 + 1 / n2) + noise))
        spread: Array = np.zeros(())
        for y, n in ((one, n1), (two, n2)):
            p = np.clip((y + 0.5) / (n + 1), 0.5 / n, 1 - 0.5 / n)
            spread = spread + p * (1 - p) / n
        return np.asarray((one / n1 - two / n2 - shift) / np.sqrt(spread + noise))

    @cached_property
    def _samples(self) -> tuple[Sample, Sample]:
        one, two = (Sample(y, n, noise) for y, n, noise in zip(self.y, self.n, self.noise, strict=True))
        return one, two

    @cached_property
    def _common(self) -> tuple[float, float] | None:
        """Smallest and largest value of the common rate of two samples, among the values that a test at level gamma
        does not reject. The test is based on the sum of the two counts.
        """
        return Sample(sum(self.y), sum(self.n), convolved(*self.noise)).accepted(1 - GAMMA)

    @cached_property
    def _second(self) -> tuple[float, float] | None:
        """Smallest and largest value of the rate of the second sample, among the values that a test at level gamma does
        not reject. The test is based on the count of the second sample.
        """
        return self._samples[1].accepted(1 - GAMMA)

    def pvalue(self, shift: float = 0.0, target: float | None = None) -> float:
        """Return the p-value of a test of the hypothesis that the rates of two samples differ by `shift`.

        Parameters
        ----------
        shift : hypothetical rate of the first sample minus that of the second, in [-1, 1]; 0: equal rates.
        target : only the side of this value on which the p-value is needs to be known.

        Returns
        -------
        float
            Two-sided; an upper bound on the probability of a statistic at least as large, for every rate. It exceeds
            the largest such probability by at most gamma + 1e-6.
        """
        one, two = self._samples
        ends = self._common if shift == 0 else self._second
        low, high = (1.0, 0.0) if ends is None else (max(ends[0], -shift), min(ends[1], 1 - shift))
        if low > high:
            return GAMMA
        size = sum(self.n)
        rates = two.grid(low, high, size)
        if shift != 0:
            p = one.grid(max(low + shift, 0.0), min(high + shift, 1.0), size) - shift
            rates = np.unique(np.clip(np.append(rates, p), low, high))
        least = None if target is None else target - GAMMA
        tail_bound = _bound(self._samples, lambda a, b: self._statistic(a, b, shift), rates, shift, least)
        return min(tail_bound + GAMMA, 1.0)

    @property
    def centre(self) -> float:
        """Difference of the two released shares, or the nearest number in [-1, 1]."""
        return float(np.clip(self.y[0] / self.n[0] - self.y[1] / self.n[1], -1.0, 1.0))

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return the smallest and the largest difference of two rates that the test does not reject.

        Parameters
        ----------
        level : in (0, 1 - GAMMA).

        Returns
        -------
        lower, upper : float, in [-1, 1], rounded outwards
            None if the test rejects every difference.
        """
        n1, n2 = self.n
        noise = sum(noise.variance / n**2 for noise, n in zip(self.noise, self.n, strict=True))
        spread = float(np.sqrt(0.25 / n1 + 0.25 / n2 + noise))
        steps = np.arange(-_FAR, _FAR + 1) * (spread / 4)  # to ten standard deviations on both sides
        shifts = np.unique(np.clip(self.centre + steps, -1.0, 1.0))
        interval = outermost(lambda shift: self._accepted(shift, level), shifts, _REFINED)
        return None if interval is None else interval[:2]

    def _accepted(self, shift: float, level: float) -> bool:
        return self.pvalue(shift if shift != 0 else 1e-12, 1 - level) > 1 - level


@dataclass(frozen=True, eq=False)
class TwoPoissonRates:
    """Two Poisson counts with integer-valued noise and public exposures.

    Parameters
    ----------
    y : two released counts.
    exposures : exposures of the two counts, such as person-years, > 0; the means are the exposures times the rates.
    noise : distributions of the noise of the two counts, without slack.
    """

    y: tuple[float, float]
    exposures: tuple[float, float]
    noise: tuple[NoiseSum, NoiseSum]

    def _statistic(self, one: Array, two: Array) -> Array:
        """Return the difference of two estimated rates, divided by its estimated standard deviation under equal rates.
        The difference and the standard deviation are both multiplied by the product of the exposures.
        """
        e1, e2 = self.exposures
        noise = self.noise[0].variance * e2**2 + self.noise[1].variance * e1**2
        variance = np.maximum(one + two, 0.25) * e1 * e2 + noise
        return np.asarray((one * e2 - two * e1) / np.sqrt(np.maximum(variance, _LEAST)))

    def pvalue(self, target: float | None = None) -> float:
        """Return the p-value of the test of the hypothesis that two Poisson rates are equal.

        Parameters
        ----------
        target : only the side of this value on which the p-value is needs to be known.

        Returns
        -------
        float
            Two-sided; an upper bound on the probability of a statistic at least as large, for every rate. It exceeds
            the largest such probability by at most gamma + 1e-6.
        """
        one, two = (Sample(*each, poisson=True) for each in zip(self.y, self.exposures, self.noise, strict=True))
        size = sum(self.exposures)
        ends = Sample(sum(self.y), size, convolved(*self.noise), poisson=True).accepted(1 - GAMMA)
        if ends is None:
            return GAMMA
        least = None if target is None else target - GAMMA
        return min(_bound((one, two), self._statistic, two.grid(*ends, size), target=least) + GAMMA, 1.0)

    def _accepted(self, angle: float, level: float) -> bool:
        """Return whether a test does not reject the hypothesis that the ratio of the two rates is tan(angle). The
        method tests whether the rates are equal after multiplication of the exposures by the sine and the cosine of the
        angle.
        """
        e1, e2 = self.exposures
        scaled = replace(self, exposures=(e1 * max(np.sin(angle), 0.0), e2 * max(np.cos(angle), 0.0)))
        return scaled.pvalue(1 - level) > 1 - level

    def ratio_interval(self, level: float) -> tuple[float, float, bool] | None:
        """Return the smallest and the largest ratio of the first rate to the second rate that the test does not reject.

        Parameters
        ----------
        level : in (0, 1 - GAMMA).

        Returns
        -------
        (lower, upper, gaps)
            Both ends are rounded outwards; the upper end is infinite if no ratio is too large. None if the test
            rejects every ratio.
        """
        rates = [max(y, 0.5) / e for y, e in zip(self.y, self.exposures, strict=True)]
        noise = [one.variance / max(y, 0.5) ** 2 for y, one in zip(self.y, self.noise, strict=True)]
        spread = float(np.sqrt(sum(1 / max(y, 0.5) for y in self.y) + sum(noise)))  # of the log ratio
        ratios = rates[0] / rates[1] * np.exp(np.arange(-_FAR, _FAR + 1, 2) * (spread / 4))
        angles = np.unique(np.append(np.arctan(ratios), np.linspace(0.0, np.pi / 2, _FAR // 2 + 1)))
        angle_range = outermost(lambda angle: self._accepted(angle, level), angles, _BISECTED)
        return None if angle_range is None else (tangent(angle_range[0]), tangent(angle_range[1]), angle_range[2])
