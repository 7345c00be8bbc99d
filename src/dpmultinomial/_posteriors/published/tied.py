"""Posteriors of counts with a total: counts and shares of the file, and rates where the file is a sample of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._honesty import EXACT
from ..._kernels import dirichlet
from ..._mechanisms.noise_law import NoiseLaw
from ..._results.coupled import Coupled
from ..._results.laws import Continuous, Discrete
from ..._results.marginals import Marginal
from ..._results.posterior import Posterior
from ..._results.quantities import Joint, Quantities
from . import totals
from ._rates import RateLaw
from ._tied_counts import TiedCounts as TiedCounts
from .cells import cells_of, refuse
from .choice import choose
from .counts import named
from .priors import CountPrior, Splits

Array = NDArray[np.float64]
Group = tuple[int, ...] | None  # positions among which shares are taken; None: all


def posterior(
    released: ArrayLike | Mapping[str, float],
    *,
    total: Any,
    noise: NoiseLaw | Sequence[NoiseLaw] | Mapping[str, Any],
    names: Sequence[str] | None = None,
    prior: Any = None,
    lower: ArrayLike = 0,
    upper: ArrayLike = np.inf,
    groups: Sequence[object] | None = None,
    facts: Mapping[str, object] | None = None,
) -> Posterior:
    """The posterior of counts whose total is public or has a noisy value of its own.

    Parameters
    ----------
    released, noise, names, lower, upper, groups : as of `counts.posterior`; lower bounds are finite.
    total : a whole number, or ``{released: number, noise: law}``.
    prior : None for shares of any size (``{law: multinomial, alpha: 1}``): the file is a sample of rates with a
        Dirichlet(alpha) prior, alpha one number or one a count, and every total is as likely as any other. Else
        independent priors of the counts, which imply one of the total (`choice.choose`).
    facts : what is to be said besides, JSON-able.

    Returns
    -------
    Posterior
        ``.counts`` and ``.shares``, exact; ``.rates`` under the multinomial prior.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, or counts and total have next to nothing in common.
    """
    values, labels = named(released, names)
    cells = cells_of(values, noise, lower=lower, upper=upper)
    refuse(cells, labels)
    if not np.isfinite(cells.lower).all():
        raise ValueError("lower must be finite where counts have a total")
    alpha = _concentrations(prior, len(labels))
    priors: list[CountPrior]
    if alpha is not None:
        kinds = {float(a): Splits(float(a)) for a in np.unique(alpha)}
        priors = [kinds[float(a)] for a in alpha]
        said: dict[str, object] = {"law": "multinomial", "alpha": alpha.tolist(), "total": "flat"}
    else:
        choice = choose(cells, prior, groups)
        priors, said = [choice.priors[i] for i in choice.which], choice.facts()
    about = totals.total_of(total, None if alpha is None else float(alpha.sum()))
    found = TiedCounts(cells, priors, about, labels, alpha)
    parts = _Parts(found.together, labels, alpha)

    def told() -> dict[str, object]:
        return {"noise": cells.noise.words(), "prior": said, **found.facts(), **(facts or {})}

    return Posterior(parts.groups(), joint=parts.draw, method="convolutions", facts=told, source=found)


class _Parts:
    """Counts, shares and rates, drawn together."""

    def __init__(self, law: Coupled, names: tuple[str, ...], alpha: Array | None) -> None:
        self.law, self.names, self.alpha = law, names, alpha
        self.place = {name: i for i, name in enumerate(names)}

    def groups(self) -> dict[str, Quantities]:
        found = {"counts": self._group("counts", self._count, self.law), "shares": self.shares()}
        return found | ({"rates": self.rates()} if self.alpha is not None else {})

    def shares(self, group: Group = None) -> Quantities:
        """Shares of the file, among all or some; 0/0 is excluded from the law of a share."""
        whole = self.law.root.first if len(self.law.root.weights) == 1 else 0  # a public total
        together = self.law.scaled(1 / whole) if whole > 0 and group is None else None
        return self._group("shares", lambda i: self._share(i, group), together, group, self.shares)

    def rates(self, group: Group = None) -> Quantities:
        """Rates underlying the file, among all or some."""
        return self._group("rates", lambda i: self._rate(i, group), None, group, self.rates)

    def _group(
        self,
        name: str,
        law: Callable[[int], Marginal],
        together: Coupled | None,
        group: Group = None,
        made: Callable[[Group], Quantities] | None = None,
    ) -> Quantities:
        if group is None:
            some = None if made is None else lambda names: made(tuple(self.place[name] for name in names))
            draw: Joint = lambda size, rng: self.draw(size, rng)[name]  # noqa: E731
            return Quantities(self.names, law, joint=draw, among=some, together=together)

        def part(size: int, rng: np.random.Generator) -> NDArray[Any]:
            found = self.draw(size, rng)[name][:, list(group)]
            below = found.sum(axis=1, keepdims=True)
            return np.asarray(np.divide(found, below, out=np.full(found.shape, np.nan), where=below > 0))

        return Quantities(tuple(self.names[i] for i in group), lambda i: law(group[i]), joint=part)

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Counts, shares and rates, row by row together."""
        counts = self.law.draw(range(len(self.names)), size, rng=rng)
        whole = counts.sum(axis=1, keepdims=True)
        found: dict[str, NDArray[Any]] = {"counts": counts, "shares": counts / np.maximum(whole, 1)}
        if self.alpha is not None:
            found["rates"] = dirichlet.draw(self.alpha, counts, rng=rng)
        return found

    def _count(self, i: int) -> Discrete:
        law = self.law.sum_of([i])
        return Discrete(law.values(), law.weights, name=self.names[i], type="count", honesty=EXACT)

    def _share(self, i: int, group: Group = None) -> Discrete:
        s, t, weights = self._parts(i, group)
        if group is not None:
            s, t, weights = (part[s + t > 0] for part in (s, t, weights))
        values, place = np.unique(s / np.maximum(s + t, 1), return_inverse=True)
        chances = np.bincount(place, weights)
        return Discrete(values, chances, name=self._label(i, group), type="share", honesty=EXACT)

    def _rate(self, i: int, group: Group = None) -> Continuous:
        assert self.alpha is not None
        alpha, law = float(self.alpha[i]), self._parts(i, group)
        whole = float(self.alpha.sum() if group is None else self.alpha[list(group)].sum())
        rate = RateLaw(alpha, whole - alpha, *law)
        return Continuous(rate, name=self._label(i, group), type="rate", honesty=EXACT, draw=rate.sample)

    def _label(self, i: int, group: Group) -> str:
        return self.names[i] if group is None else f"{self.names[i]} among {', '.join(self.names[j] for j in group)}"

    def _parts(self, i: int, group: Group = None) -> tuple[Array, Array, Array]:
        """One count s, the sum t of all others (of a group), and the weight of each pair that is possible, s by s."""
        if group is not None:
            pair = self.law.pair_of([i], [j for j in group if j != i])
            matrix = pair.matrix()
            first, second = np.nonzero(matrix)
            one, two = (side.values().astype(np.float64) for side in (pair.first, pair.second))
            return one[first], two[second], matrix[first, second]
        (own, rest), root = self.law.beside(i), self.law.root
        s = own.values()
        low, high = np.maximum(rest.first, root.first - s), np.minimum(rest.last, root.last - s)
        size = np.maximum(high - low + 1, 0)
        s, low, before = np.repeat(s, size), np.repeat(low, size), np.repeat(np.cumsum(size) - size, size)
        t = low + np.arange(len(s)) - before
        weights = own.weights[s - own.first] * rest.weights[t - rest.first] * root.weights[s + t - root.first]
        return s[weights > 0].astype(float), t[weights > 0].astype(float), weights[weights > 0]


def _concentrations(prior: Any, size: int) -> Array | None:
    """Dirichlet concentrations of the multinomial prior; None where counts have priors of their own."""
    if prior is None:
        return np.ones(size)
    if isinstance(prior, Mapping) and prior.get("law") == "multinomial":
        if set(prior) - {"law", "alpha"}:
            raise ValueError(f"prior: multinomial takes alpha, got {', '.join(sorted(set(prior) - {'law'}))}")
        return _checks.positives("alpha", prior.get("alpha", 1.0), size)
    return None
