"""Direct sampling of the noise in a released statistic (Walker et al. 2011, Raim 2021), and the exact distributions of
this noise.

The target f(xi) is proportional to w(xi) g(xi): the weight w is the density of the unprotected statistic z - xi, and
the base g is the density of the noise. `exact_normal` and `exact_gamma` are the same targets in closed form (Laplace
noise).

The module also has closed-form distributions of the Laplace noise in a released statistic, given the distribution of
the statistic.

These distributions are the targets of the direct sampler in Raim (2021): xi_mean is added to a normal mean, and xi_sse
to a gamma sum of squares. Both are two-piece distributions, with one piece on each side of xi = 0 (methods of Raim,
2021, in the documentation), so no simulation is needed.

The weights of the direct sampler are distributions of an unprotected statistic, and the bases are distributions of the
noise.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from dpmultinomial import _checks, _quadrature

from . import direct_sampler, laplace_noise

Array = NDArray[np.float64]
_NARROW = 1e5  # ratio of z to the width of a peak at 0, above which z - xi has fewer than eleven digits of xi
_FARTHEST = 1e150  # represents infinity if a logarithm of xi is needed


class NoiseLaw(ABC):
    """Distribution of the noise xi on the real line, given a released value. Its density has a kink at 0."""

    @abstractmethod
    def _log_pdf(self, xi: Array) -> Array: ...

    @abstractmethod
    def _log_cdf(self, xi: Array, upper: bool) -> Array: ...

    @abstractmethod
    def _quantile(self, q: Array) -> Array: ...

    @property
    @abstractmethod
    def log_normaliser(self) -> float:
        """Return log psi, where psi is the integral of the weight function times the base density."""

    @abstractmethod
    def mode(self) -> float:
        """Return the mode of the density of the noise."""

    def pdf(self, xi: ArrayLike) -> Array:
        """Return the density of the noise at an array of values xi of any shape."""
        return np.exp(_flat(self._log_pdf, xi))

    def cdf(self, xi: ArrayLike) -> Array:
        """Return the distribution function P(noise <= xi). Small probabilities in the tail have full relative
        precision.
        """
        return np.exp(_flat(lambda x: self._log_cdf(x, False), xi))

    def sf(self, xi: ArrayLike) -> Array:
        """Return the upper tail probability P(noise > xi). Small probabilities in the tail have full relative
        precision.
        """
        return np.exp(_flat(lambda x: self._log_cdf(x, True), xi))

    def quantile(self, q: ArrayLike) -> Array:
        """Return the quantile xi with P(noise <= xi) = q, where q is strictly between 0 and 1."""
        levels = _checks.fraction("q", q)
        if np.any((levels == 0) | (levels == 1)):
            raise ValueError(
                f"q must be strictly between 0 and 1, got {levels[(levels == 0) | (levels == 1)][0]:g}: the quantiles "
                "at 0 and 1 are not defined"
            )
        return _flat(self._quantile, levels)

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return independent draws of the noise by inversion, as a float64 array of shape (size,). Each draw uses one
        uniform number.
        """
        uniforms = _checks.generator(rng).random(_checks.integer("size", size))
        return self._quantile(1.0 - uniforms) if size else uniforms  # 1 - u is never 0, and 1 is moved one step down

    def mean(self) -> float:
        """Return the expected value of the noise given the released value."""
        return self._moments[0]

    def variance(self) -> float:
        """Return the variance of the noise given the released value."""
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
    """Distribution of the noise xi given z = s + xi, where s ~ N(mu, variance) and xi ~ Laplace(scale).

    The weight is exp(-(z - xi - mu)^2/(2 variance)), with maximum 1, as on the slides.

    Parameters
    ----------
    z : released value.
    mu, variance_of_statistic : mean and variance of s.
    scale : scale of xi, > 0.
    """

    z: float
    mu: float
    variance_of_statistic: float
    scale: float

    @property
    def log_normaliser(self) -> float:
        total = laplace_noise.normal_log_total(*self._arguments)
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
        return np.asarray(kernel - laplace_noise.normal_log_total(m, variance, scale))

    def _log_cdf(self, xi: Array, upper: bool) -> Array:
        return laplace_noise.normal_log_cdf(xi, *self._arguments, upper)

    def _quantile(self, q: Array) -> Array:
        return laplace_noise.normal_quantile(np.minimum(q, 1 - 2.0**-53), *self._arguments)


