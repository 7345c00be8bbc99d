"""Reference implementations of `_sum_chain`, `_frequency_products`, `_mode_products`, `additive_release`, `geometric`.

All vectors are enumerated, every component has a separate factor, and products are computed one by one. A release is
made following section 3.1 of the paper; multinomial modes are computed by largest quotients unit by unit, by Theorem 1
in NumPy, and by an independent check. Geometric noise is inverted draw by draw; smoothing and boxes use a matrix of all
weights.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Spectra = NDArray[np.complex128]
Whole = NDArray[np.int64]


def law(factors: Array, total_factor: Array, first: int) -> tuple[NDArray[np.int64], Array]:
    """Return every vector and its weight (not normalised)."""
    states, size, width = factors.shape
    vectors = np.array(list(product(range(width), repeat=size)))
    columns = np.arange(size)
    if states == 1:
        weights = factors[0, columns, vectors].prod(axis=1)
    else:
        weights = np.zeros(len(vectors))
        for j in range(size):
            kinds = np.where(columns < j, 0, np.where(columns == j, 1, 2))
            weights += factors[kinds, columns, vectors].prod(axis=1)
    place = vectors.sum(axis=1) - first
    inside = (place >= 0) & (place < len(total_factor))
    return vectors, weights * np.where(inside, total_factor[np.where(inside, place, 0)], 0.0)


def solve(factors: Array, total_factor: Array, first: int) -> tuple[float, Array, Array]:
    """Compute `sum_chain.solve` without a chain."""
    vectors, weights = law(factors, total_factor, first)
    width = factors.shape[2]
    marginals = np.array([np.bincount(column, weights, width) for column in vectors.T]) / weights.sum()
    sums = np.bincount(vectors.sum(axis=1), weights, first + len(total_factor))[first:] / weights.sum()
    return float(np.log(weights.sum())), marginals, sums[: len(total_factor)]


def sweep(
    spectra: Spectra, tail: Spectra, clear: Whole, got: Whole | None, lost: Whole | None, *, weight: Array, repeats:
    Whole,
    length: int, early: Array | None, late: Array | None,
) -> tuple[Array, Spectra, Spectra]:  # fmt: skip
    """Compute `frequency_products.sweep`; derivatives by leaving one factor out."""
    table = np.concatenate([spectra, np.zeros((1, spectra.shape[1]))])  # row -1 represents S = 0
    of = np.repeat(np.arange(len(repeats)), repeats)
    adjoints, tail_adjoint, sums = np.zeros_like(table), np.zeros_like(tail), np.zeros((len(clear), 2))
    both = np.full(len(tail), 2.0)
    both[0] = 1.0
    if length % 2 == 0:
        both[-1] = 1.0
    for t, rows in enumerate(clear):
        if got is None or lost is None or early is None or late is None:
            orders = [[(rows[u], 1.0)] for u in of]
            terms = [orders]
        else:
            terms = []
            for j in range(len(of)):
                if got[t, of[j]] < 0:
                    continue
                factors = []
                for s, u in enumerate(of):
                    e = early[t] if s < j else late[t]
                    mixed = [(rows[u], 1.0), (got[t, u], e), (lost[t, u], 1.0 - e)]
                    factors.append([(got[t, u], 1.0)] if s == j else mixed)
                terms.append(factors)
        root = np.zeros_like(tail)
        for factors in terms:
            values = [sum(c * table[row] for row, c in factor) for factor in factors]
            root += np.prod(values, axis=0)
            for s, factor in enumerate(factors):
                others = np.prod(values[:s] + values[s + 1 :], axis=0) * tail * weight[t]
                for row, c in factor:
                    adjoints[row] += c * others / repeats[of[s]]
        sums[t] = (both @ (root * tail).real * weight[t], both @ np.abs(root * tail) * weight[t])
        tail_adjoint += weight[t] * root
    return sums / length, adjoints[:-1].conj(), tail_adjoint.conj()


def integrated(
    every: Spectra, some: Spectra, place: Whole, repeats: Whole, *, rows: Whole, nodes: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> Spectra:  # fmt: skip
    """Compute `mode_products.integrated`."""
    out = np.zeros((len(rows), every.shape[2]), dtype=complex)
    for i, row in enumerate(rows):
        for node, weight in zip(nodes, weights, strict=True):
            tied = [node * some[at] if at >= 0 else 0.0 for at in place[:, row]]
            out[i] += weight * np.prod(
                [(e + s) ** n for e, s, n in zip(every[:, row], tied, repeats, strict=True)], axis=0
            )
    return out


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


def noise(u: float, table: NDArray[np.float64], epsilon: float, least: int) -> int:
    """Draw one value from one uniform, conditional on at least `least`."""
    support = len(table) // 2
    if least > 0 and least > -support:
        return min(support, least + int(-math.log1p(u * math.expm1(-epsilon * (support - least + 1))) / epsilon))
    below = table[least - 1 + support] if least > -support else 0.0
    value = int(np.searchsorted(table, below + u * (1.0 - below), side="right")) - support
    return max(value, least)


def draw(
    size: int, *, table: NDArray[np.float64], epsilon: float, rng: np.random.Generator, least: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Compute `geometric.draw` with the cumulative probabilities `table`."""
    return np.array([noise(rng.random(), table, epsilon, int(least[i])) for i in range(size)], dtype=np.int64)


def weights(distance: NDArray[np.generic], epsilon: float, reach: int) -> Array:
    """Return exp(-epsilon |d|) within the reach, 0 beyond."""
    away = np.abs(np.asarray(distance, dtype=float))
    return np.where(away <= reach, np.exp(-epsilon * away), 0.0)


def smooth(likelihood: Array, *, epsilon: float, reach: int) -> Array:
    """Compute `geometric.smooth`."""
    columns = np.arange(likelihood.shape[1])
    return likelihood @ weights(columns[:, None] - (columns[reach : len(columns) - reach]), epsilon, reach)


def boxes(
    lower: Whole, upper: Whole, kind: Whole, *, low: Whole, width: Whole, rise: Array, epsilon: float, reach: int,
    length: int,
) -> Array:  # fmt: skip
    """Compute `geometric.boxes`."""
    out = np.zeros((len(kind), length))
    for i, u in enumerate(kind):
        for x in range(width[u]):
            count = low[u] + x
            n = np.arange(max(lower[i], count - reach), min(upper[i], count + reach) + 1)
            out[i, x] = rise[u, x] * weights(n - count, epsilon, reach).sum()
    return out
