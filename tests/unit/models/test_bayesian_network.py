"""Tests of coding, binning, naive Bayes and networks: counts by hand, limits without noise, invalid input."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from dpmultinomial._mechanisms.dirichlet import Dirichlet
from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._models import bayesian_network, calibrated_noise, coded_table, naive_bayes
from dpmultinomial._models.calibrated_noise import Noise
from dpmultinomial._seeding import stream
from reproduction.papers.ponnoprat2022 import catalogue


def frame(n=600, name="frame"):
    rng = stream(1, name, n)
    y = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "wide": np.where(rng.random(n) < 0.5, 0.0, rng.normal(y, 1).round(3)).astype(str),
            "word": np.array(["a", "b", "c", ""])[rng.integers(0, 4, n)],
            "few": rng.integers(0, 5, n).astype(str),
            "flat": "1",
            "y": y.astype(str),
        }
    )


@pytest.fixture
def table():
    return coded_table.encode(frame(), name="frame", target="y", numeric=["wide", "few"])


def test_coding_loses_nothing(table):
    source = frame()
    for k, column in enumerate(table.columns):
        values = source[column].astype(float) if table.numeric[k] else source[column]
        assert np.array_equal(table.levels[k][table.codes[:, k]], values.to_numpy())
    assert table.classes == 3


def test_rounding_is_half_up():
    small = coded_table.encode(
        pd.DataFrame({"x": ["0.5", "1.5", "2.4"], "y": ["a", "b", "a"]}), name="s", target="y", numeric=["x"]
    )
    rounded = small.rounded(["x"])
    assert rounded.levels[0][rounded.codes[:, 0]].tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({"y": "0"}, {}, "the target 'y' must have at least two classes, got 1"),
        ({"wide": ""}, {}, "the numeric column 'wide' contains only missing values"),
        ({}, {"numeric": ["word"]}, "numeric column 'word' holds"),
        ({}, {"target": "z"}, "no column 'z'. The columns of the file are wide"),
    ],
)
def test_coding_refuses_what_cannot_be_used(change, arguments, message):
    with pytest.raises(ValueError, match=message):
        coded_table.encode(frame().assign(**change), **{"name": "f", "target": "y", "numeric": ["wide"]} | arguments)


def test_binning_keeps_ties_apart_and_loses_no_test_value(table):
    train = np.arange(0, 400)
    learnt = coded_table.learn(table, train)
    wide = learnt.apply(table.codes)[:, 0]
    zeros = table.levels[0][table.codes[:, 0]] == 0
    assert len(set(wide[zeros])) == 1
    assert set(wide[zeros]).isdisjoint(wide[~zeros])
    assert learnt.sizes == (11, 4, 5, 1, 3)
    assert wide.min() >= 0
    counts = np.bincount(wide[train][~zeros[train]], minlength=11)
    assert np.ptp(counts[counts > 0]) <= 3
    order = table.levels[0][table.codes[:, 0]][~zeros]
    assert (np.diff(wide[~zeros][np.argsort(order)]) >= 0).all()


def test_the_published_binning_loses_the_lowest_bin_and_new_values(table):
    train = np.arange(0, 400)
    learnt = coded_table.learn(table, train, match="exact")
    seen = np.isin(table.codes[:, 0], table.codes[train, 0])
    categories = learnt.apply(table.codes, to="train")[:, 0]
    tested = learnt.apply(table.codes, to="test")[:, 0]
    assert (tested[~seen] == -1).all()
    lowest = categories[np.argmin(table.levels[0][table.codes[:, 0]])]
    assert np.array_equal(tested[seen] == -1, categories[seen] == lowest)


def test_the_target_keeps_classes_without_training_records(table):
    train = np.flatnonzero(table.target != 1)
    learnt = coded_table.learn(table, train)
    assert learnt.sizes[-1] == 3
    assert np.array_equal(learnt.apply(table.codes)[:, -1], table.target)


def test_missing_numbers_become_the_last_category():
    source = frame()
    source.loc[::50, "wide"] = ""
    with pytest.raises(ValueError, match=r"numeric column 'wide' is missing in row 1"):
        coded_table.encode(source, name="f", target="y", numeric=["wide"])
    coded = coded_table.encode(source, name="f", target="y", numeric=["wide"], missing="category")
    learnt = coded_table.learn(coded, np.arange(1, 400))
    found = learnt.apply(coded.codes)[:, 0]
    assert (found[::50] == learnt.sizes[0] - 1).all()
    assert (np.delete(found, np.s_[::50]) < learnt.sizes[0] - 1).all()


def test_a_table_is_examined_for_what_wastes_budget():
    source = frame()[["few", "flat", "y"]].assign(id=np.arange(600).astype(str), gap="x")
    source.loc[:2, "gap"] = ""
    source.loc[0, "y"] = "lonely"
    found = coded_table.examine(coded_table.encode(source, name="f", target="y", numeric=["few"]))
    assert {(f.column, f.kind) for f in found} == {
        ("id", "identifier"),
        ("flat", "constant"),
        ("gap", "missing"),
        ("y", "rare class"),
    }
    assert "'gap' has 3 missing" in next(f.text for f in found if f.kind == "missing")


def test_nothing_but_constant_features_is_refused():
    with pytest.raises(ValueError, match="at least one feature with two or more categories"):
        naive_bayes.Counts(np.zeros((4, 1), np.int32), np.array([0, 1, 0, 1], np.int32), sizes=[1], classes=2)


def test_public_levels_make_every_level_a_category(table):
    train = np.flatnonzero(table.codes[:, 2] < 4)
    assert coded_table.learn(table, train).sizes[2] == 4
    assert coded_table.learn(table, train, public_levels=True).sizes[2] == 5
    assert coded_table.learn(table, train).apply(table.codes)[:, 2].min() == -1


def data(n=300, k=4):
    rng = stream(2, "data")
    labels = rng.integers(0, 3, n).astype(np.int32)
    return rng.integers(0, 1 + np.arange(2, 2 + k), (n, k)).astype(np.int32), labels


def test_without_noise_the_releases_are_the_textbook_model():
    X, y = data()
    counts = naive_bayes.Counts(X, y, sizes=[3, 4, 5, 6], classes=3)
    exact = counts.smoothed(1e-9)
    for law in (Noise("gaussian", np.array([1e-9]), np.ones(1)), Noise("laplace", np.array([1e-9]), np.ones(1))):
        model = counts.release(law, floor=1e-9, rng=stream(3, law.law))
        assert np.allclose(model[0], exact[0], atol=1e-8)
        assert np.allclose(np.exp(model[1]), np.exp(exact[1]), atol=1e-8)
    sure = counts.release(Noise("dirichlet", np.array([1e12]), np.ones(1)), floor=1.0, rng=stream(3, "d"))
    assert np.allclose(np.exp(sure[1]), np.exp(exact[1]), atol=1e-5)
    totals = np.array(
        [[np.exp(sure[1][0, s:e, j]).sum() for j in range(3)] for s, e in ((0, 3), (3, 7), (7, 12), (12, 18))]
    )
    assert np.allclose(totals, 1)


def test_as_written_the_dirichlet_sums_to_one_over_classes():
    X, y = data()
    counts = naive_bayes.Counts(X, y, sizes=[3, 4, 5, 6], classes=3)
    law = Noise("dirichlet", np.array([0.5, 2.0]), np.array([1.0, 3.0]))
    _, table = counts.release(law, floor=1.0, rng=stream(4, "w"), direction="classes")
    assert np.allclose(np.exp(table).sum(axis=2), 1)
    additive = Noise("gaussian", np.array([1e-9]), np.ones(1))
    _, table = counts.release(additive, floor=1e-9, rng=stream(4, "a"), direction="classes")
    assert np.allclose(np.exp(table[0]), counts.table.T / counts.labels, atol=1e-8)


def test_constant_columns_cost_nothing():
    X, y = data()
    counts = naive_bayes.Counts(np.column_stack([X, 0 * X[:, 0]]), y, sizes=[3, 4, 5, 6, 1], classes=3)
    assert counts.features == 4


def test_every_mechanism_spends_its_budget():
    made = {
        "gaussian": lambda first, _: Gaussian(sigma=first),
        "laplace": lambda first, _: Laplace(scale=first),
        "dirichlet": lambda first, second: Dirichlet(r=first, alpha=second),
    }
    for mechanism, make in made.items():
        law = calibrated_noise.calibrated(mechanism, [0.01, 2.0], order=5.0, exact=True)
        for epsilon, first, second in zip((0.01, 2.0), law.scale, law.alpha, strict=True):
            assert calibrated_noise.renyi_claim(make(first, second), order=5.0, epsilon=epsilon).slack == pytest.approx(
                1, rel=1e-9
            )


COLUMNS, SIZES = ("a", "b", "c"), (3, 4, 5)
PARENTS = {"a": (), "b": ("a",), "c": ("b", "a")}


def records(n=500):
    rng = stream(8, "records")
    return np.column_stack([rng.integers(0, s, n) for s in SIZES]).astype(np.int32)


@pytest.mark.parametrize("support", ["public", "observed"])
def test_network_likelihood_is_the_sum_over_records(support):
    X = records()
    nodes = bayesian_network.count(X, columns=COLUMNS, sizes=SIZES, parents=PARENTS, support=support)
    value, counted = bayesian_network.log_likelihoods(bayesian_network.smoothed(nodes, 0.5), nodes, X, columns=COLUMNS)
    total = 0.0
    for k, above in ((0, []), (1, [0]), (2, [1, 0])):
        for row in X:
            same = np.all(X[:, above] == row[above], axis=1)
            own = np.count_nonzero(same & (X[:, k] == row[k]))
            cells = SIZES[k] if support == "public" else len(set(X[same, k]))
            total += np.log((own + 0.5) / (same.sum() + 0.5 * cells))
    assert value[0] == pytest.approx(total, rel=1e-12)
    assert counted == 1.0


def test_observed_support_leaves_out_new_cells_and_unseen_values():
    X = records(60)
    nodes = bayesian_network.count(X, columns=COLUMNS, sizes=SIZES, parents=PARENTS, support="observed")
    new = records(500)
    new[0] = -1
    _, counted = bayesian_network.log_likelihoods(bayesian_network.smoothed(nodes, 1.0), nodes, new, columns=COLUMNS)
    known = [{tuple(r[list(c)]) for r in X} for c in ((0,), (0, 1), (0, 1, 2))]
    expected = np.mean(
        [[tuple(r[list(c)]) in s for c, s in zip(((0,), (0, 1), (0, 1, 2)), known, strict=True)] for r in new]
    )
    assert counted == pytest.approx(expected)


def test_released_networks_are_distributions():
    nodes = bayesian_network.count(records(), columns=COLUMNS, sizes=SIZES, parents=PARENTS)
    for law in ("dirichlet", "gaussian"):
        released = bayesian_network.release(
            nodes, Noise(law, np.array([2.0]), np.ones(1)), floor=0.5, rng=stream(9, law)
        )
        for logs, node in zip(released, nodes, strict=True):
            assert np.allclose(np.add.reduceat(np.exp(logs[0]), node.starts[:-1]), 1)


@pytest.mark.parametrize("mechanism", ["none", "dirichlet", "gaussian", "laplace"])
def test_one_network_is_fitted_and_scored(mechanism):
    X = records(5000)
    rng = stream(10, mechanism)
    names = {"columns": COLUMNS, "sizes": SIZES, "parents": PARENTS}
    found = bayesian_network.fit(X, **names, mechanism=mechanism, epsilon=1e6, floor=1e-3, smoothing=1e-3, rng=rng)
    table = found.table("c")
    assert np.allclose(table.sum(axis=1), 1)
    for b in range(4):  # the first parent, b, varies fastest
        rows = X[(X[:, 1] == b) & (X[:, 0] == 2)]
        share = np.bincount(rows[:, 2], minlength=5) / len(rows)
        assert np.allclose(table[b + 4 * 2], share, atol=0.12 if mechanism == "dirichlet" else 0.01)
    exact = bayesian_network.fit(X, **names)
    assert bayesian_network.log_likelihood(found, X) == pytest.approx(
        bayesian_network.log_likelihood(exact, X), rel=0.02
    )
    with pytest.raises(ValueError, match="epsilon must be finite and > 0"):
        bayesian_network.fit(X, **names, mechanism="laplace", epsilon=0.0, rng=rng)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"a": ("b",), "b": ("a",)}, "must not contain a cycle"),
        ({"a": (), "z": ("a",)}, "the node 'z' must be the name of a column"),
        ({"a": ("b",)}, "'b', a parent of 'a', must also be a node"),
    ],
)
def test_wrong_networks_are_refused(parents, message):
    with pytest.raises(ValueError, match=message):
        bayesian_network.graph(parents, columns=COLUMNS)


def test_the_networks_of_the_paper_are_acyclic():
    edges = {"Adult": (7, 13), "Bank": (10, 16), "GermanCredit": (14, 14)}
    for name, size in edges.items():
        parents = catalogue.SOURCES[name].networks
        found = bayesian_network.graph(parents, columns=tuple(parents))
        assert (found.number_of_nodes(), found.number_of_edges()) == size
        assert nx.is_directed_acyclic_graph(found)
