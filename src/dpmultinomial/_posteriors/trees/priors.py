"""Priors of the counts of a tree: splits of a flat total (the default), or independent leaves if requested."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..published.priors import CountPrior, prior_of
from .tree import Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
FEWEST = 30  # smallest number of leaves of a group for which a prior is fitted


@dataclass(frozen=True)
class Splits:
    """Prior that is flat on the count of the root and splits every count among the children by a Dirichlet-multinomial
    distribution.

    Given N, the counts of the k children have probability N! Gamma(kA)/Gamma(N + kA) prod Gamma(n_i + A)/(n_i!
    Gamma(A)): their shares have a symmetric Dirichlet distribution of concentration A. Children with upper bound 0 are
    excluded.

    Parameters
    ----------
    concentrations : A of the splits into each level below the root, > 0: one number, a sequence (starting with the
        level below the root), or a mapping from a level to A. If None, all are fitted by maximising the exact evidence.
    """

    concentrations: float | Sequence[float] | Mapping[str, float] | None = None

    def by_level(self, tree: Tree) -> Array | None:
        """Return A by depth, float64 (levels,), the root's unused (1); None if the concentrations are to be fitted.

        Raises
        ------
        ValueError, TypeError
            If a level has no number > 0, or the number of values is wrong.
        """
        given, below = self.concentrations, tree.levels[1:]
        if given is None:
            return None
        if isinstance(given, Mapping):
            if set(given) != set(below):
                raise ValueError(f"concentrations must name {', '.join(below)}, got {', '.join(given)}")
            given = [given[name] for name in below]
        return np.concatenate([[1.0], _checks.positives("concentrations", given, len(below))])

    def settings(self) -> dict[str, object]:
        """Return the prior as configuration keys and values."""
        return {"law": "splits"}


class Leaves:
    """Independent priors of the counts of the leaves; they imply a prior on every total, see `implied_totals`.

    Parameters
    ----------
    prior : ``"flat"``, ``"1/(1+n)"``, ``"fitted"``, an argument of `published.priors.prior_of`; or a mapping from
        groups to these.
    groups : one label per node, which names the group of each leaf (labels of inner nodes are ignored); None: all
        leaves are in one group.
    """

    def __init__(self, prior: Any = "1/(1+n)", groups: Sequence[str] | None = None) -> None:
        by_group = isinstance(prior, Mapping) and "law" not in prior
        if by_group and groups is None:
            raise ValueError("groups are required if priors differ by group")
        self.groups = None if groups is None else tuple(groups)
        self.priors: dict[str, Any] = {}
        for name, words in (prior if by_group else {"": prior}).items():
            fitted = words == "fitted" or (isinstance(words, Mapping) and words.get("law") == "fitted")
            self.priors[name] = "fitted" if fitted else prior_of(words)
        self._by_group = by_group

    def rows(self, tree: Tree) -> tuple[list[str], Whole]:
        """Return the names of the groups, and the group of each node, int64 (n,), -1 at inner nodes.

        Raises
        ------
        ValueError
            If there is not exactly one label per node, or the group of a leaf has no prior.
        """
        if self.groups is None:
            return [""], np.where(tree.leaf, 0, -1)
        if len(self.groups) != len(tree):
            raise ValueError(f"groups must be one per node, {len(tree)}, got {len(self.groups)}")
        names = list(self.priors) if self._by_group else sorted({self.groups[i] for i in np.flatnonzero(tree.leaf)})
        places = {name: i for i, name in enumerate(names)}
        for i in np.flatnonzero(tree.leaf):
            if self.groups[i] not in places:
                raise ValueError(
                    f"group {self.groups[i]!r} of {tree.names[i]} has no prior; choose from {', '.join(names)}"
                )
        found = [places[label] if leaf else -1 for label, leaf in zip(self.groups, tree.leaf.tolist(), strict=True)]
        return names, np.array(found, dtype=np.int64)

    def of(self, group: str) -> Any:
        """Return the prior of a group, or ``"fitted"``."""
        return self.priors[group if self._by_group else ""]

    def replaced(self, priors: Mapping[str, Any]) -> "Leaves":
        """Return a copy with the same groups and the given priors (a mapping from group to prior)."""
        other = Leaves("flat", self.groups)
        other.priors, other._by_group = dict(priors), self._by_group or self.groups is not None
        return other

    def settings(self) -> dict[str, object]:
        """Return the prior as configuration keys and values."""
        each = {name: p if isinstance(p, str) else p.settings() for name, p in self.priors.items()}
        return {"law": "leaves", "priors": each if self._by_group else each[""]}


class Histogram:
    """Prior with a constant density on cells of counts, fitted to many leaves of one tree.

    Parameters
    ----------
    edges : int64 (cells + 1,), increasing from 0: cell b contains edges[b] .. edges[b + 1] - 1.
    masses : float64 (cells,), probability of each cell; normalised to sum 1.
    fitted_on : number of leaves used for the fit.
    """

    proper, first = True, 0.0

    def __init__(self, edges: ArrayLike, masses: ArrayLike, *, fitted_on: int) -> None:
        self.edges = np.asarray(edges, dtype=np.int64)
        p = np.asarray(masses, dtype=np.float64)
        self.masses: Array = p / p.sum()
        self.fitted_on, self.last = fitted_on, float(self.edges[-1] - 1)
        self.logs: Array = np.log(self.masses / np.diff(self.edges))
        self.peak = float(self.logs.max())

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return log P(n), -inf outside the cells."""
        n = np.asarray(counts, dtype=np.float64)
        cell = np.searchsorted(self.edges, n, side="right") - 1
        inside = (cell >= 0) & (cell < len(self.logs))
        return np.where(inside, self.logs[np.where(inside, cell, 0)], -np.inf)

    def settings(self) -> dict[str, object]:
        """Return a description of the fit."""
        return {"law": "fitted", "fitted_on": self.fitted_on, "zero": float(self.masses[0])}


def moments(prior: CountPrior) -> tuple[float, float]:
    """Return mean and variance of one count under a prior; infinite if the prior is improper."""
    words = prior.settings()
    if not prior.proper:
        return np.inf, np.inf
    if words["law"] in ("geometric", "negative_binomial"):
        mean = float(str(words["mean"]))
        return mean, mean + mean**2 / float(str(words.get("shape", 1.0)))
    n = np.arange(int(prior.first), int(prior.last) + 1)
    p = np.exp(prior.log_weights(n))
    mean = float(n @ p)
    return mean, float((n - mean) ** 2 @ p)
