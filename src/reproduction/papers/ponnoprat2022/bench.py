"""The naive Bayes experiment at the paper's size: compiled against plain pandas/NumPy, and its growth with rows."""

import resource
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from run import timed

from dpmultinomial.kernels.reference import naive_bayes_scores as numpy_scores
from dpmultinomial.kernels.reference import private_blocks as numpy_blocks
from dpmultinomial.models import PrivateNaiveBayes, calibrated_noise, naive_bayes
from dpmultinomial.seeding import stream
from reproduction.papers.ponnoprat2022 import catalogue, datasets, retrieval
from reproduction.papers.ponnoprat2022 import naive_bayes as experiment

ROOT = Path(__file__).parents[4]
FOLDERS = [ROOT / "data/uci", ROOT / "../shared/uci"]
EPSILONS, REPEATS, ORDER = np.geomspace(1e-3, 10, 10), 10, 5.0


def benchmarks():
    tables = {name: _table(name) for name in catalogue.NAMES}
    found = {name: table for name, table in tables.items() if table is not None}
    if not found:
        found = {"bundled_digits": datasets.load("bundled_digits", folders=[], download=False)}
    largest = max(found, key=lambda name: found[name].codes.size)
    every = timed(lambda: [_compiled(table) for table in found.values()], 3)
    ours, plain = timed(lambda: _compiled(found[largest]), 5), timed(lambda: _plain(found[largest]), 1)
    counts, test = experiment.prepared(found[largest], "corrected", 0)
    law = calibrated_noise.calibrated("dirichlet", EPSILONS / (counts.features + 1), order=ORDER).repeated(REPEATS)
    model = counts.release(law, floor=1.0, rng=stream(1, "bench"))
    cells, labels = counts.cells(test.test[:, :-1]), test.test[:, -1]
    half = timed(lambda: naive_bayes.score(model, cells[::2].copy(), labels[::2]), 5)
    whole = timed(lambda: naive_bayes.score(model, cells, labels), 5)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = [
        (f"{len(found)} sets x 10 epsilons x 10 repeats x 5 methods", every, "one minute", 60.0, "under 60 s"),
        (f"{largest}: the same, compiled", ours, "plain pandas/NumPy", plain, ">= 10"),
        (f"{largest}: scoring all test rows", whole, "half of them", half, ">= 0.45: linear in rows"),
        ("peak memory, GiB (not seconds)", memory, "one GiB", 1.0, "under 1 GiB"),
    ]
    rows += _estimators()
    keys = ("name", "seconds", "baseline", "baseline_seconds", "target")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _estimators():
    """Fitting a frame of 100,000 records and 10 columns; with diffprivlib, the same on its continuous columns."""
    rng = stream(1, "bench", "estimators")
    y = rng.integers(0, 2, 100_000)
    X = rng.normal(y[:, None], 1.0, (100_000, 10))
    ours = PrivateNaiveBayes(bounds=(-4.0, 5.0), classes=[0, 1], epsilon=1.0, random_state=1)
    seconds = timed(lambda: ours.fit(X, y).score(X, y), 3)
    rows = [("PrivateNaiveBayes: fit and score 100,000 x 10", seconds, "one second", 1.0, "under 1 s")]
    if find_spec("diffprivlib"):
        peers = import_module("diffprivlib.models")
        theirs = peers.GaussianNB(epsilon=1.0, bounds=(-4.0, 5.0))
        baseline = timed(lambda: theirs.fit(X, y).score(X, y), 3)
        pure = PrivateNaiveBayes("laplace", bounds=(-4.0, 5.0), classes=[0, 1], random_state=1)
        scaled = pure.set_params(epsilon=1.0, order=1e6).fit(X, y)  # order to infinity is pure epsilon
        gap = scaled.score(X, y) - theirs.score(X, y)
        name = f"the same beside diffprivlib, accuracy {gap:+.3f}"
        rows.append((name, seconds, "diffprivlib", baseline, ">= 1"))
    return rows


def _table(name):
    try:
        return datasets.load(name, folders=FOLDERS, download=False)
    except retrieval.UnavailableError:
        return None


def _laws(features):
    each = EPSILONS / (features + 1)
    return [calibrated_noise.calibrated(m, each, order=ORDER).repeated(REPEATS) for m in calibrated_noise.MECHANISMS]


def _compiled(table):
    """Dirichlet, Gaussian, Laplace, non-private, random."""
    counts, test = experiment.prepared(table, "corrected", 0)
    cells, labels = counts.cells(test.test[:, :-1]), test.test[:, -1]
    rng = stream(1, "bench")
    scores = [
        naive_bayes.score(counts.release(law, floor="sigma", rng=rng), cells, labels) for law in _laws(counts.features)
    ]
    scores.append(naive_bayes.score(counts.smoothed(0.1), cells, labels))
    return scores, rng.random((len(labels), table.classes)).argmax(axis=1) == labels


def _plain(table):
    """The same with pandas counting and NumPy releases and scores, one release at a time."""
    counts, test = experiment.prepared(table, "corrected", 0)
    train = pd.DataFrame(test.train)
    crossed = [pd.crosstab(train.iloc[:, -1], train.iloc[:, k]).to_numpy() for k in counts.kept]
    values = np.hstack(crossed).astype(float)
    starts, priors = counts._by_class(), np.array([0, counts.classes])
    cells, labels = counts.cells(test.test[:, :-1]), np.ascontiguousarray(test.test[:, -1])
    rng = stream(1, "bench")
    scores = []
    for law in _laws(counts.features):
        low = None if law.law == "dirichlet" else law.sd()
        common = {"law": law.law, "scale": law.scale, "alpha": law.alpha, "floors": low, "rng": rng}
        shares = numpy_blocks.release(counts.labels.astype(float), priors, **common)
        released = numpy_blocks.release(values.ravel(), starts, **common)
        flat = released.reshape(len(law.scale), counts.classes, -1).transpose(0, 2, 1)
        scores.append(numpy_scores.scores(shares, flat, cells, labels))
    return scores
