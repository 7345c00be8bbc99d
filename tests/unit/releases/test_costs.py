"""Tests of stated costs and their ledger: all factors of a scale, exact decimals, shared budgets, damaged ledgers."""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import optimize, stats

import dpmultinomial as dpm
from dpmultinomial._accounting import swapping
from dpmultinomial._accounting.privacy_profiles import dirichlet_epsilon
from dpmultinomial._files import csv_table
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._releases import (
    _budget_records,
    _microdata,
    _noise,
    _statistics,
    checks,
    losses,
    planned,
    room,
    spending,
)
from dpmultinomial._releases._noise import exact, total, upwards
from dpmultinomial._releases._places import Refused
from dpmultinomial._releases.spending import ADD_OR_REMOVE, EXCHANGE, REPLACE, Cost, amount
from reproduction.report.scenarios import record_in_words
from reproduction.scenarios import page

PEOPLE = "tenure,block,age\n" + "".join(f"{'own' if i % 3 else 'rent'},{i % 4},{20 + i % 7}\n" for i in range(60))
LEVELS = {"tenure": ["own", "rent"], "block": ["0", "1", "2", "3"]}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential" / "people.csv").write_text(PEOPLE)
    (tmp_path / "confidential" / "counts.csv").write_text("category,count\na,10\nb,20\nc,30\n")
    return tmp_path


@pytest.fixture
def drawn(monkeypatch):
    """Record the scales that the exact samplers receive, and return the values without noise."""
    scales = []

    def sampler(values, *, scale):
        scales.append(scale)
        return np.array(values)

    monkeypatch.setattr(_noise, "discrete_laplace", sampler)
    monkeypatch.setattr(_noise, "discrete_gaussian", sampler)
    return scales


def made(root, mechanism, data="people", name=None, **settings):
    found = {"mechanism": mechanism, "data": f"confidential/{data}.csv", "source": "survey", **settings}
    folder = room.make(name or mechanism, found, root=root)
    return folder, json.loads((folder / "record.json").read_text())


def test_counts_are_drawn_at_the_scale_of_their_budget(root, drawn):
    made(root, "discrete_laplace", "counts", epsilon=0.5)
    made(root, "discrete_gaussian", "counts", rho=0.25)
    made(root, "additive_counts", "counts", epsilon=0.5, algorithm="2")
    # L1 change 2: 2/0.5; squared L2 change 2: sqrt(2/(2 0.25)); every additive count changes by 1: 1/0.5
    assert drawn == pytest.approx([4.0, 2.0, 2.0], rel=1e-14)


def test_statistics_are_drawn_at_the_scale_of_their_shares(root, drawn):
    """Check that without shares each statistic has a quarter of epsilon = 2. Its number of steps is the largest change,
    rounded up, plus one for the rounding of both neighbours and one for floating point."""
    _, said = made(root, "censored_statistics", column="age", lower=21, upper=25.1, epsilon=2.0)
    w = 25.1 - 21
    change = {"mean": w, "sse": w**2 * (1 - 1 / 60), "low": 1.0, "high": 1.0}
    for scale, (key, sensitivity) in zip(drawn, change.items(), strict=True):
        units = math.ceil(sensitivity / said["step"][key]) + 2
        assert scale == pytest.approx(units / 0.5, rel=1e-15)
        assert said["scale"][key] == pytest.approx(scale * said["step"][key], rel=1e-15)
        assert said["epsilon_of_each"][key] == pytest.approx(0.5, rel=1e-14)
    assert said["cost"]["epsilon"] == pytest.approx(2.0, rel=1e-14)


def test_shares_of_epsilon_must_add_up_to_one(root):
    settings = {"mechanism": "censored_statistics", "data": "confidential/people.csv", "column": "age", "epsilon": 2.0}
    for whole in (0.9, 1.1):
        shares = dict.fromkeys(("mean", "sse", "low", "high"), whole / 4)
        found = dict(room.check("r", settings | {"lower": 21, "upper": 25, "shares": shares}, root=root))
        assert list(found) == ["releases/r/shares"]


