"""Tests of exact posteriors given additive releases: compared with the quadruple sum, enumeration and each other."""

import math
import re
from functools import cache
from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest
from reference import additive_counts as reference
from scipy.stats import betabinom

from dpmultinomial._accuracy import EXACT, Accuracy
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import (
    _coupled_counts,
    _mode_levels,
    _mode_transforms,
    _noise,
    additive_counts,
)
from dpmultinomial._posteriors.additive._coupled_counts import Certificate, most_probable
from dpmultinomial._posteriors.additive._share_transforms import Frame, Tilted
from dpmultinomial._seeding import stream
from reproduction.papers.wang2020 import literal

PAIR = (250, 357)
TABLE_5 = [
    *[(250, 357), (251, 356), (251, 357), (250, 356), (249, 358)],
    *[(250, 358), (249, 357), (251, 358), (249, 356), (252, 355)],
]
# From an independent derivation: standard deviations of N_1 and N after a release of 250 and 357, no window.
SPREAD = {"1-independent": (12.20, 1.92), "1-summed": (12.20, 1.57), "2": (12.15, 1.36), "3": (1.16, 1.36)}


def pair(algorithm, **changes):
    return additive_counts.posterior(PAIR, **({"epsilon": 1.0, "algorithm": algorithm} | changes))


@pytest.mark.parametrize(("released", "window"), [((20, 31), 4), ((9, 8), 3)])
def test_matrix_form_equals_the_four_fold_loop(released, window):
    table = literal.pair_table(list(released), epsilon=1.0, window=window)
    law = additive_counts.posterior(released, epsilon=1.0, algorithm="2", window=window).law
    assert np.abs(law.table - table).max() < 1e-15


def test_table_4_at_the_windows_of_the_text_and_of_the_print():
    printed = {
        30: [0.0154, 0.0153, 0.0153, 0.0152, 0.0152, 0.0149, 0.0149, 0.0146, 0.0146, 0.0141],
        10: [0.0256, 0.0255, 0.0255, 0.0253, 0.0253, 0.0248, 0.0248, 0.0243, 0.0242, 0.0235],
    }
    for window, expected in printed.items():
        vectors, probability = pair("2", window=window).top(10)
        assert np.round(probability, 4).tolist() == expected
        assert (vectors.sum(axis=1) == 607).all()
    assert pair("2").top(10)[1][0] == pytest.approx(0.0152, abs=5e-5)  # no window, from the same derivation


def test_table_5_in_order():
    for window in (10, 30):
        vectors, probability = pair("3", window=window, ties="ieee").top(10)
        assert np.round(probability, 2).tolist() == [0.21, 0.13, 0.08, 0.08, 0.07, 0.05, 0.05, 0.03, 0.03, 0.03]
        assert list(map(tuple, vectors.tolist())) == TABLE_5
    assert np.round(pair("3", ties="first").top(3)[1][1:], 4).tolist() == [0.0968, 0.0968]
    assert np.round(pair("3", ties="random").top(3)[1][1:], 4).tolist() == [0.1125, 0.0811]


@pytest.mark.parametrize("algorithm", SPREAD)
def test_spread_without_a_window(algorithm):
    law = pair(algorithm, window=None)
    values, p = law.total()
    sd = np.sqrt((values - values @ p) ** 2 @ p)
    assert (np.sqrt(law.variance()[0]), sd) == pytest.approx(SPREAD[algorithm], abs=0.006)
    assert law.mean().sum() == pytest.approx(values @ p, rel=1e-12)


@pytest.mark.parametrize("released", [(7, 12), (0, 3), (5, 5), (0, 0), (1, 0), (250, 357)])
@pytest.mark.parametrize("window", [None, 6])
@pytest.mark.parametrize(("algorithm", "ties"), [("1-independent", "random"), ("2", "random"), ("3", "first"),
                                                 ("3", "last"), ("3", "random")])  # fmt: skip
def test_mixture_of_products_equals_the_pair_table(released, window, algorithm, ties):
    counts = np.array(released)
    noise = _noise.Noise(epsilon=1.0, support=50, window=window)
    chain = additive_counts.AdditivePosterior(
        additive_counts.chain(counts, noise, algorithm=algorithm, window=window, ties=ties)
    )
    law = additive_counts.posterior(counts, epsilon=1.0, algorithm=algorithm, window=window, ties=ties)
    assert chain.mean() == pytest.approx(law.mean(), rel=1e-11)
    assert chain.variance() == pytest.approx(law.variance(), rel=1e-10)
    vectors, probability = law.top(5)
    assert np.exp(chain.law.log_probabilities(vectors)) == pytest.approx(probability, rel=1e-10)


@pytest.mark.parametrize(("algorithm", "ties"), [("1-independent", ""), ("2", ""), ("3", "first"), ("3", "last"),
                                                 ("3", "random")])  # fmt: skip
