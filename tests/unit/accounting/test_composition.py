"""Tests of composition and of conversions between neighbours: by hand, closed forms, multiprecision, enumeration."""

import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial._accounting import composition, loss_composition, privacy_loss, renyi, swapping
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
from dpmultinomial._mechanisms.dirichlet import Dirichlet
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian, Gaussian
from dpmultinomial._mechanisms.laplace import DiscreteLaplace, Laplace, TwoSidedGeometric, default_support
from dpmultinomial._models import bayesian_network, calibrated_noise
from dpmultinomial._models.naive_bayes import PrivateNaiveBayes
from dpmultinomial._models.private_network import PrivateBayesianNetwork
from dpmultinomial._releases import spending
from dpmultinomial._seeding import stream
from reproduction.papers.pan2023.algorithms import swapping_audit
from reproduction.papers.ponnoprat2022.algorithms import gohari

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
        assert pure_to_renyi(epsilon, order=order) == pytest.approx(float(exact), rel=1e-11, abs=0)
        assert pure_to_renyi(epsilon, order=order) <= min(epsilon, order * epsilon**2 / 2) * (1 + 1e-12)
    assert pure_to_renyi(epsilon, order=1) == pytest.approx(epsilon * np.tanh(epsilon / 2), rel=1e-14, abs=0)


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


def test_totals_say_what_they_are_made_of():
    """Check two pure costs and one of each other kind, and an infinite epsilon if no conversion gives a guarantee."""
    about = {"source": "census", "relation": RELATIONS[0]}
    costs = [PureDP(epsilon=0.5, **about), PureDP(epsilon=0.25, **about), ZCDP(rho=0.125, **about)]
    made = composition.total(costs)["census", RELATIONS[0]]
    assert repr(made) == f"Total(census, {RELATIONS[0]}: epsilon 0.75 + rho 0.125)"
    assert made.dp(0.0) == np.inf
    made = composition.total([RenyiDP(epsilons={3: 0.5, 2: 0.25}, **about), ApproxDP(epsilon=0.5, delta=1e-6, **about)])
    made = made["census", RELATIONS[0]]
    assert repr(made) == f"Total(census, {RELATIONS[0]}: Rényi 0.25 at 2, 0.5 at 3 + (0.5, 1e-06))"
    assert (made.renyi_epsilon(2.0), made.dp(1e-6), made.dp(1e-7)) == (np.inf, np.inf, np.inf)
    assert repr(composition.Total(source="s", relation=RELATIONS[0])).endswith(": nothing)")
    apart = composition.total([RenyiDP(epsilons={order: 0.5}, **about) for order in (2, 3)])["census", RELATIONS[0]]
    assert repr(apart).endswith(": Rényi without an order)")  # the orders differ, so no order holds for the sum
    assert apart.dp(1e-6) == np.inf
    alone = composition.total([RenyiDP(epsilons={2: 0.25}, **about)])["census", RELATIONS[0]]
    assert (alone.renyi_epsilon(2.0), alone.renyi_epsilon(3.0)) == (0.25, np.inf)


def test_conversions_back_leave_something_or_nothing():
    """Solve equation 14 for epsilon at order 2: epsilon_hat - log(1/delta) + log 4, if positive."""
    for back in (composition.dp_to_rdp, composition.dp_to_rdp_unchecked):
        assert back(20.0, order=2.0, delta=1e-5) == pytest.approx(20 - np.log(1e5) + np.log(4), rel=1e-13)
        assert np.isnan(back(np.log(1e5) - np.log(4), order=2.0, delta=1e-5))
        assert np.isnan(back(1.0, order=2.0, delta=1e-5))
    assert composition.dp_to_rdp_unchecked(1.0, order=2.0, delta=3.0) == pytest.approx(1 + np.log(12), rel=1e-13)


ABOUT = {"source": "census", "relation": RELATIONS[1]}
KEY_OF_ABOUT = ("census", RELATIONS[1])


def test_a_pure_cost_stays_beside_a_small_concentrated_one():
    """Check randomised response at epsilon 5, delta(e) = (exp(5) - exp(e))/(1 + exp(5)): no total below 5 - 1.01e-6 is
    valid at delta = 1e-6. The sum of the pure epsilon and the converted rho is an upper bound."""
    mixed = total([PureDP(epsilon=5.0, **ABOUT), ZCDP(rho=1e-4, **ABOUT)])[KEY_OF_ABOUT].dp(1e-6)
    rest = min(1e-4 * o + composition.floor(order=o, delta=1e-6) for o in 1 + np.geomspace(1, 1e4, 4000))
    assert 5 - 1.01e-6 <= mixed <= 5 + rest


