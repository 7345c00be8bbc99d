"""Posterior distributions of true counts, computed by Fourier transforms. The data are noisy counts, or releases that
were produced by algorithm 1 (independent) or 2 of Wang (2020).

The identity 1/T^M = int u^(M - 1) exp(-u T) du/Gamma(M) makes the multinomial likelihood of weights x_s a mixture of
products over nodes u (trapezoid rule in log u). Each product is one call of `product`.

The tilt of a product of independent counts coupled through their total is chosen so that the transform is short.

A product is computed by one transform, and a mixture is a weighted sum of products.

Each product has a separate tilt (Newton's method on the cumulants of sum N - T) and a separate transform length L. The
length follows from an exponential bound on the mass that wraps around, that is, the mass of totals that differ by L, 2
L, ..
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaincinv, gammaln, loggamma, logsumexp, xlogy

from ..._kernels import geometric
from ..._printing import steps
from . import _frequency_products, _mode_levels
from ._coupled_counts import Certificate, Chain, Solved, TransformedCounts
from ._mode_levels import Columns
from ._noise import CountsPrior, NoiseModel

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_RESERVE = 44.0  # minus the log of the mass exp(-44) that may wrap around, relative to the free sum
_DOWNWARD = 8.0  # steepest tilt towards 0; windows end there, so sums cannot overflow
_STEEPEST = 600.0  # largest exponent of a tilt inside a window


@dataclass(frozen=True)
class Frame:
    """Data that all components of the mixture (product distributions) share: columns, ranges of counts and totals, and
    the prior.

    Attributes
    ----------
    columns : columns of the components.
    low : int64 (U,), first true count of every column.
    totals : int64 (n,), increasing by 1.
    log_g : float64 (n,), log factor of the total, prior included.
    log_prior : float64 (U, W), log prior weight of every true count.
    rate : epsilon, the steepest tilt at which sums over all integers converge.
    endless : whether the noise extends beyond the grids; if not, nothing is neglected.
    """

    columns: Columns
    low: Whole
    totals: Whole
    log_g: Array
    log_prior: Array
    rate: float
    endless: bool

    @property
    def start(self) -> int:
        """Sum of the smallest possible true counts over all components of the release."""
        return int(self.low @ self.columns.repeats)


class Tilted:
    """Weight of the true counts: a product of one factor per component and one factor for the total. The cumulants of
    the sum of the components minus the total are computed under an exponential tilt.
    """

    def __init__(self, frame: Frame, factors: Array) -> None:
        self.frame, self.factors = frame, factors / factors.max(axis=1, keepdims=True)
        self.log_scale = float(np.log(factors.max(axis=1)) @ frame.columns.repeats)
        self.x = np.arange(factors.shape[1], dtype=float)
        self.powers = np.stack([np.ones_like(self.x), self.x, self.x**2], axis=1)
        self.away = (frame.totals - frame.start).astype(float)
        self.steepest = min(frame.rate, _STEEPEST / factors.shape[1])

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Return the log of the sum of the exponentially tilted weights. Also return the mean and the variance of the
        sum of the components minus the total under the tilt.
        """
        repeats = self.frame.columns.repeats
        s0, s1, s2 = (self.factors @ (self.powers * np.exp(theta * self.x)[:, None])).T
        mean = s1 / s0
        tail = self.frame.log_g - theta * self.away
        g = np.exp(tail - tail.max())
        mass, mean_g = float(g.sum()), float(g @ self.away) / float(g.sum())
        variance_g = float(g @ (self.away - mean_g) ** 2) / mass
        log_sum = float(np.log(s0) @ repeats) + float(np.log(mass) + tail.max()) + self.log_scale
        return log_sum, float(mean @ repeats) - mean_g, float((s2 / s0 - mean**2) @ repeats) + variance_g

    def log_sum(self, theta: float) -> float:
        """Return the log of the sum of the exponentially tilted weights over all counts and totals."""
        tail = self.frame.log_g - theta * self.away
        of_total = float(np.log(np.exp(tail - tail.max()).sum()) + tail.max())
        with np.errstate(divide="ignore"):  # a weight may underflow to 0 under an extreme tilt
            sums = np.log(self.factors @ np.exp(theta * self.x))
        return float(sums @ self.frame.columns.repeats) + of_total + self.log_scale

    def weights(self, theta: float) -> tuple[Array, Array]:
        """Return the exponentially tilted factors of the components and of the total, each normalised to a sum of 1."""
        h = self.factors * np.exp(theta * self.x)
        tail = self.frame.log_g - theta * self.away
        g = np.exp(tail - tail.max())
        return h / h.sum(axis=1, keepdims=True), g / g.sum()

    def best(self) -> float:
        """Return the exponential tilt under which the sum of the components minus the total has mean 0, to within half
        a standard deviation. The size of the tilt is limited by the rate at which the noise decays.
        """
        limit = 0.9 * self.steepest
        low, high, theta = -max(limit, _DOWNWARD), limit, 0.0
        for _ in range(40):
            _, mean, variance = self.cumulants(theta)
            if abs(mean) <= 0.5 * np.sqrt(max(variance, 0.0)) or high - low < 1e-6 * limit:
                break
            low, high = (low, theta) if mean > 0 else (theta, high)
            step = theta - mean / max(variance, 1e-300)
            theta = step if low < step < high else 0.5 * (low + high)
        return theta


