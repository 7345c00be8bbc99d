"""Compute Figures 6, 7 and 11 of the paper, which show results for Bayesian networks on three UCI data sets.

The variants are `published`, the author's protocol (epsilon is divided by 3, the number of data sets, instead of by the
number of nodes; only cells that occur in the training records are released; test cells without a released cell are
skipped); `stated_share`, the same with epsilon divided by the number of nodes, which still differs from the mechanism
in the text; and `corrected`, which releases every possible cell, counts every test cell, and raises counts to the sd of
the noise.
"""

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._models import bayesian_network, calibrated_noise
from dpmultinomial._models.bayesian_network import NodeCounts
from dpmultinomial._models.calibrated_noise import Noise
from dpmultinomial._models.coded_table import CodedTable
from dpmultinomial._seeding import stream

from . import catalogue, experiment
from .naive_bayes import PUBLISHED_FLOOR

DATASETS_IN_THE_SLIP = 3
COLUMNS = ("dataset", "variant", "method", "floor", "epsilon", "repeat", "log_likelihood", "counted", "note")
NAMES = {
    **{"wohn": "housing", "verm": "property", "alter": "age", "hoehe": "amount", "buerge": "other-debtors"},
    **{"famges": "sex-marital", "verw": "purpose", "rate": "installment-rate", "laufzeit": "duration"},
    **{"pers": "people-liable", "gastarb": "foreign-worker", "bishkred": "num-credits", "moral": "credit-hist"},
    **{"weitkred": "other-installment", "day_of_week": "day-of-week"},
}


def figure_6() -> pd.DataFrame:
    """Return the edges of the three networks and the positions of the nodes. The layer of a node is the length of the
    longest path from a root.
    """
    rows = []
    for dataset in catalogue.NETWORKS:
        parents = catalogue.SOURCES[dataset].networks
        network = bayesian_network.graph(parents, columns=tuple(parents))
        for depth, layer in enumerate(nx.topological_generations(network)):
            for place, node in enumerate(sorted(layer)):
                for parent in parents[node] or ("",):
                    x = (place + 0.5) / len(layer)
                    rows.append((dataset, NAMES.get(node, node), NAMES.get(parent, parent), x, depth))
    return pd.DataFrame(rows, columns=["dataset", "node", "parent", "x", "depth"])


class Prepared:
    """Counts and test records for one variant of the experiment with Bayesian networks."""

    def __init__(self, table: CodedTable, variant: str) -> None:
        corrected = variant == "corrected"
        source = table if corrected else experiment.published_table(table)
        split = experiment.split(source, 0, match="nearest" if corrected else "exact", public_levels=corrected)
        parents = catalogue.SOURCES[table.name].networks
        support = "public" if corrected else "observed"
        names: dict[str, Any] = {"columns": table.columns, "sizes": split.sizes}
        self.nodes: list[NodeCounts] = bayesian_network.count(split.train, **names, parents=parents, support=support)
        self.columns, self.test, self.records = table.columns, split.test, len(split.train)

    def score(self, parameters: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], float]:
        """Return the log-likelihood of the test records for every release. The proportion of terms that the
        log-likelihood includes is also returned.
        """
        return bayesian_network.log_likelihoods(parameters, self.nodes, self.test, columns=self.columns)

    def private(
        self,
        method: str,
        floor: float | str,
        epsilons: Sequence[float] | NDArray[np.float64],
        law: Noise,
        repeats: int,
        rng: np.random.Generator,
    ) -> pd.DataFrame:
        """Return the scores of `repeats` releases of a network at every epsilon."""
        released = bayesian_network.release(self.nodes, law.repeated(repeats), floor=floor, rng=rng)
        value, counted = self.score(released)
        rows = {"epsilon": np.repeat(epsilons, repeats), "repeat": np.tile(np.arange(repeats), len(epsilons))}
        named = {"method": method, "floor": "none" if law.law == "dirichlet" else str(floor)}
        return pd.DataFrame(rows | {"log_likelihood": value, "counted": counted}).assign(**named)

    def non_private(self, smoothings: Sequence[float]) -> pd.DataFrame:
        """Return the scores of the non-private network for each smoothing constant."""
        rows = []
        for smoothing in smoothings:
            value, counted = self.score(bayesian_network.smoothed(self.nodes, smoothing))
            rows.append(("non-private", str(smoothing), np.nan, 0, value[0], counted))
        return pd.DataFrame(rows, columns=["method", "floor", "epsilon", "repeat", "log_likelihood", "counted"])


