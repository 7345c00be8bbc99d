"""Sample the posterior of (mu, sigma2) given a noisy release of a censored normal sample (Raim 2021).

Model: x_1 .. x_n ~ N(mu, sigma2), z = s(x) + Laplace noise, mu ~ N(mu0, var0), sigma2 ~ IG(shape0, rate0). The methods
are those of `censored_gibbs`: ``"corrected"``, ``"as_written"``, ``"slides_model"`` and ``"exact"``.

The module also has the class of finished chains: draws, convergence status and summary.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from dpmultinomial import _accuracy, _checks
from dpmultinomial._accuracy import LEVEL, Accuracy, of_chains, summary_frame
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._posteriors.censored.normal_model import Prior, released

from . import censored_gibbs

COLUMNS = ("mu", "sigma2", "s_mean", "s_sse", "s_low", "s_high")
APPROXIMATE = {  # reason why the distribution of the sampler is not the posterior
    "corrected": "s_mean and s_sse are drawn as independent",
    "as_written": "the posterior is not the stationary distribution of the updates on the slides",
    "slides_model": "the slides use other distributions of the statistics",
}


class Chain(NamedTuple):
    """Draws and diagnostics of a finished Gibbs chain. The draws have the shape (draws, 6) with the columns `COLUMNS`,
    and the diagnostics are the acceptance rate and the fraction of sweeps in which the mean of the uncensored records
    is outside the censoring limits.

    Parameters
    ----------
    draws : float64 (draws, 6).
    accepted, impossible : proportions in [0, 1].
    method : one of `METHODS`.
    """

    draws: NDArray[np.float64]
    accepted: float
    impossible: float
    method: str = "exact"

    @property
    def diverged(self) -> bool:
        """Return whether the chain diverged, which means that the mean of the uncensored records is outside [a, b] in
        more than 5 % of the sweeps. Such a mean is impossible for data.
        """
        return self.impossible > 0.05

    @property
    def accuracy(self) -> Accuracy:
        """Return the accuracy status ``not converged``, because the convergence of a single chain cannot be checked.
        Use `judged` to compare several chains.
        """
        why = f"{self.impossible:.0%} of the sweeps are impossible; " if self.diverged else ""
        return Accuracy(
            "not converged", float("nan"), f"{why}convergence can be checked only for several chains (`judged`)"
        )

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the mean, the standard deviation and a central interval of mu, sigma2 and the four statistics. The
        columns are `accuracy.SUMMARY`.

        Parameters
        ----------
        level : probability of the interval, strictly between 0 and 1.
        """
        if not len(self.draws):
            raise ValueError("a summary requires at least one draw, got none: run the chain with draws >= 1")
        tail = (1 - _checks.inside("level", level)) / 2
        lower, upper = np.quantile(self.draws, [tail, 1 - tail], axis=0)
        mean, sd = self.draws.mean(axis=0), self.draws.std(axis=0)
        return summary_frame(COLUMNS, mean=mean, sd=sd, lower=lower, upper=upper, level=level, status=self.accuracy)


def judged(chains: Sequence[Chain]) -> Accuracy:
    """Return the convergence status of several chains of equal length, based on the draws of mu and sigma2.

    Parameters
    ----------
    chains : two or more chains with the same method and length.

    Returns
    -------
    Accuracy
        ``not converged`` if ESS, R-hat or the fraction of impossible sweeps does not pass; otherwise ``converged`` for
        ``method="exact"``, and ``approximate`` for all other methods, which approximate the posterior.

    Raises
    ------
    ValueError
        If there is only one chain, or their methods or lengths differ.
    """
    kinds = {(c.method, len(c.draws)) for c in chains}
    if len(chains) < 2 or len(kinds) > 1:
        raise ValueError(
            "chains must contain at least two chains that were drawn with the same method and have the same length, "
            f"got {len(chains)} chains with the methods and lengths {sorted(kinds)}"
        )
    values = [np.array([c.draws[:, i] for c in chains]) for i in range(2)]
    state = of_chains([_accuracy.bulk_ess(x) for x in values], [_accuracy.rhat(x) for x in values])
    if any(c.diverged for c in chains):
        worst = max(c.impossible for c in chains)
        return Accuracy("not converged", float("nan"), f"{worst:.0%} of the sweeps are impossible; {state.reason}")
    if state.status == "converged" and chains[0].method != "exact":
        return Accuracy("approximate", float("nan"), f"{APPROXIMATE[chains[0].method]}; {state.reason}")
    return state


METHODS = ("corrected", "exact", "as_written", "slides_model")
LEAST_RECORDS = 4


# prior for the slides' setting, which does not state a prior; on the scale of the records
VAGUE = Prior(0.0, 100.0, 1.0, 1.0)