def test_equal_pure_costs_count_as_often_as_they_occur():
    """Check randomised response at 0.5, order 2: log((exp(1) + exp(-0.5))/(1 + exp(0.5))), three times plus one."""
    costs = [PureDP(epsilon=e, **ABOUT) for e in (0.5, 1.0, 0.5, 0.5)]
    half, one = (np.log((np.exp(2 * e) + np.exp(-e)) / (1 + np.exp(e))) for e in (0.5, 1.0))
    assert total(costs)[KEY_OF_ABOUT].renyi_epsilon(2.0) == pytest.approx(3 * half + one, rel=1e-14)


def test_the_best_of_the_stated_orders_converts():
    """Check equation 14: 0.4 + log(1/1e-5) - 2 log 2 at order 2; at 9, 1.2 + log 8 - (log 1e-5 + 9 log 9)/8 is less."""
    cost = RenyiDP(epsilons={2: 0.2, 9: 0.6}, **ABOUT)
    found = total([cost, cost])[KEY_OF_ABOUT].dp(1e-5)
    assert found == pytest.approx(1.2 + np.log(8) - (np.log(1e-5) + 9 * np.log(9)) / 8, rel=1e-13)
    assert found < 0.4 + np.log(1e5) - 2 * np.log(2)


def test_approximate_costs_alone_add_up_in_both_numbers():
    cost = ApproxDP(epsilon=0.5, delta=1e-6, **ABOUT)
    t = total([cost, cost])[KEY_OF_ABOUT]
    assert (t.dp(2e-6), t.dp(1.9e-6)) == (1.0, np.inf)


def test_the_concentrated_conversion_by_its_own_minimum():
    """Minimise rho a + log(1/(a delta))/(a - 1) + log(1 - 1/a) over a fine grid of orders."""
    for rho, delta in ((0.01, 1e-6), (1.0, 1e-10)):
        a = 1 + np.geomspace(1e-2, 1e3, 200_001)
        best = (rho * a + np.log(1 / (a * delta)) / (a - 1) + np.log(1 - 1 / a)).min()
        assert renyi.to_dp(rho, delta=delta) == pytest.approx(best, rel=1e-7)
    assert renyi.concentrated_gaussian(3.0, l2_squared=2.0) == pytest.approx(1 / 9, rel=1e-15)
    assert renyi.concentrated_gaussian_sigma(1 / 9, l2_squared=2.0) == pytest.approx(3.0, rel=1e-15)


@pytest.mark.parametrize("members", [2, 3])
def test_goharis_epsilon_is_attained_at_the_corner_of_its_region(members):
    """Return the log ratio of Dirichlet(k p) and Dirichlet(k p') at y_1 = 1 - (members - 1) gamma, with the other cells
    of W at gamma (the cell outside W at 0), and p at the vertex where p_2 has all the remaining probability."""
    k, eta, eta_bar, shift, gamma = 30.0, 0.05, 0.2, 0.04, 0.01
    rest = 1 - eta_bar - eta
    found = gohari.epsilon(gamma, concentration=k, eta=eta, eta_bar=eta_bar, shift=shift, members=members)
    y = np.array([1 - (members - 1) * gamma, gamma])
    before, after = k * np.array([eta, rest]), k * np.array([eta + shift / 2, rest - shift / 2])

    def log_density(a):  # of two cells, the others' factors are the same before and after
        return stats.beta.logpdf(0.5, *a) + (a - 1) @ (np.log(y) - np.log(0.5))

    assert found == pytest.approx(log_density(after) - log_density(before), rel=1e-12)


# Each sampler against its law, Kolmogorov-Smirnov or chi-squared: p > 1e-4 in 6 cases, fixed seeds: false alarm 6e-4.


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [(Laplace(scale=2.5), stats.laplace(3.0, 2.5)), (Gaussian(sigma=2.5), stats.norm(3.0, 2.5))],
)
def test_continuous_noise_has_its_scale(mechanism, law):
    drawn = mechanism.sample(np.full(20_000, 3.0), rng=stream(1, "scale", type(mechanism).__name__))
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("mechanism", "log_weight"),
    [
        (TwoSidedGeometric(epsilon=0.4), lambda d: -0.4 * np.abs(d)),
        (DiscreteLaplace(scale=2.5), lambda d: -np.abs(d) / 2.5),
        (DiscreteGaussian(sigma=2.5), lambda d: -(d**2) / 12.5),
    ],
)
def test_whole_noise_has_its_scale(mechanism, log_weight):
    d = np.arange(-50, 51)
    p = np.exp(log_weight(d))
    drawn = mechanism.sample(np.full(20_000, 7), rng=stream(2, "scale", type(mechanism).__name__)) - 7
    expected = 20_000 * p / p.sum()
    big = expected > 8
    counts = np.array([(drawn == v).sum() for v in d[big]])
    assert (
        stats.chisquare(np.append(counts, 20_000 - counts.sum()), np.append(expected[big], expected[~big].sum())).pvalue
        > 1e-4
    )


