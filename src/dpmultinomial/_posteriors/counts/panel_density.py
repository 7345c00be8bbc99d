"""Distributions on the real line that are given by the logarithm of their density. The logarithm is interpolated on
panels, and the density is integrated from both ends.

The logarithm of a density is smooth even if the density spans hundreds of orders of magnitude. It is interpolated by
Chebyshev polynomials on panels that are added outwards from the centre; a panel is accepted if its last coefficients
vanish. The panels cover the region with non-negligible probability, and further panels are added if a result requires
them. Both tails have a small relative error, because each tail is summed from its end. Results do not depend on the
results that were requested earlier.

`Panel` is one panel of an interpolated log density, with a Gauss quadrature rule.

`TailedLaw` contains the common methods of distributions of a real number with accurate tails: both tail probabilities,
their logarithms, quantiles, and a summary.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from ... import _checks
from ..._accuracy import LEVEL, Accuracy, summary_frame

Array = NDArray[np.float64]


class TailedLaw(ABC):
    """Base class of distributions of a real number. A subclass computes both tail probabilities and the quantile at a
    single level, and its docstring states the accuracy.

    Attributes
    ----------
    quantity : name of the row of a summary.
    least : smallest level, and smallest distance of a level from 1; more extreme levels are rejected.
    ends : whether levels 0 and 1 have quantiles.
    support : interval that contains the quantity with probability 1.
    """

    quantity: ClassVar[str] = "share"
    ends: ClassVar[bool] = True
    support: ClassVar[tuple[float, float]] = (-inf, inf)
    least: float = 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.quantity} {self.mean():.4g} +- {self.sd():.3g})"

    @property
    @abstractmethod
    def accuracy(self) -> Accuracy:
        """Accuracy status of all values that are computed from this distribution."""

    @abstractmethod
    def mean(self) -> float:
        """Return the expected value of the distribution."""

    @abstractmethod
    def variance(self) -> float:
        """Return the variance of the distribution."""

    def sd(self) -> float:
        """Return the standard deviation of the distribution."""
        return float(np.sqrt(self.variance()))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the cumulative distribution function P(X <= x), with a small relative error even for tiny
        probabilities.
        """
        return self._probability(x, upper=False)

    def sf(self, x: ArrayLike) -> Array:
        """Return the upper tail probability P(X > x), with a small relative error even for tiny probabilities."""
        return self._probability(x, upper=True)

    def logcdf(self, x: ArrayLike) -> Array:
        """Return the log of the cumulative distribution function P(X <= x)."""
        return self._log_probability(x, upper=False)

    def logsf(self, x: ArrayLike) -> Array:
        """Return the log of the upper tail probability P(X > x)."""
        return self._log_probability(x, upper=True)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the quantile at level q, the smallest x with P(X <= x) >= q. The stated accuracy refers to the smaller
        tail probability at x.

        Raises
        ------
        ValueError
            If a level is outside [0, 1], closer to 0 or 1 than `least`, or equal to 0 or 1 for a distribution without
            `ends`.
        """
        given = np.asarray(q, dtype=np.float64)
        if not self.ends and not np.all((given > 0) & (given < 1)):
            raise ValueError(f"q must be strictly between 0 and 1, got {q!r}: the quantiles at 0 and 1 are not defined")
        levels = _checks.levels("q", q, least=self.least)
        quantiles = [self._quantile(level) for level in levels.ravel().tolist()]
        return np.array(quantiles, dtype=np.float64).reshape(levels.shape)

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return a table with one row that contains the mean, standard deviation and central interval of the
        distribution (`_accuracy.summary_frame`).

        Parameters
        ----------
        level : probability of the interval, in (0, 1).
        """
        lower, upper = self.quantile([(1 - _checks.inside("level", level)) / 2, (1 + level) / 2])
        return summary_frame(
            [self.quantity],
            mean=[self.mean()],
            sd=[self.sd()],
            lower=[lower],
            upper=[upper],
            level=level,
            status=self.accuracy,
        )

    @abstractmethod
    def _probability(self, x: ArrayLike, *, upper: bool) -> Array:
        """Return the upper tail probability P(X > x) if `upper` is true, and otherwise the lower tail probability P(X
        <= x).
        """

    def _log_probability(self, x: ArrayLike, *, upper: bool) -> Array:
        """Return the log of a tail probability, computed from the tail or from its complement, whichever is more
        accurate.
        """
        tail, rest = self._probability(x, upper=upper), self._probability(x, upper=not upper)
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(tail < 0.5, np.log(tail), np.log1p(-rest)))

    @abstractmethod
    def _quantile(self, level: float) -> float:
        """Return the quantile of the distribution at a single level."""


