"""What is asked of the posterior of a tree: summaries, laws of single counts, draws, evidence, conflict."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ... import _checks
from ..._honesty import LEVEL, Honesty
from ..._results.laws import Discrete
from ..._results.posterior import Posterior
from ..._results.quantities import Quantities
from ..._results.whole import Window
from . import _pairs, conflict
from ._solver import ENOUGH, Solved
from ._together import TreeTogether
from .least_squares import LeastSquares
from .measurements import Measurements
from .priors import Leaves, Splits
from .tree import Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
COLUMNS = (
    "node",
    "level",
    "least_squares",
    "least_squares_sd",
    "mean",
    "sd",
    "lower",
    "upper",
    "status",
    "error",
)
ROUNDED = 1e-6  # of a standard deviation: more than this is no rounding


class TreeLaw:
    """Law of all counts of a tree.

    Attributes
    ----------
    tree : the nodes.
    prior : that was assumed, with everything fitted.
    log_evidence : log probability (density) of the measurements.
    bound : of the total variation between the law of any single count and what is computed of it, by what was cut.
    honesty : ``exact`` where that is at most 1e-9, else ``approximate``.
    mean, sd, lower, upper : float64 (n,); NaN below the deepest level asked for.
    level : of the intervals.
    facts : what was assumed and found, JSON-able.
    """

    def __init__(
        self,
        measurements: Measurements,
        solved: Solved,
        prior: Splits | Leaves,
        log_evidence: float,
        level: float,
        deepest: int,
        facts: dict[str, object],
    ) -> None:
        self.tree: Tree = measurements.tree
        self.measurements, self.prior, self._messages = measurements, prior, solved.messages
        self.log_evidence, self.level, self._deepest = log_evidence, level, deepest
        self.bound = min(solved.bound, 1.0)
        self.mean, self.sd, self.lower, self.upper = self.numbers(level)
        self.rounding = _additivity(self.tree, self.mean, self.sd, deepest)
        self.honesty = _honesty(self.bound, self.rounding)
        self.facts = {**facts, "log_evidence": log_evidence, "bound": self.bound, "rounding": self.rounding}

    def __repr__(self) -> str:
        return f"TreeLaw of {self.tree!r}: log evidence {self.log_evidence:.6g}, {self.honesty}"

    @cached_property
    def least_squares(self) -> LeastSquares:
        """Generalised least squares of the same measurements, without prior and without bounds."""
        return self.measurements.least_squares()

    def table(self, level: str | None = None) -> pd.DataFrame:
        """One row a node, of one level or of all that were asked for.

        Parameters
        ----------
        level : name of a level.

        Returns
        -------
        DataFrame with columns `COLUMNS`, least squares beside.
        """
        depth = None if level is None else self.tree.level(level)
        rows = np.flatnonzero(self.tree.depth <= self._deepest if depth is None else self.tree.depth == depth)
        columns = (
            [self.tree.names[i] for i in rows],
            [self.tree.levels[d] for d in self.tree.depth[rows]],
            self.least_squares.estimate[rows],
            self.least_squares.sd[rows],
            self.mean[rows],
            self.sd[rows],
            self.lower[rows],
            self.upper[rows],
            self.honesty.word,
            self.honesty.error,
        )
        return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))

    def numbers(self, level: float) -> tuple[Array, Array, Array, Array]:
        """Means, standard deviations and ends of central intervals of all nodes, float64 (n,) each.

        Parameters
        ----------
        level : of the intervals, in (0, 1).
        """
        tail = (1 - _checks.inside("level", level)) / 2
        self._reached = _families_above(self.tree, self._deepest)
        found = self._messages.down(self._reached, tail)[0]
        mean, sd, lower, upper = np.ascontiguousarray(found[self.tree.place].T)
        return mean, sd, lower, upper

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """As of every posterior of the library, one row a node (`Posterior.summary`).

        Parameters
        ----------
        level : of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame
        """
        return self.posterior().summary(level)

    def law(self, node: str | int) -> Discrete:
        """Law of one count.

        Parameters
        ----------
        node : its name or position.
        """
        place = self._place(node)
        first, p = self._law_at(int(self.tree.place[place]))
        values = np.arange(first, first + len(p))
        return Discrete(values, p, name=self.tree.names[place], type="count", honesty=self.honesty)

    def difference(self, first: str | int, second: str | int) -> Discrete:
        """Law of one count less another, exactly, whatever their places in the tree.

        Raises
        ------
        Unlisted
            If their joint law is too large; take draws.
        """
        one, two = self._place(first), self._place(second)
        low, p = _pairs.difference(self._pair(one, two))
        name = f"{self.tree.names[one]} - {self.tree.names[two]}"
        return Discrete(np.arange(low, low + len(p)), p, name=name, type="question", honesty=self.honesty)

    def sum(self, first: str | int, second: str | int) -> Discrete:
        """Law of the sum of two counts (`difference`)."""
        one, two = self._place(first), self._place(second)
        low, p = _pairs.total(self._pair(one, two))
        name = f"{self.tree.names[one]} + {self.tree.names[two]}"
        return Discrete(np.arange(low, low + len(p)), p, name=name, type="question", honesty=self.honesty)

    def sample(
        self, size: int, *, rng: np.random.Generator, nodes: Sequence[str | int] | None = None
    ) -> NDArray[np.int64]:
        """Independent draws of counts together, from the root down.

        Parameters
        ----------
        size : number of draws.
        rng : numpy Generator.
        nodes : names or positions; all nodes by default.

        Returns
        -------
        int64 (size, nodes)
        """
        tree, draws = self.tree, _checks.whole("size", size)
        wanted = np.arange(len(tree)) if nodes is None else np.array([self._place(n) for n in nodes], dtype=np.int64)
        _checks.generator(rng)
        first, p = self._messages.root()
        below = np.cumsum(p)
        top = first + np.searchsorted(below[:-1], rng.random(draws) * below[-1], side="right")
        values: dict[int, Whole] = {0: top.astype(np.int64)}
        needed = _families_of(tree, tree.place[wanted])
        for row in needed.tolist():
            children = self._messages.split(row, values[row], rng=rng)
            values.update((int(tree.first[row]) + k, children[:, k]) for k in range(children.shape[1]))
        if not len(wanted):
            return np.zeros((draws, 0), dtype=np.int64)
        return np.stack([values[int(row)] for row in tree.place[wanted]], axis=1)

    def posterior(self) -> Posterior:
        """The same as every posterior of the library, its counts named after the nodes."""

        def together(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
            return self.sample(size, rng=rng)

        places = self.tree.place
        state = TreeTogether(
            lambda i: Window(*self._law_at(int(places[i]))),
            self._pair,
            lambda a, b: _pairs.siblings(
                self.tree, self._messages, places[a].tolist(), places[b].tolist(), self._reach
            ),
            lambda nodes, size, rng: self.sample(size, rng=rng, nodes=nodes),
            certain=self.honesty.word == "exact",
        )
        counts = Quantities(self.tree.names, self.law, joint=together, together=state)
        return Posterior(
            {"counts": counts},
            joint=lambda size, rng: {"counts": together(size, rng)},
            method="sum-product on a tree",
            facts=self.facts,
            source=self,
        )

    @cached_property
    def residuals(self) -> Array:
        """Of every measurement, `conflict.residuals`."""
        m = self.measurements
        return conflict.residuals(self.mean[m.nodes], self.sd[m.nodes], m.released, m.variance)

    def conflict(self) -> pd.DataFrame:
        """Do prior and measurements agree, level by level (`conflict.by_level`)."""
        return conflict.by_level(self.tree, self.measurements.nodes, self.residuals)

    def implied_totals(self) -> pd.DataFrame | None:
        """What independent priors of the leaves say of the totals (`conflict.implied_totals`); None for splits."""
        return conflict.implied_totals(self.tree, self.prior) if isinstance(self.prior, Leaves) else None

    def _place(self, node: str | int) -> int:
        if isinstance(node, str):
            return self.tree.position(node)
        return _checks.whole("node", node, most=len(self.tree) - 1)

    def _law_at(self, row: int) -> tuple[int, Array]:
        if row == 0:
            return self._messages.root()
        parent = int(self.tree.above[row])
        self._reach(parent)
        return self._messages.family(parent)[2][row - int(self.tree.first[parent])]

    def _reach(self, row: int) -> None:
        """What the rest of the tree says of a node, where it has not been asked for yet."""
        path = [row]
        while path[-1] > 0:
            path.append(int(self.tree.above[path[-1]]))
        for above in path[:0:-1]:
            if not self._reached[above]:
                self._messages.family(above)
                self._reached[above] = True

    def _pair(self, one: int, two: int) -> _pairs.Pair:
        rows = int(self.tree.place[one]), int(self.tree.place[two])
        return _pairs.pair(self.tree, self._messages, rows, self._reach, self._law_at)


def _families_above(tree: Tree, deepest: int) -> NDArray[np.bool_]:
    """Inner nodes, in the kernels' order, whose children are not deeper than asked for."""
    wanted = np.zeros(len(tree.order), dtype=bool)
    wanted[tree.place] = (tree.depth < deepest) & ~tree.leaf
    wanted[0] = wanted[0] or len(tree) == 1
    for start, end in zip(tree.layers[1:-1], tree.layers[2:], strict=True):
        groups = np.arange(start, end)[tree.order[start:end] < 0]
        wanted[groups] = wanted[tree.above[groups]]
    return wanted


