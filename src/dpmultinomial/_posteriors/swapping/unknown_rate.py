"""Posterior distribution of the original tables and of the swap rate, given tables that were swapped at an unknown
rate.

The swap rate has a Beta prior on (0, 1). Its posterior is computed from an interpolation of the log likelihood, with an
estimate of the interpolation error.

One evaluation of the likelihood of a swap rate takes milliseconds to seconds, but the likelihood is smooth. Its
logarithm is interpolated by Chebyshev polynomials in arcsin(sqrt(rate)), in panels that are halved if they are
inaccurate and not negligible. The prior, the normalising constant and the quantiles are then fast to compute from the
interpolation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import pandas as pd
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, expit, logit

from ... import _checks
from ..._accuracy import LEVEL, Accuracy
from ..counts.panel_density import PanelDensity, TailedLaw, nearer_tail, share_at
from .unswapped import MixedLaw, StrataLaw, Stratum, UnswappedPosterior, stacked, summed

Array = NDArray[np.float64]
NODES = 24  # number of nodes of a panel
TOLERANCE = 1e-9  # tolerance of the last coefficients of a panel
_DEEPEST, _MOST_HALVINGS = 700.0, 14
# panels whose log density is below the maximum by more than this number have a rough tolerance
_IRRELEVANT, _ROUGH = 60.0, 1.0
_LEAST_LEVEL = float(np.log(1e-15))  # smallest tail probability for which `RateLaw.error` holds
_TESTED = np.array([0.119, 0.382, 0.71])  # points of a panel, between its nodes, at which the likelihood is tested
_STEPS = 20_000  # number of intervals on the logit scale, for draws
_END = 1e-12  # rates closer to 0 or 1 are not evaluated
_COVERED = (float(logit(_END)), float(logit(1 - _END)))  # range in which the density may have a peak

LogLikelihood = Callable[[float], float]


class RateLaw(TailedLaw):
    """Posterior distribution of the swap rate. Probabilities down to 1e-15 have the relative error `error`.

    Parameters
    ----------
    log_likelihood : function from a rate in (0, 1) to its log likelihood, up to a constant.
    a, b : parameters of the Beta prior, > 0.
    nodes, tolerance : nodes and tolerance of the interpolation of the log likelihood.
    """

    quantity = "rate"
    support = (0.0, 1.0)

    def __init__(
        self, log_likelihood: LogLikelihood, a: float, b: float, *, nodes: int = NODES, tolerance: float = TOLERANCE
    ) -> None:
        self.a, self.b = a, b
        self._exact = log_likelihood
        self._places = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
        self._to_series = np.linalg.inv(chebyshev.chebvander(self._places, nodes - 1))
        self._panels = self._fitted(tolerance)
        best = max(self._panels, key=lambda panel: panel[3])
        centre = float(logit(np.clip(np.sin(0.5 * (best[0] + best[1])) ** 2, 1e-9, 1 - 1e-9)))
        self._density = PanelDensity(
            self._log_density, centre=centre, width=1.0, deepest=_DEEPEST, tolerance=1e-11, covered=_COVERED
        )
        self._log_mass = self._density.log_mass()

    def mean(self) -> float:
        """Return the posterior mean of the swap rate, computed by quadrature."""
        return self._moments[0]

    def variance(self) -> float:
        """Return the posterior variance of the swap rate, computed by quadrature."""
        return self._moments[1]

    def pdf(self, x: ArrayLike) -> Array:
        """Return the posterior density of the swap rate at points in the open interval (0, 1)."""
        points = np.asarray([_checks.inside("x", value) for value in np.ravel(x).tolist()])
        z = logit(points)
        densities = np.exp(self._log_density(z) - self._log_mass) / (points * (1 - points))
        return np.asarray(densities.reshape(np.shape(x)))

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Draw independent values of the swap rate. The logit of the rate has a piecewise constant density on 20,000
        intervals of equal length.

        Parameters
        ----------
        size : number of draws.
        rng : numpy Generator.

        Returns
        -------
        float64 (size,)
        """
        edges = np.linspace(self._density.panels[0].low, self._density.panels[-1].high, _STEPS + 1)
        below = np.cumsum(np.exp(self._log_density((edges[1:] + edges[:-1]) / 2) - self._log_mass))
        u = _checks.generator(rng).random(_checks.integer("size", size)) * below[-1]
        z: Array = np.asarray(np.interp(u, np.append(0.0, below), edges), dtype=np.float64)
        return np.asarray(1 / (1 + np.exp(-z)))

    @cached_property
    def error(self) -> float:
        """Estimated relative error of any probability under the posterior of the swap rate. The estimate is twice the
        error of the density at three points between the nodes of every panel, because both the numerator and the
        denominator have this error.
        """
        top = max(panel[3] for panel in self._panels)
        apart = [0.0]
        for low, high, series, largest in self._panels:
            if largest > top - _IRRELEVANT:
                theta = low + (high - low) * _TESTED
                interpolated = chebyshev.chebval(2 * _TESTED - 1, series)
                apart += [abs(v - self._exact(float(r))) for v, r in zip(interpolated, np.sin(theta) ** 2, strict=True)]
        return 2 * float(np.expm1(max(apart)) + self._density.error(_LEAST_LEVEL + self._log_mass))

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy status ``approximate`` of the posterior of the swap rate, with the estimated error `error`."""
        return Accuracy("approximate", self.error, "relative error of probabilities, from the interpolated likelihood")

    def nodes(self, size: int) -> tuple[Array, Array]:
        """Return the Gaussian quadrature rule for the posterior distribution of the swap rate. The rule is exact for
        polynomials of degree 2 size - 1 in the rate.

        Parameters
        ----------
        size : number of nodes, >= 1.

        Returns
        -------
        rates, weights : float64 (m,), m <= size; rates at least 1e-12 from 0 and 1.
        """
        x, mass = self._discrete
        diagonal, beside = np.zeros(size), np.zeros(size)
        basis = [np.sqrt(mass)]
        for k in range(size):
            ahead = x * basis[k]
            diagonal[k] = basis[k] @ ahead
            for row in basis:  # a second pass is needed, because rounding impairs the orthogonality of the first
                ahead = ahead - (row @ ahead) * row
            for row in basis:
                ahead = ahead - (row @ ahead) * row
            beside[k] = np.linalg.norm(ahead)
            if not beside[k] > 1e-14:
                diagonal, beside = diagonal[: k + 1], beside[: k + 1]
                break
            basis.append(ahead / beside[k])
        values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1))
        return np.clip(values, _END, 1 - _END), vectors[0] ** 2

    @cached_property
    def _discrete(self) -> tuple[Array, Array]:
        """Return a discrete approximation of the posterior distribution of the swap rate. It consists of the nodes of
        the panels and both end points, with their probabilities. Expected values of smooth functions are accurate.
        """
        z, mass = self._density.rule(self._log_mass)
        edges = [self._density.panels[0].low, self._density.panels[-1].high]
        sides = zip(edges, (False, True), strict=True)
        ends = np.array([self._density.log_tail(edge, upper=upper) for edge, upper in sides])
        masses = np.concatenate([np.exp(ends[:1] - self._log_mass), mass, np.exp(ends[1:] - self._log_mass)])
        return np.concatenate([[0.0], expit(z), [1.0]]), masses / masses.sum()

    @cached_property
    def _moments(self) -> tuple[float, float]:
        x, mass = self._discrete
        mean = float(mass @ x)
        return mean, float(mass @ (x - mean) ** 2)

    def _fitted(self, tolerance: float) -> list[tuple[float, float, Array, float]]:
        """Return the interpolation panels of theta = arcsin(sqrt(rate)) in increasing order. Each panel is given by its
        ends, its Chebyshev series, and the largest log density of the logit of the rate.
        """
        waiting, done, top = [(0.0, np.pi / 2, 0)], [], -np.inf
        while waiting:
            low, high, halvings = waiting.pop(0)
            theta = low + (high - low) / 2 * (1 + self._places)
            rates = np.sin(theta) ** 2
            values = np.array([self._exact(rate) for rate in rates.tolist()])
            largest = float((values + self.a * np.log(rates) + self.b * np.log(np.cos(theta) ** 2)).max())
            top = max(top, largest)
            series = self._to_series @ values
            allowed = tolerance if largest > top - _IRRELEVANT else _ROUGH
            if np.abs(series[-3:]).max() > allowed and halvings < _MOST_HALVINGS:
                middle = 0.5 * (low + high)
                waiting += [(low, middle, halvings + 1), (middle, high, halvings + 1)]
            else:
                done.append((low, high, series, largest))
        return sorted(done, key=lambda panel: panel[0])

    def _log_density(self, z: Array) -> Array:
        """Return the log posterior density of the logit of the swap rate, up to a constant."""
        theta = np.arctan(np.exp(0.5 * np.clip(z, -1400, 1400)))
        edges = np.array([panel[1] for panel in self._panels[:-1]])
        place, out = np.searchsorted(edges, theta), np.empty(z.shape)
        for i in np.unique(place):
            low, high, series, _ = self._panels[i]
            mine = place == i
            out[mine] = chebyshev.chebval((2 * theta[mine] - low - high) / (high - low), series)
        prior = -self.a * np.logaddexp(0, -z) - self.b * np.logaddexp(0, z) - betaln(self.a, self.b)
        return np.asarray(out + prior)

    def _probability(self, x: ArrayLike, *, upper: bool) -> Array:
        points = _checks.fraction("x", x)
        logs = [
            self._density.log_tail(float(logit(p)), upper=upper) - self._log_mass
            if 0 < p < 1
            else (0.0 if (p == 0) == upper else -np.inf)
            for p in points.ravel()
        ]
        return np.asarray(np.exp(np.minimum(logs, 0.0))).reshape(points.shape)

    def _quantile(self, level: float) -> float:
        if level in (0.0, 1.0):
            return level
        log_level, upper = nearer_tail(level)
        return share_at(self._density.quantile(log_level + self._log_mass, upper=upper))


Counts = NDArray[np.int64]
_NODES = (12, 24, 48)  # numbers of rates over which the cells are averaged
_ENOUGH = 1e-8  # if the error of every cell is below this, the number of rates is not increased


@dataclass(frozen=True)
class UnknownRate:
    """Posterior distributions of the swap rate and of the cell probabilities. The distribution of the cell
    probabilities is averaged over the swap rate.

    Parameters
    ----------
    rate : RateLaw
        Distribution of the rate.
    cells : UnswappedPosterior
        Posterior of the cells, averaged over `rates`.
    rates, weights : float64 (nodes,)
        Gaussian quadrature rule of the posterior of the rate.
    cell_errors : float64 (cells,)
        Error of every cell: the change in the probability of being below any count, or the change in the mean in
        standard deviations, if half the number of rates is used.
    """

    rate: RateLaw
    cells: UnswappedPosterior
    rates: Array
    weights: Array
    cell_errors: Array

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy of the results, with the status ``approximate`` and the largest of the errors of the rate and of all
        cells.
        """
        error = max(self.rate.error, float(self.cell_errors.max()))
        return Accuracy("approximate", error, "error of probabilities: interpolated likelihood, average over the rate")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate {self.mean():.4g} +- {self.sd():.3g}; {self.cells!r})"

    def mean(self) -> float:
        """Posterior mean of the unknown swap rate."""
        return self.rate.mean()

    def sd(self) -> float:
        """Posterior standard deviation of the unknown swap rate."""
        return self.rate.sd()

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the posterior summaries of the swap rate and of all cells, each with its error. The columns are
        `accuracy.SUMMARY`.
        """
        return pd.concat([self.rate.summary(level), self.cells.summary(level)], ignore_index=True)


def infer_rate(swapped: ArrayLike, *, prior: tuple[float, float] = (1.0, 1.0), alpha: ArrayLike = 1.0) -> UnknownRate:
    """Compute the posterior distribution of an unknown swap rate and of the cell probabilities. The rate has a Beta
    prior and is the same in all strata.

    Parameters
    ----------
    swapped : integers >= 0, (rows, columns) or (strata, rows, columns); each stratum must be small enough for exact
        sums in `infer`.
    prior : (a, b)
        Parameters of the Beta prior of the rate, in (0, 500].
    alpha : float or (cells,)
        Dirichlet prior over the cells of all strata, > 0.

    Returns
    -------
    UnknownRate

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range or a stratum is too large for exact sums.

    Notes
    -----
    The likelihood is interpolated (`RateLaw`), with 100 to 500 evaluations. Identical strata are evaluated once. Cells
    are averaged over 24 or 48 rates, by the Gaussian quadrature rule of the posterior of the rate. A single table
    contains little information about its rate, so compare the posterior with the prior.
    """
    counts, concentrations = stacked(swapped, alpha)
    a, b = _checks.positives("prior", prior, 2)
    if max(a, b) > 500:
        raise ValueError(f"the parameters of prior must be <= 500, got {a} and {b}")
    strata = _Strata(counts, concentrations)
    law = RateLaw(strata.log_likelihood, float(a), float(b))
    rates, weights, mixed, errors = _averaged(strata, law, concentrations)
    errors = errors + law.error
    states = [
        Accuracy("approximate", error, "average over the rate, compared with half as many nodes")
        for error in errors.tolist()
    ]
    shape, how = cast(tuple[int, int, int], counts.shape), ("listed or two rows",) * len(counts)
    return UnknownRate(
        law, UnswappedPosterior(concentrations.ravel(), mixed, shape, how, states), rates, weights, errors
    )


def _averaged(strata: "_Strata", law: RateLaw, alpha: Array) -> tuple[Array, Array, MixedLaw, Array]:
    """Return quadrature nodes and weights for the swap rate. Also return the posterior distribution of the original
    tables averaged over these rates, and the error of every cell.
    """
    coarse = strata.averaged(*law.nodes(_NODES[0]))
    for size in _NODES[1:]:
        rates, weights = law.nodes(size)
        fine = strata.averaged(rates, weights)
        pairs = ((fine.marginal(i), coarse.marginal(i)) for i in range(alpha.size))
        errors = np.array(
            [_apart(*pair, alpha_cell, alpha.sum()) for pair, alpha_cell in zip(pairs, alpha.ravel(), strict=True)]
        )
        if errors.max() < _ENOUGH:
            break
        coarse = fine
    return rates, weights, fine, errors


class _Strata:
    """Posterior distributions of all strata as functions of the swap rate. Identical strata are computed only once."""

    def __init__(self, counts: Counts, prior: Array) -> None:
        keys = [(table.tobytes(), alpha.tobytes()) for table, alpha in zip(counts, prior, strict=True)]
        self._first = {key: keys.index(key) for key in keys}
        self._times = {key: keys.count(key) for key in self._first}
        self._keys, self._counts, self._prior = keys, counts, prior

    def log_likelihood(self, rate: float) -> float:
        """Return the log likelihood of a swap rate, which is the log marginal probability of all published tables."""
        return sum(self._times[key] * self._of(key, rate).log_acceptance for key in self._first)

    def averaged(self, rates: Array, weights: Array) -> MixedLaw:
        """Return the posterior distribution of the original tables, averaged over several swap rates."""
        laws = []
        for rate in rates.tolist():
            parts = {key: self._of(key, rate).law for key in self._first}
            laws.append(StrataLaw([parts[key] for key in self._keys]))
        return MixedLaw(laws, weights)

    def _of(self, key: tuple[bytes, bytes], rate: float) -> Stratum:
        place = self._first[key]
        stratum = summed(self._counts[place], self._prior[place], rate, strict=True)
        if stratum is None:
            raise RuntimeError(
                f"the exact sums are not available for the rate {rate}: internal error, please report it"
            )
        return stratum


def _apart(fine: Array, coarse: Array, alpha: float, whole: float) -> float:
    """Return the distance between two distributions of the count of a cell. It is the largest difference of the
    cumulative distribution functions or, if larger, the difference of the means of the share in standard deviations.
    """
    count = np.arange(len(fine))
    means = [float(law @ count) for law in (fine, coarse)]
    n = whole + count[-1]
    share = (alpha + means[0]) / n
    variance = share * (1 - share) / (n + 1) + float(fine @ (count - means[0]) ** 2) / (n * (n + 1))
    gap = np.abs(np.cumsum(fine - coarse)).max()
    return float(max(gap, abs(means[0] - means[1]) / n / np.sqrt(variance)))
