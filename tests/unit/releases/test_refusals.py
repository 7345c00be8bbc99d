"""Tests of releases that must be rejected: inconsistent data, settings and budgets, with the error messages."""

import json
import multiprocessing
import re
import shutil

import numpy as np
import pytest
from refusals import REJECTED, calls, rejects

from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import _counts, _microdata, _noise, _protocol, checks, room, spending
from dpmultinomial._releases import _statistics as released

COUNTS = b"category,count\na,1\nb,2\n"


def table(raw):
    return parse(raw, name="f.csv", confidential=True)


CENSORED, SWAPPED = {"column": "x", "lower": 0.0, "upper": 1.0}, {"swap": ["a"], "match": ["c"], "rate": 0.1}
PER_RECORD = {"relation": "replace a record"}
FEW, FAR = table(b"x\n1\n2\n3\n"), CENSORED | {"lower": 1e7, "upper": 1e7 + 1}
MANY, ENOUGH = table(b"category,count\na,400000001\nb,0\n"), table(b"x\n1\n2\n3\n4\n")
EMPTY, TWO = table(b"a,b,c\n1,2,x\n3,4,\n"), table(b"a,b\n1,2\n3,4\n")
ROWS = calls(
    (lambda: _counts.additive({"epsilon": 1.0, "algorithm": "2"}, MANY), "must be below"),
    (lambda: _counts.additive({"epsilon": 1e-5, "algorithm": "1-summed"}, table(COUNTS)), "must be >= 0.005"),
    (lambda: _microdata.swap(SWAPPED | {"swap": ["a", "b"], "match": []}, TWO), "at least one column must not be"),
    (lambda: _microdata.swap(SWAPPED, EMPTY), "line 3.* must not be empty, because the column is in match"),
    (lambda: released.censored(CENSORED, FEW), "must have 4 to .* records, got 3"),
    (lambda: released.censored(FAR, ENOUGH), "must be <= 2"),
    (lambda: spending.Cost(**PER_RECORD), "epsilon, or rho, or epsilon and order, got none"),
    (lambda: spending.Cost(**PER_RECORD, epsilon=1.0, rho=1.0), "got epsilon, rho"),
    (lambda: _noise.laplace_scale(5e-324, sensitivity=1), "scale|finite"),
    error=ValueError,
)


@pytest.mark.parametrize(REJECTED, ROWS)
def test_rejects(call, arguments, words, error):
    rejects(call, arguments, words, error)


def test_all_faults_of_a_confidential_file_of_counts_come_at_once_and_show_nothing():
    wrong = table("category,count\nnord,812.5\n,7\nnord,-3\nsüd,\na\tb,1\n".encode())
    with pytest.raises(ValueError, match=r"f\.csv: 6 invalid cells") as caught:
        _counts.read(wrong)
    assert str(caught.value).splitlines()[1:] == [
        "    line 2, column 'count': must be an integer",
        "    line 3, column 'category': must not be empty",
        "    line 4, column 'category': must differ from the category in line 2",
        f"    line 4, column 'count': must be in [0, {2**53 // 5}]",
        "    line 5, column 'count': must be an integer",
        "    line 6, column 'category': must not contain control characters",
    ]
    swapped = table(b"a,b,c\n1,2,\n3,4,x\n5,6,\n")
    with pytest.raises(ValueError, match=r"2 invalid cells\n +line 2, column 'c': .* empty, .*\n +line 4, column 'c'"):
        _microdata.swap(SWAPPED, swapped)


def _hold(root, held, done):
    with _protocol.locked(root):
        held.set()
        done.wait(20)


def test_who_comes_second_waits_then_is_refused(tmp_path):
    fork = multiprocessing.get_context("fork")
    held, done = fork.Event(), fork.Event()
    other = fork.Process(target=_hold, args=(tmp_path, held, done))
    other.start()
    try:
        assert held.wait(20)
        with pytest.raises(TimeoutError, match=r"was still locked after 0.1 s"):
            _protocol.locked(tmp_path, wait=0.1).__enter__()
    finally:
        done.set()
        other.join(20)
    with _protocol.locked(tmp_path, wait=0.0):
        pass


