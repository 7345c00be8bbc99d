"""One odds ratio common to the originals of swapped 2 x 2 tables of several strata.

Given its margins, which a swap keeps, the original count x of a stratum with odds ratio psi follows Fisher's
noncentral hypergeometric law, h(x) psi^x over its sum. Since the swap is reversible with respect to h,

P(s | psi, margins) = sum_x P(x | s) psi^(x - s) / sum_x h(x)/h(s) psi^(x - s),

P(x | s) the law of one more swap of the published table. Strata multiply; their margins need no prior.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from ... import _checks
from ..._honesty import LEVEL, Honesty, summary_frame
from ..._mechanisms.swapping import two_by_two
from ..counts.panel_density import PanelDensity, log_of

Array = NDArray[np.float64]
TOLERANCE = 1e-11  # of the interpolation of the log density
_NODES = 801  # of `CommonOdds.grid`
_REACH = 1e-17  # probability beyond either end of it
_FARTHEST = 700.0  # log odds ratios that are looked at
_LEAST_LEVEL = float(np.log(1e-15))  # tails down to this are covered by `CommonOdds.error`
_MOST_TABLES = 200_000  # in a class


@dataclass(frozen=True, eq=False, repr=False)
class CommonOdds:
    """Posterior of a common log odds ratio.

    Parameters
    ----------
    law : PanelDensity
        Of the log odds ratio, up to a factor.
    mode : float
    strata : int
        Strata that say something: all margins positive.
    """

    law: PanelDensity
    mode: float
    strata: int

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(log odds ratio {self.mean():.4g} +- {self.sd():.3g} from {self.strata} strata, "
            f"{self.honesty})"
        )

    @cached_property
    def error(self) -> float:
        """Relative error of any probability, and of the nearer tail's at a quantile, down to 1e-15: that of the density
        at three places off the nodes of every panel, twice, since the whole is off as well as the part."""
        return 2 * self.law.error(_LEAST_LEVEL + self._log_mass)

    @property
    def honesty(self) -> Honesty:
        """``approximate`` with `error`."""
        return Honesty("approximate", self.error, "relative error of probabilities, from the interpolated density's")

    @cached_property
    def grid(self) -> Array:
        """801 log odds ratios, equally spaced, with a neglected mass of 1e-17 on either side."""
        level = float(np.log(_REACH)) + self._log_mass
        return np.linspace(self.law.quantile(level, upper=False), self.law.quantile(level, upper=True), _NODES)

    @cached_property
    def density(self) -> Array:
        """The density at `grid`."""
        return np.exp(self.law.log_density(self.grid) - self._log_mass)

    def mean(self) -> float:
        """Posterior mean of the log odds ratio."""
        return self._moments[0]

    def variance(self) -> float:
        """Posterior variance of the log odds ratio."""
        return self._moments[1]

    def sd(self) -> float:
        """Posterior standard deviation of the log odds ratio."""
        return float(np.sqrt(self.variance()))

    def cdf(self, x: ArrayLike) -> Array:
        """P(log odds ratio <= x), with the relative error `error` down to 1e-15."""
        return self._probability(x, upper=False)

    def sf(self, x: ArrayLike) -> Array:
        """P(log odds ratio > x), with the relative error `error` down to 1e-15."""
        return self._probability(x, upper=True)

    def logcdf(self, x: ArrayLike) -> Array:
        """log P(log odds ratio <= x)."""
        return log_of(self.cdf(x), self.sf(x))

    def logsf(self, x: ArrayLike) -> Array:
        """log P(log odds ratio > x)."""
        return log_of(self.sf(x), self.cdf(x))

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles of the log odds ratio for q strictly between 0 and 1; the nearer tail's probability there has the
        relative error `error` at levels from 1e-15 to 1 - 1e-15.

        Raises
        ------
        ValueError
            If a level is not strictly between 0 and 1: the law has no ends.
        """
        levels = _checks.fraction("q", q)
        if not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"q must lie strictly between 0 and 1, got {q!r}: the law has no ends")
        found = [self._quantile(level) for level in levels.ravel().tolist()]
        return np.asarray(found, dtype=np.float64).reshape(levels.shape)

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """One row, ``common log odds ratio``; columns `honesty.SUMMARY`.

        Parameters
        ----------
        level : float
            Mass of the interval, in (0, 1).
        """
        tail = (1 - _checks.inside("level", level)) / 2
        lower, upper = self.quantile([tail, 1 - tail])
        return summary_frame(
            ["common log odds ratio"], mean=[self.mean()], sd=[self.sd()], lower=[lower], upper=[upper], level=level,
            status=self.honesty,
        )  # fmt: skip

    @cached_property
    def _log_mass(self) -> float:
        return self.law.log_mass()

    @cached_property
    def _moments(self) -> tuple[float, float]:
        x, mass = self.law.rule()
        mass = mass / mass.sum()
        mean = float(mass @ x)
        return mean, float(mass @ (x - mean) ** 2)

    def _probability(self, x: ArrayLike, *, upper: bool) -> Array:
        points = np.asarray(x, dtype=np.float64)
        logs = [self.law.log_tail(z, upper=upper) - self._log_mass for z in points.ravel().tolist()]
        return np.asarray(np.exp(np.minimum(logs, 0.0))).reshape(points.shape)

    def _quantile(self, level: float) -> float:
        upper = level > 0.5
        log_level = float(np.log1p(-level) if upper else np.log(level))
        return self.law.quantile(log_level + self._log_mass, upper=upper)


