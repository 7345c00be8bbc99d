"""`PrivateBayesianNetwork`, a scikit-learn estimator of a joint distribution, which stores released probabilities and
never stores counts.
"""

import math
from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import _checks
from . import _model_card, _support, bayesian_network, calibrated_noise
from ._support import Bins, Bounds, Column, Key, Scalar, learn, warn_of_data
from .bayesian_network import Network, NodeCounts
from .calibrated_noise import Array

FORMAT = "dpmultinomial Bayesian network 1"


class PrivateBayesianNetwork(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Discrete Bayesian network with a given structure and with probability tables that are released by a
    differentially private mechanism.

    Parameters
    ----------
    network : mapping from each node to its parents, by column names (or indices as strings if X has no names). With
        None, every column is a node without parents. Columns that are not nodes are dropped. The structure must not be
        derived from the data.
    mechanism, epsilon, order, floor, smoothing, exact : as in `PrivateNaiveBayes`; the budget is divided equally among
        the nodes.
    levels, bounds, bins, random_state : as in `PrivateNaiveBayes`.

    Attributes
    ----------
    network_ : the released `Network`: layouts and log parameters.
    supports_, card_, n_features_in_, feature_names_in_ : as in `PrivateNaiveBayes`.

    Notes
    -----
    Every possible pair of parent configuration and category has a cell. Fitted models and their pickles do not contain
    counts. Source: Ponnoprat (2022), section 5.2. Cost: O(n nodes) plus the cells of all tables.
    """

    def __init__(
        self,
        network: Mapping[str, Sequence[str]] | None = None,
        *,
        mechanism: str = "dirichlet",
        epsilon: float = 1.0,
        order: float = 5.0,
        floor: float | str = "sigma",
        smoothing: float = 1.0,
        exact: bool = False,
        levels: Mapping[Key, Sequence[Scalar]] | None = None,
        bounds: Mapping[Key, Bounds] | Bounds | None = None,
        bins: int = 10,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.network = network
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.order = order
        self.floor = floor
        self.smoothing = smoothing
        self.exact = exact
        self.levels = levels
        self.bounds = bounds
        self.bins = bins
        self.random_state = random_state

    def fit(
        self, X: pd.DataFrame | ArrayLike, y: object = None, rng: np.random.Generator | None = None
    ) -> "PrivateBayesianNetwork":
        """Fit a private Bayesian network to the records. Each call is one release of a network.

        Parameters
        ----------
        X : (n, columns) numbers or text without missing cells.
        y : ignored.
        rng : Generator that draws the noise, instead of `random_state`.

        Returns
        -------
        PrivateBayesianNetwork
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the network has unknown columns or a cycle, and as in `PrivateNaiveBayes.fit`.
        """
        _checks.one_of("mechanism", self.mechanism, (*calibrated_noise.MECHANISMS, "none"))
        columns, _ = _support.read_records(self, X)
        names = [c.name for c in columns]
        if len(set(names)) < len(names):
            raise ValueError(f"the columns of X must have distinct names, got {', '.join(names)}")
        parents = dict.fromkeys(names, ()) if self.network is None else {k: tuple(v) for k, v in self.network.items()}
        bayesian_network.graph(parents, columns=names)
        if not parents:
            raise ValueError("network must contain at least one node, got none")
        self.supports_ = learn(columns, levels=self.levels, bounds=self.bounds, bins=self.bins)
        if self.mechanism != "none":
            warn_of_data(columns, self.supports_)
        sizes = [s.size for s in self.supports_]
        nodes = bayesian_network.count(self._codes(columns), columns=names, sizes=sizes, parents=parents)
        parameters = self._release(nodes, rng)
        self.card_["public_support"] = all(s.public for s in self.supports_)
        self.network_ = Network(columns=tuple(names), nodes=[n.layout() for n in nodes], parameters=parameters)
        return self

    def score_samples(self, X: pd.DataFrame | ArrayLike) -> Array:
        """Return the log probability of every record under the released network.

        Parameters
        ----------
        X : (n, columns), as in `fit`. If a value is not among the levels of its column, the nodes that use it are
            omitted.

        Returns
        -------
        float64 (n,)
            In nats.
        """
        check_is_fitted(self, "network_")
        codes = self._codes(_support.read_records(self, X, reset=False)[0])
        place = {name: k for k, name in enumerate(self.network_.columns)}
        log_probabilities = np.zeros(len(codes))
        for node, logs in zip(self.network_.nodes, self.network_.parameters, strict=True):
            cells = node.cells(codes[:, place[node.node]], codes[:, [place[p] for p in node.parents]])
            log_probabilities += np.append(logs[0], 0.0)[cells]
        return log_probabilities

    def score(self, X: pd.DataFrame | ArrayLike, y: object = None) -> float:
        """Return the mean log probability, in nats, of the records under the released network. The argument `X` is as
        in `score_samples`, and `y` is ignored.
        """
        return float(np.mean(self.score_samples(X)))

    def sample(self, size: int, *, rng: np.random.Generator) -> pd.DataFrame:
        """Draw synthetic records from the released network, without additional privacy cost.

        Parameters
        ----------
        size : number of records, >= 1.
        rng : numpy Generator.

        Returns
        -------
        DataFrame
            One column per node, with its levels, or the midpoints of its bins.

        Raises
        ------
        ValueError, TypeError
            If `size` is not an integer >= 1 or `rng` is not a Generator.
        """
        check_is_fitted(self, "network_")
        _checks.integer("size", size, least=1)
        nodes = {n.node: n for n in self.network_.nodes}
        above = bayesian_network.graph({n: nodes[n].parents for n in nodes}, columns=self.network_.columns)
        drawn: dict[str, NDArray[np.int64]] = {}
        for name in nx.topological_sort(above):
            node = nodes[name]
            place = sum((drawn[p] * (s // node.strides[0]) for p, s in zip(node.parents, node.strides, strict=True)), 0)
            table = self.network_.table(name)[np.broadcast_to(place, size)]
            rising = np.cumsum(table, axis=1)
            drawn[name] = (_checks.generator(rng).random((size, 1)) * rising[:, -1:] >= rising).sum(axis=1)
        return pd.DataFrame({name: self._values(name, drawn[name]) for name in nodes})

    def export(self) -> dict[str, object]:
        """Return the released network as a dict of JSON values with the structure, the layout, the log parameters and
        the model card of the network. The dict does not contain counts.

        Returns
        -------
        dict
            Dict with keys format, columns, nodes and card.
        """
        check_is_fitted(self, "network_")
        nodes = [
            {"node": n.node, "parents": list(n.parents), "log_prob": p[0].tolist()}
            for n, p in zip(self.network_.nodes, self.network_.parameters, strict=True)
        ]
        return {
            "format": FORMAT,
            "columns": _support.described(self, self.supports_),
            "nodes": nodes,
            "card": self.card_,
        }

    @classmethod
    def from_export(cls, exported: Mapping[str, object]) -> "PrivateBayesianNetwork":
        """Build a fitted Bayesian network from a dict that `export` returned.

        Parameters
        ----------
        exported : result of `export`, e.g. read from JSON.

        Returns
        -------
        PrivateBayesianNetwork

        Raises
        ------
        ValueError, TypeError
            If `exported` has another format, or its parts are inconsistent.
        """
        parts = _model_card.opened(exported, FORMAT, ("nodes",))
        names = [str(k) if name is None else name for k, name in enumerate(parts.names)]
        sizes = {name: s.size for name, s in zip(names, parts.supports, strict=True)}
        parents, logs = _nodes(exported["nodes"], sizes)  # type: ignore[arg-type]
        none = np.empty((0, len(names)), dtype=np.int32)
        nodes = bayesian_network.count(none, columns=names, sizes=list(sizes.values()), parents=parents)
        model = cls(parents, mechanism=parts.mechanism)
        _support.name_columns(model, parts.names)
        model.supports_, model.card_ = parts.supports, parts.card
        model.network_ = Network(columns=tuple(names), nodes=[n.layout() for n in nodes], parameters=logs)
        for node in parents:
            _model_card.add_up(f"log_prob of {node!r}", model.network_.table(node), axis=1)
        return model

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _codes(self, columns: Sequence[Column]) -> NDArray[np.int32]:
        return np.column_stack([s.codes(c) for s, c in zip(self.supports_, columns, strict=True)])

    def _release(self, nodes: Sequence[NodeCounts], rng: np.random.Generator | None) -> list[Array]:
        smoothing = _checks.positive("smoothing", self.smoothing)
        if self.mechanism == "none":
            self.card_ = _model_card.open_card("Bayesian network", len(nodes), smoothing)
            return bayesian_network.smoothed(nodes, smoothing)
        budget = _checks.positive("epsilon", self.epsilon) / len(nodes)
        noise = calibrated_noise.calibrated(self.mechanism, [budget], order=self.order, exact=self.exact)
        source, stated = _model_card.randomness(self.random_state, rng)
        low = calibrated_noise.floors(self.floor, noise, smoothing=smoothing)
        self.card_ = _model_card.card(
            "Bayesian network",
            noise,
            epsilon=self.epsilon,
            order=self.order,
            releases=len(nodes),
            floor=low[0],
            random=stated,
        )
        return bayesian_network.release(nodes, noise, floor=self.floor, smoothing=smoothing, rng=source)

    def _values(self, name: str, codes: NDArray[np.int64]) -> NDArray[np.generic]:
        support = self.supports_[self.network_.columns.index(name)]
        if isinstance(support, Bins):
            return support.lower + (codes + 0.5) / support.bins * (support.upper - support.lower)
        return np.array(support.values, dtype=object)[codes]


def _nodes(stated: Sequence[object], sizes: Mapping[str, int]) -> tuple[dict[str, list[str]], list[Array]]:
    """Return the parents of every node of an exported network, and the log parameters of every node as an array of
    shape (1, cells). Memory use is bounded by the size of the input.
    """
    parents: dict[str, list[str]] = {}
    logs = []
    for node in stated:
        if not isinstance(node, Mapping) or not isinstance(node.get("node"), str):
            raise TypeError(
                "every node must be a dict that contains the key 'node' with a string as its value, got "
                f"{str(node)[:80]!r}"
            )
        name, above = node["node"], _model_card.texts("parents", node.get("parents"))
        if name in parents:
            raise ValueError(f"nodes must have distinct names, got {name!r} twice")
        if unknown := [n for n in (name, *above) if n not in sizes]:
            raise ValueError(
                f"nodes and their parents must be names of columns ({', '.join(sizes)}), got {unknown[0]!r}"
            )
        parents[name] = above
        cells = math.prod(sizes[n] for n in (name, *above))
        logs.append(_model_card.logs(f"log_prob of {name!r}", node.get("log_prob"), (cells,))[None])
    if not parents:
        raise ValueError("nodes must contain at least one node, got none")
    bayesian_network.graph(parents, columns=list(sizes))
    return parents, logs
