"""Reader of releases on disk: either the folder of a release made with this project, whose record describes the
mechanism, or a CSV file of published numbers.
"""

from collections.abc import Callable, Mapping
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np

from .._files import hierarchy
from .._files.csv_table import CsvTable
from .._files.csv_table import read as read_table
from .._files.published import RECORD, Published, open_release
from .._mechanisms.additive_counts import AdditiveCounts
from .._mechanisms.exact import Exact
from .._mechanisms.gaussian import DiscreteGaussian
from .._mechanisms.laplace import DiscreteLaplace
from .._mechanisms.noise_law import LawByRow
from .._mechanisms.sufficient_statistics import STATISTICS, CensoredStatistics
from .release import Release

COLUMNS = ("name", "value")


def read(path: str | Path, *, mechanism: Any = None, total: int | None = None) -> Release:
    """Read a release or published numbers from disk.

    Parameters
    ----------
    path : the folder of a release made with this project, ``releases/<name>/<generation>``, whose record states the
        mechanism, the scale and the total, or the distribution of every level of a tree; or a CSV file with the columns
        name and value, and, for a tree, parent (empty for the root). In a CSV file, a count without a value was not
        measured, and a count with several rows was measured several times.
    mechanism, total : mechanism and total for the numbers of a CSV file, see `Release`.

    Returns
    -------
    Release

    Raises
    ------
    FileNotFoundError, ValueError
        If a file is missing, does not match its record, or is not a release or a table of numbers.

    Examples
    --------
    ``dpm.posterior(dpm.read("releases/county/1"))``
    """
    where = Path(path)
    if not where.is_dir():
        if not where.exists():
            raise FileNotFoundError(f"{where} is not a file or a folder")
        if mechanism is None:
            raise ValueError(f"{where}: a CSV file does not state the mechanism of its numbers: pass mechanism=")
        table = read_table(where)
        if "parent" in table.columns:
            return _measured_tree(table, mechanism, total)
        return Release(_named(table), mechanism=mechanism, total=total)
    if mechanism is not None or total is not None:
        raise ValueError(
            f"{where / RECORD}: mechanism and total must be omitted, because the record of the release states them"
        )
    found = open_release(where)
    kind = str(found.record["mechanism"])
    if kind not in _MADE:
        readable = ", ".join(_MADE)
        raise ValueError(
            f"{where} is a release of {kind}, which this function does not support; it supports counts "
            f"and statistics: {readable}"
        )
    return _MADE[kind](found)


def _named(table: CsvTable) -> dict[str, float]:
    if not set(COLUMNS) <= set(table.columns):
        raise ValueError(f"{table.name} must have the columns {' and '.join(COLUMNS)}, got {', '.join(table.columns)}")
    names = table.texts("name")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{table.name}, column name: the name {twice!r} occurs twice: rename one of the counts")
    return dict(zip(names, table.numbers("value").tolist(), strict=True))


def _measured_tree(table: CsvTable, mechanism: Any, total: int | None) -> Release:
    """Build a tree from a table with one measurement per row. A row may be a node without a measurement, and rows with
    the same name belong to one node.
    """
    table.refuse_all(table.wrong_cells("value", "number", empty=True))
    names = table.texts("name")
    parents: dict[str, str | None] = {}
    for row, (name, above) in enumerate(zip(names, table.texts("parent"), strict=True)):
        if parents.setdefault(name, above or None) != (above or None):
            raise table.refuse("parent", row, "must be the parent that other rows of this name have", above)
    values = [float(text) if text else nan for text in table.texts("value")]
    return Release(values, names=names, mechanism=mechanism, parents=parents, total=total)


def _facts(found: Published) -> dict[str, object]:
    """Return the public facts that the record states in addition to the numbers: the protected unit and the privacy
    cost.
    """
    kept = (
        "release",
        "generation",
        "source",
        "mechanism",
        "law",
        "scale",
        "cost",
        "neighbours",
        "ceiling",
        "budget_sources",
    )
    return {key: found.record[key] for key in kept if key in found.record}


def _counts(law: Callable[[float], Any]) -> Callable[[Published], Release]:
    def made(found: Published) -> Release:
        if hierarchy.is_of(found.record):
            return _tree(found, law)
        values = dict(zip(found.table.texts("category"), found.table.numbers("count").tolist(), strict=True))
        return Release(
            values, mechanism=law(found.number("scale")), total=int(found.number("total")), facts=_facts(found)
        )

    return made


def _tree(found: Published, law: Callable[[float], Any]) -> Release:
    """Build a tree in which every node has the noise distribution of its level. The count of the root is exact if it is
    public.
    """
    record: Mapping[str, Any] = found.record
    names, levels = found.table.texts("category"), list(record["levels"])
    depth = np.array(hierarchy.of(found.table, names).depth)
    laws = [law(record["scale"][level]) if level in record["scale"] else Exact() for level in levels]
    parents = [above or None for above in found.table.texts("parent")]
    return Release(
        dict(zip(names, found.table.numbers("count").tolist(), strict=True)),
        mechanism=LawByRow(laws, depth),
        parents=dict(zip(names, parents, strict=True)),
        levels=levels,
        facts=_facts(found),
    )


def _additive(found: Published) -> Release:
    values = dict(zip(found.table.texts("category"), found.table.numbers("count").tolist(), strict=True))
    law = AdditiveCounts(
        epsilon=1 / found.number("scale"),
        algorithm=str(found.record["algorithm"]),
        ties=str(found.record["ties"]),
        support=inf,
    )
    return Release(values, mechanism=law, facts=_facts(found))


def _censored(found: Published) -> Release:
    values = dict(zip(found.table.texts("statistic"), found.table.numbers("value").tolist(), strict=True))
    scale, grid = (_ordered(found.record[key]) for key in ("scale", "step"))
    law = CensoredStatistics(lower=found.number("lower"), upper=found.number("upper"), scale=scale, grid=grid)
    return Release(values, mechanism=law, total=int(found.number("records")), facts=_facts(found))


def _ordered(stated: object) -> tuple[float, ...]:
    if not isinstance(stated, Mapping) or set(stated) != set(STATISTICS):
        raise ValueError(f"{RECORD} must state a number for each of {', '.join(STATISTICS)}, got {stated!r}")
    return tuple(float(stated[key]) for key in STATISTICS)


_MADE: dict[str, Callable[[Published], Release]] = {
    "discrete_laplace": _counts(lambda scale: DiscreteLaplace(scale=scale)),
    "discrete_gaussian": _counts(lambda scale: DiscreteGaussian(sigma=scale)),
    "additive_counts": _additive,
    "censored_statistics": _censored,
}
