"""Posterior distributions given releases by any mechanism.

`posterior` takes one release. `posteriors` takes many releases: each posterior is computed when it is requested, and
all are summarised in one table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import LEVEL
from .._mechanisms.additive_counts import AdditiveCounts
from .._mechanisms.dirichlet import Dirichlet
from .._mechanisms.sufficient_statistics import CensoredStatistics
from .._mechanisms.swapping.swapping import Swap
from .._posteriors.additive import additive_counts
from .._posteriors.censored import censored_statistics
from .._posteriors.censored.normal_model import Prior
from .._results.distributions import Discrete
from .._results.posterior import COLUMNS as SUMMARY
from .._results.posterior import Posterior
from .._results.quantities import Quantities
from .._seeding import stream
from . import counts, rates, tables, trees
from ._joint_posteriors import of_draws
from .regression import Regression
from .release import Release

TOTAL = "total"
_LISTED = 20  # number of names that a message lists
_RNG = "pass a NumPy Generator as posterior(.., rng=)"


def _additive_posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """Compute the posterior distribution of the true counts, given a `Release` that was produced by the mechanism
    `AdditiveCounts`.

    Parameters
    ----------
    release : release whose values are integers >= 0, the released components.
    prior : ``"flat"`` (the default), ``"flat total"``, or the concentration of a Dirichlet-multinomial distribution
        under a flat total.
    method : ``"auto"``, ``"chain"`` or ``"transforms"``; the last two are exact algorithms.
    rng : not used.

    Returns
    -------
    Posterior
        Counts: the components by name, and ``total``.

    Raises
    ------
    ValueError, TypeError
        If the values are not integers >= 0, or the release has probability 0 under the mechanism.
    """
    mechanism = release.mechanism
    values = release.values
    if values.ndim > 1 or (values != np.floor(values)).any() or (values < 0).any():
        raise ValueError(
            f"values of an additive release must be a one-dimensional list of integers >= 0, got {values.tolist()}"
        )
    if TOTAL in release.names:
        raise ValueError(
            f"names must not contain {TOTAL!r}, which is reserved for the sum of all components: choose another name"
        )
    chosen = "flat" if prior is None else prior
    exact_posterior = additive_counts.posterior(
        values.astype(np.int64), epsilon=mechanism.epsilon, algorithm=mechanism.algorithm,
        support=mechanism.support, ties=mechanism.ties,
        prior=chosen, method=_checks.one_of("method", method, additive_counts.METHODS),
    )  # fmt: skip
    state = exact_posterior.accuracy
    names = (*release.names, TOTAL)

    def one(i: int) -> Discrete:
        listed, chances = exact_posterior.total() if names[i] == TOTAL else exact_posterior.marginal(i)
        return Discrete(listed, chances, name=names[i], type="count", accuracy=state)

    def joint(size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        drawn = exact_posterior.sample(size, rng=rng)
        return {"counts": np.column_stack([drawn, drawn.sum(axis=1)])}

    above = [-1 if name == TOTAL else len(names) - 1 for name in names]
    quantities = Quantities(names, one, joint=lambda size, rng: joint(size, rng)["counts"], sums=[TOTAL], parents=above)
    facts = {"prior": {"law": exact_posterior.prior}} | release.facts
    used = exact_posterior.method
    return Posterior({"counts": quantities}, joint=joint, method=used, facts=facts, source=exact_posterior)


PARAMETERS = ("mu", "sigma2")
COUNTS = ("below", "above")


def _censored_posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """Compute the posterior distribution of the mean and the variance, given a `Release` that was produced by the
    mechanism `CensoredStatistics`.

    Parameters
    ----------
    release : release of four numbers, named mean, sse, low and high, or without names in this order; its total is the
        number of records.
    prior : a `Prior` of the mean and the variance; None derives a prior from the public limits, and the result states
        this prior.
    method : ``"auto"`` or ``"chain"``.
    rng : numpy Generator.

    Returns
    -------
    Posterior
        Parameters mu and sigma2; counts of records below and above the limits.

    Raises
    ------
    ValueError, TypeError
        If the scale, the number of records or `rng` is missing, or the values are not these four numbers.
    """
    _checks.one_of("method", method, ("auto", "chain"))
    mechanism, n = release.mechanism, release.total
    if mechanism.scale is None:
        raise ValueError("the scale of the noise is missing: pass CensoredStatistics(.., scale=)")
    if not isinstance(n, int):
        raise ValueError("the public number of records is missing: pass Release(.., total=)")
    if rng is None:
        raise ValueError(
            "rng is required, because this posterior is sampled by a Markov chain: pass a NumPy Generator as "
            "posterior(.., rng=)"
        )
    if release.names == ("1", "2", "3", "4"):
        values: Any = release.values
    else:
        values = dict(zip(release.names, release.values.ravel().tolist(), strict=True))
    if prior is not None and not isinstance(prior, Prior):
        raise TypeError(
            f"prior must be an object of the class Prior, or None, for the mechanism CensoredStatistics, got {prior!r}"
        )
    chain_posterior = censored_statistics.sample(
        values, n=n, lower=mechanism.lower, upper=mechanism.upper, scale=mechanism.scale, grid=mechanism.grid,
        sums=mechanism.sums,
        prior=prior, rng=rng,
    )  # fmt: skip
    draws = {"parameters": chain_posterior.draws, "counts": chain_posterior.statistics[:, :, 2:]}
    facts = {"prior": repr(chain_posterior.prior), "total": n} | release.facts
    if chain_posterior.conflict.found:
        facts["warnings"] = [str(chain_posterior.conflict)]
    names = {"parameters": PARAMETERS, "counts": COUNTS}
    return of_draws(
        draws, names, method="chain", facts=facts, accuracy=chain_posterior.accuracy, source=chain_posterior,
        tails={"sigma2": (np.inf, chain_posterior.prior.shape0)},
    )  # fmt: skip


Adapter = Callable[..., Posterior]
_ADAPTERS: dict[type, Adapter] = {
    AdditiveCounts: _additive_posterior,
    CensoredStatistics: _censored_posterior,
    Swap: tables.posterior,
}


def posterior(
    release: Release, *, prior: Any = None, method: str = "auto", rng: np.random.Generator | None = None
) -> Posterior:
    """Compute, from a release, the posterior distributions of the counts and shares in the confidential file, and of
    the category probabilities in the population from which the file was sampled.

    Parameters
    ----------
    release : the release to analyse.
    prior : prior distribution; None uses the default of the mechanism, which the result states. Rates of counts with a
        total, and of tables: a Dirichlet concentration, ``"jeffreys"`` (1/2, the default of counts) or ``"flat"`` (1,
        the default of tables). Counts without a total: ``"flat"``, ``"1/(1+n)"``, ``"fitted"`` or a mapping. Rates of
        many areas: a `Regression`. Counts with parents: a concentration of splits, one per level, or one of the above
        priors for the leaves. Additive counts: ``"flat"``, ``"flat total"`` or a concentration. A censored sample: a
        prior of mean and variance.
    method : algorithm, if several are available; ``"auto"`` chooses one, and the result states which. For releases with
        queries: ``"chain"``, or ``"least squares"``, which is fast and approximate.
    rng : numpy Generator for sampling algorithms; exact methods do not need a generator.

    Returns
    -------
    Posterior
        Result with the groups ``.counts``, ``.shares``, ``.rates`` and ``.parameters`` (if they exist), and with
        ``.summary()`` and ``.accuracy``.

    Raises
    ------
    ValueError, TypeError
        If an argument is missing or invalid, or the release has probability 0 under its mechanism.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> noisy = {"met": 12.3, "not_met": -4.1, "failed": 44.2}
    >>> found = dpm.posterior(dpm.Release(noisy, mechanism=dpm.Laplace(scale=2.0), total=50))
    >>> share = found.shares.among("met", "not_met")["met"]
    >>> print(f"{share.mean():.3f}, {share.interval()[0]:.2f} to {share.interval()[1]:.2f}")
    0.953, 0.67 to 1.00
    """
    if not isinstance(release, Release):
        raise TypeError(f"release must be a Release, got {type(release).__name__}")
    again = partial(posterior, release, prior=prior, method=method, rng=deepcopy(rng))
    result = _found(release, prior, method, rng)
    result.again = again
    return result


def _found(release: Release, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    kind = release.mechanism
    _refuse_unused(release)
    if isinstance(prior, Regression):
        return rates.posterior(release, prior=prior, method=method, rng=rng)
    if release.queries is not None:
        return trees.crossed_posterior(release, prior=prior, method=method, rng=rng)
    if release.parents is not None:
        return trees.posterior(release, prior=prior, method=method, rng=rng)
    if isinstance(kind, Sequence):
        adapter: Adapter = counts.posterior
    else:
        adapter = next((adapt for law, adapt in _ADAPTERS.items() if isinstance(kind, law)), counts.posterior)
    if adapter is counts.posterior and not all(
        hasattr(law, "log_weights") for law in (kind if isinstance(kind, Sequence) else [kind])
    ):
        raise TypeError(f"mechanism must be an object such as dpmultinomial.Laplace(scale=2.0), got {kind!r}")
    return adapter(release, prior=prior, method=method, rng=rng)


def _refuse_unused(release: Release) -> None:
    """Raise ValueError if a release states a public fact that the posterior of its mechanism cannot use."""
    kind, law = type(release.mechanism).__name__, release.mechanism
    if release.bounds is not None and isinstance(law, AdditiveCounts | CensoredStatistics | Dirichlet | Swap):
        raise ValueError(f"bounds cannot be used with the mechanism {kind}: omit bounds")
    if release.total is not None and isinstance(law, AdditiveCounts):
        raise ValueError(
            f"total cannot be used with the mechanism {kind}, whose total is released with noise: omit total"
        )
    if isinstance(release.total, Mapping) and isinstance(law, Dirichlet | Swap):
        raise ValueError(f"total must be an integer for the mechanism {kind}, got {dict(release.total)}")
    if isinstance(law, Swap) and release.total is not None and release.total != release.values.sum():
        raise ValueError(
            f"total must be the sum of the values, because a swap does not change the number of records, got "
            f"{release.total} and the sum {release.values.sum():.15g}"
        )


class Posteriors(Sequence[Posterior]):
    """Posterior distributions for many releases, each computed when it is requested.

    Parameters
    ----------
    releases : `Release` objects.
    names : names of the releases; by default ``"1"``, ``"2"``, ..
    prior, method : arguments of `posterior`, the same for all releases.
    seed : root of the random streams, one per release, for algorithms that draw.
    """

    def __init__(
        self, releases: Sequence[Release], names: Sequence[str] | None, prior: Any, method: str, seed: int | None
    ) -> None:
        self.releases = tuple(releases)
        self.names = tuple(names) if names is not None else tuple(str(i + 1) for i in range(len(self.releases)))
        if len(self.names) != len(self.releases) or len(set(self.names)) != len(self.names):
            raise ValueError(
                f"names must contain {len(self.releases)} distinct names, got {len(self.names)} names, of which "
                f"{len(set(self.names))} are distinct"
            )
        self._prior, self._method, self._seed = prior, method, seed

    def __len__(self) -> int:
        return len(self.releases)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            chosen = self.releases[which], self.names[which]
            return Posteriors(*chosen, self._prior, self._method, self._seed)
        if isinstance(which, str) and which not in self.names:
            more = f", .. ({len(self)} in all)" if len(self) > _LISTED else ""
            raise KeyError(f"unknown name {which!r}: choose from {', '.join(self.names[:_LISTED])}{more}")
        place = self.names.index(which) if isinstance(which, str) else range(len(self))[which]
        rng = None if self._seed is None else stream(self._seed, "posteriors", self.names[place])
        try:
            return posterior(self.releases[place], prior=self._prior, method=self._method, rng=rng)
        except ValueError as error:
            if _RNG not in str(error):
                raise
            raise ValueError(str(error).replace(_RNG, "pass a seed as posteriors(.., seed=)")) from error

    def __iter__(self) -> Iterator[Posterior]:
        return (self[i] for i in range(len(self)))

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the posterior summaries as a table with one row per release and quantity, in the order of the
        releases.

        Parameters
        ----------
        level : level of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame
            The columns are release, the columns of `Posterior.summary`, and reason, which states why a release has no
            posterior. Such a release has a single row. All other posteriors are computed.
        """
        parts = []
        for name, position in zip(self.names, range(len(self)), strict=True):
            try:
                part = self[position].summary(level).assign(reason="")
            except (KeyError, TypeError, ValueError) as error:
                part = pd.DataFrame({"quantity": [""], "status": ["refused"], "reason": [str(error.args[0])]})
            part.insert(0, "release", name)
            parts.append(part)
        empty = pd.DataFrame(columns=["release", *SUMMARY, "reason"])
        return pd.concat(parts, ignore_index=True) if parts else empty

    def __repr__(self) -> str:
        names = f"{', '.join(self.names[:5])}{' ..' if len(self) > 5 else ''}"
        return f"Posteriors({len(self):,} release{'s' * (len(self) != 1)}: {names})"


def posteriors(
    releases: Sequence[Release],
    *,
    names: Sequence[str] | None = None,
    prior: Any = None,
    method: str = "auto",
    seed: int | None = None,
) -> Posteriors:
    """Compute the posterior distributions given many releases, separately for each release.

    Parameters
    ----------
    releases : `Release` objects.
    names : names of the releases; by default ``"1"``, ``"2"``, ..
    prior, method : arguments of `posterior`, the same for all releases.
    seed : root of the random streams, one per release, for algorithms that draw; the result for one release does not
        depend on the other releases.

    Returns
    -------
    Posteriors
        A sequence. Its ``.summary()`` is a table in which an invalid release has one row with the reason; all other
        posteriors are computed.

    Raises
    ------
    ValueError
        If names are repeated, or their number differs from the number of releases.
    """
    return Posteriors(releases, names, prior, method, seed)
