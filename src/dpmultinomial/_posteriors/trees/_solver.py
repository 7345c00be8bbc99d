"""Messages of the sum-product algorithm on a tree. Windows and exponential tilts are chosen such that the upper bound
on the neglected probability is small.

The joint draws of all counts of a tree use these messages, including the messages of groups within large families.

For a star without a measured root, the posterior distribution is computed as a mixture of independent counts instead
(`mixture`).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, loggamma, logsumexp

from . import _sites
from ._sum_product import STATES, SumProduct
from .measurements import FAR, possible_ends
from .tree import Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
GOAL = 1e-12  # goal for the error bound
ENOUGH = 1e-9  # a result with a larger bound is approximate
DROP = 1e-20  # initial fraction of a message that may be truncated at either end
ROUGH = 1e-9  # fraction of a message that may be truncated while a prior is fitted
ROUGH_GOAL = 1e-3  # goal for the error bound of the log evidence during fitting
CHEAP = 1e-60  # truncating no more than this fraction costs less than improving the tilts
LEAST_DROP = 1e-250
TERMS = 5e10  # largest number of terms of a sum of two messages, as in messages.h
FIT_TERMS = 1e10  # largest number of terms of sums of pairs of children while a prior is fitted
STEPS = 4  # number of improvements of the tilts, from the sums of the computed messages
CUTS = 4  # number of attempts with smaller and smaller truncated fractions
BLIND = 1e-150  # fraction truncated if the bound is too large for float64, so that the required fraction is unknown


FALL = 55.0  # decrease of the log weight from its maximum to the ends of the window of a leaf
ALIASED = -32.0  # log of the relative error of the quadrature rule
MANY_COUNTS = 1e8  # largest number of counts in the windows of all leaves of a star
FIT_COUNTS = 3e6  # the same while the concentration is fitted
SPARE = 1e-16  # fraction of the posterior that is neglected at a single place
BLOCK = 12  # number of nodes of the quadrature rule that are added at a time
NARROW = -50.0  # log weight of a node of the quadrature rule, relative to the largest, beyond which the rule ends


class Unbounded(ValueError):
    """Error that is raised if no measurement, upper bound or proper prior limits a count."""


class Unsolved(ValueError):
    """Error that is raised if the sum-product messages of a tree cannot be computed. The message names the node and the
    reason.
    """


@dataclass(frozen=True)
class Solved:
    """Messages of the sum-product algorithm from the leaves to the root of a tree, with an error bound.

    Parameters
    ----------
    messages : messages of the kernel.
    log_evidence : log of the sum of all weights.
    bound : upper bound on the total variation distance between any marginal distribution and its computed form.
    drop : largest fraction of a message that could be truncated at either end.
    tilts, slacks : parameters of the children of every node (`_sites.balance`).
    """

    messages: SumProduct
    log_evidence: float
    bound: float
    drop: float
    tilts: Array
    slacks: Array

    @property
    def excess(self) -> float:
        """Return the error bound of the messages, divided by the largest fraction of a message that could be
        truncated at either end.
        """
        return self.bound / self.drop


def solve(
    tree: Tree,
    sites: NDArray[Any],
    tables: Array,
    *,
    goal: float = GOAL,
    drop: float = DROP,
    start: Array | None = None,
    blind: bool = True,
) -> Solved:
    """Compute the sum-product messages of a tree, with a bound of at most `goal` on the error. If this fails, return
    the messages with the smallest error bound.

    Parameters
    ----------
    tree : the nodes.
    sites : structured (m,), weights of the nodes.
    tables : float64, log weights to which the sites point.
    goal : largest acceptable bound; with infinity, the first result is accepted.
    drop : initial fraction of a message that may be truncated at either end.
    start : initial tilts, from a tree with nearly the same weights.
    blind : whether to truncate less even if the bound is infinite. With wide noise in large families, the bound
        overflows, because the weight of the parent (without the weights of its children) increases on both sides of the
        region in which parent and children agree.

    Returns
    -------
    Solved

    Raises
    ------
    ValueError
        If bounds and exact counts are inconsistent.
    Unsolved
        If a count is unbounded, or no counts have positive weight.
    """
    if start is None:
        consistent(tree, sites)
    given = (tree.above, tree.count, sites, tables, _sites.reach(tree.above, sites))
    tilts, slacks, _, failed = _sites.balance(*given, start)
    if failed[0] >= 0:
        raise Unsolved(_words(tree, sites, failed[0], STATES[failed[1]]))
    if goal > ENOUGH and (row := _expensive(tree, sites, tilts, drop)) >= 0:
        raise Unsolved(_words(tree, sites, row, "wide"))
    best, missed = _first(tree, sites, tables, tilts, slacks, drop)
    if best is None:
        raise Unsolved(_words(tree, sites, *missed))
    for step in range(STEPS):
        if best.bound <= goal:
            return best
        if best.drop * 1e-3 * goal / best.bound >= CHEAP:
            break
        means = None if step == 0 else _means(tree, best.messages)
        tilts, slacks, failed = _sites.refine(*given, best.tilts, best.messages.sums().copy(), means)
        attempt = _once(tree, sites, tables, tilts, slacks, drop)
        if failed[0] < 0 and isinstance(attempt, Solved) and attempt.excess < best.excess:
            best = attempt
        elif step:
            break
    for _ in range(CUTS):
        endless = best.bound == np.inf
        if best.bound <= goal or best.drop == LEAST_DROP or (endless and not blind):
            break
        width = best.drop * 1e-3 * goal / best.bound if not endless else BLIND if best.drop > BLIND else LEAST_DROP
        attempt = _once(tree, sites, tables, best.tilts, best.slacks, max(width, LEAST_DROP))
        if not isinstance(attempt, Solved) or (attempt.bound >= best.bound and not endless):
            break
        best = attempt
    return best


def rough(tree: Tree, sites: NDArray[Any], tables: Array, start: Array | None) -> Solved:
    """Compute the messages of a tree while a prior is fitted. If the error bound overflows, the log evidence can be far
    too small, and the messages are computed again with a smaller truncated fraction.

    Parameters
    ----------
    tree : the nodes.
    sites : structured (m,), weights of the nodes.
    tables : float64, log weights to which the sites point.
    start : initial tilts, from a tree with nearly the same weights.

    Returns
    -------
    Solved

    Raises
    ------
    ValueError, Unsolved
        As `solve`.
    """
    solved = solve(tree, sites, tables, goal=ROUGH_GOAL, drop=ROUGH, start=start, blind=False)
    return solved if solved.bound < np.inf else solve(tree, sites, tables, goal=ROUGH_GOAL, drop=ROUGH)


def _once(
    tree: Tree, sites: NDArray[Any], tables: Array, tilts: Array, slacks: Array, drop: float
) -> Solved | tuple[int, str]:
    """Return the messages of the sum-product algorithm, computed with the given exponential tilts. If the computation
    fails, return the node at which it fails and the reason.
    """
    messages = SumProduct(tree.above, tree.first, tree.count, sites, tables, tilts, slacks, drop)
    log_evidence, bound, failed = messages.up()
    if failed[0] >= 0:
        return failed
    return Solved(messages, log_evidence, bound if bound >= 0 else np.inf, drop, tilts, slacks)


def _first(
    tree: Tree, sites: NDArray[Any], tables: Array, tilts: Array, slacks: Array, drop: float
) -> tuple[Solved | None, tuple[int, str]]:
    """Return the messages of the sum-product algorithm, computed with the initial exponential tilts. The windows of
    counts are widened until they overlap.
    """
    while True:
        attempt = _once(tree, sites, tables, tilts, slacks, drop)
        if isinstance(attempt, Solved):
            return attempt, (-1, "good")
        if attempt[1] != "empty" or drop == LEAST_DROP:
            return None, attempt
        drop = max(drop**2, LEAST_DROP)


def _means(tree: Tree, messages: SumProduct) -> Array:
    """Return the posterior means of the counts of the inner nodes, in the node order of the compiled kernels."""
    summaries = messages.down(tree.count > 0, 0.25)[0]
    return np.ascontiguousarray(summaries[:, 0])


def _expensive(tree: Tree, sites: NDArray[Any], tilts: Array, drop: float) -> int:
    """Return a node for which the convolutions of adjacent pairs of its children have too many terms for a fit, or -1
    if there is no such node.

    Only pairs of two leaves are counted, with the windows of their likelihoods under the tilt. A count is at most the
    upper end of the window of every count above it, as in the computation of the messages.
    """
    leaf = tree.count == 0
    own = np.where(tree.above >= 0, tilts[np.maximum(tree.above, 0)], 0.0) - np.where(leaf, 0.0, tilts)
    fall, centre = -np.log(drop), np.maximum(sites["centre"], sites["lower"])
    left, right, peak = np.zeros(len(sites)), np.zeros(len(sites)), centre.copy()
    tents, curves = sites["absolute"] > np.abs(own), sites["square"] > 0
    left[tents] = fall / (sites["absolute"] + own)[tents]
    right[tents] = fall / (sites["absolute"] - own)[tents]
    left[curves] = right[curves] = np.sqrt(fall / sites["square"][curves])
    peak[curves] += np.maximum(own[curves] / (2 * sites["square"][curves]), 0.0)
    upper = sites["upper"].astype(np.float64)
    held = ~leaf & (tents | curves) & (sites["table"] < 0)
    upper[held] = np.minimum(upper, peak + right * (1 + 12 / fall))[held]
    for start, end in _layers(tree)[::-1][1:]:
        upper[start:end] = np.minimum(upper[start:end], upper[tree.above[start:end]])
    width = np.minimum(left, centre - sites["lower"]) + np.minimum(right, np.maximum(upper - centre, 0.0))
    width[~leaf] = 0.0
    for row in np.flatnonzero(tree.count > 1).tolist():
        first = int(tree.first[row])
        pair = width[first : first + int(tree.count[row])]
        if (pair[:-1] * pair[1:])[::2].sum() > FIT_TERMS:
            return row
    return -1


def _range(low: float, high: float) -> str:
    """Return a range of counts as text, for example "3 to 7" or "3 or more"."""
    return f"{low} or more" if high >= FAR else str(low) if low == high else f"{low} to {high}"


def consistent(tree: Tree, sites: NDArray[Any]) -> None:
    """Raise ValueError if no counts satisfy all exact values and bounds of a tree, or if a count is unbounded.

    Raises
    ------
    ValueError
        The message states the name of a node and the value that its count would need.
    """
    low, high = possible_ends(sites)
    for start, end in _layers(tree):
        least, most = _sums(tree, low, start, end), np.minimum(_sums(tree, high, start, end), FAR)
        inner = np.arange(start, end)[tree.count[start:end] > 0]
        for row, less, more in zip(inner.tolist(), least.tolist(), most.tolist(), strict=True):
            if less > high[row] or more < low[row]:
                ends, own_range = _range(less, more), _range(low[row], high[row])
                raise ValueError(
                    f"the counts of the children of {_name(tree, row)} sum to {ends}, but the count of "
                    f"{_name(tree, row)} is {own_range}: correct the measurements or the bounds"
                )
        low[inner], high[inner] = np.maximum(low[inner], least), np.minimum(high[inner], most)
    held = (
        (sites["square"] > 0)
        | (sites["absolute"] > 0)
        | (sites["table"] >= 0)
        | (sites["upper"] < FAR)
        | (sites["slope"] < 0)
    )
    for start, end in _layers(tree)[::-1][1:]:
        held[start:end] |= held[tree.above[start:end]]
    loose = np.flatnonzero((tree.count == 0) & ~held)
    if len(loose):
        raise Unbounded(
            f"the count of {_name(tree, int(loose[0]))} is unbounded: measure this node or one of its "
            "ancestors, or set an upper bound or a proper prior"
        )


def _layers(tree: Tree) -> list[tuple[int, int]]:
    """Return the layers of a tree, from the leaves to the root. Each layer is given by the first index of its nodes and
    the first index after its nodes.
    """
    return list(pairwise(tree.layers))[::-1]


def _sums(tree: Tree, values: NDArray[np.int64], start: int, end: int) -> NDArray[np.int64]:
    """Return, for every inner node of one layer, the sum of given values over its children."""
    inner = np.arange(start, end)[tree.count[start:end] > 0]
    if not len(inner):
        return np.zeros(0, dtype=np.int64)
    children = values[tree.first[inner[0]] : tree.first[inner[-1]] + tree.count[inner[-1]]]
    return np.asarray(np.add.reduceat(children, tree.first[inner] - tree.first[inner[0]]))


def _name(tree: Tree, row: int) -> str:
    """Return the name of a node of the tree, given the row of the node in the order of the compiled kernels. For a
    group within a family, return the name of the family.
    """
    while tree.order[row] < 0:
        row = int(tree.above[row])
    return tree.names[int(tree.order[row])]


def _words(tree: Tree, sites: NDArray[Any], row: int, state: str) -> str:
    """Return the error message for a node at which the sum-product algorithm failed."""
    if state == "wide":
        return _too_wide(tree, sites, row)
    rules = {
        "unbounded": "its count is unbounded, because its weight does not decrease",
        "empty": "the weights of all counts of its children underflow: the measurements contradict each other or the "
        "prior",
        "memory": "the messages of this node do not fit into memory: measure more nodes, or set bounds",
    }
    return f"{_name(tree, row)}: {rules[state]}"


def _too_wide(tree: Tree, sites: NDArray[Any], row: int) -> str:
    """Return the error message for a node if its count or the count of a child has too many possible values."""
    first, size = int(tree.first[row]), int(tree.count[row])
    rows = np.array([row, *range(first, first + size)] if size else [row])
    site, far = sites[rows], -np.log(DROP)
    with np.errstate(divide="ignore"):
        width = np.where(site["square"] > 0, np.sqrt(far / site["square"]), far / site["absolute"])
    listed = site["table"] >= 0
    width = np.where(listed, site["length"], np.minimum(2 * width, site["upper"] - site["lower"]) + 1)
    place = int(np.argmax(width))
    name, most = _name(tree, int(rows[place])), int(np.sqrt(TERMS))
    if width[place] >= FAR:
        return (
            f"{name}: this count is not measured, and the sums of its children would have more than about {most:,} "
            "possible values: measure this count, set closer bounds, or use a prior of the leaves, such as 'fitted'"
        )
    return (
        f"{name}: about {width[place]:.2g} counts are possible given its measurements and bounds, and sums of two "
        f"counts with more than about {most:,} possible values each would take an estimated minute or more: use "
        "measurements with less noise, or set closer bounds"
    )


def drawn(tree: Tree, messages: SumProduct, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one vector of all counts of a tree from their exact joint posterior distribution, with the counts in the
    order used by the kernels.

    Parameters
    ----------
    tree : the nodes.
    messages : upward messages.
    rng : numpy Generator.

    Returns
    -------
    int64 (m,)
    """
    first, p = messages.root()
    below = np.cumsum(p)
    total = first + below[:-1].searchsorted(rng.random() * below[-1], side="right")
    return messages.splits(int(total), rng=rng)


