"""Compare the releases of the paper with simple projections of the same noisy counts."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._mechanisms.additive_counts import release_from_noisy
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import additive_counts

from . import examples
from .algorithms import integer_projection as simple

Whole = NDArray[np.int64]


def simulate(size: int, *, vector: int, epsilon: float, support: int, posteriors: int, rng: np.random.Generator):
    """Return sums of powers of the errors of every method. The columns are example, method, n, e1, e2, e4, all, all2,
    t1 and t2. The columns e1, e2 and e4 are sums over releases of powers of the error e at the largest component, all
    and all2 are sums for the squared error over all components, and t1 and t2 are sums for the error of the total.

    The exact posterior mean is also computed for `posteriors` of the releases of a block.
    """
    noise = TwoSidedGeometric(epsilon=epsilon, support=support)
    parts = []
    for example, counts in examples.both(vector).items():
        totals = noise.sample(np.full(size, counts.sum()), rng=rng)
        noisy = noise.sample(np.broadcast_to(counts, (size, len(counts))), rng=rng)
        for method, released in _releases(noisy, totals, noise, min(posteriors, size), rng).items():
            parts.append({"example": example, "method": method} | _errors(released, counts))
    return pd.DataFrame(parts)


def _releases(noisy: Whole, totals: Whole, noise: TwoSidedGeometric, posteriors: int, rng: np.random.Generator):
    model: dict[str, Any] = {"epsilon": noise.epsilon, "support": noise.support, "rng": rng}
    kept = np.maximum(totals, 0)
    names = {"Algorithm 1 (ind)": "1-independent", "Algorithm 2": "2", "Algorithm 3, random ties": "3"}
    releases = {name: release_from_noisy(noisy, totals, algorithm=a, **model) for name, a in names.items()}
    releases["scaled, largest remainder"] = simple.largest_remainder(simple.scaled(noisy, kept), kept)
    releases["projected, largest remainder"] = simple.largest_remainder(simple.projected(noisy, kept), kept)
    rows, sums = simple.least_squares(noisy, totals)
    whole = np.maximum(np.rint(sums), 0).astype(np.int64)
    releases["projected with noisy total, largest remainder"] = simple.largest_remainder(
        simple.projected(rows, whole), whole
    )
    releases["components alone, their sum as total"] = np.maximum(noisy, 0)
    means = np.array([_posterior_mean(noisy[i], int(totals[i]), noise) for i in range(posteriors)])
    whole = np.rint(means.sum(axis=1)).astype(np.int64)
    releases["posterior mean, largest remainder"] = simple.largest_remainder(simple.projected(means, whole), whole)
    return releases


def _posterior_mean(noisy: Whole, total: int, noise: TwoSidedGeometric) -> NDArray[np.float64]:
    law = additive_counts.posterior_of_noisy(noisy, noisy_total=total, epsilon=noise.epsilon, support=noise.support)
    return law.mean()


def _errors(released: Whole, counts: Whole) -> dict[str, int]:
    gap = released - counts
    top = gap[:, examples.representatives(counts)[-1]]
    every = (gap**2).sum(axis=1)
    total = gap.sum(axis=1)
    sums = {"e1": top, "e2": top**2, "e4": top**4, "all": every, "all2": every**2, "t1": total, "t2": total**2}
    return {"n": len(gap)} | {name: int(values.sum()) for name, values in sums.items()}


def comparison(table: pd.DataFrame, *, vector: int, epsilon: float, support: int, posteriors: int) -> pd.DataFrame:
    """Return the bias, the variance and the root mean square error (RMSE) of each method, separately for each example.
    The columns are example, method, n, bias and variance at the largest component, RMSE over all components, and
    variance of the total.

    Each value has a standard error (`bias_se`, `variance_se`, `rmse_se`).
    """
    sums = table.drop(columns="block", errors="ignore").groupby(["example", "method"], sort=False).sum().reset_index()
    n, size = sums["n"], 50
    bias = sums["e1"] / n
    spread = sums["e2"] / n - bias**2
    mean_square = sums["all"] / n / size
    rmse_var = (sums["all2"] / n / size**2 - mean_square**2) / n
    return sums[["example", "method", "n"]].assign(
        bias=bias,
        bias_se=np.sqrt(spread / n),
        variance=spread,
        variance_se=np.sqrt(np.maximum(sums["e4"] / n - (sums["e2"] / n) ** 2, 0) / n),
        rmse=np.sqrt(mean_square),
        rmse_se=np.sqrt(np.maximum(rmse_var, 0)) / (2 * np.sqrt(mean_square)),
        total_bias=sums["t1"] / n,
        total_variance=sums["t2"] / n - (sums["t1"] / n) ** 2,
    )
