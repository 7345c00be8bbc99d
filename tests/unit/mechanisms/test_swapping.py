"""Tests of swapping: kernels by references, exact distribution by enumeration, posteriors, privacy loss, bad input."""

from fractions import Fraction
from itertools import permutations, product
from math import comb, factorial, log

import numpy as np
import pandas as pd
import pytest
from reference import swapping as reference_swaps
from reference import unswapping as reference_posterior
from scipy.integrate import quad
from scipy.special import logsumexp

from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._mechanisms.swapping import exact_swapping, permutation_swaps
from dpmultinomial._mechanisms.swapping import swapping as mechanism
from dpmultinomial._posteriors.swapping import swapped_table, unswapping
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture
from dpmultinomial._seeding import stream
from reproduction.papers.pan2023.algorithms import swapping_audit

SLIDES = [[1, 2], [3, 4]]


def permutation_law(row, column, rate):
    """Return P(swapped table | records) by listing all n! permutations, using only the steps of the algorithm."""
    n = len(row)
    size = {k: comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1) if k != 1}
    total, d = sum(size.values()), exact_swapping.subfactorials(n)
    law = {}
    for sigma in permutations(range(n)):
        k = sum(i != s for i, s in enumerate(sigma))
        table = [[0] * (max(column) + 1) for _ in range(max(row) + 1)]
        for i, s in enumerate(sigma):
            table[row[s]][column[i]] += 1
        key = tuple(map(tuple, table))
        law[key] = law.get(key, 0) + size[k] / total / (comb(n, k) * d[k])
    return law


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize(
    ("row", "column"),
    [([0, 1], [0, 1]), ([0, 0, 1, 1, 1], [0, 1, 0, 1, 1]), ([0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 0, 1, 1, 0]),
     ([0, 1, 2, 0, 1], [0, 0, 1, 1, 2]), ([0, 1, 2, 1], [0, 1, 1, 2])],
)  # fmt: skip
def test_swap_law_equals_the_sum_over_all_permutations(row, column, rate):
    law = permutation_law(row, column, rate)
    start = np.zeros((max(row) + 1, max(column) + 1), dtype=int)
    np.add.at(start, (row, column), 1)
    tables, probabilities = mechanism.swap_law(start, rate=float(rate))
    assert len(tables) == len(law)
    for table, p in zip(tables.tolist(), probabilities, strict=True):
        assert p == pytest.approx(float(law[tuple(map(tuple, table))]), rel=1e-14)


def test_the_specified_rational_value():
    exact = Fraction(2662931057627110641127584391, 3069367577879260209484207275)
    tables, p = mechanism.swap_law([[0, 4], [3, 3]], rate=0.1)
    assert p[tables[:, 1, 1] == 3].item() == pytest.approx(float(exact), rel=3e-15)


def test_two_by_two_rows_equal_the_general_enumeration_in_the_far_tail():
    for table, rate in (([[9, 0], [1, 10]], 0.01), ([[0, 6], [7, 2]], 0.37), ([[12, 1], [0, 11]], 0.99)):
        tables = [np.array(t).reshape(2, 2) for t in exact_swapping.same_margins(np.array(table))]
        parts = exact_swapping.mixture_coefficients(int(np.sum(table)), rate, 600)
        parts = [Fraction(a, 1 << 600) for a in parts]
        slow = np.array([log(reference_swaps.probability(np.array(table), other, parts)) for other in tables])
        fast = exact_swapping.row(table, rate=rate).log_forward
        assert np.allclose(slow, fast, rtol=0, atol=1e-13)
        assert slow.min() < -6


