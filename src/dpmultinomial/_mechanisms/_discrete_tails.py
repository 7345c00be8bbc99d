"""Sums of the discrete Gaussian law: its normaliser, its variance, its tails with full relative accuracy, its draws."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import eval_hermitenorm

from . import _normal_tails

Array = NDArray[np.float64]
_REACH = 40.0  # standard deviations: exp(-800) is nothing
_SMOOTH = 0.15  # fall of the log of the density from one whole number to the next, up to which the series is used
_WIDE = 20.0  # sigma from which it is used
_FEW = 64  # terms that are always added one by one
_SERIES = (1 / 24, -7 / 5760, 31 / 967680, -127 / 154828800, 73 / 3503554560)  # midpoint rule, derivatives 1, 3, ..
_TINY = 1e-18


def log_normaliser(sigma: float | Array) -> float | Array:
    """log of sum_d exp(-d^2/(2 sigma^2)).

    Parameters
    ----------
    sigma : > 0, any shape.

    Returns
    -------
    float, or float64 of the shape of `sigma`
        By the sum or, for sigma >= 1, by its Poisson transform.
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
    """Variance of the law.

    Parameters
    ----------
    sigma : > 0, any shape.
    log_norm : `log_normaliser` of it.

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
    """Sums of exp(-d^2/(2 sigma^2)) and of d^2 times it over d >= 1, for many sigmas <= 1."""
    zeroth, second = np.zeros(sigma.shape), np.zeros(sigma.shape)
    for d in range(1, int(_REACH) + 2):
        term = np.exp(-((d / sigma) ** 2) / 2)
        if not term.any():
            break
        zeroth, second = zeroth + term, second + d * d * term
    return zeroth, second


def _log_waves(sigma: Array) -> Array:
    """The normaliser's Poisson transform, for many sigmas >= 1."""
    waves = np.zeros(sigma.shape)
    for n in (1, 2, 3):
        waves = waves + np.exp(-2 * (np.pi * sigma * n) ** 2)
    return np.asarray(np.log(sigma) + np.log(2 * np.pi) / 2 + np.log1p(2 * waves))


def log_sum(low: Array, high: Array, sigma: Array) -> Array:
    """log of the sum of exp(-d^2/(2 sigma^2)) over whole d in low..high.

    Parameters
    ----------
    low, high : whole (n,), 1 <= low <= high <= inf.
    sigma : > 0 (n,).

    Returns
    -------
    float64 (n,)

    Notes
    -----
    Term by term where few count; else the integral from low - 1/2 to high + 1/2 with the correction of Euler and
    Maclaurin at both ends, whose first neglected term is below 1e-14 of the sum.
    """
    out = np.empty_like(low)
    smooth = (low / sigma**2 < _SMOOTH) & (sigma >= _WIDE) & (high - low > _FEW)
    out[~smooth] = _term_by_term(low[~smooth], high[~smooth], sigma[~smooth])
    a, b, s = low[smooth] - 0.5, high[smooth] + 0.5, sigma[smooth]
    logs = _normal_tails.log_between(a, b, s) + np.log(s) + np.log(2 * np.pi) / 2
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
    """Correction at an end x of the integral, relative to exp(logs); odd derivatives are -He(x/sigma)/sigma^k f."""
    out = np.zeros_like(x)
    near = x < np.inf
    t, s = x[near] / sigma[near], sigma[near]
    series = sum(-c * eval_hermitenorm(2 * i + 1, t) / s ** (2 * i + 1) for i, c in enumerate(_SERIES))
    out[near] = series * np.exp(-t * t / 2 - logs[near])
    return out


def draw(sigma: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws with a sigma each, by rejection from two-sided geometric noise (Canonne et al. 2020, algorithm 3).

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
        found = sides[0] - sides[1]
        excess = (np.abs(found) - s[left] ** 2 / width[left]) / s[left]
        taken = rng.random(len(left)) < np.exp(-(excess**2) / 2)
        out[left[taken]] = found[taken]
        left = left[~taken]
    return out.reshape(np.shape(sigma))
