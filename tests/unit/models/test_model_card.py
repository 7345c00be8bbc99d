"""Tests of exported models that were changed: rejected with a clear error, or the predictions are finite numbers."""

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._models import _model_card, _support
from dpmultinomial._models._support import Bins, Column, Levels, SupportFromData
from dpmultinomial._models.calibrated_noise import Noise
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
        (lambda e: e["feature_log_prob"][0][0].__setitem__(0, 0.0), "that sum to 1"),
        (
            lambda e: e["feature_log_prob"][0][0].__setitem__(0, 0.5),
            "must contain log probabilities from -1e.290 to 0, got 0.5",
        ),
        (lambda e: e["class_log_prior"].__setitem__(0, -1e300), "must contain log probabilities"),
        (
            lambda e: e["class_log_prior"].__setitem__(0, -50.0),
            "class_log_prior must contain probabilities that sum to 1",
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


def test_the_origin_of_the_noise_is_stated():
    for given, words in ((None, "the operating system"), (7, "a seed: whoever knows it can reproduce the noise"),
                         (np.random.RandomState(1), "a generator of the caller")):  # fmt: skip
        found, stated = _model_card.randomness(given, rng=None)
        assert isinstance(found, np.random.Generator)
        assert stated == words
    one, two = (_model_card.randomness(np.random.RandomState(1), rng=None)[0].random() for _ in range(2))
    words = np.random.RandomState(1).randint(0, 2**32, size=8, dtype=np.uint32).tolist()
    assert one == two == np.random.Generator(np.random.PCG64(np.random.SeedSequence(words))).random()
    assert _model_card.randomness(7, rng=None)[0].random() == np.random.Generator(np.random.PCG64(7)).random()
    state = np.random.RandomState(1)
    assert _model_card.randomness(state, rng=None)[0].random() != _model_card.randomness(state, rng=None)[0].random()


@pytest.mark.parametrize("releases", [1, 5])
def test_the_epsilon_of_gaussian_releases_is_that_of_one_with_their_squared_shifts(releases):
    """Check sigma = 2 and sqrt(5) shifts: equal to one release with sigma/sqrt(5); delta = 1e-5 by Balle and Wang."""
    from scipy.stats import norm

    epsilon, exact = _model_card._approximate(Gaussian(sigma=2.0), releases)
    shift = np.sqrt(2 * releases) / 2.0
    delta = norm.cdf(shift / 2 - epsilon / shift) - np.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)
    assert delta == pytest.approx(1e-5, rel=1e-6)
    assert exact


def test_the_epsilon_of_laplace_releases_is_at_most_pure():
    """For large noise, the Renyi bound is smaller; for small noise, 2/scale for each release."""
    epsilon, exact = _model_card._approximate(Laplace(scale=0.01), 3)
    assert (epsilon, exact) == (pytest.approx(3 * 2 / 0.01, rel=1e-5), False)
    small, _ = _model_card._approximate(Laplace(scale=100.0), 300)
    assert small < 300 * 2 / 100


def test_cards_of_models_state_their_parts():
    open_ = _model_card.open_card("m", 4, 0.5)
    stated = {"model": "m", "mechanism": "none", "private": False, "releases": 4, "smoothing": 0.5, "hardened": False}
    assert {key: open_[key] for key in stated} == stated
    noise = Noise("laplace", np.array([3.0]), np.ones(1))
    card = _model_card.card("m", noise, epsilon=2, order=4, releases=5, floor=1, random="x")
    wanted = {"model": "m", "mechanism": "laplace", "private": True, "relation": "replace a record", "scale": 3.0,
              "floor": 1.0, "order": 4.0, "epsilon": 2.0, "releases": 5, "delta_epsilon": 2.0, "delta": 1e-5,
              "randomness": "x", "hardened": False}  # fmt: skip
    assert {key: card[key] for key in wanted} == wanted
    # two cells with shifts of 1: 5 releases of twice the divergence of order 4, in closed form (Mironov 2017)
    t, a = 1 / 3.0, 4.0
    one = np.log(a / (2 * a - 1) * np.exp((a - 1) * t) + (a - 1) / (2 * a - 1) * np.exp(-a * t)) / (a - 1)
    assert card["epsilon_exact"] == pytest.approx(5 * 2 * one, rel=1e-12)
    dirichlet = _model_card.card("m", Noise("dirichlet", np.array([1.5]), np.array([9.0])), epsilon=2, order=4,
                                 releases=5, floor=1, random="x")  # fmt: skip
    assert (dirichlet["r"], dirichlet["alpha"]) == (1.5, 9.0)
    assert not {"scale", "floor"} & set(dirichlet)


