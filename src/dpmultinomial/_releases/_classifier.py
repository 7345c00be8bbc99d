"""Release of naive Bayes models and Bayesian networks. The probabilities of the models are computed from noisy counts.
The release contains no counts.

Categories, bin edges and the network are public: they are stated in the settings, and not derived from the records.
Replacing a record changes two cells of every table by one each. Dirichlet draws (Ponnoprat 2022) use floating-point
arithmetic, which the model card states; discrete noise is exact.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._accounting import privacy_profiles
from .._files.csv_table import CsvTable
from .._mechanisms import dirichlet
from . import _noise, losses
from ._places import Refused
from .losses import Losses
from .spending import REPLACE, Cost, Drawn, Facts, Plan, csv_bytes

COLUMNS = ("node", "given", "category", "probability")
MOST_CELLS = 2 * 10**6
FLOATING = "Dirichlet draws are floating-point gamma draws: their last bits are not those of the stated law"


@dataclass(frozen=True, repr=False)
class Tables:
    """Contingency tables of all nodes, each of shape (parent configurations, categories), and the public facts about
    their counts.

    Parameters
    ----------
    network : mapping from a node to its parents.
    names : mapping from a node to its categories.
    counts : int64 (configurations, categories), one per node.
    """

    network: dict[str, list[str]]
    names: dict[str, list[str]]
    counts: list[NDArray[np.int64]]


def naive_bayes(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan a release of the tables of a naive Bayes model. The release has one table for the target and, for each other
    column, one table given the target.
    """
    target = settings["target"]
    others = [c for c in (*settings["numeric"], *settings["levels"]) if c != target]
    return _plan(settings, table, {target: [], **{c: [target] for c in others}})


