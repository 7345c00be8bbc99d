"""Posterior of the originals of swapped tables when the swap rate is unknown."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._honesty import LEVEL, Honesty
from ._counts_laws import MixedLaw, StrataLaw
from ._rate_law import RateLaw
from .unswapped import Stratum, UnswappedPosterior, stacked, summed

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
_NODES = (12, 24, 48)  # rates over which the cells are averaged
_ENOUGH = 1e-8  # error of every cell at which no more are taken


@dataclass(frozen=True)
class UnknownRate:
    """Posterior of the swap rate, and of the cells averaged over it.

    Parameters
    ----------
    rate : RateLaw
        Of the rate.
    cells : UnswappedPosterior
        Averaged over `rates`.
    rates, weights : float64 (nodes,)
        Gauss's rule for the rate's posterior.
    cell_errors : float64 (cells,)
        Of every cell: how far the probability below any count, or the mean in standard deviations, was off with half
        as many rates.
    """

    rate: RateLaw
    cells: UnswappedPosterior
    rates: Array
    weights: Array
    cell_errors: Array

    @property
    def honesty(self) -> Honesty:
        """``approximate``, with the largest error of a row."""
        error = max(self.rate.error, float(self.cell_errors.max()))
        return Honesty("approximate", error, "error of probabilities: interpolated likelihood, average over the rate")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate {self.mean():.4g} +- {self.sd():.3g}; {self.cells!r})"

    def mean(self) -> float:
        """Posterior mean of the rate."""
        return self.rate.mean()

    def sd(self) -> float:
        """Posterior standard deviation of the rate."""
        return self.rate.sd()

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """The rate and all cells, each with its own error; columns `honesty.SUMMARY`."""
        return pd.concat([self.rate.summary(level), self.cells.summary(level)], ignore_index=True)


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
    The likelihood is interpolated (`RateLaw`): 100 to 500 evaluations, of equal strata once. Cells are averaged over
    24 or 48 rates, Gauss's rule for the rate's own posterior. One table says little about its own rate: look at the
    prior beside the posterior.
    """
    counts, own = stacked(swapped, alpha)
    a, b = _checks.positives("prior", prior, 2)
    if max(a, b) > 500:
        raise ValueError(f"prior must have parameters up to 500, got ({a}, {b})")
    strata = _Strata(counts, own)
    law = RateLaw(strata.log_likelihood, float(a), float(b))
    rates, weights, mixed, errors = _averaged(strata, law, own)
    errors = errors + law.error
    states = [Honesty("approximate", error, "average over the rate, against half as many") for error in errors.tolist()]
    shape, how = cast(tuple[int, int, int], counts.shape), ("listed or two rows",) * len(counts)
    return UnknownRate(law, UnswappedPosterior(own.ravel(), mixed, shape, how, states), rates, weights, errors)


def _averaged(strata: "_Strata", law: RateLaw, alpha: Array) -> tuple[Array, Array, MixedLaw, Array]:
    """Rates, weights, the originals averaged over them, and the error of every cell."""
    coarse = strata.averaged(*law.nodes(_NODES[0]))
    for size in _NODES[1:]:
        rates, weights = law.nodes(size)
        fine = strata.averaged(rates, weights)
        pairs = ((fine.marginal(i), coarse.marginal(i)) for i in range(alpha.size))
        errors = np.array([_apart(*pair, own, alpha.sum()) for pair, own in zip(pairs, alpha.ravel(), strict=True)])
        if errors.max() < _ENOUGH:
            break
        coarse = fine
    return rates, weights, fine, errors


class _Strata:
    """The strata as functions of the rate, equal ones computed once."""

    def __init__(self, counts: Counts, prior: Array) -> None:
        keys = [(table.tobytes(), own.tobytes()) for table, own in zip(counts, prior, strict=True)]
        self._first = {key: keys.index(key) for key in keys}
        self._times = {key: keys.count(key) for key in self._first}
        self._keys, self._counts, self._prior = keys, counts, prior

    def log_likelihood(self, rate: float) -> float:
        """log of the marginal probability of all published tables."""
        return sum(self._times[key] * self._of(key, rate).log_acceptance for key in self._first)

    def averaged(self, rates: Array, weights: Array) -> MixedLaw:
        """Law of the originals, averaged over rates."""
        laws = []
        for rate in rates.tolist():
            parts = {key: self._of(key, rate).law for key in self._first}
            laws.append(StrataLaw([parts[key] for key in self._keys]))
        return MixedLaw(laws, weights)

    def _of(self, key: tuple[bytes, bytes], rate: float) -> Stratum:
        place = self._first[key]
        found = summed(self._counts[place], self._prior[place], rate, strict=True)
        if found is None:
            raise RuntimeError("a sum that must not fail has failed")
        return found


def _apart(fine: Array, coarse: Array, alpha: float, whole: float) -> float:
    """How far two laws of a cell's count are apart: mean of its share in standard deviations, or any probability."""
    count = np.arange(len(fine))
    means = [float(law @ count) for law in (fine, coarse)]
    n = whole + count[-1]
    share = (alpha + means[0]) / n
    variance = share * (1 - share) / (n + 1) + float(fine @ (count - means[0]) ** 2) / (n * (n + 1))
    gap = np.abs(np.cumsum(fine - coarse)).max()
    return float(max(gap, abs(means[0] - means[1]) / n / np.sqrt(variance)))