def length_of(tilted: Tilted, theta: float, log_sum: float, variance: float) -> tuple[int, list[tuple[float, float]]]:
    """Return a sufficient length of the Fourier transform, and the bounds from which this length is computed. At this
    length, the wrapped-around mass of the totals is at most exp(-reserve) times the sum of all weights.

    Parameters
    ----------
    tilted : product of factors with its tilt.
    theta : tilt.
    log_sum, variance : log of the free sum at that tilt, and its second cumulant.

    Returns
    -------
    (length, [(gap, log sum at theta +- gap), ..])
    """
    needed, bounds = 0.0, []
    for sign in (1.0, -1.0):
        room = (0.95 * tilted.steepest if sign > 0 else max(0.95 * tilted.steepest, _DOWNWARD + 1.0)) - sign * theta
        gaps = np.unique(
            np.minimum([0.05 * room, 0.15 * room, 0.4 * room, 0.8 * room, 6.0 / np.sqrt(max(variance, 1e-300))], room)
        )
        logs = [tilted.log_sum(theta + sign * gap) for gap in gaps]
        lengths = [(log_b - log_sum + _RESERVE) / gap for gap, log_b in zip(gaps, logs, strict=True)]
        best = int(np.argmin(lengths))
        needed = max(needed, lengths[best])
        bounds.append((float(gaps[best]), logs[best]))
    return int(np.ceil(needed)), bounds


_KEPT = 37.0  # products below exp(-37) of the largest product are neglected
_HELD = 1 << 24  # number of values that are kept in memory for log probabilities


@dataclass(frozen=True)
class Product:
    """Numerical results for one component of a mixture whose components are product distributions. They consist of the
    log weight, the marginals, the distribution of the total, the transform length, the bound on the wrapped-around
    mass, and the condition number.

    Parameters
    ----------
    log_weight : float.
    marginals : float64 (U, W).
    total : float64 (n,).
    length : length of the transform.
    wrapped : bound on the wrapped mass.
    condition : sum of absolute values divided by the sum.
    """

    log_weight: float
    marginals: Array
    total: Array
    length: int
    wrapped: float
    condition: float


def product(frame: Frame, factors: Array, log_weight: float, least: float = -np.inf) -> Product | None:
    """Compute the weight and the marginal distributions of one component of the mixture (a product) by a Fourier
    transform.

    Parameters
    ----------
    frame : data shared with other products.
    factors : float64 (U, W), non-negative, with a positive entry in each row: h(low + x), without the prior.
    log_weight : log weight of the product.
    least : products whose bound is below this number are not computed.

    Returns
    -------
    Product, or None if its bound is below `least` or its weight is 0. The cost is O(U (W + L log L)).
    """
    factors = factors * np.exp(frame.log_prior)
    if not np.all(factors.sum(axis=1) > 0):
        return None
    tilted = Tilted(frame, factors)
    theta = tilted.best()
    log_sum, _, variance = tilted.cumulants(theta)
    if log_weight + log_sum < least:
        return None
    needed, bounds = length_of(tilted, theta, log_sum, variance)
    h, g = tilted.weights(theta)
    length = int(scipy.fft.next_fast_len(max(needed, factors.shape[1], 32), real=True))
    place = (frame.start - frame.totals) % length
    tail = np.bincount(place, g, length)
    sums, adjoints, tail_adjoint = _frequency_products.sweep(
        scipy.fft.rfft(h, length, axis=1),
        scipy.fft.rfft(tail),
        np.arange(len(h))[None],
        weight=[1.0],
        repeats=frame.columns.repeats,
        length=length,
    )
    normaliser = float(sums[0, 0])
    if not normaliser > 0:
        return None
    others = scipy.fft.irfft(adjoints, length, axis=1)[:, : factors.shape[1]]
    total = np.maximum(g * scipy.fft.irfft(tail_adjoint, length)[place], 0.0)
    wrapped = sum(np.exp(log_b - log_sum - gap * length) for gap, log_b in bounds) / normaliser
    marginals = np.maximum(h * others, 0.0)
    marginals /= marginals.sum(axis=1, keepdims=True)
    condition = float(sums[0, 1]) / normaliser
    log_whole = log_weight + log_sum + float(np.log(normaliser))
    return Product(log_whole, marginals, total / total.sum(), length, float(wrapped), condition)