@pytest.mark.parametrize(("table", "rate"), [([[70, 10], [10, 10]], 0.1), ([[1, 99], [100, 3]], 0.5), (SLIDES, 1e-3)])
def test_the_law_adds_up_is_reversible_and_has_the_closed_moments(table, rate):
    found = exact_swapping.row(table, rate=rate)
    counts = np.array(table)
    p = np.exp(found.log_forward)
    assert p.sum() == pytest.approx(1, abs=1e-14)
    mean = p @ found.x
    assert mean == pytest.approx(mechanism.expected_table(table, rate=rate)[1, 1], rel=1e-13)
    assert np.sqrt(p @ (found.x - mean) ** 2) == pytest.approx(mechanism.cell_sd(table, rate=rate), rel=1e-9)
    other = found.tables(counts)[0]  # P(first | table) as a row of the first table's own computation
    back = exact_swapping.row(other, rate=rate)
    assert back.log_backward[found.position] == pytest.approx(found.log_forward[0], rel=1e-13)


def test_a_shallow_row_gives_the_same_numbers_where_it_gives_any():
    full, shallow = (exact_swapping.row([[40, 5], [5, 40]], rate=0.2, depth=d) for d in (None, 80))
    kept = np.isfinite(shallow.log_backward)
    near = full.log_backward > full.log_backward.max() - 70 * np.log(2)
    assert kept[near].all()
    assert np.allclose(shallow.log_backward[near], full.log_backward[near], rtol=0, atol=1e-12)


def test_mixture_coefficients_do_not_depend_on_the_precision():
    for n, rate in ((2, 0.5), (40, 0.03), (300, 0.7)):
        short, long = (exact_swapping.mixture_coefficients(n, rate, bits) for bits in (400, 900))
        assert max(abs((b >> 500) - a) for a, b in zip(short, long, strict=True)) <= 1
        assert abs(sum(long) - (1 << 900)) <= 2 * n
        assert sum(map(abs, long)) < 8 << 900  # no cancellation to speak of


def test_attenuation_at_specified_points_and_against_the_eigenvalues():
    assert mechanism.attenuation(10, rate=0.1)[0] == pytest.approx(8 / 9, abs=1e-15)
    assert mechanism.attenuation(10, rate=0.5)[0] == pytest.approx(0.4400614, abs=5e-8)
    assert mechanism.attenuation(2, rate=0.5)[0] == pytest.approx(0, abs=1e-15)
    for n, rate in ((4, 0.3), (5, 0.9), (31, 0.05), (200, 0.4)):
        exact = [v / 2**300 for v in exact_swapping.eigenvalues(n, rate, 3, 300)]
        assert np.allclose(exact, [1, *mechanism.attenuation(n, rate=rate)], rtol=0, atol=1e-12)
    table = [[27, 23], [23, 27]]
    assert mechanism.expected_table(table, rate=0.1)[1, 1] == pytest.approx(26.7979, abs=5e-5)
    assert mechanism.cell_sd(table, rate=0.1) == pytest.approx(1.1005, abs=5e-5)


def test_expected_table_holds_for_larger_tables():
    table = np.array([[2, 1, 1], [0, 2, 1], [1, 0, 2]])
    tables, p = mechanism.swap_law(table, rate=0.3)
    assert np.allclose(np.tensordot(p, tables, 1), mechanism.expected_table(table, rate=0.3), rtol=0, atol=1e-13)


def test_limit_odds_ratio():
    for tenths, printed in ((0, 7), (2, 4.82653), (5, 2.77515), (10, 1)):
        gap = Fraction(6, 100) * (1 - Fraction(tenths, 10))  # margins .8 and .2, cells .64, .16, .16, .04
        exact = (Fraction(64, 100) + gap) * (Fraction(4, 100) + gap) / (Fraction(16, 100) - gap) ** 2
        found = mechanism.limit_odds_ratio([0.7, 0.1, 0.1, 0.1], rate=tenths / 10)
        assert found == pytest.approx(float(exact), rel=1e-12)
        assert found == pytest.approx(printed, abs=6e-6)


