"""Conjugate prior of a normal sample, by default derived from the public limits of the data.

`released` reads the four released numbers, as a sequence or by name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv

from ... import _checks
from ..._mechanisms.sufficient_statistics import STATISTICS

SHAPE = 1.0  # shape of sigma2's inverse gamma distribution if the prior comes from the limits
SHARE = 0.01  # its rate, in squared widths of [lower, upper]


@dataclass(frozen=True)
class Prior:
    """Prior of a normal sample: mu ~ N(mu0, var0), sigma2 ~ inverse gamma(shape0, rate0), in the unit of the data.

    Parameters
    ----------
    mu0, var0 : mean and variance > 0 of mu.
    shape0, rate0 : > 0; sigma2 has density t^(-shape0 - 1) exp(-rate0/t).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """

    mu0: float
    var0: float
    shape0: float
    rate0: float

    def __post_init__(self) -> None:
        _checks.number("mu0", self.mu0)
        for name in ("var0", "shape0", "rate0"):
            _checks.positive(name, getattr(self, name))

    @classmethod
    def from_limits(cls, lower: float, upper: float) -> "Prior":
        """Return the default prior: mu ~ N(middle, (width/2)^2), sigma2 ~ IG(1, width^2/100), width = upper - lower.

        sigma lies between width/21 and width with probability 0.98, its median is 0.12 widths: suitable for sensibly
        chosen limits.

        Parameters
        ----------
        lower, upper : public limits, lower < upper.

        Returns
        -------
        Prior
        """
        if not _checks.number("lower", lower) < _checks.number("upper", upper):
            raise ValueError(f"lower must be below upper, got lower = {lower} and upper = {upper}")
        width = float(upper) - float(lower)
        return cls(0.5 * (float(lower) + float(upper)), (0.5 * width) ** 2, SHAPE, SHARE * width**2)

    def standardised(self, lower: float, upper: float) -> "Prior":
        """Return the prior in the unit u = (x - middle)/(width/2), for which the limits are -1 and 1."""
        half = 0.5 * (upper - lower)
        mu0 = (self.mu0 - 0.5 * (lower + upper)) / half
        return Prior(mu0, self.var0 / half**2, self.shape0, self.rate0 / half**2)

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw independent values of (mu, sigma2) from the prior: float64 (size, 2)."""
        count = _checks.integer("size", size)
        mu = self.mu0 + self.var0**0.5 * _checks.generator(rng).standard_normal(count)
        return np.column_stack([mu, self.rate0 / rng.standard_gamma(self.shape0, count)])

    def log_density(self, mu: NDArray[np.float64], log_sigma2: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log prior density of (mu, log sigma2), up to a constant."""
        square = (mu - self.mu0) ** 2 / (2 * self.var0)
        return np.asarray(-square - self.shape0 * log_sigma2 - self.rate0 * np.exp(-log_sigma2))

    def __iter__(self) -> Iterator[float]:
        return iter((self.mu0, self.var0, self.shape0, self.rate0))

    def __repr__(self) -> str:
        low, high = (self.rate0 / gammaincinv(self.shape0, [0.99, 0.01])) ** 0.5
        return (
            f"Prior(mu ~ N({self.mu0:.6g}, {self.var0**0.5:.6g}^2), sigma2 ~ IG({self.shape0:g}, {self.rate0:.6g}): "
            f"sigma in {low:.3g} .. {high:.3g} with probability 0.98)"
        )


Array = NDArray[np.float64]


def released(release: ArrayLike | Mapping[str, float]) -> Array:
    """Return the four released numbers in the order of `STATISTICS`: float64 (4,).

    Parameters
    ----------
    release : four finite numbers, or a mapping with the keys mean, sse, low, high.

    Raises
    ------
    ValueError, TypeError
        If they are not four finite numbers, or the keys differ.
    """
    if isinstance(release, Mapping):
        if set(release) != set(STATISTICS):
            raise ValueError(f"release must have the keys {', '.join(STATISTICS)}, got {', '.join(map(str, release))}")
        release = [release[key] for key in STATISTICS]
    z = _checks.reals("release", release)
    if len(z) != 4:
        raise ValueError(f"release must be four numbers ({', '.join(STATISTICS)}), got {len(z)}")
    return z
