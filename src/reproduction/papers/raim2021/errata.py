"""Errata and omissions of the slides. Each entry has evidence from the run."""

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
    return f"1,000 records with mean {x.mean():.3f}: the printed vartheta is {written:.5f}, with n {right:.3f}"


def _in_turn(rng: np.random.Generator, sweeps: int) -> str:
    z = (Z_MEAN, Z_SSE, 23.0, 27.0)
    found = []
    for method in ("as_written", "slides_model"):
        counts = [
            censored_normal.chain(z, **_MODEL, method=method, draws=1, burn_in=0, rng=rng, initial=(0.0, 1.0)).draws[
                0, 4:
            ]
            for _ in range(sweeps)
        ]
        inside = 1000 - np.sum(counts, axis=1)
        found.append(f"{inside.mean():.2f} ({inside.std() / sweeps**0.5:.2f})")
    return (
        f"given theta = (0, 1): mean s_c {found[0]} as written, {found[1]} with the factors psi(s_c) that drawing "
        "in turn leaves out"
    )


def _untruncated(rng: np.random.Generator, sweeps: int) -> str:
    x = rng.standard_normal(1_000_000)
    inside = x[np.abs(x) <= 2]
    chain = censored_normal.chain(
        (Z_MEAN, Z_SSE, 23.0, 27.0), **_MODEL, method="as_written", draws=sweeps, burn_in=0, rng=rng, initial=(0.0, 1.0)
    )
    outside = np.abs(chain.draws[:, 2]) > 2
    first = f"sweep {np.argmax(outside) + 1}" if outside.any() else "no sweep"
    return (
        f"variance of N(0, 1) inside [-2, 2]: {inside.var():.4f}, the slides use 1; the chain from (0, 1) first has "
        f"s_mean outside [a, b] at {first}, and in {chain.impossible:.0%} of {sweeps} sweeps"
    )


def _end_points(rng: np.random.Generator, sweeps: int) -> str:
    weight = ds.NormalWeight(0.0, mu=0.0, sigma2=1.0)
    scaled = 3.0 * np.exp(weight.log_relative(np.linspace(-5, 5, 100001)))
    truth = np.linspace(-5, 5, 100001)[scaled > 0.5 * scaled.max()].max()
    return (
        f"weight 3 exp(-x^2/2), u = 0.5: A_u ends at {truth:.4f}; sqrt(-2 log u) = {np.sqrt(-2 * np.log(0.5)):.4f}, "
        f"the printed sqrt(-2 log(c u)) has -2 log(1.5) = {-2 * np.log(1.5):.2f} under the root"
    )


def _lambert(rng: np.random.Generator, sweeps: int) -> str:
    from scipy.special import lambertw

    weight = ds.GammaWeight(Z_SSE, sigma2=1.0, count=950)
    log_u = -np.array([0.01, 1.0, 20.0])
    low, high = ds.DirectSampler(weight, ds.LaplaceBase(SCALE)).interval(log_u)
    at = -np.exp(-1 + log_u / weight.power)
    closed = [weight.z + (weight.z - weight.mode) * lambertw(at, k).real for k in (-1, 0)]
    gap = max(np.abs(low - closed[0]).max(), np.abs(high - closed[1]).max())
    return f"both ends by Lambert's W at u = 0.99, 0.37, 2e-9: largest difference from ours {gap:.1e}"


def _lower_end(rng: np.random.Generator, sweeps: int) -> str:
    weight = ds.NormalWeight(Z_MEAN, mu=0.0, sigma2=1.0, count=950)
    ends = [ds.DirectSampler(weight, ds.LaplaceBase(s), lower="machine") for s in (SCALE, SCALE / 10)]
    samplers = [ds.DirectSampler(weight, ds.LaplaceBase(SCALE), knots=ds.KNOTS, lower=rule) for rule in ds.LOWER_ENDS]
    rates = [sampler.rejection_rate for sampler in samplers]
    return (
        f"P(A_u) < P(A_0) for every u > 0: u_L = 0 exactly; in floating point log u_L = {ends[0].log_lower:.3g} (and "
        f"{ends[1].log_lower:.3g} at a tenth of the scale); with it N = {ds.KNOTS} rejects {rates[1]:.3f}, with the "
        f"rule here {rates[0]:.3f}"
    )


def _envelope(rng: np.random.Generator, sweeps: int) -> str:
    sampler = ds.DirectSampler(ds.NormalWeight(0.5, mu=0.0, sigma2=1.0), ds.LaplaceBase(1.0))
    below = sampler.log_area(np.array([sampler.log_lower - 1.0]))[0]
    at = sampler.step_function()["log_height"][1]
    return (
        f"below u_L = e^{sampler.log_lower:.1f} the slides put h* = P(A_uL) = {np.exp(at):.6f} where P(A_u) reaches "
        f"{np.exp(below):.6f} > h*: not an envelope; P(A_0) is, and the bound needs u_L (P(A_0) - P(A_uL))"
    )


def _upper_end(rng: np.random.Generator, sweeps: int) -> str:
    found = []
    for z in (Z_SSE, 600.0, 400.0):
        sampler = ds.DirectSampler(ds.GammaWeight(z, sigma2=1.0, count=950), ds.LaplaceBase(SCALE))
        log_u = -np.geomspace(1e-12, 400.0, 200_000)[::-1]
        area = sampler.log_area(log_u)
        at = int(np.argmax(area < sampler.log_whole + np.log(1e-10)))
        mass = np.exp(log_u + area - sampler.log_psi)
        lost = np.trapezoid(mass[at:], log_u[at:]) if area[at] < sampler.log_whole + np.log(1e-10) else 0.0
        found.append(f"z_sse = {z:g}: {lost:.2g}")
    return (
        "mass of p(u) lost if u_H is where P(A_u) falls to 1e-10 of P(A_0): "
        + ", ".join(found)
        + "; u_H = 1 loses none"
    )


ERRATA: evidence.Errata = {
    1: ("the full conditional of mu lacks n", _missing_n),
    2: ("drawing s in turn drops the normalisers psi(s_c)", _in_turn),
    3: ("s_mean and s_sse of uncensored records are given the laws of uncensored samples", _untruncated),
    4: ("the end points of A_u need log u, not log(c u)", _end_points),
    5: ("the gamma weight's end points have a closed form", _lambert),
    6: ("u_L, the smallest u with P(A_u) < P(A_0), is a notion of floating point", _lower_end),
    7: ("h* below u_L is no envelope", _envelope),
    8: ("cutting u_H where P(A_u) is small loses mass far from the mode", _upper_end),
}


def errata(*, sweeps: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    return evidence.table("raim2021", ERRATA, rng=rng, size=sweeps)
