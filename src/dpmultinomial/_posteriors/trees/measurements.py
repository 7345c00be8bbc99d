"""Measurements of the nodes of a tree, and the weights of the possible counts of each node in the format of the
compiled kernels.

Weights come from released values (`Measurements`, `measure`), bounds and priors (`multiply_splits`, `assume_prior`).
The likelihood of a count given one released value is a parabola, a tent, a single point, or a list of log likelihoods
(`shapes`).
"""

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ... import _checks
from ..._mechanisms.coarsened import Coarsened
from ..._mechanisms.exact import Exact
from ..._mechanisms.gaussian import DiscreteGaussian, Gaussian
from ..._mechanisms.laplace import DiscreteLaplace, Laplace
from ..._mechanisms.law_settings import law_of
from ..._mechanisms.noise_law import LawByRow, NoiseLaw
from ..._mechanisms.perturbation import Perturbation
from ..._mechanisms.random_rounding import RandomRounding
from ..published.windows import CountPrior
from .least_squares import LeastSquares
from .tree import NONE, WIDEST, Histogram, Tree

Array = NDArray[np.float64]
PARABOLA, TENT, POINT, LISTED = range(4)
REACH = 700.0  # initially, a list ends where the noise has a probability below exp(-700)


@dataclass(frozen=True)
class Shapes:
    """Log likelihoods of released values as functions of the true count n, with one function per value.

    Parameters
    ----------
    kind : int8 (r,): `PARABOLA`, constant - steepness (n - centre)^2; `TENT`, constant - steepness |n - centre|;
        `POINT`, constant at n = centre and -inf elsewhere; `LISTED`, see `listed`.
    centre, steepness, constant : float64 (r,).
    """

    kind: NDArray[np.int8]
    centre: Array
    steepness: Array
    constant: Array


def shapes(released: ArrayLike, noise: NoiseLaw) -> Shapes:
    """Return the functional form of the log likelihood of each released value. The possible forms are quadratic, linear
    in the absolute deviation, a single point, or a list.

    Parameters
    ----------
    released : (r,), one value per row; NaN if the value was withheld.
    noise : noise distribution, the same for all rows or with parameters by row.

    Returns
    -------
    Shapes

    Raises
    ------
    ValueError, TypeError
        If a value is impossible under its distribution.
    """
    values = np.asarray(released, dtype=np.float64)
    out = Shapes(np.full(len(values), LISTED, dtype=np.int8), *(np.zeros(len(values)) for _ in range(3)))
    if isinstance(noise, LawByRow):
        for i, law in enumerate(noise.laws):
            rows = np.flatnonzero(noise.which == i)
            _put(out, rows, shapes(values[rows], law))
    elif isinstance(noise, Coarsened):
        low, high = noise.behind(values)
        rows = np.flatnonzero((low == high) & (noise.step is None))
        _put(out, rows, shapes(low[rows], noise.noise.take(rows)))
    elif isinstance(noise, Exact):
        noise.log_likelihood(values, 0)
        out.kind[:], out.centre[:] = POINT, values
    elif isinstance(noise, DiscreteGaussian | Gaussian | Laplace | DiscreteLaplace):
        tent = isinstance(noise, Laplace | DiscreteLaplace)
        scale = noise.parameter
        noise.log_likelihood(values, 0)
        out.kind[:], out.centre[:] = TENT if tent else PARABOLA, values
        out.steepness[:] = 1 / scale if tent else 0.5 / scale**2
        out.constant[:] = noise.log_density(np.zeros(len(values)), scale)
    return out


@dataclass(frozen=True)
class Listed:
    """Log weights of consecutive counts (first, first + 1, ..), with lower bounds on the decrease of the weights beyond
    both ends.

    Parameters
    ----------
    first : first count; may be negative.
    logs : float64; empty if no count is possible.
    below, above : lower bound on the decrease of the log weight per count beyond the lower and the upper end; infinite
        if no count beyond the end is possible, -inf if the decrease is unknown.
    """

    first: int
    logs: Array
    below: float = np.inf
    above: float = np.inf

    @property
    def last(self) -> int:
        """Return the largest count for which a log weight is stored."""
        return self.first + len(self.logs) - 1

    def at(self, counts: NDArray[np.int64]) -> Array:
        """Return the log weights of given counts, which are -inf for counts that are not in the list."""
        inside = (counts >= self.first) & (counts <= self.last)
        return np.asarray(np.where(inside, self.logs[np.where(inside, counts - self.first, 0)], -np.inf))


