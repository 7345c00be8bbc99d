"""Posterior of an odds ratio that is common to the originals of swapped 2 x 2 tables of several strata.

Given its margins, which a swap does not change, the original count x of a stratum with odds ratio psi has Fisher's
noncentral hypergeometric distribution, h(x) psi^x divided by its sum. Since the swap is reversible with respect to h,

P(s | psi, margins) = sum_x P(x | s) psi^(x - s) / sum_x h(x)/h(s) psi^(x - s),

where P(x | s) is the distribution of one more swap of the published table. The likelihoods of the strata are
multiplied; no prior of the margins is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from ... import _checks
from ..._accuracy import Accuracy
from ..._mechanisms.swapping import two_by_two
from ..counts.panel_density import PanelDensity
from ..counts.tailed_law import TailedLaw, nearer_tail

Array = NDArray[np.float64]
TOLERANCE = 1e-11  # tolerance of the interpolation of the log density
_NODES = 801  # number of points of `CommonOdds.grid`
_REACH = 1e-17  # probability beyond each end of the grid
_FARTHEST = 700.0  # largest log odds ratio that is considered
_LEAST_LEVEL = float(np.log(1e-15))  # `CommonOdds.error` covers tail probabilities down to this
_MOST_TABLES = 200_000  # largest number of tables in a class


@dataclass(frozen=True, eq=False, repr=False)
class CommonOdds(TailedLaw):
    """Posterior of a common log odds ratio: probabilities have the relative error `error` down to 1e-15, as have the
    smaller tail probabilities at quantiles of levels from 1e-15 to 1 - 1e-15.

    Parameters
    ----------
    law : PanelDensity
        Density of the log odds ratio, up to a factor.
    mode : float
    strata : int
        Number of informative strata: those with four positive margins.
    """

    quantity = "common log odds ratio"
    ends = False

    law: PanelDensity
    mode: float
    strata: int

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(log odds ratio {self.mean():.4g} +- {self.sd():.3g} from {self.strata} strata, "
            f"{self.accuracy})"
        )

    @cached_property
    def error(self) -> float:
        """Relative error of any probability, and of the smaller tail at a quantile, down to 1e-15: twice the error of
        the density at three points between the nodes of every panel, since numerator and denominator have this error.
        """
        return 2 * self.law.error(_LEAST_LEVEL + self._log_mass)

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy status ``approximate``, with `error` as the error."""
        return Accuracy("approximate", self.error, "relative error of probabilities, from the interpolated density's")

    @cached_property
    def grid(self) -> Array:
        """801 equally spaced log odds ratios, with a neglected mass of 1e-17 on each side."""
        level = float(np.log(_REACH)) + self._log_mass
        return np.linspace(self.law.quantile(level, upper=False), self.law.quantile(level, upper=True), _NODES)

    @cached_property
    def density(self) -> Array:
        """Density at `grid`."""
        return np.exp(self.law.log_density(self.grid) - self._log_mass)

    def mean(self) -> float:
        """Posterior mean of the log odds ratio."""
        return self._moments[0]

    def variance(self) -> float:
        """Posterior variance of the log odds ratio."""
        return self._moments[1]

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
        log_level, upper = nearer_tail(level)
        return self.law.quantile(log_level + self._log_mass, upper=upper)


def common_odds_ratio(
    swapped: ArrayLike, *, rate: float, prior_sd: float = 5.0, tolerance: float = TOLERANCE
) -> CommonOdds:
    """Compute the posterior of the log odds ratio that all strata share, from their swapped 2 x 2 tables.

    Parameters
    ----------
    swapped : integers >= 0, (strata, 2, 2) or (2, 2)
        Tables swapped within strata, with at most 200,000 tables per class.
    rate : float
        Swap rate, in (0, 1).
    prior_sd : float
        The prior of the log odds ratio is normal with mean 0 and this standard deviation.
    tolerance : float
        Tolerance of the interpolation of the log density, in (0, 1); the result states the actual error.

    Returns
    -------
    CommonOdds

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range or has the wrong shape.

    Notes
    -----
    The log density is interpolated in panels, about 200 evaluations; 10 ms per stratum of 100 tables.
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
    """Return x - s over the class, log P(x | s) and log h(x)/h(s); None if a margin is 0."""
    counts = _checks.table("swapped", table)
    x, _ = two_by_two.orient(counts)
    _checks.integer("tables in a class of swapped", len(x), most=_MOST_TABLES)
    if len(x) == 1:
        return None
    row = two_by_two.row(counts, rate=rate)
    return (x - counts[1, 1]).astype(np.float64), row.log_forward, row.log_forward - row.log_backward


def _mode(log_density: Callable[[Array], Array], far: float) -> tuple[float, float]:
    """Return the mode of the density within +-far, and the width of the distribution at the mode."""
    coarse = np.linspace(-far, far, 241)
    best = int(np.argmax(log_density(coarse)))
    low, high = coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)]
    mode = float(
        minimize_scalar(lambda t: -float(log_density(np.array([t]))[0]), bounds=(low, high), method="bounded").x
    )
    step = 1e-3 * far
    fall = np.ptp(log_density(np.array([mode - step, mode, mode + step])))
    return mode, float(step / np.sqrt(2 * max(fall, 1e-12)))
