"""A density on the real line known through its logarithm: interpolated panel by panel, integrated from both ends.

The logarithm of a density is smooth where the density itself spans hundreds of orders of magnitude. It is
interpolated by Chebyshev polynomials on panels laid outwards from the centre; a panel is accepted once its last
coefficients vanish. The panels cover what carries probability and are added on demand where a question reaches
further out; both tails keep their relative accuracy, since each is summed from its own end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

Array = NDArray[np.float64]
NODES = 14  # evaluations of the density a panel
_CORE, _DEEP = 28.0, 80.0  # fall of log density that is covered at once, and at most for a density or probability
_CHANGE = 12.0  # of log density over one panel
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(28)
_CHEBYSHEV = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_CHEBYSHEV, NODES - 1))


@dataclass(frozen=True)
class Panel:
    """log density on [low, high] as a Chebyshev series.

    Parameters
    ----------
    low, high : ends of the panel.
    series : float64 (n,), Chebyshev coefficients.
    """

    low: float
    high: float
    series: Array

    def log_density(self, z: Array) -> Array:
        """The interpolation at z."""
        return np.asarray(chebyshev.chebval((2 * z - self.low - self.high) / (self.high - self.low), self.series))

    def log_integral(self, low: float, high: float) -> float:
        """log of the integral over [low, high], by Gauss's rule."""
        half = (high - low) / 2
        if not half > 0:
            return -np.inf
        return float(logsumexp(self.log_density(low + half * (1 + _PLACES)), b=half * _WEIGHTS))

    @cached_property
    def log_mass(self) -> float:
        """log of the integral over the whole panel."""
        return self.log_integral(self.low, self.high)

    def slope(self, z: float) -> float:
        """Derivative of the log density."""
        place = (2 * z - self.low - self.high) / (self.high - self.low)
        return float(chebyshev.chebval(place, chebyshev.chebder(self.series)) * 2 / (self.high - self.low))


