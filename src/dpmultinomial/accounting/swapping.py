"""Privacy loss of permutation swapping given its invariants: a theorem of Bailie, Gong and Meng (2023), and exactly.

The guarantee is a Lipschitz bound: two data sets with the same invariants at Hamming distance d (records that differ,
order ignored) have output laws within exp(epsilon d) of each other. Distance 1 never occurs, since margins are fixed;
the closest pairs exchange the swapped values of two records, d = 2, and their guaranteed bound is 2 epsilon.
"""

from collections.abc import Sequence

import numpy as np

from .. import _checks


def largest_stratum(strata: Sequence[tuple[int, int, int]]) -> int:
    """b of the theorem: the largest stratum in which a swap can change anything.

    Parameters
    ----------
    strata : (records, distinct swapped values, distinct held values) of every stratum. With one distinct value of
        either kind nothing can change. Returns 0 if no stratum counts.
    """
    return max((n for n, swapped, held in strata if min(swapped, held) >= 2), default=0)


def epsilon(largest: int, *, rate: float) -> float:
    """Loss per unit of Hamming distance by the theorem: ln(b + 1) - ln(o), o = rate/(1 - rate).

    Parameters
    ----------
    largest : b >= 2, records in the largest stratum (`largest_stratum`).
    rate : swap rate in (0, 1). Above 1/2 the bound is max(ln(b + 1) - ln(o), ln(o)), a second branch of the same
        argument; it is smallest at o = sqrt(b + 1) (`best_rate`).
    """
    b, odds = _checks.whole("largest", largest, least=2), _log_odds(rate)
    return float(max(np.log(b + 1) - odds, odds))


def best_rate(largest: int) -> tuple[float, float]:
    """(rate, epsilon) with the smallest `epsilon` for b records: o = sqrt(b + 1), epsilon = ln(b + 1)/2."""
    root = np.sqrt(_checks.whole("largest", largest, least=2) + 1.0)
    return float(root / (1 + root)), float(np.log(root))


def rate_for(epsilon: float, *, largest: int) -> float:
    """Smallest swap rate at most 1/2 whose `epsilon` does not exceed the given one.

    Raises
    ------
    ValueError
        If even rate 1/2 costs more; the message names the least epsilon, ln(b + 1).
    """
    wanted, b = _checks.positive("epsilon", epsilon), _checks.whole("largest", largest, least=2)
    if wanted < np.log(b + 1):
        raise ValueError(f"epsilon must be >= ln(b + 1) = {np.log(b + 1):.4f} for rates up to 1/2, got {epsilon}")
    odds = (b + 1) * np.exp(-wanted)
    return float(odds / (1 + odds))


def exact_loss(largest: int, distance: int, *, rate: float) -> float:
    """Exact worst loss between two data sets `distance` records apart, all values of both variables distinct.

    A permutation with k moved records has probability o^k/D_k up to a constant, and d records that differ change k by
    at most d: max over reachable (k, k') of (k - k') ln o + ln D_k' - ln D_k. Coarser values are post-processing and
    lose less.
    """
    b, d = _checks.whole("largest", largest, least=2), _checks.whole("distance", distance, least=2)
    _checks.whole("distance", distance, most=b)
    logs, odds = _log_derangements(b), _log_odds(rate)
    k = np.arange(b + 1)
    value = k * odds - logs  # log probability up to a constant, by number moved
    worst = 0.0
    for start in np.delete(k, 1):
        other = k[max(start - d, 0) : min(start + d, b) + 1]
        other = other[(other != 1) & (other + start >= d)]
        if len(other):
            worst = max(worst, value[start] - value[other].min())
    return float(worst)


def exact_epsilon(largest: int, *, rate: float) -> float:
    """Smallest loss per unit of distance that holds for every data set with strata of at most `largest` records.

    For b >= 4 and rates up to 1/2 it is attained at distance 2: (1/2) ln(D_b/D_(b-2)) - ln(o), about 1.5/b below
    `epsilon`. Distances 2, 3, 4 and b are compared; no other was ever the worst when all were (b up to 64, rates from
    0.001 to 0.999).
    """
    b = _checks.whole("largest", largest, least=2)
    return max(exact_loss(b, d, rate=rate) / d for d in {2, min(3, b), min(4, b), b})


def _log_odds(rate: float) -> float:
    p = _checks.inside("rate", rate)
    return float(np.log(p) - np.log1p(-p))


def _log_derangements(n: int) -> np.ndarray:
    """ln D_0..ln D_n (D_1 = 0: -inf), from the ratios D_(k-1)/D_k."""
    logs = np.full(n + 1, -np.inf)
    logs[0] = logs[2] = 0.0
    ratio = 0.0
    for k in range(3, n + 1):
        ratio = 1 / ((k - 1) * (1 + ratio))
        logs[k] = logs[k - 1] - np.log(ratio)
    return logs