def test_a_dirichlet_release_has_its_marginal():
    """Check that the first cell of Dirichlet(2 f + 1), f = (3, 4, 5), is Beta(7, 20)."""
    drawn = Dirichlet(r=2.0, alpha=1.0).sample([3, 4, 5], rng=stream(3, "marginal"), size=20_000)
    assert stats.kstest(drawn[:, 0], stats.beta(7, 20).cdf).pvalue > 1e-4


def test_calibrations_invert_their_costs():
    """Check epsilon = sensitivity/scale, and the Rényi cost order/sigma^2 of normal noise if one record is replaced."""
    for kind in (Laplace, DiscreteLaplace):
        assert kind.calibrated(0.5, sensitivity=2.0).scale == 4.0
        assert kind(scale=4.0).epsilon(sensitivity=2.0) == 0.5
    assert Gaussian.calibrated_renyi(0.5, order=2.0).sigma == pytest.approx(2.0, rel=1e-15)
    assert Gaussian(sigma=2.0).renyi(order=2.0) == pytest.approx(0.5, rel=1e-15)
    assert DiscreteGaussian.calibrated(0.25, l2_squared=2.0).sigma == pytest.approx(2.0, rel=1e-15)
    # Balle and Wang, Theorem 8, at epsilon 0: P(|N(0, 1)| < shift/2), shift sqrt(2)/sigma
    shift = 2**0.5 / 2.0
    assert float(Gaussian(sigma=2.0).delta(0.0)) == pytest.approx(2 * stats.norm.cdf(shift / 2) - 1, rel=1e-12)


def test_the_cut_of_geometric_noise_is_far_out():
    """Check a truncation at 50 scales, any epsilon: its cost in delta is the probability of an end, below exp(-50)."""
    for epsilon in (0.01, 1.0, 7.0):
        noise = TwoSidedGeometric(epsilon=epsilon, support=default_support(epsilon))
        assert 50 <= epsilon * noise.support < 50 + epsilon
        weights = np.exp(-epsilon * np.abs(np.arange(-noise.support, noise.support + 1)))
        assert noise.tail_delta() == pytest.approx(weights[0] / weights.sum(), rel=1e-12, abs=0)
        assert noise.tail_delta() < np.exp(-50)


def test_a_claim_a_millionth_too_small_is_false():
    """Check (2, epsilon): 0.5 for normal noise of sigma 2, and the sum over two cells for Laplace noise."""
    assert calibrated_noise.renyi_claim(Gaussian(sigma=2.0), order=2.0, epsilon=0.5).holds
    assert not calibrated_noise.renyi_claim(Gaussian(sigma=2.0), order=2.0, epsilon=0.5 * (1 - 1e-6)).holds
    moment = 2 / 3 * np.exp(0.5) + 1 / 3 * np.exp(-1.0)  # order 2, shift 1, scale 2 (Mironov 2017, Table II)
    assert calibrated_noise.exact_renyi(Laplace(scale=2.0), order=2.0) == pytest.approx(2 * np.log(moment), rel=1e-12)


def test_a_swaps_audit_says_per_unit_and_per_exchange():
    """Check that the claim holds per unit, but that one exchange, which is two units, costs more than one unit."""
    audit = swapping_audit.two_by_two(6, rate=0.3)
    assert audit.holds
    assert not audit.holds_per_exchange
    assert audit.per_unit >= audit.per_exchange / 2
    x, logs = swapping_audit.log_kernel(6, *audit.margins, rate=0.3)
    i, j, output = (int(np.flatnonzero(x == v)[0]) for v in (*audit.pair, audit.output))
    assert abs(logs[i, output] - logs[j, output]) == pytest.approx(audit.per_exchange, rel=1e-12)
    for claimed, holds in ((audit.per_unit, True), (audit.per_unit * (1 - 1e-6), False)):
        stated = {**vars(audit), "claimed": claimed}
        assert swapping_audit.SwapAudit(**stated).holds is holds
    for claimed, holds in ((audit.per_exchange, True), (audit.per_exchange * (1 - 1e-6), False)):
        stated = {**vars(audit), "claimed": claimed}
        assert swapping_audit.SwapAudit(**stated).holds_per_exchange is holds