def _families_of(tree: Tree, rows: Whole) -> Whole:
    """All ancestors of some nodes, from the root down, in the kernels' order."""
    needed = np.zeros(len(tree.order), dtype=bool)
    needed[tree.above[rows[rows > 0]]] = True
    for start, end in list(zip(tree.layers[1:-1], tree.layers[2:], strict=True))[::-1]:
        own = np.arange(start, end)[needed[start:end]]
        needed[tree.above[own]] = True
    return np.flatnonzero(needed)


def _additivity(tree: Tree, mean: Array, sd: Array, deepest: int) -> float:
    """Largest difference between a mean and the sum of the children's means, in standard deviations (at least 1)."""
    below = np.flatnonzero((tree.depth <= deepest) & (tree.parent >= 0))
    if not len(below):
        return 0.0
    total = np.bincount(tree.parent[below], mean[below], len(tree))
    parents = np.unique(tree.parent[below])
    return float((np.abs(total - mean)[parents] / np.maximum(sd[parents], 1.0)).max())


def _honesty(bound: float, rounding: float) -> Honesty:
    if not rounding <= ROUNDED:
        return Honesty("approximate", rounding, "means of children and parent differ, in standard deviations")
    reason = "every count's law is within the stated error of the exact one, in total variation"
    return Honesty("exact" if bound <= ENOUGH else "approximate", bound, reason)
