"""Model of a censored normal sample: the conjugate prior, and the posterior distribution given statistics without
noise.

By default, the prior is derived from the public limits of the data. The function `released` checks the four released
numbers, given as a sequence or by name.

The posterior of (mu, sigma2) from censored statistics without noise is also the naive analysis, which treats a noisy
release as exact. The likelihood sigma^-c exp(-(q + c (m - mu)^2)/(2 sigma2)) P_low^l P_high^h is sufficiently
log-concave to have a single mode. The posterior is summed on a grid down to exp(-30) of the maximum. The computing time
does not depend on n.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, repeat
from operator import mul

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import gammaincinv, log_ndtr

from ... import _checks
from ..._accuracy import LEVEL, Accuracy, summary_frame
from ..._mechanisms.sufficient_statistics import STATISTICS, CensoredStatistics
from ..._printing import limits

SHAPE = 1.0  # shape of the inverse gamma distribution of sigma2 if the prior is derived from the limits
SHARE = 0.01  # rate of the inverse gamma distribution, in squared widths of [lower, upper]


@dataclass(frozen=True)
class Prior:
    """Prior of the parameters of a normal sample: mu ~ N(mu0, var0) and sigma2 ~ inverse gamma(shape0, rate0), in the
    units of the data.

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
        """Return the default prior of the mean mu and the variance sigma2, given the censoring limits lower and upper.
        The prior is mu ~ N(middle, (width/2)^2) and sigma2 ~ IG(1, width^2/100), with width = upper - lower and the
        midpoint `middle` of the limits.

        With this prior, sigma is between width/21 and width with probability 0.98, and its median is 0.12 widths. The
        prior is suitable for sensibly chosen limits.

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
        """Return the prior for the rescaled values u = (x - middle)/(width/2), whose limits are -1 and 1."""
        half = 0.5 * (upper - lower)
        mu0 = (self.mu0 - 0.5 * (lower + upper)) / half
        return Prior(mu0, self.var0 / half**2, self.shape0, self.rate0 / half**2)

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw independent values of (mu, sigma2) from the prior, as a float64 array of shape (size, 2)."""
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
            f"sigma in {limits(low, high, 3)} with probability at least 0.98)"
        )


Array = NDArray[np.float64]


def released(release: ArrayLike | Mapping[str, float]) -> Array:
    """Check that a release consists of four finite numbers, and return the numbers in the order of `STATISTICS`, as a
    float64 array of shape (4,).

    Parameters
    ----------
    release : four finite numbers, or a mapping with the keys mean, sse, low, high.

    Raises
    ------
    ValueError, TypeError
        If the release does not consist of four finite numbers, or the keys differ.
    """
    if isinstance(release, Mapping):
        if set(release) != set(STATISTICS):
            raise ValueError(f"release must have the keys {', '.join(STATISTICS)}, got {', '.join(map(str, release))}")
        release = [release[key] for key in STATISTICS]
    z = _checks.reals("release", release)
    if len(z) != 4:
        raise ValueError(f"release must contain four numbers ({', '.join(STATISTICS)}), got {len(z)}")
    return z


POINTS = 401  # number of grid points in each direction
DEPTH = 30.0
FAN = np.concatenate([-np.geomspace(1e-6, 60, 160), [0.0], np.geomspace(1e-6, 60, 160)])
REACHES = tuple(accumulate(repeat(1.3, 106), mul, initial=1e-6))  # the last entry is the first that is at least 1e6


