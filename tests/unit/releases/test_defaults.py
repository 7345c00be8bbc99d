"""Tests of the defaults of the library, which are part of its interface, and of messages after failures."""

from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._models import coded_table
from dpmultinomial._releases import _confidential, _durable, _keys, _noise, room


@pytest.mark.parametrize(("distinct", "categories"), [(30, 30), (31, 10), (100, 10), (400, 10)])
def test_ten_bins_for_more_than_thirty_values(distinct, categories):
    """Check distinct values, none of which is frequent: ten quantile bins, each with a tenth of them up to rounding."""
    frame = pd.DataFrame(
        {"x": np.arange(distinct, dtype=float), "y": ["a", "b"] * (distinct // 2) + ["a"] * (distinct % 2)}
    )
    table = coded_table.encode(frame, name="t", target="y", numeric=["x"])
    learnt = coded_table.learn(table, np.arange(distinct))
    assert learnt.sizes == (categories, 2)
    held = np.bincount(learnt.train[0])
    assert held.max() - held.min() <= 1 + (categories == 10)


def test_a_version_may_be_known_to_the_module_alone(monkeypatch):
    def unknown(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(room, "version", unknown)
    monkeypatch.setattr(room, "import_module", lambda package: SimpleNamespace(__version__=f"7 of {package}"))
    assert room._version("opendp") == "7 of opendp"
    monkeypatch.setattr(room, "import_module", lambda package: SimpleNamespace())
    assert room._version("opendp") == "unknown"


def _settings(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential" / "c.csv").write_text("category,count\na,1\nb,2\n")
    return {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 0.5}


def test_the_first_failure_is_told_whatever_happens_in_its_wake(tmp_path, monkeypatch):
    """Check a full disk, with a staging folder that disappeared before its removal."""
    settings = _settings(tmp_path)
    write = _durable.write

    def full(path, data, *, mode, name):
        if path.suffix == ".json" and "record" in path.name:
            for file in path.parent.iterdir():
                file.unlink()
            path.parent.rmdir()
            raise OSError(28, "No space left on device", str(path))
        write(path, data, mode=mode, name=name)

    monkeypatch.setattr(_durable, "write", full)
    with pytest.raises(OSError, match="No space left"):
        room.make("r", settings, root=tmp_path)
    assert not (tmp_path / "releases" / "r" / "record.json").exists()


@pytest.mark.parametrize(
    ("mechanism", "key", "last", "first_refused"),
    [
        ("discrete_laplace", "epsilon", 1000, 1000.001),
        ("discrete_laplace", "sensitivity", 2, 1),  # a replaced record leaves one cell and enters another
        ("discrete_laplace", "sensitivity", 10**6, 10**6 + 1),
        ("discrete_gaussian", "rho", 1000, 1000.001),
        ("discrete_gaussian", "sensitivity", 2, 1),
        ("discrete_gaussian", "sensitivity", 10**6, 10**6 + 1),
        ("additive_counts", "epsilon", 1000, 1000.001),
        ("censored_statistics", "epsilon", 100, 100.001),
        ("swap", "rate", 0.999, 1),
        ("naive_bayes", "epsilon", 1000, 1000.001),
        ("naive_bayes", "order", 1.001, 1),
        ("naive_bayes", "order", 1000, 1000.001),
        ("naive_bayes", "rho", 1000, 1000.001),
        ("naive_bayes", "delta", 0.999, 1),
        ("naive_bayes", "bins", 2, 1),
        ("naive_bayes", "bins", 1000, 1001),
    ],
)
def test_numbers_that_decide_a_cost_have_their_documented_limits(tmp_path, mechanism, key, last, first_refused):
    settings = {"mechanism": mechanism, "accept_weak_privacy": True}
    for value, refused in ((last, False), (first_refused, True), (0, True), (-1, True), (float("nan"), True)):
        found = [text for place, text in room.check("r", settings | {key: value}, root=tmp_path)]
        assert any(text.startswith("must be") and text.endswith(f"got {value}") for text in found) is refused, value


def test_the_documentation_says_what_is_taken_when_nothing_is_said():
    """Check the table of keys: delta one in a million, sensitivity for replacing a record (which changes two cells)."""
    found = {(row["mechanism"], row["key"]): row for row in _keys.table()}
    for mechanism in ("naive_bayes", "bayesian_network"):
        assert (found[mechanism, "delta"]["default"], found[mechanism, "delta"]["range"]) == ("1e-06", "> 0 and < 1")
    for mechanism in ("discrete_laplace", "discrete_gaussian"):
        assert found[mechanism, "sensitivity"]["default"] == "2"
        assert found[mechanism, "generation"]["default"] == "1"
        assert found[mechanism, "accept_weak_privacy"]["default"] == "False"
    assert found["additive_counts", "algorithm"]["default"] == "'3'"
    assert found["discrete_laplace", "epsilon"]["default"] == "required"
    assert found["discrete_laplace", "encoding"]["range"].startswith("one of 'utf-8', 'utf-16'")


@pytest.mark.parametrize("values", [np.zeros((2, 2), np.int64), np.int64(3), np.zeros((1, 1), np.int64)])
def test_noise_goes_onto_a_list_of_counts(values):
    for draw in (_noise.discrete_laplace, _noise.discrete_gaussian):
        with pytest.raises((ValueError, TypeError), match=r"one-dimensional|int64"):
            draw(values, scale=2.0)


def test_the_smallest_sensitivity_has_its_scale():
    """Check one count that changes by one: rho = 1/(2 scale^2) and epsilon = 1/scale."""
    assert _noise.gaussian_scale(0.5, l2_squared=1) == pytest.approx(1.0, rel=1e-9)
    assert _noise.gaussian_rho(1.0, l2_squared=1) == pytest.approx(0.5, rel=1e-12)
    assert _noise.laplace_scale(0.5, sensitivity=1) == pytest.approx(2.0, rel=1e-9)
    assert _noise.laplace_epsilon(2.0, sensitivity=1) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("bit", [0o001, 0o002, 0o004, 0o010, 0o020, 0o040])
def test_the_key_is_its_owners_alone(tmp_path, bit):
    """Check that each permission of group or others is rejected; without any the key is unchanged."""
    secret = _confidential.key(tmp_path)
    assert _confidential.key(tmp_path) == secret
    path = tmp_path / _confidential.KEY
    path.chmod(0o600 | bit)
    with pytest.raises(ValueError, match="must be readable only by its owner: run chmod 600"):
        _confidential.key(tmp_path)
