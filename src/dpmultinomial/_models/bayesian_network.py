"""Discrete Bayesian networks with differentially private parameters, and their log-likelihood on test records
(Ponnoprat 2022, section 5.2).

The module defines the graph of a network and the layout of the table of every node, and counts the records in the cells
of these tables.

Each node is one release. A record is in one configuration of the node's parents and in one category, so replacing a
record changes two cells of the node by one each, as in a single histogram (methods of Ponnoprat, 2022, in the
documentation).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from .. import _checks
from . import calibrated_noise, private_blocks
from .calibrated_noise import Noise

SUPPORTS = ("public", "observed")
LARGEST_TABLE = 20_000_000  # largest number of cells of one node


def graph(parents: Mapping[str, Sequence[str]], *, columns: Sequence[str]) -> "nx.DiGraph[str]":
    """Check the structure of a Bayesian network, and return the structure as a directed graph.

    Parameters
    ----------
    parents : mapping from each node to its parents; every parent must also be a node.
    columns : allowed names of nodes.

    Returns
    -------
    networkx.DiGraph

    Raises
    ------
    ValueError
        For an unknown node, a parent that is not a node, or a cycle (which the message shows).
    """
    for node, above in parents.items():
        if node not in columns:
            raise ValueError(
                f"network: the node {node!r} must be the name of a column. The columns are {', '.join(columns)}"
            )
        for parent in above:
            if parent not in parents:
                raise ValueError(f"network: {parent!r}, a parent of {node!r}, must also be a node of the network")
    network = nx.DiGraph([(parent, node) for node, above in parents.items() for parent in above])
    network.add_nodes_from(parents)
    if not nx.is_directed_acyclic_graph(network):
        path = " -> ".join(edge[0] for edge in nx.find_cycle(network))
        raise ValueError(f"network must not contain a cycle, got {path} -> {path.split(' -> ')[0]}")
    return network


@dataclass(frozen=True, kw_only=True)
class NodeLayout:
    """Layout of the probability table of one node of a Bayesian network, without the counts, in the format of
    `private_blocks`.

    Parameters
    ----------
    node, parents : name of the node, and names of its parents.
    starts : int64 (configurations + 1,), first cell of the histogram of every parent configuration.
    index : int64, mapping from configuration * categories + category to the cell, or -1 if there is no cell.
    strides : int64, one per parent: factor by which the category of the parent is multiplied in the configuration
        number.
    """

    node: str
    parents: tuple[str, ...]
    starts: NDArray[np.int64]
    index: NDArray[np.int64]
    strides: NDArray[np.int64]

    def cells(self, own: NDArray[np.int32], above: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return, for each record, the index of the record's cell in the table of a node.

        Parameters
        ----------
        own : categories of the node, (n,).
        above : categories of the parents, (n, parents); -1 for unseen values.

        Returns
        -------
        int64 (n,)
            -1 if the release does not contain a cell for the record.
        """
        seen = (own >= 0) & (above >= 0).all(axis=1)
        place = np.where(seen, own + above @ self.strides if above.shape[1] else own, 0)
        return np.where(seen, self.index[place], -1)


@dataclass(frozen=True, kw_only=True)
class NodeCounts(NodeLayout):
    """Layout of the probability table of one node of a Bayesian network, with the counts of the training records.

    Parameters
    ----------
    node, parents, starts, index, strides : as in `NodeLayout`.
    counts : float64 (cells,).
    """

    counts: NDArray[np.float64]

    def layout(self) -> NodeLayout:
        """Return the layout of the probability table of the node, without the training counts."""
        return NodeLayout(
            node=self.node, parents=self.parents, starts=self.starts, index=self.index, strides=self.strides
        )