def common_odds_ratio(
    swapped: ArrayLike, *, rate: float, prior_sd: float = 5.0, tolerance: float = TOLERANCE
) -> CommonOdds:
    """Posterior of the log odds ratio that all strata share, from their swapped 2 x 2 tables.

    Parameters
    ----------
    swapped : whole numbers >= 0, (strata, 2, 2) or (2, 2)
        Swapped within strata; up to 200,000 tables in a class.
    rate : float
        Swap rate, in (0, 1).
    prior_sd : float
        The log odds ratio is normal with mean 0 and this standard deviation beforehand.
    tolerance : float
        Of the interpolation of the log density, in (0, 1); the result states what came of it.

    Returns
    -------
    CommonOdds

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range or has the wrong shape.

    Notes
    -----
    The log density is interpolated in panels, about 200 evaluations; 10 ms a stratum of 100 tables.
    """
    array = np.asarray(swapped)
    stack = array[None] if array.ndim == 2 else array
    if stack.ndim != 3 or not len(stack) or stack.shape[1:] != (2, 2):
        raise ValueError(f"swapped must be (strata, 2, 2), got shape {array.shape}")
    rate, spread = _checks.inside("rate", rate), _checks.positive("prior_sd", prior_sd)
    strata = [found for table in stack if (found := _stratum(table, rate)) is not None]

    def log_density(points: Array) -> Array:
        total = -0.5 * (points / spread) ** 2
        for step, swap, free in strata:
            tilt = points[:, None] * step
            total = total + logsumexp(swap + tilt, axis=1) - logsumexp(free + tilt, axis=1)
        return np.asarray(total, dtype=np.float64)

    far = min(_FARTHEST, 12 * spread)
    mode, width = _mode(log_density, far)
    accuracy = _checks.inside("tolerance", tolerance)
    law = PanelDensity(log_density, centre=mode, width=width, deepest=2 * far, tolerance=accuracy)
    return CommonOdds(law, mode, len(strata))


def _stratum(table: ArrayLike, rate: float) -> tuple[Array, Array, Array] | None:
    """x - s of the class, log P(x | s) and log h(x)/h(s); None if a margin is 0."""
    counts = _checks.table("swapped", table)
    x, _ = two_by_two.orient(counts)
    _checks.whole("tables in a class of swapped", len(x), most=_MOST_TABLES)
    if len(x) == 1:
        return None
    row = two_by_two.row(counts, rate=rate)
    return (x - counts[1, 1]).astype(np.float64), row.log_forward, row.log_forward - row.log_backward


def _mode(log_density: Callable[[Array], Array], far: float) -> tuple[float, float]:
    """Place of the largest density within +-far, and the width of the law there."""
    coarse = np.linspace(-far, far, 241)
    best = int(np.argmax(log_density(coarse)))
    low, high = coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)]
    mode = float(
        minimize_scalar(lambda t: -float(log_density(np.array([t]))[0]), bounds=(low, high), method="bounded").x
    )
    step = 1e-3 * far
    fall = np.ptp(log_density(np.array([mode - step, mode, mode + step])))
    return mode, float(step / np.sqrt(2 * max(fall, 1e-12)))
