"""Compute the frequentist coverage of posterior intervals for a count and a rate, for different Dirichlet priors of the
rates.

With two categories and a public total n, a release is equivalent to two noisy values of the binomial count N: u = N + D
and v = N - D', where D and D' are noise. The posterior, and therefore its interval, depends only on the pair {u, v}, so
the coverage is a sum of P(N, u, v) over the counts and pairs for which the interval contains the truth. With more
categories, the coverage is simulated.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import betainc, gammaln
from scipy.stats import binom

from dpmultinomial import _checks
from dpmultinomial._mechanisms.laplace import DiscreteLaplace
from dpmultinomial._posteriors.counts import noisy_count_batches
from dpmultinomial._seeding import stream

from ..style import CYCLE, DOUBLE, GREY, MARKERS, letters

Array = NDArray[np.float64]
PRIORS = ("flat", "jeffreys", "1/k")
QUANTITIES = ("count", "rate")
_NEGLECTED = 1e-10  # probability below which a count, or noise outside a window, is neglected
# relative tolerance: a distribution function this close to the tail probability of an interval is treated as equal to
# it
_TIE = 1e-12


def concentration(prior: str, categories: int) -> float:
    """Return the Dirichlet concentration parameter of each rate under one of the priors in `PRIORS`."""
    return {"flat": 1.0, "jeffreys": 0.5, "1/k": 1 / categories}[_checks.one_of("prior", prior, PRIORS)]


def table(
    root_seed: int,
    *,
    scale: float,
    level: float,
    records: Sequence[int],
    rates: Sequence[float],
    several: Mapping[str, Any],
) -> pd.DataFrame:
    """Return the coverage of the intervals for the count and the rate of one category, separately for each prior of the
    rates.

    Parameters
    ----------
    root_seed : root seed of all streams.
    scale : scale of the discrete Laplace noise on every count, > 0.
    level : probability of the intervals.
    records : public totals of the simulated files.
    rates : true rates of the category of interest.
    several : ``categories``, ``rates`` and number of ``files`` of the simulation with more than two categories.

    Returns
    -------
    DataFrame
        The columns are categories, records, p, prior (`PRIORS`), quantity (`QUANTITIES`), coverage, standard_error (0
        for an exact sum) and level. The true share is the count divided by the public total, so its coverage equals
        that of the count.
    """
    rows: list[tuple[object, ...]] = []
    for n in records:
        for p in rates:
            for prior in PRIORS:
                coverage = exact(n, p, scale=scale, alpha=concentration(prior, 2), level=level)
                rows += [(2, n, p, prior, name, x, 0.0) for name, x in zip(QUANTITIES, coverage, strict=True)]
    for k in several["categories"]:
        for n in records:
            for p in several["rates"]:
                rng = stream(root_seed, "studies", "rate_coverage", f"{k} {n} {p}")
                rows += _simulated(int(k), n, p, scale=scale, level=level, files=int(several["files"]), rng=rng)
    names = ["categories", "records", "p", "prior", "quantity", "coverage", "standard_error"]
    return pd.DataFrame(rows, columns=names).assign(level=level)


def exact(n: int, p: float, *, scale: float, alpha: float, level: float) -> tuple[float, float]:
    """Return the coverage of the central intervals for the count and the rate of one of two categories.

    Parameters
    ----------
    n : public total, >= 1.
    p : true rate, in (0, 1).
    scale : scale of the discrete Laplace noise on both counts.
    alpha : Dirichlet concentration of both rates.
    level : probability of the intervals.

    Returns
    -------
    tuple
        Coverage of the interval for the count, which contains all integers from the lower to the upper quantile, and
        coverage of the interval for the rate. The neglected probability is below 1e-7.
    """
    x, tail = np.arange(n + 1), (1 - level) / 2
    chance = binom.pmf(x, n, p)
    likely = np.flatnonzero(chance > _NEGLECTED)
    reach = int(np.ceil(-scale * np.log(_NEGLECTED)))
    u = np.arange(likely[0] - reach, likely[-1] + reach + 1)
    a = np.exp(-1 / scale)
    noise = (1 - a) / (1 + a) * a ** np.abs(u[:, None] - x)
    prior = np.exp(gammaln(x + alpha) + gammaln(n - x + alpha) - gammaln(x + 1) - gammaln(n - x + 1))
    below_p = betainc(x + alpha, n - x + alpha, p)
    count = rate = 0.0
    for i in range(len(u)):  # each pair u <= v represents (u, v) and (v, u)
        likelihood = noise[i] * noise[i:]
        joint = likelihood * chance * np.where(np.arange(len(u) - i) == 0, 1.0, 2.0)[:, None]
        weights = likelihood * prior
        weights /= weights.sum(axis=1, keepdims=True)
        at_most = np.cumsum(weights, axis=1)
        inside = (at_most >= tail * (1 - _TIE)) & (at_most - weights < (1 - tail) * (1 - _TIE))
        count += float(joint[inside].sum())
        cdf = weights @ below_p
        rate += float(joint[(tail <= cdf) & (cdf <= 1 - tail)].sum())
    return count, rate


def _simulated(
    k: int, n: int, p: float, *, scale: float, level: float, files: int, rng: np.random.Generator
) -> list[tuple[object, ...]]:
    """Return the coverage of intervals for `k` categories, estimated from simulated data sets. The rows have the format
    of `table`. All priors are applied to the same releases.
    """
    rates = np.append(p, np.full(k - 1, (1 - p) / (k - 1)))
    truth = rng.multinomial(n, rates, files)
    released = np.asarray(DiscreteLaplace(scale=scale).sample(truth, rng=rng), dtype=np.float64)
    rows: list[tuple[object, ...]] = []
    for prior in PRIORS:
        summaries = noisy_count_batches.exact(
            released.ravel(),
            starts=np.arange(files + 1) * k,
            totals=np.full(files, n),
            scales=np.full(files * k, scale),
            alphas=concentration(prior, k),
            level=level,
            rates=True,
        )
        first = slice(None, None, k)
        lower, upper = summaries.counts[first, 2], summaries.counts[first, 3]
        held = {
            "count": (lower <= truth[:, 0]) & (truth[:, 0] <= upper),
            "rate": (summaries.lower[first] <= p) & (p <= summaries.upper[first]),
        }
        for name in QUANTITIES:
            share = float(held[name].mean())
            rows.append((k, n, p, prior, name, share, float(np.sqrt(share * (1 - share) / files))))
    return rows


def figure(table: pd.DataFrame) -> Figure:
    """Plot the coverage of the intervals against the true rate p, for the case of two categories. Counts are in the
    upper row and rates in the lower row of panels, with one column per number of records.
    """
    # with two categories, 1/k is the parameter of Jeffreys' prior
    two_categories = table[(table["categories"] == 2) & (table["prior"] != "1/k")]
    drawn = Figure(figsize=(DOUBLE, 4.2))
    totals = list(dict.fromkeys(two_categories["records"]))
    panels = drawn.subplots(2, len(totals), sharex=True, sharey="row", squeeze=False)
    for (i, quantity), (j, n) in ((a, b) for a in enumerate(QUANTITIES) for b in enumerate(totals)):
        axes = panels[i, j]
        for colour, marker, prior in zip(CYCLE, MARKERS, _LABELS, strict=False):
            rows = two_categories[
                (two_categories["quantity"] == quantity)
                & (two_categories["records"] == n)
                & (two_categories["prior"] == prior)
            ]
            axes.plot(rows["p"], rows["coverage"], color=colour, marker=marker, lw=0.8, label=_LABELS[prior])
        axes.axhline(two_categories["level"].iloc[0], color=GREY, ls="--", lw=0.8, zorder=0)
        axes.set_xscale("log")
        if i == 0:
            axes.set_title(f"{n} records")
        else:
            axes.set_xlabel("true rate p")
        if j == 0:
            axes.set_ylabel(f"coverage of the {quantity}")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=2)
    letters(panels.ravel())
    return drawn


_LABELS = {"flat": "flat prior (concentration 1)", "jeffreys": "Jeffreys' prior (1/2), the default"}


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for the documentation, with one row per design (number of categories, number of records and rate
    p) and one column per quantity and prior.
    """
    keys = ["categories", "records", "p"]
    wide = table.pivot_table(index=keys, columns=["quantity", "prior"], values="coverage", sort=False)
    order = [(quantity, prior) for quantity in QUANTITIES for prior in PRIORS]
    wide = wide[order].round(3)
    nouns = {"count": "count and share", "rate": "rate"}
    wide.columns = [f"{nouns[quantity]}, {prior}" for quantity, prior in order]
    return wide.reset_index()
