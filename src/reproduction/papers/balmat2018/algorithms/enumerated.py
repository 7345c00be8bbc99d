"""Posterior of r = p1/(p1 + p0), computed by enumeration of all compositions with code that is independent of the
samplers.

Given S, r is Beta(alpha + S1, alpha + S0), and S has weight prod_i Gamma(alpha + S_i)/S_i! exp(-|Sn_i - S_i|/scale).
Scores are derivatives of the log density with respect to the log of a parameter. They are used to test the parameter
with draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, gammaln, xlog1py, xlogy

Array = NDArray[np.float64]
# number of grid points of the distribution function; linear interpolation between them has an error below 1e-5
_POINTS = 2001
_INSIDE = 1e-9  # the density for alpha below 1 is undefined at 0 and 1
_STEP = 1e-3  # relative step of the central differences for scores (error of order 1e-6)
SCALE, ALPHA = "noise scale", "prior's concentration"


@dataclass(frozen=True)
class Posterior:
    """Posterior distribution of the ratio r = p1/(p1 + p0), tabulated on a grid.

    Parameters
    ----------
    grid : points in [0, 1].
    cdf, pdf : distribution function and density at these points.
    scores : mapping from a parameter to its score at these points; the mean of a score is 0.
    """

    grid: Array
    cdf: Array
    pdf: Array
    scores: dict[str, Array]

    def at(self, x: Array, parameters: Sequence[str] = ()) -> list[Array]:
        """Return the distribution function of the ratio r, or the scores for `parameters`, at given points of [0, 1].
        The values are interpolated linearly on the grid.
        """
        last = len(self.grid) - 2
        place = np.minimum((x * (last + 1)).astype(np.intp), last)
        place -= x < self.grid[place]  # the product may have been rounded up
        beyond, interpolated = x - self.grid[place], []
        for values in [self.scores[name] for name in parameters] or [self.cdf]:
            slopes = np.diff(values) / np.diff(self.grid)
            interpolated.append(slopes[place] * beyond + values[place])
        return interpolated

    def mean(self, values: Array) -> float:
        """Return the posterior mean of a function of the share r, given the values of this function on the grid."""
        return float(np.trapezoid(values * self.pdf, self.grid))

    def information(self, parameter: str) -> float:
        """Return the Fisher information that a single draw of r contains about the log of a parameter."""
        return self.mean(self.scores[parameter] ** 2)

    def shift(self, parameter: str) -> float:
        """Return the largest change of the distribution function of r, to first order, if a parameter increases by 100
        %.
        """
        change = self.scores[parameter] * self.pdf
        return float(np.abs(np.cumsum((change[1:] + change[:-1]) / 2 * np.diff(self.grid))).max())


def posterior(counts: Sequence[float], *, total: int, scale: float, alpha: float = 1.0) -> Posterior:
    """Return the posterior distribution of r = p1/(p1 + p0) given noisy `counts`, together with its score for each
    parameter. The results for a few settings are cached.
    """
    return _posterior(tuple(counts), total, scale, alpha)


@lru_cache(maxsize=8)
def _posterior(counts: tuple[float, ...], total: int, scale: float, alpha: float) -> Posterior:
    grid = np.linspace(0, 1, _POINTS)
    a, b, weights = _mixture(counts, total, scale, alpha)
    cdf = np.asarray(weights @ betainc(a[:, None], b[:, None], grid))
    inside = np.clip(grid, _INSIDE, 1 - _INSIDE)
    pdf = density(inside, counts, total=total, scale=scale, alpha=alpha)
    scores = {}
    for name, changed in ((SCALE, lambda f: (scale * f, alpha)), (ALPHA, lambda f: (scale, alpha * f))):
        up, down = (density(inside, counts, total=total, **_named(changed(f))) for f in (1 + _STEP, 1 - _STEP))
        slope = (up - down) / (2 * _STEP)
        scores[name] = np.divide(slope, pdf, out=np.zeros_like(pdf), where=pdf > 1e-12 * pdf.max())
    return Posterior(grid, cdf, pdf, scores)


def density(x: Array, counts: Sequence[float], *, total: int, scale: float, alpha: float = 1.0) -> Array:
    """Return the posterior density of the ratio r = p1/(p1 + p0) at points of [0, 1]. The end points require alpha >=
    1.
    """
    a, b, weights = _mixture(counts, total, scale, alpha)
    ends = (
        np.maximum(xlogy(1.0, x), -1e300),
        np.maximum(xlog1py(1.0, -x), -1e300),
    )  # finite, because it is multiplied by 0
    logs = np.multiply.outer(a - 1, ends[0]) + np.multiply.outer(b - 1, ends[1])
    logs -= betaln(a, b)[:, None]
    return np.asarray(weights @ np.exp(logs))


def moments_given(
    p: Array, counts: Sequence[float], *, total: int, scale: float, alpha: float = 1.0
) -> tuple[Array, Array]:
    """Return the conditional mean and variance of the share r, given the noisy counts and each vector p of multinomial
    probabilities. The counts S are drawn given p and the noisy counts. Given the first two counts S1 and S0, r has the
    distribution Beta(alpha + S1, alpha + S0).

    Parameters
    ----------
    p : float64 (n, 3), multinomial probabilities of S.
    counts, total, scale, alpha : as in `density`.

    Returns
    -------
    means, variances : float64 (n,).
    """
    parts = _parts(total)
    static = (-gammaln(parts + 1) - np.abs(np.asarray(counts) - parts) / scale).sum(axis=1)
    log_p = np.log(p, out=np.full(p.shape, -1e30), where=p > 0)  # finite, because a count of 0 has weight 0^0 = 1
    a, b = alpha + parts[:, 0], alpha + parts[:, 1]
    centres, spreads, moments = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1)), []
    for rows in np.array_split(log_p, max(1, len(p) // 200)):
        logs = rows @ parts.T + static
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        means = weights @ centres
        moments.append((means, weights @ spreads + (weights * (centres - means[:, None]) ** 2).sum(axis=1)))
    means, variances = (np.concatenate(column) for column in zip(*moments, strict=True))
    return means, variances


def _named(pair: tuple[float, float]) -> dict[str, float]:
    return dict(zip(("scale", "alpha"), pair, strict=True))


def _mixture(counts: Sequence[float], total: int, scale: float, alpha: float) -> tuple[Array, Array, Array]:
    """Return the parameters and weights of the distribution of the share r, which is a mixture of Beta distributions.
    The mixture has one component per composition of `total` into three parts.
    """
    parts = _parts(total)
    logs = (gammaln(alpha + parts) - gammaln(parts + 1) - np.abs(np.asarray(counts) - parts) / scale).sum(axis=1)
    weights = np.exp(logs - logs.max())
    return alpha + parts[:, 0], alpha + parts[:, 1], weights / weights.sum()


def _parts(total: int) -> Array:
    """Return all compositions of `total` into three parts, as a float64 array of shape (n, 3)."""
    s1, s0 = (side.ravel() for side in np.meshgrid(np.arange(total + 1.0), np.arange(total + 1.0), indexing="ij"))
    kept = s1 + s0 <= total
    return np.column_stack([s1[kept], s0[kept], total - s1[kept] - s0[kept]])
