"""Answers from draws: columns of the quantities asked about, laws, probabilities and ranks, with their errors."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._honesty import Honesty
from .._seeding import stream
from .chance import Chance
from .laws import Draws
from .quantities import Quantities
from .ranks import Rank
from .whole import Array

DRAWS = 100_000
_AT_ONCE = 10_000_000  # numbers
_FEW = 50  # quantities whose draws are kept between questions


class Drawer:
    """Draws of one group; the same for a question whatever else is asked.

    Parameters
    ----------
    group : the quantities.
    rng : numpy Generator, or None: then whoever needs draws is told.
    """

    def __init__(self, group: Quantities, rng: np.random.Generator | None) -> None:
        self.group = group
        self._seed = None if rng is None else int(_checks.generator(rng).integers(2**62))
        self._kept: Array | None = None

    @property
    def state(self) -> Honesty:
        """State of what is drawn: approximate for exact laws, else that of the posterior."""
        base = self.group[self.group.names[0]].honesty
        if base.word in ("converged", "not converged"):
            return base
        reason = f"{DRAWS:,} independent draws; error: one standard error"
        return Honesty("approximate", float("nan"), f"{base.reason}; {reason}" if base.reason else reason)

    def error(self, sd: float) -> float:
        """Standard error of a mean; NaN for chains, whose draws are not independent."""
        return sd / DRAWS**0.5 if self.state.word == "approximate" else float("nan")

    def error_of_chance(self, p: float) -> float:
        """Standard error of a probability; not 0 where all draws agree."""
        return self.error(float(np.sqrt(p * (1 - p) + 1 / DRAWS)))

    def columns(self, places: list[int]) -> Array:
        """Draws of these quantities, (DRAWS, places), row by row together."""
        if not places:
            return np.zeros((DRAWS, 0))
        return np.concatenate(list(self._parts(places)))

    def law(self, draws: Array, label: str) -> Draws:
        """A law of draws."""
        state, draws = self.state, draws[~np.isnan(draws)]
        if state.word == "approximate":
            state = Honesty("approximate", self.error(float(draws.std(ddof=1))), state.reason)
        return Draws(draws, name=label, type="question", honesty=state)

    def chance(self, true: NDArray[np.bool_]) -> Chance:
        """A probability: the share of draws for which something is true."""
        p, state = float(true.mean()), self.state
        if state.word == "approximate":
            state = Honesty("approximate", self.error_of_chance(p), state.reason)
        return Chance(p, state)

    def ranks(self, places: list[int], top: int) -> list[Rank]:
        """Laws of the ranks of those with the smallest mean rank; ties share the better rank.

        Parameters
        ----------
        places : positions of those that compete.
        top : how many laws are wanted; who they are is judged by the first part of the draws.

        Returns
        -------
        list of Rank
            By rising mean rank.
        """
        from scipy.stats import rankdata  # half a second, for ranks alone

        first: NDArray[np.int64] | None = None
        seen: list[NDArray[np.int64]] = []
        for x in self._parts(places):
            if first is None:
                some = rankdata(-x[: max(_AT_ONCE // (10 * len(places)), 100)], method="min", axis=1)
                first = np.argsort(some.mean(axis=0), kind="stable")[:top]
            seen.append(1 + np.stack([(x > x[:, [i]]).sum(axis=1) for i in first], axis=1))
        assert first is not None
        found = []
        for i, ranks in zip(first, np.concatenate(seen).T, strict=True):
            values, times = np.unique(ranks, return_counts=True)
            found.append(Rank(places[i], values, times / times.sum()))
        return sorted(found, key=lambda rank: float(rank.ranks @ rank.probabilities))

    def _parts(self, places: list[int]) -> Iterator[Array]:
        """The draws in parts of rows."""
        if self._seed is None:
            raise ValueError("rng: this question is answered from draws; give a Generator")
        together = self.group.together
        width = len(places) if together is not None else len(self.group)
        size = max(min(DRAWS, _AT_ONCE // max(width, 1)), 1)
        if together is None and len(self.group) <= _FEW:
            if self._kept is None:
                self._kept = np.asarray(self.group.sample(DRAWS, rng=stream(self._seed, "questions")), dtype=float)
            yield self._kept[:, places]
            return
        rng = stream(self._seed, "questions", *map(str, sorted(places)[:1000]))
        for start in range(0, DRAWS, size):
            rows = min(size, DRAWS - start)
            if together is not None:
                yield np.asarray(together.draw(places, rows, rng=rng) * together.unit, dtype=np.float64)
            else:
                yield np.asarray(self.group.sample(rows, rng=rng), dtype=np.float64)[:, places]
