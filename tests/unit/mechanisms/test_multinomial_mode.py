"""Tests of the kernels of additive counts: references on one stream, enumeration, brute force, ends of ranges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import additive_counts as reference_counts
from reference import additive_counts as reference_release

from dpmultinomial._kernels import geometric
from dpmultinomial._mechanisms import additive_release
from dpmultinomial._mechanisms.additive_counts import multinomial_mode as exact_mode
from dpmultinomial._posteriors.additive import _sum_chain
from dpmultinomial._seeding import stream
from reproduction.papers.wang2020.algorithms import mode_products

weights = st.lists(st.integers(0, 12), min_size=1, max_size=6).filter(any)


@pytest.mark.parametrize(("epsilon", "support"), [(1.0, 50), (0.1, 50), (5.0, 3), (1.0, 1), (40.0, 50)])
def test_noise_equals_its_reference_and_stays_inside(epsilon, support):
    least = stream(1, "least").integers(-2 * support, support + 1, 2000)
    table = geometric.cumulative(epsilon, support)
    ours = geometric.draw(2000, epsilon=epsilon, support=support, rng=stream(1, "noise"), least=least)
    expected = reference_counts.draw(2000, table=table, epsilon=epsilon, rng=stream(1, "noise"), least=least)
    assert np.array_equal(ours, expected)
    assert np.all((ours >= np.maximum(least, -support)) & (ours <= support))


def test_noise_without_draws_and_with_nothing_left():
    assert geometric.draw(0, epsilon=1.0, support=5, rng=stream(1, "none")).shape == (0,)
    with pytest.raises(ValueError, match="least"):
        geometric.draw(1, epsilon=1.0, support=5, rng=stream(1, "none"), least=[6])
    with pytest.raises(TypeError, match="rng"):
        geometric.draw(1, epsilon=1.0, support=5, rng=None)


@given(x=weights, total=st.integers(0, 25), rule=st.sampled_from(additive_release.RULES), seed=st.integers(0, 99))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_modes_equal_unit_by_unit_allocation(x, total, rule, seed):
    row = np.array([x])
    ours = additive_release.modes([total], row, ties=rule, rng=stream(seed, "mode"))[0]
    assert np.array_equal(ours, reference_release.mode(total, row[0], ties=rule, rng=stream(seed, "mode")))
    if rule != "ieee":
        assert reference_release.is_mode(total, row[0], ours)
    if rule in ("first", "last"):
        assert np.array_equal(ours, exact_mode(total, x, ties=rule))


@given(x=weights, total=st.integers(0, 7))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_modes_have_the_highest_probability_of_all_compositions(x, total):
    from math import factorial, prod

    from reference.count_laws import compositions

    if len(x) < 2:
        return
    found = {
        tuple(k): prod(v**n for v, n in zip(x, k, strict=True)) / prod(map(factorial, k))
        for k in compositions(total, len(x)).tolist()
    }
    ours = tuple(additive_release.modes([total], [x], ties="first", rng=stream(1, "m"))[0].tolist())
    assert found[ours] >= max(found.values()) * (1 - 1e-12)


def test_modes_at_the_ends_of_their_range():
    rng = stream(2, "ends")
    large = np.array([[10**9 - 1, 1]])
    assert additive_release.modes([10**9 - 2], large, ties="first", rng=rng).sum() == 10**9 - 2
    equal = np.ones((1, 1000), dtype=np.int64)
    assert additive_release.modes([1499], equal, ties="last", rng=rng)[0].tolist() == [1] * 501 + [2] * 499
    assert additive_release.modes([0], [[3, 4]], ties="random", rng=rng).tolist() == [[0, 0]]
    for bad in ([[0, 0]], [[-1, 2]], [[10**9, 1]]):
        with pytest.raises(ValueError, match="weights"):
            additive_release.modes([1], bad, ties="first", rng=rng)
    with pytest.raises(ValueError, match="totals"):
        additive_release.modes([-1], [[1, 1]], ties="first", rng=rng)


def test_exact_mode_of_doubles_sees_what_rounding_hides():
    p = np.array([0.1, 0.2, 0.7])
    assert exact_mode(10, p).tolist() == [1, 2, 7]
    assert exact_mode(1, [0.5, 0.5]).tolist() == [1, 0]
    assert exact_mode(1, [0.5, 0.5], ties="last").tolist() == [0, 1]
    assert exact_mode(1, [0.5, np.nextafter(0.5, 1)]).tolist() == [0, 1]
    assert exact_mode(3, [0.0, 2.0]).tolist() == [0, 3]
    with pytest.raises(ValueError, match="probabilities"):
        exact_mode(3, [0.0, 0.0])
    with pytest.raises(TypeError, match="rng"):
        exact_mode(3, [1, 1], ties="random")


@pytest.mark.parametrize("counts", [[0, 0, 0], [3, 0, 250, 7], [1], [60, 61], [0] * 12 + [40]])
@pytest.mark.parametrize("ties", additive_release.RULES)
def test_releases_equal_their_reference(counts, ties):
    model = {"epsilon": 0.7, "algorithms": additive_release.ALGORITHMS, "ties": ties}
    ours = additive_release.draw(counts, **model, support=20, size=40, rng=stream(3, "release"))
    law = {"table": geometric.cumulative(0.7, 20), "logs": additive_release.summed_noise(0.7, 20, len(counts))[0]}
    rng = stream(3, "release")
    expected = [reference_release.release(np.array(counts), **model, **law, rng=rng) for _ in range(40)]
    assert np.array_equal(ours, np.array(expected).transpose(1, 0, 2))


@pytest.mark.parametrize("size", [1, 2, 3, 50, 1000])
def test_summed_noise_has_the_moments_of_the_sum(size):
    p = geometric.probabilities(1.0, 50)
    d = np.arange(-50, 51)
    logs, reach = additive_release.summed_noise(1.0, 50, size)
    law, values = np.exp(logs), np.arange(-reach, reach + 1)
    variance = p @ d**2
    fourth = size * (p @ d**4 - 3 * variance**2) + 3 * (size * variance) ** 2
    assert law.sum() == pytest.approx(1, rel=1e-12)
    assert law @ values**2 == pytest.approx(size * variance, rel=1e-11)
    assert law @ values.astype(float) ** 4 == pytest.approx(fourth, rel=1e-10)
    assert logs == pytest.approx(logs[::-1], rel=1e-9)


@pytest.mark.parametrize("states", [1, 3])
def test_chain_equals_enumeration(states):
    rng = stream(4, "chain", states)
    h, g = rng.random((states, 4, 5)), rng.random(6)
    h[h < 0.2] = 0.0
    ours, expected = _sum_chain.solve(h, g, 5), reference_counts.solve(h, g, 5)
    assert ours[0] == pytest.approx(expected[0], abs=1e-13)
    assert np.allclose(ours[1], expected[1], rtol=1e-12, atol=1e-15)
    assert np.allclose(ours[2], expected[2], rtol=1e-12, atol=1e-15)
    assert _sum_chain.draw(h, ours[3], 0, rng=rng).shape == (0, 4)


@pytest.mark.parametrize("states", [1, 3])
def test_many_chains_are_each_as_alone(states):
    """Check with other widths before and after, one of them impossible: memory is shared, numbers are not."""
    rng = stream(5, "chains", states)
    h, g = rng.random((5, states, 4, 6)), rng.random((5, 9))
    h[1, ..., 2:], h[3, ..., :2], g[2] = 0.0, 0.0, 0.0
    h[4] *= np.geomspace(1, 1e-20, 6)
    found = _sum_chain.solve_each(h, g, 3)
    for each, (factors, total) in enumerate(zip(h, g, strict=True)):
        alone = _sum_chain.solve(factors, total, 3)
        assert all(np.array_equal(many[each], one) for many, one in zip(found, alone[:3], strict=True))
    assert (found[0] == -np.inf).tolist() == [False, False, True, False, False]
    for factors, totals in ((h[:4], g), (h[:0], g[:0]), (h[0], g[0]), (h, g[:, :0]), (h[:, [0, 0]], g)):
        with pytest.raises(ValueError, match="factor"):
            _sum_chain.solve_each(factors, totals, 3)


def test_chain_says_when_nothing_has_weight():
    weight, marginals, _, chain = _sum_chain.solve(np.eye(3)[None], np.ones(1), 7)
    assert weight == -np.inf
    assert not marginals.any()
    assert chain is None
    with pytest.raises(ValueError, match="factors"):
        _sum_chain.solve(np.ones((2, 3, 3)), np.ones(1), 0)


def products(rng, groups, rows, length):
    """Check spectra of five groups, some tied in some rows; three rows in any order, with one row twice."""
    every, some = (
        rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in ((groups, rows, length), (4, length))
    )
    place = rng.integers(-1, 4, (groups, rows))
    place[:, 0] = -1  # a row without ties
    wanted = rng.permutation(np.append(np.arange(rows), 0))
    return every, some, place, rng.integers(0, 4, groups), wanted


@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_integrated_products_equal_their_reference(length):
    every, some, place, repeats, rows = products(stream(1, "products"), 5, 3, length)
    about = {"rows": rows, "nodes": np.array([0.0, 0.3, 1.0]), "weights": np.array([0.2, 0.5, 0.3])}
    ours = mode_products.integrated(every, some, place, repeats, **about)
    expected = reference_counts.integrated(every, some, place, repeats, **about)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_integrated_products_refuse_what_does_not_fit():
    every, some, place, repeats, rows = products(stream(2, "products"), 5, 3, 7)
    given = {"every": every, "some": some, "place": place, "repeats": repeats, "rows": rows}
    given |= {"nodes": [0.5], "weights": [1.0]}
    assert mode_products.integrated(**given | {"rows": []}).shape == (0, 7)
    assert mode_products.integrated(**given | {"some": some[:0], "place": place * 0 - 1}).shape == (4, 7)
    wrong = [("place", place + 1), ("place", place - 1), ("place", place[:4]), ("repeats", repeats - 4), ("rows", [3])]
    wrong += [("repeats", repeats[:4]), ("rows", [-1]), ("some", some[:, :6]), ("weights", [1.0, 2.0])]
    wrong += [("every", every * np.nan)]
    for name, value in wrong:
        with pytest.raises(ValueError, match=name):
            mode_products.integrated(**given | {name: value})
    with pytest.raises(TypeError, match="rows"):
        mode_products.integrated(**given | {"rows": [0.5]})
