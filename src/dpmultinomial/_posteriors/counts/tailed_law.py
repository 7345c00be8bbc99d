"""Common methods of distributions of a real number with accurate tails: both tails, their logarithms, quantiles, and a
summary.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._accuracy import LEVEL, Accuracy, summary_frame

Array = NDArray[np.float64]


class TailedLaw(ABC):
    """Base class of distributions of a real number; the subclass computes both tails and the quantile of a single
    level, and its docstring states the accuracy.

    Attributes
    ----------
    quantity : name of the row of a summary.
    least : smallest level, and distance from 1; nearer ones are rejected.
    ends : whether levels 0 and 1 have quantiles.
    """

    quantity: ClassVar[str] = "share"
    ends: ClassVar[bool] = True
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
        """Return the variance."""

    def sd(self) -> float:
        """Return the standard deviation."""
        return float(np.sqrt(self.variance()))

    def cdf(self, x: ArrayLike) -> Array:
        """Return P(X <= x), with small relative error also for tiny probabilities."""
        return self._probability(x, upper=False)

    def sf(self, x: ArrayLike) -> Array:
        """Return P(X > x), with small relative error also for tiny probabilities."""
        return self._probability(x, upper=True)

    def logcdf(self, x: ArrayLike) -> Array:
        """Return log P(X <= x)."""
        return self._log_probability(x, upper=False)

    def logsf(self, x: ArrayLike) -> Array:
        """Return log P(X > x)."""
        return self._log_probability(x, upper=True)

    def quantile(self, q: ArrayLike) -> Array:
        """Return the smallest x with P(X <= x) >= q; accurate in the probability of the nearer tail.

        Raises
        ------
        ValueError
            If a level is outside [0, 1], nearer to 0 or 1 than `least`, or 0 or 1 for a distribution without `ends`.
        """
        given = np.asarray(q, dtype=np.float64)
        if not self.ends and not np.all((given > 0) & (given < 1)):
            raise ValueError(
                f"q must lie strictly between 0 and 1, got {q!r}: the quantiles at 0 and 1 are not defined"
            )
        levels = _checks.levels("q", q, least=self.least)
        found = [self._quantile(level) for level in levels.ravel().tolist()]
        return np.array(found, dtype=np.float64).reshape(levels.shape)

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return mean, standard deviation and central interval in a table with one row (`_accuracy.summary_frame`).

        Parameters
        ----------
        level : mass of the interval, in (0, 1).
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
    """Return the log probability of the nearer tail for a level strictly between 0 and 1, and whether this is the upper
    tail.
    """
    upper = level > 0.5
    return float(np.log1p(-level) if upper else np.log(level)), upper