@pytest.mark.parametrize("released", [(0, 2, 1), (2, 2, 2), (1, 0, 0)])
def test_three_components_against_enumeration(released, algorithm, ties):
    epsilon, support, largest = 0.9, 2, 4
    noise = TwoSidedGeometric(epsilon=epsilon, support=support)
    vectors = np.array(list(product(range(largest + 1), repeat=3)))
    weights = np.array([_likelihood(released, v, algorithm, ties, noise) for v in vectors])
    weights /= weights.sum()
    model = {"epsilon": epsilon, "support": support, "largest": largest, "window": None}
    law = additive_counts.posterior(released, algorithm=algorithm, ties=ties or "random", **model)
    mean = weights @ vectors
    assert law.mean() == pytest.approx(mean, rel=1e-10)
    assert law.variance() == pytest.approx(weights @ (vectors - mean) ** 2, rel=1e-9)
    assert np.exp(law.law.log_probabilities(vectors)) == pytest.approx(weights, rel=1e-9, abs=1e-14)
    best = law.top(4)[1]
    assert best == pytest.approx(np.sort(weights)[::-1][:4], rel=1e-9)


@pytest.mark.parametrize("released", [(2, 3), (0, 2)])
def test_two_counts_whose_total_is_summed_against_enumeration(released):
    """Check the total, drawn given its noisy value and the sum of the noisy counts, by listing all noise and draws."""
    noise, largest = TwoSidedGeometric(epsilon=0.9, support=2), 4
    d, p = noise.values(), noise.probabilities()
    once, twice = dict(zip(d, p, strict=True)), dict(zip(range(-4, 5), np.convolve(p, p), strict=True))
    vectors = list(product(range(largest + 1), repeat=2))
    weights = np.zeros(len(vectors))
    shares = {n: _shares_given(released, n, noise) for n in product(range(-2, largest + 3), repeat=2)}
    for row, true in enumerate(vectors):
        for own, *others in product(range(len(d)), repeat=3):
            noisy, n = sum(true) + d[own], (true[0] + d[others[0]], true[1] + d[others[1]])
            chances = [once.get(t - noisy, 0.0) * twice.get(sum(n) - t, 0.0) for t in range(2 * largest + 3)]
            if whole := sum(chances):
                weights[row] += p[own] * p[others].prod() * chances[sum(released)] / whole * shares[n]
    model = {"epsilon": 0.9, "support": 2, "largest": largest, "window": None}
    law = additive_counts.posterior(released, algorithm="1-summed", **model)
    found = np.zeros((largest + 1, largest + 1))
    rows, columns = (low + np.arange(size) for low, size in zip(law.law.low, law.law.table.shape, strict=True))
    found[np.ix_(rows, columns)] = law.law.table
    np.testing.assert_allclose(found.ravel(), weights / weights.sum(), rtol=1e-9, atol=1e-14)


def _shares_given(released, n, noise):
    """Return P(released | its total, noisy counts), averaged over the posterior draws."""
    total = 0.0
    laws = []
    for one in n:
        values = np.maximum(one + noise.values(), 0)
        kept = noise.probabilities() * (one + noise.values() >= 0)
        laws.append([(x, q / kept.sum()) for x, q in zip(values.tolist(), kept.tolist(), strict=True) if q])
    for (x, q), (y, r) in product(*laws):
        total += q * r * _released_given(released, (x, y) if x + y else (1, 1), "1-summed", "")
    return total


def _likelihood(released, true, algorithm, ties, noise):
    """Return P(released | true) by listing the noise, and for algorithm 1 the posterior draws."""
    d, p, m = noise.values(), noise.probabilities(), sum(released)

    def near(n):
        values = n + d[n + d >= 0]
        weight = noise.pmf(values - n)
        return dict(zip(values.tolist(), (weight / weight.sum()).tolist(), strict=True))

    def from_count(count):
        """Return the distribution of the weight of a component with this true count."""
        law = {}
        for shift, q in zip(d.tolist(), p.tolist(), strict=True):
            n = count + shift
            drawn = near(n) if algorithm == "1-independent" else {max(n, 0): 1.0}
            for value, weight in drawn.items():
                law[value] = law.get(value, 0.0) + q * weight
        return law

    given_total = from_count(int(true.sum())).get(m, 0.0)
    if given_total == 0.0:
        return 0.0
    laws = [from_count(int(t)) for t in true]
    total = 0.0
    for weights in product(*(law for law in laws)):
        chance = prod(law[w] for law, w in zip(laws, weights, strict=True))
        total += chance * _released_given(released, weights if any(weights) else (1, 1, 1), algorithm, ties)
    return total * given_total


@cache
def _released_given(released, weights, algorithm, ties):
    m, whole = sum(released), sum(weights)
    if algorithm != "3":
        ways = factorial(m) / prod(map(factorial, released))
        return ways * prod((w / whole) ** r for w, r in zip(weights, released, strict=True))
    if ties != "random":
        found = reference.mode(m, np.array(weights), ties=ties, rng=stream(1, "unused"))
        return float(np.array_equal(found, released))
    sure, tied, left = reference.quotients(m, np.array(weights))
    extra = np.array(released) - sure
    if not np.isin(extra, (0, 1)).all() or extra.sum() != left or any(extra[i] for i in range(3) if i not in tied):
        return 0.0
    return 1 / comb(len(tied), left)


