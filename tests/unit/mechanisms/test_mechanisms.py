"""Tests of mechanism objects: draws and costs agree with functions and accounting; corner cases of arguments."""

import math
from fractions import Fraction
from itertools import product
from math import comb, factorial, prod

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from scipy.optimize import lsq_linear

import dpmultinomial as dpm
from dpmultinomial._accounting import privacy_profiles, renyi, swapping
from dpmultinomial._accounting.privacy_loss import PureLoss
from dpmultinomial._mechanisms import additive_counts, dirichlet
from dpmultinomial._mechanisms.coarsened import Coarsened
from dpmultinomial._mechanisms.dirichlet import Dirichlet
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian, Gaussian
from dpmultinomial._mechanisms.laplace import Laplace, default_support
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._mechanisms.swapping import exact_swapping, permutation_swaps
from dpmultinomial._mechanisms.swapping import swapping as swap_mechanism
from dpmultinomial._seeding import stream
from reproduction.papers.wang2020.algorithms import integer_projection

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
    with pytest.raises(ValueError, match="support must be an integer for a simulation"):
        whole.sample([1, 2], rng=dpm.stream(1, "a"))
    for name, wrong in {"epsilon": 0.0, "algorithm": "4", "ties": "never", "support": 0}.items():
        with pytest.raises(ValueError, match=name):
            dpm.AdditiveCounts(**{"epsilon": 1.0} | {name: wrong})
    with pytest.raises(ValueError, match="relation"):
        law.cost(EXCHANGE)


def test_a_swap_draws_tables_and_records():
    law, table = dpm.Swap(rate=0.3), [[5, 2], [1, 7]]
    drawn = law.sample(table, rng=dpm.stream(1, "s"))
    np.testing.assert_array_equal(drawn, permutation_swaps.tables(table, 1, rate=0.3, rng=dpm.stream(1, "s"))[0])
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
        with pytest.raises(ValueError, match="rate is required to swap records and to compute the privacy cost"):
            asked()
    with pytest.raises(ValueError, match="rate"):
        dpm.Swap(rate=1.0)


def test_moments_of_a_dirichlet_release_by_hand():
    """Check Dirichlet(3, 1, 2): the shares are Beta(3, 3), Beta(1, 5) and Beta(2, 4). Under Dirichlet(4, 1, 1), the
    divergence from (1, 0, 0) is -log of the first share, whose variance is psi'(4) - psi'(6) = 1/16 + 1/25.
    """
    law = dpm.Dirichlet(r=1.0, alpha=1.0)
    assert law.mean([2, 0, 1]) == pytest.approx([1 / 2, 1 / 6, 1 / 3], rel=1e-12)
    assert law.variance([2, 0, 1]) == pytest.approx([1 / 28, 5 / 252, 2 / 63], rel=1e-12)
    assert law.kl_variance([3, 0, 0]) == pytest.approx(1 / 16 + 1 / 25, rel=1e-12)


def test_a_dirichlet_release_costs_its_exact_divergence():
    law = dpm.Dirichlet(r=0.2, alpha=1.5)
    cost = law.cost(orders=(2.0, 3.0, 500.0))
    assert cost.epsilons == {a: renyi.dirichlet_worst_case(0.2, alpha=1.5, order=a) for a in (2.0, 3.0)}
    with pytest.raises(ValueError, match="infinite for the orders 500"):
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
        with pytest.raises(ValueError, match="scale is required"):
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
    with pytest.raises(ValueError, match="same source and the same neighbouring relation"):
        dpm.compose(one, dpm.PureDP(source="s", relation=ADD, epsilon=0.5))
    with pytest.raises(ValueError, match="at least one"):
        dpm.compose()
    with pytest.raises(TypeError, match="every cost must be"):
        dpm.compose(0.5)


def test_a_claim_is_audited_in_its_own_unit():
    noise = dpm.Gaussian(sigma=2.0)
    at_order = dpm.audit(noise, epsilon=1.0, order=2.0)
    assert at_order.exact == pytest.approx(2.0 * 2.0 / (2 * 4.0))  # order l2^2/(2 sigma^2)
    assert at_order.holds
    assert not dpm.audit(noise, epsilon=0.4, order=2.0).holds
    assert dpm.audit(noise, epsilon=1.0, delta=0.5).claimed == 0.5
    for wrong in ({}, {"delta": 0.1, "order": 2.0}):
        with pytest.raises(ValueError, match="exactly one of delta and order"):
            dpm.audit(noise, epsilon=1.0, **wrong)


