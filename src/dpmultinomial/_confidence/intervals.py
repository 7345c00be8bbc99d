"""Confidence intervals for single counts and rates, and collections of the intervals for all counts and rates."""

from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import LEVEL
from .count_sets import SIDES, Ends
from .noisy_release import NoisyCounts
from .rates import GAMMA, LARGEST, rate_interval, rate_tails

GRID_LEVEL = 1 - GAMMA
Row = tuple[float, float, float, str, str, float, str]  # lower, upper, coverage, method, status, error, note


class CountConfidence:
    """Confidence statements about one true count.

    Parameters
    ----------
    noisy : the counts of the release.
    place : position of the count.
    """

    def __init__(self, noisy: NoisyCounts, place: int) -> None:
        self.name, self._noisy, self._place = noisy.names[place], noisy, place

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the confidence interval for a count, which extends from the smallest to the largest accepted count.

        Parameters
        ----------
        level : confidence level, in (0, 1).

        Returns
        -------
        (lower, upper)
            Integers; upper is inf if every large count is accepted.
        """
        ends = self._ends(level)
        return _number(ends.lower[0]), _number(ends.upper[0])

    def accepted(self, level: float = LEVEL) -> NDArray[np.int64]:
        """Return all true counts in the confidence set, in increasing order. The set is empty if no possible count is
        accepted.

        Parameters
        ----------
        level : confidence level, in (0, 1).

        Raises
        ------
        ValueError
            If the set has no upper limit.
        """
        return self._noisy.sets.accepted(self._place, _checks.inside("level", level))

    def pvalue(self, count: int, side: str = "two") -> float:
        """Return the p-value of the test of the hypothesis that a true count has a given value.

        Parameters
        ----------
        count : integer >= 0.
        side : ``"two"``; ``"right"``, if large released values are evidence against the hypothesis; ``"left"``, if
            small values are.

        Returns
        -------
        float
            A count is accepted at a level if its two-sided p-value is above 1 - level.

        Raises
        ------
        ValueError, TypeError
            If the count is not an integer >= 0, or is not in the table of the noise.
        """
        return self._noisy.sets.pvalue(
            self._place, _checks.integer("count", count), _checks.one_of("side", side, SIDES)
        )

    def note(self, level: float = LEVEL) -> str:
        """Return remarks on the interval, for example that no count is in the confidence set. The string is empty if
        there are no remarks.
        """
        return notes(self._ends(level), self._noisy)[0]

    def _ends(self, level: float) -> Ends:
        ends = self._noisy.sets.ends(_checks.inside("level", level))
        index = [self._place]
        lower, upper, coverage, empty, gaps = ends
        return Ends(lower[index], upper[index], coverage[index], empty[index], gaps[index])

    def __repr__(self) -> str:
        lower, upper = self.interval()
        note = self.note()
        return f"{self.name}: 95 % confidence interval {lower:.0f} to {upper:.0f}" + (f" ({note})" if note else "")


class RateConfidence:
    """Confidence statements about the underlying rate of one category.

    Parameters
    ----------
    noisy : the counts of the release.
    place : position of the category.
    """

    def __init__(self, noisy: NoisyCounts, place: int) -> None:
        self.name, self._noisy, self._place = noisy.names[place], noisy, place

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the confidence interval for a rate, rounded outwards.

        Parameters
        ----------
        level : confidence level, in (0, 1); without a public total below 0.998.

        Raises
        ------
        ValueError
            If the noise or the level does not allow an interval; the message gives the reason.
        """
        return self.row(level)[:2]

    def pvalue(self, rate: float, side: str = "two", *, rng: np.random.Generator | None = None) -> float:
        """Return the p-value of the test of the hypothesis that a rate has a given value. Without a public total, the
        p-value is an upper bound over all plausible totals.

        Parameters
        ----------
        rate : in [0, 1].
        side : ``"two"``; ``"right"``, if large released values are evidence against the hypothesis; ``"left"``, if
            small values are.
        rng : numpy Generator for a randomised one-sided test, which is uniformly most powerful if the noise is discrete
            Laplace (Awan and Slavkovic 2018), and needs a public total; None: no randomisation.

        Returns
        -------
        float

        Raises
        ------
        ValueError, TypeError
            If the rate is not in [0, 1], or a test would be randomised that is two-sided or has no public total.
        """
        _checks.one_of("side", side, SIDES)
        p = float(_checks.fraction("rate", rate))
        if self._noisy.total is None:
            if rng is not None:
                raise ValueError("rng may be given only with a public total: pass Release(.., total=), or omit rng")
            return self._unknown_pvalue(p, side)
        tails, _, _ = self._noisy.rate_tails(self._place)
        right, left = rate_tails(tails, p)
        if rng is not None:
            if side == "two" or not self._noisy.integers:
                raise ValueError(
                    f"rng may be given only for a one-sided test with integer-valued noise, got side = {side!r} and "
                    f"the noise {self._noisy.law!r}: pass side='right' or side='left', or omit rng"
                )
            atom = max(right + left - 1, 0.0)  # P(Y = y)
            u = float(_checks.generator(rng).random())
            right, left = right - u * atom, left - (1 - u) * atom
        return min({"two": 2 * min(left, right), "left": left, "right": right}[side], 1.0)

    def _unknown_pvalue(self, p: float, side: str) -> float:
        pair = self._noisy.pair(self._place)
        p = min(max(p, 1e-12), 1 - 1e-12)
        tails = np.array([pair.tails(p, int(n)) for n in pair.sizes()]).max(axis=0) + GAMMA / 2
        right, left = float(tails[0]), float(tails[1])
        return min({"two": 2 * min(left, right), "left": left + GAMMA / 2, "right": right + GAMMA / 2}[side], 1.0)

    def row(self, level: float) -> Row:
        """Return the confidence interval for the rate at a given level, as a row of the table of all intervals. The
        columns are lower, upper, coverage, method, status, error and note.
        """
        level = _checks.inside("level", level)
        if self._noisy.total is not None:
            tails, method, exact = self._noisy.rate_tails(self._place)
            interval = rate_interval(tails, level)
            if interval is None:
                near = 1.0 if rate_tails(tails, 1.0)[0] <= (1 - level) / 2 else 0.0
                return near, near, level, method, "exact", 0.0, f"no rate fits at this level; the nearest is {near:g}"
            return *interval, level, method, "exact" if exact else "conservative", 0.0, ""
        return self._unknown(level)

    def _unknown(self, level: float) -> Row:
        if level >= GRID_LEVEL:
            raise ValueError(
                f"level must be below {GRID_LEVEL:g} if the total is not public, got {level}: without a public total, "
                f"the number of records is known only with confidence {GRID_LEVEL:g}"
            )
        pair = self._noisy.pair(self._place)
        if pair.y1 + pair.y0 > LARGEST:
            lower, upper, error = pair.normal_interval(level)
            return lower, upper, level, "normal distribution", "approximate", error, ""
        interval = pair.interval(level)
        if interval is None:
            share = float(np.clip(pair.y1 / max(pair.y1 + pair.y0, 1.0), 0.0, 1.0))
            note = f"no rate fits at this level; the interval contains only {share:.3g}"
            return share, share, level, "Berger and Boos", "conservative", GAMMA, note
        note = "with gaps" if interval[2] else ""
        return interval[0], interval[1], level, "Berger and Boos", "conservative", GAMMA, note

    def __repr__(self) -> str:
        lower, upper, *_, note = self.row(LEVEL)
        low, high = (
            f"{float(Context(prec=4, rounding=to).create_decimal(Decimal(end))):g}"
            for end, to in ((lower, ROUND_FLOOR), (upper, ROUND_CEILING))
        )
        return f"{self.name}: 95 % confidence interval {low} to {high}" + (f" ({note})" if note else "")


