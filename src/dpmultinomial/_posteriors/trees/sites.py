"""Weights of all nodes of a tree, from measurements and bounds, in the format used by the kernels."""

from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._mechanisms.noise_law import NoiseLaw
from ._likelihoods import LISTED, PARABOLA, POINT, REACH, TENT, Listed, Shapes, fall, listed, same, shapes
from .tree import NONE, Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
FAR = 1 << 52  # represents no upper bound in the kernels
SITE = np.dtype(
    [(name, "f8") for name in ("centre", "square", "absolute", "own", "others", "slope", "damped")]
    + [(name, "i8") for name in ("lower", "upper", "table", "begin", "length")]
    + [(name, "f8") for name in ("highest", "swing", "below", "above")],
    align=True,
)


class Lists:
    """Log weights to which sites point, as concatenated lists; equal lists are stored once.

    Parameters
    ----------
    reach : range of the lists of likelihoods, see `_likelihoods.listed`.
    """

    def __init__(self, reach: float = REACH) -> None:
        self.reach = reach
        self._parts: list[Listed] = []
        self._starts: list[int] = [0]
        self._known: dict[Hashable, int] = {}

    def copied(self) -> "Lists":
        """Return a copy that can be extended independently."""
        other = Lists(self.reach)
        other._parts, other._starts, other._known = list(self._parts), list(self._starts), dict(self._known)
        return other

    def put(self, sites: NDArray[Any], rows: Whole | int, part: Listed, shift: int = 0) -> int:
        """Point sites to a list of log weights, shifted by `shift` counts; return the number of the list."""
        self._parts.append(part)
        self._starts.append(self._starts[-1] + len(part.logs))
        self._point(sites, rows, shift, len(self._parts) - 1)
        return len(self._parts) - 1

    def put_many(self, sites: NDArray[Any], firsts: Whole, sizes: Whole, logs: Array) -> None:
        """Point every site to a separate list of all possible counts; `logs` contains all lists, concatenated.

        Parameters
        ----------
        sites : structured (m,), modified.
        firsts, sizes : int64 (m,), first count and length of each list.
        logs : float64, log weights.
        """
        begins = np.cumsum(sizes) - sizes
        for row, begin in enumerate(begins.tolist()):
            self._parts.append(Listed(int(firsts[row]), logs[begin : begin + int(sizes[row])]))
        starts = self._starts[-1] + begins
        self._starts += (starts + sizes).tolist()
        highest, lowest = np.maximum.reduceat(logs, begins), np.minimum.reduceat(logs, begins)
        sites["table"], sites["begin"], sites["length"] = starts, firsts, sizes
        sites["below"] = sites["above"] = np.inf
        sites["highest"], sites["swing"] = highest, highest - lowest

    def put_released(self, sites: NDArray[Any], row: int, released: float, noise: NoiseLaw, i: int) -> None:
        """Point node record `row` to the log likelihood of one released value, with noise distribution of row `i`."""
        key, shift = same(released, noise, i)
        if key in self._known:
            self._point(sites, row, shift, self._known[key])
        else:
            self._known[key] = self.put(sites, row, listed(released - shift, noise, i, self.reach), shift)

    def of(self, sites: NDArray[Any], row: int) -> Listed:
        """Return the log weights to which a site points."""
        number = bisect_right(self._starts, int(sites["table"][row])) - 1
        return replace(self._parts[number], first=int(sites["begin"][row]))

    def joined(self) -> Array:
        """Return all lists concatenated in one array, which is never empty."""
        return np.concatenate([*(part.logs for part in self._parts), np.zeros(1)])

    def _point(self, sites: NDArray[Any], rows: Whole | int, shift: int, number: int) -> None:
        part = self._parts[number]
        logs = part.logs
        sites["table"][rows], sites["begin"][rows] = self._starts[number], part.first + shift
        sites["length"][rows], sites["below"][rows], sites["above"][rows] = len(logs), part.below, part.above
        highest = float(logs.max(initial=-np.inf))
        sites["highest"][rows], sites["swing"][rows] = highest, highest - float(logs.min(initial=np.inf))


def bounded(tree: Tree) -> NDArray[Any]:
    """Return sites of nodes that have only the known bounds, in the kernels' order."""
    sites = np.zeros(len(tree.order), dtype=SITE)
    sites["own"] = sites["others"] = 1.0
    sites["upper"], sites["table"] = FAR, -1
    sites["below"] = sites["above"] = np.inf
    sites["lower"][tree.place] = tree.lower
    sites["upper"][tree.place] = np.where(tree.upper == NONE, FAR, tree.upper)
    return sites


def measure(sites: NDArray[Any], lists: Lists, tree: Tree, nodes: Whole, released: Array, noise: NoiseLaw) -> float:
    """Multiply likelihoods of measurements into the sites.

    Parameters
    ----------
    sites : structured (m,), `SITE`, without measurements so far.
    lists : log weights to which the sites point.
    tree : the nodes.
    nodes : int64 (r,), position of the node that each row measures.
    released : float64 (r,), NaN if a value was withheld.
    noise : noise distribution of the rows.

    Returns
    -------
    float
        The part of the log likelihood that the sites' weights do not contain.

    Raises
    ------
    ValueError, TypeError
        If a value is impossible under its distribution, or an exact count is outside its bounds.
    """
    form, rows = shapes(released, noise), tree.place[nodes]
    points = form.kind == POINT
    _exact(sites, tree, nodes[points], rows[points], form.centre[points])
    other = np.flatnonzero(~points)
    times = np.bincount(rows[other], minlength=len(sites))
    bent = np.zeros(len(sites), dtype=bool)
    bent[rows[other][form.kind[other] != PARABOLA]] = True
    lost = _parabolas(sites, rows, form, other[~bent[rows[other]]])
    alone = other[bent[rows[other]] & (times[rows[other]] == 1)]
    tents = alone[form.kind[alone] == TENT]
    sites["centre"][rows[tents]], sites["absolute"][rows[tents]] = form.centre[tents], form.steepness[tents]
    for i in alone[form.kind[alone] == LISTED].tolist():
        lists.put_released(sites, int(rows[i]), float(released[i]), noise, i)
    several: dict[int, list[int]] = {}
    for i in other[bent[rows[other]] & (times[rows[other]] > 1)].tolist():
        several.setdefault(int(rows[i]), []).append(i)
    for row, members in several.items():
        _several(sites, lists, row, members, form, released, noise)
    _possible(sites, tree, nodes, rows, released)
    return float(form.constant.sum()) - lost


