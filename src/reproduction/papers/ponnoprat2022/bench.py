"""Measure the speed of the naive Bayes experiment at the size used in the paper, and compare the released classifiers
with the classifiers of diffprivlib.

diffprivlib is not a dependency of the project and does not support the newest scikit-learn. Set
DIFFPRIVLIB_PYTHON=/path/to/python to a Python with diffprivlib. Otherwise, its rows are reported as not run.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import Beside, NotRun, Row, limited, peak_memory, timed
from reference import private_blocks as numpy_blocks
from sklearn.model_selection import train_test_split

from dpmultinomial._accounting import composition
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._models import calibrated_noise, naive_bayes
from dpmultinomial._models.naive_bayes import PrivateNaiveBayes
from dpmultinomial._seeding import stream
from reproduction.papers.ponnoprat2022 import catalogue, datasets
from reproduction.papers.ponnoprat2022 import naive_bayes as experiment

ROOT = Path(__file__).parents[4]
FOLDERS = [ROOT / "data/uci", ROOT / "../shared/uci"]
EPSILONS, REPEATS, ORDER = np.geomspace(1e-3, 10, 10), 10, 5.0
BUDGETS, DELTA, SEEDS = (0.1, 1.0, 10.0), 1e-6, 10
PURE = 1e6  # Rényi order whose epsilon equals that of pure privacy to 1e-6


def benchmarks():
    tables = {name: _table(name) for name in catalogue.NAMES}
    available = {name: table for name, table in tables.items() if table is not None}
    for name in tables.keys() - available.keys():
        yield NotRun(name, "its files are in none of the folders")
    if not available:
        available = {"bundled_digits": datasets.load("bundled_digits", folders=[], download=False)}
    largest = max(available, key=lambda name: available[name].codes.size)
    every = f"{len(available)} sets x 10 epsilons x 10 repeats x 5 methods"
    yield limited(every, lambda: [_compiled(table) for table in available.values()], 60.0, 1)
    ours, plain = timed(lambda: _compiled(available[largest]), 3), timed(lambda: _plain(available[largest]), 1)
    yield Row(f"{largest}: the same, compiled", ours, "plain pandas/NumPy", plain, 10)
    counts, test = experiment.prepared(available[largest], "corrected", 0)
    law = calibrated_noise.calibrated("dirichlet", EPSILONS / (counts.features + 1), order=ORDER).repeated(REPEATS)
    model = counts.release(law, floor=1.0, rng=stream(1, "bench"))
    cells, labels = counts.cells(test.test[:, :-1]), test.test[:, -1]
    half = timed(lambda: naive_bayes.score(model, cells[::2].copy(), labels[::2]), 5)
    whole = timed(lambda: naive_bayes.score(model, cells, labels), 5)
    yield Row(f"{largest}: scoring all test rows", whole, "half of them: linear in rows", half, 0.45)
    yield Row("peak memory of the process", peak_memory(), "limit", 1024.0, unit="MiB")
    yield _estimator()
    yield from _beside_diffprivlib(available)


def _estimator():
    """Measure the time for fitting and scoring a private naive Bayes classifier with 100,000 records and 10 columns."""
    rng = stream(1, "bench", "estimators")
    y = rng.integers(0, 2, 100_000)
    X = rng.normal(y[:, None], 1.0, (100_000, 10))
    ours = PrivateNaiveBayes(bounds=(-4.0, 5.0), classes=[0, 1], epsilon=1.0, random_state=1)
    return limited("PrivateNaiveBayes: fit and score 100,000 x 10", lambda: ours.fit(X, y).score(X, y), 1.0)


def _beside_diffprivlib(tables):
    """Compare the test errors of Laplace noise, the Dirichlet mechanism and diffprivlib at equal epsilon. The Dirichlet
    mechanism is (epsilon, 1e-6)-DP, and the other two methods are epsilon-DP.

    For both libraries, bounds and levels are taken from the data, and all releases use the same split. Neighbouring
    data sets of diffprivlib differ by adding or removing a record, ours by replacing a record, which is a stricter
    guarantee for the same number.
    """
    arrays = {name: _arrays(table) for name, table in tables.items()}
    theirs = _theirs(arrays)
    if isinstance(theirs, str):
        yield NotRun("test errors beside diffprivlib", theirs)
        return
    for name, data in arrays.items():
        for i, epsilon in enumerate(BUDGETS):
            errors, seconds = theirs[name][i]
            label = f"{name}: test error, epsilon = {epsilon:g}"
            our_errors, took = _errors(data, "laplace", epsilon, PURE)
            yield Beside(f"{label}, Laplace", our_errors, errors, "diffprivlib")
            if epsilon == 1.0:
                yield Row(f"{name}: fit and score", took, "diffprivlib", seconds)
            budget, order = _renyi(epsilon, len(data["sizes"]) + 1)
            our_errors, _ = _errors(data, "dirichlet", budget, order)
            yield Beside(f"{label}, delta = 1e-6, Dirichlet", our_errors, errors, "diffprivlib")


def _arrays(table):
    """Return the features, the class labels, the bounds of the features and the published train-test split of a data
    set. The features are numbers, and text values are replaced by codes. Constant columns are omitted.
    """
    codes, y = table.features, table.codes[:, -1]
    kept = [k for k in range(codes.shape[1]) if len(table.levels[k]) > 1]
    levels = [np.asarray(table.levels[k] if table.numeric[k] else range(len(table.levels[k])), float) for k in kept]
    X = np.column_stack([level[codes[:, k]] for k, level in zip(kept, levels, strict=True)])
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=1)
    bounds = np.array([[level.min() for level in levels], [level.max() for level in levels]])
    sizes = [0 if table.numeric[k] else len(table.levels[k]) for k in kept]  # 0 for a number that is to be binned
    return {"X": X, "y": y, "bounds": bounds, "train": train, "test": test, "sizes": sizes}


def _theirs(arrays):
    """Return the test errors of diffprivlib and its computing time in seconds, or the reason why diffprivlib could not
    be run.
    """
    python = os.environ.get("DIFFPRIVLIB_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in arrays.items():
            np.savez(Path(folder) / f"{name}.npz", **{key: data[key] for key in ("X", "y", "bounds", "train", "test")})
        script = [python, Path(__file__).with_name("beside_diffprivlib_script.py"), folder, SEEDS, *BUDGETS]
        run = subprocess.run([str(word) for word in script], capture_output=True, text=True)
    if run.returncode:
        return f"{python}: {run.stderr.strip().splitlines()[-1]}"
    return json.loads(run.stdout)


def _errors(data, mechanism, epsilon, order):
    """Return the test errors of `SEEDS` releases of a model, and the CPU seconds of the fastest release."""
    X, y = data["X"], data["y"]
    columns = range(X.shape[1])
    common = {
        "levels": {k: list(map(float, range(data["sizes"][k]))) for k in columns if data["sizes"][k]},
        "bounds": {k: tuple(data["bounds"][:, k]) for k in columns if not data["sizes"][k]},
        "classes": np.unique(y).tolist(),
    }
    errors = []

    def fit():
        model = PrivateNaiveBayes(mechanism, epsilon=epsilon, order=order, random_state=len(errors), **common)
        model.fit(X[data["train"]], y[data["train"]])
        errors.append(1 - model.score(X[data["test"]], y[data["test"]]))

    seconds = timed(fit, SEEDS)
    return errors, seconds


def _renyi(epsilon, releases):
    """Return the Rényi budget and the order for which the Dirichlet mechanism needs the fewest pseudo-records to
    satisfy (epsilon, delta)-differential privacy.
    """
    candidates = []
    for order in 1 + np.geomspace(0.05, 1e5, 60):
        budget = composition.dp_to_rdp(epsilon, order=order, delta=DELTA)
        if budget > 0:
            r, alpha = dirichlet.calibrate(budget / releases, order=order)
            candidates.append((alpha / r, budget, order))
    return min(candidates)[1:]


def _table(name):
    try:
        return datasets.load(name, folders=FOLDERS, download=False)
    except datasets.UnavailableError:
        return None


def _laws(features):
    each = EPSILONS / (features + 1)
    return [calibrated_noise.calibrated(m, each, order=ORDER).repeated(REPEATS) for m in calibrated_noise.MECHANISMS]


def _compiled(table):
    """Run the models of the benchmark with the compiled code. There are models with Dirichlet, Gaussian and Laplace
    releases, a non-private model, and random guessing.
    """
    counts, test = experiment.prepared(table, "corrected", 0)
    cells, labels = counts.cells(test.test[:, :-1]), test.test[:, -1]
    rng = stream(1, "bench")
    scores = [
        naive_bayes.score(counts.release(law, floor="sigma", rng=rng), cells, labels) for law in _laws(counts.features)
    ]
    scores.append(naive_bayes.score(counts.smoothed(0.1), cells, labels))
    return scores, rng.random((len(labels), table.classes)).argmax(axis=1) == labels


def _plain(table):
    """Fit and score the benchmark models with a reference implementation that processes one release at a time. Records
    are counted in pandas, and releases and scores are computed in NumPy.
    """
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
        scores.append(numpy_blocks.scores(shares, flat, cells, labels))
    return scores
