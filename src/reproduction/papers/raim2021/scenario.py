"""A user's own release, or column of records, -> what can be said about mu and sigma2."""

from dataclasses import replace

import numpy as np
import pandas as pd

from dpmultinomial.mechanisms.sufficient_statistics import STATISTICS, CensoredStatistics
from dpmultinomial.posteriors import censored_normal


def table(
    *,
    epsilon: float,
    lower: float,
    upper: float,
    release: dict[str, float] | None = None,
    n: int | None = None,
    csv: str | None = None,
    column: str | None = None,
    sensitivity: float | None = None,
    prior: dict[str, float] | None = None,
    method: str = "exact",
    chains: int = 4,
    draws: int = 5000,
    burn_in: int = 500,
    level: float = 0.95,
    bins: int = 60,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Posterior of mu and sigma2 with intervals and diagnostics.

    Parameters are the keys of a scenario (config.yaml). With `csv`, the column's statistics are computed and
    released first; the released numbers are in the rows of quantity ``release`` and can be published.

    Returns
    -------
    DataFrame, long: quantity (release, mu, sigma2), statistic (for the release mean, sse, low, high, noise_scale; else
    mean, sd, lower, median, upper, mc_se, ess, rhat, diverged, or density at x), x, value.
    """
    mechanism = CensoredStatistics(lower=lower, upper=upper)
    records = None if csv is None else _records(csv, column)
    n = n if records is None else len(records)
    delta = sensitivity or mechanism.sensitivity(n)
    if records is None:
        z = np.array([release[key] for key in STATISTICS])
    else:
        z = mechanism.release(records, epsilon=epsilon, sensitivity=delta, rng=rng)
    found = [
        censored_normal.chain(
            z, n=n, lower=lower, upper=upper, scale=delta / epsilon, method=method, draws=draws, burn_in=burn_in,
            rng=rng, prior=replace(censored_normal.VAGUE, **(prior or {})),
        )
        for _ in range(chains)
    ]  # fmt: skip
    named = dict(zip(STATISTICS, z, strict=True)) | {"noise_scale": delta / epsilon, "n": n}
    parts = [pd.DataFrame({"quantity": "release", "statistic": list(named), "value": list(named.values())})]
    for i, row in enumerate(censored_normal.diagnostics(found).to_dict("records")):
        x = np.concatenate([c.draws[:, i] for c in found])
        ends = dict(zip(("lower", "upper"), np.quantile(x, [(1 - level) / 2, (1 + level) / 2]), strict=True))
        name = row.pop("parameter")
        numbers = {k: float(v) for k, v in (row | ends).items()}
        heights, edges = np.histogram(x, bins=bins, density=True)
        parts.append(pd.DataFrame({"quantity": name, "statistic": list(numbers), "value": list(numbers.values())}))
        density = {"statistic": "density", "x": (edges[1:] + edges[:-1]) / 2, "value": heights}
        parts.append(pd.DataFrame({"quantity": name, **density}))
    return pd.concat(parts, ignore_index=True)[["quantity", "statistic", "x", "value"]]


def _records(path: str, column: str) -> np.ndarray:
    found = pd.read_csv(path)
    if column not in found:
        raise ValueError(f"{path} has no column {column!r}; it has {', '.join(map(str, found.columns))}")
    values = pd.to_numeric(found[column], errors="coerce").to_numpy(float)
    if not np.isfinite(values).all() or len(values) < censored_normal.LEAST_RECORDS:
        bad = int(np.sum(~np.isfinite(values)))
        least = censored_normal.LEAST_RECORDS
        raise ValueError(
            f"{path}, column {column!r}: needs at least {least} numbers and nothing else, has {bad} other entries"
        )
    return values