@dataclass(frozen=True)
class GammaStatistic(NoiseLaw):
    """Distribution of the noise xi given z = s + xi, where s ~ Gamma(shape, scale beta) and xi ~ Laplace(scale). The
    noise is below z.

    The weight is the gamma density of z - xi, as on the slides.

    Parameters
    ----------
    z : released value.
    shape, beta : parameters of s, > 0.
    scale : scale of xi, > 0.
    """

    z: float
    shape: float
    beta: float
    scale: float

    @property
    def log_normaliser(self) -> float:
        return float(laplace_noise.gamma_log_psi(*self._arguments))

    @property
    def _arguments(self) -> tuple[float, float, float, float]:
        return self.z, self.shape, self.beta, self.scale

    def mode(self) -> float:
        power, below, above = self.shape - 1, 1 / self.beta + 1 / self.scale, 1 / self.beta - 1 / self.scale
        if power <= 0:  # for a shape below 1, the density has a pole at z; for shape 1, it is exponential below z
            return 0.0 if power == 0 and self.z > 0 and above <= 0 else self.z
        if power > below * max(self.z, 0.0):
            return self.z - power / below
        return self.z - power / above if above > 0 and power < above * self.z else 0.0

    @property
    def _peaked(self) -> bool:
        """Return whether the noise distribution has a peak at 0 whose width is much smaller than the released value z.
        In this case, the gamma density of z - xi contains no information about xi.
        """
        if not self.z > 0:
            return False
        below = (
            1 / self.beta + 1 / self.scale - (self.shape - 1) / self.z
        )  # decrease of the log density on either side of 0
        above = (self.shape - 1) / self.z - 1 / self.beta + 1 / self.scale
        return min(below, above) > 0 and max(below, above) * self.z > _NARROW

    def _log_pdf(self, xi: Array) -> Array:
        if not self._peaked:
            return laplace_noise.gamma_log_pdf(self.z - xi, *self._arguments)
        out, inside = np.full(len(xi), -np.inf), xi < self.z
        out[inside] = laplace_noise.peak_log_pdf(np.maximum(xi[inside], -_FARTHEST), *self._arguments)
        return out

    def _log_cdf(self, xi: Array, upper: bool) -> Array:
        out = np.full(len(xi), -np.inf if upper else 0.0)
        inside = xi < self.z
        if self._peaked:
            out[inside] = laplace_noise.peak_log_cdf(np.maximum(xi[inside], -_FARTHEST), *self._arguments, upper)
        else:
            out[inside] = laplace_noise.gamma_log_cdf(self.z - xi[inside], *self._arguments, not upper)
        return out

    def _quantile(self, q: Array) -> Array:
        levels = np.minimum(q, 1 - 2.0**-53)
        if self._peaked:
            return laplace_noise.peak_quantile(levels, *self._arguments)
        return self.z - laplace_noise.gamma_quantile(levels, *self._arguments)


def _flat(function: Callable[[Array], Array], values: ArrayLike) -> Array:
    points = np.asarray(values, dtype=float)
    if np.isnan(points).any():
        raise ValueError(f"values must not contain NaN, got NaN at index {int(np.isnan(points).argmax())}")
    return np.asarray(function(np.ascontiguousarray(points.ravel()))).reshape(points.shape)


LEAST_COUNT = 4  # minimum number of records in a sum of squares, for a bounded gamma weight


@dataclass(frozen=True)
class NormalWeight:
    """Weight w(xi) = exp(-(z - xi - mu)^2 count/(2 sigma2)) of the noise xi in a normal statistic. Its maximum is 1, at
    xi = z - mu.

    Parameters
    ----------
    z : released value.
    mu, sigma2 : mean and variance of one record.
    count : number of records in the mean, > 0.
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
        """Return the log of the relative weight w(xi)/c, where c is the maximum of the weight."""
        return -((xi - self.mode) ** 2) * self.count / (2 * self.sigma2)

    def problem(self) -> dict[str, float | str]:
        return {"weight": "normal", "mode": self.mode, "width": (self.sigma2 / self.count) ** 0.5}

    def exact(self, scale: float) -> NoiseLaw:
        return NormalStatistic(self.z, self.mu, self.sigma2 / self.count, scale)


@dataclass(frozen=True)
class GammaWeight:
    """Weight w(xi) of a value xi of the noise that was added to a statistic with a gamma distribution. The weight is
    the gamma density of z - xi with shape (count - 1)/2 and scale 2 sigma2. The weight is bounded if count >= 4.

    Parameters
    ----------
    z : released value.
    sigma2 : variance of one record.
    count : number of records in the sum of squares.
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
                f"count must be >= {LEAST_COUNT}, got {self.count}: direct sampling requires that the mode of the "
                "gamma weight with shape (count - 1)/2 is in the interior of the support, so the shape must be > 1"
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
        """Return the log of the relative weight w(xi)/c, where c is the maximum of the weight."""
        ratio = (self.z - np.asarray(xi, dtype=float)) / (self.z - self.mode)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(ratio > 0, self.power * (np.log(ratio) - (ratio - 1)), -np.inf)

    def problem(self) -> dict[str, float | str]:
        return {"weight": "gamma", "mode": self.mode, "width": self.z - self.mode, "power": self.power}

    def exact(self, scale: float) -> NoiseLaw:
        return GammaStatistic(self.z, self.power + 1, 2 * self.sigma2, scale)