def bayesian_network(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan a release of a Bayesian network with a given structure. The release contains one table for each node given
    the parents of the node.
    """
    return _plan(settings, table, {node: list(parents) for node, parents in settings["network"].items()})


def categories(settings: Mapping[str, Any], table: CsvTable, column: str) -> tuple[list[str], NDArray[np.int64]]:
    """Return the public names of a column's categories, and the category of every record.

    Parameters
    ----------
    settings : section of the release.
    table : table of records.
    column : name of the column.

    Returns
    -------
    names, codes : list of str, int64 (records,).

    Raises
    ------
    FileFault
        If a value is not one of the public levels, or not a number in a numeric column. The message does not contain
        the value.
    """
    if column in settings["numeric"]:
        low, high = (float(v) for v in settings["bounds"][column])
        edges = np.linspace(low, high, settings["bins"] + 1)
        names = [f"[{a:.9g}, {b:.9g})" for a, b in pairwise(edges.tolist())]
        return names, np.searchsorted(edges[1:-1], table.numbers(column), side="right").astype(np.int64)
    levels = list(settings["levels"][column])
    place = {level: k for k, level in enumerate(levels)}
    codes = np.array([place.get(t, -1) for t in table.texts(column)], dtype=np.int64)
    if (codes < 0).any():
        raise table.refuse(column, int(np.argmin(codes)), "must be one of the public levels", "")
    return levels, codes


def _tables(settings: Mapping[str, Any], table: CsvTable, network: dict[str, list[str]]) -> Tables:
    names, codes = {}, {}
    for node in network:
        names[node], codes[node] = categories(settings, table, node)
    sizes = {node: int(np.prod([len(names[c]) for c in (node, *parents)])) for node, parents in network.items()}
    if sum(sizes.values()) > MOST_CELLS:
        raise Refused(
            f"the model must have at most {MOST_CELLS} cells, got {sum(sizes.values())}: use "
            "fewer columns, levels or bins"
        )
    counts = []
    for node, parents in network.items():
        flat = np.zeros(len(table), dtype=np.int64)
        for column in (*parents, node):
            flat = flat * len(names[column]) + codes[column]
        counts.append(np.bincount(flat, minlength=sizes[node]).reshape(-1, len(names[node])))
    return Tables(network, names, counts)


def _plan(settings: Mapping[str, Any], table: CsvTable, network: dict[str, list[str]]) -> Plan:
    tables = _tables(settings, table, network)
    law = _dirichlet(settings, len(network)) if settings["noise"] == "dirichlet" else _discrete(settings, len(network))
    facts = law.facts | {
        "network": network,
        "levels": tables.names,
        "tables": len(network),
        "records": len(table),
        "target": settings.get("target"),
        "epsilon_at_delta": losses.at_delta(law.cost, law.losses, delta=settings["delta"]),
    }

    def drawn() -> Drawn:
        return Drawn(data=csv_bytes(COLUMNS, _rows(tables, law.draw(tables.counts))))

    return Plan(cost=law.cost, facts=facts, draw=drawn, losses=law.losses)


@dataclass(frozen=True)
class _Law:
    cost: Cost
    facts: Facts
    draw: Callable[[Sequence[NDArray[np.int64]]], list[NDArray[np.float64]]]
    losses: Losses | None


def _dirichlet(settings: Mapping[str, Any], tables: int) -> _Law:
    """Return the Dirichlet mechanism that divides the Rényi budget equally among the tables."""
    share, order = settings["epsilon"] / tables, float(settings["order"])
    r, alpha = dirichlet.calibrate(share, order=order)
    exact = {"epsilon": share, "delta": float(privacy_profiles.dirichlet_delta(share, r=r, alpha=alpha))}
    facts: Facts = {"law": "Dirichlet(r counts + alpha)", "r": r, "alpha": alpha, "order": order}
    facts |= {"exact_delta_of_one_table": exact, "hardened": False, "not_hardened_because": FLOATING}

    def draw(counts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
        rng = _noise.private_stream()
        return [_normalised(rng.standard_gamma(r * table + alpha)) for table in counts]

    cost = Cost(relation=REPLACE, epsilon=float(settings["epsilon"]), order=order)
    return _Law(cost, facts, draw, losses.of_shares(r, alpha, tables=tables))


def _discrete(settings: Mapping[str, Any], tables: int) -> _Law:
    """Return the distribution of discrete noise with the same scale in all tables. Replacing a record is a change of 2
    per table in L1 norm and in squared L2 norm.
    """
    change, laplace = 2 * tables, settings["noise"] == "discrete_laplace"
    if laplace:
        scale = _noise.laplace_scale(settings["epsilon"], sensitivity=change)
        cost = Cost(relation=REPLACE, epsilon=_noise.laplace_epsilon(scale, sensitivity=change))
    else:
        scale = _noise.gaussian_scale(settings["rho"], l2_squared=change)
        cost = Cost(relation=REPLACE, rho=_noise.gaussian_rho(scale, l2_squared=change))
    floor = scale if settings["floor"] is None else float(settings["floor"])
    name = "discrete Laplace" if laplace else "discrete Gaussian"
    facts: Facts = {"law": name, "scale": scale, "step": 1, "sensitivity": change, "floor": floor, "hardened": True}

    def draw(counts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
        sampler = _noise.discrete_laplace if laplace else _noise.discrete_gaussian
        flat = sampler(np.concatenate([table.ravel() for table in counts]), scale=scale)
        ends = np.cumsum([table.size for table in counts])[:-1]
        parts = zip(np.split(flat, ends), counts, strict=True)
        return [_normalised(np.maximum(part.reshape(table.shape), floor)) for part, table in parts]

    one_table = losses.of_counts(str(settings["noise"]), scale, change=2, relation=REPLACE)
    return _Law(cost, facts, draw, one_table and one_table * tables)


def _normalised(cells: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(cells / cells.sum(axis=1, keepdims=True), dtype=np.float64)


def _rows(tables: Tables, found: Sequence[NDArray[np.float64]]) -> list[tuple[str, str, str, str]]:
    rows = []
    for (node, parents), cells in zip(tables.network.items(), found, strict=True):
        for given, shares in zip(product(*(tables.names[p] for p in parents)), cells.tolist(), strict=True):
            above = json.dumps(dict(zip(parents, given, strict=True)), ensure_ascii=False)
            rows += [(node, above, c, repr(p)) for c, p in zip(tables.names[node], shares, strict=True)]
    return rows