def gibbs(
    release: ArrayLike | Mapping[str, float],
    *,
    n: int,
    lower: float,
    upper: float,
    scale: ArrayLike,
    method: str = "corrected",
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    prior: Iterable[float] = VAGUE,
    initial: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return dependent draws of (mu, sigma2) from a Gibbs sampler, as a float64 array of shape (draws, 2). The
    arguments are the same as for `chain`.

    With ``method="as_written"``, the chain diverges from the posterior in most settings. Check ``chain(..).diverged``.

    Parameters
    ----------
    release, n, lower, upper, scale, method, draws, burn_in, rng, prior, initial : as in `chain`.

    Returns
    -------
    float64 (draws, 2)
    """
    run = chain(
        release, n=n, lower=lower, upper=upper, scale=scale, method=method, draws=draws, burn_in=burn_in, rng=rng,
        prior=prior, initial=initial,
    )  # fmt: skip
    return run.draws[:, :2]


def chain(
    release: ArrayLike | Mapping[str, float],
    *,
    n: int,
    lower: float,
    upper: float,
    scale: ArrayLike,
    method: str = "corrected",
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    prior: Iterable[float] = VAGUE,
    initial: ArrayLike | None = None,
    sums: bool = False,
    again: bool = False,
) -> Chain:
    """Return a Gibbs chain of theta and of the true statistics given the release.

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high), or a mapping with the keys mean, sse, low, high; finite, and within 10^7
        scales of the ranges of their statistics.
    n : number of records, >= 4.
    lower, upper : censoring limits a < b.
    scale : Laplace scale of the noise, Delta_s/epsilon; one number, or one number per statistic.
    method : ``"corrected"``: statistics are drawn from closed-form distributions, with joint counts, a normal
        distribution for s_mean and a gamma distribution for s_sse with the moments of the truncated normal
        distribution. They are assumed to be independent, which is an approximation of the slides' structure: if the
        limits are not symmetric about mu, s_mean and s_sse are dependent, and the sd of sigma2 is too large, by 12 % at
        [-0.5, 3] and by 55 % at [0.5, 4], with n = 1,000. ``"exact"``: all records, O(n) per sweep, as a reference; for
        large n, `censored_statistics.sample` has the same distribution. ``"as_written"``: the slides.
        ``"slides_model"``: the distributions of the slides in a consistent model.
    draws, burn_in : numbers of sweeps kept and discarded. The effective sample size is about 1/25 of the draws for mu,
        and 1/6 for sigma2.
    rng : numpy Generator.
    prior : (mu0, var0, shape0, rate0).
    initial : first (mu, sigma2); None derives it from the released counts.
    sums : whether the release consists of the sums of `CensoredStatistics.sums_of`; only with ``"exact"``.
    again : whether the release is redrawn after every sweep, for Geweke's test (`geweke`).

    Returns
    -------
    Chain

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    _checks.one_of("method", method, METHODS)
    _checks.generator(rng)
    limits = CensoredStatistics(lower=lower, upper=upper)
    z = released(release)
    _checks.integer("n", n, least=LEAST_RECORDS)
    scales = _checks.positives("scale", scale, 4)
    prior = _prior(prior)
    start = first_guess(z, n=n, lower=lower, upper=upper) if initial is None else _theta(initial)
    if sums and method != "exact":
        raise ValueError(f"sums may be given only for the method 'exact', got {method!r}")
    common = (z, n, float(lower), float(upper), scales, tuple(prior), start)
    kept, skip = _checks.integer("draws", draws), _checks.integer("burn_in", burn_in)
    if method == "exact":
        records = start[0] + start[1] ** 0.5 * rng.standard_normal(n)
        states, accepted = censored_gibbs.records_chain(
            *common, records, draws=kept, burn_in=skip, again=again, rng=rng, sums=sums
        )
    else:
        states, accepted = censored_gibbs.statistics_chain(
            *common, form=method, draws=kept, burn_in=skip, again=again, rng=rng
        )
    outside = (states[:, 2] < limits.lower) | (states[:, 2] > limits.upper)
    return Chain(states, float(accepted), float(outside.mean()) if len(states) else 0.0, method)


def first_guess(release: ArrayLike, *, n: int, lower: float, upper: float) -> tuple[float, float]:
    """Return the pair (mu, sigma2) for which the expected counts of the two tails equal the released counts. If the
    counts are uninformative, mu is the middle of [a, b].

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high).
    n : number of records.
    lower, upper : limits a < b.

    Returns
    -------
    mu, sigma2 : floats.
    """
    low, high = (ndtri(min(max(z / n, 0.5 / n), 0.45)) for z in np.asarray(release, dtype=float)[2:])
    sigma = (upper - lower) / -(low + high)
    return float(lower - sigma * low), float(sigma**2)


