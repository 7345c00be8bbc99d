"""Density on the real line, given by its logarithm. The logarithm is interpolated on panels, and the density is
integrated from both ends.

The logarithm of a density is smooth even if the density spans hundreds of orders of magnitude. It is interpolated by
Chebyshev polynomials on panels that are added outwards from the centre; a panel is accepted if its last coefficients
vanish. The panels cover the region with non-negligible probability, and further panels are added if a question requires
them. Both tails have a small relative error, because each is summed from its end. Every answer depends only on the
distribution and the question, not on earlier questions.

`Panel` is one panel of an interpolated log density, with a Gauss quadrature rule.

`TailedLaw` has the common methods of distributions of a real number with accurate tails: both tails, their logarithms,
quantiles, and a summary.
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
    """Base class of distributions of a real number. The subclass computes both tails and the quantile at a single
    level, and its docstring states the accuracy.

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
        """Accuracy status of the values computed from this distribution."""

    @abstractmethod
    def mean(self) -> float:
        """Return the expected value."""

    @abstractmethod
    def variance(self) -> float:
        """Return the variance of the distribution."""

    def sd(self) -> float:
        """Return the standard deviation of the distribution."""
        return float(np.sqrt(self.variance()))

    def cdf(self, x: ArrayLike) -> Array:
        """Return P(X <= x), with a small relative error also for tiny probabilities."""
        return self._probability(x, upper=False)

    def sf(self, x: ArrayLike) -> Array:
        """Return P(X > x), with a small relative error also for tiny probabilities."""
        return self._probability(x, upper=True)

    def logcdf(self, x: ArrayLike) -> Array:
        """Return log P(X <= x)."""
        return self._log_probability(x, upper=False)

    def logsf(self, x: ArrayLike) -> Array:
        """Return log P(X > x)."""
        return self._log_probability(x, upper=True)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the smallest x with P(X <= x) >= q. The result is accurate in the sense of the smaller tail
        probability at x.

        Raises
        ------
        ValueError
            If a level is outside [0, 1], closer to 0 or 1 than `least`, or equal to 0 or 1 for a distribution without
            `ends`.
        """
        given = np.asarray(q, dtype=np.float64)
        if not self.ends and not np.all((given > 0) & (given < 1)):
            raise ValueError(
                f"q must be strictly between 0 and 1, because the quantiles at 0 and 1 are not defined, got {q!r}"
            )
        levels = _checks.levels("q", q, least=self.least)
        found = [self._quantile(level) for level in levels.ravel().tolist()]
        return np.array(found, dtype=np.float64).reshape(levels.shape)

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return a table with one row, which contains the mean, standard deviation and central interval
        (`_accuracy.summary_frame`).

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
        """Return the probability P(X > x) or P(X <= x)."""

    def _log_probability(self, x: ArrayLike, *, upper: bool) -> Array:
        """Return the log of a tail probability, from the tail or from its complement, whichever is more accurate."""
        tail, rest = self._probability(x, upper=upper), self._probability(x, upper=not upper)
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(tail < 0.5, np.log(tail), np.log1p(-rest)))

    @abstractmethod
    def _quantile(self, level: float) -> float:
        """Return the quantile at a single level."""


def nearer_tail(level: float) -> tuple[float, bool]:
    """Return the log probability of the smaller tail for a level strictly between 0 and 1, and whether this tail is the
    upper one.
    """
    upper = level > 0.5
    return float(np.log1p(-level) if upper else np.log(level)), upper


PLACES, WEIGHTS = np.polynomial.legendre.leggauss(28)


@dataclass(frozen=True)
class Panel:
    """Interpolation panel, in which the log density on [low, high] is a Chebyshev series.

    Parameters
    ----------
    low, high : ends of the panel.
    series : float64 (n,), Chebyshev coefficients.
    """

    low: float
    high: float
    series: Array

    def log_density(self, z: Array) -> Array:
        """Return the interpolated log density at z."""
        return np.asarray(chebyshev.chebval((2 * z - self.low - self.high) / (self.high - self.low), self.series))

    def log_integral(self, low: float, high: float) -> float:
        """Return the log of the integral of the density over [low, high], by Gauss quadrature."""
        half = (high - low) / 2
        if not half > 0:
            return -np.inf
        return float(logsumexp(self.log_density(low + half * (1 + PLACES)), b=half * WEIGHTS))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Log density at the lower and at the upper limit of the panel."""
        low, high = self.log_density(np.array([self.low, self.high])).tolist()
        return low, high

    @cached_property
    def log_mass(self) -> float:
        """Log of the integral of the density over the whole panel."""
        return self.log_integral(self.low, self.high)

    def slope(self, z: float) -> float:
        """Return the derivative of the interpolated log density."""
        place = (2 * z - self.low - self.high) / (self.high - self.low)
        return float(chebyshev.chebval(place, chebyshev.chebder(self.series)) * 2 / (self.high - self.low))


NODES = 14  # number of evaluations of the density per panel
# decrease of the log density that is covered initially, and at most for a density or probability
_CORE, _DEEP = 28.0, 80.0
_BEYOND = 23.0  # log of the ratio of a tail to the mass beyond its last panel, in which the density is extrapolated
_ROUNDING = 5e-12  # relative rounding error of a tail, or of the tail at a quantile
_CHANGE = 12.0  # largest change of the log density over one panel
# relative positions in a panel, between its nodes, at which the interpolation is tested
_TESTED = np.array([0.113, 0.377, 0.69])
_CHEBYSHEV = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_CHEBYSHEV, NODES - 1))