def test_noisy_counts_against_enumeration():
    noise = TwoSidedGeometric(epsilon=0.7, support=4)
    vectors = np.array(list(product(range(9), repeat=3)))
    noisy, total = np.array([-1, 2, 4]), 7
    weights = noise.pmf(noisy - vectors).prod(axis=1) * noise.pmf(total - vectors.sum(axis=1))
    weights /= weights.sum()
    law = additive_counts.posterior_of_noisy(noisy, noisy_total=total, epsilon=0.7, support=4)
    mean = weights @ vectors
    assert law.mean() == pytest.approx(mean, rel=1e-11)
    assert law.variance() == pytest.approx(weights @ (vectors - mean) ** 2, rel=1e-10)


@pytest.mark.parametrize("algorithm", ["1-independent", "2", "3"])
def test_edges_of_the_release(algorithm):
    for released in ([0, 0, 0, 0], [0], [40], [1, 0, 0], [3] * 7, [2000, 1, 0]):
        law = additive_counts.posterior(released, epsilon=1.0, algorithm=algorithm, window=None)
        values, p = law.total()
        assert p.sum() == pytest.approx(1, rel=1e-9)
        assert law.mean().sum() == pytest.approx(values @ p, rel=1e-9, abs=1e-9)
        assert law.variance().min() > 0
        for i in range(len(released)):
            assert law.marginal(i)[0].min() >= 0
            assert law.marginal(i)[1].sum() == pytest.approx(1, rel=1e-9)
        assert law.sample(3, rng=stream(1, "edge")).shape == (3, len(released))


@pytest.mark.parametrize("algorithm", ["2", "3"])
def test_counts_far_above_the_support(algorithm):
    """Check that a component's sd is that of the multinomial (algorithm 2), or small (algorithm 3)."""
    released = np.array([250_000, 357_000])
    law = additive_counts.posterior(released, epsilon=1.0, algorithm=algorithm, window=None)
    sd = np.sqrt(law.variance())
    expected = np.sqrt(released.prod() / released.sum()) if algorithm == "2" else 1.16
    assert sd[0] == pytest.approx(expected, rel=0.01)
    assert law.mean() == pytest.approx(released, abs=1)
    with pytest.raises(ValueError, match="moderate size"):
        additive_counts.posterior(released, epsilon=1.0, algorithm="1-summed", window=None)


@pytest.mark.parametrize("epsilon", [1e-4, 1e-6, 1e-12, 1e-300])
@pytest.mark.parametrize(
    ("algorithm", "least"), [("1-independent", 5e-4), ("2", 5e-4), ("3", 1e-3), ("1-summed", 5e-4)]
)
def test_noise_that_is_too_wide_is_rejected_with_its_size(algorithm, least, epsilon):
    counts = [12, 7] if algorithm == "1-summed" else [12, 7, 31]
    with pytest.raises(ValueError, match=r"epsilon is too small: .*, or set support") as error:
        additive_counts.posterior(counts, epsilon=epsilon, algorithm=algorithm)
    assert f"is up to +-{50 / epsilon:.6g}, and" in str(error.value)
    assert f"choose epsilon >= {least:g}," in str(error.value)


@pytest.mark.parametrize(("algorithm", "epsilon", "minutes"), [("3", 5e-4, 8), ("3", 9e-4, 3), ("2", 1e-4, 23)])
def test_the_time_of_a_rejected_analysis_is_estimated(algorithm, epsilon, minutes):
    """7.4 s times the power 1.8 of the half-width 50/epsilon in units of 10,000; 1.8 s times its power 1.7."""
    with pytest.raises(ValueError, match=f"would take an estimated {minutes} minutes or more"):
        additive_counts.posterior([12, 7, 31], epsilon=epsilon, algorithm=algorithm)


def test_more_privacy_means_less_knowledge():
    spreads = [
        additive_counts.posterior([12, 30, 4], epsilon=e, algorithm="3", window=None).variance()[1] for e in (0.2, 1, 5)
    ]
    assert spreads[0] > spreads[1] > spreads[2]


def test_a_thousand_components():
    counts = stream(8, "many").integers(0, 15, 1000)
    released = additive_counts.release(counts, epsilon=1.0, algorithm="2", rng=stream(8, "r"), size=1)[0]
    law = additive_counts.posterior(released, epsilon=1.0, algorithm="2", window=None)
    values, p = law.total()
    assert abs(values @ p - counts.sum()) < 12
    z = (counts - law.mean()) / np.sqrt(law.variance())
    assert np.sqrt(np.mean(z**2)) < 1.5