def test_budgets_of_one_release_become_scales():
    """Check the scales at (order 2, epsilon 0.5): normal sqrt(2 2/(2 0.5)) = 2; Laplace with the divergence 0.5."""
    normal = calibrated_noise.calibrated("gaussian", [0.5], order=2.0)
    assert normal.scale[0] == pytest.approx(2.0, rel=1e-15)
    assert normal.sd()[0] == normal.scale[0]
    for word, cells, shift in (("exact", 2, 1.0), ("one cell", 1, 2.0)):
        laplace = calibrated_noise.calibrated("laplace", [0.5], order=2.0, laplace=word)
        s = shift / laplace.scale[0]
        assert cells * np.log(2 / 3 * np.exp(s) + np.exp(-2 * s) / 3) == pytest.approx(0.5, rel=1e-10)
        assert laplace.sd()[0] == pytest.approx(2**0.5 * laplace.scale[0], rel=1e-15)
    assert calibrated_noise.floors("sigma", normal, smoothing=1.0)[0] == 2.0
    assert calibrated_noise.floors("sigma", normal, smoothing=3.0)[0] == 3.0


@pytest.mark.parametrize("kind", ["naive Bayes", "network", "fitted network"])
def test_a_models_budget_is_shared_by_all_it_releases(kind, monkeypatch):
    """Check that two features and the class, or three nodes, are three releases with a third of epsilon = 1.5 each."""
    seen = []
    real = calibrated_noise.calibrated

    def calibrated(mechanism, epsilons, **more):
        seen.extend(epsilons)
        return real(mechanism, epsilons, **more)

    monkeypatch.setattr(calibrated_noise, "calibrated", calibrated)
    codes = np.array([(i % 2, i % 3, i % 2) for i in range(12)], dtype=np.int32)
    levels = {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"]}
    data = pd.DataFrame(codes, columns=["a", "b", "c"]).astype(str)
    if kind == "naive Bayes":
        public = {"levels": {k: levels[k] for k in "ab"}, "classes": ["0", "1"]}
        PrivateNaiveBayes(mechanism="gaussian", epsilon=1.5, random_state=1, **public).fit(data[["a", "b"]], data["c"])
    elif kind == "network":
        PrivateBayesianNetwork(mechanism="gaussian", epsilon=1.5, levels=levels, random_state=1).fit(data)
    else:
        bayesian_network.fit(
            codes, columns=["a", "b", "c"], sizes=[2, 3, 2], parents={"a": [], "b": ["a"], "c": []},
            mechanism="gaussian", epsilon=1.5, order=2.0, floor=1.0, smoothing=1.0, rng=stream(4, "fit"),
        )  # fmt: skip
    assert seen == [0.5]


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
        assert both(most, p, q) <= composition.pure_of_replacement(epsilon) * (1 + 1e-12)
        for order in ORDERS:
            stated = max(both(lambda a, b: divergence(a, b, order), *pair) for pair in ((p, r), (r, q)))  # noqa: B023
            bound, at = composition.renyi_of_replacement(stated, order=order)
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
            wide, lost = composition.approximate_of_replacement(epsilon, delta=delta)
            assert both(lambda a, b: hockey_stick(a, b, wide), p, q) <= lost * (1 + 1e-9) + 1e-15  # noqa: B023
    # Three laws on one question: P says yes with a, R with b, Q with c, each just as far as (epsilon, delta) allows.
    epsilon, delta, c = 0.3, 1e-3, 0.2
    b = math.exp(epsilon) * c + delta
    a = math.exp(epsilon) * b + delta
    yes = [np.array([x, 1 - x]) for x in (a, b, c)]
    wide, lost = composition.approximate_of_replacement(epsilon, delta=delta)
    assert hockey_stick(yes[0], yes[2], wide) == pytest.approx(lost, rel=1e-9)
    assert max(both(lambda a, b: hockey_stick(a, b, epsilon), *pair) for pair in itertools.pairwise(yes)) <= delta * (
        1 + 1e-9
    )


def test_pure_and_concentrated_bounds_are_reached():
    """Check two steps of the geometric distribution (squared ratios) and of normal distributions (distance 2)."""
    assert composition.pure_of_replacement(0.7) == 1.4
    sigma, order = 3.0, 4.5
    rho = 1 / (2 * sigma**2)  # D_order(N(0), N(d)) = order d^2/(2 sigma^2)
    assert composition.concentrated_of_replacement(rho) * order == pytest.approx(
        order * 2**2 / (2 * sigma**2), rel=1e-14
    )


@pytest.mark.parametrize("order", ORDERS)
def test_the_renyi_bound_is_reached_by_normal_laws_up_to_its_stated_factor(order):
    """Check the normal case: D_l is l/2 at distance 1; at l^2/(2l - 1) and distance 2 it attains 1 - 1/(2l - 1)^2."""
    bound, at = composition.renyi_of_replacement(order / 2, order=order)
    assert at == pytest.approx(order**2 / (2 * order - 1), rel=1e-14)
    assert order / 2 < at < order
    assert at * 4 / 2 == pytest.approx(bound * (1 - 1 / (2 * order - 1) ** 2), rel=1e-12)


def test_arguments_outside_their_range_are_refused():
    for call in (
        lambda: composition.pure_of_replacement(0),
        lambda: composition.concentrated_of_replacement(-1.0),
        lambda: composition.renyi_of_replacement(1.0, order=1.0),
        lambda: composition.renyi_of_replacement(0.0, order=2.0),
        lambda: composition.approximate_of_replacement(1.0, delta=0.0),
        lambda: composition.approximate_of_replacement(1.0, delta=1.0),
    ):
        with pytest.raises(ValueError, match=r"epsilon|rho|order|delta"):
            call()
    assert composition.approximate_of_replacement(800.0, delta=0.5)[1] == math.inf


ONE_RECORD = {"relation": spending.ADD_OR_REMOVE}


def test_a_cost_is_converted_to_what_one_person_can_lose():
    assert spending.Cost(**ONE_RECORD, epsilon=1.0).replaced == spending.Cost(relation=spending.REPLACE, epsilon=2.0)
    assert spending.Cost(**ONE_RECORD, rho=0.5).replaced == spending.Cost(relation=spending.REPLACE, rho=2.0)
    renyi = spending.Cost(**ONE_RECORD, epsilon=1.0, order=3.0).replaced
    assert (renyi.epsilon, renyi.order) == pytest.approx((2.5, 1.8), rel=1e-15)  # 5/2 at 9/5
    kept = spending.Cost(relation=spending.REPLACE, epsilon=1.0)
    assert kept.replaced is kept
    swap = spending.Cost(relation=spending.EXCHANGE, epsilon=1.0)
    with pytest.raises(ValueError, match="does not bound the privacy loss of a person whose record is replaced"):
        swap.replaced  # noqa: B018
    assert swap.against_ceiling.startswith("outside: the cost of an exchange within invariants")
    assert "counts only towards a budget of exchanges" in swap.against_ceiling  # which can cover it
    assert spending.Cost(**ONE_RECORD, epsilon=1.0).against_ceiling == {"relation": spending.REPLACE, "epsilon": 2.0}


def test_a_ceiling_counts_what_one_person_can_lose_over_all_relations():
    add, replace = (spending.Cost(relation=r, epsilon=1.0) for r in (spending.ADD_OR_REMOVE, spending.REPLACE))
    swap = spending.Cost(relation=spending.EXCHANGE, epsilon=9.0)
    assert spending.beyond([replace, add], {"epsilon": 3.0}) is None
    said = spending.beyond([replace, add], {"epsilon": 3 - 1e-6})
    assert "epsilon would rise from 1 to 3 (replace a record; a cost for adding or removing" in said
    assert spending.beyond([add, replace], {"epsilon": 3.0}) is None
    assert "from 2 to 3 (replace" in spending.beyond([add, replace], {"epsilon": 2.9})
    assert spending.beyond([replace, swap], {"epsilon": 1.0, "rho": 0.5}) is None  # stated apart
    assert spending.beyond([swap, replace], {"epsilon": 1.0}) is None
    assert spending.beyond([swap, swap], {"exchange": 18.0}) is None
    said = spending.beyond([replace, swap, swap], {"epsilon": 1.0, "exchange": 17.9})
    assert said == "exchange would rise from 9 to 18 (exchange within invariants), but the budget is 17.9"
    # rho: 1 pure is 1/2; 1 of add or remove is 2 of replace, which is 2
    assert spending.beyond([replace, add], {"rho": 2.5}) is None
    assert "rho would rise from 0.5 to 2.5" in spending.beyond([replace, add], {"rho": 2.49})
    # 0.1 of add or remove is 0.4-zCDP of replace, with 0.2 it is 0.6, whatever the order in which they come
    mixed = [spending.Cost(**ONE_RECORD, rho=0.1), spending.Cost(relation=spending.REPLACE, rho=0.2)]
    whole = composition.total([composition.ZCDP(source="s", relation=spending.REPLACE, rho=0.6)])
    at = next(iter(whole.values())).dp(1e-6)
    assert spending.beyond(mixed, {"epsilon": at * (1 + 1e-9), "delta": 1e-6}) is None
    assert spending.beyond(mixed, {"epsilon": at * (1 - 1e-6), "delta": 1e-6}) is not None


def test_an_epsilon_says_how_it_was_found_and_can_be_pickled():
    found = composition.Epsilon(1.5, "loss distributions")
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.method, type(again)) == (1.5, "loss distributions", composition.Epsilon)
    assert (composition.Epsilon(2).method, composition.Epsilon(2) + 1) == ("conversion", 3.0)


