"""Two-sided geometric noise on counts, cut at +-support: the mechanism of Wang (2020), section 2.1."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._kernels import geometric


def default_support(epsilon: float) -> int:
    """ceil(50/epsilon), 1 at least: the paper's 50 at epsilon = 1; the cut costs less than exp(-50) in delta at any
    epsilon.

    Parameters
    ----------
    epsilon : > 0, of one count.

    Returns
    -------
    int

    Raises
    ------
    ValueError, TypeError
        If `epsilon` is not a finite number > 0.
    """
    return max(ceil(50 / _checks.positive("epsilon", epsilon)), 1)


@dataclass(frozen=True, kw_only=True)
class TwoSidedGeometric:
    """Release count + D with P(D = d) proportional to exp(-epsilon |d|) on -support..support.

    Parameters
    ----------
    epsilon : > 0, privacy parameter for counts that change by at most 1.
    support : whole number >= 1. The paper cuts at 50, which costs `tail_delta`.
    """

    epsilon: float
    support: int = 50

    def __post_init__(self) -> None:
        _checks.positive("epsilon", self.epsilon)
        _checks.whole("support", self.support, least=1)

    def values(self) -> NDArray[np.int64]:
        """-support..support."""
        return np.arange(-self.support, self.support + 1)

    def probabilities(self) -> NDArray[np.float64]:
        """P(D = d) for every d of `values`."""
        return geometric.probabilities(self.epsilon, self.support)

    def pmf(self, d: ArrayLike) -> NDArray[np.float64]:
        """P(D = d); 0 beyond the support and at fractions."""
        d = np.asarray(d, dtype=float)
        inside = (np.abs(d) <= self.support) & (d == np.floor(d))
        index = np.where(inside, d + self.support, 0).astype(np.int64)
        return np.where(inside, self.probabilities()[index], 0.0)

    def variance(self) -> float:
        """Variance of the noise; 2 a/(1 - a)^2 without the cut, a = exp(-epsilon)."""
        return float(self.values() ** 2 @ self.probabilities())

    def tail_delta(self) -> float:
        """Probability of the outcome that rules a neighbour out: a release is (epsilon, tail_delta)-DP, not pure."""
        return float(self.probabilities()[0])

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Noisy versions of `counts` (any shape)."""
        counts = np.asarray(counts)
        if not np.issubdtype(counts.dtype, np.integer):
            raise TypeError(f"counts must be whole numbers, got {counts.dtype}")
        noise = geometric.draw(counts.size, epsilon=self.epsilon, support=self.support, rng=rng)
        return counts + noise.reshape(counts.shape)
