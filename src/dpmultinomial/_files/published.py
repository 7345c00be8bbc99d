"""Reader of published releases for inference. The reader compares the public file with the record of the release, and
both with the ledger.

The files checked here are never confidential (`places`). If there is a ledger two folders above, as in ``releases/``,
it must contain exactly these files; a release that was copied to another folder is only checked against its record.

The public record of each mechanism has a closed schema, which also determines the content of the public file: columns,
rows and values. Related numbers of a record are compared with each other, so that a record with a modified scale is
rejected even without a ledger.
"""

import graphlib
import hashlib
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import table_columns
from .csv_table import CsvTable, parse, read_bytes
from .places import FileFault

Rule = Callable[[Any], bool]
STATISTICS = ("mean", "sse", "low", "high")
_LARGEST_SCALE, _LARGEST = 2.0**40 * (1 + 1e-9), 2**53
_MOST = 1e250  # largest number; a product of two such numbers is finite or inf
# tolerance, because a scale is rounded upwards, and the sensitivity of a statistic is rounded to steps of a grid
_CLOSE = 1e-4


def _number(low: float = -math.inf, high: float = math.inf) -> Rule:
    return lambda v: _finite(v) and low < v <= high


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _MOST


def _whole(least: int = 0, most: int = _LARGEST) -> Rule:
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= most


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value)) and len(set(value)) == len(value)


def _one(*words: Any) -> Rule:
    return lambda v: any(v is word or (type(v) is type(word) and v == word) for word in words)


def _each(rule: Rule) -> Rule:
    return lambda v: isinstance(v, dict) and set(v) == set(STATISTICS) and all(map(rule, v.values()))


def _mapping(rule: Rule) -> Rule:
    return lambda v: isinstance(v, dict) and bool(v) and all(map(_text, v)) and all(map(rule, v.values()))


def _cost(value: Any) -> bool:
    if not isinstance(value, dict) or not _text(value.get("relation")):
        return False
    numbers = {key: v for key, v in value.items() if key != "relation"}
    good = set(numbers) in ({"epsilon"}, {"rho"}, {"epsilon", "order"}) and all(map(_number(0), numbers.values()))
    return good and numbers.get("order", 2) > 1


