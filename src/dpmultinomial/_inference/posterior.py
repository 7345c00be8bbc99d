"""What a release says: one call, whatever the mechanism."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._mechanisms.additive.mechanism import AdditiveCounts
from .._mechanisms.sufficient_statistics import CensoredStatistics
from .._mechanisms.swapping.mechanism import Swap
from .._results.posterior import Posterior
from . import counts, crossed, statistics, sums, tables, trees
from .release import Release

Adapter = Callable[..., Posterior]
_ADAPTERS: dict[type, Adapter] = {
    AdditiveCounts: sums.posterior,
    CensoredStatistics: statistics.posterior,
    Swap: tables.posterior,
}


def posterior(
    release: Release, *, prior: Any = None, method: str = "auto", rng: np.random.Generator | None = None
) -> Posterior:
    """What a release says of the confidential file, and of what the file is a sample of.

    Parameters
    ----------
    release : a `Release`.
    prior : what is assumed beforehand; None takes the default of the mechanism, which the result states. Rates of
        counts with a total, and of tables: a Dirichlet concentration, ``"flat"`` or ``"jeffreys"``; counts without one:
        ``"flat"``, ``"1/(1+n)"``, ``"fitted"`` or a mapping; with parents: a concentration of splits, one a level, or
        one of these for the leaves; additive counts: ``"flat"``, ``"flat total"`` or a
        concentration; a censored sample: a prior of mean and variance.
    method : the algorithm, where there is a choice; ``"auto"`` chooses, and the result says which. Of releases with
        queries: ``"chain"``, or ``"least squares"``, fast and approximate.
    rng : numpy Generator, for what has to be drawn; exact methods need none.

    Returns
    -------
    Posterior
        With ``.counts``, ``.shares``, ``.rates``, ``.parameters`` as far as they exist, ``.summary()``, ``.honesty``.

    Raises
    ------
    ValueError, TypeError
        If something is missing, breaks its rule, or the release has probability 0 under its mechanism.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> noisy = {"met": 12.3, "not_met": -4.1, "failed": 44.2}
    >>> found = dpm.posterior(dpm.Release(noisy, mechanism=dpm.Laplace(scale=2.0), total=50))
    >>> share = found.shares.among("met", "not_met")["met"]
    >>> print(f"{share.mean():.3f}, {share.interval()[0]:.2f} to {share.interval()[1]:.2f}")
    0.924, 0.60 to 1.00
    """
    if not isinstance(release, Release):
        raise TypeError(f"release must be a Release, got {type(release).__name__}")
    kind = release.mechanism
    if release.queries is not None:
        return crossed.posterior(release, prior=prior, method=method, rng=rng)
    if release.parents is not None:
        return trees.posterior(release, prior=prior, method=method, rng=rng)
    if isinstance(kind, Sequence):
        adapter: Adapter = counts.posterior
    else:
        adapter = next((made for law, made in _ADAPTERS.items() if isinstance(kind, law)), counts.posterior)
    if adapter is counts.posterior and not all(
        hasattr(law, "log_weights") for law in (kind if isinstance(kind, Sequence) else [kind])
    ):
        raise TypeError(f"mechanism must be one of this library, got {kind!r}")
    return adapter(release, prior=prior, method=method, rng=rng)
