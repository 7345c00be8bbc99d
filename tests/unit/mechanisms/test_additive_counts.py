"""Tests of releases of additive counts: mechanism, exact moments, privacy, and simple projections."""

from functools import cache

import numpy as np
import pytest
from reference import additive_counts as reference_mode

from dpmultinomial._accounting import privacy_profiles
from dpmultinomial._mechanisms import additive_counts, additive_release
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._seeding import stream
from reproduction.papers.wang2020 import examples
from reproduction.papers.wang2020.algorithms import integer_projection, release_moments

ALGORITHMS = additive_release.ALGORITHMS
# Example 2, from an independent derivation (exact convolutions, three decimals)
EXPECTED = {
    ("1-independent", ""): ([1.461, 2.222, 5.972, 10.931, 432.426], [3.433, 4.708, 9.405, 14.359, 256.53]),
    ("1-summed", ""): ([1.461, 2.222, 5.973, 10.931, 432.425], [3.434, 4.708, 9.405, 14.360, 255.73]),
    ("2", ""): ([1.153, 2.053, 5.989, 10.980, 434.289], [2.304, 3.514, 7.745, 12.641, 237.46]),
}


def test_noise_law_variance_and_tail():
    noise = TwoSidedGeometric(epsilon=1.0)
    a = np.exp(-1)
    assert noise.probabilities().sum() == pytest.approx(1, abs=1e-15)
    assert noise.pmf([0, 1, -1, 51, 0.5]) == pytest.approx([(1 - a) / (1 + a), *2 * [a * (1 - a) / (1 + a)], 0, 0])
    assert noise.variance() == pytest.approx(2 * a / (1 - a) ** 2, rel=1e-12)
    assert noise.tail_delta() == pytest.approx((1 - a) / (1 + a) * np.exp(-50), rel=1e-12, abs=0)
    assert noise.sample(np.zeros((3, 2), int), rng=stream(1, "s")).shape == (3, 2)
    with pytest.raises(TypeError, match="counts"):
        noise.sample([0.5], rng=stream(1, "s"))
    for bad in ({"epsilon": 0.0}, {"epsilon": -1.0}, {"epsilon": 1.0, "support": 0}):
        with pytest.raises(ValueError, match=r"epsilon|support"):
            TwoSidedGeometric(**bad)


@pytest.mark.parametrize("counts", [[0, 0, 0], [5], [0, 1, 2, 400], [10**6, 3], [7] * 9])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_releases_are_non_negative_whole_numbers(counts, algorithm):
    released = additive_counts.release(counts, epsilon=0.5, algorithm=algorithm, rng=stream(2, algorithm), size=50)
    assert released.shape == (50, len(counts))
    assert released.dtype == np.int64
    assert released.min() >= 0
    assert np.all(np.abs(released.sum(axis=1) - sum(counts)) <= 100)


def test_all_algorithms_release_the_noisy_total_they_share():
    counts = examples.example_2()
    released = additive_counts.release_all(counts, epsilon=1.0, rng=stream(3, "shared"), size=200)
    assert np.array_equal(released[2].sum(axis=1), released[3].sum(axis=1))


def test_a_thousand_components_and_no_release_at_all():
    counts = stream(4, "many").integers(0, 30, 1000)
    for algorithm in ALGORITHMS:
        released = additive_counts.release(counts, epsilon=1.0, algorithm=algorithm, rng=stream(4, "r"), size=3)
        assert abs(released.sum(axis=1) - counts.sum()).max() < 100
        assert additive_counts.release(counts, epsilon=1.0, algorithm=algorithm, rng=stream(4, "r"), size=0).size == 0


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ({"counts": [-1, 2]}, "counts"),
        ({"counts": [0.5, 2]}, "counts"),
        ({"counts": []}, "counts"),
        ({"epsilon": 0}, "epsilon"),
        ({"algorithm": "4"}, "algorithm"),
        ({"ties": "coin"}, "ties"),
        ({"size": -1}, "size"),
        ({"support": 0}, "support"),
        ({"counts": [5 * 10**8]}, "5e8"),
    ],
)
def test_release_refuses_bad_arguments(bad, match):
    good = {"counts": [1, 2], "epsilon": 1.0, "algorithm": "2", "rng": stream(5, "bad"), "size": 1}
    arguments = good | bad
    with pytest.raises(ValueError, match=match):
        additive_counts.release(arguments.pop("counts"), **arguments)
    with pytest.raises(TypeError, match="rng"):
        additive_counts.release([1], epsilon=1.0, algorithm="2", rng=7, size=1)


