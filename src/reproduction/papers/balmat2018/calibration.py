"""Calibration of the posteriors, measured by the coverage of 95 % intervals and by the uniformity of probability
integral transforms (PIT).

A Bayesian posterior is calibrated under its prior: with p ~ Dirichlet(1, 1, 1), the posterior distribution function at
the true r is uniform.
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy  # scipy.stats is loaded on first use
from scipy.special import chdtrc

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import laplace_multinomial

from .figure_1 import SHARE, share

METHODS = {
    "exact": "corrected",
    "gibbs": "corrected",
    "listing 6.4 (p frozen)": "as_written",
    "noise 2/epsilon read as 1/epsilon": "as_written",
}
_BINS = 20


def simulate(
    size: int, *, total: int, epsilons: list[float], gibbs_draws: int, burn_in: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the probability integral transform (PIT) of the true r under the posterior of every method. The columns
    are epsilon and replication, and one column for each of `METHODS`.
    """
    rows = []
    for epsilon in epsilons:
        mechanism = Laplace.calibrated(epsilon, sensitivity=2.0)
        model: dict[str, Any] = {"total": total, "scale": mechanism.scale, "alpha": 1.0}
        for replication in range(size):
            p = rng.dirichlet(np.ones(3))
            noisy = mechanism.sample(rng.multinomial(total, p), rng=rng)
            r = p[0] / (p[0] + p[1])
            chain = laplace_multinomial.gibbs(noisy, **model, draws=gibbs_draws, burn_in=burn_in, rng=rng)
            frozen = laplace_multinomial.conditional(noisy, probabilities=rng.dirichlet(np.ones(3)), **model)
            half = laplace_multinomial.exact(noisy, **(model | {"scale": mechanism.scale / 2}))
            values = (
                float(laplace_multinomial.exact(noisy, **model).cdf(r, **SHARE)),
                float(np.mean(share(chain) <= r)),
                float(frozen.cdf(r, **SHARE)),
                float(half.cdf(r, **SHARE)),
            )
            rows.append({"epsilon": epsilon, "replication": replication} | dict(zip(METHODS, values, strict=True)))
    return pd.DataFrame(rows)


def calibration(
    table: pd.DataFrame, *, total: int, epsilons: list[float], gibbs_draws: int, burn_in: int
) -> pd.DataFrame:
    """Return histograms of the probability integral transforms in long format. The columns are epsilon, method,
    variant, bin (left end), density, and the limits of the 99 % band for the density of a bin under the uniform
    distribution.

    The table also contains `ecdf_difference`, the empirical distribution function minus the uniform distribution
    function at the bin's right end, and `band`, Kolmogorov's simultaneous 99 % bound.
    """
    edges = np.linspace(0, 1, _BINS + 1)
    parts = []
    for epsilon, group in table.groupby("epsilon"):
        band = 2.576 * np.sqrt(_BINS / len(group))
        for method, variant in METHODS.items():
            density = np.histogram(group[method], edges)[0] * _BINS / len(group)
            difference = np.cumsum(density) / _BINS - edges[1:]
            about: dict[str, Any] = {"epsilon": epsilon, "method": method, "variant": variant}
            about |= {"band": scipy.stats.kstwo.ppf(0.99, len(group)), "ecdf_difference": difference}
            parts.append(
                pd.DataFrame({**about, "bin": edges[:-1], "density": density, "lower": 1 - band, "upper": 1 + band})
            )
    return pd.concat(parts, ignore_index=True)


def coverage(table: pd.DataFrame, *, total: int, epsilons: list[float], gibbs_draws: int, burn_in: int) -> pd.DataFrame:
    """Return the coverage of the central 95 % interval with its standard error, and the result of a test of uniformity.
    The standard error assumes a true coverage of 0.95, and the test is a chi-squared test of the probability integral
    transforms.
    """
    rows = []
    for epsilon, group in table.groupby("epsilon"):
        n = len(group)
        for method, variant in METHODS.items():
            pit = group[method]
            expected = n / _BINS
            statistic = ((np.histogram(pit, _BINS, (0, 1))[0] - expected) ** 2 / expected).sum()
            rows.append(
                {
                    **{"epsilon": epsilon, "method": method, "variant": variant, "total": total, "replications": n},
                    **{"coverage": pit.between(0.025, 0.975).mean(), "se": np.sqrt(0.95 * 0.05 / n)},
                    **{"chi2": statistic, "p_value": chdtrc(_BINS - 1, statistic)},
                }
            )
    return pd.DataFrame(rows)
