"""Counts with independent noise and a public total: counts and shares of the file, and the underlying rates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._posteriors.counts import laplace_multinomial, noisy_counts
from .._results.posterior import Posterior
from ._chains import of_draws
from ._mixtures import of_mixture
from .release import Release

METHODS = ("auto", "exact", "gibbs", "table")
PRIORS = {"flat": 1.0, "jeffreys": 0.5}
_BURN_IN, _DRAWS, _CHAINS = 500, 1000, 4


def posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """The posterior of a `Release` of counts or shares with a total.

    Parameters
    ----------
    release : counts with a noise law that has ``log_weights``, and a total.
    prior : Dirichlet concentration of the rates: a number, one a category, ``"flat"`` (1, the default) or
        ``"jeffreys"`` (1/2).
    method : ``"exact"``, which ``"auto"`` is; ``"gibbs"`` or ``"table"``, the chain of Balmat et al. (2018) by
        convolutions or with its table of all compositions (Laplace noise).
    rng : Generator, for chains alone.

    Returns
    -------
    Posterior
        Counts, shares and rates; of chains the rates alone.

    Raises
    ------
    ValueError, TypeError
        If there is no total, the prior does not fit, or the release has probability 0 under the mechanism.
    """
    _checks.one_of("method", method, METHODS)
    if release.total is None:
        raise ValueError("total: these counts need their public total, Release(.., total=)")
    if release.values.ndim > 1:
        raise ValueError(f"values: counts are one list of numbers, got shape {release.shape}")
    alpha = concentration(prior, len(release))
    if method in ("gibbs", "table"):
        return _by_chains(release, alpha, method, rng)
    laws = release.mechanism
    law = noisy_counts.exact(release.values, total=release.total, noise=laws, alpha=alpha)
    facts = {"prior": {"law": "Dirichlet", "concentration": alpha.tolist()}, "total": release.total} | release.facts
    return of_mixture(law, release.names, method="exact", facts=facts)


def concentration(prior: Any, size: int) -> NDArray[np.float64]:
    """Concentrations of a Dirichlet prior from what a user says: float64 (size,)."""
    if prior is None:
        return np.ones(size)
    if isinstance(prior, str):
        return np.full(size, PRIORS[_checks.one_of("prior", prior, tuple(PRIORS))])
    return _checks.positives("prior", prior, size)


def _by_chains(release: Release, alpha: NDArray[np.float64], method: str, rng: np.random.Generator | None) -> Posterior:
    """The rates by the Gibbs sampler of Balmat et al. (2018), four chains, judged."""
    scale = getattr(release.mechanism, "scale", None)
    if scale is None:
        raise ValueError(f"method: {method!r} needs Laplace noise of one scale, got {release.mechanism!r}")
    if rng is None:
        raise ValueError(f"rng: method {method!r} draws; give a Generator")
    kernel = {"gibbs": "convolution"}.get(method, method)
    setting = {"total": release.total, "scale": scale, "alpha": alpha, "draws": _DRAWS, "burn_in": _BURN_IN}
    chains = np.stack(
        [laplace_multinomial.gibbs(release.values, **setting, kernel=kernel, rng=rng) for _ in range(_CHAINS)]
    )
    facts = {"prior": {"law": "Dirichlet", "concentration": alpha.tolist()}, "total": release.total} | release.facts
    return of_draws({"rates": chains}, {"rates": release.names}, method=method, facts=facts)
