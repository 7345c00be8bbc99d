"""Tests of the defaults of the library, which are part of its interface, and of messages after failures."""

import math
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._models import coded_table
from dpmultinomial._releases import _confidential, _durable, _keys, _noise, _statistics, room, spending


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


ADD, REPLACE, EXCHANGE = spending.RELATIONS


def cost(relation=REPLACE, **numbers):
    return spending.Cost(relation=relation, **numbers)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({}, "a cost must have either epsilon, or rho, or epsilon and order, got none"),
        ({"epsilon": 1.0, "rho": 1.0}, "a cost must have either .*, got epsilon, rho"),
        ({"order": 2.0}, "a cost must have either .*, got order"),
        ({"rho": 1.0, "order": 2.0}, "a cost must have either .*, got rho, order"),
        ({"epsilon": 1.0, "order": 1.0}, r"order must be > 1, got 1\.0"),
        ({"epsilon": 0.0}, "epsilon must"),
        ({"rho": float("inf")}, "rho must"),
        ({"epsilon": 1.0, "relation": "x"}, "relation must be one of"),
    ],
)
def test_costs_that_are_none(numbers, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        cost(**numbers)


@pytest.mark.parametrize("made", [cost(epsilon=1.5), cost(ADD, rho=0.25), cost(epsilon=1.0, order=3.0)])
def test_a_cost_is_read_as_it_was_written(made):
    assert spending.read(str(made)) == made
    assert {**made.stated()} == {k: v for k, v in vars(made).items() if v is not None}


def test_costs_in_words():
    assert cost(epsilon=1.0).words == "epsilon 1 (replace a record)"
    assert cost(ADD, epsilon=1 / 3, order=2.0).words == "Rényi epsilon 0.333334, order 2 (add or remove a record)"
    assert repr(spending.Plan(cost=cost(rho=0.5), facts={}, draw=lambda: None)) == (
        'Plan({"relation": "replace a record", "rho": 0.5})'
    )


@pytest.mark.parametrize(
    ("costs", "ceiling", "said"),
    [
        ([], {}, "nothing spent; the source has no budget, so the total cost of its releases is not limited"),
        ([], {"epsilon": 2.0}, "nothing spent, of a budget of epsilon 2"),
        ([cost(epsilon=1.0)], {"epsilon": 2.0}, "epsilon 1 or rho 0.5 (replace a record), of a budget of epsilon 2"),
        ([cost(ADD, epsilon=1.0)], {"rho": 2.0}, "epsilon 2 or rho 2 (replace a record, upper bound), of a "
         "budget of rho 2"),
        ([cost(ADD, epsilon=1.0), cost(epsilon=1.0)], {"epsilon": 4.0},
         "epsilon 3 or rho 2.5 (replace a record, upper bound), of a budget of epsilon 4"),
        ([cost(rho=0.5)], {"rho": 1.0}, "rho 0.5 (replace a record), of a budget of rho 1"),
        ([cost(epsilon=1.0, order=2.0)], {"rho": 1.0},
         "a cost without a pure epsilon (replace a record), of a budget of rho 1"),
        ([cost(EXCHANGE, epsilon=3.0)], {"epsilon": 1.0},
         "epsilon 3 (exchange within invariants), of a budget of epsilon 1; the budget does not limit exchanges"),
        ([cost(EXCHANGE, epsilon=3.0), cost(epsilon=1.0)], {"exchange": 4.0},
         "epsilon 1 or rho 0.5 (replace a record); separately epsilon 3 (exchange within invariants), of a budget of "
         "exchange 4; the budget limits only exchanges"),
        ([cost(EXCHANGE, epsilon=3.0)], {"exchange": 4.0, "epsilon": 1.0},
         "epsilon 3 (exchange within invariants), of a budget of exchange 4, epsilon 1"),
    ],
)  # fmt: skip
def test_what_was_spent_so_far(costs, ceiling, said):
    assert spending.so_far(costs, ceiling) == said


def test_what_was_spent_at_a_delta():
    ceiling = {"epsilon": 9.0, "delta": 1e-6}
    used = spending.epsilon_at([cost(rho=0.5)], delta=1e-6)
    shown = f"{math.ceil(used * 1e5) / 1e5:.6g}"  # between 1 and 10: five decimal places, rounded upwards
    text = f"epsilon {shown} at delta 1e-06 or rho 0.5 (replace a record), of a budget of epsilon 9, delta 1e-06"
    assert spending.so_far([cost(rho=0.5)], ceiling) == text
    assert spending.of_ceiling(cost(rho=0.5), ceiling) == f"epsilon {shown} of 9 at delta 1e-06 (replace a record)"
    both = spending.of_ceiling(cost(rho=0.5), ceiling | {"rho": 8.0})
    assert both == f"epsilon {shown} of 9 at delta 1e-06 and rho 0.5 of 8 (replace a record)"


@pytest.mark.parametrize(
    ("made", "ceiling", "said"),
    [
        (cost(epsilon=1.0), {"epsilon": 4.0}, "epsilon 1 of 4 (replace a record)"),
        (cost(ADD, epsilon=1.0), {"epsilon": 4.0, "rho": 8.0}, "epsilon 2 of 4 and rho 2 of 8 (replace a record)"),
        (cost(EXCHANGE, epsilon=3.0), {"epsilon": 4.0, "delta": 1e-6}, ""),
        (cost(EXCHANGE, epsilon=3.0), {"exchange": 4.0}, "exchange 3 of 4 (exchange within invariants)"),
        (cost(epsilon=1.0), {}, ""),
        (cost(epsilon=1.0), {"exchange": 4.0}, ""),
    ],
)
def test_what_a_release_uses_of_a_budget(made, ceiling, said):
    assert spending.of_ceiling(made, ceiling) == said


def test_costs_without_a_pure_epsilon_need_a_delta():
    said = spending.beyond([cost(epsilon=1.0), cost(rho=0.5)], {"epsilon": 4.0})
    assert said == (
        "epsilon would rise from 1 to inf (replace a record), but the budget is 4; these costs have no pure epsilon, "
        "so add a delta to the budget"
    )
    said = spending.beyond([cost(rho=0.5)], {"epsilon": 0.1, "delta": 1e-6})
    assert said.startswith("epsilon would rise at delta 1e-06 from 0 to ")
    assert said.endswith("but the budget is 0.1")
    assert spending.beyond([cost(epsilon=1.0, order=2.0)], {"rho": 4.0}) == (
        "rho would rise from 0 to inf (replace a record), but the budget is 4; these costs have no rho, so use an "
        "epsilon and a delta"
    )
    assert spending.beyond([cost(epsilon=2.0)], {"epsilon": 1.0}).endswith("but the budget is 1")
    assert spending.beyond([cost(epsilon=1.2)], {"epsilon": 1.1999999}).endswith(
        "to 1.2 (replace a record), but the budget is 1.1999999"
    )
    assert spending.beyond([cost(rho=0.5)], {"delta": 1e-6}) is None


def test_the_clause_about_sources():
    assert spending.counted_over("a", ["a", "b"]) == "the budget covers a, b, which have the same people"
    assert spending.counted_over("a", ["a"]).startswith("the budget covers a only; if another source")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"mechanism": "swap", "rate": 0.1}, None),
        ({"mechanism": "additive_counts", "epsilon": 1.0}, cost(ADD, epsilon=1.5)),
        ({"mechanism": "discrete_laplace", "epsilon": 1.0}, cost(epsilon=0.75)),
        ({"mechanism": "discrete_laplace", "epsilon": 1.0, "relation": ADD}, cost(ADD, epsilon=0.75)),
        ({"mechanism": "discrete_laplace", "epsilon": 1.0, "relation": ADD, "levels": ["a", "b"]},
         cost(ADD, epsilon=0.75)),
        ({"mechanism": "discrete_gaussian", "rho": 1.0, "relation": REPLACE, "levels": ["a", "b"]}, cost(rho=0.75)),
        ({"mechanism": "naive_bayes", "epsilon": 2.0, "rho": None, "noise": "dirichlet", "order": 3},
         cost(epsilon=1.5, order=3.0)),
        ({"mechanism": "naive_bayes", "rho": 2.0, "noise": "discrete_gaussian"}, cost(rho=1.5)),
    ],
)  # fmt: skip
def test_the_cost_that_settings_state(settings, expected):
    assert spending.by_settings(settings, tolerance=0.25) == expected


