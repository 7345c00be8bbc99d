"""Confidence intervals of a rate p, from noisy counts of a sample with a public number of records.

The number of records in a category is binomial, and a statistic Y of the release has P_p(Y >= y) = sum over x of
Bin(x; n, p) P(Y >= y | x). This is a polynomial whose Bernstein coefficients are the tails given x. If they increase
in x, the tail increases in p and the accepted p are an interval (Clopper and Pearson 1934, without noise). Otherwise
the running maximum of the tails, which is an upper bound that increases, replaces them.

With every count of the n records measured, Y = k y_j - sum(y) + n = k x_j + (k - 1) noise_j - (other noise) is more
precise than y_j alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from .._mechanisms.noise_law import Array

_SPREAD = 9.0  # standard deviations and a little more beyond which binomial mass is neglected, and added to the tail
_NEGLECTED = 1e-15
_STEPS = 55  # bisections of an end


@dataclass(frozen=True)
class TailsGivenCount:
    """Tails of a statistic given the number of records in a category, as functions of x = 0..n.

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


def binomial(x: Array, n: int, p: float) -> Array:
    """Return binomial probabilities.

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
    return np.exp(logs)


def window(n: int, p: float) -> Array:
    """Return the numbers x whose binomial probability is not negligible: all but 1e-15 of the distribution."""
    half = _SPREAD * np.sqrt(n * p * (1 - p)) + 30
    return np.arange(max(int(n * p - half), 0), min(int(n * p + half) + 1, n) + 1, dtype=np.float64)


def rate_tails(tails: TailsGivenCount, p: float) -> tuple[float, float]:
    """Return P_p(Y >= y) and P_p(Y <= y).

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
    total = float(weights.sum())  # 1, but for rounding
    right, left = float(weights @ tails.right(x)) / total, float(weights @ tails.left(x)) / total
    return min(right + _NEGLECTED, 1.0), min(left + _NEGLECTED, 1.0)


def enveloped(tails: TailsGivenCount) -> TailsGivenCount:
    """Return tails that are monotone in x and at least as large: their running maxima over x = 0..n."""
    x = np.arange(tails.n + 1, dtype=np.float64)
    right = np.maximum.accumulate(tails.right(x))
    left = np.maximum.accumulate(tails.left(x)[::-1])[::-1]
    return TailsGivenCount(
        tails.n, lambda at: right[at.astype(np.int64)], lambda at: left[at.astype(np.int64)], monotone=True
    )


def rate_interval(tails: TailsGivenCount, level: float) -> tuple[float, float] | None:
    """Return the accepted rates: those with P_p(Y >= y) > alpha/2 and P_p(Y <= y) > alpha/2.

    Parameters
    ----------
    tails : monotone tails given the number of records (`enveloped` if they are not).
    level : in (0, 1).

    Returns
    -------
    (lower, upper), both rounded outwards, or None if no rate is accepted
    """
    least = (1 - level) / 2

    def right_small(p: float) -> bool:
        return rate_tails(tails, p)[0] <= least

    def left_small(p: float) -> bool:
        return rate_tails(tails, p)[1] <= least

    if right_small(1.0) or left_small(0.0):
        return None
    lower, upper = 0.0, 1.0
    if right_small(0.0):
        lower, high = 0.0, 1.0
        for _ in range(_STEPS):
            middle = (lower + high) / 2
            lower, high = (middle, high) if right_small(middle) else (lower, middle)
    if left_small(1.0):
        low, upper = 0.0, 1.0
        for _ in range(_STEPS):
            middle = (low + upper) / 2
            low, upper = (low, middle) if left_small(middle) else (middle, upper)
    return (lower, upper) if lower <= upper else None
