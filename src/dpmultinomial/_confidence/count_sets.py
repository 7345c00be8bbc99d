"""Confidence sets of many counts with added noise, computed simultaneously.

A count d is accepted if neither tail of the released value is small under d: P_d(Y >= y) > alpha/2 and
P_d(Y <= y) > alpha/2.
The true count is rejected with probability at most alpha, so that the accepted counts cover it with probability at
least 1 - alpha (Neyman 1937). If the released value implies that the noisy value is between `low` and `high`, then
P_d(Y >= y) = P(noise >= low - d) and P_d(Y <= y) = P(noise <= high - d). Both tails are monotone in d, and the accepted
counts are the integers from low - h to high + h, where h is the largest distance with P(noise >= h) > alpha/2.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._mechanisms.coarsened import Coarsened
from .._mechanisms.noise_law import AddedNoise, Array

SIDES = ("two", "left", "right")
_STEPS = 80  # number of bisection steps for a distance, enough for float64 precision


class Ends(NamedTuple):
    """Confidence intervals for many counts.

    Parameters
    ----------
    lower, upper : float64 (n,), the smallest and the largest accepted count; inf if there is no upper limit.
    coverage : float64 (n,), a lower bound on the probability that the interval covers the true count.
    empty : bool (n,), whether no possible count is accepted; lower and upper are then the nearest possible count.
    gaps : bool (n,), whether a count between lower and upper is not accepted.
    """

    lower: Array
    upper: Array
    coverage: Array
    empty: NDArray[np.bool_]
    gaps: NDArray[np.bool_]


class CountSets(Protocol):
    """Interface of the confidence sets for several counts.

    ``method``        name of the order in which outcomes are rejected
    ``ends``          intervals of all counts at a level
    ``accepted``      accepted counts of a single count, by position
    ``pvalue``        p-value of a hypothetical count, by position
    ``tails``         P(Y >= y) and P(Y <= y) given hypothetical counts, by position
    """

    method: str

    def ends(self, level: Any) -> Ends: ...

    def accepted(self, place: int, level: float) -> NDArray[np.int64]: ...

    def pvalue(self, place: int, count: int, side: str) -> float: ...

    def tails(self, place: int, counts: Array) -> tuple[Array, Array]: ...


def tail(noise: AddedNoise, distance: Array, parameter: Array) -> Array:
    """Return P(noise >= distance), with the arguments broadcast against each other.

    Parameters
    ----------
    noise : distribution of the noise.
    distance : any numbers, integers or infinite if the distribution is discrete.
    parameter : parameter of the noise, as returned by `by_row`.

    Returns
    -------
    float64 of the broadcast shape
    """
    return np.exp(noise.log_within(distance, np.full(np.shape(distance), np.inf), parameter))


def halfwidths(noise: AddedNoise, level: Any, parameter: Array) -> Array:
    """Return, for each noise parameter, the largest distance h with P(noise >= h) > (1 - level)/2. The distance is
    computed by bisection.

    Parameters
    ----------
    noise : distribution of symmetric noise.
    level : in (0, 1), one number or one per parameter.
    parameter : parameters of the noise, one number or (n,).

    Returns
    -------
    float64 of the shape of `parameter`; for a continuous distribution the distance is rounded outwards.
    """
    parameter, level = np.broadcast_arrays(np.asarray(parameter, float), np.asarray(level, float))
    log_tail = np.log((1 - level) / 2)
    low, high = np.zeros(parameter.shape), np.ones(parameter.shape)
    ends = np.full(parameter.shape, np.inf)

    def inside(distance: Array) -> NDArray[np.bool_]:
        return np.asarray(noise.log_within(distance, ends, parameter) > log_tail)

    while (far := inside(high)).any():
        low, high = np.where(far, high, low), np.where(far, 2 * high, high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if noise.discrete:
            middle = np.floor(middle)
            if (high - low <= 1).all():
                break
        good = inside(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return low if noise.discrete else high


def listed(found: Ends, place: int) -> NDArray[np.int64]:
    """Return, in increasing order, the true counts in a confidence set that has no gaps.

    Parameters
    ----------
    found : confidence intervals.
    place : position of the count.

    Returns
    -------
    int64

    Raises
    ------
    ValueError
        If the set has no upper limit.
    """
    if found.empty[place]:
        return np.zeros(0, dtype=np.int64)
    if np.isinf(found.upper[place]):
        raise ValueError(
            f"the accepted counts cannot be listed, because every count >= {found.lower[place]:.0f} is accepted: set "
            "public bounds on the counts"
        )
    return np.arange(int(found.lower[place]), int(found.upper[place]) + 1)


class AddedSets:
    """Confidence sets for the true counts, given counts with added noise. The released values may be rounded, clipped
    or withheld.

    Parameters
    ----------
    law : distribution of added noise, or a `Coarsened` distribution.
    values : released values (n,), NaN where a value was withheld or not measured.
    lower, upper : public limits of the counts (n,), integers or inf.

    Raises
    ------
    ValueError
        If a value cannot be released under the distribution.
    """

    method = "tails"

    def __init__(self, law: Any, values: Array, lower: Array, upper: Array) -> None:
        self.noise: AddedNoise = law.noise if isinstance(law, Coarsened) else law
        self.least, self.most = lower, upper
        self.parameter = np.broadcast_to(self.noise.by_row(values), values.shape)
        unknown = np.isnan(values) & (not isinstance(law, Coarsened) or law.least is None)
        self.low, self.high = np.full(values.shape, -np.inf), np.full(values.shape, np.inf)
        known = np.flatnonzero(~unknown)
        part = law if law.row_count is None else law.take(known)
        if isinstance(law, Coarsened):
            self.low[known], self.high[known] = part.behind(values[known])
        else:
            if known.size and not (good := part.possible(values[known])).all():
                rule = "integers" if law.discrete else "finite"
                raise ValueError(f"released values under {law!r} must be {rule}, got {values[known][~good][0]:.15g}")
            self.low[known] = self.high[known] = values[known]

    def ends(self, level: Any) -> Ends:
        """Return the confidence intervals for all counts.

        Parameters
        ----------
        level : in (0, 1), one number or one per count.

        Returns
        -------
        Ends
            The coverage is P(-h <= noise <= h); rounding, clipping and withholding can only increase it.
        """
        level = np.broadcast_to(np.asarray(level, dtype=np.float64), self.low.shape)
        keys = np.column_stack([self.parameter, level])
        cases, place = keys[:1], np.zeros(len(keys), dtype=np.int64)
        if (keys != cases).any():
            cases, place = np.unique(keys, axis=0, return_inverse=True)
        width = halfwidths(self.noise, cases[:, 1], cases[:, 0])
        covered = np.exp(self.noise.log_within(-width, width, cases[:, 0]))
        width, covered = width[place.ravel()], covered[place.ravel()]
        low, high = np.ceil(self.low - width), np.floor(self.high + width)
        lower, upper = np.maximum(low, self.least), np.minimum(high, self.most)
        empty = lower > upper
        nearest = np.clip(np.round(np.clip(self.least, self.low, self.high)), self.least, self.most)
        lower, upper = np.where(empty, nearest, lower), np.where(empty, nearest, upper)
        return Ends(lower, upper, np.clip(covered, level, 1.0), empty, np.zeros(empty.shape, dtype=bool))

    def accepted(self, place: int, level: float) -> NDArray[np.int64]:
        """Return the true counts that the confidence set for a single count contains.

        Parameters
        ----------
        place : position of the count.
        level : in (0, 1).

        Returns
        -------
        int64, in increasing order

        Raises
        ------
        ValueError
            If the set has no upper limit.
        """
        return listed(self.ends(level), place)

    def pvalue(self, place: int, count: int, side: str) -> float:
        """Return the p-value of the test of the hypothesis that a true count has a given value.

        Parameters
        ----------
        place : position of the count.
        count : integer >= 0.
        side : ``"two"``: twice the smaller tail; ``"right"``: P(Y >= y), against larger counts; ``"left"``: P(Y <= y),
            against smaller counts.

        Returns
        -------
        float
        """
        right, left = (float(side[0]) for side in self.tails(place, np.array([float(count)])))
        return min({"two": 2 * min(left, right), "left": left, "right": right}[side], 1.0)

    def tails(self, place: int, counts: Array) -> tuple[Array, Array]:
        """Return the tail probabilities P(Y >= y) and P(Y <= y) of a release Y at the released value y, given each of
        several true counts.

        Parameters
        ----------
        place : position of the released value y.
        counts : hypothetical true counts, integers as float64.

        Returns
        -------
        right, left : float64 of the shape of `counts`
        """
        parameter = self.parameter[[place]]
        right = tail(self.noise, self.low[place] - counts, parameter)
        return right, tail(self.noise, counts - self.high[place], parameter)