@dataclass(frozen=True)
class Mixture:
    """Posterior distribution of the leaf counts of a star, represented as a mixture. Given the component of the
    mixture, the counts are independent.

    A star is a tree in which all leaves are children of the root, and the root is not measured. With N the sum of the
    counts and b = kA - 1, the factor of the prior is N!/Gamma(N + kA) = 1/Gamma(b) int x^(N+1) (1 - x)^b du, where
    x = 1/(1 + exp(-u)). Given u, the counts are independent. The integral is the sum over the nodes u + h j of the
    trapezoidal rule. By the Poisson summation formula, the relative error of the sum is at most
    2 sum_m |Gamma(b + 2 pi i m/h)|/Gamma(b) for every N.

    Parameters
    ----------
    tilts, shares : float64 (j,), log x and the posterior weight of every node; the weights sum to 1.
    log_evidence : log of the sum over all counts, without constants.
    bound : upper bound on the neglected part of the posterior distribution.
    """

    tilts: Array
    shares: Array
    log_evidence: float
    bound: float


class Shares:
    """Posterior density of the mixing variable u (see `Mixture`), computed from the distinct weights of the leaves.

    Parameters
    ----------
    sites, tables, times, concentration : arguments of `mixture`.
    most : largest number of counts in the windows of all leaves.
    """

    def __init__(
        self, sites: NDArray[Any], tables: Array, times: Whole, concentration: float, most: float = MANY_COUNTS
    ) -> None:
        self.most = most
        self.sites, self.tables, self.times = sites, tables, times.astype(np.float64)
        self.b = concentration * float(times.sum()) - 1.0

    def sums(self, tilts: Array) -> Array:
        """Return, for every tilt, the log of the product of all normalising sums, the sum of the means, the sum of the
        variances, and a relative bound on the neglected weights.
        """
        try:
            each = _sites.sums(self.sites, self.tables, tilts, FALL, self.most * len(tilts))
        except OverflowError as error:
            raise Unsolved(too_many(float(error.args[0]) / len(tilts), self.most)) from None
        with np.errstate(over="ignore", under="ignore"):
            lost = np.exp(each[..., 3] - each[..., 0])
        return np.stack([*np.tensordot(self.times, each[..., :3], (0, 0)).T, self.times @ lost])

    def log_density(self, u: Array) -> tuple[Array, Array]:
        """Return the log density at given values of u, and the sums from which the density is computed (see `sums`)."""
        sums = self.sums(-np.logaddexp(0.0, -u))
        return sums[0] - np.logaddexp(0.0, -u) - self.b * np.logaddexp(0.0, u), sums

    def mode(self) -> float:
        """Return an approximate mode of u, computed by applying Newton's method to the equation
        log(1 + sum of means) = log b + u.
        """
        centres = np.where(self.sites["table"] >= 0, 0.5, np.maximum(self.sites["centre"], 0.5))
        u = float(np.log(self.times @ centres / self.b))
        for _ in range(60):
            _, mean, variance, _ = self.sums(np.array([-np.logaddexp(0.0, -u)]))[:, 0]
            slope = min(variance / ((1.0 + np.exp(u)) * (1.0 + mean)) - 1.0, -0.02)
            step = float(np.clip((np.log1p(mean) - np.log(self.b) - u) / -slope, -2.0, 2.0))
            u += step
            if abs(step) < 0.1 / np.sqrt(self.b + 1.0):
                break
        return u


