"""Baseline for the censored normal model: the Gibbs sampler of Bernstein and Sheldon (2018).

The idea is that of "Differentially Private Bayesian Inference for Exponential Families". The distribution of the
statistics given theta is approximated by a normal distribution with the same mean and covariance. Laplace noise is
represented as normal noise with an exponential variance (so 1/variance is inverse Gaussian given the noise). Then theta
is drawn as if the drawn statistics were those of the data; here, the censored records are redrawn first. Records are on
the scale of the limits; all chains are in one array.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmultinomial import _checks
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._posteriors.censored.normal_model import Prior, released

from . import baseline_gibbs

Array = NDArray[np.float64]
LEAST_RECORDS = 4


def gibbs(
    release: ArrayLike | Mapping[str, float],
    *,
    n: int,
    lower: float,
    upper: float,
    scale: ArrayLike,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    prior: Prior | None = None,
    chains: int = 4,
) -> Array:
    """Return dependent draws of (mu, sigma2) from an approximate posterior, in which the statistics have a normal
    distribution. The draws are a float64 array of shape (chains, draws, 2).

    Parameters
    ----------
    release : (z_mean, z_sse, z_low, z_high), or a mapping.
    n : number of records, >= 4.
    lower, upper : censoring limits.
    scale : Laplace scale, one number or one number per statistic.
    draws, burn_in : numbers of sweeps kept and discarded.
    rng : numpy Generator.
    prior : prior in the unit of the data; None uses `Prior.from_limits`.
    chains : number of chains, >= 1.

    Returns
    -------
    float64 (chains, draws, 2). The cost of a sweep is proportional to the number of records outside the limits. The
        distribution differs from the posterior of the model, because it ignores the skewness of the sum of squares and
        the bounds of the statistics. The error is largest if the noise is small or few records are inside the limits.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    numpy.linalg.LinAlgError
        If a covariance matrix of the normal distributions is not positive definite.
    """
    limits = CensoredStatistics(lower=lower, upper=upper)
    half, middle = limits.width / 2, (limits.lower + limits.upper) / 2
    units = np.array([half, half**2, 1.0, 1.0])
    z = (released(release) - [middle, 0.0, 0.0, 0.0]) / units
    size = _checks.positives("scale", scale, 4) / units
    count, kept = _checks.integer("n", n, least=LEAST_RECORDS), _checks.integer("draws", draws)
    skip, width = _checks.integer("burn_in", burn_in), _checks.integer("chains", chains, least=1)
    _checks.generator(rng)
    used = (Prior.from_limits(lower, upper) if prior is None else prior).standardised(lower, upper)
    start = np.tile([0.0, 0.25, 0.0, 0.2 * count, 0.05 * count, 0.05 * count], (width, 1))
    unit_draws = baseline_gibbs.gibbs(z, count, size, tuple(used), start, draws=kept, burn_in=skip, rng=rng)
    return np.array([middle, 0.0]) + np.array([half, half**2]) * unit_draws
