"""Numerical integration over the hyperparameters (log a, b) of a regression of rates.

The rate of an area depends on b only through x_i'b, which is nearly normal given log a. The integral over x_i'b uses
three Gauss-Hermite nodes about the mean of b. The third derivatives of the log posterior determine the distance between
the mean and the mode. The marginal posterior of log a is computed on a grid by Laplace's method over b, and
interpolated by a cubic spline. The rates use the corresponding Gauss rule with five nodes. If the release is large,
three Gauss-Hermite nodes of log a with exact weights replace the grid.

The stated error has two parts: the largest difference from a rule with many more nodes, and the deviation of b from a
normal distribution (`Hyperparameters.bend`) times the change of a probability over the nodes of x_i'b.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # scipy.interpolate is loaded on first use
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr

from ..._printing import steps
from .likelihoods import gauss
from .model import Fit, Model

Array = NDArray[np.float64]
_LARGE = 2_000_000  # smallest number of pairs of areas and counts for which log a has three nodes
_STEP = 0.8  # step of the grid, in standard deviations of log a
_WIDEST_STEP = 0.8
_FALL = 9.0  # decrease of the log posterior at which the grid ends
_MOST = 60  # largest number of grid values on one side
_SHAPES = 5  # number of nodes of log a
HERMITE = np.array([-(3.0**0.5), 0.0, 3.0**0.5]), np.array([1.0, 4.0, 1.0]) / 6
# if the posterior standard deviation of log a, in standard deviations of its prior, exceeds this number, the prior
# mainly determines the posterior
HELD_SHAPE = 0.6
HELD_SLOPE = 0.5  # the same for b


@dataclass(frozen=True)
class Nodes:
    """Quadrature nodes and weights for the log of the hyperparameter a, and the mode of the regression coefficients b
    at each node.

    Parameters
    ----------
    fits : mode of b given each value of log a.
    weights : float64 (nodes,), with sum 1.
    rule : name of the rule.
    """

    fits: tuple[Fit, ...]
    weights: Array
    rule: str


@dataclass(frozen=True)
class Grid:
    """Grid of values of the hyperparameter log a, with the mode of the regression coefficients b given each value.

    Parameters
    ----------
    values : float64 (values,), increasing and equally spaced; the grid contains the mode of all hyperparameters.
    fits : mode given each value.
    log_marginal : float64 (values,), marginal log posterior.
    centre : position of the mode in the grid.
    """

    values: Array
    fits: tuple[Fit, ...]
    log_marginal: Array
    centre: int

    @cached_property
    def spline(self) -> "scipy.interpolate.CubicSpline":
        """Interpolated marginal log posterior of log a, minus its largest value."""
        return scipy.interpolate.CubicSpline(self.values, self.log_marginal - self.log_marginal.max())


def star(centre: Array, covariance: Array) -> tuple[Array, Array]:
    """Return the points and weights of a quadrature rule that integrates polynomials of degree three exactly under a
    normal distribution.

    Parameters
    ----------
    centre, covariance : float64 (p,), (p, p).

    Returns
    -------
    (points, weights)
        float64 (2 p + 1, p) and (2 p + 1,). The centre is first, followed by pairs of points on opposite sides of the
        centre.
    """
    p = len(centre)
    arms = np.sqrt(1.5 * p) * np.linalg.cholesky(covariance).T
    pairs = np.stack([arms, -arms], axis=1).reshape(2 * p, p)
    return np.vstack([centre, centre + pairs]), np.r_[1 / 3, np.full(2 * p, 1 / (3 * p))]


class Hyperparameters:
    """Posterior distribution of the hyperparameters of a regression of rates.

    Parameters
    ----------
    model : the regression.
    fit : mode of the log posterior.
    """

    def __init__(self, model: Model, fit: Fit) -> None:
        self.model, self.fit = model, fit
        self.large = len(model.table.values) * model.exposure.shape[1] > _LARGE and fit.done
        self._shifts: dict[float, Array] = {}

    @cached_property
    def nodes(self) -> Nodes:
        """Quadrature nodes for integrating the posterior distributions of the rates over the hyperparameter log a."""
        if self.large:
            return self._three()
        x = np.linspace(self.grid.values[0], self.grid.values[-1], 4001)
        w = np.exp(self.grid.spline(x))
        shape_values, weights = gauss(x[None], (w / w.sum())[None], _SHAPES)
        nearest = np.abs(self.grid.values[:, None] - shape_values[0]).argmin(axis=0)
        pairs = steps(list(zip(shape_values[0], nearest, strict=True)), _SHAPES, "nodes of log a")
        fits = [self._given(value, self.grid.fits[i]) for value, i in pairs]
        return Nodes(tuple(fits), weights[0], f"{_SHAPES} Gauss nodes of log a")

    def _three(self) -> Nodes:
        """Gauss-Hermite nodes of the hyperparameter log a around the mode, with weights from the exact marginal
        posterior.
        """
        z, weights = HERMITE
        sd = np.sqrt(self.fit.covariance[0, 0])
        values = steps(self.fit.parameters[0] + z * sd, len(z), "nodes of log a")
        fits = [self._given(value, self.fit) for value in values]
        logs = np.array([fit.log_marginal for fit in fits]) + z**2 / 2
        exact = weights * np.exp(logs - logs.max())
        return Nodes(tuple(fits), exact / exact.sum(), "3 Gauss-Hermite nodes of log a")

    def _given(self, value: float, near: Fit) -> Fit:
        return self.model.fit(np.r_[value, near.parameters[1:]], fixed=True, gain=1e-7)

    def mean(self, fit: Fit) -> Array:
        """Return the posterior mean of the regression coefficients b given log a, as a float64 array of shape (p,). The
        mean is computed from differences of the gradient of the log posterior.

        With the columns l of a root of the covariance C, the mean is the mode + C sum T(l, l)/2. The third derivative
        T(l, l) is the gradient at the mode + l plus the gradient at the mode - l. For large releases, the difference
        between mean and mode is computed once, at the mode of log a.
        """
        key = 0.0 if self.large else float(fit.parameters[0])
        if key not in self._shifts:
            reference = self._central if self.large else fit
            total = np.zeros(len(reference.parameters) - 1)
            for arm in np.linalg.cholesky(reference.covariance).T:
                for sign in (1.0, -1.0):
                    total += self.model.objective(reference.parameters + np.r_[0.0, sign * arm])[1][1:]
            self._shifts[key] = reference.covariance @ total / 2
        return np.asarray(fit.parameters[1:] + self._shifts[key])

    @cached_property
    def _central(self) -> Fit:
        return self._given(self.fit.parameters[0], self.fit)

    def joint(self) -> tuple[Array, Array]:
        """Return quadrature points of the hyperparameters (log a, b), as a float64 array of shape (points, p + 1), and
        the weights of these points. For each node of log a, a rule of degree three integrates over b. The points are
        used to draw all areas jointly.
        """
        parts, shares = [], []
        for fit, weight in zip(self.nodes.fits, self.nodes.weights, strict=True):
            points, weights = star(self.mean(fit), fit.covariance)
            parts.append(np.column_stack([np.full(len(points), fit.parameters[0]), points]))
            shares.append(weight * weights)
        point_weights = np.concatenate(shares)
        return np.vstack(parts), point_weights / point_weights.sum()

    @cached_property
    def grid(self) -> Grid:
        """Grid of values of log a at which the marginal posterior density is computed."""
        mode = self.fit.parameters[0]
        step = min(_STEP * float(np.sqrt(max(self.fit.covariance[0, 0], 1e-12))), _WIDEST_STEP)
        sides: list[list[Fit]] = []
        centre = self._central
        best = centre.log_marginal
        for sign in (-1.0, 1.0):
            side, last = [], centre
            for i in steps(range(1, _MOST + 1), _MOST, "values of log a at most"):
                start = np.r_[mode + sign * i * step, last.parameters[1:]]
                last = self.model.fit(start, fixed=True, gain=1e-7)
                if not np.isfinite(last.value):
                    break
                side.append(last)
                best = max(best, last.log_marginal)
                if last.log_marginal < best - _FALL:
                    break
            sides.append(side)
        fits = (*sides[0][::-1], centre, *sides[1])
        values = np.array([fit.parameters[0] for fit in fits])
        return Grid(values, fits, np.array([fit.log_marginal for fit in fits]), len(sides[0]))

    @cached_property
    def log_evidence(self) -> float:
        """Log evidence: the log probability of the release after integration over the hyperparameters. For real
        released values, it is a log density.
        """
        grid = self.grid
        step = float(grid.values[1] - grid.values[0])
        return float(logsumexp(grid.log_marginal) + np.log(step))

    @cached_property
    def held(self) -> tuple[bool, NDArray[np.bool_]]:
        """Indicator of whether the hyperparameter log a is determined by the prior and not by the data, and a mask of
        the regression coefficients that are determined by the prior.
        """
        sd = np.sqrt(np.diag(self.fit.covariance))
        return bool(sd[0] > HELD_SHAPE * self.model.prior.sd), sd[1:] > HELD_SLOPE * self.model.prior.slopes

    @cached_property
    def bend(self) -> float:
        """Largest error of the normal approximation to the distribution function of a linear combination of the
        regression coefficients b. The error follows from the third and fourth derivatives of the log posterior at the
        mode along the arms of `star`: max over z of |c3 (z^2 + 2) phi(z)| + |c4 (z^3 + 3 z) phi(z)|.
        """
        fit = self._central
        points, _ = star(fit.parameters[1:], fit.covariance)
        radius = np.sqrt(1.5 * points.shape[1])
        joint = np.column_stack([np.full(len(points), fit.parameters[0]), points])
        falls = np.array([fit.value - self.model.value(point) for point in joint[1:]]).reshape(-1, 2)
        rest = radius**2 / 2 - falls
        third = np.abs(rest[:, 0] - rest[:, 1]) / (2 * radius**3)
        fourth = np.abs(rest.sum(axis=1)) / (2 * radius**4)
        return float(min((0.798 * third + 1.045 * fourth).max(), 0.5))


class ShapeLaw:
    """Posterior distribution of the hyperparameter log a. The density is the exponential of a cubic spline between the
    ends of a grid.

    Parameters
    ----------
    grid : values of log a.
    """

    def __init__(self, grid: Grid) -> None:
        self.x: Array = np.linspace(grid.values[0], grid.values[-1], 2001)
        density = np.exp(grid.spline(self.x))
        masses = (density[1:] + density[:-1]) / 2 * np.diff(self.x)
        self._below: Array = np.append(0.0, np.cumsum(masses)) / masses.sum()
        self._density = density / masses.sum()
        weights = np.r_[masses[0], masses[1:] + masses[:-1], masses[-1]] / 2 / masses.sum()
        self._mean = float(weights @ self.x)
        self._variance = float(weights @ (self.x - self._mean) ** 2)

    def mean(self) -> float:
        """Return the posterior mean of the log of the hyperparameter a."""
        return self._mean

    def variance(self) -> float:
        """Return the posterior variance of the hyperparameter log a."""
        return self._variance

    def pdf(self, x: ArrayLike) -> Array:
        """Return the posterior density of the hyperparameter log a at given values."""
        return np.asarray(np.interp(np.asarray(x, dtype=np.float64), self.x, self._density, left=0.0, right=0.0))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the cumulative distribution function at given values of log a."""
        return np.interp(np.asarray(x, dtype=np.float64), self.x, self._below)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the posterior quantiles of the hyperparameter log a at given levels."""
        return np.interp(np.asarray(q, dtype=np.float64), self._below, self.x)

    def error(self, grid: Grid) -> float:
        """Return the largest change in the cumulative distribution function of log a when only every second value of
        the grid is used.
        """
        kept = np.arange(len(grid.values))[grid.centre % 2 :: 2]
        if len(kept) < 4:
            return 0.5
        coarse = Grid(grid.values[kept], tuple(grid.fits[i] for i in kept), grid.log_marginal[kept], 0)
        return float(np.abs(self._below - ShapeLaw(coarse).cdf(self.x)).max())


class SlopeLaw:
    """Posterior distribution of a linear combination of the coefficients b, which is a mixture of normal distributions.

    Parameters
    ----------
    weights, means, sds : float64 (components,); the sum of the weights is 1.
    """

    def __init__(self, weights: Array, means: Array, sds: Array) -> None:
        self.weights, self.means, self.sds = weights, means, sds

    def mean(self) -> float:
        """Return the posterior mean of a linear combination of the regression coefficients."""
        return float(self.weights @ self.means)

    def variance(self) -> float:
        """Return the posterior variance of a linear combination of the regression coefficients."""
        return float(self.weights @ (self.sds**2 + (self.means - self.mean()) ** 2))

    def pdf(self, x: ArrayLike) -> Array:
        """Return the posterior density of a linear combination of the regression coefficients at given values."""
        z = (np.asarray(x, dtype=np.float64)[..., None] - self.means) / self.sds
        return np.asarray((np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / self.sds) @ self.weights)

    def cdf(self, x: ArrayLike) -> Array:
        """Return the cumulative distribution function of a linear combination of the coefficients at given values."""
        return np.asarray(ndtr((np.asarray(x, dtype=np.float64)[..., None] - self.means) / self.sds) @ self.weights)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the posterior quantiles, at given levels, of a linear combination of the regression coefficients."""
        levels = np.asarray(q, dtype=np.float64)
        return np.array([self._at(float(level)) for level in levels.ravel()]).reshape(levels.shape)

    def _at(self, level: float) -> float:
        if not 0 < level < 1:
            return float("-inf") if level <= 0 else float("inf")
        ends = (self.means - 40 * self.sds).min(), (self.means + 40 * self.sds).max()
        return float(brentq(lambda x: float(self.cdf(x)) - level, *ends, xtol=1e-14, rtol=1e-14))
