"""Compute the tables for the figures that illustrate the slides of Raim (2021). The illustrations show the weighted
density, P(A_u), step functions, acceptance and rejection, and weights.

The module also has the setting of the slides that several tables share.
"""

from typing import Any

import numpy as np
import pandas as pd

from .algorithms import direct_sampling as ds
from .algorithms.direct_sampling import DirectSampler, LaplaceBase, NormalWeight

TARGETS = ("xi_mean", "xi_sse")


def weight(target: str, *, z_mean: float, z_sse: float, mu: float, sigma2: float, count: int) -> Any:
    """Return the weight function of the target density xi_mean or xi_sse. The argument `count` is s_c, the number of
    uncensored records.
    """
    if target == "xi_mean":
        return ds.NormalWeight(z_mean, mu=mu, sigma2=sigma2, count=count)
    return ds.GammaWeight(z_sse, sigma2=sigma2, count=count)


def exact(target: str, scale: float, *, z_mean: float, z_sse: float, mu: float, sigma2: float, count: int) -> Any:
    """Return the closed-form conditional distribution of the noise of the mean or of the sum of squares, given the
    released statistic.
    """
    if target == "xi_mean":
        return ds.exact_normal(z_mean, mu=mu, sigma2=sigma2, count=count, scale=scale)
    return ds.exact_gamma(z_sse, sigma2=sigma2, count=count, scale=scale)


def weighted_density(*, z: float, sigma2: float, scale: float, u: float) -> pd.DataFrame:
    """Return the plotted curves for a normal weight function and a Laplace base distribution. They show the base, the
    weight, the target, the interval A_u, and the density of [x | u].

    Returns
    -------
    DataFrame with the columns curve (base, weight, target, conditional), x, y, z, sigma2 and scale. The ends of A_u are
        those of the curve ``conditional``.
    """
    w, base = NormalWeight(z, mu=0.0, sigma2=sigma2), LaplaceBase(scale)
    sampler = DirectSampler(w, base)
    x = np.linspace(-3 * scale, z + 3.5 * sigma2**0.5, 801)
    law = w.exact(scale)
    density = np.exp(-np.abs(x) / scale) / (2 * scale)
    ends = np.ravel(sampler.interval(np.log(u)))
    inside = np.linspace(ends[0], ends[1], 401)
    conditional = np.exp(-np.abs(inside) / scale - sampler.log_area(np.log(u))[0]) / (2 * scale)
    curves = {"base": (x, density), "weight": (x, np.exp(w.log_relative(x))), "target": (x, law.pdf(x))}
    curves["conditional"] = (inside, conditional)
    curves["level"] = (ends, np.full(2, u))
    return _stack("curve", curves).assign(z=z, sigma2=sigma2, scale=scale)


def descent(*, z_mean: float, z_sse: float, mu: float, sigma2: float, count: int, scale: float) -> pd.DataFrame:
    """Return the probability P(A_u) and the density p(u) as functions of log u, and the lower limit u_L according to
    two rules. A_u is the set on which the relative weight exceeds u.

    Returns
    -------
    DataFrame with the columns target, curve (area: P(A_u)/P(A_0); density: p(u) u, the density of log u; for u_L
        machine, u_L efficient and u_H, y is NaN), log_u, y, z, mu, sigma2, count (s_c) and scale.
    """
    parts = []
    for target in TARGETS:
        w = weight(target, z_mean=z_mean, z_sse=z_sse, mu=mu, sigma2=sigma2, count=count)
        fine, coarse = (DirectSampler(w, LaplaceBase(scale), lower=rule) for rule in ("efficient", "machine"))
        log_u = -np.geomspace(1e-4, -4 * coarse.log_lower, 800)[::-1]
        area = fine.log_area(log_u)
        curves = {
            "area": (log_u, np.exp(area - fine.log_whole)),
            "density": (log_u, np.exp(log_u + area - fine.log_psi)),
            "u_L machine": ([coarse.log_lower], [np.nan]),
            "u_L efficient": ([fine.log_lower], [np.nan]),
            "u_H": ([fine.log_upper], [np.nan]),
        }
        z = z_mean if target == "xi_mean" else z_sse
        parts.append(_stack("curve", curves).assign(target=target, z=z))
    table = pd.concat(parts, ignore_index=True).rename(columns={"x": "log_u"})
    about = {"mu": mu, "sigma2": sigma2, "count": count, "scale": scale}
    return table[["target", "curve", "log_u", "y", "z"]].assign(**about)


