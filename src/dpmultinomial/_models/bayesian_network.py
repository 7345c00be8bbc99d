"""Discrete Bayesian networks: private parameters and test log-likelihood (Ponnoprat 2022, section 5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from . import calibrated_noise, private_blocks
from ._network_counts import NodeCounts, NodeLayout, count, graph
from .calibrated_noise import Noise

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
    """Release every node's table.

    Parameters
    ----------
    nodes : as `count` gives them.
    noise : the share of one node, one entry a release.
    floor, smoothing : under noisy counts, as in `calibrated_noise.floors`.
    rng : numpy Generator.

    Returns
    -------
    list of float64 (releases, cells)
        Log parameters, one array a node.
    """
    low = calibrated_noise.floors(floor, noise, smoothing=smoothing) if noise.law != "dirichlet" else None
    return [
        private_blocks.release(
            n.counts, n.starts, law=noise.law, scale=noise.scale, alpha=noise.alpha, floors=low, rng=rng
        )
        for n in nodes
    ]


def smoothed(nodes: Sequence[NodeCounts], smoothing: float) -> list[NDArray[np.float64]]:
    """The non-private parameters: counts plus `smoothing`.

    Parameters
    ----------
    nodes : as `count` gives them.
    smoothing : > 0.

    Returns
    -------
    list of float64 (1, cells)
        In the shape of one release.
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
    """Log-likelihood of test records under every release, and the share of (record, node) terms it counts.

    A term whose cell the release does not have is dropped; with public support there is none.

    Parameters
    ----------
    parameters, nodes : log parameters and layout of every node.
    categories : int32 (n, columns).
    columns : their names.

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
    """A fitted network.

    Parameters
    ----------
    columns : names of the columns of the records it reads.
    nodes : layout of every node's table, without counts.
    parameters : float64 (1, cells) log parameters of every node.
    """

    columns: tuple[str, ...]
    nodes: list[NodeLayout]
    parameters: list[NDArray[np.float64]]

    def table(self, node: str) -> NDArray[np.float64]:
        """Pr[category | parents] of a node.

        Parameters
        ----------
        node : its name.

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
    """One network, private or not, with a cell for every possible pair of configuration and category.

    Parameters
    ----------
    categories, columns, sizes, parents : as in `count`.
    mechanism : ``"dirichlet"``, ``"gaussian"``, ``"laplace"``, or ``"none"`` for counts plus `smoothing`.
    epsilon, order : Rényi budget of the whole network; each node gets an equal part.
    floor : least noisy count, a number > 0 or ``"sigma"``; never below `smoothing`.
    smoothing : > 0, also added to every count without privacy.
    rng : numpy Generator, for private fits.

    Returns
    -------
    Network
        Parameters alone, no counts.

    Raises
    ------
    ValueError, TypeError
        As in `count`, and for a budget, order or floor outside its range.
    """
    _checks.one_of("mechanism", mechanism, (*calibrated_noise.MECHANISMS, "none"))
    nodes = count(categories, columns=columns, sizes=sizes, parents=parents)
    if mechanism == "none":
        found = smoothed(nodes, _checks.positive("smoothing", smoothing))
    else:
        law = calibrated_noise.calibrated(mechanism, [_checks.positive("epsilon", epsilon) / len(nodes)], order=order)
        source = _checks.generator(rng)
        found = release(nodes, law, floor=floor, smoothing=_checks.positive("smoothing", smoothing), rng=source)
    return Network(columns=tuple(columns), nodes=[n.layout() for n in nodes], parameters=found)


def log_likelihood(network: Network, categories: NDArray[np.int32]) -> float:
    """Log-likelihood of records under a fitted network.

    Parameters
    ----------
    network : as `fit` gives it.
    categories : int32 (n, columns); unseen values (-1) say nothing.

    Returns
    -------
    float
        Summed over records and nodes, in nats.
    """
    value, _ = log_likelihoods(network.parameters, network.nodes, categories, columns=network.columns)
    return float(value[0])