def test_bounds_of_the_loss():
    assert spending.loss_bound(cost(epsilon=2.0)) == (2.0, 0.0)
    tail = math.log(1e6)
    assert spending.loss_bound(cost(rho=0.25)) == pytest.approx((0.25 + math.sqrt(tail), 1e-6), rel=1e-14)
    assert spending.loss_bound(cost(epsilon=1.0, order=3.0)) == pytest.approx((1 + tail / 2, 1e-6), rel=1e-14)
    assert spending.loss_bound(cost(rho=0.25), delta=0.5)[1] == 0.5


def test_rho_of_several_costs():
    assert spending.rho_of([cost(epsilon=2.0), cost(rho=0.25)]) == 2.25
    assert spending.rho_of([cost(rho=0.25), cost(epsilon=1.0, order=2.0)]) == math.inf
    assert spending.rho_of([]) == 0.0


def test_tables_are_written_with_their_quotes():
    assert spending.csv_bytes(["a", "b"], [["x,y", 1], ['"', "é"]]) == 'a,b\n"x,y",1\n"""",é\n'.encode()


def test_scales_are_raised_until_their_cost_fits():
    """Check costs that fall by one with the last bit of a scale."""
    start = math.nextafter(2.0, 0.0)
    found = _noise._raised(start, 1.0, lambda scale: 1.0 if scale >= 2.0 else 1.5)
    assert found == 2.0
    with pytest.raises(ArithmeticError, match=r"^no noise scale near .* internal error"):
        _noise._raised(1.0, 1.0, lambda scale: 1.5)
    scales, spent = _noise.within(
        3.0, {"a": start, "b": 1.0}, lambda name, scale: 1.0 if name == "b" or scale >= 2.0 else 2.5
    )
    assert (scales, spent) == ({"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 1.0})


@pytest.mark.parametrize("scale", [2.0**40, math.nextafter(2.0**40, math.inf), 0.0])
def test_the_largest_scale(scale):
    if 0 < scale <= 2.0**40:
        assert 2.0**-40 <= _noise.laplace_epsilon(scale, sensitivity=1) <= 2.0**-40 * (1 + 1e-12)
        assert _noise.gaussian_rho(scale, l2_squared=2) >= 2.0**-80
    else:
        for call in (
            lambda: _noise.laplace_epsilon(scale, sensitivity=1),
            lambda: _noise.gaussian_rho(scale, l2_squared=1),
        ):
            with pytest.raises(ValueError, match=r"^scale must"):
                call()


def test_sensitivities_of_censored_statistics_by_hand():
    assert _statistics.sensitivities(3.0, 4) == {"mean": 3.0, "sse": 6.75, "low": 1.0, "high": 1.0}
    assert _statistics.sensitivities(3.0, 1)["sse"] == 0.0


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "step", "units"),
    [
        (1.0, 1.0, 2.0**-20, 2**20 + 2),
        (1.0, 0.5, 2.0**-20, 2**20 + 2),
        (1.0, 2.0, 2.0**-21, 2**21 + 2),
        (3.0, 1.0, 2.0**-19, 3 * 2**19 + 2),
        (0.3, 1.0, 2.0**-22, 1258292 + 2),
    ],
)
def test_steps_of_censored_statistics_by_hand(sensitivity, epsilon, step, units):
    assert _statistics.units_of(sensitivity, epsilon) == (step, units)