# --- kernels against reference implementations ---


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.97])
def test_sources_and_tables_equal_their_reference(rate):
    strata = stream(1, "strata").integers(0, 40, 300)
    ours = permutation_swaps.sources(strata, rate=rate, rng=stream(1, "sources"))
    assert np.array_equal(ours, reference_swaps.sources(strata, rate=rate, rng=stream(1, "sources")))
    table = np.array([[3, 1, 2], [0, 4, 1]])
    ours = permutation_swaps.tables(table, 40, rate=rate, rng=stream(1, "tables"))
    assert np.array_equal(ours, reference_swaps.tables(table, 40, rate=rate, rng=stream(1, "tables")))
    square = np.array([[5, 2], [3, 7]])
    found = permutation_swaps.tables(square, 40, rate=rate, rng=stream(1, "square"))
    assert np.array_equal(found, reference_swaps.tables(square, 40, rate=rate, rng=stream(1, "square")))
    assert (ours.sum(axis=1) == table.sum(axis=0)).all()
    assert (ours.sum(axis=2) == table.sum(axis=1)).all()


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
def test_one_swap_of_each_of_several_tables_goes_through_one_stream(shape):
    before = np.concatenate(
        [stream(2, "tables").integers(0, 9, (30, *shape)), np.full((2, *shape), 2), np.eye(*shape)[None]]
    )
    before = before.astype(np.int64)
    ours = permutation_swaps.each(before, rate=0.4, rng=stream(1, "each"))
    rng = stream(1, "each")
    assert np.array_equal(ours, [reference_swaps.tables(table, 1, rate=0.4, rng=rng)[0] for table in before])
    assert (ours != before).any(axis=(1, 2)).sum() > 10
    assert permutation_swaps.each(np.zeros((0, 2, 2), dtype=int), rate=0.4, rng=rng).shape == (0, 2, 2)
    with pytest.raises(ValueError, match="total of a table must be"):
        permutation_swaps.each([np.ones((2, 2), dtype=int), [[1, 0], [0, 0]]], rate=0.4, rng=rng)
    with pytest.raises(ValueError, match="at least two rows and two columns"):
        permutation_swaps.each(np.ones((3, 1, 4), dtype=int), rate=0.4, rng=rng)


@pytest.mark.parametrize("margins_first", [False, True])
@pytest.mark.parametrize("table", [SLIDES, [[0, 1], [0, 0]], [[1, 1, 0], [0, 1, 1]]])
def test_abc_equals_its_reference(table, margins_first):
    table = np.array(table)
    alpha = np.linspace(0.5, 2, table.size)
    arguments = {"rate": 0.3, "margins_first": margins_first}
    ours = unswapping.abc(table, alpha, 1500, rng=stream(2, "abc"), **arguments)
    slow = reference_posterior.abc(table, alpha, 1500, rng=stream(2, "abc"), **arguments)
    assert np.array_equal(ours[1], slow[1])
    assert np.allclose(ours[0], slow[0], rtol=1e-15, atol=0)
    assert len(ours[0]) > 0


def test_derangements_equal_their_reference_and_move_everything():
    ours = permutation_swaps.derangements(7, 200, rng=stream(3, "d"))
    assert np.array_equal(ours, reference_swaps.derangements(7, 200, rng=stream(3, "d")))
    assert not (ours == np.arange(7)).any()
    assert (np.sort(ours, axis=1) == np.arange(7)).all()
    assert permutation_swaps.derangements(0, 3, rng=stream(3, "d")).shape == (3, 0)
    with pytest.raises(ValueError, match="derangement"):
        permutation_swaps.derangements(1, 3, rng=stream(3, "d"))


# --- data frames ---


def people(n=400):
    rng = stream(4, "people")
    return pd.DataFrame(
        {
            "name": pd.array([f"n{i}" for i in range(n)], dtype="string"),
            "age": pd.Series(rng.integers(0, 90, n)).astype("Int64"),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "block": rng.integers(0, 30, n),
            "role": rng.choice(["a", "b"], n),
        },
        index=np.arange(n)[::-1] * 3,
    )


