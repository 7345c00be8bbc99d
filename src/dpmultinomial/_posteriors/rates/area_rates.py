"""Posterior distributions of rates or shares. They are mixtures of gamma distributions (for rates) or beta
distributions (for shares) over counts, exposures and hyperparameters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, ndtri

from ..._printing import steps
from . import _rate_sums
from .integration import HERMITE, Hyperparameters
from .model import Fit, Model

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_AT_ONCE = 2_000_000  # number of hyperparameter points times areas in a block
_SAMPLE = 60  # number of areas whose errors are computed
_HERMITE_7 = (
    np.polynomial.hermite_e.hermegauss(7)[0],
    np.polynomial.hermite_e.hermegauss(7)[1] / np.sqrt(2 * np.pi),
)
_TRIM = 1e-13  # predicted counts with smaller probabilities are omitted at both ends


@dataclass(frozen=True)
class Points:
    """Quadrature points of the hyperparameters of every area.

    Parameters
    ----------
    first, second : float64 (points, n), arguments of the kernel.
    weights : float64 (points,), with sum 1.
    """

    first: Array
    second: Array
    weights: Array


def _points(
    model: Model, hyper: Hyperparameters, fits: Sequence[Fit], weights: Array, rule: tuple[Array, Array]
) -> Points:
    """Return a two-dimensional quadrature rule for each area. It is the product of a rule for log a and a rule for the
    linear predictor x_i'b given log a.
    """
    first, second = [], []
    for fit in fits:
        sd = np.sqrt(np.einsum("ij,jk,ik->i", model.design, fit.covariance, model.design))
        centre = np.r_[fit.parameters[0], hyper.mean(fit)]
        for z in rule[0]:
            a, b = model.pair(centre, z * sd)
            first.append(a)
            second.append(b)
    return Points(np.stack(first), np.stack(second), np.outer(weights, rule[1]).ravel())


@dataclass(frozen=True)
class Numbers:
    """Posterior summaries of the rates and counts of all areas.

    Parameters
    ----------
    mean, sd, lower, upper : float64 (n,), of the rates.
    counts : float64 (n, 4), mean, sd, lower and upper end of the true counts.
    """

    mean: Array
    sd: Array
    lower: Array
    upper: Array
    counts: Array


class AreaRates:
    """Posterior distributions of the rates of all areas in a regression.

    Parameters
    ----------
    model : the regression.
    hyperparameters : posterior of its hyperparameters.
    """

    def __init__(self, model: Model, hyperparameters: Hyperparameters) -> None:
        self.model, self.hyperparameters = model, hyperparameters

    @cached_property
    def _own(self) -> "Points":
        nodes = self.hyperparameters.nodes
        return _points(self.model, self.hyperparameters, nodes.fits, nodes.weights, HERMITE)

    def _blocks(self, points: int) -> Iterator[slice]:
        n, size = len(self.model), max(_AT_ONCE // points, 1)
        return (slice(i, min(i + size, n)) for i in range(0, n, size))

    def evaluate(
        self, rows: slice, levels: ArrayLike, at: Array, points: "Points | None" = None, weights: Array | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """Return posterior moments, quantiles and probabilities of the rates of several areas (see
        `_rate_sums.mixtures`).

        Parameters
        ----------
        rows : consecutive areas.
        levels : probabilities of the quantiles.
        at : float64 (rows, any number), rates at which the distribution functions are computed.
        points : points of the hyperparameters; None uses the points of the posterior.
        weights : float64 (2, points), weights of two rules; None uses the weights of the points for both.

        Returns
        -------
        (rates, quantiles, at, counts)
        """
        levels, used = np.asarray(levels, dtype=np.float64), self._own if points is None else points
        rules = np.stack([used.weights, used.weights]) if weights is None else weights
        return _rate_sums.mixtures(
            *self.model.table.of(rows),
            np.ascontiguousarray(used.first[:, rows]),
            np.ascontiguousarray(used.second[:, rows]),
            self.model.exposure[rows],
            np.ascontiguousarray(self.model.log_node[rows]),
            rules,
            levels,
            np.asarray(ndtri(levels)),
            at,
            shares=self.model.shares,
        )

    @cached_property
    def error(self) -> float:
        """Largest error of the tail probabilities at the ends of the 95 % intervals of at most `_SAMPLE` areas. These
        areas are evenly spaced in the order of the standard deviations of x_i'b. The error is the difference from a
        rule with more nodes, plus twice `bend` times the change of the probability over the nodes of x_i'b.
        """
        hyper, fit = self.hyperparameters, self.hyperparameters.fit
        spread = np.einsum("ij,jk,ik->i", self.model.design, fit.covariance[1:, 1:], self.model.design)
        order = np.argsort(spread, kind="stable")
        chosen = order[np.unique(np.linspace(0, len(order) - 1, _SAMPLE).astype(int))]
        fine = _points(self.model, hyper, *self._fine(), _HERMITE_7)
        low_high = np.tile(np.eye(3)[[0, 2]], len(hyper.nodes.weights)) * np.repeat(hyper.nodes.weights, 3)
        worst = 0.0
        for i in chosen:
            rows = slice(int(i), int(i) + 1)
            _, quantiles, _, _ = self.evaluate(rows, [0.025, 0.975], np.empty((1, 0)))
            ends = np.ascontiguousarray(quantiles[:, :, 0])
            below = self.evaluate(rows, [0.5], ends, fine)[2][0, :, 0]
            change = self.evaluate(rows, [0.5], ends, None, low_high)[2][0]
            swing = np.abs(change[:, 0] - change[:, 2]).max()
            worst = max(worst, float(np.abs(below - quantiles[0, :, 1]).max() + 2 * hyper.bend * swing))
        return worst

    def _fine(self) -> tuple[Sequence[Fit], Array]:
        """Return the nodes and weights of a finer quadrature rule for the hyperparameter log a. The nodes are the
        complete grid or, for a large release, Gauss-Hermite nodes around the mode.
        """
        nodes = self.hyperparameters.nodes
        if len(nodes.weights) == len(HERMITE[1]):
            return nodes.fits, HERMITE[1]
        grid = self.hyperparameters.grid
        weights = np.exp(grid.log_marginal - grid.log_marginal.max())
        return grid.fits, weights / weights.sum()

    def numbers(self, level: float) -> Numbers:
        """Return the means, standard deviations and central intervals of the rates of all areas.

        Parameters
        ----------
        level : level of the intervals, in (0, 1).

        Returns
        -------
        Numbers
        """
        tail = (1 - level) / 2
        blocks = self._blocks(len(self._own.weights))
        parts = [
            self.evaluate(rows, [tail, 1 - tail], np.empty((rows.stop - rows.start, 0)))
            for rows in steps(blocks, len(self.model), "areas", lambda rows: rows.stop - rows.start)
        ]
        rates, ends, counts = (np.concatenate([part[i] for part in parts]) for i in (0, 1, 3))
        return Numbers(rates[:, 0], rates[:, 1], ends[:, 0, 0], ends[:, 1, 0], counts)

    def law(self, i: int) -> "RateLaw":
        """Return the posterior distribution of the rate of one area."""
        return RateLaw(self, i)

    def count(self, i: int) -> tuple[Whole, Array]:
        """Return the possible true counts of one area, and their posterior probabilities."""
        parts = list(self._components(i))
        first = int(self.model.table.low[i])
        return np.arange(first, first + len(parts[0][3])), np.sum([part[0] * part[3] for part in parts], axis=0)

    def _components(self, i: int) -> Iterator[tuple[float, float, float, Array, float]]:
        """Yield the components of the posterior mixture of one area. A component consists of a weight, two
        hyperparameters, the probabilities of the counts, and the exposure.
        """
        points = self._own
        first, second = points.first, points.second
        low, log = self.model.table.log(i)
        d = low + np.arange(len(log), dtype=np.float64)
        for h in range(len(points.weights)):
            a, b = first[h, i], second[h, i]
            rows = []
            for k in np.flatnonzero(np.isfinite(self.model.log_node[i])):
                e = self.model.exposure[i, k]
                logs = log + self._log_probability(a, b, e, d)
                top = logs.max()
                w = np.exp(logs - top)
                rows.append((self.model.log_node[i, k] + top + np.log(w.sum()), w / w.sum(), e))
            most = max(row[0] for row in rows)
            nodes = np.exp([row[0] - most for row in rows])
            for weight, (_, w, e) in zip(nodes / nodes.sum(), rows, strict=True):
                yield float(points.weights[h] * weight), a, b, w, e

    def _log_probability(self, a: float, b: float, e: float, d: Array) -> Array:
        if self.model.shares:
            with np.errstate(invalid="ignore"):
                choose = gammaln(e + 1) - gammaln(d + 1) - gammaln(e - d + 1)
                return np.asarray(choose + betaln(a + d, b + e - d) - betaln(a, b))
        return _negative_binomial(d, a, b * e)

    def predicted(self, i: int, exposure: float, most: float = np.inf) -> tuple[Whole, Array]:
        """Return the predictive distribution of a new count of an area, as possible values and their probabilities. The
        new count has the same rate as the observed count.

        Parameters
        ----------
        i : position of the area.
        exposure : exposure of the new count, > 0; number of persons of a share.
        most : larger counts are omitted.

        Returns
        -------
        (counts, probabilities)
            The counts beyond either end, up to `most`, have a total probability below 1e-13. The probabilities sum to 1
            or, if `most` is finite, to the probability of a count of at most `most`.
        """
        last = int(min(self._last(i, exposure), most))
        n = np.arange(last + 1, dtype=np.float64)
        out = np.zeros(len(n))
        low = float(self.model.table.low[i])
        for weight, a, b, w, e in self._components(i):
            for d in np.flatnonzero(w > _TRIM):
                shape = a + low + d
                if self.model.shares:
                    new = np.exp(
                        gammaln(exposure + 1) - gammaln(n + 1) - gammaln(exposure - n + 1)
                        + betaln(shape + n, b + e - low - d + exposure - n) - betaln(shape, b + e - low - d)
                    )  # fmt: skip
                else:
                    rate = a / b + e
                    new = np.exp(_negative_binomial(n, shape, shape * exposure / rate))
                out += weight * w[d] * new
        kept = np.flatnonzero((np.cumsum(out) > _TRIM) & (np.cumsum(out[::-1])[::-1] > _TRIM))
        listed = out[kept[0] : kept[-1] + 1]
        return np.arange(kept[0], kept[-1] + 1), listed / (listed.sum() if np.isinf(most) else 1.0)

    def _last(self, i: int, exposure: float) -> int:
        """Return the largest value of an area's new count for which a predictive probability is computed."""
        if self.model.shares:
            return int(exposure)
        high = float(self.law(i).quantile(1 - 1e-9)) * exposure
        return int(high + 8 * np.sqrt(high) + 40)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[Array, Whole, Array]:
        """Draw rates, counts and hyperparameters from their joint posterior distribution.

        Parameters
        ----------
        size : number of draws.
        rng : numpy Generator.

        Returns
        -------
        (rates, counts, parameters)
            (size, n), (size, n) and (size, p + 1).
        """
        points, weights = self.hyperparameters.joint()
        which = rng.choice(len(points), size=size, p=weights)
        n = len(self.model)
        rates, counts = np.empty((size, n)), np.empty((size, n), dtype=np.int64)
        pairs = [self.model.pair(point) for point in points]
        first, second = (np.stack(x) for x in zip(*pairs, strict=True))
        for part in self._blocks(len(points)):
            d, node = _rate_sums.picks(
                *self.model.table.of(part),
                np.ascontiguousarray(first[:, part]),
                np.ascontiguousarray(second[:, part]),
                self.model.exposure[part],
                np.ascontiguousarray(self.model.log_node[part]),
                rng.random((size, part.stop - part.start)),
                which,
                shares=self.model.shares,
            )
            e = np.take_along_axis(self.model.exposure[part].T, node, axis=0)
            a, b = first[which, part], second[which, part]
            counts[:, part] = d
            rates[:, part] = (
                rng.beta(a + d, b + e - d) if self.model.shares else rng.standard_gamma(a + d) / (a / b + e)
            )
        return rates, counts, points[which]


