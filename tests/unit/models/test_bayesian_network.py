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
    assert "'gap' has missing cells (3)" in next(f.text for f in found if f.kind == "missing")


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


def column(values, *, numeric=True, **options):
    """Return a table with a column of numbers (or text) and a target of two classes."""
    frame = pd.DataFrame({"x": [str(v) for v in values], "y": ["ab"[i % 2] for i in range(len(values))]})
    return coded_table.encode(frame, name="t", target="y", numeric=["x"] if numeric else [], **options)


def categories(values, counts, *, bins=2, many=2, match="nearest"):
    """Return the categories in training and in the test of all distinct values."""
    train, test = coded_table._binned(np.array(values, float), np.array(counts), bins, many, match)
    return train.tolist(), test.tolist()


@pytest.mark.parametrize(
    ("counts", "frequent"),
    [
        ([1, 1, 1], []),  # a third is not more than a third
        ([2, 1, 1], [0]),  # 2 > 4/3; 1 > 4/9, but 1 is the next
        ([1, 5, 1, 1, 1], [1]),  # 5 > 3, then 1 = 9/9
        ([4, 2, 1, 1], [0, 1]),  # 4 > 8/3, 2 > 8/9, 1 > 8/27
        ([0, 9, 0], [1]),
    ],
)
def test_frequent_values_have_more_than_a_third_a_ninth_and_so_on(counts, frequent):
    n, kept = sum(counts), []
    for i, level in enumerate(sorted(range(len(counts)), key=lambda k: -counts[k]), 1):
        if not counts[level] * 3**i > n:
            break
        kept.append(level)
    assert np.flatnonzero(coded_table._frequent(np.array(counts))).tolist() == sorted(kept)
    assert set(frequent) <= set(kept)


def test_values_are_divided_at_quantiles_that_belong_to_the_lower_bin():
    """Ten values with one record each: the median is 4.5; thirds are 3 and 6."""
    values = range(10)
    assert categories(values, [1] * 10) == ([0] * 5 + [1] * 5,) * 2
    assert categories(values, [1] * 10, bins=3) == ([0] * 4 + [1] * 3 + [2] * 3,) * 2


def test_a_frequent_value_is_a_category_before_the_bins():
    """0 has 11 of 16 records; the others are 1 to 5, with the median 3."""
    assert categories(range(6), [11, 1, 1, 1, 1, 1]) == ([0, 1, 1, 1, 2, 2],) * 2


@pytest.mark.parametrize(("size", "binned"), [(3, False), (4, True)])
def test_up_to_the_limit_values_are_categories(size, binned):
    """Without the frequent value, there are `size` values; the limit is 3. Values without a record have no category."""
    values, counts = range(size + 2), [2 * size, 0, *[1] * size]
    found = categories(values, counts, many=3)[0]
    assert found == ([0, 1, 1, 1, 2, 2] if binned else [0, -1, *range(1, size + 1)])


def test_the_published_protocol_tests_neither_new_values_nor_the_lowest_bin():
    train, test = categories(range(10), [1, 1, 1, 1, 1, 1, 1, 1, 0, 1], match="exact")
    assert train == [0] * 5 + [1] * 5  # nine values, whose median is 4
    assert test == [-1] * 5 + [1] * 3 + [-1, 1]
    train, test = categories(range(6), [11, 1, 1, 1, 1, 1], match="exact")
    assert (train, test) == ([0, 1, 1, 1, 2, 2], [0, -1, -1, -1, 2, 2])


def test_categories_without_records_are_merged_into_the_next_smaller_one():
    found, _ = coded_table._compact(np.array([0, 1, 2, 3, 4]), np.array([0, 1, 0, 1, 0]))
    assert found.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(("size", "bins"), [(30, 30), (31, 10)])
def test_more_than_thirty_numbers_are_divided_into_ten_bins(size, bins):
    table = column(range(size))
    assert coded_table.learn(table, np.arange(size)).sizes == (bins, 2)
    assert coded_table.learn(column(range(size), numeric=False), np.arange(size)).sizes == (size, 2)


