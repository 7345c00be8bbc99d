"""Reader of releases that are stored on disk. The input is either the folder of a release that was made with this
project, whose record describes the mechanism, or a CSV file of published numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np

from .. import _checks
from .._accounting.composition import RELATIONS
from .._files import table_columns
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
ADD_OR_REMOVE = RELATIONS[0]


def read(
    path: str | Path,
    *,
    mechanism: Any = None,
    total: int | None = None,
    withheld: Mapping[str, int] | None = None,
    missing: Sequence[str] = (),
) -> Release:
    """Read a release or published numbers from disk.

    Parameters
    ----------
    path : the folder of a release made with this project, ``releases/<name>/<generation>``, whose record states the
        mechanism, the scale and the total, or the distribution of every level of a tree; or a CSV file with the columns
        name and value, and, for a tree, parent (empty for the root). In a CSV file, a count without a value was not
        measured. A count of a tree with several rows was measured several times; without a tree, names are distinct.
        A value may also be a range such as ``1-9`` or a limit such as ``<10``, as agencies publish them: with the
        mechanism `Exact`, it bounds the count; with any other mechanism, the released value was withheld below the
        limit, which must be the same for all counts.
    mechanism, total : mechanism and total for the numbers of a CSV file, see `Release`.
    withheld : symbols of withheld values in a CSV file, with the limits below which values were withheld, such as
        ``{"*": 10}``.
    missing : symbols of values that are not available, such as ``[".."]``.

    Returns
    -------
    Release

    Raises
    ------
    FileNotFoundError, ValueError
        If a file is missing, does not match its record, or is not a release or a table of numbers, or a symbol has no
        stated meaning.

    Examples
    --------
    ``dpm.posterior(dpm.read("releases/county/1"))``
    """
    where = Path(path)
    if not where.is_dir():
        if not where.exists():
            raise FileNotFoundError(
                f"{where} does not exist: pass the path of a CSV file or of the folder of a release"
            )
        if mechanism is None:
            raise ValueError(
                f"{where}: mechanism is required, because a CSV file does not state the mechanism that produced the "
                "numbers: pass mechanism="
            )
        return _numbers(read_table(where), mechanism, total, _limits_of_symbols(withheld), _symbols(missing))
    if not (mechanism is None and total is None and withheld is None and not missing):
        given = [("mechanism", mechanism), ("total", total), ("withheld", withheld), ("missing", missing or None)]
        named = ", ".join(name for name, value in given if value is not None)
        raise ValueError(
            f"{named} must be omitted, because {where / RECORD} already contains the settings of the release"
        )
    opened = open_release(where)
    kind = str(opened.record["mechanism"])
    if kind not in _MADE:
        readable = ", ".join(_MADE)
        raise ValueError(
            f"{where}: a release with the mechanism {kind} is not supported. The supported mechanisms are {readable}"
        )
    return _MADE[kind](opened)


def _limits_of_symbols(withheld: Mapping[str, int] | None) -> dict[str, int]:
    limits = dict(withheld or {})
    for symbol, limit in limits.items():
        if not isinstance(symbol, str) or not symbol:
            raise TypeError(f"the symbols in withheld must be non-empty strings, as in {{'*': 10}}, got {symbol!r}")
        _checks.integer(f"withheld[{symbol!r}]", limit, least=1)
    return limits


def _symbols(missing: Sequence[str]) -> tuple[str, ...]:
    if isinstance(missing, str) or not all(isinstance(symbol, str) for symbol in missing):
        raise TypeError(f"missing must be a list of symbols, such as ['..'], got {missing!r}")
    return tuple(missing)


def _numbers(
    table: CsvTable, mechanism: Any, total: int | None, withheld: Mapping[str, int], missing: Sequence[str]
) -> Release:
    """Build a release from a table of published numbers. In a tree, each row contains a measurement of a node, or names
    a node without a measurement. Rows with the same name belong to the same node.
    """
    if not set(COLUMNS) <= set(table.columns):
        raise ValueError(f"{table.name} must have the columns {' and '.join(COLUMNS)}, got {', '.join(table.columns)}")
    names = table.texts("name")
    parents: dict[str, str | None] | None = None
    if "parent" in table.columns:
        parents = {}
        for row, (name, above) in enumerate(zip(names, table.texts("parent"), strict=True)):
            if parents.setdefault(name, above or None) != (above or None):
                raise table.refuse("parent", row, "must be the same in all rows with this name", above)
    elif len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{table.name}: the column 'name' contains {twice!r} twice: rename one of the counts")
    cells = _cells(table, withheld, missing)
    try:
        law, bounds = _law_and_bounds(cells, names, mechanism)
    except ValueError as error:
        raise ValueError(f"{table.name}: {error}") from None
    values = [nan if number is None else number for number, _ in cells]
    return Release(values, names=names, mechanism=law, total=total, bounds=bounds, parents=parents)


def _cells(table: CsvTable, withheld: Mapping[str, int], missing: Sequence[str]) -> list[table_columns.Cell]:
    """Return the parsed cells of the column of values in a table of published numbers. All cells that cannot be parsed
    are reported in a single error.
    """
    texts = table.texts("value")
    known: dict[str, table_columns.Cell] = {}
    wrong: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        try:
            known[text] = table_columns.meaning(text, withheld, missing)
        except ValueError as error:
            wrong[text] = str(error)
    table.refuse_all([("value", row, wrong[text], text) for row, text in enumerate(texts) if text in wrong])
    return [known[text] for text in texts]


def _law_and_bounds(
    cells: Sequence[table_columns.Cell], names: Sequence[str], mechanism: Any
) -> tuple[Any, table_columns.Limits | None]:
    """Return the mechanism, and the bounds on the counts implied by published ranges, limits and withheld values."""
    if all(bounds is None for _, bounds in cells):
        return mechanism, None
    if not hasattr(mechanism, "threshold"):
        raise ValueError(
            f"ranges and withheld counts require the same noise distribution for all counts, got {mechanism!r}"
        )
    stated = getattr(mechanism, "least", None)
    noise = "exact" if isinstance(mechanism, Exact) else type(mechanism).__name__
    threshold, limits = table_columns.censored(cells, names, noise, stated)
    return mechanism if threshold == stated else mechanism.threshold(threshold), limits


def _facts(found: Published) -> dict[str, object]:
    """Return the public facts about a release that its record states in addition to the numbers. These facts are the
    protected unit and the privacy cost.
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
    def release_of(found: Published) -> Release:
        if table_columns.is_of(found.record):
            return _tree(found, law)
        values = dict(zip(found.table.texts("category"), found.table.numbers("count").tolist(), strict=True))
        return Release(
            values, mechanism=law(found.number("scale")), total=int(found.number("total")), facts=_facts(found)
        )

    return release_of