def _negative_binomial(d: Array, a: float, m: float) -> Array:
    """Return the log probabilities of counts under the negative binomial distribution with shape a and mean m. If m =
    0, only the count 0 is possible.
    """
    if m == 0:
        return np.where(d == 0, 0.0, -np.inf)
    return np.asarray(
        gammaln(a + d) - gammaln(a) - gammaln(d + 1) + d * np.log(m / (a + m)) - a * np.log1p(m / a), dtype=np.float64
    )


class RateLaw:
    """Posterior distribution of the rate of one area, with the interface of `distributions.RealLaw`.

    Parameters
    ----------
    rates : posterior of all areas.
    i : position of the area.
    """

    def __init__(self, rates: AreaRates, i: int) -> None:
        self._rates, self._rows = rates, slice(i, i + 1)

    @cached_property
    def _moments(self) -> Array:
        return np.asarray(self._rates.evaluate(self._rows, [0.5], np.empty((1, 0)))[0][0])

    def mean(self) -> float:
        """Return the posterior mean of the rate of the area."""
        return float(self._moments[0])

    def variance(self) -> float:
        """Return the posterior variance of the rate of the area."""
        return float(self._moments[1] ** 2)

    def pdf(self, x: ArrayLike) -> Array:
        """Return the posterior density of the rate at given values."""
        return self._at(x, 1)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the cumulative distribution function of the rate at given values."""
        return self._at(x, 0)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the posterior quantiles of the rate at given levels."""
        levels = np.asarray(q, dtype=np.float64)
        flat = levels.ravel()
        inside = (flat > 0) & (flat < 1)
        out = np.where(flat <= 0, 0.0, 1.0 if self._rates.model.shares else np.inf)
        if inside.any():
            out[inside] = self._rates.evaluate(self._rows, flat[inside], np.empty((1, 0)))[1][0, :, 0]
        return out.reshape(levels.shape)

    def _at(self, x: ArrayLike, which: int) -> Array:
        points = np.asarray(x, dtype=np.float64)
        flat = points.ravel()
        top = 1.0 if self._rates.model.shares else np.inf
        inside = (flat > 0) & (flat < top)
        out = np.where(flat <= 0, 0.0, 0.0 if which == 1 else 1.0)
        if inside.any():
            out[inside] = self._rates.evaluate(self._rows, [0.5], flat[None, inside])[2][0, :, which]
        return out.reshape(points.shape)


def neglected(model: Model, parameters: Array) -> Array:
    """Return an upper bound on the posterior probability that a count is outside its window (range of counts). There is
    one bound per count, at given hyperparameters.

    Parameters
    ----------
    model : the regression.
    parameters : float64 (p + 1,).

    Returns
    -------
    float64 (n,)
    """
    return np.asarray(np.exp(model.table.log_bound - model.log_evidence(parameters)))
