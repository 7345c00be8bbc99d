"""Costs that add up: sums by hand, conversions by closed forms and multiprecision, never across relations."""

import numpy as np
import pytest

from dpmultinomial._accounting import composition
from dpmultinomial._accounting.composition import (
    RELATIONS,
    ZCDP,
    ApproxDP,
    PureDP,
    RenyiDP,
    Total,
    pure_to_renyi,
    total,
)

ADD, REPLACE, EXCHANGE = RELATIONS
A = {"source": "census", "relation": REPLACE}
KEY = ("census", REPLACE)


def test_sums_are_taken_by_source_and_relation_alone():
    found = total(
        [
            PureDP(epsilon=0.25, **A),
            PureDP(epsilon=0.5, source="census", relation=ADD),
            PureDP(epsilon=1.0, source="survey", relation=REPLACE),
            PureDP(epsilon=0.5, **A),
            PureDP(epsilon=2.0, source="census", relation=EXCHANGE),
        ]
    )
    assert {key: t.dp(0.0) for key, t in found.items()} == {
        KEY: 0.75,
        ("census", ADD): 0.5,
        ("survey", REPLACE): 1.0,
        ("census", EXCHANGE): 2.0,
    }


def test_rho_adds_and_converts_at_the_best_order():
    t = total([ZCDP(rho=0.01, **A), ZCDP(rho=0.03, **A)])[KEY]
    assert t.rho == pytest.approx(0.04, rel=1e-15)
    assert t.renyi_epsilon(5.0) == pytest.approx(0.2, rel=1e-15)
    orders = 1 + np.geomspace(1, 1e3, 20_001)
    best = min(0.04 * o + composition.floor(order=o, delta=1e-6) for o in orders)
    assert best - 1e-6 < t.dp(1e-6) <= best
    assert t.dp(1e-6) < 0.04 + 2 * np.sqrt(0.04 * np.log(1e6))  # Bun and Steinke (2016), Proposition 1.3
    assert t.dp(0.0) == np.inf


def test_renyi_costs_add_by_order_where_all_state_it():
    t = total([RenyiDP(epsilons={2: 0.1, 5: 0.3}, **A), RenyiDP(epsilons={5: 0.2, 9: 1.0}, **A), ZCDP(rho=0.1, **A)])[
        KEY
    ]
    assert t.renyi == {5.0: 0.5}
    assert t.renyi_epsilon(5.0) == 1.0
    assert t.renyi_epsilon(2.0) == np.inf
    # (14) of Ponnoprat: 1.0 + log 4 - (log 1e-5 + 5 log 5)/4
    assert t.dp(1e-5) == pytest.approx(1.0 + np.log(4) - (np.log(1e-5) + 5 * np.log(5)) / 4, rel=1e-14)
    none = total([RenyiDP(epsilons={2: 0.1}, **A), RenyiDP(epsilons={3: 0.1}, **A)])[KEY]
    assert none.dp(1e-5) == np.inf


def test_approximate_costs_use_their_part_of_delta():
    t = total(
        [ApproxDP(epsilon=0.5, delta=1e-6, **A), ApproxDP(epsilon=0.25, delta=2e-6, **A), PureDP(epsilon=1, **A)]
    )[KEY]
    assert t.dp(3e-6) == 1.75
    assert t.dp(2e-6) == np.inf
    assert t.renyi_epsilon(2.0) == np.inf
    mixed = total([ApproxDP(epsilon=0.5, delta=1e-6, **A), ZCDP(rho=0.1, **A)])[KEY]
    alone = total([ZCDP(rho=0.1, **A)])[KEY]
    assert mixed.dp(1e-5) == pytest.approx(0.5 + alone.dp(9e-6), rel=1e-9)


def test_many_small_pure_costs_convert_better_than_they_add():
    t = total([PureDP(epsilon=0.01, **A)] * 1000)[KEY]
    assert t.dp(0.0) == pytest.approx(10.0, rel=1e-12)
    assert t.dp(1e-6) < 0.01 * np.sqrt(2 * 1000 * np.log(1e6)) + 1000 * 0.01 * np.expm1(
        0.01
    )  # Dwork and Roth, Theorem 3.20
    assert total([PureDP(epsilon=0.01, **A)])[KEY].dp(1e-9) == pytest.approx(0.01)
    mixed = total([PureDP(epsilon=5.0, **A), ZCDP(rho=1e-4, **A)])[KEY]
    assert mixed.dp(1e-6) <= 5.0 + total([ZCDP(rho=1e-4, **A)])[KEY].dp(1e-6)


@pytest.mark.parametrize("epsilon", [1e-8, 1e-3, 0.5, 1, 10, 500, 800])
def test_the_renyi_cost_of_a_pure_one_is_randomised_responses(epsilon):
    mp = pytest.importorskip("mpmath")
    for order in (1 + 1e-12, 1 + 1e-9, 1.001, 2, 5, 100, 1e6):
        with mp.workdps(60):
            e, o = mp.mpf(epsilon), mp.mpf(order)
            p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
            exact = mp.log(p**o * q ** (1 - o) + q**o * p ** (1 - o)) / (o - 1)
        assert pure_to_renyi(epsilon, order=order) == pytest.approx(float(exact), rel=1e-11)
        assert pure_to_renyi(epsilon, order=order) <= min(epsilon, order * epsilon**2 / 2) * (1 + 1e-12)
    assert pure_to_renyi(epsilon, order=1) == pytest.approx(epsilon * np.tanh(epsilon / 2), rel=1e-14)


def test_totals_can_be_read():
    t = total(
        [
            PureDP(epsilon=0.5, **A),
            ZCDP(rho=0.25, **A),
            RenyiDP(epsilons={2: 1}, **A),
            ApproxDP(epsilon=1, delta=1e-6, **A),
        ]
    )
    assert repr(t[KEY]) == "Total(census, replace a record: epsilon 0.5 + rho 0.25 + Rényi 1 at 2 + (1, 1e-06))"
    assert "nothing" in repr(Total(source="a", relation=ADD))
    assert Total(source="a", relation=ADD).dp(0.0) == 0.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: PureDP(epsilon=0.0, **A), ValueError, "epsilon must be finite and > 0"),
        (lambda: PureDP(epsilon=1.0, source="", relation=ADD), TypeError, "source must be a name"),
        (
            lambda: PureDP(epsilon=1.0, source="a", relation="remove"),
            ValueError,
            "relation must be one of 'add or remove",
        ),
        (lambda: ZCDP(rho=np.inf, **A), ValueError, "rho must be finite"),
        (lambda: RenyiDP(epsilons={}, **A), TypeError, "epsilons must map orders"),
        (lambda: RenyiDP(epsilons={1: 0.1}, **A), ValueError, "orders > 1"),
        (lambda: RenyiDP(epsilons={2: -0.1}, **A), ValueError, "epsilons must be finite and > 0"),
        (lambda: ApproxDP(epsilon=1.0, delta=1.0, **A), ValueError, "delta must lie strictly between 0 and 1"),
        (lambda: total([0.5]), TypeError, "costs must be PureDP"),
        (lambda: Total(source="a", relation=ADD).dp(1.0), ValueError, r"delta must lie in \[0, 1\)"),
        (lambda: Total(source="a", relation=ADD).dp(-0.1), ValueError, r"delta must lie in \[0, 1\)"),
    ],
)
def test_bad_costs_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
