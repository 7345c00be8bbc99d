"""What the public file of a release must be, given its record: columns, rows and values a mechanism."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import hierarchy
from ._records import STATISTICS
from .csv_table import CsvTable
from .faults import FileFault

_COLUMNS = {
    **dict.fromkeys(("discrete_laplace", "discrete_gaussian", "additive_counts"), ("category", "count")),
    "censored_statistics": ("statistic", "value"),
    **dict.fromkeys(("naive_bayes", "bayesian_network"), ("node", "given", "category", "probability")),
}
_TREE = ("category", "parent", "count")


def check(table: CsvTable, record: Mapping[str, Any]) -> None:
    """Hold a public file against its record.

    Parameters
    ----------
    table : the file.
    record : checked (`records.parsed`).

    Raises
    ------
    FileFault
        With file, line, column and rule: other columns, rows that the record does not have, a category twice, a value
        that no such release has.
    """
    mechanism = record["mechanism"]
    wanted = _TREE if hierarchy.is_of(record) else _COLUMNS.get(mechanism)
    if wanted is not None and table.columns != wanted:
        raise FileFault(f"{table.name}: must have the columns {', '.join(wanted)}, got {', '.join(table.columns)}")
    if wanted in (("category", "count"), _TREE):
        _counts(table, record)
    elif mechanism == "censored_statistics":
        _named(table, "statistic", list(STATISTICS))
        table.numbers("value")
    elif mechanism == "swap":
        for column in (*record["swapped"], *record["matched"]):
            table.place(column)
        _rows(table, record["records"])
    else:
        _probabilities(table, record)


def _counts(table: CsvTable, record: Mapping[str, Any]) -> None:
    names = table.texts("category")
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name.strip() or name in seen:
            raise table.refuse("category", row, "must be a category of its own", name)
        seen[name] = row
    _rows(table, record["categories"])
    counts = table.whole("count", **({"least": 0} if record["mechanism"] == "additive_counts" else {}))
    if hierarchy.is_of(record):
        shape = hierarchy.of(table, names)
        if shape.sizes != [record["nodes"][level] for level in record["levels"]]:
            raise FileFault(f"{table.name}: must have the nodes on each level that its record states")
        root = shape.depth.index(0)
        if record["total"] not in (None, counts[root]):
            raise table.refuse("count", root, "must be the total that its record states", str(counts[root]))


def _probabilities(table: CsvTable, record: Mapping[str, Any]) -> None:
    shares, nodes = table.numbers("probability"), table.texts("node")
    for row, (node, share) in enumerate(zip(nodes, shares.tolist(), strict=True)):
        if node not in record["network"]:
            raise table.refuse("node", row, "must be a node of the record's network", node)
        if not 0 <= share <= 1:
            raise table.refuse("probability", row, "must be in [0, 1]", str(share))
    given = list(zip(nodes, table.texts("given"), strict=True))
    sums: dict[tuple[str, str], float] = {}
    for key, share in zip(given, shares.tolist(), strict=True):
        sums[key] = sums.get(key, 0.0) + share
    if sums and not np.allclose(list(sums.values()), 1, rtol=0, atol=1e-9):
        raise FileFault(f"{table.name}: the probabilities of a node must add up to 1 for each state of its parents")


def _named(table: CsvTable, column: str, names: list[str]) -> None:
    if table.texts(column) != names:
        raise FileFault(f"{table.name}: {column} must be {', '.join(names)}")


def _rows(table: CsvTable, wanted: int) -> None:
    if len(table) != wanted:
        raise FileFault(f"{table.name}: must have {wanted} rows, as its record states, got {len(table)}")