def listed(released: float, noise: NoiseLaw, row: int, reach: float = REACH) -> Listed:
    """Return a list of log likelihoods of consecutive true counts, given one released value.

    Parameters
    ----------
    released : the value, NaN if it was withheld.
    noise : noise distribution of the rows that contain the value.
    row : row of the value, if parameters differ by row.
    reach : the list ends where the noise has a probability below exp(-reach). With additive noise, a set of adjacent
        released values has a log-concave likelihood, which decreases beyond the ends of the list at least as fast as at
        the ends.

    Returns
    -------
    Listed
    """
    law, value = _law(noise, row), np.array([released])
    low, high = (float(end[0]) for end in law.reach(value, reach))
    first, last = int(np.ceil(low)) if np.isfinite(low) else 0, int(np.floor(high)) if high >= 0 else -1
    if last < first:
        return Listed(0, np.zeros(0))
    if isinstance(law, Perturbation | RandomRounding) or (
        isinstance(law, Coarsened) and law.listed
    ):  # the list has a limited range
        return Listed(first, _logs(law, value, first, last))
    logs = _logs(law, value, first - 1, last + 1)
    return Listed(first, logs[1:-1], fall(logs[1], logs[0]) if np.isfinite(low) else np.inf, fall(logs[-2], logs[-1]))


def _law(noise: NoiseLaw, row: int) -> NoiseLaw:
    law = noise if noise.row_count is None else noise.take(np.array([row]))
    return law.laws[int(law.which[0])] if isinstance(law, LawByRow) else law


def fall(inner: float, outer: float) -> float:
    """Return the decrease of a log weight from the last count in a list to the next count outside the list. The result
    is -inf if the decrease is unknown.
    """
    if outer == -np.inf:
        return float(np.inf)
    return float(inner - outer) if inner > -np.inf else float(-np.inf)


def _logs(law: NoiseLaw, value: Array, first: int, last: int) -> Array:
    counts = np.arange(first, last + 1)
    logs: Array = np.asarray(law.log_likelihood(value[:, None], counts[None]), dtype=np.float64)
    return logs.ravel()


def same(released: float, noise: NoiseLaw, row: int) -> tuple[tuple[object, ...], int]:
    """Return a lookup key for the list of log weights of a released value, and the shift of this list along the counts.
    The key identifies the list up to this shift. Two lists have the same key if they are equal up to a shift.

    Parameters
    ----------
    released, noise, row : arguments of `listed`.

    Returns
    -------
    (key, shift)
    """
    law = _law(noise, row)
    integer_step = (
        isinstance(law, Coarsened) and not law.listed and law.step is not None and law.step == np.floor(law.step)
    )
    if (
        isinstance(law, Coarsened)
        and law.step
        and integer_step
        and law.least is None
        and law.ties != "away"
        and released != law.at
    ):
        period = 2 * law.step  # halves may be rounded to the even multiple
        turns = np.ceil((released - (0.0 if law.at is None else law.at)) / period) - 1
        return (law, released - turns * period), int(turns * period)
    return (law, None if np.isnan(released) else released), 0


def _put(out: Shapes, rows: NDArray[np.int64], part: Shapes) -> None:
    for name in ("kind", "centre", "steepness", "constant"):
        getattr(out, name)[rows] = getattr(part, name)


Whole = NDArray[np.int64]
FAR = 1 << 52  # value that means in the kernels that there is no upper bound
SITE = np.dtype(
    [(name, "f8") for name in ("centre", "square", "absolute", "own", "others", "slope", "damped")]
    + [(name, "i8") for name in ("lower", "upper", "table", "begin", "length")]
    + [(name, "f8") for name in ("highest", "swing", "below", "above")],
    align=True,
)