def _settings(root):
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential" / "c.csv").write_bytes(COUNTS)
    return dict(COUNT_SETTINGS)


def test_an_error_nobody_expected_shows_its_kind_alone(tmp_path, monkeypatch):
    settings = _settings(tmp_path)
    monkeypatch.setattr(_noise, "discrete_laplace", lambda *_, **__: 1 / np.int64(0).item())
    with pytest.raises(
        RuntimeError, match="exception of type ZeroDivisionError occurred while the confidential file was open"
    ) as told:
        room.make("r", settings, root=tmp_path)
    assert told.value.__cause__ is None
    (kept,) = (tmp_path / "confidential").glob("*error.txt")
    assert "ZeroDivisionError" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    assert not (tmp_path / "releases" / "ledger.tsv").exists()


def test_an_extra_that_is_not_there_is_named():
    with pytest.raises(ModuleNotFoundError, match=r"releases require nowhere: install nowhere \(pip install nowhere\)"):
        _noise._extra("nowhere.at.all")


COUNT_SETTINGS = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 0.5}
MODEL = {"mechanism": "naive_bayes", "data": "confidential/c.csv", "target": "t", "noise": "discrete_laplace"}
MODEL |= {"epsilon": 1.0, "levels": {"t": ["a", "b"], "x": ["c", "d"]}}
TARGET = {"t": ["a", "b"]}
BAD_BUDGETS = [
    (["s"], "budgets", "must be a mapping from each source to its budget"),
    ({"S": {"epsilon": 1.0}}, "budgets/S", "must consist of at most 64 lower-case letters"),
    ({"s": {"delta": 1e-6}}, "budgets/s", "must contain epsilon"),
    ({"s": 3.0}, "budgets/s", "must contain epsilon"),
    (
        {"s": {"epsilon": 1.0, "order": 2}},
        "budgets/s/order",
        "unknown key; the keys of a budget are epsilon, delta, rho, exchange",
    ),
    ({"s": {"epsilon": 0}}, "budgets/s/epsilon", "must be"),
    ({"s": {"epsilon": 1.0, "delta": 1.0}}, "budgets/s/delta", "must be"),
    ({"s": {"epsilon": 1.0, "delta": 0.9999}}, "budgets/s/delta", "must be <= 0.0001"),
    ({"s": {"rho": 1.0, "delta": 1e-6}}, "budgets/s/delta", "only together with epsilon"),
    ({"s": {"exchange": -1.0}}, "budgets/s/exchange", "must be"),
    ({"survey": {"epsilon": 1.0}}, "releases/r/source", "the source r has no budget: add one, or did you mean survey"),
]
BAD_MODELS = [
    ({"levels": TARGET}, "levels", "in addition to the target"),
    ({"numeric": ["x"], "bounds": {"x": [0, 1]}}, "levels", "must not contain the numeric column"),
    ({"levels": TARGET, "numeric": ["x"]}, "bounds", "must contain the public"),
    ({"bounds": {"y": [0, 1]}}, "bounds", "must contain only numeric columns, got 'y'"),
    ({"levels": {"x": ["a", "b"], "y": ["c", "d"]}}, "levels", "must contain the categories of the target 't'"),
    ({"order": 2.0}, "order", "does not have this key"),
    ({"noise": "dirichlet"}, "order", "requires this key"),
]
SETTINGS = [(COUNT_SETTINGS, *row) for row in BAD_BUDGETS]
SETTINGS += [(MODEL | changes, None, f"releases/r/{key}", words) for changes, key, words in BAD_MODELS]


@pytest.mark.parametrize(("settings", "budgets", "place", "words"), SETTINGS)
def test_check_reports_budgets_and_keys_that_are_inconsistent(tmp_path, settings, budgets, place, words):
    _settings(tmp_path)
    found = room.check("r", settings, root=tmp_path, budgets=budgets)
    assert any(where == place and re.search(words, text) for where, text in found), found


def test_what_is_missing_is_named(tmp_path):
    found = dict(room.check("r", {"mechanism": "swap", "epsilom": 1}, root=tmp_path))
    assert found["releases/r/rate"].startswith("is missing: ")
    assert "does not have this key" in found["releases/r/epsilom"]
    assert json.dumps(sorted(found)) == json.dumps([f"releases/r/{k}" for k in ("data", "epsilom", "rate", "swap")])


