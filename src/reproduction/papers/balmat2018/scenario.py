"""A user's own counts or release -> what can be said about the shares."""

import numpy as np
import pandas as pd

from dpmultinomial.mechanisms.laplace import Laplace
from dpmultinomial.posteriors import laplace_multinomial

from .validation import categories as names_of


def table(
    *,
    epsilon: float,
    counts: list[int] | None = None,
    noisy_counts: list[float] | None = None,
    total: int | None = None,
    sensitivity: float = 2.0,
    alpha: float | list[float] = 1.0,
    categories: list[str] | None = None,
    given: list[str] | None = None,
    thresholds: list[float] | None = None,
    level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Posterior of every share, and of the shares among `given`.

    Parameters are the keys of a scenario (config.yaml). With `counts`, Laplace(sensitivity/epsilon) noise is added
    first; the released numbers are in column `noisy_count` and can be published.

    Returns
    -------
    DataFrame, long: quantity (a category, or "category | given categories" for shares among `given`), noisy_count,
    statistic (mean, sd, mode, lower, upper, ``P(> t)``; or ``density`` at x), x, value. `mode` is missing where the
    density is highest at infinity.
    """
    mechanism = Laplace.calibrated(epsilon, sensitivity=sensitivity)
    noisy = np.asarray(noisy_counts, float) if counts is None else mechanism.sample(counts, rng=rng)
    total = int(sum(counts)) if counts is not None else total
    names = names_of({"counts": counts, "noisy_counts": noisy_counts, "categories": categories})
    posterior = laplace_multinomial.exact(noisy, total=total, scale=mechanism.scale, alpha=alpha)
    inside = tuple(names.index(g) for g in given or ())
    wanted = [(name, i, None) for i, name in enumerate(names)]
    wanted += [(f"{names[i]} | {', '.join(given)}", i, inside) for i in inside]
    grid = np.linspace(0, 1, 501)
    tails = [(1 - level) / 2, (1 + level) / 2]
    parts = []
    for quantity, category, group in wanted:
        law = posterior.beta(category, group)
        single = {"mean": law.mean(), "sd": law.variance() ** 0.5, "mode": law.mode()}
        single |= dict(zip(("lower", "upper"), law.quantile(tails), strict=True))
        single |= {f"P(> {t!r})": float(law.sf(t)) for t in thresholds or ()}
        about = {"quantity": quantity, "noisy_count": noisy[category]}
        density = law.pdf(grid)
        density[~np.isfinite(density)] = np.nan
        parts.append(pd.DataFrame({**about, "statistic": list(single), "x": np.nan, "value": list(single.values())}))
        parts.append(pd.DataFrame({**about, "statistic": "density", "x": grid, "value": density}))
    return pd.concat(parts, ignore_index=True)
