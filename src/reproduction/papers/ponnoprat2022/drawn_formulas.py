"""The paper's formulas as it prints them, from gamma functions alone; nothing of the accountants is used."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, digamma, gammaln

Array = NDArray[np.float64]
_SHIFTED = 30  # steps of the trigamma's recurrence before its asymptotic series
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def trigamma(x: ArrayLike) -> Array:
    """psi'(x) = sum 1/(x + k)^2, the first terms one by one, the rest by Euler and Maclaurin."""
    start = np.asarray(x, dtype=float)
    far = start + _SHIFTED
    rest = 1 / far + 1 / (2 * far**2) + sum(b / far ** (2 * i + 3) for i, b in enumerate(_BERNOULLI))
    return np.asarray(rest + sum(1 / (start + k) ** 2 for k in range(_SHIFTED)))


def guarantee(r: ArrayLike, order: ArrayLike, l2_squared: ArrayLike = 2.0) -> Array:
    """Line 1 of Algorithm 1: (lambda/2) r^2 Delta_2^2 psi'(1 + 3(lambda - 1) r)."""
    scale, lam = np.asarray(r, dtype=float), np.asarray(order, dtype=float)
    return lam / 2 * scale**2 * np.asarray(l2_squared) * trigamma(1 + 3 * (lam - 1) * scale)


def calibrated(epsilon: float, order: float) -> tuple[float, float]:
    """Algorithm 1: r at which its line 1 is epsilon, alpha = 1 + 4(lambda - 1) r."""
    r = brentq(lambda log_r: float(guarantee(np.exp(log_r), order)) / epsilon - 1, -40, 40, xtol=1e-13)
    return float(np.exp(r)), 1 + 4 * (order - 1) * float(np.exp(r))


def floor(order: ArrayLike, delta: ArrayLike) -> Array:
    """What equation 14 adds: log(1/delta)/(lambda - 1) + log(1 - 1/lambda) - log(lambda)/(lambda - 1)."""
    lam = np.asarray(order, dtype=float)
    return np.asarray(-np.log(delta) / (lam - 1) + np.log1p(-1 / lam) - np.log(lam) / (lam - 1))


def renyi(u: ArrayLike, v: ArrayLike, order: float) -> float:
    """D_order of Dirichlet(u) from Dirichlet(v)."""
    a, b = np.asarray(u, dtype=float), np.asarray(v, dtype=float)
    mixed = order * a + (1 - order) * b
    return float((_log_beta(mixed) + (order - 1) * _log_beta(b) - order * _log_beta(a)) / (order - 1))


def divergence(counts: ArrayLike, r: ArrayLike, alpha: ArrayLike) -> tuple[Array, Array]:
    """Mean and standard deviation of D_KL(f || y), y ~ Dirichlet(r f + alpha)."""
    f = np.asarray(counts, dtype=float)
    p = f / f.sum()
    a = np.asarray(r, dtype=float)[..., None] * f + np.asarray(alpha, dtype=float)[..., None]
    mean = np.sum(p * np.log(p)) - (p * (digamma(a) - digamma(a.sum(axis=-1, keepdims=True)))).sum(axis=-1)
    variance = (p**2 * trigamma(a)).sum(axis=-1) - trigamma(a.sum(axis=-1))
    return mean, np.sqrt(variance)


def some_below(gamma: float, concentration: float, eta: float, eta_bar: float) -> float:
    """Largest probability, over both vertices of the region, that one of two cells is gamma or less."""
    return max(_some_below(gamma, concentration, eta, other) for other in (eta, 1 - eta_bar - eta))


def _some_below(gamma: float, k: float, first: float, second: float) -> float:
    """Pr[1] + Pr[2] - Pr[both]; the last by Gauss's rule in t, x = gamma t^(1/a)."""
    a, b, rest = k * first, k * second, k * (1 - first - second)
    t = (_NODES + 1) / 2
    x = gamma * t ** (1 / a)
    given = betainc(b, rest, np.minimum(gamma / (1 - x), 1.0))
    density = np.exp(a * np.log(gamma) - np.log(a) + (k - a - 1) * np.log1p(-x) - betaln(a, k - a))
    both = float((_WEIGHTS / 2) @ (density * given))
    return float(betainc(a, k - a, gamma) + betainc(b, k - b, gamma)) - both


def _log_beta(a: Array) -> float:
    return float(gammaln(a).sum() - gammaln(a.sum()))