def diagnostics(chains: list[Chain]) -> pd.DataFrame:
    """Return a posterior summary of mu and sigma2, computed from one or more chains of equal length. The summary
    includes the effective sample size (ESS), R-hat and the fraction of impossible sweeps.

    Returns
    -------
    DataFrame: parameter, mean, sd, lower, median, upper (95 %), mc_se, ess, rhat (one chain: NaN), impossible, diverged
    """
    rows = []
    impossible = float(np.mean([c.impossible for c in chains]))
    for i, name in enumerate(COLUMNS[:2]):
        x = np.array([c.draws[:, i] for c in chains])
        ess = _accuracy.mean_ess(x)
        rhat = _accuracy.rhat(x) if len(chains) > 1 else np.nan
        quantiles = dict(zip(("lower", "median", "upper"), np.quantile(x, [0.025, 0.5, 0.975]), strict=True))
        row = {"parameter": name, "mean": x.mean(), "sd": x.std(ddof=1), **quantiles}
        row |= {"mc_se": x.std(ddof=1) / ess**0.5, "ess": ess, "rhat": rhat}
        rows.append(row | {"impossible": impossible, "diverged": any(c.diverged for c in chains)})
    return pd.DataFrame(rows)


def geweke(
    *,
    method: str,
    n: int,
    lower: float,
    upper: float,
    scale: float,
    prior: Iterable[float],
    sweeps: int,
    rng: np.random.Generator,
    batches: int = 50,
) -> pd.DataFrame:
    """Return the results of the joint distribution test of Geweke (2004) for a sampler. If the release is redrawn after
    each sweep, theta must follow its prior.

    Parameters
    ----------
    method, n, lower, upper, scale, rng : as in `chain`.
    prior : (mu0, var0, shape0, rate0); shape0 > 4 for finite moments.
    sweeps : length of the chain.
    batches : number of batches, whose means give the standard error.

    Returns
    -------
    DataFrame with the columns moment, expected, found, se and z. For a sampler that leaves its model invariant, z is
        approximately standard normal.
    """
    mu0, var0, shape0, rate0 = prior = _prior(prior)
    guess = (mu0, rate0 / (shape0 - 1))
    start = CensoredStatistics(lower=lower, upper=upper).of(guess[0] + guess[1] ** 0.5 * rng.standard_normal(n))
    run = chain(
        start, n=n, lower=lower, upper=upper, scale=scale, method=method, draws=sweeps, burn_in=sweeps // 50, rng=rng,
        prior=prior, initial=guess, again=True,
    )  # fmt: skip
    mu, sigma2 = run.draws[:, 0], run.draws[:, 1]
    moments = {
        "mu": (mu, mu0),
        "(mu - mu0)^2": ((mu - mu0) ** 2, var0),
        "sigma2": (sigma2, guess[1]),
        "sigma2^2": (sigma2**2, rate0**2 / ((shape0 - 1) * (shape0 - 2))),
        "mu sigma2": (mu * sigma2, mu0 * guess[1]),
    }
    rows = []
    for name, (values, expected) in moments.items():
        means = values[: len(values) // batches * batches].reshape(batches, -1).mean(axis=1)
        se = means.std(ddof=1) / batches**0.5
        row = {"moment": name, "expected": expected, "found": values.mean(), "se": se}
        rows.append(row | {"z": (values.mean() - expected) / se})
    return pd.DataFrame(rows)


def without_privacy(
    records: NDArray[np.float64],
    *,
    lower: float,
    upper: float,
    prior: Iterable[float] = VAGUE,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return draws from the posterior given exact statistics, as a float64 array of shape (draws, 2). The sampler
    augments the data by the censored records.

    The arguments are those of `chain`. The function `normal_model.posterior` gives the same distribution without
    simulation.

    Parameters
    ----------
    records : float64 (n,).
    lower, upper, prior, draws, burn_in, rng : as in `chain`.

    Returns
    -------
    float64 (draws, 2)
    """
    z = CensoredStatistics(lower=lower, upper=upper).of(records)
    tiny = np.array([1e-7, 1e-5, 1e-3, 1e-3])  # noise of negligible size: counts, mean and sum of squares are fixed
    return gibbs(
        z, n=len(records), lower=lower, upper=upper, scale=tiny, method="corrected", draws=draws, burn_in=burn_in,
        rng=rng, prior=prior,
    )  # fmt: skip


def _prior(prior: Iterable[float]) -> Prior:
    values = _checks.reals("prior", list(prior))
    if len(values) != 4 or values[1:].min() <= 0:
        raise ValueError(
            f"prior must be (mu0, var0, shape0, rate0) with var0, shape0 and rate0 > 0, got {values.tolist()}"
        )
    return Prior(*map(float, values))


def _theta(initial: ArrayLike) -> tuple[float, float]:
    values = _checks.reals("initial", initial)
    if len(values) != 2 or values[1] <= 0:
        raise ValueError(f"initial must be (mu, sigma2) with sigma2 > 0, got {values.tolist()}")
    return float(values[0]), float(values[1])
