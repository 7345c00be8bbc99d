"""Draws against the laws they should have: Kolmogorov's test for Figure 1's histograms and Figure 2's triplets."""

from typing import Any

import numpy as np
import pandas as pd
import scipy  # its statistics load when they are first used
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions, laplace_multinomial

from .figure_1 import SHARE, share

Array = NDArray[np.float64]
EXACT, GIBBS = "exact draws", "gibbs"
LISTING_52, LISTING_64 = "listing 5.2", "listing 6.4"
VARIANTS = {EXACT: "corrected", GIBBS: "corrected", LISTING_52: "published", LISTING_64: "published"}
_GRID = 1001  # points of the exact distribution function; between them it is taken as straight (error below 2e-5)


def figure_1_laws(
    *,
    settings: dict[str, list[int]],
    total: int,
    epsilon: float,
    draws: int,
    burn_in: int,
    chains: int,
    thin: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Draws of r against its exact posterior, at noisy counts = counts.

    Columns setting, method (exact draws; gibbs: `chains` chains, every `thin`-th draw; the two listings as R reads
    them, one run each), variant, kept (iterations of a chain), draws, distance (Kolmogorov's), p_value.
    """
    scale = Laplace.calibrated(epsilon, sensitivity=2.0).scale
    model: dict[str, Any] = {"total": total, "scale": scale, "alpha": 1.0}
    chain: dict[str, Any] = {"draws": draws, "burn_in": burn_in, "rng": rng}
    grid = np.linspace(0, 1, _GRID)
    rows = []
    for setting, counts in settings.items():
        exact = laplace_multinomial.exact(counts, **model)
        law = exact.cdf(grid, **SHARE)
        gibbs = [share(laplace_multinomial.gibbs(counts, **model, **chain))[::thin] for _ in range(chains)]
        # Without its Laplace term listing 5.2 draws S given its first p alone: the law at infinite noise.
        first, silent = rng.dirichlet(counts), model | {"scale": 1e12}
        samples = {
            EXACT: share(exact.sample(draws, rng=rng)),
            GIBBS: np.concatenate(gibbs),
            LISTING_52: share(
                laplace_multinomial.conditional(counts, probabilities=first, **silent).sample(draws, rng=rng)
            ),
            LISTING_64: share(laplace_multinomial.gibbs(counts, **model, **chain, frozen=True)),
        }
        for method, sample in samples.items():
            about = {"setting": setting, "method": method, "variant": VARIANTS[method], "total": total, "kept": draws}
            rows.append(about | kolmogorov(sample, np.interp(sample, grid, law)))
    return pd.DataFrame(rows)


def figure_2_laws(table: pd.DataFrame, *, total: int) -> pd.DataFrame:
    """Every p of the random triplets against the law of footnote 13's three stages.

    Columns name, draws, distance, p_value; `below`, `above`: triplets with the p below 1/4 and above 3/4.
    """
    rows = []
    for name in ("p1", "p0", "perr"):
        p = table[name].to_numpy()
        counted = {"below": int((p < 0.25).sum()), "above": int((p > 0.75).sum())}
        rows.append({"name": name} | kolmogorov(p, three_stages(p)) | counted)
    return pd.DataFrame(rows)


def three_stages(x: ArrayLike) -> Array:
    """Distribution function of one p of footnote 13: uniform, uniform on what is left, or the rest, one third each.

    P(second <= x) = E min(1, x/(1 - first)) = x (1 - log x), and the rest has the second's law.
    """
    x = np.asarray(x, dtype=float)
    return np.asarray(x / 3 + 2 * (x - xlogy(x, x)) / 3)


def kolmogorov(sample: Array, levels: Array) -> dict[str, Any]:
    """draws, distance and p_value of a sample whose exact distribution function has these `levels` at its points."""
    u, n = np.sort(levels), len(sample)
    distance = float(max((np.arange(1, n + 1) / n - u).max(), (u - np.arange(n) / n).max()))
    return {"draws": n, "distance": distance, "p_value": float(scipy.stats.kstwo.sf(distance, n))}


def trapped(
    *,
    settings: dict[str, list[int]],
    total: int,
    epsilon: float,
    chains: int,
    iterations: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Chains that end at a vertex, with step 6.4 as written, p ~ Dirichlet(S), and with alpha = 1 added.

    Columns setting, alpha, chains, iterations, trapped, median_iteration (of the trapped ones).
    """
    scale = Laplace.calibrated(epsilon, sensitivity=2.0).scale
    rows, log_coefficients = compositions.log_multinomial_table(total)
    found = []
    for setting, counts in settings.items():
        static = log_coefficients - np.abs(np.array(counts) - rows).sum(axis=1) / scale
        for alpha in (0.0, 1.0):
            ends = [_last_move(rows.astype(float), static, alpha, iterations, rng) for _ in range(chains)]
            at = [end for end in ends if end is not None]
            about = {"setting": setting, "alpha": alpha, "total": total, "chains": chains, "iterations": iterations}
            found.append(about | {"trapped": len(at), "median_iteration": np.median(at) if at else np.nan})
    return pd.DataFrame(found)


def _last_move(rows: Array, static: Array, alpha: float, iterations: int, rng: np.random.Generator) -> int | None:
    """The iteration at which a chain reaches a vertex, or None."""
    p = rng.dirichlet(np.ones(3))
    for iteration in range(iterations):
        log_p = np.log(p, out=np.full(3, -1e30), where=p > 0)  # finite: a count of 0 in it weighs 0^0 = 1
        weights = np.cumsum(np.exp(static + rows @ log_p))
        shape = alpha + rows[np.searchsorted(weights, rng.random() * weights[-1], side="right")]
        p = np.zeros(3)
        p[shape > 0] = rng.dirichlet(shape[shape > 0])
        if p.max() == 1.0:
            return iteration
    return None
