"""Closed-form laws of the Laplace noise in a released statistic, given what the statistic's own law is.

These are the targets of the direct sampler in Raim (2021): xi_mean added to a normal mean, xi_sse to a gamma sum of
squares. Both are two-piece laws, one on each side of xi = 0 (methods of Raim, 2021, in the documentation), so nothing
has to be simulated.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks, _quadrature
from . import _laplace_noise

Array = NDArray[np.float64]
_NARROW = 1e5  # of z over the width of a peak at 0: beyond it z - xi keeps fewer than eleven digits of xi
_FARTHEST = 1e150  # stands for infinity, where a logarithm of xi is taken


class NoiseLaw(ABC):
    """Law of noise xi on the real line, with a kink at 0."""

    @abstractmethod
    def _log_pdf(self, xi: Array) -> Array: ...

    @abstractmethod
    def _log_cdf(self, xi: Array, upper: bool) -> Array: ...

    @abstractmethod
    def _quantile(self, q: Array) -> Array: ...

    @property
    @abstractmethod
    def log_normaliser(self) -> float:
        """log psi, psi = integral of weight times base."""

    @abstractmethod
    def mode(self) -> float:
        """Place of the highest density."""

    def pdf(self, xi: ArrayLike) -> Array:
        """Density at xi, any shape."""
        return np.exp(_flat(self._log_pdf, xi))

    def cdf(self, xi: ArrayLike) -> Array:
        """P(noise <= xi); relative accuracy also where it is tiny."""
        return np.exp(_flat(lambda x: self._log_cdf(x, False), xi))

    def sf(self, xi: ArrayLike) -> Array:
        """P(noise > xi); relative accuracy also where it is tiny."""
        return np.exp(_flat(lambda x: self._log_cdf(x, True), xi))

    def quantile(self, q: ArrayLike) -> Array:
        """xi with P(noise <= xi) = q; q strictly between 0 and 1."""
        levels = _checks.fraction("q", q)
        if np.any((levels == 0) | (levels == 1)):
            raise ValueError("q must lie strictly between 0 and 1: the law has no ends")
        return _flat(self._quantile, levels)

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Independent draws by inversion, one uniform each: float64 (size,)."""
        uniforms = _checks.generator(rng).random(_checks.whole("size", size))
        return self._quantile(1.0 - uniforms) if size else uniforms  # 1 - u is never 0; 1 is moved one step down

    def mean(self) -> float:
        """Expected noise."""
        return self._moments[0]

    def variance(self) -> float:
        """Variance of the noise."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[float, float]:
        low, high = self.quantile([1e-18, 1 - 1e-16])
        far = high + 0.5 * (high - low)
        ends = np.unique(np.concatenate([np.linspace(low, far, 49), [0.0] if low < 0 < far else []]))
        nodes, weights = _quadrature.legendre(40)
        half = np.diff(ends)[:, None] / 2
        x = ((ends[1:] + ends[:-1])[:, None] / 2 + half * nodes).ravel()
        mass = (half * weights).ravel() * self.pdf(x)
        centre = self.mode()
        mean = mass @ (x - centre) / mass.sum()
        return float(centre + mean), float(mass @ (x - centre - mean) ** 2 / mass.sum())


@dataclass(frozen=True)
class NormalStatistic(NoiseLaw):
    """xi given z = s + xi with s ~ N(mu, variance), xi ~ Laplace(scale).

    The weight is exp(-(z - xi - mu)^2/(2 variance)), with maximum 1, as on the slides.

    Parameters
    ----------
    z : released value.
    mu, variance_of_statistic : of s.
    scale : of xi, > 0.
    """

    z: float
    mu: float
    variance_of_statistic: float
    scale: float

    @property
    def log_normaliser(self) -> float:
        total = _laplace_noise.normal_log_total(*self._arguments)
        return float(total - np.log(2 * self.scale) + 0.5 * np.log(2 * np.pi * self.variance_of_statistic))

    @property
    def _arguments(self) -> tuple[float, float, float]:
        return self.z - self.mu, self.variance_of_statistic, self.scale

    def mode(self) -> float:
        m, shift = self.z - self.mu, self.variance_of_statistic / self.scale
        return m - shift if m > shift else min(m + shift, 0.0)

    def _log_pdf(self, xi: Array) -> Array:
        m, variance, scale = self._arguments
        kernel = -np.abs(xi) / scale - (m - xi) ** 2 / (2 * variance) - 0.5 * np.log(2 * np.pi * variance)
        return np.asarray(kernel - _laplace_noise.normal_log_total(m, variance, scale))

    def _log_cdf(self, xi: Array, upper: bool) -> Array:
        return _laplace_noise.normal_log_cdf(xi, *self._arguments, upper)

    def _quantile(self, q: Array) -> Array:
        return _laplace_noise.normal_quantile(np.minimum(q, 1 - 2.0**-53), *self._arguments)


@dataclass(frozen=True)
class GammaStatistic(NoiseLaw):
    """xi given z = s + xi with s ~ Gamma(shape, scale beta), xi ~ Laplace(scale); xi < z.

    The weight is the gamma density of z - xi, as on the slides.

    Parameters
    ----------
    z : released value.
    shape, beta : of s, > 0.
    scale : of xi, > 0.
    """

    z: float
    shape: float
    beta: float
    scale: float

    @property
    def log_normaliser(self) -> float:
        return float(_laplace_noise.gamma_log_psi(*self._arguments))

    @property
    def _arguments(self) -> tuple[float, float, float, float]:
        return self.z, self.shape, self.beta, self.scale

    def mode(self) -> float:
        power, below, above = self.shape - 1, 1 / self.beta + 1 / self.scale, 1 / self.beta - 1 / self.scale
        if power <= 0:
            return 0.0 if self.z > 0 and power + 1 > above * self.z > 0 else self.z
        if power > below * max(self.z, 0.0):
            return self.z - power / below
        return self.z - power / above if above > 0 and power < above * self.z else 0.0

    @property
    def _peaked(self) -> bool:
        """Whether the law is a peak at 0 far narrower than z, so that z - xi says nothing about it."""
        if not self.z > 0:
            return False
        below = 1 / self.beta + 1 / self.scale - (self.shape - 1) / self.z  # fall of log density on either side of 0
        above = (self.shape - 1) / self.z - 1 / self.beta + 1 / self.scale
        return min(below, above) > 0 and max(below, above) * self.z > _NARROW

    def _log_pdf(self, xi: Array) -> Array:
        if not self._peaked:
            return _laplace_noise.gamma_log_pdf(self.z - xi, *self._arguments)
        out, inside = np.full(len(xi), -np.inf), xi < self.z
        out[inside] = _laplace_noise.peak_log_pdf(np.maximum(xi[inside], -_FARTHEST), *self._arguments)
        return out

    def _log_cdf(self, xi: Array, upper: bool) -> Array:
        out = np.full(len(xi), -np.inf if upper else 0.0)
        inside = xi < self.z
        if self._peaked:
            out[inside] = _laplace_noise.peak_log_cdf(np.maximum(xi[inside], -_FARTHEST), *self._arguments, upper)
        else:
            out[inside] = _laplace_noise.gamma_log_cdf(self.z - xi[inside], *self._arguments, not upper)
        return out

    def _quantile(self, q: Array) -> Array:
        levels = np.minimum(q, 1 - 2.0**-53)
        if self._peaked:
            return _laplace_noise.peak_quantile(levels, *self._arguments)
        return self.z - _laplace_noise.gamma_quantile(levels, *self._arguments)


def _flat(function: Callable[[Array], Array], values: ArrayLike) -> Array:
    points = np.asarray(values, dtype=float)
    if np.isnan(points).any():
        raise ValueError("values must not be NaN")
    return np.asarray(function(np.ascontiguousarray(points.ravel()))).reshape(points.shape)