@pytest.mark.parametrize(
    ("value", "fault"),
    [(0.0, None), (1e-6, None), (1.1e-6, "log probabilities from -1e"), (-1e290, None), (-1.1e290, "log probabilities"),
     (-5, None), (True, "only numbers, got True"), ("0", "only numbers, got '0'"), (float("nan"), "got NaN")],
)  # fmt: skip
def test_log_probabilities_are_finite_and_at_most_zero(value, fault):
    if fault is None:
        assert _model_card.logs("x", [[value, -1.0]], (1, 2)).tolist() == [[value, -1.0]]
    else:
        with pytest.raises((ValueError, TypeError), match=fault):
            _model_card.logs("x", [[value, -1.0]], (1, 2))


@pytest.mark.parametrize(
    ("values", "shape", "ok"),
    [([-1.0, -2.0], (2,), True), ([-1.0], (2,), False), ([[-1.0], [-2.0]], (2, 1), True), ([[-1.0]], (2, 1), False),
     ([[-1.0], [-2.0, 0.0]], (2, 1), False), (-1.0, (1,), False), ([-1.0], (1, 1), False), ((-1.0,), (1,), False)],
)  # fmt: skip
def test_lists_of_log_probabilities_have_their_shape(values, shape, ok):
    if ok:
        assert _model_card.logs("x", values, shape).shape == shape
    else:
        with pytest.raises(ValueError, match=r"x must have shape"):
            _model_card.logs("x", values, shape)


@pytest.mark.parametrize(("off", "ok"), [(0.0, True), (9e-7, True), (-9e-7, True), (1.1e-6, False), (-1.1e-6, False)])
def test_probabilities_sum_to_one_within_a_millionth(off, ok):
    table = np.array([[0.25, 0.75], [0.5, 0.5 + off]])
    if ok:
        _model_card.add_up("x", table, axis=1)
    else:
        with pytest.raises(ValueError, match=f"that sum to 1, got a sum of {1 + off:.6g}"):
            _model_card.add_up("x", table, axis=1)


@pytest.mark.parametrize(("size", "shown"), [(78, "'" + "a" * 78 + "'"), (79, "'" + "a" * 79 + " ..")])
def test_a_message_shows_eighty_characters_of_a_value(size, shown):
    assert _model_card._shown("a" * size) == shown


def values(*cells, kind="number", name="x"):
    return Column(name, kind, np.array(cells, dtype=object if kind == "text" else float))


def test_levels_are_found_by_their_type_and_value():
    levels = Levels((3, 1, 2.5), public=True)
    assert levels.codes(values(1, 3, 2.5, 7)).tolist() == [1, 0, 2, -1]
    assert levels.codes(values("1", "3", kind="text")).tolist() == [-1, -1]
    assert Levels(("b", "a"), public=True).codes(values("a", "b", "c", kind="text")).tolist() == [1, 0, -1]
    assert Levels(("b", "a"), public=True).codes(values(1, 2)).tolist() == [-1, -1]
    assert levels.size == 3
    assert _support.from_card(levels.card()) == levels


def test_intervals_have_equal_widths_and_take_values_from_outside():
    """Four intervals of width 2.5 from 0 to 10; a limit belongs to the upper interval, the end to the last."""
    bins = Bins(0.0, 10.0, 4, public=False)
    assert bins.codes(values(-5, 0, 2.4, 2.5, 5, 7.4, 7.5, 10, 99)).tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 3]
    assert bins.codes(values("1", kind="text")).tolist() == [-1]
    wide = Bins(-1.5e308, 1.5e308, 2, public=True)
    assert wide.codes(values(-1.5e308, -1e300, 0.0, 1.5e308)).tolist() == [0, 0, 1, 1]
    assert _support.from_card(bins.card()) == bins
    assert bins.size == 4


@pytest.mark.parametrize(("lower", "upper", "ok"), [(0.0, 1e-323, True), (0.0, 5e-324, False), (1.0, 1.0, False)])
def test_an_interval_has_a_width_that_can_be_halved(lower, upper, ok):
    card = {"kind": "bins", "lower": lower, "upper": upper, "bins": 2, "public": True}
    if ok:
        assert _support.from_card(card) == Bins(lower, upper, 2, public=True)
        assert _support._bounded(values(0.0), (lower, upper), 2) == Bins(lower, upper, 2, public=True)
    else:
        with pytest.raises(ValueError, match="lower must be below upper"):
            _support.from_card(card)
        with pytest.raises(ValueError, match="must satisfy lower < upper"):
            _support._bounded(values(0.0), (lower, upper), 2)


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ({"kind": "bins", "lower": 0, "upper": 1, "bins": 1, "public": True}, "bins must be >= 2"),
        ({"kind": "bins", "lower": 0, "upper": 1, "public": True}, "lacks the key 'bins'"),
        ({"kind": "levels", "values": "ab", "public": True}, "values must be a list, got 'ab'"),
    ],
)
def test_a_description_of_a_column_must_be_complete(card, words):
    with pytest.raises((ValueError, TypeError), match=words):
        _support.from_card(card)