LIMITS = {"lower": 0.0, "upper": 1.0, "epsilon": 1.0, "shares": None, "sensitivities": {}}
FLAT = {"levels": None, "relation": None, "shares": None, "sensitivity": 2}


@pytest.mark.parametrize(
    ("mechanism", "get", "expected"),
    [
        ("discrete_laplace", FLAT | {"epsilon": 0.5}, [("epsilon", 4.0)]),
        ("discrete_laplace", FLAT | {"epsilon": 0.5, "levels": ["a", "b"]}, [("epsilon", 2.0)]),
        ("discrete_laplace", FLAT | {"epsilon": 0.5, "relation": "add or remove a record", "sensitivity": 3},
         [("epsilon", 4.0)]),
        ("discrete_laplace", FLAT | {"epsilon": 0.5, "levels": ["a", "b"], "relation": "replace a record"},
         [("epsilon", 4.0)]),
        ("discrete_laplace", FLAT | {"epsilon": 0.5, "levels": ["a", "b"], "shares": {"a": 0.75, "b": 0.25}},
         [("epsilon", 8.0)]),
        ("discrete_gaussian", FLAT | {"rho": 0.25}, [("rho", 2.0)]),
        ("additive_counts", {"epsilon": 0.25}, [("epsilon", 4.0)]),
        ("naive_bayes", {"noise": "dirichlet"}, []),
        ("naive_bayes", {"noise": "discrete_laplace", "epsilon": 0.5, "target": "t", "numeric": ["x", "t"],
                         "levels": {"y": [], "x": []}}, [("epsilon", 12.0)]),
        ("bayesian_network", {"noise": "discrete_gaussian", "rho": 0.5, "network": {"a": [], "b": ["a"]}},
         [("rho", 2.0)]),
        ("swap", {}, []),
    ],
)  # fmt: skip
def test_scales_that_settings_need(mechanism, get, expected):
    assert list(_statistics._scales(mechanism, get)) == expected