@pytest.mark.parametrize("key", ["mean", "sse", "low", "high"])
def test_a_sensitivity_below_the_derived_one_is_refused(root, key):
    """Check limits and number of records: for each statistic, a change by a thousandth changes the steps."""
    derived = {"mean": 4.0, "sse": 16.0 * (1 - 1 / 60), "low": 1.0, "high": 1.0}[key]
    assert _statistics.sensitivities(4.0, 60)[key] == pytest.approx(derived, rel=1e-15)
    with pytest.raises(ValueError, match=f"sensitivities/{key} must be >="):
        made(
            root, "censored_statistics", column="age", lower=21, upper=25, epsilon=2.0,
            sensitivities={key: 0.999 * derived},
        )  # fmt: skip


NETWORK = {"tenure": [], "block": ["tenure"], "age": []}
MODEL = {"levels": LEVELS, "numeric": "age", "bounds": {"age": [20, 27]}, "bins": 7, "network": NETWORK}


def test_a_model_of_discrete_noise_pays_for_all_its_tables(root, drawn):
    """Check that a replaced record moves two cells in each of three tables: L1 and squared L2 change 6."""
    _, said = made(root, "bayesian_network", noise="discrete_laplace", epsilon=3.0, **MODEL)
    assert (said["cost"]["epsilon"], said["scale"], said["sensitivity"], drawn) == (3.0, 2.0, 6, [2.0])
    _, said = made(root, "bayesian_network", name="second", noise="discrete_gaussian", rho=0.75, **MODEL)
    assert said["cost"]["rho"] == pytest.approx(0.75, rel=1e-14)  # 6/(2 scale^2), scale 2
    assert drawn[1] == pytest.approx(2.0, rel=1e-14)


def test_a_dirichlet_model_draws_with_the_parameters_it_states(root, monkeypatch):
    class Means:
        """Replace the random stream: gamma draws equal their means."""

        def standard_gamma(self, shape):
            return shape

    monkeypatch.setattr(_noise, "private_stream", Means)
    folder, said = made(root, "bayesian_network", noise="dirichlet", epsilon=3.0, order=5.0, **MODEL)
    assert (said["r"], said["alpha"]) == dirichlet.calibrate(1.0, order=5.0)  # a third of the budget for each table
    table = csv_table.read(folder / "release.csv")
    rows = zip(table.texts("node"), table.texts("category"), table.numbers("probability"), strict=True)
    rent = next(p for node, category, p in rows if (node, category) == ("tenure", "rent"))
    r, alpha = said["r"], said["alpha"]
    assert rent == pytest.approx((20 * r + alpha) / (60 * r + 2 * alpha), rel=1e-12)  # 20 of 60 rent


def test_a_swaps_price_is_that_of_one_exchange(root):
    _, said = made(root, "swap", swap="tenure", match="block", rate=0.3)
    assert said["largest_stratum"] == 15
    stated = swapping.smallest_change(15, rate=0.3).stated
    assert said["cost"]["epsilon"] == said["cost_of_one_exchange"] >= stated  # rounded upwards
    assert said["cost"]["epsilon"] == pytest.approx(stated, rel=1e-14)
    assert stated == pytest.approx(2 * math.log(16 * 0.7 / 0.3), rel=1e-14)


@pytest.mark.parametrize("l2_squared", [2, 3, 5, 6, 7, 8, 10])
def test_gaussian_costs_are_never_below_the_exact_fraction(l2_squared):
    """Check rho = l2_squared/(2 scale^2) in exact arithmetic; the square root of the distance may round down."""
    for scale in (0.3, 1.0, 7.7, 1234.5):
        stated = _noise.gaussian_rho(scale, l2_squared=l2_squared)
        exact = Fraction(l2_squared) / (2 * Fraction(scale) ** 2)
        assert exact <= Fraction(stated) <= exact * (1 + Fraction(1, 10**14))


def test_values_below_the_range_are_refused_like_those_above():
    for value in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(ValueError, match="must lie between"):
            _noise.discrete_laplace(np.array([value]), scale=1.0)


def test_a_ceiling_holds_to_its_last_digits():
    """Sums are exact in the decimals that are printed: nothing is left to rounding."""
    pure = spending.Cost(relation=spending.REPLACE, epsilon=0.5)
    rho = spending.Cost(relation=spending.REPLACE, rho=0.5)
    for cost, ceiling in ((pure, "epsilon"), (rho, "rho")):
        assert spending.beyond([cost, cost], {ceiling: 1.0}) is None
        assert f"{ceiling} would rise from 0.5 to 1" in spending.beyond([cost, cost], {ceiling: 1 - 1e-6})
        assert spending.beyond([cost, cost], {ceiling: math.nextafter(1.0, 0)}) is not None
        assert spending.beyond([cost], {ceiling: 1.0}) is None
    # 400 of 0.1 are 40; with a delta they are less than 14 (test_release_mechanisms), without one they are not
    many = [spending.Cost(relation=spending.REPLACE, epsilon=0.1)] * 400
    assert spending.beyond(many, {"epsilon": 14.0, "delta": 1e-6}) is None
    assert spending.beyond(many, {"epsilon": 39.9}) is not None