@dataclass(frozen=True, eq=False, repr=False)
class GridPosterior:
    """Posterior distribution of (mu, sigma2) on a grid of (mu, log sigma2).

    Parameters
    ----------
    mu, log_sigma2 : float64 (k,), equally spaced, in the unit of the data.
    mass : float64 (k, k), one row per value of mu, with sum 1.
    prior : prior used.
    noise_ignored : whether noisy statistics were treated as exact.
    tail : tail index of sigma2, whose moments of this order, and of higher orders, are infinite.
    """

    mu: Array
    log_sigma2: Array
    mass: Array
    prior: Prior
    noise_ignored: bool
    tail: float = np.inf

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy status of the posterior. For statistics without noise, the status is ``exact``. If noise was
        ignored, the status is ``approximate`` with unknown error.
        """
        if self.noise_ignored:
            return Accuracy(
                "approximate",
                float("nan"),
                "this method ignores the noise of the release, so the intervals are too short and misplaced",
            )
        return Accuracy("exact", 0.0, f"sums on a grid of {POINTS} x {POINTS}")

    def mean(self) -> Array:
        """Return the posterior means of mu and sigma2, as a float64 array of shape (2,)."""
        sigma2 = self.mass.sum(axis=0) @ np.exp(self.log_sigma2) if self.tail > 1 else np.inf
        return np.array([self.mass.sum(axis=1) @ self.mu, sigma2])

    def sd(self) -> Array:
        """Return the posterior standard deviations of mu and sigma2, as a float64 array of shape (2,)."""
        square = [self.mass.sum(axis=1) @ (self.mu - self.mean()[0]) ** 2]
        square += [self.mass.sum(axis=0) @ (np.exp(self.log_sigma2) - self.mean()[1]) ** 2 if self.tail > 2 else np.inf]
        return np.sqrt(square)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the posterior quantiles of mu and sigma2 at levels in [0, 1], as a float64 array of shape (levels, 2).
        Quantiles are interpolated linearly within the cells of the grid.
        """
        levels = np.atleast_1d(_checks.fraction("q", q))
        columns = []
        for x, mass in ((self.mu, self.mass.sum(axis=1)), (self.log_sigma2, self.mass.sum(axis=0))):
            ends = np.append(x, x[-1] + x[1] - x[0]) - 0.5 * (x[1] - x[0])
            columns.append(np.interp(levels, np.append(0.0, np.cumsum(mass)), ends))
        return np.column_stack([columns[0], np.exp(columns[1])])

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the posterior summaries of mu and sigma2 as a table with the columns quantity, mean, sd, lower, upper,
        level and status. The argument `level` is strictly between 0 and 1.
        """
        tail = (1 - _checks.inside("level", level)) / 2
        lower, upper = self.quantile([tail, 1 - tail])
        return summary_frame(
            ("mu", "sigma2"),
            mean=self.mean(),
            sd=self.sd(),
            lower=lower,
            upper=upper,
            level=level,
            status=self.accuracy,
        )

    def __repr__(self) -> str:
        (mu, sigma2), (a, b) = self.mean(), self.sd()
        values = f"mu = {mu:.5g} +- {a:.2g}, sigma2 = {sigma2:.5g} +- {b:.2g}"
        return f"GridPosterior({values}; {self.prior!r}; {self.accuracy})"


def posterior(
    statistics: ArrayLike | Mapping[str, float], *, n: int, lower: float, upper: float, prior: Prior | None = None
) -> GridPosterior:
    """Compute the posterior distribution of (mu, sigma2) given the noise-free statistics (mean, sse, low, high) of n
    records.

    Parameters
    ----------
    statistics : (mean, sse, low, high): integer counts, low + high <= n, sse >= 0.
    n : number of records, >= 1.
    lower, upper : limits a < b.
    prior : prior in the unit of the data; None uses `Prior.from_limits`.

    Returns
    -------
    GridPosterior

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or if these statistics are impossible.
    """
    m, q, low, high = released(statistics)
    count = _checks.integer("n", n, least=1)
    if low < 0 or high < 0 or low + high > count or low % 1 or high % 1:
        raise ValueError(f"low and high must be integers >= 0 with low + high <= n = {count}, got {low:g} and {high:g}")
    if q < 0:
        raise ValueError(f"sse must be >= 0, got {q:g}")
    return _on_grid(np.array([m, q, low, high]), count, lower, upper, prior, noise_ignored=False)


def naive(
    release: ArrayLike | Mapping[str, float], *, n: int, lower: float, upper: float, prior: Prior | None = None
) -> GridPosterior:
    """Compute the posterior distribution of (mu, sigma2) under the incorrect assumption that the release contains no
    noise. The released values are treated as the statistics, and are changed only if the formulas require it.

    Counts are rounded and clipped to [0, n] (low first, then high to the remainder), and the sum of squares is
    increased to at least 0. The mean is not changed. The parameters, the result and the errors are as in `posterior`.
    The status of the result states what was ignored.

    Parameters
    ----------
    release, n, lower, upper, prior : as in `posterior`.

    Returns
    -------
    As in `posterior`.
    """
    m, q, low, high = released(release)
    count = _checks.integer("n", n, least=1)
    low = float(np.clip(np.rint(low), 0, count))
    high = float(np.clip(np.rint(high), 0, count - low))
    return _on_grid(np.array([m, max(q, 0.0), low, high]), count, lower, upper, prior, noise_ignored=True)


def _on_grid(
    s: Array, n: int, lower: float, upper: float, prior: Prior | None, *, noise_ignored: bool
) -> GridPosterior:
    limits = CensoredStatistics(lower=lower, upper=upper)
    half, middle = limits.width / 2, (limits.lower + limits.upper) / 2
    used = Prior.from_limits(lower, upper) if prior is None else prior
    inner, (m, q, low, high) = used.standardised(lower, upper), (s - [middle, 0, 0, 0]) / [half, half**2, 1, 1]
    c = n - low - high

    def log_density(mu: Array, t: Array) -> Array:
        sigma = np.exp(t / 2)
        tails = low * log_ndtr((-1 - mu) / sigma) + high * log_ndtr((mu - 1) / sigma)
        return np.asarray(inner.log_density(mu, t) - 0.5 * c * t - 0.5 * (q + c * (m - mu) ** 2) / sigma**2 + tails)

    def negative(y: Array) -> float:
        return -float(log_density(y[0], y[1]))

    starts: list[Array] = list(
        np.array([(0.0, 0.0), (m, np.log(max(q, 1e-6) / max(c, 1.0))), (inner.mu0, np.log(inner.rate0 / inner.shape0))])
    )
    with np.errstate(over="ignore"):  # at an extreme starting point, the density is 0
        optima = [minimize(negative, start, method="Nelder-Mead", tol=1e-9) for start in starts]
    best = min(optima, key=lambda r: float(r.fun))
    mu, t = (_cover(log_density, best.x, -best.fun, axis) for axis in (0, 1))
    logs = log_density(mu[:, None], t[None, :])
    mass = np.exp(logs - logs.max())
    tail = used.shape0 + c / 2
    return GridPosterior(middle + half * mu, t + 2 * np.log(half), mass / mass.sum(), used, noise_ignored, tail)


def _cover(log_density: Callable[[Array, Array], Array], mode: Array, top: float, axis: int) -> Array:
    """Return a grid for coordinate `axis` that covers the main part of the density. The grid contains all points at
    which the profile of the density is at least exp(-DEPTH) times its maximum. The profile has a single mode.
    """

    def falls(reach: float) -> bool:
        return _profile(log_density, mode, mode[axis] + sign * reach, axis) < top - DEPTH

    ends = []
    for sign in (-1.0, 1.0):
        last = next((k for k in range(8, len(REACHES), 8) if falls(REACHES[k])), len(REACHES) - 1)
        ends.append(mode[axis] + sign * REACHES[bisect_left(REACHES, True, lo=last - 8, hi=last, key=falls)])
    return np.linspace(ends[0], ends[1], POINTS)


def _profile(log_density: Callable[[Array, Array], Array], mode: Array, place: float, axis: int) -> float:
    """Return the profile log density with the coordinate `axis` fixed at the value `place`. It is the maximum of the
    log density over a grid of values of the second coordinate.
    """
    fan = mode[1 - axis] + FAN
    with np.errstate(over="ignore", invalid="ignore"):
        values = (
            log_density(np.full(fan.shape, place), fan) if axis == 0 else log_density(fan, np.full(fan.shape, place))
        )
    return float(np.nanmax(values))
