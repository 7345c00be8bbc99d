"""Continuous and discrete Gaussian mechanisms on vectors of counts.

The module also computes logs of normal probabilities of intervals on one side of the mean, with full relative accuracy.

A difference of two tails loses digits if the interval is short compared with the distance over which the density falls.
In this case, the density is integrated by Gauss-Legendre quadrature, relative to its value at the midpoint.

For the discrete Gaussian distribution, the module computes the normalising constant, the variance, the tails with full
relative accuracy, and draws.

Discrete Gaussian noise on counts: Canonne, Kamath and Steinke (2020).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import eval_hermitenorm, log_ndtr

from .. import _checks
from .._accounting import renyi
from .._accounting.privacy_loss import DiscreteGaussianLoss, GaussianLoss, Mechanism
from .additive_law import GaussianFamily
from .noise_law import Array, Scale, by_row

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_SHORT = 8.0  # largest exponent for which forty nodes give sixteen digits


def log_between(low: Array, high: Array, sigma: Array) -> Array:
    """Return log P(low <= sigma Z <= high) for a standard normal Z.

    Parameters
    ----------
    low, high : (n,), 0 <= low <= high <= inf.
    sigma : > 0 (n,).

    Returns
    -------
    float64 (n,), relative error of the probability below 1e-13 (1 + its log).
    """
    a, b = low / sigma, high / sigma
    out = log_ndtr(-a)
    with np.errstate(invalid="ignore"):
        half, middle = (high - low) / (2 * sigma), (b + a) / 2  # a difference of quotients would lose digits
        short = half * (middle + half / 2) < _SHORT
    h, m = half[short], middle[short]
    total = np.zeros_like(h)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        u = node * h
        total += weight * np.exp(-u * (m + u / 2))
    with np.errstate(divide="ignore"):
        out[short] = np.log(h * total) - m * m / 2 - np.log(2 * np.pi) / 2
    cut = ~short & (high < np.inf)
    out[cut] += np.log1p(-np.exp(log_ndtr(-b[cut]) - out[cut]))
    return np.asarray(out)


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaussian(GaussianFamily):
    """Mechanism that releases x + noise with independent N(0, sigma^2) noise.

    Parameters
    ----------
    sigma : standard deviation > 0, in units of the counts; one number, or one number per row.
    """

    sigma: Scale

    _word, _name, _said = "gaussian", "sigma", "sd"

    def __post_init__(self) -> None:
        self._set_parameter()

    @classmethod
    def calibrated_renyi(cls, epsilon: float, *, order: float, l2_squared: float = 2.0) -> "Gaussian":
        """Return the Gaussian mechanism that is (order, epsilon)-RDP.

        Parameters
        ----------
        epsilon : > 0.
        order : lambda >= 1.
        l2_squared : squared L2 sensitivity, > 0; 2 if one record is replaced.

        Returns
        -------
        Gaussian
        """
        return cls(sigma=renyi.gaussian_sigma(epsilon, order=order, l2_squared=l2_squared))

    def sample(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy versions of an array of numbers, which may have any shape.

        Parameters
        ----------
        values : numbers of any shape.
        rng : numpy Generator; one normal draw per value.

        Returns
        -------
        float64 of the same shape
        """
        values = np.asarray(values, dtype=float)
        return values + _checks.generator(rng).normal(0.0, self.by_row(values), values.shape)

    def pdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Return the density of the noise at given points.

        Parameters
        ----------
        z : points, any shape, in units of the counts.

        Returns
        -------
        float64 of the shape of `z`
        """
        z = np.asarray(z, dtype=float)
        sigma = self.by_row(z)
        return np.asarray(np.exp(-0.5 * (z / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)))

    def variance(self) -> float | Array:
        """Return the variance of the noise in each released value."""
        return self._as_given(self.parameter**2)

    def loss(self, change: float) -> Mechanism | None:
        """Return the privacy loss of a single count that changes by `change`."""
        return GaussianLoss(float(self.parameter), change)

    def halfwidth(self, log_mass: float) -> float | Array:
        """Return, for each row, a distance that the absolute value of the noise exceeds with probability below
        exp(-log_mass).
        """
        return self._as_given(self.parameter * np.sqrt(2 * log_mass))  # 2 Phi(-x) <= exp(-x^2/2)

    def renyi(self, *, order: float, l2_squared: float = 2.0) -> float:
        """Return the Rényi privacy cost of one release.

        Parameters
        ----------
        order : lambda >= 1.
        l2_squared : squared L2 sensitivity, > 0.

        Returns
        -------
        float
        """
        return renyi.gaussian(self.sigma, order=order, l2_squared=l2_squared)

    def delta(self, epsilon: ArrayLike, *, l2_squared: float = 2.0) -> NDArray[np.float64]:
        """Return the smallest delta for which a release is (epsilon, delta)-DP, computed exactly (Balle and Wang 2018,
        Theorem 8).

        Parameters
        ----------
        epsilon : >= 0, any shape.
        l2_squared : squared L2 sensitivity, > 0.

        Returns
        -------
        float64 of the shape of `epsilon`

        Raises
        ------
        ValueError
            If an epsilon is negative or NaN.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        if not np.all(epsilon >= 0):
            raise ValueError(f"epsilon must be >= 0, got {epsilon.min()}")
        shift = np.sqrt(_checks.positive("l2_squared", l2_squared)) / self.sigma
        upper = log_ndtr(shift / 2 - epsilon / shift)
        with np.errstate(invalid="ignore"):  # inf - inf at epsilon = inf, where delta is 0
            lower = epsilon + log_ndtr(-shift / 2 - epsilon / shift)
            found = np.exp(upper) * -np.expm1(np.minimum(lower - upper, 0.0))
        return np.where(np.isinf(epsilon), 0.0, found)

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(self._exponent(gaps, parameter) - np.log(parameter) - np.log(2 * np.pi) / 2)

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        return log_between(low, high, parameter)