class Lists:
    """Lists of the log weights of possible counts, which are assigned to nodes of a tree. The lists are concatenated,
    and equal lists are stored once.

    Parameters
    ----------
    reach : range of the lists of likelihoods, see `listed`.
    """

    def __init__(self, reach: float = REACH) -> None:
        self.reach = reach
        self._parts: list[Listed] = []
        self._starts: list[int] = [0]
        self._known: dict[Hashable, int] = {}

    def copied(self) -> "Lists":
        """Return a copy of the collection of lists of log weights. Lists that are added to the copy do not change the
        original.
        """
        other = Lists(self.reach)
        other._parts, other._starts, other._known = list(self._parts), list(self._starts), dict(self._known)
        return other

    def put(self, sites: NDArray[Any], rows: Whole | int, part: Listed, shift: int = 0) -> int:
        """Store a list of log weights, and assign this list to several nodes after a shift by `shift` counts. Return
        the index of the list.
        """
        self._parts.append(part)
        self._starts.append(self._starts[-1] + len(part.logs))
        self._point(sites, rows, shift, len(self._parts) - 1)
        return len(self._parts) - 1

    def put_many(self, sites: NDArray[Any], firsts: Whole, sizes: Whole, logs: Array) -> None:
        """Store a separate list of the log weights of all possible counts for every node. The argument `logs` contains
        all lists, concatenated.

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
        """Store the log likelihood of one released value as a list, and assign this list to the node in row `row`. The
        noise has the distribution of row `i`.
        """
        key, shift = same(released, noise, i)
        if key in self._known:
            self._point(sites, row, shift, self._known[key])
        else:
            self._known[key] = self.put(sites, row, listed(released - shift, noise, i, self.reach), shift)

    def of(self, sites: NDArray[Any], row: int) -> Listed:
        """Return the list of log weights that is assigned to the node in a given row of `sites`."""
        number = bisect_right(self._starts, int(sites["table"][row])) - 1
        return replace(self._parts[number], first=int(sites["begin"][row]))

    def joined(self) -> Array:
        """Return all lists of log weights, concatenated into one array that is never empty."""
        return np.concatenate([*(part.logs for part in self._parts), np.zeros(1)])

    def _point(self, sites: NDArray[Any], rows: Whole | int, shift: int, number: int) -> None:
        part = self._parts[number]
        logs = part.logs
        sites["table"][rows], sites["begin"][rows] = self._starts[number], part.first + shift
        sites["length"][rows], sites["below"][rows], sites["above"][rows] = len(logs), part.below, part.above
        highest = float(logs.max(initial=-np.inf))
        sites["highest"][rows], sites["swing"][rows] = highest, highest - float(logs.min(initial=np.inf))


def bounded(tree: Tree) -> NDArray[Any]:
    """Return the initial weights of the nodes of a tree, in the node order of the compiled kernels. The weights contain
    the known bounds, but neither measurements nor a prior.
    """
    sites = np.zeros(len(tree.order), dtype=SITE)
    sites["own"] = sites["others"] = 1.0
    sites["upper"], sites["table"] = FAR, -1
    sites["below"] = sites["above"] = np.inf
    sites["lower"][tree.place] = tree.lower
    sites["upper"][tree.place] = np.where(tree.upper == NONE, FAR, tree.upper)
    return sites


def measure(sites: NDArray[Any], lists: Lists, tree: Tree, nodes: Whole, released: Array, noise: NoiseLaw) -> float:
    """Multiply the weights of the counts of the nodes by the likelihoods of the measurements.

    Parameters
    ----------
    sites : structured (m,), `SITE`, without measurements so far.
    lists : log weights to which the sites point.
    tree : the nodes.
    nodes : int64 (r,), position of the measured node of each row.
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
    """Raise ValueError if a released value is impossible for every possible count of its node."""
    site = sites[rows]
    low, high = possible_ends(site)
    bad = np.flatnonzero((site["table"] >= 0) & (low > high))
    if len(bad):
        i = int(bad[0])
        raise ValueError(
            f"no count within the bounds is consistent with the released value {released[i]:.15g} of "
            f"{tree.names[nodes[i]]}: check the released value, the noise and the bounds"
        )


def possible_ends(sites: NDArray[Any]) -> tuple[Whole, Whole]:
    """Return the smallest and the largest possible count of every node. These limits follow from the bounds of the
    counts and from the lists of log weights with a limited range.
    """
    has_table = sites["table"] >= 0
    first, last = sites["begin"], sites["begin"] + sites["length"] - 1
    low = np.where(has_table & (sites["below"] == np.inf), np.maximum(sites["lower"], first), sites["lower"])
    return low, np.where(has_table & (sites["above"] == np.inf), np.minimum(sites["upper"], last), sites["upper"])


