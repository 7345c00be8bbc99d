"""Tests that the drawn noise has the stated cost: every factor from a budget to the scale of a sampler, by hand."""

import json
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpmultinomial._accounting import swapping
from dpmultinomial._files import csv_table
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._releases import _noise, _statistics, checks, room, spending
from dpmultinomial._releases.spending import ADD_OR_REMOVE, EXCHANGE, REPLACE, Cost

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
    for total in (0.9, 1.1):
        shares = dict.fromkeys(("mean", "sse", "low", "high"), total / 4)
        found = dict(room.check("r", settings | {"lower": 21, "upper": 25, "shares": shares}, root=root))
        assert list(found) == ["releases/r/shares"]


@pytest.mark.parametrize("key", ["mean", "sse", "low", "high"])
def test_a_sensitivity_below_the_derived_one_is_refused(root, key):
    """Check limits and number of records: for each statistic, a change by a thousandth changes the steps."""
    derived = {"mean": 4.0, "sse": 16.0 * (1 - 1 / 60), "low": 1.0, "high": 1.0}[key]
    assert _statistics.sensitivities(4.0, 60)[key] == pytest.approx(derived, rel=1e-15)
    with pytest.raises(ValueError, match=f"sensitivities/{key}: must be at least"):
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
        with pytest.raises(ValueError, match="within"):
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