_REACH = 40.0  # largest distance in standard deviations; exp(-800) is negligible
_SMOOTH = 0.15  # the series is used if the log of the density falls by at most this amount from one integer to the next
_WIDE = 20.0  # smallest sigma for which the series is used
_FEW = 64  # number of terms that are always added individually
_SERIES = (1 / 24, -7 / 5760, 31 / 967680, -127 / 154828800, 73 / 3503554560)  # midpoint rule, derivatives 1, 3, ..
_TINY = 1e-18


def log_normaliser(sigma: float | Array) -> float | Array:
    """Return the log normalising constant of the discrete Gaussian distribution, log sum_d exp(-d^2/(2 sigma^2)).

    Parameters
    ----------
    sigma : > 0, any shape.

    Returns
    -------
    float, or float64 of the shape of `sigma`
        Computed by the sum or, for sigma >= 1, by its Poisson transform.
    """
    if np.ndim(sigma) > 0:
        many = np.asarray(sigma, dtype=np.float64)
        return np.where(many < 1, np.log1p(2 * _moments(np.minimum(many, 1.0))[0]), _log_waves(np.maximum(many, 1.0)))
    s = float(sigma)
    if s < 1:
        d = np.arange(1, int(_REACH * s) + 2)
        return float(np.log1p(2 * np.exp(-((d / s) ** 2) / 2).sum()))
    waves = np.exp(-2 * (np.pi * s * np.arange(1, 4)) ** 2).sum()
    return float(np.log(s) + np.log(2 * np.pi) / 2 + np.log1p(2 * waves))


def variance(sigma: float | Array, log_norm: float | Array) -> float | Array:
    """Return the variance of the discrete Gaussian distribution.

    Parameters
    ----------
    sigma : > 0, any shape.
    log_norm : result of `log_normaliser` for sigma.

    Returns
    -------
    float, or float64 of the shape of `sigma`
    """
    if np.ndim(sigma) > 0:
        many = np.asarray(sigma, dtype=np.float64)
        zeroth, second = _moments(np.minimum(many, 1.0))
        wide = np.maximum(many, 1.0)
        first, bend = np.zeros(many.shape), np.zeros(many.shape)
        for j in (1, 2, 3):
            wave = np.exp(-2 * (np.pi * wide * j) ** 2)
            first, bend = first + wave, bend + j * j * wave
        large = wide**2 - 8 * wide**4 * np.pi**2 * bend / (1 + 2 * first)
        return np.where(many < 1, 2 * second / (1 + 2 * zeroth), large)
    s = float(sigma)
    if s < 1:
        d = np.arange(1, int(_REACH * s) + 2)
        return float(2 * (d**2 * np.exp(-((d / s) ** 2) / 2 - log_norm)).sum())
    n = np.arange(1, 4)
    waves = np.exp(-2 * (np.pi * s * n) ** 2)
    bend = 8 * s**4 * np.pi**2 * (n**2 * waves).sum() / (1 + 2 * waves.sum())
    return float(s**2 - bend)