def _exact(sites: NDArray[Any], tree: Tree, nodes: Whole, rows: Whole, values: Array) -> None:
    for node, row, value in zip(nodes.tolist(), rows.tolist(), values.tolist(), strict=True):
        low, high = int(sites["lower"][row]), int(sites["upper"][row])
        if not low <= value <= high:
            ends = f"{low} or more" if high == FAR else f"{low} to {high}"
            raise ValueError(
                f"the exact count of {tree.names[node]} is {value:.15g}, but must be within the bounds {ends}"
            )
        sites["lower"][row] = sites["upper"][row] = int(value)


def _parabolas(sites: NDArray[Any], rows: Whole, form: Shapes, which: Whole) -> float:
    """Combine the quadratic log likelihoods of each node into a single quadratic function. The function returns the
    weighted sum of squares of the centres about the common centre.
    """
    size = len(sites)
    nodes_of_rows, y, steep = rows[which], form.centre[which], form.steepness[which]
    total = np.bincount(nodes_of_rows, steep, size)
    first = np.zeros(size)
    first[nodes_of_rows] = y  # a single measurement is not changed
    mean = first + np.bincount(nodes_of_rows, steep * (y - first[nodes_of_rows]), size) / np.where(
        total > 0, total, 1.0
    )
    held = total > 0
    sites["centre"][held], sites["square"][held] = mean[held], total[held]
    return float((steep * (y - mean[nodes_of_rows]) ** 2).sum())


def _several(
    sites: NDArray[Any],
    lists: Lists,
    row: int,
    members: list[int],
    form: Shapes,
    released: Array,
    noise: NoiseLaw,
) -> None:
    """Add several log likelihoods of one node, and store the sum as a list of values. The log likelihoods can have
    different forms.
    """
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
    """Return the sum of two lists of log weights, on the range of counts that both lists cover."""
    low, high = max(one.first, two.first), min(one.last, two.last)
    n = np.arange(low, max(high, low - 1) + 1)
    total = one.at(n) + two.at(n)
    if not len(n):
        return Listed(0, total, -np.inf, -np.inf) if _goes_on(one, two) else Listed(0, total)
    below = _beyond(one, two, low, -1)
    return Listed(low, total, below, _beyond(one, two, high, 1))


def _goes_on(one: Listed, two: Listed) -> bool:
    """Return whether positive weights are possible between two disjoint lists of log weights, that is, above the last
    count of the lower list and below the first count of the upper list.
    """
    first, second = (one, two) if one.last < two.first else (two, one)
    return not (first.above == np.inf or second.below == np.inf)


