"""Interpretation of the columns in a file of published counts. The column of values contains numbers, ranges, limits or
symbols of withheld counts. A column of parents describes a tree (root, levels, children).

A range such as ``1-9`` has the bounds (1, 9), and a limit such as ``<10`` the bounds (-inf, 9). A symbol has a meaning
only if the user states it: counts below a limit were withheld, or the count is not available. The module is written in
plain Python, because it also runs before any kernel exists.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .csv_table import CsvTable  # this import requires a compiled kernel

Bounds = tuple[float, float]
Cell = tuple[float | None, Bounds | None]  # number, bounds
Limits = tuple[list[float], list[float]]
SYMBOLS = ("*", "**", "x", "..", "...", ":", "c", "s", "d", "-", "n/a", "na", "nd")  # usual symbols in tables
_PLAIN = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_RANGE = re.compile(r"(\d+)\s*(?:-|–|—|to)\s*(\d+)")
_BELOW = re.compile(r"(?:<|under|below|less than|fewer than)\s*(\d+)", re.IGNORECASE)
_AT_MOST = re.compile(r"(?:<=|≤|at most)\s*(\d+)", re.IGNORECASE)
_AT_LEAST = re.compile(r"(?:(?:>=|≥|at least)\s*(\d+)|(\d+)\s*(?:\+|or more))", re.IGNORECASE)
_ABOVE = re.compile(r"(?:>|over|above|more than)\s*(\d+)", re.IGNORECASE)
_NEEDED = "must be a number, a range such as 10-50, a limit such as <10, or a symbol with a stated meaning"


def meaning(text: str, withheld: Mapping[str, int], missing: Collection[str]) -> Cell:
    """Return the number in a cell, or the bounds that are given by a range or limit in the cell.

    Parameters
    ----------
    text : content of the cell.
    withheld : symbol -> limit below which counts were withheld.
    missing : symbols of counts that are not available.

    Returns
    -------
    (number, bounds)
        One of them or both are None; bounds are (lowest, highest) of integers, infinite if there is no end.

    Raises
    ------
    ValueError
        If the text has no meaning; the message is the rule, without the text.
    """
    text = text.strip()
    if text in withheld:
        return None, (-inf, withheld[text] - 1)
    if not text or text in missing:
        return None, None
    if _PLAIN.fullmatch(text) or _THOUSANDS.fullmatch(text):
        number = float(text.replace(",", ""))
        if not isfinite(number):
            raise ValueError(f"the value {text[:20]} is outside the range of floating-point numbers")
        return number, None
    if bounds := _bounds(text):
        return None, bounds
    if text.lower() in SYMBOLS:
        raise ValueError(
            f"the meaning of the symbol {text!r} is not stated: if counts below 10 were withheld, pass "
            f"withheld={{{text!r}: 10}}. If the count is not available, pass missing=[{text!r}]"
        )
    raise ValueError(_NEEDED)


def _bounds(text: str) -> Bounds | None:
    if match := _RANGE.fullmatch(text):
        low, high = int(match[1]), int(match[2])
        if low > high:
            raise ValueError(f"the lower end {low} of the range must be <= the upper end {high}")
        return low, high
    if match := _AT_MOST.fullmatch(text):
        return -inf, int(match[1])
    if match := _BELOW.fullmatch(text):
        if int(match[1]) < 1:
            raise ValueError(f"the limit below which counts are withheld must be >= 1, got {match[1]}")
        return -inf, int(match[1]) - 1
    if match := _AT_LEAST.fullmatch(text):
        return int(match[1] or match[2]), inf
    if match := _ABOVE.fullmatch(text):
        return int(match[1]) + 1, inf
    return None


def shown(bounds: Bounds) -> str:
    """Return bounds as text, such as ``1 to 9``, ``at most 9`` or ``at least 100``."""
    low, high = bounds
    if low == -inf:
        return f"at most {high:,.0f}"
    return f"at least {low:,.0f}" if high == inf else f"{low:,.0f} to {high:,.0f}"


def censored(
    cells: Sequence[Cell], names: Sequence[str], noise: str, threshold: float | None
) -> tuple[float | None, Limits | None]:
    """Return the threshold below which noisy counts are withheld, and the bounds on the true counts. The bounds follow
    from ranges, limits and withheld counts.

    Without added noise, a range contains the true count: it is a bound. With noise, the noisy value was withheld below
    one limit, which becomes the threshold of the distribution.

    Parameters
    ----------
    cells : meanings of the cells (`meaning`).
    names : names of the counts, for errors.
    noise : name of the noise distribution; ``"exact"`` if no noise was added.
    threshold : threshold that was stated for the noise, or None.

    Returns
    -------
    (threshold, limits)
        Limits are (lower, upper), one number per count; None if they do not differ from 0 and infinity.

    Raises
    ------
    ValueError
        If noise was added and the counts without a number were not all withheld below one limit.
    """
    stated = [(name, bounds) for name, (_, bounds) in zip(names, cells, strict=True) if bounds is not None]
    if not stated:
        return threshold, None
    if noise == "exact":
        lower = [0.0 if bounds is None else max(bounds[0], 0.0) for _, bounds in cells]
        return threshold, (lower, [inf if bounds is None else float(bounds[1]) for _, bounds in cells])
    limit = float(stated[0][1][1] + 1 if threshold is None else threshold)
    for name, (low, high) in stated:
        if low > 0:
            raise ValueError(
                f"{name!r} is the range {shown((low, high))}, but ranges are supported only for counts without noise, "
                f"got the noise {noise}: set the noise to exact if no noise was added"
            )
        if high + 1 != limit:
            raise ValueError(
                f"{name!r} is published as {shown((low, high))}, but noisy counts ({noise}) must all be withheld "
                f"below the same limit ({limit:g}): correct the limit, or set the noise to exact if no noise was added"
            )
    if threshold is not None:  # an empty cell was withheld, too
        return threshold, None
    if empty := [name for name, cell in zip(names, cells, strict=True) if cell == (None, None)]:
        raise ValueError(
            f"{empty[0]!r} has no value, but counts below {limit:.15g} are marked as withheld in other rows: enter the "
            "symbol for withheld counts if this count was also withheld, or remove the row"
        )
    return limit, None


DEEPEST = 50  # largest number of levels


@dataclass(frozen=True)
class Hierarchy:
    """Nodes of a tree, with one node per record of a file.

    Parameters
    ----------
    parent : position of each node's parent; -1 for the root. There is exactly one root.
    depth : distance of each node from the root.
    """

    parent: Sequence[int]
    depth: Sequence[int]

    @cached_property
    def sizes(self) -> list[int]:
        """Return the number of nodes of each level, starting with the root."""
        level_sizes = [0] * (max(self.depth) + 1)
        for depth in self.depth:
            level_sizes[depth] += 1
        return level_sizes

    def unlike(self, counts: Sequence[int]) -> int | None:
        """Return the first inner node whose count differs from the sum of the counts of its children. Return None if
        there is no such node.

        Parameters
        ----------
        counts : integers, one per node.
        """
        sums = [0] * len(self.parent)
        inner = [False] * len(self.parent)
        for node, above in enumerate(self.parent):
            if above >= 0:
                sums[above] += counts[node]
                inner[above] = True
        return next((i for i, count in enumerate(counts) if inner[i] and sums[i] != count), None)

    def largest_sums(self, weights: Sequence[float]) -> tuple[float, float]:
        """Return the largest weight of the nodes whose counts one record changes if the record is added or removed, and
        if it is replaced by another record.

        Parameters
        ----------
        weights : numbers >= 0, one per node.

        Returns
        -------
        added, replaced : float
            Largest sum of the weights on a path from the root to a leaf, and largest sum of the weights of the nodes
            that are on exactly one of two such paths.
        """
        below: list[list[float]] = [[] for _ in self.parent]  # largest sums on the paths from each child to the leaves
        added = replaced = 0.0
        for node in sorted(range(len(self.parent)), key=self.depth.__getitem__, reverse=True):
            paths = sorted(below[node], reverse=True)
            replaced = max(replaced, sum(paths[:2]) if len(paths) > 1 else 0.0)
            added = weights[node] + (paths[0] if paths else 0.0)
            if self.parent[node] >= 0:
                below[self.parent[node]].append(added)
        return added, replaced  # the root is the last node


def is_of(record: Mapping[str, Any]) -> bool:
    """Return whether the record of a release describes counts of a tree."""
    return record["mechanism"] in ("discrete_laplace", "discrete_gaussian") and "levels" in record


def of(table: "CsvTable", names: Sequence[str], *, column: str = "parent") -> Hierarchy:
    """Build the tree from the columns of a file of counts.

    Parameters
    ----------
    table : file with the nodes.
    names : names of the nodes, one per record, all different.
    column : column with the name of each node's parent, which is empty for the root.

    Returns
    -------
    Hierarchy
        O(records x levels).

    Raises
    ------
    FileFault
        With file, line, column and rule: a parent that is not a node, no root or two roots, a node that is its own
        ancestor, or more than 50 levels.
    """
    given = table.texts(column)
    places = {name: i for i, name in enumerate(names)}
    parent: list[int] = []
    root = -1
    for record, above in enumerate(given):
        if above == "":
            if root >= 0:
                rule = (
                    f"must be the name of a node, because only the root (line {table.lines[root]}) may have no parent"
                )
                raise table.refuse(column, record, rule, above)
            root = record
        elif above not in places:
            raise table.refuse(column, record, "must be the name of a node of this file", above)
        parent.append(places[above] if above else -1)
    depth = [-1] * len(parent)
    for record in range(len(parent)):
        path = [record]
        while parent[path[-1]] >= 0 and depth[path[-1]] < 0 and len(path) <= DEEPEST:
            path.append(parent[path[-1]])
        top = depth[path[-1]] if depth[path[-1]] >= 0 else 0 if parent[path[-1]] < 0 else DEEPEST
        if top + len(path) > DEEPEST:
            rule = f"must lead to the root in fewer than {DEEPEST} steps and without a cycle"
            raise table.refuse(column, record, rule, given[record])
        for steps, node in enumerate(reversed(path)):
            depth[node] = top + steps
    return Hierarchy(parent, depth)