def modes(total, weights):
    """Return all modes of a multinomial distribution, by listing, in fractions."""
    whole = sum(weights)
    listed = {}
    for head in product(range(total + 1), repeat=len(weights) - 1):
        if sum(head) <= total:
            k = (*head, total - sum(head))
            listed[k] = Fraction(factorial(total), prod(map(factorial, k)))
            listed[k] *= prod((Fraction(w, whole) ** n for w, n in zip(weights, k, strict=True)), start=Fraction(1))
    most = max(listed.values())
    return {k for k, p in listed.items() if p == most}


@pytest.mark.parametrize("ties", ["first", "last", "random", "ieee"])
def test_modes_are_those_of_the_list(ties):
    """Return weights whose sum is a power of two, so that all quotients are exact in doubles."""
    rng = stream(1, "modes", ties)
    for _ in range(60):
        weights = rng.multinomial(32, [0.5, 0.3, 0.2]).tolist()
        total = int(rng.integers(0, 9))
        found = additive_counts.multinomial_mode(total, weights, ties=ties, rng=rng)
        assert tuple(found.tolist()) in modes(total, weights)


def test_ties_go_where_they_are_sent():
    """Check two units on three equal weights: each of three modes; the theorem starts at one unit each and removes the
    first, and also for one unit on two weights at one each."""
    assert additive_counts.multinomial_mode(2, [1, 1, 1], ties="first").tolist() == [1, 1, 0]
    assert additive_counts.multinomial_mode(2, [1, 1, 1], ties="last").tolist() == [0, 1, 1]
    assert additive_counts.multinomial_mode(2, [1, 1, 1, 1], ties="ieee").tolist() == [0, 0, 1, 1]
    assert additive_counts.multinomial_mode(1, [0.5, 0.5], ties="ieee").tolist() == [0, 1]
    assert additive_counts.multinomial_mode(5, [0.0, 1.0, 0.0], ties="ieee").tolist() == [0, 5, 0]


@pytest.mark.parametrize("algorithm", ["2", "3"])
def test_noisy_counts_below_nothing_count_as_nothing(algorithm):
    noisy, totals = np.array([[6, 3, -2], [4, 4, 0], [5, 1, 1]]), np.array([3, -5, 0])
    settings = {"epsilon": 1.0, "algorithm": algorithm, "support": 9, "ties": "first"}
    found = additive_counts.release_from_noisy(noisy, totals, **settings, rng=stream(2, "below"))
    assert found.sum(axis=1).tolist() == [3, 0, 0]
    assert found[0, 2] == 0
    if algorithm == "3":
        assert found[0].tolist() == [2, 1, 0]


def test_weights_that_are_all_nothing_are_equal():
    """Check 60,000 units over three cells by a chi-squared test with p > 1e-4, fixed seed."""
    noisy, totals = np.array([[-3, 0, -1]] * 2000), np.full(2000, 30)
    for algorithm in ("1-independent", "2"):
        settings = {"epsilon": 60.0, "support": 5, "algorithm": algorithm}  # at 60 the noise is 0 but for 1e-26
        found = additive_counts.release_from_noisy(noisy, totals, **settings, rng=stream(3, "nothing", algorithm))
        assert found.sum(axis=1).tolist() == totals.tolist()
        assert stats.chisquare(found.sum(axis=0)).pvalue > 1e-4


def test_weights_are_drawn_anew_around_the_noisy_counts():
    """Check 1-independent with support 1: weights n - 1, n, n + 1 with probabilities q, 1, q over 1 + 2 q,
    q = exp(-epsilon), but only 0 and 1 from n = 0. For noisy (0, 4), the first weight is 1 with probability q/(1 + q),
    and the share is E[w/(w + v)]; 40,000 releases of about 20 units, |z| < 4: false alarm 1e-4."""
    q, n = np.exp(-0.5), 40_000
    middle = 1 / (1 + 2 * q)
    theta = q / (1 + q) * sum(p / (1 + v) for v, p in ((3, q * middle), (4, middle), (5, q * middle)))
    settings = {"epsilon": 0.5, "support": 1, "algorithm": "1-independent", "rng": stream(4, "anew")}
    found = additive_counts.release_from_noisy(np.array([[0, 4]] * n), np.full(n, 20), **settings)
    assert set(found.sum(axis=1).tolist()) == {19, 20, 21}
    share = found[:, 0] / found.sum(axis=1)
    assert abs(share.mean() - theta) < 4 * share.std() / n**0.5
    assert abs((found.sum(axis=1) == 20).mean() - middle) < 4 * (middle * (1 - middle) / n) ** 0.5


