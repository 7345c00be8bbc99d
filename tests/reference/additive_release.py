"""Reference implementation of `additive_release`: one release at a time, following section 3.1 of the paper.

Multinomial modes are computed by largest quotients unit by unit, by Theorem 1 in NumPy, and by an independent check.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from reference.geometric import noise

Whole = NDArray[np.int64]


def quotients(total: int, x: Whole) -> tuple[Whole, list[int], int]:
    """Return the certain units, the components with a claim of the deciding size, and the number of claims granted."""
    claims = sorted((Fraction(int(v), q) for v in x for q in range(1, total + 1) if v > 0), reverse=True)
    if total == 0:
        return np.zeros(len(x), dtype=np.int64), [], 0
    level = claims[total - 1]
    sure = np.array([sum(Fraction(int(v), q) > level for q in range(1, total + 1)) for v in x], dtype=np.int64)
    tied = [i for i, v in enumerate(x) if v > 0 and (v / level).denominator == 1 and v / level <= total]
    return sure, tied, total - int(sure.sum())


def mode(total: int, x: Whole, *, ties: str, rng: np.random.Generator) -> Whole:
    """Compute `additive_release.modes` for one row."""
    if ties == "ieee":
        return theorem(total, x)
    k, tied, left = quotients(total, x)
    if ties == "last":
        tied = tied[::-1]
    claims = len(tied)
    contested = 0 < left < claims
    for i in tied:
        won = rng.random() * claims < left if ties == "random" and contested else left > 0
        k[i] += won
        left -= won
        claims -= 1
    return k


def theorem(total: int, x: Whole) -> Whole:
    """Apply Theorem 1 of the paper in doubles, with the lowest index among equal q."""
    f = (total + 0.5 * len(x)) * (x / x.sum())
    k: Whole = np.floor(f).astype(np.int64)
    f = f - k
    while k.sum() < total:
        a = int(np.argmin((1.0 - f) / (k + 1)))
        k[a], f[a] = k[a] + 1, f[a] - 1.0
    while k.sum() > total:
        a = int(np.argmin(np.where(k > 0, f / np.maximum(k, 1), math.inf)))
        k[a], f[a] = k[a] - 1, f[a] + 1.0
    return k


def is_mode(total: int, x: Whole, k: Whole) -> bool:
    """Return whether moving one unit never increases the multinomial probability (which is sufficient for a mode)."""
    held = [Fraction(int(v), int(n)) for v, n in zip(x, k, strict=True) if n > 0]
    wanted = [Fraction(int(v), int(n) + 1) for v, n in zip(x, k, strict=True)]
    return int(k.sum()) == total and k.min() >= 0 and (not held or max(wanted) <= min(held))


def shares(x: Whole) -> Whole:
    """Return the weights, or equal weights if all are 0."""
    return x if x.any() else np.ones_like(x)


def summed_total(u: float, noisy: int, summed: int, epsilon: float, support: int, logs: NDArray[np.float64]) -> int:
    """Draw the total given its noisy count and the sum of the noisy components (equation 6)."""
    reach = len(logs) // 2
    values = np.arange(max(noisy - support, 0), noisy + support + 1)
    gap = summed - values
    inside = np.abs(gap) <= reach
    weights = np.where(inside, logs[np.where(inside, gap, 0) + reach], -np.inf) - epsilon * np.abs(values - noisy)
    running = np.cumsum(np.exp(weights - weights.max()))
    return int(values[min(np.searchsorted(running, u * running[-1], side="right"), len(values) - 1)])


def release(
    counts: Whole,
    *,
    epsilon: float,
    table: NDArray[np.float64],
    logs: NDArray[np.float64],
    algorithms: tuple[str, ...],
    ties: str,
    rng: np.random.Generator,
) -> list[Whole]:
    """Make one release by every algorithm, from the same noise."""
    support = len(table) // 2
    noisy = int(counts.sum()) + noise(rng.random(), table, epsilon, -support)
    n = np.array([c + noise(rng.random(), table, epsilon, -support) for c in counts])
    x = n
    if any(a.startswith("1") for a in algorithms):
        x = np.array([v + noise(rng.random(), table, epsilon, -int(v)) for v in n])
    kept, clipped, out = max(noisy, 0), shares(np.maximum(n, 0)), []
    for algorithm in algorithms:
        if algorithm == "3":
            out.append(mode(kept, clipped, ties=ties, rng=rng))
            continue
        total, weights = kept, clipped
        if algorithm == "1-independent":
            total = noisy + noise(rng.random(), table, epsilon, -noisy)
        elif algorithm == "1-summed":
            total = summed_total(rng.random(), noisy, int(n.sum()), epsilon, support, logs)
        if algorithm.startswith("1"):
            weights = shares(x)
        out.append(rng.multinomial(total, weights / weights.sum()))
    return out
