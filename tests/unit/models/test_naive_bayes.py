"""Tests of the scikit-learn estimators: conventions, public support, floors, cards, and immutable objects."""

import dataclasses
import importlib
import inspect
import json
import pickle
import pkgutil
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpmultinomial
from dpmultinomial._accounting import composition, renyi
from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._mechanisms.swapping import exact_swapping, two_by_two
from dpmultinomial._models import _model_card, _support, bayesian_network, calibrated_noise
from dpmultinomial._models._support import Bins, SupportFromData
from dpmultinomial._models.naive_bayes import PrivateNaiveBayes
from dpmultinomial._models.private_network import PrivateBayesianNetwork
from dpmultinomial._seeding import stream
from reproduction.papers.pan2023.algorithms import swapping_audit

LEVELS = {"word": ["a", "b", "c"], "few": [0, 1, 2, 3, 4]}
CLASSES = ["no", "yes"]
PUBLIC = {"levels": LEVELS, "bounds": {"wide": (-3.0, 4.0)}}
NETWORK = {"few": (), "word": ("few",), "wide": ("word", "few")}


def data(n=900):
    rng = stream(1, "estimators", n)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "wide": rng.normal(y, 0.7),
            "word": pd.Categorical(np.array(["a", "b", "c"])[np.minimum(rng.integers(0, 3, n), 2 - y)]),
            "few": rng.integers(0, 5, n),
            "truth": y == rng.integers(0, 2, n),
        }
    )
    return frame, np.array(CLASSES)[y]


def public(mechanism="dirichlet", **rest):
    return PrivateNaiveBayes(mechanism, classes=CLASSES, **PUBLIC, **rest)


