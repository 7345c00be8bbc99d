"""What the measured numbers of crossed cells say along one direction of a chain, given all other counts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._likelihoods import LISTED, PARABOLA, POINT, REACH, TENT, Listed, fall
from .crossed import Crossed
from .sites import FAR, Lists

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class Along:
    """The measured numbers as functions of the count n of a direction's first cell.

    A sum over cells is rest + k n with k the sum of the direction over its cells.

    Parameters
    ----------
    crossed : the measured numbers.
    direction : int64 (cells,), +1, 0 or -1.
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
        self._plain = says[~bent[rows]]
        self._bent = {row: says[rows == row] for row in np.flatnonzero(bent).tolist()}
        self._k = k[crossed.which]
        nodes, queries, low, high = crossed.hard
        own = k[queries] != 0
        self._hard = place[nodes[own]], queries[own], low[own], high[own], k[queries[own]]

    def ends(self, state: Whole) -> tuple[Whole, Whole]:
        """First and last possible count of the first cell in every node, given the rest.

        Parameters
        ----------
        state : int64 (m, cells), counts in the kernels' order.

        Returns
        -------
        (lower, upper), int64 (m,)
        """
        n = state[:, self.first]
        up, down = (state[:, self.direction == sign] for sign in (1, -1))
        low = n - up.min(axis=1)
        high = n + down.min(axis=1) if down.shape[1] else np.full(len(n), FAR)
        rows, queries, least, most, k = self._hard
        if len(rows):
            rest = self._sums(state, rows, queries) - k * n[rows]
            ends = np.sort(np.stack([(least - rest) / k, (most - rest) / k]), axis=0)
            np.maximum.at(low, rows, np.ceil(np.maximum(ends[0], -1.0)).astype(np.int64))
            np.minimum.at(high, rows, np.floor(np.minimum(ends[1], FAR)).astype(np.int64))
        return low, high

    def parabolas(self, state: Whole, sites: NDArray[Any]) -> None:
        """Put closed forms into sites: what several parabolas are together, and single tents.

        Parameters
        ----------
        state : as of `ends`.
        sites : structured (m,), changed.
        """
        which, form, size = self._plain, self.crossed.form, len(sites)
        rows, centre = self._centres(state, which)
        k = np.abs(self._k[which])
        bowl = form.kind[which] == PARABOLA
        steep = np.where(bowl, form.steepness[which] * k**2, 0.0)
        total = np.bincount(rows, steep, size)
        first = np.zeros(size)
        first[rows] = centre
        mean = first + np.bincount(rows, steep * (centre - first[rows]), size) / np.where(total > 0, total, 1.0)
        held = total > 0
        sites["centre"][held], sites["square"][held] = mean[held], total[held]
        tents = rows[~bowl]
        sites["centre"][tents], sites["absolute"][tents] = centre[~bowl], (form.steepness[which] * k)[~bowl]

    def lists(self, state: Whole, sites: NDArray[Any], lists: Lists) -> None:
        """Multiply on what has no closed form: log-concave, listed until it is lower by `REACH` than at its largest.

        Parameters
        ----------
        state : as of `ends`.
        sites : structured (m,), changed; lists that it has already are complete.
        lists : log weights, extended.
        """
        for row, members in self._bent.items():
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

    def _centres(self, state: Whole, which: Whole) -> tuple[Whole, Array]:
        """Nodes of some numbers, in the kernels' order, and the n under which each is hit exactly."""
        crossed = self.crossed
        rows, k = crossed.tree.place[crossed.nodes[which]], self._k[which]
        gap = crossed.form.centre[which] - self._sums(state, rows, crossed.which[which])
        return rows, state[rows, self.first] + gap / k

    def _sums(self, state: Whole, rows: Whole, queries: Whole) -> Whole:
        """The sums as they are."""
        return np.asarray((state[rows] * self.crossed.sums[queries]).sum(axis=1))
