"""Evaluate the formulas on the slides of Raim (2021) as printed, and compare them with independent evaluations at the
parameter values of the last two figures.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, log_ndtr

from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._seeding import stream

from .algorithms import direct_sampling as ds

Array = NDArray[np.float64]


def laplace_cdf(xi: Array, scale: float) -> Array:
    """Return the Laplace distribution function, G(xi) = 1/2 + sgn(xi) (1 - exp(-|xi|/scale))/2."""
    return 0.5 + 0.5 * np.sign(xi) * (1 - np.exp(-np.abs(xi) / scale))


def laplace_quantile(probability: Array, scale: float) -> Array:
    """Return the quantile function of the Laplace distribution, -scale sgn(probability - 1/2) log(1 - 2 |probability -
    1/2|).
    """
    away = probability - 0.5
    return -scale * np.sign(away) * np.log(1 - 2 * np.abs(away))


def normal_ends(u: Array, z: float, mu: float, variance: float) -> tuple[Array, Array]:
    """Return the ends of the interval A_u on which the normal weight function exceeds u. The ends are z - mu -+ sqrt(-2
    variance log(c u)), with c = 1.
    """
    reach = np.sqrt(-2 * variance * np.log(u))
    return z - mu - reach, z - mu + reach


def gamma_mode(z: float, shape: float, beta: float) -> float:
    """Return the mode z - beta (shape - 1) of the gamma weight function."""
    return z - beta * (shape - 1)


def gamma_maximum(shape: float, beta: float) -> float:
    """Return the maximum of the gamma weight, (shape - 1)^(shape - 1) exp(-(shape - 1))/(Gamma(shape) beta)."""
    return float(np.exp((shape - 1) * np.log(shape - 1) - (shape - 1) - gammaln(shape)) / beta)


def conditional_mean(x: Array, sigma2: float, mu0: float, var0: float) -> float:
    """Return vartheta, the mean of the full conditional distribution of mu, as printed. The printed formula lacks the
    factor n of t_mean.
    """
    return float((x.mean() / sigma2 + mu0 / var0) / conditional_precision(x, sigma2, var0))


def conditional_precision(x: Array, sigma2: float, var0: float) -> float:
    """Return the precision omega^2 of the full conditional distribution of the mean mu. It is n/sigma2 + 1/var0 for n
    records with variance sigma2 and the prior variance var0 of mu.
    """
    return len(x) / sigma2 + 1 / var0


def conditional_gamma(x: Array, mu: float, shape0: float, rate0: float) -> tuple[float, float]:
    """Return the shape and the rate of the full conditional distribution of sigma2."""
    sse = float(((x - x.mean()) ** 2).sum())
    return shape0 + len(x) / 2, rate0 + 0.5 * (sse + len(x) * (x.mean() - mu) ** 2)


def censored_log_likelihood(statistics: Array, n: int, lower: float, upper: float, mu: float, sigma2: float) -> float:
    """Return the log-likelihood log f(x | theta) of a censored normal sample x, computed from four statistics. The
    parameters are theta = (mu, sigma2), and the statistics are s_mean, s_sse, s_low and s_high.
    """
    mean, sse, low, high = map(float, statistics)
    inside, sigma = n - low - high, sigma2**0.5
    tails = low * log_ndtr((lower - mu) / sigma) + high * log_ndtr((mu - upper) / sigma)
    square = (sse + inside * (mean - mu) ** 2) / (2 * sigma2)
    return float(tails - 0.5 * inside * np.log(2 * np.pi * sigma2) - square)


LEVELS = np.array([0.999, 0.5, 0.1, 1e-6])
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Setting:
    """Parameter values of the last two figures on the slides of Raim (2021), and fixed synthetic records for formulas
    that need records.
    """

    z_mean: float
    z_sse: float
    mu: float
    sigma2: float
    count: int
    scale: float

    @property
    def shape(self) -> float:
        return (self.count - 1) / 2

    @property
    def beta(self) -> float:
        return 2 * self.sigma2

    @property
    def records(self) -> Array:
        return 0.4 + 1.3 * stream(1, "raim2021", "formulas").standard_normal(40)

    def sampler(self, target: str) -> ds.DirectSampler:
        weight: ds.NormalWeight | ds.GammaWeight
        if target == "xi_mean":
            weight = ds.NormalWeight(self.z_mean, mu=self.mu, sigma2=self.sigma2, count=self.count)
        else:
            weight = ds.GammaWeight(self.z_sse, sigma2=self.sigma2, count=self.count)
        return ds.DirectSampler(weight, ds.LaplaceBase(self.scale))

    def gamma_log_density(self, xi: Array | float) -> Array:
        return np.asarray(stats.gamma.logpdf(self.z_sse - np.asarray(xi), self.shape, scale=self.beta))


def _laplace_cdf(at: Setting) -> float:
    sampler = at.sampler("xi_mean")
    low, high = sampler.interval(np.log(LEVELS))
    ours = np.exp(sampler.log_area(np.log(LEVELS)))
    theirs = laplace_cdf(high, at.scale) - laplace_cdf(low, at.scale)
    both = np.abs(laplace_cdf(high, at.scale) - stats.laplace.cdf(high, scale=at.scale)).max()
    return float(max(np.abs(ours - theirs).max(), both))


def _laplace_quantile(at: Setting) -> float:
    q = np.array([1e-4, 0.2, 0.5, 0.7, 0.9999])
    return float(np.abs(laplace_quantile(q, at.scale) - stats.laplace.ppf(q, scale=at.scale)).max() / at.scale)


def _normal_ends(at: Setting) -> float:
    theirs = normal_ends(LEVELS, at.z_mean, at.mu, at.sigma2 / at.count)
    ours = at.sampler("xi_mean").interval(np.log(LEVELS))
    return float(np.abs(np.array(theirs) - np.array(ours)).max())


def _gamma_mode(at: Setting) -> float:
    width = 10 * at.beta * at.shape**0.5
    middle = at.z_sse - at.beta * at.shape
    optimum = minimize_scalar(
        lambda xi: -float(at.gamma_log_density(xi)), bracket=(middle - width, middle, middle + width)
    )
    theirs = gamma_mode(at.z_sse, at.shape, at.beta)
    # a minimum is accurate only to the square root of machine precision, so the heights are compared, because the curve
    # is flat there
    gap = float(at.gamma_log_density(optimum.x) - at.gamma_log_density(theirs))
    return max(abs(gap), abs(theirs - at.sampler("xi_sse").weight.mode))


def _gamma_maximum(at: Setting) -> float:
    height = float(np.exp(at.gamma_log_density(gamma_mode(at.z_sse, at.shape, at.beta))))
    ours = float(np.exp(at.sampler("xi_sse").weight.log_maximum))
    theirs = gamma_maximum(at.shape, at.beta)
    return max(abs(theirs / height - 1), abs(theirs / ours - 1))


def _gamma_ends(at: Setting) -> float:
    sampler, mode = at.sampler("xi_sse"), gamma_mode(at.z_sse, at.shape, at.beta)
    top, gaps = at.gamma_log_density(mode), []
    for u, low, high in zip(LEVELS, *sampler.interval(np.log(LEVELS)), strict=True):
        wanted = float(top + np.log(u))

        def height(xi: float, wanted: float = wanted) -> float:
            return float(at.gamma_log_density(xi)) - wanted

        gaps.append(abs(brentq(height, mode - 60 * at.beta * at.shape**0.5, mode, xtol=1e-12) - low))
        gaps.append(abs(brentq(height, mode, at.z_sse - 1e-9, xtol=1e-12) - high))
    return max(gaps) / (at.beta * at.shape**0.5)


def _conditional(at: Setting) -> tuple[float, float]:
    """Return the mean and the variance of mu given sigma2 = 1 and the records, computed by quadrature with the prior
    N(0, 100).
    """
    x, grid = at.records, np.linspace(-3, 4, 20001)
    logs = -0.5 * ((x[:, None] - grid) ** 2).sum(axis=0) - grid**2 / 200
    mass = np.exp(logs - logs.max())
    mean = float(mass @ grid / mass.sum())
    return mean, float(mass @ (grid - mean) ** 2 / mass.sum())


def _conditional_mean(at: Setting) -> float:
    return abs(conditional_mean(at.records, 1.0, 0.0, 100.0) - _conditional(at)[0])


def _conditional_variance(at: Setting) -> float:
    return abs(1 / conditional_precision(at.records, 1.0, 100.0) / _conditional(at)[1] - 1)


def _conditional_gamma(at: Setting) -> float:
    """Return the relative difference between the mean of 1/sigma2 by the printed formula and the mean by quadrature in
    log sigma2. The mean is conditional on mu = 0 and the records, with the prior IG(1, 1).
    """
    x, t = at.records, np.linspace(-4, 5, 20001)
    logs = -0.5 * len(x) * t - 0.5 * (x**2).sum() * np.exp(-t) - t - np.exp(-t)
    mass = np.exp(logs - logs.max())
    shape, rate = conditional_gamma(x, 0.0, 1.0, 1.0)
    return float(abs(shape / rate / (mass @ np.exp(-t) / mass.sum()) - 1))


def _likelihood(at: Setting) -> float:
    x, theta = at.records, stats.norm(0.1, 1.1)
    inside = (x >= -2) & (x <= 2)
    each = np.where(inside, theta.logpdf(x), np.where(x < -2, theta.logcdf(-2), theta.logsf(2)))
    s = CensoredStatistics(lower=-2.0, upper=2.0).of(x)
    return abs(censored_log_likelihood(s, len(x), -2.0, 2.0, 0.1, 1.21) - float(each.sum()))


def _empty(at: Setting) -> float:
    return max(float(np.exp(at.sampler(t).log_area(0.0)[0])) for t in ("xi_mean", "xi_sse"))


def _whole(at: Setting) -> float:
    """Return the largest absolute error of P(A_0), the probability that the weight is positive, as computed by the
    sampler. This probability is computed under the base distribution, and is 1 or G(z_sse).
    """
    probabilities = [np.exp(at.sampler(t).log_whole) for t in ("xi_mean", "xi_sse")]
    return float(max(abs(probabilities[0] - 1), abs(probabilities[1] - stats.laplace.cdf(at.z_sse, scale=at.scale))))


def _marginal_of_u(at: Setting) -> float:
    """Return the largest deviation from 1 of the integral of the marginal density of u, over two target distributions.
    The marginal density is (c/psi) P(A_u). A_u is the set on which the relative weight exceeds u, c is the maximum of
    the weight, and psi is the normalising constant.
    """
    gaps = []
    for target in ("xi_mean", "xi_sse"):
        sampler = at.sampler(target)
        area = quad(lambda t, s=sampler: float(np.exp(t + s.log_area(t)[0] - s.log_psi)), -60, 0, limit=400)[0]
        gaps.append(abs(area - 1))
    return max(gaps)


def _joint(at: Setting) -> float:
    """Return the largest difference between a target density and its representation as a mixture over u. The mixture is
    the integral of f(x | u) p(u) over u, and the target density is w(x) g(x)/psi, with the weight w, the base density g
    and the normalising constant psi. The difference is relative to the maximum of the density, and psi is computed by
    quadrature.
    """
    gaps = []
    for target in ("xi_mean", "xi_sse"):
        sampler = at.sampler(target)
        w, spread = sampler.weight, float(sampler.weight.exact(at.scale).variance() ** 0.5)
        middle = float(sampler.weight.exact(at.scale).mean())
        x = np.linspace(middle - 12 * spread, middle + 12 * spread, 200_001)
        logs = w.log_relative(x) + stats.laplace.logpdf(x, scale=at.scale)
        psi = np.trapezoid(np.exp(logs - logs.max()), x)
        direct = np.exp(logs - logs.max()) / psi
        # f(x | u) p(u) = g(x)/psi if u < w(x)/c, so the integral is g(x) w(x)/(c psi)
        augmented = np.exp(w.log_relative(x) + stats.laplace.logpdf(x, scale=at.scale) - sampler.log_psi)
        gaps.append(float(np.abs(augmented - direct).max() / direct.max()))
    return max(gaps)


Check = tuple[str, Callable[[Setting], float], float]
FORMULAS: tuple[Check, ...] = (
    ("joint density of x and u", _joint, 1e-6),
    ("marginal density of u", _marginal_of_u, 1e-6),
    ("P(A_0) is the base's probability of the weight's support", _whole, TOLERANCE),
    ("P(A_1) = 0", _empty, TOLERANCE),
    ("mean of the full conditional of mu", _conditional_mean, TOLERANCE),
    ("variance of the full conditional of mu", _conditional_variance, 1e-6),
    ("full conditional of sigma2", _conditional_gamma, 1e-6),
    ("censored likelihood through four statistics", _likelihood, TOLERANCE),
    ("Laplace cdf", _laplace_cdf, TOLERANCE),
    ("Laplace quantile", _laplace_quantile, TOLERANCE),
    ("normal weight's end points", _normal_ends, TOLERANCE),
    ("gamma weight's mode", _gamma_mode, TOLERANCE),
    ("gamma weight's maximum", _gamma_maximum, TOLERANCE),
    ("gamma weight's end points", _gamma_ends, TOLERANCE),
)


def formulas(*, z_mean: float, z_sse: float, mu: float, sigma2: float, count: int, scale: float) -> pd.DataFrame:
    """Return, for every printed formula, the largest difference from an independent evaluation.

    Returns
    -------
    DataFrame with the columns formula, gap (absolute, or relative if the function's docstring states this), tolerance
        and holds.
    """
    setting = Setting(z_mean, z_sse, mu, sigma2, count, scale)
    rows = [(name, gap(setting), tolerance) for name, gap, tolerance in FORMULAS]
    table = pd.DataFrame(rows, columns=["formula", "gap", "tolerance"])
    return table.assign(holds=table["gap"] <= table["tolerance"])
