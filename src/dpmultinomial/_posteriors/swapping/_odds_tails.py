"""Far tails of the log odds ratio with small relative error: the characteristic function inverted along other lines.

P(X > x) = 1/(2 pi i) times the integral of E exp(s X) exp(-s x)/s over a line Re s = c > 0. With c near the saddle
point nothing cancels, so the midpoint rule keeps its digits however small the tail (for c = 0, `log_odds`, it has the
absolute accuracy of 1). E exp(c X) is finite for c below the smaller of a_2 and a_3 alone, so components are taken
together by octaves of that. The lines lie at fixed depths of a tail: an answer does not depend on those before it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, zeta

from ._odds_mixtures import SIGNS, transform

Array = NDArray[np.float64]
_FIRST, _STEP = 6.0, 8.0  # depths of the lines, in logs of the bound exp(K(c) - c K'(c)) on the tail
_DIGITS = 34.0  # exp(-34) = 2e-15: what comes round from other periods, lies beyond the last node, or is neglected
_LEAST, _MOST = -60.0, 30.0  # tilts are looked for between these log odds of their limit
_MARGIN = 18.0  # how far below the bound of a line a tail may lie that is read off it


@dataclass(frozen=True)
class Line:
    """The transform along Re s = tilt: midpoints t and E exp((tilt + i t)(X - place)) there.

    Parameters
    ----------
    tilt, place : >= 0, and the mean under that tilt.
    t, values : (n,), midpoints of equal steps from 0.
    whole : probability of all components together.
    """

    tilt: float
    place: float
    t: Array
    values: NDArray[np.complex128]
    whole: float

    def tail(self, x: float) -> tuple[float, float]:
        """P(X > x) and the density at x."""
        away, step = x - self.place, 2 * self.t[0]
        if self.tilt == 0 and -away > np.pi / step:
            return self.whole, 0.0
        turned = np.exp(-1j * self.t * away) * self.values
        scale = float(np.exp(-self.tilt * away) * step / np.pi)
        part = scale * float((turned / (self.tilt + 1j * self.t)).real.sum())
        return part + 0.5 * self.whole * (self.tilt == 0), scale * float(turned.real.sum())


class UpperTail:
    """P(X > x) for a mixture of log odds ratios of Dirichlet laws.

    Parameters
    ----------
    a : float64 (m, 4), positive.
    weights : float64 (m,), positive.
    """

    def __init__(self, a: Array, weights: Array) -> None:
        octave = np.floor(np.log2(a[:, 1:3].min(axis=1))).astype(np.int64)
        self._groups = [_Group(a[octave == k], weights[octave == k]) for k in np.unique(octave)]

    def probability(self, x: float) -> float:
        """P(X > x)."""
        return self._tail(x)[0]

    def quantile(self, wanted: float) -> float:
        """x with P(X > x) = wanted, by Newton's method on the log probability, in a bracket."""
        x = max(group.place(wanted) for group in self._groups if group.whole > wanted)
        low, high = -np.inf, np.inf
        for _ in range(200):
            tail, density = self._tail(x)
            low, high = (x, high) if tail > wanted else (low, x)
            new = x + np.log(tail / wanted) * tail / density if tail > 0 and density > 0 else np.nan
            if not low < new < high:
                new = 0.5 * (low + high) if high - low < np.inf else x + (1 if tail > wanted else -1) * (1 + abs(x))
            x, step = new, abs(new - x)
            if step <= 4e-16 * (1 + abs(x)):
                break
        return float(x)

    def _tail(self, x: float) -> tuple[float, float]:
        """P(X > x) and the density at x, from the groups that matter."""
        tail = density = 0.0
        bounds = [group.log_bound(x) for group in self._groups]
        for k in np.argsort(bounds)[::-1].tolist():
            if tail > 0 and bounds[k] < np.log(tail) - _DIGITS:
                break
            found = self._groups[k].tail(x, bounds[k])
            tail, density = tail + found[0], density + found[1]
        return tail, density


