"""Compute the data for the figures of xi_mean and xi_sse, and the accuracy of the sampler."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kstest

from ...verdicts import draw_tests, power
from .algorithms import direct_sampling as ds
from .method import TARGETS, exact, weight
from .statistics_laws import LEVEL, TELLS, Target

RULES: dict[str, dict[str, Any]] = {
    "efficient": {},
    "as on the slides": {"lower": "machine"},
    "as on the slides, arithmetic": {"lower": "machine", "midpoint": "arithmetic"},
    "equal spacing": {"spacing": "equal"},
    "efficient, adaptive": {"adaptive": True},
}
LEVELS = (0.025, 0.5, 0.975)


def target_draws(
    *,
    target: str,
    deltas: list[float],
    epsilon: float,
    draws: int,
    knots: int,
    bins: int,
    rng: np.random.Generator,
    **setting,
) -> pd.DataFrame:
    """Return a histogram of the draws by the direct sampler, the exact density, and the step function that the sampler
    uses.

    Returns
    -------
    DataFrame with the columns delta_s, variant (``as_written``: u_L at machine precision, ``corrected``), kind
        (histogram: left ends, density, step: log u, area), x, y, order (of steps), rejected, bin_width, draws, mu,
        sigma2, count (s_c), z and epsilon.
    """
    w, parts = weight(target, **setting), []
    for delta in deltas:
        law = exact(target, delta / epsilon, **setting)
        for variant, rule in (("as_written", "machine"), ("corrected", "efficient")):
            sampler = ds.DirectSampler(w, ds.LaplaceBase(delta / epsilon), knots=knots, lower=rule)
            x, rejected, _ = sampler.sample_counted(draws, rng=rng)
            heights, edges = np.histogram(x, bins=bins, density=True)
            grid = np.linspace(edges[0], edges[-1], 400)
            steps = sampler.step_function()
            log_u = np.linspace(steps["log_u"][1], 0, 2000)[:-1] if rule == "efficient" else _fine(steps)
            kinds = {
                "histogram": {"x": edges[:-1], "y": heights},
                "density": {"x": grid, "y": law.pdf(grid)},
                "step": {"x": steps["log_u"][1:], "y": steps["log_height"][1:], "order": steps["order"][1:]},
                "area": {"x": log_u, "y": sampler.log_area(log_u)},
            }
            about = {
                "delta_s": delta,
                "variant": variant,
                "rejected": rejected,
                "bin_width": edges[1] - edges[0],
                "draws": draws,
                **{name: setting[name] for name in ("mu", "sigma2", "count")},
                **{"z": setting["z_mean" if target == "xi_mean" else "z_sse"], "epsilon": epsilon},
            }
            parts += [pd.DataFrame({**about, "kind": kind, **columns}) for kind, columns in kinds.items()]
    return pd.concat(parts, ignore_index=True)


def _fine(steps: pd.DataFrame) -> np.ndarray:
    return -np.geomspace(1e-3, -steps["log_u"][1], 2000)[::-1]


def xi_mean(*, rng: np.random.Generator, **settings: Any) -> pd.DataFrame:
    """Return draws of the noise of the mean (xi_mean), the exact density, and the step function of the sampler. The
    table has the format of `target_draws`.
    """
    return target_draws(target="xi_mean", rng=rng, **settings)


def xi_sse(*, rng: np.random.Generator, **settings: Any) -> pd.DataFrame:
    """Return draws of the noise xi_sse, the exact density of xi_sse, and the step function of the sampler. The result
    has the format of `target_draws`.
    """
    return target_draws(target="xi_sse", rng=rng, **settings)


def exact_laws(*, deltas: list[float], epsilon: float, **setting) -> pd.DataFrame:
    """Return summaries of the closed-form noise distributions for the mean (xi_mean) and for the sum of squares
    (xi_sse).

    Returns
    -------
    DataFrame with the columns target, delta_s, mean, sd, q025, q500, q975, mode and log_psi_over_c.
    """
    rows = []
    for target in TARGETS:
        for delta in deltas:
            law = exact(target, delta / epsilon, **setting)
            quantiles = dict(zip(("q025", "q500", "q975"), law.quantile(LEVELS), strict=True))
            row = {"target": target, "delta_s": delta, "mean": law.mean(), "sd": law.variance() ** 0.5, **quantiles}
            log_psi = law.log_normaliser - weight(target, **setting).log_maximum
            rows.append(row | {"mode": law.mode(), "log_psi_over_c": log_psi})
    return pd.DataFrame(rows)


def sampler_accuracy(
    *, deltas: list[float], epsilon: float, draws: int, knots: list[int], rng: np.random.Generator, **setting
) -> pd.DataFrame:
    """Return the accuracy of the direct sampler for each placement rule and each number of knots N. The results are the
    numbers of rejections, the exact rejection rate and its bound, the total variation distance, and tests of the draws.

    Returns
    -------
    DataFrame with the columns target, delta_s, variant, rule, knots, log_u_lower, rejected, observed_rate, mc_se,
        exact_rate, bound, total_variation, ks, ks_p (Kolmogorov's test), serial_p (`draw_tests.serial_p_value`), seen
        (relative change of the noise's scale, or for xi_mean of sigma2, that Kolmogorov's test rejects among the tests
        of its target) and knots_at_end. For an adaptive sampler, exact_rate is that of its first knots, and mc_se is
        missing.
    """
    rows, tests = [], 2 * len(deltas) * len(RULES) * len(knots)
    for target in TARGETS:
        w = weight(target, **setting)
        for delta in deltas:
            law = exact(target, delta / epsilon, **setting)
            seen = power.kolmogorov(_shift(target, delta / epsilon, **setting), draws, LEVEL / tests)
            for rule, options in RULES.items():
                for n in knots:
                    sampler = ds.DirectSampler(w, ds.LaplaceBase(delta / epsilon), knots=n, **options)
                    x, rejected, at_end = sampler.sample_counted(draws, rng=rng)
                    test = kstest(x, law.cdf)
                    rate = sampler.rejection_rate
                    row = {"target": target, "delta_s": delta, "variant": _variant(rule), "rule": rule, "knots": n}
                    row |= {"log_u_lower": sampler.log_lower, "rejected": rejected}
                    row |= {"observed_rate": rejected / (draws + rejected), "exact_rate": rate}
                    se = np.nan if sampler.adaptive else (rate * (1 - rate) / (draws + rejected)) ** 0.5
                    row |= {"mc_se": se, "bound": sampler.bound}
                    row |= {"total_variation": sampler.total_variation, "ks": test.statistic, "ks_p": test.pvalue}
                    row |= {"serial_p": draw_tests.serial_p_value(law.cdf(x)), "seen": seen}
                    rows.append(row | {"knots_at_end": at_end})
    return pd.DataFrame(rows)


def _shift(target: str, scale: float, **setting: Any) -> float:
    """Return the largest first-order change of the distribution function of a target density per relative change of one
    parameter. The parameter is listed for each target in `TELLS`.
    """
    z = setting["z_mean" if target == "xi_mean" else "z_sse"]
    law = Target(target, z, setting["mu"], setting["sigma2"], setting["count"], scale)
    edges = exact(target, scale, **setting).quantile(np.linspace(1e-4, 1 - 1e-4, 400))
    moved = law.changed(**{TELLS[target]: getattr(law, TELLS[target]) * 1.01})
    return float(np.abs(np.cumsum(moved.masses(edges) - law.masses(edges))).max() / 0.01)


def _variant(rule: str) -> str:
    return "as_written" if rule.startswith("as on the slides") else "corrected"