def test_permutation_swap_keeps_its_invariants_and_its_input():
    data = people()
    before = data.copy(deep=True)
    swapped = mechanism.permutation_swap(
        data, swap=["name", "age"], match=["block", "role"], rate=0.5, rng=stream(5, "s")
    )
    pd.testing.assert_frame_equal(data, before)
    assert (swapped.dtypes == data.dtypes).all()
    assert swapped.index.equals(data.index)
    pd.testing.assert_frame_equal(swapped[["sex", "block", "role"]], data[["sex", "block", "role"]])
    key = ["block", "role", "name", "age"]
    assert swapped[key].value_counts().sort_index().equals(data[key].value_counts().sort_index())
    assert (swapped["name"] != data["name"]).sum() > 100
    joint = data.assign(name=data["name"], pair=list(zip(data["name"], data["age"], strict=True)))["pair"]
    assert set(zip(swapped["name"], swapped["age"], strict=True)) == set(joint)


def test_small_strata_are_left_alone():
    data = pd.DataFrame({"v": [1, 2, 3], "block": ["x", "y", "z"]})
    pd.testing.assert_frame_equal(
        mechanism.permutation_swap(data, swap="v", match="block", rate=0.9, rng=stream(1, "v")), data
    )
    assert mechanism.permutation_swap(data.iloc[:0], swap="v", rate=0.9, rng=stream(1, "v")).empty


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": 0.0}, "rate must lie strictly between 0 and 1, got 0.0"),
        ({"rate": 1}, "rate must lie strictly between 0 and 1, got 1"),
        ({"rate": float("nan")}, "rate must lie strictly"),
        ({"swap": "nmae"}, "swap must contain only names of columns of the data, got 'nmae'"),
        ({"match": ["block", "nope"]}, "match must contain only names of columns of the data, got 'nope'"),
        ({"swap": []}, "swap must contain the name of at least one column"),
        ({"swap": ["age", "age"]}, "swap must not contain a column more than once"),
        ({"match": "name"}, "the arguments `swap` and `match` must not contain the same column"),
    ],
)
def test_permutation_swap_refuses(change, message):
    arguments = {"swap": ["name"], "match": ["block"], "rate": 0.1, "rng": stream(1, "r")} | change
    with pytest.raises(ValueError, match=message):
        mechanism.permutation_swap(people(20), **arguments)


def test_missing_values_in_the_swap_key_are_refused():
    data = people(20)
    data["block"] = data["block"].astype(float)
    data.iloc[4, 3] = np.nan
    with pytest.raises(
        ValueError, match=r"missing values, got 1 record\(s\) with missing values, the first at index 45"
    ):
        mechanism.permutation_swap(data, swap="name", match="block", rate=0.1, rng=stream(1, "r"))


@pytest.mark.parametrize(
    ("table", "message"),
    [([1, 2, 3, 4], "two-dimensional"), ([[1.5, 2], [3, 4]], "integers"), ([[-1, 2], [3, 4]], "integers"),
     ([[np.nan, 2], [3, 4]], "integers"), ([[1, 2]], "at least 2 x 2"), (np.ones((2, 2, 2)), "two-dimensional")],
)  # fmt: skip
def test_bad_tables_are_refused(table, message):
    for call in (lambda: swapped_table.exact(table, rate=0.1), lambda: mechanism.swap_law(table, rate=0.1)):
        with pytest.raises(ValueError, match=message):
            call()


def test_other_bad_arguments():
    for rate in (-0.1, 0, 1, 1.5, np.nan):
        with pytest.raises(ValueError, match="rate"):
            swapped_table.exact(SLIDES, rate=rate)
    with pytest.raises(TypeError, match="rate must be a number"):
        swapped_table.exact(SLIDES, rate="0.1")
    with pytest.raises(TypeError, match="rng"):
        swapped_table.abc(SLIDES, rate=0.1, iterations=10, rng=1)
    with pytest.raises(ValueError, match="method must be one of 'record'"):
        swapped_table.abc(SLIDES, rate=0.1, iterations=10, rng=stream(1, "m"), method="fast")
    with pytest.raises(ValueError, match=r"pass rng= to dpmultinomial\.posterior"):
        mechanism.swap_law(np.full((3, 3), 5), rate=0.1)
    with pytest.raises(ValueError, match="2 x 2"):
        swapped_table.naive(np.ones((2, 3))).log_odds()


