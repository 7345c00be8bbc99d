"""A user's own counts or release -> what can be said about the true counts."""

from math import ceil

import numpy as np
import pandas as pd

from dpmultinomial.posteriors import additive_counts

from .validation import components


def table(
    *,
    epsilon: float,
    counts: list[int] | None = None,
    counts_file: str | None = None,
    released: list[int] | None = None,
    released_file: str | None = None,
    released_total: int | None = None,
    names: list[str] | None = None,
    algorithm: str = "3",
    ties: str = "random",
    support: int | None = None,
    window: int | None = None,
    level: float = 0.9,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Release (made here from true counts, or yours) and the exact posterior of every component and of the total.

    Parameters are the keys of a scenario (config.yaml). Without `support` the noise stays within 50/epsilon (50 at
    least), as the paper's does at epsilon = 1, so that the cut costs less than 1e-20 in delta. True counts
    never appear in the result: `released` may be published, at a cost of 2 epsilon.

    Returns
    -------
    DataFrame, one row a component and a last one for the total: component, released, mean, sd, lower, upper.
    """
    sources = {"counts": counts, "counts_file": counts_file, "released": released, "released_file": released_file}
    labels, values, true = components(sources | {"names": names})
    support = support or max(50, ceil(50 / epsilon))
    model = {"epsilon": epsilon, "algorithm": algorithm, "support": support, "ties": ties}
    public = additive_counts.release(values, **model, size=1, rng=rng)[0] if true else np.asarray(values)
    posterior = additive_counts.posterior(public, **model, window=window)
    laws = [posterior.marginal(i) for i in range(len(labels))] + [posterior.total()]
    rows = [_summary(*law, level) for law in laws]
    about = pd.DataFrame({"component": [*labels, "total"], "released": [*public.tolist(), int(public.sum())]})
    return pd.concat([about, pd.DataFrame(rows)], axis=1)


def _summary(values: np.ndarray, probabilities: np.ndarray, level: float) -> dict[str, float]:
    mean = float(values @ probabilities)
    place = np.searchsorted(np.cumsum(probabilities), [(1 - level) / 2, (1 + level) / 2 - 1e-12])
    lower, upper = values[np.minimum(place, len(values) - 1)]
    sd = float(np.sqrt((values - mean) ** 2 @ probabilities))
    return {"mean": mean, "sd": sd, "lower": int(lower), "upper": int(upper)}