def test_only_values_with_training_records_are_categories():
    """The classes of the target and public levels are always categories."""
    table = column([0, 1, 2, 3])
    found = coded_table.learn(table, np.array([0, 2]))
    assert [m.tolist() for m in found.train] == [[0, -1, 1, -1], [0, 1]]
    assert [m.dtype for m in (*found.train, *found.test)] == [np.dtype(np.int32)] * 4
    public = coded_table.learn(table, np.array([0, 2]), public_levels=True)
    assert [m.tolist() for m in public.train] == [[0, 1, 2, 3], [0, 1]]
    assert coded_table.learn(table, np.array([], dtype=int)).sizes == (0, 2)


def test_a_mapping_for_the_test_may_differ_from_that_for_training():
    binning = coded_table.Binning((np.array([0, 1]),), (np.array([0, -1]),), (2,))
    codes = np.array([[1], [0]], dtype=np.int32)
    assert binning.apply(codes).tolist() == binning.apply(codes, to="train").tolist() == [[1], [0]]
    assert binning.apply(codes, to="test").tolist() == [[-1], [0]]
    with pytest.raises(ValueError, match="to must be one of 'train', 'test'"):
        binning.apply(codes, to="all")


@pytest.mark.parametrize(("size", "kinds"), [(4, []), (5, ["identifier"])])
def test_text_with_more_values_than_half_the_records_is_an_identifier(size, kinds):
    values = [str(min(i, size - 1)) for i in range(8)]
    found = coded_table.examine(column(values, numeric=False))
    assert [f.kind for f in found if f.column == "x"] == kinds
    assert not [f for f in coded_table.examine(column(values)) if f.column == "x"]  # numbers can be binned


@pytest.mark.parametrize(("size", "rare"), [(4, True), (5, False)])
def test_a_class_of_fewer_than_five_records_is_rare(size, rare):
    frame = pd.DataFrame({"x": ["1", "2"] * 10, "y": ["a"] * size + ["b"] * (20 - size)})
    found = coded_table.examine(coded_table.encode(frame, name="t", target="y", numeric=["x"]))
    texts = [f"class 'a' has only {size} record{'' if size == 1 else 's'}: its probabilities are imprecise"]
    assert [f.text for f in found] == texts * rare


def test_missing_cells_are_counted_in_numbers_and_in_text():
    frame = pd.DataFrame({"n": ["1", "", "3", None], "t": [" ", "x", None, ""], "y": list("abab")})
    table = coded_table.encode(frame, name="t", target="y", numeric=["n"], missing="category")
    assert np.isnan(table.levels[0][-1])
    lost = {f.column: f.text for f in coded_table.examine(table) if f.kind == "missing"}
    assert lost == {
        name: f"column '{name}' has missing cells ({n}), which are treated as a separate category"
        for name, n in (("n", 2), ("t", 3))
    }
    with pytest.raises(
        ValueError, match=r"column 'n' is missing in row 2, but must .*: remove the row, or pass missing"
    ):
        coded_table.encode(frame, name="t", target="y", numeric=["n"])
    wrong = frame.assign(n=["1", "2", "x", "4"])
    for missing in ("refuse", "category"):
        with pytest.raises(ValueError, match=r"column 'n' holds 'x' in row 3, but must contain numbers$"):
            coded_table.encode(wrong, name="t", target="y", numeric=["n"], missing=missing)
    with pytest.raises(ValueError, match="column names must be distinct, got a, a"):
        coded_table.encode(pd.DataFrame([[1, 2]], columns=["a", "a"]), name="t", target="a", numeric=[])


def test_the_target_is_last_and_never_a_number():
    frame = pd.DataFrame({"y": ["1", "2", "1"], "x": ["3", "1", "3"]})
    table = coded_table.encode(frame, name="t", target="y", numeric=["x", "y"])
    assert (table.columns, table.numeric) == (("x", "y"), (True, False))
    assert table.levels[1].tolist() == ["1", "2"]
    assert table.target.tolist() == [0, 1, 0]
    assert table.features.tolist() == [[1], [0], [1]]


