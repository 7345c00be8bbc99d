"""Posterior distributions of the original table, its shares and the cell probabilities, given swapped tables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import Accuracy
from .._posteriors.swapping import swapped_table, unknown_rate, unswapped
from .._results.distributions import Continuous
from .._results.posterior import Posterior
from .._results.quantities import Quantities
from .._seeding import stream
from ._joint_posteriors import of_draws, of_mixture
from .counts import concentration
from .release import Release

METHODS = ("auto", "exact", "chain", "abc")
_PROPOSALS, _FEWEST = 2_000_000, 400


def posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """Compute the posterior distribution given a `Release` of swapped tables.

    Parameters
    ----------
    release : integers (rows, columns), or (strata, rows, columns) swapped within strata.
    prior : Dirichlet concentration of all cells: a number, one number per cell, ``"flat"`` (1, the default) or
        ``"jeffreys"``.
    method : ``"exact"`` sums over all possible tables, and rejects releases that have too many; ``"chain"`` always
        samples; ``"auto"`` sums if possible and samples otherwise; ``"abc"`` is rejection sampling as in Pan, Li and Li
        (2023).
    rng : numpy Generator, for chains and rejection sampling.

    Returns
    -------
    Posterior
        Counts, shares and rates of all cells; the log odds ratio if there is one 2 x 2 table; the swap rate if it is
        not known (uniform prior).

    Raises
    ------
    ValueError, TypeError
        If the values are not a table of integers, or the method cannot be used.
    """
    _checks.one_of("method", method, METHODS)
    if release.values.ndim < 2:
        raise ValueError(
            "values must be at least two-dimensional (rows, columns) if the mechanism is a swap, got shape "
            f"{release.shape}"
        )
    table = _whole(release)
    alpha = concentration("flat" if prior is None else prior, len(release))
    facts = {"prior": {"law": "Dirichlet", "concentration": alpha.tolist()}, "total": int(table.sum())} | release.facts
    rate = release.mechanism.rate
    if rate is None:
        if method in ("chain", "abc"):
            raise ValueError(f"method must be 'auto' or 'exact' if the rate is unknown, got {method!r}")
        result = _with_unknown_rate(table, alpha)
        facts["prior of the rate"] = {"law": "Beta", "a": 1.0, "b": 1.0}
        state = Accuracy("approximate", result.rate.error, "relative error of probabilities: interpolated likelihood")
        draw = lambda size, rng: result.rate.sample(size, rng=rng)  # noqa: E731
        rate_quantity = Continuous(result.rate, name="swap rate", type="parameter", accuracy=state, draw=draw)
        return of_mixture(
            result.cells, release.names, method="exact", facts=facts, more={"parameters": _single(rate_quantity)}
        )
    facts["rate"] = rate
    if method == "abc":
        return _by_rejection(release, table, alpha, facts, rng)
    if table.shape == (2, 2) and method != "chain":
        exact = swapped_table.exact(table, rate=rate, alpha=alpha)
        ratio = exact.log_odds()
        draw = lambda size, rng: ratio.sample(size, rng=rng)  # noqa: E731
        odds = Continuous(ratio, name="log odds ratio", type="parameter", accuracy=exact.accuracy, draw=draw)
        return of_mixture(exact, release.names, method="exact", facts=facts, more={"parameters": _single(odds)})
    law = _inverse(table, rate, alpha, method, rng)
    return of_mixture(law, release.names, method=", ".join(dict.fromkeys(law.how)), facts=facts)


def _whole(release: Release) -> NDArray[np.int64]:
    table = release.values.astype(np.int64)
    bad = (table != release.values) | (table < 0)
    if bad.any():
        raise ValueError(f"values of a swapped table must be integers >= 0, got {release.values[bad][0]:.15g}")
    return table


def _with_unknown_rate(table: NDArray[np.int64], alpha: NDArray[np.float64]) -> unknown_rate.UnknownRate:
    try:
        return unknown_rate.infer_rate(table, alpha=alpha)
    except unswapped.OutOfReach as error:
        reason = str(error).partition(": for the posterior")[0]
        raise ValueError(
            "rate must be known, got an unknown rate: the exact distribution of the swaps is required but not "
            f"available, because {reason}. Compute the posterior for several rates with "
            "posterior(Release(.., mechanism=Swap(rate=..)), rng=..), and compare the results"
        ) from error


def _inverse(
    table: NDArray[np.int64], rate: float, alpha: NDArray[np.float64], method: str, rng: np.random.Generator | None
) -> unswapped.UnswappedPosterior:
    if rng is not None:
        return unswapped.infer(table, rate=rate, alpha=alpha, method=method, rng=rng)
    if method == "chain":
        raise ValueError("rng is required for method 'chain': pass a NumPy Generator as posterior(.., rng=)")
    try:
        return unswapped.infer(table, rate=rate, alpha=alpha, method="exact", rng=stream(0, "never drawn from"))
    except unswapped.OutOfReach as error:
        if method == "exact":
            raise
        raise ValueError(
            "rng is required, because the posterior of this table is sampled by Markov chains: pass a NumPy Generator "
            f"as posterior(.., rng=) ({error})"
        ) from error


def _by_rejection(
    release: Release,
    table: NDArray[np.int64],
    alpha: NDArray[np.float64],
    facts: dict[str, object],
    rng: np.random.Generator | None,
) -> Posterior:
    """Compute the posterior distribution of the original table by rejection sampling. The sampling ends when several
    thousand proposals are accepted or the largest number of proposals is reached.
    """
    if rng is None:
        raise ValueError("rng is required for method 'abc': pass a NumPy Generator as posterior(.., rng=)")
    if table.ndim != 2:
        raise ValueError(
            f"method 'abc' supports only a table without strata, got {len(table)} strata: use method 'auto'"
        )
    accepted = swapped_table.abc_run(
        table, rate=release.mechanism.rate, iterations=_PROPOSALS, rng=rng, alpha=alpha, method="margins_first"
    )
    if len(accepted.draws) < _FEWEST:
        raise ValueError(
            f"method 'abc' accepted only {len(accepted.draws)} of {_PROPOSALS} proposals: use method 'auto'"
        )
    draws = {"counts": accepted.originals[None].astype(np.float64), "rates": accepted.draws[None]}
    names = {"counts": release.names, "rates": release.names}
    return of_draws(draws, names, method="abc", facts=facts, accuracy=accepted.accuracy, source=accepted)


def _single(law: Continuous) -> Quantities:
    return Quantities((law.name,), lambda _: law, joint=lambda size, rng: law.sample(size, rng=rng)[:, None])
