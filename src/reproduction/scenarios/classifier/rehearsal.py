"""Estimate the quality of a planned release from synthetic data, with reproducible noise. No result of this module is a
release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn.model_selection import train_test_split

from dpmultinomial._files import csv_table
from dpmultinomial._models import bayesian_network, calibrated_noise, coded_table, naive_bayes
from dpmultinomial._models.coded_table import CodedTable

TEST_SHARE, SPLIT = 0.3, 1  # seed of the only 70-30 split
Codes = NDArray[np.int32]
MEASURES = {
    "cross_entropy": "test cross-entropy",
    "accuracy": "test accuracy",
    "log_likelihood": "test log-likelihood",
}


@dataclass(frozen=True, kw_only=True)
class Design:
    """Design of an experiment that compares releases of a model by different mechanisms and at different privacy
    budgets. The design consists of the privacy budgets of the whole model at a Rényi order, the number of releases for
    each budget, and the lower bound of the noisy counts.
    """

    order: float
    epsilons: Sequence[float]
    repeats: int
    bins: int
    floor: float | str
    mechanisms: Sequence[str]
    network: Mapping[str, Sequence[str]]


def read(csv: str, *, target: str, numeric: Sequence[str]) -> CodedTable:
    """Return synthetic records with the values of all columns coded as categories. Missing numbers form a separate
    category.
    """
    records = csv_table.read(csv)
    frame = pd.DataFrame({column: records.texts(column) for column in records.columns}, dtype=str)
    return coded_table.encode(frame, name=Path(csv).stem, target=target, numeric=numeric, missing="category")


def split(data: CodedTable, *, bins: int, public_levels: bool = False) -> tuple[Codes, Codes, tuple[int, ...]]:
    """Return the coded categories of a training set and of a test set, and the number of categories of each column. The
    last column is the target.
    """
    train, test = train_test_split(np.arange(len(data.codes)), test_size=TEST_SHARE, random_state=SPLIT)
    learnt = coded_table.learn(data, train, public_levels=public_levels, bins=bins)
    return learnt.apply(data.codes[train]), learnt.apply(data.codes[test], to="test"), learnt.sizes


def scores(data: CodedTable, design: Design, *, level: float, rng: np.random.Generator) -> pd.DataFrame:
    """Return one row per measure, method and budget, with the mean over the releases, the standard deviation, and a t
    interval for the mean.

    The methods are naive Bayes and, if a network is given, a Bayesian network. Both are evaluated on one 70-30 split.
    """
    train, test, sizes = split(data, bins=design.bins)
    labels, truth = np.ascontiguousarray(train[:, -1]), test[:, -1]
    counts = naive_bayes.Counts(train[:, :-1], labels, sizes=sizes[:-1], classes=data.classes)
    cells, rows = counts.cells(test[:, :-1]), []
    for mechanism in design.mechanisms:
        each = np.asarray(design.epsilons) / (counts.features + 1)
        law = calibrated_noise.calibrated(mechanism, each, order=design.order)
        model = counts.release(law.repeated(design.repeats), floor=design.floor, rng=rng)
        rows += _two(mechanism, design, naive_bayes.score(model, cells, truth), level)
    rows += _two("non-private", None, naive_bayes.score(counts.smoothed(1.0), cells, truth), level)
    share = float(np.mean(truth == np.argmax(counts.labels)))
    rows.append(_row("majority", "accuracy", np.nan, np.array([share]), level))
    rows += _network(data, design, level, rng) if design.network else []
    return pd.DataFrame(rows)


def _two(method: str, design: Design | None, found: np.ndarray, level: float) -> list[dict[str, object]]:
    epsilons = [np.nan] if design is None else list(design.epsilons)
    blocks = found.reshape(len(epsilons), -1, 2)
    return [
        _row(method, measure, epsilon, block[:, k], level)
        for k, measure in enumerate(("cross_entropy", "accuracy"))
        for epsilon, block in zip(epsilons, blocks, strict=True)
    ]


def _row(method: str, measure: str, epsilon: float, values: np.ndarray, level: float) -> dict[str, object]:
    mean, several = float(values.mean()), len(values) > 1
    sd = float(values.std(ddof=1)) if several else 0.0
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * sd / np.sqrt(len(values))) if several else 0.0
    budget = "" if np.isnan(epsilon) else f", epsilon = {epsilon:.12g}"
    return {
        "quantity": f"{MEASURES[measure]}, {method}{budget}",
        "mean": mean,
        "sd": sd,
        "lower": mean - half,
        "upper": mean + half,
        "level": level,
        "status": "approximate" if several else "exact",
        "type": "parameter",
        "error": sd / len(values) ** 0.5 if several else 0.0,
    }


def _network(data: CodedTable, design: Design, level: float, rng: np.random.Generator) -> list[dict[str, object]]:
    train, test, sizes = split(data, bins=design.bins, public_levels=True)
    nodes = bayesian_network.count(train, columns=data.columns, sizes=sizes, parents=design.network)

    def score(parameters: list[np.ndarray]) -> np.ndarray:
        return bayesian_network.log_likelihoods(parameters, nodes, test, columns=data.columns)[0]

    rows = []
    for mechanism in design.mechanisms:
        each = np.asarray(design.epsilons) / len(nodes)
        law = calibrated_noise.calibrated(mechanism, each, order=design.order).repeated(design.repeats)
        values = score(bayesian_network.release(nodes, law, floor=design.floor, rng=rng))
        blocks = zip(design.epsilons, values.reshape(len(design.epsilons), -1), strict=True)
        rows += [_row(f"network, {mechanism}", "log_likelihood", epsilon, block, level) for epsilon, block in blocks]
    values = score(bayesian_network.smoothed(nodes, 1.0))
    return [*rows, _row("network, non-private", "log_likelihood", np.nan, values, level)]