def too_many(counts: float, most: float = MANY_COUNTS) -> str:
    """Return the error message for a star whose leaves have too many possible counts.

    Parameters
    ----------
    counts : total number of possible counts of all leaves.
    most : largest number that is allowed.
    """
    if counts == np.inf:
        return "a leaf has more than 2**26 possible counts: measure it with less noise, or set a closer upper bound"
    fit = "" if most == MANY_COUNTS else " for a fit of the concentration"
    way = "" if most == MANY_COUNTS else " give the concentration as the prior,"
    return (
        f"the root is not measured, and its leaves have about {counts:.2g} possible counts in total, more than the "
        f"limit of {most:.2g}{fit}: measure the root,{way} use measurements with less noise, or set closer bounds"
    )


def _spacing(b: float) -> float:
    """Return the largest spacing of quadrature nodes at which the trapezoidal rule has a relative error of at most
    exp(ALIASED).
    """
    low, high = 0.0, 1.0
    while (gap := float(loggamma(b + 1j * high).real - gammaln(b))) > ALIASED:
        low, high = high, 2 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        gap = float(loggamma(b + 1j * middle).real - gammaln(b))
        low, high = (middle, high) if gap > ALIASED else (low, middle)
    return 2 * np.pi / high


def mixture(sites: NDArray[Any], tables: Array, times: Whole, concentration: float, *, bounded: bool = True) -> Mixture:
    """Compute the posterior distribution of the counts of a star (a tree in which all leaves are children of the root).
    The result is a mixture of product distributions.

    Parameters
    ----------
    sites : structured (d,), distinct weights of the measured leaves, including the factor Gamma(n + A)/n!.
    tables : log weights to which the sites point.
    times : int64 (d,), number of leaves with each weight.
    concentration : A, with A times the number of leaves > 1.
    bounded : whether to compute the bound on the part beyond the ends of the quadrature rule, which is otherwise 0.

    Returns
    -------
    Mixture

    Raises
    ------
    Unsolved
        If the windows of the leaves have too many counts in total.
    """
    law = Shares(sites, tables, times, concentration, MANY_COUNTS if bounded else FIT_COUNTS)
    centre, spacing, block = law.mode(), _spacing(law.b), BLOCK
    nodes: Array = np.asarray(centre + spacing * np.arange(-block, block + 1), dtype=np.float64)
    logs, sums = law.log_density(nodes)
    for side in (-1, 1):
        while logs[0 if side < 0 else -1] > logs.max() + NARROW:
            steps = side * spacing * np.arange(1.0, block + 1)[::side]
            more: Array = nodes[0 if side < 0 else -1] + steps
            values, others = law.log_density(more)
            parts = [(more, values, others), (nodes, logs, sums)][::-side]
            nodes, logs, sums = (np.concatenate(pair, axis=-1) for pair in zip(*parts, strict=True))
    total = float(logsumexp(logs))
    shares = np.exp(logs - total)
    beyond = [_beyond(law, nodes, sums, logs, spacing, total, side) for side in ((-1, 1) if bounded else ())]
    # rounding errors of the log density, which is a difference of large numbers
    rounding = float(np.finfo(float).eps * (np.abs(sums[0]) + law.b * np.logaddexp(0.0, nodes)).max())
    bound = float(sum(beyond) + shares @ sums[3] + 2.1 * np.exp(ALIASED) + rounding)
    kept = shares > SPARE / len(shares)
    return Mixture(
        -np.logaddexp(0.0, -nodes[kept]),
        shares[kept] / shares[kept].sum(),
        total + float(np.log(spacing)),
        bound + float(shares[~kept].sum()),
    )