class ByName:
    """Confidence statements about all quantities of one type, indexed by the names of the quantities.

    Parameters
    ----------
    names : names of the quantities.
    one : function of a position -> statements about that quantity.
    table : function of a level -> (lower, upper) of all quantities.
    """

    def __init__(
        self, names: tuple[str, ...], one: Callable[[int], Any], table: Callable[[float], tuple[Any, Any]]
    ) -> None:
        self.names, self._one, self._table = names, one, table
        self._places = {name: i for i, name in enumerate(names)}

    def __getitem__(self, name: str) -> Any:
        if name not in self._places:
            shown = ", ".join(self.names[:20]) + (f", .. ({len(self)} in all)" if len(self) > 20 else "")
            raise KeyError(f"unknown name {name!r}: choose from {shown}")
        return self._one(self._places[name])

    def interval(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the confidence intervals for all quantities as a table with one row per name and the columns lower and
        upper.
        """
        lower, upper = self._table(_checks.inside("level", level))
        return pd.DataFrame({"lower": lower, "upper": upper}, index=list(self.names))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return "\n".join([repr(self[name]) for name in self.names[:10]] + ["..."] * (len(self) > 10))


def notes(ends: Ends, noisy: NoisyCounts) -> list[str]:
    """Return remarks on the intervals of counts, with one string per count. The string is empty if there is no remark.

    Parameters
    ----------
    ends : intervals of the counts.
    noisy : the counts of the release.

    Returns
    -------
    list of str
    """
    out = [""] * len(ends.lower)
    special = ends.empty | ends.gaps | np.isinf(ends.upper)
    for i in np.flatnonzero(special):
        if ends.empty[i]:
            out[i] = f"no count fits at this level; the nearest is {ends.lower[i]:.0f}"
        else:
            out[i] = "with gaps" if ends.gaps[i] else "unbounded"
    if noisy.unused:
        alone = f"uses this value alone; the {noisy.unused} is not used"
        alone += ", except as an upper limit" if noisy.unused == "total" and noisy.total is not None else ""
        return [f"{note}; {alone}" if note else alone for note in out]
    return out


def _number(value: float) -> float:
    return int(value) if np.isfinite(value) else float(value)
