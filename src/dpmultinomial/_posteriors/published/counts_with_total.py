"""Posterior distributions of the counts and shares in a file, and of the rates in the sampled population, given noisy
counts and a public or noisy total.

The total is public, or measured with independent noise. The posterior is exact. It is computed by convolutions of the
weights of the counts on windows, with a bound on the neglected mass.

Given the released values, the counts are independent up to a weight on their sum: a_i(n) is the prior times the
likelihood of count i, and g(N) is the likelihood of the total. All weights are tilted, to a_i(n) exp(theta n) and g(N)
exp(-theta N), with the theta at which the unconditional sum has the mean that the total implies. The tilts cancel, and
the windows contain the bulk of the posterior, even if the noisy counts and their total differ by a large amount. The
mass that windows neglect is bounded: likelihoods are log-concave, so a tail decreases at least geometrically. The bound
is the neglected unconditional mass times the largest weight of the total, divided by the evidence.

Two effects of the assumptions are reported: a comparison with flat priors, and whether the counts and the total are
compatible.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._accuracy import EXACT, LEVEL
from ..._kernels import dirichlet
from ..._mechanisms.noise_law import NoiseLaw
from ..._printing import steps
from ..._results.distributions import Continuous, Discrete, Marginal
from ..._results.joint import Coupled, Incompatible, Window, free_sum
from ..._results.posterior import Posterior
from ..._results.quantities import Columns, Joint, Quantities
from ..counts.share_law import PairWeights, ShareLaw, window
from . import _window_sums, conflict, counts, windows
from ._rate_law import RateLaw
from .cells import Cells, Total, cells_of, refuse, total_of
from .counts import named
from .priors import Flat, Splits, choose
from .windows import CountPrior

Array = NDArray[np.float64]
# default Dirichlet concentration of every rate; it has the best coverage, see docs/methods/rate_coverage.tsv
JEFFREYS = 0.5
_SUMMARISED = 4096  # number of distributions that are summarised together
_TOGETHER = 1 << 20  # number of values of windows that are computed together
_ENTRIES = 50_000_000  # largest total number of entries of all windows
_WIDEST = 2_000_000  # largest number of values of one count, and of their sum
# largest number of pairs of counts of a rate that are listed; with more pairs, the density of the rate is interpolated
LISTED = 2_000_000
_PLAIN_TAIL = 1e-3  # smallest tail probability for which an absolute accuracy of 1e-12 is sufficient
SHARED = 1000  # smallest number of counts for which equal counts share a window
SHARES = 20_000_000  # largest number of pairs of counts of a share of the file
# the means of the unconditional sum and of the total are matched within this number of standard deviations
_NEAR = 0.1


class TooWide(ValueError):
    """Error that is raised if the counts have too many possible values to compute the distribution of their sum."""


@dataclass(frozen=True)
class Leaves:
    """Ranges (windows) of possible counts with their log weights, in arrays with one row per count.

    Parameters
    ----------
    low, width : float64 (k,), first count and number of counts of a window.
    logs : float64 (k, widest), log of prior times likelihood; -inf beyond a window.
    left, right : float64 (k, 2), logs of upper bounds on the first two weights beyond either end, starting with the
        nearest; -inf if a bound of the count ends the window.
    times : float64 (k,), number of counts with the same window.
    growth : float64 (k,), largest ratio of consecutive prior weights beyond the right end.
    """

    low: Array
    width: Array
    logs: Array
    left: Array
    right: Array
    growth: Array
    times: Array

    @classmethod
    def of(
        cls, cells: Cells, priors: Sequence[CountPrior], log_mass: float, times: Array | None = None
    ) -> "Leaves | None":
        """Return the windows (ranges of possible values) of the given counts, or None if a window is empty.

        Parameters
        ----------
        cells : noisy counts with finite bounds.
        priors : one prior per count.
        log_mass : log mass of a window, as in `windows.spans`.
        times : float64 (k,), number of equal counts that each row represents; None: 1.

        Returns
        -------
        Leaves or None

        Raises
        ------
        TooWide
            If a window is infinite, or the windows are too wide in total.
        """
        k = len(cells)
        low, high, lower, upper = np.empty(k), np.empty(k), cells.lower.copy(), cells.upper.copy()
        kinds: dict[int, tuple[CountPrior, list[int]]] = {}
        for i, prior in enumerate(priors):
            kinds.setdefault(id(prior), (prior, []))[1].append(i)
        for prior, members in kinds.values():
            rows = np.array(members)
            low[rows], high[rows] = windows.spans(cells.take(rows), prior, log_mass)
            lower[rows], upper[rows] = np.maximum(lower[rows], prior.first), np.minimum(upper[rows], prior.last)
        low, high = np.where(cells.measured, low, lower), np.where(cells.measured, high, upper)
        if (high < low).any():
            return None
        widest = float((high - low).max()) + 1
        if not (k * widest <= _ENTRIES and widest <= _WIDEST):
            raise TooWide(
                f"each of the {k:,} true counts in the total has up to {widest:.3g} possible values, more than the "
                f"limit of {min(_ENTRIES // k, _WIDEST):,}: set tighter bounds on the counts, or more informative "
                "priors"
            )
        offsets = np.arange(widest)
        ends = np.stack([low - 1, low - 2, high + 1, high + 2], axis=1)
        likelihood, beyond = np.zeros((k, int(widest))), np.zeros(ends.shape)
        seen = np.flatnonzero(cells.measured)
        for rows in _row_blocks(seen, len(offsets)):
            law = cells.noise.take(rows)
            likelihood[rows] = law.log_likelihood(cells.released[rows, None], low[rows, None] + offsets)
            beyond[rows] = law.log_likelihood(cells.released[rows, None], ends[rows])
        growth = np.ones(k)
        for prior, members in kinds.values():
            rows = np.array(members)
            for part in _row_blocks(rows, len(offsets)):
                likelihood[part] += prior.log_weights(low[part, None] + offsets)
            beyond[rows] += prior.peak if np.isfinite(prior.peak) else prior.log_weights(ends[rows])
            if isinstance(prior, Splits) and prior.alpha > 1:
                growth[rows] = (high[rows] + 1 + prior.alpha) / (high[rows] + 2)
        beyond[low <= lower, :2] = -np.inf
        beyond[high >= upper, 2:] = -np.inf
        likelihood[offsets > (high - low)[:, None]] = -np.inf
        times = np.ones(k) if times is None else times
        return cls(low, high - low + 1, likelihood, beyond[:, :2], beyond[:, 2:], growth, times)

    def tilt(self, sums: Array, root: Array) -> float:
        """Return the exponential tilt under which the unconditional sum of the counts has approximately the same mean
        as the total.

        Parameters
        ----------
        sums : float64 (n,), possible totals.
        root : float64 (n,), log weight of each possible total.

        Returns
        -------
        float
        """
        low, high, step = -np.inf, np.inf, 1e-3
        theta = 0.0
        for _ in range(400):
            mean, variance = self._moments(theta)
            weights = np.exp(root - theta * sums - (root - theta * sums).max())
            total = float(weights @ sums / weights.sum())
            spread = variance + float(weights @ (sums - total) ** 2 / weights.sum())
            if abs(total - mean) <= _NEAR * np.sqrt(max(spread, 1e-300)):
                break
            low, high = (theta, high) if total > mean else (low, theta)
            new = theta + (total - mean) / spread if spread > 0 else np.copysign(np.inf, total - mean)
            if np.isfinite(low) and np.isfinite(high):
                new = new if low < new < high else (low + high) / 2
            elif not abs(new - theta) <= step:
                new, step = theta + np.copysign(step, total - mean), 2 * step
            if new == theta:
                break
            theta = float(new)
        return theta

    def tilted(self, theta: float) -> list[Window]:
        """Return, for each count, the exponentially tilted weights of its possible values."""
        weights = self._scaled(np.arange(len(self.low)), theta)[0]
        return [
            Window(int(first), row[: int(size)]) for first, size, row in zip(self.low, self.width, weights, strict=True)
        ]

    def neglected(self, theta: float) -> float:
        """Return an upper bound on the probability outside the tabulated ranges (windows) of the counts. The bound is
        computed from exponentially tilted weights, without conditioning on the total.
        """
        log_totals = np.empty(len(self.low))
        for rows in self._blocks():
            weights, tops = self._scaled(rows, theta)
            log_totals[rows] = tops + np.log(weights.sum(axis=1))
        last = self.width - 1
        bound = 0.0
        for ends, end_counts, sign, growth in (
            (self.left, np.zeros(len(last)), -1.0, np.ones(len(last))),
            (self.right, last, 1.0, self.growth),
        ):
            nearest = ends[:, 0] + theta * (end_counts + sign) - log_totals
            with np.errstate(invalid="ignore", over="ignore"):
                fall = np.exp(ends[:, 1] - ends[:, 0] + sign * theta) * growth
                tail = np.where(fall < 1, np.exp(nearest) / (1 - fall), np.inf)
            bound += float((self.times * np.where(ends[:, 0] == -np.inf, 0.0, tail)).sum())
        return bound

    def _moments(self, theta: float) -> tuple[float, float]:
        mean, spread, offsets = np.empty(len(self.low)), np.empty(len(self.low)), np.arange(self.logs.shape[1])
        for rows in self._blocks():
            weights = self._scaled(rows, theta)[0]
            weights /= weights.sum(axis=1, keepdims=True)
            mean[rows] = (weights * offsets).sum(axis=1)
            spread[rows] = (weights * (offsets - mean[rows, None]) ** 2).sum(axis=1)
        return float((self.times * (self.low + mean)).sum()), float((self.times * spread).sum())

    def _blocks(self) -> Iterator[NDArray[np.int64]]:
        return _row_blocks(np.arange(len(self.low)), self.logs.shape[1])

    def _scaled(self, rows: NDArray[np.int64], theta: float) -> tuple[Array, Array]:
        """Return the weights of the selected counts under an exponential tilt, with a largest weight of 1 in every row,
        and the log of the largest weight of every row.
        """
        weights = self.logs[rows]
        weights += theta * np.arange(weights.shape[1])
        tops = weights.max(axis=1)
        weights -= tops[:, None]
        return np.exp(weights, out=weights), tops


def _row_blocks(rows: NDArray[np.int64], widest: int) -> Iterator[NDArray[np.int64]]:
    """Yield consecutive parts of an array of row indices. The rows of a part have at most `_TOGETHER` values."""
    size = max(_TOGETHER // widest, 1)
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


_ENOUGH = 1000  # largest number of counts for which the first log mass is sufficient
_LOG_MASS = (45.0, 180.0, 720.0, 2880.0, 11_520.0, 46_080.0, 184_320.0, 737_280.0)


@dataclass(frozen=True)
class Solved:
    """Joint posterior of counts that are coupled by their total.

    Parameters
    ----------
    together : joint distribution of the counts.
    error : upper bound on the neglected posterior probability.
    theta : tilt.
    log_mass : log mass with which the windows were made.
    """

    together: Coupled
    error: float
    theta: float
    log_mass: float


def solve(cells: Cells, priors: Sequence[CountPrior], total: Total) -> Solved:
    """Compute the joint posterior distribution of counts and their total.

    Parameters
    ----------
    cells : noisy counts, all valid; lower bounds are finite.
    priors : one prior per count.
    total : public information about the sum.

    Returns
    -------
    Solved

    Raises
    ------
    ValueError
        If counts and total are incompatible, or windows would be too wide.

    Notes
    -----
    Cost: O(k w log k) memory and O(k w log w) time for k counts and windows of w.
    """
    kinds = _kinds(cells, priors)
    extra = float(np.log(max(len(cells) / _ENOUGH, 1.0)))  # the neglected probability is a sum over all counts
    for log_mass in _LOG_MASS:
        attempt = _attempt(cells, priors, total, log_mass + extra, kinds)
        if attempt is not None and attempt.error <= windows.NEGLECTED:
            return attempt
    raise ValueError(
        f"no counts within the bounds are consistent with the total {total.released:g}, or the total requires noise of "
        "more than 1,200 standard deviations: check the total, the noise and the bounds"
    )


def foreseen(cells: Cells, priors: Sequence[CountPrior], total: Total, *, tails: bool = True) -> Window | None:
    """Return the distribution of the sum of the counts, given the released counts but not the released total.

    Parameters
    ----------
    cells, priors, total : arguments of `solve`.
    tails : as in `joint.free_sum`.

    Returns
    -------
    Window or None
        None if the counts do not determine the distribution, because a count was not measured and its prior is
        improper.
    """
    rows, which = _kinds(cells, priors)
    try:
        leaves = Leaves.of(cells.take(rows), [priors[i] for i in rows], _LOG_MASS[0], np.bincount(which).astype(float))
    except TooWide:
        return None
    if leaves is None:
        return None
    free = free_sum(leaves.tilted(0.0), which, tails=tails)
    logs = total.log_prior(free.values().astype(float))
    return Window(free.first, free.weights * np.exp(logs - logs.max())).normalised()


Kinds = tuple[NDArray[np.int64], NDArray[np.int64]]  # one row per group of equal counts, and every row's group


def _kinds(cells: Cells, priors: Sequence[CountPrior]) -> Kinds:
    """Group the counts that are equal and have equal priors. Return the position of one count per group, and the group
    index of every count. If there are few counts, every count is a separate group.
    """
    if len(cells) < SHARED:
        every = np.arange(len(cells))
        return every, every
    places: dict[int, int] = {}
    prior_index = np.array([places.setdefault(id(prior), len(places)) for prior in priors], dtype=np.int64)
    return np.unique(cells.kinds[1] * len(places) + prior_index, return_index=True, return_inverse=True)[1:]


def _attempt(cells: Cells, priors: Sequence[CountPrior], total: Total, log_mass: float, kinds: Kinds) -> Solved | None:
    ends = total.noise.reach(np.array([total.released]), log_mass)
    least, most = float(cells.lower.sum()), float(cells.upper.sum())
    half = np.ceil(np.asarray(total.noise.halfwidth(log_mass)))
    low, high = windows.around(np.floor(ends[0]), np.ceil(ends[1]), half, least, most)
    first, last = max(float(low[0]), least), min(float(high[0]), most)
    if not last - first < _WIDEST:
        raise ValueError(
            f"{last - first + 1:.3g} sums of the true counts are possible given the noise in the total, which is more "
            f"than the limit of {_WIDEST:,}: set tighter bounds on the counts"
        )
    rows, which = kinds
    part = cells.take(rows)
    capped = replace(part, upper=np.minimum(part.upper, part.lower + last - least))
    leaves = Leaves.of(capped, [priors[i] for i in rows], log_mass, np.bincount(which).astype(np.float64))
    if leaves is None:
        return None
    sums = np.arange(first, last + 1)
    around = total.log_weights(np.array([first - 2, first - 1, last + 1, last + 2]))
    root = total.log_weights(sums)
    if root.max() == -np.inf:
        return None
    theta = leaves.tilt(sums, root)
    tilted = root - theta * sums
    weights = np.exp(tilted - tilted.max())
    try:
        together = Coupled(leaves.tilted(theta), Window(int(first), weights), which=which)
    except Incompatible:
        return None
    beyond = around - theta * np.array([first - 2, first - 1, last + 1, last + 2]) - tilted.max()
    cut = _root_tail(beyond[[1, 0]], first > least) + _root_tail(beyond[[2, 3]], last < most)
    free = together.free.normalised()
    kept = float(free.weights @ Window(int(first), weights).at(free.first, len(free.weights)))
    return Solved(together, (leaves.neglected(theta) + cut) / kept, theta, log_mass)


def _root_tail(logs: Array, open_end: bool) -> float:
    """Return the largest weight of a total beyond one end of the computed range of totals, or 0 if the range ends at a
    bound. This is the first weight beyond the end if the weights decrease, and otherwise infinity.
    """
    if not open_end or logs[0] == -np.inf:
        return 0.0
    return float(np.exp(logs[0])) if logs[1] <= logs[0] else np.inf


TOTAL = "total"  # name of the total among the names of tested values


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
        both = _numbers(self.together, level), _numbers(flat, level)
        return counts.flat_comparison(self.names, self.cells.released, *both, self.tails[:-1])

    def facts(self) -> dict[str, object]:
        """Return the results of the checks in a form that can be written as JSON. The results state whether counts and
        total are in conflict, and for which counts flat priors give different results.
        """
        try:
            decided = counts.facts(self.comparison())
        except ValueError as error:
            decided = {"prior_matters": 0, "of": 0, "first": [], "reason": str(error)}
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
            out[-1] = self._tail_of_total(tails=not self.together.shared)
            if out[-1] < _PLAIN_TAIL and self.together.shared:  # small tail probabilities require small relative errors
                out[-1] = self._tail_of_total(tails=True)
        return out

    def _tail_of_total(self, *, tails: bool) -> float:
        law = foreseen(self.cells, self.priors, self.total, tails=tails)
        if law is None:
            return np.nan
        values = law.values().astype(float)
        return conflict.of_mixture(self.total.released, self.total.noise, values, law.weights)


def _numbers(law: Coupled, level: float) -> _Numbers:
    """Return the posterior means, standard deviations and intervals of every count."""
    rows, kinds = [], int(law.which.max()) + 1
    blocks = [range(start, min(start + _SUMMARISED, kinds)) for start in range(0, kinds, _SUMMARISED)]
    for block in steps(blocks, kinds, "counts", len):
        laws = [law.single(kind) for kind in block]
        widths = np.array([len(part.weights) for part in laws])
        logs = np.full((len(laws), int(widths.max())), -np.inf)
        for row, part in zip(logs, laws, strict=True):
            row[: len(part.weights)] = part.log_weights()
        _, mean, sd, lower, upper = _window_sums.summaries(logs, widths, level=level).T
        first = np.array([part.first for part in laws])
        rows.append(np.stack([first + mean, sd, first + lower, first + upper]))
    return _Numbers(*np.concatenate(rows, axis=1)[:, law.which])


Group = tuple[int, ...] | None  # positions among which shares are computed; None: all


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
    parts = _Parts(tied.together, labels, alpha)

    def told() -> dict[str, object]:
        omitted = {"omitted": parts.omitted} if parts.omitted else {}
        return {"noise": cells.noise.settings(), "prior": prior_facts, **tied.facts(), **omitted, **(facts or {})}

    return Posterior(parts.groups(), joint=parts.draw, method="convolutions", facts=told, source=tied)


class _Parts:
    """Joint posterior distribution of the counts, the shares and the rates of one file."""

    def __init__(self, law: Coupled, names: tuple[str, ...], alpha: Array | None) -> None:
        self.law, self.names, self.alpha = law, names, alpha
        self.place = {name: i for i, name in enumerate(names)}

    def groups(self) -> dict[str, Quantities]:
        """Return the posterior distributions of the counts, of the shares (unless omitted), and of the rates (if
        modelled).
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
            return ""
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
            return Quantities(
                self.names, law, joint=draw, among=among, together=together, numbers=self._numbers_of(name)
            )

        def part(size: int, rng: np.random.Generator) -> NDArray[Any]:
            values = self.draw(size, rng)[name][:, list(group)]
            below = values.sum(axis=1, keepdims=True)
            return np.asarray(np.divide(values, below, out=np.full(values.shape, np.nan), where=below > 0))

        return Quantities(tuple(self.names[i] for i in group), lambda i: law(group[i]), joint=part)

    def _numbers_of(self, group: str) -> Callable[[float], Columns] | None:
        """Return a function that summarises all counts or all shares in one pass, or None if this is not possible."""
        fixed_total = self.law.root.first if len(self.law.root.weights) == 1 else 0
        if len(self.names) < SHARED or (group != "counts" and fixed_total <= 0):
            return None

        def columns(level: float) -> Columns:
            if group == "rates":
                mean, sd, lower, upper = self._rate_summaries(level)
                return Columns(mean, sd, lower, upper, EXACT)
            unit = fixed_total if group == "shares" else 1
            mean, sd, lower, upper = self._summaries(level)
            return Columns(mean / unit, sd / unit, lower / unit, upper / unit, EXACT)

        return columns

    @lru_cache(2)  # noqa: B019  one object for each posterior
    def _rate_summaries(self, level: float) -> _Numbers:
        """Return the posterior summaries of all rates, with one computation for each group of equal counts."""
        which, rows = self.law.which, []
        places = np.empty(int(which.max()) + 1, dtype=np.int64)
        places[which] = np.arange(len(which))
        for place in steps(places.tolist(), len(places), "rates"):
            rate = self._rate_law(place)
            rows.append((rate.mean(), np.sqrt(rate.variance()), *rate.quantile([(1 - level) / 2, (1 + level) / 2])))
        return _Numbers(*np.array(rows)[which].T)

    @lru_cache(2)  # noqa: B019  one object for each posterior
    def _summaries(self, level: float) -> _Numbers:
        return _numbers(self.law, level)

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw counts, shares and rates from their joint posterior distribution. The same row of each array belongs to
        the same draw.
        """
        counts = self.law.draw(range(len(self.names)), size, rng=rng)
        totals = counts.sum(axis=1, keepdims=True)
        draws: dict[str, NDArray[Any]] = {"counts": counts, "shares": counts / np.maximum(totals, 1)}
        if self.alpha is not None:
            draws["rates"] = dirichlet.draw(self.alpha, counts, rng=rng)
        return draws

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
        if group is not None:
            s, t, weights = (part[s + t > 0] for part in (s, t, weights))
        values, place = np.unique(s / np.maximum(s + t, 1), return_inverse=True)
        chances = np.bincount(place, weights)
        return Discrete(values, chances, name=self._label(i, group), type="share", accuracy=EXACT)

    def _rate(self, i: int, group: Group = None) -> Continuous:
        assert self.alpha is not None
        alpha = float(self.alpha[i])
        beta = float(self.alpha.sum() if group is None else self.alpha[list(group)].sum()) - alpha
        if self._size(i, group) > LISTED:
            mine, theirs, tie = self._triple(i, group)
            tie = tie.within(mine.first + theirs.first, mine.last + theirs.last)
            weights = PairWeights(*(window(part.weights, first=part.first) for part in (mine, theirs, tie)))
            law = ShareLaw(weights, alpha=alpha, beta=beta)
            return Continuous(law, name=self._label(i, group), type="rate", accuracy=law.accuracy)
        rate = self._rate_law(i, group)
        return Continuous(rate, name=self._label(i, group), type="rate", accuracy=EXACT, draw=rate.sample)

    def _rate_law(self, i: int, group: Group = None) -> RateLaw:
        """Return the posterior distribution of one rate, as a mixture over a list of pairs of counts."""
        assert self.alpha is not None
        beta = float(self.alpha.sum() if group is None else self.alpha[list(group)].sum()) - float(self.alpha[i])
        return RateLaw(float(self.alpha[i]), beta, *self._parts(i, group))

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
        if len(self.law.root.weights) == 1 and len(self.names) >= SHARED:
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