@pytest.mark.parametrize(("cells", "ok"), [(20_000_000, True), (20_000_001, False)])
def test_a_table_has_at_most_twenty_million_cells(cells, ok):
    if ok:
        assert bayesian_network._widths("a", cells // 4, [2, 2]).tolist() == [cells // 4, 2, 2]
    else:
        with pytest.raises(ValueError, match="the table of 'a' must have at most 20000000 cells, got 20000001"):
            bayesian_network._widths("a", cells, [1])


def test_the_cell_of_a_record_follows_from_its_parents():
    """Categories 0..2 of c, parents b (2) and a (2): the cell is c + 3 b + 6 a; a value of -1 has no cell."""
    X = np.array([[0, 1, 2], [1, 0, 1], [1, 1, 0]], dtype=np.int32)  # a, b, c
    network = {"columns": ("a", "b", "c"), "sizes": (2, 2, 3), "parents": {"a": (), "b": (), "c": ("b", "a")}}
    node = bayesian_network.count(X, **network)[2]
    assert np.flatnonzero(node.counts).tolist() == [2 + 3, 1 + 6, 0 + 3 + 6]
    assert node.strides.tolist() == [3, 6]
    assert node.starts.tolist() == [0, 3, 6, 9, 12]
    own, above = np.array([2, 1, -1, 0]), np.array([[1, 0], [0, 1], [0, 0], [1, -1]])
    assert node.layout().cells(own, above).tolist() == [5, 7, -1, -1]
    seen = bayesian_network.count(X, **network, support="observed")
    assert seen[2].starts.tolist() == [0, 1, 2, 3]
    assert seen[2].counts.tolist() == [1.0, 1.0, 1.0]
    assert seen[2].layout().cells(own, above).tolist() == [0, 1, -1, -1]


def test_a_network_names_its_nodes_and_cells():
    found = bayesian_network.fit(records(), columns=COLUMNS, sizes=SIZES, parents=PARENTS)
    assert repr(found) == "Network(3 nodes, 75 cells: a, b, c)"  # 3 + 3 * 4 + 12 * 5
    counts = np.bincount(records()[:, 0], minlength=3)
    assert found.table("a")[0] == pytest.approx((counts + 1) / (counts.sum() + 3), rel=1e-12)  # smoothing is 1
    with pytest.raises(ValueError, match="node must be one of a, b, c, got 'd'"):
        found.table("d")


@pytest.mark.parametrize(("laplace", "shift", "cells"), [("exact", 1.0, 2), ("one cell", 2.0, 1)])
def test_laplace_noise_is_calibrated_to_the_divergence_of_its_shifts(laplace, shift, cells):
    """Two shifts of 1 in different cells, or one shift of 2: divergence of order 3 in closed form (Mironov 2017)."""
    noise = calibrated_noise.calibrated("laplace", [0.5], order=3.0, laplace=laplace)
    t = shift / float(noise.scale[0])
    divergence = cells * np.log(3 / 5 * np.exp(2 * t) + 2 / 5 * np.exp(-3 * t)) / 2
    assert divergence == pytest.approx(0.5, rel=1e-9)
    assert noise.alpha.tolist() == [1.0]
    assert noise.sd() == pytest.approx(np.sqrt(2) * noise.scale)


def test_noise_has_the_standard_deviation_of_its_law():
    scale, alpha = np.array([2.0, 3.0]), np.array([1.0, 4.0])
    assert Noise("gaussian", scale, alpha).sd().tolist() == [2.0, 3.0]
    assert Noise("dirichlet", scale, alpha).sd().tolist() == [0.0, 0.0]
    twice = Noise("dirichlet", scale, alpha).repeated(2)
    assert (twice.scale.tolist(), twice.alpha.tolist()) == ([2.0, 2.0, 3.0, 3.0], [1.0, 1.0, 4.0, 4.0])
    assert repr(Noise("dirichlet", scale, alpha)) == "Noise(dirichlet, scale [2. 3.], alpha [1. 4.])"
    assert repr(Noise("laplace", scale, alpha)) == "Noise(laplace, scale [2. 3.])"
    assert calibrated_noise.floors(2.5, Noise("laplace", scale, alpha)).tolist() == [2.5, 2.5]
    assert calibrated_noise.floors(0.5, Noise("laplace", scale, alpha), smoothing=1).tolist() == [1.0, 1.0]
    assert calibrated_noise.floors("sigma", Noise("gaussian", scale, alpha), smoothing=2.5).tolist() == [2.5, 3.0]
    with pytest.raises(ValueError, match=r"smoothing must be >= 0, got -0\.1"):
        calibrated_noise.floors(1.0, Noise("laplace", scale, alpha), smoothing=-0.1)


@pytest.mark.parametrize(
    ("claimed", "exact", "holds", "slack"),
    [(2.0, 1.0, True, 2.0), (1.0, 1.0, True, 1.0), (1.0, 1 + 5e-10, True, 1 / (1 + 5e-10)),
     (1.0, 1 + 2e-9, False, 1 / (1 + 2e-9)), (1.0, 0.0, True, np.inf), (0.5, np.inf, False, 0.0)],
)  # fmt: skip
def test_a_claim_holds_if_it_is_at_least_the_exact_cost(claimed, exact, holds, slack):
    found = calibrated_noise.Audit(claimed=claimed, exact=exact)
    assert (found.holds, found.slack) == (holds, slack)
    assert ("holds" if holds else "is false") in repr(found)


def test_a_guarantee_is_either_of_an_order_or_of_a_delta():
    noise = Gaussian(sigma=2.0)
    assert calibrated_noise.audit(noise, epsilon=1.0, order=2.0).exact == pytest.approx(2 * 2 / (2 * 4))
    assert calibrated_noise.audit(noise, epsilon=0.0, delta=0.5).claimed == 0.5
    for wrong in ({}, {"delta": 0.1, "order": 2.0}):
        with pytest.raises(ValueError, match="exactly one of delta and order must be given"):
            calibrated_noise.audit(noise, epsilon=1.0, **wrong)
    with pytest.raises(ValueError, match="epsilon must be >= 0, got -1"):
        calibrated_noise.exact_delta(noise, epsilon=-1)
    for cost in (calibrated_noise.exact_renyi, calibrated_noise.exact_delta):
        with pytest.raises(TypeError, match="mechanism must be Dirichlet, Gaussian or Laplace, got 3"):
            cost(3, **({"order": 2.0} if cost is calibrated_noise.exact_renyi else {"epsilon": 1.0}))


def test_exact_deltas_are_those_of_a_replaced_record():
    """At epsilon 0, delta is the total variation distance: of normal distributions that are sqrt(2) apart, 2 Phi(d/2) -
    1, and 1 - exp(-1/b)(1 + 1/(2b)) for two Laplace shifts, by integrating the product of the overlaps.
    """
    from scipy.stats import norm

    assert calibrated_noise.exact_delta(Gaussian(sigma=2.0), epsilon=0.0) == pytest.approx(
        2 * norm.cdf(np.sqrt(2) / 4) - 1, rel=1e-9)  # fmt: skip
    b = 1.5
    x = np.linspace(-30, 30, 3001)
    p, q = (np.exp(-np.abs(x - s) / b) for s in (0.0, 1.0))
    p, q = p / p.sum(), q / q.sum()
    distance = 0.5 * np.abs(np.multiply.outer(p, q) - np.multiply.outer(q, p)).sum()
    assert calibrated_noise.exact_delta(Laplace(scale=b), epsilon=0.0) == pytest.approx(distance, rel=1e-3)
    assert calibrated_noise.exact_renyi(Laplace(scale=b), order=1e6) == pytest.approx(2 / b, rel=1e-4)