_scale, _positive, _share = _number(0, _LARGEST_SCALE), _number(0), _number(0, 1 - 2**-53)
_hex = re.compile(r"[0-9a-f]{64}")
COMMON: dict[str, Rule] = {
    "release": lambda v: isinstance(v, str) and re.fullmatch(r"[a-z][a-z0-9_]{0,63}", v) is not None,
    "generation": _whole(1),
    "source": _text,
    "cost": _cost,
    "neighbours": _text,
    "hardened": lambda v: isinstance(v, bool),
    "file": _one("release.csv"),
    "sha256": lambda v: isinstance(v, str) and _hex.fullmatch(v) is not None,
    "versions": lambda v: isinstance(v, dict),
}
LATER: dict[str, Rule] = {  # keys that records of version 0.2 do not have
    "epsilon_at_delta": lambda v: (
        isinstance(v, dict)
        and set(v) in ({"epsilon", "delta"}, {"epsilon", "delta", "method"})
        and _finite(v["epsilon"])
        and _share(v["delta"])
        and v.get("method", "conversion") in ("conversion", "loss distributions")
    ),
    "against_ceiling": lambda v: _text(v) or _cost(v),
    "ceiling": lambda v: _text(v) or (isinstance(v, dict) and all(map(_positive, v.values()))),
    "budget_sources": lambda v: _texts(v) and len(v) >= 2,  # only if several sources have the same people
}
_COUNTS: dict[str, Rule] = {"scale": _scale, "step": _one(1), "categories": _whole(2)}
_MODEL: dict[str, Rule] = {
    "network": _mapping(lambda v: v == [] or _texts(v)),
    "levels": _mapping(_texts),
    "tables": _whole(1),
    "records": _whole(0),
    "target": lambda v: v is None or _text(v),
}
_LAWS: dict[str, dict[str, Rule]] = {
    "Dirichlet(r counts + alpha)": {
        **{"r": _positive, "alpha": _positive, "order": _number(1), "not_hardened_because": _text},
        "exact_delta_of_one_table": lambda v: isinstance(v, dict),
    },
    **{
        law: {"scale": _scale, "step": _one(1), "sensitivity": _whole(1), "floor": _positive}
        for law in ("discrete Laplace", "discrete Gaussian")
    },
}
MECHANISMS: dict[str, dict[str, Rule]] = {
    "discrete_laplace": {
        **_COUNTS,
        **{
            "law": _one("discrete Laplace"),
            "sensitivity": _whole(1),
            "sensitivity_norm": _one("L1"),
            "total": _whole(),
        },
    },
    "discrete_gaussian": {
        **_COUNTS,
        **{"law": _one("discrete Gaussian"), "sensitivity": _whole(1), "total": _whole()},
        "sensitivity_norm": _one("squared L2"),
    },
    "additive_counts": {
        **_COUNTS,
        **{"law": _one("discrete Laplace"), "support": _one("all integers"), "epsilon_of_each_count": _positive},
        **{"sensitivity": _one(2), "sensitivity_norm": _one("L1"), "ties": _one("random")},
        "algorithm": _one("1-independent", "1-summed", "2", "3"),
    },
    "censored_statistics": {
        "law": _one("discrete Laplace on the grid of step x integers"),
        **{key: _each(_positive) for key in ("scale", "step", "sensitivity", "epsilon_of_each")},
        **{"records": _whole(4), "lower": _finite, "upper": _finite, "column": _text},
    },
    "swap": {
        **{"law": _one("permutation swapping"), "rate": _share, "invariants": _text, "records": _whole(1)},
        **{"strata": _whole(1), "strata_of_one_record": _whole(), "largest_stratum": _whole(2)},
        **{"cost_of_one_exchange": _positive, "epsilon_per_unit_of_distance": _positive},
        "epsilon_per_unit_of_distance_exact": lambda v: v is None or _positive(v),
        **{"swapped": lambda v: bool(v) and _texts(v), "matched": _texts},
        **{"encoding": lambda v: v is None or _text(v), "delimiter": _one(",", ";", "\t", "|")},
    },
    "naive_bayes": _MODEL,
    "bayesian_network": _MODEL,
}


_NODES: dict[str, Rule] = {
    **{"step": _one(1), "categories": _whole(2), "sensitivity": _whole(2), "change_of_a_level": _whole(1)},
    **{"levels": lambda v: _texts(v) and len(v) >= 2, "nodes": _mapping(_whole(1)), "shares": _mapping(_number(0, 1))},
    **{"scale": _mapping(_scale), "cost_of_each": _mapping(_positive)},
    **{"narrow": lambda v: v is None or (_texts(v) and bool(v)), "total": lambda v: v is None or _whole()(v)},
}
_TREES: dict[str, dict[str, Rule]] = {
    "discrete_laplace": {**_NODES, "law": _one("discrete Laplace"), "sensitivity_norm": _one("L1")},
    "discrete_gaussian": {**_NODES, "law": _one("discrete Gaussian"), "sensitivity_norm": _one("squared L2")},
}


def parsed(raw: bytes, place: str) -> dict[str, Any]:
    """Parse the record of a release, and check the record against the schema of the mechanism.

    Parameters
    ----------
    raw : the bytes of ``record.json``.
    place : name of the record, for error messages.

    Raises
    ------
    FileFault
        With the key and the rule: not a JSON object, a duplicate key, an invalid number, an unknown mechanism, a key
        that is missing, unknown or invalid, or inconsistent numbers.
    """
    try:
        record = json.loads(raw, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_in_range)
        json.dumps(record, ensure_ascii=False).encode()  # fails for unpaired surrogates
    except (ValueError, RecursionError) as error:
        raise FileFault(f"{place} is not valid JSON ({error})") from None
    if not isinstance(record, dict) or not {"release", "generation", "mechanism", "sha256"} <= set(record):
        got = f"the keys {list(record)[:8]}" if isinstance(record, dict) else type(record).__name__
        raise FileFault(
            f"{place} must be a JSON object with at least the keys release, generation, mechanism and sha256, got {got}"
        )
    rules = _rules(record, place)
    for key, rule in rules.items():
        if key not in record:
            if key not in LATER:
                raise FileFault(f"{place}: the key {key} is missing")
        elif not _holds(rule, record[key]):
            raise FileFault(
                f"{place}: the value {str(record[key])[:80]!r} of the key {key} is invalid for the mechanism "
                f"{record['mechanism']}"
            )
    if unknown := sorted(set(record) - set(rules)):
        raise FileFault(
            f"{place}: the key {unknown[0]!r} is not valid for the mechanism "
            f"{record['mechanism']}. If the record was written by a newer version, update dpmultinomial"
        )
    for words, good in _together(record):
        if not good:
            raise FileFault(f"{place}: {words}")
    return record


