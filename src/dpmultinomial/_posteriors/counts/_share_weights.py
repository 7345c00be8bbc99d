"""Weights of the counts of a share among some categories when independent counts have a fixed sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from ._positive_sequences import Window, convolve

Triple = tuple[Window, Window, Window]


@dataclass(frozen=True)
class ShareWeights:
    """Factors of the counts inside, of the others in the group, and of those outside it.

    Parameters
    ----------
    mine : weights of the count s inside.
    others, outside : weights of each other count, `others` not empty.
    total : the sum of all counts.
    """

    mine: Window
    others: Sequence[Window]
    outside: Sequence[Window]
    total: int

    @cached_property
    def precise(self) -> Triple:
        """Weights of s, of the others' sum t and of s + t, all with small relative error down their tails."""
        return self._combined(tails=True)

    @cached_property
    def bulk(self) -> Triple:
        """The same with small absolute error, for moments; a fraction of the time where convolutions are long."""
        return self._combined(tails=False)

    def _combined(self, *, tails: bool) -> Triple:
        theirs = self._sum(self.others, tails)
        of_total = self._sum(self.outside, tails).reflected(self.total) if self.outside else self._whole()
        return self.mine, theirs, of_total

    def _sum(self, parts: Sequence[Window], tails: bool) -> Window:
        return reduce(lambda a, b: convolve(a, b, largest=self.total, tails=tails), parts)

    def _whole(self) -> Window:
        return Window(self.total, np.ones(1))