def test_least_squares_is_that_of_a_solver():
    """Check one row per count and one row for their sum."""
    noisy, totals = stream(5, "rows").normal(3.0, 4.0, (6, 4)), np.array([9.0, 0.0, -3.5, 20.0, 12.0, 11.0])
    rows, sums = integer_projection.least_squares(noisy, totals)
    design = np.vstack([np.eye(4), np.ones(4)])
    for row, values, total in zip(rows, noisy, totals, strict=True):
        assert row == pytest.approx(lsq_linear(design, [*values, total]).x, abs=1e-10)
    assert sums == pytest.approx(rows.sum(axis=1), abs=1e-12)
    for bad, fault in ((np.full((1, 2), np.inf), "be finite, got inf"), (np.zeros((1, 0)), "have at least one column")):
        with pytest.raises(ValueError, match=f"rows must {fault}"):
            integer_projection.least_squares(bad, [1.0])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 40, 300])
@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_permutations_of_a_swap_have_a_law(n, rate):
    """Check that C(n, k) D_k permutations move k records, D_k = k D_{k-1} + (-1)^k; none moves one record."""
    derangements = [1, 0]
    for k in range(2, n + 1):
        derangements.append(k * derangements[-1] + (-1) ** k)
    logs = exact_swapping.log_permutation_weights(n, rate=rate)
    assert len(logs) == n + 1
    if n < 2:
        assert logs.tolist() == [0.0, -np.inf][: n + 1]
        return
    moved = [comb(n, k) * derangements[k] for k in range(n + 1)]
    log_counts = np.array([float("-inf") if m == 0 else _log(m) for m in moved])
    p = np.exp(logs + np.where(np.isfinite(log_counts), log_counts, 0.0))
    assert p[1] == 0
    assert p.sum() == pytest.approx(1, rel=1e-10)
    binomial = stats.binom(n, rate).pmf(np.arange(n + 1))  # records selected, one alone is excluded
    binomial[1] = 0.0
    assert p == pytest.approx(binomial / binomial.sum(), rel=1e-9, abs=1e-300)


def _log(whole):
    """Return the log of an integer of any size."""
    shift = max(whole.bit_length() - 60, 0)
    return float(np.log(whole >> shift) + shift * np.log(2))


def test_densities_and_variances_are_scipys():
    x = np.linspace(-9, 9, 7)
    assert Gaussian(sigma=2.5).pdf(x) == pytest.approx(stats.norm(0, 2.5).pdf(x), rel=1e-13)
    assert Gaussian(sigma=2.5).variance() == 6.25
    assert Laplace(scale=2.5).pdf(x) == pytest.approx(stats.laplace(0, 2.5).pdf(x), rel=1e-13)
    assert Laplace(scale=2.5).variance() == 12.5
    law = DiscreteGaussian(sigma=2.0)
    assert law.epsilon(delta=1e-6, l2_squared=2.0) == renyi.to_dp(0.25, delta=1e-6)
    assert Dirichlet(r=0.2, alpha=3.0).renyi(order=4.0) == renyi.dirichlet_worst_case(0.2, alpha=3.0, order=4.0)


@pytest.mark.parametrize("order", [1.5, 2.0, 10.0])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_the_last_step_of_a_calibration_is_newtons(epsilon, order):
    """Check that the error of Newton's method is of second order: from 1e-4 beside the root it decreases to about 1e-8;
    with another slope, to its relative error times 1e-4."""
    root, alpha = dirichlet.calibrate(epsilon, order=order)
    assert alpha == pytest.approx(1 + 4 * (order - 1) * root, rel=1e-15)
    assert renyi.dirichlet_bound(root, order=order, l2_squared=2.0, linf=1.0) == pytest.approx(epsilon, rel=1e-13)
    for beside in (1 + 1e-4, 1 - 1e-4):
        assert dirichlet._polish(root * beside, epsilon, order, 2.0, 1.0) == pytest.approx(root, rel=1e-7)