def count(
    categories: NDArray[np.int32],
    *,
    columns: Sequence[str],
    sizes: Sequence[int],
    parents: Mapping[str, Sequence[str]],
    support: str = "public",
) -> list[NodeCounts]:
    """Count the training records in every cell of the table of every node.

    Parameters
    ----------
    categories : int32 (n, columns), -1 for unseen values (a node does not count such a record).
    columns, sizes : names and numbers of categories of the columns.
    parents : the network.
    support : ``"public"`` has a cell for each possible (configuration, category) pair. ``"observed"`` has only cells
        for pairs that occur in the training records. The release reveals these pairs, so it has no privacy guarantee.

    Returns
    -------
    list of NodeCounts
        One per node, in the order of `parents`.

    Raises
    ------
    ValueError
        As in `graph`; also for an unknown support, and for a table of more than 20 million cells.
    """
    _checks.one_of("support", support, SUPPORTS)
    graph(parents, columns=columns)
    place = {name: k for k, name in enumerate(columns)}
    nodes = []
    for node, above in parents.items():
        size = sizes[place[node]]
        widths = _widths(node, size, [sizes[place[p]] for p in above])
        strides = np.cumprod(widths)[:-1]
        node_codes, upper = categories[:, place[node]], categories[:, [place[p] for p in above]]
        seen = (node_codes >= 0) & (upper >= 0).all(axis=1)
        flat = node_codes[seen] + (upper[seen] @ strides if above else 0)
        counts = np.bincount(flat, minlength=int(np.prod(widths)))
        nodes.append(_node(node, tuple(above), counts, size, strides, support))
    return nodes


def _widths(node: str, size: int, above: Sequence[int]) -> NDArray[np.int64]:
    cells = math.prod((size, *above))
    if cells > LARGEST_TABLE:
        raise ValueError(f"network: the table of {node!r} must have at most {LARGEST_TABLE} cells, got {cells}")
    return np.array([size, *above], dtype=np.int64)


def _node(
    node: str, parents: tuple[str, ...], counts: NDArray[np.int64], size: int, strides: NDArray[np.int64], support: str
) -> NodeCounts:
    kept = counts > 0 if support == "observed" else np.ones(len(counts), dtype=bool)
    index = np.where(kept, np.cumsum(kept) - 1, -1)
    per_configuration = kept.reshape(-1, size).sum(axis=1)
    starts = np.append(0, np.cumsum(per_configuration[per_configuration > 0])).astype(np.int64)
    return NodeCounts(
        node=node, parents=parents, counts=counts[kept].astype(float), starts=starts, index=index, strides=strides
    )


__all__ = [
    "Network",
    "NodeCounts",
    "NodeLayout",
    "count",
    "fit",
    "graph",
    "log_likelihood",
    "log_likelihoods",
    "release",
    "smoothed",
]


def release(
    nodes: Sequence[NodeCounts],
    noise: Noise,
    *,
    floor: float | str,
    rng: np.random.Generator,
    smoothing: float = 0.0,
) -> list[NDArray[np.float64]]:
    """Draw the released noisy probability tables of all nodes of a network.

    Parameters
    ----------
    nodes : result of `count`.
    noise : noise of one node, with one entry of its parameters per release.
    floor, smoothing : lower bound on noisy counts, as in `calibrated_noise.floors`.
    rng : numpy Generator.

    Returns
    -------
    list of float64 (releases, cells)
        Log parameters, one array per node.
    """
    low = calibrated_noise.floors(floor, noise, smoothing=smoothing) if noise.law != "dirichlet" else None
    return [
        private_blocks.release(
            n.counts, n.starts, law=noise.law, scale=noise.scale, alpha=noise.alpha, floors=low, rng=rng
        )
        for n in nodes
    ]


def smoothed(nodes: Sequence[NodeCounts], smoothing: float) -> list[NDArray[np.float64]]:
    """Return the non-private log parameters of a network, which are computed from the counts plus `smoothing`.

    Parameters
    ----------
    nodes : result of `count`.
    smoothing : > 0.

    Returns
    -------
    list of float64 (1, cells)
        The parameters in the shape of one release.
    """
    logs = []
    for n in nodes:
        cells = n.counts + smoothing
        totals = np.add.reduceat(cells, n.starts[:-1])
        logs.append((np.log(cells) - np.log(np.repeat(totals, np.diff(n.starts))))[None])
    return logs


