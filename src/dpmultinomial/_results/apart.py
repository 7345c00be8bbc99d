"""Numbers of several releases side by side: independent between releases, tied within each."""

from collections.abc import Sequence

import numpy as np

from .integers import Whole, Window, added_up
from .joint import Pair, Places, Together


class Apart:
    """Numbers in several parts that are independent of each other, as tables of different releases are.

    Parameters
    ----------
    parts : how each part hangs together, and how many numbers it has; all of the same unit.
    """

    def __init__(self, parts: Sequence[tuple[Together, int]]) -> None:
        self.parts = [part for part, _ in parts]
        self.ends = np.cumsum([0, *(size for _, size in parts)])
        self.unit = self.parts[0].unit

    def sum_of(self, places: Places) -> Window:
        """Law of the sum of the numbers at different places."""
        return added_up([part.sum_of(own) for part, own in self._by_part(places)]).normalised()

    def pair_of(self, first: Places, second: Places) -> Pair | None:
        """Joint law of two sums over different places; None where more than one part has some of both."""
        one, two = self._by_part(first), self._by_part(second)
        if not {id(part) for part, _ in one} & {id(part) for part, _ in two}:
            return Pair(self.sum_of(first), self.sum_of(second), None)
        return one[0][0].pair_of(one[0][1], two[0][1]) if len(one) == len(two) == 1 else None

    def difference_of(self, first: Places, second: Places) -> Window:
        """Law of the difference of two sums over different places."""
        plus = {id(part): (part, own) for part, own in self._by_part(first)}
        minus = {id(part): (part, own) for part, own in self._by_part(second)}
        laws = []
        for key in {**plus, **minus}:
            part = (plus.get(key) or minus[key])[0]
            laws.append(_difference(part, plus.get(key, (part, []))[1], minus.get(key, (part, []))[1]))
        return added_up(laws).normalised()

    def draw(self, places: Places, size: int, *, rng: np.random.Generator) -> Whole:
        """Independent draws, (size, places)."""
        out = np.empty((size, len(places)), dtype=np.int64)
        inside = np.searchsorted(self.ends, places, side="right") - 1
        for i, part in enumerate(self.parts):
            columns = np.flatnonzero(inside == i)
            if len(columns):
                own = [int(places[int(c)] - self.ends[i]) for c in columns]
                out[:, columns] = part.draw(own, size, rng=rng)
        return out

    def _by_part(self, places: Places) -> list[tuple[Together, list[int]]]:
        own: dict[int, list[int]] = {}
        for place in places:
            i = int(np.searchsorted(self.ends, place, side="right")) - 1
            own.setdefault(i, []).append(place - int(self.ends[i]))
        return [(self.parts[i], members) for i, members in own.items()]


def _difference(part: Together, first: Places, second: Places) -> Window:
    if first and second:
        return part.difference_of(first, second)
    return part.sum_of(first) if first else part.sum_of(second).reflected()
