"""Study the calibration of the posteriors for more than two components, by means of coverage and probability integral
transforms (PIT).

True counts are uniform on 0..largest, the releases are made from them, and the posteriors use this uniform prior. The
randomised PIT P(N < true) + U P(N = true) of every component, and of the total, is then uniform.
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy  # scipy.stats is loaded on first use
from scipy.special import chdtrc

from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import additive_counts

METHODS = {"Algorithm 1 (ind)": "1-independent", "Algorithm 2": "2", "Algorithm 3": "3", "noisy counts": ""}
_BINS = 20


def simulate(
    size: int, *, components: int, largest: int, epsilon: float, support: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the probability integral transform (PIT) values of the posteriors, with one row per replication and
    method. The columns are method, replication, pit (PIT of one component) and total (PIT of the total).
    """
    rows = []
    noise = TwoSidedGeometric(epsilon=epsilon, support=support)
    model: dict[str, Any] = {"epsilon": epsilon, "support": support, "largest": largest}
    for replication in range(size):
        counts = rng.integers(0, largest + 1, components)
        for method, algorithm in METHODS.items():
            if algorithm:
                released = additive_counts.release(
                    counts, epsilon=epsilon, support=support, algorithm=algorithm, size=1, rng=rng
                )[0]
                law = additive_counts.posterior(released, algorithm=algorithm, window=None, **model)
            else:
                total = int(noise.sample(counts.sum(), rng=rng))
                law = additive_counts.posterior_of_noisy(noise.sample(counts, rng=rng), noisy_total=total, **model)
            u = rng.random(2)
            pit = _pit(*law.marginal(0), int(counts[0]), u[0])
            whole = _pit(*law.total(), int(counts.sum()), u[1])
            rows.append({"method": method, "replication": replication, "pit": pit, "total": whole})
    return pd.DataFrame(rows)


def _pit(values: np.ndarray, probabilities: np.ndarray, true: int, u: float) -> float:
    return float(probabilities[values < true].sum() + u * probabilities[values == true].sum())


def calibration(table: pd.DataFrame, *, components: int, largest: int, epsilon: float, support: int) -> pd.DataFrame:
    """Return histograms of the PIT values in long format. The columns are method, quantity, bin (left end), density,
    and lower and upper (99 % band of a uniform bin).

    The table also contains `ecdf_difference`, the empirical distribution function minus the uniform distribution
    function at the bin's right end, and `band`, Kolmogorov's simultaneous 99 % bound.
    """
    edges = np.linspace(0, 1, _BINS + 1)
    parts = []
    for method in METHODS:
        for quantity, column in (("component", "pit"), ("total", "total")):
            values = table.loc[table["method"] == method, column]
            band = 2.576 * np.sqrt(_BINS / len(values))
            density = np.histogram(values, edges)[0] * _BINS / len(values)
            about: dict[str, Any] = {"method": method, "quantity": quantity, "bin": edges[:-1], "density": density}
            about |= {"lower": 1 - band, "upper": 1 + band}
            about |= {
                "ecdf_difference": np.cumsum(density) / _BINS - edges[1:],
                "band": scipy.stats.kstwo.ppf(0.99, len(values)),
            }
            parts.append(pd.DataFrame(about))
    return pd.concat(parts, ignore_index=True)


def coverage(table: pd.DataFrame, *, components: int, largest: int, epsilon: float, support: int) -> pd.DataFrame:
    """Return the coverage of the central 90 % interval with its standard error. Also return the chi-squared test of the
    hypothesis that the probability integral transforms (PIT) are uniform.
    """
    rows = []
    for method in METHODS:
        for quantity, column in (("component", "pit"), ("total", "total")):
            values = table.loc[table["method"] == method, column]
            n = len(values)
            statistic = ((np.histogram(values, _BINS, (0, 1))[0] - n / _BINS) ** 2 / (n / _BINS)).sum()
            covered = {"coverage": values.between(0.05, 0.95).mean(), "se": np.sqrt(0.9 * 0.1 / n)}
            about = {"method": method, "quantity": quantity, "components": components, "replications": n}
            rows.append(about | covered | {"chi2": statistic, "p_value": chdtrc(_BINS - 1, statistic)})
    return pd.DataFrame(rows)
