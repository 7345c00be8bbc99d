"""What the measured numbers of crossed cells say along one direction of a chain, given all other counts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._along import Ends
from ._likelihoods import LISTED, PARABOLA, POINT, REACH, TENT, Listed, fall
from .crossed import Crossed
from .sites import Lists

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class Along:
    """The measured numbers as functions of the count n of a direction's first cell.

    A sum over cells is rest + k n with k the sum of the direction over its cells.

    Parameters
    ----------
    crossed : the measured numbers.
    direction : int64 (cells,), +1, 0 or -1.

    Attributes
    ----------
    known : bounds and what has a closed form, compiled.
    bent : node -> the numbers that have none together.
    """

    def __init__(self, crossed: Crossed, direction: Whole) -> None:
        self.crossed, self.direction = crossed, direction
        self.first = int(np.argmax(direction))
        place, k = crossed.tree.place, crossed.sums.astype(np.int64) @ direction
        form = crossed.form
        says = np.flatnonzero((k[crossed.which] != 0) & (form.kind != POINT))
        rows = place[crossed.nodes[says]]
        tents = np.bincount(rows[form.kind[says] == TENT], minlength=len(crossed.tree.order))
        listed = np.bincount(rows[form.kind[says] == LISTED], minlength=len(tents))
        parabolas = np.bincount(rows[form.kind[says] == PARABOLA], minlength=len(tents))
        bent = (listed > 0) | (tents > 1) | ((tents == 1) & (parabolas > 0))
        self.bent = {row: says[rows == row] for row in np.flatnonzero(bent).tolist()}
        self._k = k[crossed.which]
        plain = says[~bent[rows]]
        nodes, queries, low, high = crossed.hard
        own = k[queries] != 0
        self.known = Ends(
            direction,
            crossed.tree.count,
            crossed.sums.astype(np.int64),
            _rows(place[nodes[own]], queries[own], k[queries[own]]),
            np.stack([low[own], high[own]], axis=1),
            _rows(place[crossed.nodes[plain]], crossed.which[plain], self._k[plain], form.kind[plain] == PARABOLA),
            np.stack([form.centre[plain], form.steepness[plain]], axis=1),
        )

    def lists(self, state: Whole, sites: NDArray[Any], lists: Lists) -> None:
        """Multiply on what has no closed form: log-concave, listed until it is lower by `REACH` than at its largest.

        Parameters
        ----------
        state : int64 (m, cells), counts in the kernels' order.
        sites : structured (m,), changed; lists that it has already are complete.
        lists : log weights, extended.
        """
        for row, members in self.bent.items():
            if sites["table"][row] >= 0:
                prior = lists.of(sites, row)
                n = np.arange(prior.first, prior.last + 1)
                lists.put(sites, row, Listed(prior.first, prior.logs + self._logs(state, row, members, n)))
            else:
                lists.put(sites, row, self._listed(state, sites, row, members))

    def _listed(self, state: Whole, sites: NDArray[Any], row: int, members: Whole) -> Listed:
        low, high, n = int(sites["lower"][row]), int(sites["upper"][row]), int(state[row, self.first])
        width = 64
        while True:
            first, last = max(n - width, low), min(n + width, high)
            counts = np.arange(first - 1, last + 2)
            logs = self._logs(state, row, members, counts)
            top = logs[1:-1].max()
            if (first == low or logs[1] < top - REACH) and (last == high or logs[-2] < top - REACH):
                break
            width *= 2
        keep = np.flatnonzero(logs >= top - REACH)
        keep = keep[(keep > 0) & (keep < len(logs) - 1)]
        a, b = int(keep[0]), int(keep[-1])
        below = np.inf if counts[a] == low else fall(logs[a], logs[a - 1])
        above = np.inf if counts[b] == high else fall(logs[b], logs[b + 1])
        return Listed(int(counts[a]), logs[a : b + 1], below, above)

    def _logs(self, state: Whole, row: int, members: Whole, counts: Whole) -> Array:
        """Log likelihood of counts of one node."""
        total, form = np.zeros(len(counts)), self.crossed.form
        for i in members.tolist():
            k = int(self._k[i])
            sums = self._sums(state, np.array([row]), self.crossed.which[[i]])[0]
            at = sums + k * (counts - state[row, self.first])
            if form.kind[i] == LISTED:
                total += self.crossed.log_likelihood(i, at)
            else:
                power = 2 if form.kind[i] == PARABOLA else 1
                total -= form.steepness[i] * np.abs(at - form.centre[i]) ** power
        return total

    def _sums(self, state: Whole, rows: Whole, queries: Whole) -> Whole:
        """The sums as they are."""
        return np.asarray((state[rows] * self.crossed.sums[queries]).sum(axis=1))


def _rows(*columns: NDArray[Any]) -> Whole:
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int64)
