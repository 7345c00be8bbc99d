"""Implement the paper's procedures step by step in plain Python, as baselines for timings and as checks of the fast
implementations.
"""

from math import exp, lgamma, log

import numpy as np
from numpy.typing import NDArray


def release(counts: list[int], *, epsilon: float, support: int, rng: np.random.Generator) -> list[NDArray]:
    """Return one release by each algorithm, computed step by step as described in section 3.1. Numbers are drawn from
    listed values with listed probabilities.
    """
    noise = np.arange(-support, support + 1)
    weights = np.exp(-epsilon * np.abs(noise))
    weights = weights / weights.sum()

    def draw_near(centre: int) -> int:
        values = [centre + int(d) for d in noise if centre + d >= 0]
        p = np.array([exp(-epsilon * abs(v - centre)) for v in values])
        return int(rng.choice(values, p=p / p.sum()))

    n = sum(counts) + int(rng.choice(noise, p=weights))
    noisy = [c + int(rng.choice(noise, p=weights)) for c in counts]
    summed = weights
    for _ in range(len(counts) - 1):
        summed = np.convolve(summed, weights)
    reach = len(summed) // 2
    values = [v for v in range(max(n - support, 0), n + support + 1) if abs(sum(noisy) - v) <= reach]
    p = np.array([exp(-epsilon * abs(v - n)) * summed[sum(noisy) - v + reach] for v in values])
    totals = [draw_near(n), int(rng.choice(values, p=p / p.sum()))]
    drawn = np.array([draw_near(v) for v in noisy], dtype=float)
    kept = np.array([max(v, 0) for v in noisy], dtype=float)
    theta, kept = drawn / drawn.sum(), kept / kept.sum()
    out = [rng.multinomial(total, theta) for total in totals]
    return [*out, rng.multinomial(max(n, 0), kept), theorem_1(max(n, 0), kept.tolist())]


def theorem_1(m: int, p: list[float]) -> NDArray[np.int64]:
    """Return a mode of a multinomial distribution by Finucan's method, as printed in Theorem 1."""
    k = [int((m + len(p) / 2) * q) for q in p]
    f = [(m + len(p) / 2) * q - v for q, v in zip(p, k, strict=True)]
    while sum(k) < m:
        q = [(1 - fi) / (ki + 1) for fi, ki in zip(f, k, strict=True)]
        a = q.index(min(q))
        k[a], f[a] = k[a] + 1, f[a] - 1
    while sum(k) > m:
        q = [fi / ki if ki else float("inf") for fi, ki in zip(f, k, strict=True)]
        a = q.index(min(q))
        k[a], f[a] = k[a] - 1, f[a] + 1
    return np.array(k)


def pair_table(released: list[int], *, epsilon: float, window: int) -> NDArray[np.float64]:
    """Return the posterior distribution of two true counts, given a release by algorithm 2 of Wang (2020). The
    posterior is computed by the quadruple sum of section 3.2. The true counts are restricted to within +-window of the
    released counts.
    """
    r1, r2 = released
    total = r1 + r2
    constant = lgamma(total + 1) - lgamma(r1 + 1) - lgamma(r2 + 1)
    table = np.zeros((2 * window + 1, 2 * window + 1))
    for i, true1 in enumerate(range(r1 - window, r1 + window + 1)):
        for j, true2 in enumerate(range(r2 - window, r2 + window + 1)):
            given_total = exp(-epsilon * abs(total - true1 - true2))
            value = 0.0
            for n1 in range(true1 - window, true1 + window + 1):
                for n2 in range(true2 - window, true2 + window + 1):
                    noise = exp(-epsilon * (abs(n1 - true1) + abs(n2 - true2)))
                    logs = constant + r1 * log(n1 / (n1 + n2)) + r2 * log(n2 / (n1 + n2))
                    value += noise * exp(logs) * given_total
            table[i, j] = value
    return table / table.sum()