def _moments(sigma: Array) -> tuple[Array, Array]:
    """Return the sums of exp(-d^2/(2 sigma^2)) and of d^2 exp(-d^2/(2 sigma^2)) over d >= 1, for an array of sigmas <=
    1.
    """
    zeroth, second = np.zeros(sigma.shape), np.zeros(sigma.shape)
    for d in range(1, int(_REACH) + 2):
        term = np.exp(-((d / sigma) ** 2) / 2)
        if not term.any():
            break
        zeroth, second = zeroth + term, second + d * d * term
    return zeroth, second


def _log_waves(sigma: Array) -> Array:
    """Return the log normalising constants of discrete Gaussian distributions with sigma >= 1, computed by Poisson
    summation.
    """
    waves = np.zeros(sigma.shape)
    for n in (1, 2, 3):
        waves = waves + np.exp(-2 * (np.pi * sigma * n) ** 2)
    return np.asarray(np.log(sigma) + np.log(2 * np.pi) / 2 + np.log1p(2 * waves))


def log_sum(low: Array, high: Array, sigma: Array) -> Array:
    """Return the log of the sum of exp(-d^2/(2 sigma^2)) over the integers d from low to high.

    Parameters
    ----------
    low, high : integers (n,), 1 <= low <= high <= inf.
    sigma : > 0 (n,).

    Returns
    -------
    float64 (n,)

    Notes
    -----
    The sum is computed term by term if few terms are relevant. Otherwise it is the integral from low - 1/2 to high +
    1/2 with the Euler-Maclaurin correction at both ends, whose first neglected term is below 1e-14 of the sum.
    """
    out = np.empty_like(low)
    smooth = (low / sigma**2 < _SMOOTH) & (sigma >= _WIDE) & (high - low > _FEW)
    out[~smooth] = _term_by_term(low[~smooth], high[~smooth], sigma[~smooth])
    a, b, s = low[smooth] - 0.5, high[smooth] + 0.5, sigma[smooth]
    logs = log_between(a, b, s) + np.log(s) + np.log(2 * np.pi) / 2
    out[smooth] = logs + np.log1p(_ends(a, s, logs) - _ends(b, s, logs))
    return out


def _term_by_term(low: Array, high: Array, sigma: Array) -> Array:
    total, place = np.ones_like(low), np.arange(len(low))
    fall, bend, last = low / sigma**2, 0.5 / sigma**2, high - low
    j = 0
    while len(place):
        j += 1
        term = np.exp(-j * (fall[place] + j * bend[place]))
        going = (j <= last[place]) & (term > _TINY * total[place])
        place, term = place[going], term[going]
        total[place] += term
    return np.asarray(np.log(total) - (low / sigma) ** 2 / 2)


def _ends(x: Array, sigma: Array, logs: Array) -> Array:
    """Return the Euler-Maclaurin correction at an integration limit x, divided by exp(logs). The derivative of odd
    order k is -He_k(x/sigma)/sigma^k times the integrand.
    """
    out = np.zeros_like(x)
    near = x < np.inf
    t, s = x[near] / sigma[near], sigma[near]
    series = sum(-c * eval_hermitenorm(2 * i + 1, t) / s ** (2 * i + 1) for i, c in enumerate(_SERIES))
    out[near] = series * np.exp(-t * t / 2 - logs[near])
    return out