def test_scales_of_censored_statistics_count_their_shares_and_sensitivities():
    found = [scale for _, scale in _statistics._scales("censored_statistics", LIMITS)]
    assert len(found) == 8
    assert found[0] == found[2] == (2**20 + 2) / 0.25
    shares = {"mean": 0.5, "sse": 0.125, "low": 0.125, "high": 0.25}
    found = [scale for _, scale in _statistics._scales("censored_statistics", LIMITS | {"shares": shares})]
    assert [found[k] for k in (0, 2, 3)] == [(2**20 + 2) / share for share in (0.5, 0.125, 0.25)]
    larger = LIMITS | {"sensitivities": {"low": 4.0, "mean": 0.5}}
    found = [scale for _, scale in _statistics._scales("censored_statistics", larger)]
    assert (found[0], found[2]) == ((2**20 + 2) / 0.25,) * 2


@pytest.mark.parametrize(
    ("mechanism", "get", "keys"),
    [
        ("additive_counts", {"epsilon": 2.0**-40}, ["epsilon"]),
        ("additive_counts", {"epsilon": 2.0**-40 * (1 + 1e-8)}, []),
        ("censored_statistics", LIMITS, []),
        ("censored_statistics", LIMITS | {"lower": 2.0**20 - 1, "upper": 2.0**20}, []),
        ("censored_statistics", LIMITS | {"lower": 2.0**20, "upper": 2.0**20 + 1}, ["upper"]),
        ("censored_statistics", LIMITS | {"lower": -(2.0**20) - 1, "upper": -(2.0**20)}, ["upper"]),
        ("censored_statistics", LIMITS | {"lower": 0.0, "upper": 1.1e100}, ["upper"]),
        ("censored_statistics", LIMITS | {"epsilon": 1e-9}, ["epsilon"] * 8),
    ],
)
def test_settings_that_need_too_much_noise(mechanism, get, keys):
    assert [key for key, _ in _statistics.problems(mechanism, get)] == keys
