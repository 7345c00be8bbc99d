"""Distributions of several named quantities of the same type. A single quantity is accessed by its name; other methods
select some quantities or evaluate all of them in one call.

`Chance` is a probability with an accuracy status.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accuracy import EXACT, LEVEL, Accuracy
from .distributions import Marginal, Unavailable
from .expressions import Names
from .joint import Together

Joint = Callable[[int, np.random.Generator], NDArray[Any]]
Array = NDArray[np.float64]


class Columns(NamedTuple):
    """Means, standard deviations and limits of central intervals of all quantities of a group, with the accuracy of
    these numbers.

    Parameters
    ----------
    mean, sd, lower, upper : float64 (n,).
    states : accuracy of all quantities, or one per quantity.
    """

    mean: Array
    sd: Array
    lower: Array
    upper: Array
    states: Accuracy | Sequence[Accuracy]


class Quantities:
    """Mapping from names to the quantities of one type: ``quantities[name]`` is the `Marginal` of one quantity. The
    methods return results for all quantities, as a mapping from the names or as a table.

    Parameters
    ----------
    names : names of the quantities.
    law : function from a position to the `Marginal` of the quantity.
    joint : function of (size, rng) that returns joint draws of all quantities, (size, names).
    among : function of names that returns the quantities as shares among these names; None if the quantities are not
        shares.
    together : joint distribution of the quantities, from which questions about several quantities are answered exactly:
        `Independent`, `Coupled` or `Enumerated`; a function that computes the joint distribution when it is needed for
        the first time; or None if only draws are available.
    numbers : function of a level that returns the `Columns` of all quantities in one pass; None: separately for each
        quantity.
    sums : names of the quantities that are sums of others, which the word ``all`` in a question omits.
    parents : position of the quantity of which each quantity is a part, -1 for none; None if there are no such parts.
    """

    def __init__(
        self,
        names: Sequence[str],
        law: Callable[[int], Marginal],
        *,
        joint: Joint,
        among: Callable[[tuple[str, ...]], "Quantities"] | None = None,
        together: Together | Callable[[], Together | None] | None = None,
        numbers: Callable[[float], Columns] | None = None,
        sums: Collection[str] = (),
        parents: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> None:
        self.names, self._law, self._joint, self._among = tuple(names), law, joint, among
        self._together, self._numbers, self.sums, self.parents = together, numbers, frozenset(sums), parents
        self._laws: dict[str, Marginal] = {}

    def __getitem__(self, name: str) -> Marginal:
        if name not in self.places:
            raise KeyError(f"unknown name {name!r}: choose from {self._listed()}")
        if name not in self._laws:
            self._laws[name] = self._law(self.places[name])
        return self._laws[name]

    @cached_property
    def places(self) -> dict[str, int]:
        """Mapping from the name of each quantity to the position of the quantity in the list of names."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def together(self) -> Together | None:
        """Joint distribution of the quantities, or None if only draws are available."""
        return self._together() if callable(self._together) else self._together

    @cached_property
    def words(self) -> Names:
        """Names of the quantities, as an object that finds these names in the text of a question."""
        return Names(self.names)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def among(self, *names: str) -> "Quantities":
        """Return the share of each category in `names`, which is the quantity of the category divided by the sum of the
        quantities of all categories in `names`.

        Parameters
        ----------
        *names : two or more of the names.

        Returns
        -------
        Quantities

        Raises
        ------
        KeyError
            If a name is unknown.
        Unavailable
            If shares among some of the names are not available.
        """
        if self._among is None:
            raise Unavailable(
                f"the argument `among` is not available for these quantities ({', '.join(self.names[:3])}), but only "
                "for shares and rates of all categories"
            )
        for name in names:
            if name not in self.places:
                raise KeyError(f"unknown name {name!r}: choose from {self._listed()}")
        if not 2 <= len(names) == len(set(names)):
            raise ValueError(
                f"the argument `among` must contain at least two different names, got {', '.join(names) or 'none'}"
            )
        return self._among(names)

    @property
    def in_one_pass(self) -> bool:
        """Return whether `numbers` summarises all quantities in one pass."""
        return self._numbers is not None

    def numbers(self, level: float = LEVEL) -> Columns:
        """Return summaries of all quantities, computed in one pass if possible, and otherwise separately for each
        quantity.

        Parameters
        ----------
        level : probability of the central intervals, in (0, 1).
        """
        if self._numbers is not None:
            return self._numbers(level)
        laws = [self[name] for name in self]
        rows = [(law.mean(), law.sd(), *law.interval(level)) for law in laws]
        mean, sd, lower, upper = np.array(rows, dtype=np.float64).reshape(-1, 4).T
        return Columns(mean, sd, lower, upper, [law.accuracy for law in laws])

    @cached_property
    def states(self) -> Sequence[Accuracy]:
        """Accuracy of every quantity, in the order of the names."""
        if self._numbers is None:
            return [self[name].accuracy for name in self]
        states = self._default.states
        return [states] * len(self) if isinstance(states, Accuracy) else states

    @cached_property
    def _default(self) -> Columns:
        return self.numbers()

    def mean(self) -> "pd.Series[float]":
        """Expected value of every quantity, indexed by name."""
        return self._each(lambda law: law.mean()) if self._numbers is None else self._series(self._default.mean)

    def sd(self) -> "pd.Series[float]":
        """Standard deviation of every quantity, indexed by name."""
        return self._each(lambda law: law.sd()) if self._numbers is None else self._series(self._default.sd)

    def variance(self) -> "pd.Series[float]":
        """Variance of every quantity, indexed by name."""
        return self._each(lambda law: law.variance()) if self._numbers is None else self._series(self._default.sd**2)

    def median(self) -> "pd.Series[float]":
        """Return the median of every quantity, indexed by name."""
        return self._each(lambda law: law.median())

    def mode(self) -> "pd.Series[float]":
        """Return the most probable value of every quantity, indexed by name."""
        return self._each(lambda law: law.mode())

    def quantile(self, q: ArrayLike) -> pd.DataFrame:
        """Return quantiles with one row per name and one column per level (`Marginal.quantile`)."""
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
        return pd.DataFrame([self[name].quantile(levels) for name in self], index=list(self.names), columns=levels)

    def interval(self, level: float = LEVEL, *, kind: str = "central") -> pd.DataFrame:
        """Return the interval of every quantity, with the columns lower and upper and one row per name
        (`Marginal.interval`).
        """
        if self._numbers is not None and kind == "central":
            numbers = self._default if level == LEVEL else self.numbers(level)
            return pd.DataFrame({"lower": numbers.lower, "upper": numbers.upper}, index=list(self.names))
        ends = [self[name].interval(level, kind=kind) for name in self]
        return pd.DataFrame(ends, index=list(self.names), columns=["lower", "upper"])

    def cdf(self, x: ArrayLike) -> pd.DataFrame:
        """Return cumulative probabilities with one row per name and one column per value of `x` (`Marginal.cdf`)."""
        points = np.atleast_1d(np.asarray(x, dtype=np.float64))
        return pd.DataFrame([self[name].cdf(points) for name in self], index=list(self.names), columns=points)

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Draw all quantities jointly, as an array of shape (size, names), in the order of `names`."""
        return self._joint(size, _checks.generator(rng))

    def _listed(self) -> str:
        more = f", .. ({len(self)} in all)" if len(self) > 20 else ""
        return ", ".join(self.names[:20]) + more

    def _series(self, values: Array) -> "pd.Series[float]":
        return pd.Series(values, index=list(self.names))

    def _each(self, what: Callable[[Marginal], float]) -> "pd.Series[float]":
        return pd.Series({name: what(self[name]) for name in self})

    def __repr__(self) -> str:
        lines = [repr(self[name]) for name in self.names[:10]]
        more = [f".. and {len(self) - 10} more"] if len(self) > 10 else []
        return "\n".join(lines + more)


class Chance(float):
    """Probability of an event: a float whose attribute ``accuracy`` gives the accuracy status and the error."""

    accuracy: Accuracy

    def __new__(cls, value: float, accuracy: Accuracy = EXACT) -> "Chance":
        chance = super().__new__(cls, min(max(value, 0.0), 1.0))
        chance.accuracy = accuracy
        return chance

    def __repr__(self) -> str:
        error = f", error {self.accuracy.error:.2g}" if self.accuracy.error > 0 else ""
        text = f"{float(self):.6g}"
        text = f"1 - {1 - self:.2g}" if text == "1" and self < 1 else text
        return f"{text} ({self.accuracy.status}{error})"

    def __reduce__(self) -> tuple[type, tuple[float, Accuracy]]:
        return Chance, (float(self), self.accuracy)