def draw(sigma: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw discrete Gaussian noise, one value per sigma, by rejection from two-sided geometric noise (Canonne et al.
    2020, algorithm 3).

    Parameters
    ----------
    sigma : > 0, any shape.
    rng : numpy Generator.

    Returns
    -------
    int64 of the shape of `sigma`
    """
    s = np.ravel(sigma)
    width = np.floor(s) + 1
    out, left = np.zeros(len(s), dtype=np.int64), np.arange(len(s))
    while len(left):
        sides = rng.geometric(-np.expm1(-1 / width[left]), (2, len(left)))
        noise = sides[0] - sides[1]
        excess = (np.abs(noise) - s[left] ** 2 / width[left]) / s[left]
        taken = rng.random(len(left)) < np.exp(-(excess**2) / 2)
        out[left[taken]] = noise[taken]
        left = left[~taken]
    return out.reshape(np.shape(sigma))


_TABULATED = 100_000.0  # largest sigma for which draws use a table, and losses are listed


@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteGaussian(GaussianFamily):
    """Mechanism that releases count + D with P(D = d) proportional to exp(-d^2/(2 sigma^2)) for every integer d.

    Parameters
    ----------
    sigma : > 0, in units of the counts; one number, or one number per row. The variance of D is below sigma^2,
        noticeably if sigma < 1; agencies publish sigma^2 as the variance.

    Raises
    ------
    ValueError, TypeError
        If a sigma is not a finite number > 0.
    """

    sigma: Scale

    discrete = True
    _word, _name = "discrete_gaussian", "sigma"

    def __post_init__(self) -> None:
        self._set_parameter()

    @classmethod
    def published(cls, variance: ArrayLike) -> "DiscreteGaussian":
        """Return the distribution whose parameter sigma^2 is published as `variance`, as in the noisy measurement files
        of the Census.

        Parameters
        ----------
        variance : > 0, one number or one number per row. This parameter is not the variance of the noise, which is
            slightly smaller.
        """
        return cls(sigma=_root("variance", variance))

    @cached_property
    def log_normaliser(self) -> float | Array:
        """Return the log normalising constant log sum_d exp(-d^2/(2 sigma^2)), up to an error of 1e-15. The sum is
        computed directly or, for sigma >= 1, by its Poisson transform.
        """
        return log_normaliser(self.sigma)

    def log_pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """Return log P(D = d) for the noise D, which is -inf if d is not an integer."""
        d = np.asarray(d, dtype=float)
        norm = by_row("sigma", np.asarray(self.log_normaliser), d)
        return np.where(d == np.floor(d), -((d / self.by_row(d)) ** 2) / 2 - norm, -np.inf)

    def pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """Return the probability P(D = d) of the noise D, which is 0 if d is not an integer."""
        return np.exp(self.log_pmf(d))

    def variance(self) -> float | Array:
        """Return the variance of the noise in each released value. The variance is slightly below sigma^2."""
        return variance(self.sigma, self.log_normaliser)

    def loss(self, change: float) -> Mechanism | None:
        """Return the privacy loss of a single count that changes by the integer `change`. Return None if sigma is above
        1e5. In this case, there are too many possible losses.
        """
        known = change == int(change) and self.parameter <= _TABULATED
        return DiscreteGaussianLoss(float(self.parameter), int(change)) if known else None

    def halfwidth(self, log_mass: float) -> float | Array:
        """Return, for each row, a distance that the absolute value of the noise exceeds with probability below
        exp(-log_mass).
        """
        width = np.sqrt(2 * (log_mass + np.log(2)))  # P(D >= d) <= exp(-d^2/(2 sigma^2))
        return self._as_given(self.parameter * width + 1)

    def rho(self, *, l2_squared: float) -> float:
        """Return the zCDP parameter rho = l2_squared/(2 sigma^2) of one release, where l2_squared is the squared L2
        sensitivity.
        """
        return renyi.concentrated_gaussian(self.sigma, l2_squared=l2_squared)

    def epsilon(self, *, delta: float, l2_squared: float) -> float:
        """Return an upper bound on the epsilon of (epsilon, delta)-DP, computed from the zCDP parameter rho."""
        return renyi.to_dp(self.rho(l2_squared=l2_squared), delta=delta)

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw noisy counts for a reproducible simulation, by inversion of the tabulated distribution in float64. Do
        not use this function for confidential counts.

        Parameters
        ----------
        counts : integers of any shape.
        rng : numpy Generator; one uniform draw per entry. If the sigmas differ by row, or the distribution is too wide
            for a table, the draws are made by rejection.
        """
        whole = np.asarray(_checks.integral("counts", counts), dtype=np.int64)
        if self.row_count is not None or self.sigma > _TABULATED:
            noise = draw(np.broadcast_to(self.by_row(whole), whole.shape), _checks.generator(rng))
            return np.asarray(whole + noise, dtype=np.int64)
        reach = int(9 * self.sigma) + 2
        table = np.cumsum(self.pmf(np.arange(-reach, reach + 1)))
        u = _checks.generator(rng).random(whole.shape) * table[-1]
        return np.asarray(whole + np.searchsorted(table[:-1], u, side="right") - reach, dtype=np.int64)

    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        return self._exponent(gaps, parameter)

    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        return log_sum(low, high, parameter)

    def _log_norm(self, parameter: Array) -> float | Array:
        return log_normaliser(parameter)


def _root(name: str, values: ArrayLike) -> float | Array:
    roots = np.sqrt(_checks.positives(name, values, np.size(values)))
    return float(roots[0]) if np.ndim(values) == 0 else roots
