"""One odds ratio common to the originals of swapped 2 x 2 tables of several strata.

Given its margins, which a swap keeps, the original count x of a stratum with odds ratio psi follows Fisher's
noncentral hypergeometric law, h(x) psi^x over its sum. Since the swap is reversible with respect to h,

P(s | psi, margins) = sum_x P(x | s) psi^(x - s) / sum_x h(x)/h(s) psi^(x - s),

P(x | s) the law of one more swap of the published table. Strata multiply; their margins need no prior.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

from ... import _checks
from ..._honesty import LEVEL, Honesty, summary_frame
from ..._mechanisms.swapping import two_by_two

Array = NDArray[np.float64]
_NODES = 801
_REACH = 40.0  # the density is followed down to e^-40 of its peak
_FARTHEST = 700.0  # log odds ratios that are looked at
_MOST_TABLES = 200_000  # in a class


@dataclass(frozen=True)
class CommonOdds:
    """Posterior of a common log odds ratio.

    Parameters
    ----------
    grid, density : float64 (nodes,)
        Log odds ratios and the posterior density there.
    mode : float
    strata : int
        Strata that say something: all margins positive.
    honesty : Honesty
        ``approximate``: the error of the mean from the grid, in units of the standard deviation.
    """

    grid: Array
    density: Array
    mode: float
    strata: int
    honesty: Honesty

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(log odds ratio {self.mean():.4g} +- {self.sd():.3g} from {self.strata} strata, "
            f"{self.honesty})"
        )

    def mean(self) -> float:
        """Posterior mean of the log odds ratio."""
        return float(np.trapezoid(self.grid * self.density, self.grid))

    def sd(self) -> float:
        """Posterior standard deviation of the log odds ratio."""
        return float(np.sqrt(np.trapezoid((self.grid - self.mean()) ** 2 * self.density, self.grid)))

    def cdf(self, x: ArrayLike) -> Array:
        """P(log odds ratio <= x), to 1e-8."""
        integral = CubicSpline(self.grid, self.density).antiderivative()
        inside = np.clip(np.asarray(x, dtype=np.float64), self.grid[0], self.grid[-1])
        return np.asarray(np.clip(integral(inside) / integral(self.grid[-1]), 0.0, 1.0))

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles of the log odds ratio for q in [1e-6, 1 - 1e-6].

        Raises
        ------
        ValueError
            If q is outside.
        """
        levels = _checks.fraction("q", q)
        if not np.all((levels >= 1e-6) & (levels <= 1 - 1e-6)):
            raise ValueError(f"q must lie in [1e-6, 1 - 1e-6], got {q!r}")
        found = [
            brentq(lambda x, p=p: float(self.cdf(x)) - p, self.grid[0], self.grid[-1], xtol=1e-12)
            for p in levels.ravel()
        ]
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


def common_odds_ratio(swapped: ArrayLike, *, rate: float, prior_sd: float = 5.0) -> CommonOdds:
    """Posterior of the log odds ratio that all strata share, from their swapped 2 x 2 tables.

    Parameters
    ----------
    swapped : whole numbers >= 0, (strata, 2, 2) or (2, 2)
        Swapped within strata; up to 200,000 tables in a class.
    rate : float
        Swap rate, in (0, 1).
    prior_sd : float
        The log odds ratio is normal with mean 0 and this standard deviation beforehand.

    Returns
    -------
    CommonOdds

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range or has the wrong shape.

    Notes
    -----
    801 nodes between the places where the density has fallen to e^-40 of its peak; the trapezoid rule converges
    exponentially there. 10 ms a stratum of 100 tables.
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

    grid, density, mode = _follow(log_density, spread)
    means = [
        float(np.trapezoid(x * f, x) / np.trapezoid(f, x)) for x, f in ((grid, density), (grid[::2], density[::2]))
    ]
    density = density / np.trapezoid(density, grid)
    sd = float(np.sqrt(np.trapezoid((grid - means[0]) ** 2 * density, grid)))
    error = abs(means[0] - means[1]) / sd
    state = Honesty("approximate", error, f"trapezoid rule, error of the mean {error:.1g} standard deviations")
    return CommonOdds(grid, density, mode, len(strata), state)


def _stratum(table: ArrayLike, rate: float) -> tuple[Array, Array, Array] | None:
    """x - s of the class, log P(x | s) and log h(x)/h(s); None if a margin is 0."""
    counts = _checks.table("swapped", table)
    x, _ = two_by_two.orient(counts)
    _checks.whole("tables in a class of swapped", len(x), most=_MOST_TABLES)
    if len(x) == 1:
        return None
    row = two_by_two.row(counts, rate=rate)
    return (x - counts[1, 1]).astype(np.float64), row.log_forward, row.log_forward - row.log_backward


def _follow(log_density: Callable[[Array], Array], spread: float) -> tuple[Array, Array, float]:
    """Grid, unscaled density and mode."""
    far = min(_FARTHEST, 12 * spread)
    coarse = np.linspace(-far, far, 241)
    values = log_density(coarse)
    best = int(np.argmax(values))
    low, high = coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)]
    mode = float(
        minimize_scalar(lambda t: -float(log_density(np.array([t]))[0]), bounds=(low, high), method="bounded").x
    )
    peak = float(log_density(np.array([mode]))[0])

    def left(t: float) -> float:
        return float(log_density(np.array([t]))[0]) - peak + _REACH

    ends = []
    for sign in (-1.0, 1.0):
        step = 1e-3
        while left(mode + sign * step) > 0 and step < 2 * far:
            step *= 2
        ends.append(mode + sign * step)
    grid = np.linspace(ends[0], ends[1], _NODES)
    return grid, np.exp(log_density(grid) - peak), mode