def _possible(sites: NDArray[Any], tree: Tree, nodes: Whole, rows: Whole, released: Array) -> None:
    """Reject a release that is impossible for every count."""
    site = sites[rows]
    low, high = possible_ends(site)
    bad = np.flatnonzero((site["table"] >= 0) & (low > high))
    if len(bad):
        i = int(bad[0])
        raise ValueError(f"no count of {tree.names[nodes[i]]} within its bounds explains the release {released[i]:g}")


def possible_ends(sites: NDArray[Any]) -> tuple[Whole, Whole]:
    """Return the first and last possible count, given the bounds and the lists with a limited range."""
    has_table = sites["table"] >= 0
    first, last = sites["begin"], sites["begin"] + sites["length"] - 1
    low = np.where(has_table & (sites["below"] == np.inf), np.maximum(sites["lower"], first), sites["lower"])
    return low, np.where(has_table & (sites["above"] == np.inf), np.minimum(sites["upper"], last), sites["upper"])


def _exact(sites: NDArray[Any], tree: Tree, nodes: Whole, rows: Whole, values: Array) -> None:
    for node, row, value in zip(nodes.tolist(), rows.tolist(), values.tolist(), strict=True):
        low, high = int(sites["lower"][row]), int(sites["upper"][row])
        if not low <= value <= high:
            ends = f"{low} .. {'any' if high == FAR else high}"
            raise ValueError(f"the exact count of {tree.names[node]} is {value:g}, outside {ends}")
        sites["lower"][row] = sites["upper"][row] = int(value)


def _parabolas(sites: NDArray[Any], rows: Whole, form: Shapes, which: Whole) -> float:
    """Combine the parabolas of each node into one; return the weighted sum of squares of their centres about it."""
    size = len(sites)
    at, y, steep = rows[which], form.centre[which], form.steepness[which]
    total = np.bincount(at, steep, size)
    first = np.zeros(size)
    first[at] = y  # so that a single measurement is unchanged
    mean = first + np.bincount(at, steep * (y - first[at]), size) / np.where(total > 0, total, 1.0)
    held = total > 0
    sites["centre"][held], sites["square"][held] = mean[held], total[held]
    return float((steep * (y - mean[at]) ** 2).sum())


def _several(
    sites: NDArray[Any],
    lists: Lists,
    row: int,
    members: list[int],
    form: Shapes,
    released: Array,
    noise: NoiseLaw,
) -> None:
    """Combine likelihoods of different forms at one node into a list of their sums."""
    parts = [_listed(form, released, noise, i, lists.reach) for i in members]
    joined = parts[0]
    for part in parts[1:]:
        joined = both(joined, part)
    lists.put(sites, row, joined)


def _listed(form: Shapes, released: Array, noise: NoiseLaw, i: int, reach: float) -> Listed:
    if form.kind[i] == LISTED:
        return listed(released[i], noise, i, reach)
    centre, steep, power = form.centre[i], form.steepness[i], 2.0 if form.kind[i] == PARABOLA else 1.0
    width = (reach / steep) ** (1 / power)
    n = np.arange(int(np.ceil(centre - width)) - 1, int(np.floor(centre + width)) + 2)
    logs = -steep * np.abs(n - centre) ** power
    return Listed(int(n[1]), logs[1:-1], fall(logs[1], logs[0]), fall(logs[-2], logs[-1]))


def both(one: Listed, two: Listed) -> Listed:
    """Return the sum of two lists on the range where both are listed."""
    low, high = max(one.first, two.first), min(one.last, two.last)
    n = np.arange(low, max(high, low - 1) + 1)
    total = one.at(n) + two.at(n)
    if not len(n):
        return Listed(0, total, -np.inf, -np.inf) if _goes_on(one, two) else Listed(0, total)
    below = _beyond(one, two, low, -1)
    return Listed(low, total, below, _beyond(one, two, high, 1))


def _goes_on(one: Listed, two: Listed) -> bool:
    """Return whether both of two disjoint lists may have positive probability outside their ranges."""
    first, second = (one, two) if one.last < two.first else (two, one)
    return not (first.above == np.inf or second.below == np.inf)


def _beyond(one: Listed, two: Listed, end: int, way: int) -> float:
    """Return a lower bound on the decrease per count of the summed log weights beyond `end`, where at least one of the
    two lists ends. The other log weight may still increase beyond `end`, so its largest increase is subtracted once.
    """
    total = 0.0
    ends = [(part, *((part.last, part.above) if way > 0 else (part.first, part.below))) for part in (one, two)]
    if any(last == end and beyond == np.inf for _, last, beyond in ends):
        return np.inf
    for part, last, beyond in ends:
        if last == end:
            total += beyond
            continue
        rest = part.logs[end - part.first :] if way > 0 else part.logs[: end - part.first + 1][::-1]
        if rest[0] == -np.inf:
            return -np.inf
        total -= max(float((rest - rest[0]).max()), 0.0)
        if not beyond >= 0:
            return -np.inf
    return total
