"""Posteriors by transforms of releases whose weights are shares: algorithms 1 (independent) and 2; and of noisy counts.

1/T^M = int u^(M - 1) exp(-u T) du/Gamma(M) makes the multinomial likelihood of weights x_s a mixture of products over
nodes u (trapezoid rule in log u); each product is one call of `_product_transforms.product`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaincinv, gammaln, loggamma, xlogy

from . import _geometric_boxes, _mode_levels
from ._additive_noise import NoiseModel
from ._count_priors import CountsPrior
from ._mode_levels import Columns
from ._product_tilts import Frame
from ._product_transforms import mixture
from ._transformed_counts import TransformedCounts

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_TINY = 1e-280
_DIGITS = 38.0  # exp(-38): quadrature error, and mass neglected by windows


@dataclass(frozen=True)
class Problem:
    """One release by algorithm 2, or with `drawn` by algorithm 1 (independent).

    Parameters
    ----------
    released : int64 (S,).
    noise : NoiseModel.
    prior : CountsPrior.
    drawn : whether weights and total are posterior draws given the noisy counts (equations 4 and 5).
    """

    released: Whole
    noise: NoiseModel
    prior: CountsPrior
    drawn: bool

    @property
    def total(self) -> int:
        """M, the released total."""
        return int(self.released.sum())

    @cached_property
    def columns(self) -> Columns:
        """Components with the same released count and prior together."""
        return _mode_levels.columns(self.released, self.prior.shapes(len(self.released)), together=True)

    @cached_property
    def doses(self) -> int:
        """How often noise is added to a count."""
        return 2 if self.drawn else 1

    @cached_property
    def span(self) -> int:
        """How far the total, or the sum of the weights, can lie from the released total."""
        one = ceil((60.0 + 3.0 * len(self.released)) / self.noise.epsilon)
        return self.doses * int(min(self.noise.support * len(self.released), one))


def solve(problem: Problem) -> TransformedCounts:
    """The law of the true counts.

    Parameters
    ----------
    problem : Problem.

    Returns
    -------
    TransformedCounts. O(nodes U (W + L log L)), a few tens to some hundreds of nodes.

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
    empty = -problem.total * np.log(len(problem.released))  # all weights 0: equal shares
    shapes = problem.prior.shapes(len(problem.released))
    start = int(np.argmin(np.abs(nodes - (problem.total + shapes.sum()) / problem.total)))
    orders: list[Iterable[int]] = [range(start, len(nodes)), range(start - 1, -1, -1)]
    if np.all(logs.x[:, 0] <= 0):
        orders.append([len(nodes)])
    return mixture(frame, logs.factors, np.append(log_nodes, empty), orders, logs.scales)


def solve_noisy(noisy: Whole, total: int, noise: NoiseModel, prior: CountsPrior) -> TransformedCounts:
    """The law given the noisy components and the noisy total themselves: one product.

    Parameters
    ----------
    noisy : int64 (S,), negative ones included.
    total : noisy total.
    noise, prior : of every count.

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
        raise ValueError("the release has probability 0 under this mechanism")
    x = low[:, None] + np.arange(width)
    log_prior = np.stack([prior.log_component(row, float(a)) for row, a in zip(x, columns.shape, strict=True)])
    return Frame(
        columns, low, totals, log_g + prior.log_total(totals), log_prior, noise.epsilon, noise.far < noise.support
    )


def _windows(problem: Problem) -> tuple[Whole, int]:
    """First true count of every column and the number of them: the law of the multinomial's own weights, and the
    noise."""
    total, c = problem.total, problem.columns
    whole = float(problem.prior.shapes(len(problem.released)).sum())
    slack = int(min(problem.doses * problem.noise.far, problem.span))
    if total == 0:
        return np.zeros(len(c.released), dtype=np.int64), problem.span + 1
    scale = total / (total + whole)
    shape = c.released + c.shape
    above = gammainccinv(shape, np.exp(-_DIGITS)) * scale * (1 + problem.span / total)
    below = gammaincinv(shape, np.exp(-_DIGITS)) * scale * max(1 - problem.span / total, 0)
    low = np.maximum(np.floor(below).astype(np.int64) - slack, 0)
    high = np.minimum(np.ceil(above), float(total + problem.span)).astype(np.int64) + slack
    return low, int((high - low).max()) + 1


def _totals(problem: Problem) -> tuple[Whole, Array]:
    """Totals and the log of P(released total | T), up to a constant."""
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
        return totals, np.log(_geometric_boxes.smooth(likelihood[None], epsilon=noise.epsilon, reach=reach)[0])


def _nodes(total: int, span: int) -> tuple[Array, Array]:
    """Nodes u and log weights for int u^(M - 1) exp(-u T) du/Gamma(M), T within `span` of M.

    The step makes the rule's error |Gamma(M + 2 pi i/h)|/Gamma(M) smaller than exp(-38).
    """
    frequency = np.geomspace(1, 1e6, 4001)
    decay = loggamma(total + 1j * frequency).real - gammaln(total)
    step = 2 * np.pi / frequency[np.argmax(decay < -_DIGITS)]
    first = np.log(gammaincinv(total, np.exp(-_DIGITS)) / (total + span))
    last = np.log(gammainccinv(total, np.exp(-_DIGITS)) / max(total - span, 1))
    nodes = np.exp(np.arange(np.floor(first / step), np.ceil(last / step) + 1) * step)
    return nodes, np.log(step) + total * np.log(nodes) - gammaln(total)


class _Likelihood:
    """Factors of every node; the last index stands for all weights 0."""

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
        """Of one node, and its largest in every column; the last one that was asked for is kept."""
        if self._last is None or self._last[0] != key:
            if key < len(self.nodes):
                logs = np.asarray(self.logs - self.nodes[key] * self.weight)
            else:
                logs = np.where(self.weight == 0, 0.0, -np.inf)
            self._last = key, logs, logs.max(axis=1, keepdims=True)
        return self._last[1:]

    def scales(self, key: int) -> float:
        """Log of the constant that `factors` omits from a product."""
        return float(self._log_likelihood(key)[1][:, 0] @ self.repeats)

    def factors(self, key: int) -> Array:
        """Likelihood of the true counts, each column's weights scaled to largest 1."""
        logs, largest = self._log_likelihood(key)
        likelihood = np.exp(logs - largest)
        if not self.problem.drawn:
            return self._smooth(likelihood)
        return self._smooth(self._smooth(np.where(self.x < 0, 0.0, likelihood)) / self.above_zero)

    def _smooth(self, likelihood: Array) -> Array:
        """Likelihood of noisy counts -> of the true counts."""
        noise = self.problem.noise
        likelihood = np.where(likelihood < _TINY, 0.0, likelihood)  # denormal numbers are slow and say nothing
        return noise.peak * _geometric_boxes.smooth(likelihood, epsilon=noise.epsilon, reach=self.reach)
