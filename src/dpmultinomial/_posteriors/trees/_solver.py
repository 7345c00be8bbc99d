"""Messages of the sum-product algorithm on a tree. Windows and exponential tilts are chosen such that the upper bound
on the neglected probability is small.

The joint draws of all counts of a tree use these messages, including the messages of groups within large families.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _sites
from ._sum_product import STATES, SumProduct
from .measurements import FAR, possible_ends
from .tree import Tree

Array = NDArray[np.float64]
GOAL = 1e-12  # goal for the error bound
ENOUGH = 1e-9  # a result with a larger bound is approximate
DROP = 1e-20  # initial fraction of a message that may be truncated at either end
CHEAP = 1e-60  # truncating no more than this fraction costs less than improving the tilts
LEAST_DROP = 1e-250
TERMS = 5e10  # largest number of terms of a sum of two messages, as in messages.h
STEPS = 4  # number of improvements of the tilts, from the sums of the computed messages
CUTS = 4  # number of attempts with smaller and smaller truncated fractions
BLIND = 1e-150  # fraction truncated if the bound is too large for float64, so that the required fraction is unknown


class Unbounded(ValueError):
    """Error that is raised if no measurement, upper bound or proper prior limits a count."""


class Unsolved(ValueError):
    """Raised if the sum-product messages of a tree cannot be computed. The message names the node and the reason."""


@dataclass(frozen=True)
class Solved:
    """Messages of the sum-product algorithm from the leaves to the root of a tree, with an error bound.

    Parameters
    ----------
    messages : messages of the kernel.
    log_evidence : log of the sum of all weights.
    bound : upper bound on the total variation distance between any marginal distribution and its computed form.
    drop : largest fraction of a message that could be truncated at either end.
    tilts, slacks : parameters of the children of every node (`_sites.balance`).
    """

    messages: SumProduct
    log_evidence: float
    bound: float
    drop: float
    tilts: Array
    slacks: Array

    @property
    def excess(self) -> float:
        """Return the error bound of the messages, divided by the largest fraction of a message that could be
        truncated at either end.
        """
        return self.bound / self.drop


def solve(
    tree: Tree,
    sites: NDArray[Any],
    tables: Array,
    *,
    goal: float = GOAL,
    drop: float = DROP,
    start: Array | None = None,
    blind: bool = True,
) -> Solved:
    """Compute the sum-product messages of a tree, with a bound of at most `goal` on the error. If this fails, return
    the messages with the smallest error bound.

    Parameters
    ----------
    tree : the nodes.
    sites : structured (m,), weights of the nodes.
    tables : float64, log weights to which the sites point.
    goal : largest acceptable bound; with infinity, the first result is accepted.
    drop : initial fraction of a message that may be truncated at either end.
    start : initial tilts, from a tree with nearly the same weights.
    blind : whether to truncate less even if the bound is infinite. With wide noise in large families, the bound
        overflows, because the weight of the parent (without the weights of its children) increases on both sides of the
        region in which parent and children agree.

    Returns
    -------
    Solved

    Raises
    ------
    ValueError
        If bounds and exact counts are inconsistent.
    Unsolved
        If a count is unbounded, or no counts have positive weight.
    """
    if start is None:
        consistent(tree, sites)
    given = (tree.above, tree.count, sites, tables, _sites.reach(tree.above, sites))
    tilts, slacks, _, failed = _sites.balance(*given, start)
    if failed[0] >= 0:
        raise Unsolved(_words(tree, sites, failed[0], STATES[failed[1]]))
    best, missed = _first(tree, sites, tables, tilts, slacks, drop)
    if best is None:
        raise Unsolved(_words(tree, sites, *missed))
    for step in range(STEPS):
        if best.bound <= goal:
            return best
        if best.drop * 1e-3 * goal / best.bound >= CHEAP:
            break
        means = None if step == 0 else _means(tree, best.messages)
        tilts, slacks, failed = _sites.refine(*given, best.tilts, best.messages.sums().copy(), means)
        attempt = _once(tree, sites, tables, tilts, slacks, drop)
        if failed[0] < 0 and isinstance(attempt, Solved) and attempt.excess < best.excess:
            best = attempt
        elif step:
            break
    for _ in range(CUTS):
        endless = best.bound == np.inf
        if best.bound <= goal or best.drop == LEAST_DROP or (endless and not blind):
            break
        width = best.drop * 1e-3 * goal / best.bound if not endless else BLIND if best.drop > BLIND else LEAST_DROP
        attempt = _once(tree, sites, tables, best.tilts, best.slacks, max(width, LEAST_DROP))
        if not isinstance(attempt, Solved) or (attempt.bound >= best.bound and not endless):
            break
        best = attempt
    return best


def _once(
    tree: Tree, sites: NDArray[Any], tables: Array, tilts: Array, slacks: Array, drop: float
) -> Solved | tuple[int, str]:
    """Return the messages of the sum-product algorithm, computed with the given exponential tilts. If the computation
    fails, return the node at which it fails and the reason.
    """
    messages = SumProduct(tree.above, tree.first, tree.count, sites, tables, tilts, slacks, drop)
    log_evidence, bound, failed = messages.up()
    if failed[0] >= 0:
        return failed
    return Solved(messages, log_evidence, bound if bound >= 0 else np.inf, drop, tilts, slacks)


def _first(
    tree: Tree, sites: NDArray[Any], tables: Array, tilts: Array, slacks: Array, drop: float
) -> tuple[Solved | None, tuple[int, str]]:
    """Return the messages of the sum-product algorithm, computed with the initial exponential tilts. The windows of
    counts are widened until they overlap.
    """
    while True:
        attempt = _once(tree, sites, tables, tilts, slacks, drop)
        if isinstance(attempt, Solved):
            return attempt, (-1, "good")
        if attempt[1] != "empty" or drop == LEAST_DROP:
            return None, attempt
        drop = max(drop**2, LEAST_DROP)


def _means(tree: Tree, messages: SumProduct) -> Array:
    """Return the posterior means of the counts of the inner nodes, in the node order of the compiled kernels."""
    summaries = messages.down(tree.count > 0, 0.25)[0]
    return np.ascontiguousarray(summaries[:, 0])


def _range(low: float, high: float) -> str:
    """Return a range of counts as text, for example "3 to 7" or "3 or more"."""
    return f"{low} or more" if high >= FAR else str(low) if low == high else f"{low} to {high}"


def consistent(tree: Tree, sites: NDArray[Any]) -> None:
    """Raise ValueError if no counts satisfy all exact values and bounds of a tree, or if a count is unbounded.

    Raises
    ------
    ValueError
        The message states the name of a node and the value that its count would need.
    """
    low, high = possible_ends(sites)
    for start, end in _layers(tree):
        least, most = _sums(tree, low, start, end), np.minimum(_sums(tree, high, start, end), FAR)
        inner = np.arange(start, end)[tree.count[start:end] > 0]
        for row, less, more in zip(inner.tolist(), least.tolist(), most.tolist(), strict=True):
            if less > high[row] or more < low[row]:
                ends, own_range = _range(less, more), _range(low[row], high[row])
                raise ValueError(
                    f"the counts of the children of {_name(tree, row)} add up to {ends}, but the count of "
                    f"{_name(tree, row)} is {own_range}: correct the measurements or the bounds"
                )
        low[inner], high[inner] = np.maximum(low[inner], least), np.minimum(high[inner], most)
    held = (
        (sites["square"] > 0)
        | (sites["absolute"] > 0)
        | (sites["table"] >= 0)
        | (sites["upper"] < FAR)
        | (sites["slope"] < 0)
    )
    for start, end in _layers(tree)[::-1][1:]:
        held[start:end] |= held[tree.above[start:end]]
    loose = np.flatnonzero((tree.count == 0) & ~held)
    if len(loose):
        raise Unbounded(
            f"the count of {_name(tree, int(loose[0]))} is unbounded: measure this node or one of its "
            "ancestors, or set an upper bound or a proper prior"
        )


def _layers(tree: Tree) -> list[tuple[int, int]]:
    """Return the layers of a tree, from the leaves to the root, each as the range of its nodes."""
    return list(pairwise(tree.layers))[::-1]


def _sums(tree: Tree, values: NDArray[np.int64], start: int, end: int) -> NDArray[np.int64]:
    """Return, for every inner node of one layer, the sum of given values over its children."""
    inner = np.arange(start, end)[tree.count[start:end] > 0]
    if not len(inner):
        return np.zeros(0, dtype=np.int64)
    children = values[tree.first[inner[0]] : tree.first[inner[-1]] + tree.count[inner[-1]]]
    return np.asarray(np.add.reduceat(children, tree.first[inner] - tree.first[inner[0]]))


def _name(tree: Tree, row: int) -> str:
    """Return the name of a node of the tree, given the row of the node in the order of the compiled kernels. For a
    group within a family, return the name of the family.
    """
    while tree.order[row] < 0:
        row = int(tree.above[row])
    return tree.names[int(tree.order[row])]


def _words(tree: Tree, sites: NDArray[Any], row: int, state: str) -> str:
    """Return the text of an error message about a node at which the sum-product algorithm failed."""
    if state == "wide":
        return _too_wide(tree, sites, row)
    rules = {
        "unbounded": "its count is unbounded, because its weight does not decrease",
        "empty": "the weights of all counts of its children underflow: the measurements contradict each other or the "
        "prior",
        "memory": "the messages of this node do not fit into memory: measure more nodes, or set bounds",
    }
    return f"{_name(tree, row)}: {rules[state]}"


def _too_wide(tree: Tree, sites: NDArray[Any], row: int) -> str:
    """Return the error message for a node if its count or the count of a child has too many possible values."""
    first, size = int(tree.first[row]), int(tree.count[row])
    rows = np.array([row, *range(first, first + size)] if size else [row])
    site, far = sites[rows], -np.log(DROP)
    with np.errstate(divide="ignore"):
        width = np.where(site["square"] > 0, np.sqrt(far / site["square"]), far / site["absolute"])
    listed = site["table"] >= 0
    width = np.where(listed, site["length"], np.minimum(2 * width, site["upper"] - site["lower"]) + 1)
    place = int(np.argmax(width))
    name, most = _name(tree, int(rows[place])), int(np.sqrt(TERMS))
    if width[place] >= FAR:
        return (
            f"{name}: this count is not measured, and the sums of its children would have more than about {most:,} "
            "possible values: measure this count, set closer bounds, or use a prior of the leaves, such as 'fitted'"
        )
    return (
        f"{name}: about {width[place]:.2g} counts are possible given its measurements and bounds, and sums of two "
        f"counts with more than about {most:,} possible values each would take an estimated minute or more: use "
        "measurements with less noise, or set closer bounds"
    )


def drawn(tree: Tree, messages: SumProduct, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one vector of all counts of a tree from their exact joint posterior distribution, with the counts in the
    order used by the kernels.

    Parameters
    ----------
    tree : the nodes.
    messages : upward messages.
    rng : numpy Generator.

    Returns
    -------
    int64 (m,)
    """
    first, p = messages.root()
    below = np.cumsum(p)
    total = first + below[:-1].searchsorted(rng.random() * below[-1], side="right")
    return messages.splits(int(total), rng=rng)
