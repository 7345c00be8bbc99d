"""Mechanisms as objects: what they draw is what their functions draw, and what they cost is what accounting says."""

import math

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from dpmultinomial._accounting import privacy_profiles, renyi, swapping
from dpmultinomial._mechanisms.additive import additive_counts
from dpmultinomial._mechanisms.swapping import swap_draws

ADD, REPLACE, EXCHANGE = "add or remove a record", "replace a record", "exchange within invariants"


def test_additive_counts_draw_and_cost_what_the_paper_says():
    law = dpm.AdditiveCounts(epsilon=0.5, algorithm="2")
    drawn = law.sample([12, 3, 0], rng=dpm.stream(1, "a"))
    again = additive_counts.release([12, 3, 0], epsilon=0.5, algorithm="2", rng=dpm.stream(1, "a"), size=1)
    np.testing.assert_array_equal(drawn, again[0])
    cost = law.cost()
    assert (cost.epsilon, cost.relation, cost.source) == (1.0, ADD, "data")
    assert cost.delta == privacy_profiles.geometric_delta(1.0, epsilon=0.5, changed=2, support=100)
    assert law.cost(REPLACE).epsilon == 1.0  # two components move, the total stays
    whole = dpm.AdditiveCounts(epsilon=0.5, support=math.inf)
    assert whole.cost() == dpm.PureDP(source="data", relation=ADD, epsilon=1.0)
    with pytest.raises(ValueError, match="support: a simulation needs noise that is cut"):
        whole.sample([1, 2], rng=dpm.stream(1, "a"))
    for name, wrong in {"epsilon": 0.0, "algorithm": "4", "ties": "never", "support": 0}.items():
        with pytest.raises(ValueError, match=name):
            dpm.AdditiveCounts(**{"epsilon": 1.0} | {name: wrong})
    with pytest.raises(ValueError, match="relation"):
        law.cost(EXCHANGE)


def test_a_swap_draws_tables_and_records():
    law, table = dpm.Swap(rate=0.3), [[5, 2], [1, 7]]
    drawn = law.sample(table, rng=dpm.stream(1, "s"))
    np.testing.assert_array_equal(drawn, swap_draws.tables(table, 1, rate=0.3, rng=dpm.stream(1, "s"))[0])
    people = pd.DataFrame({"town": list("aaaabbbb"), "job": list("xyxyzzxy")})
    swapped = law.sample(people, swap="job", match="town", rng=dpm.stream(2, "s"))
    assert sorted(swapped["job"][:4]) == sorted(people["job"][:4])
    assert law.cost(largest=4).epsilon == 2 * swapping.epsilon(4, rate=0.3)
    assert law.cost(largest=4).relation == EXCHANGE
    with pytest.raises(ValueError, match="relation"):
        law.cost(REPLACE, largest=4)
    for asked in (
        lambda: dpm.Swap(rate=None).sample(table, rng=dpm.stream(1, "s")),
        lambda: dpm.Swap(rate=None).cost(largest=4),
    ):
        with pytest.raises(ValueError, match="an unknown rate neither swaps nor costs"):
            asked()
    with pytest.raises(ValueError, match="rate"):
        dpm.Swap(rate=1.0)


def test_a_dirichlet_release_costs_its_exact_divergence():
    law = dpm.Dirichlet(r=0.2, alpha=1.5)
    cost = law.cost(orders=(2.0, 3.0, 500.0))
    assert cost.epsilons == {a: renyi.dirichlet_worst_case(0.2, alpha=1.5, order=a) for a in (2.0, 3.0)}
    with pytest.raises(ValueError, match="no bound at 500"):
        law.cost(orders=(500.0,))
    logs = law.log_weights(0.25, [0, 4])
    a, b = 1.5, 0.2 * 4 + 1.5
    assert logs[1] - logs[0] == pytest.approx((b - a) * math.log(0.25) - math.lgamma(b) + math.lgamma(a))
    with pytest.raises(ValueError, match=r"must lie in \(0, 1\]"):
        law.log_weights(0.0, [1])


def test_censored_statistics_draw_around_their_value_and_cost_what_their_scale_says():
    law = dpm.CensoredStatistics(lower=-1.0, upper=1.0, scale=(0.1, 0.2, 1.0, 1.0))
    records = np.linspace(-2, 2, 41)
    noise = dpm.stream(1, "c").laplace(size=4)
    np.testing.assert_allclose(law.sample(records, rng=dpm.stream(1, "c")), law.of(records) + law.scale * noise)
    sums = dpm.CensoredStatistics(lower=-1.0, upper=1.0, scale=0.5, sums=True)
    np.testing.assert_allclose(sums.sample(records, rng=dpm.stream(1, "c")), sums.sums_of(records) + 0.5 * noise)
    assert law.cost(n=41).epsilon == law.epsilon(41, law.scale)
    assert sums.cost(n=41).epsilon == sums.epsilon(41, 0.5, sums=True)
    bare = dpm.CensoredStatistics(lower=-1.0, upper=1.0)
    for asked in (lambda: bare.sample(records, rng=dpm.stream(1, "c")), lambda: bare.cost(n=41)):
        with pytest.raises(ValueError, match="scale: must be stated"):
            asked()
    with pytest.raises(ValueError, match="scale"):
        dpm.CensoredStatistics(lower=-1.0, upper=1.0, scale=(1.0, 2.0))


def test_calibrated_mechanisms_cost_what_was_asked():
    assert dpm.Dirichlet.calibrated(0.5, order=3.0).renyi(order=3.0) == pytest.approx(0.5, rel=1e-9)
    assert dpm.Swap.calibrated(8.0, largest=10).cost(largest=10).epsilon == pytest.approx(8.0, rel=1e-12)
    law = dpm.CensoredStatistics.calibrated(0.5, n=41, lower=-1.0, upper=1.0, sums=True)
    assert law.cost(n=41).epsilon == pytest.approx(0.5, rel=1e-12)
    assert law.sums
    np.testing.assert_allclose(law.scale, law.scales(41, epsilon=0.5, sums=True))


def test_costs_of_one_source_and_relation_add_up():
    one = dpm.PureDP(source="s", relation=REPLACE, epsilon=0.5)
    two = dpm.ZCDP(source="s", relation=REPLACE, rho=0.1)
    assert dpm.compose(one, one).dp(0) == 1.0
    assert dpm.compose(one, two).rho == 0.1
    with pytest.raises(ValueError, match="several sources or neighbour relations"):
        dpm.compose(one, dpm.PureDP(source="s", relation=ADD, epsilon=0.5))
    with pytest.raises(ValueError, match="at least one"):
        dpm.compose()
    with pytest.raises(TypeError, match="costs must be"):
        dpm.compose(0.5)


def test_a_claim_is_audited_in_its_own_unit():
    noise = dpm.Gaussian(sigma=2.0)
    at_order = dpm.audit(noise, epsilon=1.0, order=2.0)
    assert at_order.exact == pytest.approx(2.0 * 2.0 / (2 * 4.0))  # order l2^2/(2 sigma^2)
    assert at_order.holds
    assert not dpm.audit(noise, epsilon=0.4, order=2.0).holds
    assert dpm.audit(noise, epsilon=1.0, delta=0.5).claimed == 0.5
    for wrong in ({}, {"delta": 0.1, "order": 2.0}):
        with pytest.raises(ValueError, match="delta or order, one of them"):
            dpm.audit(noise, epsilon=1.0, **wrong)
