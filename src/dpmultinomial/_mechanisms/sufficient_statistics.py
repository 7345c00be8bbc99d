"""Sufficient statistic perturbation for a normal sample censored to [a, b] (Bernstein and Sheldon 2018, Raim 2021)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import RELATIONS, PureDP
from .._accounting.privacy_loss import PureLoss
from .laplace import Laplace

STATISTICS = ("mean", "sse", "low", "high")
SHARES = (0.4, 0.3, 0.15, 0.15)  # default fractions of epsilon


@dataclass(frozen=True, kw_only=True)
class CensoredStatistics:
    """Mechanism for the sufficient statistics (s_mean, s_sse, s_low, s_high) of records censored to [a, b]. The
    statistics are the mean of the records in [a, b], the sum of their squared deviations from this mean, and the
    numbers of records below a and above b.

    Parameters
    ----------
    lower : a, public limit below which values are only counted.
    upper : b > a, public limit above which values are only counted.
    scale : Laplace scale of the noise, one number or one number per statistic; None if no noise is needed.
    grid : step >= 0 of the public grid of the noise, one number or one number per statistic; 0: continuous noise.
    sums : if True, the statistics are the sums of x - middle and (x - middle)^2 instead of the mean and the sum of
        squares.

    Notes
    -----
    Neighbouring data sets differ in the value of one record; n is public. If no record is in [a, b], the mean is
    defined as (a + b)/2.
    """

    lower: float
    upper: float
    scale: float | tuple[float, ...] | None = None
    grid: float | tuple[float, ...] = 0.0
    sums: bool = False

    def __post_init__(self) -> None:
        if self.scale is not None:
            _checks.positives("scale", self.scale, 4)
        if not _checks.number("lower", self.lower) < _checks.number("upper", self.upper):
            raise ValueError(f"lower must be below upper, got lower = {self.lower} and upper = {self.upper}")

    @classmethod
    def calibrated(
        cls, epsilon: float, *, n: int, lower: float, upper: float, shares: ArrayLike = SHARES, sums: bool = False
    ) -> "CensoredStatistics":
        """Return the mechanism whose total privacy cost for replacing one of n records is `epsilon`. The cost is
        divided among the statistics in proportion to `shares` (`scales`).
        """
        scales = cls(lower=lower, upper=upper).scales(n, epsilon=epsilon, shares=shares, sums=sums)
        return cls(lower=lower, upper=upper, scale=tuple(scales.tolist()), sums=sums)

    @property
    def width(self) -> float:
        """Width of the interval [a, b] of uncensored values, computed as upper - lower."""
        return float(self.upper - self.lower)

    def of(self, records: ArrayLike) -> NDArray[np.float64]:
        """Return the four statistics of `records` that this mechanism releases, as a float64 array of shape (4,), in
        the order of `STATISTICS`. If `sums` is set, the function returns `sums_of`.

        Parameters
        ----------
        records : one-dimensional, finite, at least one record.
        """
        return self.sums_of(records) if self.sums else self._means_of(records)

    def _means_of(self, records: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the records in [a, b], the sum of squared deviations from this mean, and the two tail
        counts.
        """
        x = _checks.reals("records", records)
        inside = x[(x >= self.lower) & (x <= self.upper)]
        mean = inside.mean() if len(inside) else (self.lower + self.upper) / 2
        return np.array([mean, ((inside - mean) ** 2).sum(), (x < self.lower).sum(), (x > self.upper).sum()])

    def sums_of(self, records: ArrayLike) -> NDArray[np.float64]:
        """Return the sum of the deviations d, the sum of their squares d^2, and the two tail counts, as a float64 array
        of shape (4,). The sums are over the records in [a, b]. The deviation d is measured from the middle of [a, b].

        Parameters
        ----------
        records : one-dimensional, finite, at least one record.
        """
        mean, sse, low, high = self._means_of(records)
        count, distance = np.size(records) - low - high, mean - (self.lower + self.upper) / 2
        return np.array([count * distance, sse + count * distance**2, low, high])

    def sample(self, records: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the four statistics of `records` with Laplace noise, as a float64 array of shape (4,). The function is a
        simulation; do not use it for confidential records.

        Raises
        ------
        ValueError
            If no scale is stated, or a record is not a finite number.
        """
        statistics = self.of(records)
        return statistics + _checks.positives("scale", self._stated(), 4) * _checks.generator(rng).laplace(size=4)

    def cost(self, relation: str = "replace a record", *, n: int, source: str = "data") -> PureDP:
        """Return the exact privacy cost of one release of n records, computed by the method `epsilon`.

        Parameters
        ----------
        relation : ``"replace a record"``; n is public.
        n : number of records, >= 1.
        source : name of the confidential data.

        Returns
        -------
        PureDP
            The loss distribution is that of randomised response, the least private mechanism with this epsilon.
        """
        _checks.one_of("relation", relation, RELATIONS[1:2])
        epsilon = self.epsilon(n, self._stated(), sums=self.sums)
        return PureDP(source=source, relation=relation, epsilon=epsilon, mechanisms=(PureLoss(epsilon),))

    def _stated(self) -> float | tuple[float, ...]:
        if self.scale is None:
            raise ValueError(
                "scale is required to draw noise or to compute the privacy cost: pass CensoredStatistics(.., scale=)"
            )
        return self.scale

    def epsilon(self, n: int, scale: ArrayLike, *, sums: bool = False) -> float:
        """Return the exact epsilon of Laplace noise with the given scales on the four statistics. It is the largest
        value of sum_j |change of s_j|/scale_j when one record is replaced.

        Parameters
        ----------
        n : number of records, >= 1.
        scale : Laplace scale, one number or one number per statistic, in the order of `STATISTICS`.
        sums : if True, the released statistics are those of `sums_of`.

        Returns
        -------
        float
            Let w be the width of [a, b], m the number of records inside before the change, and r_j = 1/scale_j. The
            result is the largest of three values. A record that moves from below to above: r_low + r_high. A record
            that moves inside [a, b]: w r_mean/m + w^2 (1 - 1/m) r_sse, at m = 1 or m = n (the expression is linear in
            1/m; the record moves from a to b, and all other records are at a). A record that leaves [a, b]:
            additionally max(r_low, r_high); with m = 1, half of w r_mean, because the mean of no records is the
            midpoint. For sums about the midpoint, with h = w/2: inside, from y to h, r_1 (h - y) + r_2 (h^2 - y^2) at y
            = -r_1/(2 r_2) clipped to [-h, h]; for a record that leaves, h r_1 + h^2 r_2.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid.
        """
        count = _checks.integer("n", n, least=1)
        mean, sse, low, high = (float(rate) for rate in 1 / _checks.positives("scale", scale, 4))
        lost, kept = self._sums_changes(mean, sse) if sums else self._changes(count, mean, sse)
        return max(low + high, lost + max(low, high), kept)

    def _changes(self, n: int, mean: float, sse: float) -> tuple[float, float]:
        """Return the largest weighted change of (mean, sse) if one record is replaced. The result is separate for a
        record that leaves [a, b] and for a record that stays in [a, b]. Each change is multiplied by the rate of its
        statistic.
        """
        w = self.width
        lost = [w / 2 * mean] + [w / m * mean + w**2 * (1 - 1 / m) * sse for m in {2, n} if 2 <= m <= n]
        return max(lost), max(w / m * mean + w**2 * (1 - 1 / m) * sse for m in {1, n})

    def _sums_changes(self, first: float, second: float) -> tuple[float, float]:
        half = self.width / 2
        place = min(max(-first / (2 * second), -half), half)
        return half * first + half**2 * second, (half - place) * (first + second * (half + place))

    def sensitivities(self, n: int, *, sums: bool = False) -> NDArray[np.float64]:
        """Return the separate sensitivities of the four statistics, as a float64 array of shape (4,). They are (w, w^2
        (1 - 1/n), 1, 1), or (w, w^2/4, 1, 1) for the sums.

        The sensitivity of the mean does not decrease with n, because few records may be inside [a, b]. If n is large,
        release sums instead.

        Parameters
        ----------
        n : number of records, >= 2.
        sums : if True, the released statistics are those of `sums_of`.

        Raises
        ------
        ValueError, TypeError
            If n is not an integer >= 2 (the sum of squares of one record is always 0).
        """
        count, w = _checks.integer("n", n, least=2), self.width
        return np.array([w, w**2 / 4 if sums else w**2 * (1 - 1 / count), 1.0, 1.0])

    def scales(self, n: int, *, epsilon: float, shares: ArrayLike = SHARES, sums: bool = False) -> NDArray[np.float64]:
        """Return a Laplace scale for each statistic, proportional to its sensitivity, such that the total cost is
        exactly epsilon.

        Parameters
        ----------
        n : number of records, >= 2.
        epsilon : > 0, total cost of the release.
        shares : relative shares of epsilon, positive numbers, one per statistic; only their ratios matter.
        sums : as in `epsilon`.

        Returns
        -------
        float64 (4,)
            Each scale is sensitivity_j/share_j times the factor at which the total cost is epsilon. No record changes
            all four statistics by their separate sensitivities, so the noise is smaller than under composition of the
            four statistics.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid.
        """
        budget = _checks.positive("epsilon", epsilon)
        shape = self.sensitivities(n, sums=sums) / _checks.positives("shares", shares, 4)
        return np.asarray(shape * (self.epsilon(n, shape, sums=sums) / budget))

    def sensitivity(self, n: int) -> float:
        """Return the exact L1 sensitivity of the four statistics. The sensitivity is the `cost` at unit scales.

        In the worst case, m records are at one end of [a, b], one record is at the other end, and this record becomes
        censored. A count then changes by 1, the mean by w/m and the sum of squares by w^2 (1 - 1/m), w = b - a. A
        record that moves from below to above changes the statistics by 2.

        Parameters
        ----------
        n : number of records, >= 1.
        """
        _checks.integer("n", n, least=1)
        w = self.width
        lost = [1 + w / 2] + [1 + w / m + w**2 * (1 - 1 / m) for m in {2, n} if 2 <= m <= n]
        kept = [w / m + w**2 * (1 - 1 / m) for m in {1, n}]
        return max(2.0, *lost, *kept)

    def range_bound(self) -> float:
        """Return an upper bound on the L1 sensitivity of the four statistics. The bound 2 + w + w^2 is the sum of the
        ranges of the statistics.
        """
        return 2 + self.width + self.width**2

    def sums_sensitivity(self) -> float:
        """Return the L1 sensitivity of the sums that `sums_of` returns, for any number n of records. The largest change
        occurs if the replaced record leaves [a, b] from a limit, moves inside [a, b], or moves across [a, b].
        """
        half = self.width / 2
        inside = max((half - y) * (1 + half + y) for y in (*np.clip([(-0.5)], -half, half), -half))
        return float(max(2.0, 1 + half + half**2, inside))

    def brute_force_sensitivity(self, n: int, *, inside: int = 3) -> float:
        """Compute the L1 sensitivity by enumerating all pairs of neighbouring data sets whose records have only a few
        different values. Every record is censored or at one of `inside` points of [a, b].

        This function is intended for checks, with n up to about 8: the number of pairs grows as C(n + inside + 1, n) n
        (inside + 2).

        Parameters
        ----------
        n : number of records, >= 1.
        inside : number of points of [a, b], including its ends, >= 2.
        """
        return max(float(np.abs(self._means_of(x) - self._means_of(y)).sum()) for x, y in self._neighbours(n, inside))

    def _neighbours(self, n: int, inside: int) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        values = [self.lower - 1, *np.linspace(self.lower, self.upper, inside), self.upper + 1]
        for records in combinations_with_replacement(values, _checks.integer("n", n, least=1)):
            for place in range(n):
                for value in values:
                    changed = np.array(records)
                    changed[place] = value
                    yield np.array(records), changed

    def release(
        self,
        records: ArrayLike,
        *,
        epsilon: float,
        rng: np.random.Generator,
        sensitivity: float | None = None,
        shares: ArrayLike | None = None,
        sums: bool = False,
    ) -> NDArray[np.float64]:
        """Draw the statistics with Laplace noise, as a float64 array of shape (4,) in the order of `STATISTICS`. The
        release is epsilon-DP under replacement of one record.

        Parameters
        ----------
        records : float64 (n,).
        epsilon : > 0.
        rng : numpy Generator. The noise is a floating-point simulation; do not publish it.
        sensitivity : sensitivity of the vector of all four statistics, for a common scale sensitivity/epsilon; None
            uses the exact sensitivity.
        shares : shares of epsilon, which give a separate scale for each statistic, see `scales`; cannot be combined
            with `sensitivity`.
        sums : if True, release `sums_of`; the default sensitivity is then `sums_sensitivity`.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid.
        """
        statistics, n = self.sums_of(records) if sums else self._means_of(records), int(np.size(records))
        if shares is None:
            if sums and sensitivity is None:
                sensitivity = self.sums_sensitivity()
            mechanism = Laplace.calibrated(epsilon, sensitivity=sensitivity or self.sensitivity(n))
            return mechanism.sample(statistics, rng=rng)
        if sensitivity is not None:
            raise ValueError(
                f"shares and sensitivity must not both be given, got shares = {shares} and sensitivity = {sensitivity}"
            )
        size = self.scales(n, epsilon=epsilon, shares=shares, sums=sums)
        return statistics + size * _checks.generator(rng).laplace(size=4)