def test_weak_privacy_needs_a_word(tmp_path):
    settings = _settings(tmp_path)
    for epsilon, weak in ((20.0, False), (20.001, True)):
        found = dict(room.check("r", settings | {"epsilon": epsilon}, root=tmp_path))
        assert ("gives almost no protection" in found.get("releases/r/epsilon", "")) is weak
    assert checks.weak(delta=1e-4) is None
    assert "allows the release of whole records" in str(checks.weak(delta=1.001e-4))
    assert checks.weak(rho=20.0) is None
    assert str(checks.weak(rho=20.5)).startswith("rho must be <= 20, because")


PEOPLE = {"data": "confidential/c.csv", "column": "x", "lower": 0.0, "upper": 1.0, "mechanism": "censored_statistics"}
NETWORK = MODEL | {"mechanism": "bayesian_network", "network": {"t": [], "x": ["t"]}}
NETWORK.pop("target")


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"mechanism": "discrete_laplace", "epsilon": 1e-300}, "epsilon"),
        ({"mechanism": "discrete_laplace", "epsilon": 2 / 2**40}, "epsilon"),  # 2^40 itself leaves no room for rounding
        ({"mechanism": "discrete_laplace", "sensitivity": 10**6, "epsilon": 1e-8}, "epsilon"),
        ({"mechanism": "discrete_gaussian", "rho": 1e-300}, "rho"),
        ({"mechanism": "discrete_gaussian", "rho": 8e-25}, "rho"),  # sqrt(1/rho) above 2^40 = 1.0995e12
        ({"mechanism": "additive_counts", "epsilon": 1e-13}, "epsilon"),
        (PEOPLE | {"epsilon": 1e-300}, "epsilon"),
        (PEOPLE | {"epsilon": 3e-6}, "epsilon"),
        (PEOPLE | {"epsilon": 1.0, "upper": 1e200}, "upper"),
        (PEOPLE | {"epsilon": 1.0, "lower": 1e7, "upper": 1e7 + 1}, "upper"),
        (MODEL | {"epsilon": 1e-13}, "epsilon"),
        (NETWORK | {"epsilon": 1e-13}, "epsilon"),
        (NETWORK | {"noise": "discrete_gaussian", "rho": 1e-30, "epsilon": None}, "rho"),
    ],
)  # fmt: skip
def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_made(tmp_path, settings, key):
    asked = {"data": "confidential/c.csv"} | settings
    _settings(tmp_path)
    before = sorted((tmp_path / "confidential").iterdir())
    (place, why), *_ = room.check("r", asked, root=tmp_path)
    assert place == f"releases/r/{key}"
    assert "2^40" in why or "calibrated" in why or "2^20" in why
    with pytest.raises(ValueError, match=f"releases/r/{key}"):
        room.make("r", asked, root=tmp_path)
    assert sorted((tmp_path / "confidential").iterdir()) == before  # no key, no lock, no journal
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "discrete_laplace", "epsilon": 2.1 / 2**40},
        {"mechanism": "discrete_gaussian", "rho": 9e-25},
        {"mechanism": "additive_counts", "epsilon": 1e-12},
        PEOPLE | {"epsilon": 8e-6},
        MODEL,
        MODEL | {"epsilon": 1e-11},
        NETWORK | {"noise": "dirichlet", "order": 2.0, "epsilon": 1e-3},
    ],
)
def test_small_budgets_that_can_be_drawn_are_taken(tmp_path, settings):
    _settings(tmp_path)
    assert room.check("r", {"data": "confidential/c.csv"} | settings, root=tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"epsilon": 0.25}, "epsilon is 0.25, but the existing release has 0.5"),
        ({"mechanism": "additive_counts"}, "mechanism is 'additive_counts'"),
        ({"source": "other"}, "source is 'other', but the existing release has 'r'"),
        ({"sensitivity": 4}, "sensitivity is 4, but the existing release has 2"),
        ({"epsilon": -1}, "releases/r/epsilon: must be"),
        ({"generation": 2}, "there is no file"),
    ],
)
def test_a_release_whose_data_are_gone_answers_for_itself_alone(tmp_path, changes, words):
    settings = _settings(tmp_path)
    folder = room.make("r", settings, root=tmp_path)
    (tmp_path / "confidential/c.csv").unlink()
    if words is None:
        assert room.make("r", settings, root=tmp_path) == folder
        (folder / "release.csv").chmod(0o600)
        (folder / "release.csv").write_text("category,count\na,1000000\nb,1\n")  # no noise of scale 4 gets there
        with pytest.raises(ValueError, match="the SHA-256 checksum is"):
            room.make("r", settings, root=tmp_path)
    else:
        with pytest.raises(ValueError, match=re.escape(words)):
            room.make("r", settings | changes, root=tmp_path)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda r: _linked(r / "confidential/.spent"), r"confidential/\.spent must be a regular file"),
        (lambda r: _linked(r / "confidential/.lock"), r"confidential/\.lock must be a regular file"),
        (lambda r: _linked(r / "confidential/.release_key"), r"\.release_key: the key must be a regular file"),
        (
            lambda r: (r / "confidential/.spent").unlink() or (r / "confidential/.spent").mkdir(),
            "must be a regular file",
        ),
        (lambda r: (r / "confidential/.lock").unlink() or (r / "confidential/.lock").mkdir(), "must be a regular file"),
        (lambda r: shutil.rmtree(r / "releases") or (r / "releases").symlink_to("confidential"), "must not lead into"),
        (
            lambda r: shutil.rmtree(r / "confidential") or (r / "confidential").symlink_to(r.parent),
            "must not be a link to a folder that contains the project",
        ),
    ],
)
def test_what_lies_beside_the_data_lies_nowhere_else(tmp_path, prepare, words):
    root = tmp_path / "project"
    root.mkdir()
    settings = _settings(root)
    room.make("r", settings, root=root)
    prepare(root)
    with pytest.raises(ValueError, match=words):
        room.make("s", settings | {"source": "r"}, root=root)
    assert not (root / "releases/s").exists()


