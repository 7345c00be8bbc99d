"""Weights and bases of the direct sampler: laws of an unprotected statistic, and laws of the noise."""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ... import _checks
from ._noise_laws import GammaStatistic, NoiseLaw, NormalStatistic

LEAST_COUNT = 4  # records in a sum of squares, for a bounded gamma weight


@dataclass(frozen=True)
class NormalWeight:
    """w(xi) = exp(-(z - xi - mu)^2 count/(2 sigma2)): largest value 1, at xi = z - mu.

    Parameters
    ----------
    z : released value.
    mu, sigma2 : of one record.
    count : records that the mean is of, > 0.
    """

    z: float
    _: KW_ONLY
    mu: float
    sigma2: float
    count: float = 1

    def __post_init__(self) -> None:
        _checks.number("z", self.z)
        _checks.number("mu", self.mu)
        _checks.positive("sigma2", self.sigma2)
        _checks.positive("count", self.count)

    @property
    def mode(self) -> float:
        return self.z - self.mu

    @property
    def log_maximum(self) -> float:
        return 0.0

    def log_relative(self, xi: NDArray[np.float64]) -> NDArray[np.float64]:
        """log(w(xi)/c)."""
        return -((xi - self.mode) ** 2) * self.count / (2 * self.sigma2)

    def problem(self) -> dict[str, float | str]:
        return {"weight": "normal", "mode": self.mode, "width": (self.sigma2 / self.count) ** 0.5}

    def exact(self, scale: float) -> NoiseLaw:
        return NormalStatistic(self.z, self.mu, self.sigma2 / self.count, scale)


@dataclass(frozen=True)
class GammaWeight:
    """w(xi) = Gamma density of z - xi with shape (count - 1)/2 and scale 2 sigma2; needs count >= 4 to be bounded.

    Parameters
    ----------
    z : released value.
    sigma2 : of one record.
    count : records in the sum of squares.
    """

    z: float
    _: KW_ONLY
    sigma2: float
    count: float

    def __post_init__(self) -> None:
        _checks.number("z", self.z)
        _checks.positive("sigma2", self.sigma2)
        if not _checks.positive("count", self.count) >= LEAST_COUNT:
            raise ValueError(
                f"count must be >= {LEAST_COUNT}, got {self.count}: the gamma weight has shape (count - 1)/2, and "
                "direct sampling needs a maximum inside the support, that is a shape above 1"
            )

    @property
    def power(self) -> float:
        return (self.count - 3) / 2

    @property
    def mode(self) -> float:
        return self.z - 2 * self.sigma2 * self.power

    @property
    def log_maximum(self) -> float:
        return float(self.power * np.log(self.power) - self.power - gammaln(self.power + 1) - np.log(2 * self.sigma2))

    def log_relative(self, xi: NDArray[np.float64]) -> NDArray[np.float64]:
        """log(w(xi)/c)."""
        ratio = (self.z - np.asarray(xi, dtype=float)) / (self.z - self.mode)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(ratio > 0, self.power * (np.log(ratio) - (ratio - 1)), -np.inf)

    def problem(self) -> dict[str, float | str]:
        return {"weight": "gamma", "mode": self.mode, "width": self.z - self.mode, "power": self.power}

    def exact(self, scale: float) -> NoiseLaw:
        return GammaStatistic(self.z, self.power + 1, 2 * self.sigma2, scale)


@dataclass(frozen=True)
class LaplaceBase:
    """Laplace(scale) noise."""

    scale: float

    def __post_init__(self) -> None:
        _checks.positive("scale", self.scale)

    def problem(self, reach: float) -> dict[str, float | str | NDArray[np.float64]]:
        return {"base": "laplace", "scale": self.scale}


@dataclass(frozen=True)
class GaussianBase:
    """N(0, sd^2) noise."""

    sd: float

    def __post_init__(self) -> None:
        _checks.positive("sd", self.sd)

    def problem(self, reach: float) -> dict[str, float | str | NDArray[np.float64]]:
        return {"base": "gaussian", "scale": self.sd}


class IntegerBase(ABC):
    """Symmetric noise on the whole numbers, as a table of log tails up to `reach`."""

    @abstractmethod
    def log_tail(self, size: int) -> NDArray[np.float64]:
        """log P(X >= k) for k = 0 .. size - 1."""

    def problem(self, reach: float) -> dict[str, float | str | NDArray[np.float64]]:
        return {"base": "integers", "tail": self.log_tail(int(reach) + 2)}


@dataclass(frozen=True)
class GeometricBase(IntegerBase):
    """Two-sided geometric noise, P(k) proportional to exp(-abs(k)/scale)."""

    scale: float

    def __post_init__(self) -> None:
        _checks.positive("scale", self.scale)

    def log_tail(self, size: int) -> NDArray[np.float64]:
        tail = -np.arange(size) / self.scale - np.log1p(np.exp(-1 / self.scale))
        return np.asarray(tail)


@dataclass(frozen=True)
class DiscreteGaussianBase(IntegerBase):
    """Discrete Gaussian noise, P(k) proportional to exp(-k^2/(2 sd^2)) (Canonne, Kamath, Steinke 2020)."""

    sd: float

    def __post_init__(self) -> None:
        _checks.positive("sd", self.sd)

    def log_tail(self, size: int) -> NDArray[np.float64]:
        k = np.arange(size + int(40 * self.sd) + 40)
        logs = -(k**2) / (2 * self.sd**2)
        tail = np.logaddexp.accumulate(logs[::-1])[::-1]
        return np.asarray((tail - np.logaddexp(tail[0], tail[1]))[:size])
