"""Noisy statistics of a censored normal sample: mean and variance of the records, and how many lie outside."""

from typing import Any

import numpy as np

from .. import _checks
from .._posteriors.censored import censored_statistics
from .._posteriors.censored.normal_model import Prior
from .._results.posterior import Posterior
from ._joint_posteriors import of_draws
from .release import Release

PARAMETERS = ("mu", "sigma2")
COUNTS = ("below", "above")


def posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """The posterior of a `Release` by `CensoredStatistics`.

    Parameters
    ----------
    release : four numbers, named mean, sse, low and high or in that order; its total is the number of records.
    prior : a `Prior` of mean and variance; None derives one from the public limits, and states it.
    method : ``"auto"`` or ``"chain"``.
    rng : Generator.

    Returns
    -------
    Posterior
        Parameters mu and sigma2; counts of records below and above the limits.

    Raises
    ------
    ValueError, TypeError
        If the scale, the number of records or `rng` is missing, or the values are not those four numbers.
    """
    _checks.one_of("method", method, ("auto", "chain"))
    made, n = release.mechanism, release.total
    if made.scale is None:
        raise ValueError("scale: the scale of the noise is needed, CensoredStatistics(.., scale=)")
    if not isinstance(n, int):
        raise ValueError("total: the public number of records is needed, Release(.., total=)")
    if rng is None:
        raise ValueError("rng: a chain draws; give a Generator, posterior(.., rng=)")
    if release.names == ("1", "2", "3", "4"):
        values: Any = release.values
    else:
        values = dict(zip(release.names, release.values.ravel().tolist(), strict=True))
    if prior is not None and not isinstance(prior, Prior):
        raise TypeError(f"prior: of a normal sample is a Prior or None, got {prior!r}")
    found = censored_statistics.sample(
        values, n=n, lower=made.lower, upper=made.upper, scale=made.scale, grid=made.grid, sums=made.sums,
        prior=prior, rng=rng,
    )  # fmt: skip
    draws = {"parameters": found.draws, "counts": found.statistics[:, :, 2:]}
    facts = {"prior": repr(found.prior), "total": n} | release.facts
    names = {"parameters": PARAMETERS, "counts": COUNTS}
    return of_draws(draws, names, method="chain", facts=facts, honesty=found.honesty, source=found)