def test_costs_of_renyi_are_sorted_by_their_orders():
    cost = RenyiDP(epsilons={9: 3, 2: 1, 4.5: 2}, **ABOUT)
    assert list(cost.epsilons.items()) == [(2.0, 1.0), (4.5, 2.0), (9.0, 3.0)]
    assert {type(x) for pair in cost.epsilons.items() for x in pair} == {float}
    with pytest.raises(ValueError, match=r"^the orders \(the keys of epsilons\) must be > 1, got 1$"):
        RenyiDP(epsilons={1: 1.0}, **ABOUT)
    with pytest.raises(ValueError, match=r"^order must be >= 1, got 0\.5$"):
        RenyiDP(epsilons={0.5: 1.0}, **ABOUT)
    with pytest.raises(ValueError, match=r"^epsilons must"):
        RenyiDP(epsilons={2: 0.0}, **ABOUT)


def test_costs_of_several_sources_or_relations_are_not_composed():
    one, other = PureDP(epsilon=1.0, source="a", relation=ADD), PureDP(epsilon=1.0, source="b", relation=RELATIONS[1])
    with pytest.raises(ValueError, match=r"^compose requires at least one cost, got none$"):
        composition.compose()
    text = "all costs must have the same source and the same neighbouring relation, got a, add or remove a record; b, "
    with pytest.raises(ValueError, match="^" + text + "replace a record$"):
        composition.compose(one, other, one)
    assert composition.compose(one, one).pure == (1.0, 1.0)
    assert list(total([other, one, other])) == [("b", RELATIONS[1]), ("a", ADD)]