@pytest.mark.parametrize(("l2_squared", "linf"), [(2.0, 1.0), (8.0, 2.0), (0.5, 0.5)])
def test_a_calibration_by_theorem_1_has_the_sensitivities_of_the_counts(l2_squared, linf):
    """Check alpha = 1 + 4 (order - 1) r linf and epsilon = order r^2 l2^2 psi1(1 + 3 (order - 1) r linf)/2."""
    r, alpha = dirichlet.calibrate(0.7, order=3.0, l2_squared=l2_squared, linf=linf)
    assert alpha == pytest.approx(1 + 8 * r * linf, rel=1e-14)
    assert 1.5 * r**2 * l2_squared * special.polygamma(1, 1 + 6 * r * linf) == pytest.approx(0.7, rel=1e-12)


def change(kind, before, after, rates, *, sums=False):
    """Return sum_j r_j |change of s_j|: mean (the middle if none is inside), squares about it, both tails."""
    found = []
    for records in (before, after):
        inside = [x for x in records if kind.lower <= x <= kind.upper]
        middle = (kind.lower + kind.upper) / 2
        mean = sum(inside) / len(inside) if inside else middle
        first, centre = (sum(x - middle for x in inside), middle) if sums else (mean, mean)
        tails = sum(x < kind.lower for x in records), sum(x > kind.upper for x in records)
        found.append(np.array([first, sum((x - centre) ** 2 for x in inside), *tails]))
    return float(rates @ np.abs(found[0] - found[1]))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [0.3, 1.0, 5.0])
def test_a_cost_is_the_largest_weighted_change(n, width):
    """Check all neighbours with records in both tails and at both ends, for rates that favour each statistic."""
    kind = CensoredStatistics(lower=-1.0, upper=-1.0 + width)
    values, rng = [-2.0, -1.0, -1.0 + width, 9.0], stream(7, "rates", n)
    pairs = [(x, (*x[:-1], v)) for x in product(values, repeat=n) for v in values]
    rates = [*(100.0 ** rng.uniform(-1, 1, (3, 4))), *(np.eye(4) + 1e-3), np.array([1, 1e-3, 1, 1e-3]), np.ones(4)]
    for rate in map(np.asarray, rates):
        worst = max(change(kind, *pair, rate) for pair in pairs)
        assert kind.epsilon(n, 1 / rate) == pytest.approx(worst, rel=1e-12)
    assert kind.sensitivity(n) == pytest.approx(max(change(kind, *pair, np.ones(4)) for pair in pairs), rel=1e-12)


