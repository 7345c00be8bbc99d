"""The epsilon at a delta in the records of releases, against exact sums over the noise of the counts that change."""

import json
import math

import numpy as np
import pytest
from scipy import optimize

from dpmultinomial._accounting.privacy_profiles import dirichlet_epsilon
from dpmultinomial._releases import losses, room
from dpmultinomial._releases.spending import ADD_OR_REMOVE, REPLACE, Cost
from reproduction.report.scenarios import record_in_words

COUNTS = "category,count\na,10\nb,20\nc,30\n"
TREE = "category,parent,count\nstate,,8\nnorth,state,5\nsouth,state,3\n"
TABLE = "y,x\na,c\nb,d\na,d\nb,c\n"


def made(root, text, settings, **budget):
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential/f.csv").write_text(text)
    place = room.make(
        "r", {"data": "confidential/f.csv", **settings}, budgets={"r": budget} if budget else {}, root=root
    )
    return json.loads((place / "record.json").read_text())


def exact(weights, changes, delta):
    """Epsilon at delta by enumeration of the noise of all changed counts."""
    half = len(weights[0]) // 2
    parts = []
    for w, change in zip(weights, changes, strict=True):
        p = w / w.sum()
        inside = slice(0, len(p) - change)
        parts.append((p[inside], np.log(p[inside]) - np.log(p[change:])))
    losses_of, masses = np.zeros(1), np.ones(1)
    for p, loss in parts:
        losses_of, masses = np.add.outer(losses_of, loss).ravel(), np.multiply.outer(masses, p).ravel()
    assert half > 20

    def gap(level):
        return math.log(max((masses * -np.expm1(np.minimum(level - losses_of, 0))).sum(), 1e-300)) - math.log(delta)

    return optimize.brentq(gap, 0, losses_of.max() - 1e-9, xtol=1e-12)


def laplace(scale, half=60):
    return np.exp(-np.abs(np.arange(-half, half + 1)) / scale)


def gaussian(sigma, half=60):
    return np.exp(-((np.arange(-half, half + 1) / sigma) ** 2) / 2)


def test_counts_that_are_replaced(tmp_path):
    record = made(tmp_path, COUNTS, {"mechanism": "discrete_laplace", "epsilon": 1.0}, epsilon=9, delta=1e-5)
    stated = record["epsilon_at_delta"]
    assert (stated["delta"], stated["method"]) == (1e-5, "loss distributions")
    assert stated["epsilon"] == pytest.approx(exact([laplace(2.0)] * 2, (1, 1), 1e-5), abs=1e-6)
    assert stated["epsilon"] < record["cost"]["epsilon"] == record["against_ceiling"]["epsilon"]
    words = dict(record_in_words(record))["epsilon of this release alone, at a delta"]
    assert words.startswith("epsilon 0.99")
    assert words.endswith("delta 1e-05, method loss distributions")


def test_gaussian_noise(tmp_path):
    record = made(tmp_path, COUNTS, {"mechanism": "discrete_gaussian", "rho": 0.25})
    stated = record["epsilon_at_delta"]
    assert stated["delta"] == losses.DELTA == 1e-6
    assert stated["epsilon"] == pytest.approx(exact([gaussian(2.0)] * 2, (1, 1), 1e-6), abs=1e-6)


def test_larger_sensitivities_are_the_worst_of_all_splits(tmp_path):
    record = made(tmp_path, COUNTS, {"mechanism": "discrete_gaussian", "rho": 0.5, "sensitivity": 4})
    found = record["epsilon_at_delta"]["epsilon"]
    both = [exact([gaussian(2.0)], (2,), 1e-6), exact([gaussian(2.0, 21)] * 4, (1,) * 4, 1e-6)]
    assert max(both) <= found <= max(both) + 0.05


@pytest.mark.parametrize("relation", [None, REPLACE])
def test_a_tree_adds_the_losses_of_its_levels(tmp_path, relation):
    levels = {"levels": ["state", "region"], "relation": relation} if relation else {"levels": ["state", "region"]}
    record = made(tmp_path, TREE, {"mechanism": "discrete_laplace", "epsilon": 1.0, **levels})
    scales = list(record["scale"].values())
    assert len(scales) == (1 if relation else 2)
    weights = [laplace(s, 40) for s in scales for _ in range(2 if relation else 1)]
    delta = record["epsilon_at_delta"]["delta"]
    expected = exact(weights, (1,) * len(weights), delta)
    assert expected - 1e-9 <= record["epsilon_at_delta"]["epsilon"] <= expected + 1e-3


def test_models_and_statistics(tmp_path):
    model = {"target": "y", "levels": {"y": ["a", "b"], "x": ["c", "d"]}}
    settings = {"mechanism": "naive_bayes", "noise": "dirichlet", "epsilon": 1.0, "order": 3, "delta": 1e-5, **model}
    record = made(tmp_path, TABLE, settings)
    found = record["epsilon_at_delta"]
    assert (found["delta"], found["method"]) == (1e-5, "loss distributions")
    one = dirichlet_epsilon(1e-5, r=record["r"], alpha=record["alpha"])
    assert one < found["epsilon"] < 2 * one


def test_without_losses_the_cost_is_converted():
    cost = Cost(relation=ADD_OR_REMOVE, rho=0.1)
    stated = losses.at_delta(cost, None, delta=1e-6)
    assert stated["method"] == "conversion"
    assert stated["epsilon"] == pytest.approx(2.1419, abs=1e-4)  # published for 10 discrete Gaussian releases
    assert losses.of_counts("discrete_laplace", 2.0, change=40, relation=REPLACE) is None
    assert losses.of_counts("discrete_gaussian", 1e7, change=2, relation=REPLACE) is None
    known = losses.of_levels("discrete_gaussian", [2.0, 1e7], change=2, relation=REPLACE)
    assert known is None
