"""Synthetic data sets with the names of the UCI data sets, on which the experiments run without the UCI files."""

import numpy as np
import pandas as pd

from dpmultinomial._models.coded_table import CodedTable
from dpmultinomial._seeding import stream
from reproduction.papers.ponnoprat2022 import artefacts, catalogue, naive_bayes, networks

RECORDS, SEED = 400, 7
BAYES = {"order": 5.0, "epsilons": [1e-3, 0.03, 5.0], "repeats": 6, "splits": 1, "floors": ["sigma"]}
BAYES_DP = {"delta": 1e-5, "per_release": [0.01, 1.0], "targets": [0.1, 20.0], "gohari_r": [1e-5, 0.2], "repeats": 6}
NETWORKS = {"order": 5.0, "epsilons": [1e-3, 0.1], "repeats": 6}
NETWORKS_DP = {
    "delta": 1e-5,
    "per_release": [0.03, 3.0],
    "targets": [0.5, 100.0],
    "gohari_r": [1e-3, 0.05],
    "repeats": 6,
}


def records(name: str) -> CodedTable:
    """Return a synthetic data set with `RECORDS` records, in which all columns are correlated with the target."""
    nodes = tuple(catalogue.SOURCES[name].networks) or ("a", "b", "c", "d", "y")
    rng = stream(SEED, "stand-in", name)
    lean = rng.integers(0, 2, RECORDS)
    levels = 2 if catalogue.SOURCES[name].networks else 3
    parts = [np.where(rng.random(RECORDS) < 0.8, lean, rng.integers(0, levels, RECORDS)) for _ in nodes[:-1]]
    codes = np.column_stack([*parts, np.where(rng.random(RECORDS) < 0.9, lean, 1 - lean)]).astype(np.int32)
    names = [np.arange(k).astype(str) for k in codes.max(axis=0) + 1]
    # the name determines which columns the published copy rounds
    stated = name if catalogue.SOURCES[name].networks else "stand-in"
    return CodedTable(name=stated, columns=nodes, codes=codes, levels=tuple(names), numeric=(False,) * len(nodes))


def sized(name: str) -> CodedTable:
    """Return a synthetic data set with the size, the number of classes and the proportion of positives stated in Table
    1.
    """
    source = catalogue.SOURCES[name]
    rows, attributes, classes, positive = source.printed
    codes = np.zeros((rows, attributes + 1), dtype=np.int32)
    codes[:, -1] = np.arange(rows) % classes if positive is None else np.arange(rows) < positive * rows / 100
    levels = [np.array(["0"])] * attributes + [np.arange(classes).astype(str)]
    if source.positive:
        levels[-1] = np.array(["other", source.positive])
    columns = tuple(map(str, range(attributes + 1)))
    return CodedTable(name=name, columns=columns, codes=codes, levels=tuple(levels), numeric=(False,) * len(columns))


def experiments() -> dict[str, pd.DataFrame]:
    """Return the tables that the experiments compute with the patches that are active during the call."""
    every = {name: records(name) for name in catalogue.NAMES}
    few = {name: every[name] for name in catalogue.NETWORKS}

    def gathered(run, sets, settings):
        return pd.concat([run(t, name=n, root_seed=SEED, **settings) for n, t in sets.items()], ignore_index=True)

    bayes, bayes_dp = gathered(naive_bayes.runs, every, BAYES), gathered(naive_bayes.approximate, every, BAYES_DP)
    nets, nets_dp = gathered(networks.runs, few, NETWORKS), gathered(networks.approximate, few, NETWORKS_DP)
    made = {
        "figure_4": artefacts.figure_4(bayes),
        "figure_5": artefacts.figure_5(bayes),
        "figure_7": artefacts.figure_7(nets),
        "figure_9": artefacts.figure_9(bayes_dp),
        "figure_10": artefacts.figure_10(bayes_dp),
        "figure_11": artefacts.figure_11(nets_dp),
    }
    return made


def table_1(of=sized) -> pd.DataFrame:
    """Return Table 1, computed from the synthetic data sets of `sized`."""
    return artefacts.table_1(pd.concat([artefacts.facts(of(n), name=n) for n in catalogue.NAMES], ignore_index=True))


def numeric(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of a table in which all numbers, except the numbers in key columns, are replaced by NaN."""
    keys = {"order", "epsilon", "epsilon_hat", "r", "alpha", "cells", "eta", "gamma", "x", "split", "releases"}
    keys -= {"figure_3_top": {"epsilon"}, "figure_3_bottom": {"r"}, "figure_8": {"epsilon_hat"}}.get(name, set())
    return table.assign(**dict.fromkeys([c for c in table.select_dtypes("number") if c not in keys], np.nan))


__all__ = ["experiments", "numeric", "records", "sized", "table_1"]