def _beyond(one: Listed, two: Listed, end: int, way: int) -> float:
    """Return a lower bound on the decrease, per count, of the sum of two lists of log weights beyond one of the ends of
    the lists. The bound is for counts beyond `end`. At least one of the lists ends at `end`. The other list may still
    increase beyond `end`, so its largest increase is subtracted once.
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


def multiply_splits(sites: NDArray[Any], tree: Tree, by_level: Array) -> float:
    """Multiply the weights of the nodes by the prior on the splits, and return the part of the log prior that these
    weights do not contain.

    Parameters
    ----------
    sites : structured (m,), `SITE`; the fields own and others are set, and upper bounds of 0 are passed on.
    tree : the nodes.
    by_level : float64 (levels,), concentration of the splits into each level, indexed by depth.

    Returns
    -------
    float
    """
    part = split_takers(tree)
    concentrations = np.where(part, by_level[tree.depth] * tree.members, 1.0)
    concentrations[tree.root] = 1.0
    total = np.bincount(tree.parent[part], concentrations[part], len(tree))
    others = np.where(tree.leaf | (total == 0), 1.0, total)
    sites["own"][tree.place], sites["others"][tree.place] = concentrations, others
    return float(gammaln(others[total > 0]).sum() - gammaln(concentrations[part]).sum())


def split_takers(tree: Tree) -> NDArray[np.bool_]:
    """Return a mask of the nodes that take part in the split of their parent's count. These are all nodes except the
    root and the nodes whose bounds imply a count of 0.
    """
    upper = np.where(tree.upper == 0, 0, 1)
    for depth in range(1, int(tree.depth.max()) + 1):
        rows = np.flatnonzero(tree.depth == depth)
        upper[rows] = np.minimum(upper[rows], upper[tree.parent[rows]])
    return (upper > 0) & (tree.parent >= 0)


def assume_prior(sites: NDArray[Any], lists: Lists, tree: Tree, prior: CountPrior | Histogram, nodes: Whole) -> float:
    """Multiply the weights of several leaves by the prior of the count of each leaf. Return the part of the log prior
    that the weights do not contain.

    Parameters
    ----------
    sites, lists : arguments of `measure`, which must be called first.
    tree : the nodes.
    prior : prior of each count.
    nodes : int64, positions of the leaves.

    Returns
    -------
    float
    """
    words, rows = prior.settings(), tree.place[nodes]
    law = words["law"]
    if law == "flat":
        return 0.0
    if law == "1/(1+n)":
        sites["damped"][rows] = 1.0
        return 0.0
    if law in ("geometric", "negative_binomial"):
        mean, shape = float(str(words["mean"])), float(str(words.get("shape", 1.0)))
        sites["own"][rows], sites["slope"][rows] = shape, -np.log1p(shape / mean)
        return float(len(nodes) * (-gammaln(shape) - shape * np.log1p(mean / shape)))
    first, last = int(prior.first), int(prior.last)
    logs = np.asarray(prior.log_weights(np.arange(first, last + 1)), dtype=np.float64)
    taken = sites["table"][rows] >= 0
    listed = Listed(first, logs)
    if (~taken).any():
        lists.put(sites, rows[~taken], listed)
    for row in rows[taken].tolist():
        lists.put(sites, row, both(lists.of(sites, row), listed))
    return 0.0


class Measurements:
    """Released values of the nodes of a tree, with the distributions of their noise.

    Parameters
    ----------
    tree : the nodes.
    nodes : name or position of the node of each value.
    released : (r,), NaN if a value was withheld below a threshold.
    noise : a noise distribution, one distribution per value, or a description as a mapping (`law_settings.law_of`).

    Raises
    ------
    ValueError, TypeError, KeyError
        If an argument is invalid, or a value is impossible under its distribution.
    """

    def __init__(
        self,
        tree: Tree,
        nodes: ArrayLike,
        released: ArrayLike,
        noise: NoiseLaw | Sequence[NoiseLaw] | Mapping[str, Any],
    ) -> None:
        self.tree, self.released = tree, np.asarray(released, dtype=np.float64)
        if self.released.ndim != 1:
            raise ValueError(f"released must be one-dimensional, got shape {self.released.shape}")
        given = np.asarray(nodes)
        if given.dtype.kind in "UO":
            given = np.array([tree.position(name) for name in given.tolist()], dtype=np.int64)
        self.nodes = _checks.int64s("nodes", given if len(given) else np.zeros(0, dtype=np.int64))
        if len(self.nodes) != len(self.released):
            raise ValueError(
                f"nodes must contain one node per released value ({len(self.released)} values), got "
                f"{len(self.nodes)} nodes"
            )
        if len(self.nodes) and not 0 <= self.nodes.min() <= self.nodes.max() < len(tree):
            raise ValueError(
                f"nodes must contain positions in [0, {len(tree)}), got positions from {self.nodes.min()} to "
                f"{self.nodes.max()}"
            )
        if isinstance(noise, Mapping):
            self.noise = law_of(noise)
        else:
            self.noise = LawByRow.of(noise) if isinstance(noise, Sequence) else noise
        shapes(self.released, self.noise)

    @property
    def variance(self) -> Array:
        """Variance of the noise of every released value, as a float64 array of shape (r,)."""
        return np.broadcast_to(np.asarray(self.noise.variance(), dtype=np.float64), self.released.shape)

    def weigh_part(self, part: Tree, kept: Whole, reach: float = REACH) -> tuple[NDArray[Any], Lists, float]:
        """Return the likelihoods of the counts in a part of the tree. They consist of the weights of the counts at the
        nodes, the lists of log weights, and a constant.

        A node of the part can represent the sum of several siblings. It is measured by the sum of their released
        values, with normal noise of the summed variance, if all siblings have a value with noise of a closed form.

        Parameters
        ----------
        part : the part of the tree; nodes that represent several siblings follow all other nodes.
        kept : positions in the full tree of the nodes that represent a single node.
        reach : range of the lists, see `Lists`.
        """
        sites, lists, constant = self.within(part, kept).weigh(reach)
        closed = np.flatnonzero(shapes(self.released, self.noise).kind != LISTED)
        nodes, first = np.unique(self.nodes[closed], return_index=True)
        row = np.full(len(self.tree), -1, dtype=np.int64)
        row[nodes] = closed[first]
        left = (self.tree.parent >= 0) & split_takers(self.tree)
        left[kept] = False
        for rest in range(len(kept), len(part)):
            rows = row[left & (self.tree.parent == kept[part.parent[rest]])]
            if (rows >= 0).all():
                variance, place = max(float(self.variance[rows].sum()), 1e-6), part.place[rest]
                sites["centre"][place], sites["square"][place] = self.released[rows].sum(), 0.5 / variance
                constant -= 0.5 * np.log(2 * np.pi * variance)
        return sites, lists, constant

    @property
    def listed(self) -> bool:
        """Return whether the likelihood of at least one released value is stored as a list for a limited range of
        counts.
        """
        return bool((shapes(self.released, self.noise).kind == LISTED).any())

    def within(self, part: Tree, kept: Whole) -> "Measurements":
        """Return the measurements of a part of the tree. The part is given by the positions of its nodes in the full
        tree.
        """
        place = np.full(len(self.tree), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        rows = np.flatnonzero(place[self.nodes] >= 0)
        return Measurements(part, place[self.nodes[rows]], self.released[rows], self.noise.take(rows))

    def arranged(self) -> "Measurements":
        """Return the measurements for a rearranged copy of the tree. Within each large group of siblings in this copy,
        leaves with equal weights are adjacent.
        """
        if np.bincount(self.tree.parent + 1)[1:].max(initial=0) <= WIDEST:
            return self
        sites = self.weigh()[0]
        equal = np.unique(sites.view(f"V{SITE.itemsize}"), return_inverse=True)[1]
        return Measurements(self.tree.arranged(equal), self.nodes, self.released, self.noise)

    def weigh(self, reach: float = REACH) -> tuple[NDArray[Any], Lists, float]:
        """Return the weights of the counts of all nodes, given the measurements and the bounds of the tree. Also return
        the lists of log weights and the constant of the likelihoods.

        Parameters
        ----------
        reach : range of the lists, see `Lists`.
        """
        sites, lists = bounded(self.tree), Lists(reach)
        return sites, lists, measure(sites, lists, self.tree, self.nodes, self.released, self.noise)

    def least_squares(self) -> LeastSquares:
        """Return the least-squares estimates of the counts from all values that are not withheld. Clipped values are
        used as if they had not been clipped, and rounding errors of noisy values as if they were independent and
        uniform. Values that were rounded or clipped without noise are not used, because their error is not random.
        """
        variance = _error_variance(self.released, self.noise)
        seen = np.flatnonzero(np.isfinite(variance))
        return LeastSquares(self.tree, self.nodes[seen], self.released[seen], variance[seen])


def _error_variance(released: Array, noise: NoiseLaw) -> Array:
    """Return the variance of the error of each released value in a least-squares estimate, and infinity for values that
    such an estimate cannot use.
    """
    variance = np.broadcast_to(np.asarray(noise.variance(), dtype=np.float64), released.shape).copy()
    if isinstance(noise, LawByRow):
        for law, rows in noise.parts():
            variance[rows] = _error_variance(released[rows], law)
        return variance
    certain, step = np.full(released.shape, isinstance(noise, Exact)), 0.0
    if isinstance(noise, Coarsened):
        low, high = noise.behind(released)
        certain, step = (low == high) & isinstance(noise.noise, Exact), noise.step or 0.0
    variance[~certain & (variance == 0)] = np.inf
    variance[np.isnan(released)] = np.inf
    # mean square of the residues of the integers, or of all real numbers, modulo the step
    ends = 0 if not noise.discrete or not step else 2 if step % 2 == 0 else -1
    return variance + np.where(certain, 0.0, (step**2 + ends) / 12)