# --- posteriors ---

TARGET = {
    0.1: (0.003963748148, (0.116000, 0.785319, 0.096668, 0.002013), (0.141764, 0.215379, 0.286808, 0.356050),
          (0.095713, 0.110977, 0.121188, 0.127809), (0.030287, 0.297759, 0.773386, 1.939215, 12.884936),
          0.425382, -0.307330, 1.515385),
    0.3: (0.005046290990, (0.266828, 0.467433, 0.222739, 0.043000), (0.145851, 0.211292, 0.282721, 0.360137),
          (0.106991, 0.119381, 0.129079, 0.136031), (0.014974, 0.236205, 0.797931, 2.622150, 37.849404),
          0.448728, -0.245718, 1.950950),
    0.5: (0.005869986104, (0.288920, 0.344474, 0.244569, 0.122037), (0.157123, 0.200020, 0.271448, 0.371409),
          (0.116207, 0.123865, 0.133639, 0.142265), (0.013927, 0.245039, 0.974048, 4.062080, 102.943701),
          0.494887, 0.026517, 2.226365),
}  # fmt: skip


@pytest.mark.parametrize("rate", list(TARGET))
def test_the_exact_posterior_of_the_slides_table(rate):
    acceptance, weights, means, sds, quantiles, above, mean, sd = TARGET[rate]
    posterior = swapped_table.exact(SLIDES, rate=rate)
    assert posterior.acceptance == pytest.approx(acceptance, abs=5e-13)
    assert np.allclose(posterior.weights, weights, rtol=0, atol=6e-7)
    assert np.allclose(posterior.mean(), means, rtol=0, atol=6e-7)
    assert np.allclose(np.sqrt(posterior.variance()), sds, rtol=0, atol=6e-7)
    assert posterior.mean()[:2].sum() == pytest.approx(5 / 14, abs=1e-14)  # margins are invariant: no rate enters
    assert posterior.mean()[[0, 2]].sum() == pytest.approx(6 / 14, abs=1e-14)
    odds = posterior.log_odds()
    assert np.allclose(np.exp(odds.quantile([0.025, 0.25, 0.5, 0.75, 0.975])), quantiles, rtol=1e-7, atol=6e-7)
    assert 1 - odds.cdf(0.0) == pytest.approx(above, abs=6e-7)
    assert (odds.mean(), odds.variance() ** 0.5) == pytest.approx((mean, sd), abs=6e-7)
    assert odds.mean_odds() == np.inf


def test_the_naive_posterior():
    posterior = swapped_table.naive(SLIDES)
    odds = posterior.log_odds()
    assert np.allclose(posterior.mean(), np.array([2, 3, 4, 5]) / 14)
    assert 1 - odds.cdf(0.0) == pytest.approx(14 / 33, abs=1e-14)
    assert (odds.mean(), odds.mean_odds()) == pytest.approx((-0.25, 5 / 3), abs=1e-14)
    assert np.exp(odds.quantile([0.025, 0.975])) == pytest.approx([0.063086, 8.537953], abs=6e-7)


def test_log_odds_density_cdf_and_moments_agree():
    for a, w in (
        ([[0.5, 1, 2, 0.7]], [1.0]),
        ([[80, 40, 30, 70], [70, 50, 40, 60]], [0.3, 0.7]),
        ([[1, 1, 1, 1]], [1.0]),
    ):
        law = LogOddsMixture(a, w)
        low, high = law.quantile([1e-9, 1 - 1e-9])
        mass, first = (quad(lambda x, k=k, law=law: float(law.pdf(x)) * x**k, low, high, limit=300)[0] for k in (0, 1))
        assert mass == pytest.approx(1, abs=1e-7)
        assert first == pytest.approx(law.mean(), abs=1e-6)
        x = law.mean() + 0.3
        assert (law.cdf(x + 1e-4) - law.cdf(x - 1e-4)) / 2e-4 == pytest.approx(float(law.pdf(x)), rel=1e-5)
        assert law.cdf(law.quantile(0.3)) == pytest.approx(0.3, abs=1e-11)


