"""Tests of exported models that were changed: rejected with a clear error, or the predictions are finite numbers."""

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._models import _model_card
from dpmultinomial._models.naive_bayes import PrivateNaiveBayes
from dpmultinomial._models.private_network import PrivateBayesianNetwork
from dpmultinomial._seeding import stream

X = pd.DataFrame({"size": [0.5, 1.5, 2.5, 9.0] * 10, "colour": ["red", "blue", "red", "red"] * 10})
Y = np.array([0, 1, 1, 1] * 10)
PUBLIC = {"levels": {"colour": ["red", "blue", "green"]}, "bounds": {"size": (0.0, 4.0)}, "bins": 3}
WRONG = (
    *(None, True, False, "", "x", -1, 0, 1, 0.5, -0.5, 2, 10**400, -(10**400), 1e308, -1e308, -1e300, 5e-324),
    *(float("nan"), float("inf"), -float("inf"), [], [[]], [0.0], [[0.0]], ["x"], [None], [float("nan")], {}),
    *({"a": 1}, {"kind": "levels"}, [[[0.0]]], "nan", b"x", 1j, object(), np.float64(0.5), (0.0, 1.0)),
)


def bayes():
    model = PrivateNaiveBayes(epsilon=2.0, classes=[0, 1], random_state=0, **PUBLIC).fit(X, Y)
    return model.export(), PrivateNaiveBayes, lambda back: back.predict_log_proba(X)


def network():
    parents = {"size": [], "colour": ["size"]}
    model = PrivateBayesianNetwork(parents, epsilon=2.0, random_state=0, **PUBLIC).fit(X)
    return model.export(), PrivateBayesianNetwork, lambda back: back.score_samples(X)


def places(value, path=()):
    """Return every path in a tree of dicts and lists."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


def changed(tree, path, change):
    tree = copy.deepcopy(tree)
    if not path:
        return change(tree)
    at = tree
    for key in path[:-1]:
        at = at[key]
    change(at, path[-1])
    return tree


def put(value):
    return lambda at, key=None: value if key is None else at.__setitem__(key, value)


def dropped(at, key=None):
    if key is None:
        return None
    del at[key]
    return None


def twice(at, key=None):
    if key is None:
        return [at]
    at[key] = [at[key], at[key]]
    return None


@pytest.mark.parametrize("make", [bayes, network])
def test_whatever_stands_in_an_export_it_is_refused_plainly_or_predicts(make):
    """Check about 5,000 changed exports: every entry removed, duplicated, and replaced by values of every kind."""
    exported, kind, predicted = make()
    exported = json.loads(json.dumps(exported))
    good = kind.from_export(exported)
    assert np.isfinite(predicted(good)).all()
    refused = 0
    for path in places(exported):
        if path[:1] == ("card",) and len(path) > 1 and path[1] != "mechanism":
            continue  # what the card states beside is words for people
        for change in (*map(put, WRONG), dropped, twice):
            bad = changed(exported, path, change)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    back = kind.from_export(bad)
                    found = predicted(back)
            except (ValueError, TypeError) as error:
                assert str(error)  # noqa: PT017
                refused += 1
                continue
            assert np.isfinite(found).all(), (path, bad)
            assert len(found) == len(X)
    assert refused > 1000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: e["feature_log_prob"][0][0].__setitem__(0, float("nan")), "must contain only numbers, got NaN"),
        (lambda e: e["feature_log_prob"][0][0].__setitem__(0, 0.0), "whose sum is 1"),
        (
            lambda e: e["feature_log_prob"][0][0].__setitem__(0, 0.5),
            "must contain log probabilities from -1e.290 to 0, got 0.5",
        ),
        (lambda e: e["class_log_prior"].__setitem__(0, -1e300), "must contain log probabilities"),
        (
            lambda e: e["class_log_prior"].__setitem__(0, -50.0),
            "class_log_prior must contain probabilities whose sum is 1",
        ),
        (lambda e: e["feature_log_prob"].pop(), r"must have one list per column \(2 columns\), got 1"),
        (lambda e: e["columns"][0].__setitem__("upper", 0.0), "lower must be below upper"),
        (lambda e: e["columns"][0].__setitem__("bins", 2), "must have shape"),
        (lambda e: e["columns"][0].__setitem__("kind", "x"), "every column in exported must have the keys 'kind'"),
        (lambda e: e["columns"][0].__setitem__("public", 1), "every column in exported must have the keys 'kind'"),
        (lambda e: e["columns"][1].__setitem__("name", "size"), "names of columns must contain distinct strings"),
        (lambda e: e["columns"][1].__setitem__("name", None), "either all columns or none"),
        (lambda e: e["columns"].__setitem__(0, [1]), "every column in exported must be a dict"),
        (lambda e: e["classes"].__setitem__(0, 1), "classes must contain distinct values"),
        (lambda e: e["classes"].__setitem__(0, 10**400), "classes must contain only finite values"),
        (
            lambda e: e["card"].pop("mechanism"),
            r"exported\['card'\]\['mechanism'\] must be one of dirichlet, gaussian, laplace, none",
        ),
        (lambda e: e["card"].__setitem__("mechanism", ["none"]), r"\['mechanism'\] must be one of"),
    ],
)
def test_each_mistake_of_a_bayes_model_is_told(change, words):
    exported, kind, _ = bayes()
    change(exported)
    with pytest.raises((ValueError, TypeError), match=words):
        kind.from_export(exported)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda e: e["nodes"][1].__setitem__("parents", ["income"]),
            "nodes and their parents must be names of columns .*, got 'income'",
        ),
        (lambda e: e["nodes"][0].__setitem__("parents", ["colour"]), "log_prob of 'size' must have shape"),
        (lambda e: e["nodes"][1].__setitem__("node", "size"), "nodes must have distinct names, got 'size' twice"),
        (
            lambda e: e["nodes"].__setitem__(0, 3),
            "every node must be a dict that contains the key 'node' with a string as its value, got '3'",
        ),
        (lambda e: e["nodes"][0].pop("parents"), "parents must be a list of strings"),
        (lambda e: e["nodes"][0].pop("log_prob"), "must have shape"),
        (lambda e: e["nodes"].clear(), "nodes must contain at least one node"),
        (lambda e: e["nodes"].pop(0), "a parent of 'colour', must also be a node"),
        (lambda e: e["nodes"][1]["log_prob"].__setitem__(3, -1.0), "log_prob of 'colour' must contain probabilities"),
        (
            lambda e: e["columns"][0].__setitem__("bins", 10**9),
            "must have shape",
        ),  # and nothing that large is made
        (lambda e: e.__setitem__("format", "x"), r"exported\['format'\] must be"),
    ],
)
def test_each_mistake_of_a_network_is_told(change, words):
    exported, kind, _ = network()
    change(exported)
    with pytest.raises((ValueError, TypeError), match=words):
        kind.from_export(exported)


def test_generators_are_taken_as_they_are():
    rng = stream(1, "given")
    assert _model_card.randomness(None, rng=rng) == (rng, "a generator of the caller")
    assert _model_card.randomness(rng, rng=None) == (rng, "a generator of the caller")