def test_search_finds_the_most_probable_vectors():
    def log_probabilities(vectors):
        return -((vectors - np.array([3, 5])) ** 2 @ [1.0, 0.3]) - 0.1 * vectors.sum(axis=1)

    vectors, logs = most_probable(log_probabilities, np.array([40, -7]), 12)
    grid = np.array(list(product(range(-5, 12), range(-5, 16))))
    assert logs == pytest.approx(np.sort(log_probabilities(grid))[::-1][:12])
    assert len(set(map(tuple, vectors.tolist()))) == 12
    assert len(most_probable(log_probabilities, np.array([3, 5]), 0)[0]) == 0


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ({"released": [-1, 2]}, "released"),
        ({"released": [1.5, 2]}, "released"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"algorithm": "one"}, "algorithm"),
        ({"ties": "coin"}, "ties"),
        ({"window": 0}, "window"),
        ({"largest": -1}, "largest"),
        ({"released": [1, 2, 3], "algorithm": "1-summed"}, "two components"),
        ({"released": [1, 2, 3], "ties": "ieee"}, "two components"),
        ({"released": [500, 0, 0], "largest": 3}, "windows|probability 0"),
    ],
)
def test_posterior_refuses_bad_arguments(bad, match):
    arguments = {"released": [1, 2, 3], "epsilon": 1.0, "algorithm": "3"} | bad
    with pytest.raises(ValueError, match=match):
        additive_counts.posterior(arguments.pop("released"), **arguments)
    with pytest.raises(ValueError, match="must be integers"):
        additive_counts.posterior_of_noisy([0.5, 1], noisy_total=1, epsilon=1.0)


@pytest.mark.parametrize("theta", [-0.4, 0.0, 0.3])
def test_cumulants_are_those_of_every_combination(theta):
    """Check two components of one value, which share a column, a third with another, and an impossible total."""
    rng = stream(4, "tilts")
    columns = _mode_levels.columns(np.array([3, 3, 5]), np.full(3, 0.5), together=True)
    repeats = columns.repeats.astype(int)
    assert sorted(repeats) == [1, 2]
    factors = 20.0 * rng.random((2, 4))
    totals, log_g = np.arange(9, 14), np.append(rng.normal(size=4) - 800.0, -np.inf)  # of which exp is 0
    frame = Frame(columns, np.array([2, 4]), totals, log_g, np.zeros((2, 4)), rate=1.0, endless=True)
    which = np.repeat([0, 1], repeats)
    logs, values = [], []
    for place in product(range(4), repeat=3):
        for total, log_total in zip(totals, log_g, strict=True):
            values.append(sum(place) + frame.start - total)
            logs.append(np.log(factors[which, place]).sum() + log_total + theta * values[-1])
    weights = np.exp(np.array(logs) - max(logs))
    whole, shares = np.log(weights.sum()) + max(logs), weights / weights.sum()
    mean = shares @ np.array(values)
    tilted = Tilted(frame, factors)
    expected = whole, mean, shares @ (np.array(values) - mean) ** 2
    assert tilted.cumulants(theta) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert tilted.log_sum(theta) == pytest.approx(whole, rel=1e-14)


def kind_of(law):
    return type(law.law).__name__


@pytest.mark.parametrize(
    ("counts", "total", "epsilon", "support", "quick"),
    [  # noise within 38/epsilon or the support, at most 50; at most 50 counts of at most 1,000
        ([100] * 3, 300, 0.76, math.inf, True),
        ([100] * 3, 300, 0.7599, math.inf, False),
        ([100] * 3, 300, 0.1, 50, True),
        ([100] * 3, 300, 0.1, 51, False),
        ([100] * 50, 5000, 1.0, math.inf, True),
        ([100] * 51, 5100, 1.0, math.inf, False),
        ([1000, 5], 1005, 1.0, math.inf, True),
        ([1001, 5], 1006, 1.0, math.inf, False),
    ],
)
def test_when_sums_of_products_are_quick(counts, total, epsilon, support, quick):
    found = additive_counts._chain_is_quick(np.array(counts), total, _noise.NoiseModel(epsilon, support))
    assert found == quick


@pytest.mark.parametrize(("total", "quick"), [(1, False), (2, True)])
def test_the_growth_of_a_flat_prior_decides_the_method(total, quick):
    """4 log(1 + 38/5) = 8.6 and 4 log(1 + 38/6) = 7.97."""
    assert additive_counts._chain_is_quick(np.zeros(4), total, _noise.NoiseModel(1.0)) == quick
    assert additive_counts._chain_is_quick(np.zeros(4), total, _noise.NoiseModel(1.0, 38))


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({}, "CoupledCounts"),
        ({"released": [8, 9]}, "PairTable"),
        ({"method": "transforms"}, "TransformedCounts"),
        ({"released": [2000, 3, 5]}, "TransformedCounts"),
        ({"released": [2000, 3, 5], "method": "chain"}, "CoupledCounts"),
        ({"released": [2000, 3, 5], "window": 9}, "CoupledCounts"),
        ({"released": [2000, 3, 5], "largest": 2010}, "CoupledCounts"),
        ({"prior": "flat total"}, "TransformedCounts"),
    ],
)
def test_the_method_follows_from_the_release_and_the_arguments(arguments, kind):
    given = {"released": [30, 40, 50], "epsilon": 1.0, "algorithm": "2"} | arguments
    found = kind_of(additive_counts.posterior(given.pop("released"), **given))
    assert found == kind


