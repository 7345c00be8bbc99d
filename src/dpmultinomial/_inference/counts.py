"""Posterior distributions of the counts in a file, of their shares (if there is a total) and of the rates in the
population, given counts with independent noise.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .. import _checks
from .._confidence import noise_sums
from .._mechanisms.additive_law import AdditiveLaw
from .._mechanisms.coarsened import Coarsened, law_of_row
from .._mechanisms.dirichlet import Dirichlet
from .._mechanisms.exact import Exact
from .._posteriors.counts import laplace_multinomial, noisy_counts
from .._posteriors.published import cells, conflict, counts, counts_with_total, priors, windows
from .._posteriors.published.cells import cells_of
from .._results.posterior import Posterior
from ._joint_posteriors import of_draws, of_mixture
from .release import Release

METHODS = ("auto", "exact", "gibbs", "table")
PRIORS = {"flat": 1.0, "jeffreys": counts_with_total.JEFFREYS}
MANY = 16  # smallest number of counts with an exact total for which convolutions of windows are used
_LOG_MASS = 1e3, 1e5  # the noise is limited if it has the same ends for both probabilities exp(-1e3) and exp(-1e5)
_BURN_IN, _DRAWS, _CHAINS = 500, 1000, 4


def posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """Compute the posterior distribution of counts, shares and rates, given a `Release`. The release contains counts,
    or shares with a total.

    Parameters
    ----------
    release : noisy counts, with or without a total and bounds.
    prior : for the rates of counts with a total, a Dirichlet concentration: a number, one number per category, or
        ``"jeffreys"`` (1/2, the default). ``"flat"`` gives all vectors of true counts the same weight; with a public
        total, this is the concentration 1. Without a total, a prior of each count: ``"flat"``, ``"1/(1+n)"``,
        ``"fitted"``, a mapping such as ``{law: geometric, mean: 10}``, or None, which fits a prior if there are enough
        counts.
    method : ``"exact"`` or ``"auto"``, which are the same; ``"gibbs"`` or ``"table"``, the Markov chain of Balmat et
        al. (2018) by convolutions or with a table of all compositions (Laplace noise and a total required).
    rng : numpy Generator, needed only for chains.

    Returns
    -------
    Posterior
        Counts; shares if there is a total; rates if the file is treated as a sample. The Markov chains give only rates.

    Raises
    ------
    ValueError, TypeError
        If the prior does not match the release, or the release has probability 0 under the mechanism.
    """
    _checks.one_of("method", method, METHODS)
    if release.values.ndim > 1:
        raise ValueError(f"values must be one-dimensional (one count per category), got shape {release.shape}")
    if isinstance(release.mechanism, Dirichlet) and release.total is None:
        raise ValueError(
            "total (the public number of records) is required for released shares: pass Release(.., total=)"
        )
    size = release.total if isinstance(release.total, int) else None
    plain = size is not None and release.bounds is None and not np.isnan(release.values).any()
    if method in ("gibbs", "table"):
        if not plain:
            fault = "no exact total" if size is None else "unmeasured counts" if release.bounds is None else "bounds"
            raise ValueError(
                f"method {method!r} requires an exact total and measured counts without bounds, got {fault}: use "
                "method 'auto'"
            )
        return _by_chains(release, concentration(prior, len(release)), method, rng)
    if release.total is not None and isinstance(prior, str) and prior not in (*PRIORS, *priors.WORDS):
        words = ", ".join(dict.fromkeys([*PRIORS, *priors.WORDS]))
        raise ValueError(f"prior must be a concentration > 0 or one of {words} for counts with a total, got {prior!r}")
    several = len(release) > 1 or isinstance(release.mechanism, Dirichlet)  # a single count is equal to its total
    if plain and several and size is not None and _is_concentration(prior):
        alpha = concentration(prior, len(release))
        if len(release) >= MANY and not isinstance(release.mechanism, Dirichlet):
            return _of_many(release, alpha)
        laws = _laws(release)
        law = noisy_counts.exact(release.values, total=size, noise=laws, alpha=alpha)
        facts = partial(_facts, release, laws, size, alpha)  # computed when they are read: plans read no facts
        return of_mixture(law, release.names, method="exact", facts=facts)
    lower, upper = release.bounds or (0, np.inf)
    if release.total is not None and _is_concentration(prior) and (size is not None or prior != "flat"):
        prior = {"law": "multinomial", "alpha": concentration(prior, len(release))}
    asked: dict[str, Any] = {"groups": release.groups, "facts": release.facts}
    asked |= {"noise": release.mechanism, "names": release.names, "prior": prior, "lower": lower, "upper": upper}
    if release.total is None:
        return counts.posterior(release.values, **asked)
    return counts_with_total.posterior(release.values, total=release.total, **asked)


def refuse(release: Release, prior: Any) -> None:
    """Raise an error if `posterior` would reject a release or a prior. The posterior is not computed.

    Parameters
    ----------
    release, prior : arguments of `posterior`.

    Raises
    ------
    ValueError, TypeError
        As `posterior`.
    """
    if isinstance(release.mechanism, Dirichlet) or release.values.ndim > 1:
        return
    lower, upper = release.bounds or (0, np.inf)
    most = np.minimum(upper, release.total) if isinstance(release.total, int) else upper
    found = cells_of(release.values, release.mechanism, lower=lower, upper=most)
    cells.refuse(found, release.names)
    seen = np.flatnonzero(found.measured)
    near, ends = (found.noise.take(seen).reach(found.released[seen], mass) for mass in _LOG_MASS)
    limited = (np.asarray(near[0]) == ends[0]) & (np.asarray(near[1]) == ends[1])  # the noise has a largest value
    outside = np.zeros(len(found), dtype=bool)
    outside[seen] = limited & ((ends[0] > found.upper[seen]) | (ends[1] < found.lower[seen]))
    cells.refuse(found.with_reason(outside, windows.NOTHING), release.names)
    if release.total is None or not _is_concentration(prior):
        if not (isinstance(prior, Mapping) and prior.get("law") == "multinomial"):
            cells.groups_of(found, prior, release.groups)
    else:
        concentration(None if prior == "flat" else prior, len(release))


def _laws(release: Release) -> list[Any]:
    """Return the mechanism of each row of a release, as a distribution with a single set of parameters."""
    kind, size = release.mechanism, len(release)
    if isinstance(kind, Sequence):
        return list(kind)
    if (rows := getattr(kind, "row_count", None)) not in (None, size):
        raise ValueError(f"mechanism must have one parameter, or one per count ({size} counts), got {rows} parameters")
    return [law_of_row(kind, row) for row in range(size)]


def _facts(release: Release, laws: Sequence[Any], total: int, alpha: NDArray[np.float64]) -> dict[str, object]:
    """Return the assumptions about counts with a public total, and the results of the check for conflicts."""
    prior = {"law": "Dirichlet", "concentration": alpha.tolist()}
    checked = _conflict(release, laws, total, alpha)
    return {"prior": prior, "total": total, "conflict": checked} | release.facts


def _conflict(release: Release, laws: Sequence[Any], total: int, alpha: NDArray[np.float64]) -> dict[str, object]:
    """Return the results of a check for conflicts among a release, its public total and the prior of the rates."""
    tails = conflict.given_total(release.values, laws, total, alpha)
    if isinstance(release.mechanism, Dirichlet):  # released shares sum to 1
        return conflict.facts(tails, release.names)
    whole = _tail_of_sum(release.values, laws, total)
    return conflict.facts(np.append(tails, whole), (*release.names, counts_with_total.TOTAL))


def conflicts(
    released: NDArray[np.float64], noise: Any, starts: NDArray[np.int64], totals: NDArray[np.int64], alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Test each of many tables for a conflict among its counts, its public total and the prior of the rates.

    Parameters
    ----------
    released : float64 (n,), released counts of all tables.
    noise : Laplace or discrete Laplace distribution with one scale per count.
    starts : int64 (tables + 1,), position of the first count of each table, and n.
    totals : int64 (tables,), public totals.
    alpha : concentration of the Dirichlet prior of the rates.

    Returns
    -------
    (p, worst)
        As `published.conflict.by_table`, for the counts of each table and, in the last position, its total.

    Notes
    -----
    Exact p-values are computed only for counts with a small lower bound (`conflict.least_given_totals`), and for sums
    whose tail is small under a normal distribution, whose tails are lighter than those of a sum of Laplace terms. Other
    p-values cannot be small enough for a conflict. Cost: about 40 microseconds per table with six counts.
    """
    sizes = np.diff(starts)
    owner, tested = np.repeat(np.arange(len(sizes)), sizes), sizes + 1
    found = cells_of(released, noise)
    least = conflict.least_given_totals(found, totals[owner].astype(float), alpha, sizes[owner])
    spread = np.sqrt(np.add.reduceat(np.broadcast_to(noise.variance(), owner.shape), starts[:-1]))
    beyond = np.abs(np.add.reduceat(released, starts[:-1]) - totals) / spread
    places = np.arange(len(released)) + owner  # there is one total after the counts of each table
    tails = np.ones(len(released) + len(sizes))
    for i in np.flatnonzero(2 * least * tested[owner] < conflict.SMALL).tolist():
        t = owner[i]
        total, a, b = int(totals[t]), alpha, alpha * (sizes[t] - 1.0)
        few = int(sizes[t]) * (total + 1) <= conflict.LISTED
        tails[places[i]] = conflict.of_count(released[i], law_of_row(noise, i), total, a, b, listed=few)
    for t in np.flatnonzero(2 * ndtr(-beyond) * tested < conflict.SMALL).tolist():
        rows = range(int(starts[t]), int(starts[t + 1]))
        laws = [law_of_row(noise, i) for i in rows]
        tails[starts[t + 1] + t] = _tail_of_sum(released[rows.start : rows.stop], laws, int(totals[t]))
    return conflict.by_table(tails, starts + np.arange(len(starts)))


