"""Tests of the conversion from adding or removing a record to replacing one: enumeration, and where it is attained."""

import itertools
import math

import numpy as np
import pytest

from dpmultinomial._accounting import composition, neighbours
from dpmultinomial._releases import spending
from dpmultinomial._seeding import stream

ORDERS = (1.1, 1.5, 2.0, 3.0, 5.0, 20.0)


def divergence(p, q, order):
    """Return the Rényi divergence of two positive distributions, summed term by term."""
    return math.log(math.fsum((p**order * q ** (1 - order)).tolist())) / (order - 1)


def most(p, q):
    return float(np.max(np.log(p / q)))


def laws(count, rng):
    """Return triples of distributions on 2 to 5 points: close, distant and skewed."""
    for _ in range(count):
        size, spread = int(rng.integers(2, 6)), float(rng.choice([0.05, 0.5, 3.0]))
        yield [np.exp(x) / np.exp(x).sum() for x in spread * rng.standard_normal((3, size))]


def both(measure, p, q):
    return max(measure(p, q), measure(q, p))


def test_every_bound_holds_for_every_triple_of_laws():
    """Check that if P, R and R, Q have the stated guarantee, the converted guarantee holds for P and Q."""
    for p, r, q in laws(3000, stream(1, "triples")):
        epsilon = max(both(most, p, r), both(most, r, q))
        assert both(most, p, q) <= neighbours.pure(epsilon) * (1 + 1e-12)
        for order in ORDERS:
            stated = max(both(lambda a, b: divergence(a, b, order), *pair) for pair in ((p, r), (r, q)))  # noqa: B023
            bound, at = neighbours.renyi(stated, order=order)
            assert both(lambda a, b: divergence(a, b, at), p, q) <= bound * (1 + 1e-9)  # noqa: B023