class _ProductTerms:
    """Components of a mixture that was computed by Fourier transforms. Each component is a product of factors."""

    def __init__(self, frame: Frame, factors: Callable[[int], Array], keys: list[int], logs: Array, lengths: list[int]):
        self.frame, self.factors, self.keys, self.logs, self.lengths = frame, factors, keys, logs, lengths
        self.log_whole, self._held = 0.0, {}  # type: float, dict[int, Array]
        self._room = _HELD // max(frame.log_prior.size, 1)

    def _log_factors(self, key: int) -> Array:
        """Return the logs of the factors of one component of the mixture, which is a product distribution. The factors
        are cached if the memory is sufficient, because the search for the most probable vectors uses them repeatedly.
        """
        log_factors = self._held.get(key)
        if log_factors is None:
            with np.errstate(divide="ignore"):
                log_factors = np.log(self.factors(key))
            if len(self._held) < self._room:
                self._held[key] = log_factors
        return log_factors

    def chain(self, term: int) -> Chain:
        """Return the factors of one component of the mixture, with the exponential tilt at which the component was
        computed.
        """
        frame = self.frame
        tilted = Tilted(frame, self.factors(self.keys[term]) * np.exp(frame.log_prior))
        h, g = tilted.weights(tilted.best())
        tail: Array = np.bincount((frame.start - frame.totals) % self.lengths[term], g, self.lengths[term]).astype(
            float
        )
        h = h[frame.columns.of]
        return Chain(h, h, None, tail)

    def log_probabilities(self, vectors: Whole) -> Array:
        """Return the log probabilities of several vectors of counts, with one vector per row."""
        frame, of = self.frame, self.frame.columns.of
        place, total = vectors - frame.low[of], vectors.sum(axis=1) - frame.totals[0]
        width = frame.log_prior.shape[1]
        inside = ((place >= 0) & (place < width)).all(axis=1) & (total >= 0) & (total < len(frame.totals))
        place, total = np.where(inside[:, None], place, 0), np.where(inside, total, 0)
        logs = np.full((len(self.keys), len(vectors)), -np.inf)
        for row, (key, weight) in enumerate(zip(self.keys, self.logs, strict=True)):
            logs[row] = weight + self._log_factors(key)[of, place].sum(axis=1)
        prior = frame.log_prior[of, place].sum(axis=1) + frame.log_g[total]
        return np.where(inside, logsumexp(logs, axis=0) + prior - self.log_whole, -np.inf)


def _edges(frame: Frame, parts: list[Product], weights: Array) -> float:
    """Return an upper bound on the posterior mass of the neglected counts. The bound is computed from the probabilities
    at both ends of the windows and the slowest decay of the noise.
    """
    if not frame.endless:
        return 0.0
    ends = sum(w * (part.marginals[:, -1] + np.where(frame.low > 0, part.marginals[:, 0], 0.0))
               for w, part in zip(weights, parts, strict=True))  # fmt: skip
    sides = sum(w * (part.total[-1] + (part.total[0] if frame.totals[0] > 0 else 0.0))
                for w, part in zip(weights, parts, strict=True))  # fmt: skip
    return float((ends @ frame.columns.repeats + sides) / -np.expm1(-frame.rate))