@pytest.mark.parametrize(("size", "more"), [(1, ""), (8, ""), (9, " and 1 more"), (11, " and 3 more")])
def test_a_warning_names_eight_columns(size, more):
    columns = [values(0, name=f"c{i}") for i in range(size + 1)]
    supports = [*[Levels((0,), public=False)] * size, Levels((0,), public=True)]
    names = ", ".join(f"c{i}" for i in range(min(size, 8)))
    with pytest.warns(SupportFromData) as said:
        _support.warn_of_data(columns, supports)
    assert str(said[0].message).startswith(f"the levels or bounds of {names}{more} were derived from the data")
    with pytest.warns(SupportFromData, match="^the classes and the levels or bounds of c0"):
        _support.warn_of_data(columns, supports, classes=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _support.warn_of_data(columns[-1:], supports[-1:])


@pytest.mark.parametrize(
    ("key", "place"), [("b", 1), (0, 0), (1, 1), (2, None), (-1, None), (True, None), ("c", None), ("0", None)]
)
def test_a_column_is_named_or_numbered(key, place):
    columns = [values(0, name="a"), values(0, name="b")]
    if place is None:
        with pytest.raises(ValueError, match=r"levels must contain names of columns of X \(a, b\), got"):
            _support._place("levels", key, columns)
    else:
        assert _support._place("levels", key, columns) == place


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([1, 2], [1, 2]), (["a", "b"], ["a", "b"]), (np.array([1.5, 2.0]), [1.5, 2.0]), ([True, 2], [True, 2]),
        ([], TypeError), ("ab", TypeError), (5, TypeError), (["a", 1], TypeError), ([None], TypeError),
        ([1.0, float("inf")], ValueError), ([10**400], ValueError), ([1, 1.0], ValueError), (["a", "a"], ValueError),
    ],
)  # fmt: skip
def test_levels_are_distinct_strings_or_finite_numbers(cells, found):
    if isinstance(found, list):
        assert _support.plain("levels", cells) == tuple(found)
    else:
        with pytest.raises(found, match="levels must"):
            _support.plain("levels", cells)


def test_supports_are_stated_bounded_or_learnt():
    columns = _support.read_columns(pd.DataFrame({"n": [1.5, 2.5], "t": ["a", "b"], "k": [1, 0], "z": [True, False]}))
    stated = _support.learn(columns, levels={"t": ["b", "a"]}, bounds={2: (0, 4)}, bins=3)
    assert stated == (Bins(1.5, 2.5, 3, public=False), Levels(("b", "a"), public=True), Bins(0.0, 4.0, 3, public=True),
                      Levels((0, 1), public=True))  # fmt: skip
    every = _support.learn(columns, levels=None, bounds=(0.0, 8.0), bins=2)
    assert every[:3] == (
        Bins(0.0, 8.0, 2, public=True),
        Levels(("a", "b"), public=False),
        Bins(0.0, 8.0, 2, public=True),
    )
    assert _support.learn(columns, levels={0: [1.5, 2.5]}, bounds=None, bins=2)[0] == Levels((1.5, 2.5), public=True)
    with pytest.raises(ValueError, match="column 't' must be among the levels of the column, got 'b' in row 1"):
        _support.learn(columns, levels={"t": ["a", "c"]}, bounds=None, bins=2)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"a": []}), r"got shape \(0, 1\)"), (pd.DataFrame(index=[0, 1]), r"got shape \(2, 0\)"),
        (pd.DataFrame({"a": [1.0, np.nan, np.nan]}), "column 'a' must not contain missing values, got NaN in row 1"),
        (pd.DataFrame({"a": [1.0, 2.0, np.inf]}), "got inf in row 2"),
        (pd.DataFrame({"a": ["x", 1]}, dtype=object), "got a string in row 0 and a number in row 1"),
        (pd.DataFrame({"a": [1, b"x"]}, dtype=object), "got b'x' in row 1 of column 'a'"),
    ],
)  # fmt: skip
def test_invalid_cells_are_named_by_their_row(frame, words):
    with pytest.raises((ValueError, TypeError), match=words):
        _support.read_columns(frame)


def test_columns_are_numbers_truth_values_or_text():
    frame = pd.DataFrame({"n": pd.array([1, 2]), "o": pd.Series([1, 2.5], dtype=object), "b": [True, False],
                          "c": pd.Categorical(["y", "x"], categories=["y", "x", "w"]),
                          "d": pd.Categorical([2, 1])})  # fmt: skip
    found = _support.read_columns(frame)
    assert [c.kind for c in found] == ["number", "number", "truth", "text", "number"]
    assert [c.declared for c in found] == [(), (), (), ("y", "x", "w"), (1.0, 2.0)]
    assert found[2].values.tolist() == [1.0, 0.0]
    assert _support._seen(found[3], 5) == Levels(("y", "x", "w"), public=False)
    assert [c.name for c in _support.read_columns(np.ones((1, 2)))] == ["0", "1"]
