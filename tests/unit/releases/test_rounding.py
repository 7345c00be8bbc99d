"""Stated costs are at least the exact cost and at most what was asked for, in exact arithmetic of printed decimals."""

import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpmultinomial._releases import _microdata, _noise, room, spending
from dpmultinomial._releases._noise import exact, total, upwards
from dpmultinomial._releases.spending import ADD_OR_REMOVE, EXCHANGE, REPLACE, Cost

TREE = "category,parent,count\nall,,60\neast,all,31\nwest,all,29\nb,east,20\na,east,11\nd,west,29\nc,west,0\n"


def test_a_number_is_the_decimal_that_is_printed():
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-300) == Fraction(1, 10**300)
    assert upwards(Fraction(1, 10)) == 0.1
    assert upwards(Fraction(0)) == 0.0
    assert upwards(Fraction(1, 10) + Fraction(1, 10**40)) == math.nextafter(0.1, 1)
    assert total([0.1] * 3) == 0.3 < math.fsum([0.1] * 3) + 1e-16
    assert total([1.0, 2.0**-54]) == math.nextafter(1.0, 2)  # fsum rounds to 1.0


def test_it_is_the_smallest_double_that_is_not_below():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        value = Fraction(int(rng.integers(1, 10**18)), int(rng.integers(1, 10**18)))
        found = upwards(value)
        assert exact(math.nextafter(found, 0)) < value <= exact(found)


@pytest.mark.parametrize("seed", range(3))
def test_a_cost_is_at_least_the_exact_one_and_at_most_the_one_asked_for(seed):
    rng = np.random.default_rng(seed)
    for _ in range(300):
        asked, change = float(f"{math.exp(rng.uniform(-9, 4)):.{rng.integers(1, 17)}g}"), int(rng.integers(1, 50))
        scale = _noise.laplace_scale(asked, sensitivity=change)
        stated = _noise.laplace_epsilon(scale, sensitivity=change)
        assert Fraction(change) / Fraction(scale) <= exact(stated) <= exact(asked)
        scale = _noise.gaussian_scale(asked, l2_squared=change)
        stated = _noise.gaussian_rho(scale, l2_squared=change)
        assert Fraction(change) / (2 * Fraction(scale) ** 2) <= exact(stated) <= exact(asked)


def made(root, k, text, settings):
    folder = root / str(k)
    (folder / "confidential").mkdir(parents=True, mode=0o700)
    (folder / "confidential/c.csv").write_text(text)
    path = room.make("r", settings | {"data": "confidential/c.csv"}, root=folder)
    return json.loads((path / "record.json").read_text())


@pytest.mark.parametrize("mechanism", ["discrete_laplace", "discrete_gaussian"])
def test_a_tree_costs_at_most_what_was_asked_for(tmp_path, monkeypatch, mechanism):
    key, rng = ("epsilon" if mechanism == "discrete_laplace" else "rho"), np.random.default_rng(5)
    for k in range(12):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"account {k}"))
        asked = 2.0 if k == 0 else float(f"{rng.uniform(0.1, 5):.3g}")
        cuts = sorted(rng.uniform(0.05, 0.95, 2).round(3).tolist())
        shares = {"a": cuts[0], "b": cuts[1] - cuts[0], "c": 1 - cuts[1]}
        own = {} if k < 3 else {"levels": ["a", "b", "c"], "shares": shares}
        said = made(tmp_path, k, TREE, {"mechanism": mechanism, key: asked, **own})
        parts = said["cost_of_each"]
        assert sum(map(exact, parts.values())) <= exact(said["cost"][key]) <= exact(asked)
        for level, scale in said["scale"].items():
            s = Fraction(scale)
            assert (1 / s if key == "epsilon" else 1 / (2 * s * s)) <= exact(parts[level])
        assert exact(said["against_ceiling"][key]) <= (2 if key == "epsilon" else 4) * exact(asked)


def test_statistics_cost_at_most_what_was_asked_for(tmp_path, monkeypatch):
    text, rng = "x\n" + "".join(f"{v}\n" for v in range(40)), np.random.default_rng(6)
    for k in range(8):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"account {k}"))
        asked = float(f"{rng.uniform(0.1, 5):.3g}")
        cuts = sorted(rng.uniform(0.05, 0.95, 3).round(3).tolist())
        parts = [cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1], 1 - cuts[2]]
        own = {} if k < 2 else {"shares": dict(zip(("mean", "sse", "low", "high"), parts, strict=True))}
        settings = {"mechanism": "censored_statistics", "column": "x", "lower": 3, "upper": 30, "epsilon": asked}
        said = made(tmp_path, k, text, settings | own)
        assert sum(map(exact, said["epsilon_of_each"].values())) <= exact(said["cost"]["epsilon"]) <= exact(asked)


def test_an_exchange_costs_at_least_the_theorem():
    """2 max(ln(b + 1) - ln o, ln o) with 50 digits."""
    rng = np.random.default_rng(7)
    with mpmath.workdps(50):
        for _ in range(2000):
            b, rate = int(rng.integers(2, 10**6)), float(rng.uniform(1e-6, 1 - 1e-6))
            odds = mpmath.log(mpmath.mpf(rate) / (1 - mpmath.mpf(rate)))
            wanted = 2 * max(mpmath.log(b + 1) - odds, odds)
            stated = mpmath.mpf(repr(2 * _microdata.accounting.epsilon(b, rate=rate) * _microdata._ABOVE))
            assert wanted <= stated <= wanted * (1 + mpmath.mpf(2) ** -47)


@pytest.mark.parametrize("relation", [REPLACE, ADD_OR_REMOVE, EXCHANGE])
@pytest.mark.parametrize(("part", "times"), [(0.1, 3), (0.1, 10), (0.7, 3), (1.1, 7), (0.001, 1000)])
def test_a_budget_covers_what_its_decimals_cover_and_nothing_more(relation, part, times):
    factor = 2 if relation == ADD_OR_REMOVE else 1
    name = "exchange" if relation == EXCHANGE else "epsilon"
    most = upwards(factor * times * exact(part))
    costs = [Cost(relation=relation, epsilon=part)] * times
    assert spending.beyond(costs, {name: most}) is None
    assert spending.beyond(costs, {name: math.nextafter(most, 0)}) is not None
    assert spending.beyond([*costs, Cost(relation=relation, epsilon=1e-12)], {name: most}) is not None


@pytest.mark.parametrize(("part", "times"), [(0.1, 3), (0.3, 9), (0.07, 11)])
def test_rho_adds_up_in_decimals(part, times):
    costs = [Cost(relation=REPLACE, rho=part)] * times
    assert spending.rho_of(costs) == upwards(times * exact(part))
    assert spending.beyond(costs, {"rho": upwards(times * exact(part))}) is None
    pure = [Cost(relation=REPLACE, epsilon=part)] * times
    assert exact(spending.rho_of(pure)) >= times * exact(part) ** 2 / 2
    added = Cost(relation=ADD_OR_REMOVE, rho=part).replaced
    assert exact(added.rho) >= 4 * exact(part)


def test_scales_that_cost_too_much_are_an_error():
    with pytest.raises(ArithmeticError, match="have a privacy cost of at most 1"):
        _noise.within(1.0, {"a": 1.0}, lambda _, scale: 2.0 / scale)
