"""Tree of counts from a file with a column of parents: the root, the levels, and the children of each node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .csv_table import CsvTable  # this import requires a compiled kernel

DEEPEST = 50  # largest number of levels


@dataclass(frozen=True)
class Hierarchy:
    """Nodes of a tree, one per record of a file.

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
        found = [0] * (max(self.depth) + 1)
        for depth in self.depth:
            found[depth] += 1
        return found

    def unlike(self, counts: Sequence[int]) -> int | None:
        """Return the first inner node whose count differs from the sum of its children's counts, or None if no inner
        node differs.

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
                rule = f"must name a node, as only that of the root may be empty, which is in line {table.lines[root]}"
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
            rule = f"must lead to the root in fewer than {DEEPEST} steps, and to no node twice"
            raise table.refuse(column, record, rule, given[record])
        for steps, node in enumerate(reversed(path)):
            depth[node] = top + steps
    return Hierarchy(parent, depth)
