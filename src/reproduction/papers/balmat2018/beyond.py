"""Beyond the paper: choosing epsilon, the realised share, and more than three categories; p is never simulated."""

import numpy as np
import pandas as pd

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import laplace_multinomial

from .figure_1 import SHARE


def choosing_epsilon(
    *, totals: list[int], epsilons: list[float], probabilities: list[float], releases: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Mean posterior standard deviation of r over random releases, by total and epsilon.

    Columns total, epsilon (infinite: no noise), sd, sd_se (simulation error over `releases` counts and noises), and
    `relative`: sd relative to no noise.
    """
    rows = []
    for total in totals:
        counts = rng.multinomial(total, probabilities, releases)
        for epsilon in [*epsilons, np.inf]:
            scale = 1e-9 if np.isinf(epsilon) else Laplace.calibrated(epsilon, sensitivity=2.0).scale
            noise = rng.laplace(0.0, scale, counts.shape) if np.isfinite(epsilon) else np.zeros(counts.shape)
            sds = [
                laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=1.0).variance(**SHARE) ** 0.5
                for noisy in counts + noise
            ]
            se = np.std(sds, ddof=1) / np.sqrt(releases)
            rows.append({"total": total, "epsilon": epsilon, "sd": np.mean(sds), "sd_se": se})
    table = pd.DataFrame(rows)
    clean = table[np.isinf(table["epsilon"])].set_index("total")["sd"]
    return table.assign(relative=table["sd"] / table["total"].map(clean))


def realised_share(*, settings: dict[str, list[int]], total: int, epsilon: float) -> pd.DataFrame:
    """Posterior of the realised share S1/(S1 + S0), the confidential value itself, beside that of r = p1/(p1 + p0).

    Long: setting, kind (``share``: probability of each value; ``r``: distribution function on a grid; ``share_mean``,
    ``share_sd``, ``r_mean``, ``r_sd``, ``unknown``: single numbers at x = NaN; unknown = probability that
    S1 + S0 = 0), x, y, counts (of the setting, as text).
    """
    scale = Laplace.calibrated(epsilon, sensitivity=2.0).scale
    grid = np.linspace(0, 1, 401)
    parts = []
    for setting, counts in settings.items():
        posterior = laplace_multinomial.exact(counts, total=total, scale=scale, alpha=1.0)
        values, weights = posterior.share_of_counts(**SHARE)
        known = np.isfinite(values)
        v, w = values[known], weights[known] / weights[known].sum()
        mean = w @ v
        single = {
            **{"share_mean": mean, "share_sd": np.sqrt(w @ (v - mean) ** 2), "unknown": weights[~known].sum()},
            **{"r_mean": posterior.mean(**SHARE), "r_sd": posterior.variance(**SHARE) ** 0.5},
        }
        about = {"setting": setting, "counts": ", ".join(map(str, counts))}
        parts.append(pd.DataFrame(about | {"kind": "share", "x": v, "y": w}))
        parts.append(pd.DataFrame(about | {"kind": "r", "x": grid, "y": posterior.cdf(grid, **SHARE)}))
        parts.append(pd.DataFrame(about | {"kind": list(single), "x": np.nan, "y": list(single.values())}))
    return pd.concat(parts, ignore_index=True)


def six_categories(*, counts: list[int], epsilon: float, rng: np.random.Generator) -> pd.DataFrame:
    """Exact posterior of every share for more than three categories: one release of `counts`.

    Long: category, kind (``density`` on a grid; ``count``, ``noisy``, ``mean``, ``sd``, ``lower``, ``upper``: single
    numbers at x = NaN; lower and upper end the central 95 % interval), x, y. The table would have
    C(M + k - 1, k - 1) rows.
    """
    mechanism = Laplace.calibrated(epsilon, sensitivity=2.0)
    noisy = mechanism.sample(counts, rng=rng)
    posterior = laplace_multinomial.exact(noisy, total=sum(counts), scale=mechanism.scale, alpha=1.0)
    grid = np.linspace(0, 1, 501)
    parts = []
    for i, count in enumerate(counts):
        low, high = posterior.quantile([0.025, 0.975], category=i)
        single = {
            **{"count": count, "noisy": noisy[i], "lower": low, "upper": high},
            **{"mean": posterior.mean(category=i), "sd": posterior.variance(category=i) ** 0.5},
        }
        density = posterior.pdf(grid, category=i)
        parts.append(pd.DataFrame({"category": i + 1, "kind": "density", "x": grid, "y": density}))
        parts.append(pd.DataFrame({"category": i + 1, "kind": list(single), "x": np.nan, "y": list(single.values())}))
    return pd.concat(parts, ignore_index=True)
