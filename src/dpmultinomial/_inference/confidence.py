"""Confidence intervals and hypothesis tests for releases of counts. The function `confidence` is used like `posterior`,
but without a prior.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .._confidence.confidence import Confidence
from .._confidence.noisy_release import NoisyCounts
from .._confidence.release_sets import law_of_counts
from .release import Release


def confidence(release: Release) -> Confidence:
    """Compute confidence intervals and hypothesis tests for the true counts and for the rates in the population from
    which the counts were sampled.

    Parameters
    ----------
    release : released counts with additive noise (with or without rounding, clipping or withholding), with a table of
        noise, or with random rounding. The total and the bounds are public. The interval of a count does not use other
        counts.

    Returns
    -------
    Confidence
        Result with ``.counts``, ``.rates``, ``.ask(..)``, ``.test(..)`` and ``.summary()``. Whatever the true value is,
        an interval contains it with at least the stated probability.

    Raises
    ------
    TypeError
        If the mechanism does not determine the probability of one released value given one count: additive counts,
        swapping, censored statistics and Dirichlet shares.
    ValueError
        If a value cannot be released under its mechanism.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> release = dpm.Release({"met": 17, "not_met": -2}, mechanism=dpm.DiscreteGaussian(sigma=5.0))
    >>> sure = dpm.confidence(release)
    >>> sure.counts["met"].interval(0.95)
    (7, 27)
    >>> print(f"{sure.counts['met'].pvalue(5):.3f}")
    0.021
    """
    if not isinstance(release, Release):
        raise TypeError(f"release must be a Release, got {type(release).__name__}")
    values = release.values.ravel()
    law = law_of_counts(release.mechanism, release.shape)
    lower, upper = (_limit(end, release.shape) for end in release.bounds or (0, np.inf))
    total = release.total if isinstance(release.total, int) else None
    if total is not None:
        upper = np.minimum(upper, total)
    unused = "tree" if release.parents is not None else "total" if isinstance(release.total, int | Mapping) else ""
    return Confidence(NoisyCounts(release.names, values, law, lower, upper, total, unused))


def _limit(end: object, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.broadcast_to(np.asarray(end, dtype=np.float64), shape).ravel()
