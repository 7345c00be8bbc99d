"""Sufficient statistic perturbation for a normal sample censored to [a, b] (Bernstein and Sheldon 2018, Raim 2021)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .laplace import Laplace

STATISTICS = ("mean", "sse", "low", "high")


@dataclass(frozen=True, kw_only=True)
class CensoredStatistics:
    """(s_mean, s_sse, s_low, s_high): mean and sum of squares of the records in [a, b], and how many lie outside.

    Parameters
    ----------
    lower, upper : a < b.

    Notes
    -----
    Neighbours differ in the value of one record; n is public. The mean of no records is taken as (a + b)/2.
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not _checks.number("lower", self.lower) < _checks.number("upper", self.upper):
            raise ValueError(f"lower must be below upper, got lower = {self.lower} and upper = {self.upper}")

    @property
    def width(self) -> float:
        return float(self.upper - self.lower)

    def of(self, records: ArrayLike) -> NDArray[np.float64]:
        """The four statistics of `records` (one-dimensional): float64 (4,)."""
        x = _checks.reals("records", records)
        inside = x[(x >= self.lower) & (x <= self.upper)]
        mean = inside.mean() if len(inside) else (self.lower + self.upper) / 2
        return np.array([mean, ((inside - mean) ** 2).sum(), (x < self.lower).sum(), (x > self.upper).sum()])

    def sums_of(self, records: ArrayLike) -> NDArray[np.float64]:
        """Sums of x and x^2 of the records inside, about the middle of [a, b], with the two counts: float64 (4,)."""
        mean, sse, low, high = self.of(records)
        count, distance = np.size(records) - low - high, mean - (self.lower + self.upper) / 2
        return np.array([count * distance, sse + count * distance**2, low, high])

    def sensitivity(self, n: int) -> float:
        """Largest L1 change of the four statistics, exactly.

        A block of m records at one end and one at the other, which becomes censored, changes a count by 1, the mean by
        w/m and the sum of squares by w^2 (1 - 1/m), w = b - a; moving from below to above changes 2.
        """
        _checks.whole("n", n, least=1)
        w = self.width
        lost = [1 + w / 2] + [1 + w / m + w**2 * (1 - 1 / m) for m in {2, n} if 2 <= m <= n]
        kept = [w / m + w**2 * (1 - 1 / m) for m in {1, n}]
        return max(2.0, *lost, *kept)

    def range_bound(self) -> float:
        """The bound by adding up each statistic's range, 2 + w + w^2."""
        return 2 + self.width + self.width**2

    def sums_sensitivity(self) -> float:
        """Largest L1 change of `sums_of`, any n: a record lost from an end, or moved inside [a, b], or across it."""
        half = self.width / 2
        inside = max((half - y) * (1 + half + y) for y in (*np.clip([(-0.5)], -half, half), -half))
        return max(2.0, 1 + half + half**2, inside)

    def brute_force_sensitivity(self, n: int, *, inside: int = 3) -> float:
        """`sensitivity` by trying all neighbours whose records are censored or at one of `inside` points of [a, b].

        For checks: the number of pairs grows like C(n + inside + 1, n) n (inside + 2); n <= 8 or so.
        """
        return max(float(np.abs(self.of(x) - self.of(y)).sum()) for x, y in self._neighbours(n, inside))

    def _neighbours(self, n: int, inside: int) -> Iterator[tuple[NDArray, NDArray]]:
        values = [self.lower - 1, *np.linspace(self.lower, self.upper, inside), self.upper + 1]
        for records in combinations_with_replacement(values, _checks.whole("n", n, least=1)):
            for place in range(n):
                for value in values:
                    changed = np.array(records)
                    changed[place] = value
                    yield np.array(records), changed

    def release(
        self, records: ArrayLike, *, epsilon: float, rng: np.random.Generator, sensitivity: float | None = None
    ) -> NDArray[np.float64]:
        """Statistics with Laplace(sensitivity/epsilon) noise, epsilon-DP: float64 (4,) in the order of `STATISTICS`.

        `sensitivity` defaults to the exact one.
        """
        found = self.of(records)
        mechanism = Laplace.calibrated(epsilon, sensitivity=sensitivity or self.sensitivity(np.size(records)))
        return mechanism.sample(found, rng=rng)