def test_exact_for_larger_tables_equals_bayes_over_the_whole_class():
    table, alpha, rate = np.array([[1, 0, 2], [1, 2, 0]]), np.array([1, 0.5, 2, 1, 3, 0.7]), 0.3
    posterior = swapped_table.exact(table, rate=rate, alpha=alpha)
    logs = []
    for original in posterior.tables:
        tables, p = mechanism.swap_law(original, rate=rate)
        logs.append(np.log(p[(tables == table).all(axis=(1, 2))].item()))
    logs += swapped_table.log_dirichlet_multinomial(posterior.tables.reshape(-1, 6), alpha)
    assert np.allclose(posterior.weights, np.exp(logs - logsumexp(logs)), rtol=1e-12)
    assert posterior.acceptance == pytest.approx(np.exp(logsumexp(logs)), rel=1e-12)


def test_a_strong_prior_does_not_lose_digits():
    table = np.array([[28, 2], [3, 27]])
    alpha = np.array([1.0, 400.0, 400.0, 1.0])
    deep = exact_swapping.row(table, rate=0.2)
    logs = deep.log_backward + swapped_table.log_dirichlet_multinomial(deep.tables(table).reshape(-1, 4), alpha)
    posterior = swapped_table.exact(table, rate=0.2, alpha=alpha)
    assert np.allclose(posterior.weights, np.exp(logs - logsumexp(logs)), rtol=1e-11, atol=1e-20)


def test_degenerate_tables_have_one_original():
    for table in ([[0, 0], [0, 0]], [[1, 0], [0, 0]], [[3, 0], [4, 0]], [[0, 5], [0, 0]]):
        posterior = swapped_table.exact(table, rate=0.4)
        assert posterior.weights.tolist() == [1.0]
        assert np.allclose(posterior.mean(), (np.ravel(table) + 1) / (np.sum(table) + 4))


# --- privacy ---


def test_the_stated_epsilon():
    expected = {2: (5.6937, 3.2958, 1.0986), 10: (6.9930, 4.5951, 2.3979), 1000: (11.5039, 9.1060, 6.9088)}
    for b, values in expected.items():
        assert [accounting.epsilon(b, rate=p) for p in (0.01, 0.1, 0.5)] == pytest.approx(values, abs=5e-5)
    rate, least = accounting.best_rate(10)
    assert least == pytest.approx(np.log(11) / 2)
    assert accounting.epsilon(10, rate=rate) == pytest.approx(least)
    assert accounting.epsilon(10, rate=accounting.rate_for(4.0, largest=10)) == pytest.approx(4.0)
    with pytest.raises(ValueError, match=r"ln\(largest \+ 1\)"):
        accounting.rate_for(1.0, largest=2)
    assert accounting.largest_stratum([(9, 1, 3), (7, 2, 2), (8, 4, 1)]) == 7


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("b", [2, 3, 4, 5])
def test_the_exact_constant_equals_enumeration_of_all_permutations(b, rate):
    weights = exact_swapping.log_permutation_weights(b, rate=rate)
    elements = list(permutations(range(b)))
    moved = [sum(i != s for i, s in enumerate(e)) for e in elements]
    worst = {}
    for tau in elements:
        d = sum(i != t for i, t in enumerate(tau))
        if d:
            gaps = [
                weights[k] - weights[sum(i != e[t] for i, t in enumerate(tau))]
                for e, k in zip(elements, moved, strict=True)
            ]
            worst[d] = max(worst.get(d, 0.0), max(gaps))
    for d, loss in worst.items():
        assert accounting.exact_loss(b, d, rate=rate) == pytest.approx(loss, abs=1e-9)
    exact = accounting.exact_epsilon(b, rate=rate)
    assert exact == pytest.approx(max(v / d for d, v in worst.items()), abs=1e-9)
    assert exact <= accounting.epsilon(b, rate=rate)


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.5, 0.6, 0.75, 0.9, 0.999])
def test_no_other_distance_is_worse(rate):
    for b in (3, 7, 16, 40):
        worst = max(accounting.exact_loss(b, d, rate=rate) / d for d in range(2, b + 1))
        assert accounting.exact_epsilon(b, rate=rate) == worst <= accounting.epsilon(b, rate=rate)


