"""Compute Figure 1, which shows posterior densities of r = p1/(p1 + p0) for the paper's four settings. The densities
are computed exactly, with Gibbs chains, and with the code listings in the paper.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import laplace_multinomial

from .algorithms import enumerated

SHARE: dict[str, Any] = {"category": 0, "given": (0, 1)}
_SENSITIVITY = 2.0


def figure_1(
    *,
    settings: dict[str, list[int]],
    total: int,
    epsilon: float,
    draws: int,
    burn_in: int,
    frozen_runs: int,
    noise_draws: int,
    bins: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the curves and histograms of Figure 1. The columns are setting, counts, epsilon, variant, kind (density,
    exact draws, gibbs, frozen, noise), run, draws (of a histogram), x and y.

    All kinds except `noise` have noisy counts equal to the counts, because the noise of the printed figure is unknown.
    """
    mechanism = Laplace.calibrated(epsilon, sensitivity=_SENSITIVITY)
    model: dict[str, Any] = {"total": total, "scale": mechanism.scale, "alpha": 1.0}
    chain: dict[str, Any] = {"draws": draws, "burn_in": burn_in, "rng": rng}
    grid, edges = np.linspace(0, 1, 401), np.linspace(0, 1, bins + 1)
    parts: list[pd.DataFrame] = []

    def add(setting: str, variant: str, kind: str, run: int, x: NDArray, y: NDArray) -> None:
        about: dict[str, Any] = {"setting": setting, "counts": ", ".join(map(str, settings[setting]))}
        about |= {"epsilon": epsilon, "variant": variant, "kind": kind, "run": run}
        about |= {"draws": np.nan if kind in ("density", "noise") else draws}
        parts.append(pd.DataFrame({**about, "x": x, "y": y}))

    def histogram(p: NDArray) -> NDArray:
        return np.histogram(share(p), edges, density=True)[0]

    for setting, counts in settings.items():
        posterior = laplace_multinomial.exact(counts, **model)
        add(setting, "corrected", "density", 0, grid, posterior.pdf(grid, **SHARE))
        add(setting, "corrected", "exact draws", 0, edges[:-1], histogram(posterior.sample(draws, rng=rng)))
        add(
            setting, "corrected", "gibbs", 0, edges[:-1], histogram(laplace_multinomial.gibbs(counts, **model, **chain))
        )
        for run in range(frozen_runs):
            p = laplace_multinomial.gibbs(counts, **model, **chain, frozen=True)
            add(setting, "as_written", "frozen", run, edges[:-1], histogram(p))
        for run in range(noise_draws):
            noisy = laplace_multinomial.exact(mechanism.sample(counts, rng=rng), **model)
            add(setting, "corrected", "noise", run, grid, noisy.pdf(grid, **SHARE))
    return pd.concat(parts, ignore_index=True)