def _tree(found: Published, law: Callable[[float], Any]) -> Release:
    """Build a `Release` of the counts of all nodes of a tree. Every node has the noise distribution of its level. The
    count of the root is exact if it is public.
    """
    record: Mapping[str, Any] = found.record
    names, levels = found.table.texts("category"), list(record["levels"])
    shape = table_columns.of(found.table, names)
    depth = np.array(shape.depth)
    laws = [law(record["scale"][level]) if level in record["scale"] else Exact() for level in levels]
    parents = [above or None for above in found.table.texts("parent")]
    facts = _facts(found)
    if record["cost"]["relation"] == ADD_OR_REMOVE and record["change_of_a_level"] == 1:
        (unit,) = set(record["cost"]) - {"relation"}
        spent = [record["cost_of_each"].get(levels[d], 0.0) for d in shape.depth]
        facts["cost_to_replace"] = {unit: shape.largest_sums(spent)[1]}
    return Release(
        dict(zip(names, found.table.numbers("count").tolist(), strict=True)),
        mechanism=LawByRow(laws, depth),
        parents=dict(zip(names, parents, strict=True)),
        levels=levels,
        facts=facts,
    )


def _additive(found: Published) -> Release:
    values = dict(zip(found.table.texts("category"), found.table.numbers("count").tolist(), strict=True))
    law = AdditiveCounts(
        epsilon=1 / found.number("scale"),
        algorithm=str(found.record["algorithm"]),
        ties=str(found.record["ties"]),
        support=inf,
    )
    # a replaced record changes two counts but not the total, an added one changes a count and the total
    cost: Any = found.record["cost"]
    facts = _facts(found) | {"cost_to_replace": {"epsilon": cost["epsilon"]}}
    return Release(values, mechanism=law, facts=facts)


def _censored(found: Published) -> Release:
    values = dict(zip(found.table.texts("statistic"), found.table.numbers("value").tolist(), strict=True))
    scale, grid = (_ordered(found.record[key]) for key in ("scale", "step"))
    law = CensoredStatistics(lower=found.number("lower"), upper=found.number("upper"), scale=scale, grid=grid)
    return Release(values, mechanism=law, total=int(found.number("records")), facts=_facts(found))


def _ordered(stated: object) -> tuple[float, ...]:
    if not isinstance(stated, Mapping) or set(stated) != set(STATISTICS):
        raise ValueError(f"{RECORD} must contain a number for each of {', '.join(STATISTICS)}, got {stated!r}")
    return tuple(float(stated[key]) for key in STATISTICS)


_MADE: dict[str, Callable[[Published], Release]] = {
    "discrete_laplace": _counts(lambda scale: DiscreteLaplace(scale=scale)),
    "discrete_gaussian": _counts(lambda scale: DiscreteGaussian(sigma=scale)),
    "additive_counts": _additive,
    "censored_statistics": _censored,
}