@pytest.mark.parametrize(("algorithm", "ties"), EXPECTED)
def test_exact_moments_of_example_2(algorithm, ties):
    counts = examples.example_2()
    chosen = examples.representatives(counts).tolist()
    mean, variance = release_moments.moments(counts, components=chosen, epsilon=1.0, algorithm=algorithm)
    expected = EXPECTED[algorithm, ties]
    assert mean == pytest.approx(expected[0], abs=5.1e-4)
    assert variance == pytest.approx(expected[1], abs=5.1e-3)


@pytest.mark.parametrize("algorithm", [*ALGORITHMS[:2], "2"])
@pytest.mark.parametrize("counts", [[0, 0], [0, 3], [4, 1]])
def test_exact_moments_against_enumerated_noise(algorithm, counts):
    """Enumerate every noise vector (and posterior draw) for small support."""
    epsilon, support = 0.8, 2
    values = _enumerated(counts, algorithm, TwoSidedGeometric(epsilon=epsilon, support=support))
    model = {"epsilon": epsilon, "algorithm": algorithm, "support": support}
    mean, variance = release_moments.moments(counts, components=range(len(counts)), **model)
    assert mean == pytest.approx(values[0], rel=1e-9)
    assert variance == pytest.approx(values[1], rel=1e-8)


def _enumerated(counts, algorithm, noise):
    p, d, reach = noise.probabilities(), noise.values(), noise.support
    total = sum(counts)
    summed = additive_release.summed_noise(noise.epsilon, reach, len(counts))[0]
    first, second = np.zeros(len(counts)), np.zeros(len(counts))
    grids = np.stack(np.meshgrid(*[d] * (len(counts) + 1), indexing="ij"), axis=-1).reshape(-1, len(counts) + 1)
    for row in grids:
        probability = p[row + reach].prod()
        n, noisy = total + row[0], np.array(counts) + row[1:]
        for m, share, weight in _draws(n, noisy, algorithm, noise, summed):
            first += probability * weight * m * share
            second += probability * weight * (m * share * (1 - share) + m**2 * share**2)
    return first, second - first**2