@pytest.mark.parametrize("delta", [-0.1, 1.0, 1.5])
def test_a_delta_outside_of_its_range_is_refused(delta):
    with pytest.raises(ValueError, match=r"^delta must lie in \[0, 1\), got"):
        composition.compose(PureDP(epsilon=1.0, **ABOUT)).converted(delta)


def test_orders_of_totals_are_those_that_all_renyi_costs_have():
    costs = [RenyiDP(epsilons={2: 1.0, 3: 2.0, 4: 3.0}, **ABOUT), RenyiDP(epsilons={3: 0.5, 4: 0.25, 5: 1}, **ABOUT)]
    found = composition.compose(*costs, ZCDP(rho=0.5, **ABOUT), ZCDP(rho=0.25, **ABOUT))
    assert found.renyi == {3.0: 2.5, 4.0: 3.25}
    assert found.rho == 0.75
    assert found.renyi_epsilon(3.0) == 2.5 + 0.75 * 3
    none = composition.compose(RenyiDP(epsilons={2: 1.0}, **ABOUT), RenyiDP(epsilons={3: 1.0}, **ABOUT))
    assert (none.renyi, none.dp(1e-6)) == ({}, math.inf)


@pytest.mark.parametrize(
    ("costs", "delta", "expected"),
    [
        ([PureDP(epsilon=1.0, **ABOUT)], 0.0, 1.0),
        ([PureDP(epsilon=1.0, **ABOUT), ApproxDP(epsilon=0.5, delta=0.125, **ABOUT)], 0.125, 1.5),
        ([PureDP(epsilon=1.0, **ABOUT), ApproxDP(epsilon=0.5, delta=0.125, **ABOUT)], 0.0625, math.inf),
        ([ZCDP(rho=1.0, **ABOUT), ApproxDP(epsilon=0.5, delta=0.125, **ABOUT)], 0.125, math.inf),
        ([ZCDP(rho=1.0, **ABOUT)], 0.0, math.inf),
    ],
)
def test_conversions_at_the_ends_of_delta(costs, delta, expected):
    assert composition.compose(*costs).converted(delta) == expected


