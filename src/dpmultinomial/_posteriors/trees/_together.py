"""How the counts of a tree hang together: laws of one or two of them anywhere, and of sums over siblings."""

from collections.abc import Callable

import numpy as np

from ..._results.together import Pair, Places
from ..._results.whole import Unlisted, Whole, Window
from . import _pairs

Rows = list[int]


class TreeTogether:
    """Exact laws as far as messages give them; what does not is `Unlisted`.

    Parameters
    ----------
    law : position -> first count, probabilities.
    pair : two positions -> their joint law.
    siblings : two lists of positions -> joint law of the two sums; None where they are no siblings.
    draw : (positions, size, rng) -> joint draws.
    certain : whether what is found may be told as exact; else everything is `Unlisted`, and draws are all there is.
    """

    unit = 1.0

    def __init__(
        self,
        law: Callable[[int], Window],
        pair: Callable[[int, int], _pairs.Pair],
        siblings: Callable[[Rows, Rows], _pairs.Pair | None],
        draw: Callable[[Rows, int, np.random.Generator], Whole],
        *,
        certain: bool = True,
    ) -> None:
        self._law, self._pair, self._siblings, self._draw = law, pair, siblings, draw
        self._certain = certain

    def sum_of(self, places: Places) -> Window:
        """Law of the sum of the counts at different places."""
        own = list(places)
        if len(own) == 1 and self._certain:
            return self._law(own[0])
        return Window(*_pairs.total(self._joint(own[:1], own[1:])))

    def pair_of(self, first: Places, second: Places) -> Pair:
        """Joint law of two sums over different places."""
        low, other, p = self._joint(list(first), list(second))
        return Pair(Window(low, p.sum(axis=1)), Window(other, p.sum(axis=0)), None, p)

    def difference_of(self, first: Places, second: Places) -> Window:
        """Law of the difference of two sums over different places."""
        return Window(*_pairs.difference(self._joint(list(first), list(second))))

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Independent draws, (size, places)."""
        return self._draw(list(places), size, rng)

    def _joint(self, first: Rows, second: Rows) -> _pairs.Pair:
        if not self._certain:
            raise Unlisted("the counts' laws are not exact")
        if len(first) == len(second) == 1:
            return self._pair(first[0], second[0])
        found = self._siblings(first, second)
        if found is None:
            raise Unlisted(f"{len(first) + len(second)} counts that are no siblings")
        return found
