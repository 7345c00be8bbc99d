"""Reference implementations of `unswapping.abc`, `unswapping.moved_chain`, `unswapping.mixture` and `unswapping.waves`.

The components of the odds' sums come from gamma functions, and the terms from exponentials.
"""

import numpy as np
from numpy.typing import NDArray
from reference.swapping import sources
from scipy.special import loggamma

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def abc(
    observed: Counts,
    alpha: Array,
    iterations: int,
    *,
    rate: float,
    rng: np.random.Generator,
    margins_first: bool = False,
) -> tuple[Array, Counts]:
    """Compute `unswapping.abc`."""
    draws, originals = [], []
    n = int(observed.sum())
    for _ in range(iterations):
        gammas = rng.standard_gamma(alpha)
        cumulative = np.cumsum(gammas)
        cells = np.searchsorted(cumulative[:-1], rng.random(n) * cumulative[-1], side="right")
        original = np.bincount(cells, minlength=observed.size).reshape(observed.shape)
        margins = [np.array_equal(original.sum(axis=a), observed.sum(axis=a)) for a in (0, 1)]
        if margins_first and not all(margins):
            continue
        row, column = np.divmod(cells, observed.shape[1])
        swapped = original
        if n >= 2:
            moved = row[sources(np.zeros(n, dtype=np.int64), rate=rate, rng=rng)]
            swapped = np.bincount(moved * observed.shape[1] + column, minlength=observed.size).reshape(observed.shape)
        if np.array_equal(swapped, observed):
            draws.append(gammas / cumulative[-1])
            originals.append(original.ravel())
    shape = (-1, observed.size)
    return np.array(draws).reshape(shape), np.array(originals, dtype=np.int64).reshape(shape)


def _below(rng: np.random.Generator, n: int) -> int:
    return int(rng.random() * n)


def _two_of(rng: np.random.Generator, n: int) -> tuple[int, int]:
    first, second = _below(rng, n), _below(rng, n - 1)
    return first, second + (second >= first)


def _propose(order: list[int], k: int, sigma: Counts, rng: np.random.Generator) -> tuple[int, int, float, bool] | None:
    """Return (i, j, ratio of proposals, whether k must not change), or None if there is nothing to choose."""
    fixed, kind = len(order) - k, rng.random()
    if kind < 0.3:
        if k == 0:
            return None
        j = order[_below(rng, k)]
        i = int(sigma[j])
        two_cycle = sigma[i] == j
        back = 2 * 0.15 / ((fixed + 2) * (fixed + 1)) if two_cycle else 0.15 / ((fixed + 1) * (k - 1))
        return i, j, back / (0.3 * (2 if two_cycle else 1) / k), False
    if kind < 0.45:
        if k == 0 or fixed == 0:
            return None
        i = order[k + _below(rng, fixed)]
        j = order[_below(rng, k)]
        return i, j, (0.3 / (k + 1)) / (0.15 / (fixed * k)), False
    if kind < 0.6:
        if fixed < 2:
            return None
        a, b = _two_of(rng, fixed)
        return order[k + a], order[k + b], (0.3 * 2 / (k + 2)) / (0.15 * 2 / (fixed * (fixed - 1))), False
    if kind < 0.9:
        if k < 3:
            return None
        a, b = _two_of(rng, k)
        return order[a], order[b], 1.0, True
    return *_two_of(rng, len(order)), 1.0, False


def _mark(order: list[int], k: int, i: int, moved: bool) -> int:
    at = order.index(i)
    if moved == (at < k):
        return k
    target = k if moved else k - 1
    order[at], order[target] = order[target], order[at]
    return k + (1 if moved else -1)


def moved_chain(
    swapped: Counts, sigma: Counts, log_weights: Array, alpha: Array, *, draws: int, thin: int, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Compute `unswapping.moved_chain`."""
    row, column = (np.repeat(codes.ravel(), swapped.ravel()) for codes in np.indices(swapped.shape))
    order = [*np.flatnonzero(sigma != np.arange(len(sigma))), *np.flatnonzero(sigma == np.arange(len(sigma)))]
    k = int((sigma != np.arange(len(sigma))).sum())
    counts = np.zeros(swapped.shape, dtype=np.int64)
    np.add.at(counts, (row[sigma], column), 1)
    prior = alpha.reshape(swapped.shape)
    originals, moved = [], []
    for step in range(draws * thin):
        if (proposed := _propose(order, k, sigma, rng)) is not None:
            i, j, ratio, same_size = proposed
            u = rng.random()
            other = sigma.copy()
            other[[i, j]] = sigma[[j, i]]
            size = int((other != np.arange(len(sigma))).sum())
            after = counts.copy()
            np.subtract.at(after, (row[sigma[[i, j]]], column[[i, j]]), 1)
            common = after.copy()
            np.add.at(after, (row[other[[i, j]]], column[[i, j]]), 1)
            if not (same_size and size != k) and size != 1:
                for end, power in ((after, 1), (counts, -1)):
                    for cell in zip(*np.nonzero(end - common), strict=True):
                        for extra in range(end[cell] - common[cell]):
                            ratio *= float(prior[cell] + common[cell] + extra) ** power
                if u < ratio * np.exp(log_weights[size] - log_weights[k]):
                    sigma[:], counts = other, after
                    for record in (i, j):
                        k = _mark(order, k, record, bool(sigma[record] != record))
        if (step + 1) % thin == 0:
            originals.append(counts.ravel().copy())
            moved.append(k)
    shape = (draws, swapped.size)
    return np.array(originals, dtype=np.int64).reshape(shape), np.array(moved, dtype=np.int64)


Complex = NDArray[np.complex128]


def mixture(a: Array, weights: Array, tilt: float, t: Array) -> Complex:
    """Compute `unswapping.mixture` without a recursion."""
    s = tilt + 1j * np.asarray(t, dtype=float)
    found = np.zeros(len(s), dtype=complex)
    for row, weight in zip(np.asarray(a, dtype=float), weights, strict=True):
        logs = [loggamma(x + sign * s) - loggamma(x) for x, sign in zip(row, (1, -1, -1, 1), strict=True)]
        found += weight * np.exp(sum(logs))
    return found


def waves(x: Array, step: float, values: Complex) -> Complex:
    """Compute `unswapping.waves` term by term."""
    t = step * (np.arange(len(values)) + 0.5)
    return np.array([(np.exp(-1j * t * at) * values).sum() for at in np.asarray(x, dtype=float)])
