"""Input for all confidence intervals and hypothesis tests: the noisy counts of a release and the public facts about
these counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._mechanisms.coarsened import Coarsened, law_of_row
from .._mechanisms.noise_law import Array, LawByRow
from .._mechanisms.perturbation import Perturbation
from .._mechanisms.random_rounding import RandomRounding
from .._results.expressions import Names
from .count_sets import CountSets
from .noise_sums import NoiseSum, added
from .rates import Pair, TailsGivenCount, enveloped
from .release_sets import sets_of

# largest number of categories for which all counts are used; with more categories, the width would decrease by less
# than 4 %
PIVOT = 16

LISTED = 100_000  # largest total for which the tails are computed once for all numbers of records


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Released counts with their noise distributions and with the public bounds and the public total of the counts.

    Parameters
    ----------
    names : names of the counts.
    values : released values (n,), NaN where a value was withheld or not measured.
    law : noise distribution of the counts (`release_sets.law_of_counts`).
    lower, upper : public limits of the counts (n,), integers or inf.
    total : public number of records, or None.
    unused : information that the interval of a count does not use, ``"total"`` or ``"tree"``; empty if there is no such
        information.
    """

    names: tuple[str, ...]
    values: Array
    law: Any
    lower: Array
    upper: Array
    total: int | None
    unused: str = ""

    @cached_property
    def words(self) -> Names:
        """Names of the counts in the form that is used in the text of a hypothesis."""
        return Names(self.names)

    @cached_property
    def sets(self) -> CountSets:
        """Confidence sets for all true counts of a release."""
        return sets_of(self.law, self.values, self.lower, self.upper)

    def law_at(self, place: int) -> Any:
        """Return the noise distribution of one count, with a single parameter instead of one parameter per count."""
        return law_of_row(self.law, place)

    def noise_at(self, place: int) -> Any:
        """Return the distribution of the noise that is added to a count before rounding, clipping and withholding.

        Parameters
        ----------
        place : position of the count.

        Returns
        -------
        AddedNoise, or None if the count was released by a table or by random rounding
        """
        law = self.law_at(place)
        noise = law.noise if isinstance(law, Coarsened) else law
        return None if isinstance(noise, Perturbation | RandomRounding) else noise

    def limits(self, place: int) -> tuple[float, float]:
        """Return the smallest and the largest noisy value that are consistent with the released value. Return (-inf,
        inf) if the count was not measured.
        """
        value, law = np.array([self.values[place]]), self.law_at(place)
        if np.isnan(value[0]) and getattr(law, "least", None) is None:
            return -np.inf, np.inf
        low, high = law.behind(value) if isinstance(law, Coarsened) else (value, value)
        return float(low[0]), float(high[0])

    @cached_property
    def plain(self) -> bool:
        """Return whether all counts were measured with added noise and no released value is rounded, clipped or
        withheld.
        """
        laws = self.law.laws if isinstance(self.law, LawByRow) else [self.law]
        changed = any(isinstance(law, Coarsened | Perturbation | RandomRounding) for law in laws)
        return not changed and not bool(np.isnan(self.values).any())

    @cached_property
    def integers(self) -> bool:
        """Return whether all counts were measured with integer-valued noise and no released value is rounded, clipped
        or withheld.
        """
        return self.plain and bool(self.law.discrete)

    def rate_tails(self, place: int) -> tuple[TailsGivenCount, str, bool]:
        """Return the tail probabilities of the statistic that is used to test a rate, given the number of records in
        the category.

        Parameters
        ----------
        place : position of the category.

        Returns
        -------
        tails : monotone tails.
        method : description of the statistic.
        exact : whether the tails are exact; if not, they are upper bounds.
        """
        assert self.total is not None
        if self.plain and 2 <= len(self.names) <= PIVOT:
            return self._pivot(place)
        sets = self.sets
        last = self._last_of_table(place)
        if last is not None and last < self.total:
            raise ValueError(
                f"rates: the noise table must contain all true counts up to the total ({self.total}), but the largest "
                f"true count in the table is {last}"
            )

        listed = sets.tails(place, np.arange(self.total + 1.0)) if self.total <= LISTED else None

        def side(which: int) -> Callable[[Array], Array]:
            if listed is not None:
                return lambda x: listed[which][x.astype(np.int64)]
            return lambda x: sets.tails(place, x)[which]

        tails = TailsGivenCount(self.total, side(0), side(1))
        if not isinstance(self._table_at(place), Perturbation):
            return tails, "exact binomial", True
        return enveloped(tails), "exact binomial", _monotone(tails)

    def _last_of_table(self, place: int) -> int | None:
        law = self._table_at(place)
        return int(law.true[-1]) if isinstance(law, Perturbation) and law.beyond == "none" else None

    def _table_at(self, place: int) -> Any:
        """Return the distribution of the noisy value of a count before rounding, clipping and withholding."""
        law = self.law_at(place)
        return law.noise if isinstance(law, Coarsened) else law

    def _pivot(self, place: int) -> tuple[TailsGivenCount, str, bool]:
        k, n = len(self.names), int(self.total or 0)
        noise = self._pivot_noise(place)
        y = k * self.values[place] - self.values.sum() + n
        tails = TailsGivenCount(n, lambda x: noise.right(y - k * x), lambda x: noise.left(y - k * x))
        return tails, "exact binomial, all counts", noise.exact

    def _pivot_noise(self, place: int) -> NoiseSum:
        k = len(self.names)
        cases = self._pivots
        key = self.noise_at(place)
        if key not in cases:
            cases[key] = added([(self.noise_at(i), k - 1 if i == place else 1) for i in range(k)])
        return cases[key]

    @cached_property
    def _pivots(self) -> dict[Any, NoiseSum]:
        return {}

    def pair(self, place: int) -> Pair:
        """Return the noisy count of one category and the noisy sum of all other counts. Both are required for a rate if
        the number of records is not public.

        Parameters
        ----------
        place : position of the category.

        Returns
        -------
        Pair

        Raises
        ------
        ValueError
            If a count was not measured, there is only one count, or the noise is not plain integer-valued noise.
        """
        if len(self.names) < 2:
            raise ValueError(
                "total (the public number of records) is required for rates if only one count was released: pass "
                "Release(.., total=)"
            )
        if not self.integers:
            raise ValueError(
                "rates without a public total require integer-valued noise and counts that are not rounded, clipped or "
                f"withheld, got the distribution {self.law!r}: pass Release(.., total=)"
            )
        others = [i for i in range(len(self.names)) if i != place]
        noises = [added([(self.noise_at(i), 1) for i in places]) for places in ([place], others, [place, *others])]
        if not all(noise.exact for noise in noises):
            raise ValueError(
                "rates without a public total require a noise scale that is small enough for exact summation, got "
                f"{self.law!r}: pass Release(.., total=)"
            )
        return Pair(float(self.values[place]), float(self.values[others].sum()), *noises)


def _monotone(tails: TailsGivenCount) -> bool:
    x = np.arange(tails.n + 1, dtype=np.float64)
    return bool((np.diff(tails.right(x)) >= -1e-12).all() and (np.diff(tails.left(x)) <= 1e-12).all())