def _tail_of_sum(released: NDArray[np.float64], laws: Sequence[Any], total: int) -> float:
    """Return the one-sided probability that the sum of all noise terms is at least as extreme as the released sum minus
    the public total. This probability does not depend on the true counts or the prior.

    If a value was rounded, clipped or withheld, the released sum is replaced by the nearest end of the interval of the
    noisy values that it can represent, so the probability is an upper bound.

    Returns
    -------
    float
        NaN if the noise is not additive, or the counts are exact.
    """
    low = high = -float(total)
    terms: list[tuple[Any, int]] = []
    for value, law in zip(released, laws, strict=True):
        ends = law.behind(np.array([value])) if isinstance(law, Coarsened) else ([value], [value])
        low, high = low + float(ends[0][0]), high + float(ends[1][0])
        noise = law.noise if isinstance(law, Coarsened) else law
        if not isinstance(noise, Exact):
            terms.append((noise, 1))
    if not terms or not all(isinstance(noise, AdditiveLaw) for noise, _ in terms):
        return float("nan")
    whole = _added(tuple(terms))
    above = float(whole.right(low)) if np.isfinite(low) else 1.0
    below = float(whole.left(high)) if np.isfinite(high) else 1.0
    return min(above, below)


@lru_cache(maxsize=64)
def _added(terms: tuple[tuple[Any, int], ...]) -> noise_sums.NoiseSum:
    """Return the distribution of a sum of noise terms. The result is cached, because the tables of a batch often have
    the same noise.
    """
    return noise_sums.added(terms)