class PanelDensity:
    """Law with a given log density.

    Parameters
    ----------
    log_density : z (m,) -> log density (m,), with one peak or a few, falling at least linearly on both sides.
    centre, width : a typical value and a typical spread.
    deepest : largest |z| at which `log_density` may be called.
    tolerance : of the last coefficients of a panel.
    """

    def __init__(
        self, log_density: Callable[[Array], Array], *, centre: float, width: float, deepest: float, tolerance: float
    ) -> None:
        self._log_density, self._deepest, self._tolerance = log_density, deepest, tolerance
        self.panels: list[Panel] = []
        self._start = float(np.clip(centre, -deepest / 2, deepest / 2))
        self._width = width
        for side in (-1, 1):
            while self._edge(side)[1] > self._peak() - _CORE and self._add(side):
                pass

    def log_density(self, z: Array) -> Array:
        """log density at z, by interpolation; extrapolated linearly where it is `_DEEP` below its largest value."""
        if z.size:
            self._reach(-1, float(z.min()))
            self._reach(1, float(z.max()))
        edges = np.array([p.high for p in self.panels[:-1]])
        out = np.empty(z.shape)
        place = np.searchsorted(edges, z)
        for i in np.unique(place):
            mine, panel = place == i, self.panels[i]
            inside = np.clip(z[mine], panel.low, panel.high)
            beyond = z[mine] - inside
            out[mine] = panel.log_density(inside)
            if beyond.any():
                out[mine] += beyond * np.where(beyond < 0, panel.slope(panel.low), panel.slope(panel.high))
        return out

    def log_tail(self, z: float, *, upper: bool) -> float:
        """log P(Z <= z), or log P(Z > z)."""
        side = 1 if upper else -1
        self._reach(side, z)
        further = side * (z - self._edge(side)[0])
        if further > 0:
            return self._beyond(side) - abs(self._slope(side)) * further
        parts = [self._beyond(side)]
        for panel in self.panels:
            low, high = (max(z, panel.low), panel.high) if upper else (panel.low, min(z, panel.high))
            if low < high:
                whole = low == panel.low and high == panel.high
                parts.append(panel.log_mass if whole else panel.log_integral(low, high))
        return float(logsumexp(parts))

    def quantile(self, log_level: float, *, upper: bool) -> float:
        """z with log P(Z <= z), or log P(Z > z), equal to `log_level`."""
        side = 1 if upper else -1
        while self._beyond(side) > log_level - 2 and self._add(side):
            pass
        total = self._beyond(side)
        if total >= log_level:  # the last piece falls exponentially
            edge, log_edge, slope = *self._edge(side), self._slope(side)
            return edge + side * (total - log_level) / abs(slope) if log_edge > -np.inf else edge
        for panel in self.panels[::-1] if upper else self.panels:
            more = float(np.logaddexp(total, panel.log_mass))
            if more >= log_level:
                return self._inside(panel, total, log_level, upper)
            total = more
        return self._edge(-side)[0]

    def log_mass(self) -> float:
        """log of the whole integral, 0 up to the error of the interpolation where the density is normalised."""
        return float(logsumexp([self._beyond(-1), *(p.log_mass for p in self.panels), self._beyond(1)]))

    def moments(self, function: Callable[[Array], Array]) -> Array:
        """Integrals of function(z), which returns rows of values, against the density."""
        z = np.concatenate([p.low + (p.high - p.low) / 2 * (1 + _PLACES) for p in self.panels])
        half = np.repeat([(p.high - p.low) / 2 for p in self.panels], len(_PLACES))
        mass = np.exp(self.log_density(z)) * half * np.tile(_WEIGHTS, len(self.panels))
        return np.asarray(function(z) @ mass)

    @staticmethod
    def _inside(panel: Panel, total: float, log_level: float, upper: bool) -> float:
        def excess(z: float) -> float:
            part = panel.log_integral(z, panel.high) if upper else panel.log_integral(panel.low, z)
            return float(np.logaddexp(total, part)) - log_level

        ends = excess(panel.low), excess(panel.high)
        if ends[0] * ends[1] >= 0:
            return panel.low if abs(ends[0]) < abs(ends[1]) else panel.high
        return float(brentq(excess, panel.low, panel.high, xtol=1e-15, rtol=1e-15))

    def _reach(self, side: int, z: float) -> None:
        """Panels up to z, or to where the density is negligible."""
        while side * (z - self._edge(side)[0]) > 0 and self._edge(side)[1] > self._peak() - _DEEP and self._add(side):
            pass

    def _peak(self) -> float:
        return max((float(p.log_density(np.array([p.low, p.high])).max()) for p in self.panels), default=-np.inf)

    def _edge(self, side: int) -> tuple[float, float]:
        """Outermost place and the log density there."""
        if not self.panels:
            return self._start, np.inf
        panel = self.panels[0 if side < 0 else -1]
        place = panel.low if side < 0 else panel.high
        return place, float(panel.log_density(np.array([place]))[0])

    def _slope(self, side: int) -> float:
        panel = self.panels[0 if side < 0 else -1]
        return panel.slope(panel.low if side < 0 else panel.high)

    def _beyond(self, side: int) -> float:
        """log of the mass outside the panels: an exponential law with the slope at the edge."""
        slope = -side * self._slope(side)
        return self._edge(side)[1] - np.log(slope) if slope > 0 else np.inf

    def _add(self, side: int) -> bool:
        """One more panel on a side; False where none is possible."""
        edge = self._edge(side)[0]
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
        self.panels.insert(0 if side < 0 else len(self.panels), Panel(low, high, series))
        return True

    def _guess(self, side: int) -> float:
        """Width of the next panel: not much wider than its neighbour, log density changing by at most `_CHANGE`."""
        if not self.panels:
            return 1.5 * self._width
        panel = self.panels[0 if side < 0 else -1]
        last = panel.high - panel.low
        edge = panel.low if side < 0 else panel.high
        first, inner = panel.slope(edge), panel.slope(edge - side * last / 8)
        bend = abs(first - inner) / (last / 8)
        steep = (-abs(first) + np.sqrt(first**2 + 2 * bend * _CHANGE)) / bend if bend > 0 else _CHANGE / abs(first)
        return float(min(2.5 * last, max(steep, 1e-3 * last)))
