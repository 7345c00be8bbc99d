"""Privacy-aware Gibbs sampler from the slides of Raim (2021), in the published version and in a corrected version. The
module computes traces, posteriors and Geweke's test.
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy  # scipy.stats is loaded on first use

from dpmultinomial._posteriors.censored.normal_model import Prior

from .algorithms import censored_normal
from .algorithms.censored_normal import Chain

BATCHES = 50  # number of batch means for every z
PASSED = 0.01  # smallest joint p-value of the five moments of a method that passes


VARIANTS = {"as_written": "as_written", "slides_model": "as_written", "corrected": "corrected", "exact": "corrected"}


def _model(setting: dict[str, Any]) -> dict[str, Any]:
    z = [setting[key] for key in ("z_mean", "z_sse", "z_low", "z_high")]
    scale = setting["delta_s"] / setting["epsilon"]
    prior = Prior(*(setting[key] for key in ("mu0", "var0", "shape0", "rate0")))
    return {
        "release": z,
        "n": setting["n"],
        "lower": setting["lower"],
        "upper": setting["upper"],
        "scale": scale,
        "prior": prior,
    }


def _chains(method: str, chains: int, draws: int, burn_in: int, rng: np.random.Generator, setting: dict) -> list[Chain]:
    return [
        censored_normal.chain(**_model(setting), method=method, draws=draws, burn_in=burn_in, rng=rng, initial=start)
        for start in _starts(chains)
    ]


def _starts(chains: int) -> list[tuple[float, float]]:
    """Return starting points for (mu, sigma2) around (0, 1) that are more dispersed than any posterior in the study."""
    return [(0.5 * (-1) ** i * ((i + 1) // 2), 1.0 * 1.5 ** ((-1) ** i * (i // 2))) for i in range(chains)]


def gibbs_traces(*, methods: list[str], sweeps: int, rng: np.random.Generator, **setting: Any) -> pd.DataFrame:
    """Return the first sweeps of one chain per method. Each chain starts at (0, 1).

    Returns
    -------
    DataFrame with the columns method, variant, sweep, mu, sigma2, s_mean, s_sse, s_low and s_high.
    """
    parts = []
    for method in methods:
        trace = _chains(method, 1, sweeps, 0, rng, setting)[0].draws
        table = pd.DataFrame(trace, columns=list(censored_normal.COLUMNS))
        table.insert(0, "sweep", np.arange(1, sweeps + 1))
        table.insert(0, "variant", VARIANTS[method])
        table.insert(0, "method", method)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def gibbs_posteriors(
    *, methods: list[str], chains: int, draws: int, burn_in: int, bins: int, rng: np.random.Generator, **setting
) -> pd.DataFrame:
    """Return the posterior of mu and sigma2 for each method, as histograms and summaries. The summaries include the
    effective sample size (ESS), R-hat and the fraction of impossible sweeps.

    Returns
    -------
    DataFrame with the columns method, variant, parameter, kind (histogram; summary), statistic, x (left end), y and
        mc_se.
    """
    parts = []
    for method in methods:
        runs = _chains(method, chains, draws, burn_in, rng, setting)
        summary = censored_normal.diagnostics(runs)
        for i, row in enumerate(summary.to_dict("records")):
            about = {"method": method, "variant": VARIANTS[method], "parameter": row.pop("parameter")}
            x = np.concatenate([c.draws[:, i] for c in runs])
            heights, edges = np.histogram(x, bins=bins, density=True)
            mc_se = row.pop("mc_se")
            ends = {"x": np.append(edges, np.nan)[: bins + 1], "y": np.append(heights, 0.0)}
            parts.append(pd.DataFrame({**about, "kind": "histogram", "statistic": "density", **ends}))
            numbers = {"statistic": list(row), "y": [float(v) for v in row.values()]}
            errors = [mc_se if s == "mean" else np.nan for s in row]
            parts.append(pd.DataFrame({**about, "kind": "summary", **numbers, "mc_se": errors}))
    return pd.concat(parts, ignore_index=True)


def geweke(
    *, methods: list[str], n: int, lower: float, upper: float, wide: float, scale: float, sweeps: int, mu0: float,
    var0: float, shape0: float, rate0: float, rng: np.random.Generator,
) -> pd.DataFrame:  # fmt: skip
    """Return the results of Geweke's joint distribution test for every method, and for the sampler on the slides of
    Raim (2021) without censoring.

    Returns
    -------
    DataFrame with the columns method, variant, limits, moment, expected, found, se, z, p_value (of the method: its
        largest |z| compared with Student's t with 49 degrees of freedom, times the five moments) and passed (p_value at
        least 0.01).
    """
    settings = [(method, lower, upper) for method in methods] + [("as_written", -wide, wide)]
    parts = []
    for method, a, b in settings:
        table = censored_normal.geweke(
            method=method, n=n, lower=a, upper=b, scale=scale, prior=(mu0, var0, shape0, rate0), sweeps=sweeps, rng=rng,
            batches=BATCHES,
        )  # fmt: skip
        about = {"method": method, "variant": VARIANTS[method], "limits": f"[{a:g}, {b:g}]"}
        p_value = min(1.0, 2 * len(table) * scipy.stats.t.sf(table["z"].abs().max(), BATCHES - 1))
        parts.append(table.assign(**about, p_value=p_value, passed=bool(p_value >= PASSED)))
    tests = pd.concat(parts, ignore_index=True)
    return tests[["method", "variant", "limits", "moment", "expected", "found", "se", "z", "p_value", "passed"]]
