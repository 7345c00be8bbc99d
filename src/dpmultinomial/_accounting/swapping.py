"""Privacy loss of permutation swapping under its invariants. The module computes the bound of Bailie, Gong and Meng
(2023) and the exact loss.

The guarantee is a Lipschitz bound: two data sets with the same invariants at Hamming distance d (records that differ,
order ignored) have output distributions within exp(epsilon d) of each other. Distance 1 never occurs, since margins are
fixed; the closest pairs of data sets differ by an exchange of the values of the swapped variables between two records
(d = 2), and the guaranteed bound for such a pair is 2 epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .. import _checks

_RECURSED = 2000  # largest stratum for which the derangements are counted exactly
_LARGEST_VECTOR = 100_000_000


def largest_stratum(strata: Sequence[tuple[int, int, int]]) -> int:
    """Return the size b of the largest stratum in which a swap can change the data. This size appears in the theorem of
    Bailie, Gong and Meng.

    Parameters
    ----------
    strata : sequence of (records, distinct swapped values, distinct held values)
        With one distinct value of either kind nothing can change.

    Returns
    -------
    int
        0 if no stratum can change.
    """
    return max((n for n, swapped, held in strata if min(swapped, held) >= 2), default=0)


def epsilon(largest: int, *, rate: float) -> float:
    """Return the privacy loss of a swap per unit of Hamming distance, by the theorem of Bailie, Gong and Meng. It is
    ln(b + 1) - ln(o) for swap rates up to 1/2. The size of the largest stratum is b, and o = rate/(1 - rate).

    Parameters
    ----------
    largest : int
        b >= 2, records in the largest stratum (`largest_stratum`).
    rate : float
        Swap rate in (0, 1). Above 1/2 the bound is max(ln(b + 1) - ln(o), ln(o)), a second branch of the same
        argument; it is smallest at o = sqrt(b + 1) (`best_rate`).

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    b, odds = _checks.integer("largest", largest, least=2), _log_odds(rate)
    return float(max(np.log(b + 1) - odds, odds))


def best_rate(largest: int) -> tuple[float, float]:
    """Return the swap rate that minimises the privacy loss for strata of b records, and the loss at this rate. The
    optimal odds of a swap are o = sqrt(b + 1), with epsilon = ln(b + 1)/2.

    Parameters
    ----------
    largest : int
        b >= 2, records in the largest stratum.

    Returns
    -------
    rate, epsilon : float

    Raises
    ------
    ValueError, TypeError
        If `largest` is not an integer of at least 2.
    """
    root = np.sqrt(_checks.integer("largest", largest, least=2) + 1.0)
    return float(root / (1 + root)), float(np.log(root))


def rate_for(epsilon: float, *, largest: int) -> float:
    """Return the smallest swap rate, at most 1/2, at which the privacy loss (`epsilon`) does not exceed the given
    value.

    Parameters
    ----------
    epsilon : float
        Wanted loss per unit of distance, > 0.
    largest : int
        b >= 2, records in the largest stratum.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range, or if even a swap rate of 1/2 has a larger privacy loss; the message states
        the smallest possible epsilon, ln(b + 1).
    """
    wanted, b = _checks.positive("epsilon", epsilon), _checks.integer("largest", largest, least=2)
    if wanted < np.log(b + 1):
        least = np.ceil(np.log(b + 1) * 1e4) / 1e4  # rounded upwards, so that this value is accepted
        raise ValueError(f"epsilon must be >= ln(largest + 1) = {least:.4f} for swap rates up to 1/2, got {epsilon}")
    odds = (b + 1) * np.exp(-wanted)
    return float(odds / (1 + odds))


def exact_loss(largest: int, distance: int, *, rate: float) -> float:
    """Return the largest privacy loss of swapping for two data sets that differ in `distance` records. The result
    assumes that all values of both variables are distinct.

    A permutation with k moved records has probability o^k/D_k up to a constant, and a difference in d records changes k
    by at most d. The loss is therefore the maximum over reachable (k, k') of f(k') - f(k), with f(k) = ln D_k - k ln o.
    Coarser values are obtained by post-processing, so their loss is not larger. The function f is convex from k = 2 on,
    so its smallest reachable value is at its minimum or at an end of the range. For rates up to 1/2 it also increases,
    so f(b) is the largest value and the loss is f(b) - f(b - d).

    Parameters
    ----------
    largest : int
        b >= 2, records in the stratum.
    distance : int
        d, 2 to b.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    float
        Accurate to 1e-9, or to 1e-15 times ln b! if that is more.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range; for rates above 1/2 also if b exceeds 1e8.

    Notes
    -----
    The cost is O(1) for rates up to 1/2 and b > 2,000, otherwise O(b).
    """
    b, d = _checks.integer("largest", largest, least=2), _checks.integer("distance", distance, least=2)
    _checks.integer("distance", distance, most=b)
    return _loss(b, d, _log_odds(rate))