@dataclass(frozen=True)
class LaplaceBase:
    """Laplace noise with a given scale, as the base distribution of the direct sampler."""

    scale: float

    def __post_init__(self) -> None:
        _checks.positive("scale", self.scale)

    def problem(self, reach: float) -> dict[str, float | str | NDArray[np.float64]]:
        return {"base": "laplace", "scale": self.scale}


@dataclass(frozen=True)
class GaussianBase:
    """Normal noise N(0, sd^2), as the base distribution of the direct sampler."""

    sd: float

    def __post_init__(self) -> None:
        _checks.positive("sd", self.sd)

    def problem(self, reach: float) -> dict[str, float | str | NDArray[np.float64]]:
        return {"base": "gaussian", "scale": self.sd}


class IntegerBase(ABC):
    """Distribution of symmetric noise on the integers, stored as a table of log tail probabilities up to `reach`."""

    @abstractmethod
    def log_tail(self, size: int) -> NDArray[np.float64]:
        """Return the log tail probabilities log P(X >= k) of the noise X for k = 0 .. size - 1."""

    def problem(self, reach: float) -> dict[str, float | str | NDArray[np.float64]]:
        return {"base": "integers", "tail": self.log_tail(int(reach) + 2)}


@dataclass(frozen=True)
class GeometricBase(IntegerBase):
    """Two-sided geometric noise, for which P(k) is proportional to exp(-abs(k)/scale)."""

    scale: float

    def __post_init__(self) -> None:
        _checks.positive("scale", self.scale)

    def log_tail(self, size: int) -> NDArray[np.float64]:
        tail = -np.arange(size) / self.scale - np.log1p(np.exp(-1 / self.scale))
        return np.asarray(tail)


@dataclass(frozen=True)
class DiscreteGaussianBase(IntegerBase):
    """Discrete Gaussian noise, for which P(k) is proportional to exp(-k^2/(2 sd^2)) (Canonne, Kamath and Steinke
    2020).
    """

    sd: float

    def __post_init__(self) -> None:
        _checks.positive("sd", self.sd)

    def log_tail(self, size: int) -> NDArray[np.float64]:
        k = np.arange(size + int(40 * self.sd) + 40)
        logs = -(k**2) / (2 * self.sd**2)
        tail = np.logaddexp.accumulate(logs[::-1])[::-1]
        return np.asarray((tail - np.logaddexp(tail[0], tail[1]))[:size])


__all__ = [
    "DirectSampler",
    "DiscreteGaussianBase",
    "GammaWeight",
    "GaussianBase",
    "GeometricBase",
    "LaplaceBase",
    "NormalWeight",
    "exact_gamma",
    "exact_normal",
]

LOWER_ENDS = ("efficient", "machine")
SPACINGS = ("small_rectangles", "equal")
KNOTS, MOST_KNOTS = 25, 10**6
ENOUGH = 0.3  # rejection probability at which the default number of knots is sufficient; adaptation reduces it further
LIMIT = 5 * 10**7  # largest number of rejections, about ten seconds; above it, the step function is treated as an error
_SAFE = 1e-3  # largest proportion of the envelope in the piece below u_L


def exact_normal(z: float, *, mu: float, sigma2: float, count: int, scale: float) -> NormalStatistic:
    """Return the conditional distribution of the noise xi given z = s + xi, where s ~ N(mu, sigma2/count) and xi ~
    Laplace(scale).

    Parameters
    ----------
    z : the released mean.
    mu, sigma2 : mean and variance of one record.
    count : number of records in the mean s, >= 1.
    scale : Delta_s/epsilon.

    Returns
    -------
    NormalStatistic, whose log_normaliser is log psi for the weight exp(-(z - xi - mu)^2 count/(2 sigma2)).
    """
    variance = _checks.positive("sigma2", sigma2) / _checks.integer("count", count, least=1)
    return NormalStatistic(_checks.number("z", z), _checks.number("mu", mu), variance, _checks.positive("scale", scale))


