"""A user's own CSV file -> how naive Bayes (and a network) fares on it with and without privacy."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpmultinomial.models import bayesian_network, calibrated_noise, coded_table, naive_bayes

from . import artefacts, experiment
from .naive_bayes import COLUMNS


def table(
    *,
    csv: str,
    target: str,
    numeric: Sequence[str],
    order: float,
    epsilons: Sequence[float],
    repeats: int,
    bins: int,
    floor: float | str,
    mechanisms: Sequence[str],
    network: Mapping[str, Sequence[str]],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Test scores of every mechanism at every budget; parameters are the keys of a scenario (config.yaml).

    Returns
    -------
    DataFrame as `artefacts.scores` makes it; with a network also rows whose `log_likelihood` is filled.
    """
    frame = pd.read_csv(csv, dtype=str, keep_default_na=False)
    data = coded_table.encode(frame, name=Path(csv).stem, target=target, numeric=numeric)
    found = experiment.split(data, 0, bins=bins)
    labels, test = np.ascontiguousarray(found.train[:, -1]), found.test
    counts = naive_bayes.Counts(found.train[:, :-1], labels, sizes=found.sizes[:-1], classes=data.classes)
    cells, truth = counts.cells(test[:, :-1]), test[:, -1]
    rows = []
    for mechanism in mechanisms:
        law = calibrated_noise.calibrated(mechanism, np.asarray(epsilons) / (counts.features + 1), order=order)
        model = counts.release(law.repeated(repeats), floor=floor, rng=rng)
        rows.append(_rows(mechanism, floor, np.repeat(epsilons, repeats), naive_bayes.score(model, cells, truth)))
    rows.append(_rows("non-private", 1.0, [np.nan], naive_bayes.score(counts.smoothed(1.0), cells, truth)))
    share = float(np.mean(truth == np.argmax(counts.labels)))
    rows.append(_rows("majority", "none", [np.nan], np.array([[np.nan, share]])))
    runs = pd.concat(rows, ignore_index=True).assign(log_likelihood=np.nan)
    if network:
        runs = pd.concat([runs, _network(data, network, order, epsilons, repeats, bins, floor, mechanisms, rng)])
    runs = runs.assign(dataset=data.name, variant="corrected", split=0, note="")
    return artefacts.scores(runs[[*(c for c in COLUMNS if c != "repeat"), "log_likelihood"]])


def _rows(method: str, floor: float | str, epsilons: Sequence[float], found: np.ndarray) -> pd.DataFrame:
    named = {"method": method, "floor": "none" if method == "dirichlet" else str(floor), "epsilon": epsilons}
    return pd.DataFrame(named | {"cross_entropy": found[:, 0], "accuracy": found[:, 1]})


def _network(
    data: coded_table.CodedTable,
    network: Mapping[str, Sequence[str]],
    order: float,
    epsilons: Sequence[float],
    repeats: int,
    bins: int,
    floor: float | str,
    mechanisms: Sequence[str],
    rng: np.random.Generator,
) -> pd.DataFrame:
    found = experiment.split(data, 0, bins=bins, public_levels=True)
    names = {"columns": data.columns}
    nodes = bayesian_network.count(found.train, **names, sizes=found.sizes, parents=network)
    rows = []
    for mechanism in mechanisms:
        law = calibrated_noise.calibrated(mechanism, np.asarray(epsilons) / len(nodes), order=order).repeated(repeats)
        released = bayesian_network.release(nodes, law, floor=floor, rng=rng)
        value, _ = bayesian_network.log_likelihoods(released, nodes, found.test, **names)
        row = {"method": f"network, {mechanism}", "epsilon": np.repeat(epsilons, repeats), "log_likelihood": value}
        rows.append(pd.DataFrame(row))
    value, _ = bayesian_network.log_likelihoods(bayesian_network.smoothed(nodes, 1.0), nodes, found.test, **names)
    rows.append(pd.DataFrame({"method": "network, non-private", "epsilon": [np.nan], "log_likelihood": value}))
    return pd.concat(rows, ignore_index=True).assign(floor=str(floor), cross_entropy=np.nan, accuracy=np.nan)