def runs(
    table: CodedTable | str, *, name: str, order: float, epsilons: Sequence[float], repeats: int, root_seed: int
) -> pd.DataFrame:
    """Return the log-likelihoods of the networks on the test records, with one row per release. The arguments are the
    same as for `naive_bayes.runs`.
    """
    if isinstance(table, str):
        return missing(name, table)
    parts = []
    for variant, drawn in (("published", "published"), ("stated_share", "as_written"), ("corrected", "corrected")):
        rng = stream(root_seed, "ponnoprat2022", "networks", name, drawn)  # names of streams must not change
        prepared = Prepared(table, variant)
        nodes = DATASETS_IN_THE_SLIP if variant == "published" else len(prepared.nodes)
        each = np.asarray(epsilons) / nodes
        corrected = variant == "corrected"
        for method in calibrated_noise.MECHANISMS:
            law = calibrated_noise.calibrated(method, each, order=order, laplace="exact" if corrected else "one cell")
            floor = "sigma" if corrected else PUBLISHED_FLOOR
            parts.append(prepared.private(method, floor, epsilons, law, repeats, rng).assign(variant=variant))
        if corrected:
            tight = calibrated_noise.calibrated("dirichlet", each, order=order, exact=True)
            likelihoods = prepared.private("dirichlet, exact", "none", epsilons, tight, repeats, rng)
            parts.append(likelihoods.assign(variant=variant))
        parts.append(prepared.non_private((0.1, 1.0) if corrected else (0.1,)).assign(variant=variant))
    return pd.concat(parts, ignore_index=True).assign(dataset=name, note="")[list(COLUMNS)]


def approximate(
    table: CodedTable | str,
    *,
    name: str,
    delta: float,
    per_release: Sequence[float],
    targets: Sequence[float],
    gohari_r: Sequence[float],
    repeats: int,
    root_seed: int,
) -> pd.DataFrame:
    """Return the results for Figure 11 in the format of `runs`. The column `epsilon` is the epsilon_hat of the whole
    network, and the arguments are the same as for `naive_bayes.approximate`.
    """
    if isinstance(table, str):
        return missing(name, table)
    parts = []
    for variant in ("published", "corrected"):
        rng = stream(root_seed, "ponnoprat2022", "networks_dp", name, variant)
        prepared = Prepared(table, variant)
        k = len(prepared.nodes)
        published = variant == "published"
        reach = np.asarray(per_release) * 2 * np.sqrt(2 * k * np.log(1 / delta)) if published else np.asarray(targets)
        for method in calibrated_noise.MECHANISMS:
            if published:
                share = delta / (2 * DATASETS_IN_THE_SLIP)
                law = experiment.published_noise(method, per_release, delta=delta, share=share)
            else:
                law = experiment.corrected_noise(method, targets, delta=delta, releases=k)
            floor = PUBLISHED_FLOOR if published else "sigma"
            parts.append(prepared.private(method, floor, reach, law, repeats, rng).assign(variant=variant))
        law = Noise("dirichlet", np.asarray(gohari_r, dtype=float), 1 + 4 * np.asarray(gohari_r, dtype=float))
        sizes = [int(s) for n in prepared.nodes for s in np.diff(n.starts)]
        charged: dict[str, Any] = {"total": prepared.records, "sizes": sizes, "delta": delta, "releases": k}
        reach = [
            experiment.gohari_epsilon(float(r), float(a), **charged) for r, a in zip(law.scale, law.alpha, strict=True)
        ]
        parts.append(prepared.private("gohari", "none", reach, law, repeats, rng).assign(variant=variant))
        parts.append(prepared.non_private((0.1,)).assign(variant=variant))
    return pd.concat(parts, ignore_index=True).assign(dataset=name, note="")[list(COLUMNS)]


def missing(name: str, reason: str) -> pd.DataFrame:
    """Return one row that marks a data set as unavailable and states the reason."""
    row = dict.fromkeys(COLUMNS, np.nan) | {"dataset": name, "variant": "corrected", "method": "not_run"}
    return pd.DataFrame([row | {"floor": "none", "repeat": 0, "note": reason}], columns=list(COLUMNS))