def mixture(
    frame: Frame,
    factors: Callable[[int], Array],
    log_weights: Array,
    orders: Iterable[Iterable[int]],
    scales: Callable[[int], float] = lambda _: 0.0,
) -> TransformedCounts:
    """Compute a distribution of counts that is a mixture of product distributions.

    Parameters
    ----------
    frame : data shared by the products.
    factors : mapping from an index to float64 (U, W), the factors of a product without the prior.
    log_weights : float64 (T,), log weights of the products.
    orders : sequences of indices; a sequence ends at the first product that is negligible compared with the largest
        product so far.
    scales : mapping from an index to the log of the constant that `factors` omits from a product.

    Returns
    -------
    TransformedCounts

    Raises
    ------
    ValueError
        If all products have weight 0.
    """
    solved: dict[int, Product] = {}
    best = -np.inf
    for order in orders:
        for key in steps(order, len(log_weights), "quadrature nodes at most"):
            log_weights[key] += scales(key)
            solved_product = product(
                frame, factors(key), float(log_weights[key]), best - _KEPT - np.log(len(log_weights))
            )
            if solved_product is None:
                if best > -np.inf:
                    break
                continue
            solved[key] = solved_product
            best = max(best, solved_product.log_weight)
            if solved_product.log_weight < best - _KEPT:
                break
    if not solved:
        raise ValueError(
            "the release has probability 0 under this mechanism and these windows: check "
            "the settings, or choose a larger window"
        )
    keys = sorted(solved)
    logs = np.array([solved[key].log_weight for key in keys])
    log_whole = float(logsumexp(logs))
    weights = np.exp(logs - log_whole)
    weights /= weights.sum()
    parts = [solved[key] for key in keys]
    certificate = Certificate(
        pruned=float(len(log_weights) * np.exp(-_KEPT)),
        wrapped=float(sum(w * part.wrapped for w, part in zip(weights, parts, strict=True))),
        cut=_edges(frame, parts, weights),
        condition=float(sum(w * part.condition for w, part in zip(weights, parts, strict=True))),
    )
    marginals = sum(w * part.marginals for w, part in zip(weights, parts, strict=True))
    total = sum(w * part.total for w, part in zip(weights, parts, strict=True))
    terms = _ProductTerms(frame, factors, keys, log_weights[keys], [part.length for part in parts])
    terms.log_whole = log_whole
    law = Solved(frame.columns.of, frame.low, list(marginals), frame.totals, np.asarray(total), weights, certificate)
    return TransformedCounts(law, terms)


_TINY = 1e-280
_DIGITS = 38.0  # minus the log of exp(-38), the quadrature error and the mass neglected by windows


@dataclass(frozen=True)
class Problem:
    """Release of counts by algorithm 1 or 2 of Wang (2020), with its noise distribution and the prior of the true
    counts. The release was produced by algorithm 1 (independent) if `drawn` is true, and otherwise by algorithm 2.

    Parameters
    ----------
    released : int64 (S,), released components.
    noise : noise of one count.
    prior : prior of the counts.
    drawn : whether weights and total are posterior draws given the noisy counts (equations 4 and 5).
    """

    released: Whole
    noise: NoiseModel
    prior: CountsPrior
    drawn: bool

    @property
    def total(self) -> int:
        """Released total M, the sum of the released components."""
        return int(self.released.sum())

    @cached_property
    def columns(self) -> Columns:
        """Groups of components (columns) with the same released count and the same prior."""
        return _mode_levels.columns(self.released, self.prior.shapes(len(self.released)), together=True)

    @cached_property
    def doses(self) -> int:
        """Number of times that the release mechanism adds noise to each count (1 or 2)."""
        return 2 if self.drawn else 1

    @cached_property
    def span(self) -> int:
        """Largest distance with non-negligible probability between the released total and the true total, or between
        the released total and the sum of the weights.
        """
        one = ceil((60.0 + 3.0 * len(self.released)) / self.noise.epsilon)
        return self.doses * int(min(self.noise.support * len(self.released), one))


