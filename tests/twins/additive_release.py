"""Reference implementation of `additive_release`: one release at a time, as section 3.1 of the paper is written."""

import numpy as np
from numpy.typing import NDArray
from twins.geometric import noise
from twins.multinomial_mode import mode

Whole = NDArray[np.int64]


def shares(x: Whole) -> Whole:
    """Weights, equal ones where all are 0."""
    return x if x.any() else np.ones_like(x)


def summed_total(u: float, noisy: int, summed: int, epsilon: float, support: int, logs: NDArray[np.float64]) -> int:
    """Draw of the total given its own noisy count and the sum of the noisy components (equation 6)."""
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
    """One release by every algorithm, from the same noise."""
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