@pytest.mark.parametrize(
    ("counts", "arguments", "kind"),
    [
        ([30, 40], {}, "CoupledCounts"),
        ([2000, 40], {}, "TransformedCounts"),
        ([2000, 40], {"largest": 2010}, "CoupledCounts"),
        ([30, 40], {"prior": "flat total"}, "TransformedCounts"),
    ],
)
def test_the_method_for_noisy_counts(counts, arguments, kind):
    law = additive_counts.posterior_of_noisy(counts, noisy_total=sum(counts), epsilon=1.0, **arguments)
    assert kind_of(law) == kind
    assert law.mean() == pytest.approx(counts, abs=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"prior": 0.5, "algorithm": "1-summed"}, "prior must be 'flat' for algorithm '1-summed', got 0.5"),
        ({"prior": 0.5, "ties": "ieee"}, "prior must be 'flat' for ties='ieee', got 0.5"),
        ({"prior": "flat total", "method": "chain"}, "prior must be 'flat' for method 'chain', got 'flat total'"),
        ({"prior": 0.5, "window": 3}, "window and largest may be given only with prior 'flat', got 0.5"),
        ({"prior": 0.5, "largest": 9}, "window and largest may be given only with prior 'flat', got 0.5"),
        ({"largest": 9, "method": "transforms"}, "must be omitted for the method 'transforms', got None and 9"),
        ({"window": 0}, "window must be >= 1, got 0"),
        ({"largest": -1}, "largest must be >= 0, got -1"),
        ({"released": [1, 2, 3], "ties": "ieee"}, r"because rounding determines the mode, got 3 components\. The "
         r"posterior would be a sum over about \(2 x 38\)\^3 noisy counts"),
        ({"released": [1], "algorithm": "1-summed"}, "because the released total depends on the sum of the noisy "
         "counts, got 1 components"),
    ],
)  # fmt: skip
def test_arguments_that_exclude_each_other(arguments, words):
    given = {"released": [2, 3], "epsilon": 1.0, "algorithm": "3"} | arguments
    with pytest.raises(ValueError, match=words):
        additive_counts.posterior(given.pop("released"), **given)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: f([1.0, 2], noisy_total=2.5, epsilon=1.0), r"must be integers, got \[1.0, 2.0\] and 2.5"),
        (lambda f: f([1, 2], noisy_total=2, epsilon=1.0, largest=-1), "largest must be >= 0"),
        (lambda f: f([1, 2], noisy_total=2, epsilon=1.0, largest=4, prior=0.5), "largest may be given only with prior"),
    ],
)
def test_bad_noisy_counts(call, words):
    with pytest.raises(ValueError, match=words):
        call(additive_counts.posterior_of_noisy)


@pytest.mark.parametrize(("algorithm", "epsilon"), [("3", 1e-3), ("2", 5e-4), ("1-independent", 5e-4)])
def test_the_widest_noise_is_itself_allowed(algorithm, epsilon):
    """50/epsilon is 50,000 for algorithm 3, and 100,000 for the others."""
    additive_counts._refuse_wide(_noise.NoiseModel(epsilon), algorithm)
    most = 50_000 if algorithm == "3" else 100_000
    additive_counts._refuse_wide(_noise.NoiseModel(epsilon / 9, most), algorithm)
    for noise in (_noise.NoiseModel(epsilon * 0.999), _noise.NoiseModel(epsilon / 9, most + 1)):
        with pytest.raises(ValueError, match=rf"is \+-{most:,}, because"):
            additive_counts._refuse_wide(noise, algorithm)


def test_the_estimated_time_has_a_largest_value():
    """Half-widths count up to 10^7: 7.4 s (10^3)^1.8/60 minutes."""
    for epsilon, minutes in ((5e-6, "30,980"), (5e-9, "30,980")):
        with pytest.raises(ValueError, match=f"an estimated {minutes} minutes"):
            additive_counts._refuse_wide(_noise.NoiseModel(epsilon), "3")


@pytest.mark.parametrize(
    ("p", "level", "ends"),
    [
        ([0.05, 0.9, 0.05], 0.9, (10, 11)),  # the distribution function is .05 at 10 and .95 at 11
        ([0.04, 0.91, 0.05], 0.9, (11, 11)),
        ([0.05, 0.89, 0.06], 0.9, (10, 12)),
        ([0.25, 0.5, 0.25], 0.5, (10, 11)),
        ([0.2, 0.3, 0.5], 1.0, (10, 12)),
        ([0.2, 0.3, 0.5], 0.0, (11, 11)),
    ],
)
def test_central_intervals_by_hand(p, level, ends):
    assert additive_counts._central(np.array([10, 11, 12]), np.array(p), level) == ends


def test_the_default_interval_of_a_count_leaves_a_twentieth_on_each_side():
    law = additive_counts.posterior([20, 30, 5], epsilon=0.3, algorithm="2")
    for i in range(3):
        values, p = law.marginal(i)
        below = np.cumsum(p)
        assert law.interval(i) == (values[below >= 0.05][0], values[below >= 0.95][0])
        assert law.interval(i, level=0.95) == (values[below >= 0.025][0], values[below >= 0.975][0])