def test_a_renyi_cost_holds_at_smaller_orders_only():
    """Check (5, 0.1) and (3, 0.1): both hold at orders up to 3, so 0.2 at order 3 by equation 14, and not at 5."""
    both = [spending.Cost(relation=spending.REPLACE, epsilon=0.1, order=o) for o in (5.0, 3.0)]
    at_three = 0.2 + math.log(2) - (math.log(1e-6) + 3 * math.log(3)) / 2
    assert spending.epsilon_at(both, delta=1e-6) == pytest.approx(at_three, rel=1e-12)
    with pytest.raises(ValueError, match="order must be > 1"):
        spending.Cost(relation=spending.REPLACE, epsilon=1.0, order=1.0)


def exact_log_delta(epsilon, renyi, order):
    """Compute Canonne et al. (2020), Proposition 12: log delta of a Rényi epsilon at one order."""
    a = mpmath.mpf(order)
    return (a - 1) * (renyi(a) - mpmath.mpf(epsilon)) + (a - 1) * mpmath.log(1 - 1 / a) - mpmath.log(a)


@pytest.mark.parametrize("rho", [1e-8, 1e-5, 1e-4, 0.003, 0.5, 20.0, 900.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-4])
def test_an_epsilon_at_delta_is_never_below_the_exact_one(rho, delta):
    """Check with fifty digits, over all orders, that the stated cost holds and is at most 1e-10 too large."""
    found = spending.epsilon_at([spending.Cost(relation=spending.REPLACE, rho=rho)], delta=delta)
    with mpmath.workdps(50):
        least = mpmath.sqrt(-mpmath.log(mpmath.mpf(delta)) / rho)  # order - 1 of the conversion without its last terms

        def at(share):
            return exact_log_delta(found, lambda a: rho * a, 1 + least * mpmath.e**share)

        low, high, golden = mpmath.mpf(-4), mpmath.mpf(1), (mpmath.sqrt(5) - 1) / 2
        for _ in range(120):  # convex around its least value
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, right) if at(left) < at(right) else (left, high)
        excess = at(low) - mpmath.log(mpmath.mpf(delta))
        assert excess <= 0
        assert found < 1e-12 or -excess < 1e-10 * (1 + least)


@pytest.mark.parametrize(("order", "epsilon"), [(1.0001, 1e-3), (1.01, 0.5), (2.0, 1.0), (17.0, 0.25), (1000.0, 3.0)])
def test_a_renyi_cost_at_delta_is_never_below_the_exact_one(order, epsilon):
    found = spending.epsilon_at([spending.Cost(relation=spending.REPLACE, epsilon=epsilon, order=order)], delta=1e-6)
    with mpmath.workdps(50):
        excess = exact_log_delta(found, lambda a: mpmath.mpf(epsilon), order) - mpmath.log(mpmath.mpf(1e-6))
        assert excess <= 0


def test_where_privacy_is_called_weak():
    assert checks.weak(epsilon=20.0, rho=20.0, delta=1e-4) is None
    for key, value in (("epsilon", 20.001), ("rho", 20.001), ("delta", 1.001e-4)):
        assert checks.weak(**{key: value}).startswith(key)


def test_what_was_spent_and_not_published_is_spent(root, monkeypatch):
    """Check a crash between spending and publishing: 0.75 of 1 is spent."""
    import os

    settings = {"mechanism": "discrete_laplace", "data": "confidential/counts.csv", "source": "survey"}
    with monkeypatch.context() as broken:
        broken.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError("no")))
        with pytest.raises(OSError, match="no"):
            room.make("a", settings | {"epsilon": 0.75}, root=root, budgets={"survey": {"epsilon": 1.0}})
    with pytest.raises(ValueError, match=r"epsilon would rise from 0\.75 to 1\.25"):
        room.make("b", settings | {"epsilon": 0.5}, root=root, budgets={"survey": {"epsilon": 1.0}})