def _beyond(law: Shares, nodes: Array, sums: Array, logs: Array, spacing: float, total: float, side: int) -> float:
    """Return an upper bound on the part of the quadrature sum beyond the lower or the upper end of the rule. The bound
    is relative to the sum over all nodes of the rule.

    The log of every sum is convex in the tilt log x, and is thus at most its chord on a step; b log(1 - x) is concave.
    The log density is therefore at most the tangent of the sum of chord and concave part at the inner end of the step.
    The last part is a geometric series.
    """
    place = 0 if side < 0 else -1
    inner, value, log_sum = float(nodes[place]), float(logs[place]), float(sums[0][place])
    step, bound = side * (inner - float(nodes[int(np.argmax(logs))])), 0.0
    if side > 0:
        top = law.sums(np.zeros(1))[:, 0]
        ceiling = float(top[0] + np.log1p(top[3]))
        last = (ceiling - total - np.log(SPARE) - np.log(-np.expm1(-law.b * spacing))) / law.b
    while True:
        if side > 0 and inner >= last:
            return bound + SPARE
        rest = inner + log_sum - np.log(-np.expm1(-spacing)) - total
        if side < 0 and rest < np.log(SPARE):
            return bound + SPARE
        outer = min(inner + step, last) if side > 0 else inner - step
        reached, found = law.log_density(np.array([outer]))
        next_sum = float(found[0, 0] + np.log1p(found[3, 0]))
        change = float(np.logaddexp(0.0, -inner) - np.logaddexp(0.0, -outer))
        slope = 1.0 + (next_sum - log_sum) / change - law.b * np.exp(inner)
        highest = value - total + max(slope * change, 0.0)
        if highest < np.log(SPARE):
            bound += float(np.exp(highest)) * (np.ceil(abs(outer - inner) / spacing) + 1)
            inner, value, log_sum, step = outer, float(reached[0]), next_sum, 2 * step
        elif (step := step / 2) < spacing:
            return float(np.inf)