@pytest.mark.filterwarnings(
    "ignore::dpmultinomial._models._support.SupportFromData", "ignore::sklearn.exceptions.SkipTestWarning"
)
@parametrize_with_checks([PrivateNaiveBayes(), PrivateBayesianNetwork()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::dpmultinomial._models._support.SupportFromData", "ignore::sklearn.exceptions.SkipTestWarning"
)
@parametrize_with_checks(
    [PrivateNaiveBayes(m) for m in ("gaussian", "laplace", "none")]
    + [PrivateBayesianNetwork(mechanism=m) for m in ("gaussian", "laplace", "none")]
)
def test_scikit_learns_checks_with_other_mechanisms(estimator, check):
    check(estimator)


@pytest.mark.parametrize("mechanism", ["dirichlet", "gaussian", "laplace", "none"])
def test_public_support_learns_in_silence(mechanism):
    X, y = data()
    model = public(mechanism, epsilon=50.0, order=2.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8  # the Bayes rule on `wide` alone has norm.cdf(0.5 / 0.7) = 0.76
    assert model.classes_.tolist() == CLASSES
    assert model.supports_[0] == Bins(-3.0, 4.0, 10, public=True)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    for table in model.feature_log_prob_:
        assert np.allclose(np.exp(table).sum(axis=0), 1)


def test_without_noise_the_tables_are_the_textbook_model():
    X, y = data()
    model = public("none", smoothing=0.5).fit(X, y)
    share = np.array([(np.sum((X["few"] == 3) & (y == c)) + 0.5) / (np.sum(y == c) + 2.5) for c in CLASSES])
    assert np.exp(model.feature_log_prob_[2][3]) == pytest.approx(share, rel=1e-12)
    inside = (X["wide"] >= -3 + 0.7 * 4) & (X["wide"] < -3 + 0.7 * 5)  # the fifth of ten bins of [-3, 4]
    share = [(np.sum(inside & (y == c)) + 0.5) / (np.sum(y == c) + 5) for c in CLASSES]
    assert np.exp(model.feature_log_prob_[0][4]) == pytest.approx(share, rel=1e-12)
    assert np.exp(model.class_log_prior_) == pytest.approx((np.array([sum(y == c) for c in CLASSES]) + 0.5) / 901)


def test_what_came_from_the_data_is_said_once_by_name():
    X, y = data()
    with pytest.warns(
        SupportFromData, match="the classes and the levels or bounds of wide, word, few were derived from the data"
    ) as said:
        model = PrivateNaiveBayes(random_state=0).fit(X, y)
    assert len(said) == 1
    assert model.card_["public_support"] is False
    assert isinstance(model.supports_[0], Bins)  # never one category a value
    assert public(random_state=0).fit(X, y).card_["public_support"] is True


def test_a_class_without_records_is_still_a_class():
    X, y = data()
    model = PrivateNaiveBayes(classes=[*CLASSES, "never"], **PUBLIC, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (900, 3)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_values_outside_the_support():
    X, y = data()
    model = public(random_state=0).fit(X, y)
    odd = pd.DataFrame({"wide": [-99.0, 99.0], "word": ["z", "z"], "few": [77, 77], "truth": [True, False]})
    logits = model.class_log_prior_ + np.array(
        [model.feature_log_prob_[0][k] + model.feature_log_prob_[3][t] for k, t in ((0, 1), (9, 0))]
    )
    exact = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    assert np.allclose(model.predict_log_proba(odd), exact, atol=1e-13)


def test_strings_in_arrays_and_cross_validation_and_clones():
    X, y = data()
    text = X[["word"]].astype(str).to_numpy()
    model = PrivateNaiveBayes(levels={0: ["a", "b", "c"]}, classes=CLASSES, epsilon=20.0, random_state=3)
    assert np.array_equal(model.fit(text, y).predict(text), clone(model).fit(text, y).predict(text))
    assert np.mean(cross_val_score(public(epsilon=20.0, random_state=3), X, y, cv=4)) > 0.75


def test_fresh_randomness_differs_and_a_seed_repeats():
    X, y = data()
    first, second = (public().fit(X, y).class_log_prior_ for _ in range(2))
    assert not np.array_equal(first, second)
    first, second = (public(random_state=5).fit(X, y).class_log_prior_ for _ in range(2))
    assert np.array_equal(first, second)
    given = public().fit(X, y, rng=stream(2, "given"))
    assert given.card_["randomness"] == "a generator of the caller"
    assert public(random_state=5).fit(X, y).card_["randomness"].startswith("a seed")
    assert public(random_state=np.random.RandomState(1)).fit(X, y).card_["hardened"] is False


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_the_floor_never_falls_below_the_smoothing(mechanism):
    for epsilon, least in ((1e-3, None), (1e9, 2.5)):
        noise = calibrated_noise.calibrated(mechanism, [epsilon], order=5.0)
        low = calibrated_noise.floors("sigma", noise, smoothing=2.5)
        assert low[0] == (noise.sd()[0] if least is None else least)
        assert calibrated_noise.floors("sigma", noise)[0] == noise.sd()[0]
    X, y = data()
    X["few"] = 0  # four categories of `few` are empty
    model = public(mechanism, epsilon=1e9, smoothing=2.5, random_state=0).fit(X, y)
    counts = np.array([np.sum(y == c) for c in CLASSES])
    assert np.exp(model.feature_log_prob_[2][1]) == pytest.approx(2.5 / (counts + 4 * 2.5), rel=1e-3)
    assert model.card_["floor"] == 2.5


@pytest.mark.parametrize("estimator", ["classifier", "network"])
@pytest.mark.parametrize("mechanism", ["dirichlet", "gaussian"])
def test_no_count_stays_inside(estimator, mechanism):
    X, y = data(977)
    if estimator == "classifier":
        model = public(mechanism, random_state=np.random.RandomState(0)).fit(X, y)
    else:
        model = PrivateBayesianNetwork(NETWORK, mechanism=mechanism, **PUBLIC, random_state=0).fit(X)
    truth = {977, *np.bincount(X["few"]).tolist(), *(int(np.sum(y == c)) for c in CLASSES)}
    truth |= {int(n) for n in pd.crosstab(X["few"], y).to_numpy().ravel()}
    numbers = set()

    def walk(value):
        if isinstance(value, dict):
            assert "counts" not in value
            [walk(v) for key, v in value.items() if key not in ("starts", "index", "strides")]
        elif isinstance(value, list | tuple):
            [walk(v) for v in value]
        elif isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            numbers.update(value.ravel().tolist())
        elif isinstance(value, int | float):
            numbers.add(value)
        elif hasattr(value, "__dict__") and not isinstance(value, np.random.RandomState):
            walk(vars(value))

    state = pickle.loads(pickle.dumps(model)).__getstate__()
    walk({key: value for key, value in state.items() if key.endswith("_") or key.startswith("_")})
    small = set(range(61))  # bins, releases and the like
    assert truth - small
    assert not (truth - small) & numbers


@pytest.mark.parametrize("mechanism", ["dirichlet", "gaussian", "laplace", "none"])
def test_exports_are_json_and_come_back(mechanism):
    X, y = data()
    model = public(mechanism, random_state=0).fit(X, y)
    back = PrivateNaiveBayes.from_export(json.loads(json.dumps(model.export(), allow_nan=False)))
    assert np.array_equal(back.predict_log_proba(X), model.predict_log_proba(X))
    assert back.card_ == model.card_
    network = PrivateBayesianNetwork(NETWORK, mechanism=mechanism, **PUBLIC, random_state=0).fit(X)
    again = PrivateBayesianNetwork.from_export(json.loads(json.dumps(network.export(), allow_nan=False)))
    assert np.array_equal(again.score_samples(X), network.score_samples(X))
    with pytest.raises(ValueError, match=r"exported\['format'\] must be"):
        PrivateNaiveBayes.from_export(network.export())
    broken = model.export() | {"feature_log_prob": [[[0.0, 0.0]]]}
    for wrong in (5, "abc", {"a": 1}, None):
        with pytest.raises(TypeError, match="the values of the keys feature_log_prob in exported must be lists"):
            type(model).from_export(model.export() | {"feature_log_prob": wrong})
    holes = [np.full(np.shape(table), np.nan).tolist() for table in model.export()["feature_log_prob"]]
    with pytest.raises(ValueError, match="must contain only numbers, got NaN"):
        type(model).from_export(model.export() | {"feature_log_prob": holes})
    with pytest.raises(ValueError, match="feature_log_prob must have one list"):
        PrivateNaiveBayes.from_export(broken)


@pytest.mark.parametrize("estimator", [PrivateNaiveBayes, PrivateBayesianNetwork])
def test_both_estimators_have_the_same_defaults(estimator):
    """One pseudo-count per cell (Laplace's rule), ten bins, epsilon 1 and the order 5 of Ponnoprat (2022)."""
    common = {"mechanism": "dirichlet", "epsilon": 1.0, "order": 5.0, "floor": "sigma", "smoothing": 1.0, "bins": 10}
    found = estimator().get_params()
    assert {key: found[key] for key in common} == common
    assert found["exact"] is False
    assert found["random_state"] is None


@pytest.mark.parametrize(("size", "binned"), [(30, False), (31, True)])
def test_integers_with_more_than_thirty_values_are_binned(size, binned):
    found = _support._seen(_support.column("x", np.arange(size)), 10)
    assert isinstance(found, Bins) is binned
    assert found.size == (10 if binned else 30)


def test_synthetic_numbers_are_the_midpoints_of_their_bins():
    model = SimpleNamespace(supports_=(Bins(0.0, 10.0, 5, True),), network_=SimpleNamespace(columns=("x",)))
    assert PrivateBayesianNetwork._values(model, "x", np.array([0, 2, 4])).tolist() == [1.0, 5.0, 9.0]


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_the_epsilon_of_laplace_noise_is_an_upper_bound(scale):
    """Check that one release has at most the stated delta at the stated epsilon, which is at most the pure epsilon."""
    noise = Laplace(scale=scale)
    reach, exact = _model_card._approximate(noise, 1)
    assert 1.9 / scale < reach <= 2 / scale
    assert not exact
    assert calibrated_noise.exact_delta(noise, epsilon=reach) <= 1e-5


def test_cards_state_the_cost():
    X, y = data()
    card = public("gaussian", epsilon=2.0, order=3.0, random_state=0).fit(X, y).card_
    sigma = np.sqrt(3 * 2 / (2 * 2.0 / 5))  # order 3, squared shift 2, a fifth of epsilon for each of 4 columns + class
    assert card["scale"] == pytest.approx(sigma, rel=1e-14)
    assert (card["releases"], card["order"], card["epsilon"]) == (5, 3.0, 2.0)
    assert card["epsilon_exact"] == pytest.approx(2.0, rel=1e-12)
    shift, e = np.sqrt(2) / sigma, 2.0
    delta = norm.cdf(shift / 2 - e / shift) - np.exp(e) * norm.cdf(-shift / 2 - e / shift)  # Balle and Wang (2018)
    assert card["delta_of_one_release"] == pytest.approx(delta, rel=1e-9)
    whole, e = Gaussian(sigma=sigma / np.sqrt(5)), card["epsilon_hat"]
    assert float(whole.delta(e)) == pytest.approx(1e-5, rel=1e-9)
    assert card["epsilon_hat_exact"]
    card = public("dirichlet", epsilon=2.0, order=3.0, random_state=0).fit(X, y).card_
    assert card["alpha"] == pytest.approx(1 + 8 * card["r"], rel=1e-14)
    worst = 5 * renyi.dirichlet_worst_case(card["r"], alpha=card["alpha"], order=3.0)
    assert card["epsilon_exact"] == pytest.approx(worst, rel=1e-14)
    assert card["epsilon_exact"] < 2.0
    assert card["epsilon_hat"] <= composition.rdp_to_dp(worst, order=3.0, delta=1e-5)
    card = public("laplace", epsilon=2.0, order=3.0, random_state=0).fit(X, y).card_
    assert card["epsilon_hat"] <= 2 * 5 / card["scale"]
    assert not card["epsilon_hat_exact"]
    assert public("none").fit(X, y).card_["private"] is False
    json.dumps(card, allow_nan=False)


def test_a_network_is_scored_and_sampled():
    X, _ = data(4000)
    model = PrivateBayesianNetwork(NETWORK, epsilon=1e5, exact=True, **PUBLIC, random_state=0).fit(X)
    open_model = PrivateBayesianNetwork(NETWORK, mechanism="none", smoothing=1e-6, **PUBLIC).fit(X)
    codes = np.clip(np.floor((X["wide"] + 3) / 0.7), 0, 9)
    whole = pd.DataFrame({"few": X["few"], "word": X["word"].astype(str), "wide": codes})
    joint = whole.groupby(["few", "word", "wide"]).size()
    exact = (
        joint.loc[list(whole.itertuples(index=False, name=None))].to_numpy() / 4000
    )  # a complete network: the joint law
    assert np.allclose(np.exp(open_model.score_samples(X)), exact, rtol=1e-4)
    assert open_model.score(X) == pytest.approx(np.mean(np.log(exact)), rel=1e-5)
    drawn = open_model.sample(20_000, rng=stream(3, "sample"))
    assert list(drawn.columns) == ["few", "word", "wide"]
    table = pd.crosstab(drawn["few"], drawn["word"], normalize=True).to_numpy()
    truth = pd.crosstab(X["few"], X["word"], normalize=True).to_numpy()
    assert np.abs(table - truth).max() < 5.5 * np.sqrt(0.15 / 20_000)  # 15 cells: false alarms below 1e-6
    assert model.score(X) > open_model.score(X) - 0.5
    unknown = X.iloc[:1].assign(few=99)
    assert open_model.score_samples(unknown)[0] == 0.0  # every node needs `few`


X5, Y5 = data(60)


@pytest.mark.parametrize(
    ("arguments", "change", "error", "message"),
    [
        ({"mechanism": "staircase"}, {}, ValueError, "mechanism must be one of"),
        ({"epsilon": 0.0}, {}, ValueError, "epsilon must be finite and > 0"),
        ({"order": 0.5}, {}, ValueError, "order must be >= 1"),
        ({"mechanism": "laplace", "floor": -1.0}, {}, ValueError, "floor must be finite and > 0"),
        ({"mechanism": "laplace", "floor": "sd"}, {}, ValueError, "floor must be one of 'sigma'"),
        ({"smoothing": 0.0}, {}, ValueError, "smoothing must be finite and > 0"),
        ({"bins": 1}, {}, ValueError, r"bins must be >= 2"),
        ({"random_state": "7"}, {}, TypeError, "random_state must be an integer"),
        ({"levels": {"word": ["a", "b"]}}, {}, ValueError, "'word' must be among the levels of the column, got 'c'"),
        ({"levels": {"nope": ["a"]}}, {}, ValueError, "levels must contain names of columns of X"),
        ({"levels": {"word": ["a", "a"]}}, {}, ValueError, "levels of 'word' must contain distinct values"),
        ({"levels": {"word": ["a", 1]}}, {}, TypeError, "must contain only strings or only numbers"),
        ({"levels": {"word": "abc"}}, {}, TypeError, "must be a list of values"),
        (
            {"bounds": {"word": (0, 1)}},
            {},
            TypeError,
            r"bounds must be omitted for column 'word', which contains text, got \(0, 1\)",
        ),
        ({"bounds": {"wide": (1, 1)}}, {}, ValueError, "the bounds of 'wide' must satisfy lower < upper"),
        ({"bounds": (0, np.inf)}, {}, ValueError, "bounds of 'wide' must"),
        ({"classes": ["no"]}, {}, ValueError, "classes must contain at least two classes, got"),
        ({"classes": ["no", "maybe"]}, {}, ValueError, "got the value 'yes' and the classes"),
        ({}, {"wide": np.nan}, ValueError, "column 'wide' must not contain missing values"),
        ({}, {"wide": np.inf}, ValueError, "column 'wide' must contain only finite values"),
        ({}, {"word": None}, ValueError, "column 'word' must not contain missing values"),
        ({}, {"word": [["a"]] * 60}, TypeError, "must be a string or a number"),
        ({}, {"word": ["a", 1] * 30}, TypeError, "column 'word' must contain only strings or only numbers"),
        ({}, {"wide": 1j}, ValueError, "column 'wide' must contain only real numbers, got complex numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore::dpmultinomial._models._support.SupportFromData")
def test_refusals_name_the_column_or_parameter(arguments, change, error, message):
    with pytest.raises(error, match=message):
        PrivateNaiveBayes(**arguments).fit(X5.assign(**change), Y5)


@pytest.mark.filterwarnings("ignore::dpmultinomial._models._support.SupportFromData")
def test_networks_refuse_what_they_cannot_fit():
    for network, message in (
        ({"wide": ("word",), "word": ("wide",)}, "must not contain a cycle"),
        ({"z": ()}, "the node 'z' must be the name of a column"),
        ({}, "network must contain at least one node"),
    ):
        with pytest.raises(ValueError, match=message):
            PrivateBayesianNetwork(network).fit(X5)
    names = [f"c{k}" for k in range(9)]
    wide = pd.DataFrame(np.tile(np.arange(10.0), (9, 1)).T, columns=names)
    model = PrivateBayesianNetwork({**dict.fromkeys(names[1:], ()), "c0": names[1:]})
    with pytest.raises(ValueError, match="must have at most 20000000 cells"):
        model.fit(wide)


def test_one_class_and_seeds_are_refused():
    X, y = data(30)
    with pytest.raises(ValueError, match="y must contain at least two classes"):
        PrivateNaiveBayes(**PUBLIC).fit(X, np.full(30, "no"))
    with pytest.raises(TypeError, match="rng must be a numpy"):
        public().fit(X, y, rng=1)


MODULES = [m.name for m in pkgutil.walk_packages(dpmultinomial.__path__, "dpmultinomial.") if "_kernels" not in m.name]


@pytest.mark.parametrize("package", sorted({name.split(".")[1] for name in MODULES}))
def test_values_cannot_be_changed(package):
    """Check that every dataclass is frozen, except states of chains, so that checked values remain valid."""
    found = set()
    for name in MODULES:
        if name.split(".")[1] == package:
            module = importlib.import_module(name)
            own = (c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == name)
            found |= {c for c in own if "__dataclass_params__" in vars(c)}
    changeable = {c.__qualname__ for c in found if not c.__dataclass_params__.frozen}
    assert changeable == ({"State", "Proposal"} if package == "_posteriors" else set())
    for kind in found:
        assert all(f.name.isidentifier() for f in dataclasses.fields(kind))


@pytest.mark.parametrize("nodes", ["ab", "abc", "abcd"])
def test_a_cycle_is_shown_from_its_start_to_its_start(nodes):
    parents = {node: (nodes[i - 1],) for i, node in enumerate(nodes)}
    with pytest.raises(ValueError, match="must not contain a cycle") as told:
        bayesian_network.graph(parents, columns=list(nodes))
    shown = str(told.value).removeprefix("network must not contain a cycle, got ").split(" -> ")
    assert shown[0] == shown[-1]
    assert sorted(shown[1:]) == sorted(nodes)
    assert all(parents[below] == (above,) for above, below in pairwise(shown))


def test_what_is_learnt_of_numbers_are_their_ends():
    """Check that numbers with fractions are binned between the extremes, and that a few integers are levels."""
    frame = pd.DataFrame({"x": [2.5, -1.25, 7.0, 0.0], "n": [3, 1, 3, 2], "one": [4.5] * 4, "t": list("baab")})
    found = [_support._seen(column, 5) for column in _support.read_columns(frame)]
    assert found[0] == _support.Bins(-1.25, 7.0, 5, public=False)
    assert found[1:] == [_support.Levels(v, public=False) for v in ((1, 2, 3), (4.5,), ("a", "b"))]
    many = _support.read_columns(pd.DataFrame({"n": np.arange(10, _support.MANY + 11)}))[0]
    assert _support._seen(many, 5) == _support.Bins(10.0, _support.MANY + 10.0, 5, public=False)
    few = _support.read_columns(pd.DataFrame({"n": np.arange(10, _support.MANY + 10)}))[0]
    assert _support._seen(few, 5).size == _support.MANY
    assert found[0].codes(_support.read_columns(frame)[0]).tolist() == [2, 0, 4, 0]  # widths of 1.65 from -1.25


def test_a_swap_needs_two_records():
    with pytest.raises(ValueError, match="n must be >= 2, got 1"):
        swapping_audit.log_kernel(1, 1, 1, rate=0.3)
    x, logs = swapping_audit.log_kernel(2, 1, 1, rate=0.3)
    assert x.tolist() == [0, 1]
    assert np.exp(logs).sum(axis=1) == pytest.approx([1, 1])


@pytest.mark.parametrize("table", [[[3, 0], [2, 0]], [[0, 0], [4, 7]], [[0, 3], [0, 2]]])
def test_a_class_of_one_table_stays_there(table):
    """Check that with a margin of 0 there is no other table, in any orientation."""
    for law in (two_by_two.row(table, rate=0.3), exact_swapping.row(table, rate=0.3)):
        assert law.x.tolist() == [table[1][1]]
        assert (law.log_forward.tolist(), law.log_backward.tolist(), law.position) == ([0.0], [0.0], 0)