@pytest.mark.parametrize("rho", [1e-3, 1e-5, 1e-6])
def test_costs_at_a_delta_are_converted_at_small_and_at_large_orders(rho):
    """Compare with the smallest value of equation 14 of Ponnoprat (2022) at 100,000 orders up to 4096."""
    costs = [Cost(relation=REPLACE, epsilon=0.001, order=5000.0), Cost(relation=REPLACE, rho=rho)]
    order = 1 + np.geomspace(0.01, 4095, 100_000)
    values = 0.001 + rho * order + np.log(order - 1) - (np.log(1e-6) + order * np.log(order)) / (order - 1)
    assert values.min() * (1 - 1e-6) <= spending.epsilon_at(costs, delta=1e-6) <= 1.01 * values.min()


ONE_OF_EACH = [
    Cost(relation=ADD_OR_REMOVE, epsilon=1.0),
    Cost(relation=REPLACE, epsilon=1.0),
    Cost(relation=ADD_OR_REMOVE, rho=0.1),
    Cost(relation=REPLACE, rho=0.1),
    Cost(relation=ADD_OR_REMOVE, epsilon=0.5, order=20.0),
    Cost(relation=REPLACE, epsilon=0.5, order=20.0),
    Cost(relation=EXCHANGE, epsilon=1.5),
]


@pytest.mark.parametrize("cost", ONE_OF_EACH, ids=str)
def test_a_release_uses_of_its_budget_what_the_ledger_counts(cost):
    """Check that `of_ceiling` equals `so_far` for a source with only this release, and that no budget is exceeded."""
    ceiling = {"epsilon": 9.0, "delta": 1e-6, "rho": 2.0, "exchange": 2.0}
    used, spent = spending.of_ceiling(cost, ceiling), spending.so_far([cost], ceiling)
    numbers = dict(re.findall(r"(epsilon|rho|exchange) ([\d.e-]+|inf) of", used))
    assert set(numbers) == ({"exchange"} if cost.relation == EXCHANGE else {"epsilon", "rho"})
    for key, number in numbers.items():
        assert number == "inf" or f" {number} (" in f" {spent}" or f"{key} {number} " in f"{spent} "
        exact = {key: float(number) * (1 + 1e-5)} | ({"delta": 1e-6} if key == "epsilon" else {})
        if np.isfinite(float(number)):
            assert spending.beyond([cost], exact) is None
            assert spending.beyond([cost], exact | {key: float(number) * (1 - 1e-5)}) is not None
    assert spending.of_ceiling(cost, {}) == ""


def test_adding_or_removing_uses_twice_its_epsilon_of_a_budget_of_replacements():
    assert (
        spending.of_ceiling(Cost(relation=ADD_OR_REMOVE, epsilon=2.0), {"epsilon": 4.0})
        == "epsilon 4 of 4 (replace a record)"
    )


@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0])
def test_a_loss_is_above_its_bound_as_rarely_as_stated(rho):
    """Check that the loss of the Gaussian mechanism is N(rho, 2 rho), and its Rényi epsilon a rho at any order a."""
    bound, rarely = spending.loss_bound(Cost(relation=REPLACE, rho=rho), delta=1e-4)
    assert stats.norm.sf(bound, rho, np.sqrt(2 * rho)) <= rarely == 1e-4
    for order in (2.0, 7.0, 40.0):
        bound, _ = spending.loss_bound(Cost(relation=REPLACE, epsilon=order * rho, order=order), delta=1e-4)
        assert stats.norm.sf(bound, rho, np.sqrt(2 * rho)) <= 1e-4
    assert spending.loss_bound(Cost(relation=REPLACE, epsilon=rho)) == (rho, 0.0)


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


def made_decimal(root, k, text, settings):
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
        said = made_decimal(tmp_path, k, TREE, {"mechanism": mechanism, key: asked, **own})
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
        said = made_decimal(tmp_path, k, text, settings | own)
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


SHARED = {name: {"epsilon": 3.0, "people": "staff"} for name in ("first", "second")}
ALONE = {name: {"epsilon": 3.0} for name in ("first", "second")}