def test_a_posterior_is_printed_with_its_total():
    """Noise of the total alone: exp(-|t - 7|) on 0, 1, .. times t + 1 for a flat prior on two counts."""
    t = np.arange(200)
    law = additive_counts.posterior_of_noisy([3, 4], noisy_total=7, epsilon=1.0, prior="flat total")
    assert law.method == "transforms"  # the prior is not flat
    assert additive_counts.posterior([3, 4], epsilon=1.0, algorithm="2", method="chain").method == "chain"
    values, p = law.total()
    mean, sd = values @ p, math.sqrt((values - values @ p) ** 2 @ p)
    assert repr(law) == f"AdditivePosterior of 2 counts, prior flat total, total {mean:.6g} (sd {sd:.3g}), exact"
    one = additive_counts.posterior([7], epsilon=1.0, algorithm="2", support=math.inf, prior="flat")
    weights = np.exp(-np.abs(t - 7.0))
    mean = t @ weights / weights.sum()
    sd = math.sqrt((t - mean) ** 2 @ weights / weights.sum())
    assert repr(one) == f"AdditivePosterior of 1 count, prior flat, total {mean:.6g} (sd {sd:.3g}), exact"


def test_the_influence_of_the_prior_has_three_rows():
    law = additive_counts.posterior([3, 5, 0], epsilon=1.0, algorithm="2")
    table = law.prior_influence(0.8)
    assert table.columns.tolist()[0] == "prior"
    assert "quantity" not in table
    assert table["level"].tolist() == [0.8] * 3
    for row, prior in zip(table.itertuples(), ("flat", "flat total", 0.5), strict=True):
        same = additive_counts.posterior([3, 5, 0], epsilon=1.0, algorithm="2", prior=prior)
        assert row.prior == same.prior
        values, p = same.total()
        assert row.mean == pytest.approx(values @ p, rel=1e-12)
        assert (row.lower, row.upper) == additive_counts._central(values, p, 0.8)
    for kept in ({"window": 9}, {"largest": 20}, {"ties": "ieee"}):
        given = {"released": [3, 5], "epsilon": 1.0, "algorithm": "3"} | kept
        with pytest.raises(ValueError, match="prior_influence requires a posterior"):
            additive_counts.posterior(given.pop("released"), **given).prior_influence()


def test_numbers_of_components_vectors_and_draws():
    law = additive_counts.posterior([3, 5], epsilon=1.0, algorithm="2")
    for i, good in ((0, True), (1, True), (2, False), (-1, False)):
        if good:
            assert law.marginal(i)[1].sum() == pytest.approx(1)
        else:
            with pytest.raises(ValueError, match=r"i must be in \[0, 1\]"):
                law.marginal(i)
    assert law.top(0)[0].shape == (0, 2)
    assert law.sample(0, rng=stream(1, "none")).shape == (0, 2)


def test_the_truncation_of_a_window_is_stated():
    law = additive_counts.posterior([250, 357, 12], epsilon=0.2, algorithm="2", window=30)
    words = r"the window of \+-30 neglects a probability of at most (\S+) per component"
    stated = float(re.fullmatch(words, law.accuracy.reason)[1])
    assert law.accuracy.error <= stated < 1.1 * law.accuracy.error  # two digits, rounded upwards
    wide = additive_counts.posterior([250, 357, 12], epsilon=0.2, algorithm="2")
    laws = [wide.marginal(i) for i in range(3)]
    outside = [p[np.abs(v - r) > 30].sum() for r, (v, p) in zip((250, 357, 12), laws, strict=True)]
    assert law.accuracy.error == pytest.approx(max(outside), rel=1e-9)
    summed = additive_counts.posterior([9, 8], epsilon=1.0, algorithm="1-summed", window=6).accuracy
    assert (summed.status, math.isnan(summed.error)) == ("approximate", True)
    assert summed.reason == "true counts and noise are truncated at +-6"
    rounded = additive_counts.posterior([9, 8], epsilon=1.0, algorithm="3", ties="ieee", window=6).accuracy
    assert rounded == Accuracy("approximate", rounded.error, "true counts and noise are truncated at +-6")


@pytest.mark.parametrize(
    ("parts", "error"),
    [((0, 0, 0, 0), 0), ((1e-12, 0, 0, 0), 1e-12), ((1e-12, 2e-12, 3e-12, 1e5), 1e-11), ((0, 0, 0, 2e5), 8e-12)],
)
def test_bounds_of_a_posterior_add_up(parts, error):
    """A condition number of 1e5 costs 4e-12."""
    certificate = Certificate(*map(float, parts))
    assert certificate.error == pytest.approx(error, rel=1e-12, abs=1e-30)
    found = certificate.accuracy()
    if certificate.error < 1e-11:
        assert found == EXACT
    else:
        assert found.reason == "at most 1e-11 of the probability is truncated or rounded"
        assert (found.status, found.error) == ("approximate", certificate.error)


@pytest.mark.parametrize("total", [1, 2, 7, 60, 900])
def test_nodes_of_the_trapezoid_rule_give_powers(total):
    """The integral of u^(M - 1) exp(-u T)/Gamma(M) is T^-M, for every T between M - below and M + above."""
    below, above = 5, 40
    nodes, log_weights = _coupled_counts._nodes(total, below, above)
    for t in {max(total - below, 1), total, total + above}:
        found = math.fsum(np.exp(log_weights - nodes * t + total * math.log(t)))
        assert found == pytest.approx(1, rel=1e-12)
    assert [part.tolist() for part in _coupled_counts._nodes(0, below, above)] == [[0.0], [0.0]]