@pytest.mark.parametrize(("count", "method"), [(64, "loss distributions"), (65, "conversion")])
def test_at_most_sixty_four_mechanisms_are_composed(monkeypatch, count, method):
    mechanisms = {privacy_loss.PureLoss(1 + k / 100): 1 for k in range(count)}
    monkeypatch.setattr(composition, "composed_epsilon", lambda often, delta: 0.5)
    whole = Total(source="a", relation=ADD, pure=(100.0,), mechanisms=mechanisms)
    found = whole.dp(1e-6)
    assert found.method == method
    assert (found == 0.5) == (count == 64)
    assert whole.dp(0.0).method == "conversion"
    monkeypatch.setattr(composition, "composed_epsilon", lambda often, delta: 200.0)
    assert whole.dp(1e-6).method == "conversion"


def test_mechanisms_of_a_total_are_known_if_all_are():
    one = privacy_loss.PureLoss(0.5)
    known = PureDP(epsilon=0.5, **ABOUT, mechanisms=(one, one))
    assert composition._mechanisms([known, known]) == {one: 4}
    assert composition._mechanisms([known, PureDP(epsilon=0.25, **ABOUT)]) == {one: 2, privacy_loss.PureLoss(0.25): 1}
    assert composition._mechanisms([known, ZCDP(rho=0.25, **ABOUT)]) is None
    assert composition._mechanisms([PureDP(epsilon=0.25, **ABOUT)]) is None


@pytest.mark.parametrize("change", [{"source": ""}, {"source": None}, {"relation": "none"}])
def test_a_cost_names_its_source_and_its_relation(change):
    with pytest.raises((TypeError, ValueError), match=r"^source must be a non-empty string|^relation must be one of"):
        PureDP(epsilon=1.0, **(ABOUT | change))


def test_floors_at_the_ends():
    assert composition.floor(order=1.0, delta=0.5) == math.inf
    with pytest.raises(ValueError, match=r"^delta must be < 1, got 1\.0$"):
        composition.floor(order=2.0, delta=1.0)
    assert composition.floor(order=2.0, delta=0.25) == pytest.approx(0.0, abs=1e-15)
    assert composition.rdp_to_dp(1.0, order=2.0, delta=0.25) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("power", [1, 2, 3, 7, 12, 100])
def test_powers_by_repeated_squaring(power):
    values = np.array([1.01 + 0.1j, -0.5j, 0.9])
    assert loss_composition._to_power(values, power) == pytest.approx(values**power, rel=1e-12)


@pytest.mark.parametrize(("size", "passes"), [(1, 1), (2, 1), (4, 2), (1024, 10)])
def test_the_error_of_a_transform_grows_with_its_passes(size, passes):
    assert loss_composition.transform_error(size) == 16 * 2.0**-53 * passes


def test_sums_of_logarithms():
    assert loss_composition._log_sum(np.log([1.0, 2.0, 5.0])) == pytest.approx(np.log(8), rel=1e-15)
    assert loss_composition._log_sum(np.array([-2000.0, -2000.0])) == pytest.approx(-2000 + np.log(2), rel=1e-15)


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_compositions_of_nothing_and_without_delta_are_refused(delta):
    with pytest.raises(ValueError, match=r"^mechanisms must contain at least one mechanism, got none$"):
        loss_composition.epsilon(Counter(), 0.5)
    with pytest.raises(ValueError, match=r"^delta must lie in \(0, 1\), got"):
        loss_composition.epsilon(Counter({privacy_loss.PureLoss(1.0): 1}), delta)


def test_a_tail_beyond_all_losses_is_nothing():
    """Check one loss of 1 with probability 1: 1 - exp(e - 1) below it, nothing at it and above."""
    tail = loss_composition.Tail(np.array([1.0]), np.array([1.0]), 0.0, 0.0, 0.0)
    assert tail(0.5) == pytest.approx(np.log(-np.expm1(-0.5)), rel=1e-13)
    assert tail(1.0) == tail(2.0) == -1e4
    tilted = loss_composition.Tail(np.array([1.0]), np.array([1.0]), 0.0, 2.0, 2.0)
    assert tilted(0.5) == pytest.approx(np.log(-np.expm1(-0.5)), rel=1e-13)