def _linked(path):
    shutil.move(path, path.parents[2] / "elsewhere")
    path.symlink_to(path.parents[2] / "elsewhere")


def test_data_behind_links_in_a_circle_are_refused_in_words(tmp_path):
    settings = _settings(tmp_path)
    (tmp_path / "confidential/loop").symlink_to("loop")
    ((place, why),) = checks.problems("r", settings | {"data": "confidential/loop"}, budgets={}, root=tmp_path)
    assert place == "releases/r/data"
    assert why.startswith("must be a path that can be resolved, got confidential/loop")


def test_a_ceiling_of_exchanges_alone_bounds_no_other_release(tmp_path):
    settings = _settings(tmp_path) | {"source": "s"}
    ((place, why),) = checks.problems("r", settings, budgets={"s": {"exchange": 9.0}}, root=tmp_path)
    assert (place, why) == (
        "releases/r/source",
        "the source s has a budget only for exchanges; add epsilon or rho to this budget",
    )
    for more in ({"epsilon": 1.0}, {"rho": 1.0}):
        assert checks.problems("r", settings, budgets={"s": {"exchange": 9.0} | more}, root=tmp_path) == []
    said = spending.so_far([spending.Cost(relation="replace a record", epsilon=1.0)], {"exchange": 9.0})
    assert said.endswith("of a budget of exchange 9; the budget limits only exchanges")


@pytest.mark.parametrize(("times", "rejected"), [(2.0**20, False), (2.0**20 + 1, True)])
def test_limits_may_lie_a_million_times_their_distance_from_0(times, rejected):
    """2^20 times the distance, so that the grid of the statistics is finer than the noise: 41 times is allowed."""
    for near in (41.0, times):
        limits = CENSORED | {"lower": near - 1, "upper": near, "epsilon": 1.0, "shares": None, "sensitivities": {}}
        wanted = rejected and near == times
        try:
            released.censored(limits, ENOUGH)
            told = ""
        except (ValueError, TypeError, KeyError) as error:
            told = str(error)
        assert ("must be <= 2^20" in told) is wanted