@pytest.mark.parametrize("width", [0.3, 1.0, 5.0])
def test_a_cost_of_sums_is_the_largest_weighted_change(width):
    """Check one record on a grid of 400 positions: the best interior position is missed by at most 1e-5."""
    kind = CensoredStatistics(lower=-1.0, upper=-1.0 + width)
    values, rng = [-2.0, *np.linspace(-1.0, -1.0 + width, 401)[:: 401 // 40], 9.0], stream(8, "rates")
    fine = np.linspace(-1.0, -1.0 + width, 401)
    pairs = [((x,), (v,)) for x in values for v in (-2.0, -1.0, -1.0 + width, 9.0)]
    pairs += [((x,), (-1.0 + width,)) for x in fine]
    for rate in [*(100.0 ** rng.uniform(-1, 1, (3, 4))), *(np.eye(4) + 1e-3), np.ones(4)]:
        worst = max(change(kind, *pair, np.asarray(rate), sums=True) for pair in pairs)
        assert worst * (1 - 1e-12) <= kind.epsilon(9, 1 / rate, sums=True) <= worst * (1 + 1e-4)
    at_one = max(change(kind, *pair, np.ones(4), sums=True) for pair in pairs)
    assert at_one * (1 - 1e-12) <= kind.sums_sensitivity() <= at_one * (1 + 1e-4)


def test_sums_are_released_with_noise_of_their_own_sensitivity():
    """Check Laplace noise of scale sums_sensitivity/epsilon on each: Kolmogorov-Smirnov, p > 1e-4, fixed seed."""
    kind, records = CensoredStatistics(lower=0.0, upper=4.0), np.array([-1.0, 1.0, 2.5, 3.0, 7.0, 0.5])
    rng = stream(6, "sums")
    drawn = np.array([kind.release(records, epsilon=0.5, rng=rng, sums=True) for _ in range(2000)])
    noise = (drawn - kind.sums_of(records)).ravel()
    assert stats.kstest(noise, stats.laplace(0, kind.sums_sensitivity() / 0.5).cdf).pvalue > 1e-4
    with pytest.raises(ValueError, match="shares and sensitivity must not both be given"):
        kind.release(records, epsilon=0.5, rng=rng, shares=[0.25] * 4, sensitivity=3.0)


def test_a_table_of_one_record_stays():
    assert swap_mechanism.expected_table([[1, 0], [0, 0]], rate=0.3).tolist() == [[1, 0], [0, 0]]
    assert swap_mechanism.expected_table([[0, 0], [0, 0]], rate=0.3).tolist() == [[0, 0], [0, 0]]
    for bad in ([[1, 1], [1, 0]], [[1, 2, 3], [4, 5, 6]]):
        with pytest.raises(ValueError, match="2 x 2 with at least 4 records"):
            swap_mechanism.cell_sd(bad, rate=0.3)


TRIPLES = [(0, 0, 1.0), (1, 0, 0.25), (1, 1, 0.5), (1, 4, 0.25), (2, 2, 1.0)]


def perturbed(rows, **given):
    true, released, probability = map(list, zip(*rows, strict=True))
    return dpm.Perturbation({"true": true, "released": released, "probability": probability}, **given)


def test_a_table_of_probabilities_by_hand():
    """The row of 1 has the mean 1.5 and the variance .25 2.25 + .5 .25 + .25 6.25 = 2.25."""
    law = perturbed(TRIPLES)
    assert law.weights.tolist() == [[1, 0, 0, 0], [0.25, 0.5, 0, 0.25], [0, 0, 1, 0]]
    assert (law.halfwidth(9.0), law.variance(), law.row_count) == (3.0, 2.25, None)
    assert repr(law) == "Perturbation(true 0..2, released 0..4)"
    assert law.settings() == {"law": "table", "beyond": "none", "true": [0, 2]}
    assert law.take(np.array([0])) is law
    assert [[float(end) for end in law.reach(y, 0.0)] for y in (0, 1, 2, 3, 4)] == [
        [0, 1], [1, 1], [2, 2], [np.inf, -np.inf], [1, 1]
    ]  # fmt: skip
    assert law.possible([0, 1, 2, 3, 4, 5, -1, 0.5, np.nan]).tolist() == [True, True, True, False, True, *[False] * 4]
    found = np.exp(law.log_likelihood(np.arange(-1, 6), np.arange(-1, 5)[:, None].astype(float)))
    assert found[1:4, 1:6].tolist() == [[1, 0, 0, 0, 0], [0.25, 0.5, 0, 0, 0.25], [0, 0, 1, 0, 0]]
    assert found.sum() == 3
    for low, high, p in ((-np.inf, np.inf, 1), (0, 0, 0.25), (1, 3, 0.5), (2, 3, 0), (0.5, 4, 0.75), (3, 2, 0)):
        assert np.exp(law.log_between(low, high, 1.0)) == pytest.approx(p, abs=1e-15)
        assert np.exp(law.log_between(low, high, 3.0)) == 0


@pytest.mark.parametrize(("excess", "accepted"), [(9e-7, True), (-9e-7, True), (1.1e-6, False), (-1.1e-6, False)])
def test_probabilities_add_up_to_one_within_a_millionth(excess, accepted):
    rows = [(0, 0, 0.5 + excess), (0, 1, 0.5)]
    if accepted:
        law = perturbed(rows)
        assert law.weights.sum() == pytest.approx(1, abs=1e-15)
        assert law.weights[0, 0] == pytest.approx((0.5 + excess) / (1 + excess), abs=1e-15)
    else:
        with pytest.raises(ValueError, match="probabilities for the true count 0 must sum to 1, got"):
            perturbed(rows)


@pytest.mark.parametrize(("gap", "accepted"), [(9e-6, True), (1.1e-5, False)])
def test_repeated_rows_are_equal_within_a_hundred_thousandth(gap, accepted):
    rows = [(d, d + v, 0.5 + (gap * (d == 1) * (1 if v else -1))) for d in (0, 1) for v in (0, 1)]
    if accepted:
        assert perturbed(rows, beyond="shift").period == 1
    else:
        with pytest.raises(ValueError, match=r"but the probabilities in the two rows differ by 1.1e-05"):
            perturbed(rows, beyond="shift")


@pytest.mark.parametrize(
    ("beyond", "words"),
    [
        ({"period": 0}, "period must be in .1, 10000., got 0"),
        ({"period": 10_001}, "period must be in .1, 10000., got 10001"),
        ({"period": 4}, "the last 4 true counts of the table must be consecutive, got 0, 1, 2$"),
        ({"periods": 1}, r"beyond must be none, shift or {period: number}, got {'periods': 1}"),
        ("shifted", "beyond must be one of 'none', 'shift', got 'shifted'"),
    ],
)
def test_continuations_of_a_table_that_do_not_exist(beyond, words):
    with pytest.raises(ValueError, match=words):
        perturbed(TRIPLES, beyond=beyond)


def test_a_gap_among_the_last_counts_of_a_table():
    rows = [(d, d, 1.0) for d in [*range(3), *range(4, 14)]]
    assert perturbed(rows, beyond={"period": 10}).period == 10
    with pytest.raises(ValueError, match=r"last 11 true counts .* must be consecutive, got 5, 6, 7, 8, 9, 10, 11, 12"):
        perturbed(rows, beyond={"period": 11})


def test_costs_of_a_table_by_its_steps():
    """Randomised response with log ratio log 3: two steps if a record is replaced."""
    law = perturbed([(0, 0, 0.75), (0, 1, 0.25), (1, 0, 0.25), (1, 1, 0.75)])
    add, replace = "add or remove a record", "replace a record"
    step = math.log(3)
    for given, size in (({}, 1), ({"sensitivity": 3.0}, 3), ({"changes": (1, 2)}, 3), ({"changes": (1,)}, 1)):
        assert law.cost(add, **given).epsilon == pytest.approx(size * step, rel=1e-12)
    assert law.cost(replace).epsilon == pytest.approx(2 * step, rel=1e-12)
    assert [len(law.cost(relation).mechanisms) for relation in (add, replace)] == [1, 2]
    (loss,) = law.cost(add, sensitivity=3.0).mechanisms
    assert loss == PureLoss(loss.epsilon)
    assert loss.epsilon == pytest.approx(3 * step, rel=1e-12)
    with pytest.raises(ValueError, match="no finite epsilon, because the table has only one true count: use another"):
        perturbed([(0, 0, 0.5), (0, 1, 0.5)]).cost(add)


@pytest.mark.parametrize("base", [2, 3, 10, 10_000])
@pytest.mark.parametrize("fixed", [None, "up", "down", "nearest"])
def test_reach_and_width_of_rounding_by_listing(base, fixed):
    """List the counts that can be rounded to 3 base, and their distances."""
    law = dpm.RandomRounding(base, fixed=fixed)
    counts = np.arange(base, 5 * base, max(base // 100, 1) if base > 100 else 1)
    ends = [half * base // 2 + np.arange(-2, 3) for half in (4, 5, 7, 8)]
    counts = np.unique(np.concatenate([counts, *ends]))
    p = np.exp(law.log_likelihood(3 * base, counts.astype(float)))
    low, high = law.reach(3 * base, 0.0)
    possible = counts[p > 0]
    assert (possible.min(), possible.max()) == (low, high)
    assert law.halfwidth(9.0) == np.abs(possible - 3 * base).max()
    m = np.arange(base)
    assert law.variance() == (0.0 if fixed else float((m * (base - m)).max()))
    words = {"law": "random_rounding", "base": base} | ({"fixed": fixed} if fixed else {})
    assert law.settings() == words


@pytest.mark.parametrize(("base", "words"), [(1, "base must be in .2, 10000., got 1"), (10_001, "got 10001")])
def test_bases_of_rounding(base, words):
    with pytest.raises(ValueError, match=words):
        dpm.RandomRounding(base)
    with pytest.raises(ValueError, match="fixed must be one of 'nearest', 'up', 'down', got 'even'"):
        dpm.RandomRounding(5, fixed="even")


def test_an_exact_count_is_its_own_release():
    law = dpm.Exact()
    assert (law.halfwidth(9.0), law.variance(), law.row_count, float(law.by_row(np.zeros(3)))) == (0.0, 0.0, None, 0.0)
    assert [list(map(float, law.reach([3.0], 0.0)[k])) for k in (0, 1)] == [[3.0], [3.0]]
    ends = [(-1, 1), (0, 0), (-2, -1), (1, 2), (-np.inf, 0), (0, np.inf)]
    assert [float(np.exp(law.log_within(low, high, 0.0))) for low, high in ends] == [1, 1, 0, 0, 1, 1]
    assert [float(np.exp(law.log_at_most(end, 0.0))) for end in (-1, 0, 1)] == [0, 1, 1]
    assert np.exp(law.log_density(np.array([-1.0, 0.0, 1.0]), np.zeros(()))).tolist() == [0, 1, 0]
    assert law.possible([0, -1, 0.5, np.nan, np.inf]).tolist() == [True, True, False, False, False]
    with pytest.raises(TypeError, match="rng must be"):
        law.sample([1], rng=7)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": 0.0}, "step must be finite and > 0"),
        ({"step": 2.5}, "step must be an integer for a discrete distribution, got 2.5"),
        ({"at": np.inf}, "at must be finite"),
        ({"least": np.nan}, "least must be finite"),
        ({"at": 3.0, "least": 3.0}, r"clipped \(3.0\), got 3.0: with this threshold, no count would be withheld"),
        ({"ties": "down"}, "ties must be one of 'even', 'up', 'away'"),
    ],
)
def test_modifiers_that_are_invalid(change, words):
    with pytest.raises(ValueError, match=words):
        Coarsened(dpm.DiscreteLaplace(scale=1.0), **change)


@pytest.mark.parametrize(
    ("law", "good", "bad"),
    [
        (Coarsened(dpm.DiscreteLaplace(scale=1.0), least=4.0), [np.nan, 4, 5], {3.0: ">= 4.0, because smaller "
         "values are withheld", 4.5: "must be integers", np.inf: "must be finite"}),
        (Coarsened(dpm.Laplace(scale=1.0), at=0.5), [0.5, 3.25], {np.nan: "missing values .NaN. without a threshold",
         0.25: ">= 0.5, because smaller values are"}),
        (Coarsened(dpm.Laplace(scale=1.0), step=0.1), [0.3, 0.1 * 3, 1e6 + 0.1, -0.7], {0.35: "multiples of 0.1",
         0.3 + 1e-7: "must be multiples of 0.1"}),
        (Coarsened(dpm.DiscreteLaplace(scale=1.0), step=5, at=2), [2, 5, 10], {0.0: ">= 2", 7.0: "multiples"}),
    ],
)  # fmt: skip
def test_values_that_a_modified_distribution_releases(law, good, bad):
    assert law.possible([*good, *bad]).tolist() == [True] * len(good) + [False] * len(bad)
    assert np.isfinite(law.log_likelihood(np.array(good, dtype=float), 1.0)).all()
    for value, words in bad.items():
        with pytest.raises(ValueError, match=words) as caught:
            law.log_likelihood(np.array([*good, value], dtype=float), 1.0)
        assert f"got {value} for the distribution {{'law'" in str(caught.value)


def test_modifiers_are_settings_and_can_be_added():
    law = dpm.DiscreteLaplace(scale=2.0).rounded(5).clipped(0).threshold(10)
    assert law == Coarsened(dpm.DiscreteLaplace(scale=2.0), step=5, at=0, least=10)
    assert law.settings() == {
        "law": "discrete_laplace", "scale": 2.0, "rounded": 5, "clipped": {"at": 0}, "threshold": 10
    }  # fmt: skip
    assert law.rounded(5, ties="up").settings()["rounded"] == {"step": 5, "ties": "up"}
    assert (law.variance(), law.halfwidth(3.0)) == (law.noise.variance(), law.noise.halfwidth(3.0))
    low, high = law.reach([10.0, np.nan], 3.0)  # 8..12 is rounded to 10, and up to 7 to less than 10
    width = law.noise.halfwidth(3.0)
    assert (low.tolist(), high.tolist()) == ([8 - width, -np.inf], [12 + width, 7 + width])
    assert (law.listed, dpm.RandomRounding(5).clipped(0).listed) == (False, True)


@pytest.mark.parametrize(
    ("law", "change", "known"),
    [
        (dpm.DiscreteLaplace(scale=2.0), 10**6, True), (dpm.DiscreteLaplace(scale=2.0), 10**6 + 1, False),
        (dpm.DiscreteLaplace(scale=2.0), 1.5, False), (dpm.Laplace(scale=2.0), 1.5, True),
    ],
)  # fmt: skip
def test_losses_are_known_for_changes_by_integers_up_to_a_million(law, change, known):
    loss = law.loss(change)
    assert (loss is not None) == known
    assert not known or (loss.scale, loss.change) == (2.0, change)


def test_supports_of_additive_counts():
    """The support may equal the largest change; losses of truncated noise are listed up to a support of a million."""
    law = dpm.AdditiveCounts(epsilon=1.0, support=3)
    assert law.cost(changes=(3,)).epsilon == 6.0
    with pytest.raises(ValueError, match=r"support must be >= the largest change .* \(3\), got 2"):
        dpm.AdditiveCounts(epsilon=1.0, support=2).cost(changes=(3,))
    assert dpm.AdditiveCounts(epsilon=1e-4, support=10**6).cost(changes=(2,)).mechanisms[0].support == 10**6
    assert dpm.AdditiveCounts(epsilon=1e-4, support=10**6 + 1).cost(changes=(2,)).mechanisms is None
    for size in (10**6, -(10**6)):
        assert dpm.AdditiveCounts(epsilon=1.0, support=math.inf).cost(changes=(size,)).epsilon == 2e6
    with pytest.raises(ValueError, match=r"changes must be in .-1000000, 1000000., got 1000001"):
        dpm.AdditiveCounts(epsilon=1.0, support=math.inf).cost(changes=(10**6 + 1,))
    for support, words in (
        (0, "support must be >= 1, got 0"),
        (math.inf, "support must be an integer for a simulation"),
    ):
        with pytest.raises(ValueError, match=words):
            dpm.AdditiveCounts(epsilon=1.0, support=support).sample([1, 2], rng=stream(1, "support"))
    assert dpm.AdditiveCounts(epsilon=1.0, support=1).sample([50, 60], rng=stream(1, "support")).sum() in (
        109,
        110,
        111,
    )


@pytest.mark.parametrize(("epsilon", "support"), [(1.0, 50), (0.999, 51), (100.0, 1), (25.0, 2), (24.9, 3)])
def test_the_default_support(epsilon, support):
    assert default_support(epsilon) == support


@pytest.mark.parametrize(
    ("mechanism", "error", "words"),
    [
        ({"lower": 1.0, "upper": 1.0}, ValueError, "lower must be below upper, got lower = 1.0 and upper = 1.0"),
        ({"lower": 0.0, "upper": 1.0, "scale": (1.0, 2.0, 3.0)}, ValueError, "scale must be one number or 4"),
        ({"lower": 0.0, "upper": 1.0, "scale": (1.0,) * 5}, ValueError, "scale must be one number or 4"),
        ({"lower": np.nan, "upper": 1.0}, ValueError, "lower must be finite"),
    ],
)
def test_limits_and_scales_of_censored_statistics(mechanism, error, words):
    with pytest.raises(error, match=words):
        dpm.CensoredStatistics(**mechanism)


def test_statistics_of_records_at_and_beyond_the_limits():
    """Records at a limit are inside; without a record inside, the mean is the middle."""
    law = dpm.CensoredStatistics(lower=0.0, upper=4.0)
    assert law.width == 4.0
    assert law.of([0.0, 4.0, -1.0, 5.0, 6.0]).tolist() == [2.0, 8.0, 1.0, 2.0]
    assert law.of([-1.0, 9.0]).tolist() == [2.0, 0.0, 1.0, 1.0]
    assert law.sums_of([0.0, 1.0, 7.0]).tolist() == [-3.0, 5.0, 0.0, 1.0]  # deviations -2 and -1 from 2
    assert dpm.CensoredStatistics(lower=0.0, upper=4.0, sums=True).of([0.0, 1.0, 7.0]).tolist() == [-3.0, 5.0, 0.0, 1.0]


def test_the_delta_of_an_infinite_epsilon_is_zero():
    found = dpm.Gaussian(sigma=2.0).delta([0.0, np.inf])
    assert found[0] > 0.2
    assert found[1] == 0.0


def test_a_table_with_equal_rows_has_more_than_one_true_count():
    table = {"true": [0, 0, 1, 1], "released": [0, 1, 0, 1], "probability": [0.5] * 4}
    with pytest.raises(ValueError, match="all its true counts have the same probabilities"):
        dpm.Perturbation(table).cost("replace a record")