def step_functions(*, z: float, sigma2: float, scale: float, knots: list[int]) -> pd.DataFrame:
    """Return the probability that the relative weight exceeds u, and its approximations by step functions, as functions
    of u. The probability is P(A_u), and the step functions have different numbers of knots N.

    Returns
    -------
    DataFrame with the columns knots (0: P(A_u)), kind (area, step), u, y, order (in which steps were added), bound,
        rejection_rate, z, sigma2 and scale.
    """
    w = NormalWeight(z, mu=0.0, sigma2=sigma2)
    u = np.linspace(1e-6, 1, 1000)
    area = np.exp(DirectSampler(w, LaplaceBase(scale)).log_area(np.log(u)))
    parts = [pd.DataFrame({"knots": 0, "kind": "area", "u": u, "y": area})]
    for n in knots:
        sampler = DirectSampler(w, LaplaceBase(scale), knots=n, midpoint="arithmetic")
        steps = sampler.step_function()
        about = {"knots": n, "kind": "step", "bound": sampler.bound, "rejection_rate": sampler.rejection_rate}
        pieces = {"u": np.exp(steps["log_u"]), "y": np.exp(steps["log_height"]), "order": steps["order"]}
        parts.append(pd.DataFrame({**about, **pieces}))
    return pd.concat(parts, ignore_index=True).assign(z=z, sigma2=sigma2, scale=scale)


def accept_reject(
    *, z: float, sigma2: float, scale: float, knots: int, candidates: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return points (u, v h*(u)) that are uniformly distributed under the graph of the step function h*, where v is
    uniform on [0, 1]. Candidates below P(A_u) are accepted.

    Returns
    -------
    DataFrame with the columns kind (area, step, accepted, rejected), u, y, z, sigma2 and scale.
    """
    sampler = DirectSampler(
        NormalWeight(z, mu=0.0, sigma2=sigma2), LaplaceBase(scale), knots=knots, midpoint="arithmetic"
    )
    steps = sampler.step_function()
    left, height = np.exp(steps["log_u"].to_numpy()), np.exp(steps["log_height"].to_numpy())
    mass = np.diff(left) * height[:-1]
    piece = rng.choice(len(mass), size=candidates, p=mass / mass.sum())
    u = left[piece] + rng.random(candidates) * np.diff(left)[piece]
    y = rng.random(candidates) * height[piece]
    good = y < np.exp(sampler.log_area(np.log(u)))
    grid = np.linspace(1e-6, 1, 1000)
    curves = {"area": (grid, np.exp(sampler.log_area(np.log(grid)))), "step": (left, height)}
    curves |= {"accepted": (u[good], y[good]), "rejected": (u[~good], y[~good])}
    return _stack("kind", curves).rename(columns={"x": "u"}).assign(z=z, sigma2=sigma2, scale=scale)


def weight_functions(*, z_mean: float, z_sse: float, mu: float, sigma2: float, count: int, levels: list[float]):
    """Return the normal and the gamma weight functions relative to their maxima, with level sets. The level set A_u is
    the interval on which the relative weight exceeds the level u.

    Returns
    -------
    DataFrame with the columns target, curve (weight, or interval: two rows per level), xi, y, log_maximum, z, mu,
        sigma2, count and scale.
    """
    parts = []
    for target in TARGETS:
        w = weight(target, z_mean=z_mean, z_sse=z_sse, mu=mu, sigma2=sigma2, count=count)
        sampler = DirectSampler(w, LaplaceBase(1.0))
        low, high = sampler.interval(np.log(min(levels) / 20))
        xi = np.linspace(low[0], high[0], 601)
        ends = np.stack(sampler.interval(np.log(levels)), axis=1).ravel()
        curves = {"weight": (xi, np.exp(w.log_relative(xi))), "interval": (ends, np.repeat(levels, 2))}
        table = _stack("curve", curves).rename(columns={"x": "xi"})
        z = z_mean if target == "xi_mean" else z_sse
        parts.append(table.assign(target=target, log_maximum=w.log_maximum, z=z))
    about = {"mu": mu, "sigma2": sigma2, "count": count, "scale": 1.0}
    return pd.concat(parts, ignore_index=True).assign(**about)


def _stack(name: str, curves: dict) -> pd.DataFrame:
    return pd.concat([pd.DataFrame({name: k, "x": x, "y": y}) for k, (x, y) in curves.items()], ignore_index=True)
