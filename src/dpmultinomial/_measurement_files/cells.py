"""Posterior of the count of a histogram cell in geographic units, conditional on draws of the total counts. At every
node, the count of the cell is at most the total.

The posterior of the cell is an equal mixture of the distributions of the cell given draws of all totals from their
posterior (`part_of_total`). No interval of a cell ends above the interval of the total of the same unit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._accuracy import Accuracy
from .._posteriors.trees.least_squares import LeastSquares
from .._posteriors.trees.measurements import Measurements
from .._posteriors.trees.part_of_total import Mixture, PartOfTotal, Windows, combined, windows
from .._posteriors.trees.tree import Splits, Tree
from .._posteriors.trees.tree_posterior import TreeLaw, infer
from .._results.convolutions import Unlisted, Window
from .._results.distributions import Discrete
from .._results.joint import Pair
from .._results.posterior import Posterior
from .._results.quantities import Columns, Quantities
from .places import Places
from .reading import CellOfTotal, MeasuredCell

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
DRAWS = 16  # number of draws of the totals
JOINT_DRAWS = 4000  # number of joint draws for units that are sums of many nodes
KEPT = 250_000  # largest number of nodes times draws for which the components are kept in memory
PRECISION = 1.5  # draws of the total are used up to this ratio of the standard deviations of total and cell
_NAME = re.compile(r"'([^']*)'")


class CellPlaces(Places):
    """Posterior distribution of the count of a cell in every geographic unit, as a mixture over draws of the totals.

    Parameters
    ----------
    measured : measurements of the cell, the total and the rest.
    levels : names of the levels of the units.
    rng : numpy Generator of the draws.
    draws : number of joint draws of the totals, > 0.
    level : level of the intervals, in (0, 1).
    prior : concentrations of the splits of the cell, the rest and the total, one number or a mapping from levels to
        numbers; by default fitted for each.

    Raises
    ------
    ValueError
        If a level does not exist, or counts contradict each other.
    """

    def __init__(
        self,
        measured: CellOfTotal,
        levels: Sequence[str],
        *,
        rng: np.random.Generator,
        draws: int = DRAWS,
        level: float = 0.95,
        prior: Any = None,
    ) -> None:
        self.measured, self.levels, self.level = measured.cell, tuple(levels), level
        self.kept = _above_cut(measured, self._depth())
        self.coupled = _coupled(measured, self.kept)
        if not self.coupled:
            self.kept = np.arange(len(self.measured.spine.codes))
        self.place = np.full(len(self.measured.spine.codes), -1, dtype=np.int64)
        self.place[self.kept] = np.arange(len(self.kept))
        self.total = Places(measured.total, levels, level=level, prior=prior)
        self.law = self._alone(measured.cell, prior)
        self.draws = draws if self.coupled else 0
        self._memory: list[TreeLaw] | None = [] if draws * len(self.kept) <= KEPT else None
        if self.coupled:
            self.part = self._part(measured, prior)
            self.totals: Whole = self.total.law.sample(draws, rng=rng, nodes=self.kept.tolist())
            self.reason = f"given {draws} draw{'s' * (draws > 1)} of the totals"
        else:
            self.reason = "from the cell's own measurements, truncated at the upper end of the total"
        mixture, bound = Mixture(), 0.0
        for law in self.components():
            mixture.add(windows(law))
            bound = max(bound, law.bound)
        upper = np.nan_to_num(self.total.law.upper[self.kept], nan=np.inf)
        self.windows, dropped = mixture.whole.at_most(upper)
        of_cell = measured.given.error if self.coupled else measured.cell.error
        self.combination_error = min(of_cell + measured.total.error + self.total.law.bound + bound, 1.0)
        self.error: Array = np.minimum(self._difference(mixture) + dropped + self.combination_error, 1.0)
        view = self.place[[i for of in self.nodes.values() for rows in of.values() for i in rows]]
        self.accuracy = Accuracy("approximate", float(self.error[view].max()), self.reason)
        self._columns = self.windows.numbers(level)

    def _difference(self, mixture: Mixture) -> Array:
        """Return, for each node, the total variation distance between the two mixtures that are computed from the two
        halves of the draws. The distance is 0 if no draws are used.
        """
        return mixture.difference if self.coupled else np.zeros(len(mixture.halves[0].low))

    def _part(self, measured: CellOfTotal, prior: Any) -> PartOfTotal:
        """Return the distribution of the count of a cell given the totals. The parameters of the distribution are the
        concentrations of the cell and of the complement of the cell.
        """
        rest, given = self._alone(measured.rest, prior), measured.given.whole
        return PartOfTotal(
            self.law.tree,
            rest.tree,
            (_concentrations(self.law), _concentrations(rest)),
            np.where(np.isfinite(given.variance), given.released, 0.0)[self.kept],
            given.slope[self.kept],
            given.variance[self.kept],
            level=self.level,
        )

    def _alone(self, measured: MeasuredCell, prior: Any) -> TreeLaw:
        """Return the posterior distribution of the counts of a cell (or of the complement of the cell), given only the
        measurements of these counts. This posterior provides the concentrations.
        """
        whole, tree = measured.whole, measured.tree
        lower, upper = _gathered(tree, self.kept, whole.lower, whole.upper)
        depth = int(tree.depth[self.kept].max())
        parent = tree.parent[self.kept]
        part = Tree(
            np.where(parent >= 0, self.place[parent], -1),
            names=[tree.names[i] for i in self.kept],
            levels=tree.levels[: depth + 1],
            lower=lower[self.kept],
            upper=upper[self.kept],
        )
        if isinstance(prior, Mapping):
            prior = {name: size for name, size in prior.items() if name in part.levels[1:]}
        measurements: Measurements = measured.measurements.within(part, self.kept)
        return infer(measurements, prior=Splits(prior if depth else None), level=self.level)

    def components(self) -> Iterator[TreeLaw]:
        """Yield the components of the mixture, one per draw of the totals. Without draws, yield the posterior given
        only the measurements of the cell.
        """
        if not self.coupled:
            yield self.law
        elif self._memory:
            yield from self._memory
        else:
            for t in self.totals:
                law = self.part.given(t)
                if self._memory is not None:
                    self._memory.append(law)
                yield law

    @cached_property
    def least_squares(self) -> LeastSquares:
        """Least-squares solution for the counts of one cell at all nodes, given the measurements of the cell."""
        return self.measured.measurements.least_squares()

    @cached_property
    def drawn(self) -> Accuracy:
        """Accuracy of the count of a geographic unit that is computed from joint draws of the nodes."""
        return self.accuracy

    def _numbers(self, nodes: Any) -> dict[str, Any]:
        positions = self.place[nodes]
        columns = dict(zip(("mean", "sd", "lower", "upper"), (x[positions] for x in self._columns), strict=True))
        return {**columns, "status": "approximate", "error": self.error[positions]}

    def several(self, wanted: list[list[int]], rng: np.random.Generator) -> list[tuple[list[int], Any]]:
        """Return the distributions of several sums of counts, each over a given list of nodes. Within each component,
        the distribution is exact for a sum of two nodes, and is computed from joint draws for sums of more nodes.
        """
        if not wanted:
            return []
        mixture, each = Mixture(), -(-JOINT_DRAWS // max(self.draws, 1))
        many = sorted({i for rows in wanted if len(rows) > 2 for i in rows})
        column = {i: k for k, i in enumerate(many)}
        for law in self.components():
            drawn = law.sample(each, rng=rng, nodes=self.place[many].tolist())
            mixture.add(
                Windows.of(
                    combined(law, *self.place[rows].tolist())
                    if len(rows) == 2
                    else _counted(drawn[:, [column[i] for i in rows]].sum(axis=1))
                    for rows in wanted
                )
            )
        ends = np.array([float(total_law.interval(self.level)[1]) for _, total_law in self._totals(wanted, rng)])
        whole, dropped = mixture.whole.at_most(ends)
        noise = np.array([0.0 if len(rows) == 2 else 0.5 / np.sqrt(each * max(self.draws, 1)) for rows in wanted])
        error = np.minimum(self._difference(mixture) + dropped + noise + self.combination_error, 1.0)
        return [(rows, self._discrete(whole.at(k), float(error[k]))) for k, rows in enumerate(wanted)]

    def _totals(self, wanted: list[list[int]], rng: np.random.Generator) -> list[tuple[list[int], Any]]:
        """Return the distributions of the total counts of geographic units, in the order of `wanted`."""
        by_rows = {tuple(rows): law for rows, law in self.total.several(wanted, rng)}
        return [(rows, by_rows[tuple(rows)]) for rows in wanted]

    def _discrete(self, window: tuple[int, Array], error: float, name: str = "") -> Discrete:
        low, p = window
        state = Accuracy("approximate", error, self.reason)
        return Discrete(np.arange(low, low + len(p)), p, name=name, type="count", accuracy=state)

    def _posterior(self, questions: Mapping[str, Any]) -> Posterior:
        tree = self.law.tree

        def joint(size: int, rng: np.random.Generator) -> Whole:
            return _MixtureTogether(self).draw(range(len(tree)), size, rng=rng)

        def law(i: int) -> Discrete:
            return self._discrete(self.windows.at(i), float(self.error[i]), tree.names[i])

        def numbers(level: float) -> Columns:
            return Columns(*self.windows.numbers(level), [law(i).accuracy for i in range(len(tree))])

        together = _MixtureTogether(self)
        counts = Quantities(
            tree.names, law, joint=joint, together=together, numbers=numbers, sums=tree.inner, parents=tree.parent
        )
        return Posterior(
            {"counts": counts},
            joint=lambda size, rng: {"counts": joint(size, rng)},
            method="mixture over draws of the totals",
            facts=self.law.facts,
            source=self,
        )

    def _error_of_questions(self, questions: Mapping[str, Any]) -> float:
        """Return the largest error of the posterior probabilities among all nodes that are named in the questions."""
        names = {name for text in _texts(questions) for name in (text, *_NAME.findall(text))}
        rows = [i for i, name in enumerate(self.law.tree.names) if name in names]
        return float(self.error[rows].max()) if rows else self.accuracy.error


class _MixtureTogether:
    """Joint posterior distribution of the counts of several nodes, as a mixture over draws of the totals. Sums of more
    than two nodes are not tabulated.
    """

    unit = 1.0

    def __init__(self, found: CellPlaces) -> None:
        self._found = found

    def sum_of(self, places: Sequence[int]) -> Window:
        """Return the distribution of the sum of the counts of one or two geographic units."""
        if len(places) == 1:
            return Window(*self._found.windows.at(places[0]))
        return self._mixed(places[:1], places[1:], plus=True)

    def pair_of(self, first: Sequence[int], second: Sequence[int]) -> Pair | None:
        """Return None, because joint distributions of two sums are not tabulated. Ratios are computed from draws
        instead.
        """
        return None

    def difference_of(self, first: Sequence[int], second: Sequence[int]) -> Window:
        """Return the distribution of the difference of the counts of two geographic units."""
        return self._mixed(first, second, plus=False)

    def _mixed(self, first: Sequence[int], second: Sequence[int], *, plus: bool) -> Window:
        if len(first) != 1 or len(second) != 1:
            raise Unlisted(
                "the exact distribution of a sum of several counts is not available for a mixture: use draws"
            )
        mixture = Mixture()
        for law in self._found.components():
            mixture.add(Windows.of([combined(law, first[0], second[0], minus=not plus)]))
        return Window(*mixture.whole.at(0))

    def draw(self, places: Sequence[int], size: int, *, rng: np.random.Generator) -> Whole:
        """Draw `size` independent vectors of counts from the joint distribution, as an array with one row per draw and
        one column per element of `places`. Each draw belongs to a component chosen at random.
        """
        which = rng.integers(max(self._found.draws, 1), size=size)
        out = np.empty((size, len(places)), dtype=np.int64)
        for k, law in enumerate(self._found.components()):
            rows = np.flatnonzero(which == k)
            if len(rows):
                out[rows] = law.sample(len(rows), rng=rng, nodes=list(places))
        return out


def _coupled(measured: CellOfTotal, kept: Whole) -> bool:
    """Return whether the posterior of the cell is computed conditionally on draws of the totals.

    The draws use only the measurements of the totals. They would bias the answer if the cell contains much information
    about the total: if the cell is measured much more precisely than the total, or if the cell or the rest must be 0 in
    some units.
    """
    cell, rest, total = (getattr(measured, name).whole for name in ("cell", "rest", "total"))
    empty = ((cell.upper < 1) | (rest.upper < 1)) & (total.upper >= 1)
    depth = measured.cell.tree.depth[kept]
    last = kept[(depth == depth.max()) & np.isfinite(cell.variance[kept]) & np.isfinite(total.variance[kept])]
    if empty[kept].any() or not len(last):
        return False
    return bool(np.median(total.variance[last]) <= PRECISION**2 * np.median(cell.variance[last]))


def _above_cut(measured: CellOfTotal, deepest: int) -> Whole:
    """Return the positions of the nodes whose counts are computed, in increasing order. The tree ends above the blocks
    if the question does not need the blocks.

    If a node above the blocks is not measured, its blocks are kept.
    """
    tree = measured.cell.tree
    last = len(tree.levels) - 1
    deepest = max(deepest, last - 1 if tree.levels[last] == "Block" else last)
    seen = np.isfinite(measured.cell.whole.variance) & np.isfinite(measured.rest.whole.variance)
    kept = tree.depth <= deepest
    for depth in range(deepest + 1, len(tree.levels)):
        rows = np.flatnonzero(tree.depth == depth)
        above = tree.parent[rows]
        kept[rows] = kept[above] & ~seen[above]
    return np.flatnonzero(kept)


def _gathered(tree: Tree, kept: Whole, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return the lower and the upper bounds on the counts of all nodes. If the blocks of a node are omitted, its bounds
    follow from the bounds of the blocks.
    """
    low, high = np.ceil(lower - 1e-6), np.floor(upper + 1e-6)
    rows = np.setdiff1d(np.arange(len(tree)), kept)
    parents = np.unique(tree.parent[rows])
    low[parents] = np.maximum(low, np.bincount(tree.parent[rows], low[rows], len(tree)))[parents]
    high[parents] = np.minimum(high, np.bincount(tree.parent[rows], high[rows], len(tree)))[parents]
    return low, high


def _concentrations(law: TreeLaw) -> Array:
    """Return the concentration parameters of the prior, one per level of the tree. The entry of the root is unused."""
    assert isinstance(law.prior, Splits)
    concentrations = law.prior.by_level(law.tree)
    return np.ones(len(law.tree.levels)) if concentrations is None else concentrations


def _counted(values: Whole) -> tuple[int, Array]:
    """Return the smallest of several drawn values, and the relative frequencies of all integers from this value to the
    largest drawn value.
    """
    low = int(values.min())
    return low, np.bincount(values - low) / len(values)


def _texts(part: Any) -> Iterator[str]:
    """Yield all strings in a question, at any depth of nesting, except the keys of mappings."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        for element in part.values():
            yield from _texts(element)
    elif isinstance(part, Sequence):
        for element in part:
            yield from _texts(element)