@pytest.fixture
def staff(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    for year, rows in (("first", "a,10\nb,20\n"), ("second", "a,12\nb,21\n")):
        (tmp_path / f"confidential/{year}.csv").write_text(f"category,count\n{rows}")
    return tmp_path


def asked(year):
    return {"source": year, "data": f"confidential/{year}.csv", "mechanism": "discrete_laplace", "epsilon": 2.0}


@pytest.mark.parametrize(("used", "other"), [("first", "second"), ("second", "first")])
def test_next_years_file_does_not_get_the_budget_again(staff, used, other):
    """Check both orders: what is spent on either source counts against the other."""
    folder = room.make("one", asked(used), budgets=SHARED, root=staff)
    assert json.loads((folder / "record.json").read_text())["budget_sources"] == ["first", "second"]
    assert dpm.read(folder).facts["budget_sources"] == ["first", "second"]  # the release can be analysed
    found = room.check("two", asked(other), budgets=SHARED, root=staff)
    assert len(found) == 1
    assert f"budgets/{other}: epsilon would rise from 2 to 4 (replace a record), but the budget is 3" in found[0][1]
    with pytest.raises(Refused, match="epsilon would rise from 2 to 4"):
        room.make("two", asked(other), budgets=SHARED, root=staff)
    assert not (staff / "releases/two").exists()
    assert len(planned.spent(staff, *checks.sources(SHARED, other))) == 1
    said = room.spent("two", asked(other), budgets=SHARED, root=staff)
    assert "epsilon 2" in said
    assert "the budget covers first, second, which have the same people" in said


def test_without_the_key_nothing_changes(staff):
    folder = room.make("one", asked("first"), budgets=ALONE, root=staff)
    assert "budget_sources" not in json.loads((folder / "record.json").read_text())
    assert room.check("two", asked("second"), budgets=ALONE, root=staff) == []
    room.make("two", asked("second"), budgets=ALONE, root=staff)
    said = room.spent("two", asked("second"), budgets=ALONE, root=staff)
    assert "the budget covers second only; if another source has the same people" in said
    assert len(planned.spent(staff, *checks.sources(ALONE, "second"))) == 1


@pytest.mark.parametrize(
    ("budgets", "place", "said"),
    [
        (
            {"a": {"epsilon": 1.0, "people": 3}},
            "budgets/a/people",
            "must consist of at most 64 lower-case letters, digits and _ and must begin with a letter, got 3",
        ),
        ({"a": {"people": "staff"}}, "budgets/a", "must contain epsilon"),
        (
            {"a": {"epsilon": 1.0, "people": "staff"}, "b": {"epsilon": 2.0, "people": "staff"}},
            "budgets/b",
            "must be equal to the budget of a, because both budgets have the same people (staff)",
        ),
    ],
)
def test_mistakes(budgets, place, said):
    found = checks.ceilings(budgets)
    assert [path for path, _ in found] == [place]
    assert said in found[0][1]


def test_the_page_says_over_which_sources_the_budget_is_counted():
    class Found:
        form = "case"
        facts = {"points": [{"source": "first", "cost": {"epsilon": 2.0, "relation": "replace a record"}}]}  # noqa: RUF012

    shared, alone = (page.protected(Found, budgets)[-1] for budgets in (SHARED, ALONE))  # type: ignore[arg-type]
    assert shared == "The budget covers the releases from the sources first, second, which have the same people."
    assert alone == "The budget covers the releases from first only."


COUNTS = "category,count\na,10\nb,20\nc,30\n"
STATE = "category,parent,count\nstate,,8\nnorth,state,5\nsouth,state,3\n"
TABLE = "y,x\na,c\nb,d\na,d\nb,c\n"


def recorded(root, text, settings, **budget):
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential/f.csv").write_text(text)
    place = room.make(
        "r", {"data": "confidential/f.csv", **settings}, budgets={"r": budget} if budget else {}, root=root
    )
    return json.loads((place / "record.json").read_text())


def exact_epsilon(weights, changes, delta):
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
    record = recorded(tmp_path, COUNTS, {"mechanism": "discrete_laplace", "epsilon": 1.0}, epsilon=9, delta=1e-5)
    stated = record["epsilon_at_delta"]
    assert (stated["delta"], stated["method"]) == (1e-5, "loss distributions")
    assert stated["epsilon"] == pytest.approx(exact_epsilon([laplace(2.0)] * 2, (1, 1), 1e-5), abs=1e-6)
    assert stated["epsilon"] < record["cost"]["epsilon"] == record["against_ceiling"]["epsilon"]
    words = dict(record_in_words(record))["epsilon of this release alone, at a delta"]
    assert words.startswith("epsilon 0.99")
    assert words.endswith("delta 1e-05, method loss distributions")


def test_gaussian_noise(tmp_path):
    record = recorded(tmp_path, COUNTS, {"mechanism": "discrete_gaussian", "rho": 0.25})
    stated = record["epsilon_at_delta"]
    assert stated["delta"] == losses.DELTA == 1e-6
    assert stated["epsilon"] == pytest.approx(exact_epsilon([gaussian(2.0)] * 2, (1, 1), 1e-6), abs=1e-6)


def test_larger_sensitivities_are_the_worst_of_all_splits(tmp_path):
    record = recorded(tmp_path, COUNTS, {"mechanism": "discrete_gaussian", "rho": 0.5, "sensitivity": 4})
    found = record["epsilon_at_delta"]["epsilon"]
    both = [exact_epsilon([gaussian(2.0)], (2,), 1e-6), exact_epsilon([gaussian(2.0, 21)] * 4, (1,) * 4, 1e-6)]
    assert max(both) <= found <= max(both) + 0.05


@pytest.mark.parametrize("relation", [None, REPLACE])
def test_a_tree_adds_the_losses_of_its_levels(tmp_path, relation):
    levels = {"levels": ["state", "region"], "relation": relation} if relation else {"levels": ["state", "region"]}
    record = recorded(tmp_path, STATE, {"mechanism": "discrete_laplace", "epsilon": 1.0, **levels})
    scales = list(record["scale"].values())
    assert len(scales) == (1 if relation else 2)
    weights = [laplace(s, 40) for s in scales for _ in range(2 if relation else 1)]
    delta = record["epsilon_at_delta"]["delta"]
    expected = exact_epsilon(weights, (1,) * len(weights), delta)
    assert expected - 1e-9 <= record["epsilon_at_delta"]["epsilon"] <= expected + 1e-3


def test_models_and_statistics(tmp_path):
    model = {"target": "y", "levels": {"y": ["a", "b"], "x": ["c", "d"]}}
    settings = {"mechanism": "naive_bayes", "noise": "dirichlet", "epsilon": 1.0, "order": 3, "delta": 1e-5, **model}
    record = recorded(tmp_path, TABLE, settings)
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


@pytest.mark.parametrize("change", [1, 3, 4, 7, 12])
@pytest.mark.parametrize("relation", [REPLACE, ADD_OR_REMOVE])
def test_noise_too_wide_for_a_loss_distribution_is_converted_under_every_sensitivity(change, relation):
    """No change of the norm has a known loss, so rho = change/(2 sigma^2) is converted: less than
    rho + 2 sqrt(rho log(1/delta)) (Bun and Steinke 2016, proposition 1.3), and above 0, because continuous noise has
    delta(0) = 2 Phi(sqrt(change)/(2 sigma)) - 1, about 0.4 sqrt(change)/sigma = 4e-7 or more.
    """
    assert losses.of_counts("discrete_gaussian", 1e6, change=change, relation=relation) is None
    rho = change / 2e12
    stated = losses.at_delta(Cost(relation=relation, rho=rho), None, delta=1e-9)
    assert stated["method"] == "conversion"
    assert 0 < stated["epsilon"] <= rho + 2 * math.sqrt(rho * math.log(1e9))


def test_every_change_of_a_norm_counts_or_none(monkeypatch):
    """A squared norm of 4 is one change of 2 or four changes of 1. Without the loss of one of both, the largest loss is
    not known. The spread of all is the smallest of a single count, 1/sigma.
    """
    (one,) = losses.of_counts("discrete_gaussian", 100.0, change=4, relation=REPLACE)
    assert [[loss.change for loss in case] for case in one.cases] == [[2], [1, 1, 1, 1]]
    assert one.spread == pytest.approx(1 / 100, rel=1e-12)
    original = DiscreteGaussian.loss
    monkeypatch.setattr(DiscreteGaussian, "loss", lambda law, change: None if change == 2 else original(law, change))
    assert losses.of_counts("discrete_gaussian", 100.0, change=4, relation=REPLACE) is None


ENTRY = _budget_records.Entry(
    time="2026-01-01T00:00:00Z", release="r", generation=1, source="s", mechanism="discrete_laplace",
    cost=str(spending.Cost(relation="replace a record", epsilon=0.5)), sha256="0", record_sha256="1", settings="2",
    data="3", state=_budget_records.SPENT,
)  # fmt: skip
COST = str(ENTRY.spent).encode()
PUBLISHED = replace(ENTRY, state=_budget_records.PUBLISHED)
LEDGER = _budget_records.HEADER + ENTRY.line + PUBLISHED.line
NO_COST = "line 2: cost must be a valid privacy cost of a release"
UNREADABLE = [
    (LEDGER.replace(COST, b"-5"), NO_COST + ", got '-5'"),
    (LEDGER.replace(COST, b"NaN"), NO_COST + ", got 'NaN'"),
    (LEDGER.replace(COST, b"{}"), NO_COST),
    (LEDGER.replace(COST, b"much"), NO_COST),
    (LEDGER.replace(COST, COST.replace(b"0.5", b"-0.5")), NO_COST),
    (LEDGER.replace(COST, COST.replace(b"0.5", b"NaN")), NO_COST),
    (LEDGER.replace(COST, COST.replace(b"0.5", b"0.50")), "line 2: cost must be written as"),
    (LEDGER.replace(b"\ts\t", b"\tS\t"), "line 2: source must consist of"),
    (b"time\n", "line 1: the header must contain the columns time, release"),
    (LEDGER.replace(b"spent, not published", b"lost"), "line 2: state must be 'spent, not published'"),
    (LEDGER.replace(b"\tr\t1\t", b"\tr\tx\t"), "line 2: generation must be an integer >= 1, got 'x'"),
    (LEDGER.replace(b"\tr\t1\t", "\tr\t\u0661\t".encode()), "generation must be an integer"),
    (LEDGER + b"a\tb\n", "line 4: the line must have 11 fields, got 2"),
]


@pytest.mark.parametrize(("content", "words"), UNREADABLE)
def test_a_ledger_that_cannot_be_read_is_reported_by_line(tmp_path, content, words):
    (tmp_path / "ledger.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        _budget_records.Ledger(tmp_path / "ledger.tsv").entries()


def test_a_ledger_takes_only_what_it_can_read_back(tmp_path):
    kept = _budget_records.Ledger(tmp_path / "ledger.tsv")
    assert kept.entries() == []
    kept.mend()
    kept.add(ENTRY)
    assert kept.entries() == [ENTRY]
    assert _budget_records.costs(kept.entries(), "s") == [ENTRY.spent]
    assert _budget_records.costs(kept.entries(), "other") == []
    assert ENTRY.name == ("r", 1)
    assert repr(kept).endswith("ledger.tsv, releases: 1)")
    kept.add(replace(ENTRY, state=_budget_records.PUBLISHED))
    assert [e.state for e in kept.entries()] == [_budget_records.PUBLISHED]
    for bad in ("a\tb", "a\nb", "a\rb"):
        with pytest.raises(ValueError, match=re.escape(f"must not contain tabs or line breaks, got {bad!r}")):
            kept.add(replace(ENTRY, source=bad))
    assert kept.path.read_bytes() == LEDGER
    kept.path.write_bytes(LEDGER + b"half a li")
    assert len(kept.entries()) == 1
    kept.mend()
    assert kept.path.read_bytes() == LEDGER


DAMAGED = {
    "a word": (b"nonsense\n", "line 3: the line must have 11 fields, got 1"),
    "a number": (ENTRY.line.replace(COST, b"-5"), "line 3: cost must be a valid privacy cost of a release, got '-5'"),
    "no cost": (ENTRY.line.replace(COST, b"{}"), "line 3: cost must be a valid privacy cost of a release"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_ledger_is_reported_by_line_before_anything_is_made(tmp_path, what):
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential" / "c.csv").write_text("category,count\na,1\nb,2\n")
    (tmp_path / "releases").mkdir()
    line, words = DAMAGED[what]
    (tmp_path / "releases/ledger.tsv").write_bytes(_budget_records.HEADER + PUBLISHED.line + line)
    settings = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 0.5}
    with pytest.raises(ValueError, match=rf"ledger\.tsv, {words}.*{_budget_records.RESTORE}"):
        room.make("r", settings, root=tmp_path)
    assert [p.name for p in (tmp_path / "confidential").iterdir()] == ["c.csv"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (0.1 + 0.2, "0.3"), (1.23456, "1.23456"), (10.994336450586443, "10.9944"),
     (1.0000001, "1.00001"), (0.00123456789, "0.00123457"), (999999.2, "1e+06"), (math.inf, "inf")],
)  # fmt: skip
def test_a_stated_cost_is_rounded_upwards(value, text):
    assert amount(value) == text
