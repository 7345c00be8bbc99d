"""Reference implementations of `dirichlet.draw` and `beta_mixtures.Density` (every pair of counts, in logs)."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, logsumexp

Array = NDArray[np.float64]


def draw(alpha: Array, counts: NDArray[np.int64], *, rng: np.random.Generator) -> Array:
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
