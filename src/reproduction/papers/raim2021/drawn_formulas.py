"""The slides' formulas at the points that the figures draw; nothing of the direct sampler is used.

A target is (z, mu, sigma2, count, scale): weight normal or gamma, Laplace base of that scale.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln, lambertw

from . import printed

Array = NDArray[np.float64]
LEVEL = 1e-4  # of every law (published.tsv)
# what the draws of a target tell most about: of xi_mean the noise's scale moves only the fifth decimal
TELLS = {"xi_mean": "sigma2", "xi_sse": "scale"}
WORDS = {"xi_mean": "sigma2/s_c", "xi_sse": "noise scale"}
_LEAST = -600.0  # log u over alpha - 1 below which A_u is all but the whole support
_CELL = 60  # points of a bin's mass
_WHOLE = 40_001  # points of a normalising constant


@dataclass(frozen=True)
class Target:
    """xi_mean (normal weight) or xi_sse (gamma weight) on a Laplace base."""

    kind: str
    z: float
    mu: float
    sigma2: float
    count: float
    scale: float

    @property
    def variance(self) -> float:
        """tau^2 of the normal weight."""
        return self.sigma2 / self.count

    @property
    def shape(self) -> float:
        """alpha of the gamma weight; its beta is 2 sigma2."""
        return (self.count - 1) / 2

    def log_weight(self, xi: Array) -> Array:
        """log w(xi)/c."""
        if self.kind == "xi_mean":
            return -((self.z - xi - self.mu) ** 2) / (2 * self.variance)
        s = self.z - xi
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = (self.shape - 1) * np.log(s) - s / (2 * self.sigma2)
        top = (self.shape - 1) * np.log(2 * self.sigma2 * (self.shape - 1)) - (self.shape - 1)
        return np.where(s > 0, logs - top, -np.inf)

    def log_maximum(self) -> float:
        """log c: of the normal weight 0, of the gamma weight as printed."""
        if self.kind == "xi_mean":
            return 0.0
        a = self.shape
        return float((a - 1) * np.log(a - 1) - (a - 1) - gammaln(a) - np.log(2 * self.sigma2))

    def ends(self, log_u: Array) -> tuple[Array, Array]:
        """A_u: the normal weight's formula; of the gamma weight by Lambert's function, w(s) = u c at s = -s* W(..)."""
        if self.kind == "xi_mean":
            with np.errstate(invalid="ignore"):  # u > 1 has no A_u: NaN
                reach = np.sqrt(-2 * self.variance * np.asarray(log_u, dtype=float))
            return self.z - self.mu - reach, self.z - self.mu + reach
        top = 2 * self.sigma2 * (self.shape - 1)
        inside = -np.exp(-1 + np.maximum(log_u / (self.shape - 1), _LEAST))
        large, small = (-top * lambertw(inside, k).real for k in (-1, 0))
        return self.z - large, self.z - small

    def area(self, u: Array | pd.Series) -> Array:
        """P(A_u) = G(x2) - G(x1); of any u up to 1."""
        with np.errstate(divide="ignore"):
            return self.log_area(np.log(np.asarray(u, dtype=float)))

    def log_area(self, log_u: Array | pd.Series) -> Array:
        """P(A_u), by log u."""
        low, high = self.ends(np.asarray(log_u, dtype=float))
        return printed.laplace_cdf(high, self.scale) - printed.laplace_cdf(low, self.scale)

    def density(self, xi: Array) -> Array:
        """w g/psi, psi by quadrature."""
        return np.exp(self._log(np.asarray(xi, dtype=float)) - self.log_psi)

    def masses(self, edges: Array) -> Array:
        """What the density holds between neighbouring edges."""
        parts = np.diff(edges)[:, None] * (np.arange(_CELL) + 0.5) / _CELL
        return np.exp(self._log(edges[:-1, None] + parts) - self.log_psi).mean(axis=1) * np.diff(edges)

    def changed(self, **parts: float) -> "Target":
        """The target with other parameters."""
        return Target(**{field.name: getattr(self, field.name) for field in fields(self)} | parts)

    def _log(self, xi: Array) -> Array:
        return self.log_weight(xi) - np.abs(xi) / self.scale

    @cached_property
    def log_psi(self) -> float:
        """log of psi/c times twice the base's scale, by quadrature where the weight counts."""
        sd = self.variance**0.5 if self.kind == "xi_mean" else 2 * self.sigma2 * self.shape**0.5
        centre = self.z - self.mu if self.kind == "xi_mean" else self.z - 2 * self.sigma2 * self.shape
        pull = sd**2 / self.scale
        grid = np.linspace(centre - 12 * sd - pull, centre + 12 * sd + pull, _WHOLE)
        grid = np.append(grid, 0.0) if grid[0] < 0 < grid[-1] else grid  # the base's kink
        grid.sort()
        logs = self._log(grid)
        top = logs.max()
        return float(top + np.log(np.trapezoid(np.exp(logs - top), grid)))