def _draws(n, noisy, algorithm, noise, summed):
    d = noise.values()

    def near(centre):
        values = centre + d[centre + d >= 0]
        weight = noise.pmf(values - centre)
        return values, weight / weight.sum()

    if algorithm == "2":
        kept = np.maximum(noisy, 0)
        return [(max(n, 0), kept / kept.sum() if kept.any() else np.full(len(kept), 1 / len(kept)), 1.0)]
    m, pm = near(n)
    if algorithm == "1-summed":
        gap = noisy.sum() - m
        inside = np.abs(gap) <= len(summed) // 2
        pm = pm * np.where(inside, np.exp(summed[np.where(inside, gap, 0) + len(summed) // 2]), 0)
        pm = pm / pm.sum()
    out = []
    for place in np.ndindex(*(len(near(v)[0]) for v in noisy)):
        x = np.array([near(v)[0][i] for v, i in zip(noisy, place, strict=True)])
        weight = np.prod([near(v)[1][i] for v, i in zip(noisy, place, strict=True)])
        share = x / x.sum() if x.any() else np.full(len(x), 1 / len(x))
        out += [(int(v), share, weight * q) for v, q in zip(m, pm, strict=True)]
    return out


@pytest.mark.parametrize("ties", ["first", "last", "random"])
@pytest.mark.parametrize(("counts", "epsilon", "support"), [([0, 0], 0.8, 2), ([1, 1, 2], 0.8, 2), ([0, 3], 0.8, 2),
                                                            ([1, 2], 1.5, 8)])  # fmt: skip
def test_exact_moments_of_modes_against_enumerated_noise(counts, epsilon, support, ties):
    """Enumerate every noise vector; random ties give each tied component the same probability of a unit."""
    noise, size = TwoSidedGeometric(epsilon=epsilon, support=support), len(counts)
    grids = np.stack(np.meshgrid(*[noise.values()] * (size + 1), indexing="ij"), axis=-1).reshape(-1, size + 1)
    p = noise.probabilities()[grids + support].prod(axis=1)
    kept = np.maximum(np.array(counts) + grids[:, 1:], 0)
    kept[kept.sum(axis=1) == 0] = 1
    totals = np.maximum(sum(counts) + grids[:, 0], 0)
    if ties == "random":
        first, second, quotients = np.zeros(size), np.zeros(size), cache(reference_mode.quotients)
        for chance, total, weights in zip(p, totals, kept, strict=True):
            sure, tied, left = quotients(total, tuple(weights))
            more = np.zeros(size)
            more[list(tied)] = left / max(len(tied), 1)
            first, second = first + chance * (sure + more), second + chance * (sure**2 + more * (2 * sure + 1))
    else:
        modes = additive_counts.additive_release.modes(totals, kept, ties=ties, rng=stream(1, "unused"))
        first, second = p @ modes, p @ modes**2
    model = {"epsilon": epsilon, "algorithm": "3", "support": support, "ties": ties}
    mean, variance = release_moments.moments(counts, components=range(size), **model)
    assert mean == pytest.approx(first, abs=1e-12)
    assert variance == pytest.approx(second - first**2, abs=1e-11)
    assert mean.sum() == pytest.approx(p @ totals, rel=1e-12)


def test_moments_of_modes_need_a_tractable_rule():
    with pytest.raises(ValueError, match="ties"):
        release_moments.moments([1, 2], components=[0], epsilon=1.0, algorithm="3", ties="ieee")
    with pytest.raises(ValueError, match="least"):
        release_moments.moments([1, 2], components=[0], epsilon=1.0, algorithm="3", least=1)


def test_delta_equals_the_enumerated_divergence():
    noise = TwoSidedGeometric(epsilon=0.9, support=3)
    one, other = (noise.pmf(np.arange(-3, 5) - shift) for shift in (0, 1))
    for claimed in (0.0, 0.5, 0.9, 1.3, 1.8, 2.5):
        for changed, (p, q) in ((1, (one, other)), (2, (np.outer(one, one), np.outer(other, other)))):
            expected = np.maximum(p - np.exp(claimed) * q, 0).sum()
            found = privacy_profiles.geometric_delta(claimed, epsilon=0.9, changed=changed, support=3)
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-16)


def test_an_additive_release_costs_twice_epsilon():
    assert privacy_profiles.geometric_delta(1.0, epsilon=1.0) > 0.3
    assert privacy_profiles.geometric_delta(2.0, epsilon=1.0) == pytest.approx(1.8e-22, rel=0.02, abs=0)
    with pytest.raises(ValueError, match="claimed"):
        privacy_profiles.geometric_delta(-0.1, epsilon=1.0)


def test_the_delta_of_wide_noise_is_not_rounded_to_zero():
    """For noise on -100..100 with epsilon 10, delta is of the order exp(-1000), which is 0 in floating point."""
    assert privacy_profiles.geometric_delta(20.0, epsilon=10.0, support=100) == 0
    cost = additive_counts.AdditiveCounts(epsilon=10.0, support=100).cost()
    assert 0 < cost.delta < 1e-300


def test_projection_is_the_nearest_non_negative_row():
    from scipy.optimize import minimize

    rng = stream(6, "projection")
    for _ in range(5):
        noisy, total = rng.normal(3, 5, (1, 4)), np.array([7])
        found = integer_projection.projected(noisy, total)[0]
        constraint = {"type": "eq", "fun": lambda x: x.sum() - 7}
        best = minimize(lambda x, z=noisy[0]: ((x - z) ** 2).sum(), np.full(4, 1.75), bounds=[(0, None)] * 4,
                        constraints=[constraint])  # fmt: skip
        assert found.sum() == pytest.approx(7)
        assert ((found - noisy[0]) ** 2).sum() == pytest.approx(best.fun, rel=1e-5, abs=1e-6)
    assert integer_projection.projected(np.array([[-3.0, -1.0]]), np.array([0])).tolist() == [[0, 0]]


def test_rounding_keeps_totals():
    rng = stream(7, "rounding")
    rows = integer_projection.scaled(rng.integers(-2, 30, (200, 6)), totals := rng.integers(0, 80, 200))
    whole = integer_projection.largest_remainder(rows, totals)
    assert np.array_equal(whole.sum(axis=1), totals)
    assert np.abs(whole - rows).max() < 1
    with pytest.raises(ValueError, match="totals"):
        integer_projection.largest_remainder(np.array([[1.0, 1.0]]), np.array([5]))


@pytest.mark.parametrize("vector", [0, 1, 2, 20])
def test_example_1_meets_every_stated_constraint(vector):
    counts = np.sort(examples.example_1(vector))
    assert counts.sum() == 21249
    assert counts[[0, 11, 24, 37, 49]].tolist() == [0, 60, 382, 736, 977]
    assert counts[:6].tolist() == [0, 0, 0, 1, 2, 3]
    assert np.all((counts[6:11] >= 15) & (counts[6:11] <= 60))
    assert np.all((counts[11:] >= 60) & (counts[11:] <= 1000))


def test_example_2_is_the_printed_table():
    table = examples.table_2()
    assert (table["count"] * table["instances"]).sum() == 863
    assert table["instances"].sum() == 50
    chosen = examples.representatives(examples.example_2())
    assert examples.example_2()[chosen].tolist() == [1, 2, 6, 11, 435]