def solve(problem: Problem) -> TransformedCounts:
    """Compute the posterior distribution of the true counts given a release by algorithm 1 (independent variant) or
    algorithm 2 of Wang (2020).

    Parameters
    ----------
    problem : problem to solve.

    Returns
    -------
    TransformedCounts. The cost is O(nodes U (W + L log L)), with tens to hundreds of nodes.

    Raises
    ------
    ValueError
        If the release has probability 0.
    """
    low, width = _windows(problem)
    totals, log_g = _totals(problem)
    frame = _frame(problem.columns, problem.prior, low, width, totals, log_g, problem.noise)
    if problem.total == 0:
        ones = np.ones((len(low), width))
        return mixture(frame, lambda _: ones, np.zeros(1), [[0]])
    nodes, log_nodes = _nodes(problem.total, problem.span)
    logs = _Likelihood(problem, low, width, nodes)
    empty = -problem.total * np.log(len(problem.released))  # if all weights are 0, the shares are equal
    shapes = problem.prior.shapes(len(problem.released))
    start = int(np.argmin(np.abs(nodes - (problem.total + shapes.sum()) / problem.total)))
    orders: list[Iterable[int]] = [range(start, len(nodes)), range(start - 1, -1, -1)]
    if np.all(logs.x[:, 0] <= 0):
        orders.append([len(nodes)])
    return mixture(frame, logs.factors, np.append(log_nodes, empty), orders, logs.scales)


def solve_noisy(noisy: Whole, total: int, noise: NoiseModel, prior: CountsPrior) -> TransformedCounts:
    """Compute the posterior distribution of the true counts given the noisy components and the noisy total, as a
    mixture with a single component.

    Parameters
    ----------
    noisy : int64 (S,), noisy components, which may be negative.
    total : noisy total.
    noise, prior : noise and prior of every count.

    Returns
    -------
    TransformedCounts
    """
    columns = _mode_levels.columns(noisy, prior.shapes(len(noisy)), together=True)
    span = int(min(noise.support, ceil((60.0 + 3.0 * len(noisy)) / noise.epsilon)))
    totals = np.arange(max(total - span, 0), max(total, 0) + span + 1)
    away = np.abs(totals - total)
    log_g = np.where(away <= noise.support, np.log(noise.peak) - noise.epsilon * away, -np.inf)
    low = np.maximum(columns.released - span, 0)
    width = int((np.maximum(columns.released, 0) + span - low).max()) + 1
    frame = _frame(columns, prior, low, width, totals, log_g, noise)
    away = np.abs(low[:, None] + np.arange(width) - columns.released[:, None])
    nearest = away.min(axis=1, keepdims=True)
    factors = np.where(away <= noise.support, np.exp(-noise.epsilon * (away - nearest)), 0.0)
    return mixture(frame, lambda _: factors, np.zeros(1), [[0]])


def _frame(
    columns: Columns, prior: CountsPrior, low: Whole, width: int, totals: Whole, log_g: Array, noise: NoiseModel
) -> Frame:
    if not np.isfinite(log_g).any():
        raise ValueError(
            "the release has probability 0 under this mechanism: check the released counts and the settings"
        )
    x = low[:, None] + np.arange(width)
    log_prior = np.stack([prior.log_component(row, float(a)) for row, a in zip(x, columns.shape, strict=True)])
    return Frame(
        columns, low, totals, log_g + prior.log_total(totals), log_prior, noise.epsilon, noise.far < noise.support
    )


def _windows(problem: Problem) -> tuple[Whole, int]:
    """Return the smallest plausible true count of every column, and the number of plausible true counts per column.
    This number is the same for all columns. The range follows from the distributions of the noise and of the weights of
    the multinomial distribution.
    """
    total, c = problem.total, problem.columns
    concentration_sum = float(problem.prior.shapes(len(problem.released)).sum())
    slack = int(min(problem.doses * problem.noise.far, problem.span))
    if total == 0:
        return np.zeros(len(c.released), dtype=np.int64), problem.span + 1
    scale = total / (total + concentration_sum)
    shape = c.released + c.shape
    above = gammainccinv(shape, np.exp(-_DIGITS)) * scale * (1 + problem.span / total)
    below = gammaincinv(shape, np.exp(-_DIGITS)) * scale * max(1 - problem.span / total, 0)
    low = np.maximum(np.floor(below).astype(np.int64) - slack, 0)
    high = np.minimum(np.ceil(above), float(total + problem.span)).astype(np.int64) + slack
    return low, int((high - low).max()) + 1