def _of_many(release: Release, alpha: NDArray[np.float64]) -> Posterior:
    """Compute the posterior distribution of many counts with an exact total. The method uses convolutions on windows
    whose size does not increase with the total.
    """
    prior = {"law": "multinomial", "alpha": alpha}
    facts = {"prior": {"law": "Dirichlet", "concentration": alpha.tolist()}, "total": release.total} | release.facts
    asked: dict[str, Any] = {"noise": release.mechanism, "names": release.names, "prior": prior, "facts": facts}
    return counts_with_total.posterior(release.values, total=release.total, **asked)


def _is_concentration(prior: Any) -> bool:
    """Return whether the argument `prior` describes a prior of the rates (and not a separate prior of each count)."""
    return prior is None or prior in PRIORS if isinstance(prior, str | None) else not isinstance(prior, Mapping)


def concentration(prior: Any, size: int) -> NDArray[np.float64]:
    """Return the concentrations of the Dirichlet prior that a user passed, as a float64 array of shape (size,). The
    default is Jeffreys' prior.
    """
    if prior is None:
        prior = "jeffreys"
    if isinstance(prior, str):
        return np.full(size, PRIORS[_checks.one_of("prior", prior, tuple(PRIORS))])
    return _checks.positives("prior", prior, size)


def _by_chains(release: Release, alpha: NDArray[np.float64], method: str, rng: np.random.Generator | None) -> Posterior:
    """Draw the rates with the Gibbs sampler of Balmat et al. (2018), in four chains with a convergence check."""
    scale = getattr(release.mechanism, "scale", None)
    if scale is None:
        raise ValueError(f"method {method!r} requires Laplace noise with a single scale, got {release.mechanism!r}")
    if rng is None:
        raise ValueError(f"rng is required for method {method!r}: pass a NumPy Generator as posterior(.., rng=)")
    kernel = {"gibbs": "convolution"}.get(method, method)
    setting = {"total": release.total, "scale": scale, "alpha": alpha, "draws": _DRAWS, "burn_in": _BURN_IN}
    chains = np.stack(
        [laplace_multinomial.gibbs(release.values, **setting, kernel=kernel, rng=rng) for _ in range(_CHAINS)]
    )
    facts = {"prior": {"law": "Dirichlet", "concentration": alpha.tolist()}, "total": release.total} | release.facts
    return of_draws({"rates": chains}, {"rates": release.names}, method=method, facts=facts)