class PanelDensity:
    """Distribution with a given log density.

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
        """Panels with non-negligible probability, from left to right."""
        return self._between(self._core[-1], self._core[1])

    def panels_down_to(self, log_level: float) -> list[Panel]:
        """Return the panels that determine all points at which both tails have at least this log probability, from left
        to right.
        """
        return self._between(*(self._reaching(side, log_level) for side in (-1, 1)))

    def error(self, log_level: float) -> float:
        """Return the relative error of the density at three points between the nodes of every panel of
        `panels_down_to`, plus the rounding error of a tail.
        """
        panels = self.panels_down_to(log_level)
        z = np.array([p.low + (p.high - p.low) * _TESTED for p in panels])
        found = np.array([p.log_density(part) for p, part in zip(panels, z, strict=True)])
        return float(np.abs(np.expm1(found.ravel() - self._log_density(z.ravel()))).max()) + _ROUNDING

    def log_density(self, z: Array) -> Array:
        """Return the log density at z by interpolation, or by linear extrapolation if the log density is `_DEEP` below
        its largest value.
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
        """Return the log probability log P(Z <= z), or log P(Z > z). The tail is extrapolated if the log density is
        `_DEEP` below its largest value.
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
        """Return the z at which log P(Z <= z), or log P(Z > z), equals `log_level`."""
        side = 1 if upper else -1
        number = self._reaching(side, log_level)
        total = self._beyond(side, number)
        if total >= log_level:  # the last piece decreases exponentially
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
        """Return the log of the integral over the whole line. If the density is normalised, this log is 0 up to the
        interpolation error.
        """
        ends = [self._beyond(side, self._core[side]) for side in (-1, 1)]
        return float(logsumexp([ends[0], *(p.log_mass for p in self.panels), ends[1]]))

    def moments(self, function: Callable[[Array], Array]) -> Array:
        """Return the integrals of function(z) with respect to the density; the function returns rows of values."""
        z, mass = self.rule()
        return np.asarray(function(z) @ mass)

    def rule(self) -> tuple[Array, Array]:
        """Return the nodes of Gauss quadrature and their probabilities, in the panels whose probability is not
        negligible.
        """
        panels = self.panels
        z = np.concatenate([p.low + (p.high - p.low) / 2 * (1 + PLACES) for p in panels])
        half = np.repeat([(p.high - p.low) / 2 for p in panels], len(PLACES))
        return z, np.exp(self.log_density(z)) * half * np.tile(WEIGHTS, len(panels))

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
        """Return the log of the integral over the part of a panel above (or below) z."""
        low, high = (max(z, panel.low), panel.high) if upper else (panel.low, min(z, panel.high))
        if not low < high:
            return -np.inf
        return panel.log_mass if low == panel.low and high == panel.high else panel.log_integral(low, high)

    def _between(self, left: int, right: int) -> list[Panel]:
        """Return the given numbers of panels on the left and right of the centre."""
        return self._laid[-1][:left][::-1] + self._laid[1][:right]

    def _with(self, side: int, number: int) -> tuple[int, int]:
        """Return the numbers of panels on the left and on the right, if the given side has `number` panels and the
        opposite side has the panels of the core.
        """
        return (number, self._core[1]) if side < 0 else (self._core[-1], number)

    def _exists(self, side: int, number: int) -> bool:
        """Return whether a side has at least this number of panels, after missing panels are added."""
        while len(self._laid[side]) < number:
            if not self._add(side):
                return False
        return True

    def _as_far_as(self, side: int, z: float) -> int:
        """Return the number of panels up to z, or up to the point at which the density is negligible."""
        number = self._core[side]
        while (
            side * (z - self._edge(side, number)[0]) > 0
            and self._edge(side, number)[1] > self._top - _DEEP
            and self._exists(side, number + 1)
        ):
            number += 1
        return number

    def _reaching(self, side: int, log_level: float) -> int:
        """Return the number of panels beyond which the mass is negligible for a tail of this log probability."""
        number = self._core[side]
        while self._beyond(side, number) > log_level - _BEYOND and self._exists(side, number + 1):
            number += 1
        return number

    def _needed(self, side: int, wanted: float) -> bool:
        """Return whether another panel is needed on the given side, that is, whether the density at the outer limit of
        the last panel is not yet low enough or the panels do not yet cover the point `wanted`.
        """
        place, log_edge = self._edge(side, len(self._laid[side]))
        return log_edge > self._peak() - _CORE or side * (wanted - place) > 0

    def _peak(self) -> float:
        return max((end for side in (-1, 1) for panel in self._laid[side] for end in panel.ends), default=-np.inf)

    def _edge(self, side: int, number: int) -> tuple[float, float]:
        """Return the outer limit of the given number of panels, and the log density at that limit."""
        if not number:
            return self._start, np.inf
        panel = self._laid[side][number - 1]
        return (panel.low, panel.ends[0]) if side < 0 else (panel.high, panel.ends[1])

    def _slope(self, side: int, number: int) -> float:
        panel = self._laid[side][number - 1]
        return panel.slope(panel.low if side < 0 else panel.high)

    def _beyond(self, side: int, number: int) -> float:
        """Return the log of the mass outside a number of panels. The density is extrapolated by an exponential function
        with its slope at the limit.
        """
        slope = -side * self._slope(side, number)
        return self._edge(side, number)[1] - np.log(slope) if slope > 0 else np.inf

    def _add(self, side: int) -> bool:
        """Add a panel on one side; return False if no further panel is possible."""
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
        """Return a suitable width for the next panel. The panel is not much wider than its neighbour, and the log
        density changes by at most `_CHANGE`.
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
    """Return the float64 nearest to x = 1/(1 + exp(-log_odds)); `expit` can be off by two floats near 1."""
    return float(1 - expit(-log_odds)) if log_odds > 0 else float(expit(log_odds))
