"""Confidence intervals for a rate p, computed from the noisy counts of a sample whose number of records is public.

The number of records in a category is binomial, and a statistic Y of the release has P_p(Y >= y) = sum over x of
Bin(x; n, p) P(Y >= y | x). This is a polynomial whose Bernstein coefficients are the tails given x. If they increase in
x, the tail increases in p, and the values of p that are not rejected form an interval (Clopper and Pearson 1934,
without noise). Otherwise the running maximum of the tails, which is an upper bound that increases, replaces them.

With every count of the n records measured, Y = k y_j - sum(y) + n = k x_j + (k - 1) noise_j - (other noise) is more
precise than y_j alone.

If the number n of records is not public, both counts Y1 and Y0 of a pair are noisy (`Pair`). T_p = (1 - p) Y1 - p Y0
has mean 0 under the rate p, whatever n. The p-value of p is the largest tail of T_p over the numbers n in a confidence
set of level 1 - gamma, which Y1 + Y0 gives, plus gamma (Berger and Boos 1994). All n of the set are evaluated, because
the largest tail need not be at an end.

For large n, the tail is approximated by that of a normal distribution whose variance is evaluated at the estimate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, ndtri, xlog1py, xlogy

from .._mechanisms.noise_law import Array
from .noise_sums import NoiseSum, boundary

# binomial probabilities beyond slightly more than this number of standard deviations are neglected, and added to the
# tail
_SPREAD = 9.0
NEGLECTED = 1e-15
_STEPS = 55  # bisection steps for each end of an interval


@dataclass(frozen=True)
class TailsGivenCount:
    """Tail probabilities of a statistic given the number x = 0..n of records in a category, as functions of x.

    Parameters
    ----------
    n : number of records.
    right : array of x -> P(Y >= y | x).
    left : array of x -> P(Y <= y | x).
    monotone : whether the tails are monotone in x; if not, their running maxima over all x are used.
    """

    n: int
    right: Callable[[Array], Array]
    left: Callable[[Array], Array]
    monotone: bool = True


def binomial(x: Array, n: int, p: float | Array) -> Array:
    """Return the binomial probabilities of the numbers x, for n trials with success probability p.

    Parameters
    ----------
    x : integers from 0 to n.
    n : number of records.
    p : in [0, 1].

    Returns
    -------
    float64 of the shape of `x`, relative error 1e-12 for n up to 10,000 and 1e-9 for n up to 10^7
    """
    logs = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) + xlogy(x, p) + xlog1py(n - x, -p)
    return np.asarray(np.exp(logs))


def poisson(x: Array, mean: float | Array) -> Array:
    """Return the probabilities of the integers x under a Poisson distribution with the given mean.

    Parameters
    ----------
    x : integers >= 0.
    mean : mean of the distribution, >= 0; one number, or an array that is broadcast against `x`.

    Returns
    -------
    float64, relative error 1e-12 for means up to 10,000 and 1e-9 for means up to 10^7
    """
    return np.asarray(np.exp(xlogy(x, mean) - mean - gammaln(x + 1)))


def window(n: int, p: float) -> Array:
    """Return the integers x that have a non-negligible binomial probability. All other numbers together have a
    probability of at most 1e-15.
    """
    return _between(n * p, n * p, n * p * (1 - p), n)


def numbers(low: float, high: float, most: float = np.inf) -> Array:
    """Return the integers x that have a non-negligible Poisson probability for a mean from `low` to `high`. If `most`
    is finite, the distribution is binomial with `most` trials.

    Parameters
    ----------
    low, high : smallest and largest mean, >= 0.
    most : number of trials; infinity for a Poisson distribution.

    Returns
    -------
    float64, consecutive integers
        The remaining numbers have a total probability of at most 1e-15 (Bernstein's inequality).
    """
    return _between(low, high, high, most)


def _between(low: float, high: float, variance: float, most: float) -> Array:
    half = _SPREAD * np.sqrt(variance) + 30
    return np.arange(max(int(low - half), 0), min(int(high + half) + 1, most) + 1, dtype=np.float64)


def rate_tails(tails: TailsGivenCount, p: float) -> tuple[float, float]:
    """Return P_p(Y >= y) and P_p(Y <= y), the tail probabilities of the statistic Y at a rate p.

    Parameters
    ----------
    tails : tails given the number of records.
    p : rate in [0, 1].

    Returns
    -------
    right, left : float
    """
    x = window(tails.n, p)
    weights = binomial(x, tails.n, p)
    total = float(weights.sum())  # 1 up to rounding
    right, left = float(weights @ tails.right(x)) / total, float(weights @ tails.left(x)) / total
    return min(right + NEGLECTED, 1.0), min(left + NEGLECTED, 1.0)


def enveloped(tails: TailsGivenCount) -> TailsGivenCount:
    """Return upper bounds on the tail probabilities of a statistic given the true count. The bounds are made monotone
    in the true count x by running maxima over x = 0, .., n.
    """
    x = np.arange(tails.n + 1, dtype=np.float64)
    right = np.maximum.accumulate(tails.right(x))
    left = np.maximum.accumulate(tails.left(x)[::-1])[::-1]
    return TailsGivenCount(
        tails.n, lambda at: right[at.astype(np.int64)], lambda at: left[at.astype(np.int64)], monotone=True
    )


def accepted_range(
    tails: Callable[[float], tuple[float, float]], level: float, highest: float, rounds: int = _STEPS
) -> tuple[float, float] | None:
    """Return the smallest and the largest value of a parameter in [0, `highest`] that a test does not reject. A value
    is not rejected if both tail probabilities exceed (1 - level)/2.

    Parameters
    ----------
    tails : function of the parameter, P(Y >= y), which increases, and P(Y <= y), which decreases.
    level : in (0, 1).
    highest : largest value of the parameter.
    rounds : number of bisections of each end.

    Returns
    -------
    (lower, upper), both rounded outwards, or None if the test rejects every value
    """
    least = (1 - level) / 2
    if tails(highest)[0] <= least or tails(0.0)[1] <= least:
        return None
    ends = [0.0, highest]
    for side, bad, good in ((0, 0.0, highest), (1, highest, 0.0)):
        if tails(bad)[side] > least:
            continue
        for _ in range(rounds):
            middle = (bad + good) / 2
            bad, good = (middle, good) if tails(middle)[side] <= least else (bad, middle)
        ends[side] = bad
    return (ends[0], ends[1]) if ends[0] <= ends[1] else None


def rate_interval(tails: TailsGivenCount, level: float, rounds: int = _STEPS) -> tuple[float, float] | None:
    """Return the smallest and the largest rate p that a test does not reject. A rate is not rejected if P_p(Y >= y) and
    P_p(Y <= y) both exceed alpha/2.

    Parameters
    ----------
    tails : monotone tails given the number of records (`enveloped` if they are not).
    level : in (0, 1).
    rounds : number of bisections of each end.

    Returns
    -------
    (lower, upper), both rounded outwards, or None if the test rejects every rate
    """
    return accepted_range(lambda p: rate_tails(tails, p), level, 1.0, rounds)


GAMMA = 0.002  # probability that the number of records is outside its confidence set
LARGEST = 5000  # noisy total up to which all numbers of records are evaluated
_REFINED = 12  # bisection steps that refine each end of the grid


@dataclass(frozen=True)
class Pair:
    """Noisy count and noisy sum of all other counts, from a sample of unknown size.

    Parameters
    ----------
    y1, y0 : released count and released sum of the other counts, integers.
    noise1, noise0 : distributions of their noise, on the integers.
    noise : distribution of the noise of y1 + y0.
    """

    y1: float
    y0: float
    noise1: NoiseSum
    noise0: NoiseSum
    noise: NoiseSum

    def sizes(self) -> Array:
        """Return the values in the confidence set of level 1 - gamma for the number of records, in increasing order."""
        low = self.y1 + self.y0 - self.noise.largest(GAMMA / 2, "right")
        high = self.y1 + self.y0 + self.noise.largest(GAMMA / 2, "left")
        return np.arange(max(low, 0.0), max(high, 0.0) + 1)

    def tails(self, p: float, n: int) -> tuple[float, float]:
        """Return the tail probabilities P(T_p >= t) and P(T_p <= t) of the statistic T_p for a sample of n records. The
        number t is the released value of T_p.

        Parameters
        ----------
        p : rate in (0, 1).
        n : number of records.

        Returns
        -------
        right, left : float
        """
        x = window(n, p)
        weights = binomial(x, n, p)
        noise = self.noise1.first + np.arange(len(self.noise1.mass))
        t = (1 - p) * self.y1 - p * self.y0
        need = ((x - n * p)[:, None] + (1 - p) * noise - t) / p  # T >= t if the noise of y0 is at most this bound
        lost = self.noise1.lost + 1e-15
        right = float(weights @ (self.noise0.left(need + 1e-9) @ self.noise1.mass)) + lost
        left = float(weights @ (self.noise0.right(need - 1e-9) @ self.noise1.mass)) + lost
        return min(right, 1.0), min(left, 1.0)

    def accepts(self, p: float, level: float) -> bool:
        """Return whether both one-sided p-values of a rate exceed alpha/2, where alpha = 1 - `level`. Each p-value is
        the largest tail probability plus gamma/2.

        Parameters
        ----------
        p : rate in (0, 1).
        level : in (0, 1 - GAMMA).

        Returns
        -------
        bool
        """
        least = (1 - level - GAMMA) / 2
        right = left = False
        for n in self.sizes()[::-1]:
            tails = self.tails(p, int(n))
            right, left = right or tails[0] > least, left or tails[1] > least
            if right and left:
                return True
        return False

    def _spread(self, p: float) -> float:
        n = max(self.y1 + self.y0, 1.0)
        noise = (1 - p) ** 2 * self.noise1.variance + p**2 * self.noise0.variance
        return float(np.sqrt(n * p * (1 - p) + noise))

    def interval(self, level: float) -> tuple[float, float, bool] | None:
        """Return the smallest and the largest rate that the test does not reject. Also return whether the grid contains
        a rejected rate between these limits.

        Parameters
        ----------
        level : in (0, 1 - GAMMA).

        Returns
        -------
        (lower, upper, gaps), both ends rounded outwards; None if the test rejects every rate
        """
        n = max(self.y1 + self.y0, 1.0)
        step = min(0.02, 1 / (4 * np.sqrt(n)))
        centre = np.arcsin(np.sqrt(np.clip(self.y1 / n, 0.0, 1.0)))
        reach = np.pi / 2 if n < 500 else 10 * self._spread(0.5) / n
        angles = np.arange(max(step / 2, centre - reach), min(np.pi / 2, centre + reach), step)

        def accepts(angle: float) -> bool:
            return self.accepts(float(np.sin(angle) ** 2), level)

        accepted = np.flatnonzero([accepts(float(angle)) for angle in angles])
        if not accepted.size:
            return None
        first, last = float(angles[accepted[0]]), float(angles[accepted[-1]])
        lower = boundary(accepts, max(first - step, 0.0), first, _REFINED)
        upper = boundary(accepts, min(last + step, np.pi / 2), last, _REFINED)
        return (
            float(np.sin(lower) ** 2),
            float(np.sin(upper) ** 2),
            bool(accepted.size < accepted[-1] - accepted[0] + 1),
        )

    def normal_interval(self, level: float) -> tuple[float, float, float]:
        """Return a confidence interval for a rate p from the normal approximation to the statistic T_p = (1 - p) Y1 - p
        Y0. Here Y1 is the noisy count of the category and Y0 is the noisy count of all other records. Also return the
        error of the confidence level at the estimated rate.

        Parameters
        ----------
        level : in (0, 1).

        Returns
        -------
        lower, upper, error : float
            The error is the largest difference between alpha/2 and an exact tail beyond the normal quantile, with the
            rate and the number of records at their estimates.
        """
        z = float(ndtri((1 + level) / 2))
        n = max(self.y1 + self.y0, 1.0)
        p = float(np.clip(self.y1 / n, 1e-9, 1 - 1e-9))
        v1, v0 = self.noise1.variance, self.noise0.variance
        # (n q - y1)^2 = z^2 (n q (1 - q) + (1 - q)^2 v1 + q^2 v0), a quadratic in q
        a = n * n + z * z * (n - v1 - v0)
        b = -2 * n * self.y1 - z * z * (n - 2 * v1)
        c = self.y1**2 - z * z * v1
        root = np.sqrt(max(b * b - 4 * a * c, 0.0))
        lower, upper = np.clip([(-b - root) / (2 * a), (-b + root) / (2 * a)], 0.0, 1.0)
        distance, tail = z * self._spread(p) / (1 - p), (1 - level) / 2
        up = replace(self, y1=distance, y0=0.0).tails(p, int(n))[0]  # T is then z standard deviations
        down = replace(self, y1=-distance, y0=0.0).tails(p, int(n))[1]
        return float(lower), float(upper), max(abs(up - tail), abs(down - tail))