@pytest.mark.parametrize("module", [_coupled_counts, _mode_transforms])
@pytest.mark.parametrize(("size", "extra"), [(1, 0), (4, 0), (4, 1), (4, 3), (5, 2)])
def test_the_remainder_has_the_probability_of_its_places(size, extra, module):
    for places in ([*range(extra)], [*range(size - extra, size)], [*range(1, extra + 1)]):
        if len(places) and places[-1] >= size:
            continue
        released = np.full(size, 3)
        released[places] += 1
        first, last = places == [*range(extra)], places == [*range(size - extra, size)]
        assert np.exp(module._log_remainder(released, "first")) == float(first)
        assert np.exp(module._log_remainder(released, "last")) == float(last)
        assert np.exp(module._log_remainder(released, "random")) == pytest.approx(1 / comb(size, extra))


@pytest.mark.parametrize("ties", ["first", "last", "random"])
def test_unequal_shares_are_no_remainder(ties):
    assert _mode_transforms._log_remainder(np.array([5, 3, 4]), ties) == -np.inf
    assert _mode_transforms._log_remainder(np.array([5, 3]), ties) == -np.inf


@pytest.mark.parametrize(("size", "epsilon"), [(1, 1.0), (3, 0.5), (10, 2.0)])
def test_sums_of_noise_are_within_their_bounds(size, epsilon):
    """Noise of all counts and of the total beyond the bound, and one unit nearer, by direct convolution."""
    noise = _noise.Noise(epsilon=epsilon, support=60, window=None)
    total = noise.p
    for _ in range(size):
        total = np.convolve(total, noise.p)
    at = np.abs(np.arange(len(total)) - len(total) // 2)
    far, _ = _coupled_counts._beyond(noise, size)
    assert total[at > far].sum() < 1e-25 <= 1e3 * total[at >= far - 1].sum()


@pytest.mark.parametrize(
    ("epsilon", "support", "ends"),
    [(1.0, math.inf, (60, 300, 690)), (0.7, math.inf, (86, 429, 986)), (1.0, 61, (60, 61, 61)), (0.7, 9, (9, 9, 9))],
)
def test_noise_ends_where_it_is_negligible(epsilon, support, ends):
    """Check 60, 300 and 690 divided by epsilon, rounded upwards, and at most the support."""
    noise = _noise.NoiseModel(epsilon, support)
    assert (noise.far, noise.wide, noise.reach) == ends


@pytest.mark.parametrize("support", [6, math.inf])
def test_tails_and_totals_of_noise_are_sums(support):
    noise = _noise.NoiseModel(0.8, support)
    d = np.arange(-60, 61)
    p = noise.peak * np.exp(-0.8 * np.abs(d)) * (np.abs(d) <= support)
    assert p.sum() == pytest.approx(1, rel=1e-13)
    for k in (0, 1, 5, 6, 7, 20):
        assert noise.at_least(k) == pytest.approx(p[d >= k].sum(), rel=1e-12, abs=0)
    noisy = np.array([-7, -6, -1, 0, 1, 5, 6, 20])
    wanted = [p[d + n >= 0].sum() for n in noisy]
    if support == 6:
        wanted[0] = 1.0  # impossible
    assert noise.above_zero(noisy) == pytest.approx(wanted, rel=1e-12, abs=0)
    assert _noise.NoiseModel(0.8, math.inf).above_zero(np.array([-2000])) == 1.0  # exp(-1600) is 0
    for released, span, first, last in ((10, 4.1, 4, 16), (10, 4.0, 5, 15), (3, 4.1, 0, 9), (0, 4.0, 0, 5)):
        totals, logs = noise.totals(released, span)
        assert totals.tolist() == [*range(first, last + 1)]
        below = [p[d == released - t].sum() if released else p[d <= -t].sum() for t in totals]
        assert np.exp(logs) == pytest.approx(below, rel=1e-12, abs=0)
    assert noise.totals(200)[0].tolist() == [*range(200 - min(75, support), 201 + min(75, support))]  # 60/0.8


@pytest.mark.parametrize(
    ("epsilon", "support", "window", "reach"),
    [(1.0, 50, None, 38), (0.7, 80, None, 55), (1.0, 37, None, 37), (1.0, 50, 5, 5), (1.0, 4, 5, 4), (0.7, 80, 60, 55)],
)
def test_the_chain_uses_noise_up_to_38_by_epsilon(epsilon, support, window, reach):
    noise = _noise.Noise(epsilon=epsilon, support=support, window=window)
    assert noise.reach == reach
    d = np.arange(-reach, reach + 1)
    assert noise.p == pytest.approx(TwoSidedGeometric(epsilon=epsilon, support=support).pmf(d), rel=1e-13, abs=0)
    whole = noise.of_total
    assert (whole is noise) == (window is None)
    assert whole.reach == min(support, math.ceil(38 / epsilon))


def test_ranges_end_at_the_largest_count():
    noise = _noise.Noise(epsilon=1.0, support=5, window=None, largest=7)
    low, high = noise.capped(np.array([3, 9]), np.array([6, 12]))
    assert (low.tolist(), high.tolist()) == ([3, 7], [6, 7])
    low, high = _noise.Noise(epsilon=1.0, support=5, window=None).capped(np.array([3, 9]), np.array([6, 12]))
    assert (low.tolist(), high.tolist()) == ([3, 9], [6, 12])


@pytest.mark.parametrize("reach", [1, 64, 65])
@pytest.mark.parametrize("width", [1, 255, 256, 257, 600])
def test_spread_is_a_convolution_in_blocks_of_every_size(reach, width):
    noise = _noise.Noise(epsilon=0.05, support=reach, window=None)
    likelihood = stream(1, "spread", reach, width).random((2, 3, width + 2 * reach))
    found = noise.spread(likelihood)
    assert found.shape == (2, 3, width)
    for row in np.ndindex(2, 3):
        assert found[row] == pytest.approx(np.convolve(likelihood[row], noise.p, mode="valid"), rel=1e-12)


@pytest.mark.parametrize("first", [-9, -3, 0, 4])
def test_draws_given_a_noisy_count_are_at_least_zero(first):
    """Check sum_x p(x - n) L(x)/P(n + D >= 0), with the sum over x >= 0."""
    noise = _noise.Noise(epsilon=0.6, support=3, window=None)
    x = first + np.arange(20)
    likelihood = np.where(x < 0, 0.0, stream(1, "drawn").random(20))
    found = noise.drawn(np.stack([likelihood, likelihood]), np.array([first, first]))
    chances = dict(zip(range(-3, 4), noise.p, strict=True))
    for n, value in zip(range(first + 3, first + 17), found[1], strict=True):
        top = sum(chances[x - n] * likelihood[x - first] for x in range(max(n - 3, 0), n + 4))
        below = sum(p for d, p in chances.items() if n + d >= 0)
        assert value == pytest.approx(top / below if below else 0.0, rel=1e-12, abs=0)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("released", [0, 1, 5, 9])
@pytest.mark.parametrize("drawn", [False, True])
def test_the_factor_of_the_total_lists_every_noise(released, drawn):
    """Check P(released total | true total): negative noisy totals are released as 0, or the total is drawn again among
    the integers >= 0. A window of the components does not matter."""
    d, p = range(-3, 4), TwoSidedGeometric(epsilon=0.6, support=3).probabilities()
    chances = dict(zip(d, p, strict=True))

    def released_given(true):
        total = 0.0
        for noise, q in chances.items():
            n = true + noise
            if drawn and n > -4:
                total += q * chances.get(released - n, 0.0) / sum(r for e, r in chances.items() if n + e >= 0)
            elif not drawn:
                total += q * (max(n, 0) == released)
        return total

    for window in (None, 2):
        low, values = _noise.Noise(epsilon=0.6, support=3, window=window).total_factor(released, drawn=drawn)
        reach = 6 if drawn else 3
        assert (low, len(values)) == (max(released - reach, 0), released + reach - max(released - reach, 0) + 1)
        assert values == pytest.approx([released_given(low + i) for i in range(len(values))], rel=1e-12, abs=0)


@pytest.mark.parametrize("concentration", [(0.5, 2.0), (1.0, 1.0), (3.0, 1.0)])
def test_priors_given_the_total_are_dirichlet_multinomial(concentration):
    prior = _noise.of(concentration, 2)
    for total in (0, 1, 5, 40):
        first = np.arange(total + 1)
        logs = prior.log_component(first, concentration[0]) + prior.log_component(total - first, concentration[1])
        wanted = betabinom(total, *concentration).pmf(first)
        assert np.exp(logs + prior.log_total(total)) == pytest.approx(wanted, rel=1e-10, abs=0)
    assert prior.shapes(2).tolist() == list(concentration)
    assert prior.name == (
        "Dirichlet-multinomial (1)" if concentration == (1, 1) else "Dirichlet-multinomial (one each)"
    )


def test_the_flat_prior_has_no_factors_and_a_flat_total_has_concentrations_of_1():
    flat, total = _noise.of("flat", 3), _noise.of("flat total", 3)
    assert (flat.name, flat.concentration, total.name, total.concentration.tolist()) == (
        "flat", None, "flat total", [1.0] * 3
    )  # fmt: skip
    assert flat.shapes(3).tolist() == [1.0] * 3
    assert flat.log_component([0, 4], 0.5).tolist() == [0.0, 0.0]
    assert flat.log_total([0, 4]).tolist() == [0.0, 0.0]
    assert total.log_component([0, 4], 1.0).tolist() == [0.0, 0.0]
    assert np.exp(-total.log_total([0, 1, 2, 5])) == pytest.approx([1, 3, 6, 21])  # (T + 2 choose 2)


@pytest.mark.parametrize(("support", "found"), [(None, 72), (1, 1), (math.inf, math.inf), (9, 9)])
def test_the_default_support_is_50_by_epsilon(support, found):
    assert _noise.support_for(0.7, support) == found