def test_the_exact_constant_at_specified_points():
    assert accounting.exact_epsilon(10, rate=0.1) == pytest.approx(4.44713, abs=5e-6)
    assert accounting.exact_epsilon(4, rate=0.1) == pytest.approx(np.log(3) + np.log(9))
    d = exact_swapping.subfactorials(1000)
    closed = 0.5 * (np.log(float(d[1000] // d[998])) + np.log1p((d[1000] % d[998]) / d[998] / (d[1000] // d[998])))
    assert accounting.exact_epsilon(1000, rate=0.2) == pytest.approx(closed + np.log(4), abs=1e-9)


@pytest.mark.parametrize(
    ("n", "rate", "loss"),
    [(10, 0.1, 5.77156), (10, 0.01, 10.48012), (10, 0.3, 3.32167), (10, 0.5, 2.18145), (2, 0.1, 4.39445)],
)
def test_one_exchange_in_two_by_two_tables(n, rate, loss):
    audit = swapping_audit.two_by_two(n, rate=rate)
    assert audit.per_exchange == pytest.approx(loss, abs=5e-6)
    assert audit.holds
    assert audit.holds_per_exchange == (rate == 0.5)
    assert audit.per_exchange <= 2 * audit.claimed


def test_the_audit_names_its_worst_case_and_agrees_with_the_extreme_classes():
    audit = swapping_audit.two_by_two(10, rate=0.1)
    assert (audit.margins, audit.pair, audit.output) == ((5, 5), (0, 1), 5)
    for n in (37, 38):
        found = swapping_audit.two_by_two(n, rate=0.1, classes="extreme")
        assert found.holds_per_exchange == (n == 38)
    full, extreme = (swapping_audit.two_by_two(16, rate=0.3, classes=c) for c in ("all", "extreme"))
    assert full.per_exchange == pytest.approx(extreme.per_exchange)


def test_theorem_holds_per_unit_of_distance_in_small_classes():
    for n, rate in product(range(2, 17), (0.01, 0.1, 0.5)):
        assert swapping_audit.two_by_two(n, rate=rate).holds


def test_one_exchange_among_three_categories_costs_more_than_epsilon_even_at_one_half():
    base = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 6]])
    tables, rows = mechanism.swap_law(base, rate=0.5)
    logs = np.array([np.log(mechanism.swap_law(t, rate=0.5)[1]) for t in tables])
    assert np.allclose(logs[(tables == base).all(axis=(1, 2)).argmax()], np.log(rows))
    apart = np.abs(tables[:, None] - tables[None]).sum(axis=(2, 3)) // 2
    losses = [np.abs(logs[i] - logs[j]).max() for i, j in zip(*np.nonzero(apart == 2), strict=True)]
    assert max(losses) == pytest.approx(2.6146, abs=5e-5)
    assert max(losses) > accounting.epsilon(8, rate=0.5)
    assert factorial(3) == 6  # three categories on both sides


def test_the_smallest_cost_of_an_exchange_is_stated():
    """One exchange changes two records, so its cost is at least 2 ln(10 + 1) = 4.79579."""
    with pytest.raises(ValueError, match=r"epsilon must be >= 2 ln\(largest \+ 1\) = 4\.7958 .*, got 4\.7$"):
        mechanism.Swap.calibrated(4.7, largest=10)
    assert mechanism.Swap.calibrated(4.7958, largest=10).cost(largest=10).epsilon == pytest.approx(4.7958)