class _Group:
    """Components whose tails fall alike."""

    def __init__(self, a: Array, weights: Array) -> None:
        self.whole = float(weights.sum())
        self._a, self._logs, self._gammas = a, np.log(weights), gammaln(a)
        self._limits = float(a[:, [0, 3]].min()), float(a[:, 1:3].min())  # of tilts down and up
        self._mean = self._first_two(0.0)[1]
        self._lines: dict[int, Line] = {}
        self._ends: dict[float, tuple[float, float]] = {}  # cumulants where every search for a tilt begins

    def log_bound(self, x: float) -> float:
        """log of Chernoff's bound on `tail`."""
        if x <= self._mean:
            return float(np.log(self.whole))
        c = self._tilt(lambda c, log_mass, mean: mean - x)
        return min(self._first_two(c)[0] - c * x, float(np.log(self.whole)))

    def tail(self, x: float, log_bound: float) -> tuple[float, float]:
        """P(X > x) and the density at x, both times the group's probability."""
        depth = (np.log(self.whole) - log_bound - _FIRST) / _STEP
        line = 0 if depth < 0 else 1 + round(depth)
        if line not in self._lines:
            self._lines[line] = self._line(*self._at(line))
        return self._lines[line].tail(x)

    def place(self, wanted: float) -> float:
        """About where P(X > x) is `wanted`."""
        return self._at(max(0, round((np.log(self.whole / wanted) - _FIRST) / _STEP)))[1]

    def _cumulants(self, c: float) -> tuple[float, float, float]:
        """log E exp(c X) and its first two derivatives."""
        whole, mean, share, means = self._first_two(c)
        return whole, mean, float(share @ (zeta(2, self._a + c * SIGNS).sum(axis=1) + (means - mean) ** 2))

    def _first_two(self, c: float) -> tuple[float, float, Array, Array]:
        """log E exp(c X), its first derivative, and every component's share in it and mean."""
        a = self._a + c * SIGNS
        logs = self._log_shares(a)
        top = logs.max()
        share = np.exp(logs - top)
        total = share.sum()
        share /= total
        means = digamma(a) @ SIGNS
        return float(np.log(total) + top), float(share @ means), share, means

    def _log_shares(self, tilted: Array) -> Array:
        """log of every component's part of E exp(c X), from its shapes tilted by c."""
        return np.asarray(self._logs + (gammaln(tilted) - self._gammas).sum(axis=1))

    def _at(self, line: int) -> tuple[float, float]:
        """Tilt and place of a line; that of no tilt is the first."""
        depth = _FIRST + _STEP * (line - 1) - np.log(self.whole)
        c = self._tilt(lambda c, log_mass, mean: c * mean - log_mass - depth) if line else 0.0
        return c, self._first_two(c)[1]

    def _tilt(self, excess: Callable[[float, float, float], float]) -> float:
        """The tilt at which a function of itself and of the first two cumulants, which rises, is 0."""

        def at(log_odds: float) -> float:
            tilt = self._at_odds(log_odds)
            known = self._ends[log_odds] if log_odds in self._ends else self._first_two(tilt)[:2]
            return excess(tilt, *known)

        if not self._ends:
            self._ends.update({log_odds: self._first_two(self._at_odds(log_odds))[:2] for log_odds in (_LEAST, _MOST)})
        if at(_LEAST) < 0 < at(_MOST):
            return self._at_odds(brentq(at, _LEAST, _MOST, xtol=0.02))
        return self._at_odds(_MOST if at(_MOST) < 0 else _LEAST)

    def _at_odds(self, log_odds: float) -> float:
        """The tilt at a place between none and the limit."""
        return float(self._limits[1] / (1 + np.exp(-log_odds)))

    def _line(self, c: float, place: float) -> Line:
        log_mass, _, variance = self._cumulants(c)
        step = 2 * np.pi / self._period(c, place)
        t: Array = np.asarray(step * (np.arange(int(np.ceil(8.7 / np.sqrt(variance) / step)) + 16) + 0.5), np.float64)
        values = self._transform(c, place, t)
        while abs(values[-1]) > np.exp(log_mass - c * place - _DIGITS):
            more = np.asarray(step * (np.arange(len(t), 2 * len(t)) + 0.5), np.float64)
            t, values = np.append(t, more), np.append(values, self._transform(c, place, more))
        return Line(c, place, t, values, self.whole)

    def _period(self, c: float, place: float) -> float:
        """Period at which what comes round is negligible beside the tail, from Chernoff bounds on either side."""
        log_mass = self._first_two(c)[0]
        if c == 0:  # read from half a period below its place up to the next line
            ends = [self._reach(c, place, log_mass - _FIRST - 2, side) for side in (-1, 1)]
            return 2 * max(*ends, self._at(1)[1] - place)
        log_tail = log_mass - c * place - _MARGIN
        return max((_DIGITS - log_tail) / c, self._reach(c, place, log_tail, 1))

    def _reach(self, c: float, place: float, log_tail: float, side: int) -> float:
        """How far from a line's place the tail beyond is negligible."""
        room = self._limits[0] if side < 0 else self._limits[1] - c
        widths = np.minimum(np.array([1, 2, 4, 8]) / self._cumulants(c)[2] ** 0.5, 0.9 * room)
        gaps = np.append(np.array([0.25, 0.5, 0.75, 0.9]) * room, widths)
        tilts = c + side * gaps
        logs = [self._first_two(tilt)[0] - tilt * place - log_tail for tilt in tilts.tolist()]
        return float(min((np.array(logs) + _DIGITS) / gaps))

    def _transform(self, c: float, place: float, t: Array) -> NDArray[np.complex128]:
        """E exp((c + i t)(X - place)), without the components that say nothing at this tilt."""
        shares = self._log_shares(self._a + c * SIGNS)
        kept = shares > shares.max() - _DIGITS - np.log(len(shares))
        return transform(self._a[kept], np.exp(self._logs[kept]), t, tilt=c, place=place)