def nearer_tail(level: float) -> tuple[float, bool]:
    """Return the log of the smaller tail probability, min(level, 1 - level), and whether this tail is the upper tail.
    The level is strictly between 0 and 1.
    """
    upper = level > 0.5
    return float(np.log1p(-level) if upper else np.log(level)), upper


PLACES, WEIGHTS = np.polynomial.legendre.leggauss(28)


@dataclass(frozen=True)
class Panel:
    """Panel [low, high] on which a log density is interpolated by a Chebyshev series.

    Parameters
    ----------
    low, high : ends of the panel.
    series : float64 (n,), Chebyshev coefficients.
    """

    low: float
    high: float
    series: Array

    def log_density(self, z: Array) -> Array:
        """Return the log density at points z of the panel, interpolated by the Chebyshev series."""
        return np.asarray(chebyshev.chebval((2 * z - self.low - self.high) / (self.high - self.low), self.series))

    def log_integral(self, low: float, high: float) -> float:
        """Return the log of the integral of the density over [low, high], by Gauss quadrature."""
        half = (high - low) / 2
        if not half > 0:
            return -np.inf
        return float(logsumexp(self.log_density(low + half * (1 + PLACES)), b=half * WEIGHTS))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Log densities at the lower and the upper end of the panel."""
        low, high = self.log_density(np.array([self.low, self.high])).tolist()
        return low, high

    @cached_property
    def log_mass(self) -> float:
        """Log of the integral of the density over a whole interpolation panel."""
        return self.log_integral(self.low, self.high)

    def slope(self, z: float) -> float:
        """Return the derivative of the interpolated log density at a point of the panel."""
        place = (2 * z - self.low - self.high) / (self.high - self.low)
        return float(chebyshev.chebval(place, chebyshev.chebder(self.series)) * 2 / (self.high - self.low))


NODES = 14  # number of evaluations of the density per panel
# decrease of the log density that the initial panels cover, and largest decrease that any panels cover
_CORE, _DEEP = 28.0, 80.0
_BEYOND = 23.0  # log of the ratio of a tail to the mass beyond its last panel, where the density is extrapolated
_ROUNDING = 5e-12  # relative rounding error of a tail, or of the tail at a quantile
_CHANGE = 12.0  # largest change of the log density over one panel
# relative positions in a panel, between its nodes, at which the interpolation is tested
_TESTED = np.array([0.113, 0.377, 0.69])
_CHEBYSHEV = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_CHEBYSHEV, NODES - 1))


class PanelDensity:
    """Distribution of a real random variable, given by its log density.

    Parameters
    ----------
    log_density : function z (m,) -> log density (m,), with one or a few peaks, decreasing at least linearly on both
        sides.
    centre, width : a typical value and a typical spread.
    deepest : largest |z| at which `log_density` may be called.
    covered : (low, high), range that is covered even if the density is small there, because peaks may be separated by
        deep valleys.
    tolerance : tolerance of the last coefficients of a panel.
    """

    def __init__(
        self,
        log_density: Callable[[Array], Array],
        *,
        centre: float,
        width: float,
        deepest: float,
        tolerance: float,
        covered: tuple[float, float] = (np.inf, -np.inf),
    ) -> None:
        self._log_density, self._deepest, self._tolerance = log_density, deepest, tolerance
        self._laid: dict[int, list[Panel]] = {-1: [], 1: []}  # panels in the order outwards from the starting point
        self._start = float(np.clip(centre, -deepest / 2, deepest / 2))
        self._width = width
        self._core: dict[int, int] = {}
        for side in (-1, 1):
            wanted = covered[side > 0]
            while self._needed(side, wanted) and self._add(side):
                pass
            self._core[side] = len(self._laid[side])
        self._top = self._peak()

    @property
    def panels(self) -> list[Panel]:
        """Panels of the interpolated density that have a non-negligible probability, from left to right."""
        return self._between(self._core[-1], self._core[1])

    def panels_down_to(self, log_level: float) -> list[Panel]:
        """Return the panels, from left to right, that cover all points at which both log tail probabilities are at
        least `log_level`.
        """
        return self._between(*(self._reaching(side, log_level) for side in (-1, 1)))

    def error(self, log_level: float) -> float:
        """Return an estimate of the relative error of the interpolated density. The estimate is the largest error at
        three points between the nodes of every panel, plus the rounding error of a tail. The method uses the panels of
        `panels_down_to`.
        """
        panels = self.panels_down_to(log_level)
        z = np.array([p.low + (p.high - p.low) * _TESTED for p in panels])
        interpolated = np.array([p.log_density(part) for p, part in zip(panels, z, strict=True)])
        return float(np.abs(np.expm1(interpolated.ravel() - self._log_density(z.ravel()))).max()) + _ROUNDING

    def log_density(self, z: Array) -> Array:
        """Return the log density at points z, computed by interpolation. Linear extrapolation is used where the log
        density is more than `_DEEP` below its largest value.
        """
        ends = [self._as_far_as(-1, float(z.min())), self._as_far_as(1, float(z.max()))] if z.size else [1, 1]
        panels = self._between(*ends)
        edges = np.array([p.high for p in panels[:-1]])
        out = np.empty(z.shape)
        place = np.searchsorted(edges, z)
        for i in np.unique(place):
            mine, panel = place == i, panels[i]
            inside = np.clip(z[mine], panel.low, panel.high)
            beyond = z[mine] - inside
            out[mine] = panel.log_density(inside)
            if beyond.any():
                out[mine] += beyond * np.where(beyond < 0, panel.slope(panel.low), panel.slope(panel.high))
        return out

    def log_tail(self, z: float, *, upper: bool) -> float:
        """Return the log of a tail probability, P(Z <= z) or P(Z > z). The tail is extrapolated where the log density
        is `_DEEP` below its largest value.
        """
        side = 1 if upper else -1
        number = self._as_far_as(side, z)
        further = side * (z - self._edge(side, number)[0])
        if further > 0:
            return self._beyond(side, number) - abs(self._slope(side, number)) * further
        parts = [self._part(panel, z, upper) for panel in self._between(*self._with(side, number))]
        while self._beyond(side, number) > float(logsumexp(parts)) - _BEYOND and self._exists(side, number + 1):
            number += 1
            parts.append(self._laid[side][number - 1].log_mass)
        return float(logsumexp([self._beyond(side, number), *parts]))

    def quantile(self, log_level: float, *, upper: bool) -> float:
        """Return the quantile z at which the log of a tail probability, P(Z <= z) or P(Z > z), equals `log_level`."""
        side = 1 if upper else -1
        number = self._reaching(side, log_level)
        total = self._beyond(side, number)
        if total >= log_level:  # beyond the last panel, the density decreases exponentially
            (edge, log_edge), slope = self._edge(side, number), self._slope(side, number)
            return edge + side * (total - log_level) / abs(slope) if log_edge > -np.inf else edge
        panels = self._between(*self._with(side, number))
        for panel in panels[::-1] if upper else panels:
            more = float(np.logaddexp(total, panel.log_mass))
            if more >= log_level:
                return self._inside(panel, total, log_level, upper)
            total = more
        return self._edge(-side, self._core[-side])[0]

    def log_mass(self) -> float:
        """Return the log of the integral of the density over the real line. The result is 0 up to the interpolation
        error if the density is normalised.
        """
        ends = [self._beyond(side, self._core[side]) for side in (-1, 1)]
        return float(logsumexp([ends[0], *(p.log_mass for p in self.panels), ends[1]]))

    def moments(self, function: Callable[[Array], Array]) -> Array:
        """Return the integrals of one or more functions of z with respect to the density."""
        z, mass = self.rule()
        return np.asarray(function(z) @ mass)

    def rule(self, log_unit: float = 0.0) -> tuple[Array, Array]:
        """Return the nodes of a Gauss quadrature rule and their probabilities, for all panels with non-negligible
        probability. The probabilities are divided by exp(log_unit), so that they are in the range of floating-point
        numbers even if the density is not normalised.
        """
        panels = self.panels
        z = np.concatenate([p.low + (p.high - p.low) / 2 * (1 + PLACES) for p in panels])
        half = np.repeat([(p.high - p.low) / 2 for p in panels], len(PLACES))
        return z, np.exp(self.log_density(z) - log_unit) * half * np.tile(WEIGHTS, len(panels))

    @staticmethod
    def _inside(panel: Panel, total: float, log_level: float, upper: bool) -> float:
        def excess(z: float) -> float:
            part = panel.log_integral(z, panel.high) if upper else panel.log_integral(panel.low, z)
            return float(np.logaddexp(total, part)) - log_level

        ends = excess(panel.low), excess(panel.high)
        if ends[0] * ends[1] >= 0:
            return panel.low if abs(ends[0]) < abs(ends[1]) else panel.high
        return float(brentq(excess, panel.low, panel.high, xtol=1e-15, rtol=1e-15))

    @staticmethod
    def _part(panel: Panel, z: float, upper: bool) -> float:
        """Return the log of the integral of the density over the part of a panel that is above or below the point z."""
        low, high = (max(z, panel.low), panel.high) if upper else (panel.low, min(z, panel.high))
        if not low < high:
            return -np.inf
        return panel.log_mass if low == panel.low and high == panel.high else panel.log_integral(low, high)

    def _between(self, left: int, right: int) -> list[Panel]:
        """Return the innermost panels on both sides of the centre, ordered from left to right. The arguments are the
        numbers of panels on each side.
        """
        return self._laid[-1][:left][::-1] + self._laid[1][:right]

    def _with(self, side: int, number: int) -> tuple[int, int]:
        """Return the numbers of interpolation panels to the left and to the right of the centre: `number` on the given
        side, and the number of core panels on the opposite side.
        """
        return (number, self._core[1]) if side < 0 else (self._core[-1], number)

    def _exists(self, side: int, number: int) -> bool:
        """Return whether there are at least `number` interpolation panels on one side of the centre. Missing panels are
        added if this is possible.
        """
        while len(self._laid[side]) < number:
            if not self._add(side):
                return False
        return True

    def _as_far_as(self, side: int, z: float) -> int:
        """Return the number of interpolation panels from the centre up to the point z. The panels end earlier if the
        density becomes negligible before z.
        """
        number = self._core[side]
        while (
            side * (z - self._edge(side, number)[0]) > 0
            and self._edge(side, number)[1] > self._top - _DEEP
            and self._exists(side, number + 1)
        ):
            number += 1
        return number

    def _reaching(self, side: int, log_level: float) -> int:
        """Return the number of interpolation panels that are required on the given side of the centre. The mass beyond
        these panels is negligible compared with a tail of log probability `log_level`.
        """
        number = self._core[side]
        while self._beyond(side, number) > log_level - _BEYOND and self._exists(side, number + 1):
            number += 1
        return number

    def _needed(self, side: int, wanted: float) -> bool:
        """Return whether another interpolation panel is needed on the given side of the centre. This is the case if the
        density at the outer end of the last panel is too high, or if the panels do not cover the point `wanted`.
        """
        place, log_edge = self._edge(side, len(self._laid[side]))
        return log_edge > self._peak() - _CORE or side * (wanted - place) > 0

    def _peak(self) -> float:
        return max((end for side in (-1, 1) for panel in self._laid[side] for end in panel.ends), default=-np.inf)

    def _edge(self, side: int, number: int) -> tuple[float, float]:
        """Return the outer end of the `number`-th panel on the given side, counted outwards from the starting point,
        and the log density at this end.
        """
        if not number:
            return self._start, np.inf
        panel = self._laid[side][number - 1]
        return (panel.low, panel.ends[0]) if side < 0 else (panel.high, panel.ends[1])

    def _slope(self, side: int, number: int) -> float:
        panel = self._laid[side][number - 1]
        return panel.slope(panel.low if side < 0 else panel.high)

    def _beyond(self, side: int, number: int) -> float:
        """Return the log of the extrapolated mass beyond a given number of interpolation panels on the given side of
        the centre. The density is extrapolated by an exponential function with the slope of the log density at the end
        of the last panel.
        """
        slope = -side * self._slope(side, number)
        return self._edge(side, number)[1] - np.log(slope) if slope > 0 else np.inf

    def _add(self, side: int) -> bool:
        """Add an interpolation panel on the given side of the centre, and return whether a panel could be added."""
        edge = self._edge(side, len(self._laid[side]))[0]
        room = self._deepest - side * edge
        if not room > 1e-9 * self._deepest:
            return False
        step = min(self._guess(side), room)
        while True:
            low, high = sorted((edge, edge + side * step))
            values = self._log_density(low + (high - low) / 2 * (1 + _CHEBYSHEV))
            series = _TO_SERIES @ values
            rough = np.abs(series[-3:]).max() > self._tolerance * max(1.0, 1e-3 * float(np.abs(values).max()))
            if step < 1e-7 * self._width or not (rough or float(np.ptp(values)) > 2 * _CHANGE):
                break
            step /= 2
        self._laid[side].append(Panel(low, high, series))
        return True

    def _guess(self, side: int) -> float:
        """Return an initial width for the next panel of the interpolation. With this width, the panel is not much wider
        than its neighbour and the log density changes by at most `_CHANGE`.
        """
        neighbours = self._laid[side] or self._laid[-side][:1]
        if not neighbours:
            return 1.5 * self._width
        panel = neighbours[-1]
        last = panel.high - panel.low
        edge = panel.low if side < 0 else panel.high
        first, inner = panel.slope(edge), panel.slope(edge - side * last / 8)
        bend = abs(first - inner) / (last / 8)
        steep = (-abs(first) + np.sqrt(first**2 + 2 * bend * _CHANGE)) / bend if bend > 0 else _CHANGE / abs(first)
        return float(min(2.5 * last, max(steep, 1e-3 * last)))


def share_at(log_odds: float) -> float:
    """Return the float64 number nearest to x = 1/(1 + exp(-log_odds)). The function `expit` can be wrong by two
    floating-point numbers near 1.
    """
    return float(1 - expit(-log_odds)) if log_odds > 0 else float(expit(log_odds))