def exact_gamma(z: float, *, sigma2: float, count: int, scale: float) -> GammaStatistic:
    """Return the conditional distribution of the noise xi given z = s + xi, where s ~ sigma2 chi^2(count - 1) and xi ~
    Laplace(scale).

    Parameters
    ----------
    z : the released sum of squares, any real number.
    sigma2, scale : as in `exact_normal`.
    count : number of records in the sum of squares s, >= 2.

    Returns
    -------
    GammaStatistic, whose log_normaliser is log psi for the gamma density as the weight.
    """
    shape = (_checks.integer("count", count, least=2) - 1) / 2
    beta = 2 * _checks.positive("sigma2", sigma2)
    return GammaStatistic(_checks.number("z", z), shape, beta, _checks.positive("scale", scale))


class DirectSampler:
    """Sampler that draws exactly from the density w(x) g(x)/psi, with weight function w, base density g and normalising
    constant psi. It uses a step function on `knots` intervals.

    Parameters
    ----------
    weight : `NormalWeight` or `GammaWeight`.
    base : `LaplaceBase`, `GaussianBase`, `GeometricBase` or `DiscreteGaussianBase`.
    knots : number of intervals N >= 1. None: 25, multiplied by four until fewer than 30 % are rejected, and adaptive.
    lower : ``"efficient"``: u_L = 0.001 max_u{u P(A_u)}/P(A_0), so that the piece below u_L costs at most 0.1 % of the
        target's mass; ``"machine"``: the smallest u for which P(A_u) < P(A_0) in floating-point arithmetic, as on the
        slides.
    spacing : ``"small_rectangles"`` (the slides' algorithm) or ``"equal"`` (equally spaced u, for comparison).
    midpoint : ``"geometric"`` or ``"arithmetic"`` halving; the slides do not specify it.
    adaptive : whether rejected u are added to the knots while drawing; None: only if `knots` is None. The draws remain
        exact.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    The step function is P(A_0) below u_L (with P(A_{u_L}), as on the slides, it would not be an envelope there), and
    u_H = 1 for continuous noise. The set-up takes O(N log N).
    """

    def __init__(
        self,
        weight: NormalWeight | GammaWeight,
        base: LaplaceBase | GaussianBase | GeometricBase | DiscreteGaussianBase,
        *,
        knots: int | None = None,
        lower: str = "efficient",
        spacing: str = "small_rectangles",
        midpoint: str = "geometric",
        adaptive: bool | None = None,
    ) -> None:
        self.weight, self.base = weight, base
        self.adaptive = knots is None if adaptive is None else bool(adaptive)
        if knots is not None:
            _checks.integer("knots", knots, least=1, most=MOST_KNOTS)
        _checks.one_of("lower", lower, LOWER_ENDS)
        _checks.one_of("spacing", spacing, SPACINGS)
        reach = abs(weight.mode) + 60 * getattr(base, "sd", getattr(base, "scale", 1.0)) + 1000
        self.problem = direct_sampler.Problem(**weight.problem(), **base.problem(reach))
        self.log_whole = self.problem.log_whole()
        self.log_upper = self._upper_end()
        self.log_lower = self._efficient_end() if lower == "efficient" else self._machine_end()
        self._place(KNOTS if knots is None else knots, spacing, midpoint)
        if knots is None:
            count = KNOTS
            while self.rejection_rate > ENOUGH and count < MOST_KNOTS and len(self._u) > count:
                count *= 4
                self._place(count, spacing, midpoint)

    def _place(self, knots: int, spacing: str, midpoint: str) -> None:
        """Place the knots of the step function that the direct sampler uses. `_added` contains the knots in the order
        in which they are added, and `_u` and `_p` = log P(A_u) are in sorted order.
        """
        if spacing == "equal":
            share = np.arange(knots + 1) / knots
            u = self.log_upper + np.log(share + (1 - share) * np.exp(self.log_lower - self.log_upper))
            u[0], u[-1] = self.log_lower, self.log_upper
            self._added, p = u, self.problem.log_area(u)
        else:
            self._added, p = direct_sampler.small_rectangles(
                self.problem, self.log_lower, self.log_upper, knots, midpoint
            )
        self._order = np.argsort(self._added, kind="stable")
        self._u, self._p = self._added[self._order], p[self._order]

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return independent draws from the target density, as a float64 array of shape (size,)."""
        return self.sample_counted(size, rng=rng)[0]

    def sample_counted(self, size: int, *, rng: np.random.Generator) -> tuple[NDArray[np.float64], int, int]:
        """Return the draws from the target density, the number of rejections, and the final number of intervals. The
        number of intervals increases if `adaptive` is True.

        Parameters
        ----------
        size : number of draws >= 0.
        rng : numpy Generator.

        Raises
        ------
        RuntimeError
            If more than 5 10^7 candidates are rejected, or would certainly be rejected, because the step function is a
            poor envelope.
        """
        if not self.adaptive and isinstance(self.base, LaplaceBase) and size:
            accepted = float(np.exp(min(0.0, self.log_psi - self._log_envelope)))
            if accepted * (LIMIT + size) < size:
                need = f"{size} draws would need more than {LIMIT} rejections (acceptance {accepted:.1g})"
                raise RuntimeError(
                    f"{need}, because the step function is a poor envelope: omit the arguments knots and adaptive"
                )
        x, rejected, u, _ = direct_sampler.draw(
            self.problem, self._u, self._p, self.log_whole, size, rng=rng, adapt=self.adaptive, limit=LIMIT
        )
        return x, int(rejected), len(u) - 1

    def log_area(self, log_u: ArrayLike) -> NDArray[np.float64]:
        """Return the log of P(A_u), the probability that the relative weight exceeds u, for log u <= 0."""
        return self.problem.log_area(np.atleast_1d(np.asarray(log_u, dtype=float)))

    def interval(self, log_u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of the interval on which the relative weight exceeds u (the set A_u)."""
        left, right = self.problem.interval(np.atleast_1d(np.asarray(log_u, dtype=float)))
        return self.weight.mode - left, self.weight.mode + right

    def step_function(self) -> pd.DataFrame:
        """Return the step function of the sampler as a table with one row per step. The columns are log_u (left end,
        -inf first), log_height, and order, which is the order in which the left knot was added.

        The order of u_L is 0, and that of u_H is 1 (its height is 0, and it closes the last piece); -1 marks the piece
        below u_L.
        """
        pieces = {"log_u": self._u, "log_height": np.append(self._p[:-1], -np.inf), "order": self._order}
        first = pd.DataFrame({"log_u": [-np.inf], "log_height": [self.log_whole], "order": [-1]})
        return pd.concat([first, pd.DataFrame(pieces)], ignore_index=True)

    def log_height(self, log_u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log of the step function h*(u), an envelope of the probability that the relative weight exceeds u.
        This probability is denoted by P(A_u).
        """
        piece = np.searchsorted(self._u, log_u, side="right")
        return np.concatenate([[self.log_whole], self._p[:-1], [-np.inf]])[piece]

    @cached_property
    def log_psi(self) -> float:
        """Return log(psi/c), where psi is the normalising constant and c is the largest weight. The ratio psi/c is the
        integral over u of P(A_u), the probability that the relative weight exceeds u. The integral has a closed form
        for Laplace noise, and is computed by a sum or by quadrature otherwise.
        """
        if isinstance(self.base, LaplaceBase):
            return self.weight.exact(self.base.scale).log_normaliser - self.weight.log_maximum
        if isinstance(self.base, IntegerBase):
            tail = self.base.log_tail(int(abs(self.weight.mode) + 60 * self._spread + 1000))
            mass = np.exp(tail[:-1]) * -np.expm1(np.diff(tail))
            k = np.arange(1 - len(mass), len(mass))
            mass = np.concatenate([mass[:0:-1], [1 - 2 * np.exp(tail[1])], mass[1:]])
            logs = self.weight.log_relative(k.astype(float))
            top = logs[mass > 0].max()
            return float(top + np.log(mass @ np.exp(logs - top)))
        return self._quadrature()

    @property
    def rejection_rate(self) -> float:
        """Return the exact probability that a candidate is rejected. The probability is 1 - psi/(c a), where psi is the
        normalising constant, c is the maximum of the weight, and a is the area under the step function.
        """
        return float(-np.expm1(self.log_psi - self._log_envelope))

    @property
    def bound(self) -> float:
        """Return an upper bound on the rejection probability of the sampler. It is also an upper bound on the total
        variation distance between the density of u and the step function that approximates this density. The bound is
        c/psi times the total area of the rectangles.

        The rectangle between 0 and u_L is included, although the slides omit it. The bound is never NaN, and at most
        8e307.
        """
        p = np.concatenate([[self.log_whole], self._p])
        if self._u[-1] - self.log_psi < 700:
            u = np.exp(self._u - self.log_psi)
            return float(np.concatenate([[u[0]], np.diff(u)]) @ (np.exp(p[:-1]) - np.exp(p[1:])))
        with np.errstate(divide="ignore"):  # knots that are too close to distinguish have zero width
            widths = np.append(self._u[0], self._u[1:] + np.log(-np.expm1(self._u[:-1] - self._u[1:])))
            falls = p[:-1] + np.log(-np.expm1(np.minimum(p[1:] - p[:-1], 0.0)))
        return float(np.exp(min(logsumexp(widths + falls) - self.log_psi, 709.0)))

    @property
    def total_variation(self) -> float:
        """Return the exact total variation distance between the density p(u) and the step function that approximates
        this density.
        """
        nodes, weights = _quadrature.legendre(24)
        ends = np.concatenate([[self._u[0] - 40.0], self._u])
        total = 0.0
        for low, high, height in zip(ends[:-1], ends[1:], self.log_height(ends[:-1]), strict=True):
            x = np.linspace(max(low, high - 60.0), high, 9)
            log_u = ((x[1:] + x[:-1])[:, None] / 2 + np.diff(x)[:, None] / 2 * nodes).ravel()
            w = (np.diff(x)[:, None] / 2 * weights).ravel()
            gap = np.exp(log_u + height - self._log_envelope) - np.exp(log_u + self.log_area(log_u) - self.log_psi)
            total += w @ np.abs(gap)
        return float(0.5 * total)

    @property
    def _log_envelope(self) -> float:
        return float(direct_sampler.envelope(self._u, self._p, self.log_whole))

    @property
    def _spread(self) -> float:
        return getattr(self.base, "sd", getattr(self.base, "scale", 1.0))

    def _upper_end(self) -> float:
        """Return the log of the smallest u for which P(A_u) = 0, where A_u is the set on which the relative weight
        exceeds u.
        """
        if not isinstance(self.base, IntegerBase):
            return 0.0
        return float(max(self.weight.log_relative(np.array([np.floor(self.weight.mode), np.ceil(self.weight.mode)]))))

    def _efficient_end(self) -> float:
        return float(min(np.log(_SAFE) + self._peak[1] - self.log_whole, self.log_upper - 1e-3))

    @cached_property
    def _peak(self) -> tuple[float, float]:
        """Return the value of log u at which u P(A_u) is largest, and the log of this maximum. A_u is the set on which
        the relative weight exceeds u. They are found on a doubling grid with refinements.
        """
        grid = self.log_upper - 2.0 ** np.arange(-20, 60, 0.5)
        for _ in range(4):
            value = grid + self.log_area(grid)
            best = int(np.argmax(value))
            ends = grid[[max(best - 1, 0), min(best + 1, len(grid) - 1)]]
            grid = np.linspace(ends.max(), ends.min(), 33)
        return float(grid[16]), float(value[best])

    def _machine_end(self) -> float:
        """Return the log of the smallest u for which P(A_u) differs from P(A_0) in floating point. A_u is the set on
        which the relative weight exceeds u. The value is found by bisection.
        """
        low, high = self.log_upper - 1.0, self.log_upper
        while self.log_area(low)[0] < self.log_whole:
            low, high = 2 * low, low
        while high - low > 1e-9 * abs(low):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.log_area(middle)[0] < self.log_whole else (middle, high)
        return float(high)

    def _quadrature(self) -> float:
        place, top = self._peak
        low = place
        while low + self.log_area(low)[0] > top - 45:
            low -= 1.0 + 0.1 * abs(self.log_upper - low)
        root = np.sqrt(self.log_upper - low)  # u = u_H exp(-y^2), because the ends of A_u are smooth in y
        ends = np.linspace(0, root, 129)
        nodes, weights = _quadrature.legendre(16)
        y = ((ends[1:] + ends[:-1])[:, None] / 2 + np.diff(ends)[:, None] / 2 * nodes).ravel()
        w = (np.diff(ends)[:, None] / 2 * weights).ravel()
        logs = self.log_upper - y**2
        value = np.exp(logs + self.log_area(logs) - top)
        return float(top + np.log(w @ (2 * y * value)))