def _rules(record: Mapping[str, Any], place: str) -> dict[str, Rule]:
    mechanism = record["mechanism"]
    if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
        raise FileFault(f"{place}: mechanism must be one of {', '.join(MECHANISMS)}, got {str(mechanism)[:80]!r}")
    rules = COMMON | {"mechanism": _text} | MECHANISMS[mechanism] | LATER
    if table_columns.is_of(record):
        rules = COMMON | {"mechanism": _text} | _TREES[mechanism] | LATER
    if MECHANISMS[mechanism] is _MODEL:
        law = record.get("law")
        if not isinstance(law, str) or law not in _LAWS:
            raise FileFault(f"{place}: law must be one of {', '.join(_LAWS)}, got {str(law)[:80]!r}")
        rules |= {"law": _text} | _LAWS[law]
    return rules


def _holds(rule: Rule, value: Any) -> bool:
    try:
        return rule(value)
    except (TypeError, OverflowError):
        return False


def _together(record: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return the conditions that the numbers in the record of a release must satisfy. Each condition is a description
    with a flag that is true if the condition is satisfied.
    """
    mechanism, cost = record["mechanism"], record["cost"]
    relations = [("neighbours must be equal to the relation in cost", record["neighbours"] == cost["relation"])]
    relations.append(("against_ceiling must be the cost for the relation 'replace a record'", _counted(record)))
    relations.append(
        (
            "hardened must be false for Dirichlet noise and true for all other noise",
            record["hardened"] != ("r" in record),
        )
    )
    most = cost.get("epsilon", math.inf) if "order" not in cost else math.inf
    at_delta = record.get("epsilon_at_delta", {"epsilon": 0.0})["epsilon"]
    relations.append(("epsilon_at_delta must be <= the epsilon in cost", at_delta <= most * (1 + 1e-9)))
    if MECHANISMS[mechanism] is _MODEL:
        relations += _ordered(record["network"])
        relations.append(("levels must be the categories of the nodes", set(record["levels"]) == {*record["network"]}))
        relations.append(("tables must be the number of nodes", record["tables"] == len(record["network"])))
        relations.append(("order must be the order in cost", record.get("order") == cost.get("order")))
    pure, words = cost.get("epsilon", math.nan), "scale, sensitivity and cost are inconsistent"
    if table_columns.is_of(record):
        relations += _levels(record, words)
    elif mechanism == "discrete_laplace":
        relations.append((words, _close(record["scale"] * pure, record["sensitivity"])))
    elif mechanism == "discrete_gaussian":
        relations.append((words, _close(2 * cost.get("rho", math.nan) * record["scale"] ** 2, record["sensitivity"])))
    elif mechanism == "additive_counts":
        relations.append((words, _close(record["scale"] * pure, 2)))
        relations.append((words, _close(record["scale"] * record["epsilon_of_each_count"], 1)))
    elif mechanism == "censored_statistics":
        relations.append(("lower must be below upper", record["lower"] < record["upper"]))
        parts = [(record["scale"][k] * record["epsilon_of_each"][k], record["sensitivity"][k]) for k in STATISTICS]
        relations += [(words, _close(*part)) for part in parts]
        relations.append((words, _close(math.fsum(record["epsilon_of_each"].values()), pure)))
    elif mechanism == "swap":
        relations.append(
            ("cost_of_one_exchange must be equal to the epsilon in cost", _close(record["cost_of_one_exchange"], pure))
        )
    elif record["law"] == "discrete Laplace":
        relations.append((words, _close(record["scale"] * pure, record["sensitivity"])))
    elif record["law"] == "discrete Gaussian":
        relations.append((words, _close(2 * cost.get("rho", math.nan) * record["scale"] ** 2, record["sensitivity"])))
    return relations


def _ordered(network: Mapping[str, list[str]]) -> list[tuple[str, bool]]:
    """Return the conditions under which network nodes can be ordered so that parents precede their children."""
    known = all(parent in network for parents in network.values() for parent in parents)
    relations = [("every parent must be a node of the network in the record", known)]
    try:
        graphlib.TopologicalSorter(network).prepare()
    except graphlib.CycleError:
        relations.append(("the network must not contain a cycle", False))
    return relations


def _counted(record: Mapping[str, Any]) -> bool:
    """Return whether the record of a release correctly states the cost that counts against a budget. If neighbours
    differ by adding or removing a record, this cost is twice the epsilon or four times the rho. An exchange of records
    does not have a cost of this kind.
    """
    cost, stated = record["cost"], record.get("against_ceiling")
    if stated is None or cost["relation"] == "exchange within invariants":
        return not isinstance(stated, dict)
    factors = {"epsilon": 2, "rho": 4} if cost["relation"] == "add or remove a record" else {}
    wanted = {key: value * factors.get(key, 1) for key, value in cost.items() if key != "relation"}
    return (
        isinstance(stated, dict)
        and stated["relation"] == "replace a record"
        and set(stated) == {"relation", *wanted}
        and all(_close(stated[key], value) for key, value in wanted.items())
    )


def _levels(record: Mapping[str, Any], words: str) -> list[tuple[str, bool]]:
    """Return the conditions that the values in the record of a tree must satisfy. For example, every measured level has
    a noise distribution and a share of the cost.
    """
    public, levels = record["total"] is not None, record["levels"]
    parts = [record[key] for key in ("shares", "scale", "cost_of_each")]
    relations = [("the keys of nodes must be the levels of the tree", list(record["nodes"]) == levels)]
    if any(list(part) != levels[public:] for part in parts):
        return [*relations, ("the keys of shares, scale and cost_of_each must be the measured levels", False)]
    gaussian, change = record["mechanism"] == "discrete_gaussian", record["change_of_a_level"]
    loss = record["cost"].get("rho" if gaussian else "epsilon", math.nan)
    for share, scale, spent in zip(*(part.values() for part in parts), strict=True):
        relations.append((words, _close(2 * spent * scale**2 if gaussian else spent * scale, change)))
        relations.append(
            ("cost_of_each must be the share of each level multiplied by the cost", _close(spent, share * loss))
        )
    relation = "replace a record" if public else "add or remove a record"
    relations.append(
        (
            "neighbours must be 'replace a record' if the total is public, and 'add or remove a record' otherwise",
            record["neighbours"] == relation,
        )
    )
    relations.append(("cost must be the sum of cost_of_each", _close(math.fsum(parts[2].values()), loss)))
    half = -(-record["sensitivity"] // 2)
    relations.append((words, change == (record["sensitivity"] if public else half)))
    relations.append(
        ("categories must be the number of all nodes", sum(record["nodes"].values()) == record["categories"])
    )
    return [
        *relations,
        ("narrow must contain only measured levels", set(record["narrow"] or ()) <= set(levels[public:])),
    ]


def _close(value: float, wanted: float) -> bool:
    return math.isclose(value, wanted, rel_tol=_CLOSE)


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"duplicate key {next(key for key in keys if keys.count(key) > 1)!r}")
    return mapping


def _in_range(written: str) -> float:
    if math.isinf(value := float(written)):
        raise ValueError(f"the number {written[:80]} is outside the range of floating-point numbers")
    return value


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a valid JSON number")


_COLUMNS = {
    **dict.fromkeys(("discrete_laplace", "discrete_gaussian", "additive_counts"), ("category", "count")),
    "censored_statistics": ("statistic", "value"),
    **dict.fromkeys(("naive_bayes", "bayesian_network"), ("node", "given", "category", "probability")),
}
_TREE = ("category", "parent", "count")


def check(table: CsvTable, record: Mapping[str, Any]) -> None:
    """Check that the public file of a release agrees with the record of the release.

    Parameters
    ----------
    table : file to check.
    record : checked record (`records.parsed`).

    Raises
    ------
    FileFault
        With file, line, column and rule: wrong columns, rows that the record does not have, a duplicate category, or a
        value that is impossible for such a release.
    """
    mechanism = record["mechanism"]
    wanted = _TREE if table_columns.is_of(record) else _COLUMNS.get(mechanism)
    if wanted is not None and table.columns != wanted:
        raise FileFault(f"{table.name} must have the columns {', '.join(wanted)}, got {', '.join(table.columns)}")
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
            raise table.refuse("category", row, "must be a category that is not empty and not a duplicate", name)
        seen[name] = row
    _rows(table, record["categories"])
    counts = table.whole("count", **({"least": 0} if record["mechanism"] == "additive_counts" else {}))
    if table_columns.is_of(record):
        shape = table_columns.of(table, names)
        if shape.sizes != [record["nodes"][level] for level in record["levels"]]:
            raise FileFault(
                f"{table.name}: the numbers of nodes per level must be "
                f"{[record['nodes'][level] for level in record['levels']]}, as stated in the record, got "
                f"{list(shape.sizes)}"
            )
        root = shape.depth.index(0)
        if record["total"] not in (None, counts[root]):
            raise table.refuse("count", root, "must be equal to the total in the record", str(counts[root]))


def _probabilities(table: CsvTable, record: Mapping[str, Any]) -> None:
    shares, nodes = table.numbers("probability"), table.texts("node")
    for row, (node, share) in enumerate(zip(nodes, shares.tolist(), strict=True)):
        if node not in record["network"]:
            raise table.refuse("node", row, "must be a node of the network in the record", node)
        if not 0 <= share <= 1:
            raise table.refuse("probability", row, "must be in [0, 1]", str(share))
    _histograms(table, record["network"], record["levels"])
    given = list(zip(nodes, table.texts("given"), strict=True))
    sums: dict[tuple[str, str], float] = {}
    for key, share in zip(given, shares.tolist(), strict=True):
        sums[key] = sums.get(key, 0.0) + share
    if sums and not np.allclose(list(sums.values()), 1, rtol=0, atol=1e-9):
        raise FileFault(
            f"{table.name}: the probabilities of a node must sum to 1 for each state of its parents, got a sum of "
            f"{max(sums.values(), key=lambda found: abs(found - 1)):.9g}"
        )


def _histograms(table: CsvTable, network: Mapping[str, list[str]], levels: Mapping[str, list[str]]) -> None:
    """Check that a model has one row per category of each node for each state of the parents, in the order of the
    record.
    """
    _rows(table, sum(math.prod(len(levels[name]) for name in (node, *above)) for node, above in network.items()))
    columns = {name: table.texts(name) for name in ("node", "given", "category")}
    row = 0
    for node, above in network.items():
        for state in itertools.product(*(levels[name] for name in above)):
            given = dict(zip(above, state, strict=True))
            texts = {json.dumps(given, ensure_ascii=False), json.dumps(given)}
            for category in levels[node]:
                for name, wanted in (("node", {node}), ("given", texts), ("category", {category})):
                    if columns[name][row] not in wanted:
                        rule = f"must be {min(wanted)!r}, according to the network and the levels in the record"
                        raise table.refuse(name, row, rule, columns[name][row])
                row += 1


def _named(table: CsvTable, column: str, names: list[str]) -> None:
    if table.texts(column) != names:
        raise FileFault(
            f"{table.name}: the column {column!r} must contain the values {', '.join(names)}, in this order, got "
            f"{', '.join(table.texts(column)[:8])}"
        )


def _rows(table: CsvTable, wanted: int) -> None:
    if len(table) != wanted:
        raise FileFault(f"{table.name} must have {wanted} rows, as stated in the record, got {len(table)} rows")


LEDGER = "ledger.tsv"
DATA, RECORD = "release.csv", "record.json"


@dataclass(frozen=True, repr=False)
class Published:
    """Published release in the form that is used for inference.

    Parameters
    ----------
    folder : folder of the release.
    record : content of ``record.json`` (mechanism, distribution, scale, step, cost, ..).
    table : public file of the release.
    """

    folder: Path
    record: Mapping[str, object]
    table: CsvTable

    def __repr__(self) -> str:
        return (
            f"Published({self.record['release']}, generation {self.record['generation']}: {self.record['mechanism']})"
        )

    def number(self, key: str) -> float:
        """Return the number with a given name from the record, and raise FileFault if the record does not contain such
        a number.
        """
        value = self.record.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise FileFault(f"{self.folder / RECORD}: the value of {key} must be a number, got {str(value)[:80]!r}")
        return float(value)


def open_release(folder: str | Path) -> Published:
    """Open a published release, and check that the release can be used for inference.

    Parameters
    ----------
    folder : ``releases/<name>/<generation>``.

    Raises
    ------
    FileNotFoundError, FileFault
        If a file is missing or confidential, the record breaks the schema of its mechanism, the public file does not
        have the SHA-256 stated in the record or is not valid for such a release, or the ledger does not contain these
        files.
    """
    folder = Path(folder)
    raw, data = read_bytes(folder / RECORD), read_bytes(folder / DATA)
    record = parsed(raw, str(folder / RECORD))
    digest = hashlib.sha256(data).hexdigest()
    if digest != record["sha256"]:
        raise FileFault(
            f"{folder / DATA}: the SHA-256 checksum is {digest}, but {RECORD} states {record['sha256']}: restore both "
            "files from a backup"
        )
    _named_by_ledger(folder, record, hashlib.sha256(raw).hexdigest())
    stated = {key: record[key] if isinstance(record.get(key), str) else None for key in ("delimiter", "encoding")}
    table = parse(data, name=str(folder / DATA), confidential=False, **stated)
    check(table, record)
    return Published(folder, record, table)


def _named_by_ledger(folder: Path, record: Mapping[str, object], digest: str) -> None:
    """Check that the record of a release agrees with the name of its folder and with the digests in the ledger. The
    ledger is two folders above. If it does not exist, nothing is checked.
    """
    ledger = folder.resolve().parents[1] / LEDGER
    if not ledger.is_file():
        return
    name, generation = folder.resolve().parent.name, folder.resolve().name
    if (record["release"], str(record["generation"])) != (name, generation):
        stated = f"{record['release']}, generation {record['generation']}"
        raise FileFault(
            f"{folder / RECORD} is the record of {stated}, but the folder belongs to {name}, generation {generation}: "
            "restore the record from a backup"
        )
    lines = [line.split("\t") for line in read_bytes(ledger).decode("utf-8", errors="replace").split("\n")]
    columns = {column: k for k, column in enumerate(lines[0])}
    if not {"release", "generation", "sha256", "record_sha256"} <= set(columns):
        raise FileFault(
            f"{ledger}, line 1: the header must contain the columns release, generation, sha256 and record_sha256, got "
            f"{', '.join(columns)}"
        )
    rows = [{c: row[k] for c, k in columns.items()} for row in lines[1:] if len(row) == len(columns)]
    same = [row for row in rows if (row["release"], row["generation"]) == (name, generation)]
    if not same:
        raise FileFault(
            f"{folder} is not listed in {ledger}, either because the release was recorded in another ledger or because "
            "the ledger is an old backup: restore the newest backup of the ledger"
        )
    if any((row["sha256"], row["record_sha256"]) != (record["sha256"], digest) for row in same):
        raise FileFault(
            f"{folder / RECORD} does not match the SHA-256 checksums in {ledger}: restore the record from a backup"
        )