def _totals(problem: Problem) -> tuple[Whole, Array]:
    """Return the true totals T with non-negligible probability, and log P(released total | T) up to a constant."""
    noise, total = problem.noise, problem.total
    reach = int(min(noise.support, problem.span // problem.doses))
    totals = np.arange(max(total - problem.doses * reach, 0), total + problem.doses * reach + 1)
    if not problem.drawn:
        if total == 0:
            with np.errstate(divide="ignore"):
                return totals, np.log(noise.at_least(totals))
        return totals, -noise.epsilon * np.abs(totals - total)
    n = np.arange(int(totals[0]) - reach, int(totals[-1]) + reach + 1)
    near = np.abs(n - total) <= reach
    likelihood = np.where(near, np.exp(-noise.epsilon * np.abs(n - total)) / noise.above_zero(n), 0.0)
    with np.errstate(divide="ignore"):
        return totals, np.log(geometric.smooth(likelihood[None], epsilon=noise.epsilon, reach=reach)[0])


def _nodes(total: int, span: int) -> tuple[Array, Array]:
    """Return the nodes u and the log weights of a trapezoidal rule for the integral of u^(M - 1) exp(-u T)/Gamma(M)
    over u > 0. The number M is `total`. The rule is for all T within `span` of M.

    The step h is chosen so that the quadrature error |Gamma(M + 2 pi i/h)|/Gamma(M) is smaller than exp(-38).
    """
    frequency = np.geomspace(1, 1e6, 4001)
    decay = loggamma(total + 1j * frequency).real - gammaln(total)
    step = 2 * np.pi / frequency[np.argmax(decay < -_DIGITS)]
    first = np.log(gammaincinv(total, np.exp(-_DIGITS)) / (total + span))
    last = np.log(gammainccinv(total, np.exp(-_DIGITS)) / max(total - span, 1))
    nodes = np.exp(np.arange(np.floor(first / step), np.ceil(last / step) + 1) * step)
    return nodes, np.log(step) + total * np.log(nodes) - gammaln(total)


class _Likelihood:
    """Likelihood factors of the true counts at every quadrature node. The last index stands for the case in which all
    weights are 0.
    """

    def __init__(self, problem: Problem, low: Whole, width: int, nodes: Array) -> None:
        self.problem, self.nodes, self.reach = problem, nodes, problem.noise.far
        margin = self.reach * problem.doses
        self.x = low[:, None] - margin + np.arange(width + 2 * margin)
        self.weight = np.maximum(self.x, 0)
        self.logs = xlogy(problem.columns.released[:, None], self.weight)
        self.repeats = problem.columns.repeats
        noisy = self.x[:, self.reach : -self.reach]
        self.above_zero = problem.noise.above_zero(noisy) if problem.drawn else np.ones(())
        self._last: tuple[int, Array, Array] | None = None

    def _log_likelihood(self, key: int) -> tuple[Array, Array]:
        """Return the log likelihood of the noisy counts at one quadrature node, and its largest value in every column.
        The most recent result is cached.
        """
        if self._last is None or self._last[0] != key:
            if key < len(self.nodes):
                logs = np.asarray(self.logs - self.nodes[key] * self.weight)
            else:
                logs = np.where(self.weight == 0, 0.0, -np.inf)
            self._last = key, logs, logs.max(axis=1, keepdims=True)
        return self._last[1:]

    def scales(self, key: int) -> float:
        """Return the log of the constant that scales the likelihoods in one component of the mixture. The method
        `factors` divides the likelihoods by this constant.
        """
        return float(self._log_likelihood(key)[1][:, 0] @ self.repeats)

    def factors(self, key: int) -> Array:
        """Return the likelihood of the true counts at one quadrature node. In each column, the likelihood of the noisy
        counts is first scaled to a largest value of 1.
        """
        logs, largest = self._log_likelihood(key)
        likelihood = np.exp(logs - largest)
        if not self.problem.drawn:
            return self._smooth(likelihood)
        return self._smooth(self._smooth(np.where(self.x < 0, 0.0, likelihood)) / self.above_zero)

    def _smooth(self, likelihood: Array) -> Array:
        """Convert a likelihood of the noisy counts to a likelihood of the true counts."""
        noise = self.problem.noise
        likelihood = np.where(likelihood < _TINY, 0.0, likelihood)  # subnormal numbers are slow and negligible
        return noise.peak * geometric.smooth(likelihood, epsilon=noise.epsilon, reach=self.reach)
