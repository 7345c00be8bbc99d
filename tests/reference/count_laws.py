"""Reference implementations of `compositions`, `_fixed_sum`, `dirichlet.draw`, `beta_mixtures.Density`,
`published._window_sums` and `composition_tables.last_move` of balmat2018.

Compositions are selected from the full grid, and coefficients are exact integers. Draws are computed by inversion, one
by one, and the distribution is enumerated. Densities sum every pair of counts, in logs; window sums are computed row by
row; chains run until they reach a vertex.
"""

from itertools import product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, logsumexp

Array = NDArray[np.float64]


def compositions(total: int, categories: int) -> NDArray[np.int64]:
    """Compute `compositions.compositions`: selected from the full grid, then ordered as in Table 1."""
    grid = [c for c in product(range(total + 1), repeat=categories) if sum(c) == total]
    return np.array(sorted(grid, key=lambda c: (-c[0], *c[1:])), dtype=np.int64)


def coefficients(counts: NDArray[np.int64]) -> list[int]:
    """Return multinomial coefficients as exact integers."""
    return [factorial(int(sum(c))) // prod(factorial(int(s)) for s in c) for c in counts]


def law(log_factors: Array) -> tuple[NDArray[np.int64], Array]:
    """Return every composition and its probability under `fixed_sum`, by enumeration in logs."""
    counts = compositions(log_factors.shape[1] - 1, len(log_factors))
    logs = log_factors[range(len(log_factors)), counts].sum(axis=1)
    return counts, np.exp(logs - logsumexp(logs))


def draw(factors: Array, suffix: Array, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Compute `fixed_sum.draw` by inversion, category by category."""
    categories, n = factors.shape
    out = np.empty((size, categories), dtype=np.int64)
    left = np.full(size, n - 1)
    for i in range(categories - 1):
        for j, u in enumerate(rng.random(size)):
            weights = np.cumsum(factors[i, : left[j] + 1] * suffix[i + 1, left[j] :: -1])
            out[j, i] = min(np.searchsorted(weights, u * weights[-1], side="right"), left[j])
        left = left - out[:, i]
    out[:, -1] = left
    return out


def draw_dirichlet(alpha: Array, counts: NDArray[np.int64], *, rng: np.random.Generator) -> Array:
    """Compute `dirichlet.draw`."""
    gammas = rng.standard_gamma(alpha + counts)
    return np.asarray(gammas * (1.0 / gammas.sum(axis=1, keepdims=True)))


def log_density(
    z: Array, *, mine: Array, theirs: Array, of_total: Array, alpha: float, beta: float, first: tuple[int, int, int]
) -> Array:
    """Compute `beta_mixtures.log_density` by the double sum over all pairs."""
    s, t = np.meshgrid(np.arange(len(mine)), np.arange(len(theirs)), indexing="ij")
    n = s + t + first[0] + first[1] - first[2]
    kept = (n >= 0) & (n < len(of_total))
    s, t, n = s[kept], t[kept], n[kept]
    a, b = alpha + first[0] + s, beta + first[1] + t
    logs = np.log(mine[s]) + np.log(theirs[t]) + np.log(of_total[n]) - betaln(a, b)
    below = -np.logaddexp(0.0, -np.asarray(z, dtype=float))
    above = -np.logaddexp(0.0, np.asarray(z, dtype=float))
    return np.array([logsumexp(logs + a * x + b * y) for x, y in zip(below, above, strict=True)])


TIE = 1e-12


def summaries(log_weights: NDArray[np.float64], widths: NDArray[np.int64], *, level: float) -> NDArray[np.float64]:
    """Return the log sum, mean, sd, lower and upper end of every row, measured from its first entry."""
    out = np.full((len(log_weights), 5), np.nan)
    tail = (1 - level) / 2
    for row, logs, width in zip(out, log_weights, widths, strict=True):
        top = logs[:width].max()
        row[0] = top
        if top == -np.inf:
            continue
        weights = np.exp(logs[:width] - top)
        total, j = weights.sum(), np.arange(width)
        mean = j @ weights / total
        row[:3] = top + np.log(total), mean, np.sqrt((j - mean) ** 2 @ weights / total)
        row[3] = np.argmax(np.cumsum(weights) >= tail * (1 - TIE) * total)
        row[4] = width - 1 - np.argmax(np.cumsum(weights[::-1]) > tail * (1 + TIE) * total)
    return out


def last_move(rows: Array, static: Array, alpha: float, iterations: int, rng: np.random.Generator) -> int | None:
    """Return the iteration at which a chain reaches a vertex, or None."""
    p = rng.dirichlet(np.ones(3))
    for iteration in range(iterations):
        log_p = np.log(p, out=np.full(3, -1e30), where=p > 0)  # finite, so that a count of 0 has weight 0^0 = 1
        weights = np.cumsum(np.exp(static + rows @ log_p))
        shape = alpha + rows[np.searchsorted(weights, rng.random() * weights[-1], side="right")]
        p = np.zeros(3)
        p[shape > 0] = rng.dirichlet(shape[shape > 0])
        if p.max() == 1.0:
            return iteration
    return None