def _loss(b: int, d: int, odds: float) -> float:
    """Compute the privacy loss that `exact_loss` returns, for arguments that have been checked."""
    if odds <= 0:
        # smallest f among the numbers that are reachable from b
        near = np.array([0, 2]) if b - d == 1 else np.array([b - d])
        # 0 is not reachable from b, but it is reachable from b - 1
        far = np.array([b, b - 1]) if b - d == 1 else np.array([b])
        if b <= _RECURSED:
            logs = _log_derangements(b)
            value_near, value_far = near * odds - logs[near], far * odds - logs[far]
        else:
            value_near, value_far = near * odds - _log_subfactorial(near), far * odds - _log_subfactorial(far)
        if b - d == 1:
            pairs = [value_near[0] - value_far[1] if b > 2 else 0.0, value_near[1] - value_far[0]]
            return float(max(0.0, *pairs))
        return float(max(0.0, value_near[0] - value_far[0]))
    _checks.integer("largest", b, most=_LARGEST_VECTOR)
    k = np.arange(b + 1)
    value = k * odds - (_log_derangements(b) if b <= _RECURSED else _log_subfactorial(k))
    value[1] = -np.inf
    low, high = np.abs(k - d), np.minimum(k + d, b)  # numbers of moved records that are reachable from k
    low, high = np.where(low == 1, 2, low), np.where(high == 1, 0, high)
    ends = np.minimum(value[low], value[high])  # the values are concave, so their minimum is at an end
    reach = (low <= high) & (k != 1)
    return float(max(0.0, np.max(value[reach] - ends[reach])))


def smallest_change(largest: int, *, rate: float) -> "SmallestChange":
    """Return the privacy cost of swapping for the smallest change in the data that the invariants allow.

    Parameters
    ----------
    largest : int
        b >= 2, records in the largest stratum (`largest_stratum`).
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    SmallestChange

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    stated = epsilon(largest, rate=rate)
    return SmallestChange(stated=2 * stated, exact=exact_loss(largest, 2, rate=rate), per_record=stated)


@dataclass(frozen=True, kw_only=True)
class SmallestChange:
    """Privacy cost of swapping for the smallest change in the data that the invariants allow. In this change, two
    records of a stratum exchange their values of the swapped variables.

    No smaller change exists. A change of a single record would change a margin, which swapping publishes unchanged. The
    guarantee gives no protection against such a change at any epsilon.

    Parameters
    ----------
    stated : float 2 epsilon by the theorem, because one exchange changes two records.
    exact : float Exact worst-case loss of one exchange if all values are distinct; at most `stated`.
    per_record : float epsilon of the theorem, per unit of distance. No two data sets with the same invariants are at
        this distance.
    distance : int Number of records that differ: 2.
    """

    stated: float
    exact: float
    per_record: float
    distance: int = 2

    def __str__(self) -> str:
        return (
            f"one exchange of two records costs {self.stated:.4g} by the theorem (2 x {self.per_record:.4g}) and "
            f"exactly {self.exact:.4g} if all values are distinct; changes of a margin are not protected"
        )


def exact_epsilon(largest: int, *, rate: float) -> float:
    """Return the largest privacy loss per unit of Hamming distance over all data sets with strata of at most `largest`
    records.

    For b >= 4 and rates up to 1/2 it is attained at distance 2: (1/2) ln(D_b/D_(b-2)) - ln(o), about 1.5/b below
    `epsilon`. Distances 2, 3, 4 and b are compared; in an exhaustive comparison no other distance was the worst (b up
    to 64, rates from 0.001 to 0.999).

    Parameters
    ----------
    largest : int
        b >= 2.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        As in `exact_loss`.
    """
    b, odds = _checks.integer("largest", largest, least=2), _log_odds(rate)
    return max(_loss(b, d, odds) / d for d in {2, min(3, b), min(4, b), b})


def _log_odds(rate: float) -> float:
    p = _checks.inside("rate", rate)
    return float(np.log(p) - np.log1p(-p))


def _log_derangements(n: int) -> NDArray[np.float64]:
    """Return the logs of the numbers of derangements D_0..D_n, computed from the ratios D_(k-1)/D_k. The log of D_1 = 0
    is -inf.
    """
    logs = np.full(n + 1, -np.inf)
    logs[0] = logs[2] = 0.0
    ratio = 0.0
    for k in range(3, n + 1):
        ratio = 1 / ((k - 1) * (1 + ratio))
        logs[k] = logs[k - 1] - np.log(ratio)
    return logs


def _log_subfactorial(k: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log of D_k, the number of derangements of k elements. Beyond k = 20, it equals ln k! - 1 to double
    precision, because |D_k - k!/e| < 1/2.
    """
    small = _log_derangements(20)
    return np.where(k > 20, gammaln(k + 1.0) - 1.0, small[np.minimum(k, 20)])
