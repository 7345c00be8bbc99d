"""Posterior distributions of the counts and shares in a confidential file, and of the rates in the sampled population,
given noisy counts and a public or noisy total.

The total is public, or measured with independent noise. The posterior is exact. It is computed by convolutions of the
weights of the counts on windows, with a bound on the neglected mass (`tied_windows`).

Two effects of the assumptions are reported: a comparison with flat priors, and whether the counts and the total are
compatible.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit, logit, ndtri, xlog1py, xlogy

from ... import _checks
from ..._accuracy import EXACT, LEVEL
from ..._kernels import dirichlet
from ..._mechanisms.noise_law import NoiseLaw
from ..._printing import steps
from ..._results.convolutions import Window
from ..._results.distributions import Continuous, Discrete, Marginal
from ..._results.joint import Coupled
from ..._results.posterior import Posterior
from ..._results.quantities import Columns, Joint, Quantities
from ..counts.share_law import PairWeights, ShareLaw, window
from . import _window_sums, conflict, counts, tied_windows
from .cells import Cells, Total, cells_of, refuse, total_of
from .counts import named
from .priors import Flat, Splits, choose
from .tied_windows import solve, tail_of_total
from .windows import CountPrior

Array = NDArray[np.float64]
# default Dirichlet concentration of every rate; it has the best coverage, see docs/methods/rate_coverage.tsv
JEFFREYS = 0.5
_SUMMARISED = 4096  # number of distributions that are summarised together
_VALUES = 10_000_000  # number of values of these distributions
# largest number of pairs of counts of a rate that are listed; with more pairs, the density of the rate is interpolated
LISTED = 2_000_000
_NEGLIGIBLE_PAIR = 1e-17  # pairs with a weight below this fraction of the largest weight are dropped
_SURE = 1e-300  # concentration that replaces 0: the rate is 1 with certainty
_FURTHEST = 740.0  # largest absolute log odds, for a rate of 1e-321
SHARES = 20_000_000  # largest number of pairs of counts of a share of the file
TOTAL = "the total"  # name of the total among the names of tested values


class _Numbers(NamedTuple):
    mean: Array
    sd: Array
    lower: Array
    upper: Array


class TiedCounts:
    """Posterior distribution of counts that are dependent because of their total, stored together with the data and the
    priors.

    Parameters
    ----------
    cells : noisy counts, all valid.
    priors : one prior per count.
    total : public information about the sum.
    names : names of the counts.
    alpha : concentrations of the rates, float64 (n,); None if counts have separate priors.

    Raises
    ------
    ValueError
        If counts and total are incompatible.
    """

    def __init__(
        self,
        cells: Cells,
        priors: Sequence[CountPrior],
        total: Total,
        names: tuple[str, ...],
        alpha: Array | None = None,
    ) -> None:
        self.cells, self.priors, self.total, self.names, self.alpha = cells, priors, total, names, alpha
        self.solved = solve(cells, priors, total)
        self.together = self.solved.together
        self._known: dict[float, _Numbers] = {}  # summaries by level

    def comparison(self, level: float = LEVEL) -> pd.DataFrame:
        """Compare the posterior of each count under the chosen prior with its posterior under flat priors.

        Parameters
        ----------
        level : level of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
            Columns as in `counts.flat_comparison`.

        Raises
        ------
        ValueError
            If windows under flat priors would be too wide.
        """
        plain = Total(self.total.released, self.total.noise, None)
        flat = solve(self.cells, (Flat(),) * len(self.names), plain).together
        both = self.numbers(level), _numbers(flat, level)
        return counts.flat_comparison(self.names, self.cells.released, *both, self.tails[:-1])

    def numbers(self, level: float) -> "_Numbers":
        """Return the posterior means, standard deviations and intervals of every count."""
        if level not in self._known:
            self._known[level] = _numbers(self.together, level)
        return self._known[level]

    def facts(self) -> dict[str, object]:
        """Return the results of the checks in a form that can be written as JSON. The results state whether counts and
        total are in conflict, and for which counts flat priors give different results.
        """
        try:
            decided = counts.facts(self.comparison())
        except ValueError as error:
            decided = {"prior_matters": 0, "of": 0, "first": [], "not_compared": len(self.names), "reason": str(error)}
        return {
            "total": {"released": self.total.released, "noise": self.total.noise.settings()},
            "counts": len(self.names),
            "measured": int(self.cells.measured.sum()),
            "neglected": self.solved.error,
            "conflict": conflict.facts(self.tails, (*self.names, TOTAL)),
            "flat_comparison": decided,
        }

    @cached_property
    def tails(self) -> Array:
        """Return the prior predictive tail probability of each released count, computed by `conflict.tails`. Also
        return the tail probability of the released total given only the counts.
        """
        out = np.full(len(self.names) + 1, np.nan)
        for prior in {id(prior): prior for prior in self.priors}.values():
            rows = np.flatnonzero([other is prior for other in self.priors])
            out[rows] = conflict.tails(self.cells.take(rows), prior)
        if conflict.has_tails(self.total.noise):
            out[-1] = tail_of_total(self.cells, self.priors, self.total, self.solved)
        return out


def _numbers(law: Coupled, level: float) -> _Numbers:
    """Return the posterior means, standard deviations and intervals of every count."""
    rows = []
    for _, laws in _in_blocks(law, "counts"):
        logs, widths = _rows([part.log_weights() for part in laws], -np.inf)
        _, mean, sd, lower, upper = _window_sums.summaries(logs, widths, level=level).T
        first = np.array([part.first for part in laws])
        rows.append(np.stack([first + mean, sd, first + lower, first + upper]))
    return _Numbers(*np.concatenate(rows, axis=1)[:, law.which])


def _in_blocks(law: Coupled, label: str) -> Iterator[tuple[range, list[Window]]]:
    """Yield the marginal distributions of all kinds of counts in blocks, each block as a pair (range of kinds,
    distributions). Show progress on a terminal.
    """
    kinds = int(law.which.max()) + 1
    widest = max(len(law.own(int(place)).weights) for place in np.unique(law.which, return_index=True)[1])
    size = max(min(_SUMMARISED, _VALUES // widest), 1)
    blocks = [range(start, min(start + size, kinds)) for start in range(0, kinds, size)]
    for block in steps(blocks, kinds, label, len):
        yield block, law.singles(block)


def _rows(parts: Sequence[Array], fill: float) -> tuple[Array, NDArray[np.int64]]:
    """Return arrays of different lengths as rows of one array, padded with `fill`, and the lengths of these arrays."""
    widths = np.array([len(part) for part in parts])
    rows = np.full((len(parts), int(widths.max())), fill)
    for row, part in zip(rows, parts, strict=True):
        row[: len(part)] = part
    return rows, widths


Group = tuple[int, ...] | None  # positions among which shares are computed; None: all
EMPTY = "shares of the file, because the file has no records"


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
    """Compute the posterior distribution of counts whose total is public or was released with noise.

    Parameters
    ----------
    released, noise, names, lower, upper, groups : arguments of `counts.posterior`; lower bounds must be finite.
    total : an integer, or ``{released: number, noise: law}``.
    prior : None uses `JEFFREYS` (``{law: multinomial, alpha: 0.5}``). The file is then a sample of rates with a
        Dirichlet(alpha) prior, with alpha one number or one number per count, and all totals are equally probable. Any
        other value gives independent priors of the counts, which imply a prior of the total (`choice.choose`).
    facts : further facts for the result, as values for JSON.

    Returns
    -------
    Posterior
        ``.counts`` and ``.shares``, exact; ``.rates`` under the multinomial prior.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or counts and total are incompatible.
    """
    values, labels = named(released, names)
    cells = cells_of(values, noise, lower=lower, upper=upper)
    refuse(cells, labels)
    if not np.isfinite(cells.lower).all():
        raise ValueError(
            f"lower must be finite if counts have a total, got {cells.lower[~np.isfinite(cells.lower)][0]} for "
            f"{labels[int((~np.isfinite(cells.lower)).argmax())]}"
        )
    alpha = _concentrations(prior, len(labels))
    priors: list[CountPrior]
    if alpha is not None:
        kinds = {float(a): Splits(float(a)) for a in np.unique(alpha)}
        priors = [kinds[float(a)] for a in alpha]
        prior_facts: dict[str, object] = {"law": "multinomial", "alpha": alpha.tolist(), "total": "flat"}
    else:
        choice = choose(cells, prior, groups)
        priors, prior_facts = [choice.priors[i] for i in choice.which], choice.facts()
    about = total_of(total, None if alpha is None else float(alpha.sum()))
    tied = TiedCounts(cells, priors, about, labels, alpha)
    parts = _Parts(tied)

    def told() -> dict[str, object]:
        omitted = {"omitted": parts.omitted} if parts.omitted else {}
        return {"noise": cells.noise.settings(), "prior": prior_facts, **tied.facts(), **omitted, **(facts or {})}

    return Posterior(parts.groups(), joint=parts.draw, method="convolutions", facts=told, source=tied)


class _Parts:
    """Joint posterior distribution of the counts and shares in one confidential file, and of the rates."""

    def __init__(self, tied: TiedCounts) -> None:
        self.tied, self.law, self.names, self.alpha = tied, tied.together, tied.names, tied.alpha
        self.place = {name: i for i, name in enumerate(self.names)}
        self._known: dict[float, _Numbers] = {}  # summaries of the rates by level

    def groups(self) -> dict[str, Quantities]:
        """Return the posterior distributions of the counts, of the shares unless they are omitted, and of the rates if
        the model contains rates.
        """
        quantity_groups = {"counts": self._group("counts", self._count, self.law)}
        quantity_groups |= {} if self.omitted else {"shares": self.shares()}
        return quantity_groups | ({"rates": self.rates()} if self.alpha is not None else {})

    @cached_property
    def omitted(self) -> str:
        """Reason why the shares of the categories in the file are omitted, as a string. The string is empty if the
        shares are not omitted.
        """
        if len(self.law.root.weights) == 1:
            return "" if self.law.root.first else EMPTY
        if self.law.root.first == 0 and all(self.law.own(i).last == 0 for i in range(len(self.names))):
            return EMPTY  # the total has noise, but every count is 0
        most = max(len(self.law.own(i).weights) for i in range(len(self.names))) * len(self.law.root.weights)
        if most > SHARES:
            most = max(self._size(i, None) for i in range(len(self.names)))
        if most <= SHARES:
            return ""
        return (
            f"shares of the file: {most:.3g} pairs of a count and a total are "
            f"possible, more than the limit of {SHARES:,}: use counts and rates, or set tighter bounds"
        )

    def shares(self, group: Group = None) -> Quantities:
        """Return the posterior distributions of the shares of the categories in the file, relative to all categories or
        to a subset of the categories. A share of 0/0 is excluded from its distribution.
        """
        fixed_total = self.law.root.first if len(self.law.root.weights) == 1 else 0  # nonzero if the total is public
        together = self.law.scaled(1 / fixed_total) if fixed_total > 0 and group is None else None
        return self._group("shares", lambda i: self._share(i, group), together, group, self.shares)

    def rates(self, group: Group = None) -> Quantities:
        """Return the posterior distributions of the population rates, relative to all categories or to a subset of the
        categories.
        """
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
            among = None if made is None else lambda names: made(tuple(self.place[name] for name in names))
            draw: Joint = lambda size, rng: self.draw(size, rng)[name]  # noqa: E731
            draw = self._draw_shares if name == "shares" else draw
            return Quantities(
                self.names, law, joint=draw, among=among, together=together, numbers=self._numbers_of(name)
            )

        def part(size: int, rng: np.random.Generator) -> NDArray[Any]:
            values = self.draw(size, rng)[name][:, list(group)]
            below = values.sum(axis=1, keepdims=True)
            return np.asarray(np.divide(values, below, out=np.full(values.shape, np.nan), where=below > 0))

        return Quantities(tuple(self.names[i] for i in group), lambda i: law(group[i]), joint=part)

    def _numbers_of(self, group: str) -> Callable[[float], Columns] | None:
        """Return a function that summarises all quantities of a group in one pass, or None if this is not possible."""
        fixed_total = self.law.root.first if len(self.law.root.weights) == 1 else 0
        if len(self.names) < tied_windows.SHARED or (group != "counts" and fixed_total <= 0):
            return None

        def columns(level: float) -> Columns:
            if group == "rates":
                if level not in self._known:
                    self._known[level] = self._rate_summaries(level)
                mean, sd, lower, upper = self._known[level]
                return Columns(mean, sd, lower, upper, EXACT)
            unit = fixed_total if group == "shares" else 1
            mean, sd, lower, upper = self.tied.numbers(level)
            return Columns(mean / unit, sd / unit, lower / unit, upper / unit, EXACT)

        return columns

    def _rate_summaries(self, level: float) -> _Numbers:
        """Return the posterior summaries of all rates, with one computation for each group of equal counts."""
        assert self.alpha is not None
        which, total = self.law.which, self.law.root.first
        kinds = int(which.max()) + 1
        alpha, rows = np.empty(kinds), []
        alpha[which] = self.alpha
        others, score = np.empty(kinds), float(ndtri((1 + level) / 2))
        before, after = np.cumsum(self.alpha), np.cumsum(self.alpha[::-1])[::-1]
        others[which] = np.append(0.0, before[:-1]) + np.append(after[1:], 0.0)
        for block, found in _in_blocks(self.law, "rates"):
            laws = [law.within(0, total).trimmed(_NEGLIGIBLE_PAIR).normalised() for law in found]
            weights, widths = _rows([law.weights for law in laws], 0.0)
            a = alpha[block] + np.array([law.first for law in laws])
            b = others[block] + np.array([total - law.last for law in laws])
            rows.append(_window_sums.rate_summaries(weights, widths, a, b, level=level, score=score))
        return _Numbers(*np.concatenate(rows)[which].T)

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw counts, shares and rates from their joint posterior distribution. The same row of each array belongs to
        the same draw. If a drawn file is empty, its shares are 0. A file without records has no shares.
        """
        counts = self.law.draw(range(len(self.names)), size, rng=rng)
        totals = counts.sum(axis=1, keepdims=True)
        draws: dict[str, NDArray[Any]] = {"counts": counts}
        if self.law.total.last:
            draws["shares"] = counts / np.maximum(totals, 1)
        if self.alpha is not None:
            draws["rates"] = dirichlet.draw(self.alpha, counts, rng=rng)
        return draws

    @cached_property
    def occupied(self) -> Coupled:
        """Joint distribution of the counts, given that the file is not empty (if it can contain records)."""
        return self.law.with_sum_from(1) if self.law.total.first == 0 < self.law.total.last else self.law

    def _draw_shares(self, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the shares of the categories in the file, given that the file is not empty."""
        counts = self.occupied.draw(range(len(self.names)), size, rng=rng)
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))

    def _count(self, i: int) -> Discrete:
        law = self.law.sum_of([i])
        return Discrete(law.values(), law.weights, name=self.names[i], type="count", accuracy=EXACT)

    def _share(self, i: int, group: Group = None) -> Discrete:
        if group is not None and (size := self._size(i, group)) > SHARES:
            raise ValueError(
                f"a share in the group `among` requires at most {SHARES:,} possible pairs of counts, got {size:.3g} "
                "pairs: use rates, or set tighter bounds on the counts"
            )
        s, t, weights = self._parts(i, group)
        s, t, weights = (part[s + t > 0] for part in (s, t, weights))
        values, place = np.unique(s / (s + t), return_inverse=True)
        chances = np.bincount(place, weights)
        return Discrete(values, chances, name=self._label(i, group), type="share", accuracy=EXACT)

    def _rate(self, i: int, group: Group = None) -> Continuous:
        assert self.alpha is not None
        alpha, beta = float(self.alpha[i]), self._others(i, group)
        if self._size(i, group) > LISTED:
            mine, theirs, tie = self._triple(i, group)
            tie = tie.within(mine.first + theirs.first, mine.last + theirs.last)
            weights = PairWeights(*(window(part.weights, first=part.first) for part in (mine, theirs, tie)))
            law = ShareLaw(weights, alpha=alpha, beta=beta)
            return Continuous(law, name=self._label(i, group), type="rate", accuracy=law.accuracy)
        rate = self._rate_law(i, group)
        return Continuous(rate, name=self._label(i, group), type="rate", accuracy=EXACT, draw=rate.sample)

    def _rate_law(self, i: int, group: Group = None) -> "RateLaw":
        """Return the posterior distribution of one rate, as a mixture over a list of pairs of counts."""
        assert self.alpha is not None
        return RateLaw(float(self.alpha[i]), self._others(i, group), *self._parts(i, group))

    def _others(self, i: int, group: Group = None) -> float:
        """Return the sum of the concentrations of all other rates in a group, computed without subtraction."""
        assert self.alpha is not None
        return float(sum(float(self.alpha[j]) for j in (range(len(self.alpha)) if group is None else group) if j != i))

    def _triple(self, i: int, group: Group) -> tuple[Window, Window, Window]:
        """Return the weights of one count, of the sum of the other counts in its group, and of the sum of all counts in
        the group.
        """
        if group is None:
            return (*self.law.beside(i), self.law.root)
        pair = self.law.pair_of([i], [j for j in group if j != i])
        assert pair.tie is not None
        return pair.first, pair.second, pair.tie

    def _size(self, i: int, group: Group) -> int:
        """Return the number of pairs (count, sum of the other counts in its group), or an upper bound on
        this number.
        """
        if group is None and len(self.law.root.weights) == 1:
            return len(self.law.own(i).weights)
        mine, theirs, tie = self._triple(i, group)
        sizes = sorted(len(part.weights) for part in (mine, theirs, tie))
        return sizes[0] * sizes[1]

    def _label(self, i: int, group: Group) -> str:
        return self.names[i] if group is None else f"{self.names[i]} among {', '.join(self.names[j] for j in group)}"

    def _parts(self, i: int, group: Group = None) -> tuple[Array, Array, Array]:
        """Return the possible pairs (s, t) of a count s and the sum t of the other counts in the same group. The result
        consists of the arrays s, t and weight, in increasing order of s.
        """
        if group is not None:
            pair = self.law.pair_of([i], [j for j in group if j != i])
            matrix = pair.matrix()
            first, second = np.nonzero(matrix)
            one, two = (side.values().astype(np.float64) for side in (pair.first, pair.second))
            return one[first], two[second], matrix[first, second]
        if len(self.law.root.weights) == 1 and len(self.names) >= tied_windows.SHARED:
            law = self.law.sum_of([i])
            return law.values().astype(float), (self.law.root.first - law.values()).astype(float), law.weights
        (window, rest), root = self.law.beside(i), self.law.root
        s = window.values()
        low, high = np.maximum(rest.first, root.first - s), np.minimum(rest.last, root.last - s)
        size = np.maximum(high - low + 1, 0)
        s, low, before = np.repeat(s, size), np.repeat(low, size), np.repeat(np.cumsum(size) - size, size)
        t = low + np.arange(len(s)) - before
        weights = window.weights[s - window.first] * rest.weights[t - rest.first] * root.weights[s + t - root.first]
        return s[weights > 0].astype(float), t[weights > 0].astype(float), weights[weights > 0]


def _concentrations(prior: Any, size: int) -> Array | None:
    """Return the Dirichlet concentrations of the multinomial prior, or None if the counts have separate priors."""
    if prior is None:
        return np.full(size, JEFFREYS)
    if isinstance(prior, Mapping) and prior.get("law") == "multinomial":
        if set(prior) - {"law", "alpha"}:
            raise ValueError(
                "prior: the multinomial prior must have no parameter other than alpha, got "
                f"{', '.join(sorted(set(prior) - {'law'}))}"
            )
        return _checks.positives("alpha", prior.get("alpha", JEFFREYS), size)
    return None


class RateLaw:
    """Posterior distribution of a rate, which is a mixture of the distributions Beta(alpha + s, beta + t) over pairs of
    counts (s, t).

    Along a run of pairs (s, t), (s, t + 1), .., the cumulative distribution functions of consecutive components differ
    by one term, I_x(a, b + 1) = I_x(a, b) + x^a (1 - x)^b/(b B(a, b)). A run therefore needs one incomplete beta
    function, and otherwise only powers. If all pairs have the same total, the sum is computed by `_window_sums`.

    Parameters
    ----------
    alpha, beta : concentrations > 0 of the rate and of the sum of all other rates.
    s, t : float64 (n,), integers, the count and the sum of all other counts; t increases by 1 along a run of equal s.
    weights : float64 (n,), non-negative, divided by their sum.
    """

    def __init__(self, alpha: float, beta: float, s: Array, t: Array, weights: Array) -> None:
        kept = weights > _NEGLIGIBLE_PAIR * weights.max()
        s, t = s[kept], t[kept]
        self.a, self.b = alpha + s, beta + t
        self.weights: Array = weights[kept] / weights[kept].sum()
        self._fixed: tuple[Array, float, float] | None = None  # arguments of `rate_cdf` if the total is fixed
        if (np.diff(s + t) == 0).all():
            consecutive = np.zeros(int(s[-1] - s[0]) + 1)
            consecutive[(s - s[0]).astype(np.int64)] = self.weights
            self._fixed = consecutive, float(self.a[0]), max(float(self.b[-1]), _SURE)
            return
        heads = np.flatnonzero(np.r_[True, (np.diff(self.a) != 0) | (np.diff(self.b) != 1)])
        later = np.concatenate([_later(run) for run in np.split(self.weights, heads[1:])])
        self._heads = self.a[heads], self.b[heads], np.add.reduceat(self.weights, heads)
        going = later > 0
        self._steps = self.a[going], self.b[going], np.log(later[going] / self.b[going]) - self._log_beta[going]

    @property
    def smallest_shape(self) -> float:
        """Smallest first parameter of a component, see `BetaMixture`; infinity for the rate of a single category."""
        return float(self.a.min()) if self.b.any() else np.inf

    def mean(self) -> float:
        """Return the posterior mean of the rate, computed in closed form."""
        return self._moments[0]

    def variance(self) -> float:
        """Return the posterior variance of the rate, computed in closed form."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if not self.b.any():  # the rate of a single category
            return 1.0, 0.0
        totals = self.a + self.b
        means = self.a / totals
        mean = float(self.weights @ means)
        inner = means * (1 - means) / (totals + 1)
        return mean, float(self.weights @ (inner + (means - mean) ** 2))

    @cached_property
    def _log_beta(self) -> Array:
        return np.asarray(betaln(self.a, self.b))

    def pdf(self, x: ArrayLike) -> Array:
        """Return the posterior density of the rate at x in [0, 1]."""
        points = np.asarray(x, dtype=np.float64)
        flat = np.atleast_1d(points).ravel()
        out = np.zeros(flat.shape)
        for i in np.flatnonzero((flat >= 0) & (flat <= 1)):
            if self._fixed is not None and 0 < flat[i] < 1:
                out[i] = _window_sums.rate_cdf(*self._fixed, float(logit(flat[i])))[1] / (flat[i] * (1 - flat[i]))
                continue
            out[i] = self.weights @ np.exp(xlogy(self.a - 1, flat[i]) + xlog1py(self.b - 1, -flat[i]) - self._log_beta)
        return out.reshape(points.shape)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the cumulative distribution function P(rate <= x). It is accurate to 12 significant digits. If the
        pairs have different totals, the relative error is about 5e-16 times the largest total, if this is larger.
        """
        points = np.asarray(x, dtype=np.float64)
        return np.array([self._below(float(one)) for one in points.ravel()]).reshape(points.shape)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the quantile x with P(rate <= x) = q. It is as accurate as the cumulative distribution function."""
        levels = _checks.fraction("q", q)
        return np.array([self._at(float(level)) for level in levels.ravel()]).reshape(levels.shape)

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Draw independent values of the rate from its posterior distribution, as an array of shape (size,)."""
        pairs = rng.choice(len(self.weights), size=size, p=self.weights)
        return np.asarray(rng.beta(self.a[pairs], self.b[pairs]))

    def _below(self, x: float) -> float:
        if not 0 < x < 1:
            return float(x >= 1)
        if self._fixed is not None:
            return _window_sums.rate_cdf(*self._fixed, float(logit(x)))[0]
        a, b, log_step = self._steps
        first, second, sums = self._heads
        steps = np.exp(log_step + a * np.log(x) + b * np.log1p(-x)).sum()
        return min(float(sums @ betainc(first, second, x) + steps), 1.0)

    def _at(self, level: float) -> float:
        """Return the quantile of the rate at a single level. The search is on the scale of the log odds of the rate."""
        if not 0 < level < 1:
            return level
        if not self.b.any():  # the rate of a single category
            return 1.0
        mean = min(max(self.mean(), 1e-300), 1 - 1e-16)
        start, width = np.log(mean) - np.log1p(-mean), np.sqrt(self.variance()) / (mean * (1 - mean))
        if self._fixed is not None:
            return float(expit(_window_sums.rate_quantile(*self._fixed, level, float(start))))
        ends = [float(start - width), float(start + width)]

        def excess(odds: float) -> float:
            return self._below(float(expit(odds))) - level

        for i, side in ((0, -1.0), (1, 1.0)):
            while side * excess(ends[i]) < 0 and abs(ends[i]) < _FURTHEST:
                ends[1 - i], width = ends[i], 2 * width
                ends[i] = float(np.clip(ends[i] + side * width, -_FURTHEST, _FURTHEST))
        if excess(ends[0]) * excess(ends[1]) >= 0:
            return float(ends[0] > 0)
        return float(expit(brentq(excess, ends[0], ends[1], xtol=1e-14, rtol=1e-14)))


def _later(weights: Array) -> Array:
    """Return, for each entry of an array of weights, the sum of all later entries. The sums start at the last weight,
    so that small sums keep full relative accuracy.
    """
    return np.asarray(np.append(np.cumsum(weights[:0:-1])[::-1], 0.0))
