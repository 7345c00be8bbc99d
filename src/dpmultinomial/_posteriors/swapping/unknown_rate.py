"""Posterior of the originals of swapped tables when the swap rate is unknown."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import roots_jacobi

from ... import _checks
from ..._honesty import LEVEL, Honesty, summary_frame
from ._counts_laws import MixedLaw, StrataLaw
from .unswapped import UnswappedPosterior, stacked, summed

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
_NODES = 48  # of the quadrature


@dataclass(frozen=True)
class UnknownRate:
    """Posterior of the swap rate, and of the cells averaged over it.

    Parameters
    ----------
    rates, weights : float64 (nodes,)
        Nodes of the quadrature and their posterior probabilities.
    cells : UnswappedPosterior
    honesty : Honesty
        ``approximate``: the error is that of the quadrature.
    """

    rates: Array
    weights: Array
    cells: UnswappedPosterior
    honesty: Honesty

    def mean(self) -> float:
        """Posterior mean of the rate."""
        return float(self.weights @ self.rates)

    def sd(self) -> float:
        """Posterior standard deviation of the rate."""
        return float(np.sqrt(self.weights @ (self.rates - self.mean()) ** 2))

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """The rate and all cells; columns `honesty.SUMMARY`, the interval of the rate by interpolation of its nodes."""
        tails = [(1 - _checks.inside("level", level)) / 2, (1 + level) / 2]
        lower, upper = np.interp(tails, np.cumsum(self.weights) - self.weights / 2, self.rates)
        own = summary_frame(
            ["rate"], mean=[self.mean()], sd=[self.sd()], lower=[lower], upper=[upper], level=level, status=self.honesty
        )
        return pd.concat([own, self.cells.summary(level)], ignore_index=True)


def infer_rate(swapped: ArrayLike, *, prior: tuple[float, float] = (1.0, 1.0), alpha: ArrayLike = 1.0) -> UnknownRate:
    """Swap rate and cells when the rate is unknown with a Beta prior; one rate for all strata.

    Parameters
    ----------
    swapped : whole numbers >= 0, (rows, columns) or (strata, rows, columns)
        Each stratum must be one that `infer` sums.
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
        If an argument is out of its range or a stratum is too large to be summed.

    Notes
    -----
    Gauss-Jacobi quadrature with 48 nodes for the prior; its error is the difference in the rate's mean to 24 nodes, in
    units of its standard deviation. One table says little about its own rate: look at the prior beside the posterior.
    """
    counts, own = stacked(swapped, alpha)
    a, b = _checks.positives("prior", prior, 2)
    if max(a, b) > 500:
        raise ValueError(f"prior must have parameters up to 500, got ({a}, {b})")
    coarse = _rate_nodes(counts, own, float(a), float(b), _NODES // 2)[:2]
    rates, weights, laws = _rate_nodes(counts, own, float(a), float(b), _NODES)
    mean = float(weights @ rates)
    sd = float(np.sqrt(weights @ (rates - mean) ** 2))
    error = abs(float(coarse[0] @ coarse[1]) - mean) / sd
    state = Honesty("approximate", error, f"quadrature over the rate, error {error:.1g} of its standard deviation")
    how = ("listed or two rows",) * len(counts)
    shape = cast(tuple[int, int, int], counts.shape)
    cells = UnswappedPosterior(own.ravel(), MixedLaw(laws, weights), shape, how, state)
    return UnknownRate(rates, weights, cells, state)


def _rate_nodes(counts: Counts, prior: Array, a: float, b: float, nodes: int) -> tuple[Array, Array, list[StrataLaw]]:
    points, mass = roots_jacobi(nodes, b - 1, a - 1)
    rates = np.clip((1 + points) / 2, 1e-12, 1 - 1e-12)
    laws, logs = [], np.log(mass)
    for k, rate in enumerate(rates.tolist()):
        parts = [summed(table, own, rate, strict=True) for table, own in zip(counts, prior, strict=True)]
        found = [part for part in parts if part is not None]
        logs[k] += sum(part.log_acceptance for part in found)
        laws.append(StrataLaw([part.law for part in found]))
    weights = np.exp(logs - logs.max())
    return rates, weights / weights.sum(), laws