def figure_1_moments(
    *,
    settings: dict[str, list[int]],
    total: int,
    epsilon: float,
    draws: int,
    burn_in: int,
    chains: int,
    listing_runs: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the mean, the standard deviation, the mode and the 95 % interval of the paper's quantities r and pe, by
    method.

    There is one row per setting (with its counts S1, S0), quantity (r, pe) and method. The mode is exact for exact
    distributions, and the paper's histogram estimate for Gibbs draws. `mean_se` and `sd_se` are simulation errors over
    chains. `spread` is the standard deviation of the mean over runs of a listing, each with a separate random first p.
    """
    scale = Laplace.calibrated(epsilon, sensitivity=_SENSITIVITY).scale
    model: dict[str, Any] = {"total": total, "scale": scale, "alpha": 1.0}
    rows = []
    for setting, counts in settings.items():
        exact = laplace_multinomial.exact(counts, **model)
        clean = laplace_multinomial.exact(counts, total=total, scale=1e-9, alpha=1.0)
        rows += [_exact_row(setting, "corrected", "exact", exact, name, which) for name, which in _QUANTITIES.items()]
        rows += [
            _exact_row(setting, "corrected", "no noise", clean, name, which) for name, which in _QUANTITIES.items()
        ]
        runs = [
            share(laplace_multinomial.gibbs(counts, **model, draws=draws, burn_in=burn_in, rng=rng))
            for _ in range(chains)
        ]
        rows.append(_chain_row(setting, "corrected", "gibbs", runs))
        frozen = enumerated.moments_given(rng.dirichlet(np.ones(3), listing_runs), counts, **model)
        rows.append(_listing_row(setting, "listing 6.4 (p frozen)", *frozen))
        # Listing 5.2 as R reads it: the first p ~ Dirichlet(true counts) is never changed, and there is no Laplace
        # term, as if the noise were infinite.
        first = rng.dirichlet(counts, listing_runs)
        lost = enumerated.moments_given(first, [0, 0, 0], total=total, scale=1e12)
        rows.append(_listing_row(setting, "listing 5.2 (p frozen, no Laplace term)", *lost))
    counted = {name: setting[:2] for name, setting in settings.items()}
    table = pd.DataFrame(rows)
    return table.assign(**{s: [counted[name][i] for name in table["setting"]] for i, s in enumerate(("S1", "S0"))})


def share(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return r = p1/(p1 + p0) for draws of p, given as an array of shape (n, k)."""
    return p[:, 0] / (p[:, 0] + p[:, 1])


def frequency_mode(draws: NDArray[np.float64], bins: int = 250, most: int = 5) -> float:
    """Return the mode of a sample, estimated as in section 6.4 of the paper. The estimate is the mean of the midpoints
    of the `most` fullest cells in a histogram with `bins` cells.
    """
    heights, edges = np.histogram(draws, bins)
    fullest = np.argsort(-heights, kind="stable")[:most]
    return float(((edges[fullest] + edges[fullest + 1]) / 2).mean())


_QUANTITIES: dict[str, dict[str, Any]] = {"r": SHARE, "pe": {"category": 2}}


def _exact_row(setting: str, variant: str, method: str, law: Any, name: str, which: dict) -> dict[str, Any]:
    low, high = law.quantile([0.025, 0.975], **which)
    return {
        **{"setting": setting, "quantity": name, "variant": variant, "method": method},
        **{"mean": law.mean(**which), "sd": law.variance(**which) ** 0.5, "mode": law.mode(**which)},
        **{"lower": low, "upper": high, "mean_se": 0.0, "sd_se": 0.0, "spread": 0.0, "runs": 1},
    }


def _chain_row(setting: str, variant: str, method: str, runs: list[NDArray]) -> dict[str, Any]:
    means, sds = np.array([r.mean() for r in runs]), np.array([r.std(ddof=1) for r in runs])
    low, high = np.quantile(np.concatenate(runs), [0.025, 0.975])
    root = np.sqrt(len(runs))
    return {
        **{"setting": setting, "quantity": "r", "variant": variant, "method": method},
        **{"mean": means.mean(), "sd": sds.mean(), "mode": np.mean([frequency_mode(r) for r in runs])},
        **{"lower": low, "upper": high, "mean_se": means.std(ddof=1) / root, "sd_se": sds.std(ddof=1) / root},
        **{"spread": means.std(ddof=1), "runs": len(runs)},
    }


def _listing_row(setting: str, method: str, means: NDArray, variances: NDArray) -> dict[str, Any]:
    sds, root = np.sqrt(variances), np.sqrt(len(means))
    return {
        **{"setting": setting, "quantity": "r", "variant": "as_written", "method": method},
        **{"mean": means.mean(), "sd": sds.mean(), "mode": np.nan, "lower": np.nan, "upper": np.nan},
        **{"mean_se": means.std(ddof=1) / root, "sd_se": sds.std(ddof=1) / root},
        **{"spread": means.std(ddof=1), "runs": len(means)},
    }