def log_likelihoods(
    parameters: Sequence[NDArray[np.float64]],
    nodes: Sequence[NodeLayout],
    categories: NDArray[np.int32],
    *,
    columns: Sequence[str],
) -> tuple[NDArray[np.float64], float]:
    """Return the log-likelihood of test records under every release. Also return the fraction of all (record, node)
    pairs that are included in the log-likelihood.

    A term is omitted if the release does not contain its cell. With public support, no terms are omitted.

    Parameters
    ----------
    parameters, nodes : log parameters and layout of every node.
    categories : int32 (n, columns).
    columns : names of the columns.

    Returns
    -------
    float64 (releases,), float
    """
    place = {name: k for k, name in enumerate(columns)}
    total, counted = np.zeros(len(parameters[0])), 0
    for logs, n in zip(parameters, nodes, strict=True):
        cells = n.cells(categories[:, place[n.node]], categories[:, [place[p] for p in n.parents]])
        often = np.bincount(cells[cells >= 0], minlength=logs.shape[1])
        total = total + logs @ often
        counted += int(often.sum())
    return total, counted / (len(categories) * len(nodes))


@dataclass(frozen=True, kw_only=True)
class Network:
    """Fitted Bayesian network whose parameters come from a single release.

    Parameters
    ----------
    columns : names of the columns of the records.
    nodes : layout of every node's table, without counts.
    parameters : float64 (1, cells) log parameters of every node.
    """

    columns: tuple[str, ...]
    nodes: list[NodeLayout]
    parameters: list[NDArray[np.float64]]

    def table(self, node: str) -> NDArray[np.float64]:
        """Return the conditional probabilities Pr[category | parents] of a node of the network.

        Parameters
        ----------
        node : name of the node.

        Returns
        -------
        float64 (parent configurations, categories)
            The first parent varies fastest.

        Raises
        ------
        ValueError
            If there is no such node.
        """
        if node not in [n.node for n in self.nodes]:
            raise ValueError(f"node must be one of {', '.join(n.node for n in self.nodes)}, got {node!r}")
        place = [n.node for n in self.nodes].index(node)
        flat = np.exp(self.parameters[place][0])[self.nodes[place].index]
        return np.asarray(flat).reshape(-1, int(self.nodes[place].starts[1]))

    def __repr__(self) -> str:
        cells = sum(p.shape[1] for p in self.parameters)
        return f"Network({len(self.nodes)} nodes, {cells} cells: {', '.join(n.node for n in self.nodes)})"


def fit(
    categories: NDArray[np.int32],
    *,
    columns: Sequence[str],
    sizes: Sequence[int],
    parents: Mapping[str, Sequence[str]],
    mechanism: str = "none",
    epsilon: float = 1.0,
    order: float = 5.0,
    floor: float | str = "sigma",
    smoothing: float = 1.0,
    rng: np.random.Generator | None = None,
) -> Network:
    """Fit a Bayesian network with or without differential privacy. The table of each node has a cell for every
    combination of parent configuration and category.

    Parameters
    ----------
    categories, columns, sizes, parents : as in `count`.
    mechanism : ``"dirichlet"``, ``"gaussian"``, ``"laplace"``, or ``"none"`` for counts plus `smoothing`.
    epsilon, order : Rényi budget of the whole network, which is divided equally among the nodes.
    floor : lower bound on noisy counts, a number > 0 or ``"sigma"``. The bound is never below `smoothing`.
    smoothing : > 0; without privacy, this number is added to every count.
    rng : numpy Generator, for private fits.

    Returns
    -------
    Network
        The network contains parameters but no counts.

    Raises
    ------
    ValueError, TypeError
        As in `count`, and for a budget, an order or a floor outside its range.
    """
    _checks.one_of("mechanism", mechanism, (*calibrated_noise.MECHANISMS, "none"))
    nodes = count(categories, columns=columns, sizes=sizes, parents=parents)
    if mechanism == "none":
        parameters = smoothed(nodes, _checks.positive("smoothing", smoothing))
    else:
        law = calibrated_noise.calibrated(mechanism, [_checks.positive("epsilon", epsilon) / len(nodes)], order=order)
        source = _checks.generator(rng)
        parameters = release(nodes, law, floor=floor, smoothing=_checks.positive("smoothing", smoothing), rng=source)
    return Network(columns=tuple(columns), nodes=[n.layout() for n in nodes], parameters=parameters)


def log_likelihood(network: Network, categories: NDArray[np.int32]) -> float:
    """Return the log-likelihood of records under a fitted Bayesian network.

    Parameters
    ----------
    network : result of `fit`.
    categories : int32 (n, columns); unseen values (-1) are skipped.

    Returns
    -------
    float
        Summed over records and nodes, in nats.
    """
    value, _ = log_likelihoods(network.parameters, network.nodes, categories, columns=network.columns)
    return float(value[0])
