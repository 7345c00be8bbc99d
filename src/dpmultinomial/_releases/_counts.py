"""Releases of counts with exact discrete Laplace or discrete Gaussian noise; the total is public, except for trees.

A file with a column ``parent`` is a tree (`_tree_counts`). With a public total, neighbours replace a record: one count
falls by one, another rises by one, an L1 change of 2 and a squared L2 change of 2. The cost covers all counts jointly.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files.csv_table import Cell, CsvTable
from . import _keys, _noise, _tree_counts
from ._keys import TREE_KEYS
from ._places import Refused
from .spending import REPLACE, Cost, Drawn, Plan, csv_bytes

COLUMNS = ("category", "count")


def laplace(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan discrete Laplace noise of scale sensitivity/epsilon on every count.

    Parameters
    ----------
    settings : checked and filled keys (`keys.KEYS`): epsilon, sensitivity; for a tree also its own keys.
    table : table with columns category, count; for a tree also parent.

    Raises
    ------
    ValueError
        If the file has other columns, repeated or empty categories, or counts that are not integers >= 0.
    """
    names, counts = read(table, tree=_is_tree(settings, table))
    if _is_tree(settings, table):
        return _tree_counts.release(settings, table, names, counts)
    sensitivity = int(settings["sensitivity"])
    scale = _noise.laplace_scale(settings["epsilon"], sensitivity=sensitivity)
    cost = Cost(relation=REPLACE, epsilon=_noise.laplace_epsilon(scale, sensitivity=sensitivity))
    return _plan(names, counts, "discrete Laplace", scale, sensitivity, cost, _noise.discrete_laplace)


def gaussian(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan discrete Gaussian noise of scale sqrt(sensitivity/(2 rho)); `sensitivity` is the squared L2 sensitivity."""
    names, counts = read(table, tree=_is_tree(settings, table))
    if _is_tree(settings, table):
        return _tree_counts.release(settings, table, names, counts)
    sensitivity = int(settings["sensitivity"])
    scale = _noise.gaussian_scale(settings["rho"], l2_squared=sensitivity)
    cost = Cost(relation=REPLACE, rho=_noise.gaussian_rho(scale, l2_squared=sensitivity))
    return _plan(names, counts, "discrete Gaussian", scale, sensitivity, cost, _noise.discrete_gaussian)


def read(table: CsvTable, *, tree: bool = False) -> tuple[list[str], NDArray[np.int64]]:
    """Return categories and counts of a file with the columns category, count and at least two rows.

    The order of the rows is confidential: a file that is sorted by count states the ranking of its counts. The
    categories are therefore sorted by name; `_tree_counts.release` sorts the nodes of a tree.

    Parameters
    ----------
    table : file of counts.
    tree : whether it also has a column parent, which is not read here; the nodes stay in the order of the file.

    Returns
    -------
    names, counts : list of str, int64 (rows,).

    Raises
    ------
    ValueError
        If the file has other columns; with all lines that have an empty category, a category that looks like another
        one or has control characters, or a count that is not an integer in [0, 2^53/rows].
    """
    wanted = _tree_counts.COLUMNS if tree else COLUMNS
    if sorted(table.columns) != sorted(wanted):
        raise Refused(f"{table.name}: must have the columns {', '.join(wanted)} and no other")
    if len(table) < 2:
        raise Refused(f"{table.name}: must have at least two categories, got {len(table)}")
    names = table.texts("category")
    most = _noise.LARGEST // len(table)
    table.refuse_all([*_wrong_names(table, names), *table.wrong_cells("count", "whole", least=0, most=most)])
    counts = table.whole("count", least=0, most=most)
    if tree:
        return names, counts
    by_name = sorted(range(len(names)), key=names.__getitem__)
    return [names[k] for k in by_name], counts[by_name]


def _wrong_names(table: CsvTable, names: list[str]) -> Iterator[Cell]:
    """Yield categories that are empty, cannot be written, or look like an earlier one."""
    seen: dict[str, int] = {}
    for record, found in enumerate(names):
        looks = _keys.shown_name(found)
        if not looks:
            yield "category", record, "must not be empty", found
        elif looks in seen:
            more = "" if names[seen[looks]] == found else f" by more than {_keys.UNSEEN}"
            yield "category", record, f"must differ from that of line {table.lines[seen[looks]]}{more}", found
        elif _keys.has_controls(found):
            yield "category", record, "must have no control characters", found
        else:
            seen[looks] = record


def _is_tree(settings: Mapping[str, Any], table: CsvTable) -> bool:
    """Return whether a file is a tree; settings for trees only are rejected for any other file."""
    if "parent" in table.columns:
        return True
    asked = [key for key in TREE_KEYS if settings[key] and settings[key] != REPLACE]
    if asked:
        raise Refused(f"{asked[0]}: applies only to a tree of counts; {table.name} has no column parent")
    return False


def _plan(
    names: list[str],
    counts: NDArray[np.int64],
    law: str,
    scale: float,
    sensitivity: int,
    cost: Cost,
    draw: Callable[..., NDArray[np.int64]],
) -> Plan:
    facts = {
        "law": law,
        "scale": scale,
        "step": 1,
        "sensitivity": sensitivity,
        "sensitivity_norm": "L1" if law == "discrete Laplace" else "squared L2",
        "total": int(counts.sum()),
        "categories": len(names),
        "hardened": True,
    }

    def drawn() -> Drawn:
        released = draw(counts, scale=scale).tolist()
        return Drawn(data=csv_bytes(COLUMNS, zip(names, released, strict=True)))

    return Plan(cost=cost, facts=facts, draw=drawn)