def hockey_stick(p, q, epsilon):
    """Return the smallest delta with P <= e^epsilon Q + delta."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def test_the_bound_of_approximate_privacy_holds_and_is_reached():
    rng = stream(2, "approximate")
    for p, r, q in laws(3000, rng):
        epsilon = float(rng.choice([0.01, 0.1, 0.5, 1.0]))
        delta = max(both(lambda a, b: hockey_stick(a, b, epsilon), *pair) for pair in ((p, r), (r, q)))  # noqa: B023
        if 0 < delta < 1:
            wide, lost = neighbours.approximate(epsilon, delta=delta)
            assert both(lambda a, b: hockey_stick(a, b, wide), p, q) <= lost * (1 + 1e-9) + 1e-15  # noqa: B023
    # Three laws on one question: P says yes with a, R with b, Q with c, each just as far as (epsilon, delta) allows.
    epsilon, delta, c = 0.3, 1e-3, 0.2
    b = math.exp(epsilon) * c + delta
    a = math.exp(epsilon) * b + delta
    yes = [np.array([x, 1 - x]) for x in (a, b, c)]
    wide, lost = neighbours.approximate(epsilon, delta=delta)
    assert hockey_stick(yes[0], yes[2], wide) == pytest.approx(lost, rel=1e-9)
    assert max(both(lambda a, b: hockey_stick(a, b, epsilon), *pair) for pair in itertools.pairwise(yes)) <= delta * (
        1 + 1e-9
    )


def test_pure_and_concentrated_bounds_are_reached():
    """Check two steps of the geometric distribution (squared ratios) and of normal distributions (distance 2)."""
    assert neighbours.pure(0.7) == 1.4
    sigma, order = 3.0, 4.5
    rho = 1 / (2 * sigma**2)  # D_order(N(0), N(d)) = order d^2/(2 sigma^2)
    assert neighbours.concentrated(rho) * order == pytest.approx(order * 2**2 / (2 * sigma**2), rel=1e-14)


@pytest.mark.parametrize("order", ORDERS)
def test_the_renyi_bound_is_reached_by_normal_laws_up_to_its_stated_factor(order):
    """Check the normal case: D_l is l/2 at distance 1; at l^2/(2l - 1) and distance 2 it attains 1 - 1/(2l - 1)^2."""
    bound, at = neighbours.renyi(order / 2, order=order)
    assert at == pytest.approx(order**2 / (2 * order - 1), rel=1e-14)
    assert order / 2 < at < order
    assert at * 4 / 2 == pytest.approx(bound * (1 - 1 / (2 * order - 1) ** 2), rel=1e-12)


def test_arguments_outside_their_range_are_refused():
    for call in (
        lambda: neighbours.pure(0),
        lambda: neighbours.concentrated(-1.0),
        lambda: neighbours.renyi(1.0, order=1.0),
        lambda: neighbours.renyi(0.0, order=2.0),
        lambda: neighbours.approximate(1.0, delta=0.0),
        lambda: neighbours.approximate(1.0, delta=1.0),
    ):
        with pytest.raises(ValueError, match=r"epsilon|rho|order|delta"):
            call()
    assert neighbours.approximate(800.0, delta=0.5)[1] == math.inf


ADD = {"relation": spending.ADD_OR_REMOVE}


def test_a_cost_is_converted_to_what_one_person_can_lose():
    assert spending.Cost(**ADD, epsilon=1.0).replaced == spending.Cost(relation=spending.REPLACE, epsilon=2.0)
    assert spending.Cost(**ADD, rho=0.5).replaced == spending.Cost(relation=spending.REPLACE, rho=2.0)
    renyi = spending.Cost(**ADD, epsilon=1.0, order=3.0).replaced
    assert (renyi.epsilon, renyi.order) == pytest.approx((2.5, 1.8), rel=1e-15)  # 5/2 at 9/5
    kept = spending.Cost(relation=spending.REPLACE, epsilon=1.0)
    assert kept.replaced is kept
    swap = spending.Cost(relation=spending.EXCHANGE, epsilon=1.0)
    with pytest.raises(ValueError, match="does not bound the loss of a person whose record is replaced"):
        swap.replaced  # noqa: B018
    assert swap.against_ceiling.startswith("outside: an exchange within invariants")
    assert spending.Cost(**ADD, epsilon=1.0).against_ceiling == {"relation": spending.REPLACE, "epsilon": 2.0}


def test_a_ceiling_counts_what_one_person_can_lose_over_all_relations():
    add, replace = (spending.Cost(relation=r, epsilon=1.0) for r in (spending.ADD_OR_REMOVE, spending.REPLACE))
    swap = spending.Cost(relation=spending.EXCHANGE, epsilon=9.0)
    assert spending.beyond([replace, add], {"epsilon": 3.0}) is None
    said = spending.beyond([replace, add], {"epsilon": 3 - 1e-6})
    assert "epsilon would rise from 1 to 3 (replace a record; what adds or removes" in said
    assert spending.beyond([add, replace], {"epsilon": 3.0}) is None
    assert "from 2 to 3 (replace" in spending.beyond([add, replace], {"epsilon": 2.9})
    assert spending.beyond([replace, swap], {"epsilon": 1.0, "rho": 0.5}) is None  # stated apart
    assert spending.beyond([swap, replace], {"epsilon": 1.0}) is None
    assert spending.beyond([swap, swap], {"exchange": 18.0}) is None
    said = spending.beyond([replace, swap, swap], {"epsilon": 1.0, "exchange": 17.9})
    assert said == "exchange would rise from 9 to 18 (exchange within invariants), the ceiling is 17.9"
    # rho: 1 pure is 1/2; 1 of add or remove is 2 of replace, which is 2
    assert spending.beyond([replace, add], {"rho": 2.5}) is None
    assert "rho would rise from 0.5 to 2.5" in spending.beyond([replace, add], {"rho": 2.49})
    # 0.1 of add or remove is 0.4-zCDP of replace, with 0.2 it is 0.6, whatever the order in which they come
    mixed = [spending.Cost(**ADD, rho=0.1), spending.Cost(relation=spending.REPLACE, rho=0.2)]
    whole = composition.total([composition.ZCDP(source="s", relation=spending.REPLACE, rho=0.6)])
    at = next(iter(whole.values())).dp(1e-6)
    assert spending.beyond(mixed, {"epsilon": at * (1 + 1e-9), "delta": 1e-6}) is None
    assert spending.beyond(mixed, {"epsilon": at * (1 - 1e-6), "delta": 1e-6}) is not None
