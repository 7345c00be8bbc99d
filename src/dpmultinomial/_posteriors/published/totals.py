"""Counts with a total that is public, or measured with noise of its own: exact by convolutions of windows.

Given the released values the counts are independent up to a weight on their sum: a_i(n) is prior times likelihood of
count i, g(N) the likelihood of the total. All are carried tilted, a_i(n) exp(theta n) and g(N) exp(-theta N), with the
one theta at which the free sum has the mean that the total asks for; the tilts cancel, and windows lie where the
posterior is, however far the counts and their total are apart. What windows neglect is bounded: likelihoods are
log-concave, so that a tail falls at least as a geometric one; the bound is the free mass neglected times the largest
weight of the total over the evidence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ... import _checks
from ..._mechanisms.exact import Exact
from ..._mechanisms.law_words import law_of
from ..._mechanisms.noise_law import NoiseLaw
from ..._results.coupled import Coupled
from ..._results.whole import Window, added_up
from . import windows
from ._leaves import Leaves
from .cells import Cells
from .priors import CountPrior

Array = NDArray[np.float64]
_LOG_MASS = (45.0, 180.0, 720.0, 2880.0, 11_520.0, 46_080.0, 184_320.0, 737_280.0)


@dataclass(frozen=True)
class Total:
    """What is known of the sum of the counts.

    Parameters
    ----------
    released : its released value.
    noise : the law of that.
    concentration : sum of the alphas of `Splits`, whose factor N! Gamma(A)/Gamma(N + A) the sum then has; None where
        counts have priors of their own.
    """

    released: float
    noise: NoiseLaw
    concentration: float | None

    def log_weights(self, totals: Array) -> Array:
        """log of the weight of each possible sum."""
        return np.asarray(self.noise.log_likelihood(self.released, totals) + self.log_prior(totals))

    def log_prior(self, totals: Array) -> Array:
        """log of the factor of each possible sum that is no likelihood."""
        if self.concentration is None:
            return np.zeros(totals.shape)
        n, shape = np.maximum(totals, 0.0), self.concentration
        return np.asarray(gammaln(n + 1) - gammaln(n + shape) + gammaln(shape))


def total_of(total: Any, concentration: float | None) -> Total:
    """What a user says of a total: a whole number (exact), or ``{released: number, noise: words or a law}``.

    Parameters
    ----------
    total : as above.
    concentration : as of `Total`.

    Returns
    -------
    Total

    Raises
    ------
    ValueError, TypeError
        If it is neither, or its law never releases the value.
    """
    if not isinstance(total, Mapping):
        return Total(float(_checks.whole("total", total)), Exact(), concentration)
    if set(total) != {"released", "noise"}:
        raise ValueError(f"total must be a whole number or {{released, noise}}, got {', '.join(map(str, total))}")
    law = total["noise"] if hasattr(total["noise"], "log_likelihood") else law_of(total["noise"])
    released = _checks.number("total", total["released"])
    if not law.possible(np.array([released]))[0]:
        raise ValueError(f"total: its law never releases {released:g}")
    return Total(released, law, concentration)


@dataclass(frozen=True)
class Solved:
    """Counts tied by their total.

    Parameters
    ----------
    together : their joint law.
    error : bound of the posterior probability that was neglected.
    theta : the tilt.
    log_mass : with which windows were made.
    """

    together: Coupled
    error: float
    theta: float
    log_mass: float


def solve(cells: Cells, priors: Sequence[CountPrior], total: Total) -> Solved:
    """The joint law of counts and their total.

    Parameters
    ----------
    cells : noisy counts, none of them wrong; lower bounds are finite.
    priors : one a count.
    total : what is known of the sum.

    Returns
    -------
    Solved

    Raises
    ------
    ValueError
        If counts and total have next to nothing in common, or windows would be too wide.

    Notes
    -----
    O(k w log k) memory and O(k w^2) time for k counts and windows of w.
    """
    for log_mass in _LOG_MASS:
        found = _attempt(cells, priors, total, log_mass)
        if found is not None and found.error <= windows.NEGLECTED:
            return found
    raise ValueError("total: the counts, their bounds and the total have next to nothing in common")


def foreseen(cells: Cells, priors: Sequence[CountPrior], total: Total) -> Window | None:
    """Law of the sum by the counts alone, before anything is released of it.

    Parameters
    ----------
    cells, priors, total : as of `solve`.

    Returns
    -------
    Window or None
        None where the counts alone do not say it: something was not measured, under priors that have no end.
    """
    try:
        leaves = Leaves.of(cells, priors, _LOG_MASS[0])
    except ValueError:
        return None
    if leaves is None:
        return None
    free = added_up(leaves.tilted(0.0))
    logs = total.log_prior(free.values().astype(float))
    return Window(free.first, free.weights * np.exp(logs - logs.max())).normalised()


def _attempt(cells: Cells, priors: Sequence[CountPrior], total: Total, log_mass: float) -> Solved | None:
    ends = total.noise.reach(np.array([total.released]), log_mass)
    least, most = float(cells.lower.sum()), float(cells.upper.sum())
    first, last = max(float(np.floor(ends[0][0])), least), min(float(np.ceil(ends[1][0])), most)
    if first > last:  # the total's noise reaches beyond its mass
        width = np.ceil(2 * float(np.max(total.noise.halfwidth(log_mass))))
        first, last = (least, min(least + width, most)) if ends[1][0] < least else (max(most - width, least), most)
    if not last - first < windows.WIDEST:
        raise ValueError(f"total: its noise allows {last - first + 1:.3g} sums, too many to add up: give bounds")
    capped = replace(cells, upper=np.minimum(cells.upper, cells.lower + last - least))
    leaves = Leaves.of(capped, priors, log_mass)
    if leaves is None:
        return None
    sums = np.arange(first, last + 1)
    around = total.log_weights(np.array([first - 2, first - 1, last + 1, last + 2]))
    root = total.log_weights(sums)
    if root.max() == -np.inf:
        return None
    theta = leaves.tilt(sums, root)
    tilted = root - theta * sums
    weights = np.exp(tilted - tilted.max())
    try:
        together = Coupled(leaves.tilted(theta), Window(int(first), weights))
    except ValueError:
        return None
    beyond = around - theta * np.array([first - 2, first - 1, last + 1, last + 2]) - tilted.max()
    cut = _root_tail(beyond[[1, 0]], first > least) + _root_tail(beyond[[2, 3]], last < most)
    free = together.free.normalised()
    kept = float(free.weights @ Window(int(first), weights).at(free.first, len(free.weights)))
    return Solved(together, (leaves.neglected(theta) + cut) / kept, theta, log_mass)


def _root_tail(logs: Array, open_end: bool) -> float:
    """Largest weight of the total beyond its window, where that is not a bound: the first, if they fall."""
    if not open_end or logs[0] == -np.inf:
        return 0.0
    return float(np.exp(logs[0])) if logs[1] <= logs[0] else np.inf
