"""Joint posterior distributions of counts, shares and rates, which are derived from mixtures of Dirichlet
distributions.

The module also builds posteriors from draws: draws of Markov chains, with a convergence check, or independent draws.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _accuracy
from .._accuracy import Accuracy, of_chains
from .._kernels import dirichlet
from .._posteriors.counts.dirichlet_mixture import DirichletMixture, ExplicitLaw
from .._posteriors.counts.windowed_sum import WindowedSumLaw
from .._posteriors.published.counts_with_total import EMPTY
from .._results.convolutions import Window
from .._results.distributions import Continuous, Discrete, Draws, Marginal
from .._results.joint import Coupled, Enumerated, Together
from .._results.posterior import GROUPS, Posterior
from .._results.quantities import Joint, Quantities

WIDEST = 20_000  # largest number of values of a window for which sums of counts are computed by convolutions
Group = tuple[int, ...] | None  # positions of the categories among which shares are computed; None: all


def of_mixture(
    law: DirichletMixture,
    names: Sequence[str],
    *,
    method: str,
    facts: dict[str, object] | Callable[[], dict[str, object]],
    more: dict[str, Quantities] | None = None,
) -> Posterior:
    """Build a `Posterior` of counts, shares and rates from a mixture of Dirichlet distributions.

    Parameters
    ----------
    law : mixture with as many categories as `names`.
    names : names of the categories.
    method : name of the algorithm, see `Posterior`.
    facts : assumptions and results of checks, or a function that returns them, see `Posterior`.
    more : further groups, each drawn separately.

    Returns
    -------
    Posterior
    """
    parts, further = _Parts(law, tuple(names)), more or {}

    def draw(size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return parts.draw(size, rng) | {name: group.sample(size, rng=rng) for name, group in further.items()}

    groups = {"counts": parts.counts(), "shares": parts.shares(parts.names), "rates": parts.rates(parts.names)}
    if not parts.total:
        del groups["shares"]
        stated = facts
        facts = lambda: {**(stated() if callable(stated) else stated), "omitted": EMPTY}  # noqa: E731
    return Posterior(groups | further, joint=draw, method=method, facts=facts, source=law)


class _Parts:
    """Counts, shares and rates whose joint posterior distribution follows from one mixture of Dirichlet
    distributions.
    """

    def __init__(self, law: DirichletMixture, names: tuple[str, ...]) -> None:
        self.law, self.names, self.total = law, names, law.counts.total
        self.place = {name: i for i, name in enumerate(names)}

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw counts, shares and rates from their joint posterior distribution. Row i of every array belongs to the
        same draw. A file without records has no shares.
        """
        counts = self.law.counts.draw(size, rng=rng)
        if not self.total:
            return {"counts": counts, "rates": rng.dirichlet(self.law.alpha, size)}
        rates = dirichlet.draw(self.law.alpha, counts, rng=rng)
        return {"counts": counts, "shares": counts / self.total, "rates": rates}

    def counts(self) -> Quantities:
        """Return the posterior distributions of the counts of the confidential file."""

        def one(i: int) -> Discrete:
            listed, chances = self._chances(i)
            return Discrete(listed, chances, name=self.names[i], type="count", accuracy=self.law.accuracy)

        joint = lambda size, rng: self.draw(size, rng)["counts"]  # noqa: E731
        return Quantities(self.names, one, joint=joint, together=lambda: self._together(1.0))

    @lru_cache(maxsize=64)  # noqa: B019  an object for each posterior
    def _chances(self, category: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the possible values of one count and their posterior probabilities."""
        counts = self.law.counts
        if isinstance(counts, WindowedSumLaw):
            window = counts.located(category)
            return window.values(), window.weights
        chances = counts.marginal(category)
        return np.arange(len(chances)), chances

    def shares(self, members: tuple[str, ...], group: Group = None) -> Quantities:
        """Return the posterior distributions of the shares of categories in the confidential file. The denominator is
        the sum over all categories or over a subset of the categories. The distribution of a share is conditional on a
        denominator other than 0.
        """

        def one(i: int) -> Discrete:
            category = self.place[members[i]]
            if group is None:
                listed, chances = self._chances(category)
                values = listed / self.total
            else:
                values, chances = self.law.share_of_counts(category=category, given=group)
                chances, values = chances[~np.isnan(values)], values[~np.isnan(values)]
            return Discrete(values, chances, name=_label(members, i, group), type="share", accuracy=self.law.accuracy)

        return Quantities(
            members,
            one,
            joint=self._joint("counts", group, self.total),
            among=self._among(self.shares, group),
            together=lambda: self._together(1 / self.total) if group is None else None,
        )

    def rates(self, members: tuple[str, ...], group: Group = None) -> Quantities:
        """Return the posterior distributions of the rates in the population from which the confidential file was
        sampled. The rates are relative to all categories or to a subset of the categories.
        """
        joint = self._joint("rates", group, 1)

        def one(i: int) -> Continuous:
            beta = self.law.beta(self.place[members[i]], group)
            state = self.law.accuracy if beta.accuracy.status == "exact" else beta.accuracy
            draw = lambda size, rng: joint(size, rng)[:, i]  # noqa: E731
            return Continuous(beta, name=_label(members, i, group), type="rate", accuracy=state, draw=draw)

        return Quantities(members, one, joint=joint, among=self._among(self.rates, group))

    def _together(self, unit: float) -> Together | None:
        """Return the joint posterior distribution of counts with a fixed sum. Return None if the counts have too many
        possible values.
        """
        counts = self.law.counts
        if isinstance(counts, ExplicitLaw):
            return Enumerated(counts.rows, counts.weights, unit=unit)
        if isinstance(counts, WindowedSumLaw):
            widest = max(len(part.weights) for part in counts.windows)
            return counts.together.scaled(unit) if widest <= WIDEST else None
        if not hasattr(counts, "factors"):
            return None
        factors = [Window(0, row).trimmed() for row in counts.factors]  # the counts are independent given their sum
        if max(len(factor.weights) for factor in factors) > WIDEST:
            return None
        return Coupled(factors, Window(self.total, np.ones(1)), unit=unit)

    def _among(
        self, made: Callable[[tuple[str, ...], Group], Quantities], group: Group
    ) -> Callable[[tuple[str, ...]], Quantities] | None:
        if group is not None:
            return None
        return lambda members: made(members, tuple(self.place[name] for name in members))

    def _joint(self, what: str, group: Group, whole: int) -> Joint:
        """Return a function that draws shares of a group of categories. The shares are counts or rates divided by their
        sum over the group or by a fixed number. A ratio 0/0 is returned as NaN.
        """

        def joint(size: int, rng: np.random.Generator) -> NDArray[np.float64]:
            values = np.asarray(self.draw(size, rng)[what], dtype=np.float64)
            if group is None:
                return values / max(whole, 1)
            part = values[:, list(group)]
            below = part.sum(axis=1, keepdims=True)
            shares: NDArray[np.float64] = np.divide(part, below, out=np.full(part.shape, np.nan), where=below > 0)
            return shares

        return joint


def _label(members: tuple[str, ...], i: int, group: Group) -> str:
    return members[i] if group is None else f"{members[i]} among {', '.join(members)}"


Array = NDArray[np.float64]


def of_draws(
    draws: Mapping[str, Array],
    names: Mapping[str, Sequence[str]],
    *,
    method: str,
    facts: dict[str, object],
    accuracy: Accuracy | None = None,
    source: object = None,
    tails: Mapping[str, tuple[float, float]] | None = None,
    sums: Collection[str] = (),
) -> Posterior:
    """Build a `Posterior` in which every distribution is the empirical distribution of draws.

    Parameters
    ----------
    draws : mapping from a group to float64 (chains, draws, names); the same row of all groups is one joint draw.
    names : mapping from a group to the names of its quantities.
    method, facts, source : attributes of the result, see `Posterior`.
    accuracy : accuracy of all quantities; None: determined from R-hat and the effective sample sizes of the chains.
    tails : tail indices of quantities without a finite variance, by name (see `Draws`).
    sums : names of the quantities that are sums of others.

    Returns
    -------
    Posterior
    """
    pooled = {group: np.asarray(x).reshape(-1, x.shape[2]) for group, x in draws.items()}
    state = accuracy or _judged(np.concatenate(list(draws.values()), axis=2))

    def joint(size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        rows = rng.integers(len(next(iter(pooled.values()))), size=size)
        return {group: x[rows] for group, x in pooled.items()}

    def group_of(group: str) -> Quantities:
        listed = tuple(names[group])

        def one(i: int) -> Marginal:
            about: dict[str, Any] = {"name": listed[i], "type": GROUPS[group], "accuracy": state}
            if group == "counts":
                values, times = np.unique(pooled[group][:, i], return_counts=True)
                return Discrete(values, times, **about)
            return Draws(pooled[group][:, i], **about, tails=(tails or {}).get(listed[i], (np.inf, np.inf)))

        return Quantities(listed, one, joint=lambda size, rng: joint(size, rng)[group], sums=sums)

    return Posterior(
        {group: group_of(group) for group in draws}, joint=joint, method=method, facts=facts, source=source
    )


def _judged(chains: Array) -> Accuracy:
    columns = [chains[:, :, i] for i in range(chains.shape[2])]
    return of_chains([_accuracy.bulk_ess(x) for x in columns], [_accuracy.rhat(x) for x in columns])