def test_the_bounds_of_swaps_by_hand():
    """Check ln(b + 1) - ln(o) at o = 1/3 and 3, the best rate at o = sqrt(b + 1) = 2, and its inverse."""
    assert swapping.epsilon(3, rate=0.25) == pytest.approx(np.log(4) + np.log(3), rel=1e-15)
    assert swapping.epsilon(2, rate=0.75) == pytest.approx(np.log(3), rel=1e-14)
    assert swapping.epsilon(3, rate=0.9) == pytest.approx(np.log(9), rel=1e-14)
    assert swapping.best_rate(3) == pytest.approx((2 / 3, np.log(2)), rel=1e-15)
    assert swapping.rate_for(np.log(12), largest=3) == pytest.approx(0.25, rel=1e-14)
    assert swapping.rate_for(np.log(4) * (1 + 1e-15), largest=3) == pytest.approx(0.5, rel=1e-14)
    with pytest.raises(ValueError, match=r"^epsilon must be >= ln\(largest \+ 1\) = 1\.3863 for swap rates up to 1/2"):
        swapping.rate_for(1.386, largest=3)
    with pytest.raises(ValueError, match=r" = 1\.0987 for swap rates"):  # ln 3 = 1.09861, and 1.0986 is too small
        swapping.rate_for(1.0986, largest=2)
    assert swapping.rate_for(1.0987, largest=2) <= 0.5
    for call in (
        lambda b: swapping.epsilon(b, rate=0.5),
        swapping.best_rate,
        lambda b: swapping.exact_epsilon(b, rate=0.5),
    ):
        with pytest.raises(ValueError, match=r"^largest must"):
            call(1)


@pytest.mark.parametrize(
    ("strata", "largest"),
    [([(5, 2, 2), (9, 1, 3), (8, 3, 1), (6, 2, 3)], 6), ([(9, 1, 3)], 0), ([], 0), ([(2, 2, 2)], 2)],
)
def test_the_largest_stratum_in_which_something_can_change(strata, largest):
    assert swapping.largest_stratum(strata) == largest


def test_the_smallest_change_of_a_swap_in_words():
    found = swapping.smallest_change(4, rate=0.25)
    assert (found.stated, found.per_record, found.distance) == (2 * swapping.epsilon(4, rate=0.25), found.stated / 2, 2)
    assert found.exact == swapping.exact_loss(4, 2, rate=0.25)
    assert str(found) == (
        f"one exchange of two records costs {found.stated:.4g} by the theorem (2 x {found.per_record:.4g}) and "
        f"exactly {found.exact:.4g} if all values are distinct; changes of a margin are not protected"
    )


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.6, 0.9])
def test_exact_losses_of_small_strata_by_enumeration(rate):
    """Enumerate numbers of moved records k and k' with a product that moves d, of 2 to 7 records (D_k derangements)."""
    counts = [1, 0, 1, 2, 9, 44, 265, 1854]
    for b in range(2, 8):
        f = {k: np.log(counts[k]) - k * np.log(rate / (1 - rate)) for k in range(b + 1) if k != 1}
        for d in range(2, b + 1):
            expected = max(f[other] - f[k] for k in f for other in f if abs(k - other) <= d <= k + other)
            assert swapping.exact_loss(b, d, rate=rate) == pytest.approx(max(expected, 0.0), rel=1e-12, abs=1e-12)
        losses = [swapping.exact_loss(b, d, rate=rate) / d for d in range(2, b + 1)]
        assert swapping.exact_epsilon(b, rate=rate) == pytest.approx(max(losses), rel=1e-12)
    with pytest.raises(ValueError, match=r"^distance must"):
        swapping.exact_loss(4, 5, rate=rate)
    with pytest.raises(ValueError, match=r"^distance must"):
        swapping.exact_loss(4, 1, rate=rate)


@pytest.mark.parametrize("rate", [0.25, 0.75])
def test_large_strata_agree_with_counted_derangements(rate, monkeypatch):
    found = [swapping.exact_loss(50, d, rate=rate) for d in (2, 3, 40, 48, 49, 50)]
    monkeypatch.setattr(swapping, "_RECURSED", 10)
    assert [swapping.exact_loss(50, d, rate=rate) for d in (2, 3, 40, 48, 49, 50)] == pytest.approx(found, rel=1e-12)
    monkeypatch.setattr(swapping, "_LARGEST_VECTOR", 49)
    if rate > 0.5:
        with pytest.raises(ValueError, match=r"^largest must"):
            swapping.exact_loss(50, 2, rate=rate)
    else:
        assert swapping.exact_loss(50, 2, rate=rate) == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("rho", [5.0, 5e3, 5e6])
def test_large_costs_are_converted_at_orders_near_one(rho):
    """Check the minimum of equation 14 over 400,001 orders; the best is near 1 + sqrt(log(1/delta)/rho)."""
    order = 1 + np.geomspace(1e-6, 100, 400_001)
    values = rho * order + np.log(order - 1) - (np.log(1e-6) + order * np.log(order)) / (order - 1)
    assert total([ZCDP(rho=rho, **A)])[KEY].converted(1e-6) == pytest.approx(values.min(), rel=1e-8)
