"""Errata and omissions of the slides by Raim (2021), each with evidence that a run produces."""

from typing import Any

import numpy as np
import pandas as pd

from ... import evidence
from .algorithms import censored_normal
from .algorithms import direct_sampling as ds

EPSILON, SENSITIVITY, Z_MEAN, Z_SSE = 2.0, 16.988, -21.27, 778.56
SCALE = SENSITIVITY / EPSILON
_MODEL: dict[str, Any] = {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": SCALE}


def _missing_n(rng: np.random.Generator, sweeps: int) -> str:
    x, sigma2, prior = 3 + rng.standard_normal(1000), 1.0, (0.0, 100.0)
    precision = len(x) / sigma2 + 1 / prior[1]
    written = (x.mean() / sigma2 + prior[0] / prior[1]) / precision
    right = (len(x) * x.mean() / sigma2 + prior[0] / prior[1]) / precision
    return (
        f"For 1,000 records with mean {x.mean():.3f}, the printed formula gives vartheta = {written:.5f}, and the "
        f"formula with n gives {right:.3f}."
    )


def _in_turn(rng: np.random.Generator, sweeps: int) -> str:
    z = (Z_MEAN, Z_SSE, 23.0, 27.0)
    means = []
    for method in ("as_written", "slides_model"):
        counts = [
            censored_normal.chain(z, **_MODEL, method=method, draws=1, burn_in=0, rng=rng, initial=(0.0, 1.0)).draws[
                0, 4:
            ]
            for _ in range(sweeps)
        ]
        inside = 1000 - np.sum(counts, axis=1)
        means.append(f"{inside.mean():.2f} ({inside.std() / sweeps**0.5:.2f})")
    return (
        f"Given theta = (0, 1), the mean of s_c is {means[0]} as written and {means[1]} with the factors psi(s_c), "
        "which sequential drawing omits (standard errors in parentheses)."
    )


def _untruncated(rng: np.random.Generator, sweeps: int) -> str:
    x = rng.standard_normal(1_000_000)
    inside = x[np.abs(x) <= 2]
    chain = censored_normal.chain(
        (Z_MEAN, Z_SSE, 23.0, 27.0), **_MODEL, method="as_written", draws=sweeps, burn_in=0, rng=rng, initial=(0.0, 1.0)
    )
    outside = np.abs(chain.draws[:, 2]) > 2
    first = f" for the first time in sweep {np.argmax(outside) + 1}, and" if outside.any() else ""
    return (
        f"The variance of N(0, 1) truncated to [-2, 2] is {inside.var():.4f}, whereas the slides use 1. In the chain "
        f"with starting point (0, 1), s_mean is outside [a, b]{first} in {100 * chain.impossible:.0f} % of {sweeps} "
        "sweeps."
    )


def _end_points(rng: np.random.Generator, sweeps: int) -> str:
    weight = ds.NormalWeight(0.0, mu=0.0, sigma2=1.0)
    scaled = 3.0 * np.exp(weight.log_relative(np.linspace(-5, 5, 100001)))
    truth = np.linspace(-5, 5, 100001)[scaled > 0.5 * scaled.max()].max()
    return (
        f"For the weight 3 exp(-x^2/2) and u = 0.5, the upper end of A_u is {truth:.4f}, and sqrt(-2 log u) is "
        f"{np.sqrt(-2 * np.log(0.5)):.4f}. In the printed formula sqrt(-2 log(c u)), the radicand is -2 log(1.5) = "
        f"{-2 * np.log(1.5):.2f}."
    )


def _lambert(rng: np.random.Generator, sweeps: int) -> str:
    from scipy.special import lambertw

    weight = ds.GammaWeight(Z_SSE, sigma2=1.0, count=950)
    log_u = -np.array([0.01, 1.0, 20.0])
    low, high = ds.DirectSampler(weight, ds.LaplaceBase(SCALE)).interval(log_u)
    argument = -np.exp(-1 + log_u / weight.power)
    closed = [weight.z + (weight.z - weight.mode) * lambertw(argument, k).real for k in (-1, 0)]
    gap = max(np.abs(low - closed[0]).max(), np.abs(high - closed[1]).max())
    return (
        "Both end points are computed with Lambert's W function at u = 0.99, 0.37 and 2e-9. Their largest difference "
        f"from the end points of this project is {gap:.1e}."
    )


def _lower_end(rng: np.random.Generator, sweeps: int) -> str:
    weight = ds.NormalWeight(Z_MEAN, mu=0.0, sigma2=1.0, count=950)
    ends = [ds.DirectSampler(weight, ds.LaplaceBase(s), lower="machine") for s in (SCALE, SCALE / 10)]
    samplers = [ds.DirectSampler(weight, ds.LaplaceBase(SCALE), knots=ds.KNOTS, lower=rule) for rule in ds.LOWER_ENDS]
    rates = [sampler.rejection_rate for sampler in samplers]
    return (
        "Because P(A_u) < P(A_0) for every u > 0, u_L is exactly 0. In floating-point arithmetic, log u_L is "
        f"{ends[0].log_lower:.3g} (and {ends[1].log_lower:.3g} for a tenth of the scale). With N = {ds.KNOTS}, the "
        f"rejection rate is {rates[1]:.3f} for this u_L and {rates[0]:.3f} for the u_L of this project."
    )


def _envelope(rng: np.random.Generator, sweeps: int) -> str:
    sampler = ds.DirectSampler(ds.NormalWeight(0.5, mu=0.0, sigma2=1.0), ds.LaplaceBase(1.0))
    below = sampler.log_area(np.array([sampler.log_lower - 1.0]))[0]
    height = sampler.step_function()["log_height"][1]
    return (
        f"Below u_L = e^{sampler.log_lower:.1f}, the slides use h* = P(A_uL) = {np.exp(height):.6f}, which is not an "
        f"envelope, because P(A_u) is as large as {np.exp(below):.6f}. The height P(A_0) gives an envelope, and the "
        "bound must include the area u_L (P(A_0) - P(A_uL))."
    )


def _upper_end(rng: np.random.Generator, sweeps: int) -> str:
    losses = []
    for z in (Z_SSE, 600.0, 400.0):
        sampler = ds.DirectSampler(ds.GammaWeight(z, sigma2=1.0, count=950), ds.LaplaceBase(SCALE))
        log_u = -np.geomspace(1e-12, 400.0, 200_000)[::-1]
        area = sampler.log_area(log_u)
        end = int(np.argmax(area < sampler.log_whole + np.log(1e-10)))
        mass = np.exp(log_u + area - sampler.log_psi)
        lost = np.trapezoid(mass[end:], log_u[end:]) if area[end] < sampler.log_whole + np.log(1e-10) else 0.0
        losses.append(f"{lost:.2g} at z_sse = {z:g}")
    return (
        "If u_H is the point at which P(A_u) falls to 1e-10 of P(A_0), the omitted probability mass of p(u) is "
        f"{losses[0]}, {losses[1]} and {losses[2]}. With u_H = 1, no mass is omitted."
    )


ERRATA: evidence.Errata = {
    1: ("The formula for the full conditional distribution of mu lacks the factor n.", _missing_n),
    2: ("Drawing the components of s one after another omits the normalising constants psi(s_c).", _in_turn),
    3: (
        "For the uncensored records of a censored sample, the slides use the distributions of s_mean and s_sse of a "
        "sample without censoring.",
        _untruncated,
    ),
    4: ("The formula for the end points of A_u must contain log u instead of log(c u).", _end_points),
    5: ("The end points for the gamma weight have a closed form.", _lambert),
    6: ("The value of u_L, the smallest u with P(A_u) < P(A_0), is a floating-point artefact.", _lower_end),
    7: ("Below u_L, h* is not an envelope.", _envelope),
    8: ("If u_H is a point at which P(A_u) is small, probability mass is omitted for extreme releases.", _upper_end),
}


def errata(*, sweeps: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    return evidence.table("raim2021", ERRATA, rng=rng, size=sweeps)
