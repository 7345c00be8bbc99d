"""Levels (quotients of a noisy and a released count) of algorithm 3 of Wang (2020), with the intervals of the noisy
counts at each level. In these intervals, the released vector is a mode. Upper bounds on the weights of the levels are
also computed.

The released r is a mode of the noisy weights n exactly if the smallest quotient n_j/r_j that received a unit is at
least the largest quotient n_i/(r_i + 1) that did not. Given this level p/q, every n_s lies in an open interval, ]p
r_s/q, p (r_s + 1)/q[, or at one of its ends. At the lower end, the component received the last unit (`got`). At the
upper end, it just missed a unit (`lost`).

Before any transform, exponential tilts give an upper bound on the weight of each level.

For every tilt theta, the weight of a level is at most mass(theta) max_T g(T) exp(-theta T), where mass(theta) is the
sum over all true counts of the level's product times exp(theta sum N). The smallest value over a grid of tilts bounds
the level (Chernoff). The same sums, added over the levels, bound the mass in the extreme tails. They determine the
length of a transform and the width of a marginal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ... import _quadrature
from ..._kernels import geometric
from ._noise import CountsPrior, NoiseModel

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
NOTHING = -1
_NO_END = -geometric.LARGEST


@dataclass(frozen=True)
class Columns:
    """Groups of components (columns) with the same released count and prior, and therefore the same posterior
    distribution.

    Attributes
    ----------
    released : int64 (U,), r.
    shape : float64 (U,), concentration of the prior.
    repeats : int64 (U,), number of components in each column.
    of : int64 (S,), column of every component.
    """

    released: Whole
    shape: Array
    repeats: Whole
    of: Whole


def columns(released: Whole, shapes: Array, *, together: bool) -> Columns:
    """Group the components of a release, and return the groups, which are called columns. If `together` is true, a
    column is a group of equal components. Otherwise, each component is a column, as required by tie-breaking rules that
    depend on the order.

    Parameters
    ----------
    released : int64 (S,).
    shapes : float64 (S,), concentrations of the prior.
    together : whether equal components share a column.

    Returns
    -------
    Columns
    """
    size = len(released)
    if not together:
        return Columns(released, shapes, np.ones(size, dtype=np.int64), np.arange(size))
    pairs, of, repeats = np.unique(
        np.stack([released.astype(float), shapes]), axis=1, return_inverse=True, return_counts=True
    )
    return Columns(pairs[0].astype(np.int64), pairs[1].copy(), repeats.astype(np.int64), of.ravel())


@dataclass(frozen=True)
class Levels:
    """Intervals of the noisy counts for which the released vector is a mode of the multinomial distribution. The rows
    are the levels of algorithm 3 of Wang (2020), and the columns are the groups of components.

    Attributes
    ----------
    numerator, denominator : int64 (T,), p and q, in lowest terms, in increasing order of p/q.
    lower, upper : int64 (T, U), first and last noisy count inside the open interval; the interval is empty if lower >
        upper.
    got, lost : int64 (T, U), the noisy count at the lower or upper end of the interval; `NOTHING` if the end is not an
        integer.
    """

    numerator: Whole
    denominator: Whole
    lower: Whole
    upper: Whole
    got: Whole
    lost: Whole

    def __len__(self) -> int:
        return len(self.numerator)

    def take(self, rows: NDArray[np.integer] | slice) -> "Levels":
        """Return the levels of algorithm 3 of Wang (2020) that an index array or a slice selects."""
        return Levels(
            self.numerator[rows],
            self.denominator[rows],
            self.lower[rows],
            self.upper[rows],
            self.got[rows],
            self.lost[rows],
        )

    def with_empty(self) -> "Levels":
        """Return all levels of algorithm 3 of Wang (2020), and an additional last level for the case in which all noisy
        counts are 0 or less.
        """
        nothing, size = np.array([0]), self.got.shape[1]
        none = np.full((1, size), NOTHING)
        return Levels(
            np.append(self.numerator, nothing),
            np.append(self.denominator, nothing + 1),
            np.append(self.lower, np.full((1, size), _NO_END), axis=0),
            np.append(self.upper, np.zeros((1, size), dtype=np.int64), axis=0),
            np.append(self.got, none, axis=0),
            np.append(self.lost, none, axis=0),
        )

    @property
    def claimed(self) -> NDArray[np.bool_]:
        """Return a mask that is true if a tie is possible, that is, if a noisy count can be exactly at an end of its
        interval. The rows are the levels of algorithm 3 of Wang (2020), and the columns are the groups of components.
        """
        return (self.got >= 0) | (self.lost >= 0)


def levels(released: Whole, lowest: float, highest: float) -> Levels:
    """Return all levels between `lowest` and `highest`, for a release that was produced by algorithm 3 of Wang (2020).
    The levels are the numbers a/r_j for integers a and released counts r_j > 0.

    Parameters
    ----------
    released : int64 (U,), with at least one positive count; products with a numerator must stay below 2^63.
    lowest, highest : range of the smallest quotient that received a unit, > 0.

    Returns
    -------
    Levels
    """
    p, q = [], []
    for r in np.unique(released[released > 0]).tolist():
        a = np.arange(max(1, int(np.floor(lowest * r))), int(np.ceil(highest * r)) + 1, dtype=np.int64)
        common = np.gcd(a, r)
        p.append(a // common)
        q.append(r // common)
    pairs = np.unique(np.stack([np.concatenate(p), np.concatenate(q)], axis=1), axis=0)
    pairs = pairs[np.argsort(pairs[:, 0] / pairs[:, 1], kind="stable")]
    return _boxes(released, pairs[:, :1], pairs[:, 1:])


def _boxes(released: Whole, p: Whole, q: Whole) -> Levels:
    served = (released > 0)[None]
    start, end = p * released, p * (released + 1)
    return Levels(
        p[:, 0],
        q[:, 0],
        np.where(served, start // q + 1, _NO_END),
        -((-end) // q) - 1,
        np.where((start % q == 0) & served, start // q, NOTHING),
        np.where(end % q == 0, end // q, NOTHING),
    )


def nodes(claims: int) -> tuple[Array, Array]:
    """Return quadrature nodes and weights on [0, 1] for an integral over a probability. It is the probability that,
    with random ties, a tied component precedes the component that received the last unit.

    The integrand is a polynomial of degree claims - 1, so (claims + 1) // 2 Gauss-Legendre nodes are exact. The
    integrand is a product of many similar factors and therefore smooth, so 5 sqrt(claims) + 3 nodes are accurate up to
    rounding (tested).
    """
    size = min((claims + 1) // 2, int(5 * np.sqrt(claims)) + 3)
    places, weights = _quadrature.legendre(size)
    return (1.0 + places) / 2.0, weights / 2.0


@lru_cache(maxsize=1024)
def rule(claims: int, ties: str) -> tuple[Array, Array, Array]:
    """Return the arrays (early, late, weight) that represent a tie-breaking rule at one level. The kernel
    `_frequency_products` requires the arrays in this form.

    Among equal claims, the claims that received a unit precede the claim that received the last unit. ``"first"``: a
    lower index precedes, so components before the last served component may have received a unit on an equal claim, and
    components after it may have missed a unit. ``"last"`` is the opposite. ``"random"``: every claim precedes with the
    same probability, which is integrated over.
    """
    if ties == "random":
        places, weights = nodes(claims)
        return places, places, weights
    first = np.array([1.0 if ties == "first" else 0.0])
    return first, 1.0 - first, np.ones(1)


_HALF = np.array([0.1, 0.2, 0.35, 0.5, 0.65, 0.75, 0.84, 0.92])
TILTS = np.concatenate([-_HALF[::-1], [0.0], _HALF])  # tilts in multiples of epsilon
_NEAR = 60.0  # levels whose crude bound is below exp(-60) of the best refined bound are not refined
# numbers of levels whose crude bounds are refined together; the batches grow
_BATCHES = [0, *(1 << k for k in range(4, 41))]
_ROOM = 1 << 20  # number of array entries in memory during the refinement
_STEEPEST = 600.0  # largest exponent of a tilt; levels farther from the released counts have better bounds


@dataclass(frozen=True)
class Masses:
    """Logs of exponentially tilted sums over the true counts, with one row per tilt. True counts and totals are
    measured from the released values.

    Attributes
    ----------
    tilts : float64 (G,), theta.
    levels : float64 (G, T), one column per level.
    edge : float64 (G,), max over T of log g(T) - theta (T - M).
    totals : float64 (G,), log of the sum over T of g(T) exp(-theta (T - M)).
    """

    tilts: Array
    levels: Array
    edge: Array
    totals: Array

    def bounds(self) -> Array:
        """Return, for every level of algorithm 3 of Wang (2020), the log of an upper bound on the weight of the level,
        as a float64 array of shape (T,). Each bound is minimised over the tilts.
        """
        return np.asarray((self.levels + self.edge[:, None]).min(axis=0))

    def free(self, kept: NDArray[np.integer]) -> Array:
        """Return, for each of G tilts, the log of the sum of the exponentially tilted weights over all levels, counts
        and totals, as a float64 array of shape (G,). In this sum Phi(theta), the total may differ from the sum of the
        counts.
        """
        return np.asarray(logsumexp(self.levels[:, kept], axis=1) + self.totals)


def masses(
    columns: Columns, levels: Levels, noise: NoiseModel, prior: CountsPrior, log_totals: Array, ties: str
) -> Masses:
    """Compute the exponentially tilted sums over the true counts for every level of algorithm 3 of Wang (2020).

    Parameters
    ----------
    columns, levels, noise, prior, ties : as in `_mode_transforms.Frame`.
    log_totals : float64 (2, n), totals minus M, and log g at these totals.

    Returns
    -------
    Masses. The cost is O(columns W + T) per tilt, with W values per column.
    """
    tilts = noise.epsilon * TILTS
    sums = -tilts[:, None] * log_totals[0] + log_totals[1]
    level_logs, collected_claims = np.zeros((len(tilts), len(levels))), _Claims()
    for u in range(len(columns.released)):
        clear, got, lost = column_masses(columns, levels, u, tilts, noise, prior)
        claimed = np.flatnonzero((levels.got[:, u] >= 0) | (levels.lost[:, u] >= 0))
        collected_claims.add(claimed, int(columns.repeats[u]), clear[:, claimed], got[:, claimed], lost[:, claimed])
        clear[:, claimed] = 0.0
        level_logs += columns.repeats[u] * clear
    edge = sums.max(axis=1)
    collected_claims.add_to(level_logs, edge, ties)
    return Masses(tilts, level_logs, edge, logsumexp(sums, axis=1))


class _Claims:
    """Collection of the components whose noisy count can be at an end of its interval, so that a tie is possible. A
    possible tie is called a claim. The collection is filled column by column and read level by level.
    """

    def __init__(self) -> None:
        self._level: list[Whole] = []
        self._repeats: list[Whole] = []
        self._masses: list[tuple[Array, Array, Array]] = []

    def add(self, level: NDArray[np.integer], repeats: int, clear: Array, got: Array, lost: Array) -> None:
        self._level.append(level.astype(np.int64))
        self._repeats.append(np.full(len(level), repeats, dtype=np.int64))
        self._masses.append((clear, got, lost))

    def add_to(self, whole: Array, edge: Array, ties: str) -> None:
        """Add the log of the joint weight of the components that may be tied to a float64 array of shape (G, T). The
        array has one row per tilt and one column per level. A component may be tied if its noisy count can be at an end
        of its interval. The weight is a crude bound that is refined for levels that are not negligible.
        """
        level, repeats = np.concatenate(self._level), np.concatenate(self._repeats)
        order = np.argsort(level, kind="stable")
        level, repeats = level[order], repeats[order]
        clear, got, lost = (np.concatenate([m[k] for m in self._masses], axis=1)[:, order] for k in range(3))
        begin = np.flatnonzero(np.diff(level, prepend=-1))
        end = np.append(begin[1:], len(level))
        rows, claims = level[begin], np.add.reduceat(repeats, begin)
        either = np.logaddexp(clear, np.logaddexp(got, lost))
        share = np.exp(got - np.where(either > -np.inf, either, 0.0)) * repeats
        with np.errstate(divide="ignore"):
            crude = np.add.reduceat(either * repeats, begin, axis=1) + np.log(np.add.reduceat(share, begin, axis=1))
        single = claims == 1
        crude[:, single] = got[:, begin[single]]
        outside = whole[:, rows].copy()
        bounds = (outside + crude + edge[:, None]).min(axis=0)
        best = bounds[single].max(initial=-np.inf)
        order = np.argsort(-bounds, kind="stable")
        for first, last in pairwise(_BATCHES):
            batch = order[first:last]
            batch = batch[bounds[batch] >= best - _NEAR]
            masses = dict(_batched(batch[~single[batch]], begin, end, claims, (clear, got, lost, repeats), ties))
            for i in batch.tolist():
                if bounds[i] < best - _NEAR:
                    break
                if not single[i]:
                    crude[:, i] = masses[i]
                    best = max(best, float((outside[:, i] + crude[:, i] + edge).min()))
            if not len(batch) or bounds[batch[-1]] < best - _NEAR:
                break
        whole[:, rows] += crude


def _batched(
    levels: Whole, begin: Whole, end: Whole, claims: Whole, parts: tuple[Array, Array, Array, Whole], ties: str
) -> Iterator[tuple[int, Array]]:
    """Yield each level of algorithm 3 of Wang (2020) with the log weights of its possible ties, which `_claims`
    computes in batches of levels. All levels of a batch have the same number of possible ties (claims) and the same
    number of columns.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for i in levels.tolist():
        alike.setdefault((int(end[i] - begin[i]), int(claims[i])), []).append(i)
    clear, got, lost, repeats = parts
    for (columns, number), group in alike.items():
        together = max(_ROOM // (len(clear) * columns * len(rule(number, ties)[0])), 1)
        for first in range(0, len(group), together):
            batch_rows = group[first : first + together]
            places = begin[batch_rows][:, None] + np.arange(columns)
            batch_masses = _claims(clear[:, places], got[:, places], lost[:, places], repeats[places], number, ties)
            yield from zip(batch_rows, batch_masses.T, strict=True)


def column_masses(
    columns: Columns, levels: Levels, u: int, tilts: Array, noise: NoiseModel, prior: CountsPrior
) -> tuple[Array, Array, Array]:
    """Compute the log weights of three sets of noisy counts of one column: the counts inside an open interval, the
    lower end of the interval, and the upper end. The weights are exponentially tilted sums over the true counts. The
    result is three float64 arrays of shape (G, T) for G tilts and T levels.

    Parameters
    ----------
    columns, levels : columns and levels of the release.
    u : index of the column.
    tilts : float64 (G,).
    noise : NoiseModel.
    prior : CountsPrior.

    Returns
    -------
    clear, got, lost : log weights of the open interval, and of its lower and upper end (-inf if there is no end).
    """
    r, lower, upper = int(columns.released[u]), levels.lower[:, u], levels.upper[:, u]
    least = int(np.maximum(lower, 1).min())
    ends = [place[:, u][place[:, u] >= 0] for place in (levels.got, levels.lost)]
    least = int(min([least, *[int(end.min()) for end in ends if end.size]]))
    most = max(int(upper.max()), least, *[int(end.max()) for end in ends if end.size])
    reach = noise.wide
    x = np.arange(least - reach, most + reach + 1)
    weight = np.exp(
        np.minimum(np.outer(tilts, x - r), _STEEPEST) + prior.log_component(np.maximum(x, 0), columns.shape[u])
    ) * (x >= 0)
    points = noise.peak * geometric.smooth(weight, epsilon=noise.epsilon, reach=reach)
    sums = _interval_sums(points, np.maximum(lower, 1) - least, upper - least + 1)
    if lower.min() < 0:
        sums[:, lower < 0] += _at_most_zero(noise, prior, float(columns.shape[u]), tilts, r)[:, None]
    with np.errstate(divide="ignore"):
        logs = np.log(points)
        got, lost = (
            np.where(place[:, u] >= 0, logs[:, np.maximum(place[:, u] - least, 0)], -np.inf)
            for place in (levels.got, levels.lost)
        )
        return np.log(sums), got, lost


def _at_most_zero(noise: NoiseModel, prior: CountsPrior, shape: float, tilts: Array, r: int) -> Array:
    """Return the exponentially tilted mass of the true counts of one component, given that the noisy count is 0 or
    less.
    """
    x = np.arange(noise.wide + 1)
    return np.asarray(
        np.exp(np.minimum(np.outer(tilts, x - r), _STEEPEST) + prior.log_component(x, shape)) @ noise.at_least(x)
    )


def _interval_sums(values: Array, start: Whole, end: Whole) -> Array:
    """Return the sums of values[:, start:end] along the second axis for many intervals (0 if end <= start). The sums
    are built from blocks whose lengths are powers of two, so that all terms are positive.
    """
    out = np.zeros((len(values), len(start)))
    place, left, run = start.copy(), np.maximum(end - start, 0), 1
    while left.any():
        odd = np.flatnonzero(left & 1)
        out[:, odd] += values[:, place[odd]]
        place[odd] += run
        left = left >> 1
        values, run = values[:, :-run] + values[:, run:], 2 * run
    return out


def _claims(clear: Array, got: Array, lost: Array, repeats: Whole, claims: int, ties: str) -> Array:
    """Return the log of the joint weight of all components whose noisy count can be at an end of its interval. The
    result is an array of shape (G, n) with one row per tilt and one column per level. The weight is a sum over the
    quadrature nodes and over the component that receives the last unit.
    """
    early, late, weight = rule(claims, ties)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = (
            np.logaddexp(clear[:, :, None], np.logaddexp(np.log(e) + got[:, :, None], np.log1p(-e) + lost[:, :, None]))
            for e in (early[:, None], late[:, None])
        )
        if ties == "random":
            base = np.where(before > -np.inf, before, 0.0)
            one = np.log(repeats)[:, None] + got[:, :, None] - base
            each = (before * repeats[:, None]).sum(axis=3) + logsumexp(one, axis=3)
            return np.asarray(logsumexp(each + np.log(weight), axis=2))
    sure, moved = np.zeros(clear.shape[:2]), np.full(clear.shape[:2], -np.inf)
    # two states, in the order of the components: no component has received the last unit yet, or an earlier one has
    for j in range(clear.shape[2]):
        moved = np.logaddexp(moved + after[:, :, 0, j], sure + got[:, :, j])
        sure = sure + before[:, :, 0, j]
    return moved
