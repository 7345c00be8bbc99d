"""The slides' formulas, letter by letter: what `formulas` holds against independent evaluations."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr

Array = NDArray[np.float64]


def laplace_cdf(xi: Array, scale: float) -> Array:
    """G(xi) = 1/2 + sgn(xi) (1 - exp(-|xi|/scale))/2."""
    return 0.5 + 0.5 * np.sign(xi) * (1 - np.exp(-np.abs(xi) / scale))


def laplace_quantile(probability: Array, scale: float) -> Array:
    """-scale sgn(probability - 1/2) log(1 - 2 |probability - 1/2|)."""
    away = probability - 0.5
    return -scale * np.sign(away) * np.log(1 - 2 * np.abs(away))


def normal_ends(u: Array, z: float, mu: float, variance: float) -> tuple[Array, Array]:
    """z - mu -+ sqrt(-2 variance log(c u)), c = 1."""
    reach = np.sqrt(-2 * variance * np.log(u))
    return z - mu - reach, z - mu + reach


def gamma_mode(z: float, shape: float, beta: float) -> float:
    """z - beta (shape - 1)."""
    return z - beta * (shape - 1)


def gamma_maximum(shape: float, beta: float) -> float:
    """(shape - 1)^(shape - 1) exp(-(shape - 1))/(Gamma(shape) beta)."""
    return float(np.exp((shape - 1) * np.log(shape - 1) - (shape - 1) - gammaln(shape)) / beta)


def conditional_mean(x: Array, sigma2: float, mu0: float, var0: float) -> float:
    """vartheta of the full conditional of mu, as printed: without n before t_mean."""
    return float((x.mean() / sigma2 + mu0 / var0) / conditional_precision(x, sigma2, var0))


def conditional_precision(x: Array, sigma2: float, var0: float) -> float:
    """omega^2 = n/sigma2 + 1/var0."""
    return len(x) / sigma2 + 1 / var0


def conditional_gamma(x: Array, mu: float, shape0: float, rate0: float) -> tuple[float, float]:
    """Shape and rate of the full conditional of sigma2."""
    sse = float(((x - x.mean()) ** 2).sum())
    return shape0 + len(x) / 2, rate0 + 0.5 * (sse + len(x) * (x.mean() - mu) ** 2)


def censored_log_likelihood(statistics: Array, n: int, lower: float, upper: float, mu: float, sigma2: float) -> float:
    """log f(x | theta) through s_mean, s_sse, s_low, s_high."""
    mean, sse, low, high = map(float, statistics)
    inside, sigma = n - low - high, sigma2**0.5
    tails = low * log_ndtr((lower - mu) / sigma) + high * log_ndtr((mu - upper) / sigma)
    square = (sse + inside * (mean - mu) ** 2) / (2 * sigma2)
    return float(tails - 0.5 * inside * np.log(2 * np.pi * sigma2) - square)
