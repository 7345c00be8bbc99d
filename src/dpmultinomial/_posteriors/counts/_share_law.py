"""Law of a share among some categories at any total and any noise, from a certified interpolation of its density.

The density on the scale z = log(x/(1 - x)) comes from `_share_density`, a sum of positive terms; `PanelDensity`
interpolates its logarithm. Mean and variance do not use the interpolation (`share_moments`); what the interpolation
makes of them, of the integral 1 and of points between its nodes is the error that is stated with every result.
"""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from ... import _checks
from ..._honesty import Honesty
from . import _share_density
from ._share_moments import ShareMoments, log_weight, share_moments
from ._share_weights import ShareWeights
from .panel_density import PanelDensity, share_at
from .tailed_law import TailedLaw, nearer_tail

DEEPEST = 600.0  # largest |log(x/(1 - x))| at which the density is evaluated
_LARGE, _FINE, _COARSE = 20_000, 1e-11, 1e-7  # totals above use the coarser tolerance
_DEEPEST_LEVEL = float(np.log(1e-15))  # tails down to this are covered by `error`
_LEAST_X, _MOST_X = float(expit(-40.0)), 1 - 2.0**-53


class ShareLaw(TailedLaw):
    """Law of x with x | s, t ~ Beta(alpha + s, beta + t) and weights mine[s] theirs[t] of_total[s + t].

    Probabilities have the relative error `error` (their logarithms the absolute one) where they are above 1e-15; the
    nearer tail's at quantiles of levels from 1e-15 to 1 - 1e-15.

    Parameters
    ----------
    weights : `ShareWeights`, the weights of s, of t and of n = s + t.
    alpha, beta : > 0.

    Raises
    ------
    ValueError, TypeError
        If alpha or beta is not a finite number > 0.

    Notes
    -----
    The same methods as `BetaMixture`. O(M) memory whatever the noise; at totals of 1,000,000 mean and variance take a
    few tenths of a second, and the density, with all that follows from it, one to three seconds, once.
    """

    def __init__(self, weights: ShareWeights, *, alpha: float, beta: float) -> None:
        self.alpha, self.beta = _checks.positive("alpha", alpha), _checks.positive("beta", beta)
        self._weights = weights
        self._tolerance = _FINE if weights.total <= _LARGE else _COARSE

    def __getstate__(self) -> dict[str, object]:
        """Without the kernel's own arrays: a copy prepares them anew."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_kernel", "_density")}

    def mean(self) -> float:
        """Expected value; no interpolation."""
        return self._moments.mean

    def variance(self) -> float:
        """Variance; no interpolation."""
        return self._moments.variance

    @cached_property
    def error(self) -> float:
        """What the interpolation is known to be wrong by: the relative error of the density, and so of any probability
        and of the nearer tail's at a quantile, for tails down to 1e-15.

        The largest of |integral - 1|, the error of the mean in standard deviations, the relative error of the variance,
        and the relative error of the density at three places between the nodes of every panel.
        """
        mean, sd = self.mean(), np.sqrt(self.variance())

        def powers(z: NDArray[np.float64]) -> NDArray[np.float64]:
            x = (expit(z) - mean) / sd
            return np.stack([np.ones(len(x)), x, x**2])

        mass, first, second = self._density.moments(powers)
        return float(np.max(np.abs([mass - 1, first, second - 1, self._density.error(_DEEPEST_LEVEL)])))

    @property
    def honesty(self) -> Honesty:
        """``approximate`` with the certificate `error`; mean and variance do not depend on it."""
        reason = "relative error of density and probabilities: integral, mean, variance, points between the nodes"
        return Honesty("approximate", self.error, reason)

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Density at x in [0, 1]; +inf at an end where alpha + s < 1 (beta + t < 1) has weight."""
        points = _checks.fraction("x", x)
        out = np.exp(self._log_pdf(logit(np.clip(points.ravel(), _LEAST_X, _MOST_X)))).reshape(points.shape)
        for end, power in zip((0.0, 1.0), self._powers, strict=True):
            if power != 1:
                out = np.where(points == end, np.inf if power < 1 else 0.0, out)
        return out

    def mode(self) -> float | None:
        """Place of the highest density; where that is infinite at an end, the best interior one or None."""
        z = np.unique(np.concatenate([np.linspace(p.low, p.high, 41) for p in self._density.panels]))
        z = z[np.abs(z) < 36]
        if not len(z):
            return float(self.mean() > 0.5)
        logs = self._log_pdf(z)
        best = int(np.argmax(logs))
        if best in (0, len(z) - 1):
            if self._powers[best > 0] >= 1:
                return float(best > 0)
            peaks = np.flatnonzero((logs[1:-1] >= logs[:-2]) & (logs[1:-1] > logs[2:])) + 1
            if not len(peaks):
                return None
            best = int(peaks[np.argmax(logs[peaks])])
        return float(expit(self._summit(z[best - 1], z[best], z[best + 1])))

    def __repr__(self) -> str:
        return f"ShareLaw(mean {self.mean():.6g}, sd {self.variance() ** 0.5:.3g}, total {self._weights.total})"

    @cached_property
    def _powers(self) -> tuple[float, float]:
        """Smallest parameters of a component: the density behaves like x^(power - 1) at the ends."""
        mine, theirs, _ = self._weights.precise
        return self.alpha + mine.first, self.beta + theirs.first

    @cached_property
    def _log_weight(self) -> float:
        """log of the sum of the precise weights; they are scaled differently from the bulk where they were cut."""
        return log_weight(*self._weights.precise)

    @cached_property
    def _moments(self) -> ShareMoments:
        return share_moments(*self._weights.bulk, alpha=self.alpha, beta=self.beta)

    @cached_property
    def _density(self) -> PanelDensity:
        mean, sd = self.mean(), np.sqrt(self.variance())
        width = min(sd / (mean * (1 - mean)), 5.0)
        return PanelDensity(
            self._log_density, centre=float(logit(mean)), width=width, deepest=DEEPEST, tolerance=10 * self._tolerance
        )

    @cached_property
    def _kernel(self) -> _share_density.Density:
        mine, theirs, of_total = self._weights.precise
        return _share_density.Density(
            mine=mine.weights,
            theirs=theirs.weights,
            of_total=of_total.weights,
            alpha=self.alpha,
            beta=self.beta,
            first=(mine.first, theirs.first, of_total.first),
            tolerance=self._tolerance,
        )

    def _log_density(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """log density of log(x/(1 - x)), from the kernel."""
        return self._kernel.at(z) - self._log_weight

    def _log_pdf(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._density.log_density(z) + np.logaddexp(0.0, z) + np.logaddexp(0.0, -z)

    def _summit(self, low: float, middle: float, high: float) -> float:
        """Where the slope of log density changes sign, in [low, high]; `middle` where it does not."""
        step = 1e-4 * (high - low)

        def slope(z: float) -> float:
            around = self._log_pdf(np.array([z - step, z + step]))
            return float(around[1] - around[0])

        if not slope(low) > 0 > slope(high):
            return middle
        return float(brentq(slope, low, high, xtol=1e-14))

    def _probability(self, x: ArrayLike, *, upper: bool) -> NDArray[np.float64]:
        return np.exp(self._log_probability(x, upper=upper))

    def _log_probability(self, x: ArrayLike, *, upper: bool) -> NDArray[np.float64]:
        points = _checks.fraction("x", x)
        logs = [self._density.log_tail(float(logit(p)), upper=upper) if 0 < p < 1 else
                (0.0 if (p == 0) == upper else -np.inf) for p in points.ravel()]  # fmt: skip
        return np.asarray(np.minimum(logs, 0.0)).reshape(points.shape)

    def _quantile(self, level: float) -> float:
        if level in (0.0, 1.0):
            return level
        log_level, upper = nearer_tail(level)
        return share_at(self._density.quantile(log_level, upper=upper))
